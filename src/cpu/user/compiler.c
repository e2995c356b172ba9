/* SPDX-License-Identifier: MIT
 * Finds and runs the system's C compiler. No shell is involved. */
#define _GNU_SOURCE
#include "user.h"
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int is_program(const char *path, struct stat *info)
{
    return !stat(path, info) && S_ISREG(info->st_mode) && !access(path, X_OK);
}

/* The file that execvp would run for `name`. */
static int find_program(const char *name, char *path, struct stat *info)
{
    const char *at = secure_getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(path, TL_COMPILER_PATH, "%s", name) < TL_COMPILER_PATH &&
               is_program(path, info);

    while (at && *at) {
        int length = (int)strcspn(at, ":");

        /* An empty entry of PATH is the current folder; no compiler is taken from there. */
        if (length &&
            snprintf(path, TL_COMPILER_PATH, "%.*s/%s", length, at, name) < TL_COMPILER_PATH &&
            is_program(path, info))
            return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

int tl_compiler_find(tl_compiler *c)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *from_environment = secure_getenv("CC");
    struct stat info = {0};
    int words = 0;

    memset(c, 0, sizeof *c);
    if (from_environment && strlen(from_environment) < sizeof c->words) {
        strcpy(c->words, from_environment);
        for (char *save, *w = strtok_r(c->words, " \t", &save); w && words < TL_COMPILER_WORDS - 1;
             w = strtok_r(NULL, " \t", &save))
            c->argument[words++] = w;
    }

    int found = words && find_program(c->argument[0], c->path, &info);
    for (size_t i = 0; !words && !found && i < sizeof names / sizeof *names; i++) {
        found = find_program(names[i], c->path, &info);
        c->argument[0] = names[i];
    }

    if (!found) return 0;
    snprintf(c->identity, sizeof c->identity, "%s %ld %ld.%09ld", c->path, info.st_size,
             info.st_mtim.tv_sec, info.st_mtim.tv_nsec);

    return 1;
}

/* The environment with English messages, which tl_user_error reads. */
static char **plain_environment(void)
{
    static char language[] = "LC_ALL=C";
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **to = malloc((count + 2) * sizeof *to);
    for (size_t i = 0; to && i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7)) to[kept++] = environ[i];
    if (to) to[kept] = language, to[kept + 1] = NULL;
    return to;
}

/* Its own process group, so that all programs started by the compiler can be ended; the caller's
 * signal mask; the default action for signals that callers often ignore (tally's command line
 * does). */
static int spawn_attributes(posix_spawnattr_t *a, const sigset_t *mask)
{
    sigset_t usual;
    if (posix_spawnattr_init(a)) return -1;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    return posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETSIGDEF) ||
           posix_spawnattr_setpgroup(a, 0) || posix_spawnattr_setsigmask(a, mask) ||
           posix_spawnattr_setsigdefault(a, &usual);
}

static int run_program(const tl_compiler *c, char **argv, char **environment, const char *log,
                       int *status)
{
    pid_t child;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    siginfo_t ended;
    sigset_t old;
    tl_cleanup cleanup = {0};
    if (posix_spawn_file_actions_init(&files)) return -1;

    tl_cleanup_hold(&old);
    int failed = spawn_attributes(&attributes, &old);
    if (!failed) {
        failed =
            posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) ||
            posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) ||
            posix_spawn_file_actions_adddup2(&files, 1, 2) ||
            posix_spawn(&child, c->path, &files, &attributes, argv, environment);
        posix_spawnattr_destroy(&attributes);
    }

    posix_spawn_file_actions_destroy(&files);
    if (!failed) tl_cleanup_child(&cleanup, child);
    tl_cleanup_release(&old);
    if (failed) return -1;

    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    tl_cleanup_drop(&cleanup); /* before the process number can be reused */
    while (waitpid(child, status, 0) < 0)
        /* The caller ignores SIGCHLD: the output file tells whether it worked. */
        if (errno != EINTR) return 1;
    return 0;
}

int tl_compiler_run(const tl_compiler *c, const char *const *arguments, const char *log)
{
    char *argv[TL_COMPILER_WORDS + TL_COMPILER_ARGUMENTS + 1];
    int count = 0, status = -1;

    for (int i = 0; i < TL_COMPILER_WORDS && c->argument[i]; i++)
        argv[count++] = (char *)(size_t)c->argument[i];
    for (int i = 0; i < TL_COMPILER_ARGUMENTS && arguments[i]; i++)
        argv[count++] = (char *)(size_t)arguments[i];
    argv[count] = NULL;
    char **environment = plain_environment();
    const int ran = environment ? run_program(c, argv, environment, log, &status) : -1;
    free(environment);
    if (ran) return ran < 0 ? -1 : 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

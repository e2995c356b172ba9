/* SPDX-License-Identifier: MIT
 * Finds and runs the system's C compiler. No shell is involved. */
#define _GNU_SOURCE
#include "compiler.h"
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

/* The file that `name` runs, as execvp finds it. */
static int find_program(const char *name, char *path, struct stat *info)
{
    const char *at = secure_getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(path, TL_COMPILER_PATH, "%s", name) < TL_COMPILER_PATH && is_program(path, info);
    while (at && *at) {
        int length = (int)strcspn(at, ":");
        /* an empty part of PATH is the current folder: not for compilers */
        if (length && snprintf(path, TL_COMPILER_PATH, "%.*s/%s", length, at, name) < TL_COMPILER_PATH &&
            is_program(path, info))
            return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

int tl_compiler_find(tl_compiler *c)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *own = secure_getenv("CC");
    struct stat info = {0};
    int words = 0;
    memset(c, 0, sizeof *c);
    if (own && strlen(own) < sizeof c->words) {
        strcpy(c->words, own);
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
    snprintf(c->identity, sizeof c->identity, "%s %lld %lld.%09ld", c->path, (long long)info.st_size,
             (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    return 1;
}

/* The environment with messages in English, which tl_user_error reads. */
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

int tl_compiler_run(const tl_compiler *c, const char *const *arguments, const char *log)
{
    char *argv[TL_COMPILER_WORDS + TL_COMPILER_ARGUMENTS + 1];
    int count = 0, status = -1;
    pid_t child;
    posix_spawn_file_actions_t files;
    for (int i = 0; i < TL_COMPILER_WORDS && c->argument[i]; i++) argv[count++] = (char *)(size_t)c->argument[i];
    for (int i = 0; i < TL_COMPILER_ARGUMENTS && arguments[i]; i++) argv[count++] = (char *)(size_t)arguments[i];
    argv[count] = NULL;
    char **environment = plain_environment();
    if (!environment || posix_spawn_file_actions_init(&files)) {
        free(environment);
        return -1;
    }
    int failed = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) ||
                 posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) ||
                 posix_spawn_file_actions_adddup2(&files, 1, 2) ||
                 posix_spawn(&child, c->path, &files, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    if (failed) return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 0; /* the caller ignores SIGCHLD: the files say how it went */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* SPDX-License-Identifier: MIT
 * main.c - tally VERB [OPTION...] [OPERAND...]: prepares signals and standard output, finds the
 * verb, parses, runs, and checks that standard output was written. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- signals: temporary files are removed, and the shell sees the signal ---- */

static pthread_t main_thread;

/* Runs in the main thread. The library holds signals back while it changes its list for
 * tally_abandon. */
static void end(int number)
{
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    tally_abandon();
    signal(number, SIG_DFL);
    /* the signal is blocked until this function returns, and then ends the process */
    raise(number);
}

static void signals_begin(void)
{
    static const int ends[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                               SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART}, old;
    main_thread = pthread_self();
    sigfillset(&action.sa_mask);
    /* signals that nohup ignores stay ignored */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    atexit(tally_abandon); /* a library may also end the process */
    /* a closed pipe and a file over its size limit become failed writes */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- standard output that another program made non-blocking ---- */

/* stdio stops at EAGAIN and loses its buffer. The flag belongs to the open file, which other
 * processes share, so it must not be changed. Therefore the same pipe or terminal is opened again
 * for this process only. A socket cannot be opened again; for a socket the flag is cleared while
 * the process runs. (The library's own writes wait with poll.) */
static void give_back(void)
{
    const int flags = fcntl(1, F_GETFL);
    if (flags >= 0) fcntl(1, F_SETFL, flags | O_NONBLOCK);
}

static void stdout_begin(void)
{
    const int flags = fcntl(1, F_GETFL);
    if (flags < 0 || !(flags & O_NONBLOCK)) return;
    const int again =
        open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | (flags & O_APPEND));
    if (again < 0) {
        if (fcntl(1, F_SETFL, flags & ~O_NONBLOCK) == 0) atexit(give_back);
        return;
    }
    fcntl(again, F_SETFL, flags & ~O_NONBLOCK);
    dup2(again, 1);
    close(again);
}

/* ---- the verb ---- */

static int (*const run[VERB_COUNT])(const options *) = {
#define VERB(id, ...) run_##id,
#include "options.def"
#undef VERB
};

static int unknown_verb(const char *given)
{
    const char *names[VERB_COUNT + 1] = {NULL};
    for (int v = 0; v < VERB_COUNT; v++) names[v] = verb_table[v].name;
    if (is_operator(given))
        return usage("there is no verb '%s', which is an operator: `tally reduce %s`, `tally scan "
                     "%s` or `tally window %s -w W`",
                     given, given, given, given);
    return fail_choice(USAGE, "verb", given, names);
}

static int run_verb(const options *o, int named)
{
    if (has(o, OPT_version)) {
        printf("tally %s (order E v1)\n", tally_version());
        return DONE;
    }
    if (has(o, OPT_help) && named) {
        help_verb(stdout, o->verb);
        return DONE;
    }
    const int wrong = session_operators(o);
    return wrong ? wrong : run[o->verb](o);
}

static int dispatch(int argc, char **argv)
{
    options o = {.verb = VERB_help};
    if (argc < 2) {
        help_all(stderr);
        return USAGE;
    }
    const int named = argv[1][0] != '-'; /* `tally --help` is `tally help` */
    if (named) {
        o.verb = options_verb(argv[1]);
        if (o.verb == VERB_COUNT) return unknown_verb(argv[1]);
        argc--;
        argv++;
    }
    int code = options_parse(&o, argc - 1, argv + 1);
    if (!code) code = run_verb(&o, named);
    free(o.words);
    return code;
}

/* Opens /dev/null for each standard stream that is closed. Else the next file that is opened
 * would get its number and receive its output. */
static void hold_places(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            return;
}

int main(int argc, char **argv)
{
    hold_places();
    signals_begin();
    stdout_begin();
    return stdout_finish(dispatch(argc, argv));
}

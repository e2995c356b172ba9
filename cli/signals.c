/* SPDX-License-Identifier: MIT
 * signals.c - ends the command line after a signal: temporary files are removed, and the shell sees
 * the signal. */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

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

void signals_begin(void)
{
    static const int ends[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                               SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};
    struct sigaction how = {.sa_handler = end, .sa_flags = SA_RESTART}, old;
    main_thread = pthread_self();
    sigfillset(&how.sa_mask);
    /* signals that nohup ignores stay ignored */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &how, NULL);
    atexit(tally_abandon); /* a library may also end the process */
    /* a closed pipe and a file over its size limit become failed writes */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

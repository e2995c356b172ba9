/* SPDX-License-Identifier: MIT
 * signals.c - how the command line ends when it is told to: nothing half done stays on the disk,
 * and the shell sees the signal. */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static pthread_t main_thread;

/* In the main thread, where the library lists what it makes (tally_abandon) with signals held
   back. */
static void end(int number)
{
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    tally_abandon();
    signal(number, SIG_DFL);
    raise(number); /* it is blocked until this returns, and then ends the process */
}

void signals_begin(void)
{
    static const int ends[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                               SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};
    struct sigaction how = {.sa_handler = end, .sa_flags = SA_RESTART}, old;
    main_thread = pthread_self();
    sigfillset(&how.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) /* nohup */
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &how, NULL);
    atexit(tally_abandon);    /* libraries end a process too */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a file over its limit become failed writes */
    signal(SIGXFSZ, SIG_IGN);
}

/* SPDX-License-Identifier: MIT
 * The list of files, folders and child processes to clean up, and tally_abandon. A spin lock guards
 * the list. The thread that holds it has its signals blocked, so a signal handler never waits for
 * the thread that it interrupted. */
#define _GNU_SOURCE
#include "store.h"
#include "tally.h"
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLLS = 200, WAIT_MS = 10 }; /* a child has 2 s to end after SIGTERM */

static tl_cleanup *first;
static atomic_int holder; /* the process whose thread has the list; 0: none */

void tl_cleanup_hold(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, old);
}

void tl_cleanup_release(const sigset_t *old) { pthread_sigmask(SIG_SETMASK, old, NULL); }

static void lock(sigset_t *old)
{
    const int here = (int)getpid();
    tl_cleanup_hold(old);
    /* in a child of fork, a thread of the parent that has the list does not exist */
    for (int by = 0; by == here || !atomic_compare_exchange_weak(&holder, &by, here);)
        if (by == here) by = 0;
}

static void unlock(const sigset_t *old)
{
    atomic_store(&holder, 0);
    tl_cleanup_release(old);
}

static void add(tl_cleanup *l)
{
    sigset_t old;
    l->owner = getpid();
    lock(&old);
    l->next = first;
    l->at = &first;
    if (first) first->at = &l->next;
    first = l;
    unlock(&old);
}

void tl_cleanup_path(tl_cleanup *l, void (*undo)(const char *path), const char *path)
{
    l->undo = undo;
    l->path = path;
    add(l);
}

void tl_cleanup_child(tl_cleanup *l, pid_t child)
{
    l->undo = NULL;
    l->child = child;
    add(l);
}

static void take_out(tl_cleanup *l)
{
    *l->at = l->next;
    if (l->next) l->next->at = l->at;
    l->at = NULL;
}

void tl_cleanup_drop(tl_cleanup *l)
{
    sigset_t old;
    lock(&old);
    if (l->at) take_out(l);
    unlock(&old);
}

/* Ends a child and the processes that it started: asks first, then kills them. */
static void end_child(pid_t child)
{
    int status;
    kill(-child, SIGTERM);
    for (int i = 0; i < POLLS && waitpid(child, &status, WNOHANG) == 0; i++) poll(NULL, 0, WAIT_MS);
    kill(-child, SIGKILL);
}

void tally_abandon(void)
{
    const int error = errno;
    const pid_t process = getpid();
    sigset_t old;

    lock(&old);

    /* children first, because a running compiler writes into its folder */
    for (int paths = 0; paths < 2; paths++)
        for (tl_cleanup *l = first, *next; l; l = next) {
            next = l->next;
            if ((l->undo != NULL) != paths || l->owner != process) continue;
            if (paths)
                l->undo(l->path);
            else
                end_child(l->child);
            take_out(l);
        }

    unlock(&old);
    errno = error;
}

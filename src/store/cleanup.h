/* SPDX-License-Identifier: MIT
 * What must be cleaned up if the process ends in the middle of a call: temporary files, and the
 * folders and compilers of users' operators. Each is in a list as long as it exists. tally_abandon,
 * which a signal handler may call, cleans up everything in the list. */
#pragma once

#include <signal.h>
#include <sys/types.h>

typedef struct tl_cleanup {
    /* removes the path, with async-signal-safe calls only; NULL: a child process */
    void (*undo)(const char *path);
    const char *path; /* not copied; must live while it is in the list */
    /* child: the leader of its process group. owner: the process that added it, because a child
     * of fork has a copy of the list */
    pid_t child, owner;
    struct tl_cleanup *next, **at; /* at: NULL if it is not in the list */
} tl_cleanup;

/* Between hold and release no signal handler runs in this thread, so that creating a thing and
 * adding it to the list cannot be interrupted. */
void tl_cleanup_hold(sigset_t *old);
void tl_cleanup_release(const sigset_t *old);

void tl_cleanup_path(tl_cleanup *l, void (*undo)(const char *path), const char *path);
void tl_cleanup_child(tl_cleanup *l, pid_t child);

/* Removes it from the list. Does nothing if it is not in the list (all zero: never added). */
void tl_cleanup_drop(tl_cleanup *l);

/* SPDX-License-Identifier: MIT
 * What must be cleaned up if the process ends in the middle of a call: temporary files, and the
 * folders and compilers of users' operators. Each is in a list as long as it exists. tally_abandon,
 * which a signal handler may call, cleans up everything in the list. */
#ifndef TALLY_LEFTOVER_H
#define TALLY_LEFTOVER_H
#include <signal.h>
#include <sys/types.h>

typedef struct tl_leftover {
    /* removes the path, with async-signal-safe calls only; NULL: a child process */
    void (*undo)(const char *path);
    const char *path; /* not copied; must live while it is in the list */
    /* child: the leader of its process group. owner: the process that added it, because a child
     * of fork has a copy of the list */
    pid_t child, owner;
    struct tl_leftover *next, **at; /* at: NULL if it is not in the list */
} tl_leftover;

/* Between hold and release no signal handler runs in this thread, so that creating a thing and
 * adding it to the list cannot be interrupted. */
void tl_leftover_hold(sigset_t *old);
void tl_leftover_release(const sigset_t *old);

void tl_leftover_path(tl_leftover *l, void (*undo)(const char *path), const char *path);
void tl_leftover_child(tl_leftover *l, pid_t child);
/* Removes it from the list. Does nothing if it is not in the list (all zero: never added). */
void tl_leftover_drop(tl_leftover *l);
#endif

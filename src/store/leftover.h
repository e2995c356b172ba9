/* SPDX-License-Identifier: MIT
 * What a process must not leave behind if it ends in the middle of a call: files half written,
 * folders and compilers of users' operators. They are listed from their making to their end;
 * tally_abandon, which a signal handler may call, undoes what the list has. */
#ifndef TALLY_LEFTOVER_H
#define TALLY_LEFTOVER_H
#include <signal.h>
#include <sys/types.h>

typedef struct tl_leftover {
    /* calls only what a signal handler may call; NULL: a child to be ended */
    void (*undo)(const char *path);
    const char *path; /* borrowed while it is listed */
    /* child: the leader of its process group; owner: who listed it, for after a fork */
    pid_t child, owner;
    struct tl_leftover *next, **at; /* at: NULL when it is not listed */
} tl_leftover;

/* Between hold and release no signal handler runs in this thread, so that making a thing and
   listing it are one. */
void tl_leftover_hold(sigset_t *old);
void tl_leftover_release(const sigset_t *old);

void tl_leftover_path(tl_leftover *l, void (*undo)(const char *path), const char *path);
void tl_leftover_child(tl_leftover *l, pid_t child);
/* No longer listed. One that never was, or is not any more, is left as it is (all zero: never). */
void tl_leftover_drop(tl_leftover *l);
#endif

/* SPDX-License-Identifier: MIT
 * Better code, made by a thread of its own while calls go on with quick code. The thread
 * compiles, and touches no CUDA context; the program is loaded by who asked for it, at a later
 * call. */
#ifndef TALLY_BETTER_H
#define TALLY_BETTER_H
#include "code.h"

typedef struct tl_better tl_better; /* a program that was asked for */
/* those of a device, and the thread, which lives while there are any */
typedef struct tl_beside tl_beside;

/* May one more be asked for? beside: NULL at first. */
int tl_better_room(const tl_beside *beside);
/* Asks for the best code of a text, which is copied. NULL: it cannot be had. */
tl_better *tl_better_ask(tl_beside **beside, const tl_cuda_text *text);
/* 0: not yet. 1: it has an answer, *better is gone, and *code is the caller's, and on disk; or
 * NULL: it could not be made. */
int tl_better_take(tl_better **better, void **code);
/* Nobody wants it any more; if it was made it goes to disk. Does not wait. */
void tl_better_drop(tl_better **better);
/* Stops the compiler and waits for the thread. All that was asked for was taken or dropped. */
void tl_beside_end(tl_beside **beside);
#endif

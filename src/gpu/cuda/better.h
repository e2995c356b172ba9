/* SPDX-License-Identifier: MIT
 * Compiles better code in a background thread while calls use quick code. The thread only compiles
 * and touches no CUDA context. The caller loads the program at a later call. */
#ifndef TALLY_BETTER_H
#define TALLY_BETTER_H

#include "code.h"

typedef struct tl_better tl_better; /* a requested program */

/* the requests of a device, and its thread, which runs while there are requests */
typedef struct tl_beside tl_beside;

/* True if one more program may be requested. beside: NULL at first. */
int tl_better_accepts(const tl_beside *beside);

/* Requests the best code of a text, which is copied. Returns NULL if that is not possible. */
tl_better *tl_better_ask(tl_beside **beside, const tl_cuda_text *text);

/* Returns 0 if the code is not ready. Else returns 1 and frees *better; *code belongs to the caller
 * and is stored on disk, or is NULL if the compiler failed. */
int tl_better_take(tl_better **better, void **code);

/* Cancels a request; code that is ready goes to disk. Does not wait. */
void tl_better_drop(tl_better **better);

/* Stops the compiler and waits for the thread. All requests must have been taken or dropped. */
void tl_beside_end(tl_beside **beside);

#endif

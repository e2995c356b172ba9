/* SPDX-License-Identifier: MIT
 * Memory of a context's threads that is kept from call to call: what a call asks for and gives
 * back, the system may take away each time, and then every page of it costs a fault (0.2 to 0.5
 * us). */
#ifndef TALLY_SCRATCH_H
#define TALLY_SCRATCH_H
#include "context.h"

enum { TL_SCRATCH_SLOTS = 4 };

/* Room for `threads` threads. Call it outside of a parallel region. 0: out of memory. */
int tl_scratch_begin(tally *ctx, int threads);

/* At least `bytes` bytes, aligned to 64, of a slot of thread number `thread`; what they hold is
 * lost when more are asked for. NULL: out of memory. */
void *tl_scratch(tally *ctx, int thread, int slot, size_t bytes);

/* Frees all of it. */
void tl_scratch_end(tally *ctx);
#endif

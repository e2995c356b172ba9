/* SPDX-License-Identifier: MIT
 * Memory of a context's threads that is kept between calls. If each call allocated and freed it,
 * the system could take the pages away each time, and each page would cost a fault (0.2 to 0.5
 * us). */
#ifndef TALLY_SCRATCH_H
#define TALLY_SCRATCH_H

#include "context.h"

enum { TL_SCRATCH_SLOTS = 5 };

/* Makes slots for `threads` threads. Call it outside of a parallel region. Returns 0 if out of
 * memory. */
int tl_scratch_begin(tally *ctx, int threads);

/* Returns at least `bytes` bytes, aligned to 64, for a slot of thread number `thread`. The
 * content is lost when a larger size is requested. NULL: out of memory. */
void *tl_scratch(tally *ctx, int thread, int slot, size_t bytes);

/* Frees all slots. */
void tl_scratch_end(tally *ctx);

/* Asks for pages of 2 MiB, so that access in any order misses the TLB less. memory: NULL too. */
void tl_large_pages(void *memory, size_t bytes);

#endif

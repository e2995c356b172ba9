/* SPDX-License-Identifier: MIT
 * Keys on the processors: runs of equal neighbours, a stable counting sort, a gather. Arguments
 * are checked, but for what only the data tells. */
#ifndef TALLY_CPU_KEYS_H
#define TALLY_CPU_KEYS_H
#include "context/context.h"

/* offsets[0..runs] of one sequence (tally.h); NULL: only the number of runs. */
int64_t tl_runs(int threads, const tally_view *keys, int64_t *offsets);

/* *bad: the place of the first code that is not in 0 .. groups - 1, or -1. TALLY_NO_MEMORY
   otherwise. */
tally_status tl_groups(tally *ctx, int threads, const tally_view *codes, int64_t groups,
                       int64_t *order, int64_t *offsets, int64_t *bad);

/* The first i whose order[i] is not in 0 .. length - 1; n: there is none. */
int64_t tl_take_check(int threads, const int64_t *order, int64_t n, int64_t length);
void tl_take(int threads, const tally_view *in, const int64_t *order, int64_t n,
             const tally_view *out);
#endif

/* SPDX-License-Identifier: MIT
 * Keys on CPUs: runs of equal neighbours, a stable counting sort, a gather. Requires: arguments are
 * checked, except for what depends on the data. */
#ifndef TALLY_CPU_KEYS_H
#define TALLY_CPU_KEYS_H

#include "context/context.h"

/* Writes offsets[0 .. runs] of one sequence (tally.h); offsets NULL: only counts the runs. Returns
 * runs. */
int64_t tl_runs(int threads, const tally_view *keys, int64_t *offsets);

/* *bad: the index of the first code that is not in 0 .. groups - 1, or -1. Error:
 * TALLY_NO_MEMORY. */
tally_status tl_groups(tally *ctx, const tally_view *codes, int64_t groups, int64_t *order,
                       int64_t *offsets, int64_t *bad);

/* Returns the first i whose order[i] is not in 0 .. length - 1, or n. */
int64_t tl_take_check(int threads, const int64_t *order, int64_t n, int64_t length);
void tl_take(int threads, const tally_view *in, const int64_t *order, int64_t n,
             const tally_view *out);

#endif

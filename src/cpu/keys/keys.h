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

/* ---- bounds.c ---- */

/* Windows over sorted keys, as ranges of rows (tally_window_bounds). */

/* Returns n if the keys are sorted, else the first i >= 1 whose key is out of order. With NaN keys
 * it may return 0. *descending: the direction. */
int64_t tl_bounds_order(int threads, const tally_view *keys, const tally_key_window *window,
                        int *descending);

/* Requires: keys are sorted and of i32, i64, u64 or f64. Returns n, or, with TALLY_TIES_ROW, a row
 * whose window is not one range; then nothing is written. */
int64_t tl_bounds(int threads, const tally_view *keys, int descending,
                  const tally_key_window *window, int64_t *start, int64_t *end);

#endif

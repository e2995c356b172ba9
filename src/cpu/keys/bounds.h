/* SPDX-License-Identifier: MIT
 * Windows over sorted keys, as ranges of rows (tally_window_bounds). */
#ifndef TALLY_BOUNDS_H
#define TALLY_BOUNDS_H

#include "context/context.h"

/* Returns n if the keys are sorted, else the first i >= 1 whose key is out of order. With NaN keys
 * it may return 0. *descending: the direction. */
int64_t tl_bounds_order(int threads, const tally_view *keys, const tally_key_window *window,
                        int *descending);

/* Requires: keys are sorted and of i32, i64, u64 or f64. Returns n, or, with TALLY_TIES_ROW, a row
 * whose window is not one range; then nothing is written. */
int64_t tl_bounds(int threads, const tally_view *keys, int descending,
                  const tally_key_window *window, int64_t *start, int64_t *end);

#endif

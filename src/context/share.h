/* SPDX-License-Identifier: MIT
 * Divides rows and segments into parts of about equal weight, for threads. The weight of a sequence
 * is its number of elements plus TL_SHARE_ROW, the cost of starting it. */
#ifndef TALLY_SHARE_H
#define TALLY_SHARE_H

#include "tally.h"
#include <assert.h>

enum { TL_SHARE_ROW = 16 };
typedef __int128 tl_weight; /* 2^62 rows are allowed if they are empty */

static inline tl_weight tl_weight_before(const tally_view *in, int64_t r)
{
    return (in->offsets ? in->offsets[r] - in->offsets[0] : (tl_weight)r * in->n) +
           (tl_weight)r * TL_SHARE_ROW;
}

/* The first sequence of part t of `shares`. Part `shares` begins after the last sequence. */
static inline int64_t tl_share(const tally_view *in, int64_t t, int64_t shares)
{
    assert(shares >= 1 && t >= 0);
    int64_t low = 0, high = in->rows;
    if (t <= 0) return 0;
    if (t >= shares) return high;

    const tl_weight target = tl_weight_before(in, in->rows) / shares * t;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (tl_weight_before(in, mid) < target)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

#endif

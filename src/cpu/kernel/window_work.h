/* SPDX-License-Identifier: MIT
 * The buffers and the position of one stream of elements, shared by the kernels of windows
 * (window_kernel.h) and by window.c. There is one for each thread. window_edges.c allocates it;
 * the kernels fill it. */
#pragma once

#include "operator/kernel.h"
#include <stdint.h>

enum {
    TL_WINDOW_TILE = 1024, /* most elements of a tile */
    TL_WINDOW_BACK = 16, /* elements before its own that a vector of 16 lanes reads, at least 15 */
    /* longest and, but for vectors of fewer lanes, shortest windows that are computed as two
     * overlapping nodes */
    TL_WINDOW_OVERLAP = 128,
    TL_WINDOW_LEVELS = 8,

    /* states of the previous tile in front of a buffer */
    TL_WINDOW_HISTORY = TL_WINDOW_OVERLAP / 2,
    /* Rows between rings. Without them, equal slots of all rings would share a cache set. */
    TL_WINDOW_PAD = 5,

    /* Vectors that a stream carries: delay lines of the rows up and down, and up and down below a
     * vector. */
    TL_WINDOW_CARRY = 24
};

/* How the levels above a vector are folded: the ladder for any operator, differences (SLIDE) with
 * an inverse, blocks or two overlapping nodes for idempotent operators. */
enum { TL_WINDOW_LADDER, TL_WINDOW_SLIDE, TL_WINDOW_BLOCKS, TL_WINDOW_TWO };

typedef struct tl_window_work {
    int64_t w; /* elements of a window */
    int mode;
    int64_t last; /* places of the previous tile */
    int64_t row;  /* rows fed so far (BLOCKS: vectors of the block) */
    int prefetch; /* how to prefetch (tl_prefetches) */

    /* what to prefetch during a tile: elements that enter, and elements that leave */
    tl_prefetch next, prefetch_old;
    void *wide; /* widened elements and results (widen.h) */

    /* Staging buffers (soa) of TL_WINDOW_HISTORY states and a tile: the states of the elements. */
    void *stage;
    const void *z0; /* = stage, or the elements themselves if they need no staging */
    void *node;     /* nodes that are folded last, if there are any */
    void *past;     /* folds of the high bits */
    void *ring;     /* delay lines of the levels; BLOCKS: the block */
    void *delay;    /* delay lines of the partial folds */
    void *carry;    /* TL_WINDOW_CARRY vectors */
    void *stash;    /* one row for each level */
} tl_window_work;

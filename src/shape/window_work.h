/* SPDX-License-Identifier: MIT
 * What a window's typed kernels (window_kernel.h) and its engine (window.c) share: the buffers and the position of one
 * stream of elements. One a thread; the engine allocates it for a window and an instance, the kernels fill it. */
#ifndef TALLY_WINDOW_WORK_H
#define TALLY_WINDOW_WORK_H
#include <stdint.h>

enum {
    TL_WINDOW_HISTORY = 16, /* states of the previous tile in front of a buffer: the widest vector, of 16 lanes, looks back 15 */
    TL_WINDOW_ROW = 4,      /* vectors in a row, the unit of the ladder: independent work for the core, few index sums */
    TL_WINDOW_CARRY = 8     /* vectors of states that a stream carries from row to row */
};

/* How the levels above a vector are folded. */
enum { TL_WINDOW_LADDER, TL_WINDOW_SLIDE, TL_WINDOW_BLOCKS };

typedef struct tl_window_work {
    int64_t w;     /* elements of a window */
    int mode;      /* TL_WINDOW_LADDER any operator; SLIDE with an inverse; BLOCKS idempotent */
    int64_t row;   /* rows (BLOCKS: vectors of the block) fed so far */
    void *stage;   /* staging buffers (soa), TL_WINDOW_HISTORY states and a tile: elements' states */
    const void *z0;/* the same, or where to find them without staging */
    void *z2;      /* nodes of 4 elements, where the low bits of w need them */
    void *past;    /* folds of the high bits */
    void *ring;    /* the levels' delay lines; BLOCKS: the block */
    void *delay;   /* the partial folds' delay lines */
    void *carry;   /* TL_WINDOW_CARRY vectors */
    void *stash;   /* one row for each level */
} tl_window_work;
#endif

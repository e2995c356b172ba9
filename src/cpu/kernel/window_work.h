/* SPDX-License-Identifier: MIT
 * What a window's typed kernels (window_kernel.h) and its engine (window.c) share: the buffers
 * and the position of one stream of elements. One a thread; the engine allocates it for a window
 * and an instance, the kernels fill it. */
#ifndef TALLY_WINDOW_WORK_H
#define TALLY_WINDOW_WORK_H
#include "operator/kernel.h"
#include <stdint.h>

enum {
    TL_WINDOW_TILE = 1024, /* the most elements of a tile */
    TL_WINDOW_BACK = 16,   /* the widest vector, of 16 lanes, looks back 15 elements */
    /* the longest windows of an idempotent operator that are two overlapping nodes */
    TL_WINDOW_OVERLAP = 128,
    /* states of the previous tile in front of a buffer */
    TL_WINDOW_HISTORY = TL_WINDOW_OVERLAP / 2,
    /* rows between rings, or equal slots of all rings would share a cache set */
    TL_WINDOW_PAD = 5,
    /* vectors of states that a stream carries: rows up and down the ladder, 3 to climb to it */
    TL_WINDOW_CARRY = 19
};

/* How the levels above a vector are folded. */
enum { TL_WINDOW_LADDER, TL_WINDOW_SLIDE, TL_WINDOW_BLOCKS, TL_WINDOW_TWO };

typedef struct tl_window_work {
    int64_t w; /* elements of a window */
    /* TL_WINDOW_LADDER any operator; SLIDE with an inverse; BLOCKS, TWO idempotent */
    int mode;
    int64_t last; /* places of the tile before */
    int64_t row;  /* rows (BLOCKS: vectors of the block) fed so far */
    int fetch;    /* how to ask for elements that come from memory (tl_fetches), */
    /* the elements to ask for from the tile's first place on, and those that leave */
    tl_next next, next_old;
    void *wide; /* widened elements and results (widen.h) */
    /* staging buffers (soa), TL_WINDOW_HISTORY states and a tile: elements' states */
    void *stage;
    const void *z0; /* the same, or where to find them without staging */
    void *z2;       /* nodes of 4 elements, where the low bits of w need them */
    void *past;     /* folds of the high bits */
    void *ring;     /* the levels' delay lines; BLOCKS: the block */
    void *delay;    /* the partial folds' delay lines */
    void *carry;    /* TL_WINDOW_CARRY vectors */
    void *stash;    /* one row for each level */
} tl_window_work;
#endif

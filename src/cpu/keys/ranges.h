/* SPDX-License-Identifier: MIT
 * Windows that are arbitrary ranges of a sequence: given as ranges, or by options that the windows
 * of dense slices (window.h) do not support: negative offsets, and a step. Each range is folded
 * alone, from its own first element. */
#ifndef TALLY_RANGES_H
#define TALLY_RANGES_H

#include "cpu/shape.h"

/* Computes the ranges of one sequence. count: see tl_call. Error: TALLY_NO_MEMORY only. */
tally_status tl_ranges_run(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                           const tl_ranges *ranges, tl_line line);

/* tally_window on a view, computed by ranges. */
tally_status tl_ranges_view(tally *ctx, const tl_call *call, int threads);

/* ---- range_nodes.c ---- */

/* The nodes of one thread's ranges: the elements read so far, the ring buffers of each level, and
 * the buffers of a batch of results. cpu/kernel/ranges_kernel.h has the method. */

enum {
    TL_RANGE_BATCH = 1024, /* results of a batch */
    /* Ranges of 2^29 elements or more are folded directly, because places and counts have 32
     * bits. */
    TL_RANGE_LEVELS = 29,
    TL_RANGE_PLACES = 1 << 30 /* places that are numbered from one base */
};

typedef struct tl_range_nodes {
    char *memory; /* NULL: not allocated */
    char *wide, *soa, *result, *out, *nodes;
    tl_range_ring rings[TL_RANGE_LEVELS];
    int levels, failed;
    int64_t soa_bytes;

    /* There are nodes of elements from .. head - 1 of the sequence; from == head: none. Place 0 is
     * element `base`. */
    int64_t base, from, head;

    /* of a batch: places, lengths, result numbers */
    int32_t place[TL_RANGE_BATCH], length[TL_RANGE_BATCH];
    int64_t number[TL_RANGE_BATCH];
} tl_range_nodes;

/* Allocates rings for ranges of less than 2^levels elements. 0: out of memory; ranges are folded
 * directly. */
int tl_range_nodes_open(tl_range_nodes *s, const tl_plan *plan, int levels);
void tl_range_nodes_close(tl_range_nodes *s);

/* How many elements must be read before ranges inside low .. high - 1 can be folded. */
int64_t tl_range_nodes_cost(const tl_range_nodes *s, int64_t low, int64_t high);

/* Folds `count` ranges. Range r is length[r] elements from element place[r] + low on, and ends in
 * the tile of element high - 1. x: the sequence of n elements. Places become those of the nodes.
 * The states are at s->soa, with padding states up to a multiple of TL_ABREAST. */
void tl_range_nodes_fold(tl_range_nodes *s, const tl_plan *plan, const char *x, int64_t low,
                         int64_t high, int64_t count);

#endif

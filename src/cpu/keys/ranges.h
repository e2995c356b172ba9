/* SPDX-License-Identifier: MIT
 * Windows that are arbitrary ranges of a sequence: given as ranges, or by options that the windows
 * of dense slices (window.h) do not support: negative offsets, and a step. Each range is folded
 * alone, from its own first element. */
#ifndef TALLY_RANGES_H
#define TALLY_RANGES_H

#include "context/call.h"
#include "context/context.h"
#include "operator/plan.h"

typedef struct tl_ranges {
    const int64_t *start, *end;    /* of each result, or NULL */
    const tally_window_options *o; /* start NULL: result r is the window at first + r step */
    int64_t n, results, first, step;
    int64_t min_count;
    int64_t number; /* of result 0, for sentences */
} tl_ranges;

/* The ranges of tally_window on a sequence of n elements. */
static inline tl_ranges tl_ranges_of(const tally_window_options *o, int64_t n)
{
    const int64_t step = o->step > 1 ? o->step : 1;
    const int64_t first = o->edges == TALLY_EDGES_VALID && o->before > 0 ? o->before : 0;
    return (tl_ranges){NULL, NULL, o, n, tally_window_length(n, o), first, step, o->min_count};
}

/* Range r is *from .. *end - 1. Returns 0 if the window has no value: it is not full, and the rule
 * for edges says so. */
static inline int tl_range_at(const tl_ranges *s, int64_t r, int64_t *from, int64_t *end)
{
    if (s->start) {
        *from = s->start[r];
        *end = s->end[r];
        return 1;
    }
    const int64_t i = s->first + r * s->step, low = i - s->o->before, high = i + s->o->after + 1;
    *from = low < 0 ? 0 : low > s->n ? s->n : low;
    *end = high > s->n ? s->n : high < *from ? *from : high;
    return (low >= 0 && high <= s->n) || s->o->edges == TALLY_EDGES_SHRINK || s->min_count > 0;
}

/* One sequence and its results: elements `stride` apart at x, results y_stride bytes apart at y. */
typedef struct tl_line {
    const void *x;
    int64_t stride;
    void *y;
    int64_t y_stride;
} tl_line;

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

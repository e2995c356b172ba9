/* SPDX-License-Identifier: MIT
 * Calls a plan's kernels with the caller's elements, states and results. Kernels exist for a few
 * types only (accumulators, keys of 32 and 64 bits). Elements of another type are widened, a tile
 * at a time, in the first-level cache:
 *
 *   elements --in--> wide elements --core--> wide states --lower--> wide results --out--> results
 *                                     |  to_wide, from_wide: to and from states of the law
 *
 * Each function calls the kernel of the same name (kernel.h). */
#pragma once

#include "law/counter.h"
#include "operator/kernel.h"
#include "cpu/kernel/window_work.h"
#include <assert.h>
#include <string.h>

enum { TL_WIDE_BYTES = TL_TILE * 8 }; /* a tile of wide elements, or of wide results */

/* Prefetch the elements that lie `prefetch_distance` bytes after x; 0: none. */
static inline tl_prefetch tl_prefetch_of(const tl_plan *plan, const void *x,
                                         int64_t prefetch_distance)
{
    if (!prefetch_distance) return (tl_prefetch){NULL, 0, TL_CACHED};
    return (tl_prefetch){(const char *)((uintptr_t)x + (uintptr_t)prefetch_distance),
                         plan->op->elem_bytes, tl_prefetch_way()};
}

static inline void tl_fold(const tl_plan *plan, tl_state *s, const void *x, int64_t n, int64_t i,
                           int prefetch)
{
    plan->fold->fold(s, &(tl_elements){x, n, i, plan->fold_in, prefetch}, plan->par);
    if (plan->fold == plan->core && plan->op->from_wide) plan->op->from_wide(s);
}

/* The nodes of S(n), largest first, one for each set bit of n, where x[0] has index i. out has
 * space for TL_MAX_LEVELS. */
static inline void tl_nodes(const tl_plan *plan, tl_state *out, const void *x, int64_t n, int64_t i,
                            int prefetch)
{
    assert(n > 0);
    for (int64_t at = 0, size; at < n; at += size) {
        size = (int64_t)1 << tl_top_level(n - at);
        tl_fold(plan, out++, (const char *)x + at * plan->op->elem_bytes, size, i + at, prefetch);
    }
}

/* The kernels of scans: those of the elements themselves where they exist. */
static inline const tl_kernel *tl_scans(const tl_plan *plan)
{
    return plan->fold->scan_run ? plan->fold : plan->core;
}

/* Converts n values that are not in the call's view, for example an initial value, to the kernels'
 * element type. */
static inline void tl_widen_values(const tl_plan *plan, void *to, const void *from, int64_t n)
{
    const tl_convert *in = plan->in && plan->in->apply_two ? plan->in->then : plan->in;
    if (in)
        in->apply(in, to, from, n);
    else
        memcpy(to, from, (size_t)(n * plan->op->result_bytes / plan->op->lanes));
}

/* Bytes of a staging buffer of TL_SOA states. */
static inline size_t tl_soa_bytes(const tl_plan *plan)
{
    return ((size_t)(plan->core->vector_bytes / plan->core->vector_lanes) * TL_SOA + 127) &
           ~(size_t)63;
}

/* Where a scan stages TL_SOA states, and a tile of wide elements or results (NULL if nothing is
 * widened). */
typedef struct {
    void *soa, *wide;
} tl_staging;

size_t tl_staging_bytes(const tl_plan *plan);

/* The staging buffers in `memory`, which has tl_staging_bytes bytes. */
tl_staging tl_staging_at(const tl_plan *plan, void *memory);

/* *tile is changed. */
void tl_scan_run(const tl_plan *plan, tl_staging at, tl_tile *tile, tl_state *node);
void tl_scan_blocks(const tl_plan *plan, tl_staging at, tl_tile *tile, tl_block_counter *c);
void tl_scan_part(const tl_plan *plan, tl_staging at, tl_tile *tile);

static inline void tl_stage(const tl_plan *plan, void *soa, int64_t j, const tl_state *s)
{
    tl_state wide = *s;
    if (plan->op->to_wide) plan->op->to_wide(&wide);
    plan->core->stage(soa, j, &wide);
}

/* Narrows m wide results to `to`. stream: with non-temporal stores where it is aligned to them. */
void tl_narrow_results(const tl_plan *plan, void *to, const void *wide, int64_t m, int stream);

/* Lowers one row of staged states (tl_lower.rows is 1) to results of the plan's type. */
void tl_lower_row(const tl_plan *plan, tl_staging at, void *out, const tl_lower *row);

/* Lowers `count` staged states, each with its own number of elements, to dense results at `to`. All
 * arrays have space for a multiple of TL_ABREAST. firsts: see tl_lower. */
static inline void tl_lower_counted(const tl_plan *plan, tl_staging at, void *to, int64_t count,
                                    const int32_t *counts, const int32_t *firsts)
{
    const int bare = plan->out && plan->lower->bare;
    const tl_lower l = {.m = (count + TL_ABREAST - 1) & -(int64_t)TL_ABREAST,
                        .rows = 1,
                        .counts = counts,
                        .firsts = firsts};
    if (!bare) plan->lower->lower_rows(plan->out ? at.wide : to, at.soa, &l, plan->par);
    if (plan->out)
        plan->out->apply(plan->out, to, bare ? at.soa : at.wide, count * plan->op->lanes);
}

/* For windows. Requires: k->wide has TL_WINDOW_WIDE_BYTES if anything is widened. */
enum { TL_WINDOW_WIDE_BYTES = 48 * 1024 };
void tl_window_start(const tl_plan *plan, tl_window_work *k, const tl_state *before);
/* piece, l: changed by the call */
void tl_window_feed(const tl_plan *plan, tl_window_work *k, tl_window_piece *piece);
/* Feeds a piece and lowers l->m windows to `to`. */
void tl_window_step(const tl_plan *plan, tl_window_work *k, tl_window_piece *piece, void *to,
                    tl_lower *l);
void tl_window_suffix(const tl_plan *plan, tl_window_work *k, const void *end, int64_t stop,
                      int64_t high, int64_t blocks);

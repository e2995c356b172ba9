/* SPDX-License-Identifier: MIT
 * Windows on a GPU: chooses the file that computes the windows of a call (window.h). */
#include "window.h"
#include "gpu/kernel/constants.h"

static tally_status windows(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g)
{
    int done;
    tally_status status = tl_window_columns(d, ctx, b, r, g, &done);
    if (done) return status;
    if (tl_exact_takes(d, b, r, g)) return tl_window_exact(d, ctx, b, r, g);
    const int small = g->before + g->after < (int64_t)1 << (tl_gpu_room_log(b->plan->op) - 1);
    if (small || tl_whole_takes(d, b, g) == TL_TAKES_ALL) return tl_window_tiles(d, ctx, b, r, g);
    return tl_window_long(d, ctx, b, r, g);
}

/* For operators that skip NaN: writes the empty value where fewer than `least` elements count. */
static tally_status blank(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                          const tl_plan *count, const tl_geometry *g, int64_t least)
{
    const tally_view *v = r->view;
    const int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tl_results counts = {.view = v, .piece = r->piece, .row_stride = v->n, .stride = 1, .owned = 1};
    tl_geometry all = *g;
    tl_batch counted = b->counts_of ? *b->counts_of : *b;
    all.least = 0;
    counted.plan = count;
    if (v->offsets) counts.byte = -v->offsets[0] * (int64_t)sizeof(int64_t);
    tally_status status = tl_gpu_take(d, ctx, (size_t)total * sizeof(int64_t), &counts.y);
    if (!status) status = windows(d, ctx, &counted, &counts, &all);
    if (!status) status = tl_gpu_program(d, ctx, b->plan->op, "window", &program);
    if (!status)
        status =
            TL_GO(&l, blank, (total + WINDOW_THREADS - 1) / WINDOW_THREADS,
                  .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                  .results = tl_results_arguments(r), .counts = tl_memory_of(&counts.y),
                  .least = tl_i64(least), .results_each = tl_i64(v->n), .total = tl_i64(total));
    tl_gpu_give(d, &counts.y);
    return status;
}

tally_status tl_window_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_call *c)
{
    const tally_window_options *const o = c->window;
    int masked = b->plan->op->masked || b->counts_of;
    int shrink =
        o->edges == TALLY_EDGES_SHRINK || (o->edges == TALLY_EDGES_MISSING && o->min_count > 0);
    tl_geometry g = {o->before, o->after, masked ? 0 : o->min_count, o->edges == TALLY_EDGES_VALID,
                     !shrink};
    int64_t w = o->before + 1 + o->after;
    if (!shrink && !g.valid && g.least < w) g.least = w;
    /* a window never needs to be longer than the longest sequence */
    if (!g.valid && g.before > b->longest) g.before = b->longest;
    if (!g.valid && g.after > b->longest) g.after = b->longest;
    tally_status status = windows(d, ctx, b, r, &g);
    if (!status && masked && o->min_count > 0)
        status = blank(d, ctx, b, r, c->count, &g, o->min_count);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Windows on a GPU: chooses the file that computes the windows of a call (window.h). */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

static tl_window_call call_of(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                              const tl_geometry *g)
{
    const tl_scalar *op = b->plan->op;
    return (tl_window_call){.d = d,
                            .b = b,
                            .r = r,
                            .g = g,
                            .t = tl_gpu_window_tuning(op, d->gpu->calls->prelude),
                            .w = g->before + 1 + g->after,
                            .state = tl_gpu_state_bytes(op)};
}

static tally_status windows(const tl_window_call *c)
{
    int done;
    assert(c->g->before >= 0 && c->g->after >= 0 && c->w > 0);
    tally_status status = tl_window_columns(c, &done);
    if (done) return status;
    if (tl_exact_takes(c) && (c->g->valid || c->g->whole))
        return tl_window_exact(c, 0, tl_windows_of(c));

    const int fits = c->w <= (int64_t)1 << (c->t.cut_log - 1);
    return fits || tl_quads_take(c) == TL_TAKES_ALL ? tl_window_tiles(c) : tl_window_long(c);
}

/* For operators that skip NaN: writes the empty value where fewer than `least` elements count. */
static tally_status blank(const tl_window_call *c, const tl_plan *count, int64_t least)
{
    const tally_view *v = c->r->view;
    const int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_launch l;
    tl_results counts = {.view = v, .row_stride = v->n, .stride = 1, .owned = 1};
    tl_geometry all = *c->g;
    tl_batch counted = c->b->counts_of ? *c->b->counts_of : *c->b;

    all.least = 0;
    counted.plan = count;
    if (v->offsets) counts.byte = -v->offsets[0] * (int64_t)sizeof(int64_t);
    tally_status status = tl_gpu_take(c->d, (size_t)total * sizeof(int64_t), &counts.y);
    const tl_window_call counting = call_of(c->d, &counted, &counts, &all);
    if (!status) status = windows(&counting);
    if (!status) status = tl_gpu_program(c->d, c->b->plan->op, "window", &l);
    if (!status)
        status = TL_GO(&l, blank, (total + WINDOW_THREADS - 1) / WINDOW_THREADS,
                       .batch = tl_batch_arguments(c->b, TL_ALL_SEQUENCES),
                       .results = tl_results_arguments(c->r), .counts = counts.y.handle,
                       .least = least, .results_each = v->n, .total = total);

    tl_gpu_give(c->d, &counts.y);
    return status;
}

tally_status tl_window_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
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
    const tl_window_call call = call_of(d, b, r, &g);
    TL_TRY(windows(&call));
    if (masked && o->min_count > 0) TL_TRY(blank(&call, c->count, o->min_count));

    return TALLY_OK;
}

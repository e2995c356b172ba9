/* SPDX-License-Identifier: MIT
 * Windows on a GPU: those that fit tiles in local memory; which call goes where. Longer ones are in gpu_window_long.c. */
#include "gpu_window.h"
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

void tl_put_window(tl_launch *l, const tl_results *r, const tl_geometry *g)
{
    tl_put_results(l, r);
    tl_put(l, g->before);
    tl_put(l, g->after);
    tl_put(l, g->valid);
    tl_put(l, g->least);
}

int tl_window_arrays(int64_t w, int from, int *top, int *kept)
{
    int unkept[2] = {from == 0 && (!(w & 1) || w == 1), 0}; /* those two that levels change between */
    *top = 63 - __builtin_clzll((unsigned long long)w);
    *kept = __builtin_popcountll((unsigned long long)w) - 1;
    for (int k = from ? from : 2; k < *top; k++)
        if (!(w >> k & 1)) unkept[!(k & 1)] = 1;
    return *kept + (unkept[1] ? 2 : unkept[0]);
}

int tl_whole_log(const tl_gpu_device *d, const tl_batch *b) { return tl_gpu_whole_log(b->plan->op, d->gpu->calls->prelude); }

/* Does window_whole take these windows? 1: all; 0: the whole ones, but not those cut off by an edge; -1: none. */
static int takes_whole(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g, int64_t *room)
{
    int top, kept, log = tl_whole_log(d, b);
    int64_t w = g->before + g->after + 1;
    if (w > (int64_t)1 << (log - 1)) return -1;
    *room = (int64_t)tl_window_arrays(w, 0, &top, &kept) * ((int64_t)tl_gpu_state_bytes(b->plan->op) << log);
    if (*room > d->gpu->calls->local_bytes(d->gpu)) return -1;
    return g->valid || g->whole ? 1 : d->gpu->calls->warps_in_group(d->gpu) > 1 ? 0 : -1; /* the other launch leaves tiles out: SKIPS */
}

/* Cuts results into tiles of `each`: tiles of every sequence, or with offsets in b->first; jobs: all. */
static tally_status cut(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_geometry *g, int64_t each, int64_t *tiles,
                        int64_t *jobs)
{
    *tiles = *jobs = 0;
    if (!b->host_offsets) {
        int64_t count = g->valid ? b->n - g->before - g->after : b->n;
        *tiles = count > 0 ? (count + each - 1) / each : 0;
        *jobs = *tiles * b->rows;
        return TALLY_OK;
    }
    size_t bytes = (size_t)(b->rows + 1) * sizeof(int64_t);
    int64_t *first = malloc(bytes);
    if (!first) return tl_no_memory(ctx, bytes, "the tiles of segments");
    for (int64_t s = 0; s < b->rows; s++) {
        first[s] = *jobs;
        *jobs += (b->host_offsets[s + 1] - b->host_offsets[s] + each - 1) / each;
    }
    first[b->rows] = *jobs;
    tl_gpu_give(d, &b->first);
    tally_status status = tl_gpu_upload(d, ctx, first, bytes, &b->first);
    free(first);
    return status;
}

/* Windows that fit local memory: one launch for those that are whole, one for those at an edge that are shorter. */
static tally_status window_tiles(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, tl_program *program,
                                 const tl_geometry *g)
{
    int64_t w = g->before + g->after + 1, whole_bytes;
    int whole = takes_whole(d, b, g, &whole_bytes), top, kept;
    tally_status status = TALLY_OK;
    for (int edges = whole < 0; !status && edges < 2 - (whole > 0); edges++) {
        int64_t room = (int64_t)1 << (edges ? tl_gpu_room_log(b->plan->op) : tl_whole_log(d, b)), tiles, jobs;
        int64_t each = room - (w - 1) < room / 2 || !edges ? room - (w - 1) : room / 2;
        if (!edges) each &= -4; /* quads of results stay aligned */
        tl_launch l;
        status = cut(d, ctx, b, g, each, &tiles, &jobs);
        if (status) break;
        tl_begin(&l, d, ctx, b, program, 0);
        tl_put_window(&l, r, g);
        tl_put(&l, tiles);
        tl_put(&l, jobs);
        tl_put(&l, each);
        tl_put(&l, whole == 0);
        if (!edges) {
            tl_window_arrays(w, 0, &top, &kept);
            tl_put(&l, top);
            tl_put(&l, kept);
            tl_put_room(&l, whole_bytes);
        }
        status = tl_go(&l, edges ? "window" : "window_whole", jobs, 256);
    }
    return status;
}

static tally_status windows(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, const tl_geometry *g)
{
    tl_program *program = NULL;
    int64_t unused;
    int small = g->before + g->after < (int64_t)1 << (tl_gpu_room_log(b->plan->op) - 1) || takes_whole(d, b, g, &unused) > 0;
    if (!small) return tl_window_long(d, ctx, b, r, g);
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "window", &program);
    return status ? status : window_tiles(d, ctx, b, r, program, g);
}

/* For operators that skip NaN: results with fewer than min_count elements that count become empty. */
static tally_status blank(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, const tl_plan *count,
                          const tl_geometry *g, int64_t least)
{
    const tally_view *v = r->view;
    int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_program *program = NULL;
    tl_launch l;
    tl_results counts = {.view = v, .row_stride = v->n, .stride = 1, .owned = 1};
    tl_geometry all = *g;
    const tl_plan *plan = b->plan;
    all.least = 0;
    if (v->offsets) counts.byte = -v->offsets[0] * (int64_t)sizeof(int64_t);
    tally_status status = tl_gpu_take(d, ctx, (size_t)total * sizeof(int64_t), &counts.y);
    b->plan = count;
    if (!status) status = windows(d, ctx, b, &counts, &all);
    b->plan = plan;
    if (!status) status = tl_gpu_program(d, ctx, plan->op, "window", &program);
    if (!status) {
        tl_begin(&l, d, ctx, b, program, 0);
        tl_put_results(&l, r);
        tl_put_memory(&l, &counts.y);
        tl_put(&l, least);
        tl_put(&l, v->n);
        tl_put(&l, total);
        status = tl_go(&l, "blank", (total + 255) / 256, 256);
    }
    tl_gpu_give(d, &counts.y);
    return status;
}

tally_status tl_gpu_window_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_plan *count,
                                 const tally_view *in, const tally_view *out, const tally_window_options *o)
{
    tl_batch b;
    tl_results r = {0};
    int masked = plan->op->masked;
    int shrink = o->edges == TALLY_EDGES_SHRINK || (o->edges == TALLY_EDGES_MISSING && o->min_count > 0);
    tl_geometry g = {o->before, o->after, masked ? 0 : o->min_count, o->edges == TALLY_EDGES_VALID, !shrink};
    int64_t w = o->before + 1 + o->after;
    if (!shrink && !g.valid && g.least < w) g.least = w;
    tally_status status = tl_batch_open(d, ctx, plan, in, &b);
    if (!status) status = tl_results_open(d, ctx, out, plan->op->result_bytes, &r);
    /* a window longer than the longest sequence reaches no further than that */
    if (!g.valid && g.before > b.longest) g.before = b.longest;
    if (!g.valid && g.after > b.longest) g.after = b.longest;
    if (!status) status = windows(d, ctx, &b, &r, &g);
    if (!status && masked && o->min_count > 0) status = blank(d, ctx, &b, &r, count, &g, o->min_count);
    status = tl_results_close(d, ctx, &r, plan->op->result_bytes, status);
    tl_batch_close(d, &b);
    return status;
}

tally_status tl_gpu_window(tl_device *base, tally *ctx, const tl_plan *plan, const tl_plan *count, const tally_view *in,
                           const tally_view *out, const tally_window_options *o)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const int64_t bytes = plan->op->elem_bytes, result = plan->op->result_bytes;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    int pieces = tl_pieces_wanted(d, in, bytes, out, result);
    status = pieces ? TALLY_NO_MEMORY : tl_gpu_window_whole(d, ctx, plan, count, in, out, o);
    if (pieces || (status == TALLY_NO_MEMORY && tl_pieces_possible(d, in, bytes, out, result)))
        status = tl_pieces_window(d, ctx, plan, count, in, out, o);
    d->gpu->calls->leave(d->gpu);
    return status;
}

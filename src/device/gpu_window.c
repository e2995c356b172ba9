/* SPDX-License-Identifier: MIT
 * Windows on a GPU: tiles in local memory, or for long windows every level an array. */
#include "gpu_work.h"
#include <stdlib.h>
#include <string.h>

static const int64_t SLAB = 1 << 22; /* results of long windows computed at a time */

/* ---- windows ---- */

typedef struct {
    int64_t before, after, least;
    int valid, whole; /* whole: a window that is not whole is empty */
} geometry;

static void put_window(tl_launch *l, const tl_results *r, const geometry *g)
{
    tl_put_results(l, r);
    tl_put(l, g->before);
    tl_put(l, g->after);
    tl_put(l, g->valid);
    tl_put(l, g->least);
}

/* The arrays that window_whole needs for windows of w, and the bits of w that are kept: all set ones but the highest. */
static int arrays_of(int64_t w, int *top, int *kept)
{
    int unkept[2] = {!(w & 1) || w == 1, 0}; /* those two that levels change between */
    *top = 63 - __builtin_clzll((unsigned long long)w);
    *kept = __builtin_popcountll((unsigned long long)w) - 1;
    for (int k = 2; k < *top; k++)
        if (!(w >> k & 1)) unkept[!(k & 1)] = 1;
    return *kept + (unkept[1] ? 2 : unkept[0]);
}

static int whole_log(const tl_gpu_device *d, const tl_batch *b) { return tl_gpu_whole_log(b->plan->op, d->gpu->calls->small_rooms); }

/* Does window_whole take these windows? 1: all; 0: the whole ones, but not those cut off by an edge; -1: none. */
static int takes_whole(const tl_gpu_device *d, const tl_batch *b, const geometry *g, int64_t *room)
{
    int top, kept, log = whole_log(d, b);
    int64_t w = g->before + g->after + 1;
    if (w > (int64_t)1 << (log - 1)) return -1;
    *room = (int64_t)arrays_of(w, &top, &kept) * ((int64_t)tl_gpu_state_bytes(b->plan->op) << log);
    if (*room > d->gpu->calls->local_bytes(d->gpu)) return -1;
    return g->valid || g->whole ? 1 : d->gpu->calls->warps_in_group(d->gpu) > 1 ? 0 : -1; /* the other launch leaves tiles out: SKIPS */
}

/* Cuts results into tiles of `each`: tiles of every sequence, or with offsets in b->first; jobs: all. */
static tally_status cut(tl_gpu_device *d, tally *ctx, tl_batch *b, const geometry *g, int64_t each, int64_t *tiles,
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
                                 const geometry *g)
{
    int64_t w = g->before + g->after + 1, whole_bytes;
    int whole = takes_whole(d, b, g, &whole_bytes), top, kept;
    tally_status status = TALLY_OK;
    for (int edges = whole < 0; !status && edges < 2 - (whole > 0); edges++) {
        int64_t room = (int64_t)1 << (edges ? tl_gpu_room_log(b->plan->op) : whole_log(d, b)), tiles, jobs;
        int64_t each = room - (w - 1) < room / 2 || !edges ? room - (w - 1) : room / 2;
        if (!edges) each &= -4; /* quads of results stay aligned */
        tl_launch l;
        status = cut(d, ctx, b, g, each, &tiles, &jobs);
        if (status) break;
        tl_begin(&l, d, ctx, b, program, 0);
        put_window(&l, r, g);
        tl_put(&l, tiles);
        tl_put(&l, jobs);
        tl_put(&l, each);
        tl_put(&l, whole == 0);
        if (!edges) {
            arrays_of(w, &top, &kept);
            tl_put(&l, top);
            tl_put(&l, kept);
            tl_put_room(&l, whole_bytes);
        }
        status = tl_go(&l, edges ? "window" : "window_whole", jobs, 256);
    }
    return status;
}

/* Longer windows: every level an array, a slab of results of one sequence at a time. */
static tally_status window_slabs(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, tl_program *program,
                                 const geometry *g)
{
    tally_status status = TALLY_OK;
    for (int64_t s = 0; !status && s < b->rows; s++) {
        int64_t n = b->host_offsets ? b->host_offsets[s + 1] - b->host_offsets[s] : b->n;
        int64_t count = g->valid ? n - g->before - g->after : n, w = g->before + 1 + g->after;
        for (int64_t j0 = 0; !status && j0 < count; j0 += SLAB) {
            int64_t j1 = j0 + SLAB < count ? j0 + SLAB : count, shift = g->valid ? g->before : 0;
            int64_t lo = j0 + shift > g->before ? j0 + shift - g->before : 0;
            int64_t hi = g->after < n - (j1 + shift) ? j1 + shift + g->after : n, items = hi - lo;
            int levels = 1;
            while (levels < 62 && w >> levels && items >> levels) levels++;
            tl_launch l;
            tl_memory y = {0};
            status = tl_gpu_take(d, ctx, (size_t)items * (size_t)levels * (size_t)tl_gpu_state_bytes(b->plan->op), &y);
            if (!status) {
                tl_begin(&l, d, ctx, b, program, 0);
                tl_put_memory(&l, &y);
                tl_put(&l, s);
                tl_put(&l, lo);
                tl_put(&l, items);
                status = tl_go(&l, "lift_all", (items + 255) / 256, 256);
            }
            for (int k = 0; !status && k + 1 < levels; k++) {
                l = (tl_launch){.d = d, .ctx = ctx, .program = program};
                tl_put_memory(&l, &y);
                tl_put(&l, items);
                tl_put(&l, k);
                tl_put(&l, items);
                status = tl_go(&l, "double_all", (items + 255) / 256, 256);
            }
            if (!status) {
                tl_begin(&l, d, ctx, b, program, 0);
                put_window(&l, r, g);
                tl_put_memory(&l, &y);
                tl_put(&l, items);
                tl_put(&l, s);
                tl_put(&l, lo);
                tl_put(&l, j0);
                tl_put(&l, j1);
                status = tl_go(&l, "fold_all", (j1 - j0 + 255) / 256, 256);
            }
            tl_gpu_give(d, &y);
        }
    }
    return status;
}

static tally_status windows(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, const geometry *g)
{
    tl_program *program = NULL;
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "window", &program);
    int64_t unused;
    int small = g->before + g->after < (int64_t)1 << (tl_gpu_room_log(b->plan->op) - 1) || takes_whole(d, b, g, &unused) > 0;
    if (!status) status = (small ? window_tiles : window_slabs)(d, ctx, b, r, program, g);
    return status;
}

/* For operators that skip NaN: results with fewer than min_count elements that count become empty. */
static tally_status blank(tl_gpu_device *d, tally *ctx, tl_batch *b, const tl_results *r, const tl_plan *count,
                          const geometry *g, int64_t least)
{
    const tally_view *v = r->view;
    int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_program *program = NULL;
    tl_launch l;
    tl_results counts = {.view = v, .row_stride = v->n, .stride = 1, .owned = 1};
    geometry all = *g;
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
    geometry g = {o->before, o->after, masked ? 0 : o->min_count, o->edges == TALLY_EDGES_VALID, !shrink};
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
    d->gpu->calls->enter(d->gpu);
    int pieces = tl_pieces_wanted(d, in, bytes, out, result);
    tally_status status = pieces ? TALLY_NO_MEMORY : tl_gpu_window_whole(d, ctx, plan, count, in, out, o);
    if (pieces || (status == TALLY_NO_MEMORY && tl_pieces_possible(d, in, bytes, out, result)))
        status = tl_pieces_window(d, ctx, plan, count, in, out, o);
    d->gpu->calls->leave(d->gpu);
    return status;
}

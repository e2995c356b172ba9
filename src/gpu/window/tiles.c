/* SPDX-License-Identifier: MIT
 * Windows on a GPU that fit in a tile of local memory (gpu/kernel/window/whole.cl, window.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"

enum {
    FEW_TILES = 4, /* min tiles per sequence */
    /* Windows from which window/passes.cl is used. States of 4 bytes: from PASSES_ALL on, or if w
     * has so many set bits that whole_windows would need PASSES_ARRAYS arrays. */
    PASSES_LEAST = 64,
    PASSES_ALL = 256,
    PASSES_ARRAYS = 5,
    DIGITS_LEAST = 16 /* the same for larger states */
};

tl_levels tl_levels_of(int64_t w, int from)
{
    /* the two buffers that levels alternate between */
    int unkept[2] = {from == 0 && (!(w & 1) || w == 1), 0};
    tl_levels l = {.top = 63 - __builtin_clzll((unsigned long long)w),
                   .kept = __builtin_popcountll((unsigned long long)w) - 1};
    for (int k = from ? from : 2; k < l.top; k++)
        if (!(w >> k & 1)) unkept[!(k & 1)] = 1;
    l.arrays = l.kept + (unkept[1] ? 2 : unkept[0]);
    return l;
}

int tl_whole_log(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles)
{
    return tl_gpu_whole_log(b->plan->op, d->gpu->calls->prelude, tiles);
}

static int runs(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles)
{
    return tl_gpu_runs(b->plan->op, d->gpu->calls->prelude, tiles);
}

tl_levels tl_whole_levels(const tl_gpu_device *d, const tl_batch *b, int64_t w, tl_tiles tiles)
{
    enum { RUN_LOG = 3 };
    const int64_t high = w >> RUN_LOG << RUN_LOG; /* with runs, the lower bits need no arrays */
    if (!runs(d, b, tiles)) return tl_levels_of(w, 0);
    tl_levels l = high ? tl_levels_of(high, RUN_LOG) : tl_levels_of(w, 0);
    l.kept = high ? l.kept : 0;
    l.arrays = l.kept + (l.arrays > l.kept); /* the levels that are not kept share one array */
    return l;
}

int64_t tl_array_bytes(const tl_gpu_device *d, const tl_batch *b, tl_tiles tiles)
{
    const int64_t state = tl_gpu_state_bytes(b->plan->op), all = state << tl_whole_log(d, b, tiles);
    /* see PADDED in gpu/kernel/window/place.cl */
    return runs(d, b, tiles) && state == 12 ? all + all / 8 : all;
}

int64_t tl_whole_room(const tl_gpu_device *d, const tl_batch *b, tl_levels levels, tl_tiles tiles)
{
    const int64_t arrays = levels.arrays ? levels.arrays : 1; /* results may need one */
    return arrays * tl_array_bytes(d, b, tiles) +
           (runs(d, b, tiles) ? b->plan->op->elem_bytes << tl_whole_log(d, b, tiles) : 0);
}

static int64_t width(const tl_geometry *g) { return g->before + g->after + 1; }

/* Bytes of local memory that window_whole needs. */
static int64_t whole_local_bytes(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    return tl_whole_room(d, b, tl_whole_levels(d, b, w, TL_TILES), TL_TILES);
}

tl_taken tl_whole_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g)
{
    const int64_t w = width(g);
    if (w > (int64_t)1 << (tl_whole_log(d, b, TL_TILES) - 1) ||
        whole_local_bytes(d, b, w) > d->gpu->calls->local_bytes(d->gpu))
        return TL_TAKES_NONE;
    if (g->valid || g->whole) return TL_TAKES_ALL;
    /* Two launches pay if there are tiles without a border, which the second launch skips
     * (SKIPS). */
    const int some = b->elements / FEW_TILES > b->rows << tl_whole_log(d, b, TL_TILES);
    return some && d->gpu->calls->warps_in_group(d->gpu) > 1 ? TL_TAKES_WHOLE : TL_TAKES_NONE;
}

/* Results of a tile of 2^log items. */
static int64_t whole_each(int log, int64_t w)
{
    return (((int64_t)1 << log) - (w - 1)) & -QUAD; /* so that quads of results stay aligned */
}

static int64_t any_each(int log, int64_t w)
{
    const int64_t room = (int64_t)1 << log, each = room - (w - 1);
    return each < room / 2 ? each : room / 2;
}

static int in_passes(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int bytes = tl_gpu_state_bytes(b->plan->op), small = bytes <= 4;
    const int arrays = tl_whole_levels(d, b, w, TL_TILES).arrays;
    /* window_flat is as fast for these up to PASSES_LEAST */
    const int flat = bytes == 12 && b->plan->op->elem_bytes == 4;
    const int64_t least = bytes > 8 && !flat ? DIGITS_LEAST : PASSES_LEAST;
    if (w < least || (small && w < PASSES_ALL && arrays < PASSES_ARRAYS) || !tl_pass_takes(d, b, w))
        return 0;
    /* the tiles of passes are twice as large */
    return b->elements >= tl_pass_each(d, b, w) * d->gpu->calls->processors(d->gpu);
}

/* A launch: window_whole (window_flat for one sequence) for windows of their whole length and
 * window for all others (EDGES_APART), or one of them for all windows. */
static tally_status launch(tl_gpu_device *d, const tl_batch *batch, const tl_results *r,
                           const tl_geometry *g, const tl_launch *l, tl_gpu_kernel_id kernel,
                           int edges)
{
    const int64_t w = width(g);
    const int whole = kernel == TL_KERNEL_window_whole,
              flat = d->gpu->calls->once && batch->rows == 1 && !batch->listed;
    const tl_levels levels = tl_whole_levels(d, batch, w, TL_TILES);
    const int64_t each = whole ? whole_each(tl_whole_log(d, batch, TL_TILES), w)
                               : any_each(tl_gpu_room_log(batch->plan->op), w);
    const int64_t count = tl_windows_of(batch, g), jobs = (count + each - 1) / each;
    tl_batch b = *batch;
    tally_status status = tl_tile_firsts(l, &b, g->valid ? 0 : -g->before, each, jobs);
    const tl_arguments_whole_part of =
        tl_whole_arguments(&b, r, g, tl_tiles_arguments(count, each, edges), levels);
    const tl_room_argument room = tl_room(whole_local_bytes(d, &b, w));
    if (!status && whole && flat)
        status = TL_GO(l, window_flat, jobs, .whole = of, .local_bytes = room);
    else if (!status && whole)
        status = TL_GO(l, window_whole, jobs, .whole = of, .local_bytes = room);
    else if (!status)
        status = TL_GO(l, window, jobs, .batch = of.batch, .results = of.results,
                       .windows = of.windows, .tiles = of.tiles);
    tl_gpu_give(d, &b.first);
    return status;
}

tally_status tl_window_tiles(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g)
{
    const tl_taken takes = tl_whole_takes(d, b, g);
    const int edges = takes == TL_TAKES_WHOLE ? EDGES_APART : EDGES_TOO;
    const int along = takes != TL_TAKES_NONE && tl_along_takes(d, b, g);
    const int passes = along || (takes != TL_TAKES_NONE && in_passes(d, b, width(g)));
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = along    ? tl_window_along(d, ctx, b, r, g, 0, tl_windows_of(b, g), edges)
                          : passes ? tl_window_passes(d, ctx, b, r, g, edges)
                                   : TALLY_OK;
    if (status || (passes && takes == TL_TAKES_ALL)) return status;
    status = tl_gpu_program(d, ctx, b->plan->op,
                            tl_in_place_shape(b, "window", "window_two", "window_bits"), &program);
    if (!status && takes != TL_TAKES_NONE && !passes)
        status = launch(d, b, r, g, &l, TL_KERNEL_window_whole, edges);
    if (!status && takes != TL_TAKES_ALL) status = launch(d, b, r, g, &l, TL_KERNEL_window, edges);
    return status;
}

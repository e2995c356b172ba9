/* SPDX-License-Identifier: MIT
 * Windows of their whole length whose levels are computed in passes (gpu/kernel/window/passes.cl),
 * and the launch of window_part, which runs passes or whole_windows. */
#include "window.h"
#include "gpu/kernel/constants.h"

static int pass_log(const tl_gpu_device *d, const tl_batch *b)
{
    return tl_gpu_pass_log(b->plan->op, d->gpu->calls->prelude);
}

static int64_t tile_of(const tl_gpu_device *d, const tl_batch *b)
{
    return WINDOW_THREADS * tl_gpu_pass_run(b->plan->op, d->gpu->calls->prelude);
}

/* Larger states: an array of nodes for each digit of w except the last, and the elements. The last
 * threads read past the end of an array, by the width of two columns; that is inside the next
 * one. */
static int64_t digits_local_bytes(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    enum { RADIX = 1 << DIGIT_LOG };
    const int64_t tile = tile_of(d, b), run = tile / WINDOW_THREADS,
                  state = tl_gpu_state_bytes(b->plan->op);
    const int64_t elements = (tile + 2 * run + RADIX) * b->plan->op->elem_bytes,
                  beyond = 2 * run * RADIX * state;
    return (w >> DIGIT_LOG >> DIGIT_LOG ? 2 : 1) * tile * state +
           (elements > beyond ? elements : beyond);
}

int64_t tl_pass_room(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = pass_log(d, b), two = (w & ((1 << log) - 1)) != 0; /* elements besides nodes */
    if (log == DIGIT_LOG) return digits_local_bytes(d, b, w);
    return (two ? 2 : 1) * (tile_of(d, b) + (1 << log)) * tl_gpu_state_bytes(b->plan->op);
}

int64_t tl_pass_each(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = pass_log(d, b), rows = (1 << log) / 2, band = (WINDOW_THREADS >> log) * rows;
    if (log == DIGIT_LOG) return (tile_of(d, b) - (w - 1)) & -LANES;
    /* Threads have all of their rows, so that none reads past the tile; two bands of rows are
     * enough. */
    const int64_t free_ = (tile_of(d, b) >> log) - (w >> log) - 1, some = free_ / rows * rows;
    return (some < 2 * band ? some : 2 * band) << log;
}

int tl_pass_takes(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = pass_log(d, b);
    const int64_t most =
        log == DIGIT_LOG ? (int64_t)1 << (DIGIT_LOG * DIGITS) : (int64_t)2 << PASS_TOP << log;
    return log && !b->in_place && w < most && tl_pass_each(d, b, w) > 0 &&
           tl_pass_room(d, b, w) <= d->gpu->calls->local_bytes(d->gpu);
}

tally_status tl_window_part(const tl_launch *l, const tl_batch *batch, const tl_results *r,
                            const tl_geometry *g, tl_part i, int64_t each, tl_levels levels,
                            int64_t room, int edges)
{
    const int64_t jobs = (i.count + each - 1) / each;
    tl_batch b = *batch;
    tally_status status = tl_tile_firsts(l, &b, i.at, each, jobs);
    const tl_arguments_part_part part = TL_ARGUMENTS(
        part_part,
        .whole = tl_whole_arguments(&b, r, g, tl_tiles_arguments(i.count, each, edges), levels),
        .states = tl_memory_of(i.states), .what = tl_i64(i.what), .at = tl_i64(i.at),
        .shift = tl_i64(i.shift), .width = tl_i64(i.width));
    if (!status) status = TL_GO(l, window_part, jobs, .part = part, .local_bytes = tl_room(room));
    tl_gpu_give(l->d, &b.first);
    return status;
}

tally_status tl_window_passes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                              const tl_geometry *g, int edges)
{
    const int64_t w = g->before + g->after + 1;
    const tl_part all = {PART_RESULTS, g->valid ? 0 : -g->before, 0, w, tl_windows_of(b, g), NULL};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "window_long", &program);
    if (status) return status;
    return tl_window_part(&l, b, r, g, all, tl_pass_each(d, b, w), (tl_levels){0},
                          tl_pass_room(d, b, w), edges);
}

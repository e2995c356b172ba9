/* SPDX-License-Identifier: MIT
 * Streaming windows on a GPU: long windows that are read once (gpu/kernel/window/along.cl). A block
 * takes tiles one after the other, so there are as many blocks as are resident at once. */
#include "window.h"
#include "gpu/kernel/constants.h"

enum {
    RESERVED = 1536, /* static local memory of a block, in bytes */
    BLOCKS_MOST = 2, /* blocks of a multiprocessor that registers allow */
    /* Shorter windows are at least as fast by passes.cl. */
    LEAST_OF_SMALL_STATES = 2048,
    LEAST = 1000
};

static int64_t width(const tl_geometry *g) { return g->before + 1 + g->after; }
static int log_of(const tl_gpu_device *d, const tl_batch *b)
{
    return tl_gpu_along_log(b->plan->op, d->gpu->calls->prelude);
}

/* Bytes of local memory of a block. */
static int64_t local_bytes_of(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = log_of(d, b);
    return (ALONG_HIGH(log, w) + ALONG_LOW(log) + ALONG_X(log)) * tl_gpu_state_bytes(b->plan->op);
}

int tl_along_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g)
{
    const int log = log_of(d, b),
              beside = b->stride == 1 && !b->listed && (b->rows == 1 || b->row_stride == b->n);
    const int64_t w = width(g),
                  least = tl_gpu_state_bytes(b->plan->op) > 4 ? LEAST : LEAST_OF_SMALL_STATES;
    return log && beside && !b->in_place && w >= least && w >> (2 * log) < 2 << PASS_TOP &&
           g->least <= w && local_bytes_of(d, b, w) <= d->gpu->calls->local_bytes(d->gpu) &&
           b->elements >= ALONG(log) * d->gpu->calls->processors(d->gpu);
}

tally_status tl_window_along(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int64_t j0, int64_t j1, int edges)
{
    const int64_t each = ALONG(log_of(d, b)), count = j1 - j0, jobs = (count + each - 1) / each;
    const int64_t room = local_bytes_of(d, b, width(g)), at = j0 - (g->valid ? 0 : g->before);
    const int64_t fit = (d->gpu->calls->local_bytes(d->gpu) + RESERVED) / (room + RESERVED);
    const int64_t most = d->gpu->calls->processors(d->gpu) * (fit < 1             ? 1
                                                              : fit < BLOCKS_MOST ? fit
                                                                                  : BLOCKS_MOST);
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "window_along", &program);
    if (status) return status;
    const tl_arguments_tiles_part tiles = tl_tiles_arguments(count, each, edges);
    return TL_GO(&l, window_along, jobs < most ? jobs : most,
                 .part = TL_ARGUMENTS(part_part,
                                      .whole = tl_whole_arguments(b, r, g, tiles, (tl_levels){0}),
                                      .states = tl_memory_of(NULL), .what = tl_i64(PART_RESULTS),
                                      .at = tl_i64(at), .shift = tl_i64(0), .width = tl_i64(1)),
                 .local_bytes = tl_room(room));
}

/* SPDX-License-Identifier: MIT
 * Long windows on a GPU in one trip through memory (gpu/kernel/window/along.cl). A group of the launch takes tiles one
 * after the other, so there are as many groups as the multiprocessors hold at once. */
#include "window.h"
#include "gpu/kernel/constants.h"

static int64_t width(const tl_geometry *g) { return g->before + 1 + g->after; }
static int log_of(const tl_gpu_device *d, const tl_batch *b)
{
    return tl_gpu_along_log(b->plan->op, d->gpu->calls->prelude);
}
/* Bytes of local memory of a group. */
static int64_t room_of(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = log_of(d, b);
    return (ALONG_HIGH(log, w) + ALONG_LOW(log) + ALONG_X(log)) * tl_gpu_state_bytes(b->plan->op);
}

int tl_along_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g)
{
    const int log = log_of(d, b), beside = b->stride == 1 && (b->rows == 1 || b->listed || b->row_stride == b->n);
    const int64_t w = width(g);
    return log && beside && !b->in_place && w > 1 << (2 * log) && w >> (2 * log) < 2 << PASS_TOP && g->least <= w &&
           room_of(d, b, w) <= d->gpu->calls->local_bytes(d->gpu);
}

tally_status tl_window_along(tl_gpu_device *d, tally *ctx, const tl_batch *batch, const tl_results *r,
                             const tl_geometry *g, int64_t j0, int64_t j1, int edges)
{
    enum { RESERVED = 3 << 10 }; /* bytes of a group beside these: the system's, and its tile */
    const int64_t each = ALONG(log_of(d, batch)), count = j1 - j0, jobs = (count + each - 1) / each;
    const int64_t at = j0 - (g->valid ? 0 : g->before), room = room_of(d, batch, width(g));
    const int both = 2 * (room + RESERVED) <= d->gpu->calls->local_bytes(d->gpu) + RESERVED;
    const int64_t most = d->gpu->calls->processors(d->gpu) * (both ? 2 : 1);
    tl_batch b = *batch;
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = tl_gpu_program(d, ctx, b.plan->op, "window_long", &program);
    if (!status) status = tl_tile_firsts(&l, &b, at, each, jobs);
    if (!status)
        status = TL_GO(&l, window_along, jobs < most ? jobs : most,
                       .part = TL_ARGUMENTS(part_part,
                                            .whole = tl_whole_arguments(&b, r, g, tl_tiles_arguments(count, each, edges),
                                                                        (tl_levels){0}),
                                            .states = tl_memory_of(&b.x), .what = tl_i64(PART_RESULTS),
                                            .at = tl_i64(at), .shift = tl_i64(0), .width = tl_i64(1)),
                       .local_bytes = tl_room(room));
    tl_gpu_give(d, &b.first);
    return status;
}

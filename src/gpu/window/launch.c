/* SPDX-License-Identifier: MIT
 * Launches of tiles of windows (gpu/kernel/window/tile.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

tl_levels tl_levels_of(int64_t w, int from)
{
    assert(w > 0 && from != 1);

    /* the two buffers that levels alternate between */
    int unkept[2] = {from == 0 && (!(w & 1) || w == 1), 0};
    tl_levels l = {.top = tl_top_of(w), .kept = __builtin_popcountll((unsigned long long)w) - 1};
    for (int k = from ? from : 2; k < l.top; k++)
        if (!(w >> k & 1)) unkept[!(k & 1)] = 1;
    l.arrays = l.kept + (unkept[1] ? 2 : unkept[0]);
    if (!l.arrays) l.arrays = 1;
    return l;
}

int64_t tl_windows_of(const tl_window_call *c)
{
    const int64_t count = c->b->elements - (c->g->valid ? c->w - 1 : 0);
    return count > 0 ? count : 0;
}

int64_t tl_window_before(const tl_window_call *c) { return c->g->valid ? 0 : c->g->before; }

tl_arguments_windows_part tl_window_arguments(const tl_geometry *g)
{
    return TL_ARGUMENTS(windows_part, .before = g->before, .after = g->after, .valid = g->valid,
                        .least = g->least);
}

tl_arguments_tiles_part tl_tiles_arguments(const tl_window_call *c, const tl_batch *b,
                                           const tl_schedule *s, const tl_part *p, int64_t jobs,
                                           int edges)
{
    assert(s->each > 0 && p->width >= 0 && p->shift + p->width <= c->w);
    return TL_ARGUMENTS(tiles_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(c->r), .windows = tl_window_arguments(c->g),
                        .count = p->count, .jobs = jobs, .each = s->each, .edges = edges,
                        .top_level = s->levels.top, .kept_levels = s->levels.kept,
                        .states = tl_handle_of(p->states), .what = p->what, .at = p->at,
                        .shift = p->shift, .width = p->width, .pitch = s->pitch ? s->pitch : 1);
}

/* For segments: sets b->first to what the tiles of a launch need to know of borders; the caller
 * frees it. */
static tally_status find_tile_firsts(const tl_launch *l, tl_batch *b, const tl_part *p,
                                     int64_t each, int64_t jobs)
{
    b->first = (tl_memory){0};
    if (!b->listed) return TALLY_OK;
    tally_status status = tl_gpu_take(l->d, (size_t)jobs * 2 * sizeof(int64_t), &b->first);
    if (status) return status;
    return TL_GO(l, tile_firsts, (jobs + WINDOW_THREADS - 1) / WINDOW_THREADS,
                 .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES), .at = p->at, .each = each,
                 .jobs = jobs, .first = b->first.handle);
}

int tl_is_aligned(const tl_window_call *c)
{
    const tl_scalar *op = c->b->plan->op;
    const int64_t x = (int64_t)(c->b->x.memory.address & 63) + c->b->x.byte,
                  y = (int64_t)(c->r->y.address & 63) + c->r->byte;
    return !c->b->in_place && x % op->elem_bytes == 0 && y % op->result_bytes == 0;
}

int64_t tl_before_aligned(const tl_window_call *c, int64_t j, int64_t alignment)
{
    const int64_t bytes = c->b->plan->op->result_bytes,
                  at = (int64_t)(c->r->y.address & 255) + c->r->byte + j * bytes;
    const int one = c->b->rows == 1 && !c->b->listed && c->r->stride == 1;
    return one && at % bytes == 0 ? (-at & (alignment - 1)) / bytes : 0;
}

tally_status tl_launch_tiles(const tl_window_call *c, const tl_schedule *s, const tl_part *p,
                             int edges)
{
    const int64_t first = p->at + tl_window_before(c),
                  quad = QUAD * (int64_t)c->b->plan->op->result_bytes,
                  head = p->what == PART_RESULTS ? tl_before_aligned(c, first, quad) : 0;
    if (head && p->count > s->each * c->d->gpu->processors) {
        tl_part some = *p, others = *p;
        some.count = head, others.count -= head, others.at += head;
        tally_status status = tl_launch_tiles(c, s, &some, edges);
        return status ? status : tl_launch_tiles(c, s, &others, edges);
    }

    const int64_t jobs = (p->count + s->each - 1) / s->each;

    assert(s->local_bytes > 0 && s->local_bytes <= c->d->gpu->local_bytes);
    tl_launch l;
    tl_batch b = *c->b;
    if (!jobs) return TALLY_OK;
    tally_status status = tl_batch_program(c->d, &b, s->shape, &l);
    if (status) return status;
    status = find_tile_firsts(&l, &b, p, s->each, jobs);
    if (!status)
        status = TL_GO(&l, window_tile, jobs, .tiles = tl_tiles_arguments(c, &b, s, p, jobs, edges),
                       .local_bytes = s->local_bytes);

    tl_gpu_give(c->d, &b.first);
    return status;
}

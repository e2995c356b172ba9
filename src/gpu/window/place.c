/* SPDX-License-Identifier: MIT
 * Arguments of launches of window tiles (gpu/kernel/window/place.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"

tl_arguments_windows_part tl_window_arguments(const tl_geometry *g)
{
    return TL_ARGUMENTS(windows_part, .before = tl_i64(g->before), .after = tl_i64(g->after),
                        .valid = tl_i64(g->valid), .least = tl_i64(g->least));
}

tl_arguments_levels_part tl_levels_arguments(int top, int kept)
{
    return TL_ARGUMENTS(levels_part, .top_level = tl_i64(top), .kept_levels = tl_i64(kept));
}

int64_t tl_windows_of(const tl_batch *b, const tl_geometry *g)
{
    const int64_t count = b->elements - (g->valid ? g->before + g->after : 0);
    return count > 0 ? count : 0;
}

tally_status tl_tile_firsts(const tl_launch *l, tl_batch *b, int64_t at, int64_t each, int64_t jobs)
{
    b->first = (tl_memory){0};
    if (!b->listed || !jobs) return TALLY_OK;
    tally_status status = tl_gpu_take(l->d, l->ctx, (size_t)jobs * 2 * sizeof(int64_t), &b->first);
    if (status) return status;
    return TL_GO(l, tile_firsts, (jobs + WINDOW_THREADS - 1) / WINDOW_THREADS,
                 .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES), .at = tl_i64(at),
                 .each = tl_i64(each), .jobs = tl_i64(jobs), .first = tl_memory_of(&b->first));
}

tl_arguments_tiles_part tl_tiles_arguments(int64_t count, int64_t each, int edges)
{
    return TL_ARGUMENTS(tiles_part, .count = tl_i64(count),
                        .jobs = tl_i64((count + each - 1) / each), .each = tl_i64(each),
                        .edges = tl_i64(edges));
}

tl_arguments_whole_part tl_whole_arguments(const tl_batch *b, const tl_results *r,
                                           const tl_geometry *g, tl_arguments_tiles_part tiles,
                                           tl_levels levels)
{
    return TL_ARGUMENTS(whole_part, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(r), .windows = tl_window_arguments(g),
                        .tiles = tiles, .levels = tl_levels_arguments(levels.top, levels.kept));
}

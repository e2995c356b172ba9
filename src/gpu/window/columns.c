/* SPDX-License-Identifier: MIT
 * Windows of columns on a GPU: short ones by tiles, others by a lane for each column
 * (gpu/kernel/window/columns.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"

enum {
    JOBS_PER_PROCESSOR = 64, /* jobs per multiprocessor, if there is enough work */
    /* results of a job, relative to the elements that it reads before its first result */
    RESULTS_PER_OVERLAP = 4,
    RESULTS_LEAST = 64 /* min results of a job */
};

static int top_of(int64_t w) { return 63 - __builtin_clzll((unsigned long long)w); }

/* Nodes that a lane keeps; a large number if w has too many levels. */
static int64_t places_of(int64_t w, int64_t fold, int low)
{
    int64_t places = 0;
    if (w >> WALK_LEVELS) return INT64_MAX >> 20;
    for (int k = 0; k <= top_of(w); k++) places += RING_SIZE(k, top_of(w), (int)fold, low);
    return places;
}

/* Results of a column: `each` at a time, at multiples of jump. */
typedef struct {
    int64_t count, each, jump;
    int edges;
} parts;

static tally_status launch(const tl_launch *l, const tl_batch *b, const tl_results *r,
                           const tl_geometry *g, int64_t fold, parts p)
{
    const int64_t w = g->before + 1 + g->after, state = tl_gpu_state_bytes(b->plan->op);
    const int64_t places = places_of(w, fold, WALK_LOG(state));
    const int64_t chunks = p.each < p.count ? (p.count - p.each + p.jump - 1) / p.jump + 1 : 1;
    const int64_t jobs = (b->rows + LANES - 1) / LANES * chunks;
    return TL_GO(l, window_columns, jobs, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .results = tl_results_arguments(r), .windows = tl_window_arguments(g),
                 .count = tl_i64(p.count), .each = tl_i64(p.each), .jump = tl_i64(p.jump),
                 .jobs = tl_i64(jobs), .edges = tl_i64(p.edges), .top_level = tl_i64(top_of(w)),
                 .fold = tl_i64(fold), .places = tl_i64(places),
                 .local_bytes = tl_room(LANES * places * state));
}

/* Cuts the results into as many parts as keep every multiprocessor busy. */
static parts cut(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g, int edges)
{
    const int64_t w = g->before + 1 + g->after, count = g->valid ? b->n - (w - 1) : b->n;
    const int64_t least = RESULTS_PER_OVERLAP * w > RESULTS_LEAST ? RESULTS_PER_OVERLAP * w
                                                                  : RESULTS_LEAST,
                  groups = (b->rows + LANES - 1) / LANES;
    const int64_t wanted = JOBS_PER_PROCESSOR * d->gpu->calls->processors(d->gpu) / groups + 1,
                  most = (count - 1) / least + 1;
    const int64_t chunks = wanted < most ? wanted : most, each = ((count - 1) / chunks + 8) & -8;
    return (parts){count, each, each, edges};
}

/* Bytes of local memory of a tile of TILE_ROWS rows. */
static int64_t tall_local_bytes(const tl_gpu_device *d, const tl_batch *b, int64_t w)
{
    const int log = tl_whole_log(d, b, TL_LONG_TILES), row = log - TILE_ROWS_LOG;
    return tl_levels_of(w << row, row).arrays * tl_array_bytes(d, b, TL_LONG_TILES);
}

/* True if windows of their whole length go by tiles: a tile's rows are whole sectors of memory, and
 * most of its rows have results. */
static int tall_takes(const tl_gpu_device *d, const tl_batch *b, const tl_geometry *g)
{
    enum { SECTOR = 32 };
    const int64_t w = g->before + 1 + g->after;
    const int row = tl_whole_log(d, b, TL_LONG_TILES) - TILE_ROWS_LOG;
    return w > 1 && w <= TILE_ROWS / 2 && b->n >= TILE_ROWS &&
           b->plan->op->elem_bytes << row >= SECTOR &&
           tall_local_bytes(d, b, w) <= d->gpu->calls->local_bytes(d->gpu);
}

static tally_status tall(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                         const tl_geometry *g, int edges)
{
    const int row = tl_whole_log(d, b, TL_LONG_TILES) - TILE_ROWS_LOG;
    const int64_t w = g->before + 1 + g->after, count = g->valid ? b->n - (w - 1) : b->n,
                  each = TILE_ROWS - (w - 1);
    const int64_t jobs = (((b->rows - 1) >> row) + 1) * ((count - 1) / each + 1);
    tl_levels levels = tl_levels_of(w << row, row);
    tl_arguments_tiles_part tiles = tl_tiles_arguments(count, each, edges);
    tiles.jobs = tl_i64(jobs), levels.top -= row;
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    const tally_status status = tl_gpu_program(d, ctx, b->plan->op, "window_long", &program);
    if (status) return status;
    return TL_GO(&l, window_tall, jobs, .whole = tl_whole_arguments(b, r, g, tiles, levels),
                 .local_bytes = tl_room(tall_local_bytes(d, b, w)));
}

tally_status tl_window_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                               const tl_geometry *g, int *done)
{
    const int64_t w = g->before + 1 + g->after,
                  all = (w >> WALK_LEVELS ? 0 : (int64_t)2 << top_of(w)) - 1;
    const int64_t state = tl_gpu_state_bytes(b->plan->op),
                  ends = g->before > g->after ? g->before : g->after;
    const int shrink = !g->valid && !g->whole, apart = shrink && b->n > 2 * RESULTS_PER_OVERLAP * w;
    const int walks = places_of(w, shrink ? all : w, WALK_LOG(state)) <=
                      d->gpu->calls->local_bytes(d->gpu) / (LANES * state);
    const int edges = apart ? EDGES_APART : EDGES_TOO;
    const int tiles = !shrink || (apart && walks),
              longs = tiles && tl_long_columns_takes(d, ctx, b, g);
    const int talls = tiles && !longs && tall_takes(d, b, g);
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    *done = tl_batch_across(b) && b->n >= (g->valid ? w : 1) && (walks || longs);
    if (!*done) return TALLY_OK;
    tally_status status = longs   ? tl_long_columns(d, ctx, b, r, g, edges)
                          : talls ? tall(d, ctx, b, r, g, edges)
                                  : TALLY_OK;
    if ((longs || talls) && !(apart && ends)) return status;
    if (!status) status = tl_gpu_program(d, ctx, b->plan->op, "window", &program);
    if (!status && !longs && !talls)
        status = launch(&l, b, r, g, shrink && !apart ? all : w, cut(d, b, g, edges));
    /* windows at both ends, which fold other levels */
    if (!status && apart && ends)
        status = launch(&l, b, r, g, all, (parts){b->n, ends, b->n - ends, EDGES_TOO});
    return status;
}

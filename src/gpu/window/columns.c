/* SPDX-License-Identifier: MIT
 * Windows of columns on a GPU: by tiles of rows (gpu/kernel/window/rows.cl), others by a lane for
 * each column (columns.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

enum {
    JOBS_PER_PROCESSOR = 64, /* jobs per multiprocessor, if there is enough work */
    /* results of a job, relative to the elements that it reads before its first result */
    RESULTS_PER_OVERLAP = 4,
    RESULTS_LEAST = 64 /* min results of a job */
};

/* ---- a lane for each column ---- */

/* Nodes that a lane keeps; a large number if w has too many levels. */
static int64_t places_of(const tl_window_call *c, int64_t fold)
{
    const int low = STEP_LOG(c->state), top = tl_top_of(c->w);
    int64_t places = 0;
    if (c->w >> RING_LEVELS) return INT64_MAX >> 20;
    for (int k = 0; k <= top; k++) places += RING_SIZE(k, top, (int)fold, low);
    return places;
}

/* Results of a column: `each` at a time, at multiples of jump. fold: bit k: windows fold level
 * k. */
typedef struct {
    int64_t count, each, jump, fold;
    int edges;
} parts;

static tally_status launch_lanes(const tl_window_call *c, parts p)
{
    const tl_batch *b = c->b;
    const int64_t places = places_of(c, p.fold);
    const int64_t chunks = p.each < p.count ? (p.count - p.each + p.jump - 1) / p.jump + 1 : 1;
    const int64_t jobs = (b->rows + LANES - 1) / LANES * chunks;
    tl_launch l;

    assert(p.each > 0 && p.jump > 0);
    TL_TRY(tl_gpu_program(c->d, b->plan->op, "window", &l));

    return TL_GO(&l, window_columns, jobs, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                 .results = tl_results_arguments(c->r), .windows = tl_window_arguments(c->g),
                 .count = p.count, .each = p.each, .jump = p.jump, .jobs = jobs, .edges = p.edges,
                 .top_level = tl_top_of(c->w), .fold = p.fold, .places = places,
                 .local_bytes = LANES * places * c->state);
}

/* Cuts the results into as many parts as keep every multiprocessor busy. */
static parts cut(const tl_window_call *c, int64_t fold, int edges)
{
    const int64_t count = tl_windows_of_each(c), overlap = RESULTS_PER_OVERLAP * c->w,
                  least = overlap > RESULTS_LEAST ? overlap : RESULTS_LEAST,
                  warps = (c->b->rows + LANES - 1) / LANES;
    const int64_t wanted = JOBS_PER_PROCESSOR * c->d->gpu->processors / warps + 1,
                  most = (count - 1) / least + 1;
    const int64_t chunks = wanted < most ? wanted : most, each = ((count - 1) / chunks + 8) & -8;
    return (parts){count, each, each, fold, edges};
}

/* ---- tiles ---- */

/* How windows are computed that fit in a tile: by a walk down the columns; or by tiles: of rows of
 * aligned quads; of a table, which is the columns as one sequence (gpu/kernel/window/place.cl); of
 * tables of items that are loaded one by one. pitch: columns of a tile. speed: the part of its
 * items that have results, times its speed relative to ROWS. */
typedef struct {
    enum { NO_TILES, ROWS, TABLE, ITEMS, DOWN } kind;
    int64_t pitch;
    double speed;
} tiling;

static int64_t items_of(const tl_window_call *c) { return (int64_t)1 << c->t.wide_log; }

static tiling tiling_with(const tl_window_call *c, int kind, int64_t pitch)
{
    static const double speed[] = {[ROWS] = 1, [TABLE] = 0.9, [ITEMS] = 0.5};
    const int64_t all = c->b->rows, tiles = (all - 1) / pitch + 1;
    const double rows = (double)items_of(c) / (double)pitch,
                 used = (double)all / (double)(tiles * pitch) * (rows - (double)(c->w - 1)) / rows;
    return (tiling){kind, pitch, used * speed[kind]};
}

static tiling rows_of(const tl_window_call *c)
{
    const tl_batch *const b = c->b;
    const tl_results *const r = c->r;
    const int quads =
        b->row_stride == 1 && r->row_stride == 1 && (b->rows | b->stride | r->stride) % QUAD == 0;
    if (!quads || c->w > TILE_ROWS / 2 || tl_rows_local_bytes(c, c->w) > c->d->gpu->local_bytes)
        return (tiling){0};
    return tiling_with(c, ROWS, items_of(c) / TILE_ROWS);
}

/* The windows of columns as windows of a table. */
typedef struct {
    tl_window_call call;
    tl_batch b;
    tl_results r;
    tl_geometry g;
} table;

static void table_of(const tl_window_call *c, int64_t pitch, table *t)
{
    t->call = *c, t->b = *c->b, t->r = *c->r, t->g = *c->g;
    t->call.b = &t->b, t->call.r = &t->r, t->call.g = &t->g;
    t->call.w = (c->w - 1) * pitch + 1;
    t->b.n = t->b.longest = t->b.elements;
    t->b.rows = t->b.stride = t->r.stride = 1;
    t->g.before *= pitch, t->g.after *= pitch;
    t->g.least = c->g->least <= c->w ? 0 : t->call.w + 1;
}

/* A table of all columns; or tiles of items, which take some of many columns. */
static tiling tables_of(const tl_window_call *c)
{
    enum { ALL_MOST = 64, SOME = 32 }; /* columns of a tile of items */
    const tl_batch *const b = c->b;
    const int64_t all = b->rows, items = items_of(c);
    const int dense = b->row_stride == 1 && b->stride == all && c->r->row_stride == 1 &&
                      c->r->stride == all && c->w <= items / 2 / all;
    const int64_t pitch = dense || all <= ALL_MOST ? all : SOME;
    table t;
    if (c->w > items / 2 / pitch) return (tiling){0};
    table_of(c, pitch, &t);
    if (tl_quads_table(&t.call, pitch).local_bytes > c->d->gpu->local_bytes) return (tiling){0};

    return tiling_with(c, dense ? TABLE : ITEMS, pitch);
}

/* The speed of a walk, or 0. It needs no local memory, which counts for bytes and large states. */
static double walk_speed(const tl_window_call *c)
{
    enum { LEAST = 16, LINE = 32 };
    const tl_batch *const b = c->b;
    const int lines = c->state == 8 && b->stride * b->plan->op->elem_bytes % LINE == 0;
    const int gains = b->plan->op->elem_bytes < 4 || c->state > 8 || lines;
    return gains && b->rows >= LEAST && tl_walk_down_takes(c) ? 2 : 0;
}

static tiling tiling_of(const tl_window_call *c)
{
    const tl_batch *b = c->b;
    if (c->w <= 1 || b->n < TILE_ROWS || !b->columns_log) return (tiling){0};

    /* bytes one by one are slower than a lane for each column, if nearly all lanes have one */
    if (b->plan->op->elem_bytes < 4 && b->rows % QUAD != 0 && b->rows % LANES > LANES * 3 / 4)
        return (tiling){0};
    const tiling rows = rows_of(c), tables = tables_of(c),
                 tiles = tables.speed > rows.speed ? tables : rows;
    return walk_speed(c) > tiles.speed ? (tiling){.kind = DOWN} : tiles;
}

static tally_status launch_tiles(const tl_window_call *c, const tiling *how, int edges)
{
    const int64_t pitch = how->pitch;
    if (how->kind == DOWN) return tl_walk(c, -tl_window_before(c), tl_windows_of_each(c), edges);

    const tl_window_fold all = {FOLD_RESULTS, -tl_window_before(c),  0,
                                c->w,         tl_windows_of_each(c), NULL};
    const tl_rows rows = {.across = ((c->b->rows - 1) / pitch + 1) * pitch,
                          .pitch = how->kind == ITEMS ? pitch : 0};
    if (how->kind != TABLE) return tl_launch_rows(c, &rows, &all, edges);

    table t;
    table_of(c, pitch, &t);
    const tl_window_fold flat = {FOLD_RESULTS, -tl_window_before(&t.call), 0,
                                 t.call.w,     tl_windows_of(&t.call),     NULL};
    const tl_schedule s = tl_quads_table(&t.call, pitch);
    return tl_launch_tiles(&t.call, &s, &flat, edges);
}

tally_status tl_window_columns(const tl_window_call *c, int *done)
{
    const tl_batch *b = c->b;
    const tl_geometry *g = c->g;
    const int64_t all = (c->w >> RING_LEVELS ? 0 : (int64_t)2 << tl_top_of(c->w)) - 1,
                  ends = g->before > g->after ? g->before : g->after;
    const int shrink = !g->valid && !g->whole,
              apart = shrink && b->n > 2 * RESULTS_PER_OVERLAP * c->w;
    const int lanes =
        places_of(c, shrink ? all : c->w) <= c->d->gpu->local_bytes / (LANES * c->state);
    const int edges = apart ? EDGES_APART : EDGES_TOO;
    const int whole = !shrink || (apart && lanes), is_long = whole && tl_long_columns_take(c);
    const tiling how = whole && !is_long ? tiling_of(c) : (tiling){0};

    *done =
        b->n >= (g->valid ? c->w : 1) && (how.kind || (tl_batch_across(b) && (lanes || is_long)));
    if (!*done) return TALLY_OK;

    TL_TRY(is_long    ? tl_long_columns(c, edges)
           : how.kind ? launch_tiles(c, &how, edges)
                      : launch_lanes(c, cut(c, shrink && !apart ? all : c->w, edges)));

    /* windows at both ends, which fold other levels */
    if (apart && ends) TL_TRY(launch_lanes(c, (parts){b->n, ends, b->n - ends, all, EDGES_TOO}));

    return TALLY_OK;
}

/* SPDX-License-Identifier: MIT
 * Windows on a GPU: which kernels compute the windows of a call. Those of columns go by tiles of
 * rows (gpu/kernel/window/rows.cl) or by a lane for each column; other files have the rest
 * (window.h). */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

enum {
    JOBS_PER_PROCESSOR = 64, /* jobs per multiprocessor, if there is enough work */
    /* results of a job, relative to the elements that it reads before its first result */
    RESULTS_PER_OVERLAP = 4,
    RESULTS_LEAST = 64 /* min results of a job */
};

/* ---- columns, with a lane for each (gpu/kernel/window/columns.cl) ---- */

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
                  least = tl_max(overlap, RESULTS_LEAST), warps = (c->b->rows + LANES - 1) / LANES;
    const int64_t wanted = JOBS_PER_PROCESSOR * c->d->gpu->processors / warps + 1,
                  most = (count - 1) / least + 1;
    const int64_t chunks = tl_min(wanted, most), each = ((count - 1) / chunks + 8) & -8;
    return (parts){count, each, each, fold, edges};
}

/* ---- columns, by tiles ---- */

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

static tally_status launch_tiles(const tl_window_call *c, const tiling *tiles, int edges)
{
    const int64_t pitch = tiles->pitch;
    if (tiles->kind == DOWN) return tl_walk(c, -tl_window_before(c), tl_windows_of_each(c), edges);

    const tl_window_fold all = {FOLD_RESULTS, -tl_window_before(c),  0,
                                c->w,         tl_windows_of_each(c), NULL};
    const tl_rows rows = {.across = ((c->b->rows - 1) / pitch + 1) * pitch,
                          .pitch = tiles->kind == ITEMS ? pitch : 0};
    if (tiles->kind != TABLE) return tl_launch_rows(c, &rows, &all, edges);

    table t;
    table_of(c, pitch, &t);
    const tl_window_fold flat = {FOLD_RESULTS, -tl_window_before(&t.call), 0,
                                 t.call.w,     tl_windows_of(&t.call),     NULL};
    const tl_schedule s = tl_quads_table(&t.call, pitch);
    return tl_launch_tiles(&t.call, &s, &flat, edges);
}

/* Windows of columns. *done is 0 if they are not whole and a lane's part of them does not fit in
 * local memory. */
static tally_status columns(const tl_window_call *c, int *done)
{
    const tl_batch *b = c->b;
    const tl_geometry *g = c->g;
    const int64_t all = (c->w >> RING_LEVELS ? 0 : (int64_t)2 << tl_top_of(c->w)) - 1,
                  ends = tl_max(g->before, g->after);
    const int shrink = !g->valid && !g->whole,
              apart = shrink && b->n > 2 * RESULTS_PER_OVERLAP * c->w;
    const int lanes =
        places_of(c, shrink ? all : c->w) <= c->d->gpu->local_bytes / (LANES * c->state);
    const int edges = apart ? NO_EDGES : WITH_EDGES;
    const int whole = !shrink || (apart && lanes), is_long = whole && tl_long_columns_take(c);
    const tiling tiles = whole && !is_long ? tiling_of(c) : (tiling){0};

    *done =
        b->n >= (g->valid ? c->w : 1) && (tiles.kind || (tl_batch_across(b) && (lanes || is_long)));
    if (!*done) return TALLY_OK;

    TL_TRY(is_long      ? tl_long_columns(c, edges)
           : tiles.kind ? launch_tiles(c, &tiles, edges)
                        : launch_lanes(c, cut(c, shrink && !apart ? all : c->w, edges)));

    /* windows at both ends, which fold other levels */
    if (apart && ends) TL_TRY(launch_lanes(c, (parts){b->n, ends, b->n - ends, all, WITH_EDGES}));

    return TALLY_OK;
}

/* ---- all windows ---- */

static tl_window_call call_of(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                              const tl_geometry *g)
{
    const tl_scalar *op = b->plan->op;
    return (tl_window_call){.d = d,
                            .b = b,
                            .r = r,
                            .g = g,
                            .t = tl_gpu_window_tuning(op, d->gpu->calls->prelude),
                            .w = g->before + 1 + g->after,
                            .state = tl_gpu_state_bytes(op)};
}

static tally_status windows(const tl_window_call *c)
{
    int done;
    assert(c->g->before >= 0 && c->g->after >= 0 && c->w > 0);
    tally_status status = columns(c, &done);
    if (done) return status;
    if (tl_exact_takes(c) && (c->g->valid || c->g->whole))
        return tl_window_exact(c, 0, tl_windows_of(c));

    const int fits = c->w <= (int64_t)1 << (c->t.cut_log - 1);
    return fits || tl_quads_take(c) == TL_TAKES_ALL ? tl_window_tiles(c) : tl_window_long(c);
}

/* For operators that skip NaN: writes the empty value where fewer than `least` elements count. */
static tally_status blank(const tl_window_call *c, const tl_plan *count, int64_t least)
{
    const tally_view *v = c->r->view;
    const int64_t total = v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
    tl_launch l;
    tl_results counts = {.view = v, .row_stride = v->n, .stride = 1, .owned = 1};
    tl_geometry all = *c->g;
    tl_batch counted = c->b->counts_of ? *c->b->counts_of : *c->b;

    all.least = 0;
    counted.plan = count;
    if (v->offsets) counts.byte = -v->offsets[0] * (int64_t)sizeof(int64_t);
    tally_status status = tl_gpu_take(c->d, (size_t)total * sizeof(int64_t), &counts.y);
    const tl_window_call counting = call_of(c->d, &counted, &counts, &all);
    if (!status) status = windows(&counting);
    if (!status) status = tl_gpu_program(c->d, c->b->plan->op, "window", &l);
    if (!status)
        status = TL_GO(&l, blank, (total + WINDOW_THREADS - 1) / WINDOW_THREADS,
                       .batch = tl_batch_arguments(c->b, TL_ALL_SEQUENCES),
                       .results = tl_results_arguments(c->r), .counts = counts.y.handle,
                       .least = least, .results_each = v->n, .total = total);

    tl_gpu_give(c->d, &counts.y);
    return status;
}

tally_status tl_window_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                             const tl_call *c)
{
    const tally_window_options *const o = c->window;
    int masked = b->plan->op->masked || b->counts_of;
    int shrink =
        o->edges == TALLY_EDGES_SHRINK || (o->edges == TALLY_EDGES_MISSING && o->min_count > 0);
    tl_geometry g = {o->before, o->after, masked ? 0 : o->min_count, o->edges == TALLY_EDGES_VALID,
                     !shrink};

    int64_t w = o->before + 1 + o->after;
    if (!shrink && !g.valid && g.least < w) g.least = w;

    /* a window never needs to be longer than the longest sequence */
    if (!g.valid && g.before > b->longest) g.before = b->longest;
    if (!g.valid && g.after > b->longest) g.after = b->longest;
    const tl_window_call call = call_of(d, b, r, &g);
    TL_TRY(windows(&call));
    if (masked && o->min_count > 0) TL_TRY(blank(&call, c->count, o->min_count));

    return TALLY_OK;
}

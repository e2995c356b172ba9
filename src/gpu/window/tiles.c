/* SPDX-License-Identifier: MIT
 * Schedules: how a tile of windows makes its levels in local memory (gpu/kernel/window/tile.cl),
 * which windows it takes, and the windows that fit in a tile. gpu/operators.c has the sizes. */
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
    return tl_max(count, 0);
}

int64_t tl_window_before(const tl_window_call *c) { return c->g->valid ? 0 : c->g->before; }

tl_arguments_windows tl_window_arguments(const tl_geometry *g)
{
    return TL_ARGUMENTS(windows, .before = g->before, .after = g->after, .valid = g->valid,
                        .least = g->least);
}

tl_arguments_tiles tl_tiles_arguments(const tl_window_call *c, const tl_batch *b,
                                      const tl_schedule *s, const tl_window_fold *p, int64_t jobs,
                                      int edges)
{
    assert(s->each > 0 && p->width >= 0 && p->shift + p->width <= c->w);
    return TL_ARGUMENTS(tiles, .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES),
                        .results = tl_results_arguments(c->r), .windows = tl_window_arguments(c->g),
                        .count = p->count, .jobs = jobs, .each = s->each, .edges = edges,
                        .top_level = s->levels.top, .kept_levels = s->levels.kept,
                        .states = tl_handle_of(p->states), .what = p->what, .at = p->at,
                        .shift = p->shift, .width = p->width, .pitch = s->pitch ? s->pitch : 1);
}

/* For segments: sets b->first to what the tiles of a launch need to know of borders; the caller
 * frees it. */
static tally_status find_tile_firsts(const tl_launch *l, tl_batch *b, const tl_window_fold *p,
                                     int64_t each, int64_t jobs)
{
    b->first = (tl_memory){0};
    if (!b->listed) return TALLY_OK;
    TL_TRY(tl_gpu_take(l->d, (size_t)jobs * 2 * sizeof(int64_t), &b->first));
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

tally_status tl_launch_tiles(const tl_window_call *c, const tl_schedule *s, const tl_window_fold *p,
                             int edges)
{
    const int64_t first = p->at + tl_window_before(c),
                  quad = QUAD * (int64_t)c->b->plan->op->result_bytes,
                  head = p->what == FOLD_RESULTS ? tl_before_aligned(c, first, quad) : 0;
    if (head && p->count > s->each * c->d->gpu->processors) {
        tl_window_fold some = *p, others = *p;
        some.count = head, others.count -= head, others.at += head;
        TL_TRY(tl_launch_tiles(c, s, &some, edges));
        return tl_launch_tiles(c, s, &others, edges);
    }

    const int64_t jobs = (p->count + s->each - 1) / s->each;

    assert(s->local_bytes > 0 && s->local_bytes <= c->d->gpu->local_bytes);
    tl_launch l;
    tl_batch b = *c->b;
    if (!jobs) return TALLY_OK;
    TL_TRY(tl_batch_program(c->d, &b, s->shape, &l));
    tally_status status = find_tile_firsts(&l, &b, p, s->each, jobs);
    if (!status)
        status = TL_GO(&l, window_tile, jobs, .tiles = tl_tiles_arguments(c, &b, s, p, jobs, edges),
                       .local_bytes = s->local_bytes);

    tl_gpu_give(c->d, &b.first);
    return status;
}

static int64_t local_bytes_of(const tl_window_call *c) { return c->d->gpu->local_bytes; }

/* ---- quads ---- */

static tl_schedule quads(const tl_window_call *c, int log, int64_t width, tl_levels levels)
{
    return (tl_schedule){
        /* a multiple of 4, so that quads of results stay aligned */
        .each = (((int64_t)1 << log) - (width - 1)) & -QUAD,
        .local_bytes = levels.arrays * c->state << log,
        .levels = levels,
    };
}

/* Windows of idempotent operators that fold many levels are two overlapping nodes of the highest
 * one. */
static tl_schedule whole_quads(const tl_window_call *c, int log)
{
    tl_levels levels = tl_levels_of(c->w, 0);
    if (c->b->plan->op->idempotent && levels.kept > 1 + (c->state > 8))
        levels.kept = 0, levels.arrays = 2;
    return quads(c, log, c->w, levels);
}

/* For one sequence, the text has no code for borders, which is two fifths of it. On CUDA small
 * tiles, where each thread has a quad, take a short one, if all of them are resident together. */
static tl_schedule short_quads(const tl_window_call *c)
{
    enum { RESIDENT = 4 }; /* tiles of a multiprocessor (QUADS_BLOCKS) */
    const int flat = c->b->rows == 1 && !c->b->listed, small_log = SMALL_QUADS_LOG;
    tl_schedule s = whole_quads(c, small_log);
    if (flat && c->d->gpu->calls->single_launch && c->t.quads_log > small_log &&
        c->w <= (int64_t)1 << (small_log - 1) &&
        tl_windows_of(c) <= RESIDENT * s.each * c->d->gpu->processors) {
        s.shape = "window_small";
        return s;
    }

    s = whole_quads(c, c->t.quads_log);
    s.shape = flat ? "window_flat" : "window";
    return s;
}

tl_schedule tl_quads_wide(const tl_window_call *c, int64_t width)
{
    tl_schedule s = quads(c, c->t.wide_log, width, tl_levels_of(width, 0));
    s.shape = "window_long";
    return s;
}

tl_schedule tl_quads_table(const tl_window_call *c, int64_t pitch)
{
    tl_schedule s = tl_quads_wide(c, c->w);
    s.shape = "window_table", s.pitch = pitch;
    s.levels = tl_levels_of(((c->w - 1) / pitch + 1) << TABLE_LEVEL, TABLE_LEVEL);
    s.local_bytes = s.levels.arrays * c->state << c->t.wide_log;
    s.levels.top -= TABLE_LEVEL;
    return s;
}

tl_taken tl_quads_take(const tl_window_call *c)
{
    enum { FEW_TILES = 4 }; /* min tiles per sequence */
    if (c->w > (int64_t)1 << (c->t.quads_log - 1) ||
        whole_quads(c, c->t.quads_log).local_bytes > local_bytes_of(c))
        return TL_TAKES_NONE;
    if (c->g->valid || c->g->whole) return TL_TAKES_ALL;

    /* Two launches pay if there are tiles without a border, which the second launch skips
     * (SKIPS). */
    const int some = c->b->elements / FEW_TILES > c->b->rows << c->t.quads_log;
    return some && c->d->gpu->warps_in_group > 1 ? TL_TAKES_WHOLE : TL_TAKES_NONE;
}

static tl_schedule cut(const tl_window_call *c)
{
    const int64_t items = (int64_t)1 << c->t.cut_log, each = items - (c->w - 1);
    return (tl_schedule){
        .shape = "window_cut",
        .each = each < items / 2 ? each : items / 2,
        .local_bytes = c->state << c->t.cut_log,
    };
}

/* ---- passes ---- */

static int64_t pass_items(const tl_window_call *c) { return (int64_t)WINDOW_THREADS * c->t.run; }

/* Nodes, and the items besides if bits below the radix are set. */
static int64_t passes_local_bytes(const tl_window_call *c)
{
    const int64_t radix = (int64_t)1 << c->t.radix_log;
    return (c->w & (radix - 1) ? 2 : 1) * (pass_items(c) + radix) * c->state;
}

/* Threads have all of their rows, so that none reads past the tile; two bands of rows are
 * enough. */
static int64_t passes_each(const tl_window_call *c)
{
    const int log = c->t.radix_log;
    const int64_t rows = (1 << log) / 2, band = (WINDOW_THREADS >> log) * rows;
    const int64_t free_ = (pass_items(c) >> log) - (c->w >> log) - 1, some = free_ / rows * rows;
    return tl_min(some, 2 * band) << log;
}

static tl_schedule passes(const tl_window_call *c)
{
    assert(c->t.radix_log);
    return (tl_schedule){
        .shape = "window_passes", .each = passes_each(c), .local_bytes = passes_local_bytes(c)};
}

static int passes_take(const tl_window_call *c)
{
    const int log = c->t.radix_log;
    return log && !c->b->in_place && c->w < (int64_t)2 << PASS_TOP << log && passes_each(c) > 0 &&
           passes_local_bytes(c) <= local_bytes_of(c);
}

/* True if passes are faster than quads: from a width on, or where quads need many arrays; of
 * idempotent operators, whose quads need few, where a tile of quads has few results. */
static int prefers_passes(const tl_window_call *c)
{
    enum { ARRAYS_MANY = 5, LEAST = 64 };
    const int many = c->w >= LEAST && tl_levels_of(c->w, 0).arrays >= ARRAYS_MANY;
    const int few = c->state <= 4 && c->w > (int64_t)1 << (c->t.quads_log - 2);
    if (!passes_take(c) || (c->b->plan->op->idempotent ? !few : c->w < c->t.passes_least && !many))
        return 0;

    /* the tiles of passes are twice as large */
    return c->b->elements >= passes(c).each * c->d->gpu->processors;
}

/* ---- walks ---- */

int64_t tl_windows_of_each(const tl_window_call *c)
{
    return c->b->n - (c->g->valid ? c->w - 1 : 0);
}

/* The walkers that are resident at a time: blocks, warps or lanes. */
static int64_t walkers(const tl_window_call *c, int kind, int top)
{
    return (int64_t)c->d->gpu->processors * WALK_BLOCKS(kind, top, c->state) * WINDOW_THREADS /
           WALK_LANES_OF(kind, top, c->state);
}

static int64_t walk_local_bytes(const tl_window_call *c, int kind, int top)
{
    return WALK_BY_BLOCK(kind, top, c->state) ? WALK_LOCAL_BYTES(kind, top, c->state) : LANES;
}

static int can_walk(const tl_window_call *c)
{
    return c->t.walk_top && tl_is_aligned(c) && !c->b->listed && c->g->least <= c->w;
}

static int is_dense(const tl_window_call *c) { return c->b->stride == 1 && c->r->stride == 1; }

/* The least windows that walks take. Where memory is slow for the multiprocessors, tiles of
 * small states are faster for short windows of one sequence. */
static int64_t walk_least(const tl_window_call *c)
{
    enum { FAST = 30000, SHORT = 128 };
    const tl_gpu *g = c->d->gpu;
    const int slow = g->bandwidth && g->bandwidth / g->processors < FAST;
    return slow && c->state <= 8 && c->b->rows == 1 ? SHORT : LANES;
}

static int walk_takes(const tl_window_call *c)
{
    enum { FEW = 4 }; /* by block, 1 / FEW of the walkers must have work */
    const int top = tl_top_of(c->w);
    return can_walk(c) && is_dense(c) && !c->b->plan->op->exact && c->w >= walk_least(c) &&
           top <= c->t.walk_top && walk_local_bytes(c, WALK_WHOLE, top) <= local_bytes_of(c) &&
           tl_windows_of_each(c) / WALK_LEAST >= c->w &&
           (WALK_BY_BLOCK(WALK_WHOLE, top, c->state) ? FEW : 1) * c->b->elements / c->w >=
               walkers(c, WALK_WHOLE, top);
}

int tl_walk_down_takes(const tl_window_call *c)
{
    enum { DOWN_LEAST = 2, DOWN_MOST = 4 }; /* w's highest bit */
    return can_walk(c) && c->b->row_stride == 1 && c->r->row_stride == 1 &&
           c->w >= 1 << DOWN_LEAST && c->w < 2 << DOWN_MOST;
}

/* kind: WALK_...; top: the highest level. WALK_NODES: of nodes of 2^log elements, and the part's
 * count is that of all columns together. */
typedef struct {
    int kind, top, log;
    const tl_memory *nodes;
} walk;

static tally_status launch_walk(const tl_window_call *c, const walk *w, tl_window_fold p, int edges)
{
    enum { FEW = 4 }; /* min parts of a walker, unless it has one */
    /* clang-format off */
#define TOPS(kind) \
    {"", "", kind "2", kind "3", kind "4", kind "5", kind "6", kind "7", kind "8", kind "9", \
     kind "10", kind "11", kind "12", kind "13", kind "14"}
    static const char *const shapes[][15] = {
        [WALK_WHOLE] = TOPS("window_walk"), [WALK_LEVEL] = TOPS("window_level"),
        [WALK_LAST] = TOPS("window_last"), [WALK_NODES] = TOPS("window_nodes")};
#undef TOPS
    /* clang-format on */
    const int top = w->top, lanes = WALK_LANES_OF(w->kind, top, c->state),
              nodes = w->kind == WALK_NODES;
    const int64_t columns = (int64_t)1 << w->log, rows = nodes ? columns : c->b->rows,
                  items = p.count + (p.width - 1) * columns; /* nodes */
    if (nodes) p.count = (p.count - 1) / columns + 1;
    const int64_t all = walkers(c, w->kind, top),
                  least = WALK_LEAST * (p.width >> top ? p.width : 1 << top),
                  most = p.count / least + 1,
                  wanted = FEW * rows <= all ? all / rows : FEW * all / rows + 1;
    const int64_t each = ((p.count - 1) / tl_min(wanted, most) + LANES) & -LANES;
    const int64_t jobs = rows * ((p.count + each - 1) / each),
                  blocks = (jobs * lanes + WINDOW_THREADS - 1) / WINDOW_THREADS;
    const tl_schedule s = {.each = each};
    tl_launch l;

    assert(p.count > 0 && each < INT32_MAX / 2);
    TL_TRY(tl_gpu_program(c->d, c->b->plan->op, shapes[w->kind][top], &l));

    tl_arguments_tiles tiles = tl_tiles_arguments(c, c->b, &s, &p, jobs, edges);
    if (nodes) {
        tiles.batch.in_data = tl_handle_of(w->nodes), tiles.batch.in_byte = 0;
        tiles.batch.in_row_stride = 1, tiles.batch.in_stride = columns;
        tiles.batch.in_seqs = columns, tiles.batch.in_n = items;
    }
    return TL_GO(&l, window_tile, blocks, .tiles = tiles,
                 .local_bytes = walk_local_bytes(c, w->kind, top));
}

tally_status tl_walk(const tl_window_call *c, int64_t at, int64_t count, int edges)
{
    return launch_walk(c, &(walk){WALK_WHOLE, tl_top_of(c->w), 0, NULL},
                       (tl_window_fold){FOLD_RESULTS, at, 0, c->w, count, NULL}, edges);
}

/* The level where the three walks of a long window meet. */
static int meeting_level(const tl_window_call *c)
{
    return tl_top_of(c->w) - c->t.part_log > c->t.nodes_top ? c->t.part_most : c->t.part_log;
}

int tl_three_walks_take(const tl_window_call *c)
{
    enum { FEW = 4 }; /* 1 / FEW of the walkers must have work */
    const int log = meeting_level(c);
    return can_walk(c) && is_dense(c) && !c->b->plan->op->exact && c->b->rows == 1 &&
           c->w >> log >= LANES && tl_top_of(c->w) - log <= c->t.nodes_top &&
           tl_windows_of_each(c) >= c->w &&
           FEW * (c->b->elements >> log) >= WALK_LEAST * walkers(c, WALK_LAST, log);
}

tally_status tl_three_walks(const tl_window_call *c, int64_t at, int64_t count)
{
    const int log = meeting_level(c);
    const int64_t node = (int64_t)1 << log, high = c->w >> log, nodes = count + ((high - 1) << log);
    tl_memory y = {0}, folds = {0};
    const walk walks[] = {{WALK_LEVEL, log, 0, NULL},
                          {WALK_NODES, tl_top_of(high), log, &y},
                          {WALK_LAST, log, 0, NULL}};
    const tl_window_fold parts[] = {
        {FOLD_LEVEL, at, 0, node, nodes, &y},
        {FOLD_LEVEL, 0, 0, high, count, &folds},
        {FOLD_LAST_BITS, at, high << log, c->w & (node - 1), count, &folds}};

    tally_status status = tl_gpu_take(c->d, (size_t)nodes * (size_t)c->state, &y);
    if (!status) status = tl_gpu_take(c->d, (size_t)count * (size_t)c->state, &folds);
    for (int i = 0; !status && i < 3; i++) status = launch_walk(c, &walks[i], parts[i], WITH_EDGES);

    tl_gpu_give(c->d, &y);
    tl_gpu_give(c->d, &folds);
    return status;
}

/* ---- windows that fit in a tile ---- */

/* Computes the windows that an edge cuts off, or (WITH_EDGES) all windows. In one sequence the
 * former are the first and the last ones. If each multiprocessor has a tile at most, one launch is
 * faster than two. */
static tally_status compute_cut(const tl_window_call *c, const tl_window_fold *all, int edges)
{
    const tl_schedule s = cut(c);
    const int64_t before = c->g->before, after = c->g->after;
    const int64_t resident = s.each * c->d->gpu->processors;

    tl_window_fold first = *all, last = *all;
    if (edges == WITH_EDGES || c->b->rows > 1 || c->b->listed || all->count <= resident)
        return tl_launch_tiles(c, &s, all, edges);

    assert(before + after < all->count);
    first.count = before, last.count = after, last.at += all->count - after;
    TL_TRY(tl_launch_tiles(c, &s, &first, WITH_EDGES));
    return tl_launch_tiles(c, &s, &last, WITH_EDGES);
}

int tl_whole_windows_take(const tl_window_call *c) { return walk_takes(c) || passes_take(c); }

tally_status tl_whole_windows(const tl_window_call *c, int64_t j0, int64_t j1, int edges)
{
    const tl_window_fold part = {FOLD_RESULTS, j0 - tl_window_before(c), 0, c->w, j1 - j0, NULL};
    if (walk_takes(c))
        return tl_walk(c, part.at, c->b->rows == 1 ? part.count : tl_windows_of_each(c), edges);

    const int quads_take = tl_quads_take(c) != TL_TAKES_NONE;
    const tl_schedule s = !quads_take || prefers_passes(c) ? passes(c) : short_quads(c);
    return tl_launch_tiles(c, &s, &part, edges);
}

tally_status tl_window_tiles(const tl_window_call *c)
{
    const tl_taken takes = tl_quads_take(c);
    const int edges = takes == TL_TAKES_WHOLE ? NO_EDGES : WITH_EDGES;
    const tl_window_fold all = {FOLD_RESULTS, -tl_window_before(c), 0,
                                c->w,         tl_windows_of(c),     NULL};
    tally_status status =
        takes == TL_TAKES_NONE ? TALLY_OK : tl_whole_windows(c, 0, all.count, edges);

    return status || takes == TL_TAKES_ALL ? status : compute_cut(c, &all, edges);
}

/* SPDX-License-Identifier: MIT
 * Windows on a GPU that do not fit in a tile of local memory. Windows of their whole length are
 * computed in groups of levels, each of which reads and writes memory once
 * (gpu/kernel/window/rows.cl). Other windows read and write memory once per level (columns.cl). All
 * sequences of a batch go together, as one sequence with borders (place.cl), or as columns. Y_k[i]
 * is the node of the 2^k elements from element i on: Y at level k. */
#include "window.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

enum {
    /* The lowest group has the levels below the tile's log less LOW_LESS, so an eighth of a tile is
     * read twice. */
    LOW_LESS = 3,

    /* Levels of every other group, and of all groups of columns. A tile has TILE_ROWS rows; windows
     * of up to 2^7 - 1 rows read that many rows more. */
    HIGH = 6,
    GROUPS_MOST = 11, /* enough for 63 bits */

    /* Columns are taken COLUMNS_LEAST at a time, a whole cache line, with at least
     * RESULTS_PER_WINDOW times as many results of each as a window has elements. */
    COLUMNS_LEAST = 32,
    RESULTS_PER_WINDOW = 4
};

/* Results are computed in slabs: SLAB results level by level, which needs some twenty arrays of
 * that size; SLAB_BYTES of results by groups, two to four arrays; WALKS_BYTES by walks, two; at
 * least as many results as a window has elements. Smaller slabs, in the cache, are slower: more
 * launches, and the device idles at the end of each. */
static const int64_t SLAB = 1 << 22, SLAB_BYTES = 1 << 27, WALKS_BYTES = 1 << 28;

static int64_t after(const tl_window_call *c) { return c->w - 1 - tl_window_before(c); }

/* ---- any window: every level is an array ---- */

static int64_t blocks(int64_t items) { return (items + WINDOW_THREADS - 1) / WINDOW_THREADS; }

/* Computes results j0 to j1 - 1. */
static tally_status slab_by_levels(const tl_window_call *c, const tl_launch *l, int64_t j0,
                                   int64_t j1)
{
    const int64_t before = tl_window_before(c), lo = j0 > before ? j0 - before : 0,
                  hi = after(c) < c->b->elements - j1 ? j1 + after(c) : c->b->elements,
                  items = hi - lo;
    int levels = 1;

    while (levels < 62 && c->w >> levels && items >> levels) levels++;
    tl_memory y = {0};
    tally_status status = tl_gpu_take(c->d, (size_t)items * (size_t)levels * (size_t)c->state, &y);

    for (int k = 0; !status && k <= levels; k++) { /* the levels, then the results */
        const int64_t count = k < levels ? items : j1 - j0;
        status = TL_GO(l, window_level, blocks(count),
                       .batch = tl_batch_arguments(c->b, TL_ALL_SEQUENCES),
                       .results = tl_results_arguments(c->r), .windows = tl_window_arguments(c->g),
                       .y = y.handle, .level_items = items, .level = k < levels ? k : -1, .lo = lo,
                       .first = j0, .count = count);
    }

    tl_gpu_give(c->d, &y);
    return status;
}

static tally_status by_levels(const tl_window_call *c, int64_t j0, int64_t j1)
{
    tl_launch l;
    if (j0 < j1) TL_TRY(tl_gpu_program(c->d, c->b->plan->op, "window", &l));
    for (; j0 < j1; j0 += SLAB) TL_TRY(slab_by_levels(c, &l, j0, j0 + SLAB < j1 ? j0 + SLAB : j1));
    return TALLY_OK;
}

/* ---- tiles of rows ---- */

/* log2 of the items in a row of a tile. */
static int row_log(const tl_window_call *c) { return c->t.wide_log - TILE_ROWS_LOG; }

int64_t tl_rows_local_bytes(const tl_window_call *c, int64_t w)
{
    return tl_levels_of(w << row_log(c), row_log(c)).arrays * c->state << c->t.wide_log;
}

tally_status tl_launch_rows(const tl_window_call *c, const tl_rows *rows, const tl_window_fold *p,
                            int edges)
{
    const int from = rows->pitch ? TABLE_LEVEL : row_log(c);
    const int64_t pitch = rows->across << rows->log, /* items of a row of all tiles */
        row = rows->pitch ? rows->pitch : (int64_t)1 << from,
                  tile_rows = ((int64_t)1 << c->t.wide_log) / row,
                  count = rows->nodes ? (p->count - 1) / pitch + 1 : p->count;
    tl_schedule s = {.each = tile_rows - (p->width - 1),
                     .levels = tl_levels_of(p->width << from, from),
                     .pitch = rows->pitch};
    s.local_bytes = s.levels.arrays * c->state << c->t.wide_log;
    s.levels.top -= from;
    const int64_t jobs = (count + s.each - 1) / s.each * (pitch / row);
    tl_launch l;

    assert(p->width <= tile_rows / 2 && pitch % row == 0);
    TL_TRY(tl_gpu_program(c->d, c->b->plan->op, rows->pitch ? "window_table" : "window_long", &l));

    tl_arguments_tiles tiles = tl_tiles_arguments(c, c->b, &s, p, jobs, edges);

    if (rows->nodes) { /* the batch is not touched */
        tiles.batch.in_data = tiles.batch.in_offsets = tiles.results.out_data = NULL;
        tiles.batch.in_byte = tiles.results.out_byte = 0;
    }

    return TL_GO(&l, window_rows, jobs, .tiles = tiles, .nodes = tl_handle_of(rows->nodes),
                 .node_count = rows->node_count, .log = rows->log, .quads = pitch / QUAD,
                 .stored = rows->nodes ? p->count : p->count * pitch, .local_bytes = s.local_bytes);
}

/* ---- windows of their whole length: every group of levels is an array ---- */

/* How the levels of w are grouped: group i has levels first[i] to first[i + 1] - 1, and group
 * `last` all levels above. */
typedef struct {
    int last, first[GROUPS_MOST + 1];
    int64_t across; /* items side by side: of as many columns, in whole tiles; one sequence: 1 */
    int edges;
} groups;

/* Returns the bits of w that group i folds, as the length of a window; 0: none. */
static int64_t bits_of(const groups *k, int64_t w, int i)
{
    return i == k->last
               ? w >> k->first[i]
               : (w >> k->first[i]) & (((int64_t)1 << (k->first[i + 1] - k->first[i])) - 1);
}

static int64_t lowest_local_bytes(const tl_window_call *c, int columns, int64_t width)
{
    return columns ? tl_rows_local_bytes(c, width) : tl_quads_wide(c, width).local_bytes;
}

/* Cuts the levels of w into groups: the lowest group, groups of HIGH levels, and a last group of up
 * to HIGH + 1 levels. Returns 0 if a launch would need more local memory than there is. */
static int cut_levels(const tl_window_call *c, int columns, groups *k)
{
    *k = (groups){.last = 1, .across = 1, .edges = WITH_EDGES};
    k->first[1] = columns ? HIGH : c->t.wide_log - LOW_LESS;
    for (; c->w >> k->first[k->last] >= 2 << HIGH; k->last++)
        k->first[k->last + 1] = k->first[k->last] + HIGH;
    assert(k->last < GROUPS_MOST);

    /* the most local memory of a launch: FOLD_LEVEL of the lowest group; the bits of w in each
     * group; FOLD_LEVEL of the groups above (`up`) */
    int64_t most = lowest_local_bytes(c, columns, (int64_t)1 << k->first[1]);

    for (int i = 0; i <= k->last; i++) {
        const int64_t bits = bits_of(k, c->w, i);
        const int64_t bytes = !bits ? 0
                              : i   ? tl_rows_local_bytes(c, bits)
                                    : lowest_local_bytes(c, columns, bits);
        if (bytes > most) most = bytes;
    }

    const int64_t up = k->last > 1 ? tl_rows_local_bytes(c, 1 << HIGH) : 0;
    if (up > most) most = up;
    return most <= c->d->gpu->local_bytes;
}

/* A launch that reads elements: tiles of neighbouring items, or of columns. */
static tally_status launch_elements(const tl_window_call *c, const groups *k, tl_window_fold p)
{
    const tl_rows elements = {.across = k->across};
    if (k->across > 1) return tl_launch_rows(c, &elements, &p, k->edges);
    const tl_schedule s = tl_quads_wide(c, p.width);
    return tl_launch_tiles(c, &s, &p, k->edges);
}

/* Results of `count` windows that begin at element at, at + 1, ... y[i]: Y at level first[i]; y[0]:
 * the fold of the higher bits. Groups are made from the lowest up; then the bits of w are folded
 * from the highest group down, and the lowest writes the results. */
static tally_status slab_by_groups(const tl_window_call *c, const groups *k, int64_t at,
                                   int64_t count)
{
    tl_memory y[GROUPS_MOST + 1] = {{0}};
    const int last = k->last, low = k->first[1];
    int64_t items[GROUPS_MOST + 1] = {count * k->across};
    tally_status status = TALLY_OK;

    for (int i = 0; !status && i <= last; i++) {
        if (i) items[i] = (count + c->w - ((int64_t)1 << k->first[i])) * k->across;
        status = tl_gpu_take(c->d, (size_t)(items[i] + 3) / 4 * 4 * (size_t)c->state, &y[i]);
    }

    if (!status)
        status = launch_elements(
            c, k,
            (tl_window_fold){FOLD_LEVEL, at, 0, (int64_t)1 << low, items[1] / k->across, &y[1]});

    for (int i = 1; !status && i < last; i++) {
        const tl_rows rows = {&y[i], k->first[i], items[i], k->across};
        const tl_window_fold up = {FOLD_LEVEL, 0, 0, 1 << HIGH, items[i + 1], &y[i + 1]};
        status = tl_launch_rows(c, &rows, &up, WITH_EDGES);
    }

    for (int i = last; !status && i > 0; i--) {
        const tl_rows rows = {&y[i], k->first[i], items[i], k->across};
        const int64_t width = bits_of(k, c->w, i),
                      above = i < last ? c->w >> k->first[i + 1] << HIGH : 0;
        const tl_window_fold bits = {
            i < last ? FOLD_LAST_BITS : FOLD_LEVEL, 0, above, width, items[0], &y[0]};
        if (width) status = tl_launch_rows(c, &rows, &bits, WITH_EDGES);
    }

    const int64_t width = bits_of(k, c->w, 0), above = c->w - width;
    const tl_window_fold bits = {FOLD_LAST_BITS, at, above, width, count, &y[0]},
                         none = {FOLD_RESULTS_ALONE, at, 0, 1, count, &y[0]};
    if (!status) status = launch_elements(c, k, width ? bits : none);
    for (int i = 0; i <= last; i++) tl_gpu_give(c->d, &y[i]);

    return status;
}

/* Computes results j0 to j1 - 1 (of every column), of one sequence by walks if these take it.
 * k->edges says whether windows that are cut off get the empty value or are skipped. */
static tally_status by_groups(const tl_window_call *c, const groups *k, int64_t j0, int64_t j1)
{
    const int walks = k->across == 1 && tl_three_walks_take(c);
    const int64_t most = (walks ? WALKS_BYTES : SLAB_BYTES) / (c->state * k->across) & -4,
                  slab = c->w > most ? (c->w + 3) & -4 : most;
    for (; j0 < j1; j0 += slab) {
        const int64_t at = j0 - tl_window_before(c), count = tl_min(slab, j1 - j0);
        TL_TRY(walks ? tl_three_walks(c, at, count) : slab_by_groups(c, k, at, count));
    }
    return TALLY_OK;
}

int tl_long_columns_take(const tl_window_call *c)
{
    groups k;
    return c->w > TILE_ROWS / 2 && c->w <= c->b->n && tl_batch_across(c->b) && cut_levels(c, 1, &k);
}

tally_status tl_long_columns(const tl_window_call *call, int edges)
{
    const tl_batch *b = call->b;
    const int64_t op_in = b->plan->op->elem_bytes, op_out = b->plan->op->result_bytes;
    const int64_t most = SLAB_BYTES / RESULTS_PER_WINDOW / call->state / call->w & -COLUMNS_LEAST;
    const int64_t many = tl_max(most, COLUMNS_LEAST);
    const int row = row_log(call);

    for (int64_t s = 0; s < b->rows; s += many) {
        tl_batch some = *b;
        tl_results to = *call->r;
        tl_window_call c = *call;
        groups k;
        c.b = &some, c.r = &to;
        if (!cut_levels(&c, 1, &k)) return TALLY_OK; /* checked by tl_long_columns_take */
        some.rows = b->rows - s < many ? b->rows - s : many;
        some.x.byte += s * b->row_stride * op_in, to.byte += s * to.row_stride * op_out;
        k.across = (((some.rows - 1) >> row) + 1) << row, k.edges = edges;
        TL_TRY(by_groups(&c, &k, 0, b->n - (c.g->valid ? c.w - 1 : 0)));
    }

    return TALLY_OK;
}

/* ---- windows of any length ---- */

/* Returns sequence s of a batch as a batch of one, and its results in *to. */
static tl_batch one_of(const tl_batch *b, const tl_results *r, int64_t s, tl_results *to)
{
    const tl_scalar *op = b->plan->op;
    const int64_t *o = b->host_offsets;
    tl_batch one = *b;

    *to = *r;
    one.x.byte += (o ? o[s] * b->stride : s * b->row_stride) * op->elem_bytes;
    to->byte += (o ? o[s] * r->stride : s * r->row_stride) * op->result_bytes;
    one.n = one.elements = o ? o[s + 1] - o[s] : b->n;
    one.rows = 1;
    one.listed = 0;
    return one;
}

/* A batch as a whole. Windows that are cut off and yet have a value go level by level; in one
 * sequence they are the first and the last ones. */
static tally_status compute(const tl_window_call *c)
{
    const tl_geometry *g = c->g;
    const int64_t count = tl_windows_of(c), shrink = !g->valid && !g->whole;
    /* quads of results are aligned if the batch's first result is */
    int64_t whole = shrink ? (g->before + 3) / 4 * 4 : 0, end = shrink ? count - g->after : count;
    groups k;
    if (count <= 0) return TALLY_OK;

    const int exact = tl_exact_takes(c), tiles = tl_whole_windows_take(c);
    if (whole >= end || g->least > c->w || (shrink && c->b->rows > 1) ||
        (!exact && !tiles && !cut_levels(c, 0, &k)))
        whole = end = count;
    TL_TRY(by_levels(c, 0, whole));
    if (whole < end)
        TL_TRY(exact   ? tl_window_exact(c, whole, end)
               : tiles ? tl_whole_windows(c, whole, end, WITH_EDGES)
                       : by_groups(c, &k, whole, end));

    return by_levels(c, end, count);
}

tally_status tl_window_long(const tl_window_call *c)
{
    /* max sequences that get launches of their own, so that only their ends are computed level by
     * level */
    enum { FEW = 16 };
    const tl_batch *b = c->b;
    if (b->rows == 1 || b->rows > FEW || c->g->valid || c->g->whole ||
        (b->listed && !b->host_offsets))
        return compute(c);

    for (int64_t s = 0; s < b->rows; s++) {
        tl_results to;
        const tl_batch one = one_of(b, c->r, s, &to);
        tl_window_call call = *c;
        call.b = &one, call.r = &to;
        TL_TRY(compute(&call));
    }

    return TALLY_OK;
}

/* SPDX-License-Identifier: MIT
 * Windows on a GPU that do not fit in a tile of local memory. Windows of their whole length are
 * computed in groups of levels, each of which reads and writes memory once
 * (gpu/kernel/window/long.cl). Other windows read and write memory once per level (window.cl). All
 * sequences of a batch go together, as one sequence with borders (window/place.cl), or as
 * columns. */
#include "window.h"
#include "gpu/kernel/constants.h"

enum {
    /* The lowest group has levels 0 to LOW - 1. A tile has 2^(LOW + 3) elements, so an eighth of it
     * is read twice. LOW is the tile's log less LOW_LESS; with passes, it is as many levels as
     * these take. */
    LOW_LESS = 3,
    LOW_DIGITS = 8,
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
 * that size; SLAB_BYTES of results by groups, which need two to four arrays. A slab has at least as
 * many results as a window has elements. Smaller slabs, which would stay in the cache, are slower:
 * there are more launches, and the device idles at the end of each. */
static const int64_t SLAB = 1 << 22, SLAB_BYTES = 1 << 27;

typedef struct {
    tl_gpu_device *d;
    tally *ctx;
    const tl_batch *b;
    const tl_results *r;
    const tl_geometry *g;
    int64_t w;
} long_case;

static tl_launch launch_of(const long_case *c, const tl_built *program)
{
    return (tl_launch){c->d, c->ctx, program};
}

/* Elements of a window before and after the element whose index its result has
 * (gpu/kernel/window/place.cl). */
static int64_t before(const long_case *c) { return c->g->valid ? 0 : c->g->before; }
static int64_t after(const long_case *c) { return c->w - 1 - before(c); }

/* ---- any window: every level is an array ---- */

static int64_t groups(int64_t items) { return (items + WINDOW_THREADS - 1) / WINDOW_THREADS; }

static tally_status slab_by_levels(const long_case *c, const tl_built *program, int64_t j0,
                                   int64_t j1)
{
    const int64_t lo = j0 > before(c) ? j0 - before(c) : 0,
                  hi = after(c) < c->b->elements - j1 ? j1 + after(c) : c->b->elements,
                  items = hi - lo;
    int levels = 1;
    while (levels < 62 && c->w >> levels && items >> levels) levels++;
    const tl_launch l = launch_of(c, program);
    tl_memory y = {0};
    tally_status status = tl_gpu_take(
        c->d, c->ctx, (size_t)items * (size_t)levels * (size_t)tl_gpu_state_bytes(c->b->plan->op),
        &y);
    const tl_arguments_batch_part batch = tl_batch_arguments(c->b, TL_ALL_SEQUENCES);
    if (!status)
        status = TL_GO(&l, lift_all, groups(items), .batch = batch, .y = tl_memory_of(&y),
                       .lo = tl_i64(lo), .count = tl_i64(items));
    for (int k = 0; !status && k + 1 < levels; k++)
        status = TL_GO(&l, double_all, groups(items), .y = tl_memory_of(&y), .room = tl_i64(items),
                       .level = tl_i64(k), .count = tl_i64(items));
    if (!status)
        status = TL_GO(&l, fold_all, groups(j1 - j0), .batch = batch,
                       .results = tl_results_arguments(c->r), .windows = tl_window_arguments(c->g),
                       .y = tl_memory_of(&y), .room = tl_i64(items), .lo = tl_i64(lo),
                       .j0 = tl_i64(j0), .j1 = tl_i64(j1));
    tl_gpu_give(c->d, &y);
    return status;
}

static tally_status by_levels(const long_case *c, int64_t j0, int64_t j1)
{
    tl_built program = {0};
    tally_status status =
        j0 < j1 ? tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window", &program) : TALLY_OK;
    for (; !status && j0 < j1; j0 += SLAB)
        status = slab_by_levels(c, &program, j0, j0 + SLAB < j1 ? j0 + SLAB : j1);
    return status;
}

/* ---- windows of their whole length: every group of levels is an array ---- */

/* How the levels of w are grouped: group i has levels first[i] to first[i + 1] - 1, and group
 * `last` all levels above. */
typedef struct {
    int log, last; /* log: log2 of the elements of a tile */
    int first[GROUPS_MOST + 1];
    int64_t state; /* bytes of a state */
    /* contiguous items that are the same element of different columns, in whole tiles; one
     * sequence: 1 */
    int64_t across;
    int edges, passes; /* passes: the lowest group is computed by gpu/kernel/window/passes.cl */
} cutting;

/* Returns the bits of w that group i folds, as the length of a window; 0: none. */
static int64_t bits_of(const cutting *k, int64_t w, int i)
{
    return i == k->last
               ? w >> k->first[i]
               : (w >> k->first[i]) & (((int64_t)1 << (k->first[i + 1] - k->first[i])) - 1);
}

/* log2 of the items in a row of a tile. */
static int row_of(const cutting *k) { return k->log - TILE_ROWS_LOG; }

/* Bytes of local memory of a launch whose tiles of rows fold these levels. */
static int64_t local_bytes_of(const long_case *c, tl_levels levels)
{
    return (levels.arrays ? levels.arrays : 1) * tl_array_bytes(c->d, c->b, TL_LONG_TILES);
}

static int64_t rows_local_bytes(const long_case *c, const cutting *k, int64_t w)
{
    return local_bytes_of(c, tl_levels_of(w << row_of(k), row_of(k)));
}

static int64_t low_local_bytes(const long_case *c, const cutting *k, int columns, int64_t w)
{
    if (!columns && k->passes) return tl_pass_room(c->d, c->b, w);
    return columns ? rows_local_bytes(c, k, w)
                   : tl_whole_room(c->d, c->b, tl_whole_levels(c->d, c->b, w, TL_LONG_TILES),
                                   TL_LONG_TILES);
}

/* Returns 0 if a launch would need more local memory than there is. */
static int cut_levels(const long_case *c, int columns, cutting *k)
{
    const int pass = tl_gpu_pass_log(c->b->plan->op, c->d->gpu->calls->prelude);
    *k = (cutting){.log = tl_whole_log(c->d, c->b, TL_LONG_TILES),
                   .state = tl_gpu_state_bytes(c->b->plan->op),
                   .last = 1,
                   .across = 1,
                   .edges = EDGES_TOO,
                   .passes = pass != 0};
    k->first[1] = columns             ? HIGH
                  : !pass             ? k->log - LOW_LESS
                  : pass == DIGIT_LOG ? LOW_DIGITS
                                      : pass + PASS_TOP;
    for (; c->w >> k->first[k->last] >= 2 << HIGH; k->last++)
        k->first[k->last + 1] = k->first[k->last] + HIGH;
    int64_t most = low_local_bytes(c, k, columns, (int64_t)1 << k->first[1]); /* for PART_LEVEL */
    for (int i = 0; i <= k->last; i++) {
        const int64_t bits = bits_of(k, c->w, i);
        const int64_t room = !bits ? 0
                             : i   ? rows_local_bytes(c, k, bits)
                                   : low_local_bytes(c, k, columns, bits);
        if (room > most) most = room;
    }
    const int64_t up = k->last > 1 ? rows_local_bytes(c, k, 1 << HIGH) : 0;
    if (up > most) most = up;
    return most <= c->d->gpu->calls->local_bytes(c->d->gpu);
}

/* A launch of tiles of neighbouring items (items) or of columns (columns): a part of the
 * windows. */
static tally_status items(const long_case *c, const cutting *k, const tl_built *program, tl_part i)
{
    const tl_launch l = launch_of(c, program);
    const int passes = k->passes;
    const tl_levels levels =
        passes ? (tl_levels){0} : tl_whole_levels(c->d, c->b, i.width, TL_LONG_TILES);
    const int64_t each = passes ? tl_pass_each(c->d, c->b, i.width)
                                : (((int64_t)1 << k->log) - (i.width - 1)) & -QUAD;
    return tl_window_part(&l, c->b, c->r, c->g, i, each, levels, low_local_bytes(c, k, 0, i.width),
                          k->edges);
}

static tally_status columns(const long_case *c, const cutting *k, const tl_built *program,
                            tl_part i)
{
    const tl_launch l = launch_of(c, program);
    tl_levels levels = tl_levels_of(i.width << row_of(k), row_of(k));
    const int64_t room = local_bytes_of(c, levels), each = TILE_ROWS - (i.width - 1);
    const int64_t jobs = (k->across >> row_of(k)) * ((i.count + each - 1) / each);
    tl_arguments_tiles_part tiles = tl_tiles_arguments(i.count, each, k->edges);
    tiles.jobs = tl_i64(jobs), levels.top -= row_of(k);
    return TL_GO(&l, window_tall_part, jobs,
                 .part = TL_ARGUMENTS(
                     part_part, .whole = tl_whole_arguments(c->b, c->r, c->g, tiles, levels),
                     .states = tl_memory_of(i.states), .what = tl_i64(i.what), .at = tl_i64(i.at),
                     .shift = tl_i64(i.shift), .width = tl_i64(i.width)),
                 .local_bytes = tl_room(room));
}

/* Windows of w rows; a row has 2^log times `across` items. from: `count` items; windows begin
 * `shift` rows after their result; to: `results` items. */
typedef struct {
    const tl_memory *from, *to;
    int log;
    int64_t count, shift, results, w;
    /* SET: `to` is overwritten; FOLD_ONTO: w's bits are folded onto its contents */
    enum { SET, FOLD_ONTO } how;
} row_case;

static tally_status rows(const long_case *c, const cutting *k, const tl_built *program, row_case r)
{
    const tl_launch l = launch_of(c, program);
    const int row = row_of(k);
    const tl_levels levels = tl_levels_of(r.w << row, row);
    const int64_t pitch = k->across << r.log, each = TILE_ROWS - (r.w - 1),
                  height = (r.results - 1) / pitch + 1;
    const int64_t jobs = (height + each - 1) / each * (pitch >> row);
    return TL_GO(&l, window_rows, jobs, .from = tl_memory_of(r.from), .to = tl_memory_of(r.to),
                 .log = tl_i64(r.log), .quads = tl_i64(pitch / QUAD), .count = tl_i64(r.count),
                 .shift = tl_i64(r.shift), .results = tl_i64(r.results), .rows = tl_i64(r.w),
                 .levels = tl_levels_arguments(levels.top - row, levels.kept),
                 .more = tl_i64(r.how == FOLD_ONTO), .each = tl_i64(each), .jobs = tl_i64(jobs),
                 .local_bytes = tl_room(local_bytes_of(c, levels)));
}

/* Computes the results of `count` windows that begin at element at, at + 1, ... y[i]: Y at level
 * first[i]; y[0]: the fold of the higher bits. */
static tally_status slab_by_groups(const long_case *c, const cutting *k, const tl_built *program,
                                   int64_t at, int64_t count)
{
    tl_memory y[GROUPS_MOST + 1] = {{0}};
    const int last = k->last, low = k->first[1];
    const int64_t all = count + c->w - 1; /* elements */
    tally_status (*const part)(const long_case *, const cutting *, const tl_built *, tl_part) =
        k->across > 1 ? columns : items;
    tally_status status = TALLY_OK;
#define ITEMS(level) (all - ((int64_t)1 << (level)) + 1)
    for (int i = 0; !status && i <= last; i++) {
        const int64_t have = (i ? ITEMS(k->first[i]) : count) * k->across;
        status = tl_gpu_take(c->d, c->ctx, (size_t)(have + 3) / 4 * 4 * (size_t)k->state, &y[i]);
    }
    if (!status)
        status =
            part(c, k, program, (tl_part){PART_LEVEL, at, 0, (int64_t)1 << low, ITEMS(low), &y[1]});
    for (int i = 1; !status && i < last; i++)
        status = rows(c, k, program,
                      (row_case){&y[i], &y[i + 1], k->first[i], ITEMS(k->first[i]) * k->across, 0,
                                 ITEMS(k->first[i + 1]) * k->across, 1 << HIGH, SET});
    for (int i = last; !status && i > 0; i--) {
        const int64_t w = bits_of(k, c->w, i),
                      above = i < last ? c->w >> k->first[i + 1] << HIGH : 0;
        if (!w) continue;
        status = rows(c, k, program,
                      (row_case){&y[i], &y[0], k->first[i], ITEMS(k->first[i]) * k->across, above,
                                 count * k->across, w, i < last ? FOLD_ONTO : SET});
    }
    const int64_t w = bits_of(k, c->w, 0), above = c->w - w;
    const tl_part bits = {PART_LAST_BITS, at, above, w, count, &y[0]},
                  none = {PART_RESULTS_ALONE, at, 0, 1, count, &y[0]};
    if (!status) status = part(c, k, program, w ? bits : none);
    for (int i = 0; i <= last; i++) tl_gpu_give(c->d, &y[i]);
    return status;
#undef ITEMS
}

/* Computes results j0 to j1 - 1 (of every column). k->edges says whether windows that are cut off
 * get the empty value or are skipped. */
static tally_status by_groups(const long_case *c, const cutting *k, int64_t j0, int64_t j1)
{
    const int64_t most = SLAB_BYTES / (k->state * k->across) & -4,
                  slab = c->w > most ? (c->w + 3) & -4 : most;
    tl_built program = {0};
    tally_status status = tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window_long", &program);
    for (; !status && j0 < j1; j0 += slab)
        status = slab_by_groups(c, k, &program, j0 - before(c), j0 + slab < j1 ? slab : j1 - j0);
    return status;
}

int tl_long_columns_takes(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_geometry *g)
{
    const long_case c = {d, ctx, b, NULL, g, g->before + 1 + g->after};
    cutting k;
    return c.w > TILE_ROWS / 2 && c.w <= b->n && tl_batch_across(b) && cut_levels(&c, 1, &k);
}

tally_status tl_long_columns(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g, int edges)
{
    const int64_t w = g->before + 1 + g->after, op_in = b->plan->op->elem_bytes,
                  op_out = b->plan->op->result_bytes;
    const int64_t most =
        SLAB_BYTES / RESULTS_PER_WINDOW / tl_gpu_state_bytes(b->plan->op) / w & -COLUMNS_LEAST;
    const int64_t many = most > COLUMNS_LEAST ? most : COLUMNS_LEAST;
    tally_status status = TALLY_OK;
    for (int64_t s = 0; !status && s < b->rows; s += many) {
        tl_batch some = *b;
        tl_results to = *r;
        const long_case c = {d, ctx, &some, &to, g, w};
        cutting k;
        if (!cut_levels(&c, 1, &k)) return TALLY_OK; /* checked by tl_long_columns_takes */
        some.rows = b->rows - s < many ? b->rows - s : many;
        some.x_byte += s * b->row_stride * op_in, to.byte += s * r->row_stride * op_out;
        k.across = (((some.rows - 1) >> row_of(&k)) + 1) << row_of(&k), k.edges = edges;
        status = by_groups(&c, &k, 0, g->valid ? b->n - (w - 1) : b->n);
    }
    return status;
}

/* Returns sequence s of a batch as a batch of one, and its results in *to. */
static tl_batch one_of(const tl_batch *b, const tl_results *r, int64_t s, tl_results *to)
{
    const tl_scalar *op = b->plan->op;
    const int64_t *o = b->host_offsets;
    tl_batch one = *b;
    *to = *r;
    one.x_byte += (o ? o[s] * b->stride : s * b->row_stride) * op->elem_bytes;
    to->byte += (o ? o[s] * r->stride : s * r->row_stride) * op->result_bytes;
    one.n = one.elements = o ? o[s + 1] - o[s] : b->n;
    one.rows = 1;
    one.listed = 0;
    return one;
}

/* Computes a batch as a whole. Windows that are cut off and yet have a value are computed level by
 * level; in a batch of one sequence these are the first and the last ones. */
static tally_status together(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                             const tl_geometry *g)
{
    const long_case c = {d, ctx, b, r, g, g->before + 1 + g->after};
    const int64_t count = tl_windows_of(b, g), shrink = !g->valid && !g->whole;
    /* quads of results are aligned if the batch's first result is */
    int64_t whole = (before(&c) + 3) / 4 * 4, end = g->valid ? count : b->elements - g->after;
    cutting k;
    if (count <= 0) return TALLY_OK;
    const int along = tl_along_takes(d, b, g);
    if (along && !shrink) return tl_window_along(d, ctx, b, r, g, 0, count, EDGES_TOO);
    if (whole >= end || g->least > c.w || (shrink && b->rows > 1) || !cut_levels(&c, 0, &k))
        whole = end = count;
    tally_status status = by_levels(&c, 0, whole);
    if (!status && whole < end)
        status = along ? tl_window_along(d, ctx, b, r, g, whole, end, EDGES_TOO)
                       : by_groups(&c, &k, whole, end);
    return status ? status : by_levels(&c, end, count);
}

tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r,
                            const tl_geometry *g)
{
    /* max sequences that get launches of their own, so that only their ends are computed level by
     * level */
    enum { FEW = 16 };
    tally_status status = TALLY_OK;
    if (b->rows == 1 || b->rows > FEW || g->valid || g->whole || (b->listed && !b->host_offsets))
        return together(d, ctx, b, r, g);
    for (int64_t s = 0; !status && s < b->rows; s++) {
        tl_results to;
        const tl_batch one = one_of(b, r, s, &to);
        status = together(d, ctx, &one, &to, g);
    }
    return status;
}

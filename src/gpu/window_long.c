/* SPDX-License-Identifier: MIT
 * Windows on a GPU that no tile of local memory holds. Full windows go through memory once per group of levels
 * (gpu/kernel/window_long.cl). Windows that are not full go through memory once per level (window.cl). All sequences of
 * a batch go together, as one with borders (window_place.cl). */
#include "window.h"
#include "gpu/kernel/constants.h"

enum {
    /* The lowest group has levels 0 .. LOW - 1, a tile being 2^(LOW + 3) elements: an eighth of it is read twice. */
    LOW_LESS = 3,
    /* Levels of every other group: a tile has TILE_ROWS rows; windows of up to 2^7 - 1 rows read as many more. */
    HIGH = 6,
    GROUPS_MOST = 10 /* 63 bits */
};
/* Bytes of results computed at a time, or as many results as a window has elements. Level by level there are some
 * twenty arrays of that size, with groups two to four. (With 16 MB, which stay in an H200's cache, w = 10000 took 1.4
 * times as long: there are more launches, and the end of each launch leaves the device idle.) */
static const int64_t SLAB = 1 << 22, SLAB_BYTES = 1 << 27;

typedef struct {
    tl_gpu_device *d;
    tally *ctx;
    const tl_batch *b;
    const tl_results *r;
    const tl_geometry *g;
    int64_t w;
} long_case;

static tl_launch launch_of(const long_case *c, const tl_built *program) { return (tl_launch){c->d, c->ctx, program}; }
/* Elements before and after the one whose number a result has (gpu/kernel/window_place.cl). */
static int64_t before(const long_case *c) { return c->g->valid ? 0 : c->g->before; }
static int64_t after(const long_case *c) { return c->w - 1 - before(c); }

/* ---- any window: every level is an array ---- */

static int64_t groups(int64_t items) { return (items + WINDOW_THREADS - 1) / WINDOW_THREADS; }

static tally_status slab_by_levels(const long_case *c, const tl_built *program, int64_t j0, int64_t j1)
{
    const int64_t lo = j0 > before(c) ? j0 - before(c) : 0,
                  hi = after(c) < c->b->elements - j1 ? j1 + after(c) : c->b->elements, items = hi - lo;
    int levels = 1;
    while (levels < 62 && c->w >> levels && items >> levels) levels++;
    const tl_launch l = launch_of(c, program);
    tl_memory y = {0};
    tally_status status =
        tl_gpu_take(c->d, c->ctx, (size_t)items * (size_t)levels * (size_t)tl_gpu_state_bytes(c->b->plan->op), &y);
    const tl_arguments_batch_part batch = tl_batch_arguments(c->b, TL_ALL_SEQUENCES);
    if (!status)
        status = TL_GO(&l, lift_all, groups(items), .batch = batch, .y = tl_memory_of(&y), .lo = tl_i64(lo),
                       .count = tl_i64(items));
    for (int k = 0; !status && k + 1 < levels; k++)
        status = TL_GO(&l, double_all, groups(items), .y = tl_memory_of(&y), .room = tl_i64(items), .level = tl_i64(k),
                       .count = tl_i64(items));
    if (!status)
        status = TL_GO(&l, fold_all, groups(j1 - j0), .batch = batch, .results = tl_results_arguments(c->r),
                       .windows = tl_window_arguments(c->g), .y = tl_memory_of(&y), .room = tl_i64(items),
                       .lo = tl_i64(lo), .j0 = tl_i64(j0), .j1 = tl_i64(j1));
    tl_gpu_give(c->d, &y);
    return status;
}

static tally_status by_levels(const long_case *c, int64_t j0, int64_t j1)
{
    tl_built program = {0};
    tally_status status = j0 < j1 ? tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window", &program) : TALLY_OK;
    for (; !status && j0 < j1; j0 += SLAB) status = slab_by_levels(c, &program, j0, j0 + SLAB < j1 ? j0 + SLAB : j1);
    return status;
}

/* ---- full windows: every group of levels is an array ---- */

/* How windows of w are cut: group i is levels first[i] .. first[i + 1] - 1, number `last` all above. */
typedef struct {
    int log, last; /* log: elements of a tile, as a power of 2 */
    int first[GROUPS_MOST + 1];
    int64_t state; /* bytes of it */
} cutting;

/* The bits of w that group i folds, as the window of a launch: those of the group, and above them one that stands for
 * all higher ones. */
static int64_t bits_of(const cutting *k, int64_t w, int i)
{
    if (i == k->last) return w >> k->first[i];
    const int64_t above = (int64_t)1 << (k->first[i + 1] - k->first[i]);
    return (w >> k->first[i] & (above - 1)) | above;
}
/* The bytes of local memory of a launch whose tiles fold these levels. */
static int64_t room_of(const cutting *k, tl_levels levels) { return (int64_t)levels.arrays * (k->state << k->log); }

/* 0: a launch would need more local memory than there is. */
static int cut_levels(const long_case *c, cutting *k)
{
    *k = (cutting){.log = tl_whole_log(c->d, c->b), .state = tl_gpu_state_bytes(c->b->plan->op), .last = 1};
    const int row = k->log - TILE_ROWS_LOG; /* log2 of the items of a tile's row */
    k->first[1] = k->log - LOW_LESS;
    for (; c->w >> k->first[k->last] >= 2 << HIGH; k->last++) k->first[k->last + 1] = k->first[k->last] + HIGH;
    int64_t most = room_of(k, tl_levels_of((int64_t)1 << k->first[1], 0)); /* two arrays, as on the way up */
    for (int i = 0; i <= k->last; i++) {
        const int from = i ? row : 0;
        const int64_t room = room_of(k, tl_levels_of(bits_of(k, c->w, i) << from, from));
        if (room > most) most = room;
    }
    return most <= c->d->gpu->calls->local_bytes(c->d->gpu);
}

/* A launch of tiles of neighbouring items: `width` elements of each of `count` windows, from element `shift` of them
 * on. at: the element that the first window begins at. */
static tally_status items(const long_case *c, const cutting *k, const tl_built *program, int what, int64_t at,
                          int64_t shift, int64_t width, int64_t count, const tl_memory *states)
{
    const tl_launch l = launch_of(c, program);
    const tl_levels levels = tl_levels_of(width, 0);
    const int64_t each = (((int64_t)1 << k->log) - (width - 1)) & -QUAD, tiles = (count + each - 1) / each;
    tl_batch b = *c->b;
    tally_status status = tl_tile_firsts(&l, &b, at, each, tiles);
    if (!status)
        status = TL_GO(&l, window_part, tiles,
                       .whole = tl_whole_arguments(&b, c->r, c->g, tl_tiles_arguments(count, each, EDGES_TOO), levels),
                       .states = tl_memory_of(states), .what = tl_i64(what), .at = tl_i64(at), .shift = tl_i64(shift),
                       .width = tl_i64(width), .local_bytes = tl_room(room_of(k, levels)));
    tl_gpu_give(c->d, &b.first);
    return status;
}

/* Windows of w rows of 2^log items, from row `shift` on of from's `count` items, for `results` items of to. */
typedef struct {
    const tl_memory *from, *to;
    int log;
    int64_t count, shift, results, w;
    enum { SET, FOLD_ONTO } how; /* what `to` holds is replaced, or w's lower bits are folded onto it */
} row_case;

static tally_status rows(const long_case *c, const cutting *k, const tl_built *program, row_case r)
{
    const tl_launch l = launch_of(c, program);
    const int row = k->log - TILE_ROWS_LOG;
    const tl_levels levels = tl_levels_of(r.w << row, row);
    const int64_t each = TILE_ROWS - (r.w - 1), height = ((r.results - 1) >> r.log) + 1;
    const int64_t jobs = ((height + each - 1) / each) << (r.log - row);
    return TL_GO(&l, window_rows, jobs, .from = tl_memory_of(r.from), .to = tl_memory_of(r.to), .log = tl_i64(r.log),
                 .count = tl_i64(r.count), .shift = tl_i64(r.shift), .results = tl_i64(r.results), .rows = tl_i64(r.w),
                 .levels = tl_levels_arguments(levels.top - row, levels.kept), .more = tl_i64(r.how == FOLD_ONTO),
                 .each = tl_i64(each), .jobs = tl_i64(jobs), .local_bytes = tl_room(room_of(k, levels)));
}

/* Results of `count` windows that begin at element `at` and after. y[i]: Y at level first[i]; y[0]: what the higher
 * bits gave. */
static tally_status slab_by_groups(const long_case *c, const cutting *k, const tl_built *program, int64_t at,
                                   int64_t count)
{
    tl_memory y[GROUPS_MOST + 1] = {{0}};
    const int last = k->last, low = k->first[1];
    const int64_t all = count + c->w - 1; /* elements */
    tally_status status = TALLY_OK;
#define ITEMS(level) (all - ((int64_t)1 << (level)) + 1)
    for (int i = 0; !status && i <= last; i++)
        status =
            tl_gpu_take(c->d, c->ctx, (size_t)((i ? ITEMS(k->first[i]) : count) + 3) / 4 * 4 * (size_t)k->state, &y[i]);
    if (!status) status = items(c, k, program, PART_LEVEL, at, 0, (int64_t)1 << low, ITEMS(low), &y[1]);
    for (int i = 1; !status && i < last; i++)
        status = rows(
            c, k, program,
            (row_case){&y[i], &y[i + 1], k->first[i], ITEMS(k->first[i]), 0, ITEMS(k->first[i + 1]), 1 << HIGH, SET});
    for (int i = last; !status && i > 0; i--) {
        const int64_t w = bits_of(k, c->w, i), above = i < last ? (c->w >> k->first[i + 1] << HIGH) - (1 << HIGH) : 0;
        if (i < last && w == 1 << HIGH) continue; /* none */
        status = rows(
            c, k, program,
            (row_case){&y[i], &y[0], k->first[i], ITEMS(k->first[i]), above, count, w, i < last ? FOLD_ONTO : SET});
    }
    const int64_t w = bits_of(k, c->w, 0), above = (c->w >> low) - 1;
    const int none = w == (int64_t)1 << low; /* then results are made, and no level */
    if (!status) status = items(c, k, program, PART_LAST_BITS, at, none ? 0 : above << low, none ? 1 : w, count, &y[0]);
    for (int i = 0; i <= last; i++) tl_gpu_give(c->d, &y[i]);
    return status;
#undef ITEMS
}

/* Results j0 .. j1 - 1; those whose windows are not full are empty. */
static tally_status by_groups(const long_case *c, const cutting *k, int64_t j0, int64_t j1)
{
    const int64_t most = SLAB_BYTES / k->state & -4, slab = c->w > most ? (c->w + 3) & -4 : most;
    tl_built program = {0};
    tally_status status = tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window_long", &program);
    for (; !status && j0 < j1; j0 += slab)
        status = slab_by_groups(c, k, &program, j0 - before(c), j0 + slab < j1 ? slab : j1 - j0);
    return status;
}

/* Sequence s of a batch, and its results, as a batch of one. */
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

/* A batch in one go. Windows that are not full and yet have a value are made level by level; of a batch of one they are
 * the first and the last ones. */
static tally_status together(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r, const tl_geometry *g)
{
    const long_case c = {d, ctx, b, r, g, g->before + 1 + g->after};
    const int64_t count = tl_windows_of(b, g), shrink = !g->valid && !g->whole;
    /* quads of results are aligned if the batch's first one is */
    int64_t whole = (before(&c) + 3) / 4 * 4, end = g->valid ? count : b->elements - g->after;
    cutting k;
    if (count <= 0) return TALLY_OK;
    if (whole >= end || g->least > c.w || (shrink && b->rows > 1) || !cut_levels(&c, &k)) whole = end = count;
    tally_status status = by_levels(&c, 0, whole);
    if (!status && whole < end) status = by_groups(&c, &k, whole, end);
    return status ? status : by_levels(&c, end, count);
}

tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r, const tl_geometry *g)
{
    enum { FEW = 16 }; /* sequences that may have launches of their own, so that levels are made at their ends alone */
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

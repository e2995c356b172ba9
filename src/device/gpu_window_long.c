/* SPDX-License-Identifier: MIT
 * Windows on a GPU that no tile of local memory holds. Those of their whole length go through memory once a group of levels
 * (shape/gpu/window_long.cl), the others, near an edge, once a level (window.cl). */
#include "gpu_window.h"

enum {
    LOW_LESS = 3,    /* the lowest group has levels 0 .. LOW - 1, a tile being 2^(LOW + 3) elements: an eighth of it is read twice */
    HIGH = 6,        /* levels of every other: a tile has ROWS rows, of which windows of up to 2^7 - 1 take as many more */
    ROWS = 256,      /* as in window_long.cl */
    GROUPS_MOST = 10 /* 63 bits */
};
enum { LEVEL = 1, LAST_BITS = 2 }; /* as in window_whole.cl */
/* Results computed at a time, or as many as a window's elements: by levels there are some twenty arrays of them, by groups two to four. (Of 16 MB,
 * which stay in an H200's cache, w = 10000 took 1.4 times as long: launches that end.) */
static const int64_t SLAB = 1 << 22, SLAB_BYTES = 1 << 27;

/* One sequence, and which of its results. */
typedef struct {
    tl_gpu_device *d;
    tally *ctx;
    const tl_batch *b;
    const tl_results *r;
    const tl_geometry *g;
    int64_t s, n, w;
} long_case;

/* ---- any window: every level an array ---- */

static tally_status slab_by_levels(const long_case *c, tl_program *program, int64_t j0, int64_t j1)
{
    const tl_geometry *g = c->g;
    const int64_t shift = g->valid ? g->before : 0, lo = j0 + shift > g->before ? j0 + shift - g->before : 0;
    const int64_t hi = g->after < c->n - (j1 + shift) ? j1 + shift + g->after : c->n, items = hi - lo;
    int levels = 1;
    while (levels < 62 && c->w >> levels && items >> levels) levels++;
    tl_launch l;
    tl_memory y = {0};
    tally_status status =
        tl_gpu_take(c->d, c->ctx, (size_t)items * (size_t)levels * (size_t)tl_gpu_state_bytes(c->b->plan->op), &y);
    if (!status) {
        tl_begin(&l, c->d, c->ctx, c->b, program, 0);
        tl_put_memory(&l, &y);
        tl_put(&l, c->s);
        tl_put(&l, lo);
        tl_put(&l, items);
        status = tl_go(&l, "lift_all", (items + 255) / 256, 256);
    }
    for (int k = 0; !status && k + 1 < levels; k++) {
        l = (tl_launch){.d = c->d, .ctx = c->ctx, .program = program};
        tl_put_memory(&l, &y);
        tl_put(&l, items);
        tl_put(&l, k);
        tl_put(&l, items);
        status = tl_go(&l, "double_all", (items + 255) / 256, 256);
    }
    if (!status) {
        tl_begin(&l, c->d, c->ctx, c->b, program, 0);
        tl_put_window(&l, c->r, g);
        tl_put_memory(&l, &y);
        tl_put(&l, items);
        tl_put(&l, c->s);
        tl_put(&l, lo);
        tl_put(&l, j0);
        tl_put(&l, j1);
        status = tl_go(&l, "fold_all", (j1 - j0 + 255) / 256, 256);
    }
    tl_gpu_give(c->d, &y);
    return status;
}

static tally_status by_levels(const long_case *c, int64_t j0, int64_t j1)
{
    tl_program *program = NULL;
    tally_status status = j0 < j1 ? tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window", &program) : TALLY_OK;
    for (; !status && j0 < j1; j0 += SLAB) status = slab_by_levels(c, program, j0, j0 + SLAB < j1 ? j0 + SLAB : j1);
    return status;
}

/* ---- whole windows: every group of levels an array ---- */

/* How windows of w are cut: group i is levels first[i] .. first[i + 1] - 1, number `last` all above. */
typedef struct {
    int log, last; /* log: elements of a tile, as a power of 2 */
    int first[GROUPS_MOST + 1];
    int64_t state; /* bytes of it */
} cutting;

/* The bits of w that group i folds, as the window of a launch: those of the group, and above them one that stands for all higher ones. */
static int64_t bits_of(const cutting *k, int64_t w, int i)
{
    if (i == k->last) return w >> k->first[i];
    const int64_t above = (int64_t)1 << (k->first[i + 1] - k->first[i]);
    return (w >> k->first[i] & (above - 1)) | above;
}
/* The bytes of local memory of a launch for windows of w from level `from` on. */
static int64_t room_of(const cutting *k, int64_t w, int from, int *top, int *kept)
{
    return (int64_t)tl_window_arrays(w, from, top, kept) * (k->state << k->log);
}

/* 0: a launch would need more local memory than there is. */
static int cut_levels(const long_case *c, cutting *k)
{
    int top, kept;
    *k = (cutting){.log = tl_whole_log(c->d, c->b), .state = tl_gpu_state_bytes(c->b->plan->op), .last = 1};
    const int row = k->log - 8; /* log2 of the items of a tile's row */
    k->first[1] = k->log - LOW_LESS;
    for (; c->w >> k->first[k->last] >= 2 << HIGH; k->last++) k->first[k->last + 1] = k->first[k->last] + HIGH;
    int64_t most = room_of(k, (int64_t)1 << k->first[1], 0, &top, &kept); /* two arrays, as on the way up */
    for (int i = 0; i <= k->last; i++) {
        const int from = i ? row : 0;
        const int64_t room = room_of(k, bits_of(k, c->w, i) << from, from, &top, &kept);
        if (room > most) most = room;
    }
    return most <= c->d->gpu->calls->local_bytes(c->d->gpu);
}

/* A launch of tiles of neighbouring items: windows of w, of the elements from number `at` + shift on, for `results` results. */
static tally_status items(const long_case *c, const cutting *k, tl_program *program, int what, int64_t at, int64_t shift, int64_t w,
                          int64_t results, const tl_results *to, const tl_memory *states)
{
    int top, kept;
    const int64_t room = room_of(k, w, 0, &top, &kept), each = (((int64_t)1 << k->log) - (w - 1)) & -4;
    const int64_t start = c->b->host_offsets ? c->b->host_offsets[c->s] * c->b->stride : c->s * c->b->row_stride;
    const int64_t tiles = (results + each - 1) / each;
    const tl_geometry g = {.before = w - 1, .valid = 1};
    tl_batch one = *c->b;
    tl_launch l;
    one.x_byte += (start + (at + shift) * one.stride) * one.plan->op->elem_bytes;
    one.n = results + w - 1;
    one.rows = 1;
    one.listed = 0;
    tl_begin(&l, c->d, c->ctx, &one, program, 0);
    tl_put_window(&l, to, &g);
    tl_put(&l, tiles);
    tl_put(&l, tiles);
    tl_put(&l, each);
    tl_put(&l, 0);
    tl_put(&l, top);
    tl_put(&l, kept);
    tl_put_memory(&l, states);
    tl_put(&l, what);
    tl_put(&l, shift);
    tl_put(&l, c->w);
    tl_put_room(&l, room);
    return tl_go(&l, "window_part", tiles, 256);
}

/* A launch of tiles of rows of 2^log items: windows of w rows from row `shift` on of from's `count` items, for `results` items of to. */
static tally_status rows(const long_case *c, const cutting *k, tl_program *program, const tl_memory *from, const tl_memory *to, int log,
                         int64_t count, int64_t shift, int64_t results, int64_t w, int more)
{
    int top, kept;
    const int row = k->log - 8;
    const int64_t room = room_of(k, w << row, row, &top, &kept), each = ROWS - (w - 1), height = ((results - 1) >> log) + 1;
    const int64_t jobs = ((height + each - 1) / each) << (log - row);
    tl_launch l = {.d = c->d, .ctx = c->ctx, .program = program};
    tl_put_memory(&l, from);
    tl_put_memory(&l, to);
    tl_put(&l, log);
    tl_put(&l, count);
    tl_put(&l, shift);
    tl_put(&l, results);
    tl_put(&l, w);
    tl_put(&l, top - row);
    tl_put(&l, kept);
    tl_put(&l, more);
    tl_put(&l, each);
    tl_put(&l, jobs);
    tl_put_room(&l, room);
    return tl_go(&l, "window_rows", jobs, 256);
}

/* Results of `count` whole windows that begin at element `at` and after; to: the place of the first. y[i]: Y at level first[i]; y[0]: what the
 * higher bits gave. */
static tally_status slab_by_groups(const long_case *c, const cutting *k, tl_program *program, int64_t at, int64_t count, const tl_results *to)
{
    tl_memory y[GROUPS_MOST + 1] = {{0}};
    const int last = k->last, low = k->first[1];
    const int64_t all = count + c->w - 1; /* elements */
    tally_status status = TALLY_OK;
#define ITEMS(level) (all - ((int64_t)1 << (level)) + 1)
    for (int i = 0; !status && i <= last; i++)
        status = tl_gpu_take(c->d, c->ctx, (size_t)((i ? ITEMS(k->first[i]) : count) + 3) / 4 * 4 * (size_t)k->state, &y[i]);
    if (!status) status = items(c, k, program, LEVEL, at, 0, (int64_t)1 << low, ITEMS(low), to, &y[1]);
    for (int i = 1; !status && i < last; i++)
        status = rows(c, k, program, &y[i], &y[i + 1], k->first[i], ITEMS(k->first[i]), 0, ITEMS(k->first[i + 1]), 1 << HIGH, 0);
    for (int i = last; !status && i > 0; i--) {
        const int64_t w = bits_of(k, c->w, i), above = i < last ? (c->w >> k->first[i + 1] << HIGH) - (1 << HIGH) : 0;
        if (i < last && w == 1 << HIGH) continue; /* none */
        status = rows(c, k, program, &y[i], &y[0], k->first[i], ITEMS(k->first[i]), above, count, w, i < last);
    }
    const int64_t w = bits_of(k, c->w, 0), above = (c->w >> low) - 1;
    const int none = w == (int64_t)1 << low; /* then results are made, and no level */
    if (!status) status = items(c, k, program, LAST_BITS, at, none ? 0 : above << low, none ? 1 : w, count, to, &y[0]);
    for (int i = 0; i <= last; i++) tl_gpu_give(c->d, &y[i]);
    return status;
#undef ITEMS
}

/* Results j0 .. j1 - 1, of whole windows. */
static tally_status by_groups(const long_case *c, const cutting *k, int64_t j0, int64_t j1)
{
    const int64_t first = c->g->valid ? 0 : c->g->before; /* the result whose window begins at element 0 */
    const int64_t most = SLAB_BYTES / k->state & -4, slab = c->w > most ? (c->w + 3) & -4 : most, bytes = c->b->plan->op->result_bytes;
    const int64_t row = c->b->host_offsets ? c->b->host_offsets[c->s] * c->r->stride : c->s * c->r->row_stride;
    tl_program *program = NULL;
    tally_status status = tl_gpu_program(c->d, c->ctx, c->b->plan->op, "window_long", &program);
    for (; !status && j0 < j1; j0 += slab) {
        tl_results to = *c->r;
        to.byte += (row + j0 * c->r->stride) * bytes;
        status = slab_by_groups(c, k, program, j0 - first, j0 + slab < j1 ? slab : j1 - j0, &to);
    }
    return status;
}

tally_status tl_window_long(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tl_results *r, const tl_geometry *g)
{
    tally_status status = TALLY_OK;
    for (int64_t s = 0; !status && s < b->rows; s++) {
        long_case c = {d, ctx, b, r, g, s, b->host_offsets ? b->host_offsets[s + 1] - b->host_offsets[s] : b->n,
                       g->before + 1 + g->after};
        cutting k;
        const int64_t count = g->valid ? c.n - g->before - g->after : c.n;
        /* quads of results are aligned if the sequence's first one is */
        int64_t whole = g->valid ? 0 : (g->before + 3) / 4 * 4, end = g->valid ? count : c.n - g->after;
        if (count <= 0) continue;
        if (whole >= end || g->least > c.w || !cut_levels(&c, &k)) whole = end = count;
        status = by_levels(&c, 0, whole);
        if (!status && whole < end) status = by_groups(&c, &k, whole, end);
        if (!status) status = by_levels(&c, end, count);
    }
    return status;
}

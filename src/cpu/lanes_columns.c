/* SPDX-License-Identifier: MIT
 * Columns in strips of neighbouring columns, which threads take (lanes.h). If there are fewer
 * strips than threads, rows are cut too:
 *
 *   reduce   aligned blocks of rows become nodes of every column; a counter per column joins them
 *   scan     first the same nodes; then each block is scanned from the prefix before it, in whole
 *            rows where they are short: threads that write to one line wait for each other
 *   window   parts of the centres, which are independent; a thread takes some strips of a part one
 *            after the other, while their rows are in the second-level cache
 *
 * Extremes of narrow elements (narrow/narrow.h) have kernels of their own for the rows of a strip,
 * whose keys stay in the first-level cache. */
#include "lanes.h"
#include "narrow/narrow.h"
#include "widen.h"
#include "cpu/kernel/simd.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    /* widest strip of a fold, which stages the last states only */
    FOLDED = 1024,
    WINDOW_STRIP = 64,     /* lanes of a strip of windows; fewer lanes allow longer tiles */
    WINDOW_LONG = 32,      /* longer windows use the narrowest strip: a tile must hold a window */
    WINDOW_GROUP = 16,     /* strips of windows that are a task */
    BLOCK_LEVEL_LEAST = 8, /* a block has at least 2^8 rows */
    PACKED = 64,           /* wider rows of results in the cache are written in place */
    AHEAD = 16,            /* prefetch distance in rows; of narrow rows more, */
    AHEAD_BYTES = 2048,    /* of so many bytes */

    /* Folds of narrower strips cut rows instead, because each row of a strip is on another page;
     * so do scans of shorter rows. */
    NARROW_BYTES = 1024,
    JOINED = 16, /* columns whose nodes a thread joins at a time */
    LINE = 64,
    /* Several threads stream results from here on: another's cache may have their lines. */
    STREAM_SHARED = TL_STREAM_BYTES / 4,

    /* Narrow elements: bytes of a strip, at most and at least; scans and windows of shorter rows
     * are faster with widened elements. */
    KEY_BYTES = 4096,
    KEY_BYTES_LEAST = 64,
    SCAN_BYTES_LEAST = 9,
    WINDOW_BYTES_LEAST = 64
};

int tl_lanes_take_columns(const tally_view *in)
{
    if (in->offsets || in->rows < 2 || in->n < 1) return 0;
    return llabs(in->row_stride) < llabs(in->stride);
}

/* The columns of one call. */
typedef struct {
    const tl_lanes_job *job;
    int64_t strip, strips;   /* columns of a strip, the last may have fewer; number of strips */
    int64_t group;           /* strips of a task, the last may have fewer */
    int64_t centres;         /* of a part of windows */
    int64_t tasks;           /* about so many in all; 0: one for each part */
    const tl_narrow *narrow; /* the kernels, if elements are not widened; else NULL */
    int stream, prefetch;
    int adjacent; /* columns of elements, and those of results */
    /* Kernels may read elements beyond the last column of a strip: they are of other columns or of
     * the next row, and no thread writes there. */
    int overread;
    /* Strips store whole lines of rows that begin anywhere, and compute so many columns of the next
     * strip for that; or 0. */
    int64_t lines;
} columns;

/* Does strip s begin with a line? */
static int is_cut(const columns *c, int64_t s)
{
    return c->lines && s > 0 && s * c->strip + c->lines <= c->job->in->rows;
}

/* Do rows of results begin with a line? */
static int aligned(const tl_lanes_job *job)
{
    const uint64_t step = (uint64_t)job->out->stride * job->plan->op->result_bytes;
    return ((uintptr_t)job->out->data | step) % LINE == 0;
}

/* Do short rows share lines? */
static int mixed(const tl_lanes_job *job)
{
    return job->in->rows * job->plan->op->elem_bytes <= NARROW_BYTES && !aligned(job);
}

static int64_t width_of(const columns *c, int64_t s)
{
    const int64_t left = c->job->in->rows - s * c->strip;
    return tl_min(left, c->strip);
}

/* How many rows may be read in place, each as `padded` columns from `col` on: these reads end
 * inside the view's memory. */
static int64_t rows_in_place(const tally_view *in, int64_t col, int64_t padded)
{
    const int64_t last = (in->n - 1) * in->stride + in->rows - col - padded;
    if (last < 0) return 0;
    const int64_t rows = last / in->stride + 1;
    return tl_min(rows, in->n);
}

/* Where the elements of strip s are, and their results go. rest 0: of its whole vectors, or of all
 * columns if kernels may read beyond them; 1: of the remaining columns. Returns 0 if there are
 * none. */
static int strip_at(const columns *c, const tl_lanes_buffers *buffers, int64_t s, int rest,
                    tl_lanes_from *from, tl_lanes_to *to)
{
    const tally_view *in = c->job->in, *out = c->job->out;
    const tl_plan *plan = c->job->plan;
    const int64_t own = width_of(c, s), width = own + (is_cut(c, s + 1) ? c->lines : 0),
                  bytes = plan->op->elem_bytes, result = plan->op->result_bytes,
                  lanes = buffers->lanes;
    const int reads = !plan->in && in->row_stride == 1,
              packed = out && out->row_stride == 1 && out->stride == width &&
                       (c->stream || width < PACKED),
              /* a fold copies the last rows: no more columns fit the buffer */
        whole = c->overread && (out ? packed || c->lines : width <= TL_LANES_STRIP);
    const int64_t full = whole ? width : reads ? width & -lanes : 0;
    int64_t col = s * c->strip + (rest ? full : 0), n;

    *from = (tl_lanes_from){.x = tl_view_row(in, col, bytes, &n),
                            .step = in->stride,
                            .width = rest ? width - full : full,
                            .direct = rest ? 0 : TL_ALL_ROWS,
                            .col_step = in->row_stride};
    if (c->overread && from->width % lanes)
        from->direct = rows_in_place(in, col, (from->width + lanes - 1) & -lanes);
    if (from->direct && c->prefetch) {
        const int64_t narrow = AHEAD_BYTES / (llabs(in->stride) * bytes);
        from->prefetch_distance = tl_max(narrow, AHEAD);
    }
    if (from->width == 0) return 0;

    *to = (tl_lanes_to){0};
    if (!out) return 1;

    to->out = tl_view_row(out, col, result, &n);
    to->step = out->stride;
    to->col_step = out->row_stride;
    to->lines = packed || !c->lines ? 0 : own;
    to->first = !is_cut(c, s);
    to->direct = !to->lines && !plan->out && out->row_stride == 1 && from->width % lanes == 0;
    to->stream = c->stream &&
                 (to->lines || to->direct || (out->row_stride == 1 && out->stride == from->width));

    return 1;
}

/* ---- blocks of rows ---- */

/* The nodes of `count` blocks of `size` rows, for all columns: node j of all columns before node
 * j + 1. The nodes of the rows after the last block follow. */
typedef struct {
    int64_t size, count, pieces;
    const unsigned char *levels; /* of all pieces */
    unsigned char *nodes;
} blocks;

static unsigned char *node_at(const tl_lanes_job *job, const blocks *b, int64_t j, int64_t col)
{
    return b->nodes + (j * job->in->rows + col) * job->plan->op->state_bytes;
}

/* Cuts the rows. The caller frees nodes; NULL: out of memory. */
static blocks cut(const tl_lanes_job *job, int threads)
{
    int level = tl_top_level(job->in->n) - 4 - tl_top_level(threads);
    if (level < BLOCK_LEVEL_LEAST) level = BLOCK_LEVEL_LEAST;
    blocks b = {.size = (int64_t)1 << level, .count = job->in->n >> level};
    int64_t rest = job->in->n & (b.size - 1);
    b.pieces = b.count + __builtin_popcountll((unsigned long long)rest);

    const size_t bytes = (size_t)(b.pieces * job->in->rows) * job->plan->op->state_bytes;
    b.nodes = malloc(bytes + (size_t)b.pieces);
    if (!b.nodes) return b;
    unsigned char *levels = b.nodes + bytes;
    b.levels = levels;
    memset(levels, level, (size_t)b.count);
    for (levels += b.count; rest; rest -= (int64_t)1 << *levels++)
        *levels = (unsigned char)tl_top_level(rest);
    return b;
}

static int64_t piece_at(const blocks *b, int64_t j)
{
    int64_t at = 0;
    for (int64_t k = 0; k < j; k++) at += (int64_t)1 << b->levels[k];
    return at;
}

typedef struct {
    const columns *c;
    const blocks *b;
} join_work;

/* Writes the result of a column from its nodes. */
static void join(const join_work *w, int64_t col)
{
    const tl_lanes_job *job = w->c->job;
    const tl_scalar *op = job->plan->op;
    tl_counter counter;
    tl_state s;

    tl_counter_init(&counter, 0);
    for (int64_t j = 0; j < w->b->pieces; j++) {
        memcpy(&s, node_at(job, w->b, j, col), op->state_bytes);
        tl_counter_push(&counter, op, w->b->levels[j], &s);
    }
    tl_counter_fold(&counter, op, NULL, &s);
    op->lower(&s, counter.end, 0, job->plan->par, job->results + col * op->result_bytes);
}

static void join_columns(void *data, int64_t a, int64_t b)
{
    for (; a < b; a++) join(data, a);
}

/* Makes a lane continue at block j. */
static void put_lane(tl_lanes_buffers *buffers, const blocks *b, int64_t col, int64_t lane,
                     int64_t j)
{
    const tl_lanes_job *job = buffers->job;
    const tl_scalar *op = job->plan->op;
    tl_counter c;
    tl_state init = job->init, node;

    tl_counter_init(&c, 0);
    if (job->seeded && op->from_wide) op->from_wide(&init);
    for (int64_t k = 0; k < j; k++) {
        memcpy(&node, node_at(job, b, k, col), op->state_bytes);
        tl_counter_push(&c, op, b->levels[k], &node);
    }
    tl_lanes_continue(job, &buffers->k, lane, &c, job->seeded ? &init : NULL);
}

/* What one task computes: part number `part` of `parts` of the columns from `col` on. */
typedef struct {
    const columns *c;
    tl_lanes_buffers *buffers;
    const blocks *b;
    int64_t part, parts, col;
    tl_lanes_from from;
    tl_lanes_to to;
} work;

/* ---- narrow elements ---- */

/* Folds or scans rows at .. at + m - 1. Each column begins with the nodes of the blocks before
 * them, if w->b, or with the initial value. */
static void do_narrow_rows(work *w, int64_t at, int64_t m)
{
    const tl_lanes_job *job = w->c->job;
    const tl_plan *plan = job->plan;
    const int64_t width = w->from.width;
    const size_t bytes = plan->op->elem_bytes;
    _Alignas(64) char acc[KEY_BYTES];
    tl_state init = job->init, node;
    uint16_t key = 0;

    if (job->seeded && plan->op->from_wide) plan->op->from_wide(&init);
    if (job->seeded) key = tl_key_of(plan, &init);
    for (int64_t c = 0; c < width && bytes == 2; c++) memcpy(acc + c * 2, &key, 2);
    if (bytes == 1) memset(acc, key, (size_t)width);
    for (int64_t c = 0; c < width && w->b; c++)
        for (int64_t j = 0; j < w->part; j++) {
            memcpy(&node, node_at(job, w->b, j, w->col + c), bytes);
            memcpy(&key, acc + (size_t)c * bytes, bytes);
            key = (uint16_t)tl_max(key, tl_key_of(plan, &node));
            memcpy(acc + (size_t)c * bytes, &key, bytes);
        }
    tl_narrow_rows(job, &w->from, job->out ? &w->to : NULL, at, m, acc);
    if (!job->out)
        w->c->narrow->values(job->results + w->col * (int64_t)bytes, acc, width, plan->keys);
}

/* The number of full windows. The first begins at row 0. */
static int64_t full_windows(const tl_lanes_job *job)
{
    return job->in->n - job->after - job->before;
}

static void do_key_windows(work *w)
{
    const int64_t windows = full_windows(w->c->job), share = windows / w->parts,
                  at = share * w->part;
    tl_narrow_windows(w->c->job, &w->from, &w->to, at,
                      w->part + 1 == w->parts ? windows - at : share);
}

/* ---- tasks ---- */

/* All rows; or those of a block of a scan, after the blocks before it. */
static void do_rows(work *w)
{
    const tl_lanes_job *job = w->c->job;
    const int64_t n = job->in->n, at = w->b ? w->part * w->b->size : 0,
                  m = w->b ? tl_min(n - at, w->b->size) : n;

    if (w->c->narrow) {
        do_narrow_rows(w, at, m);
    } else if (job->verb == TL_REDUCE) {
        tl_lanes_fold(w->buffers, &w->from, n, NULL, 0);
        tl_lower_row(job->plan, (tl_staging){w->buffers->soa, w->buffers->r},
                     job->results + w->col * job->plan->op->result_bytes,
                     &(tl_lower){.m = w->from.width, .n = n, .rows = 1});
    } else {
        w->buffers->k.vectors =
            (int)(tl_lanes_padded(w->buffers, w->from.width) / w->buffers->lanes);
        for (int64_t lane = 0; w->b && lane < w->from.width; lane++)
            put_lane(w->buffers, w->b, w->col + lane, lane, w->part);
        tl_lanes_scan(w->buffers, &w->from, &w->to, &(tl_lanes_span){0, at, m, n});
    }
}

static void do_windows(work *w)
{
    const int64_t n = w->c->job->in->n, i = w->part * w->c->centres;
    tl_lanes_window(w->buffers, &w->from, &w->to, n, i,
                    w->part + 1 == w->parts ? n : i + w->c->centres);
}

static void do_ends(work *w)
{
    const tl_lanes_job *job = w->c->job;
    const int64_t n = job->in->n;
    tl_lanes_window(w->buffers, &w->from, &w->to, n, 0, job->before);
    tl_lanes_window(w->buffers, &w->from, &w->to, n, n - job->after, n);
}

/* The nodes of a block of rows. */
static void do_fold(work *w)
{
    const tl_lanes_job *job = w->c->job;
    const tl_scalar *op = job->plan->op;
    const int64_t at = piece_at(w->b, w->part), m = (int64_t)1 << w->b->levels[w->part];
    tl_state node;
    unsigned char *to = node_at(job, w->b, w->part, w->col);
    const size_t bytes = op->state_bytes;

    if (w->c->narrow) {
        _Alignas(64) char acc[KEY_BYTES] = {0};
        tl_narrow_rows(job, &w->from, NULL, at, m, acc);
        for (int64_t c = 0; c < w->from.width; c++, to += bytes) {
            uint16_t key = 0;
            memcpy(&key, acc + (size_t)c * bytes, bytes);
            tl_of_key(job->plan, key, &node);
            memcpy(to, &node, bytes);
        }
        return;
    }

    tl_lanes_from from =
        tl_lanes_rows_from(&w->from, job->reverse ? job->in->n - 1 - at : at, op->elem_bytes);

    if (job->reverse) from.step = -from.step;
    if (w->to.lines) from.width = w->to.lines;
    tl_lanes_fold(w->buffers, &from, m, NULL, 0);
    for (int64_t lane = 0; lane < from.width; lane++, to += bytes) {
        tl_lanes_staged(w->buffers, lane, &node);
        memcpy(to, &node, bytes);
    }
}

typedef void task(work *w);

typedef struct {
    tally *ctx;
    const columns *c;
    const blocks *b;
    task *run_task;
    int64_t parts, shares; /* of a group of strips */
} tasks;

/* Task t: a share of the parts of a group of strips. */
static void do_tasks(void *with, const tl_worker *worker)
{
    const tasks *all = with;
    const columns *c = all->c;
    tl_lanes_buffers buffers = {.lanes = c->job->plan->core->vector_lanes};
    if (!c->narrow && !tl_lanes_open(&buffers, all->ctx, worker->number, c->job,
                                     (tl_lanes_size){c->strip + c->lines, c->job->in->n, 0}))
        return;
    for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t first = t / all->shares * c->group, end = tl_min(first + c->group, c->strips),
                      share = t % all->shares, stop = all->parts * (share + 1) / all->shares;
        work w = {c, &buffers, all->b, all->parts * share / all->shares, all->parts, 0, {0}, {0}};
        for (; w.part < stop; w.part++) {
            w.col = first * c->strip;
            for (int64_t k = 2 * first; k < 2 * end; k++)
                if (strip_at(c, &buffers, k / 2, k % 2, &w.from, &w.to)) {
                    all->run_task(&w);
                    w.col += w.from.width;
                }
        }
    }
    if (c->stream) tl_stream_fence();
}

/* Runs a task for each share of the parts of each group of strips. Returns 0: out of memory. */
static int run(tally *ctx, const columns *c, const blocks *b, int threads, task *run_task,
               int64_t parts)
{
    const int64_t groups = (c->strips + c->group - 1) / c->group,
                  shares = c->tasks ? tl_min((c->tasks + groups - 1) / groups, parts) : parts;
    tasks all = {ctx, c, b, run_task, parts, shares};
    if (!tl_scratch_begin(ctx, threads)) return 0;
    return tl_parallel(threads, groups * shares, do_tasks, &all);
}

/* The columns of a call, in strips that are as wide as its kernels allow. */
static columns columns_of(const tl_lanes_job *job)
{
    const tally_view *in = job->in;
    const int64_t bytes = in->rows * in->n * job->plan->op->elem_bytes;
    const int adjacent = in->row_stride == 1 && (!job->out || job->out->row_stride == 1),
              dense = !job->plan->in && in->row_stride == 1;
    return (columns){.job = job,
                     .adjacent = adjacent,
                     .strip = job->verb == TL_REDUCE && dense ? FOLDED : TL_LANES_STRIP,
                     .group = 1,
                     .prefetch = in->stride && tl_prefetches(bytes),
                     /* results are apart from the elements, or in their places (tally.h) */
                     .overread = dense && in->stride > 0 && !job->reverse &&
                                 (!job->out || job->out->data != in->data)};
}

/* Cuts the columns into at least so many strips, of equal width, a multiple of `grain` columns. */
static void cut_strips(columns *c, int64_t least, int64_t grain)
{
    const int64_t rows = c->job->in->rows;
    least = tl_max(least, (rows + c->strip - 1) / c->strip);
    const int64_t each = ((rows + least - 1) / least + grain - 1) & -grain;
    c->strip = tl_min(tl_min(each, c->strip), rows);
    c->strips = (rows + c->strip - 1) / c->strip;
}

int tl_lanes_nodes(tally *ctx, const tl_lanes_job *job, int threads, const tl_slab *of,
                   unsigned char *states)
{
    columns c = columns_of(job);
    const blocks b = {.pieces = of->count, .levels = of->level, .nodes = states};
    cut_strips(&c, 1, TL_ABREAST);
    return run(ctx, &c, &b, threads, do_fold, b.pieces);
}

/* Lets strips of a scan store whole lines, if results come from registers. */
static void store_lines(columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tl_plan *plan = job->plan;
    const int64_t bytes = plan->op->result_bytes;
    if (aligned(job) || !(c->stream || threads > 1) || !c->overread || !c->adjacent || plan->out ||
        job->exclusive || !plan->core->direct || plan->core != plan->lower ||
        (threads == 1 && job->in->rows <= c->strip))
        return;
    c->lines = (LINE + bytes - 1) / bytes;
    c->strip -= c->lines;
    cut_strips(c, threads, TL_ABREAST);
    if (c->strips != threads) cut_strips(c, 2 * (int64_t)threads, TL_ABREAST);
}

/* Folds or scans, in one or two strips for each thread. 0: out of memory. */
static int fold_or_scan(tally *ctx, columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tally_view *in = job->in;
    const tl_scalar *op = job->plan->op;
    const int by_rows = in->n >= (int64_t)4 << BLOCK_LEVEL_LEAST && !op->indexed,
              scans = job->verb == TL_SCAN;
    const int64_t row_bytes = in->rows * op->elem_bytes;
    int64_t strips = threads > 1 ? 2 * (int64_t)threads : 1;
    /* Short rows that share lines are cut into blocks, not into strips. */
    const int whole = scans && !c->narrow && c->stream && c->adjacent && mixed(job);

    if (c->narrow)
        strips = threads;
    else if (scans && !whole)
        store_lines(c, threads);
    else if (by_rows && !scans && row_bytes < strips * NARROW_BYTES)
        strips = in->n >> BLOCK_LEVEL_LEAST < strips
                     ? tl_max((row_bytes + NARROW_BYTES / 2) / NARROW_BYTES, 1)
                     : 1;
    if (!c->lines) cut_strips(c, strips, c->narrow ? KEY_BYTES_LEAST / op->elem_bytes : TL_ABREAST);
    strips = c->narrow && scans ? threads / 2 + 1 : threads; /* so many: rows are not cut */
    if (threads == 1 || (c->strips >= strips && !whole) || !by_rows)
        return run(ctx, c, NULL, (int)tl_min(c->strips, threads), do_rows, 1);

    if (scans && !c->narrow && in->rows <= TL_LANES_STRIP) {
        c->strip = in->rows;
        c->strips = 1;
        c->lines = 0;
    }
    const blocks b = cut(job, c->narrow ? (threads + 7) / 8 : scans ? (threads + 3) / 4 : threads);
    int ok = b.nodes && run(ctx, c, &b, threads, do_fold, scans ? b.count : b.pieces);
    if (ok && scans)
        ok = run(ctx, c, &b, threads, do_rows, (in->n + b.size - 1) / b.size);
    else if (ok)
        tl_for_parts(in->rows < 64 ? 1 : threads, in->rows,
                     tl_clamp(in->rows / (2 * threads), 1, JOINED), join_columns,
                     &(join_work){c, &b});
    free(b.nodes);
    return ok;
}

/* The full windows of narrow elements; those at the ends remain. Returns 0, with nothing done, if
 * that is not faster or memory is short. */
static int windows_of_keys(tally *ctx, const columns *wide, int threads)
{
    const tl_lanes_job *job = wide->job;
    columns c = *wide;

    c.narrow = job->plan->narrow;
    c.strip =
        job->w < 2 ? 0 : (TL_NARROW_ROWS / job->w & -KEY_BYTES_LEAST) / job->plan->op->elem_bytes;
    c.group = 1;
    c.tasks = 0;
    if (!c.narrow || job->least > job->w || full_windows(job) <= job->w || c.strip < 1 ||
        job->in->rows * job->plan->op->elem_bytes < WINDOW_BYTES_LEAST || !c.adjacent)
        return 0;
    cut_strips(&c, 1, KEY_BYTES_LEAST);
    return run(ctx, &c, NULL, threads, do_key_windows, c.strips < threads ? threads : 1);
}

static int windows(tally *ctx, columns *c, int threads)
{
    const tl_lanes_job *job = c->job;
    const tally_view *in = job->in;
    const int64_t n = in->n;
    /* flat: kernels take rows without gaps as one array */
    const int flat = c->adjacent && tl_lanes_flat(job, in->rows, in->stride, job->out->stride);

    c->tasks = threads > 1 ? 8 * (int64_t)threads : 1;
    if (!flat) {
        c->strip = job->w > WINDOW_LONG ? TL_ABREAST : WINDOW_STRIP;
        c->group = WINDOW_GROUP;
    }
    cut_strips(c, 1, TL_ABREAST);
    c->centres = flat ? (n + 4 * threads - 1) / (4 * threads)
                      : tl_lanes_chunk(c->strip) * tl_max(c->group / c->strips, 1);
    if (windows_of_keys(ctx, c, threads))
        return job->valid /* without windows at the ends */ ||
               run(ctx, c, NULL, threads, do_ends, 1);
    return run(ctx, c, NULL, threads, do_windows, tl_max((n + c->centres / 2) / c->centres, 1));
}

tally_status tl_lanes_columns(tally *ctx, const tl_lanes_job *job, int threads)
{
    const tally_view *in = job->in;
    const int64_t bytes = job->plan->op->elem_bytes, row_bytes = in->rows * bytes;
    columns c = columns_of(job);

    if (row_bytes * in->n <= TL_PARALLEL_BYTES) threads = 1;
    if (job->out) {
        const int shared =
            threads > 1 && !job->plan->narrow && (job->verb == TL_SCAN || !mixed(job));
        c.stream = in->rows * in->n * job->plan->op->result_bytes >=
                   (shared ? STREAM_SHARED : TL_STREAM_BYTES);
    }
    if (c.adjacent &&
        (job->verb == TL_REDUCE || (job->verb == TL_SCAN && row_bytes >= SCAN_BYTES_LEAST)))
        c.narrow = job->plan->narrow;
    if (c.narrow) c.strip = KEY_BYTES / bytes;

    const int ok =
        job->verb == TL_WINDOW ? windows(ctx, &c, threads) : fold_or_scan(ctx, &c, threads);
    return ok ? TALLY_OK : tl_no_memory(ctx, tl_soa_bytes(job->plan), "strips of columns");
}

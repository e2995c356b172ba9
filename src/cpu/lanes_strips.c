/* SPDX-License-Identifier: MIT
 * Strips of columns (lanes.h): where their elements are, and what a task computes: rows of a strip,
 * nodes of blocks of rows, or windows. */
#include "lanes.h"
#include "narrow/narrow.h"
#include "widen.h"
#include "cpu/kernel/simd.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    PACKED = 64,           /* wider rows of results in the cache are written in place */
    PREFETCH_ROWS = 16,    /* least prefetch distance, in rows */
    PREFETCH_BYTES = 2048, /* least prefetch distance, in bytes */
    STAGED = 16384,        /* bytes of narrow results in the staging buffer */
    STAGED_ROW = 64,       /* rows of narrow results up to so many bytes are not staged */
    JOINED = 16            /* columns whose nodes a thread joins at a time */
};

/* Do the first columns of strip s lie in a cache line that the strip before it stores? */
static int is_cut(const tl_columns *c, int64_t s)
{
    return c->lines && s > 0 && s * c->strip + c->lines <= c->job->in->rows;
}

static int64_t width_of(const tl_columns *c, int64_t s)
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
static int strip_at(const tl_columns *c, const tl_lanes_buffers *buffers, int64_t s, int rest,
                    tl_lanes_from *from, tl_lanes_to *to)
{
    const tally_view *in = c->job->in, *out = c->job->out;
    const tl_plan *plan = c->job->plan;
    const int64_t columns = width_of(c, s), width = columns + (is_cut(c, s + 1) ? c->lines : 0),
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
        const int64_t narrow = PREFETCH_BYTES / (llabs(in->stride) * bytes);
        from->prefetch_distance = tl_max(narrow, PREFETCH_ROWS);
    }
    if (from->width == 0) return 0;

    *to = (tl_lanes_to){0};
    if (!out) return 1;

    to->out = tl_view_row(out, col, result, &n);
    to->step = out->stride;
    to->col_step = out->row_stride;
    to->lines = packed || !c->lines ? 0 : columns;
    to->first = !is_cut(c, s);
    to->direct = !to->lines && !plan->out && out->row_stride == 1 && from->width % lanes == 0;
    to->stream = c->stream &&
                 (to->lines || to->direct || (out->row_stride == 1 && out->stride == from->width));

    return 1;
}

/* ---- blocks of rows ---- */

static unsigned char *node_at(const tl_lanes_job *job, const tl_row_blocks *b, int64_t j,
                              int64_t col)
{
    return b->nodes + (j * job->in->rows + col) * job->plan->op->state_bytes;
}

tl_row_blocks tl_columns_cut(const tl_lanes_job *job, int threads)
{
    int level = tl_top_level(job->in->n) - 4 - tl_top_level(threads);
    if (level < TL_BLOCK_LEVEL_LEAST) level = TL_BLOCK_LEVEL_LEAST;
    tl_row_blocks b = {.size = (int64_t)1 << level, .count = job->in->n >> level};
    int64_t rest = job->in->n & (b.size - 1);
    b.pieces = b.count + __builtin_popcountll((unsigned long long)rest);

    const size_t bytes = (size_t)(b.pieces * job->in->rows) * job->plan->op->state_bytes;
    b.nodes = malloc(bytes + (size_t)b.pieces + sizeof(tl_state)); /* see take_nodes */
    if (!b.nodes) return b;
    unsigned char *levels = b.nodes + bytes;
    b.levels = levels;
    memset(levels, level, (size_t)b.count);
    for (levels += b.count; rest; rest -= (int64_t)1 << *levels++)
        *levels = (unsigned char)tl_top_level(rest);
    return b;
}

static int64_t piece_at(const tl_row_blocks *b, int64_t j)
{
    int64_t at = 0;
    for (int64_t k = 0; k < j; k++) at += (int64_t)1 << b->levels[k];
    return at;
}

typedef struct {
    const tl_lanes_job *job;
    const tl_row_blocks *b;
} join_work;

/* *c = the nodes of the first `count` pieces of a column. They are copied with what follows them:
 * a load of a whole state would wait for a store of a part of it. */
static void take_nodes(const tl_lanes_job *job, const tl_row_blocks *b, int64_t col, int64_t count,
                       tl_counter *c)
{
    tl_counter_init(c, 0);
    for (int64_t j = 0; j < count; j++) {
        memcpy(&c->node[c->count], node_at(job, b, j, col), sizeof(tl_state));
        tl_counter_add(c, job->plan->op, b->levels[j]);
    }
}

/* Writes the results of columns from their nodes. */
static void join_columns(void *data, int64_t from, int64_t end)
{
    const join_work *w = data;
    const tl_plan *plan = w->job->plan;
    tl_counter c;
    for (int64_t col = from; col < end; col++) {
        take_nodes(w->job, w->b, col, w->b->pieces, &c);
        tl_counter_lower(&c, plan, w->job->results + col * plan->op->result_bytes);
    }
}

void tl_columns_join(const tl_lanes_job *job, const tl_row_blocks *b, int threads)
{
    const int64_t columns = job->in->rows;
    tl_for_parts(columns < 64 ? 1 : threads, columns, tl_clamp(columns / (2 * threads), 1, JOINED),
                 join_columns, &(join_work){job, b});
}

/* What one task computes: part number `part` of `parts` of the columns from `col` on. */
typedef struct {
    const tl_columns *c;
    tl_lanes_buffers *buffers;
    const tl_row_blocks *b;
    int64_t part, parts, col;
    tl_lanes_from from;
    tl_lanes_to to;
} work;

/* Makes a lane continue at the task's block. */
static void put_lane(const work *w, int64_t lane)
{
    const tl_lanes_job *job = w->c->job;
    tl_counter c;
    tl_state init = job->init;

    take_nodes(job, w->b, w->col + lane, w->part, &c);
    if (job->seeded && job->plan->op->from_wide) job->plan->op->from_wide(&init);
    tl_lanes_continue(job, &w->buffers->k, lane, &c, job->seeded ? &init : NULL);
}

/* ---- narrow elements ---- */

/* The loops for states, which are keys but for the bits that `flips` inverts. */
static const tl_narrow *loops_of_states(const tl_plan *plan, tl_keying *flips)
{
    *flips = (tl_keying){.flip = plan->keys.flip};
    return plan->narrow - (plan->keys.inf != 0); /* of halves those of two bytes */
}

/* acc becomes the largest keys of the nodes of the first w->part blocks. */
static void join_keys(const work *w, void *acc)
{
    const tl_lanes_job *job = w->c->job;
    const tl_narrow_strip nodes = {.x = node_at(job, w->b, 0, w->col),
                                   .step = job->in->rows,
                                   .rows = w->part,
                                   .width = w->from.width};
    tl_keying flips;
    loops_of_states(job->plan, &flips)->columns(&nodes, acc, 0, flips);
}

/* Scans rows at .. at + m - 1, which are side by side, some at a time in the first cache. */
static void stream_rows(const work *w, int64_t at, int64_t m, void *acc)
{
    const tl_lanes_job *job = w->c->job;
    const int64_t bytes = job->plan->op->elem_bytes, row_bytes = w->from.width * bytes,
                  most = STAGED / row_bytes;
    _Alignas(64) char staged[STAGED];
    const tl_lanes_to to = {.out = staged, .step = w->from.width};

    assert(most > 0);
    for (int64_t end = at + m, now; at < end; at += now) {
        const tl_lanes_from from = tl_lanes_rows_from(&w->from, at, bytes);
        now = tl_min(end - at, most);
        tl_narrow_rows(job, &from, &to, 0, now, acc);
        tl_stream_bytes(w->to.out + at * row_bytes, staged, now * row_bytes);
    }
}

/* Folds or scans rows at .. at + m - 1. Each column begins with the nodes of the blocks before
 * them, if w->b, or with the initial value. */
static void do_narrow_rows(work *w, int64_t at, int64_t m)
{
    const tl_lanes_job *job = w->c->job;
    const tl_plan *plan = job->plan;
    const int64_t width = w->from.width;
    const size_t bytes = plan->op->elem_bytes;
    _Alignas(64) char acc[TL_STRIP_KEYS];
    tl_state init = job->init;
    uint16_t key = 0;

    if (job->seeded && plan->op->from_wide) plan->op->from_wide(&init);
    if (job->seeded) key = tl_key_of(plan, &init);
    for (int64_t c = 0; c < width && bytes == 2; c++) memcpy(acc + c * 2, &key, 2);
    if (bytes == 1) memset(acc, key, (size_t)width);
    if (w->b) join_keys(w, acc);
    if (w->to.stream && !job->reverse && width * (int64_t)bytes > STAGED_ROW)
        stream_rows(w, at, m, acc);
    else
        tl_narrow_rows(job, &w->from, job->out ? &w->to : NULL, at, m, acc);
    if (!job->out)
        w->c->narrow->values(job->results + w->col * (int64_t)bytes, acc, width, plan->keys);
}

static void do_key_windows(work *w)
{
    const int64_t windows = tl_lanes_full_windows(w->c->job), share = windows / w->parts,
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
        for (int64_t lane = 0; w->b && lane < w->from.width; lane++) put_lane(w, lane);
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
static void do_nodes(work *w)
{
    const tl_lanes_job *job = w->c->job;
    const tl_scalar *op = job->plan->op;
    const int64_t at = piece_at(w->b, w->part), m = (int64_t)1 << w->b->levels[w->part];
    tl_state node;
    unsigned char *to = node_at(job, w->b, w->part, w->col);
    const size_t bytes = op->state_bytes;

    if (w->c->narrow) {
        _Alignas(64) char acc[TL_STRIP_KEYS] = {0};
        tl_keying flips;
        tl_narrow_rows(job, &w->from, NULL, at, m, acc);
        loops_of_states(job->plan, &flips)->values(to, acc, w->from.width, flips);
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

typedef struct {
    tally *ctx;
    const tl_columns *c;
    const tl_row_blocks *b;
    void (*run_task)(work *w);
    int64_t parts, shares; /* of a group of strips */
} tasks;

/* Task t: a share of the parts of a group of strips. */
static void do_tasks(void *with, const tl_worker *worker)
{
    const tasks *all = with;
    const tl_columns *c = all->c;
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

int tl_columns_run(tally *ctx, const tl_columns *c, const tl_row_blocks *b, int threads,
                   tl_strip_task task, int64_t parts)
{
    static void (*const run_task[])(work *) = {/* tl_strip_task */
                                               do_rows, do_nodes, do_windows, do_ends,
                                               do_key_windows};
    const int64_t groups = (c->strips + c->group - 1) / c->group,
                  shares = c->tasks ? tl_min((c->tasks + groups - 1) / groups, parts) : parts;
    tasks all = {ctx, c, b, run_task[task], parts, shares};
    if (!tl_scratch_begin(ctx, threads)) return 0;
    return tl_parallel(threads, groups * shares, do_tasks, &all);
}

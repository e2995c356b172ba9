/* SPDX-License-Identifier: MIT
 * reduce over views. Threads fold aligned nodes of 2^level elements; one counter joins the nodes.
 *
 *   dense rows     many rows: a thread takes whole rows; few long rows: threads share each row
 *   segments       a thread takes neighbouring segments, with about equal weight for each thread; a
 *                  long segment is shared by all threads
 *   short rows,    many at a time, one per vector lane (lanes.h)
 *   columns
 *   other strides  copied into a dense buffer, a block at a time; threads share long sequences */
#include "shape.h"
#include "lanes.h"
#include "narrow/narrow.h"
#include "context/share.h"
#include "widen.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

enum {
    /* A thread folds nodes of at least 16 Ki elements, and a slab has at most about 512 nodes. */
    NODE_LEVEL_LEAST = 14,
    NODES_MOST_LEVEL = 9,
    /* Bytes packed at a time: half of a first-level cache, and small enough for any thread's
     * stack. */
    PACK = 16 << 10,
    /* Rows of at least this size are cut between threads if there are few rows. */
    ROW_LONG_BYTES = 4 << 20
};

static int element_bytes(const tl_plan *plan) { return plan->op->elem_bytes; }

/* Appends n elements on this thread, as the largest aligned nodes. */
static void slab_serial(const tl_plan *plan, const char *x, int64_t n, int fetch, tl_counter *c)
{
    tl_state nodes[TL_MAX_LEVELS];
    while (n > 0) {
        int64_t take = c->end == 0 ? n : (int64_t)1 << tl_slab_level(c->end, c->end + n);
        tl_nodes(plan, nodes, x, take, c->end, fetch);
        tl_counter_push_nodes(c, plan->op, nodes, take);
        x += take * element_bytes(plan);
        n -= take;
    }
}

/* The level of the nodes that threads fold, for n elements. */
static int node_level(int64_t n)
{
    const int level = n > 0 ? tl_top_level(n) - NODES_MOST_LEVEL : 0;
    return level < NODE_LEVEL_LEAST ? NODE_LEVEL_LEAST : level;
}

/* Nodes of `size` elements of one sequence. Node j begins at element j * size of x, which is
 * element at + j * size of the sequence. */
typedef struct {
    const tl_plan *plan;
    const char *x;
    int64_t stride, size, at;
    int fetch;
    tl_state *nodes;
} node_work;

static void fold_node(void *data, int64_t j)
{
    const node_work *a = data;
    const int64_t first = j * a->size;
    tl_fold(a->plan, &a->nodes[j], a->x + first * element_bytes(a->plan), a->size, a->at + first,
            a->fetch);
}

void tl_push_slab(const tl_plan *plan, int threads, const void *data, int64_t n, tl_counter *c)
{
    const char *x = data;
    int64_t bytes = element_bytes(plan);
    int fetch = tl_fetches(n * bytes);
    if (threads > 1 && n > (TL_PARALLEL_BYTES / bytes)) {
        const int level = node_level(n);
        int64_t size = (int64_t)1 << level;
        int64_t head = -c->end & (size - 1), count = (n - head) >> level;
        tl_state *nodes = head < n && count > 1 ? malloc((size_t)count * sizeof *nodes) : NULL;
        if (nodes) { /* If malloc failed, the serial code below gives the same result. */
            slab_serial(plan, x, head, fetch, c);
            x += head * bytes;
            node_work all = {plan, x, 1, size, c->end, fetch, nodes};
            tl_for(threads, count, fold_node, &all);
            for (int64_t j = 0; j < count; j++) tl_counter_push(c, plan->op, level, &nodes[j]);
            free(nodes);
            x += count * size * bytes;
            n -= head + count * size;
        }
    }
    slab_serial(plan, x, n, fetch, c);
}

static void lower_state(const tl_plan *plan, const tl_state *s, int64_t n, void *out)
{
    plan->op->lower(s, n, 0, plan->par, out);
}

static void lower_counter(const tl_plan *plan, const tl_counter *c, void *out)
{
    tl_state s;
    if (tl_counter_fold(c, plan->op, NULL, &s))
        lower_state(plan, &s, c->end, out);
    else
        plan->op->empty(plan->par, out);
}

/* Packs n elements that are not dense, a block at a time, and appends them on this thread. Not
 * inlined because of its buffer: compilers that probe the stack touch every page of a large frame
 * at every call. */
static __attribute__((noinline)) void strided_serial(const tl_plan *plan, const char *x,
                                                     int64_t stride, int64_t n, tl_counter *c)
{
    _Alignas(64) char pack[PACK];
    const int64_t most = PACK / element_bytes(plan);
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < most ? n - at : most;
        tl_copy_strided(pack, 1, x + at * stride * element_bytes(plan), stride, m,
                        element_bytes(plan));
        slab_serial(plan, pack, m, 0, c);
    }
}

static void fold_strided_node(void *data, int64_t j)
{
    const node_work *a = data;
    const int64_t first = j * a->size;
    tl_counter c;
    tl_counter_init(&c, first);
    strided_serial(a->plan, a->x + first * a->stride * element_bytes(a->plan), a->stride, a->size,
                   &c);
    tl_counter_fold(&c, a->plan->op, NULL, &a->nodes[j]);
}

/* Reduces one sequence that is not dense. Threads fold its nodes, as in tl_push_slab. */
static __attribute__((noinline)) void reduce_strided(const tl_plan *plan, int threads,
                                                     const char *x, int64_t stride, int64_t n,
                                                     void *out)
{
    /* No product with stride: it may overflow where there is only one element. */
    const int64_t bytes = element_bytes(plan);
    const int level = node_level(n);
    const int64_t size = (int64_t)1 << level,
                  count = n > TL_PARALLEL_BYTES / bytes ? n >> level : 0;
    tl_state *nodes = threads > 1 && count > 1 ? malloc((size_t)count * sizeof *nodes) : NULL;
    tl_counter all;
    tl_counter_init(&all, 0);
    if (nodes) { /* If malloc failed, the serial code below gives the same result. */
        node_work work = {plan, x, stride, size, 0, 0, nodes};
        tl_for(threads, count, fold_strided_node, &work);
        for (int64_t j = 0; j < count; j++) tl_counter_push(&all, plan->op, level, &nodes[j]);
        free(nodes);
    }
    if (all.end < n) strided_serial(plan, x + all.end * stride * bytes, stride, n - all.end, &all);
    lower_counter(plan, &all, out);
}

static __attribute__((noinline)) void reduce_long(const tl_plan *plan, int threads, const char *x,
                                                  int64_t n, void *out)
{
    tl_counter c;
    tl_counter_init(&c, 0);
    tl_push_slab(plan, threads, x, n, &c);
    lower_counter(plan, &c, out);
}

/* Reduces one sequence of any stride; a long one on `threads` threads. fetch: see tl_fetches. */
static inline void reduce_one(const tl_plan *plan, int threads, const char *x, int64_t stride,
                              int64_t n, int fetch, void *out)
{
    if (n == 0) {
        plan->op->empty(plan->par, out);
    } else if (stride != 1) {
        reduce_strided(plan, threads, x, stride, n, out);
    } else if (threads == 1 || n <= TL_PARALLEL_BYTES / element_bytes(plan)) {
        tl_state s;
        tl_fold(plan, &s, x, n, 0, fetch);
        lower_state(plan, &s, n, out);
    } else {
        reduce_long(plan, threads, x, n, out);
    }
}

/* ---- rows and segments ---- */

static int64_t row_length(const tally_view *in, int64_t r)
{
    return in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
}

/* What reduce_alone needs to reduce sequences one at a time. */
typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    char *out;
    int fetch;
    /* Sequences of at least so many elements are already reduced, by all threads. */
    int64_t long_length;
} alone_work;

static void reduce_alone(void *with, int64_t r)
{
    const alone_work *s = with;
    int64_t n;
    const char *x = tl_view_row(s->in, r, element_bytes(s->plan), &n);
    if (n < s->long_length)
        reduce_one(s->plan, 1, x, s->in->stride, n, s->fetch,
                   s->out + r * s->plan->op->result_bytes);
}

typedef struct {
    tally *ctx;
    const tally_view *in;
    const tl_lanes_job *job; /* NULL: one sequence at a time */
    alone_work *alone;
} rows_work;

static void reduce_chunks(void *with, const tl_worker *worker)
{
    const rows_work *a = with;
    /* If out of memory, batch is NULL: one sequence at a time. */
    tl_lanes_batch *batch = a->job ? tl_lanes_batch_open(a->ctx, worker->number, a->job) : NULL;
    tl_lanes_deal(batch, a->in, worker, reduce_alone, a->alone);
}

/* Dense rows and segments of elements that have a fast path (narrow/narrow.h). */
typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    char *out;
} narrow_rows;

static void reduce_narrow_chunks(void *with, const tl_worker *worker)
{
    const narrow_rows *a = with;
    const tally_view *in = a->in;
    const int64_t bytes = element_bytes(a->plan);
    for (int64_t t, n; (t = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t r = tl_share(in, t, worker->chunks),
                      end = tl_share(in, t + 1, worker->chunks);
        if (r >= end) continue;
        const char *x = tl_view_row(in, r, bytes, &n);
        if (in->offsets) x -= in->offsets[r] * bytes;
        const tl_narrow_rows rows = {.out = a->out + r * bytes,
                                     .x = x,
                                     .rows = end - r,
                                     .n = in->n,
                                     .pitch = in->row_stride,
                                     .offsets = in->offsets ? in->offsets + r : NULL};
        a->plan->narrow->fold_rows(&rows, a->plan->keys);
    }
}

static void rows(tally *ctx, const tl_plan *plan, int threads, const tally_view *in, char *out)
{
    int64_t bytes = element_bytes(plan), result = plan->op->result_bytes;
    tl_weight total = tl_weight_before(in, in->rows);
    int fetch =
        in->stride == 1 && total <= INT64_MAX / bytes ? tl_fetches((int64_t)total * bytes) : 0;
    int64_t length,
        tasks = threads == 1 || total * bytes <= TL_PARALLEL_BYTES ? 1 : (int64_t)threads * 32;
    int64_t long_length = threads > 1 && tasks > 1 ? ROW_LONG_BYTES / bytes : INT64_MAX;
    if (!in->offsets && in->rows >= (int64_t)threads * 8) long_length = INT64_MAX;
    if (long_length != INT64_MAX) { /* Long rows one after the other, each on all threads. */
        int64_t long_rows = 0;
        for (int64_t r = 0; r < in->rows; r++)
            if (row_length(in, r) >= long_length) {
                const char *x = tl_view_row(in, r, bytes, &length);
                reduce_one(plan, threads, x, in->stride, length, fetch, out + r * result);
                long_rows++;
            }
        if (!long_rows) long_length = INT64_MAX;
    }
    if (plan->narrow && in->stride == 1 && long_length == INT64_MAX) {
        narrow_rows all = {plan, in, out};
        tl_parallel(tasks > 1 ? threads : 1, tasks, reduce_narrow_chunks, &all);
        return;
    }
    alone_work alone = {plan, in, out, fetch, long_length};
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    job.results = out;
    const int lanes = tl_lanes_take_rows(&job) && tl_scratch_begin(ctx, threads);
    rows_work all = {ctx, in, lanes ? &job : NULL, &alone};
    tl_parallel(tasks > 1 ? threads : 1, tasks, reduce_chunks, &all);
}

tally_status tl_reduce_view(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                            void *out)
{
    if (in->rows == 1) {
        int64_t n;
        const char *x = tl_view_row(in, 0, element_bytes(plan), &n);
        reduce_one(plan, threads, x, in->stride, n, tl_fetches(n * element_bytes(plan)), out);
    } else if (tl_lanes_take_columns(in)) {
        tl_lanes_job job;
        tl_lanes_begin(&job, plan, in);
        job.results = out;
        return tl_lanes_columns(ctx, &job, threads);
    } else {
        rows(ctx, plan, threads, in, out);
    }
    return TALLY_OK;
}

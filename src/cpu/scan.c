/* SPDX-License-Identifier: MIT
 * scan of dense elements: on one thread (scan_tiles.c), or on several if there are enough elements:
 *
 *   block      0     1     2     3     4     5      a thread takes the next one
 *   thread     A     B     A     B     A     B
 *
 * In each round a thread folds its NEXT block and publishes the node, waits for the nodes of all
 * blocks before its CURRENT block, and scans that one. Meanwhile it prefetches the block AFTER the
 * next one, so all but the first two blocks are in L2 when they are folded, and still there when
 * they are scanned. Memory is read once, and the folding hides the waiting. Each thread joins the
 * nodes in its own counter, so the order in which nodes arrive does not matter.
 *
 * A thread is alone while no other thread takes a block: a call begins with its caller, and a busy
 * machine may run one thread at a time. Alone, it folds nothing, and may scan several blocks at a
 * time.
 *
 * After a scan to the end of a block, a thread publishes the nodes of its counter that end with its
 * own blocks. A counter has the same node there whoever made it, so another thread continues at any
 * scanned block, without the nodes before it.
 *
 * No deadlock: blocks are taken in increasing order, and a thread waits only for blocks before the
 * one that it scans. So the thread that owns the first block that is not scanned finds all nodes,
 * for any number of threads (context/threads.h). A block that is not published in time is folded by
 * the thread that waits. */
#include "driver.h"
#include "narrow/narrow.h"
#include "context/context.h"
#include "context/view.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

int tl_scan_polls = 4000; /* some microseconds */

/* A thread is alone if its blocks followed each other ALONE_AFTER times. Then it takes at most
 * ALONE_BLOCKS at a time, and at most 1 / ALONE_SHARE of its share of those that are left. */
enum { ALONE_AFTER = 4, ALONE_BLOCKS = 4, ALONE_SHARE = 8 };

/* The current block and the next one, where elements are not dense. */
enum { DENSE_BLOCKS = 2, PAGE = 4096 };

enum { NOT_TAKEN = -1 };

/* Shared by the threads of one long scan. */
typedef struct {
    const tl_scan *scan;
    const tl_scan_work *work;
    int64_t blocks, size;           /* the last block may be short; elements per block */
    int64_t base;                   /* elements of the sequence before block 0 */
    int level, in_place;            /* log2(size); results overlap elements */
    tl_state *node, *end;           /* of each full block; the node that ends with it */
    atomic_uchar *folded, *scanned; /* of each block: its node, its end is published */
    tally *ctx;
    tl_counter *counters; /* one for each thread */
    tl_counter *last;     /* the counter of the thread that scanned the last block */
} shared;

/* One of the threads. */
typedef struct {
    shared *t;
    const tl_worker *worker;
    tl_counter *c; /* of the elements before block `seen` */
    int64_t seen;
    int64_t taken; /* the end of the blocks that were taken last */
    int alone;     /* how often they followed each other */
    tl_staging staging;
    char *dense; /* memory for DENSE_BLOCKS blocks of elements and one of results, for strides */
} scanner;

static const tl_plan *plan_of(const shared *t) { return t->scan->plan; }

static const char *block_at(const shared *t, int64_t j)
{
    return t->work->x + j * t->size * t->work->x_stride * plan_of(t)->op->elem_bytes;
}

/* The elements of `count` blocks. */
static int64_t length_of(const shared *t, int64_t j, int64_t count)
{
    return tl_clamp(t->work->n - j * t->size, 0, count * t->size);
}

/* Folds a block of another thread. */
static void fold_block(const shared *t, int64_t j, tl_state *node)
{
    tl_counter c;
    tl_counter_init(&c, t->base + j * t->size);
    tl_push_strided(plan_of(t), block_at(t, j), t->work->x_stride, t->size, &c);
    *node = c.node[0];
}

/* Takes the next `count` blocks. */
static int64_t take(scanner *s, int64_t count)
{
    const int64_t j = tl_next_chunks(s->worker, count);
    s->alone = j == s->taken ? s->alone + 1 : 0;
    s->taken = j + count;
    if (tl_scan_polls < 0) sched_yield();
    return j;
}

static int is_set(const atomic_uchar *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

static void set(atomic_uchar *flag) { atomic_store_explicit(flag, 1, memory_order_release); }

/* Bytes of dense memory for the elements of a block. Results begin at the same place in a page as
 * elements, so each place is loaded before it is stored: processors hold back a load after a store
 * to the same place of another page. */
static int64_t dense_bytes(const shared *t)
{
    return (t->size * plan_of(t)->op->elem_bytes + PAGE - 1) & -(int64_t)PAGE;
}

/* The dense elements of block j of this thread, which are copied if they have strides. */
static const char *elements(const scanner *s, int64_t j, int odd)
{
    const shared *t = s->t;
    if (t->work->x_stride == 1) return block_at(t, j);
    char *const to = s->dense + odd * dense_bytes(t);
    tl_copy_strided(to, 1, block_at(t, j), t->work->x_stride, length_of(t, j, 1),
                    plan_of(t)->op->elem_bytes);
    return to;
}

/* Folds block j, whose elements are at x, and publishes its node. The node of a short last block is
 * not needed. */
static void fold(shared *t, int64_t j, const char *x)
{
    if (length_of(t, j, 1) < t->size) return;
    tl_fold(plan_of(t), &t->node[j], x, t->size, t->base + j * t->size, TL_CACHED);
    set(&t->folded[j]);
}

/* ---- nodes of other threads ---- */

/* Publishes the nodes of the counter that end with one of the blocks from j on, which s has just
 * scanned. */
static void publish_ends(const scanner *s, int64_t j)
{
    shared *t = s->t;
    int64_t end = s->c->end;
    for (int k = s->c->count - 1; end > t->base + j * t->size; k--) {
        const int64_t last = ((end - t->base) >> t->level) - 1;
        t->end[last] = s->c->node[k];
        set(&t->scanned[last]);
        end -= (int64_t)1 << s->c->level[k];
    }
}

/* Continues the counter of s to block j by what was published of scanned blocks. 0: some is
 * missing. */
static int join_scanned(scanner *s, int64_t j)
{
    const shared *t = s->t;
    tl_counter *c = s->c;
    const int64_t end = t->base + j * t->size;
    int64_t common = c->end; /* up to here both counters have the same nodes */
    int count = c->count;

    if (!is_set(&t->scanned[j - 1])) return 0;
    /* a counter at `end` has joined a last node that as many elements follow */
    while (common && end - common >= (common & -common)) common -= (int64_t)1 << c->level[--count];
    for (int64_t at = common; at < end;) {
        at += (int64_t)1 << tl_top_level(end - at);
        if (!is_set(&t->scanned[((at - t->base) >> t->level) - 1])) return 0;
    }

    c->end = common;
    c->count = count;
    while (c->end < end) {
        const int level = tl_top_level(end - c->end);
        const int64_t after = c->end + ((int64_t)1 << level);
        tl_counter_push(c, plan_of(t)->op, level, &t->end[((after - t->base) >> t->level) - 1]);
    }
    s->seen = j;
    return 1;
}

/* Continues the counter of s to block j or to one before it, by what is published. 0: nothing. */
static int join_published(scanner *s, int64_t j)
{
    if (is_set(&s->t->folded[s->seen])) {
        tl_counter_push(s->c, plan_of(s->t)->op, s->t->level, &s->t->node[s->seen++]);
        return 1;
    }
    for (int64_t k = j; k > s->seen; k--)
        if (join_scanned(s, k)) return 1;
    return 0;
}

/* Continues the counter of s to block j. A block that is not published for about as long as a fold
 * takes, because the system does not schedule its thread, is folded here too; not where results
 * are stored over the elements, since that thread may scan its block meanwhile. */
static void join_nodes(scanner *s, int64_t j)
{
    shared *t = s->t;
    for (int polls = 0; s->seen < j; polls++) {
        tl_state node;
        if ((tl_scan_polls >= 0 || t->in_place) && join_published(s, j)) {
            polls = 0;
        } else if (polls >= tl_scan_polls && t->in_place) {
            sched_yield();
        } else if (polls >= tl_scan_polls) {
            fold_block(t, s->seen++, &node);
            tl_counter_push(s->c, plan_of(t)->op, t->level, &node);
            polls = 0;
        }
    }
}

/* Scans `count` blocks from j on, whose elements are at x. */
static void scan_from(scanner *s, int64_t j, int64_t count, const char *x, int64_t prefetch)
{
    shared *t = s->t;
    const int64_t n = length_of(t, j, count), bytes = plan_of(t)->op->result_bytes;
    char *const out = t->work->out + j * t->size * t->work->y_stride * bytes,
                *const y = t->work->y_stride == 1 ? out : s->dense + DENSE_BLOCKS * dense_bytes(t);
    const tl_scan_work work = {x, n, y, t->work->stream, prefetch, s->staging, 1, 1};

    join_nodes(s, j);
    tl_scan_serial(t->scan, s->c, &work);
    if (y != out) tl_copy_strided(out, t->work->y_stride, y, 1, n, bytes);
    s->seen = tl_min(j + count, t->blocks);
    if (s->seen == t->blocks)
        t->last = s->c;
    else
        publish_ends(s, j);
}

/* ---- the blocks of a thread ---- */

/* How many blocks a thread that is alone takes. At the beginning other threads may arrive and wait
 * for the end of a block. */
static int64_t alone_blocks(const scanner *s)
{
    const int64_t left = s->t->blocks - s->taken, threads = s->worker->threads;
    if (s->dense) return 1;
    if (threads == 1) return left;
    if (s->alone < ALONE_AFTER) return 1;
    return tl_clamp(left / (ALONE_SHARE * threads), 1, ALONE_BLOCKS);
}

/* Until another thread takes a block, or none is left: nothing is folded first. */
static void scan_alone(scanner *s)
{
    const shared *t = s->t;
    const int64_t prefetch = s->dense ? 0 : tl_scan_prefetch(plan_of(t), t->work->stream);
    while (s->alone && s->taken < t->blocks) {
        const int64_t count = alone_blocks(s), j = take(s, count);
        if (j < t->blocks) scan_from(s, j, count, elements(s, j, 0), prefetch);
    }
}

/* The next block, or none while s is alone. */
static int64_t take_later(scanner *s) { return s->alone < ALONE_AFTER ? take(s, 1) : s->t->blocks; }

/* Until s is alone, or no block is left. The block after the next one is taken early only where it
 * can be prefetched, so that in short scans the blocks suffice for all threads. */
static void scan_folded(scanner *s)
{
    shared *t = s->t;
    const int early = t->work->stream && !s->dense;
    int64_t current = take(s, 1), next = early ? take_later(s) : NOT_TAKEN, after;
    const char *x, *next_x = NULL;

    if (current < t->blocks) fold(t, current, next_x = elements(s, current, 0));
    for (int odd = 1; current < t->blocks; odd = !odd, current = next, next = after) {
        x = next_x;
        if (next == NOT_TAKEN) next = take_later(s);
        assert(next > current);
        if (next < t->blocks) fold(t, next, next_x = elements(s, next, odd));
        after = early ? take_later(s) : NOT_TAKEN;
        const int prefetches = after != NOT_TAKEN && after < t->blocks;
        scan_from(s, current, 1, x, prefetches ? block_at(t, after) - x : 0);
    }
}

/* 0: elements and results are dense. */
static size_t scratch_bytes(const shared *t)
{
    const int dense = t->work->x_stride == 1 && t->work->y_stride == 1;
    return dense ? 0
                 : (size_t)(DENSE_BLOCKS * dense_bytes(t) + t->size * plan_of(t)->op->result_bytes);
}

static void scan_blocks(void *data, const tl_worker *worker)
{
    shared *t = data;
    const tl_plan *plan = plan_of(t);
    char *memory = tl_scratch(t->ctx, worker->number, TL_SINGLE, tl_staging_bytes(plan));
    scanner s = {.t = t,
                 .worker = worker,
                 .c = &t->counters[worker->number],
                 .alone = !worker->number,
                 .staging = tl_staging_at(plan, memory)};
    if (t->work->x_stride != 1 || t->work->y_stride != 1)
        s.dense = tl_scratch(t->ctx, worker->number, TL_DENSE, scratch_bytes(t));

    assert(memory); /* allocated before the call */
    do {
        scan_alone(&s);
        scan_folded(&s);
    } while (s.taken < t->blocks);
}

/* Do the results overlap the elements? */
static int in_place(const tl_scalar *op, const tl_scan_work *w)
{
    const int64_t x = (w->n - 1) * w->x_stride * op->elem_bytes,
                  y = (w->n - 1) * w->y_stride * op->result_bytes;
    return w->x + tl_min(x, 0) < w->out + tl_max(y, 0) + op->result_bytes &&
           w->out + tl_min(y, 0) < w->x + tl_max(x, 0) + op->elem_bytes;
}

/* Scans elements on several threads, in blocks of `size` elements. s->done.end is a multiple of
 * size. 0: out of memory; nothing is written. Slot TL_SINGLE of thread 0, which the caller uses,
 * stays valid. */
static int scan_shared(tally *ctx, tl_scan *s, int threads, int64_t size, const tl_scan_work *work)
{
    const tl_plan *plan = s->plan;
    const int level = tl_level(size);
    shared t = {.scan = s,
                .work = work,
                .blocks = (work->n + size - 1) >> level,
                .size = size,
                .base = s->done.end,
                .level = level,
                .in_place = in_place(plan->op, work),
                .ctx = ctx};
    const size_t dense = scratch_bytes(&t);

    assert((size & (size - 1)) == 0 && s->done.end % size == 0 && work->n > 0);
    t.node = malloc((size_t)t.blocks * sizeof *t.node);
    t.end = malloc((size_t)t.blocks * sizeof *t.end);
    t.folded = calloc((size_t)t.blocks, sizeof *t.folded);
    t.scanned = calloc((size_t)t.blocks, sizeof *t.scanned);
    t.counters = malloc((size_t)threads * sizeof *t.counters);
    int ok =
        t.node && t.end && t.folded && t.scanned && t.counters && tl_scratch_begin(ctx, threads);
    for (int i = 0; i < threads && ok; i++) {
        ok = tl_scratch(ctx, i, TL_SINGLE, tl_staging_bytes(plan)) != NULL &&
             (!dense || tl_scratch(ctx, i, TL_DENSE, dense));
        t.counters[i] = s->done;
    }

    if (ok) {
        tl_parallel(threads, t.blocks, scan_blocks, &t);
        s->done = *t.last;
    }

    free(t.node);
    free(t.end);
    free(t.folded);
    free(t.scanned);
    free(t.counters);

    return ok;
}

/* ---- the choice ---- */

/* work: without strides and prefetch */
static void scan_dense(tally *ctx, tl_scan *s, int threads, tl_scan_work work)
{
    const tl_scalar *op = s->plan->op;

    work.x_stride = work.y_stride = 1;
    if (threads > 1 && work.n * op->elem_bytes > 2 * TL_PARALLEL_BYTES) {
        const int64_t size = (int64_t)1 << tl_scan_block_level(s->plan, work.n, threads),
                      head = -s->done.end & (size - 1);
        if (work.n - head > size) {
            tl_scan_work first = work;
            first.n = head;
            tl_scan_serial(s, &s->done, &first);
            work.x += head * op->elem_bytes;
            work.out += head * op->result_bytes;
            work.n -= head;
            if (scan_shared(ctx, s, threads, size, &work)) return;
        }
    }

    work.prefetch = tl_scan_prefetch(s->plan, work.stream);
    tl_scan_serial(s, &s->done, &work);
}

tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out)
{
    const size_t bytes = tl_staging_bytes(s->plan);
    TL_TAKE_SCRATCH(ctx);
    void *memory = tl_scratch_begin(ctx, 1) ? tl_scratch(ctx, 0, TL_SINGLE, bytes) : NULL;
    if (!memory) return tl_no_memory(ctx, bytes, "staging a scan");
    scan_dense(ctx, s, threads,
               (tl_scan_work){.x = x,
                              .n = n,
                              .out = out,
                              .stream = n * s->plan->op->result_bytes >= TL_STREAM_BYTES,
                              .staging = tl_staging_at(s->plan, memory)});
    return TALLY_OK;
}

/* ---- the shape (driver.h) ---- */

static tally_status open(tl_thread *t)
{
    const tl_plan *plan = t->run->call->plan;
    void *memory = tl_thread_memory(t, TL_SINGLE, tl_staging_bytes(plan), "staging a scan");
    if (!memory) return TALLY_NO_MEMORY;
    t->memory->scan.staging = tl_staging_at(plan, memory);
    return TALLY_OK;
}

static tally_status part(tl_thread *t, const tl_part *p)
{
    tl_scan *s = &t->memory->scan.scan;
    if (p->first) tl_scan_begin(s, t->run->call->plan, t->run->call->scan);
    s->ends = p->last;
    scan_dense(t->run->ctx, s, t->threads,
               (tl_scan_work){.x = p->x,
                              .n = p->n,
                              .out = p->y,
                              .stream = p->in_place && t->run->stream,
                              .staging = t->memory->scan.staging});
    return TALLY_OK;
}

static tally_status strided(tl_thread *t, const tl_sequence *q)
{
    tl_scan *s = &t->memory->scan.scan;
    const tl_plan *plan = t->run->call->plan;
    const tl_scalar *op = plan->op;
    const int level = tl_top_level(TL_SCAN_BLOCK_BYTES / tl_max(op->elem_bytes, op->result_bytes));
    const tl_scan_work work = {.x = q->x,
                               .n = q->n,
                               .out = q->y,
                               .stream =
                                   q->y_stride == 1 && q->n * op->result_bytes >= TL_STREAM_BYTES,
                               .x_stride = q->x_stride,
                               .y_stride = q->y_stride};

    tl_scan_begin(s, plan, t->run->call->scan);
    s->ends = 1;
    return scan_shared(t->run->ctx, s, t->threads, (int64_t)1 << level, &work) ? TALLY_OK
                                                                               : TALLY_NO_MEMORY;
}

/* Dense sequences of elements that have a fast path (narrow/narrow.h). */
static tally_status rows(tl_thread *t, int64_t r, int64_t end, int *done)
{
    const tl_call *c = t->run->call;
    const int reverse = c->scan && c->scan->reverse;
    *done = c->plan->narrow && c->in->stride == 1 && c->out->stride == 1 && !reverse &&
            t->run->longest == INT64_MAX && c->in->rows > 1;
    if (*done) tl_narrow_scan_rows(c->plan, c->in, c->out, c->scan, r, end);
    return TALLY_OK;
}

const tl_shape tl_scan_shape = {.open = open,
                                .part = part,
                                .strided = strided,
                                .rows = rows,
                                .lanes = 1,
                                .least_bytes = 4 * TL_PARALLEL_BYTES};

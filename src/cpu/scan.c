/* SPDX-License-Identifier: MIT
 * scan of dense elements: on one thread (scan_tiles.c), or on several if there are enough elements:
 *
 *   block      0     1     2     3     4         a thread takes the next one
 *   thread     A     B     A     B     A
 *
 * Each thread takes its NEXT block, folds it and publishes its node. Then it waits for the nodes of
 * the blocks before its current block. Then it scans the current block, which is still in L2
 * because it was folded before. So memory is read once, and the folding hides the waiting. Each
 * thread joins the nodes in its own counter, so the order in which nodes arrive does not matter.
 *
 * No deadlock: blocks are taken in increasing order. A thread waits only for nodes of blocks before
 * the one that it scans, and every block whose node it has not published comes after that one. So
 * the thread that owns the first unpublished block does not wait, for any number of threads
 * (context/threads.h). A node that does not come in time is folded by the thread that waits. */
#include "scan.h"
#include "narrow/narrow.h"
#include "context/context.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How often a thread polls for a node before it folds that block itself: some microseconds. */
enum { POLLS = 4000 };

/* How many blocks a thread folds before the block that it scans. */
enum { FOLD_DEPTH = 1, LEVELS_DEPTH = 2 };

/* Shared by the threads of one long scan. */
typedef struct {
    const tl_scan *scan;
    const tl_scan_work *work;
    int64_t blocks, size; /* the last block may be short; elements per block */
    int64_t base;         /* elements of the sequence before block 0 */
    int level, depth;
    int in_place;        /* results overlap elements */
    tl_state *node;      /* node of each full block */
    atomic_uchar *ready; /* node[j] is published */
    tally *ctx;
    tl_counter *counters; /* one for each thread */
    tl_counter *last;     /* the counter of the thread that scanned the last block */
} shared;

static const tl_plan *plan_of(const shared *t) { return t->scan->plan; }

static const char *block_at(const shared *t, int64_t j)
{
    return t->work->x + j * t->size * plan_of(t)->op->elem_bytes;
}

static int64_t block_length(const shared *t, int64_t j)
{
    const int64_t left = t->work->n - j * t->size;
    return left <= 0 ? 0 : left < t->size ? left : t->size;
}

static void fold_block(const shared *t, int64_t j, tl_state *node)
{
    tl_fold(plan_of(t), node, block_at(t, j), t->size, t->base + j * t->size, TL_CACHED);
}

static void publish(shared *t, int64_t j, const tl_state *node)
{
    t->node[j] = *node;
    atomic_store_explicit(&t->ready[j], 1, memory_order_release);
}

/* Folds block j and publishes its node. The node of a short last block is not needed. */
static void fold(shared *t, int64_t j)
{
    tl_state node;
    if (block_length(t, j) < t->size) return;
    fold_block(t, j, &node);
    publish(t, j, &node);
}

/* The same from the first levels of its tiles, which are computed already. */
static void fold_first_levels(shared *t, int64_t j, const char *levels)
{
    const tl_plan *plan = plan_of(t);
    tl_counter c;

    if (block_length(t, j) < t->size) return;
    tl_counter_init(&c, 0);
    for (int64_t k = 0; k < t->size / TL_TILE; k++) {
        tl_state node;
        plan->core->scan_node(&node, levels + k * plan->core->up_bytes);
        if (plan->op->from_wide) plan->op->from_wide(&node);
        tl_counter_push(&c, plan->op, TL_TILE_LEVEL, &node);
    }
    publish(t, j, &c.node[0]);
}

/* Computes the first levels of the tiles of block j into `to`, and publishes the block's node. */
static void compute_first_levels(shared *t, int64_t j, char *to)
{
    const tl_plan *plan = plan_of(t);
    const int64_t tile_bytes = TL_TILE * plan->op->elem_bytes;
    for (int64_t k = 0; k < block_length(t, j) / TL_TILE; k++)
        plan->core->scan_up(to + k * plan->core->up_bytes, block_at(t, j) + k * tile_bytes,
                            t->base + j * t->size + k * TL_TILE, plan->par);
    fold_first_levels(t, j, to);
}

/* Waits for the node of block j; 0: it was not published for about as long as a fold takes. */
static int poll_node(shared *t, int64_t j)
{
    for (int k = 0; k < POLLS; k++)
        if (atomic_load_explicit(&t->ready[j], memory_order_acquire)) return 1;
    return 0;
}

/* Appends the nodes of blocks *seen .. j - 1 to c. A node that is not published in time, because
 * the system does not schedule its thread, is folded here too; not where results are stored over
 * the elements, since that thread may scan its block meanwhile. */
static void join_nodes(shared *t, tl_counter *c, int64_t *seen, int64_t j)
{
    for (; *seen < j; ++*seen) {
        tl_state node;
        int published = poll_node(t, *seen);
        if (!published && !t->in_place) {
            fold_block(t, *seen, &node);
            tl_counter_push(c, plan_of(t)->op, t->level, &node);
            continue;
        }
        for (; !published; published = poll_node(t, *seen)) sched_yield();
        tl_counter_push(c, plan_of(t)->op, t->level, &t->node[*seen]);
    }
}

/* Scans block j. levels: see tl_scan_work. */
static void scan_block(shared *t, tl_counter *c, int64_t j, tl_staging staging, int64_t prefetch,
                       const tl_first_levels *levels)
{
    const tl_scan_work work = {block_at(t, j),
                               block_length(t, j),
                               t->work->out + j * t->size * plan_of(t)->op->result_bytes,
                               t->work->stream,
                               prefetch,
                               staging,
                               levels};
    tl_scan_serial(t->scan, c, &work);
}

/* Scans blocks until none is left; each is folded while the block before it of this thread is
 * scanned. */
static void scan_folded(shared *t, const tl_worker *worker, tl_counter *c, tl_staging staging)
{
    const int64_t prefetch =
        t->work->stream ? 2 * worker->threads * t->size * plan_of(t)->op->elem_bytes : 0;
    int64_t j = tl_next_chunk(worker), later;
    int64_t seen = 0; /* blocks whose nodes are in c */

    if (j < t->blocks) fold(t, j);
    for (; j < t->blocks; j = later) {
        later = tl_next_chunk(worker);
        assert(later > j);
        if (later < t->blocks) fold(t, later);
        join_nodes(t, c, &seen, j);
        scan_block(t, c, j, staging, prefetch, NULL);
        seen = j + 1;
        if (seen == t->blocks) t->last = c;
    }
}

/* The same where the first levels of a later block are computed during the scan of this one.
 * levels: memory for the first levels of three blocks. */
static void scan_by_levels(shared *t, const tl_worker *worker, tl_counter *c, tl_staging staging,
                           char *levels)
{
    const tl_plan *plan = plan_of(t);
    const int64_t set = t->size / TL_TILE * plan->core->up_bytes;
    int64_t block[LEVELS_DEPTH + 1] = {0}; /* the current block and the next ones */
    int64_t seen = 0;

    for (int d = 0; d < LEVELS_DEPTH; d++) {
        block[d] = tl_next_chunk(worker);
        if (block[d] < t->blocks) compute_first_levels(t, block[d], levels + d * set);
    }

    for (int64_t round = 0; block[0] < t->blocks; round++) {
        const int64_t j = block[0], later = block[LEVELS_DEPTH] = tl_next_chunk(worker);
        const tl_first_levels u = {.current = levels + round % 3 * set,
                                   .later = levels + (round + LEVELS_DEPTH) % 3 * set,
                                   .x = block_at(t, later),
                                   .at = t->base + later * t->size,
                                   .tiles = block_length(t, later) / TL_TILE,
                                   .step = (worker->threads - 1) * t->size * plan->op->elem_bytes};

        /* `later` is the only block of this thread that may be unpublished. */
        assert(later > j);
        join_nodes(t, c, &seen, j);
        scan_block(t, c, j, staging, tl_scan_prefetch(plan, t->work->stream), &u);
        if (later < t->blocks) fold_first_levels(t, later, u.later);
        seen = j + 1;
        if (seen == t->blocks) t->last = c;
        for (int d = 0; d < LEVELS_DEPTH; d++) block[d] = block[d + 1];
    }
}

static void scan_blocks(void *data, const tl_worker *worker)
{
    shared *t = data;
    const tl_plan *plan = plan_of(t);
    char *memory = tl_scratch(t->ctx, worker->number, TL_SINGLE, tl_scan_bytes(plan));
    const tl_staging staging = tl_staging_at(plan, memory);
    tl_counter *const c = &t->counters[worker->number];

    assert(memory);             /* allocated before the call */
    if (worker->threads == 1) { /* in order; no block is folded first */
        tl_scan_work all = *t->work;
        all.staging = staging;
        all.prefetch = tl_scan_prefetch(plan, all.stream);
        tl_scan_serial(t->scan, c, &all);
        t->last = c;
    } else if (t->depth == LEVELS_DEPTH) {
        scan_by_levels(t, worker, c, staging, memory + tl_first_levels_offset(plan));
    } else {
        scan_folded(t, worker, c, staging);
    }
}

/* Scans elements on several threads, in blocks of `size` elements. s->done.end is a multiple of
 * size. 0: out of memory; nothing is written. Slot TL_SINGLE of thread 0, which the caller uses,
 * stays valid. */
static int scan_shared(tally *ctx, tl_scan *s, int threads, int64_t size, const tl_scan_work *work)
{
    const tl_plan *plan = s->plan;
    const tl_scalar *op = plan->op;
    const int level = tl_level(size);
    const int64_t n = work->n;
    const char *x = work->x, *out = work->out;
    shared t = {.scan = s,
                .work = work,
                .blocks = (n + size - 1) >> level,
                .size = size,
                .base = s->done.end,
                .level = level,
                .depth = FOLD_DEPTH,
                .in_place = x < out + n * op->result_bytes && out < x + n * op->elem_bytes,
                .ctx = ctx};

    assert((size & (size - 1)) == 0 && s->done.end % size == 0 && work->n > 0);
    if (tl_has_first_levels(plan) && !(work->stream && !tl_scan_streams(plan, out)))
        t.depth = LEVELS_DEPTH;
    t.node = malloc((size_t)t.blocks * sizeof *t.node);
    t.ready = calloc((size_t)t.blocks, sizeof *t.ready);
    t.counters = malloc((size_t)threads * sizeof *t.counters);
    int ok = t.node && t.ready && t.counters && tl_scratch_begin(ctx, threads);
    for (int i = 0; i < threads && ok; i++) {
        ok = tl_scratch(ctx, i, TL_SINGLE, tl_scan_bytes(plan)) != NULL;
        t.counters[i] = s->done;
    }

    if (ok) {
        tl_parallel(threads, t.blocks, scan_blocks, &t);
        s->done = *t.last;
    }

    free(t.node);
    free(t.ready);
    free(t.counters);

    return ok;
}

/* ---- the choice ---- */

/* Results of at least this size use non-temporal stores. */
enum { STREAM_BYTES = 4 * 1024 * 1024 };

/* work: changed */
static void scan_dense(tally *ctx, tl_scan *s, int threads, tl_scan_work *work)
{
    const tl_scalar *op = s->plan->op;
    if (threads > 1 && work->n * op->elem_bytes >= 2 * TL_PARALLEL_BYTES) {
        const int64_t size = (int64_t)1 << tl_scan_block_level(s->plan, work->n, threads),
                      head = -s->done.end & (size - 1);
        if (work->n - head > size) {
            tl_scan_work first = *work;
            first.n = head;
            tl_scan_serial(s, &s->done, &first);
            work->x += head * op->elem_bytes;
            work->out += head * op->result_bytes;
            work->n -= head;
            if (scan_shared(ctx, s, threads, size, work)) return;
        }
    }

    work->prefetch = tl_scan_prefetch(s->plan, work->stream);
    tl_scan_serial(s, &s->done, work);
}

tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out)
{
    const size_t bytes = tl_scan_bytes(s->plan);
    void *memory = tl_scratch_begin(ctx, 1) ? tl_scratch(ctx, 0, TL_SINGLE, bytes) : NULL;
    if (!memory) return tl_no_memory(ctx, bytes, "staging a scan");
    tl_scan_work work = {.x = x, .n = n, .out = out, .staging = tl_staging_at(s->plan, memory)};
    if (n * s->plan->op->result_bytes >= STREAM_BYTES) work.stream = TL_STORE_STREAM;
    scan_dense(ctx, s, threads, &work);
    return TALLY_OK;
}

/* ---- the shape (driver.h) ---- */

static tally_status open(tl_thread *t)
{
    const tl_plan *plan = t->run->call->plan;
    void *memory = tl_thread_memory(t, TL_SINGLE, tl_scan_bytes(plan), "staging a scan");
    if (!memory) return TALLY_NO_MEMORY;
    t->memory->scan.staging = tl_staging_at(plan, memory);
    return TALLY_OK;
}

static tally_status part(tl_thread *t, const tl_part *p)
{
    tl_scan *s = &t->memory->scan.scan;
    if (p->first) tl_scan_begin(s, t->run->call->plan, t->run->call->scan);
    s->ends = p->last;
    const int stream = p->in_place && t->run->stream ? TL_STORE_STREAM : TL_STORE_CACHED;
    tl_scan_work work = {
        .x = p->x, .n = p->n, .out = p->y, .stream = stream, .staging = t->memory->scan.staging};
    scan_dense(t->run->ctx, s, t->threads, &work);
    return TALLY_OK;
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

const tl_shape tl_scan_shape = {
    .open = open, .part = part, .rows = rows, .lanes = 1, .least_bytes = 4 * TL_PARALLEL_BYTES};

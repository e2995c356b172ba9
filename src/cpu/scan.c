/* SPDX-License-Identifier: MIT
 * scan over views. One thread takes the tiles in order; the prefix S(b) comes from a binary
 * counter. Several threads scan one long sequence like this:
 *
 *   block      0     1     2     3     4         blocks of BLOCK_BYTES; a thread takes the next one
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
#include "shape.h"
#include "lanes.h"
#include "narrow/narrow.h"
#include "context/share.h"
#include "widen.h"
#include "context/scratch.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Three blocks and a staging buffer fit in a 512 KiB L2. */
    BLOCK_BYTES = 64 * 1024,
    STREAM_BYTES = 4 * 1024 * 1024, /* outputs of at least this size use non-temporal stores */
    /* Prefetch distance of one thread, in a down-sweep: prefetches overlap the stores there. */
    AHEAD_BYTES = 64 * 1024,
    /* How often a thread polls for a node before it folds that block itself: some microseconds. */
    LOOKS = 4000,
    RUN_BYTES = 8 * 1024, /* States that a running scan (kernel.h) stages at a time, in bytes. */
    PACK = TL_TILE,
    LONG_BYTES = 4 * 1024 * 1024,   /* larger segments are cut between threads */
    STRIDED_BYTES = 2 * 1024 * 1024 /* Bytes of a strided sequence that are made dense at a time. */
};

/* Values of `stream`: results are stored in the caches, or by non-temporal stores. */
enum { STORE_CACHED = 0, STORE_STREAM = 1 };

/* Lowers the m states that are staged after S(b). prefix_present: S(b) is not ABSENT. */
static void lower_tile(const tl_scan *s, tl_staging at, char *out, int64_t m, int64_t b,
                       int prefix_present, int stream)
{
    const tl_plan *plan = s->plan;
    int64_t from = plan->core->lead;
    if (!s->exclusive) {
        tl_lower_row(plan, at, out, from + 1, m, b + 1, 1, 0, 0, stream);
    } else if (prefix_present) {
        tl_lower_row(plan, at, out, from, m, b, 1, 0, 0, stream);
    } else {
        plan->op->empty(plan->par, out);
        tl_lower_row(plan, at, out + plan->op->result_bytes, from + 1, m - 1, b + 1, 1, 0, 0,
                     stream);
    }
}

/* Appends m < TL_TILE elements to a counter. */
static void push_part(const tl_plan *plan, tl_counter *c, const char *x, int64_t m)
{
    tl_state nodes[TL_MAX_LEVELS];
    tl_nodes(plan, nodes, x, m, c->end, TL_CACHED);
    tl_counter_push_nodes(c, plan->op, nodes, m);
}

/* Scans a tile with a running scan (kernel.h), in pieces that stay in the first-level cache. On
 * entry *prefix is S(b), on return S(b + m). full: without staging. */
static void scan_running_tile(const tl_scan *s, tl_staging at, const char *x, int64_t m, int64_t b,
                              char *out, int stream, int64_t ahead, int full, int prefix_present,
                              tl_state *prefix, tl_state *node)
{
    const tl_plan *plan = s->plan;
    const tl_scalar *op = plan->op;
    int64_t most =
        full && !plan->in ? m : RUN_BYTES * plan->core->vector_lanes / plan->core->vector_bytes;
    for (int64_t j = 0; j < m; j += most, prefix_present = 1) {
        int64_t now = m - j < most ? m - j : most;
        const char *from = x + j * op->elem_bytes;
        char *to = out + j * op->result_bytes;
        tl_state piece;
        if (full) {
            tl_scan_full(plan, at, to, from, now, b + j, prefix_present ? prefix : NULL, &piece,
                         s->exclusive, stream, ahead, NULL);
            if (s->exclusive && !prefix_present) op->empty(plan->par, to);
        } else {
            tl_scan_tile(plan, at, from, now, b + j, prefix_present ? prefix : NULL, &piece, ahead);
            lower_tile(s, at, to, now, b + j, prefix_present, stream);
        }
        if (prefix_present)
            op->combine(prefix, &piece, b + j, now);
        else
            *prefix = piece;
        if (j)
            op->combine(node, &piece, j, now);
        else
            *node = piece;
    }
}

/* First levels of up-sweeps (tl_up). current: those of the whole tiles that are scanned now; they
 * are computed already. later: memory for those of the tiles at x, whose first element has index
 * `at`; they are computed during the scan. */
typedef struct {
    char *current, *later;
    const char *x;
    int64_t at, tiles;
    int64_t step; /* bytes from the end of the block at x to the block after it */
} first_levels;

/* Can first levels be computed during the down-sweep of another tile? */
static int has_first_levels(const tl_plan *plan)
{
    return plan->core->scan_up && plan->core == plan->lower && !plan->in && !plan->out;
}

/* Scans the next n dense elements on this thread. c: the counter to continue (s->done, or a
 * thread's own). ahead: prefetch distance in bytes; 0: no prefetch. u: the first levels of this
 * block and of a later one; NULL: the first level of each tile is computed during the tile
 * before. */
static void scan_serial(const tl_scan *s, tl_counter *c, const char *x, int64_t n, char *out,
                        int stream, int64_t ahead, tl_staging at, const first_levels *u)
{
    const int64_t up_bytes = s->plan->core->up_bytes,
                  tile_bytes = TL_TILE * s->plan->op->elem_bytes;
    const int paired = !u && has_first_levels(s->plan);
    /* paired: the first level of this tile is computed already, in half number tile & 1 of the
     * staging buffer, which whole tiles do not use otherwise. */
    int level_known = 0;
    int64_t tile = 0;
    const tl_plan *plan = s->plan;
    const tl_scalar *op = plan->op;
    const tl_state *init = s->seeded ? &s->init : NULL;
    tl_state prefix, node;
    int prefix_present = 0, prefix_known = 0; /* S(b) is not ABSENT; it is in prefix */
    if (plan->narrow) {
        tl_narrow_scan(s, c, (tl_narrow_run){out, x, n, stream, ahead});
        return;
    }
    for (int64_t m; n > 0; x += m * op->elem_bytes, out += m * op->result_bytes, n -= m) {
        int64_t b = c->end;
        m = n < TL_TILE ? n : TL_TILE;
        /* S(b + j) is S(b) combined with nodes of j elements only while j is at most the alignment
         * of b. A stream may stop at any b. */
        if (b && (b & -b) < m) m = b & -b;
        if (!prefix_known) prefix_present = tl_counter_fold(c, op, init, &prefix);
        prefix_known = 0;
        /* Before the scan, because results may overwrite the elements. */
        if (m < TL_TILE && !(s->ends && m == n && b % TL_TILE == 0)) push_part(plan, c, x, m);
        int lead = plan->core->lead, full = plan->core->scan_full && plan->core == plan->lower &&
                                            !plan->out && !(stream && (uintptr_t)out % 64);
        if (lead) {
            scan_running_tile(s, at, x, m, b, out, stream, ahead, full, prefix_present, &prefix,
                              &node);
            if (m == TL_TILE) tl_counter_push(c, op, TL_TILE_LEVEL, &node);
            prefix_present = prefix_known = 1;
            continue;
        }
        const int had_prefix = prefix_present;
        if (full) {
            tl_up up = {0};
            if (u && m == TL_TILE) {
                up = (tl_up){u->current + tile * up_bytes, NULL, u->at + tile * TL_TILE,
                             u->later + tile * up_bytes};
                if (tile < u->tiles) up.soon = u->x + tile * tile_bytes;
                const int64_t prefetch_tile = tile + AHEAD_BYTES / tile_bytes;
                if (stream)
                    ahead = u->x + prefetch_tile * tile_bytes +
                            (prefetch_tile < u->tiles ? 0 : u->step) - x;
            } else if (paired && m == TL_TILE) {
                char *half[2] = {at.soa, (char *)at.soa + TL_TILE / 2 / plan->core->vector_lanes *
                                                              plan->core->vector_bytes};
                up = (tl_up){level_known ? half[tile & 1] : NULL, NULL, b + TL_TILE,
                             half[~tile & 1]};
                if (n >= 2 * TL_TILE) up.soon = x + tile_bytes;
                level_known = up.soon != NULL;
            }
            tile++;
            /* Prefetch one tile later, because the tile in between is being read for its first
             * level. For f32 sums this is faster, for f64 slower. */
            const int64_t extra_bytes =
                paired && ahead && up.soon && op->elem_bytes <= 4 ? tile_bytes : 0;
            tl_scan_full(plan, at, out, x, m, b, prefix_present ? &prefix : NULL, &node,
                         s->exclusive, stream, ahead + extra_bytes, &up);
        } else
            tl_scan_tile(plan, at, x, m, b, prefix_present ? &prefix : NULL, &node, ahead);
        if (m == TL_TILE) tl_counter_push(c, op, TL_TILE_LEVEL, &node);
        /* S(b + m) has a new larger node: take it from the counter */
        if (m == TL_TILE || m == (b & -b)) {
            prefix_present = prefix_known = tl_counter_fold(c, op, init, &prefix);
            if (!full) tl_stage(plan, at.soa, m, &prefix);
        }
        if (!full)
            lower_tile(s, at, out, m, b, had_prefix, stream);
        else if (s->exclusive && !had_prefix)
            op->empty(plan->par, out);
        else if (!s->exclusive && prefix_known)
            op->lower(&prefix, c->end, 0, plan->par, out + (m - 1) * op->result_bytes);
    }
}

/* Shared by the threads of one long scan. */
typedef struct {
    const tl_scan *scan;
    const char *x;
    char *out;
    int64_t n, blocks, size; /* elements; blocks, the last may be short; elements per block */
    int level, stream, depth;
    int in_place;        /* results overlap elements */
    tl_state *node;      /* node of each full block */
    atomic_uchar *ready; /* node[j] is published */
    tally *ctx;
    tl_counter *counters; /* one for each thread */
    tl_counter *last;     /* the counter of the thread that scanned the last block */
} shared;

/* Waits for a flag; 0: it was not set for about as long as a fold of a block takes. */
static int wait_for(atomic_uchar *flag)
{
    for (int look = 0; look < LOOKS; look++)
        if (atomic_load_explicit(flag, memory_order_acquire)) return 1;
    return 0;
}

/* How many blocks a thread folds ahead of the block that it scans. */
enum { FOLD_DEPTH = 1, LEVELS_DEPTH = 2 };

static void publish(shared *t, int64_t j, const tl_state *node)
{
    t->node[j] = *node;
    atomic_store_explicit(&t->ready[j], 1, memory_order_release);
}

static const char *block_at(const shared *t, int64_t j)
{
    return t->x + j * t->size * t->scan->plan->op->elem_bytes;
}

/* The number of whole tiles in block j. */
static int64_t tiles_of(const shared *t, int64_t j)
{
    const int64_t left = t->n - j * t->size;
    return left <= 0 ? 0 : (left < t->size ? left : t->size) / TL_TILE;
}

static void fold(shared *t, int64_t j, int64_t base)
{
    tl_state node;
    if ((j + 1) * t->size > t->n) return; /* the node of a short last block is not needed */
    tl_fold(t->scan->plan, &node, block_at(t, j), t->size, base + j * t->size, TL_CACHED);
    publish(t, j, &node);
}

/* Publishes the node of block j, computed from the first levels of its tiles. */
static void fold_first_levels(shared *t, int64_t j, const char *levels)
{
    const tl_plan *plan = t->scan->plan;
    tl_counter c;
    if ((j + 1) * t->size > t->n) return;
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
static void compute_first_levels(shared *t, int64_t j, int64_t base, char *to)
{
    const tl_plan *plan = t->scan->plan;
    const int64_t tile_bytes = TL_TILE * plan->op->elem_bytes;
    for (int64_t k = 0; k < tiles_of(t, j); k++)
        plan->core->scan_up(to + k * plan->core->up_bytes, block_at(t, j) + k * tile_bytes,
                            base + j * t->size + k * TL_TILE, plan->par);
    fold_first_levels(t, j, to);
}

/* Appends the nodes of blocks *seen .. j - 1 to c. A node that is not published in time, because the
 * system does not schedule its thread, is folded here too; not where results are stored over the
 * elements, since that thread may scan its block meanwhile. */
static void join_nodes(shared *t, tl_counter *c, int64_t base, int64_t *seen, int64_t j)
{
    const tl_plan *plan = t->scan->plan;
    for (; *seen < j; ++*seen) {
        tl_state own;
        int there = wait_for(&t->ready[*seen]);
        if (!there && !t->in_place) {
            tl_fold(plan, &own, block_at(t, *seen), t->size, base + *seen * t->size, TL_CACHED);
            tl_counter_push(c, plan->op, t->level, &own);
            continue;
        }
        for (; !there; there = wait_for(&t->ready[*seen])) sched_yield();
        tl_counter_push(c, plan->op, t->level, &t->node[*seen]);
    }
}

/* Scans blocks until none is left. levels: memory for the first levels of three blocks. */
static void scan_blocks(shared *t, const tl_worker *worker, tl_staging at, char *levels)
{
    const tl_scalar *op = t->scan->plan->op;
    tl_counter *const c = &t->counters[worker->number];
    const int64_t base = c->end, set = t->size / TL_TILE * t->scan->plan->core->up_bytes,
                  fold_distance = 2 * worker->threads * t->size * op->elem_bytes;
    int64_t block[LEVELS_DEPTH + 1] = {0}; /* the current block and the next ones */
    int64_t seen = 0;                      /* blocks whose nodes are in c */
    for (int d = 0; d < t->depth; d++) {
        block[d] = tl_next_chunk(worker);
        if (block[d] >= t->blocks) continue;
        if (t->depth == FOLD_DEPTH)
            fold(t, block[d], base);
        else
            compute_first_levels(t, block[d], base, levels + d * set);
    }
    for (int64_t j = block[0], round = 0; j < t->blocks; j = block[0], round++) {
        const int64_t later = block[t->depth] = tl_next_chunk(worker);
        const first_levels u = {
            levels + round % 3 * set, levels + (round + LEVELS_DEPTH) % 3 * set,
            block_at(t, later),       base + later * t->size,
            tiles_of(t, later),       (worker->threads - 1) * t->size * op->elem_bytes};
        if (t->depth == FOLD_DEPTH && later < t->blocks) fold(t, later, base);
        /* `later` is the only block of this thread that may be unpublished, and it comes after j */
        assert(later > j);
        join_nodes(t, c, base, &seen, j);
        const int64_t m = t->n - j * t->size < t->size ? t->n - j * t->size : t->size;
        scan_serial(t->scan, c, block_at(t, j), m, t->out + j * t->size * op->result_bytes,
                    t->stream, t->stream && t->depth == FOLD_DEPTH ? fold_distance : 0, at,
                    t->depth == LEVELS_DEPTH ? &u : NULL);
        if (t->depth == LEVELS_DEPTH && later < t->blocks) fold_first_levels(t, later, u.later);
        seen = j + 1;
        if (seen == t->blocks) t->last = c;
        for (int d = 0; d < t->depth; d++) block[d] = block[d + 1];
    }
}

/* Prefetch distance of a single thread. */
static int64_t prefetch_bytes(const tl_plan *plan, int stream)
{
    if (!stream) return 0;
    return plan->core->lead ? tl_fetch_ahead(tl_fetch_way()) : AHEAD_BYTES;
}

/* Bytes of a thread's memory: staging, then the first levels of three blocks. */
static size_t levels_offset(const tl_plan *plan)
{
    return (tl_staging_bytes(plan) + 63) & ~(size_t)63;
}
static size_t thread_bytes(const tl_plan *plan)
{
    const int64_t size = (int64_t)1 << tl_top_level(BLOCK_BYTES / plan->op->elem_bytes);
    return levels_offset(plan) +
           (has_first_levels(plan) ? 3 * (size_t)(size / TL_TILE * plan->core->up_bytes) : 0);
}

static void scan_shared(void *data, const tl_worker *worker)
{
    shared *t = data;
    const tl_plan *plan = t->scan->plan;
    char *memory = tl_scratch(t->ctx, worker->number, TL_SINGLE, thread_bytes(plan));
    const tl_staging at = tl_staging_at(plan, memory);
    assert(memory); /* allocated before the call */
    if (worker->threads > 1) {
        scan_blocks(t, worker, at, memory + levels_offset(plan));
        return;
    }
    /* One thread scans in order; no block is folded first. */
    t->last = &t->counters[0];
    scan_serial(t->scan, t->last, t->x, t->n, t->out, t->stream, prefetch_bytes(plan, t->stream),
                at, NULL);
}

/* 0: out of memory. Slot TL_SINGLE of thread 0, which the caller uses, stays valid. */
static int scan_parallel(tally *ctx, tl_scan *s, int threads, const char *x, int64_t n, char *out,
                         int stream)
{
    const tl_scalar *op = s->plan->op;
    const int level = tl_top_level(BLOCK_BYTES / op->elem_bytes);
    const int64_t size = (int64_t)1 << level;
    shared t = {.scan = s,
                .x = x,
                .out = out,
                .n = n,
                .blocks = (n + size - 1) >> level,
                .size = size,
                .level = level,
                .stream = stream,
                .depth = FOLD_DEPTH,
                .in_place = x < out + n * op->result_bytes && out < x + n * op->elem_bytes,
                .ctx = ctx};
    if (has_first_levels(s->plan) && !(stream && (uintptr_t)out % 64)) t.depth = LEVELS_DEPTH;
    t.node = malloc((size_t)t.blocks * sizeof *t.node);
    t.ready = calloc((size_t)t.blocks, sizeof *t.ready);
    t.counters = malloc((size_t)threads * sizeof *t.counters);
    int ok = t.node && t.ready && t.counters && tl_scratch_begin(ctx, threads);
    for (int i = 0; i < threads && ok; i++)
        ok = tl_scratch(ctx, i, TL_SINGLE, thread_bytes(s->plan)) != NULL;
    for (int i = 0; i < threads && ok; i++) t.counters[i] = s->done;
    if (ok) {
        tl_parallel(threads, t.blocks, scan_shared, &t);
        s->done = *t.last;
    }
    free(t.node);
    free(t.ready);
    free(t.counters);
    return ok;
}

static void push(tally *ctx, tl_scan *s, int threads, const char *x, int64_t n, char *out,
                 tl_staging at)
{
    const tl_scalar *op = s->plan->op;
    int stream = n * op->result_bytes >= STREAM_BYTES ? STORE_STREAM : STORE_CACHED;
    if (threads > 1 && n * op->elem_bytes >= 2 * TL_PARALLEL_BYTES) {
        int64_t size = (int64_t)1 << tl_top_level(BLOCK_BYTES / op->elem_bytes);
        int64_t head = -s->done.end & (size - 1);
        if (n - head > size) {
            scan_serial(s, &s->done, x, head, out, stream, 0, at, NULL);
            if (scan_parallel(ctx, s, threads, x + head * op->elem_bytes, n - head,
                              out + head * op->result_bytes, stream))
                return;
            x += head * op->elem_bytes;
            out += head * op->result_bytes;
            n -= head;
        }
    }
    scan_serial(s, &s->done, x, n, out, stream, prefetch_bytes(s->plan, stream), at, NULL);
}

tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out)
{
    const size_t bytes = thread_bytes(s->plan);
    void *memory = tl_scratch_begin(ctx, 1) ? tl_scratch(ctx, 0, TL_SINGLE, bytes) : NULL;
    if (!memory) return tl_no_memory(ctx, bytes, "staging a scan");
    push(ctx, s, threads, x, n, out, tl_staging_at(s->plan, memory));
    return TALLY_OK;
}

/* ---- views ---- */

/* Buffers for a strided sequence, which is scanned PACK elements at a time. */
typedef struct {
    char *states, *in, *out;
} scratch;

static int scratch_open(scratch *w, tally *ctx, int thread, const tl_plan *plan)
{
    const size_t in = PACK * (size_t)plan->op->elem_bytes,
                 out = PACK * (size_t)plan->op->result_bytes;
    w->in = tl_scratch(ctx, thread, TL_SINGLE, in + out + tl_staging_bytes(plan));
    if (!w->in) return 0;
    w->out = w->in + in;
    w->states = w->out + out;
    return 1;
}

/* What scan_alone needs to scan sequences one at a time. */
typedef struct {
    scratch *w;
    const tl_plan *plan;
    const tally_view *in, *out;
    const tally_scan_options *o;
    /* Sequences of at least so many elements are already scanned, by all threads. */
    int64_t long_length;
    int stream;
    int64_t ahead;
} alone_work;

static void scan_alone(void *with, int64_t r)
{
    const alone_work *a = with;
    const tally_view *in = a->in, *out = a->out;
    const tl_scalar *op = a->plan->op;
    scratch *w = a->w;
    const int reverse = a->o && a->o->reverse, sign = reverse ? -1 : 1;
    tl_staging staging = tl_staging_at(a->plan, w->states);
    tl_scan scan;
    int64_t n, m;
    const char *x = tl_view_row(in, r, op->elem_bytes, &n);
    char *y = tl_view_row(out, r, op->result_bytes, &m);
    if (n == 0 || n >= a->long_length) return; /* without elements, data may be NULL */
    tl_scan_begin(&scan, a->plan, a->o);
    scan.ends = 1;
    if (in->stride * sign == 1 && out->stride * sign == 1) {
        const int64_t first = reverse ? n - 1 : 0; /* where the scan begins, in the view's order */
        x += first * in->stride * op->elem_bytes;
        y += first * out->stride * op->result_bytes;
        scan_serial(&scan, &scan.done, x, n, y, a->stream, a->ahead, staging, NULL);
        return;
    }
    for (int64_t at = 0, now; at < n; at += now) {
        now = n - at < PACK ? n - at : PACK;
        const int64_t from = reverse ? n - 1 - at : at;
        tl_copy_strided(w->in, 1, x + from * in->stride * op->elem_bytes, in->stride * sign, now,
                        op->elem_bytes);
        scan_serial(&scan, &scan.done, w->in, now, w->out, STORE_CACHED, 0, staging, NULL);
        tl_copy_strided(y + from * out->stride * op->result_bytes, out->stride * sign, w->out, 1,
                        now, op->result_bytes);
    }
}

/* Scans one long sequence that is strided or reversed, on all threads. Blocks of it are made dense,
 * scanned, and copied to their places. */
static tally_status scan_strided(tally *ctx, const tl_plan *plan, int threads, const char *x,
                                 int64_t in_stride, int64_t n, char *y, int64_t out_stride,
                                 const tally_scan_options *o)
{
    const tl_scalar *op = plan->op;
    const int sign = o && o->reverse ? -1 : 1;
    const int64_t block = STRIDED_BYTES / op->elem_bytes;
    const size_t bytes = (size_t)(block * (op->elem_bytes + op->result_bytes));
    char *const dense = malloc(bytes), *const results = dense + block * op->elem_bytes;
    tally_status status = dense ? TALLY_OK : tl_no_memory(ctx, bytes, "a dense part of a sequence");
    tl_scan scan;
    tl_scan_begin(&scan, plan, o);
    for (int64_t at = 0, now; at < n && !status; at += now) {
        now = n - at < block ? n - at : block;
        const int64_t from = sign < 0 ? n - 1 - at : at;
        tl_copy_strided_by(threads, dense, 1, x + from * in_stride * op->elem_bytes,
                           in_stride * sign, now, op->elem_bytes);
        status = tl_scan_push(ctx, &scan, threads, dense, now, results);
        if (!status)
            tl_copy_strided_by(threads, y + from * out_stride * op->result_bytes, out_stride * sign,
                               results, 1, now, op->result_bytes);
    }
    free(dense);
    return status;
}

typedef struct {
    tally *ctx;
    const tl_lanes_job *job; /* NULL: one sequence at a time */
    int narrow;              /* use the fast path for narrow types */
    alone_work alone;        /* without buffers, which each thread has */
} view_work;

static void scan_chunks(void *with, const tl_worker *worker)
{
    const view_work *all = with;
    scratch w;
    alone_work alone = all->alone;
    alone.w = &w;
    if (all->narrow) {
        for (int64_t t; (t = tl_next_chunk(worker)) < worker->chunks;)
            tl_narrow_scan_rows(alone.plan, alone.in, alone.out, alone.o,
                                tl_share(alone.in, t, worker->chunks),
                                tl_share(alone.in, t + 1, worker->chunks));
        return;
    }
    tl_lanes_batch *batch =
        all->job ? tl_lanes_batch_open(all->ctx, worker->number, all->job) : NULL;
    if (!scratch_open(&w, all->ctx, worker->number, alone.plan)) return;
    tl_lanes_deal(batch, alone.in, worker, scan_alone, &alone);
}

tally_status tl_scan_view(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          const tally_view *out, const tally_scan_options *o)
{
    const tl_scalar *op = plan->op;
    int64_t n, m,
        total = in->offsets ? (in->rows ? in->offsets[in->rows] - in->offsets[0] : 0)
                            : in->rows * in->n;
    int dense = in->stride == 1 && out->stride == 1 && !(o && o->reverse);
    int64_t big = 4 * TL_PARALLEL_BYTES / op->elem_bytes;
    if (dense && (in->rows == 1 || (threads > 1 && in->rows < threads))) {
        for (int64_t r = 0; r < in->rows; r++) {
            tl_scan s;
            tl_scan_begin(&s, plan, o);
            const char *x = tl_view_row(in, r, op->elem_bytes, &n);
            tally_status status =
                tl_scan_push(ctx, &s, threads, x, n, tl_view_row(out, r, op->result_bytes, &m));
            if (status) return status;
        }
        return TALLY_OK;
    }
    tl_lanes_job job;
    tl_lanes_begin(&job, plan, in);
    tl_lanes_of_scan(&job, out, o);
    if (tl_lanes_take_columns(in)) return tl_lanes_columns(ctx, &job, threads);
    if (!dense && !in->offsets && in->rows < threads && in->n >= big) {
        tally_status status = TALLY_OK;
        for (int64_t r = 0; r < in->rows && !status; r++) {
            const char *x = tl_view_row(in, r, op->elem_bytes, &n);
            status = scan_strided(ctx, plan, threads, x, in->stride, n,
                                  tl_view_row(out, r, op->result_bytes, &m), out->stride, o);
        }
        return status;
    }
    /* Long segments first, one after the other, each on all threads. Then chunks of about equal
     * weight. */
    int64_t long_length = dense && threads > 1 && in->offsets && total > big
                              ? LONG_BYTES / op->elem_bytes
                              : INT64_MAX;
    int64_t long_segments = 0;
    for (int64_t r = 0; long_length != INT64_MAX && r < in->rows; r++) {
        const char *x = tl_view_row(in, r, op->elem_bytes, &n);
        if (n < long_length) continue;
        tl_scan s;
        tl_scan_begin(&s, plan, o);
        tally_status status =
            tl_scan_push(ctx, &s, threads, x, n, tl_view_row(out, r, op->result_bytes, &m));
        if (status) return status;
        long_segments++;
    }
    if (!tl_scratch_begin(ctx, threads)) return tl_no_memory(ctx, 0, "threads");
    const int lanes = tl_lanes_take_rows(&job);
    const int stream =
        dense && total * op->result_bytes >= STREAM_BYTES ? STORE_STREAM : STORE_CACHED;
    const int64_t tasks = threads > 1 && total > big ? (int64_t)threads * 32 : 1;
    view_work all = {ctx,
                     lanes ? &job : NULL,
                     plan->narrow && dense && !long_segments,
                     {NULL, plan, in, out, o, long_length, stream, stream ? AHEAD_BYTES : 0}};
    return tl_parallel(tasks > 1 ? threads : 1, tasks, scan_chunks, &all)
               ? TALLY_OK
               : tl_no_memory(ctx, tl_staging_bytes(plan), "staging a scan");
}

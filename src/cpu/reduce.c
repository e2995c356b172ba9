/* SPDX-License-Identifier: MIT
 * reduce: threads fold aligned nodes of 2^level elements; one counter joins the nodes. driver.c has
 * the views. */
#include "driver.h"
#include "dtype/dtype_traits.h"
#include "narrow/narrow.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
#include <stdlib.h>

enum {
    /* A thread folds nodes of at least 16 Ki elements, and a slab has at most about 512 nodes. */
    NODE_LEVEL_LEAST = 14,
    NODES_MOST_LEVEL = 9,
    PIECE = 32 << 10, /* elements after which a result may be known */
    SHORT = 512,      /* shorter rows of bytes are summed together */
    PACK = 16 << 10   /* bytes: half of a first-level cache, and small enough for any stack */
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

/* ---- one sequence, perhaps not dense ---- */

/* Not inlined because of its buffer: compilers that probe the stack touch every page of a large
 * frame at every call. */
__attribute__((noinline)) void tl_push_strided(const tl_plan *plan, const void *data,
                                               int64_t stride, int64_t n, tl_counter *c)
{
    _Alignas(64) char pack[PACK];
    const char *x = data;
    const int64_t bytes = element_bytes(plan), most = PACK / bytes;

    if (stride == 1) { /* in place: bits and second inputs are found by the address */
        slab_serial(plan, x, n, TL_CACHED, c);
        return;
    }
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < most ? n - at : most;
        tl_copy_strided(pack, 1, x + at * stride * bytes, stride, m, bytes);
        slab_serial(plan, pack, m, TL_CACHED, c);
    }
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
    const char *const x = a->x + first * a->stride * element_bytes(a->plan);
    if (a->stride == 1) {
        tl_fold(a->plan, &a->nodes[j], x, a->size, a->at + first, a->fetch);
        return;
    }
    tl_counter c;
    tl_counter_init(&c, a->at + first);
    tl_push_strided(a->plan, x, a->stride, a->size, &c);
    tl_counter_fold(&c, a->plan->op, NULL, &a->nodes[j]);
}

static void push(const tl_plan *plan, int threads, const char *x, int64_t stride, int64_t n,
                 tl_counter *c)
{
    const int64_t bytes = element_bytes(plan);
    const int fetch = tl_prefetches(n * bytes);

    if (threads > 1 && n > TL_PARALLEL_BYTES / bytes) {
        const int level = node_level(n);
        const int64_t size = (int64_t)1 << level;
        int64_t head = -c->end & (size - 1), count = (n - head) >> level;
        tl_state *nodes = head < n && count > 1 ? malloc((size_t)count * sizeof *nodes) : NULL;
        if (nodes) { /* If malloc failed, the serial code below gives the same result. */
            if (head) push(plan, 1, x, stride, head, c);
            x += head * stride * bytes;
            node_work work = {plan, x, stride, size, c->end, fetch, nodes};
            tl_for(threads, count, fold_node, &work);
            for (int64_t j = 0; j < count; j++) tl_counter_push(c, plan->op, level, &nodes[j]);
            free(nodes);
            x += count * size * stride * bytes;
            n -= head + count * size;
        }
    }

    if (stride == 1)
        slab_serial(plan, x, n, fetch, c);
    else
        tl_push_strided(plan, x, stride, n, c);
}

void tl_push_slab(const tl_plan *plan, int threads, const void *data, int64_t n, tl_counter *c)
{
    push(plan, threads, data, 1, n, c);
}

static tally_status strided(tl_thread *t, const tl_sequence *q)
{
    const tl_plan *plan = t->run->call->plan;
    tl_counter *c = &t->memory->counter;

    tl_counter_init(c, 0);
    push(plan, t->threads, q->x, q->x_stride, q->n, c);
    tl_counter_lower(c, plan, q->y);
    return TALLY_OK;
}

/* ---- nodes of many sequences ---- */

typedef struct {
    const tl_plan *plan;
    const tally_view *in;
    const tl_slab *of;
    unsigned char *states;
} slab;

/* One sequence alone. */
static void slab_row(const slab *b, int threads, int64_t row)
{
    const int64_t bytes = element_bytes(b->plan), stride = b->in->stride,
                  state = b->plan->op->state_bytes;
    tl_counter c;
    int64_t n;
    const char *x = tl_view_row(b->in, row, bytes, &n);

    tl_counter_init(&c, b->of->start);
    push(b->plan, threads, x, stride, n, &c);
    assert(c.count == b->of->count);
    for (int j = 0; j < c.count; j++)
        memcpy(b->states + (j * b->in->rows + row) * state, &c.node[j], (size_t)state);
}

static void slab_one(void *data, int64_t row) { slab_row(data, 1, row); }

tally_status tl_slab_nodes(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                           const tl_slab *of, unsigned char *states)
{
    enum { LONG = 128 }; /* longer rows go one by one */
    slab b = {plan, in, of, states};

    if (in->rows == 1) {
        slab_row(&b, threads, 0);
        return TALLY_OK;
    }
    if (in->rows * in->n * element_bytes(plan) <= TL_PARALLEL_BYTES) threads = 1;
    if (in->rows < plan->core->vector_lanes || plan->op->indexed || plan->op->inputs == 2 ||
        (in->stride == 1 && in->n >= LONG)) {
        tl_for(threads, in->rows, slab_one, &b);
        return TALLY_OK;
    }

    tl_lanes_job job;
    TL_TAKE_SCRATCH(ctx);
    tl_lanes_begin(&job, plan, in);
    return tl_lanes_nodes(ctx, &job, threads, of, states)
               ? TALLY_OK
               : tl_no_memory(ctx, tl_soa_bytes(plan), "strips of a field");
}

/* ---- the shape (driver.h) ---- */

/* Is a result that differs from that of no elements the result of all? So it is for any and all. */
static int absorbs(const tl_scalar *op)
{
    const int truth = op->widen == TL_WIDEN_NONZERO || op->widen == TL_WIDEN_NONZERO_LOW;
    return truth && op->exact && op->idempotent && op->result_bytes == 1;
}

typedef struct {
    const tl_plan *plan;
    const char *x;
    int prefetch;
    char empty; /* the result of no elements */
} known_work;

/* A piece whose result is that of all elements (tl_find). */
static int64_t find_known(const void *data, int64_t a, int64_t b)
{
    const known_work *w = data;
    tl_state s;
    char y;
    tl_fold(w->plan, &s, w->x + a * element_bytes(w->plan), b - a, a, w->prefetch);
    w->plan->op->lower(&s, b - a, 0, w->plan->par, &y);
    return y != w->empty ? a : INT64_MAX;
}

/* Reduces n dense elements. threads: more than 1 only for operators that absorb. */
static void reduce_dense(const tl_plan *plan, int threads, const char *x, int64_t n, int prefetch,
                         char *y)
{
    tl_state s;
    if (n == 0) {
        plan->op->empty(plan->par, y);
        return;
    }
    if (n > PIECE && absorbs(plan->op)) {
        known_work w = {plan, x, prefetch, 0};
        plan->op->empty(plan->par, &w.empty);
        *y = (char)(w.empty ^ (tl_find(threads, n, PIECE, find_known, &w) < n));
        return;
    }
    tl_fold(plan, &s, x, n, 0, prefetch);
    plan->op->lower(&s, n, 0, plan->par, y);
}

static tally_status part(tl_thread *t, const tl_part *p)
{
    const tl_plan *plan = t->run->call->plan;
    tl_counter *c = &t->memory->counter;
    const int whole = p->first && p->last;
    if (p->n == 0 ||
        (whole && (t->threads == 1 || p->n <= TL_PARALLEL_BYTES / element_bytes(plan) ||
                   absorbs(plan->op)))) {
        reduce_dense(plan, t->threads, p->x, p->n, p->in_place ? t->run->prefetch : TL_CACHED,
                     p->y);
        return TALLY_OK;
    }

    if (p->first) tl_counter_init(c, 0);
    tl_push_slab(plan, t->threads, p->x, p->n, c);
    if (!p->last) return TALLY_OK;

    tl_counter_lower(c, plan, p->y);
    return TALLY_OK;
}

static void whole(const tl_thread *t, int64_t r)
{
    const tl_call *call = t->run->call;
    int64_t n, one;
    const char *x = tl_view_row(call->in, r, element_bytes(call->plan), &n);
    reduce_dense(call->plan, 1, x, n, t->run->prefetch,
                 tl_view_row(call->out, r, call->plan->op->result_bytes, &one));
}

/* Dense sequences of elements that have a fast path: extremes (narrow/narrow.h), and sums of short
 * rows of bytes (kernel/class_x_kernel.h). */
static tally_status rows(tl_thread *t, int64_t r, int64_t end, int *done)
{
    const tally_view *in = t->run->call->in;
    const tl_plan *plan = t->run->call->plan;
    const int sums = plan->fold->fold_rows && !plan->fold_in && (in->offsets || in->n < SHORT);
    int64_t n;

    *done =
        (plan->narrow || sums) && in->stride == 1 && t->run->longest == INT64_MAX && in->rows > 1;
    if (!*done) return TALLY_OK;

    const char *x = tl_view_row(in, r, element_bytes(plan), &n);
    if (in->offsets) x -= in->offsets[r] * element_bytes(plan);
    const tl_dense_rows group = {.out =
                                     (char *)t->run->call->out->data + r * plan->op->result_bytes,
                                 .x = x,
                                 .rows = end - r,
                                 .n = in->n,
                                 .pitch = in->row_stride,
                                 .offsets = in->offsets ? in->offsets + r : NULL};
    if (plan->narrow)
        plan->narrow->fold_rows(&group, plan->keys);
    else
        plan->fold->fold_rows(&group, plan->par);
    return TALLY_OK;
}

const tl_shape tl_reduce_shape = {.part = part,
                                  .whole = whole,
                                  .strided = strided,
                                  .rows = rows,
                                  .least_bytes = 2 * TL_PARALLEL_BYTES,
                                  .lanes = 1};

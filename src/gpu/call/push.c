/* SPDX-License-Identifier: MIT
 * Streams and fragments on a GPU device. A large push from host memory goes to the device in pieces
 * (along.c). A push of device memory is folded there. The processors do all other pushes.
 *
 * A slab in device memory begins at any index: it is a push of a stream, a fragment, or the part of
 * a sequence that lies on several devices.
 *
 *   fold   |head|   node   |       node       |   node   | node |tail|
 *          One launch for each maximal aligned node of the slab. The processors fold the head
 *          and the tail, which have only nodes of less than 2^SMALL_LOG elements.
 *   scan   |head|  piece   |      piece       |        piece         |
 *          A piece begins at a multiple of a power of two that is not below its length, so
 *          kernels that count from its first element use nodes of the order. */
#include "pieces.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- device memory ---- */

enum {
    SMALL_LOG = 14,
    SMALL = 1 << SMALL_LOG,
    NODES = 2 * (TL_MAX_LEVELS - SMALL_LOG) /* max number of the other nodes */
};

/* Number of elements before the first multiple of SMALL and after the last one. */
typedef struct {
    int64_t head, tail;
} ends;

static ends ends_of(int64_t at, int64_t n)
{
    ends e = {-at & (SMALL - 1), 0};
    if (e.head > n) e.head = n;
    e.tail = (at + n) & (SMALL - 1);
    if (e.tail > n - e.head) e.tail = n - e.head;
    assert(e.head >= 0 && e.tail >= 0 && e.head + e.tail <= n);
    return e;
}

/* Provides `bytes` bytes of page-locked memory that no work of the device uses. */
static tally_status locked_memory(tl_gpu_device *d, size_t bytes, char **staged)
{
    tally_status status = d->stream ? d->gpu->calls->wait(d->gpu, d->ctx) : TALLY_OK;
    if (!status) status = tl_stage_reserve(d, &d->small, bytes);
    *staged = status ? NULL : (char *)(uintptr_t)d->small.address;
    return status;
}

/* Issues a copy to `to` of the `bytes` bytes that begin `from` bytes after x. */
static tally_status issue_copy(tl_gpu_device *d, char *to, const char *x, int64_t from,
                               int64_t bytes)
{
    tl_array a;

    if (!bytes) return TALLY_OK;
    if (!tl_gpu_find(d, x + from, &a))
        return tl_fail(d->ctx, TALLY_INVALID, "x is memory of %s, and %ld bytes after it are not",
                       d->name, from);
    const tl_copy copy = {TL_RUN, TL_TO_HOST, &a.memory, (size_t)a.byte, to, (size_t)bytes, 0};
    return tl_gpu_transfer(d, &copy);
}

/* Gives a push to the processors, and counts its elements. Slices of windows overlap, so of windows
 * the results are counted. */
static tally_status push_on_processors(tl_gpu_device *d, tl_push *p)
{
    tl_device *const cpu = tl_gpu_processors(d);
    const tally_status status = cpu->calls->push(cpu, d->ctx, p);
    d->base.on_processors += status ? 0 : p->verb == TL_WINDOW ? p->produced : p->n;
    return status;
}

/* The processors' part of a push: n elements at x, in page-locked memory. */
static tally_status push_copy(tl_gpu_device *d, const tl_push *p, const void *x, int64_t n)
{
    tl_push part = *p;
    part.x = x, part.n = n;
    return n ? push_on_processors(d, &part) : TALLY_OK;
}

/* Pushes the nodes of the elements to the counter. */
static tally_status here_fold(tl_gpu_device *d, const tl_push *p)
{
    const tl_scalar *op = p->plan->op;
    const ends e = ends_of(p->counter->end, p->n);
    const int64_t inner = p->n - e.head - e.tail, elem = op->elem_bytes;
    const size_t states = (size_t)NODES * op->state_bytes;
    tl_nodes nodes = {.count = 0};
    char *head;
    tally_status status = locked_memory(d, (size_t)((e.head + e.tail) * elem) + states, &head);
    char *const tail = tl_offset(head, e.head * elem), *const from = tl_offset(tail, e.tail * elem);

    if (!status) status = issue_copy(d, head, p->x, 0, e.head * elem);
    if (!status) status = issue_copy(d, tail, p->x, (p->n - e.tail) * elem, e.tail * elem);
    if (!status && inner) {
        const tally_view in = tally_flat((const char *)p->x + e.head * elem, op->dtype, inner);
        status = tl_gpu_take(d, states, &nodes.states);
        if (!status) status = tl_sequences_nodes(d, p->plan, &in, p->counter->end + e.head, &nodes);
        if (!status)
            status = tl_gpu_transfer(d, &(tl_copy){TL_RUN, TL_TO_HOST, &nodes.states, 0, from,
                                                   (size_t)nodes.count * op->state_bytes, 0});
    }

    status = tl_gpu_wait(d, status);
    tl_gpu_give(d, &nodes.states);
    assert(nodes.count <= NODES);
    if (!status) status = push_copy(d, p, head, e.head);
    for (int k = 0; !status && k < nodes.count; k++) {
        tl_state node = {{0}};
        memcpy(&node, from + (size_t)k * op->state_bytes, op->state_bytes);
        tl_counter_push(p->counter, op, nodes.level[k], &node);
    }

    return status ? status : push_copy(d, p, tail, e.tail);
}

/* Scans the first `head` elements on the processors. */
static tally_status scan_head(tl_gpu_device *d, const tl_push *p, int64_t head)
{
    const tl_scalar *op = p->plan->op;
    const size_t bytes = (size_t)(head * op->result_bytes);
    char *copy;
    tally_status status = locked_memory(d, (size_t)(head * op->elem_bytes) + bytes, &copy);
    tl_push here = *p;

    here.out = tl_offset(copy, head * op->elem_bytes);
    if (!status) status = issue_copy(d, copy, p->x, 0, head * op->elem_bytes);
    status = tl_gpu_wait(d, status);
    if (!status) status = push_copy(d, &here, copy, head);
    return status ? status : tl_gpu_wait(d, tl_gpu_put(d, p->out, here.out, bytes));
}

/* A piece of a scan: n elements. next: the first node that belongs to it, of the nodes of the whole
 * push. staged: page-locked memory for a state and a result. */
typedef struct {
    const tl_counter *nodes;
    int next;
    const char *x;
    char *out, *staged;
    int64_t n;
} scan_part;

static tally_status scan_piece(tl_gpu_device *d, tl_scan *s, scan_part *part)
{
    const tl_scalar *op = s->plan->op;
    const int64_t n = part->n, at = s->done.end, end = at + n;
    const tl_state *const init = s->seeded ? &s->init : NULL;
    const tally_scan_options o = {.exclusive = s->exclusive};
    const tally_view in = tally_flat(part->x, op->dtype, n), to = tally_flat(part->out, op->out, n);
    const tl_call call = {.verb = TL_SCAN, .plan = s->plan, .in = &in, .out = &to, .scan = &o};
    tl_piece piece = {.end = TL_PIPE_WAITS, .origin = at};
    char *const last = part->staged + sizeof(tl_state);
    tl_state v;

    if (tl_counter_fold(&s->done, op, init, &v))
        piece.before = memcpy(part->staged, &v, op->state_bytes);
    tally_status status = tl_gpu_whole(d, &call, &piece);
    while (!status && s->done.end < end) {
        tl_counter_push(&s->done, op, part->nodes->level[part->next],
                        &part->nodes->node[part->next]);
        part->next++;
    }

    /* A full piece is a right sibling: its last result combines nodes before the piece (S(end)),
     * which its kernels cannot know. */
    if (status || s->exclusive || !at || n != at - tl_parent(at)) return status;

    tl_counter_fold(&s->done, op, init, &v);
    op->lower(&v, end, 0, s->plan->par, last);
    return tl_gpu_put(d, part->out + (n - 1) * op->result_bytes, last, op->result_bytes);
}

/* Scans the elements after the first `from` of the push, piece by piece. */
static tally_status scan_pieces(tl_gpu_device *d, const tl_push *p, int64_t start,
                                const tl_counter *nodes)
{
    enum { STEP = 2 * sizeof(tl_state) };
    tl_scan *const s = p->scan;
    const tl_scalar *op = s->plan->op;
    const int64_t end = start + p->n;
    scan_part part = {.nodes = nodes};
    char *staged;
    for (int64_t at = start; at < s->done.end;) at += (int64_t)1 << nodes->level[part.next++];
    tally_status status = locked_memory(d, (size_t)TL_MAX_LEVELS * STEP, &staged);
    for (part.staged = staged; !status && s->done.end < end; part.staged += STEP) {
        const int64_t at = s->done.end, left = end - at, most = at ? at - tl_parent(at) : left;
        assert(part.staged < staged + (size_t)TL_MAX_LEVELS * STEP);
        part.n = left < most ? left : most;
        part.x = (const char *)p->x + (at - start) * op->elem_bytes;
        part.out = (char *)p->out + (at - start) * op->result_bytes;
        status = scan_piece(d, s, &part);
    }

    return status;
}

/* If the scan's `nodes_known` is NULL, the elements are read twice. */
static tally_status here_scan(tl_gpu_device *d, const tl_push *p)
{
    tl_scan *const s = p->scan;
    const int64_t start = s->done.end, head = ends_of(start, p->n).head;
    tl_counter *folded = s->nodes_known ? NULL : malloc(sizeof *folded);
    const tl_counter *const nodes = s->nodes_known ? s->nodes_known : folded;

    tally_status status =
        nodes ? TALLY_OK : tl_no_memory(d->ctx, sizeof *folded, "the nodes of a slab");
    if (!status && folded) {
        tl_push fold = *p;
        fold.verb = TL_REDUCE, fold.counter = folded;
        tl_counter_init(folded, start);
        status = here_fold(d, &fold);
    }

    if (!status && head) status = scan_head(d, p, head);
    if (!status) status = scan_pieces(d, p, start, nodes);
    free(folded);
    return tl_gpu_wait(d, status);
}

/* ---- host memory ---- */

static int worth(const tl_gpu_device *d, const tl_push *p)
{
    return p->n * p->plan->op->elem_bytes >= d->base.least_bytes;
}

/* Folds or scans elements of host memory that follow those in *done. The processors take the
 * elements before the first multiple of the step, and pushes that are not large. */
static tally_status push_host(tl_gpu_device *d, const tl_push *p, tl_counter *done)
{
    const tl_scalar *op = p->plan->op;
    const tl_scan *const s = p->verb == TL_SCAN ? p->scan : NULL;
    tl_push head = *p;

    int64_t budget = worth(d, p) ? tl_pieces_budget(d) : 0;
    if (budget) {
        /* memory is scarce: a halved step still divides this one */
        const int64_t step = tl_sequences_step(p->plan, budget, 1),
                      before = -done->end & (step - 1);
        if (before < p->n) head.n = before;
    }

    tally_status status = head.n ? push_on_processors(d, &head) : TALLY_OK;
    const int64_t rest = p->n - head.n;
    const tl_counter aligned = *done;
    if (status || !rest) return status;

    const tally_view in = tally_flat(tl_offset((void *)(uintptr_t)p->x, head.n * op->elem_bytes),
                                     op->dtype, rest),
                     to = tally_flat(s ? tl_offset(p->out, head.n * op->result_bytes) : NULL,
                                     op->out, s ? rest : 0);

    for (;;) {
        *done = aligned;
        tl_sequences a = {.plan = p->plan,
                          .budget = budget,
                          .width = 1,
                          .counters = done,
                          .base = aligned.end,
                          .keep = 1,
                          .scan = s != NULL,
                          .exclusive = s && s->exclusive,
                          .init = s && s->seeded ? &s->init : NULL};
        status = tl_sequences_fold(&a, d, &in, &to);
        if (!status || !tl_pieces_again(status, &a.pipe, &budget)) return status;
    }
}

static tally_status push_windows(tl_gpu_device *d, tl_push *p)
{
    const tl_scalar *op = p->plan->op;
    const tally_view in = tally_flat(p->x, op->dtype, p->n), to = tally_flat(p->out, op->out, p->n);

    assert(!tl_gpu_holds(d, p->x) && !tl_gpu_holds(d, p->out));
    if (!worth(d, p)) return push_on_processors(d, p);

    int64_t budget = tl_pieces_budget(d);
    for (int shrunk = 0;; shrunk = 1) {
        tl_sequences a = {.plan = p->plan,
                          .count = p->count,
                          .budget = budget,
                          .width = 1,
                          .window = p->window,
                          .shrunk = shrunk,
                          .at_start = p->at_start,
                          .at_end = p->at_end};
        const tally_status status = tl_sequences_window(&a, d, &in, &to, &p->produced);
        if (!status || !tl_pieces_again(status, &a.pipe, &budget)) return status;
    }
}

/* Folds or scans; after a failure the counter is as before. */
static tally_status push_elements(tl_gpu_device *d, const tl_push *p)
{
    tl_counter *const done = p->verb == TL_SCAN ? &p->scan->done : p->counter;
    const tl_counter start = *done;

    const int here = tl_gpu_holds(d, p->x);
    if (p->verb == TL_SCAN && here != tl_gpu_holds(d, p->out))
        return tl_fail(d->ctx, TALLY_UNSUPPORTED,
                       "%s is memory of %s: x and out must both be, or neither", here ? "x" : "out",
                       d->name);
    const tally_status status = !here                ? push_host(d, p, done)
                                : p->verb == TL_SCAN ? here_scan(d, p)
                                                     : here_fold(d, p);
    if (status) *done = start;

    return status;
}

tally_status tl_gpu_push(tl_device *base, tally *ctx, tl_push *p)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_status status =
        tl_gpu_enter(d, ctx, "streams and fragments wait: push before the capture");
    if (status) return status;
    status = p->verb == TL_WINDOW ? push_windows(d, p) : push_elements(d, p);
    tl_gpu_leave(d);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Pieces along sequences that are too long for the device, or that are pushed to a stream or a
 * fragment. They are cut at multiples of a power of two, the step, so a full piece is a node of the
 * order:
 *
 *   reduce   the nodes of a piece come back as states, and the host pushes them to the binary
 *            counter of each sequence
 *   scan     the same; and the state before a piece, S(b) of that counter, is sent with the scan
 *            of the piece. Kernels of a piece count from its first element, so it begins at a
 *            multiple of a power of two that is not below its length
 *   window   pieces overlap by the window's length less one. A piece inside the sequence has
 *            "valid" windows; a piece at an edge has that edge's windows, and results that
 *            belong to other pieces are dropped
 *
 * A push begins at any index. The processors take its first and its last elements, which have only
 * small nodes, and small pushes of host memory:
 *
 *   |head|      piece      |          piece          |     piece     |tail|
 *        multiples of 2^SMALL_LOG ...................................
 *
 * The last piece of a scan of device memory has the tail too, of which the processors only make the
 * nodes. */
#include "pieces.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a piece of each sequence: the largest power of two that fits the budget, at least
 * 1. */
static int64_t sequences_step(const tl_plan *plan, int64_t budget, int64_t width)
{
    const int64_t bytes = tl_max(plan->op->elem_bytes, plan->op->result_bytes),
                  fit = budget / (bytes * width);
    assert(width > 0);
    return fit < 1 ? 1 : (int64_t)1 << tl_top_level(fit);
}

/* ---- reduce and scan ---- */

/* The most nodes of a piece: their levels fall, and rise before that if it does not begin at a
 * multiple of the step. */
static int nodes_most(const tl_sequences *a)
{
    return (tl_top_level(a->step) + 1) * (a->base % a->step ? 2 : 1);
}

static char *nodes_of(const tl_sequences *a, int slot)
{
    return (char *)(uintptr_t)a->pipe.d->small.address + (size_t)slot * a->nodes_bytes;
}

static char *before_of(const tl_sequences *a, int slot)
{
    return nodes_of(a, TL_RING) + (size_t)(slot * a->width * a->plan->op->state_bytes);
}

/* Issues the kernels that compute the nodes of in's elements, the first of which has index `at`. */
static tally_status compute_nodes(tl_gpu_device *d, const tl_plan *plan, const tally_view *in,
                                  int64_t at, tl_nodes *nodes)
{
    const int64_t each = in->rows * plan->op->state_bytes, end = at + in->n;

    nodes->count = 0;
    for (int64_t i = at; i < end;) {
        assert(nodes->count < TL_MAX_NODES);
        const int level = tl_slab_level(i, end);
        const uint64_t to_address = nodes->states.address + (uint64_t)(nodes->count * each);
        tally_view x = tl_view_part(in, i - at, (int64_t)1 << level, plan->op->elem_bytes);
        tally_view to = tally_rows((void *)(uintptr_t)to_address, plan->op->out, in->rows, 1);
        const tl_piece piece = {.end = TL_PIPE_WAITS, .gives = TL_STATES, .origin = i};
        const tl_call call = {.verb = TL_REDUCE, .plan = plan, .in = &x, .out = &to};
        nodes->level[nodes->count++] = (unsigned char)level;
        TL_TRY(tl_gpu_whole(d, &call, &piece));
        i += (int64_t)1 << level;
    }

    return TALLY_OK;
}

/* Takes the nodes of a piece that ends at element `end` from a->nodes_known. */
static void take_known(tl_sequences *a, int64_t end, int slot)
{
    tl_nodes *const nodes = &a->nodes[slot];
    const size_t bytes = a->plan->op->state_bytes;
    nodes->count = 0;
    for (; a->known_end < end; a->known_next++) {
        const int level = a->nodes_known->level[a->known_next];
        memcpy(nodes_of(a, slot) + (size_t)nodes->count * bytes,
               &a->nodes_known->node[a->known_next], bytes);
        nodes->level[nodes->count++] = (unsigned char)level;
        a->known_end += (int64_t)1 << level;
    }
}

/* Issues the work that brings the nodes of a piece to the host. */
static tally_status request_nodes(tl_sequences *a, const tally_view *in, int64_t at, int slot)
{
    tl_gpu_device *d = a->pipe.d;
    tl_nodes *const nodes = &a->nodes[slot];

    a->end_of[slot] = a->base + at + in->n;
    if (a->nodes_known) {
        take_known(a, a->end_of[slot], slot);
        return TALLY_OK;
    }
    TL_TRY(compute_nodes(d, a->plan, in, a->base + at, nodes));
    TL_TRY(tl_gpu_transfer(
        d, &(tl_copy){TL_RUN, TL_TO_HOST, &nodes->states, 0, nodes_of(a, slot),
                      (size_t)(nodes->count * a->width * a->plan->op->state_bytes), 0}));
    return tl_mark(d, TL_RUN, TL_NODES + slot);
}

/* S at the end of a piece combines nodes of the pieces before it: the piece is a right sibling,
 * whose kernels cannot know these nodes. Only the last result of an inclusive scan differs. */
static int carries(const tl_sequences *a, int64_t begin, int64_t end)
{
    return a->scan && !a->exclusive && begin && end - begin == begin - tl_parent(begin);
}

/* Computes that last result and keeps it for put_ends, after the index of its element. */
static void keep_end(tl_sequences *a, int64_t end)
{
    const tl_scalar *op = a->plan->op;
    char *to = a->ends + a->end_count++ * a->end_bytes;
    const int64_t at = end - a->base - 1;
    to = (char *)memcpy(to, &at, sizeof at) + sizeof at;
    for (int64_t s = 0; s < a->width; s++, to += op->result_bytes) {
        tl_state v;
        tl_counter_fold(&a->counters[s], op, a->init, &v);
        op->lower(&v, end, 0, a->plan->par, to);
    }
}

/* Writes these results to their places, after all other work. */
static tally_status put_ends(tl_sequences *a, const tally_view *out)
{
    tl_gpu_device *const d = a->pipe.d;
    const int64_t bytes = a->plan->op->result_bytes, run = out->row_stride == 1 ? a->width : 1;
    tally_status status = TALLY_OK;

    for (int64_t k = 0; k < a->end_count; k++) {
        const char *from = a->ends + k * a->end_bytes;
        int64_t at;
        memcpy(&at, from, sizeof at);
        from += sizeof at;
        for (int64_t s = 0; !status && s < a->width; s += run, from += run * bytes)
            status = tl_gpu_put(
                d, tl_offset(out->data, (at * out->stride + s * out->row_stride) * bytes), from,
                (size_t)(run * bytes));
    }

    return a->pipe.out.here && a->end_count ? tl_gpu_wait(d, status) : status;
}

/* Waits for the nodes of a slot and pushes them to the counters. */
static tally_status push_nodes(tl_sequences *a, int slot)
{
    const tl_scalar *op = a->plan->op;
    const int count = a->nodes[slot].count;
    const int64_t begin = a->counters->end;

    assert(slot >= 0 && slot < TL_RING && count <= nodes_most(a));
    if (!count) return TALLY_OK;

    if (!a->nodes_known) TL_TRY(tl_reached(a->pipe.d, TL_NODES + slot));

    const char *from = nodes_of(a, slot);
    for (int k = 0; k < count; k++)
        for (int64_t s = 0; s < a->width; s++, from += op->state_bytes) {
            tl_state node = {{0}};
            memcpy(&node, from, op->state_bytes);
            tl_counter_push(&a->counters[s], op, a->nodes[slot].level[k], &node);
        }

    a->nodes[slot].count = 0;
    if (carries(a, begin, a->end_of[slot])) keep_end(a, a->end_of[slot]);
    return TALLY_OK;
}

/* Returns the states before a piece, or NULL if there is nothing before it. */
static const void *states_before(tl_sequences *a, int slot)
{
    const tl_scalar *op = a->plan->op;
    char *to = before_of(a, slot);
    for (int64_t s = 0; s < a->width; s++, to += op->state_bytes) {
        tl_state v;
        if (!tl_counter_fold(&a->counters[s], op, a->init, &v)) return NULL;
        memcpy(to, &v, op->state_bytes);
    }
    return before_of(a, slot);
}

static int next_fold(tl_pipe *p, tl_pipe_piece *part)
{
    tl_sequences *a = (tl_sequences *)p;
    const int64_t begin = a->base + a->at;
    int64_t most = a->step - begin % a->step;
    if (a->scan && begin && begin - tl_parent(begin) < most) most = begin - tl_parent(begin);
    const int64_t end = tl_min(a->n, a->at + most);
    if (a->at >= a->n) return 0;
    part->in = part->out = part->produced = (tl_rect){0, a->width, a->at, end};
    a->at = end;
    return 1;
}

/* The nodes of a piece are requested before the host waits for those of the piece before, so that
 * the device is never idle. */
static tally_status work_fold(tl_pipe *p, const tl_pipe_piece *part, const tally_view *in,
                              const tally_view *out, int slot)
{
    tl_sequences *a = (tl_sequences *)p;
    const tally_scan_options o = {.exclusive = a->exclusive};
    tally_status status = TALLY_OK;

    int last = part->in.i1 == a->n;
    if (!a->scan || a->keep || !last || carries(a, a->base + part->in.i0, a->base + a->n))
        status = request_nodes(a, in, part->in.i0, slot);
    if (!status) status = push_nodes(a, (slot + TL_RING - 1) % TL_RING);
    a->pieces++;
    if (status || !a->scan) return status;

    const tl_piece piece = {
        .end = TL_PIPE_WAITS, .origin = a->base + part->in.i0, .before = states_before(a, slot)};
    const tl_call call = {.verb = TL_SCAN, .plan = a->plan, .in = in, .out = out, .scan = &o};
    return tl_gpu_whole(p->d, &call, &piece);
}

tally_status tl_sequences_fold(tl_sequences *a, tl_gpu_device *d, const tally_view *in,
                               const tally_view *out)
{
    const tl_scalar *op = a->plan->op;
    const size_t each = (size_t)a->width * op->state_bytes;
    tl_pipe *p = &a->pipe;

    p->next = next_fold;
    p->work = work_fold;
    a->at = 0;
    a->n = in->n;
    a->step = sequences_step(a->plan, a->budget, a->width);
    assert((a->step & (a->step - 1)) == 0 && in->rows == a->width);
    a->nodes_bytes = (size_t)nodes_most(a) * each;
    tl_pipe_open(p, d, in, op->elem_bytes, out, op->result_bytes);
    p->in.most = p->out.most = tl_min(a->step, a->n) * a->width;
    if (!a->scan) p->out.here = 1, p->out.straight = 0; /* results are those of the counters */
    a->end_bytes = (int64_t)sizeof(int64_t) + a->width * op->result_bytes;
    /* at most every second piece carries, besides the small first ones */
    const size_t ends = (size_t)((a->n / a->step / 2 + TL_MAX_LEVELS) * a->end_bytes);
    tally_status status = tl_stage_reserve(d, &d->small, TL_RING * (a->nodes_bytes + each));
    if (!status && a->scan && !(a->ends = malloc(ends)))
        status = tl_no_memory(d->ctx, ends, "the ends of pieces");
    for (int i = 0; !status && i < TL_RING; i++)
        status = tl_gpu_take(d, a->nodes_bytes, &a->nodes[i].states);
    if (!status) status = tl_pipe_run(p);
    if (!status && a->pieces) status = push_nodes(a, (int)((a->pieces - 1) % TL_RING));
    if (!status && a->scan) status = put_ends(a, out);
    free(a->ends);
    for (int i = 0; i < TL_RING; i++) tl_gpu_give(d, &a->nodes[i].states);

    return status;
}

/* ---- windows ---- */

static int next_window(tl_pipe *p, tl_pipe_piece *part)
{
    tl_sequences *a = (tl_sequences *)p;
    const tally_window_options *o = a->window;
    int64_t from = a->at, to = tl_min(a->end, from + a->step);
    int edges = o->edges != TALLY_EDGES_VALID, left = edges && from < o->before;
    int right = edges && a->n - to < o->after;
    if (from >= a->end) return 0;

    const int64_t low = left ? 0 : from - o->before,
                  high = right ? a->n : tl_min(a->n, to + o->after);
    part->in = (tl_rect){0, a->width, low, high};
    part->out = (tl_rect){0, a->width, from - a->first, to - a->first};
    part->produced =
        left || right ? (tl_rect){0, a->width, low - a->first, high - a->first} : part->out;
    a->at = to;

    return 1;
}

static tally_status work_window(tl_pipe *p, const tl_pipe_piece *part, const tally_view *in,
                                const tally_view *out, int slot)
{
    tl_sequences *a = (tl_sequences *)p;
    tally_window_options o = *a->window;
    if (part->produced.i1 - part->produced.i0 != in->n) o.edges = TALLY_EDGES_VALID;
    if (o.before + o.after == 0) o.edges = TALLY_EDGES_VALID; /* the same windows */
    const tl_call call = {
        .verb = TL_WINDOW, .plan = a->plan, .count = a->count, .in = in, .out = out, .window = &o};
    return tl_gpu_whole(p->d, &call, &(tl_piece){.end = TL_PIPE_WAITS});
}

tally_status tl_sequences_window(tl_sequences *a, tl_gpu_device *d, const tally_view *in,
                                 const tally_view *out)
{
    const tally_window_options *o = a->window;
    const tl_scalar *op = a->plan->op;
    int edges = o->edges != TALLY_EDGES_VALID;
    tl_pipe *p = &a->pipe;

    p->next = next_window;
    p->work = work_window;
    a->n = in->n;
    a->at = a->first = edges ? 0 : o->before;
    a->end = edges ? a->n : a->n - o->after;
    const int64_t results = tl_max(a->end - a->first, 0);
    assert(o->before >= 0 && o->after >= 0 && !in->offsets);
    if (!results) return TALLY_OK;

    /* A piece has at least as many results as the overlap has elements; otherwise most copies and
     * kernels would be wasted. */
    const int64_t overlap = tl_min(o->before + o->after, a->n);
    a->step = sequences_step(a->plan, a->budget, a->width);
    if (!a->shrunk) a->step = tl_max(a->step, overlap);
    a->step = tl_min(a->step, results);
    tl_pipe_open(p, d, in, op->elem_bytes, out, op->result_bytes);
    /* kept results are one copy */
    if (a->width > 1) p->out.across = 1, p->out.straight = 0;
    if (p->out.here && edges && a->step < results)
        return tl_unsupported(
            d->ctx, "out->data is memory of the device and the input does not fit beside it: "
                    "use edges valid, or results in host memory");

    p->in.most = p->out.most = a->width * tl_min(a->step + overlap, a->n);

    return tl_pipe_run(p);
}

/* ---- streams and fragments ---- */

enum {
    SMALL_LOG = 14,
    SMALL = 1 << SMALL_LOG,
    NODES_BYTES = TL_RING * (TL_MAX_NODES + 1) * sizeof(tl_state) /* of tl_sequences_fold */
};

/* The first element of a push that begins at a multiple of SMALL, and the one after the last. */
typedef struct {
    int64_t from, end;
} middle;

/* Gives n elements of a push to the processors. x, y: where these and their results are. */
static tally_status push_on_processors(tl_gpu_device *d, const tl_push *p, int64_t n, void *x,
                                       void *y)
{
    tl_device *const cpu = tl_gpu_processors(d);
    tl_push part = *p;
    part.x = x, part.out = y, part.n = n;
    d->base.on_processors += n;
    return n ? cpu->calls->push(cpu, d->ctx, &part) : TALLY_OK;
}

static void *x_at(const tl_push *p, int64_t at)
{
    return tl_offset((void *)(uintptr_t)p->x, at * p->plan->op->elem_bytes);
}

static void *y_at(const tl_push *p, int64_t at)
{
    return p->verb == TL_SCAN ? tl_offset(p->out, at * p->plan->op->result_bytes) : NULL;
}

/* Folds or scans the middle of a push by pieces, from *done on. nodes_known: NULL, or the nodes of
 * elements in device memory. */
static tally_status push_pieces(tl_gpu_device *d, const tl_push *p, tl_counter *done, middle m,
                                const tl_counter *nodes_known)
{
    const tl_scalar *const op = p->plan->op;
    const tl_scan *const s = p->verb == TL_SCAN ? p->scan : NULL;
    const tl_counter before = *done;
    const int here = tl_gpu_holds(d, p->x);
    const tally_view in = tally_flat(x_at(p, m.from), op->dtype, m.end - m.from),
                     to = tally_flat(y_at(p, m.from), op->out, s ? in.n : 0);

    for (int64_t budget = here ? INT64_MAX : tl_pipe_budget(d);;) {
        *done = before;
        tl_sequences a = {.plan = p->plan,
                          .budget = budget,
                          .width = 1,
                          .counters = done,
                          .base = before.end,
                          .keep = 1,
                          .scan = s != NULL,
                          .exclusive = s && s->exclusive,
                          .init = s && s->seeded ? &s->init : NULL,
                          .nodes_known = nodes_known,
                          .known_end = nodes_known ? nodes_known->start : 0};
        for (; nodes_known && a.known_end < a.base; a.known_next++)
            a.known_end += (int64_t)1 << nodes_known->level[a.known_next];
        const tally_status status = tl_sequences_fold(&a, d, &in, &to);
        if (!status || here || !tl_pipe_again(status, &a.pipe, &budget)) return status;
    }
}

/* Issues the copy of elements from .. end - 1 of a push to page-locked memory. */
static tally_status issue_copy(tl_gpu_device *d, const tl_push *p, int64_t from, int64_t end,
                               char *to)
{
    tl_array a;
    if (from == end) return TALLY_OK;
    if (!tl_gpu_find(d, x_at(p, from), &a))
        return tl_invalid(d->ctx, "x is memory of %s, and %ld bytes after it are not", d->name,
                          from * p->plan->op->elem_bytes);
    const size_t bytes = (size_t)((end - from) * p->plan->op->elem_bytes);
    return tl_gpu_transfer(d,
                           &(tl_copy){TL_RUN, TL_TO_HOST, &a.memory, (size_t)a.byte, to, bytes, 0});
}

/* Gives copied elements from .. end - 1 to the processors, and writes the results of a scan. */
static tally_status push_copy(tl_gpu_device *d, const tl_push *p, int64_t from, int64_t end,
                              char *copy)
{
    char *const results = copy + (end - from) * p->plan->op->elem_bytes;
    const tally_status status = push_on_processors(d, p, end - from, copy, results);
    if (status || p->verb != TL_SCAN || from == end) return status;
    return tl_gpu_put(d, y_at(p, from), results,
                      (size_t)((end - from) * p->plan->op->result_bytes));
}

/* Device memory. Without known nodes, a scan reads the elements twice, so that it does not wait for
 * the nodes of each piece. */
static tally_status push_here(tl_gpu_device *d, const tl_push *p, tl_counter *done, middle m)
{
    const tl_counter *const nodes_known = p->verb == TL_SCAN ? p->scan->nodes_known : NULL;
    const int64_t n = p->n, each = p->plan->op->elem_bytes + p->plan->op->result_bytes;
    const int folds = !nodes_known && m.from < m.end, scans = p->verb == TL_SCAN && m.from < n;
    tl_counter nodes; /* from m.from on */
    tl_push fold = *p;
    tally_status status =
        tl_stage_reserve(d, &d->small, NODES_BYTES + (size_t)((n - m.end + m.from) * each));
    char *const head = (char *)(uintptr_t)d->small.address + NODES_BYTES;
    char *const tail = head + m.from * each;

    fold.verb = TL_REDUCE, fold.counter = &nodes;
    tl_counter_init(&nodes, done->end + m.from);
    if (!status) status = issue_copy(d, p, 0, m.from, head);
    if (!status && !nodes_known) status = issue_copy(d, p, m.end, n, tail);
    if (!status && folds) status = push_pieces(d, &fold, &nodes, m, NULL);
    if (!folds || status) status = tl_gpu_wait(d, status); /* the pieces wait for the copies too */
    assert(status || (uintptr_t)head == d->small.address + NODES_BYTES); /* none was larger */

    if (!status) status = push_copy(d, p, 0, m.from, head);
    if (!status && !nodes_known) status = push_copy(d, &fold, m.end, n, tail);
    if (!status && p->verb == TL_REDUCE) tl_counter_append(done, p->plan->op, &nodes);
    if (!status && scans)
        status = push_pieces(d, p, done, (middle){m.from, n}, nodes_known ? nodes_known : &nodes);
    return scans || p->verb == TL_REDUCE ? status : tl_gpu_wait(d, status);
}

static tally_status push(tl_gpu_device *d, const tl_push *p)
{
    tl_counter *const done = p->verb == TL_SCAN ? &p->scan->done : p->counter;
    const tl_counter start = *done;
    const int here = tl_gpu_holds(d, p->x);
    middle m = {-start.end & (SMALL - 1), p->n - ((start.end + p->n) & (SMALL - 1))};
    if (m.from >= m.end) m.from = m.end = p->n;
    tally_status status = TALLY_OK;

    if (p->verb == TL_SCAN && here != tl_gpu_holds(d, p->out))
        return tl_unsupported(d->ctx, "%s is memory of %s: x and out must both be, or neither",
                              here ? "x" : "out", d->name);
    if (!here && p->n * p->plan->op->elem_bytes < d->base.least_bytes) m.from = m.end = p->n;
    if (here) {
        status = push_here(d, p, done, m);
    } else {
        status = push_on_processors(d, p, m.from, x_at(p, 0), y_at(p, 0));
        if (!status && m.from < m.end) status = push_pieces(d, p, done, m, NULL);
        if (!status)
            status = push_on_processors(d, p, p->n - m.end, x_at(p, m.end), y_at(p, m.end));
    }
    if (status) *done = start;
    return status;
}

tally_status tl_gpu_push(tl_device *base, tally *ctx, const tl_push *p)
{
    tl_gpu_device *d = tl_gpu_of(base);
    TL_GPU_CALL(d, ctx, "streams and fragments wait: push before the capture");
    return push(d, p);
}

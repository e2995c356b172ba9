/* SPDX-License-Identifier: MIT
 * Pieces along sequences that are too long for the device. They are cut at multiples of a power of
 * two, so a full piece is a node of the order:
 *
 *   reduce   the nodes of a piece come back as states, and the host pushes them to the binary
 *            counter of each sequence
 *   scan     the same; and the state before a piece, S(b) of that counter, is sent with the scan
 *            of the piece
 *   window   pieces overlap by the window's length less one. A piece inside the sequence has
 *            "valid" windows; a piece at an edge has that edge's windows, and results that
 *            belong to other pieces are dropped */
#include "pieces.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int64_t tl_sequences_step(const tl_plan *plan, int64_t budget, int64_t width)
{
    int64_t bytes = plan->op->elem_bytes > plan->op->result_bytes ? plan->op->elem_bytes
                                                                  : plan->op->result_bytes;
    int64_t fit = budget / (bytes * width);
    assert(width > 0);
    return fit < 1 ? 1 : (int64_t)1 << tl_top_level(fit);
}

/* ---- reduce and scan ---- */

/* The most nodes of a piece: one if it is full, else one for each set bit of its length. */
static int nodes_most(const tl_sequences *a) { return tl_top_level(a->step) + 1; }

static char *nodes_of(const tl_sequences *a, int slot)
{
    return (char *)(uintptr_t)a->pipe.d->small.address + (size_t)slot * a->nodes_bytes;
}

static char *before_of(const tl_sequences *a, int slot)
{
    return nodes_of(a, TL_RING) + (size_t)(slot * a->width * a->plan->op->state_bytes);
}

tally_status tl_sequences_nodes(tl_gpu_device *d, const tl_plan *plan, const tally_view *in,
                                int64_t at, tl_nodes *nodes)
{
    const int64_t each = in->rows * plan->op->state_bytes, end = at + in->n;
    tally_status status = TALLY_OK;

    nodes->count = 0;
    for (int64_t i = at; !status && i < end;) {
        assert(nodes->count < TL_MAX_LEVELS);
        const int level = tl_slab_level(i, end);
        const uint64_t to_address = nodes->states.address + (uint64_t)(nodes->count * each);
        tally_view x = tl_view_part(in, i - at, (int64_t)1 << level, plan->op->elem_bytes);
        tally_view to = tally_rows((void *)(uintptr_t)to_address, plan->op->out, in->rows, 1);
        const tl_piece piece = {.end = TL_PIPE_WAITS, .gives = TL_STATES, .origin = i};
        const tl_call call = {.verb = TL_REDUCE, .plan = plan, .in = &x, .out = &to};
        status = tl_gpu_whole(d, &call, &piece);
        nodes->level[nodes->count++] = (unsigned char)level;
        i += (int64_t)1 << level;
    }

    return status;
}

/* Issues the work that brings the nodes of a piece to the host. */
static tally_status request_nodes(tl_sequences *a, const tally_view *in, int64_t at, int slot)
{
    tl_gpu_device *d = a->pipe.d;
    tl_nodes *const nodes = &a->nodes[slot];

    tally_status status = tl_sequences_nodes(d, a->plan, in, a->base + at, nodes);
    if (!status)
        status = tl_gpu_transfer(
            d, &(tl_copy){TL_RUN, TL_TO_HOST, &nodes->states, 0, nodes_of(a, slot),
                          (size_t)(nodes->count * a->width * a->plan->op->state_bytes), 0});
    if (!status) status = tl_mark(d, TL_RUN, TL_NODES + slot);
    a->end_of[slot] = a->base + at + in->n;
    return status;
}

/* True if S at the end of a piece combines nodes of the pieces before it, which happens after an
 * even number of pieces. The kernels of the piece cannot know these nodes; this affects only the
 * last result of an inclusive scan. */
static int carries(const tl_sequences *a, int64_t end)
{
    return a->scan && !a->exclusive && end % a->step == 0 && end / a->step % 2 == 0;
}

/* Computes that last result and keeps it for put_ends. */
static void keep_end(tl_sequences *a, int64_t end)
{
    const tl_scalar *op = a->plan->op;
    char *to = a->ends + a->end_count++ * a->width * op->result_bytes;
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
    const int64_t bytes = a->plan->op->result_bytes, pair = 2 * a->step,
                  run = out->row_stride == 1 ? a->width : 1;
    tally_status status = TALLY_OK;
    const char *from = a->ends;

    for (int64_t k = 0, end = (a->base + pair) / pair * pair; k < a->end_count; k++, end += pair)
        for (int64_t s = 0; !status && s < a->width; s += run, from += run * bytes) {
            char *to = tl_offset(out->data,
                                 ((end - a->base - 1) * out->stride + s * out->row_stride) * bytes);
            status = tl_gpu_put(d, to, from, (size_t)(run * bytes));
        }

    return a->pipe.out.here ? tl_gpu_wait(d, status) : status;
}

/* Waits for the nodes of a slot and pushes them to the counters. */
static tally_status push_nodes(tl_sequences *a, int slot)
{
    const tl_scalar *op = a->plan->op;
    const int count = a->nodes[slot].count;

    assert(slot >= 0 && slot < TL_RING && count <= nodes_most(a));
    if (!count) return TALLY_OK;

    tally_status status = tl_reached(a->pipe.d, TL_NODES + slot);
    if (status) return status;

    const char *from = nodes_of(a, slot);
    for (int k = 0; k < count; k++)
        for (int64_t s = 0; s < a->width; s++, from += op->state_bytes) {
            tl_state node = {{0}};
            memcpy(&node, from, op->state_bytes);
            tl_counter_push(&a->counters[s], op, a->nodes[slot].level[k], &node);
        }

    a->nodes[slot].count = 0;
    if (carries(a, a->end_of[slot])) keep_end(a, a->end_of[slot]);
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

static int next_fold(tl_pipe *p, tl_part *part)
{
    tl_sequences *a = (tl_sequences *)p;
    int64_t end = a->n - a->at < a->step ? a->n : a->at + a->step;
    if (a->at >= a->n) return 0;
    part->in = part->out = part->produced = (tl_rect){0, a->width, a->at, end};
    a->at = end;
    return 1;
}

/* The nodes of a piece are requested before the host waits for those of the piece before, so that
 * the device is never idle. */
static tally_status work_fold(tl_pipe *p, const tl_part *part, const tally_view *in,
                              const tally_view *out, int slot)
{
    tl_sequences *a = (tl_sequences *)p;
    const tally_scan_options o = {.exclusive = a->exclusive};
    tally_status status = TALLY_OK;

    int last = part->in.i1 == a->n;
    if (!a->scan || a->keep || !last || carries(a, a->base + a->n))
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
    a->step = tl_sequences_step(a->plan, a->budget, a->width);
    assert((a->step & (a->step - 1)) == 0 && a->base % a->step == 0 && in->rows == a->width);
    a->nodes_bytes = (size_t)nodes_most(a) * each;
    tl_pipe_open(p, d, in, op->elem_bytes, out, op->result_bytes);
    p->in.most = p->out.most = (a->step < a->n ? a->step : a->n) * a->width;
    if (!a->scan) p->out.here = 1, p->out.straight = 0; /* results are those of the counters */
    const size_t ends = (size_t)(a->n / a->step / 2 + 1) * (size_t)(a->width * op->result_bytes);
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

static int next_window(tl_pipe *p, tl_part *part)
{
    tl_sequences *a = (tl_sequences *)p;
    const tally_window_options *o = a->window;
    int64_t from = a->at, to = a->end - from < a->step ? a->end : from + a->step;
    int edges = o->edges != TALLY_EDGES_VALID, left = edges && a->at_start && from < o->before;
    int right = edges && a->at_end && a->n - to < o->after;
    if (from >= a->end) return 0;

    int64_t low = left ? 0 : from - o->before, high = right ? a->n : to + o->after;
    if (high > a->n) high = a->n;
    part->in = (tl_rect){0, a->width, low, high};
    part->out = (tl_rect){0, a->width, from - a->first, to - a->first};
    part->produced =
        left || right ? (tl_rect){0, a->width, low - a->first, high - a->first} : part->out;
    a->at = to;

    return 1;
}

static tally_status work_window(tl_pipe *p, const tl_part *part, const tally_view *in,
                                const tally_view *out, int slot)
{
    tl_sequences *a = (tl_sequences *)p;
    tally_window_options o = *a->window;
    (void)slot;
    if (part->produced.i1 - part->produced.i0 != in->n) o.edges = TALLY_EDGES_VALID;
    if (o.before + o.after == 0) o.edges = TALLY_EDGES_VALID; /* the same windows */
    const tl_call call = {
        .verb = TL_WINDOW, .plan = a->plan, .count = a->count, .in = in, .out = out, .window = &o};
    return tl_gpu_whole(p->d, &call, &(tl_piece){.end = TL_PIPE_WAITS});
}

tally_status tl_sequences_window(tl_sequences *a, tl_gpu_device *d, const tally_view *in,
                                 const tally_view *out, int64_t *produced)
{
    const tally_window_options *o = a->window;
    const tl_scalar *op = a->plan->op;
    int edges = o->edges != TALLY_EDGES_VALID;
    tl_pipe *p = &a->pipe;

    p->next = next_window;
    p->work = work_window;
    a->n = in->n;
    a->at = a->first = edges && a->at_start ? 0 : o->before;
    a->end = edges && a->at_end ? a->n : a->n - o->after;
    *produced = a->end > a->first ? a->end - a->first : 0;
    assert(o->before >= 0 && o->after >= 0 && !in->offsets);
    if (!*produced) return TALLY_OK;

    /* A piece has at least as many results as the overlap has elements; otherwise most copies and
     * kernels would be wasted. */
    const int64_t overlap = o->before + o->after < a->n ? o->before + o->after : a->n;
    a->step = tl_sequences_step(a->plan, a->budget, a->width);
    if (a->step < overlap && !a->shrunk) a->step = overlap;
    if (a->step > *produced) a->step = *produced;
    tl_pipe_open(p, d, in, op->elem_bytes, out, op->result_bytes);
    if (p->out.here && edges && a->step < *produced)
        return tl_fail(d->ctx, TALLY_UNSUPPORTED,
                       "out->data is memory of the device and the input does not fit beside it: "
                       "use edges valid, or results in host memory");

    p->in.most = p->out.most = a->width * (a->step + overlap < a->n ? a->step + overlap : a->n);

    return tl_pipe_run(p);
}

/* SPDX-License-Identifier: MIT
 * Verbs on host arrays that are large, or larger than the device. Views are cut into groups of rows
 * or segments that fit. A sequence that does not fit is cut along its elements (along.c). pieces.h
 * has the picture. */
#include "pieces.h"
#include <assert.h>
#include <stdlib.h>

enum {
    COLUMNS_LEAST = 256, /* min columns to copy as interleaved rows */
    /* max columns of a strip that is cut along its elements: each has a counter of 4 KB */
    COLUMNS_MOST = 1024,
    STEP_LEAST = 256 /* min elements of each column in a piece */
};

static int64_t host_bytes(tl_gpu_device *d, const tally_view *v, int64_t bytes)
{
    int64_t low, high;
    tl_view_extent(v, bytes, &low, &high);
    return high <= low || tl_gpu_holds(d, tl_offset(v->data, low)) ? 0 : high - low;
}

static int64_t in_host_bytes(tl_gpu_device *d, const tl_call *call)
{
    return host_bytes(d, call->in, call->plan->op->elem_bytes);
}

static int64_t out_host_bytes(tl_gpu_device *d, const tl_call *call)
{
    return host_bytes(d, call->out, call->plan->op->result_bytes);
}

static int is_wanted(tl_gpu_device *d, const tl_call *call)
{
    int64_t a, b, c, e, least = d->base.least_bytes;
    tl_view_extent(call->in, call->plan->op->elem_bytes, &a, &b);
    tl_view_extent(call->out, call->plan->op->result_bytes, &c, &e);
    if (b - a < least && e - c < least) return 0; /* the usual case */
    return in_host_bytes(d, call) >= least || out_host_bytes(d, call) >= least;
}

/* The processors join the pieces of a sequence, so the functions of a user's operator must be
 * compiled for them. */
static int is_possible(tl_gpu_device *d, const tl_call *call)
{
    tl_plan host;
    const tl_plan *p = call->plan;
    return call->verb == TL_WINDOW || !p->op->user ||
           !tl_gpu_plan(&d->base, d->ctx, p->op, p->par, TL_FOR_PROCESSORS, &host);
}

typedef struct {
    tl_pipe pipe;
    tl_gpu_device *d;
    const tl_call *of;
    int64_t budget;
    int shrunk;        /* the budget was halved: memory is scarce */
    int64_t row, stop; /* rows of this run: the next one, the end */
    int64_t group;     /* rows of a group, if there are no offsets */
} call;

static int64_t length_of(const call *c, int64_t r)
{
    return c->of->in->offsets ? c->of->in->offsets[r + 1] - c->of->in->offsets[r] : c->of->in->n;
}

/* The most bytes that sequence r takes on the device, for its elements or for its results. */
static int64_t cost_of(const call *c, int64_t r)
{
    int64_t n = length_of(c, r), in = n * c->of->plan->op->elem_bytes;
    int64_t out = (c->of->verb == TL_REDUCE ? 1
                   : c->of->out->offsets    ? n
                                            : c->of->out->n) *
                  c->of->plan->op->result_bytes;
    return tl_max(in, out) + (c->of->in->offsets ? (int64_t)sizeof(int64_t) : 0);
}

/* ---- groups of rows ---- */

/* Returns the end of the group of rows that begins at r. */
static int64_t group_end(const call *c, int64_t r)
{
    if (!c->of->in->offsets) return r + tl_min(c->stop - r, c->group);
    int64_t bytes = cost_of(c, r);
    for (r++; r < c->stop; r++) {
        bytes += cost_of(c, r);
        if (bytes > c->budget) break;
    }
    return r;
}

static int next_rows(tl_pipe *p, tl_pipe_piece *part)
{
    call *c = (call *)p;
    if (c->row >= c->stop) return 0;
    int64_t end = group_end(c, c->row);
    assert(end > c->row && end <= c->stop);
    part->in = (tl_rect){c->row, end, 0, c->of->in->n};
    part->out = part->produced = (tl_rect){c->row, end, 0, c->of->out->n};
    c->row = end;
    return 1;
}

static tally_status work_rows(tl_pipe *p, const tl_pipe_piece *part, const tally_view *in,
                              const tally_view *out, int slot)
{
    call *c = (call *)p;
    tl_call rows = *c->of;
    rows.in = in, rows.out = out;
    return tl_gpu_whole(c->d, &rows, &(tl_piece){.end = TL_PIPE_WAITS});
}

/* Does rows c->row to stop - 1, each of which fits. */
static tally_status run_rows(call *c, int64_t stop)
{
    tl_pipe *p = &c->pipe;
    const tl_scalar *op = c->of->plan->op;
    int64_t cost = c->of->in->offsets ? 1 : cost_of(c, c->row);

    c->stop = stop;
    c->group = cost < c->budget ? c->budget / tl_max(cost, 1) : 1;
    p->next = next_rows;
    p->work = work_rows;
    tl_pipe_open(p, c->d, c->of->in, op->elem_bytes, c->of->out, op->result_bytes);

    if (c->of->in->offsets) { /* max elements and max rows of a group */
        int64_t total = c->of->in->offsets[stop] - c->of->in->offsets[c->row];
        int64_t most = c->budget / op->elem_bytes, rows = c->budget / op->result_bytes;
        p->in.most = tl_min(total, most);
        p->out.most = c->of->verb != TL_REDUCE ? p->in.most : tl_min(stop - c->row, rows);
    } else {
        const int64_t group = tl_min(stop - c->row, c->group);
        p->in.most = group * c->of->in->n;
        p->out.most = group * c->of->out->n;
    }

    return tl_pipe_run(p);
}

/* ---- sequences cut along their elements ---- */

/* Writes the results of `width` counters to rows r, r + 1, ... of the output of a reduce. */
static tally_status put_results(call *c, const tl_counter *counters, int64_t width, int64_t r)
{
    const tl_scalar *op = c->of->plan->op;
    size_t bytes = (size_t)(width * op->result_bytes);
    TL_FREED char *const results = malloc(bytes);
    if (!results) return tl_no_memory(c->d->ctx, bytes, "results");

    for (int64_t s = 0; s < width; s++)
        tl_counter_lower(&counters[s], c->of->plan, results + s * op->result_bytes);
    return tl_gpu_wait(
        c->d, tl_gpu_put(c->d, tl_offset(c->of->out->data, r * op->result_bytes), results, bytes));
}

/* Does `width` neighbouring sequences from row r on, which are too long for the device. */
static tally_status run_sequences(call *c, int64_t r, int64_t width)
{
    const tl_scalar *op = c->of->plan->op;
    tl_sequences a = {.plan = c->of->plan,
                      .count = c->of->count,
                      .budget = c->budget,
                      .width = width,
                      .shrunk = c->shrunk,
                      .window = c->of->window,
                      .scan = c->of->verb == TL_SCAN};
    tl_state init;
    tally_view in = *c->of->in, out = *c->of->out;

    in.data = tl_view_row(c->of->in, r, op->elem_bytes, &in.n);
    out.data = tl_view_row(c->of->out, r, op->result_bytes, &out.n);
    in.offsets = out.offsets = NULL;
    in.rows = out.rows = width;
    tally_status status = TALLY_OK;

    if (c->of->verb == TL_WINDOW) {
        status = tl_sequences_window(&a, c->d, &in, &out);
    } else {
        size_t bytes = (size_t)width * sizeof *a.counters;
        a.counters = malloc(bytes);
        if (!a.counters) status = tl_no_memory(c->d->ctx, bytes, "the counters of sequences");
        for (int64_t s = 0; !status && s < width; s++) tl_counter_init(&a.counters[s], 0);

        if (c->of->scan && c->of->scan->init) {
            op->seed(&init, c->of->scan->init, c->of->plan->par);
            a.init = &init;
        }

        a.exclusive = c->of->scan && c->of->scan->exclusive;
        if (!status) status = tl_sequences_fold(&a, c->d, &in, &out);
        if (!status && c->of->verb == TL_REDUCE) status = put_results(c, a.counters, width, r);
        free(a.counters);
    }

    c->pipe = a.pipe; /* for tl_pipe_again */
    return status;
}

/* How many neighbouring sequences are cut together: as many as leave STEP_LEAST elements of each in
 * a piece. */
static int64_t strip_width(const call *c, int64_t rows)
{
    const tl_scalar *op = c->of->plan->op;
    int64_t bytes = tl_max(op->elem_bytes, op->result_bytes), least = STEP_LEAST;
    if (c->of->window && c->of->window->before + c->of->window->after > least / 2)
        least = 2 * (c->of->window->before + c->of->window->after);
    return tl_min(rows, tl_clamp(c->budget / bytes / least, 1, COLUMNS_MOST));
}

/* True if row r fits, with enough neighbouring columns if it is a column. */
static int fits(const call *c, int64_t r, int across)
{
    return cost_of(c, r) <= c->budget / (across ? COLUMNS_LEAST : 1);
}

static tally_status run_call(call *c)
{
    const int across = tl_is_across(c->of->in);
    const int64_t rows = c->of->in->rows;
    tally_status status = TALLY_OK;

    c->budget = tl_pipe_budget(c->d);
    while (!status && c->row < rows) {
        int64_t from = c->row, end = from + 1;
        if (fits(c, from, across)) {
            end = c->of->in->offsets ? end : rows;
            while (end < rows && fits(c, end, 0)) end++;
            status = run_rows(c, end);
        } else {
            if (across) end = from + strip_width(c, rows - from);
            status = run_sequences(c, from, end - from);
        }

        c->row = end;
        if (status && tl_pipe_again(status, &c->pipe, &c->budget)) {
            c->row = from;
            c->shrunk = 1;
            status = TALLY_OK;
        }
    }

    return status;
}

tally_status tl_pieces_run(tl_gpu_device *d, const tl_call *of)
{
    call c = {.d = d, .of = of};
    int pieces = !tl_is_captured(d) && is_wanted(d, of) && is_possible(d, of);
    const tally_status status = pieces ? TALLY_OK : tl_gpu_whole(d, of, NULL);
    /* pieces may help if some of the arrays are on the host */
    if (status == TALLY_NO_MEMORY)
        pieces = (in_host_bytes(d, of) || out_host_bytes(d, of)) && is_possible(d, of);
    return pieces ? run_call(&c) : status;
}

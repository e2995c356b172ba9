/* SPDX-License-Identifier: MIT
 * Every call on a GPU enters here. Its views go to the kernels whole (segments.c); or in pieces
 * (pieces.c), if they are large host arrays or do not fit the device. */
#include "exact/exact.h"
#include "gpu/work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

/* The view with its sequences reversed: the same elements with the opposite stride. */
static tally_view reversed(const tally_view *v, int64_t bytes)
{
    tally_view r = *v;
    assert(!v->offsets);
    r.data = tl_offset(v->data, (v->n > 0 ? v->n - 1 : 0) * v->stride * bytes);
    r.stride = -v->stride;
    return r;
}

static tally_status run_views(tl_gpu_device *d, const tl_call *call, int *done)
{
    const tl_scalar *const op = call->plan->op;
    tl_call c = *call;
    tally_view in, out;

    *done = 1;
    if (tl_is_reversed(call)) {
        in = reversed(c.in, op->elem_bytes), c.in = &in;
        out = reversed(c.out, op->result_bytes), c.out = &out;
    }
    return tl_pieces_run(d, &c);
}

/* Reductions of exact sums. Without memory for them, the processors may do them instead. */
static tally_status run_exact(tl_gpu_device *d, const tl_call *c, int *done)
{
    const tl_exact_plan plan = {c->plan->op, c->plan->par.value, 0};
    *done = 0;
    if (!tl_gpu_exact_takes(d, plan.op, 0, c->in)) return TALLY_OK;
    const tally_status status = tl_gpu_exact_whole(d, &plan, c->in, c->out);
    *done =
        status != TALLY_NO_MEMORY || tl_gpu_holds(d, c->in->data) || tl_gpu_holds(d, c->out->data);
    return *done ? status : TALLY_OK;
}

/* The start-up probe's call: the law by an operator's text alone (gpu/kernel/law.cl). */
static tally_status run_law(tl_gpu_device *d, const tl_call *c, int *done)
{
    enum { RESULTS_OF_BLOCK = LAW_THREADS * LAW_EACH };
    const tl_scalar *const op = c->plan->op;
    const int64_t n = c->in->n;
    const size_t bytes = (size_t)n * op->result_bytes;
    TL_POOL_BLOCK(in, d);
    TL_POOL_BLOCK(results, d);
    tl_launch l;

    assert(n > 0);
    *done = 1;
    TL_TRY(tl_gpu_program(d, op, "law", &l));
    TL_TRY(tl_gpu_take(d, bytes, &results.m));
    tally_status status = tl_gpu_upload(d, c->in->data, (size_t)n * op->elem_bytes, &in.m);
    if (!status)
        status = TL_GO(&l, law, (n + RESULTS_OF_BLOCK - 1) / RESULTS_OF_BLOCK, .x = in.m.handle,
                       .n = n, .parameter = c->plan->par.value, .out = results.m.handle);

    if (!status) status = tl_gpu_read(d, c->out->data, &results.m, 0, bytes);
    return status ? tl_gpu_wait(d, status) : status; /* so that no kernel still reads the input */
}

tally_status tl_gpu_text(tl_device *base, tally *ctx, const tl_plan *plan, const char *shape,
                         char **text, size_t *length)
{
    const tl_text of = {plan->op, shape, tl_gpu_of(base)->gpu->calls->prelude, NULL, TL_ONE_INPUT};
    return tl_program_text(ctx, &of, text, length);
}

/* ---- views with validity, and two inputs: either the kernels read the arrays in place, or the
 * elements are prepared on the device and then are views like any other ---- */

/* Windows with a minimum count: their elements must be counted. */
static tally_status counted_windows(tl_gpu_device *d, const tl_prepared *p, const tl_call *c)
{
    tl_batch b, counts = {0};
    tl_call call = *c;

    call.count = &p->count_plan;
    tally_status status = tl_batch_open(d, &p->plan, &p->view, &b);
    if (!status) status = tl_batch_open(d, &p->count_plan, &p->count_view, &counts);
    b.counts_of = &counts;
    status = tl_gpu_batch(d, &call, &b, status);
    tl_batch_close(d, &counts);
    tl_batch_close(d, &b);

    return status;
}

static tally_status run_prepared(tl_gpu_device *d, const tl_prepared *p, const tl_call *c)
{
    if (tl_exact_form_of(c->form->op))
        return tl_gpu_exact_whole(
            d, &(tl_exact_plan){c->form->op, c->form->par.value, c->form->kind != TL_FORM_PLAIN},
            &p->view, c->out);
    if (p->counted) return counted_windows(d, p, c);
    tl_call call = *c;
    call.plan = call.count = &p->plan;
    call.in = &p->view;
    return run_views(d, &call, &(int){0});
}

/* A call whose kernels read the arrays in place. */
static tally_status run_in_place(tl_gpu_device *d, const tl_call *c)
{
    tl_in_place p;
    tl_batch b;
    tl_call call = *c;
    tally_status status = tl_in_place_open(d, c->form, c->in, &p, &b);

    call.count = &p.plan;
    status = tl_gpu_batch(d, &call, &b, status);
    tl_batch_close(d, &b);
    tl_in_place_close(d, &p);
    return status;
}

/* True for an exact sum that can read the arrays in place: elements have the operator's type, and
 * none is absent. */
static int exact_in_place(const tl_call *c)
{
    for (const tally_view *v = c->in; v; v = v->next)
        if (v->dtype != c->form->op->dtype || v->valid) return 0;
    return c->verb == TL_REDUCE && tl_exact_form_of(c->form->op);
}

/* True for an exact operator that the processors compute. */
static int is_left_out(const tl_gpu_device *d, const tl_call *c)
{
    return tl_exact_form_of(c->form->named) &&
           !tl_gpu_exact_takes(d, c->form->named, c->form->kind != TL_FORM_PLAIN, c->in);
}

/* True if the processors can still do the call: results have not overwritten elements. */
static int may_leave(const tl_call *c, int begun) { return !begun || c->in->data != c->out->data; }

static tally_status run_inputs(tl_gpu_device *d, const tl_call *c, int *done)
{
    const tl_form *const form = c->form;
    const int64_t *const offsets = c->in->offsets;
    tl_prepared p;
    tally_status status;

    int begun = 0;
    if (form->kind == TL_FORM_STATES || is_left_out(d, c) ||
        (offsets && offsets[0] == offsets[c->in->rows]))
        return TALLY_OK;

    if (exact_in_place(c)) {
        status =
            tl_gpu_exact_whole(d, &(tl_exact_plan){form->op, form->par.value, 0}, c->in, c->out);
    } else if (!tl_exact_form_of(form->op) && tl_in_place_takes(d, c)) {
        status = run_in_place(d, c);
        begun = 1;
    } else {
        status = tl_prepare(d, c, tl_is_counted(c), &p);
        begun = !status;
        if (!status) status = run_prepared(d, &p, c);
        /* after a failure, copies of the caller's arrays may still run */
        if (d->host) status = tl_gpu_wait(d, status);
        tl_prepared_close(d, &p);
    }

    *done = status != TALLY_NO_MEMORY || !may_leave(c, begun);
    return *done ? status : TALLY_OK;
}

typedef tally_status runner(tl_gpu_device *, const tl_call *, int *done);

static runner *runner_of(const tl_call *c)
{
    static runner *const others[TL_VERBS] = {
        [TL_LAW] = run_law, [TL_RUNS] = tl_key_runs, [TL_TAKE] = tl_gather};
    if (others[c->verb]) return others[c->verb];
    return c->unchecked     ? tl_segments_run
           : c->form        ? run_inputs
           : c->plan->exact ? run_exact
                            : run_views;
}

tally_status tl_gpu_run(tl_device *base, tally *ctx, const tl_call *call, int *done)
{
    tl_gpu_device *const d = tl_gpu_of(base);
    *done = 0;
    const int host = tl_needs_processors(call);
    /* the processors do such calls; a caller's stream may be captured, which must be refused */
    if (host && !d->handle) return TALLY_OK;
    TL_GPU_CALL(d, ctx,
                host || call->verb > TL_WINDOW ? "this call waits: make it before the capture"
                                               : NULL);
    return host ? TALLY_OK : runner_of(call)(d, call, done);
}

/* SPDX-License-Identifier: MIT
 * Verbs on views with validity, and of two inputs. Either the kernels read the arrays in place, or
 * the elements are prepared on the device and then are views like any other. If the device cannot
 * do a call, or has too little memory, *done is 0 and the caller uses the processors. */
#include "exact/exact.h"
#include "pieces.h"

/* Windows with a minimum count: their elements must be counted. */
static tally_status counted_windows(tl_gpu_device *d, tally *ctx, const tl_prepared *p,
                                    const tl_inputs_call *c)
{
    tl_batch b, counts = {0};
    tally_status status = tl_batch_open(d, ctx, &p->plan, &tl_no_piece, &p->view, &b);
    if (!status)
        status = tl_batch_open(d, ctx, &p->count_plan, &tl_no_piece, &p->count_view, &counts);
    b.counts_of = &counts;
    status = tl_gpu_window_batch(d, ctx, &b, &p->count_plan, c->out, c->window, status);
    tl_batch_close(d, &counts);
    tl_batch_close(d, &b);
    return status;
}

static tally_status run(tl_gpu_device *d, tally *ctx, const tl_prepared *p, const tl_inputs_call *c)
{
    const int reverse = c->verb == TL_SCAN && c->scan->reverse;
    const tally_view in = reverse ? tl_view_reversed(&p->view, p->plan.op->elem_bytes) : p->view,
                     out = reverse ? tl_view_reversed(c->out, p->plan.op->result_bytes) : *c->out;
    if (tl_exact_form_of(c->form->op))
        return tl_gpu_exact_whole(d, ctx, c->form->op, c->form->kind != TL_FORM_PLAIN, &in, &out);
    if (p->counted) return counted_windows(d, ctx, p, c);
    return tl_call_run(d, ctx,
                       &(tl_call){.verb = c->verb,
                                  .plan = &p->plan,
                                  .count = &p->plan,
                                  .in = &in,
                                  .out = &out,
                                  .scan = c->scan,
                                  .window = c->window});
}

/* A call whose kernels read the arrays in place. */
static tally_status in_place(tl_gpu_device *d, tally *ctx, const tl_inputs_call *c)
{
    tl_in_place p;
    tl_batch b;
    tally_status status = tl_in_place_open(d, ctx, c->form, c->in, &p, &b);
    if (c->verb == TL_REDUCE)
        status = tl_gpu_reduce_batch(d, ctx, &b, c->in, c->out, status);
    else if (c->verb == TL_SCAN)
        status = tl_gpu_scan_batch(d, ctx, &b, c->out, c->scan, status);
    else
        status = tl_gpu_window_batch(d, ctx, &b, &p.plan, c->out, c->window, status);
    tl_batch_close(d, &b);
    tl_in_place_close(d, &p);
    return status;
}

/* True for an exact sum that can read the arrays in place: elements have the operator's type, and
 * none is absent. */
static int exact_in_place(const tl_inputs_call *c)
{
    for (const tally_view *v = c->in; v; v = v->next)
        if (v->dtype != c->form->op->dtype || v->valid) return 0;
    return c->verb == TL_REDUCE && tl_exact_form_of(c->form->op);
}

/* True if the processors can still do the call: results have not overwritten elements. */
static int may_leave(const tl_inputs_call *c, int begun)
{
    return !begun || c->in->data != c->out->data;
}

tally_status tl_gpu_inputs(tl_device *base, tally *ctx, const tl_inputs_call *c, int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *calls = d->gpu->calls;
    const tl_form *const form = c->form;
    tl_prepared p;
    *done = 0;
    const int64_t *const offsets = c->in->offsets;
    if (form->kind == TL_FORM_STATES || (offsets && offsets[0] == offsets[c->in->rows]) ||
        (c->verb == TL_SCAN && offsets && c->scan->reverse))
        return TALLY_OK;
    tally_status status = calls->enter(d->gpu, ctx);
    if (status) return status;
    int begun = 0;
    if (exact_in_place(c)) {
        status = tl_gpu_exact_whole(d, ctx, form->op, 0, c->in, c->out);
    } else if (!tl_exact_form_of(form->op) && tl_in_place_takes(d, c)) {
        status = in_place(d, ctx, c);
        begun = 1;
    } else {
        status = tl_prepare(d, ctx, c, tl_is_counted(c), &p);
        begun = !status;
        if (!status) status = run(d, ctx, &p, c);
        if (d->host) { /* a failure came before the copies of the caller's arrays were waited for */
            const tally_status waited = calls->wait(d->gpu, status ? NULL : ctx);
            if (!status) status = waited;
            d->host = 0;
        }
        tl_prepared_close(d, &p);
    }
    calls->leave(d->gpu);
    *done = status != TALLY_NO_MEMORY || !may_leave(c, begun);
    return *done ? status : TALLY_OK;
}

/* SPDX-License-Identifier: MIT
 * Calls on views with validity, and of two inputs. Either the kernels read the arrays in place, or
 * the elements are prepared on the device and then are views like any other. If the device cannot
 * do a call, or has too little memory, *done is 0 and the caller uses the processors. */
#include "exact/exact.h"
#include "work.h"

/* Windows with a minimum count: their elements must be counted. */
static tally_status counted_windows(tl_gpu_device *d, tally *ctx, const tl_prepared *p,
                                    const tl_call *c)
{
    tl_batch b, counts = {0};
    tl_call call = *c;
    call.count = &p->count_plan;
    tally_status status = tl_batch_open(d, ctx, &p->plan, &tl_no_piece, &p->view, &b);
    if (!status)
        status = tl_batch_open(d, ctx, &p->count_plan, &tl_no_piece, &p->count_view, &counts);
    b.counts_of = &counts;
    status = tl_gpu_batch(d, ctx, &call, &b, status);
    tl_batch_close(d, &counts);
    tl_batch_close(d, &b);
    return status;
}

static tally_status run_prepared(tl_gpu_device *d, tally *ctx, const tl_prepared *p,
                                 const tl_call *c)
{
    if (tl_exact_form_of(c->form->op))
        return tl_gpu_exact_whole(d, ctx, c->form->op, c->form->kind != TL_FORM_PLAIN, &p->view,
                                  c->out);
    if (p->counted) return counted_windows(d, ctx, p, c);
    tl_call call = *c;
    call.plan = call.count = &p->plan;
    call.in = &p->view;
    return tl_gpu_call(d, ctx, &call);
}

/* A call whose kernels read the arrays in place. */
static tally_status run_in_place(tl_gpu_device *d, tally *ctx, const tl_call *c)
{
    tl_in_place p;
    tl_batch b;
    tl_call call = *c;
    tally_status status = tl_in_place_open(d, ctx, c->form, c->in, &p, &b);
    call.count = &p.plan;
    status = tl_gpu_batch(d, ctx, &call, &b, status);
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

/* True if the processors can still do the call: results have not overwritten elements. */
static int may_leave(const tl_call *c, int begun) { return !begun || c->in->data != c->out->data; }

tally_status tl_inputs_run(tl_gpu_device *d, tally *ctx, const tl_call *c, int *done)
{
    const tl_form *const form = c->form;
    const int64_t *const offsets = c->in->offsets;
    tl_prepared p;
    tally_status status;
    int begun = 0;
    if (form->kind == TL_FORM_STATES || (offsets && offsets[0] == offsets[c->in->rows]))
        return TALLY_OK;
    if (exact_in_place(c)) {
        status = tl_gpu_exact_whole(d, ctx, form->op, 0, c->in, c->out);
    } else if (!tl_exact_form_of(form->op) && tl_in_place_takes(d, c)) {
        status = run_in_place(d, ctx, c);
        begun = 1;
    } else {
        status = tl_prepare(d, ctx, c, tl_is_counted(c), &p);
        begun = !status;
        if (!status) status = run_prepared(d, ctx, &p, c);
        if (d->host) { /* a failure came before the copies of the caller's arrays were waited for */
            const tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : ctx);
            if (!status) status = waited;
            d->host = 0;
        }
        tl_prepared_close(d, &p);
    }
    *done = status != TALLY_NO_MEMORY || !may_leave(c, begun);
    return *done ? status : TALLY_OK;
}

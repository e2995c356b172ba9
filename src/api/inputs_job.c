/* SPDX-License-Identifier: MIT
 * Opens a call, tries it on the device, and prepares it for the processors (inputs.h). */
#include "inputs.h"
#include "context/operators.h"
#include "context/view.h"
#include <assert.h>
#include <stdlib.h>

static const char what[] = "views with validity, or of two inputs,";

/* Uses the host offsets of `in` if v has the same offsets, else copies those of v. */
static tally_status bring_offsets(tl_job *j, const tally_view *given, const char *name,
                                  tally_view *v, int64_t **copy)
{
    if (v->offsets == given->offsets && v->rows == given->rows) {
        v->offsets = j->in.offsets;
        return TALLY_OK;
    }
    return tl_host_offsets(j->ctx, name, v, copy);
}

void tl_job_normal(tl_job *j)
{
    tl_inputs_normal(&j->in);
    if (j->in.next) tl_inputs_normal(&j->next);
}

tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_call *call, int here)
{
    assert(call->in);
    const tl_plan *const named = call->plan;
    const tally_view *const in = call->in, *const out = call->out;
    *j = (tl_job){.ctx = ctx, .here = here, .copies = {.ctx = ctx}};
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");

    j->in = *in;
    if (out) j->out = *out;
    if (in->next) j->next = *in->next, j->in.next = &j->next;
    tally_status status = tl_host_offsets(ctx, "in", &j->in, &j->offsets[0]);
    if (!status && in->next) status = bring_offsets(j, in, "in->next", &j->next, &j->offsets[1]);
    if (!status && out) status = bring_offsets(j, in, "out", &j->out, &j->offsets[2]);
    if (!status)
        status = named ? tl_form_fits(ctx, op, named->op, &j->in, "in")
                       : tl_form_of(ctx, op, &j->in, &j->form);
    if (named) tl_form_begin(&j->form, named->op, named->par, tl_has_absent(in));
    for (const tally_view *v = &j->in; v && !status; v = v->next)
        status = tl_input_check(ctx, v, v == &j->in ? "in" : "in->next");
    if (status) return status;

    status = ctx->device->calls->plan(ctx->device, ctx, j->form.op, j->form.par, TL_FOR_PROCESSORS,
                                      &j->plan);

    /* whether a user's operator has a blank is known now, after it was compiled */
    if (!status && j->form.kind == TL_FORM_STATES && j->form.op->blank) {
        j->form.kind = TL_FORM_BLANK;
        j->form.op->blank(&j->form.fill);
    }

    const tl_scalar *count;
    tl_par none;
    if (!status) status = tl_resolve(ctx, "count", TALLY_F32, &count, &none);
    if (!status)
        status =
            ctx->device->calls->plan(ctx->device, ctx, count, none, TL_FOR_PROCESSORS, &j->count);

    return status;
}

void tl_job_close(tl_job *j)
{
    free(j->gathered.memory);
    free(j->counts.memory);
    free(j->results);
    for (int k = 0; k < 3; k++) free(j->offsets[k]);
    tl_host_close(&j->copies);
}

/* ---- the device, or the processors ---- */

tally_status tl_job_to_host(tl_job *j, tally_view *out)
{
    assert(j->plan.op);
    const int64_t elements =
        j->in.offsets ? j->in.offsets[j->in.rows] - j->in.offsets[0] : j->in.rows * j->in.n;
    if (j->here) return TALLY_OK;
    tally_status status = tl_on_processors(j->ctx, NULL, "in", what, elements);
    if (!status) status = tl_inputs_bring(&j->copies, &j->in, &j->next);
    return status ? status : tl_host_view(&j->copies, out, j->form.op->result_bytes, 1);
}

tally_status tl_job_on_device(tl_job *j, const tl_call *verb, int *done)
{
    tl_plan count;
    tl_call call = *verb;
    call.plan = &j->plan, call.count = &count, call.in = &j->in, call.form = &j->form;
    *done = 0;
    tl_job_normal(j);
    if (j->here) return TALLY_OK;
    tally_status status = tl_plan_of(j->ctx, "sum", TALLY_U8, &count);
    return status ? status : j->ctx->device->calls->run(j->ctx->device, j->ctx, &call, done);
}

tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse)
{
    const int states = j->form.kind == TL_FORM_STATES;
    tl_job_normal(j);
    if (!states && tl_gather_reads(&j->in, out, reverse)) {
        tl_form late;
        if (j->in.valid && tl_form_late(&j->form, &late)) {
            tl_device *const device = j->ctx->device;
            const tally_status status =
                device->calls->plan(device, j->ctx, late.op, late.par, TL_FOR_PROCESSORS, &j->plan);
            if (status) return status;
            j->form = late;
        }

        if (!j->plan.exact) tl_gather_count(&j->counting, &j->form, &j->in, &j->count);
        tl_gather_direct(&j->gather, &j->form, &j->in, &j->plan);
        j->work = j->in;
        j->work.next = NULL;
        return TALLY_OK;
    }

    tally_status status =
        tl_gather_dense(j->ctx, &j->form, &j->in, &j->plan, reverse, &j->gathered);
    if (!status && !j->plan.exact)
        status = tl_gather_numbers(j->ctx, &j->form, &j->in, &j->plan, reverse, &j->counts);
    if (status) return status;

    j->work = j->gathered.view;
    if (j->form.op->inputs == 2) {
        j->work_next = j->gathered.second;
        j->work.next = &j->work_next;
    }

    if (states) {
        if (j->work.next)
            j->plan.par.second = (int64_t)((uintptr_t)j->work_next.data - (uintptr_t)j->work.data);
    } else {
        tl_form ready = j->form;
        ready.kind = TL_FORM_PLAIN;
        if (!j->plan.exact) tl_gather_counted(&j->counting, &j->gathered, &j->counts, &j->count);
        tl_gather_direct(&j->gather, &ready, &j->work, &j->plan);
    }

    j->work.next = NULL;
    return TALLY_OK;
}

const float *tl_job_there(const tl_job *j)
{
    const int64_t first = j->in.offsets ? j->in.offsets[0] : 0;
    return (const float *)(uintptr_t)tl_offset(j->counts.view.data, first * (int64_t)sizeof(float));
}

/* SPDX-License-Identifier: MIT
 * Views with validity, or pairs of views (inputs.h): their checks, their host copies, and one call
 * of a verb on them: it is opened, tried on the device, and prepared for the processors. */
#include "inputs.h"
#include "context/device.h"
#include "context/operators.h"
#include "context/view.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- views ---- */

/* Both plans are of the processors. `count`, on f32, counts the elements that the other plan folds
 * (tl_prepare_inputs). */
tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states, tl_feed *feed)
{
    tl_feed_begin(feed, plan->op, plan->par, absent, by_states);
    const tally_status status = tl_plan_on_host(ctx, feed->form.op, feed->form.par, &feed->plan);
    return status ? status : tl_plan_of_host(ctx, "count", TALLY_F32, &feed->count);
}

tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name)
{
    int64_t low, high, first;
    if (!v->valid) return TALLY_OK;
    tl_view_extent(v, 1, &low, &high);
    if (__builtin_add_overflow(v->valid_offset, low, &first) || first < 0)
        return tl_invalid(ctx, "%s->valid_offset is %ld: the bit of an element would be number %ld",
                          name, v->valid_offset, first);
    if (__builtin_add_overflow(v->valid_offset, high, &first))
        return tl_invalid(ctx, "%s->valid_offset is %ld: the bits would be more than 2^63", name,
                          v->valid_offset);

    return TALLY_OK;
}

/* Checks one view, except whether its memory is host memory. */
static tally_status check_one(tally *ctx, const tally_view *given, const char *name)
{
    tally_view plain = *given;
    plain.valid = NULL;
    plain.next = NULL;
    tally_status status = tl_view_check(ctx, &plain, name, tl_element_bytes(given));
    return status ? status : tl_bits_check(ctx, given, name);
}

tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next)
{
    char second[40];
    *in = *given;
    in->next = NULL;
    tally_status status = check_one(ctx, given, name);
    if (status || !given->next) return status;
    *next = *given->next;
    in->next = next;
    snprintf(second, sizeof second, "%s->next", name);
    return check_one(ctx, given->next, second);
}

tally_status tl_inputs_bring(tl_host_copies *copies, tally_view *in, tally_view *next)
{
    assert(!in->next || in->next == next);
    tally_status status = tl_host_view(copies, in, tl_element_bytes(in), 0);
    if (status || !in->next) return status;
    return tl_host_view(copies, next, tl_element_bytes(next), 0);
}

void tl_inputs_normal(tally_view *v)
{
    tl_view_normal(v);
    /* rows of one element, side by side: kernels take stride 1 as dense */
    if (!v->offsets && v->n == 1 && v->row_stride == 1) v->stride = 1;
}

tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out, int64_t bytes)
{
    assert(bytes >= 0);
    if (in->next) {
        tally_status status =
            tl_view_overlap(ctx, in->next, tl_element_bytes(in->next), out, bytes, 0);
        if (status) return tl_invalid(ctx, "out overlaps in->next: give it memory of its own");
    }

    for (const tally_view *v = in; v; v = v->next) {
        int64_t low, high;
        if (!v->valid) continue;
        tl_view_extent(v, 1, &low, &high);
        low = (v->valid_offset + low) >> 3;
        high = (v->valid_offset + high + 7) >> 3;
        const tally_view bits = tally_flat((const char *)v->valid + low, TALLY_U8, high - low);
        if (tl_view_overlap(ctx, &bits, 1, out, bytes, 0))
            return tl_invalid(ctx, "out overlaps the validity of %s: give it memory of its own",
                              v == in ? "in" : "in->next");
    }
    return TALLY_OK;
}

/* ---- a call ---- */

void tl_job_normal(tl_job *j)
{
    tl_inputs_normal(&j->in);
    if (j->in.next) tl_inputs_normal(&j->next);
}

/* After it, the views are checked, offsets are on the host, the form is known, and both plans are
 * of the processors. An operator that is resolved already (`named`) needs a check of its inputs
 * only. */
tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_call *call, int here)
{
    assert(call->in);
    const tl_plan *const named = call->plan;
    *j = (tl_job){.ctx = ctx, .here = here, .copies = {.ctx = ctx}};
    if (!ctx) return tl_no_context();

    tally_status status = tl_host_call(&j->copies, call, &j->in, &j->next, &j->out);
    if (!status)
        status = named ? tl_form_fits(ctx, op, named->op, &j->in, "in")
                       : tl_form_of(ctx, op, &j->in, &j->form);
    if (named) tl_form_begin(&j->form, named->op, named->par, tl_has_absent(call->in));
    for (const tally_view *v = &j->in; v && !status; v = v->next)
        status = check_one(ctx, v, v == &j->in ? "in" : "in->next");
    if (status) return status;

    status = tl_plan_on_host(ctx, j->form.op, j->form.par, &j->ready.plan);

    /* whether a user's operator has a blank is known now, after it was compiled */
    if (!status && j->form.kind == TL_FORM_STATES && j->form.op->blank) {
        j->form.kind = TL_FORM_BLANK;
        j->form.op->blank(&j->form.fill);
    }

    const tl_scalar *count;
    tl_par none;
    if (!status) status = tl_resolve(ctx, "count", TALLY_F32, &count, &none);
    return status ? status : tl_plan_on_host(ctx, count, none, &j->ready.count);
}

void tl_job_close(tl_job *j)
{
    tl_prepared_free(&j->ready);
    free(j->results);
    tl_host_close(&j->copies);
}

/* ---- the device, or the processors ---- */

tally_status tl_job_to_host(tl_job *j, tally_view *out)
{
    assert(j->ready.plan.op);
    if (j->here) return TALLY_OK;
    j->ctx->device->on_processors += tl_view_elements(&j->in);
    const tally_status status = tl_inputs_bring(&j->copies, &j->in, &j->next);
    return status ? status : tl_host_view(&j->copies, out, j->form.op->result_bytes, 1);
}

tally_status tl_job_on_device(tl_job *j, const tl_call *verb, int *done)
{
    tl_plan count; /* sums bytes, 1 for an element that counts (tl_call.count) */
    tl_call call = *verb;
    call.plan = &j->ready.plan, call.count = &count, call.in = &j->in, call.form = &j->form;
    *done = 0;
    tl_job_normal(j);
    if (j->here) return TALLY_OK;
    tally_status status = tl_plan_of(j->ctx, "sum", TALLY_U8, &count);
    return status ? status : j->ctx->device->calls->run(j->ctx->device, j->ctx, &call, done);
}

/* Kernels read the caller's elements in place, by a conversion, or dense copies of them. The law
 * step by step (TL_FORM_STATES) always reads copies. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse)
{
    tl_job_normal(j);
    const int in_place = tl_gather_reads(&j->in, out, reverse);
    tl_form late;
    if (in_place && j->in.valid && tl_form_late(&j->form, &late)) {
        const tally_status status = tl_plan_on_host(j->ctx, late.op, late.par, &j->ready.plan);
        if (status) return status;
        j->form = late;
    }

    return tl_prepare_inputs(
        &j->ready, j->ctx, &j->form, &j->in,
        (tl_prepare_how){.in_place = in_place, .counts = !j->ready.plan.exact, .reverse = reverse});
}

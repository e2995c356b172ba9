/* SPDX-License-Identifier: MIT
 * The verbs on views with validity, or with two inputs. They check the arguments and run on the
 * device, if it supports the call (tl_call.form), or by one of the three methods of the
 * processors (cpu/inputs/). */
#include "inputs.h"
#include "checks.h"
#include "context/operators.h"
#include "context/view.h"
#include "cpu/exact/exact.h"
#include "cpu/inputs/inputs.h"
#include "cpu/shape.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

static int has_elements(const tally_view *in) { return in->rows > 0 && (in->offsets || in->n > 0); }

/* ---- reduce ---- */

/* Tries to reduce the valid elements without preparing them first. Sets *done if this form allows
 * it. */
static tally_status reduce_present(tl_job *j, tally_view *out, int *done)
{
    tl_device *const device = j->ctx->device;
    const int threads = tally_threads(j->ctx);
    tl_form blank;
    tl_plan plan;

    tl_job_normal(j);
    if (!j->in.valid || j->in.next || j->plan.exact || !tl_gather_reads(&j->in, NULL, 0))
        return TALLY_OK;

    if (j->form.kind == TL_FORM_STATES && tl_present_takes(j->form.op)) {
        tl_present_reduce(&j->plan, threads, &j->in, out->data);
        *done = 1;
    } else if (j->in.rows == 1 && tl_present_blank(&j->form, &blank)) {
        const tally_status status =
            device->calls->plan(device, j->ctx, blank.op, blank.par, TL_FOR_PROCESSORS, &plan);
        if (status) return status;
        tl_present_reduce_blank(&plan, &blank, threads, &j->in, out->data);
        *done = 1;
    }

    return TALLY_OK;
}

/* Runs a call with the job's plan and elements on the processors. */
static tally_status run(const tl_job *j, tl_call call)
{
    call.plan = &j->plan;
    call.count = &j->count;
    call.in = &j->work;
    return tl_run_host(j->ctx, &call);
}

/* reduce on the processors. */
static tally_status reduce(tl_job *j, tally_view *out)
{
    int done = 0;
    tally_status status = tl_job_to_host(j, out);
    if (!status) status = reduce_present(j, out, &done);
    if (done) return status ? status : tl_host_back(&j->copies);
    if (!status) status = tl_job_prepare(j, NULL, 0);
    if (!status && j->form.kind == TL_FORM_STATES)
        tl_states_reduce(&j->plan, tally_threads(j->ctx), &j->work, tl_job_there(j), out->data);
    else if (!status)
        status = run(j, (tl_call){.verb = TL_REDUCE, .out = out});
    return status ? status : tl_host_back(&j->copies);
}

tally_status tl_inputs_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    tl_job j;
    tally_status status = tl_job_open(&j, ctx, op, &(tl_call){.in = in}, 0);
    if (!status && in->rows > 0 && !out)
        status = tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for %lld results",
                         (long long)in->rows);

    if (!status) {
        const tally_view dense = tally_flat(out, j.form.op->out, in->rows);
        status = tl_view_check(ctx, &dense, "out", j.form.op->result_bytes);
        if (!status)
            status = tl_view_overlap(ctx, &j.in, (int64_t)tally_dtype_size(in->dtype), &dense,
                                     j.form.op->result_bytes, 0);
        if (!status) status = tl_inputs_apart(ctx, &j.in, &dense, j.form.op->result_bytes);
    }

    if (!status && in->rows > 0) {
        /* rows of one result */
        tally_view rows = tally_rows(out, j.form.op->out, in->rows, 1);
        int done = 0;
        tl_fp fp = tl_fp_enter();
        const tl_call verb = {.verb = TL_REDUCE, .out = &rows};
        status = has_elements(&j.in) ? tl_job_on_device(&j, &verb, &done) : TALLY_OK;
        if (!status && !done) status = reduce(&j, &rows);
        tl_fp_leave(fp);
    }

    tl_job_close(&j);
    return status;
}

/* ---- scan ---- */

/* Allocates dense results, to be copied to `out`, which has strides or is written backwards. */
static tally_status dense_results(tl_job *j, const tally_view *out, int64_t bytes,
                                  tally_view *dense)
{
    assert(bytes > 0);
    const int64_t zero = out->offsets ? out->offsets[0] : 0,
                  total = out->offsets ? out->offsets[out->rows] - zero : out->rows * out->n;
    j->results = malloc((size_t)(total * bytes));
    if (!j->results) return tl_no_memory(j->ctx, (size_t)(total * bytes), "the results");
    *dense = *out;
    dense->data = tl_offset(j->results, -zero * bytes);
    dense->stride = 1;
    dense->row_stride = out->n;
    return TALLY_OK;
}

static void scatter(const tally_view *dense, const tally_view *out, int64_t bytes, int reverse)
{
    assert(bytes > 0);
    assert(dense->rows == out->rows);
    for (int64_t r = 0; r < out->rows; r++) {
        int64_t n;
        const char *from = tl_view_row(dense, r, bytes, &n);
        char *to = tl_view_row(out, r, bytes, &n);
        if (reverse && n) to += (n - 1) * out->stride * bytes;
        tl_copy_strided(to, reverse ? -out->stride : out->stride, from, 1, n, bytes);
    }
}

/* scan on the processors. */
static tally_status scan(tl_job *j, tally_view *y, const tally_scan_options *o)
{
    tally_scan_options forward = *o;
    forward.reverse = 0;
    tally_status status = tl_job_to_host(j, y);
    if (!status) status = tl_job_prepare(j, y, o->reverse);
    const int direct = !j->gathered.memory;
    tally_view dense = *y;
    if (!status && !direct) status = dense_results(j, y, j->plan.op->result_bytes, &dense);
    if (!status && j->form.kind == TL_FORM_STATES)
        tl_states_scan(&j->plan, tally_threads(j->ctx), &j->work, tl_job_there(j), &dense,
                       &forward);
    else if (!status)
        status = run(j, (tl_call){.verb = TL_SCAN, .out = &dense, .scan = &forward});

    if (!status && !direct) scatter(&dense, y, j->plan.op->result_bytes, o->reverse);
    return status ? status : tl_host_back(&j->copies);
}

tally_status tl_inputs_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                            const tally_scan_options *given)
{
    tl_job j;
    tally_status status = tl_job_open(&j, ctx, op, &(tl_call){.in = in, .out = out}, 0);
    if (!status) status = tl_check_scan(ctx, &j.plan, given);
    if (!status) status = tl_check_output(ctx, j.form.named, &j.in, out ? &j.out : NULL, in->n, 1);
    if (!status) status = tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in)) {
        tally_scan_options o = given ? *given : (tally_scan_options){0};
        char start[16];
        int done;
        tl_fp fp = tl_fp_enter();
        tl_inputs_normal(&j.out);

        /* in the initial value a NaN is a value, not the marker */
        if (o.init && j.form.kind == TL_FORM_MARK) {
            j.plan.mask->quiet(start, o.init, j.form.op->out, 1);
            o.init = start;
        }

        status =
            tl_job_on_device(&j, &(tl_call){.verb = TL_SCAN, .out = &j.out, .scan = &o}, &done);
        if (!status && !done) status = scan(&j, &j.out, &o);
        tl_fp_leave(fp);
    }

    tl_job_close(&j);
    return status;
}

/* ---- windows ---- */

/* Computes the ranges of one sequence, whose first element has number `first` in the job. */
static tally_status run_ranges(tl_job *j, const tl_ranges *all, tl_line line, int64_t first)
{
    const int threads = tally_threads(j->ctx);
    if (j->plan.exact) return tl_exact_ranges_run(&j->plan, threads, all, line), TALLY_OK;
    if (j->form.kind != TL_FORM_STATES)
        return tl_ranges_run(j->ctx, &j->plan, &j->count, threads, all, line);
    tl_states_ranges(&j->plan, threads, all, line, tl_job_there(j) + first);
    return TALLY_OK;
}

static tally_status ranges(tl_job *j, const tally_view *out, const tally_window_options *o)
{
    const int64_t bytes = j->plan.op->result_bytes;
    tally_status status = TALLY_OK;
    for (int64_t r = 0, first = 0; r < j->work.rows && !status; r++) {
        int64_t n, m;
        const char *x = tl_view_row(&j->work, r, j->plan.op->elem_bytes, &n);
        char *y = tl_view_row(out, r, bytes, &m);
        const tl_ranges all = tl_ranges_of(o, n);
        status = run_ranges(j, &all, (tl_line){x, 1, y, out->stride * bytes}, first);
        first += n;
    }
    return status;
}

/* Windows on the processors. */
static tally_status window(tl_job *j, tally_view *y, const tally_window_options *o)
{
    const int states = j->form.kind == TL_FORM_STATES && !j->plan.exact;
    tally_status status = tl_job_to_host(j, y);
    if (!status) status = tl_job_prepare(j, NULL, 0);
    if (!status && (states || !tl_window_streams(o)))
        status = ranges(j, y, o);
    else if (!status)
        status = run(j, (tl_call){.verb = TL_WINDOW, .out = y, .window = o});
    return status ? status : tl_host_back(&j->copies);
}

static tally_status window_by(tally *ctx, const char *op, const tl_plan *named,
                              const tally_view *in, const tally_view *out,
                              const tally_window_options *o)
{
    tl_job j;
    const tl_call call = {.plan = named, .in = in, .out = out};

    tally_status status = tl_job_open(&j, ctx, op, &call, named != NULL);
    if (!status) status = tl_check_window(ctx, o);
    if (!status) status = tl_check_step(ctx, &j.in, o);
    if (!status)
        status = tl_check_output(ctx, j.form.named, &j.in, out ? &j.out : NULL,
                                 tally_window_length(in->n, o), 0);
    if (!status) status = tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in) && (j.out.offsets || j.out.n > 0)) {
        int done = 0;
        tl_fp fp = tl_fp_enter();
        tl_inputs_normal(&j.out);
        status =
            tl_job_on_device(&j, &(tl_call){.verb = TL_WINDOW, .out = &j.out, .window = o}, &done);
        if (!status && !done) status = window(&j, &j.out, o);
        tl_fp_leave(fp);
    }

    tl_job_close(&j);
    return status;
}

tally_status tl_inputs_window(tally *ctx, const char *op, const tally_view *in,
                              const tally_view *out, const tally_window_options *o)
{
    return window_by(ctx, op, NULL, in, out, o);
}

tally_status tl_inputs_window_of(tally *ctx, const tl_plan *plan, const tally_view *in,
                                 const tally_view *out, const tally_window_options *o)
{
    return window_by(ctx, plan->op->file, plan, in, out, o);
}

tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in,
                              const tl_ranges *all, const tally_view *out)
{
    tl_job j;
    tally_status status = tl_job_open(&j, ctx, op, &(tl_call){.in = in}, 1);
    const int64_t bytes = j.form.op ? j.form.op->result_bytes : 0;

    if (!status) status = tl_inputs_apart(ctx, &j.in, out, bytes);
    if (!status) {
        tl_fp fp = tl_fp_enter();
        status = tl_job_prepare(&j, NULL, 0);
        if (!status)
            status = run_ranges(
                &j, all, (tl_line){j.work.data, 1, out->data, tl_step(out->stride, bytes)}, 0);
        tl_fp_leave(fp);
    }
    tl_job_close(&j);
    return status;
}

/* ---- exact sums ---- */

/* Adds all elements of the job to an exact sum. */
static tally_status add_exactly(tl_job *j, tl_exact *sum)
{
    tally_view none = tally_flat(NULL, TALLY_F32, 0);
    if (!has_elements(&j->in)) return TALLY_OK;

    tl_fp fp = tl_fp_enter();
    tally_status status = tl_job_to_host(j, &none);
    if (!status) status = tl_job_prepare(j, NULL, 0);

    /* the elements of a row are dense, gathered or in place */
    for (int64_t r = 0; r < j->work.rows && !status; r++) {
        int64_t n;
        const char *at = tl_view_row(&j->work, r, j->plan.op->elem_bytes, &n);
        tl_exact_slab(sum, &j->plan, tally_threads(j->ctx), at, n);
    }

    tl_fp_leave(fp);
    return status;
}

tally_status tl_inputs_exact_of(tally *ctx, const tl_plan *plan, const tally_view *x, tl_exact *sum)
{
    assert(plan->exact);
    tl_job j;
    tally_status status =
        tl_job_open(&j, ctx, plan->op->file, &(tl_call){.plan = plan, .in = x}, 1);
    if (!status) status = add_exactly(&j, sum);
    tl_job_close(&j);
    return status;
}

tally_status tl_inputs_exact_scan(tally *ctx, const tl_plan *plan, const tally_view *x,
                                  const tally_view *out, int exclusive, tl_exact *sum)
{
    assert(plan->exact);
    tl_job j;
    tally_view dense = *out;
    const tl_call call = {.plan = plan, .in = x, .out = out};
    tally_status status = tl_job_open(&j, ctx, plan->op->file, &call, 1);
    if (!status && has_elements(&j.in)) {
        const int64_t bytes = plan->op->result_bytes;
        tl_fp fp = tl_fp_enter();
        status = tl_job_prepare(&j, NULL, 0);
        if (!status) status = dense_results(&j, out, bytes, &dense);
        int64_t n = 0;
        const char *const at = status ? NULL : tl_view_row(&j.work, 0, j.plan.op->elem_bytes, &n);
        if (!status) tl_exact_scan_push(sum, &j.plan, exclusive, at, n, dense.data);
        if (!status) scatter(&dense, out, bytes, 0);
        tl_fp_leave(fp);
    }

    tl_job_close(&j);
    return status;
}

tally_status tl_inputs_exact(tally *ctx, const tally_view *x, tl_exact *sum)
{
    tl_job j;
    tally_view in, next;
    /* checked again below, with the name `in` in sentences */
    tally_status status = tl_inputs_check(ctx, x, "x", &in, &next);
    if (status) return status;

    status = tl_job_open(&j, ctx, x->next ? "dot:exact" : "sum:exact", &(tl_call){.in = x}, 0);
    if (!status && x->next && j.form.named->dtype == TALLY_F64)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "x->next is given: only products of f16, bf16 and f32 fit a tally_exact, "
                         "and these are f64");

    if (!status) status = add_exactly(&j, sum);
    tl_job_close(&j);

    return status;
}

/* SPDX-License-Identifier: MIT
 * The verbs on views with validity, or with two inputs. They check the arguments and run on the
 * device, if it supports the call (tl_call.form), or by one of the three methods of the
 * processors (cpu/inputs/). */
#include "inputs.h"
#include "checks.h"
#include "context/operators.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/exact/exact.h"
#include "cpu/inputs/inputs.h"
#include "cpu/shape.h"
#include "law/fp.h"
#include <assert.h>
#include <stdlib.h>

static int has_elements(const tally_view *in) { return in->rows > 0 && (in->offsets || in->n > 0); }

/* Runs a call with the job's plan and elements on the processors. */
static tally_status run(const tl_job *j, tl_call call)
{
    call.plan = &j->ready.plan;
    call.count = &j->ready.count;
    call.in = &j->ready.work;
    return tl_run_host(j->ctx, &call);
}

/* ---- reduce ---- */

/* Tries to reduce the valid elements without preparing them first. Sets *done if this form allows
 * it. */
static tally_status reduce_present(tl_job *j, const tally_view *out, int *done)
{
    const int threads = tally_threads(j->ctx);
    tl_form blank;
    tl_plan plan;

    tl_job_normal(j);
    if (!j->in.valid || j->in.next || j->ready.plan.exact || !tl_gather_reads(&j->in, NULL, 0))
        return TALLY_OK;

    if (j->form.kind == TL_FORM_STATES && tl_present_takes(j->form.op)) {
        tl_present_reduce(&j->ready.plan, threads, &j->in, out->data);
        *done = 1;
    } else if (j->in.rows == 1 && tl_present_blank(&j->form, &blank)) {
        const tally_status status = tl_plan_on_host(j->ctx, blank.op, blank.par, &plan);
        if (status) return status;
        tl_present_reduce_blank(&plan, &blank, threads, &j->in, out->data);
        *done = 1;
    }
    return TALLY_OK;
}

static tally_status reduce(tl_job *j, const tally_view *out)
{
    int done = 0;
    tally_status status = reduce_present(j, out, &done);
    if (status || done) return status;

    status = tl_job_prepare(j, NULL, 0);
    if (status || j->form.kind != TL_FORM_STATES)
        return status ? status : run(j, (tl_call){.verb = TL_REDUCE, .out = out});
    tl_states_rows(&j->ready, tally_threads(j->ctx), out, NULL);
    return TALLY_OK;
}

/* ---- scan ---- */

/* Allocates dense results, to be copied to `out`, which has strides or is written backwards. */
static tally_status dense_results(tl_job *j, const tally_view *out, int64_t bytes,
                                  tally_view *dense)
{
    assert(bytes > 0);
    const int64_t zero = out->offsets ? out->offsets[0] : 0, total = tl_view_elements(out);
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

static tally_status scan(tl_job *j, const tally_view *y, const tally_scan_options *o)
{
    tally_scan_options forward = *o;
    forward.reverse = 0;
    tally_status status = tl_job_prepare(j, y, o->reverse);
    const int direct = !j->ready.gathered.memory;
    tally_view dense = *y;
    if (!status && !direct) status = dense_results(j, y, j->ready.plan.op->result_bytes, &dense);
    if (!status && j->form.kind == TL_FORM_STATES)
        tl_states_rows(&j->ready, tally_threads(j->ctx), &dense, &forward);
    else if (!status)
        status = run(j, (tl_call){.verb = TL_SCAN, .out = &dense, .scan = &forward});

    if (!status && !direct) scatter(&dense, y, j->ready.plan.op->result_bytes, o->reverse);
    return status;
}

/* ---- windows ---- */

/* Computes the ranges of one sequence, whose first element has number `first` in the job. */
static tally_status run_ranges(tl_job *j, const tl_ranges *all, tl_line line, int64_t first)
{
    const int threads = tally_threads(j->ctx);
    if (j->form.kind != TL_FORM_STATES || j->ready.plan.exact)
        return tl_ranges_run(j->ctx, &j->ready.plan, &j->ready.count, threads, all, line);
    tl_states_ranges(&j->ready.plan, threads, all, line, j->ready.there + first);
    return TALLY_OK;
}

static tally_status ranges(tl_job *j, const tally_view *out, const tally_window_options *o)
{
    const int64_t bytes = j->ready.plan.op->result_bytes;
    tally_status status = TALLY_OK;
    for (int64_t r = 0, first = 0; r < j->ready.work.rows && !status; r++) {
        int64_t n, m;
        const char *x = tl_view_row(&j->ready.work, r, j->ready.plan.op->elem_bytes, &n);
        char *y = tl_view_row(out, r, bytes, &m);
        const tl_ranges all = tl_ranges_of(o, n);
        status = run_ranges(j, &all, (tl_line){x, 1, y, out->stride * bytes}, first);
        first += n;
    }

    return status;
}

static tally_status window(tl_job *j, const tally_view *y, const tally_window_options *o)
{
    const int states = j->form.kind == TL_FORM_STATES && !j->ready.plan.exact;
    const tally_status status = tl_job_prepare(j, NULL, 0);
    if (status) return status;
    return states || !tl_window_streams(o)
               ? ranges(j, y, o)
               : run(j, (tl_call){.verb = TL_WINDOW, .out = y, .window = o});
}

/* ---- the three verbs ---- */

static tally_status on_processors(tl_job *j, const tl_call *call)
{
    tally_status status = tl_job_to_host(j, &j->out);
    if (!status)
        status = call->verb == TL_REDUCE ? reduce(j, &j->out)
                 : call->verb == TL_SCAN ? scan(j, &j->out, call->scan)
                                         : window(j, &j->out, call->window);
    return status ? status : tl_host_back(&j->copies);
}

/* Runs a checked call on the device or on the processors. */
static tally_status run_job(tl_job *j, const tl_call *given)
{
    tl_call call = *given;
    tally_scan_options options = given->scan ? *given->scan : (tally_scan_options){0};
    char start[16];
    int done = 0;
    tally_status status = TALLY_OK;
    if (call.verb == TL_SCAN) call.scan = &options;
    if (call.verb != TL_REDUCE) tl_inputs_normal(&j->out);
    call.out = &j->out;

    /* in the initial value a NaN is a value, not the marker */
    if (options.init && j->form.kind == TL_FORM_MARK) {
        j->ready.plan.mask->quiet(start, options.init, j->form.op->out, 1);
        options.init = start;
    }

    tl_fp fp = tl_fp_enter();
    if (has_elements(&j->in)) status = tl_job_on_device(j, &call, &done);
    if (!status && !done) status = on_processors(j, &call);
    tl_fp_leave(fp);
    return status;
}

tally_status tl_inputs_run(tally *ctx, const char *op, const tl_call *call, void *results)
{
    const int reduces = call->verb == TL_REDUCE;
    tl_job j;
    tally_status status = tl_job_open(&j, ctx, op, call, call->plan != NULL);
    if (!status && reduces)
        status = tl_check_results(ctx, j.form.op, &j.in, results, &j.out);
    else if (!status)
        status =
            tl_check_call(ctx, &j.ready.plan, j.form.named, call, &j.in, call->out ? &j.out : NULL);
    if (!status) status = tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes);

    /* a reduction gives a result also without elements */
    const int work = !status && (reduces ? j.in.rows > 0
                                         : has_elements(&j.in) && (j.out.offsets || j.out.n > 0));
    if (work) status = run_job(&j, call);
    tl_job_close(&j);
    return status;
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
                &j, all, (tl_line){j.ready.work.data, 1, out->data, tl_step(out->stride, bytes)},
                0);
        tl_fp_leave(fp);
    }
    tl_job_close(&j);
    return status;
}

/* ---- exact sums ---- */

enum { ROWS = 64 }; /* rows of a chunk */

/* Adds all elements of the job to an exact sum. */
static tally_status add_exactly(tl_job *j, tl_exact *sum)
{
    tally_view none = tally_flat(NULL, TALLY_F32, 0);
    if (!has_elements(&j->in)) return TALLY_OK;

    tl_fp fp = tl_fp_enter();
    tally_status status = tl_job_to_host(j, &none);
    if (!status) status = tl_job_prepare(j, NULL, 0);

    /* the elements of a row are dense, gathered or in place */
    tally_view *const all = &j->ready.work;
    if (!all->offsets && all->row_stride == all->n) all->n *= all->rows, all->rows = 1;
    for (int64_t r = 0; r < all->rows && !status; r++) {
        int64_t n;
        const char *at = tl_view_row(all, r, j->ready.plan.op->elem_bytes, &n);
        tl_exact_slab(sum, &j->ready.plan, tally_threads(j->ctx), at, n);
    }

    tl_fp_leave(fp);
    return status;
}

typedef struct {
    const tl_job *job;
    const tally_view *out; /* dense, of a scan; NULL: a reduction */
    int exclusive, threads;
    tl_exact *sum;
} row_work;

/* Adds rows of chunk k to their sums. */
static void add_chunk(void *data, int64_t k)
{
    const row_work *const w = data;
    const tl_plan *const plan = &w->job->ready.plan;
    const tally_view *const in = &w->job->ready.work;
    const int sums = tl_exact_form_of(plan->op)->sums;
    int64_t n;

    for (int64_t r = k * ROWS; r < in->rows && r < (k + 1) * ROWS; r++) {
        const char *const x = tl_view_row(in, r, plan->op->elem_bytes, &n);
        if (w->out)
            tl_exact_scan_push(w->sum + r * sums, plan, w->exclusive, x, n,
                               tl_view_row(w->out, r, plan->op->result_bytes, &n));
        else
            tl_exact_slab(w->sum + r * sums, plan, w->threads, x, n);
    }
}

tally_status tl_inputs_exact_rows(tally *ctx, const tl_call *call, tl_exact *sum)
{
    assert(call->plan->exact);
    tl_job j;
    tally_view dense;
    const tl_scalar *const op = call->plan->op;
    tally_status status = tl_job_open(&j, ctx, op->file, call, 1);
    if (!status && has_elements(&j.in)) {
        row_work w = {&j, call->out ? &dense : NULL, call->out && call->scan->exclusive, 1, sum};
        const int64_t chunks = (j.in.rows + ROWS - 1) / ROWS;
        tl_fp fp = tl_fp_enter();
        status = tl_job_prepare(&j, NULL, 0);
        if (!status && w.out) status = dense_results(&j, call->out, op->result_bytes, &dense);
        if (!status && chunks == 1) {
            w.threads = tally_threads(ctx);
            add_chunk(&w, 0);
        } else if (!status) {
            tl_for(tally_threads(ctx), chunks, add_chunk, &w);
        }
        if (!status && w.out) scatter(&dense, call->out, op->result_bytes, 0);
        tl_fp_leave(fp);
    }

    tl_job_close(&j);
    return status;
}

tally_status tl_inputs_exact(tally *ctx, const tally_view *x, tl_exact *sum)
{
    tl_job j;
    tally_view in, next, checked, checked_next;
    tl_host_copies copies = {.ctx = ctx};
    const tl_call call = {.in = x};
    tally_status status = tl_host_call(&copies, &call, &in, &next, NULL);
    /* checked again below, with the name `in` in sentences */
    if (!status) status = tl_inputs_check(ctx, &in, "x", &checked, &checked_next);
    tl_host_close(&copies);
    if (status) return status;

    status = tl_job_open(&j, ctx, x->next ? "dot:exact" : "sum:exact", &(tl_call){.in = x}, 0);
    if (!status && x->next && j.form.named->dtype == TALLY_F64)
        status = tl_unsupported(ctx, "x->next is given: only products of f16, bf16 and f32 fit a "
                                     "tally_exact, and these are f64");

    if (!status) status = add_exactly(&j, sum);
    tl_job_close(&j);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Verbs on views with validity, or of two inputs: their checks, and where they go: the device's own road, if it has one
 * (tl_device_calls.inputs), or one of three roads of the processors (cpu/inputs/). */
#include "inputs.h"
#include "checks.h"
#include "context/device.h"
#include "context/inputs.h"
#include "context/operators.h"
#include "context/view.h"
#include "dtype/dtype.h"
#include "cpu/inputs/gather.h"
#include "cpu/inputs/present.h"
#include "cpu/shape.h"
#include "cpu/inputs/states.h"
#include "cpu/exact/exact.h"
#include "law/fp.h"
#include <stdio.h>
#include <stdlib.h>

/* A call. in: the caller's view, checked, and its second one; out; work: what the plan reads, with its second one. */
typedef struct {
    tally *ctx;
    tl_form form;
    tally_view in, next, out, work, work_next;
    int here;            /* no road and no memory of the device */
    int64_t *offsets[3]; /* copies of those that are the device's memory */
    tl_host_copies copies;
    tl_plan plan, count;
    tl_gather gather, counting;
    tl_gathered made, counts;
    char *results; /* dense, before they go where the caller's have strides */
} job;

static const char what[] = "views with validity, or of two inputs,";

tally_dtype tl_inputs_dtype(const tally_view *in)
{
    if (!in->next || !tl_dtype_kind(in->dtype) || !tl_dtype_kind(in->next->dtype)) return in->dtype;
    return tally_common_dtype(in->dtype, in->next->dtype);
}

tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states, tl_feed *feed)
{
    tl_feed_begin(feed, plan->op, plan->par, absent, by_states);
    const tally_status status =
        ctx->device->calls->plan_host(ctx->device, ctx, feed->form.op, feed->form.par, &feed->plan);
    return status ? status : tl_plan_of_host(ctx, "count", TALLY_F32, &feed->count);
}

/* ---- checks ---- */

tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name)
{
    int64_t low, high, first;
    if (!v->valid) return TALLY_OK;
    tl_view_extent(v, 1, &low, &high);
    if (__builtin_add_overflow(v->valid_offset, low, &first) || first < 0)
        return tl_fail(ctx, TALLY_INVALID, "%s->valid_offset is %lld: the bit of an element would be number %lld", name,
                       (long long)v->valid_offset, (long long)first);
    if (__builtin_add_overflow(v->valid_offset, high, &first))
        return tl_fail(ctx, TALLY_INVALID, "%s->valid_offset is %lld: the bits would be more than 2^63", name,
                       (long long)v->valid_offset);
    return TALLY_OK;
}

/* The view but for whose memory it is. */
static tally_status check_input(tally *ctx, const tally_view *given, const char *name)
{
    tally_view alone = *given;
    alone.valid = NULL;
    alone.next = NULL;
    tally_status status = tl_view_check(ctx, &alone, name, (int64_t)tally_dtype_size(given->dtype));
    return status ? status : tl_bits_check(ctx, given, name);
}

enum { NAME = 40 };

static const char *name_of_next(const char *name, char *to)
{
    snprintf(to, NAME, "%s->next", name);
    return to;
}

tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in, tally_view *next)
{
    char second[NAME];
    *in = *given;
    in->next = NULL;
    tally_status status = check_input(ctx, given, name);
    if (status || !given->next) return status;
    *next = *given->next;
    in->next = next;
    return check_input(ctx, given->next, name_of_next(name, second));
}

tally_status tl_inputs_bring(tally *ctx, tl_host_copies *copies, tally_view *in, tally_view *next, const char *name,
                             const char *what_for)
{
    char second[NAME];
    tally_status status = tl_host_view(ctx, copies, in, (int64_t)tally_dtype_size(in->dtype), 0, name, what_for);
    if (status || !in->next) return status;
    return tl_host_view(ctx, copies, next, (int64_t)tally_dtype_size(next->dtype), 0, name_of_next(name, second),
                        what_for);
}

/* The same offsets again, or those of v. */
static tally_status bring_offsets(job *j, const tally_view *given, const char *name, tally_view *v, int64_t **copy)
{
    if (v->offsets == given->offsets && v->rows == given->rows) {
        v->offsets = j->in.offsets;
        return TALLY_OK;
    }
    return tl_host_offsets(j->ctx, name, v, copy);
}

void tl_inputs_normal(tally_view *v)
{
    tl_view_normal(v);
    if (!v->offsets && v->n == 1 && v->row_stride == 1) v->stride = 1;
}

static void normal_inputs(job *j)
{
    tl_inputs_normal(&j->in);
    if (j->in.next) tl_inputs_normal(&j->next);
}

/* named: NULL, or the operator that op was when a stream was opened. out: NULL, or the results of a scan or of windows.
 * here: no road and no memory of the device. */
static tally_status open_job(job *j, tally *ctx, const char *op, const tl_plan *named, const tally_view *in,
                             const tally_view *out, int here)
{
    *j = (job){.ctx = ctx, .here = here};
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    j->in = *in;
    if (out) j->out = *out;
    if (in->next) j->next = *in->next, j->in.next = &j->next;
    tally_status status = tl_host_offsets(ctx, "in", &j->in, &j->offsets[0]);
    if (!status && in->next) status = bring_offsets(j, in, "in->next", &j->next, &j->offsets[1]);
    if (!status && out) status = bring_offsets(j, in, "out", &j->out, &j->offsets[2]);
    if (!status)
        status = named ? tl_form_fits(ctx, op, named->op, &j->in, "in") : tl_form_of(ctx, op, &j->in, &j->form);
    if (named) tl_form_begin(&j->form, named->op, named->par, tl_has_absent(in));
    for (const tally_view *v = &j->in; v && !status; v = v->next)
        status = check_input(ctx, v, v == &j->in ? "in" : "in->next");
    if (status) return status;
    status = ctx->device->calls->plan_host(ctx->device, ctx, j->form.op, j->form.par, &j->plan);
    if (!status && j->form.kind == TL_FORM_STATES && j->form.op->blank) { /* a user's, which is compiled now */
        j->form.kind = TL_FORM_BLANK;
        j->form.op->blank(&j->form.fill);
    }
    const tl_scalar *count;
    tl_par none;
    if (!status) status = tl_resolve(ctx, "count", TALLY_F32, &count, &none);
    if (!status) status = ctx->device->calls->plan_host(ctx->device, ctx, count, none, &j->count);
    return status;
}

static void close_job(job *j)
{
    free(j->made.memory);
    free(j->counts.memory);
    free(j->results);
    for (int k = 0; k < 3; k++) free(j->offsets[k]);
    tl_host_close(&j->copies);
}

/* ---- roads ---- */

/* What is the device's memory is copied for the processors. */
static tally_status to_host(job *j, tally_view *out)
{
    const int64_t elements = j->in.offsets ? j->in.offsets[j->in.rows] - j->in.offsets[0] : j->in.rows * j->in.n;
    if (j->here) return TALLY_OK;
    tally_status status = tl_on_processors(j->ctx, NULL, "in", what, elements);
    if (!status) status = tl_inputs_bring(j->ctx, &j->copies, &j->in, &j->next, "in", what);
    return status ? status : tl_host_view(j->ctx, &j->copies, out, j->form.op->result_bytes, 1, "out", what);
}

/* The device's own road; *done as for tl_device_calls.inputs. */
static tally_status on_device(job *j, tl_verb verb, const tally_view *out, const tally_scan_options *scan,
                              const tally_window_options *window, int *done)
{
    tl_plan count;
    const tl_inputs_call call = {verb, &j->form, &j->in, out, scan, window, &count};
    *done = 0;
    normal_inputs(j);
    if (j->here || (j->plan.exact && verb != TL_REDUCE) || !j->ctx->device->calls->inputs) return TALLY_OK;
    tally_status status = tl_plan_of(j->ctx, "sum", TALLY_U8, &count);
    return status ? status : j->ctx->device->calls->inputs(j->ctx->device, j->ctx, &call, done);
}

/* j->plan, j->count and j->work are ready to run. */
static tally_status prepare(job *j, const tally_view *out, int reverse)
{
    const int states = j->form.kind == TL_FORM_STATES;
    normal_inputs(j);
    if (!states && tl_gather_reads(&j->in, out, reverse)) {
        tl_form late;
        if (j->in.valid && tl_form_late(&j->form, &late)) {
            const tl_device_calls *calls = j->ctx->device->calls;
            const tally_status status = calls->plan_host(j->ctx->device, j->ctx, late.op, late.par, &j->plan);
            if (status) return status;
            j->form = late;
        }
        if (!j->plan.exact) tl_gather_count(&j->counting, &j->form, &j->in, &j->count);
        tl_gather_direct(&j->gather, &j->form, &j->in, &j->plan);
        j->work = j->in;
        j->work.next = NULL;
        return TALLY_OK;
    }
    tally_status status = tl_gather_dense(j->ctx, &j->form, &j->in, &j->plan, reverse, 0, &j->made);
    if (!status && !j->plan.exact) status = tl_gather_dense(j->ctx, &j->form, &j->in, &j->plan, reverse, 1, &j->counts);
    if (status) return status;
    j->work = j->made.view;
    if (j->form.op->inputs == 2) {
        j->work_next = j->made.second;
        j->work.next = &j->work_next;
    }
    if (states) {
        if (j->work.next) j->plan.par.second = (int64_t)((uintptr_t)j->work_next.data - (uintptr_t)j->work.data);
    } else {
        const tl_form ready = {j->form.kind == TL_FORM_PLAIN ? TL_FORM_PLAIN : TL_FORM_READY, j->form.named, j->form.op,
                               j->form.par, 0};
        if (!j->plan.exact) tl_gather_counted(&j->counting, &j->made, &j->counts, &j->count);
        tl_gather_direct(&j->gather, &ready, &j->work, &j->plan);
    }
    j->work.next = NULL;
    return TALLY_OK;
}

/* Counts of dense copies, from the first element of a view on. */
static const float *there(const job *j)
{
    const int64_t first = j->in.offsets ? j->in.offsets[0] : 0;
    return (const float *)(uintptr_t)tl_offset(j->counts.view.data, first * (int64_t)sizeof(float));
}

/* Memory that the results may take in place of `out`, which has strides or is written backwards. */
static tally_status dense_results(job *j, const tally_view *out, int64_t bytes, tally_view *dense)
{
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
    for (int64_t r = 0; r < out->rows; r++) {
        int64_t n;
        const char *from = tl_view_row(dense, r, bytes, &n);
        char *to = tl_view_row(out, r, bytes, &n);
        if (reverse && n) to += (n - 1) * out->stride * bytes;
        tl_copy_strided(to, reverse ? -out->stride : out->stride, from, 1, n, bytes);
    }
}

/* The results of one sequence's ranges; x: its elements, number `first` of all; y: results, `step` bytes apart. */
static tally_status run_ranges(job *j, const tl_ranges *all, const char *x, int64_t first, char *y, int64_t step)
{
    const int threads = tally_threads(j->ctx);
    if (j->plan.exact) return tl_exact_ranges_run(&j->plan, threads, all, x, 1, y, step), TALLY_OK;
    if (j->form.kind != TL_FORM_STATES) return tl_ranges_run(j->ctx, &j->plan, &j->count, threads, all, x, 1, y, step);
    tl_states_ranges(&j->plan, threads, all, x, there(j) + first, y, step);
    return TALLY_OK;
}

static tally_status ranges(job *j, const tally_view *out, const tally_window_options *o)
{
    const int64_t bytes = j->plan.op->result_bytes;
    tally_status status = TALLY_OK;
    for (int64_t r = 0, first = 0; r < j->work.rows && !status; r++) {
        int64_t n, m;
        const char *x = tl_view_row(&j->work, r, j->plan.op->elem_bytes, &n);
        char *y = tl_view_row(out, r, bytes, &m);
        const tl_ranges all = tl_ranges_of(o, n);
        status = run_ranges(j, &all, x, first, y, out->stride * bytes);
        first += n;
    }
    return status;
}

/* ---- verbs ---- */

tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out, int64_t bytes)
{
    if (in->next) {
        tally_status status = tl_view_overlap(ctx, in->next, (int64_t)tally_dtype_size(in->next->dtype), out, bytes, 0);
        if (status) return tl_fail(ctx, TALLY_INVALID, "out overlaps in->next: give it memory of its own");
    }
    for (const tally_view *v = in; v; v = v->next) {
        int64_t low, high;
        if (!v->valid) continue;
        tl_view_extent(v, 1, &low, &high);
        low = (v->valid_offset + low) >> 3;
        high = (v->valid_offset + high + 7) >> 3;
        const tally_view bits = tally_flat((const char *)v->valid + low, TALLY_U8, high - low);
        if (tl_view_overlap(ctx, &bits, 1, out, bytes, 0))
            return tl_fail(ctx, TALLY_INVALID, "out overlaps the validity of %s: give it memory of its own",
                           v == in ? "in" : "in->next");
    }
    return TALLY_OK;
}

static int has_elements(const tally_view *in) { return in->rows > 0 && (in->offsets || in->n > 0); }

/* reduce by the elements that are there; *done: where that can be. */
static tally_status reduce_present(job *j, tally_view *out, int *done)
{
    const tl_device_calls *calls = j->ctx->device->calls;
    const int threads = tally_threads(j->ctx);
    tl_form blank;
    tl_plan plan;
    normal_inputs(j);
    if (!j->in.valid || j->in.next || j->plan.exact || !tl_gather_reads(&j->in, NULL, 0)) return TALLY_OK;
    if (j->form.kind == TL_FORM_STATES && tl_present_takes(j->form.op)) {
        tl_present_reduce(&j->plan, threads, &j->in, out->data);
        *done = 1;
    } else if (j->in.rows == 1 && tl_present_blank(&j->form, &blank)) {
        const tally_status status = calls->plan_host(j->ctx->device, j->ctx, blank.op, blank.par, &plan);
        if (status) return status;
        tl_present_reduce_blank(&plan, &blank, threads, &j->in, out->data);
        *done = 1;
    }
    return TALLY_OK;
}

/* The processors' part of reduce. */
static tally_status reduce(job *j, tally_view *out)
{
    int done = 0;
    tally_status status = to_host(j, out);
    if (!status) status = reduce_present(j, out, &done);
    if (done) return status ? status : tl_host_back(j->ctx, &j->copies);
    if (!status) status = prepare(j, NULL, 0);
    if (!status && j->form.kind == TL_FORM_STATES)
        tl_states_reduce(&j->plan, tally_threads(j->ctx), &j->work, there(j), out->data);
    else if (!status)
        status = (j->plan.exact ? tl_exact_reduce : tl_reduce_view)(j->ctx, &j->plan, tally_threads(j->ctx), &j->work,
                                                                    out->data);
    return status ? status : tl_host_back(j->ctx, &j->copies);
}

tally_status tl_inputs_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    job j;
    tally_status status = open_job(&j, ctx, op, NULL, in, NULL, 0);
    if (!status && in->rows > 0 && !out)
        status = tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for %lld results", (long long)in->rows);
    if (!status) {
        const tally_view dense = tally_flat(out, j.form.op->out, in->rows);
        status = tl_view_check(ctx, &dense, "out", j.form.op->result_bytes);
        if (!status)
            status =
                tl_view_overlap(ctx, &j.in, (int64_t)tally_dtype_size(in->dtype), &dense, j.form.op->result_bytes, 0);
        if (!status) status = tl_inputs_apart(ctx, &j.in, &dense, j.form.op->result_bytes);
    }
    if (!status && in->rows > 0) {
        tally_view rows = tally_rows(out, j.form.op->out, in->rows, 1); /* a result for each sequence */
        int done = 0;
        tl_fp fp = tl_fp_enter();
        status = has_elements(&j.in) ? on_device(&j, TL_REDUCE, &rows, NULL, NULL, &done) : TALLY_OK;
        if (!status && !done) status = reduce(&j, &rows);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

/* The processors' part of scan. */
static tally_status scan(job *j, tally_view *y, const tally_scan_options *o)
{
    tally_scan_options forward = *o;
    forward.reverse = 0;
    tally_status status = to_host(j, y);
    if (!status) status = prepare(j, y, o->reverse);
    const int direct = !j->made.memory;
    tally_view dense = *y;
    if (!status && !direct) status = dense_results(j, y, j->plan.op->result_bytes, &dense);
    if (!status && j->form.kind == TL_FORM_STATES)
        tl_states_scan(&j->plan, tally_threads(j->ctx), &j->work, there(j), &dense, &forward);
    else if (!status)
        status = (j->plan.exact ? tl_exact_scan : tl_scan_view)(j->ctx, &j->plan, tally_threads(j->ctx), &j->work,
                                                                &dense, &forward);
    if (!status && !direct) scatter(&dense, y, j->plan.op->result_bytes, o->reverse);
    return status ? status : tl_host_back(j->ctx, &j->copies);
}

tally_status tl_inputs_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                            const tally_scan_options *given)
{
    job j;
    tally_status status = open_job(&j, ctx, op, NULL, in, out, 0);
    if (!status) status = tl_check_scan(ctx, &j.plan, given);
    if (!status) status = tl_check_output(ctx, j.form.named, &j.in, out ? &j.out : NULL, in->n, 1);
    if (!status) status = tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in)) {
        tally_scan_options o = given ? *given : (tally_scan_options){0};
        char start[16];
        int done;
        tl_fp fp = tl_fp_enter();
        tl_inputs_normal(&j.out);
        if (o.init && j.form.kind == TL_FORM_MARK) { /* a NaN there is a value */
            j.plan.mask->quiet(start, o.init, j.form.op->out, 1);
            o.init = start;
        }
        status = on_device(&j, TL_SCAN, &j.out, &o, NULL, &done);
        if (!status && !done) status = scan(&j, &j.out, &o);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

/* The processors' part of windows. */
static tally_status window(job *j, tally_view *y, const tally_window_options *o)
{
    const int threads = tally_threads(j->ctx);
    tally_status status = to_host(j, y);
    if (!status) status = prepare(j, NULL, 0);
    if (!status && j->plan.exact)
        status = tl_window_streams(o) ? tl_exact_window(&j->plan, threads, &j->work, y, o)
                                      : tl_exact_ranges_view(j->ctx, &j->plan, NULL, threads, &j->work, y, o);
    else if (!status && (j->form.kind == TL_FORM_STATES || !tl_window_streams(o)))
        status = ranges(j, y, o);
    else if (!status)
        status = tl_window_view(j->ctx, &j->plan, &j->count, threads, &j->work, y, o);
    return status ? status : tl_host_back(j->ctx, &j->copies);
}

static tally_status window_by(tally *ctx, const char *op, const tl_plan *named, const tally_view *in,
                              const tally_view *out, const tally_window_options *o)
{
    job j;
    tally_status status = open_job(&j, ctx, op, named, in, out, named != NULL);
    if (!status) status = tl_check_window(ctx, o);
    if (!status) status = tl_check_step(ctx, &j.in, o);
    if (!status)
        status = tl_check_output(ctx, j.form.named, &j.in, out ? &j.out : NULL, tally_window_length(in->n, o), 0);
    if (!status) status = tl_inputs_apart(ctx, &j.in, &j.out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in) && (j.out.offsets || j.out.n > 0)) {
        int done = 0;
        tl_fp fp = tl_fp_enter();
        tl_inputs_normal(&j.out);
        if (tl_window_streams(o)) status = on_device(&j, TL_WINDOW, &j.out, NULL, o, &done);
        if (!status && !done) status = window(&j, &j.out, o);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

tally_status tl_inputs_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                              const tally_window_options *o)
{
    return window_by(ctx, op, NULL, in, out, o);
}

tally_status tl_inputs_window_of(tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out,
                                 const tally_window_options *o)
{
    return window_by(ctx, plan->op->file, plan, in, out, o);
}

tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in, const tl_ranges *all,
                              const tally_view *out)
{
    job j;
    tally_status status = open_job(&j, ctx, op, NULL, in, NULL, 1);
    const int64_t bytes = j.form.op ? j.form.op->result_bytes : 0;
    if (!status) status = tl_inputs_apart(ctx, &j.in, out, bytes);
    if (!status) {
        tl_fp fp = tl_fp_enter();
        status = prepare(&j, NULL, 0);
        if (!status) status = run_ranges(&j, all, j.work.data, 0, out->data, tl_step(out->stride, bytes));
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

tally_status tl_inputs_exact(tally *ctx, const tally_view *x, tl_exact *sum)
{
    job j;
    tally_view none = tally_flat(NULL, TALLY_F32, 0), in, next;
    tally_status status = tl_inputs_check(ctx, x, "x", &in, &next); /* again below, by the name that verbs have */
    if (status) return status;
    status = open_job(&j, ctx, x->next ? "dot:exact" : "sum:exact", NULL, x, NULL, 0);
    if (!status && x->next && j.form.named->dtype == TALLY_F64)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "x->next is given: only products of f16, bf16 and f32 fit a tally_exact, and these are f64");
    if (!status && has_elements(&j.in)) {
        tl_fp fp = tl_fp_enter();
        status = to_host(&j, &none);
        if (!status) status = prepare(&j, NULL, 0);
        for (int64_t r = 0; r < j.work.rows && !status; r++) { /* gathered or as they lie, they are dense */
            int64_t n;
            const char *at = tl_view_row(&j.work, r, j.plan.op->elem_bytes, &n);
            tl_exact_slab(sum, &j.plan, tally_threads(ctx), at, n);
        }
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

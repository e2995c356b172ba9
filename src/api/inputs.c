/* SPDX-License-Identifier: MIT
 * Verbs on views with validity, or of two inputs: their checks, and one of three roads (cpu/inputs/). */
#include "inputs.h"
#include "checks.h"
#include "context/device.h"
#include "context/inputs.h"
#include "context/operators.h"
#include "context/view.h"
#include "dtype/dtype.h"
#include "cpu/inputs/gather.h"
#include "cpu/shape.h"
#include "cpu/inputs/states.h"
#include "exact/exact.h"
#include "law/fp.h"
#include <stdlib.h>

/* A call. in: the caller's view, checked, and its second one; work: what the plan reads, with its second one. */
typedef struct {
    tally *ctx;
    tl_form form;
    tally_view in, next, work, work_next;
    tl_plan plan, count;
    tl_gather gather, counting;
    tl_gathered made, counts;
    char *results; /* dense, before they go where the caller's have strides */
} job;

static const char what[] = "views with validity, or of two inputs,";

tally_dtype tl_inputs_dtype(const tally_view *in)
{
    if (!in->next || !tl_dtype_kind(in->dtype) || !tl_dtype_kind(in->next->dtype)) return in->dtype;
    return tl_common_dtype(in->dtype, in->next->dtype);
}

tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states, tl_feed *feed)
{
    tl_feed_begin(feed, plan->op, plan->par, absent, by_states);
    const tally_status status =
        ctx->device->calls->plan_host(ctx->device, ctx, feed->form.op, feed->form.par, &feed->plan);
    return status ? status : tl_plan_of_host(ctx, "count", TALLY_F32, &feed->count);
}

/* ---- checks ---- */

static tally_status check_bits(tally *ctx, const tally_view *v, const char *name)
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

tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *to)
{
    const int64_t bytes = (int64_t)tally_dtype_size(given->dtype);
    *to = *given;
    to->valid = NULL;
    to->next = NULL;
    tally_status status = TALLY_OK;
    if (given->offsets && given->rows > 0) status = tl_on_processors(ctx, given->offsets, "offsets", what, 0);
    if (!status) status = tl_view_check(ctx, to, name, bytes);
    if (!status) status = check_bits(ctx, given, name);
    if (!status) status = tl_on_processors(ctx, given->data, name, what, 0);
    if (!status && given->valid) status = tl_on_processors(ctx, given->valid, name, what, 0);
    to->valid = given->valid;
    return status;
}

void tl_inputs_normal(tally_view *v)
{
    tl_view_normal(v);
    if (!v->offsets && v->n == 1 && v->row_stride == 1) v->stride = 1;
}

/* named: NULL, or the operator that op was when a stream was opened. */
static tally_status open_job(job *j, tally *ctx, const char *op, const tl_plan *named, const tally_view *in,
                             const char *verb)
{
    *j = (job){.ctx = ctx};
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    tally_status status = named ? tl_form_fits(ctx, op, named->op, in, "in") : tl_form_of(ctx, op, in, &j->form);
    if (named) tl_form_begin(&j->form, named->op, named->par, tl_has_absent(in));
    if (!status) status = tl_inputs_check(ctx, in, "in", &j->in);
    if (!status && in->next) status = tl_inputs_check(ctx, in->next, "in->next", &j->next);
    if (status) return status;
    if (tl_exact_form_of(j->form.op))
        return tl_fail(ctx, TALLY_UNSUPPORTED, "op is '%.60s': exact sums take no validity yet (%s)", op, verb);
    if (in->next) j->in.next = &j->next;
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
}

/* ---- roads ---- */

/* j->plan, j->count and j->work are ready to run. */
static tally_status prepare(job *j, const tally_view *out, int reverse)
{
    const int states = j->form.kind == TL_FORM_STATES;
    tl_inputs_normal(&j->in);
    if (j->in.next) tl_inputs_normal(&j->next);
    if (!states && tl_gather_reads(&j->in, out, reverse)) {
        tl_gather_count(&j->counting, &j->form, &j->in, &j->count);
        tl_gather_direct(&j->gather, &j->form, &j->in, &j->plan);
        j->work = j->in;
        j->work.next = NULL;
        return TALLY_OK;
    }
    tally_status status = tl_gather_dense(j->ctx, &j->form, &j->in, &j->plan, reverse, 0, &j->made);
    if (!status) status = tl_gather_dense(j->ctx, &j->form, &j->in, &j->plan, reverse, 1, &j->counts);
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
        tl_gather_counted(&j->counting, &j->made, &j->counts, &j->count);
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

tally_status tl_inputs_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    job j;
    tally_status status = open_job(&j, ctx, op, NULL, in, "reduce");
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
        tl_fp fp = tl_fp_enter();
        status = prepare(&j, NULL, 0);
        if (!status && j.form.kind == TL_FORM_STATES)
            tl_states_reduce(&j.plan, tally_threads(ctx), &j.work, there(&j), out);
        else if (!status)
            status = tl_reduce_view(ctx, &j.plan, tally_threads(ctx), &j.work, out);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

tally_status tl_inputs_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                            const tally_scan_options *o)
{
    job j;
    tally_view y;
    const int reverse = o && o->reverse;
    tally_status status = open_job(&j, ctx, op, NULL, in, "scan");
    if (!status) status = tl_check_scan(ctx, &j.plan, o);
    if (!status) status = tl_check_output(ctx, j.form.named, &j.in, out, in->n, 1);
    if (!status) status = tl_inputs_apart(ctx, &j.in, out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in)) {
        tl_fp fp = tl_fp_enter();
        y = *out;
        tl_inputs_normal(&y);
        status = prepare(&j, &y, reverse);
        tally_scan_options forward = o ? *o : (tally_scan_options){0};
        char start[16];
        if (forward.init && j.form.kind == TL_FORM_MARK) { /* a NaN there is a value */
            j.plan.mask->quiet(start, forward.init, j.form.op->out, 1);
            forward.init = start;
        }
        const int direct = !j.made.memory;
        forward.reverse = 0;
        tally_view dense = y;
        if (!status && !direct) status = dense_results(&j, &y, j.plan.op->result_bytes, &dense);
        if (!status && j.form.kind == TL_FORM_STATES)
            tl_states_scan(&j.plan, tally_threads(ctx), &j.work, there(&j), &dense, &forward);
        else if (!status)
            status = tl_scan_view(ctx, &j.plan, tally_threads(ctx), &j.work, &dense, &forward);
        if (!status && !direct) scatter(&dense, &y, j.plan.op->result_bytes, reverse);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

static tally_status window(tally *ctx, const char *op, const tl_plan *named, const tally_view *in,
                           const tally_view *out, const tally_window_options *o)
{
    job j;
    tally_view y;
    tally_status status = open_job(&j, ctx, op, named, in, "window");
    if (!status) status = tl_check_window(ctx, o);
    if (!status) status = tl_check_step(ctx, &j.in, o);
    if (!status) status = tl_check_output(ctx, j.form.named, &j.in, out, tally_window_length(in->n, o), 0);
    if (!status) status = tl_inputs_apart(ctx, &j.in, out, j.form.op->result_bytes);
    if (!status && has_elements(&j.in) && (out->offsets || out->n > 0)) {
        tl_fp fp = tl_fp_enter();
        y = *out;
        tl_inputs_normal(&y);
        status = prepare(&j, NULL, 0);
        if (!status && (j.form.kind == TL_FORM_STATES || !tl_window_streams(o)))
            status = ranges(&j, &y, o);
        else if (!status)
            status = tl_window_view(ctx, &j.plan, &j.count, tally_threads(ctx), &j.work, &y, o);
        tl_fp_leave(fp);
    }
    close_job(&j);
    return status;
}

tally_status tl_inputs_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                              const tally_window_options *o)
{
    return window(ctx, op, NULL, in, out, o);
}

tally_status tl_inputs_window_of(tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out,
                                 const tally_window_options *o)
{
    return window(ctx, plan->op->file, plan, in, out, o);
}

tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in, const tl_ranges *all,
                              const tally_view *out)
{
    job j;
    tally_status status = open_job(&j, ctx, op, NULL, in, "window");
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

/* SPDX-License-Identifier: MIT
 * The three verbs. They check arguments, copy offsets to where they are read, and give the work to
 * the device. */
#include "context/device.h"
#include "checks.h"
#include "inputs.h"
#include "cpu/exact/exact.h"
#include "cpu/keys/ranges.h"
#include "law/fp.h"
#include "context/operators.h"
#include "context/view.h"
#include <stdlib.h>
#include <string.h>

static tally_status begin(tally *ctx, const char *op, const tally_view *in, tl_plan *plan)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!in) return tl_fail(ctx, TALLY_INVALID, "in is NULL: must be a view");
    return tl_plan_of(ctx, op, in->dtype, plan);
}

/* The views of a call. Offsets in device memory are copied to the host; close_views frees the
 * copies. */
typedef struct {
    tally_view in, out;
    int64_t *copies[2];
} views;

static void close_views(views *v)
{
    free(v->copies[0]);
    free(v->copies[1]);
}

/* Sets v->in and v->out (out may be NULL) to the views with offsets on the host. Checks v->in
 * only. */
static tally_status open_views(tally *ctx, const tl_plan *plan, const tally_view *in,
                               const tally_view *out, views *v)
{
    tally_status status = TALLY_OK;
    v->copies[0] = v->copies[1] = NULL;
    v->in = *in;
    if (out) v->out = *out;
    if (in->offsets) {
        status = tl_host_offsets(ctx, "in", &v->in, &v->copies[0]);
        if (!status && out && v->copies[0] && out->offsets == in->offsets && out->rows == in->rows)
            v->out.offsets = v->in.offsets;
        else if (!status && out)
            status = tl_host_offsets(ctx, "out", &v->out, &v->copies[1]);
    }
    return status ? status : tl_view_check(ctx, &v->in, "in", plan->op->elem_bytes);
}

/* Makes checked views normal, so that the device can compute with all their numbers. Returns
 * whether they have an element. */
static int views_work(views *v)
{
    tl_view_normal(&v->in);
    tl_view_normal(&v->out);
    return v->in.rows > 0 && (v->in.offsets || v->in.n > 0) && (v->out.offsets || v->out.n > 0);
}

/* ---- a plan runs on the device, or on the processors if the device has no kernels for it ---- */

static const char what_exact[] = "exact sums",
                  what_ranges[] = "windows of negative offsets or of a step",
                  what_reversed[] = "reversed scans of segments";

/* Prepares work for the processors: copies device memory to the host. tl_host_end copies results
 * back. */
static tally_status bring(tally *ctx, tl_host_copies *c, const tl_plan *plan, tally_view *in,
                          tally_view *out, const char *what)
{
    /* the device itself counts these elements when it gives the scan to the processors */
    const int64_t elements = what == what_reversed ? 0
                             : in->offsets         ? in->offsets[in->rows] - in->offsets[0]
                                                   : in->rows * in->n;
    tally_status status = tl_on_processors(ctx, NULL, "in", what, elements);
    if (!status) status = tl_host_view(ctx, c, in, plan->op->elem_bytes, 0, "in->data", what);
    return status ? status
                  : tl_host_view(ctx, c, out, plan->op->result_bytes, 1, "out->data", what);
}

static tally_status run_reduce(tally *ctx, const tl_plan *plan, const tally_view *in, void *out)
{
    const tl_device_calls *const calls = ctx->device->calls;
    tally_view x = *in, y = tally_flat(out, plan->op->out, in->rows);
    tl_host_copies c = {0};
    int done = 0;
    if (!plan->exact) return calls->reduce(ctx->device, ctx, plan, in, out);
    tally_status status =
        calls->exact ? calls->exact(ctx->device, ctx, plan, in, out, &done) : TALLY_OK;
    if (status || done) return status;
    status = bring(ctx, &c, plan, &x, &y, what_exact);
    if (!status) status = tl_exact_reduce(ctx, plan, tally_threads(ctx), &x, y.data);
    return tl_host_end(ctx, &c, status);
}

static tally_status run_scan(tally *ctx, const tl_plan *plan, const tally_view *in,
                             const tally_view *out, const tally_scan_options *o)
{
    const tl_device_calls *const calls = ctx->device->calls;
    tally_view x = *in, y = *out;
    tl_host_copies c = {0};
    tally_status status = TALLY_OK;
    /* devices give these to the processors */
    const int reversed = calls->owns && o && o->reverse && in->offsets;
    if (!plan->exact && !reversed) return calls->scan(ctx->device, ctx, plan, in, out, o);
    status = bring(ctx, &c, plan, &x, &y, plan->exact ? what_exact : what_reversed);
    if (!status && plan->exact) status = tl_exact_scan(ctx, plan, tally_threads(ctx), &x, &y, o);
    if (!status && !plan->exact) status = calls->scan(ctx->device, ctx, plan, &x, &y, o);
    return tl_host_end(ctx, &c, status);
}

static tally_status run_window(tally *ctx, const tl_plan *plan, const tl_plan *count,
                               const tally_view *in, const tally_view *out,
                               const tally_window_options *o)
{
    tally_view x = *in, y = *out;
    tl_host_copies c = {0};
    const int ranges = !tl_window_streams(o), threads = tally_threads(ctx);
    if (!plan->exact && !ranges)
        return ctx->device->calls->window(ctx->device, ctx, plan, count, in, out, o);
    tally_status status = bring(ctx, &c, plan, &x, &y, plan->exact ? what_exact : what_ranges);
    if (!status && !ranges) status = tl_exact_window(plan, threads, &x, &y, o);
    const tl_call call = {
        .verb = TL_WINDOW, .plan = plan, .count = count, .in = &x, .out = &y, .window = o};
    if (!status && ranges)
        status = (plan->exact ? tl_exact_ranges_view : tl_ranges_view)(ctx, &call, threads);
    return tl_host_end(ctx, &c, status);
}

/* ---- verbs ---- */

static tally_status reduce(tally *ctx, const tl_plan *plan, tally_view *in, void *out)
{
    if (in->rows == 0) return TALLY_OK;
    tl_view_normal(in);
    if (!out)
        return tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for %lld results",
                       (long long)in->rows);
    tally_view dense = tally_flat(out, plan->op->out, in->rows);
    tally_status status = tl_view_check(ctx, &dense, "out", plan->op->result_bytes);
    if (!status)
        status = tl_view_overlap(ctx, in, plan->op->elem_bytes, &dense, plan->op->result_bytes, 0);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    status = run_reduce(ctx, plan, in, out);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    if (tl_has_inputs(in)) return tl_inputs_reduce(ctx, op, in, out);
    tl_plan plan;
    views v;
    int done = 0;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status && in->offsets && in->rows > 0 && out && !plan.exact &&
        ctx->device->calls->reduce_segments)
        status = ctx->device->calls->reduce_segments(ctx->device, ctx, &plan, in, out, &done);
    if (status || done) return status;
    status = open_views(ctx, &plan, in, NULL, &v);
    if (!status) status = reduce(ctx, &plan, &v.in, out);
    close_views(&v);
    return status;
}

/* A scan or a window with validity bits of its results. */
static tally_status with_bits(tally *ctx, const char *op, const tally_view *in,
                              const tally_view *out, int window, const void *options)
{
    tl_validity *v;
    tally_view plain = *out;
    plain.valid = NULL;
    plain.valid_offset = 0;
    tally_status status = tl_validity_begin(ctx, op, in, out, window, options, &v);
    if (!status)
        status = window ? tally_window(ctx, op, in, &plain, options)
                        : tally_scan(ctx, op, in, &plain, options);
    return tl_validity_end(v, status);
}

tally_status tally_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                        const tally_scan_options *o)
{
    if (out && out->valid) return with_bits(ctx, op, in, out, 0, o);
    if (tl_has_inputs(in)) return tl_inputs_scan(ctx, op, in, out, o);
    tl_plan plan;
    views v;
    int done = 0;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status && in->offsets && in->rows > 0 && out && !plan.exact &&
        ctx->device->calls->scan_segments && !tl_check_scan(ctx, &plan, o))
        status = ctx->device->calls->scan_segments(ctx->device, ctx, &plan, in, out, o, &done);
    if (status || done) return status;
    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_scan(ctx, &plan, o);
    if (!status) status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL, in->n, 1);
    if (!status && views_work(&v)) {
        tl_fp fp = tl_fp_enter();
        status = run_scan(ctx, &plan, &v.in, &v.out, o);
        tl_fp_leave(fp);
    }
    close_views(&v);
    return status;
}

tally_status tally_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                          const tally_window_options *o)
{
    if (out && out->valid) return with_bits(ctx, op, in, out, 1, o);
    if (tl_has_inputs(in)) return tl_inputs_window(ctx, op, in, out, o);
    tl_plan plan, count;
    views v;
    int done = 0;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status) status = tl_plan_of(ctx, "count", in->dtype, &count);
    if (!status && in->offsets && in->rows > 0 && out && !plan.exact &&
        ctx->device->calls->window_segments && !tl_check_window(ctx, o) && tl_window_streams(o) &&
        o->edges != TALLY_EDGES_VALID)
        status =
            ctx->device->calls->window_segments(ctx->device, ctx, &plan, &count, in, out, o, &done);
    if (status || done) return status;
    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_window(ctx, o);
    if (!status && !tl_window_streams(o)) status = tl_plan_of_host(ctx, op, in->dtype, &plan);
    if (!status) status = tl_check_step(ctx, in, o);
    if (!status)
        status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL,
                                 tally_window_length(in->n, o), 0);
    if (!status && views_work(&v)) {
        tl_fp fp = tl_fp_enter();
        status = run_window(ctx, &plan, &count, &v.in, &v.out, o);
        tl_fp_leave(fp);
    }
    close_views(&v);
    return status;
}

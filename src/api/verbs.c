/* SPDX-License-Identifier: MIT
 * The three verbs. They check arguments, copy offsets to where they are read, and give the work to
 * the device. */
#include "context/device.h"
#include "checks.h"
#include "inputs.h"
#include "cpu/exact/exact.h"
#include "cpu/keys/ranges.h"
#include "cpu/shape.h"
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

/* ---- a call runs on the device, or on the processors if the device does not compute it ---- */

/* Runs a call that no device computes, on arrays in host memory. */
static tally_status run_here(tally *ctx, const tl_call *c)
{
    const int threads = tally_threads(ctx), exact = c->plan->exact != NULL;
    if (c->verb == TL_REDUCE) /* of exact sums */
        return tl_exact_reduce(ctx, c->plan, threads, c->in, c->out->data);
    if (c->verb == TL_SCAN)
        return (exact ? tl_exact_scan : tl_scan_view)(ctx, c->plan, threads, c->in, c->out,
                                                      c->scan);
    if (tl_window_streams(c->window))
        return tl_exact_window(c->plan, threads, c->in, c->out, c->window);
    return (exact ? tl_exact_ranges_view : tl_ranges_view)(ctx, c->plan, c->count, threads, c->in,
                                                           c->out, c->window);
}

/* Runs a call on the processors: device memory is copied to the host, and results back. */
static tally_status run_on_processors(tally *ctx, const tl_call *call)
{
    tally_view in = *call->in, out = *call->out;
    tl_plan plan = *call->plan;
    tl_call here = *call;
    here.plan = &plan, here.in = &in, here.out = &out;
    const int64_t elements = in.offsets ? in.offsets[in.rows] - in.offsets[0] : in.rows * in.n;
    const char *const what = plan.exact              ? "exact sums"
                             : call->verb == TL_SCAN ? "reversed scans of segments"
                                                     : "windows of negative offsets or of a step";
    tl_host_copies c = {0};
    tally_status status = tl_on_processors(ctx, NULL, "in", what, elements);
    if (!status) status = tl_host_view(ctx, &c, &in, plan.op->elem_bytes, 0, "in->data", what);
    if (!status) status = tl_host_view(ctx, &c, &out, plan.op->result_bytes, 1, "out->data", what);
    if (!status && !plan.core)
        status =
            ctx->device->calls->plan(ctx->device, ctx, plan.op, plan.par, TL_FOR_PROCESSORS, &plan);
    if (!status) status = run_here(ctx, &here);
    return tl_host_end(ctx, &c, status);
}

/* Runs a call on checked views. */
static tally_status run(tally *ctx, const tl_call *call)
{
    int done;
    tl_fp fp = tl_fp_enter();
    tally_status status = ctx->device->calls->run(ctx->device, ctx, call, &done);
    if (!status && !done) status = run_on_processors(ctx, call);
    tl_fp_leave(fp);
    return status;
}

/* Tries a call whose views are not checked yet: their offsets may be in device memory. */
static tally_status run_unchecked(tally *ctx, const tl_call *call, int *done)
{
    tl_call c = *call;
    c.unchecked = 1;
    *done = 0;
    if (!c.in->offsets || c.in->rows <= 0 || !c.out || c.plan->exact) return TALLY_OK;
    return ctx->device->calls->run(ctx->device, ctx, &c, done);
}

/* ---- verbs ---- */

static tally_status reduce(tally *ctx, const tl_plan *plan, tally_view *in, void *out)
{
    if (in->rows == 0) return TALLY_OK;
    tl_view_normal(in);
    if (!out)
        return tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for %lld results",
                       (long long)in->rows);
    tally_view dense = tally_flat(out, plan->op->out, in->rows),
               rows = tally_rows(out, plan->op->out, in->rows, 1);
    tally_status status = tl_view_check(ctx, &dense, "out", plan->op->result_bytes);
    if (!status)
        status = tl_view_overlap(ctx, in, plan->op->elem_bytes, &dense, plan->op->result_bytes, 0);
    if (status) return status;
    return run(ctx, &(tl_call){.verb = TL_REDUCE, .plan = plan, .in = in, .out = &rows});
}

tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    if (tl_has_inputs(in)) return tl_inputs_reduce(ctx, op, in, out);
    tl_plan plan;
    views v;
    int done = 0;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status && out) {
        const tally_view rows = tally_rows(out, plan.op->out, in->rows, 1);
        const tl_call call = {.verb = TL_REDUCE, .plan = &plan, .in = in, .out = &rows};
        status = run_unchecked(ctx, &call, &done);
    }
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
    tl_call call = {.verb = TL_SCAN, .plan = &plan, .in = in, .out = out, .scan = o};
    tally_status status = begin(ctx, op, in, &plan);
    if (!status && !tl_check_scan(ctx, &plan, o)) status = run_unchecked(ctx, &call, &done);
    if (status || done) return status;
    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_scan(ctx, &plan, o);
    if (!status) status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL, in->n, 1);
    call.in = &v.in, call.out = &v.out;
    if (!status && views_work(&v)) status = run(ctx, &call);
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
    tl_call call = {
        .verb = TL_WINDOW, .plan = &plan, .count = &count, .in = in, .out = out, .window = o};
    tally_status status = begin(ctx, op, in, &plan);
    if (!status) status = tl_plan_of(ctx, "count", in->dtype, &count);
    if (!status && !tl_check_window(ctx, o) && o->edges != TALLY_EDGES_VALID)
        status = run_unchecked(ctx, &call, &done);
    if (status || done) return status;
    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_window(ctx, o);
    if (!status && !tl_window_streams(o)) status = tl_plan_of_host(ctx, op, in->dtype, &plan);
    if (!status) status = tl_check_step(ctx, in, o);
    if (!status)
        status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL,
                                 tally_window_length(in->n, o), 0);
    call.in = &v.in, call.out = &v.out;
    if (!status && views_work(&v)) status = run(ctx, &call);
    close_views(&v);
    return status;
}

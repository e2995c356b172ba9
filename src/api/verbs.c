/* SPDX-License-Identifier: MIT
 * The three verbs. They check arguments, copy offsets to where they are read, and give the work to
 * the device. */
#include "context/device.h"
#include "checked.h"
#include "checks.h"
#include "inputs.h"
#include "context/operators.h"
#include "context/view.h"
#include "law/fp.h"
#include "cpu/isas.h"
#include <assert.h>
#include <stdatomic.h>
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
    return tl_run_checked(ctx, &(tl_call){.verb = TL_REDUCE, .plan = plan, .in = in, .out = &rows});
}

tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    tally_status status = tl_check_sums(ctx, op, &(tl_call){TL_REDUCE, .in = in}, NULL);
    if (status) return status;
    if (tl_has_inputs(in)) return tl_inputs_reduce(ctx, op, in, out);
    tl_plan plan;
    views v;
    int done = 0;
    status = begin(ctx, op, in, &plan);
    if (!status && out) {
        const tally_view rows = tally_rows(out, plan.op->out, in->rows, 1);
        const tl_call call = {.verb = TL_REDUCE, .plan = &plan, .in = in, .out = &rows};
        status = tl_run_unchecked(ctx, &call, &done);
    }

    if (status || done) return status;
    status = open_views(ctx, &plan, in, NULL, &v);
    if (!status) status = reduce(ctx, &plan, &v.in, out);
    close_views(&v);

    return status;
}

/* A scan or a window with validity bits of its results. */
static tally_status with_bits(tally *ctx, const char *op, const tl_call *call)
{
    assert(call->out && call->out->valid);
    assert(call->verb != TL_REDUCE);
    tl_validity *v;
    tally_view plain = *call->out;
    plain.valid = NULL;
    plain.valid_offset = 0;
    tally_status status = tl_validity_begin(ctx, op, call, &v);
    if (!status)
        status = call->verb == TL_WINDOW ? tally_window(ctx, op, call->in, &plain, call->window)
                                         : tally_scan(ctx, op, call->in, &plain, call->scan);

    return tl_validity_end(v, status);
}

tally_status tally_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                        const tally_scan_options *o)
{
    if (out && out->valid)
        return with_bits(ctx, op, &(tl_call){TL_SCAN, .in = in, .out = out, .scan = o});
    tl_plan plan;
    views v;
    int done = 0;
    tl_call call = {.verb = TL_SCAN, .plan = &plan, .in = in, .out = out, .scan = o};
    tally_status status = tl_check_sums(ctx, op, &call, NULL);
    if (status) return status;
    if (tl_has_inputs(in)) return tl_inputs_scan(ctx, op, in, out, o);

    status = begin(ctx, op, in, &plan);
    if (!status && !tl_check_scan(ctx, &plan, o)) status = tl_run_unchecked(ctx, &call, &done);
    if (status || done) return status;

    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_scan(ctx, &plan, o);
    if (!status) status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL, in->n, 1);
    call.in = &v.in, call.out = &v.out;
    if (!status && views_work(&v)) status = tl_run_checked(ctx, &call);
    close_views(&v);

    return status;
}

tally_status tally_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                          const tally_window_options *o)
{
    if (out && out->valid)
        return with_bits(ctx, op, &(tl_call){TL_WINDOW, .in = in, .out = out, .window = o});
    tl_plan plan, count;
    views v;
    int done = 0;
    tl_call call = {
        .verb = TL_WINDOW, .plan = &plan, .count = &count, .in = in, .out = out, .window = o};
    tally_status status = tl_check_sums(ctx, op, &call, NULL);
    if (status) return status;
    if (tl_has_inputs(in)) return tl_inputs_window(ctx, op, in, out, o);

    status = begin(ctx, op, in, &plan);
    if (!status) status = tl_plan_of(ctx, "count", in->dtype, &count);
    if (!status && !tl_check_window(ctx, o) && o->edges != TALLY_EDGES_VALID)
        status = tl_run_unchecked(ctx, &call, &done);
    if (status || done) return status;

    status = open_views(ctx, &plan, in, out, &v);
    if (!status) status = tl_check_window(ctx, o);
    if (!status && !tl_window_streams(o)) status = tl_plan_of_host(ctx, op, in->dtype, &plan);
    if (!status) status = tl_check_step(ctx, in, o);
    if (!status)
        status = tl_check_output(ctx, plan.op, &v.in, out ? &v.out : NULL,
                                 tally_window_length(in->n, o), 0);
    call.in = &v.in, call.out = &v.out;
    if (!status && views_work(&v)) status = tl_run_checked(ctx, &call);
    close_views(&v);

    return status;
}

/* ---- tally_sum_f32 and its like: kernels without a context, one row per function ---- */

/* The first use looks the kernel up. Several threads may do so at once: all store the same
 * pointers, by atomic stores. */
typedef struct {
    const char *op;
    tally_dtype dtype;
    _Atomic(const tl_scalar *) scalar;
    _Atomic(const tl_kernel *) kernel;
} entry;

static void run_entry(entry *e, const void *x, int64_t n, void *out)
{
    const tl_par par = {0};
    const tl_kernel *k = atomic_load_explicit(&e->kernel, memory_order_acquire);
    if (!k) {
        const tl_scalar *s;
        tl_par none;
        if (tl_resolve(NULL, e->op, e->dtype, &s, &none)) return;
        tl_plan plan;
        tl_plan_kernels(&plan, s, par, tl_isa_widest());
        k = plan.fold; /* all of these types have kernels of their own */
        atomic_store_explicit(&e->scalar, s, memory_order_relaxed);
        atomic_store_explicit(&e->kernel, k, memory_order_release);
    }

    const tl_scalar *s = atomic_load_explicit(&e->scalar, memory_order_relaxed);
    if (n <= 0 || !x) {
        s->empty(par, out);
        return;
    }

    tl_state state;
    tl_fp fp = tl_fp_enter();
    const tl_elements all = {x, n, 0, NULL, tl_prefetches(n * s->elem_bytes)};
    k->fold(&state, &all, par);
    s->lower(&state, n, 0, par, out);
    tl_fp_leave(fp);
}

#define ONE_LINER(op, name, dtype, in, result)                                                     \
    result tally_##op##_##name(const in *x, int64_t n)                                             \
    {                                                                                              \
        static entry e = {#op, dtype, NULL, NULL};                                                 \
        result r;                                                                                  \
        run_entry(&e, x, n, &r);                                                                   \
        return r;                                                                                  \
    }
ONE_LINER(sum, f32, TALLY_F32, float, float)
ONE_LINER(sum, f64, TALLY_F64, double, double)
ONE_LINER(sum, i32, TALLY_I32, int32_t, int64_t)
ONE_LINER(sum, i64, TALLY_I64, int64_t, int64_t)
ONE_LINER(mean, f32, TALLY_F32, float, float)
ONE_LINER(mean, f64, TALLY_F64, double, double)
ONE_LINER(min, f32, TALLY_F32, float, float)
ONE_LINER(min, f64, TALLY_F64, double, double)
ONE_LINER(min, i32, TALLY_I32, int32_t, int32_t)
ONE_LINER(max, f32, TALLY_F32, float, float)
ONE_LINER(max, f64, TALLY_F64, double, double)
ONE_LINER(max, i32, TALLY_I32, int32_t, int32_t)

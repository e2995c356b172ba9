/* SPDX-License-Identifier: MIT
 * The three verbs. They check arguments, copy offsets to where they are read, and give the work to
 * the device. */
#include "calls.h"
#include "context/view.h"
#include "law/fp.h"
#include "cpu/shape.h"
#include <stdatomic.h>
#include <string.h>

/* Tries a call whose offsets may be in device memory. Else nothing is written. */
static tally_status run_on_segments(tally *ctx, tl_call call, void *results, int *done)
{
    const int window = call.verb == TL_WINDOW;
    const tally_view rows = tally_rows(results, call.plan->op->out, call.in->rows, 1);
    if (results) call.out = &rows;
    call.unchecked = 1;
    if (call.in->rows <= 0 || !call.out || call.plan->exact ||
        (call.verb == TL_SCAN && tl_check_scan(ctx, call.plan, call.scan)) ||
        (window && (tl_check_window(ctx, call.window) || call.window->edges == TALLY_EDGES_VALID)))
        return TALLY_OK;
    return ctx->device->calls->run(ctx->device, ctx, &call, done);
}

/* Makes checked views normal. Is there something to compute? A reduction gives a result also
 * without elements. */
static int has_work(tl_verb verb, tally_view *in, tally_view *out)
{
    tl_view_normal(in);
    if (verb == TL_REDUCE) return in->rows > 0; /* its results are normal (tl_check_results) */
    tl_view_normal(out);
    return in->rows > 0 && (in->offsets || in->n > 0) && (out->offsets || out->n > 0);
}

/* Runs a verb on a view without validity bits and second inputs. No struct is copied or zeroed on
 * this path without need: that took a third of the time of a call on few elements. */
static tally_status run_plain(tally *ctx, const char *op, tl_call *call, void *results)
{
    if (!ctx) return tl_no_context();
    if (!call->in) return tl_invalid(ctx, "in is NULL: must be a view");
    const int window = call->verb == TL_WINDOW;
    const tally_dtype dtype = call->in->dtype;
    tl_plan plan, count;
    tally_view in, next, out;
    tally_scan_options scan;
    int64_t init;
    int done = 0;

    tally_status status = tl_plan_of(ctx, op, dtype, &plan);
    if (!status && window) status = tl_plan_of(ctx, "count", dtype, &count);
    call->plan = &plan, call->count = window ? &count : NULL;
    if (!status && call->in->offsets) status = run_on_segments(ctx, *call, results, &done);
    if (status || done) return status;

    tl_host_copies copies;
    copies.ctx = ctx, copies.count = 0;
    status = tl_host_call(&copies, call, &in, &next, &out);
    if (!status) status = tl_view_check(ctx, &in, "in", plan.op->elem_bytes);
    if (!status && call->verb == TL_REDUCE)
        status = tl_check_results(ctx, plan.op, &in, results, &out);
    else if (!status)
        status = tl_check_call(ctx, &plan, plan.op, call, &in, call->out ? &out : NULL);
    if (!status && window && !tl_window_streams(call->window))
        status = tl_plan_of_host(ctx, op, dtype, &plan);
    call->in = &in, call->out = &out;
    if (!status && call->scan && call->scan->init) { /* which may lie among the results */
        scan = *call->scan, call->scan = &scan;
        scan.init = memcpy(&init, scan.init, (size_t)tl_element_bytes(&out));
    }
    if (!status && has_work(call->verb, &in, &out)) status = tl_run_checked(ctx, call);
    tl_host_close(&copies);
    return status;
}

/* call: the verb, its views and its options; it is changed. results: of a reduction. */
static tally_status run_verb(tally *ctx, const char *op, tl_call *call, void *results)
{
    if (tl_is_checked(op)) TL_TRY(tl_check_sums(ctx, op, call, NULL));
    return tl_has_inputs(call->in) ? tl_inputs_run(ctx, op, call, results)
                                   : run_plain(ctx, op, call, results);
}

/* A scan or a window, perhaps with validity bits of its results. */
static tally_status run_with_bits(tally *ctx, const char *op, tl_call *call)
{
    if (!call->out || !call->out->valid) return run_verb(ctx, op, call, NULL);
    tl_validity *v;
    tally_view plain = *call->out;
    plain.valid = NULL;
    plain.valid_offset = 0;
    tally_status status = tl_validity_begin(ctx, op, call, &v);
    call->out = &plain;
    if (!status) status = run_verb(ctx, op, call, NULL);
    return tl_validity_end(v, status);
}

tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    return run_verb(ctx, op, &(tl_call){TL_REDUCE, .in = in}, out);
}

tally_status tally_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                        const tally_scan_options *o)
{
    return run_with_bits(ctx, op, &(tl_call){TL_SCAN, .in = in, .out = out, .scan = o});
}

tally_status tally_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                          const tally_window_options *o)
{
    return run_with_bits(ctx, op, &(tl_call){TL_WINDOW, .in = in, .out = out, .window = o});
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
    TL_LAW_FP;
    const tl_elements elements = {x, n, 0, NULL, tl_prefetches(n * s->elem_bytes)};
    k->fold(&state, &elements, par);
    s->lower(&state, n, 0, par, out);
}

#define ENTRY(op, name, dtype, in, result) \
    result tally_##op##_##name(const in *x, int64_t n) \
    { \
        static entry e = {#op, dtype, NULL, NULL}; \
        result r; \
        run_entry(&e, x, n, &r); \
        return r; \
    }
#define FLOATS(op) ENTRY(op, f32, TALLY_F32, float, float) ENTRY(op, f64, TALLY_F64, double, double)
FLOATS(sum)
FLOATS(mean)
FLOATS(min)
FLOATS(max)
ENTRY(sum, i32, TALLY_I32, int32_t, int64_t)
ENTRY(sum, i64, TALLY_I64, int64_t, int64_t)
ENTRY(min, i32, TALLY_I32, int32_t, int32_t)
ENTRY(max, i32, TALLY_I32, int32_t, int32_t)

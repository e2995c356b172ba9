/* SPDX-License-Identifier: MIT
 * tally_window_ranges and tally_window_bounds: their checks. */
#include "checks.h"
#include "context/device.h"
#include "context/threads.h"
#include "context/view.h"
#include "cpu/keys/bounds.h"
#include "cpu/exact/exact.h"
#include "cpu/keys/ranges.h"
#include "inputs.h"
#include "law/fp.h"

static const char what[] = "windows by ranges";

/* *v becomes the view, which must be one sequence of elements of `bytes` bytes, with numbers to
   calculate with. */
static tally_status one_sequence(tally *ctx, const tally_view *given, const char *name,
                                 int64_t bytes, tally_view *v)
{
    *v = *given;
    if (v->rows != 1 || v->offsets)
        return tl_fail(ctx, TALLY_INVALID,
                       "%s->rows is %lld%s: must be one sequence, rows 1 and no offsets", name,
                       (long long)v->rows, v->offsets ? " with offsets" : "");
    tally_status status = tl_view_check(ctx, v, name, bytes);
    if (!status) tl_view_normal(v);
    return status;
}

/* The processors do the work: the device's memory is copied for them, of two arrays of places
   and of views. */
static tally_status bring_places(tally *ctx, tl_host_copies *c, int64_t **start, int64_t **end,
                                 int64_t count, int back)
{
    tally_status status = tl_host_numbers(ctx, c, start, count, back, "start", what);
    return status ? status : tl_host_numbers(ctx, c, end, count, back, "end", what);
}
static int64_t *as_places(const int64_t *p) { return (int64_t *)(uintptr_t)p; }

enum { PART = 4096 }; /* ranges that are looked at without a branch */

typedef struct {
    const int64_t *start, *end;
    int64_t results, n;
    int64_t first; /* the first bad one so far */
} check_work;

static void check_part(void *data, int64_t p)
{
    check_work *w = data;
    const int64_t a = p * PART, b = a + PART < w->results ? a + PART : w->results, n = w->n;
    /* its highest bit: of any number below 0 (no difference of others overflows) */
    uint64_t bad = 0;
    for (int64_t r = a; r < b; r++)
        bad |= (uint64_t)w->start[r] | (uint64_t)w->end[r] |
               ((uint64_t)w->end[r] - (uint64_t)w->start[r]) | ((uint64_t)n - (uint64_t)w->end[r]);
    for (int64_t r = a; r < b && bad >> 63; r++)
        if (w->start[r] < 0 || w->end[r] < w->start[r] || w->end[r] > n) {
            tl_atomic_least(&w->first, r);
            return;
        }
}

/* The first range that is not one of 0 .. n, or `results`. */
static int64_t first_bad(int threads, const int64_t *start, const int64_t *end, int64_t results,
                         int64_t n)
{
    const int64_t parts = (results + PART - 1) / PART;
    check_work all = {start, end, results, n, results};
    tl_for(parts > 16 ? threads : 1, parts, check_part, &all);
    return all.first;
}

static tally_status run(tally *ctx, const tl_plan *plan, const tl_plan *count,
                        const tl_ranges *ranges, const tally_view *x, const tally_view *y)
{
    const int64_t step = tl_step(y->stride, plan->op->result_bytes);
    tally_status status = TALLY_OK;
    tl_fp fp = tl_fp_enter();
    if (plan->exact)
        tl_exact_ranges_run(plan, tally_threads(ctx), ranges, x->data, x->stride, y->data, step);
    else
        status = tl_ranges_run(ctx, plan, count, tally_threads(ctx), ranges, x->data, x->stride,
                               y->data, step);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_window_ranges(tally *ctx, const char *op, const tally_view *in,
                                 const int64_t *start, const int64_t *end, int64_t results,
                                 const tally_view *out, int64_t min_count)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!in || !out)
        return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must be a view", in ? "out" : "in");
    tl_plan plan, count;
    tl_form form;
    tally_view x, y, alone = *in;
    const int inputs = tl_has_inputs(in);
    tally_status status =
        inputs ? tl_form_of(ctx, op, in, &form) : tl_plan_of_host(ctx, op, in->dtype, &plan);
    if (!status && inputs) plan.op = form.named, plan.exact = NULL;
    if (!status && !inputs) status = tl_plan_of_host(ctx, "count", in->dtype, &count);
    alone.valid = NULL;
    alone.next = NULL;
    const int64_t bytes = (int64_t)tally_dtype_size(in->dtype);
    if (!status) status = one_sequence(ctx, &alone, "in", bytes, &x);
    if (status) return status;
    if (results < 0)
        return tl_fail(ctx, TALLY_INVALID, "results is %lld: must be at least 0",
                       (long long)results);
    if (out->dtype != plan.op->out)
        return tl_fail(ctx, TALLY_INVALID, "out->dtype is %s: %s of %s gives %s",
                       tally_dtype_name(out->dtype) ? tally_dtype_name(out->dtype) : "unknown",
                       plan.op->file, tally_dtype_name(in->dtype), tally_dtype_name(plan.op->out));
    if (out->n != results)
        return tl_fail(ctx, TALLY_INVALID, "out->n is %lld: must be results = %lld",
                       (long long)out->n, (long long)results);
    if (min_count < 0)
        return tl_fail(ctx, TALLY_INVALID, "min_count is %lld: must be at least 0",
                       (long long)min_count);
    status = one_sequence(ctx, out, "out", plan.op->result_bytes, &y);
    if (!status) status = tl_view_distinct(ctx, &y, "out");
    if (!status) status = tl_view_overlap(ctx, &x, bytes, &y, plan.op->result_bytes, 0);
    if (status || results == 0) return status;
    if (!start || !end)
        return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must be %lld places",
                       start ? "end" : "start", (long long)results);
    tl_host_copies c = {0};
    tally_view all, second;
    int64_t *from = as_places(start), *to = as_places(end);
    status = tl_on_processors(ctx, NULL, "in", what, x.n);
    if (!status) status = bring_places(ctx, &c, &from, &to, results, 0);
    if (!status) status = inputs ? tl_inputs_check(ctx, in, "in", &all, &second) : TALLY_OK;
    const int64_t r = status ? results : first_bad(tally_threads(ctx), from, to, results, x.n);
    if (r < results)
        status = tl_fail(ctx, TALLY_INVALID,
                         "range %lld is %lld..%lld: must be 0 <= start <= end <= %lld = in->n",
                         (long long)r, (long long)from[r], (long long)to[r], (long long)x.n);
    if (!status)
        status = inputs ? tl_inputs_bring(ctx, &c, &all, &second, "in", what)
                        : tl_host_view(ctx, &c, &x, bytes, 0, "in", what);
    if (!status) status = tl_host_view(ctx, &c, &y, plan.op->result_bytes, 1, "out", what);
    const tl_ranges ranges = {from, to, NULL, x.n, results, 0, 1, min_count};
    if (!status && inputs)
        status = tl_inputs_ranges(ctx, op, &all, &ranges, &y);
    else if (!status)
        status = run(ctx, &plan, &count, &ranges, &x, &y);
    return tl_host_end(ctx, &c, status);
}

tally_status tally_window_bounds(tally *ctx, const tally_view *keys, const tally_key_window *w,
                                 int64_t *start, int64_t *end)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!keys || !w) return tl_fail(ctx, TALLY_INVALID, "%s is NULL", keys ? "window" : "keys");
    tally_view v;
    const tally_dtype d = keys->dtype;
    if (d != TALLY_I32 && d != TALLY_I64 && d != TALLY_U64 && d != TALLY_F64)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "keys->dtype is %s: must be i32, i64, u64 or f64",
                       tally_dtype_name(d) ? tally_dtype_name(d) : "unknown");
    if ((unsigned)w->ties > TALLY_TIES_ROW)
        return tl_fail(ctx, TALLY_INVALID, "ties is %d: must be 0 (all) or 1 (row)", (int)w->ties);
    if (d == TALLY_F64 && (w->lows || w->highs))
        return tl_fail(ctx, TALLY_INVALID,
                       "%s: keys of f64 have one low_real and high_real for all rows",
                       w->lows ? "lows" : "highs");
    if (d == TALLY_F64 && (w->low_real != w->low_real || w->high_real != w->high_real))
        return tl_fail(ctx, TALLY_INVALID, "%s is NaN: must be a number",
                       w->low_real != w->low_real ? "low_real" : "high_real");
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    tally_status status = one_sequence(ctx, keys, "keys", bytes, &v);
    if (status || v.n == 0) return status;
    if (!start || !end)
        return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must have room for %lld places",
                       start ? "end" : "start", (long long)v.n);
    tl_host_copies c = {0};
    tally_key_window window = *w;
    int64_t *lows = as_places(w->lows), *highs = as_places(w->highs);
    int descending;
    status = tl_on_processors(ctx, NULL, "keys", what, v.n);
    if (!status) status = tl_host_view(ctx, &c, &v, bytes, 0, "keys", what);
    if (!status) status = tl_host_numbers(ctx, &c, &lows, v.n, 0, "lows", what);
    if (!status) status = tl_host_numbers(ctx, &c, &highs, v.n, 0, "highs", what);
    window.lows = lows, window.highs = highs;
    const int64_t bad = status ? v.n : tl_bounds_order(tally_threads(ctx), &v, &descending);
    if (bad < v.n) {
        char text[2][48] = {"", ""};
        for (int k = 0; k < 2 && bad - k >= 0; k++)
            tally_format_value(d, (const char *)v.data + (bad - k) * v.stride * bytes, 0, text[k],
                               sizeof text[k]);
        status =
            tl_fail(ctx, TALLY_INVALID, "keys: row %lld is %s%s%s: keys must be numbers that %s",
                    (long long)bad, text[0], bad ? ", after " : "", text[1],
                    descending ? "descend" : "ascend");
    }
    if (!status) status = bring_places(ctx, &c, &start, &end, v.n, 1);
    if (!status) tl_bounds(tally_threads(ctx), &v, descending, &window, start, end);
    return tl_host_end(ctx, &c, status);
}

/* SPDX-License-Identifier: MIT
 * tally_window_ranges and tally_window_bounds: their checks. */
#include "calls.h"
#include "context/threads.h"
#include "context/view.h"
#include "dtype/number.h"
#include "law/fp.h"
#include <assert.h>
#include <string.h>

/* The address may be replaced by that of a copy (tl_host_numbers). The integers are only read. */
static int64_t *without_const(const int64_t *p) { return (int64_t *)(uintptr_t)p; }

enum { PART = 4096 }; /* ranges that are checked together without a branch */

typedef struct {
    const int64_t *start, *end;
    int64_t n;
} check_work;

/* The first range that is not within 0 .. n. */
static int64_t find_bad(const void *data, int64_t a, int64_t b)
{
    const check_work *w = data;
    const int64_t n = w->n;

    /* bit 63 is set if a number is below 0; differences of valid numbers do not overflow */
    uint64_t bad = 0;

    for (int64_t r = a; r < b; r++)
        bad |= (uint64_t)w->start[r] | (uint64_t)w->end[r] |
               ((uint64_t)w->end[r] - (uint64_t)w->start[r]) | ((uint64_t)n - (uint64_t)w->end[r]);
    for (int64_t r = a; r < b && bad >> 63; r++)
        if (w->start[r] < 0 || w->end[r] < w->start[r] || w->end[r] > n) return r;
    return INT64_MAX;
}

static void run(tally *ctx, const tl_plan *plan, const tl_plan *count, const tl_ranges *ranges,
                const tally_view *x, const tally_view *y)
{
    const tl_line line = {x->data, x->stride, y->data, tl_step(y->stride, plan->op->result_bytes)};
    TL_LAW_FP;
    tl_ranges_run(plan, count, tally_threads(ctx), ranges, line);
}

tally_status tally_window_ranges(tally *ctx, const char *op, const tally_view *in,
                                 const int64_t *start, const int64_t *end, int64_t results,
                                 const tally_view *out, int64_t min_count)
{
    if (!ctx) return tl_no_context();
    if (!in || !out) return tl_invalid(ctx, "%s is NULL: must be a view", in ? "out" : "in");
    tl_plan plan, count;
    tl_form form;
    tally_view x, y;
    const int inputs = tl_has_inputs(in);
    TL_TRY(inputs ? tl_form_of(ctx, op, in, &form) : tl_plan_of_host(ctx, op, in->dtype, &plan));

    /* tl_inputs_ranges makes a plan of its own; the checks here need the operator only */
    if (inputs) plan.op = form.named, plan.exact = NULL;
    if (!inputs) TL_TRY(tl_plan_of_host(ctx, "count", in->dtype, &count));
    const int64_t bytes = tl_element_bytes(in);
    TL_TRY(tl_check_sequence(ctx, in, "in", bytes, 1, &x));

    if (results < 0) return tl_invalid(ctx, "results is %ld: must be at least 0", results);

    TL_TRY(tl_check_output_dtype(ctx, plan.op, in->dtype, out, "out->"));

    if (out->n != results)
        return tl_invalid(ctx, "out->n is %ld: must be results = %ld", out->n, results);
    if (min_count < 0) return tl_invalid(ctx, "min_count is %ld: must be at least 0", min_count);
    TL_TRY(tl_check_sequence(ctx, out, "out", plan.op->result_bytes, 0, &y));
    TL_TRY(tl_view_distinct(ctx, &y, "out"));
    TL_TRY(tl_check_overlap(ctx, &x, bytes, &y, plan.op->result_bytes, 0));
    if (results == 0) return TALLY_OK;

    if (!start || !end)
        return tl_invalid(ctx, "%s is NULL: must be %ld places", start ? "end" : "start", results);
    if (tl_view_overlaps_numbers(&y, plan.op->result_bytes, start, results) ||
        tl_view_overlaps_numbers(&y, plan.op->result_bytes, end, results))
        return tl_invalid(ctx, "out overlaps start or end: give it memory of its own");
    TL_HOST_COPIES(c, ctx);
    tally_view all, second;
    int64_t *from = without_const(start), *to = without_const(end);
    ctx->device->on_processors += x.n;
    TL_TRY(tl_host_numbers(&c, &from, results, 0, "start"));
    TL_TRY(tl_host_numbers(&c, &to, results, 0, "end"));
    if (inputs) TL_TRY(tl_inputs_check(ctx, in, "in", &all, &second));
    const check_work checked = {from, to, x.n};
    const int threads = results > 16 * PART ? tally_threads(ctx) : 1;
    const int64_t r = tl_find(threads, results, PART, find_bad, &checked);
    if (r < results)
        return tl_invalid(ctx, "range %ld is %ld..%ld: must be 0 <= start <= end <= %ld = in->n", r,
                          from[r], to[r], x.n);

    TL_TRY(inputs ? tl_inputs_bring(&c, &all, &second) : tl_host_view(&c, &x, bytes, 0));
    TL_TRY(tl_host_view(&c, &y, plan.op->result_bytes, 1));
    const tl_ranges ranges = {from, to, NULL, x.n, results, 0, 1, min_count};
    TL_TRY(tl_check_sums(ctx, op, &(tl_call){TL_WINDOW, .in = in}, &ranges));

    if (inputs)
        TL_TRY(tl_inputs_ranges(ctx, op, &all, &ranges, &y));
    else
        run(ctx, &plan, &count, &ranges, &x, &y);
    return tl_host_back(&c);
}

static tally_status parts_check(tally *ctx, tally_dtype keys, const tally_key_window *w)
{
    const struct {
        const char *name;
        int64_t value;
    } parts[] = {{"low_part", w->low_part}, {"high_part", w->high_part}};

    for (int i = 0; i < 2; i++)
        if (parts[i].value < 0 || parts[i].value >= TALLY_KEY_PART)
            return tl_invalid(ctx, "%s is %ld: must be in 0..10^18 - 1", parts[i].name,
                              parts[i].value);

    if (keys == TALLY_F64 && (w->parts || w->low_part || w->high_part))
        return tl_invalid(ctx, "%s: keys of f64 have no parts",
                          w->parts      ? "parts"
                          : w->low_part ? "low_part"
                                        : "high_part");
    return TALLY_OK;
}

/* A key with its decimal part as text. */
static void key_text(const tally_view *keys, const int64_t *parts, int64_t row,
                     char text[TL_DECIMAL_CHARS])
{
    assert(row >= 0 && row < keys->n);
    const void *const at = (const char *)keys->data + row * keys->stride * tl_element_bytes(keys);
    tally_format_value(keys->dtype, at, 0, text, TL_DECIMAL_CHARS);
    if (!parts) return;
    __int128 units;
    tl_decimal_parse(text, text + strlen(text), &units);
    tl_decimal_format(units + parts[row], text);
}

static tally_status window_check(tally *ctx, const tally_view *keys, const tally_key_window *w)
{
    const tally_dtype d = keys->dtype;
    if (d != TALLY_I32 && d != TALLY_I64 && d != TALLY_U64 && d != TALLY_F64)
        return tl_unsupported(ctx, "keys->dtype is %s: must be i32, i64, u64 or f64",
                              tl_dtype_word(d));
    if ((unsigned)w->ties > TALLY_TIES_ROW)
        return tl_invalid(ctx, "ties is %d: must be 0 (all) or 1 (row)", (int)w->ties);

    if (d == TALLY_F64 && (w->lows || w->highs))
        return tl_invalid(ctx, "%s: keys of f64 have one low_real and high_real for all rows",
                          w->lows ? "lows" : "highs");

    if (d == TALLY_F64 && (w->low_real != w->low_real || w->high_real != w->high_real))
        return tl_invalid(ctx, "%s is NaN: must be a number",
                          w->low_real != w->low_real ? "low_real" : "high_real");

    if (d == TALLY_F64 ? w->low || w->high : w->low_real != 0 || w->high_real != 0)
        return tl_invalid(ctx, "%s is not 0, and keys are %s: they have low%s and high%s",
                          d == TALLY_F64     ? w->low ? "low" : "high"
                          : w->low_real != 0 ? "low_real"
                                             : "high_real",
                          tally_dtype_name(d), d == TALLY_F64 ? "_real" : "",
                          d == TALLY_F64 ? "_real" : "");
    return parts_check(ctx, d, w);
}

/* Checks that the keys are sorted, and that their parts are in range. */
static tally_status keys_check(tally *ctx, const tally_view *v, const tally_key_window *w,
                               int *descending)
{
    for (int64_t i = 0; w->parts && i < v->n; i++)
        if (w->parts[i] < 0 || w->parts[i] >= TALLY_KEY_PART)
            return tl_invalid(ctx, "parts[%ld] is %ld: must be in 0..10^18 - 1", i, w->parts[i]);
    const int64_t bad = tl_bounds_order(tally_threads(ctx), v, w, descending);
    if (bad == v->n) return TALLY_OK;
    char text[2][TL_DECIMAL_CHARS] = {"", ""};
    for (int k = 0; k < 2 && bad - k >= 0; k++) key_text(v, w->parts, bad - k, text[k]);

    return tl_invalid(ctx, "keys: row %ld is %s%s%s: keys must be numbers that %s", bad, text[0],
                      bad ? ", after " : "", text[1], *descending ? "descend" : "ascend");
}

/* The error for a window that leaves out the row after `row`, which has the same key, but
 * contains a later row. */
static tally_status not_a_range(tally *ctx, const tally_view *v, const tally_key_window *w,
                                int64_t row)
{
    assert(row >= 0 && row < v->n);
    char text[TL_DECIMAL_CHARS];
    key_text(v, w->parts, row, text);
    return tl_invalid(
        ctx,
        "ties is 1 (row): rows %ld and %ld have the key %s, and the window of row %ld goes on "
        "behind them: without the second it would not be one range; use ties 0 (all)",
        row, row + 1, text, row);
}

tally_status tally_window_bounds(tally *ctx, const tally_view *keys, const tally_key_window *w,
                                 int64_t *start, int64_t *end)
{
    if (!ctx) return tl_no_context();
    if (!keys || !w) return tl_invalid(ctx, "%s is NULL", keys ? "window" : "keys");

    tally_view v;
    TL_LAW_FP;
    const int64_t bytes = tl_element_bytes(keys);
    TL_TRY(window_check(ctx, keys, w));
    TL_TRY(tl_check_sequence(ctx, keys, "keys", bytes, 0, &v));
    if (v.n == 0) return TALLY_OK;

    if (!start || !end)
        return tl_invalid(ctx, "%s is NULL: must have space for %ld places",
                          start ? "end" : "start", v.n);
    const int64_t *const arrays[] = {start, end, w->lows, w->highs, w->parts};

    for (int i = 0; i < 10; i++) {
        const tally_view of = i / 5 == i % 5 ? v : tally_flat(arrays[i / 5], TALLY_I64, v.n);
        if (tl_view_overlaps_numbers(&of, tl_element_bytes(&of), arrays[i % 5], v.n))
            return tl_invalid(ctx, "start or end overlaps another array: give it its own memory");
    }
    TL_HOST_COPIES(c, ctx);
    tally_key_window window = *w;
    int64_t *lows = without_const(w->lows), *highs = without_const(w->highs),
            *parts = without_const(w->parts);
    int descending = 0;
    ctx->device->on_processors += v.n;
    TL_TRY(tl_host_view(&c, &v, bytes, 0));
    TL_TRY(tl_host_numbers(&c, &lows, v.n, 0, "lows"));
    TL_TRY(tl_host_numbers(&c, &highs, v.n, 0, "highs"));
    TL_TRY(tl_host_numbers(&c, &parts, v.n, 0, "parts"));
    window.lows = lows, window.highs = highs, window.parts = parts;
    TL_TRY(keys_check(ctx, &v, &window, &descending));
    TL_TRY(tl_host_numbers(&c, &start, v.n, 1, "start"));
    TL_TRY(tl_host_numbers(&c, &end, v.n, 1, "end"));
    const int64_t row = tl_bounds(tally_threads(ctx), &v, descending, &window, start, end);
    return row < v.n ? not_a_range(ctx, &v, &window, row) : tl_host_back(&c);
}

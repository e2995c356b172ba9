/* SPDX-License-Identifier: MIT
 * Windows by ranges beside the law's reduction of each range; windows over sorted keys beside a
 * look at every row, for every kind of interval, ties, falling keys and limits beyond 64 bits;
 * negative offsets and steps through the public calls (tally_verify has their bits); short rows
 * and segments at the end of memory, also in place; bad arguments. */
#include "check.h"
#include "context/context.h"
#include "law/spec.h"
#include <sys/mman.h>

enum { MOST = 70000 };
static char data[MOST * 8], got[MOST * 16], want[MOST * 16];
static char scanned[1 << 18];
static unsigned char bits[MOST / 4];
static int64_t start[MOST], end[MOST];

static void ranges(tally *ctx, int64_t n, int64_t results, int sorted)
{
    const check_operator o = check_operator_random();
    const tl_scalar *op;
    tl_par par;
    const int64_t stride = check_below(3) ? 1 : 1 - 2 * check_below(2),
                  least = check_below(3) ? 0 : check_below(9),
                  length = 1 + check_below(check_below(2) ? 12 : 300);
    if (tl_resolve(NULL, o.op, o.dtype, &op, &par)) return;
    check_fill(data, o.dtype, n, (tl_data)check_below(TL_DATA_KINDS));
    const char *const first = data + (stride < 0 && n ? (n - 1) * o.bytes : 0);
    for (int64_t r = 0; r < results; r++) {
        start[r] = sorted ? r * n / results : check_below(n + 1);
        end[r] = start[r] + check_below(length);
        if (end[r] > n) end[r] = n;
        if (r && check_below(4) == 0) start[r] = start[r - 1], end[r] = end[r - 1];
        int64_t counted = 0;
        for (int64_t i = start[r]; i < end[r]; i++)
            counted += !op->is_masked(first + i * stride * o.bytes, par);
        if (!op->masked) counted = end[r] - start[r];
        if (counted >= least)
            tl_spec_reduce((tl_spec_sequence){op, par, first + start[r] * stride * o.bytes, stride,
                                              end[r] - start[r]},
                           NULL, want + r * o.result);
        else
            op->empty(par, want + r * o.result);
    }
    const tally_view in = {(void *)(uintptr_t)first, o.dtype, 1, n, n, stride, NULL},
                     out = tally_flat(got, o.info.output, results);
    memset(got, 0x55, (size_t)((results + 1) * o.result));
    check_ok(ctx, tally_window_ranges(ctx, o.op, &in, start, end, results, &out, least), o.op);
    check_same(got, want, results, o.result, "%s %s n=%lld ranges %lld min_count %lld", o.op,
               tally_dtype_name(o.dtype), (long long)n, (long long)results, (long long)least);
    check(got[results * o.result] == 0x55, "a byte behind the results");
}

/* Ranges as windows over keys have them: most overlap, many of one length, some empty or longer
   than a tile. */
static void dense(tally *ctx, int64_t n, int64_t length, int irregular)
{
    const check_operator o = check_operator_random();
    const tl_scalar *op;
    tl_par par;
    if (tl_resolve(NULL, o.op, o.dtype, &op, &par)) return;
    check_fill(data, o.dtype, n, (tl_data)check_below(TL_DATA_KINDS));
    for (int64_t r = 0; r < n; r++) {
        start[r] = r - length + 1 + (irregular ? check_below(9) : 0);
        start[r] = start[r] < 0 ? 0 : start[r] > n ? n : start[r];
        end[r] =
            irregular && check_below(50) == 0 ? start[r] : r + 1 + (irregular ? check_below(9) : 0);
        if (irregular && check_below(900) == 0) start[r] = 0;
        if (end[r] > n) end[r] = n;
        if (end[r] < start[r]) end[r] = start[r];
    }
    const tally_view in = tally_flat(data, o.dtype, n), out = tally_flat(got, o.info.output, n);
    memset(got, 0x55, sizeof got);
    check_ok(ctx, tally_window_ranges(ctx, o.op, &in, start, end, n, &out, 0), o.op);
    /* quick: of long ranges the law makes some, beside each other, so that every lane is one */
    const int64_t each = check_quick && length > 500 ? 300 : n, some = each < n ? 17 : n;
    memcpy(want, got, (size_t)(n * o.result));
    for (int64_t r = 0; r < n; r++)
        if (r % each < some || r > n - some)
            tl_spec_reduce(
                (tl_spec_sequence){op, par, data + start[r] * o.bytes, 1, end[r] - start[r]}, NULL,
                want + r * o.result);
    check_same(got, want, n, o.result, "%s %s n=%lld windows of %lld%s", o.op,
               tally_dtype_name(o.dtype), (long long)n, (long long)length,
               irregular ? ", irregular" : "");
}

enum {
    AS_ROWS,     /* a length for all, as windows of rows have */
    AS_TIMES,    /* lengths that change little, ends that never go back */
    AS_FALLING,  /* the same backwards */
    ANYWHERE,    /* any ranges in any order */
    SOME_GIANTS, /* short ones, and a few of most of the sequence */
    WITH_GAPS,   /* bursts of long ranges, far apart */
    PATTERNS
};

/* Range r of a pattern; length: about. */
static void pattern_range(int pattern, int64_t r, int64_t results, int64_t n, int64_t length)
{
    int64_t last = (int64_t)((double)r / (double)results * (double)n), width = length;
    if (pattern == AS_FALLING) last = n - 1 - last;
    if (pattern == AS_TIMES || pattern == AS_FALLING) width += check_below(length / 4 + 1);
    if (pattern == ANYWHERE) last = check_below(n), width = check_below(2 * length);
    if (pattern == SOME_GIANTS) width = check_below(700) ? 1 + check_below(90) : n - n / 9;
    if (pattern == WITH_GAPS && last / 6000 % 3 == 1) width = check_below(3);
    end[r] = last + 1;
    start[r] = last + 1 - width < 0 ? 0 : last + 1 - width;
}

/* Ranges of up to the whole sequence. All results are made; the law makes some of them. */
static void longer(tally *ctx, int pattern)
{
    const int samples = check_quick ? 12 : 40;
    const check_operator o = check_operator_random();
    const tl_scalar *op;
    tl_par par;
    if (tl_resolve(NULL, o.op, o.dtype, &op, &par)) return;
    const int64_t n = 20000 + check_below(MOST - 20000), results = 9000 + check_below(n - 9000),
                  length = 1 + check_below(check_below(2) ? 3000 : n), least = check_below(2) * 40;
    check_fill(data, o.dtype, n, (tl_data)check_below(TL_DATA_KINDS));
    for (int64_t r = 0; r < results; r++) pattern_range(pattern, r, results, n, length);
    const tally_view in = tally_flat(data, o.dtype, n),
                     out = tally_flat(got, o.info.output, results);
    memset(got, 0x55, sizeof got);
    check_ok(ctx, tally_window_ranges(ctx, o.op, &in, start, end, results, &out, least), o.op);
    for (int k = 0; k < samples; k++) {
        const int64_t r = k ? check_below(results) : results - 1;
        int64_t counted = 0;
        for (int64_t i = start[r]; i < end[r]; i++)
            counted += !op->masked || !op->is_masked(data + i * o.bytes, par);
        if (counted >= least)
            tl_spec_reduce(
                (tl_spec_sequence){op, par, data + start[r] * o.bytes, 1, end[r] - start[r]}, NULL,
                want);
        else
            op->empty(par, want);
        check_same(got + r * o.result, want, 1, o.result,
                   "%s %s n=%lld pattern %d range %lld of %lld: %lld..%lld min_count %lld", o.op,
                   tally_dtype_name(o.dtype), (long long)n, pattern, (long long)r,
                   (long long)results, (long long)start[r], (long long)end[r], (long long)least);
    }
    check(got[results * o.result] == 0x55, "a byte behind the results");
}

/* Exact sums of ranges: those of each range alone, whatever the order. */
static void exact(tally *ctx, int sorted)
{
    static const char *const ops[] = {"sum:exact", "mean:exact", "nansum:exact", "nanmean:exact"};
    const char *const op = ops[check_below(4)];
    const tally_dtype d = (tally_dtype)(TALLY_F16 + check_below(4));
    const int64_t n = 3000, results = check_quick ? 300 : 2000,
                  bytes = (int64_t)tally_dtype_size(d), result = d == TALLY_F64 ? 8 : 4;
    check_fill(data, d, n, (tl_data)check_below(TL_DATA_KINDS));
    for (int64_t r = 0; r < results; r++) {
        start[r] = sorted ? r : check_below(n);
        end[r] = start[r] + check_below(sorted ? 90 : n);
        if (end[r] > n) end[r] = n;
        const tally_view one = tally_flat(data + start[r] * bytes, d, end[r] - start[r]);
        check_ok(ctx, tally_reduce(ctx, op, &one, want + r * result), op);
    }
    const tally_view in = tally_flat(data, d, n),
                     out = tally_flat(got, d == TALLY_F64 ? TALLY_F64 : TALLY_F32, results);
    check_ok(ctx, tally_window_ranges(ctx, op, &in, start, end, results, &out, 0), op);
    check_same(got, want, results, result, "ranges of %s %s", op, tally_dtype_name(d));
}

/* ---- bounds ---- */

static double real_at(tally_dtype d, int64_t i)
{
    if (d == TALLY_F64) return ((double *)data)[i];
    return d == TALLY_I32   ? ((int32_t *)data)[i]
           : d == TALLY_I64 ? (double)((int64_t *)data)[i]
                            : (double)((uint64_t *)data)[i];
}

static void bounds(tally *ctx, tally_dtype d, int64_t n, int falls)
{
    enum { FAR = 200 }; /* rows, whose keys are some 260 apart; no window reaches 70 */
    static int64_t lows[MOST], highs[MOST];
    tally_key_window w = {.low = check_below(30) - 20,
                          .low_open = (int)check_below(2),
                          .high_open = (int)check_below(2),
                          .ties = (tally_ties)check_below(2)};
    w.high = w.low + check_below(25) - 2;
    w.low_real = (double)w.low / 2;
    w.high_real = (double)w.high / 2;
    if (d == TALLY_F64)
        w.low = w.high = 0;
    else
        w.low_real = w.high_real = 0;
    const int each = d != TALLY_F64 && check_below(3) == 0;
    int64_t at = 1000 + (falls ? 3 * n : 0); /* small numbers: exact as f64 */
    for (int64_t i = 0; i < n; i++) {
        at += (falls ? -1 : 1) * (check_below(3) ? 0 : check_below(9));
        if (d == TALLY_I32) ((int32_t *)data)[i] = (int32_t)at;
        if (d == TALLY_F64) ((double *)data)[i] = (double)at / 2;
        if (d == TALLY_I64 || d == TALLY_U64) ((int64_t *)data)[i] = at;
        lows[i] = check_below(40) - 30;
        highs[i] = lows[i] + check_below(30) - 3;
    }
    if (each) w.lows = lows, w.highs = highs;
    const tally_view keys = tally_flat(data, d, n);
    const tally_status status = tally_window_bounds(ctx, &keys, &w, start, end);
    int hole = 0; /* a window with a row of ties left out, and a later one not */
    for (int64_t i = 0; i < n; i++) {
        const double low = real_at(d, i) + (each             ? (double)lows[i]
                                            : d == TALLY_F64 ? w.low_real
                                                             : (double)w.low),
                     high = real_at(d, i) + (each             ? (double)highs[i]
                                             : d == TALLY_F64 ? w.high_real
                                                              : (double)w.high);
        int64_t first = -1, last = -1, count = 0;
        for (int64_t j = i < FAR ? 0 : i - FAR; j < n && j < i + FAR; j++) {
            const double k = real_at(d, j);
            if (k < low || k > high || (w.low_open && k == low) || (w.high_open && k == high))
                continue;
            if (w.ties == TALLY_TIES_ROW && j > i && k == real_at(d, i)) continue;
            if (first < 0) first = j;
            last = j;
            count++;
        }
        hole |= count && last - first + 1 != count;
        if (status) continue;
        const int good = first < 0 ? start[i] == end[i] : start[i] == first && end[i] == last + 1;
        if (!check(good && start[i] >= 0 && end[i] <= n,
                   "%s row %lld of %lld: %lld..%lld, not %lld..%lld (low %g high %g open %d %d "
                   "ties %d falls %d)",
                   tally_dtype_name(d), (long long)i, (long long)n, (long long)start[i],
                   (long long)end[i], (long long)first, (long long)last + 1, low, high, w.low_open,
                   w.high_open, (int)w.ties, falls))
            break;
    }
    check(hole ? status == TALLY_INVALID : !status, "ties %d: %s", (int)w.ties, tally_error(ctx));
}

/* Keys at the ends of their type: limits go beyond it. */
static void extremes(tally *ctx)
{
    const int64_t whole[] = {INT64_MIN, INT64_MIN + 1, 0, INT64_MAX - 1, INT64_MAX};
    const uint64_t natural[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
    const tally_view i = tally_flat(whole, TALLY_I64, 5), u = tally_flat(natural, TALLY_U64, 4);
    tally_key_window w = {.low = -5, .high = 0};
    check_ok(ctx, tally_window_bounds(ctx, &i, &w, start, end), "extremes");
    check(start[0] == 0 && end[0] == 1 && start[1] == 0 && end[1] == 2 && start[4] == 3 &&
              end[4] == 5,
          "i64, trailing");
    w = (tally_key_window){.low = 0, .high = INT64_MAX};
    check_ok(ctx, tally_window_bounds(ctx, &i, &w, start, end), "extremes");
    check(start[0] == 0 && end[0] == 2 && end[1] == 3 && end[2] == 5 && end[4] == 5,
          "i64, leading");
    w = (tally_key_window){.low = -5, .high = 5};
    check_ok(ctx, tally_window_bounds(ctx, &u, &w, start, end), "extremes");
    check(start[0] == 0 && end[0] == 2 && start[3] == 2 && end[3] == 4, "u64");
}

static void refused(const tally *ctx, tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "refused: %s: %s; wanted %s",
          tally_status_name(status), tally_error(ctx), words);
}

static void refused_ranges(tally *ctx)
{
    double x[5] = {1, 2, 2, 5, 4}, y[5] = {7, 7, 7, 7, 7};
    int64_t a[2] = {0, 3}, b[2] = {2, 6};
    const tally_view in = tally_flat(x, TALLY_F64, 5), out = tally_flat(y, TALLY_F64, 2),
                     two = tally_rows(x, TALLY_F64, 2, 2);
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 2, &out, 0), TALLY_INVALID,
            "range 1 is 3..6: must be 0 <= start <= end <= 5");
    b[1] = 2;
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 2, &out, 0), TALLY_INVALID,
            "range 1 is 3..2");
    a[1] = -1;
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 2, &out, 0), TALLY_INVALID,
            "range 1 is -1..2");
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 3, &out, 0), TALLY_INVALID,
            "out->n is 2: must be results = 3");
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, NULL, 2, &out, 0), TALLY_INVALID,
            "end is NULL");
    refused(ctx, tally_window_ranges(ctx, "argmin", &in, a, b, 2, &out, 0), TALLY_INVALID,
            "out->dtype is f64: argmin of f64 gives i64");
    refused(ctx, tally_window_ranges(ctx, "sum", &two, a, b, 2, &out, 0), TALLY_INVALID,
            "in->rows is 2");
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 2, &out, -1), TALLY_INVALID,
            "min_count is -1");
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 5, &in, 0), TALLY_INVALID,
            "out overlaps in");
    const tally_view over = tally_flat(a, TALLY_F64, 2), last = tally_flat(b + 1, TALLY_F64, 1);
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b, 2, &over, 0), TALLY_INVALID,
            "out overlaps start or end");
    refused(ctx, tally_window_ranges(ctx, "sum", &in, a, b + 1, 1, &last, 0), TALLY_INVALID,
            "out overlaps start or end");
    refused(NULL, tally_window_ranges(NULL, "sum", &in, a, b, 2, &out, 0), TALLY_INVALID,
            "ctx is NULL");
}

static void refused_bounds(tally *ctx)
{
    double x[5] = {1, 2, 2, 5, 4};
    int64_t a[2] = {0, 3}, s[5] = {9, 9, 9, 9, 9}, e[5];
    const tally_view in = tally_flat(x, TALLY_F64, 5);
    tally_key_window w = {.low_real = -1};
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID,
            "keys: row 4 is 4, after 5: keys must be numbers that ascend");
    x[0] = 9;
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID,
            "keys: row 3 is 5, after 2: keys must be numbers that descend");
    x[1] = 0.0 / 0.0;
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID,
            "keys: row 1 is nan, after 9");
    w.ties = (tally_ties)2;
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID, "ties is 2");
    w = (tally_key_window){.lows = a};
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID, "lows: keys of f64");
    w = (tally_key_window){.low_real = 0.0 / 0.0};
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID, "low_real is NaN");
    /* the numbers of the other type of keys, which would be taken for 0 */
    w = (tally_key_window){.low = -2};
    refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID,
            "low is not 0, and keys are f64: they have low_real and high_real");
    const tally_view whole = tally_flat(a, TALLY_I64, 2);
    w = (tally_key_window){.high_real = 2};
    refused(ctx, tally_window_bounds(ctx, &whole, &w, s, e), TALLY_INVALID,
            "high_real is not 0, and keys are i64: they have low and high");
    w = (tally_key_window){.low_real = -1};
    const tally_view narrow = tally_flat(x, TALLY_F32, 5);
    refused(ctx, tally_window_bounds(ctx, &narrow, &w, s, e), TALLY_UNSUPPORTED,
            "keys->dtype is f32");
    static const char overlap[] = "start or end overlaps another array";
    w = (tally_key_window){.low = -1};
    refused(ctx, tally_window_bounds(ctx, &whole, &w, a, s), TALLY_INVALID, overlap);
    refused(ctx, tally_window_bounds(ctx, &whole, &w, s, a + 1), TALLY_INVALID, overlap);
    refused(ctx, tally_window_bounds(ctx, &whole, &w, s, s), TALLY_INVALID, overlap);
    w = (tally_key_window){.highs = s + 1};
    refused(ctx, tally_window_bounds(ctx, &whole, &w, e, s), TALLY_INVALID, overlap);
    check(a[0] == 0 && a[1] == 3 && s[0] == 9 && s[4] == 9, "something was written");
}

/* Keys that ascend but for one, around the parts that threads take (keys/bounds.c: 2^14 keys). */
static void one_out_of_order(tally *ctx)
{
    enum { PART = 1 << 14, N = 3 * PART };
    static int64_t x[N], s[N], e[N];
    const tally_view in = tally_flat(x, TALLY_I64, N);
    const tally_key_window w = {.low = -1, .high = 0};
    char words[40];

    for (int64_t at = PART - 1; at <= PART + 1; at++) {
        for (int64_t i = 0; i < N; i++) x[i] = i < at ? i : i - 5;
        snprintf(words, sizeof words, "row %lld", (long long)at);
        refused(ctx, tally_window_bounds(ctx, &in, &w, s, e), TALLY_INVALID, words);
    }
}

static void refused_windows(tally *ctx)
{
    double x[5] = {9, 2, 2, 5, 4}, y[5] = {7, 7, 7, 7, 7};
    const tally_view in = tally_flat(x, TALLY_F64, 5), five = tally_flat(y, TALLY_F64, 5);
    tally_window_options o = {.before = -3, .after = 2};
    tally_stream *stream;
    check_ok(ctx, tally_window(ctx, "sum", &in, &five, &o), "no elements");
    o.after = 1;
    refused(ctx, tally_window(ctx, "sum", &in, &five, &o), TALLY_INVALID,
            "before is -3 and after 1: before + 1 + after must be at least 0");
    o = (tally_window_options){.before = 2, .step = -1};
    refused(ctx, tally_window(ctx, "sum", &in, &five, &o), TALLY_INVALID, "step is -1");
    o.step = 2;
    refused(ctx, tally_window(ctx, "sum", &in, &five, &o), TALLY_INVALID, "out->n is 5: must be 3");
    refused(ctx, tally_stream_window(ctx, "sum", TALLY_F64, &o, &stream), TALLY_UNSUPPORTED,
            "a stream takes before and after of at least 0, and no step");
}

/* Scans each sequence alone, some elements of which are missing. */
static void scan_apart(tally *ctx, const char *op, const tally_view *in, const tally_view *out)
{
    const int64_t bytes = (int64_t)tally_dtype_size(in->dtype),
                  result = (int64_t)tally_dtype_size(out->dtype);
    for (int64_t r = 0; r < in->rows; r++) {
        const int64_t at = in->offsets ? in->offsets[r] : r * in->n,
                      n = in->offsets ? in->offsets[r + 1] - at : in->n;
        tally_view one = tally_flat((char *)in->data + at * bytes, in->dtype, n),
                   to = tally_flat((char *)out->data + at * result, out->dtype, n);
        one.valid = in->valid;
        one.valid_offset = in->valid_offset + at;
        check_ok(ctx, tally_scan(ctx, op, &one, &to, NULL), op);
    }
}

/* Reduces and scans short sequences that end where memory ends, as their results do: nothing behind
 * them is read or written. In place too, and where elements are missing. */
static void sequences_before_the_end(tally *ctx, const check_operator *o, const tally_view *in,
                                     char *memory_end)
{
    const tl_scalar *op;
    tl_par par;
    if (tl_resolve(NULL, o->op, o->dtype, &op, &par)) return;
    const int64_t rows = in->rows, first = in->offsets ? in->offsets[0] : 0,
                  all = in->offsets ? in->offsets[rows] : rows * in->n;
    const tally_view apart = {scanned, o->info.output, rows, in->n, in->n, 1, in->offsets};
    check_ok(ctx, tally_scan(ctx, o->op, in, &apart, NULL), o->op);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = in->offsets ? in->offsets[r] : r * in->n,
                      n = in->offsets ? in->offsets[r + 1] - at : in->n;
        const char *const x = (const char *)in->data + at * o->bytes;
        tl_spec_reduce((tl_spec_sequence){op, par, x, 1, n}, NULL, want + r * o->result);
        /* the law takes n^2 steps: of long ones some beside each other, so that each lane is one */
        if (n < 30 || r % 50 < 17 || r > rows - 20)
            tl_spec_scan((tl_spec_sequence){op, par, x, 1, n}, NULL, scanned + at * o->result);
    }
    check_ok(ctx, tally_reduce(ctx, o->op, in, got), o->op);
    check_same(got, want, rows, o->result, "%s of %s, %lld sequences, n %lld", o->op,
               tally_dtype_name(o->dtype), (long long)rows, (long long)in->n);

    for (int place = 0; place < 4; place++) { /* bits 0: in place; 1: elements are missing */
        if ((place & 1 && o->result != o->bytes) || (place & 2 && check_below(4))) continue;
        tally_view x = *in, y = *in;
        y.data = memory_end - all * o->result;
        y.dtype = o->info.output;
        if (place & 2) x.valid = bits, x.valid_offset = check_below(8);
        if (place & 2) scan_apart(ctx, o->op, &x, &apart);
        if (place & 1) memcpy(y.data, x.data, (size_t)(all * o->bytes)), x.data = y.data;
        check_ok(ctx, tally_scan(ctx, o->op, &x, &y, NULL), o->op);
        check_same((char *)y.data + first * o->result, scanned + first * o->result, all - first,
                   o->result, "scan %s of %s, %lld sequences, n %lld, place %d", o->op,
                   tally_dtype_name(o->dtype), (long long)rows, (long long)in->n, place);
    }
}

static void short_sequences(tally *ctx)
{
    static const struct {
        const char *op;
        tally_dtype dtype;
    } of[] = {{"sum", TALLY_F32},  {"sum", TALLY_F64},    {"mean", TALLY_F32}, {"max", TALLY_F32},
              {"max", TALLY_I32},  {"mean", TALLY_I32},   {"sum", TALLY_U64},  {"sum", TALLY_F16},
              {"prod", TALLY_F64}, {"nansum", TALLY_F32}, {"xor", TALLY_U32}};
    enum { OPERATORS = sizeof of / sizeof *of, BYTES = 1 << 18, PAGE = 1 << 16, ROWS = 300 };
    int64_t *const offsets = start;
    char *const memory = mmap(NULL, 2 * (BYTES + PAGE), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                *const end_in = memory + BYTES, *const end_out = end_in + PAGE + BYTES;
    if (!check(memory != MAP_FAILED && !mprotect(end_in, PAGE, PROT_NONE) &&
                   !mprotect(end_out, PAGE, PROT_NONE),
               "mmap"))
        return;
    for (size_t k = 0; k < sizeof bits; k++) bits[k] = (unsigned char)(check_random() | 85);
    for (int i = 0; i < 3 * OPERATORS; i++) {
        check_operator o;
        if (!check_operator_make(&o, of[i % OPERATORS].op, of[i % OPERATORS].dtype, 0)) continue;
        const int64_t longest = 1 + check_below(i % 3 ? 40 : 530), kind = check_below(5),
                      most = BYTES / (o.result > o.bytes ? o.result : o.bytes);
        int64_t rows = 0;
        offsets[0] = kind ? check_below(3) : 0;
        for (; rows < ROWS && offsets[rows] + longest <= most; rows++)
            offsets[rows + 1] = offsets[rows] + (kind <= 1                     ? longest
                                                 : kind == 2 && check_below(8) ? 0
                                                 : kind == 3                   ? check_below(4) / 3
                                                             : check_below(longest + 1));
        char *const at = end_in - offsets[rows] * o.bytes;
        check_fill(at, o.dtype, offsets[rows], (tl_data)check_below(TL_DATA_KINDS));
        const tally_view rows_in = {at, o.dtype, rows, longest, longest, 1, NULL},
                         segments = tally_segments(at, o.dtype, offsets, rows);
        sequences_before_the_end(ctx, &o, kind ? &segments : &rows_in, end_out);
    }
    munmap(memory, 2 * (BYTES + PAGE));
}

int main(void)
{
    check_start();
    for (int t = CHECK_LEAST_THREADS; t <= 3; t = check_more_threads(t, 3)) {
        tally *ctx = check_open(t, NULL);
        for (int k = 0; k < (check_quick ? 20 : 200); k++)
            ranges(ctx, check_size(1500), check_size(700), k & 1);
        for (int k = 0; k < (check_quick ? 1 : 3); k++) ranges(ctx, 40000, 3000, k & 1);
        for (int k = 0; k < (check_quick ? 8 : 30); k++)
            dense(ctx, check_size(3000), 1 + check_below(150), k & 1);
        if (t == 2) dense(ctx, 9000, 2000, 0);
        if (t == 2) dense(ctx, 9000, 2100, 1);
        for (int k = 0; k < (check_quick ? 1 : 4) * PATTERNS; k++) longer(ctx, k % PATTERNS);
        for (int k = 0; k < 6; k++) exact(ctx, k & 1);
        for (int k = 0; k < 30; k++) {
            static const tally_dtype types[] = {TALLY_I32, TALLY_I64, TALLY_U64, TALLY_F64};
            bounds(ctx, types[k & 3], check_size(500), k / 4 & 1);
        }
        /* parts of 2^14 keys for several threads */
        bounds(ctx, TALLY_I64, check_quick ? 35000 : 50000, 0);
        bounds(ctx, TALLY_F64, check_quick ? 35000 : 50000, 1);
        extremes(ctx);
        short_sequences(ctx);
        refused_ranges(ctx);
        refused_bounds(ctx);
        refused_windows(ctx);
        one_out_of_order(ctx);
        tally_close(ctx);
    }
    return check_finish();
}

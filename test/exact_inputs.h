/* SPDX-License-Identifier: MIT
 * Pairs, and elements that are left out: every verb on random views. Part of test_exact.c. */
#ifndef TALLY_TEST_EXACT_INPUTS_H
#define TALLY_TEST_EXACT_INPUTS_H
#include "exact_bits.h"

/* Is element number `place` there? */
static int is_there(const tally_view *v, int64_t place)
{
    const int64_t b = v->valid_offset + place;
    return !v->valid || ((const unsigned char *)v->valid)[b >> 3] >> (b & 7) & 1;
}

enum { PAIRS = 2600 };
static char first[PAIRS * 8 * 3 + 64], second[PAIRS * 8 * 3 + 64];
static unsigned char bits[2][PAIRS];

/* Elements a .. b - 1 of sequence r, which has n, at least `least` of which must count; reverse:
   counted from its end. */
typedef struct folded {
    int64_t r, n, a, b, least;
    int reverse;
} folded;

static void fold(const check_operator *o, const tally_view *in, folded p, void *to)
{
    const int pairs = o->info.inputs == 2, skips = !strncmp(o->op, "nan", 3);
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = p.a; i < p.b; i++) {
        double value[2] = {1, 1};
        int there = 1;
        for (const tally_view *v = in; v; v = v->next) {
            const int64_t at = p.reverse ? p.n - 1 - i : i,
                          place = v->offsets ? (v->offsets[p.r] + at) * v->stride
                                             : p.r * v->row_stride + at * v->stride;
            value[v != in] = real_of(v->dtype, (const char *)v->data +
                                                   place * (int64_t)tally_dtype_size(v->dtype));
            there &= is_there(v, place);
        }
        if (there) take_pair(&e, value[0], pairs ? value[1] : 1);
    }
    if (e.count - (skips ? e.nan : 0) < p.least) memset(&e, 0, sizeof e);
    value_of(&e, o, to);
}

static tally_view side(int k, tally_dtype d, int64_t rows, int64_t n, const int64_t *offsets,
                       int kind)
{
    char *store = (k ? second : first) + check_below(8);
    if (d == TALLY_I8 || d == TALLY_U16 || d == TALLY_I64)
        check_fill(store, d, 3 * PAIRS, TL_DATA_BITS);
    else
        fill(store, d, 3 * PAIRS, kind);
    for (int i = 0; i < PAIRS; i++)
        bits[k][i] = (unsigned char)(check_below(3) ? 255 : check_below(256));
    tally_view v = {store, d, rows, n, n, 1, offsets};
    const int how = (int)check_below(4);
    if (how == 1) v.stride = 2, v.row_stride = 2 * n + 1;
    if (how == 2 && !offsets) v.stride = rows, v.row_stride = 1;
    if (how == 3 && !offsets && n)
        v.stride = -1, v.data = store + (n - 1) * (int64_t)tally_dtype_size(d);
    v.valid_offset = v.stride < 0 ? n - 1 + check_below(9) : check_below(9);
    if (check_below(3)) v.valid = bits[k];
    return v;
}

/* Elements at .. at + n - 1 of the only sequence. */
static tally_view piece(const tally_view *v, int64_t at, int64_t n)
{
    tally_view p = *v;
    p.data = (char *)v->data + at * v->stride * (int64_t)tally_dtype_size(v->dtype);
    p.valid_offset += at * v->stride;
    p.n = n;
    return p;
}

/* The only sequence in pieces; want: its result. */
static void stream_of(tally *ctx, const check_operator *o, const tally_view *in)
{
    tally_stream *s = NULL;
    check_ok(ctx, tally_stream_reduce(ctx, o->op, o->dtype, &s), "a stream");
    for (int64_t at = 0, n; at < in->n; at += n) {
        n = 1 + check_below(in->n - at);
        tally_view p = piece(in, at, n), q;
        if (in->next) {
            q = piece(in->next, at, n);
            p.next = &q;
        }
        check_ok(ctx, tally_stream_push_view(s, &p, NULL), "a push");
    }
    memset(got, 0x55, sizeof got);
    check_ok(ctx, tally_stream_finish(s, got, NULL), "its end");
    tally_stream_close(s);
    check_same(got, want, 1, o->result, "a stream of %s of %s, %lld elements", o->op,
               tally_dtype_name(in->dtype), (long long)in->n);
}

/* A scan, or windows of one or more sequences (w), in pieces; want: their results, side by side. */
static void stream_of_results(tally *ctx, const check_operator *o, const tally_view *in,
                              const tally_scan_options *so, const tally_window_options *w)
{
    const int64_t all = w ? tally_window_length(in->n, w) : in->n, stride = 1 + check_below(2);
    static char computed[sizeof got];
    tally_view out = {computed, o->info.output, in->rows, all, all * stride, stride, NULL};
    tally_stream *s = NULL;
    const int many = w && (in->rows > 1 || check_below(2));
    check_ok(ctx,
             !w     ? tally_stream_scan(ctx, o->op, o->dtype, so, &s)
             : many ? tally_stream_window_rows(ctx, o->op, o->dtype, in->rows, w, &s)
                    : tally_stream_window(ctx, o->op, o->dtype, w, &s),
             "a stream");
    int64_t written = 0;
    for (int64_t at = 0, n; s && at < in->n; at += n) {
        n = 1 + check_below(in->n - at);
        tally_view p = piece(in, at, n), to = out, q;
        if (in->next) {
            q = piece(in->next, at, n);
            p.next = &q;
        }
        to.n = tally_stream_results(s, n);
        to.data = computed + written * stride * o->result;
        written += to.n;
        check_ok(ctx, tally_stream_push_view(s, &p, &to), "a push");
    }
    out.n = all - written;
    out.data = computed + written * stride * o->result;
    if (w) check_ok(ctx, tally_stream_finish_view(s, &out), "its end");
    check(w ? tally_stream_results(s, -1) <= out.n : written == all,
          "a stream of %s: %lld results, not %lld", o->op, (long long)written, (long long)all);
    tally_stream_close(s);
    for (int64_t i = 0; i < in->rows * all; i++)
        memcpy(got + i * o->result, computed + i * stride * o->result, (size_t)o->result);
    check_same(got, want, in->rows * all, o->result,
               "a stream's %s of %s of %s, %lld x %lld, %lld + 1 + %lld, edges %d",
               w ? "windows" : "scan", o->op, tally_dtype_name(in->dtype), (long long)in->rows,
               (long long)in->n, w ? (long long)w->before : 0, w ? (long long)w->after : 0,
               w ? (int)w->edges : 0);
}

/* An operator of one or two inputs, and their types. */
static check_operator pick_inputs(tally_dtype *one, tally_dtype *other)
{
    static const char *const names[] = {"dot:exact",    "nandot:exact",     "dot:exact:f64",
                                        "sum:exact",    "nansum:exact:f64", "mean:exact",
                                        "nanmean:exact"};
    static const tally_dtype types[] = {TALLY_F64, TALLY_F32, TALLY_F16, TALLY_BF16,
                                        TALLY_I8,  TALLY_U16, TALLY_I64};
    const char *name = names[check_below(7)];
    const int pairs = strstr(name, "dot") != NULL;
    tally_dtype a = types[check_below(pairs ? 7 : 4)],
                b = check_below(2) ? a : types[check_below(7)];
    if (strstr(name, "f64") && a != TALLY_F16) a = b = TALLY_F32;
    if (a > TALLY_F64 || (pairs && a != TALLY_F64 && check_below(3))) a = b = TALLY_F64;
    if (pairs && a != TALLY_F64 && (a == TALLY_I8 || a == TALLY_U16 || a == TALLY_I64))
        b = TALLY_F64;
    if (strstr(name, "f64") && b != TALLY_F16) b = a;
    const int wide =
        a == TALLY_F64 || b == TALLY_F64 || b == TALLY_I8 || b == TALLY_U16 || b == TALLY_I64;
    *one = a, *other = b;
    return pick(name, !pairs ? a : wide ? TALLY_F64 : a == b ? a : TALLY_F32);
}

static void series_of_inputs(tally *ctx, const check_operator *o, const tally_view *in, int kind)
{
    const int64_t rows = in->rows, n = in->n;
    const tally_view out = {got, o->info.output, rows, n, n, 1, in->offsets};
    tally_scan_options so = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    tally_window_options wo = {check_below(9), check_below(4), (tally_edges)check_below(2), 0, 0};
    if (check_below(2)) wo.min_count = check_below(wo.before + 2);
    if (!in->offsets && check_below(3) == 0) wo.step = 1 + check_below(3);
    check_ok(ctx, tally_scan(ctx, o->op, in, &out, &so), "scan");
    for (int verb = 0; verb < 2; verb++) {
        tally_view to = out;
        if (verb && !in->offsets) to.n = to.row_stride = tally_window_length(n, &wo);
        if (verb) check_ok(ctx, tally_window(ctx, o->op, in, &to, &wo), "window");
        for (int64_t r = 0; r < rows; r++) {
            const int64_t m = in->offsets ? in->offsets[r + 1] - in->offsets[r] : n,
                          step = verb && wo.step ? wo.step : 1;
            char *at = want + (in->offsets ? in->offsets[r] : r * to.n) * o->result;
            for (int64_t i = 0; i < m; i += step) {
                const int64_t low = i - wo.before, high = i + wo.after + 1, least = wo.min_count;
                const int full = low >= 0 && high <= m;
                const int some = full || wo.edges == TALLY_EDGES_SHRINK || least > 0;
                const folded scanned = {.r = r,
                                        .n = m,
                                        .b = i + !so.exclusive,
                                        .reverse = so.reverse},
                             window = {.r = r,
                                       .n = m,
                                       .a = low < 0 ? 0 : low,
                                       .b = !some      ? 0
                                            : high < m ? high
                                                       : m,
                                       .least = least};
                if (!verb)
                    fold(o, in, scanned, at + (so.reverse ? m - 1 - i : i) * o->result);
                else
                    fold(o, in, window, at + i / step * o->result);
            }
        }
        const int64_t zero = in->offsets ? in->offsets[0] : 0,
                      all = in->offsets ? in->offsets[rows] - zero : rows * to.n;
        check_same(got + zero * o->result, want + zero * o->result, all, o->result,
                   "%s of %s, kind %d, %lld x %lld, options %d %d, %lld %lld %d %lld %lld",
                   verb ? "window" : "scan", o->op, kind, (long long)rows, (long long)n,
                   so.exclusive, so.reverse, (long long)wo.before, (long long)wo.after,
                   (int)wo.edges, (long long)wo.min_count, (long long)wo.step);
        if (verb == 0 && rows == 1 && !in->offsets && !so.reverse)
            stream_of_results(ctx, o, in, &so, NULL);
        if (verb == 1 && !in->offsets && !wo.step) stream_of_results(ctx, o, in, NULL, &wo);
    }
}

static void inputs(tally *ctx, int kind)
{
    tally_dtype a, b;
    const check_operator o = pick_inputs(&a, &b);
    const int pairs = strstr(o.op, "dot") != NULL;
    const int64_t rows = check_below(3) ? 1 : 1 + check_below(7),
                  n = (check_below(9) ? check_below(400) : 2500) / rows;
    int64_t offsets[8] = {check_below(5)};
    for (int r = 0; r < rows; r++) offsets[r + 1] = offsets[r] + check_below(n + 1);
    const int64_t *o_s = check_below(4) ? NULL : offsets;
    tally_view in = side(0, a, rows, n, o_s, kind),
               next = side(1, b, rows, n, o_s, (kind + (int)check_below(2)) % KINDS);
    if (!pairs && !in.valid) in.valid = bits[0];
    if (check_below(2)) in.stride = next.stride = 1, in.row_stride = next.row_stride = n;
    if (pairs) in.next = &next;
    memset(got, 0x55, sizeof got);
    check_ok(ctx, tally_reduce(ctx, o.op, &in, got), o.op);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t m = o_s ? offsets[r + 1] - offsets[r] : n;
        fold(&o, &in, (folded){.r = r, .n = m, .b = m}, want + r * o.result);
    }
    check_same(got, want, rows, o.result,
               "%s of %s and %s, kind %d, %lld x %lld, strides %lld, %lld, bits %d %d", o.op,
               tally_dtype_name(a), tally_dtype_name(b), kind, (long long)rows, (long long)n,
               (long long)in.stride, (long long)next.stride, in.valid != NULL, next.valid != NULL);
    if (rows == 1 && !o_s) stream_of(ctx, &o, &in);
    if (n <= 150) series_of_inputs(ctx, &o, &in, kind);
}
#endif

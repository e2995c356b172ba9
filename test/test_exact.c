/* SPDX-License-Identifier: MIT
 * Exact sums beside integer arithmetic of any width that does nothing else: a sum as 4608 single bits, divided and
 * rounded bit by bit. Every shape, view, type, instruction set and number of threads; pairs and validity; plain data;
 * bad arguments. */
#include "check.h"
#include "gpus.h"
#include <math.h>

/* ---- the reference ---- */

enum { FRACTION = 128, WORDS = 144, BITS = FRACTION + 32 * WORDS }; /* bit i is worth 2^(i - FRACTION - 2148) */
typedef struct {
    uint32_t above[WORDS], below[WORDS]; /* the sums of what is above and below 0, in units of 2^-2148 */
    int64_t nan, plus, minus, count;
} exactly;

static void add_magnitude(uint32_t *w, uint64_t m, int at)
{
    for (int b = 0; b < 53; b++)
        if (m >> b & 1) {
            int i = at + b;
            uint64_t carry = (uint64_t)1 << (i & 31);
            for (int k = i >> 5; carry; k++) {
                carry += w[k];
                w[k] = (uint32_t)carry;
                carry >>= 32;
            }
        }
}

static void take_in(exactly *e, tally_dtype d, const char *x)
{
    uint64_t bits = 0;
    const int bytes = (int)tally_dtype_size(d), width = d == TALLY_F64 ? 11 : d == TALLY_F16 ? 5 : 8;
    const int mantissa = 8 * bytes - 1 - width, bias = (1 << (width - 1)) - 1;
    memcpy(&bits, x, (size_t)bytes);
    uint64_t m = bits & (((uint64_t)1 << mantissa) - 1), exponent = bits >> mantissa & ((1u << width) - 1);
    const int negative = (int)(bits >> (8 * bytes - 1));
    e->count++;
    if (exponent == (1u << width) - 1) {
        if (m)
            e->nan++;
        else if (negative)
            e->minus++;
        else
            e->plus++;
        return;
    }
    if (exponent) m |= (uint64_t)1 << mantissa;
    const int at = (int)(exponent ? exponent : 1) - bias - mantissa + 2148;
    add_magnitude(negative ? e->below : e->above, m, at);
}

static void put(uint64_t bits, tally_dtype out, void *to)
{
    const uint32_t narrow = (uint32_t)bits;
    if (out == TALLY_F64)
        memcpy(to, &bits, 8);
    else
        memcpy(to, &narrow, 4);
}

static void value_of(const exactly *e, const check_operator *o, void *to)
{
    const int wide = o->info.output == TALLY_F64, mantissa = wide ? 52 : 23, width = wide ? 11 : 8;
    const int skips = !strncmp(o->op, "nan", 3), mean = strstr(o->op, "mean") != NULL;
    const uint64_t infinity = (((uint64_t)1 << width) - 1) << mantissa, sign = (uint64_t)1 << (mantissa + width);
    const int64_t n = e->count - (skips ? e->nan : 0);
    if ((mean && !n) || (e->nan && !skips) || (e->plus && e->minus)) {
        put(infinity | (uint64_t)1 << (mantissa - 1), o->info.output, to);
        return;
    }
    if (e->plus || e->minus) {
        put(infinity | (e->minus ? sign : 0), o->info.output, to);
        return;
    }
    static unsigned char bit[BITS + 1];
    const uint32_t *a = e->above, *b = e->below;
    int k = WORDS - 1, rest = 0;
    while (k >= 0 && a[k] == b[k]) k--;
    const int negative = k >= 0 && a[k] < b[k];
    if (negative) a = e->below, b = e->above;
    memset(bit, 0, sizeof bit);
    int64_t borrow = 0;
    for (int i = 0; i < WORDS; i++) {
        const int64_t digit = (int64_t)a[i] - b[i] + borrow;
        borrow = digit < 0 ? -1 : 0;
        for (int j = 0; j < 32; j++) bit[FRACTION + 32 * i + j] = (unsigned char)(digit >> j & 1);
    }
    if (mean) {
        unsigned __int128 left = 0;
        for (int i = BITS - 1; i >= 0; i--) {
            left = left << 1 | bit[i];
            bit[i] = left >= (uint64_t)n;
            if (bit[i]) left -= (uint64_t)n;
        }
        rest = left != 0;
    }
    int first = BITS - 1;
    while (first >= 0 && !bit[first]) first--;
    const int least = FRACTION + 1074 + (wide ? 0 : 1074 - 149),
              last = first - mantissa > least ? first - mantissa : least;
    uint64_t m = 0;
    for (int i = first; i >= last; i--) m = m << 1 | bit[i];
    for (int i = last - 2; i >= 0; i--) rest |= bit[i];
    if (bit[last - 1] && (rest || (m & 1))) m++;
    uint64_t result = m + ((uint64_t)(last - least) << mantissa);
    if (result > infinity || last - least > 1 << width) result = infinity;
    put(result | (negative && result ? sign : 0), o->info.output, to);
}

/* The reduction of n elements that are `stride` apart. */
static void reference(const check_operator *o, const char *x, int64_t stride, int64_t n, void *to)
{
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, o->dtype, x + i * stride * o->bytes);
    value_of(&e, o, to);
}

/* ---- data ---- */

static const tally_dtype dtypes[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
static const char *const forms[] = {"sum:exact",     "mean:exact",    "nansum:exact",
                                    "nanmean:exact", "sum:exact:f64", "mean:f64:exact"};
enum { FORMS = sizeof forms / sizeof *forms, MOST = 40000, KINDS = TL_DATA_KINDS + 6, LARGE_PAIRS = KINDS - 2 };

static uint64_t bits_at(const char *x, int64_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, x, (size_t)bytes);
    return v;
}

/* n elements: what check_fill makes, or pairs that cancel among tiny ones; one exponent; the largest numbers;
 * subnormals; numbers near 1, and a few large ones that soon cancel; all exponents, but no NaN or infinity. */
static void fill(char *x, tally_dtype d, int64_t n, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    const int width = d == TALLY_F64 ? 11 : d == TALLY_F16 ? 5 : 8, mantissa = 8 * (int)bytes - 1 - width;
    const uint64_t top = ((uint64_t)1 << width) - 1, sign = (uint64_t)1 << (8 * bytes - 1);
    check_fill(x, d, n, kind < TL_DATA_KINDS ? (tl_data)kind : TL_DATA_BITS);
    for (int64_t i = 0; i < n && kind >= TL_DATA_KINDS; i++) {
        uint64_t v = bits_at(x + i * bytes, bytes), m = v & (((uint64_t)1 << mantissa) - 1), e = v >> mantissa & top;
        switch (kind - TL_DATA_KINDS) {
        case 0:
            if (i & 1) v = check_below(4) ? bits_at(x + (i - 1) * bytes, bytes) ^ sign : m;
            if ((v >> mantissa & top) == top) v = m;
            break;
        case 1:
            v = (v & sign) | top / 2 << mantissa | m;
            break;
        case 2:
            v = (v & sign) | ((top - 1) << mantissa) | m;
            break;
        case 3:
            v = (v & sign) | m;
            break;
        case 4: { /* large: registers that expect numbers near 1 lose bits, but end as if nothing had been */
            const uint64_t far = top / 2 + 5 + (uint64_t)check_below(d == TALLY_F16 ? 9 : 90);
            v = (v & sign) | (top / 2 - (uint64_t)check_below(3)) << mantissa | m;
            if (i > 64 && i % 32 == 0 &&
                check_below(2)) { /* 32: the same lane of the same register, on most machines */
                const uint64_t large = far << mantissa;
                memcpy(x + (i - 32) * bytes, &large, (size_t)bytes);
                v = large | sign;
            }
            break;
        }
        default:
            v = (v & sign) | (e == top ? 0 : e) << mantissa | m;
            break;
        }
        memcpy(x + i * bytes, &v, (size_t)bytes);
    }
    for (int64_t i = n - 1; i > 0 && kind == TL_DATA_KINDS; i--) { /* the pairs part */
        const int64_t j = check_below(i + 1);
        const uint64_t a = bits_at(x + i * bytes, bytes), b = bits_at(x + j * bytes, bytes);
        memcpy(x + i * bytes, &b, (size_t)bytes);
        memcpy(x + j * bytes, &a, (size_t)bytes);
    }
}

static char data[MOST * 8 + 64], got[MOST * 8 + 64], want[MOST * 8 + 64];

/* ---- shapes ---- */

static check_operator pick(const char *form, tally_dtype d)
{
    check_operator o;
    snprintf(o.op, sizeof o.op, "%s", form);
    o.dtype = d;
    check(!tally_operator(NULL, o.op, d, &o.info), "%s: %s", form, tally_error(NULL));
    o.bytes = (int64_t)tally_dtype_size(d);
    o.result = (int64_t)tally_dtype_size(o.info.output);
    return o;
}

static void flat(tally *ctx, const char *isa, const check_operator *o, int kind)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 47, 48, 63, 64, 65, 255, 4095, 4096, 4097, 8191, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n = check_quick && sizes[s] == MOST ? 9000 : sizes[s];
        char *x = data + check_below(16);
        fill(x, o->dtype, n, kind);
        const tally_view in = tally_flat(x, o->dtype, n);
        reference(o, x, 1, n, want);
        check_ok(ctx, tally_reduce(ctx, o->op, &in, got), o->op);
        check_same(got, want, 1, o->result, "%s %s n=%lld kind %d %s", o->op, tally_dtype_name(o->dtype), (long long)n,
                   kind, isa);
    }
}

static void views(tally *ctx, const check_operator *o, int kind)
{
    int64_t offsets[41] = {check_below(5)};
    for (int r = 0; r < 40; r++) offsets[r + 1] = offsets[r] + (check_below(3) ? check_below(90) : check_below(700));
    fill(data, o->dtype, MOST, kind);
    const tally_view all[] = {
        {data, o->dtype, 40, 130, 131, 1, NULL},
        {data, o->dtype, 37, 300, 1, 41, NULL},
        {data, o->dtype, 5, 700, 1, 5, NULL},
        {data, o->dtype, 9, 400, 1300, 3, NULL},
        {data + 9000 * o->bytes, o->dtype, 3, 900, -1000, -1, NULL},
        {data, o->dtype, 40, 0, 0, 1, offsets},
        {data, o->dtype, 3, 777, 5, 0, NULL},
        {data, o->dtype, 3000, 3, 3, 1, NULL},
    };
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        const tally_view *in = &all[v];
        for (int64_t r = 0; r < in->rows; r++) {
            const int64_t at = in->offsets ? in->offsets[r] * in->stride : r * in->row_stride,
                          n = in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
            reference(o, (char *)in->data + at * o->bytes, in->stride, n, want + r * o->result);
        }
        memset(got, 0x55, sizeof got);
        check_ok(ctx, tally_reduce(ctx, o->op, in, got), o->op);
        check_same(got, want, in->rows, o->result, "%s %s view %d kind %d", o->op, tally_dtype_name(o->dtype), (int)v,
                   kind);
        check(got[in->rows * o->result] == 0x55, "%s view %d: a byte behind the results", o->op, (int)v);
    }
}

static void series(tally *ctx, const check_operator *o, int kind)
{
    const int64_t n = 1 + check_below(500);
    fill(data, o->dtype, n, kind);
    const tally_view in = tally_flat(data, o->dtype, n), out = tally_flat(got, o->info.output, n);
    tally_scan_options so = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    for (int64_t i = 0; i < n; i++) {
        const int64_t m = so.exclusive ? i : i + 1;
        if (so.reverse)
            reference(o, data + (n - 1) * o->bytes, -1, m, want + (n - 1 - i) * o->result);
        else
            reference(o, data, 1, m, want + i * o->result);
    }
    check_ok(ctx, tally_scan(ctx, o->op, &in, &out, &so), "scan");
    check_same(got, want, n, o->result, "scan %s %s kind %d exclusive %d reverse %d", o->op, tally_dtype_name(o->dtype),
               kind, so.exclusive, so.reverse);

    tally_window_options wo = {check_below(60), check_below(3) ? 0 : check_below(60), (tally_edges)check_below(3), 0};
    if (check_below(2)) wo.min_count = check_below(wo.before + wo.after + 2);
    int64_t results = 0;
    const int skips = !strncmp(o->op, "nan", 3);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = i < wo.before ? 0 : i - wo.before, end = n - 1 - i < wo.after ? n : i + wo.after + 1;
        const int full = i >= wo.before && n - 1 - i >= wo.after;
        if (!full && wo.edges == TALLY_EDGES_VALID) continue;
        exactly e;
        memset(&e, 0, sizeof e);
        for (int64_t j = from; j < end; j++) take_in(&e, o->dtype, data + j * o->bytes);
        const int enough = e.count - (skips ? e.nan : 0) >= wo.min_count &&
                           (full || wo.edges == TALLY_EDGES_SHRINK || wo.min_count > 0);
        if (!enough) memset(&e, 0, sizeof e);
        value_of(&e, o, want + results++ * o->result);
    }
    const tally_view windows = tally_flat(got, o->info.output, tally_window_length(n, &wo));
    check(windows.n == results, "windows: %lld, not %lld", (long long)windows.n, (long long)results);
    check_ok(ctx, tally_window(ctx, o->op, &in, &windows, &wo), "window");
    check_same(got, want, results, o->result, "window %s %s kind %d before %lld after %lld edges %d min %lld n %lld",
               o->op, tally_dtype_name(o->dtype), kind, (long long)wo.before, (long long)wo.after, (int)wo.edges,
               (long long)wo.min_count, (long long)n);

    /* streams: the same from chunks */
    for (int verb = 0; verb < 3; verb++) {
        tally_stream *s = NULL;
        so.reverse = 0;
        int64_t made = 0, more = 0, all = verb == 0 ? 1 : verb == 1 ? n : results;
        if (verb == 0) check_ok(ctx, tally_stream_reduce(ctx, o->op, o->dtype, &s), "stream");
        if (verb == 1) check_ok(ctx, tally_stream_scan(ctx, o->op, o->dtype, &so, &s), "stream");
        if (verb == 2) check_ok(ctx, tally_stream_window(ctx, o->op, o->dtype, &wo, &s), "stream");
        for (int64_t at = 0, m; s && at < n; at += m) {
            m = 1 + check_below(90);
            if (m > n - at) m = n - at;
            check_ok(ctx, tally_stream_push(s, data + at * o->bytes, m, got + made * o->result, &more), "push");
            made += more;
        }
        check_ok(ctx, tally_stream_finish(s, got + made * o->result, &more), "finish");
        tally_stream_close(s);
        check(made + more == all, "stream: %lld results, not %lld", (long long)(made + more), (long long)all);
        if (verb == 0) check_ok(ctx, tally_reduce(ctx, o->op, &in, want), "reduce");
        if (verb == 1)
            check_ok(ctx, tally_scan(ctx, o->op, &in, &(tally_view){want, o->info.output, 1, n, n, 1, NULL}, &so),
                     "scan");
        if (verb == 2)
            check_ok(
                ctx,
                tally_window(ctx, o->op, &in, &(tally_view){want, o->info.output, 1, results, results, 1, NULL}, &wo),
                "window");
        check_same(got, want, all, o->result, "stream %d of %s", verb, o->op);
    }
}

/* ---- pairs, and elements that are left out ---- */

/* The element as f64. */
static double real_of(tally_dtype d, const char *x)
{
    switch (d) {
#define CASE(dt, type)                                                                                                 \
    case dt: {                                                                                                         \
        type v;                                                                                                        \
        memcpy(&v, x, sizeof v);                                                                                       \
        return (double)v;                                                                                              \
    }
        CASE(TALLY_F64, double)
        CASE(TALLY_F32, float)
        CASE(TALLY_I8, int8_t)
        CASE(TALLY_U16, uint16_t)
        CASE(TALLY_I64, int64_t)
#undef CASE
    default: {
        const int width = d == TALLY_F16 ? 5 : 8, mantissa = 15 - width, bias = (1 << (width - 1)) - 1;
        uint16_t h;
        memcpy(&h, x, 2);
        const int e = h >> mantissa & ((1 << width) - 1), m = h & ((1 << mantissa) - 1);
        const double v = e == (1 << width) - 1 ? m ? NAN : INFINITY
                         : e                   ? ldexp(m + (1 << mantissa), e - bias - mantissa)
                                               : ldexp(m, 1 - bias - mantissa);
        return h >> 15 ? -v : v;
    }
    }
}

static void take_pair(exactly *e, double x, double y)
{
    e->count++;
    if (x != x || y != y) {
        e->nan++;
    } else if (isinf(x) || isinf(y)) {
        const int none = x == 0 || y == 0, minus = !signbit(x) != !signbit(y);
        e->plus += none || !minus;
        e->minus += none || minus;
    } else if (x != 0 && y != 0) {
        int ex, ey;
        const double mx = frexp(fabs(x), &ex), my = frexp(fabs(y), &ey); /* an integer of 53 bits, times 2^-53 */
        const unsigned __int128 m = (unsigned __int128)(uint64_t)ldexp(mx, 53) * (uint64_t)ldexp(my, 53);
        uint32_t *to = signbit(x) != signbit(y) ? e->below : e->above;
        for (int b = 0; b < 106; b++)
            if (m >> b & 1) add_magnitude(to, 1, ex + ey - 106 + b + 2148);
    }
}

/* Is element number `place` there? */
static int is_there(const tally_view *v, int64_t place)
{
    const int64_t b = v->valid_offset + place;
    return !v->valid || ((const unsigned char *)v->valid)[b >> 3] >> (b & 7) & 1;
}

enum { PAIRS = 2600 };
static char first[PAIRS * 8 * 3 + 64], second[PAIRS * 8 * 3 + 64];
static unsigned char bits[2][PAIRS];

/* Elements a .. b - 1 of sequence r (reversed: counted from its end), at least `least` of which must count. */
static void fold(const check_operator *o, const tally_view *in, int64_t r, int reverse, int64_t n, int64_t a, int64_t b,
                 int64_t least, void *to)
{
    const int pairs = o->info.inputs == 2, skips = !strncmp(o->op, "nan", 3);
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = a; i < b; i++) {
        double value[2] = {1, 1};
        int there = 1;
        for (const tally_view *v = in; v; v = v->next) {
            const int64_t at = reverse ? n - 1 - i : i,
                          place = v->offsets ? (v->offsets[r] + at) * v->stride : r * v->row_stride + at * v->stride;
            value[v != in] = real_of(v->dtype, (const char *)v->data + place * (int64_t)tally_dtype_size(v->dtype));
            there &= is_there(v, place);
        }
        if (there) take_pair(&e, value[0], pairs ? value[1] : 1);
    }
    if (e.count - (skips ? e.nan : 0) < least) memset(&e, 0, sizeof e);
    value_of(&e, o, to);
}

static tally_view side(int k, tally_dtype d, int64_t rows, int64_t n, const int64_t *offsets, int kind)
{
    char *store = (k ? second : first) + check_below(8);
    if (d == TALLY_I8 || d == TALLY_U16 || d == TALLY_I64)
        check_fill(store, d, 3 * PAIRS, TL_DATA_BITS);
    else
        fill(store, d, 3 * PAIRS, kind);
    for (int i = 0; i < PAIRS; i++) bits[k][i] = (unsigned char)(check_below(3) ? 255 : check_below(256));
    tally_view v = {store, d, rows, n, n, 1, offsets};
    const int how = (int)check_below(4);
    if (how == 1) v.stride = 2, v.row_stride = 2 * n + 1;
    if (how == 2 && !offsets) v.stride = rows, v.row_stride = 1;
    if (how == 3 && !offsets && n) v.stride = -1, v.data = store + (n - 1) * (int64_t)tally_dtype_size(d);
    v.valid_offset = v.stride < 0 ? n - 1 + check_below(9) : check_below(9);
    if (check_below(3)) v.valid = bits[k];
    return v;
}

static void inputs(tally *ctx, int kind)
{
    static const char *const names[] = {"dot:exact",        "nandot:exact", "dot:exact:f64", "sum:exact",
                                        "nansum:exact:f64", "mean:exact",   "nanmean:exact"};
    static const tally_dtype types[] = {TALLY_F64, TALLY_F32, TALLY_F16, TALLY_BF16, TALLY_I8, TALLY_U16, TALLY_I64};
    const char *name = names[check_below(7)];
    const int pairs = strstr(name, "dot") != NULL;
    tally_dtype a = types[check_below(pairs ? 7 : 4)], b = check_below(2) ? a : types[check_below(7)];
    if (strstr(name, "f64") && a != TALLY_F16) a = b = TALLY_F32;
    if (a > TALLY_F64 || (pairs && a != TALLY_F64 && check_below(3))) a = b = TALLY_F64;
    if (pairs && a != TALLY_F64 && (a == TALLY_I8 || a == TALLY_U16 || a == TALLY_I64)) b = TALLY_F64;
    if (strstr(name, "f64") && b != TALLY_F16) b = a;
    const int wide = a == TALLY_F64 || b == TALLY_F64 || b == TALLY_I8 || b == TALLY_U16 || b == TALLY_I64;
    const check_operator o = pick(name, !pairs ? a : wide ? TALLY_F64 : a == b ? a : TALLY_F32);
    const int64_t rows = check_below(3) ? 1 : 1 + check_below(7), n = (check_below(9) ? check_below(400) : 2500) / rows;
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
        fold(&o, &in, r, 0, m, 0, m, 0, want + r * o.result);
    }
    check_same(got, want, rows, o.result, "%s of %s and %s, kind %d, %lld x %lld, strides %lld, %lld, bits %d %d", o.op,
               tally_dtype_name(a), tally_dtype_name(b), kind, (long long)rows, (long long)n, (long long)in.stride,
               (long long)next.stride, in.valid != NULL, next.valid != NULL);
    if (n > 150) return;

    const tally_view out = {got, o.info.output, rows, n, n, 1, o_s};
    tally_scan_options so = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    tally_window_options wo = {check_below(9), check_below(4), (tally_edges)check_below(2), 0, 0};
    if (check_below(2)) wo.min_count = check_below(wo.before + 2);
    if (!o_s && check_below(3) == 0) wo.step = 1 + check_below(3);
    check_ok(ctx, tally_scan(ctx, o.op, &in, &out, &so), "scan");
    for (int verb = 0; verb < 2; verb++) {
        tally_view to = out;
        if (verb && !o_s) to.n = to.row_stride = tally_window_length(n, &wo);
        if (verb) check_ok(ctx, tally_window(ctx, o.op, &in, &to, &wo), "window");
        for (int64_t r = 0; r < rows; r++) {
            const int64_t m = o_s ? offsets[r + 1] - offsets[r] : n, step = verb && wo.step ? wo.step : 1;
            char *at = want + (o_s ? offsets[r] : r * to.n) * o.result;
            for (int64_t i = 0; i < m; i += step) {
                const int64_t low = i - wo.before, high = i + wo.after + 1, least = wo.min_count;
                const int full = low >= 0 && high <= m;
                if (!verb)
                    fold(&o, &in, r, so.reverse, m, 0, i + !so.exclusive, 0,
                         at + (so.reverse ? m - 1 - i : i) * o.result);
                else
                    fold(&o, &in, r, 0, m, low < 0 ? 0 : low,
                         full || wo.edges == TALLY_EDGES_SHRINK || least > 0 ? (high < m ? high : m) : 0, least,
                         at + i / step * o.result);
            }
        }
        const int64_t zero = o_s ? offsets[0] : 0, all = o_s ? offsets[rows] - zero : rows * to.n;
        check_same(got + zero * o.result, want + zero * o.result, all, o.result,
                   "%s of %s, kind %d, %lld x %lld, options %d %d, %lld %lld %d %lld %lld", verb ? "window" : "scan",
                   o.op, kind, (long long)rows, (long long)n, so.exclusive, so.reverse, (long long)wo.before,
                   (long long)wo.after, (int)wo.edges, (long long)wo.min_count, (long long)wo.step);
    }
}

static void known_pairs(tally *ctx)
{
    const double most = 0x1.fffffffffffffp1023, tiny = 0x1p-1074, odd = 1 + 0x1p-52;
    const struct {
        double x[3], y[3], dot;
        int n;
    } rows[] = {
        {{1e200, 1, -1e200}, {1e200, 3, 1e200}, 3, 3},   /* no overflow in between */
        {{most, -most, tiny}, {most, most, 1}, tiny, 3}, /* products of all 2098 + 2098 bits */
        {{tiny, -1, 0}, {tiny, tiny, 0}, -tiny, 2},      /* far below the least number: it rounds back */
        {{tiny, 0x1p-1000}, {0.5, 0x1p-1000}, tiny, 2},  /* a little more than half of the least */
        {{tiny, 0}, {0.5, 0}, 0, 2},                     /* a tie: to even */
        {{tiny, 0}, {1.5, 0}, 2 * tiny, 2},              /* and another one */
        {{odd, -1, -0x1p-51}, {odd, 1, 1}, 0x1p-104, 3}, /* the last bit of a product */
        {{most, most}, {2, -1}, INFINITY, 1},
        {{most, most}, {2, -1}, most, 2},
        {{INFINITY, 1}, {0, 1}, NAN, 2},
        {{-INFINITY, 1}, {2, 1}, -INFINITY, 2},
        {{-1, 0}, {0, 1}, 0, 2}, /* never -0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double dot = 7, nandot = 7;
        tally_view x = tally_flat(rows[i].x, TALLY_F64, rows[i].n), y = tally_flat(rows[i].y, TALLY_F64, rows[i].n);
        x.next = &y;
        check_ok(ctx, tally_reduce(ctx, "dot:exact", &x, &dot), "dot");
        check_ok(ctx, tally_reduce(ctx, "nandot:exact", &x, &nandot), "nandot");
        const double nan = NAN, *wanted = rows[i].dot == rows[i].dot ? &rows[i].dot : &nan;
        check_same(&dot, wanted, 1, 8, "known dot %d", (int)i);
        check_same(&nandot, wanted, 1, 8, "known nandot %d", (int)i);
    }
}

/* ---- plain data ---- */

static void states(tally *ctx, tally_dtype d, int kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), n = 3000, cut = check_below(n);
    tally_exact once, parts, part, none, some, these;
    tally_view x = tally_flat(data, d, n), a = tally_flat(data, d, cut), b = tally_flat(data + cut * bytes, d, n - cut),
               back = {data + (n - 1) * bytes, d, 1, n, n, -1, NULL};
    fill(data, d, n, kind);
    tally_exact_init(&once);
    tally_exact_init(&parts);
    tally_exact_init(&part);
    tally_exact_init(&none);
    check_ok(ctx, tally_exact_add(ctx, &once, &x), "add");
    check_ok(NULL, tally_exact_add(NULL, &parts, &b), "add");
    check_ok(ctx, tally_exact_add(ctx, &part, &a), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &once, 1, sizeof once, "merged %s kind %d", tally_dtype_name(d), kind);
    tally_exact_unmerge(&parts, &part);
    check_ok(ctx, tally_exact_subtract(ctx, &once, &a), "subtract");
    check_same(&parts, &once, 1, sizeof once, "taken back %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &once, &b), "subtract");
    check_same(&once, &none, 1, sizeof once, "nothing left %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_add(ctx, &once, &back), "add");
    tally_exact_merge(&parts, &part);
    check_same(&parts, &once, 1, sizeof once, "backwards %s kind %d", tally_dtype_name(d), kind);
    /* of elements with bits: those that are there, on both sides of a cut and by columns backwards */
    static unsigned char there[3000 / 8 + 4];
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)check_below(256);
    tally_exact_init(&some);
    tally_exact_init(&these);
    for (int64_t i = 0; i < n; i++) {
        const tally_view one = tally_flat(data + i * bytes, d, 1);
        if (there[(i + 5) >> 3] >> ((i + 5) & 7) & 1) check_ok(ctx, tally_exact_add(ctx, &these, &one), "add");
    }
    x.valid = there;
    x.valid_offset = 5;
    tally_view columns = {data + 29 * bytes, d, 30, n / 30, -1, 30, NULL, there, 5 + 29, NULL};
    check_ok(ctx, tally_exact_add(ctx, &some, &columns), "add with bits");
    check_same(&some, &these, 1, sizeof some, "bits %s kind %d", tally_dtype_name(d), kind);
    check_ok(ctx, tally_exact_subtract(ctx, &some, &x), "subtract with bits");
    tally_exact_init(&these);
    check_same(&some, &these, 1, sizeof some, "bits taken back %s kind %d", tally_dtype_name(d), kind);
    for (int k = 0; k < 67; k++) check(once.word[k] >= 0 && once.word[k] >> 32 == 0, "word %d is not settled", k);
    /* words of many states, added as integers by somebody else */
    memset(&parts, 0, sizeof parts);
    for (int j = 0; j < 1000; j++)
        for (int k = 0; k < 72; k++) parts.word[k] += once.word[k];
    exactly e;
    memset(&e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) take_in(&e, d, data + i * bytes);
    tally_exact_init(&none);
    for (int j = 0; j < 1000; j++) tally_exact_merge(&none, &once);
    for (int f = 0; f < FORMS; f++) {
        const check_operator o = pick(forms[f], d);
        double u = 0, v = 0, w = 0;
        check_ok(ctx, tally_exact_value(ctx, &once, o.op, d, &u), "value");
        value_of(&e, &o, &v);
        check_same(&u, &v, 1, 8, "value %s %s kind %d", o.op, tally_dtype_name(d), kind);
        check_ok(ctx, tally_exact_value(ctx, &parts, o.op, d, &v), "value");
        check_ok(ctx, tally_exact_value(ctx, &none, o.op, d, &w), "value");
        check_same(&v, &w, 1, 8, "value of 1000 states %s %s kind %d", o.op, tally_dtype_name(d), kind);
    }
}

/* With validity the state is that of the elements that are there, and a product of two below f64 is an element. */
static void states_of_inputs(tally *ctx, tally_dtype d)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), rows = 3, n = 1 + check_below(400), all = rows * n;
    const int64_t offsets[] = {0, n / 2, n / 2, all};
    for (int how = 0; how < 4; how++) {
        fill(data, d, 2 * all, how);
        fill(got, d, 2 * all, how + 1);
        for (int64_t i = 0; i < PAIRS; i++) bits[0][i] = (unsigned char)check_below(256);
        tally_view x = {data, d, rows, n, n, 1, NULL};
        if (how == 1) x.stride = rows, x.row_stride = 1;
        if (how == 2) x.stride = 2, x.row_stride = 2 * n;
        if (how == 3) x.offsets = offsets;
        x.valid = bits[0];
        x.valid_offset = 5;
        int64_t kept = 0;
        for (int64_t i = 0; i < (how == 2 ? 2 : 1) * all; i++)
            if (is_there(&x, i) && (how != 2 || i % 2 == 0))
                memcpy(want + kept++ * bytes, data + i * bytes, (size_t)bytes);
        const tally_view dense = tally_flat(want, d, kept);
        tally_exact masked, filtered;
        tally_exact_init(&masked);
        tally_exact_init(&filtered);
        check_ok(ctx, tally_exact_add(ctx, &masked, &x), "add with validity");
        check_ok(ctx, tally_exact_add(ctx, &filtered, &dense), "add");
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s", how, tally_dtype_name(d));
        check_ok(ctx, tally_exact_subtract(ctx, &masked, &x), "subtract with validity");
        tally_exact_init(&filtered);
        check_same(&masked, &filtered, 1, sizeof masked, "validity %d of %s taken back", how, tally_dtype_name(d));

        tally_view y = x, one = x;
        y.data = got;
        y.valid = NULL;
        x.next = &y;
        if (d == TALLY_F64) {
            check(tally_exact_add(ctx, &masked, &x) == TALLY_UNSUPPORTED &&
                      strstr(tally_error(ctx), "x->next is given"),
                  "pairs of f64: %s", tally_error(ctx));
            continue;
        }
        if (how == 3) continue;
        for (int64_t r = 0; r < rows; r++) { /* row after row, and one that comes and goes */
            tally_view next = y;
            one.rows = next.rows = 1;
            one.data = data + r * x.row_stride * bytes;
            one.valid_offset = x.valid_offset + r * x.row_stride;
            next.data = got + r * x.row_stride * bytes;
            one.next = &next;
            check_ok(ctx, tally_exact_add(ctx, &masked, &one), "add pairs");
            double dot = 0, value = 0;
            tally_exact row;
            tally_exact_init(&row);
            check_ok(ctx, tally_exact_add(ctx, &row, &one), "add pairs");
            check_ok(ctx, tally_reduce(ctx, "dot:exact", &one, &dot), "dot");
            check_ok(ctx, tally_exact_value(ctx, &row, "dot:exact", d, &value), "value");
            check_same(&value, &dot, 1, 8, "dot of %s, row %d, how %d", tally_dtype_name(d), (int)r, how);
        }
        check_ok(ctx, tally_exact_add(ctx, &filtered, &x), "add pairs of rows");
        check_same(&masked, &filtered, 1, sizeof masked, "pairs %d of %s", how, tally_dtype_name(d));
    }
}

static double sum_of(tally *ctx, const char *op, const double *x, int64_t n)
{
    double r = -1;
    const tally_view in = tally_flat(x, TALLY_F64, n);
    check_ok(ctx, tally_reduce(ctx, op, &in, &r), op);
    return r;
}

static void known(tally *ctx)
{
    const double most = 0x1.fffffffffffffp1023, half = 0x1p970, tiny = 0x1p-1074;
    const struct {
        double x[5];
        int n;
        double sum, mean;
    } rows[] = {
        {{1, 0x1p-53}, 2, 1, 0.5},                                  /* a tie: to even */
        {{1, 0x1p-53, tiny}, 3, 1 + 0x1p-52, 0x1.5555555555556p-2}, /* a little more than a tie */
        {{1 + 0x1p-52, 0x1p-53}, 2, 1 + 0x1p-51, 0.5 + 0x1p-52},    /* ties: up, to even */
        {{1e308, 1e308, -1e308}, 3, 1e308, 1e308 / 3},              /* no overflow in between */
        {{most, half / 2}, 2, most, most / 2},                      /* below the tie with infinity */
        {{most, half}, 2, INFINITY, 0x1p1023},                      /* ties: to infinity; the mean is not */
        {{-most, -half}, 2, -INFINITY, -0x1p1023},
        {{most, most, -most, -most, tiny}, 5, tiny, 0}, /* a mean that rounds to 0 */
        {{tiny, tiny, tiny}, 3, 3 * tiny, tiny},
        {{-tiny, 0}, 2, -tiny, 0}, /* half of the least: to even, and never -0 */
        {{-0.0, -0.0}, 2, 0, 0},
        {{1e100, 1, -1e100}, 3, 1, 1.0 / 3},
        {{INFINITY, 1}, 2, INFINITY, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double s = sum_of(ctx, "sum:exact", rows[i].x, rows[i].n),
                     m = sum_of(ctx, "mean:exact", rows[i].x, rows[i].n);
        check_same(&s, &rows[i].sum, 1, 8, "known sum %d", (int)i);
        check_same(&m, &rows[i].mean, 1, 8, "known mean %d", (int)i);
    }
    /* 2^31 elements of the largest number, and the least ones behind them */
    tally_exact s, t;
    const tally_view one = tally_flat(&most, TALLY_F64, 1);
    tally_exact_init(&s);
    check_ok(ctx, tally_exact_add(ctx, &s, &one), "add");
    t = s;
    for (int k = 0; k < 31; k++) tally_exact_merge(&s, &s);
    double v;
    check_ok(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, &v), "value");
    check(v == INFINITY, "2^31 of the largest: %g", v);
    check_ok(ctx, tally_exact_value(ctx, &s, "mean:exact", TALLY_F64, &v), "value");
    check(v == most, "their mean: %g", v);
    for (int k = 0; k < 31; k++) tally_exact_merge(&t, &t);
    tally_exact_unmerge(&s, &t);
    const tally_view least = tally_flat(&tiny, TALLY_F64, 1);
    check_ok(ctx, tally_exact_add(ctx, &s, &least), "add");
    check_ok(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, &v), "value");
    check(v == tiny && s.word[71] == 1, "what is left: %g", v);
}

static void refused(tally *ctx, tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "refused: %s: %s; wanted %s", tally_status_name(status),
          tally_error(ctx), words);
}

static void errors(tally *ctx)
{
    double r = 7;
    tally_exact s;
    tally_fragment *f;
    tally_view i = tally_flat(&r, TALLY_I64, 1), v = tally_flat(NULL, TALLY_F64, 3);
    tally_exact_init(&s);
    refused(ctx, tally_reduce(ctx, "sum:exact", &i, &r), TALLY_UNSUPPORTED, "takes f16, bf16, f32 and f64, not i64");
    i.dtype = TALLY_F64;
    refused(ctx, tally_reduce(ctx, "max:exact", &i, &r), TALLY_UNSUPPORTED,
            "is for sum, mean, dot and their nan forms");
    refused(ctx, tally_exact_value(ctx, &s, "dot:exact", TALLY_F64, &r), TALLY_INVALID, "must be sum:exact");
    refused(ctx, tally_reduce(ctx, "sum:exactly", &i, &r), TALLY_INVALID, "its suffixes are :f64 and :exact");
    refused(ctx, tally_fragment_make(ctx, "sum:exact", TALLY_F64, &r, 0, 1, &f), TALLY_UNSUPPORTED, "tally_exact");
    refused(ctx, tally_exact_add(ctx, NULL, &i), TALLY_INVALID, "sum is NULL");
    refused(ctx, tally_exact_add(ctx, &s, NULL), TALLY_INVALID, "x is NULL");
    refused(ctx, tally_exact_add(ctx, &s, &v), TALLY_INVALID, "x->data is NULL");
    refused(NULL, tally_exact_add(NULL, &s, &v), TALLY_INVALID, "x->data is NULL");
    i.valid = &s;
    i.valid_offset = -1;
    refused(ctx, tally_exact_add(ctx, &s, &i), TALLY_INVALID, "x->valid_offset is -1");
    i.dtype = TALLY_U8;
    refused(NULL, tally_exact_add(NULL, &s, &i), TALLY_UNSUPPORTED, "not u8");
    refused(ctx, tally_exact_value(ctx, &s, "sum", TALLY_F64, &r), TALLY_INVALID, "must be sum:exact");
    refused(ctx, tally_exact_value(ctx, &s, "sum:exact", TALLY_F64, NULL), TALLY_INVALID, "value is NULL");
    refused(ctx, tally_exact_value(ctx, NULL, "sum:exact", TALLY_F64, &r), TALLY_INVALID, "sum is NULL");
    check(r == 7, "r was written");
}

/* A device's reductions: the same calls, of host arrays. (test_inputs has device memory.) */
static void on_device(const char *name)
{
    tally *ctx;
    tally_times_info times;
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    check_ok(ctx, tally_time(ctx, 1), "time");
    for (int kind = 0; kind < KINDS; kind++) {
        const size_t one = (size_t)check_below(4);
        for (size_t d = 0; d < 4; d++) {
            if (d != one && check_quick) continue;
            const check_operator o = pick(forms[check_below(FORMS)], dtypes[d]);
            flat(ctx, name, &o, kind);
            views(ctx, &o, kind);
        }
    }
    known_pairs(ctx);
    tally_times(ctx, &times);
    check(times.launches && !times.on_processors, "%s: %lld launches, %lld elements on the processors", name,
          (long long)times.launches, (long long)times.on_processors);
    known(ctx);
    for (int c = 0; c < (check_quick ? 50 : 300); c++) inputs(ctx, c % KINDS);
    tally_close(ctx);
}

int main(void)
{
    check_start();
    for_each_gpu(NULL, on_device);
    for (int k = 0; check_isa(k); k++) {
        tally *ctx = check_open(1 + 3 * (k & 1), check_isa(k)), *many = check_open(3, check_isa(k));
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int kind = 0; kind < KINDS; kind++) {
                for (int f = 0; f < FORMS; f++) {
                    const check_operator o = pick(forms[f], dtypes[d]);
                    if ((f + kind) % 3 && kind != LARGE_PAIRS && !check_long) continue;
                    if (check_quick && check_below(3)) continue;
                    flat(ctx, check_isa(k), &o, kind);
                    series(check_below(2) ? ctx : many, &o, kind);
                    if ((f + kind) % 2 == 0) views(check_below(2) ? ctx : many, &o, kind);
                }
                states(many, dtypes[d], kind);
            }
        for (int c = 0; c < (check_quick ? 200 : check_long ? 20000 : 1500); c++) inputs(c & 1 ? ctx : many, c % KINDS);
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) states_of_inputs(many, dtypes[d]);
        known(ctx);
        known_pairs(ctx);
        errors(ctx);
        tally_close(ctx);
        tally_close(many);
    }
    return check_finish();
}

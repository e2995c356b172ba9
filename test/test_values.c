/* SPDX-License-Identifier: MIT
 * What the interface promises beside the law: the documented value of no elements for every
 * operator and dtype; one-liners equal the verbs; the caller's floating-point settings change no
 * result and come back; tally_verify. */
#include "check.h"
#include <fenv.h>
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static tally *ctx;
static float x[4096];

/* What the column `empty` of op/ops.def says of no elements, as bits of type d: a number; NaN
 * (the positive quiet one); "NaN, or ..." for floats and for integers; "as NAME" what another
 * operator says, one for each value of a result, separated by commas. */
static int empty_bits(const char *words, tally_dtype d, int lane, void *to)
{
    static const uint64_t quiet[] = {0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000};
    const int is_float = d >= TALLY_F16, size = (int)tally_dtype_size(d);
    const uint64_t ones = size == 8 ? ~0ull : (1ull << 8 * size) - 1,
                   most = d & 1 ? ones >> 1 : ones;
    uint64_t bits;
    if (!strncmp(words, "as ", 3)) {
        check_operator other;
        char name[32];
        for (; lane && strchr(words, ','); lane--) words = strchr(words, ',') + 2;
        if (lane || sscanf(words, "as %31[a-z0-9_]", name) != 1 ||
            !check_operator_make(&other, name, d, 0))
            return 0;
        return empty_bits(other.info.empty, d, 0, to);
    }
    if (!strncmp(words, "NaN, or ", 8)) words = is_float ? "NaN" : words + 8;
    if (!strcmp(words, "NaN") && is_float)
        bits = quiet[d - TALLY_F16];
    else if (!strcmp(words, "all bits set"))
        bits = ones;
    else if (!strcmp(words, "the type's largest integer") && !is_float)
        bits = most;
    else if (!strcmp(words, "the type's smallest integer") && !is_float)
        bits = most ^ ones;
    else
        return !tally_parse_value(d, words, strlen(words), to);
    memcpy(to, &bits, (size_t)size);
    return 1;
}

static void empties(void)
{
    for (const char *const *name = tally_operators(); *name; name++)
        for (tally_dtype d = TALLY_I8; d <= TALLY_F64; d++)
            for (int wide = 0; wide < 2; wide++) {
                check_operator o;
                if (!check_operator_make(&o, *name, d, wide)) continue;
                int size = (int)tally_dtype_size(o.info.output);
                unsigned char nan_want[32];
                for (int lane = 0; lane < o.info.lanes; lane++)
                    check(empty_bits(o.info.empty, o.info.output, lane, nan_want + lane * size),
                          "src/op/ops.def says '%s' of %s with no elements: must be a number, NaN, "
                          "'NaN, or ...', "
                          "'as NAME', 'all bits set', 'the type's largest integer' or 'the type's "
                          "smallest integer'",
                          o.info.empty, *name);
                unsigned char nan_got[32];
                memset(nan_got, 0x5a, sizeof nan_got);
                tally_view v = tally_flat(NULL, d, 0);
                check_ok(ctx, tally_reduce(ctx, o.op, &v, nan_got), o.op);
                check_same(nan_got, nan_want, 1, o.result,
                           "empty %s of %s, which is '%s' in src/op/ops.def", o.op,
                           tally_dtype_name(d), o.info.empty);
                check(nan_got[o.result] == 0x5a, "empty %s of %s wrote too much", o.op,
                      tally_dtype_name(d));
                char first[16]; /* exclusive scan and missing windows say the same */
                uint64_t element = 0;
                tally_view in = tally_flat(&element, d, 1),
                           out = tally_flat(first, o.info.output, 1);
                tally_scan_options ex = {.exclusive = 1};
                tally_window_options w = {3, 0, TALLY_EDGES_MISSING, 0};
                check_ok(ctx, tally_scan(ctx, o.op, &in, &out, &ex), o.op);
                check_same(first, nan_got, 1, o.result, "exclusive[0] of %s %s", o.op,
                           tally_dtype_name(d));
                check_ok(ctx, tally_window(ctx, o.op, &in, &out, &w), o.op);
                check_same(first, nan_got, 1, o.result, "missing window of %s %s", o.op,
                           tally_dtype_name(d));
            }
    check(tally_sum_f32(NULL, 0) == 0 && tally_sum_i32(NULL, -5) == 0 &&
              isnan(tally_mean_f64(NULL, 0)) && isnan(tally_min_f32(NULL, 0)) &&
              isnan(tally_max_f64(NULL, -1)) && tally_min_i32(NULL, 0) == INT32_MAX &&
              tally_max_i32(NULL, 0) == INT32_MIN,
          "one-liners of nothing");
}

/* The operator whose nan form this is; NULL if it is none. */
static const char *plain_name(const char *name)
{
    return strncmp(name, "nan", 3) ? NULL : name + 3;
}

/* Nan forms, from their plain operators. Of two neighbours one is a NaN: then the tree is that
 * of the others alone, so every bit is that of the plain operator without the NaNs, after each
 * pair; an index is the element's own. Else: nothing but NaNs is nothing, an element among NaNs
 * is that element, and of numbers only the two are the same. */
enum { NAN_MOST = 9000 };
static const uint64_t quiet[] = {0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000};
static char with[NAN_MOST * 8], without[NAN_MOST * 8], nan_got[NAN_MOST * 16],
    nan_want[NAN_MOST * 16], empty[32];

/* m numbers, and one of each two elements a NaN: the results are those of the plain operator. */
static void every_second(const check_operator *o, const check_operator *plain, int64_t m,
                         int indexed)
{
    static int64_t at[NAN_MOST];
    const tally_dtype d = o->dtype;
    const int bytes = (int)o->bytes, size = (int)o->result;
    check_fill(without, d, m, TL_DATA_PLAIN);
    for (int64_t i = 0; i < m; i++) {
        at[i] = 2 * i + check_below(2);
        memcpy(with + (at[i] ^ 1) * bytes, &quiet[d - TALLY_F16], (size_t)bytes);
        memcpy(with + at[i] * bytes, without + i * bytes, (size_t)bytes);
    }
    tally_view a = tally_flat(with, d, 2 * m), b = tally_flat(without, d, m);
    tally_view ra = tally_flat(nan_got, o->info.output, 2 * m),
               rb = tally_flat(nan_want, o->info.output, m);
    check_ok(ctx, tally_scan(ctx, o->op, &a, &ra, NULL), o->op);
    check_ok(ctx, tally_scan(ctx, plain->op, &b, &rb, NULL), plain->op);
    for (int64_t i = 0; i < m; i++) {
        memmove(nan_got + i * size, nan_got + (2 * i + 1) * size, (size_t)size);
        if (indexed) ((int64_t *)nan_want)[i] = at[((int64_t *)nan_want)[i]];
    }
    check_same(nan_got, nan_want, m, size, "%s of %s, one of each two a NaN, scan of %lld", o->op,
               tally_dtype_name(d), (long long)m);
    check_ok(ctx, tally_reduce(ctx, o->op, &a, nan_got), o->op);
    check_same(nan_got, nan_want + (m - 1) * size, 1, size, "%s of %s, one of each two a NaN, %lld",
               o->op, tally_dtype_name(d), (long long)m);
    check_ok(ctx, tally_scan(ctx, o->op, &b, &rb, NULL), o->op);
    ra.n = m;
    check_ok(ctx, tally_scan(ctx, plain->op, &b, &ra, NULL), plain->op);
    check_same(nan_want, nan_got, m, size, "%s of %s without a NaN, %lld", o->op,
               tally_dtype_name(d), (long long)m);
}

/* 2 m NaNs, then one number among them. */
static void one_number(const check_operator *o, const check_operator *plain, int64_t m, int indexed)
{
    const tally_dtype d = o->dtype;
    const int bytes = (int)o->bytes, size = (int)o->result;
    const int64_t alone = check_below(2 * m);
    tally_view a = tally_flat(with, d, 2 * m), b = tally_flat(without, d, m),
               ra = tally_flat(nan_got, o->info.output, 2 * m);
    for (int64_t i = 0; i < 2 * m; i++)
        memcpy(with + i * bytes, &quiet[d - TALLY_F16], (size_t)bytes);
    b.n = 0;
    check_ok(ctx, tally_reduce(ctx, plain->op, &b, empty), plain->op);
    check_ok(ctx, tally_reduce(ctx, o->op, &a, nan_got), o->op);
    check_same(nan_got, empty, 1, size, "%s of %s, NaNs only, %lld", o->op, tally_dtype_name(d),
               (long long)m);
    memcpy(with + alone * bytes, without, (size_t)bytes);
    b.n = 1;
    check_ok(ctx, tally_reduce(ctx, plain->op, &b, nan_want), plain->op);
    if (indexed) memcpy(nan_want, &alone, sizeof alone);
    check_ok(ctx, tally_reduce(ctx, o->op, &a, nan_got), o->op);
    check_same(nan_got, nan_want, 1, size, "%s of %s, one number among %lld", o->op,
               tally_dtype_name(d), (long long)(2 * m));
    tally_window_options w = {1, 0, TALLY_EDGES_SHRINK,
                              0}; /* the number is in the windows that have it */
    check_ok(ctx, tally_window(ctx, o->op, &a, &ra, &w), o->op);
    for (int64_t i = 0; i < 2 * m; i++) {
        const int64_t place = alone - (i ? i - 1 : 0);
        const void *one = i != alone && i != alone + 1 ? (const void *)empty
                          : indexed                    ? (const void *)&place
                                                       : nan_want;
        check_same(nan_got + i * size, one, 1, size, "%s of %s, window at %lld of %lld", o->op,
                   tally_dtype_name(d), (long long)i, (long long)alone);
    }
}

static void nan_forms(void)
{
    static const int64_t sizes[] = {1,  2,  3,  4,   5,   7,    8,    15,   16,
                                    17, 31, 64, 100, 333, 2047, 2048, 2049, 4500};
    int64_t forms = 0;
    for (const char *const *each = tally_operators(); *each; each++)
        for (tally_dtype d = TALLY_F16; d <= TALLY_F64 && plain_name(*each); d++)
            for (int wide = 0; wide < 2; wide++) {
                check_operator o, plain;
                if (!check_operator_make(&o, *each, d, wide)) continue;
                if (!check(check_operator_make(&plain, plain_name(*each), d, wide),
                           "%s has no plain operator", *each))
                    continue;
                const int indexed = !strncmp(*each, "nanarg", 6);
                forms++;
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                    every_second(&o, &plain, sizes[s], indexed);
                    one_number(&o, &plain, sizes[s], indexed);
                }
            }
    check(forms >= 15 * 4, "%lld nan forms", (long long)forms);
}

/* ---- the caller's floating-point settings ---- */

typedef struct {
    char bytes[6][8192 * 8];
    float one[4];
    double two[4];
} outcome;

/* One pass over everything that computes; the first use of a parameter ("ema:0.3") happens under
 * the caller's settings.
 */
static void compute(tally *c, outcome *r, const float *data, const double *wide)
{
    enum { N = 3000 };
    tally_view a = tally_flat(data, TALLY_F32, N), b = tally_flat(wide, TALLY_F64, N);
    tally_view oa = tally_flat(NULL, TALLY_F32, N), ob = tally_flat(NULL, TALLY_F64, N);
    tally_window_options w = {12, 0, TALLY_EDGES_SHRINK, 0};
    tally_status bad = TALLY_OK;
    tally_stream *s = NULL;
    tally_fragment *f = NULL;
    memset(r, 0, sizeof *r);
    oa.data = r->bytes[0];
    bad |= tally_scan(c, "sum", &a, &oa, NULL);
    ob.data = r->bytes[1];
    bad |= tally_scan(c, "ema:0.3", &b, &ob, NULL);
    oa.data = r->bytes[2];
    bad |= tally_window(c, "mean", &a, &oa, &w);
    ob.data = r->bytes[3];
    bad |= tally_window(c, "std", &b, &ob, &w);
    bad |= tally_reduce(c, "var:ddof=0.7", &b, r->bytes[4]);
    bad |= tally_stream_scan(c, "prod", TALLY_F32, NULL, &s);
    bad |= tally_stream_push(s, data, N, r->bytes[5], NULL);
    tally_stream_close(s);
    bad |= tally_fragment_make(c, "sum", TALLY_F32, data, 0, N, &f);
    bad |= tally_fragment_result(f, r->bytes[4] + 8);
    tally_fragment_free(f);
    r->one[0] = tally_sum_f32(data, N);
    r->one[1] = tally_mean_f32(data, N);
    r->one[2] = tally_min_f32(data, N);
    r->one[3] = tally_sum_f32(data + 1, 2); /* two subnormals */
    r->two[0] = tally_sum_f64(wide, N);
    r->two[1] = tally_mean_f64(wide, N);
    bad |= tally_parse_value(TALLY_F64, "0.1", 3, &r->two[2]);
    check(bad == TALLY_OK, "computing: %s", tally_error(c));
    check(tally_reduce(c, "ema:-1e-310", &a, r) == TALLY_INVALID, "a subnormal alpha below 0");
}

static void settings(void)
{
    static float data[3000];
    static double wide[3000];
    static outcome plain, other;
    check_fill(data, TALLY_F32, 3000, TL_DATA_PLAIN);
    check_fill(wide, TALLY_F64, 3000, TL_DATA_PLAIN);
    for (int i = 0; i < 3000; i += 7)
        data[i + (i % 2)] = ldexpf((float)(i + 1), -149), wide[i] = ldexp(i + 1, -1074);
    data[1] = data[2] = ldexpf(3, -149);
    for (int k = 0; check_isa(k); k++) {
        const char *isa = check_isa(k) ? check_isa(k) : "";
        tally *c = check_open(1 + k % 2, check_isa(k));
        compute(c, &plain, data, wide);
        tally_close(c);
        static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
        for (int m = 0; m < 4; m++) {
            c = check_open(1 + k % 2, check_isa(k));
            fesetround(modes[m]);
#if defined(__x86_64__)
            /* flush to zero, denormals are zero */
            unsigned want = (_mm_getcsr() & ~0x3fu) | 0x8040u;
            _mm_setcsr(want);
#endif
            compute(c, &other, data, wide);
#if defined(__x86_64__)
            check((_mm_getcsr() & ~0x3fu) == want, "MXCSR came back as %x, not %x",
                  _mm_getcsr() & ~0x3fu, want);
            _mm_setcsr(0x1f80);
#endif
            check(fegetround() == modes[m] || modes[m] != FE_TONEAREST, "rounding %d", modes[m]);
            fesetround(FE_TONEAREST);
            tally_close(c);
            check_same(&other, &plain, sizeof plain / 8, 8, "%s, rounding mode %d, flushing", isa,
                       m);
        }
    }
#if !defined(__x86_64__)
    fesetround(FE_UPWARD);
    tally_sum_f32(data, 3000);
    check(fegetround() == FE_UPWARD, "the rounding mode did not come back");
    fesetround(FE_TONEAREST);
#endif
}

static void one_liners(void)
{
    static int32_t i32[500];
    static int64_t i64[500];
    static double f64[500];
    for (int64_t n = 0; n < 500; n += 1 + n / 9) {
        struct {
            int64_t i;
            double d;
            float f;
            int32_t s;
        } r;
        check_fill(x, TALLY_F32, n, TL_DATA_HOSTILE);
        check_fill(f64, TALLY_F64, n, TL_DATA_HOSTILE);
        check_fill(i32, TALLY_I32, n, TL_DATA_BITS);
        check_fill(i64, TALLY_I64, n, TL_DATA_BITS);
#define ONE(op, name, type, data, dtype, result) \
    do { \
        result got = tally_##op##_##name(data, n); \
        tally_view v = tally_flat(data, dtype, n); \
        check_ok(ctx, tally_reduce(ctx, #op, &v, &r), #op); \
        check_same(&got, &r, 1, sizeof got, "tally_%s_%s of %lld", #op, #name, (long long)n); \
    } while (0)
        ONE(sum, f32, float, x, TALLY_F32, float);
        ONE(mean, f32, float, x, TALLY_F32, float);
        ONE(min, f32, float, x, TALLY_F32, float);
        ONE(max, f32, float, x, TALLY_F32, float);
        ONE(sum, f64, double, f64, TALLY_F64, double);
        ONE(mean, f64, double, f64, TALLY_F64, double);
        ONE(min, f64, double, f64, TALLY_F64, double);
        ONE(max, f64, double, f64, TALLY_F64, double);
        ONE(sum, i32, int32_t, i32, TALLY_I32, int64_t);
        ONE(min, i32, int32_t, i32, TALLY_I32, int32_t);
        ONE(max, i32, int32_t, i32, TALLY_I32, int32_t);
        ONE(sum, i64, int64_t, i64, TALLY_I64, int64_t);
    }
}

static void verify(void)
{
    const char *report = NULL;
    int64_t cases = check_quick ? 100 : 700;
    for (int k = 0; check_isa(k); k++)
        for (int threads = 1; threads <= 3; threads += 2) {
            tally *c = check_open(threads, check_isa(k));
            check_ok(
                c, tally_verify(c, check_seed + (uint64_t)(1000000 * k + threads), cases, &report),
                "verify");
            check(report && strstr(report, "bit for bit") && strstr(report, check_isa(k)),
                  "verify reports '%s'", report ? report : "");
            check(!strcmp(tally_error(c), ""), "verify left an error: %s", tally_error(c));
            tally_close(c);
        }
    check(tally_verify(NULL, 1, 1, &report) == TALLY_INVALID &&
              strstr(tally_error(NULL), "ctx is NULL"),
          "no context");
    check(tally_verify(ctx, 1, -1, &report) == TALLY_INVALID &&
              strstr(tally_error(ctx), "cases is -1"),
          "-1 cases");
    check(!tally_verify(ctx, 1, 0, NULL), "no case, no report");
}

/* The mean of integers against arithmetic of 128 bits: sums of up to 2^53 are exact, so the mean
   is one division. */
static void integer_means(void)
{
    enum { N = 40 };
    int64_t v[N], wide[N];
    double got[N];
    for (tally_dtype d = TALLY_I8; d <= TALLY_U64; d++)
        for (int round = 0; round < 20; round++) {
            const int bytes = (int)tally_dtype_size(d), is_signed = d & 1;
            __int128 sum = 0;
            for (int i = 0; i < N; i++) {
                v[i] = round ? check_below((int64_t)1 << (bytes > 4 ? 47 : 8 * bytes - 1)) : 2;
                if (is_signed && (round % 3 == 0 || (round % 3 == 1 && i % 2))) v[i] = -v[i];
                memcpy((char *)wide + i * bytes, &v[i], (size_t)bytes);
            }
            tally_view in = tally_flat(wide, d, N), out = tally_flat(got, TALLY_F64, N);
            check_ok(ctx, tally_scan(ctx, "mean", &in, &out, NULL), "mean");
            for (int i = 0; i < N; i++) {
                sum += v[i];
                const double want = (double)sum / (i + 1);
                check(got[i] == want, "mean of %d %s, the first %lld: %.17g, not %.17g", i + 1,
                      tally_dtype_name(d), (long long)v[0], got[i], want);
            }
        }
}

int main(void)
{
    check_start();
    if (tally_open(&ctx, "cpu,threads=2")) return 1;
    settings();
    empties();
    nan_forms();
    integer_means();
    one_liners();
    verify();
    tally_close(ctx);
    return check_finish();
}

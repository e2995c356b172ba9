/* SPDX-License-Identifier: MIT
 * The evaluation tree, read out of the compiled kernels as numbers, for every shape, instruction
 * set and thread count:
 *
 *   sums      x[i] = M, x[j] = -M and ones elsewhere, with M so large that M + 1 == M. Every one
 *             below the node where i and j meet is absorbed, and the others are counted, so n -
 *             sum is the size of that node. The sizes for all pairs i < j determine the tree.
 *   weights   the order of operands: ema with alpha 1/2 of a one at i gives 2^-(n-1-i), exactly,
 *             in any association.
 *   ends      first and last of elements that are their own indices. */
#include "check.h"
#include <math.h>

enum { CAPACITY = 300001 };

/* ---- sums: the size of the node where i and j meet ---- */

/* By the definition, i < j < n: inside one block, the smallest aligned pair tree that holds
 * both; else all up to the end of j's block. */
static int64_t meet(int64_t i, int64_t j, int64_t n)
{
    int64_t start = 0;
    for (int k = 62; k >= 0; k--) {
        int64_t block = (int64_t)1 << k;
        if (!(n & block)) continue;
        if (j < start + block) {
            if (i < start) return start + block;
            int64_t size = 2;
            while ((i - start) / size != (j - start) / size) size *= 2;
            return size;
        }
        start += block;
    }
    return 0;
}

typedef struct {
    tally *ctx;
    const char *isa;
    int threads;
    tally_dtype dtype;
    char *x, *out;
} prober;

static void put(prober *t, int64_t i, double v)
{
    if (t->dtype == TALLY_F32)
        ((float *)t->x)[i] = (float)v;
    else
        ((double *)t->x)[i] = v;
}
static double result(const prober *t, int64_t i)
{
    return t->dtype == TALLY_F32 ? ((float *)t->out)[i] : ((double *)t->out)[i];
}

static const double BIG = 0x1p100; /* absorbs any count below 2^52, in f32 too */

#define PROBE "%s %s x%d n=%lld i=%lld j=%lld"
#define PROBE_ARGS(t, n, i, j) \
    tally_dtype_name((t)->dtype), (t)->isa, (t)->threads, (long long)(n), (long long)(i), \
        (long long)(j)

static void probe_reduce(prober *t, int64_t n, int64_t i, int64_t j)
{
    tally_view in = tally_flat(t->x, t->dtype, n);
    put(t, i, BIG);
    put(t, j, -BIG);
    if (check_ok(t->ctx, tally_reduce(t->ctx, "sum", &in, t->out), "reduce"))
        check(result(t, 0) == (double)(n - meet(i, j, n)), "reduce " PROBE ": meet in %g, not %lld",
              PROBE_ARGS(t, n, i, j), (double)n - result(t, 0), (long long)meet(i, j, n));
    put(t, i, 1);
    put(t, j, 1);
}

/* Every prefix of n elements is a reading of its own tree. */
static void probe_scan(prober *t, int64_t n, int64_t i, int64_t j, int reverse, int64_t step)
{
    tally_view in = tally_flat(t->x, t->dtype, n), out = tally_flat(t->out, t->dtype, n);
    tally_scan_options o = {.reverse = reverse};
    int64_t m = 1;
    put(t, reverse ? n - 1 - i : i, BIG);
    put(t, reverse ? n - 1 - j : j, -BIG);
    if (check_ok(t->ctx, tally_scan(t->ctx, "sum", &in, &out, &o), "scan")) {
        for (; m <= n; m = m + step > n && m < n ? n : m + step) {
            double got = result(t, reverse ? n - m : m - 1);
            double want = m <= i ? (double)m : m <= j ? BIG : (double)(m - meet(i, j, m));
            if (got != want) break;
        }
        check(m > n, "scan " PROBE " at %lld reverse %d", PROBE_ARGS(t, n, i, j), (long long)m - 1,
              reverse);
    }
    put(t, reverse ? n - 1 - i : i, 1);
    put(t, reverse ? n - 1 - j : j, 1);
}

static void probe_window(prober *t, int64_t n, int64_t w, int64_t i, int64_t j, int64_t after)
{
    tally_window_options o = {w - 1 - after, after, TALLY_EDGES_SHRINK, 0};
    tally_view in = tally_flat(t->x, t->dtype, n), out = tally_flat(t->out, t->dtype, n);
    int64_t c = 0;
    put(t, i, BIG);
    put(t, j, -BIG);
    if (check_ok(t->ctx, tally_window(t->ctx, "sum", &in, &out, &o), "window")) {
        for (; c < n; c++) {
            int64_t from = c < o.before ? 0 : c - o.before,
                    end = c + after + 1 < n ? c + after + 1 : n, m = end - from;
            int has_i = i >= from && i < end, has_j = j >= from && j < end;
            double want = has_i && has_j ? (double)(m - meet(i - from, j - from, m))
                          : has_i        ? BIG
                          : has_j        ? -BIG
                                         : (double)m;
            if (result(t, c) != want) break;
        }
        check(c == n, "window " PROBE " w=%lld after=%lld at %lld", PROBE_ARGS(t, n, i, j),
              (long long)w, (long long)after, (long long)c);
    }
    put(t, i, 1);
    put(t, j, 1);
}

/* Column c carries the pair number c: many readings per call, through the kernels for columns,
   or rows, or segments. */
static void probe_batch(prober *t, int64_t n, int64_t width, int columns)
{
    static int64_t low[2048], high[2048];
    static int64_t offsets[2049];
    tally_view in = columns == 1   ? tally_columns(t->x, t->dtype, n, width)
                    : columns == 2 ? tally_segments(t->x, t->dtype, offsets, width)
                                   : tally_rows(t->x, t->dtype, width, n);
    for (int64_t c = 0; c < width; c++) {
        low[c] = check_below(n - 1);
        high[c] = low[c] + 1 + check_below(n - 1 - low[c]);
        offsets[c + 1] = (c + 1) * n;
        put(t, columns == 1 ? low[c] * width + c : c * n + low[c], BIG);
        put(t, columns == 1 ? high[c] * width + c : c * n + high[c], -BIG);
    }
    if (check_ok(t->ctx, tally_reduce(t->ctx, "sum", &in, t->out), "batch"))
        for (int64_t c = 0; c < width; c++)
            check(result(t, c) == (double)(n - meet(low[c], high[c], n)),
                  "layout %d column %lld " PROBE, columns, (long long)c,
                  PROBE_ARGS(t, n, low[c], high[c]));
    for (int64_t k = 0; k < n * width; k++) put(t, k, 1);
}

static void probe(prober *t, int64_t most)
{
    for (int64_t k = 0; k < CAPACITY; k++) put(t, k, 1);
    int64_t small = t->threads > 1 ? 20 : check_quick ? 70 : t->dtype == TALLY_F32 ? 300 : 150;
    for (int64_t n = 2; n <= small; n += n < 100                       ? 1
                                         : n % 64 == 63 || n % 64 == 0 ? 1
                                                                       : 1 + check_below(12))
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++) probe_reduce(t, n, i, j);
    int64_t scan = check_quick ? 40 : small * 2 / 3;
    for (int64_t i = 0; i < scan; i++)
        for (int64_t j = i + 1; j < scan; j++) probe_scan(t, scan, i, j, (int)(j & 1), 1);
    static const int64_t widths[] = {1,  2,  3,  4,  5,  7,  8,   12,  13,  16,  21,
                                     31, 32, 33, 47, 64, 65, 100, 127, 128, 200, 333};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (int r = 0; r < (check_quick ? 20 : 300); r++) {
            int64_t w = widths[k], n = w + check_below(150), i = check_below(n - 1),
                    near = check_below(w < n - 1 - i ? w : n - 1 - i);
            if (n > 1) probe_window(t, n, w, i, i + 1 + near, check_below(2) ? 0 : check_below(w));
        }
    static const int64_t sizes[] = {2, 3, 8, 13, 31, 32, 33, 100, 255, 257, 1000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int layout = 0; layout < 3; layout++)
            probe_batch(t, sizes[k],
                        1 + check_below(20000 / sizes[k] < 2000 ? 20000 / sizes[k] : 2000), layout);
    if (t->threads > 1 && most > 200000) { /* long columns, few: blocks of rows */
        probe_batch(t, 20000, 5, 1);
        probe_batch(t, 33333, 3, 1);
    }
    static const int64_t large[] = {4095,  4096,  4097,  5000,   8191,  8192,
                                    12289, 65537, 70000, 262144, 300001};
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        int64_t n = large[k];
        if (n > most) break;
        for (int r = 0; r < (check_quick ? 10 : n > 100000 ? 60 : 200); r++) {
            int64_t i = check_below(n - 1), left = n - 1 - i,
                    j = i + 1 + check_below(check_below(2) && left > 64 ? 64 : left);
            probe_reduce(t, n, i, j);
            if (r % 4 == 0) probe_scan(t, n, i, j, 0, 1 + check_below(5));
            if (r % 20 == 0) probe_window(t, n, 1 + check_below(5000), i, j, 0);
        }
    }
}

/* ---- weights: where each element stands ---- */

static void probe_order(tally *ctx, const char *isa, int threads)
{
    static double x[400], y[400];
    int64_t most = check_quick ? 70 : 300;
    memset(x, 0, sizeof x);
    for (int64_t i = 0; i < most; i++) {
        tally_view in = tally_flat(x, TALLY_F64, most), out = tally_flat(y, TALLY_F64, most);
        int64_t m = 0, c;
        x[i] = 1;
        /* after the first element every weight is alpha (1 - alpha)^age; the first counts as if
         * it had always been there */
        if (check_ok(ctx, tally_scan(ctx, "ema:0.5", &in, &out, NULL), "ema"))
            while (m < most && y[m] == (m < i ? 0 : ldexp(1, (int)(i - m - (i > 0))))) m++;
        check(m == most, "scan ema one at %lld of %lld %s x%d: weight at %lld is %a", (long long)i,
              (long long)most, isa, threads, (long long)m, m < most ? y[m] : 0);
        for (int64_t n = i + 1; n <= most; n += 1 + (n > 40) * check_below(9)) {
            in.n = n;
            if (check_ok(ctx, tally_reduce(ctx, "ema:0.5", &in, y), "ema"))
                check(y[0] == ldexp(1, (int)(i - (n - 1) - (i > 0))),
                      "ema one at %lld of %lld %s x%d is %a", (long long)i, (long long)n, isa,
                      threads, y[0]);
        }
        int64_t w = 1 + check_below(80);
        tally_window_options o = {w - 1, 0, TALLY_EDGES_SHRINK, 0};
        in.n = most;
        if (check_ok(ctx, tally_window(ctx, "ema:0.5", &in, &out, &o), "ema")) {
            for (c = 0; c < most; c++) {
                int64_t from = c < w ? 0 : c - w + 1;
                if (y[c] != (i < from || i > c ? 0 : ldexp(1, (int)(i - c - (i > from))))) break;
            }
            check(c == most, "window %lld ema one at %lld of %lld %s x%d", (long long)w,
                  (long long)i, (long long)most, isa, threads);
        }
        x[i] = 0;
    }
}

/* first and last of elements that are their own indices: the outermost operands, in every shape. */
static void probe_ends(tally *ctx, const char *isa)
{
    static int32_t x[5000], y[5000];
    for (int i = 0; i < 5000; i++) x[i] = i;
    for (int k = 0; k < (check_quick ? 30 : 300); k++) {
        int64_t n = 1 + check_below(5000), w = 1 + check_below(k % 2 ? 70 : 700), bad = 0;
        tally_view in = tally_flat(x, TALLY_I32, n), out = tally_flat(y, TALLY_I32, n);
        tally_window_options o = {w - 1, 0, TALLY_EDGES_SHRINK, 0};
        check(!tally_reduce(ctx, "first", &in, y) && y[0] == 0, "first of %lld %s", (long long)n,
              isa);
        check(!tally_reduce(ctx, "last", &in, y) && y[0] == n - 1, "last of %lld %s", (long long)n,
              isa);
        check_ok(ctx, tally_scan(ctx, "first", &in, &out, NULL), "scan first");
        for (int64_t i = 0; i < n; i++) bad += y[i] != 0;
        check_ok(ctx, tally_scan(ctx, "last", &in, &out, NULL), "scan last");
        for (int64_t i = 0; i < n; i++) bad += y[i] != i;
        check_ok(ctx, tally_window(ctx, "first", &in, &out, &o), "window first");
        for (int64_t i = 0; i < n; i++) bad += y[i] != (i < w ? 0 : i - w + 1);
        check_ok(ctx, tally_window(ctx, "last", &in, &out, &o), "window last");
        for (int64_t i = 0; i < n; i++) bad += y[i] != i;
        check(!bad, "first and last of %lld, w=%lld, %s: %lld wrong", (long long)n, (long long)w,
              isa, (long long)bad);
    }
}

int main(void)
{
    check_start();
    int64_t most = CAPACITY;
    char *x = calloc((size_t)most, 8), *out = calloc((size_t)most, 8);
    for (int i = 0; check_isa(i); i++)
        for (int threads = 1; threads <= 3; threads++) {
            tally *ctx = check_open(threads, check_isa(i));
            prober t = {ctx, check_isa(i), threads, TALLY_F32, x, out};
            probe(&t, threads > 1 || !check_quick ? most : 13000);
            t.dtype = TALLY_F64;
            probe(&t, threads > 1 ? most : 70000);
            if (threads < 3) probe_order(ctx, check_isa(i), threads);
            if (threads == 1) probe_ends(ctx, check_isa(i));
            tally_close(ctx);
        }
    free(x);
    free(out);
    return check_finish();
}

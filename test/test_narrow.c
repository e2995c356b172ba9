/* SPDX-License-Identifier: MIT
 * The fast path of one- and two-byte extremes (cpu/narrow) on every instruction set: rows and
 * segments of all small lengths, columns of all widths, windows of all lengths by the law; and
 * what is so long that results go past the caches, beside the same numbers in 32 bits, which
 * other kernels take. */
#include "matrix.h"

enum { CAPACITY = 40000, LONG = (4 << 20) + 5000, MARGIN = 64 };
static const tally_dtype types[] = {TALLY_I8,  TALLY_U8,  TALLY_I16,
                                    TALLY_U16, TALLY_F16, TALLY_BF16};
static const char *const names[] = {"max", "min", "nanmax", "nanmin"};
/* y and want hold CAPACITY elements and the margin behind them that no result may change; y may
   begin later (place). */
static _Alignas(64) char x[CAPACITY * 2], y[CAPACITY * 2 + 4 * MARGIN],
    want[CAPACITY * 2 + 4 * MARGIN], prefixes[(CAPACITY + 1) * 2];

typedef struct {
    tally *ctx;
    const char *name, *isa;
    const tl_scalar *op;
    tl_par p;
    tally_dtype d;
    int64_t bytes;
} one;

static char *place(int64_t bytes) { return y + check_below(MARGIN / bytes) * bytes; }

/* n elements that are `stride` apart. */
typedef struct sequence {
    const char *x;
    int64_t stride, n;
} sequence;

/* The results of one sequence: of a scan, as far apart as its elements; o NULL: of a reduction. */
static void law(const one *c, sequence q, const tally_scan_options *o, char *to)
{
    const int64_t b = c->bytes, n = q.n, stride = q.stride, back = o && o->reverse && n ? n - 1 : 0;
    reference_prefixes(c->op, c->p, q.x + back * stride * b, back ? -stride : stride, n,
                       o ? o->init : NULL, prefixes);
    if (!o) memcpy(to, prefixes + n * b, (size_t)b);
    for (int64_t i = 0; i < n && o; i++)
        memcpy(to + (back ? back - i : i) * stride * b, prefixes + (i + !o->exclusive) * b,
               (size_t)b);
}

static sequence sequence_of(const tally_view *in, const char *from, int64_t r)
{
    return (sequence){from, in->stride, in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n};
}

/* A view whose sequences begin at begin[r]: reduced and scanned. */
static void check_view(const one *c, const char *what, tally_view in, const int64_t *begin,
                       int64_t span)
{
    const int64_t b = c->bytes;
    char init[2], *to = place(b);
    const tally_scan_options o = {.exclusive = (int)check_below(2),
                                  .reverse = !in.offsets && check_below(4) == 0,
                                  .init = check_below(2) ? init : NULL};
    const int in_place = (int)check_below(2);
    check_fill(init, c->d, 1, TL_DATA_HOSTILE);
    memset(y, 1, sizeof y);
    memset(want, 1, sizeof want);
    for (int64_t r = 0; r < in.rows; r++)
        law(c, sequence_of(&in, x + begin[r] * b, r), NULL, want + r * b);
    check_ok(c->ctx, tally_reduce(c->ctx, c->name, &in, to), what);
    check_same(to, want, in.rows + MARGIN, b, "%s %s %s %s: %lld of %lld", c->name,
               tally_dtype_name(c->d), c->isa, what, (long long)in.rows, (long long)in.n);

    memset(y, 1, sizeof y);
    memset(want, 1, sizeof want);
    if (in_place) memcpy(to, x, (size_t)(span * b)), memcpy(want, x, (size_t)(span * b));
    tally_view from = in, out = in;
    if (in_place) from.data = to;
    out.data = to;
    for (int64_t r = 0; r < in.rows; r++)
        law(c, sequence_of(&in, x + begin[r] * b, r), &o, want + begin[r] * b);
    check_ok(c->ctx, tally_scan(c->ctx, c->name, &from, &out, &o), what);
    check_same(to, want, span + MARGIN, b,
               "scan %s %s %s %s: %lld of %lld, exclusive %d reverse %d init %d place %d", c->name,
               tally_dtype_name(c->d), c->isa, what, (long long)in.rows, (long long)in.n,
               o.exclusive, o.reverse, o.init != NULL, in_place);
}

static void many(const one *c, int64_t n)
{
    static int64_t begin[CAPACITY], offsets[CAPACITY];
    const int64_t gap = check_below(2) ? 0 : check_below(3), pitch = n + gap,
                  most = CAPACITY / 2 / pitch, rows = 2 + check_below(most < 140 ? most - 1 : 139);
    tally_view in = tally_rows(x, c->d, rows, n);
    in.row_stride = pitch;
    for (int64_t r = 0; r < rows; r++) begin[r] = r * pitch;
    check_view(c, "rows", in, begin, rows * pitch);

    in = (tally_view){
        .data = x, .dtype = c->d, .rows = rows, .n = n, .row_stride = 1, .stride = rows + gap};
    for (int64_t r = 0; r < rows; r++) begin[r] = r;
    check_view(c, "columns", in, begin, (rows + gap) * n);

    offsets[0] = check_below(3);
    for (int64_t r = 0; r < rows; r++) {
        begin[r] = offsets[r];
        offsets[r + 1] = offsets[r] + check_below(n + 2);
    }
    if (offsets[rows] < CAPACITY / 2)
        check_view(c, "segments", tally_segments(x, c->d, offsets, rows), begin, CAPACITY / 2);
}

static void windows(const one *c, int64_t w)
{
    const int64_t b = c->bytes, n = w + check_below(500), before = check_below(w),
                  after = w - 1 - before;
    const tally_window_options o = {.before = before,
                                    .after = after,
                                    .edges = (tally_edges)check_below(3),
                                    .min_count = check_below(2) ? 0 : check_below(w)};
    char *to = place(b);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t lo = i - before < 0 ? 0 : i - before, hi = i + after >= n ? n - 1 : i + after;
        const int full = hi - lo + 1 == w;
        reference s = {0};
        int64_t kept = 0;
        if (o.edges == TALLY_EDGES_VALID && !full) continue;
        for (int64_t j = lo; j <= hi; j++) {
            const reference e = reference_lift(c->op, c->p, x + j * b, j - lo);
            kept += e.present;
            reference_combine(c->op, &s, &e);
        }
        if (!c->op->masked) kept = hi - lo + 1;
        if (kept < o.min_count || (!full && o.edges == TALLY_EDGES_MISSING && !o.min_count))
            s.present = 0;
        reference_lower(c->op, c->p, &s, hi - lo + 1, lo, want + count++ * b);
    }
    memset(y, 1, sizeof y);
    memset(want + count * b, 1, MARGIN);
    const tally_view in = tally_flat(x, c->d, n), out = tally_flat(to, c->op->out, count);
    check_ok(c->ctx, tally_window(c->ctx, c->name, &in, &out, &o), "window");
    check_same(to, want, count + MARGIN / b, b,
               "window %s %s %s of %lld, n %lld before %lld edges %d min %lld", c->name,
               tally_dtype_name(c->d), c->isa, (long long)w, (long long)n, (long long)before,
               (int)o.edges, (long long)o.min_count);
}

/* Columns: each beside the windows of its own copy, which are tested above. */
static void column_windows(const one *c, int64_t w)
{
    static char column[CAPACITY * 2], result[CAPACITY * 2];
    const int64_t b = c->bytes, n = w + check_below(3 * w + 20), most = CAPACITY / n,
                  width = 2 + check_below(most < 200 ? most - 1 : 199), before = check_below(w);
    const tally_window_options o = {.before = before,
                                    .after = w - 1 - before,
                                    .edges = (tally_edges)check_below(3),
                                    .min_count = check_below(2) ? 0 : check_below(w)};
    const int64_t count = tally_window_length(n, &o);
    tally_view in = {.data = x,
                     .dtype = c->d,
                     .rows = width,
                     .n = n,
                     .row_stride = 1,
                     .stride = width},
               out = {.data = place(b),
                      .dtype = c->d,
                      .rows = width,
                      .n = count,
                      .row_stride = 1,
                      .stride = width};
    memset(y, 1, sizeof y);
    memset(want, 1, sizeof want);
    for (int64_t k = 0; k < width; k++) {
        for (int64_t j = 0; j < n; j++) memcpy(column + j * b, x + (j * width + k) * b, (size_t)b);
        const tally_view one_in = tally_flat(column, c->d, n),
                         one_out = tally_flat(result, c->d, count);
        check_ok(c->ctx, tally_window(c->ctx, c->name, &one_in, &one_out, &o), "window");
        for (int64_t j = 0; j < count; j++)
            memcpy(want + (j * width + k) * b, result + j * b, (size_t)b);
    }
    check_ok(c->ctx, tally_window(c->ctx, c->name, &in, &out, &o), "columns");
    check_same(out.data, want, count * width + MARGIN / b, b,
               "windows %s %s %s of %lld, %lld columns, n %lld before %lld edges %d min %lld",
               c->name, tally_dtype_name(c->d), c->isa, (long long)w, (long long)width,
               (long long)n, (long long)before, (int)o.edges, (long long)o.min_count);
}

/* ---- past the caches ---- */

#define NARROW(type, i) (type == TALLY_I8 ? ((int8_t *)a)[i] : ((uint16_t *)a)[i])
static void far(tally *ctx, const char *isa, const char *name, tally_dtype d,
                const tally_window_options *o)
{
    static int32_t wide[LONG], result[LONG];
    static char a[LONG * 2], got[LONG * 2 + MARGIN];
    const int64_t b = (int64_t)tally_dtype_size(d), n = LONG, skew = check_below(MARGIN / b) * b;
    int64_t bad = 0;
    check_fill(a, d, n, TL_DATA_BITS);
    for (int64_t i = 0; i < n; i++) wide[i] = NARROW(d, i);
    const tally_view in = tally_flat(a, d, n), out = tally_flat(got + skew, d, n),
                     wide_in = tally_flat(wide, TALLY_I32, n),
                     wide_out = tally_flat(result, TALLY_I32, n);
    if (o) {
        check_ok(ctx, tally_window(ctx, name, &in, &out, o), name);
        check_ok(ctx, tally_window(ctx, name, &wide_in, &wide_out, o), name);
    } else {
        check_ok(ctx, tally_scan(ctx, name, &in, &out, NULL), name);
        check_ok(ctx, tally_scan(ctx, name, &wide_in, &wide_out, NULL), name);
    }
    memcpy(a, got + skew, (size_t)(n * b));
    for (int64_t i = 0; i < n; i++) bad += NARROW(d, i) != result[i];
    check(!bad, "%s %s %s of %d elements, window %lld: %lld results are other ones", name,
          tally_dtype_name(d), isa, LONG, o ? (long long)o->before + 1 : 0, (long long)bad);
}

/* Few and many columns on several threads, beside the same numbers in 32 bits. */
static void shared(tally *ctx, const char *isa, const char *name, tally_dtype d)
{
    enum { ALL = 5 << 20 }; /* enough that results are streamed */
    static int32_t wide[ALL], result[ALL];
    static char a[ALL * 2], got[ALL * 2];
    const int64_t columns = 1 + check_below(check_below(2) ? 40 : 5000), n = ALL / columns,
                  b = (int64_t)tally_dtype_size(d), all = n * columns;
    const int reduces = (int)check_below(2);
    int64_t bad = 0;
    check_fill(a, d, all, TL_DATA_BITS);
    for (int64_t i = 0; i < all; i++) { /* the extremes come late */
        if ((i / columns & 1023) < 1000) memset(a + i * b, 1, (size_t)b);
        wide[i] = NARROW(d, i);
    }
    const tally_view in = {a, d, columns, n, 1, columns, NULL, NULL, 0, NULL};
    tally_view wide_in = in, out = in, wide_out = in;
    wide_in.data = wide, out.data = got, wide_out.data = result;
    wide_in.dtype = wide_out.dtype = TALLY_I32;
    const int32_t start = 3;
    tally_scan_options o = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    o.init = &start; /* little-endian: the same number in every width */
    if (reduces) {
        check_ok(ctx, tally_reduce(ctx, name, &in, got), name);
        check_ok(ctx, tally_reduce(ctx, name, &wide_in, result), name);
    } else {
        check_ok(ctx, tally_scan(ctx, name, &in, &out, &o), name);
        check_ok(ctx, tally_scan(ctx, name, &wide_in, &wide_out, &o), name);
    }
    memcpy(a, got, (size_t)(all * b));
    for (int64_t i = 0; i < (reduces ? columns : all); i++) bad += NARROW(d, i) != result[i];
    check(!bad, "%s %s %s of %lld columns on threads, %s: %lld results are other ones", name,
          tally_dtype_name(d), isa, (long long)columns, reduces ? "reduce" : "scan",
          (long long)bad);
}

/* ---- moments ----
 *
 * var of integers of one and two bytes, beside the same numbers in f64. The numbers are near the
 * ends of their type: then m2 of 2^11 numbers of two bytes fits 53 bits, and m2 of 2^12 does not
 * (cpu/kernel/reduce_kernel.h). */
static void moments(tally *ctx, const char *isa, tally_dtype d)
{
    enum { N = 2 * 4096 };
    static char a[2 * N + 1];
    static double wide[N];
    double got, expected;
    const int bytes = (int)tally_dtype_size(d), bits = 8 * bytes,
              low = d == TALLY_I8 || d == TALLY_I16 ? -(1 << (bits - 1)) : 0;
    const int64_t n = N - check_below(2) * check_below(N), at = check_below(2);
    for (int64_t i = 0; i < n; i++) {
        const int step = (int)check_below(4),
                  value = low + (check_below(2) ? (1 << bits) - 1 - step : step);
        memcpy(a + at + i * bytes, &value, (size_t)bytes);
        wide[i] = value;
    }
    const tally_view in = tally_flat(a + at, d, n), same = tally_flat(wide, TALLY_F64, n);
    check_ok(ctx, tally_reduce(ctx, "var", &in, &got), "var");
    check_ok(ctx, tally_reduce(ctx, "var", &same, &expected), "var");
    check_same(&got, &expected, 1, sizeof got, "var %s %s of %lld", tally_dtype_name(d), isa,
               (long long)n);
}

int main(void)
{
    static const tally_dtype integers[] = {TALLY_I8, TALLY_U8, TALLY_I16, TALLY_U16};
    check_start();
    for (int i = 0; check_isa(i); i++) {
        one c = {.ctx = check_open(1, check_isa(i)), .isa = check_isa(i)};
        for (size_t t = 0; t < sizeof types / sizeof *types && CHECK_LEAST_THREADS == 1; t++)
            /* not all of them: a second in all */
            for (int first = (int)check_below(4), k = 0; k < (check_quick ? 1 : 2); k++) {
                c.name = names[(first + k) % 4], c.d = types[t],
                c.bytes = (int64_t)tally_dtype_size(c.d);
                if (!check_ok(c.ctx, tl_resolve(c.ctx, c.name, c.d, &c.op, &c.p), c.name)) continue;
                check_fill(x, c.d, CAPACITY, check_below(2) ? TL_DATA_HOSTILE : TL_DATA_PLAIN);
                for (int64_t n = 1; n < 40; n += 1 + check_below(2)) many(&c, n);
                for (int64_t n = 40; n < 400; n += 1 + check_below(200)) many(&c, n);
                for (int64_t w = 1; w < 1500; w += 1 + check_below(w + 3)) windows(&c, w);
                windows(&c, 513 + check_below(900));
                for (int64_t w = 1; w < 140; w += 1 + check_below(30)) column_windows(&c, w);
            }
        for (int k = 0; k < (check_quick ? 24 : 80); k++) moments(c.ctx, c.isa, integers[k % 4]);
        const int few = (int)check_below(2);
        const tally_window_options o = {.before = few ? 2 : 600 + check_below(200),
                                        .edges = TALLY_EDGES_SHRINK};
        far(c.ctx, c.isa, "max", few ? TALLY_U16 : TALLY_I8, NULL);
        far(c.ctx, c.isa, "min", few ? TALLY_I8 : TALLY_U16, &o);
        tally_close(c.ctx);
        c.ctx = check_open(4, c.isa);
        for (int k = 0; k < (check_quick ? 4 : 16); k++)
            shared(c.ctx, c.isa, names[k % 2], k % 3 ? TALLY_I8 : TALLY_U16);
        tally_close(c.ctx);
    }
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * The laws users rely on, on random cases and through the public interface only:
 *
 *   scan[i] == reduce of the prefix       exclusive, reverse and init are the inclusive scan, moved
 *   window[i] == reduce of the slice      every edge rule, every min_count
 *   rows, columns, every k-th, backwards and segments == the 1-D result of that sequence
 *   in place == out of place              twice == once, at any threads, instruction set and
 *                                         alignment
 *   nothing is written outside an output  sentinels before, behind and between
 */
#include "parts.h"

enum { MOST = 330000, GUARD = 64 };

static char *x_memory, *y_memory, *z_memory;

/* One random case: an operator, a context, data, an odd place for it. */
typedef struct {
    check_operator o;
    tally *ctx;
    char *x, *y; /* misaligned */
    int64_t n;
    int kind;
    char what[160];
} law;

static law pick(int64_t most)
{
    law c = {.o = check_operator_random(), .ctx = any()};
    c.n = check_size(most);
    c.kind = (int)check_below(TL_DATA_KINDS);
    c.x = x_memory + GUARD + check_below(17);
    c.y = y_memory + GUARD + check_below(17);
    check_fill(c.x, c.o.dtype, c.n, c.kind);
    snprintf(c.what, sizeof c.what, "%s %s %s x%d n=%lld data %d", c.o.op,
             tally_dtype_name(c.o.dtype), tally_isa(c.ctx), tally_threads(c.ctx), (long long)c.n,
             c.kind);
    return c;
}

/* The reduction of n elements at p that are `stride` apart: always of a dense copy, on one
   thread. */
static void reduce_copy(const law *c, const char *p, int64_t stride, int64_t n, void *out)
{
    static char copy[MOST * 8];
    for (int64_t i = 0; i < n; i++)
        memcpy(copy + i * c->o.bytes, p + i * stride * c->o.bytes, (size_t)c->o.bytes);
    tally_view v = tally_flat(copy, c->o.dtype, n);
    check_ok(contexts[0], tally_reduce(contexts[0], c->o.op, &v, out), c->what);
}

static void guard(char *out, int64_t bytes)
{
    memset(out - GUARD, 0x5a, (size_t)(bytes + 2 * GUARD));
}

static void check_guard(const char *out, int64_t bytes, const char *what)
{
    int ok = 1;
    for (int i = 1; i <= GUARD; i++) ok &= out[-i] == 0x5a && out[bytes + i - 1] == 0x5a;
    check(ok, "%s: something was written outside the output", what);
}

static void scan(const law *c, const char *x, char *y, int64_t n, const tally_scan_options *o)
{
    tally_view in = tally_flat(x, c->o.dtype, n), out = tally_flat(y, c->o.info.output, n);
    guard(y, n * c->o.result);
    check_ok(c->ctx, tally_scan(c->ctx, c->o.op, &in, &out, o), c->what);
    check_guard(y, n * c->o.result, c->what);
}

/* ---- scans ---- */

static void law_scan(void)
{
    law c = pick(9000);
    int64_t size = c.o.result, n = c.n;
    char *y = c.y, *z = z_memory + GUARD, one[16], empty[16], init[16];
    scan(&c, c.x, y, n, NULL);
    for (int k = 0; k < 12 && n; k++) {
        int64_t i = k ? check_below(n) : n - 1;
        reduce_copy(&c, c.x, 1, i + 1, one);
        check_same(y + i * size, one, 1, size, "scan[%lld] and the reduction of its prefix: %s",
                   (long long)i, c.what);
    }
    reduce_copy(&c, c.x, 1, 0, empty);
    tally_scan_options exclusive = {.exclusive = 1};
    scan(&c, c.x, z, n, &exclusive);
    check_same(z, empty, n > 0, size, "exclusive[0] and the empty value: %s", c.what);
    check_same(z + size, y, n - 1, size, "exclusive and inclusive, moved: %s", c.what);

    static char backwards[9000 * 8 + GUARD],
        w[9000 * 16 + 2 * GUARD]; /* reverse is the scan of the reversed copy, reversed */
    for (int64_t i = 0; i < n; i++)
        memcpy(backwards + i * c.o.bytes, c.x + (n - 1 - i) * c.o.bytes, (size_t)c.o.bytes);
    for (int ex = 0; ex < 2; ex++) {
        tally_scan_options reverse = {.reverse = 1, .exclusive = ex};
        scan(&c, c.x, z, n, &reverse);
        reverse.reverse = 0;
        scan(&c, backwards, w + GUARD, n, &reverse);
        for (int64_t i = 0; i < n; i++)
            memcpy(y + i * size, w + GUARD + (n - 1 - i) * size, (size_t)size);
        check_same(z, y, n, size, "reverse: %s", c.what);
    }

    if (!c.o.info.seedable) {
        tally_view in = tally_flat(c.x, c.o.dtype, n), out = tally_flat(z, c.o.info.output, n);
        tally_scan_options seeded = {.init = init};
        check(tally_scan(c.ctx, c.o.op, &in, &out, &seeded) == TALLY_UNSUPPORTED,
              "an init was taken: %s", c.what);
        return;
    }
    check_fill(init, c.o.info.output, 1, c.kind);
    tally_scan_options seeded = {.init = init};
    scan(&c, c.x, y, n, &seeded);
    seeded.exclusive = 1;
    scan(&c, c.x, z, n, &seeded);
    check_same(z + size, y, n - 1, size, "exclusive and inclusive from an init, moved: %s", c.what);
    /* Where an init is an element and a lowered node is a node: S(2^k) from init is the
       reduction of [init, node]. */
    static const char *const plain[] = {"sum", "prod", "min",   "max",  "and",
                                        "or",  "xor",  "first", "last", NULL};
    for (int p = 0; plain[p]; p++)
        if (!strcmp(plain[p], c.o.op) && c.o.info.output == c.o.dtype)
            for (int64_t m = 1; m <= n; m *= 2) {
                char two[32];
                memcpy(two, init, (size_t)size);
                reduce_copy(&c, c.x, 1, m, two + size);
                reduce_copy(&c, two, 1, 2, one);
                check_same(y + (m - 1) * size, one, 1, size, "from an init after %lld: %s",
                           (long long)m, c.what);
            }
}

static void law_in_place(void)
{
    law c = pick(check_quick ? 9000 : MOST);
    if (c.o.bytes != c.o.result) return;
    tally_scan_options o = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    scan(&c, c.x, c.y, c.n, &o);
    tally_view in = tally_flat(c.x, c.o.dtype, c.n), out = tally_flat(c.x, c.o.info.output, c.n);
    check_ok(c.ctx, tally_scan(c.ctx, c.o.op, &in, &out, &o), c.what);
    check_same(c.x, c.y, c.n, c.o.result, "in place: %s", c.what);
}

/* ---- windows ---- */

static void law_window(void)
{
    law c = pick(check_below(4) ? 600 : 20000);
    int64_t size = c.o.result, n = c.n, most = 1 + check_size(check_below(3) ? 60 : 3000);
    tally_window_options o = {check_below(most), check_below(2) ? 0 : check_below(most),
                              (tally_edges)check_below(3), 0};
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    int64_t m = tally_window_length(n, &o);
    int skips_nan = !strncmp(c.o.op, "nan", 3);
    char one[16];
    check(m == (o.edges != TALLY_EDGES_VALID ? n
                : n > o.before + o.after     ? n - o.before - o.after
                                             : 0),
          "length: %s", c.what);
    tally_view in = tally_flat(c.x, c.o.dtype, n), out = tally_flat(c.y, c.o.info.output, m);
    guard(c.y, m * size);
    check_ok(c.ctx, tally_window(c.ctx, c.o.op, &in, &out, &o), c.what);
    check_guard(c.y, m * size, c.what);
    for (int64_t k = 0, step = m / 40 + 1; k < m; k += k < 5 || m - k < 6 ? 1 : step) {
        int64_t at = k + (o.edges == TALLY_EDGES_VALID ? o.before : 0), from = at - o.before,
                end = at + o.after + 1, counted;
        int whole = from >= 0 && end <= n;
        if (from < 0) from = 0;
        if (end > n) end = n;
        counted = end - from;
        if (skips_nan) {
            tally_view slice = tally_flat(c.x + from * c.o.bytes, c.o.dtype, end - from);
            check_ok(contexts[0], tally_reduce(contexts[0], "count", &slice, &counted), "count");
        }
        int missing =
            counted < o.min_count || (o.edges == TALLY_EDGES_MISSING && !whole && !o.min_count);
        reduce_copy(&c, c.x + from * c.o.bytes, 1, missing ? 0 : end - from, one);
        check_same(c.y + k * size, one, 1, size,
                   "window[%lld] (before %lld after %lld edges %d min %lld) and the reduction of "
                   "its slice: %s",
                   (long long)k, (long long)o.before, (long long)o.after, (int)o.edges,
                   (long long)o.min_count, c.what);
    }
}

/* ---- views ---- */

/* Copies sequence r of a view to dense memory. */
static tally_view dense(const tally_view *in, int64_t r)
{
    static char copy[800 * 8];
    const size_t bytes = tally_dtype_size(in->dtype);
    const int64_t begin = in->offsets ? in->offsets[r] * in->stride : r * in->row_stride,
                  m = in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
    for (int64_t i = 0; i < m; i++)
        memcpy(copy + (size_t)i * bytes,
               (const char *)in->data + (begin + i * in->stride) * (int64_t)bytes, bytes);
    return tally_flat(copy, in->dtype, m);
}

/* The results of a sequence, by context 0: dense, at `one`. Returns their number. */
static int64_t law_alone(const law *c, int verb, tally_view flat, const tally_scan_options *s,
                         const tally_window_options *w, char *one)
{
    const int64_t got = verb == 0 ? 1 : verb == 1 ? flat.n : tally_window_length(flat.n, w);
    const tally_view alone = tally_flat(one, c->o.info.output, got);
    const tally_status status = verb == 0   ? tally_reduce(contexts[0], c->o.op, &flat, one)
                                : verb == 1 ? tally_scan(contexts[0], c->o.op, &flat, &alone, s)
                                            : tally_window(contexts[0], c->o.op, &flat, &alone, w);
    check_ok(contexts[0], status, c->what);
    return got;
}

/* Any layout: each sequence alone gives the same bits as in the batch, for the three verbs; gaps
   in the output stay. */
static void law_view(void)
{
    law c = pick(0);
    int64_t rows = check_below(30), n = check_below(check_below(5) ? 70 : 700), size = c.o.result,
            row_stride = n, stride = 1;
    int64_t offsets[31], total = 0, out_row = n, out_stride = 1, out_total;
    int layout = (int)check_below(7);
    /* rows of a wider matrix */
    if (layout == 1) row_stride = n + check_below(9);
    if (layout == 2) row_stride = 1, stride = (rows ? rows : 1) + check_below(5); /* columns */
    if (layout == 3) stride = 2 + check_below(4), row_stride = n * stride;        /* every k-th */
    if (layout == 4) stride = -1, row_stride = -n;                                /* backwards */
    /* the same elements again and again */
    if (layout == 5) row_stride = rows && check_below(2) ? 0 : 1, stride = 1;
    offsets[0] = check_below(9);
    for (int64_t r = 0; r < rows; r++)
        offsets[r + 1] = offsets[r] + (check_below(3) ? check_below(30) : check_below(4) * 100);
    int segments = layout == 6;
    total = segments ? offsets[rows] : rows * n * (layout == 3 ? 6 : 1) + rows * 20 + n * 20;
    check_fill(c.x, c.o.dtype, total, c.kind);
    char *first = c.x + (layout == 4 ? rows * n * c.o.bytes : 0);
    tally_view in = {first, c.o.dtype, rows, n, row_stride, stride, segments ? offsets : NULL}, out;
    tally_window_options w = {check_below(20), check_below(5),
                              (tally_edges)check_below(segments ? 2 : 3), 0};
    tally_scan_options s = {.exclusive = (int)check_below(2), .reverse = (int)check_below(2)};
    if (check_below(2)) w.min_count = 1 + check_below(w.before + w.after + 1);
    snprintf(c.what + strlen(c.what), sizeof c.what - strlen(c.what), " layout %d rows=%lld n=%lld",
             layout, (long long)rows, (long long)n);
    for (int verb = 0; verb < 3; verb++) {
        int64_t length = verb == 2 ? tally_window_length(n, &w) : n, gap = check_below(3);
        out_row = length + gap;
        if (layout == 2 && check_below(2))
            out_row = 1, out_stride = rows + gap; /* columns to columns */
        else
            out_stride = 1;
        if (check_below(4) == 0) out_stride *= 2, out_row *= 2;
        out_total = verb == 0  ? rows
                    : segments ? offsets[rows] * out_stride
                               : (rows + 1) * (length + gap + 1) * 2 + 2 * (rows + gap) * length;
        out = (tally_view){c.y,        c.o.info.output,          rows, length, out_row,
                           out_stride, segments ? offsets : NULL};
        guard(c.y, out_total * size);
        memset(c.y, 0x77, (size_t)(out_total * size));
        tally_status status = verb == 0   ? tally_reduce(c.ctx, c.o.op, &in, c.y)
                              : verb == 1 ? tally_scan(c.ctx, c.o.op, &in, &out, &s)
                                          : tally_window(c.ctx, c.o.op, &in, &out, &w);
        if (!check_ok(c.ctx, status, c.what)) return;
        check_guard(c.y, out_total * size, c.what);
        char *want = z_memory;
        memset(want, 0x77, (size_t)(out_total * size));
        for (int64_t r = 0; r < rows; r++) {
            static char one[800 * 16];
            const int64_t got = law_alone(&c, verb, dense(&in, r), &s, &w, one),
                          to = verb == 0  ? r
                               : segments ? offsets[r] * out_stride
                                          : r * out_row;
            for (int64_t i = 0; i < got; i++)
                memcpy(want + (to + i * (verb ? out_stride : 1)) * size, one + i * size,
                       (size_t)size);
        }
        check_same(c.y, want, out_total * size, 1, "verb %d: %s", verb, c.what);
    }
}

/* ---- the same again, everywhere ---- */

static void law_everywhere(void)
{
    law c = pick(check_quick ? 20000 : MOST);
    int64_t n = c.n, size = c.o.result, w = 1 + check_size(2000);
    tally_window_options o = {w - 1, 0, TALLY_EDGES_SHRINK, 0};
    tally_view in = tally_flat(c.x, c.o.dtype, n), out = tally_flat(c.y, c.o.info.output, n),
               other = out;
    char one[16], again[16];
    int verb = (int)check_below(3);
    other.data = z_memory + 8 * check_below(3);
    /* all contexts once, then one of them ten times */
    for (int k = 0; k < context_count + 10; k++) {
        tally *ctx = k < context_count ? contexts[k] : c.ctx;
        if (n > 50000 && k < context_count && k % 3 != (int)(check_seed % 3) && k) continue;
        tally_view *to = k ? &other : &out;
        tally_status status = verb == 0   ? tally_reduce(ctx, c.o.op, &in, k ? again : one)
                              : verb == 1 ? tally_scan(ctx, c.o.op, &in, to, NULL)
                                          : tally_window(ctx, c.o.op, &in, to, &o);
        check_ok(ctx, status, c.what);
        if (verb == 0)
            check_same(again, k ? one : again, 1, size, "reduce, %s x%d: %s", tally_isa(ctx),
                       tally_threads(ctx), c.what);
        else if (k)
            check_same(other.data, out.data, n, size, "%s, %s x%d, w=%lld: %s",
                       verb == 1 ? "scan" : "window", tally_isa(ctx), tally_threads(ctx),
                       (long long)w, c.what);
    }
    /* the same data at another alignment */
    for (int k = 0; k < 4 && n; k++) {
        char *moved = z_memory + GUARD + check_below(17);
        memcpy(moved, c.x, (size_t)(n * c.o.bytes));
        in.data = moved;
        if (verb == 0) check_ok(c.ctx, tally_reduce(c.ctx, c.o.op, &in, again), c.what);
        if (verb == 0) check_same(again, one, 1, size, "reduce at another alignment: %s", c.what);
    }
}

int main(void)
{
    check_start();
    open_contexts(8);
    x_memory = malloc((size_t)MOST * 8 + 4 * GUARD);
    y_memory = malloc((size_t)MOST * 16 + 4 * GUARD);
    z_memory = malloc((size_t)MOST * 16 + 4 * GUARD);
    int64_t cases = check_quick ? 60 : 600;
    for (int64_t k = 0; k < cases; k++) {
        for (int r = 0; r < 3; r++) law_scan();
        for (int r = 0; r < 5; r++) law_window();
        for (int r = 0; r < 4; r++) law_view();
        if (k % 4 == 0) law_in_place();
        if (k % 6 == 0) law_everywhere();
    }
    for (int i = 0; i < context_count; i += 3) { /* and the library's own random cases */
        const char *report = "";
        tally_status status =
            tally_verify(contexts[i], check_seed + (uint64_t)i, check_quick ? 20 : 100, &report);
        check(!status, "verify: %s", report);
    }
    close_contexts();
    free(x_memory);
    free(y_memory);
    free(z_memory);
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * Sequences that are long enough for several threads, all of their results against the law:
 * scans (in place, after an initial value, past the caches), those of any stride, forward and in
 * reverse, folds of what a bitmap leaves, columns. Windows, cut in parts, against one thread's,
 * and those that hold their whole column. Every operator on 5 to 64 threads, which cut sequences
 * into smaller blocks, against one thread's. Any and all, which read no element that they do not
 * need.
 * And calls that several threads make at once, each with a context of its own. */
#include "matrix.h"
#include <pthread.h>
#include <sys/mman.h>

enum { N = 150001, LONG = (1 << 20) + 4321, THREADS = 3, COLUMNS = 40 };
static tally *wide, *alone;
static _Alignas(64) char x[LONG * 8], y[LONG * 8 + 64], want[(LONG + 1) * 8];
static unsigned char bits[LONG / 8 + 1];

typedef struct scan_case {
    int exclusive, in_place, seeded, skew; /* skew: bytes from an aligned address to the results */
} scan_case;

static void check_scan(const char *name, tally_dtype d, int64_t n, scan_case c)
{
    const tl_scalar *op;
    tl_par p;
    char init[8];
    tally_scan_options o = {.exclusive = c.exclusive, .init = c.seeded ? init : NULL};
    if (!check_ok(wide, tl_resolve(wide, name, d, &op, &p), name)) return;
    const int64_t in = op->elem_bytes, out = op->result_bytes;
    check_fill(x, d, n, TL_DATA_PLAIN);
    memcpy(init, x, (size_t)out);
    reference_prefixes(op, p, x, 1, n, o.init, want);
    for (int k = 0; k < 2; k++) {
        char *to = y + c.skew;
        memset(y, 1, (size_t)(n * out) + 64);
        if (c.in_place) memcpy(to = y, x, (size_t)(n * in));
        const tally_view from = tally_flat(c.in_place ? to : x, d, n),
                         results = tally_flat(to, op->out, n);
        check_ok(k ? alone : wide, tally_scan(k ? alone : wide, name, &from, &results, &o), name);
        check_same(to, want + (c.exclusive ? 0 : out), n, out,
                   "scan %s %d n=%lld ex %d place %d init %d threads %d", name, (int)d,
                   (long long)n, c.exclusive, c.in_place, c.seeded, k ? 1 : THREADS);
    }
}

static void scans(void)
{
    static const struct {
        const char *op;
        tally_dtype d;
        int seed;
    } of[] = {{"sum", TALLY_F32, 1},  {"sum", TALLY_F64, 1}, {"prod", TALLY_F64, 1},
              {"mean", TALLY_F32, 0}, {"max", TALLY_F32, 1}, {"sum", TALLY_I64, 1},
              {"var", TALLY_F64, 0}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const int e = (int)check_below(2), seeded = of[k].seed && check_below(2);
        check_scan(of[k].op, of[k].d, N + check_below(5000), (scan_case){e, 0, seeded, 0});
        check_scan(of[k].op, of[k].d, N - check_below(5000), (scan_case){!e, 1, seeded, 0});
    }
    const int64_t far = check_quick ? N : LONG;
    check_scan("sum", TALLY_F32, far, (scan_case){0}); /* past the caches */
    check_scan("sum", TALLY_F32, far, (scan_case){.exclusive = 1, .in_place = 1, .seeded = 1});
    /* results that are not aligned to lines */
    check_scan("sum", TALLY_F32, far, (scan_case){.skew = 4});
    for (int64_t n = 1; n < 5000; n += 1 + check_below(300)) { /* tiles of any length */
        check_scan("sum", TALLY_F32, n, (scan_case){n & 1, 0, n >> 1 & 1, 0});
        check_scan("sum", TALLY_F64, n, (scan_case){!(n & 1), 1, n >> 1 & 1, 0});
    }
}

/* ---- sequences that are not dense ---- */

/* Results that lie `stride` apart from `first` on, beside the law's in want, and nothing between
   them. */
static void check_places(const char *first, int64_t stride, int64_t n, int64_t bytes,
                         const char *what, int64_t in)
{
    static char dense[(LONG + 1) * 8];
    int64_t between = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *at = first + i * stride * bytes;
        memcpy(dense + i * bytes, at, (size_t)bytes);
        for (int64_t b = bytes; i + 1 < n && b < (stride < 0 ? -stride : stride) * bytes; b++)
            between += (stride < 0 ? at - (b - bytes + 1) : at + b)[0] != 1;
    }
    check_same(dense, want, n, bytes, "%s of %lld, strides %lld and %lld", what, (long long)n,
               (long long)in, (long long)stride);
    check(!between, "%s, stride %lld: %lld bytes between results were written", what,
          (long long)stride, (long long)between);
}

static void check_far(const char *name, tally_dtype d, int64_t stride, int64_t out_stride)
{
    const tl_scalar *op;
    tl_par p;
    char one[16], law[16];
    if (!check_ok(wide, tl_resolve(wide, name, d, &op, &p), name)) return;
    const int64_t in = op->elem_bytes, out = op->result_bytes,
                  apart = stride < 0 ? -stride : stride,
                  apart_out = out_stride < 0 ? -out_stride : out_stride,
                  widest = apart_out > apart ? apart_out : apart;
    const int64_t span = check_quick ? LONG / 4 : LONG, most = span / (widest + !widest),
                  n = (most < 4 * N ? most : 4 * N) - check_below(5000);
    char *const first = x + (stride < 0 ? (n - 1) * apart * in : 0),
                *const to = y + (out_stride < 0 ? (n - 1) * apart_out * out : 0);
    const tally_view from = {first, d, 1, n, n, stride, NULL},
                     results = {to, op->out, 1, n, n, out_stride, NULL};
    check_fill(x, d, span * 8 / in, TL_DATA_PLAIN);
    reference_reduce((tl_spec_sequence){op, p, first, stride, n}, law);
    check_ok(wide, tally_reduce(wide, name, &from, one), name);
    check_same(one, law, 1, out, "%s of %lld, stride %lld", name, (long long)n, (long long)stride);
    for (int reverse = stride == 1 && out_stride == 1; reverse < 2 && apart_out; reverse++) {
        const tally_scan_options o = {.exclusive = (int)check_below(2), .reverse = reverse};
        memset(y, 1, sizeof y);
        reference_scan((tl_spec_sequence){op, p, first, stride, n}, &o, want);
        check_ok(wide, tally_scan(wide, name, &from, &results, &o), name);
        check_places(to, out_stride, n, out, reverse ? "reversed scan" : "scan", stride);
    }
    if (in == out && apart) { /* in place */
        const tally_scan_options o = {.reverse = 1};
        const tally_view self = {first, op->out, 1, n, n, stride, NULL};
        reference_scan((tl_spec_sequence){op, p, first, stride, n}, &o, want);
        memset(y, 1, sizeof y);
        for (int64_t i = 0; i < n; i++)
            memcpy(y + (first - x) + i * stride * in, first + i * stride * in, (size_t)in);
        memcpy(x, y, (size_t)((n - 1) * apart * in + in));
        check_ok(wide, tally_scan(wide, name, &self, &self, &o), name);
        check_places(first, stride, n, out, "scan in place", stride);
    }
    tally_window_options w = {.before = check_below(check_below(2) ? 60 : 90000),
                              .after = check_below(9),
                              .edges = (tally_edges)check_below(3)};
    if (check_below(2)) w.min_count = check_below(w.before + w.after + 2);
    const int64_t length = tally_window_length(n, &w);
    const tally_view dense = tally_flat(want, op->out, length),
                     spread = {to, op->out, 1, length, length, out_stride, NULL};
    if (!apart_out) return;
    memset(y, 1, sizeof y);
    static char packed[LONG * 8];
    for (int64_t i = 0; i < n; i++) memcpy(packed + i * in, first + i * stride * in, (size_t)in);
    const tally_view plain = tally_flat(packed, d, n);
    check_ok(alone, tally_window(alone, name, &plain, &dense, &w), name);
    check_ok(wide, tally_window(wide, name, &from, &spread, &w), name);
    check_places(to, out_stride, length, out, "window", stride);
}

static void far(void)
{
    static const struct {
        const char *op;
        tally_dtype d;
    } of[] = {{"sum", TALLY_F32},     {"argmax", TALLY_F32}, {"var", TALLY_F64},
              {"nanmean", TALLY_F32}, {"max", TALLY_I8},     {"last", TALLY_I16},
              {"sum", TALLY_F64},     {"ema:0.3", TALLY_F32}};
    static const int64_t strides[] = {2, -1, 3, -2, 1, -5};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const int64_t stride = strides[check_below(6)];
        check_far(of[k].op, of[k].d, stride, check_below(2) ? stride : strides[check_below(6)]);
    }
    check_far("sum", TALLY_F32, 1, 1); /* reversed alone */
    check_far("sum", TALLY_F32, 0, 0);
}

/* ---- what a bitmap leaves ---- */

static reference node(const tl_scalar *op, tl_par p, int64_t at, int k)
{
    if (!k) {
        reference a = {.present = bits[at >> 3] >> (at & 7) & 1};
        if (a.present) op->lift(&a.s, x + at * op->elem_bytes, at, p), a.n = 1;
        return a;
    }
    reference a = node(op, p, at, k - 1), b = node(op, p, at + ((int64_t)1 << (k - 1)), k - 1);
    reference_combine(op, &a, &b);
    return a;
}

static void check_present(const char *name, tally_dtype d, int64_t n, int rate)
{
    const tl_scalar *op;
    tl_par p;
    char got[16], law[16];
    if (!check_ok(wide, tl_resolve(wide, name, d, &op, &p), name)) return;
    check_fill(x, d, n, TL_DATA_HOSTILE);
    for (int64_t i = 0; i < n; i++) {
        const int is = rate && !check_below(rate);
        bits[i >> 3] = (unsigned char)((bits[i >> 3] & ~(1 << (i & 7))) | is << (i & 7));
    }
    reference s = {.present = 0};
    for (int64_t at = 0; at < n;) {
        const int k = tl_top_level(n - at);
        const reference b = node(op, p, at, k);
        reference_combine(op, &s, &b);
        at += (int64_t)1 << k;
    }
    reference_lower(op, p, &s, s.n, 0, law);
    tally_view in = tally_flat(x, d, n);
    in.valid = bits;
    for (int k = 0; k < 2; k++) {
        check_ok(k ? alone : wide, tally_reduce(k ? alone : wide, name, &in, got), name);
        check_same(got, law, 1, op->result_bytes, "%s %d of %lld, one in %d there, threads %d",
                   name, (int)d, (long long)n, rate, k ? 1 : THREADS);
    }
}

static void present(void)
{
    static const struct {
        const char *op;
        tally_dtype d;
    } of[] = {
        {"mean", TALLY_F32},   {"mean", TALLY_F64},   {"mean", TALLY_I32},   {"first", TALLY_F64},
        {"last", TALLY_I64},   {"first", TALLY_I8},   {"last", TALLY_F16},   {"argmin", TALLY_I64},
        {"argmax", TALLY_I64}, {"argmin", TALLY_U64}, {"max", TALLY_F32},    {"min", TALLY_F64},
        {"max", TALLY_F16},    {"sum", TALLY_I64},    {"minmax", TALLY_I64}, {"mean", TALLY_U8}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        check_present(of[k].op, of[k].d, 2 * N + check_below(1000), 1 + (int)check_below(3));
        check_present(of[k].op, of[k].d, 1 + check_below(2000), 1 + (int)check_below(40));
        check_present(of[k].op, of[k].d, 2 * N, 0);
    }
}

/* ---- parts ---- */

static void parts(void)
{
    static const char *const ops[] = {"mean", "max", "var"};
    for (int k = 0; k < 6; k++) {
        const int64_t n = N + check_below(100), w = 1 + check_below(k < 3 ? 100 : 40000);
        const tally_view in = tally_flat(x, TALLY_F64, n), out = tally_flat(y, TALLY_F64, n),
                         first = tally_flat(want, TALLY_F64, n);
        const tally_window_options o = {
            .before = w / 2, .after = w / 3, .edges = TALLY_EDGES_SHRINK};
        check_fill(x, TALLY_F64, n, TL_DATA_PLAIN);
        check_ok(wide, tally_window(wide, ops[k % 3], &in, &out, &o), ops[k % 3]);
        check_ok(alone, tally_window(alone, ops[k % 3], &in, &first, &o), ops[k % 3]);
        check_same(y, want, n, 8, "windows of %s, w = %lld", ops[k % 3], (long long)w);
    }
    const tl_scalar *op;
    tl_par p;
    const int64_t n = 8000 + check_below(500);
    tally_view in = tally_columns(x, TALLY_F32, n, COLUMNS);
    if (!check_ok(wide, tl_resolve(wide, "sum", TALLY_F32, &op, &p), "sum")) return;
    check_fill(x, TALLY_F32, n * COLUMNS, TL_DATA_PLAIN);
    for (int c = 0; c < COLUMNS; c++) {
        reference_prefixes(op, p, x + c * 4, COLUMNS, n, NULL, y);
        memcpy(want + c * 4, y + n * 4, 4);
    }
    check_ok(wide, tally_reduce(wide, "sum", &in, y), "columns");
    check_same(y, want, COLUMNS, 4, "%d columns of %lld", COLUMNS, (long long)n);
}

/* Windows of pairs that reach back to the first element are prefixes. A context that did nothing
 * before has no more memory than they ask for. */
static void prefixes_of_pairs(void)
{
    tally *fresh;
    const int64_t n = 6000 + check_below(3000);
    const tally_view second = tally_flat(x + n * 4, TALLY_F32, n),
                     out = tally_flat(y, TALLY_F64, n), scanned = tally_flat(want, TALLY_F64, n);
    tally_view in = tally_flat(x, TALLY_F32, n);
    const tally_window_options o = {.before = n, .edges = TALLY_EDGES_SHRINK};

    in.next = &second;
    check_fill(x, TALLY_F32, 2 * n, TL_DATA_PLAIN);
    if (!check_ok(NULL, tally_open(&fresh, "cpu,threads=1"), "open")) return;
    check_ok(fresh, tally_window(fresh, "cov", &in, &out, &o), "cov");
    check_ok(fresh, tally_scan(fresh, "cov", &in, &scanned, NULL), "cov");
    check_same(y, want, n, 8, "prefixes of %lld pairs", (long long)n);
    tally_close(fresh);
}

/* ---- calls from several threads ---- */

static int member(int me, float *results)
{
    enum { M = 3000 };
    tally *ctx;
    tally_window_options o = {.before = 9};
    tally_view in = tally_flat(x, TALLY_F32, M), out = tally_flat(results, TALLY_F32, M);
    if (tally_open(&ctx, me % 2 ? "cpu,threads=1" : "cpu,threads=2")) return 1;
    int bad = tally_window(ctx, "mean", &in, &out, &o) != TALLY_OK;
    in = tally_rows(x, TALLY_F32, M / 100, 100);
    out = tally_rows(results + M, TALLY_F32, M / 100, 100);
    bad |= tally_window(ctx, "max", &in, &out, &o) != TALLY_OK;
    out.data = results + 2 * M;
    bad |= tally_scan(ctx, "sum", &in, &out, NULL) != TALLY_OK;
    tally_close(ctx);
    return bad;
}

enum { CALLERS = 3 };
static float results[CALLERS + 1][9000];

static void *call_all(void *number)
{
    const int k = *(int *)number;
    return member(k, results[k]) ? number : NULL;
}

static void callers(void)
{
    pthread_t thread[CALLERS];
    int number[CALLERS];
    check_fill(x, TALLY_F32, 9000, TL_DATA_PLAIN);
    check(!member(1, results[CALLERS]), "one caller");
    for (int k = 0; k < CALLERS; k++) {
        number[k] = k;
        if (!check(!pthread_create(&thread[k], NULL, call_all, &number[k]), "a thread")) return;
    }
    for (int k = 0; k < CALLERS; k++) {
        void *failed;
        pthread_join(thread[k], &failed);
        check(!failed, "the calls of thread %d failed", k);
        check_same(results[k], results[CALLERS], 9000, 4, "caller %d of several", k);
    }
}

/* ---- windows that hold their whole column ---- */

/* Windows of columns whose elements are narrower than what kernels compute in: the first results
 * were converted in the memory of the states that the next ones come from. */
static void whole_columns(const char *name, tally_dtype d)
{
    const tl_scalar *op;
    tl_par p;
    if (!check_ok(alone, tl_resolve(alone, name, d, &op, &p), name)) return;
    for (int64_t columns = 1; columns <= 70; columns += 1 + check_quick * check_below(4))
        for (int64_t n = 2; n <= 9; n += 1 + n / 4) {
            const tally_window_options o = {
                .before = n - 1 + columns % 3, .after = n - 1, .edges = TALLY_EDGES_SHRINK};
            const tally_view from = {x, d, columns, n, 1, columns, NULL},
                             into = {y, op->out, columns, n, 1, columns, NULL};
            check_fill(x, d, columns * n, TL_DATA_PLAIN);
            for (int64_t c = 0; c < columns; c++) {
                reference_window((tl_spec_sequence){op, p, x + c * op->elem_bytes, columns, n}, &o,
                                 want);
                for (int64_t i = 0; i < n; i++)
                    memcpy(want + (n * columns + i * columns + c) * op->result_bytes,
                           want + i * op->result_bytes, op->result_bytes);
            }
            check_ok(alone, tally_window(alone, name, &from, &into, &o), name);
            check_same(y, want + n * columns * op->result_bytes, n * columns, op->result_bytes,
                       "%s %s of %lld x %lld", name, tally_dtype_name(d), (long long)n,
                       (long long)columns);
        }
}

/* ---- more threads than processors ---- */

/* A verb of a random part of x, on `on`. */
typedef struct {
    const char *op;
    tally_operator_info info;
    tally_view in, next;
    int verb, exclusive;
    int64_t w;
} many_call;

static tally_status call_many(tally *on, const many_call *c, char *to)
{
    tally_view in = c->in, next = c->next, out = tally_flat(to, c->info.output, in.n);
    const tally_scan_options scan = {.exclusive = c->exclusive};
    const tally_window_options window = {.before = c->w, .after = 1, .edges = TALLY_EDGES_SHRINK};
    if (c->info.inputs == 2) in.next = &next;
    if (c->verb == 0) return tally_scan(on, c->op, &in, &out, &scan);
    if (c->verb == 1) return tally_window(on, c->op, &in, &out, &window);
    in.rows = next.rows = 3;
    in.n = in.row_stride = next.n = next.row_stride = in.n / 3;
    return tally_reduce(on, c->op, &in, to);
}

static void check_many(tally *many, const char *name, tally_dtype d)
{
    char op[64];
    many_call c = {.op = op, .verb = (int)check_below(3), .exclusive = (int)check_below(2)};
    snprintf(op, sizeof op, "%s", name);
    if (tally_operator(many, op, d, &c.info)) {
        snprintf(op, sizeof op, "%s:0.3", name);
        if (tally_operator(many, op, d, &c.info)) return;
    }
    const int64_t bytes = (int64_t)tally_dtype_size(c.info.output) * c.info.lanes;
    int64_t n = 40000 + check_below(check_quick || check_below(2) ? 100000 : 700000);
    if (n * bytes > (int64_t)sizeof y - 64) n = ((int64_t)sizeof y - 64) / bytes;
    c.in = tally_flat(x, d, n);
    c.next = tally_flat(x + (LONG - n) * (int64_t)tally_dtype_size(d), d, n);
    c.w = check_below(200);
    check_fill(x, d, n, TL_DATA_PLAIN);
    if (c.info.inputs == 2) check_fill((char *)c.next.data, d, n, TL_DATA_PLAIN);
    memset(y, 1, (size_t)(n * bytes));
    memset(want, 1, (size_t)(n * bytes));
    if (!check_ok(alone, call_many(alone, &c, want), op)) return;
    check_ok(many, call_many(many, &c, y), op);
    check_same(y, want, n, bytes, "%s of %s, verb %d, n=%lld ex %d w %lld on %d threads", op,
               tally_dtype_name(d), c.verb, (long long)n, c.exclusive, (long long)c.w,
               tally_threads(many));
}

static void many_threads(void)
{
    static const char *const devices[] = {"cpu,threads=5", "cpu,threads=8", "cpu,threads=16",
                                          "cpu,threads=64"};
    const int first = check_quick ? (int)check_below(4) : 0, last = check_quick ? first + 1 : 4;
    for (int i = first; i < last; i++) {
        tally *many;
        if (!check_ok(NULL, tally_open(&many, devices[i]), devices[i])) return;
        for (const char *const *op = tally_operators(); *op; op++)
            for (int k = 0; k < (check_quick ? 1 : 4); k++)
                check_many(many, *op,
                           (tally_dtype)(TALLY_I8 + check_below(TALLY_F64 - TALLY_I8 + 1)));
        for (int k = 0; k < 8; k++) check_many(many, "sum", TALLY_I64);
        tally_close(many);
    }
}

/* ---- any and all, which stop where the result is known ---- */

static char *decided_at; /* the elements */

/* n elements of one truth value, and at `place`, if that is one of them, the other. Elements from
 * `end` on cannot be read. */
static void check_decided(tally *ctx, const char *op, tally_dtype d, int64_t n, int64_t place,
                          int64_t end)
{
    char *const at = decided_at;
    const int64_t bytes = (int64_t)tally_dtype_size(d);
    const int all = strstr(op, "all") != NULL;
    const unsigned char expect = (unsigned char)(all ^ (place < n));
    unsigned char result = 2;
    const tally_view v = tally_flat(at, d, n);
    memset(at, all, (size_t)(n * bytes));
    if (place < n) memset(at + place * bytes, !all, (size_t)bytes);
    mprotect(at + end * bytes, (size_t)((n - end) * bytes), PROT_NONE);
    check_ok(ctx, tally_reduce(ctx, op, &v, &result), op);
    mprotect(at, (size_t)(n * bytes), PROT_READ | PROT_WRITE);
    check_same(&result, &expect, 1, 1, "%s of %s, n=%lld, place %lld, %d threads", op,
               tally_dtype_name(d), (long long)n, (long long)place, tally_threads(ctx));
}

static void decided(void)
{
    static const char *const ops[] = {"any", "all", "nanany", "nanall"};
    static const tally_dtype types[] = {TALLY_U8, TALLY_I32, TALLY_F16, TALLY_F64};
    enum { PIECE = 32 << 10, MOST = 64 * PIECE };
    static const int64_t places[] = {0, PIECE - 1, PIECE, 5 * PIECE - 1, MOST - 1, MOST};
    decided_at = mmap(NULL, MOST * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (decided_at == MAP_FAILED) return;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 2; k++) {
            tally *const ctx = k ? wide : alone;
            const char *const op = ops[i % 4];
            const tally_dtype d = types[i / 4];
            const int64_t decided = check_below(6 * PIECE);
            /* other threads may read behind the piece that decides */
            check_decided(ctx, op, d, MOST, decided, k ? MOST : (decided / PIECE + 1) * PIECE);
            check_decided(ctx, op, d, MOST, places[check_below(6)], MOST);
            const int64_t n = 1 + check_below(MOST);
            check_decided(ctx, op, d, n, check_below(MOST), n);
        }
    munmap(decided_at, MOST * 8);
}

int main(void)
{
    static const struct {
        const char *op;
        tally_dtype dtype;
    } columns[] = {{"min", TALLY_I8},  {"max", TALLY_U8},    {"min", TALLY_I16},
                   {"sum", TALLY_F16}, {"mean", TALLY_BF16}, {"sum", TALLY_F32}};
    char device[32];
    check_start();
    snprintf(device, sizeof device, "cpu,threads=%d", THREADS);
    if (tally_open(&wide, device) || tally_open(&alone, "cpu,threads=1"))
        return puts(tally_error(NULL)), 1;
    scans();
    far();
    present();
    parts();
    prefixes_of_pairs();
    callers();
    many_threads();
    decided();
    for (uint64_t k = 0; k < sizeof columns / sizeof *columns; k++) /* quick: two of them */
        if (!check_quick || (k + check_seed) % 3 == 0)
            whole_columns(columns[k].op, columns[k].dtype);
    tally_close(wide);
    tally_close(alone);
    return check_finish();
}

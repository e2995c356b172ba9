/* SPDX-License-Identifier: MIT
 * Streams: any chunking gives the one-shot result bit for bit, for reduce, scan and window; the
 * capacity promised is kept and nothing is written outside it; misuse is refused and does not
 * disturb the stream. */
#include "parts.h"

enum { MOST = 300000, GUARD = 64 };
static char *x_memory, *want, *got;

typedef struct {
    check_operator o;
    tally *ctx;
    char *x;
    int64_t n;
    char what[160];
} flow;

static flow pick(int64_t most)
{
    flow f = {.o = check_operator_random(), .ctx = any()};
    f.n = check_size(most);
    f.x = x_memory + check_below(17);
    int kind = (int)check_below(TL_DATA_KINDS);
    check_fill(f.x, f.o.dtype, f.n, kind);
    snprintf(f.what, sizeof f.what, "%s %s %s x%d n=%lld data %d", f.o.op,
             tally_dtype_name(f.o.dtype), tally_isa(f.ctx), tally_threads(f.ctx), (long long)f.n,
             kind);
    return f;
}

/* The next chunk: nothing, one element, a few, many, or the rest. */
static int64_t chunk(int64_t left, int64_t typical)
{
    int64_t n = check_below(8) == 0    ? 0
                : check_below(3) == 0  ? 1
                : check_below(20) == 0 ? left
                                       : check_below(typical * 2 + 1);
    return n < left ? n : left;
}

/* Pushes everything in chunks; returns how many results came. Every push must keep to its capacity.
 */
static int64_t pump(const flow *f, tally_stream *s, char *out, int64_t typical, int in_place)
{
    int64_t written = 0, produced = 0, size = f->o.result;
    for (int64_t at = 0, m; at < f->n; at += m) {
        m = chunk(f->n - at, typical);
        int64_t capacity = tally_stream_room(s, m);
        char *to = in_place ? f->x + at * f->o.bytes : out + written * size;
        if (!in_place) memset(to, 0x5a, (size_t)(capacity * size + GUARD));
        produced = -1;
        tally_status status = tally_stream_push(s, f->x + at * f->o.bytes, m, to, &produced);
        if (!check(!status, "push: %s: %s", f->what, tally_error(f->ctx))) return -1;
        check(produced >= 0 && produced <= capacity, "%lld results, space for %lld: %s",
              (long long)produced, (long long)capacity, f->what);
        int clean = 1;
        for (int i = 0; i < GUARD && !in_place; i++) clean &= to[produced * size + i] == 0x5a;
        check(clean, "a push wrote behind its results: %s", f->what);
        written += produced;
    }
    int64_t capacity = tally_stream_room(s, -1);
    memset(out + written * size, 0x5a, (size_t)(capacity * size + GUARD));
    check(!tally_stream_finish(s, out + written * size, &produced), "finish: %s: %s", f->what,
          tally_error(f->ctx));
    check(produced <= capacity && produced >= 0, "%lld last results, space for %lld: %s",
          (long long)produced, (long long)capacity, f->what);
    written += produced;
    for (int i = 0; i < GUARD; i++) capacity |= out[written * size + i] != 0x5a ? -1 : 0;
    check(capacity >= 0, "finish wrote behind its results: %s", f->what);
    check(tally_stream_push(s, f->x, 1, out, NULL) == TALLY_INVALID &&
              tally_stream_finish(s, out, NULL) == TALLY_INVALID,
          "a finished stream took more: %s", f->what);
    return written;
}

static void stream_reduce(void)
{
    flow f = pick(check_below(10) ? 5000 : MOST);
    tally_stream *s;
    tally_view in = tally_flat(f.x, f.o.dtype, f.n);
    check_ok(f.ctx, tally_reduce(f.ctx, f.o.op, &in, want), f.what);
    if (!check_ok(f.ctx, tally_stream_reduce(f.ctx, f.o.op, f.o.dtype, &s), f.what)) return;
    int64_t written = 0, at = 0, typical = 1 + check_size(f.n + 1), produced = 7;
    for (int64_t m; at < f.n; at += m) {
        m = chunk(f.n - at, typical);
        check(
            !tally_stream_push(s, f.x + at * f.o.bytes, m, NULL, check_below(2) ? &produced : NULL),
            "push: %s", f.what);
    }
    check(tally_stream_room(s, 5) == 0 && tally_stream_room(s, -1) == 1, "room: %s", f.what);
    check(!tally_stream_finish(s, got, &written) && written == 1, "finish: %s", f.what);
    check_same(got, want, 1, f.o.result, "stream reduce: %s", f.what);
    tally_stream_close(s);
}

static void stream_scan(void)
{
    flow f = pick(check_below(10) ? 20000 : MOST);
    char init[16];
    tally_stream *s;
    tally_scan_options o = {.exclusive = (int)check_below(2)};
    if (f.o.info.seedable && check_below(2)) {
        check_fill(init, f.o.info.output, 1, TL_DATA_PLAIN);
        o.init = init;
    }
    tally_view in = tally_flat(f.x, f.o.dtype, f.n), out = tally_flat(want, f.o.info.output, f.n);
    check_ok(f.ctx, tally_scan(f.ctx, f.o.op, &in, &out, &o), f.what);
    if (!check_ok(f.ctx, tally_stream_scan(f.ctx, f.o.op, f.o.dtype, &o, &s), f.what)) return;
    memset(init, 0xff, sizeof init); /* the init was borrowed for the call only */
    int in_place = f.o.bytes == f.o.result && check_below(2);
    int64_t written = pump(&f, s, got, 1 + check_size(f.n + 1), in_place);
    check(written == f.n, "stream scan gave %lld results: %s", (long long)written, f.what);
    check_same(in_place ? f.x : got, want, f.n, f.o.result, "stream scan%s: %s",
               in_place ? " in place" : "", f.what);
    tally_stream_close(s);
}

/* A stream that goes on after a fragment. */
static void resumed(void)
{
    flow f = pick(check_below(10) ? 5000 : MOST);
    const int64_t cut = check_below(f.n + 1);
    const int scans = (int)check_below(2);
    tally_stream *s;
    tally_fragment *before;
    tally_scan_options o = {.exclusive = (int)check_below(2)};
    tally_view in = tally_flat(f.x, f.o.dtype, f.n), out = tally_flat(want, f.o.info.output, f.n);
    tally *owner = any();
    check_ok(f.ctx, tally_fragment_make(owner, f.o.op, f.o.dtype, f.x, 0, cut, &before), f.what);
    check_ok(f.ctx,
             scans ? tally_scan(f.ctx, f.o.op, &in, &out, &o)
                   : tally_reduce(f.ctx, f.o.op, &in, want),
             f.what);
    if (!check_ok(f.ctx,
                  scans ? tally_stream_scan(f.ctx, f.o.op, f.o.dtype, &o, &s)
                        : tally_stream_reduce(f.ctx, f.o.op, f.o.dtype, &s),
                  f.what))
        return;
    check_ok(f.ctx, tally_stream_resume(s, before), f.what);
    tally_fragment_free(before);
    const flow rest = {.o = f.o, .ctx = f.ctx, .x = f.x + cut * f.o.bytes, .n = f.n - cut};
    int64_t written = 0;
    if (check_below(2)) {
        written = pump(&rest, s, got, 1 + check_size(f.n + 1), 0);
    } else { /* of what was folded before */
        tally_fragment *folded;
        int64_t end = 0;
        check_ok(f.ctx, tally_fragment_make(owner, f.o.op, f.o.dtype, rest.x, cut, rest.n, &folded),
                 f.what);
        check_ok(f.ctx, tally_stream_push_folded(s, rest.x, folded, scans ? got : NULL, &written),
                 f.what);
        check_ok(f.ctx, tally_stream_finish(s, scans ? NULL : got, &end), f.what);
        written += end;
        tally_fragment_free(folded);
    }
    check(written == (scans ? rest.n : 1), "%lld results after %lld: %s", (long long)written,
          (long long)cut, f.what);
    check_same(got, want + (scans ? cut * f.o.result : 0), written, f.o.result,
               "resumed at %lld: %s", (long long)cut, f.what);
    tally_stream_close(s);
}

static void stream_window(void)
{
    flow f = pick(check_below(10) ? 1500 : 70000);
    int64_t most = 1 + check_size(check_below(4) ? 50 : 2000);
    tally_window_options o = {check_below(most), check_below(2) ? 0 : check_below(most),
                              (tally_edges)check_below(3), 0};
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    int64_t m = tally_window_length(f.n, &o);
    tally_stream *s;
    tally_view in = tally_flat(f.x, f.o.dtype, f.n), out = tally_flat(want, f.o.info.output, m);
    check_ok(f.ctx, tally_window(f.ctx, f.o.op, &in, &out, &o), f.what);
    if (!check_ok(f.ctx, tally_stream_window(f.ctx, f.o.op, f.o.dtype, &o, &s), f.what)) return;
    int64_t written = pump(&f, s, got, 1 + check_size(f.n / 3 + 1), 0);
    check(
        written == m,
        "stream window gave %lld results, not %lld (before %lld after %lld edges %d min %lld): %s",
        (long long)written, (long long)m, (long long)o.before, (long long)o.after, (int)o.edges,
        (long long)o.min_count, f.what);
    check_same(got, want, written < m ? written : m, f.o.result,
               "stream window (before %lld after %lld edges %d min %lld): %s", (long long)o.before,
               (long long)o.after, (int)o.edges, (long long)o.min_count, f.what);
    tally_stream_close(s);
}

/* Refusals leave a stream as it was. */
/* ---- misuse ---- */

static float x[1000], y[2000];
static const tally_window_options four = {4, 0, TALLY_EDGES_SHRINK, 0};

static void refused_streams(void)
{
    tally *ctx = contexts[0];
    tally_stream *s = (tally_stream *)x;
    const tally_scan_options reverse = {.reverse = 1};
    const tally_window_options bad = {-1, 0, TALLY_EDGES_SHRINK, 0};
    check(tally_stream_scan(ctx, "sum", TALLY_F32, &reverse, &s) == TALLY_UNSUPPORTED && !s,
          "reverse stream");
    check(strstr(tally_error(ctx), "reverse") != NULL, "reverse stream says: %s", tally_error(ctx));
    check(tally_stream_window(ctx, "sum", TALLY_F32, &bad, &s) == TALLY_UNSUPPORTED && !s,
          "window stream before -1");
    check(tally_stream_window(ctx, "sum", TALLY_F32, NULL, &s) == TALLY_INVALID && !s,
          "window stream without options");
    check(tally_stream_reduce(ctx, "summ", TALLY_F32, &s) == TALLY_INVALID && !s,
          "stream of an unknown operator");
    check(tally_stream_reduce(ctx, "sum", (tally_dtype)77, &s) == TALLY_INVALID && !s,
          "stream of an unknown dtype");
    check(tally_stream_reduce(ctx, "sum", TALLY_F32, NULL) == TALLY_INVALID, "stream NULL");
    check(tally_stream_reduce(NULL, "sum", TALLY_F32, &s) == TALLY_INVALID, "ctx NULL");
    check(tally_stream_push(NULL, x, 1, NULL, NULL) == TALLY_INVALID, "push to NULL");
    check(tally_stream_finish(NULL, x, NULL) == TALLY_INVALID, "finish NULL");
    check(tally_stream_room(NULL, 3) == 0, "room of NULL");
    tally_stream_close(NULL);
}

static void refused_fragments(void)
{
    tally *ctx = contexts[0];
    tally_stream *s;
    static const struct {
        const char *op;
        int64_t start, pushed;
        int window;
        const char *says;
    } resume[] = {{"sum", 0, 1, 0, "has 1 elements"},
                  {"max", 0, 0, 0, "max of f32"},
                  {"sum", 5, 0, 0, "lacks [0, 5)"},
                  {"sum", 0, 0, 1, "is a window"}};
    for (size_t i = 0; i < sizeof resume / sizeof *resume; i++) {
        tally_fragment *f;
        check_ok(ctx, tally_fragment_make(ctx, resume[i].op, TALLY_F32, x, resume[i].start, 10, &f),
                 "fragment");
        check_ok(ctx,
                 resume[i].window ? tally_stream_window(ctx, "sum", TALLY_F32, &four, &s)
                                  : tally_stream_reduce(ctx, "sum", TALLY_F32, &s),
                 "stream");
        check(!tally_stream_push(s, x, resume[i].pushed, y, NULL), "push");
        check(tally_stream_resume(s, f) != TALLY_OK && strstr(tally_error(ctx), resume[i].says),
              "resume: '%s', not '%s'", tally_error(ctx), resume[i].says);
        if (!resume[i].window) /* of what is pushed: another beginning, another operator */
            check(tally_stream_push_folded(s, x, f, y, NULL) == TALLY_INVALID &&
                      strstr(tally_error(ctx), "folded is "),
                  "folded: %s", tally_error(ctx));
        check(tally_stream_push_folded(s, x, NULL, y, NULL) == TALLY_INVALID, "NULL");
        check(tally_stream_resume(s, NULL) == TALLY_INVALID &&
                  tally_stream_resume(NULL, f) == TALLY_INVALID,
              "NULL");
        tally_stream_close(s);
        tally_fragment_free(f);
    }
}

static void refused_pushes(void)
{
    tally *ctx = contexts[0];
    double sum = 0;
    tally_stream *s;
    check_ok(ctx, tally_stream_reduce(ctx, "sum:f64", TALLY_F32, &s), "stream");
    check_ok(ctx, tally_stream_push(s, x, 500, NULL, NULL), "push");
    check(tally_stream_push(s, NULL, 5, NULL, NULL) == TALLY_INVALID, "x NULL");
    check(tally_stream_push(s, x, -1, NULL, NULL) == TALLY_INVALID, "n -1");
    check(tally_stream_push(s, x, INT64_MAX, NULL, NULL) == TALLY_INVALID, "n 2^63 - 1");
    check(tally_stream_push(s, x, INT64_MAX / 4, NULL, NULL) == TALLY_INVALID,
          "n 2^61 - 1 of 4 bytes");
    check(!tally_stream_push(s, NULL, 0, NULL, NULL), "nothing");
    check(tally_stream_finish(s, NULL, NULL) == TALLY_INVALID, "finish without out");
    check_ok(ctx, tally_stream_push(s, x + 500, 500, NULL, NULL), "push");
    check_ok(ctx, tally_stream_finish(s, &sum, NULL), "finish");
    check(sum == 499500, "sum after refusals is %g", sum);
    tally_stream_close(s);

    check_ok(ctx, tally_stream_scan(ctx, "sum", TALLY_F32, NULL, &s), "stream");
    check(tally_stream_push(s, x, 10, NULL, NULL) == TALLY_INVALID, "scan without out");
    check(tally_stream_push(s, x, 10, x + 5, NULL) == TALLY_INVALID, "scan that overlaps");
    check(strstr(tally_error(ctx), "overlap") != NULL, "overlap says: %s", tally_error(ctx));
    check(tally_stream_push(s, x, INT64_MAX / 8, y, NULL) == TALLY_INVALID,
          "more bytes than memory has");
    check_ok(ctx, tally_stream_push(s, x, 10, y, NULL), "push");
    check(y[9] == 45, "scan after refusals is %g", y[9]);
    tally_stream_close(s); /* unfinished */
}

static void windows_of_few(void)
{
    tally *ctx = contexts[0];
    tally_stream *s;
    int64_t written = -1;
    check_ok(ctx, tally_stream_window(ctx, "sum", TALLY_F32, &four, &s), "stream");
    check_ok(ctx, tally_stream_finish(s, y, &written), "an empty stream of windows");
    check(written == 0, "an empty stream of windows gave %lld", (long long)written);
    tally_stream_close(s);

    const tally_window_options later = {.before = 1, .after = 3, .edges = TALLY_EDGES_SHRINK};
    check_ok(ctx, tally_stream_window(ctx, "sum", TALLY_F32, &later, &s), "stream");
    check_ok(ctx, tally_stream_push(s, x, 4, NULL, &written), "a push without results");
    check(written == 0, "four elements gave %lld results", (long long)written);
    check(tally_stream_push(s, x + 4, 1, NULL, NULL) == TALLY_INVALID, "results without out");
    check_ok(ctx, tally_stream_push(s, x + 4, 1, y, &written), "push");
    check(written == 2 && y[0] == 6 && y[1] == 10, "%lld results: %g, %g", (long long)written, y[0],
          y[1]);
    tally_stream_close(s);
}

/* An empty stream reduces to the empty value. */
static void empty_streams(void)
{
    tally *ctx = contexts[0];
    tally_stream *s;
    for (const char *const *op = tally_operators(); *op; op++)
        for (tally_dtype d = TALLY_I8; d <= TALLY_F64; d++) {
            check_operator o;
            tally_view none = tally_flat(NULL, d, 0);
            if (!check_operator_make(&o, *op, d, 0)) continue;
            check_ok(ctx, tally_reduce(ctx, o.op, &none, want), o.op);
            check_ok(ctx, tally_stream_reduce(ctx, o.op, d, &s), o.op);
            check_ok(ctx, tally_stream_finish(s, got, NULL), o.op);
            check_same(got, want, 1, o.result, "empty stream of %s %s", o.op, tally_dtype_name(d));
            tally_stream_close(s);
        }
}

int main(void)
{
    check_start();
    open_contexts(3);
    x_memory = malloc((size_t)MOST * 8 + 64);
    want = malloc((size_t)MOST * 16 + 4096 * 16 * 4);
    got = malloc((size_t)MOST * 16 + (size_t)MOST * 16 + 8 * GUARD);
    for (int i = 0; i < 1000; i++) x[i] = (float)i;
    refused_streams();
    refused_fragments();
    refused_pushes();
    windows_of_few();
    empty_streams();
    for (int64_t k = 0; k < (check_quick ? 80 : 1500); k++) {
        stream_reduce();
        stream_scan();
        resumed();
        stream_window();
        stream_window();
    }
    close_contexts();
    free(x_memory);
    free(want);
    free(got);
    return check_finish();
}

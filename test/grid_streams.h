/* SPDX-License-Identifier: MIT
 * Many sequences with random strides, and parts of them; streams of them: reduce, scan and
 * windows. Part of test_grid.c. */
#ifndef TALLY_TEST_GRID_STREAMS_H
#define TALLY_TEST_GRID_STREAMS_H
#include "parts.h"

enum { MOST = 900000, GUARD = 64, PIECES = 12 };
static char *x_memory, *want, *got;

typedef struct {
    check_operator o;
    tally_view all;
    char *x;          /* the memory of its elements, */
    int64_t capacity; /* and how many there are */
    char what[200];
} field;

/* Random sequences with random strides, columns mostly. */
static field pick(void)
{
    field f = {.o = check_operator_random()};
    int64_t rows = check_below(4) ? check_size(check_below(8) ? 200 : 5000) : check_below(20),
            n = check_size(check_below(4) ? 40 : 3000),
            step = check_below(3) ? 1 : 1 + check_below(3);
    /* on several threads */
    if (check_below(40) == 0) rows = 70000 + check_below(5000), n = 1 + check_below(6);
    const int columns = check_below(3) != 0, kind = (int)check_below(TL_DATA_KINDS);
    int64_t *const shorter = rows < n ? &n : &rows;
    while ((rows + 5) * (n + 5) * step > MOST) *shorter /= 2;
    const int64_t pitch = ((columns ? rows : n) + check_below(5)) * step;
    f.all = tally_flat(NULL, f.o.dtype, n);
    f.all.rows = rows;
    f.all.row_stride = (columns ? step : pitch) * (check_below(4) ? 1 : -1);
    f.all.stride = (columns ? pitch : step) * (check_below(4) ? 1 : -1);
    if (rows && n && check_below(20) == 0) f.all.row_stride = 0;
    const int64_t low = (f.all.row_stride < 0 ? (rows - 1) * f.all.row_stride : 0) +
                        (f.all.stride < 0 ? (n - 1) * f.all.stride : 0);
    f.x = x_memory + check_below(17);
    f.capacity = (rows + 5) * (n + 5) * step;
    check_fill(f.x, f.o.dtype, f.capacity, kind);
    f.all.data = rows && n ? f.x - low * f.o.bytes : f.x;
    snprintf(f.what, sizeof f.what, "%s %s rows %lld n %lld strides %lld %lld data %d", f.o.op,
             tally_dtype_name(f.o.dtype), (long long)rows, (long long)n,
             (long long)f.all.row_stride, (long long)f.all.stride, kind);
    return f;
}

/* Elements a .. b - 1 of each sequence. */
static tally_view part(const field *f, int64_t a, int64_t b)
{
    tally_view v = f->all;
    v.data = (char *)v.data + a * v.stride * f->o.bytes;
    v.n = b - a;
    return v;
}

static int64_t chunk(int64_t left)
{
    const int64_t n = check_below(3)   ? check_below(3)
                      : check_below(4) ? check_below(30)
                                       : check_below(left + 1);
    return n < left ? n : left;
}

static void guarded(int64_t bytes, const char *what)
{
    int bad = 0;
    for (int i = 0; i < GUARD; i++) bad |= got[bytes + i] != 0x5a;
    check(!bad, "written behind the results: %s", what);
}

/* Sometimes a stream goes on from a fragment; returns after how many steps. */

/* ---- streams ---- */

/* Sometimes a stream goes on from a fragment; returns after how many steps. */
static int64_t resumed(tally *ctx, tally_stream *s, const field *f)
{
    tally_fragment *before;
    if (check_below(3)) return 0;
    const int64_t n = chunk(f->all.n);
    const tally_view v = part(f, 0, n);
    if (!check_ok(ctx, tally_fragment_of_view(ctx, f->o.op, &v, 0, &before), f->what)) return 0;
    check_ok(ctx, tally_stream_resume(s, before), f->what);
    tally_fragment_free(before);
    return n;
}

static void reduced(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    int64_t produced = -1;
    check_ok(ctx, tally_reduce(ctx, f.o.op, &f.all, want), f.what);
    if (!check_ok(ctx, tally_stream_reduce_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &s), f.what))
        return;
    for (int64_t at = resumed(ctx, s, &f), m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), f.what);
    }
    check(tally_stream_room(s, -1) == f.all.rows && tally_stream_room(s, 5) == 0, "room: %s",
          f.what);
    memset(got, 0x5a, (size_t)(f.all.rows * f.o.result + GUARD));
    check_ok(ctx, tally_stream_finish(s, got, &produced), f.what);
    check(produced == f.all.rows, "%lld results: %s", (long long)produced, f.what);
    check_same(got, want, f.all.rows, f.o.result, "stream of rows: %s", f.what);
    guarded(f.all.rows * f.o.result, f.what);
    check(tally_stream_push_view(s, &f.all, NULL) == TALLY_INVALID, "a finished stream took more");
    tally_stream_close(s);
}

static void scanned(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    char init[16];
    const int columns = (int)check_below(3), more = (int)check_below(2);
    tally_scan_options o = {.exclusive = (int)check_below(2)};
    if (f.o.info.seedable && check_below(2)) {
        check_fill(init, f.o.info.output, 1, TL_DATA_PLAIN);
        o.init = init;
    }
    const int64_t pitch = (columns ? f.all.rows : f.all.n) + more,
                  places = pitch * (columns ? f.all.n : f.all.rows);
    tally_view out = tally_flat(want, f.o.info.output, f.all.n);
    out.rows = f.all.rows;
    out.row_stride = columns ? 1 : pitch;
    out.stride = columns ? pitch : 1;
    memset(want, 0x5a, (size_t)(places * f.o.result + GUARD));
    memset(got, 0x5a, (size_t)(places * f.o.result + GUARD));
    check_ok(ctx, tally_scan(ctx, f.o.op, &f.all, &out, &o), f.what);
    out.data = got;
    if (!check_ok(ctx, tally_stream_scan_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &o, &s), f.what))
        return;
    memset(init, 0xff, sizeof init); /* the init was borrowed for the call only */
    const int64_t before = resumed(ctx, s, &f);
    for (int64_t i = 0; i < before; i++) /* the fragment has no results of these */
        for (int64_t r = 0; r < f.all.rows; r++) {
            const int64_t place = (r * out.row_stride + i * out.stride) * f.o.result;
            memcpy(got + place, want + place, (size_t)f.o.result);
        }
    for (int64_t at = before, m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        tally_view to = out;
        to.data = got + at * out.stride * f.o.result;
        to.n = m;
        check(tally_stream_room(s, m) == m * f.all.rows, "room: %s", f.what);
        check_ok(ctx, tally_stream_push_view(s, &v, &to), f.what);
    }
    int64_t produced = -1;
    check(tally_stream_room(s, -1) == 0 && !tally_stream_finish(s, NULL, &produced) &&
              produced == 0,
          "finish: %s", f.what);
    check_same(got, want, places * f.o.result + GUARD, 1,
               "scan of rows, columns %d exclusive %d init %d: %s", columns, o.exclusive,
               o.init != NULL, f.what);
    tally_stream_close(s);
}

static void windowed(void)
{
    const field f = pick();
    tally *ctx = any();
    tally_stream *s;
    tally_window_options o = {.before = check_size(30),
                              .after = check_below(3) ? 0 : check_below(6)};
    o.edges = (tally_edges)check_below(3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    const int columns = (int)check_below(3);
    const int64_t n = tally_window_length(f.all.n, &o), places = f.all.rows * n;
    tally_view out = tally_flat(want, f.o.info.output, n);
    out.rows = f.all.rows;
    out.row_stride = columns ? 1 : n;
    out.stride = columns ? f.all.rows : 1;
    memset(want, 0x5a, (size_t)(places * f.o.result + GUARD));
    memset(got, 0x5a, (size_t)(places * f.o.result + GUARD));
    check_ok(ctx, tally_window(ctx, f.o.op, &f.all, &out, &o), f.what);
    if (!check_ok(ctx, tally_stream_window_rows(ctx, f.o.op, f.o.dtype, f.all.rows, &o, &s),
                  f.what))
        return;
    int64_t produced = 0;
    for (int64_t at = 0, m; at < f.all.n; at += m) {
        m = chunk(f.all.n - at);
        const tally_view v = part(&f, at, at + m);
        tally_view to = out;
        to.n = tally_stream_results(s, m);
        to.data = got + produced * out.stride * f.o.result;
        check_ok(ctx, tally_stream_push_view(s, &v, &to), f.what);
        produced += to.n;
    }
    tally_view rest = out;
    rest.n = tally_stream_results(s, -1);
    rest.data = got + produced * out.stride * f.o.result;
    check_ok(ctx, tally_stream_finish_view(s, &rest), f.what);
    check_same(got, want, places * f.o.result + GUARD, 1,
               "windows of rows, %lld + 1 + %lld edges %d min_count %lld: %s", (long long)o.before,
               (long long)o.after, (int)o.edges, (long long)o.min_count, f.what);
    tally_stream_close(s);
}
#endif

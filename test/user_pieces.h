/* SPDX-License-Identifier: MIT
 * Operators of users: what the parts of test_user.c share (the checks of bits_cases.h,
 * contexts, the examples); what operators are told, and data in parts. */
#ifndef TALLY_TEST_USER_PIECES_H
#define TALLY_TEST_USER_PIECES_H
#include "bits_cases.h"
#include <unistd.h>

static int check_detail(int good, const char *what, const char *detail)
{
    return check(good, "%s: %s", what, detail ? detail : "");
}

static tally *open_on(const char *device)
{
    tally *ctx = NULL;
    if (tally_open(&ctx, device)) {
        fprintf(stderr, "%s: %s\n", device, tally_error(NULL));
        exit(1);
    }
    return ctx;
}

static int define_example(tally *ctx, const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/examples/operators/%s.h", TALLY_SOURCE_DIR, name);
    if (access(path, R_OK))
        snprintf(path, sizeof path, "%s/test/operators/%s.h", TALLY_SOURCE_DIR, name);
    return check_ok(ctx, tally_define_file(ctx, NULL, path), path);
}

/* Numbers of elements that combine and twin are told (OP_SIZES), where sequences are longer than
 * the matrix has them: levels of nodes, parts of threads, pieces of a GPU. test/operators/told.h
 * counts for itself: every result is 0. Part of test_user.c. */

static void all_zero(tally *ctx, tally_status status, const float *y, int64_t n, const char *what)
{
    int64_t count = 0, first = -1;
    if (!check_ok(ctx, status, what)) return;
    for (int64_t i = 0; i < n; i++)
        if (y[i] != 0 && count++ == 0) first = i;
    check(count == 0, "told: %s: %lld of %lld results, the first at %lld", what, (long long)count,
          (long long)n, (long long)first);
}

static void told_large(const char *device)
{
    enum { N = 700001, COLUMNS = 40, LONG = 3001, SEGMENTS = 7, WINDOWED = 70000 };
    static const int64_t offsets[SEGMENTS + 1] = {0, 1, 29, 29, 1400, 5000, 300000, N - 1};
    static const tally_window_options windows[] = {{699, 0, TALLY_EDGES_VALID, 0},
                                                   {2000, 1321, TALLY_EDGES_SHRINK, 0},
                                                   {0, 9000, TALLY_EDGES_SHRINK, 0},
                                                   {40000, 2047, TALLY_EDGES_VALID, 0}};
    tally *ctx = open_on(device);
    float *y = (float *)output;
    char what[40];
    memset(input, 0, N * sizeof(float));
    const tally_view flat = tally_flat(input, TALLY_F32, N), flat_out = tally_flat(y, TALLY_F32, N);
    tally_view across = {.data = input,
                         .dtype = TALLY_F32,
                         .rows = COLUMNS,
                         .n = LONG,
                         .row_stride = 1},
               rows = flat;
    across.stride = COLUMNS;
    rows.rows = 64, rows.n = rows.row_stride = 512;
    tally_view across_out = across, segments = flat, segments_out = flat_out;
    across_out.data = y;
    segments.offsets = segments_out.offsets = offsets;
    segments.rows = segments_out.rows = SEGMENTS;
    if (define_example(ctx, "told")) {
        all_zero(ctx, tally_reduce(ctx, "told", &flat, y), y, 1, "reduce");
        all_zero(ctx, tally_reduce(ctx, "told", &rows, y), y, rows.rows, "reduce of rows");
        all_zero(ctx, tally_reduce(ctx, "told", &across, y), y, COLUMNS, "reduce of columns");
        all_zero(ctx, tally_reduce(ctx, "told", &segments, y), y, SEGMENTS, "reduce of segments");
        for (int exclusive = 0; exclusive < 2; exclusive++) {
            const tally_scan_options o = {.exclusive = exclusive};
            all_zero(ctx, tally_scan(ctx, "told", &flat, &flat_out, &o), y, N, "scan");
            all_zero(ctx, tally_scan(ctx, "told", &across, &across_out, &o), y, COLUMNS * LONG,
                     "scan of columns");
            all_zero(ctx, tally_scan(ctx, "told", &segments, &segments_out, &o), y, N - 1,
                     "scan of segments");
        }
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
            const tally_view in = tally_flat(input, TALLY_F32, WINDOWED);
            const int64_t results = tally_window_length(WINDOWED, &windows[k]);
            const tally_view to = tally_flat(y, TALLY_F32, results);
            snprintf(what, sizeof what, "window %d", (int)k);
            all_zero(ctx, tally_window(ctx, "told", &in, &to, &windows[k]), y, results, what);
        }
    }
    tally_close(ctx);
}

/* Operators of users where a result is made in pieces: streams, windows of streams, fragments
 * that are saved and merged in other contexts; and a name that is defined anew while they are
 * open. Part of test_user.c. */

enum { PIECES_N = 30000 };
static float series_x[PIECES_N], whole_descent; /* the operator's result of series_x */

static void streams(tally *ctx)
{
    static float whole[PIECES_N], part[PIECES_N];
    float got;
    int64_t produced = 0, more = 0;
    tally_view in = tally_flat(series_x, TALLY_F32, PIECES_N),
               out = tally_flat(whole, TALLY_F32, PIECES_N);
    tally_stream *s = NULL;
    if (check_ok(ctx, tally_stream_reduce(ctx, "descent", TALLY_F32, &s), "a stream")) {
        check_ok(ctx, tally_stream_push(s, series_x, 1234, NULL, NULL), "push");
        check_ok(ctx, tally_stream_push(s, series_x + 1234, PIECES_N - 1234, NULL, NULL), "push");
        check_ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
        check_same(&got, &whole_descent, 1, 4, "stream");
        tally_stream_close(s);
    }
    tally_window_options w = {49, 0, TALLY_EDGES_VALID, 0};
    out.n = tally_window_length(PIECES_N, &w);
    check_ok(ctx, tally_window(ctx, "descent", &in, &out, &w), "window");
    if (check_ok(ctx, tally_stream_window(ctx, "descent", TALLY_F32, &w, &s), "a window stream")) {
        check_ok(ctx, tally_stream_push(s, series_x, 777, part, &produced), "push");
        check_ok(ctx, tally_stream_push(s, series_x + 777, PIECES_N - 777, part + produced, &more),
                 "push");
        check_detail(produced + more == out.n, "window stream", "another number of results");
        check_same(part, whole, out.n, 4, "window stream");
        tally_stream_close(s);
    }
}

/* A fragment where the operator is not defined, or has another text. */
static void other_texts(const char *saved, size_t bytes)
{
    tally_fragment *c = NULL;
    tally *third = open_on("cpu");
    check_detail(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c,
                 "load without the operator", tally_error(third));
    check_detail(strstr(tally_error(third), "not defined here") != NULL, "its sentence",
                 tally_error(third));
    tally_define(third, "descent",
                 "#define OP_STATE(F) F(real, h) F(real, l) F(real, m)\ntypedef struct { "
                 "OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.h = to_real(x); r.l = r.h; r.m "
                 "= r.h; return r; }\n"
                 "fn state combine(state a, state b) { return b; }\n"
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.h); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n",
                 "another");
    check_detail(tally_fragment_load(third, saved, bytes, &c) == TALLY_BAD_DATA && !c,
                 "load with another text", tally_error(third));
    check_detail(strstr(tally_error(third), "another text than another") != NULL, "its sentence",
                 tally_error(third));
    tally_close(third);
}

/* Fragments: cut, saved, loaded into another context, merged there with one of its own. Returns the
 * first, with all of series_x. */
static tally_fragment *fragments(tally *ctx, tally *other)
{
    char saved[5000];
    float got;
    size_t bytes = sizeof saved;
    tally_fragment *a = NULL, *b = NULL, *c = NULL;
    check_ok(ctx, tally_fragment_make(ctx, "descent", TALLY_F32, series_x, 0, 7001, &a),
             "a fragment");
    check_ok(other,
             tally_fragment_make(other, "descent", TALLY_F32, series_x + 7001, 7001,
                                 PIECES_N - 7001, &b),
             "a fragment");
    check_ok(ctx, tally_fragment_save(a, saved, &bytes), "save");
    if (check_ok(other, tally_fragment_load(other, saved, bytes, &c), "load") &&
        check_ok(other, tally_fragment_merge(c, b), "merge")) {
        check_ok(other, tally_fragment_result(c, &got), "result");
        check_same(&got, &whole_descent, 1, 4, "fragments");
    }
    tally_fragment_free(c);
    if (check_ok(ctx, tally_fragment_merge(a, b), "merge across contexts")) {
        check_ok(ctx, tally_fragment_result(a, &got), "result");
        check_same(&got, &whole_descent, 1, 4, "fragments of two contexts");
    }
    check_detail(tally_fragment_merge(a, b) != TALLY_OK, "merge of a fragment that was merged", "");
    tally_fragment_free(b);
    other_texts(saved, bytes);
    return a;
}

/* A new text: from the next call on; what is open keeps the old one. */
static void new_text(tally *ctx, tally_fragment *a)
{
    const tally_view in = tally_flat(series_x, TALLY_F32, PIECES_N);
    float got;
    tally_stream *s = NULL;
    check_ok(ctx, tally_stream_reduce(ctx, "descent", TALLY_F32, &s), "a stream");
    check_ok(ctx, tally_stream_push(s, series_x, PIECES_N / 2, NULL, NULL), "push");
    check_ok(ctx,
             tally_define(
                 ctx, "descent",
                 "#define OP_STATE(F) F(real, v)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.v = to_real(x); return r; }\n"
                 "fn state combine(state a, state b) { return b; }\n"
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.v); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n",
                 NULL),
             "a second text");
    check_ok(ctx, tally_reduce(ctx, "descent", &in, &got), "reduce");
    check_same(&got, series_x + PIECES_N - 1, 1, 4, "the second text");
    check_ok(ctx,
             tally_stream_push(s, series_x + PIECES_N / 2, PIECES_N - PIECES_N / 2, NULL, NULL),
             "push");
    check_ok(ctx, tally_stream_finish(s, &got, NULL), "finish");
    check_same(&got, &whole_descent, 1, 4, "a stream of the first text");
    tally_stream_close(s);
    check_ok(ctx, tally_fragment_result(a, &got), "result");
    check_same(&got, &whole_descent, 1, 4, "a fragment of the first text");

    tally_fragment *b = NULL;
    check_ok(ctx, tally_fragment_make(ctx, "descent", TALLY_F32, series_x, PIECES_N, 9, &b),
             "a fragment of the second text");
    check_detail(tally_fragment_merge(a, b) == TALLY_INVALID, "merge of two texts",
                 tally_error(NULL));
    tally_fragment_free(b);
}

static void pieces(void)
{
    tally *ctx = open_on("cpu,threads=2"), *other = open_on("cpu");
    if (!define_example(ctx, "descent") || !define_example(other, "descent")) return;
    check_fill(series_x, TALLY_F32, PIECES_N, TL_DATA_PLAIN);
    const tally_view in = tally_flat(series_x, TALLY_F32, PIECES_N);
    check_ok(ctx, tally_reduce(ctx, "descent", &in, &whole_descent), "reduce");
    streams(ctx);
    tally_fragment *const a = fragments(ctx, other);
    new_text(ctx, a);
    tally_fragment_free(a);
    tally_close(ctx);
    tally_close(other);
}

#endif

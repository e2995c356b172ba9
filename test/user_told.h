/* SPDX-License-Identifier: MIT
 * Numbers of elements that combine and twin are told (OP_SIZES), where sequences are longer than
 * the matrix has them: levels of nodes, parts of threads, pieces of a GPU. test/operators/told.h
 * counts for itself: every result is 0. Part of test_user.c. */
#ifndef TALLY_TEST_USER_TOLD_H
#define TALLY_TEST_USER_TOLD_H
#include "user_check.h"

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
#endif

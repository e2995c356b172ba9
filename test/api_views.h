/* SPDX-License-Identifier: MIT
 * Refusals of views: pointers, sizes, what was not filled in, offsets, overlap, windows, initial
 * values. Part of test_api.c. */
#ifndef TALLY_TEST_API_VIEWS_H
#define TALLY_TEST_API_VIEWS_H
#include "check.h"
#include <math.h>

static tally *ctx;
static float x[4096], y[8192];

/* `status` must be `want` and the last sentence must hold every part (up to 4, NULL ends). */
static void refused(tally_status status, tally_status want, const tally *where, const char *a,
                    const char *b, const char *c)
{
    const char *says = tally_error(where), *parts[] = {a, b, c};
    check(status == want, "%s instead of %s; '%s'", tally_status_name(status),
          tally_status_name(want), says);
    for (int i = 0; i < 3; i++)
        if (parts[i] && status == want)
            check(strstr(says, parts[i]) != NULL, "'%s' does not say '%s'", says, parts[i]);
}

static tally_status reduce(const char *op, tally_view in) { return tally_reduce(ctx, op, &in, y); }
static tally_status scan(const char *op, tally_view in, tally_view out)
{
    return tally_scan(ctx, op, &in, &out, NULL);
}
static tally_status window(tally_view in, tally_view out, tally_window_options o)
{
    return tally_window(ctx, "sum", &in, &out, &o);
}
static tally_view flat(const void *p, int64_t n) { return tally_flat(p, TALLY_F32, n); }

static void pointers(void)
{
    tally_view f = flat(x, 4);
    refused(tally_reduce(NULL, "sum", &f, y), TALLY_INVALID, NULL, "ctx is NULL", "tally_open",
            NULL);
    refused(tally_reduce(ctx, "sum", NULL, y), TALLY_INVALID, ctx, "in is NULL", NULL, NULL);
    refused(tally_reduce(ctx, "sum", &f, NULL), TALLY_INVALID, ctx, "out is NULL", "1 results",
            NULL);
    refused(tally_scan(ctx, "sum", &f, NULL, NULL), TALLY_INVALID, ctx, "out is NULL", NULL, NULL);
    refused(tally_scan(ctx, "sum", NULL, &f, NULL), TALLY_INVALID, ctx, "in is NULL", NULL, NULL);
    refused(tally_window(ctx, "sum", &f, &f, NULL), TALLY_INVALID, ctx, "options is NULL", NULL,
            NULL);
    refused(reduce("sum", flat(NULL, 1)), TALLY_INVALID, ctx, "in->data is NULL", NULL, NULL);
    refused(scan("sum", flat(x, 4), flat(NULL, 4)), TALLY_INVALID, ctx, "out->data is NULL", NULL,
            NULL);
    check(!reduce("sum", flat(NULL, 0)) && y[0] == 0, "NULL and no elements");
    check(!scan("sum", flat(NULL, 0), flat(NULL, 0)), "NULL and no elements, scan");
}

static void sizes(void)
{
    refused(reduce("sum", flat(x, -1)), TALLY_INVALID, ctx, "in->n is -1", "at least 0", NULL);
    refused(reduce("sum", flat(x, INT64_MIN)), TALLY_INVALID, ctx, "in->n is -9223372036854775808",
            NULL, NULL);
    refused(reduce("sum", flat(x, INT64_MAX)), TALLY_INVALID, ctx, "in->n is 9223372036854775807",
            "2^62", NULL);
    refused(reduce("sum", flat(x, (int64_t)1 << 61)), TALLY_INVALID, ctx, "in:", "2^63",
            "2305843009213693952");
    refused(reduce("sum", tally_rows(x, TALLY_F32, -3, 4)), TALLY_INVALID, ctx, "in->rows is -3",
            "at least 0", NULL);
    refused(reduce("sum", tally_rows(x, TALLY_F32, (int64_t)1 << 40, (int64_t)1 << 40)),
            TALLY_INVALID, ctx, "in:", "2^63", "1099511627776");
    tally_view wide = {x, TALLY_F32, 3, 4, INT64_MAX / 2, 1, NULL},
               steep = {x, TALLY_F32, 1, 4, 0, INT64_MAX / 2, NULL};
    refused(reduce("sum", wide), TALLY_INVALID, ctx, "in:", "2^63", "4611686018427387903");
    refused(reduce("sum", steep), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    steep.stride = INT64_MIN;
    refused(reduce("sum", steep), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    wide.row_stride = INT64_MIN;
    refused(reduce("sum", wide), TALLY_INVALID, ctx, "in:", "2^63", NULL);
    refused(scan("sum", flat(x, 4), flat(y, 5)), TALLY_INVALID, ctx, "out->n is 5", "must be 4",
            NULL);
    refused(scan("sum", flat(x, 4), tally_flat(y, TALLY_F64, 4)), TALLY_INVALID, ctx,
            "out->dtype is f64", "sum of f32 gives f32", NULL);
    refused(scan("sum", flat(x, 4), tally_flat(y, (tally_dtype)99, 4)), TALLY_INVALID, ctx,
            "out->dtype is unknown", "f32", NULL);
    refused(scan("sum", flat(x, 4), tally_rows(y, TALLY_F32, 2, 4)), TALLY_INVALID, ctx,
            "out->rows is 2", "= 1", NULL);
    check(!reduce("sum", tally_rows(x, TALLY_F32, 0, 4)), "no rows");
    check(tally_reduce(ctx, "sum", &(tally_view){NULL, TALLY_F32, 0, 4, 4, 1, NULL}, NULL) ==
              TALLY_OK,
          "no rows, nowhere");
}

/* What a caller did not fill in is 0: rows, and with it nothing would be written. */
static void no_rows(void)
{
    static const struct {
        tally_view v;
        const char *why;
    } unfilled[] = {
        {{.data = x, .dtype = TALLY_F32, .n = 4}, "n is not"},
        {{.data = x, .dtype = TALLY_F32, .n = 4, .stride = 1}, "n is not"},
        {{.data = NULL, .dtype = TALLY_F32, .n = 4, .stride = 1}, "n is not"},
        {{.data = x, .dtype = TALLY_F32}, "data is not NULL"},
    };
    for (size_t i = 0; i < sizeof unfilled / sizeof *unfilled; i++) {
        const tally_view *v = &unfilled[i].v;
        refused(reduce("sum", *v), TALLY_INVALID, ctx, "in->rows is 0, and", unfilled[i].why,
                "must be at least 1");
        refused(scan("sum", *v, *v), TALLY_INVALID, ctx, "in->rows is 0, and", unfilled[i].why,
                "must be at least 1");
        tally_view pair = flat(x, 4);
        pair.next = v;
        refused(reduce("dot", pair), TALLY_INVALID, ctx, "in->next->rows is 0", NULL, NULL);
    }
    check(!reduce("sum", tally_rows(x, TALLY_F32, 0, 0)), "no rows of nothing");
    check(!reduce("sum", tally_columns(x, TALLY_F32, 4, 0)), "no columns");
    check(!reduce("sum", tally_columns(x, TALLY_F32, 0, 0)), "no columns of nothing");
    check(!reduce("sum", (tally_view){.dtype = TALLY_F32}), "all 0: nothing to do");
}

/* A stride that was not filled in: the first element, again and again. */
static void no_stride(void)
{
    static const int64_t cuts[] = {0, 1, 3}, ones[] = {5, 5, 6};
    const tally_view dull[] = {{.data = x, .dtype = TALLY_F32, .rows = 1, .n = 4},
                               {.data = x, .dtype = TALLY_F32, .rows = 2, .offsets = cuts}};
    for (size_t i = 0; i < sizeof dull / sizeof *dull; i++) {
        refused(reduce("sum", dull[i]), TALLY_INVALID, ctx, "in->stride is 0 for",
                i ? "3 elements" : "4 elements", "row_stride 1");
        tally_view meant = dull[i], pair = dull[i];
        meant.row_stride = 1;
        check(!reduce("sum", meant), "one element repeated: %s", tally_error(ctx));
        pair.stride = 1;
        pair.next = &dull[i];
        refused(reduce("dot", pair), TALLY_INVALID, ctx, "in->next->stride is 0", NULL, NULL);
    }
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 1, .n = 1}),
          "one element needs no stride");
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 2, .offsets = ones}),
          "one element in segments needs no stride");
    check(!reduce("sum", (tally_view){.data = x, .dtype = TALLY_F32, .rows = 3, .n = 4}),
          "one element repeated in a matrix");
}

/* Threads compare many offsets in parts; the first descent is named. */
static void many_offsets(void)
{
    enum { ROWS = 200000 };
    static const int64_t at[] = {1, 32767, 32768, 32769, ROWS};
    static int64_t many[ROWS + 1];
    char says[32];

    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        for (int64_t r = 0; r <= ROWS; r++) many[r] = r < ROWS - 1 || at[i] == ROWS ? r : 1;
        many[at[i]] = at[i] - 2;
        if (at[i] == 1) many[0] = 5, many[1] = 2;
        snprintf(says, sizeof says, "in->offsets[%d] is", (int)at[i]);
        refused(reduce("sum", tally_segments(x, TALLY_F32, many, ROWS)), TALLY_INVALID, ctx, says,
                "must ascend", NULL);
    }
}

static void offsets(void)
{
    int64_t down[] = {0, 5, 3, 8}, below[] = {-1, 2, 3, 4}, good[] = {0, 2, 2, 8},
            other[] = {0, 2, 3, 8};
    tally_view in = tally_segments(x, TALLY_F32, down, 3),
               out = tally_segments(y, TALLY_F32, good, 3);
    tally_window_options valid = {1, 0, TALLY_EDGES_VALID, 0};
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->offsets[2] is 3", "offsets[1] = 5",
            "ascend");
    in.offsets = below;
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->offsets[0] is -1", "at least 0", NULL);
    in.offsets = other;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->offsets differ", NULL, NULL);
    refused(scan("sum", in, tally_rows(y, TALLY_F32, 3, 0)), TALLY_INVALID, ctx, "out->offsets",
            "in->offsets", NULL);
    refused(scan("sum", tally_rows(x, TALLY_F32, 3, 0), out), TALLY_INVALID, ctx, "out->offsets",
            "in->offsets", NULL);
    in.offsets = good;
    refused(window(in, out, valid), TALLY_UNSUPPORTED, ctx, "valid", "segments", NULL);
    in.data = NULL;
    refused(reduce("sum", in), TALLY_INVALID, ctx, "in->data is NULL", NULL, NULL);
    in.data = x;
    out.stride = 0;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->stride is 0 for 8", "dense", NULL);
    out.row_stride = 1;
    refused(scan("sum", in, out), TALLY_INVALID, ctx, "out->stride is 0", "overwrite", NULL);
    int64_t huge[] = {0, INT64_MAX - 1}, none[] = {7, 7, 7};
    refused(reduce("sum", tally_segments(x, TALLY_F32, huge, 1)), TALLY_INVALID, ctx, "in", "2^6",
            NULL);
    check(!reduce("sum", tally_segments(NULL, TALLY_F32, none, 2)) && y[0] == 0 && y[1] == 0,
          "empty segments of NULL");
    many_offsets();
}

static void overlap(void)
{
    tally_view in = flat(x + 100, 100);
    static const int64_t meets[] = {-99, -1, 1, 50, 99};
    for (int i = 0; i < 5; i++) {
        refused(scan("sum", in, flat(x + 100 + meets[i], 100)), TALLY_INVALID, ctx,
                "out overlaps in", "own", "exactly");
        refused(window(in, flat(x + 100 + meets[i], 100),
                       (tally_window_options){2, 0, TALLY_EDGES_SHRINK, 0}),
                TALLY_INVALID, ctx, "out overlaps in", NULL, NULL);
    }
    check(!scan("sum", in, flat(x, 100)) && !scan("sum", in, flat(x + 200, 100)),
          "neighbours do not overlap");
    check(!scan("sum", in, in), "in place");
    refused(window(in, in, (tally_window_options){2, 0, TALLY_EDGES_SHRINK, 0}), TALLY_INVALID, ctx,
            "out overlaps in", "own", NULL);
    refused(tally_reduce(ctx, "sum", &in, x + 150), TALLY_INVALID, ctx, "out overlaps in", NULL,
            NULL);
    refused(tally_scan(ctx, "sum:f64", &in, &(tally_view){x + 100, TALLY_F64, 1, 100, 100, 1, NULL},
                       NULL),
            TALLY_INVALID, ctx, "out overlaps in", "element size", NULL);
    tally_view rows = tally_rows(x, TALLY_F32, 10, 10),
               columns = tally_columns(x, TALLY_F32, 10, 10),
               odd = {x, TALLY_F32, 10, 10, 9, 1, NULL};
    refused(scan("sum", rows, columns), TALLY_INVALID, ctx, "out overlaps in", "strides", NULL);
    check(!scan("sum", rows, rows) && !scan("sum", columns, columns),
          "rows in place, columns in place");
    odd.data = y; /* outputs that overwrite themselves */
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 9", "overwrite",
            "10 rows of 10");
    odd.row_stride = 0;
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 0", "overwrite", NULL);
    odd.row_stride = 100;
    odd.stride = 0;
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->stride is 0", "overwrite", NULL);
    /* 10 rows of -3: before every 30 */
    odd = (tally_view){y + 4000, TALLY_F32, 10, 10, -3, 30, NULL};
    check(!scan("sum", rows, odd), "interleaved backwards: %s", tally_error(ctx));
    odd.row_stride = 6; /* row 5 starts where row 0 has its second */
    refused(scan("sum", rows, odd), TALLY_INVALID, ctx, "out->row_stride is 6", "stride 30", NULL);
    tally_view self = {x, TALLY_F32, 10, 10, 0, 1, NULL}; /* an input may repeat itself */
    check(!reduce("sum", self) && y[0] == y[9], "ten times the same row");
    self.stride = 0;
    check(!reduce("sum", self), "stride 0 input");
    tally_view back = {x + 99, TALLY_F32, 1, 100, 0, -1, NULL};
    refused(scan("sum", back, flat(x, 100)), TALLY_INVALID, ctx, "out overlaps in", NULL, NULL);
    check(!scan("sum", back, back), "backwards in place");
    for (int i = 0; i < 4096; i++) x[i] = (float)(i % 7);
}

/* Every verb refuses a view of which rows or stride were not filled in, and writes nothing. */
static void unfilled_everywhere(void)
{
    int32_t whole[4] = {0, 1, 0, 1};
    int64_t numbers[9], found = -1, one[1] = {0}, four[1] = {4};
    float result[4] = {7, 7, 7, 7};
    const tally_view good = flat(x, 4), to = flat(result, 4);
    const tally_window_options o = {.before = 1};
    const tally_key_window near = {.low = -1};
    for (int k = 0; k < 2; k++) {
        const char *const what = k ? "stride is 0 for 4" : "rows is 0";
        const tally_view
            in = {.data = x, .dtype = TALLY_F32, .rows = k, .n = 4, .stride = !k},
            keys = {.data = whole, .dtype = TALLY_I32, .rows = k, .n = 4, .stride = !k},
            out = {.data = result, .dtype = TALLY_F32, .rows = k, .n = 4, .stride = !k};
        tally_stream *s;
        tally_fragment *f;
        tally_exact sum;
        const struct {
            tally_status status;
            const char *name;
        } calls[] = {
            {tally_reduce(ctx, "sum", &in, result), "reduce"},
            {tally_reduce(ctx, "sum:exact", &in, result), "exact reduce"},
            {tally_scan(ctx, "sum", &in, &to, NULL), "scan"},
            {tally_window(ctx, "sum", &in, &to, &o), "window"},
            {tally_reduce_valid(ctx, "sum", &in, result, 0), "reduce_valid"},
            {tally_runs(ctx, &keys, numbers, &found), "runs"},
            {tally_groups(ctx, &keys, 2, numbers, numbers + 4), "groups"},
            {tally_take(ctx, &in, one, 1, &to), "take"},
            {tally_window_ranges(ctx, "sum", &in, one, four, 1, &to, 0), "ranges"},
            {tally_window_bounds(ctx, &keys, &near, numbers, numbers + 4), "bounds"},
            {tally_fragment_of_view(ctx, "sum", &in, 0, &f), "fragment"},
            {tally_reduce_split(ctx, "sum", &in, 1, result), "reduce_split"},
            {tally_scan_split(ctx, "sum", &in, 1, &to, NULL), "scan_split"},
            {tally_window_split(ctx, "sum", &in, 1, &to, &o), "window_split"},
        };
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            check(calls[i].status == TALLY_INVALID, "%s of a view whose %s: %s", calls[i].name,
                  what, tally_status_name(calls[i].status));
        refused(tally_scan(ctx, "sum", &good, &out, NULL), TALLY_INVALID, ctx, "out->", what, NULL);
        refused(tally_window(ctx, "sum", &good, &out, &o), TALLY_INVALID, ctx, "out->", what, NULL);
        tally_exact_init(&sum);
        refused(tally_exact_add(ctx, &sum, &in), TALLY_INVALID, ctx, "x->", what, NULL);
        refused(tally_exact_add(NULL, &sum, &in), TALLY_INVALID, NULL, "x->", what, NULL);
        if (check_ok(ctx, tally_stream_scan_rows(ctx, "sum", TALLY_F32, 1, NULL, &s), "stream")) {
            refused(tally_stream_push_view(s, &in, &to), TALLY_INVALID, ctx, what, NULL, NULL);
            refused(tally_stream_push_view(s, &good, &out), TALLY_INVALID, ctx, what, NULL, NULL);
            tally_stream_close(s);
        }
        check(found == -1 && result[0] == 7 && result[3] == 7, "a refused call wrote");
    }
}

static void windows(void)
{
    tally_view in = flat(x, 50), out = flat(y, 50);
    static const struct {
        tally_window_options o;
        const char *a, *b;
    } wrong[] = {
        {{-2, 0, TALLY_EDGES_MISSING, 0}, "before is -2 and after 0", "at least 0"},
        {{0, -7, TALLY_EDGES_MISSING, 0}, "before is 0 and after -7", "at least 0"},
        {{INT64_MIN, 0, TALLY_EDGES_MISSING, 0}, "before is -9223372036854775808", "-2^61..2^61"},
        {{0, INT64_MIN, TALLY_EDGES_MISSING, 0}, "after is -9223372036854775808", "-2^61..2^61"},
        {{INT64_MAX, 0, TALLY_EDGES_MISSING, 0}, "before is 9223372036854775807", "2^61"},
        {{0, INT64_MAX, TALLY_EDGES_MISSING, 0}, "after is 9223372036854775807", "2^61"},
        {{4, 0, TALLY_EDGES_MISSING, -1}, "min_count is -1", "0..5"},
        {{4, 0, TALLY_EDGES_MISSING, 6}, "min_count is 6", "0..5"},
        {{4, 0, (tally_edges)3, 0}, "edges is 3", "2 (valid)"},
        {{4, 0, (tally_edges)-1, 0}, "edges is -1", "0 (missing)"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused(tally_window(ctx, "sum", &in, &out, &wrong[i].o), TALLY_INVALID, ctx, wrong[i].a,
                wrong[i].b, NULL);
        tally_window_length(50, &wrong[i].o); /* must not trap */
    }
    tally_window_options o = {9, 0, TALLY_EDGES_VALID, 0}, one = {0, 0, TALLY_EDGES_MISSING, 0};
    refused(tally_window(ctx, "sum", &in, &out, &o), TALLY_INVALID, ctx, "out->n is 50",
            "must be 41", NULL);
    check(tally_window_length(50, &o) == 41 && tally_window_length(9, &o) == 0 &&
              tally_window_length(-5, &o) == 0 && tally_window_length(50, NULL) == 0,
          "lengths");
    check(!tally_window(ctx, "sum", &in, &out, &one) && y[7] == x[7],
          "w = 1, the shortest there is");
    /* longer than everything: missing is all empty, shrink folds all, valid is nothing */
    tally_window_options far = {(int64_t)1 << 60, (int64_t)1 << 60, TALLY_EDGES_MISSING, 0};
    float sum, bad = 0;
    check(!reduce("sum", in), "sum");
    sum = y[0];
    check(!tally_window(ctx, "mean", &in, &out, &far), "w > n, missing");
    for (int i = 0; i < 50; i++) bad += !isnan(y[i]);
    far.edges = TALLY_EDGES_SHRINK;
    check(!tally_window(ctx, "sum", &in, &out, &far), "w > n, shrink");
    for (int i = 0; i < 50; i++) bad += y[i] != sum;
    far.edges = TALLY_EDGES_VALID;
    out.n = 0;
    check(!tally_window(ctx, "sum", &in, &out, &far) && bad == 0, "w > n, valid; %g wrong",
          (double)bad);
}

static void inits(void)
{
    static const char *const none[] = {"mean",   "var:1", "std", "minmax", "argmin",
                                       "argmax", "any",   "all", "count",  "nanmean"};
    double init = 1;
    tally_view in = flat(x, 10);
    tally_scan_options o = {.init = &init};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        tally_operator_info info;
        check(!tally_operator(NULL, none[i], TALLY_F32, &info) && !info.seedable, "%s", none[i]);
        tally_view out = tally_flat(y, info.output, 10);
        refused(tally_scan(ctx, none[i], &in, &out, &o), TALLY_UNSUPPORTED, ctx, "init",
                "takes none", NULL);
    }
}
#endif

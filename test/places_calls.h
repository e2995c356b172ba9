/* SPDX-License-Identifier: MIT
 * The arrays of a case of test_places.c, and every function of the public headers that takes
 * arrays, as a function of a case. Part of test_places.c. */
#ifndef TALLY_TEST_PLACES_CALLS_H
#define TALLY_TEST_PLACES_CALLS_H
#include "emulated/run.h"
#include "gpus.h"
#include "mpi/memory.h"
#include <signal.h>
#include <unistd.h>

enum { MANY = 9000, FEW = 851, ROWS = 23, COLUMNS = 37, GROUPS = 40, SHIFT = 7 };

/* ---- arrays ---- */

/* The arrays of all calls, with their bytes. */
#define ARRAYS(A) \
    A(X, 8 * (MANY + 8)) \
    A(NEXT, 8 * (MANY + 8)) \
    A(VALID, MANY / 8 + 16) \
    A(NEXT_VALID, MANY / 8 + 16) \
    A(OFFSETS, 8 * (GROUPS + 8)) \
    A(OUT, 16 * (MANY + 8)) \
    A(OUT_VALID, MANY / 8 + 16) \
    A(CODES, 4 * MANY) \
    A(CODES_VALID, MANY / 8 + 16) \
    A(ORDER, 8 * MANY) \
    A(START, 8 * MANY) \
    A(END, 8 * MANY) \
    A(KEYS, 8 * MANY) \
    A(LOWS, 8 * MANY) \
    A(HIGHS, 8 * MANY) \
    A(PARTS, 8 * MANY) \
    A(INIT, 16) \
    A(SUM, sizeof(tally_exact)) \
    A(SAVED, SAVED_MOST) \
    A(BYTES, SAVED_MOST)
enum { SAVED_MOST = 1 << 18 };
enum {
#define A(name, bytes) name,
    ARRAYS(A)
#undef A
        ALL_ARRAYS
};
static struct {
    const char *name;
    size_t bytes;
    char *given, *host, *there, *want; /* before a call; on the host; on the device; after it */
} arrays[ALL_ARRAYS] = {
#define A(name, bytes) {#name, bytes, NULL, NULL, NULL, NULL},
    ARRAYS(A)
#undef A
};

/* ---- a case ---- */

enum { FLAT, SPREAD, BACK, LONG, BY_ROWS, BY_COLUMNS, SEGMENTS, LAYOUTS };
enum {
    ONE = 1 << FLAT | 1 << SPREAD | 1 << BACK | 1 << LONG,
    ANY = (1 << LAYOUTS) - 1,
    GROWING = ANY & ~(1 << SEGMENTS)
};

typedef struct {
    const char *op;
    tally_dtype dtype;
    int pairs, kernels; /* kernels: also for calls that compile some */
} operator_case;

typedef struct {
    tally *ctx;
    const operator_case *o;
    tally_operator_info info;
    int layout, valid, how; /* how: the variant of the call */
    unsigned there, used;   /* bits of arrays: in device memory, used so far */
    tally_view next, second_out;
} place;

/* Where array a of the case is, `bytes` bytes further on. */
static void *at(place *c, int a, int64_t bytes)
{
    c->used |= 1u << a;
    char *const p = c->there >> a & 1 ? arrays[a].there : arrays[a].host;
    return (void *)((uintptr_t)p + (uintptr_t)bytes);
}
static int64_t *numbers(place *c, int a) { return at(c, a, 0); }

/* A view of n elements of a sequence in array a, in the layout of the case. */
static tally_view view_of(place *c, int a, tally_dtype dtype, int64_t n)
{
    const int64_t bytes = (int64_t)tally_dtype_size(dtype);
    tally_view v = tally_flat(at(c, a, bytes), dtype, n);
    if (c->layout == SPREAD) v.stride = 2;
    if (c->layout == BACK) v.stride = -1, v.data = at(c, a, n * bytes);
    if (c->layout == BY_ROWS) v.rows = ROWS, v.row_stride = n;
    if (c->layout == BY_COLUMNS) v.rows = COLUMNS, v.row_stride = 1, v.stride = COLUMNS;
    if (c->layout == SEGMENTS) v.rows = GROUPS, v.offsets = numbers(c, OFFSETS);
    return v;
}
static int64_t length_of(const place *c)
{
    return c->layout == LONG         ? MANY
           : c->layout == SPREAD     ? FEW / 2
           : c->layout == BY_ROWS    ? COLUMNS
           : c->layout == BY_COLUMNS ? ROWS
                                     : FEW;
}
static void *bits_of(place *c, int a, tally_view *v)
{
    v->valid_offset = SHIFT + (v->stride < 0 ? v->n : 0);
    return at(c, a, 0);
}
static tally_view elements(place *c)
{
    tally_view v = view_of(c, X, c->o->dtype, length_of(c));
    if (c->valid) v.valid = bits_of(c, VALID, &v);
    if (c->o->pairs) {
        c->next = view_of(c, NEXT, c->o->dtype, v.n);
        if (c->valid) c->next.valid = bits_of(c, NEXT_VALID, &c->next);
        v.next = &c->next;
    }
    return v;
}
/* n results of a sequence. */
static tally_view results(place *c, int64_t n)
{
    tally_view v = view_of(c, OUT, c->info.output, n);
    if (c->layout == BACK) v.stride = 1, v.data = at(c, OUT, 0);
    return v;
}

/* ---- the verbs ---- */

static tally_status call_reduce(place *c)
{
    const tally_view in = elements(c);
    return tally_reduce(c->ctx, c->o->op, &in, at(c, OUT, 0));
}
static tally_status call_reduce_valid(place *c)
{
    const tally_view in = elements(c);
    return tally_reduce_valid(c->ctx, c->o->op, &in, at(c, OUT_VALID, 0), 5);
}
static tally_status call_scan(place *c)
{
    const tally_view in = elements(c);
    tally_view out = results(c, in.n);
    const tally_scan_options o = {.exclusive = c->how & 1,
                                  .reverse = c->how == 2,
                                  .init = c->how == 1 && c->info.seedable ? at(c, INIT, 0) : NULL};
    if (c->how == 3) out.valid = bits_of(c, OUT_VALID, &out);
    return tally_scan(c->ctx, c->o->op, &in, &out, &o);
}
static const tally_window_options windows[] = {{3, 1, TALLY_EDGES_SHRINK, 0, 0},
                                               {-1, 3, TALLY_EDGES_MISSING, 2, 0},
                                               {3, 0, TALLY_EDGES_SHRINK, 0, 3},
                                               {3, 1, TALLY_EDGES_SHRINK, 2, 0}, /* and bits */
                                               {9, 0, TALLY_EDGES_VALID, 0, 0}};
static tally_status call_window(place *c)
{
    const tally_view in = elements(c);
    tally_view out = results(c, in.offsets ? in.n : tally_window_length(in.n, &windows[c->how]));
    if (c->how == 3) out.valid = bits_of(c, OUT_VALID, &out);
    return tally_window(c->ctx, c->o->op, &in, &out, &windows[c->how]);
}
static tally_status call_split(place *c)
{
    const tally_view in = elements(c), out = results(c, in.n);
    return c->how == 0   ? tally_reduce_split(c->ctx, c->o->op, &in, 1, at(c, OUT, 0))
           : c->how == 1 ? tally_scan_split(c->ctx, c->o->op, &in, 1, &out, NULL)
                         : tally_window_split(c->ctx, c->o->op, &in, 1, &out, &windows[0]);
}

/* ---- keys and ranges ---- */

static tally_view codes_of(place *c, int valid)
{
    tally_view v = tally_flat(at(c, CODES, 0), TALLY_I32, length_of(c));
    if (valid) v.valid = bits_of(c, CODES_VALID, &v);
    return v;
}
static tally_status call_by(place *c)
{
    const tally_view in = elements(c), codes = codes_of(c, c->how & 1);
    tally_view out = results(c, in.n);
    if (c->how & 1) out.valid = bits_of(c, OUT_VALID, &out);
    const tally_scan_options o = {.exclusive = 1,
                                  .init = c->how == 3 && c->info.seedable ? at(c, INIT, 0) : NULL};
    return c->how < 2   ? tally_reduce_by(c->ctx, c->o->op, &in, &codes, GROUPS, at(c, OUT, 0))
           : c->how < 4 ? tally_scan_by(c->ctx, c->o->op, &in, &codes, GROUPS, &out, &o)
                        : tally_window_by(c->ctx, c->o->op, &in, &codes, GROUPS, &out, &windows[0]);
}
static tally_status call_runs(place *c)
{
    int64_t runs = 0;
    const tally_view keys =
        c->how ? view_of(c, CODES, TALLY_I32, FEW) : tally_flat(at(c, CODES, 0), TALLY_I32, FEW);
    const tally_status status = tally_runs(c->ctx, &keys, numbers(c, START), &runs);
    if (!status) check(runs > GROUPS, "%lld runs", (long long)runs);
    return status;
}
static tally_status call_groups(place *c)
{
    const tally_view codes = codes_of(c, c->how);
    return tally_groups(c->ctx, &codes, GROUPS, numbers(c, START), numbers(c, OFFSETS));
}
static tally_status call_take(place *c)
{
    const tally_view in = view_of(c, X, c->o->dtype, length_of(c)),
                     out = view_of(c, OUT, c->o->dtype, in.n);
    return tally_take(c->ctx, &in, numbers(c, ORDER), in.n, &out);
}
static tally_status call_ranges(place *c)
{
    const tally_view in = elements(c), out = results(c, in.n);
    return tally_window_ranges(c->ctx, c->o->op, &in, numbers(c, START), numbers(c, END), in.n,
                               &out, c->how);
}
static tally_status call_bounds(place *c)
{
    const tally_view keys = tally_flat(at(c, KEYS, 0), TALLY_I64, FEW);
    tally_key_window w = {.low = -2, .high = 1};
    if (c->how & 1) w.low = w.high = 0, w.lows = numbers(c, LOWS), w.highs = numbers(c, HIGHS);
    if (c->how & 2) w.parts = numbers(c, PARTS);
    return tally_window_bounds(c->ctx, &keys, &w, numbers(c, START), numbers(c, END));
}

/* ---- streams ---- */

static tally_status open_stream(place *c, int verb, int64_t rows, tally_stream **s)
{
    const char *const op = c->o->op;
    const tally_dtype d = c->o->dtype;
    const tally_scan_options o = {
        .exclusive = 1, .init = verb == 1 && c->how && c->info.seedable ? at(c, INIT, 0) : NULL};
    if (rows == 1)
        return verb == 0   ? tally_stream_reduce(c->ctx, op, d, s)
               : verb == 1 ? tally_stream_scan(c->ctx, op, d, &o, s)
                           : tally_stream_window(c->ctx, op, d, &windows[0], s);
    return verb == 0   ? tally_stream_reduce_rows(c->ctx, op, d, rows, s)
           : verb == 1 ? tally_stream_scan_rows(c->ctx, op, d, rows, &o, s)
                       : tally_stream_window_rows(c->ctx, op, d, rows, &windows[0], s);
}

/* Elements from .. from + n - 1 of each sequence. */
static tally_view cut_view(const tally_view *v, int64_t from, int64_t n)
{
    tally_view part = *v;
    const int64_t skip = from * v->stride;
    part.n = n;
    part.data =
        (void *)((uintptr_t)v->data + (uintptr_t)(skip * (int64_t)tally_dtype_size(v->dtype)));
    part.valid_offset += skip;
    return part;
}

/* Views of a few elements or steps, some of them without bits. */
static tally_status push_views(place *c, tally_stream *s, int verb)
{
    const tally_view in = elements(c), out = results(c, in.n);
    tally_status status = TALLY_OK;
    int64_t written = 0;
    for (int64_t from = 0, n = 5; from < in.n && !status; from += n, n *= 3) {
        if (n > in.n - from) n = in.n - from;
        tally_view part = cut_view(&in, from, n), next,
                   to = cut_view(&out, written, tally_stream_results(s, n));
        if (in.next) next = cut_view(in.next, from, n), part.next = &next;
        if (n == 15) part.valid = NULL;
        status = tally_stream_push_view(s, &part, verb ? &to : NULL);
        written += verb ? to.n : 0;
    }
    const tally_view rest = cut_view(&out, written, verb == 1 ? 0 : tally_stream_results(s, -1));
    return status || verb == 1 ? status : tally_stream_finish_view(s, &rest);
}
/* Dense elements. */
static tally_status push_flat(place *c, tally_stream *s, int verb)
{
    const int64_t bytes = (int64_t)tally_dtype_size(c->o->dtype), all = length_of(c),
                  result = (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    tally_status status = TALLY_OK;
    int64_t written = 0, produced = 0;
    for (int64_t from = 0, n = 5; from < all && !status; from += n, n *= 5) {
        if (n > all - from) n = all - from;
        status = tally_stream_push(s, at(c, X, from * bytes), n,
                                   verb ? at(c, OUT, written * result) : NULL, &produced);
        written += produced;
    }
    return status || verb == 1 ? status
                               : tally_stream_finish(s, at(c, OUT, written * result), &produced);
}
static tally_status stream(place *c, int verb, int flat)
{
    tally_stream *s = NULL;
    const int64_t rows = c->layout == BY_ROWS ? ROWS : c->layout == BY_COLUMNS ? COLUMNS : 1;
    tally_status status = open_stream(c, verb, rows, &s);
    if (!status) status = flat ? push_flat(c, s, verb) : push_views(c, s, verb);
    tally_stream_close(s);
    return status;
}
static tally_status call_stream_reduce(place *c) { return stream(c, 0, 0); }
static tally_status call_stream_scan(place *c) { return stream(c, 1, 0); }
static tally_status call_stream_window(place *c) { return stream(c, 2, 0); }
static tally_status call_push(place *c) { return stream(c, c->how, 1); }

/* Many sequences: the finish of a stream writes dense results. */
static tally_status call_finish(place *c)
{
    tally_stream *s = NULL;
    const tally_view in = elements(c);
    tally_status status = open_stream(c, 2 * c->how, in.rows, &s);
    tally_view to = results(c, in.n);
    if (!status) status = tally_stream_push_view(s, &in, c->how ? &to : NULL);
    if (!status) status = tally_stream_finish(s, at(c, OUT, c->how ? 8 * FEW : 0), NULL);
    tally_stream_close(s);
    return status;
}
static tally_status call_push_groups(place *c)
{
    tally_stream *s = NULL;
    tally_status status = tally_stream_reduce_groups(c->ctx, c->o->op, c->o->dtype, &s);
    if (!status)
        status = tally_stream_push_groups(s, at(c, X, 0), (int32_t *)at(c, CODES, 0), length_of(c),
                                          GROUPS);
    if (!status) status = tally_stream_finish(s, at(c, OUT, 0), NULL);
    tally_stream_close(s);
    return status;
}

/* ---- fragments and exact sums ---- */

static tally_status call_fragment_make(place *c)
{
    tally_fragment *f = NULL;
    tally_status status =
        tally_fragment_make(c->ctx, c->o->op, c->o->dtype, at(c, X, 0), 0, length_of(c), &f);
    if (!status) status = tally_fragment_result(f, at(c, OUT, 0));
    tally_fragment_free(f);
    return status;
}
static tally_status call_fragment_of_view(place *c)
{
    tally_fragment *left = NULL, *right = NULL;
    const tally_view in = elements(c);
    tally_view part = cut_view(&in, 0, in.n / 3), next;
    if (in.next) next = cut_view(in.next, 0, part.n), part.next = &next;
    tally_status status = tally_fragment_of_view(c->ctx, c->o->op, &part, 0, &left);
    const int64_t from = part.n;
    part = cut_view(&in, from, in.n - from);
    if (in.next) next = cut_view(in.next, from, part.n), part.next = &next;
    part.valid = NULL;
    if (!status) status = tally_fragment_of_view(c->ctx, c->o->op, &part, from, &right);
    if (!status) status = tally_fragment_merge(left, right);
    if (!status) status = tally_fragment_result(left, at(c, OUT, 0));
    tally_fragment_free(left);
    tally_fragment_free(right);
    return status;
}
/* A scan resumed from elements that were folded before, and one of folded elements. */
static tally_status call_folded(place *c)
{
    const int64_t n = length_of(c), bytes = (int64_t)tally_dtype_size(c->o->dtype), cut = n / 3;
    const char *const op = c->o->op;
    tally_stream *s = NULL;
    tally_fragment *left = NULL, *right = NULL;
    tally_status status = tally_fragment_make(c->ctx, op, c->o->dtype, at(c, X, 0), 0, cut, &left);
    if (!status)
        status = tally_fragment_make(c->ctx, op, c->o->dtype, at(c, X, cut * bytes), cut, n - cut,
                                     &right);
    if (!status) status = tally_stream_scan(c->ctx, op, c->o->dtype, NULL, &s);
    if (!status) status = tally_stream_resume(s, left);
    if (!status)
        status = tally_stream_push_folded(s, at(c, X, cut * bytes), right, at(c, OUT, 0), NULL);
    tally_stream_close(s);
    tally_fragment_free(left);
    tally_fragment_free(right);
    return status;
}
static size_t saved_bytes; /* of SAVED */
static tally_status call_load(place *c)
{
    tally_fragment *f = NULL;
    tally_status status = tally_fragment_load(c->ctx, at(c, SAVED, 0), saved_bytes, &f);
    if (!status) status = tally_fragment_result(f, at(c, OUT, 0));
    tally_fragment_free(f);
    return status;
}
static tally_status call_save(place *c)
{
    tally_fragment *f = NULL;
    size_t bytes = SAVED_MOST;
    tally_status status = tally_fragment_load(c->ctx, arrays[SAVED].given, saved_bytes, &f);
    if (!status) status = tally_fragment_save(f, at(c, BYTES, 0), &bytes);
    tally_fragment_free(f);
    return status;
}
static tally_status call_exact(place *c)
{
    const tally_view in = elements(c);
    return (c->how ? tally_exact_subtract : tally_exact_add)(c->ctx, at(c, SUM, 0), &in);
}
static tally_status call_value(place *c)
{
    return tally_exact_value(c->ctx, at(c, SUM, 0), c->o->op, c->o->dtype, at(c, OUT, 0));
}

/* ---- files ---- */

static tally_status call_write(place *c)
{
    static const int64_t all[] = {FEW};
    tally_file *f = NULL;
    int64_t got = 0;
    char back[8 * FEW];
    const size_t bytes = FEW * tally_dtype_size(c->o->dtype);
    tally_status status = tally_file_create(c->ctx, "places.npy", NULL, c->o->dtype, 1, all, 0, &f);
    if (!status) status = tally_file_write(f, at(c, X, 0), FEW);
    if (!status) status = tally_file_commit(f);
    tally_file_close(f);
    if (status || tally_file_open(NULL, "places.npy", NULL, &f)) return status;
    check(!tally_file_read(f, back, FEW, &got) && !memcmp(back, arrays[X].given, bytes),
          "a file's elements");
    tally_file_close(f);
    return status;
}
static tally_status call_read(place *c)
{
    tally_file *f = NULL;
    int64_t got = 0;
    tally_status status = tally_file_open(c->ctx, "places.npy", NULL, &f);
    if (!status) status = tally_file_read(f, at(c, OUT, 0), FEW, &got);
    tally_file_close(f);
    return status;
}
/* A table whose lines have groups and times. */
static tally_status call_read_lines(place *c)
{
    const tally_file_options o = {
        .format = "csv", .column = "x", .by = c->how ? "g,t" : "g", .by_time = c->how};
    tally_file *f = NULL;
    tally_dtype d;
    int64_t got = 0;
    tally_status status = tally_file_open(c->ctx, "places.csv", &o, &f);
    if (!status && !c->how)
        status = tally_file_read_by(f, at(c, OUT, 0), at(c, CODES, 0), 3, &got);
    else if (!status)
        status =
            tally_file_read_times(f, at(c, OUT, 0), at(c, CODES, 0), at(c, KEYS, 0), &d, 3, &got);
    tally_file_close(f);
    return status;
}
static tally_status call_boxes(place *c)
{
    static const int64_t shape[] = {4, 9}, start[] = {0, 0}, count[] = {4, 9};
    tally_file *f = NULL;
    tally_status status =
        tally_file_create(c->ctx, "places.nc", NULL, c->o->dtype, 2, shape, 0, &f);
    if (!status) status = tally_file_head(f, "x(a, b)");
    if (!status) status = tally_file_fill(f, at(c, INIT, 0));
    if (!status) status = tally_file_coordinate(f, "b", 1, TALLY_I64, at(c, KEYS, 0));
    if (!status) status = tally_file_variable(f, "more(a)", TALLY_I32, at(c, CODES, 0));
    if (!status) status = tally_file_write_box(f, 0, start, count, at(c, X, 0));
    if (!status) status = tally_file_commit(f);
    tally_file_close(f);
    if (status) return status;
    status = tally_file_open(c->ctx, "places.nc", &(tally_file_options){.variable = "x"}, &f);
    if (!status) status = tally_file_read_box(f, start, count, at(c, OUT, 0));
    tally_file_close(f);
    return status;
}
#endif

/* SPDX-License-Identifier: MIT
 * The checks of test_bits.c, for any operator: flat arrays, views of many sequences, windows, at
 * many sizes, by memcmp with the law. Operators of users (test_user.c) and of devices
 * (test_devices.c) go through them too. */
#ifndef TALLY_TEST_BITS_CASES_H
#define TALLY_TEST_BITS_CASES_H
#include "matrix.h"
#include "cpu/shape.h"

enum {
    MOST = 1100000,
    ROW_MOST = 4096,    /* elements of a row of a view */
    LANES_MOST = 20000, /* elements of a view of many sequences */
    SPEC_MOST = 5000,   /* elements in the windows of a case that the spec takes */
    SPEC_ROW = 130      /* and in a row, whose every prefix the spec folds anew */
};
static char *input, *output, *wanted;

typedef struct {
    tally *ctx;
    const char *isa;
    int threads;
    const char *op; /* as the user writes it */
    tally_dtype dtype;
    const tl_scalar *scalar;
    tl_par par;
} test_case;

#define CASE_FORMAT  "%s %s %s x%d"
#define CASE_ARGS(c) (c)->op, tally_dtype_name((c)->dtype), (c)->isa, (c)->threads

/* One more kind of data, for an operator that leaves elements out: all are left out. */
enum { MASKED = TL_DATA_KINDS };

/* n elements; of an operator that leaves elements out, hostile ones have a run of these, often
   the first or all. */
static void fill(const test_case *c, char *x, int64_t n, tl_data kind)
{
    const int64_t bytes = c->scalar->elem_bytes;
    int64_t from = 0, count = n;
    check_fill(x, c->dtype, n, kind);
    if (!c->scalar->masked || ((int)kind != MASKED && kind != TL_DATA_HOSTILE)) return;
    if (kind == TL_DATA_HOSTILE) {
        from = check_below(2) ? 0 : check_below(n);
        count = check_below(3) ? check_below(n - from + 1) : n - from;
    }
    memset(x + from * bytes, 0xff, (size_t)(count * bytes)); /* NaN */
}

/* What check_flat calls. */
enum { REDUCE = 1, SCAN = 2 };

static void check_flat(const test_case *c, int verbs, int64_t n, int shift, tl_data kind)
{
    const tl_scalar *op = c->scalar;
    int size = op->result_bytes;
    char *x = input + 64 + shift, *y = output + 64 + 8 * (shift & 1);
    fill(c, x, n, kind);
    reference_prefixes(op, c->par, x, 1, n, NULL, wanted);
    tally_view in = tally_flat(x, c->dtype, n), out = tally_flat(y, op->out, n);

    if (verbs & REDUCE && check_ok(c->ctx, tally_reduce(c->ctx, c->op, &in, y), c->op))
        check_same(y, wanted + n * size, 1, size, "reduce " CASE_FORMAT " n=%lld shift=%d %s",
                   CASE_ARGS(c), (long long)n, shift, data_names[kind]);
    if (n <= SPEC_ROW) { /* the spec vouches for the reference */
        tl_spec_reduce((tl_spec_sequence){op, c->par, x, 1, n}, NULL, y);
        check_same(y, wanted + n * size, 1, size, "spec " CASE_FORMAT " n=%lld", CASE_ARGS(c),
                   (long long)n);
        tl_spec_scan((tl_spec_sequence){op, c->par, x, 1, n}, NULL, y);
        check_same(y, wanted + size, n, size, "spec scan " CASE_FORMAT " n=%lld", CASE_ARGS(c),
                   (long long)n);
    }
    if (!(verbs & SCAN)) return;
    if (check_ok(c->ctx, tally_scan(c->ctx, c->op, &in, &out, NULL), c->op))
        check_same(y, wanted + size, n, size, "scan " CASE_FORMAT " n=%lld shift=%d %s",
                   CASE_ARGS(c), (long long)n, shift, data_names[kind]);
    tally_scan_options exclusive = {.exclusive = 1};
    if (check_ok(c->ctx, tally_scan(c->ctx, c->op, &in, &out, &exclusive), c->op))
        check_same(y, wanted, n, size, "exclusive " CASE_FORMAT " n=%lld shift=%d %s", CASE_ARGS(c),
                   (long long)n, shift, data_names[kind]);
    if (op->elem_bytes == size) { /* in place; `output` keeps what the elements were */
        memcpy(output, x, (size_t)(n * size));
        tally_view self = tally_flat(x, op->out, n);
        if (check_ok(c->ctx, tally_scan(c->ctx, c->op, &in, &self, NULL), c->op))
            check_same(x, wanted + size, n, size, "in place " CASE_FORMAT " n=%lld %s",
                       CASE_ARGS(c), (long long)n, data_names[kind]);
        memcpy(x, output, (size_t)(n * size));
    }
    if (op->seedable) {
        char init[16];
        check_fill(init, op->out, 1, kind == TL_DATA_BITS ? TL_DATA_PLAIN : kind);
        reference_prefixes(op, c->par, x, 1, n, init, wanted);
        tally_scan_options seeded = {.exclusive = shift & 1, .init = init};
        if (check_ok(c->ctx, tally_scan(c->ctx, c->op, &in, &out, &seeded), c->op))
            check_same(y, wanted + (shift & 1 ? 0 : size), n, size,
                       "init " CASE_FORMAT " n=%lld %s", CASE_ARGS(c), (long long)n,
                       data_names[kind]);
    }
}

static void check_reduce_and_scan(const test_case *c, int64_t n, int shift, tl_data kind)
{
    check_flat(c, REDUCE | SCAN, n, shift, kind);
}

/* NULL, or the window of check_view, which else is a random one */
static const tally_window_options *given_window;

/* A view that is checked: its elements lie in x, and row 0 begins at first. */
typedef struct {
    const test_case *c;
    tally_view in;
    int64_t span; /* elements from x on */
    char *x, *first, line[160];
} laid;

static int64_t length_of(const laid *v, int64_t r)
{
    return v->in.offsets ? v->in.offsets[r + 1] - v->in.offsets[r] : v->in.n;
}

/* Where row r begins, in elements of a view of these strides from the first on. */
static int64_t row_begin(const tally_view *v, int64_t r)
{
    return v->offsets ? v->offsets[r] * v->stride : r * v->row_stride;
}

static const char *row_of(const laid *v, int64_t r)
{
    return v->first + row_begin(&v->in, r) * v->c->scalar->elem_bytes;
}

static void reduced_rows(const laid *v)
{
    const test_case *const c = v->c;
    const tl_scalar *const op = c->scalar;
    const int size = op->result_bytes;
    if (!check_ok(c->ctx, tally_reduce(c->ctx, c->op, &v->in, output), v->line)) return;
    for (int64_t r = 0; r < v->in.rows; r++)
        if (r)
            reference_reduce(
                (tl_spec_sequence){op, c->par, row_of(v, r), v->in.stride, length_of(v, r)},
                wanted + r * size);
        else
            tl_spec_reduce(
                (tl_spec_sequence){op, c->par, row_of(v, 0), v->in.stride, length_of(v, 0)}, NULL,
                wanted);
    check_same(output, wanted, v->in.rows, size, "reduce %s", v->line);
}

/* Results of `length` a row: columns come out as columns, everything else as rows: dense, with
 * gaps, or (segments too) backwards. *capacity: elements of output. */
static tally_view place_for(const laid *v, int64_t length, int64_t *capacity)
{
    const tally_view *const in = &v->in;
    const int64_t rows = in->rows, total = in->offsets ? in->offsets[rows] : rows * length;
    const int across = !in->offsets && in->row_stride == 1 && in->stride > 1,
              how = (int)check_below(4);
    const int64_t to = across ? rows : how == 1 ? -1 : 1;
    int64_t to_row = across ? 1 : how == 0 ? length + 3 : length;
    if (to < 0) to_row = -to_row;
    *capacity = in->offsets      ? total
                : rows && length ? (rows - 1) * llabs(to_row) + (length - 1) * llabs(to) + 1
                                 : 0;
    char *const start =
        to < 0 && *capacity ? output + (*capacity - 1) * v->c->scalar->result_bytes : output;
    return (tally_view){start, v->c->scalar->out, rows, length, to_row, to, in->offsets};
}

/* w: windows, else a scan. */
static void series_of_rows(const laid *v, const tally_window_options *w,
                           const tally_scan_options *o)
{
    static char one[ROW_MOST * 16];
    const test_case *const c = v->c;
    const tl_scalar *const op = c->scalar;
    const int64_t size = op->result_bytes, n = v->in.n;
    int64_t capacity;
    const tally_view out = place_for(v, w ? tally_window_length(n, w) : n, &capacity);
    memset(output, 0xa5, (size_t)(capacity * size + 64));
    memset(wanted, 0xa5, (size_t)(capacity * size + 64));
    const tally_status status = w ? tally_window(c->ctx, c->op, &v->in, &out, w)
                                  : tally_scan(c->ctx, c->op, &v->in, &out, o);
    if (!check_ok(c->ctx, status, v->line)) return;
    for (int64_t r = 0; r < v->in.rows; r++) {
        const int64_t m = length_of(v, r), results = w ? tally_window_length(m, w) : m;
        const int spec = !r && (w ? m * (w->before + w->after + 1) <= SPEC_MOST : m <= SPEC_ROW);
        if (w)
            (spec ? tl_spec_window : reference_window)(
                (tl_spec_sequence){op, c->par, row_of(v, r), v->in.stride, m}, w, one);
        else
            (spec ? tl_spec_scan : reference_scan)(
                (tl_spec_sequence){op, c->par, row_of(v, r), v->in.stride, m}, o, one);
        char *const at = wanted + ((char *)out.data - output) + row_begin(&out, r) * size;
        for (int64_t i = 0; i < results; i++)
            memcpy(at + i * out.stride * size, one + i * size, (size_t)size);
    }
    char what[120] = "";
    if (w)
        snprintf(what, sizeof what, "before %lld after %lld edges %d min %lld",
                 (long long)w->before, (long long)w->after, (int)w->edges, (long long)w->min_count);
    else
        snprintf(what, sizeof what, "excl %d init %d", o->exclusive, o->init != NULL);
    check_same(output, wanted, capacity + 64 / size, size, "%s %s (%s out %lld,%lld)",
               w            ? "window"
               : o->reverse ? "reverse"
                            : "scan",
               v->line, what, (long long)out.row_stride, (long long)out.stride);
}

static void scanned_in_place(const laid *v)
{
    static char before[LANES_MOST * 16], one[ROW_MOST * 16];
    const test_case *const c = v->c;
    const tally_view *const in = &v->in;
    const tl_scalar *const op = c->scalar;
    const int size = op->result_bytes;
    const tally_scan_options forward = {0};
    tally_view self = *in;
    self.dtype = op->out;
    if (op->elem_bytes != size || v->span > LANES_MOST ||
        (!in->offsets && in->rows > 1 && in->n > 0 && llabs(in->row_stride) < in->n &&
         llabs(in->stride) < in->rows))
        return;
    memcpy(before, v->x, (size_t)(v->span * size));
    memcpy(wanted, v->x, (size_t)(v->span * size));
    if (!check_ok(c->ctx, tally_scan(c->ctx, c->op, in, &self, &forward), v->line)) return;
    for (int64_t r = 0; r < in->rows; r++) {
        const int64_t m = length_of(v, r), at = row_of(v, r) - v->x;
        reference_scan((tl_spec_sequence){op, c->par, before + at, in->stride, m}, &forward, one);
        for (int64_t i = 0; i < m; i++)
            memcpy(wanted + at + i * in->stride * size, one + i * size, (size_t)size);
    }
    check_same(v->x, wanted, v->span, size, "in place %s", v->line);
}

/* Views without data. */
static tally_view rows_of(int64_t rows, int64_t n, int64_t row_stride, int64_t stride)
{
    return (tally_view){.rows = rows, .n = n, .row_stride = row_stride, .stride = stride};
}

static tally_view segments_of(int64_t rows, int64_t stride, const int64_t *offsets)
{
    return (tally_view){.rows = rows, .stride = stride, .offsets = offsets};
}

/* Reduce, scan (both directions) and window of each sequence of such a view against the 1-D law. */
static void check_view(const test_case *c, tally_view in, tl_data kind)
{
    const tl_scalar *op = c->scalar;
    const int64_t rows = in.rows, n = in.n, *const offsets = in.offsets;
    laid v = {.c = c, .x = input + 1};
    v.span = offsets     ? offsets[rows] * in.stride
             : rows && n ? (rows - 1) * llabs(in.row_stride) + (n - 1) * llabs(in.stride) + 1
                         : 0;
    v.first = in.stride < 0 && v.span ? v.x + (v.span - 1) * op->elem_bytes : v.x;
    in.data = v.first;
    in.dtype = c->dtype;
    v.in = in;
    fill(c, v.x, v.span, kind);
    snprintf(v.line, sizeof v.line, CASE_FORMAT " rows=%lld n=%lld strides %lld,%lld%s %s",
             CASE_ARGS(c), (long long)rows, (long long)n, (long long)in.row_stride,
             (long long)in.stride, offsets ? " segments" : "", data_names[kind]);
    reduced_rows(&v);
    tally_window_options w = {(int64_t)(check_random() % 9), (int64_t)(check_random() % 4),
                              (tally_edges)(check_random() % (offsets ? 2 : 3)), 0};
    if (n <= 300 && check_below(4) == 0)
        w.before = check_below(140), w.after = check_below(2) * check_below(80);
    if (given_window)
        w = *given_window;
    else if (check_random() % 3 == 0)
        w.min_count = (int64_t)(check_random() % (uint64_t)(w.before + w.after + 1)) + 1;
    char init[16];
    check_fill(init, op->out, 1, TL_DATA_PLAIN);
    for (int verb = 0; verb < 3; verb++) { /* scan forward, scan reverse, window */
        tally_scan_options o = {.reverse = verb == 1, .exclusive = (int)(check_random() & 1)};
        if (op->seedable && check_below(3) == 0) o.init = init;
        series_of_rows(&v, verb == 2 ? &w : NULL, &o);
    }
    scanned_in_place(&v);
}

static void check_window(const test_case *c, int64_t n, const tally_window_options *w, int shift,
                         tl_data kind)
{
    const tl_scalar *op = c->scalar;
    int64_t m = tally_window_length(n, w);
    char *x = input + 64 + shift;
    fill(c, x, n, kind);
    tally_view in = tally_flat(x, c->dtype, n), out = tally_flat(output, op->out, m);
    memset(output, 0xa5, (size_t)(m * op->result_bytes) + 16);
    memset(wanted, 0xa5, (size_t)(m * op->result_bytes) + 16);
    if (!check_ok(c->ctx, tally_window(c->ctx, c->op, &in, &out, w), c->op)) return;
    int small = n * (w->before + w->after + 1) <= SPEC_MOST;
    (small ? tl_spec_window : reference_window)((tl_spec_sequence){op, c->par, x, 1, n}, w, wanted);
    check_same(output, wanted, m * op->result_bytes + 16, 1,
               "window " CASE_FORMAT " n=%lld before %lld after %lld edges %d min %lld %s",
               CASE_ARGS(c), (long long)n, (long long)w->before, (long long)w->after, (int)w->edges,
               (long long)w->min_count, data_names[kind]);
}

static void check_sizes(const test_case *c)
{
    int64_t most = check_quick ? 4200 : 17000;
    int step = check_quick ? 2 : 1;
    tl_data kind = TL_DATA_PLAIN;
    for (int64_t n = check_below(step); n <= 70; n += step)
        check_reduce_and_scan(c, n, (int)(n % 9), kind = (kind + 1) % TL_DATA_KINDS);
    for (int64_t k = 128; k <= most; k *= 2)
        for (int64_t d = -1; d <= 1; d++)
            check_reduce_and_scan(c, k + d, (int)(check_random() % 9),
                                  kind = (kind + 1) % TL_DATA_KINDS);
    for (int i = 0; i < (check_quick ? 2 : 6); i++)
        check_reduce_and_scan(c, (int64_t)(check_random() % (uint64_t)most),
                              (int)(check_random() % 17), kind = (kind + 1) % TL_DATA_KINDS);
}

static void check_windows(const test_case *c)
{
    static const int64_t lengths[] = {1,  2,  3,  5,  7,   8,   12,  15,  16,   17,
                                      31, 33, 50, 64, 100, 127, 257, 511, 1000, 1024};
    tl_data kind = TL_DATA_PLAIN;
    for (size_t i = check_quick ? (size_t)check_below(3) : 0; i < sizeof lengths / sizeof *lengths;
         i += check_quick ? 3 : 1) {
        int64_t w = lengths[i],
                after = check_random() % 2 ? 0 : (int64_t)(check_random() % (uint64_t)w);
        for (int edges = 0; edges < 3; edges++) {
            tally_window_options o = {w - 1 - after, after, (tally_edges)edges, 0};
            if (check_random() % 2) o.min_count = (int64_t)(check_random() % (uint64_t)w) + 1;
            int64_t n = check_random() % 4 == 0
                            ? (int64_t)(check_random() % (uint64_t)(w + 2))
                            : (int64_t)(check_random() % (w > 200 ? 1500 : 600));
            check_window(c, n, &o, (int)(check_random() % 9), kind = (kind + 1) % TL_DATA_KINDS);
        }
    }
    tally_window_options o = {4, 0, TALLY_EDGES_SHRINK, 0};
    if (!check_quick) check_window(c, 9001, &o, 3, TL_DATA_HOSTILE);
}

/* Windows around their centre, of adjacent rows and of odd counts of columns: the windows at the
   ends of rows have an elements' type of their own (cpu/lanes.c). */
static void check_centred_windows(const test_case *c)
{
    static const tally_window_options windows[] = {{24, 7, TALLY_EDGES_SHRINK, 0},
                                                   {3, 12, TALLY_EDGES_MISSING, 5}};
    for (int i = 0; i < 2; i++) {
        given_window = &windows[i];
        check_view(c, rows_of(5, 100 + 17 * i, 100 + 17 * i, 1), TL_DATA_PLAIN);
        check_view(c, rows_of(17 + i, 60, 1, 17 + i), TL_DATA_PLAIN);
        check_view(c, rows_of(3, 300, 1, 3), TL_DATA_PLAIN);
    }
    given_window = NULL;
    check_view(c, rows_of(1003, 9, 1, 1003), TL_DATA_PLAIN); /* wider than a strip */
}

static void check_views(const test_case *c)
{
    int64_t offsets[40];
    for (int i = 0; i < (check_quick ? 2 : 5); i++) {
        tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
        int64_t rows = (int64_t)(check_random() % 40), n = (int64_t)(check_random() % 90);
        check_view(c, rows_of(rows, n, n, 1), kind);               /* rows */
        check_view(c, rows_of(rows, n, n + 5, 1), kind);           /* rows of a wider matrix */
        check_view(c, rows_of(rows, n, 1, rows ? rows : 1), kind); /* columns */
        check_view(c, rows_of(rows, n, 1, rows + 3), kind);        /* some columns */
        check_view(c, rows_of(rows % 9, n, n * 3, 3), kind);       /* every third */
        check_view(c, rows_of(rows % 9, n, -n, -1), kind);         /* backwards */
        offsets[0] = (int64_t)(check_random() % 5);
        for (int r = 0; r < 39; r++)
            offsets[r + 1] = offsets[r] + (int64_t)(check_random() % 3 ? check_random() % 20 : 0) +
                             (r == 20 ? 300 : 0);
        check_view(c, segments_of(39, 1, offsets), kind);
        check_view(c, segments_of(39, 2, offsets), kind);
    }
}

/* Many sequences at once (src/cpu/lanes.h): numbers of them around a vector and a strip, and
 * lengths around the blocks of 8, a chunk of 256 rows and the longest that go so. */
static void check_lanes(const test_case *c)
{
    static const int64_t counts[] = {1,  2,  7,  8,  9,   15,  16,   17,   31,
                                     33, 48, 63, 65, 448, 449, 1000, 1025, 2500},
                         lengths[] = {1,   2,   3,   7,   8,   9,   15,   16,   17,  31,  33,
                                      63,  64,  65,  99,  96,  97,  100,  101,  127, 129, 255,
                                      256, 257, 264, 265, 512, 513, 1023, 1024, 1025};
    static int64_t offsets[3000];
    for (int i = 0; i < (check_quick ? 4 : 12); i++) {
        const tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
        int64_t rows = counts[check_below(sizeof counts / sizeof *counts)],
                n = lengths[check_below(sizeof lengths / sizeof *lengths)];
        while (rows * n > LANES_MOST / 2)
            rows *n > 40000 || rows > 20 ? (rows = rows / 2) : (n = n / 2);
        switch (check_below(7)) {
        case 0:
            check_view(c, rows_of(rows, n, n, 1), kind);
            break;
        case 1:
            check_view(c, rows_of(rows, n, n + 1 + check_below(8), 1), kind);
            break;
        case 2:
            check_view(c, rows_of(rows, n, 1, rows + check_below(2)), kind);
            break;
        case 3:
            check_view(c, rows_of(rows, n, -1, -rows), kind); /* columns, backwards */
            break;
        case 4:
            check_view(c, rows_of(rows, n, 2 * n, 2), kind);
            break;
        /* segments: short ones, of any length, or a long one among them; first ones that are
           empty */
        default: {
            const int64_t most = 1 + check_below(check_below(3) ? 40 : 8), one = check_below(rows);
            offsets[0] = check_below(4);
            for (int64_t r = 0; r < rows; r++) {
                const int64_t length = check_below(7) == 0 ? 0
                                       : check_below(2)    ? check_below(most)
                                                           : n * (check_below(9) == 0);
                offsets[r + 1] = offsets[r] + (r == one                      ? 1100
                                               : offsets[r] > LANES_MOST / 2 ? 0
                                                                             : length);
            }
            check_view(c, segments_of(rows, 1 + (check_below(5) == 0), offsets), kind);
        }
        }
    }
}

/* Several threads: sizes from which on more than one is woken. Two take a flat scan, three a
 * longer one and many rows. quick: not the small types, which take the most elements. */
static void check_threads(const test_case *c)
{
    static int64_t offsets[MOST / 50];
    int64_t least = 2 * TL_PARALLEL_BYTES / c->scalar->elem_bytes, total = 2 * least + 1000,
            n = 50 + (int64_t)(check_random() % 200);
    int64_t rows = total / n + 1, more = c->threads == 2 ? 2 : least / 4;
    tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
    if (check_quick && c->scalar->elem_bytes < 4) return;
    check_reduce_and_scan(c, least + (int64_t)(check_random() % (uint64_t)more),
                          (int)(check_random() % 9), (kind + 1) % TL_DATA_KINDS);
    if (c->threads == 2) return;
    switch (check_random() % 4) {
    case 0:
        check_view(c, rows_of(rows, n, n, 1), kind);
        return;
    case 1:
        check_view(c, rows_of(rows, n, n + 1, 1), kind);
        return;
    case 2:
        check_view(c, rows_of(rows, n, 1, rows), kind);
        return;
    default:
        for (rows = 0; offsets[rows] < total; rows++)
            offsets[rows + 1] = offsets[rows] + 50 + (int64_t)(check_random() % 200);
        check_view(c, segments_of(rows, 1, offsets), kind);
    }
}

static inline void check_all(const test_case *c)
{
    if (c->threads > 1) {
        check_threads(c);
        return;
    }
    check_sizes(c);
    check_windows(c);
    check_centred_windows(c);
    check_views(c);
    check_lanes(c);
}
#endif

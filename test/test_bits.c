/* SPDX-License-Identifier: MIT
 * The bits matrix: every operator x dtype x accumulator x shape x view x instruction set x
 * threads, at sizes around every power of two and tile (several threads: at sizes that wake
 * them), at odd alignments, on plain, hostile, signed-zero and random-bit data, by memcmp with
 * the law.
 *
 *   test_bits [OP [DTYPE]]     restrict to one operator or dtype        TALLY_TEST_QUICK=1: fewer sizes
 *   TALLY_TEST_DEVICES="cuda:0 opencl:0"     these devices instead of the processors
 * test_user.c includes this file with TALLY_BITS_ONLY, for the checks without the loop over the
 * built-in operators. */
#include "matrix.h"
#include "cpu/isas.h"
#include "cpu/shape.h"

enum {
    MOST = 1100000,
    ROW_MOST = 4096,    /* elements of a row of a view */
    LANES_MOST = 20000, /* elements of a view of many sequences */
    SPEC_MOST = 5000    /* elements in the windows of a case that the spec takes */
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
    if (n <= 130) { /* the spec vouches for the reference */
        tl_spec_reduce(op, c->par, x, 1, n, NULL, y);
        check_same(y, wanted + n * size, 1, size, "spec " CASE_FORMAT " n=%lld", CASE_ARGS(c),
                   (long long)n);
        tl_spec_scan(op, c->par, x, 1, n, NULL, y);
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

/* rows x n with the given strides: reduce, scan (both directions) and window of each row against
   the 1-D law. */
static void check_view(const test_case *c, int64_t rows, int64_t n, int64_t row_stride,
                       int64_t stride, const int64_t *offsets, tl_data kind)
{
    const tl_scalar *op = c->scalar;
    int size = op->result_bytes, bytes = op->elem_bytes;
    int64_t span = offsets     ? offsets[rows] * stride
                   : rows && n ? (rows - 1) * llabs(row_stride) + (n - 1) * llabs(stride) + 1
                               : 0,
            m;
    char *x = input + 1, *first = stride < 0 && span ? x + (span - 1) * bytes : x;
    fill(c, x, span, kind);
    tally_view in = {first, c->dtype, rows, n, row_stride, stride, offsets};
    char line[160];
    snprintf(line, sizeof line, CASE_FORMAT " rows=%lld n=%lld strides %lld,%lld%s %s",
             CASE_ARGS(c), (long long)rows, (long long)n, (long long)row_stride, (long long)stride,
             offsets ? " segments" : "", data_names[kind]);

    if (check_ok(c->ctx, tally_reduce(c->ctx, c->op, &in, output), line)) {
        for (int64_t r = 0; r < rows; r++) {
            m = offsets ? offsets[r + 1] - offsets[r] : n;
            const char *row = first + (offsets ? offsets[r] * stride : r * row_stride) * bytes;
            if (r)
                reference_reduce(op, c->par, row, stride, m, wanted + r * size);
            else
                tl_spec_reduce(op, c->par, row, stride, m, NULL, wanted);
        }
        check_same(output, wanted, rows, size, "reduce %s", line);
    }
    int64_t longest = offsets ? offsets[rows] : n;
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
        int64_t length = verb == 2 ? tally_window_length(n, &w) : n,
                total = offsets ? longest : rows * length;
        /* columns come out as columns, everything else as rows: dense, with gaps, or (segments
           too) backwards */
        int across = !offsets && row_stride == 1 && stride > 1, how = (int)check_below(4);
        int64_t to_row = across     ? 1
                         : how == 0 ? length + 3
                                    : length,
                to = across     ? rows
                     : how == 1 ? -1
                                : 1;
        if (to < 0) to_row = -to_row;
        int64_t capacity = offsets ? total
                           : rows && length
                               ? (rows - 1) * llabs(to_row) + (length - 1) * llabs(to) + 1
                               : 0;
        char *start = to < 0 && capacity ? output + (capacity - 1) * size : output;
        if (offsets && to < 0) start = output + (total ? total - 1 : 0) * size;
        tally_view out = {start, op->out, rows, length, to_row, to, offsets};
        memset(output, 0xa5, (size_t)(capacity * size + 64));
        memset(wanted, 0xa5, (size_t)(capacity * size + 64));
        tally_status status = verb == 2 ? tally_window(c->ctx, c->op, &in, &out, &w)
                                        : tally_scan(c->ctx, c->op, &in, &out, &o);
        if (!check_ok(c->ctx, status, line)) continue;
        for (int64_t r = 0; r < rows; r++) {
            static char one[ROW_MOST * 16];
            m = offsets ? offsets[r + 1] - offsets[r] : n;
            const char *row = first + (offsets ? offsets[r] * stride : r * row_stride) * bytes;
            if (verb == 2)
                (r ? reference_window : tl_spec_window)(op, c->par, row, stride, m, &w, one);
            else
                (r ? reference_scan : tl_spec_scan)(op, c->par, row, stride, m, &o, one);
            int64_t results = verb == 2 ? tally_window_length(m, &w) : m;
            char *at = wanted + (start - output) + (offsets ? offsets[r] * to : r * to_row) * size;
            for (int64_t i = 0; i < results; i++)
                memcpy(at + i * to * size, one + i * size, (size_t)size);
        }
        check_same(output, wanted, capacity + 64 / size, size,
                   "%s %s (before %lld after %lld edges %d min %lld excl %d init %d out %lld,%lld)",
                   verb == 2 ? "window"
                   : verb    ? "reverse"
                             : "scan",
                   line, (long long)w.before, (long long)w.after, (int)w.edges,
                   (long long)w.min_count, o.exclusive, o.init != NULL, (long long)to_row,
                   (long long)to);
    }
    if (bytes != size) return;
    static char before[LANES_MOST * 16];
    const tally_scan_options forward = {0};
    tally_view self = {first, op->out, rows, n, row_stride, stride, offsets}; /* in place */
    if (span > LANES_MOST ||
        (!offsets && rows > 1 && n > 0 && llabs(row_stride) < n && llabs(stride) < rows))
        return;
    memcpy(before, x, (size_t)(span * bytes));
    memcpy(wanted, x, (size_t)(span * bytes));
    if (!check_ok(c->ctx, tally_scan(c->ctx, c->op, &in, &self, &forward), line)) return;
    for (int64_t r = 0; r < rows; r++) {
        static char one[ROW_MOST * 16];
        m = offsets ? offsets[r + 1] - offsets[r] : n;
        const int64_t at = first - x + (offsets ? offsets[r] * stride : r * row_stride) * bytes;
        reference_scan(op, c->par, before + at, stride, m, &forward, one);
        for (int64_t i = 0; i < m; i++)
            memcpy(wanted + at + i * stride * size, one + i * size, (size_t)size);
    }
    check_same(x, wanted, span, size, "in place %s", line);
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
    (small ? tl_spec_window : reference_window)(op, c->par, x, 1, n, w, wanted);
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
        check_view(c, 5, 100 + 17 * i, 100 + 17 * i, 1, NULL, TL_DATA_PLAIN);
        check_view(c, 17 + i, 60, 1, 17 + i, NULL, TL_DATA_PLAIN);
        check_view(c, 3, 300, 1, 3, NULL, TL_DATA_PLAIN);
    }
    given_window = NULL;
    check_view(c, 1003, 9, 1, 1003, NULL, TL_DATA_PLAIN); /* wider than a strip */
}

static void check_views(const test_case *c)
{
    int64_t offsets[40];
    for (int i = 0; i < (check_quick ? 2 : 5); i++) {
        tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
        int64_t rows = (int64_t)(check_random() % 40), n = (int64_t)(check_random() % 90);
        check_view(c, rows, n, n, 1, NULL, kind);               /* rows */
        check_view(c, rows, n, n + 5, 1, NULL, kind);           /* rows of a wider matrix */
        check_view(c, rows, n, 1, rows ? rows : 1, NULL, kind); /* columns */
        check_view(c, rows, n, 1, rows + 3, NULL, kind);        /* some columns */
        check_view(c, rows % 9, n, n * 3, 3, NULL, kind);       /* every third */
        check_view(c, rows % 9, n, -n, -1, NULL, kind);         /* backwards */
        offsets[0] = (int64_t)(check_random() % 5);
        for (int r = 0; r < 39; r++)
            offsets[r + 1] = offsets[r] + (int64_t)(check_random() % 3 ? check_random() % 20 : 0) +
                             (r == 20 ? 300 : 0);
        check_view(c, 39, 0, 0, 1, offsets, kind);
        check_view(c, 39, 0, 0, 2, offsets, kind);
    }
}

/* Many sequences at once (src/cpu/lanes.h): numbers of them around a vector and a strip, and
 * lengths around the blocks of 8, a chunk of 256 rows and the longest that go so. */
static void check_lanes(const test_case *c)
{
    static const int64_t counts[] = {1,  2,  7,  8,  9,   15,  16,  17,   31,
                                     33, 48, 63, 65, 447, 448, 449, 1000, 2500},
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
            check_view(c, rows, n, n, 1, NULL, kind);
            break;
        case 1:
            check_view(c, rows, n, n + 1 + check_below(8), 1, NULL, kind);
            break;
        case 2:
            check_view(c, rows, n, 1, rows + check_below(2), NULL, kind);
            break;
        case 3:
            check_view(c, rows, n, -1, -rows, NULL, kind); /* columns, backwards */
            break;
        case 4:
            check_view(c, rows, n, 2 * n, 2, NULL, kind);
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
            check_view(c, rows, 0, 0, 1 + (check_below(5) == 0), offsets, kind);
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
        check_view(c, rows, n, n, 1, NULL, kind);
        return;
    case 1:
        check_view(c, rows, n, n + 1, 1, NULL, kind);
        return;
    case 2:
        check_view(c, rows, n, 1, rows, NULL, kind);
        return;
    default:
        for (rows = 0; offsets[rows] < total; rows++)
            offsets[rows + 1] = offsets[rows] + 50 + (int64_t)(check_random() % 200);
        check_view(c, rows, 0, 0, 1, offsets, kind);
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

#ifndef TALLY_BITS_ONLY
static void run_on(test_case *c, const char *device, const char *label, int threads)
{
    if (tally_open(&c->ctx, device)) {
        fprintf(stderr, "%s\n", tally_error(NULL));
        check_failed++;
        return;
    }
    c->isa = label;
    c->threads = threads;
    check_all(c);
    tally_close(c->ctx);
}

static void run(test_case *c, const char *isa, int threads)
{
    char device[64];
    snprintf(device, sizeof device, "cpu,threads=%d,isa=%s", threads, isa);
    run_on(c, device, isa, threads);
}

/* The devices of TALLY_TEST_DEVICES, separated by spaces, instead of the processors. */
static void run_devices(test_case *c, const char *list)
{
    char device[64];
    while (*list) {
        size_t length = strcspn(list, " ");
        if (length && length < sizeof device) {
            memcpy(device, list, length);
            device[length] = 0;
            run_on(c, device, device, 1);
        }
        list += length + (list[length] == ' ');
    }
}

/* Are the kernels those of another type, which elements are widened to, or of another operator?
 * Then one type, which the seed picks, takes every size, and the others fewer. Class X has
 * kernels of its own for narrow types. */
static int shares_kernels(const tl_scalar *s)
{
    return !s->exact && (s->wide != s->dtype || strcmp(s->core, s->file));
}

static void operator_case(const char *op, tally_dtype dtype, tally_dtype whole)
{
    test_case c = {.op = op, .dtype = dtype};
    const char *devices = getenv("TALLY_TEST_DEVICES");
    const int quick = check_quick;
    if (tl_resolve(NULL, op, dtype, &c.scalar, &c.par)) return;
    /* of integers: the plain operator, under another name */
    if (!strncmp(op, "nan", 3) && !c.scalar->masked) return;
    if (devices && *devices) {
        run_devices(&c, devices);
        return;
    }
    check_quick |= !check_long && dtype != whole && shares_kernels(c.scalar);
    for (int isa = 0; isa < tl_isa_count(); isa++) {
        if (!tl_isa_runs(isa)) continue;
        run(&c, tl_isa_name(isa), 1);
        if (isa == tl_isa_count() - 1 || !tl_isa_runs(isa + 1))
            for (int threads = 2; threads <= 3; threads++) run(&c, tl_isa_name(isa), threads);
    }
    check_quick = quick;
}

int main(int argc, char **argv)
{
    test_names(argc, argv, 1);
    check_start();
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    for (const char *const *op = tally_operators(); *op; op++) {
        if ((argc > 1 && strcmp(argv[1], *op)) || test_takes_two(*op)) continue;
        const tally_dtype whole = (tally_dtype)(TALLY_I8 + check_random() % TALLY_F64);
        for (int d = TALLY_I8; d <= TALLY_F64; d++) {
            if (argc > 2 && strcmp(argv[2], tally_dtype_name((tally_dtype)d))) continue;
            char name[64];
            tally_operator_info own, wide;
            int64_t before = check_failed;
            char parameter[TL_SAMPLE_BYTES];
            const char *suffix = tl_sample_parameter(*op, parameter);
            snprintf(name, sizeof name, "%s%s", *op, suffix);
            operator_case(name, (tally_dtype)d, argc > 2 ? (tally_dtype)d : whole);
            const int refused = tally_operator(NULL, name, (tally_dtype)d, &own);
            snprintf(name, sizeof name, "%s:f64%s", *op, suffix);
            if (d >= TALLY_F16 && d <= TALLY_F32 && !refused &&
                !tally_operator(NULL, name, (tally_dtype)d, &wide) &&
                wide.accumulator != own.accumulator)
                operator_case(name, (tally_dtype)d, argc > 2 ? (tally_dtype)d : whole);
            if (check_failed > before)
                printf("%s %s: %lld differences\n", *op, tally_dtype_name((tally_dtype)d),
                       (long long)(check_failed - before));
        }
    }
    free(input);
    free(output);
    free(wanted);
    return check_finish();
}
#endif

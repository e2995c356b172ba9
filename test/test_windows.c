/* SPDX-License-Identifier: MIT
 * Windows that no tile of a GPU's local memory holds, on every GPU device (or those of
 * TALLY_TEST_DEVICES), compared with the processors' by memcmp. Lengths lie around each power of
 * two, where the levels are cut into groups (src/gpu/window/groups.c); there is every kind of
 * edge, rows, segments, strides, and results that begin anywhere. Skipped without a device.
 *
 *   test_windows [LOG2 [exact]]     arrays of 2^LOG2 elements (default 17; 23 and more have
 *                                   three groups); exact: class X of one sequence alone */
#include "gpus.h"

enum { GUARD = 64, RESULT_MOST = 16, LARGE = 3 << 19 };

typedef struct {
    const char *op;
    tally_dtype dtype, result;
    int lanes;
} instance;
static const instance instances[] = {
    {"sum", TALLY_F32, TALLY_F32, 1},      {"argmax", TALLY_F32, TALLY_I64, 1},
    {"var", TALLY_F32, TALLY_F64, 1},      {"mean", TALLY_F64, TALLY_F64, 1},
    {"minmax", TALLY_I16, TALLY_I16, 2},   {"max", TALLY_I8, TALLY_I8, 1},
    {"first", TALLY_U16, TALLY_U16, 1},    {"nanmean", TALLY_F32, TALLY_F32, 1},
    {"ema:0.01", TALLY_F64, TALLY_F64, 1}, {"ema:0.3", TALLY_F32, TALLY_F32, 1},
    {"var", TALLY_I8, TALLY_F64, 1}};
static const instance exact[] = {
    {"sum", TALLY_I16, TALLY_I64, 1},    {"argmin", TALLY_F32, TALLY_I64, 1},
    {"max", TALLY_F32, TALLY_F32, 1},    {"last", TALLY_I8, TALLY_I8, 1},
    {"nanmax", TALLY_F16, TALLY_F16, 1}, {"minmax", TALLY_F64, TALLY_F64, 2},
    {"mean", TALLY_U8, TALLY_F64, 1},    {"xor", TALLY_U64, TALLY_U64, 1}};

static tally *ctx, *cpu;
static char *x, *got, *want;
static int64_t most;
static int only_exact;

/* A window of w on a view of rows x n elements; shift: of the results, in results; offsets: for
 * segments; across: rows are columns, side by side, so many elements being between one row of
 * them and the next. */
typedef struct {
    int64_t w, after, min_count, rows, n, stride, shift;
    tally_edges edges;
    const int64_t *offsets;
    int64_t across;
} one_case;

static void check_case(const char *name, const instance *o, const one_case *c)
{
    const int64_t size = (int64_t)tally_dtype_size(o->result) * o->lanes;
    const tally_window_options options = {c->w - 1 - c->after, c->after, c->edges, c->min_count};
    const int64_t across = c->across, length = c->offsets ? 0 : tally_window_length(c->n, &options);
    const tally_view in = {x,
                           o->dtype,
                           c->rows,
                           c->n,
                           across ? 1 : c->n * c->stride,
                           across ? across : c->stride,
                           c->offsets};
    const int64_t results = c->offsets ? c->offsets[c->rows]
                            : across   ? across * length
                                       : c->rows * length;
    const int64_t capacity = results * size + 2 * GUARD;
    tally_view out = {
        NULL, o->result, c->rows, length, across ? 1 : length, across ? across : 1, c->offsets};
    memset(got, 0xa5, (size_t)capacity);
    memset(want, 0xa5, (size_t)capacity);
    out.data = want + c->shift * size;
    if (!check_ok(cpu, tally_window(cpu, o->op, &in, &out, &options), o->op)) return;
    out.data = got + c->shift * size;
    if (!check_ok(ctx, tally_window(ctx, o->op, &in, &out, &options), o->op)) return;
    check_same(got, want, capacity, 1,
               "%s: %s of %s, w %lld, after %lld, edges %d, min %lld, %lld x %lld stride %lld",
               name, o->op, tally_dtype_name(o->dtype), (long long)c->w, (long long)c->after,
               (int)c->edges, (long long)c->min_count, (long long)c->rows, (long long)c->n,
               (long long)c->stride);
}

static void check_lengths(const char *name, const instance *o, int first)
{
    static const int64_t near[] = {-1, 0, 1, 77};
    int turn = first;
    for (int log = 10; (int64_t)1 << log <= most; log++)
        for (int i = 0; i < 4; i++, turn++) {
            one_case c = {.w = ((int64_t)1 << log) + near[i],
                          .rows = 1,
                          .n = most - turn % 5,
                          .stride = 1,
                          .shift = turn % 4};
            if (check_quick && turn % 3) continue;
            if (c.w > c.n) continue;
            c.edges = (tally_edges)(turn / 3 % 3); /* quick runs take one turn in three */
            c.after = turn / 3 % 2 ? 0 : c.w / 3;
            c.min_count = turn % 7 == 1 ? c.w / 2 : turn % 7 == 4 ? c.w : 0;
            check_case(name, o, &c);
        }
    /* all bits set, and a few at random */
    for (int i = 0; i < (check_quick ? 1 : 4); i++) {
        one_case c = {.rows = 1,
                      .n = most,
                      .stride = 1,
                      .edges = i % 2 ? TALLY_EDGES_VALID : TALLY_EDGES_MISSING};
        c.w = i ? 2049 + (int64_t)(tl_random(&check_state) % (uint64_t)(most / 2)) : most / 2 - 1;
        check_case(name, o, &c);
    }
}

static void check_layouts(const char *name, const instance *o)
{
    const int64_t n = most / 3;
    const int64_t offsets[] = {3,       5, most / 2, most / 2, most / 2 + 2100, most / 2 + 7000,
                               most - 1};
    const one_case cases[] = {{.w = 3001, .rows = 3, .n = n, .stride = 1},
                              {.w = 5000,
                               .rows = 1,
                               .n = most / 2,
                               .stride = 2,
                               .edges = TALLY_EDGES_SHRINK,
                               .after = 4999},
                              {.w = 4500, .rows = 6, .stride = 1, .offsets = offsets},
                              {.w = 2100,
                               .rows = 6,
                               .stride = 1,
                               .offsets = offsets,
                               .edges = TALLY_EDGES_SHRINK,
                               .after = 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(name, o, &cases[i]);
}

/* Windows that a tile holds, every length up to 24 among them
 * (src/gpu/kernel/window/quads.cl): one sequence, and rows. */
static void check_tiles(const char *name, const instance *o)
{
    for (int i = 0; i < (check_quick ? 12 : 150); i++) {
        one_case c = {.rows = 1, .stride = i % 5 == 4 ? 2 : 1, .shift = i % 4, .n = most / 8 - i};
        c.w = i < 25 ? i + 1
                     : 1 + (int64_t)(tl_random(&check_state) % (uint64_t)(i % 3 ? 1024 : 130));
        c.edges = (tally_edges)(i % 3);
        c.after = i % 2 ? c.w / 2 : 0;
        c.min_count = i % 7 == 1 ? c.w / 2 : i % 7 == 4 ? c.w : 0;
        if (i % 4 == 3) c.n = c.w + i % 9, c.rows = most / 8 / c.n;
        check_case(name, o, &c);
    }
}

/* Windows in passes and by walks (src/gpu/kernel/window/passes.cl, walk.cl) are for arrays
 * of a tile for each processor, which are large ones on a GPU: lengths around the powers
 * of two, bits above and below the radix, rows, segments, a stride. */
static void check_passes(const char *name, const instance *o)
{
    static const int64_t lengths[] = {64,   127,  255,  256,   300,   500,   511,
                                      512,  1000, 1023, 1024,  1999,  2047,  2048,
                                      2049, 5000, 8191, 10007, 20481, 43000, 65535};
    static const int64_t offsets[] = {3, LARGE / 3, LARGE / 3, LARGE / 3 + 50, LARGE - 7};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    tl_random_fill(&check_state, x, o->dtype, LARGE, TL_DATA_PLAIN);
    for (int i = 0; i < (check_quick ? 3 : LENGTHS); i++) {
        one_case c = {.w = lengths[check_quick ? check_below(LENGTHS) : i],
                      .rows = 1,
                      .n = LARGE - i,
                      .stride = 1};
        c.edges = (tally_edges)(i % 3), c.after = i % 2 ? c.w / 2 : 0, c.shift = i % 4;
        if (i % 4 == 3) c.n = c.w + 100 * i, c.rows = LARGE / c.n;
        if (i % 4 == 2 && c.edges != TALLY_EDGES_VALID) c.offsets = offsets, c.rows = 4;
        if (i % 9 == 8) c.n = LARGE / 2, c.stride = 2, c.offsets = NULL, c.rows = 1;
        check_case(name, o, &c);
    }
}

/* Columns by tiles, in groups of levels: around each of the lengths where they are cut, tiles
 * and columns that end anywhere. */
static void check_columns(const char *name, const instance *o, int first)
{
    static const int64_t lengths[] = {129,  500,  192, 191, 128, 4160, 8191, 1024,
                                      8192, 9000, 130, 257, 512, 700,  2047};
    for (int i = 0, turn = first; i < (check_quick ? 6 : 60); i++, turn++) {
        const int64_t rows = 16 + turn * 7 % 30, across = rows + (turn % 3 ? turn % 4 : 0),
                      most_n = most / across;
        one_case c = {.rows = rows, .across = across, .n = most_n, .stride = 1, .shift = turn % 5};
        c.w =
            i < 15
                ? lengths[i]
                : 129 + (int64_t)(tl_random(&check_state) % (uint64_t)(i % 2 ? 600 : most_n - 130));
        if (c.w > 4000 && i < 15) c.rows = 16, c.across = 16, c.n = most / 16;
        if (c.w > c.n) c.w = c.n;
        if (turn % 4 == 1) c.n = c.w + turn % 50;
        if (c.n * c.across > most) c.n = most / c.across;
        c.edges = (tally_edges)(turn % 3);
        c.after = turn / 2 % 2 ? 0 : c.w / 3;
        c.min_count = turn % 7 == 1 ? c.w / 2 : turn % 7 == 4 ? c.w : 0;
        check_case(name, o, &c);
    }
}

/* Class X of one sequence (src/gpu/kernel/window/exact.cl): around the lengths of runs and
 * tiles, elements and results that begin anywhere. */
static void check_exact(const char *name, const instance *o)
{
    static const int64_t edges[] = {10, 11,  15,  16,   17,   30,   31,  46,
                                    50, 255, 500, 1025, 3850, 5000, 9001};
    char *const all = x;
    for (int i = 0, w = 0; i < (check_quick ? 40 : 120); i++) {
        const int64_t few = 1 + (int64_t)(tl_random(&check_state) % (uint64_t)(most - 64));
        w = i < (int)(sizeof edges / sizeof *edges)
                ? (int)edges[i]
                : 2 + (int)(tl_random(&check_state) % (i % 3 ? 700 : 12000));
        one_case c = {.w = w,
                      .rows = 1,
                      .stride = 1,
                      .n = i % 4 ? most - 64 - i : few,
                      .shift = i % 3 ? i % 19 : 0};
        if (c.w > c.n) c.w = c.n;
        c.edges = i % 2 ? TALLY_EDGES_VALID : TALLY_EDGES_MISSING;
        c.after = i % 5 > 2 ? (int64_t)(tl_random(&check_state) % (uint64_t)c.w) : 0;
        /* and at odd addresses */
        x = all + (i % 7 < 4 ? i % 7 * (int64_t)tally_dtype_size(o->dtype) : i);
        check_case(name, o, &c);
    }
    x = all;
}

static void check_device(const char *name)
{
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    for (size_t i = 0; i < sizeof instances / sizeof *instances && !only_exact; i++) {
        if (check_quick && i > 2) break; /* PoCL compiles: the seed leaves one of three out */
        if (check_quick && i == check_seed % 3) continue;
        tl_random_fill(&check_state, x, instances[i].dtype, most, TL_DATA_PLAIN);
        check_lengths(name, &instances[i], (int)i);
        tl_random_fill(&check_state, x, instances[i].dtype, most, TL_DATA_HOSTILE);
        check_layouts(name, &instances[i]);
        if (!check_quick || i == 1) check_tiles(name, &instances[i]);
        if (!check_quick || i < 2) check_columns(name, &instances[i], (int)i);
        if (!strncmp(name, "cuda:", 5) && instances[i].lanes == 1)
            check_passes(name, &instances[i]);
    }
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (check_quick && i != check_seed % 2) continue;
        tl_random_fill(&check_state, x, exact[i].dtype, most,
                       i % 2 ? TL_DATA_HOSTILE : TL_DATA_PLAIN);
        check_exact(name, &exact[i]);
    }
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    check_start();
    most = (int64_t)1 << (argc > 1 ? atoi(argv[1]) : check_quick ? 16 : 17);
    only_exact = argc > 2;
    const size_t large = (size_t)(most > LARGE ? most : LARGE),
                 capacity = large * RESULT_MOST + 4 * GUARD;
    x = malloc(large * 8), got = malloc(capacity), want = malloc(capacity);
    if (!x || !got || !want) return 2;
    check_ok(NULL, tally_open(&cpu, "cpu"), "cpu");
    for_each_gpu(NULL, check_device);
    tally_close(cpu);
    free(x), free(got), free(want);
    return finish_gpus();
}

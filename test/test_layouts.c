/* SPDX-License-Identifier: MIT
 * Reductions, scans and windows of rows, columns and segments on every GPU device (or those of
 * TALLY_TEST_DEVICES), compared with the processors' by memcmp: of lengths around lanes' steps,
 * chunks and tiles, apart and backwards, empty segments and one that has nearly everything,
 * windows longer than a sequence, with every kind of edge. Skipped without a device. */
#include "gpus.h"

enum { MOST = 1 << 18, GUARD = 64, RESULT_MOST = 16, SEGMENTS_MOST = 40000 };

static const struct {
    const char *op;
    tally_dtype dtype;
} instances[] = {{"sum", TALLY_F32},     {"minmax", TALLY_I16}, {"argmax", TALLY_F32},
                 {"var", TALLY_F64},     {"first", TALLY_U8},   {"mean", TALLY_F64},
                 {"last", TALLY_I32},    {"max", TALLY_I64},    {"nanmean", TALLY_F32},
                 {"ema:0.01", TALLY_F64}};

static tally *ctx, *cpu;
static char *x, *got, *want;
static int64_t offsets[SEGMENTS_MOST + 1];

/* A view of the elements from `shift` bytes on, and how results lie. */
typedef struct {
    const char *kind;
    int64_t rows, n, row_stride, stride, shift;
    int across; /* results lie as columns */
    int apart;  /* places between rows of results */
    const int64_t *offsets;
} layout;

typedef struct {
    const char *name, *op;
    tally_operator_info info;
    tally_dtype dtype;
    layout at;
    const tally_scan_options *scan; /* no scan and no window: a reduction */
    const tally_window_options *window;
} one_case;

static tally_status call(tally *on, const one_case *c, char *to)
{
    const layout *l = &c->at;
    const int64_t size = (int64_t)tally_dtype_size(c->dtype),
                  steps = l->stride < 0 ? -l->stride : l->stride;
    const int64_t last = (l->offsets ? l->offsets[l->rows] : l->n) - 1,
                  back = l->stride < 0 && last > 0 ? last * steps : 0;
    const int64_t length = l->offsets ? 0 : c->window ? tally_window_length(l->n, c->window) : l->n;
    tally_view in = {
        x + l->shift + back * size, c->dtype, l->rows, l->n, l->row_stride, l->stride, l->offsets};
    tally_view out = {to,
                      c->info.output,
                      l->rows,
                      length,
                      l->across ? 1 : length + l->apart,
                      l->across ? l->rows + l->apart : 1,
                      l->offsets};
    if (c->scan) return tally_scan(on, c->op, &in, &out, c->scan);
    if (c->window) return tally_window(on, c->op, &in, &out, c->window);
    return tally_reduce(on, c->op, &in, to);
}

static void check_case(const one_case *c)
{
    const layout *l = &c->at;
    const int64_t size = (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    const int reduces = !c->scan && !c->window;
    const int64_t all = reduces      ? l->rows
                        : l->offsets ? l->offsets[l->rows]
                        : l->across  ? (l->rows + l->apart) * l->n
                                     : l->rows * (l->n + l->apart);
    memset(got, 0xa5, (size_t)(all * size + GUARD));
    memset(want, 0xa5, (size_t)(all * size + GUARD));
    if (!check_ok(cpu, call(cpu, c, want), c->op) || !check_ok(ctx, call(ctx, c, got), c->op))
        return;
    const tally_window_options none = {0}, *w = c->window ? c->window : &none;
    check_same(got, want, all * size + GUARD, 1,
               "%s: %s of %s, %s of %s, %lld x %lld, strides %lld, %lld, shift %lld, apart %d, "
               "before %lld, after %lld, "
               "edges %d, min %lld",
               c->name, c->op, tally_dtype_name(c->dtype),
               reduces   ? "reduce"
               : c->scan ? "scan"
                         : "window",
               l->kind, (long long)l->rows, (long long)l->n, (long long)l->row_stride,
               (long long)l->stride, (long long)l->shift, l->apart, (long long)w->before,
               (long long)w->after, (int)w->edges, (long long)w->min_count);
}

static int64_t below(int64_t n) { return (int64_t)(tl_random(&check_state) % (uint64_t)n); }

static const int64_t lengths[] = {1,    7,    8,    9,    31,   32,   33,   64,
                                  65,   300,  511,  1000, 1023, 1024, 1025, 2047,
                                  2048, 2049, 2056, 3001, 4095, 4096, 4097};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static int64_t any_length(int64_t most)
{
    int64_t n = lengths[below(LENGTHS)];
    return n < most ? n : 1 + below(most);
}

static layout columns(void)
{
    static const int64_t rows[] = {16, 31, 32, 33, 64, 70, 128};
    layout l = {.kind = "columns",
                .rows = rows[below(sizeof rows / sizeof *rows)],
                .row_stride = 1,
                .across = 1};
    l.stride = l.rows + (below(2) ? 0 : below(5));
    l.n = any_length(MOST / (l.stride + 1) - 1);
    if (below(3) == 0) l.stride = -l.stride;
    l.apart = below(3) ? 0 : 3;
    return l;
}

static layout rows(void)
{
    layout l = {.kind = "rows", .stride = below(4) ? 1 : below(2) ? 2 : -1};
    const int64_t steps = l.stride < 0 ? -l.stride : l.stride;
    l.n = any_length(4100);
    l.row_stride = l.n * steps + (below(3) ? 0 : below(9));
    l.rows = 1 + below(MOST / 2 / l.row_stride < 3000 ? MOST / 2 / l.row_stride : 3000);
    if (l.stride < 0 && l.rows > 1) l.row_stride = l.n;
    l.apart = below(3) ? 0 : 5;
    return l;
}

static layout segments(void)
{
    layout l = {.kind = "segments", .stride = below(4) ? 1 : below(2) ? 2 : -1, .offsets = offsets};
    const int64_t end = MOST / 2 - 1, mean = 1 + (below(2) ? below(4000) : below(30)),
                  some = below(3);
    offsets[0] = below(4);
    while (l.rows < SEGMENTS_MOST && offsets[l.rows] < end) {
        int64_t n = some && below(2) ? 0 : below(8) ? below(2 * mean) : any_length(end);
        if (!some && l.rows == 9) n = end / 2;
        if (n > end - offsets[l.rows]) n = end - offsets[l.rows];
        offsets[l.rows + 1] = offsets[l.rows] + n;
        l.rows++;
    }
    return l;
}

static void check_layout(one_case *c)
{
    char init[RESULT_MOST] = {1};
    const tally_scan_options scan = {.exclusive = (int)below(2),
                                     .reverse = !c->at.offsets && below(2),
                                     .init = c->info.seedable && below(2) ? init : NULL};
    tally_window_options window = {below(30), below(2) ? 0 : below(9),
                                   (tally_edges)below(c->at.offsets ? 2 : 3), 0};
    if (below(3) == 0) window.before = below(400);
    if (below(6) == 0) window.before = below(6000);
    if (below(6) == 0) window.after = below(3000);
    const int64_t whole = window.before + window.after + 1; /* elements of a window */
    if (below(2)) window.min_count = below(2) ? whole : below(whole);
    c->scan = &scan, c->window = NULL;
    check_case(c);
    c->scan = NULL, c->window = &window;
    if (window.edges != TALLY_EDGES_VALID || window.before + window.after < c->at.n) check_case(c);
    c->window = NULL;
    check_case(c);
}

static void check_device(const char *device)
{
    static layout (*const kinds[])(void) = {rows, segments, columns};
    if (!check_ok(NULL, tally_open(&ctx, device), device)) return;
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++) {
        one_case c = {.name = device, .op = instances[i].op, .dtype = instances[i].dtype};
        if (i > 1 && !check_long) break;
        /* PoCL compiles: the seed picks one */
        if (!check_long && strncmp(device, "cuda", 4) && i != (size_t)check_seed % 2) continue;
        tally_operator(cpu, c.op, c.dtype, &c.info);
        const int64_t size = (int64_t)tally_dtype_size(c.dtype);
        for (int turn = 0; turn < (check_quick ? 12 : check_long ? 60 : 42); turn++) {
            c.at = kinds[turn % 3]();
            c.at.shift = below(4) ? 0 : below(3 * size);
            tl_random_fill(&check_state, x, c.dtype, MOST,
                           turn % 4 ? TL_DATA_PLAIN : TL_DATA_HOSTILE);
            check_layout(&c);
        }
    }
    tally_close(ctx);
}

int main(void)
{
    const size_t capacity = (size_t)MOST * RESULT_MOST * 2;
    check_start();
    x = malloc((size_t)MOST * 8 + GUARD), got = malloc(capacity), want = malloc(capacity);
    if (!x || !got || !want) return 2;
    check_ok(NULL, tally_open(&cpu, "cpu"), "cpu");
    for_each_gpu(NULL, check_device);
    tally_close(cpu);
    free(x), free(got), free(want);
    return finish_gpus();
}

/* SPDX-License-Identifier: MIT
 * Scans and windows of sequences that lie across (columns) on every GPU device (or those of TALLY_TEST_DEVICES), compared
 * with the processors' by memcmp: of lengths around the steps and chunks that a lane takes, of more and fewer columns
 * than lanes, apart and backwards, with every kind of edge. Skipped without a device. */
#include "gpus.h"

enum { MOST = 1 << 19, GUARD = 64, RESULT_MOST = 16 };

static const struct {
    const char *op;
    tally_dtype dtype;
} instances[] = {{"sum", TALLY_F32},    {"argmax", TALLY_F32}, {"var", TALLY_F64},  {"minmax", TALLY_I16},
                 {"first", TALLY_U8},   {"mean", TALLY_F64},   {"last", TALLY_I32}, {"nanmean", TALLY_F32},
                 {"ema:0.01", TALLY_F64}};

static tally *ctx, *cpu;
static char *x, *got, *want;

/* `rows` columns of n elements that lie `pitch` places apart; back: they begin at their other end; shift: of the
 * elements' bytes. */
typedef struct {
    int64_t rows, n, pitch, shift;
    int back;
} layout;

typedef struct {
    const char *name, *op;
    tally_operator_info info;
    tally_dtype dtype;
    layout at;
    const tally_scan_options *scan;
    const tally_window_options *window;
} one_case;

static tally_status call(tally *on, const one_case *c, char *to)
{
    const layout *l = &c->at;
    const int64_t size = (int64_t)tally_dtype_size(c->dtype);
    const int64_t length = c->window ? tally_window_length(l->n, c->window) : l->n;
    tally_view in = {x + l->shift, c->dtype, l->rows, l->n, 1, l->pitch, NULL};
    tally_view out = {to, c->info.output, l->rows, length, 1, l->rows, NULL};
    if (l->back) in.data = x + l->shift + (l->n - 1) * l->pitch * size, in.stride = -l->pitch;
    if (c->scan) return tally_scan(on, c->op, &in, &out, c->scan);
    return tally_window(on, c->op, &in, &out, c->window);
}

static void check_case(const one_case *c)
{
    const int64_t size = (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    const int64_t room = c->at.rows * c->at.n * size + GUARD;
    memset(got, 0xa5, (size_t)room);
    memset(want, 0xa5, (size_t)room);
    if (!check_ok(cpu, call(cpu, c, want), c->op) || !check_ok(ctx, call(ctx, c, got), c->op)) return;
    const tally_window_options none = {0}, *w = c->window ? c->window : &none;
    check_same(got, want, room, 1, "%s: %s of %s, %s, %lld x %lld, pitch %lld%s, before %lld, after %lld, edges %d, min "
               "%lld", c->name, c->op, tally_dtype_name(c->dtype), c->scan ? "scan" : "window", (long long)c->at.rows,
               (long long)c->at.n, (long long)c->at.pitch, c->at.back ? ", backwards" : "", (long long)w->before,
               (long long)w->after, (int)w->edges, (long long)w->min_count);
}

static int64_t below(int64_t n) { return (int64_t)(tl_random(&check_state) % (uint64_t)n); }

static void check_layout(one_case *c)
{
    char init[RESULT_MOST] = {1};
    const tally_scan_options scan = {.exclusive = (int)below(2), .reverse = (int)below(2),
                                     .init = c->info.seedable && below(2) ? init : NULL};
    tally_window_options window = {below(30), below(2) ? 0 : below(9), (tally_edges)below(3), 0};
    if (below(4) == 0) window.before += below(300);
    if (below(3) == 0) window.min_count = below(window.before + window.after + 2);
    c->scan = &scan, c->window = NULL;
    check_case(c);
    c->scan = NULL, c->window = &window;
    check_case(c);
}

static void check_device(const char *device)
{
    static const int64_t lengths[] = {1, 7, 8, 9, 63, 64, 65, 300, 511, 1023, 1024, 1025, 2047, 2048, 2056, 3001};
    static const int64_t columns[] = {16, 31, 32, 33, 64, 70, 128};
    if (!check_ok(NULL, tally_open(&ctx, device), device)) return;
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++) {
        one_case c = {.name = device, .op = instances[i].op, .dtype = instances[i].dtype};
        if (check_quick && i % 3) continue; /* PoCL compiles */
        tally_operator(cpu, c.op, c.dtype, &c.info);
        const int64_t size = (int64_t)tally_dtype_size(c.dtype);
        for (int turn = 0; turn < (check_quick ? 12 : 40); turn++) {
            layout *l = &c.at;
            l->n = lengths[(turn + (int64_t)i) % (int64_t)(sizeof lengths / sizeof *lengths)];
            l->rows = columns[below(sizeof columns / sizeof *columns)];
            l->pitch = l->rows + (below(2) ? 0 : below(5));
            l->back = below(3) == 0;
            l->shift = below(4) ? 0 : below(3 * size);
            tl_random_fill(&check_state, x, c.dtype, (l->n + 1) * l->pitch, turn % 3 ? TL_DATA_PLAIN : TL_DATA_HOSTILE);
            check_layout(&c);
        }
    }
    tally_close(ctx);
}

int main(void)
{
    check_start();
    x = malloc((size_t)MOST * 8 + GUARD), got = malloc((size_t)MOST * RESULT_MOST), want = malloc((size_t)MOST * RESULT_MOST);
    if (!x || !got || !want) return 2;
    check_ok(NULL, tally_open(&cpu, "cpu"), "cpu");
    for_each_gpu(NULL, check_device);
    tally_close(cpu);
    free(x), free(got), free(want);
    return finish_gpus();
}

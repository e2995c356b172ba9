/* SPDX-License-Identifier: MIT
 * Segments whose offsets are in device memory, on every GPU device (or those of
 * TALLY_TEST_DEVICES): they give the same bits as offsets on the host, bad ones are refused in
 * the same words, and verbs that do not read them on the device copy them. Skipped without a
 * device.
 *
 *   test_segments [LAYOUT]     only segments of this layout; "refused": only the other checks */
#include "gpu/work.h"
#include "gpus.h"

enum { MOST = 1 << 20, MOST_ROWS = 400000, GUARD = 64, SHIFTS = 16 };

static const char *only; /* an argument, or NULL */
static tally *ctx, *cpu;
static const tl_gpu_calls *calls;
static tl_gpu *gpu;
static _Alignas(16) char x[MOST * 8 + 2 * GUARD], got[MOST * 16 + GUARD], want[MOST * 16 + GUARD],
    want_reduced[MOST_ROWS * 16];
static int64_t offsets[MOST_ROWS + 1];

/* ---- memory of the device, and an address for it ---- */

typedef struct {
    tl_memory memory;
    char *at;
} place;

static int open_place(place *p, size_t bytes)
{
    void *adopted = NULL;
    if (!check_ok(ctx, calls->allocate(gpu, ctx, bytes, &p->memory), "memory on the device"))
        return 0;
    if (calls->adopt)
        check_ok(ctx, calls->adopt(gpu, ctx, p->memory.handle, &adopted), "an address");
    p->at = calls->adopt ? adopted : (char *)(uintptr_t)p->memory.address;
    return p->at != NULL;
}

static void close_place(place *p)
{
    if (calls->adopt && p->at) check_ok(ctx, calls->forget(gpu, ctx, p->at), "forget");
    if (p->memory.bytes) calls->release(gpu, &p->memory);
}

static void put(const place *p, const void *from, size_t bytes)
{
    check_ok(ctx, tl_write(gpu, ctx, &p->memory, 0, from, bytes), "to the device");
    check_ok(ctx, calls->wait(gpu, ctx), "to the device");
}

static place data, cuts, results;

/* ---- cases ---- */

/* A layout of segments: the length of the r-th. */
static int64_t any(int64_t most)
{
    return (int64_t)(tl_random(&check_state) % (uint64_t)(most + 1));
}
static int64_t tiny(int64_t r) { return (void)r, any(any(31)); }
static int64_t empty(int64_t r) { return r % 7 ? 0 : any(2); }
static int64_t middle(int64_t r) { return (void)r, any(1100); }
static int64_t powers(int64_t r) { return ((int64_t)1 << r % 12) + any(2) - 1; }
static int64_t heavy(int64_t r) { return r == 40 ? 600000 : r % 100 == 3 ? any(30000) : any(20); }
static int64_t alike(int64_t r) { return (void)r, 256; }
static int64_t eights(int64_t r) { return (void)r, 8; }
static int64_t nearly(int64_t r) { return r == 99 ? 257 : 256; }
static int64_t long_count(int64_t r) { return 1024 + r % 3; }
static int64_t small(int64_t r) { return (void)r, any(31); }
static int64_t crowd(int64_t r) { return r == 77777 ? 5000 : any(3); }
static int64_t chunks(int64_t r) { return r % 97 == 5 ? 8190 + any(900) : any(2800); }
static int64_t walked(int64_t r) { return (void)r, any(3000); }
static int64_t rows(int64_t r) { return (void)r, 1500; }
static int64_t none(int64_t r) { return (void)r, 0; }
static const struct {
    const char *name;
    int64_t (*length)(int64_t r);
    int64_t rows;
} layouts[] = {{"tiny", tiny, 2000},
               {"empty", empty, 700},
               {"middle", middle, 300},
               {"powers", powers, 300},
               {"heavy", heavy, 300},
               {"alike", alike, 300},
               {"nearly alike", nearly, 300},
               {"longs", long_count, 300},
               {"one", middle, 1},
               {"none", none, 65},
               {"small", small, 60000},
               {"crowd", crowd, 400000},
               {"eights", eights, 100001},
               {"chunks", chunks, 680},
               {"walked", walked, 680},
               {"rows", rows, 680}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Offsets of a layout from `first` on that fit `capacity` elements; their number of rows. */
static int64_t lay(int which, int64_t first, int64_t capacity)
{
    int64_t rows = 0, at = first;
    offsets[0] = at;
    while (rows < layouts[which].rows) {
        int64_t n = layouts[which].length(rows);
        if (at + n > capacity) break;
        offsets[++rows] = at += n;
    }
    return rows;
}

static const struct {
    const char *op;
    tally_dtype dtype;
} operators[] = {{"sum", TALLY_F32}, {"sum", TALLY_F64}, {"sum", TALLY_U8},   {"argmax", TALLY_F32},
                 {"var", TALLY_F32}, {"min", TALLY_F16}, {"last", TALLY_I16}, {"mean", TALLY_I32}};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* A case: its view for the processors (host) and for the device (there), and views of results. */
typedef struct {
    const char *op;
    int shift;
    int64_t rows, out, first, last; /* out: bytes of a result; first, last: the offsets' ends */
    tally_operator_info info;
    tally_view a, b;
    char what[160];
} segments_case;

static int make_case(segments_case *c, int which, int o, int shift, int64_t stride)
{
    const tally_dtype dtype = operators[o].dtype;
    const int64_t size = (int64_t)tally_dtype_size(dtype), steps = stride < 0 ? -stride : stride;
    *c = (segments_case){.op = operators[o].op, .shift = shift};
    c->rows = lay(which, shift % 3, MOST / steps);
    c->first = offsets[0], c->last = offsets[c->rows];
    const int64_t end = c->last * steps;
    tally_operator(cpu, c->op, dtype, &c->info);
    c->out = (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    char *host = x + GUARD + shift, *there = data.at + GUARD + shift;
    if (stride < 0 && end) host += (end - 1) * size, there += (end - 1) * size;
    if (dtype == TALLY_F32 || dtype == TALLY_F64) /* bits at odd addresses are random ones */
        tl_random_fill(&check_state, x + GUARD, dtype, (end * size + shift) / size + 1,
                       TL_DATA_PLAIN);
    put(&data, x, sizeof x);
    put(&cuts, offsets, (size_t)(c->rows + 1) * sizeof *offsets);
    c->a = tally_segments(host, dtype, offsets, c->rows);
    c->b = tally_segments(there, dtype, (const int64_t *)(void *)cuts.at, c->rows);
    c->a.stride = c->b.stride = stride;
    snprintf(c->what, sizeof c->what, "%s %s, %s, shift %d, stride %lld", c->op,
             tally_dtype_name(dtype), layouts[which].name, shift, (long long)stride);
    if (!check_ok(cpu, tally_reduce(cpu, c->op, &c->a, want), "cpu")) return 0;
    memcpy(want_reduced, want, (size_t)(c->rows * c->out));
    return 1;
}

static void reduced(const segments_case *c)
{
    const int64_t rows = c->rows, out = c->out;
    memset(got, 0xa5, (size_t)(rows * out + GUARD));
    /* first to the device: a kernel is launched speculatively, the one that the last case used */
    if (check_ok(ctx, tally_reduce(ctx, c->op, &c->b, results.at), c->op)) {
        tl_read(gpu, ctx, got, &results.memory, 0, (size_t)(rows * out));
        check_same(got, want, rows, out, "%s", c->what);
    }
    memset(got, 0xa5, (size_t)(rows * out + GUARD));
    if (check_ok(ctx, tally_reduce(ctx, c->op, &c->b, got), c->op)) {
        check_same(got, want, rows, out, "%s", c->what);
        check((unsigned char)got[rows * out] == 0xa5, "%s: written behind the results", c->what);
    }
}

/* Do these results go to this place? On PoCL, whose kernels are slow, of the two every second case
 * takes one. */
static int goes_to(const segments_case *c, int device)
{
    return check_long || !gpu->shares_memory || (c->shift / 4 + device) % 2;
}

/* Results to the host and to the device, inclusive and not, from an initial value where there may
 * be one. */
static void scanned(const segments_case *c)
{
    const int64_t last = c->last, out = c->out;
    char init[16] = {0};
    const tally_scan_options how = {.exclusive = c->shift & 1,
                                    .init = c->info.seedable && c->shift & 2 ? init : NULL};
    tally_view to = tally_segments(want, c->info.output, c->a.offsets, c->rows), by = to, at = to;
    by.data = got, at.data = results.at, by.offsets = at.offsets = c->b.offsets;
    memset(got, 0xa5, (size_t)(last * out + GUARD));
    memset(want, 0xa5, (size_t)(last * out + GUARD));
    put(&results, got, (size_t)(last * out + GUARD));
    if (!check_ok(cpu, tally_scan(cpu, c->op, &c->a, &to, &how), "cpu")) return;
    if (goes_to(c, 0) && check_ok(ctx, tally_scan(ctx, c->op, &c->b, &by, &how), c->op))
        check_same(got + c->first * out, want + c->first * out, last - c->first, out, "%s",
                   c->what);
    check((unsigned char)got[last * out] == 0xa5, "%s: written behind the scan", c->what);
    if (goes_to(c, 1) && check_ok(ctx, tally_scan(ctx, c->op, &c->b, &at, &how), c->op)) {
        tl_read(gpu, ctx, got, &results.memory, 0, (size_t)(last * out + GUARD));
        check_same(got, want, last, out, "%s", c->what);
        check((unsigned char)got[last * out] == 0xa5, "%s: written behind the scan", c->what);
    }
}

static void windowed(const segments_case *c)
{
    const int64_t bytes = c->last * c->out + GUARD;
    const tally_window_options w = {c->shift * 5 % 40, c->shift % 3, (tally_edges)(c->shift & 1),
                                    c->shift % 5 ? 0 : 1};
    tally_view to = tally_segments(want, c->info.output, c->a.offsets, c->rows), by = to, at = to;
    by.data = got, at.data = results.at, by.offsets = at.offsets = c->b.offsets;
    memset(got, 0xa5, (size_t)bytes);
    memset(want, 0xa5, (size_t)bytes);
    if (!check_ok(cpu, tally_window(cpu, c->op, &c->a, &to, &w), "cpu")) return;
    put(&results, got, (size_t)bytes);
    if (goes_to(c, 0) && check_ok(ctx, tally_window(ctx, c->op, &c->b, &by, &w), c->op))
        check_same(got, want, bytes, 1, "%s", c->what);
    if (goes_to(c, 1) && check_ok(ctx, tally_window(ctx, c->op, &c->b, &at, &w), c->op)) {
        tl_read(gpu, ctx, got, &results.memory, 0, (size_t)bytes);
        check_same(got, want, bytes, 1, "%s", c->what);
    }
}

static void check_case(int which, int o, int shift, int64_t stride)
{
    segments_case c;
    if (!make_case(&c, which, o, shift, stride)) return;
    reduced(&c);
    scanned(&c);
    if (o == 0 || o == 3) windowed(&c); /* more would be more for PoCL to compile */
    c.b.offsets = offsets;
    if (check_ok(ctx, tally_reduce(ctx, c.op, &c.b, got), c.op))
        check_same(got, want_reduced, c.rows, c.out, "%s", c.what);
}

static void check_others(void)
{
    int64_t rows = lay(4, 0, 100000), n = offsets[rows];
    float *y = (float *)(void *)got, *wanted = (float *)(void *)want;
    const int64_t *there = (const int64_t *)(void *)cuts.at;
    tally_window_options w = {9, 0, TALLY_EDGES_SHRINK, 0};
    tally_scan_options reverse = {.reverse = 1};
    tl_random_fill(&check_state, x, TALLY_F32, n, TL_DATA_PLAIN);
    put(&cuts, offsets, (size_t)(rows + 1) * sizeof *offsets);
    put(&data, x, (size_t)n * 4);
    tally_view a = tally_segments(x, TALLY_F32, offsets, rows),
               to = tally_segments(wanted, TALLY_F32, offsets, rows);
    tally_view b = tally_segments(x, TALLY_F32, there, rows),
               by = tally_segments(y, TALLY_F32, there, rows);
    check_ok(cpu, tally_reduce(cpu, "sum", &a, wanted), "cpu");
    if (check_ok(ctx, tally_reduce(ctx, "sum", &b, y), "reduce"))
        check_same(y, wanted, rows, 4, "elements on the host");
    for (int r = 0; r < 2; r++) {
        check_ok(cpu, tally_scan(cpu, "sum", &a, &to, r ? &reverse : NULL), "cpu");
        memset(y, 0, (size_t)n * 4);
        tally_times_info before, after;
        check_ok(ctx, tally_times(ctx, &before), "times");
        if (check_ok(ctx, tally_scan(ctx, "sum", &b, &by, r ? &reverse : NULL), "scan"))
            check_same(y, wanted, n, 4, "scan, reverse %d", r);
        check_ok(ctx, tally_times(ctx, &after), "times");
        const int64_t counted = after.on_processors - before.on_processors;
        check(counted == (r ? n : 0), "scan, reverse %d: %lld of %lld elements on the processors",
              r, (long long)counted, (long long)n);
    }
    by.offsets = offsets;
    check_ok(cpu, tally_window(cpu, "max", &a, &to, &w), "cpu");
    if (check_ok(ctx, tally_window(ctx, "max", &b, &by, &w), "window"))
        check_same(y, wanted, n, 4, "window");
}

/* The same sentence as with the same offsets on the host, and nothing written. */
static void check_bad(const char *what, const int64_t *cut, int64_t rows)
{
    char sentence[300];
    float y[4] = {1, 2, 3, 4};
    tally_view a = tally_segments(data.at, TALLY_F32, cut, rows), b = a;
    put(&cuts, cut, (size_t)(rows + 1) * sizeof *cut);
    b.offsets = (const int64_t *)(void *)cuts.at;
    tally_status status = tally_reduce(ctx, "sum", &a, y);
    snprintf(sentence, sizeof sentence, "%s", tally_error(ctx));
    check(status == TALLY_INVALID, "%s: accepted", what);
    check(tally_reduce(ctx, "sum", &b, y) == status && !strcmp(sentence, tally_error(ctx)),
          "%s: '%s' and '%s'", what, sentence, tally_error(ctx));
    check(y[0] == 1 && y[1] == 2 && y[2] == 3 && y[3] == 4, "%s: written", what);
    /* a kernel has gone ahead: it must have found it too, also where it begins where the offsets
       are still good */
    memset(got, 0x5a, sizeof got);
    put(&results, got, sizeof got);
    check(tally_reduce(ctx, "sum", &b, results.at) == status && !strcmp(sentence, tally_error(ctx)),
          "%s: '%s', ahead", what, tally_error(ctx));
    tally_view to = b;
    to.data = results.at;
    check(tally_scan(ctx, "sum", &b, &to, NULL) == TALLY_INVALID, "%s: scanned", what);
    tl_read(gpu, ctx, want, &results.memory, 0, sizeof got);
    check(!memcmp(got, want, sizeof got), "%s: written ahead", what);
}

static void check_refusals(void)
{
    const int64_t huge = INT64_MAX / 2;
    check_bad("descending", (const int64_t[]){0, 5, 4, 9, 10}, 4);
    check_bad("below zero", (const int64_t[]){-1, 5, 6}, 2);
    check_bad("descending below zero", (const int64_t[]){0, -5}, 1);
    check_bad("too large", (const int64_t[]){0, huge, huge + 1}, 2);
    int64_t cut[] = {0, 3, 4};
    float y;
    put(&cuts, cut, sizeof cut);
    tally_view b = tally_segments(data.at, TALLY_F32, (const int64_t *)(void *)cuts.at, 2), to = b;
    /* both in the device's memory: refused by the host, and not written before that */
    to.data = data.at + 4;
    put(&data, x, sizeof x);
    check(tally_scan(ctx, "sum", &b, &to, NULL) == TALLY_INVALID &&
              strstr(tally_error(ctx), "overlaps"),
          "overlap: %s", tally_error(ctx));
    check(tally_reduce(ctx, "sum", &b, data.at + 8) == TALLY_INVALID &&
              strstr(tally_error(ctx), "overlaps"),
          "overlap: %s", tally_error(ctx));
    tl_read(gpu, ctx, got, &data.memory, 0, sizeof x);
    check(!memcmp(got, x, sizeof x), "elements are written over");
    check(tally_reduce(ctx, "sum", &b, data.at) == TALLY_INVALID &&
              strstr(tally_error(ctx), "overlaps"),
          "overlap: %s", tally_error(ctx));
    check(tally_reduce(ctx, "sum", &b, NULL) == TALLY_INVALID &&
              strstr(tally_error(ctx), "out is NULL"),
          "no out: %s", tally_error(ctx));
    b.data = NULL;
    check(tally_reduce(ctx, "sum", &b, &y) == TALLY_INVALID &&
              strstr(tally_error(ctx), "in->data is NULL"),
          "no data: %s", tally_error(ctx));
    b.rows = 0;
    check_ok(ctx, tally_reduce(ctx, "sum", &b, NULL), "no segments");
}

static void check_views(void)
{
    if (open_place(&data, sizeof x) && open_place(&cuts, sizeof offsets) &&
        open_place(&results, sizeof got)) {
        const int pocl = gpu->shares_memory, turns = pocl || check_quick ? 1 : 3;
        const int begin = (int)check_below(3);
        int i = begin;
        const int first = (int)check_below(OPERATORS);
        for (int which = 0; which < LAYOUTS; which++) {
            if (only && strcmp(only, layouts[which].name)) continue;
            /* PoCL compiles for some seconds per operator: the seed's takes the layouts */
            for (int o = pocl && !check_long ? first : 0; o < OPERATORS;
                 o += pocl && !check_long ? OPERATORS : 1)
                for (int k = 0; k < turns; k++, i++) {
                    const int way = turns > 1 ? k : i % 3;
                    check_case(which, o, (i * 4) % SHIFTS + (way == 2),
                               way == 1 ? (o % 2 ? 2 : -1) : 1);
                }
        }
        const int others = !only || !strcmp(only, "refused");
        if (others) {
            check_others();
            check_refusals();
        }
        check(others || i > begin, "no segments are called '%s'", only);
    }
    close_place(&data);
    close_place(&cuts);
    close_place(&results);
}

static void check_device(const char *device)
{
    char name[96];
    snprintf(name, sizeof name, "%s,threads=1,probe=off", device);
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    gpu = tl_gpu_of(ctx->device)->gpu;
    calls = gpu->calls;
    calls->enter(gpu, NULL);
    check_views();
    calls->leave(gpu);
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    check_start();
    for (size_t i = 0; i < sizeof x; i++) x[i] = (char)tl_random(&check_state);
    cpu = check_open(2, NULL);
    for_each_gpu(NULL, check_device);
    tally_close(cpu);
    return finish_gpus();
}

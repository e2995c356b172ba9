/* SPDX-License-Identifier: MIT
 * Views with validity, and operators of two inputs, against the law: an element that is left out
 * is ABSENT in its place. Random operators, types, views and bits; every verb; in all forms that
 * the library has for them (context/device.h). On the processors, and on GPU devices with every
 * array, the bitmaps and the offsets in host memory or the device's; those must not leave to the
 * processors what they have a way for.
 *
 *   test_inputs                  on devices sum of f32 alone, short reductions and scans: PoCL
 *                                takes 7 s for a program
 *   test_inputs OPERATOR TYPE    this one alone, on devices alone; "all": any */
#include "gpu/kernel/constants.h"
#include "gpu/work.h"
#include "gpus.h"
#include "inputs_streams.h"

/* ---- the verbs on whole views: reduce, scan, window, and windows of any ranges ---- */

static void reduce(tally *ctx, const problem *c)
{
    memset(marks, 0x5a, sizeof marks);
    const int64_t bytes = c->s->result_bytes;
    void *const to = give_results(ctx, c);
    if (!check_ok(ctx, tally_reduce(ctx, c->op, &c->given, to), c->op)) return;
    take_results(ctx, c);
    check_path(ctx, c, 0);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        fold(&q, 0, q.n, NULL, 0, want + r * bytes);
        set_mark(5 + r);
    }
    check_ok(ctx, tally_reduce_valid(ctx, c->op, &c->in, marks[0], 5), c->op);
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of reduce %s of %s, %lld x %lld",
               c->op, tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n);
    check_same(got, want, c->in.rows + 3, bytes, "reduce %s of %s, %lld x %lld, stride %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride);
}

static void scan(tally *ctx, const problem *c)
{
    tally_scan_options o = {(int)check_below(2), (int)check_below(3) == 0, NULL};
    char init[16];
    check_fill(init, c->s->out, 1, TL_DATA_HOSTILE);
    if (c->s->seedable && check_below(2)) o.init = init;
    const tally_view out = results(c, c->in.n);
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_scan(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_path(ctx, c, o.reverse && c->in.offsets);
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, o.reverse);
        for (int64_t i = 0; i < q.n; i++) {
            fold(&q, 0, i + !o.exclusive, o.init, 0, line);
            put(c, &out, r, o.reverse ? q.n - 1 - i : i, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of scan %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1,
               "scan %s of %s, %lld x %lld, stride %lld to %lld, options %d %d %d", c->op,
               tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride, (long long)out.stride, o.exclusive, o.reverse,
               o.init != NULL);
}

/* Any ranges of a sequence. */
static void window_ranges(tally *ctx, const problem *c)
{
    static int64_t start[700], end[700];
    const int64_t results = check_below(600), n = c->in.n,
                  least = check_below(2) ? 0 : check_below(9);
    if (c->in.rows != 1 || c->in.offsets) return;
    const int strided = (int)check_below(3) == 0;
    tally_view out = {got, c->s->out, 1, results, results, 1 + strided};
    memset(got, 0x55, sizeof got);
    memset(want, 0x55, sizeof want);
    for (int64_t r = 0; r < results; r++) {
        start[r] = check_below(n + 1);
        end[r] = start[r] + check_below(check_below(2) ? 9 : n + 1);
        if (end[r] > n) end[r] = n;
        if (r && check_below(4) == 0) start[r] = start[r - 1], end[r] = end[r - 1];
    }
    if (!check_ok(ctx, tally_window_ranges(ctx, c->op, &c->in, start, end, results, &out, least),
                  c->op))
        return;
    const sequence q = bring(&c->in, c->s, c->p, 0, 0);
    for (int64_t r = 0; r < results; r++) {
        fold(&q, start[r], end[r] - start[r], NULL, least, line);
        put(c, &out, 0, r, line);
    }
    check_same(got, want, (int64_t)sizeof got, 1,
               "ranges %s of %s, %lld, stride %lld to %lld, min_count %lld", c->op,
               tally_dtype_name(c->in.dtype), (long long)n, (long long)c->in.stride,
               (long long)out.stride, (long long)least);
}

static void window(tally *ctx, const problem *c)
{
    tally_window_options o = {.before = check_size(200),
                              .after = check_below(3) ? 0 : check_below(9)};
    o.edges = (tally_edges)check_below(c->in.offsets ? 2 : 3);
    if (check_below(2)) o.min_count = check_below(o.before + o.after + 2);
    if (check_below(6) == 0 && !c->in.offsets) o.step = 1 + check_below(5);
    const int64_t shift = check_below(4)   ? 0
                          : check_below(2) ? -o.after - check_below(20) - 1
                                           : o.before + 1 + check_below(20);
    o.before -= shift, o.after += shift; /* all of it before its position, or after it */
    const tally_view out = results(c, c->in.offsets ? 0 : tally_window_length(c->in.n, &o));
    tally_view where = out;
    where.data = give_results(ctx, c), where.offsets = c->given.offsets;
    if (!check_ok(ctx, tally_window(ctx, c->op, &c->given, &where, &o), c->op)) return;
    take_results(ctx, c);
    check_path(ctx, c, o.step > 1 || o.before < 0 || o.after < 0);
    const int64_t step = o.step > 1 ? o.step : 1;
    for (int64_t r = 0; r < c->in.rows; r++) {
        const sequence q = bring(&c->in, c->s, c->p, r, 0);
        int64_t number = 0, to = 0;
        for (int64_t i = 0; i < q.n; i++) {
            const int full = i - o.before >= 0 && i + o.after < q.n;
            if (!full && o.edges == TALLY_EDGES_VALID) continue;
            if (number++ % step) continue;
            window_at(&q, &o, i, line);
            put(c, &out, r, to++, line);
        }
    }
    check_same(marks[0], marks[1], sizeof marks[0], 1, "validity of window %s of %s", c->op,
               tally_dtype_name(c->in.dtype));
    check_same(got, want, (int64_t)sizeof got, 1,
               "window %s of %s, %lld x %lld, stride %lld, %lld + 1 + %lld, edges %d, min_count "
               "%lld, step %lld",
               c->op, tally_dtype_name(c->in.dtype), (long long)c->in.rows, (long long)c->in.n,
               (long long)c->in.stride, (long long)o.before, (long long)o.after, (int)o.edges,
               (long long)o.min_count, (long long)o.step);
}

/* ---- what is refused ---- */

static void refused(tally *ctx, tally_status status, const char *words)
{
    check(status == TALLY_INVALID && strstr(tally_error(ctx), words), "refused: %s; wanted %s",
          tally_error(ctx), words);
}

/* Bits of results: a view without bits of its own, bits that lie over results, none at all. */
static void result_bits(tally *ctx)
{
    const int32_t x[5] = {3, 1, 4, 1, 5};
    int32_t y[5] = {7, 7, 7, 7, 7};
    unsigned char bits = 0xe0;
    const tally_view in = tally_flat(x, TALLY_I32, 5);
    tally_view out = tally_flat(y, TALLY_I32, 5);
    const tally_window_options w = {.before = 1}, least = {.before = 2, .min_count = 2};
    out.valid = &bits;
    check_ok(ctx, tally_window(ctx, "min", &in, &out, &w), "window");
    check(bits == 0xfe && y[4] == 1, "bits %x", bits);
    check_ok(ctx, tally_window(ctx, "min", &in, &out, &least), "window");
    check(bits == 0xfe, "bits %x", bits);
    check_ok(ctx, tally_scan(ctx, "max", &in, &out, &(tally_scan_options){.exclusive = 1}), "scan");
    check(bits == 0xfe, "bits %x", bits);
    y[4] = 7;
    out.valid = y;
    refused(ctx, tally_window(ctx, "min", &in, &out, &w),
            "out->valid overlaps elements or results");
    out.valid = x;
    refused(ctx, tally_scan(ctx, "min", &in, &out, NULL),
            "out->valid overlaps elements or results");
    out.valid = &bits, out.valid_offset = -1;
    refused(ctx, tally_scan(ctx, "min", &in, &out, NULL), "out->valid_offset is -1");
    refused(ctx, tally_reduce_valid(ctx, "min", &in, NULL, 0), "valid is NULL");
    refused(NULL, tally_reduce_valid(NULL, "min", &in, &bits, 0), "ctx is NULL");
    check(y[4] == 7 && bits == 0xfe, "something was written");
    check(tally_common_dtype(TALLY_F16, TALLY_BF16) == TALLY_F32 &&
              tally_common_dtype(TALLY_I8, TALLY_U64) == TALLY_F64 &&
              tally_common_dtype(TALLY_U8, TALLY_U32) == TALLY_U64 &&
              !tally_common_dtype(TALLY_I8, (tally_dtype)99),
          "common types");
}

/* Results over the first or the last byte of the bits of what goes in; beside them they are
   welcome. */
static void apart(tally *ctx)
{
    enum { N = 100, BYTES = (N + 7) / 8 };
    static const int8_t x[N];
    static _Alignas(8) int8_t memory[2 * N + BYTES];
    int8_t *const bits = memory + N;
    tally_view in = tally_flat(x, TALLY_I8, N), next = in, out = tally_flat(NULL, TALLY_I8, N);
    in.valid = bits;
    for (int late = 0; late < 2; late++) {
        memset(memory, 255, sizeof memory);
        out.data = late ? bits + BYTES - 1 : bits - N + 1;
        refused(ctx, tally_scan(ctx, "max", &in, &out, NULL), "out overlaps the validity of in:");
        check(memory[N - 1] == -1 && memory[N + BYTES] == -1, "something was written");
        out.data = late ? bits + BYTES : bits - N;
        check_ok(ctx, tally_scan(ctx, "max", &in, &out, NULL), "beside the bits");
    }
    in.valid = NULL, in.next = &next, next.valid = memory;
    refused(ctx, tally_reduce(ctx, "dot", &in, memory), "out overlaps the validity of in->next:");
    next.valid = NULL, next.data = memory;
    refused(ctx, tally_reduce(ctx, "dot", &in, memory), "out overlaps in->next:");
}

/* The bits of no elements may have any number. */
static void no_elements(tally *ctx)
{
    static const unsigned char bits[1];
    const int64_t offsets[2] = {8, 8}, numbers[] = {-5, 3, INT64_MIN, INT64_MAX};
    for (int k = 0; k < 8; k++) {
        int8_t most = 0;
        tally_view in =
            k % 2 ? tally_segments(NULL, TALLY_I8, offsets, 1) : tally_flat(NULL, TALLY_I8, 0);
        in.valid = bits, in.valid_offset = numbers[k / 2];
        check_ok(ctx, tally_reduce(ctx, "max", &in, &most), "no elements");
        check(most == INT8_MIN, "max of no elements is %d", most);
    }
}

/* Results over offsets are refused. An initial value may lie among the results. */
static void over_options(tally *ctx)
{
    int64_t offsets[4] = {0, 4, 8, 12};
    float x[12], sums[12];
    for (int i = 0; i < 12; i++) x[i] = 1, sums[i] = 100;
    const tally_view in = tally_segments(x, TALLY_F32, offsets, 3);
    tally_view out = in, rows = tally_rows(x, TALLY_F32, 3, 4), to = rows;
    out.data = offsets;
    refused(ctx, tally_reduce(ctx, "sum", &in, offsets + 3), "out overlaps in->offsets");
    refused(ctx, tally_scan(ctx, "sum", &in, &out, NULL), "out overlaps in->offsets");
    check(offsets[0] == 0 && offsets[3] == 12, "something was written");

    const unsigned char all[2] = {255, 255};
    to.data = sums;
    for (int with = 0; with < 2; with++) {
        const tally_scan_options from = {.exclusive = with, .init = &sums[1 - with]};
        sums[1 - with] = 100;
        rows.valid = with ? all : NULL;
        check_ok(ctx, tally_scan(ctx, "sum", &rows, &to, &from), "init in out");
        check(sums[4] == 101 - with && sums[11] == 104 - with, "init in out: %g %g",
              (double)sums[4], (double)sums[11]);
    }
}

/* What only the processors do. */
static void in_parts(tally *ctx, const problem *c)
{
    if (check_below(2)) fragments(ctx, c);
    if (check_below(2)) streams(ctx, c, NULL);
    if (check_below(4) == 0 && c->in.n <= 600) stream_scan(ctx, c);
    if (check_below(4) == 0 && c->in.n <= 600) stream_window(ctx, c);
    if (check_below(4) == 0 && c->in.n <= 600) window_ranges(ctx, c);
}

/* few: programs that other tests have compiled too. */
static void run(tally *ctx, int64_t cases, int few)
{
    static problem c;
    for (int64_t k = 0; k < cases; k++) {
        c = (problem){.op = ""};
        if (!make(&c)) continue;
        place_inputs(ctx, &c);
        if (!few || c.in.n < CHUNK) reduce(ctx, &c);
        if (!block[STORE].bytes) in_parts(ctx, &c);
        if (check_below(4) == 0 && c.in.n <= 600) scan(ctx, &c);
        if (!few && check_below(4) == 0 && c.in.n <= 600) window(ctx, &c);
    }
}

/* Exact sums: by the device and nobody else. */
static void exact(tally *ctx)
{
    static const char *const ops[] = {"sum:exact",    "dot:exact",    "mean:exact",
                                      "nansum:exact", "nandot:exact", "nanmean:exact"};
    static const tally_dtype types[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
    static problem c;
    tally *processors = check_open(1, NULL);
    tally_times_info times;
    for (int k = 0; k < (check_quick ? 36 : 72); k++) {
        const char *const op = ops[k % 6];
        const tally_dtype d = types[check_below(4)];
        const int64_t rows = check_below(2) ? 1 : 1 + check_below(60), n = check_size(MOST / rows);
        const int segments = check_below(4) == 0, dense = (int)check_below(2), two = k % 3 == 1;
        c = (problem){.op = ""};
        if (segments) c.offsets[0] = check_below(20);
        for (int64_t r = 0; r < rows && segments; r++)
            c.offsets[r + 1] = c.offsets[r] + check_below(2 * n / (rows + 1) + 1);
        const tally_view plain = {.rows = rows,
                                  .n = n,
                                  .row_stride = n,
                                  .stride = 1,
                                  .offsets = segments ? c.offsets : NULL};
        for (int i = 0; i < 2; i++)
            check_fill(store[i], d, CAPACITY, (tl_data)check_below(TL_DATA_KINDS)), bits_of(i);
        c.in = view(0, plain, d, dense, (int)check_below(2));
        c.next = view(1, plain, d, dense, (int)check_below(2));
        if (two) c.in.next = &c.next;
        place_inputs(ctx, &c);
        void *const to = give_results(ctx, &c);
        check_ok(processors, tally_reduce(processors, op, &c.in, want), op);
        check_ok(ctx, tally_time(ctx, 1), "time");
        check_ok(ctx, tally_reduce(ctx, op, &c.given, to), op);
        check_ok(ctx, tally_times(ctx, &times), "times");
        take_results(ctx, &c);
        check_same(got, want, sizeof got, 1, "%s of %s, %lld x %lld, strides %lld %lld, bits %d",
                   op, tally_dtype_name(d), (long long)rows, (long long)n,
                   (long long)c.in.row_stride, (long long)c.in.stride, c.in.valid != NULL);
        const int64_t elements = segments ? c.offsets[rows] - c.offsets[0] : rows * n;
        check(!times.on_processors && (times.launches || !elements),
              "%s: %lld launches, %lld elements on the processors", op, (long long)times.launches,
              (long long)times.on_processors);
    }
    check_ok(ctx, tally_time(ctx, 1), "time");
    tally_close(processors);
}

static void on_device(const char *name)
{
    static const size_t bytes[BLOCKS] = {sizeof store[0],  sizeof store[1],
                                         sizeof bitmap[0], sizeof bitmap[1],
                                         sizeof got,       sizeof((problem *)0)->offsets};
    const int few = !strcmp(only_op, "") && !check_long;
    tally *ctx;
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    if (!strcmp(only_op, "")) only_op = few ? "sum" : "all", only_type = few ? "f32" : "all";
    tl_gpu *gpu = tl_gpu_of(ctx->device)->gpu;
    int ready = check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS && ready; b++)
        ready = check_ok(ctx, gpu->calls->allocate(gpu, ctx, bytes[b], &block[b]), "a block");
    gpu->calls->leave(gpu);
    if (!ready) return;
    check_ok(ctx, tally_time(ctx, 1), "time");
    no_elements(ctx);
    run(ctx, few || check_quick ? 200 : 1000, few);
    exact(ctx);
    check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS; b++) gpu->calls->release(gpu, &block[b]);
    gpu->calls->leave(gpu);
    memset(block, 0, sizeof block);
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    check_start();
    for (int t = CHECK_LEAST_THREADS; t <= 2 && argc < 3; t++) {
        tally *ctx = check_open(t, NULL);
        one_is_whole(ctx);
        result_bits(ctx);
        apart(ctx);
        no_elements(ctx);
        over_options(ctx);
        in_blocks(ctx);
        run(ctx, check_quick ? 80 : check_long ? 20000 : 1500, 0);
        tally_close(ctx);
    }
    only_op = argc > 2 ? argv[1] : "", only_type = argc > 2 ? argv[2] : "";
    /* PoCL's own threads are not watched */
    if (CHECK_LEAST_THREADS == 1) for_each_gpu(NULL, on_device);
    return check_finish();
}

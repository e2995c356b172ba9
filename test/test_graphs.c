/* SPDX-License-Identifier: MIT
 * CUDA graphs, streams and allocators on a device: the bits of the processors in 1,000 replays over
 * data that changes, beside other work in other streams and threads; what a capture refuses does
 * not spoil it; memory of graphs and of an allocator is given back. Skipped without a CUDA device.
 * test_slots.c has the same without a GPU, and counts calls of the driver. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

enum {
    SKIPPED = 77,
    N = 70003,
    LEAST = 60000,
    SETS = 8,
    REPLAYS = 1000,
    OUT = 4 * N,
    STREAMS = 40
};

typedef unsigned long long address;
#define DRIVER(F) \
    F(cuInit, (unsigned)) \
    F(cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuCtxPushCurrent_v2, (void *)) \
    F(cuCtxCreate_v2, (void **, unsigned, int)) \
    F(cuCtxDestroy_v2, (void *)) \
    F(cuMemAlloc_v2, (address *, size_t)) \
    F(cuMemFree_v2, (address)) \
    F(cuMemcpyHtoDAsync_v2, (address, const void *, size_t, void *)) \
    F(cuMemcpyDtoHAsync_v2, (void *, address, size_t, void *)) \
    F(cuStreamCreate, (void **, unsigned)) \
    F(cuStreamDestroy_v2, (void *)) \
    F(cuStreamSynchronize, (void *)) \
    F(cuStreamBeginCapture_v2, (void *, int)) \
    F(cuStreamEndCapture, (void *, void **)) \
    F(cuGraphInstantiateWithFlags, (void **, void *, address)) \
    F(cuGraphLaunch, (void *, void *)) \
    F(cuGraphExecDestroy, (void *)) \
    F(cuGraphDestroy, (void *))
#define DECLARE(name, parameters) static int(*name) parameters;
DRIVER(DECLARE)

static int find_driver(void)
{
    void *const l = dlopen("libcuda.so.1", RTLD_NOW);
    int all = l && !dlsym(l, "fake_cuda_loads");
#define FIND(name, parameters) all = all && (*(void **)&name = dlsym(l, #name)) != NULL;
    DRIVER(FIND)
    return all;
}

/* A call of the driver that must not fail. */
#define DO(call) check((call) == 0, "%s failed", #call)

/* ---- the calls of a graph ---- */

static const int64_t offsets[] = {0, 3, 3, 70, 1500, 1501, 30000, 31000, LEAST};
enum { SEGMENTS = sizeof offsets / sizeof *offsets - 1 };

typedef struct {
    const char *op;
    enum { FLAT, SMALL, ROWS, SHORT, FEW, MANY_COLUMNS, CUT, BITS, PAIRS } shape;
    enum { REDUCE, SCAN, BACK, FROM, WINDOW, LONG } verb;
    tally_dtype dtype;
} one;
static const one calls[] = {
    {"sum", FLAT, REDUCE, TALLY_F32},        {"max", FLAT, REDUCE, TALLY_F32},
    {"argmin", FLAT, REDUCE, TALLY_I16},     {"var", FLAT, REDUCE, TALLY_F64},
    {"sum:exact", FLAT, REDUCE, TALLY_F32},  {"sum", SMALL, REDUCE, TALLY_F32},
    {"mean", ROWS, REDUCE, TALLY_F32},       {"sum", SHORT, REDUCE, TALLY_F32},
    {"sum", FEW, REDUCE, TALLY_F32},         {"mean", MANY_COLUMNS, REDUCE, TALLY_F32},
    {"sum", CUT, REDUCE, TALLY_F32},         {"nansum", FLAT, REDUCE, TALLY_F32},
    {"sum", BITS, REDUCE, TALLY_F32},        {"dot", PAIRS, REDUCE, TALLY_F32},
    {"sum", FLAT, SCAN, TALLY_F32},          {"sum", FLAT, FROM, TALLY_F32},
    {"sum", FLAT, BACK, TALLY_F32},          {"max", FLAT, SCAN, TALLY_I16},
    {"var", FLAT, SCAN, TALLY_F64},          {"sum", ROWS, SCAN, TALLY_F32},
    {"sum", SHORT, SCAN, TALLY_F32},         {"sum", FEW, SCAN, TALLY_F32},
    {"sum", MANY_COLUMNS, SCAN, TALLY_F32},  {"sum", CUT, SCAN, TALLY_F32},
    {"sum", FLAT, WINDOW, TALLY_F32},        {"mean", FLAT, LONG, TALLY_F32},
    {"max", FLAT, LONG, TALLY_F32},          {"sum", CUT, WINDOW, TALLY_F32},
    {"sum", MANY_COLUMNS, WINDOW, TALLY_F32}};
enum { CALLS = sizeof calls / sizeof *calls };

static tally_view view_of(const one *c, char *data, tally_dtype dtype)
{
    const int64_t n = LEAST / (int64_t)tally_dtype_size(dtype) * 4;
    switch (c->shape) {
    case SMALL:
        return tally_flat(data, dtype, 100);
    case ROWS:
        return tally_rows(data, dtype, 20, LEAST / 20);
    case SHORT:
        return tally_rows(data, dtype, LEAST / 20, 20);
    case FEW:
        return tally_columns(data, dtype, LEAST / 5, 5);
    case MANY_COLUMNS:
        return tally_columns(data, dtype, LEAST / 60, 60);
    case CUT:
        return tally_segments(data, dtype, offsets, SEGMENTS);
    default:
        return tally_flat(data, dtype, n > LEAST ? LEAST : n);
    }
}

/* Call number i on the elements of x, which begin at an odd place; its results go to out. */
static tally_status run(tally *on, int i, char *x, char *out)
{
    static const float start = 3;
    const one *const c = &calls[i];
    const int64_t first = 4 + (int64_t)tally_dtype_size(c->dtype) % 8;
    tally_view in = view_of(c, x + first, c->dtype), second = in, to;
    tally_operator_info info;
    tally_status status = tally_operator(on, c->op, c->dtype, &info);
    if (status) return status;
    if (c->shape == BITS) in.valid = (const void *)x;
    if (c->shape == PAIRS) second.data = x + first + 4000, in.n -= 1000, second.n -= 1000;
    if (c->shape == PAIRS) in.next = &second;
    to = view_of(c, out, info.output);
    to.n = in.n;
    const tally_scan_options scan = {.reverse = c->verb == BACK,
                                     .init = c->verb == FROM ? &start : NULL};
    const tally_window_options window = {c->verb == LONG ? 20000 : 49, 0, TALLY_EDGES_SHRINK, 0};
    return c->verb == REDUCE   ? tally_reduce(on, c->op, &in, out)
           : c->verb >= WINDOW ? tally_window(on, c->op, &in, &to, &window)
                               : tally_scan(on, c->op, &in, &to, &scan);
}

static char *data[SETS], *want[SETS]; /* of the sets: the elements, and the results of all calls */

static void prepare(void)
{
    tally *cpu = NULL;
    if (!check_ok(NULL, tally_open(&cpu, "cpu"), "cpu")) exit(1);
    for (int s = 0; s < SETS; s++) {
        data[s] = calloc(N, 4);
        want[s] = calloc(CALLS, OUT);
        if (!data[s] || !want[s]) exit(2);
        check_fill(data[s], TALLY_F32, N, TL_DATA_PLAIN);
        for (int i = 0; i < CALLS; i++)
            check(!run(cpu, i, data[s], want[s] + (size_t)i * OUT), "cpu, call %d: %s", i,
                  tally_error(cpu));
    }
    tally_close(cpu);
}

/* ---- one place to work: a stream, and memory for elements and results ---- */

typedef struct {
    tally *ctx;
    void *stream, *graph, *exec;
    char *x, *out, *got; /* got: results on the host */
} place;

static void *memory(size_t bytes)
{
    address p = 0;
    if (!DO(cuMemAlloc_v2(&p, bytes))) exit(2);
    return (void *)(uintptr_t)p;
}

static void open_place(place *p, tally *ctx)
{
    *p = (place){.ctx = ctx, .x = memory(4 * N), .out = memory((size_t)CALLS * OUT)};
    p->got = malloc((size_t)CALLS * OUT);
    DO(cuStreamCreate(&p->stream, 1));
    memset(p->got, 0, (size_t)CALLS * OUT);
    DO(cuMemcpyHtoDAsync_v2((address)(uintptr_t)p->out, p->got, (size_t)CALLS * OUT, p->stream));
}
static void close_place(place *p)
{
    DO(cuStreamSynchronize(p->stream));
    if (p->exec) DO(cuGraphExecDestroy(p->exec));
    if (p->graph) DO(cuGraphDestroy(p->graph));
    DO(cuStreamDestroy_v2(p->stream));
    DO(cuMemFree_v2((address)(uintptr_t)p->x));
    DO(cuMemFree_v2((address)(uintptr_t)p->out));
    free(p->got);
}

static void load(place *p, void *stream, int set)
{
    DO(cuMemcpyHtoDAsync_v2((address)(uintptr_t)p->x, data[set], 4 * N, stream));
}

/* Waits, and compares all results with those of the set. Those of the last set are still there. */
static void compare(place *p, void *stream, int set, const char *what)
{
    DO(cuMemcpyDtoHAsync_v2(p->got, (address)(uintptr_t)p->out, (size_t)CALLS * OUT, stream));
    DO(cuStreamSynchronize(stream));
    for (int i = 0; i < CALLS; i++)
        check_same(p->got + (size_t)i * OUT, want[set] + (size_t)i * OUT, OUT, 1,
                   "%s, call %d (%s), set %d", what, i, calls[i].op, set);
}

static void eager(place *p, const char *what)
{
    check_ok(p->ctx, tally_use_stream(p->ctx, p->stream), "tally_use_stream");
    for (int i = 0; i < CALLS; i++)
        check(!run(p->ctx, i, p->x, p->out + (size_t)i * OUT), "%s, call %d: %s", what, i,
              tally_error(p->ctx));
}

/* The mode forbids the test's own calls of the driver: in all threads, or in this one. */
enum { GLOBAL, OF_THREAD };
static void begin(place *p, int mode) { DO(cuStreamBeginCapture_v2(p->stream, mode)); }
static void end(place *p)
{
    DO(cuStreamEndCapture(p->stream, &p->graph));
    DO(cuGraphInstantiateWithFlags(&p->exec, p->graph, 0));
}

static tally *open_cuda(void)
{
    tally *ctx = NULL;
    check_ok(NULL, tally_open(&ctx, "cuda:0,code=quick"), "cuda:0");
    return ctx;
}

/* ---- graphs ---- */

static void check_replays(void)
{
    place p, q;
    tally *ctx = open_cuda();
    open_place(&p, ctx), open_place(&q, ctx);
    load(&p, p.stream, 0);
    eager(&p, "eager");
    compare(&p, p.stream, 0, "eager");
    begin(&p, GLOBAL), eager(&p, "captured"), end(&p);
    const int replays = check_quick ? REPLAYS / 25 : REPLAYS;
    for (int r = 0; r < replays; r++) {
        load(&p, p.stream, r % SETS);
        DO(cuGraphLaunch(p.exec, p.stream));
        compare(&p, p.stream, r % SETS, "a replay");
    }

    /* another graph, launched in the stream where the context works as well */
    begin(&q, GLOBAL), eager(&q, "captured"), end(&q);
    for (int r = 0; r < (check_quick ? 5 : 50); r++) {
        load(&p, q.stream, r % SETS), load(&q, p.stream, (r + 3) % SETS);
        DO(cuStreamSynchronize(q.stream)), DO(cuStreamSynchronize(p.stream));
        DO(cuGraphLaunch(p.exec, q.stream));
        DO(cuGraphLaunch(q.exec, p.stream));
        compare(&p, q.stream, r % SETS, "two graphs at once, the first");
        compare(&q, p.stream, (r + 3) % SETS, "two graphs at once, the second");
        load(&q, q.stream, r % SETS), load(&p, p.stream, (r + 1) % SETS);
        DO(cuStreamSynchronize(q.stream));
        DO(cuGraphLaunch(p.exec, p.stream));
        eager(&q, "beside a graph");
        compare(&p, p.stream, (r + 1) % SETS, "a graph beside calls");
        compare(&q, q.stream, r % SETS, "calls beside a graph");
    }

    tally_close(ctx); /* the graphs still exist */
    close_place(&p);
    close_place(&q);
}

static void check_refused(void)
{
    static float host[1000];
    place p;
    tally *ctx = open_cuda();
    open_place(&p, ctx);
    load(&p, p.stream, 2);
    eager(&p, "before");
    const tally_view in = tally_flat(p.x, TALLY_F32, 1000),
                     from = tally_flat(host, TALLY_F32, 1000),
                     cut = tally_segments(p.x, TALLY_F32, (int64_t *)(void *)p.out, 3);
    begin(&p, GLOBAL);
    check(tally_reduce(ctx, "prod", &in, p.out) == TALLY_UNSUPPORTED, "a first compile");
    check(tally_reduce(ctx, "sum", &from, p.out) == TALLY_UNSUPPORTED, "host elements");
    check(tally_reduce(ctx, "sum", &in, host) == TALLY_UNSUPPORTED, "host results");
    check(tally_reduce(ctx, "sum", &cut, p.out) == TALLY_UNSUPPORTED, "offsets on the device");
    check(tally_copy(ctx, host, p.x, 4) == TALLY_UNSUPPORTED, "tally_copy");
    check(tally_reduce(ctx, "var:exact", &in, p.out) == TALLY_UNSUPPORTED &&
              strstr(tally_error(ctx), "statistics of exact sums"),
          "a statistic that the host computes: %s", tally_error(ctx));
    eager(&p, "captured after what was refused");
    end(&p);
    load(&p, p.stream, 5);
    DO(cuGraphLaunch(p.exec, p.stream));
    compare(&p, p.stream, 5, "a replay after what was refused");
    int64_t bytes[2] = {0};
    for (int i = 0; i < (check_quick ? 15 : 40); i++) {
        DO(cuGraphExecDestroy(p.exec)), DO(cuGraphDestroy(p.graph));
        begin(&p, GLOBAL), eager(&p, "captured again"), end(&p);
        tally_times_info times = {0};
        check_ok(ctx, tally_times(ctx, &times), "times");
        if (i < 10) bytes[0] = times.device_bytes;
        bytes[1] = times.device_bytes;
    }
    check(bytes[0] == bytes[1], "%lld bytes after many captures, %lld after 10",
          (long long)bytes[1], (long long)bytes[0]);
    load(&p, p.stream, 1);
    DO(cuGraphLaunch(p.exec, p.stream));
    compare(&p, p.stream, 1, "a replay of the last capture");
    tally_close(ctx);
    close_place(&p);
}

/* ---- streams, threads, allocators ---- */

static void check_streams(void)
{
    static place p[STREAMS];
    void *other = NULL, *foreign = NULL;
    tally *ctx = open_cuda();
    for (int s = 0; s < STREAMS; s++) open_place(&p[s], ctx), load(&p[s], p[s].stream, s % SETS);
    for (int s = 0; s < STREAMS; s++) eager(&p[s], "many streams");
    for (int s = 0; s < STREAMS; s++) compare(&p[s], p[s].stream, s % SETS, "many streams");
    for (uintptr_t handle = 1; handle <= 2; handle++) { /* legacy, per thread */
        void *const saved = p[0].stream;
        p[0].stream = (void *)handle;
        load(&p[0], p[0].stream, 4);
        eager(&p[0], "a default stream");
        compare(&p[0], p[0].stream, 4, "a default stream");
        p[0].stream = saved;
    }

    if (DO(cuCtxCreate_v2(&other, 0, 0)) && DO(cuStreamCreate(&foreign, 1)))
        check(tally_use_stream(ctx, foreign) == TALLY_INVALID, "a stream of another context: %s",
              tally_error(ctx));
    if (other) DO(cuCtxDestroy_v2(other));
    check_ok(ctx, tally_use_stream(ctx, NULL), "the own stream");
    for (int s = 0; s < STREAMS; s++) close_place(&p[s]);
    tally_close(ctx);
}

static void *primary;
static void *work(void *unused)
{
    place p;
    DO(cuCtxPushCurrent_v2(primary));
    for (int c = 0; c < 2; c++) {
        tally *ctx = open_cuda();
        open_place(&p, ctx);
        load(&p, p.stream, 6);
        eager(&p, "a thread");
        compare(&p, p.stream, 6, "a thread");
        begin(&p, OF_THREAD), eager(&p, "a thread's graph"), end(&p);
        for (int r = 0; r < 30; r++) {
            load(&p, p.stream, r % SETS);
            if (r % 2)
                eager(&p, "a thread's call");
            else
                DO(cuGraphLaunch(p.exec, p.stream));
            compare(&p, p.stream, r % SETS, "a thread's work");
        }
        tally_close(ctx);
        close_place(&p);
    }
    return unused;
}

static int given, taken;
static void *give(size_t bytes, void *stream, void *user)
{
    address p = 0;
    check(stream == *(void **)user, "an allocation for another stream");
    if (cuMemAlloc_v2(&p, bytes)) return NULL;
    given++;
    return (void *)(uintptr_t)p;
}
static void take(void *p, size_t bytes, void *stream, void *user)
{
    (void)bytes, (void)stream, (void)user;
    taken++;
    DO(cuMemFree_v2((address)(uintptr_t)p));
}

static void check_allocator(void)
{
    place p;
    tally *ctx = open_cuda();
    open_place(&p, ctx);
    const tally_allocator lent = {give, take, &p.stream};
    check_ok(ctx, tally_use_stream(ctx, p.stream), "a stream");
    check_ok(ctx, tally_use_allocator(ctx, &lent), "tally_use_allocator");
    for (int r = 0; r < 3; r++) {
        load(&p, p.stream, r);
        eager(&p, "an allocator");
        compare(&p, p.stream, r, "an allocator");
    }
    begin(&p, GLOBAL), eager(&p, "captured with an allocator"), end(&p);
    load(&p, p.stream, 7);
    DO(cuGraphLaunch(p.exec, p.stream));
    compare(&p, p.stream, 7, "a graph with an allocator");
    check(given > 3, "%d blocks", given);
    DO(cuStreamSynchronize(p.stream));
    tally_close(ctx);
    check(given == taken, "%d blocks given, %d taken back", given, taken);
    close_place(&p);
}

int main(void)
{
    pthread_t thread[2];
    tally_device_info info = {0};
    int cuda = 0;
    check_start();
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++)
        cuda |= info.usable && !strcmp(info.name, "cuda:0");
    if (!cuda || !find_driver() || !check_listed(getenv("TALLY_TEST_DEVICES"), "cuda:0")) {
        printf("skipped: no CUDA device here\n");
        return SKIPPED;
    }
    DO(cuInit(0)), DO(cuDevicePrimaryCtxRetain(&primary, 0)), DO(cuCtxPushCurrent_v2(primary));
    prepare();
    check_replays();
    check_refused();
    check_streams();
    check_allocator();
    for (int t = 0; t < 2; t++)
        if (pthread_create(&thread[t], NULL, work, NULL)) return 1;
    for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
    for (int s = 0; s < SETS; s++) free(data[s]), free(want[s]);
    return check_finish();
}

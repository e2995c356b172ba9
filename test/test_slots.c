/* SPDX-License-Identifier: MIT
 * Streams of the caller, graphs and allocators of CUDA contexts (src/gpu/memory.c), on a driver
 * that computes nothing (fake/cuda.c), so no GPU is needed: what a change of the stream costs, how
 * many slots there are, what a capture allows and what it refuses with which sentence, when the
 * memory of graphs is used again, what an allocator is asked for, and how many thread blocks a
 * launch has. test_graphs.c has the bits. */
#include "check.h"
#include "gpu/work.h"
#include "gpu/kernel/constants.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

enum { SKIPPED = 77, N = 60000, ROWS = 40, SEGMENTS = 3, GRAPHS = 50, MANY = 100 };
typedef struct {
    int waits, records, follows, launches, copies, memsets, captured_memsets, allocations, frees;
} counts;

static counts *count;
static void *(*new_stream)(int is_other);
static int (*capture)(void *stream, int begin), (*destroy)(void *stream);
static int (*push)(void *), (*pop)(void **), (*device_allocate)(uint64_t *, size_t),
    (*device_free)(uint64_t);
static size_t *held;
static unsigned *blocks;
static tally *ctx;
static float *x, *y; /* on the device, N elements */
static const int64_t offsets[SEGMENTS + 1] = {0, 20, 5000, N};
static int64_t *device_offsets;

static void *of_driver(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, name) : NULL;
}

static int find_fake(void)
{
    count = of_driver("fake_cuda_count");
    held = of_driver("fake_cuda_held");
    blocks = of_driver("fake_cuda_blocks");
    *(void **)&new_stream = of_driver("fake_cuda_stream");
    *(void **)&capture = of_driver("fake_cuda_capture");
    *(void **)&destroy = of_driver("fake_cuda_destroy");
    *(void **)&push = of_driver("cuCtxPushCurrent_v2");
    *(void **)&pop = of_driver("cuCtxPopCurrent_v2");
    *(void **)&device_allocate = of_driver("cuMemAlloc_v2");
    *(void **)&device_free = of_driver("cuMemFree_v2");
    return count && held && blocks && new_stream && capture && destroy && push && pop &&
           device_allocate && device_free;
}

static void *on_device(size_t bytes)
{
    uint64_t p = 0;
    int pushed = push(&count), error = pushed ? 1 : device_allocate(&p, bytes);
    pop(NULL);
    if (error) exit(2);
    return (void *)(uintptr_t)p;
}

static tl_gpu_device *device(void) { return tl_gpu_of(ctx->device); }

static void open_context(void)
{
    if (!check_ok(NULL, tally_open(&ctx, "cuda:0,probe=off,threads=1"), "the fake")) exit(1);
}

static void use(void *stream) { check_ok(ctx, tally_use_stream(ctx, stream), "tally_use_stream"); }

/* ---- calls: those that a graph can have, then those that it cannot ---- */

static tally_status call(int which)
{
    const tally_view flat = tally_flat(x, TALLY_F32, N), flat_out = tally_flat(y, TALLY_F32, N),
                     rows = tally_rows(x, TALLY_F32, ROWS, N / ROWS),
                     rows_out = tally_rows(y, TALLY_F32, ROWS, N / ROWS),
                     columns = tally_columns(x, TALLY_F32, N / ROWS, ROWS),
                     columns_out = tally_columns(y, TALLY_F32, N / ROWS, ROWS),
                     cut = tally_segments(x, TALLY_F32, offsets, SEGMENTS),
                     cut_out = tally_segments(y, TALLY_F32, offsets, SEGMENTS),
                     small = tally_flat(x, TALLY_F32, 20);
    const tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0},
                               long_ = {30000, 0, TALLY_EDGES_SHRINK, 0};
    static const float start = 3;
    const tally_scan_options from = {.init = &start};
    switch (which) {
    case 0:
        return tally_reduce(ctx, "sum", &flat, y);
    case 1:
        return tally_reduce(ctx, "max", &flat, y);
    case 2:
        return tally_reduce(ctx, "sum", &rows, y);
    case 3:
        return tally_reduce(ctx, "sum", &columns, y);
    case 4:
        return tally_reduce(ctx, "sum", &cut, y);
    case 5:
        return tally_scan(ctx, "sum", &flat, &flat_out, NULL);
    case 6:
        return tally_scan(ctx, "sum", &flat, &flat_out, &from);
    case 7:
        return tally_scan(ctx, "sum", &columns, &columns_out, NULL);
    case 8:
        return tally_scan(ctx, "sum", &cut, &cut_out, NULL);
    case 9:
        return tally_window(ctx, "sum", &flat, &flat_out, &w);
    case 10:
        return tally_window(ctx, "sum", &flat, &flat_out, &long_);
    case 11:
        return tally_window(ctx, "sum", &cut, &cut_out, &w);
    case 12:
        return tally_reduce(ctx, "sum:exact", &flat, y);
    case 13:
        return tally_scan(ctx, "sum", &rows, &rows_out, NULL);
    case 14:
        return tally_reduce(ctx, "sum", &small, y);
    default:
        return TALLY_INVALID;
    }
}
enum { CALLS = 15 };

static void all_calls(const char *when)
{
    for (int i = 0; i < CALLS; i++) check(!call(i), "%s: call %d: %s", when, i, tally_error(ctx));
}

/* ---- streams ---- */

static void check_switches(void)
{
    void *const a = new_stream(0), *const b = new_stream(0);
    open_context();
    use(a);
    all_calls("a stream");
    const uint64_t table = device()->slot->status_table.memory.address;
    use(b);
    all_calls("a second stream");
    check(device()->slot->status_table.memory.address != table, "two streams share a table");
    *count = (counts){0};
    for (int i = 0; i < 2 * MANY; i++) {
        use(i % 2 ? b : a);
        check(!call(0) && !call(5) && !call(9), "round %d: %s", i, tally_error(ctx));
    }
    check(!count->waits && !count->copies && !count->memsets && !count->allocations &&
              !count->frees,
          "%d changes of the stream: %d waits, %d copies, %d memsets, %d and %d allocations",
          2 * MANY, count->waits, count->copies, count->memsets, count->allocations, count->frees);
    check(count->records == 2 * MANY && count->follows == 2 * MANY,
          "%d changes of the stream: %d events recorded and %d waited for", 2 * MANY,
          count->records, count->follows);
    *count = (counts){0};
    for (int i = 0; i < MANY; i++) use(b), check(!call(0), "again: %s", tally_error(ctx));
    check(!count->records && !count->follows, "the same stream: %d events", count->records);
    check(tally_use_stream(ctx, new_stream(1)) == TALLY_INVALID &&
              strstr(tally_error(ctx), "must be a stream of the primary context of cuda:0"),
          "a stream of another device: %s", tally_error(ctx));
    check(device()->handle == b && !call(0), "after a stream that was refused");
    tally_close(ctx);
}

/* More streams than slots: the memory of the oldest goes to the next, and its event orders it. */
static void check_many(void)
{
    tally_times_info times;
    int slots = 0;
    open_context();
    for (int i = 0; i < MANY; i++) {
        if (i == TL_SLOTS) *count = (counts){0};
        use(new_stream(0));
        check(!call(0) && !call(5), "stream %d: %s", i, tally_error(ctx));
    }
    for (tl_slot *s = &device()->first_slot; s; s = s->next) slots++;
    check(slots == TL_SLOTS + 1, "%d streams have %d slots", MANY, slots);
    check(!count->allocations && !count->waits,
          "streams beyond the slots: %d allocations, %d waits", count->allocations, count->waits);
    check(count->follows == MANY - TL_SLOTS, "%d slots taken over after %d events", MANY - TL_SLOTS,
          count->follows);
    check_ok(ctx, tally_times(ctx, &times), "times");
    use(NULL);
    float total;
    const tally_view in = tally_flat(x, TALLY_F32, N);
    check_ok(ctx, tally_reduce(ctx, "sum", &in, &total), "the own stream");
    tally_close(ctx);
}

static void *one_call(void *unused)
{
    check(!call(0), "a call of another thread: %s", tally_error(ctx));
    return unused;
}

/* cudaStreamPerThread is another stream in each thread. */
static void check_threads(void)
{
    pthread_t thread;
    open_context();
    use((void *)2);
    *count = (counts){0};
    for (int i = 0; i < 10; i++) {
        if (pthread_create(&thread, NULL, one_call, NULL) || pthread_join(thread, NULL)) exit(2);
        one_call(NULL);
    }
    check(count->records == 20 && count->follows >= 19, "per-thread streams: %d events, %d waits",
          count->records, count->follows);
    use((void *)1);
    check(!call(0), "the legacy stream: %s", tally_error(ctx));
    tally_close(ctx);
}

/* ---- graphs ---- */

static void check_capture(void)
{
    void *const s = new_stream(0), *const side = new_stream(0);
    open_context();
    use(s);
    all_calls("before the capture");
    const tl_slot *const eager = device()->slot;
    capture(s, 1);
    *count = (counts){0};
    all_calls("in the capture");
    check(count->launches >= CALLS && !count->captured_memsets, "captured: %d launches, %d memsets",
          count->launches, count->captured_memsets);
    check(device()->slot != eager &&
              device()->slot->status_table.memory.address != eager->status_table.memory.address,
          "a graph has its own memory");
    check(!capture(s, 0), "the calls spoiled the capture");
    all_calls("after the capture");
    check(device()->slot == eager, "after the capture: the stream's slot");

    use(side); /* a capture that begins in a stream where the context is not */
    check(!call(0), "side: %s", tally_error(ctx));
    capture(s, 1);
    use(s);
    check(!call(0), "a stream used in its capture: %s", tally_error(ctx));
    use(side);
    check(!call(0), "a side stream meanwhile: %s", tally_error(ctx));
    use(s);
    check(!capture(s, 0), "changes of the stream spoiled the capture");
    check(!call(0) && destroy(s) == 2, "two captures, two objects");
    tally_close(ctx);
}

/* Each is refused with its sentence, and the capture goes on. */
static void check_refused(void)
{
    static float host[N];
    int64_t *const runs = (int64_t *)y;
    void *const s = new_stream(0);
    const tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(y, TALLY_F32, N),
                     from_host = tally_flat(host, TALLY_F32, N), keys = tally_flat(x, TALLY_I32, N),
                     half = tally_flat(y, TALLY_F32, N / 2),
                     cut = tally_segments(x, TALLY_F32, device_offsets, SEGMENTS),
                     back = tally_segments(x, TALLY_F32, offsets, SEGMENTS),
                     back_out = tally_segments(y, TALLY_F32, offsets, SEGMENTS);
    const tally_scan_options reverse = {.reverse = 1};
    const tally_window_options step = {3, 0, TALLY_EDGES_SHRINK, 0, .step = 2};
    const tally_allocator none = {0};
    tally_stream *stream;
    int64_t number;
    open_context();
    use(s);
    all_calls("before the capture");
    check_ok(ctx, tally_stream_reduce(ctx, "sum", TALLY_F32, &stream), "a stream of data");
    capture(s, 1);
#define REFUSED(call, words) \
    check((call) == TALLY_UNSUPPORTED && strstr(tally_error(ctx), "captured into a graph") && \
              strstr(tally_error(ctx), words), \
          "%s: %s", #call, tally_error(ctx))
    REFUSED(tally_reduce(ctx, "sum", &from_host, y), "host memory");
    REFUSED(tally_reduce(ctx, "sum", &in, host), "host memory");
    REFUSED(tally_reduce(ctx, "sum", &cut, y), "offsets");
    REFUSED(tally_reduce(ctx, "prod", &in, y), "make the same call once before");
    REFUSED(tally_scan(ctx, "sum:exact", &in, &out, NULL), "before the capture");
    REFUSED(tally_scan(ctx, "sum", &back, &back_out, &reverse), "before the capture");
    REFUSED(tally_window(ctx, "sum", &in, &half, &step), "before the capture");
    REFUSED(tally_copy(ctx, y, host, 100), "before the capture");
    REFUSED(tally_stream_push(stream, x, N, NULL, &number), "before the capture");
    REFUSED(tally_use_allocator(ctx, NULL), "before the capture");
    REFUSED(tally_runs(ctx, &keys, runs, &number), "before the capture");
    check(tally_use_allocator(ctx, &none) == TALLY_INVALID, "an allocator without functions");
    check(!call(0), "after what was refused: %s", tally_error(ctx));
    check(!capture(s, 0), "what was refused spoiled the capture");
    all_calls("after the capture");
    tally_stream_close(stream);
    tally_close(ctx);
    destroy(s); /* a graph that outlives the context */
}

/* The memory of a graph that is gone serves the next; that of a graph that exists does not. */
static void check_lifetimes(void)
{
    void *const s = new_stream(0);
    size_t after[2] = {0};
    open_context();
    use(s);
    all_calls("before the capture");
    for (int i = 0; i < GRAPHS; i++) {
        capture(s, 1);
        all_calls("in a capture");
        check(!capture(s, 0), "capture %d is spoiled", i);
        check(destroy(s) == 1, "a graph keeps one object");
        if (i < 2) after[i] = *held;
    }
    check(*held == after[1], "%d graphs one after the other: %zu bytes, %zu after two", GRAPHS,
          *held, after[1]);
    uint64_t tables[2];
    for (int i = 0; i < 2; i++) {
        capture(s, 1);
        check(!call(0), "graph %d: %s", i, tally_error(ctx));
        tables[i] = device()->slot->status_table.memory.address;
        capture(s, 0);
    }
    check(tables[0] != tables[1], "two graphs share memory");
    check(tally_use_allocator(ctx, NULL) == TALLY_INVALID && strstr(tally_error(ctx), "graphs"),
          "an allocator while there are graphs: %s", tally_error(ctx));
    destroy(s);
    check_ok(ctx, tally_use_allocator(ctx, NULL), "an allocator without graphs");
    tally_close(ctx);
}

/* ---- allocators ---- */

typedef struct {
    int given, taken, wrong, fails; /* fails: number of the call that does; 0: none */
    size_t bytes;
    void *stream;
    int calls;
} pool;
static char host_block[1024];

static void *pool_allocate(size_t bytes, void *stream, void *user)
{
    pool *const p = user;
    uint64_t to = 0;
    p->calls++;
    p->wrong += p->stream && stream != p->stream;
    if (p->fails > 0 && p->calls >= p->fails) return NULL;
    if (p->fails < 0) return p->given++, host_block;
    if (device_allocate(&to, bytes)) return NULL;
    p->given++;
    p->bytes += bytes;
    return (void *)(uintptr_t)to;
}
static void pool_release(void *memory, size_t bytes, void *stream, void *user)
{
    pool *const p = user;
    p->taken++;
    p->wrong += p->stream && stream != p->stream;
    if (memory == host_block) return;
    p->bytes -= bytes;
    device_free((uint64_t)(uintptr_t)memory);
}

static void check_allocator(void)
{
    void *const s = new_stream(0);
    pool p = {.stream = s};
    const tally_allocator lent = {pool_allocate, pool_release, &p};
    open_context();
    use(s);
    all_calls("before");
    const size_t others = *held;
    check_ok(ctx, tally_use_allocator(ctx, &lent), "tally_use_allocator");
    check(*held < others, "the context's own memory is given back");
    all_calls("with an allocator");
    check(p.given > 3 && !p.wrong, "%d blocks, %d for another stream", p.given, p.wrong);
    check((int64_t)p.bytes == (int64_t)device()->held, "%zu bytes lent, %zu held", p.bytes,
          device()->held);
    const int given = p.given;
    check(!call(0) && !call(5) && !call(9) && p.given == given, "small blocks are kept");
    for (int i = 0; i < CALLS; i++)
        for (int k = 1; k < 20; k++) {
            check_ok(ctx, tally_use_allocator(ctx, &lent), "again");
            check(!p.bytes && p.given == p.taken, "%d given, %d taken back", p.given, p.taken);
            p.calls = 0, p.fails = k;
            const tally_status status = call(i);
            p.fails = 0;
            if (p.calls < k) break;
            check(status == TALLY_NO_MEMORY &&
                      strstr(tally_error(ctx), "tally_use_allocator gave no"),
                  "call %d, block %d: %s: %s", i, k, tally_status_name(status), tally_error(ctx));
            check(!call(i), "call %d after block %d: %s", i, k, tally_error(ctx));
        }
    check_ok(ctx, tally_use_allocator(ctx, &lent), "again");
    p.fails = -1;
    check(call(5) == TALLY_INVALID && strstr(tally_error(ctx), "must be memory of cuda:0"),
          "host memory: %s", tally_error(ctx));
    p.fails = 0;
    all_calls("after host memory");
    capture(s, 1);
    all_calls("captured, with an allocator");
    check(!capture(s, 0), "the capture is spoiled");
    destroy(s);
    check_ok(ctx, tally_use_allocator(ctx, NULL), "back to CUDA's");
    check(!p.bytes && p.given == p.taken && !p.wrong, "%d given, %d taken back, %d wrong", p.given,
          p.taken, p.wrong);
    check_ok(ctx, tally_use_allocator(ctx, &lent), "once more");
    all_calls("once more");
    tally_close(ctx);
    check(!p.bytes && p.given == p.taken && !p.wrong, "closed: %d given, %d taken back", p.given,
          p.taken);
    tally *cpu = NULL;
    if (check_ok(NULL, tally_open(&cpu, "cpu"), "cpu"))
        check(tally_use_allocator(cpu, &lent) == TALLY_UNSUPPORTED, "processors: %s",
              tally_error(cpu));
    tally_close(cpu);
}

/* ---- launches ---- */

/* One long reduction is one launch, whose tiles are divided equally among at most the thread
 * blocks that are resident at the same time, 2 on each multiprocessor of the fake. */
static void check_blocks(void)
{
    enum { TILE = CHUNK * TILE_WARPS, RESIDENT = 8, TILES = 24 /* the next would be larger */ };
    open_context();
    float *const in = on_device((size_t)TILES * TILE * sizeof *in);
    for (int64_t tiles = 1; tiles < TILES; tiles++) {
        const tally_view v = tally_flat(in, TALLY_F32, tiles * TILE);
        const int64_t rounds = (tiles + RESIDENT - 1) / RESIDENT;
        *count = (counts){0};
        check_ok(ctx, tally_reduce(ctx, "sum", &v, y), "reduce");
        check(count->launches == 1 && *blocks == (tiles + rounds - 1) / rounds,
              "%lld tiles: %d launches, %u thread blocks", (long long)tiles, count->launches,
              *blocks);
    }
    check(!push(&count) && !device_free((uint64_t)(uintptr_t)in), "a block goes back");
    pop(NULL);
    tally_close(ctx);
}

int main(void)
{
    char folder[500];
    check_start();
    if (!find_fake()) {
        printf("skipped: the fake driver is not here\n");
        return SKIPPED;
    }
    if (!getcwd(folder, sizeof folder - 20)) return 1;
    strcat(folder, "/cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    x = on_device(N * sizeof *x);
    y = on_device(N * sizeof *y);
    device_offsets = on_device(sizeof offsets);
    memcpy(device_offsets, offsets, sizeof offsets);
    const size_t before = *held;
    check_switches();
    check_many();
    check_threads();
    check_capture();
    check_refused();
    check_lifetimes();
    check_allocator();
    check_blocks();
    check(*held == before, "%zu bytes of device memory are left", *held - before);
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * Keys in device memory: runs and gathers beside those of the processors, for every type, at the
 * edges of tiles and steps, at odd addresses and strides; sums by key of segments that never
 * leave the device; what is refused. */
#include "gpu/work.h"
#include "gpu/kernel/constants.h"
#include "gpus.h"

enum { MOST = 300001, GUARD = 64, CAPACITY = (MOST + 8) * 8 + 2 * GUARD, BLOCKS = 4 };
enum { KEYS, PLACES, VALUES, TO };
static tl_memory block[BLOCKS];
static char keys[CAPACITY], values[CAPACITY], got[CAPACITY], want[CAPACITY];
static int64_t offsets[MOST + 1];
static tally *ctx, *cpu;

static char *device(int b) /* its address; of OpenCL's memory that stands for it */
{
    return (char *)(uintptr_t)block[b].address;
}
static void put(int b, const void *from)
{
    check_ok(ctx, tally_copy(ctx, device(b), from, CAPACITY), "to the device");
}
static void fetch(int b)
{
    check_ok(ctx, tally_copy(ctx, got, device(b), CAPACITY), "from the device");
}

/* How long runs are: all keys equal, all different, some length in the mean; NaNs and zeros of
   both signs. */
typedef enum { EQUAL, ALL_DIFFER, MEAN, ONE_LONG, PATTERNS, KINDS } run_kind;

static void fill_keys(tally_dtype d, int64_t n, char *first, int64_t step, run_kind kind)
{
    const size_t bytes = tally_dtype_size(d);
    const int64_t cut = check_below(n + 1), mean = 1 + check_below(kind == MEAN ? 200 : 4);
    for (int64_t i = 0; i < n; i++) {
        char *const at = first + i * step;
        const int same = kind == EQUAL      ? 1
                         : kind == MEAN     ? check_below(mean) != 0
                         : kind == ONE_LONG ? i > cut && i < cut + n / 2
                                            : 0;
        if (i && same) {
            memcpy(at, at - step, bytes);
        } else if (kind == PATTERNS &&
                   d >= TALLY_F16) { /* NaNs of any payload, zeros, infinities, and next to them */
            static const unsigned char tops[][3] = {
                {0, 0, 0}, {0x7c, 0x7f, 0x7f}, {0x7f, 0x7f, 0x7f}};
            const int pick = (int)check_below(3);
            memset(at, check_below(3) ? 0 : (int)check_below(256), bytes);
            at[bytes - 1] = (char)tops[pick][d == TALLY_F16 ? 0 : 1];
            if (pick == 1 && d != TALLY_F16) at[bytes - 2] = (char)(d == TALLY_F64 ? 0xf0 : 0x80);
            if (pick == 0 && check_below(2)) memset(at, 0, bytes);
            if (check_below(2)) at[bytes - 1] |= (char)0x80;
        } else {
            const uint64_t v = kind == ALL_DIFFER
                                   ? (uint64_t)i
                                   : (uint64_t)check_below(1 << 20) << 20 | (uint64_t)i;
            memcpy(at, &v, bytes);
        }
    }
}

/* at: bytes before the first key; shift: offsets before the first one. */
static void runs(tally_dtype d, int64_t n, int64_t stride, int64_t at, run_kind kind)
{
    const int64_t bytes = (int64_t)tally_dtype_size(d), shift = 1 + check_below(2);
    const int64_t first = at + (stride < 0 && n ? (n - 1) * -stride * bytes : 0);
    tally_view v = {keys + first, d, 1, n, n, stride, NULL};
    int64_t wanted = -1, found = -1, counted = -1;
    char what[100];
    snprintf(what, sizeof what, "runs of %s n=%lld stride %lld at %lld kind %d",
             tally_dtype_name(d), (long long)n, (long long)stride, (long long)at, kind);
    fill_keys(d, n, keys + first, stride * bytes, kind);
    check_ok(cpu, tally_runs(cpu, &v, offsets, &wanted), "the processors");
    put(KEYS, keys);
    memset(want, 0x55, CAPACITY);
    put(PLACES, want);
    memcpy(want + 8 * shift, offsets, (size_t)(wanted + 1) * 8);
    v.data = device(KEYS) + first;
    int64_t *const to = (int64_t *)(void *)device(PLACES) + shift;
    if (n) check_ok(ctx, tally_runs(ctx, &v, NULL, &counted), what);
    check(!n || counted == wanted, "%s: counted %lld of %lld", what, (long long)counted,
          (long long)wanted);
    if (!check_ok(ctx, tally_runs(ctx, &v, to, &found), what)) return;
    fetch(PLACES);
    check(found == wanted, "%s: %lld of %lld", what, (long long)found, (long long)wanted);
    check_same(got, want, CAPACITY, 1, "%s", what);
    if (n < 1000 || check_below(4)) return;
    const tally_view there = tally_segments(device(VALUES), TALLY_F32, to, wanted),
                     here = tally_segments(values, TALLY_F32, offsets, wanted);
    check_ok(ctx, tally_reduce(ctx, "sum", &there, got), "sums by key");
    check_ok(cpu, tally_reduce(cpu, "sum", &here, want), "sums by key");
    check_same(got, want, wanted, 4, "sums by key: %s", what);
}

static void takes(tally_dtype d, int64_t n, int64_t length)
{
    static const int64_t strides[] = {1, 1, 2, -1};
    const int64_t bytes = (int64_t)tally_dtype_size(d), from = strides[check_below(4)],
                  to = strides[check_below(3)],
                  at = check_below(3) * bytes + (check_below(3) ? 0 : check_below(bytes));
    const int64_t first = at + (from < 0 ? (length - 1) * bytes : 0);
    tally_view x = {keys + first, d, 1, length, length, from, NULL},
               y = {want + at, d, 1, n, n, to, NULL};
    check_fill(keys, TALLY_U8, CAPACITY, TL_DATA_BITS);
    memset(want, 0x55, CAPACITY);
    put(KEYS, keys);
    put(TO, want);
    for (int64_t i = 0; i < n; i++) offsets[i] = check_below(length);
    check_ok(ctx, tally_copy(ctx, device(PLACES), offsets, (size_t)n * 8), "to the device");
    check_ok(cpu, tally_take(cpu, &x, offsets, n, &y), "the processors");
    x.data = device(KEYS) + first, y.data = device(TO) + at;
    const int64_t *const order = (const int64_t *)(void *)device(PLACES);
    check_ok(ctx, tally_take(ctx, &x, order, n, &y), "take");
    fetch(TO);
    check_same(got, want, CAPACITY, 1, "take of %s n=%lld", tally_dtype_name(d), (long long)n);
    /* the first of two wrong places is named, and nothing is written */
    const int64_t wrong = check_below(n), late = wrong + check_below(n - wrong),
                  bad[] = {-1, length};
    char words[120];
    check_ok(ctx, tally_copy(ctx, device(PLACES) + 8 * late, &bad[1], 8), "to the device");
    check_ok(ctx, tally_copy(ctx, device(PLACES) + 8 * wrong, &bad[0], 8), "to the device");
    memset(want, 0x55, CAPACITY);
    put(TO, want);
    snprintf(words, sizeof words, "order[%lld] is -1: must be in 0..%lld, the places of elements",
             (long long)wrong, (long long)length - 1);
    check(tally_take(ctx, &x, order, n, &y) == TALLY_INVALID && !strcmp(tally_error(ctx), words),
          "'%s' not '%s'", tally_error(ctx), words);
    fetch(TO);
    check_same(got, want, CAPACITY, 1, "a wrong place: something was written");
}

/* The verbs by key with everything on the device, beside the processors. */
static void by_key(int64_t n, int64_t groups)
{
    for (int64_t i = 0; i < n; i++) ((int32_t *)(void *)keys)[i] = (int32_t)check_below(groups);
    put(KEYS, keys);
    const tally_view codes[] = {tally_flat(device(KEYS), TALLY_I32, n),
                                tally_flat(keys, TALLY_I32, n)},
                     in[] = {tally_flat(device(VALUES), TALLY_F32, n),
                             tally_flat(values, TALLY_F32, n)},
                     out[] = {tally_flat(device(TO), TALLY_F32, n), tally_flat(want, TALLY_F32, n)};
    const tally_window_options w = {.before = 3, .edges = TALLY_EDGES_SHRINK};
    for (int verb = 0; verb < 3; verb++) {
        for (int host = 0; host < 2; host++) {
            tally *const c = host ? cpu : ctx;
            const tally_view *const x = &in[host], *const k = &codes[host], *const y = &out[host];
            const tally_status status =
                verb == 0   ? tally_reduce_by(c, "mean", x, k, groups, y->data)
                : verb == 1 ? tally_scan_by(c, "sum", x, k, groups, y, NULL)
                            : tally_window_by(c, "max", x, k, groups, y, &w);
            check_ok(c, status, "by key");
        }
        fetch(TO);
        check_same(got, want, verb ? n : groups, 4, "verb %d by key, %lld groups", verb,
                   (long long)groups);
    }
}

static void refused(tally_status status, tally_status wanted, const char *words)
{
    check(status == wanted && strstr(tally_error(ctx), words), "refused: %s: %s; wanted %s",
          tally_status_name(status), tally_error(ctx), words);
}

static void errors(void)
{
    int64_t n = 7;
    const tally_view there = tally_flat(device(KEYS), TALLY_I32, 100),
                     here = tally_flat(keys, TALLY_I32, 100),
                     to = tally_flat(device(TO), TALLY_I32, 100),
                     none = tally_flat(device(KEYS), TALLY_I32, 0);
    refused(tally_runs(ctx, &there, (int64_t *)(void *)(device(PLACES) + 4), &n), TALLY_INVALID,
            "must be a multiple of 8 in device memory");
    refused(tally_take(ctx, &there, (int64_t *)(void *)(device(PLACES) + 4), 100, &to),
            TALLY_INVALID, "multiple of 8");
    check(n == 7, "runs was written");
    check_ok(ctx, tally_take(ctx, &there, NULL, 0, &none), "nothing to take");
    check_ok(ctx, tally_runs(ctx, &here, offsets, &n), "host memory");
}

/* More parts than a group of threads takes at a time, of few runs. */
static void many_parts(tl_gpu *gpu)
{
    enum { RUNS = 3000 };
    const int64_t n = (int64_t)KEYS_STEP * KEYS_THREADS * 9 + 5;
    const tl_gpu_calls *const calls = gpu->calls;
    const int processors = gpu->processors;
    char *const all = calloc((size_t)n, 1);
    tl_memory large;
    int64_t found = 0, wanted = 0, at = 0;
    int ready = all && check_ok(ctx, calls->enter(gpu, ctx), "enter");
    if (ready) ready = check_ok(ctx, calls->allocate(gpu, ctx, (size_t)n, &large), "a large block");
    if (!ready) return free(all);
    calls->leave(gpu);
    gpu->processors = 1000;
    for (int64_t length; at < n; at += length) {
        length = wanted < RUNS ? 1 + check_below(2 * n / RUNS) : n;
        if (length > n - at) length = n - at;
        memset(all + at, (int)(wanted & 127), (size_t)length);
        offsets[wanted++] = at;
    }
    offsets[wanted] = n;
    const tally_view there = tally_flat((void *)(uintptr_t)large.address, TALLY_I8, n);
    check_ok(ctx, tally_copy(ctx, there.data, all, (size_t)n), "to the device");
    check_ok(ctx, tally_runs(ctx, &there, (int64_t *)(void *)device(PLACES), &found), "many parts");
    fetch(PLACES);
    check(found == wanted, "many parts: %lld runs of %lld", (long long)found, (long long)wanted);
    check_same(got, offsets, wanted + 1, 8, "many parts");
    gpu->processors = processors;
    check_ok(ctx, calls->enter(gpu, ctx), "enter");
    calls->release(gpu, &large);
    calls->leave(gpu);
    free(all);
}

static void on_device(const char *name)
{
    static const int64_t tile = KEYS_TILE, step = KEYS_STEP;
    const int64_t sizes[] = {0,        1,    2,        31,       32,       33,   500,
                             tile - 1, tile, tile + 1, tile + 7, step - 1, step, step + 1};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    static const int64_t strides[] = {1, 2, -1, 0};
    tally_times_info times;
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    tl_gpu *gpu = tl_gpu_of(ctx->device)->gpu;
    int ready = check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS && ready; b++)
        ready = check_ok(ctx, gpu->calls->allocate(gpu, ctx, CAPACITY, &block[b]), "a block");
    gpu->calls->leave(gpu);
    if (!ready) return;
    /* an address that stands for a buffer is found by what owns it */
    for (int b = 0; b < BLOCKS; b++) check(block[b].address != 0, "block %d", b);
    check_fill(values, TALLY_F32, MOST, TL_DATA_PLAIN);
    put(VALUES, values);
    tally_time(ctx, 1);
    for (int d = TALLY_I8; d <= TALLY_F64; d++) {
        if ((check_quick || (gpu->shares_memory && !check_long)) && (d + check_seed) % 3) continue;
        const int64_t bytes = (int64_t)tally_dtype_size((tally_dtype)d);
        for (int i = 0; i < SIZES; i++)
            runs((tally_dtype)d, sizes[i], 1, bytes * check_below(16 / bytes),
                 (run_kind)check_below(KINDS));
        for (int k = 0; k < KINDS; k++) {
            runs((tally_dtype)d, 2 * step + check_below(2 * tile), 1,
                 bytes * check_below(16 / bytes), (run_kind)k);
            const int64_t stride = strides[check_below(4)];
            runs((tally_dtype)d, check_size(40000), stride, check_below(16),
                 stride ? (run_kind)k : EQUAL);
        }
        takes((tally_dtype)d, 1 + check_below(40), 1 + check_below(5));
        takes((tally_dtype)d, 20000 + check_below(80000), 1 + check_below(100000));
    }
    runs(TALLY_I64, MOST, 1, 0, MEAN);
    runs(TALLY_U8, MOST, 1, 3, ALL_DIFFER);
    if (!check_quick) many_parts(gpu);
    tally_times(ctx, &times);
    check(times.launches && !times.on_processors, "%lld elements on the processors",
          (long long)times.on_processors);
    errors();
    by_key(20000 + check_below(1000), 1 + check_below(100));
    by_key(20000, 3000);
    check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS; b++) gpu->calls->release(gpu, &block[b]);
    gpu->calls->leave(gpu);
    tally_close(ctx);
}

int main(void)
{
    check_start();
    cpu = check_open(2, NULL);
    for_each_gpu(NULL, on_device);
    tally_close(cpu);
    return finish_gpus();
}

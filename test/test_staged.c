/* SPDX-License-Identifier: MIT
 * What the processors of a GPU context do with device memory: scans and windows of exact sums,
 * windows of a step or of negative offsets, reversed scans of segments, windows by ranges, keys.
 * Every array, at random, is the host's or the device's; results, and all bytes beside them, are
 * those of a context of processors. */
#include "gpu/work.h"
#include "gpus.h"

enum { CAPACITY = 1 << 16, MOST = 1500, BLOCKS = 8 };
static tally *ctx, *cpu;
static tl_memory block[BLOCKS];
static char host[BLOCKS][CAPACITY], before[BLOCKS][CAPACITY], got[CAPACITY];
static int used, on_device[BLOCKS]; /* of a case */

/* A block of a case, with what it has before the call. */
static char *next_block(void) { return host[used++]; }
/* The same bytes for the device's context: in its memory or in `before`. */
static void *place(const void *p)
{
    if (!p) return NULL;
    const int64_t at = (const char *)p - host[0], b = at / CAPACITY;
    return on_device[b] ? (char *)(uintptr_t)block[b].address + at % CAPACITY
                        : before[b] + at % CAPACITY;
}
static tally_view placed(const tally_view *v, tally_view *next)
{
    tally_view to = *v;
    to.data = place(v->data);
    to.valid = place(v->valid);
    to.offsets = place(v->offsets);
    if (v->next) {
        *next = placed(v->next, NULL);
        to.next = next;
    }
    return to;
}
/* Blocks are filled: where they are from now on. */
static void spread(void)
{
    for (int b = 0; b < used; b++) {
        memcpy(before[b], host[b], CAPACITY);
        on_device[b] = check_below(4) != 0;
        if (on_device[b])
            check_ok(ctx, tally_copy(ctx, (void *)(uintptr_t)block[b].address, host[b], CAPACITY),
                     "to the device");
    }
}
static void compare(tally_status wanted, tally_status status, const char *what)
{
    if (!check(status == wanted && (!status || !strcmp(tally_error(ctx), tally_error(cpu))),
               "%s: %s, not %s", what, tally_error(ctx), tally_error(cpu)))
        return;
    for (int b = 0; b < used; b++) {
        if (on_device[b])
            check_ok(ctx, tally_copy(ctx, got, (void *)(uintptr_t)block[b].address, CAPACITY),
                     "from the device");
        check_same(on_device[b] ? got : before[b], host[b], CAPACITY, 1, "%s, array %d of the %s",
                   what, b, on_device[b] ? "device" : "host");
    }
}

/* ---- arrays of a case ---- */

static char *elements(tally_dtype d, int64_t shift)
{
    char *const p = next_block();
    check_fill(p, TALLY_U8, CAPACITY, TL_DATA_BITS);
    check_fill(p + shift, d, (CAPACITY - shift) / (int64_t)tally_dtype_size(d), TL_DATA_PLAIN);
    return p + shift;
}
static int64_t shift_of(tally_dtype d) { return check_below(4) * (int64_t)tally_dtype_size(d); }
/* Rows of up to MOST elements in all, or segments. */
static tally_view view(tally_dtype d, int segments)
{
    const int64_t rows = 1 + check_below(6), n = 1 + check_below(MOST / rows),
                  stride = 1 + check_below(2);
    tally_view v = {elements(d, shift_of(d)),    d,      rows, n,
                    n * stride + check_below(3), stride, NULL};
    if (!segments) return v;
    int64_t *const offsets = (int64_t *)(void *)next_block();
    offsets[0] = check_below(5);
    for (int64_t r = 0; r < rows; r++) offsets[r + 1] = offsets[r] + check_below(n);
    v.offsets = offsets;
    v.n = v.row_stride = 0;
    return v;
}
static tally_view like(const tally_view *v, tally_dtype d)
{
    tally_view to = *v;
    to.data = elements(d, shift_of(d));
    to.dtype = d;
    to.valid = NULL;
    to.next = NULL;
    return to;
}
static int64_t *numbers(int64_t count, int64_t below, int ascending)
{
    int64_t *const p = (int64_t *)(void *)next_block();
    for (int64_t i = 0, last = 0; i < count; i++)
        p[i] = ascending ? (last += check_below(3)) : check_below(below);
    return p;
}

/* ---- cases ---- */

static void scan(const char *op, tally_dtype d, tally_dtype out, int segments, int reverse)
{
    used = 0;
    const tally_scan_options o = {.exclusive = (int)check_below(2), .reverse = reverse};
    const tally_view x = view(d, segments), y = check_below(3) || d != out ? like(&x, out) : x;
    spread();
    const tally_status wanted = tally_scan(cpu, op, &x, &y, &o);
    const tally_view a = placed(&x, NULL), b = placed(&y, NULL);
    compare(wanted, tally_scan(ctx, op, &a, &b, &o), op);
}

static void window(const char *op, tally_dtype d, tally_dtype out, int segments, int ranges)
{
    used = 0;
    tally_window_options o = {
        .before = check_below(20), .after = check_below(4), .edges = (tally_edges)check_below(2)};
    if (ranges && check_below(2)) o.after = -check_below(o.before + 1);
    if (ranges && (o.after >= 0 || check_below(2)) && !segments) o.step = 2 + check_below(5);
    if (ranges && o.after >= 0 && o.step < 2)
        o.before = -(o.after = 1 + check_below(3)) + check_below(2);
    const tally_view x = view(d, segments);
    tally_view y = like(&x, out);
    if (o.step > 1) y.n = (x.n + o.step - 1) / o.step;
    spread();
    const tally_status wanted = tally_window(cpu, op, &x, &y, &o);
    const tally_view a = placed(&x, NULL), b = placed(&y, NULL);
    compare(wanted, tally_window(ctx, op, &a, &b, &o), op);
}

/* Two inputs, and bits for each. bad: a range that is none. */
static void ranges(const char *op, tally_dtype d, tally_dtype out, int inputs, int bits, int bad)
{
    used = 0;
    tally_view x = view(d, 0), second;
    x.rows = 1;
    const int64_t results = 1 + check_below(500);
    if (bits)
        x.valid = (const unsigned char *)elements(TALLY_U8, 0), x.valid_offset = check_below(20);
    second = like(&x, d);
    if (bits) second.valid = (const unsigned char *)elements(TALLY_U8, 1);
    if (inputs == 2) x.next = &second;
    int64_t *const start = numbers(results, x.n + 1, 0), *const end = numbers(results, x.n + 1, 0);
    for (int64_t r = 0; r < results; r++)
        if (start[r] > end[r]) {
            const int64_t t = start[r];
            start[r] = end[r], end[r] = t;
        }
    if (bad) end[check_below(results)] = x.n + 1;
    tally_view y = tally_flat(elements(out, 0), out, results), next;
    spread();
    const tally_status wanted = tally_window_ranges(cpu, op, &x, start, end, results, &y, 2);
    const tally_view a = placed(&x, &next), b = placed(&y, NULL);
    check((wanted != TALLY_OK) == bad, "ranges: %s", tally_error(cpu));
    compare(wanted, tally_window_ranges(ctx, op, &a, place(start), place(end), results, &b, 2), op);
}

static void bounds(int each, int bad)
{
    used = 0;
    const int64_t n = 2 + check_below(MOST), stride = 1 + check_below(2);
    int64_t *const keys = numbers(n * stride, 0, 1);
    if (bad) keys[0] = keys[(n - 1) * stride] + 1, keys[(n - 1) * stride] += 5;
    const tally_view v = {keys, TALLY_I64, 1, n, n, stride, NULL};
    tally_key_window w = {.low = -3, .high = 2};
    if (each) w.lows = numbers(n, 9, 0), w.highs = numbers(n, 9, 0);
    if (!each) w.parts = numbers(n, 1, 0), w.low_part = TALLY_KEY_PART / 2;
    int64_t *const start = numbers(n + 1, 9, 0), *const end = numbers(n + 1, 9, 0);
    spread();
    const tally_status wanted = tally_window_bounds(cpu, &v, &w, start, end);
    const tally_view a = placed(&v, NULL);
    w.lows = place(w.lows), w.highs = place(w.highs), w.parts = place(w.parts);
    compare(wanted, tally_window_bounds(ctx, &a, &w, place(start), place(end)), "bounds");
}

static void keyed(tally_dtype d, int bad)
{
    used = 0;
    const int64_t n = 1 + check_below(MOST), bytes = (int64_t)tally_dtype_size(d);
    int64_t runs[2] = {-1, -1};
    tally_view v = {elements(d, shift_of(d)), d, 1, n, n, 1, NULL}, codes, to;
    for (int64_t i = 1; i < n; i++)
        if (check_below(4))
            memcpy((char *)v.data + i * bytes, (char *)v.data + (i - 1) * bytes, (size_t)bytes);
    int64_t *const offsets = numbers(n + 2, 9, 0);
    spread();
    tally_status wanted = tally_runs(cpu, &v, offsets, &runs[0]);
    tally_view a = placed(&v, NULL), b;
    compare(wanted, tally_runs(ctx, &a, place(offsets), &runs[1]), "runs");
    check(runs[0] == runs[1], "runs: %lld of %lld", (long long)runs[1], (long long)runs[0]);

    used = 0;
    codes = tally_flat(numbers(n, 7, 0), TALLY_I64, n);
    if (bad) ((int64_t *)codes.data)[check_below(n)] = 7;
    int64_t *const order = numbers(n + 1, 9, 0), *const ends = numbers(9, 9, 0);
    spread();
    wanted = tally_groups(cpu, &codes, 7, order, ends);
    a = placed(&codes, NULL);
    compare(wanted, tally_groups(ctx, &a, 7, place(order), place(ends)), "groups");

    used = 0;
    v = (tally_view){elements(d, shift_of(d)), d, 1, n, n, 1, NULL};
    int64_t *const places = numbers(n, n, 0);
    to = like(&v, d);
    if (bad) places[check_below(n)] = -1;
    spread();
    wanted = tally_take(cpu, &v, places, n, &to);
    a = placed(&v, NULL), b = placed(&to, NULL);
    compare(wanted, tally_take(ctx, &a, place(places), n, &b), "take");
}

static void one_round(void)
{
    for (int segments = 0; segments < 2; segments++) {
        scan("sum:exact", TALLY_F64, TALLY_F64, segments, (int)check_below(2));
        scan("nanmean:exact", TALLY_F32, TALLY_F32, segments, (int)check_below(2));
        scan("sum", TALLY_F32, TALLY_F32, segments, 1);
        scan("argmax", TALLY_I16, TALLY_I64, segments, 1);
        window("sum:exact", TALLY_F32, TALLY_F32, segments, 0);
        for (int i = 0; i < 3; i++) {
            window("sum:exact", TALLY_F64, TALLY_F64, segments, 1);
            window("var", TALLY_F32, TALLY_F32, segments, 1);
        }
    }
    for (int bits = 0; bits < 2; bits++) {
        ranges("mean", TALLY_F64, TALLY_F64, 1, bits, 0);
        ranges("sum:exact", TALLY_F32, TALLY_F32, 1, bits, 0);
        ranges("dot", TALLY_F32, TALLY_F32, 2, bits, 0);
        ranges("corr", TALLY_F64, TALLY_F64, 2, bits, bits);
        bounds(bits, 0);
        keyed(TALLY_F32, bits);
        keyed(TALLY_U8, bits);
    }
    ranges("max", TALLY_I32, TALLY_I32, 1, 0, 1);
    bounds(0, 1);
}

static void on_gpu(const char *name)
{
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    tl_gpu *gpu = tl_gpu_of(ctx->device)->gpu;
    int ready = check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS && ready; b++)
        ready = check_ok(ctx, gpu->calls->allocate(gpu, ctx, CAPACITY, &block[b]), "a block");
    gpu->calls->leave(gpu);
    for (int i = 0; i < (check_quick ? 3 : 12) && ready; i++) one_round();
    check_ok(ctx, gpu->calls->enter(gpu, ctx), name);
    for (int b = 0; b < BLOCKS && ready; b++) gpu->calls->release(gpu, &block[b]);
    gpu->calls->leave(gpu);
    tally_close(ctx);
}

int main(void)
{
    check_start();
    cpu = check_open(2, NULL);
    for_each_gpu(NULL, on_gpu);
    tally_close(cpu);
    return finish_gpus();
}

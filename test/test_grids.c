/* SPDX-License-Identifier: MIT
 * Fields in the memory of a GPU (src/gpu/call/grid.c): streams of many sequences whose steps lie
 * there, or some of them on the host, in any pushes, strides and alignment, from a fragment on,
 * with validity in between, with less memory than they need and with calls of the device that
 * fail, give the bits of tally_reduce of the whole on the processors. */
#include "fault_gpu.h"
#include "gpus.h"

enum { X_BYTES = 2 << 20, CELLS = 5000, STEPS = 300, GUARD = 64 };
static char *x, *want, *got; /* x: the same bytes as on the device */
static tally *cpu;
static tl_memory on_device, results;

static char *there(const tl_memory *m) { return (char *)(uintptr_t)m->address; }

typedef struct {
    check_operator o;
    tally_view all; /* of the host's bytes */
    int64_t shift;  /* bytes from the host's to the device's */
    char what[200];
} field;

/* A field that fits: its strides go by columns or rows, in either direction, and it may not be
   aligned. */
static field pick(check_operator o, int is_long)
{
    static const int64_t cells[] = {1, 31, 32, 33, 1000, CELLS};
    field f = {.o = o};
    int64_t rows = cells[check_below(6)], n = 1 + check_below(check_below(3) ? 30 : STEPS);
    if (check_below(3) == 0) rows = 1 + check_below(CELLS);
    if (is_long) rows = 1 + check_below(20), n = 8000 + check_below(6000);
    const int columns = check_below(4) != 0, dense = check_below(2) != 0;
    const int64_t step = dense ? 1 : 1 + check_below(3);
    while ((rows + 5) * (n + 5) * step * o.bytes > X_BYTES - 64) n = n / 2 + 1, rows -= rows / 4;
    const int64_t pitch = ((columns ? rows : n) + (dense ? 0 : check_below(5))) * step;
    f.all = tally_flat(NULL, o.dtype, n);
    f.all.rows = rows;
    f.all.row_stride = (columns ? step : pitch) * (check_below(4) ? 1 : -1);
    f.all.stride = (columns ? pitch : step) * (check_below(4) ? 1 : -1);
    if (check_below(20) == 0) f.all.row_stride = 0;
    const int64_t low = (f.all.row_stride < 0 ? (rows - 1) * f.all.row_stride : 0) +
                        (f.all.stride < 0 ? (n - 1) * f.all.stride : 0);
    const int odd = check_below(3) ? 0 : (int)check_below(17);
    f.all.data = x + odd - low * o.bytes;
    f.shift = there(&on_device) - x;
    snprintf(f.what, sizeof f.what, "%s %s rows %lld n %lld strides %lld %lld, %d bytes off", o.op,
             tally_dtype_name(o.dtype), (long long)rows, (long long)n, (long long)f.all.row_stride,
             (long long)f.all.stride, odd);
    return f;
}

static tally_view part(const field *f, int64_t a, int64_t b, int on)
{
    tally_view v = f->all;
    v.data = (char *)v.data + a * v.stride * f->o.bytes + (on ? f->shift : 0);
    v.n = b - a;
    return v;
}

/* device: of ten pushes, how many are of its memory. */
static void stream(const field *f, int device_pushes, int bits)
{
    static unsigned char all_valid[X_BYTES / 8];
    const int64_t rows = f->all.rows, bytes = rows * f->o.result;
    int64_t at = 0, produced = -1;
    tally_stream *s;
    tally_fragment *before;
    memset(all_valid, 0xff, sizeof all_valid);
    check_ok(cpu, tally_reduce(cpu, f->o.op, &f->all, want), f->what);
    if (!check_ok(ctx, tally_stream_reduce_rows(ctx, f->o.op, f->o.dtype, rows, &s), f->what))
        return;
    if (check_below(3) == 0) {
        at = check_below(f->all.n + 1);
        const tally_view v = part(f, 0, at, 0);
        check_ok(cpu, tally_fragment_of_view(cpu, f->o.op, &v, 0, &before), f->what);
        check_ok(ctx, tally_stream_resume(s, before), f->what);
        tally_fragment_free(before);
    }
    for (int64_t m; at < f->all.n; at += m) {
        m = check_below(2) ? 1 : 1 + check_below(20);
        if (f->all.n > STEPS && check_below(2)) m = 4100 + check_below(5000);
        if (m > f->all.n - at) m = f->all.n - at;
        tally_view v = part(f, at, at + m, check_below(10) < device_pushes);
        if (bits && v.row_stride > 0 && v.stride > 0 && check_below(6) == 0) v.valid = all_valid;
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), f->what);
    }
    memset(got, 0x5a, (size_t)bytes + GUARD);
    const int to_device = check_below(2) != 0 && device->limit == 0;
    if (to_device) {
        check_ok(ctx, tally_copy(ctx, there(&results), got, (size_t)bytes + GUARD), f->what);
        if (check_below(2)) {
            const tally_view to = tally_rows(there(&results), f->o.info.output, rows, 1);
            check_ok(ctx, tally_stream_finish_view(s, &to), f->what);
        } else {
            check_ok(ctx, tally_stream_finish(s, there(&results), &produced), f->what);
        }
        check_ok(ctx, tally_copy(ctx, got, there(&results), (size_t)bytes + GUARD), f->what);
    } else {
        check_ok(ctx, tally_stream_finish(s, got, &produced), f->what);
    }
    check_same(got, want, rows, f->o.result, "device pushes %d, to the device %d: %s",
               device_pushes, to_device, f->what);
    for (int i = 0; i < GUARD; i++)
        if (!check(got[bytes + i] == 0x5a, "written behind the results: %s", f->what)) break;
    tally_stream_close(s);
}

/* No push of the device's memory is brought to the processors, each is one launch, and none
 * waits where the stream is the caller's. */
static void counts(void)
{
    tally_stream *s;
    tally_times_info times;
    tally_time(ctx, 1);
    check_ok(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 1000, &s), "counts");
    only = "wait", calls_seen = 0, device->stream = 1;
    for (int i = 0; i < 20; i++) {
        const tally_view v = tally_columns(there(&on_device) + 4000 * i, TALLY_F32, 1, 1000);
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), "counts");
    }
    check_ok(ctx, tally_stream_finish(s, there(&results), NULL), "counts");
    check(!calls_seen, "%lld waits", (long long)calls_seen);
    only = NULL, device->stream = 0;
    real->wait(device->gpu, ctx);
    tally_times(ctx, &times);
    check(times.launches == 21 && !times.on_processors,
          "%lld launches, %lld elements on the processors", (long long)times.launches,
          (long long)times.on_processors);
    tally_time(ctx, 0);
    tally_stream_close(s);
}

/* Memory that suffices for some of it: the processors go on. */
static void scarce(check_operator o)
{
    const field f = pick(o, 0);
    tl_gpu_empty_pool(device);
    device->limit = device->held + (size_t)check_below(f.all.rows * f.o.bytes * 20 + 4096);
    stream(&f, 8, 0);
    device->limit = 0;
}

/* Steps of 50 cells; one that fails once is pushed again, and all is as if it had not failed; or
   it is lost. */
static tally_status pushed(tally_stream *s, int64_t at, int64_t n, int on)
{
    const tally_view v = tally_columns((on ? there(&on_device) : x) + at * 200, TALLY_F32, n, 50);
    tally_status status = tally_stream_push_view(s, &v, NULL);
    if (!status) return TALLY_OK;
    check(strstr(tally_error(ctx), "planted") != NULL, "the sentence: %s", tally_error(ctx));
    status = tally_stream_push_view(s, &v, NULL);
    check(!status || strstr(tally_error(ctx), "in an earlier push"), "again: %s", tally_error(ctx));
    return status;
}

static tally_status faulty(tally_fragment *before)
{
    static const int steps[] = {1, 1, 3, 15, 1, 30, 5, 40, 9}, on[] = {1, 0, 1, 1, 1, 1, 1, 0, 1};
    tally_stream *s;
    int64_t at = 13;
    tally_status status = tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 50, &s);
    if (!status) status = tally_stream_resume(s, before);
    for (size_t i = 0; i < sizeof on / sizeof *on && !status; at += steps[i++])
        status = pushed(s, at, steps[i], on[i]);
    if (!status && tally_stream_finish(s, got, NULL)) status = tally_stream_finish(s, got, NULL);
    tally_stream_close(s);
    return status;
}

/* Call number k of the device's API fails, for every k. */
static void failing(void)
{
    const tally_view first = tally_columns(x, TALLY_F32, 13, 50),
                     all = tally_columns(x, TALLY_F32, 13 + 105, 50);
    tally_fragment *before;
    int64_t failed = 0;
    check_ok(cpu, tally_reduce(cpu, "sum", &all, want), "failing");
    check_ok(cpu, tally_fragment_of_view(cpu, "sum", &first, 0, &before), "failing");
    for (int64_t k = 1, produced = k; produced >= k; k++) {
        const size_t held = device->held;
        calls_seen = 0;
        call_fails = k;
        const tally_status status = faulty(before);
        produced = calls_seen;
        call_fails = 0;
        failed += status != TALLY_OK;
        if (!status) check_same(got, want, 50, 4, "call %lld failed", (long long)k);
        tl_gpu_empty_pool(device);
        check(device->held <= held && !entered, "call %lld: %zu bytes are held", (long long)k,
              device->held);
    }
    check(failed > 3 && failed < 40, "%lld calls that failed made a field lost", (long long)failed);
    tally_fragment_free(before);
}

/* Fragments of exact statistics whose elements are on the device. */
static void exact_fragments(void)
{
    static const char *const ops[] = {"var:exact", "sumsq:exact", "cov:exact", "nanstd:exact"};
    tally_fragment *f;
    for (int k = 0; k < 12; k++) {
        const char *const op = ops[k % 4];
        const int flat = k % 4 != 2 && k > 6, two = k % 4 == 2;
        tally_view v = tally_rows(x, TALLY_F32, flat ? 1 : 1 + check_below(40), 1000), next = v;
        if (two) v.next = &next;
        check_ok(cpu, tally_reduce(cpu, op, &v, want), op);
        v.data = next.data = there(&on_device);
        tally_status status =
            flat ? tally_fragment_make(ctx, op, TALLY_F32, there(&on_device), 0, 1000, &f)
                 : tally_fragment_of_view(ctx, op, &v, 0, &f);
        if (check_ok(ctx, status, op) && check_ok(ctx, tally_fragment_result(f, got), op))
            check_same(got, want, v.rows, 8, "a fragment of %s", op);
        tally_fragment_free(f);
    }
}

static void each(const char *name)
{
    char text[100];
    static const struct {
        const char *op;
        tally_dtype dtype;
    } ops[] = {{"sum", TALLY_F32},     {"var", TALLY_F64}, {"argmax", TALLY_I16},
               {"nanmean", TALLY_F16}, {"ema", TALLY_F32}, {"minmax", TALLY_U8},
               {"descent", TALLY_F32}};
    snprintf(text, sizeof text, "%s,threads=1,probe=off", name);
    if (!check_ok(NULL, tally_open(&ctx, text), text)) return;
    put_fake(tl_gpu_of(ctx->device));
    tally *both[] = {cpu, ctx};
    for (int i = 0; i < 2; i++)
        check_ok(both[i],
                 tally_define_file(both[i], NULL, TALLY_SOURCE_DIR "/examples/operators/descent.h"),
                 "descent");
    /* CUDA allocates in a current context */
    check_ok(ctx, device->gpu->calls->enter(device->gpu, ctx), "enter");
    check_ok(ctx, tl_gpu_take(device, X_BYTES, &on_device), "steps");
    check_ok(ctx, tl_gpu_take(device, CELLS * 16 + GUARD, &results), "results");
    device->gpu->calls->leave(device->gpu);
    for (size_t i = 0; i < sizeof ops / sizeof *ops + (check_quick  ? 0
                                                       : check_long ? 300
                                                                    : 2);
         i++) {
        /* the last ones */
        check_operator o = check_operator_random();
        /* the user's */
        if (i < sizeof ops / sizeof *ops && !check_operator_make(&o, ops[i].op, ops[i].dtype, 0)) {
            check_ok(ctx, tally_operator(ctx, ops[i].op, ops[i].dtype, &o.info), ops[i].op);
            o.bytes = (int64_t)tally_dtype_size(ops[i].dtype);
            o.result = (int64_t)tally_dtype_size(o.info.output) * o.info.lanes;
        }
        for (int round = 0; round < 2; round++) { /* ordinary numbers show most mistakes */
            check_fill(x, o.dtype, X_BYTES / o.bytes,
                       round ? (tl_data)check_below(TL_DATA_KINDS) : TL_DATA_PLAIN);
            check_ok(ctx, tally_copy(ctx, there(&on_device), x, X_BYTES), "steps to the device");
            for (int k = 0; k < (round ? 4 : 8); k++) {
                const field f = pick(o, 0);
                stream(&f, k % 3 ? 10 : 5, k % 4 == 3);
            }
        }
        for (int k = 0; k < 4; k++) scarce(o);
        /* PoCL takes seconds for an operator's kernels of reduce */
        if (i && i != 2 && !check_long) continue;
        check_fill(x, o.dtype, X_BYTES / o.bytes,
                   o.dtype < TALLY_F16 ? TL_DATA_BITS : TL_DATA_PLAIN);
        check_ok(ctx, tally_copy(ctx, there(&on_device), x, X_BYTES), "steps to the device");
        for (int k = 0; k < 6; k++) {
            const field f = pick(o, 1);
            stream(&f, 8, 0);
        }
    }
    counts();
    check_fill(x, TALLY_F32, X_BYTES / 4, TL_DATA_PLAIN);
    check_ok(ctx, tally_copy(ctx, there(&on_device), x, X_BYTES), "steps to the device");
    exact_fragments();
    failing();
    tl_gpu_give(device, &on_device);
    tl_gpu_give(device, &results);
    check_pool("the end");
    close_faked();
}

int main(void)
{
    check_start();
    cpu = check_open(1, NULL);
    x = malloc(X_BYTES);
    want = malloc(CELLS * 16 + GUARD);
    got = malloc(CELLS * 16 + GUARD);
    for_each_gpu(NULL, each);
    tally_close(cpu);
    free(x);
    free(want);
    free(got);
    return finish_gpus();
}

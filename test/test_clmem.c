/* SPDX-License-Identifier: MIT
 * OpenCL memory in place: a caller's queue, its cl_mem buffers as input and output at any
 * alignment, and who owns them. The caller is this program, which opens libOpenCL itself.
 * Skipped where there is no OpenCL device. */
#include "check.h"
#include <dlfcn.h>

enum { SKIPPED = 77, N = 50000, GUARD = 64, OUT_OF_ORDER = 1 };

typedef void *handle;
static int (*get_platforms)(unsigned, handle *, unsigned *),
    (*get_devices)(handle, uint64_t, unsigned, handle *, unsigned *);
static int (*release_context)(handle), (*release_queue)(handle), (*release_buffer)(handle),
    (*finish)(handle);
static handle (*create_context)(const intptr_t *, unsigned, const handle *, void *, void *, int *);
static handle (*create_queue)(handle, handle, uint64_t, int *),
    (*create_buffer)(handle, uint64_t, size_t, void *, int *);
static int (*write_buffer)(handle, handle, unsigned, size_t, size_t, const void *, unsigned,
                           const void *, void *);
static int (*read_buffer)(handle, handle, unsigned, size_t, size_t, void *, unsigned, const void *,
                          void *);

static int find_calls(void)
{
    const struct {
        void *to;
        const char *name;
    } calls[] = {{&get_platforms, "clGetPlatformIDs"},
                 {&get_devices, "clGetDeviceIDs"},
                 {&create_context, "clCreateContext"},
                 {&release_context, "clReleaseContext"},
                 {&create_queue, "clCreateCommandQueue"},
                 {&release_queue, "clReleaseCommandQueue"},
                 {&create_buffer, "clCreateBuffer"},
                 {&release_buffer, "clReleaseMemObject"},
                 {&write_buffer, "clEnqueueWriteBuffer"},
                 {&read_buffer, "clEnqueueReadBuffer"},
                 {&finish, "clFinish"}};
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].to = dlsym(library, calls[i].name))) return 0;
    return library != NULL;
}

static tally *ctx, *cpu;
static handle device, context, queue;
static float x[N], want[N];
static char got[N * 4 + 2 * GUARD], guard[2 * GUARD];

/* got = the `bytes` bytes of buffer, guards included. */
static void fetch(handle buffer)
{
    finish(queue);
    check(!read_buffer(queue, buffer, 1, 0, sizeof got, got, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static void check_guards(int64_t from, int64_t bytes, const char *what)
{
    check(!memcmp(got, guard, (size_t)from) && !memcmp(got + from + bytes, guard, GUARD),
          "%s: written beside the results", what);
}

static void check_verbs(handle in, handle out, char *px, char *py, int shift)
{
    int64_t n = N - 9, bytes = n * 4, at = GUARD / 2 + shift;
    tally_view a = tally_flat(px + GUARD + shift, TALLY_F32, n),
               y = tally_flat(py + at, TALLY_F32, n);
    tally_view host = tally_flat(x, TALLY_F32, n), wanted = tally_flat(want, TALLY_F32, n);
    tally_window_options w = {20, 3, TALLY_EDGES_SHRINK, 0};
    float sum;
    memset(got, 0xa5, sizeof got);
    memcpy(got + GUARD + shift, x, (size_t)bytes);
    write_buffer(queue, in, 1, 0, sizeof got, got, 0, NULL, NULL);
    memset(got, 0xa5, sizeof got);
    write_buffer(queue, out, 1, 0, sizeof got, got, 0, NULL, NULL);

    check_ok(cpu, tally_reduce(cpu, "sum", &host, want), "cpu");
    if (check_ok(ctx, tally_reduce(ctx, "sum", &a, &sum), "reduce"))
        check_same(&sum, want, 1, 4, "sum to the host, shift %d", shift);
    if (check_ok(ctx, tally_reduce(ctx, "sum", &a, py + at), "reduce")) {
        fetch(out);
        check_same(got + at, want, 1, 4, "sum to a buffer, shift %d", shift);
        check_guards(at, 4, "sum");
    }
    check_ok(cpu, tally_window(cpu, "mean", &host, &wanted, &w), "cpu");
    if (check_ok(ctx, tally_window(ctx, "mean", &a, &y, &w), "window")) {
        fetch(out);
        check_same(got + at, want, n, 4, "window, shift %d", shift);
        check_guards(at, bytes, "window");
    }
    check_ok(cpu, tally_scan(cpu, "sum", &host, &wanted, NULL), "cpu");
    if (check_ok(ctx, tally_scan(ctx, "sum", &a, &y, NULL), "scan")) {
        fetch(out);
        check_same(got + at, want, n, 4, "scan, shift %d", shift);
        check_guards(at, bytes, "scan");
    }
    if (check_ok(ctx, tally_scan(ctx, "sum", &host, &y, NULL), "scan")) {
        fetch(out);
        check_same(got + at, want, n, 4, "scan from the host, shift %d", shift);
    }
    if (check_ok(ctx, tally_scan(ctx, "sum", &a, &a, NULL), "scan in place")) {
        fetch(in);
        check_same(got + GUARD + shift, want, n, 4, "scan in place, shift %d", shift);
        check_guards(GUARD + shift, bytes, "scan in place");
    }
}

/* The windows of a stream whose pushes are small: each element counts once. */
static void check_stream(char *px, char *py)
{
    const tally_window_options w = {.before = 2, .after = 2, .edges = TALLY_EDGES_SHRINK};
    tally_stream *s;
    tally_times_info times;
    int64_t produced[3] = {0, 0, 0};
    tally_time(ctx, 1);
    if (!check_ok(ctx, tally_stream_window(ctx, "sum", TALLY_F32, &w, &s), "a stream")) return;
    check_ok(ctx, tally_stream_push(s, px, 60, py, &produced[0]), "a push");
    check_ok(ctx, tally_stream_push(s, px + 240, 40, py + 4 * produced[0], &produced[1]), "a push");
    check_ok(ctx, tally_stream_finish(s, py + 4 * (produced[0] + produced[1]), &produced[2]),
             "the end");
    tally_stream_close(s);
    tally_times(ctx, &times);
    check(produced[0] + produced[1] + produced[2] == 100, "%lld results",
          (long long)(produced[0] + produced[1] + produced[2]));
    check(times.on_processors == 100 && !times.launches,
          "windows of a stream: %lld elements on the processors", (long long)times.on_processors);
}

/* What the processors do on every device counts its elements (test_staged compares it all). */
static void check_processors(char *px, char *py)
{
    const tally_view a = tally_flat(px, TALLY_F32, 100), y = tally_flat(py, TALLY_F32, 100),
                     host = tally_flat(x, TALLY_F32, 100),
                     wanted = tally_flat(want, TALLY_F32, 100);
    const tally_window_options w = {.before = -1, .after = 3, .edges = TALLY_EDGES_SHRINK};
    tally_exact sum;
    tally_times_info times;
    tally_exact_init(&sum);
    check_ok(ctx, tally_exact_add(ctx, &sum, &host), "exact sums of the host");
    check_ok(ctx, tally_copy(ctx, px, x, 400), "to the device");
    check_ok(ctx, tally_exact_subtract(ctx, &sum, &a), "exact sums of the device");
    for (int k = 0; k < 72; k++)
        check(!sum.word[k], "x - x: word %d is %lld", k, (long long)sum.word[k]);
    tally_time(ctx, 1);
    check_ok(ctx, tally_scan(ctx, "sum:exact", &host, &wanted, NULL), "exact");
    check_ok(ctx, tally_window(ctx, "sum", &a, &y, &w), "negative offsets");
    tally_times(ctx, &times);
    check(times.on_processors == 200 && !times.launches, "%lld elements on the processors",
          (long long)times.on_processors);
    check_stream(px, py);
    tally_time(ctx, 0);
}

/* Bytes to the device, on it and back; whose memory it is. */
static void check_copies(handle in, char *px, char *py)
{
    enum { LARGE = 150000 }; /* of sizeof got: in, out and their guards stay as they are */
    int whose = 7;
    check_ok(ctx, tally_owner(ctx, px + 5, &whose), "owner");
    check(whose == 0, "device memory is of %d", whose);
    check_ok(ctx, tally_owner(ctx, x, &whose), "owner");
    check(whose == -1, "host memory is of %d", whose);
    check_ok(cpu, tally_owner(cpu, x, &whose), "owner");
    check(whose == -1, "the cpu: host memory is of %d", whose);
    check(tally_owner(ctx, x, NULL) == TALLY_INVALID, "no number: %s", tally_error(ctx));
    memset(got, 0, sizeof got);
    check_ok(ctx, tally_copy(ctx, px + 3, x, LARGE), "to the device");
    check_ok(ctx, tally_copy(ctx, py + 1, px + 3, LARGE), "on the device");
    check_ok(ctx, tally_copy(ctx, got + 9, py + 1, LARGE), "from the device");
    check(!memcmp(got + 9, x, LARGE) && !got[8] && !got[9 + LARGE], "copies: other bytes");
    fetch(in);
    check(!memcmp(got + 3, x, LARGE), "on the device: other bytes");
    check_ok(cpu, tally_copy(cpu, got, x, LARGE), "on the host");
    check(!memcmp(got, x, LARGE), "on the host: other bytes");
    check(tally_copy(ctx, NULL, x, 4) == TALLY_INVALID && strstr(tally_error(ctx), "to is NULL"),
          "to nowhere: %s", tally_error(ctx));
    check_ok(ctx, tally_copy(ctx, NULL, NULL, 0), "nothing");
}

/* Steps of a field on the device: a push waits for nothing, and what the stream keeps moves to
 * the context of another queue. px: N floats. */
static void check_field(char *px)
{
    enum { CELLS = 100, STEPS = 27 };
    const tally_view all = tally_columns(x, TALLY_F32, STEPS, CELLS);
    tally_stream *s;
    tally_times_info times;
    check_ok(ctx, tally_copy(ctx, px, x, sizeof x), "to the device");
    check_ok(cpu, tally_reduce(cpu, "var", &all, want), "cpu");
    if (!check_ok(ctx, tally_stream_reduce_rows(ctx, "var", TALLY_F32, CELLS, &s), "a field"))
        return;
    for (int i = 0; i < STEPS; i++) {
        const tally_view v =
            tally_columns((i == 13 ? (char *)x : px) + i * CELLS * 4, TALLY_F32, 1, CELLS);
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), "a step");
        if (i == 12) check_ok(ctx, tally_use_stream(ctx, NULL), "the own queue");
        if (i == 13) check_ok(ctx, tally_use_stream(ctx, queue), "the caller's queue");
    }
    check_ok(ctx, tally_use_stream(ctx, NULL), "the own queue");
    check_ok(ctx, tally_use_stream(ctx, queue), "the caller's queue");
    tally_times(ctx, &times);
    check(!times.device_bytes, "%lld bytes of the other context are left",
          (long long)times.device_bytes);
    check_ok(ctx, tally_stream_finish(s, px, NULL), "a field");
    check_ok(ctx, tally_copy(ctx, got, px, CELLS * 8), "from the device");
    check_same(got, want, CELLS, 4, "a field");
    tally_stream_close(s);
}

/* Another queue of the same cl_context: addresses stay, and no program is compiled again. */
static void check_queues(char *px, char *py)
{
    enum { FEW = 3000 };
    int error;
    handle other = create_queue(context, device, 0, &error);
    const tally_view a = tally_flat(px, TALLY_F32, FEW), y = tally_flat(py, TALLY_F32, FEW),
                     host = tally_flat(x, TALLY_F32, FEW),
                     wanted = tally_flat(want, TALLY_F32, FEW);
    tally_times_info times = {0};
    check_ok(cpu, tally_scan(cpu, "sum", &host, &wanted, NULL), "cpu");
    check_ok(ctx, tally_copy(ctx, px, x, FEW * sizeof *x), "elements");
    check_ok(ctx, tally_scan(ctx, "sum", &a, &y, NULL), "the first queue");
    tally_time(ctx, 1);
    for (int i = 0; i < 6; i++) {
        check_ok(ctx, tally_use_stream(ctx, i % 2 ? queue : other), "another queue");
        memset(got, 0, FEW * sizeof *x);
        check_ok(ctx, tally_copy(ctx, py, got, FEW * sizeof *x), "zeros");
        check_ok(ctx, tally_scan(ctx, "sum", &a, &y, NULL), "two queues");
        check_ok(ctx, tally_copy(ctx, got, py, FEW * sizeof *x), "results");
        check_same(got, want, FEW, 4, "queue %d", i % 2);
    }
    tally_times(ctx, &times);
    check(times.compile == 0, "another queue compiled programs again");
    release_queue(other);
}

static void check_arguments(handle buffer)
{
    void *p = x;
    int error;
    handle unordered = create_queue(context, device, OUT_OF_ORDER, &error);
    check(tally_device_pointer(ctx, buffer, &p) == TALLY_INVALID && !p,
          "a buffer of another cl_context: %s", tally_error(ctx));
    check(tally_device_pointer(ctx, NULL, &p) == TALLY_INVALID, "no object: %s", tally_error(ctx));
    check(tally_device_pointer(ctx, buffer, NULL) == TALLY_INVALID, "no pointer: %s",
          tally_error(ctx));
    check(tally_device_forget(ctx, x) == TALLY_INVALID, "forget what is none: %s",
          tally_error(ctx));
    check(tally_device_pointer(cpu, buffer, &p) == TALLY_UNSUPPORTED, "on the cpu: %s",
          tally_error(cpu));
    if (unordered) {
        check(tally_use_stream(ctx, unordered) == TALLY_UNSUPPORTED, "an out-of-order queue: %s",
              tally_error(ctx));
        release_queue(unordered);
    }
}

int main(void)
{
    handle platforms[8];
    unsigned count = 0, found = 0;
    int error = 0;
    check_start();
    if (find_calls()) get_platforms(8, platforms, &count);
    for (unsigned i = 0; i < count && !device; i++) /* the first one: opencl:0 */
        if (!get_devices(platforms[i], 0xffffffff, 1, &device, &found) && !found) device = NULL;
    if (!device || tally_open(&ctx, "opencl:0")) {
        printf("skipped: no OpenCL device here\n");
        return SKIPPED;
    }
    cpu = check_open(2, NULL);
    tl_random_fill(&check_state, x, TALLY_F32, N, TL_DATA_PLAIN);
    memset(guard, 0xa5, sizeof guard);
    context = create_context(NULL, 1, &device, NULL, NULL, &error);
    queue = create_queue(context, device, 0, &error);
    handle in = create_buffer(context, 1, sizeof got, NULL, &error),
           out = create_buffer(context, 1, sizeof got, NULL, &error);
    if (!check(in && out && queue, "OpenCL: error %d", error)) return check_finish();
    check_arguments(in);
    void *px = NULL, *py = NULL;
    if (check_ok(ctx, tally_use_stream(ctx, queue), "the caller's queue") &&
        check_ok(ctx, tally_device_pointer(ctx, in, &px), "input") &&
        check_ok(ctx, tally_device_pointer(ctx, out, &py), "output")) {
        check_copies(in, px, py);
        check_processors((char *)px + GUARD, (char *)py + GUARD);
        check_field((char *)px + GUARD);
        check_queues((char *)px + GUARD, (char *)py + GUARD);
        for (int shift = 0; shift < 9; shift += check_quick ? 4 : 1)
            check_verbs(in, out, px, py, shift);
        release_buffer(out); /* tally has a reference of its own */
        tally_view y = tally_flat((char *)py + GUARD, TALLY_F32, N),
                   a = tally_flat((char *)px + GUARD, TALLY_F32, N);
        check_ok(ctx, tally_scan(ctx, "sum", &a, &y, NULL), "a buffer that its maker has released");
        check_ok(ctx, tally_device_forget(ctx, py), "forget");
        check(tally_device_forget(ctx, py) == TALLY_INVALID, "forgotten twice: %s",
              tally_error(ctx));
    }
    check_ok(ctx, tally_use_stream(ctx, NULL), "back to the own queue");
    float sum, wanted = tally_sum_f32(x, N);
    tally_view host = tally_flat(x, TALLY_F32, N);
    check_ok(ctx, tally_reduce(ctx, "sum", &host, &sum), "after that");
    check_same(&sum, &wanted, 1, 4, "after that");
    tally_close(ctx);
    release_buffer(in);
    release_queue(queue);
    release_context(context);
    tally_close(cpu);
    return check_finish();
}

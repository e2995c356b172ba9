/* SPDX-License-Identifier: MIT
 * Kernels of windows: window_flat, window_part in passes, window_along. Part of test_emulated.c. */
#ifndef TALLY_TEST_EMULATED_WINDOWS_H
#define TALLY_TEST_EMULATED_WINDOWS_H

enum { WINDOW_MOST = 40000, STATE_MOST = 32 };

/* The parameters of window_flat. */
typedef void window_kernel(const void *data, long long byte, long long row_stride, long long stride,
                           long long n, long long seqs, long long flags, const void *offsets,
                           const void *ids, const void *first, double parameter, long long origin,
                           IN_PLACE, void *out, long long out_byte, long long out_row_stride,
                           long long out_stride, long long before, long long after, long long valid,
                           long long least, long long count, long long jobs, long long each,
                           long long edges, long long top_level, long long kept_levels);
/* window_part has more. */
typedef void part_kernel(const void *data, long long byte, long long row_stride, long long stride,
                         long long n, long long seqs, long long flags, const void *offsets,
                         const void *ids, const void *first, double parameter, long long origin,
                         IN_PLACE, void *out, long long out_byte, long long out_row_stride,
                         long long out_stride, long long before, long long after, long long valid,
                         long long least, long long count, long long jobs, long long each,
                         long long edges, long long top_level, long long kept_levels, void *states,
                         long long what, long long at, long long shift, long long width);
static struct {
    window_kernel *kernel;
    part_kernel *part; /* if this is tried; or window_along */
    int along;
    const char *data;
    char *out;
    long long n, stride, out_stride, before, after, valid, least, count, jobs, each;
    long long what, shift, width; /* of window_part */
    tl_levels levels;
    double parameter;
    _Alignas(16) char states[(WINDOW_MOST + QUAD) * STATE_MOST];
} window;
static void run_part(void)
{
    window.part(window.data, 0, window.n * window.stride, window.stride, window.n, 1, 0, NULL, NULL,
                NULL, window.parameter, 0, ALSO, window.out, 0, window.count * window.out_stride,
                window.out_stride, window.before, window.after, window.valid, window.least,
                window.count, window.jobs, window.each, EDGES_TOO, 0, 0, window.states, window.what,
                window.valid ? 0 : -window.before, window.shift, window.width);
}
/* A launch of window_part for `width` elements of each window, from number `shift` on. */
static int launch_part(const tl_gpu_device *device, const tl_batch *batch, int what, int64_t shift,
                       int64_t width, int groups)
{
    window.what = what, window.shift = shift, window.width = width;
    window.each = tl_pass_each(device, batch, width),
    window.jobs = (window.count + window.each - 1) / window.each;
    return fibers_launch(run_part, groups, WINDOW_THREADS);
}
/* Windows of w at once, or as longer ones go (gpu/window/long.c): the nodes of as many elements
 * as w's highest bit, then the other bits onto these. */
static int launch_parts(const tl_gpu_device *device, const tl_batch *batch, int64_t w, int split,
                        int groups)
{
    const int64_t high = (int64_t)1 << (63 - __builtin_clzll((unsigned long long)w));
    if (!split || w == high) return launch_part(device, batch, PART_RESULTS, 0, w, groups);
    return launch_part(device, batch, PART_LEVEL, 0, high, groups) &&
           launch_part(device, batch, PART_LAST_BITS, high, w - high, groups);
}
/* A launch of window_along. */
static int launch_along(int log, int groups)
{
    window.what = PART_RESULTS, window.shift = 0, window.width = 1;
    window.each = ALONG(log), window.jobs = (window.count + window.each - 1) / window.each;
    return fibers_launch(run_part, groups, WINDOW_THREADS);
}
static void run_window(void)
{
    window.kernel(window.data, 0, window.n * window.stride, window.stride, window.n, 1, 0, NULL,
                  NULL, NULL, window.parameter, 0, ALSO, window.out, 0,
                  window.count * window.out_stride, window.out_stride, window.before, window.after,
                  window.valid, window.least, window.count, window.jobs, window.each, EDGES_TOO,
                  window.levels.top, window.levels.kept);
}

static void window_round(tally *ctx, const char *name, const tl_scalar *op, int k)
{
    enum { ROOM = SHIFTS + WINDOW_MOST * 2 * 8 + 64 };
    static char room[ROOM], want[ROOM], got[ROOM];
    /* (one NaN is a NaN in every long window) */
    static const tl_data along_kinds[6] = {TL_DATA_PLAIN, TL_DATA_PLAIN, TL_DATA_ZEROS,
                                           TL_DATA_PLAIN, TL_DATA_PLAIN, TL_DATA_HOSTILE};
    static const char prelude[] = "gpu/cuda/prelude_cuda.h";
    tl_gpu_calls calls = {.prelude = prelude};
    tl_gpu gpu = {.calls = &calls};
    tl_gpu_device device = {.gpu = &gpu};
    const tl_plan plan = {.op = op};
    const tl_batch batch = {.plan = &plan};
    const int log = tl_gpu_whole_log(op, prelude, TL_TILES), radix = tl_gpu_pass_log(op, prelude);
    /* of passes */
    const int64_t most =
        radix == DIGIT_LOG ? 1 << DIGIT_LOG * DIGITS : (int64_t)2 << PASS_TOP << radix;
    const int64_t square = (int64_t)1 << (2 * radix);
    const int64_t w = window.along ? square + 1 + check_below(k % 3 ? 6 * square : 20 * square)
                      : window.part
                          ? (1 << radix) + check_below(k % 2 ? most - (1 << radix) : 3 << radix)
                      : k < 20 ? k + 1
                               : 1 + check_below((1 << (log - 1)) - 1);
    window.n = w + check_below(WINDOW_MOST - w), window.stride = 1 + (k % 7 / 6 && !also.on);
    window.out_stride = 1 + k % 9 / 8;
    if (window.along) window.stride = 1;
    window.valid = k % 2, window.after = k % 3 ? check_below(w) : 0,
    window.before = w - 1 - window.after;
    window.least = w, window.count = window.n - (window.valid ? w - 1 : 0);
    window.levels = tl_whole_levels(&device, &batch, w, TL_TILES),
    window.each = ((1 << log) - (w - 1)) & -QUAD,
    window.jobs = (window.count + window.each - 1) / window.each;
    const int shift = (int)check_below(8) * op->elem_bytes,
              to = (int)check_below(8) * op->result_bytes;
    check_fill(room + shift, op->dtype, also.on ? 0 : window.n * window.stride,
               window.along ? along_kinds[k % 6] : (tl_data)(k % TL_DATA_KINDS));
    memset(got, 0xa5, ROOM), memset(want, 0xa5, ROOM);
    if (also.on) take_inputs(1, window.n, k);
    window.data = also.on ? pair.in.data : room + shift, window.out = got + to;
    const tally_view dense = {room + shift, op->dtype, 1, window.n, window.n, window.stride, NULL};
    const tally_view in = also.on ? pair.in : dense;
    const tally_view out = {want + to,    op->out,           1,   window.count,
                            window.count, window.out_stride, NULL};
    const tally_window_options options = {
        window.before, window.after, window.valid ? TALLY_EDGES_VALID : TALLY_EDGES_MISSING, 0};
    if (!check_ok(ctx, tally_window(ctx, name, &in, &out, &options), name)) return;
    const int done = window.along  ? launch_along(radix, 1 + k % 3)
                     : window.part ? launch_parts(&device, &batch, w, k % 5 > 2, 1 + k % 2)
                                   : fibers_launch(run_window, 1 + k % 2, WINDOW_THREADS);
    if (!check(done, "out of memory")) return;
    check_same(got, want, ROOM, 1,
               "%s %s %s n=%lld w=%lld after=%lld shift=%d stride=%lld to=%d out=%lld%s",
               window.along  ? "window_along"
               : window.part ? "window_part"
                             : "window_flat",
               name, tally_dtype_name(op->dtype), window.n, (long long)w, window.after, shift,
               window.stride, to, window.out_stride, window.valid ? " valid" : "");
}

/* Rounds of a kernel of windows, from its program. */
static void try_windows(tally *ctx, const char *name, const tl_scalar *op, const tl_par *par,
                        int rounds, const char *shape, const char *kernel, const char *what)
{
    const int flat = !strcmp(kernel, "window_flat");
    void *object = load(ctx, op, shape, kernel, what), *const found =
                                                           object ? dlsym(object, kernel) : NULL;
    if (!object) return;
    emulator **at = dlsym(object, "emulated");
    window.kernel = flat ? (window_kernel *)found : NULL,
    window.part = flat ? NULL : (part_kernel *)found;
    window.along = !strcmp(kernel, "window_along");
    window.parameter = par->value;
    if (check(at && found, "%s: no kernel", what)) {
        *at = &fibers;
        for (int k = 0; k < rounds; k++) window_round(ctx, name, op, k);
    }
    dlclose(object);
}
#endif

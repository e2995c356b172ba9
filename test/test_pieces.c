/* SPDX-License-Identifier: MIT
 * Host arrays in pieces on every GPU device that is here (src/gpu/call/pieces.h). The device's
 * memory is limited to MEMORY, and every view here is larger. The bits must be the CPU's,
 * nothing may be written beside the results, and no more than MEMORY may be held. Skipped
 * without a device.
 *
 *   test_pieces [DEVICE]     TALLY_TEST_QUICK=1: the first operators only */
#include "gpus.h"

enum { MEMORY = 1 << 20, GUARD = 64, MOST = 400000 };

static tally *gpu, *cpu;
static char *x, *got, *want;
static const check_operator *o;
static const char *label;

static int64_t most_held; /* device memory seen */

static void watch(void)
{
    tally_times_info t;
    check_ok(gpu, tally_times(gpu, &t), "times");
    if (t.device_bytes > most_held) most_held = t.device_bytes;
    check(t.device_bytes <= MEMORY, "%s: %lld bytes of device memory, limit %d", label,
          (long long)t.device_bytes, MEMORY);
}

/* Compares the first `bytes` bytes of got with want's, and the guard after them with what lay
   there. */
static void same(int64_t bytes, const char *what, const tally_view *v)
{
    check_same(got, want, bytes + GUARD, 1, "%s %s of %s: rows %lld n %lld strides %lld %lld%s",
               what, o->op, tally_dtype_name(o->dtype), (long long)v->rows, (long long)v->n,
               (long long)v->row_stride, (long long)v->stride, v->offsets ? " segments" : "");
    watch();
}

static void clear(int64_t bytes)
{
    memset(got, 0xa5, (size_t)(bytes + GUARD));
    memset(want, 0xa5, (size_t)(bytes + GUARD));
}

/* Elements that results of a view cover, and out as a view of them: dense rows or, across, dense
   columns. */
static int64_t results(const tally_view *in, int64_t n, int across, void *data, tally_view *out)
{
    *out = *in;
    out->data = data;
    out->dtype = o->info.output;
    if (in->offsets) {
        out->stride = 1;
        return in->offsets[in->rows];
    }
    out->n = n;
    out->row_stride = across ? 1 : n;
    out->stride = across ? in->rows : 1;
    return in->rows * n;
}

static void check_reduce(const tally_view *in)
{
    clear(in->rows * o->result);
    if (check_ok(gpu, tally_reduce(gpu, o->op, in, got), o->op) &&
        check_ok(cpu, tally_reduce(cpu, o->op, in, want), o->op))
        same(in->rows * o->result, "reduce", in);
}

static void check_scan(const tally_view *in, int across, int exclusive, int reverse,
                       const void *init)
{
    tally_view a, b;
    tally_scan_options s = {exclusive, reverse, o->info.seedable ? init : NULL};
    int64_t bytes = results(in, in->n, across, got, &a) * o->result;
    results(in, in->n, across, want, &b);
    clear(bytes);
    if (check_ok(gpu, tally_scan(gpu, o->op, in, &a, &s), o->op) &&
        check_ok(cpu, tally_scan(cpu, o->op, in, &b, &s), o->op))
        same(bytes, reverse ? "reverse scan" : exclusive ? "exclusive scan" : "scan", in);
}

static void check_in_place(const tally_view *in)
{
    tally_view a = *in, b = *in;
    int64_t bytes = in->n * o->bytes;
    if (o->bytes != o->result || in->rows != 1 || in->stride != 1) return;
    clear(bytes);
    memcpy(a.data = got, in->data, (size_t)bytes);
    memcpy(b.data = want, in->data, (size_t)bytes);
    a.dtype = b.dtype = o->info.output;
    tally_view from = a, from_b = b;
    from.dtype = from_b.dtype = in->dtype;
    if (check_ok(gpu, tally_scan(gpu, o->op, &from, &a, NULL), o->op) &&
        check_ok(cpu, tally_scan(cpu, o->op, &from_b, &b, NULL), o->op))
        same(bytes, "scan in place", in);
}

static void check_window(const tally_view *in, int across, int64_t before, int64_t after,
                         tally_edges edges, int64_t least)
{
    tally_view a, b;
    tally_window_options w = {before, after, edges, least};
    if (in->offsets && edges == TALLY_EDGES_VALID) return;
    int64_t n = tally_window_length(in->n, &w), bytes = results(in, n, across, got, &a) * o->result;
    results(in, n, across, want, &b);
    clear(bytes);
    if (check_ok(gpu, tally_window(gpu, o->op, in, &a, &w), o->op) &&
        check_ok(cpu, tally_window(cpu, o->op, in, &b, &w), o->op)) {
        char what[80];
        snprintf(what, sizeof what, "window %lld+1+%lld edges %d min %lld", (long long)before,
                 (long long)after, edges, (long long)least);
        same(bytes, what, in);
    }
}

static void check_all(const tally_view *in, int across)
{
    double init = 1.5;
    check_reduce(in);
    check_scan(in, across, 0, 0, NULL);
    check_scan(in, across, 1, 0, &init);
    check_scan(in, across, 1, 1, NULL);
    check_in_place(in);
    check_window(in, across, 4, 2, TALLY_EDGES_SHRINK, 0);
    check_window(in, across, 6, 0, TALLY_EDGES_MISSING, 0);
    check_window(in, across, 2, 8, TALLY_EDGES_MISSING, 3);
    check_window(in, across, 3, 1, TALLY_EDGES_VALID, 2);
}

static void check_views(void)
{
    static int64_t offsets[2001];
    int64_t n = MOST - check_below(1000);
    tally_view v = tally_flat(x + check_below(9), o->dtype, n);
    check_all(&v, 0);
    check_window(&v, 0, 700, 0, TALLY_EDGES_SHRINK, 0);
    if (check_quick) return;
    check_window(&v, 0, 1000, 500, TALLY_EDGES_SHRINK, 0);
    v = tally_flat(x, o->dtype, 1 << 17); /* whole pieces, and nothing after them */
    check_reduce(&v);
    check_scan(&v, 0, 0, 0, NULL);
    v = (tally_view){x + 3, o->dtype, 1, MOST / 3, 0, 3, NULL}; /* every third */
    check_all(&v, 0);
    v = tally_rows(x + 1, o->dtype, 500, 600);
    check_all(&v, 0);
    v.n = 590; /* of a wider matrix */
    check_all(&v, 1);
    v = tally_rows(x, o->dtype, 3, MOST / 3); /* each too long */
    check_all(&v, 0);
    v = tally_columns(x + 2, o->dtype, 300, 999); /* columns that fit */
    check_all(&v, 1);
    v = tally_columns(x, o->dtype, 40000, 7); /* columns that do not */
    check_all(&v, 1);
    check_all(&v, 0);
    offsets[0] = 3;
    for (int i = 0; i < 2000; i++) /* one of 70000, which is cut along */
        offsets[i + 1] = offsets[i] + (i == 900 ? 70000 : check_below(4) ? check_below(200) : 0);
    v = tally_segments(x, o->dtype, offsets, 2000);
    check_reduce(&v);
    check_scan(&v, 0, 0, 0, NULL);
    check_scan(&v, 0, 1, 0, NULL);
    check_window(&v, 0, 4, 2, TALLY_EDGES_SHRINK, 0);
    check_window(&v, 0, 9, 0, TALLY_EDGES_MISSING, 4);
}

/* Streams whose pushes are large and not aligned, and a fragment from the middle. */
static void check_stream(int verb)
{
    tally *ctxs[] = {gpu, cpu};
    char *outs[] = {got, want};
    static const int64_t pushes[] = {5, 90000, 1, 70001, 66000, 30};
    tally_window_options w = {30, 7, TALLY_EDGES_SHRINK, 0};
    clear(MOST * o->result);
    for (int i = 0; i < 2; i++) {
        tally_stream *s;
        int64_t at = 0, produced = 0, now = 0;
        tally_status status = verb == 0   ? tally_stream_reduce(ctxs[i], o->op, o->dtype, &s)
                              : verb == 1 ? tally_stream_scan(ctxs[i], o->op, o->dtype, NULL, &s)
                                          : tally_stream_window(ctxs[i], o->op, o->dtype, &w, &s);
        if (!check_ok(ctxs[i], status, o->op)) return;
        for (size_t k = 0; k < sizeof pushes / sizeof *pushes; at += pushes[k++], produced += now)
            check_ok(ctxs[i],
                     tally_stream_push(s, x + at * o->bytes, pushes[k],
                                       outs[i] + produced * o->result, &now),
                     o->op);
        check_ok(ctxs[i], tally_stream_finish(s, outs[i] + produced * o->result, &now), o->op);
        tally_stream_close(s);
    }
    tally_view v = tally_flat(x, o->dtype, 226037);
    same(verb ? v.n * o->result : o->result,
         verb == 0   ? "stream reduce"
         : verb == 1 ? "stream scan"
                     : "stream window",
         &v);
}

static void check_fragments(void)
{
    tally_fragment *a, *b;
    tally_view v = tally_flat(x, o->dtype, MOST);
    clear(o->result);
    if (!check_ok(gpu, tally_fragment_make(gpu, o->op, o->dtype, x, 0, 100001, &a), o->op)) return;
    if (check_ok(gpu,
                 tally_fragment_make(gpu, o->op, o->dtype, x + 100001 * o->bytes, 100001,
                                     MOST - 100001, &b),
                 o->op)) {
        check_ok(gpu, tally_fragment_merge(a, b), o->op);
        check_ok(gpu, tally_fragment_result(a, got), o->op);
        tally_fragment_free(b);
    }
    tally_fragment_free(a);
    check_ok(cpu, tally_reduce(cpu, o->op, &v, want), o->op);
    same(o->result, "fragments", &v);
}

/* What is measured of a reduce and a scan of the array, and that nothing is when measuring is
   off. */
static void check_times(void)
{
    tally_times_info t = {0};
    tally_view in = tally_flat(x, TALLY_F32, MOST), out = tally_flat(got, TALLY_F32, MOST);
    check_ok(gpu, tally_reduce(gpu, "sum", &in, got), "sum");
    check_ok(gpu, tally_times(gpu, &t), "times");
    check(t.kernels == 0 && t.bytes_to_device == 0 && t.device_bytes > 0,
          "nothing is measured unless asked for");
    check_ok(gpu, tally_time(gpu, 1), "time");
    check_ok(gpu, tally_scan(gpu, "sum", &in, &out, NULL), "scan");
    check_ok(gpu, tally_times(gpu, &t), "times");
    check(t.kernels > 0 && t.to_device > 0 && t.from_device > 0, "kernels %g s, to %g s, from %g s",
          t.kernels, t.to_device, t.from_device);
    check(t.bytes_to_device >= MOST * 4 && t.bytes_to_device < MOST * 4 + 65536 &&
              t.bytes_from_device >= MOST * 4 && t.bytes_from_device < MOST * 4 + 65536,
          "%lld bytes to the device and %lld from it", (long long)t.bytes_to_device,
          (long long)t.bytes_from_device);
    double before = t.kernels;
    in.n = 3000;
    check_ok(gpu, tally_reduce(gpu, "sum", &in, got), "sum");
    check_ok(gpu, tally_times(gpu, &t), "times");
    check(t.kernels > before, "times add up: %g and %g s", before, t.kernels);
    check_ok(gpu, tally_time(gpu, 0), "time");
    check_ok(gpu, tally_times(gpu, &t), "times");
    check(t.kernels == 0 && t.bytes_to_device == 0, "measuring ended");
    check(tally_times(gpu, NULL) == TALLY_INVALID && tally_times(NULL, &t) == TALLY_INVALID &&
              tally_time(NULL, 1) == TALLY_INVALID,
          "NULL");
    check(tally_times(cpu, &t) == TALLY_OK && t.kernels == 0 && t.device_bytes == 0,
          "the processors measure nothing");
}

static void check_options(const char *name)
{
    static const char *const bad[] = {"memory=",   "memory=1",           "memory=x",
                                      "memory=64", "memory=9999999999G", "memory=64k",
                                      "mem=1M"};
    char device[80];
    tally *ctx;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(device, sizeof device, "%s,%s", name, bad[i]);
        check(tally_open(&ctx, device) == TALLY_INVALID, "%s was accepted: %s", device,
              tally_error(NULL));
    }
}

static void check_device(const char *name)
{
    check_options(name);
    static const struct {
        const char *op;
        tally_dtype dtype;
    } cases[] = {
        {"sum", TALLY_F32}, {"argmax", TALLY_I16}, {"nanmean", TALLY_F32}, {"var", TALLY_F64}};
    char device[120];
    snprintf(device, sizeof device, "%s,memory=%dK,probe=off", name, MEMORY >> 10);
    if (!check_ok(NULL, tally_open(&gpu, device), device)) return;
    label = device;
    for (size_t i = 0; i < (check_quick ? 2 : sizeof cases / sizeof *cases); i++) {
        check_operator one;
        if (!check(check_operator_make(&one, cases[i].op, cases[i].dtype, 0), "no operator %s",
                   cases[i].op))
            continue;
        o = &one;
        check_fill(x, o->dtype, MOST + 16, i % 2 ? TL_DATA_HOSTILE : TL_DATA_PLAIN);
        check_views();
        for (int verb = 0; verb < 3; verb++) check_stream(verb);
        check_fragments();
    }
    check_times();
    printf("%s: at most %lld bytes of device memory held\n", device, (long long)most_held);
    tally_close(gpu);
}

int main(int argc, char **argv)
{
    check_start();
    x = calloc(MOST + 64, 8);
    got = malloc(MOST * 16 + 1024);
    want = malloc(MOST * 16 + 1024);
    cpu = check_open(2, NULL);
    for_each_gpu(argc > 1 ? argv[1] : NULL, check_device);
    tally_close(cpu);
    free(x);
    free(got);
    free(want);
    return finish_gpus();
}

/* SPDX-License-Identifier: MIT
 * Every launch of every kernel, without a GPU. The device of this test has the host's memory,
 * its programs are empty, and its launches check their arguments (emulated/device.h) and compute
 * nothing. The verbs are called until every kernel was launched, as on CUDA and as on OpenCL.
 * test_texts.sh shows that a launch without an argument does not compile. */
#include "emulated/device.h"
#include "context/context.h"
#include "gpu/kernel/constants.h"

enum { N = 600000 };

/* ---- the device ---- */

struct tl_program { /* the kernels it has launched */
    char names[TL_KERNELS_MOST][TL_KERNEL_NAME];
    int count, is_unloaded;
    struct tl_program
        *next; /* all are freed at the end, so a launch can see that one is unloaded */
};
static tl_program *programs;

static tally_status d_build(tl_gpu *g, tally *c, const char *text, size_t length, tl_code how,
                            tl_program **p)
{
    (void)g, (void)c, (void)how;
    check(strlen(text) == length && !strstr(text, "KERNEL_OF("),
          "heads of kernels are written out");
    for (const char *at = text; (at = strstr(at, "\nKERNEL")) != NULL; at = strchr(at, '{')) {
        const char *const body = strchr(at, '{'), *const next = strstr(body, "\nKERNEL"),
                          *const call = strstr(body, " FOLLOW();");
        /* whole_columns waits later, for nodes */
        const int later =
            !strncmp(at, "\nKERNEL(whole_columns,", 22) && call && (!next || call < next);
        check(later || !strncmp(body, "{ FOLLOW();", 11), "a kernel does not begin with FOLLOW");
    }
    *p = calloc(1, sizeof **p);
    (*p)->next = programs, programs = *p;
    return TALLY_OK;
}
static void d_unload(tl_gpu *g, tl_program *p) { (void)g, p->is_unloaded = 1; }
static void free_programs(void)
{
    for (tl_program *p; (p = programs); free(p)) programs = p->next;
}

/* Offsets on the device: two of these segments are long, and they are not of one length. */
static void answer_measure(const tl_arguments_measure *a)
{
    uint32_t *count = (uint32_t *)a->measured + a->slot * MEASURED_SLOT;
    const int64_t *offsets = (const int64_t *)a->offsets;
    count[LONG_COUNT] = 2, count[DIFFERENT] = 1, count[NODES] = 5;
    ((int64_t *)count)[FIRST_OFFSET] = offsets[0],
              ((int64_t *)count)[LAST_OFFSET] = offsets[a->rows];
    if (a->reported) memcpy(a->reported, count, MEASURED_DONE * sizeof *count);
}

static tally_status d_launch(tl_gpu *g, tally *c, tl_program *p, const tl_kernel_start *start)
{
    const char *const name = start->kernel;
    const void *const arguments = start->arguments;
    const int id = check_launch(c, start),
              at = tl_kernel_number(c, p->names[0], sizeof p->names[0], p->count, name);
    (void)g;
    check(!p->is_unloaded, "%s is launched from a program that is unloaded", name);
    if (id < 0 || !check(at >= 0, "%s", tally_error(c))) return TALLY_INVALID;
    p->count += at == p->count;
    if (id == TL_KERNEL_measure) answer_measure((const tl_arguments_measure *)arguments);
    if (id == TL_KERNEL_take) /* all numbers are places */
        *(int64_t *)((const tl_arguments_take *)arguments)->reported = 0;
    return TALLY_OK;
}
static const tl_gpu_calls no_calls = {.build = d_build, .unload = d_unload, .launch = d_launch};

/* ---- the calls ---- */

static char x[8 * N], y[16 * N];

/* A view's reduce, scan, and windows of some lengths; the results are not used. */
static void call(tally *ctx, const char *op, tally_view in)
{
    static const int64_t widths[] = {3, 400, 900, 3000, 70000};
    tally_operator_info info;
    tally_view out = in;
    if (!check_ok(ctx, tally_operator(ctx, op, in.dtype, &info), op)) return;
    out.data = y, out.dtype = info.output;
    check_ok(ctx, tally_reduce(ctx, op, &in, y), op);
    check_ok(ctx, tally_scan(ctx, op, &in, &out, NULL), op);
    check_ok(ctx, tally_scan(ctx, op, &in, &out, &(tally_scan_options){.exclusive = 1}), op);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int edges = 0; edges <= TALLY_EDGES_VALID; edges++) {
            const tally_window_options w = {widths[i] - 1, 0, (tally_edges)edges,
                                            edges == TALLY_EDGES_MISSING ? widths[i] / 2 : 0};
            if (edges == TALLY_EDGES_VALID && (in.offsets || widths[i] > in.n)) continue;
            if (!in.offsets) out.n = tally_window_length(in.n, &w);
            check_ok(ctx, tally_window(ctx, op, &in, &out, &w), op);
        }
}

/* A stream of fields, from a fragment on: one step, and then a block. */
static void call_field(tally *ctx, const char *there)
{
    tally_stream *s;
    tally_fragment *before;
    tally_view v = tally_columns(x, TALLY_F32, 8, 100);
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 0, &before), "a fragment");
    check_ok(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 100, &s), "a stream");
    check_ok(ctx, tally_stream_resume(s, before), "from the fragment on");
    for (int n = 1; n < 20; n += 8) {
        v = tally_columns(there, TALLY_F32, n, 100);
        check_ok(ctx, tally_stream_push_view(s, &v, NULL), "steps on the device");
    }
    check_ok(ctx, tally_stream_finish(s, y, NULL), "a stream");
    tally_stream_close(s);
    tally_fragment_free(before);
}

static const int64_t offsets[] = {0, 5, 40, 40, 3000, 3400, 9000};

static void call_shapes(tally *ctx)
{
    for (int i = 0; i < 3; i++) {
        const char *op = i == 0 ? "sum" : i == 1 ? "nanmean" : "var";
        const tally_dtype dtype = i == 2 ? TALLY_F64 : TALLY_F32;
        call(ctx, op, tally_flat(x, dtype, N));
        call(ctx, op, tally_flat(x, dtype, 700));
        call(ctx, op, tally_rows(x, dtype, 60, 256));
        call(ctx, op, tally_rows(x, dtype, 7, 5000));
        call(ctx, op, tally_rows(x, dtype, 100, 3000));
        call(ctx, op, tally_rows(x, dtype, 2, N / 2));
        call(ctx, op, tally_columns(x, dtype, 5000, 40));
        call(ctx, op, tally_columns(x, dtype, 10, 40));
        call(ctx, op, tally_columns(x, dtype, 4, 13000));
        call(ctx, op, tally_columns(x, dtype, 5000, 4));
        call(ctx, op, tally_segments(x, dtype, offsets, 6));
    }
    call(ctx, "max", tally_flat(x, TALLY_F32, N));
}

static void call_on_device(tally *ctx)
{
    tl_memory on_device[2];
    const size_t bytes[] = {N * sizeof(float), sizeof offsets};
    for (int i = 0; i < 2; i++)
        check_ok(ctx, d_allocate(&gpu, ctx, bytes[i], &on_device[i]), "a block");
    tl_write(&gpu, ctx, &on_device[1], 0, offsets, sizeof offsets);
    tally_view there = tally_segments((void *)(uintptr_t)on_device[0].address, TALLY_F32,
                                      (const int64_t *)(uintptr_t)on_device[1].address, 6);
    check_ok(ctx, tally_reduce(ctx, "sum", &there, y), "segments on the device");
    char *const keys = (char *)(uintptr_t)on_device[0].address;
    int64_t runs, *const places = (int64_t *)(uintptr_t)on_device[1].address;
    const tally_view from = tally_flat(keys, TALLY_I32, 9),
                     to = tally_flat(keys + 400, TALLY_I32, 6);
    check_ok(ctx, tally_runs(ctx, &from, places, &runs), "keys on the device");
    check_ok(ctx, tally_take(ctx, &from, places, 6, &to), "a gather on the device");
    call_field(ctx, (const char *)(uintptr_t)on_device[0].address);
    for (int i = 0; i < 2; i++) d_release(&gpu, &on_device[i]);
}

static void call_inputs(tally *ctx)
{
    for (int k = 0; k < 4; k++) { /* two inputs, or a bitmap; read in place, or prepared */
        const int64_t rows = k & 1 ? 7 : 1, stride = 1 + k / 2;
        tally_view in = {x, TALLY_F32, rows, 5000, 5000 * stride, stride, NULL}, second = in;
        check_ok(ctx, tally_reduce(ctx, "dot", (in.next = &second, &in), y), "two inputs");
        in.next = NULL, in.valid = x;
        check_ok(ctx, tally_reduce(ctx, "mean", &in, y), "a bitmap");
    }
    const tally_view exact[] = {tally_flat(x, TALLY_F64, N), tally_rows(x, TALLY_F64, 60, 40),
                                tally_columns(x, TALLY_F64, 5000, 40)};
    for (int i = 0; i < 3; i++)
        check_ok(ctx, tally_reduce(ctx, "sum:exact", &exact[i], y), "exact sums");
    const tally_view few = tally_flat(x, TALLY_F32, 20000),
                     of_few = tally_flat(y, TALLY_F32, 20000);
    gpu.processors = 16; /* more than there are tiles of a large size */
    check_ok(ctx, tally_scan(ctx, "sum", &few, &of_few, NULL), "a scan by small tiles");
    gpu.processors = 4;
}

static void call_law(tally *ctx)
{
    const tl_scalar *op;
    tl_par par;
    check_ok(ctx, tl_resolve(ctx, "sum", TALLY_F32, &op, &par), "sum");
    const tally_view law_in = tally_flat(x, TALLY_F32, 64), law_out = tally_flat(y, TALLY_F32, 64);
    const tl_call law = {
        .verb = TL_LAW, .plan = &(tl_plan){.op = op, .par = par}, .in = &law_in, .out = &law_out};
    check_ok(ctx, ctx->device->calls->run(ctx->device, ctx, &law, &(int){0}), "the law");
}

static void call_all(int cuda)
{
    tl_device *cpu;
    tally *ctx = open_none(cuda, &no_calls, &cpu);
    call_shapes(ctx);
    call_on_device(ctx);
    call_inputs(ctx);
    call_law(ctx);
    for (int id = 0; id < TL_KERNELS; id++)
        check(launches[id] > 0 ||
                  (!cuda && (id == TL_KERNEL_reduce_single || id == TL_KERNEL_scan_single ||
                             id == TL_KERNEL_scan_down || id == TL_KERNEL_table_columns)),
              "kernel %s was not launched as on %s", tl_gpu_kernels[id].name,
              cuda ? "CUDA" : "OpenCL");
    close_none(ctx, cpu);
    free_programs();
}

/* The device has as many programs as it keeps, and the first one is of a call that needs one more.
 */
static void check_full(void)
{
    tl_device *cpu;
    tally *ctx = open_none(0, &no_calls, &cpu);
    tally_view v = tally_flat(x, TALLY_F32, N);
    const int64_t cuts[] = {0, 20, 5000, 60000};
    check_ok(ctx, tally_reduce(ctx, "sum", &v, y), "one program");
    tl_gpu_device *const d = tl_gpu_of(ctx->device);
    while (d->program_count < TL_GPU_PROGRAMS) {
        tl_built *const b = &d->programs[d->program_count++];
        *b = (tl_built){.of = d->programs[0].of, .used = ++d->turn};
        b->of.shape = "none";
        d_build(&gpu, ctx, "", 0, TL_CODE_AUTO, &b->program);
    }
    v = tally_segments(x, TALLY_F32, cuts, 3);
    check_ok(ctx, tally_reduce(ctx, "sum", &v, y), "one program more");
    check_ok(ctx, tally_scan(ctx, "sum", &v, &(tally_view){y, TALLY_F32, 3, 0, 0, 1, cuts}, NULL),
             "and more");
    check(d->program_count == TL_GPU_PROGRAMS, "%d programs", d->program_count);
    close_none(ctx, cpu);
    free_programs();
}

/* A program's list of kernels: no more than its capacity, no longer names. */
static void check_names(void)
{
    tally *ctx = check_open(1, NULL);
    tl_program p = {.count = 0};
    char name[TL_KERNEL_NAME + 1] = "k";
    for (int i = 0; i <= TL_KERNELS_MOST; i++) {
        snprintf(name, sizeof name, "kernel_number_%d", i % TL_KERNELS_MOST);
        check(tl_kernel_number(ctx, p.names[0], sizeof p.names[0], p.count, name) ==
                  i % TL_KERNELS_MOST,
              "%s", name);
        p.count += p.count < TL_KERNELS_MOST;
    }
    check(tl_kernel_number(ctx, p.names[0], sizeof p.names[0], p.count, "more") < 0 &&
              strstr(tally_error(ctx), "at most 16"),
          "one too many: %s", tally_error(ctx));
    memset(name, 'k', TL_KERNEL_NAME);
    check(tl_kernel_number(ctx, p.names[0], sizeof p.names[0], 0, name) < 0, "a name of %d letters",
          TL_KERNEL_NAME);
    check(tl_kernel_number(ctx, p.names[0], sizeof p.names[0], 0, name + 1) == 0,
          "a name of %d letters", TL_KERNEL_NAME - 1);
    tally_close(ctx);
}

/* If SINGLE_PART names functions of a chunk by a suffix, the text of CUDA has these functions. */
static void check_suffix(const char *text, const char *what)
{
    static const char parts[] = "\n#define SINGLE_PART(name) name##_";
    char chunk[40], suffix[8] = "";
    const char *const at = strstr(text, parts);
    if (!at || strstr(text, "\n#define SCAN_LINES 1\n")) return;
    sscanf(at + sizeof parts - 1, "%7[^\n]", suffix);
    snprintf(chunk, sizeof chunk, "\n#define N(name) name##_%s\n", suffix);
    check(strstr(text, chunk) != NULL, "%s: no chunk '%s'", what, suffix);
}

/* In the text of every scan: of every operator and type, one input or inputs in place. */
static void check_scan_texts(void)
{
    for (const char *const *name = tally_operators(); *name; name++)
        for (int d = TALLY_I8; d <= TALLY_F64; d++)
            for (int k = TL_ONE_INPUT; k <= TL_BITMAPS; k++) {
                const tl_scalar *op;
                tl_par par;
                char spelled[64], parameter[TL_SAMPLE_BYTES], what[80], *text;
                size_t length;
                snprintf(spelled, sizeof spelled, "%s%s", *name,
                         tl_sample_parameter(*name, parameter));
                if (tl_resolve(NULL, spelled, (tally_dtype)d, &op, &par)) continue;
                const tl_scalar variant = tl_gpu_variant_of(op, k == TL_BITMAPS);
                const tl_text t = {&variant, "scan", "gpu/cuda/prelude_cuda.h", NULL, (tl_inputs)k};
                snprintf(what, sizeof what, "scan %s %s, inputs %d", *name,
                         tally_dtype_name((tally_dtype)d), k);
                if (!check_ok(NULL, tl_program_text(NULL, &t, &text, &length), what)) continue;
                check_suffix(text, what);
                free(text);
            }
}

int main(void)
{
    check_start();
    check_scan_texts();
    check_fill(x, TALLY_F64, N, TL_DATA_PLAIN);
    call_all(0);
    memset(launches, 0, sizeof launches);
    call_all(1);
    check_full();
    check_names();
    return check_finish();
}

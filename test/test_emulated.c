/* SPDX-License-Identifier: MIT
 * CUDA's kernels without a GPU (emulated/run.h): calls of every verb on a device whose texts run
 * on the processor under sanitizers, compared with the processors' bits. emulated/bounds.def says
 * which lengths, and which kernel they are for. Elements, results, bitmaps and offsets are blocks
 * of the device of just their size, and begin anywhere in a line of memory.
 *
 *   TALLY_TEST_LONG=1 test_emulated    with every operator of a row; without it the seed picks one,
 *                                      and a third of the rows of each kernel
 *   test_emulated KERNEL [OPERATOR TYPE]     rows of that kernel alone, with any operator
 * Without a C++ compiler the test is skipped. */
#include "emulated/run.h"
#include "context/context.h"
#include "gpu/kernel/constants.h"

enum { SKIPPED = 77, AROUND = 8, CASES = 2 * AROUND + 1, ALIGNED_AT = 16, LARGE_FROM = 1 << 16 };
enum { REDUCE, SCAN, WINDOW, FIELD, RUNS, TAKE, LAW };
enum { FLAT, ROWS, COLUMNS, SEGMENTS, THERE }; /* THERE: segments whose offsets are on the device */

enum {
#define OPERATORS(name, ...) name,
#include "emulated/bounds.def"
    GROUPS_OF_OPERATORS
};
static const char *const operators[GROUPS_OF_OPERATORS][8] = {
#define OPERATORS(name, ...) {__VA_ARGS__},
#include "emulated/bounds.def"
};
typedef struct {
    const char *kernel;
    tl_gpu_kernel_id id;
    int verb, layout, operators;
    int64_t n, count, width;
} bound;
static const bound bounds[] = {
#define BOUND(kernel, verb, layout, operators, n, count, width) \
    {#kernel, TL_KERNEL_##kernel, verb, layout, operators, n, count, width},
#include "emulated/bounds.def"
};
static tally *gpu_ctx, *cpu_ctx;

/* ---- blocks of the device ---- */

enum { BLOCKS = 16 };
static struct {
    tl_memory memory[BLOCKS];
    int count;
} device_blocks;
/* `bytes` bytes that begin `shift` bytes after a multiple of 16. */
static char *block_of(int64_t bytes, int64_t shift)
{
    tl_memory *const m = &device_blocks.memory[device_blocks.count++];
    check(device_blocks.count <= BLOCKS, "more blocks than there are places");
    check_ok(NULL, d_allocate(&gpu, NULL, (size_t)(shift + bytes), m), "a block");
    forbid((char *)(uintptr_t)m->address, (size_t)shift);
    return (char *)(uintptr_t)m->address + shift;
}
static void free_blocks(void)
{
    while (device_blocks.count) d_release(&gpu, &device_blocks.memory[--device_blocks.count]);
}

/* ---- a case ---- */

typedef struct {
    const bound *b;
    char op[64];
    tally_dtype dtype;
    tally_operator_info info;
    int bits, number;               /* number: of the case in its row */
    int64_t n, width;               /* of a sequence, of a window */
    tally_view in, next, out, want; /* out on the device, want beside it */
    int64_t *offsets, places;       /* results, with what lies between them */
} call;

/* Bytes after a multiple of 16: none of case 1, often half of it; three of four times where
 * elements of `bytes` bytes are aligned. */
static int64_t shift_of(const call *c, int64_t bytes)
{
    enum { ALIGNED = 3 };
    static const char shifts[] = {12, 8, 4, 0, 2, 15, 8, 1};
    const int64_t shift = shifts[c->number > 1 ? check_below(sizeof shifts)
                                 : c->number   ? ALIGNED
                                               : 0];
    return c->number % 4 == 3 ? shift : shift / bytes * bytes;
}

/* The lengths of segments: around n, and shorter ones; or all n, which makes them rows. */
static int64_t *offsets_of(const call *c)
{
    const size_t bytes = (size_t)(c->b->count + 1) * sizeof(int64_t);
    int64_t *const o =
        c->b->layout == THERE ? (int64_t *)(void *)block_of((int64_t)bytes, 0) : malloc(bytes);
    o[0] = check_below(4);
    for (int64_t r = 0; r < c->b->count; r++)
        o[r + 1] = o[r] + (c->number % 6 == 5 || !r ? c->n
                           : r % 3                  ? check_below(c->n + 1)
                                                    : c->n - check_below(c->n < 9 ? c->n : 9));
    return o;
}

/* A view of c's layout, of `n` places of a sequence, `stride` apart; *places: all of them. */
static tally_view view_of(const call *c, tally_dtype dtype, int64_t n, int64_t stride, int64_t pad,
                          int64_t *places)
{
    const int64_t count = c->b->layout == FLAT ? 1 : c->b->count;
    tally_view v = {NULL, dtype, count, n, n * stride + pad, stride, NULL};
    if (c->b->layout == COLUMNS) v.row_stride = 1, v.stride = count + pad;
    *places = (count - 1) * v.row_stride + (n - 1) * v.stride + 1;
    if (c->offsets) v.offsets = c->offsets, *places = (c->offsets[count] - 1) * stride + 1;
    if (*places < 1) *places = 1;
    return v;
}

/* The elements, and the bitmap if there is one. */
static tally_view input_of(const call *c, int64_t stride, int64_t pad)
{
    int64_t places;
    const int64_t bytes = (int64_t)tally_dtype_size(c->dtype), first = check_below(9);
    tally_view v = view_of(c, c->dtype, c->n, stride, pad, &places);
    v.data = block_of(places * bytes, shift_of(c, bytes));
    check_fill(v.data, c->dtype, places,
               c->number % 3 ? TL_DATA_PLAIN : (tl_data)(c->number / 3 % TL_DATA_KINDS));
    if (!c->bits) return v;
    unsigned char *const there =
        (unsigned char *)block_of((first + places + 7) / 8, check_below(ALIGNED_AT));
    for (int64_t i = 0; i < (first + places + 7) / 8; i++)
        there[i] = (unsigned char)(check_below(256) | check_below(256));
    v.valid = there, v.valid_offset = first;
    return v;
}

/* Memory for results on the device, and the same beside it. n: results of a sequence. */
static void make_results(call *c, int64_t n)
{
    const int dense = c->b->verb == REDUCE || c->number % 5;
    const int64_t bytes = (int64_t)tally_dtype_size(c->info.output), each = bytes * c->info.lanes;
    c->out = view_of(c, c->info.output, n, dense ? 1 : 2, dense ? 0 : 1, &c->places);
    if (c->b->verb == REDUCE) c->places = c->out.rows;
    c->want = c->out;
    c->out.data = block_of(c->places * each, shift_of(c, bytes));
    c->want.data = malloc((size_t)(c->places * each));
    memset(c->out.data, 0x5a, (size_t)(c->places * each));
    memset(c->want.data, 0x5a, (size_t)(c->places * each));
}

static tally_status do_scan(const call *c, tally *ctx, const tally_view *out)
{
    static char init[16];
    const tally_scan_options o = {.exclusive = c->number / 2 % 2,
                                  .reverse = c->number % 3 == 1 && !c->offsets,
                                  .init =
                                      c->number % 4 == 2 && c->b->layout < SEGMENTS ? init : NULL};
    const tally_scan_options plain = {.exclusive = o.exclusive, .reverse = o.reverse};
    const tally_status status = tally_scan(ctx, c->op, &c->in, out, &o);
    return status == TALLY_UNSUPPORTED && o.init ? tally_scan(ctx, c->op, &c->in, out, &plain)
                                                 : status;
}

static tally_window_options window_of(const call *c)
{
    const int64_t after = c->number % 3 ? check_below(c->width) : 0;
    const int edges = c->number % (c->offsets ? 2 : 3);
    return (tally_window_options){
        c->width - 1 - after, after,
        (tally_edges)(c->width > c->n && edges == TALLY_EDGES_VALID ? 0 : edges),
        c->number % 4 == 1 ? c->width / 2 : 0};
}

/* Offsets on the device that descend: a sentence, and nothing is written, though a kernel went
 * ahead. */
static void check_bad_offsets(call *c)
{
    const int64_t bytes = c->places * (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    c->offsets[1] = c->offsets[2] + 1;
    memset(c->out.data, 0x5a, (size_t)bytes), memset(c->want.data, 0x5a, (size_t)bytes);
    const tally_status status = c->b->verb == SCAN
                                    ? tally_scan(gpu_ctx, c->op, &c->in, &c->out, NULL)
                                    : tally_reduce(gpu_ctx, c->op, &c->in, c->out.data);
    check(status == TALLY_INVALID, "%s: bad offsets", check_about);
    check_same(c->out.data, c->want.data, bytes, 1, "bad offsets: %s", check_about);
}

/* REDUCE, SCAN and WINDOW of the case's view. */
static void compare(call *c)
{
    const int64_t stride = c->number % 7 == 5 ? 2 : 1, pad = c->number % 5 == 4;
    tally_status status, wanted;
    c->in = input_of(c, stride, pad);
    if (c->info.inputs == 2) c->next = input_of(c, 1, 0), c->in.next = &c->next;
    if (c->b->verb == WINDOW) {
        const tally_window_options w = window_of(c);
        make_results(c, tally_window_length(c->n, &w));
        wanted = tally_window(cpu_ctx, c->op, &c->in, &c->want, &w);
        status = tally_window(gpu_ctx, c->op, &c->in, &c->out, &w);
    } else if (c->b->verb == SCAN) {
        make_results(c, c->n);
        wanted = do_scan(c, cpu_ctx, &c->want), status = do_scan(c, gpu_ctx, &c->out);
    } else {
        make_results(c, 1);
        wanted = tally_reduce(cpu_ctx, c->op, &c->in, c->want.data);
        status = tally_reduce(gpu_ctx, c->op, &c->in, c->out.data);
    }
    check_ok(cpu_ctx, wanted, check_about), check_ok(gpu_ctx, status, check_about);
    check_same(c->out.data, c->want.data, c->places,
               (int64_t)tally_dtype_size(c->info.output) * c->info.lanes, "%s", check_about);
    if (c->b->layout == THERE && c->b->verb != WINDOW) check_bad_offsets(c);
}

/* Steps of a field, pushed in blocks, as columns. */
static void compare_field(call *c)
{
    tally_stream *s;
    c->in = tally_columns(NULL, c->dtype, c->n, c->b->count);
    const int64_t bytes = (int64_t)tally_dtype_size(c->dtype);
    c->in.data = block_of(c->n * c->b->count * bytes, shift_of(c, bytes));
    check_fill(c->in.data, c->dtype, c->n * c->b->count, TL_DATA_PLAIN);
    const int64_t each = (int64_t)tally_dtype_size(c->info.output) * c->info.lanes;
    char *const got = block_of(c->b->count * each, 0);
    char *const want = malloc((size_t)(c->b->count * each));
    check_ok(cpu_ctx, tally_reduce(cpu_ctx, c->op, &c->in, want), check_about);
    check_ok(gpu_ctx, tally_stream_reduce_rows(gpu_ctx, c->op, c->dtype, c->b->count, &s),
             check_about);
    for (int64_t at = 0, some; at < c->n; at += some) {
        some = c->number % 2 ? c->n : 1 + check_below(2 * GRID_BLOCK);
        if (some > c->n - at) some = c->n - at;
        tally_view v = c->in;
        v.n = some, v.data = (char *)v.data + at * v.stride * bytes;
        check_ok(gpu_ctx, tally_stream_push_view(s, &v, NULL), check_about);
    }
    check_ok(gpu_ctx, tally_stream_finish(s, got, NULL), check_about);
    check_same(got, want, c->b->count, each, "%s", check_about);
    tally_stream_close(s);
    free(want);
}

/* Runs of equal keys. */
static void compare_runs(call *c)
{
    int64_t runs = 0, wanted = 0;
    c->in = input_of(c, 1 + c->number % 2, 0);
    const size_t bytes = (size_t)(c->n + 1) * sizeof(int64_t);
    int64_t *const got = (int64_t *)(void *)block_of((int64_t)bytes, 0);
    int64_t *const want = malloc(bytes);
    const int64_t size = (int64_t)tally_dtype_size(c->dtype);
    char *const x = c->in.data;
    for (int64_t i = 1; i < c->n; i++) /* keys repeat */
        if (check_below(3))
            memcpy(x + i * c->in.stride * size, x + (i - 1) * c->in.stride * size, (size_t)size);
    check_ok(cpu_ctx, tally_runs(cpu_ctx, &c->in, want, &wanted), check_about);
    check_ok(gpu_ctx, tally_runs(gpu_ctx, &c->in, got, &runs), check_about);
    check(runs == wanted, "%s: %lld runs, not %lld", check_about, (long long)runs,
          (long long)wanted);
    check_same(got, want, wanted + 1, sizeof *got, "%s", check_about);
    free(want);
}

/* Elements by their places. */
static void compare_take(call *c)
{
    const int64_t size = (int64_t)tally_dtype_size(c->dtype);
    c->in = input_of(c, 1 + c->number % 2, 0);
    int64_t *const order = (int64_t *)(void *)block_of(c->n * 8, 0);
    for (int64_t i = 0; i < c->n; i++) order[i] = check_below(c->n);
    char *const got = block_of(c->n * size, shift_of(c, size));
    char *const want = malloc((size_t)(c->n * size));
    const tally_view to = tally_flat(got, c->dtype, c->n), there = tally_flat(want, c->dtype, c->n);
    check_ok(cpu_ctx, tally_take(cpu_ctx, &c->in, order, c->n, &there), check_about);
    check_ok(gpu_ctx, tally_take(gpu_ctx, &c->in, order, c->n, &to), check_about);
    check_same(got, want, c->n, size, "%s", check_about);
    order[c->n - 1] = c->n;
    check(tally_take(gpu_ctx, &c->in, order, c->n, &to) == TALLY_INVALID, "%s: a place too many",
          check_about);
    free(want);
}

/* The probe's kernels: every prefix's result. */
static void compare_law(call *c)
{
    const tl_scalar *op;
    tl_par par;
    c->in = input_of(c, 1, 0);
    make_results(c, c->n);
    char *const got = malloc((size_t)(c->places * 16));
    c->want.stride = 1, c->places = c->n;
    check_ok(cpu_ctx, tl_resolve(cpu_ctx, c->op, c->dtype, &op, &par), check_about);
    check_ok(cpu_ctx, tally_scan(cpu_ctx, c->op, &c->in, &c->want, NULL), check_about);
    const tally_view out = {.data = got, .dtype = op->out, .rows = 1, .n = c->n, .stride = 1};
    const tl_call law = {
        .verb = TL_LAW, .plan = &(tl_plan){.op = op, .par = par}, .in = &c->in, .out = &out};
    check_ok(gpu_ctx, gpu_ctx->device->calls->run(gpu_ctx->device, gpu_ctx, &law, &(int){0}),
             check_about);
    check_same(got, c->want.data, c->n, op->result_bytes, "%s", check_about);
    free(got);
}

static void check_case(const bound *b, const char *op, int number)
{
    static void (*const verbs[])(call *) = {compare,      compare,      compare,    compare_field,
                                            compare_runs, compare_take, compare_law};
    static const char *const verb_names[] = {"reduce", "scan", "window", "field",
                                             "runs",   "take", "law"};
    call c = {.b = b, .number = number, .n = b->n + number - AROUND};
    char type[16] = "", bits[8] = "";
    const int words = sscanf(op, "%63s %15s %7s", c.op, type, bits);
    c.dtype = tally_dtype_parse(type), c.bits = words == 3;
    c.width = b->width ? b->width + number * 7 % CASES - AROUND : 0;
    if (c.n < 1 || (b->width && c.width < 1)) return;
    if (!check_ok(cpu_ctx, tally_operator(cpu_ctx, c.op, c.dtype, &c.info), op)) return;
    if (b->layout >= SEGMENTS) c.offsets = offsets_of(&c);
    /* of columns so few that some rows have more columns than it takes to keep all warps busy */
    gpu.processors = b->layout == FLAT ? (int)b->count : b->layout == COLUMNS ? 2 : 4;
    /* and some scans of columns on a device whose local memory bounds the rows of a lane */
    gpu.local_bytes =
        b->layout == COLUMNS && b->verb == SCAN && number % 8 == 2 ? 64 << 10 : DEVICE_LOCAL;
    snprintf(check_about, sizeof check_about,
             "%s: %s of %s, layout %d, n=%lld of %lld, w=%lld, case %d of %s", b->kernel,
             verb_names[b->verb], op, b->layout, (long long)c.n, (long long)b->count,
             (long long)c.width, number, TALLY_SOURCE_DIR "/test/emulated/bounds.def");
    verbs[b->verb](&c);
    free(c.want.data);
    if (b->layout == SEGMENTS) free(c.offsets);
    free_blocks();
}

/* The operator of each group: the seed's, or one of a group before it, so that fewer programs are
 * compiled. */
static int picked[GROUPS_OF_OPERATORS];
static void pick_operators(void)
{
    for (int group = 0; group < GROUPS_OF_OPERATORS; group++) {
        const char *const *const of = operators[group];
        int count = 0, taken = -1;
        for (; of[count]; count++)
            for (int g = 0; g < group; g++)
                if (!strcmp(of[count], operators[g][picked[g]])) taken = count;
        picked[group] =
            taken < 0 ? (int)(check_seed / (unsigned)(group + 1) % (unsigned)count) : taken;
    }
}

/* The operators of a row: all, or the one of its group. */
static void check_bound(const bound *b, const char *only)
{
    int count = 0;
    while (operators[b->operators][count]) count++;
    const int64_t all = b->n * (b->layout == FLAT && b->verb < FIELD ? 1 : b->count);
    /* Of large calls one or two below n, and one or two from n on; of others every second length
     * once the kernel was launched, which some aligned case may be the first to do. */
    const int step = all < LARGE_FROM ? 1 : all < LARGE_FROM << 3 ? AROUND / 2 : AROUND + 1;
    for (int i = 0; i < count; i++) {
        if (only ? i : !check_long && i != picked[b->operators]) continue;
        const char *const op = only ? only : operators[b->operators][i];
        const int64_t before = launches[b->id];
        for (int k = (int)check_below(step < AROUND ? step : AROUND); k < CASES; k += step) {
            check_case(b, op, k);
            if (step == 1 && !check_long) k += launches[b->id] > before;
        }
        check(only || launches[b->id] > before,
              "kernel %s is not for its row of %s, layout %d, n=%lld, w=%lld", b->kernel, op,
              b->layout, (long long)b->n, (long long)b->width);
    }
}

/* Is row i one that the seed leaves out? A kernel keeps every third of its rows, and one at
 * least. */
static int left_out(size_t i)
{
    enum { OF = 3 };
    const size_t all = sizeof bounds / sizeof *bounds;
    unsigned before = 0, rows = 0;
    for (size_t j = 0; j < all; j++) {
        const unsigned same = bounds[j].id == bounds[i].id;
        before += j < i && same;
        rows += same;
    }
    return (before + check_seed) % (rows < OF ? rows : OF) != 0;
}

int main(int argc, char **argv)
{
    char only[80] = "";
    tl_device *cpu;
    check_start();
    gpu_ctx = open_emulated(&cpu);
    if (!gpu_ctx) {
        printf("no C++ compiler\n");
        return SKIPPED;
    }
    cpu_ctx = check_open(1, NULL);
    pick_operators();
    if (argc > 3) snprintf(only, sizeof only, "%s %s", argv[2], argv[3]);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (argc < 2 ? check_long || !left_out(i) : !strcmp(argv[1], bounds[i].kernel))
            check_bound(&bounds[i], *only ? only : NULL);
    for (int id = 0; id < TL_KERNELS && argc < 2; id++)
        check(launches[id] > 0, "kernel %s has no row in bounds.def", tl_gpu_kernels[id].name);
    close_none(gpu_ctx, cpu);
    tally_close(cpu_ctx);
    return check_finish();
}

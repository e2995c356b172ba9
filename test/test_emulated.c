/* SPDX-License-Identifier: MIT
 * Kernels that only CUDA has, without a GPU: their texts, compiled as C++ with the words of
 * test/emulated, run on fibers (emulated/fibers.h), and every result is compared with the
 * processors'. Here the kernels `once` of reductions, also of two inputs and with bitmaps, and
 * of scans, of columns too: random lengths, alignments, strides, tiles and groups; window_flat,
 * whose tiles of runs (window/whole.cl) no OpenCL device has, and window_part in passes of a
 * higher radix (window/passes.cl) than these have; window_along; short segments
 * (emulated/segments.h).
 *
 *   TALLY_TEST_LONG=1 test_emulated    all of them; without it the seed picks a third
 *   test_emulated [OP TYPE [ROUNDS [SHAPES]]]   all of one, or the shapes of these bits
 * CXX: the compiler, else c++; without one the test is skipped. */
#undef _FORTIFY_SOURCE /* its longjmp knows no second stack (fibers.h) */
#include "gpu/window/window.h"
#include "context/inputs.h"
#include "context/operators.h"
#include "gpu/kernel/constants.h"
#include "check.h"
#include "emulated/fibers.h"
#include <dlfcn.h>
#include <unistd.h>

enum {
    SKIPPED = 77,
    ROUNDS = 24,
    MOST = 300000,
    SHIFTS = 64,
    STRIDES = 3,
    NODES_ROOM = 4096,
    TILE_LEAST_LOG = 13
};
enum { MOST_TILES = (257 << TILE_LEAST_LOG) + 70000 };
enum {
    REDUCE = 1,
    SCAN = 2,
    TWO = 4,
    BITMAPS = 8,
    WINDOW = 16,
    PASSES = 32,
    SEGMENTS = 64,
    ONE_TRIP = 128,
    ALL_SHAPES = 255
};
enum { WARPS_THREADS = 256, BOARD_WORDS = 1 << 17, SCAN_MOST = 180000, GROUPS_MOST = 8 };

/* What else kernels in place read (PART in_place of params.def). */
#define IN_PLACE                                                                                   \
    const void *y, long long y_byte, const void *x_there, long long x_bit, const void *y_there,    \
        long long y_bit, long long left_out
static struct {
    int on; /* else there is none */
    const void *y, *x_there, *y_there;
    long long x_bit, y_bit, left_out;
} also;
#define ALSO also.y, 0, also.x_there, also.x_bit, also.y_there, also.y_bit, also.left_out

/* The parameters of `once` (src/gpu/kernel/params.def). */
typedef void once_kernel(const void *data, long long byte, long long row_stride, long long stride,
                         long long n, long long seqs, long long flags, const void *offsets,
                         const void *ids, const void *first, double parameter, long long origin,
                         IN_PLACE, void *out, long long out_byte, long long out_row_stride,
                         long long out_stride, void *board, long long epoch, long long more);
static struct {
    once_kernel *kernel;
    const void *data;
    long long n, stride, epoch, more;
    double parameter;
    uint64_t board[2 + NODES_ROOM];
    char out[64];
} call;
static void run_call(void)
{
    call.kernel(call.data, 0, 0, call.stride, call.n, 1, 0, NULL, NULL, NULL, call.parameter, 0,
                ALSO, call.out, 0, 0, 1, call.board, call.epoch, call.more);
}

static const char *compiler(void)
{
    const char *named = getenv("CXX");
    return named && *named ? named : "c++";
}

/* The program as a shared object; NULL: it does not compile. */
static void *load(tally *ctx, const tl_scalar *op, const char *shape, const char *kernel,
                  const char *what)
{
    char *text, command[400], path[60];
    size_t length;
    if (!check_ok(
            ctx, tl_program_text(ctx, op, shape, "gpu/cuda/prelude_cuda.h", kernel, &text, &length),
            what))
        return NULL;
    FILE *f = fopen("emulated.cpp", "w");
    const int written = f && fwrite(text, 1, length, f) == length;
    if (f) fclose(f);
    free(text);
    static int number;
    /* a name once: the loader keeps them */
    snprintf(path, sizeof path, "./emulated%d.so", number++);
    snprintf(command, sizeof command,
             "%s -O1 -w -ffp-contract=off -fno-strict-aliasing -shared -fPIC -o %s emulated.cpp",
             compiler(), path);
    if (!check(written && !system(command), "%s: the text does not compile as C++", what))
        return NULL;
    void *object = dlopen(path, RTLD_NOW);
    unlink(path);
    return check(object != NULL, "%s: %s", what, dlerror()) ? object : NULL;
}

/* A view of x; of an operator of two inputs of the pairs that lie there (tl_gpu_variant_of),
   with *second. */
static tally_view view_of(const tl_scalar *op, char *x, int64_t rows, int64_t n, int64_t stride,
                          tally_view *second)
{
    tally_view in = {x, op->dtype, rows, n, n * stride * op->inputs, stride * op->inputs, NULL};
    *second = in;
    second->data = x + tally_dtype_size(op->dtype);
    if (op->inputs == 2) in.next = second;
    return in;
}

/* ---- in place: two inputs, bitmaps ---- */

static struct {
    tl_form form;
    tally_view in, next;
    int two, bits;
} pair;

/* A NaN with the bits of the mark is a value like any other. */
static void put_mark(char *to, int bytes)
{
    memset(to, 0xff, (size_t)bytes);
    to[bytes - 1] = 0x7f;
}

/* The shape that reads what there is. */
static const char *shape_of(const char *plain, const char *two, const char *bits)
{
    return !also.on ? plain : pair.bits ? bits : two;
}

/* pair.in, and `also` for it, of rows that lie side by side. */
static void take_inputs(int64_t rows, int64_t n, int k)
{
    enum { ROOM = SCAN_MOST * 8 + SHIFTS };
    static _Alignas(64) char room[2][ROOM], bitmap[2][SCAN_MOST / 8 + 16];
    const tally_dtype dtype = pair.form.op->dtype;
    const int bytes = (int)tally_dtype_size(dtype);
    for (int i = 0; i <= pair.two; i++) {
        tally_view *v = i ? &pair.next : &pair.in;
        *v = tally_rows(room[i] + (k % 4 == 3 ? check_below(SHIFTS / bytes) * bytes : 0), dtype,
                        rows, n);
        check_fill(v->data, dtype, rows * n,
                   k % 3 ? TL_DATA_PLAIN : (tl_data)((k + i) / 3 % TL_DATA_KINDS));
        if (k % 3 == 0) put_mark((char *)v->data + check_below(rows * n) * bytes, bytes);
        /* with two inputs one of them may have none */
        if (!pair.bits || (pair.two && k % 3 == 2 - i)) continue;
        v->valid = bitmap[i],
        v->valid_offset = k % 8 == 3 ? check_below(40) : k % 4 + 4 * check_below(10);
        for (size_t b = 0; b < sizeof bitmap[i]; b++)
            bitmap[i][b] = (char)(check_below(256) | check_below(256));
    }
    if (pair.two) pair.in.next = &pair.next;
    const tally_view *y = pair.two ? &pair.next : &pair.in, *x = pair.in.valid ? &pair.in : y;
    if (!y->valid) y = x;
    also.y = pair.two ? pair.next.data : NULL, also.left_out = (long long)pair.form.fill;
    also.x_there = x->valid, also.x_bit = x->valid_offset, also.y_there = y->valid,
    also.y_bit = y->valid_offset;
}

/* many: more tiles than a group's, which has 256. */
static void round_of(tally *ctx, const char *name, const tl_scalar *op, int k, int many)
{
    static char room[SHIFTS + MOST_TILES * 16 + 64], want[64];
    const int bytes = op->elem_bytes,
              shift =
                  k % 4 ? (int)check_below(SHIFTS) / (k % 7 ? bytes : 1) * (k % 7 ? bytes : 1) : 0;
    const int64_t stride = k % 9 == 8 && !also.on && !many ? 1 + check_below(STRIDES) : 1;
    const int64_t n = many ? MOST_TILES - check_below(70000)
                           : 1024 + check_below(k % 3 == 0 ? 9000 : MOST - 1024) /
                                        (k % 3 == 1 ? 1024 : 1) * (k % 3 == 1 ? 1024 : 1);
    char *x = room + shift;
    check_fill(x, op->dtype, ((n - 1) * stride + 1) * op->inputs, (tl_data)(k % TL_DATA_KINDS));
    tally_view second, in = view_of(op, x, 1, n, stride, &second);
    if (also.on) take_inputs(1, n, k), in = pair.in, x = in.data;
    memset(call.out, 0, sizeof call.out);
    memset(want, 0, sizeof want);
    call.epoch++;
    if (!check_ok(ctx, tally_reduce(ctx, name, &in, want), name)) return;
    call.data = x, call.n = n, call.stride = stride,
    call.more = many ? 0 : check_below(TILE_MORE + 1);
    const int64_t tiles = n >> (TILE_LEAST_LOG + call.more);
    const int groups = tiles ? (int)(k % 2 ? tiles : 1 + check_below(tiles)) : 1;
    if (!check(fibers_launch(run_call, groups, WARPS_THREADS), "out of memory")) return;
    check_same(call.out, want, 1, op->result_bytes,
               "%s %s n=%lld shift=%d stride=%lld, %d groups, tiles of 2^%lld chunks", name,
               tally_dtype_name(op->dtype), (long long)n, shift, (long long)stride, groups,
               call.more);
}

/* The parameters of scan_once and scan_few. */
typedef void scan_kernel(const void *data, long long byte, long long row_stride, long long stride,
                         long long n, long long seqs, long long flags, const void *offsets,
                         const void *ids, const void *first, double parameter, long long origin,
                         IN_PLACE, void *out, long long out_byte, long long out_row_stride,
                         long long out_stride, void *board, long long ticket0, long long epoch,
                         long long tiles, long long levels, long long jobs, long long exclusive,
                         long long seeded, const void *init);
static struct {
    scan_kernel *kernel;
    const char *data, *init;
    char *out;
    long long rows, n, stride, out_stride, tiles, levels, exclusive, ticket0, epoch;
    double parameter;
    int few;
    uint64_t board[2 + BOARD_WORDS];
} scan;
static void run_scan(void)
{
    scan.kernel(scan.data, 0, scan.n * scan.stride, scan.stride, scan.n, scan.rows, 0, NULL, NULL,
                NULL, scan.parameter, 0, ALSO, scan.out, 0, scan.n * scan.out_stride,
                scan.out_stride, scan.board, scan.ticket0, scan.epoch, scan.tiles, scan.levels,
                scan.tiles * scan.rows, scan.exclusive, scan.init ? SEED_VALUE : SEED_NONE,
                scan.init);
}

static long long down_width;
static void run_down(void)
{
    const long long strips = (down_width + LANES - 1) / LANES;
    scan.kernel(scan.data, 0, 1, down_width, scan.n, down_width, 0, NULL, NULL, NULL,
                scan.parameter, 0, ALSO, scan.out, 0, 1, down_width, scan.board, scan.ticket0,
                scan.epoch, scan.tiles, scan.levels, scan.tiles * strips, scan.exclusive,
                scan.init ? SEED_VALUE : SEED_NONE, scan.init);
}

static void scan_round(tally *ctx, const char *name, const tl_scalar *op, int k)
{
    enum { ROOM = SHIFTS + SCAN_MOST * STRIDES * 16 + 64 };
    static char room[ROOM], want[ROOM], got[ROOM];
    const int bytes = op->elem_bytes, result = op->result_bytes,
              log = tl_gpu_once_log(op, scan.few);
    const int shift = k % 3 ? (int)check_below(SHIFTS / bytes) * (k % 5 == 4 ? 1 : bytes) : 0;
    const int to = k % 4 == 3 ? (int)check_below(8) * result + k % 8 / 7 : 0;
    scan.stride = k % 7 == 6 && !also.on ? 1 + check_below(STRIDES) : 1,
    scan.out_stride = k % 9 == 8 ? 2 : 1;
    scan.rows = k % 6 == 5 ? 1 + check_below(3) : 1;
    scan.n = (1024 + check_below((SCAN_MOST >> 2 * scan.few) - 1024)) / scan.rows;
    if (k % 2) scan.n = scan.n >> log ? scan.n >> log << log : scan.n;
    scan.exclusive = k % 5 > 2;
    scan.tiles = (scan.n + ((int64_t)1 << log) - 1) >> log;
    for (scan.levels = 0; (scan.tiles - 1) >> (RADIX_LOG * (scan.levels + 1)); scan.levels++)
        continue;
    check_fill(room + shift, op->dtype, scan.rows * scan.n * scan.stride * op->inputs,
               (tl_data)(k % TL_DATA_KINDS));
    scan.init = op->seedable && k % 4 == 1 && !also.on ? room + shift : NULL;
    if (also.on) take_inputs(scan.rows, scan.n, k);
    scan.data = also.on ? pair.in.data : room + shift, scan.out = got + to, scan.epoch++;
    memset(got, 0xa5, ROOM), memset(want, 0xa5, ROOM);
    tally_view second;
    const tally_view in =
        also.on ? pair.in : view_of(op, room + shift, scan.rows, scan.n, scan.stride, &second);
    const tally_view out = {want + to,       op->out, scan.rows, scan.n, scan.n * scan.out_stride,
                            scan.out_stride, NULL};
    char init[64];
    if (scan.init) memcpy(init, scan.init, sizeof init), scan.init = init;
    const tally_scan_options options = {.exclusive = (int)scan.exclusive, .init = scan.init};
    if (!check_ok(ctx, tally_scan(ctx, name, &in, &out, &options), name)) return;
    /* one tile for each group, or several */
    const int64_t jobs = scan.tiles * scan.rows,
                  groups = jobs <= GROUPS_MOST && (jobs == 1 || k % 3) ? jobs : 1 + k % 2;
    if (!check(fibers_launch(run_scan, (int)groups, ONCE_THREADS), "out of memory")) return;
    check_same(got, want, ROOM, 1,
               "%s %s %s rows=%lld n=%lld shift=%d stride=%lld to=%d out=%lld exclusive=%lld%s%s",
               scan.few ? "scan_few" : "scan_once", name, tally_dtype_name(op->dtype), scan.rows,
               scan.n, shift, scan.stride, to, scan.out_stride, scan.exclusive,
               scan.init ? " init" : "", also.on ? " in place" : "");
    scan.ticket0 += groups < jobs ? jobs + (STAGES + 1) * groups : 0; /* as gpu/shapes.c counts */
    check((long long)scan.board[0] == scan.ticket0, "%s %s: ticket %lld instead of %lld", name,
          tally_dtype_name(op->dtype), (long long)scan.board[0], scan.ticket0);
}

/* scan_down: columns. */
static void down_round(tally *ctx, const char *name, const tl_scalar *op, int k)
{
    enum { ROOM = SHIFTS + SCAN_MOST * 16 + 64 };
    static char room[ROOM], want[ROOM], got[ROOM];
    const int64_t tile = tl_gpu_down_rows(op) * TILE_WARPS, shift = k % 3 ? check_below(8) : 0;
    down_width = scan.rows = 1 + check_below(k % 4 ? 40 : 80);
    scan.n = 1 + check_below((SCAN_MOST / 2) / scan.rows);
    if (k % 2) scan.n = scan.n / tile ? scan.n / tile * tile : scan.n;
    scan.exclusive = k % 5 > 2;
    scan.tiles = (scan.n + tile - 1) / tile;
    for (scan.levels = 0; (scan.tiles - 1) >> (COLUMN_LOG * scan.levels); scan.levels++) continue;
    check_fill(room + shift, op->dtype, scan.rows * scan.n * op->inputs,
               (tl_data)(k % TL_DATA_KINDS));
    char init[64];
    memcpy(init, room + shift, sizeof init);
    scan.init = op->seedable && k % 4 == 1 ? init : NULL;
    scan.data = room + shift, scan.out = got + shift, scan.epoch++;
    memset(got, 0xa5, ROOM), memset(want, 0xa5, ROOM);
    tally_view second, in = view_of(op, room + shift, scan.rows, scan.n, 1, &second);
    in.row_stride = second.row_stride = op->inputs,
    in.stride = second.stride = scan.rows * op->inputs;
    const tally_view out = {want + shift, op->out, scan.rows, scan.n, 1, scan.rows, NULL};
    const tally_scan_options options = {.exclusive = (int)scan.exclusive, .init = scan.init};
    if (!check_ok(ctx, tally_scan(ctx, name, &in, &out, &options), name)) return;
    const int64_t jobs = scan.tiles * ((scan.rows + LANES - 1) / LANES),
                  groups = 1 + (k % 2 && jobs > 1);
    if (!check(fibers_launch(run_down, (int)groups, WARPS_THREADS), "out of memory")) return;
    check_same(got, want, ROOM, 1,
               "scan_down %s %s columns=%lld n=%lld shift=%lld exclusive=%lld%s", name,
               tally_dtype_name(op->dtype), scan.rows, scan.n, (long long)shift, scan.exclusive,
               scan.init ? " init" : "");
    scan.ticket0 += jobs + groups;
    check((long long)scan.board[0] == scan.ticket0, "scan_down %s: ticket %lld instead of %lld",
          name, (long long)scan.board[0], scan.ticket0);
}

static void try_scan(tally *ctx, const char *name, const tl_scalar *op, const tl_par *par,
                     int rounds, int few, const char *what)
{
    const int down = few > 1;
    const char *kernel = down ? "scan_down" : few ? "scan_few" : "scan_once";
    const char *shape = shape_of("scan", "scan_two", "scan_bits");
    const int is_there = down ? tl_gpu_down_rows(op) : tl_gpu_once_blocks(op, few);
    void *object = is_there ? load(ctx, op, shape, kernel, what) : NULL;
    if (!object) return;
    emulator **at = dlsym(object, "emulated");
    scan.kernel = (scan_kernel *)dlsym(object, kernel);
    scan.few = few, scan.ticket0 = 0, scan.board[0] = 0;
    scan.parameter = par->value;
    if (check(at && scan.kernel, "%s: no kernel", what)) {
        *at = &fibers;
        for (int k = 0; k < rounds; k++) (down ? down_round : scan_round)(ctx, name, op, k);
    }
    dlclose(object);
}

#include "emulated/windows.h"
#include "emulated/segments.h"

static void try_reduce(tally *ctx, const char *name, const tl_scalar *op, const tl_par *par,
                       int rounds, const char *what)
{
    void *object = load(ctx, op, shape_of("reduce", "reduce_two", "reduce_bits"), "once", what);
    if (!object) return;
    emulator **at = dlsym(object, "emulated");
    call.kernel = (once_kernel *)dlsym(object, "once");
    call.parameter = par->value;
    if (check(at && call.kernel, "%s: no kernel", what)) {
        *at = &fibers;
        for (int k = 0; k < rounds; k++) round_of(ctx, name, op, k, 0);
        if (!also.on) round_of(ctx, name, op, (int)check_below(9), 1);
    }
    dlclose(object);
}

static void try_shapes(tally *ctx, const char *name, const tl_scalar *op, const tl_par *par,
                       int rounds, int shapes, const char *what)
{
    const int lines = also.on && tl_gpu_once_lines(op); /* never launched in place */
    const int kinds = also.on ? 2 : 3;                  /* columns are not scanned in place */
    for (int few = 0; few < kinds && shapes & SCAN && !lines; few++)
        try_scan(ctx, name, op, par, rounds, few, what);
    static const char prelude[] = "gpu/cuda/prelude_cuda.h";
    if (shapes & WINDOW && (also.on ? !op->exact : op->inputs == 1))
        try_windows(ctx, name, op, par, rounds, shape_of("window", "window_two", "window_bits"),
                    "window_flat", what);
    const int plain = !also.on && op->inputs == 1;
    if (shapes & PASSES && plain && tl_gpu_pass_log(op, prelude))
        try_windows(ctx, name, op, par, rounds, "window_long", "window_part", what);
    if (shapes & ONE_TRIP && plain && tl_gpu_along_log(op, prelude))
        try_windows(ctx, name, op, par, rounds / 2, "window_along", "window_along", what);
    for (int k = 0; k < 4 && shapes & SEGMENTS && !also.on && op->inputs == 1; k++)
        if (k != 3 || tl_gpu_state_bytes(op) <= 8)
            try_segments(ctx, name, op, par, rounds, k & 1, k >> 1, what);
    if (shapes & REDUCE) try_reduce(ctx, name, op, par, rounds, what);
}

static void try_in_place(tally *ctx, const char *name, tally_dtype dtype, int rounds, int bits,
                         int shapes)
{
    tally_operator_info info;
    char what[80];
    snprintf(what, sizeof what, "%s %s in place%s", name, tally_dtype_name(dtype),
             bits ? ", bits" : "");
    if (!check_ok(ctx, tally_operator(ctx, name, dtype, &info), what)) return;
    pair.two = info.inputs == 2, pair.bits = bits;
    if (!pair.two && !bits) return;
    tally_view x = tally_flat(what, dtype, 1), y = x;
    x.valid = bits ? what : NULL, x.next = pair.two ? &y : NULL;
    if (!check_ok(ctx, tl_form_of(ctx, name, &x, &pair.form), what)) return;
    if (pair.form.kind == TL_FORM_STATES || pair.form.op->dtype != dtype) return;
    const tl_scalar op = tl_gpu_variant_of(pair.form.op, pair.form.par.marked);
    also.on = 1;
    try_shapes(ctx, name, &op, &pair.form.par, rounds, shapes, what);
    memset(&also, 0, sizeof also);
}

static void try_one(tally *ctx, const char *op_name, tally_dtype dtype, int rounds, int shapes)
{
    const tl_scalar *op;
    tl_par par;
    char name[64], what[80], parameter[TL_SAMPLE_ROOM];
    snprintf(name, sizeof name, "%s%s", op_name, tl_sample_parameter(op_name, parameter));
    snprintf(what, sizeof what, "%s %s", name, tally_dtype_name(dtype));
    if (!check_ok(ctx, tl_resolve(ctx, name, dtype, &op, &par), what)) return;
    if (shapes & TWO) try_in_place(ctx, name, dtype, rounds, 0, shapes);
    if (shapes & BITMAPS) try_in_place(ctx, name, dtype, rounds, 1, shapes);
    const tl_scalar pairs = tl_gpu_variant_of(op, 0);
    if (op->inputs == 2) op = &pairs;
    if (!(shapes & (TWO | BITMAPS)) || shapes == ALL_SHAPES)
        try_shapes(ctx, name, op, &par, rounds, shapes, what);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *op;
        tally_dtype dtype;
    } some[] = {{"max", TALLY_I8},        {"min", TALLY_U16},   {"max", TALLY_F16},
                {"argmin", TALLY_BF16},   {"argmax", TALLY_U8}, {"argmax", TALLY_F64},
                {"nanargmin", TALLY_F32}, {"sum", TALLY_I8},    {"sum", TALLY_U16},
                {"mean", TALLY_I16},      {"mean", TALLY_I64},  {"minmax", TALLY_F32},
                {"var", TALLY_U8},        {"var", TALLY_I16},   {"var", TALLY_F32},
                {"sum", TALLY_BF16},      {"sum", TALLY_F32},   {"var", TALLY_F64},
                {"max", TALLY_I8},        {"sum", TALLY_I8},    {"max", TALLY_F32},
                {"argmin", TALLY_I16},    {"last", TALLY_F64},  {"nanmin", TALLY_F16},
                {"mean", TALLY_U32},      {"sum", TALLY_F32},   {"ema", TALLY_F32},
                {"argmax", TALLY_F32},    {"mean", TALLY_F32},  {"sum", TALLY_F64},
                {"var", TALLY_F32}};
    enum {
        LONG_ONES = 3,
        WINDOWS = LONG_ONES + 2,
        SCANS = 8,
        ROWS_MORE = 13
    }; /* the last ones, and those before them */
    static const struct {
        const char *op;
        tally_dtype dtype;
        int shapes;
    } more[ROWS_MORE] = {
        {"dot", TALLY_F64, TWO | REDUCE},      {"dot", TALLY_F64, SCAN},
        {"dot", TALLY_F32, TWO | WINDOW},      {"sum", TALLY_F32, BITMAPS | REDUCE},
        {"sum", TALLY_F32, BITMAPS | SCAN},    {"mean", TALLY_F32, BITMAPS | WINDOW},
        {"mean", TALLY_F16, BITMAPS | REDUCE}, {"dot", TALLY_I16, BITMAPS | REDUCE},
        {"sum", TALLY_F32, SEGMENTS},          {"max", TALLY_I8, SEGMENTS},
        {"mean", TALLY_I16, SEGMENTS},         {"mean", TALLY_F32, ONE_TRIP},
        {"sum", TALLY_F64, ONE_TRIP}};
    const size_t count = sizeof some / sizeof *some;
    char command[200];
    tally *ctx;
    test_names(argc > 3 ? 3 : argc, argv, 1);
    snprintf(command, sizeof command, "%s --version > /dev/null 2>&1", compiler());
    if (system(command)) {
        printf("no C++ compiler\n");
        return SKIPPED;
    }
    check_start();
    setenv("TALLY_KERNELS", TALLY_SOURCE_DIR "/test/emulated", 1);
    fibers.shuffle = fiber_shuffle, fibers.warp_barrier = fiber_warp_barrier;
    fibers.group_barrier = fiber_group_barrier;
    if (check_ok(NULL, tally_open(&ctx, "cpu"), "open")) {
        if (argc > 2)
            try_one(ctx, argv[1], tally_dtype_parse(argv[2]), argc > 3 ? atoi(argv[3]) : ROUNDS,
                    argc > 4 ? atoi(argv[4]) : ALL_SHAPES);
        else
            for (size_t i = 0; i < count; i++) {
                /* the compiler takes most of the time */
                if (!check_long && check_below(3)) continue;
                try_one(ctx, some[i].op, some[i].dtype, ROUNDS,
                        i + LONG_ONES >= count         ? PASSES
                        : i + WINDOWS >= count         ? WINDOW
                        : i + WINDOWS + SCANS >= count ? SCAN
                                                       : REDUCE);
            }
        for (int i = 0; i < ROWS_MORE && argc < 3; i++)
            if (check_long || !check_below(3))
                try_one(ctx, more[i].op, more[i].dtype,
                        more[i].shapes == SEGMENTS ? ROUNDS / 4 : ROUNDS, more[i].shapes);
        tally_close(ctx);
    }
    return check_finish();
}

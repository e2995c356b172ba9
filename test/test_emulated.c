/* SPDX-License-Identifier: MIT
 * Kernels that only CUDA has, without a GPU: their texts, compiled as C++ with the words of test/emulated, run on
 * fibers (emulated/fibers.h), and every result is compared with the processors'. Here the kernel `once` of reductions:
 * random lengths, alignments, strides, tiles and groups.
 *
 *   test_emulated [OP TYPE [ROUNDS]]     CXX: the compiler, else c++; without one the test is skipped */
#include "gpu/gpu.h"
#include "context/operators.h"
#include "check.h"
#include "emulated/fibers.h"
#include <dlfcn.h>
#include <unistd.h>

enum { SKIPPED = 77, ROUNDS = 24, MOST = 300000, SHIFTS = 64, STRIDES = 3, NODES = 4096, TILE_LEAST_LOG = 13 };

/* The parameters of `once` (src/gpu/kernel/params.def). */
typedef void once_kernel(const void *data, long long byte, long long row_stride, long long stride, long long n,
                         long long seqs, long long flags, const void *offsets, const void *ids, const void *first,
                         double parameter, long long origin, void *out, long long out_byte, long long out_row_stride,
                         long long out_stride, void *nodes, unsigned *ticket, long long more);
static struct {
    once_kernel *kernel;
    const void *data;
    long long n, stride, more;
    double parameter;
    unsigned ticket;
    tl_state nodes[NODES];
    char out[64];
} call;
static void run_call(void)
{
    call.kernel(call.data, 0, 0, call.stride, call.n, 1, 0, NULL, NULL, NULL, call.parameter, 0, call.out, 0, 0, 1,
                call.nodes, &call.ticket, call.more);
}

static const char *compiler(void)
{
    const char *named = getenv("CXX");
    return named && *named ? named : "c++";
}

/* The program as a shared object; NULL: it does not compile. */
static void *load(tally *ctx, const tl_scalar *op, const char *what)
{
    char *text, command[400], path[60];
    size_t length;
    if (!check_ok(ctx, tl_program_text(ctx, op, "reduce", "gpu/cuda/prelude_cuda.h", "once", &text, &length), what))
        return NULL;
    FILE *f = fopen("emulated.cpp", "w");
    const int written = f && fwrite(text, 1, length, f) == length;
    if (f) fclose(f);
    free(text);
    static int number;
    snprintf(path, sizeof path, "./emulated%d.so", number++); /* a name once: the loader keeps them */
    snprintf(command, sizeof command,
             "%s -O1 -w -ffp-contract=off -fno-strict-aliasing -shared -fPIC -o %s emulated.cpp", compiler(), path);
    if (!check(written && !system(command), "%s: the text does not compile as C++", what)) return NULL;
    void *object = dlopen(path, RTLD_NOW);
    unlink(path);
    return check(object != NULL, "%s: %s", what, dlerror()) ? object : NULL;
}

static void round_of(tally *ctx, const char *name, const tl_scalar *op, int k)
{
    static char room[SHIFTS + MOST * STRIDES * 8 + 64], want[64];
    const int bytes = op->elem_bytes,
              shift = k % 4 ? (int)check_below(SHIFTS) / (k % 7 ? bytes : 1) * (k % 7 ? bytes : 1) : 0;
    const int64_t stride = k % 9 == 8 ? 1 + check_below(STRIDES) : 1;
    const int64_t n =
        1024 + check_below(k % 3 == 0 ? 9000 : MOST - 1024) / (k % 3 == 1 ? 1024 : 1) * (k % 3 == 1 ? 1024 : 1);
    char *x = room + shift;
    check_fill(x, op->dtype, (n - 1) * stride + 1, (tl_data)(k % TL_DATA_KINDS));
    tally_view in = {.data = x, .dtype = op->dtype, .rows = 1, .n = n, .stride = stride};
    memset(call.out, 0, sizeof call.out);
    memset(want, 0, sizeof want);
    memset(call.nodes, 0xa5, sizeof call.nodes);
    if (!check_ok(ctx, tally_reduce(ctx, name, &in, want), name)) return;
    call.data = x, call.n = n, call.stride = stride, call.more = check_below(4);
    const int64_t tiles = n >> (TILE_LEAST_LOG + call.more);
    const int groups = tiles ? (int)(k % 2 ? tiles : 1 + check_below(tiles)) : 1;
    if (!check(fibers_launch(run_call, groups), "out of memory")) return;
    check_same(call.out, want, 1, op->result_bytes,
               "%s %s n=%lld shift=%d stride=%lld, %d groups, tiles of 2^%lld chunks", name,
               tally_dtype_name(op->dtype), (long long)n, shift, (long long)stride, groups, call.more);
    check(call.ticket == 0, "the ticket is %u after a launch", call.ticket);
    call.ticket = 0;
}

static void try_one(tally *ctx, const char *op_name, tally_dtype dtype, int rounds)
{
    const tl_scalar *op;
    tl_par par;
    char name[64], what[80], parameter[TL_SAMPLE_ROOM];
    snprintf(name, sizeof name, "%s%s", op_name, tl_sample_parameter(op_name, parameter));
    snprintf(what, sizeof what, "%s %s", name, tally_dtype_name(dtype));
    if (!check_ok(ctx, tl_resolve(ctx, name, dtype, &op, &par), what)) return;
    void *object = load(ctx, op, what);
    if (!object) return;
    emulator **at = dlsym(object, "emulated");
    call.kernel = (once_kernel *)dlsym(object, "once");
    call.parameter = par.value;
    if (check(at && call.kernel, "%s: no kernel", what)) {
        *at = &fibers;
        for (int k = 0; k < rounds; k++) round_of(ctx, name, op, k);
    }
    dlclose(object);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *op;
        tally_dtype dtype;
    } some[] = {{"max", TALLY_I8},    {"min", TALLY_U16},    {"max", TALLY_F16},       {"argmin", TALLY_BF16},
                {"argmax", TALLY_U8}, {"argmax", TALLY_F64}, {"nanargmin", TALLY_F32}, {"sum", TALLY_I8},
                {"sum", TALLY_U16},   {"mean", TALLY_I16},   {"mean", TALLY_I64},      {"minmax", TALLY_F32},
                {"var", TALLY_U8},    {"var", TALLY_I16},    {"var", TALLY_F32},       {"sum", TALLY_BF16},
                {"sum", TALLY_F32},   {"var", TALLY_F64}};
    char command[200];
    tally *ctx;
    test_names(argc, argv, 1);
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
            try_one(ctx, argv[1], tally_dtype_parse(argv[2]), argc > 3 ? atoi(argv[3]) : ROUNDS);
        else
            for (size_t i = 0; i < sizeof some / sizeof *some; i++) try_one(ctx, some[i].op, some[i].dtype, ROUNDS);
        tally_close(ctx);
    }
    return check_finish();
}

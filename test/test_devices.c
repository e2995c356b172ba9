/* SPDX-License-Identifier: MIT
 * Every operator meets every GPU device that is here (PoCL where there is no GPU): reduce, scan and window of two types
 * against the law, by memcmp. The types, one of the integers and one of the floats that the operator takes, change with
 * the seed; all types, views and sizes are test_bits with TALLY_TEST_DEVICES (scripts/gpu-check). Skipped without a
 * device.
 *
 *   test_devices [OP [DTYPE]]        restrict to one operator, to one type
 *   TALLY_TEST_DEVICES="cuda:0"      these devices
 *
 * Each operator and type is three programs to compile, so few kernels of each are used. */
#define TALLY_BITS_ONLY
#include "test_bits.c"
#include "gpus.h"

static void check_type(tally *ctx, const char *device, const char *op, tally_dtype dtype)
{
    static const int64_t sizes[] = {0, 1, 2, 31, 33, 130, 1023, 1025, 4500};
    test_case c = {.ctx = ctx, .isa = device, .threads = 1, .op = op, .dtype = dtype};
    tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
    if (tl_resolve(NULL, op, dtype, &c.scalar, &c.par)) return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_reduce_and_scan(&c, sizes[i], (int)(check_random() % 9), kind = (kind + 1) % TL_DATA_KINDS);
    for (int edges = 0; edges < 6; edges++) {
        int64_t w = 1 + (int64_t)(check_random() % (edges < 3 ? 40 : 400)),
                after = check_random() % 2 ? 0 : (int64_t)(check_random() % (uint64_t)w);
        tally_window_options o = {w - 1 - after, after, (tally_edges)(edges % 3),
                                  check_random() % 2 ? 0 : 1 + (int64_t)(check_random() % (uint64_t)w)};
        check_window(&c, (int64_t)(check_random() % 2000), &o, (int)(check_random() % 9),
                     kind = (kind + 1) % TL_DATA_KINDS);
    }
}

/* One type of each kind, integers (0) and floats (1), that the operator takes; 0: it takes none. */
static tally_dtype pick(const char *op, int floats)
{
    tl_par par;
    const tl_scalar *scalar;
    int count = floats ? TALLY_F64 - TALLY_F16 + 1 : TALLY_U64, first = (int)(check_random() % (uint64_t)count);
    for (int i = 0; i < count; i++) {
        tally_dtype d = (tally_dtype)((floats ? TALLY_F16 : TALLY_I8) + (first + i) % count);
        if (tl_resolve(NULL, op, d, &scalar, &par)) continue;
        if (strncmp(op, "nan", 3) || scalar->masked) return d; /* of integers a nan form is the plain operator */
    }
    return 0;
}

static void check_two_types(tally *ctx, const char *device, const char *op, tally_dtype only)
{
    char name[64], parameter[TL_SAMPLE_ROOM];
    const int64_t before = check_failed;
    snprintf(name, sizeof name, "%s%s", op, tl_sample_parameter(op, parameter));
    for (int floats = 0; floats < 2; floats++) {
        tally_dtype d = pick(name, floats);
        if (only && floats) break;
        if (only || d) check_type(ctx, device, name, only ? only : d);
    }
    if (check_failed > before) printf("%s on %s: %lld differences\n", op, device, (long long)(check_failed - before));
}

static int arguments;
static char **argument;

static void check_device(const char *device)
{
    char name[80];
    tally *ctx;
    snprintf(name, sizeof name, "%s,probe=off", device);
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    for (const char *const *op = tally_operators(); *op; op++)
        if (arguments < 2 || !strcmp(argument[1], *op))
            check_two_types(ctx, device, *op, arguments > 2 ? tally_dtype_parse(argument[2]) : 0);
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    test_names(argc, argv, 1);
    arguments = argc, argument = argv;
    check_start();
    check_quick = 1;
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    for_each_gpu(NULL, check_device);
    free(input);
    free(output);
    free(wanted);
    return finish_gpus();
}

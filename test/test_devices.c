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
#include <time.h>

enum { SKIPPED = 77, DEVICES = 16 };

static void check_type(tally *ctx, const char *device, const char *op, tally_dtype dtype)
{
    static const int64_t sizes[] = {0, 1, 2, 31, 33, 130, 1023, 1025, 4500};
    test_case c = {.ctx = ctx, .isa = device, .threads = 1, .op = op, .dtype = dtype};
    tl_data kind = (tl_data)(rng() % TL_DATA_KINDS);
    if (tl_resolve(NULL, op, dtype, &c.scalar, &c.par)) return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_reduce_and_scan(&c, sizes[i], (int)(rng() % 9), kind = (kind + 1) % TL_DATA_KINDS);
    for (int edges = 0; edges < 6; edges++) {
        int64_t w = 1 + (int64_t)(rng() % (edges < 3 ? 40 : 400)),
                after = rng() % 2 ? 0 : (int64_t)(rng() % (uint64_t)w);
        tally_window_options o = {w - 1 - after, after, (tally_edges)(edges % 3),
                                  rng() % 2 ? 0 : 1 + (int64_t)(rng() % (uint64_t)w)};
        check_window(&c, (int64_t)(rng() % 2000), &o, (int)(rng() % 9), kind = (kind + 1) % TL_DATA_KINDS);
    }
}

/* One type of each kind, integers (0) and floats (1), that the operator takes; 0: it takes none. */
static tally_dtype pick(const char *op, int floats)
{
    tl_par par;
    const tl_scalar *scalar;
    int count = floats ? TALLY_F64 - TALLY_F16 + 1 : TALLY_U64, first = (int)(rng() % (uint64_t)count);
    for (int i = 0; i < count; i++) {
        tally_dtype d = (tally_dtype)((floats ? TALLY_F16 : TALLY_I8) + (first + i) % count);
        if (!tl_resolve(NULL, op, d, &scalar, &par)) return d;
    }
    return 0;
}

static void check_operator(tally *ctx, const char *device, const char *op, tally_dtype only)
{
    char name[64], parameter[TL_SAMPLE_ROOM];
    int64_t before = failed;
    snprintf(name, sizeof name, "%s%s", op, tl_sample_parameter(op, parameter));
    for (int floats = 0; floats < 2; floats++) {
        tally_dtype d = pick(name, floats);
        if (only && floats) break;
        if (only || d) check_type(ctx, device, name, only ? only : d);
    }
    if (failed > before) printf("%s on %s: %lld differences\n", op, device, (long long)(failed - before));
}

/* Is `name` one of the words of list? An empty list has all. */
static int listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (!list || !*list) return 1;
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *seed = getenv("TALLY_TEST_SEED"), *list = getenv("TALLY_TEST_DEVICES");
    tally_device_info info;
    int tested = 0;
    test_names(argc, argv, 1);
    quick = 1;
    rng_state = seed && *seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)rng_state);
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        char device[64], name[80];
        tally *ctx;
        if (!info.usable || !strncmp(info.name, "cpu", 3) || !listed(list, info.name)) continue;
        snprintf(device, sizeof device, "%s", info.name);
        snprintf(name, sizeof name, "%s,probe=off", device);
        if (!ok(NULL, tally_open(&ctx, name), name)) continue;
        for (const char *const *op = tally_operators(); *op; op++)
            if (argc < 2 || !strcmp(argv[1], *op))
                check_operator(ctx, device, *op, argc > 2 ? tally_dtype_parse(argv[2]) : 0);
        tally_close(ctx);
        tested++;
    }
    free(input);
    free(output);
    free(wanted);
    if (!tested && !failed) {
        printf("skipped: no GPU device here\n");
        return SKIPPED;
    }
    return finish();
}

/* SPDX-License-Identifier: MIT
 * Every operator meets every GPU device that is here (PoCL where there is no GPU), by memcmp
 * with the law. Skipped without a device.
 *
 *   test_devices                        of every second operator one integer type, one floating
 *                                       type, or one of its nan form, and one of the verbs
 *                                       (reduce, short or long scans, window): the seed picks
 *   test_devices OP [DTYPE]             every verb, of one operator, of one type
 *   TALLY_TEST_LONG=1 test_devices      every type and verb, and the views of test_bits (with
 *                                       OP: of one operator)
 *   TALLY_TEST_SEED=N                   the types and verbs of the run that printed "seed N"
 *   TALLY_TEST_DEVICES="cuda:0"         these devices
 *
 * PoCL takes 0.2 s to compile one verb for one operator and type, which is nearly all of the
 * time. */
#include "bits_cases.h"
#include "gpu/kernel/constants.h"
#include "gpus.h"

/* Verbs, beside those of check_flat, and the lengths that reduce and scan take: a scan of a length
 * above a chunk has three kernels, and one below has another. */
enum { WINDOW = 4, SHORT = 8, LONG = 16, ALL = REDUCE | SCAN | WINDOW | SHORT | LONG };

static void check_verbs(const test_case *c, int verbs)
{
    static const int64_t sizes[] = {0, 1, 2, 31, 33, 130, 1023, 1025, 4500};
    tl_data kind = (tl_data)(check_random() % TL_DATA_KINDS);
    for (size_t i = 0; verbs & (REDUCE | SCAN) && i < sizeof sizes / sizeof *sizes; i++)
        if (verbs & (sizes[i] > CHUNK ? LONG : SHORT))
            check_flat(c, verbs, sizes[i], (int)(check_random() % 9),
                       kind = (kind + 1) % TL_DATA_KINDS);
    if (c->scalar->masked) {
        const tally_window_options o = {.before = 6};
        if (verbs & (REDUCE | SCAN))
            check_flat(c, verbs, verbs & SHORT ? 33 : 1025, 0, (tl_data)MASKED);
        if (verbs & WINDOW) check_window(c, 33, &o, 0, (tl_data)MASKED);
    }
    for (int edges = 0; verbs & WINDOW && edges < 6; edges++) {
        int64_t w = 1 + (int64_t)(check_random() % (edges < 3 ? 40 : 400)),
                after = check_random() % 2 ? 0 : (int64_t)(check_random() % (uint64_t)w);
        tally_window_options o = {w - 1 - after, after, (tally_edges)(edges % 3),
                                  check_random() % 2 ? 0
                                                     : 1 + (int64_t)(check_random() % (uint64_t)w)};
        check_window(c, (int64_t)(check_random() % 2000), &o, (int)(check_random() % 9),
                     kind = (kind + 1) % TL_DATA_KINDS);
    }
}

/* An operator (a plain name, or that of a nan form) on one type; dtype 0: there is none. */
typedef struct {
    const char *op;
    tally_dtype dtype;
    const char *accumulator; /* ":f64", or NULL for the operator's own */
} instance;

static int resolve(instance o, test_case *c)
{
    static char name[80];
    char parameter[TL_SAMPLE_BYTES];
    snprintf(name, sizeof name, "%s%s%s", o.op, o.accumulator ? o.accumulator : "",
             tl_sample_parameter(o.op, parameter));
    c->op = name, c->dtype = o.dtype;
    if (tl_resolve(NULL, name, o.dtype, &c->scalar, &c->par)) return 0;
    /* of integers a nan form is the plain operator */
    return strncmp(o.op, "nan", 3) || c->scalar->masked;
}

static void check_instance(tally *ctx, const char *device, instance o, int verbs)
{
    test_case c = {.ctx = ctx, .isa = device, .threads = 1};
    const int64_t before = check_failed;
    if (!resolve(o, &c)) return;
    if (check_long)
        check_all(&c);
    else
        check_verbs(&c, verbs);
    if (check_failed > before)
        printf("%s %s on %s: %lld differences\n", c.op, tally_dtype_name(o.dtype), device,
               (long long)(check_failed - before));
}

/* A type that the operator takes, of the integers (0) or of the floats (1). */
static instance pick(const char *op, int floats)
{
    test_case c;
    int count = floats ? TALLY_F64 - TALLY_F16 + 1 : TALLY_U64,
        first = (int)(check_random() % (uint64_t)count);
    for (int i = 0; i < count; i++) {
        tally_dtype d = (tally_dtype)((floats ? TALLY_F16 : TALLY_I8) + (first + i) % count);
        if (resolve((instance){op, d, NULL}, &c)) return (instance){op, d, NULL};
    }
    return (instance){op, 0, NULL};
}

/* One verb on one of the integers, the floats or the floats of the nan form. */
static void deal(tally *ctx, const char *device, const char *op)
{
    char nan[64];
    snprintf(nan, sizeof nan, "nan%s", op);
    instance some[3] = {pick(op, 0), pick(op, 1), pick(nan, 1)};
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (some[i].dtype) some[count++] = some[i];
    const int verb = 1 << check_below(3), lengths = check_below(2) ? SHORT : LONG;
    check_instance(ctx, device, some[check_below(count)],
                   verb | (verb == SCAN ? lengths : SHORT | LONG));
}

static const char *the_op;
static tally_dtype the_dtype;

/* Many rows that are long, of an operator of a user with a large state: several groups of
 * `finish` at a time. PoCL 3.1 gave them one local array (opencl/prelude_opencl.h). */
static void check_rows_of_users(tally *ctx, const char *device)
{
    enum { ROWS = 64, N = 4000 };
    float *x = (float *)input;
    int64_t want[ROWS], got[ROWS];
    for (int r = 0; r < ROWS; r++) {
        int64_t run = 0;
        want[r] = 0;
        for (int i = 0; i < N; i++) {
            x[r * N + i] = (float)(int)check_below(200) - (float)(r & 15);
            run = x[r * N + i] > 0 ? run + 1 : 0;
            if (run > want[r]) want[r] = run;
        }
    }
    const tally_view in = {
        .data = x, .dtype = TALLY_F32, .rows = ROWS, .n = N, .row_stride = N, .stride = 1};
    if (!check_ok(ctx,
                  tally_define_file(ctx, NULL, TALLY_SOURCE_DIR "/examples/operators/streak.h"),
                  "define"))
        return;
    for (int round = 0; round < 20; round++)
        if (check_ok(ctx, tally_reduce(ctx, "streak", &in, got), "streak of rows"))
            check_same(got, want, ROWS, 8, "streak of %d rows on %s", ROWS, device);
}

static void check_device(const char *device)
{
    char name[80];
    tally *ctx;
    snprintf(name, sizeof name, "%s,probe=off", device);
    if (!check_ok(NULL, tally_open(&ctx, name), name)) return;
    for (const char *const *op = tally_operators(); *op; op++) {
        if (test_takes_two(*op)) continue;
        if (the_op ? strcmp(the_op, *op) != 0 : !check_long && !strncmp(*op, "nan", 3)) continue;
        if (!the_op && !check_long && (op - tally_operators() + (int64_t)check_seed) % 2)
            continue; /* PoCL compiles */
        if (!the_op && !check_long)
            deal(ctx, device, *op);
        else if (the_dtype || check_long)
            for (int d = TALLY_I8; d <= TALLY_F64; d++) {
                if (the_dtype && d != (int)the_dtype) continue;
                check_instance(ctx, device, (instance){*op, (tally_dtype)d, NULL}, ALL);
                if (check_long && d >= TALLY_F16 && d <= TALLY_F32)
                    check_instance(ctx, device, (instance){*op, (tally_dtype)d, ":f64"}, ALL);
            }
        else
            for (int floats = 0; floats < 2; floats++) {
                instance o = pick(*op, floats);
                if (o.dtype) check_instance(ctx, device, o, ALL);
            }
    }
    if (!the_op) check_rows_of_users(ctx, device);
    tally_close(ctx);
}

int main(int argc, char **argv)
{
    test_names(argc, argv, 1);
    if (argc > 1) the_op = argv[1];
    if (argc > 2) the_dtype = tally_dtype_parse(argv[2]);
    check_start();
    check_quick = 1; /* of check_all */
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    for_each_gpu(NULL, check_device);
    free(input);
    free(output);
    free(wanted);
    return finish_gpus();
}

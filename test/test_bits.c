/* SPDX-License-Identifier: MIT
 * The bits matrix: every operator x dtype x accumulator x shape x view x instruction set x
 * threads, at sizes around every power of two and tile (several threads: at sizes that wake
 * them), at odd alignments, on plain, hostile, signed-zero and random-bit data, by memcmp with
 * the law.
 *
 *   test_bits [OP [DTYPE]]     restrict to one operator or dtype        TALLY_TEST_QUICK=1: fewer sizes
 *   TALLY_TEST_DEVICES="cuda:0 opencl:0"     these devices instead of the processors
 * The checks of a case: bits_cases.h. */
#include "bits_cases.h"
#include "cpu/driver.h"

static void run_on(test_case *c, const char *device, const char *label, int threads)
{
    if (tally_open(&c->ctx, device)) {
        fprintf(stderr, "%s\n", tally_error(NULL));
        check_failed++;
        return;
    }
    c->isa = label;
    c->threads = threads;
    check_all(c);
    tally_close(c->ctx);
}

static void run(test_case *c, const char *isa, int threads)
{
    char device[64];
    snprintf(device, sizeof device, "cpu,threads=%d,isa=%s", threads, isa);
    tl_scan_polls = threads == 3 ? -1 : 4000; /* as on a busy machine */
    run_on(c, device, isa, threads);
}

/* The devices of TALLY_TEST_DEVICES, separated by spaces, instead of the processors. */
static void run_devices(test_case *c, const char *list)
{
    char device[64];
    while (*list) {
        size_t length = strcspn(list, " ");
        if (length && length < sizeof device) {
            memcpy(device, list, length);
            device[length] = 0;
            run_on(c, device, device, 1);
        }
        list += length + (list[length] == ' ');
    }
}

/* Are the kernels those of another type, which elements are widened to, or of another operator?
 * Then one type, which the seed picks, takes every size, and the others fewer. Class X has
 * kernels of its own for narrow types. */
static int shares_kernels(const tl_scalar *s)
{
    return !s->exact && (s->wide != s->dtype || strcmp(s->core, s->file));
}

static void operator_case(const char *op, tally_dtype dtype, tally_dtype whole)
{
    test_case c = {.op = op, .dtype = dtype};
    const char *devices = getenv("TALLY_TEST_DEVICES");
    const int quick = check_quick;
    if (tl_resolve(NULL, op, dtype, &c.scalar, &c.par)) return;
    /* of integers: the plain operator, under another name */
    if (!strncmp(op, "nan", 3) && !c.scalar->masked) return;
    if (devices && *devices) {
        run_devices(&c, devices);
        return;
    }
    check_quick |= !check_long && dtype != whole && shares_kernels(c.scalar);
    for (int isa = 0; isa < tl_isa_count(); isa++) {
        if (!tl_isa_runs(isa)) continue;
        run(&c, tl_isa_name(isa), 1);
        if (isa == tl_isa_count() - 1 || !tl_isa_runs(isa + 1))
            for (int threads = 2; threads <= 3; threads++) run(&c, tl_isa_name(isa), threads);
    }
    check_quick = quick;
}

int main(int argc, char **argv)
{
    test_names(argc, argv, 1);
    check_start();
    input = calloc(MOST, 16);
    output = calloc(MOST, 24);
    wanted = calloc(MOST, 24);
    for (const char *const *op = tally_operators(); *op; op++) {
        if ((argc > 1 && strcmp(argv[1], *op)) || test_takes_two(*op)) continue;
        const tally_dtype whole = (tally_dtype)(TALLY_I8 + check_random() % TALLY_F64);
        for (int d = TALLY_I8; d <= TALLY_F64; d++) {
            if (argc > 2 && strcmp(argv[2], tally_dtype_name((tally_dtype)d))) continue;
            char name[64];
            tally_operator_info info, wide;
            int64_t before = check_failed;
            char parameter[TL_SAMPLE_BYTES];
            const char *suffix = tl_sample_parameter(*op, parameter);
            snprintf(name, sizeof name, "%s%s", *op, suffix);
            operator_case(name, (tally_dtype)d, argc > 2 ? (tally_dtype)d : whole);
            const int refused = tally_operator(NULL, name, (tally_dtype)d, &info);
            snprintf(name, sizeof name, "%s:f64%s", *op, suffix);
            if (d >= TALLY_F16 && d <= TALLY_F32 && !refused &&
                !tally_operator(NULL, name, (tally_dtype)d, &wide) &&
                wide.accumulator != info.accumulator)
                operator_case(name, (tally_dtype)d, argc > 2 ? (tally_dtype)d : whole);
            if (check_failed > before)
                printf("%s %s: %lld differences\n", *op, tally_dtype_name((tally_dtype)d),
                       (long long)(check_failed - before));
        }
    }
    free(input);
    free(output);
    free(wanted);
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * What all tests share: counting, the seed, hostile data, and the contexts of every instruction
 * set. Header only; every program prints its seed first and "N passed, M failed" last. With it:
 * gpus.h (the GPU devices), matrix.h (the law, faster than the spec), parts.h (contexts, cuts and
 * fragments), files.h, fault.h (allocations that fail), fault_gpu.h (calls of a GPU that fail). A
 * large test has its parts in headers of its name: inputs_*.h belong to test_inputs.c.
 *
 *   TALLY_TEST_SEED=N    repeat a run
 *   TALLY_TEST_QUICK=1   fewer and smaller cases (sanitizers, qemu)
 *   TALLY_TEST_LONG=1    every case (scripts/test long) */
#ifndef TALLY_TEST_CHECK_H
#define TALLY_TEST_CHECK_H
#include "context/context.h"
#include "law/random.h"
#include "tally.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHECK_SHOWN = 30 };

static int64_t check_passed, check_failed;
static uint64_t check_seed, check_state;
static int check_quick, check_long;
#ifndef CHECK_LEAST_THREADS /* 2 with the thread sanitizer: in one alone there is nothing to see */
#define CHECK_LEAST_THREADS 1
#endif
#ifndef CHECK_SLOW /* 1 with a sanitizer or under an emulator */
#define CHECK_SLOW 0
#endif

/* first: the seed, unless TALLY_TEST_SEED gives one. */
static inline void check_start_at(uint64_t first)
{
    const char *seed = getenv("TALLY_TEST_SEED");
    check_long = getenv("TALLY_TEST_LONG") && *getenv("TALLY_TEST_LONG");
    check_quick = !check_long && getenv("TALLY_TEST_QUICK") && *getenv("TALLY_TEST_QUICK");
    check_seed = seed && *seed ? strtoull(seed, NULL, 0) : first;
    check_state = check_seed;
    printf("seed %llu\n", (unsigned long long)check_seed);
    fflush(stdout);
}
static inline void check_start(void) { check_start_at((uint64_t)time(NULL)); }

static inline int check_finish(void)
{
    printf("%lld passed, %lld failed\n", (long long)check_passed, (long long)check_failed);
    return check_failed != 0;
}

/* Is name one of the words of list, which are separated by spaces? cuda:1 is none of "cuda:10
 * cpu". NULL: every name is. */
static inline int check_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && !memcmp(at, name, length)) return 1;
    return !list || !*list;
}

/* Counts one check; a failed one is shown (the first few). Returns ok. */
static inline int check(int ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int check(int ok, const char *format, ...)
{
    if (ok) {
        check_passed++;
    } else if (check_failed++ < CHECK_SHOWN) {
        va_list args;
        va_start(args, format);
        fprintf(stderr, "FAILED: ");
        vfprintf(stderr, format, args);
        va_end(args);
        fprintf(stderr, "\n");
    }
    return ok;
}

/* Compares `count` results of `bytes` each; a difference is shown with its place and its bits. */
static inline int check_same(const void *got, const void *want, int64_t count, int64_t bytes,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));
static inline int check_same(const void *got, const void *want, int64_t count, int64_t bytes,
                             const char *format, ...)
{
    if (count <= 0 || !memcmp(got, want, (size_t)(count * bytes))) {
        check_passed++;
        return 1;
    }
    if (check_failed++ >= CHECK_SHOWN) return 0;
    const unsigned char *g = got, *w = want;
    int64_t i = 0;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "DIFFERENT: ");
    vfprintf(stderr, format, args);
    va_end(args);
    while (!memcmp(g + i * bytes, w + i * bytes, (size_t)bytes)) i++;
    fprintf(stderr, " at %lld of %lld: got ", (long long)i, (long long)count);
    for (int64_t b = bytes - 1; b >= 0; b--) fprintf(stderr, "%02x", g[i * bytes + b]);
    fprintf(stderr, " want ");
    for (int64_t b = bytes - 1; b >= 0; b--) fprintf(stderr, "%02x", w[i * bytes + b]);
    fprintf(stderr, "\n");
    return 0;
}

/* The call succeeded; else its sentence is shown. */
static inline int check_ok(const tally *ctx, tally_status status, const char *what)
{
    return check(status == TALLY_OK, "%s: %s: %s", what, tally_status_name(status),
                 tally_error(ctx));
}

/* ---- random numbers and data ---- */

static inline uint64_t check_random(void) { return tl_random(&check_state); }

/* 0 .. n - 1 */
static inline int64_t check_below(int64_t n)
{
    return n > 0 ? (int64_t)(check_random() % (uint64_t)n) : 0;
}

/* Mostly small, sometimes up to most. */
static inline int64_t check_size(int64_t most)
{
    int bits = 1;
    while (most >> bits) bits++;
    int64_t n = check_below((int64_t)1 << check_below(bits + 1));
    if (check_below(3) == 0) n = ((int64_t)1 << check_below(bits)) + check_below(3) - 1;
    return n > most ? most : n;
}

/* n elements of dtype d. */
static inline void check_fill(void *to, tally_dtype d, int64_t n, tl_data kind)
{
    tl_random_fill(&check_state, to, d, n, kind);
}

/* A random operator as a user would write it, for a random dtype. */
typedef struct {
    char op[72];
    tally_dtype dtype;
    tally_operator_info info;
    int64_t bytes, result; /* of an element, of a result (all lanes) */
} check_operator;

/* `op` with the parameter it needs, and the suffix f64 if wide. 0 if there is no such operator
   for dtype. */
static inline int check_operator_make(check_operator *o, const char *op, tally_dtype dtype,
                                      int wide)
{
    char parameter[TL_SAMPLE_BYTES];
    snprintf(o->op, sizeof o->op, "%s%s%s", op, wide ? ":f64" : "",
             tl_sample_parameter(op, parameter));
    o->dtype = dtype;
    /* test_inputs has the others */
    if (tally_operator(NULL, o->op, dtype, &o->info) || o->info.inputs != 1) return 0;
    o->bytes = (int64_t)tally_dtype_size(dtype);
    o->result = (int64_t)tally_dtype_size(o->info.output) * o->info.lanes;
    return 1;
}

static inline check_operator check_operator_random(void)
{
    const char *const *names = tally_operators();
    int count = 0;
    check_operator o;
    while (names[count]) count++;
    while (!check_operator_make(&o, names[check_below(count)],
                                (tally_dtype)(1 + check_below(TALLY_F64)), check_below(4) == 0)) {
    }
    return o;
}

/* ---- contexts ---- */

/* The next number of threads to test with, up to `most`: of a quick test some of them. */
static inline int check_more_threads(int now, int most)
{
    return now + (check_quick ? 1 + (int)check_below(most - 1) : 1);
}

/* The name of instruction set number i of those that run here; NULL past the end. */
static inline const char *check_isa(int i)
{
    static char names[8][16];
    static int count = -1;
    if (count < 0) {
        tally_device_info info;
        count = 0;
        tally_device(0, &info);
        for (const char *at = info.isas; *at && count < 8; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            snprintf(names[count++], sizeof names[0], "%.*s", (int)length, at);
            at += length;
        }
    }
    return i < count ? names[i] : NULL;
}

static inline tally *check_open(int threads, const char *isa)
{
    char device[160];
    tally *ctx = NULL;
    snprintf(device, sizeof device, "cpu,threads=%d%s%s", threads, isa ? ",isa=" : "",
             isa ? isa : "");
    if (tally_open(&ctx, device)) {
        fprintf(stderr, "%s: %s\n", device, tally_error(NULL));
        exit(1);
    }
    return ctx;
}

/* ---- the names of operators and types on a test's command line ---- */

/* Does the operator take two inputs? test_inputs has those; the tests of one view leave them
   out. */
static inline int test_takes_two(const char *op)
{
    tally_operator_info info;
    return !tally_operator(NULL, op, TALLY_F64, &info) && info.inputs == 2;
}

static inline void test_usage(const char *program, const char *what, const char *got,
                              const char *of)
{
    fprintf(stderr, "%s: %s is '%s': must be %s\n", program, what, got, of);
    exit(2);
}

/* The arguments [OP [DTYPE]] from argv[first] on. An unknown name ends the test with a sentence,
 * so that it cannot pass without having tested anything. */
static inline void test_names(int argc, char **argv, int first)
{
    const char *const *op = tally_operators();
    char list[512] = "";
    for (const char *const *n = op; *n; n++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? " " : "one of ",
                 *n);
    while (first < argc && *op && strcmp(*op, argv[first])) op++;
    if (!*op) test_usage(argv[0], "the operator", argv[first], list);
    if (first + 1 < argc && !tally_dtype_parse(argv[first + 1]))
        test_usage(argv[0], "the type", argv[first + 1],
                   "one of i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
    if (first + 2 < argc)
        test_usage(argv[0], "an argument", argv[first + 2],
                   "left out: there are two, [OPERATOR [TYPE]]");
}

/* ---- elements as numbers, in a way of the tests' own ---- */

/* A float of 16 bits with `width` bits of exponent: 5 are f16, 8 bf16. */
static inline double real_of_half(int width, const void *x)
{
    const int mantissa = 15 - width, top = (1 << width) - 1, bias = top / 2;
    uint16_t h;
    memcpy(&h, x, 2);
    const int e = h >> mantissa & top, m = h & ((1 << mantissa) - 1);
    const double v = e == top ? m ? NAN : INFINITY
                     : e      ? ldexp(m + (1 << mantissa), e - bias - mantissa)
                              : ldexp(m, 1 - bias - mantissa);
    return h >> 15 ? -v : v;
}

/* The element as f64. */
static inline double real_of(tally_dtype d, const void *x)
{
#define CASE(dt, type) \
    case dt: { \
        type v; \
        memcpy(&v, x, sizeof v); \
        return (double)v; \
    }
    switch (d) {
        CASE(TALLY_I8, int8_t)
        CASE(TALLY_U8, uint8_t)
        CASE(TALLY_I16, int16_t)
        CASE(TALLY_U16, uint16_t)
        CASE(TALLY_I32, int32_t)
        CASE(TALLY_U32, uint32_t)
        CASE(TALLY_I64, int64_t)
        CASE(TALLY_U64, uint64_t)
        CASE(TALLY_F32, float)
        CASE(TALLY_F64, double)
    case TALLY_F16:
        return real_of_half(5, x);
    case TALLY_BF16:
        return real_of_half(8, x);
    }
#undef CASE
    return NAN;
}
#endif

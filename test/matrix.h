/* SPDX-License-Identifier: MIT
 * What the bits tests share: hostile data, a fast reference that the spec itself vouches for, and counting of checks. */
#ifndef TALLY_TEST_MATRIX_H
#define TALLY_TEST_MATRIX_H
#include "../src/counter.h"
#include "../src/operators.h"
#include "../src/spec.h"
#include "tally.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t passed, failed;

static uint64_t rng_state = 1;
static inline uint64_t rng(void)
{
    uint64_t z = rng_state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

enum data_kind { DATA_PLAIN, DATA_HOSTILE, DATA_ZEROS, DATA_BITS, DATA_KINDS };
static const char *const data_names[] = {"plain", "hostile", "zeros", "bits"};

/* One float as bits of dtype: plain values are small and inexact sums; hostile ones are NaN (both signs, payloads), inf,
 * zeros, subnormals, the largest numbers, and plain values between them. */
static uint64_t float_bits(tally_dtype d, enum data_kind kind)
{
    int exponent = d == TALLY_F64 ? 11 : d == TALLY_F16 ? 5 : 8;
    int bytes = (int)tally_dtype_size(d), mantissa = 8 * bytes - 1 - exponent;
    uint64_t r = rng(), top = ((uint64_t)1 << exponent) - 1, bias = top / 2;
    uint64_t sign = (r >> 63) << (8 * bytes - 1), m = r & (((uint64_t)1 << mantissa) - 1);
    if (kind == DATA_ZEROS) return sign;
    if (kind == DATA_HOSTILE)
        switch (r >> 40 & 15) {
        case 0: return sign | top << mantissa | m | 1;      /* NaN */
        case 1: return sign | top << mantissa;              /* inf */
        case 2: return sign;                                /* zero */
        case 3: return sign | m;                            /* subnormal */
        case 4: return sign | (top - 1) << mantissa | m;    /* huge */
        case 5: return sign | (uint64_t)1 << mantissa | m;  /* tiny normal */
        default: break;
        }
    return sign | (bias - 2 + (r >> 50 & 3)) << mantissa | m;
}

static void fill(void *to, tally_dtype d, int64_t n, enum data_kind kind)
{
    size_t bytes = tally_dtype_size(d);
    int is_float = d >= TALLY_F16;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = rng();
        if (is_float && kind != DATA_BITS) v = float_bits(d, kind);
        if (!is_float && kind == DATA_PLAIN) v = v % 100 - (d & 1 ? 50 : 0);
        if (!is_float && kind == DATA_ZEROS) v = (v & 7) == 0;
        memcpy((char *)to + (size_t)i * bytes, &v, bytes);
    }
}

/* The law by a binary counter with ABSENT: O(log n) a result instead of the spec's O(n). out: n + 1 results, of S(0)..S(n). */
static void reference_prefixes(const tl_scalar *op, tl_par p, const void *x, int64_t n, const void *init, void *out)
{
    tl_state stack[TL_MAX_LEVELS], s;
    int present[TL_MAX_LEVELS], top = 0, have;
    for (int64_t i = 0;; i++) {
        have = init != NULL;
        if (init) op->seed(&s, init, p);
        for (int j = 0; j < top; j++) {
            if (!present[j]) continue;
            if (have)
                op->combine(&s, &stack[j]);
            else
                s = stack[j];
            have = 1;
        }
        void *to = (char *)out + i * op->result_bytes;
        if (have)
            op->lower(&s, i, 0, p, to);
        else
            op->empty(p, to);
        if (i == n) return;
        const char *e = (const char *)x + i * op->elem_bytes;
        present[top] = !op->is_masked(e);
        if (present[top]) op->lift(&stack[top], e, i, p);
        top++;
        for (int64_t c = i; c & 1; c >>= 1) {
            top--;
            if (present[top] && present[top - 1])
                op->combine(&stack[top - 1], &stack[top]);
            else if (present[top])
                stack[top - 1] = stack[top], present[top - 1] = 1;
        }
    }
}

static void show(const char *what, const void *p, int bytes)
{
    const unsigned char *b = p;
    fprintf(stderr, " %s ", what);
    for (int i = bytes - 1; i >= 0; i--) fprintf(stderr, "%02x", b[i]);
}

/* Compares count results of size bytes; says what case it was on the first few differences. */
static int same(const void *got, const void *want, int64_t count, int bytes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#include <stdarg.h>
static int same(const void *got, const void *want, int64_t count, int bytes, const char *format, ...)
{
    if (!count || !memcmp(got, want, (size_t)(count * bytes))) {
        passed++;
        return 1;
    }
    if (failed++ < 40) {
        va_list args;
        va_start(args, format);
        fprintf(stderr, "DIFFERENT: ");
        vfprintf(stderr, format, args);
        va_end(args);
        int64_t i = 0;
        while (!memcmp((const char *)got + i * bytes, (const char *)want + i * bytes, (size_t)bytes)) i++;
        fprintf(stderr, " at %lld:", (long long)i);
        show("got", (const char *)got + i * bytes, bytes);
        show("want", (const char *)want + i * bytes, bytes);
        fprintf(stderr, "\n");
    }
    return 0;
}

static int ok(tally *ctx, tally_status status, const char *what)
{
    if (status == TALLY_OK) return 1;
    if (failed++ < 40) fprintf(stderr, "FAILED: %s: %s: %s\n", what, tally_status_name(status), tally_error(ctx));
    return 0;
}

static int finish(void)
{
    printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
    return failed != 0;
}
#endif

/* SPDX-License-Identifier: MIT
 * What the bits tests share: hostile data, a fast reference that the spec itself vouches for, and counting of checks. */
#ifndef TALLY_TEST_MATRIX_H
#define TALLY_TEST_MATRIX_H
#include "../src/counter.h"
#include "../src/operators.h"
#include "../src/random.h"
#include "../src/spec.h"
#include "tally.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t passed, failed;

static uint64_t rng_state = 1;
static inline uint64_t rng(void) { return tl_random(&rng_state); }

static const char *const data_names[] = {"plain", "hostile", "zeros", "bits"}; /* of tl_data */

static void fill(void *to, tally_dtype d, int64_t n, tl_data kind) { tl_random_fill(&rng_state, to, d, n, kind); }

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

/* SPDX-License-Identifier: MIT
 * Validity bitmaps and second inputs on processors, in turns with the plain call on the same
 * first input and with a read of the same bytes (max). Medians; ratios of bytes a second, those
 * of both inputs and of the bits counted.
 *   cc -O2 -Iinclude bench/inputs.c build/libtally.a -pthread -ldl -lm -o inputs && ./inputs
 *   [LOG2 [DEVICE]] */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "tally.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9 };

typedef struct {
    const char *verb, *op;
    tally_dtype dtype;
    int valid, second;
} problem;

static tally_status call(tally *ctx, const problem *p, const char *op, const tally_view *in,
                         void *out)
{
    if (!strcmp(p->verb, "reduce")) return tally_reduce(ctx, op, in, out);
    const tally_dtype d = p->dtype;
    const tally_view to = tally_flat(out, d, in->n);
    const tally_window_options w = {.before = 49};
    return !strcmp(p->verb, "scan") ? tally_scan(ctx, op, in, &to, NULL)
                                    : tally_window(ctx, op, in, &to, &w);
}

/* Two inputs of n numbers, and a bitmap that leaves out one in 10. */
static void fill(tally_dtype dtype, int64_t n, void *x, void *y, unsigned char *bits)
{
    uint32_t r = 1;
    for (int64_t i = 0; i < n; i++) {
        r = r * 1664525 + 1013904223;
        const double v = (double)(r >> 8);
        if (dtype == TALLY_F32) ((float *)x)[i] = (float)v, ((float *)y)[i] = 1 + (float)(r & 7);
        if (dtype == TALLY_F64) ((double *)x)[i] = v, ((double *)y)[i] = 1 + (r & 7);
        if (dtype == TALLY_I64) ((int64_t *)x)[i] = (int64_t)v, ((int64_t *)y)[i] = r & 7;
        const unsigned char b = (unsigned char)(1 << (i & 7));
        bits[i >> 3] = (unsigned char)((r >> 8) % 10 ? bits[i >> 3] | b : bits[i >> 3] & ~b);
    }
}

int main(int argc, char **argv)
{
    static const problem problems[] = {
        {"reduce", "sum", TALLY_F32, 1, 0},  {"reduce", "sum", TALLY_F64, 1, 0},
        {"reduce", "mean", TALLY_F32, 1, 0}, {"reduce", "max", TALLY_F32, 1, 0},
        {"reduce", "sum", TALLY_I64, 1, 0},  {"reduce", "var", TALLY_F64, 1, 0},
        {"reduce", "dot", TALLY_F32, 0, 1},  {"reduce", "dot", TALLY_F64, 0, 1},
        {"reduce", "dot", TALLY_F32, 1, 1},  {"reduce", "wmean", TALLY_F64, 0, 1},
        {"reduce", "cov", TALLY_F64, 0, 1},  {"reduce", "corr", TALLY_F64, 0, 1},
        {"scan", "sum", TALLY_F32, 1, 0},    {"scan", "mean", TALLY_F32, 1, 0},
        {"scan", "dot", TALLY_F32, 0, 1},    {"window", "sum", TALLY_F32, 1, 0},
        {"window", "mean", TALLY_F32, 1, 0}, {"window", "dot", TALLY_F32, 0, 1},
    };
    const int64_t n = (int64_t)1 << (argc > 1 ? atoi(argv[1]) : 26);
    tally *ctx;
    if (tally_open(&ctx, argc > 2 ? argv[2] : NULL))
        return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    char *x = malloc((size_t)n * 8), *y = malloc((size_t)n * 8), *out = malloc((size_t)n * 8);
    unsigned char *bits = malloc((size_t)n / 8);
    if (!x || !y || !out || !bits) return 1;
    printf("%lld elements, one in 10 left out, %d threads, %s\n%-7s %-6s %-5s %-6s %8s %8s %9s\n",
           (long long)n, tally_threads(ctx), tally_isa(ctx), "verb", "op", "type", "inputs", "GB/s",
           "of read", "of plain");
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        const problem *p = &problems[k];
        const size_t size = tally_dtype_size(p->dtype);
        fill(p->dtype, n, x, y, bits);
        tally_view plain = tally_flat(x, p->dtype, n), in = plain,
                   second = tally_flat(y, p->dtype, n);
        if (p->valid) in.valid = bits;
        if (p->second) in.next = &second;
        double elapsed[3][ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            double start = now();
            if (call(ctx, p, p->op, &in, out)) return fprintf(stderr, "%s\n", tally_error(ctx)), 1;
            elapsed[0][round] = now() - start, start = now();
            if (call(ctx, p, p->second ? "sum" : p->op, &plain, out))
                return fprintf(stderr, "%s\n", tally_error(ctx)), 1;
            elapsed[1][round] = now() - start, start = now();
            if (tally_reduce(ctx, "max", &plain, out)) return 1;
            elapsed[2][round] = now() - start;
        }
        const double whole = median(elapsed[0], ROUNDS), alone = median(elapsed[1], ROUNDS),
                     max = median(elapsed[2], ROUNDS);
        const double one = (double)n * (double)size,
                     bytes = one * (1 + p->second) + (p->valid ? (double)n / 8 : 0);
        const double rate = bytes / whole, read = one / max;
        printf("%-7s %-6s %-5s %-6s %8.1f %8.2f %9.2f\n", p->verb, p->op,
               tally_dtype_name(p->dtype), p->second ? p->valid ? "2+bits" : "2" : "1+bits",
               rate / 1e9, rate / read, alone / whole * (1 + p->second));
        fflush(stdout);
    }
    free(x), free(y), free(out), free(bits);
    tally_close(ctx);
    return 0;
}

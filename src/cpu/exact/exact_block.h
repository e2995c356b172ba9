/* SPDX-License-Identifier: MIT
 * What a block of an exact sum is: elements in, three integers out (exact_block.c). */
#ifndef TALLY_EXACT_BLOCK_H
#define TALLY_EXACT_BLOCK_H
#include <stdint.h>

enum {
    TL_EXACT_BLOCK = 4096, /* elements: a power of two, and 16 KiB or 32 KiB of the first cache */
    TL_EXACT_LEVELS = 3,
    TL_EXACT_TOP_MOST = 1000 /* of an exponent, where the registers do not overflow yet */
};

/* Why a block's integers are not its sum. */
enum {
    TL_EXACT_DONE = 0,
    TL_EXACT_FAR = 1,  /* bits below the last level */
    TL_EXACT_LARGE = 2 /* an element of 2^(top + 1) or more, infinite or NaN */
};

typedef struct tl_exact_block {
    int top, levels;               /* given: |x| < 2^(top + 1); f32: 1 or 2, f64: 2 or 3 */
    int64_t part[TL_EXACT_LEVELS]; /* the sum is that of part[l] 2^unit[l] */
    int unit[TL_EXACT_LEVELS];
    int64_t nan; /* elements that are NaN, where they are left out */
} tl_exact_block;

/* The loops of one instruction set. n elements, a multiple of `step` and at most TL_EXACT_BLOCK.
 * `without`: NaN is left out and counted. highest: the bits of the largest finite |x|; *special:
 * is there a NaN or an infinity? */
typedef struct tl_exact_kernel {
    int step;
    int (*f32)(const float *x, int64_t n, tl_exact_block *b);
    int (*f32_without)(const float *x, int64_t n, tl_exact_block *b);
    int (*f64)(const double *x, int64_t n, tl_exact_block *b);
    int (*f64_without)(const double *x, int64_t n, tl_exact_block *b);
    uint32_t (*highest_f32)(const float *x, int64_t n, int *special);
    uint64_t (*highest_f64)(const double *x, int64_t n, int *special);
    /* high[i] + low[i] = x[i] y[i]; returns whether that is exact for all i, and finite. */
    int (*products)(const double *x, const double *y, int64_t n, double *high, double *low);
} tl_exact_kernel;
#endif

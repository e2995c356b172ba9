/* SPDX-License-Identifier: MIT
 * A block of an exact sum: up to TL_EXACT_BLOCK elements become three integers (exact_block.c). */
#ifndef TALLY_EXACT_BLOCK_H
#define TALLY_EXACT_BLOCK_H

#include <stdint.h>

enum {
    TL_EXACT_BLOCK = 4096, /* elements, a power of two: 16 KiB or 32 KiB in the first-level cache */
    TL_EXACT_LEVELS = 3,
    TL_EXACT_TOP_MOST = 1000 /* largest exponent with which the registers do not overflow */
};

/* Why the integers of a block are not its sum. */
enum {
    TL_EXACT_DONE = 0,
    TL_EXACT_FAR = 1,  /* some bits are below the last level */
    TL_EXACT_LARGE = 2 /* an element is 2^(top + 1) or more, infinite or NaN */
};

typedef struct tl_exact_block {
    int top, levels;               /* input: |x| < 2^(top + 1); levels: f32 1 or 2, f64 2 or 3 */
    int64_t part[TL_EXACT_LEVELS]; /* the sum is the sum of part[l] 2^unit[l] */
    int unit[TL_EXACT_LEVELS];
    int64_t nan; /* NaN elements, if they are skipped */
} tl_exact_block;

/* The loops of one instruction set. Requires: n is a multiple of `step` and at most TL_EXACT_BLOCK.
 * `without`: NaN are skipped and counted. highest: returns the bits of the largest finite |x|;
 * *special: is there a NaN or an infinity? */
typedef struct tl_exact_kernel {
    int step;
    int (*f32)(const float *x, int64_t n, tl_exact_block *b);
    int (*f32_without)(const float *x, int64_t n, tl_exact_block *b);
    int (*f64)(const double *x, int64_t n, tl_exact_block *b);
    int (*f64_without)(const double *x, int64_t n, tl_exact_block *b);
    uint32_t (*highest_f32)(const float *x, int64_t n, int *special);
    uint64_t (*highest_f64)(const double *x, int64_t n, int *special);

    /* high[i] + low[i] = x[i] y[i], of f64 of any alignment. Returns 1 if that is exact and finite
     * for all i. */
    int (*products)(const void *x, const void *y, int64_t n, double *high, double *low);
} tl_exact_kernel;

#endif

/* SPDX-License-Identifier: MIT
 * Integers of many digits, with the operations that a variance or a correlation of exact sums
 * needs:
 *
 *     var  = (n Sxx - Sx^2) / (n (n - 1))          corr = A / sqrt(B C), A = n Sxy - Sx Sy, ...
 *
 * Everything is an integer until the quotient, which is rounded once. */
#ifndef TALLY_EXACT_RATIO_H
#define TALLY_EXACT_RATIO_H

#include "operator/kernel.h"

/* 544 digits for the square of a sum of products of sums (8704 bits each, see tl_number), and a
 * carry. */
enum { TL_NUMBER_DIGITS = 576 };

/* +-(digit[0] + digit[1] 2^32 + ...) 2^exponent; size 0: zero. The last digit is not 0. A sum of
 * elements has at most 136 digits, a product of two sums 272. */
typedef struct tl_number {
    int negative, size, exponent;
    uint32_t digit[TL_NUMBER_DIGITS];
} tl_number;

/* r = (digit[0] + digit[1] 2^32 + ...) 2^exponent. Digits may have any sign and are below 2^62.
 * size <= 136. */
void tl_number_of_digits(tl_number *r, const int64_t *digit, int size, int exponent);
void tl_number_of_integer(tl_number *r, uint64_t n);

/* r = a * b. r must be neither a nor b. */
void tl_number_multiply(tl_number *r, const tl_number *a, const tl_number *b);

/* *a = *a - *b. */
void tl_number_subtract(tl_number *a, const tl_number *b);

/* a / b, or with `root` the square root of |a / b| with the sign of a, rounded once to nearest
 * even. dtype: TALLY_F32 or TALLY_F64. Requires: b > 0. Both are overwritten. */
void tl_ratio(tl_number *a, tl_number *b, int root, tally_dtype dtype, void *value);

#endif

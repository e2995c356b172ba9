/* SPDX-License-Identifier: MIT
 * Random numbers, and test data made of them for tally_verify and the tests. The golden files have
 * their own copy (test/test_golden.c), so changes here do not affect them. */
#pragma once

#include "tally.h"
#include <string.h>

/* The next number after *state: splitmix64, which works with any seed. */
static inline uint64_t tl_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Kinds of data. plain: numbers near 1 whose sums round. hostile: also NaN of both signs with
 * payloads, inf, zeros, subnormals, huge and tiny numbers. zeros: +0 and -0. bits: any bits. For
 * integers: small, any, 0 or 1, any. */
typedef enum { TL_DATA_PLAIN, TL_DATA_HOSTILE, TL_DATA_ZEROS, TL_DATA_BITS, TL_DATA_KINDS } tl_data;

/* One element of a floating type, as bits, made of the random number r: bit 63 is the sign, bits 55
 * to 59 choose a hostile value, bits 53 and 54 vary the exponent, and the low bits are the
 * mantissa. */
static inline uint64_t tl_random_float(uint64_t r, tally_dtype d, tl_data kind)
{
    int bytes = (int)tally_dtype_size(d), exponent = d == TALLY_F64 ? 11 : d == TALLY_F16 ? 5 : 8;
    int mantissa = 8 * bytes - 1 - exponent;
    uint64_t m = r & (((uint64_t)1 << mantissa) - 1), top = ((uint64_t)1 << exponent) - 1,
             e = top / 2 - 2 + (r >> 53 & 3);
    /* NaN, inf, zero, subnormal, huge, tiny */
    const uint64_t hostile[][2] = {{top, m | 1}, {top, 0}, {0, 0}, {0, m}, {top - 1, m}, {1, m}};

    uint64_t which = r >> 55 & 31;
    if (kind == TL_DATA_HOSTILE && which < sizeof hostile / sizeof *hostile)
        e = hostile[which][0], m = hostile[which][1];
    if (kind == TL_DATA_ZEROS) e = m = 0;

    return r >> 63 << (8 * bytes - 1) | e << mantissa | m;
}

/* n elements of dtype d. */
static inline void tl_random_fill(uint64_t *state, void *to, tally_dtype d, int64_t n, tl_data kind)
{
    size_t bytes = tally_dtype_size(d);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = tl_random(state);
        if (d >= TALLY_F16 && kind != TL_DATA_BITS) v = tl_random_float(v, d, kind);

        /* signed types have odd type numbers */
        if (d < TALLY_F16 && kind == TL_DATA_PLAIN) v = v % 100 - (d & 1 ? 50 : 0);
        if (d < TALLY_F16 && kind == TL_DATA_ZEROS) v = (v & 7) == 0;
        memcpy((char *)to + (size_t)i * bytes, &v, bytes);
    }
}

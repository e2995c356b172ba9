/* SPDX-License-Identifier: MIT
 * Elements as numbers, by a road of the tests' own. */
#ifndef TALLY_TEST_REAL_H
#define TALLY_TEST_REAL_H
#include "tally.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

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

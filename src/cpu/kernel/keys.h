/* SPDX-License-Identifier: MIT
 * Elements as keys and halves as floats, in scalar C that compilers vectorise. Used by conversions
 * (convert.c) and by the states of operators on keys (scalar.h). prelude_cpu.h defines the same in
 * the dialect. */
#pragma once

#include "operator/kernel.h"
#include <stdint.h>
#include <string.h>

#define SAME_BITS(to, name, from) \
    TL_INLINE to name(from x) \
    { \
        to r; \
        memcpy(&r, &x, sizeof r); \
        return r; \
    }
SAME_BITS(uint32_t, bits32, float)
SAME_BITS(uint64_t, bits64, double)
SAME_BITS(float, float_of, uint32_t)
SAME_BITS(double, double_of, uint64_t)
#undef SAME_BITS

/* The same as half_bits_to_float of the dialect (cpu/kernel/prelude_cpu.h): exact; a NaN keeps its
 * payload. */
TL_INLINE float half_to_float(uint16_t h)
{
    uint32_t b = bits32(float_of((uint32_t)(h & 0x7fff) << 13) * 0x1p112f);
    b |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return float_of(b | (uint32_t)(h & 0x8000) << 16);
}

TL_INLINE float bf16_to_float(uint16_t h) { return float_of((uint32_t)h << 16); }

/* The inverse, for floats that came from an f16, and for the canonical NaN. Exact, with
 * subnormals. */
TL_INLINE uint16_t float_to_half(uint32_t b)
{
    uint32_t magnitude = bits32(float_of(b & 0x7fffffff) * 0x1p-112f) >> 13;
    magnitude = (b & 0x7fffffff) > 0x7f800000    ? 0x7e00
                : (b & 0x7fffffff) == 0x7f800000 ? 0x7c00
                                                 : magnitude;
    return (uint16_t)(magnitude | (b >> 16 & 0x8000));
}

/* Converts sign and magnitude to two's complement and back. A NaN becomes the largest (high) or the
 * smallest key, like to_ord and from_ord of the dialect. inf: the bits of a half's infinity, 0x7c00
 * of f16, 0x7f80 of bf16. */
TL_INLINE int32_t key16(uint16_t b, int inf, int high)
{
    int32_t k = (int16_t)b;
    k ^= k >> 31 & 0x7fff;
    return (b & 0x7fff) <= inf ? k : high ? INT32_MAX : INT32_MIN;
}

TL_INLINE int32_t key32(uint32_t b, int high)
{
    int32_t k = (int32_t)b;
    k ^= k >> 31 & INT32_MAX;
    return float_of(b) == float_of(b) ? k : high ? INT32_MAX : INT32_MIN;
}

TL_INLINE int64_t key64(uint64_t b, int high)
{
    int64_t k = (int64_t)b;
    k ^= k >> 63 & INT64_MAX;
    return double_of(b) == double_of(b) ? k : high ? INT64_MAX : INT64_MIN;
}

TL_INLINE uint16_t from_key16(int32_t k, int inf)
{
    uint16_t b = (uint16_t)(k ^ (k >> 31 & 0x7fff));
    return (b & 0x7fff) <= inf ? b : inf == 0x7c00 ? 0x7e00 : 0x7fc0;
}

TL_INLINE uint32_t from_key32(int32_t k)
{
    uint32_t b = (uint32_t)(k ^ (k >> 31 & INT32_MAX));
    return (b & 0x7fffffff) <= 0x7f800000 ? b : 0x7fc00000;
}

TL_INLINE uint64_t from_key64(int64_t k)
{
    uint64_t b = (uint64_t)(k ^ (k >> 63 & INT64_MAX));
    return (b & INT64_MAX) <= 0x7ff0000000000000 ? b : 0x7ff8000000000000;
}

/* Convert between the key of a half and the key of the same value as a float. The smallest and the
 * largest key, which are NaN, map to each other. */
TL_INLINE int32_t key16_to_key32(int16_t k, int inf)
{
    uint16_t b = from_key16(k, inf);
    if (k == INT16_MAX || k == INT16_MIN) return k == INT16_MAX ? INT32_MAX : INT32_MIN;
    return key32(bits32(inf == 0x7c00 ? half_to_float(b) : bf16_to_float(b)), 0);
}

TL_INLINE int16_t key32_to_key16(int32_t k, int inf)
{
    uint32_t b = from_key32(k);
    if (k == INT32_MAX || k == INT32_MIN) return k == INT32_MAX ? INT16_MAX : INT16_MIN;
    return (int16_t)key16(inf == 0x7c00 ? float_to_half(b) : (uint16_t)(b >> 16), inf, 0);
}

/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set: the conversions of convert.def as tl_converts_<isa>[], the
 * last with apply NULL; and tl_mask_<isa>: missing elements of a validity bitmap get a given value,
 * and NaN lose their payload so that none looks like the mark of missing elements. Plain loops over
 * elements of any alignment, which compilers vectorise; with AVX-512, masked instructions on 64
 * elements at a time. */
#include "dtype/dtype_traits.h"
#include "operator/kernel.h"
#include "cpu/kernel/keys.h"
#include <assert.h>
#include <string.h>
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

/* Converts halves to f32 or f64 by the processor's instruction, up to a NaN, which it would make
 * quiet; returns how many. */
TL_INLINE int64_t many_halves(void *to, int bytes, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    for (; i + 16 <= n; i += 16) {
        const __m512 v = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x + i)));
        char *const at = (char *)to + i * bytes;
        if (_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)) break;
        if (bytes == 4) {
            _mm512_storeu_ps(at, v);
            continue;
        }
        _mm512_storeu_pd(at, _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
        _mm512_storeu_pd(at + 64, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)));
    }
#endif

    return i;
}

#define ANY(dt) TL_TRAIT(1, dt) __attribute__((aligned(1), may_alias))
#define CONVERT(kind, from, to, value) \
    static void TL_CAT4(convert, kind, from, to)(const tl_convert *c, void *y, const void *data, \
                                                 int64_t n) \
    { \
        typedef ANY(from) source; \
        typedef ANY(to) target; \
        const source *restrict e = data; \
        target *restrict r = y; \
        int64_t i = 0; \
        if (TL_WIDEN_##kind == TL_WIDEN_REAL && TL_TRAIT(2, from) == TALLY_F16) \
            i = many_halves(y, TL_TRAIT(3, to), data, n); \
        for (; i < n; i++) { \
            TL_TRAIT(1, from) x = e[i]; \
            r[i] = (TL_TRAIT(1, to))(value); \
        } \
    }
#include "convert.def"

#undef CONVERT

#define CONVERT(kind, from, to, value) \
    {TL_WIDEN_##kind, \
     TL_TRAIT(2, from), \
     TL_TRAIT(2, to), \
     TL_TRAIT(3, from), \
     TL_TRAIT(3, to), \
     TL_CAT4(convert, kind, from, to), \
     NULL},

const tl_convert TL_CAT(tl_converts_, TL_ISA)[] = {
#include "convert.def"
    {0}};

enum { GROUP = 32 }; /* elements per load of the bitmap */

/* `count` <= 32 bits from bit number `bit` on. Reads only bytes that have some of these bits. */
static inline uint32_t bits_at(const unsigned char *valid, int64_t bit, int64_t count)
{
    const unsigned char *at = valid + (bit >> 3);
    const int shift = (int)(bit & 7);
    uint64_t word = 0;

    if (count == GROUP && !shift) {
        uint32_t whole;
        memcpy(&whole, at, sizeof whole);
        return whole;
    }
    for (int64_t b = 0; b < (shift + count + 7) >> 3; b++) word |= (uint64_t)at[b] << (8 * b);
    return (uint32_t)(word >> shift);
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/* 64 bits from bit number `bit` on. Reads only bytes that have some of these bits. */
static inline uint64_t bits_64(const unsigned char *valid, int64_t bit)
{
    const unsigned char *at = valid + (bit >> 3);
    const int shift = (int)(bit & 7);
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return shift ? word >> shift | (uint64_t)at[8] << (64 - shift) : word;
}

/* The first elements, 64 at a time. */
#define MASK_64(lanes, mask_t, bits) \
    const __m512i fills = _mm512_set1_epi##bits((int##bits##_t)none); \
    for (; i + 64 <= n; i += 64) { \
        const uint64_t b = bits_64(valid, bit + i); \
        for (int j = 0; j < 64; j += lanes) \
            _mm512_storeu_si512(t + i + j, \
                                _mm512_mask_loadu_epi##bits(fills, (mask_t)(b >> j), x + i + j)); \
    }
#define KEEP_64(lanes, mask_t, bits) \
    for (; i + 64 <= n; i += 64) { \
        const uint64_t b = bits_64(valid, bit + i); \
        for (int j = 0; j < 64; j += lanes) { \
            const mask_t k = (mask_t)(b >> j); \
            _mm512_storeu_si512( \
                t + count, _mm512_maskz_compress_epi##bits(k, _mm512_loadu_si512(x + i + j))); \
            count += __builtin_popcount(k); \
        } \
    }
#else
#define MASK_64(lanes, mask_t, bits)
#define KEEP_64(lanes, mask_t, bits)
#endif

/* Copies n elements; those whose bit is 0 become `fill`. by_64: a loop for the first elements. */
#define MASK(name, type, by_64) \
    static void name(void *to, const void *from, const unsigned char *valid, int64_t bit, \
                     int64_t n, uint64_t fill) \
    { \
        typedef type __attribute__((aligned(1), may_alias)) any; \
        any *t = to; \
        const any *x = from; \
        const type none = (type)fill; \
        int64_t i = 0; \
        by_64 for (; i + GROUP <= n; i += GROUP) \
        { \
            const uint32_t b = bits_at(valid, bit + i, GROUP); \
            if (b == UINT32_MAX) \
                memmove(t + i, x + i, GROUP * sizeof(type)); \
            else \
                for (int j = 0; j < GROUP; j++) \
                    t[i + j] = b & (UINT32_C(1) << j) ? x[i + j] : none; \
        } \
        const uint32_t b = i < n ? bits_at(valid, bit + i, n - i) : 0; \
        for (int j = 0; i + j < n; j++) t[i + j] = b & (UINT32_C(1) << j) ? x[i + j] : none; \
    }
MASK(mask_1, uint8_t, MASK_64(64, __mmask64, 8))
MASK(mask_2, uint16_t, MASK_64(32, __mmask32, 16))
MASK(mask_4, uint32_t, MASK_64(16, __mmask16, 32))
MASK(mask_8, uint64_t, MASK_64(8, __mmask8, 64))
#undef MASK
#undef MASK_64

static void mask(void *to, const void *from, int bytes, tl_bits b, int64_t n, uint64_t fill)
{
    assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
    (bytes == 1   ? mask_1
     : bytes == 2 ? mask_2
     : bytes == 4 ? mask_4
                  : mask_8)(to, from, b.valid, b.bit, n, fill);
}

#define QUIET(name, type, magnitude, inf, nan) \
    static void name(void *to, const void *from, int64_t n) \
    { \
        typedef type __attribute__((aligned(1), may_alias)) any; \
        any *t = to; \
        const any *x = from; \
        for (int64_t i = 0; i < n; i++) \
            t[i] = (type)((x[i] & (magnitude)) > (inf) ? (nan) : x[i]); \
    }
QUIET(quiet_f16, uint16_t, 0x7fff, 0x7c00, 0x7e00)
QUIET(quiet_bf16, uint16_t, 0x7fff, 0x7f80, 0x7fc0)
QUIET(quiet_f32, uint32_t, INT32_MAX, 0x7f800000, 0x7fc00000)
QUIET(quiet_f64, uint64_t, INT64_MAX, 0x7ff0000000000000, 0x7ff8000000000000)
#undef QUIET

static void quiet(void *to, const void *from, tally_dtype dtype, int64_t n)
{
    (dtype == TALLY_F16    ? quiet_f16
     : dtype == TALLY_BF16 ? quiet_bf16
     : dtype == TALLY_F32  ? quiet_f32
                           : quiet_f64)(to, from, n);
}

/* Packs the elements whose bit is 1, and returns how many. An element whose bit is 0 is written
 * too, and the next one over it. */
#define KEEP(name, type, by_64) \
    static int64_t name(void *to, const void *from, const unsigned char *valid, int64_t bit, \
                        int64_t n) \
    { \
        typedef type __attribute__((aligned(1), may_alias)) any; \
        any *t = to; \
        const any *x = from; \
        int64_t i = 0, count = 0; \
        by_64 for (; i < n; i++) \
        { \
            t[count] = x[i]; \
            count += valid[(bit + i) >> 3] >> ((bit + i) & 7) & 1; \
        } \
        return count; \
    }
KEEP(keep_1, uint8_t, )
KEEP(keep_2, uint16_t, )
KEEP(keep_4, uint32_t, KEEP_64(16, __mmask16, 32))
KEEP(keep_8, uint64_t, KEEP_64(8, __mmask8, 64))
#undef KEEP
#undef KEEP_64

static int64_t keep(void *to, const void *from, int bytes, tl_bits b, int64_t n)
{
    assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
    return (bytes == 1   ? keep_1
            : bytes == 2 ? keep_2
            : bytes == 4 ? keep_4
                         : keep_8)(to, from, b.valid, b.bit, n);
}

const tl_mask TL_CAT(tl_mask_, TL_ISA) = {mask, quiet, keep};

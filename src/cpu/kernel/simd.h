/* SPDX-License-Identifier: MIT
 * The shuffle network of the CPU kernels, on vectors of V lanes (GCC and Clang vector extensions).
 *
 * A network turns V vectors of V neighbouring nodes into one vector of V nodes that are log2 V
 * levels higher, in order. Each step combines the even with the odd neighbours of two vectors.
 * Shuffles inside a 128-bit group of G lanes are cheapest on x86 (one shufps or unpcklpd). So the
 * first log2 G steps pair lanes inside their groups (EVEN1, ODD1), and the last log2(V/G) steps
 * pair whole groups (EVEN2, ODD2; vperm2f128, vshuff32x4). Example with V=8, G=4, vectors a .. h, |
 * between groups, and a0-3 for the node of a0 .. a3:
 *
 *   EVEN1(a, b)     a0 a2 b0 b2|a4 a6 b4 b6
 *   ODD1(a, b)      a1 a3 b1 b3|a5 a7 b5 b7
 *   two steps       a0-3 b0-3 c0-3 d0-3|a4-7 b4-7 c4-7 d4-7     and the same for e .. h
 *   EVEN2 of both   a0-3 b0-3 c0-3 d0-3|e0-3 f0-3 g0-3 h0-3
 *   ODD2 of both    a4-7 b4-7 c4-7 d4-7|e4-7 f4-7 g4-7 h4-7
 *   third step      a b c d e f g h
 *
 * NEXT moves every lane down by one; the last lane is the first lane of the second operand. LOW1
 * HIGH1 LOW2 HIGH2 are the inverses of EVEN and ODD: (even, odd) -> the two original vectors.
 * Indices select from the concatenation of both operands, as in __builtin_shufflevector. */
#ifndef TALLY_SIMD_H
#define TALLY_SIMD_H
#include "operator/kernel.h"
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define TL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TL_UNROLL _Pragma("GCC unroll 16")
#endif

#define TL_INLINE static inline __attribute__((always_inline, unused))

/* V=2 G=2: one 128-bit group of two 64-bit lanes. No second kind of step. */
#define TL_2_2_NEXT  1, 2
#define TL_2_2_EVEN1 0, 2
#define TL_2_2_ODD1  1, 3
#define TL_2_2_LOW1  0, 2
#define TL_2_2_HIGH1 1, 3
#define TL_2_2_EVEN2 0, 1
#define TL_2_2_ODD2  2, 3
#define TL_2_2_LOW2  0, 1
#define TL_2_2_HIGH2 2, 3
/* V=4 G=4: one group of four 32-bit lanes. */
#define TL_4_4_NEXT  1, 2, 3, 4
#define TL_4_4_EVEN1 0, 2, 4, 6
#define TL_4_4_ODD1  1, 3, 5, 7
#define TL_4_4_LOW1  0, 4, 1, 5
#define TL_4_4_HIGH1 2, 6, 3, 7
#define TL_4_4_EVEN2 0, 1, 2, 3
#define TL_4_4_ODD2  4, 5, 6, 7
#define TL_4_4_LOW2  0, 1, 2, 3
#define TL_4_4_HIGH2 4, 5, 6, 7
/* V=4 G=2: two groups of two 64-bit lanes (AVX2). */
#define TL_4_2_NEXT  1, 2, 3, 4
#define TL_4_2_EVEN1 0, 4, 2, 6
#define TL_4_2_ODD1  1, 5, 3, 7
#define TL_4_2_LOW1  0, 4, 2, 6
#define TL_4_2_HIGH1 1, 5, 3, 7
#define TL_4_2_EVEN2 0, 1, 4, 5
#define TL_4_2_ODD2  2, 3, 6, 7
#define TL_4_2_LOW2  0, 1, 4, 5
#define TL_4_2_HIGH2 2, 3, 6, 7
/* V=8 G=4: two groups of four 32-bit lanes (AVX2). */
#define TL_8_4_NEXT  1, 2, 3, 4, 5, 6, 7, 8
#define TL_8_4_EVEN1 0, 2, 8, 10, 4, 6, 12, 14
#define TL_8_4_ODD1  1, 3, 9, 11, 5, 7, 13, 15
#define TL_8_4_LOW1  0, 8, 1, 9, 4, 12, 5, 13
#define TL_8_4_HIGH1 2, 10, 3, 11, 6, 14, 7, 15
#define TL_8_4_EVEN2 0, 1, 2, 3, 8, 9, 10, 11
#define TL_8_4_ODD2  4, 5, 6, 7, 12, 13, 14, 15
#define TL_8_4_LOW2  0, 1, 2, 3, 8, 9, 10, 11
#define TL_8_4_HIGH2 4, 5, 6, 7, 12, 13, 14, 15
/* V=8 G=2: four groups of two 64-bit lanes (AVX-512). */
#define TL_8_2_NEXT  1, 2, 3, 4, 5, 6, 7, 8
#define TL_8_2_EVEN1 0, 8, 2, 10, 4, 12, 6, 14
#define TL_8_2_ODD1  1, 9, 3, 11, 5, 13, 7, 15
#define TL_8_2_LOW1  0, 8, 2, 10, 4, 12, 6, 14
#define TL_8_2_HIGH1 1, 9, 3, 11, 5, 13, 7, 15
#define TL_8_2_EVEN2 0, 1, 4, 5, 8, 9, 12, 13
#define TL_8_2_ODD2  2, 3, 6, 7, 10, 11, 14, 15
#define TL_8_2_LOW2  0, 1, 8, 9, 2, 3, 10, 11
#define TL_8_2_HIGH2 4, 5, 12, 13, 6, 7, 14, 15
/* V=16 G=4: four groups of four 32-bit lanes (AVX-512). */
#define TL_16_4_NEXT  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
#define TL_16_4_EVEN1 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define TL_16_4_ODD1  1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define TL_16_4_LOW1  0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define TL_16_4_HIGH1 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define TL_16_4_EVEN2 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define TL_16_4_ODD2  4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define TL_16_4_LOW2  0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23
#define TL_16_4_HIGH2 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31

#define TL_PATTERN__(v, g, what) TL_##v##_##g##_##what
#define TL_PATTERN_(v, g, what)  TL_PATTERN__(v, g, what)
#define TL_PATTERN(what)         TL_PATTERN_(TL_V, TL_G, what)

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TL_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef TL_SHUFFLE /* gcc before 12 */
#define TL_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__((a) == (a))){__VA_ARGS__})
#endif

/* Prefetches for a pass over memory that has reached the `bytes` bytes at x, `ahead` bytes further
 * on (kernel.h). TL_LINES: the lines of that distance, in order. TL_PAGES: while the lines of an
 * aligned 16 KiB (four pages) are read in order, prefetches two lines of each of the next four
 * pages in turn: in the address of a line, bits 13..9 (the row) and 8..7 (the pair) become bits
 * 11..7 and 13..12. Requires for TL_PAGES: ahead is a multiple of 16 KiB. A prefetch past the end
 * of an array has no effect. */
TL_INLINE void tl_fetch(const void *x, size_t bytes, int64_t ahead, int way)
{
    if (way == TL_LINES) {
        const char *at = (const char *)((uintptr_t)x + (uintptr_t)ahead);
        TL_UNROLL for (size_t line = 0; line < bytes; line += 64)
            __builtin_prefetch(at + line, 0, 2);
        return;
    }
    /* A power of two, so that x determines the position in the four pages. */
    const size_t unit = bytes < 256 ? bytes : 256;
    TL_UNROLL for (size_t o = 0; o < bytes; o += unit)
    {
        uintptr_t a = ((uintptr_t)x + o) & ~(uintptr_t)(unit - 1);
        a = (a & ~(uintptr_t)0x3fff) + (uintptr_t)ahead + ((a & 0x180) << 5) + ((a & 0x3e00) >> 2) +
            (a & 64);
        TL_UNROLL for (size_t line = 0; line < unit; line += 64)
            __builtin_prefetch((const char *)a + ((line & 0x180) << 5) + (line & 64), 0, 2);
    }
}

/* The same for elements from .. from + count - 1 of `next` (kernel.h), once every 256 bytes. own:
 * bytes of the kernel's own elements; with that size the compiler knows the number of lines. */
#define TL_FETCH_SOME(next, from, count, own)                                                      \
    do {                                                                                           \
        const int64_t first_ = (from) * (next).bytes, end_ = first_ + (count) * (next).bytes;      \
        if ((next).bytes == 0) break;                                                              \
        if ((next).bytes != (int64_t)(own)) {                                                      \
            for (int64_t o = (first_ + 255) & ~(int64_t)255; o < end_; o += 256)                   \
                tl_fetch((next).at + o, 256, 0, (next).way);                                       \
        } else if ((count) * (own) >= 256) {                                                       \
            tl_fetch((next).at + (from) * (int64_t)(own), (count) * (own), 0, (next).way);         \
        } else if ((from) * (int64_t)(own) % 256 == 0) {                                           \
            tl_fetch((next).at + (from) * (int64_t)(own), 256, 0, (next).way);                     \
        }                                                                                          \
    } while (0)

/* Stores a vector of `bytes` bytes with non-temporal stores if the instruction set has them.
 * Requires: `to` is aligned to the vector. The caller issues a fence afterwards. */
TL_INLINE void tl_stream_store(void *to, const void *from, size_t bytes)
{
#if defined(__AVX512F__)
    if (bytes % 64 == 0) {
        for (size_t at = 0; at < bytes; at += 64)
            _mm512_stream_si512((__m512i *)((char *)to + at),
                                _mm512_loadu_si512((const char *)from + at));
        return;
    }
#endif
#if defined(__AVX__)
    if (bytes % 32 == 0) {
        for (size_t at = 0; at < bytes; at += 32)
            _mm256_stream_si256((__m256i *)((char *)to + at),
                                _mm256_loadu_si256((const __m256i *)((const char *)from + at)));
        return;
    }
#endif
#if defined(__SSE2__)
    if (bytes % 16 == 0) {
        for (size_t at = 0; at < bytes; at += 16)
            _mm_stream_si128((__m128i *)((char *)to + at),
                             _mm_loadu_si128((const __m128i *)((const char *)from + at)));
        return;
    }
#endif
    memcpy(to, from, bytes);
}

TL_INLINE void tl_stream_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Per float lane, v > m ? v : m and v < m ? v : m. As in maxps and minps, the result is m where v
 * is a NaN or equal to m. TL_NAN_n: is v or w a NaN? */
#if defined(__AVX512F__)
#define TL_OVER_4(v, m)  ((__typeof__(m))_mm512_max_ps((__m512)(v), (__m512)(m)))
#define TL_OVER_8(v, m)  ((__typeof__(m))_mm512_max_pd((__m512d)(v), (__m512d)(m)))
#define TL_UNDER_4(v, m) ((__typeof__(m))_mm512_min_ps((__m512)(v), (__m512)(m)))
#define TL_UNDER_8(v, m) ((__typeof__(m))_mm512_min_pd((__m512d)(v), (__m512d)(m)))
#define TL_NANS(vector)  unsigned /* a mask register; not converted to a vector */
#define TL_NAN_4(v, w)   ((unsigned)_mm512_cmp_ps_mask((__m512)(v), (__m512)(w), _CMP_UNORD_Q))
#define TL_NAN_8(v, w)   ((unsigned)_mm512_cmp_pd_mask((__m512d)(v), (__m512d)(w), _CMP_UNORD_Q))
#elif defined(__AVX__)
#define TL_OVER_4(v, m)  ((__typeof__(m))_mm256_max_ps((__m256)(v), (__m256)(m)))
#define TL_OVER_8(v, m)  ((__typeof__(m))_mm256_max_pd((__m256d)(v), (__m256d)(m)))
#define TL_UNDER_4(v, m) ((__typeof__(m))_mm256_min_ps((__m256)(v), (__m256)(m)))
#define TL_UNDER_8(v, m) ((__typeof__(m))_mm256_min_pd((__m256d)(v), (__m256d)(m)))
#define TL_NAN_4(v, w)                                                                             \
    ((__typeof__((v) != (v)))_mm256_cmp_ps((__m256)(v), (__m256)(w), _CMP_UNORD_Q))
#define TL_NAN_8(v, w)                                                                             \
    ((__typeof__((v) != (v)))_mm256_cmp_pd((__m256d)(v), (__m256d)(w), _CMP_UNORD_Q))
#elif defined(__SSE2__)
#define TL_OVER_4(v, m)  ((__typeof__(m))_mm_max_ps((__m128)(v), (__m128)(m)))
#define TL_OVER_8(v, m)  ((__typeof__(m))_mm_max_pd((__m128d)(v), (__m128d)(m)))
#define TL_UNDER_4(v, m) ((__typeof__(m))_mm_min_ps((__m128)(v), (__m128)(m)))
#define TL_UNDER_8(v, m) ((__typeof__(m))_mm_min_pd((__m128d)(v), (__m128d)(m)))
#define TL_NAN_4(v, w)   ((__typeof__((v) != (v)))_mm_cmpunord_ps((__m128)(v), (__m128)(w)))
#define TL_NAN_8(v, w)   ((__typeof__((v) != (v)))_mm_cmpunord_pd((__m128d)(v), (__m128d)(w)))
#else
#define TL_OVER_4(v, m)  TL_BLEND((v) > (m), v, m)
#define TL_OVER_8(v, m)  TL_BLEND((v) > (m), v, m)
#define TL_UNDER_4(v, m) TL_BLEND((v) < (m), v, m)
#define TL_UNDER_8(v, m) TL_BLEND((v) < (m), v, m)
#define TL_NAN_4(v, w)   (((v) != (v)) | ((w) != (w)))
#define TL_NAN_8(v, w)   TL_NAN_4(v, w)
#endif

#ifndef TL_NANS /* the type that collects TL_NAN_n; nonzero if there was a NaN */
#define TL_NANS(vector) vector
#endif

/* Lanes of a where mask c is set, of b elsewhere. */
#define TL_BLEND(c, a, b)                                                                          \
    ((__typeof__(b))(((c) & (__typeof__(c))(a)) | (~(c) & (__typeof__(c))(b))))

/* TL_EXTREME(TL_MOST_)(a, b) is the MOST or LEAST below for the key type of an instance
 * (dtype_traits.h). */
#define TL_EXTREME(which) TL_PASTE(TL_PASTE(which, TL_PASTE(TL_SIGN_, TL_KIND)), TL_SIZE)
#define TL_SIGN_1         I
#define TL_SIGN_2         U
#define TL_SIGN_3         I

/* The larger (MOST) and the smaller (LEAST) lanes of two full vectors of 1, 2, 4 or 8 bytes, signed
 * (I) or unsigned (U). TL_HAVE_MOST_n: it is one instruction instead of a compare and a select. */
#if defined(__AVX512F__)
#define TL_INTS(op, a, b) ((__typeof__(a))_mm512_##op((__m512i)(a), (__m512i)(b)))
#define TL_HAVE_MOST_8    1
#elif defined(__AVX2__)
#define TL_INTS(op, a, b) ((__typeof__(a))_mm256_##op((__m256i)(a), (__m256i)(b)))
#endif
#if defined(__SSE2__)
#ifdef TL_INTS /* the sums of the bytes in each 64-bit lane */
#define TL_SUM_BYTES(v) TL_INTS(sad_epu8, v, (v) ^ (v))
#else
#define TL_SUM_BYTES(v) ((__typeof__(v))_mm_sad_epu8((__m128i)(v), _mm_setzero_si128()))
#endif
#endif
#ifdef TL_INTS
#define TL_HAVE_MOST_4    1
#define TL_MOST_I1(a, b)  TL_INTS(max_epi8, a, b)
#define TL_MOST_U1(a, b)  TL_INTS(max_epu8, a, b)
#define TL_LEAST_I1(a, b) TL_INTS(min_epi8, a, b)
#define TL_LEAST_U1(a, b) TL_INTS(min_epu8, a, b)
#define TL_MOST_I2(a, b)  TL_INTS(max_epi16, a, b)
#define TL_MOST_U2(a, b)  TL_INTS(max_epu16, a, b)
#define TL_LEAST_I2(a, b) TL_INTS(min_epi16, a, b)
#define TL_LEAST_U2(a, b) TL_INTS(min_epu16, a, b)
#define TL_MOST_I4(a, b)  TL_INTS(max_epi32, a, b)
#define TL_MOST_U4(a, b)  TL_INTS(max_epu32, a, b)
#define TL_LEAST_I4(a, b) TL_INTS(min_epi32, a, b)
#define TL_LEAST_U4(a, b) TL_INTS(min_epu32, a, b)
#else
#define TL_MOST_I1(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_MOST_U1(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_LEAST_I1(a, b) TL_BLEND((a) < (b), a, b)
#define TL_LEAST_U1(a, b) TL_BLEND((a) < (b), a, b)
#define TL_MOST_I2(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_MOST_U2(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_LEAST_I2(a, b) TL_BLEND((a) < (b), a, b)
#define TL_LEAST_U2(a, b) TL_BLEND((a) < (b), a, b)
#define TL_MOST_I4(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_MOST_U4(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_LEAST_I4(a, b) TL_BLEND((a) < (b), a, b)
#define TL_LEAST_U4(a, b) TL_BLEND((a) < (b), a, b)
#endif
#if TL_HAVE_MOST_8
#define TL_MOST_I8(a, b)  TL_INTS(max_epi64, a, b)
#define TL_MOST_U8(a, b)  TL_INTS(max_epu64, a, b)
#define TL_LEAST_I8(a, b) TL_INTS(min_epi64, a, b)
#define TL_LEAST_U8(a, b) TL_INTS(min_epu64, a, b)
#else
#define TL_MOST_I8(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_MOST_U8(a, b)  TL_BLEND((a) > (b), a, b)
#define TL_LEAST_I8(a, b) TL_BLEND((a) < (b), a, b)
#define TL_LEAST_U8(a, b) TL_BLEND((a) < (b), a, b)
#endif
#endif

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
#pragma once

#include "operator/kernel.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && (defined(__clang__) || __GNUC__ > 14) /* their builtins may differ */
#include <immintrin.h>
#elif defined(__SSE2__) && !defined(_IMMINTRIN_H_INCLUDED) /* what needs more includes it first */
#include "few_intrinsics.h"
#endif

/* TL_COMPACT: the instruction set is that of old machines. Its kernels have no fast paths that save
 * less than half of the time, and share code by calls, so that they are compiled quickly. */
#ifndef TL_COMPACT
#define TL_COMPACT 0
#endif

#if defined(__clang__)
#define TL_UNROLL _Pragma("clang loop unroll(full)")
#define TL_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TL_UNROLL _Pragma("GCC unroll 16")
#define TL_ROLLED _Pragma("GCC unroll 1")
#endif

/* For j = 0 .. n - 1, unrolled. */
#define TL_FOR(j, n) TL_UNROLL for (int j = 0; j < (n); j++)

/* Hides from the compiler how a pointer was computed, so that it does not keep one more pointer for
 * every use of it in a loop: more than there are registers. */
#define TL_HIDDEN(pointer) __asm__("" : "+r"(pointer))

/* The source of lane l, of V lanes in groups of G. There is a second kind of step if V > G. */
#define TL_NEXT(l)  ((l) + 1)
#define TL_EVEN1(l) ((l) / TL_G * TL_G + (l) % (TL_G / 2) * 2 + ((l) % TL_G < TL_G / 2 ? 0 : TL_V))
#define TL_ODD1(l)  (TL_EVEN1(l) + 1)
#define TL_LOW1(l)  ((l) / TL_G * TL_G + (l) % TL_G / 2 + ((l) % 2 ? TL_V : 0))
#define TL_HIGH1(l) (TL_LOW1(l) + TL_G / 2)
#define TL_EVEN2(l) ((l) % (TL_V / 2) / TL_G * 2 * TL_G + (l) % TL_G + ((l) < TL_V / 2 ? 0 : TL_V))
#define TL_ODD2(l)  ((TL_EVEN2(l) + TL_G) % (2 * TL_V))
#define TL_LOW2(l)  ((l) / TL_G / 2 * TL_G + (l) % TL_G + ((l) / TL_G % 2 ? TL_V : 0))
#define TL_HIGH2(l) (TL_LOW2(l) + TL_V / 2)

/* F(0), F(1), .. for the V lanes. */
#define TL_LANES_2(F, l)  F(l), F(l + 1)
#define TL_LANES_4(F, l)  TL_LANES_2(F, l), TL_LANES_2(F, l + 2)
#define TL_LANES_8(F, l)  TL_LANES_4(F, l), TL_LANES_4(F, l + 4)
#define TL_LANES_16(F, l) TL_LANES_8(F, l), TL_LANES_8(F, l + 8)
#define TL_EACH_LANE(F)   TL_PASTE(TL_LANES_, TL_V)(F, 0)

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TL_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define TL_PAIR(a, b) \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif
#endif
#ifndef TL_SHUFFLE /* gcc before 12 */
/* An integer of the size of x. The type of a == a may be a mask, which has no elements. */
#define TL_INTEGER_LIKE(x) \
    __builtin_choose_expr( \
        sizeof(x) == 8, (int64_t)0, \
        __builtin_choose_expr(sizeof(x) == 4, (int32_t)0, \
                              __builtin_choose_expr(sizeof(x) == 2, (int16_t)0, (int8_t)0)))
#define TL_SHUFFLE(a, b, ...) \
    ({ \
        typedef __typeof__(TL_INTEGER_LIKE((a)[0])) places \
            __attribute__((vector_size(sizeof(a)))); \
        __builtin_shuffle(a, b, (places){__VA_ARGS__}); \
    })
#define TL_PAIR(a, b) \
    ({ \
        typedef __typeof__((a)[0]) pair __attribute__((vector_size(2 * sizeof(a)))); \
        const __typeof__(a) halves[] = {a, b}; \
        pair both; \
        memcpy(&both, halves, sizeof both); \
        both; \
    })
#endif

/* near: into the first-level cache, else the second. A constant. */
TL_INLINE void tl_prefetch_line(const void *x, int near)
{
    if (near)
        __builtin_prefetch(x, 0, 3);
    else
        __builtin_prefetch(x, 0, 2);
}

/* Prefetches for a pass over memory that has reached the `bytes` bytes at x, `prefetch_distance`
 * bytes further on (kernel.h). TL_LINES: the lines of that distance, in order. TL_PAGES: while the
 * lines of an aligned 16 KiB (four pages) are read in order, prefetches two lines of each of the
 * next four pages in turn: in the address of a line, bits 13..9 (the row) and 8..7 (the pair)
 * become bits 11..7 and 13..12. A prefetch past the end of an array has no effect. */
TL_INLINE void tl_prefetch_bytes(const void *x, size_t bytes, int64_t prefetch_distance, int way,
                                 int near)
{
    assert(way != TL_PAGES || prefetch_distance % (16 << 10) == 0);
    if (way == TL_LINES) {
        const char *at = (const char *)((uintptr_t)x + (uintptr_t)prefetch_distance);
        TL_UNROLL for (size_t line = 0; line < bytes; line += 64) tl_prefetch_line(at + line, near);
        return;
    }

    /* A power of two, so that x determines the position in the four pages. */
    const size_t unit = bytes < 256 ? bytes : 256;
    TL_UNROLL for (size_t o = 0; o < bytes; o += unit)
    {
        uintptr_t a = ((uintptr_t)x + o) & ~(uintptr_t)(unit - 1);
        a = (a & ~(uintptr_t)0x3fff) + (uintptr_t)prefetch_distance + ((a & 0x180) << 5) +
            ((a & 0x3e00) >> 2) + (a & 64);
        TL_UNROLL for (size_t line = 0; line < unit; line += 64)
            tl_prefetch_line((const char *)a + ((line & 0x180) << 5) + (line & 64), near);
    }
}

/* The same for elements from .. from + count - 1 of `next` (kernel.h), once every 256 bytes.
 * kernel_bytes: of the kernel's own elements; with that size the number of lines is a constant. */
#define TL_PREFETCH_SOME(next, from, count, kernel_bytes, near) \
    do { \
        const int64_t first_ = (from) * (next).bytes, end_ = first_ + (count) * (next).bytes; \
        if ((next).bytes == 0) break; \
        if ((next).bytes != (int64_t)(kernel_bytes)) { \
            for (int64_t o = (first_ + 255) & ~(int64_t)255; o < end_; o += 256) \
                tl_prefetch_bytes((next).at + o, 256, 0, (next).way, near); \
        } else if ((count) * (kernel_bytes) >= 256) { \
            tl_prefetch_bytes((next).at + (from) * (int64_t)(kernel_bytes), \
                              (count) * (kernel_bytes), 0, (next).way, near); \
        } else if ((from) * (int64_t)(kernel_bytes) % 256 == 0) { \
            tl_prefetch_bytes((next).at + (from) * (int64_t)(kernel_bytes), 256, 0, (next).way, \
                              near); \
        } \
    } while (0)

/* Stores a vector of `bytes` bytes with non-temporal stores if the instruction set has them.
 * The caller issues a fence afterwards. */
TL_INLINE void tl_stream_store(void *to, const void *from, size_t bytes)
{
#define TL_STREAM(n, T, store) \
    if (bytes % (n) == 0) { \
        assert((uintptr_t)to % (n) == 0); \
        for (size_t at = 0; at < bytes; at += (n)) { \
            T v; \
            memcpy(&v, (const char *)from + at, n); \
            store((T *)((char *)to + at), v); \
        } \
        return; \
    }
#if defined(__AVX512F__)
    TL_STREAM(64, __m512i, _mm512_stream_si512)
#endif

#if defined(__AVX2__)
    TL_STREAM(32, __m256i, _mm256_stream_si256)
#endif

#if defined(__SSE2__)
    TL_STREAM(16, __m128i, _mm_stream_si128)
#endif
#undef TL_STREAM
    memcpy(to, from, bytes);
}

/* 64 bytes of ones, then 64 bytes of zeros: masks of the first bytes of a vector lie in it. */
__attribute__((unused)) static const uint64_t tl_ones_and_zeros[16] = {
    ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0,
    ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0};

/* Copies bytes at .. end - 1 to `to`, up to the end of its last whole cache line; returns the end
 * of the copied bytes. */
TL_INLINE int64_t tl_copy_lines(char *to, const char *from, int64_t at, int64_t end, int stream)
{
    const int64_t head = -(uintptr_t)(to + at) & 63;
    if (end - at < head + 64) return at;
    if (head) memcpy(to + at, from + at, (size_t)head);
    for (at += head; at + 64 <= end; at += 64)
        if (stream)
            tl_stream_store(to + at, from + at, 64);
        else
            memcpy(to + at, from + at, 64);
    return at;
}

/* Stores one whole cache line of results that are not aligned to lines, but to 4 bytes: the last
 * bytes of the vector `before`, and the first ones of `after`, which belongs at `to`. */
#if defined(__AVX512F__)
#define TL_SHIFTS 1
TL_INLINE void tl_stream_shifted(void *to, const void *before, const void *after)
{
    const int past = (int)((uintptr_t)to % 64);
    typedef int lanes __attribute__((vector_size(64)));
    const lanes from =
        (lanes){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + (16 - past / 4);
    __m512i a, b;

    assert(past % 4 == 0);
    memcpy(&a, before, sizeof a);
    memcpy(&b, after, sizeof b);
    _mm512_stream_si512((__m512i *)((char *)to - past),
                        _mm512_permutex2var_epi32(a, (__m512i)from, b));
}

/* For 64 bytes of floats of 4 or 8 bytes: a * b + c, rounded once. TL_SUBNORMAL_n: is a lane of v
 * subnormal or a NaN? TL_CANON_n: v, and `nan` where it is a NaN. */
#define TL_FUSES          1
#define TL_FMA_4(a, b, c) ((__typeof__(a))_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define TL_FMA_8(a, b, c) ((__typeof__(a))_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define TL_SUBNORMAL_4(v) _mm512_fpclass_ps_mask((__m512)(v), 0xa1)
#define TL_SUBNORMAL_8(v) _mm512_fpclass_pd_mask((__m512d)(v), 0xa1)
#define TL_CANON_4(v, nan) \
    ((__typeof__(v))_mm512_fixupimm_ps((__m512)(nan), (__m512)(v), _mm512_set1_epi32(0x11111100), \
                                       0))
#define TL_CANON_8(v, nan) \
    ((__typeof__(v))_mm512_fixupimm_pd((__m512d)(nan), (__m512d)(v), \
                                       _mm512_set1_epi64(0x11111100), 0))
#else
#define TL_SHIFTS                            0
#define TL_FUSES                             0
#define tl_stream_shifted(to, before, after) ((void)0)
#endif

TL_INLINE void tl_stream_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Lanes of a where mask c is set, of b elsewhere. */
#define TL_BLEND(c, a, b) \
    ((__typeof__(b))(((c) & (__typeof__(c))(a)) | (~(c) & (__typeof__(c))(b))))

/* The intrinsic `op` of full vectors, its types, and the lanes where v or w is a NaN. */
#if defined(__AVX512F__)
#define TL_MM(op)           _mm512_##op
#define TL_MM_PS            __m512
#define TL_MM_PD            __m512d
#define TL_MM_I             __m512i
#define TL_MM_NAN(ps, v, w) _mm512_cmp_##ps##_mask(v, w, _CMP_UNORD_Q)
#elif defined(__AVX2__)
#define TL_MM(op)           _mm256_##op
#define TL_MM_PS            __m256
#define TL_MM_PD            __m256d
#define TL_MM_I             __m256i
#define TL_MM_NAN(ps, v, w) _mm256_cmp_##ps(v, w, _CMP_UNORD_Q)
#elif defined(__SSE2__)
#define TL_MM(op)           _mm_##op
#define TL_MM_PS            __m128
#define TL_MM_PD            __m128d
#define TL_MM_I             __m128i
#define TL_MM_NAN(ps, v, w) _mm_cmpunord_##ps(v, w)
#endif
#define TL_INTRINSIC(op, T, a, b) ((__typeof__(b))TL_MM(op)((T)(a), (T)(b)))

/* The type that collects TL_NAN_n; nonzero if there was a NaN. */
#if defined(__AVX512F__)
#define TL_NANS(vector) unsigned /* a mask register; not converted to a vector */
#else
#define TL_NANS(vector) vector
#endif

/* For op max and min, per float lane, v > m ? v : m and v < m ? v : m. As in maxps and minps, the
 * result is m where v is a NaN or equal to m. TL_NAN_n: is v or w a NaN? */
#define TL_FLOATS(op, bytes, v, m) TL_PASTE(TL_FLOATS_, bytes)(op, v, m)
#ifdef TL_MM
#define TL_FLOATS_4(op, v, m) TL_INTRINSIC(op##_ps, TL_MM_PS, v, m)
#define TL_FLOATS_8(op, v, m) TL_INTRINSIC(op##_pd, TL_MM_PD, v, m)
#define TL_NAN(t, T, v, w)    ((TL_NANS(__typeof__((v) != (v)))) TL_MM_NAN(t, (T)(v), (T)(w)))
#define TL_NAN_4(v, w)        TL_NAN(ps, TL_MM_PS, v, w)
#define TL_NAN_8(v, w)        TL_NAN(pd, TL_MM_PD, v, w)
#else
#define TL_FLOATS_4(op, v, m) TL_SELECT_##op(v, m)
#define TL_FLOATS_8           TL_FLOATS_4
#define TL_NAN_4(v, w)        (((v) != (v)) | ((w) != (w)))
#define TL_NAN_8              TL_NAN_4
#endif

/* The sums of the bytes in each 64-bit lane. */
#ifdef TL_MM
#define TL_SUM_BYTES(v) TL_INTRINSIC(sad_epu8, TL_MM_I, v, (v) ^ (v))
#endif

/* TL_EXTREME(max, a, b), or min: the larger lanes of two full vectors of keys of an instance.
 * TL_HAVE_MOST_n: it is one instruction instead of a compare and a select. */
#define TL_EXTREME(op, a, b)   TL_PASTE(TL_EXTREME_, TL_SIZE)(op, a, b)
#define TL_EXTREME_1(op, a, b) TL_KEYS(op, 8, a, b)
#define TL_EXTREME_2(op, a, b) TL_KEYS(op, 16, a, b)
#define TL_EXTREME_4(op, a, b) TL_KEYS(op, 32, a, b)
#define TL_SELECT_max(a, b)    TL_BLEND((a) > (b), a, b)
#define TL_SELECT_min(a, b)    TL_BLEND((a) < (b), a, b)

#if defined(__AVX2__)
#define TL_HAVE_MOST_4 1
#define TL_KEYS(op, bits, a, b) \
    TL_INTRINSIC(TL_PASTE(op, TL_PASTE(TL_TYPE_, TL_KIND)(bits)), TL_MM_I, a, b)
#define TL_TYPE_1(bits) _epi##bits
#define TL_TYPE_2(bits) _epu##bits
#define TL_TYPE_3       TL_TYPE_1
#else
#define TL_KEYS(op, bits, a, b) TL_SELECT_##op(a, b)
#endif
#if defined(__AVX512F__)
#define TL_HAVE_MOST_8         1
#define TL_EXTREME_8(op, a, b) TL_KEYS(op, 64, a, b)
#else
#define TL_EXTREME_8(op, a, b) TL_SELECT_##op(a, b)
#endif

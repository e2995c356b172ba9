/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set: the loops of narrow.h as tl_narrow_<isa>[]. */
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include "narrow.h"
#include "dtype/dtype_traits.h"
#include "cpu/kernel/simd.h"

/* For SPREAD: the byte, or pair of bytes, that is copied to a whole group. */
enum { FIRST_BYTE = 0x0000, LAST_BYTE = 0x0f0f, FIRST_PAIR = 0x0100, LAST_PAIR = 0x0f0e };
typedef uint8_t vec __attribute__((vector_size(TL_VECTOR_BYTES))); /* a vector of any lanes */

/* Operations on groups of 16 bytes. GROUP_UP, GROUP_DOWN move the bytes of each group and fill with
 * zeros. SPREAD copies one element of a group to all of it. ONE_UP, TWO_UP, ONE_DOWN, TWO_DOWN move
 * whole groups by one or two. LAST_GROUP, FIRST_GROUP copy one group to all. */
#if defined(__AVX512BW__)
#define GROUP_UP(v, n)   ((vec)_mm512_bslli_epi128((__m512i)(v), n))
#define GROUP_DOWN(v, n) ((vec)_mm512_bsrli_epi128((__m512i)(v), n))
#define SPREAD(v, bytes) \
    ((vec)_mm512_shuffle_epi8((__m512i)(v), _mm512_broadcast_i32x4(_mm_set1_epi16((short)(bytes)))))
#define ONE_UP(v)      ((vec)_mm512_alignr_epi64((__m512i)(v), _mm512_setzero_si512(), 6))
#define TWO_UP(v)      ((vec)_mm512_alignr_epi64((__m512i)(v), _mm512_setzero_si512(), 4))
#define ONE_DOWN(v)    ((vec)_mm512_alignr_epi64(_mm512_setzero_si512(), (__m512i)(v), 2))
#define TWO_DOWN(v)    ((vec)_mm512_alignr_epi64(_mm512_setzero_si512(), (__m512i)(v), 4))
#define LAST_GROUP(v)  ((vec)_mm512_shuffle_i64x2((__m512i)(v), (__m512i)(v), 0xff))
#define FIRST_GROUP(v) ((vec)_mm512_shuffle_i64x2((__m512i)(v), (__m512i)(v), 0))
#define GROUPS         4
/* The bytes of v moved up by n = 1, 2, 4, 8, 16, ... bytes (less than a vector), with the last
 * bytes of a before them. */
#define DELAYED(a, v, n) \
    ((n) >= 16 ? (vec)_mm512_alignr_epi64((__m512i)(v), (__m512i)(a), (n) == 16 ? 6 : 4) \
               : (vec)_mm512_alignr_epi8((__m512i)(v), \
                                         _mm512_alignr_epi64((__m512i)(v), (__m512i)(a), 6), \
                                         (n) >= 16 ? 0 : 16 - (n)))
#elif defined(__AVX2__)
#define GROUP_UP(v, n)   ((vec)_mm256_bslli_epi128((__m256i)(v), n))
#define GROUP_DOWN(v, n) ((vec)_mm256_bsrli_epi128((__m256i)(v), n))
#define SPREAD(v, bytes) ((vec)_mm256_shuffle_epi8((__m256i)(v), _mm256_set1_epi16((short)(bytes))))
#define ONE_UP(v)        ((vec)_mm256_permute2x128_si256((__m256i)(v), (__m256i)(v), 0x08))
#define ONE_DOWN(v)      ((vec)_mm256_permute2x128_si256((__m256i)(v), (__m256i)(v), 0x81))
#define LAST_GROUP(v)    ((vec)_mm256_permute2x128_si256((__m256i)(v), (__m256i)(v), 0x11))
#define FIRST_GROUP(v)   ((vec)_mm256_permute2x128_si256((__m256i)(v), (__m256i)(v), 0x00))
#define GROUPS           2
#define DELAYED(a, v, n) \
    ((n) == 16 ? (vec)_mm256_permute2x128_si256((__m256i)(a), (__m256i)(v), 0x21) \
               : (vec)_mm256_alignr_epi8( \
                     (__m256i)(v), _mm256_permute2x128_si256((__m256i)(a), (__m256i)(v), 0x21), \
                     (n) >= 16 ? 0 : 16 - (n)))
#else
#define FROM(a, b, n) \
    TL_SHUFFLE(a, b, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, \
               n + 11, n + 12, n + 13, n + 14, n + 15)
#if defined(__SSE2__)
#define GROUP_UP(v, n)   ((vec)_mm_slli_si128((__m128i)(v), n))
#define GROUP_DOWN(v, n) ((vec)_mm_srli_si128((__m128i)(v), n))
#define DELAYED(a, v, n) (GROUP_UP(v, n) | GROUP_DOWN(a, 16 - (n)))
#else
#define GROUP_UP(v, n)   FROM((vec){0}, (vec)(v), 16 - (n))
#define GROUP_DOWN(v, n) FROM((vec)(v), (vec){0}, n)
#define DELAYED(a, v, n) FROM((vec)(a), (vec)(v), 16 - (n))
#endif
#if defined(__SSE2__) /* SSE2 has no shuffle of bytes */
#define SPREAD(v, bytes) \
    ((vec)((bytes) == LAST_BYTE    ? SPREAD_HIGH(_mm_unpackhi_epi8((__m128i)(v), (__m128i)(v))) \
           : (bytes) == FIRST_BYTE ? SPREAD_LOW(_mm_unpacklo_epi8((__m128i)(v), (__m128i)(v))) \
           : (bytes) == LAST_PAIR  ? SPREAD_HIGH((__m128i)(v)) \
                                   : SPREAD_LOW((__m128i)(v))))
#define SPREAD_HIGH(v) _mm_shuffle_epi32(_mm_shufflehi_epi16(v, 0xff), 0xff)
#define SPREAD_LOW(v)  _mm_shuffle_epi32(_mm_shufflelo_epi16(v, 0), 0)
#else
#define PAIRS(v, l, h)   TL_SHUFFLE(v, v, l, h, l, h, l, h, l, h, l, h, l, h, l, h, l, h)
#define SPREAD(v, bytes) PAIRS((vec)(v), (bytes)&0xff, (bytes) >> 8)
#endif
#define LAST_GROUP(v)  (v)
#define FIRST_GROUP(v) (v)
#define GROUPS         1
#endif

/* The larger lanes of bytes and of 16 bits. */
#if defined(__AVX2__)
#define MOST_1(a, b) TL_INTRINSIC(max_epu8, TL_MM_I, a, b)
#define MOST_2(a, b) TL_INTRINSIC(max_epu16, TL_MM_I, a, b)
#elif defined(__SSE2__)
#define MOST_1(a, b) TL_INTRINSIC(max_epu8, TL_MM_I, a, b)
#define MOST_2(a, b) \
    ((__typeof__(a))_mm_add_epi16((__m128i)(b), _mm_subs_epu16((__m128i)(a), (__m128i)(b))))
#else
#define MOST_1(a, b) TL_SELECT_max(a, b)
#define MOST_2(a, b) TL_SELECT_max(a, b)
#endif

/* Load, store and keep (the others become 0) the first `bytes` < TL_VECTOR_BYTES bytes of a vector.
 * Without masks loads and stores go word by word, which is faster than a memcpy into a buffer. */
#if defined(__AVX512BW__)
TL_INLINE vec load_raw(const void *x, int64_t bytes)
{
    return (vec)_mm512_maskz_loadu_epi8(((__mmask64)1 << bytes) - 1, x);
}

TL_INLINE void store_raw(void *to, vec v, int64_t bytes)
{
    _mm512_mask_storeu_epi8(to, ((__mmask64)1 << bytes) - 1, (__m512i)v);
}

TL_INLINE vec first_bytes(vec v, int64_t bytes)
{
    return (vec)_mm512_maskz_mov_epi8(((__mmask64)1 << bytes) - 1, (__m512i)v);
}
#else
typedef uint64_t pair __attribute__((vector_size(16)));

TL_INLINE uint64_t word_at(const char *x)
{
    uint64_t w;
    memcpy(&w, x, sizeof w);
    return w;
}

TL_INLINE uint64_t half_at(const char *x)
{
    uint32_t w;
    memcpy(&w, x, sizeof w);
    return w;
}

TL_INLINE uint64_t byte_at(const char *x, int64_t i) { return (uint64_t)(uint8_t)x[i] << 8 * i; }

/* Up to 7 bytes. Bytes may be read twice. */
TL_INLINE uint64_t load_tail(const char *x, int64_t bytes)
{
    if (bytes >= 4) return half_at(x) | half_at(x + bytes - 4) << 8 * (bytes - 4);
    return bytes ? byte_at(x, 0) | byte_at(x, bytes / 2) | byte_at(x, bytes - 1) : 0;
}

TL_INLINE pair load_pair(const char *x, int64_t bytes)
{
    if (bytes < 8) return (pair){load_tail(x, bytes), 0};
    return (pair){word_at(x), load_tail(x + 8, bytes - 8)};
}

TL_INLINE void store_pair(char *to, pair v, int64_t bytes)
{
    uint64_t w = v[0];
    if (bytes & 8) memcpy(to, &w, 8), to += 8, w = v[1];
    if (bytes & 4) memcpy(to, &w, 4), to += 4, w >>= 32;
    if (bytes & 2) memcpy(to, &w, 2), to += 2, w >>= 16;
    if (bytes & 1) *to = (char)w;
}

TL_INLINE vec load_raw(const void *x, int64_t bytes)
{
#if defined(__AVX2__)
    const char *at = x;
    if (bytes < 16) return (vec)_mm256_zextsi128_si256((__m128i)load_pair(at, bytes));
    return (vec)_mm256_set_m128i((__m128i)load_pair(at + 16, bytes - 16), _mm_loadu_si128(x));
#else
    return (vec)load_pair(x, bytes);
#endif
}

TL_INLINE void store_raw(void *to, vec v, int64_t bytes)
{
#if defined(__AVX2__)
    pair low = (pair)_mm256_castsi256_si128((__m256i)v);
    char *at = to;

    if (bytes & 16)
        memcpy(at, &low, 16), at += 16, low = (pair)_mm256_extracti128_si256((__m256i)v, 1);
    store_pair(at, low, bytes);
#else
    store_pair(to, (pair)v, bytes);
#endif
}

TL_INLINE vec first_bytes(vec v, int64_t bytes)
{
    vec mask;
    memcpy(&mask, (const char *)tl_ones_and_zeros + 64 - bytes, sizeof mask);
    return v & mask;
}
#endif

/* The largest byte, or pair of bytes, of a group of 16. */
#if defined(__SSE4_1__)
TL_INLINE unsigned most_of_16(__m128i v, int bytes)
{
    const __m128i all = _mm_set1_epi8(-1);
    v = _mm_xor_si128(v, all); /* there is an instruction for the smallest of 8 pairs */
    if (bytes == 1) v = _mm_min_epu8(v, _mm_srli_epi16(v, 8));
    return ~(unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(v)) & (bytes == 1 ? 0xff : 0xffff);
}
#endif

/* Stores the first element, of `to` bytes, of every `from` bytes of v in y. from is 2, 4 or 8. */
TL_INLINE void put_firsts(void *y, vec v, int from, int to)
{
#if defined(__AVX512BW__)
    const __m512i w = (__m512i)v;

    if (from == 8 && to == 1) _mm_storel_epi64(y, _mm512_cvtepi64_epi8(w));
    if (from == 8 && to == 2) _mm_storeu_si128(y, _mm512_cvtepi64_epi16(w));
    if (from == 4 && to == 1) _mm_storeu_si128(y, _mm512_cvtepi32_epi8(w));
    if (from == 4 && to == 2) _mm256_storeu_si256(y, _mm512_cvtepi32_epi16(w));
    if (from == 2) _mm256_storeu_si256(y, _mm512_cvtepi16_epi8(w));
#else
    TL_FOR(i, TL_VECTOR_BYTES / from)
        memcpy((char *)y + i * to, (const char *)&v + i * from, (size_t)to);
#endif
}

/* Prefetches so many bytes, 4 KiB after x. */
TL_INLINE void prefetch_after(const void *x, size_t bytes)
{
    for (size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch((const void *)((uintptr_t)x + 4096 + line), 0, 3);
}

#define T          uint8_t
#define HALVES     0
#define N(name)    TL_CAT(name, _bytes)
#define MOST(a, b) MOST_1(a, b)
#define LAST       LAST_BYTE
#define FIRST      FIRST_BYTE
#include "narrow_kernel.h"

#define T          uint16_t
#define HALVES     0
#define N(name)    TL_CAT(name, _shorts)
#define MOST(a, b) MOST_2(a, b)
#define LAST       LAST_PAIR
#define FIRST      FIRST_PAIR
#include "narrow_kernel.h"

#define T          uint16_t
#define HALVES     1
#define N(name)    TL_CAT(name, _halves)
#define MOST(a, b) MOST_2(a, b)
#define LAST       LAST_PAIR
#define FIRST      FIRST_PAIR
#include "narrow_kernel.h"

#define ROW(kind) \
    { \
        TL_CAT(window_, kind), TL_CAT(scan_, kind), TL_CAT(fold_rows_, kind), \
            TL_CAT(scan_rows_, kind), TL_CAT(columns_, kind), TL_CAT(column_windows_, kind), \
            TL_CAT(values_, kind) \
    }

const tl_narrow TL_CAT(tl_narrow_, TL_ISA)[] = {ROW(bytes), ROW(shorts), ROW(halves)};

/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set as tl_transpose_<isa>: copies sequences into a matrix whose
 * rows hold the elements of one index, and back. Blocks of H sequences and H elements are
 * transposed in registers: step s swaps bit s of the vector number with bit s of the lane.
 *
 *   a0 a1 a2 a3        a0 b0 a2 b2        a0 b0 c0 d0
 *   b0 b1 b2 b3   s=0  a1 b1 a3 b3   s=1  a1 b1 c1 d1
 *   c0 c1 c2 c3  ----> c0 d0 c2 d2  ----> a2 b2 c2 d2
 *   d0 d1 d2 d3        c1 d1 c3 d3        a3 b3 c3 d3
 *
 * With 16 lanes a vector holds 8 elements of two sequences, so sequences of 8 elements fill it. */
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include "dtype/dtype_traits.h"
#include "operator/kernel.h"
#include "cpu/kernel/simd.h"

/* The source of lane l of the first and of the second vector after step s, for vectors of n
 * lanes. */
#define FIRST(s, n, l)     ((l) >> (s)&1 ? (n) + (l) - (1 << (s)) : (l))
#define SECOND(s, n, l)    ((l) >> (s)&1 ? (n) + (l) : (l) + (1 << (s)))
#define LANES2(F, s, b, l) F(s, b, l), F(s, b, l + 1)
#define LANES4(F, s, b, l) LANES2(F, s, b, l), LANES2(F, s, b, l + 2)
#define LANES8(F, s, b, l) LANES4(F, s, b, l), LANES4(F, s, b, l + 4)
#define ALL2(F, s)         LANES2(F, s, 2, 0)
#define ALL4(F, s)         LANES4(F, s, 4, 0)
#define ALL8(F, s)         LANES8(F, s, 8, 0)
#define ALL16(F, s)        LANES8(F, s, 16, 0), LANES8(F, s, 16, 8)

/* Step s on H vectors. */
#define STEP(v, H, all, s) \
    TL_FOR(j, H) \
        if (!(j >> (s)&1)) { \
            const __typeof__(v[0]) a = v[j], b = v[j | 1 << (s)]; \
            v[j] = TL_SHUFFLE(a, b, all(FIRST, s)); \
            v[j | 1 << (s)] = TL_SHUFFLE(a, b, all(SECOND, s)); \
        }

typedef uint32_t v4 __attribute__((vector_size(TL_VECTOR_BYTES)));
typedef uint64_t v8 __attribute__((vector_size(TL_VECTOR_BYTES)));

#if TL_VECTOR_BYTES == 64
/* H: elements of a block; PER: sequences of a block */
enum { H4 = 8, PER4 = 16, H8 = 8, PER8 = 8 };
#define STEPS4(v) STEP(v, 8, ALL16, 0) STEP(v, 8, ALL16, 1) STEP(v, 8, ALL16, 2)
#define STEPS8(v) STEP(v, 8, ALL8, 0) STEP(v, 8, ALL8, 1) STEP(v, 8, ALL8, 2)
#elif TL_VECTOR_BYTES == 32
enum { H4 = 8, PER4 = 8, H8 = 4, PER8 = 4 };
#define STEPS4(v) STEP(v, 8, ALL8, 0) STEP(v, 8, ALL8, 1) STEP(v, 8, ALL8, 2)
#define STEPS8(v) STEP(v, 4, ALL4, 0) STEP(v, 4, ALL4, 1)
#else
enum { H4 = 4, PER4 = 4, H8 = 2, PER8 = 2 };
#define STEPS4(v) STEP(v, 4, ALL4, 0) STEP(v, 4, ALL4, 1)
#define STEPS8(v) STEP(v, 2, ALL2, 0)
#endif

/* Sequence c of s, which has a list if `listed`. */
#define AT(listed, s, c) ((listed) ? (s).list[c] : (s).first + (c) * (s).pitch)

/* Vector j of a block: from sequence c + j and, with 16 lanes, also from sequence c + j + 8. */
TL_INLINE v4 get4(int listed, tl_origins s, int64_t c, int64_t at)
{
#if TL_VECTOR_BYTES == 64
    const __m256i low = _mm256_loadu_si256((const __m256i *)(AT(listed, s, c) + at)),
                  high = _mm256_loadu_si256((const __m256i *)(AT(listed, s, c + 8) + at));

    return (v4)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    v4 v;
    memcpy(&v, AT(listed, s, c) + at, sizeof v);
    return v;
#endif
}

TL_INLINE v8 get8(int listed, tl_origins s, int64_t c, int64_t at)
{
    v8 v;
    memcpy(&v, AT(listed, s, c) + at, sizeof v);
    return v;
}

/* Store elements at, at + 1, ... of sequence c, at most H and before the sequence's end, which is
 * `most` without a list. */
#define END(c) (listed ? s.n[c] : most)
#if TL_VECTOR_BYTES == 64
/* The lanes before the end. Lengths are random, so there is no branch. */
TL_INLINE __mmask8 lanes_before(int64_t end, int64_t at)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32_mask(_mm256_set1_epi32((int)end),
                                   _mm256_add_epi32(lane, _mm256_set1_epi32((int)at)));
}

TL_INLINE void put4(int listed, tl_targets s, int64_t c, int64_t at, int64_t most, v4 v)
{
    _mm256_mask_storeu_epi32(AT(listed, s, c) + at * 4, lanes_before(END(c), at),
                             _mm512_castsi512_si256((__m512i)v));
    _mm256_mask_storeu_epi32(AT(listed, s, c + 8) + at * 4, lanes_before(END(c + 8), at),
                             _mm512_extracti64x4_epi64((__m512i)v, 1));
}

TL_INLINE void put8(int listed, tl_targets s, int64_t c, int64_t at, int64_t most, v8 v)
{
    _mm512_mask_storeu_epi64(AT(listed, s, c) + at * 8, lanes_before(END(c), at), (__m512i)v);
}
#else
#define LEFT(c) (END(c) - at)
#define PUT(bytes) \
    TL_INLINE void put##bytes(int listed, tl_targets s, int64_t c, int64_t at, int64_t most, \
                              v##bytes v) \
    { \
        char *to = AT(listed, s, c) + at * bytes; \
        if (LEFT(c) >= H##bytes) \
            memcpy(to, &v, sizeof v); \
        else \
            for (int64_t i = 0; i < LEFT(c); i++) \
                memcpy(to + i * bytes, (const char *)&v + i * bytes, bytes); \
    }
PUT(4)
PUT(8)
#undef PUT
#endif

/* Compiled for lists and for pitches. */
#define LOOPS(size) \
    TL_INLINE void to##size(const tl_matrix m, const tl_origins s, int listed, int64_t n, \
                            tl_prefetch next) \
    { \
        const int64_t blocks = m.lanes / PER##size * ((n + H##size - 1) / H##size), \
                      share = next.bytes / (blocks + 1); \
        int64_t asked = 0, ask = 0; \
        for (int64_t c = 0; c < m.lanes; c += PER##size) \
            for (int64_t at = 0; at < n; at += H##size) { \
                for (ask += share; asked < ask; asked += 64) \
                    __builtin_prefetch((const void *)((uintptr_t)next.at + (uintptr_t)asked), 0, \
                                       2); \
                v##size v[H##size]; \
                TL_FOR(j, H##size) v[j] = get##size(listed, s, c + j, at * size); \
                STEPS##size(v) TL_FOR(j, H##size) \
                    memcpy((char *)m.t + ((at + j) * m.stride + c) * size, &v[j], sizeof v[j]); \
            } \
    } \
    TL_INLINE void from##size(const tl_targets s, const tl_matrix m, int listed, int64_t most) \
    { \
        for (int64_t c = 0; c < m.lanes; c += PER##size) \
            for (int64_t at = 0; at < most; at += H##size) { \
                v##size v[H##size]; \
                TL_FOR(j, H##size) \
                    memcpy(&v[j], (char *)m.t + ((at + j) * m.stride + c) * size, sizeof v[j]); \
                STEPS##size(v) TL_FOR(j, H##size) put##size(listed, s, c + j, at, most, v[j]); \
            } \
    } \
    static void to_lanes##size(const tl_matrix *m, const tl_origins *s, int64_t n, \
                               tl_prefetch next) \
    { \
        if (s->list) \
            to##size(*m, *s, 1, n, next); \
        else \
            to##size(*m, *s, 0, n, next); \
    } \
    static void from_lanes##size(const tl_targets *s, const tl_matrix *m, int64_t most) \
    { \
        if (s->list) \
            from##size(*s, *m, 1, most); \
        else \
            from##size(*s, *m, 0, most); \
    }
LOOPS(4)
LOOPS(8)

/* Sequences of n elements without gaps. Compilers make shuffles of this loop for constants n and
 * bytes. */
TL_INLINE int copy_rows(tl_matrix m, char *restrict rows, int n, int bytes, int back)
{
    for (int64_t c = 0; c < m.lanes; c++)
        for (int j = 0; j < n; j++) {
            char *const lane = (char *)m.t + (j * m.stride + c) * bytes;
            char *const row = rows + (c * n + j) * bytes;
            memcpy(back ? row : lane, back ? lane : row, (size_t)bytes);
        }
    return 1;
}

/* Returns 0 for other lengths, and where there are gaps. */
TL_INLINE int copy_short_rows(const tl_matrix *m, char *rows, int64_t pitch, int64_t n, int back)
{
#define IS(k, size) \
    (n == k && pitch == k * size && m->bytes == size && copy_rows(*m, rows, k, size, back))
    return IS(2, 4) || IS(3, 4) || IS(4, 4) || IS(2, 8) || IS(3, 8) || IS(4, 8);
#undef IS
}

static void to_lanes(const tl_matrix *m, const tl_origins *s, int64_t n, tl_prefetch next)
{
    const int64_t bytes = m->bytes;
    assert(m->lanes % TL_ABREAST == 0 && m->lanes <= m->stride);
    if (!s->list && copy_short_rows(m, (char *)s->first, s->pitch, n, 0)) {
        for (int64_t line = 0; line < next.bytes; line += 64)
            __builtin_prefetch((const void *)((uintptr_t)next.at + (uintptr_t)line), 0, 2);
    } else if (bytes == 4)
        to_lanes4(m, s, n, next);
    else if (bytes == 8)
        to_lanes8(m, s, n, next);
    else
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < m->lanes; c++)
                memcpy((char *)m->t + (j * m->stride + c) * bytes, AT(s->list, *s, c) + j * bytes,
                       (size_t)bytes);
}

static void from_lanes(const tl_targets *s, const tl_matrix *m, int64_t most)
{
    const int64_t bytes = m->bytes;
    assert(m->lanes % TL_ABREAST == 0 && m->lanes <= m->stride);
    if (!s->list && copy_short_rows(m, s->first, s->pitch, most, 1)) return;
    if (bytes == 4)
        from_lanes4(s, m, most);
    else if (bytes == 8)
        from_lanes8(s, m, most);
    else
        for (int64_t c = 0; c < m->lanes; c++)
            for (int64_t j = 0; j < (s->list ? s->n[c] : most); j++)
                memcpy(AT(s->list, *s, c) + j * bytes,
                       (const char *)m->t + (j * m->stride + c) * bytes, (size_t)bytes);
}

const tl_transpose TL_CAT(tl_transpose_, TL_ISA) = {to_lanes, from_lanes};

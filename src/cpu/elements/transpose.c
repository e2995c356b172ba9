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
#define STEP(v, H, all, s)                                                                         \
    TL_UNROLL for (int j = 0; j < (H); j++) if (!(j >> (s)&1))                                     \
    {                                                                                              \
        const __typeof__(v[0]) a = v[j], b = v[j | 1 << (s)];                                      \
        v[j] = TL_SHUFFLE(a, b, all(FIRST, s));                                                    \
        v[j | 1 << (s)] = TL_SHUFFLE(a, b, all(SECOND, s));                                        \
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

/* Sequence c: from a list, or `pitch` bytes after the previous one. */
#define AT(list, first, pitch, c) ((list) ? (list)[c] : (first) + (c) * (pitch))

/* Vector j of a block: from sequence c + j and, with 16 lanes, also from sequence c + j + 8. */
TL_INLINE v4 get4(const char *const *p, const char *x, int64_t pitch, int64_t c, int64_t at)
{
#if TL_VECTOR_BYTES == 64
    const __m256i low = _mm256_loadu_si256((const __m256i *)(AT(p, x, pitch, c) + at)),
                  high = _mm256_loadu_si256((const __m256i *)(AT(p, x, pitch, c + 8) + at));
    return (v4)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
    v4 v;
    memcpy(&v, AT(p, x, pitch, c) + at, sizeof v);
    return v;
#endif
}
TL_INLINE v8 get8(const char *const *p, const char *x, int64_t pitch, int64_t c, int64_t at)
{
    v8 v;
    memcpy(&v, AT(p, x, pitch, c) + at, sizeof v);
    return v;
}

/* Store the first `left` elements of v, at most H. */
#if TL_VECTOR_BYTES == 64
/* Lengths are random, so there is no branch. */
TL_INLINE __mmask8 first_of(int64_t left) { return (__mmask8)((1u << (left < 0 ? 0 : left)) - 1); }
TL_INLINE void put_half(char *q, int64_t left, __m256i v)
{
    if (left >= H4)
        _mm256_storeu_si256((__m256i *)q, v);
    else
        _mm256_mask_storeu_epi32(q, first_of(left), v);
}
TL_INLINE void put4(char *const *q, const int64_t *n, char *y, int64_t pitch, int64_t c, int64_t at,
                    int64_t left, v4 v)
{
    put_half(AT(q, y, pitch, c) + at * 4, n ? n[c] - at : left, _mm512_castsi512_si256((__m512i)v));
    put_half(AT(q, y, pitch, c + 8) + at * 4, n ? n[c + 8] - at : left,
             _mm512_extracti64x4_epi64((__m512i)v, 1));
}
TL_INLINE void put8(char *const *q, const int64_t *n, char *y, int64_t pitch, int64_t c, int64_t at,
                    int64_t left, v8 v)
{
    if (n) left = n[c] - at;
    if (left >= H8)
        memcpy(AT(q, y, pitch, c) + at * 8, &v, sizeof v);
    else
        _mm512_mask_storeu_epi64(AT(q, y, pitch, c) + at * 8, first_of(left), (__m512i)v);
}
#else
#define PUT(bytes)                                                                                 \
    TL_INLINE void put##bytes(char *const *q, const int64_t *n, char *y, int64_t pitch, int64_t c, \
                              int64_t at, int64_t left, v##bytes v)                                \
    {                                                                                              \
        char *to = AT(q, y, pitch, c) + at * bytes;                                                \
        if (n) left = n[c] - at;                                                                   \
        if (left >= H##bytes)                                                                      \
            memcpy(to, &v, sizeof v);                                                              \
        else                                                                                       \
            for (int64_t i = 0; i < left; i++)                                                     \
                memcpy(to + i * bytes, (const char *)&v + i * bytes, bytes);                       \
    }
PUT(4)
PUT(8)
#undef PUT
#endif

#define ROADS(size)                                                                                \
    TL_INLINE void to##size(char *t, int64_t stride, const char *const *p, const char *x,          \
                            int64_t pitch, int64_t lanes, int64_t n, tl_next next)                 \
    {                                                                                              \
        const int64_t blocks = lanes / PER##size * ((n + H##size - 1) / H##size),                  \
                      share = next.bytes / (blocks + 1);                                           \
        int64_t asked = 0, ask = 0;                                                                \
        for (int64_t c = 0; c < lanes; c += PER##size)                                             \
            for (int64_t at = 0; at < n; at += H##size) {                                          \
                for (ask += share; asked < ask; asked += 64)                                       \
                    __builtin_prefetch((const void *)((uintptr_t)next.at + (uintptr_t)asked), 0,   \
                                       2);                                                         \
                v##size v[H##size];                                                                \
                TL_UNROLL for (int j = 0; j < H##size; j++) v[j] =                                 \
                    get##size(p, x, pitch, c + j, at * size);                                      \
                STEPS##size(v) TL_UNROLL for (int j = 0; j < H##size; j++)                         \
                    memcpy(t + ((at + j) * stride + c) * size, &v[j], sizeof v[j]);                \
            }                                                                                      \
    }                                                                                              \
    TL_INLINE void from##size(char *const *q, const int64_t *n, char *y, int64_t pitch,            \
                              const char *t, int64_t stride, int64_t lanes, int64_t most)          \
    {                                                                                              \
        for (int64_t c = 0; c < lanes; c += PER##size)                                             \
            for (int64_t at = 0; at < most; at += H##size) {                                       \
                v##size v[H##size];                                                                \
                TL_UNROLL for (int j = 0; j < H##size; j++)                                        \
                    memcpy(&v[j], t + ((at + j) * stride + c) * size, sizeof v[j]);                \
                STEPS##size(v) TL_UNROLL for (int j = 0; j < H##size; j++)                         \
                    put##size(q, n, y, pitch, c + j, at, most - at, v[j]);                         \
            }                                                                                      \
    }                                                                                              \
    static void to_lanes##size(char *t, int64_t stride, const char *const *p, const char *x,       \
                               int64_t pitch, int64_t lanes, int64_t n, tl_next next)              \
    {                                                                                              \
        if (p)                                                                                     \
            to##size(t, stride, p, NULL, 0, lanes, n, next);                                       \
        else                                                                                       \
            to##size(t, stride, NULL, x, pitch, lanes, n, next);                                   \
    }                                                                                              \
    static void from_lanes##size(char *const *q, const int64_t *n, char *y, int64_t pitch,         \
                                 const char *t, int64_t stride, int64_t lanes, int64_t most)       \
    {                                                                                              \
        if (q)                                                                                     \
            from##size(q, n, NULL, 0, t, stride, lanes, most);                                     \
        else                                                                                       \
            from##size(NULL, NULL, y, pitch, t, stride, lanes, most);                              \
    }
ROADS(4)
ROADS(8)

static void to_lanes(void *t, int64_t stride, const char *const *p, const char *x, int64_t pitch,
                     int64_t lanes, int64_t n, int bytes, tl_next next)
{
    if (bytes == 4)
        to_lanes4(t, stride, p, x, pitch, lanes, n, next);
    else if (bytes == 8)
        to_lanes8(t, stride, p, x, pitch, lanes, n, next);
    else
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < lanes; c++)
                memcpy((char *)t + (j * stride + c) * bytes, AT(p, x, pitch, c) + j * bytes,
                       (size_t)bytes);
}

static void from_lanes(char *const *q, const int64_t *n, char *y, int64_t pitch, const void *t,
                       int64_t stride, int64_t lanes, int64_t most, int bytes)
{
    if (bytes == 4)
        from_lanes4(q, n, y, pitch, t, stride, lanes, most);
    else if (bytes == 8)
        from_lanes8(q, n, y, pitch, t, stride, lanes, most);
    else
        for (int64_t c = 0; c < lanes; c++)
            for (int64_t j = 0; j < (q ? n[c] : most); j++)
                memcpy(AT(q, y, pitch, c) + j * bytes, (const char *)t + (j * stride + c) * bytes,
                       (size_t)bytes);
}

const tl_transpose TL_CAT(tl_transpose_, TL_ISA) = {to_lanes, from_lanes};

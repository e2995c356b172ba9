/* SPDX-License-Identifier: MIT
 * The part of <immintrin.h> that simd.h needs, from the builtins of gcc, which takes 0.1 to 0.4 s
 * to read the real header: up to half of the time to compile an operator. */
#define FEW(T)    static inline __attribute__((always_inline, unused)) T
#define FEW_OF(n) __attribute__((vector_size(n), may_alias))
#define FEW_TYPES(n, i, s, d) \
    typedef float s FEW_OF(n); \
    typedef double d FEW_OF(n); \
    typedef char few_8_##n FEW_OF(n); \
    typedef short few_16_##n FEW_OF(n); \
    typedef int few_32_##n FEW_OF(n); \
    typedef long long i FEW_OF(n), few_64_##n FEW_OF(n);
FEW_TYPES(16, __m128i, __m128, __m128d)
FEW_TYPES(32, __m256i, __m256, __m256d)
FEW_TYPES(64, __m512i, __m512, __m512d)

/* The non-temporal store. */
#define FEW_STREAM(name, T, builtin) \
    FEW(void) name(T *to, T v) { builtin(to, v); }

/* Of two vectors of T, which the builtin knows as V. More arguments of the builtin follow. */
#define FEW_TWO(name, T, V, builtin, ...) \
    FEW(T) name(T a, T b) { return (T)builtin((V)a, (V)b __VA_ARGS__); }
#define FEW_MOST(F, ...) F(max, __VA_ARGS__) F(min, __VA_ARGS__)
/* F(max or min, type, how a builtin calls it, its vector of n bytes) */
#define FEW_INTS(F, bits, n, s, u) \
    FEW_MOST(F, epi##bits, s, few_##bits##_##n) FEW_MOST(F, epu##bits, u, few_##bits##_##n)

FEW(void) _mm_sfence(void) { __builtin_ia32_sfence(); }
FEW_STREAM(_mm_stream_si128, __m128i, __builtin_ia32_movntdq)
FEW_TWO(_mm_sad_epu8, __m128i, few_8_16, __builtin_ia32_psadbw128)

#define FEW_128(op, t, T) FEW_TWO(_mm_##op##_##t, T, T, __builtin_ia32_##op##t)
FEW_MOST(FEW_128, ps, __m128)
FEW_MOST(FEW_128, pd, __m128d)
FEW_128(cmpunord, ps, __m128)
FEW_128(cmpunord, pd, __m128d)

#if defined(__AVX2__)
FEW_STREAM(_mm256_stream_si256, __m256i, __builtin_ia32_movntdq256)
#define FEW_256(op, t, T) FEW_TWO(_mm256_##op##_##t, T, T, __builtin_ia32_##op##t##256)
FEW_MOST(FEW_256, ps, __m256)
FEW_MOST(FEW_256, pd, __m256d)
#define _CMP_UNORD_Q             3
#define _mm256_cmp_ps(a, b, how) __builtin_ia32_cmpps256(a, b, how)
#define _mm256_cmp_pd(a, b, how) __builtin_ia32_cmppd256(a, b, how)
FEW_TWO(_mm256_sad_epu8, __m256i, few_8_32, __builtin_ia32_psadbw256)
#define FEW_INT_256(op, t, b, V) \
    FEW_TWO(_mm256_##op##_##t, __m256i, V, __builtin_ia32_p##op##b##256)
FEW_INTS(FEW_INT_256, 8, 32, sb, ub)
FEW_INTS(FEW_INT_256, 16, 32, sw, uw)
FEW_INTS(FEW_INT_256, 32, 32, sd, ud)
#endif

#if defined(__AVX512F__)
FEW_STREAM(_mm512_stream_si512, __m512i, __builtin_ia32_movntdq512)
FEW_TWO(_mm512_sad_epu8, __m512i, few_8_64, __builtin_ia32_psadbw512)
#define FEW_512(op, t, T) \
    FEW_TWO(_mm512_##op##_##t, T, T, __builtin_ia32_##op##t##512_mask, , (T){0}, -1, 4)
FEW_MOST(FEW_512, ps, __m512)
FEW_MOST(FEW_512, pd, __m512d)
#define FEW_INT_512(op, t, b, V) \
    FEW_TWO(_mm512_##op##_##t, __m512i, V, __builtin_ia32_p##op##b##512_mask, , (V){0}, -1)
FEW_INTS(FEW_INT_512, 8, 64, sb, ub)
FEW_INTS(FEW_INT_512, 16, 64, sw, uw)
FEW_INTS(FEW_INT_512, 32, 64, sd, ud)
FEW_INTS(FEW_INT_512, 64, 64, sq, uq)

#define _mm512_cmp_ps_mask(a, b, how)      __builtin_ia32_cmpps512_mask(a, b, how, -1, 4)
#define _mm512_cmp_pd_mask(a, b, how)      __builtin_ia32_cmppd512_mask(a, b, how, -1, 4)
#define _mm512_fpclass_ps_mask(a, classes) __builtin_ia32_fpclassps512_mask(a, classes, -1)
#define _mm512_fpclass_pd_mask(a, classes) __builtin_ia32_fpclasspd512_mask(a, classes, -1)
#define _mm512_set1_epi32(i)               ((__m512i)((few_32_64){0} + (i)))
#define _mm512_set1_epi64(i)               ((__m512i){0} + (i))
#define _mm512_fixupimm_ps(a, b, table, flags) \
    __builtin_ia32_fixupimmps512_mask(a, b, (few_32_64)(table), flags, -1, 4)
#define _mm512_fixupimm_pd(a, b, table, flags) \
    __builtin_ia32_fixupimmpd512_mask(a, b, (few_64_64)(table), flags, -1, 4)
#define _mm512_fmadd_ps(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define _mm512_fmadd_pd(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4)
#define _mm512_permutex2var_epi32(a, from, b) \
    ((__m512i)__builtin_ia32_vpermt2vard512_mask((few_32_64)(from), (few_32_64)(a), \
                                                 (few_32_64)(b), -1))
#endif

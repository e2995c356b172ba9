/* SPDX-License-Identifier: MIT
 * The part of <immintrin.h> that the kernels of most users' operators need, from compiler builtins.
 * cpu/user/user.c includes it instead, because gcc 12 needs 0.3 s to read the real header, a third
 * of the time to compile such an operator. The fast paths of cpu/kernel/class_x_kernel.h need the
 * real one. */
typedef long long __m128i __attribute__((vector_size(16), may_alias));
typedef long long __m256i __attribute__((vector_size(32), may_alias));
typedef long long __m512i __attribute__((vector_size(64), may_alias));
#if defined(__clang__)
#define FEW_STREAM(name, builtin, T) \
    static inline void name(T *to, T v) { __builtin_nontemporal_store(v, to); }
#else
#define FEW_STREAM(name, builtin, T) \
    static inline void name(T *to, T v) { builtin((T *)to, v); }
#endif
#define FEW_LOAD(name, T) \
    static inline T name(const void *p) \
    { \
        T v; \
        __builtin_memcpy(&v, p, sizeof v); \
        return v; \
    }
FEW_LOAD(_mm_loadu_si128, __m128i)
FEW_STREAM(_mm_stream_si128, __builtin_ia32_movntdq, __m128i)
#if defined(__AVX__)
FEW_LOAD(_mm256_loadu_si256, __m256i)
FEW_STREAM(_mm256_stream_si256, __builtin_ia32_movntdq256, __m256i)
#endif
#if defined(__AVX512F__)
FEW_LOAD(_mm512_loadu_si512, __m512i)
FEW_STREAM(_mm512_stream_si512, __builtin_ia32_movntdq512, __m512i)
#endif

static inline void _mm_sfence(void) { __builtin_ia32_sfence(); }

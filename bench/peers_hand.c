/* SPDX-License-Identifier: MIT
 *
 * peers_hand.c - the unordered loop written by hand with vectors, eight or more accumulators:
 * what a level-2 cache allows an operator that may take any order. Integer sums widen to 64 bits,
 * as tally's do. The maxima of floats are the machine's max instruction, which loses NaN;
 * tally's keep it. gcc and clang vector types; compiled with -O3 -march=native.
 */
#include "bench.h"

#if defined(__AVX512F__)
enum { W = 64 };
#elif defined(__AVX2__)
enum { W = 32 };
#else
enum { W = 16 };
#endif
#define VECTOR(T, name) typedef T name __attribute__((vector_size(W), aligned(4), may_alias))
VECTOR(float, vf);
VECTOR(double, vd);
VECTOR(int32_t, vi);
VECTOR(int64_t, vl);
#if defined(__AVX512F__)
#include <immintrin.h>
#define MAX_PS(a, b)  (vf) _mm512_max_ps((__m512)(a), (__m512)(b))
#define MAX_PD(a, b)  (vd) _mm512_max_pd((__m512d)(a), (__m512d)(b))
#define MAX_I32(a, b) (vi) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#elif defined(__AVX2__)
#include <immintrin.h>
#define MAX_PS(a, b)  (vf) _mm256_max_ps((__m256)(a), (__m256)(b))
#define MAX_PD(a, b)  (vd) _mm256_max_pd((__m256d)(a), (__m256d)(b))
#define MAX_I32(a, b) (vi) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#else /* a mask; as good where the compiler sees the maximum in it */
#define MAX_PS(a, b)  (vf)(((vi)(a) & ((a) > (b))) | ((vi)(b) & ~((a) > (b))))
#define MAX_PD(a, b)  (vd)(((vl)(a) & ((a) > (b))) | ((vl)(b) & ~((a) > (b))))
#define MAX_I32(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#endif
#define UNROLL _Pragma("GCC unroll 8")

static void sum_f32(const job *j)
{
    const float *x = j->in;
    enum { L = W / 4 };
    vf a[8] = {0};
    int64_t i = 0;
    for (; i + 8 * L <= j->n; i += 8 * L)
        UNROLL for (int k = 0; k < 8; k++) a[k] += *(const vf *)(x + i + k * L);
    vf t = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
    float s = 0;
    for (int k = 0; k < L; k++) s += t[k];
    for (; i < j->n; i++) s += x[i];
    *(float *)j->out = s;
}

static void max_f32(const job *j)
{
    const float *x = j->in;
    enum { L = W / 4 };
    vf a[8];
    int64_t i = 0;
    for (int k = 0; k < 8; k++)
        for (int l = 0; l < L; l++) a[k][l] = x[0];
    for (; i + 8 * L <= j->n; i += 8 * L) UNROLL for (int k = 0; k < 8; k++)
        {
            const vf v = *(const vf *)(x + i + k * L);
            a[k] = MAX_PS(v, a[k]);
        }
    float s = x[0];
    for (int k = 0; k < 8 * L; k++) s = a[k / L][k % L] > s ? a[k / L][k % L] : s;
    for (; i < j->n; i++) s = x[i] > s ? x[i] : s;
    *(float *)j->out = s;
}

static void max_f64(const job *j)
{
    const double *x = j->in;
    enum { L = W / 8 };
    vd a[8];
    int64_t i = 0;
    for (int k = 0; k < 8; k++)
        for (int l = 0; l < L; l++) a[k][l] = x[0];
    for (; i + 8 * L <= j->n; i += 8 * L) UNROLL for (int k = 0; k < 8; k++)
        {
            const vd v = *(const vd *)(x + i + k * L);
            a[k] = MAX_PD(v, a[k]);
        }
    double s = x[0];
    for (int k = 0; k < 8 * L; k++) s = a[k / L][k % L] > s ? a[k / L][k % L] : s;
    for (; i < j->n; i++) s = x[i] > s ? x[i] : s;
    *(double *)j->out = s;
}

static void max_i32(const job *j)
{
    const int32_t *x = j->in;
    enum { L = W / 4 };
    vi a[8];
    int64_t i = 0;
    for (int k = 0; k < 8; k++)
        for (int l = 0; l < L; l++) a[k][l] = x[0];
    for (; i + 8 * L <= j->n; i += 8 * L) UNROLL for (int k = 0; k < 8; k++)
        {
            const vi v = *(const vi *)(x + i + k * L);
            a[k] = MAX_I32(v, a[k]);
        }
    int32_t s = x[0];
    for (int k = 0; k < 8 * L; k++) s = a[k / L][k % L] > s ? a[k / L][k % L] : s;
    for (; i < j->n; i++) s = x[i] > s ? x[i] : s;
    *(int32_t *)j->out = s;
}

/* x + 2^31 as unsigned, its even and odd halves added apart: two operations a vector more than a
   32-bit sum. */
static void sum_i32(const job *j)
{
    const int32_t *x = j->in;
    enum { L = W / 4 };
    vl low[4] = {0}, high[4] = {0};
    int64_t i = 0;
    for (; i + 4 * L <= j->n; i += 4 * L) UNROLL for (int k = 0; k < 4; k++)
        {
            const vl v = (vl)(*(const vi *)(x + i + k * L) ^ INT32_MIN);
            low[k] += v & 0xffffffff;
            high[k] += (vl)((__typeof__(uint64_t __attribute__((vector_size(W)))))v >> 32);
        }
    int64_t s = 0;
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < W / 8; l++) s += low[k][l] + high[k][l];
    s -= i << 31;
    for (; i < j->n; i++) s += x[i];
    *(int64_t *)j->out = s;
}

static void sum_i64(const job *j)
{
    const int64_t *x = j->in;
    enum { L = W / 8 };
    vl a[8] = {0};
    int64_t i = 0, s = 0;
    for (; i + 8 * L <= j->n; i += 8 * L)
        UNROLL for (int k = 0; k < 8; k++) a[k] += *(const vl *)(x + i + k * L);
    for (int k = 0; k < 8 * L; k++) s += a[k / L][k % L];
    for (; i < j->n; i++) s += x[i];
    *(int64_t *)j->out = s;
}

static void sum_u8(const job *j)
{
    const uint8_t *x = j->in;
    int64_t i = 0, s = 0;
#if defined(__AVX2__)
    __m256i a[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                    _mm256_setzero_si256()};
    for (; i + 128 <= j->n; i += 128) UNROLL for (int k = 0; k < 4; k++)
        {
            const __m256i v = _mm256_loadu_si256((const __m256i *)(x + i + k * 32));
            a[k] = _mm256_add_epi64(a[k], _mm256_sad_epu8(v, _mm256_setzero_si256()));
        }
    for (int k = 0; k < 16; k++) s += ((__v4di)a[k / 4])[k % 4];
#endif
    for (; i < j->n; i++) s += x[i];
    *(int64_t *)j->out = s;
}

const peer peers_hand[] = {
    {"hand loop", "sum", F32, REDUCE, 1, 0, sum_f32},
    {"hand loop", "max", F32, REDUCE, 1, 0, max_f32},
    {"hand loop", "max", F64, REDUCE, 1, 0, max_f64},
    {"hand loop", "max", I32, REDUCE, 1, 0, max_i32},
    {"hand loop", "sum", I32, REDUCE, 1, 0, sum_i32},
    {"hand loop", "sum", I64, REDUCE, 1, 0, sum_i64},
    {"hand loop", "sum", U8, REDUCE, 1, 0, sum_u8},
};
const int peers_hand_count = sizeof peers_hand / sizeof *peers_hand;

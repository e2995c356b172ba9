/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set: a block of an exact sum, as tl_exact_kernel_<isa>.
 *
 * Each lane adds into registers that begin at 1.5 2^(52 + u). While such a register stays between
 * 2^(52 + u) and 2^(53 + u), its last bit is worth 2^u, so it is an integer of 52 bits. Adding x to
 * it cuts x at 2^u:
 *
 *     t = high + x        rounded to a multiple of 2^u
 *     q = t - high        exact: the part that was added
 *     r = x - q           exact: the part that was cut off, |r| <= 2^(u - 1). It goes to the next
 *                         level, whose unit is lower
 *
 *      x  ------------+  unit[0]
 *      r      --------|-----------+  unit[1]
 *      r              |     ------|-----------+  unit[2]: a part cut off here makes the block FAR
 *
 * Most blocks do not need the last level. So it is left out first (add.c).
 *
 * The bound. A lane adds N = BLOCK / (UNROLL LANES) elements below 2^(top + 1), so the partial sums
 * of level 0 are below N (2^(top + 1) + 2^(u - 1)), where the second term is rounding. With u = top
 * + log2 N - 49 the first term is 2^(50 + u), and N < 2^40 makes the second term smaller than that.
 * Together they are below 2^(51 + u), so the register stays in its binade. It is larger than x, so
 * r is exact (Dekker). Level l + 1 adds N values of at most 2^(u - 1), so by the same argument its
 * unit is u - 51 + log2 N. No unit is below 2^-1074, because no bits are below that. At the end the
 * bits of a register, less its initial bits, are the integer. An element that is too large,
 * infinite or NaN shows in the largest |x|, or as a register outside of its binade, to which it
 * does not return. */
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include "exact.h"
#include "cpu/kernel/simd.h"
#include "dtype/dtype_traits.h"
#include "operator/kernel.h"

enum {
    LANES = TL_VECTOR_BYTES / 8,
    UNROLL = TL_VECTOR_BYTES == 64 ? 4 : 2, /* registers of 32 and of 16 */
    STEP = LANES * UNROLL,
    LOG_N = __builtin_ctz(TL_EXACT_BLOCK / STEP)
};

typedef double vreal __attribute__((vector_size(TL_VECTOR_BYTES)));
typedef int64_t vint __attribute__((vector_size(TL_VECTOR_BYTES)));
typedef float vhalf __attribute__((vector_size(TL_VECTOR_BYTES / 2)));

typedef float vsmall __attribute__((vector_size(TL_VECTOR_BYTES)));
typedef int32_t vsmall_int __attribute__((vector_size(TL_VECTOR_BYTES)));

/* The larger of |a| and b, where b is a number. If a is a NaN, the result is b. */
TL_INLINE vreal larger_f64(vreal a, vreal b)
{
    a = (vreal)((vint)a & ((vint){0} + INT64_MAX));
    return TL_FLOATS_8(max, a, b);
}

TL_INLINE vsmall larger_f32(vsmall a, vsmall b)
{
    a = (vsmall)((vsmall_int)a & ((vsmall_int){0} + INT32_MAX));
    return TL_FLOATS_4(max, a, b);
}

TL_INLINE vreal load_f64(const void *p)
{
    vreal v;
    memcpy(&v, p, sizeof v);
    return v;
}

TL_INLINE vreal load_f32(const void *p)
{
    vhalf v;
    memcpy(&v, p, sizeof v);
#if TL_VECTOR_BYTES == 64 && defined(__AVX512F__)
    /* compilers may split this into two halves */
    return (vreal)_mm512_cvtps_pd((__m256)v);
#else
    return __builtin_convertvector(v, vreal);
#endif
}

/* 2^e as f64 */
static inline double power(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Writes the parts of the block's sum. Returns a value other than 0 if a register overflowed. */
TL_INLINE int64_t parts_of(tl_exact_block *b, int levels, vreal sum[][UNROLL], const vreal *start)
{
    int64_t outside = 0;
    for (int l = 0; l < levels; l++) {
        uint64_t total = 0; /* wraps if a register overflowed */
        for (int u = 0; u < UNROLL; u++) {
            const vint part = (vint)sum[l][u] - (vint)start[l];
            for (int j = 0; j < LANES; j++) {
                outside |= (int64_t)(((uint64_t)part[j] + ((uint64_t)1 << 51)) >> 52);
                total += (uint64_t)part[j];
            }
        }
        b->part[l] = (int64_t)total;
    }

    return outside;
}

/* Sets the units of the levels, and the numbers at which their sums start. */
TL_INLINE void begin_sums(tl_exact_block *b, int levels, vreal sum[][UNROLL], vreal *start)
{
    int unit = b->top + LOG_N - 49;
    for (int l = 0; l < levels; l++) {
        if (unit < -1074) unit = -1074;
        b->unit[l] = unit;
        start[l] = (vreal){0} + 1.5 * power(52 + unit);
        unit += LOG_N - 51;
        TL_UNROLL
        for (int u = 0; u < UNROLL; u++) sum[l][u] = start[l];
    }
}

TL_INLINE int block(const char *x, int64_t n, tl_exact_block *b, int levels, int without, int bytes)
{
    assert(0 <= n && n <= TL_EXACT_BLOCK && n % STEP == 0 && b->top <= TL_EXACT_TOP_MOST);
    vreal sum[TL_EXACT_LEVELS][UNROLL], start[TL_EXACT_LEVELS];
    vreal most = {0};
    vsmall most_f32 = {0};
    vint cut = {0}, nan = {0};
    const int way = tl_prefetch_way();
    const int64_t prefetch_distance = tl_prefetch_distance(way);

    begin_sums(b, levels, sum, start);
    for (int64_t i = 0; i < n; i += STEP) {
        tl_prefetch_bytes(x + i * bytes, STEP * (size_t)bytes, prefetch_distance, way, 0);
        TL_UNROLL
        /* two vectors of f64 hold the elements of one vector of f32 */
        for (int u = 0; u < UNROLL && bytes == 4; u += 2) {
            vsmall v;
            memcpy(&v, x + (i + u * LANES) * bytes, sizeof v);
            if (without) v = (vsmall)((vsmall_int)v & (v == v));
            most_f32 = larger_f32(v, most_f32);
        }
        TL_UNROLL
        for (int u = 0; u < UNROLL; u++) {
            const char *at = x + (i + u * LANES) * bytes;
            vreal r = bytes == 4 ? load_f32(at) : load_f64(at);
            if (without) {
                const vint number = r == r;
                nan += number;
                r = (vreal)((vint)r & number);
            }

            if (bytes == 8) most = larger_f64(r, most);
            TL_UNROLL
            for (int l = 0; l < levels; l++) {
                const vreal t = sum[l][u] + r, q = t - sum[l][u];
                sum[l][u] = t;
                if (l + 1 < levels)
                    r -= q;
                else
                    cut |= (vint)r ^ (vint)q; /* equal except for the sign of 0 */
            }
        }
    }

    int64_t outside = parts_of(b, levels, sum, start), far = 0, numbers = 0;
    const double bound = power(b->top + 1);

    for (int j = 0; j < LANES; j++) {
        outside |= !(most[j] < bound) || !(most_f32[j] < bound) || !(most_f32[j + LANES] < bound);
        far |= cut[j] & INT64_MAX;
        numbers -= nan[j];
    }

    b->nan = without ? n - numbers : 0;
    return (outside ? TL_EXACT_LARGE : 0) | (far ? TL_EXACT_FAR : 0);
}

/* Calls the loop with constants for its choices. most: levels of the type. */
TL_INLINE int choose(const void *x, int64_t n, tl_exact_block *b, int most, int bytes)
{
    assert(b->levels == most || b->levels == most - 1);
    if (b->without)
        return b->levels < most ? block(x, n, b, most - 1, 1, bytes)
                                : block(x, n, b, most, 1, bytes);
    return b->levels < most ? block(x, n, b, most - 1, 0, bytes) : block(x, n, b, most, 0, bytes);
}

static int block_f32(const void *x, int64_t n, tl_exact_block *b) { return choose(x, n, b, 2, 4); }
static int block_f64(const void *x, int64_t n, tl_exact_block *b) { return choose(x, n, b, 3, 8); }

/* tl_exact_kernel.highest, on the bits of the elements. */
#define HIGHEST(name, bits, infinity, bias) \
    static int name(const void *x, int64_t n, int *special) \
    { \
        bits most = 0, largest = 0; \
        for (int64_t i = 0; i < n; i++) { \
            bits v; \
            memcpy(&v, (const char *)x + (size_t)i * sizeof v, sizeof v); \
            v = (bits)(v << 1) >> 1; \
            largest = v > largest ? v : largest; \
            v = v < (infinity) ? v : 0; \
            most = v > most ? v : most; \
        } \
        *special = largest >= (infinity); \
        return (int)(most / ((infinity) & -(infinity))) - (bias); \
    }
HIGHEST(highest_f32, uint32_t, 0x7f800000u, 127)
HIGHEST(highest_f64, uint64_t, 0x7ff0000000000000u, 1023)

/* A product of two f64 has up to 106 bits: the rounded product, and its rounding error. The error
 * is an f64 if the last bit of the product is worth 2^-1074 or more. It is computed exactly by one
 * fused multiply-add, or by Dekker's method: each factor is cut into halves of 26 bits, whose four
 * products are exact. (If a factor is too large to be cut, low is not a number.) */
#if TL_VECTOR_BYTES == 64 && defined(__AVX512F__)
#define LOW(x, y, high) (vreal) _mm512_fmsub_pd((__m512d)(x), (__m512d)(y), (__m512d)(high))
#elif TL_VECTOR_BYTES == 32 && defined(__FMA__)
#define LOW(x, y, high) (vreal) _mm256_fmsub_pd((__m256d)(x), (__m256d)(y), (__m256d)(high))
#elif defined(__aarch64__)
TL_INLINE vreal fused(vreal x, vreal y, vreal high)
{
    for (int j = 0; j < LANES; j++) high[j] = __builtin_fma(x[j], y[j], -high[j]);
    return high;
}

#define LOW(x, y, high) fused(x, y, high)
#else
TL_INLINE vreal upper(vreal x)
{
    const vreal c = 134217729.0 * x; /* 2^27 + 1 */
    return c - (c - x);
}

TL_INLINE vreal dekker(vreal x, vreal y, vreal high)
{
    const vreal xh = upper(x), xl = x - xh, yh = upper(y), yl = y - yh;
    return ((xh * yh - high) + xh * yl + xl * yh) + xl * yl;
}

#define LOW(x, y, high) dekker(x, y, high)
#endif

/* Writes one vector of products. Returns nonzero lanes where that is not exact or not finite. */
TL_INLINE vint product(const void *x, const void *y, double *high, double *low)
{
    const vreal a = load_f64(x), b = load_f64(y), p = a * b, q = LOW(a, b, p),
                size = (vreal)((vint)p & INT64_MAX);
    memcpy(high, &p, sizeof p);
    memcpy(low, &q, sizeof q);
    return ~((size < 0x1p900) & (q == q)) | ((size < 0x1p-900) & (a != 0) & (b != 0));
}

static int products(const void *x, const void *y, int64_t n, double *high, double *low)
{
    const int64_t rest = n % LANES;
    vint bad = {0};
    int64_t any = 0;

    for (int64_t i = 0; i < n - rest; i += LANES)
        bad |= product((const char *)x + i * 8, (const char *)y + i * 8, high + i, low + i);

    if (rest) {
        double in[2][LANES] = {{0}}, out[2][LANES];
        const size_t bytes = (size_t)rest * sizeof(double);
        memcpy(in[0], (const char *)x + (n - rest) * 8, bytes);
        memcpy(in[1], (const char *)y + (n - rest) * 8, bytes);
        bad |= product(in[0], in[1], out[0], out[1]);
        memcpy(high + n - rest, out[0], bytes);
        memcpy(low + n - rest, out[1], bytes);
    }

    for (int j = 0; j < LANES; j++) any |= bad[j];
    return !any;
}

const tl_exact_kernel TL_CAT(tl_exact_kernel_, TL_ISA) = {
    STEP, {block_f32, block_f64}, {highest_f32, highest_f64}, products};

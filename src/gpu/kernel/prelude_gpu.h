/* SPDX-License-Identifier: MIT
 * The words of the operator dialect on a GPU. It follows prelude_cuda.h or prelude_opencl.h. Every
 * word is a plain type or function of one thread. gpu/program.c defines for each instance:
 *
 *   ELEM_T REAL_T ORD_T OUT_T    its types
 *   TL_SIZE                      bytes of an element
 *   TL_KIND                      1 signed, 2 unsigned, 3 float
 *   TL_FORMAT                    16 f16, 17 bf16, else 0
 *   TL_OUT_SIZE                  bytes of one value of a result
 *   STATE_BYTES                  bytes of a state
 *   TL_REAL_FLOAT TL_OUT_FLOAT   0 integer, 4 f32, 8 f64
 *   CUT_LOG, QUADS_LOG           log2 of the states in a tile of windows (window/cut.cl, quads.cl)
 *   SCAN_LINES                   the warps of scan_single scan lines (scan_part.cl)
 *   TL_MARKED                    defined if a nan form skips only marked elements, not every NaN
 *   PASS_LOG, PASS_RUN           log2 of the radix of windows in passes, items of a thread; 0: this
 *                                program has no passes
 *   TL_SCHEDULE                  how window_tile makes levels (window/tile.cl)
 *   TL_TABLE                     1 for tables: the elements of a window lie `pitch` items apart
 *   TL_PARTS, TL_FLAT, TL_FAR    1 if its launches may compute a part of the levels; if there is
 *                                one sequence; of windows of class X longer than a tile:
 *                                1 far tiles, 2 sliding */
#if TL_KIND == 2
#define ORD_LOW  0
#define ORD_HIGH (~(ord)0)
#else
#define ORD_LOW  ((ord)((u64)1 << (8 * TL_SIZE - 1)))
#define ORD_HIGH (~ORD_LOW)
#endif

typedef ELEM_T elem;
typedef REAL_T real;
typedef ORD_T ord;
typedef OUT_T result;
typedef i64 idx;
typedef u64 wide;
typedef int mask;

typedef struct {
    f64 value; /* the operator's parameter */
    /* index of the first element here in its whole sequence; 0, except for pieces of longer
     * sequences (batch.cl) */
    i64 origin;
} par;

#define REAL_IS_EXACT     (!TL_REAL_FLOAT)
#define FIELD(type, name) type name;
/* PoCL: both operands are computed before the choice. With ?: a division would become a branch (see
 * BARRIER in prelude_opencl.h). */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define sel(c, a, b) \
    ({ \
        __typeof__(a) a_ = (a); \
        __typeof__(b) b_ = (b); \
        (c) ? a_ : b_; \
    })
#else
#define sel(c, a, b) ((c) ? (a) : (b))
#endif
#define sel_idx(c, a, b) sel(c, a, b)
#define pick(c, a, b)    sel(c, a, b)
#define TL_N(name)       name
#define num(c)           ((real)(c))
#define ord_num(c)       ((ord)(c))
#define idx_num(c)       ((idx)(c))
#define wide_num(c)      ((wide)(c))
#define idx_if(m)        ((idx)((m) != 0))
#define wide_if(m)       ((wide)((m) != 0))
#define ord_if(m)        ((ord)((m) != 0))
#define ord_top          ((ord)(ORD_HIGH))
#define ord_bottom       ((ord)(ORD_LOW))
#define NEGATIVE_ZERO    (-0.0)
#define NO_INDEX         ((idx)0)
/* NaN of the accumulator's type. A conversion from another width might change a NaN's bits. */
#if TL_REAL_FLOAT == 4
#define NOT_A_NUMBER as_f32(0x7fc00000u)
#else
#define NOT_A_NUMBER as_f64(0x7ff8000000000000ul)
#endif

#if TL_FORMAT
#define TL_HALF_INF   (TL_FORMAT == 16 ? 0x7c00 : 0x7f80)
#define is_nan(x)     (((x)&0x7fff) > TL_HALF_INF)
#define is_number(x)  (((x)&0x7fff) <= TL_HALF_INF)
#define is_nonzero(x) (((x)&0x7fff) != 0)
#define elem_missing  ((elem)(TL_FORMAT == 16 ? 0x7e00 : 0x7fc0))
#define elem_bits(x)  (x)
#define bits_elem(b)  ((elem)(b))
#else
#define is_nan(x)     ((x) != (x))
#define is_number(x)  ((x) == (x))
#define is_nonzero(x) ((x) != 0)
#if TL_KIND == 3 && TL_SIZE == 4
#define elem_missing as_f32(0x7fc00000u)
#define elem_bits(x) as_u32(x)
#define bits_elem(b) as_f32((u32)(b))
#elif TL_KIND == 3
#define elem_missing as_f64(0x7ff8000000000000ul)
#define elem_bits(x) as_u64(x)
#define bits_elem(b) as_f64((u64)(b))
#else
#define elem_missing ((elem)0)
#endif
#endif

#ifdef TL_MARKED /* only the mark is skipped: all bits set but the sign (context/device.h) */
#define is_present(x, p) (elem_bits(x) != ~(u64)0 >> (65 - 8 * TL_SIZE))
#else
#define is_present(x, p) is_number(x)
#endif

#if TL_FORMAT == 16 && defined(HALF_TO_F32)
fn real to_real(elem x) { return (real)half_to_f32(x); }
#elif TL_FORMAT == 16
/* Exact: shifts the fields into place and multiplies by 2^112, which also normalises subnormals. */
fn real to_real(elem x)
{
    f32 f = as_f32((u32)(x & 0x7fff) << 13) * as_f32(0x77800000u);
    u32 b = as_u32(f);
    b |= (x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    b |= (u32)(x & 0x8000) << 16;
    return (real)as_f32(b);
}
#elif TL_FORMAT == 17
fn real to_real(elem x) { return (real)as_f32((u32)x << 16); }
#else
fn real to_real(elem x) { return (real)x; }
#endif

#if TL_KIND == 3
fn ord flip(ord b) { return (ord)(b ^ ((b >> (8 * TL_SIZE - 1)) & (ord)(ORD_HIGH))); }
fn ord to_ord(elem x) { return flip((ord)elem_bits(x)); }
fn elem from_ord(ord k)
{
    elem x = bits_elem(flip(k));
    return is_nan(x) ? elem_missing : x;
}
#else
fn ord to_ord(elem x) { return x; }
fn elem from_ord(ord k) { return k; }
#endif

#if TL_REAL_FLOAT
fn real canon(real x) { return x == x ? x : NOT_A_NUMBER; }
#else
fn real canon(real x) { return x; }
#endif
#if TL_REAL_FLOAT == 4
fn real root(real x) { return sqrt_f32(x); }
#elif TL_REAL_FLOAT == 8
fn real root(real x) { return sqrt_f64(x); }
#endif

/* ASSUME: a fact that the compiler may use. OPAQUE: the compiler computes nothing from x before
 * it. */
#ifndef ASSUME
#define ASSUME(c) (void)0
#define OPAQUE(x) (void)0
#endif

/* plus_half: y + d / 2. plus_halves: y + x (n / 2) for n = 1, 2, 4, ... and y, x not negative.
 * Where the product is exact, a fused multiply-add gives the same bits in one instruction. d / 2
 * and x / 2 are exact except for the smallest numbers, which elements of up to 4 bytes cannot
 * produce: means of 2^k of them are multiples of 2^-(149 + k), their squares of 2^-(298 + 2 k). For
 * larger n, x (n / 2) can only overflow, and then the sum overflows too (f64, in programs that know
 * n). */
#if defined(FUSES) && TL_REAL_FLOAT == 8 && (TL_SIZE <= 4 || defined(TL_LONG))
#define plus_half(y, d) (TL_SIZE <= 4 ? fma_f64(d, 0.5, y) : (y) + (d)*0.5)
#define plus_halves(y, x, n) \
    (TL_SIZE <= 4 || (n) > 1.0 ? fma_f64(x, (n)*0.5, y) : (y) + (x) * ((n)*0.5))
#else
#define plus_half(y, d)      ((y) + (d)*num(0.5))
#define plus_halves(y, x, n) ((y) + (x) * ((n)*num(0.5)))
#endif

/* x / n, correctly rounded. If all results of a launch have the same n (SAME_LENGTH), 1 / n is
 * computed once, and a product and two fused multiply-adds give the quotient (Brisebarre, Muller
 * and Raina, "Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in
 * Advance", IEEE Transactions on Computers 53, 2004, algorithm 1). No step may underflow: 1 <= n <=
 * BOUND and |quotient| >= 1 / BOUND. Else, and for 0 and NaN, x is divided by n. No faster for f32
 * in short windows. */
#if defined(FUSES) && SAME_LENGTH && \
    (TL_REAL_FLOAT == 8 || (TL_REAL_FLOAT == 4 && defined(TL_LONG)))
#if TL_REAL_FLOAT == 4
#define FMA_REAL fma_f32
#define BOUND    as_f32(0x71800000u) /* 2^100 */
#else
#define FMA_REAL fma_f64
#define BOUND    as_f64(0x5f30000000000000ul) /* 2^500 */
#endif

fn real over_size(real x, real n)
{
    const real part = n >= num(1.0) && n <= BOUND ? num(1.0) / n : num(0.0), about = x * part;
    const real v = FMA_REAL(FMA_REAL(-about, n, x), part, about);
    return fabs(v) >= num(1.0) / BOUND ? v : x / n;
}
#else
#define over_size(x, n) ((x) / (n))
#endif
#define mean_of(x, n) canon(over_size((x) + num(0.0), n))

#define to_result(x)      ((result)(x))
#define result_to_real(v) ((real)(v))
#define to_wide(x)        ((wide)(x))
#define wide_sign(x)      ((wide)((i64)(x) >> 63) & (TL_KIND == 1 ? ~(wide)0 : (wide)0))
#define signed_to_real(x) ((real)(i64)(x))
#define wide_to_real(x)   ((real)(u64)(x))
#define idx_to_real(x)    ((real)(i64)(x))
/* The number of elements as a real, but 1 for 0: combine ignores this operand then, and a division
 * by 0 would leave the fast path of f64 for the whole warp. */
#define kept_to_real(x) idx_to_real((x) + ((x) == 0))

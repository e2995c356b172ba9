/* SPDX-License-Identifier: MIT
 * The operator dialect on a GPU, after prelude_cuda.h or prelude_opencl.h: every word is a plain
 * type or function of one work-item. The assembler (gpu/program.c) defines, for the instance:
 *
 *   ELEM_T REAL_T ORD_T OUT_T    its types                       TL_SIZE       bytes of an element
 *   TL_KIND                      1 signed, 2 unsigned, 3 float   TL_FORMAT     16 f16, 17 bf16, else 0
 *   TL_OUT_SIZE                  bytes of one value of a result   STATE_BYTES bytes of a state
 *   TL_REAL_FLOAT TL_OUT_FLOAT   0 integer, 4 f32, 8 f64         ROOM_LOG      states of a tile of window, log2
 *   ONCE_BLOCKS, FEW_BLOCKS      groups of scan_once and scan_few a processor, 0 if they are not
 *                                for this instance
 *   SCAN_LINES                   their warps take lines (scan_lines.cl)             WHOLE_LOG     of window_whole
 *   TL_MARKED                    defined where a nan form leaves out the mark, not every NaN
 *   RUNS                         threads of window_whole have 8 items side by side, two quads
 *   PASS_LOG, PASS_RUN           log2 of the radix of window/passes.cl, items of a thread; 0 if
 *                                it is not for this one
 */
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
    /* index of the first element here in its whole sequence: 0 but for pieces of longer ones
       (batch.cl) */
    i64 origin;
} par;

#define REAL_IS_EXACT     (!TL_REAL_FLOAT)
#define FIELD(type, name) type name;
#ifdef POCL_DEVICE_ADDRESS_BITS /* both, then a choice: ?: of divisions would be branches (prelude_opencl.h, BARRIER) */
#define sel(c, a, b)                                                                               \
    ({                                                                                             \
        __typeof__(a) a_ = (a);                                                                    \
        __typeof__(b) b_ = (b);                                                                    \
        (c) ? a_ : b_;                                                                             \
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
/* Of the accumulator's type: a conversion from another width need not keep a NaN's bits. */
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

#ifdef TL_MARKED /* the mark alone is left out (context/inputs.h): all bits but the sign */
#define is_present(x, p) (elem_bits(x) != ~(u64)0 >> (65 - 8 * TL_SIZE))
#else
#define is_present(x, p) is_number(x)
#endif

#if TL_FORMAT == 16 && defined(HALF_TO_F32)
fn real to_real(elem x) { return (real)half_to_f32(x); }
#elif TL_FORMAT == 16
/* Exact: shift the fields into place and multiply by 2^112, which also normalises subnormals. */
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

/* What the compiler may count on. */
#ifndef SURELY
#define SURELY(c) (void)0
#define HERE(x)   (void)0
#endif
/* y + d / 2, and y + x (n / 2) for n = 1, 2, 4, .. and y, x that are not negative. Where the
 * product is exact, a fused instruction has the same bits and saves one. d / 2 and x / 2 are
 * exact but for the smallest numbers, and elements of up to 4 bytes have none: means of 2^k of
 * them are multiples of 2^-(149 + k), their squares of 2^-(298 + 2 k). x (n / 2) of a larger n
 * can only overflow, and then the sum does so too (of f64 in programs that know n). */
#if defined(FUSES) && TL_REAL_FLOAT == 8 && (TL_SIZE <= 4 || defined(TL_LONG))
#define plus_half(y, d) (TL_SIZE <= 4 ? fma_f64(d, 0.5, y) : (y) + (d)*0.5)
#define plus_halves(y, x, n)                                                                       \
    (TL_SIZE <= 4 || (n) > 1.0 ? fma_f64(x, (n)*0.5, y) : (y) + (x) * ((n)*0.5))
#else
#define plus_half(y, d)      ((y) + (d)*num(0.5))
#define plus_halves(y, x, n) ((y) + (x) * ((n)*num(0.5)))
#endif

/* x / n. Where all results of a launch have the same n (SAME_LENGTH), 1 / n is made once, and
 * then a product and two fused ones give the correctly rounded quotient (Brisebarre, Muller and
 * Raina, "Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in
 * Advance", IEEE Transactions on Computers 53, 2004, algorithm 1), if all of them are exact
 * below: n from 1 to BOUND and a quotient of 1 / BOUND or more. (0 is none; a NaN is none.) Not
 * for f32 in window_flat: no gain was seen there (means at w = 50, 0.97 to 0.99; H200). */
#if defined(FUSES) && SAME_LENGTH &&                                                               \
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

#define to_result(x)      ((result)(x))
#define result_to_real(v) ((real)(v))
#define to_wide(x)        ((wide)(x))
#define wide_sign(x)      ((wide)((i64)(x) >> 63) & (TL_KIND == 1 ? ~(wide)0 : (wide)0))
#define signed_to_real(x) ((real)(i64)(x))
#define wide_to_real(x)   ((real)(u64)(x))
#define idx_to_real(x)    ((real)(i64)(x))
/* Of none 1: combine takes the other side whatever comes, and a division of 0 leaves the quick
 * road of f64: a call for the whole warp as soon as one lane has an absent element. */
#define kept_to_real(x) idx_to_real((x) + ((x) == 0))

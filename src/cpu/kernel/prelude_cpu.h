/* SPDX-License-Identifier: MIT
 * The operator dialect on CPUs; doc/dialect.md explains the words. instance.h includes this file
 * before an operator's text, to define the words, and after it, to undefine them, so that kernels
 * can use the scalar and the vector names. With TL_VECTOR 0 every word is a plain C type, with
 * TL_VECTOR 1 a vector of TL_V lanes.
 *
 * Reads: TL_ELEM_T TL_KIND_x TL_SIZE TL_REAL_T TL_REAL_FLOAT TL_OUT_T TL_V TL_N(name) and TL_FORMAT
 * (16: f16, 17: bf16; then elem has the bits of a half).
 * There is no include guard: the words are redefined for every instance. */
#ifndef TL_WORDS
#define TL_WORDS
#undef sel
#undef pick
#undef mean_of
#undef over_size
#undef plus_half
#undef plus_halves
#undef TL_TYPE
#undef TL_TO
#undef TL_SPLAT
#if TL_VECTOR
#define TL_TYPE(T)  T __attribute__((vector_size(TL_V * sizeof(T))))
#define TL_TO(x, T) __builtin_convertvector(x, TL_TYPE(T))
/* c - 0 keeps the sign of -0.0; c + 0 does not. */
#define TL_SPLAT(T, c) ((T)(c) - (TL_TYPE(T)){0})
#define sel(c, a, b) \
    ({ \
        __typeof__(a) sel_a = (a), sel_b = (b); \
        __typeof__(sel_a == sel_a) sel_c = (c); \
        (__typeof__(sel_a))((sel_c & (__typeof__(sel_c))sel_a) | \
                            (~sel_c & (__typeof__(sel_c))sel_b)); \
    })
#else
#define TL_TYPE(T)     T
#define TL_TO(x, T)    ((T)(x))
#define TL_SPLAT(T, c) ((T)(c))
#define sel(c, a, b)   ((c) ? (a) : (b))
#endif

/* gpu/kernel/prelude_gpu.h says when a fused multiply-add has the same bits. Here it is used if n,
 * the same power of two in all lanes, is at least 2: then x (n / 2) is exact, or overflows. */
#define plus_half(y, d) ((y) + (d)*num(0.5))
#if TL_VECTOR && TL_FUSES && TL_REAL_FLOAT && TL_V * TL_REAL_SIZE == 64
#define plus_halves(y, x, n) \
    ((n)[0] >= 2 ? TL_PASTE(TL_FMA_, TL_REAL_SIZE)(x, (n)*num(0.5), y) : (y) + (x)*num(0.5))
#else
#define plus_halves(y, x, n) ((y) + (x) * ((n)*num(0.5)))
#endif

#define fn                 TL_INLINE
#define state              TL_N(state)
#define elem               TL_N(elem)
#define real               TL_N(real)
#define ord                TL_N(ord)
#define idx                TL_N(idx)
#define wide               TL_N(wide)
#define mask               TL_N(mask)
#define result             TL_N(result)
#define par                tl_par
#define lift               TL_N(lift)
#define combine            TL_N(combine)
#define uncombine          TL_N(uncombine)
#define twin               TL_N(twin)
#define neutral            TL_N(neutral)
#define seed               TL_N(seed)
#define present            TL_N(present)
#define lower              TL_N(lower)
#define lower_1            TL_N(lower_1)
#define empty              TL_N(empty)
#define empty_1            TL_N(empty_1)
#define variance           TL_N(variance)
#define canon              TL_N(canon)
#define to_real            TL_N(to_real)
#define to_ord             TL_N(to_ord)
#define from_ord           TL_N(from_ord)
#define root               TL_N(root)
#define half_bits_to_float TL_N(half_bits_to_float)
#define flip               TL_N(flip)

typedef TL_TYPE(TL_ELEM_T) elem;
typedef TL_TYPE(TL_REAL_T) real;
typedef TL_TYPE(TL_ORD_T) ord;
typedef TL_TYPE(int64_t) idx;
typedef TL_TYPE(uint64_t) wide;
typedef TL_TYPE(TL_OUT_T) result;
#if TL_VECTOR
typedef __typeof__((elem){0} == (elem){0}) mask;
#else
typedef int mask;
#endif

#define num(c)        TL_SPLAT(TL_REAL_T, c)
#define ord_num(c)    TL_SPLAT(TL_ORD_T, c)
#define idx_num(c)    TL_SPLAT(int64_t, c)
#define wide_num(c)   TL_SPLAT(uint64_t, c)
#define NEGATIVE_ZERO (-0.0)
#define NOT_A_NUMBER  __builtin_nan("")
#define NO_INDEX      idx_num(0)

#define ord_top      ord_num(TL_ORD_MAX)
#define ord_bottom   ord_num(TL_ORD_MIN)
#define elem_missing TL_SPLAT(TL_ELEM_T, TL_MISSING)

/* 1 where m holds, else 0. A lane of a mask is -1 or 0; clang's masks of bytes are chars. */
_Static_assert((char)-1 < 0, "compile with -fsigned-char");
#if TL_VECTOR
#define idx_if(m)        (-TL_TO(m, int64_t))
#define wide_if(m)       ((wide)(-(m)))
#define ord_if(m)        ((ord)(-(m)))
#define sel_idx(c, a, b) sel(TL_TO(c, int64_t), a, b)
#define pick(c, a, b)    sel(__builtin_convertvector(c, __typeof__((a) == (a))), a, b)
#else
#define idx_if(m)        ((int64_t)((m) != 0))
#define wide_if(m)       ((uint64_t)((m) != 0))
#define ord_if(m)        ((TL_ORD_T)((m) != 0))
#define sel_idx(c, a, b) ((c) ? (a) : (b))
#define pick(c, a, b)    ((c) ? (a) : (b))
#endif

/* The bits of x as another type of the same size. */
#ifndef TL_BITS
#define TL_BITS(T, x) \
    ({ \
        __typeof__(x) bits_x = (x); \
        T bits_r; \
        _Static_assert(sizeof bits_x == sizeof bits_r, "TL_BITS"); \
        memcpy(&bits_r, &bits_x, sizeof bits_r); \
        bits_r; \
    })
#endif

#if TL_FORMAT == 16 || TL_FORMAT == 17
#define TL_HALF_INF  (TL_FORMAT == 16 ? 0x7c00 : 0x7f80)
#define is_nan(x)    (((x)&0x7fff) > TL_HALF_INF)
#define is_number(x) (((x)&0x7fff) <= TL_HALF_INF)
#define is_present(x, p) \
    (((x)&0x7fff) <= TL_SPLAT(TL_ELEM_T, (p).marked        ? TL_MARK_HALF - 1 \
                                         : TL_FORMAT == 16 ? 0x7c00 \
                                                           : 0x7f80))
#define is_nonzero(x) (((x)&0x7fff) != 0)
#else
#define is_nan(x)    ((x) != (x))
#define is_number(x) ((x) == (x))
#define is_present(x, p) \
    ((TL_BITS(ord, x) & ord_num(TL_ORD_MAX)) <= \
     ord_num(TL_SIZE == 4 ? ((p).marked ? TL_MARK_F32 - 1 : 0x7f800000) \
                          : ((p).marked ? TL_MARK_F64 - 1 : 0x7ff0000000000000)))
#define is_nonzero(x) ((x) != 0)
#endif

#if TL_FORMAT == 16
/* f16 to f32, exactly: shifts the fields into place and multiplies by 2^112, which also normalises
 * subnormals. Infinity and NaN get the exponent of all ones. */
TL_INLINE TL_TYPE(float) half_bits_to_float(elem x)
{
    TL_TYPE(uint32_t) h = TL_TO(x, uint32_t);
    TL_TYPE(uint32_t) magnitude = (h & 0x7fff) << 13;
    TL_TYPE(float) f = TL_BITS(TL_TYPE(float), magnitude) * 0x1p112f;
    TL_TYPE(uint32_t) b = TL_BITS(TL_TYPE(uint32_t), f);
    b |= sel((h & 0x7c00) == 0x7c00, TL_SPLAT(uint32_t, 0x7f800000), TL_SPLAT(uint32_t, 0));
    b |= (h & 0x8000) << 16;
    return TL_BITS(TL_TYPE(float), b);
}
#elif TL_FORMAT == 17
TL_INLINE TL_TYPE(float) half_bits_to_float(elem x)
{
    TL_TYPE(uint32_t) b = TL_TO(x, uint32_t) << 16;
    return TL_BITS(TL_TYPE(float), b);
}
#endif

TL_INLINE real to_real(elem x)
{
#if TL_FORMAT == 16 || TL_FORMAT == 17
    return TL_TO(half_bits_to_float(x), TL_REAL_T);
#else
    return TL_TO(x, TL_REAL_T);
#endif
}

/* Converts sign and magnitude to two's complement and back: inverts the magnitude bits of negative
 * values. */
#if TL_KIND_F
TL_INLINE ord flip(ord b) { return (ord)(b ^ ((b >> (8 * TL_SIZE - 1)) & (TL_ORD_T)TL_ORD_MAX)); }
TL_INLINE ord to_ord(elem x) { return flip(TL_BITS(ord, x)); }
TL_INLINE elem from_ord(ord k)
{
    ord b = flip(k);
    elem x = TL_BITS(elem, b);
#if TL_VECTOR && TL_FUSES && TL_FORMAT == 0 && TL_V * TL_SIZE == 64
    return TL_PASTE(TL_CANON_, TL_SIZE)(x, elem_missing);
#else
    return sel(is_nan(x), elem_missing, x);
#endif
}
#else
TL_INLINE ord to_ord(elem x) { return x; }
TL_INLINE elem from_ord(ord k) { return k; }
#endif

#if TL_REAL_FLOAT
#if TL_VECTOR && TL_FUSES && TL_V * TL_REAL_SIZE == 64
TL_INLINE real canon(real x) { return TL_PASTE(TL_CANON_, TL_REAL_SIZE)(x, num(NOT_A_NUMBER)); }
#else
TL_INLINE real canon(real x) { return sel(x == x, x, num(NOT_A_NUMBER)); }
#endif
TL_INLINE real root(real x)
{
#if TL_VECTOR
    for (int i = 0; i < TL_V; i++) x[i] = __builtin_sqrt(x[i]);
    return x;
#else
    return (real)__builtin_sqrt(x);
#endif
}
#else
TL_INLINE real canon(real x) { return x; }
#endif

/* x / n, correctly rounded. Where all results have the same n (tl_par.same_n), 1 / n is computed
 * once, and a product and two fused multiply-adds give the quotient (Brisebarre, Muller and Raina
 * 2004, algorithm 1); a division would take 16 cycles. n is a whole number, so the remainder is
 * exact, and only a subnormal quotient can be halfway between two floats. Then, and for NaN, x is
 * divided. n <= most, so that another quotient is further from the middle of two subnormals than
 * the last step errs: 2^-150 / n against 2^-173 for f32. Not in nan forms, where n differs from
 * lane to lane. Where the product is taken it is no NaN, and +0.0 for x = -0.0, as a mean must be.
 * p is the parameter of the calling function. */
#if TL_VECTOR && TL_FUSES && !TL_MASKED && TL_REAL_FLOAT && TL_V * TL_REAL_SIZE == 64
#define over_size(x, n) TL_N(quotient)(x, n, 0, p)
#define mean_of(x, n)   TL_N(quotient)(x, n, 1, p)
TL_INLINE real TL_N(quotient)(real x, real n, int is_mean, par p)
{
    if (__builtin_constant_p(p.same_n) && p.same_n) {
        const real most = num(TL_REAL_SIZE == 4 ? 0x1p22 : 0x1p50),
                   whole = TL_TO(TL_TO(n, int64_t), TL_REAL_T),
                   part = sel((n >= num(1.0)) & (n <= most) & (n == whole), num(1.0) / n,
                              num(NOT_A_NUMBER)),
                   about = x * part,
                   v = TL_PASTE(TL_FMA_, TL_REAL_SIZE)(
                       TL_PASTE(TL_FMA_, TL_REAL_SIZE)(-about, n, x), part, about);
        if (__builtin_expect(!TL_PASTE(TL_SUBNORMAL_, TL_REAL_SIZE)(v), 1)) return v;
    }
    return is_mean ? canon((x + num(0.0)) / n) : x / n;
}
#else
#define over_size(x, n) ((x) / (n))
#define mean_of(x, n)   canon(((x) + num(0.0)) / (n))
#endif

#define to_result(x)      TL_TO(x, TL_OUT_T)
#define result_to_real(v) TL_TO(v, TL_REAL_T)
#define to_wide(x)        TL_TO(x, uint64_t)
#define wide_sign(x)      ((wide)(TL_TO(x, int64_t) >> 63) & wide_num(TL_KIND_I ? ~0ull : 0))
#define signed_to_real(x) TL_TO((idx)(x), TL_REAL_T)
#define wide_to_real(x)   TL_TO(x, TL_REAL_T)
#define idx_to_real(x)    TL_TO(x, TL_REAL_T)
#define insufficient(p)   idx_num((p).insufficient)

#else /* after the text */
#undef TL_WORDS
#undef NEGATIVE_ZERO
#undef NOT_A_NUMBER
#undef NO_INDEX
#undef TL_HALF_INF
#undef canon
#undef combine
#undef elem
#undef elem_missing
#undef empty
#undef empty_1
#undef flip
#undef fn
#undef from_ord
#undef half_bits_to_float
#undef idx
#undef idx_if
#undef idx_num
#undef idx_to_real
#undef is_nan
#undef is_nonzero
#undef is_number
#undef is_present
#undef lift
#undef lower
#undef lower_1
#undef mask
#undef present
#undef neutral
#undef num
#undef ord
#undef ord_bottom
#undef ord_if
#undef ord_num
#undef ord_top
#undef par
#undef real
#undef result
#undef result_to_real
#undef root
#undef seed
#undef sel_idx
#undef signed_to_real
#undef state
#undef to_ord
#undef to_real
#undef to_result
#undef to_wide
#undef twin
#undef uncombine
#undef variance
#undef wide
#undef wide_if
#undef wide_num
#undef wide_sign
#undef wide_to_real
#endif

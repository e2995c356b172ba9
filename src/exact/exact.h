/* SPDX-License-Identifier: MIT
 * The state of an exact sum. All finite f16, bf16, f32 and f64 are integers times 2^-1074, and
 * products of two of them are integers times 2^-2148. So their sum is one integer:
 *
 *     bin[0] 2^0 + bin[1] 2^32 + ... + bin[133] 2^(32 133)     times 2^-2162
 *
 * bin[34] counts units of 2^-1074, the first digit of a tally_exact. An element has 53 bits;
 * shifted by 0 .. 31 it is below 2^84. A bin has 127 bits, so 2^43 elements may be added to it
 * before carries are propagated; that happens after TL_EXACT_MOST elements, where a product counts
 * as two. NaN and infinities are counted beside the bins. */
#pragma once

#include "operator/kernel.h"
#include <assert.h>
#include <string.h>

enum {
    TL_EXACT_LOW = 34, /* bins below those of tally_exact, for products */
    /* 2176 bits: 2098 for one f64, 63 for the largest number of elements, and the sign. */
    TL_EXACT_DIGITS = 68,
    TL_EXACT_BINS = 134, /* 4288 bits: 14 unused, 4196 for one product, 63 and the sign */
    TL_EXACT_UNIT = 1074 + 32 * TL_EXACT_LOW,
    TL_EXACT_NAN = TL_EXACT_DIGITS, /* index of the words of tally_exact after the digits */
    TL_EXACT_PLUS,
    TL_EXACT_MINUS,
    TL_EXACT_COUNT
};

#define TL_EXACT_MOST ((int64_t)1 << 40)

typedef __int128 tl_wide_int;

/* A guess of the range of the next block (cpu/exact/add.c). top: |x| < 2^(top + 1). without: NaN
 * are skipped. failed: how many of the last tries failed. pause: blocks until the next. far, wide:
 * the same for tries with one level less. */
typedef struct {
    int top, without, failed, pause, far, wide;
} tl_exact_guess;

typedef struct {
    tl_wide_int bin[TL_EXACT_BINS];
    int low, high;              /* only bins low .. high may be nonzero */
    int64_t plus, minus;        /* numbers of elements that are +inf, -inf */
    int64_t nan, count;         /* numbers of NaN, and of all elements */
    int64_t waiting;            /* elements since the last carries */
    tl_exact_guess guess, rest; /* rest: for the rounding errors of products */
} tl_exact;

/* The sums of one statistic, as bits of `needs`: of x, y, x x, y y and x y. */
enum { TL_X = 1, TL_Y = 2, TL_XX = 4, TL_YY = 8, TL_XY = 16, TL_SUMS = 5 };

/* The formula of a statistic: its only sum, or a quotient, with the sums n Sxy - Sx Sy = A,
 * n Sxx - Sx^2 = B and n Syy - Sy^2 = C. */
typedef enum {
    TL_ALONE,
    TL_OVER_COUNT, /* Sx / n */
    TL_B_OVER,     /* B / (n (n - ddof)) */
    TL_A_OVER,     /* A / (n (n - ddof)) */
    TL_A_OVER_B,
    TL_A_OVER_BC, /* the root of A^2 / (B C), with the sign of A */
    TL_XY_OVER_Y  /* Sxy / Sy */
} tl_quotient;

/* root: the result is the square root. */
typedef struct {
    uint8_t needs, quotient, root;
} tl_statistic;

/* An exact operator: a row like that of any operator, with only the facts and `empty` set. */
typedef struct {
    tl_scalar scalar; /* state_bytes is 0: a tl_state is too small */
    tl_statistic what;
    uint8_t sums;  /* how many `needs` has: a state is so many tl_exact, in the order of the bits */
    uint8_t whole; /* elements are integers of 64 bits: 1 signed, 2 unsigned */
    /* In a call's own copy. 1: elements may be missing. -0 marks them, and no element present is
     * -0; integers of 64 bits: `absent` says which of n elements are missing. */
    uint8_t leaves_out;
    void (*absent)(const tl_convert *in, unsigned char *to, const void *from, int64_t n);
} tl_exact_form;

/* The form of an operator's row; NULL: the operator is not an exact sum. */
static inline const tl_exact_form *tl_exact_form_of(const tl_scalar *op)
{
    return op->state_bytes ? NULL : (const tl_exact_form *)op;
}

/* Is the form's state a tally_exact: a sum of floats, or of products of floats below f64? */
static inline int tl_exact_fits(const tl_exact_form *form)
{
    return !form->whole && form->scalar.dtype >= TALLY_F16 &&
           (form->what.needs == TL_X ||
            (form->what.needs == TL_XY && form->scalar.dtype != TALLY_F64));
}

/* The row of NAME:exact ("sum", "nanmean") for elements of dtype. acc 0: the default; TALLY_F64: as
 * with the suffix f64. NULL: there is none. what, none: NULL, or get descriptions of the operator
 * and of its result for no elements. */
const tl_scalar *tl_exact_find(const char *name, size_t length, tally_dtype dtype, tally_dtype acc,
                               const char **what, const char **none);

/* The common row of all operators on the same elements and inputs: the plain sum of elements, or of
 * products, with an f64 result. */
const tl_scalar *tl_exact_common(tally_dtype dtype, int inputs);

/* Bytes of `count` sums. If they are more than a size can be: PTRDIFF_MAX, which no memory has. */
static inline size_t tl_exact_bytes(int64_t count)
{
    size_t bytes;
    return __builtin_mul_overflow((size_t)count, sizeof(tl_exact), &bytes) ? PTRDIFF_MAX : bytes;
}

/* Sets a state of `sums` sums to zero. Rows, and the NaN among them, are counted in its first. */
static inline void tl_exact_begin(tl_exact *e, int sums)
{
    memset(e, 0, (size_t)sums * sizeof *e);
    for (int k = 0; k < sums; k++) e[k].low = TL_EXACT_BINS, e[k].high = -1;
}

/* Sets it to zero again, but keeps the guesses. */
static inline void tl_exact_clear(tl_exact *e, int sums)
{
    for (const tl_exact *const end = e + sums; e < end; e++) {
        if (e->low <= e->high)
            memset(&e->bin[e->low], 0, (size_t)(e->high - e->low + 1) * sizeof *e->bin);
        e->low = TL_EXACT_BINS;
        e->high = -1;
        e->plus = e->minus = e->nan = e->count = e->waiting = 0;
    }
}

/* Adds value * 2^(at - TL_EXACT_UNIT). The caller counts. */
static inline void tl_exact_put(tl_exact *e, int64_t value, int at)
{
    const int k = at >> 5;
    assert(0 <= at && at < 4224);
    e->bin[k] += (tl_wide_int)((unsigned __int128)value << (at & 31));
    if (k < e->low) e->low = k;
    if (k > e->high) e->high = k;
}

/* |x| = *m 2^(*at - 1074), and *m is below 2^53. Returns 0 if x is infinite or NaN. */
static inline int tl_exact_split(double x, uint64_t *m, int *at, int *negative)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52) & 2047;
    *negative = (int)(bits >> 63);
    *m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(exponent != 0) << 52;
    *at = exponent ? exponent - 1 : 0;
    return exponent != 2047;
}

/* Adds (sign 1) or subtracts (sign -1) one element, without counting it. */
static inline void tl_exact_element(tl_exact *e, double x, int64_t sign)
{
    uint64_t m;
    int at, negative;
    assert(sign == 1 || sign == -1);
    if (__builtin_expect(!tl_exact_split(x, &m, &at, &negative), 0)) {
        *(x != x ? &e->nan : negative ? &e->minus : &e->plus) += sign;
        return;
    }
    const int64_t s = -(int64_t)negative ^ (sign >> 1); /* 0 or -1 */
    tl_exact_put(e, ((int64_t)m ^ s) - s, 32 * TL_EXACT_LOW + at);
}

/* x y = +-(part[0] + part[1] 2^53) 2^(*at - TL_EXACT_UNIT); the parts are below 2^53. Returns 0, or
 * what the product counts as: infinity times 0 has no value, and counts as both infinities. */
enum { TL_IS_NAN = 1, TL_IS_PLUS = 2, TL_IS_MINUS = 4 };
static inline int tl_exact_product(double x, double y, int64_t part[2], int *at, int *negative)
{
    uint64_t m[2];
    int place[2], minus[2];
    const int finite = tl_exact_split(x, &m[0], &place[0], &minus[0]) &
                       tl_exact_split(y, &m[1], &place[1], &minus[1]);
    *negative = minus[0] ^ minus[1];
    part[0] = part[1] = *at = 0;
    if (__builtin_expect(!finite, 0)) {
        const int none = x == 0 || y == 0;
        if (x != x || y != y) return TL_IS_NAN;
        return (none || !*negative ? TL_IS_PLUS : 0) | (none || *negative ? TL_IS_MINUS : 0);
    }
    const unsigned __int128 product = (unsigned __int128)m[0] * m[1];
    part[0] = (int64_t)(product & (((uint64_t)1 << 53) - 1));
    part[1] = (int64_t)(product >> 53);
    *at = place[0] + place[1] + TL_EXACT_UNIT - 2 * 1074;
    return 0;
}

/* Adds or subtracts the product x y, without counting it. */
void tl_exact_pair(tl_exact *e, double x, double y, int64_t sign);

/* Adds or subtracts a row, one element or one pair, to every sum of a state, without counting it.
 * A row with a NaN is counted as one NaN. tl_exact_whole_row: elements of 64 bits. */
void tl_exact_row(tl_exact *e, int needs, double x, double y, int64_t sign);
void tl_exact_whole_row(tl_exact *e, const tl_exact_form *form, uint64_t x, uint64_t y,
                        int64_t sign);

/* Adds magnitude 2^at, negated if `negative`. */
void tl_exact_put_whole(tl_exact *e, unsigned __int128 magnitude, int at, int negative);

/* Propagates carries; then TL_EXACT_MOST elements may be added. */
void tl_exact_carry(tl_exact *e);

/* to = to + from (sign 1), or to - from (sign -1). */
void tl_exact_join(tl_exact *to, const tl_exact *from, int sums, int sign);

/* The statistic of the elements (nan forms: not NaN), rounded once to nearest even, as
 * form->scalar.out, f32 or f64. ddof: of those with that parameter. 0 if a quotient has no value,
 * as that of too few elements; it is NaN. */
int tl_exact_lower(const tl_exact *e, const tl_exact_form *form, double ddof, void *out);

/* Convert from and to the plain data of tally.h. pack writes the same bytes for every order of the
 * elements. */
void tl_exact_unpack(tl_exact *e, const tally_exact *from);
void tl_exact_pack(const tl_exact *e, tally_exact *to);

/* Write and read any sum as TL_EXACT_BYTES bytes: the numbers of rows, NaN, inf and -inf, and all
 * digits, in two's complement. 0 if a number is not 0 .. most. */
enum { TL_EXACT_BYTES = 4 * 8 + 4 * TL_EXACT_BINS };
void tl_exact_write(const tl_exact *e, unsigned char *to);
int tl_exact_read(tl_exact *e, const unsigned char *from, int64_t most);

/* ---- ratio.c ---- */

/* Integers of many digits, with the operations that a statistic of exact sums needs. Everything is
 * an integer until the quotient, which is rounded once. */

/* 544 digits for the square of a sum of products of sums (8704 bits each, see tl_number), and a
 * carry. */
enum { TL_NUMBER_DIGITS = 576 };

/* +-(digit[0] + digit[1] 2^32 + ...) 2^exponent; size 0: zero. The last digit is not 0. A sum of
 * elements has at most 136 digits, a product of two sums 272. */
typedef struct {
    int negative, size, exponent;
    uint32_t digit[TL_NUMBER_DIGITS];
} tl_number;

void tl_number_of_integer(tl_number *r, uint64_t n);

/* The last step of a sum: adds `carry` after the digits of r, which are not negative. */
void tl_number_finish(tl_number *r, __int128 carry);

/* r = a * b. r must be neither a nor b. */
void tl_number_multiply(tl_number *r, const tl_number *a, const tl_number *b);

/* *a = *a - *b. */
void tl_number_subtract(tl_number *a, const tl_number *b);

/* a / n, rounded once to nearest even. Requires: n > 0. */
void tl_number_round(const tl_number *a, uint64_t n, tally_dtype dtype, void *value);

/* a / b, or with `root` the square root of |a / b| with the sign of a, rounded once to nearest
 * even. dtype: TALLY_F32 or TALLY_F64. Requires: b > 0. Both are overwritten. */
void tl_ratio(tl_number *a, tl_number *b, int root, tally_dtype dtype, void *value);

/* ---- statistics ---- */

/* The NaN of a result. */
void tl_statistic_nan(tally_dtype dtype, void *value);

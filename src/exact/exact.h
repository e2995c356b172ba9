/* SPDX-License-Identifier: MIT
 * An exact sum under way. All finite f16, bf16, f32 and f64 are integers times 2^-1074, and
 * products of two of them integers times 2^-2148, so their sum is one integer:
 *
 *     bin[0] 2^0 + bin[1] 2^32 + ... + bin[133] 2^(32 133)     times 2^-2162
 *
 * bin[34] is worth 2^-1074, the first digit of a tally_exact. An element of 53 bits, shifted by
 * 0..31, is below 2^84, and a bin has 127 bits: 2^43 elements may be added to one bin before a
 * carry is due, and TL_EXACT_MOST of them are; a product is two of them. NaN and infinities are
 * counted beside the bins. */
#ifndef TALLY_EXACT_H
#define TALLY_EXACT_H
#include "operator/kernel.h"
#include <string.h>

enum {
    TL_EXACT_LOW = 34, /* bins below those of tally_exact, for products */
    /* 2176 bits: 2098 of one f64, 63 for as many elements as there can be, and the sign */
    TL_EXACT_DIGITS = 68,
    TL_EXACT_BINS = 134, /* 4288 bits: 14 unused, 4196 of one product, 63 and the sign */
    TL_EXACT_UNIT = 1074 + 32 * TL_EXACT_LOW,
    TL_EXACT_NAN = TL_EXACT_DIGITS, /* the words of tally_exact behind the digits */
    TL_EXACT_PLUS,
    TL_EXACT_MINUS,
    TL_EXACT_COUNT,
    TL_EXACT_WORDS
};
#define TL_EXACT_MOST ((int64_t)1 << 40)

typedef __int128 tl_wide_int;

/* What the next block of elements is expected to be (cpu/exact/reduce.c): below 2^(top + 1),
 * with NaNs among them or not; how many of the last tries failed, and blocks until the next try;
 * far, wide: the same of tries with one level fewer. */
typedef struct tl_exact_guess {
    int top, without, failed, pause, far, wide;
} tl_exact_guess;

typedef struct tl_exact {
    tl_wide_int bin[TL_EXACT_BINS];
    int low, high;              /* the bins that may not be zero: low .. high */
    int64_t plus, minus;        /* elements that are +inf, -inf, */
    int64_t nan, count;         /* NaN, and all of them */
    int64_t waiting;            /* elements since carries were last made */
    tl_exact_guess guess, rest; /* rest: of what products were rounded by */
} tl_exact;

/* What an exact operator is: a row as other operators have it, of which only the facts and
   `empty` are there. */
typedef struct tl_exact_form {
    tl_scalar scalar; /* state_bytes 0: no tl_state can hold it */
    int mean;         /* the sum divided by the number of elements */
    /* a call's own copy: an element of -0 is left out, and none that is there is -0 */
    int leaves_out;
} tl_exact_form;

/* The form of an operator's row; NULL: it is no exact sum. */
static inline const tl_exact_form *tl_exact_form_of(const tl_scalar *op)
{
    return op->state_bytes ? NULL : (const tl_exact_form *)op;
}

/* The row of NAME:exact ("sum", "nanmean") for elements of dtype; acc 0: the default, TALLY_F64:
 * as with the suffix f64. NULL: there is none. what: NULL, or its line for people; none: NULL,
 * or what no elements give. */
const tl_scalar *tl_exact_find(const char *name, size_t length, tally_dtype dtype, tally_dtype acc,
                               const char **what, const char **none);

/* The row of the same elements and inputs that stands for all of them: of the plain sum, as f64. */
const tl_scalar *tl_exact_common(const tl_scalar *op);

static inline void tl_exact_begin(tl_exact *e)
{
    memset(e, 0, sizeof *e);
    e->low = TL_EXACT_BINS;
    e->high = -1;
}

/* The sum of nothing again, for elements like those before. */
static inline void tl_exact_clear(tl_exact *e)
{
    if (e->low <= e->high)
        memset(&e->bin[e->low], 0, (size_t)(e->high - e->low + 1) * sizeof *e->bin);
    e->low = TL_EXACT_BINS;
    e->high = -1;
    e->plus = e->minus = e->nan = e->count = e->waiting = 0;
}

/* An integer times 2^(at - TL_EXACT_UNIT), 0 <= at < 4224, |value| < 2^64. The caller counts. */
static inline void tl_exact_put(tl_exact *e, int64_t value, int at)
{
    const int k = at >> 5;
    e->bin[k] += (tl_wide_int)((unsigned __int128)value << (at & 31));
    if (k < e->low) e->low = k;
    if (k > e->high) e->high = k;
}

/* One element more (sign 1) or less (sign -1), without the count. */
static inline void tl_exact_element(tl_exact *e, double x, int64_t sign)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52) & 2047;
    int64_t m = (int64_t)(bits & (((uint64_t)1 << 52) - 1));
    const int64_t s = (int64_t)bits >> 63 ^ (sign >> 1); /* 0 or -1 */
    if (__builtin_expect(exponent == 2047, 0)) {
        if (m)
            e->nan += sign;
        else if (bits >> 63)
            e->minus += sign;
        else
            e->plus += sign;
        return;
    }
    const int at = 32 * TL_EXACT_LOW + (exponent ? exponent - 1 : 0);
    m |= (int64_t)(exponent != 0) << 52;
    tl_exact_put(e, (m ^ s) - s, at);
}

/* One product x y more or less, without the count. */
void tl_exact_pair(tl_exact *e, double x, double y, int64_t sign);

/* Makes the carries, so that TL_EXACT_MOST elements may follow. */
void tl_exact_carry(tl_exact *e);
/* `to` becomes to + from (sign 1) or to - from (sign -1). */
void tl_exact_join(tl_exact *to, const tl_exact *from, int sign);

/* The sum (form->mean: the mean of the elements, in a nan form of those that are not NaN),
 * rounded once to nearest even to form->scalar.out, which is f32 or f64. */
void tl_exact_lower(const tl_exact *e, const tl_exact_form *form, void *out);

/* From and to the plain data of tally.h; pack gives each sum one form, whatever the order of its
   elements was. */
void tl_exact_unpack(tl_exact *e, const tally_exact *from);
void tl_exact_pack(const tl_exact *e, tally_exact *to);
#endif

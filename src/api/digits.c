/* SPDX-License-Identifier: MIT
 * tally_digits: an exact sum with only as many digits as its values need, and statistics of such
 * sums.
 *
 *    digit[0] 2^(32 first - 2162) + digit[1] 2^(32 (first + 1) - 2162) + ...
 *
 * Digits have 64 bits, and a value changes a digit by less than 2^32, so carries are propagated
 * only once per 2^29 values. A sum has one more digit at the top than its values reach, so the
 * sum of 2^63 values does not overflow it. */
#include "tally_digits.h"
#include "context/context.h"
#include "exact/exact.h"
#include <assert.h>
#include <stddef.h>

enum {
    DIGITS_MOST = 136,     /* after the last digit of a product, 129 + 5 */
    OF_VALUE = 4,          /* 53 bits shifted by 0..31, and a digit for carries */
    OF_PRODUCT = 6,        /* 106 bits shifted by 0..31, and a digit for carries */
    WAITING_MOST = 1 << 29 /* values below 2^32, in a digit of 63 bits */
};

/* The limit of a valid digit: two such digits and WAITING_MOST values fit 64 bits. */
#define DIGIT_MOST ((int64_t)1 << 61)

static int64_t *digits_of(tally_digits *d) { return (int64_t *)(d + 1); }
static const int64_t *const_digits(const tally_digits *d) { return (const int64_t *)(d + 1); }

/* Adds modulo 2^64. Only sums of invalid states wrap. */
static int64_t wrapped(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* Propagates carries: all digits but the last become less than 2^32. */
static void carry(tally_digits *d)
{
    assert(d->used >= 0 && d->used <= d->room);
    int64_t *const digit = digits_of(d), more = 0;
    for (int k = 0; k < d->used; k++) {
        more = wrapped(digit[k], more);
        if (k == d->used - 1) {
            digit[k] = more; /* the last digit has the sign */
            break;
        }
        digit[k] = (uint32_t)more;
        more >>= 32;
    }
    d->waiting = 0;
}

/* Extends d to have the digits from .. to - 1. Returns 0, or the capacity that d then needs. */
static int32_t extend(tally_digits *d, int from, int to)
{
    assert(from <= to);
    int64_t *const digit = digits_of(d);
    if (!d->used) d->first = from;
    const int low = d->first < from ? d->first : from,
              high = d->first + d->used > to ? d->first + d->used : to, up = d->first - low,
              span = high - low;
    if (span > d->room) return span;

    if (d->used && up) {
        memmove(digit + up, digit, (size_t)d->used * sizeof *digit);
        memset(digit, 0, (size_t)up * sizeof *digit);
    }

    memset(digit + up + d->used, 0, (size_t)(span - up - d->used) * sizeof *digit);
    d->first = low;
    d->used = span;
    return 0;
}

/* Like extend. Most values find their digits in d. */
static inline int32_t cover(tally_digits *d, int from, int to)
{
    return d->first <= from && to <= d->first + d->used ? 0 : extend(d, from, to);
}

/* Adds value 2^(at - TL_EXACT_UNIT), negated if s is -1; s is 0 or -1. */
static inline void add_at(tally_digits *d, uint64_t value, int at, int64_t s)
{
    const unsigned __int128 v = (unsigned __int128)value << (at & 31);
    int64_t *const digit = digits_of(d) + ((at >> 5) - d->first);
    digit[0] = wrapped(digit[0], ((int64_t)(uint32_t)v ^ s) - s);
    digit[1] = wrapped(digit[1], ((int64_t)(uint32_t)(v >> 32) ^ s) - s);
    digit[2] = wrapped(digit[2], ((int64_t)(v >> 64) ^ s) - s);
}

/* Counts a value, and in *which a NaN or an infinity. */
static void count(tally_digits *d, int64_t *which, int sign)
{
    *which = wrapped(*which, sign);
    d->count = wrapped(d->count, sign);
}

int32_t tally_digits_add(tally_digits *d, double x, int sign)
{
    uint64_t m;
    int at, negative;
    if (__builtin_expect(!tl_exact_split(x, &m, &at, &negative), 0)) {
        count(d, x != x ? &d->nan : negative ? &d->minus : &d->plus, sign);
        return 0;
    }

    at += 32 * TL_EXACT_LOW;
    const int from = at >> 5;
    if (m) {
        const int32_t error = cover(d, from, from + OF_VALUE);
        if (error) return error;
        add_at(d, m, at, -(int64_t)negative ^ (sign >> 1));
        if (++d->waiting >= WAITING_MOST) carry(d);
    }

    d->count = wrapped(d->count, sign);
    return 0;
}

int32_t tally_digits_add_product(tally_digits *d, double x, double y, int sign)
{
    int64_t part[2];
    int at, negative;
    const int what = tl_exact_product(x, y, part, &at, &negative);
    if (what & TL_IS_NAN) d->nan = wrapped(d->nan, sign);
    if (what & TL_IS_PLUS) d->plus = wrapped(d->plus, sign);
    if (what & TL_IS_MINUS) d->minus = wrapped(d->minus, sign);
    if (!what && (part[0] | part[1])) {
        const int32_t error = cover(d, at >> 5, (at >> 5) + OF_PRODUCT);
        if (error) return error;

        const int64_t s = -(int64_t)negative ^ (sign >> 1);
        add_at(d, (uint64_t)part[0], at, s);
        add_at(d, (uint64_t)part[1], at + 53, s);
        d->waiting += 2;
        if (d->waiting >= WAITING_MOST) carry(d);
    }

    d->count = wrapped(d->count, sign);
    return 0;
}

int32_t tally_digits_merge(tally_digits *d, const tally_digits *other, int sign)
{
    const int64_t s = sign >> 1, *const from = const_digits(other);
    if (other->used) {
        const int32_t need = extend(d, other->first, other->first + other->used);
        if (need) return need;
        carry(d);
        int64_t *const digit = digits_of(d) + (other->first - d->first);
        for (int k = 0; k < other->used; k++)
            digit[k] = wrapped(digit[k], wrapped(from[k] ^ s, -s));
        carry(d);
    }

    d->count = wrapped(d->count, wrapped(other->count ^ s, -s));
    d->nan = wrapped(d->nan, wrapped(other->nan ^ s, -s));
    d->plus = wrapped(d->plus, wrapped(other->plus ^ s, -s));
    d->minus = wrapped(d->minus, wrapped(other->minus ^ s, -s));
    return 0;
}

int tally_digits_sound(const void *data, size_t bytes)
{
    tally_digits d;
    int64_t digit;
    if (!data || bytes < sizeof d) return 0;

    memcpy(&d, data, sizeof d);
    if (d.used < 0 || d.first < 0 || d.first > DIGITS_MOST || d.used > DIGITS_MOST - d.first ||
        d.waiting >= WAITING_MOST || bytes != tally_digits_bytes(d.used))
        return 0;
    for (int k = 0; k < d.used; k++) {
        memcpy(&digit, (const char *)data + tally_digits_bytes(k), sizeof digit);
        if (digit >= DIGIT_MOST || digit <= -DIGIT_MOST) return 0;
    }
    return 1;
}

/* Converts the finite part of a sum to bins, of which it sets only low .. high. */
static void open_bins(const tally_digits *d, tl_exact *e)
{
    const int most = TL_EXACT_BINS - 1,
              end = d->first + d->used; /* no value reaches a higher bin */
    e->low = d->first < most ? d->first : most;
    e->high = end - 1 < most ? end - 1 : most;
    for (int k = e->low; k <= e->high; k++) e->bin[k] = 0;
    for (int k = d->first; k < end; k++) {
        const int bin = k < most ? k : most;
        e->bin[bin] += const_digits(d)[k - d->first] * ((tl_wide_int)1 << 32 * (k - bin));
    }
    e->plus = d->plus;
    e->minus = d->minus;
    e->nan = d->nan;
    e->count = d->count;
}

tally_status tally_digits_exact(const tally_digits *d, tally_exact *sum)
{
    tl_exact e;
    if (!d || !sum) return tl_invalid(NULL, "%s is NULL", d ? "sum" : "d");
    tl_exact_begin(&e, 1);
    open_bins(d, &e);
    tl_exact_carry(&e);
    for (int k = 0; k < TL_EXACT_LOW; k++)
        if (e.bin[k])
            return tl_invalid(
                NULL, "d is a sum of products below 2^-1074: a tally_exact has no digits there");
    tl_exact_pack(&e, sum);

    return TALLY_OK;
}

int32_t tally_digits_merge_exact(tally_digits *d, const tally_exact *sum, int sign)
{
    struct {
        tally_digits head;
        int64_t digit[TL_EXACT_DIGITS];
    } other = {.head = {.room = TL_EXACT_DIGITS}};
    tally_exact settled = {{0}};
    tally_exact_merge(&settled, sum);
    int low = 0, high = TL_EXACT_DIGITS;
    while (low < high && !settled.word[low]) low++;
    while (high > low && !settled.word[high - 1]) high--;
    other.head.first = TL_EXACT_LOW + low;
    other.head.used = high - low;
    memcpy(digits_of(&other.head), settled.word + low, (size_t)(high - low) * sizeof(int64_t));
    other.head.count = settled.word[TL_EXACT_COUNT];
    other.head.nan = settled.word[TL_EXACT_NAN];
    other.head.plus = settled.word[TL_EXACT_PLUS];
    other.head.minus = settled.word[TL_EXACT_MINUS];

    return tally_digits_merge(d, &other.head, sign);
}

_Static_assert((int)TALLY_NEEDS_X == TL_X && (int)TALLY_NEEDS_Y == TL_Y &&
                   (int)TALLY_NEEDS_XX == TL_XX && (int)TALLY_NEEDS_YY == TL_YY &&
                   (int)TALLY_NEEDS_XY == TL_XY,
               "the same bits");

static const struct {
    const char *name;
    int ddof;
} statistics[] = {
    [TALLY_SUM] = {"sum", 0},        [TALLY_MEAN] = {"mean", 0},
    [TALLY_DOT] = {"dot", 0},        [TALLY_WEIGHTED_MEAN] = {"wmean", 0},
    [TALLY_VAR_POP] = {"var", 0},    [TALLY_VAR_SAMP] = {"var", 1},
    [TALLY_STDDEV_POP] = {"std", 0}, [TALLY_STDDEV_SAMP] = {"std", 1},
    [TALLY_COVAR_POP] = {"cov", 0},  [TALLY_COVAR_SAMP] = {"cov", 1},
    [TALLY_CORR] = {"corr", 0},      [TALLY_SLOPE] = {"slope", 0},
};

/* The exact operator of a statistic; NULL: there is none. */
static const tl_exact_form *form_of(tally_statistic which)
{
    if ((unsigned)which >= sizeof statistics / sizeof *statistics) return NULL;
    const char *const name = statistics[which].name;
    return tl_exact_form_of(tl_exact_find(name, strlen(name), TALLY_F64, 0, NULL, NULL));
}

int tally_statistic_needs(tally_statistic which)
{
    const tl_exact_form *const form = form_of(which);
    return form ? form->what.needs : 0;
}

int tally_statistic_value(tally_statistic which, const tally_sums *sums, tally_dtype dtype,
                          void *value)
{
    const tl_exact_form *const found = form_of(which);
    if (!found || !sums || !value || (dtype != TALLY_F32 && dtype != TALLY_F64)) return 0;

    const tally_digits *const given[] = {sums->x, sums->y, sums->xx, sums->yy, sums->xy};
    const int needs = found->what.needs, ddof = statistics[which].ddof;
    tl_exact_form form = *found;
    form.scalar.out = dtype;
    tl_exact e[TL_SUMS];
    int64_t nan = 0, count = 0;
    tl_statistic_nan(dtype, value);

    for (int k = 0, sum = 0; k < TL_SUMS; k++) {
        if (!(needs >> k & 1)) continue;
        if (!given[k]) return 0;
        open_bins(given[k], &e[sum++]);
        nan |= given[k]->nan;
        count = given[k]->count;
    }

    e[0].nan = nan;
    e[0].count = count;
    return count > ddof && tl_exact_lower(e, &form, ddof, value);
}

/* SPDX-License-Identifier: MIT
 * Exact sums: carries, and the value, which is computed from digits of 32 bits, least significant
 * first:
 *
 *   bins --carries--> digits of |sum| --divide--> digits --round once--> f32 or f64
 *                                    (mean; 64 bits longer) */
#include "exact.h"

void tl_exact_carry(tl_exact *e)
{
    tl_wide_int carry = 0;
    e->waiting = 0;
    if (e->low > e->high) return;

    for (int k = e->low;; k++) {
        carry += e->bin[k];

        /* The last bin keeps its sign, so no bin above it is needed for a negative sum. */
        if (k == TL_EXACT_BINS - 1 || (k >= e->high && carry >> 33 == carry >> 127)) {
            e->bin[k] = carry;
            if (k > e->high) e->high = k;
            return;
        }

        e->bin[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Counts that a caller supplies may have any value, so they wrap. */
static void count(int64_t *to, int64_t more, int sign)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)sign * (uint64_t)more);
}

void tl_exact_join(tl_exact *to, const tl_exact *from, int sums, int sign)
{
    assert(to != from && (sign == 1 || sign == -1));
    for (const tl_exact *const end = from + sums; from < end; from++, to++) {
        tl_exact_carry(to);
        for (int k = from->low; k <= from->high; k++) to->bin[k] += sign * from->bin[k];
        if (from->low < to->low) to->low = from->low;
        if (from->high > to->high) to->high = from->high;
        count(&to->plus, from->plus, sign);
        count(&to->minus, from->minus, sign);
        count(&to->nan, from->nan, sign);
        count(&to->count, from->count, sign);
        tl_exact_carry(to);
    }
}

/* The bits of x as an integer below 2^53, times 2^(*at - 1074). 0: x is not finite. */
static int integer(double x, uint64_t *m, int *at, int *negative)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52) & 2047;
    *negative = (int)(bits >> 63);
    *m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(exponent != 0) << 52;
    *at = exponent ? exponent - 1 : 0;
    return exponent != 2047;
}

void tl_exact_pair(tl_exact *e, double x, double y, int64_t sign)
{
    uint64_t m[2];
    int at[2], negative[2];
    const int finite =
        integer(x, &m[0], &at[0], &negative[0]) & integer(y, &m[1], &at[1], &negative[1]);
    int minus = negative[0] ^ negative[1];

    if (__builtin_expect(finite, 1)) {
        /* below 2^106: as two integers of 53 bits */
        const unsigned __int128 product = (unsigned __int128)m[0] * m[1];
        const int64_t low = (int64_t)(product & (((uint64_t)1 << 53) - 1)),
                      high = (int64_t)(product >> 53);
        const int from = at[0] + at[1] + TL_EXACT_UNIT - 2 * 1074;
        minus ^= sign < 0;
        tl_exact_put(e, minus ? -low : low, from);
        tl_exact_put(e, minus ? -high : high, from + 53);
    } else if (x != x || y != y) {
        e->nan += sign;
    } else { /* infinity times 0 has no value: counted as both infinities */
        const int none = x == 0 || y == 0;
        if (none || !minus) e->plus += sign;
        if (none || minus) e->minus += sign;
    }
}

void tl_exact_row(tl_exact *e, int needs, double x, double y, int64_t sign)
{
    if (__builtin_expect(x != x || y != y, 0)) {
        e->nan += sign;
        return;
    }
    if (needs & TL_X) tl_exact_element(e++, x, sign);
    if (needs & TL_Y) tl_exact_element(e++, y, sign);
    if (needs & TL_XX) tl_exact_pair(e++, x, x, sign);
    if (needs & TL_YY) tl_exact_pair(e++, y, y, sign);
    if (needs & TL_XY) tl_exact_pair(e++, x, y, sign);
}

/* ---- integers of 64 bits ---- */

void tl_exact_put_whole(tl_exact *e, unsigned __int128 m, int at, int negative)
{
    enum { BITS = 53 }; /* as many as an element has */
    for (at += TL_EXACT_UNIT; m; m >>= BITS, at += BITS) {
        const int64_t part = (int64_t)m & (((int64_t)1 << BITS) - 1);
        tl_exact_put(e, negative ? -part : part, at);
    }
}

void tl_exact_whole_row(tl_exact *e, const tl_exact_form *form, uint64_t x, uint64_t y,
                        int64_t sign)
{
    const int needs = form->what.needs, below = sign < 0, is_signed = form->whole == 1,
              less = is_signed && x >> 63, fewer = is_signed && y >> 63;
    const unsigned __int128 a = less ? -x : x, b = fewer ? -y : y;
    assert(form->whole);
    if (needs & TL_X) tl_exact_put_whole(e++, a, 0, less ^ below);
    if (needs & TL_Y) tl_exact_put_whole(e++, b, 0, fewer ^ below);
    if (needs & TL_XX) tl_exact_put_whole(e++, a * a, 0, below);
    if (needs & TL_YY) tl_exact_put_whole(e++, b * b, 0, below);
    if (needs & TL_XY) tl_exact_put_whole(e++, a * b, 0, less ^ fewer ^ below);
}

/* ---- the value ---- */

/* A number: digit[low] .. digit[top - 1], least significant first, times 2^-TL_EXACT_UNIT. Digits
 * below those of tally_exact hold the fraction of a quotient, or bits of products. */
enum { DIGITS = TL_EXACT_BINS + 6 };

typedef struct {
    uint32_t digit[DIGITS];
    int low, top;
    int more; /* 1: the value is larger, by less than the unit of the lowest digit */
} number;

/* d = |sum|. Returns 1 if the sum is negative. */
static int magnitude(const tl_exact *e, number *d)
{
    tl_wide_int carry = 0;
    int k = e->low;
    uint32_t *const digit = d->digit;

    d->more = 0;
    d->low = k;
    for (; k <= e->high; k++) {
        carry += e->bin[k];
        digit[k] = (uint32_t)carry;
        carry >>= 32;
    }

    const int negative = carry < 0;
    for (; carry != -negative; carry >>= 32) digit[k++] = (uint32_t)carry;
    if (negative) {
        uint64_t one = 1;
        digit[k++] = UINT32_MAX; /* -2^m has m zeros below it */
        for (int j = e->low; j < k; j++) {
            one += (uint32_t)~digit[j];
            digit[j] = (uint32_t)one;
            one >>= 32;
        }
    }

    while (k > e->low && !digit[k - 1]) k--;
    d->top = k;
    return negative;
}

/* d = d / n. A quotient begins at most 3 digits below the first digit of d. It gets 8 digits from
 * there on, which is enough for rounding; `more` says whether there is a remainder. */
static void divide(number *d, uint64_t n)
{
    const int end = d->top > 8 ? d->top - 8 : 0;
    unsigned __int128 rest = 0;

    while (d->low > end) d->digit[--d->low] = 0;
    if (n >> 32) {
        for (int j = d->top; j-- > end;) {
            rest = rest << 32 | d->digit[j];
            d->digit[j] = (uint32_t)(rest / n);
            rest %= n;
        }
    } else {
        uint64_t left = 0; /* below n */
        for (int j = d->top; j-- > end;) {
            left = left << 32 | d->digit[j];
            d->digit[j] = (uint32_t)(left / n);
            left %= n;
        }

        rest = left;
    }

    d->more = rest != 0;
    for (int j = d->low; j < end && !d->more; j++) d->more = d->digit[j] != 0;
    d->low = end;
    while (d->top > d->low && !d->digit[d->top - 1]) d->top--;
}

/* Rounds d to nearest even, and returns the bits. The format has `mantissa` bits
 * after the first, the unit 2^(unit - 1074), and the exponent `most` for infinity. */
static uint64_t round_to(const number *d, int mantissa, int unit, uint64_t most)
{
    const int last = d->top - 1;
    assert(last >= d->low && d->digit[last]);

    /* the position of the first bit */
    const int first = 32 * last + 31 - __builtin_clz(d->digit[last]);
    const int least = 32 * TL_EXACT_LOW + unit;

    /* the position of the last bit that is kept */
    const int at = first - mantissa > least ? first - mantissa : least;

    /* the 32 bits below `at`, and the bits from `at` on: at most 54 */
    const int digit = at >> 5, shift = at & 31;
#define DIGIT(j) ((j) >= d->low && (j) < d->top ? (uint64_t)d->digit[j] : 0)
    uint64_t m = DIGIT(digit) >> shift | DIGIT(digit + 1) << (32 - shift);
    if (shift) m |= DIGIT(digit + 2) << (64 - shift);
    const uint64_t below =
        shift ? (DIGIT(digit) << (32 - shift) & UINT32_MAX) | DIGIT(digit - 1) >> shift
              : DIGIT(digit - 1);
    int more = d->more || (shift && DIGIT(digit - 1) << (32 - shift) & UINT32_MAX);
    for (int j = digit - 2; j >= d->low && !more; j--) more = j < d->top && d->digit[j] != 0;
#undef DIGIT
    const uint64_t half = (uint64_t)1 << 31;
    m += below > half || (below == half && (more || (m & 1)));

    /* The first bit of m is at `mantissa`, or m is subnormal. That bit, and a carry, add to the
     * exponent. */
    const uint64_t exponent = (uint64_t)(at - least);
    if (exponent >= most) return most << mantissa;

    const uint64_t bits = (exponent << mantissa) + m;
    return bits >> mantissa >= most ? most << mantissa : bits;
}

static void store(uint64_t bits, int negative, tally_dtype dtype, void *out)
{
    if (dtype == TALLY_F64) {
        bits |= (uint64_t)negative << 63;
        memcpy(out, &bits, 8);
    } else {
        const uint32_t narrow = (uint32_t)bits | (uint32_t)negative << 31;
        memcpy(out, &narrow, 4);
    }
}

/* A sum alone, or over n. */
static void lower_one(const tl_exact *e, const tl_exact_form *form, int64_t n, void *out)
{
    const tl_scalar *op = &form->scalar;
    const int wide = op->out == TALLY_F64, mantissa = wide ? 52 : 23,
              mean = form->what.quotient == TL_OVER_COUNT;
    const uint64_t most = wide ? 2047 : 255;

    if ((mean && n <= 0) || (e->nan && !op->masked) || (e->plus && e->minus)) {
        store(most << mantissa | (uint64_t)1 << (mantissa - 1), 0, op->out, out);
        return;
    }

    if (e->plus || e->minus) {
        store(most << mantissa, e->minus != 0, op->out, out);
        return;
    }

    number d;
    int negative = e->low <= e->high && magnitude(e, &d);
    uint64_t bits = 0;

    if (e->low <= e->high && d.top > d.low) {
        if (mean) divide(&d, (uint64_t)n);
        if (d.top > d.low) bits = round_to(&d, mantissa, wide ? 0 : 1074 - 149, most);
    }

    store(bits, bits ? negative : 0, op->out, out); /* never -0, not even if a mean rounds to 0 */
}

static void number_of(const tl_exact *e, tl_number *r)
{
    number d;
    r->negative = r->size = r->exponent = 0;
    if (e->low > e->high) return;
    r->negative = magnitude(e, &d);
    r->size = d.top - d.low;
    r->exponent = 32 * d.low - TL_EXACT_UNIT;
    if (!r->size) r->negative = 0;
    memcpy(r->digit, d.digit + d.low, (size_t)r->size * sizeof *r->digit);
}

/* A weighted mean of infinite values. */
static void lower_special(const tl_exact *y, const tl_exact *xy, tally_dtype dtype, void *out)
{
    static const tl_exact_form sum = {.scalar = {.out = TALLY_F64, .masked = 1}};
    double a, b;
    lower_one(xy, &sum, 0, &a);
    lower_one(y, &sum, 0, &b);
    tl_statistic_divide(a, b, dtype, out);
}

void tl_exact_lower(const tl_exact *e, const tl_exact_form *form, double ddof, void *out)
{
    const tl_statistic what = form->what;
    const tally_dtype dtype = form->scalar.out;
    int64_t n = e->count;
    int infinite = 0;

    if (form->scalar.masked) count(&n, e->nan, -1);
    for (int k = 0; k < form->sums; k++) infinite |= e[k].plus || e[k].minus;

    if ((what.quotient == TL_ALONE && (!what.root || infinite)) || what.quotient == TL_OVER_COUNT) {
        lower_one(e, form, n, out);
    } else if ((e->nan && !form->scalar.masked) || (infinite && what.quotient != TL_XY_OVER_Y)) {
        tl_statistic_nan(dtype, out);
    } else if (infinite) {
        lower_special(&e[0], &e[1], dtype, out);
    } else {
        tl_number sum[TL_SUMS];
        for (int bit = 0; bit < TL_SUMS; bit++)
            if (what.needs >> bit & 1) number_of(e++, &sum[bit]);
        if (!tl_statistic_value(what, sum, n, ddof, dtype, out)) tl_statistic_nan(dtype, out);
    }
}

/* ---- plain data ---- */

void tl_exact_unpack(tl_exact *e, const tally_exact *from)
{
    tl_exact_begin(e, 1);
    for (int k = 0; k < TL_EXACT_DIGITS; k++) {
        const int to = TL_EXACT_LOW + k;
        if (!from->word[k]) continue;
        e->bin[to] = from->word[k];
        if (e->high < 0) e->low = to;
        e->high = to;
    }
    e->nan = from->word[TL_EXACT_NAN];
    e->plus = from->word[TL_EXACT_PLUS];
    e->minus = from->word[TL_EXACT_MINUS];
    e->count = from->word[TL_EXACT_COUNT];
}

void tl_exact_pack(const tl_exact *e, tally_exact *to)
{
    tl_wide_int carry = 0;
    const tl_wide_int *const bin = &e->bin[TL_EXACT_LOW];
    const int last = TL_EXACT_DIGITS - 1;

    for (int k = 0; k < last; k++) {
        carry += bin[k];
        to->word[k] = (uint32_t)carry;
        carry >>= 32;
    }

    to->word[last] = (int64_t)((uint64_t)(carry + bin[last]) + ((uint64_t)bin[last + 1] << 32));
    to->word[TL_EXACT_NAN] = e->nan;
    to->word[TL_EXACT_PLUS] = e->plus;
    to->word[TL_EXACT_MINUS] = e->minus;
    to->word[TL_EXACT_COUNT] = e->count;
}

void tl_exact_write(const tl_exact *e, unsigned char *to)
{
    const int64_t counts[] = {e->count, e->nan, e->plus, e->minus};
    tl_wide_int carry = 0;
    memcpy(to, counts, sizeof counts);
    to += sizeof counts;
    for (int k = 0; k < TL_EXACT_BINS; k++, carry >>= 32, to += 4) {
        carry += e->bin[k];
        memcpy(to, &(uint32_t){(uint32_t)carry}, 4);
    }
}

int tl_exact_read(tl_exact *e, const unsigned char *from, int64_t most)
{
    int64_t counts[4];
    int32_t last;
    tl_exact_begin(e, 1);
    memcpy(counts, from, sizeof counts);
    from += sizeof counts;
    for (int k = 0; k < TL_EXACT_BINS; k++) {
        uint32_t digit;
        memcpy(&digit, from + 4 * k, sizeof digit);
        e->bin[k] = digit;
    }

    memcpy(&last, from + 4 * (TL_EXACT_BINS - 1), sizeof last);
    e->bin[TL_EXACT_BINS - 1] = last; /* it has the sign */
    e->low = 0, e->high = TL_EXACT_BINS - 1;
    e->count = counts[0], e->nan = counts[1], e->plus = counts[2], e->minus = counts[3];
    int good = 1;
    for (int k = 0; k < 4; k++) good &= counts[k] >= 0 && counts[k] <= most;
    return good;
}

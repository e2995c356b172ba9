/* SPDX-License-Identifier: MIT
 * The value of an exact sum from its bins (sum.cl), like tl_exact_lower in src/exact/exact.c. One
 * lane computes it. */
#define DIGIT(k) bins[2 * (k)]
#define EXACT_COUNT(word) ((i64)((u64)bins[(word) + 1] << 32 | bins[word]))
fn u64 digit_at(LOCAL const u32 *bins, int k) { return k >= 0 && k < EXACT_DIGITS ? DIGIT(k) : 0; }

/* Marks the nonzero digits in the words after the bins. Lane t of `lanes` (a power of 2) does its
 * share. */
fn void exact_mark(LOCAL u32 *bins, int t, int lanes)
{
    for (int m = 0; m < EXACT_MASKS; m++) {
        u32 bits = 0;
        for (int k = 32 * m + t; k < 32 * (m + 1) && k < EXACT_DIGITS; k += lanes)
            if (bins[2 * k] | bins[2 * k + 1]) bits |= 1u << (k & 31);
        if (bits) OR_LOCAL(&bins[EXACT_WORDS + m], bits);
    }
}

/* The digits `low` to *top - 1 of |sum| from the bins `low` to `high`. 1: the sum is negative. */
fn int exact_magnitude(LOCAL u32 *bins, int low, int high, int *top)
{
    i64 carry = 0;
    u64 one = 1;
    int k = low;

    for (; k < EXACT_DIGITS && (k <= high || (carry != 0 && carry != -1)); k++) {
        carry += (i64)DIGIT(k);
        DIGIT(k) = (u32)carry;
        carry = (carry >> 32) + (i64)(i32)bins[2 * k + 1];
    }

    if (carry < 0) {
        for (int j = low; j < k; j++) {
            one += (u32)~DIGIT(j);
            DIGIT(j) = (u32)one;
            one >>= 32;
        }
        if (one && k < EXACT_DIGITS) DIGIT(k++) = 1; /* all of them are 0 */
    }

    while (k > low && !DIGIT(k - 1)) k--;
    *top = k > low ? k : 0;
    return carry < 0;
}

/* Divides the digits `low` to top - 1 by n: at most 8 digits of the quotient. 1: there is a
 * remainder. */
fn int exact_divide(LOCAL u32 *bins, int low, int top, u64 n)
{
    const int end = top > 8 ? top - 8 : 0;
    u64 rest = 0;
    int more = 0;

    for (int j = top - 1; j >= end; j--) {
        const u32 digit = DIGIT(j);
        u32 quotient = 0;
        if (n >> 32) {
            for (int b = 31; b >= 0; b--) { /* n is below 2^63 */
                rest = rest << 1 | (digit >> b & 1);
                quotient = quotient << 1 | (u32)(rest >= n);
                if (rest >= n) rest -= n;
            }
        } else {
            rest = rest << 32 | digit;
            quotient = (u32)(rest / n);
            rest %= n;
        }

        DIGIT(j) = quotient;
    }

    more = rest != 0;
    for (int j = low; j < end; j++) {
        more |= DIGIT(j) != 0;
        DIGIT(j) = 0;
    }

    return more;
}

/* Rounds m 2^(e - 63) to nearest even, where the highest bit of m is set; more: the value is a
 * little larger. */
fn u64 exact_round(u64 m, int more, int e, i64 flags)
{
    const int is_wide = (flags & EXACT_F64) != 0, mantissa = is_wide ? 52 : 23,
              least = is_wide ? -1022 : -126, drop = 63 - mantissa + (e < least ? least - e : 0);
    const u64 half_way = (u64)1 << 63, most = is_wide ? 2047 : 255;
    if (drop > 64) return 0;
    const u64 kept = drop < 64 ? m >> drop : 0, rest = drop < 64 ? m << (64 - drop) : m,
              bits = ((u64)(e < least ? 0 : e - least) << mantissa) + kept +
                     (u64)(rest > half_way || (rest == half_way && (more || (kept & 1))));
    return bits >> mantissa >= most ? most << mantissa : bits;
}

/* Rounds the digits below `top`, the highest of which is not 0. more: there is something below
 * them. */
fn u64 exact_round_digits(LOCAL const u32 *bins, int top, int more, i64 flags)
{
    const int up = high_zeros(DIGIT(top - 1));
    const u64 high = digit_at(bins, top - 1) << 32 | digit_at(bins, top - 2),
              next = digit_at(bins, top - 3) << up;

    more |= (u32)next != 0;
    for (int j = top - 4; j >= 0 && !more; j--) more = DIGIT(j) != 0;
    return exact_round(high << up | next >> 32, more, 32 * top - 1 - up - EXACT_UNIT, flags);
}

/* Returns the bits of the result, from `count` elements and their bins, which are complete. */
fn u64 exact_value(LOCAL u32 *bins, i64 count, i64 flags)
{
    const int is_wide = (flags & EXACT_F64) != 0, mantissa = is_wide ? 52 : 23;
    const u64 most = is_wide ? 2047 : 255;

    const i64 nan = EXACT_COUNT(EXACT_NAN), plus = EXACT_COUNT(EXACT_PLUS),
              minus = EXACT_COUNT(EXACT_MINUS),
              n = count - EXACT_COUNT(EXACT_LEFT) - (flags & EXACT_MASKED ? nan : 0);
    if ((flags & EXACT_MEAN && n <= 0) || (nan && !(flags & EXACT_MASKED)) || (plus && minus))
        return most << mantissa | (u64)1 << (mantissa - 1);
    if (plus || minus) return most << mantissa | (u64)(minus != 0) << (is_wide ? 63 : 31);

    int low = EXACT_DIGITS, high = -1, top = 0, more = 0;
    for (int m = 0; m < EXACT_MASKS; m++) {
        const u32 bits = bins[EXACT_WORDS + m];
        if (bits && high < 0) low = 32 * m + low_zeros(bits);
        if (bits) high = 32 * m + 31 - high_zeros(bits);
    }

    const u64 negative = (u64)exact_magnitude(bins, low, high, &top);
    if (top && flags & EXACT_MEAN) {
        more = exact_divide(bins, low, top, (u64)n);
        while (top > 0 && !DIGIT(top - 1)) top--;
    }

    const u64 rounded = top ? exact_round_digits(bins, top, more, flags) : 0;
    return rounded ? rounded | negative << (is_wide ? 63 : 31) : 0; /* never -0 */
}

fn void exact_store(GLOBAL u8 *to, u64 bits, i64 flags)
{
    store_bits(to, 0, bits, flags & EXACT_F64 ? 8 : 4);
}

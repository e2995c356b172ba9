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

/* Computes the digits `low` to *top - 1 of |sum| from the bins `low` to `high`. Returns 1 if the
 * sum is negative. */
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

/* Divides the digits `low` to top - 1 by n: computes at most 8 digits of the quotient. Returns 1 if
 * there is a remainder. */
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

/* Rounds the digits below `top` to nearest even, to a format with `mantissa` bits after the first,
 * whose unit is 2^(unit - 1074), and whose infinity has the exponent `most`. more: there is
 * something below the digits. */
fn u64 exact_round(LOCAL const u32 *bins, int top, int more, int mantissa, int unit, u64 most)
{
    const int first = 32 * (top - 1) + 31 - high_zeros(DIGIT(top - 1)),
              least = 32 * EXACT_LOW + unit,
              at = first - mantissa > least ? first - mantissa : least, digit = at >> 5,
              shift = at & 31;
    u64 m = digit_at(bins, digit) >> shift | digit_at(bins, digit + 1) << (32 - shift),
        below = digit_at(bins, digit - 1);

    if (shift) {
        m |= digit_at(bins, digit + 2) << (64 - shift);
        more |= (u32)(below << (32 - shift)) != 0;
        below = (digit_at(bins, digit) << (32 - shift) & 0xffffffffu) | below >> shift;
    }

    for (int j = digit - 2; j >= 0 && !more; j--) more = DIGIT(j) != 0;
    const u64 half_way = (u64)1 << 31, exponent = (u64)(at - least);
    m += below > half_way || (below == half_way && (more || (m & 1)));
    const u64 bits = (exponent << mantissa) + m;

    return exponent >= most || bits >> mantissa >= most ? most << mantissa : bits;
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

    const u64 bits =
        top ? exact_round(bins, top, more, mantissa, is_wide ? 0 : 1074 - 149, most) : 0;
    return bits ? bits | negative << (is_wide ? 63 : 31) : 0; /* never -0 */
}

fn void exact_store(GLOBAL u8 *to, u64 bits, i64 flags)
{
    const int bytes = flags & EXACT_F64 ? 8 : 4;
    if (ADDRESS(to) % (u64)bytes)
        for (int k = 0; k < bytes; k++) to[k] = (u8)(bits >> 8 * k);
    else if (bytes == 8)
        *(GLOBAL u64 *)to = bits;
    else
        *(GLOBAL u32 *)to = (u32)bits;
}

/* SPDX-License-Identifier: MIT
 * Integers of many digits: multiply, subtract, divide (Knuth, The Art of Computer Programming 2,
 * 4.3.1, algorithm D), and the one rounding at the end. */
#include "exact.h"
#include <assert.h>
#include <string.h>

static void trim(tl_number *r)
{
    while (r->size && !r->digit[r->size - 1]) r->size--;
    if (!r->size) r->negative = 0;
}

void tl_number_finish(tl_number *r, __int128 carry)
{
    assert(r->size + 5 <= TL_NUMBER_DIGITS);
    r->negative = carry < 0;
    for (; carry != -r->negative; carry >>= 32) r->digit[r->size++] = (uint32_t)carry;
    if (r->negative) { /* two's complement to sign and magnitude */
        uint64_t one = 1;
        r->digit[r->size++] = UINT32_MAX; /* a magnitude may have a digit more */
        for (int k = 0; k < r->size; k++) {
            one += (uint32_t)~r->digit[k];
            r->digit[k] = (uint32_t)one;
            one >>= 32;
        }
    }

    trim(r);
}

void tl_number_of_integer(tl_number *r, uint64_t n)
{
    r->negative = r->exponent = 0;
    r->size = 2;
    r->digit[0] = (uint32_t)n;
    r->digit[1] = (uint32_t)(n >> 32);
    trim(r);
}

void tl_number_multiply(tl_number *r, const tl_number *a, const tl_number *b)
{
    assert(r != a && r != b && a->size + b->size <= TL_NUMBER_DIGITS);
    r->negative = a->negative ^ b->negative;
    r->exponent = a->exponent + b->exponent;
    r->size = a->size + b->size;
    memset(r->digit, 0, (size_t)r->size * sizeof *r->digit);

    for (int i = 0; i < a->size; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b->size; j++) {
            carry += (uint64_t)a->digit[i] * b->digit[j] + r->digit[i + j];
            r->digit[i + j] = (uint32_t)carry;
            carry >>= 32;
        }

        r->digit[i + b->size] = (uint32_t)carry;
    }

    trim(r);
}

/* The same value with an exponent lower by `bits`. */
static void shift_up(tl_number *r, int bits)
{
    const int digits = bits / 32, shift = bits % 32;
    r->exponent -= bits;
    if (!r->size || !bits) return;
    assert(r->size + digits + 1 <= TL_NUMBER_DIGITS);
    r->digit[r->size] = 0;

    for (int k = r->size; k >= 0; k--) {
        const uint64_t both = (uint64_t)r->digit[k] << 32 | (k ? r->digit[k - 1] : 0);
        r->digit[k + digits] = (uint32_t)(both << shift >> 32);
    }
    memset(r->digit, 0, (size_t)digits * sizeof *r->digit);
    r->size += digits + 1;
    trim(r);
}

/* Compares magnitudes of equal exponents: returns a number below, equal to or above 0. */
static int compare(const tl_number *a, const tl_number *b)
{
    if (a->size != b->size) return a->size - b->size;
    for (int k = a->size; k--;)
        if (a->digit[k] != b->digit[k]) return a->digit[k] < b->digit[k] ? -1 : 1;
    return 0;
}

void tl_number_subtract(tl_number *a, const tl_number *b)
{
    tl_number other = *b;
    if (!other.size) return;

    if (!a->size) a->exponent = other.exponent;
    if (a->exponent > other.exponent) shift_up(a, a->exponent - other.exponent);
    if (other.exponent > a->exponent) shift_up(&other, other.exponent - a->exponent);
    const int adds = a->negative != other.negative, swap = !adds && compare(a, &other) < 0;
    const tl_number *const large = swap ? &other : a, *const small = swap ? a : &other;
    const int size = large->size > small->size ? large->size : small->size;
    int64_t carry = 0;
    assert(size < TL_NUMBER_DIGITS);

    for (int k = 0; k < size; k++) {
        const int64_t x = k < large->size ? large->digit[k] : 0,
                      y = k < small->size ? small->digit[k] : 0;
        carry += adds ? x + y : x - y;
        a->digit[k] = (uint32_t)carry;
        carry >>= 32;
    }

    a->size = size;
    if (carry) a->digit[a->size++] = (uint32_t)carry;
    if (swap) a->negative = !other.negative;
    trim(a);
}

/* ---- the quotient ---- */

/* The number of bits. */
static int length(const tl_number *r)
{
    return 32 * r->size - __builtin_clz(r->digit[r->size - 1]);
}

/* One digit of the quotient: how often b divides the b->size + 1 digits at a, which become the
 * remainder. */
static uint32_t divide_step(uint32_t *a, const tl_number *b)
{
    const int n = b->size;
    const uint64_t first = (uint64_t)a[n] << 32 | a[n - 1], by = b->digit[n - 1],
                   second = n > 1 ? b->digit[n - 2] : 0, third = n > 1 ? a[n - 2] : 0;

    assert(n > 0 && by >> 31 && a[n] <= by);
    uint64_t q = first / by, rest = first % by;

    while (rest >> 32 == 0 && (q >> 32 || q * second > (rest << 32 | third))) {
        q--;
        rest += by;
    }

    uint64_t carry = 0;
    int64_t borrow = 0;

    for (int k = 0; k < n; k++) {
        carry += q * b->digit[k];
        borrow += (int64_t)a[k] - (uint32_t)carry;
        a[k] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }

    borrow += (int64_t)a[n] - (int64_t)carry;
    a[n] = (uint32_t)borrow;
    if (borrow >= 0) return (uint32_t)q;

    carry = 0; /* q was one too large */
    for (int k = 0; k < n; k++) {
        carry += (uint64_t)a[k] + b->digit[k];
        a[k] = (uint32_t)carry;
        carry >>= 32;
    }

    a[n] += (uint32_t)carry;
    return (uint32_t)q - 1;
}

/* Cuts off the last digits. Returns 1 if one of them was not 0. */
static int cut(tl_number *r, int digits)
{
    int more = 0;
    assert(0 <= digits && digits < r->size);
    for (int k = 0; k < digits; k++) more |= r->digit[k] != 0;
    r->size -= digits;
    r->exponent += 32 * digits;
    memmove(r->digit, r->digit + digits, (size_t)r->size * sizeof *r->digit);
    return more;
}

/* a / b = (q + f) 2^*exponent, 0 <= f < 1; *more: f > 0. q has 125 to 127 bits, *exponent is
 * even. */
static unsigned __int128 divide(tl_number *a, tl_number *b, int *exponent, int *more)
{
    shift_up(b, 32 * b->size - length(b)); /* sets the first bit of b's first digit */

    /* a gets four digits more than b, and its first digit is below 2^30: a / b has four digits.
     * What is cut off from a belongs to the remainder. */
    const int wanted = 32 * b->size + 126, longer = length(a) - wanted;
    *more = longer > 0 ? cut(a, (longer + 31) / 32) : 0;
    int up = wanted - length(a);
    if ((a->exponent - up - b->exponent) % 2) up--;
    if (up < 0) { /* by one bit: a digit is cut off instead */
        *more |= cut(a, 1);
        up += 32;
    }

    shift_up(a, up);
    while (a->size < b->size + 4) a->digit[a->size++] = 0;
    assert(a->size == b->size + 4);
    unsigned __int128 q = 0;
    for (int k = 3; k >= 0; k--) q = q << 32 | divide_step(a->digit + k, b);
    for (int k = 0; k < b->size + 1; k++) *more |= a->digit[k] != 0;
    *exponent = a->exponent - b->exponent;
    return q;
}

/* The largest r with r r <= q. */
static uint64_t square_root(unsigned __int128 q)
{
    uint64_t r = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t more = r | (uint64_t)1 << bit;
        if ((unsigned __int128)more * more <= q) r = more;
    }
    return r;
}

/* Rounds m 2^exponent to nearest even and returns the bits. The last bit of m is set if lower bits
 * were cut off. */
static uint64_t round_bits(uint64_t m, int exponent, int wide)
{
    assert(m >> 63);
    const int mantissa = wide ? 52 : 23, least = wide ? -1074 : -149;
    const uint64_t most = wide ? 2047 : 255;
    int unit = exponent + 63 - mantissa;
    if (unit < least) unit = least;
    const int drop = unit - exponent;
    if (drop > 64) return 0;

    const uint64_t half = (uint64_t)1 << (drop - 1), rest = drop < 64 ? m & (2 * half - 1) : m;
    uint64_t keep = drop < 64 ? m >> drop : 0;
    keep += rest > half || (rest == half && (keep & 1));
    if (unit - least >= (int)most) return most << mantissa;

    const uint64_t bits = ((uint64_t)(unit - least) << mantissa) + keep;
    return bits >> mantissa >= most ? most << mantissa : bits;
}

/* Writes the rounded value of +-(m + f) 2^exponent, m > 0 and 0 <= f < 1; more: f > 0. */
static inline void store(uint64_t m, int more, int exponent, int negative, tally_dtype dtype,
                         void *value)
{
    assert(dtype == TALLY_F32 || dtype == TALLY_F64);
    const int up = __builtin_clzll(m);
    uint64_t bits = round_bits(m << up | (uint64_t)more, exponent - up, dtype == TALLY_F64);
    if (dtype == TALLY_F64) {
        if (bits) bits |= (uint64_t)negative << 63; /* never -0 */
        memcpy(value, &bits, 8);
    } else {
        const uint32_t narrow = (uint32_t)bits | (bits ? (uint32_t)negative << 31 : 0);
        memcpy(value, &narrow, 4);
    }
}

/* Digit k, which is 0 below the lowest. */
static inline uint64_t digit_at(const tl_number *a, int k) { return k >= 0 ? a->digit[k] : 0; }

/* The 64 bits of |a| after the first `skip` bits of digit k. */
static inline uint64_t bits_from(const tl_number *a, int k, int skip)
{
    return (digit_at(a, k) << 32 | digit_at(a, k - 1)) << skip | digit_at(a, k - 2) << skip >> 32;
}

/* Is a bit of |a| set after the first `skip` bits of digit k? */
static inline int any_from(const tl_number *a, int k, int skip)
{
    uint32_t more = (uint32_t)digit_at(a, k) << skip;
    while (!more && k > 0) more = a->digit[--k];
    return more != 0;
}

void tl_number_round(const tl_number *a, uint64_t n, tally_dtype dtype, void *value)
{
    assert(n);
    const int top = a->size - 1;
    if (top < 0) {
        memset(value, 0, tally_dtype_size(dtype));
        return;
    }

    const int skip = __builtin_clz(a->digit[top]);
    const uint64_t high = bits_from(a, top, skip);
    const int exponent = a->exponent + 32 * top - 32 - skip; /* of the last bit of `high` */
    if (n == 1) {
        store(high, any_from(a, top - 2, skip), exponent, a->negative, dtype, value);
        return;
    }

    /* the first 127 bits of a by the 64 bits of n, whose first is set */
    const uint64_t low = bits_from(a, top - 2, skip);
    const unsigned __int128 q = ((unsigned __int128)high << 64 | low) >> 1;
    const int up = __builtin_clzll(n);
    n <<= up;
    const uint64_t m = (uint64_t)(q / n);
    const int more = (low & 1) || (unsigned __int128)m * n != q || any_from(a, top - 4, skip);
    store(m, more, exponent + up - 63, a->negative, dtype, value);
}

void tl_ratio(tl_number *a, tl_number *b, int root, tally_dtype dtype, void *value)
{
    int exponent, more;
    assert(b->size && !b->negative);
    const int negative = a->negative;
    if (!a->size) {
        memset(value, 0, tally_dtype_size(dtype));
        return;
    }
    if (!root && b->size <= 2) {
        a->exponent -= b->exponent;
        tl_number_round(a, digit_at(b, 0) | (b->size > 1 ? digit_at(b, 1) << 32 : 0), dtype, value);
        return;
    }

    unsigned __int128 q = divide(a, b, &exponent, &more);
    uint64_t m;
    if (root) {
        m = square_root(q);
        more |= (unsigned __int128)m * m != q;
        exponent /= 2; /* even */
    } else {
        const int up = __builtin_clzll((uint64_t)(q >> 64)); /* q has 125 bits or more */
        m = (uint64_t)(q << up >> 64);
        more |= (uint64_t)(q << up) != 0;
        exponent += 64 - up;
    }
    store(m, more, exponent, negative, dtype, value);
}

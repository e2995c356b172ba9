/* SPDX-License-Identifier: MIT
 * Numbers to text: the shortest decimal that reads back to the same bits, by Schubfach (Raffaello
 * Giulietti, "The Schubfach way to render doubles", 2020), for all four float formats. Integer
 * arithmetic only; independent of locale and rounding mode. */
#include "number.h"
#include <assert.h>
#include <stdio.h>

/* The high 64 bits of g * c, for g of 128 bits. Bit 0 is set if the 64
 * bits below them are more than 1: g is rounded up, so 1 may stand for 0. */
static uint64_t round_to_odd(const uint64_t g[2], uint64_t c)
{
    const unsigned __int128 x = (unsigned __int128)g[1] * c,
                            y = (unsigned __int128)g[0] * c + (uint64_t)(x >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* The digits and exponent of the shortest decimal in the rounding interval of c * 2^q; of several,
 * the nearest. lower_closer: 1 if c is a power of two, so that the neighbour below is half as far
 * away as the one above. */
static uint64_t shortest(uint64_t c, int q, int lower_closer, int *exp10)
{
    assert(c > 0);
    const uint64_t odd = c & 1;

    /* floor(log10(2^q)), or floor(log10(3/4 2^q)) */
    const int k = (q * 1262611 - (lower_closer ? 524031 : 0)) >> 22;
    const int h = q + ((-k * 1741647) >> 19) + 1;
    uint64_t g[2] = {tl_pow5[-k - TL_POW5_MIN][0], tl_pow5[-k - TL_POW5_MIN][1]};

    /* the table truncates there, but g must be rounded up */
    if (-k > 55 || -k < -27) g[0] += ++g[1] == 0;
    const uint64_t lower = round_to_odd(g, (4 * c - 2 + (uint64_t)lower_closer) << h) + odd;
    const uint64_t here = round_to_odd(g, (4 * c) << h);
    const uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
    const uint64_t s = here / 4;
    if (s >= 10) {
        const uint64_t t = s / 10;
        const int down = lower <= 40 * t, up = 40 * t + 40 <= upper;
        if (down != up) {
            *exp10 = k + 1;
            return t + (uint64_t)up;
        }
    }

    const int down = lower <= 4 * s, up = 4 * s + 4 <= upper;
    *exp10 = k;
    if (down != up) return s + (uint64_t)up;

    const uint64_t middle = 4 * s + 2;
    return s + (uint64_t)(here > middle || (here == middle && (s & 1)));
}

static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334"
                            "3536373839404142434445464748495051525354555657585960616263646566676869"
                            "707172737475767778798081828384858687888990919293949596979899";

/* Writes the digits of v before `end`. Returns their start. */
static char *digits_before(char *end, uint64_t v)
{
    while (v >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * v, 2);
    } else {
        *--end = (char)('0' + v);
    }

    return end;
}

static char *put(char *out, const char *s, int n)
{
    memcpy(out, s, (size_t)n);
    return out + n;
}

/* Writes digits * 10^exp10: plain from 1e-4 to below 1e16, otherwise with an exponent of at least
 * two digits, as Python does. */
static char *put_decimal(char *out, uint64_t v, int exp10)
{
    char text[20];
    while (v % 10 == 0) v /= 10, exp10++; /* v > 0 */
    const char *const d = digits_before(text + sizeof text, v);

    /* the point comes after `point` digits */
    const int n = (int)(text + sizeof text - d), point = n + exp10;
    if (point > 0 && point <= 16) {
        if (exp10 >= 0) {
            out = put(out, d, n);
            memset(out, '0', (size_t)exp10);
            return out + exp10;
        }

        out = put(out, d, point);
        *out++ = '.';
        return put(out, d + point, n - point);
    }

    if (point <= 0 && point > -4) {
        out = put(out, "0.000", 2 - point);
        return put(out, d, n);
    }

    *out++ = *d;
    if (n > 1) {
        *out++ = '.';
        out = put(out, d + 1, n - 1);
    }

    *out++ = 'e';
    int e = point - 1;
    *out++ = e < 0 ? '-' : '+';
    if (e < 0) e = -e;
    if (e < 10) *out++ = '0';
    const char *const x = digits_before(text + sizeof text, (uint64_t)e);
    return put(out, x, (int)(text + sizeof text - x));
}

static char *put_float(char *out, uint64_t bits, int mant, int exps)
{
    const int sign = (int)(bits >> (mant + exps)) & 1, inf = (1 << exps) - 1,
              field = (int)(bits >> mant) & inf;
    const uint64_t frac = bits & ((1ull << mant) - 1);
    if (field == inf && frac) return put(out, "nan", 3);

    if (sign) *out++ = '-';
    if (field == inf) return put(out, "inf", 3);
    if (field == 0 && frac == 0) return put(out, "0", 1);

    const uint64_t c = field ? frac | 1ull << mant : frac;
    const int q = (field ? field : 1) - (inf >> 1) - mant;
    int exp10 = 0;
    if (q <= 0 && -q <= mant && (c & ((1ull << -q) - 1)) == 0)
        return put_decimal(out, c >> -q, 0); /* a small integer */
    const uint64_t digits = shortest(c, q, frac == 0 && field > 1, &exp10);
    return put_decimal(out, digits, exp10);
}

static char *put_hex(char *out, uint64_t bits, size_t size)
{
    assert(size >= 1 && size <= 8);
    *out++ = '0';
    *out++ = 'x';
    for (int i = (int)size * 8 - 4; i >= 0; i -= 4) *out++ = "0123456789abcdef"[bits >> i & 15];
    return out;
}

char *tl_format(char *out, tally_dtype dtype, const void *value, int hex)
{
    assert(dtype >= TALLY_I8 && dtype <= TALLY_F64);
    const size_t size = tally_dtype_size(dtype);
    uint64_t b8 = tl_load(value, size);
    char text[20];

    if (hex) return put_hex(out, b8, size);
    if (dtype == TALLY_F64) return put_float(out, b8, 52, 11);
    if (dtype == TALLY_F32) return put_float(out, b8, 23, 8);
    if (dtype == TALLY_F16) return put_float(out, b8, 10, 5);
    if (dtype == TALLY_BF16) return put_float(out, b8, 7, 8);
    if (tl_dtype_kind(dtype) == 'I') {
        const int64_t v = (int64_t)(b8 << (64 - 8 * size)) >> (64 - 8 * size);
        if (v < 0) *out++ = '-';
        b8 = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    }

    const char *const d = digits_before(text + sizeof text, b8);
    return put(out, d, (int)(text + sizeof text - d));
}

int tally_format_value(tally_dtype dtype, const void *value, int hex, char *buffer, size_t bytes)
{
    char text[TL_VALUE_CHARS];
    if (tally_dtype_size(dtype) == 0 || !value) {
        if (bytes) *buffer = 0;
        return 0;
    }
    const size_t n = (size_t)(tl_format(text, dtype, value, hex) - text);
    if (bytes) {
        const size_t fits = n < bytes ? n : bytes - 1;
        memcpy(buffer, text, fits);
        buffer[fits] = 0;
    }

    return (int)n;
}

size_t tl_list(int n, const int64_t *numbers, char out[TL_LIST_CHARS])
{
    size_t at = 0;
    assert(n <= 8); /* up to 22 characters each */
    *out = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, TL_LIST_CHARS - at, "%s%lld", i ? ", " : "",
                               (long long)numbers[i]);
    return at;
}

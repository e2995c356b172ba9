/* SPDX-License-Identifier: MIT
 * Text to numbers, exactly: any number of digits, any element type, one rounding. Numbers of more
 * than 19 digits, and f16 or bf16 that seem to be half way, are decided by comparing big
 * integers. */
#include "number.h"
#include <assert.h>
#include <stdio.h>

/* The midpoints between doubles have at most 767 digits; 6400 bits hold 801 digits * 5^1143. */
enum { LIMBS = 100, KEEP = 800 };

struct big {
    int n;
    uint64_t d[LIMBS];
};

static void mul_add(struct big *b, uint64_t m, uint64_t carry)
{
    for (int i = 0; i < b->n; i++) {
        const unsigned __int128 x = (unsigned __int128)b->d[i] * m + carry;
        b->d[i] = (uint64_t)x;
        carry = (uint64_t)(x >> 64);
    }
    if (carry && b->n < LIMBS) b->d[b->n++] = carry;
}

static void mul_pow5(struct big *b, int64_t k)
{
    for (; k >= 27; k -= 27) mul_add(b, 7450580596923828125ull, 0);
    for (; k > 0; k--) mul_add(b, 5, 0);
}

uint64_t tl_pow5[TL_POW5_MAX - TL_POW5_MIN + 1][2];

static void divide_by_5(struct big *b)
{
    uint64_t rest = 0;
    for (int i = b->n - 1; i >= 0; i--) {
        const uint64_t high = rest << 32 | b->d[i] >> 32,
                       low = high % 5 << 32 | (b->d[i] & 0xffffffff);
        b->d[i] = high / 5 << 32 | low / 5;
        rest = low % 5;
    }
    b->n -= !b->d[b->n - 1];
}

/* The 128 bits of b from its first 1 on, high word first. */
static void leading_bits(const struct big *b, uint64_t to[2])
{
    uint64_t top[3] = {0};
    for (int k = 0; k < 3 && k < b->n; k++) top[k] = b->d[b->n - 1 - k];
    const int zeros = __builtin_clzll(top[0]);
    for (int k = 0; k < 2; k++) to[k] = top[k] << zeros | (zeros ? top[k + 1] >> (64 - zeros) : 0);
}

/* Fills tl_pow5 with the leading 128 bits of 5^q when the library is loaded. For q < 0
 * they are those of 2^960 / 5^-q, rounded down, and from -27 on, where 5^-q fits 64 bits, rounded
 * up. */
static __attribute__((constructor)) void fill_pow5(void)
{
    struct big power = {1, {1}}, quotient = {16, {[15] = 1}};
    for (int q = 0; q <= TL_POW5_MAX; q++) {
        leading_bits(&power, tl_pow5[q - TL_POW5_MIN]);
        mul_add(&power, 5, 0);
    }

    for (int q = -1; q >= TL_POW5_MIN; q--) {
        uint64_t *const to = tl_pow5[q - TL_POW5_MIN];
        divide_by_5(&quotient);
        leading_bits(&quotient, to);
        if (q >= -27) to[0] += ++to[1] == 0;
    }
}

/* ---- numbers that are compared exactly ---- */

static void shift_left(struct big *b, int64_t k)
{
    assert(k >= 0);
    const int limbs = (int)(k / 64), bits = (int)(k % 64);
    if (bits) mul_add(b, 1ull << bits, 0);
    if (b->n == 0 || limbs == 0 || b->n + limbs > LIMBS) return;
    memmove(b->d + limbs, b->d, (size_t)b->n * 8);
    memset(b->d, 0, (size_t)limbs * 8);
    b->n += limbs;
}

static int compare(const struct big *a, const struct big *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}

/* A decimal: (-1)^neg * w * 10^q. If `more`, the digits after the first 19 follow in
 * [digits, end). */
struct dec {
    uint64_t w;
    int64_t q, exp;
    int neg, more, kept;      /* kept: digits of w */
    const char *digits, *end; /* digits and point, without the exponent */
};

/* The sign of |d| - m * 2^b, for magnitudes in the range of a double. */
static int compare_exact(const struct dec *d, uint64_t m, int64_t b)
{
    struct big x = {0, {0}}, y = {1, {m}};
    int64_t kept = 0, q = d->exp, point = 0, part_n = 0, more = 0;
    uint64_t part = 0;

    for (const char *s = d->digits; s < d->end; s++) {
        if (*s == '.') {
            point = 1;
            continue;
        }

        const unsigned digit = (unsigned)(*s - '0');
        if (kept == KEEP) { /* beyond: only whether a nonzero digit follows */
            more |= digit != 0;
            q += !point;
            continue;
        }

        q -= point;
        if (kept == 0 && digit == 0) continue;
        kept++;
        part = part * 10 + digit;

        if (++part_n == 19) {
            mul_add(&x, 10000000000000000000ull, part);
            part = 0, part_n = 0;
        }
    }

    uint64_t ten = 1;
    for (int64_t i = 0; i < part_n; i++) ten *= 10;
    mul_add(&x, ten, part);

    if (more) {
        mul_add(&x, 10, 1);
        q--;
    }

    if (x.n == 0) return m ? -1 : 0;
    if (q >= 0)
        mul_pow5(&x, q);
    else
        mul_pow5(&y, -q);

    if (q > b)
        shift_left(&x, q - b);
    else
        shift_left(&y, b - q);
    return compare(&x, &y);
}

/* Reads the whole text [s, e) as a decimal. */
static int read_decimal(const char *s, const char *e, struct dec *d)
{
    *d = (struct dec){0};
    if (s < e && (*s == '-' || *s == '+')) d->neg = *s++ == '-';
    d->digits = s;
    int any = 0, point = 0;

    for (; s < e; s++) {
        if (*s == '.') {
            if (point) return 0;
            point = 1;
            continue;
        }

        const unsigned digit = (unsigned)(*s - '0');
        if (digit > 9) break;
        any = 1;

        if (d->kept < 19) {
            d->w = d->w * 10 + digit;
            d->kept += d->w != 0;
            d->q -= point;
        } else {
            d->more |= digit != 0;
            d->q += !point;
        }
    }

    d->end = s;
    if (!any) return 0;

    if (s < e && (*s | 0x20) == 'e') {
        int minus = 0;
        s++;
        if (s < e && (*s == '-' || *s == '+')) minus = *s++ == '-';
        if (s == e) return 0;
        for (; s < e && (unsigned)(*s - '0') < 10; s++)
            if (d->exp < 100000000000000000) d->exp = d->exp * 10 + (*s - '0');
        if (minus) d->exp = -d->exp;
    }

    d->q += d->exp;
    return s == e;
}

/* The bits, without the sign, of the nearest value of format f. */
static uint64_t nearest(const struct dec *d, const struct tl_fmt f)
{
    const uint64_t low = tl_round_decimal(d->w, d->q, f);
    if (!d->more) return low;

    /* the value is between w and w + 1; their results are equal or neighbours */
    const uint64_t high = tl_round_decimal(d->w + 1, d->q, f);
    if (low == high) return low;
    const uint64_t frac = low & ((1ull << f.mant) - 1), field = low >> f.mant;
    const uint64_t m = field ? frac | 1ull << f.mant : frac;
    const int64_t e = (int64_t)(field ? field : 1) + f.bias - f.mant;
    const int c = compare_exact(d, 2 * m + 1, e - 1);
    return c > 0 || (c == 0 && (low & 1)) ? high : low;
}

/* The decimal as f16 (mant 10, least normal exponent -14) or bf16 (7, -126). The nearest double is
 * rounded again; if it is exactly half way between two neighbours, the digits decide. */
static uint64_t nearest_small(const struct dec *d, int mant, int emin)
{
    const uint64_t inf = mant == 10 ? 0x7c00 : 0x7f80, x = nearest(d, tl_f64);
    const int e = (int)(x >> 52) - 1023;
    if (e == 1024) return inf;
    if (e < emin - mant - 2) return 0;

    const uint64_t m = (x & ((1ull << 52) - 1)) | 1ull << 52;
    const int drop = 52 - mant + (e < emin ? emin - e : 0);
    const uint64_t half = 1ull << (drop - 1), rest = m & (2 * half - 1);
    uint64_t bits = m >> drop;
    int up = rest > half;
    if (rest == half) {
        const int c = compare_exact(d, m, e - 52);
        up = c > 0 || (c == 0 && (bits & 1));
    }

    if (e >= emin) bits += (uint64_t)(e - emin) << mant;
    bits += (uint64_t)up;
    return bits < inf ? bits : inf;
}

int tl_is_word(const char *s, const char *e, const char *word)
{
    assert(s <= e);
    for (; s < e && *word; s++, word++) {
        const char c = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
        if (c != *word) return 0;
    }
    return s == e && !*word;
}

/* Parses 0x and exactly as many digits as the element type has, into bits. */
static int hex_bits(const char *s, const char *e, size_t size, uint64_t *bits)
{
    assert(s <= e);
    assert(size >= 1 && size <= 8);
    uint64_t b = 0;
    if (e - s < 3 || s[0] != '0' || (s[1] | 0x20) != 'x') return TL_CELL_BAD;

    for (const char *c = s + 2; c < e; c++) {
        const unsigned digit = (unsigned)(*c - '0') < 10 ? (unsigned)(*c - '0')
                               : (unsigned)((*c | 0x20) - 'a') < 6
                                   ? (unsigned)((*c | 0x20) - 'a' + 10)
                                   : 16;
        if (digit == 16) return TL_CELL_BAD;
        b = b << 4 | digit;
    }

    *bits = b;
    return (size_t)(e - s) == 2 + 2 * size ? TL_CELL_OK : TL_CELL_WIDTH;
}

static int parse_whole(tally_dtype dtype, const char *s, const char *e, uint64_t *bits)
{
    assert(!tl_is_float(dtype));
    struct dec d;
    if (!read_decimal(s, e, &d)) {
        const char *const t = s < e && (*s == '-' || *s == '+') ? s + 1 : s;
        return tl_is_word(t, e, "nan") || tl_is_word(t, e, "inf") || tl_is_word(t, e, "infinity")
                   ? TL_CELL_WHOLE
                   : TL_CELL_BAD;
    }

    uint64_t v = 0;
    int over = 0;

    for (const char *c = d.digits; c < d.end; c++) {
        if (*c == '.') return TL_CELL_WHOLE;
        over |= __builtin_mul_overflow(v, 10, &v);
        over |= __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v);
    }

    if (d.end != e) return TL_CELL_WHOLE; /* an exponent */
    int64_t least, greatest;
    tl_whole_range(dtype, &least, &greatest);
    const uint64_t limit = dtype == TALLY_U64 ? UINT64_MAX : (uint64_t)greatest;
    if (over || v > (d.neg ? 0 - (uint64_t)least : limit)) return TL_CELL_RANGE;

    *bits = d.neg ? 0 - v : v;
    return TL_CELL_OK;
}

static int parse_float(tally_dtype dtype, const char *s, const char *e, uint64_t *bits)
{
    assert(tl_is_float(dtype));
    static const struct { /* from f16 on */
        uint64_t inf, quiet, sign;
    } specials[] = {{0x7c00, 0x7e00, 0x8000},
                    {0x7f80, 0x7fc0, 0x8000},
                    {0x7f800000, 0x7fc00000, 0x80000000},
                    {0x7ff0000000000000, 0x7ff8000000000000, 0x8000000000000000}};
    const uint64_t sign = s < e && *s == '-' ? specials[dtype - TALLY_F16].sign : 0;
    const char *const t = s < e && (*s == '-' || *s == '+') ? s + 1 : s;
    struct dec d;

    if (tl_is_word(t, e, "nan")) {
        *bits = specials[dtype - TALLY_F16].quiet;
        return TL_CELL_OK;
    }

    if (tl_is_word(t, e, "inf") || tl_is_word(t, e, "infinity")) {
        *bits = specials[dtype - TALLY_F16].inf | sign;
        return TL_CELL_OK;
    }

    if (!read_decimal(s, e, &d)) return TL_CELL_BAD;
    *bits = sign | (dtype == TALLY_F64   ? nearest(&d, tl_f64)
                    : dtype == TALLY_F32 ? nearest(&d, tl_f32)
                    : dtype == TALLY_F16 ? nearest_small(&d, 10, -14)
                                         : nearest_small(&d, 7, -126));
    return TL_CELL_OK;
}

int tl_parse_cell(tally_dtype dtype, const char *s, const char *e, void *value)
{
    assert(s <= e);
    uint64_t bits = 0;
    const size_t size = tally_dtype_size(dtype);
    if (s == e) return TL_CELL_EMPTY;
    int r = hex_bits(s, e, size, &bits);
    if (r == TL_CELL_BAD)
        r = tl_is_float(dtype) ? parse_float(dtype, s, e, &bits) : parse_whole(dtype, s, e, &bits);
    if (r == TL_CELL_OK) tl_store(value, bits, size);
    return r;
}

tally_status tally_parse_value(tally_dtype dtype, const char *text, size_t length, void *value)
{
    if (!text || !value || tally_dtype_size(dtype) == 0) return TALLY_INVALID;
    return tl_parse_cell(dtype, text, text + length, value) == TL_CELL_OK ? TALLY_OK
                                                                          : TALLY_BAD_DATA;
}

/* ---- decimals as integers of 128 bits ---- */

enum { AFTER_POINT = 18, BEFORE_POINT = 20, DIGITS = AFTER_POINT + BEFORE_POINT };

/* A decimal of more than 19 digits: the result * 10^*exponent. The zeros at both ends are dropped,
 * and *count digits remain. Valid if *count <= DIGITS. */
static unsigned __int128 all_digits(const struct dec *d, int64_t *count, int64_t *exponent)
{
    unsigned __int128 digits = 0;
    int64_t zeros = 0;
    int point = 0;
    *count = 0;
    *exponent = d->exp;

    for (const char *p = d->digits; p < d->end; p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }

        *exponent -= point;
        if (*p == '0') {
            zeros += *count > 0;
            continue;
        }

        *count += zeros + 1;
        for (; zeros >= 0 && *count <= DIGITS; zeros--) digits *= 10;
        digits += (unsigned)(*p - '0');
        zeros = 0;
    }

    *exponent += zeros;
    return digits;
}

int tl_decimal_parse(const char *s, const char *e, __int128 *units)
{
    assert(s <= e);
    struct dec d;
    if (!read_decimal(s, e, &d)) return TL_DECIMAL_BAD;

    int64_t count = d.kept, exponent = d.q;
    for (; d.w && d.w % 10 == 0; d.w /= 10) count--, exponent++;
    unsigned __int128 digits = d.more ? all_digits(&d, &count, &exponent) : d.w;

    *units = 0;
    if (!count) return TL_DECIMAL_OK;
    if (count + exponent > BEFORE_POINT) return TL_DECIMAL_RANGE;
    if (exponent < -AFTER_POINT) return TL_DECIMAL_DIGITS;

    assert(count <= DIGITS);

    for (int64_t k = exponent + AFTER_POINT, step; k > 0; k -= step) {
        step = k < 11 ? k : 11; /* tl_ten ends with 10^11 */
        digits *= tl_ten[step];
    }
    const __int128 least = (__int128)INT64_MIN * TALLY_KEY_PART,
                   end = ((__int128)UINT64_MAX + 1) * TALLY_KEY_PART,
                   value = d.neg ? -(__int128)digits : (__int128)digits;
    if (value < least || value >= end) return TL_DECIMAL_RANGE;

    *units = value;
    return TL_DECIMAL_OK;
}

void tl_decimal_split(__int128 units, __int128 *whole, int64_t *part)
{
    *whole = units / TALLY_KEY_PART;
    *part = (int64_t)(units % TALLY_KEY_PART);
    if (*part < 0) *part += TALLY_KEY_PART, --*whole;
}

void tl_decimal_format(__int128 units, char out[TL_DECIMAL_CHARS])
{
    const unsigned __int128 size = units < 0 ? -(unsigned __int128)units : (unsigned __int128)units;
    const unsigned long long whole = (unsigned long long)(size / TALLY_KEY_PART),
                             part = (unsigned long long)(size % TALLY_KEY_PART);
    int at = snprintf(out, TL_DECIMAL_CHARS, "%s%llu", units < 0 ? "-" : "", whole);
    if (!part) return;
    at += snprintf(out + at, TL_DECIMAL_CHARS - (size_t)at, ".%018llu", part);
    while (out[at - 1] == '0') out[--at] = 0;
}

tally_status tally_parse_decimal(const char *text, size_t length, int64_t *whole, int64_t *part)
{
    __int128 units, integer;
    int64_t rest;

    if (!text || !whole || !part) return TALLY_INVALID;
    const int why = tl_decimal_parse(text, text + length, &units);
    if (why == TL_DECIMAL_BAD) return TALLY_BAD_DATA;
    if (why) return TALLY_UNSUPPORTED;
    tl_decimal_split(units, &integer, &rest);
    if (integer > INT64_MAX) return TALLY_UNSUPPORTED;
    *whole = (int64_t)integer;
    *part = rest;
    return TALLY_OK;
}

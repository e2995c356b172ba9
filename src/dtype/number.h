/* SPDX-License-Identifier: MIT
 * Text to numbers, the fast path: digits eight at a time (SWAR), and Eisel-Lemire rounding in
 * integer arithmetic, so neither the caller's rounding mode nor flush-to-zero can change a bit.
 *
 *   "-123.456789\n"  --fast_scan-->      w = 123456789, q = -6, neg
 *                    --round_decimal-->  the nearest double or float
 *
 * Everything else (20 digits, inf, 0x bits, errors) is handled by number.c, byte by byte and
 * exactly. */
#pragma once

#include "tally.h"
#include <assert.h>
#include <string.h>

enum {
    TL_DTYPES = 0
#define DTYPE(...) +1
#include "dtype.def"
#undef DTYPE
};

/* The name for sentences, also of a number that is no type. */
static inline const char *tl_dtype_word(tally_dtype d)
{
    return tally_dtype_name(d) ? tally_dtype_name(d) : "unknown";
}

/* 'I', 'U' or 'F'; 0 if there is no such type. */
char tl_dtype_kind(tally_dtype d);

#define TL_FORCE_INLINE static inline __attribute__((always_inline))

/* The leading 128 bits (high, low) of 5^q, q = TL_POW5_MIN .. TL_POW5_MAX, for reading decimals
 * (Eisel-Lemire, Software: Practice and Experience 51:8, 2021) and for writing them (Schubfach,
 * Giulietti 2020). They are exact for 0 <= q <= 55, one unit above the truncated value for -27 <= q
 * < 0, and truncated elsewhere. number.c computes them when the library is loaded. */
enum { TL_POW5_MIN = -342, TL_POW5_MAX = 324 };
extern uint64_t tl_pow5[TL_POW5_MAX - TL_POW5_MIN + 1][2];

/* Why a cell has no value. */
enum {
    TL_CELL_OK,
    TL_CELL_BAD,
    TL_CELL_WHOLE,
    TL_CELL_RANGE,
    TL_CELL_EMPTY,
    TL_CELL_FIELDS,
    TL_CELL_WIDTH,
    TL_CELL_LONG,
    TL_CELL_QUOTE,
    TL_CELL_MORE
};

/* Parses the whole text [s, e) as one value of dtype. Returns one of TL_CELL_. The text needs no
 * padding and no terminator. */
int tl_parse_cell(tally_dtype dtype, const char *s, const char *e, void *value);

/* Is [s, e) equal to `word` (lower case), ignoring case? */
int tl_is_word(const char *s, const char *e, const char *word);

/* format.c: writes value as text, at most TL_VALUE_CHARS characters. Returns their end. */
enum { TL_VALUE_CHARS = 32 }; /* the longest text has 24 characters */
char *tl_format(char *out, tally_dtype dtype, const void *value, int hex);

/* Writes at most 8 numbers as "2, 3" and returns the length. */
enum { TL_LIST_CHARS = 200 };
size_t tl_list(int n, const int64_t *numbers, char out[TL_LIST_CHARS]);

/* dtype.c: a number of type `from` as type `to`. 0 if that type has no such number: an integer must
 * be whole and in range; a float is rounded to nearest (in the caller's mode), and a finite number
 * must not become infinite. Not for f16 and bf16. */
int tl_cast(tally_dtype to, void *out, tally_dtype from, const void *value);

/* A decimal as an exact integer, in units of 1 / TALLY_KEY_PART: the keys of windows, and lengths
 * along them. A number from -2^63 to 2^64 - 1 with 18 digits after the point fits 128 bits. */
enum { TL_DECIMAL_CHARS = 48 };

/* Not a number; outside -2^63 .. 2^64 - 1; more than 18 digits after the point, not counting zeros
 * at the end. */
enum { TL_DECIMAL_OK, TL_DECIMAL_BAD, TL_DECIMAL_RANGE, TL_DECIMAL_DIGITS };

/* Parses the whole text [s, e). */
int tl_decimal_parse(const char *s, const char *e, __int128 *units);

/* Splits units into whole + part / TALLY_KEY_PART, 0 <= part < TALLY_KEY_PART. */
void tl_decimal_split(__int128 units, __int128 *whole, int64_t *part);

/* Writes the decimal with the fewest digits, terminated by a zero byte. */
void tl_decimal_format(__int128 units, char out[TL_DECIMAL_CHARS]);

/* A binary floating-point format, for the rounding below. */
struct tl_fmt {
    int mant, bias, inf, qmin, qmax, even_lo, even_hi;
};

static const struct tl_fmt tl_f64 = {52, -1023, 0x7ff, -342, 308, -4, 23};
static const struct tl_fmt tl_f32 = {23, -127, 0xff, -65, 38, -17, 10};

/* The bits, without the sign, of the value of format f nearest to w * 10^q, ties to even. Exact for
 * every w and q, without a fallback (Mushtak and Lemire, "Fast number parsing without fallback",
 * 2022). */
TL_FORCE_INLINE uint64_t tl_round_decimal(uint64_t w, int64_t q, const struct tl_fmt f)
{
    if (w == 0 || q < f.qmin) return 0;
    if (q > f.qmax) return (uint64_t)f.inf << f.mant;

    const int lz = __builtin_clzll(w);
    w <<= lz;
    const uint64_t *const t = tl_pow5[q - TL_POW5_MIN];
    const unsigned __int128 a = (unsigned __int128)w * t[0];
    uint64_t hi = (uint64_t)(a >> 64), lo = (uint64_t)a;
    const uint64_t mask = ~0ull >> (f.mant + 3);

    /* the low half of the table's entry may matter */
    if (__builtin_expect((hi & mask) == mask, 0)) {
        const uint64_t more = (uint64_t)(((unsigned __int128)w * t[1]) >> 64);
        lo += more;
        if (more > lo) hi++;
    }

    const int top = (int)(hi >> 63), shift = top + 64 - f.mant - 3;
    uint64_t m = hi >> shift;
    int e = (int)((217706 * q) >> 16) + 63 + top - lz - f.bias; /* 217706 / 2^16: log2 of 10 */
    if (__builtin_expect(e <= 0, 0)) {                          /* subnormal */
        if (-e + 1 >= 64) return 0;
        m >>= -e + 1;
        m += m & 1;
        return m >> 1; /* the carry into the exponent field is correct */
    }

    if (__builtin_expect(lo <= 1, 0) && q >= f.even_lo && q <= f.even_hi && (m & 3) == 1 &&
        (m << shift) == hi)
        m &= ~1ull; /* exactly half way: to even */
    m += m & 1;
    m >>= 1;

    /* m includes the hidden bit, which adds 1 to the exponent; so does a carry */
    const uint64_t bits = m + ((uint64_t)(e - 1) << f.mant);

    return __builtin_expect(bits >= (uint64_t)f.inf << f.mant, 0) ? (uint64_t)f.inf << f.mant
                                                                  : bits;
}

static const uint64_t tl_ten[] = {1,         10,         100,         1000,
                                  10000,     100000,     1000000,     10000000,
                                  100000000, 1000000000, 10000000000, 100000000000};

/* Returns how many of the 8 characters at p are digits before the first that is not, and their
 * value. Reads 8 bytes. */
TL_FORCE_INLINE int tl_digits8(const char *p, uint64_t *value)
{
    uint64_t v;
    memcpy(&v, p, 8);
    v ^= 0x3030303030303030ull;

    /* The high bit of each byte that is not 0..9. A carry affects only bytes above the first of
     * those. */
    const uint64_t bad = ((v + 0x7676767676767676ull) | v) & 0x8080808080808080ull;
    const int n = bad ? __builtin_ctzll(bad) >> 3 : 8;
    v = v << (32 - 4 * n) << (32 - 4 * n); /* leading zeros; in two steps, since n may be 0 */
    v = v * 10 + (v >> 8);                 /* pairs */
    v = ((v & 0x000000ff000000ffull) * 0x000f424000000064ull +
         ((v >> 16) & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
        32;
    *value = v & 0xffffffffu;

    return n;
}

/* Scans a plain decimal of at most 19 digits from *p, up to the first character that does not
 * belong to it. Returns 1 and the value w * 10^q, or 0. Reads up to 16 bytes past the number. */
TL_FORCE_INLINE int tl_fast_scan(const char **p, uint64_t *w, int64_t *q, int *neg)
{
    const char *s = *p;
    uint64_t m, v;

    *neg = *s == '-';
    s += *neg;
    int n = tl_digits8(s, &m), digits = n;
    s += n;
    while (__builtin_expect(n == 8, 0)) {
        if (digits > 16) return 0;
        n = tl_digits8(s, &v);
        m = m * tl_ten[n] + v;
        digits += n;
        s += n;
    }

    int64_t e = 0;
    if (*s == '.') {
        s++;
        n = tl_digits8(s, &v);
        m = m * tl_ten[n] + v;
        digits += n;
        e -= n;
        s += n;
        while (__builtin_expect(n == 8, 0)) {
            if (digits > 16) { /* at most 3 more digits make 19 */
                n = 0;
                while (digits + n < 20 && (unsigned)(s[n] - '0') < 10) n++;
                if (digits + n > 19) return 0;
                for (int i = 0; i < n; i++) m = m * 10 + (uint64_t)(s[i] - '0');
            } else {
                n = tl_digits8(s, &v);
                m = m * tl_ten[n] + v;
            }

            digits += n;
            e -= n;
            s += n;
        }
    }

    if (__builtin_expect((unsigned)digits - 1 > 18, 0)) return 0; /* none, or more than 19 */
    if (__builtin_expect((*s | 0x20) == 'e', 0)) {
        s++;
        const int minus = *s == '-';
        s += *s == '-' || *s == '+';
        n = 0;
        int64_t x = 0;
        while (n < 5 && (unsigned)(s[n] - '0') < 10) x = x * 10 + (s[n++] - '0');
        if (n == 0 || n == 5) return 0;
        s += n;
        e += minus ? -x : x;
    }

    *p = s;
    *w = m;
    *q = e;

    return 1;
}

/* Scans an integer of at most 18 digits from *p. Reads up to 16 bytes past it. */
TL_FORCE_INLINE int tl_fast_whole(const char **p, int64_t *value)
{
    const char *s = *p;
    uint64_t m, v;
    const int neg = *s == '-';

    s += neg;
    int n = tl_digits8(s, &m), digits = n;
    s += n;
    while (__builtin_expect(n == 8, 0)) {
        n = tl_digits8(s, &v);
        digits += n;
        s += n;
        if (digits > 18) return 0;
        m = m * tl_ten[n] + v;
    }

    if (digits == 0) return 0;
    *value = neg ? -(int64_t)m : (int64_t)m;
    *p = s;

    return 1;
}

/* tally_dtype_size of an integer type, inlined for loops. */
TL_FORCE_INLINE size_t tl_whole_size(tally_dtype dtype)
{
    return (size_t)1 << ((dtype - TALLY_I8) >> 1);
}

/* The smallest and largest value of an integer type. For u64 the largest is INT64_MAX, which is
 * enough for the fast path. */
TL_FORCE_INLINE void tl_whole_range(tally_dtype dtype, int64_t *least, int64_t *greatest)
{
    assert(dtype >= TALLY_I8 && dtype <= TALLY_U64);
    const int is_unsigned = (dtype - TALLY_I8) & 1, bits = 8 * (int)tl_whole_size(dtype);
    *greatest = INT64_MAX >> (63 - (is_unsigned && bits < 64 ? bits : bits - 1));
    *least = is_unsigned ? 0 : -*greatest - 1;
}

static inline int tl_is_float(tally_dtype dtype)
{
    return dtype >= TALLY_F16 && dtype <= TALLY_F64;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are stored as a little-endian machine stores them"
#endif

/* Stores the low bytes of bits as an element of `size` bytes. */
TL_FORCE_INLINE void tl_store(void *value, uint64_t bits, size_t size)
{
    memcpy(value, &bits, size);
}

/* The bits of an element of `size` bytes; the others are 0. */
static inline uint64_t tl_load(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

/* The fast path for one value: returns 1 and moves *p past it, or returns 0 and leaves *p.
 * Requires: dtype is a constant in the caller. Reads up to 32 bytes past the number. */
TL_FORCE_INLINE int tl_fast_value(const char **p, tally_dtype dtype, void *value)
{
    if (dtype == TALLY_F64 || dtype == TALLY_F32) {
        uint64_t w;
        int64_t q;
        int neg;
        if (!tl_fast_scan(p, &w, &q, &neg)) return 0;

        if (dtype == TALLY_F64)
            tl_store(value, tl_round_decimal(w, q, tl_f64) | (uint64_t)neg << 63, 8);
        else
            tl_store(value, tl_round_decimal(w, q, tl_f32) | (uint64_t)neg << 31, 4);
        return 1;
    }

    if (dtype == TALLY_F16 || dtype == TALLY_BF16) return 0;
    const char *s = *p;
    int64_t v, least, greatest;
    if (!tl_fast_whole(&s, &v)) return 0;

    tl_whole_range(dtype, &least, &greatest);
    if (v < least || v > greatest) return 0;

    tl_store(value, (uint64_t)v, tl_whole_size(dtype));
    *p = s;

    return 1;
}

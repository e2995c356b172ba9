/* SPDX-License-Identifier: MIT
 * Decimals as exact integers. A number from -2^63 to 2^64 - 1 with 18 digits after the point has at
 * most 38 digits, so it fits 128 bits in units of 10^-18. */
#include "decimal.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { AFTER_POINT = 18, BEFORE_POINT = 20, DIGITS = AFTER_POINT + BEFORE_POINT };

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* The digits of a decimal, without zeros at both ends: value = digits * 10^exponent. */
typedef struct {
    unsigned __int128 digits; /* valid if count <= DIGITS */
    int64_t count, exponent;
} scanned;

/* Scans digits, perhaps with a point among them. Returns their end; NULL: there are none. */
static const char *scan_digits(const char *s, const char *e, scanned *d)
{
    assert(s <= e);
    int64_t zeros = 0, places = 0; /* zeros since the last other digit; digits after the point */
    int any = 0, point = 0;
    *d = (scanned){0, 0, 0};

    for (; s < e && (is_digit(*s) || (*s == '.' && !point)); s++) {
        if (*s == '.') {
            point = 1;
            continue;
        }

        any = 1;
        places += point;

        if (*s == '0') {
            zeros += d->count > 0;
            continue;
        }

        d->count += zeros + 1;
        for (; zeros >= 0 && d->count <= DIGITS; zeros--) d->digits *= 10;
        d->digits += (unsigned)(*s - '0');
        zeros = 0;
    }

    d->exponent = zeros - places;
    return any ? s : NULL;
}

/* Scans "e-7". Returns its end, or NULL. A number too large for int64_t is saturated. */
static const char *scan_exponent(const char *s, const char *e, int64_t *exponent)
{
    assert(s <= e);
    int64_t value = 0;
    const int minus = s < e && *s == '-';
    if (s < e && (*s == '-' || *s == '+')) s++;
    if (s == e) return NULL;
    for (; s < e && is_digit(*s); s++)
        if (value < 100000000000000000) value = value * 10 + (*s - '0');
    *exponent += minus ? -value : value;
    return s;
}

int tl_decimal_parse(const char *s, const char *e, __int128 *units)
{
    assert(s <= e);
    scanned d;
    const int negative = s < e && *s == '-';
    if (s < e && (*s == '-' || *s == '+')) s++;
    s = scan_digits(s, e, &d);
    if (s && s < e && (*s | 0x20) == 'e') s = scan_exponent(s + 1, e, &d.exponent);
    if (s != e) return TL_DECIMAL_BAD;

    *units = 0;
    if (!d.count) return TL_DECIMAL_OK;
    if (d.count + d.exponent > BEFORE_POINT) return TL_DECIMAL_RANGE;
    if (d.exponent < -AFTER_POINT) return TL_DECIMAL_DIGITS;

    for (int64_t i = -AFTER_POINT; i < d.exponent; i++) d.digits *= 10;
    const __int128 least = (__int128)INT64_MIN * TALLY_KEY_PART,
                   end = ((__int128)UINT64_MAX + 1) * TALLY_KEY_PART,
                   value = negative ? -(__int128)d.digits : (__int128)d.digits;
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
    __int128 units, all;
    int64_t rest;

    if (!text || !whole || !part) return TALLY_INVALID;
    const int why = tl_decimal_parse(text, text + length, &units);
    if (why == TL_DECIMAL_BAD) return TALLY_BAD_DATA;
    if (why) return TALLY_UNSUPPORTED;
    tl_decimal_split(units, &all, &rest);
    if (all > INT64_MAX) return TALLY_UNSUPPORTED;
    *whole = (int64_t)all;
    *part = rest;

    return TALLY_OK;
}

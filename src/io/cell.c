/* SPDX-License-Identifier: MIT
 * Reads one cell as a value: a number, a number with digits in groups of three, or a word for a
 * missing value. */
#include "io.h"
#include <assert.h>
#include <string.h>

int tl_missing(const char *s, const char *e)
{
    assert(s <= e);
    static const char *const words[] = {"", "na", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *w = words[i], *p = s;
        while (p < e && *w && (*p >= 'A' && *p <= 'Z' ? *p + 32 : *p) == *w) p++, w++;
        if (p == e && !*w) return 1;
    }
    return 0;
}

char tl_grouped(const char *s, const char *e)
{
    assert(s <= e);
    const char *p = s, *d;
    if (p < e && (*p == '+' || *p == '-')) p++;
    for (d = p; p < e && *p >= '0' && *p <= '9';) p++;
    if (p == d || p - d > 3 || p == e || !strchr(",' _", *p)) return 0;

    const char between = *p;
    while (p < e && *p == between) {
        for (d = ++p; p < e && *p >= '0' && *p <= '9';) p++;
        if (p - d != 3) return 0;
    }

    if (p < e && *p == '.')
        for (p++; p < e && *p >= '0' && *p <= '9';) p++;
    return p == e ? between : 0;
}

/* Reads a number whose digits are in groups of three. */
static int parse_grouped(tally_dtype dtype, const char *s, const char *e, char thousands,
                         void *value)
{
    assert(thousands);
    enum { LONGEST = 400 }; /* more characters than any number needs */
    char digits[LONGEST];
    size_t n = 0;
    if (e - s > LONGEST || tl_grouped(s, e) != thousands) return TL_CELL_BAD;
    for (; s < e; s++)
        if (*s != thousands) digits[n++] = *s;
    return tl_parse_cell(dtype, digits, digits + n, value);
}

int tl_cell(tally_dtype dtype, const char *s, const char *e, char thousands, void *value)
{
    assert(s <= e);
    static const char nan_word[] = "nan";
    int why = tl_parse_cell(dtype, s, e, value);
    if (why != TL_CELL_OK && thousands && memchr(s, thousands, (size_t)(e - s)))
        why = parse_grouped(dtype, s, e, thousands, value);
    if (why == TL_CELL_OK || !tl_missing(s, e)) return why;
    return tl_is_float(dtype) ? tl_parse_cell(dtype, nan_word, nan_word + 3, value) : TL_CELL_EMPTY;
}

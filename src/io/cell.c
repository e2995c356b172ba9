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

enum { LONGEST = 400 }; /* more characters than any number needs */

/* Reads a number whose digits are in groups of three. */
static int parse_grouped(tally_dtype dtype, const char *s, const char *e, char thousands,
                         void *value)
{
    assert(thousands);
    char digits[LONGEST];
    size_t n = 0;
    if (e - s > LONGEST || tl_grouped(s, e) != thousands) return TL_CELL_BAD;
    for (; s < e; s++)
        if (*s != thousands) digits[n++] = *s;
    return tl_parse_cell(dtype, digits, digits + n, value);
}

/* Exchanges the point and the character before a fraction. Returns the length, or -1 if there are
 * more characters than any number needs. */
static int64_t with_point(const char *s, const char *e, char decimal, char *out)
{
    if (e - s > LONGEST) return -1;
    for (const char *p = s; p < e; p++) *out++ = *p == decimal ? '.' : *p == '.' ? decimal : *p;
    return e - s;
}

int tl_cell(tally_dtype dtype, const char *s, const char *e, const tl_layout *l, void *value)
{
    assert(s <= e);
    static const char nan_word[] = "nan";
    char text[LONGEST], thousands = l->thousands;
    const char *from = s, *to = e;
    if (l->decimal) {
        const int64_t n = with_point(s, e, l->decimal, text);
        from = text;
        to = text + (n < 0 ? 0 : n);
        if (thousands == '.') thousands = l->decimal;
    }
    int why = tl_parse_cell(dtype, from, to, value);
    if (why != TL_CELL_OK && thousands && memchr(from, thousands, (size_t)(to - from)))
        why = parse_grouped(dtype, from, to, thousands, value);
    if (why == TL_CELL_OK || !tl_missing(s, e)) return why;
    return tl_is_float(dtype) ? tl_parse_cell(dtype, nan_word, nan_word + 3, value) : TL_CELL_EMPTY;
}

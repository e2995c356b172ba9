/* SPDX-License-Identifier: MIT
 * Finds where one cell of a line begins and ends, and where a block of text can be cut; reads a
 * cell as a value: a number, a number with digits in groups of three, or a word for a missing
 * value. */
#include "io.h"
#include <assert.h>
#include <string.h>

const char *tl_line_end(const char *p, const char *end)
{
    const char *const n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

void tl_unify_lines(char *p, size_t n, int last)
{
    typedef unsigned char v16 __attribute__((vector_size(16)));
    typedef uint64_t v2 __attribute__((vector_size(16)));
    char *const end = p + n;
    p = memchr(p, '\r', n);
    while (p && p < end) {
        v16 at, next;
        while (end - p > 16) { /* in a file with CR LF each line has one carriage return */
            memcpy(&at, p, 16);
            memcpy(&next, p + 1, 16);
            const v2 lone = (v2)((at == '\r') & (next != '\n'));
            if (lone[0] | lone[1]) break;
            p += 16;
        }

        char *const stop = end - p > 16 ? p + 16 : end;
        for (; p < stop; p++)
            if (*p == '\r' && (p + 1 < end ? p[1] != '\n' : last)) *p = '\n';
    }
}

static int blank(char c, char delimiter) { return tl_is_blank(c) && c != delimiter; }

const char *tl_field(const char *p, const char *end, const tl_layout *l, const char **s,
                     const char **e)
{
    assert(p <= end);
    const char d = l->delimiter;
    while (p < end && blank(*p, d)) p++;
    *s = p;
    if (l->quotes && p < end && *p == '"') {
        const char *q = p + 1;
        while (q < end && (*q != '"' || (q + 1 < end && q[1] == '"'))) q += 1 + (*q == '"');
        if (q >= end) {
            *e = NULL;
            return end;
        }

        const char *rest = q + 1;
        while (rest < end && blank(*rest, d)) rest++;
        if (rest == end || *rest == d || *rest == '\n') {
            *s = p + 1;
            *e = q;
            return rest;
        }

        if (memchr(p, '\n',
                   /* the quoted text has several lines and more text follows it, so the opening
                    * quote is a mistake */
                   (size_t)(q - p))) {
            *e = NULL;
            return end;
        } /* else the cell is read with its quotes */

        p = rest;
    }

    if (d) {
        while (p < end && *p != d && *p != '\n') p++;
        *e = p;
        while (*e > *s && blank((*e)[-1], d)) (*e)--;
    } else {
        while (p < end && !blank(*p, d) && *p != '\n') p++;
        *e = p;
        while (p < end && blank(*p, d)) p++;
    }
    return p;
}

/* ---- where a block of text can be cut for the threads: after a newline that ends a record, not
 * after one in a quoted field ---- */

static int is_comment(const char *line, const char *end, const tl_layout *l)
{
    while (line < end && blank(*line, l->delimiter)) line++;
    return line < end && (unsigned char)*line == l->comment;
}

/* Whether the quote at q is the first character of its field. `line` is the start of q's line. */
static int is_first(const char *line, const char *q, char delimiter)
{
    while (q > line && blank(q[-1], delimiter)) q--;
    return q == line || q[-1] == delimiter;
}

void tl_text_cut(const char *b, size_t n, const tl_layout *l, size_t *cuts, int k, int last)
{
    assert(k >= 1);
    const char *const end = b + n, *p = b, *at = b; /* at: the start of the line of p */
    int i = 1, comment = is_comment(b, end, l);
    while (p < end) {
        const char *q = l->quotes ? memchr(p, '"', (size_t)(end - p)) : NULL;
        const char *const outside = q ? q : end; /* [p, outside) is not in quotes */
        while (i < k) {
            const char *const from = p > b + cuts[i] ? p : b + cuts[i];
            const char *const nl =
                from < outside ? memchr(from, '\n', (size_t)(outside - from)) : NULL;
            if (!nl) break;
            cuts[i++] = (size_t)(nl + 1 - b);
        }

        for (const char *x = outside; x > p; x--)
            if (x[-1] == '\n') {
                at = x;
                comment = is_comment(at, end, l);
                break;
            }

        if (!q) break;
        if (comment || !is_first(at, q, l->delimiter)) {
            p = q + 1;
            continue;
        }

        for (q++; (q = memchr(q, '"', (size_t)(end - q))) && q + 1 < end && q[1] == '"';) q += 2;
        if (!q) break; /* the record continues in the next block */
        p = q + 1;
    }

    cuts[k] = last ? n : (size_t)(at - b);
    for (; i < k; i++) cuts[i] = cuts[k];
    for (i = 1; i < k; i++)
        if (cuts[i] > cuts[k]) cuts[i] = cuts[k];
}

/* ---- one cell as a value ---- */

int tl_missing(const char *s, const char *e)
{
    assert(s <= e);
    return s == e || tl_is_word(s, e, "na") || tl_is_word(s, e, "null");
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

/* SPDX-License-Identifier: MIT
 * Finds where one cell of a line begins and ends, and where a block of text can be cut; reads a
 * cell as a value: a number, a number with digits in groups of three, or a word for a missing
 * value; tells the kind of a cell, and a header from data. */
#include "context/threads.h"
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
    const char *const found = memchr(p, '\r', n);
    if (!found) return;
    for (size_t i = (size_t)(found - p); i + 1 < n; i++) /* without branches: vectors of bytes */
        p[i] = ((p[i] == '\r') & (p[i + 1] != '\n')) ? '\n' : p[i];
    if (last && p[n - 1] == '\r') p[n - 1] = '\n';
}

/* No part but the last ends in a carriage return, which the byte after it decides. */
typedef struct {
    char *p;
    size_t cuts[TL_CHUNKS_MOST + 1];
    int parts, last;
} unify_work;

static void unify_part(void *data, int64_t i)
{
    const unify_work *w = data;
    tl_unify_lines(w->p + w->cuts[i], w->cuts[i + 1] - w->cuts[i], w->last && i + 1 == w->parts);
}

void tl_unify_text(char *p, size_t n, int threads, int parts, int last)
{
    unify_work work = {.p = p, .parts = parts, .last = last};
    assert(parts <= TL_CHUNKS_MOST);
    for (int i = 1; i <= parts; i++) {
        size_t *const at = &work.cuts[i];
        *at = i == parts ? n : n / (size_t)parts * (size_t)i;
        if (*at < at[-1]) *at = at[-1];
        while (*at && *at < n && p[*at - 1] == '\r') ++*at;
    }
    tl_for(threads, parts, unify_part, &work);
}

/* At most 240 in a byte, so that compilers count in vectors of bytes. */
int64_t tl_count(const char *p, size_t n, char c)
{
    int64_t total = 0;
    for (size_t m; n; p += m, n -= m) {
        unsigned char some = 0;
        m = n < 240 ? n : 240;
        for (size_t i = 0; i < m; i++) some += p[i] == c;
        total += some;
    }
    return total;
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

size_t tl_text_cut_line(const char *b, size_t n, const tl_layout *l, int mid_line, int in_comment)
{
    assert(n > 0);
    size_t x = n - (b[n - 1] == '\r'); /* which may be half of a line end */
    const char *first = b;
    while (tl_is_blank(*first)) first++;

    while (!in_comment && (mid_line || (unsigned char)*first != l->comment) && x &&
           !(b[x - 1] == ' ' || b[x - 1] == '\t' || (l->delimiter && b[x - 1] == l->delimiter)))
        x--;
    return x;
}

/* ---- one cell as a value ---- */

/* Whether a cell is empty or a word for a missing value. */
static int is_missing(const char *s, const char *e)
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

/* Reads a number whose digits are in groups of three. */
static int parse_grouped(tally_dtype dtype, const char *s, const char *e, char thousands,
                         void *value)
{
    assert(thousands);
    char digits[TL_NUMBER_MOST];
    size_t n = 0;
    if (e - s > TL_NUMBER_MOST || tl_grouped(s, e) != thousands) return TL_CELL_BAD;
    for (; s < e; s++)
        if (*s != thousands) digits[n++] = *s;
    return tl_parse_cell(dtype, digits, digits + n, value);
}

int tl_cell(tally_dtype dtype, const char *s, const char *e, const tl_layout *l, void *value)
{
    assert(s <= e);
    static const char nan_word[] = "nan";
    char text[TL_NUMBER_MOST], thousands = l->thousands;
    const char *from = s, *to = e;
    if (l->decimal) {
        from = text;
        to = text + tl_with_point(s, e, l->decimal, text);
        if (thousands == '.') thousands = l->decimal;
    }
    int why = tl_parse_cell(dtype, from, to, value);
    if (why != TL_CELL_OK && thousands && memchr(from, thousands, (size_t)(to - from)))
        why = parse_grouped(dtype, from, to, thousands, value);
    if (why == TL_CELL_OK || !is_missing(s, e)) return why;

    return tl_is_float(dtype) ? tl_parse_cell(dtype, nan_word, nan_word + 3, value) : TL_CELL_EMPTY;
}

/* ---- the kinds of cells, and whether the first record is a header. If the signs are not clear,
 * the caller must decide.
 *
 *    city,2023,2024      a header, if a word is above a number or above a time,
 *    Oslo,10,20          or if it has words and no number
 *    Rome,30,40          no header, if a word occurs again below in its column, if a time is
 *                        above a time, or if all cells are numbers
 *                        uncertain in all other cases, as in this one, and if signs disagree */

int tl_kind(const tl_lines *t, const tl_field_text *x)
{
    double v;
    if (is_missing(x->s, x->e)) return TL_NONE;
    return tl_cell(TALLY_F64, x->s, x->e, t->l, &v) == TL_CELL_OK ||
                   tl_cell(t->dtype, x->s, x->e, t->l, &v) == TL_CELL_OK
               ? TL_NUMBER
               : TL_WORD;
}

const tl_field_text *tl_first_known_cell(const tl_lines *t, int from, int64_t i)
{
    assert(from >= 0 && i >= 0);
    for (int k = from; k < t->records; k++)
        if (i < t->r[k].n && tl_kind(t, &t->r[k].f[i]) != TL_NONE) return &t->r[k].f[i];
    return NULL;
}

int tl_column_kind(const tl_lines *t, int from, int64_t i)
{
    const tl_field_text *const x = tl_first_known_cell(t, from, i);
    return x ? tl_kind(t, x) : TL_NONE;
}

int64_t tl_widest(const tl_lines *t)
{
    int64_t most = 0;
    for (int k = 0; k < t->records; k++)
        if (t->r[k].n > most) most = t->r[k].n;
    return most;
}

int tl_columns_known(const tl_lines *t)
{
    for (int64_t i = tl_widest(t); i-- > 0;)
        if (tl_column_kind(t, 1, i) == TL_NONE) return 0;
    return 1;
}

static int is_time(const tl_field_text *x)
{
    tl_time time;
    return tl_time_parse(x->s, x->e, &time) == TL_CELL_OK;
}

/* Whether the first cell of column i occurs again below. */
static int occurs_again(const tl_lines *t, int64_t i)
{
    const tl_field_text *const x = &t->r[0].f[i];
    for (int k = 1; k < t->records; k++) {
        if (i >= t->r[k].n) continue;
        const tl_field_text *const y = &t->r[k].f[i];
        if (y->e - y->s == x->e - x->s && memcmp(x->s, y->s, (size_t)(x->e - x->s)) == 0) return 1;
    }
    return 0;
}

/* What column i, whose first cell is a word, shows. */
enum { NOTHING, IS_HEADER, IS_DATA };

static int sign_of(const tl_lines *t, int64_t i, int value)
{
    assert(i >= 0);
    const tl_field_text *const first = &t->r[0].f[i], *const below = tl_first_known_cell(t, 1, i);
    if (value) return IS_HEADER; /* a column of values has no words */
    if (below && is_time(first)) return is_time(below) ? IS_DATA : NOTHING;
    if (below && (tl_kind(t, below) == TL_NUMBER || is_time(below))) return IS_HEADER;
    return occurs_again(t, i) ? IS_DATA : NOTHING;
}

int tl_header_guess(const tl_lines *t, const char *values)
{
    assert(t->records >= 1);
    const tl_record *const first = &t->r[0];
    int words = 0, numbers = 0, header = 0, data = 0, open = 0;

    for (int64_t i = 0; i < first->n; i++) {
        const int what = tl_kind(t, &first->f[i]);
        const int sign = what == TL_WORD ? sign_of(t, i, values && values[i] & 1) : NOTHING;
        words += what == TL_WORD;
        numbers += what == TL_NUMBER || (what == TL_WORD && is_time(&first->f[i]));
        header |= sign == IS_HEADER;
        data |= sign == IS_DATA;

        /* a table with names for columns and lines often has an empty cell in the corner */
        open |= what == TL_NONE && ((i == 0 && first->n > 1) || tl_column_kind(t, 1, i) == TL_WORD);
    }

    if (header && data) return TL_HEADER_UNCERTAIN;
    if (header || (words && !numbers)) return TL_HEADER_YES;
    if (data || !numbers) return TL_HEADER_NO;
    return words || open ? TL_HEADER_UNCERTAIN : TL_HEADER_NO;
}

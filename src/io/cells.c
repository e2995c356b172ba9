/* SPDX-License-Identifier: MIT
 * The loops over the cells of a chunk of text. A chunk has whole lines and ends with white space,
 * so the fast path (tl_fast_value) needs no check for the end. A cell that the fast path does not
 * accept is cut out and read by tl_parse_cell. */
#include "io.h"
#include <assert.h>
#include <string.h>

/* A bad cell: 1 continues (the cell is skipped), 0 stops. Never skipped: a quote that is not
 * closed, which hides everything after it, and two times that cannot be compared, of which either
 * may be wrong. */
static int note_bad(tl_chunk *c, const char *s, const char *e, int why)
{
    assert(why != TL_CELL_OK);
    assert(s <= e);
    if (c->skip_bad && why != TL_CELL_QUOTE && why != TL_CELL_FRAME) {
        c->skipped++;
        return 1;
    }
    c->bad = s;
    c->bad_end = e;
    c->why = why;

    return 0;
}

static inline int white(char ch, char d)
{
    return ch == ' ' || (ch >= '\t' && ch <= '\r') || ch == d;
}

/* Whether only blanks come before p on its line. */
static int begins_line(const tl_chunk *c, const char *p)
{
    while (p > c->start && tl_is_blank(p[-1])) p--;
    return p == c->start ? !c->mid_line : p[-1] == '\n';
}

/* Reads text in which every cell is a value. */
TL_FORCE_INLINE void read_every_cell(tl_chunk *const c, const tl_layout *const l,
                                     const tally_dtype dtype)
{
    const size_t size = tally_dtype_size(dtype);
    const char *p = c->start, *const end = c->end, d = l->delimiter ? l->delimiter : ' ',
               point = !l->decimal;
    const int comment = l->comment;
    unsigned char *out = c->values;

    if (c->in_comment) {
        p = tl_line_end(p, end);
        c->in_comment = p == end;
    }

    while (p < end) {
        const char *t = p;
        if (point && tl_fast_value(&t, dtype, out)) {
            if (__builtin_expect(*t == '\n' || white(*t, d), 1)) {
                out += size;
                p = t + 1;
                continue;
            }
        } else if (white(*p, d)) {
            p++;
            continue;
        }

        if ((unsigned char)*p == comment && begins_line(c, p)) {
            p = tl_line_end(p, end);
            c->in_comment = p == end;
            continue;
        }

        for (t = p; t < end && !white(*t, d);) t++;
        const int why = tl_cell(dtype, p, t, l, out);
        if (why == TL_CELL_OK)
            out += size;
        else if (!note_bad(c, p, t, why))
            break;
        p = t;
    }

    c->count = (out - c->values) / (int64_t)size;
}

/* Its functions are inlined and its address is not taken elsewhere, so the members stay in
 * registers. */
typedef struct {
    const tl_layout *l;
    const char *start, *stop; /* stop: the line's end; the chunk's, if a quote may hide newlines */
    const char *p;            /* the start of cell number `cell` */
    const char *q;            /* the end of the last field */
    const char *s, *e;        /* the text of the last field; e NULL: its quote is not closed */
    int64_t cell;
    int simple; /* there is a delimiter, and no quote */
} line;

/* Finds the text of the field at p and returns the field's end. */
TL_FORCE_INLINE const char *cut_field(line *t, const char *p)
{
    const char *s, *e, *const q = tl_field(p, t->stop, t->l, &s, &e);
    t->s = s;
    t->e = e;
    return q;
}

/* The start of the field after one that ends at q. */
TL_FORCE_INLINE const char *after(const line *t, const char *q)
{
    return t->l->delimiter ? q + 1 : q;
}

/* Skips the field at t->p, if another field follows. Returns its end, or NULL if none follows;
 * then t->e is NULL if a quote is not closed. */
TL_FORCE_INLINE const char *skip_field(line *t)
{
    if (t->simple) return memchr(t->p, t->l->delimiter, (size_t)(t->stop - t->p));
    const char *const q = cut_field(t, t->p);
    return t->e && q < t->stop && *q != '\n' ? q : NULL;
}

/* Moves to cell number `column`. TL_CELL_OK, or why the line has no such cell. */
TL_FORCE_INLINE int find_cell(tl_chunk *c, line *t, int64_t column)
{
    for (; t->cell < column; t->cell++, t->p = after(t, t->q))
        if (!(t->q = skip_field(t))) break;
    if (t->cell == column) return TL_CELL_OK;
    if (!t->e) return TL_CELL_QUOTE;
    c->lacks = column;
    t->s = t->start;
    t->e = tl_line_end(t->start, c->end);
    t->q = t->p;
    return TL_CELL_FIELDS;
}

/* The cell at t->p as a value. Sets t->q. */
TL_FORCE_INLINE int read_value(tl_chunk *c, line *t, tally_dtype dtype, void *value)
{
    const char *at = t->p, *const stop = t->stop, d = t->l->delimiter;
    if (!t->l->decimal && tl_fast_value(&at, dtype, value)) {
        const char *const end = at;
        if (!d)
            while (at < stop && tl_is_blank(*at)) at++;
        t->q = at;
        if (at == stop || *at == '\n' || (d ? *at == d : at > end)) return TL_CELL_OK;
    }
    t->q = cut_field(t, t->p);

    return !t->e         ? TL_CELL_QUOTE
           : *t->l->date ? tl_time_value(c, t->s, t->e, value)
                         : tl_cell(dtype, t->s, t->e, t->l, value);
}

/* Finds the text of the cell at t->p, for a key or a time. Returns TL_CELL_OK or why there is
 * none. */
TL_FORCE_INLINE int read_text(line *t)
{
    if (!t->simple) {
        cut_field(t, t->p);
        return t->e ? TL_CELL_OK : TL_CELL_QUOTE;
    }
    const char *const q = memchr(t->p, t->l->delimiter, (size_t)(t->stop - t->p));
    t->s = t->p;
    t->e = q ? q : t->stop;
    while (t->s < t->e && tl_is_blank(*t->s)) ++t->s;
    while (t->e > t->s && tl_is_blank(t->e[-1])) --t->e;

    return TL_CELL_OK;
}

/* The last text as a key. */
TL_FORCE_INLINE tl_span key_of(const tl_chunk *c, const line *t)
{
    tl_span key = {(uint32_t)(t->s - c->start), (uint32_t)(t->e - t->s)};
    if (!t->simple && t->l->quotes && memchr(t->s, '"', key.length))
        key.length |= TL_QUOTED | (t->s > c->start && t->s[-1] == '"' ? TL_DOUBLED : 0);
    return key;
}

/* The memory for a row. */
typedef struct {
    unsigned char *values;
    tl_span *keys;
    int64_t number;
} row;

/* The cell at t->p as key or time number k of the chosen cells. It may also be a value, so t->p
 * stays. */
TL_FORCE_INLINE int take_text(tl_chunk *c, line *t, const row *to, int64_t k)
{
    int why = read_text(t);
    if (!why && t->l->want[k].role == TL_TIME)
        why = tl_time_take(c, to->number, t->s, t->e);
    else if (!why && t->l->want[k].part)
        why = tl_time_part(c, t->l->want[k].part, t->s, t->e, &to->keys[t->l->want[k].place]);
    else if (!why)
        to->keys[t->l->want[k].place] = key_of(c, t);
    t->q = t->p;
    if (why && why != TL_CELL_QUOTE) t->q = cut_field(t, t->p);

    return why;
}

/* The chosen cells of a line. TL_CELL_OK, or what is wrong with the cell whose text is [t->s,
 * t->e). */
TL_FORCE_INLINE int read_chosen(tl_chunk *c, line *t, const row *to, const tally_dtype dtype,
                                const int64_t columns, const int64_t others)
{
    const size_t size = tally_dtype_size(dtype);
    const int64_t chosen = columns + others;
    int why = TL_CELL_OK;

    for (int64_t k = 0; k < chosen && !why; k++) {
        why = find_cell(c, t, t->l->want[k].column);
        if (!why && others && t->l->want[k].role != TL_VALUE) {
            why = take_text(c, t, to, k);
            if (!why) continue;
        } else if (!why) {
            why = read_value(c, t, dtype,
                             to->values + (chosen == 1 ? 0 : (size_t)t->l->want[k].place * size));
        }

        if (chosen > 1 && !why && k + 1 < chosen && t->q < t->stop && *t->q != '\n')
            t->p = after(t, t->q), t->cell++;
        else
            t->p = t->q;
    }
    return why;
}

/* csv without --keep may have fewer cells than the first line, and more that are empty. */
TL_FORCE_INLINE int check_width(tl_chunk *c, line *t)
{
    const tl_layout *const l = t->l;
    const int exact = !l->delimiter || l->keep;
    int more = t->cell >= l->fields;
    if (l->want[l->columns + l->keys + l->times - 1].role != TL_VALUE) t->q = cut_field(t, t->p);
    const int64_t cells =
        t->cell + 1 + (t->simple ? tl_count(t->q, (size_t)(t->stop - t->q), l->delimiter) : 0);
    if (t->simple && (cells == l->fields || (cells < l->fields && !exact))) return TL_CELL_OK;

    while (!more && t->q < t->stop && *t->q != '\n') {
        t->q = cut_field(t, after(t, t->q));
        if (!t->e) return TL_CELL_QUOTE;
        more = ++t->cell >= l->fields && (t->e > t->s || exact);
    }

    c->lacks = t->cell + 1;
    if (!more && (!exact || c->lacks >= l->fields)) return TL_CELL_OK;
    t->s = t->start;
    t->e = tl_line_end(t->start, c->end);
    return more ? TL_CELL_MORE : TL_CELL_FIELDS;
}

/* The start of the line after t. Returns NULL if a quote is not closed, which it records. A line
 * with quotes may have newlines in its fields. */
TL_FORCE_INLINE const char *next_line(tl_chunk *c, line *t, int quoted)
{
    if (!quoted) return t->stop + 1;
    const char *p = t->q;
    for (t->e = p; t->e && p < c->end && *p != '\n';)
        p = cut_field(t, t->l->delimiter && *p == t->l->delimiter ? p + 1 : p);
    if (t->e) return p + 1;
    note_bad(c, t->s, tl_line_end(t->s, c->end), TL_CELL_QUOTE);
    return NULL;
}

/* One row of values from the chosen columns of each line, with its key and time. After inlining,
 * `columns` is the constant 1 if there is one column, and `others`, the number of key and time
 * columns, the constant 0 if there are none. */
TL_FORCE_INLINE void read_rows(tl_chunk *const c, const tl_layout *const l, const tally_dtype dtype,
                               const int64_t columns, const int64_t others)
{
    const size_t size = tally_dtype_size(dtype);
    /* local copies, because stores to values may alias everything else */
    const int quoted = c->has_quote, comment = l->comment;
    const char *p = c->start, *const end = c->end, d = l->delimiter;
    row to = {c->values, c->keys, 0};
    tl_span *span = c->lines;

    while (p && p < end) {
        line t = {.l = l, .start = p, .simple = d && !quoted};
        while (tl_is_blank(*p) && *p != d) p++; /* stops at the newline at the chunk's end */
        if (*p == '\n') {
            p++;
            continue;
        }

        if ((unsigned char)*p == comment) {
            c->comments++;
            p = tl_line_end(p, end) + 1;
            continue;
        }

        t.stop = quoted ? end : tl_line_end(p, end);
        t.p = p;
        t.q = t.s = t.e = t.start;
        int why = read_chosen(c, &t, &to, dtype, columns, others);
        if (l->fields && !why) why = check_width(c, &t);
        if (why && !note_bad(c, t.s, t.e ? t.e : tl_line_end(t.s, end), why)) break;
        p = next_line(c, &t, quoted);
        if (why || !p) continue;
        if (others && l->keys) to.keys += l->keys;
        to.number++;
        if (span) *span++ = (tl_span){(uint32_t)(t.start - c->start), (uint32_t)(p - 1 - t.start)};
        to.values += (size_t)columns * size;
    }

    c->count = (to.values - c->values) / (int64_t)size;
}

void tl_cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype)
{
    assert(c->start <= c->end && c->values);
    c->count = c->given = c->skipped = c->comments = 0;
    c->bad = NULL;
    c->frame = 0;
    if (l->keys + l->times)
        read_rows(c, l, dtype, l->columns, l->keys + l->times);
    else if (l->columns == 1)
        read_rows(c, l, dtype, 1, 0);
    else if (l->columns)
        read_rows(c, l, dtype, l->columns, 0);
    else
        read_every_cell(c, l, dtype);
}

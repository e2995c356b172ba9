/* SPDX-License-Identifier: MIT
 * The loops over the cells of a chunk of text. A chunk has whole lines and ends with white space,
 * so the fast path (tl_fast_value) needs no check for the end. A cell that the fast path does not
 * accept is cut out and read by tl_parse_cell. */
#include "io.h"
#include <string.h>

/* Records a bad cell. Returns 1 to continue (the cell is skipped), or 0 to stop. Two kinds are
 * never skipped. A quote that is not closed hides everything after it. If two times cannot be
 * compared, either of them may be the wrong one. */
static int note_bad(tl_chunk *c, const char *s, const char *e, int why)
{
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
    while (p > c->start && (p[-1] == ' ' || p[-1] == '\t' || p[-1] == '\r')) p--;
    return p == c->start ? !c->mid_line : p[-1] == '\n';
}

/* Reads text in which every cell is a value. */
static inline __attribute__((always_inline)) void
read_every_cell(tl_chunk *const c, const tl_layout *const l, const tally_dtype dtype)
{
    const size_t size = tally_dtype_size(dtype);
    const char *p = c->start, *const end = c->end, d = l->delimiter ? l->delimiter : ' ',
               thousands = l->thousands;
    const int comment = l->comment;
    unsigned char *out = c->values;
    if (c->in_comment) {
        p = tl_line_end(p, end);
        c->in_comment = p == end;
    }
    while (p < end) {
        const char *t = p;
        if (tl_fast_value(&t, dtype, out)) {
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
        const int why = tl_cell(dtype, p, t, thousands, out);
        if (why == TL_CELL_OK)
            out += size;
        else if (!note_bad(c, p, t, why))
            break;
        p = t;
    }
    c->count = (out - c->values) / (int64_t)size;
}

static inline int blank(char ch) { return ch == ' ' || ch == '\t' || ch == '\r'; }

/* Skips the field at p, if another field follows. Returns its end, or NULL if none follows; then
 * *e is NULL if a quote is not closed. */
static inline const char *skip_field(const char *p, const char *stop, const tl_layout *l,
                                     int simple, const char **s, const char **e)
{
    if (simple) return memchr(p, l->delimiter, (size_t)(stop - p));
    const char *const q = tl_field(p, stop, l, s, e);
    return *e && q < stop && *q != '\n' ? q : NULL;
}

/* Reads the cell at p as a value. Returns TL_CELL_OK or why it is not a value; *q is the end of
 * the field. */
static inline __attribute__((always_inline)) int read_value(const char *p, const char *stop,
                                                            const tl_layout *l, tally_dtype dtype,
                                                            void *value, const char **s,
                                                            const char **e, const char **q)
{
    const char *t = p, d = l->delimiter;
    if (tl_fast_value(&t, dtype, value)) {
        const char *const end = t;
        if (!d)
            while (t < stop && blank(*t)) t++;
        *q = t;
        if (t == stop || *t == '\n' || (d ? *t == d : t > end)) return TL_CELL_OK;
    }
    *q = tl_field(p, stop, l, s, e);
    return *e ? tl_cell(dtype, *s, *e, l->thousands, value) : TL_CELL_QUOTE;
}

/* Finds the text [*s, *e) of the cell at p, for a key or a time. Returns TL_CELL_OK or why there
 * is none. *ended is the end of the field if it is known and another field follows, else NULL. */
static inline int read_text(const char *p, const char *stop, const tl_layout *l, int simple,
                            const char **s, const char **e, const char **ended)
{
    *ended = NULL;
    if (!simple) {
        tl_field(p, stop, l, s, e);
        return *e ? TL_CELL_OK : TL_CELL_QUOTE;
    }
    const char *const q = *ended = memchr(p, l->delimiter, (size_t)(stop - p));
    *s = p;
    *e = q ? q : stop;
    while (*s < *e && blank(**s)) ++*s;
    while (*e > *s && blank((*e)[-1])) --*e;
    return TL_CELL_OK;
}

static inline tl_span key_of(const tl_chunk *c, const tl_layout *l, int simple, const char *s,
                             const char *e)
{
    tl_span key = {(uint32_t)(s - c->start), (uint32_t)(e - s)};
    if (!simple && l->quotes && s > c->start && s[-1] == '"' && memchr(s, '"', key.length))
        key.length |= TL_DOUBLED;
    return key;
}

/* Reads lines: one row of values from the chosen columns, and the row's key and time. After
 * inlining, `columns` is the constant 1 if there is one column of values, and `others`, the
 * number of key and time columns, is the constant 0 if there are none. */
static inline __attribute__((always_inline)) void
read_rows(tl_chunk *const c, const tl_layout *const l, const tally_dtype dtype,
          const int64_t columns, const int64_t others)
{
    const size_t size = tally_dtype_size(dtype), row = (size_t)columns * size;
    const int64_t chosen = columns + others, keys = others ? l->keys : 0;
    const char *p = c->start, *const end = c->end, d = l->delimiter;
    /* local copies, because stores to values may alias everything else */
    const int quoted = c->has_quote, simple = d && !quoted;
    const int64_t only = l->want->column, fields = l->fields;
    const int comment = l->comment;
    unsigned char *out = c->values;
    tl_span *span = c->lines, *key = c->keys;
    int64_t row_number = 0;
    while (p < end) {
        const char *const line = p, *s = p, *e = p, *q = p, *ended = NULL;
        while (blank(*p) && *p != d) p++; /* stops at the newline at the chunk's end */
        if (*p == '\n') {
            p++;
            continue;
        }
        if ((unsigned char)*p == comment) {
            c->comments++;
            p = tl_line_end(p, end) + 1;
            continue;
        }
        const char *const stop = quoted ? end : tl_line_end(p, end);
        int why = TL_CELL_OK;
        /* p is at the start of cell number `cell`; ended: the end of that cell if take_text found
         * it */
        int64_t cell = 0;
        for (int64_t k = 0; k < chosen && !why; k++) {
            const int64_t column = chosen == 1 ? only : l->want[k].column;
            for (; cell < column; cell++, p = d ? q + 1 : q, ended = NULL)
                if (!(q = ended ? ended : skip_field(p, stop, l, simple, &s, &e))) break;
            if (cell == column && others && l->want[k].role != TL_VALUE) {
                why = read_text(p, stop, l, simple, &s, &e, &ended);
                if (!why && l->want[k].role == TL_TIME)
                    why = tl_time_take(c, row_number, s, e);
                else if (!why)
                    key[l->want[k].place] = key_of(c, l, simple, s, e);
                q = p; /* the same cell may also be a value */
                if (!why) continue;
                if (why != TL_CELL_QUOTE) q = tl_field(p, stop, l, &s, &e);
            } else if (cell == column) {
                why = read_value(p, stop, l, dtype,
                                 chosen == 1 ? out : out + (size_t)l->want[k].place * size, &s, &e,
                                 &q);
            } else if (e) {
                why = TL_CELL_FIELDS;
                c->lacks = column;
                s = line, e = tl_line_end(line, end), q = p;
            } else {
                why = TL_CELL_QUOTE;
            }
            ended = NULL;
            if (chosen > 1 && !why && k + 1 < chosen && q < stop && *q != '\n')
                p = d ? q + 1 : q, cell++;
            else
                p = q;
        }
        /* the cells after the last chosen one */
        for (; fields && !why && q < stop && *q != '\n'; cell++) {
            if (cell + 1 == fields) {
                why = TL_CELL_MORE;
                s = line, e = tl_line_end(line, end);
                break;
            }
            /* `fields` is set only for texts without quotes */
            q = tl_field(d ? q + 1 : q, stop, l, &s, &e);
        }
        if (why && !note_bad(c, s, e ? e : tl_line_end(s, end), why)) break;
        if (!quoted) {
            p = stop + 1;
        } else { /* quoted fields may contain newlines */
            for (p = q, e = q; e && p < end && *p != '\n';)
                p = tl_field(d && *p == d ? p + 1 : p, end, l, &s, &e);
            if (!e) {
                note_bad(c, s, tl_line_end(s, end), TL_CELL_QUOTE);
                break;
            }
            p++;
        }
        if (why) continue;
        if (keys) key += keys;
        row_number++;
        if (span) *span++ = (tl_span){(uint32_t)(line - c->start), (uint32_t)(p - 1 - line)};
        out += row;
    }
    c->count = (out - c->values) / (int64_t)size;
}

static inline __attribute__((always_inline)) void read_cells(tl_chunk *c, const tl_layout *l,
                                                             const tally_dtype dtype)
{
    if (l->keys + l->times)
        read_rows(c, l, dtype, l->columns, l->keys + l->times);
    else if (l->columns == 1)
        read_rows(c, l, dtype, 1, 0);
    else if (l->columns)
        read_rows(c, l, dtype, l->columns, 0);
    else
        read_every_cell(c, l, dtype);
}

/* TL_CELLS_ONCE: one loop for all types, and no copy for BMI below. Builds with sanitizers use
 * it, because clang needs half a minute for all loops. */
#ifdef TL_CELLS_ONCE
enum { ONCE = 1 };
#else
enum { ONCE = 0 };
#endif
static inline __attribute__((always_inline)) void cells(tl_chunk *c, const tl_layout *l,
                                                        tally_dtype dtype)
{
    if (ONCE) {
        read_cells(c, l, dtype);
        return;
    }
    switch (dtype) { /* constant types, so that the common types get their own loops */
    case TALLY_F64:
        read_cells(c, l, TALLY_F64);
        return;
    case TALLY_F32:
        read_cells(c, l, TALLY_F32);
        return;
    case TALLY_I32:
        read_cells(c, l, TALLY_I32);
        return;
    case TALLY_I64:
        read_cells(c, l, TALLY_I64);
        return;
    default:
        read_cells(c, l, dtype);
        return;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
/* The same code compiled for tzcnt, lzcnt, mulx and shifts that do not change the flags. */
static __attribute__((target("bmi,bmi2,lzcnt"))) void cells_bmi(tl_chunk *c, const tl_layout *l,
                                                                tally_dtype dtype)
{
    cells(c, l, dtype);
}
#endif

static void cells_any(tl_chunk *c, const tl_layout *l, tally_dtype dtype) { cells(c, l, dtype); }

void tl_cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype)
{
    c->count = c->given = c->skipped = c->comments = 0;
    c->bad = NULL;
    c->frame = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    if (!ONCE && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2")) { /* every processor with bmi2 has lzcnt */
        cells_bmi(c, l, dtype);
        return;
    }
#endif
    cells_any(c, l, dtype);
}

/* SPDX-License-Identifier: MIT
 * The loops over the cells of a chunk of text. A chunk is whole lines and ends with white space, so the fast path can read on
 * without looking for the end; whatever it declines is cut out and parsed by tl_parse_cell. */
#include "io.h"
#include "number.h"

/* Notes a bad cell: 1 to go on (skipped), 0 to stop. */
static int bad(tl_chunk *c, const char *s, const char *e, int why)
{
    if (c->skip_bad) {
        c->skipped++;
        return 1;
    }
    c->bad = s;
    c->bad_end = e;
    c->why = why;
    return 0;
}

static inline int white(char ch, char d) { return ch == ' ' || (ch >= '\t' && ch <= '\r') || ch == d; }

/* Whether p is the first thing on its line. */
static int begins_line(const tl_chunk *c, const char *p)
{
    while (p > c->start && (p[-1] == ' ' || p[-1] == '\t' || p[-1] == '\r')) p--;
    return p == c->start ? !c->mid_line : p[-1] == '\n';
}

/* Every cell is a value. */
static inline __attribute__((always_inline)) void every(tl_chunk *const c, const char delimiter, const tally_dtype dtype)
{
    const size_t size = tally_dtype_size(dtype);
    const char *p = c->start, *const end = c->end, d = delimiter ? delimiter : ' ';
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
        if (*p == '#' && begins_line(c, p)) {
            p = tl_line_end(p, end);
            c->in_comment = p == end;
            continue;
        }
        for (t = p; t < end && !white(*t, d);) t++;
        const int why = tl_parse_cell(dtype, p, t, out);
        if (why == TL_CELL_OK) out += size;
        else if (!bad(c, p, t, why)) break;
        p = t;
    }
    c->count = (out - c->values) / (int64_t)size;
}

static const char nan_word[] = "nan";

static int is_missing(const char *s, const char *e)
{
    const size_t n = (size_t)(e - s);
    char w[4] = {0};
    if (n == 0) return 1;
    if (n > 4) return 0;
    for (size_t i = 0; i < n; i++) w[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
    return (n == 2 && memcmp(w, "na", 2) == 0) || (n == 3 && memcmp(w, nan_word, 3) == 0) || (n == 4 && memcmp(w, "null", 4) == 0);
}

/* One column of each line. */
static inline __attribute__((always_inline)) void column(tl_chunk *const c, const tl_layout *const l, const tally_dtype dtype)
{
    const size_t size = tally_dtype_size(dtype);
    const char *p = c->start, *const end = c->end, d = l->delimiter;
    unsigned char *out = c->values;
    while (p < end) {
        const char *const line = p, *s, *e, *q;
        while ((*p == ' ' || *p == '\t' || *p == '\r') && *p != d) p++; /* the chunk ends with a newline */
        if (*p == '\n') {
            p++;
            continue;
        }
        if (*p == '#') {
            p = tl_line_end(p, end) + 1;
            continue;
        }
        int64_t k = l->column;
        int why = TL_CELL_FIELDS;
        const int simple = d && !c->has_quote;
        const char *const stop = c->has_quote ? end : tl_line_end(p, end);
        if (simple) {
            while (k && (q = memchr(p, d, (size_t)(stop - p)))) p = q + 1, k--;
        } else {
            for (; k; k--) {
                q = tl_field(p, stop, l, &s, &e);
                if (!e) why = TL_CELL_QUOTE;
                if (!e || q == stop || *q == '\n') break;
                p = d ? q + 1 : q;
            }
        }
        if (k == 0) {
            const char *t = p;
            if (tl_fast_value(&t, dtype, out) && (t == stop || *t == '\n' || (d && *t == d))) {
                out += size;
                q = t;
            } else {
                q = tl_field(p, stop, l, &s, &e);
                why = TL_CELL_QUOTE;
                if (e) {
                    why = l->missing && is_missing(s, e) ? TL_CELL_EMPTY : tl_parse_cell(dtype, s, e, out);
                    if (why == TL_CELL_EMPTY && l->missing && tl_is_float(dtype)) why = tl_parse_cell(dtype, nan_word, nan_word + 3, out);
                }
                if (why == TL_CELL_OK) out += size;
                else if (!bad(c, s, e ? e : tl_line_end(s, end), why)) break;
            }
        } else if (!bad(c, why == TL_CELL_QUOTE ? s : line, tl_line_end(line, end), why)) {
            break;
        }
        if (simple || !c->has_quote) {
            p = stop + 1;
        } else {
            for (p = k == 0 ? q : p; p < end && *p != '\n';) { /* quoted fields may hold newlines */
                if (d && *p == d) p++;
                p = tl_field(p, end, l, &s, &e);
            }
            p++;
        }
    }
    c->count = (out - c->values) / (int64_t)size;
}

static inline __attribute__((always_inline)) void both(tl_chunk *c, const tl_layout *l, const tally_dtype dtype)
{
    if (l->columns) column(c, l, dtype);
    else every(c, l->delimiter, dtype);
}

static inline __attribute__((always_inline)) void cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype)
{
    switch (dtype) { /* constants, so that the common types get loops of their own */
    case TALLY_F64: both(c, l, TALLY_F64); return;
    case TALLY_F32: both(c, l, TALLY_F32); return;
    case TALLY_I32: both(c, l, TALLY_I32); return;
    case TALLY_I64: both(c, l, TALLY_I64); return;
    default: both(c, l, dtype); return;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
/* The same text with tzcnt, lzcnt, mulx and shifts that leave the flags alone. */
static __attribute__((target("bmi,bmi2,lzcnt"))) void cells_bmi(tl_chunk *c, const tl_layout *l, tally_dtype dtype)
{
    cells(c, l, dtype);
}
#endif

static void cells_any(tl_chunk *c, const tl_layout *l, tally_dtype dtype) { cells(c, l, dtype); }

void tl_cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype)
{
    c->count = c->given = c->skipped = 0;
    c->bad = NULL;
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) { /* every processor with bmi2 has lzcnt */
        cells_bmi(c, l, dtype);
        return;
    }
#endif
    cells_any(c, l, dtype);
}

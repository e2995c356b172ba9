/* SPDX-License-Identifier: MIT
 * The layout of a text, from its first two lines of data: which delimiter, whether there is a header, which column. */
#include "io.h"
#include "number.h"
#include <stdio.h>
#include <stdlib.h>

enum { SNIFF = 4096, FIRST = 1 << 16, LONGEST = 64 << 20 }; /* bytes for the format, for the columns; the longest line */

const char *tl_line_end(const char *p, const char *end)
{
    const char *const n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

static int blank(char c, char delimiter) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter; }

const char *tl_field(const char *p, const char *end, const tl_layout *l, const char **s, const char **e)
{
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
        } /* else something follows the closing quote: the whole is one odd cell */
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

/* The start of the first line at or after p that is neither blank nor a comment, or NULL. */
static const char *data_line(const char *p, const char *end)
{
    while (p < end) {
        const char *q = p;
        while (q < end && blank(*q, 0)) q++;
        if (q == end) return NULL;
        if (*q != '\n' && *q != '#') return p;
        q = tl_line_end(q, end);
        p = q < end ? q + 1 : end;
    }
    return NULL;
}

static const char *text_of(const tally_file *f)
{
    return f->peek + (f->peek_n >= 3 && memcmp(f->peek, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

int tl_sniff_kind(const tally_file *f)
{
    const char *const end = f->peek + f->peek_n;
    for (const char *p = f->peek; p < end; p++)
        if ((unsigned char)*p < 32 && !(*p >= 9 && *p <= 13)) return -1;
    const char *p = data_line(text_of(f), end);
    const int more = !f->peek_end && f->peek_n < SNIFF;
    if (!p) return more ? 2 : 0;
    int quoted = 0;
    for (; p < end && *p != '\n'; p++) {
        quoted ^= *p == '"';
        if (!quoted && (*p == ',' || *p == ';')) return 1;
    }
    return p == end && more ? 2 : 0;
}

struct field { const char *s, *e; };
struct record { struct field *f; int64_t n; const char *next; }; /* next: after its newline */

static tally_status record(tally_file *f, const char *p, const char *end, const tl_layout *l, struct record *r)
{
    int64_t room = 0;
    *r = (struct record){NULL, 0, end};
    for (;;) {
        if (r->n == room) {
            room = room ? 2 * room : 64;
            struct field *const more = realloc(r->f, (size_t)room * sizeof *more);
            if (!more) return tl_no_memory(f->ctx, (size_t)room * sizeof *more, "the columns");
            r->f = more;
        }
        struct field *const x = &r->f[r->n++];
        p = tl_field(p, end, l, &x->s, &x->e);
        if (!x->e) x->e = end;
        if (p == end) break;
        if (*p == '\n') {
            r->next = p + 1;
            break;
        }
        if (l->delimiter) p++;
    }
    return TALLY_OK;
}

/* Whether the line at p is whole: its newline is there, outside quotes, or the input ends with it. */
static int whole(const tally_file *f, const char *p, const char *end, int quotes)
{
    int quoted = 0;
    for (; p < end; p++) {
        if (quotes && *p == '"') quoted = !quoted;
        if (*p == '\n' && !quoted) return 1;
    }
    return f->peek_end;
}

/* Reads ahead until two lines of data are whole. */
static tally_status two_lines(tally_file *f, int quotes)
{
    size_t want = FIRST;
    for (;;) {
        const size_t before = f->peek_n;
        const tally_status s = tl_input_peek(f, want);
        if (s) return s;
        const char *const end = f->peek + f->peek_n, *p = data_line(text_of(f), end);
        int n = 0;
        while (p && n < 2 && whole(f, p, end, quotes)) {
            n++;
            p = tl_line_end(p, end);
            p = p < end ? data_line(p + 1, end) : NULL;
        }
        if (n == 2 || f->peek_end || want >= LONGEST) return TALLY_OK;
        if (f->peek_n == before || f->peek_n == want) want *= 4;
    }
}

static int64_t count(const char *p, char c)
{
    int64_t n = 0;
    int quoted = 0;
    for (; *p && *p != '\n'; p++) {
        quoted ^= *p == '"';
        n += !quoted && *p == c;
    }
    return n;
}

/* Comma, semicolon or tab: the first that both lines hold equally often, else the most frequent of the first line. */
static char guess_delimiter(const char *first, const char *second)
{
    static const char choices[] = {',', ';', '\t'};
    char best = ',';
    int64_t most = 0;
    for (size_t i = 0; i < sizeof choices; i++) {
        const int64_t n = count(first, choices[i]);
        if (n && second && n == count(second, choices[i])) return choices[i];
        if (n > most) most = n, best = choices[i];
    }
    return best;
}

/* 1 a number, 0 not, -1 empty or a word for missing. */
static int numeric(const struct field *x, tally_dtype dtype, int csv)
{
    double v;
    if (x->s == x->e) return -1;
    if (tl_parse_cell(TALLY_F64, x->s, x->e, &v) == TL_CELL_OK) return 1;
    if (tl_parse_cell(dtype, x->s, x->e, &v) == TL_CELL_OK) return 1;
    return csv && ((x->e - x->s == 2 && memcmp(x->s, "NA", 2) == 0) || (x->e - x->s == 4 && memcmp(x->s, "null", 4) == 0)) ? -1 : 0;
}

/* Names the columns in a sentence: 1 'date', 2 'price', ... */
static const char *listed(const struct record *names, const struct record *only, tally_dtype dtype, char *out, size_t room)
{
    size_t n = 0;
    *out = 0;
    const struct record *const r = names ? names : only;
    for (int64_t i = 0; i < r->n; i++) {
        if (only && (i >= only->n || numeric(&only->f[i], dtype, 1) != 1)) continue;
        if (n + 60 > room) {
            snprintf(out + n, room - n, ", ...");
            break;
        }
        n += (size_t)snprintf(out + n, room - n, "%s%lld", n ? ", " : "", (long long)i + 1);
        if (names) {
            const int64_t w = names->f[i].e - names->f[i].s;
            n += (size_t)snprintf(out + n, room - n, " '%.*s'", (int)(w < 24 ? w : 24), names->f[i].s);
        }
    }
    return out;
}

static int64_t column_number(const char *name)
{
    int64_t v = 0;
    if (!*name) return 0;
    for (; *name; name++)
        if (*name < '0' || *name > '9' || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *name - '0', &v)) return 0;
    return v;
}

/* Whether a field is `name`. In quotes (it then ends at one) a doubled quote stands for one. */
static int is_named(const struct field *x, const char *name, int quotes)
{
    const int quoted = quotes && *x->e == '"';
    const char *p = x->s;
    for (; p < x->e && *p == *name; p++, name++)
        if (quoted && *p == '"' && p + 1 < x->e) p++;
    return p == x->e && !*name;
}

/* The column and the header, from the records of the first two lines. */
static tally_status choose(tally_file *f, const tally_file_options *o, int csv, const struct record *a, const struct record *b,
                           int *header, int64_t *column)
{
    const tally_dtype dtype = f->info.dtype;
    char list[320];
    *header = o->header > 0;
    *column = 0;
    if (o->column) {
        for (int64_t i = 0; i < a->n && o->header >= 0; i++)
            if (is_named(&a->f[i], o->column, csv) && (o->header > 0 || numeric(&a->f[i], dtype, csv) == 0)) {
                *header = 1;
                *column = i;
                return TALLY_OK;
            }
        const int64_t k = column_number(o->column), most = a->n > b->n ? a->n : b->n;
        int named = o->header > 0;
        for (int64_t i = 0; i < a->n && o->header == 0; i++) named |= numeric(&a->f[i], dtype, csv) == 0;
        if (k < 1 || k > most)
            return tl_fail(f->ctx, TALLY_INVALID, "%s: no column '%s'; the columns are %s", f->label, o->column,
                           listed(named ? a : NULL, named ? NULL : a, dtype, list, sizeof list));
        *column = k - 1;
        if (o->header == 0) *header = *column < a->n && numeric(&a->f[*column], dtype, csv) == 0;
        return TALLY_OK;
    }
    if (o->header == 0) {
        int words = 0, numbers = 0;
        for (int64_t i = 0; i < a->n; i++) {
            const int kind = numeric(&a->f[i], dtype, csv);
            words |= kind == 0;
            numbers |= kind == 1;
            *header |= kind == 0 && i < b->n && numeric(&b->f[i], dtype, csv) == 1;
        }
        *header |= words && !numbers;
    }
    const struct record *const data = *header ? b : a;
    int64_t found = 0, maybe = 0, at = 0, maybe_at = 0;
    for (int64_t i = 0; i < data->n; i++) {
        const int kind = numeric(&data->f[i], dtype, csv);
        if (kind == 1) found++, at = i;
        if (kind == -1) maybe++, maybe_at = i;
    }
    if (found == 0 && maybe == 1) found = 1, at = maybe_at;
    if (data->n > 1 && found != 1)
        return found ? tl_fail(f->ctx, TALLY_INVALID, "%s: %lld columns have numbers: %s; choose one with --column", f->label,
                               (long long)found, listed(*header ? a : NULL, data, dtype, list, sizeof list))
                     : tl_fail(f->ctx, TALLY_BAD_DATA, "%s: the first line of data has no number; choose the column with --column",
                               f->label);
    *column = data->n > 1 ? at : 0;
    return TALLY_OK;
}

tally_status tl_sniff_layout(tally_file *f, const tally_file_options *o, int csv, tl_layout *l)
{
    *l = (tl_layout){.columns = csv || o->column, .delimiter = o->delimiter, .quotes = csv, .missing = csv};
    const char d = o->delimiter;
    if (d == '\n' || d == '\r' || d == '"' || d == '#' || d == '.' || d == '-' || d == '+' || (d >= '0' && d <= '9'))
        return tl_fail(f->ctx, TALLY_INVALID, "delimiter '%c' (byte %d) cannot separate numbers", d < 32 ? '?' : d, d);
    if (d == ' ' && !csv) l->delimiter = 0; /* white space already */
    tally_status s;
    if (l->columns || o->header > 0) {
        if ((s = two_lines(f, l->quotes))) return s;
    } else {
        do s = tl_input_peek(f, 3);
        while (!s && f->peek_n < 3 && f->peek_n && !f->peek_end && f->peek[0] == '\xef');
        if (s) return s;
    }
    const char *const end = f->peek + f->peek_n, *const start = text_of(f), *const first = data_line(start, end);
    l->skip = start - f->peek;
    if (!first || (!l->columns && o->header <= 0)) return TALLY_OK;
    const char *const line_end = tl_line_end(first, end);
    if (!l->columns) {
        l->skip = (line_end < end ? line_end + 1 : end) - f->peek;
        return TALLY_OK;
    }
    if (csv && !d) l->delimiter = guess_delimiter(first, line_end < end ? data_line(line_end + 1, end) : NULL);
    struct record a = {0}, b = {0};
    int header = 0;
    s = record(f, first, end, l, &a);
    const char *const second = s ? NULL : data_line(a.next, end);
    if (second) s = record(f, second, end, l, &b);
    if (!s) s = choose(f, o, csv, &a, &b, &header, &l->column);
    if (header) l->skip = a.next - f->peek;
    free(a.f);
    free(b.f);
    return s;
}

/* SPDX-License-Identifier: MIT
 * Finds the layout of a text from its first lines: its format and its delimiter. columns.c chooses
 * the columns. */
#include "io.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SNIFF = 4096,
    FIRST = 1 << 16,   /* bytes that are read to guess the format; to choose the columns */
    RECORDS_MOST = 128 /* most lines that are examined if the first ones have empty cells */
};

/* The start of the first line at or after p that is neither blank nor a comment, or NULL. */
static const char *data_line(const char *p, const char *end, int comment)
{
    assert(p <= end);
    while (p < end) {
        const char *q = p;
        while (q < end && tl_is_blank(*q)) q++;
        if (q == end) return NULL;
        if (*q != '\n' && (unsigned char)*q != comment) return p;
        while (q < end && *q != '\n' && *q != '\r') q++;
        p = q < end ? q + 1 : end;
    }

    return NULL;
}

static const char *text_of(const tally_file *f)
{
    if (f->first) return f->peek + f->first;
    return f->peek + (f->peek_n >= 3 && memcmp(f->peek, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

/* The first line of data in the peek, or NULL. */
static const char *first_line(const tally_file *f, int comment)
{
    return data_line(text_of(f), f->peek + f->peek_n, comment);
}

int tl_sniff_kind(const tally_file *f, char decimal)
{
    const char *const end = f->peek + f->peek_n;
    for (const char *p = f->peek; p < end; p++)
        if ((unsigned char)*p < 32 && !(*p >= 9 && *p <= 13)) return -1;
    const char *p = first_line(f, '#');
    const int more = !f->peek_end && f->peek_n < SNIFF;
    if (!p) return more ? 2 : 0;
    int quoted = 0;

    for (; p < end && *p != '\n' && *p != '\r'; p++) {
        quoted ^= *p == '"';
        if (!quoted && *p != decimal && (*p == ',' || *p == ';' || *p == '|')) return 1;
    }

    return p == end && more ? 2 : 0;
}

static tally_status split_record(tally_file *f, const char *p, const char *end, const tl_layout *l,
                                 tl_record *r)
{
    assert(p <= end);
    int64_t capacity = 0;
    *r = (tl_record){.line = p, .next = end};

    for (;;) {
        if (r->n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            TL_TRY(tl_grow(f->ctx, &r->f, (size_t)capacity * sizeof *r->f, "the columns"));
        }

        tl_field_text *const x = &r->f[r->n++];
        p = tl_field(p, end, l, &x->s, &x->e);
        if (!x->e) r->open = x->s, x->e = end;
        if (p == end) break;

        if (*p == '\n') {
            r->next = p + 1;
            r->whole = 1;
            break;
        }

        if (l->delimiter) p++;
    }
    return TALLY_OK;
}

/* Reads ahead until the peek has `want` whole records of data, or the input ends, and cuts them
 * into fields: *n records in r, at most RECORDS_MOST. */
static tally_status read_records(tally_file *f, const tl_layout *l, int want, tl_record *r, int *n)
{
    assert(want >= 1 && want <= RECORDS_MOST);
    for (size_t bytes = FIRST;;) {
        const size_t before = f->peek_n;
        tally_status s = TALLY_OK;
        TL_TRY(tl_input_peek(f, bytes));
        tl_unify_lines(f->peek, f->peek_n, f->peek_end);
        const char *const end = f->peek + f->peek_n, *p = first_line(f, l->comment);
        while (*n) free(r[--*n].f);
        for (; !s && p && *n < want; p = data_line(r[*n - 1].next, end, l->comment))
            s = split_record(f, p, end, l, &r[(*n)++]);
        const int enough = *n == want && r[want - 1].whole;
        if (s || enough || f->peek_end || bytes >= TL_LONGEST) return s;
        if (f->peek_n == before || f->peek_n == bytes) bytes *= 4;
    }
}

/* Refuses a first record that hides the rest of the input. */
static tally_status refuse_open_quote(tally_file *f, const tl_record *r)
{
    const char *begin = r->open;
    if (!begin) return TALLY_OK;
    while (begin > r->line && begin[-1] != '\n') begin--;
    return tl_bad_data(f->ctx, "%s:%ld:%ld: a quoted cell is not closed", f->label,
                       tl_count(f->peek, (size_t)(r->open - f->peek), '\n') + 1,
                       r->open - begin + 1);
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

/* Comma, semicolon, tab or bar: the first that both lines have equally often, else the most
 * frequent in the first line. A comma before fractions is none. */
static char guess_delimiter(const char *first, const char *second, char decimal)
{
    static const char choices[] = {',', ';', '\t', '|'};
    char best = decimal == ',' ? ';' : ',';
    int64_t most = 0;

    for (size_t i = 0; i < sizeof choices; i++) {
        const int64_t n = count(first, choices[i]);
        if (choices[i] == decimal) continue;
        if (n && second && n == count(second, choices[i])) return choices[i];
        if (n > most) most = n, best = choices[i];
    }
    return best;
}

/* The delimiter that a first line `sep=;` names, as Excel writes it; 0: none. */
static char named_delimiter(const char *line, const char *end)
{
    if (end - line == 6 && line[5] == '\r') end--;
    return end - line == 5 && !memcmp(line, "sep=", 4) && strchr(",;\t|", line[4]) ? line[4] : 0;
}

/* Reads the first records, as many as are needed to know the columns. */
static tally_status read_first_records(tally_file *f, const tally_file_options *o, tl_layout *l,
                                       tl_record *r, int *n)
{
    const tl_layout plain = {.comment = l->comment};

    if (l->quotes && !l->delimiter) {
        TL_TRY(read_records(f, &plain, 2, r, n));
        l->delimiter = *n && r->whole ? named_delimiter(r->line, r->next - 1) : 0;
        if (l->delimiter)
            f->first = (size_t)(r->next - f->peek);
        else
            l->delimiter =
                *n ? guess_delimiter(r->line, *n > 1 ? r[1].line : NULL, l->decimal) : ',';
    }

    for (int want = 2;; want *= 2) {
        TL_TRY(read_records(f, l, want, r, n));
        if (*n < want || want == RECORDS_MOST) return TALLY_OK;
        const tl_lines t = {r, *n, l, f->info.dtype};
        if ((o->header || tl_header_guess(&t, NULL) != TL_HEADER_UNCERTAIN) &&
            ((o->column && !o->dates) || tl_columns_known(&t)))
            return TALLY_OK;
    }
}

/* Skips the first n lines: sets f->first to the place after them. */
static tally_status skip_lines(tally_file *f, int64_t n)
{
    if (n < 0) return tl_invalid(f->ctx, "skip_lines is %ld: must be at least 0", n);
    for (size_t want = FIRST; n;) {
        TL_TRY(tl_input_peek(f, want));
        tl_unify_lines(f->peek, f->peek_n, f->peek_end);
        const char *p = f->peek, *const end = p + f->peek_n;
        int64_t lines = 0;
        while (lines < n && (p = memchr(p, '\n', (size_t)(end - p)))) lines++, p++;
        f->first = p ? (size_t)(p - f->peek) : 0;
        if (p) return TALLY_OK;
        if (f->peek_n >= want) want *= 2; /* a pipe may give less at a time */
        if (f->peek_end || want > TL_LONGEST)
            return tl_bad_data_on(f, "%ld lines are to be skipped, and %s %ld line%s", n,
                                  f->peek_end ? "there are" : "the first 64 MiB have", lines,
                                  lines == 1 ? "" : "s");
    }

    return TALLY_OK;
}

/* Checks the options `comment`, `decimal` and `thousands`. */
static tally_status check_characters(tally_file *f, const tally_file_options *o, int csv)
{
    const int c = o->comment;
    if (c < -1 || c > 255 || (c > 0 && strchr("\n\r\t \"+-.0123456789", c)) ||
        (c > 0 && (char)c == o->delimiter))
        return tl_invalid(
            f->ctx,
            "comment is '%c' (%d): must be a character that begins no cell and separates none",
            c < 32 || c > 126 ? '?' : c, c);

    if (o->decimal && (o->decimal != ',' || o->delimiter == ',' || o->thousands == ','))
        return tl_invalid(
            f->ctx,
            "decimal is '%c': must be a comma that is neither the delimiter nor between thousands",
            o->decimal < 32 ? '?' : o->decimal);

    if (o->thousands && (!strchr(o->decimal ? ".' _" : ",' _", o->thousands) ||
                         o->thousands == (o->delimiter || csv ? o->delimiter : ' ')))
        return tl_invalid(
            f->ctx, "thousands is '%c': must be one of , ' _ and a space, and not the delimiter",
            o->thousands < 32 ? '?' : o->thousands);
    return TALLY_OK;
}

/* Refuses a column that was left out for a word, such as N/A, and has a number below it. */
static tally_status check_words(tally_file *f, const tl_layout *l, int from, tl_record *r, int *n)
{
    tl_lines t = {r, *n, l, f->info.dtype};
    const tl_want *w = l->want, *const end = w + l->columns + l->keys + l->times;
    const int64_t width = tl_widest(&t);
    int64_t i = 0;
    while (i < width && tl_column_kind(&t, from, i) != TL_WORD) i++;
    if (i < width) TL_TRY(read_records(f, l, RECORDS_MOST, r, n));
    t.records = *n;

    for (; i < width; i++) {
        while (w < end && w->column < i) w++;
        if ((w < end && w->column == i) || tl_column_kind(&t, from, i) != TL_WORD) continue;
        for (int k = from; k < *n; k++)
            if (i < r[k].n && tl_other_spelling(&t, &r[k].f[i]))
                return tl_invalid_on(f, "column %ld has words and numbers: choose with --column",
                                     i + 1);
    }
    return TALLY_OK;
}

tally_status tl_sniff_layout(tally_file *f, const tally_file_options *o, int csv, tl_layout *l)
{
    const int columns = csv || o->column || o->by || o->table || o->keep;
    *l = (tl_layout){.delimiter = o->delimiter,
                     .quotes = csv,
                     .table = o->table || o->keep,
                     .keep = o->keep,
                     .utc = o->utc,
                     .comment = o->comment ? o->comment
                                : csv      ? -1
                                           : '#',
                     .thousands = o->thousands,
                     .decimal = o->decimal};
    TL_TRY(check_characters(f, o, csv));
    TL_TRY(skip_lines(f, o->skip_lines));
    const char d = o->delimiter;
    if (d && strchr("\n\r\"#.-+0123456789", d))
        return tl_invalid(f->ctx, "delimiter '%c' (byte %d) cannot separate numbers",
                          d < 32 ? '?' : d, d);

    if (d == ' ' && !csv) l->delimiter = 0; /* 0 means white space, which includes it */
    tl_record r[RECORDS_MOST] = {{0}};
    int n = 0, header = o->header > 0, has_mark; /* a byte order mark, which text_of skips */
    tally_status s = columns  ? read_first_records(f, o, l, r, &n)
                     : header ? read_records(f, l, 1, r, &n)
                              : tl_input_begins(f, "\xef\xbb\xbf", 3, &has_mark);
    l->skip = text_of(f) - f->peek;
    if (!s && n) s = refuse_open_quote(f, r);
    if (!s && columns) s = tl_choose_columns(f, o, r, n, l, &header);
    if (!s && columns && !o->column) s = check_words(f, l, header, r, &n);
    if (header && n) l->skip = r->next - f->peek;
    if (!s && header && n && columns) {
        size_t length = (size_t)(r->next - r->line);
        while (length && (r->line[length - 1] == '\n' || r->line[length - 1] == '\r')) length--;
        if (o->keep && memchr(r->line, 0, length))
            s = tl_bad_data_on(f, "the header has a byte 0, and --keep cannot write it");
        else if (!(l->header = strndup(r->line, length)))
            s = tl_no_memory(f->ctx, length + 1, "the header");
    }

    while (n) free(r[--n].f);
    return s;
}

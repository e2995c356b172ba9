/* SPDX-License-Identifier: MIT
 * Chooses the columns of a table that are read.
 *
 *    day,price,qty     a header (field.c)
 *    mon,,3            an empty cell has no type: more lines are examined, until each
 *                      column has a number or a word
 *    tue,1.5,4         price and qty are columns of numbers */
#include "io.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of the choice. The records from number `from` on are data. */
struct choice {
    tally_file *f;
    tl_lines lines;
    const tl_record *r; /* the records in `lines` */
    int from;
    tl_layout *l;
    int64_t width; /* number of columns */
    /* for each column bits of VALUE and KEY, if it is chosen; 2 << part: part of a date as a key */
    char *taken;
    int key; /* 1: the columns that are being chosen are keys */

    /* whether the first record is a header; MAY_BE: if it names a chosen column */
    enum { NO_HEADER, MAY_BE, HEADER } header;
    int named;
};

/* How many of n characters a sentence shows, which has space for `most`. */
static int shown(int64_t n, int most) { return n < most ? (int)n : most; }

enum { LIST = 320 };

/* Lists the columns for a sentence: 1 'date', 2 'price', ... numbers: only columns of numbers. */
static const char *list_columns(const struct choice *c, int names, int numbers, char out[LIST])
{
    size_t n = 0;
    *out = 0;
    for (int64_t i = 0; i < (names ? c->r[0].n : c->width); i++) {
        if (numbers && tl_column_kind(&c->lines, c->from, i) != TL_NUMBER) continue;
        if (n + 60 > LIST) {
            snprintf(out + n, LIST - n, ", ...");
            break;
        }

        n += (size_t)snprintf(out + n, LIST - n, "%s%ld", n ? ", " : "", i + 1);
        if (names) {
            const int64_t w = c->r[0].f[i].e - c->r[0].f[i].s;
            n += (size_t)snprintf(out + n, LIST - n, " '%.*s'", shown(w, 24), c->r[0].f[i].s);
        }
    }
    return out;
}

/* Copies a cell's text to out, with doubled quotes as one. out has space for the cell and a 0. */
static size_t copy_plain(const tl_field_text *x, const char *line, char *out)
{
    const int quoted = x->s > line && x->s[-1] == '"' && *x->e == '"';
    size_t n = 0;
    for (const char *p = x->s; p < x->e; p++) {
        out[n++] = *p;
        if (quoted && *p == '"' && p + 1 < x->e && p[1] == '"') p++;
    }
    out[n] = 0;
    return n;
}

/* Reads a number of at least 1 at *s and advances *s; 0 if there is none. */
static int64_t number(const char **s, const char *e)
{
    int64_t v = 0;
    for (; *s < e && **s >= '0' && **s <= '9'; ++*s)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **s - '0', &v)) return 0;
    return v;
}

/* The next column, from `at` on, that the header names [s, e); -1: none. A number is a name if
 * there are not so many columns, as 2019. */
static int64_t named_from(const struct choice *c, int64_t at, const char *s, const char *e,
                          char *space)
{
    const char *p = s;
    const int names = c->header == HEADER || (number(&p, e) > c->width && p == e);
    if (c->header == NO_HEADER) return -1;

    for (int64_t i = at; i < c->r[0].n; i++) {
        const tl_field_text *const x = &c->r[0].f[i];
        if (x->e - x->s < e - s) continue;
        const size_t n = copy_plain(x, c->r[0].line, space);
        if (n == (size_t)(e - s) && memcmp(space, s, n) == 0 &&
            (names || tl_kind(&c->lines, x) == TL_WORD))
            return i;
    }

    return -1;
}

enum { VALUE = 1, KEY = 2 }; /* bits of choice.taken; tl_header_guess reads VALUE */

static tally_status add(struct choice *c, int64_t column, int part)
{
    assert(column >= 0);
    tl_layout *const l = c->l;
    int64_t *const count = c->key ? &l->keys : &l->columns;
    const char as = (char)(part ? 2 << part : c->key ? KEY : VALUE);
    if (c->taken[column] & as)
        return tl_invalid_on(c->f, "column %ld is asked for twice", column + 1);
    c->taken[column] |= as;
    l->want[l->keys + l->times + l->columns] =
        (tl_want){column, *count, c->key ? TL_KEY : TL_VALUE, part};
    ++*count;
    l->parts += part > 0;

    return TALLY_OK;
}

/* Suggests a column whose name is near. */
static const char *near_column(const struct choice *c, const char *given, char *space, char *hint)
{
    const char *const names[] = {space, NULL};
    *hint = 0;
    for (int64_t i = 0; i < c->r[0].n && !*hint; i++) {
        copy_plain(&c->r[0].f[i], c->r[0].line, space);
        tl_hint("column", given, names, hint);
    }
    return hint;
}

/* Reads one item of a list of columns: NAME, N, N-M or N- (to the last). */
static tally_status read_item(struct choice *c, const char *s, const char *e, char *space)
{
    char list[LIST], hint[TL_HINT];
    int64_t lo = named_from(c, 0, s, e, space) + 1, hi;
    const int part = !lo && c->key ? tl_time_part_named(s, e, &e) : 0;
    if (part) lo = named_from(c, 0, s, e, space) + 1;
    hi = lo;

    const int64_t twin = lo ? named_from(c, lo, s, e, space) + 1 : 0;
    if (twin)
        return tl_invalid_on(c->f, "columns %ld and %ld are both called '%.*s': choose by number",
                             lo, twin, shown(e - s, 60), s);

    const char *p = s;
    const int64_t place = number(&p, e);
    if (lo && p == e && place && place <= c->width && place != lo)
        return tl_invalid_on(
            c->f, "'%ld' is a number, and the name of column %ld: write %ld-%ld or %ld-%ld", place,
            lo, place, place, lo, lo);

    if (lo)
        c->named = 1;
    else {
        lo = hi = place;
        if (lo && p < e && *p == '-') {
            c->l->table |= !c->key;
            hi = ++p == e ? c->width : number(&p, e);
        }

        if (p < e || lo < 1 || hi < lo || hi > c->width) {
            const int names =
                c->header == HEADER || (c->header && tl_header_guess(&c->lines, NULL));
            const int dot = c->key && memchr(s, '.', (size_t)(e - s)),
                      comment = names && *c->r[0].line == '#';
            return tl_invalid_on(
                c->f, "no column '%.*s';%s the columns are %s%s", shown(e - s, 60), s,
                names && !place && e - s > 2 ? near_column(c, s, space, hint) : "",
                list_columns(c, names, 0, list),
                dot       ? "; parts of dates are .year, .season, .month, .day, .hour, .dayofyear"
                : comment ? "; --comment '#' skips lines that begin with #"
                          : "");
        }
    }
    for (; lo <= hi; lo++) TL_TRY(add(c, lo - 1, part));
    return TALLY_OK;
}

/* A list of columns, such as "price", "2", "price,qty" or "2-5,9". A name in quotes may contain
 * commas. */
static tally_status read_column_list(struct choice *c, const char *text)
{
    const char *const end = text + strlen(text), *p = text, *s, *e;
    const size_t capacity = (size_t)(end - text) + (size_t)(c->r[0].next - c->r[0].line) + 1;
    char *const space = malloc(2 * capacity), *const plain = space + capacity;
    if (!space) return tl_no_memory(c->f->ctx, 2 * capacity, "the columns");
    const int is_name = named_from(c, 0, text, end, space) >= 0; /* it has commas */
    tally_status status = is_name ? read_item(c, text, end, space) : TALLY_OK;
    static const tl_layout list = {.delimiter = ',', .quotes = 1};

    for (int more = !is_name; more && !status; p++) {
        const char *const from = p;
        p = tl_field(p, end, &list, &s, &e);
        more = p < end;
        if (!e || (more && *p != ',')) {
            status = tl_invalid_on(c->f, "column '%s': a quote in it is not closed", text);
            break;
        }

        const size_t n = copy_plain(&(tl_field_text){s, e}, from, plain);
        if (!c->key && (more || c->l->columns)) c->l->table = 1;
        status = read_item(c, plain, plain + n, space);
    }

    free(space);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const tl_want *const v = a, *const w = b; /* ordered by column, then by role, the value last */
    return v->column != w->column ? (v->column > w->column) - (v->column < w->column)
                                  : w->role - v->role;
}

static tally_status name_columns(struct choice *c)
{
    tl_layout *const l = c->l;
    l->names = calloc((size_t)l->columns, sizeof *l->names);
    l->key_names = calloc((size_t)l->keys + 1, sizeof *l->key_names);
    if (!l->names || !l->key_names)
        return tl_no_memory(c->f->ctx, (size_t)(l->columns + l->keys) * sizeof *l->names,
                            "the columns");

    for (int64_t k = 0; k < l->columns + l->keys + l->times; k++) {
        static const tl_field_text none = {"", ""};
        const tl_want *const w = &l->want[k];
        if (w->role == TL_TIME) continue;
        const tl_field_text *const x = w->column < c->r[0].n ? &c->r[0].f[w->column] : &none;
        char **const name = &(w->role == TL_KEY ? l->key_names : l->names)[w->place];
        const size_t bytes = w->part ? 16 : (size_t)(x->e - x->s) + 1;
        *name = w->part ? strdup(tl_time_part_name(w->part)) : malloc(bytes);
        if (!*name) return tl_no_memory(c->f->ctx, bytes, "the columns");
        if (!w->part) copy_plain(x, x == &none ? x->s : c->r[0].line, *name);
    }
    return TALLY_OK;
}

/* Bytes of a sign beside a number, as in $5, or 0. C2 and E2 begin symbols of UTF-8. */
static int sign_at(const char *p)
{
    return strchr("-+()<>~*= $%", *p) ? 1 : *p == '\xc2' ? 2 : 3 * (*p == '\xe2');
}

int tl_other_spelling(const tl_lines *t, const tl_field_text *x)
{
    tl_field_text bare = *x; /* without the signs around it */
    for (int k = 1; k <= 3; k++)
        if (bare.e - bare.s >= k && sign_at(bare.e - k) == k)
            bare.e -= k, k = 0;
        else if (bare.e - bare.s >= k && sign_at(bare.s) == k)
            bare.s += k, k = 0;
    char options[TL_SPELLING];
    return tl_kind(t, &bare) == TL_NUMBER || *tl_spelling(bare.s, bare.e, options);
}

/* Refuses column i of words if its first word is a number in another spelling, because a column
 * of numbers must not be ignored silently. */
static tally_status refuse_other_spelling(const struct choice *c, int64_t i)
{
    assert(i >= 0);
    const tl_field_text *const x = tl_first_known_cell(&c->lines, c->from, i);
    assert(x);
    if (!tl_other_spelling(&c->lines, x)) return TALLY_OK;
    char options[TL_SPELLING];
    const int read = *tl_spelling(x->s, x->e, options) != 0;
    return tl_invalid_on(c->f,
                         "column %ld has '%.*s', which is no number here: %s%s%schoose the columns "
                         "with --column",
                         i + 1, shown(x->e - x->s, 40), x->s, read ? "read it with " : "", options,
                         read ? ", or " : "");
}

/* If the caller named none: the only column with numbers; for a table all columns without words. */
static tally_status choose_by_content(struct choice *c)
{
    char list[LIST];
    int64_t found = 0, maybe = 0, at = 0, maybe_at = 0;

    for (int64_t i = 0; i < c->width; i++) {
        if (c->taken[i]) continue; /* a key column */
        const int what = tl_column_kind(&c->lines, c->from, i);
        if (what == TL_NUMBER) found++, at = i;
        if (what == TL_NONE) maybe++, maybe_at = i;
        if (what == TL_WORD)
            TL_TRY(refuse_other_spelling(c, i));
        else if (c->l->table)
            TL_TRY(add(c, i, 0));
    }

    if (c->l->table && found) return TALLY_OK;
    if (found == 0 && maybe == 1) found = 1, at = maybe_at;
    if (c->width <= 1 && !c->l->keys && !c->l->times) found = 1, at = 0;
    if (found == 0)
        return tl_bad_data_on(c->f, "%s; choose the column with --column",
                              c->from < c->lines.records ? "the first line of data has no number"
                                                         : "there is no line below the header");

    if (found > 1)
        return tl_invalid_on(c->f, "%ld columns have numbers: %s; choose one with --column", found,
                             list_columns(c, c->from > 0, 1, list));
    return add(c, at, 0);
}

/* options.by_time: the last key column has the times instead. */
static tally_status last_is_time(const struct choice *c)
{
    tl_want *const w = &c->l->want[--c->l->keys];
    w->role = TL_TIME;
    c->l->times = 1;
    if (!w->part) return TALLY_OK;
    return tl_invalid_on(c->f, "the last column of --by has the times of windows, not their %s",
                         tl_time_part_name(w->part));
}

/* The first line may be two things, of which the caller must say one. */
static tally_status uncertain(const struct choice *c, const char *line, const char *what)
{
    const int64_t n = tl_line_end(line, c->r[0].next) - line;
    return tl_invalid_on(c->f, "the first line, '%.*s', may be %s", shown(n, 60), line, what);
}

/* A first line of csv that may be a comment: it begins with '#' and has fewer cells than the next
 * line. */
static tally_status refuse_possible_comment(const struct choice *c)
{
    const char *p = c->r[0].line;
    while (p < c->r[0].next && tl_is_blank(*p)) p++;
    if (p == c->r[0].next || *p != '#' || c->lines.records < 2 || c->r[0].n >= c->r[1].n)
        return TALLY_OK;
    return uncertain(c, p,
                     "a comment: say --comment '#' if lines that begin with # are to be skipped, "
                     "--comment '' if not");
}

/* Chooses the columns, and whether there is a header unless the caller has said so. */
static tally_status choose(struct choice *c, const tally_file_options *o, int *header)
{
    tally_status s = c->l->quotes && !o->comment ? refuse_possible_comment(c) : TALLY_OK;
    if (c->header && tl_header_guess(&c->lines, NULL) == TL_HEADER_YES) c->header = HEADER;
    if (!s && o->by) {
        c->key = 1;
        s = read_column_list(c, o->by);
        c->key = 0;
        if (!s && o->by_time) s = last_is_time(c);
    }

    if (!s && o->column) s = read_column_list(c, o->column);
    if (s) return s;
    int guess = o->header > 0 || c->named;
    if (!guess && !o->header) guess = tl_header_guess(&c->lines, c->taken);
    if (guess == TL_HEADER_UNCERTAIN)
        return uncertain(c, c->r[0].line, "a header or data: say --header yes or --header no");
    c->from = *header = guess == TL_HEADER_YES;
    return o->column ? TALLY_OK : choose_by_content(c);
}

/* Sets l->date if the first cell of each column of values is a date. */
static void find_date(const struct choice *c)
{
    tl_layout *const l = c->l;
    tl_time t;
    for (int64_t k = l->columns + l->keys + l->times; k--;) {
        if (l->want[k].role != TL_VALUE) continue;
        const tl_field_text *const x = tl_first_known_cell(&c->lines, c->from, l->want[k].column);
        *l->date = 0;
        if (!x || tl_time_parse(x->s, x->e, &t) == TL_CELL_TIME || tl_time_kind(t.frame) == 1)
            return;
        snprintf(l->date, sizeof l->date, "%.*s", (int)(x->e - x->s), x->s);
    }

    c->f->info.dtype = TALLY_I64;
    if (!l->decimal) l->decimal = '.'; /* so that no cell is read as a number first */
}

tally_status tl_choose_columns(tally_file *f, const tally_file_options *o, const tl_record *r,
                               int records, tl_layout *l, int *header)
{
    struct choice c = {.f = f, .lines = {r, records, l, f->info.dtype}, .r = r, .l = l};
    c.width = tl_widest(&c.lines);
    c.header = o->header < 0 ? NO_HEADER : o->header > 0 ? HEADER : MAY_BE;
    c.taken = calloc((size_t)c.width + 1, 1);
    l->want = malloc((size_t)(8 * c.width + 2) * sizeof *l->want);
    tally_status s = TALLY_OK;

    if (!c.taken || !l->want) {
        s = tl_no_memory(f->ctx, (size_t)(2 * c.width + 2) * sizeof *l->want, "the columns");
    } else if (records == 0 && (o->column || o->by)) {
        s = tl_bad_data_on(f, "no column '%s': the input is empty", o->column ? o->column : o->by);
    } else if (records == 0) { /* there is nothing to read */
        l->want[0] = (tl_want){0};
        l->columns = 1;
    } else {
        s = choose(&c, o, header);
        if (!s)
            qsort(l->want, (size_t)(l->columns + l->keys + l->times), sizeof *l->want, ascending);
        l->fields = r->n;
        if (!s && *header) s = name_columns(&c);
        if (!s && o->dates && o->column && !o->dtype) find_date(&c);
    }

    free(c.taken);
    return s;
}

void tl_layout_free(tl_layout *l)
{
    for (int64_t k = 0; l->names && k < l->columns; k++) free(l->names[k]);
    for (int64_t k = 0; l->key_names && k < l->keys; k++) free(l->key_names[k]);
    free(l->names);
    free(l->key_names);
    free(l->header);
    free(l->want);
    *l = (tl_layout){0};
}

/* SPDX-License-Identifier: MIT
 * Which columns of a table are read, and whether its first line is a header.
 *
 *     day,price,qty     a word over a number: a header
 *     mon,,3            an empty cell says nothing: the next lines are looked at, until each
 *                       column has a number or a word
 *     tue,1.5,4         price and qty are columns of numbers */
#include "io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD, NUMBER, NONE }; /* NONE: empty, or a word for a missing value */

static int kind_of(const tl_field_text *x, tally_dtype dtype)
{
    double v;
    if (tl_missing(x->s, x->e)) return NONE;
    return tl_parse_cell(TALLY_F64, x->s, x->e, &v) == TL_CELL_OK ||
                   tl_parse_cell(dtype, x->s, x->e, &v) == TL_CELL_OK
               ? NUMBER
               : WORD;
}

/* What column i has, by the first of the records from..records - 1 that says it. */
static int column_kind(const tl_record *r, int from, int records, int64_t i, tally_dtype dtype)
{
    int kind = NONE;
    for (int k = from; k < records && kind == NONE; k++)
        if (i < r[k].n) kind = kind_of(&r[k].f[i], dtype);
    return kind;
}

static int64_t widest(const tl_record *r, int records)
{
    int64_t most = 0;
    for (int k = 0; k < records; k++)
        if (r[k].n > most) most = r[k].n;
    return most;
}

int tl_columns_known(const tl_record *r, int records, tally_dtype dtype)
{
    for (int64_t i = widest(r, records); i-- > 0;)
        if (column_kind(r, 1, records, i, dtype) == NONE) return 0;
    return 1;
}

/* What the choice is made from: the records, of which those from `from` on are data. */
struct choice {
    tally_file *f;
    const tl_record *r;
    int records, from;
    tally_dtype dtype;
    tl_layout *l;
    int64_t width; /* columns there are */
    char *taken;   /* those that are chosen, */
    int key;       /* now as keys: 0 or 1 */
    int may_name;  /* the first record may be a header; it is one if a column is named by it */
    int named;
};

static int kind(const struct choice *c, int64_t i)
{
    return column_kind(c->r, c->from, c->records, i, c->dtype);
}

/* Names the columns in a sentence: 1 'date', 2 'price', ...; those with numbers only, or all. */
static const char *listed(const struct choice *c, int names, int numbers, char *out, size_t room)
{
    size_t n = 0;
    *out = 0;
    for (int64_t i = 0; i < (names ? c->r[0].n : c->width); i++) {
        if (numbers && kind(c, i) != NUMBER) continue;
        if (n + 60 > room) {
            snprintf(out + n, room - n, ", ...");
            break;
        }
        n += (size_t)snprintf(out + n, room - n, "%s%lld", n ? ", " : "", (long long)i + 1);
        if (names) {
            const int64_t w = c->r[0].f[i].e - c->r[0].f[i].s;
            n += (size_t)snprintf(out + n, room - n, " '%.*s'", (int)(w < 24 ? w : 24),
                                  c->r[0].f[i].s);
        }
    }
    return out;
}

/* A cell's text with doubled quotes as one, into out (room for the cell and a zero). */
static size_t plain(const tl_field_text *x, const char *line, char *out)
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

/* The column that a header calls [s, e): from 0, or -1. */
static int64_t by_name(const struct choice *c, const char *s, const char *e, char *space)
{
    if (!c->may_name) return -1;
    for (int64_t i = 0; i < c->r[0].n; i++) {
        const tl_field_text *const x = &c->r[0].f[i];
        if (x->e - x->s < e - s) continue;
        const size_t n = plain(x, c->r[0].line, space);
        if (n == (size_t)(e - s) && memcmp(space, s, n) == 0 &&
            (c->may_name > 1 || kind_of(x, c->dtype) == WORD))
            return i;
    }
    return -1;
}

enum { VALUE = 1, KEY = 2 }; /* bits of taken */

static tally_status add(struct choice *c, int64_t column)
{
    tl_layout *const l = c->l;
    int64_t *const count = c->key ? &l->keys : &l->columns;
    const char as = c->key ? KEY : VALUE;
    if (c->taken[column] & as)
        return tl_fail(c->f->ctx, TALLY_INVALID, "%s: column %lld is asked for twice", c->f->label,
                       (long long)column + 1);
    c->taken[column] |= as;
    l->want[l->keys + l->times + l->columns] =
        (tl_want){column, *count, c->key ? TL_KEY : TL_VALUE};
    ++*count;
    return TALLY_OK;
}

/* A number from 1 at *s, which moves behind it; 0 if there is none. */
static int64_t number(const char **s, const char *e)
{
    int64_t v = 0;
    for (; *s < e && **s >= '0' && **s <= '9'; ++*s)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **s - '0', &v)) return 0;
    return v;
}

/* One item of a list of columns: NAME, N, N-M or N- (to the last). */
static tally_status item(struct choice *c, const char *s, const char *e, char *space)
{
    char list[320];
    int64_t lo = by_name(c, s, e, space) + 1, hi = lo;
    if (lo)
        c->named = 1;
    else {
        const char *p = s;
        lo = hi = number(&p, e);
        if (lo && p < e && *p == '-') {
            c->l->table |= !c->key;
            if (++p == e)
                hi = c->width;
            else
                hi = number(&p, e);
        }
        if (p < e || lo < 1 || hi < lo || hi > c->width) {
            int names = c->may_name > 1;
            for (int64_t i = 0; i < c->r[0].n && c->may_name; i++)
                names |= kind_of(&c->r[0].f[i], c->dtype) == WORD;
            return tl_fail(c->f->ctx, TALLY_INVALID, "%s: no column '%.*s'; the columns are %s",
                           c->f->label, (int)(e - s < 60 ? e - s : 60), s,
                           listed(c, names, 0, list, sizeof list));
        }
    }
    tally_status status = TALLY_OK;
    for (; !status && lo <= hi; lo++) status = add(c, lo - 1);
    return status;
}

/* "price", "2", "price,qty", "2-5,9": items between commas; one in quotes may hold commas. */
static tally_status asked(struct choice *c, const char *text)
{
    const size_t length = strlen(text);
    size_t room = length;
    for (int64_t i = 0; i < c->r[0].n; i++)
        if ((size_t)(c->r[0].f[i].e - c->r[0].f[i].s) > room)
            room = (size_t)(c->r[0].f[i].e - c->r[0].f[i].s);
    char *const space = malloc(2 * (room + 1)), *const own = space + room + 1;
    if (!space) return tl_no_memory(c->f->ctx, 2 * (room + 1), "the columns");
    tally_status status = TALLY_OK;
    if (by_name(c, text, text + length, space) >= 0) { /* a name with commas in it */
        status = item(c, text, text + length, space);
        free(space);
        return status;
    }
    static const tl_layout list = {.delimiter = ',', .quotes = 1};
    const char *const end = text + length, *p = text, *s, *e;
    for (int more = 1; more && !status; p++) {
        const char *const from = p;
        p = tl_field(p, end, &list, &s, &e);
        more = p < end;
        if (!e || (more && *p != ',')) {
            status = tl_fail(c->f->ctx, TALLY_INVALID,
                             "%s: column '%s': a quote in it is not closed", c->f->label, text);
            break;
        }
        const size_t n = plain(&(tl_field_text){s, e}, from, own);
        if (!c->key && (more || c->l->columns)) c->l->table = 1;
        status = item(c, own, own + n, space);
    }
    free(space);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const tl_want *const v = a, *const w = b; /* of a column that is several, the values last */
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
        const int64_t i = l->want[k].column;
        if (l->want[k].role == TL_TIME) continue;
        const tl_field_text *const x = i < c->r[0].n ? &c->r[0].f[i] : &none;
        char *const name = (l->want[k].role == TL_KEY ? l->key_names : l->names)[l->want[k].place] =
            malloc((size_t)(x->e - x->s) + 1);
        if (!name) return tl_no_memory(c->f->ctx, (size_t)(x->e - x->s) + 1, "the columns");
        plain(x, i < c->r[0].n ? c->r[0].line : x->s, name);
    }
    return TALLY_OK;
}

/* Without a choice of the caller's: the one column with numbers, or for a table all that have no
   words. */
static tally_status unasked(struct choice *c)
{
    char list[320];
    int64_t found = 0, maybe = 0, at = 0, maybe_at = 0;
    tally_status s = TALLY_OK;
    for (int64_t i = 0; i < c->width && !s; i++) {
        if (c->taken[i]) continue; /* a key */
        const int what = kind(c, i);
        if (what == NUMBER) found++, at = i;
        if (what == NONE) maybe++, maybe_at = i;
        if (c->l->table && what != WORD) s = add(c, i);
    }
    if (s || (c->l->table && found)) return s;
    if (found == 0 && maybe == 1) found = 1, at = maybe_at;
    if (c->width <= 1 && !c->l->keys && !c->l->times) found = 1, at = 0;
    if (found == 0)
        return tl_fail(c->f->ctx, TALLY_BAD_DATA,
                       "%s: the first line of data has no number; choose the column with --column",
                       c->f->label);
    if (found > 1)
        return tl_fail(c->f->ctx, TALLY_INVALID,
                       "%s: %lld columns have numbers: %s; choose one with --column", c->f->label,
                       (long long)found, listed(c, c->from > 0, 1, list, sizeof list));
    return add(c, at);
}

/* options.by_time: the last of the key columns is no key. */
static void last_is_time(tl_layout *l)
{
    l->want[--l->keys].role = TL_TIME;
    l->times = 1;
}

/* The header, if the caller left it to us, and the columns. */
static tally_status choose(struct choice *c, const tally_file_options *o, int *header)
{
    const tl_record *const first = &c->r[0];
    *header = o->header > 0;
    if (o->by) {
        c->key = 1;
        const tally_status s = asked(c, o->by);
        c->key = 0;
        if (s) return s;
        if (o->by_time) last_is_time(c->l);
        *header |= c->named && o->header == 0;
    }
    if (o->column) {
        const tally_status s = asked(c, o->column);
        for (int64_t k = 0; !s && o->header == 0 && k < c->l->keys + c->l->times + c->l->columns;
             k++) {
            const int64_t i = c->l->want[k].column;
            *header |= c->named || (c->l->want[k].role == TL_VALUE && i < first->n &&
                                    kind_of(&first->f[i], c->dtype) == WORD);
        }
        return s;
    }
    int words = 0, numbers = 0;
    for (int64_t i = 0; i < first->n && o->header == 0; i++) {
        const int what = kind_of(&first->f[i], c->dtype);
        words |= what == WORD;
        numbers |= what == NUMBER;
        *header |= what == WORD && column_kind(c->r, 1, c->records, i, c->dtype) == NUMBER;
    }
    *header |= words && !numbers;
    c->from = *header;
    return unasked(c);
}

tally_status tl_choose_columns(tally_file *f, const tally_file_options *o, const tl_record *r,
                               int records, tl_layout *l, int *header)
{
    struct choice c = {.f = f,
                       .r = r,
                       .records = records,
                       .dtype = f->info.dtype,
                       .l = l,
                       .width = widest(r, records)};
    c.may_name = o->header < 0 ? 0 : o->header > 0 ? 2 : 1;
    c.taken = calloc((size_t)c.width + 1, 1);
    l->want = malloc((size_t)(2 * c.width + 2) * sizeof *l->want);
    tally_status s = TALLY_OK;
    if (!c.taken || !l->want) {
        s = tl_no_memory(f->ctx, (size_t)(2 * c.width + 2) * sizeof *l->want, "the columns");
    } else if (records == 0) { /* no data: nothing will be read */
        l->want[0] = (tl_want){0, 0, 0};
        l->want[1] = (tl_want){0, 0, o->by_time ? TL_TIME : TL_KEY};
        l->columns = 1;
        l->times = o->by_time != 0;
        l->keys = o->by && !o->by_time;
    } else {
        s = choose(&c, o, header);
        if (!s)
            qsort(l->want, (size_t)(l->columns + l->keys + l->times), sizeof *l->want, ascending);
        if (!s && l->table && !o->column && !o->by && !l->quotes) l->fields = c.width;
        if (!s && *header) s = name_columns(&c);
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

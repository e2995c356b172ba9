/* SPDX-License-Identifier: MIT
 * Decides whether the first record is a header. If the signs are not clear, the caller must decide.
 *
 *    city,2023,2024      a header, if a word is above a number or above a time,
 *    Oslo,10,20          or if it has words and no number
 *    Rome,30,40          no header, if a word occurs again below in its column, if a time is
 *                        above a time, or if all cells are numbers
 *                        uncertain in all other cases, as in this one, and if signs disagree */
#include "io.h"
#include <assert.h>
#include <string.h>

int tl_kind(const tl_lines *t, const tl_field_text *x)
{
    double v;
    if (tl_missing(x->s, x->e)) return TL_NONE;
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
    assert(i >= 0);
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
    assert(i >= 0);
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
        const int sign = what == TL_WORD ? sign_of(t, i, values && values[i]) : NOTHING;
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

/* SPDX-License-Identifier: MIT
 * groups.c - --by: the lines of a table in groups, by their keys.
 *
 *    city,temp                codes  order        dense         offsets
 *    Oslo,3       group 0     0      0 2 | 1 3    3 4 | 21 22   0 2 4
 *    Rome,21      group 1     1
 *    Oslo,4                   0
 *    Rome,22                  1
 *
 * The values of each group, in the order of the file, are one segment of `dense`. So reductions,
 * scans and windows of a group are those of a sequence, on any device. Results of scan and window
 * are copied to the order of the lines. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int groups_check(const options *o)
{
    if (has(o, OPT_sort) && !has(o, OPT_by))
        return usage("--sort orders the groups of --by, which is not there");
    if (has(o, OPT_by) && has(o, OPT_edges) && !strcmp(o->value[OPT_edges], "valid"))
        return usage("--by and --edges valid exclude each other: each line has a result");
    if (has(o, OPT_segments) && has(o, OPT_edges) && !strcmp(o->value[OPT_edges], "valid"))
        return usage("--segments and --edges valid exclude each other: each element has a result");
    return DONE;
}

/* ---- --sort ---- */

typedef struct sorting { /* a group, for qsort */
    int64_t group;
    const input *in;
    /* for each key column the numbers of all groups; NULL: the column has words */
    const double *const *numbers;
} sorting;

/* Compares, as decimals, two numbers with the same nearest f64. Returns 0 if they are equal, or if
 * one does not fit. */
static int exact_order(const char *a, const char *b)
{
    int64_t whole[2], part[2];
    if (tally_parse_decimal(a, strlen(a), &whole[0], &part[0]) ||
        tally_parse_decimal(b, strlen(b), &whole[1], &part[1]))
        return 0;
    if (whole[0] != whole[1]) return whole[0] < whole[1] ? -1 : 1;
    return (part[0] > part[1]) - (part[0] < part[1]);
}

static int ascending(const void *a, const void *b)
{
    const sorting *const x = a, *const y = b;
    for (int64_t c = 0; c < x->in->info.key_columns; c++) {
        const char *const s = tally_file_key(x->in->file, x->group, c);
        const char *const t = tally_file_key(x->in->file, y->group, c);
        if (x->numbers[c]) {
            const double v = x->numbers[c][x->group], w = x->numbers[c][y->group];
            const int v_nan = v != v, w_nan = w != w; /* NaN is last */
            if (v < w || v_nan < w_nan) return -1;
            if (v > w || v_nan > w_nan) return 1;
            const int exact = exact_order(s, t);
            if (exact) return exact;
        }
        const int order = strcmp(s, t);
        if (order) return order;
    }
    return 0;
}

/* Reads a cell as a number, as --decimal and --thousands say. Returns 0 if it is no number. */
static int read_number(const options *o, const char *text, double *value)
{
    char plain[400]; /* more characters than any number needs */
    size_t n = 0;
    const char *const decimal = o->value[OPT_decimal], *const thousands = o->value[OPT_thousands];
    if (!decimal && !thousands) return !tally_parse_value(TALLY_F64, text, strlen(text), value);
    for (; *text && n < sizeof plain; text++)
        if (!thousands || *text != *thousands) plain[n++] = decimal && *text == ',' ? '.' : *text;
    return !*text && !tally_parse_value(TALLY_F64, plain, n, value);
}

/* Reads the cells of key column c as numbers, if all cells that are not empty are numbers. Empty
 * cells are first in order. */
static int as_numbers(const input *in, const options *o, int64_t count, int64_t c, double **numbers)
{
    int code = DONE;
    double *const v = *numbers = memory_for(&code, "--sort", count, sizeof *v);
    for (int64_t g = 0; g < count && !code; g++) {
        const char *const text = tally_file_key(in->file, g, c);
        if (!*text) {
            v[g] = -INFINITY;
        } else if (!read_number(o, text, &v[g])) {
            free(v);
            *numbers = NULL;
            return DONE;
        }
    }
    return code;
}

/* Sorts the groups: sets g->shown, and changes the codes to positions in the sorted order. */
static int sort_groups(groups *g, input *in, const options *o)
{
    const int64_t k = in->info.key_columns;
    int code = DONE;
    double **const numbers = memory_for(&code, "--sort", k, sizeof *numbers);
    sorting *const s = memory_for(&code, "--sort", g->count, sizeof *s);
    int32_t *const rank = memory_for(&code, "--sort", g->count, sizeof *rank);
    for (int64_t c = 0; c < k && !code; c++) code = as_numbers(in, o, g->count, c, &numbers[c]);
    if (!code) {
        for (int64_t i = 0; i < g->count; i++)
            s[i] = (sorting){i, in, (const double *const *)numbers};
        qsort(s, (size_t)g->count, sizeof *s, ascending);
        for (int64_t i = 0; i < g->count; i++) {
            g->shown[i] = s[i].group;
            rank[s[i].group] = (int32_t)i;
        }
        for (int64_t i = 0; i < g->lines; i++) in->codes[i] = rank[in->codes[i]];
    }
    for (int64_t c = 0; numbers && c < k; c++) free(numbers[c]);
    free(numbers);
    free(s);
    free(rank);
    return code;
}

/* ---- groups ---- */

int groups_open(groups *g, input *in, const options *o)
{
    memset(g, 0, sizeof *g);
    int code = input_load(in, 0);
    if (code) return code;
    g->width = in->columns ? in->columns : 1;
    g->lines = in->n / g->width;
    /* if --by names only a column of times, all lines are one group */
    g->count = in->info.key_columns ? tally_file_groups(in->file) : 1;
    static const char what[] = "--by, which needs the whole file in memory,";
    g->order = memory_for(&code, what, g->lines, sizeof *g->order);
    g->offsets = memory_for(&code, what, g->count + 1, sizeof *g->offsets);
    g->shown = memory_for(&code, what, g->count, sizeof *g->shown);
    if (code) return code;
    large_pages(g->order, (size_t)g->lines * sizeof *g->order);
    for (int64_t i = 0; i < g->count; i++) g->shown[i] = i;
    if (has(o, OPT_sort)) code = sort_groups(g, in, o);
    if (code) return code;
    for (int64_t i = 0; !in->codes && i < g->lines; i++) g->order[i] = i;
    if (!in->codes) {
        g->offsets[0] = 0;
        g->offsets[1] = g->lines;
        return DONE;
    }
    const tally_view codes = tally_flat(in->codes, TALLY_I32, g->lines);
    code = code_of(in->ctx, tally_groups(in->ctx, &codes, g->count, g->order, g->offsets));
    free(in->codes);
    in->codes = NULL;
    return code;
}

void groups_close(groups *g)
{
    free(g->order);
    free(g->offsets);
    free(g->shown);
    memset(g, 0, sizeof *g);
}

int groups_take(const groups *g, const input *in, int64_t column, char *dense, tally_view *view)
{
    const size_t size = tally_dtype_size(in->dtype);
    tally_view from = tally_flat(in->owned ? (char *)in->owned + (size_t)column * size : NULL,
                                 in->dtype, g->lines);
    from.stride = g->width;
    const tally_view to = tally_flat(dense, in->dtype, g->lines);
    *view = tally_segments(dense, in->dtype, g->offsets, g->count);
    return code_of(in->ctx, tally_take(in->ctx, &from, g->order, g->lines, &to));
}

void groups_back(const groups *g, const char *grouped, size_t bytes, int64_t column, char *out)
{
    char *const to = out + (size_t)column * bytes;
    const size_t step = (size_t)g->width * bytes;
    if (bytes == 8)
        for (int64_t i = 0; i < g->lines; i++)
            memcpy(to + (size_t)g->order[i] * step, grouped + i * 8, 8);
    else
        for (int64_t i = 0; i < g->lines; i++)
            memcpy(to + (size_t)g->order[i] * step, grouped + (size_t)i * bytes, bytes);
}

/* ---- the names of groups, which are used after the file is closed ---- */

int groups_reserve_keys(answer *a, const groups *g, int64_t columns, int64_t inner)
{
    int code = DONE;
    a->keys = memory_for(&code, "the keys", g->count * columns, sizeof *a->keys);
    a->key_names = memory_for(&code, "the keys", columns, sizeof *a->key_names);
    a->key_columns = code ? 0 : columns;
    a->key_groups = g->count;
    a->key_inner = inner;
    return code;
}

int groups_names(const groups *g, const input *in, answer *a)
{
    const int64_t k = in->info.key_columns;
    int code = groups_reserve_keys(a, g, k, 1);
    for (int64_t c = 0; c < k && !code; c++) {
        char number[32];
        snprintf(number, sizeof number, k > 1 ? "key%lld" : "key", (long long)c + 1);
        a->key_names[c] = text_for(&code, "the keys", in->info.keys ? in->info.keys[c] : number);
        for (int64_t i = 0; i < g->count && !code; i++)
            a->keys[i * k + c] =
                text_for(&code, "the keys", tally_file_key(in->file, g->shown[i], c));
    }
    return code;
}

const char *groups_dimension(const answer *a)
{
    if (!a->keys || a->key_columns > 1) return a->keys ? "group" : NULL;
    const char *const slash = strrchr(a->key_names[0], '/');
    return slash ? slash + 1 : a->key_names[0];
}

void groups_names_free(answer *a)
{
    for (int64_t i = 0; a->keys && i < a->key_groups * a->key_columns; i++) free(a->keys[i]);
    for (int64_t c = 0; a->key_names && c < a->key_columns; c++) free(a->key_names[c]);
    free(a->keys);
    free(a->key_names);
    free(a->key_dtypes);
    a->key_dtypes = NULL;
    a->keys = a->key_names = NULL;
}

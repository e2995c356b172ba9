/* SPDX-License-Identifier: MIT
 * What the extensions of all engines share: the sums that a statistic needs over the rows of one
 * group or frame. An extension defines, before:
 *
 *     void *ROWS_GROW(void *memory, size_t bytes)    as realloc; NULL: there is no memory */
#ifndef TALLY_SQL_ROWS_H
#define TALLY_SQL_ROWS_H
#include <string.h>
#include <tally_digits.h>

enum { ROWS_SUMS = 5 };

typedef struct rows {
    int32_t needs;       /* TALLY_NEEDS_* */
    int32_t sums;        /* how many */
    tally_digits *sum[]; /* in the order of the bits */
} rows;

/* The aggregates. In regr_slope(y, x), as SQL has it, the first argument is the dependent one:
 * there rows_add's x is the y of tally's slope. */
static const struct {
    const char *name;
    int which, needs, arguments;
} rows_table[] = {
    {"exact_sum", TALLY_SUM, TALLY_NEEDS_X, 1},
    {"exact_avg", TALLY_MEAN, TALLY_NEEDS_X, 1},
    {"exact_dot", TALLY_DOT, TALLY_NEEDS_XY, 2},
    {"exact_wavg", TALLY_WEIGHTED_MEAN, TALLY_NEEDS_Y | TALLY_NEEDS_XY, 2},
    {"exact_var_pop", TALLY_VAR_POP, TALLY_NEEDS_X | TALLY_NEEDS_XX, 1},
    {"exact_var_samp", TALLY_VAR_SAMP, TALLY_NEEDS_X | TALLY_NEEDS_XX, 1},
    {"exact_stddev_pop", TALLY_STDDEV_POP, TALLY_NEEDS_X | TALLY_NEEDS_XX, 1},
    {"exact_stddev_samp", TALLY_STDDEV_SAMP, TALLY_NEEDS_X | TALLY_NEEDS_XX, 1},
    {"exact_covar_pop", TALLY_COVAR_POP, TALLY_NEEDS_X | TALLY_NEEDS_Y | TALLY_NEEDS_XY, 2},
    {"exact_covar_samp", TALLY_COVAR_SAMP, TALLY_NEEDS_X | TALLY_NEEDS_Y | TALLY_NEEDS_XY, 2},
    {"exact_corr", TALLY_CORR, (1 << ROWS_SUMS) - 1, 2},
    {"exact_regr_slope", TALLY_SLOPE,
     TALLY_NEEDS_X | TALLY_NEEDS_Y | TALLY_NEEDS_YY | TALLY_NEEDS_XY, 2},
};
enum { ROWS_TABLE = sizeof rows_table / sizeof *rows_table };

static inline size_t rows_bytes(int needs)
{
    return sizeof(rows) + (size_t)__builtin_popcount((unsigned)needs) * sizeof(tally_digits *);
}

/* Memory of a power of two for at least `room` digits. */
static inline int rows_room(tally_digits **d, int32_t room)
{
    const int fresh = !*d;
    size_t bytes = 128;
    while (bytes < tally_digits_bytes(room)) bytes *= 2;
    tally_digits *const more = ROWS_GROW(*d, bytes);
    if (!more) return 0;
    if (fresh) memset(more, 0, sizeof *more);
    more->room = (int32_t)((bytes - sizeof *more) / 8);
    *d = more;
    return 1;
}

/* 0: there is no memory. */
static inline int rows_open(rows *r, int needs)
{
    memset(r, 0, rows_bytes(needs));
    r->needs = needs;
    r->sums = __builtin_popcount((unsigned)needs);
    for (int i = 0; i < r->sums; i++)
        if (!rows_room(&r->sum[i], 0)) return 0;
    return 1;
}

/* One row more (sign 1) or less (sign -1); of one argument, y is not used. */
static inline int rows_add(rows *r, double x, double y, int sign)
{
    if (r->needs == TALLY_NEEDS_X && !tally_digits_add(r->sum[0], x, sign)) return 1;
    for (int k = 0, i = 0; k < ROWS_SUMS; k++) {
        int32_t room;
        if (!(r->needs >> k & 1)) continue;
        do switch (1 << k) {
            case TALLY_NEEDS_X:
                room = tally_digits_add(r->sum[i], x, sign);
                break;
            case TALLY_NEEDS_Y:
                room = tally_digits_add(r->sum[i], y, sign);
                break;
            case TALLY_NEEDS_XX:
                room = tally_digits_add_product(r->sum[i], x, x, sign);
                break;
            case TALLY_NEEDS_YY:
                room = tally_digits_add_product(r->sum[i], y, y, sign);
                break;
            default:
                room = tally_digits_add_product(r->sum[i], x, y, sign);
            }
        while (room && rows_room(&r->sum[i], room));
        if (room) return 0;
        i++;
    }
    return 1;
}

static inline int rows_merge(rows *to, const rows *from)
{
    for (int i = 0; i < to->sums; i++) {
        int32_t room;
        while ((room = tally_digits_merge(to->sum[i], from->sum[i], 1)))
            if (!rows_room(&to->sum[i], room)) return 0;
    }
    return 1;
}

/* A statistic; 0: NULL. */
static inline int rows_value(const rows *r, tally_statistic which, tally_dtype dtype, void *value)
{
    const tally_digits *sum[ROWS_SUMS] = {NULL};
    for (int k = 0, i = 0; k < ROWS_SUMS; k++)
        if (r->needs >> k & 1) sum[k] = r->sum[i++];
    const tally_sums sums = which == TALLY_SLOPE
                                ? (tally_sums){sum[1], sum[0], sum[3], sum[2], sum[4]}
                                : (tally_sums){sum[0], sum[1], sum[2], sum[3], sum[4]};
    return tally_statistic_value(which, &sums, dtype, value);
}

/* A state more (sign 1) or less in r, of one sum. 0: there is no memory. */
static inline int rows_merge_state(rows *r, const void *data, int sign)
{
    tally_exact e;
    int32_t room;
    memcpy(&e, data, sizeof e);
    while ((room = tally_digits_merge_exact(r->sum[0], &e, sign)))
        if (!rows_room(&r->sum[0], room)) return 0;
    return 1;
}
#endif

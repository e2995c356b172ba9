/* SPDX-License-Identifier: MIT
 * SQLite: exact aggregates and window functions, as a loadable extension.
 *
 *     .load ./tally_sqlite                                       in the shell
 *     db.enable_load_extension(True); db.load_extension("tally_sqlite")    in Python
 *
 * An aggregate's context is a pointer to `rows`, which xFinal frees. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#include <stdio.h>

static void *grow(void *memory, size_t bytes) { return sqlite3_realloc64(memory, bytes); }
#define ROWS_GROW grow
#include "../rows.h"

enum { STATE = ROWS_TABLE, MERGE, FUNCTIONS }; /* behind those of rows_table */
static const int numbers[FUNCTIONS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
_Static_assert(FUNCTIONS == 14, "numbers[i] is i");

static int which(sqlite3_context *c) { return *(const int *)sqlite3_user_data(c); }

/* The rows of this group or frame; make: also if there are none yet. */
static rows **slot(sqlite3_context *c, int make)
{
    rows **at = sqlite3_aggregate_context(c, make ? (int)sizeof *at : 0);
    if (!at || *at || !make) return at && *at ? at : NULL;
    const int i = which(c), needs = i < ROWS_TABLE ? rows_table[i].needs : TALLY_NEEDS_X;
    *at = sqlite3_malloc64(rows_bytes(needs));
    if (*at && rows_open(*at, needs)) return at;
    return NULL;
}

static void release(rows **at)
{
    if (!at || !*at) return;
    for (int i = 0; i < (*at)->sums; i++) sqlite3_free((*at)->sum[i]);
    sqlite3_free(*at);
    *at = NULL;
}

/* An argument as a double. 0: it has no such value, or it is NULL (*null). */
static int number(sqlite3_context *c, sqlite3_value *v, double *x, int *null)
{
    char text[96];
    switch (sqlite3_value_numeric_type(v)) {
    case SQLITE_FLOAT:
        *x = sqlite3_value_double(v);
        return 1;
    case SQLITE_NULL:
        *null = 1;
        return 0;
    case SQLITE_INTEGER: {
        const sqlite3_int64 n = sqlite3_value_int64(v);
        *x = (double)n;
        if (*x < 0x1p63 && (sqlite3_int64)*x == n) return 1;
        snprintf(text, sizeof text,
                 "%lld has no equal among the floats: sum() of integers is exact", (long long)n);
        break;
    }
    default:
        snprintf(text, sizeof text, "a value of type %s is no number",
                 sqlite3_value_type(v) == SQLITE_BLOB ? "blob" : "text");
    }
    sqlite3_result_error(c, text, -1);
    return 0;
}

static void change_any(sqlite3_context *c, sqlite3_value **v, int sign)
{
    double x = 0, y = 0;
    int null = 0, done;
    rows **const at = slot(c, 1);
    if (!at) return sqlite3_result_error_nomem(c);
    if (which(c) == MERGE) {
        if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
        const void *data = sqlite3_value_blob(v[0]);
        const char *problem = tally_exact_problem(data, (size_t)sqlite3_value_bytes(v[0]));
        if (problem) return sqlite3_result_error(c, problem, -1);
        done = rows_merge_state(*at, data, sign);
    } else {
        const int two = which(c) < ROWS_TABLE && rows_table[which(c)].arguments == 2;
        const int first = number(c, v[0], &x, &null), second = !two || number(c, v[1], &y, &null);
        if (!first || !second) return; /* a NULL, or an error */
        done = rows_add(*at, x, y, sign);
    }
    if (!done) sqlite3_result_error_nomem(c);
}
/* The usual case first: a float more in a sum of floats that has begun. */
static void change(sqlite3_context *c, sqlite3_value **v, int sign)
{
    rows **const at = sqlite3_aggregate_context(c, sizeof *at);
    if (at && *at && (*at)->needs == TALLY_NEEDS_X && sqlite3_value_type(v[0]) == SQLITE_FLOAT &&
        which(c) != MERGE)
        if (rows_add(*at, sqlite3_value_double(v[0]), 0, sign)) return;
    change_any(c, v, sign);
}
static void step(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    change(c, v, 1);
}
static void inverse(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    change(c, v, -1);
}

static void value(sqlite3_context *c)
{
    rows **const at = slot(c, 0);
    double x;
    tally_exact e;
    if (!at) return sqlite3_result_null(c);
    if (which(c) < ROWS_TABLE) {
        if (rows_value(*at, (tally_statistic)rows_table[which(c)].which, TALLY_F64, &x))
            sqlite3_result_double(c, x); /* NaN: NULL, as everywhere in SQLite */
        return;
    }
    if (!(*at)->sum[0]->count) return sqlite3_result_null(c);
    if (tally_digits_exact((*at)->sum[0], &e))
        return sqlite3_result_error(c, tally_error(NULL), -1);
    sqlite3_result_blob(c, &e, sizeof e, SQLITE_TRANSIENT);
}
static void final(sqlite3_context *c)
{
    value(c);
    release(sqlite3_aggregate_context(c, 0));
}

/* exact_value(state), exact_mean(state) */
static void of_state(sqlite3_context *c, int n, sqlite3_value **v)
{
    tally_exact e;
    double x;
    (void)n;
    const int type = sqlite3_value_type(v[0]);
    if (type == SQLITE_NULL) return;
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        return sqlite3_result_error(c,
                                    "a number is no state: exact_sum(x) and exact_avg(x) are the "
                                    "sum and the mean of a column",
                                    -1);
    const void *data = sqlite3_value_blob(v[0]);
    const char *problem = tally_exact_problem(data, (size_t)sqlite3_value_bytes(v[0]));
    if (problem) return sqlite3_result_error(c, problem, -1);
    memcpy(&e, data, sizeof e);
    if (!e.word[71]) return;
    if (tally_exact_value(NULL, &e, sqlite3_user_data(c), TALLY_F64, &x))
        return sqlite3_result_error(c, tally_error(NULL), -1);
    sqlite3_result_double(c, x);
}

static void refuse(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n;
    (void)v;
    sqlite3_result_error(c,
                         "tally_sum depends on the order of the rows, which SQLite does not "
                         "promise to an aggregate: exact_sum needs no order",
                         -1);
}
static void nothing(sqlite3_context *c) { (void)c; }

__attribute__((visibility("default"))) int
sqlite3_tallysqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
int sqlite3_tallysqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int bad = SQLITE_OK;
    SQLITE_EXTENSION_INIT2(api)
    (void)error;
    for (int i = 0; i < FUNCTIONS && !bad; i++)
        bad = sqlite3_create_window_function(db,
                                             i < ROWS_TABLE ? rows_table[i].name
                                             : i == STATE   ? "exact_state"
                                                            : "exact_merge",
                                             i < ROWS_TABLE ? rows_table[i].arguments : 1, flags,
                                             (void *)(size_t)&numbers[i], step, final, value,
                                             inverse, NULL);
    static char sum[] = "sum:exact", mean[] = "mean:exact";
    if (!bad) bad = sqlite3_create_function(db, "exact_value", 1, flags, sum, of_state, NULL, NULL);
    if (!bad) bad = sqlite3_create_function(db, "exact_mean", 1, flags, mean, of_state, NULL, NULL);
    if (!bad)
        bad = sqlite3_create_function(db, "tally_sum", -1, flags, NULL, NULL, refuse, nothing);
    return bad;
}

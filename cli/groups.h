/* SPDX-License-Identifier: MIT
 * groups.h - --by: groups of lines and of steps, windows by keys, the calendars of times. */
#ifndef GROUPS_H
#define GROUPS_H

#include "input.h"
#include "output.h"

/* ---- groups.c: --by ---- */
int groups_check(const options *o); /* checks the options that go with --by */
/* Loads the input. Call groups_close also after a failure. */
int groups_open(groups *g, input *in, const options *o);
void groups_close(groups *g);
/* Gathers a column's values, group after group, into dense, and makes a view of its segments. */
int groups_take(const groups *g, const input *in, int64_t column, char *dense, tally_view *view);
/* Copies the grouped results of that column, of `bytes` bytes each, to their lines in `out`. */
void groups_back(const groups *g, const char *grouped, size_t bytes, int64_t column, char *out);
/* Allocates memory in the answer for the cells of `columns` key columns, and for their names. */
int groups_reserve_keys(answer *a, const groups *g, int64_t columns, int64_t inner);
int groups_names(const groups *g, const input *in, answer *a);
void groups_names_free(answer *a);
/* The name of the dimension of the groups; NULL: there are no groups. */
const char *groups_dimension(const answer *a);

/* ---- span.c: --last and --next ---- */
typedef struct span_length {
    const char *option, *text; /* as in --last 2.5 */
    int given, number;         /* number: a plain number without a unit; else nanoseconds */
    /* exact: the length is whole + part / TALLY_KEY_PART; else only `real` is set */
    int exact;
    int64_t whole, part;
    double real; /* the f64 nearest to a plain number */
} span_length;
typedef struct span {
    int on; /* --last or --next was given */
    span_length last, next;
    int center, low_open, high_open;
    int ties; /* -1: not given; else a tally_ties */
} span;
int span_options(const options *o, span *s);
/* Computes the window of each line, among the values that groups_take gives, as
 * tally_window_ranges takes it. The caller frees both arrays, also after a failure. */
int span_bounds(const span *s, const groups *g, const input *in, int64_t **start, int64_t **end);
/* Checks that the lengths of s have a unit if and only if the keys are times. what: "the column
 * of --by". */
int span_unit(const span *s, const char *label, const char *what, int times);
/* Makes the window for keys of this dtype. falling: the keys descend. */
int span_window(const span *s, tally_dtype keys, int falling, tally_key_window *w);

/* ---- coordinate.c: the coordinate variable of dimension l->axis ---- */
typedef struct coordinate {
    const input *of; /* the variable with that dimension */
    const char *name;
    /* keep the stored type; else a type for keys of windows: i32, i64, u64 or f64 */
    int as_stored;
    int one_file; /* of joined files the first one has all values */
    /* any_units: sets `differs` if a later file's units cannot be converted to the first's, and
     * goes on; converted: some of them were */
    int any_units, differs, converted;
    int part; /* -1, or the values are this part of the dates of times (calendar_part), as i32 */
    char *units, *calendar; /* attributes of the first file, or NULL */
    tally_dtype dtype;      /* of the values */
    char *values;
    int64_t n;
} coordinate;
/* Reads the values of all joined files, and checks that they are finite. Call coordinate_free
 * also after a failure. */
int coordinate_read(coordinate *c, const options *o, const layout *l);
void coordinate_free(coordinate *c);
double coordinate_value(const coordinate *c, int64_t i);
/* Computes the window of each step along l->axis by that coordinate. The caller frees start and
 * end, as for span_bounds. */
int coordinate_bounds(const span *s, const options *o, const input *in, const layout *l,
                      int64_t **start, int64_t **end);

/* ---- calendar.c: the times of NetCDF files as dates in the calendars of CF ---- */
typedef struct calendar {
    int64_t unit; /* nanoseconds of "hours since ..."; 0: these are not units of time */
    int kind;
    const char *name;
    __int128 origin; /* the time after `since`, in nanoseconds of the calendar */
} calendar;
typedef struct date {
    int64_t year;
    int month, day, hour, dayofyear;
} date;
/* Reads the units and the calendar of c. */
int calendar_open(calendar *k, const coordinate *c);
/* The time of a number, in nanoseconds that can be compared within a calendar; and its date.
 * They return 0 if the calendar does not have it. */
int calendar_time(const calendar *k, tally_dtype dtype, const void *value, __int128 *nanos);
int calendar_date(const calendar *k, tally_dtype dtype, const void *value, date *d);
/* The part of dates that "time.month" names, or -1; *length: of "time". */
int calendar_part(const char *name, size_t *length);
const char *calendar_part_name(int part);
int calendar_no_part(const char *name);               /* the error: "week" is no part */
int32_t calendar_value(const date *d, int part);      /* a season is 1 (DJF) to 4 */
const char *calendar_season(int part, int64_t value); /* NULL: the part is no season */
int calendar_season_number(const char *name);         /* 0: it is none */

/* ---- bands.c: --by with --axis: groups of the steps along an axis, by variables of a NetCDF
 * file */
int by_steps(const options *o);
/* Makes the groups of l's steps. a: NULL, or receives their keys. Call groups_close also after a
 * failure. */
int bands_open(groups *g, answer *a, const options *o, const input *in, const layout *l);
/* Makes the steps of each group adjacent, in an array with l's shape, in place; or moves them
 * back. */
int bands_move(const groups *g, const layout *l, char *data, size_t bytes, int back);
/* bands_part: the part of a batch's view that belongs to a group. bands_destination: changes the
 * index and the step of the batch's results to those of the group's. */
void bands_part(const groups *g, const layout *l, int64_t group, size_t bytes, tally_view *view);
void bands_destination(const groups *g, const layout *l, int64_t group, int64_t *at, int64_t *step);
#endif

/* SPDX-License-Identifier: MIT
 * An assignment, as a file in TOML says it (ladder/doc/grade.md has the format). */
#ifndef LADDER_ASSIGNMENT_H
#define LADDER_ASSIGNMENT_H
#include "rung.h"

/* ---- toml.c: a small part of TOML, read strictly: tables [name], keys with a string, a number or
 * a list of these ---- */

enum { TOML_KEYS = 64, TOML_ITEMS = 32, TOML_WORD = 32, TOML_TEXT = 200 };
typedef struct toml_item {
    int is_text;
    double number;
    char text[TOML_TEXT];
} toml_item;
typedef struct toml_entry {
    char table[TOML_WORD], key[TOML_WORD]; /* table "": before the first one */
    int line, column;                      /* of the key */
    int is_list, count;
    toml_item item[TOML_ITEMS];
} toml_entry;
typedef struct toml {
    int count;
    toml_entry entry[TOML_KEYS];
} toml;

/* Returns 0, or error->code; the message begins with file:line:column. */
int toml_read(const char *file, const char *text, toml *t, ladder_error *error);

/* ---- assignment.c ---- */

enum { CHECKS_MOST = 32, LIST_MOST = TOML_ITEMS, SMALL_N = 1 << 16 };

/* What can be limited: from the counts of one run of n elements, or (M_rate) from the clock. */
typedef struct metric {
    const char *name, *unit;
    enum {
        M_conflicts,
        M_degree,
        M_barriers,
        M_divergent,
        M_launches,
        M_sectors,
        M_bytes,
        M_requests,
        M_shared,
        M_active,
        M_races,
        M_error,
        M_rate
    } which;
} metric;
typedef struct limit {
    const metric *of;
    int least;
    double bound, points;
} limit;
typedef struct assignment {
    char title[TOML_TEXT], like[TOML_TEXT], types[LIST_MOST][8];
    int type_count, size_count, warp_count, width_count, operation_count, limit_count;
    int64_t sizes[LIST_MOST], counted, threads;
    int warps[LIST_MOST], operations[LIST_MOST];
    int64_t widths[LIST_MOST];
    double right_points;
    limit limits[CHECKS_MOST];
} assignment;

int read_assignment(const char *file, const char *text, assignment *a, ladder_error *error);
#endif

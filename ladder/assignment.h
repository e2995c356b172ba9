/* SPDX-License-Identifier: MIT
 * An assignment, as a file in TOML says it (assignment.c; ladder/doc/grade.md has the format). */
#ifndef LADDER_ASSIGNMENT_H
#define LADDER_ASSIGNMENT_H
#include "rung.h"
#include "toml.h"

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

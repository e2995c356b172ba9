/* SPDX-License-Identifier: MIT
 * Windows with the rules of pandas: a NaN is not an observation, and a window with fewer than
 * `minimum` observations gives NaN, also if the operator's own empty value is a number (0 for a
 * sum). Results are float64 (float32 on request).
 *
 * If the data has no NaN, which one pass finds out, or if a NaN makes the result NaN anyway, the
 * plain operator runs, and a window's position gives its number of observations. Else the nan form
 * runs. If its own empty value is NaN,
 * the library applies `minimum`; else windows of `count` give these numbers. Of two arrays an
 * observation is a pair without a NaN. The rows of a window are a fixed number around its row, or
 * those from start to end. */
#pragma once

#include "pt.h"

typedef struct {
    pt_verb verb, plain, count; /* the nan form; the operator itself; count of observations */
    /* pairs: a byte for each pair of two arrays, 1 if it is an observation */
    pt_operand a, b, pairs;
    const pt_operand *next;     /* NULL, or &b */
    const int64_t *start, *end; /* NULL, or the rows of each window */
    int axis;
    int64_t before, after, minimum, step; /* after may be -1: the window ends before its own row */
    /* elements that a window needs to have a value: minimum, or 1 if the empty value is NaN */
    int64_t least;
    double missing; /* the value of other windows */
    /* every row is an observation: there is no NaN, or the operator is count() with the rule of
     * pandas */
    int all_observed;
    /* the verb window gives the results. Then, and of host arrays where pt_rolling_needs_all, verb
     * and count are not set. */
    int is_window;
    tally_dtype wanted;
} rolling;

/* ---- rolling_host.c ---- */

/* Whether the operator's empty value for this type is NaN. *value: that value, or 0 if it is not
 * a float. */
int pt_rolling_empty_is_nan(tally *ctx, const char *op, tally_dtype dtype, double *value);

/* Sets what `verb` computes to the windows of r. */
void pt_rolling_set_window(pt_verb *verb, const rolling *r);

/* The number of rows in the window of row i. */
int64_t pt_rolling_rows_at(const rolling *r, int64_t i);

/* Whether a window has a value only if all of its elements are numbers, and the operator itself
 * gives NaN for others. Then every element counts as an observation. */
int pt_rolling_needs_all(const rolling *r);

/* Checks whether every element is an observation (all_observed). */
tally_status pt_rolling_find_nan(tally *ctx, rolling *r);

/* Whether the operator itself gives NaN for floats of which one is NaN. */
int pt_rolling_keeps_nan(const rolling *r);

/* Computes all results, without the GIL. out is dense. */
tally_status pt_rolling_on_host(tally *ctx, rolling *r, pt_operand *out);

/* ---- rolling_device.c ---- */

/* Computes on the device that has the array: *done, or 0 if that is not possible. other: a context
 * that knows operators' empty values; using it does not disturb the stream. Returns 0, or -1 with
 * an exception. */
int pt_rolling_on_device(rolling *r, pt_operand *out, PyObject *object, tally *other, int *done);

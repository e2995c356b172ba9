/* SPDX-License-Identifier: MIT
 * The parameter that tally_verify and the tests give an operator that takes one. */
#ifndef TALLY_PARAMETER_H
#define TALLY_PARAMETER_H
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What is written behind an operator's name: nothing where its parameter may be left out, but for var, whose golden
 * bits are of ddof=1; else a value of its range in op/ops.def, 0.3 above the least. Returns `to`. */
enum { TL_SAMPLE_ROOM = 32 };
static inline const char *tl_sample_parameter(const char *op, char to[TL_SAMPLE_ROOM])
{
    static const struct {
        const char *name, *parameter;
        double fallback, low, high;
    } rows[] = {
#define OPERATOR(name, file, kinds, out, acc, nan, lanes, parameter, fallback, low, high, empty, text)                 \
    {#name, parameter, fallback, low, high},
#define OPERATOR_ALSO(...)
#include "op/ops.def"
#undef OPERATOR_ALSO
#undef OPERATOR
    };
    if (!strncmp(op, "nan", 3)) op += 3; /* nan forms have the parameter of their operator */
    strcpy(to, strcmp(op, "var") ? "" : ":ddof=1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(op, rows[i].name) && *rows[i].parameter && isnan(rows[i].fallback)) {
            double value = isfinite(rows[i].low) ? rows[i].low + 0.3 : 0.3;
            snprintf(to, TL_SAMPLE_ROOM, ":%g", value < rows[i].high ? value : rows[i].high);
        }
    return to;
}
#endif

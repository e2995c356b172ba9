/* SPDX-License-Identifier: MIT
 * The parameter that tally_verify and the tests give to an operator that takes one. */
#ifndef TALLY_PARAMETER_H
#define TALLY_PARAMETER_H

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Writes the suffix for an operator's name to `to` and returns it. It is empty if the parameter
 * may be left out, except for var and nanvar, whose golden bits have ddof=1. Else it is a value
 * of the range in op/ops.def, 0.3 above the least. */
enum { TL_SAMPLE_BYTES = 32 };

static inline const char *tl_sample_parameter(const char *op, char to[TL_SAMPLE_BYTES])
{
    static const struct {
        const char *name, *parameter;
        double fallback, low, high;
    } rows[] = {
#define FORM(name, file, kinds, parameter, fallback, low, high, empty, text) \
    {#name, parameter, fallback, low, high},
#include "op/forms.def"
#undef FORM
    };
    strcpy(to, strcmp(op, "var") && strcmp(op, "nanvar") ? "" : ":ddof=1");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(op, rows[i].name) && *rows[i].parameter && isnan(rows[i].fallback)) {
            double value = isfinite(rows[i].low) ? rows[i].low + 0.3 : 0.3;
            snprintf(to, TL_SAMPLE_BYTES, ":%g", value < rows[i].high ? value : rows[i].high);
        }
    return to;
}

#endif

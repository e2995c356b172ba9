/* SPDX-License-Identifier: MIT
 * Operators and types as the tests call them: the parameter that each is tested with, and the names on a test's command line. */
#ifndef TALLY_TEST_NAMES_H
#define TALLY_TEST_NAMES_H
#include "tally.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written behind an operator's name: nothing where its parameter may be left out, but var's, whose golden bits are of ddof=1; else
 * a value of its range in op/ops.def, 0.3 above the lowest. */
static inline const char *test_parameter(const char *op)
{
    static const struct {
        const char *name, *parameter;
        double fallback, low, high;
    } rows[] = {
#define OPERATOR(name, file, kinds, out, acc, lanes, parameter, fallback, low, high, empty, text)                      \
    {#name, parameter, fallback, low, high},
#define OPERATOR_ALSO(...)
#include "../src/op/ops.def"
#undef OPERATOR_ALSO
#undef OPERATOR
    };
    static char suffix[8][48];
    static int turn;
    if (!strcmp(op, "var")) return ":ddof=1";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(op, rows[i].name) && *rows[i].parameter && isnan(rows[i].fallback)) {
            double value = isfinite(rows[i].low) ? rows[i].low + 0.3 : 0.3;
            char *to = suffix[turn++ % 8];
            snprintf(to, sizeof suffix[0], ":%g", value < rows[i].high ? value : rows[i].high);
            return to;
        }
    return "";
}

static inline void test_usage(const char *program, const char *what, const char *got, const char *of)
{
    fprintf(stderr, "%s: %s is '%s': must be %s\n", program, what, got, of);
    exit(2);
}

/* The arguments [OP [DTYPE]] from argv[first] on: a name that is none ends the test with a sentence, lest it pass having tested nothing. */
static inline void test_names(int argc, char **argv, int first)
{
    const char *const *op = tally_operators();
    char list[512] = "";
    for (const char *const *n = op; *n; n++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? " " : "one of ", *n);
    while (first < argc && *op && strcmp(*op, argv[first])) op++;
    if (!*op) test_usage(argv[0], "the operator", argv[first], list);
    if (first + 1 < argc && !tally_dtype_parse(argv[first + 1]))
        test_usage(argv[0], "the type", argv[first + 1], "one of i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
    if (first + 2 < argc) test_usage(argv[0], "an argument", argv[first + 2], "left out: there are two, [OPERATOR [TYPE]]");
}
#endif

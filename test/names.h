/* SPDX-License-Identifier: MIT
 * The names of operators and types on a test's command line. */
#ifndef TALLY_TEST_NAMES_H
#define TALLY_TEST_NAMES_H
#include "tally.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does the operator take two inputs? test_inputs has those; the tests of one view leave them
   out. */
static inline int test_takes_two(const char *op)
{
    tally_operator_info info;
    return !tally_operator(NULL, op, TALLY_F64, &info) && info.inputs == 2;
}

static inline void test_usage(const char *program, const char *what, const char *got,
                              const char *of)
{
    fprintf(stderr, "%s: %s is '%s': must be %s\n", program, what, got, of);
    exit(2);
}

/* The arguments [OP [DTYPE]] from argv[first] on. An unknown name ends the test with a sentence,
 * so that it cannot pass without having tested anything. */
static inline void test_names(int argc, char **argv, int first)
{
    const char *const *op = tally_operators();
    char list[512] = "";
    for (const char *const *n = op; *n; n++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? " " : "one of ",
                 *n);
    while (first < argc && *op && strcmp(*op, argv[first])) op++;
    if (!*op) test_usage(argv[0], "the operator", argv[first], list);
    if (first + 1 < argc && !tally_dtype_parse(argv[first + 1]))
        test_usage(argv[0], "the type", argv[first + 1],
                   "one of i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
    if (first + 2 < argc)
        test_usage(argv[0], "an argument", argv[first + 2],
                   "left out: there are two, [OPERATOR [TYPE]]");
}
#endif

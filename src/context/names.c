/* SPDX-License-Identifier: MIT
 * The names of the built-in operators. */
#include "tally.h"
#include <stddef.h>

const char *const *tally_operators(void)
{
    static const char *const names[] = {
#define OPERATOR_ALSO(...)
#define OPERATOR(name, ...) #name,
#include "op/ops.def"
#undef OPERATOR
#define OPERATOR(name, file, kinds, out, acc, nan, ...) NAME_##nan(name)
#define NAME_YES(name)                                  "nan" #name,
#define NAME_NO(name)
#include "op/ops.def"
#undef OPERATOR
#undef OPERATOR_ALSO
        NULL};
    return names;
}

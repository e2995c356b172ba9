/* SPDX-License-Identifier: MIT
 * The element types by number and by name. */
#include "dtype.h"
#include <string.h>

static const struct dtype_row {
    const char *name;
    int bytes;
    char kind;
} dtypes[] = {
#define DTYPE(name, ctype, bytes, kind, npy) {#name, bytes, #kind[0]},
#include "dtype.def"
#undef DTYPE
};

_Static_assert(sizeof dtypes / sizeof *dtypes == TL_DTYPES, "every type has one row");

static const struct dtype_row *dtype_row(tally_dtype d)
{
    return (unsigned)d - 1 < TL_DTYPES ? &dtypes[d - 1] : NULL;
}

const char *tally_dtype_name(tally_dtype d) { return dtype_row(d) ? dtype_row(d)->name : NULL; }
size_t tally_dtype_size(tally_dtype d) { return dtype_row(d) ? (size_t)dtype_row(d)->bytes : 0; }

tally_dtype tally_dtype_parse(const char *name)
{
    for (int i = 0; name && i < TL_DTYPES; i++)
        if (!strcmp(name, dtypes[i].name)) return (tally_dtype)(i + 1);
    return (tally_dtype)0;
}

char tl_dtype_kind(tally_dtype d) { return dtype_row(d) ? dtype_row(d)->kind : 0; }

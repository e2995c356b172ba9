/* SPDX-License-Identifier: MIT
 * The element types, rows of dtype.def. Sizes, names and parsing are public (tally.h). */
#ifndef TALLY_DTYPE_H
#define TALLY_DTYPE_H

#include "tally.h"

enum {
    TL_DTYPES = 0
#define DTYPE(...) +1
#include "dtype.def"
#undef DTYPE
};

/* The name for sentences, also of a number that is no type. */
static inline const char *tl_dtype_word(tally_dtype d)
{
    return tally_dtype_name(d) ? tally_dtype_name(d) : "unknown";
}

/* 'I', 'U' or 'F'; 0 if there is no such type. */
char tl_dtype_kind(tally_dtype d);

#endif

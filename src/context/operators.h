/* SPDX-License-Identifier: MIT
 * From the strings that users write ("sum", "sum:f64", "ema:alpha=0.1") to rows of the tables. */
#ifndef TALLY_OPERATORS_H
#define TALLY_OPERATORS_H

#include "context.h"

/* The scalar row and the parameter of `op` on dtype. An error names the choices. ctx may be
 * NULL. */
tally_status tl_resolve(tally *ctx, const char *op, tally_dtype dtype, const tl_scalar **scalar,
                        tl_par *par);

/* The instance of the operator text `file`. acc 0: the default accumulator, which is the first
 * row of the dtype. NULL if there is none. */
const tl_scalar *tl_find_scalar(const char *file, tally_dtype dtype, tally_dtype acc);

/* The instance for f64 of the built-in operator of this name. Requires: there is one. */
const tl_scalar *tl_form_of_f64(const tl_scalar *op);

#endif

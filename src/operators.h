/* SPDX-License-Identifier: MIT
 * From the strings users write ("sum", "sum:f64", "ema:alpha=0.1") to rows of the tables. */
#ifndef TALLY_OPERATORS_H
#define TALLY_OPERATORS_H
#include "context.h"
#include "plan.h"

/* The scalar row and parameter of `op` on dtype. The error names the choices. ctx may be NULL. */
tally_status tl_resolve(tally *ctx, const char *op, tally_dtype dtype, const tl_scalar **scalar, tl_par *par);

/* The instance of operator text `file`; acc 0: the default accumulator (the first row of the dtype). NULL if there is none. */
const tl_scalar *tl_find_scalar(const char *file, tally_dtype dtype, tally_dtype acc);

/* The plan of a built-in instance on the processors: its kernels for instruction set number isa (a row of isa.def), and the
 * conversions from and to the types that those are for. */
void tl_plan_kernels(tl_plan *plan, const tl_scalar *instance, tl_par par, int isa);

enum { TL_ISA_NONE = -1 };
int tl_isa_count(void);
const char *tl_isa_name(int isa);
int tl_isa_runs(int isa);
/* The number of the ISA called name, or TL_ISA_NONE. */
int tl_isa_find(const char *name);
#endif

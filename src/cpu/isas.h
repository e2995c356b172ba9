/* SPDX-License-Identifier: MIT
 * The instruction sets (isa.def) and the plans of built-in operators on the processors. */
#ifndef TALLY_ISAS_H
#define TALLY_ISAS_H
#include "operator/plan.h"

/* A plan without kernels; what knows no operator is of instruction set number isa (a row of
   isa.def). */
tl_plan tl_plan_begin(const tl_scalar *op, tl_par par, int isa);

/* The plan of a built-in instance on the processors: its kernels for that instruction set, and
 * the conversions from and to the types that those are for. */
void tl_plan_kernels(tl_plan *plan, const tl_scalar *instance, tl_par par, int isa);

enum { TL_ISA_NONE = -1 };
int tl_isa_count(void);
const char *tl_isa_name(int isa);
int tl_isa_runs(int isa); /* on this machine? */
/* its rows of cpu/elements/convert.def, then one whose apply is NULL */
const tl_convert *tl_isa_converts(int isa);
int tl_isa_widest(void); /* of those that run */
/* The number of the ISA called name, or TL_ISA_NONE. */
int tl_isa_find(const char *name);
#endif

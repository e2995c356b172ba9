/* SPDX-License-Identifier: MIT
 * The instruction sets (isa.def), and the plans of built-in operators on CPUs. */
#pragma once

#include "operator/kernel.h"

/* A plan without kernels of an operator. Its other tables are those of instruction set number isa
 * (a row of isa.def). */
tl_plan tl_plan_begin(const tl_scalar *op, tl_par par, int isa);

/* Makes the plan of a built-in instance: its kernels for the instruction set, and the conversions
 * to and from the kernels' types. */
void tl_plan_kernels(tl_plan *plan, const tl_scalar *instance, tl_par par, int isa);

/* Makes *plan, a plan for windows of w elements, one on f64 if that is exact (OP_FLOATS): sums of
 * integers of up to 4 bytes, below 2^53. op: memory for the instance. */
void tl_plan_floats(tl_plan *plan, int64_t w, tl_scalar *op);

enum { TL_ISA_NONE = -1 };
int tl_isa_count(void);
const char *tl_isa_name(int isa);
int tl_isa_runs(int isa); /* does this machine support it? */

/* its rows of cpu/elements/convert.def; the last has apply NULL */
const tl_convert *tl_isa_converts(int isa);

/* The row of a list with this kind and these types, or NULL. */
const tl_convert *tl_find_convert(const tl_convert *list, int kind, tally_dtype from,
                                  tally_dtype to);
int tl_isa_widest(void); /* the widest that this machine supports */

/* The number of the instruction set called name, or TL_ISA_NONE. */
int tl_isa_find(const char *name);

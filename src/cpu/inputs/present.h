/* SPDX-License-Identifier: MIT
 * Reductions of elements with validity that fold only the elements present. Requires: kernels read
 * them in place (tl_gather_reads), and the operator has one input.
 *
 *   class X         the elements present are packed and go through the kernels of dense elements,
 *                   because any association gives the bits
 *   blank states    the operator shares the states of another operator that has a blank element
 *                   (the mean of floats has those of sum): the kernels of that operator, and the
 *                   number of elements from the bitmap */
#ifndef TALLY_PRESENT_H
#define TALLY_PRESENT_H

#include "context/inputs.h"
#include "operator/plan.h"

/* Does tl_present_reduce support the operator? plan: of the operator asked for. */
int tl_present_takes(const tl_scalar *op);
void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out);

/* form: MARK. Returns 1 and sets *blank to the operator's form with the blank of the other
 * operator; then the plan must be of blank->op. Requires: `in` is one sequence. */
int tl_present_blank(const tl_form *form, tl_form *blank);
void tl_present_reduce_blank(const tl_plan *plan, const tl_form *blank, int threads,
                             const tally_view *in, char *out);

#endif

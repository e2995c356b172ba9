/* SPDX-License-Identifier: MIT
 * Reductions of elements with validity by the elements that are there, where kernels read them
 * in their view (tl_gather_reads) and the operator takes one input:
 *
 *   class X         what is there, as neighbours, through the kernels of dense elements: any
 *                   association gives the bits
 *   blank states    the operator's states are those of another one with an element that changes
 *                   nothing (the mean of floats has sums): the kernels of that, and the number
 *                   of elements from the bitmap */
#ifndef TALLY_PRESENT_H
#define TALLY_PRESENT_H
#include "context/inputs.h"
#include "operator/plan.h"

/* Can tl_present_reduce do it? plan: of the operator that was asked for. */
int tl_present_takes(const tl_scalar *op);
void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out);

/* form: MARK. 1: *blank is the operator's own form with the other one's blank; plan: of
 * blank->op. In must be one sequence. */
int tl_present_blank(const tl_form *form, tl_form *blank);
void tl_present_reduce_blank(const tl_plan *plan, const tl_form *blank, int threads,
                             const tally_view *in, char *out);
#endif

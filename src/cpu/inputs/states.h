/* SPDX-License-Identifier: MIT
 * The verbs one state after the other, by the law's own steps. For operators that have no form in
 * which an element can be missing (context/inputs.h, TL_FORM_STATES). Slow: about 20 ns for an
 * element, and a window folds all of its elements anew. */
#ifndef TALLY_STATES_H
#define TALLY_STATES_H

#include "operator/plan.h"
#include "context/inputs.h"
#include "cpu/keys/ranges.h"

/* in: dense sequences (tl_gather_dense); element j is missing if there[j] is a NaN. out: as for the
 * verbs. ranges: the windows of a sequence of n elements. */
void tl_states_reduce(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                      char *out);
void tl_states_scan(const tl_plan *plan, int threads, const tally_view *in, const float *there,
                    const tally_view *out, const tally_scan_options *options);
void tl_states_ranges(const tl_plan *plan, int threads, const tl_ranges *ranges, tl_line line,
                      const float *there);

/* ---- present.c ---- */

/* Reductions of elements with validity that fold only the elements present. Requires: kernels read
 * them in place (tl_gather_reads), and the operator has one input.
 *
 *   class X         the elements present are packed and go through the kernels of dense elements,
 *                   because any association gives the bits
 *   blank states    the operator shares the states of another operator that has a blank element
 *                   (the mean of floats has those of sum): the kernels of that operator, and the
 *                   number of elements from the bitmap */

/* Does tl_present_reduce support the operator? plan: of the operator asked for. */
int tl_present_takes(const tl_scalar *op);
void tl_present_reduce(const tl_plan *plan, int threads, const tally_view *in, char *out);

/* form: MARK. Returns 1 and sets *blank to the operator's form with the blank of the other
 * operator; then the plan must be of blank->op. Requires: `in` is one sequence. */
int tl_present_blank(const tl_form *form, tl_form *blank);
void tl_present_reduce_blank(const tl_plan *plan, const tl_form *blank, int threads,
                             const tally_view *in, char *out);

#endif

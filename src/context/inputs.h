/* SPDX-License-Identifier: MIT
 * How an operator runs on elements with a validity bitmap, or with a second input. An element that
 * is left out keeps its place in the tree. Kernels do not read bitmaps. They get prepared elements
 * and an operator (the form) that give the bits of the law:
 *
 *  PLAIN   No element is left out, or elements are prepared already.
 *  BLANK   An element that changes nothing replaces elements that are left out: OP_BLANK (-0.0 for
 *          a sum), or a NaN in a nan form. For an exact sum it is -0, and zeros that are valid
 *          become +0, so that the two can be told apart and counted.
 *  MARK    The operator has a nan form, which then leaves out one marker value only (tl_par.marked)
 *          and combines all other NaNs. Integers are converted to f64 if the operator computes in
 *          f64, or if f64 has all of their values.
 *  STATES  None of these: the states are combined one by one (cpu/inputs/inputs.h).
 *
 * Two inputs of different types are converted to a common type first (doc/inputs.md). */
#ifndef TALLY_INPUTS_H
#define TALLY_INPUTS_H

#include "context.h"

enum { TL_FORM_PLAIN, TL_FORM_BLANK, TL_FORM_MARK, TL_FORM_STATES };

typedef struct tl_form {
    int kind;
    /* the requested operator; the operator that runs on prepared elements */
    const tl_scalar *named, *op;
    tl_par par;
    uint64_t fill; /* the value that replaces an element that is left out */
    int absent;    /* elements may be left out */
    int late;      /* BLANK: elements are replaced after they were widened (tl_form_late) */
} tl_form;

/* For MARK, on processors that read elements in place: *late is a BLANK of the requested operator,
 * whose blank is known for widened elements only. Returns 0 if there is no such form. */
int tl_form_late(const tl_form *form, tl_form *late);

/* The dtype of the elements that the operator gets: for two inputs the common type, if both
 * dtypes are valid. */
tally_dtype tl_inputs_dtype(const tally_view *in);

/* Finds the operator's instance for `in`, and its form. Refuses a second input that is missing,
 * not allowed, or of another shape. */
tally_status tl_form_of(tally *ctx, const char *op, const tally_view *in, tl_form *form);

/* The two steps of tl_form_of. tl_form_begin: the form of an instance, for elements that may be
 * left out (absent) or not. tl_form_fits: checks that `in` has the number of inputs that the
 * operator takes, of equal shapes. */
void tl_form_begin(tl_form *form, const tl_scalar *named, tl_par par, int absent);
tally_status tl_form_fits(tally *ctx, const char *op, const tl_scalar *named, const tally_view *in,
                          const char *name);

static inline int tl_has_absent(const tally_view *in)
{
    return in->valid || (in->next && in->next->valid);
}

#endif

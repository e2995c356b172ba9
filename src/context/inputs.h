/* SPDX-License-Identifier: MIT
 * What a validity bitmap and a second input make of an operator. An element that is left out is
 * ABSENT where it stands: no place in the tree moves. The kernels know nothing of it. They get
 * prepared elements of a type and of an operator that give the same bits:
 *
 *   BLANK   the operator has an element that changes nothing, OP_BLANK (-0.0 for a sum): that is
 *           put there. For an exact sum it is -0, and all zeros that are there become +0, so
 *           that they can be told apart and counted
 *   NAN     it is a nan form: a NaN
 *   MARK    its nan form, which leaves out the mark alone (tl_par.marked) and folds all other
 *           NaNs. Integers as f64, where f64 is what the operator calculates in, or has all of
 *           their values
 *   STATES  none of these: states are folded one by one (cpu/absent.h)
 *
 * Two inputs of different types are widened to a common one first: doc/inputs.md. */
#ifndef TALLY_INPUTS_H
#define TALLY_INPUTS_H
#include "context.h"

enum {
    TL_FORM_PLAIN,
    TL_FORM_BLANK,
    TL_FORM_NAN,
    TL_FORM_MARK,
    TL_FORM_STATES,
    TL_FORM_READY /* prepared already */,
    TL_FORM_LATE /* tl_form_late */
};

typedef struct tl_form {
    int kind;
    const tl_scalar *named, *op; /* what was asked for; what runs, on prepared elements */
    tl_par par;
    uint64_t fill; /* a prepared element that is left out */
} tl_form;

/* MARK, for processors that read elements where they are: `op` is the one that was asked for,
 * and what is left out is `fill`, which changes nothing, only after the elements were widened.
 * 0: there is none. */
int tl_form_late(const tl_form *form, tl_form *late);

/* The operator's instance for `in`, and its form. Refuses a second input that is missing, too
   much, or does not fit. */
tally_status tl_form_of(tally *ctx, const char *op, const tally_view *in, tl_form *form);

/* The same in parts: the form of an instance, for elements that may be left out (absent) or not;
 * and does `in` have as many inputs, which fit each other? */
void tl_form_begin(tl_form *form, const tl_scalar *named, tl_par par, int absent);
tally_status tl_form_fits(tally *ctx, const char *op, const tl_scalar *named, const tally_view *in,
                          const char *name);
static inline int tl_has_absent(const tally_view *in)
{
    return in->valid || (in->next && in->next->valid);
}
#endif

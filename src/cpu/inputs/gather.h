/* SPDX-License-Identifier: MIT
 * Elements that are more than a value in memory: those of a view with a validity bitmap, and pairs
 * from two views. Such a call has its own conversion (tl_convert). From the address of an element
 * it finds the validity bit and the second input, and produces what the kernels read:
 *
 *   x --convert--> prepared type --quiet NaN--> missing ones = `fill` --> kernels' type (widen.h)
 *   y --convert--> prepared type -----------------------------------> beside x
 *
 * This works where kernels read elements in place (tl_gather_direct). Elements with strides, which
 * would be packed before, are first prepared into dense arrays (tl_gather_dense). */
#ifndef TALLY_GATHER_H
#define TALLY_GATHER_H

#include "context/inputs.h"
#include "exact/exact.h"
#include "operator/plan.h"

typedef struct tl_source {
    const char *data; /* element 0 */
    int64_t bytes;    /* bytes of an element */
    const tl_convert *in;
    const unsigned char *valid;
    int64_t offset; /* the bit number of element 0 */
} tl_source;

typedef struct tl_gather {
    tl_convert convert; /* must be first */
    tl_source of[2];
    /* Counts: zeros: every element present becomes 0; joined: the two inputs become one. */
    int zeros, joined;
    int inputs;
    const tl_mask *mask;
    tally_dtype dtype; /* the prepared type */
    int64_t bytes;
    uint64_t fill;
    int quiet;
    int late;   /* missing elements are filled after widening */
    int unsign; /* -0 becomes +0, because `fill` is -0 */
    int whole;  /* elements may be missing and have no blank (tl_exact_form.absent) */

    /* op.scalar: of the plan, for elements as they are in memory. The rest is for exact sums. */
    tl_exact_form op;
} tl_gather;

/* Do the CPU kernels read each element of `in` in place? out: NULL, or the results of a scan. */
int tl_gather_reads(const tally_view *in, const tally_view *out, int reverse);

/* Makes *plan, a plan for the elements of `form`, read the elements of `in`. g must live as long as
 * the plan. */
void tl_gather_direct(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan);

/* Makes *plan, of operator count on f32, count the elements that a plan of `form` folds
 * (min_count). */
void tl_gather_count(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan);

/* Dense copies: the prepared elements of every sequence, one sequence after the other, reversed if
 * `reverse`. tl_gather_numbers: what operator count on f32 reads. The caller frees the memory. */
typedef struct tl_gathered {
    tally_view view, second; /* second: of the second input; view.next is NULL */
    void *memory;
} tl_gathered;

tally_status tl_gather_dense(tally *ctx, const tl_form *form, const tally_view *in,
                             const tl_plan *plan, int reverse, tl_gathered *dense);
tally_status tl_gather_numbers(tally *ctx, const tl_form *form, const tally_view *in,
                               const tl_plan *plan, int reverse, tl_gathered *dense);

/* The same as tl_gather_count for a plan that reads `dense`; `counts` has its counts. */
void tl_gather_counted(tl_gather *g, const tl_gathered *dense, const tl_gathered *counts,
                       tl_plan *plan);

#endif

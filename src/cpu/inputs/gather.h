/* SPDX-License-Identifier: MIT
 * Elements that are more than a value in memory: those of a view with a validity bitmap, and
 * pairs from two views. A call gets a conversion of its own (tl_convert), which finds from the
 * place of an element in its view what belongs to it, and makes what the kernels take:
 *
 *   x --to the prepared type--> NaNs made quiet --> those that are left out get `fill` --> the kernels' type (widen.h)
 *   y --to the prepared type-->                                                            beside it
 *
 * This holds where kernels read elements from their view (tl_gather_direct). Elements with
 * strides, which would be packed before, are prepared into dense arrays first (tl_gather_dense). */
#ifndef TALLY_GATHER_H
#define TALLY_GATHER_H
#include "context/inputs.h"
#include "exact/exact.h"
#include "operator/plan.h"

typedef struct tl_source {
    const char *data; /* element number 0 */
    int64_t bytes;    /* of an element */
    const tl_convert *in;
    const unsigned char *valid;
    int64_t offset; /* the bit of element 0 */
} tl_source;

typedef struct tl_gather {
    tl_convert convert; /* first: the kernels' loops have its address only */
    tl_source of[2];
    /* For counts: all elements that are there are 0; the two inputs become one. */
    int zeros, joined;
    int inputs;
    const tl_mask *mask;
    tally_dtype dtype; /* the prepared type */
    int64_t bytes;
    uint64_t fill;
    int quiet;
    int late;   /* elements are left out after they were widened */
    int unsign; /* zeros become +0: -0 is `fill` */
    /* op.scalar: the plan's, for elements as they are in memory; the rest is for exact sums */
    tl_exact_form op;
} tl_gather;

/* Do the loops of the processors read each element of `in` where it is? `out`: NULL, or a scan's
   results. */
int tl_gather_reads(const tally_view *in, const tally_view *out, int reverse);

/* *plan, which is for `form`'s elements, takes those of `in`. g must live as long as the plan. */
void tl_gather_direct(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan);
/* *plan, of the operator count on f32, counts the elements that a plan of `form` folds
   (min_count). */
void tl_gather_count(tl_gather *g, const tl_form *form, const tally_view *in, tl_plan *plan);

/* Dense copies: the prepared elements of every sequence, one after the other, each backwards if
 * `reverse`; `counts`: what an operator count on f32 takes of them. The caller frees the memory. */
typedef struct tl_gathered {
    tally_view view, second; /* second: of the other input; view.next is NULL */
    void *memory;
} tl_gathered;
tally_status tl_gather_dense(tally *ctx, const tl_form *form, const tally_view *in,
                             const tl_plan *plan, int reverse, int counts, tl_gathered *made);
/* As tl_gather_count, where the plan takes what was `made`, and `counts` are its counts. */
void tl_gather_counted(tl_gather *g, const tl_gathered *made, const tl_gathered *counts,
                       tl_plan *plan);
#endif

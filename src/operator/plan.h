/* SPDX-License-Identifier: MIT
 * An operator resolved for a dtype and an instruction set: what every shape runs on. Static
 * tables and one number; a plan owns nothing and may be copied. */
#ifndef TALLY_PLAN_H
#define TALLY_PLAN_H
#include "kernel.h"

/* How elements of one or two bytes become keys where they are not widened (cpu/narrow/narrow.h).
 * The law's state of an element is its key with the bits of `flip` changed. */
typedef struct tl_keying {
    uint16_t flip;
    uint16_t inf;          /* halves: the bits of infinity, */
    uint16_t nan, missing; /* the key of a NaN, and the result that is one */
} tl_keying;

typedef struct tl_plan {
    const tl_scalar *op; /* the operator: facts, scalar functions */
    /* its states: nodes, fold, scan_tile, ... (of op->core, on the type op->wide) */
    const tl_kernel *core;
    const tl_kernel *lower; /* its results: lower_row */
    /* nodes and fold: for the elements as they are, or those of core */
    const tl_kernel *fold;
    const tl_convert *fold_in;     /* elements for fold, and */
    const tl_convert *in;          /* for core; NULL: they are the same */
    const tl_convert *out;         /* results of lower; NULL: they are the same */
    const tl_transpose *transpose; /* of the same instruction set */
    const tl_mask *mask;           /* of the same, and */
    const tl_convert *converts;    /* all of its conversions (convert.def) */
    tl_par par;
    const struct tl_narrow *narrow; /* an express road for elements of one or two bytes, or NULL; */
    tl_keying keys;                 /* its keys */
    const struct tl_exact_kernel
        *exact; /* an exact sum: of all this, only op, in and par are there (cpu/exact/exact.h) */
} tl_plan;
#endif

/* SPDX-License-Identifier: MIT
 * A plan is an operator resolved for an element type and an instruction set. Every shape runs on a
 * plan. It points to static tables and owns nothing, so it may be copied. */
#pragma once

#include "kernel.h"

/* How elements of one or two bytes become keys where they are not widened (cpu/narrow/narrow.h).
 * The key of an element is its state with the bits of `flip` inverted. */
typedef struct tl_keying {
    uint16_t flip;
    uint16_t inf;          /* halves: the bits of infinity */
    uint16_t nan, missing; /* the key of a NaN, and the bits of a NaN result */
} tl_keying;

typedef struct tl_plan {
    const tl_scalar *op; /* facts and scalar functions */
    /* kernels on states (nodes, fold, scan_tile, ...): of op->core on the type op->wide */
    const tl_kernel *core;
    const tl_kernel *lower; /* kernels that lower states to results (lower_rows, ...) */

    /* `nodes` and `fold`: kernels for the elements themselves where they exist, else those of
     * core */
    const tl_kernel *fold;
    const tl_convert *fold_in;     /* from elements to those that `fold` reads; NULL: the same */
    const tl_convert *in;          /* from elements to those that core reads; NULL: the same */
    const tl_convert *out;         /* from results of `lower` to the caller's; NULL: the same */
    const tl_transpose *transpose; /* of the same instruction set */
    const tl_mask *mask;           /* of the same instruction set */
    const tl_convert *converts;    /* all conversions of the instruction set (convert.def) */
    tl_par par;
    const struct tl_narrow *narrow; /* fast path for elements of one or two bytes, or NULL */
    tl_keying keys;                 /* the keys of that path */

    /* An exact sum, or NULL. Only op, in and par of the plan are set then (cpu/exact/exact.h). */
    const struct tl_exact_kernel *exact;
} tl_plan;

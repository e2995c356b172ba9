/* SPDX-License-Identifier: MIT
 * Executes the law (doc/order.md). The tests compare every result with this code by memcmp. Slow
 * and single-threaded. Runs in the caller's floating-point environment; the law needs that of
 * fp.h. */
#pragma once

#include "operator/kernel.h"

/* A sequence and its operator: n elements at x, `stride` elements apart. */
typedef struct {
    const tl_scalar *op;
    tl_par p;
    const void *x;
    int64_t stride, n;
} tl_spec_sequence;

/* out = lower(S(n)). init: NULL, or one value of the result's type. */
void tl_spec_reduce(tl_spec_sequence q, const void *init, void *out);

/* Writes n dense results. */
void tl_spec_scan(tl_spec_sequence q, const tally_scan_options *options, void *out);

/* Writes tally_window_length(n, options) dense results. */
void tl_spec_window(tl_spec_sequence q, const tally_window_options *options, void *out);

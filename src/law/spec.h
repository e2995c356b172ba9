/* SPDX-License-Identifier: MIT
 * Executes the law (doc/order.md). The tests compare every result with this code by memcmp. x: n
 * elements, `stride` elements apart. Slow and single-threaded. Runs in the caller's floating-point
 * environment; the law needs that of fp.h. */
#pragma once

#include "operator/kernel.h"

/* out = lower(S(n)). init: NULL, or one value of the result's type. */
void tl_spec_reduce(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                    const void *init, void *out);

/* Writes n dense results. */
void tl_spec_scan(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                  const tally_scan_options *options, void *out);

/* Writes tally_window_length(n, options) dense results. */
void tl_spec_window(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                    const tally_window_options *options, void *out);

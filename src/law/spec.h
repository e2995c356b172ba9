/* SPDX-License-Identifier: MIT
 * The law executed (doc/order.md): the truth that every result is compared with by memcmp. x: n
 * elements, `stride` elements apart. Slow, single-threaded, in any floating-point environment
 * the caller set (the law's: fp.h). */
#ifndef TALLY_SPEC_H
#define TALLY_SPEC_H
#include "operator/kernel.h"

/* out = lower(S(n)); init: NULL or one result-typed value. */
void tl_spec_reduce(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                    const void *init, void *out);
/* n results, dense. */
void tl_spec_scan(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                  const tally_scan_options *options, void *out);
/* tally_window_length(n, options) results, dense. */
void tl_spec_window(const tl_scalar *op, tl_par p, const void *x, int64_t stride, int64_t n,
                    const tally_window_options *options, void *out);
#endif

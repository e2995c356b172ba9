/* SPDX-License-Identifier: MIT
 * The three verbs on views with a validity bitmap, or with a second input. The processors run them, on every device. */
#ifndef TALLY_API_INPUTS_H
#define TALLY_API_INPUTS_H
#include "context/context.h"

static inline int tl_has_inputs(const tally_view *in) { return in && (in->valid || in->next); }

tally_status tl_inputs_reduce(tally *ctx, const char *op, const tally_view *in, void *out);
tally_status tl_inputs_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                            const tally_scan_options *options);
tally_status tl_inputs_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                              const tally_window_options *options);

/* An input view, checked; *to is it with its bits and no next. */
tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *to);
/* The bits of a view that is checked but for them: none is before the first. */
tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name);

/* The verbs where out->valid is given (validity.c). */
tally_status tl_valid_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                           const tally_scan_options *options);
tally_status tl_valid_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                             const tally_window_options *options);
#endif

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

/* Bits of results (validity.c), for a scan or a window whose out->valid is given. begin finds and checks them before
 * the verb, which may write over its input; end writes them if the verb's status is good, and frees *v, also after a
 * begin that failed. */
typedef struct tl_validity tl_validity;
tally_status tl_validity_begin(tally *ctx, const char *op, const tally_view *in, const tally_view *out, int window,
                               const void *options, tl_validity **v);
void tl_validity_end(tl_validity *v, tally_status status);
#endif

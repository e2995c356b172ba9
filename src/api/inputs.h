/* SPDX-License-Identifier: MIT
 * The three verbs on views with a validity bitmap, or with a second input: a device that has a
 * road runs them, else the processors. */
#ifndef TALLY_API_INPUTS_H
#define TALLY_API_INPUTS_H
#include "checks.h"
#include "context/inputs.h"
#include "cpu/exact/exact.h"
#include "cpu/inputs/feed.h"
#include "cpu/keys/ranges.h"

static inline int tl_has_inputs(const tally_view *in) { return in && (in->valid || in->next); }

tally_status tl_inputs_reduce(tally *ctx, const char *op, const tally_view *in, void *out);
tally_status tl_inputs_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                            const tally_scan_options *options);
tally_status tl_inputs_window(tally *ctx, const char *op, const tally_view *in,
                              const tally_view *out, const tally_window_options *options);
/* The same by a plan of processors instead of a name. */
tally_status tl_inputs_window_of(tally *ctx, const tl_plan *plan, const tally_view *in,
                                 const tally_view *out, const tally_window_options *options);
/* tally_window_ranges: one sequence; good ranges, and a good and normal view of their results. */
tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in,
                              const tl_ranges *ranges, const tally_view *out);

/* Adds all elements of a view, or all pairs, to an exact sum. Of f64 pairs there is none. */
tally_status tl_inputs_exact(tally *ctx, const tally_view *x, tl_exact *sum);
/* The same of checked and normal views of host memory, for the operator of the plan. */
tally_status tl_inputs_exact_of(tally *ctx, const tl_plan *plan, const tally_view *x,
                                tl_exact *sum);
/* ... one sequence, each result into out. */
tally_status tl_inputs_exact_scan(tally *ctx, const tl_plan *plan, const tally_view *x,
                                  const tally_view *out, int exclusive, tl_exact *sum);

/* ---- views (inputs_views.c) ---- */

/* The type of the elements that an operator gets of a view: the common one, if there are two
   (and these are types). */
tally_dtype tl_inputs_dtype(const tally_view *in);
/* How a stream or a fragment of this plan takes a view whose elements may be left out, or not
   (tl_feed_begin). */
tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states,
                          tl_feed *feed);
/* The view that a call takes, `name`, and its next, if there is one, with offsets on the host:
 * checked, and copied to *in and *next. */
tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next);
/* One of these, but for whose memory it is. */
tally_status tl_input_check(tally *ctx, const tally_view *given, const char *name);
/* What of them is the device's memory becomes a copy on the host, for the call `what`. */
tally_status tl_inputs_bring(tally *ctx, tl_host_copies *copies, tally_view *in, tally_view *next,
                             const char *name, const char *what);
/* Results, of `bytes` bytes, must not overlap the second input or a bitmap; in place is for `in`
   alone. */
tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out,
                             int64_t bytes);
/* tl_view_normal; and of a sequence of one element no stride matters: it is as dense as can be. */
void tl_inputs_normal(tally_view *v);
/* The bits of a view that is checked but for them: none is before the first. */
tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name);

/* ---- validity of results (validity.c) ---- */

/* Bits of results, for a scan or a window whose out->valid is given. begin finds and checks them
 * before the verb, which may write over its input; end writes them if the verb's status is good,
 * and frees *v, also after a begin that failed. */
typedef struct tl_validity tl_validity;
tally_status tl_validity_begin(tally *ctx, const char *op, const tally_view *in,
                               const tally_view *out, int window, const void *options,
                               tl_validity **v);
tally_status tl_validity_end(tl_validity *v, tally_status status);
#endif

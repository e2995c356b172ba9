/* SPDX-License-Identifier: MIT
 * What the verbs check of options and results. */
#ifndef TALLY_API_CHECKS_H
#define TALLY_API_CHECKS_H
#include "context/context.h"

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *options);
tally_status tl_check_window(tally *ctx, const tally_window_options *options);
/* A step and edges that change the lengths of segments. */
tally_status tl_check_step(tally *ctx, const tally_view *in, const tally_window_options *options);
/* Can a device, or a stream, take these windows? Not those of negative offsets or of a step (cpu/keys/ranges.h). */
int tl_window_streams(const tally_window_options *options);
/* out against in, whose sequences give `length` results each; op says of which type. */
tally_status tl_check_output(tally *ctx, const tl_scalar *op, const tally_view *in, const tally_view *out,
                             int64_t length, int in_place);
#endif

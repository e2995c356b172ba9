/* SPDX-License-Identifier: MIT
 * The shapes on the CPU: views cut into dense pieces, pieces given to threads, results put
 * together by the law. Views come checked (view.h); plans come resolved. Errors: TALLY_NO_MEMORY
 * only. */
#ifndef TALLY_SHAPE_H
#define TALLY_SHAPE_H
#include "context/context.h"
#include "law/scan.h"
#include "operator/plan.h"

/* Less work than this is not worth waking a second thread (to wake it takes microseconds). */
enum { TL_PARALLEL_BYTES = 256 * 1024 };

/* Slots of scratch.h: three of many sequences at once (lanes.h), and what one sequence at a time
   is staged in. */
enum { TL_ROOM, TL_BATCH, TL_STAGE, TL_SINGLE };

/* Appends n dense elements (indices c->end and up) to a counter, on up to `threads` threads. */
void tl_push_slab(const tl_plan *plan, int threads, const void *x, int64_t n, tl_counter *c);

tally_status tl_reduce_view(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                            void *out);

/* Writes n dense results for the next n dense elements. out may be x. */
tally_status tl_scan_push(tally *ctx, tl_scan *s, int threads, const void *x, int64_t n, void *out);

tally_status tl_scan_view(tally *ctx, const tl_plan *plan, int threads, const tally_view *in,
                          const tally_view *out, const tally_scan_options *options);
/* count: the plan of operator count on the same dtype (for min_count of operators that skip
   NaN). */
tally_status tl_window_view(tally *ctx, const tl_plan *plan, const tl_plan *count, int threads,
                            const tally_view *in, const tally_view *out,
                            const tally_window_options *options);
#endif

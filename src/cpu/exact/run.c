/* SPDX-License-Identifier: MIT
 * Which shape of exact sums runs a call. */
#include "exact.h"

tally_status tl_exact_run(tally *ctx, int threads, const tl_call *call)
{
    static const tl_shape *const shapes[] = {[TL_REDUCE] = &tl_exact_reduce_shape,
                                             [TL_SCAN] = &tl_exact_scan_shape,
                                             [TL_WINDOW] = &tl_exact_window_shape};
    return tl_run_shape(ctx, threads, call, shapes[call->verb]);
}

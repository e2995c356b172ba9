/* SPDX-License-Identifier: MIT
 * Runs calls, for the verbs. Their options are checked. */
#ifndef TALLY_API_RUN_H
#define TALLY_API_RUN_H

#include "context/call.h"
#include "context/context.h"

/* Runs a call on checked and normal views. */
tally_status tl_run_checked(tally *ctx, const tl_call *call);

/* Tries a call whose views are not checked: their offsets may be in device memory. Sets *done if the
 * device computed it; else nothing is written. */
tally_status tl_run_unchecked(tally *ctx, const tl_call *call, int *done);

/* Runs a call on the processors; all arrays are in host memory. call->plan is for processors. */
tally_status tl_run_host(tally *ctx, const tl_call *call);

#endif

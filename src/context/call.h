/* SPDX-License-Identifier: MIT
 * A call of a verb, as the API hands it to a device: the plan, the views, the options. */
#ifndef TALLY_CALL_H
#define TALLY_CALL_H
#include "operator/plan.h"
#include "tally.h"

typedef enum tl_verb { TL_REDUCE, TL_SCAN, TL_WINDOW } tl_verb;

typedef struct tl_call {
    tl_verb verb;
    const tl_plan *plan;
    const tl_plan *count;               /* for TL_WINDOW: the plan of operator count, or NULL */
    const tally_view *in;               /* checked */
    const tally_view *out;              /* checked; of a reduction: rows of one result */
    const tally_scan_options *scan;     /* for TL_SCAN; NULL: the defaults */
    const tally_window_options *window; /* for TL_WINDOW */
} tl_call;
#endif

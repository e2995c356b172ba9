/* SPDX-License-Identifier: MIT
 * A call of a verb, as the API hands it to a device: the plan, the views, the options. */
#ifndef TALLY_CALL_H
#define TALLY_CALL_H

#include "operator/plan.h"
#include "tally.h"

struct tl_form; /* inputs.h */

typedef enum tl_verb {
    TL_REDUCE,
    TL_SCAN,
    TL_WINDOW,

    /* The start-up probe (api/probe.c): S(1) .. S(n) of one dense sequence on the host, n a power
     * of two, computed from the operator's text alone, by kernels without tiles. */
    TL_LAW,
    TL_RUNS, /* runs of equal keys: tally_runs */
    TL_TAKE, /* elements in a given order: tally_take of n > 0 elements */
    TL_VERBS
} tl_verb;

/* The integers of TL_RUNS and TL_TAKE. */
typedef struct tl_positions {
    int64_t *offsets;     /* TL_RUNS: NULL; or the result, where each run begins, and the end */
    int64_t runs;         /* TL_RUNS: the result, the number of runs */
    const int64_t *order; /* TL_TAKE: positions in `in`, one for each element of `out` */
    /* TL_TAKE: the first place in `order` with a position outside `in`, and that position. Then
     * `out` is not written. bad = out->n: there is no such place. */
    int64_t bad, position;
} tl_positions;

typedef struct tl_call {
    tl_verb verb;
    /* the device's plan; of a call with a form: the processors'; TL_RUNS, TL_TAKE: NULL */
    const tl_plan *plan;

    /* TL_WINDOW: the plan of operator count, or NULL. With a form: the plan that sums bytes (1: the
     * element counts) in 64 bits. */
    const tl_plan *count;
    const tally_view *in;               /* checked */
    const tally_view *out;              /* checked; of a reduction: rows of one result */
    const tally_scan_options *scan;     /* for TL_SCAN; NULL: the defaults */
    const tally_window_options *window; /* for TL_WINDOW */

    /* NULL, or how the operator runs on views with validity bits or with a second input (in->next).
     * Then `in` has at least one element. */
    const struct tl_form *form;

    /* 1: only the options are checked, and in->rows > 0. The views have offsets, which may be in
     * device memory. A device computes the call if they are, and else leaves it to the caller. */
    int unchecked;
    tl_positions *positions; /* for TL_RUNS and TL_TAKE */
} tl_call;

/* True if windows have no negative bound and no step. Only the processors compute the others
 * (cpu/keys/keys.h). */
static inline int tl_window_streams(const tally_window_options *o)
{
    return o->before >= 0 && o->after >= 0 && o->step <= 1;
}

/* True if the call scans from the last element to the first. */
static inline int tl_is_reversed(const tl_call *c)
{
    return c->verb == TL_SCAN && c->scan && c->scan->reverse;
}

/* True if only the processors have kernels for the call: scans and windows of exact sums, windows
 * by ranges, reversed scans of segments (each segment has its own last element). */
static inline int tl_needs_processors(const tl_call *c)
{
    const int each = c->verb == TL_SCAN || c->verb == TL_WINDOW; /* a result for each element */
    return (each && c->plan->exact) || (c->verb == TL_WINDOW && !tl_window_streams(c->window)) ||
           (tl_is_reversed(c) && c->in->offsets);
}

#endif

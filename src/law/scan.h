/* SPDX-License-Identifier: MIT
 * A scan in progress: the counter of the law and what the caller asked for. */
#ifndef TALLY_SCAN_H
#define TALLY_SCAN_H

#include "counter.h"
#include <assert.h>

/* A scan that continues: its position and the state before it. Begins as zeros, with counter and
 * seed set. */
typedef struct tl_scan {
    const tl_plan *plan;
    int exclusive;
    int seeded;

    /* 1: nothing follows this push, so the nodes of its last partial tile are not needed. */
    int ends;
    tl_state init;
    tl_counter done; /* the elements before this position */

    /* NULL, or the nodes of the elements that are pushed next, if they are already folded. */
    const tl_counter *nodes_known;
} tl_scan;

static inline void tl_scan_begin(tl_scan *s, const tl_plan *plan, const tally_scan_options *options)
{
    assert(!(options && options->init) || plan->op->seedable);
    s->plan = plan;
    s->exclusive = options && options->exclusive;
    s->seeded = options && options->init;
    if (s->seeded) plan->op->seed(&s->init, options->init, plan->par);
    s->nodes_known = NULL;
    tl_counter_init(&s->done, 0);
}

#endif

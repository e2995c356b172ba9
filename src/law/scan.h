/* SPDX-License-Identifier: MIT
 * A scan in progress: the counter of the law and what the caller asked for. */
#ifndef TALLY_SCAN_H
#define TALLY_SCAN_H
#include "counter.h"

/* A scan that continues: where it is and what came before. Starts as zeros with counter and seed
   set up. */
typedef struct tl_scan {
    const tl_plan *plan;
    int exclusive;
    int seeded;
    /* nothing follows what is pushed: the nodes of its last part of a tile are not needed */
    int ends;
    tl_state init;
    tl_counter done; /* the elements before this point */
    /* NULL, or the nodes of what is pushed next, where somebody has folded it already */
    const tl_counter *ahead;
} tl_scan;

static inline void tl_scan_begin(tl_scan *s, const tl_plan *plan, const tally_scan_options *options)
{
    s->plan = plan;
    s->exclusive = options && options->exclusive;
    s->seeded = options && options->init;
    if (s->seeded) plan->op->seed(&s->init, options->init, plan->par);
    s->ahead = NULL;
    tl_counter_init(&s->done, 0);
}
#endif

/* SPDX-License-Identifier: MIT
 * Threads that drive devices: one for each but the first, which is the caller's. They are made
 * when they are first needed, and wait between jobs. */
#ifndef TALLY_CREW_H
#define TALLY_CREW_H

typedef struct tl_crew tl_crew;

/* For jobs of up to `count` parts. NULL: no memory. */
tl_crew *tl_crew_new(int count);
/* Ends the threads; NULL is fine. */
void tl_crew_free(tl_crew *c);
/* part(k, data) for each k of 0 .. count - 1, all at the same time where threads can be made,
 * else one after the other. Returns when all are done. In the law's floating-point environment,
 * with all signals blocked. */
void tl_crew_run(tl_crew *c, int count, void (*part)(int k, void *data), void *data);
#endif

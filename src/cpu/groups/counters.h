/* SPDX-License-Identifier: MIT
 * A reduction for each of many groups, whose elements come in any order: a binary counter of each
 * group (law/counter.h) that holds no more nodes than its number of elements has bits. */
#ifndef TALLY_CPU_COUNTERS_H
#define TALLY_CPU_COUNTERS_H
#include "operator/plan.h"

typedef struct tl_counters tl_counters;

/* threads: at most so many of a push work at a time. NULL: no memory. */
tl_counters *tl_counters_open(const tl_plan *plan, int threads);
void tl_counters_close(tl_counters *c);
/* Element i of n goes to group codes[i]; groups are 0 .. groups - 1, as many as before or more.
 * *bad: the place of the first code that is none of these, or -1; then nothing is pushed. 0: no
 * memory, and some elements may be missing. */
int tl_counters_push(tl_counters *c, const void *x, const int32_t *codes, int64_t n, int64_t groups,
                     int64_t *bad);
int64_t tl_counters_groups(const tl_counters *c);
/* A result for each group. */
void tl_counters_results(const tl_counters *c, void *out);
#endif

/* SPDX-License-Identifier: MIT
 * A reduction for each of many groups whose elements arrive in any order. Each group has a binary
 * counter (law/counter.h), with at most one node per bit of its number of elements. */
#ifndef TALLY_CPU_COUNTERS_H
#define TALLY_CPU_COUNTERS_H

#include "operator/plan.h"

typedef struct tl_counters tl_counters;

/* threads: most threads of a push. NULL: out of memory. */
tl_counters *tl_counters_open(const tl_plan *plan, int threads);
void tl_counters_close(tl_counters *c);

/* Element i of n goes to group codes[i]. Groups are 0 .. groups - 1; `groups` never decreases.
 * *bad: the index of the first code outside that range, then nothing is pushed; or -1. Returns 0 if
 * out of memory; then some elements may be missing. */
int tl_counters_push(tl_counters *c, const void *x, const int32_t *codes, int64_t n, int64_t groups,
                     int64_t *bad);
int64_t tl_counters_groups(const tl_counters *c);

/* Writes a result for each group. */
void tl_counters_results(const tl_counters *c, void *out);

#endif

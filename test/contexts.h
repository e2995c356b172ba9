/* SPDX-License-Identifier: MIT
 * Contexts of every instruction set with 1, 2, 3 ... threads: whichever makes a result, it has
 * the same bits. */
#ifndef TALLY_TEST_CONTEXTS_H
#define TALLY_TEST_CONTEXTS_H
#include "check.h"

enum { CONTEXTS = 64 }; /* check_isa has 8 at most */
static tally *contexts[CONTEXTS];
static int context_count;

static inline tally *any(void) { return contexts[check_below(context_count)]; }

/* threads: 8 at most */
static inline void open_contexts(int threads)
{
    for (int i = 0; check_isa(i); i++)
        for (int t = 1; t <= threads; t++) contexts[context_count++] = check_open(t, check_isa(i));
}

static inline void close_contexts(void)
{
    while (context_count) tally_close(contexts[--context_count]);
}
#endif

/* SPDX-License-Identifier: MIT
 * A slab [start, end) of a sequence as its maximal aligned nodes, left to right: the binary counter of the law, and
 * what a fragment is. From start 0 the nodes are the blocks of S(end); from anywhere, pushing neighbours merges
 * siblings only, so the nodes of a slab do not depend on how it was cut. At most 2 log2 n nodes. */
#ifndef TALLY_COUNTER_H
#define TALLY_COUNTER_H
#include "order.h"
#include "operator/plan.h"

enum { TL_MAX_NODES = 2 * TL_MAX_LEVELS };

typedef struct tl_counter {
    int64_t start, end;
    int count;
    unsigned char level[TL_MAX_NODES];
    tl_state node[TL_MAX_NODES];
} tl_counter;

static inline void tl_counter_init(tl_counter *c, int64_t start)
{
    c->start = c->end = start;
    c->count = 0;
}

/* Appends the node of 2^level elements that starts at c->end (which must be a multiple of 2^level). */
static inline void tl_counter_push(tl_counter *c, const tl_scalar *op, int level, const tl_state *s)
{
    tl_state node = *s;
    c->end += (int64_t)1 << level;
    /* The top node is the new one's left sibling if it has its size and their parent ends here. */
    while (c->count && c->level[c->count - 1] == level && !((c->end >> level) & 1)) {
        tl_state left = c->node[--c->count];
        op->combine(&left, &node, (int64_t)1 << level, (int64_t)1 << level);
        node = left;
        level++;
    }
    c->level[c->count] = (unsigned char)level;
    c->node[c->count++] = node;
}

/* *s = S(end) of a counter that started at 0, after init (NULL: none). Returns 0 if that is ABSENT. */
static inline int tl_counter_fold(const tl_counter *c, const tl_scalar *op, const tl_state *init, tl_state *s)
{
    int have = init != NULL;
    int64_t before = 0;
    if (have) *s = *init;
    for (int j = 0; j < c->count; j++) {
        const int64_t size = (int64_t)1 << c->level[j];
        if (have)
            op->combine(s, &c->node[j], before, size);
        else
            *s = c->node[j];
        have = 1;
        before += size;
    }
    return have;
}
#endif

/* SPDX-License-Identifier: MIT
 * A slab [start, end) of a sequence as its maximal aligned nodes, left to right: the binary counter
 * of the law, and the content of a fragment. From start 0 the nodes are the blocks of S(end).
 * Pushing neighbours merges siblings only, so the nodes of a slab do not depend on how it was cut.
 * There are at most 2 log2 n nodes.
 *
 * If elements may be missing, a counter is `counted`: each state is followed by the number of
 * elements that it has folded, an i64. A node without elements is ABSENT, and all of its bytes are
 * zero. An operator needs no such numbers if its state says that it is empty (nan forms), or if it
 * has a neutral state (sum). */
#pragma once

#include "order.h"
#include "operator/kernel.h"
#include <assert.h>
#include <string.h>

enum { TL_MAX_NODES = 2 * TL_MAX_LEVELS };

typedef struct {
    int64_t start, end;
    int count, counted;
    unsigned char level[TL_MAX_NODES];
    tl_state node[TL_MAX_NODES];
} tl_counter;

/* The number of elements that a counted state has folded. */
static inline int64_t tl_kept(const tl_scalar *op, const tl_state *s)
{
    int64_t n;
    memcpy(&n, s->bytes + op->state_bytes, sizeof n);
    return n;
}

static inline void tl_set_kept(const tl_scalar *op, tl_state *s, int64_t n)
{
    assert(n >= 0);
    if (n)
        memcpy(s->bytes + op->state_bytes, &n, sizeof n);
    else
        memset(s, 0, sizeof *s);
}

/* a = C(a, b) of counted states. */
static inline void tl_join_counted(const tl_scalar *op, tl_state *a, const tl_state *b)
{
    assert(a != b);
    const int64_t na = tl_kept(op, a), nb = tl_kept(op, b);
    if (!nb) return;
    if (!na) {
        *a = *b;
        return;
    }
    op->combine(a, b, na, nb);
    tl_set_kept(op, a, na + nb);
}

static inline void tl_counter_init(tl_counter *c, int64_t start)
{
    assert(start >= 0);
    c->start = c->end = start;
    c->count = c->counted = 0;
}

/* Appends the node of 2^level elements that starts at c->end, which is at c->node[c->count]. */
static inline void tl_counter_add(tl_counter *c, const tl_scalar *op, int level)
{
    assert(level >= 0 && level < TL_MAX_LEVELS - 1);
    assert((c->end & (((int64_t)1 << level) - 1)) == 0);
    assert(c->count >= 0 && c->count < TL_MAX_NODES);
    c->end += (int64_t)1 << level;

    /* The top node is the new one's left sibling if it has its size and their parent ends here. */
    while (c->count && c->level[c->count - 1] == level && !((c->end >> level) & 1)) {
        tl_state *const left = &c->node[--c->count];
        if (c->counted)
            tl_join_counted(op, left, left + 1);
        else
            op->combine(left, left + 1, (int64_t)1 << level, (int64_t)1 << level);
        level++;
    }

    c->level[c->count++] = (unsigned char)level;
}

/* Appends the node *s. */
static inline void tl_counter_push(tl_counter *c, const tl_scalar *op, int level, const tl_state *s)
{
    assert(c->count < TL_MAX_NODES);
    c->node[c->count] = *s;
    tl_counter_add(c, op, level);
}

/* Appends the nodes of m elements, largest first. */
static inline void tl_counter_push_nodes(tl_counter *c, const tl_scalar *op, const tl_state *nodes,
                                         int64_t m)
{
    assert(m >= 0);
    for (; m > 0; nodes++) {
        const int level = tl_top_level(m);
        m -= (int64_t)1 << level;
        tl_counter_push(c, op, level, nodes);
    }
}

/* Appends the nodes of a counter that starts where c ends. Both are counted, or neither is. */
static inline void tl_counter_append(tl_counter *c, const tl_scalar *op, const tl_counter *nodes)
{
    assert(nodes->start == c->end && nodes->count <= TL_MAX_NODES);
    for (int j = 0; j < nodes->count; j++) tl_counter_push(c, op, nodes->level[j], &nodes->node[j]);
}

/* Makes the states counted, if they are not, with all elements present. */
static inline void tl_counter_raise(tl_counter *c, const tl_scalar *op)
{
    for (int j = 0; j < c->count && !c->counted; j++)
        tl_set_kept(op, &c->node[j], (int64_t)1 << c->level[j]);
    c->counted = 1;
}

/* *s = S(end) of a counter that started at 0 (or its node if it has only one), after init (NULL:
 * none). Returns 0 if that is ABSENT. *n: the number of elements folded, for `lower`. */
static inline int tl_counter_total(const tl_counter *c, const tl_scalar *op, const tl_state *init,
                                   tl_state *s, int64_t *n)
{
    assert(c->start == 0 || c->count == 1);
    assert(c->count >= 0 && c->count <= TL_MAX_NODES);
    int has_state = init != NULL;
    *n = 0;
    if (has_state) *s = *init;

    for (int j = 0; j < c->count; j++) {
        const int64_t size = c->counted ? tl_kept(op, &c->node[j]) : (int64_t)1 << c->level[j];
        if (!size) continue;
        if (has_state)
            op->combine(s, &c->node[j], *n, size);
        else
            *s = c->node[j];
        has_state = 1;
        *n += size;
    }

    return has_state;
}

static inline int tl_counter_fold(const tl_counter *c, const tl_scalar *op, const tl_state *init,
                                  tl_state *s)
{
    int64_t n;
    return tl_counter_total(c, op, init, s, &n);
}

/* Writes the result of the elements in c. */
static inline void tl_counter_lower(const tl_counter *c, const tl_plan *plan, void *out)
{
    tl_state s;
    int64_t n;
    if (tl_counter_total(c, plan->op, NULL, &s, &n))
        plan->op->lower(&s, n, 0, plan->par, out);
    else
        plan->op->empty(plan->par, out);
}

/* ---- scans ---- */

/* A scan in progress: the counter of the law and what the caller asked for. */

/* A scan that continues: its position and the state before it. Begins as zeros, with counter and
 * seed set. */
typedef struct {
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

/* ---- slabs (slabs.c) ----
 *
 * The slabs of one sequence that have been added so far, in any order; there may be gaps between
 * them. Slabs that touch are joined, so the result depends on the slabs and not on their order. A
 * slab may have many sequences ("rows") with the same range; then every node has a state for each
 * row. */

/* Like a counter, with space for its own nodes only. Never empty. */
typedef struct tl_slab {
    int64_t start, end, rows;
    int count;
    /* bytes of a state; counted: followed by its number of elements */
    unsigned char bytes, counted;
    unsigned char level[TL_MAX_NODES];
    unsigned char state[]; /* node by node; within a node row by row */
} tl_slab;

static inline unsigned char *tl_slab_state(tl_slab *s, int node, int64_t r)
{
    return s->state + ((int64_t)node * s->rows + r) * s->bytes;
}

/* In order; none begins where another ends. All zeros: no slab. */
typedef struct {
    int64_t count, capacity;
    tl_slab **slab;
} tl_slabs;

/* A slab [start, end) with its levels; states are not set. NULL: out of memory, or the slab would
 * be empty. */
tl_slab *tl_slab_new(int64_t start, int64_t end, int64_t rows, const tl_scalar *op, int counted);

/* Read one row of a slab as a counter, and write it. The counter has the same range. */
void tl_slab_get(const tl_slab *s, int64_t row, tl_counter *c);
void tl_slab_set(tl_slab *s, int64_t row, const tl_counter *c);

/* Finds the first pair that overlaps: indices in a and b. Returns 0 if there is none. */
int tl_slabs_overlap(const tl_slabs *a, const tl_slabs *b, int64_t *in_a, int64_t *in_b);

/* Calls part(job, a, b) for parts a .. b - 1 of all rows, on up to `threads` threads. */
typedef void tl_rows_part(void *job, int64_t a, int64_t b);
typedef void tl_share_rows(int threads, int64_t rows, tl_rows_part *part, void *job);

/* Adds the slabs of b, which none of a overlap, to those of a. 0: out of memory; then a does not
 * change. The slabs of a are all counted or none, and those of b too; if either is counted, a
 * becomes counted. */
int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op, tl_share_rows *share,
                  int threads);
int tl_slabs_counted(const tl_slabs *a);

/* Appends a slab, which must come after all others, and takes ownership of it. Returns 0 if out of
 * memory or if s is NULL; then s is freed. */
int tl_slabs_append(tl_slabs *a, tl_slab *s);
void tl_slabs_free(tl_slabs *a);

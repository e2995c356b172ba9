/* SPDX-License-Identifier: MIT
 * Slabs of one sequence, with gaps between them: what is known of it so far, in whatever order it came. Slabs that meet
 * become one (counter.h), so what is kept depends on what was given and not on the order. */
#ifndef TALLY_SLABS_H
#define TALLY_SLABS_H
#include "counter.h"

/* As a counter, with room for its own nodes only. Never empty. */
typedef struct tl_slab {
    int64_t start, end;
    int count;
    tl_state node[]; /* after them the levels, a byte each */
} tl_slab;
static inline const unsigned char *tl_slab_levels(const tl_slab *s)
{
    return (const unsigned char *)(s->node + s->count);
}

/* In order, and none begins where another ends. All zero: no slab. */
typedef struct tl_slabs {
    int64_t count, room;
    tl_slab **slab;
} tl_slabs;

/* The first pair that overlaps, if there is one: places in a and b. */
int tl_slabs_overlap(const tl_slabs *a, const tl_slabs *b, int64_t *in_a, int64_t *in_b);
/* Adds the slabs of b to those of a, none of which may overlap; b stays as it is. Returns 0 if there is no memory, and
 * then a is as it was. */
int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op);
/* Appends a counter's slab, which must come after all others; an empty one is none. Returns 0: no memory. */
int tl_slabs_append(tl_slabs *a, const tl_counter *c);
/* A slab as a counter. */
void tl_slabs_counter(const tl_slab *s, tl_counter *c);
void tl_slabs_free(tl_slabs *a);
#endif

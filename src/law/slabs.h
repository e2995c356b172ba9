/* SPDX-License-Identifier: MIT
 * The slabs of one sequence that have been added so far, in any order; there may be gaps between
 * them. Slabs that touch are joined (counter.h), so the result depends on the slabs and not on
 * their order. A slab may have many sequences ("rows") with the same range; then every node has a
 * state for each row. */
#ifndef TALLY_SLABS_H
#define TALLY_SLABS_H

#include "counter.h"

/* Like a counter, with space for its own nodes only. Never empty. */
typedef struct tl_slab {
    int64_t start, end, rows;
    int count;
    /* bytes of a state; counted: followed by its number of elements (counter.h) */
    unsigned char bytes, counted;
    unsigned char level[TL_MAX_NODES];
    unsigned char state[]; /* node by node; within a node row by row */
} tl_slab;

static inline unsigned char *tl_slab_state(tl_slab *s, int node, int64_t row)
{
    return s->state + ((int64_t)node * s->rows + row) * s->bytes;
}

/* In order; none begins where another ends. All zeros: no slab. */
typedef struct tl_slabs {
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

/* Adds the slabs of b to those of a. Requires: none overlap. b does not change. Returns 0 if out of
 * memory; then a does not change. The slabs of a are all counted or none, and those of b too; if
 * either is counted, a becomes counted. */
int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op, tl_share_rows *share,
                  int threads);
int tl_slabs_counted(const tl_slabs *a);

/* Appends a slab, which must come after all others, and takes ownership of it. Returns 0 if out of
 * memory or if s is NULL; then s is freed. */
int tl_slabs_append(tl_slabs *a, tl_slab *s);
void tl_slabs_free(tl_slabs *a);

#endif

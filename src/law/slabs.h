/* SPDX-License-Identifier: MIT
 * Slabs of one sequence, with gaps between them: what is known of it so far, in whatever order
 * it came. Slabs that meet become one (counter.h), so what is kept depends on what was given and
 * not on the order. The same of many sequences ("rows") that have the same slabs: every node is
 * then a state of each. */
#ifndef TALLY_SLABS_H
#define TALLY_SLABS_H
#include "counter.h"

/* As a counter, with room for its own nodes only. Never empty. */
typedef struct tl_slab {
    int64_t start, end, rows;
    int count;
    unsigned char bytes, counted; /* of a state; counted: with its number (counter.h) */
    unsigned char level[TL_MAX_NODES];
    unsigned char state[]; /* node by node, and in a node row by row */
} tl_slab;
static inline unsigned char *tl_slab_state(tl_slab *s, int node, int64_t row)
{
    return s->state + ((int64_t)node * s->rows + row) * s->bytes;
}

/* In order, and none begins where another ends. All zero: no slab. */
typedef struct tl_slabs {
    int64_t count, room;
    tl_slab **slab;
} tl_slabs;

/* A slab [start, end) with its levels; its states are not set. NULL: no memory, or no element. */
tl_slab *tl_slab_new(int64_t start, int64_t end, int64_t rows, const tl_scalar *op, int counted);
/* A row of a slab as a counter, and back: of the same range. */
void tl_slab_get(const tl_slab *s, int64_t row, tl_counter *c);
void tl_slab_set(tl_slab *s, int64_t row, const tl_counter *c);

/* The first pair that overlaps, if there is one: places in a and b. */
int tl_slabs_overlap(const tl_slabs *a, const tl_slabs *b, int64_t *in_a, int64_t *in_b);
/* Calls part(job, a, b) for parts a .. b - 1 of all rows, on up to `threads` threads. */
typedef void tl_rows_part(void *job, int64_t a, int64_t b);
typedef void tl_share_rows(int threads, int64_t rows, tl_rows_part *part, void *job);

/* Adds the slabs of b to those of a, none of which may overlap; b stays as it is. Returns 0 if
 * there is no memory, and then a is as it was. All slabs of a are counted, or none; so are those
 * of b; if one is, a becomes it. */
int tl_slabs_join(tl_slabs *a, const tl_slabs *b, const tl_scalar *op, tl_share_rows *share,
                  int threads);
int tl_slabs_counted(const tl_slabs *a);
/* Appends a slab, which must come after all others; it becomes a's. Returns 0: no memory, or s
 * is NULL, and s is freed.
 */
int tl_slabs_append(tl_slabs *a, tl_slab *s);
void tl_slabs_free(tl_slabs *a);
#endif

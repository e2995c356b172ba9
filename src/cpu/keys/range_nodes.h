/* SPDX-License-Identifier: MIT
 * The nodes of one thread's ranges: what has been read, the ring buffers of each level, and
 * buffers for a batch of results (cpu/kernel/ranges_kernel.h has the method). */
#ifndef TALLY_RANGE_NODES_H
#define TALLY_RANGE_NODES_H
#include "operator/plan.h"

enum {
    TL_RANGE_BATCH = 1024, /* results of a batch */
    /* ranges of 2^29 elements and more are folded directly: places and counts have 32 bits */
    TL_RANGE_LEVELS = 29,
    TL_RANGE_PLACES = 1 << 30 /* places that are numbered from one base */
};

typedef struct tl_range_nodes {
    char *memory; /* NULL: there is none, or not yet */
    char *wide, *soa, *result, *out, *nodes;
    tl_range_ring rings[TL_RANGE_LEVELS];
    int levels, failed;
    int64_t soa_bytes;
    /* Nodes are of elements from .. head - 1 of the sequence; from == head: of none. Place 0 is
       element `base`. */
    int64_t base, from, head;
    /* of a batch: places, lengths, numbers of results */
    int32_t place[TL_RANGE_BATCH], length[TL_RANGE_BATCH];
    int64_t number[TL_RANGE_BATCH];
} tl_range_nodes;

/* Makes rings for ranges below 2^levels elements. 0: no memory, and ranges are folded directly. */
int tl_range_nodes_open(tl_range_nodes *s, const tl_plan *plan, int levels);
void tl_range_nodes_close(tl_range_nodes *s);

/* How many elements would be read before ranges that lie in low .. high - 1 can be folded. */
int64_t tl_range_nodes_cost(const tl_range_nodes *s, int64_t low, int64_t high);

/* States of `count` ranges: number r is length[r] elements from element place[r] + low on, and
 * they end in the tile of element high - 1. x: the sequence, n elements. Places become those of
 * the nodes; states are at s->soa, and as many as make `count` a multiple of TL_ABREAST. */
void tl_range_nodes_fold(tl_range_nodes *s, const tl_plan *plan, const char *x, int64_t low,
                         int64_t high, int64_t count);
#endif

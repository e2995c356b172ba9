/* SPDX-License-Identifier: MIT
 * A fragment: partial reductions of one sequence or many (law/slabs.h), and their operator. */
#ifndef TALLY_FRAGMENT_H
#define TALLY_FRAGMENT_H

#include "context/device.h"
#include "exact/exact.h"
#include "law/slabs.h"

/* characters of an operator with its parameter, and the terminating 0 */
enum { TL_FRAGMENT_NAME = 40 };

struct tally_fragment {
    tally *ctx;
    tl_plan plan;
    char op[TL_FRAGMENT_NAME];
    tally_dtype dtype;
    int64_t start, rows; /* start: where a fragment without elements begins; rows: sequences */
    tl_slabs slabs;

    /* Exact statistics: a state of each row. Then the slabs have the ranges, and nothing else. */
    tl_exact *exact;
    int64_t sums; /* of all rows */
};

/* The operator of the nodes of f. */
const tl_scalar *tl_fragment_nodes(const tally_fragment *f);

/* Makes a fragment without elements. */
tally_status tl_fragment_new(tally *ctx, const char *op, tally_dtype dtype, int64_t start,
                             int64_t rows, tally_fragment **fragment);

/* Checks that f has all elements from 0 to its end. */
tally_status tl_fragment_whole(tally *ctx, const tally_fragment *f);

/* Row number `row` of such a fragment, as a counter from 0 on. */
void tl_fragment_row(const tally_fragment *f, int64_t row, tl_counter *c);

/* Writes the result of each row of slabs without gaps from 0 on. */
void tl_slabs_lower(const tl_slabs *slabs, const tl_plan *plan, int threads, int64_t rows,
                    void *out);

/* For tl_slabs_join. */
tl_share_rows tl_share_slabs;

#endif

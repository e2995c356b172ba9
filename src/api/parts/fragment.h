/* SPDX-License-Identifier: MIT
 * A fragment: what is known of a sequence, or of many (law/slabs.h), and the operator that it
 * belongs to. */
#ifndef TALLY_FRAGMENT_H
#define TALLY_FRAGMENT_H
#include "context/device.h"
#include "law/slabs.h"

enum { TL_FRAGMENT_NAME = 40 }; /* characters of an operator with its parameter, and a zero */

struct tally_fragment {
    tally *ctx;
    tl_plan plan;
    char op[TL_FRAGMENT_NAME];
    tally_dtype dtype;
    int64_t start, rows; /* start: of one without an element; rows: sequences */
    tl_slabs slabs;
};

/* A fragment without an element. */
tally_status tl_fragment_new(tally *ctx, const char *op, tally_dtype dtype, int64_t start,
                             int64_t rows, tally_fragment **fragment);
/* Has f all from 0 on? A failure if something is missing. */
tally_status tl_fragment_whole(tally *ctx, const tally_fragment *f);
/* A row of such a fragment, as a counter from 0 on. */
void tl_fragment_row(const tally_fragment *f, int64_t row, tl_counter *c);
/* A result of each row, of slabs without gaps from 0 on. */
void tl_slabs_lower(const tl_slabs *slabs, const tl_plan *plan, int threads, int64_t rows,
                    void *out);
/* For tl_slabs_join. */
tl_share_rows tl_share_slabs;
#endif

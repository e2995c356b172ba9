/* SPDX-License-Identifier: MIT
 * sum:checked: sums of integers that 64 bits must hold. The operator is `sum`; before a call its
 * results are computed in 128 bits, so nothing is written where one does not fit. */
#ifndef TALLY_CHECKED_H
#define TALLY_CHECKED_H

#include "context/call.h"
#include "context/context.h"
#include "cpu/keys/ranges.h"

/* Is the operator NAME:checked? */
int tl_is_checked(const char *op);

/* Refuses it for `what`, which cannot check sums. */
tally_status tl_refuse_checked(tally *ctx, const char *op, const char *what);

/* Checks a call of `op`, which may be any operator, on views that may be wrong (then it does
 * nothing) and in memory of any kind. call: verb, in, scan, window. ranges: NULL, or those of one
 * sequence. A result that does not fit is TALLY_BAD_DATA; the sentence names its place. */
tally_status tl_check_sums(tally *ctx, const char *op, const tl_call *call,
                           const tl_ranges *ranges);

/* What a stream has added. */
typedef struct tl_checked {
    __int128 total;
    int64_t elements;
} tl_checked;

/* Adds a checked view of one sequence. scans: every running sum must fit. */
tally_status tl_checked_add(tally *ctx, tl_checked *c, const tally_view *in, int scans);

/* Checks the total. */
tally_status tl_checked_end(tally *ctx, const tl_checked *c, tally_dtype dtype);

#endif

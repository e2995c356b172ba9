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

/* Streams and fragments keep the total of each sequence or group. In a scan every running sum must
 * fit. */
typedef __int128 tl_total;

/* Makes *next, the totals after a checked view of memory of any kind, from those before it. first:
 * the number of the view's first element in a scan, else -1. */
tally_status tl_totals_after(tally *ctx, const tl_total *before, const tally_view *in,
                             int64_t first, tl_total **next);

/* Adds n dense elements in host memory to the totals of their groups. */
void tl_totals_of_groups(tl_total *totals, tally_dtype dtype, const void *x, const int32_t *codes,
                         int64_t n);

/* Checks totals of type `dtype`. of: what each belongs to, "sequence"; NULL: there is one. */
tally_status tl_totals_fit(tally *ctx, const tl_total *totals, int64_t count, tally_dtype dtype,
                           const char *of);

#endif

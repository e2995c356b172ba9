/* SPDX-License-Identifier: MIT
 * sum:checked: sums of integers that 64 bits must hold. The operator is `sum`; before a call its
 * results are computed in 128 bits, so nothing is written where one does not fit. */
#ifndef TALLY_CHECKED_H
#define TALLY_CHECKED_H

#include "context/call.h"
#include "context/context.h"
#include "cpu/keys/keys.h"

/* Is the operator NAME:checked? */
int tl_is_checked(const char *op);

/* Checks a call of `op`, which may be any operator, on views that may be wrong (then it does
 * nothing) and in memory of any kind. call: verb, in, scan, window. ranges: NULL, or those of one
 * sequence. A result that does not fit is TALLY_BAD_DATA; the sentence names its place. */
tally_status tl_check_sums(tally *ctx, const char *op, const tl_call *call,
                           const tl_ranges *ranges);

/* Streams and fragments keep the total of each sequence or group. */
typedef __int128 tl_total;

/* A scan: its results are the running totals. first: the number of the next element. */
typedef struct tl_running {
    const tally_view *out;
    int exclusive;
    int64_t first;
} tl_running;

/* Adds a checked view of memory of any kind. running: NULL, or a scan, of which every result must
 * fit; else nothing changes. */
tally_status tl_totals_add(tally *ctx, tl_total *totals, const tally_view *in,
                           const tl_running *running);

/* Adds n dense elements in host memory to the totals of their groups. */
void tl_totals_of_groups(tl_total *totals, tally_dtype dtype, const void *x, const int32_t *codes,
                         int64_t n);

/* Writes totals of type `dtype`, if all of them fit, to host memory. of: what each belongs to, as
 * "sequence". */
tally_status tl_totals_result(tally *ctx, const tl_total *totals, int64_t count, tally_dtype dtype,
                              const char *of, void *out);

#endif

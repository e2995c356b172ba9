/* SPDX-License-Identifier: MIT
 * The context and the last error. A failure is one sentence: tl_fail formats it, stores it where
 * tally_error finds it, and returns the status. Callers write `return tl_fail(ctx,
 * TALLY_INVALID, "n is %lld: must be at least 0", n);`. */
#ifndef TALLY_CONTEXT_H
#define TALLY_CONTEXT_H
#include "operator/plan.h"

struct tl_device; /* context/device.h */
struct tl_user;   /* user.h */

/* The operators resolved last, so that a call on few elements costs no look-up. */
typedef struct tl_plan_entry {
    char op[40];
    tally_dtype dtype;
    tl_plan plan;
} tl_plan_entry;
enum { TL_PLAN_ENTRIES = 4 };

struct tally {
    struct tl_device *device;
    /* of a context of several devices: one of each, and NULL behind them; else NULL */
    struct tally **members;
    tl_plan_entry plans[TL_PLAN_ENTRIES];
    int next_plan;
    struct tl_user *users;            /* operators defined here, the newest first */
    struct tl_scratch_block *scratch; /* of its threads (scratch.h) */
    int scratch_threads;
    char error[512];
    char report[256]; /* tally_verify's sentence */
};

/* The plan of `op` on dtype for ctx's device, as the verbs run it; and the plan for streams and
 * fragments, which the processors fold on every device. The two differ for users' operators: a
 * GPU runs them without the second. */
tally_status tl_plan_of(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);
tally_status tl_plan_of_host(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);
/* As the second, for operators of two inputs too, whose elements are of dtype; the others refuse
   these. */
tally_status tl_plan_of_inputs(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);

/* What the processors do on every device: p must be host memory, else the sentence says that
 * `what` take that; elements are counted as theirs (tally_times). */
tally_status tl_on_processors(tally *ctx, const void *p, const char *name, const char *what,
                              int64_t elements);

/* Stores the sentence in ctx (NULL: in this thread) and returns status. */
tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* tl_fail for an allocation of `bytes` for `what`. */
tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what);
#endif

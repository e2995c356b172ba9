/* SPDX-License-Identifier: MIT
 * The context and the last error. A failure is one sentence: tl_fail formats it, stores it for
 * tally_error, and returns the status. Callers write `return tl_invalid(ctx, "n is
 * %lld: must be at least 0", n);`. */
#ifndef TALLY_CONTEXT_H
#define TALLY_CONTEXT_H

#include "operator/plan.h"

struct tl_device; /* context/device.h */
struct tl_user;   /* user.h */

/* A cache of the last operators that were looked up. */
typedef struct tl_plan_entry {
    char op[40];
    tally_dtype dtype;
    tl_plan plan;
} tl_plan_entry;

enum { TL_PLAN_ENTRIES = 4 };

struct tally {
    struct tl_device *device;
    /* a context of several devices: one context per device, then NULL; else NULL */
    struct tally **members;
    tl_plan_entry plans[TL_PLAN_ENTRIES];
    int next_plan;
    struct tl_user *users;            /* operators defined in this context, the newest first */
    struct tl_scratch_block *scratch; /* scratch memory of its threads (scratch.h) */
    int scratch_threads;
    char error[512];
    char report[256]; /* tally_verify's sentence */
};

/* tl_plan_of: the plan of `op` on dtype for the verbs on ctx's device. tl_plan_of_host: the plan
 * for streams and fragments, which the processors compute on every device. A GPU can have the
 * first without the second if no C compiler can compile a user's operator. */
tally_status tl_plan_of(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);
tally_status tl_plan_of_host(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);

/* The same for an operator that is resolved. */
tally_status tl_plan_on_host(tally *ctx, const tl_scalar *op, tl_par par, tl_plan *plan);

/* Like tl_plan_of_host, but allows operators of two inputs, whose elements are of dtype. */
tally_status tl_plan_of_inputs(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan);

/* Refuses p if it is device memory, with the sentence that `what` take host memory. */
tally_status tl_host_only(tally *ctx, const void *p, const char *name, const char *what);

/* Stores the sentence in ctx (NULL: in this thread) and returns status. */
tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* tl_fail with one status: tl_invalid(ctx, format, ...). */
#define tl_invalid(ctx, ...)     tl_fail(ctx, TALLY_INVALID, __VA_ARGS__)
#define tl_unsupported(ctx, ...) tl_fail(ctx, TALLY_UNSUPPORTED, __VA_ARGS__)
#define tl_bad_data(ctx, ...)    tl_fail(ctx, TALLY_BAD_DATA, __VA_ARGS__)

/* realloc of the memory at *(void **)pointer to `bytes` bytes for `what`. */
tally_status tl_grow(tally *ctx, void *pointer, size_t bytes, const char *what);

/* tl_fail for a call without a context. */
tally_status tl_no_context(void);

/* tl_fail for an allocation of `bytes` for `what`. */
tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what);

#endif

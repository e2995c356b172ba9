/* SPDX-License-Identifier: MIT
 * The context and the last error. One sentence a failure: tl_fail formats it, stores it where tally_error finds it and
 * returns the status, so callers write `return tl_fail(ctx, TALLY_INVALID, "n is %lld: must be at least 0", n);`. */
#ifndef TALLY_CONTEXT_H
#define TALLY_CONTEXT_H
#include "tally.h"

struct tl_device; /* device/device.h */

struct tally {
    struct tl_device *device;
    char error[512];
    char report[256]; /* tally_verify's sentence */
};

/* Stores the sentence in ctx (NULL: in this thread) and returns status. */
tally_status tl_fail(tally *ctx, tally_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* tl_fail for an allocation of `bytes` for `what`. */
tally_status tl_no_memory(tally *ctx, size_t bytes, const char *what);
#endif

/* SPDX-License-Identifier: MIT
 * What the verbs check of options and results; and memory of the device for what the processors do:
 * copies on the host. */
#ifndef TALLY_API_CHECKS_H
#define TALLY_API_CHECKS_H
#include "context/context.h"

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *options);
tally_status tl_check_window(tally *ctx, const tally_window_options *options);
/* A step and edges that change the lengths of segments. */
tally_status tl_check_step(tally *ctx, const tally_view *in, const tally_window_options *options);
/* Can a device, or a stream, take these windows? Not those of negative offsets or of a step
   (cpu/keys/ranges.h). */
int tl_window_streams(const tally_window_options *options);
/* out against in, whose sequences give `length` results each; op says of which type. */
tally_status tl_check_output(tally *ctx, const tl_scalar *op, const tally_view *in,
                             const tally_view *out, int64_t length, int in_place);

/* ---- copies ---- */

typedef struct tl_host_copies {
    struct {
        void *of;
        char *copy;
        size_t bytes;
        int back;
    } one[8];
    int count;
} tl_host_copies;

/* *p, of which the bytes low .. high - 1 are used, becomes host memory: a copy of them, if it is
 * the device's. back: they will be written. Where a context cannot copy (several devices) such
 * memory is refused: `name` and `what` as for tl_on_processors. */
tally_status tl_host_copy(tally *ctx, tl_host_copies *c, void **p, int64_t low, int64_t high,
                          int back, const char *name, const char *what);
/* The same for the elements of a view, of `bytes` bytes each, and for its bits; not for those of
   its next. */
tally_status tl_host_view(tally *ctx, tl_host_copies *c, tally_view *v, int64_t bytes, int back,
                          const char *name, const char *what);
/* The same for `count` numbers. */
tally_status tl_host_numbers(tally *ctx, tl_host_copies *c, int64_t **p, int64_t count, int back,
                             const char *name, const char *what);
/* The end of a call that wrote copies: they go back if its status is good, and are freed. */
tally_status tl_host_end(tally *ctx, tl_host_copies *c, tally_status status);
/* Written copies go back. */
tally_status tl_host_back(tally *ctx, const tl_host_copies *c);
void tl_host_close(tl_host_copies *c);

/* v's offsets become host memory. *copy: the caller's to free, or NULL. */
tally_status tl_host_offsets(tally *ctx, const char *name, tally_view *v, int64_t **copy);
#endif

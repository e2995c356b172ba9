/* SPDX-License-Identifier: MIT
 * Memory of the device for what the processors do: copies on the host. */
#ifndef TALLY_API_HOST_H
#define TALLY_API_HOST_H
#include "context/context.h"

typedef struct tl_host_copies {
    struct {
        void *of;
        char *copy;
        size_t bytes;
        int back;
    } one[6];
    int count;
} tl_host_copies;

/* *p, of which the bytes low .. high - 1 are used, becomes host memory: a copy of them, if it is the device's. back:
 * they will be written. Where a context cannot copy (several devices) such memory is refused: `name` and `what` as for
 * tl_on_processors. */
tally_status tl_host_copy(tally *ctx, tl_host_copies *c, void **p, int64_t low, int64_t high, int back,
                          const char *name, const char *what);
/* Written copies go back. */
tally_status tl_host_back(tally *ctx, const tl_host_copies *c);
void tl_host_close(tl_host_copies *c);

/* v's offsets become host memory. *copy: the caller's to free, or NULL. */
tally_status tl_host_offsets(tally *ctx, const char *name, tally_view *v, int64_t **copy);
#endif

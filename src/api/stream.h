/* SPDX-License-Identifier: MIT
 * A stream: of one sequence (stream.c), or of many (stream_rows.c). */
#ifndef TALLY_STREAM_H
#define TALLY_STREAM_H
#include "context/device.h"
#include "cpu/exact/exact.h"
#include "cpu/grid/grid.h"

typedef enum { TL_STREAM_REDUCE, TL_STREAM_SCAN, TL_STREAM_WINDOW } tl_stream_verb;

struct tally_stream {
    tally *ctx;
    tl_device *device;
    tl_stream_verb verb;
    int finished, broken; /* broken: a window push failed half-way */
    tl_plan plan, count_plan;
    tl_scan scan;   /* also the counter of reduce */
    tl_exact exact; /* instead, of a plan with `exact` */
    tally_window_options window;
    char *tail;         /* space for 2 (w - 1) elements */
    int64_t kept, have; /* w - 1; elements in the tail */
    int64_t pushed;     /* elements of each sequence */
    int started;        /* the windows at the left end are done */
    tl_grid *grid;      /* many sequences: all the rest of them is there; NULL: one */
    int64_t rows;
};

tally_status tl_stream_open(tally *ctx, tl_stream_verb verb, const char *op, tally_dtype dtype, tally_stream **stream);
/* May it take n more elements of each sequence? */
tally_status tl_stream_check(tally_stream *s, int64_t n);
#endif

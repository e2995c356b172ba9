/* SPDX-License-Identifier: MIT
 * A stream: of one sequence (stream.c), of many (stream_rows.c), or of groups (stream_groups.c). */
#ifndef TALLY_STREAM_H
#define TALLY_STREAM_H
#include "context/device.h"
#include "cpu/exact/exact.h"
#include "cpu/grid/grid.h"
#include "cpu/inputs/feed.h"
#include "law/slabs.h"

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
    /* windows of views: NULL, or what is kept instead of the tail (stream_window.c); */
    struct tl_steps *steps;
    int64_t given; /* results of each sequence so far */
    int started;   /* the windows at the left end are done */
    int seeded;    /* init is what a scan starts with */
    char init[16];
    /* a stream of rows; what they have so far is in the grid, or (by_slabs) one slab or none: */
    int many;
    /* where kernels do not take the steps as they came, for want of a form without numbers of */
    int64_t rows;
    /* elements (cpu/inputs/feed.h), or of whole blocks. grid NULL: an operator of two inputs */
    tl_grid *grid;
    int by_slabs;
    tl_slabs slabs;
    /* the grid is the device's; place: whose it is to be, by the first push that says so */
    int on_device;
    enum { TL_NOWHERE, TL_ON_HOST, TL_ON_DEVICE } place;
    /* the grid folds marked elements from the first step on, as `mark` has them
       (context/inputs.h) */
    int marked;
    tl_feed mark;
    struct tl_counters *groups; /* NULL, or a stream of groups: their reductions so far */
};

tally_status tl_stream_open(tally *ctx, tl_stream_verb verb, const char *op, tally_dtype dtype,
                            tally_stream **stream);
tally_status tl_stream_window(tally *ctx, const char *op, tally_dtype dtype, int64_t rows,
                              const tally_window_options *options, tally_stream **stream);
/* Is one of x and out of a scan memory of the device, and the other not? Then copies of the host
   are pushed. */
int tl_stream_mixed(const tally_stream *s, const void *x, const void *out);
/* Keeps what a scan starts with. */
void tl_stream_seed(tally_stream *s, const tally_scan_options *options);
/* May it take n more elements of each sequence? */
tally_status tl_stream_check(tally_stream *s, int64_t n);
/* n > 0 elements of a stream of one sequence, after all checks; *made: results. */
tally_status tl_stream_run(tally_stream *s, const void *x, int64_t n, void *out, int64_t *made);
/* The same of a view, by a feed. */
tally_status tl_stream_feed(tally_stream *s, const tally_view *in, const tally_view *out);
/* The same of many sequences; in host memory, as out. */
tally_status tl_stream_push_rows(tally_stream *s, const tally_view *in, const tally_view *out);
/* Is a push one for the device's grid? The first one decides it: are its elements memory of the
   device? */
tally_status tl_stream_for_device(tally_stream *s, const tally_view *in, int *is);
/* Then: elements of any memory, into that grid, or where there is no road or no memory the
   processors'. */
tally_status tl_stream_push_device(tally_stream *s, const tally_view *in);
/* The results of a reduction of many sequences, to any memory. */
tally_status tl_stream_lower_rows(tally_stream *s, void *out);
/* A stream of many sequences takes over what a fragment has of them. */
tally_status tl_stream_take(tally_stream *s, const tl_slabs *slabs);
/* Windows of views. out has as many results of each sequence as are known after n more elements,
 * and were not given yet (n = -1: after the last one). A failed push breaks the stream. */
int64_t tl_steps_known(const tally_stream *s, int64_t n);
tally_status tl_steps_push(tally_stream *s, const tally_view *in, const tally_view *out);
tally_status tl_steps_finish(tally_stream *s, const tally_view *out);
void tl_steps_close(struct tl_steps *steps);
#endif

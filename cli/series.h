/* SPDX-License-Identifier: MIT
 * series.h - what the files of scan and window share. */
#ifndef SERIES_H
#define SERIES_H

#include "cli.h"

/* A call of scan or window on one file. */
typedef struct run {
    const options *o;
    tally *ctx;
    operators ops;
    series call;
    tally_window_options fitted; /* call.window, limited to the length of the data */
    second beside;
    int64_t *start, *end; /* --by of a coordinate: the window of each step along the axis */
    groups bands;         /* --by with --axis: the groups of the steps */
    uint64_t *init;       /* --init as a value of each operator's output */
    progress p;
} run;

/* The scan's options for operator i; copy is the memory for them. */
const tally_scan_options *series_options(const run *r, int i, tally_scan_options *copy);
/* The lines of a table before the first result: with edges valid, the lines before the first full
 * window. */
int64_t series_lines_before(const run *r);
/* Opens the sink for results of this shape; l has the axis and its steps. */
int series_sink(const run *r, sink **to, input *in, int ndim, const int64_t *shape,
                const layout *l);

/* ---- slabs.c: along the first dimension of a NetCDF array, in the order of the file ---- */
/* *taken 0: the array fits --memory, or this method does not apply; nothing was done. */
int slabs_run(run *r, input *in, int *taken);

/* Limits the extents of a window over n elements, because a stream stores as many elements as the
 * window has. The results stay the same. */
void series_fit_window(tally_window_options *w, int64_t n);

/* ---- series_whole.c ---- */
/* Loads the array, and computes all results of it as one view, or as batches of sequences. */
int series_whole(run *r, input *in);
/* series_whole for --by: each group is a segment. */
int series_groups(run *r, input *in);
#endif

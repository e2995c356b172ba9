/* SPDX-License-Identifier: MIT
 * window over one dense sequence or a slice of one: which file computes which windows, and the
 * memory of each thread. window_kernel.h has the arithmetic.
 *
 *   centres  0 ............ before .......... n - after ............ n
 *            [   prefixes  |   full windows   |     suffixes        ]
 *            window_edges.c      window.c         window_edges.c */
#pragma once

#include "context/context.h"
#include "operator/kernel.h"
#include "cpu/kernel/window_work.h"

/* One thread's memory. It belongs to the context if it is small (window_edges.c), else to this
 * struct. */
typedef struct tl_window_buffers {
    tally *ctx;
    int thread; /* number of the thread in the context's scratch memory */
    tl_window_work work;
    void *allocation;
    size_t allocation_bytes;
} tl_window_buffers;

/* Adjacent sequences that are computed as one. Of their windows that are not full, which have no
 * value, some hold elements of two sequences. */
typedef struct tl_joined {
    const tally_view *in;
    int64_t r, begin;  /* the sequence of the next result, and where it begins */
    int64_t none_from; /* the first centre after the last full window of the sequences so far */
    char *none;        /* results without a value: TL_JOINED_BYTES bytes */
    char *tile;        /* as much memory for results that are streamed later */
} tl_joined;

enum { TL_JOINED_BYTES = TL_WINDOW_TILE * 32 }; /* of the largest results of a tile */

typedef struct tl_window {
    tally *ctx;
    tl_plan own;         /* tl_plan_of_window, tl_plan_floats */
    tl_scalar floats;    /* the instance of a plan on f64 */
    const tl_plan *plan; /* = &own */
    int64_t before, after, w;
    tally_edges edges;
    int64_t min_count;
    int64_t least; /* windows with fewer elements have no value */
    int threads;
    int stream;   /* always use non-temporal stores, however few results a run has */
    int prefetch; /* how to prefetch (tl_prefetches); 0: as the length of a run needs */
    tl_window_buffers *thread_buffers; /* one for each thread */
    tl_joined *joined;                 /* NULL: one sequence */

    /* NULL, or the windows of operator `count` (tl_needs_count) */
    struct tl_window *count;
    int64_t *counts; /* results of `count`, for one chunk */
    int64_t counts_capacity;
} tl_window;

/* The windows of one run. Results are numbered by centre, beginning with `first`. */
typedef struct tl_window_job {
    tl_window *win;
    const char *x;
    int64_t n, first;
    char *out;
    int64_t least; /* windows with fewer elements have no value */
    int stream;    /* use non-temporal stores */
} tl_window_job;

typedef struct tl_window_threads {
    int first, count;
} tl_window_threads;

/* Prepares the windows of `options`. count: the plan of operator count on the same element type,
 * which must live until close; used where tl_needs_count, else it may be NULL. The context must
 * have scratch memory for threads first .. first + count - 1. Errors: TALLY_INVALID,
 * TALLY_NO_MEMORY; close may be called after either. */
tally_status tl_window_open(tl_window *win, tally *ctx, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *options, tl_window_threads threads);

/* A slice of a sequence: n dense elements at x, of any alignment. at_start: x[0] is the sequence's
 * first element, so windows that reach beyond it are not full and follow the rule for edges.
 * at_end: the same of the last element. */
typedef struct tl_slice {
    const char *x;
    int64_t n;
    int at_start, at_end;
} tl_slice;

/* Writes the results of centres (at_start ? 0 : before) .. (at_end ? n : n - after), or before .. n
 * - after with edges valid, and their number to *count. Indices (argmin, argmax) count from the
 * window's first element. Error: TALLY_NO_MEMORY only. */
tally_status tl_window_run(tl_window *win, const tl_slice *slice, char *out, int64_t *count);

/* The full windows of a whole sequence, and all other windows. out: the result of centre 0.
 * Requires: no min_count that needs `count`, and edges are not valid. */
tally_status tl_window_full(tl_window *win, const char *x, int64_t n, char *out);
tally_status tl_window_ends(tl_window *win, const char *x, int64_t n, char *out);

void tl_window_close(tl_window *win);

/* Shared by window.c and window_edges.c. */

/* Prepares the memory for streams of windows of w elements, with rings for all levels below the
 * highest bit of w. 0: out of memory. */
int tl_window_prepare(tl_window_buffers *buffers, const tl_plan *plan, int64_t w, int mode);

/* Returns memory aligned to a cache line; earlier contents are lost. NULL: out of memory. */
void *tl_window_memory(tl_window_buffers *buffers, size_t bytes);

int64_t tl_window_tile(const tl_plan *plan);

char *tl_window_at(const tl_window_job *job, int64_t i);

/* The results of centres lo .. hi - 1. prefixes: windows of lengths lo + after + 1 and up. wholes:
 * of all of x. suffixes: windows that start at lo - before and up. prefixes and suffixes use
 * `buffers`; 0: out of memory. */
void tl_window_empties(const tl_window_job *job, int64_t lo, int64_t hi);
int tl_window_prefixes(const tl_window_job *job, int64_t lo, int64_t hi,
                       tl_window_buffers *buffers);
void tl_window_wholes(const tl_window_job *job, int64_t lo, int64_t hi);
int tl_window_suffixes(const tl_window_job *job, int64_t lo, int64_t hi,
                       tl_window_buffers *buffers);

/* SPDX-License-Identifier: MIT
 * window over one dense sequence, or a slice of one: which windows there are, who computes them
 * and with what memory. The arithmetic is in window_kernel.h.
 *
 *   centres  0 ........ before ................ n - after ...... n
 *            [ prefixes |    full windows       |   suffixes    ]     window_edges.c | window.c | window_edges.c
 */
#ifndef TALLY_WINDOW_H
#define TALLY_WINDOW_H
#include "context/context.h"
#include "operator/plan.h"
#include "cpu/kernel/window_work.h"

/* One thread's memory: the context's, or its own where that would be too much to keep. */
typedef struct tl_window_room {
    tally *ctx;
    int thread; /* its number there */
    tl_window_work work;
    void *own;
    size_t own_bytes;
} tl_window_room;

typedef struct tl_window {
    tally *ctx;
    const tl_plan *plan;
    int64_t before, after, w;
    tally_edges edges;
    int64_t min_count;
    int threads;
    int stream;            /* results are stored past the caches, however few a run has */
    tl_window_room *rooms; /* one per thread */
    /* the windows of `count`, for min_count of an operator that skips NaN */
    struct tl_window *count;
    int64_t *counts; /* their results, a chunk at a time */
    int64_t counts_room;
} tl_window;

/* The windows of one run. Results are numbered by centre, from `first` on. */
typedef struct tl_window_job {
    tl_window *win;
    const char *x;
    int64_t n, first;
    char *out;
    int64_t least; /* shorter windows are empty */
    int stream;    /* store past the caches */
} tl_window_job;

/* Prepares windows of `options` for plan. count: the plan of operator count on the same dtype;
 * needed for min_count of an operator that skips NaN, else NULL is fine. Plans are borrowed
 * until close. TALLY_INVALID or TALLY_NO_MEMORY; close is harmless after either. The context has
 * scratch memory (scratch.h) for the threads, which are numbers `first` .. first + threads - 1
 * there. */
tally_status tl_window_open(tl_window *win, tally *ctx, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *options, int first, int threads);

/* The windows of n dense elements at x, any alignment, a slice of a sequence. at_start is
 * TL_AT_END where x[0] is the sequence's first element: windows that reach beyond it are not
 * full, and follow the rule for edges. at_end is the same for the last element. Writes the
 * results of the centres (at_start ? 0 : before) .. (at_end ? n : n - after), with edges valid
 * of before .. n - after, and their number to *count. Indices (argmin, argmax) count from the
 * window's own first element. TALLY_NO_MEMORY only. */
tally_status tl_window_run(tl_window *win, const void *x, int64_t n, int at_start, int at_end,
                           void *out, int64_t *count);

/* The full windows of a whole sequence, or all others; out: the result of centre 0. Not for
 * windows with `count`, nor edges valid. */
tally_status tl_window_full(tl_window *win, const char *x, int64_t n, char *out);
tally_status tl_window_ends(tl_window *win, const char *x, int64_t n, char *out);

void tl_window_close(tl_window *win);

/* Shared by window.c and window_edges.c. */

/* Sets a room up for streams of windows of w elements, all levels below the highest of w in
   rings. 0: out of memory. */
int tl_window_prepare(tl_window_room *room, const tl_plan *plan, int64_t w, int mode);

/* Memory of a room, aligned to a line; what it held is lost. NULL: out of memory. */
void *tl_window_memory(tl_window_room *room, size_t bytes);

/* Elements of a tile. */
int64_t tl_window_tile(const tl_plan *plan);

/* The result of centre i. */
char *tl_window_at(const tl_window_job *job, int64_t i);

/* The centres lo .. hi - 1, whose windows are the prefixes of lengths lo + after + 1 .., all of
 * x, or suffixes from lo - before on. The room's memory is used and, for suffixes, grown: 0: out
 * of memory. */
void tl_window_empties(const tl_window_job *job, int64_t lo, int64_t hi);
void tl_window_prefixes(const tl_window_job *job, int64_t lo, int64_t hi, tl_window_room *room);
void tl_window_wholes(const tl_window_job *job, int64_t lo, int64_t hi);
int tl_window_suffixes(const tl_window_job *job, int64_t lo, int64_t hi, tl_window_room *room);
#endif

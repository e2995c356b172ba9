/* SPDX-License-Identifier: MIT
 * One driver for all calls on processors. A view becomes sequences. The sequences are one of three
 * kinds of work:
 *
 *   columns   they lie side by side: strips of lanes (lanes_columns.c)
 *   long      one after the other, each on all threads
 *   short     chunks of neighbouring sequences, each chunk on one thread; sequences of about equal
 *             length share vectors (lanes_rows.c)
 *
 * Threads, strides, reversal and non-temporal stores are decided in driver.c, once for all shapes.
 * A shape supplies the work on dense parts of a sequence. */
#pragma once

#include "context/device.h"
#include "lanes.h"
#include "widen.h"

/* ---- windows ----
 *
 * Over one dense sequence or a slice of one: which file computes which windows, and the
 * memory of each thread. window_kernel.h has the arithmetic.
 *
 *   centres  0 ............ before .......... n - after ............ n
 *            [   prefixes  |   full windows   |     suffixes        ]
 *            window_edges.c      window.c         window_edges.c */

/* One thread's memory. It belongs to the context if it is small (window_edges.c), else to this
 * struct. */
typedef struct {
    tally *ctx;
    int thread; /* number of the thread in the context's scratch memory */
    tl_window_work work;
    void *allocation;
    size_t allocation_bytes;
} tl_window_buffers;

/* Adjacent sequences that are computed as one. Of their windows that are not full, which have no
 * value, some hold elements of two sequences. */
typedef struct {
    const tally_view *in;
    int64_t r, begin;  /* the sequence of the next result, and where it begins */
    int64_t none_from; /* the first centre after the last full window of the sequences so far */
    char *none;        /* results without a value: TL_JOINED_BYTES bytes */
    char *tile;        /* as much memory for results that are streamed later */
} tl_joined;

enum { TL_JOINED_BYTES = TL_WINDOW_TILE * 32 }; /* of the largest results of a tile */

typedef struct tl_window {
    tally *ctx;
    tl_plan window_plan; /* made by tl_plan_of_window and tl_plan_floats */
    tl_scalar floats;    /* the instance of a plan on f64 */
    const tl_plan *plan; /* = &window_plan */
    int64_t before, after, w;
    tally_edges edges;
    int64_t min_count;
    int64_t least; /* windows with fewer elements have no value */
    int threads;
    int stream;   /* always use non-temporal stores, however few results a run has */
    int prefetch; /* how to prefetch (tl_prefetches); 0: as the length of a run needs */
    tl_window_buffers *thread_buffers; /* one for each thread */
    tl_joined *joined;                 /* NULL: one sequence */

    /* NULL, or those of `count` (tl_needs_count) */
    struct tl_window *count;
    int64_t *counts; /* results of `count`, for one chunk */
    int64_t counts_capacity;
} tl_window;

/* The windows of one run. Results are numbered by centre, beginning with `first`. */
typedef struct {
    tl_window *win;
    const char *x;
    int64_t n, first;
    char *out;
    int64_t least; /* windows with fewer elements have no value */
    int stream;    /* use non-temporal stores */
} tl_window_job;

typedef struct {
    int first, count;
} tl_window_threads;

/* Prepares the windows of `options`. count: the plan of operator count on the same element type,
 * which must live until close; used where tl_needs_count, else it may be NULL. The context must
 * have scratch memory for threads first .. first + count - 1. Requires: before and after are at
 * least 0. Error: TALLY_NO_MEMORY only; close may be called after it. */
tally_status tl_window_open(tl_window *win, tally *ctx, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *options, tl_window_threads threads);

/* A slice of a sequence: n dense elements at x, of any alignment. at_start: x[0] is the sequence's
 * first element, so windows that reach beyond it are not full and follow the rule for edges.
 * at_end: the same of the last element. */
typedef struct {
    const char *x;
    int64_t n;
    int at_start, at_end;
} tl_slice;

/* Which windows to compute: full ones, all others, or both. */
enum { TL_WINDOW_FULL = 1, TL_WINDOW_ENDS = 2, TL_WINDOW_ALL = 3 };

/* Writes the results of centres (at_start ? 0 : before) .. (at_end ? n : n - after), or before .. n
 * - after with edges valid. Indices (argmin, argmax) count from the window's first element. Error:
 * TALLY_NO_MEMORY only. With min_counts that need `count`, `which` must be all. */
tally_status tl_window_run(tl_window *win, const tl_slice *slice, int which, char *out);

void tl_window_close(tl_window *win);

/* Shared by window.c and window_edges.c. */

/* Prepares the memory for streams of windows of w elements, with rings for all levels below the
 * highest bit of w. 0: out of memory. */
int tl_window_prepare(tl_window_buffers *buffers, const tl_plan *plan, int64_t w, int mode);

/* Returns memory aligned to a cache line; earlier contents are lost. NULL: out of memory. */
void *tl_window_memory(tl_window_buffers *buffers, size_t bytes);

int64_t tl_window_tile(const tl_plan *plan); /* elements */

char *tl_window_at(const tl_window_job *job, int64_t i); /* where the result of centre i goes */

/* The results of centres lo .. hi - 1. empties: windows without a value. prefixes: windows of
 * lengths lo + after + 1 and up. wholes: of all of x. suffixes: windows that start at lo - before
 * and up. prefixes and suffixes use `buffers`; 0: out of memory. */
void tl_window_empties(const tl_window_job *job, int64_t lo, int64_t hi);
int tl_window_prefixes(const tl_window_job *job, int64_t lo, int64_t hi,
                       tl_window_buffers *buffers);
void tl_window_wholes(const tl_window_job *job, int64_t lo, int64_t hi);
int tl_window_suffixes(const tl_window_job *job, int64_t lo, int64_t hi,
                       tl_window_buffers *buffers);

/* ---- scans: scan_tiles.c on one thread, scan.c on several ---- */

enum {
    /* Threads take blocks. Many large ones are faster than many small ones. */
    TL_SCAN_BLOCK_BYTES = 64 * 1024,
    TL_SCAN_LARGE_BYTES = 128 * 1024,
    TL_SCAN_LARGE_BLOCKS = 16, /* for each thread */
    TL_SCAN_BLOCKS = 4,        /* for each thread, at least, of */
    TL_SCAN_SMALL_BYTES = 16 * 1024
};

/* Elements, and where their results go. */
typedef struct {
    const char *x;
    int64_t n;
    char *out;
    int stream;                 /* use non-temporal stores */
    int64_t prefetch;           /* distance in bytes; 0: none */
    tl_staging staging;         /* of the calling thread */
    int64_t x_stride, y_stride; /* of elements and results; 1 on one thread */
} tl_scan_work;

/* How often a thread polls for the node of a block before it folds that block itself. Tests set it
 * to 0, or to -1: then threads fold published blocks too, and take turns as on a busy machine. */
extern int tl_scan_polls;

/* Prefetch distance of one thread. */
int64_t tl_scan_prefetch(const tl_plan *plan, int stream);

/* Blocks of 2^level elements for a scan of n elements on several threads. */
int tl_scan_block_level(const tl_plan *plan, int64_t n, int threads);

/* Scans elements on this thread. c: the counter to continue: s->done, or a thread's own. */
void tl_scan_serial(const tl_scan *s, tl_counter *c, const tl_scan_work *work);

/* ---- what a shape supplies ---- */

/* n dense elements of a sequence, in the order of the call, and the place of their results.
 *   reduce   y: the result of the whole sequence; it is written by the last part
 *   scan     y: n dense results
 *   window   y: the dense results of the centres of this part. x also has the elements before and
 *            after them that the windows need, as far as the sequence has them.
 * first, last: the part begins, or ends, its sequence.
 * in_place: x and y are the caller's memory, else blocks that are in a cache. */
typedef struct tl_part {
    const char *x;
    int64_t n;
    char *y;
    int first, last, in_place;
} tl_part;

/* A sequence in the order of the call: of a reversed scan, x and y are the last in memory. */
typedef struct {
    char *x, *y;
    int64_t n, results;
    int64_t x_stride, y_stride; /* in elements, in results; y_stride of a reduction is 0 */
} tl_sequence;

/* What a shape keeps for one thread from its open to its close. */
typedef union {
    tl_counter counter;
    struct {
        tl_scan scan;
        tl_staging staging;
    } scan;
    struct {
        tl_window windows;
        tl_joined joined;
        int64_t group; /* adjacent rows that are computed as one sequence; 0: none */
    } window;
    void *other;
} tl_shape_memory;

/* What all threads of a call share. */
typedef struct {
    tally *ctx;
    const tl_call *call;
    const tl_lanes_job *lanes; /* NULL: lanes do not support the call */
    int prefetch;              /* of elements in place: see tl_prefetches */
    int stream;                /* results in place are stored with non-temporal stores */
    int64_t longest;           /* what `rows` may compute; longer sequences were processed before */
} tl_run_of;

/* What one thread needs for its sequences. */
typedef struct {
    const tl_run_of *run;
    int number;  /* of the thread, for scratch memory (context/context.h) */
    int threads; /* how many threads each sequence may use: 1, or all */
    tl_shape_memory *memory;
} tl_thread;

typedef struct {
    /* Called before a thread's first sequence. After a failure nothing else is called. NULL:
     * nothing to do. */
    tally_status (*open)(tl_thread *);
    void (*close)(tl_thread *);
    tally_status (*part)(tl_thread *, const tl_part *); /* NULL: `strided`, for any sequence */

    /* Computes the dense sequence r on one thread: less work for a short one. NULL: `part`. */
    void (*whole)(const tl_thread *, int64_t r);

    /* Computes a sequence of any strides on all threads. NULL, or out of memory with nothing
     * written: by parts on this thread. */
    tally_status (*strided)(tl_thread *, const tl_sequence *);
    /* Computes the dense sequences r .. end - 1 faster than one at a time, or does nothing. NULL:
     * no such path. */
    tally_status (*rows)(tl_thread *, int64_t r, int64_t end, int *done);
    int64_t least_bytes; /* fewer bytes of elements use one thread; 0: TL_PARALLEL_BYTES */
    int lanes;           /* lanes may compute the shape, columns included */

    /* Computes columns side by side. NULL: lanes, or one column at a time. */
    tally_status (*columns)(tally *ctx, int threads, const tl_call *);
} tl_shape;

/* tl_no_memory for threads: ctx holds one error, whichever thread writes it. */
static inline tally_status tl_thread_no_memory(tally *ctx, size_t bytes, const char *what)
{
    tl_lock_take(TL_LOCK_ERROR);
    const tally_status status = tl_no_memory(ctx, bytes, what);
    tl_lock_release(TL_LOCK_ERROR);
    return status;
}

/* Returns `bytes` bytes of the context's memory for this thread. NULL: out of memory; the context
 * has the message. */
static inline void *tl_thread_memory(const tl_thread *t, int slot, size_t bytes, const char *what)
{
    void *memory = tl_scratch(t->run->ctx, t->number, slot, bytes);
    if (!memory) tl_thread_no_memory(t->run->ctx, bytes, what);
    return memory;
}

/* The second row: of exact sums (cpu/exact). tl_ranges_shape: windows with a negative bound or a
 * step, also of exact sums (cpu/keys/fold_ranges.c). */
extern const tl_shape tl_reduce_shape, tl_scan_shape, tl_window_shape;
extern const tl_shape tl_exact_reduce_shape, tl_exact_scan_shape, tl_exact_window_shape;
extern const tl_shape tl_ranges_shape;

/* Appends n elements, `stride` elements apart, to a counter on this thread: reduce.c. */
void tl_push_strided(const tl_plan *plan, const void *x, int64_t stride, int64_t n, tl_counter *c);

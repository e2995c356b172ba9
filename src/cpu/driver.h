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
#include "window.h"

/* n dense elements of a sequence, in the order of the call, and the place of their results.
 *   reduce   y: the result of the whole sequence; it is written by the last part
 *   scan     y: n dense results
 *   window   y: the dense results of the centres of this part. x also has the elements before and
 *            after them that the windows need: at_start is 0 or `before` centres lie before y.
 * first, last: the part begins, or ends, its sequence.
 * in_place: x and y are the caller's memory, else blocks that are in a cache. */
typedef struct tl_part {
    const char *x;
    int64_t n;
    char *y;
    int first, last, in_place;
} tl_part;

/* A sequence in the order of the call: of a reversed scan, x and y are the last in memory. */
typedef struct tl_sequence {
    char *x, *y;
    int64_t n, results;
    int64_t x_stride, y_stride; /* in elements, in results; y_stride of a reduction is 0 */
} tl_sequence;

/* What a shape keeps for one thread from its open to its close. */
typedef union tl_shape_memory {
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
typedef struct tl_run_of {
    tally *ctx;
    const tl_call *call;
    const tl_lanes_job *lanes; /* NULL: lanes do not support the call */
    int prefetch;              /* of elements in place: see tl_prefetches */
    int stream;                /* results in place are stored with non-temporal stores */
    int64_t longest;           /* what `rows` may compute; longer sequences were processed before */
} tl_run_of;

/* What one thread needs for its sequences. */
typedef struct tl_thread {
    const tl_run_of *run;
    int number;  /* of the thread, for scratch memory (context/context.h) */
    int threads; /* how many threads each sequence may use: 1, or all */
    tl_shape_memory *memory;
} tl_thread;

typedef struct tl_shape {
    /* Called before a thread's first sequence. After a failure nothing else is called. NULL:
     * nothing to do. */
    tally_status (*open)(tl_thread *);
    void (*close)(tl_thread *);
    tally_status (*part)(tl_thread *, const tl_part *); /* NULL: `strided`, for any sequence */

    /* Computes the dense sequence r on one thread: less work for a short one. NULL: `part`. */
    void (*alone)(const tl_thread *, int64_t r);

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

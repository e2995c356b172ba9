/* SPDX-License-Identifier: MIT
 * What the files of the GPU devices share: launches, views and results on the device. memory.h has
 * the opened device. README.md says which file may call which. */
#pragma once

#include "kernels.h"
#include "memory.h"
#include "context/device.h"
#include "context/view.h"
#include <stdlib.h>

enum { TL_GPU_LEVELS = 8 }; /* 2^62 elements have 7 levels */

/* How a call of a shape belongs to a larger call that is done in pieces. All 0: it does not. */
typedef struct {
    /* who waits for results and errors: the call itself, or the pipeline (call/stage.c) */
    enum { TL_CALL_WAITS, TL_PIPE_WAITS } end;
    /* reduce: writes values, or states in the host's layout (packed) */
    enum { TL_VALUES, TL_STATES } gives;

    /* index of the piece's first element in its sequence */
    int64_t origin;
    /* scan: NULL, or the states before the piece in page-locked memory: one for each sequence,
     * packed */
    const void *before;
} tl_piece;

/* operators.c: returns the device's own copy of op where the kernels need one that differs
 * (tl_gpu_variant_of), else op itself. */
tally_status tl_gpu_variant(tl_gpu_device *d, const tl_scalar *op, int marked,
                            const tl_scalar **to);
void tl_gpu_drop_variants(tl_gpu_device *d);

/* What a launch needs. */
typedef struct {
    tl_gpu_device *d;
    tl_built program;
} tl_launch;

/* Finds the program of an operator and a shape (gpu.h: a static string), or builds it. */
tally_status tl_gpu_program(tl_gpu_device *d, const tl_scalar *op, const char *shape, tl_launch *l);

/* Launches a kernel; jobs 0: nothing. With TL_GROUPS, jobs counts warps if the kernel's threads are
 * WARPS, else thread blocks, of which there are at most as many as keep the device busy, so a
 * kernel loops over its jobs. */
tally_status tl_launch_jobs(const tl_launch *l, tl_gpu_kernel_id kernel, int64_t jobs,
                            tl_spread spread, const void *arguments);
#define TL_GO_AS(l, kernel, jobs, spread, ...) \
    ({ \
        const tl_arguments_##kernel a_ = TL_ARGUMENTS(kernel, __VA_ARGS__); \
        tl_launch_jobs(l, TL_KERNEL_##kernel, jobs, spread, &a_); \
    })

/* tl_launch_jobs with the kernel and its arguments given by name (kernels.h). */
#define TL_GO(l, kernel, jobs, ...) TL_GO_AS(l, kernel, jobs, TL_GROUPS, __VA_ARGS__)

/* A view on the device, in the form that kernels take (gpu/kernel/batch.cl). */
typedef struct tl_batch {
    const tl_plan *plan;
    tl_array x; /* at element 0 of row 0 */
    tl_piece piece;
    int64_t row_stride, stride, n, rows, elements; /* elements: of all sequences */
    int state_bytes;                               /* tl_gpu_state_bytes */

    /* 0; or the sequences are columns, which reductions and scans place on lanes
     * (kernel/columns.cl): elements of one lie further apart than neighbouring sequences.
     * columns_log: log2 of the columns that share a warp, the least power of two that takes all,
     * from 2 to LANES. */
    int columns_log;

    /* NULL: there are none, or they are on the device (call/segments.c) */
    const int64_t *host_offsets;
    int listed; /* true: segments, by offsets */
    tl_memory offsets, ids, first;

    /* The long sequences (CHUNK elements or more) are all rows, or the segments that ids lists.
     * long_count: their number; longest: elements of the longest; counts: nodes of each level. */
    int64_t long_count, longest, counts[TL_GPU_LEVELS + 1];

    /* true: one warp takes each segment of less than BY_WARP_END elements; only the others count as
     * long (short.c) */
    int warp_each;
    int has_short; /* true: there are short sequences */
    int levels;
    const struct tl_in_place *in_place; /* NULL, or the other arrays that the kernels read */

    /* The kernel is launched before the host has read what `measure` found of the offsets
     * (gpu/kernel/short/jobs.cl, call/segments.c). slot -1: it is not. */
    tl_arguments_speculative speculative;

    /* windows: NULL, or the same sequences of bytes: 1 for an element that counts, else 0 */
    const struct tl_batch *counts_of;

    /* What tl_batch_arguments gives, while a verb is launched (tl_batch_store_arguments). */
    const tl_arguments_batch *all, *long_sequences;
} tl_batch;

/* tl_gpu_program for the inputs of a batch. */
tally_status tl_batch_program(tl_gpu_device *d, const tl_batch *b, const char *shape, tl_launch *l);

/* True if sequences are columns: a dense copy has their elements interleaved. */
static inline int tl_is_across(const tally_view *v)
{
    return !v->offsets && v->rows > 1 && v->n > 1 && llabs(v->row_stride) < llabs(v->stride);
}

/* Brings `bytes` bytes at p to the device, unless they are there already. refused: why a host array
 * cannot be captured into a graph. */
tally_status tl_array_open(tl_gpu_device *d, const void *p, int64_t bytes, const char *refused,
                           tl_array *a);
void tl_array_close(tl_gpu_device *d, tl_array *a);

tally_status tl_batch_open(tl_gpu_device *d, const tl_plan *plan, const tally_view *in,
                           tl_batch *b);

/* tl_batch_of: without memory. tl_batch_data: brings the elements that v covers, of `bytes` bytes
 * each, to the device; v has the data of the batch's view. */
tl_batch tl_batch_of(const tl_plan *plan, const tally_view *in);
tally_status tl_batch_data(tl_gpu_device *d, const tally_view *v, int64_t bytes, tl_batch *b);
void tl_batch_close(tl_gpu_device *d, tl_batch *b);

/* The number of full nodes of a level in a sequence of n elements (level_count of
 * gpu/kernel/batch.cl). */
int64_t tl_level_count(int64_t n, int level);

/* True if the batch has so many columns that each lane takes one. */
int tl_batch_across(const tl_batch *b);

/* The groups of 2^columns_log columns. */
static inline int64_t tl_column_groups(const tl_batch *b)
{
    return ((b->rows - 1) >> b->columns_log) + 1;
}

/* The arguments that nearly every kernel begins with, for all sequences or only for the long
 * ones. */
typedef enum { TL_ALL_SEQUENCES, TL_LONG_SEQUENCES } tl_which;
tl_arguments_batch tl_batch_arguments(const tl_batch *b, tl_which which);

/* Makes them once for the launches of a verb: sets b->all and b->long_sequences, which point into
 * *stored. */
typedef struct {
    tl_arguments_batch all, long_sequences;
} tl_stored_arguments;

void tl_batch_store_arguments(tl_batch *b, tl_stored_arguments *stored);

/* Where results go: the caller's device memory, or a dense copy on the device that tl_results_close
 * copies to the host. */
typedef struct {
    const tally_view *view;
    tl_memory y;
    int owned;
    int64_t bytes;                    /* of a result */
    int64_t byte, row_stride, stride; /* of the results on the device */
    /* owned: the range of the dense copy, in bytes from its element 0 */
    int64_t low, high;
    tl_arguments_results arguments; /* tl_results_arguments, of the results as opened */
} tl_results;

tally_status tl_results_open(tl_gpu_device *d, const tally_view *out, int64_t bytes, tl_results *r);

/* Copies a dense copy to the host, and waits for the results where the caller does not. r: what
 * tl_results_open has filled, or all 0. Returns `status`, or the error that it meets. */
tally_status tl_results_close(tl_gpu_device *d, tl_results *r, int waits, tally_status status);
tl_arguments_results tl_results_arguments(const tl_results *r);

/* ---- prepare.c: views with validity, and of two inputs; between enter and leave ---- */

/* An element type as the number that kernels know it by (gpu/kernel/constants.h). */
int64_t tl_gpu_type(tally_dtype d);

/* An input on the device. data, bit: the place of the element that is read first. */
typedef struct {
    tl_array data, bits;
    int64_t bit, inner, outer, type;
} tl_gpu_input;

/* Dense elements on the device, as the kernels take them. */
typedef struct tl_prepared {
    tl_plan plan, count_plan;
    /* counted: there is a byte for each element, 1 if it counts, and count_plan adds them */
    tally_view view, count_view;
    tl_memory memory, counts;
    int counted;
} tl_prepared;

/* True if the elements of each window must be counted, because the call has a minimum count. */
int tl_is_counted(const tl_call *c);

/* Prepares the elements of a call whose form is not of states. Call tl_prepared_close after a
 * failure too. */
tally_status tl_prepare(tl_gpu_device *d, const tl_call *c, int counted, tl_prepared *p);
void tl_prepared_close(tl_gpu_device *d, tl_prepared *p);

/* A batch whose kernels read the caller's arrays themselves (gpu/kernel/inputs/in_place.cl). */
typedef struct tl_in_place {
    tl_gpu_input x, y; /* y: the same as x if there is one input */
    tl_plan plan;      /* for form->op as the kernels see it */
    int64_t fill;
    int bits; /* true: there are bitmaps */
} tl_in_place;

/* True if the kernels can read the call's arrays themselves. */
int tl_in_place_takes(tl_gpu_device *d, const tl_call *c);

/* Opens batch b, and *p for it. Close both after a failure too. */
tally_status tl_in_place_open(tl_gpu_device *d, const tl_form *form, const tally_view *in,
                              tl_in_place *p, tl_batch *b);
void tl_in_place_close(tl_gpu_device *d, tl_in_place *p);

/* ---- exact.c ---- */

/* marked: elements of -0 are left out. */
typedef struct {
    const tl_scalar *op;
    double ddof;
    int marked;
} tl_exact_plan;

/* Exact sums of a view's rows, and statistics of them. Two inputs: the view's next is the second,
 * or the elements are pairs that tl_prepare made. */
tally_status tl_gpu_exact_whole(tl_gpu_device *d, const tl_exact_plan *plan, const tally_view *in,
                                const tally_view *out);

/* Does it compute the reduction? Not of integers; a statistic only of at most 4096 rows, and of two
 * inputs only if all elements count. */
int tl_gpu_exact_takes(const tl_gpu_device *d, const tl_scalar *op, int marked,
                       const tally_view *in);

/* ---- short.c ---- */

/* Sequences that are shorter than a chunk. */

/* The initial values of a scan's sequences. */
typedef tl_arguments_seeding tl_before;

/* The program of a batch: segments have another. */
tally_status tl_program_of(const tl_launch *l, const tl_batch *b, tl_launch *to);
tally_status tl_segmented_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r);
tally_status tl_segmented_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                               const tl_before *from);

/* Sequences of some chunks, one warp each. */

/* True if one warp per sequence is faster, if b's sequences have `elements` elements in all. */
int tl_by_warp_pays(const tl_gpu_device *d, const tl_batch *b, int64_t elements, int scan);

/* True if the warp-per-sequence kernel takes b's sequences of less than BY_WARP_END elements. */
int tl_by_warp_takes(const tl_gpu_device *d, const tl_batch *b, int scan);
tally_status tl_by_warp_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r);
tally_status tl_by_warp_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                             const tl_before *from);

/* ---- launch.c: copies, whose times are measured if tally_time asked for it ---------- */

/* Issues a copy; 0 bytes: does nothing. tl_gpu_write, tl_gpu_read: of any host memory, after the
 * work that the stream has so far. */
tally_status tl_gpu_transfer(tl_gpu_device *d, const tl_copy *copy);
tally_status tl_gpu_write(tl_gpu_device *d, const tl_memory *to, size_t offset, const void *from,
                          size_t bytes);
tally_status tl_gpu_read(tl_gpu_device *d, void *to, const tl_memory *from, size_t offset,
                         size_t bytes);

/* Writes to an address of this device as tl_gpu_write does, or to host memory. */
tally_status tl_gpu_put(tl_gpu_device *d, void *to, const void *from, size_t bytes);

/* Drops the spans of time that are not known yet. */
void tl_clock_drop(tl_gpu_device *d);

/* ---- call/segments.c; between enter and leave ---- */

/* Runs a call whose views fit the device. A scan goes forward: a reversed one has views with
 * negative strides. piece: NULL, or the piece of a larger call that it is. */
tally_status tl_gpu_whole(tl_gpu_device *d, const tl_call *c, const tl_piece *piece);

/* After the batch is opened. status: of opening it; after an error only waits for issued work. */
tally_status tl_gpu_batch(tl_gpu_device *d, const tl_call *c, tl_batch *b, tally_status status);

/* ---- calls of their own kind; between enter and leave. *done is 0 at first, and stays so if the
 * device does not do the call (tl_device_calls.run) ---- */

tally_status tl_segments_run(tl_gpu_device *d, const tl_call *c, int *done);
tally_status tl_key_runs(tl_gpu_device *d, const tl_call *c, int *done);
tally_status tl_gather(tl_gpu_device *d, const tl_call *c, int *done);

/* ---- reduce.c, scan.c, window/: launch the kernels of a verb on an open batch. Of c, only the
 * options and the layout of the output are used ---- */

tally_status tl_reduce_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                             const tl_call *c);
tally_status tl_scan_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                           const tl_call *c);
tally_status tl_window_batch(tl_gpu_device *d, const tl_batch *b, const tl_results *r,
                             const tl_call *c);

/* Computes the nodes of all levels of the long sequences, one launch per level. The caller gives
 * *nodes back. */
tally_status tl_make_nodes(const tl_launch *l, const tl_batch *b, tl_memory *nodes);

/* ---- call/pieces.c ---- */

/* Runs a call whole, or in pieces: if its host arrays are large, or if device memory does not
 * suffice. */
tally_status tl_pieces_run(tl_gpu_device *d, const tl_call *c);

/* SPDX-License-Identifier: MIT
 * What the files of api/ share: checks of options, views and outputs; host copies of device memory,
 * for work that the processors do; where a call runs; calls on views with a validity bitmap or a
 * second input. */
#pragma once

#include "context/device.h"
#include "cpu/exact/exact.h"
#include "cpu/inputs/inputs.h"
#include "cpu/keys/keys.h"

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *options);
tally_status tl_check_window(tally *ctx, const tally_window_options *options);

/* Also refuses a negative bound and a step. what: begins the rest, as in "a stream takes". */
tally_status tl_check_streams(tally *ctx, const tally_window_options *options, const char *what);

/* Refuses a step, and edges that change lengths, for views with offsets. */
tally_status tl_check_step(tally *ctx, const tally_view *in, const tally_window_options *options);

/* Do the results have op's dtype? name: "out->", for the sentence. */
tally_status tl_check_output_dtype(tally *ctx, const tl_scalar *op, tally_dtype in,
                                   const tally_view *out, const char *name);

/* Checks out against in, whose sequences give `length` results each, and against the result type
 * of op. */
tally_status tl_check_output(tally *ctx, const tl_scalar *op, const tally_view *in,
                             const tally_view *out, int64_t length, int in_place);

/* Options and output of a scan or a window. named: the operator that was asked for. */
tally_status tl_check_call(tally *ctx, const tl_plan *plan, const tl_scalar *named,
                           const tl_call *call, const tally_view *in, const tally_view *out);

/* Checks the results of a reduction, one for each sequence, and makes them a view, rows of one. */
tally_status tl_check_results(tally *ctx, const tl_scalar *op, const tally_view *in, void *results,
                              tally_view *rows);

/* A view of one sequence of elements of `bytes` bytes, as a normal view in *v. bits: it may have
 * validity bits, and a next, which the copy has not. */
tally_status tl_check_sequence(tally *ctx, const tally_view *given, const char *name, int64_t bytes,
                               int bits, tally_view *v);

/* ---- views with validity, or pairs of views ---- */

static inline int tl_has_elements(const tally_view *v)
{
    return v->rows > 0 && (v->offsets || v->n > 0);
}

/* Checks the view `name` and its next, with offsets on the host, and copies them. */
tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next);

/* Checks one view with validity, except where its memory is. */
tally_status tl_input_check(tally *ctx, const tally_view *given, const char *name);

/* Refuses results, of `bytes` bytes each, that overlap the second input or a bitmap. Only `in`
 * itself may be overwritten in place. */
tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out,
                             int64_t bytes);

/* tl_view_normal; and sequences of one element become dense if they can. */
void tl_inputs_normal(tally_view *v);

/* The bytes that have the validity bits of a checked view, as a view; none if it has no bits. */
tally_view tl_bits_bytes(const tally_view *v);

/* Checks the validity bits of a view that is checked otherwise: no bit is before the first. */
tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name);

/* ---- sum:checked (checked.c): sums of integers that 64 bits must hold. The operator is `sum`; its
 * results are first computed in 128 bits, so nothing is written where one does not fit ---- */

/* Is the operator NAME:checked? */
int tl_is_checked(const char *op);

/* Checks a call of `op`, which may be any operator, on views that may be wrong (then it does
 * nothing) and in memory of any kind. ranges: NULL, or those of one sequence. A result that does
 * not fit is TALLY_BAD_DATA; the sentence names its place. */
tally_status tl_check_sums(tally *ctx, const char *op, const tl_call *call,
                           const tl_ranges *ranges);

/* Streams and fragments keep the total of each sequence or group. */
typedef __int128 tl_total;

/* A scan: its results are the running totals. first: the number of the next element. */
typedef struct {
    const tally_view *out;
    int exclusive;
    int64_t first;
} tl_running;

/* Adds a checked view of memory of any kind. running: NULL, or a scan, whose results must all fit;
 * else nothing changes. */
tally_status tl_totals_add(tally *ctx, tl_total *totals, const tally_view *in,
                           const tl_running *running);

/* Adds n dense elements in host memory to the totals of their groups. */
void tl_totals_of_groups(tl_total *totals, tally_dtype dtype, const void *x, const int32_t *codes,
                         int64_t n);

/* Writes totals, if all fit, to host memory. of: what each belongs to, as "sequence". */
tally_status tl_totals_result(tally *ctx, const tl_total *totals, int64_t count, tally_dtype dtype,
                              const char *of, void *out);

/* ---- host copies of device memory (run.c) ---- */

/* The copies of one call. */
typedef struct {
    tally *ctx;
    struct {
        void *of;
        char *copy;
        size_t bytes;
        int back;
    } one[12];
    int count;
} tl_host_copies;

/* Makes *p host memory: a copy of its bytes low .. high - 1 if p is device memory. back: they will
 * be written. Several devices cannot copy, and refuse device memory. */
tally_status tl_host_copy(tl_host_copies *c, void **p, int64_t low, int64_t high, int back);

/* tl_host_copy for a view's elements, of `bytes` bytes each, and its validity bits; not for the
 * view's next. */
tally_status tl_host_view(tl_host_copies *c, tally_view *v, int64_t bytes, int back);

/* Copies the memory of both views to the host, if it is device memory. */
tally_status tl_inputs_bring(tl_host_copies *copies, tally_view *in, tally_view *next);

/* As tl_host_copy, for `count` integers. */
tally_status tl_host_numbers(tl_host_copies *c, int64_t **p, int64_t count, int back,
                             const char *name);

/* Copies written copies back. */
tally_status tl_host_back(const tl_host_copies *c);
void tl_host_close(tl_host_copies *c);

/* The copies of a call, which are freed where the block ends. */
#define TL_HOST_COPIES(name, context) \
    __attribute__((cleanup(tl_host_close))) tl_host_copies name = {.ctx = context}

/* As tl_host_copy, for v's offsets. */
tally_status tl_host_offsets(tl_host_copies *c, const char *name, tally_view *v);

/* Copies the views of a call, with their offsets: to *in, its second input to *next, the output, if
 * any, to *out. */
tally_status tl_host_call(tl_host_copies *c, const tl_call *call, tally_view *in, tally_view *next,
                          tally_view *out);

/* ---- where a call runs (run.c) ---- */

/* Checked and normal views: on the device, or on the processors if it does not compute the call. */
tally_status tl_run_checked(tally *ctx, const tl_call *call);

/* ---- the verbs on views with validity, or with two inputs (inputs.c): on the device if it
 * supports the call ---- */

static inline int tl_has_inputs(const tally_view *in) { return in && (in->valid || in->next); }

/* call: the verb, its views and its options; its plan is NULL, or one of the processors, for views
 * in host memory, whose name is then op. results: of a reduction. */
tally_status tl_inputs_run(tally *ctx, const char *op, const tl_call *call, void *results);

/* tally_window_ranges of one sequence; ranges, results and view are checked. */
tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in,
                              const tl_ranges *ranges, const tally_view *out);

/* Adds each row of a view in host memory to the exact sums of that row (exact.c). out: NULL, or
 * gets the running results, with `scan`. */
tally_status tl_job_exact_rows(tally *ctx, const tl_call *call, tl_exact *sum);

/* Opens the feed by which a stream or a fragment takes a view with this plan (tl_feed_begin).
 * absent: elements may be left out. */
tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states,
                          tl_feed *feed);

/* ---- validity of results (validity.c) ---- */

/* Validity bits of results, for a scan or a window with out->valid. begin computes the bits before
 * the verb, which may overwrite its input; end writes them if the verb succeeded, and frees v, also
 * after a begin that failed. */
typedef struct tl_validity tl_validity;
tally_status tl_validity_begin(tally *ctx, const char *op, const tl_call *call, tl_validity **v);
tally_status tl_validity_end(tl_validity *v, tally_status status);

/* ---- a call ----
 *
 * One call of a verb on views with validity or two inputs. It is opened; tried on the device; if
 * the device does not support it, prepared for the processors (tl_job_to_host, tl_job_prepare); and
 * closed, also after a failure. */

/* in, next: the caller's checked view and its second input. out: the caller's output. */
typedef struct {
    tally *ctx;
    tl_form form;
    tally_view in, next, out;
    int here; /* 1: on the processors, and all memory is host memory */
    tl_host_copies copies;
    tl_prepared ready; /* both plans; after tl_job_prepare, what they read */
    char *results;     /* dense results, which are then copied to the caller's strides */
} tl_job;

/* A call that is closed where the block ends. Before that it must have been opened. */
#define TL_JOB(name) __attribute__((cleanup(tl_job_close))) tl_job name

/* Reads of the call: in; out, NULL or the results of a scan or of windows; plan, NULL or the
 * operator that was resolved when a stream was opened. here: 1 for the processors and host memory
 * only. */
tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_call *call, int here);
void tl_job_close(tl_job *j);

/* Copies device memory to the host, for the processors. */
tally_status tl_job_to_host(tl_job *j, tally_view *out);

/* Prepares j->ready, so that it can run. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse);

/* Dense results of `bytes` bytes each, for an output that has strides or is written backwards; then
 * copied to it. */
tally_status tl_job_results(tl_job *j, const tally_view *out, int64_t bytes, tally_view *dense);
void tl_job_scatter(const tally_view *dense, const tally_view *out, int64_t bytes, int reverse);

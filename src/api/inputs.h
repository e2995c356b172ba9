/* SPDX-License-Identifier: MIT
 * The three verbs on views with a validity bitmap or a second input. The device runs them if it
 * supports the call, else the processors do. */
#ifndef TALLY_API_INPUTS_H
#define TALLY_API_INPUTS_H

#include "checks.h"
#include "context/device.h"
#include "context/inputs.h"
#include "cpu/exact/exact.h"
#include "cpu/inputs/inputs.h"
#include "cpu/keys/keys.h"

static inline int tl_has_inputs(const tally_view *in) { return in && (in->valid || in->next); }

/* call: the verb, its views and its options; its plan is NULL, or one of the processors, for views
 * in host memory, whose name is then op. results: of a reduction. */
tally_status tl_inputs_run(tally *ctx, const char *op, const tl_call *call, void *results);

/* tally_window_ranges of one sequence. The ranges and the view of results are checked; the view
 * is normal. */
tally_status tl_inputs_ranges(tally *ctx, const char *op, const tally_view *in,
                              const tl_ranges *ranges, const tally_view *out);

/* Adds each row of a checked and normal view in host memory to the exact sums of that row
 * (exact.c). call: its plan and `in`; out is NULL, or gets the running results, with `scan`. */
tally_status tl_job_exact_rows(tally *ctx, const tl_call *call, tl_exact *sum);

/* Opens the feed by which a stream or a fragment takes a view with this plan (tl_feed_begin).
 * absent: elements may be left out. */
tally_status tl_feed_open(tally *ctx, const tl_plan *plan, int absent, int by_states,
                          tl_feed *feed);

/* ---- validity of results (validity.c) ---- */

/* Validity bits of results, for a scan or a window with out->valid. begin computes and checks the
 * bits before the verb, which may overwrite its input; the call's plan is not read. end writes
 * them if status, the verb's, is TALLY_OK, and frees v, also after a begin that failed. */
typedef struct tl_validity tl_validity;
tally_status tl_validity_begin(tally *ctx, const char *op, const tl_call *call, tl_validity **v);
tally_status tl_validity_end(tl_validity *v, tally_status status);

/* ---- a call ----
 *
 * One call of a verb on views with validity or two inputs. It is opened; tried on the device
 * (tl_job_on_device); if the device does not support it, prepared for the processors
 * (tl_job_to_host, tl_job_prepare); and closed, also after a failure. */

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

/* Reads of the call: in; out, NULL or the results of a scan or of windows; plan, NULL or the
 * operator that was resolved when a stream was opened. here: 1 for the processors and host memory
 * only. */
tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_call *call, int here);
void tl_job_close(tl_job *j);

/* Tries the call on the device; *done as for tl_device_calls.run. verb: the verb, its results and
 * its options. */
tally_status tl_job_on_device(tl_job *j, const tl_call *verb, int *done);

/* Copies device memory to the host, for the processors. */
tally_status tl_job_to_host(tl_job *j, tally_view *out);
void tl_job_normal(tl_job *j);

/* Prepares j->ready, so that it can run. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse);

/* Allocates dense results of `bytes` bytes each, for an output that has strides or is written
 * backwards; and copies them to it. */
tally_status tl_job_results(tl_job *j, const tally_view *out, int64_t bytes, tally_view *dense);
void tl_job_scatter(const tally_view *dense, const tally_view *out, int64_t bytes, int reverse);

#endif

/* SPDX-License-Identifier: MIT
 * One call of a verb on views with validity or two inputs. It is opened; tried on the device
 * (tl_job_on_device); if the device does not support it, prepared for the processors
 * (tl_job_to_host, tl_job_prepare); and closed, also after a failure. */
#ifndef TALLY_API_INPUTS_JOB_H
#define TALLY_API_INPUTS_JOB_H

#include "checks.h"
#include "context/device.h"
#include "context/inputs.h"
#include "cpu/inputs/gather.h"

/* in, next: the caller's checked view and its second input. out: the caller's output. work,
 * work_next: what the plan reads. */
typedef struct {
    tally *ctx;
    tl_form form;
    tally_view in, next, out, work, work_next;
    int here;            /* 1: on the processors, and all memory is host memory */
    int64_t *offsets[3]; /* host copies of offsets in device memory */
    tl_host_copies copies;
    tl_plan plan, count;
    tl_gather gather, counting;
    tl_gathered gathered, counts;
    char *results; /* dense results, which are then copied to the caller's strides */
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

/* Prepares j->plan, j->count and j->work, so that they can run. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse);

/* The counts of gathered elements, from the first element of a view on. */
const float *tl_job_there(const tl_job *j);

#endif

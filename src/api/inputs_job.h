/* SPDX-License-Identifier: MIT
 * A call of a verb on views with validity, or of two inputs: opened, tried on the device
 * (tl_job_on_device), else made ready for the processors (tl_job_to_host, tl_job_prepare), and
 * closed, also after a failure. */
#ifndef TALLY_API_INPUTS_JOB_H
#define TALLY_API_INPUTS_JOB_H
#include "checks.h"
#include "context/device.h"
#include "context/inputs.h"
#include "cpu/inputs/gather.h"

/* in: the caller's view, checked, and its second one; out; work: what the plan reads, with its
   second one. */
typedef struct {
    tally *ctx;
    tl_form form;
    tally_view in, next, out, work, work_next;
    int here;            /* no road and no memory of the device */
    int64_t *offsets[3]; /* copies of those that are the device's memory */
    tl_host_copies copies;
    tl_plan plan, count;
    tl_gather gather, counting;
    tl_gathered made, counts;
    char *results; /* dense, before they go where the caller's have strides */
} tl_job;

/* named: NULL, or the operator that op was when a stream was opened. out: NULL, or the results
 * of a scan or of windows. here: no road and no memory of the device. */
tally_status tl_job_open(tl_job *j, tally *ctx, const char *op, const tl_plan *named,
                         const tally_view *in, const tally_view *out, int here);
void tl_job_close(tl_job *j);

/* The device's own road; *done as for tl_device_calls.inputs. */
tally_status tl_job_on_device(tl_job *j, tl_verb verb, const tally_view *out,
                              const tally_scan_options *scan, const tally_window_options *window,
                              int *done);
/* What is the device's memory is copied for the processors. */
tally_status tl_job_to_host(tl_job *j, tally_view *out);
void tl_job_normal(tl_job *j);
/* j->plan, j->count and j->work are ready to run. */
tally_status tl_job_prepare(tl_job *j, const tally_view *out, int reverse);
/* Counts of dense copies, from the first element of a view on. */
const float *tl_job_there(const tl_job *j);
#endif

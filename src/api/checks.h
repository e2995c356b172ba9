/* SPDX-License-Identifier: MIT
 * Checks of options and outputs; and host copies of device memory, for work that the processors
 * do. */
#ifndef TALLY_API_CHECKS_H
#define TALLY_API_CHECKS_H

#include "context/device.h"
#include "context/call.h"
#include "context/context.h"

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *options);
tally_status tl_check_window(tally *ctx, const tally_window_options *options);

/* Refuses a step, and edges that change lengths, for views with offsets. */
tally_status tl_check_step(tally *ctx, const tally_view *in, const tally_window_options *options);

/* Checks that the results have the dtype of op's. name: "out->", for the sentence. */
tally_status tl_check_output_dtype(tally *ctx, const tl_scalar *op, tally_dtype in,
                                   const tally_view *out, const char *name);

/* Checks out against in, whose sequences give `length` results each, and against the result type
 * of op. */
tally_status tl_check_output(tally *ctx, const tl_scalar *op, const tally_view *in,
                             const tally_view *out, int64_t length, int in_place);

/* Checks the options and the output of a scan or a window. plan: which runs; named: the operator
 * that was asked for. */
tally_status tl_check_call(tally *ctx, const tl_plan *plan, const tl_scalar *named,
                           const tl_call *call, const tally_view *in, const tally_view *out);

/* Checks the results of a reduction, one for each sequence of `in`, and makes them a view, rows of
 * one result. */
tally_status tl_check_results(tally *ctx, const tl_scalar *op, const tally_view *in, void *results,
                              tally_view *rows);

/* Checks that a view is one sequence of elements of `bytes` bytes, and copies it to *v as a normal
 * view. */
tally_status tl_check_sequence(tally *ctx, const tally_view *given, const char *name, int64_t bytes,
                               tally_view *v);

/* ---- copies ---- */

/* The copies of one call. Begins with ctx. */
typedef struct tl_host_copies {
    tally *ctx;
    struct {
        void *of;
        char *copy;
        size_t bytes;
        int back;
    } one[12];
    int count;
} tl_host_copies;

/* Makes *p host memory: a copy of its bytes low .. high - 1 if p is device memory. back: the
 * bytes will be written. A context of several devices cannot copy and refuses device memory. */
tally_status tl_host_copy(tl_host_copies *c, void **p, int64_t low, int64_t high, int back);

/* The same for a view's elements, of `bytes` bytes each, and its validity bits; not for the
 * view's next. */
tally_status tl_host_view(tl_host_copies *c, tally_view *v, int64_t bytes, int back);

/* The same for `count` integers. */
tally_status tl_host_numbers(tl_host_copies *c, int64_t **p, int64_t count, int back,
                             const char *name);

/* Ends a call that may have written copies: copies them back if status is TALLY_OK, and frees
 * them. */
tally_status tl_host_end(tl_host_copies *c, tally_status status);

/* Copies written copies back. */
tally_status tl_host_back(const tl_host_copies *c);
void tl_host_close(tl_host_copies *c);

/* The same for v's offsets. */
tally_status tl_host_offsets(tl_host_copies *c, const char *name, tally_view *v);

/* Copies the views of a call, with their offsets on the host: to *in, its second input to *next
 * and, if there is one, the output to *out. */
tally_status tl_host_call(tl_host_copies *c, const tl_call *call, tally_view *in, tally_view *next,
                          tally_view *out);

/* ---- run.c: where a call runs ---- */

/* Runs a call on checked and normal views: on the device, or on the processors if the device does
 * not compute it. */
tally_status tl_run_checked(tally *ctx, const tl_call *call);

/* Runs such a call on the processors; all arrays are in host memory. call->plan is for
 * processors. */
tally_status tl_run_host(tally *ctx, const tl_call *call);

/* ---- probe.c: the start-up probe ---- */

/* Compares S(1) .. S(4096) of the vectors of probe.def, computed by the device, with the law in
 * scalar C. If they differ, returns TALLY_NO_DEVICE, and the sentence names the row and both bit
 * patterns. A pass is recorded in this process and in the folder of compiled programs, under
 * `identity` (the device's name and driver), tally's version and the programs' texts. Devices
 * whose kernels are compiled with the library (calls->text is NULL) pass. */
tally_status tl_probe(tally *ctx, const char *identity);

#endif

/* SPDX-License-Identifier: MIT
 * Checks of options, views and outputs; host copies of device memory, for work that the processors
 * do; and where a call runs. */
#ifndef TALLY_API_CHECKS_H
#define TALLY_API_CHECKS_H

#include "context/device.h"
#include "cpu/keys/keys.h"

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *options);
tally_status tl_check_window(tally *ctx, const tally_window_options *options);

/* The same; and refuses a negative bound and a step. what: begins the rest, "a stream takes". */
tally_status tl_check_streams(tally *ctx, const tally_window_options *options, const char *what);

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
 * view. bits: it may have validity bits, and a next, which the copy has not. */
tally_status tl_check_sequence(tally *ctx, const tally_view *given, const char *name, int64_t bytes,
                               int bits, tally_view *v);

/* ---- views with validity, or pairs of views ---- */

static inline int tl_has_elements(const tally_view *v)
{
    return v->rows > 0 && (v->offsets || v->n > 0);
}

/* Checks the view `name` and its next, if there is one, with offsets on the host, and copies them
 * to *in and *next. */
tally_status tl_inputs_check(tally *ctx, const tally_view *given, const char *name, tally_view *in,
                             tally_view *next);

/* Checks one view with validity, except where its memory is. */
tally_status tl_input_check(tally *ctx, const tally_view *given, const char *name);

/* Refuses results, of `bytes` bytes each, that overlap the second input or a bitmap. Only `in`
 * itself may be overwritten in place. */
tally_status tl_inputs_apart(tally *ctx, const tally_view *in, const tally_view *out,
                             int64_t bytes);

/* tl_view_normal; and sequences of one element become dense if they can, because no stride
 * matters. */
void tl_inputs_normal(tally_view *v);

/* The bytes that have the validity bits of a checked view, as a view; none if it has no bits. */
tally_view tl_bits_bytes(const tally_view *v);

/* Checks the validity bits of a view that is checked otherwise: no bit is before the first. */
tally_status tl_bits_check(tally *ctx, const tally_view *v, const char *name);

/* ---- sum:checked (checked.c) ----
 *
 * Sums of integers that 64 bits must hold. The operator is `sum`; before a call its results are
 * computed in 128 bits, so nothing is written where one does not fit. */

/* Is the operator NAME:checked? */
int tl_is_checked(const char *op);

/* Checks a call of `op`, which may be any operator, on views that may be wrong (then it does
 * nothing) and in memory of any kind. call: verb, in, scan, window. ranges: NULL, or those of one
 * sequence. A result that does not fit is TALLY_BAD_DATA; the sentence names its place. */
tally_status tl_check_sums(tally *ctx, const char *op, const tl_call *call,
                           const tl_ranges *ranges);

/* Streams and fragments keep the total of each sequence or group. */
typedef __int128 tl_total;

/* A scan: its results are the running totals. first: the number of the next element. */
typedef struct tl_running {
    const tally_view *out;
    int exclusive;
    int64_t first;
} tl_running;

/* Adds a checked view of memory of any kind. running: NULL, or a scan, of which every result must
 * fit; else nothing changes. */
tally_status tl_totals_add(tally *ctx, tl_total *totals, const tally_view *in,
                           const tl_running *running);

/* Adds n dense elements in host memory to the totals of their groups. */
void tl_totals_of_groups(tl_total *totals, tally_dtype dtype, const void *x, const int32_t *codes,
                         int64_t n);

/* Writes totals of type `dtype`, if all of them fit, to host memory. of: what each belongs to, as
 * "sequence". */
tally_status tl_totals_result(tally *ctx, const tl_total *totals, int64_t count, tally_dtype dtype,
                              const char *of, void *out);

/* ---- host copies of device memory (run.c) ---- */

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

/* Copies the memory of both views to the host, if it is device memory. */
tally_status tl_inputs_bring(tl_host_copies *copies, tally_view *in, tally_view *next);

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

/* ---- where a call runs (run.c) ---- */

/* Runs a call on checked and normal views: on the device, or on the processors if the device does
 * not compute it. */
tally_status tl_run_checked(tally *ctx, const tl_call *call);

/* ---- probe.c: the start-up probe ---- */

/* Compares S(1) .. S(4096) of the vectors of probe.def, computed by the device, with the law in
 * scalar C. If they differ, returns TALLY_NO_DEVICE, and the sentence names the row and both bit
 * patterns. A pass is recorded in this process and in the folder of compiled programs, under
 * `identity` (the device's name and driver), tally's version and the programs' texts. Devices
 * whose kernels are compiled with the library (calls->text is NULL) pass. */
tally_status tl_probe(tally *ctx, const char *identity);

#endif

/* SPDX-License-Identifier: MIT
 * Several devices of one machine as one context. Its members are contexts of one device each, with
 * their own errors, programs and memory. While a call runs, each member has a thread.
 *
 *   a view on the host          members get shares of its rows, or slices of its long sequences
 *   a view in device memory     the member that has the memory does the call
 *   a sequence in parts         member k does part k, which lies in its memory
 *
 * A member folds its slice to nodes of the order. The state before each slice then follows from the
 * nodes alone, and a scan continues from there:
 *
 *   sequence     | slice 0      | slice 1      | slice 2      |
 *   fold         nodes          nodes          nodes             each by its member
 *   join         S(0)           S(a)           S(b)              on the host (law/counter.h)
 *   scan         from S(0)      from S(a)      from S(b)         each by its member
 *
 * A file may call functions of those after it: many.c, split.c, slices.c (README.md). */
#pragma once

#include "context/device.h"
#include "context/view.h"

enum { TL_MEMBERS_MOST = 16 };

/* The members that do a call. ctx gets the message of a failure. */
typedef struct {
    tally *ctx;
    tally *const *member;
    int count;
} tl_devices;

/* Opens a device made of `count` contexts, each with another device. The contexts stay the
 * caller's, and must live longer. name: the string of tally_isa. */
tally_status tl_many_open(tally *ctx, const char *name, tally *const *members, int count,
                          tl_device **device);

/* Returns the members of a context; a context without members is its own only member. */
tl_devices tl_devices_of(tally *const *ctx);

/* ---- split.c: parts[k] is the next slab of one sequence, dense, in the memory of member k or of
 * the host ---- */

tally_status tl_split_reduce(const tl_devices *t, const tl_plan *plan, const tally_view *parts,
                             int count, void *out);

/* The results of part k go to outs[k], which may be parts[k]. Forward scans only. */
tally_status tl_split_scan(const tl_devices *t, const tl_plan *plan, const tally_view *parts,
                           int count, const tally_view *outs, const tally_scan_options *o);

/* The call's in and out point to `count` views: the parts, and the results of each. */
tally_status tl_split_window(const tl_devices *t, const tl_call *call, int count);

/* Returns the number of results of a part, which has elements start to start + n - 1 of `all`.
 * *first: the index of the first result's element. */
int64_t tl_split_length(int64_t start, int64_t n, int64_t all, const tally_window_options *o,
                        int64_t *first);

/* Checks that p, which the message calls `what`[k], is not memory of another member than k. */
tally_status tl_split_check(const tl_devices *t, const char *what, int k, const void *p);

/* ---- slices.c: n elements on the host; functions as in context/device.h ---- */

tally_status tl_sliced_push(const tl_devices *t, const tl_push *p);

/* TL_WINDOW of one dense sequence. */
tally_status tl_sliced_windows(const tl_devices *t, const tl_call *call);

/* True if a sequence of n elements is long enough to be cut. window: the elements
 * of a window, or 0. */
int tl_slicing_pays(const tl_devices *t, const tl_plan *plan, int64_t n, int64_t window);

/* One member's part of a call, in any thread. The message of a failure is in the member's
 * context. */
typedef tally_status (*tl_task)(tally *member, int k, void *data);

/* Runs the parts of all members. Returns the failure of the first member that failed; the message
 * names it. */
tally_status tl_devices_run(const tl_devices *t, tl_task task, void *data);

/* Copies the message of member k's failure to t->ctx, with the member's name. Returns status. */
tally_status tl_devices_fail(const tl_devices *t, int k, tally_status status);

/* Runs a plain call, on checked views, on the device of one member. */
tally_status tl_member_run(tl_device *d, tally *ctx, const tl_call *call);

/* Copies between host memory and that of a member. The second reports a failure by
 * tl_devices_fail. */
tally_status tl_member_copy(tally *member, void *to, const void *from, int64_t bytes);
tally_status tl_devices_copy(const tl_devices *t, int k, void *to, const void *from, int64_t bytes);

/* *who: the member that has the memory p; -1: host memory. */
tally_status tl_devices_owner(const tl_devices *t, const void *p, int *who);

/* *who: the one member that has the memory of these arrays (p NULL: skipped); -1: host memory. An
 * error if they belong to two. hint: end of that message. */
typedef struct {
    const char *name;
    const void *p;
} tl_argument;

tally_status tl_devices_one_owner(const tl_devices *t, const tl_argument *all, int count,
                                  const char *hint, int *who);

/* Elements start to start + n - 1 at x, for one member. */
typedef struct {
    int member;
    const char *x;
    char *out;
    int64_t start, n;
    tl_counter nodes; /* filled by tl_slices_push */
    tl_scan scan;     /* scan: the state before the slice */
} tl_member_slice;

/* Allocates `count` slices; the caller frees them. */
tally_status tl_slices_new(const tl_devices *t, int count, tl_member_slice **slices);

/* TL_REDUCE: the nodes of every slice. TL_SCAN: scans every slice from the state in its `scan`,
 * afterwards that after the slice. */
tally_status tl_slices_push(const tl_devices *t, tl_verb verb, const tl_plan *plan,
                            tl_member_slice *slices, int count);

/* The windows of elements `from` to to - 1 of a sequence of `all` elements, for one member. */
typedef struct {
    const tl_call *call; /* its plans and its options */
    const char *x;       /* host memory: element `start` and all that the windows need */
    int64_t start, all, from, to;
    char *out; /* host memory: the result of element `from` */
} tl_window_part;

tally_status tl_member_windows(tally *member, const tl_window_part *w);

/* SPDX-License-Identifier: MIT
 * Several devices of one machine as one context. Its members are contexts of one device each,
 * with errors, programs and memory of their own; while a call runs, a thread drives each of
 * them.
 *
 *   a view on the host          members get shares of its rows, or slices of its long sequences
 *   a view in device memory     the member whose memory it is does the call
 *   a sequence in parts         member k does part k, which lies in its memory
 *
 * A slice is folded by its member to nodes of the order. What comes before a slice is then known
 * to all, from the nodes alone, and a scan goes on from there:
 *
 *   sequence     | slice 0      | slice 1      | slice 2      |
 *   fold         nodes          nodes          nodes             each by its member
 *   join         S(0)           S(a)           S(b)              on the host (law/counter.h)
 *   scan         from S(0)      from S(a)      from S(b)         each by its member
 *
 * A file sees those below it:
 *
 *   many.c   the device's calls        split.c   a sequence in parts
 *   along.c  sequences on the host, cut along
 *   near.c   what one member does in its memory: keys, fields
 *   slices.c slices folded and scanned */
#ifndef TALLY_MANY_H
#define TALLY_MANY_H
#include "context/device.h"
#include "context/view.h"

enum { TL_MEMBERS_MOST = 16 };

/* Who does a call. ctx gets the sentence of a failure. */
typedef struct tl_team {
    tally *ctx;
    tally *const *member;
    int count;
} tl_team;

/* A device of `count` contexts, of which each has another device; they stay the caller's, and
 * live longer. `name`: what tally_isa says. */
tally_status tl_many_open(tally *ctx, const char *name, tally *const *members, int count,
                          tl_device **device);
/* The team of a context: its members, or itself. */
tl_team tl_team_of(tally *const *ctx);

/* ---- split.c: parts[k] is the next slab of one sequence, dense, in memory of member k or of the host ---- */

tally_status tl_split_reduce(const tl_team *t, const tl_plan *plan, const tally_view *parts,
                             int count, void *out);
/* The results of part k go to outs[k], which may be parts[k]. Forward scans. */
tally_status tl_split_scan(const tl_team *t, const tl_plan *plan, const tally_view *parts,
                           int count, const tally_view *outs, const tally_scan_options *o);
tally_status tl_split_window(const tl_team *t, const tl_plan *plan, const tl_plan *counts,
                             const tally_view *parts, int count, const tally_view *outs,
                             const tally_window_options *o);
/* The results that part k, elements start .. start + n - 1 of all, has of a window: of the
   elements *first and on. */
int64_t tl_split_length(int64_t start, int64_t n, int64_t all, const tally_window_options *o,
                        int64_t *first);
/* Refuses p, `what`[k], if it is memory of another member than k. */
tally_status tl_split_place(const tl_team *t, const char *what, int k, const void *p);

/* ---- along.c: n elements on the host, as the calls of a device (context/device.h) ---- */

tally_status tl_along_slab(const tl_team *t, const tl_plan *plan, const void *x, int64_t n,
                           tl_counter *c);
tally_status tl_along_scan(const tl_team *t, tl_scan *s, const void *x, int64_t n, void *out);
tally_status tl_along_slice(const tl_team *t, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *o, const void *x, int64_t n, int at_start,
                            int at_end, void *out, int64_t *produced);
/* Is a sequence of n elements worth cutting? overlap: elements that neighbouring slices share. */
int tl_along_worth(const tl_team *t, const tl_plan *plan, int64_t n, int64_t overlap);

/* ---- near.c: as the calls of a device ---- */

tally_status tl_near_runs(const tl_team *t, const tally_view *keys, int64_t *offsets, int64_t *runs,
                          int *done);
tally_status tl_near_gather(const tl_team *t, const tally_view *in, const int64_t *order,
                            const tally_view *out, int64_t *at, int64_t *place, int *done);
tally_status tl_near_grid(const tl_team *t, const tl_plan *plan, int64_t rows, const void *step,
                          tl_grid **grid);

/* ---- slices.c ---- */

/* A part of a call, by one member, in any thread; the sentence of a failure is in the
   member's context. */
typedef tally_status (*tl_task)(tally *member, int k, void *data);
/* All members' parts. The failure of the first member that failed, which the sentence names. */
tally_status tl_team_run(const tl_team *t, tl_task task, void *data);
/* A failure of member k as one of the team, with the member's name. */
tally_status tl_team_fail(const tl_team *t, int k, tally_status status);
/* The member whose memory p is; -1: it is the host's. */
tally_status tl_team_owner(const tl_team *t, const void *p, int *who);
/* The one member whose memory these arrays are (NULL: none); -1 if all are the host's. Refuses
 * arrays of two members; hint: what the sentence ends with. */
typedef struct tl_array {
    const char *name;
    const void *p;
} tl_array;
tally_status tl_team_one(const tl_team *t, const tl_array *all, int count, const char *hint,
                         int *who);
/* Elements start .. start + n - 1 at x, for this member. */
typedef struct tl_slice {
    int member;
    const char *x;
    char *out;
    int64_t start, n;
    tl_counter nodes;       /* made by tl_slices_fold */
    const tl_counter *mine; /* scan: NULL, or the nodes of this slice */
    tl_scan scan;           /* scan: what comes before */
} tl_slice;
/* Memory for `count` slices; the caller frees. */
tally_status tl_slices_new(const tl_team *t, int count, tl_slice **slices);
/* The nodes of every slice. */
tally_status tl_slices_fold(const tl_team *t, const tl_plan *plan, tl_slice *slices, int count);
/* Pushes the nodes of a slice that begins where c ends. */
void tl_slices_join(tl_counter *c, const tl_scalar *op, const tl_counter *nodes);
/* Every slice from what its scan has; that ends behind it. */
tally_status tl_slices_scan(const tl_team *t, tl_slice *slices, int count);
#endif

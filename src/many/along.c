/* SPDX-License-Identifier: MIT
 * Long sequences on the host, cut along their elements into a slice for each member. Cuts are at
 * multiples of a power of two that is as large as the pieces of a device, so that no slice begins
 * with small nodes.
 *
 * Before a scan, the nodes of all slices but the last are needed. All members fold these elements
 * together. So with two members a scan takes 1/4 + 1/2 of the time of one, with four 3/16 + 1/4. */
#include "many.h"
#include <stdlib.h>

enum { SLICES_A_MEMBER = 64 }; /* a cut is at most 1/64 of a slice from an even division */

/* The distance between places where a sequence may be cut, a power of two. */
static int64_t grain_of(const tl_team *t, const tl_plan *plan, int64_t n)
{
    const tl_device *d = t->member[0]->device;
    const int64_t bytes = plan->op->elem_bytes > plan->op->result_bytes ? plan->op->elem_bytes
                                                                        : plan->op->result_bytes;
    const int64_t least = ((d->calls->least ? d->calls->least(d) : 0) + bytes - 1) / bytes;
    const int64_t share = n / ((int64_t)SLICES_A_MEMBER * t->count),
                  want = least > share ? least : share;
    return want <= 1 ? 1 : (int64_t)1 << (tl_top_level(want - 1) + 1);
}

/* Cuts n elements and returns the number of slices. cuts[k]: where slice k begins; cuts[number]: n.
 * start: index of element 0. */
static int cut(const tl_team *t, const tl_plan *plan, int64_t start, int64_t n, int64_t overlap,
               int64_t *cuts)
{
    int64_t grain = grain_of(t, plan, n), least = grain > overlap ? grain : overlap;
    int count = n / least < t->count ? (int)(n / least) : t->count;
    if (count < 1) count = 1;
    for (int k = 0; k <= count; k++) {
        cuts[k] = (int64_t)((__int128)n * k / count);
        if (k && k < count && !overlap) cuts[k] = ((start + cuts[k]) & ~(grain - 1)) - start;
        if (cuts[k] < 0) cuts[k] = 0;
    }
    return count;
}

int tl_along_worth(const tl_team *t, const tl_plan *plan, int64_t n, int64_t overlap)
{
    int64_t cuts[TL_MEMBERS_MOST + 1];
    return cut(t, plan, 0, n, overlap, cuts) > 1;
}

tally_status tl_along_slab(const tl_team *t, const tl_plan *plan, const void *x, int64_t n,
                           tl_counter *c)
{
    int64_t cuts[TL_MEMBERS_MOST + 1];
    tl_slice *s;
    const int count = cut(t, plan, c->end, n, 0, cuts);
    tl_device *first = t->member[0]->device;
    if (count < 2) return first->calls->slab(first, t->ctx, plan, x, n, c);
    tally_status status = tl_slices_new(t, count, &s);
    if (status) return status;
    for (int k = 0; k < count; k++) {
        s[k].member = k;
        s[k].x = (const char *)x + cuts[k] * plan->op->elem_bytes;
        s[k].start = c->end + cuts[k];
        s[k].n = cuts[k + 1] - cuts[k];
    }
    status = tl_slices_fold(t, plan, s, count);
    for (int k = 0; !status && k < count; k++) tl_slices_join(c, plan->op, &s[k].nodes);
    free(s);
    return status;
}

/* Finds the state before each slice, for slices[k].scan: all members fold the slices but the last,
 * each cut into `count` parts. */
static tally_status find_starts(const tl_team *t, const tl_scan *before, tl_slice *slices,
                                int count)
{
    const tl_plan *plan = before->plan;
    const int parts = (count - 1) * count;
    tl_slice *p;
    tally_status status = tl_slices_new(t, parts, &p);
    if (status) return status;
    for (int i = 0; i < parts; i++) {
        const tl_slice *s = &slices[i / count];
        const int64_t grain = grain_of(t, plan, s->n), end = s->start + s->n;
        int64_t from = s->start + (int64_t)((__int128)s->n * (i % count) / count), to = end;
        if (i % count) from &= ~(grain - 1);
        if (from < s->start) from = s->start;
        if (i % count < count - 1)
            to = (s->start + (int64_t)((__int128)s->n * (i % count + 1) / count)) & ~(grain - 1);
        if (to < from) to = from;
        p[i].member = i / (count - 1);
        p[i].x = s->x + (from - s->start) * plan->op->elem_bytes;
        p[i].start = from;
        p[i].n = to - from;
    }
    status = tl_slices_fold(t, plan, p, parts);
    for (int k = 0; !status && k < count; k++) {
        slices[k].scan = k ? slices[k - 1].scan : *before;
        for (int i = (k - 1) * count; k && i < k * count; i++)
            tl_slices_join(&slices[k].scan.done, plan->op, &p[i].nodes);
    }
    free(p);
    return status;
}

tally_status tl_along_scan(const tl_team *t, tl_scan *scan, const void *x, int64_t n, void *out)
{
    const tl_scalar *op = scan->plan->op;
    int64_t cuts[TL_MEMBERS_MOST + 1];
    tl_slice *s;
    const int count = cut(t, scan->plan, scan->done.end, n, 0, cuts);
    tl_device *first = t->member[0]->device;
    if (count < 2) return first->calls->scan_push(first, t->ctx, scan, x, n, out);
    tally_status status = tl_slices_new(t, count, &s);
    if (status) return status;
    for (int k = 0; k < count; k++) {
        s[k].member = k;
        s[k].x = (const char *)x + cuts[k] * op->elem_bytes;
        s[k].out = (char *)out + cuts[k] * op->result_bytes;
        s[k].start = scan->done.end + cuts[k];
        s[k].n = cuts[k + 1] - cuts[k];
    }
    status = find_starts(t, scan, s, count);
    if (!status) status = tl_slices_scan(t, s, count);
    if (!status) scan->done = s[count - 1].scan.done;
    free(s);
    return status;
}

/* ---- windows ---- */

typedef struct {
    const tl_plan *plan, *count;
    const tally_window_options *o;
    const char *x;
    char *out;
    int64_t n, first, cuts[TL_MEMBERS_MOST + 1]; /* first: the element whose window is result 0 */
    int slices, at_start, at_end;
} windows;

static tally_status slide(tally *member, int k, void *data)
{
    const windows *w = data;
    if (k >= w->slices) return TALLY_OK;
    const int last = k == w->slices - 1;
    const int64_t from = k ? w->first + w->cuts[k] - w->o->before : 0;
    const int64_t to = last ? w->n : w->first + w->cuts[k + 1] + w->o->after;
    int64_t made = 0;
    return member->device->calls->window_slice(
        member->device, member, w->plan, w->count, w->o, w->x + from * w->plan->op->elem_bytes,
        to - from, k ? TL_INSIDE : w->at_start, last ? w->at_end : TL_INSIDE,
        w->out + w->cuts[k] * w->plan->op->result_bytes, &made);
}

tally_status tl_along_slice(const tl_team *t, const tl_plan *plan, const tl_plan *count,
                            const tally_window_options *o, const void *x, int64_t n, int at_start,
                            int at_end, void *out, int64_t *produced)
{
    const int edges = o->edges != TALLY_EDGES_VALID;
    windows w = {plan, count, o,        x,     out, n, edges && at_start ? 0 : o->before,
                 {0},  1,     at_start, at_end};
    const int64_t results = (edges && at_end ? n : n - o->after) - w.first;
    if (results > 0) w.slices = cut(t, plan, 0, results, o->before + o->after + 1, w.cuts);
    tl_device *first = t->member[0]->device;
    if (w.slices < 2)
        return first->calls->window_slice(first, t->ctx, plan, count, o, x, n, at_start, at_end,
                                          out, produced);
    *produced = results;
    return tl_team_run(t, slide, &w);
}

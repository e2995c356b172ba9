/* SPDX-License-Identifier: MIT
 * Calls of all members at once, and slices of one sequence.
 *
 * Long sequences on the host, cut along their elements into a slice for each member. Cuts are at
 * multiples of a power of two that is as large as the pieces of a device, so that no slice begins
 * with small nodes.
 *
 * Before a scan, the nodes of all slices but the last are needed. All members fold these elements
 * together. So with two members a scan takes 1/4 + 1/2 of the time of one, with four 3/16 + 1/4. */
#include "many.h"
#include "context/threads.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

tally_status tl_devices_fail(const tl_devices *t, int k, tally_status status)
{
    const tally *m = t->member[k];
    if (!status || m == t->ctx) return status;
    return tl_fail(t->ctx, status, "%s: %s", m->device->name, m->error);
}

tally_status tl_devices_copy(const tl_devices *t, int k, void *to, const void *from, int64_t bytes)
{
    assert(k >= 0 && k < t->count);
    return tl_devices_fail(t, k, tl_member_copy(t->member[k], to, from, bytes));
}

tally_status tl_member_copy(tally *member, void *to, const void *from, int64_t bytes)
{
    tl_device *const d = member->device;
    if (bytes && d->calls->copy) return d->calls->copy(d, member, to, from, (size_t)bytes);
    if (bytes) memcpy(to, from, (size_t)bytes);
    return TALLY_OK;
}

tally_status tl_devices_owner(const tl_devices *t, const void *p, int *who)
{
    tally_status status = TALLY_OK;
    *who = -1;
    for (int k = 0; p && *who < 0 && k < t->count; k++) {
        tl_device *d = t->member[k]->device, *owner;
        if (!d->calls->owner) continue;
        status = d->calls->owner(d, t->member[k], p, &owner);
        if (status) return tl_devices_fail(t, k, status);
        if (owner) *who = k;
    }

    return status;
}

static const char *name_of(const tl_devices *t, int k) { return t->member[k]->device->name; }

tally_status tl_devices_one_owner(const tl_devices *t, const tl_argument *all, int count,
                                  const char *hint, int *who)
{
    const char *name = "";
    *who = -1;
    for (int i = 0; i < count; i++) {
        int k;
        TL_TRY(tl_devices_owner(t, all[i].p, &k));
        if (k < 0 || k == *who) continue;

        if (*who >= 0)
            return tl_unsupported(t->ctx,
                                  "%s is memory of %s and %s of %s: must be of one device%s", name,
                                  name_of(t, *who), all[i].name, name_of(t, k), hint);
        *who = k;
        name = all[i].name;
    }
    return TALLY_OK;
}

/* One task for all members, and how it ended on each. */
typedef struct {
    const tl_devices *devices;
    tl_task task;
    void *data;
    tally_status status[TL_MEMBERS_MOST];
} member_tasks;

static void run_task(void *data, int64_t k)
{
    member_tasks *c = data;
    c->status[k] = c->task(c->devices->member[k], (int)k, c->data);
}

tally_status tl_devices_run(const tl_devices *t, tl_task task, void *data)
{
    member_tasks c = {.devices = t, .task = task, .data = data};
    tl_for(t->count, t->count, run_task, &c);
    for (int k = 0; k < t->count; k++)
        if (c.status[k]) return tl_devices_fail(t, k, c.status[k]);
    return TALLY_OK;
}

tally_status tl_slices_new(const tl_devices *t, int count, tl_member_slice **slices)
{
    *slices = calloc((size_t)count, sizeof **slices);
    return *slices ? TALLY_OK
                   : tl_no_memory(t->ctx, (size_t)count * sizeof **slices, "slices of a sequence");
}

typedef struct {
    tl_verb verb;
    const tl_plan *plan;
    tl_member_slice *slices;
    int count;
} push_work;

/* A member's task: folds or scans the slices that lie in its memory. */
static tally_status push(tally *member, int k, void *data)
{
    const push_work *w = data;

    for (int i = 0; i < w->count; i++) {
        tl_member_slice *s = &w->slices[i];
        if (s->member != k || !s->n) continue;
        tl_push p = {.verb = w->verb,
                     .plan = w->plan,
                     .x = s->x,
                     .n = s->n,
                     .out = s->out,
                     .counter = &s->nodes,
                     .scan = &s->scan};
        TL_TRY(member->device->calls->push(member->device, member, &p));
    }
    return TALLY_OK;
}

tally_status tl_slices_push(const tl_devices *t, tl_verb verb, const tl_plan *plan,
                            tl_member_slice *slices, int count)
{
    assert(verb == TL_REDUCE || verb == TL_SCAN);
    push_work w = {verb, plan, slices, count};
    for (int i = 0; i < count && verb == TL_REDUCE; i++)
        tl_counter_init(&slices[i].nodes, slices[i].start);
    return tl_devices_run(t, push, &w);
}

/* ---- long sequences on the host ---- */

enum { GRAINS_PER_SLICE = 64 }; /* at least 32: a grain is a power of two */

/* The distance between places where a sequence may be cut, a power of two. */
static int64_t grain_of(const tl_devices *t, const tl_plan *plan, int64_t n)
{
    const tl_device *d = t->member[0]->device;
    const int64_t bytes = tl_max(plan->op->elem_bytes, plan->op->result_bytes);
    const int64_t least = (d->least_bytes + bytes - 1) / bytes;
    const int64_t share = n / ((int64_t)GRAINS_PER_SLICE * t->count), want = tl_max(least, share);
    return want <= 1 ? 1 : (int64_t)1 << (tl_top_level(want - 1) + 1);
}

/* Cuts n elements and returns the number of slices; slice k begins at cuts[k]. start: index of
 * element 0. window: the elements of a window, or 0. Results of windows are not joined, so these
 * are cut anywhere; slices have at least the elements of a window. */
static int cut(const tl_devices *t, const tl_plan *plan, int64_t start, int64_t n, int64_t window,
               int64_t *cuts)
{
    const int64_t grain = grain_of(t, plan, n), least = tl_max(grain, window);
    const int count = (int)tl_clamp(n / least, 1, t->count);

    for (int k = 0; k <= count; k++) {
        cuts[k] = (int64_t)((__int128)n * k / count);
        if (k && k < count && !window) cuts[k] = ((start + cuts[k]) & ~(grain - 1)) - start;
        if (cuts[k] < 0) cuts[k] = 0;
        assert(!k || cuts[k] >= cuts[k - 1]);
    }

    return count;
}

int tl_slicing_pays(const tl_devices *t, const tl_plan *plan, int64_t n, int64_t window)
{
    int64_t cuts[TL_MEMBERS_MOST + 1];
    return cut(t, plan, 0, n, window, cuts) > 1;
}

tally_status tl_member_run(tl_device *d, tally *ctx, const tl_call *call)
{
    int done;
    const tally_status status = d->calls->run(d, ctx, call, &done);
    assert(status || done);
    return status;
}

/* Where part number i of `count` parts of a slice begins: at a multiple of `grain`. The first part
 * begins where the slice does; part `count` is the end of the slice. */
static int64_t part_start(const tl_member_slice *s, int i, int count, int64_t grain)
{
    if (i == count) return s->start + s->n;
    const int64_t at = (s->start + (int64_t)((__int128)s->n * i / count)) & -grain;
    return i ? tl_max(at, s->start) : s->start;
}

/* Finds the state before each slice, for slices[k].scan: all members fold the slices but the last,
 * each cut into `count` parts. */
static tally_status find_starts(const tl_devices *t, const tl_scan *before, tl_member_slice *slices,
                                int count)
{
    const tl_plan *plan = before->plan;
    const int parts = (count - 1) * count;
    TL_FREED tl_member_slice *p = NULL;
    TL_TRY(tl_slices_new(t, parts, &p));

    for (int i = 0; i < parts; i++) {
        const tl_member_slice *s = &slices[i / count];
        const int64_t grain = grain_of(t, plan, s->n);
        p[i].member = i / (count - 1);
        p[i].start = part_start(s, i % count, count, grain);
        p[i].n = part_start(s, i % count + 1, count, grain) - p[i].start;
        p[i].x = s->x + (p[i].start - s->start) * plan->op->elem_bytes;
    }

    TL_TRY(tl_slices_push(t, TL_REDUCE, plan, p, parts));

    for (int k = 0; k < count; k++) {
        slices[k].scan = k ? slices[k - 1].scan : *before;
        slices[k].scan.nodes_known = NULL; /* those of `before` are for the whole sequence */
        for (int i = (k - 1) * count; k && i < k * count; i++)
            tl_counter_append(&slices[k].scan.done, plan->op, &p[i].nodes);
    }

    return TALLY_OK;
}

tally_status tl_sliced_push(const tl_devices *t, const tl_push *p)
{
    tl_device *const first = t->member[0]->device;
    const int scans = p->verb == TL_SCAN;
    tl_counter *const done = scans ? &p->scan->done : p->counter;
    const tl_scalar *const op = p->plan->op;
    int64_t cuts[TL_MEMBERS_MOST + 1];
    TL_FREED tl_member_slice *s = NULL;
    const int count = cut(t, p->plan, done->end, p->n, 0, cuts);
    if (count < 2) return first->calls->push(first, t->ctx, p);

    TL_TRY(tl_slices_new(t, count, &s));

    for (int k = 0; k < count; k++) {
        s[k].member = k;
        s[k].x = (const char *)p->x + cuts[k] * op->elem_bytes;
        if (scans) s[k].out = (char *)p->out + cuts[k] * op->result_bytes;
        s[k].start = done->end + cuts[k];
        s[k].n = cuts[k + 1] - cuts[k];
    }

    if (scans) TL_TRY(find_starts(t, p->scan, s, count));
    TL_TRY(tl_slices_push(t, p->verb, p->plan, s, count));
    if (scans) *done = s[count - 1].scan.done;
    for (int k = 0; !scans && k < count; k++) tl_counter_append(done, op, &s[k].nodes);
    return TALLY_OK;
}

/* Computes the windows of centres a .. b - 1, as windows of the elements that they need. edges:
 * TALLY_EDGES_VALID if all are full. */
static tally_status run_windows(tally *member, const tl_window_part *w, int64_t a, int64_t b,
                                tally_edges edges)
{
    const tl_scalar *const op = w->call->plan->op;
    tally_window_options o = *w->call->window;
    tl_call call = *w->call;
    if (a >= b) return TALLY_OK;

    const int64_t low = tl_max(a - o.before, 0), high = tl_min(w->all, b + o.after),
                  results = edges == TALLY_EDGES_VALID ? b - a : high - low;
    char *const out = w->out + (a - w->from) * op->result_bytes,
                *const more = results > b - a ? malloc((size_t)(results * op->result_bytes)) : out;
    if (!more) return tl_no_memory(member, (size_t)(results * op->result_bytes), "windows");

    assert(low >= w->start && results >= b - a);
    const tally_view in = tally_flat(w->x + (low - w->start) * op->elem_bytes, op->dtype,
                                     high - low),
                     to = tally_flat(more, op->out, results);
    o.edges = edges;
    call.in = &in, call.out = &to, call.window = &o;
    const tally_status status = tl_member_run(member->device, member, &call);
    if (more == out) return status;

    /* with other edges, more[0] is the result of element `low` */
    if (!status)
        memcpy(out, more + (a - low) * op->result_bytes, (size_t)((b - a) * op->result_bytes));
    free(more);
    return status;
}

tally_status tl_member_windows(tally *member, const tl_window_part *w)
{
    const tally_window_options *const o = w->call->window;
    const int64_t full = w->all - o->after, /* centres before .. full - 1 have full windows */
        left = tl_clamp(o->before, w->from, w->to), right = tl_clamp(full, left, w->to);
    TL_TRY(run_windows(member, w, w->from, left, o->edges));
    TL_TRY(run_windows(member, w, left, right, TALLY_EDGES_VALID));
    return run_windows(member, w, right, w->to, o->edges);
}

typedef struct {
    const tl_call *call;
    int64_t first, cuts[TL_MEMBERS_MOST + 1]; /* first: the element whose window is result 0 */
    int slices;
} windows;

static tally_status slide(tally *member, int k, void *data)
{
    const windows *const w = data;
    if (k >= w->slices) return TALLY_OK;
    return tl_member_windows(
        member, &(tl_window_part){.call = w->call,
                                  .x = w->call->in->data,
                                  .all = w->call->in->n,
                                  .from = w->first + w->cuts[k],
                                  .to = w->first + w->cuts[k + 1],
                                  .out = (char *)w->call->out->data +
                                         w->cuts[k] * w->call->plan->op->result_bytes});
}

tally_status tl_sliced_windows(const tl_devices *t, const tl_call *call)
{
    const tally_window_options *const o = call->window;
    assert(o->step <= 1);
    windows w = {.call = call, .first = o->edges == TALLY_EDGES_VALID ? o->before : 0};
    w.slices = cut(t, call->plan, 0, tally_window_length(call->in->n, o), o->before + o->after + 1,
                   w.cuts);
    return tl_devices_run(t, slide, &w);
}

/* SPDX-License-Identifier: MIT
 * Slices of one sequence, folded and scanned by their members; and calls of all members at once. */
#include "many.h"
#include "context/threads.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

tally_status tl_devices_fail(const tl_devices *t, int k, tally_status status)
{
    const tally *m = t->member[k];
    if (m == t->ctx) return status;
    return tl_fail(t->ctx, status, "%s: %s", m->device->name, m->error);
}

tally_status tl_devices_copy(const tl_devices *t, int k, void *to, const void *from, int64_t bytes)
{
    assert(k >= 0 && k < t->count);
    const tally_status status = tl_member_copy(t->member[k], to, from, bytes);
    return status ? tl_devices_fail(t, k, status) : TALLY_OK;
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

tally_status tl_devices_one_owner(const tl_devices *t, const tl_array *all, int count,
                                  const char *hint, int *who)
{
    const char *name = "";
    *who = -1;
    for (int i = 0; i < count; i++) {
        int k;
        const tally_status status = tl_devices_owner(t, all[i].p, &k);
        if (status) return status;
        if (k < 0 || k == *who) continue;

        if (*who >= 0)
            return tl_fail(t->ctx, TALLY_UNSUPPORTED,
                           "%s is memory of %s and %s of %s: must be of one device%s", name,
                           name_of(t, *who), all[i].name, name_of(t, k), hint);
        *who = k;
        name = all[i].name;
    }

    return TALLY_OK;
}

typedef struct {
    const tl_devices *devices;
    tl_task task;
    void *data;
    tally_status status[TL_MEMBERS_MOST];
} calls;

static void call(void *data, int64_t k)
{
    calls *c = data;
    c->status[k] = c->task(c->devices->member[k], (int)k, c->data);
}

tally_status tl_devices_run(const tl_devices *t, tl_task task, void *data)
{
    calls c = {.devices = t, .task = task, .data = data};
    tl_for(t->count, t->count, call, &c);
    for (int k = 0; k < t->count; k++)
        if (c.status[k]) return tl_devices_fail(t, k, c.status[k]);
    return TALLY_OK;
}

tally_status tl_slices_new(const tl_devices *t, int count, tl_slice **slices)
{
    *slices = calloc((size_t)count, sizeof **slices);
    return *slices ? TALLY_OK
                   : tl_no_memory(t->ctx, (size_t)count * sizeof **slices, "slices of a sequence");
}

void tl_slices_join(tl_counter *c, const tl_scalar *op, const tl_counter *nodes)
{
    assert(nodes->count <= TL_MAX_NODES);
    for (int j = 0; j < nodes->count; j++) tl_counter_push(c, op, nodes->level[j], &nodes->node[j]);
}

typedef struct {
    tl_verb verb;
    const tl_plan *plan;
    tl_slice *slices;
    int count;
} work;

/* A member's task: folds or scans the slices that lie in its memory. */
static tally_status push(tally *member, int k, void *data)
{
    const work *w = data;
    tally_status status = TALLY_OK;

    for (int i = 0; !status && i < w->count; i++) {
        tl_slice *s = &w->slices[i];
        if (s->member != k || !s->n) continue;
        tl_push p = {.verb = w->verb,
                     .plan = w->plan,
                     .x = s->x,
                     .n = s->n,
                     .out = s->out,
                     .counter = &s->nodes,
                     .scan = &s->scan};
        s->scan.nodes_known = s->nodes_known;
        status = member->device->calls->push(member->device, member, &p);
        s->scan.nodes_known = NULL;
    }

    return status;
}

tally_status tl_slices_push(const tl_devices *t, tl_verb verb, const tl_plan *plan,
                            tl_slice *slices, int count)
{
    assert(verb == TL_REDUCE || verb == TL_SCAN);
    work w = {verb, plan, slices, count};
    for (int i = 0; i < count && verb == TL_REDUCE; i++)
        tl_counter_init(&slices[i].nodes, slices[i].start);
    return tl_devices_run(t, push, &w);
}

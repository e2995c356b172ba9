/* SPDX-License-Identifier: MIT
 * Slices of one sequence, folded and scanned by their members; and calls of all members at once. */
#include "many.h"
#include "context/threads.h"
#include <stdlib.h>

tally_status tl_team_fail(const tl_team *t, int k, tally_status status)
{
    const tally *m = t->member[k];
    if (m == t->ctx) return status;
    return tl_fail(t->ctx, status, "%s: %s", m->device->calls->isa(m->device), m->error);
}

tally_status tl_team_owner(const tl_team *t, const void *p, int *who)
{
    tally_status status = TALLY_OK;
    int ours = 0;
    *who = -1;
    for (int k = 0; p && !status && !ours && k < t->count; k++) {
        tl_device *d = t->member[k]->device;
        if (!d->calls->owns) continue;
        status = d->calls->owns(d, t->member[k], p, &ours);
        if (status) return tl_team_fail(t, k, status);
        if (ours) *who = k;
    }
    return status;
}

static const char *name_of(const tl_team *t, int k)
{
    return t->member[k]->device->calls->isa(t->member[k]->device);
}

tally_status tl_team_one(const tl_team *t, const tl_array *all, int count, const char *hint,
                         int *who)
{
    const char *name = "";
    *who = -1;
    for (int i = 0; i < count; i++) {
        int k;
        const tally_status status = tl_team_owner(t, all[i].p, &k);
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
    const tl_team *team;
    tl_task task;
    void *data;
    tally_status status[TL_MEMBERS_MOST];
} calls;

static void call(void *data, int64_t k)
{
    calls *c = data;
    c->status[k] = c->task(c->team->member[k], (int)k, c->data);
}

tally_status tl_team_run(const tl_team *t, tl_task task, void *data)
{
    calls c = {.team = t, .task = task, .data = data};
    tl_for(t->count, t->count, call, &c);
    for (int k = 0; k < t->count; k++)
        if (c.status[k]) return tl_team_fail(t, k, c.status[k]);
    return TALLY_OK;
}

tally_status tl_slices_new(const tl_team *t, int count, tl_slice **slices)
{
    *slices = calloc((size_t)count, sizeof **slices);
    return *slices ? TALLY_OK
                   : tl_no_memory(t->ctx, (size_t)count * sizeof **slices, "slices of a sequence");
}

void tl_slices_join(tl_counter *c, const tl_scalar *op, const tl_counter *nodes)
{
    for (int j = 0; j < nodes->count; j++) tl_counter_push(c, op, nodes->level[j], &nodes->node[j]);
}

typedef struct {
    const tl_plan *plan;
    tl_slice *slices;
    int count;
} work;

static tally_status fold(tally *member, int k, void *data)
{
    const work *w = data;
    tally_status status = TALLY_OK;
    for (int i = 0; !status && i < w->count; i++) {
        tl_slice *s = &w->slices[i];
        if (s->member != k || !s->n) continue;
        status =
            member->device->calls->slab(member->device, member, w->plan, s->x, s->n, &s->nodes);
    }
    return status;
}

tally_status tl_slices_fold(const tl_team *t, const tl_plan *plan, tl_slice *slices, int count)
{
    work w = {plan, slices, count};
    for (int i = 0; i < count; i++) tl_counter_init(&slices[i].nodes, slices[i].start);
    return tl_team_run(t, fold, &w);
}

static tally_status scan(tally *member, int k, void *data)
{
    const work *w = data;
    tally_status status = TALLY_OK;
    for (int i = 0; !status && i < w->count; i++) {
        tl_slice *s = &w->slices[i];
        if (s->member != k || !s->n) continue;
        s->scan.ahead = s->mine;
        status =
            member->device->calls->scan_push(member->device, member, &s->scan, s->x, s->n, s->out);
        s->scan.ahead = NULL;
    }
    return status;
}

tally_status tl_slices_scan(const tl_team *t, tl_slice *slices, int count)
{
    work w = {NULL, slices, count};
    return tl_team_run(t, scan, &w);
}

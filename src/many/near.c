/* SPDX-License-Identifier: MIT
 * What one member does because the memory is its own: runs of keys, gathers, and fields. A field is
 * kept by the member that has the memory of its first step. A step lies in the memory of one
 * device, so cutting it by cells would send it across the bus. Steps from another member, and
 * results for another member, go through the host. */
#include "many.h"
#include <assert.h>
#include <stdlib.h>

/* ---- keys ---- */

tally_status tl_near_keys(const tl_team *t, const tl_call *c, int *done)
{
    const int takes = c->verb == TL_TAKE;
    const tl_array in = {takes ? "in" : "keys", c->in->n ? c->in->data : NULL},
                   all[] = {in,
                            takes ? (tl_array){"order", c->positions->order}
                                  : (tl_array){"offsets", c->positions->offsets},
                            {"out", takes ? c->out->data : NULL}};
    int who;
    *done = 0;
    const tally_status status = tl_team_one(t, all, 3, "", &who);
    if (status || who < 0) return status;
    tl_device *const one = t->member[who]->device;
    return one->calls->run(one, t->ctx, c, done);
}

/* ---- fields ---- */

typedef struct {
    tl_grid base; /* must be first */
    tl_team team;
    int who;
    tl_grid *grid; /* the member's own grid */
    int64_t width;
    int result_bytes, elem_bytes;
} near_grid;

/* *far: p is memory of another member than the field; *who: that member. */
static tally_status find_other_owner(const near_grid *g, tally *ctx, const void *p, int *who,
                                     int *far)
{
    assert(g->who >= 0 && g->who < g->team.count);
    tl_team t = g->team;
    t.ctx = ctx;
    const tally_status status = tl_team_owner(&t, p, who);
    *far = *who >= 0 && *who != g->who;
    return status;
}

/* Copies between host memory and that of member k. */
static tally_status carry(const near_grid *g, tally *ctx, int k, void *to, const void *from,
                          int64_t bytes)
{
    assert(k >= 0 && k < g->team.count);
    assert(bytes >= 0);
    tl_team t = g->team;
    tl_device *const one = t.member[k]->device;
    t.ctx = ctx;
    const tally_status status = one->calls->copy(one, t.member[k], to, from, (size_t)bytes);
    return status ? tl_team_fail(&t, k, status) : TALLY_OK;
}

static tally_status push(tally *ctx, tl_grid *base, int threads, const tally_view *in,
                         const tally_view *out)
{
    const near_grid *const g = (const near_grid *)base;
    tally_view from = *in;
    int64_t low, high;
    int who, far;
    tally_status status = find_other_owner(g, ctx, in->data, &who, &far);
    if (status || !far)
        return status ? status : g->grid->calls->push(ctx, g->grid, threads, in, out);
    if (!tl_view_extent(in, g->elem_bytes, &low, &high))
        return tl_no_memory(ctx, SIZE_MAX, "a step of another device");
    char *const host = malloc((size_t)(high - low) + 1);
    if (!host) return tl_no_memory(ctx, (size_t)(high - low), "a step of another device");
    status = carry(g, ctx, who, host, tl_offset(in->data, low), high - low);
    from.data = host - low;
    if (!status) status = g->grid->calls->push(ctx, g->grid, threads, &from, out);
    free(host);
    return status;
}

static tally_status result(tally *ctx, tl_grid *base, int threads, void *out)
{
    const near_grid *const g = (const near_grid *)base;
    const int64_t bytes = g->width * g->result_bytes;
    int who, far;
    tally_status status = find_other_owner(g, ctx, out, &who, &far);
    if (status || !far) return status ? status : g->grid->calls->result(ctx, g->grid, threads, out);
    char *const host = malloc((size_t)bytes + 1);
    if (!host) return tl_no_memory(ctx, (size_t)bytes, "results for another device");
    status = g->grid->calls->result(ctx, g->grid, threads, host);
    if (!status) status = carry(g, ctx, who, out, host, bytes);
    free(host);
    return status;
}

static tally_status nodes(tally *ctx, tl_grid *base, struct tl_slab *slab)
{
    const near_grid *const g = (const near_grid *)base;
    return g->grid->calls->nodes(ctx, g->grid, slab);
}

static tally_status fill(tally *ctx, tl_grid *base, const struct tl_slab *slab,
                         const tl_state *init)
{
    const near_grid *const g = (const near_grid *)base;
    return g->grid->calls->fill(ctx, g->grid, slab, init);
}

static void close_grid(tl_grid *base)
{
    tl_grid_close(((near_grid *)base)->grid);
    free(base);
}

static const tl_grid_calls calls = {push, result, nodes, fill, close_grid};

tally_status tl_near_grid(const tl_team *t, const tl_plan *plan, int64_t rows, const void *step,
                          tl_grid **grid)
{
    assert(rows >= 0);
    int who;
    *grid = NULL;
    tally_status status = tl_team_owner(t, step, &who);
    if (status) return status;
    if (who < 0) who = 0;
    tl_device *const one = t->member[who]->device;
    if (!one->calls->grid)
        return tl_fail(t->ctx, TALLY_UNSUPPORTED, "%s keeps no fields in its memory", one->name);
    near_grid *const g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(t->ctx, sizeof *g, "a field");
    *g = (near_grid){.base = {&calls}, .team = *t, .who = who, .width = rows};
    g->elem_bytes = plan->op->elem_bytes;
    g->result_bytes = plan->op->result_bytes;
    status = one->calls->grid(one, t->ctx, plan, rows, step, &g->grid);
    if (status)
        free(g);
    else
        *grid = &g->base;
    return status;
}

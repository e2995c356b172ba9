/* SPDX-License-Identifier: MIT
 * What one member does because the memory is its own: runs of keys, gathers, and fields. A field is
 * kept by the member that has the memory of its first step. A step lies in the memory of one
 * device, so cutting it by cells would send it across the bus. Steps from another member, and
 * results for another member, go through the host. */
#include "many.h"
#include <assert.h>
#include <stdlib.h>

/* ---- keys ---- */

tally_status tl_local_keys(const tl_devices *t, const tl_call *c, int *done)
{
    const int takes = c->verb == TL_TAKE;
    const tl_argument in = {takes ? "in" : "keys", c->in->n ? c->in->data : NULL},
                      all[] = {in,
                               takes ? (tl_argument){"order", c->positions->order}
                                     : (tl_argument){"offsets", c->positions->offsets},
                               {"out", takes ? c->out->data : NULL}};
    int who;

    *done = 0;
    const tally_status status = tl_devices_one_owner(t, all, 3, "", &who);
    if (status || who < 0) return status;
    tl_device *const one = t->member[who]->device;
    return one->calls->run(one, t->ctx, c, done);
}

/* ---- fields ---- */

typedef struct {
    tl_grid base; /* must be first */
    tl_devices devices;
    int who;
    tl_grid *grid; /* the member's own grid */
    int64_t width;
    int result_bytes, elem_bytes;
} local_grid;

/* The devices with ctx for messages, and the owner of p: *who >= 0 is another member than that of
 * the field, whose memory the field's member cannot read. */
static tally_status find_other_owner(const local_grid *g, tally *ctx, const void *p, int *who,
                                     tl_devices *t)
{
    assert(g->who >= 0 && g->who < g->devices.count);
    *t = g->devices;
    t->ctx = ctx;
    const tally_status status = tl_devices_owner(t, p, who);
    if (*who == g->who) *who = -1;
    return status;
}

static tally_status push(tally *ctx, tl_grid *base, int threads, const tally_view *in,
                         const tally_view *out)
{
    const local_grid *const g = (const local_grid *)base;
    tally_view from = *in;
    tl_devices t;
    int64_t low, high;
    int who;

    tally_status status = find_other_owner(g, ctx, in->data, &who, &t);
    if (status) return status;
    if (who < 0) return g->grid->calls->push(ctx, g->grid, threads, in, out);
    if (!tl_view_extent(in, g->elem_bytes, &low, &high))
        return tl_no_memory(ctx, SIZE_MAX, "a step of another device");
    char *const host = malloc((size_t)(high - low) + 1);
    if (!host) return tl_no_memory(ctx, (size_t)(high - low), "a step of another device");

    status = tl_devices_copy(&t, who, host, tl_offset(in->data, low), high - low);
    from.data = host - low;
    if (!status) status = g->grid->calls->push(ctx, g->grid, threads, &from, out);
    free(host);
    return status;
}

static tally_status result(tally *ctx, tl_grid *base, int threads, void *out)
{
    const local_grid *const g = (const local_grid *)base;
    const int64_t bytes = g->width * g->result_bytes;
    tl_devices t;
    int who;
    tally_status status = find_other_owner(g, ctx, out, &who, &t);
    if (status) return status;
    if (who < 0) return g->grid->calls->result(ctx, g->grid, threads, out);

    char *const host = malloc((size_t)bytes + 1);
    if (!host) return tl_no_memory(ctx, (size_t)bytes, "results for another device");
    status = g->grid->calls->result(ctx, g->grid, threads, host);
    if (!status) status = tl_devices_copy(&t, who, out, host, bytes);
    free(host);
    return status;
}

static tally_status nodes(tally *ctx, tl_grid *base, struct tl_slab *slab)
{
    const local_grid *const g = (const local_grid *)base;
    return g->grid->calls->nodes(ctx, g->grid, slab);
}

static tally_status fill(tally *ctx, tl_grid *base, const struct tl_slab *slab,
                         const tl_state *init)
{
    const local_grid *const g = (const local_grid *)base;
    return g->grid->calls->fill(ctx, g->grid, slab, init);
}

static void close_grid(tl_grid *base)
{
    tl_grid_close(((local_grid *)base)->grid);
    free(base);
}

static const tl_grid_calls calls = {push, result, nodes, fill, close_grid};

tally_status tl_local_grid(const tl_devices *t, const tl_plan *plan, int64_t rows, const void *step,
                           tl_grid **grid)
{
    assert(rows >= 0);
    int who;
    *grid = NULL;
    tally_status status = tl_devices_owner(t, step, &who);
    if (status) return status;

    if (who < 0) who = 0;
    tl_device *const one = t->member[who]->device;
    if (!one->calls->grid)
        return tl_unsupported(t->ctx, "%s keeps no fields in its memory", one->name);
    local_grid *const g = calloc(1, sizeof *g);
    if (!g) return tl_no_memory(t->ctx, sizeof *g, "a field");

    *g = (local_grid){.base = {&calls}, .devices = *t, .who = who, .width = rows};
    g->elem_bytes = plan->op->elem_bytes;
    g->result_bytes = plan->op->result_bytes;
    status = one->calls->grid(one, t->ctx, plan, rows, step, &g->grid);
    if (status)
        free(g);
    else
        *grid = &g->base;
    return status;
}

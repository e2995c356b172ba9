/* SPDX-License-Identifier: MIT
 * Copies of the device's memory on the host (host.h). */
#include "host.h"
#include "context/device.h"
#include "context/view.h"
#include <stdlib.h>

tally_status tl_host_copy(tally *ctx, tl_host_copies *c, void **p, int64_t low, int64_t high, int back,
                          const char *name, const char *what)
{
    const tl_device_calls *calls = ctx->device->calls;
    const size_t bytes = (size_t)(high - low);
    int ours = 0;
    if (high <= low) return TALLY_OK;
    if (!calls->owns || !calls->copy) return tl_on_processors(ctx, *p, name, what, 0);
    char *const from = tl_offset(*p, low);
    tally_status status = calls->owns(ctx->device, ctx, from, &ours);
    if (status || !ours) return status;
    char *copy = malloc(bytes);
    if (!copy) return tl_no_memory(ctx, bytes, "a copy of device memory");
    c->one[c->count].of = from;
    c->one[c->count].copy = copy;
    c->one[c->count].bytes = bytes;
    c->one[c->count++].back = back;
    *p = tl_offset(copy, -low);
    return calls->copy(ctx->device, ctx, copy, from, bytes);
}

tally_status tl_host_back(tally *ctx, const tl_host_copies *c)
{
    tally_status status = TALLY_OK;
    for (int i = 0; !status && i < c->count; i++)
        if (c->one[i].back)
            status = ctx->device->calls->copy(ctx->device, ctx, c->one[i].of, c->one[i].copy, c->one[i].bytes);
    return status;
}

void tl_host_close(tl_host_copies *c)
{
    for (int i = 0; i < c->count; i++) free(c->one[i].copy);
    c->count = 0;
}

tally_status tl_host_offsets(tally *ctx, const char *name, tally_view *v, int64_t **copy)
{
    *copy = NULL;
    if (!v->offsets || v->rows <= 0 || !ctx->device->calls->offsets) return TALLY_OK;
    if (v->rows >= INT64_MAX / (int64_t)sizeof *v->offsets)
        return tl_fail(ctx, TALLY_INVALID, "%s->rows is %lld: its offsets would have more bytes than 2^63", name,
                       (long long)v->rows);
    tally_status status = ctx->device->calls->offsets(ctx->device, ctx, v, copy);
    if (*copy) v->offsets = *copy;
    return status;
}

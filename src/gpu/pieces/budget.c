/* SPDX-License-Identifier: MIT
 * Decides whether a call on host arrays is done in pieces (pieces.h), and how large they may be. */
#include "pieces.h"

enum {
    /* A buffer gets 1/16 of the memory: there are 6 buffers, and nodes, levels of windows and
     * tables. */
    BUFFER_SHARE = 16,
    BUDGET_LEAST = 1024 /* in bytes */
};

/* 32 MB take 0.6 ms to cross the bus, 100 times the cost of issuing the copy. */
static const int64_t BUDGET_MOST = 32 << 20;
static const int64_t PIECES_LEAST = 32 << 20; /* smaller arrays are copied as a whole */

static int64_t host_bytes(tl_gpu_device *d, const tally_view *v, int64_t bytes)
{
    int64_t low, high;
    size_t offset;
    tl_memory memory;
    tl_view_extent(v, bytes, &low, &high);
    if (high <= low || d->gpu->calls->owns(d->gpu, tl_offset(v->data, low), &memory, &offset))
        return 0;
    return high - low;
}

int64_t tl_pieces_least(const tl_gpu_device *d)
{
    int64_t share = (int64_t)(d->limit / 4);
    return d->limit && share < PIECES_LEAST ? share : PIECES_LEAST;
}

static int64_t in_host_bytes(tl_gpu_device *d, const tl_call *call)
{
    return host_bytes(d, call->in, call->plan->op->elem_bytes);
}

static int64_t out_host_bytes(tl_gpu_device *d, const tl_call *call)
{
    return host_bytes(d, call->out, call->plan->op->result_bytes);
}

int tl_pieces_wanted(tl_gpu_device *d, const tl_call *call)
{
    int64_t a, b, c, e, least = tl_pieces_least(d);
    tl_view_extent(call->in, call->plan->op->elem_bytes, &a, &b);
    tl_view_extent(call->out, call->plan->op->result_bytes, &c, &e);
    if (b - a < least && e - c < least) return 0; /* the usual case */
    return in_host_bytes(d, call) >= least || out_host_bytes(d, call) >= least;
}

int tl_pieces_possible(tl_gpu_device *d, const tl_call *call)
{
    return in_host_bytes(d, call) || out_host_bytes(d, call);
}

int tl_pieces_can(tl_gpu_device *d, tally *ctx, const tl_call *call)
{
    tl_plan host;
    const tl_plan *p = call->plan;
    return call->verb == TL_WINDOW || !p->op->user ||
           !tl_gpu_plan(&d->base, ctx, p->op, p->par, TL_FOR_PROCESSORS, &host);
}

int64_t tl_pieces_budget(tl_gpu_device *d)
{
    size_t all = 0, once = 0, pooled = 0;
    for (int i = 0; i < TL_GPU_POOL; i++) pooled += d->pool[i].bytes;
    d->gpu->calls->room(d->gpu, &all, &once);
    all += pooled;
    if (d->limit && d->limit - (d->held - pooled) < all) all = d->limit - (d->held - pooled);
    int64_t budget = (int64_t)(all / BUFFER_SHARE);
    if (once && budget > (int64_t)once) budget = (int64_t)once;
    return budget > BUDGET_MOST ? BUDGET_MOST : budget < BUDGET_LEAST ? BUDGET_LEAST : budget;
}

int tl_pieces_again(tally_status status, const tl_pipe *p, int64_t *budget)
{
    if (status != TALLY_NO_MEMORY || *budget < 2 * BUDGET_LEAST) return 0;
    /* in place, and some elements have been overwritten */
    if (p->wrote && p->in.view.data == p->out.view.data) return 0;
    *budget /= 2;
    return 1;
}

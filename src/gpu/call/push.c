/* SPDX-License-Identifier: MIT
 * Streams and fragments on a GPU device. A large push from host memory goes to the device in pieces
 * (along.c). A push of device memory is folded there (here.c). The processors do all other
 * pushes. */
#include "pieces.h"
#include <assert.h>

static int worth(const tl_gpu_device *d, const tl_push *p)
{
    return p->n * p->plan->op->elem_bytes >= tl_pieces_least(d);
}

/* The elements of p from number `from` on. */
static tl_push push_from(const tl_push *p, int64_t from)
{
    const tl_scalar *op = p->plan->op;
    tl_push rest = *p;
    rest.x = (const char *)p->x + from * op->elem_bytes;
    rest.n = p->n - from;
    if (p->verb == TL_SCAN) rest.out = (char *)p->out + from * op->result_bytes;
    return rest;
}

/* Folds or scans elements of host memory that follow those in *done. The processors take the
 * elements before the first multiple of the step, and pushes that are not large. */
static tally_status push_host(tl_gpu_device *d, const tl_push *p, tl_counter *done)
{
    const tl_scalar *op = p->plan->op;
    const tl_scan *const s = p->verb == TL_SCAN ? p->scan : NULL;
    tl_push head = *p;

    int64_t budget = worth(d, p) ? tl_pieces_budget(d) : 0;
    if (budget) {
        /* memory is scarce: a halved step still divides this one */
        const int64_t step = tl_sequences_step(p->plan, budget, 1),
                      before = -done->end & (step - 1);
        if (before < p->n) head.n = before;
    }

    tally_status status = head.n ? tl_push_on_processors(d, &head) : TALLY_OK;
    const tl_push rest = push_from(p, head.n);
    const tl_counter aligned = *done;
    if (status || !rest.n) return status;

    const tally_view in = tally_flat(rest.x, op->dtype, rest.n),
                     to = tally_flat(s ? rest.out : NULL, op->out, s ? rest.n : 0);

    for (;;) {
        *done = aligned;
        tl_sequences a = {.plan = p->plan,
                          .budget = budget,
                          .width = 1,
                          .counters = done,
                          .base = aligned.end,
                          .keep = 1,
                          .scan = s != NULL,
                          .exclusive = s && s->exclusive,
                          .init = s && s->seeded ? &s->init : NULL};
        status = tl_sequences_fold(&a, d, &in, &to);
        if (!status || !tl_pieces_again(status, &a.pipe, &budget)) return status;
    }
}

static tally_status push_windows(tl_gpu_device *d, tl_push *p)
{
    const tl_scalar *op = p->plan->op;
    const tally_view in = tally_flat(p->x, op->dtype, p->n), to = tally_flat(p->out, op->out, p->n);

    assert(!tl_gpu_holds(d, p->x) && !tl_gpu_holds(d, p->out));
    if (!worth(d, p)) return tl_push_on_processors(d, p);

    int64_t budget = tl_pieces_budget(d);
    for (int shrunk = 0;; shrunk = 1) {
        tl_sequences a = {.plan = p->plan,
                          .count = p->count,
                          .budget = budget,
                          .width = 1,
                          .window = p->window,
                          .shrunk = shrunk,
                          .at_start = p->at_start,
                          .at_end = p->at_end};
        const tally_status status = tl_sequences_window(&a, d, &in, &to, &p->produced);
        if (!status || !tl_pieces_again(status, &a.pipe, &budget)) return status;
    }
}

/* Folds or scans; after a failure the counter is as before. */
static tally_status push_elements(tl_gpu_device *d, const tl_push *p)
{
    tl_counter *const done = p->verb == TL_SCAN ? &p->scan->done : p->counter;
    const tl_counter start = *done;

    const int here = tl_gpu_holds(d, p->x);
    if (p->verb == TL_SCAN && here != tl_gpu_holds(d, p->out))
        return tl_fail(d->ctx, TALLY_UNSUPPORTED,
                       "%s is memory of %s: x and out must both be, or neither", here ? "x" : "out",
                       d->name);
    const tally_status status = !here                ? push_host(d, p, done)
                                : p->verb == TL_SCAN ? tl_here_scan(d, p)
                                                     : tl_here_fold(d, p);
    if (status) *done = start;

    return status;
}

tally_status tl_gpu_push(tl_device *base, tally *ctx, tl_push *p)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_status status =
        tl_gpu_enter(d, ctx, "streams and fragments wait: push before the capture");
    if (status) return status;
    status = p->verb == TL_WINDOW ? push_windows(d, p) : push_elements(d, p);
    tl_gpu_leave(d);
    return status;
}

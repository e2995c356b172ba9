/* SPDX-License-Identifier: MIT
 * Streams and fragments on a GPU device. A large push from host memory goes to the device in pieces
 * (along.c). A push of device memory is folded there (here.c). The processors do all other
 * pushes. */
#include "pieces.h"

static int worth(const tl_gpu_device *d, const tl_plan *plan, int64_t n)
{
    return n * plan->op->elem_bytes >= tl_pieces_least(d);
}

/* Pushes n more elements after those in *done. The processors take the elements before the first
 * multiple of the step, and pushes that are not large. After a failure *done is unchanged. */
static tally_status push(tl_gpu_device *d, tally *ctx, const tl_plan *plan, tl_scan *s,
                         tl_counter *done, const void *x, int64_t n, void *out)
{
    const tl_scalar *op = plan->op;
    const tl_counter start = *done;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = TALLY_NO_MEMORY;
    int64_t budget = worth(d, plan, n) ? tl_pieces_budget(d) : 0, head = n;
    if (budget) {
        /* memory is scarce: a halved step still divides this one */
        int64_t step = tl_along_step(plan, budget, 1);
        head = -done->end & (step - 1);
        if (head > n) head = n;
    }
    if (head && s) status = tl_device_cpu.scan_push(d->cpu, ctx, s, x, head, out);
    if (head && !s) status = tl_device_cpu.slab(d->cpu, ctx, plan, x, head, done);
    if (!head) status = TALLY_OK;
    d->on_processors += status ? 0 : head;
    const tl_counter aligned = *done;
    while (!status && head < n) {
        *done = aligned;
        tl_along a = {.plan = plan,
                      .budget = budget,
                      .width = 1,
                      .counters = done,
                      .base = aligned.end,
                      .keep = 1,
                      .scan = s != NULL,
                      .exclusive = s && s->exclusive,
                      .init = s && s->seeded ? &s->init : NULL};
        tally_view in = tally_flat((const char *)x + head * op->elem_bytes, op->dtype, n - head);
        tally_view to =
            tally_flat(s ? (char *)out + head * op->result_bytes : NULL, op->out, s ? n - head : 0);
        status = tl_along_fold(&a, d, ctx, &in, &to);
        if (!status) break;
        if (tl_pieces_again(status, &a.pipe, &budget)) status = TALLY_OK;
    }
    if (status) *done = start;
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_slab(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n,
                         tl_counter *c)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_counter start = *c;
    int here;
    tally_status status = tl_gpu_owns(base, ctx, x, &here);
    if (!status && !here) return push(d, ctx, plan, NULL, c, x, n, NULL);
    if (!status) status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = tl_here_fold(d, ctx, plan, x, n, c);
    if (status) *c = start;
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_scan_push(tl_device *base, tally *ctx, tl_scan *s, const void *x, int64_t n,
                              void *out)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_counter start = s->done;
    int here, there;
    tally_status status = tl_gpu_owns(base, ctx, x, &here);
    if (!status) status = tl_gpu_owns(base, ctx, out, &there);
    if (!status && here != there)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "%s is memory of %s: x and out must both be, or neither", here ? "x" : "out",
                       d->name);
    if (!status && !here) return push(d, ctx, s->plan, s, &s->done, x, n, out);
    if (!status) status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = tl_here_scan(d, ctx, s, x, n, out);
    if (status) s->done = start;
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_window_slice(tl_device *base, tally *ctx, const tl_plan *plan,
                                 const tl_plan *count, const tally_window_options *o, const void *x,
                                 int64_t n, int at_start, int at_end, void *out, int64_t *produced)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_status status = tl_gpu_host_only(d, ctx, x, "x", "streams");
    if (!status) status = tl_gpu_host_only(d, ctx, out, "out", "streams");
    if (status) return status;
    if (!worth(d, plan, n)) {
        d->on_processors += n;
        return tl_device_cpu.window_slice(d->cpu, ctx, plan, count, o, x, n, at_start, at_end, out,
                                          produced);
    }
    tally_view in = tally_flat(x, plan->op->dtype, n), to = tally_flat(out, plan->op->out, n);
    status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    int64_t budget = tl_pieces_budget(d);
    for (int shrunk = 0;; shrunk = 1) {
        tl_along a = {.plan = plan,
                      .count = count,
                      .budget = budget,
                      .width = 1,
                      .window = o,
                      .shrunk = shrunk,
                      .at_start = at_start,
                      .at_end = at_end};
        status = tl_along_window(&a, d, ctx, &in, &to, produced);
        if (!status || !tl_pieces_again(status, &a.pipe, &budget)) break;
    }
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* SPDX-License-Identifier: MIT
 * What the start-up probe (src/probe.c) asks of a GPU: the law by an operator's text alone (shape/gpu/law.cl). */
#include "gpu_work.h"

/* A launch of law.cl: one work-item an item, TL_GPU_LAW_THREADS a group. */
static tally_status go(tl_launch *l, const char *kernel, int64_t items)
{
    return tl_go(l, kernel, (items + TL_GPU_LAW_THREADS - 1) / TL_GPU_LAW_THREADS, TL_GPU_LAW_THREADS);
}

tally_status tl_gpu_law(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n, void *out)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_scalar *op = plan->op;
    tl_memory in = {0}, nodes = {0}, results = {0};
    tl_program *program = NULL;
    size_t bytes = (size_t)n * op->result_bytes;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = tl_gpu_program(d, ctx, op, "law", &program);
    if (!status) status = tl_gpu_upload(d, ctx, x, (size_t)n * op->elem_bytes, &in);
    if (!status) status = tl_gpu_take(d, ctx, 2 * (size_t)n * sizeof(tl_state), &nodes);
    if (!status) status = tl_gpu_take(d, ctx, bytes, &results);
    tl_launch l = {.d = d, .ctx = ctx, .program = program};
    if (!status) {
        tl_put_memory(&l, &in);
        tl_put(&l, n);
        tl_put_real(&l, plan->par.value);
        tl_put_memory(&l, &nodes);
        status = go(&l, "law_lift", n);
    }
    for (int level = 1; !status && n >> level; level++) {
        l.count = 0;
        tl_put(&l, n);
        tl_put(&l, level);
        tl_put_memory(&l, &nodes);
        status = go(&l, "law_level", n >> level);
    }
    if (!status) {
        l.count = 0;
        tl_put(&l, n);
        tl_put_real(&l, plan->par.value);
        tl_put_memory(&l, &nodes);
        tl_put_memory(&l, &results);
        status = go(&l, "law_lower", n);
    }
    if (!status) status = d->gpu->calls->read(d->gpu, ctx, out, &results, 0, bytes);
    if (status) d->gpu->calls->wait(d->gpu, ctx); /* nobody reads x any more */
    tl_gpu_give(d, &in);
    tl_gpu_give(d, &nodes);
    tl_gpu_give(d, &results);
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_text(tl_device *base, tally *ctx, const tl_plan *plan, const char *shape, char **text,
                         size_t *length)
{
    return tl_program_text(ctx, plan->op, shape, tl_gpu_of(base)->gpu->calls->prelude, NULL, text, length);
}

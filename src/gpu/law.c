/* SPDX-License-Identifier: MIT
 * The start-up probe's calls (src/api/probe.c): runs the law with only an operator's text on a GPU
 * (gpu/kernel/law.cl). */
#include "work.h"
#include "gpu/kernel/constants.h"

/* Thread blocks with a thread for each item. */
static int64_t groups(int64_t items) { return (items + LAW_THREADS - 1) / LAW_THREADS; }

tally_status tl_gpu_law(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n,
                        void *out)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_scalar *op = plan->op;
    tl_memory in = {0}, nodes = {0}, results = {0};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    size_t bytes = (size_t)n * op->result_bytes;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = tl_gpu_program(d, ctx, op, "law", &program);
    if (!status) status = tl_gpu_upload(d, ctx, x, (size_t)n * op->elem_bytes, &in);
    if (!status) status = tl_gpu_take(d, ctx, 2 * (size_t)n * sizeof(tl_state), &nodes);
    if (!status) status = tl_gpu_take(d, ctx, bytes, &results);
    const tl_f64_argument parameter = tl_f64(plan->par.value);
    if (!status)
        status = TL_GO(&l, law_lift, groups(n), .x = tl_memory_of(&in), .n = tl_i64(n),
                       .parameter = parameter, .nodes = tl_memory_of(&nodes));
    for (int level = 1; !status && n >> level; level++)
        status = TL_GO(&l, law_level, groups(n >> level), .n = tl_i64(n), .level = tl_i64(level),
                       .nodes = tl_memory_of(&nodes));
    if (!status)
        status = TL_GO(&l, law_lower, groups(n), .n = tl_i64(n), .parameter = parameter,
                       .nodes = tl_memory_of(&nodes), .out = tl_memory_of(&results));
    if (!status) status = d->gpu->calls->read(d->gpu, ctx, out, &results, 0, bytes);
    if (status) d->gpu->calls->wait(d->gpu, ctx); /* so that no kernel still reads x */
    tl_gpu_give(d, &in);
    tl_gpu_give(d, &nodes);
    tl_gpu_give(d, &results);
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_text(tl_device *base, tally *ctx, const tl_plan *plan, const char *shape,
                         char **text, size_t *length)
{
    const tl_text of = {plan->op, shape, tl_gpu_of(base)->gpu->calls->prelude, NULL};
    return tl_program_text(ctx, &of, text, length);
}

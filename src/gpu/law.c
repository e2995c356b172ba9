/* SPDX-License-Identifier: MIT
 * The start-up probe's calls (src/api/probe.c): runs the law with only an operator's text on a GPU
 * (gpu/kernel/law.cl). */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

enum { RESULTS_OF_BLOCK = LAW_THREADS * LAW_EACH };

tally_status tl_gpu_law(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n,
                        void *out)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_scalar *op = plan->op;
    tl_memory in = {0}, results = {0};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    const size_t bytes = (size_t)n * op->result_bytes;

    assert(n > 0);

    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;

    status = tl_gpu_program(d, ctx, op, "law", &program);
    if (!status) status = tl_gpu_upload(d, ctx, x, (size_t)n * op->elem_bytes, &in);
    if (!status) status = tl_gpu_take(d, ctx, bytes, &results);
    if (!status)
        status = TL_GO(&l, law, (n + RESULTS_OF_BLOCK - 1) / RESULTS_OF_BLOCK,
                       .x = tl_memory_of(&in), .n = tl_i64(n), .parameter = tl_f64(plan->par.value),
                       .out = tl_memory_of(&results));

    if (!status) status = d->gpu->calls->read(d->gpu, ctx, out, &results, 0, bytes);
    if (status) d->gpu->calls->wait(d->gpu, ctx); /* so that no kernel still reads x */
    tl_gpu_give(d, &in);
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

/* SPDX-License-Identifier: MIT
 * Where a call runs: on the device, or on the processors if the device does not compute it. */
#include "checks.h"
#include "context/device.h"
#include "context/view.h"
#include "cpu/isas.h"
#include "cpu/keys/keys.h"
#include "law/fp.h"

tally_status tl_run_host(tally *ctx, const tl_call *c)
{
    const int threads = tally_threads(ctx);
    if (c->verb != TL_WINDOW || tl_window_streams(c->window)) return tl_run(ctx, threads, c);
    return tl_ranges_view(ctx, c, threads);
}

/* Runs a call on the processors: device memory is copied to the host, and results back. */
static tally_status run_on_processors(tally *ctx, const tl_call *call)
{
    tally_view in = *call->in, out = *call->out;
    tl_plan plan = *call->plan;
    tl_call here = *call;

    here.plan = &plan, here.in = &in, here.out = &out;
    tl_host_copies c = {.ctx = ctx};
    ctx->device->on_processors += tl_view_elements(&in);
    tally_status status = tl_host_view(&c, &in, plan.op->elem_bytes, 0);
    if (!status) status = tl_host_view(&c, &out, plan.op->result_bytes, 1);
    if (!status && !plan.core) status = tl_plan_on_host(ctx, plan.op, plan.par, &plan);
    if (!status) status = tl_run_host(ctx, &here);
    return tl_host_end(&c, status);
}

tally_status tl_run_checked(tally *ctx, const tl_call *call)
{
    int done;
    tl_fp fp = tl_fp_enter();
    tally_status status = ctx->device->calls->run(ctx->device, ctx, call, &done);
    if (!status && !done) status = run_on_processors(ctx, call);
    tl_fp_leave(fp);
    return status;
}

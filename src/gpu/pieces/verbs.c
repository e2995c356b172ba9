/* SPDX-License-Identifier: MIT
 * The three verbs on a GPU device. A call is done in one piece or in several (pieces.h). */
#include "pieces.h"

/* Pieces are used if host arrays are large, or if device memory does not suffice for one piece. */
tally_status tl_call_run(tl_gpu_device *d, tally *ctx, const tl_call *call)
{
    int pieces = tl_pieces_wanted(d, call) && tl_pieces_can(d, ctx, call);
    tally_status status =
        pieces ? TALLY_OK : tl_call_whole(d, ctx, call, &tl_no_piece, call->in, call->out);
    if (status == TALLY_NO_MEMORY)
        pieces = tl_pieces_possible(d, call) && tl_pieces_can(d, ctx, call);
    if (pieces) status = tl_pieces_run(d, ctx, call);
    return status;
}

static tally_status run(tl_gpu_device *d, tally *ctx, const tl_call *call)
{
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = tl_call_run(d, ctx, call);
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_reduce(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in,
                           void *out)
{
    /* one result for each sequence */
    const tally_view to = tally_rows(out, plan->op->out, in->rows, 1);
    return run(tl_gpu_of(base), ctx,
               &(tl_call){.verb = TL_REDUCE, .plan = plan, .in = in, .out = &to});
}

tally_view tl_view_reversed(const tally_view *v, int64_t bytes)
{
    tally_view r = *v;
    r.data = tl_offset(v->data, (v->n > 0 ? v->n - 1 : 0) * v->stride * bytes);
    r.stride = -v->stride;
    return r;
}

/* Reversed scans of segments run on the processors, because every segment has its own last
 * element. */
static tally_status scan_on_host(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                 const tally_view *in, const tally_view *out,
                                 const tally_scan_options *o)
{
    tally_status status =
        tl_gpu_host_only(d, ctx, in->data, "in->data", "reversed scans of segments");
    if (!status)
        status = tl_gpu_host_only(d, ctx, out->data, "out->data", "reversed scans of segments");
    tl_plan host = *plan;
    if (!status && !plan->core)
        status = tl_gpu_plan_host(&d->base, ctx, plan->op, plan->par, &host);
    if (!status) status = tl_device_cpu.scan(d->cpu, ctx, &host, in, out, o);
    d->on_processors += status ? 0 : in->offsets[in->rows] - in->offsets[0];
    return status;
}

tally_status tl_gpu_scan(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in,
                         const tally_view *out, const tally_scan_options *o)
{
    tally_view x = *in, y = *out;
    if (o && o->reverse && in->offsets) return scan_on_host(tl_gpu_of(base), ctx, plan, in, out, o);
    if (o && o->reverse) {
        x = tl_view_reversed(in, plan->op->elem_bytes);
        y = tl_view_reversed(out, plan->op->result_bytes);
    }
    return run(tl_gpu_of(base), ctx,
               &(tl_call){.verb = TL_SCAN, .plan = plan, .in = &x, .out = &y, .scan = o});
}

tally_status tl_gpu_window(tl_device *base, tally *ctx, const tl_plan *plan, const tl_plan *count,
                           const tally_view *in, const tally_view *out,
                           const tally_window_options *o)
{
    return run(
        tl_gpu_of(base), ctx,
        &(tl_call){
            .verb = TL_WINDOW, .plan = plan, .count = count, .in = in, .out = out, .window = o});
}

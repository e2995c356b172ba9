/* SPDX-License-Identifier: MIT
 * Where a call runs: on the device, or on the processors if the device does not compute it. Then
 * device memory is copied to the host, and results back. */
#include "calls.h"
#include "context/view.h"
#include "cpu/shape.h"
#include "law/fp.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

/* what: of which a copy is made, for the sentence about memory. */
static tally_status copy_bytes(tl_host_copies *c, void **p, int64_t low, int64_t high, int back,
                               const char *what)
{
    assert(c->ctx);
    assert(c->count < (int)(sizeof c->one / sizeof *c->one));
    tally *const ctx = c->ctx;
    const tl_device_calls *calls = ctx->device->calls;
    const size_t bytes = (size_t)(high - low);
    tl_device *owner;
    if (high <= low || !calls->owner) return TALLY_OK;

    char *const from = tl_offset(*p, low);
    tally_status status = calls->owner(ctx->device, ctx, from, &owner);
    if (status || !owner) return status;

    char *copy = malloc(bytes);
    if (!copy) return tl_no_memory(ctx, bytes, what);

    c->one[c->count].of = from;
    c->one[c->count].copy = copy;
    c->one[c->count].bytes = bytes;
    c->one[c->count++].back = back;
    *p = tl_offset(copy, -low);
    return calls->copy(ctx->device, ctx, copy, from, bytes);
}

tally_status tl_host_copy(tl_host_copies *c, void **p, int64_t low, int64_t high, int back)
{
    return copy_bytes(c, p, low, high, back, "a copy of device memory");
}

tally_status tl_host_view(tl_host_copies *c, tally_view *v, int64_t bytes, int back)
{
    assert(bytes >= 0);
    int64_t low, high;
    tl_view_extent(v, bytes, &low, &high);
    tally_status status = tl_host_copy(c, &v->data, low, high, back);
    if (status || !v->valid) return status;
    void *bits = (void *)(uintptr_t)v->valid;
    tl_view_extent(v, 1, &low, &high);
    if (high > low)
        status = tl_host_copy(c, &bits, (v->valid_offset + low) >> 3,
                              ((v->valid_offset + high - 1) >> 3) + 1, back);
    v->valid = bits;

    return status;
}

tally_status tl_inputs_bring(tl_host_copies *copies, tally_view *in, tally_view *next)
{
    assert(!in->next || in->next == next);
    tally_status status = tl_host_view(copies, in, tl_element_bytes(in), 0);
    if (status || !in->next) return status;
    return tl_host_view(copies, next, tl_element_bytes(next), 0);
}

tally_status tl_host_numbers(tl_host_copies *c, int64_t **p, int64_t count, int back,
                             const char *name)
{
    assert(count >= 0);
    int64_t bytes;
    void *at = *p;
    if (!at) return TALLY_OK;
    if (__builtin_mul_overflow(count, (int64_t)sizeof **p, &bytes))
        return tl_no_memory(c->ctx, SIZE_MAX, name);
    const tally_status status = tl_host_copy(c, &at, 0, bytes, back);
    *p = at;
    return status;
}

tally_status tl_host_back(const tl_host_copies *c)
{
    assert(c->count >= 0);
    const tl_device_calls *const calls = c->ctx->device->calls;
    for (int i = 0; i < c->count; i++)
        if (c->one[i].back)
            TL_TRY(
                calls->copy(c->ctx->device, c->ctx, c->one[i].of, c->one[i].copy, c->one[i].bytes));
    return TALLY_OK;
}

void tl_host_close(tl_host_copies *c)
{
    for (int i = 0; i < c->count; i++) free(c->one[i].copy);
    c->count = 0;
}

tally_status tl_host_offsets(tl_host_copies *c, const char *name, tally_view *v)
{
    void *at = (void *)(uintptr_t)v->offsets;
    if (!at || v->rows <= 0 || !c->ctx->device->calls->owner) return TALLY_OK;

    if (v->rows >= INT64_MAX / (int64_t)sizeof *v->offsets)
        return tl_invalid(c->ctx, "%s->rows is %ld: its offsets would have more bytes than 2^63",
                          name, v->rows);
    const int64_t bytes = (v->rows + 1) * (int64_t)sizeof *v->offsets;
    const tally_status status = copy_bytes(c, &at, 0, bytes, 0, "a copy of offsets");
    v->offsets = at;
    return status;
}

/* tl_host_offsets for another view of a call, which may have the offsets of `given`; `in` has those
 * on the host. */
static tally_status same_offsets(tl_host_copies *c, const tally_view *given, const tally_view *in,
                                 const char *name, tally_view *v)
{
    if (v->offsets != given->offsets || v->rows != given->rows) return tl_host_offsets(c, name, v);
    v->offsets = in->offsets;
    return TALLY_OK;
}

tally_status tl_host_call(tl_host_copies *c, const tl_call *call, tally_view *in, tally_view *next,
                          tally_view *out)
{
    const tally_view *const given = call->in;
    *in = *given;
    if (call->out) *out = *call->out;
    if (given->next) *next = *given->next, in->next = next;
    TL_TRY(tl_host_offsets(c, "in", in));
    if (given->next) TL_TRY(same_offsets(c, given, in, "in->next", next));
    if (call->out) TL_TRY(same_offsets(c, given, in, "out", out));
    return TALLY_OK;
}

/* Runs a call on the processors: device memory is copied to the host, and results back. */
static tally_status run_on_processors(tally *ctx, const tl_call *call)
{
    tally_view in = *call->in, out = *call->out;
    tl_plan plan = *call->plan;
    tl_call here = *call;

    here.plan = &plan, here.in = &in, here.out = &out;
    TL_HOST_COPIES(c, ctx);
    ctx->device->on_processors += tl_view_elements(&in);
    TL_TRY(tl_host_view(&c, &in, plan.op->elem_bytes, 0));
    TL_TRY(tl_host_view(&c, &out, plan.op->result_bytes, 1));
    if (!plan.core) TL_TRY(tl_plan_on_host(ctx, plan.op, plan.par, &plan));
    TL_TRY(tl_run(ctx, tally_threads(ctx), &here));
    return tl_host_back(&c);
}

tally_status tl_run_checked(tally *ctx, const tl_call *call)
{
    int done;
    TL_LAW_FP;
    TL_TRY(ctx->device->calls->run(ctx->device, ctx, call, &done));
    if (!done) TL_TRY(run_on_processors(ctx, call));
    return TALLY_OK;
}

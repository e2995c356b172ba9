/* SPDX-License-Identifier: MIT
 * The memory of a context's devices, and a sequence in parts on several devices: checks, then the
 * calls of many/. */
#include "dtype/number.h"
#include "context/context.h"
#include "calls.h"
#include "law/fp.h"
#include "many/many.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tally *tally_member(tally *ctx, int k)
{
    if (!ctx || k < 0) return NULL;
    if (!ctx->members) return k ? NULL : ctx;
    for (int i = 0; i < k; i++)
        if (!ctx->members[i]) return NULL;
    return ctx->members[k];
}

tally_status tally_owner(tally *ctx, const void *p, int *device)
{
    if (!ctx) return tl_no_context();
    if (!device) return tl_invalid(ctx, "device is NULL: must point to where the number goes");
    const tl_devices t = tl_devices_of(&ctx);
    return tl_devices_owner(&t, p, device);
}

/* Copies from one device to another, through the host, a megabyte at a time. */
static tally_status copy_through(const tl_devices *t, int a, int b, char *to, const char *from,
                                 size_t bytes)
{
    assert(bytes > 0);
    assert(a >= 0 && a < t->count && b >= 0 && b < t->count);
    enum { AT_ONCE = 1 << 20 };
    TL_FREED char *const between = malloc(bytes < AT_ONCE ? bytes : AT_ONCE);
    if (!between) return tl_fail(t->ctx, TALLY_NO_MEMORY, "no memory for a copy between devices");

    for (size_t done = 0, now; done < bytes; done += now) {
        now = bytes - done < AT_ONCE ? bytes - done : AT_ONCE;
        TL_TRY(tl_devices_copy(t, b, between, from + done, (int64_t)now));
        TL_TRY(tl_devices_copy(t, a, to + done, between, (int64_t)now));
    }

    return TALLY_OK;
}

tally_status tally_copy(tally *ctx, void *to, const void *from, size_t bytes)
{
    int a, b;
    if (!ctx) return tl_no_context();
    if (!bytes) return TALLY_OK;

    if (!to || !from)
        return tl_invalid(ctx, "%s is NULL: must have %zu bytes", to ? "from" : "to", bytes);
    const tl_devices t = tl_devices_of(&ctx);
    TL_TRY(tl_devices_owner(&t, to, &a));
    TL_TRY(tl_devices_owner(&t, from, &b));
    if (a >= 0 && b >= 0) return copy_through(&t, a, b, to, from, bytes);
    if (a >= 0 || b >= 0) return tl_devices_copy(&t, a >= 0 ? a : b, to, from, (int64_t)bytes);

    memcpy(to, from, bytes);
    return TALLY_OK;
}

/* Checks part k: one dense sequence, in memory that member k can use. */
static tally_status check_part(const tl_devices *t, const char *what, int k, const tally_view *v,
                               int64_t bytes)
{
    assert(k >= 0 && k < t->count);
    char name[32];
    snprintf(name, sizeof name, "%s[%d]", what, k);
    if (v->offsets || v->rows != 1 || (v->stride != 1 && v->n > 1))
        return tl_invalid(t->ctx, "%s is not one dense sequence: must be as tally_flat makes it",
                          name);
    tally_status status = tl_view_check(t->ctx, v, name, bytes);
    return status || !v->n ? status : tl_split_check(t, what, k, v->data);
}

/* A call on parts of one sequence. */
typedef struct {
    tl_devices devices;
    tl_plan plan;
    const tally_view *parts;
    int count;
    int64_t all; /* elements of all parts */
} split;

static tally_status begin(split *s, tally *const *ctx, const char *op, const tally_view *parts,
                          int count)
{
    tl_devices *const t = &s->devices;
    tl_plan *const plan = &s->plan;

    if (!*ctx) return tl_no_context();
    *s = (split){.devices = tl_devices_of(ctx), .parts = parts, .count = count};
    if (!parts) return tl_invalid(*ctx, "parts is NULL: must be views");

    if (count < 1 || count > t->count)
        return tl_invalid(*ctx, "count is %d: must be 1..%d, the devices of the context", count,
                          t->count);
    TL_TRY(tl_plan_of_host(*ctx, op, parts[0].dtype, plan));
    if (plan->exact || tl_is_checked(op))
        return tl_unsupported(*ctx, "op is '%.60s': make a fragment of each part, and merge them",
                              op);

    for (int k = 0; k < count; k++) {
        if (parts[k].dtype != parts[0].dtype)
            return tl_invalid(*ctx, "parts[%d].dtype is %s: must be %s, as that of parts[0]", k,
                              tl_dtype_word(parts[k].dtype), tally_dtype_name(parts[0].dtype));
        TL_TRY(check_part(t, "parts", k, &parts[k], plan->op->elem_bytes));
        if ((s->all += parts[k].n) >> 61)
            return tl_invalid(*ctx, "parts have more than 2^61 - 1 elements");
    }
    return TALLY_OK;
}

/* Checks outs[k]: it has `length` results, and overlaps neither a part (in_place: except
 * parts[k]) nor the results before it. */
static tally_status check_out(const split *s, const tally_view *outs, int k, int64_t length,
                              int in_place)
{
    assert(k >= 0 && k < s->count);
    assert(length >= 0);
    const tl_devices *const t = &s->devices;
    const tl_scalar *const op = s->plan.op;
    char name[24];
    snprintf(name, sizeof name, "outs[%d].", k);
    TL_TRY(tl_check_output_dtype(t->ctx, op, s->parts[0].dtype, &outs[k], name));

    if (outs[k].n != length)
        return tl_invalid(t->ctx, "outs[%d].n is %ld: must be %ld", k, outs[k].n, length);
    TL_TRY(check_part(t, "outs", k, &outs[k], op->result_bytes));

    for (int j = 0; j < s->count; j++) {
        TL_TRY(tl_check_overlap(t->ctx, &s->parts[j], op->elem_bytes, &outs[k], op->result_bytes,
                                in_place && j == k));
        if (j < k &&
            tl_check_overlap(t->ctx, &outs[j], op->result_bytes, &outs[k], op->result_bytes, 0))
            return tl_invalid(t->ctx, "outs[%d] overlaps outs[%d]: give it memory of its own", k,
                              j);
    }
    return TALLY_OK;
}

tally_status tally_reduce_split(tally *ctx, const char *op, const tally_view *parts, int count,
                                void *out)
{
    split s;
    TL_TRY(begin(&s, &ctx, op, parts, count));
    if (!out) return tl_invalid(ctx, "out is NULL: must have space for a result");
    TL_LAW_FP;
    return tl_split_reduce(&s.devices, &s.plan, parts, count, out);
}

tally_status tally_scan_split(tally *ctx, const char *op, const tally_view *parts, int count,
                              const tally_view *outs, const tally_scan_options *o)
{
    split s;
    TL_TRY(begin(&s, &ctx, op, parts, count));
    if (!outs) return tl_invalid(ctx, "outs is NULL: must be views");
    if (o && o->reverse)
        return tl_unsupported(
            ctx, "reverse: scans of parts go forward; give the parts in reverse order");
    TL_TRY(tl_check_scan(ctx, &s.plan, o));
    for (int k = 0; k < count; k++) TL_TRY(check_out(&s, outs, k, parts[k].n, 1));

    TL_LAW_FP;
    return tl_split_scan(&s.devices, &s.plan, parts, count, outs, o);
}

tally_status tally_window_split(tally *ctx, const char *op, const tally_view *parts, int count,
                                const tally_view *outs, const tally_window_options *o)
{
    split s;
    tl_plan counts;
    int64_t start = 0, first;

    TL_TRY(begin(&s, &ctx, op, parts, count));
    TL_TRY(tl_plan_of_host(ctx, "count", parts[0].dtype, &counts));
    if (!outs) return tl_invalid(ctx, "outs is NULL: must be views");
    TL_TRY(tl_check_streams(ctx, o, "windows of parts take"));

    for (int k = 0; k < count; start += parts[k++].n)
        TL_TRY(check_out(&s, outs, k, tl_split_length(start, parts[k].n, s.all, o, &first), 0));

    const tl_call call = {TL_WINDOW, &s.plan, &counts, .in = parts, .out = outs, .window = o};
    TL_LAW_FP;
    return tl_split_window(&s.devices, &call, count);
}

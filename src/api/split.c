/* SPDX-License-Identifier: MIT
 * The memory of a context's devices, and a sequence in parts on several devices: checks, then the
 * calls of many/. */
#include "context/operators.h"
#include "checks.h"
#include "law/fp.h"
#include "many/many.h"
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
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!device)
        return tl_fail(ctx, TALLY_INVALID, "device is NULL: must point to where the number goes");
    const tl_team t = tl_team_of(&ctx);
    return tl_team_owner(&t, p, device);
}

static tally_status copy_by(const tl_team *t, int k, void *to, const void *from, size_t bytes)
{
    const tl_device *d = t->member[k]->device;
    const tally_status status = d->calls->copy(t->member[k]->device, t->member[k], to, from, bytes);
    return status ? tl_team_fail(t, k, status) : TALLY_OK;
}

/* Copies from one device to another, through the host, a megabyte at a time. */
static tally_status copy_through(const tl_team *t, int a, int b, char *to, const char *from,
                                 size_t bytes)
{
    enum { AT_ONCE = 1 << 20 };
    char *const between = malloc(bytes < AT_ONCE ? bytes : AT_ONCE);
    tally_status status = TALLY_OK;
    if (!between) return tl_fail(t->ctx, TALLY_NO_MEMORY, "no memory for a copy between devices");
    for (size_t done = 0, now; done < bytes && !status; done += now) {
        now = bytes - done < AT_ONCE ? bytes - done : AT_ONCE;
        status = copy_by(t, b, between, from + done, now);
        if (!status) status = copy_by(t, a, to + done, between, now);
    }
    free(between);
    return status;
}

tally_status tally_copy(tally *ctx, void *to, const void *from, size_t bytes)
{
    int a, b;
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!bytes) return TALLY_OK;
    if (!to || !from)
        return tl_fail(ctx, TALLY_INVALID, "%s is NULL: must have %zu bytes", to ? "from" : "to",
                       bytes);
    const tl_team t = tl_team_of(&ctx);
    tally_status status = tl_team_owner(&t, to, &a);
    if (!status) status = tl_team_owner(&t, from, &b);
    if (status) return status;
    if (a >= 0 && b >= 0) return copy_through(&t, a, b, to, from, bytes);
    if (a >= 0 || b >= 0) return copy_by(&t, a >= 0 ? a : b, to, from, bytes);
    memcpy(to, from, bytes);
    return TALLY_OK;
}

/* Checks part k: one dense sequence, in memory that member k can use. */
static tally_status check_part(const tl_team *t, const char *what, int k, const tally_view *v,
                               int64_t bytes)
{
    char name[32];
    snprintf(name, sizeof name, "%s[%d]", what, k);
    if (v->offsets || v->rows != 1 || (v->stride != 1 && v->n > 1))
        return tl_fail(t->ctx, TALLY_INVALID,
                       "%s is not one dense sequence: must be as tally_flat makes it", name);
    tally_status status = tl_view_check(t->ctx, v, name, bytes);
    return status || !v->n ? status : tl_split_place(t, what, k, v->data);
}

/* The begin of a call on parts: checks them. *all becomes the number of their elements. */
static tally_status begin(tally *const *ctx, const char *op, const tally_view *parts, int count,
                          tl_team *t, tl_plan *plan, int64_t *all)
{
    if (!*ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    *t = tl_team_of(ctx);
    *all = 0;
    if (!parts) return tl_fail(*ctx, TALLY_INVALID, "parts is NULL: must be views");
    if (count < 1 || count > t->count)
        return tl_fail(*ctx, TALLY_INVALID,
                       "count is %d: must be 1..%d, the devices of the context", count, t->count);
    tally_status status = tl_plan_of_host(*ctx, op, parts[0].dtype, plan);
    if (!status && plan->exact)
        status = tl_fail(*ctx, TALLY_UNSUPPORTED,
                         "op is '%.60s': exact sums of parts are added by tally_exact_merge", op);
    for (int k = 0; !status && k < count; k++) {
        if (parts[k].dtype != parts[0].dtype)
            return tl_fail(
                *ctx, TALLY_INVALID, "parts[%d].dtype is %s: must be %s, as that of parts[0]", k,
                tally_dtype_name(parts[k].dtype) ? tally_dtype_name(parts[k].dtype) : "unknown",
                tally_dtype_name(parts[0].dtype));
        status = check_part(t, "parts", k, &parts[k], plan->op->elem_bytes);
        if (!status && (*all += parts[k].n) >> 61)
            status = tl_fail(*ctx, TALLY_INVALID, "parts have more than 2^61 - 1 elements");
    }
    return status;
}

/* Checks outs[k]: it has `length` results, and overlaps neither a part (in_place: except
 * parts[k]) nor the results before it. */
static tally_status check_out(const tl_team *t, const tl_plan *plan, const tally_view *parts,
                              int count, const tally_view *outs, int k, int64_t length,
                              int in_place)
{
    const tl_scalar *op = plan->op;
    if (outs[k].dtype != op->out)
        return tl_fail(t->ctx, TALLY_INVALID, "outs[%d].dtype is %s: %s of %s gives %s", k,
                       tally_dtype_name(outs[k].dtype) ? tally_dtype_name(outs[k].dtype)
                                                       : "unknown",
                       op->file, tally_dtype_name(parts[0].dtype), tally_dtype_name(op->out));
    if (outs[k].n != length)
        return tl_fail(t->ctx, TALLY_INVALID, "outs[%d].n is %lld: must be %lld", k,
                       (long long)outs[k].n, (long long)length);
    tally_status status = check_part(t, "outs", k, &outs[k], op->result_bytes);
    for (int j = 0; !status && j < count; j++) {
        status = tl_view_overlap(t->ctx, &parts[j], op->elem_bytes, &outs[k], op->result_bytes,
                                 in_place && j == k);
        if (!status && j < k &&
            tl_view_overlap(t->ctx, &outs[j], op->result_bytes, &outs[k], op->result_bytes, 0))
            status = tl_fail(t->ctx, TALLY_INVALID,
                             "outs[%d] overlaps outs[%d]: give it memory of its own", k, j);
    }
    return status;
}

tally_status tally_reduce_split(tally *ctx, const char *op, const tally_view *parts, int count,
                                void *out)
{
    tl_plan plan;
    tl_team t;
    int64_t all;
    tally_status status = begin(&ctx, op, parts, count, &t, &plan, &all);
    if (!status && !out)
        status = tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for a result");
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    status = tl_split_reduce(&t, &plan, parts, count, out);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_scan_split(tally *ctx, const char *op, const tally_view *parts, int count,
                              const tally_view *outs, const tally_scan_options *o)
{
    tl_plan plan;
    tl_team t;
    int64_t all;
    tally_status status = begin(&ctx, op, parts, count, &t, &plan, &all);
    if (!status && !outs) status = tl_fail(ctx, TALLY_INVALID, "outs is NULL: must be views");
    if (!status && o && o->reverse)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "reverse: scans of parts go forward; give the parts in reverse order");
    if (!status) status = tl_check_scan(ctx, &plan, o);
    for (int k = 0; !status && k < count; k++)
        status = check_out(&t, &plan, parts, count, outs, k, parts[k].n, 1);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    status = tl_split_scan(&t, &plan, parts, count, outs, o);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_window_split(tally *ctx, const char *op, const tally_view *parts, int count,
                                const tally_view *outs, const tally_window_options *o)
{
    tl_plan plan, counts;
    tl_team t;
    int64_t all, start = 0, first;
    tally_status status = begin(&ctx, op, parts, count, &t, &plan, &all);
    if (!status) status = tl_plan_of_host(ctx, "count", parts[0].dtype, &counts);
    if (!status && !outs) status = tl_fail(ctx, TALLY_INVALID, "outs is NULL: must be views");
    if (!status) status = tl_check_window(ctx, o);
    if (!status && !tl_window_streams(o))
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "before %lld, after %lld, step %lld: windows of parts take before and "
                         "after of at least 0, and "
                         "no step",
                         (long long)o->before, (long long)o->after, (long long)o->step);
    for (int k = 0; !status && k < count; start += parts[k++].n)
        status = check_out(&t, &plan, parts, count, outs, k,
                           tl_split_length(start, parts[k].n, all, o, &first), 0);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    status = tl_split_window(&t, &plan, &counts, parts, count, outs, o);
    tl_fp_leave(fp);
    return status;
}

/* SPDX-License-Identifier: MIT
 * A device that consists of several devices: its calls. A view in device memory goes to the member
 * that has the memory. A view on the host is cut into shares of its rows, and its long sequences
 * along their elements. The first member does what is small or cannot be cut. */
#include "many.h"
#include "context/view.h"
#include "law/counter.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    tl_device base;
    tl_devices devices; /* ctx: NULL */
    char name[80];
} many;

static const tl_device_calls calls;

tl_devices tl_devices_of(tally *const *ctx)
{
    tl_devices t = {*ctx, ctx, 1};
    if (!(*ctx)->members) return t;
    t = ((const many *)(*ctx)->device)->devices;
    t.ctx = *ctx;
    return t;
}

static tl_devices devices_of(const tl_device *d, tally *ctx)
{
    tl_devices t = ((const many *)d)->devices;
    t.ctx = ctx;
    return t;
}

tally_status tl_many_open(tally *ctx, const char *name, tally *const *members, int count,
                          tl_device **device)
{
    many *d = calloc(1, sizeof *d);
    if (!d) return tl_no_memory(ctx, sizeof *d, "a device");

    d->devices = (tl_devices){NULL, members, count};
    snprintf(d->name, sizeof d->name, "%s", name);
    d->base = (tl_device){.calls = &calls, .name = d->name, .threads = members[0]->device->threads};

    /* the members work at the same time: each gets its share of the processors' threads */
    for (int k = 0; k < count; k++) {
        int *const threads = &members[k]->device->threads;
        *threads = *threads > count ? *threads / count : 1;
    }
    *device = &d->base;
    return TALLY_OK;
}

static void close(tl_device *base) { free(base); }

static int describe(int index, tally_device_info *info) { return (void)index, (void)info, 0; }
static tl_device *first_of(tl_device *d) { return ((many *)d)->devices.member[0]->device; }

static tally_status plan(tl_device *d, tally *ctx, const tl_scalar *op, tl_par par, tl_plan_use use,
                         tl_plan *p)
{
    return first_of(d)->calls->plan(first_of(d), ctx, op, par, use, p);
}

/* ---- the owner of memory ---- */

/* *who: the member that must do a call on this memory; -1 if all of it is host memory. */
static tally_status find_owner(const tl_devices *t, const void *in, const void *out,
                               const void *offsets, int *who)
{
    const tl_argument all[] = {{"in->data", in}, {"out", out}, {"offsets", offsets}};
    return tl_devices_one_owner(t, all, 3, " (tally_reduce_split takes parts on several)", who);
}

static tally_status owner(tl_device *d, tally *ctx, const void *p, tl_device **to)
{
    const tl_devices t = devices_of(d, ctx);
    int who;
    const tally_status status = tl_devices_owner(&t, p, &who);
    *to = who >= 0 ? t.member[who]->device : NULL;
    return status;
}

static tally_status copy(tl_device *d, tally *ctx, void *to, const void *from, size_t bytes)
{
    const tl_devices t = devices_of(d, ctx);
    int who;
    TL_TRY(tl_devices_owner(&t, to, &who));
    if (who < 0) TL_TRY(tl_devices_owner(&t, from, &who));
    return tl_devices_copy(&t, who < 0 ? 0 : who, to, from, (int64_t)bytes);
}

/* ---- views on the host ---- */

/* A call of the devices. The views are those of `call`, or some of their rows. */
typedef struct {
    const tl_devices *devices;
    tl_call call;
    tl_plan plan;
    tally_view in, out;
} job;

static tally_view rows_of(const tally_view *v, int64_t from, int64_t to, int64_t bytes)
{
    tally_view r = *v;
    r.rows = to - from;
    if (v->offsets)
        r.offsets += from;
    else
        r.data = tl_offset(v->data, tl_step(from * v->row_stride, bytes));
    return r;
}

static tally_status run_rows(tally *member, int k, void *data)
{
    const job *j = data;
    const int64_t from = tl_share(&j->in, k, j->devices->count),
                  to = tl_share(&j->in, k + 1, j->devices->count);
    if (from >= to) return TALLY_OK;

    const tally_view in = rows_of(&j->in, from, to, j->plan.op->elem_bytes),
                     out = rows_of(&j->out, from, to, j->plan.op->result_bytes);
    tl_call call = j->call;
    call.plan = &j->plan, call.in = &in, call.out = &out;
    return tl_member_run(member->device, member, &call);
}

/* True if row r is cut along its elements. total: elements of all rows. */
static int is_long(const job *j, int64_t r, int64_t total)
{
    const int count = j->devices->count;
    const int64_t n = j->in.offsets ? j->in.offsets[r + 1] - j->in.offsets[r] : j->in.n;
    const tally_window_options *const w = j->call.window;
    const int64_t window = w ? w->before + w->after + 1 : 0;
    if (n <= total / (2 * count) || (!j->in.offsets && j->in.rows % count == 0)) return 0;

    if (j->in.stride != 1 || (j->call.verb != TL_REDUCE && j->out.stride != 1) ||
        tl_is_reversed(&j->call))
        return 0;
    return tl_slicing_pays(j->devices, &j->plan, n, window);
}

/* Does row r, cut along its elements. */
static tally_status run_long(const job *j, int64_t r)
{
    const tl_scalar *op = j->plan.op;
    int64_t n, results;
    char *const x = tl_view_row(&j->in, r, op->elem_bytes, &n), *const y = tl_view_row(
                                                                    &j->out, r, op->result_bytes,
                                                                    &results);
    tl_scan s;

    if (j->call.verb == TL_WINDOW) {
        const tally_view in = tally_flat(x, op->dtype, n), out = tally_flat(y, op->out, results);
        tl_call call = j->call;
        call.plan = &j->plan, call.in = &in, call.out = &out;
        return tl_sliced_windows(j->devices, &call);
    }

    tl_scan_begin(&s, &j->plan, j->call.scan);
    const tl_push p = {j->call.verb, &j->plan, x, n, y, &s.done, &s};
    TL_TRY(tl_sliced_push(j->devices, &p));
    if (p.verb == TL_REDUCE) tl_counter_lower(&s.done, &j->plan, y);
    return TALLY_OK;
}

/* Does a call on the host: shares of rows, and long rows along their elements, in order. */
static tally_status spread(job *j)
{
    const tl_devices *t = j->devices;
    tl_device *d = t->member[0]->device;
    const tl_plan *const p = j->call.plan;
    const int64_t total = tl_view_elements(j->call.in), rows = j->call.in->rows;
    const int64_t bytes = tl_max(p->op->elem_bytes, p->op->result_bytes);
    if (total < t->count * d->least_bytes / bytes) return tl_member_run(d, t->ctx, &j->call);

    /* Operators of users: the host joins their nodes, and two threads must not compile them at
     * once. */
    j->plan = *p;
    if (!p->core && d->calls->plan(d, t->ctx, p->op, p->par, TL_FOR_PROCESSORS, &j->plan))
        return tl_member_run(d, t->ctx, &j->call);
    j->in = *j->call.in, j->out = *j->call.out;

    for (int64_t r = 0, end; r < rows; r = end) {
        end = r + 1;
        if (is_long(j, r, total)) {
            TL_TRY(run_long(j, r));
            continue;
        }

        while (end < rows && (!j->in.offsets || !is_long(j, end, total))) end++;
        job some = *j;
        some.in = rows_of(&j->in, r, end, p->op->elem_bytes);
        some.out = rows_of(&j->out, r, end, p->op->result_bytes);
        TL_TRY(tl_devices_run(t, run_rows, &some));
    }
    return TALLY_OK;
}

/* Runs of keys, and gathers: the member that has the memory does the call. */
static tally_status run_keys(const tl_devices *t, const tl_call *c, int *done)
{
    const int takes = c->verb == TL_TAKE;
    const tl_argument in = {takes ? "in" : "keys", c->in->n ? c->in->data : NULL},
                      all[] = {in,
                               takes ? (tl_argument){"order", c->positions->order}
                                     : (tl_argument){"offsets", c->positions->offsets},
                               {"out", takes ? c->out->data : NULL}};
    int who;
    const tally_status status = tl_devices_one_owner(t, all, 3, "", &who);
    if (status || who < 0) return status;
    tl_device *const one = t->member[who]->device;
    return one->calls->run(one, t->ctx, c, done);
}

static tally_status run(tl_device *d, tally *ctx, const tl_call *call, int *done)
{
    const tl_devices t = devices_of(d, ctx);
    int who;

    *done = 0;
    if (call->verb == TL_RUNS || call->verb == TL_TAKE) return run_keys(&t, call, done);
    if (call->form || call->plan->exact || tl_needs_processors(call)) return TALLY_OK;
    TL_TRY(find_owner(&t, call->in->data, call->out->data,
                      call->unchecked ? call->in->offsets : NULL, &who));
    if (who >= 0) return t.member[who]->device->calls->run(t.member[who]->device, ctx, call, done);
    if (call->unchecked) return TALLY_OK;
    *done = 1;
    return spread(&(job){.devices = &t, .call = *call});
}

/* ---- streams, fragments and fields ----
 *
 * A field is kept by the member that has the memory of its first step. A step lies in the memory of
 * one device, so cutting it by cells would send it across the bus. */

static tally_status push(tl_device *d, tally *ctx, const tl_push *p)
{
    const tl_devices t = devices_of(d, ctx);
    int who;
    TL_TRY(find_owner(&t, p->x, p->verb == TL_SCAN ? p->out : NULL, NULL, &who));
    if (who < 0) return tl_sliced_push(&t, p);
    return t.member[who]->device->calls->push(t.member[who]->device, ctx, p);
}

static tally_status grid(tl_device *d, tally *ctx, const tl_plan *p, int64_t rows, const void *step,
                         tl_grid **to)
{
    const tl_devices t = devices_of(d, ctx);
    int who;
    *to = NULL;
    TL_TRY(tl_devices_owner(&t, step, &who));

    tl_device *const one = t.member[who < 0 ? 0 : who]->device;
    if (!one->calls->grid)
        return tl_unsupported(ctx, "%s keeps no fields in its memory", one->name);
    return one->calls->grid(one, ctx, p, rows, step, to);
}

static tally_status use(tl_device *d, tally *ctx, tl_use what, const void *object)
{
    const char *const name = what == TL_USE_STREAM ? "stream" : "allocator";
    return tl_unsupported(
        ctx, "%s: %s are several devices, and one %s is of one: give it to a member (tally_member)",
        name, d->name, name);
}

static tally_status adopt(tl_device *d, tally *ctx, void *object, void **pointer)
{
    return tl_unsupported(
        ctx,
        "object: %s are several devices, and memory is of one: give it to a member (tally_member)",
        d->name);
}

static void time_all(tl_device *d, tally *ctx, tl_timing what, tally_times_info *sum)
{
    const tl_devices t = devices_of(d, ctx);
    for (int k = 0; k < t.count; k++) {
        tally_times_info one = {0};
        t.member[k]->device->calls->time(t.member[k]->device, ctx, what, &one);
        if (what != TL_TIMES_READ) continue;
        sum->kernels += one.kernels;
        sum->to_device += one.to_device;
        sum->from_device += one.from_device;
        sum->compile += one.compile;
        sum->bytes_to_device += one.bytes_to_device;
        sum->bytes_from_device += one.bytes_from_device;
        sum->device_bytes += one.device_bytes;
        sum->locked_bytes += one.locked_bytes;
        sum->launches += one.launches;
        sum->on_processors += one.on_processors;
    }

    if (what == TL_TIMES_READ)
        sum->on_processors += d->on_processors;
    else
        d->on_processors = 0;
}

static const tl_device_calls calls = {
    .name = "many",
    .describe = describe,
    .close = close,
    .plan = plan,
    .run = run,
    .push = push,
    .grid = grid,
    .owner = owner,
    .copy = copy,
    .adopt = adopt,
    .use = use,
    .time = time_all,
};

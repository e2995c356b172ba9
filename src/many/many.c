/* SPDX-License-Identifier: MIT
 * A device that consists of several devices: its calls. A view in device memory goes to the member
 * that has the memory. A view on the host is cut into shares of its rows, and its long sequences
 * along their elements. The first member does what is small or cannot be cut. */
#include "many.h"
#include "context/share.h"
#include "law/counter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tl_device base;
    tl_team team; /* ctx: NULL */
    int threads;
    char name[80];
} many;

static const tl_device_calls calls;

tl_team tl_team_of(tally *const *ctx)
{
    tl_team t = {*ctx, ctx, 1};
    if (!(*ctx)->members) return t;
    t = ((const many *)(*ctx)->device)->team;
    t.ctx = *ctx;
    return t;
}

static tl_team team_of(const tl_device *d, tally *ctx)
{
    tl_team t = ((const many *)d)->team;
    t.ctx = ctx;
    return t;
}

/* ---- open, close, properties ---- */

tally_status tl_many_open(tally *ctx, const char *name, tally *const *members, int count,
                          tl_device **device)
{
    many *d = calloc(1, sizeof *d);
    if (!d) return tl_no_memory(ctx, sizeof *d, "a device");
    d->team = (tl_team){NULL, members, count};
    d->base.calls = &calls;
    d->threads = members[0]->device->calls->threads(members[0]->device);
    snprintf(d->name, sizeof d->name, "%s", name);
    for (int k = 0; k < count; k++)
        if (members[k]->device->calls->share)
            members[k]->device->calls->share(members[k]->device, count);
    *device = &d->base;
    return TALLY_OK;
}

static void close(tl_device *base) { free(base); }

static int describe(int index, tally_device_info *info) { return (void)index, (void)info, 0; }
static int threads(const tl_device *d) { return ((const many *)d)->threads; }
static const char *isa(const tl_device *d) { return ((const many *)d)->name; }
static tl_device *first_of(tl_device *d) { return ((many *)d)->team.member[0]->device; }

static tally_status plan(tl_device *d, tally *ctx, const tl_scalar *op, tl_par par, tl_plan *p)
{
    return first_of(d)->calls->plan(first_of(d), ctx, op, par, p);
}

static tally_status plan_host(tl_device *d, tally *ctx, const tl_scalar *op, tl_par par, tl_plan *p)
{
    return first_of(d)->calls->plan_host(first_of(d), ctx, op, par, p);
}

/* ---- the owner of memory ---- */

/* *who: the member that must do a call on this memory; -1 if all of it is host memory. */
static tally_status find_owner(const tl_team *t, const void *in, const void *out,
                               const void *offsets, int *who)
{
    const tl_array all[] = {{"in->data", in}, {"out", out}, {"offsets", offsets}};
    return tl_team_one(t, all, 3, " (tally_reduce_split takes parts on several)", who);
}

/* ---- views on the host ---- */

typedef struct {
    enum { REDUCE, SCAN, WINDOW } verb;
    const tl_team *team;
    tl_plan plan;
    const tl_plan *count;
    tally_view in, out; /* out of a reduce: rows of one result */
    const tally_scan_options *scan;
    const tally_window_options *window;
} job;

static tally_status on_device(const job *j, tl_device *d, tally *ctx, const tally_view *in,
                              const tally_view *out)
{
    if (j->verb == REDUCE) return d->calls->reduce(d, ctx, &j->plan, in, out->data);
    if (j->verb == SCAN) return d->calls->scan(d, ctx, &j->plan, in, out, j->scan);
    return d->calls->window(d, ctx, &j->plan, j->count, in, out, j->window);
}

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

static tally_status share(tally *member, int k, void *data)
{
    const job *j = data;
    const int64_t from = tl_share(&j->in, k, j->team->count),
                  to = tl_share(&j->in, k + 1, j->team->count);
    if (from >= to) return TALLY_OK;
    const tally_view in = rows_of(&j->in, from, to, j->plan.op->elem_bytes),
                     out = rows_of(&j->out, from, to, j->plan.op->result_bytes);
    return on_device(j, member->device, member, &in, &out);
}

static int64_t elements_of(const tally_view *v)
{
    return v->offsets ? v->offsets[v->rows] - v->offsets[0] : v->rows * v->n;
}

/* True if row r is cut along its elements. total: elements of all rows. */
static int is_long(const job *j, int64_t r, int64_t total)
{
    const int count = j->team->count;
    const int64_t n = j->in.offsets ? j->in.offsets[r + 1] - j->in.offsets[r] : j->in.n;
    const int64_t overlap = j->window ? j->window->before + j->window->after + 1 : 0;
    if (n <= total / (2 * count) || (!j->in.offsets && j->in.rows % count == 0)) return 0;
    if (j->in.stride != 1 || (j->verb != REDUCE && j->out.stride != 1) ||
        (j->scan && j->scan->reverse))
        return 0;
    return tl_along_worth(j->team, &j->plan, n, overlap);
}

static tally_status along(const job *j, int64_t r)
{
    const tl_team *t = j->team;
    const tl_scalar *op = j->plan.op;
    int64_t n, results;
    const void *x = tl_view_row(&j->in, r, op->elem_bytes, &n);
    void *out = tl_view_row(&j->out, r, op->result_bytes, &results);
    tl_scan s;
    tl_state v;
    if (j->verb == WINDOW)
        return tl_along_slice(t, &j->plan, j->count, j->window, x, n, TL_AT_END, TL_AT_END, out,
                              &results);
    tl_scan_begin(&s, &j->plan, j->scan);
    if (j->verb == SCAN) return tl_along_scan(t, &s, x, n, out);
    tally_status status = tl_along_slab(t, &j->plan, x, n, &s.done);
    if (!status && tl_counter_fold(&s.done, op, NULL, &v)) op->lower(&v, n, 0, j->plan.par, out);
    return status;
}

/* Does a call on the host: shares of rows, and long rows along their elements, in order. */
static tally_status spread(job *j)
{
    const tl_team *t = j->team;
    tl_device *d = t->member[0]->device;
    const int64_t total = elements_of(&j->in), rows = j->in.rows;
    const int64_t bytes = j->plan.op->elem_bytes > j->plan.op->result_bytes
                              ? j->plan.op->elem_bytes
                              : j->plan.op->result_bytes;
    tl_plan host;
    if (total < t->count * d->calls->least(d) / bytes)
        return on_device(j, d, t->ctx, &j->in, &j->out);
    /* Operators of users: the host joins their nodes, and two threads must not compile them at
     * once. */
    if (!j->plan.core) {
        if (d->calls->plan_host(d, t->ctx, j->plan.op, j->plan.par, &host))
            return on_device(j, d, t->ctx, &j->in, &j->out);
        j->plan = host;
    }
    tally_status status = TALLY_OK;
    for (int64_t r = 0, end; !status && r < rows; r = end) {
        end = r + 1;
        if (is_long(j, r, total)) {
            status = along(j, r);
            continue;
        }
        while (end < rows && (!j->in.offsets || !is_long(j, end, total))) end++;
        job some = *j;
        some.in = rows_of(&j->in, r, end, j->plan.op->elem_bytes);
        some.out = rows_of(&j->out, r, end, j->plan.op->result_bytes);
        status = tl_team_run(t, share, &some);
    }
    return status;
}

static tally_status run(job *j)
{
    int who;
    tally_status status = find_owner(j->team, j->in.data, j->out.data, NULL, &who);
    if (status) return status;
    return who < 0 ? spread(j)
                   : on_device(j, j->team->member[who]->device, j->team->ctx, &j->in, &j->out);
}

static tally_status reduce(tl_device *d, tally *ctx, const tl_plan *p, const tally_view *in,
                           void *out)
{
    const tl_team t = team_of(d, ctx);
    return run(&(job){REDUCE, &t, *p, .in = *in, .out = tally_rows(out, p->op->out, in->rows, 1)});
}

static tally_status scan(tl_device *d, tally *ctx, const tl_plan *p, const tally_view *in,
                         const tally_view *out, const tally_scan_options *o)
{
    const tl_team t = team_of(d, ctx);
    return run(&(job){SCAN, &t, *p, .in = *in, .out = *out, .scan = o});
}

static tally_status window(tl_device *d, tally *ctx, const tl_plan *p, const tl_plan *count,
                           const tally_view *in, const tally_view *out,
                           const tally_window_options *o)
{
    const tl_team t = team_of(d, ctx);
    return run(&(job){WINDOW, &t, *p, count, *in, *out, .window = o});
}

/* ---- offsets in device memory ---- */

static tally_status reduce_segments(tl_device *d, tally *ctx, const tl_plan *p,
                                    const tally_view *in, void *out, int *done)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = find_owner(&t, in->data, out, in->offsets, &who);
    if (status || who < 0) return status;
    tl_device *one = t.member[who]->device;
    return one->calls->reduce_segments(one, ctx, p, in, out, done);
}

static tally_status scan_segments(tl_device *d, tally *ctx, const tl_plan *p, const tally_view *in,
                                  const tally_view *out, const tally_scan_options *o, int *done)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = find_owner(&t, in->data, out->data, in->offsets, &who);
    if (status || who < 0) return status;
    tl_device *one = t.member[who]->device;
    return one->calls->scan_segments(one, ctx, p, in, out, o, done);
}

static tally_status window_segments(tl_device *d, tally *ctx, const tl_plan *p,
                                    const tl_plan *count, const tally_view *in,
                                    const tally_view *out, const tally_window_options *o, int *done)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = find_owner(&t, in->data, out->data, in->offsets, &who);
    if (status || who < 0) return status;
    tl_device *one = t.member[who]->device;
    return one->calls->window_segments(one, ctx, p, count, in, out, o, done);
}

static tally_status offsets(tl_device *d, tally *ctx, const tally_view *v, int64_t **copy)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = tl_team_owner(&t, v->offsets, &who);
    if (status || who < 0) return status;
    tl_device *one = t.member[who]->device;
    return one->calls->offsets(one, ctx, v, copy);
}

static tally_status owns(tl_device *d, tally *ctx, const void *p, int *ours)
{
    const tl_team t = team_of(d, ctx);
    int who;
    const tally_status status = tl_team_owner(&t, p, &who);
    *ours = who >= 0;
    return status;
}

/* Copies between host memory and that of a member. */
static tally_status copy(tl_device *d, tally *ctx, void *to, const void *from, size_t bytes)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = tl_team_owner(&t, to, &who);
    if (!status && who < 0) status = tl_team_owner(&t, from, &who);
    if (status) return status;
    if (who < 0) who = 0;
    tl_device *one = t.member[who]->device;
    status = one->calls->copy(one, t.member[who], to, from, bytes);
    return status ? tl_team_fail(&t, who, status) : TALLY_OK;
}

/* ---- streams and fragments ---- */

static tally_status slab(tl_device *d, tally *ctx, const tl_plan *p, const void *x, int64_t n,
                         tl_counter *c)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = tl_team_owner(&t, x, &who);
    if (status) return status;
    if (who < 0) return tl_along_slab(&t, p, x, n, c);
    tl_device *one = t.member[who]->device;
    return one->calls->slab(one, ctx, p, x, n, c);
}

static tally_status scan_push(tl_device *d, tally *ctx, tl_scan *s, const void *x, int64_t n,
                              void *out)
{
    const tl_team t = team_of(d, ctx);
    int who;
    tally_status status = find_owner(&t, x, out, NULL, &who);
    if (status) return status;
    if (who < 0) return tl_along_scan(&t, s, x, n, out);
    tl_device *one = t.member[who]->device;
    return one->calls->scan_push(one, ctx, s, x, n, out);
}

static tally_status window_slice(tl_device *d, tally *ctx, const tl_plan *p, const tl_plan *count,
                                 const tally_window_options *o, const void *x, int64_t n,
                                 int at_start, int at_end, void *out, int64_t *produced)
{
    const tl_team t = team_of(d, ctx);
    return tl_along_slice(&t, p, count, o, x, n, at_start, at_end, out, produced);
}

/* ---- calls in the memory of one member ---- */

static tally_status runs(tl_device *d, tally *ctx, const tally_view *keys, int64_t *to,
                         int64_t *number, int *done)
{
    const tl_team t = team_of(d, ctx);
    return tl_near_runs(&t, keys, to, number, done);
}

static tally_status gather(tl_device *d, tally *ctx, const tally_view *in, const int64_t *order,
                           const tally_view *out, int64_t *at, int64_t *place, int *done)
{
    const tl_team t = team_of(d, ctx);
    return tl_near_gather(&t, in, order, out, at, place, done);
}

static tally_status grid(tl_device *d, tally *ctx, const tl_plan *p, int64_t rows, const void *step,
                         tl_grid **to)
{
    const tl_team t = team_of(d, ctx);
    return tl_near_grid(&t, p, rows, step, to);
}

/* ---- the rest ---- */

static tally_status on_processors(tl_device *d, tally *ctx, const void *p, const char *name,
                                  const char *what, int64_t elements)
{
    const tl_team t = team_of(d, ctx);
    tally_status status = TALLY_OK;
    /* the first member counts the elements, after it is known that no member has p */
    for (int k = t.count - 1; !status && k >= 0; k--) {
        tl_device *one = t.member[k]->device;
        status = one->calls->on_processors(one, ctx, p, name, what, k ? 0 : elements);
    }
    return status;
}

static tally_status use_stream(tl_device *d, tally *ctx, void *stream)
{
    (void)stream;
    return tl_fail(ctx, TALLY_UNSUPPORTED,
                   "stream: %s are several devices, and a stream is of one: give it to a member "
                   "(tally_member)",
                   isa(d));
}

static tally_status adopt(tl_device *d, tally *ctx, void *object, void **pointer)
{
    (void)object, (void)pointer;
    return tl_fail(ctx, TALLY_UNSUPPORTED,
                   "object: %s are several devices, and memory is of one: give it to a member "
                   "(tally_member)",
                   isa(d));
}

static tally_status forget(tl_device *d, tally *ctx, void *pointer)
{
    return adopt(d, ctx, pointer, NULL);
}

static void time_on(tl_device *d, tally *ctx, int on)
{
    const tl_team t = team_of(d, ctx);
    for (int k = 0; k < t.count; k++)
        t.member[k]->device->calls->time(t.member[k]->device, ctx, on);
}

static void times(tl_device *d, tally *ctx, tally_times_info *sum)
{
    const tl_team t = team_of(d, ctx);
    for (int k = 0; k < t.count; k++) {
        tally_times_info one = {0};
        t.member[k]->device->calls->times(t.member[k]->device, ctx, &one);
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
}

static const tl_device_calls calls = {
    .name = "many",
    .describe = describe,
    .close = close,
    .threads = threads,
    .isa = isa,
    .plan = plan,
    .plan_host = plan_host,
    .reduce = reduce,
    .reduce_segments = reduce_segments,
    .scan_segments = scan_segments,
    .window_segments = window_segments,
    .offsets = offsets,
    .scan = scan,
    .window = window,
    .runs = runs,
    .gather = gather,
    .grid = grid,
    .slab = slab,
    .scan_push = scan_push,
    .on_processors = on_processors,
    .use_stream = use_stream,
    .adopt = adopt,
    .forget = forget,
    .time = time_on,
    .times = times,
    .window_slice = window_slice,
    .owns = owns,
    .copy = copy,
};

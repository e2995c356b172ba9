/* SPDX-License-Identifier: MIT
 * The context and the three verbs: arguments checked, operators resolved, work handed to the device. */
#include "device/device.h"
#include "fp.h"
#include "operators.h"
#include "probe.h"
#include "view.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define VERSION_TEXT(a, b, c) VERSION_TEXT_(a, b, c)

const char *tally_version(void)
{
    return VERSION_TEXT(TALLY_VERSION_MAJOR, TALLY_VERSION_MINOR, TALLY_VERSION_PATCH);
}

static const tl_device_calls *const devices[] = {
#define DEVICE(name) &tl_device_##name,
#include "device/devices.def"
#undef DEVICE
};
enum { DEVICES = sizeof devices / sizeof *devices };

tally_status tally_device(int index, tally_device_info *info)
{
    if (!info) return tl_fail(NULL, TALLY_INVALID, "info is NULL");
    int at = index;
    for (int d = 0; d < DEVICES && at >= 0; d++)
        for (int i = 0; devices[d]->describe(i, info); i++)
            if (at-- == 0) return TALLY_OK;
    return tl_fail(NULL, TALLY_INVALID, "device index is %d: there are fewer", index);
}

/* ---- context ---- */

/* Whether the device string's part before its comma is `name`; if not, `name` joins the choices. */
static int is_name(const char *device, const char *name, char *choices, size_t room)
{
    size_t length = strcspn(device, ","), used = strlen(choices);
    if (strlen(name) == length && !memcmp(device, name, length)) return 1;
    snprintf(choices + used, room - used, "%s%s", used ? ", " : "", name);
    return 0;
}

/* The device of a string: its kind, and its number among those of the kind: "cpu" is the first, and so is "cpu:0".
 * what: where the string comes from. */
static tally_status find_device(tally *ctx, const char *what, const char *device, const tl_device_calls **kind,
                                int *number)
{
    char choices[256] = "", numbered[32];
    tally_device_info info;
    *kind = devices[0];
    *number = 0;
    if (is_name(device, "auto", choices, sizeof choices)) return TALLY_OK;
    for (int d = 0; d < DEVICES; d++) {
        *kind = devices[d];
        if (is_name(device, devices[d]->name, choices, sizeof choices)) return TALLY_OK;
        for (int i = 0; devices[d]->describe(i, &info); i++) {
            snprintf(numbered, sizeof numbered, "%s:%d", devices[d]->name, i);
            if (!is_name(device, numbered, choices, sizeof choices)) continue;
            *number = i;
            return TALLY_OK;
        }
    }
    int length = (int)strcspn(device, ",");
    return tl_fail(ctx, TALLY_NO_DEVICE, "%s is '%.*s': must be one of %s", what, length < 60 ? length : 60, device,
                   choices);
}

/* The last of the options probe=on and probe=off, or on. */
static int wants_probe(const char *options)
{
    const char *last = NULL;
    for (const char *at = options; (at = strstr(at, ",probe=")); at++) last = at;
    return !last || strncmp(last, ",probe=off", 10);
}

static tally_status probe(tally *ctx, const tl_device_calls *kind, int number)
{
    tally_device_info info;
    char identity[300];
    kind->describe(number, &info);
    snprintf(identity, sizeof identity, "%s (%s)", info.name, info.text);
    tally_status status = tl_probe(ctx, ctx->device, identity);
    if (status) kind->close(ctx->device);
    return status;
}

/* Opens what `device` says, or for "auto" what TALLY_DEVICE says. Then the options are those of TALLY_DEVICE followed
 * by those of `device`: of two that contradict each other the later one holds. */
static tally_status open_device(tally *ctx, const char *device)
{
    const char *what = "device", *more = "", *env = getenv("TALLY_DEVICE");
    if (env && *env && !strncmp(device, "auto", 4) && (!device[4] || device[4] == ',')) {
        what = "TALLY_DEVICE";
        more = device + 4;
        device = env;
    }
    const tl_device_calls *kind;
    int number;
    tally_status status = find_device(ctx, what, device, &kind, &number);
    if (status) return status;
    const char *own = device + strcspn(device, ",");
    size_t room = strlen(own) + strlen(more) + 1;
    char *options = malloc(room);
    if (!options) return tl_no_memory(ctx, room, "a device's options");
    snprintf(options, room, "%s%s", own, more);
    status = kind->open(ctx, number, *options ? options + 1 : "", &ctx->device);
    int probes = wants_probe(options);
    free(options);
    return status || !probes ? status : probe(ctx, kind, number);
}

tally_status tally_open(tally **ctx, const char *device)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: must point to where the context goes");
    tally *c = *ctx = NULL;
    c = calloc(1, sizeof *c);
    if (!c) return tl_no_memory(NULL, sizeof *c, "a context");
    tally_status status = open_device(c, device ? device : "auto");
    if (status) {
        tl_fail(NULL, status, "%s", c->error);
        free(c);
        return status;
    }
    *ctx = c;
    return TALLY_OK;
}

void tally_close(tally *ctx)
{
    if (!ctx) return;
    ctx->device->calls->close(ctx->device);
    free(ctx);
}

int tally_threads(const tally *ctx) { return ctx ? ctx->device->calls->threads(ctx->device) : 1; }
const char *tally_isa(const tally *ctx) { return ctx ? ctx->device->calls->isa(ctx->device) : ""; }

tally_status tally_use_stream(tally *ctx, void *stream)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!ctx->device->calls->use_stream)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "stream: a %s device has none", ctx->device->calls->name);
    return ctx->device->calls->use_stream(ctx->device, ctx, stream);
}

tally_status tl_plan_of(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan)
{
    if (op)
        for (int i = 0; i < TL_PLAN_ENTRIES; i++)
            if (ctx->plans[i].dtype == dtype && !strcmp(ctx->plans[i].op, op)) {
                *plan = ctx->plans[i].plan;
                return TALLY_OK;
            }
    const tl_scalar *scalar;
    tl_par par;
    tally_status status = tl_resolve(ctx, op, dtype, &scalar, &par);
    if (!status) status = ctx->device->calls->plan(ctx->device, ctx, scalar, par, plan);
    if (!status && strlen(op) < sizeof ctx->plans[0].op) {
        tl_plan_entry *entry = &ctx->plans[ctx->next_plan++ % TL_PLAN_ENTRIES];
        strcpy(entry->op, op);
        entry->dtype = dtype;
        entry->plan = *plan;
    }
    return status;
}

/* ---- checks ---- */

tally_status tl_check_scan(tally *ctx, const tl_plan *plan, const tally_scan_options *o)
{
    if (o && o->init && !plan->op->seedable)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "init: operator '%s' takes none (its state is more than one value)",
                       plan->op->file);
    return TALLY_OK;
}

tally_status tl_check_window(tally *ctx, const tally_window_options *o)
{
    if (!o) return tl_fail(ctx, TALLY_INVALID, "options is NULL: a window needs its before and after");
    if (o->before < 0 || o->before >> 61)
        return tl_fail(ctx, TALLY_INVALID, "before is %lld: must be 0..2^61 - 1", (long long)o->before);
    if (o->after < 0 || o->after >> 61)
        return tl_fail(ctx, TALLY_INVALID, "after is %lld: must be 0..2^61 - 1", (long long)o->after);
    if (o->min_count < 0 || o->min_count > o->before + 1 + o->after)
        return tl_fail(ctx, TALLY_INVALID, "min_count is %lld: must be 0..%lld, the window's length", (long long)o->min_count,
                       (long long)(o->before + 1 + o->after));
    if ((unsigned)o->edges > TALLY_EDGES_VALID)
        return tl_fail(ctx, TALLY_INVALID, "edges is %d: must be 0 (missing), 1 (shrink) or 2 (valid)", (int)o->edges);
    return TALLY_OK;
}

int64_t tally_window_length(int64_t n, const tally_window_options *o)
{
    if (n <= 0 || !o) return 0;
    if (o->edges != TALLY_EDGES_VALID) return n;
    if (o->before < 0 || o->after < 0 || o->before >= n) return 0;
    return n - o->before > o->after ? n - o->before - o->after : 0;
}

static tally_status check_output(tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *out, int64_t length,
                                 int in_place)
{
    const tl_scalar *op = plan->op;
    if (!out) return tl_fail(ctx, TALLY_INVALID, "out is NULL: must be a view");
    if (out->dtype != op->out)
        return tl_fail(ctx, TALLY_INVALID, "out->dtype is %s: %s of %s gives %s",
                       tally_dtype_name(out->dtype) ? tally_dtype_name(out->dtype) : "unknown", op->file,
                       tally_dtype_name(in->dtype), tally_dtype_name(op->out));
    if (out->rows != in->rows)
        return tl_fail(ctx, TALLY_INVALID, "out->rows is %lld: must be in->rows = %lld", (long long)out->rows,
                       (long long)in->rows);
    if (!in->offsets != !out->offsets)
        return tl_fail(ctx, TALLY_INVALID, "out->offsets: must be given exactly when in->offsets is");
    if (in->offsets && out->offsets != in->offsets &&
        memcmp(in->offsets, out->offsets, (size_t)(in->rows + 1) * sizeof *in->offsets))
        return tl_fail(ctx, TALLY_INVALID, "out->offsets differ from in->offsets: must be the same");
    if (!in->offsets && out->n != length)
        return tl_fail(ctx, TALLY_INVALID, "out->n is %lld: must be %lld", (long long)out->n, (long long)length);
    tally_status status = tl_view_check(ctx, out, "out", op->result_bytes);
    if (!status) status = tl_view_distinct(ctx, out, "out");
    return status ? status : tl_view_overlap(ctx, in, op->elem_bytes, out, op->result_bytes, in_place);
}

static tally_status begin(tally *ctx, const char *op, const tally_view *in, tl_plan *plan)
{
    if (!ctx) return tl_fail(NULL, TALLY_INVALID, "ctx is NULL: open one with tally_open");
    if (!in) return tl_fail(ctx, TALLY_INVALID, "in is NULL: must be a view");
    tally_status status = tl_plan_of(ctx, op, in->dtype, plan);
    return status ? status : tl_view_check(ctx, in, "in", plan->op->elem_bytes);
}

/* ---- verbs ---- */

tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out)
{
    tl_plan plan;
    tally_status status = begin(ctx, op, in, &plan);
    if (status) return status;
    if (in->rows == 0) return TALLY_OK;
    if (!out) return tl_fail(ctx, TALLY_INVALID, "out is NULL: must have room for %lld results", (long long)in->rows);
    tally_view dense = tally_flat(out, plan.op->out, in->rows);
    status = tl_view_check(ctx, &dense, "out", plan.op->result_bytes);
    if (!status) status = tl_view_overlap(ctx, in, plan.op->elem_bytes, &dense, plan.op->result_bytes, 0);
    if (status) return status;
    tl_fp fp = tl_fp_enter();
    status = ctx->device->calls->reduce(ctx->device, ctx, &plan, in, out);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_scan(tally *ctx, const char *op, const tally_view *in, const tally_view *out, const tally_scan_options *o)
{
    tl_plan plan;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status) status = tl_check_scan(ctx, &plan, o);
    if (!status) status = check_output(ctx, &plan, in, out, in->n, 1);
    if (status || in->rows == 0) return status;
    tl_fp fp = tl_fp_enter();
    status = ctx->device->calls->scan(ctx->device, ctx, &plan, in, out, o);
    tl_fp_leave(fp);
    return status;
}

tally_status tally_window(tally *ctx, const char *op, const tally_view *in, const tally_view *out,
                          const tally_window_options *o)
{
    tl_plan plan, count;
    tally_status status = begin(ctx, op, in, &plan);
    if (!status) status = tl_check_window(ctx, o);
    if (!status) status = tl_plan_of(ctx, "count", in->dtype, &count);
    if (!status && in->offsets && o->edges == TALLY_EDGES_VALID)
        status = tl_fail(ctx, TALLY_UNSUPPORTED, "edges valid changes the lengths of segments: use missing or shrink");
    if (!status) status = check_output(ctx, &plan, in, out, tally_window_length(in->n, o), 0);
    if (status || in->rows == 0) return status;
    tl_fp fp = tl_fp_enter();
    status = ctx->device->calls->window(ctx->device, ctx, &plan, &count, in, out, o);
    tl_fp_leave(fp);
    return status;
}

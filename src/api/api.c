/* SPDX-License-Identifier: MIT
 * Contexts: finds, opens and closes devices, and keeps the plans of resolved operators. The verbs
 * are in verbs.c. */
#include "context/threads.h"
#include "many/many.h"
#include "calls.h"
#include "context/user.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tl_device_calls *const devices[] = {
#define DEVICE(name) &tl_device_##name,
    TL_DEVICES(DEVICE)
#undef DEVICE
};

enum { DEVICES = sizeof devices / sizeof *devices };

tally_status tally_device(int index, tally_device_info *info)
{
    if (!info) return tl_invalid(NULL, "info is NULL");
    int count = 0;
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; devices[d]->describe(i, info); i++)
            if (count++ == index) return TALLY_OK;
    return tl_invalid(NULL, "device index is %d: must be 0..%d", index, count - 1);
}

/* Whether the options request the probe: the last of probe=on and probe=off; default on. */
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
    tally_status status = tl_probe(ctx, identity);
    if (status) kind->close(ctx->device);
    return status;
}

/* Opens one device. options: each with a comma before it. */
static tally_status open_one(tally *ctx, const tl_device_calls *kind, int number,
                             const char *options)
{
    tally_status status = kind->open(ctx, number, *options ? options + 1 : "", &ctx->device);
    return status || !wants_probe(options) ? status : probe(ctx, kind, number);
}

static tally_status open_device(tally *ctx, const char *device);

/* Opens a context: on device `number` of a kind, with options; or, if kind is NULL, on the device
 * that `text` names. */
static tally_status open_context(tally **ctx, const tl_device_calls *kind, int number,
                                 const char *text)
{
    tally *const c = *ctx = calloc(1, sizeof *c);
    if (!c) return tl_no_memory(NULL, sizeof *c, "a context");
    tl_pool_open(); /* tally_close closes it */
    const tally_status status = kind ? open_one(c, kind, number, text) : open_device(c, text);
    if (!status) return TALLY_OK;
    tl_fail(NULL, status, "%s", c->error);
    free(c);
    *ctx = NULL;
    tl_pool_close();

    return status;
}

/* ---- the devices that a string names: "cuda", "cuda:1", "cuda:0+2", "cuda:all" ---- */

/* The error for a string that names no device; it lists the names. what: the string's origin. */
static tally_status no_device(tally *ctx, const char *what, const char *device)
{
    char choices[256] = "auto";
    tally_device_info info;
    size_t used = strlen(choices);

    for (int d = 0; d < DEVICES && used < sizeof choices; d++) {
        const char *const kind = devices[d]->name;
        for (int i = 0; devices[d]->describe(i, &info) && used < sizeof choices; i++)
            used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s, %s:%d",
                                     i ? "" : ", ", i ? "" : kind, kind, i);
    }

    const int length = (int)strcspn(device, ",");
    return tl_fail(ctx, TALLY_NO_DEVICE, "%s is '%.*s': must be one of %s", what,
                   length < 60 ? length : 60, device, choices);
}

/* Reads the `length` characters of text as a number; -1 if they are not one. */
static int number_of(const char *text, size_t length)
{
    int n = 0;
    if (!length || length > 3 || (length > 1 && *text == '0')) return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        n = 10 * n + (text[i] - '0');
    }
    return n;
}

/* Reads the list of numbers of devices after the colon; *count is their number. */
static tally_status read_list(tally *ctx, const char *what, const char *device,
                              const tl_device_calls *kind, int *numbers, int *count)
{
    const char *at = strchr(device, ':') + 1;
    const int is_all = strcspn(at, ",") == 3 && !strncmp(at, "all", 3);
    tally_device_info info;
    int here = 0;
    *count = 0;
    for (; kind->describe(here, &info); here++)
        if (is_all && info.usable && *count < TL_MEMBERS_MOST) numbers[(*count)++] = here;
    if (is_all && *count) return TALLY_OK;
    if (is_all)
        return tl_fail(ctx, TALLY_NO_DEVICE, "%s is '%s:all': there is no usable %s device here",
                       what, kind->name, kind->name);

    for (;; at++) {
        const size_t length = strcspn(at, "+,");
        const int shown = length < 40 ? (int)length : 40, n = number_of(at, length);
        if ((n < 0 || n >= here) && !*count && at[length] != '+')
            return no_device(ctx, what, device);
        if (n < 0 || n >= here)
            return tl_fail(ctx, TALLY_NO_DEVICE,
                           "%s names '%.*s' in a list of %s devices: must be a number below %d",
                           what, shown, at, kind->name, here);

        for (int i = 0; i < *count; i++)
            if (numbers[i] == n)
                return tl_invalid(ctx, "%s names %s:%d twice: must be different devices", what,
                                  kind->name, n);
        if (*count == TL_MEMBERS_MOST)
            return tl_invalid(ctx, "%s names more than %d devices", what, TL_MEMBERS_MOST);
        numbers[(*count)++] = n;
        at += length;
        if (*at != '+') return TALLY_OK;
    }
}

/* The devices that a string names: their kind, and their numbers. A kind alone is its number 0. */
static tally_status find_devices(tally *ctx, const char *what, const char *device,
                                 const tl_device_calls **kind, int *numbers, int *count)
{
    const size_t length = strcspn(device, ","), name = strcspn(device, ":,");
    const int is_auto = length == 4 && !memcmp(device, "auto", 4);
    *kind = is_auto ? devices[0] : NULL;
    *numbers = 0;
    *count = 1;
    for (int d = 0; d < DEVICES && !*kind; d++)
        if (strlen(devices[d]->name) == name && !memcmp(devices[d]->name, device, name))
            *kind = devices[d];
    if (!*kind) return no_device(ctx, what, device);
    return name == length ? TALLY_OK : read_list(ctx, what, device, *kind, numbers, count);
}

static void close_members(tally *ctx)
{
    for (int k = 0; ctx->members && ctx->members[k]; k++) tally_close(ctx->members[k]);
    free(ctx->members);
    ctx->members = NULL;
}

static tally_status open_list(tally *ctx, const tl_device_calls *kind, const int *numbers,
                              int count, const char *options)
{
    assert(count >= 1 && count <= TL_MEMBERS_MOST);
    char name[80];
    size_t used = (size_t)snprintf(name, sizeof name, "%s", kind->name);
    ctx->members = calloc((size_t)count + 1, sizeof *ctx->members);
    tally_status status =
        ctx->members ? TALLY_OK : tl_no_memory(ctx, (size_t)count * sizeof(tally *), "contexts");

    for (int k = 0; !status && k < count; k++) {
        used +=
            (size_t)snprintf(name + used, sizeof name - used, "%c%d", k ? '+' : ':', numbers[k]);
        status = open_context(&ctx->members[k], kind, numbers[k], options);
        if (status) tl_fail(ctx, status, "%s:%d: %s", kind->name, numbers[k], tally_error(NULL));
    }

    if (!status) status = tl_many_open(ctx, name, ctx->members, count, &ctx->device);
    if (status) close_members(ctx);
    return status;
}

static tally_status open_named(tally *ctx, const char *what, const char *device,
                               const char *options)
{
    const tl_device_calls *kind;
    int numbers[TL_MEMBERS_MOST], count;
    TL_TRY(find_devices(ctx, what, device, &kind, numbers, &count));
    return count == 1 ? open_one(ctx, kind, *numbers, options)
                      : open_list(ctx, kind, numbers, count, options);
}

/* Opens what `device` names, or for "auto" what TALLY_DEVICE names; then the options of `device`
 * follow those of TALLY_DEVICE. */
static tally_status open_device(tally *ctx, const char *device)
{
    const char *what = "device", *more = "", *env = getenv("TALLY_DEVICE");
    if (env && *env && !strncmp(device, "auto", 4) && (!device[4] || device[4] == ',')) {
        what = "TALLY_DEVICE";
        more = device + 4;
        device = env;
    }

    const char *device_options = device + strcspn(device, ",");
    size_t capacity = strlen(device_options) + strlen(more) + 1;
    TL_FREED char *const options = malloc(capacity);
    if (!options) return tl_no_memory(ctx, capacity, "a device's options");

    snprintf(options, capacity, "%s%s", device_options, more);
    return open_named(ctx, what, device, options);
}

tally_status tally_open(tally **ctx, const char *device)
{
    if (!ctx) return tl_invalid(NULL, "ctx is NULL: must point to where the context goes");
    return open_context(ctx, NULL, 0, device ? device : "auto");
}

void tally_close(tally *ctx)
{
    if (!ctx) return;
    ctx->device->calls->close(ctx->device);
    close_members(ctx);
    tl_user_close(ctx);
    tl_scratch_end(ctx);
    free(ctx);
    tl_pool_close();
}

int tally_threads(const tally *ctx) { return ctx ? ctx->device->threads : 1; }
const char *tally_isa(const tally *ctx) { return ctx ? ctx->device->name : ""; }

static tally_status use(tally *ctx, tl_use what, const char *name, const void *object)
{
    if (!ctx) return tl_no_context();
    if (!ctx->device->calls->use)
        return tl_unsupported(ctx, "%s: a %s device has none", name, ctx->device->calls->name);
    return ctx->device->calls->use(ctx->device, ctx, what, object);
}

tally_status tally_use_stream(tally *ctx, void *stream)
{
    return use(ctx, TL_USE_STREAM, "stream", stream);
}

tally_status tally_use_allocator(tally *ctx, const tally_allocator *allocator)
{
    return use(ctx, TL_USE_ALLOCATOR, "allocator", allocator);
}

static tally_status adopt(tally *ctx, const char *name, void *object, void **pointer)
{
    if (!ctx->device->calls->adopt)
        return tl_unsupported(ctx, "%s: a %s device has host memory", name,
                              ctx->device->calls->name);
    return ctx->device->calls->adopt(ctx->device, ctx, object, pointer);
}

tally_status tally_device_pointer(tally *ctx, void *object, void **pointer)
{
    if (!ctx) return tl_no_context();
    if (!pointer) return tl_invalid(ctx, "pointer is NULL: must point to where the address goes");
    *pointer = NULL;
    if (!object) return tl_invalid(ctx, "object is NULL: must be a cl_mem");
    return adopt(ctx, "object", object, pointer);
}

tally_status tally_device_forget(tally *ctx, void *pointer)
{
    return ctx ? adopt(ctx, "pointer", NULL, &pointer) : tl_no_context();
}

tally_status tally_time(tally *ctx, int on)
{
    if (!ctx) return tl_no_context();
    tl_device *const d = ctx->device;
    if (d->calls->time) d->calls->time(d, ctx, on ? TL_TIMES_START : TL_TIMES_STOP, NULL);
    return TALLY_OK;
}

tally_status tally_times(tally *ctx, tally_times_info *times)
{
    if (!ctx) return tl_no_context();
    if (!times) return tl_invalid(ctx, "times is NULL: must point to where the times go");
    *times = (tally_times_info){0};
    tl_device *const d = ctx->device;
    if (d->calls->time) d->calls->time(d, ctx, TL_TIMES_READ, times);
    return TALLY_OK;
}

tally_status tl_plan_of(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan)
{
    unsigned changes = __atomic_load_n(&ctx->plan_changes, __ATOMIC_ACQUIRE) & ~1u;
    if (op && *op) /* free entries of the cache have no name */
        for (int i = 0; i < TL_PLAN_ENTRIES; i++)
            if (ctx->plans[i].dtype == dtype && !strcmp(ctx->plans[i].op, op)) {
                *plan = ctx->plans[i].plan;
                __atomic_thread_fence(__ATOMIC_ACQUIRE);
                if (__atomic_load_n(&ctx->plan_changes, __ATOMIC_RELAXED) == changes)
                    return TALLY_OK; /* no other thread has changed the plan meanwhile */
            }

    const tl_scalar *scalar;
    tl_par par;
    TL_TRY(tl_resolve(ctx, op, dtype, &scalar, &par));
    if (scalar->inputs == 2)
        return tl_invalid(ctx, "op is '%.60s': it takes two inputs, a view whose next is another",
                          op);
    TL_TRY(ctx->device->calls->plan(ctx->device, ctx, scalar, par, TL_FOR_DEVICE, plan));
    if (strlen(op) < sizeof ctx->plans[0].op &&
        __atomic_compare_exchange_n(&ctx->plan_changes, &changes, changes + 1, 0, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
        tl_plan_entry *entry = &ctx->plans[ctx->next_plan++ % TL_PLAN_ENTRIES];
        strcpy(entry->op, op);
        entry->dtype = dtype;
        entry->plan = *plan;
        __atomic_store_n(&ctx->plan_changes, changes + 2, __ATOMIC_RELEASE);
    }
    return TALLY_OK;
}

tally_status tl_plan_of_host(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan)
{
    TL_TRY(tl_plan_of(ctx, op, dtype, plan));
    return plan->core ? TALLY_OK : tl_plan_on_host(ctx, plan->op, plan->par, plan);
}

tally_status tl_plan_on_host(tally *ctx, const tl_scalar *op, tl_par par, tl_plan *plan)
{
    return ctx->device->calls->plan(ctx->device, ctx, op, par, TL_FOR_PROCESSORS, plan);
}

tally_status tl_plan_of_inputs(tally *ctx, const char *op, tally_dtype dtype, tl_plan *plan)
{
    const tl_scalar *scalar;
    tl_par par;
    TL_TRY(tl_resolve(ctx, op, dtype, &scalar, &par));
    return scalar->inputs == 1 ? tl_plan_of_host(ctx, op, dtype, plan)
                               : tl_plan_on_host(ctx, scalar, par, plan);
}

tally_status tl_host_only(tally *ctx, const void *p, const char *name, const char *what)
{
    tl_device *const d = ctx ? ctx->device : NULL, *owner = NULL;
    if (!d || !p || !d->calls->owner) return TALLY_OK;
    TL_TRY(d->calls->owner(d, ctx, p, &owner));
    if (!owner) return TALLY_OK;
    return tl_unsupported(ctx, "%s is memory of %s: %s take host memory", name, owner->name, what);
}

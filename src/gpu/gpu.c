/* SPDX-License-Identifier: MIT
 * A GPU device on any API (gpu.h): open and close, the caller's memory, streams and allocator. This
 * context's processors compute what is not done on the GPU (small parts of streams, fragments
 * and files in host memory), with the same bits. */
#include "work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_LEAST = 64 << 10 };

/* Smaller host arrays are copied as a whole, unless memory=SIZE makes the limit smaller. */
static const int64_t PIECES_LEAST = 32 << 20;

/* ---- open ---- */

/* memory=SIZE: bytes; a suffix K, M or G multiplies by 2^10, 2^20 or 2^30. */
static tally_status set_memory(tally *ctx, tl_gpu_device *d, const char *what, const char *text,
                               size_t length)
{
    static const char units[] = "KMG";
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t n = 0;

    if (tally_parse_value(TALLY_I64, text, length - (unit != NULL), &n) ||
        n < MEMORY_LEAST >> shift || n > INT64_MAX >> shift)
        return tl_invalid(ctx, "%s is '%.*s': must be bytes, or as in 64M, 2G, and at least %dK",
                          what, length < 40 ? (int)length : 40, text, MEMORY_LEAST >> 10);
    d->limit = (size_t)n << shift;

    return TALLY_OK;
}

/* Parses code=HOW, or the environment variable TALLY_CODE. */
static tally_status set_code(tally *ctx, tl_gpu_device *d, const char *what, const char *text,
                             size_t length)
{
    static const char *const names[] = {
        [TL_CODE_AUTO] = "auto", [TL_CODE_QUICK] = "quick", [TL_CODE_BEST] = "best"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], text, length)) {
            d->code = (tl_code)i;
            return TALLY_OK;
        }
    return tl_invalid(ctx, "%s is '%.*s': must be auto, quick or best", what,
                      length < 40 ? (int)length : 40, text);
}

/* Parses the options of a GPU, and copies those of the processors to `rest`. */
static tally_status take_options(tally *ctx, tl_gpu_device *d, const char *options, char *rest)
{
    static const struct {
        const char *name;
        tally_status (*set)(tally *, tl_gpu_device *, const char *, const char *, size_t);
    } ours[] = {{"memory", set_memory}, {"code", set_code}};
    enum { OURS = sizeof ours / sizeof *ours };
    const char *env = getenv("TALLY_CODE");
    rest[0] = 0;

    if (env && *env) TL_TRY(set_code(ctx, d, "TALLY_CODE", env, strlen(env)));
    while (*options) {
        size_t length = strcspn(options, ","), name = strcspn(options, "="), used = strlen(rest);
        int i = 0;
        while (i < OURS && (strlen(ours[i].name) != name || strncmp(options, ours[i].name, name)))
            i++;

        if (i < OURS && name < length)
            TL_TRY(ours[i].set(ctx, d, ours[i].name, options + name + 1, length - name - 1));
        else
            sprintf(rest + used, "%s%.*s", used ? "," : "", (int)length, options);
        options += length + (options[length] == ',');
    }

    return TALLY_OK;
}

int tl_gpu_describe(const tl_gpu_calls *calls, int index, tally_device_info *info)
{
    int count;
    const tl_gpu_found *const d = calls->find(index, &count);
    if (d) *info = (tally_device_info){d->name, d->text, !*d->reason, d->reason, 0, ""};
    return d != NULL;
}

const tl_gpu_found *tl_gpu_usable(tally *ctx, const tl_gpu_calls *calls, int index)
{
    int count;
    const tl_gpu_found *const d = calls->find(index, &count);
    if (!d)
        tl_fail(ctx, TALLY_NO_DEVICE, "%s:%d: there are %d %s devices here", calls->name, index,
                count, calls->title);
    else if (*d->reason)
        tl_fail(ctx, TALLY_NO_DEVICE, "%s (%s): %s", d->name, d->text, d->reason);
    return d && !*d->reason ? d : NULL;
}

tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *kind,
                         int number, const char *options, tl_device **out)
{
    tl_gpu_device *d = calloc(1, sizeof *d);
    char *rest = malloc(strlen(options) + 1);

    tally_status status = d && rest ? TALLY_OK : tl_no_memory(ctx, sizeof *d, "a device");
    if (!status) {
        d->base.calls = kind;
        d->slot = &d->first_slot;
        snprintf(d->name, sizeof d->name, "%s:%d", calls->name, number);
        status = take_options(ctx, d, options, rest);
    }

    if (!status) status = tl_device_cpu.open(ctx, 0, rest, &d->cpu);
    if (!status) status = calls->open(ctx, number, &d->gpu);
    free(rest);

    if (status) {
        if (d && d->cpu) tl_device_cpu.close(d->cpu);
        free(d);
        return status;
    }

    d->base.name = d->name;
    d->base.threads = d->cpu->threads;
    const int64_t share = (int64_t)(d->limit / 4);
    d->base.least_bytes = d->limit ? tl_min(share, PIECES_LEAST) : PIECES_LEAST;
    *out = &d->base;

    return TALLY_OK;
}

/* Frees all programs and memory: at close, or because the caller's queue belongs to another
 * context. */
static void release_all(tl_gpu_device *d)
{
    const tl_gpu_calls *c = d->gpu->calls;
    for (int i = 0; i < d->program_count; i++)
        if (d->programs[i].program) c->unload(d->gpu, d->programs[i].program);
    d->program_count = 0;
    tl_gpu_drop_variants(d); /* programs were cached under their addresses */
    tl_gpu_release_slots(d);
    for (int i = 0; i < 2 * TL_STAGES; i++)
        if (d->stage[i].bytes) c->unlock(d->gpu, &d->stage[i]);
    if (d->small.bytes) c->unlock(d->gpu, &d->small);
    if (d->reported.bytes) c->unlock(d->gpu, &d->reported);
    tl_clock_drop(d);
}

void tl_gpu_close(tl_device *base)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;

    int entered = !c->enter(d->gpu, NULL);
    if (entered) tl_gpu_drain(d);
    release_all(d);
    if (entered) c->leave(d->gpu);
    c->close(d->gpu);
    tl_device_cpu.close(d->cpu);
    free(d);
}

tally_status tl_gpu_plan(tl_device *base, tally *ctx, const tl_scalar *op, tl_par par,
                         tl_plan_use use, tl_plan *plan)
{
    tl_device *const cpu = tl_gpu_processors(tl_gpu_of(base));
    if (use == TL_FOR_PROCESSORS || !op->user)
        return tl_device_cpu.plan(cpu, ctx, op, par, use, plan);
    /* the GPU compiles the text itself; the processors do so when they need it */
    *plan = (tl_plan){.op = op, .par = par};
    return TALLY_OK;
}

tl_device *tl_gpu_processors(tl_gpu_device *d)
{
    d->cpu->threads = d->base.threads;
    return d->cpu;
}

/* ---- the caller's memory ---- */

tally_status tl_gpu_owner(tl_device *base, tally *ctx, const void *p, tl_device **owner)
{
    tl_gpu_device *const d = tl_gpu_of(base);
    *owner = NULL;
    TL_TRY(d->gpu->calls->enter(d->gpu, ctx));
    if (tl_gpu_holds(d, p)) *owner = base;
    d->gpu->calls->leave(d->gpu);
    return TALLY_OK;
}

tally_status tl_gpu_copy(tl_device *base, tally *ctx, void *to, const void *from, size_t bytes)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tl_array a;

    if (!bytes) return TALLY_OK;
    TL_GPU_CALL(d, ctx, "tally_copy waits: copy before the capture");

    if (tl_gpu_find(d, to, &a))
        return tl_gpu_wait(d, tl_gpu_write(d, &a.memory, (size_t)a.byte, from, bytes));
    if (tl_gpu_find(d, from, &a)) return tl_gpu_read(d, to, &a.memory, (size_t)a.byte, bytes);
    memcpy(to, from, bytes);
    return TALLY_OK;
}

tally_status tl_gpu_adopt(tl_device *base, tally *ctx, void *object, void **pointer)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *const c = d->gpu->calls;
    if (object && !c->adopt)
        return tl_unsupported(
            ctx, "object: memory of %s has addresses, which calls take as they are", d->name);
    if (!object && !c->forget)
        return tl_unsupported(ctx, "pointer: memory of %s is not registered", d->name);
    return object ? c->adopt(d->gpu, ctx, object, pointer) : c->forget(d->gpu, ctx, *pointer);
}

/* ---- the caller's stream and allocator ---- */

static tally_status use_stream(tl_gpu_device *d, tally *ctx, void *stream)
{
    const tl_gpu_calls *const c = d->gpu->calls;
    int moves = 0, shared = 0;
    if (!c->use_stream)
        return tl_unsupported(ctx, "stream: %s has no streams of the caller's", d->name);
    if (stream == d->handle) return TALLY_OK;
    TL_TRY(tl_gpu_begin(d, ctx));

    tally_status status = c->check_stream(d->gpu, ctx, stream, &moves, &shared);
    if (!status && moves) {
        tl_gpu_drain(d);
        status = c->wait(d->gpu, ctx);
        if (!status) status = tl_gpu_move_to_host(d);
        if (!status) release_all(d);
    } else if (!status) {
        status = tl_gpu_leave_stream(d);
    }

    if (!status) status = c->use_stream(d->gpu, ctx, stream);
    if (!status) d->handle = stream, d->stream = stream != NULL, d->shared = shared;
    tl_gpu_end(d);

    return status;
}

static tally_status use_allocator(tl_gpu_device *d, tally *ctx, const tally_allocator *a)
{
    if (!d->gpu->calls->run_stream)
        return tl_unsupported(ctx, "allocator: memory of %s has no addresses", d->name);
    if (a && (!a->allocate || !a->release))
        return tl_invalid(ctx, "allocator->%s is NULL: must be a function",
                          a->allocate ? "release" : "allocate");
    TL_GPU_CALL(d, ctx, "tally_use_allocator waits: call it before the capture");

    if (d->persistent || tl_gpu_has_graphs(d))
        return tl_invalid(ctx,
                          "allocator: %s use memory of the context: call tally_use_allocator "
                          "before they are made",
                          d->persistent ? "streams of many sequences" : "graphs");
    tl_gpu_drain(d);
    tl_gpu_release_slots(d);
    d->allocator = a ? *a : (tally_allocator){0};
    return TALLY_OK;
}

tally_status tl_gpu_use(tl_device *base, tally *ctx, tl_use what, const void *object)
{
    tl_gpu_device *const d = tl_gpu_of(base);
    return what == TL_USE_STREAM ? use_stream(d, ctx, (void *)(uintptr_t)object)
                                 : use_allocator(d, ctx, object);
}

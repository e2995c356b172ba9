/* SPDX-License-Identifier: MIT
 * A GPU device on any API (gpu.h): open and close, the pool of device memory, programs, launches. What is not done on
 * the GPU (host data in pieces: streams, fragments, files) this context's processors do; the bits are the same. */
#include "gpu_work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_A_PROCESSOR = 32 };
static const size_t POOL_BYTES = (size_t)1 << 30; /* no more than this stays in the pool */

/* ---- open ---- */

tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *kind, int number,
                         const char *options, tl_device **out)
{
    tl_gpu_device *d = calloc(1, sizeof *d);
    if (!d) return tl_no_memory(ctx, sizeof *d, "a device");
    d->base.calls = kind;
    snprintf(d->name, sizeof d->name, "%s:%d", calls->name, number);
    tally_status status = tl_device_cpu.open(ctx, 0, options, &d->cpu);
    if (!status) status = calls->open(ctx, number, &d->gpu);
    if (status) {
        if (d->cpu) tl_device_cpu.close(d->cpu);
        free(d);
        return status;
    }
    *out = &d->base;
    return TALLY_OK;
}

void tl_gpu_close(tl_device *base)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    c->enter(d->gpu);
    for (int i = 0; i < d->program_count; i++) c->unload(d->gpu, d->programs[i].program);
    for (int i = 0; i < TL_GPU_POOL; i++)
        if (d->pool[i].bytes) c->release(d->gpu, &d->pool[i]);
    if (d->tickets.bytes) c->release(d->gpu, &d->tickets);
    if (d->board.memory.bytes) c->release(d->gpu, &d->board.memory);
    c->leave(d->gpu);
    c->close(d->gpu);
    tl_device_cpu.close(d->cpu);
    free(d);
}

int tl_gpu_threads(const tl_device *d) { return tl_device_cpu.threads(((const tl_gpu_device *)d)->cpu); }
const char *tl_gpu_isa(const tl_device *d) { return ((const tl_gpu_device *)d)->name; }

tally_status tl_gpu_plan(tl_device *base, tally *ctx, const tl_scalar *op, tl_par par, tl_plan *plan)
{
    return tl_device_cpu.plan(tl_gpu_of(base)->cpu, ctx, op, par, plan);
}

tally_status tl_gpu_use_stream(tl_device *base, tally *ctx, void *stream)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (!d->gpu->calls->use_stream)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "stream: %s has no streams of the caller's", d->name);
    d->gpu->calls->enter(d->gpu);
    tally_status status = d->gpu->calls->wait(d->gpu, ctx);
    if (!status) d->gpu->calls->use_stream(d->gpu, stream);
    d->stream = stream != NULL;
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- memory ---- */

/* The smallest pooled block that holds `bytes` and is not twice as large, or a new one. (Allocating costs 8 us, and
 * freeing waits for the device.) */
tally_status tl_gpu_take(tl_gpu_device *d, tally *ctx, size_t bytes, tl_memory *memory)
{
    int best = -1;
    if (bytes < 4096) bytes = 4096;
    for (int i = 0; i < TL_GPU_POOL; i++)
        if (d->pool[i].bytes >= bytes && d->pool[i].bytes / 2 <= bytes &&
            (best < 0 || d->pool[i].bytes < d->pool[best].bytes))
            best = i;
    if (best >= 0) {
        *memory = d->pool[best];
        d->pool[best] = (tl_memory){0};
        return TALLY_OK;
    }
    tally_status status = d->gpu->calls->allocate(d->gpu, ctx, bytes, memory);
    if (status == TALLY_NO_MEMORY) { /* the pool may be what is in the way */
        for (int i = 0; i < TL_GPU_POOL; i++)
            if (d->pool[i].bytes) d->gpu->calls->release(d->gpu, &d->pool[i]);
        memset(d->pool, 0, sizeof d->pool);
        status = d->gpu->calls->allocate(d->gpu, ctx, bytes, memory);
    }
    return status;
}

void tl_gpu_give(tl_gpu_device *d, tl_memory *memory)
{
    size_t pooled = 0;
    int empty = -1;
    if (!memory->bytes) return;
    for (int i = 0; i < TL_GPU_POOL; i++) {
        pooled += d->pool[i].bytes;
        if (!d->pool[i].bytes) empty = i;
    }
    if (empty >= 0 && pooled + memory->bytes <= POOL_BYTES)
        d->pool[empty] = *memory;
    else
        d->gpu->calls->release(d->gpu, memory);
    *memory = (tl_memory){0};
}

/* ---- programs ---- */

tally_status tl_gpu_program(tl_gpu_device *d, tally *ctx, const tl_scalar *op, const char *shape, tl_program **program)
{
    for (int i = 0; i < d->program_count; i++)
        if (d->programs[i].op == op && !strcmp(d->programs[i].shape, shape)) {
            *program = d->programs[i].program;
            return TALLY_OK;
        }
    char *text;
    size_t length;
    if (d->program_count == TL_GPU_PROGRAMS) {
        d->gpu->calls->unload(d->gpu, d->programs[0].program);
        memmove(d->programs, d->programs + 1, (TL_GPU_PROGRAMS - 1) * sizeof *d->programs);
        d->program_count--;
    }
    tally_status status = tl_program_text(ctx, op, shape, d->gpu->calls->prelude, &text, &length);
    if (status) return status;
    status = d->gpu->calls->build(d->gpu, ctx, text, length, program);
    free(text);
    if (!status) d->programs[d->program_count++] = (tl_built){op, shape, *program};
    return status;
}

/* ---- launches ---- */

void tl_put(tl_launch *l, int64_t v) { l->args[l->count++] = (tl_argument){TL_ARG_I64, {.i64 = v}}; }
void tl_put_real(tl_launch *l, double v) { l->args[l->count++] = (tl_argument){TL_ARG_F64, {.f64 = v}}; }
void tl_put_room(tl_launch *l, int64_t bytes) { l->args[l->count++] = (tl_argument){TL_ARG_ROOM, {.i64 = bytes}}; }
void tl_put_memory(tl_launch *l, const tl_memory *m)
{
    l->args[l->count++] = (tl_argument){TL_ARG_MEMORY, {.memory = *m}};
}

/* jobs: warps (threads 0) or groups of `threads`. */
tally_status tl_go(tl_launch *l, const char *kernel, int64_t jobs, int threads)
{
    const tl_gpu_calls *c = l->d->gpu->calls;
    int64_t groups = threads ? jobs : (jobs + c->warps_in_group - 1) / c->warps_in_group;
    int64_t most = (int64_t)c->processors(l->d->gpu) * GROUPS_A_PROCESSOR;
    if (jobs <= 0) return TALLY_OK;
    if (groups > most) groups = most;
    return c->launch(l->d->gpu, l->ctx, l->program, kernel, groups, threads ? threads : 32 * c->warps_in_group, l->args,
                     l->count);
}

/* ---- host data in pieces: the processors ---- */

tally_status tl_gpu_host_only(tl_gpu_device *d, tally *ctx, const void *p, const char *name, const char *what)
{
    tl_memory memory;
    size_t offset;
    d->gpu->calls->enter(d->gpu);
    int ours = p && d->gpu->calls->owns(d->gpu, p, &memory, &offset);
    d->gpu->calls->leave(d->gpu);
    if (!ours) return TALLY_OK;
    return tl_fail(ctx, TALLY_UNSUPPORTED, "%s is memory of %s: %s take host memory", name, d->name, what);
}

tally_status tl_gpu_slab(tl_device *base, tally *ctx, const tl_plan *plan, const void *x, int64_t n, tl_counter *c)
{
    tally_status status = tl_gpu_host_only(tl_gpu_of(base), ctx, x, "x", "streams and fragments");
    if (status) return status;
    return tl_device_cpu.slab(tl_gpu_of(base)->cpu, ctx, plan, x, n, c);
}
tally_status tl_gpu_scan_push(tl_device *base, tally *ctx, tl_scan *s, const void *x, int64_t n, void *out)
{
    tally_status status = tl_gpu_host_only(tl_gpu_of(base), ctx, x, "x", "streams");
    if (!status) status = tl_gpu_host_only(tl_gpu_of(base), ctx, out, "out", "streams");
    if (status) return status;
    return tl_device_cpu.scan_push(tl_gpu_of(base)->cpu, ctx, s, x, n, out);
}
tally_status tl_gpu_window_slice(tl_device *base, tally *ctx, const tl_plan *plan, const tl_plan *count,
                                 const tally_window_options *o, const void *x, int64_t n, int at_start, int at_end,
                                 void *out, int64_t *produced)
{
    tally_status status = tl_gpu_host_only(tl_gpu_of(base), ctx, x, "x", "streams");
    if (!status) status = tl_gpu_host_only(tl_gpu_of(base), ctx, out, "out", "streams");
    if (status) return status;
    return tl_device_cpu.window_slice(tl_gpu_of(base)->cpu, ctx, plan, count, o, x, n, at_start, at_end, out, produced);
}

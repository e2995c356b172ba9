/* SPDX-License-Identifier: MIT
 * Programs that are loaded or built; launches of their kernels, whose arguments are checked against
 * gpu/kernel/params.def (kernels.h); and times of kernels and copies. */
#define _GNU_SOURCE
#include "context/user.h"
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS_PER_PROCESSOR = 32 };

/* ---- times: a span is two events in a lane, before and after the work. Spans are read when the
 * ring buffer is full, and when the times are asked for. No event unless measuring is on ---- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int event_of(int span) { return TL_EVENTS + 2 * span; }

/* Adds the time of the oldest span, and waits for its end. A span that cannot be read is skipped;
 * the caller's next wait reports the device's error. */
static void settle(tl_gpu_device *d)
{
    tl_clock *k = &d->clock;
    double *const sums[] = {&k->sum.kernels, &k->sum.to_device, &k->sum.from_device};
    const int at = k->first, end = event_of(at) + 1;

    assert(k->count > 0);
    k->first = (at + 1) % TL_CLOCKS;
    k->count--;
    double seconds = d->gpu->calls->reached(d->gpu, NULL, end)
                         ? 0
                         : d->gpu->calls->elapsed(d->gpu, end - 1, end);
    if (seconds > 0) *sums[k->kind[at]] += seconds;
}

static void begin_span(tl_gpu_device *d, int lane)
{
    tl_clock *k = &d->clock;
    k->ready = 0;
    if (!k->on || tl_is_captured(d)) return;
    if (k->count == TL_CLOCKS) settle(d);
    k->ready =
        !d->gpu->calls->mark(d->gpu, NULL, lane, event_of((k->first + k->count) % TL_CLOCKS));
}

/* bytes: the bytes that were copied. */
static void end_span(tl_gpu_device *d, int lane, int kind, size_t bytes)
{
    tl_clock *k = &d->clock;
    int at = (k->first + k->count) % TL_CLOCKS;
    if (!k->on || !k->ready || d->gpu->calls->mark(d->gpu, NULL, lane, event_of(at) + 1)) return;
    k->kind[at] = (unsigned char)kind;
    k->count++;
    if (kind == TL_TIME_TO) k->sum.bytes_to_device += (int64_t)bytes;
    if (kind == TL_TIME_FROM) k->sum.bytes_from_device += (int64_t)bytes;
}

/* ---- programs ---- */

/* Unloads the program that was not used for longest, of those that no graph has. So a call never
 * unloads a program that it still has to launch. */
static tally_status unload_one(tl_gpu_device *d)
{
    tl_built *p = NULL, *const end = d->programs + d->program_count;
    for (tl_built *b = d->programs; b < end; b++)
        if (!b->captured && (!p || b->used < p->used)) p = b;
    if (!p)
        return tl_unsupported(d->ctx, "graphs have all %d programs of %s", TL_GPU_PROGRAMS,
                              d->name);
    tl_gpu_drain(d); /* its kernels may still run */
    if (p->program) d->gpu->calls->unload(d->gpu, p->program);
    memmove(p, p + 1, (size_t)(end - p - 1) * sizeof *p);
    d->program_count--;

    return TALLY_OK;
}

static void mark_captured(tl_gpu_device *d, const tl_program *program)
{
    for (int i = 0; i < d->program_count; i++)
        if (d->programs[i].program == program) d->programs[i].captured = 1;
}

static int is_same(const tl_text *a, const tl_text *b)
{
    return a->op == b->op && a->inputs == b->inputs && a->kernel == b->kernel &&
           (a->shape == b->shape || !strcmp(a->shape, b->shape));
}

static tally_status build(tl_gpu_device *d, tl_built *wanted)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const tl_text *const of = &wanted->of;
    for (int i = 0; i < d->program_count; i++)
        if (is_same(&d->programs[i].of, of)) {
            d->programs[i].used = ++d->turn;
            wanted->program = d->programs[i].program;
            return TALLY_OK;
        }

    /* the law's program is small and only used by the probe: always built as a whole, and
     * quickly */
    const int is_law = !strcmp(of->shape, "law"), may_be_embedded = c->by_kernel && !of->kernel;
    char *text;
    size_t length;

    TL_TRY(tl_no_capture(
        d, "its kernels are not loaded yet: make the same call once before the capture"));
    if (d->program_count == TL_GPU_PROGRAMS) TL_TRY(unload_one(d));

    TL_TRY(tl_program_text(d->ctx, of, &text, &length));

    double start = seconds_now();
    wanted->program = NULL;
    tally_status status = c->build(d->gpu, d->ctx, text, length,
                                   may_be_embedded ? TL_CODE_EMBEDDED : d->code, &wanted->program);
    if (!status && !wanted->program && is_law)
        status = c->build(d->gpu, d->ctx, text, length,
                          d->code == TL_CODE_AUTO ? TL_CODE_QUICK : d->code, &wanted->program);
    if (d->clock.on) d->clock.sum.compile += seconds_now() - start;
    free(text);

    if (status == TALLY_BAD_DATA && of->op->user) {
        /* the message has a line of the compiler's log */
        char log[sizeof d->ctx->error];
        memcpy(log, d->ctx->error, sizeof log);
        status = tl_user_error(d->ctx, of->op->user->user, log);
    } else if (status == TALLY_BAD_DATA) {
        status = TALLY_NO_DEVICE; /* the library's own text: the device cannot compile it */
    }

    wanted->used = ++d->turn;
    if (!status) d->programs[d->program_count++] = *wanted;
    return status;
}

static tally_status program_of(tl_gpu_device *d, const tl_scalar *op, const char *shape,
                               tl_inputs inputs, tl_launch *l)
{
    *l = (tl_launch){d, {.of = {op, shape, d->gpu->calls->prelude, NULL, inputs}}};
    return op->user && d->gpu->calls->by_kernel ? TALLY_OK : build(d, &l->program);
}

tally_status tl_gpu_program(tl_gpu_device *d, const tl_scalar *op, const char *shape, tl_launch *l)
{
    return program_of(d, op, shape, TL_ONE_INPUT, l);
}

tally_status tl_batch_program(tl_gpu_device *d, const tl_batch *b, const char *shape, tl_launch *l)
{
    const tl_inputs inputs = !b->in_place        ? TL_ONE_INPUT
                             : b->in_place->bits ? TL_BITMAPS
                                                 : TL_TWO_INPUTS;
    return program_of(d, b->plan->op, shape, inputs, l);
}

/* Takes better code for a program that is launched repeatedly, or asks for it. Its time counts as
 * compiling. */
static void refresh(tl_gpu_device *d, const tl_built *b)
{
    const tl_gpu_calls *c = d->gpu->calls;
    char *text;
    size_t length;
    if (!c->refresh) return;

    const double start = d->clock.on ? seconds_now() : 0;
    if (c->refresh(d->gpu, b->program) && !tl_program_text(NULL, &b->of, &text, &length)) {
        c->improve(d->gpu, b->program, text, length);
        free(text);
    }
    if (d->clock.on) d->clock.sum.compile += seconds_now() - start;
}

/* ---- launches ---- */

/* The bytes of local memory through which the lanes of a warp exchange states; 0: they shuffle. */
static int64_t box_bytes(const tl_gpu *gpu, const tl_scalar *op)
{
    if (!gpu->has_box) return 0;
    const int bytes = tl_gpu_state_bytes(op);
    return LANES * (bytes ? bytes : 1);
}

tally_status tl_launch_jobs(const tl_launch *l, tl_gpu_kernel_id id, int64_t jobs, tl_spread spread,
                            const void *arguments)
{
    const tl_gpu_calls *c = l->d->gpu->calls;
    const tl_gpu_kernel *k = &tl_gpu_kernels[id];
    const int warps = l->d->gpu->warps_in_group;
    const int64_t most = (int64_t)l->d->gpu->processors * BLOCKS_PER_PROCESSOR;
    int64_t number = spread == TL_GROUPS && !k->threads ? (jobs + warps - 1) / warps : jobs;
    tl_built b = l->program;

    assert(jobs >= 0);
    if (jobs <= 0) return TALLY_OK;

    if (spread == TL_GROUPS && number > most) number = most;
    if (!b.program) {
        b.of.kernel = k->name;
        TL_TRY(build(l->d, &b));
    }

    if (tl_is_captured(l->d))
        mark_captured(l->d, b.program);
    else
        refresh(l->d, &b);

    begin_span(l->d, TL_RUN);
    tl_kernel_start start = {.kernel = k->name,
                             .number = number,
                             .spread = spread,
                             .threads = k->threads ? k->threads : 32 * warps,
                             .arguments = arguments,
                             .count = k->count,
                             .box_bytes = box_bytes(l->d->gpu, b.of.op)};
    if (k->has_local) /* it is the last argument */
        memcpy(&start.local_bytes, (const char *)arguments + k->count * TL_ARGUMENT_BYTES,
               sizeof start.local_bytes);
    const tally_status status = c->launch(l->d->gpu, l->d->ctx, b.program, &start);
    end_span(l->d, TL_RUN, TL_TIME_KERNELS, 0);
    l->d->launches += !status;

    return status;
}

/* ---- copies ---- */

tally_status tl_gpu_transfer(tl_gpu_device *d, const tl_copy *copy)
{
    if (!copy->bytes) return TALLY_OK;
    begin_span(d, copy->lane);
    const tally_status status = d->gpu->calls->copy(d->gpu, d->ctx, copy);
    end_span(d, copy->lane, copy->way == TL_TO_DEVICE ? TL_TIME_TO : TL_TIME_FROM, copy->bytes);
    return status;
}

tally_status tl_gpu_write(tl_gpu_device *d, const tl_memory *to, size_t offset, const void *from,
                          size_t bytes)
{
    const tl_copy copy = {TL_RUN, TL_TO_DEVICE, to, offset, (void *)(uintptr_t)from, bytes, 1};
    return tl_gpu_transfer(d, &copy);
}

tally_status tl_gpu_read(tl_gpu_device *d, void *to, const tl_memory *from, size_t offset,
                         size_t bytes)
{
    const tl_copy copy = {TL_RUN, TL_TO_HOST, from, offset, to, bytes, 1};
    return tl_gpu_transfer(d, &copy);
}

tally_status tl_gpu_put(tl_gpu_device *d, void *to, const void *from, size_t bytes)
{
    tl_array a;
    if (tl_gpu_find(d, to, &a)) return tl_gpu_write(d, &a.memory, (size_t)a.byte, from, bytes);
    memcpy(to, from, bytes);
    return TALLY_OK;
}

/* ---- times that are asked for ---- */

void tl_clock_drop(tl_gpu_device *d) { d->clock.first = d->clock.count = 0; }

static void read_times(tl_gpu_device *d, tally_times_info *times)
{
    /* if enter failed, the times of open spans are not known */
    int entered = !d->gpu->calls->enter(d->gpu, NULL);

    while (entered && d->clock.count) settle(d);
    *times = d->clock.sum;
    times->launches = d->launches;
    times->on_processors = d->base.on_processors;
    times->device_bytes = (int64_t)d->held;
    for (int i = 0; i < 2 * TL_STAGES; i++) times->locked_bytes += (int64_t)d->stage[i].bytes;
    times->locked_bytes += (int64_t)(d->small.bytes + d->reported.bytes);
    if (entered) d->gpu->calls->leave(d->gpu);
}

void tl_gpu_time(tl_device *base, tally *ctx, tl_timing what, tally_times_info *times)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (what == TL_TIMES_READ) {
        read_times(d, times);
        return;
    }
    d->clock = (tl_clock){.on = what == TL_TIMES_START};
    d->launches = d->base.on_processors = 0;
}

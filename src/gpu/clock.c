/* SPDX-License-Identifier: MIT
 * Times of kernels and copies on a GPU. A span is two events in a lane, before and after the work.
 * The oldest spans are read when the ring buffer is full, and all when the times are asked for. No
 * event is issued unless measuring is on. */
#define _GNU_SOURCE
#include "work.h"
#include <time.h>

static int event_of(int span) { return TL_EVENTS + 2 * span; }

double tl_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the time of the oldest span, and waits for its end. A span that cannot be read is skipped;
 * the caller's next wait reports the device's error. */
static void settle(tl_gpu_device *d, tally *ctx)
{
    tl_clock *k = &d->clock;
    double *const sums[] = {&k->sum.kernels, &k->sum.to_device, &k->sum.from_device};
    const int at = k->first, end = event_of(at) + 1;
    k->first = (at + 1) % TL_CLOCKS;
    k->count--;
    double seconds =
        d->gpu->calls->reached(d->gpu, ctx, end) ? 0 : d->gpu->calls->elapsed(d->gpu, end - 1, end);
    if (seconds > 0) *sums[k->kind[at]] += seconds;
}

void tl_clock_begin(tl_gpu_device *d, tally *ctx, int lane)
{
    tl_clock *k = &d->clock;
    if (!k->on) return;
    if (k->count == TL_CLOCKS) settle(d, ctx);
    k->ready = !d->gpu->calls->mark(d->gpu, ctx, lane, event_of((k->first + k->count) % TL_CLOCKS));
}

void tl_clock_end(tl_gpu_device *d, tally *ctx, int lane, int kind, size_t bytes)
{
    tl_clock *k = &d->clock;
    int at = (k->first + k->count) % TL_CLOCKS;
    if (!k->on || !k->ready || d->gpu->calls->mark(d->gpu, ctx, lane, event_of(at) + 1)) return;
    k->kind[at] = (unsigned char)kind;
    k->count++;
    if (kind == TL_TIME_TO) k->sum.bytes_to_device += (int64_t)bytes;
    if (kind == TL_TIME_FROM) k->sum.bytes_from_device += (int64_t)bytes;
}

void tl_clock_drop(tl_gpu_device *d) { d->clock.first = d->clock.count = 0; }

static void read_times(tl_gpu_device *d, tally *ctx, tally_times_info *times)
{
    /* if enter failed, the times of open spans are not known */
    int entered = !d->gpu->calls->enter(d->gpu, NULL);
    while (entered && d->clock.count) settle(d, ctx);
    *times = d->clock.sum;
    times->launches = d->launches;
    times->on_processors = d->base.on_processors;
    times->device_bytes = (int64_t)d->held;
    for (int i = 0; i < 2 * TL_STAGES; i++) times->locked_bytes += (int64_t)d->stage[i].bytes;
    times->locked_bytes += (int64_t)(d->small.bytes + d->measured.said.bytes);
    if (entered) d->gpu->calls->leave(d->gpu);
}

void tl_gpu_time(tl_device *base, tally *ctx, tl_timing what, tally_times_info *times)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (what == TL_TIMES_READ) {
        read_times(d, ctx, times);
        return;
    }
    d->clock = (tl_clock){.on = what == TL_TIMES_START};
    d->launches = d->base.on_processors = 0;
}

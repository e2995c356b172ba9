/* SPDX-License-Identifier: MIT
 * Calls of a GPU's API that fail: a context whose table of calls (src/gpu/gpu.h) is replaced by
 * one that counts, makes number call_fails fail, and passes the others on; and how much of what
 * they gave is still held. */
#ifndef TALLY_TEST_FAULT_GPU_H
#define TALLY_TEST_FAULT_GPU_H
#include "gpu/work.h"
#include "check.h"

enum { MEMORY_MB = 1 };
static tally *ctx;
static tl_gpu_device *device;
static const tl_gpu_calls *real;
static tl_gpu_calls fake;
static int64_t calls_seen, call_fails; /* number call_fails fails; 0: none */
static const char *only;               /* NULL, or the one call that is counted */
static int live_blocks, live_locked, live_programs;

static tally_status planted(tally *where, const char *what)
{
    if (only && strcmp(only, what)) return TALLY_OK;
    calls_seen++;
    if (!call_fails || calls_seen != call_fails) return TALLY_OK;
    tally_status status = strstr(what, "allocat") ? TALLY_NO_MEMORY : TALLY_NO_DEVICE;
    return tl_fail(where, status, "planted: %s failed (call %lld): out of memory or luck", what,
                   (long long)calls_seen);
}

static int entered; /* how often without leaving */
static tally_status f_enter(tl_gpu *g, tally *c)
{
    tally_status status = planted(c, "enter");
    if (!status) status = real->enter(g, c);
    entered += !status;
    return status;
}
static void f_leave(tl_gpu *g)
{
    check(entered-- > 0, "call %lld: leave without enter", (long long)calls_seen);
    real->leave(g);
}
static tally_status f_allocate(tl_gpu *g, tally *c, size_t bytes, tl_memory *m)
{
    tally_status status = planted(c, "allocate");
    if (!status) status = real->allocate(g, c, bytes, m);
    live_blocks += !status;
    return status;
}
static void f_release(tl_gpu *g, tl_memory *m)
{
    live_blocks--;
    real->release(g, m);
}
static tally_status f_lock(tl_gpu *g, tally *c, size_t bytes, tl_memory *m)
{
    tally_status status = planted(c, "allocation of page-locked memory");
    if (!status) status = real->lock(g, c, bytes, m);
    live_locked += !status;
    return status;
}
static void f_unlock(tl_gpu *g, tl_memory *m)
{
    live_locked--;
    real->unlock(g, m);
}
static tally_status f_build(tl_gpu *g, tally *c, const char *text, size_t length, tl_code how,
                            tl_program **p)
{
    tally_status status = planted(c, "build");
    if (!status) status = real->build(g, c, text, length, how, p);
    live_programs += !status && *p; /* not embedded: none */
    return status;
}
static void f_unload(tl_gpu *g, tl_program *p)
{
    live_programs--;
    real->unload(g, p);
}
static tally_status f_copy(tl_gpu *g, tally *c, const tl_copy *copy)
{
    tally_status status = planted(c, copy->way == TL_TO_DEVICE ? "copy_in" : "copy_out");
    return status ? status : real->copy(g, c, copy);
}
static tally_status f_launch(tl_gpu *g, tally *c, tl_program *p, const tl_kernel_start *start)
{
    tally_status status = planted(c, start->kernel);
    return status ? status : real->launch(g, c, p, start);
}
static tally_status f_wait(tl_gpu *g, tally *c)
{
    tally_status status = planted(c, "wait");
    tally_status waited = real->wait(g, status ? NULL : c);
    return status ? status : waited;
}
static tally_status f_quiet(tl_gpu *g, tally *c)
{
    tally_status status = planted(c, "quiet");
    tally_status waited = real->quiet(g, status ? NULL : c);
    return status ? status : waited;
}
static tally_status f_mark(tl_gpu *g, tally *c, int lane, int event)
{
    tally_status status = planted(c, "mark");
    return status ? status : real->mark(g, c, lane, event);
}
static tally_status f_follow(tl_gpu *g, tally *c, int lane, int event)
{
    tally_status status = planted(c, "follow");
    return status ? status : real->follow(g, c, lane, event);
}
static tally_status f_reached(tl_gpu *g, tally *c, int event)
{
    tally_status status = planted(c, "reached");
    return status ? status : real->reached(g, c, event);
}

/* Puts the layer on a device. */
static void put_fake(tl_gpu_device *on)
{
    device = on;
    real = device->gpu->calls;
    fake = *real;
    fake.enter = f_enter, fake.leave = f_leave;
    fake.allocate = f_allocate, fake.release = f_release, fake.lock = f_lock,
    fake.unlock = f_unlock;
    fake.build = f_build, fake.unload = f_unload, fake.copy = f_copy;
    fake.launch = f_launch, fake.wait = f_wait;
    fake.quiet = f_quiet, fake.mark = f_mark, fake.follow = f_follow, fake.reached = f_reached;
    device->gpu->calls = &fake;
}

/* Opens name with the layer in place. */
static inline int open_faked(const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "%s,memory=%dM,threads=2,probe=off", name, MEMORY_MB);
    if (!check_ok(NULL, tally_open(&ctx, text), text)) return 0;
    put_fake(tl_gpu_of(ctx->device));
    return 1;
}

/* Nothing that the layer gave is left. */
static inline void close_faked(void)
{
    tally_close(ctx);
    check(!live_blocks && !live_locked && !live_programs,
          "left after tally_close: %d blocks, %d page-locked, %d programs", live_blocks,
          live_locked, live_programs);
    live_blocks = live_locked = live_programs = 0;
}

/* Device memory is in the pool, or what one-launch kernels keep, or nowhere. */
static void check_pool(const char *after)
{
    size_t pooled = device->slot->status_table.memory.bytes + device->slot->measured.memory.bytes;
    int blocks =
        (device->slot->status_table.memory.bytes > 0) + (device->slot->measured.memory.bytes > 0);
    for (int i = 0; i < TL_GPU_POOL; i++) {
        pooled += device->slot->pool[i].bytes;
        blocks += device->slot->pool[i].bytes > 0;
    }
    check(pooled == device->held && blocks == live_blocks,
          "after %s: %zu bytes held and %zu pooled, %d blocks and %d", after, device->held, pooled,
          live_blocks, blocks);
    check(!entered, "after %s: entered and not left", after);
}
#endif

/* SPDX-License-Identifier: MIT
 * A GPU device whose memory is the host's: each block is a heap block of the size that was asked
 * for. The test gives `build`, `unload` and `launch`: test_launch.c checks arguments and computes
 * nothing; run.h compiles the texts and runs them. Where device_away is set, the addresses that
 * the library sees are that much above the blocks, where nothing is mapped: a read or a write of
 * the host there ends the test, as on a GPU. Header only. */
#ifndef TALLY_TEST_DEVICE_H
#define TALLY_TEST_DEVICE_H
#include "gpu/work.h"
#include "../check.h"

enum { DEVICE_BLOCKS = 4096, DEVICE_LOCAL = 200 << 10 };
#define DEVICE_AWAY ((uintptr_t)1 << 52) /* no system gives a process such addresses unasked */
static uintptr_t device_away;            /* 0 or DEVICE_AWAY */
/* Where the bytes of an address are; page-locked memory is where it says. */
static char *bytes_at(uint64_t address)
{
    return (char *)(uintptr_t)(address >= DEVICE_AWAY ? address - DEVICE_AWAY : address);
}

static struct {
    char *at;
    size_t bytes;
} blocks[DEVICE_BLOCKS];
static tl_gpu_calls calls;
static tl_gpu gpu = {.calls = &calls, .processors = 4, .local_bytes = DEVICE_LOCAL};
static int64_t launches[TL_KERNELS];

static tally_status d_open(tally *c, int index, tl_gpu **to)
{
    return (void)c, (void)index, *to = &gpu, TALLY_OK;
}
static void d_nothing(tl_gpu *g) { (void)g; }
static tally_status d_lock(tl_gpu *g, tally *c, size_t bytes, tl_memory *m)
{
    (void)g;
    int i = 0;
    while (i < DEVICE_BLOCKS - 1 && blocks[i].at) i++;
    *m = tl_memory_at((uintptr_t)(blocks[i].at = calloc(bytes, 1)), blocks[i].bytes = bytes);
    return m->address ? TALLY_OK : tl_no_memory(c, bytes, "a block");
}
static tally_status d_allocate(tl_gpu *g, tally *c, size_t bytes, tl_memory *m)
{
    const tally_status status = d_lock(g, c, bytes, m);
    *m = tl_memory_at(m->address + device_away, m->bytes);
    return status;
}
static void d_release(tl_gpu *g, tl_memory *m)
{
    char *const at = bytes_at(m->address);
    (void)g;
    for (int i = 0; i < DEVICE_BLOCKS; i++)
        if (blocks[i].at == at) blocks[i].at = NULL;
    free(at);
    *m = (tl_memory){0};
}
static tally_status d_copy(tl_gpu *g, tally *c, const tl_copy *copy)
{
    char *const there = bytes_at(copy->memory->address) + copy->offset;
    (void)g, (void)c;
    if (copy->way == TL_TO_DEVICE)
        memcpy(there, copy->host, copy->bytes);
    else
        memcpy(copy->host, there, copy->bytes);
    return TALLY_OK;
}
static tally_status d_clear(tl_gpu *g, tally *c, int lane, const tl_memory *to, size_t bytes)
{
    check(bytes % 4 == 0, "%zu bytes are cleared: must be a multiple of 4", bytes);
    return (void)g, (void)c, (void)lane, memset(bytes_at(to->address), 0, bytes), TALLY_OK;
}
/* CUDA names the address itself, OpenCL a block and a place in it. */
static int d_owns(tl_gpu *g, const void *p, tl_memory *m, size_t *at)
{
    for (int i = 0; i < DEVICE_BLOCKS; i++) {
        const uintptr_t from = (uintptr_t)p - device_away - (uintptr_t)blocks[i].at;
        if (!blocks[i].at || from >= blocks[i].bytes) continue;
        *at = g->calls->single_launch ? 0 : from;
        *m = tl_memory_at((uintptr_t)p - *at, 0);
        return 1;
    }
    return 0;
}
static tally_status d_enter(tl_gpu *g, tally *c) { return (void)g, (void)c, TALLY_OK; }
static tally_status d_done(tl_gpu *g, tally *c) { return (void)g, (void)c, TALLY_OK; }
static void d_free_memory(tl_gpu *g, size_t *all, size_t *single_launch)
{
    (void)g, *all = *single_launch = 1 << 20;
}
static int d_locked(tl_gpu *g, const void *p, size_t bytes)
{
    return (void)g, (void)p, (void)bytes, 0;
}
static tally_status d_event(tl_gpu *g, tally *c, int lane, int event)
{
    return (void)g, (void)c, (void)lane, (void)event, TALLY_OK;
}
static tally_status d_reached(tl_gpu *g, tally *c, int event)
{
    return (void)g, (void)c, (void)event, TALLY_OK;
}

/* Argument i of a launch. */
static uint64_t argument_at(const tl_kernel_start *start, int i)
{
    uint64_t value;
    memcpy(&value, (const char *)start->arguments + i * TL_ARGUMENT_BYTES, sizeof value);
    return value;
}

static int is_block(uint64_t address)
{
    int i = 0;
    while (i < DEVICE_BLOCKS &&
           (!blocks[i].at || (size_t)(bytes_at(address) - blocks[i].at) >= blocks[i].bytes))
        i++;
    return i < DEVICE_BLOCKS;
}

/* Memory that a launch passes is a block of the device, or null. */
static void check_memory(const tl_parameter *p, const tl_kernel_start *start, int *at)
{
    for (; p->name; p++) {
        if (p->group) {
            check_memory(p->group, start, at);
        } else if (p->kind != TL_IS_LOCAL_BYTES) {
            const uint64_t value = argument_at(start, (*at)++);
            check(p->kind != TL_IS_MEMORY || !value || is_block(value),
                  "kernel %s: argument %d, %s, is no memory of the device", start->kernel, *at,
                  p->name);
        }
    }
}

/* What every launch must keep, counted in `launches`: the kernel's number, or -1. */
static int check_launch(tally *c, const tl_kernel_start *start)
{
    const char *const name = start->kernel;
    const int64_t number = start->number;
    const tl_spread spread = start->spread;
    const int threads = start->threads;
    int id = 0;
    while (id < TL_KERNELS && strcmp(tl_gpu_kernels[id].name, name)) id++;
    if (!check(id < TL_KERNELS, "kernel %s is not in the table", name)) return -1;
    const tl_gpu_kernel *k = &tl_gpu_kernels[id];
    launches[id]++;
    int at = 0;
    check_memory(k->parameters, start, &at);
    check(at == start->count, "%s: %d arguments, not %d", name, start->count, at);
    check(number > 0 && (spread != TL_GROUPS || number <= gpu.processors * 32),
          "%s: %lld groups or jobs", name, (long long)number);
    check(threads == (k->threads ? k->threads : 32 * gpu.warps_in_group), "%s: groups of %d", name,
          threads);
    check((spread == TL_SHARED_JOBS) == (id == TL_KERNEL_reduce_single),
          "%s: jobs are shared by `reduce_single` alone", name);
    check(k->has_local ? start->local_bytes > 0 && start->local_bytes <= DEVICE_LOCAL
                       : !start->local_bytes,
          "%s: %lld bytes of local memory", name, (long long)start->local_bytes);
    return id;
}

static const tl_device_calls device_calls = {.name = "none", TL_GPU_DEVICE_CALLS};

/* A context on that device, as on CUDA or as on OpenCL. *cpu: close_none gets it. */
static tally *open_none(int cuda, const tl_gpu_calls *build_calls, tl_device **cpu)
{
    tally *ctx = check_open(1, NULL);
    calls =
        (tl_gpu_calls){.name = "none",
                       .prelude = cuda ? "gpu/cuda/prelude_cuda.h" : "gpu/opencl/prelude_opencl.h",
                       .single_launch = cuda,
                       .sees_locked = cuda,
                       .open = d_open,
                       .close = d_nothing,
                       .enter = d_enter,
                       .leave = d_nothing,
                       .allocate = d_allocate,
                       .release = d_release,
                       .copy = d_copy,
                       .clear = d_clear,
                       .owns = d_owns,
                       .build = build_calls->build,
                       .unload = build_calls->unload,
                       .launch = build_calls->launch,
                       .wait = d_done,
                       .free_memory = d_free_memory,
                       .lock = d_lock,
                       .unlock = d_release,
                       .locked = d_locked,
                       .mark = d_event,
                       .follow = d_event,
                       .reached = d_reached,
                       .quiet = d_done};
    gpu.warps_in_group = cuda ? 8 : 1;
    *cpu = ctx->device;
    check_ok(ctx, tl_gpu_open(ctx, &calls, &device_calls, 0, "memory=64M", &ctx->device),
             "the device that is none");
    return ctx;
}
static void close_none(tally *ctx, tl_device *cpu)
{
    tl_gpu_close(ctx->device);
    ctx->device = cpu;
    tally_close(ctx);
    for (int i = 0; i < DEVICE_BLOCKS; i++)
        check(!blocks[i].at, "a block of %zu bytes is left", blocks[i].bytes);
}
#endif

/* SPDX-License-Identifier: MIT
 * A GPU device on any API (gpu.h): open and close, the pool of device memory, programs, launches.
 * This context's processors compute what is not done on the GPU (small parts of streams, fragments
 * and files in host memory), with the same bits. */
#include "context/user.h"
#include "work.h"
#include "gpu/kernel/constants.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_PER_PROCESSOR = 32, MEMORY_LEAST = 64 << 10 };

/* The pool keeps at most POOL_BYTES, or 1 / POOL_SHARE of the free memory if that is more. */
static const size_t POOL_BYTES = (size_t)1 << 30;
enum { POOL_SHARE = 8 };

/* ---- open ---- */

/* memory=SIZE: bytes; a suffix K, M or G multiplies by 2^10, 2^20 or 2^30. */
static tally_status set_memory(tally *ctx, tl_gpu_device *d, const char *text, size_t length)
{
    static const char units[] = "KMG";
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t n = 0;
    if (tally_parse_value(TALLY_I64, text, length - (unit != NULL), &n) ||
        n < MEMORY_LEAST >> shift || n > INT64_MAX >> shift)
        return tl_fail(ctx, TALLY_INVALID,
                       "memory is '%.*s': must be bytes, or as in 64M, 2G, and at least %dK",
                       length < 40 ? (int)length : 40, text, MEMORY_LEAST >> 10);
    d->limit = (size_t)n << shift;
    return TALLY_OK;
}

/* Parses code=HOW, or the environment variable TALLY_CODE. */
static tally_status set_code_of(tally *ctx, tl_gpu_device *d, const char *what, const char *text,
                                size_t length)
{
    static const char *const names[] = {
        [TL_CODE_AUTO] = "auto", [TL_CODE_QUICK] = "quick", [TL_CODE_BEST] = "best"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], text, length)) {
            d->code = (tl_code)i;
            return TALLY_OK;
        }
    return tl_fail(ctx, TALLY_INVALID, "%s is '%.*s': must be auto, quick or best", what,
                   length < 40 ? (int)length : 40, text);
}

static tally_status set_code(tally *ctx, tl_gpu_device *d, const char *text, size_t length)
{
    return set_code_of(ctx, d, "code", text, length);
}

/* Takes the options of a GPU, and copies those of the processors to `rest`. */
static tally_status take_options(tally *ctx, tl_gpu_device *d, const char *options, char *rest)
{
    static const struct {
        const char *name;
        tally_status (*set)(tally *, tl_gpu_device *, const char *text, size_t length);
    } ours[] = {{"memory=", set_memory}, {"code=", set_code}};
    enum { OURS = sizeof ours / sizeof *ours };
    const char *env = getenv("TALLY_CODE");
    tally_status status =
        env && *env ? set_code_of(ctx, d, "TALLY_CODE", env, strlen(env)) : TALLY_OK;
    rest[0] = 0;
    while (!status && *options) {
        size_t length = strcspn(options, ","), used = strlen(rest);
        int i = 0;
        while (i < OURS && strncmp(options, ours[i].name, strlen(ours[i].name))) i++;
        if (i < OURS)
            status =
                ours[i].set(ctx, d, options + strlen(ours[i].name), length - strlen(ours[i].name));
        else
            sprintf(rest + used, "%s%.*s", used ? "," : "", (int)length, options);
        options += length + (options[length] == ',');
    }
    return status;
}

tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *kind,
                         int number, const char *options, tl_device **out)
{
    tl_gpu_device *d = calloc(1, sizeof *d);
    char *rest = malloc(strlen(options) + 1);
    tally_status status = d && rest ? TALLY_OK : tl_no_memory(ctx, sizeof *d, "a device");
    if (!status) {
        d->base.calls = kind;
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
    tl_gpu_give(d, &d->measured.slots);
    tl_gpu_give(d, &d->board.memory);
    tl_gpu_give(d, &d->exact_bins.memory);
    d->board.words = 0;
    d->exact_bins.bytes = 0;
    tl_gpu_drop_variants(d); /* programs were cached under their addresses */
    tl_gpu_empty_pool(d);
    for (int i = 0; i < 2 * TL_STAGES; i++)
        if (d->stage[i].bytes) c->unlock(d->gpu, &d->stage[i]);
    if (d->small.bytes) c->unlock(d->gpu, &d->small);
    if (d->measured.said.bytes) c->unlock(d->gpu, &d->measured.said);
    tl_clock_drop(d);
}

void tl_gpu_close(tl_device *base)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    int entered = !c->enter(d->gpu, NULL);
    if (entered) c->quiet(d->gpu, NULL);
    release_all(d);
    if (entered) c->leave(d->gpu);
    c->close(d->gpu);
    tl_device_cpu.close(d->cpu);
    free(d);
}

int tl_gpu_threads(const tl_device *d)
{
    return tl_device_cpu.threads(((const tl_gpu_device *)d)->cpu);
}

const char *tl_gpu_isa(const tl_device *d) { return ((const tl_gpu_device *)d)->name; }

tally_status tl_gpu_plan(tl_device *base, tally *ctx, const tl_scalar *op, tl_par par,
                         tl_plan *plan)
{
    if (!op->user) return tl_device_cpu.plan(tl_gpu_of(base)->cpu, ctx, op, par, plan);
    *plan = (tl_plan){/* the GPU compiles the text itself; the processors do so when they need it */
                      .op = op,
                      .par = par};
    return TALLY_OK;
}

tally_status tl_gpu_plan_host(tl_device *base, tally *ctx, const tl_scalar *op, tl_par par,
                              tl_plan *plan)
{
    return tl_device_cpu.plan(tl_gpu_of(base)->cpu, ctx, op, par, plan);
}

tally_status tl_gpu_adopt(tl_device *base, tally *ctx, void *object, void **pointer)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (!d->gpu->calls->adopt)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "object: memory of %s has addresses, which calls take as they are", d->name);
    return d->gpu->calls->adopt(d->gpu, ctx, object, pointer);
}

tally_status tl_gpu_forget(tl_device *base, tally *ctx, void *pointer)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (!d->gpu->calls->forget)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "pointer: memory of %s is not registered", d->name);
    return d->gpu->calls->forget(d->gpu, ctx, pointer);
}

/* ---- memory ---- */

static tally_status allocate(tl_gpu_device *d, tally *ctx, size_t bytes, tl_memory *memory)
{
    if (d->limit && (bytes > d->limit || d->held > d->limit - bytes))
        return tl_fail(ctx, TALLY_NO_MEMORY,
                       "out of memory: %zu bytes more on %s, where memory=%zu and %zu are used",
                       bytes, d->name, d->limit, d->held);
    tally_status status = d->gpu->calls->allocate(d->gpu, ctx, bytes, memory);
    if (!status) d->held += memory->bytes;
    return status;
}

static void release(tl_gpu_device *d, tl_memory *memory)
{
    d->held -= memory->bytes;
    d->gpu->calls->release(d->gpu, memory);
}

void tl_gpu_empty_pool(tl_gpu_device *d)
{
    for (int i = 0; i < TL_GPU_POOL; i++)
        if (d->pool[i].bytes) release(d, &d->pool[i]);
}

/* Takes the smallest block of the pool that holds `bytes` and is less than about twice as large, or
 * allocates a new one. (Allocating costs 8 us, and freeing waits for the device.) */
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
    tally_status status = allocate(d, ctx, bytes, memory);
    if (status == TALLY_NO_MEMORY) { /* free the pool and try again */
        tl_gpu_empty_pool(d);
        status = allocate(d, ctx, bytes, memory);
    }
    return status;
}

/* True if the pool may keep `pooled` bytes. Large blocks are kept too, because allocating and
 * freeing a copy of 2^28 f32 takes longer than the call. */
static int may_keep(const tl_gpu_device *d, size_t pooled)
{
    size_t free_ = 0, once = 0;
    if (pooled <= POOL_BYTES) return 1;
    d->gpu->calls->room(d->gpu, &free_, &once);
    return pooled <= free_ / POOL_SHARE;
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
    if (empty >= 0 && may_keep(d, pooled + memory->bytes))
        d->pool[empty] = *memory;
    else
        release(d, memory);
    *memory = (tl_memory){0};
}

/* ---- lasting blocks, and use_stream, which moves them to the host ---- */

void tl_gpu_begin_lasting(tl_gpu_device *d, tl_lasting *block)
{
    block->next = d->lasting;
    d->lasting = block;
}

void tl_gpu_end_lasting(tl_gpu_device *d, tl_lasting *block)
{
    tl_lasting **at = &d->lasting;
    while (*at != block) at = &(*at)->next;
    *at = block->next;
    tl_gpu_give(d, &block->memory);
    free(block->away);
}

tally_status tl_gpu_come_back(tl_gpu_device *d, tally *ctx, tl_lasting *block)
{
    if (!block->away) return TALLY_OK;
    tally_status status = tl_gpu_take(d, ctx, block->bytes, &block->memory);
    if (!status)
        status = d->gpu->calls->write(d->gpu, ctx, &block->memory, 0, block->away, block->bytes);
    if (!status) status = d->gpu->calls->wait(d->gpu, ctx);
    if (status) {
        tl_gpu_give(d, &block->memory);
        return status;
    }
    free(block->away);
    block->away = NULL;
    return TALLY_OK;
}

static tally_status move_lasting_to_host(tl_gpu_device *d, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (tl_lasting *b = d->lasting; b && !status; b = b->next) {
        if (!b->memory.bytes) continue;
        b->bytes = b->memory.bytes;
        b->away = malloc(b->bytes);
        status = b->away ? d->gpu->calls->read(d->gpu, ctx, b->away, &b->memory, 0, b->bytes)
                         : tl_no_memory(ctx, b->bytes, "a copy of device memory");
        if (!status) {
            tl_gpu_give(d, &b->memory);
        } else {
            free(b->away);
            b->away = NULL;
        }
    }
    return status;
}

tally_status tl_gpu_use_stream(tl_device *base, tally *ctx, void *stream)
{
    tl_gpu_device *d = tl_gpu_of(base);
    if (!d->gpu->calls->use_stream)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "stream: %s has no streams of the caller's",
                       d->name);
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    status = d->gpu->calls->wait(d->gpu, ctx);
    if (!status && d->gpu->calls->stream_moves) status = move_lasting_to_host(d, ctx);
    if (!status && d->gpu->calls->stream_moves) release_all(d);
    if (!status) status = d->gpu->calls->use_stream(d->gpu, ctx, stream);
    if (!status) d->stream = stream != NULL;
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- programs ---- */

static tally_status build(tl_gpu_device *d, tally *ctx, tl_built *wanted)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const tl_scalar *op = wanted->op;
    /* the law's program is small and only used by the probe: always built as a whole, and
     * quickly */
    const int is_law = !strcmp(wanted->shape, "law"),
              may_be_embedded = c->by_kernel && !wanted->kernel;
    for (int i = 0; i < d->program_count; i++) {
        const tl_built *p = &d->programs[i];
        if (p->op == op && !strcmp(p->shape, wanted->shape) && !p->kernel == !wanted->kernel &&
            (!p->kernel || !strcmp(p->kernel, wanted->kernel))) {
            wanted->program = p->program;
            return TALLY_OK;
        }
    }
    char *text;
    size_t length;
    if (d->program_count == TL_GPU_PROGRAMS) {
        c->wait(d->gpu, NULL); /* its kernels may still run */
        if (d->programs[0].program) c->unload(d->gpu, d->programs[0].program);
        memmove(d->programs, d->programs + 1, (TL_GPU_PROGRAMS - 1) * sizeof *d->programs);
        d->program_count--;
    }
    tally_status status =
        tl_program_text(ctx, op, wanted->shape, c->prelude, wanted->kernel, &text, &length);
    if (status) return status;
    double start = tl_seconds();
    wanted->program = NULL;
    status = c->build(d->gpu, ctx, text, length, may_be_embedded ? TL_CODE_EMBEDDED : d->code,
                      &wanted->program);
    if (!status && !wanted->program && is_law)
        status = c->build(d->gpu, ctx, text, length,
                          d->code == TL_CODE_AUTO ? TL_CODE_QUICK : d->code, &wanted->program);
    if (d->clock.on) d->clock.sum.compile += tl_seconds() - start;
    free(text);
    if (status == TALLY_BAD_DATA && op->user) { /* the message has a line of the compiler's log */
        char log[sizeof ctx->error];
        memcpy(log, ctx->error, sizeof log);
        status = tl_user_error(ctx, op->user->user, log);
    } else if (status == TALLY_BAD_DATA) {
        status = TALLY_NO_DEVICE; /* the library's own text: the device cannot compile it */
    }
    if (!status) d->programs[d->program_count++] = *wanted;
    return status;
}

tally_status tl_gpu_program(tl_gpu_device *d, tally *ctx, const tl_scalar *op, const char *shape,
                            tl_built *program)
{
    *program = (tl_built){op, shape, NULL, NULL};
    return op->user && d->gpu->calls->by_kernel ? TALLY_OK : build(d, ctx, program);
}

/* Takes better code for a program that is launched repeatedly, or asks for it. Its time counts as
 * compiling. */
static void refresh(tl_gpu_device *d, const tl_built *b)
{
    const tl_gpu_calls *c = d->gpu->calls;
    char *text;
    size_t length;
    if (!c->refresh) return;
    const double start = d->clock.on ? tl_seconds() : 0;
    if (c->refresh(d->gpu, b->program) &&
        !tl_program_text(NULL, b->op, b->shape, c->prelude, b->kernel, &text, &length)) {
        c->improve(d->gpu, b->program, text, length);
        free(text);
    }
    if (d->clock.on) d->clock.sum.compile += tl_seconds() - start;
}

/* ---- launches ---- */

/* Large enough for the arguments of any kernel, and its box. */
typedef struct {
    union {
#define KERNEL(name, threads, blocks) tl_arguments_##name name;
#include "gpu/kernel/params.def"
    } all;
    tl_argument box;
} any_arguments;
enum { ARGUMENTS_MOST = sizeof(any_arguments) / sizeof(tl_argument) };

tally_status tl_go(const tl_launch *l, tl_gpu_kernel_id id, int64_t jobs, tl_spread spread,
                   const tl_argument *arguments, int count)
{
    const tl_gpu_calls *c = l->d->gpu->calls;
    const tl_gpu_kernel *k = &tl_gpu_kernels[id];
    const int warps = c->warps_in_group(l->d->gpu);
    const int64_t most = (int64_t)c->processors(l->d->gpu) * BLOCKS_PER_PROCESSOR;
    int64_t number = spread == TL_GROUPS && !k->threads ? (jobs + warps - 1) / warps : jobs;
    tl_built b = *l->program;
    if (jobs <= 0) return TALLY_OK;
    if (spread == TL_GROUPS && number > most) number = most;
    tally_status status = tl_gpu_kernel_check(l->ctx, id, arguments, count);
    if (!status && !b.program) {
        b.kernel = k->name;
        status = build(l->d, l->ctx, &b);
    }
    if (status) return status;
    refresh(l->d, &b);
    tl_argument with_box[ARGUMENTS_MOST];
    if (c->has_box && c->has_box(l->d->gpu)) {
        memcpy(with_box, arguments, (size_t)count * sizeof *arguments);
        with_box[count++] = (tl_argument){
            TL_ARG_ROOM,
            {.i64 = LANES * (tl_gpu_state_bytes(b.op) ? tl_gpu_state_bytes(b.op) : 1)}};
        arguments = with_box;
    }
    tl_clock_begin(l->d, l->ctx, TL_RUN);
    status = c->launch(l->d->gpu, l->ctx, b.program, k->name, number, spread,
                       k->threads ? k->threads : 32 * warps, arguments, count);
    tl_clock_end(l->d, l->ctx, TL_RUN, TL_TIME_KERNELS, 0);
    l->d->launches += !status;
    return status;
}

tally_status tl_gpu_owns(tl_device *base, tally *ctx, const void *p, int *ours)
{
    tl_gpu *gpu = tl_gpu_of(base)->gpu;
    tl_memory memory;
    size_t offset;
    *ours = 0;
    tally_status status = gpu->calls->enter(gpu, ctx);
    if (status) return status;
    *ours = p && gpu->calls->owns(gpu, p, &memory, &offset);
    gpu->calls->leave(gpu);
    return TALLY_OK;
}

tally_status tl_gpu_host_only(tl_gpu_device *d, tally *ctx, const void *p, const char *name,
                              const char *what)
{
    int ours;
    tally_status status = tl_gpu_owns(&d->base, ctx, p, &ours);
    if (status || !ours) return status;
    return tl_fail(ctx, TALLY_UNSUPPORTED, "%s is memory of %s: %s take host memory", name, d->name,
                   what);
}

tally_status tl_gpu_on_processors(tl_device *base, tally *ctx, const void *p, const char *name,
                                  const char *what, int64_t elements)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tally_status status = tl_gpu_host_only(d, ctx, p, name, what);
    d->on_processors += status ? 0 : elements;
    return status;
}

/* ---- as one of several devices ---- */

tally_status tl_gpu_copy(tl_device *base, tally *ctx, void *to, const void *from, size_t bytes)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    tl_memory memory;
    size_t offset;
    if (!bytes) return TALLY_OK;
    tally_status status = c->enter(d->gpu, ctx);
    if (status) return status;
    if (c->owns(d->gpu, to, &memory, &offset)) {
        tl_clock_begin(d, ctx, TL_RUN);
        status = c->write(d->gpu, ctx, &memory, offset, from, bytes);
        tl_clock_end(d, ctx, TL_RUN, TL_TIME_TO, bytes);
        if (!status) status = c->wait(d->gpu, ctx);
    } else if (c->owns(d->gpu, from, &memory, &offset)) {
        tl_clock_begin(d, ctx, TL_RUN);
        status = c->read(d->gpu, ctx, to, &memory, offset, bytes);
        tl_clock_end(d, ctx, TL_RUN, TL_TIME_FROM, bytes);
    } else {
        memcpy(to, from, bytes);
    }
    c->leave(d->gpu);
    return status;
}

void tl_gpu_share(tl_device *base, int parts)
{
    tl_device *cpu = tl_gpu_of(base)->cpu;
    cpu->calls->share(cpu, parts);
}

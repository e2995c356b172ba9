/* SPDX-License-Identifier: MIT
 * A GPU device on any API (gpu.h): open and close, the caller's memory, the pool of device memory.
 * This context's processors compute what is not done on the GPU (small parts of streams, fragments
 * and files in host memory), with the same bits. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_LEAST = 64 << 10 };

/* Host arrays of fewer bytes are copied as a whole. */
static const int64_t PIECES_LEAST = 32 << 20;

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

int64_t tl_pieces_least(const tl_gpu_device *d)
{
    int64_t share = (int64_t)(d->limit / 4);
    return d->limit && share < PIECES_LEAST ? share : PIECES_LEAST;
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

    d->base.name = d->name;
    d->base.threads = d->cpu->threads;
    d->base.least_bytes = tl_pieces_least(d);
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
    tl_gpu_give(d, &d->status_table.memory);
    tl_gpu_give(d, &d->exact_bins.memory);
    d->status_table.words = 0;
    d->exact_bins.bytes = 0;
    tl_gpu_drop_variants(d); /* programs were cached under their addresses */
    tl_gpu_empty_pool(d);
    for (int i = 0; i < 2 * TL_STAGES; i++)
        if (d->stage[i].bytes) c->unlock(d->gpu, &d->stage[i]);
    if (d->small.bytes) c->unlock(d->gpu, &d->small);
    if (d->measured.reported.bytes) c->unlock(d->gpu, &d->measured.reported);
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

int tl_gpu_holds(tl_gpu_device *d, const void *p)
{
    tl_memory memory;
    size_t offset;
    return p && d->gpu->calls->owns(d->gpu, p, &memory, &offset);
}

tally_status tl_gpu_owner(tl_device *base, tally *ctx, const void *p, tl_device **owner)
{
    tl_gpu_device *const d = tl_gpu_of(base);
    *owner = NULL;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    if (tl_gpu_holds(d, p)) *owner = base;
    d->gpu->calls->leave(d->gpu);
    return TALLY_OK;
}

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

tally_status tl_gpu_adopt(tl_device *base, tally *ctx, void *object, void **pointer)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *const c = d->gpu->calls;
    if (object && !c->adopt)
        return tl_fail(ctx, TALLY_UNSUPPORTED,
                       "object: memory of %s has addresses, which calls take as they are", d->name);
    if (!object && !c->forget)
        return tl_fail(ctx, TALLY_UNSUPPORTED, "pointer: memory of %s is not registered", d->name);
    return object ? c->adopt(d->gpu, ctx, object, pointer) : c->forget(d->gpu, ctx, *pointer);
}

/* ---- the pool of device memory ---- */

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
    assert(memory->bytes <= d->held);
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
        assert(d->pool[best].bytes >= bytes);
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
    size_t free_ = 0, largest = 0;
    if (pooled <= POOL_BYTES) return 1;
    d->gpu->calls->free_memory(d->gpu, &free_, &largest);
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

/* ---- the status table of single-launch kernels (kernel/status.cl) ---- */

/* at most 1/16 of the memory limit; at least 1024 words */
enum { STATUS_SHARE = 16, STATUS_WORDS_LEAST = 1024 };

/* Limit in bytes. Calls that need more (millions of rows) use several launches. */
static const int64_t STATUS_WORDS_MOST = 64 << 20;

int64_t tl_status_words(const tl_gpu_device *d)
{
    const int64_t share = (int64_t)(d->limit / STATUS_SHARE),
                  most = d->limit && share < STATUS_WORDS_MOST ? share : STATUS_WORDS_MOST;
    return (most - STATUS_HEADER) / STATUS_WORD;
}

/* Ensures that the status table has at least `needed` words and that none of them has the new
 * epoch. The table grows to a power of two, so that it seldom grows. */
tally_status tl_status_reserve(tl_gpu_device *d, tally *ctx, int64_t needed)
{
    assert(needed > 0 && needed <= tl_status_words(d));
    d->status_table.epoch++;
    if (d->status_table.words >= needed) return TALLY_OK;

    int64_t words = STATUS_WORDS_LEAST;
    while (words < needed) words *= 2;
    if (words > tl_status_words(d)) words = needed;
    const size_t bytes = STATUS_HEADER + (size_t)words * STATUS_WORD;
    tl_gpu_give(d, &d->status_table.memory);
    d->status_table.words = d->status_table.taken = 0;
    void *zeros = calloc(1, bytes);
    tally_status status = zeros ? tl_gpu_take(d, ctx, bytes, &d->status_table.memory)
                                : tl_no_memory(ctx, bytes, "the status table");
    if (!status)
        status = d->gpu->calls->write(d->gpu, ctx, &d->status_table.memory, 0, zeros, bytes);
    if (!status) status = d->gpu->calls->wait(d->gpu, ctx);
    free(zeros);

    if (!status)
        d->status_table.words = words;
    else
        tl_gpu_give(d, &d->status_table.memory);

    return status;
}

/* ---- lasting blocks, and use_stream, which moves them to the host ---- */

void tl_gpu_begin_persistent(tl_gpu_device *d, tl_persistent *block)
{
    block->next = d->persistent;
    d->persistent = block;
}

void tl_gpu_end_persistent(tl_gpu_device *d, tl_persistent *block)
{
    tl_persistent **at = &d->persistent;
    while (*at != block) {
        assert(*at); /* the block is in the list */
        at = &(*at)->next;
    }
    *at = block->next;
    tl_gpu_give(d, &block->memory);
    free(block->away);
}

tally_status tl_gpu_come_back(tl_gpu_device *d, tally *ctx, tl_persistent *block)
{
    if (!block->away) return TALLY_OK;
    assert(!block->memory.bytes);
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

static tally_status move_persistent_to_host(tl_gpu_device *d, tally *ctx)
{
    tally_status status = TALLY_OK;
    for (tl_persistent *b = d->persistent; b && !status; b = b->next) {
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
    if (!status && d->gpu->calls->stream_moves) status = move_persistent_to_host(d, ctx);
    if (!status && d->gpu->calls->stream_moves) release_all(d);
    if (!status) status = d->gpu->calls->use_stream(d->gpu, ctx, stream);
    if (!status) d->stream = stream != NULL;
    d->gpu->calls->leave(d->gpu);

    return status;
}

/* SPDX-License-Identifier: MIT
 * Device memory: the slots of streams and graphs (work.h), the pool and the status table of each,
 * and blocks that are kept from call to call.
 *
 * Work of one stream is done in order, so a block that a call gives back to the pool of its slot
 * can be taken by the next call at once. Work of different slots may run at the same time. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdlib.h>

/* A pool keeps at most POOL_BYTES, or 1 / POOL_SHARE of the free memory if that is more. The
 * caller's allocator has a pool of its own: of its memory only LENT_BYTES are kept. */
static const size_t POOL_BYTES = (size_t)1 << 30, LENT_BYTES = (size_t)1 << 20;
enum { POOL_SHARE = 8, ALIGNMENT = 256 };

/* tl_slot.capture of a graph's slot whose graph is gone */
static const uint64_t NO_CAPTURE = UINT64_MAX;

/* ---- blocks ---- */

int tl_gpu_find(tl_gpu_device *d, const void *p, tl_array *a)
{
    size_t offset = 0;
    *a = (tl_array){.owned = 0};
    const int found = p && d->gpu->calls->owns(d->gpu, p, &a->memory, &offset);
    a->byte = (int64_t)offset;
    return found;
}

int tl_gpu_holds(tl_gpu_device *d, const void *p)
{
    tl_array a;
    return tl_gpu_find(d, p, &a);
}

static tally_status call_allocator(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    const tally_allocator *const a = &d->allocator;
    void *const stream = d->gpu->calls->run_stream(d->gpu);
    void *const p = a->allocate(bytes, stream, a->user);
    if (!p)
        return tl_fail(d->ctx, TALLY_NO_MEMORY,
                       "out of memory: the allocator of tally_use_allocator gave no %zu bytes",
                       bytes);
    if (!tl_gpu_holds(d, p) || (uintptr_t)p % ALIGNMENT) {
        a->release(p, bytes, stream, a->user);
        return tl_invalid(
            d->ctx, "allocator: allocate returned %p: must be memory of %s, aligned to %d bytes", p,
            d->name, ALIGNMENT);
    }

    *memory = (tl_memory){(uintptr_t)p, p, bytes};
    return TALLY_OK;
}

static tally_status allocate(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    tl_slot *const s = d->slot;
    if (d->limit && (bytes > d->limit || d->held > d->limit - bytes))
        return tl_fail(d->ctx, TALLY_NO_MEMORY,
                       "out of memory: %zu bytes more on %s, where memory=%zu and %zu are used",
                       bytes, d->name, d->limit, d->held);
    if (s->capture) { /* so that tl_gpu_give can keep every block */
        tl_memory *const more = realloc(s->kept, (size_t)(s->blocks + 1) * sizeof *more);
        if (!more) return tl_no_memory(d->ctx, sizeof *more, "the list of a graph's memory");
        s->kept = more;
    }

    TL_TRY(d->allocator.allocate ? call_allocator(d, bytes, memory)
                                 : d->gpu->calls->allocate(d->gpu, d->ctx, bytes, memory));
    d->held += memory->bytes, s->blocks += s->capture != 0;
    return TALLY_OK;
}

static void release(tl_gpu_device *d, tl_memory *memory)
{
    const tally_allocator *const a = &d->allocator;
    if (!memory->bytes) return;
    assert(memory->bytes <= d->held);
    d->held -= memory->bytes;
    if (!a->release) {
        d->gpu->calls->release(d->gpu, memory);
        return;
    }
    a->release((void *)(uintptr_t)memory->address, memory->bytes, d->gpu->calls->run_stream(d->gpu),
               a->user);
    *memory = (tl_memory){0};
}

/* ---- slots ---- */

/* Makes the stream wait for the work of another slot, before it uses or releases its memory. */
static tally_status join(tl_gpu_device *d, tally *ctx, const tl_slot *s)
{
    if (s == d->slot || !s->event) return TALLY_OK;
    if (s->busy)
        return tl_unsupported(
            ctx, "stream: the context left a stream during its capture: use that stream once "
                 "more after the capture");
    return d->gpu->calls->follow(d->gpu, ctx, TL_RUN, s->event);
}

static void release_slot(tl_gpu_device *d, tl_slot *s)
{
    release(d, &s->measured.memory);
    release(d, &s->status_table.memory);
    release(d, &s->exact_bins.memory);
    s->measured.bytes = s->status_table.bytes = s->exact_bins.bytes = 0;
    for (int i = 0; i < TL_GPU_POOL; i++) release(d, &s->pool[i]);
    while (s->kept_count) release(d, &s->kept[--s->kept_count]);
    s->blocks = 0;
}

/* The graph, or the context, has ended. */
static void drop_use(void *uses)
{
    if (atomic_fetch_sub((atomic_int *)uses, 1) == 1) free(uses);
}

static int has_graph(const tl_slot *s) { return s->uses && atomic_load(s->uses) > 1; }

int tl_gpu_has_graphs(const tl_gpu_device *d)
{
    const tl_slot *s = &d->first_slot;
    while (s && !has_graph(s)) s = s->next;
    return s != NULL;
}

static tally_status add_slot(tl_gpu_device *d, tl_slot **to)
{
    tl_slot *const s = *to = calloc(1, sizeof *s);
    if (!s) return tl_no_memory(d->ctx, sizeof *s, "the memory of a stream");
    s->next = d->first_slot.next;
    d->first_slot.next = s;
    return TALLY_OK;
}

/* Finds a slot for a stream of the caller: a new one, or that which was not used for the longest
 * time, with its memory. */
static tally_status stream_slot(tl_gpu_device *d, tl_slot **to)
{
    tl_slot *found = NULL;
    int count = 0;
    for (tl_slot *s = d->first_slot.next; s; s = s->next) {
        count += !s->uses;
        if (!s->uses && !s->busy && (!found || s->used < found->used)) found = s;
    }

    tally_status status = TALLY_OK;
    if (count < TL_SLOTS) {
        status = add_slot(d, &found);
        if (!status) found->event = TL_STREAM_EVENTS + count;
    } else if (!found) {
        status = tl_unsupported(d->ctx, "stream: the context left %d streams during their capture",
                                TL_SLOTS);
    } else if (d->allocator.release) { /* its memory may be bound to its stream */
        status = join(d, d->ctx, found);
        if (!status) release_slot(d, found);
    }

    if (!status) found->stream = d->handle;
    *to = found;
    return status;
}

/* Finds a slot for the graph of a capture: that of a graph that is gone, or a new one. */
static tally_status graph_slot(tl_gpu_device *d, uint64_t capture, tl_slot **to)
{
    tl_slot *s = d->first_slot.next;
    tally_status status = TALLY_OK;
    while (s && !(s->uses && !has_graph(s))) s = s->next;
    if (!s) {
        atomic_int *const uses = malloc(sizeof *uses);
        status = uses ? add_slot(d, &s) : tl_no_memory(d->ctx, sizeof *uses, "a graph");
        if (!status) s->uses = uses;
        if (status) free(uses);
    }

    if (status) return status;
    s->capture = NO_CAPTURE;
    s->blocks -= s->kept_count;
    while (s->kept_count) release(d, &s->kept[--s->kept_count]);
    s->status_table.bytes = s->exact_bins.bytes = 0; /* their memory was that graph's */
    atomic_store(s->uses, 2);
    status = d->gpu->calls->keep(d->gpu, d->ctx, drop_use, s->uses);
    if (!status) s->stream = d->handle, s->capture = capture;
    *to = s;
    return status;
}

static tally_status choose_slot(tl_gpu_device *d, uint64_t capture)
{
    tl_slot *s = &d->first_slot;
    while (s && (s->stream != d->handle || s->capture != capture)) s = s->next;
    if (!s) TL_TRY(capture ? graph_slot(d, capture, &s) : stream_slot(d, &s));
    if (s->event && !s->busy) TL_TRY(tl_follow(d, TL_RUN, s->event));
    d->slot = s;
    s->used = ++d->turn;
    return TALLY_OK;
}

static tally_status refuse(tl_gpu_device *d, const char *why)
{
    return tl_unsupported(d->ctx, "the stream is captured into a graph: %s", why);
}

tally_status tl_no_capture(tl_gpu_device *d, const char *why)
{
    return tl_is_captured(d) ? refuse(d, why) : TALLY_OK;
}

tally_status tl_gpu_begin(tl_gpu_device *d, tally *ctx)
{
    TL_TRY(tl_call_begin(ctx, &d->in_call));
    d->ctx = ctx;
    const tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) tl_call_end(&d->in_call);
    return status;
}

void tl_gpu_end(tl_gpu_device *d)
{
    d->gpu->calls->leave(d->gpu);
    tl_call_end(&d->in_call);
}

tally_status tl_gpu_enter(tl_gpu_device *d, tally *ctx, const char *refused)
{
    const tl_gpu_calls *const c = d->gpu->calls;
    uint64_t capture = 0;
    tally_status status = tl_gpu_begin(d, ctx);
    if (status) return status;

    if (d->handle && c->capture) status = c->capture(d->gpu, d->ctx, &capture);
    if (!status && capture && refused) status = refuse(d, refused);
    if (!status && (d->slot->stream != d->handle || d->slot->capture != capture))
        status = choose_slot(d, capture);
    else if (!status && d->shared && !capture)
        status = tl_follow(d, TL_RUN, d->slot->event);
    if (status)
        tl_gpu_end(d);
    else
        d->slot->busy = d->handle != NULL;
    return status;
}

void tl_gpu_leave(tl_gpu_device *d)
{
    /* a later call may come from another thread, whose stream is another one */
    if (d->shared && !tl_is_captured(d) &&
        !d->gpu->calls->mark(d->gpu, NULL, TL_RUN, d->slot->event))
        d->slot->busy = 0;
    tl_gpu_end(d);
}

tally_status tl_gpu_leave_stream(tl_gpu_device *d)
{
    const tl_gpu_calls *const c = d->gpu->calls;
    uint64_t capture = 0;
    tl_slot *s = d->first_slot.next;
    while (s && (s->uses || !s->busy || s->stream != d->handle)) s = s->next;
    if (!s || (c->capture && (c->capture(d->gpu, NULL, &capture) || capture))) return TALLY_OK;
    TL_TRY(tl_mark(d, TL_RUN, s->event));
    s->busy = 0;
    return TALLY_OK;
}

tally_status tl_gpu_wait(tl_gpu_device *d, tally_status status)
{
    const tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : d->ctx);
    d->host = 0;
    return status ? status : waited;
}

void tl_gpu_drain(tl_gpu_device *d)
{
    const tl_gpu_calls *const c = d->gpu->calls;
    for (const tl_slot *s = d->first_slot.next; s; s = s->next)
        if (s != d->slot && s->event) c->reached(d->gpu, NULL, s->event);
    c->quiet(d->gpu, NULL);
}

void tl_gpu_release_slots(tl_gpu_device *d)
{
    for (tl_slot *s = &d->first_slot, *next; s; s = next) {
        next = s->next;
        release_slot(d, s);
        if (s == &d->first_slot) continue;
        if (s->uses) drop_use(s->uses);
        free(s->kept);
        free(s);
    }
    d->first_slot.next = NULL;
    d->slot = &d->first_slot;
}

/* ---- the pool ---- */

void tl_gpu_empty_pool(tl_gpu_device *d)
{
    if (tl_is_captured(d)) return;
    for (tl_slot *s = &d->first_slot; s; s = s->next)
        for (int i = 0; !s->uses && !join(d, NULL, s) && i < TL_GPU_POOL; i++)
            release(d, &s->pool[i]);
}

/* Takes the smallest block of the pool that holds `bytes` and is less than about twice as large, or
 * allocates a new one. (Freeing waits for the device.) */
tally_status tl_gpu_take(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    tl_memory *const pool = d->slot->pool;
    int best = -1;
    if (bytes < 4096) bytes = 4096;
    for (int i = 0; i < TL_GPU_POOL; i++)
        if (pool[i].bytes >= bytes && pool[i].bytes / 2 <= bytes &&
            (best < 0 || pool[i].bytes < pool[best].bytes))
            best = i;

    if (best >= 0) {
        *memory = pool[best];
        pool[best] = (tl_memory){0};
        return TALLY_OK;
    }

    tally_status status = allocate(d, bytes, memory);
    if (status == TALLY_NO_MEMORY) { /* free the pool and try again */
        tl_gpu_empty_pool(d);
        status = allocate(d, bytes, memory);
    }

    return status;
}

/* Large blocks are kept too, because allocating and freeing them takes longer than a call. A graph
 * needs its blocks. */
static int may_keep(const tl_gpu_device *d, size_t pooled)
{
    size_t free_ = 0, largest = 0;
    const int lent = d->allocator.allocate != NULL;
    if (tl_is_captured(d) || pooled <= (lent ? LENT_BYTES : POOL_BYTES)) return 1;
    if (lent) return 0;
    d->gpu->calls->free_memory(d->gpu, &free_, &largest);
    return pooled <= free_ / POOL_SHARE;
}

void tl_gpu_give(tl_gpu_device *d, tl_memory *memory)
{
    tl_slot *const s = d->slot;
    size_t pooled = 0;
    int empty = -1;

    if (!memory->bytes) return;
    for (int i = 0; i < TL_GPU_POOL; i++) {
        pooled += s->pool[i].bytes;
        if (!s->pool[i].bytes) empty = i;
    }
    if (empty >= 0 && may_keep(d, pooled + memory->bytes)) {
        s->pool[empty] = *memory;
    } else if (tl_is_captured(d)) {
        assert(s->kept_count < s->blocks);
        s->kept[s->kept_count++] = *memory;
    } else {
        release(d, memory);
    }
    *memory = (tl_memory){0};
}

tally_status tl_gpu_take_fixed(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    assert(tl_is_captured(d));
    TL_TRY(allocate(d, bytes ? bytes : 1, memory));
    d->slot->kept[d->slot->kept_count++] = *memory;
    memory->bytes = 0;
    return TALLY_OK;
}

tally_status tl_gpu_wait_uncaptured(tl_gpu_device *d, tally_status status)
{
    if (!status) status = tl_mark(d, TL_IN, TL_MEASURED);
    return status ? status : tl_reached(d, TL_MEASURED);
}

/* Takes a block and clears it. During a capture the block is fixed, and is cleared at once. */
static tally_status take_clear(tl_gpu_device *d, size_t bytes, tl_memory *memory)
{
    const int captured = tl_is_captured(d);
    TL_TRY((captured ? tl_gpu_take_fixed : tl_gpu_take)(d, bytes, memory));
    tally_status status =
        d->gpu->calls->clear(d->gpu, d->ctx, captured ? TL_IN : TL_RUN, memory, bytes);
    if (captured) status = tl_gpu_wait_uncaptured(d, status);
    if (status) tl_gpu_give(d, memory);
    return status;
}

void tl_cleared_drop(tl_gpu_device *d, tl_cleared *k)
{
    tl_gpu_give(d, &k->memory);
    k->bytes = 0;
}

tally_status tl_cleared_reserve(tl_gpu_device *d, tl_cleared *k, size_t bytes)
{
    if (k->bytes >= bytes) return TALLY_OK;
    tl_cleared_drop(d, k);
    const tally_status status = take_clear(d, bytes, &k->memory);
    k->bytes = status ? 0 : bytes;
    return status;
}

/* ---- the status table of single-launch kernels (kernel/state.cl) ---- */

/* at most 1/16 of the memory limit; at least 1024 words */
enum { STATUS_SHARE = 16, STATUS_WORDS_LEAST = 1024 };

/* Limit in bytes. Calls that need more (millions of rows) use several launches. */
static const int64_t STATUS_WORDS_MOST = 64 << 20;

int64_t tl_status_words(const tl_gpu_device *d)
{
    const int64_t share = (int64_t)(d->limit / STATUS_SHARE),
                  most = d->limit ? tl_min(share, STATUS_WORDS_MOST) : STATUS_WORDS_MOST;
    return (most - STATUS_HEADER) / STATUS_WORD;
}

/* The table grows to a power of two, so that it seldom grows. */
tally_status tl_status_reserve(tl_gpu_device *d, int64_t needed)
{
    int64_t words = STATUS_WORDS_LEAST;
    assert(needed > 0 && needed <= tl_status_words(d));
    if (d->slot->status_table.bytes >= STATUS_HEADER + (size_t)needed * STATUS_WORD)
        return TALLY_OK;

    while (words < needed) words *= 2;
    if (words > tl_status_words(d)) words = needed;
    return tl_cleared_reserve(d, &d->slot->status_table,
                              STATUS_HEADER + (size_t)words * STATUS_WORD);
}

/* ---- blocks that are kept from call to call ---- */

void tl_gpu_begin_persistent(tl_gpu_device *d, tl_persistent *block)
{
    block->slot = d->slot;
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
    if (!tl_is_captured(d)) join(d, NULL, block->slot);
    if (block->slot == d->slot)
        tl_gpu_give(d, &block->memory);
    else
        release(d, &block->memory);
    free(block->away);
}

tally_status tl_gpu_come_back(tl_gpu_device *d, tl_persistent *block)
{
    TL_TRY(join(d, d->ctx, block->slot));
    block->slot = d->slot;
    if (!block->away) return TALLY_OK;
    assert(!block->memory.bytes);
    tally_status status = tl_gpu_take(d, block->bytes, &block->memory);
    if (!status) status = tl_write(d->gpu, d->ctx, &block->memory, 0, block->away, block->bytes);
    if (!status) status = d->gpu->calls->wait(d->gpu, d->ctx);
    if (status) {
        tl_gpu_give(d, &block->memory);
        return status;
    }

    free(block->away);
    block->away = NULL;
    return TALLY_OK;
}

tally_status tl_gpu_move_to_host(tl_gpu_device *d)
{
    tally_status status = TALLY_OK;
    for (tl_persistent *b = d->persistent; b && !status; b = b->next) {
        b->slot = &d->first_slot;
        if (!b->memory.bytes) continue;
        b->bytes = b->memory.bytes;
        b->away = malloc(b->bytes);
        status = b->away ? tl_read(d->gpu, d->ctx, b->away, &b->memory, 0, b->bytes)
                         : tl_no_memory(d->ctx, b->bytes, "a copy of device memory");

        if (!status) release(d, &b->memory);
        if (status) free(b->away), b->away = NULL;
    }
    return status;
}

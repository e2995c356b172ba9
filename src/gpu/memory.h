/* SPDX-License-Identifier: MIT
 * The opened device: its slots of memory for streams and graphs, its programs and times. */
#pragma once

#include "gpu.h"
#include <stdatomic.h>

enum {
    TL_GPU_POOL = 32, /* freed blocks that the pool keeps */
    TL_GPU_PROGRAMS = 1024,
    TL_MEASURED = TL_STREAM_EVENTS - 1 /* event: `measure` has read the offsets (call/segments.c) */
};

/* The program of a text. program NULL: each kernel is built at its first launch, as a program of
 * its own (operators of users, and programs that are not embedded). */
typedef struct {
    tl_text of;
    tl_program *program;
    int captured; /* a graph has launches of it, so it stays loaded */
    int64_t used; /* when a call last asked for it: tl_gpu_device.turn */
} tl_built;

typedef struct tl_variant tl_variant;

/* Times of kernels and copies (launch.c). */
typedef struct {
    int on, ready;    /* ready: a span has begun */
    int first, count; /* the spans whose times are not known yet, in a ring buffer of TL_CLOCKS */
    unsigned char kind[TL_CLOCKS];
    tally_times_info sum;
} tl_clock;

enum { TL_TIME_KERNELS, TL_TIME_TO, TL_TIME_FROM };

enum { TL_STAGES = 4 }; /* page-locked blocks for each direction of copies */

/* A block that was zero when it was taken; `bytes` bytes may be used, 0: there is none. */
typedef struct {
    tl_memory memory;
    size_t bytes;
} tl_cleared;

/* What the calls of one stream keep. Work in other streams does not use it, so nothing waits when
 * the context changes the stream. A graph has a slot of its own. */
typedef struct tl_slot {
    struct tl_slot *next;
    void *stream;     /* the caller's; NULL: the context's own */
    uint64_t capture; /* 0; a graph's slot: the number of the capture */
    int event;        /* marked when the context leaves the stream */
    int busy;         /* the stream has had work since `event` was marked */
    int64_t used;     /* when the slot was last chosen: tl_gpu_device.turn */

    /* A graph's slot. uses: how many of the graph and the context still exist. kept: blocks that
     * later calls must not write; there is space for all blocks that the slot has allocated. */
    atomic_int *uses;
    tl_memory *kept;
    int kept_count, blocks;

    tl_memory pool[TL_GPU_POOL];

    /* The status table of single-launch kernels (state.cl); bins of exact sums (exact.c), which
     * are zero between calls; results of the kernel `measure` (call/segments.c), which writes slot
     * number measured_slot. */
    tl_cleared status_table, exact_bins, measured;
    int64_t measured_slot;
} tl_slot;

typedef struct {
    tl_device base;
    tl_gpu *gpu;
    tl_device *cpu; /* tl_gpu_processors */
    tally *ctx;     /* of the call, from tl_gpu_begin to tl_gpu_end */
    tl_in_call in_call;
    char name[32];
    int host; /* host memory of this call may still be read: wait before returning */

    /* work goes to the caller's stream, `handle`; calls without host memory return before it is
     * done. shared: each thread has a stream of its own under this handle. */
    int stream, shared;
    void *handle;
    tl_slot first_slot,
        *slot; /* slot: of the stream, chosen by tl_gpu_enter. first_slot: the first of all */
    int64_t turn;
    tally_allocator allocator; /* .allocate NULL: the API allocates */
    tl_code code;              /* option code= */

    /* limit: bytes of device memory that may be used, option memory=SIZE (0: no limit). held: bytes
     * that are allocated, with those in the pool. */
    size_t limit, held;

    /* page-locked blocks of stage.c and along.c, kept until close */
    tl_memory stage[2 * TL_STAGES], small;
    tl_clock clock;
    int64_t launches; /* since tally_time */

    /* Segments (call/segments.c): the results of `measure` that the host reads, in page-locked
     * memory. warp_each: the last call gave each segment a warp; the next call is predicted to do
     * the same. */
    tl_memory reported;
    int warp_each;
    struct tl_variant *variants; /* see operators.c */
    struct tl_persistent *persistent;
    tl_built programs[TL_GPU_PROGRAMS];
    int program_count;
} tl_gpu_device;

static inline tl_gpu_device *tl_gpu_of(tl_device *d) { return (tl_gpu_device *)d; }

/* tl_gpu_calls.mark, follow and reached; errors go to the context of the call. */
static inline tally_status tl_mark(tl_gpu_device *d, int lane, int event)
{
    return d->gpu->calls->mark(d->gpu, d->ctx, lane, event);
}

static inline tally_status tl_follow(tl_gpu_device *d, int lane, int event)
{
    return d->gpu->calls->follow(d->gpu, d->ctx, lane, event);
}

static inline tally_status tl_reached(tl_gpu_device *d, int event)
{
    return d->gpu->calls->reached(d->gpu, d->ctx, event);
}

/* ---- memory.c: between enter and leave, but for the calls that begin one ---- */

/* A call of ctx begins, if no other thread is in one: calls->enter and leave. */
tally_status tl_gpu_begin(tl_gpu_device *d, tally *ctx);
void tl_gpu_end(tl_gpu_device *d);

/* tl_gpu_enter: begins a call, and chooses the slot of the stream. refused: NULL, or why the call
 * cannot be captured into a graph. After a failure tl_gpu_leave must not be called. */
tally_status tl_gpu_enter(tl_gpu_device *d, tally *ctx, const char *refused);
void tl_gpu_leave(tl_gpu_device *d);

/* tl_gpu_enter; or returns its failure. The device is left where the block ends. */
#define TL_GPU_CALL(d, ctx, refused) \
    TL_TRY(tl_gpu_enter(d, ctx, refused)); \
    __attribute__((cleanup(tl_gpu_leave_at), unused)) tl_gpu_device *const entered_ = d
static inline void tl_gpu_leave_at(tl_gpu_device *const *d) { tl_gpu_leave(*d); }

/* True if the call is captured into a graph: it must not wait. */
static inline int tl_is_captured(const tl_gpu_device *d) { return d->slot->capture != 0; }

/* Refuses the call during a capture. why: the reason, and what to do instead. */
tally_status tl_no_capture(tl_gpu_device *d, const char *why);

/* Marks the end of the stream's work, because the context leaves the stream. */
tally_status tl_gpu_leave_stream(tl_gpu_device *d);

/* Waits for the stream's work, also after a failure. Returns `status`, or else the error of that
 * work. */
tally_status tl_gpu_wait(tl_gpu_device *d, tally_status status);

/* tl_gpu_drain: waits for the work of all streams. tl_gpu_release_slots: frees their memory. */
void tl_gpu_drain(tl_gpu_device *d);
void tl_gpu_release_slots(tl_gpu_device *d);

/* True if a graph that still exists uses memory of the context. */
int tl_gpu_has_graphs(const tl_gpu_device *d);

/* tl_gpu_take: a block of at least `bytes` bytes, from the pool or new. tl_gpu_give: puts a block
 * into the pool; bytes 0: does nothing. */
tally_status tl_gpu_take(tl_gpu_device *d, size_t bytes, tl_memory *memory);
void tl_gpu_give(tl_gpu_device *d, tl_memory *memory);

/* A block that is given back where the C block ends. */
typedef struct {
    tl_gpu_device *d;
    tl_memory m;
} tl_pool_block;
#define TL_POOL_BLOCK(name, device) \
    __attribute__((cleanup(tl_give_pool_block))) tl_pool_block name = {.d = device}
static inline void tl_give_pool_block(tl_pool_block *t) { tl_gpu_give(t->d, &t->m); }

/* During a capture: a new block that no other launch of the graph writes, and that belongs to it,
 * so memory->bytes is 0. */
tally_status tl_gpu_take_fixed(tl_gpu_device *d, size_t bytes, tl_memory *memory);

/* tl_cleared_reserve: ensures that a block has `bytes` bytes; a new one is zero. tl_cleared_drop:
 * gives it back, because its contents are not known. */
tally_status tl_cleared_reserve(tl_gpu_device *d, tl_cleared *k, size_t bytes);
void tl_cleared_drop(tl_gpu_device *d, tl_cleared *k);

/* During a capture: waits for the work in TL_IN, which is not captured. Returns `status` if that is
 * a failure to issue the work, and then does not wait. */
tally_status tl_gpu_wait_uncaptured(tl_gpu_device *d, tally_status status);

/* Frees all blocks of the pool. */
void tl_gpu_empty_pool(tl_gpu_device *d);

/* A block that is kept from call to call. tl_gpu_move_to_host moves all such blocks to the host
 * (tl_gpu_use). Each call begins with tl_gpu_come_back, which moves a block back and orders the
 * stream after the last call's. tl_gpu_begin_persistent: the block is empty or from the pool, to
 * which tl_gpu_end_persistent gives it back. */
typedef struct tl_persistent {
    tl_memory memory;
    tl_slot *slot; /* of the last call */
    char *away;    /* NULL, or the `bytes` bytes of contents on the host */
    size_t bytes;
    struct tl_persistent *next;
} tl_persistent;

void tl_gpu_begin_persistent(tl_gpu_device *d, tl_persistent *block);
tally_status tl_gpu_move_to_host(tl_gpu_device *d);
tally_status tl_gpu_come_back(tl_gpu_device *d, tl_persistent *block);
void tl_gpu_end_persistent(tl_gpu_device *d, tl_persistent *block);

/* Takes a block and copies host data into it; during a capture at once, and the block then belongs
 * to the graph. */
tally_status tl_gpu_upload(tl_gpu_device *d, const void *data, size_t bytes, tl_memory *to);

/* Returns the processors, which compute what the GPU does not. */
tl_device *tl_gpu_processors(tl_gpu_device *d);

/* An array of the caller on the device: in place, or a copy (owned). byte: its place in memory. */
typedef struct {
    tl_memory memory;
    int64_t byte;
    int owned;
} tl_array;

/* True if p is memory of this device (NULL is not). tl_gpu_find: *a is its place. Between enter and
 * leave. */
int tl_gpu_find(tl_gpu_device *d, const void *p, tl_array *a);
int tl_gpu_holds(tl_gpu_device *d, const void *p);

/* The status table of single-launch kernels: the most words that it may have, and a call that
 * makes it at least `needed` words long. */
int64_t tl_status_words(const tl_gpu_device *d);
tally_status tl_status_reserve(tl_gpu_device *d, int64_t needed);

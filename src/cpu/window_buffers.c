/* SPDX-License-Identifier: MIT
 * The memory of one thread of a window: tiles, rings and delay lines (window.h). */
#define _GNU_SOURCE
#include "window.h"
#include "law/order.h"
#include "shape.h"
#include "widen.h"
#include "context/scratch.h"
#include <stdlib.h>
#include <sys/mman.h>

enum {
    /* Bytes of states in a tile: with all buffers of a tile, half of a 32 KiB cache. Exact
     * operators whose tiles are staged use half, which makes bursts of stores shorter. */
    TILE_BYTES = 4096,
    KEPT = 1024 * 1024,    /* largest memory that the context keeps */
    HUGE = 4 * 1024 * 1024 /* from this size on, huge pages are requested */
};

int64_t tl_window_tile(const tl_plan *plan)
{
    int64_t state = plan->core->vector_bytes / plan->core->vector_lanes;
    int64_t tile = (plan->in ? TILE_BYTES : TILE_BYTES >> plan->op->exact) / state & ~(int64_t)127;
    return tile < 256 ? 256 : tile > TL_WINDOW_TILE ? TL_WINDOW_TILE : tile;
}

/* The initial contents do not matter: no result is folded from them. */
void *tl_window_memory(tl_window_buffers *buffers, size_t bytes)
{
    if (bytes <= KEPT) return tl_scratch(buffers->ctx, buffers->thread, TL_SINGLE, bytes);
    if (bytes <= buffers->allocation_bytes) return buffers->allocation;

    free(buffers->allocation);
    buffers->allocation_bytes = 0;
    const size_t align = bytes < HUGE ? 64 : HUGE / 2;
    bytes = (bytes + align - 1) & ~(align - 1);
    buffers->allocation = aligned_alloc(align, bytes);
    if (!buffers->allocation) return NULL;
#ifdef MADV_HUGEPAGE
    /* About 24 rings touch more pages than a TLB holds. */
    if (align > 64) madvise(buffers->allocation, bytes, MADV_HUGEPAGE);
#endif
    buffers->allocation_bytes = bytes;

    return buffers->allocation;
}

int tl_window_prepare(tl_window_buffers *buffers, const tl_plan *plan, int64_t w, int mode)
{
    const tl_kernel *core = plan->core;
    int64_t high = w / core->vector_lanes,
            rest = high ? high & ~((int64_t)1 << tl_top_level(high)) : 0;
    /* levels whose delays are shorter than a row */
    int within = tl_top_level(core->window_vectors);
    int levels = high ? tl_top_level(high) : 0, delays = rest ? tl_top_level(rest) + 1 : 0;
    size_t vector = (size_t)core->vector_bytes, row = (size_t)core->window_vectors * vector;
    size_t soa = tl_soa_bytes(plan), wide = plan->in || plan->out ? TL_WINDOW_WIDE_BYTES : 0;
    size_t carry = TL_WINDOW_CARRY * vector, stash = (size_t)(levels + 1) * row, ring = 0,
           delay = 0;

    if (mode == TL_WINDOW_BLOCKS) {
        ring = (size_t)high * vector;
    } else if (mode != TL_WINDOW_SLIDE) {
        ring = levels > within
                   ? (((size_t)1 << (levels - within)) + (size_t)levels * TL_WINDOW_PAD) * row
                   : 0;
        delay = delays > within
                    ? (((size_t)1 << (delays - within)) + (size_t)delays * TL_WINDOW_PAD) * row
                    : 0;
    }

    carry = (carry + 63) & ~(size_t)63;
    stash = (stash + 63) & ~(size_t)63;
    ring = (ring + 63) & ~(size_t)63;
    delay = (delay + 63) & ~(size_t)63;
    char *at = tl_window_memory(buffers, 3 * soa + wide + carry + stash + ring + delay);
    if (!at) return 0;

    buffers->work = (tl_window_work){.w = w, .mode = mode};
    buffers->work.z0 = buffers->work.stage = at;
    buffers->work.z2 = at += soa;
    buffers->work.past = at += soa;
    buffers->work.wide = at += soa;
    buffers->work.carry = at += wide;
    buffers->work.stash = at += carry;
    buffers->work.ring = at += stash;
    buffers->work.delay = at += ring;

    return 1;
}

char *tl_window_at(const tl_window_job *job, int64_t i)
{
    return job->out + (i - job->first) * job->win->plan->op->result_bytes;
}

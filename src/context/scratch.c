/* SPDX-License-Identifier: MIT
 * Scratch memory (context.h). */
#define _DEFAULT_SOURCE
#include "context.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct tl_scratch_block {
    void *at;
    size_t bytes;
} block;

int tl_scratch_begin(tally *ctx, int threads)
{
    assert(threads >= 1);
    if (threads <= ctx->scratch_threads) return 1;
    const size_t slots = TL_SCRATCH_SLOTS;
    block *more = realloc(ctx->scratch, (size_t)threads * slots * sizeof *more);
    if (!more) return 0;
    memset(more + (size_t)ctx->scratch_threads * slots, 0,
           (size_t)(threads - ctx->scratch_threads) * slots * sizeof *more);
    ctx->scratch = more;
    ctx->scratch_threads = threads;

    return 1;
}

void *tl_scratch(tally *ctx, int thread, int slot, size_t bytes)
{
    assert(thread >= 0 && thread < ctx->scratch_threads);
    assert(slot >= 0 && slot < TL_SCRATCH_SLOTS);
    if (thread >= ctx->scratch_threads) return NULL;
    block *b = &ctx->scratch[thread * TL_SCRATCH_SLOTS + slot];
    if (bytes > b->bytes) {
        free(b->at);
        b->bytes = (bytes + 4095) & ~(size_t)4095;
        b->at = aligned_alloc(64, b->bytes);
        if (!b->at) b->bytes = 0;
    }

    return b->at;
}

void tl_scratch_end(tally *ctx)
{
    for (int i = 0; i < ctx->scratch_threads * TL_SCRATCH_SLOTS; i++) free(ctx->scratch[i].at);
    free(ctx->scratch);
    ctx->scratch = NULL;
    ctx->scratch_threads = 0;
}

void tl_large_pages(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)1 << 21, from = ((uintptr_t)memory + page - 1) & -page,
                    to = ((uintptr_t)memory + bytes) & -page;
    if (memory && from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
}

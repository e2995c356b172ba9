/* SPDX-License-Identifier: MIT
 * Runs of equal keys in device memory (gpu/kernel/keys/runs.cl). The host waits once, for their number. */
#include "dtype/dtype.h"
#include "gpu/kernel/constants.h"
#include "work.h"

enum { PARTS_EACH = 8 }; /* for each processor */

typedef struct {
    tl_launch l;
    tl_built program;
    int64_t n, parts, each;
    tl_memory words, sums;
} job;

/* The bits, and how many there are. */
static tally_status find(job *j, const tally_view *keys, const tl_memory *memory, int64_t byte, int64_t *bits)
{
    tl_gpu_device *d = j->l.d;
    const tl_gpu_calls *c = d->gpu->calls;
    const int64_t bytes = (int64_t)tally_dtype_size(keys->dtype), least = (j->n + RUN_TILE - 1) / RUN_TILE,
                  wanted = (int64_t)PARTS_EACH * c->processors(d->gpu), parts = least < wanted ? least : wanted;
    const int is_float = tl_dtype_kind(keys->dtype) == 'F', half = bytes == 2, brain = keys->dtype == TALLY_BF16;
    const int64_t infinities[] = {brain ? 0x7f80 : 0x7c00, 0x7f800000, 0x7ff0000000000000},
                  magnitude = is_float ? (int64_t)(UINT64_MAX >> (65 - 8 * bytes)) : -1,
                  infinity = is_float ? infinities[half ? 0 : bytes / 4] : -1;
    j->each = (least + parts - 1) / parts * RUN_TILE;
    j->parts = (j->n - 1) / j->each + 1;
    tally_status status = tl_gpu_take(d, j->l.ctx, (size_t)(least * RUN_WORDS) * sizeof(uint32_t), &j->words);
    if (!status) status = tl_gpu_take(d, j->l.ctx, (size_t)(j->parts + 1) * sizeof(int64_t), &j->sums);
    if (!status)
        status = TL_GO(&j->l, run_bits, j->parts, .keys = tl_memory_of(memory), .in_byte = tl_i64(byte),
                       .stride = tl_i64(keys->stride), .bytes = tl_i64(bytes), .magnitude = tl_i64(magnitude),
                       .infinity = tl_i64(infinity), .count = tl_i64(j->n), .parts = tl_i64(j->parts),
                       .each = tl_i64(j->each), .words = tl_memory_of(&j->words), .sums = tl_memory_of(&j->sums),
                       .local_bytes = tl_room((RUN_WORDS + 1) * 4));
    if (!status)
        status = TL_GO(&j->l, run_parts, 1, .parts = tl_i64(j->parts), .sums = tl_memory_of(&j->sums),
                       .local_bytes = tl_room(2 * RUN_THREADS * 8));
    if (status) return status;
    tl_clock_begin(d, j->l.ctx, TL_RUN);
    status = c->read(d->gpu, j->l.ctx, bits, &j->sums, (size_t)j->parts * sizeof(int64_t), sizeof(int64_t));
    tl_clock_end(d, j->l.ctx, TL_RUN, TL_TIME_FROM, sizeof(int64_t));
    return status;
}

/* The offsets, `byte` bytes after the beginning of `to`. */
static tally_status put(const job *j, const tl_memory *to, size_t byte)
{
    return TL_GO(&j->l, run_ends, j->parts, .count = tl_i64(j->n), .parts = tl_i64(j->parts), .each = tl_i64(j->each),
                 .words = tl_memory_of(&j->words), .sums = tl_memory_of(&j->sums), .offsets = tl_memory_of(to),
                 .out_byte = tl_i64((int64_t)byte), .local_bytes = tl_room(2 * RUN_THREADS * 8));
}

/* The same to the host. */
static tally_status bring(const job *j, int64_t *offsets, int64_t runs)
{
    tl_gpu_device *d = j->l.d;
    const size_t bytes = (size_t)(runs + 1) * sizeof(int64_t);
    tl_memory copy = {0};
    tally_status status = tl_gpu_take(d, j->l.ctx, bytes, &copy);
    if (!status) status = put(j, &copy, 0);
    if (!status) {
        tl_clock_begin(d, j->l.ctx, TL_RUN);
        status = d->gpu->calls->read(d->gpu, j->l.ctx, offsets, &copy, 0, bytes);
        tl_clock_end(d, j->l.ctx, TL_RUN, TL_TIME_FROM, bytes);
    }
    tl_gpu_give(d, &copy);
    return status;
}

tally_status tl_gpu_key_runs(tl_device *base, tally *ctx, const tl_plan *any, const tally_view *keys, int64_t *offsets,
                         int64_t *runs, int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    job j = {.n = keys->n};
    tl_memory memory, to = {0};
    size_t byte, at = 0;
    int64_t low, high, bits = 0;
    *done = 0;
    if (!keys->n) {
        *done = 1;
        *runs = 0;
        return offsets ? tl_gpu_copy(base, ctx, offsets, &(int64_t){0}, sizeof *offsets) : TALLY_OK;
    }
    tally_status status = c->enter(d->gpu, ctx);
    if (status) return status;
    j.l = (tl_launch){d, ctx, &j.program};
    tl_view_extent(keys, (int64_t)tally_dtype_size(keys->dtype), &low, &high);
    const int here = offsets && c->owns(d->gpu, offsets, &to, &at);
    *done = c->owns(d->gpu, tl_offset(keys->data, low), &memory, &byte) && (!here || (uintptr_t)offsets % 8 == 0);
    if (*done) {
        status = tl_gpu_program(d, ctx, any->op, "keys", &j.program);
        if (!status) status = find(&j, keys, &memory, (int64_t)byte - low, &bits);
        if (!status && offsets) status = here ? put(&j, &to, at) : bring(&j, offsets, bits + 1);
        const tally_status waited = c->wait(d->gpu, status ? NULL : ctx);
        if (!status) status = waited;
        if (!status) *runs = bits + 1;
    }
    tl_gpu_give(d, &j.words);
    tl_gpu_give(d, &j.sums);
    c->leave(d->gpu);
    return status;
}

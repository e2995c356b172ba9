/* SPDX-License-Identifier: MIT
 * Segments whose offsets are memory of the device. The kernel `measure` reads them once and tells the host what it needs: whether
 * they ascend, where they begin and end, how many are long. That is one wait a call, 64 bytes; offsets on the host cost a check, a
 * copy and a list of the long ones, 10 times what the sums take (1M segments of 256 on an H200). */
#include "gpu_work.h"
#include <stdlib.h>

enum { MEASURE_THREADS = 256, NODE_LEVELS = 8 }; /* as in shape/gpu/segments.cl */

/* What `measure` writes, as laid out there. */
typedef struct {
    uint32_t longs, bad, different, nodes[NODE_LEVELS], unused;
    int64_t first, last;
} header;

static tally_status measure(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_memory *offsets, int64_t rows,
                            tl_memory *ids, header *h)
{
    const tl_gpu_calls *c = d->gpu->calls;
    tl_memory to = {0};
    tl_program *program = NULL;
    *h = (header){0};
    tally_status status = tl_gpu_program(d, ctx, plan->op, "reduce", &program);
    if (!status) status = tl_gpu_upload(d, ctx, h, sizeof *h, &to);
    if (!status) status = tl_gpu_take(d, ctx, (size_t)rows * sizeof(int64_t), ids);
    if (!status) {
        tl_launch l = {.d = d, .ctx = ctx, .program = program};
        tl_put_memory(&l, offsets);
        tl_put(&l, rows);
        tl_put_memory(&l, ids);
        tl_put_memory(&l, &to);
        status = tl_go(&l, "measure", (rows + MEASURE_THREADS - 1) / MEASURE_THREADS, MEASURE_THREADS);
    }
    if (!status) {
        tl_clock_begin(d, ctx, TL_RUN);
        status = c->read(d->gpu, ctx, h, &to, 0, sizeof *h);
        tl_clock_end(d, ctx, TL_RUN, TL_TIME_FROM, sizeof *h);
    }
    if (status) c->wait(d->gpu, ctx); /* nobody reads or writes h any more */
    d->host = 0;
    tl_gpu_give(d, &to);
    return status;
}

/* The table `first` of the long segments that ids lists. */
static tally_status put_firsts(tl_gpu_device *d, tally *ctx, tl_batch *b)
{
    int64_t levels = b->levels + 2;
    tl_program *program = NULL;
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "reduce", &program);
    if (!status) status = tl_gpu_take(d, ctx, (size_t)levels * (size_t)(b->longs + 1) * sizeof(int64_t), &b->first);
    if (status) return status;
    tl_launch l = {.d = d, .ctx = ctx, .program = program};
    tl_put_memory(&l, &b->offsets);
    tl_put_memory(&l, &b->ids);
    tl_put(&l, b->longs);
    tl_put(&l, levels);
    tl_put_memory(&l, &b->first);
    return tl_go(&l, "firsts", levels, MEASURE_THREADS);
}

/* Segments of one length are rows. */
static int are_rows(const tally_view *in, const header *h, int64_t bytes, tally_view *rows)
{
    *rows = *in;
    rows->offsets = NULL;
    rows->n = (h->last - h->first) / in->rows;
    rows->data = tl_offset(in->data, h->first * in->stride * bytes);
    return !h->different && !__builtin_mul_overflow(rows->n, in->stride, &rows->row_stride);
}

/* all: in as one segment, with offsets on the host. */
static tally_status reduce(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in, const tally_view *all,
                           const header *h, const tl_memory *offsets, tl_memory *ids, void *out)
{
    int64_t low, high, bytes = plan->op->elem_bytes;
    tally_view to = tally_rows(out, plan->op->out, in->rows, 1), rows;
    tally_status status = tl_view_check(ctx, &to, "out", plan->op->result_bytes);
    if (!status) status = tl_view_overlap(ctx, all, bytes, &to, plan->op->result_bytes, 0);
    if (status) return status;
    if (are_rows(in, h, bytes, &rows)) return tl_gpu_reduce_whole(d, ctx, plan, &rows, &to);
    tl_batch b;
    tl_view_extent(all, bytes, &low, &high);
    status = tl_batch_data(d, ctx, plan, in, low, high, &b);
    b.offsets = *offsets;
    b.ids = *ids;
    *ids = (tl_memory){0};
    b.longs = h->longs;
    b.shorts = b.longs < in->rows;
    for (int l = 1; l <= TL_GPU_LEVELS && h->nodes[l - 1]; l++) b.counts[b.levels = l] = h->nodes[l - 1];
    if (!status && b.longs) status = put_firsts(d, ctx, &b);
    status = tl_gpu_reduce_batch(d, ctx, &b, in, &to, status);
    tl_batch_close(d, &b);
    return status;
}

/* Are v's offsets memory of this device? */
static int has_offsets(tl_gpu_device *d, const tally_view *v, tl_memory *memory, size_t *at)
{
    return v->offsets && d->gpu->calls->owns(d->gpu, v->offsets, memory, at);
}

tally_status tl_gpu_reduce_segments(tl_device *base, tally *ctx, const tl_plan *plan, const tally_view *in, void *out,
                                    int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tl_memory offsets, data, ids = {0};
    size_t at, data_at;
    header h;
    int64_t ends[2], low, high;
    tally_view all = *in;
    *done = 0;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    all.rows = 1;
    all.offsets = ends;
    /* Bad ones are left to the checks of the host, which say where; so is what lies inside another object of OpenCL's. */
    if (has_offsets(d, in, &offsets, &at) && !at && !((uintptr_t)in->offsets % sizeof(int64_t)) &&
        in->rows <= INT64_MAX / (int64_t)sizeof(int64_t) && in->data && d->gpu->calls->owns(d->gpu, in->data, &data, &data_at)) {
        status = measure(d, ctx, plan, &offsets, in->rows, &ids, &h);
        ends[0] = h.first, ends[1] = h.last;
        *done = status || (!h.bad && tl_view_extent(&all, plan->op->elem_bytes, &low, &high));
        if (!status && *done) status = reduce(d, ctx, plan, in, &all, &h, &offsets, &ids, out);
        tl_gpu_give(d, &ids);
    }
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_offsets(tl_device *base, tally *ctx, const tally_view *v, int64_t **copy)
{
    tl_gpu_device *d = tl_gpu_of(base);
    const tl_gpu_calls *c = d->gpu->calls;
    size_t at, bytes = ((size_t)v->rows + 1) * sizeof(int64_t);
    tl_memory offsets;
    *copy = NULL;
    tally_status status = c->enter(d->gpu, ctx);
    if (status) return status;
    if (has_offsets(d, v, &offsets, &at)) {
        *copy = malloc(bytes);
        status = *copy ? c->read(d->gpu, ctx, *copy, &offsets, at, bytes) : tl_no_memory(ctx, bytes, "a copy of offsets");
        if (!status) status = c->wait(d->gpu, ctx);
    }
    c->leave(d->gpu);
    if (!status) return TALLY_OK;
    free(*copy);
    *copy = NULL;
    return status;
}

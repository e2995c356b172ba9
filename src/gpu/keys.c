/* SPDX-License-Identifier: MIT
 * Keys in device memory (gpu/kernel/keys.cl): runs of equal neighbours, and gathers. Each takes two
 * launches. The first one leaves a number for each of some parts; every block of the second one
 * adds up or compares those that it needs. The host waits for one or two numbers. */
#include "work.h"
#include "dtype/dtype.h"
#include "gpu/kernel/constants.h"

/* A placeholder operator for a text that uses no operator. */
static const tl_scalar no_operator = {.file = "none",
                                      .dtype = TALLY_U8,
                                      .acc = TALLY_U64,
                                      .out = TALLY_U8,
                                      .lanes = 1,
                                      .elem_bytes = 1,
                                      .state_bytes = 8,
                                      .result_bytes = 1,
                                      .inputs = 1};

/* parts per multiprocessor; min indices of a part */
enum { PARTS_PER_PROCESSOR = 32, TAKE_LEAST = 1 << 13 };

typedef struct {
    tl_launch l;
    tl_built program;
    /* allocated here: bits of heads; a number for each part; the numbers that the host reads */
    tl_memory first, counts, said;
    int64_t items, each, parts; /* items are cut into parts of `each` */
} job;

static tally_status begin(job *j, tl_gpu_device *d, tally *ctx, int64_t items, int64_t least)
{
    const int64_t most = PARTS_PER_PROCESSOR * d->gpu->calls->processors(d->gpu);
    *j = (job){.l = {d, ctx, &j->program}, .items = items};
    j->each = (items + most - 1) / most > least ? (items + most - 1) / most : least;
    j->parts = (items + j->each - 1) / j->each;
    tally_status status = tl_gpu_program(d, ctx, &no_operator, "keys", &j->program);
    if (!status) status = tl_gpu_take(d, ctx, (size_t)j->parts * sizeof(int64_t), &j->counts);
    return status ? status : tl_gpu_take(d, ctx, 2 * sizeof(int64_t), &j->said);
}

/* Copies `count` numbers to the host, and waits for all launches. */
static tally_status end(job *j, tally_status status, int64_t *said, int count)
{
    tl_gpu_device *d = j->l.d;
    const size_t bytes = (size_t)count * sizeof *said;
    if (!status) {
        tl_clock_begin(d, j->l.ctx, TL_RUN);
        status = d->gpu->calls->read(d->gpu, j->l.ctx, said, &j->said, 0, bytes);
        tl_clock_end(d, j->l.ctx, TL_RUN, TL_TIME_FROM, bytes);
    }
    const tally_status waited = d->gpu->calls->wait(d->gpu, status ? NULL : j->l.ctx);
    d->host = 0;
    tl_gpu_give(d, &j->first);
    tl_gpu_give(d, &j->counts);
    tl_gpu_give(d, &j->said);
    return status ? status : waited;
}

/* True if p is device memory; *byte is its offset in *memory. */
static int is_here(tl_gpu_device *d, const void *p, tl_memory *memory, int64_t *byte)
{
    size_t at = 0;
    const int here = p && d->gpu->calls->owns(d->gpu, p, memory, &at);
    *byte = (int64_t)at;
    return here;
}

static tally_status check_places(tally *ctx, const int64_t *p, const char *name)
{
    if ((uintptr_t)p % sizeof *p == 0) return TALLY_OK;
    return tl_fail(ctx, TALLY_INVALID, "%s is %p: must be a multiple of %zu in device memory", name,
                   (const void *)p, sizeof *p);
}

/* ---- runs ---- */

/* offsets NULL: only count. */
static tally_status runs_of(tl_gpu_device *d, tally *ctx, const tally_view *keys,
                            const tl_memory *k, int64_t byte, const tl_memory *offsets, int64_t to,
                            int64_t *runs)
{
    const int64_t bytes = (int64_t)tally_dtype_size(keys->dtype),
                  /* keys after a multiple of 16 bytes (8 for keys of a byte), if contiguous */
        place = (int64_t)(k->address % 16) + byte,
                  lead = keys->stride == 1 ? place % (KEYS_UNIT(bytes) * bytes) / bytes : 0;
    job j;
    tally_status status = begin(&j, d, ctx, (keys->n + lead - 1) / KEYS_STEP + 1, 1);
    if (!status) status = tl_gpu_take(d, ctx, (size_t)j.items * (KEYS_STEP / 8), &j.first);
    if (!status)
        status = TL_GO(&j.l, runs_heads, j.parts, .keys = tl_memory_of(k), .byte = tl_i64(byte),
                       .stride = tl_i64(keys->stride), .type = tl_i64(tl_gpu_type(keys->dtype)),
                       .count = tl_i64(keys->n), .lead = tl_i64(lead), .steps = tl_i64(j.items),
                       .steps_each = tl_i64(j.each), .parts = tl_i64(j.parts),
                       .heads = tl_memory_of(&j.first), .counts = tl_memory_of(&j.counts));
    if (!status)
        status =
            TL_GO(&j.l, runs_places, offsets ? j.parts : 1, .heads = tl_memory_of(&j.first),
                  .counts = tl_memory_of(&j.counts), .count = tl_i64(keys->n), .lead = tl_i64(lead),
                  .steps = tl_i64(j.items), .steps_each = tl_i64(j.each), .parts = tl_i64(j.parts),
                  .counting = tl_i64(!offsets), .offsets = tl_memory_of(offsets),
                  .byte = tl_i64(to), .runs = tl_memory_of(&j.said));
    return end(&j, status, runs, 1);
}

tally_status tl_gpu_key_runs(tl_device *base, tally *ctx, const tally_view *keys, int64_t *offsets,
                             int64_t *runs, int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tl_memory k, to;
    int64_t byte = 0, at = 0, found = 0;
    *done = 0;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    *done = keys->n
                ? is_here(d, keys->data, &k, &byte) && (!offsets || is_here(d, offsets, &to, &at))
                : offsets && is_here(d, offsets, &to, &at);
    if (*done && offsets) status = check_places(ctx, offsets, "offsets");
    if (*done && !status && !keys->n)
        status = d->gpu->calls->write(d->gpu, ctx, &to, (size_t)at, &found, sizeof found);
    else if (*done && !status)
        status = runs_of(d, ctx, keys, &k, byte, offsets ? &to : NULL, at, &found);
    if (*done && !status) *runs = found;
    d->gpu->calls->leave(d->gpu);
    return status;
}

/* ---- take ---- */

static tally_status gather(tl_gpu_device *d, tally *ctx, const tally_view *in,
                           const tl_memory *from, int64_t in_byte, const tl_memory *order,
                           int64_t order_byte, const tally_view *out, const tl_memory *to,
                           int64_t out_byte, int64_t *said)
{
    job j;
    tally_status status = begin(&j, d, ctx, out->n, TAKE_LEAST);
    if (!status)
        status = TL_GO(&j.l, take_check, j.parts, .order = tl_memory_of(order),
                       .order_byte = tl_i64(order_byte), .count = tl_i64(out->n),
                       .length = tl_i64(in->n), .each = tl_i64(j.each), .parts = tl_i64(j.parts),
                       .wrong = tl_memory_of(&j.counts));
    if (!status)
        status = TL_GO(
            &j.l, take, j.parts, .in = tl_memory_of(from), .in_byte = tl_i64(in_byte),
            .in_stride = tl_i64(in->stride), .bytes = tl_i64((int64_t)tally_dtype_size(in->dtype)),
            .order = tl_memory_of(order), .order_byte = tl_i64(order_byte), .count = tl_i64(out->n),
            .wrong = tl_memory_of(&j.counts), .parts = tl_i64(j.parts), .out = tl_memory_of(to),
            .out_byte = tl_i64(out_byte), .out_stride = tl_i64(out->stride),
            .said = tl_memory_of(&j.said));
    return end(&j, status, said, 2);
}

tally_status tl_gpu_gather(tl_device *base, tally *ctx, const tally_view *in, const int64_t *order,
                           const tally_view *out, int64_t *at, int64_t *place, int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    tl_memory from, places, to;
    int64_t in_byte, order_byte, out_byte, said[2] = {0, 0};
    *done = 0;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    *done = is_here(d, in->data, &from, &in_byte) && is_here(d, order, &places, &order_byte) &&
            is_here(d, out->data, &to, &out_byte);
    if (*done) status = check_places(ctx, order, "order");
    if (*done && !status)
        status = gather(d, ctx, in, &from, in_byte, &places, order_byte, out, &to, out_byte, said);
    *at = out->n - said[0];
    *place = said[1];
    d->gpu->calls->leave(d->gpu);
    return status;
}

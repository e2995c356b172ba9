/* SPDX-License-Identifier: MIT
 * Keys in device memory (gpu/kernel/keys.cl): runs of equal neighbours, and gathers. Each takes two
 * launches. The first one leaves a number for each of some parts; every block of the second one
 * adds up or compares those that it needs. The host waits for one or two numbers. */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>

/* The operator of texts that use none. */
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
    /* allocated here: bits of heads; a number for each part; the numbers that the host reads */
    tl_memory first, counts, reported;
    int64_t items, each, parts; /* items are cut into parts of `each` */
} job;

/* Cuts the items into parts of at least `least` items, builds the program, and takes j->counts and
 * j->reported. The caller takes j->first if it needs it, and calls `end` in every case. */
static tally_status begin(job *j, tl_gpu_device *d, int64_t items, int64_t least)
{
    const int64_t most = PARTS_PER_PROCESSOR * d->gpu->processors;
    *j = (job){.l = {.d = d}, .items = items};
    j->each = tl_max((items + most - 1) / most, least);
    j->parts = (items + j->each - 1) / j->each;
    assert(items > 0 && j->parts <= most);
    TL_TRY(tl_gpu_program(d, &no_operator, "keys", &j->l));
    TL_TRY(tl_gpu_take(d, (size_t)j->parts * sizeof(int64_t), &j->counts));
    return tl_gpu_take(d, 2 * sizeof(int64_t), &j->reported);
}

/* Copies `count` numbers to the host, waits for all launches, and gives the memory back, also after
 * a failure. */
static tally_status end(job *j, tally_status status, int64_t *reported, int count)
{
    tl_gpu_device *d = j->l.d;
    const size_t bytes = (size_t)count * sizeof *reported;

    if (!status) status = tl_gpu_read(d, reported, &j->reported, 0, bytes);
    status = tl_gpu_wait(d, status);
    tl_gpu_give(d, &j->first);
    tl_gpu_give(d, &j->counts);
    tl_gpu_give(d, &j->reported);

    return status;
}

static tally_status check_numbers(tl_gpu_device *d, const int64_t *p, const char *name)
{
    if ((uintptr_t)p % sizeof *p == 0) return TALLY_OK;
    return tl_invalid(d->ctx, "%s is %p: must be a multiple of %zu in device memory", name,
                      (const void *)p, sizeof *p);
}

/* ---- runs ---- */

/* Two launches (keys.cl): a bit for each key, 1 where a run begins (a head), and the heads of each
 * part; then the offsets of the heads. *runs: their number. offsets NULL: only count. */
static tally_status runs_of(tl_gpu_device *d, const tally_view *keys, const tl_array *k,
                            const tl_array *offsets, int64_t *runs)
{
    /* of contiguous keys: how many would lie between the start of the unit (16 bytes; 8 for keys of
     * a byte) and the first key */
    const int64_t bytes = (int64_t)tally_dtype_size(keys->dtype),
                  misaligned = (int64_t)(k->memory.address % 16) + k->byte,
                  padding = keys->stride == 1 ? misaligned % (KEYS_UNIT(bytes) * bytes) / bytes : 0;
    job j;

    tally_status status = begin(&j, d, (keys->n + padding - 1) / KEYS_STEP + 1, 1);
    if (!status) status = tl_gpu_take(d, (size_t)j.items * (KEYS_STEP / 8), &j.first);
    if (!status)
        status = TL_GO(&j.l, runs_heads, j.parts, .keys = k->memory.handle, .byte = k->byte,
                       .stride = keys->stride, .type = tl_gpu_type(keys->dtype), .count = keys->n,
                       .padding = padding, .steps = j.items, .steps_each = j.each, .parts = j.parts,
                       .heads = j.first.handle, .counts = j.counts.handle);

    if (!status)
        status = TL_GO(&j.l, runs_places, offsets ? j.parts : 1, .heads = j.first.handle,
                       .counts = j.counts.handle, .count = keys->n, .padding = padding,
                       .steps = j.items, .steps_each = j.each, .parts = j.parts,
                       .counting = !offsets, .offsets = offsets ? offsets->memory.handle : NULL,
                       .byte = offsets ? offsets->byte : 0, .runs = j.reported.handle);

    return end(&j, status, runs, 1);
}

tally_status tl_key_runs(tl_gpu_device *d, const tl_call *c, int *done)
{
    const tally_view *const keys = c->in;
    int64_t *const offsets = c->positions->offsets, found = 0;
    tl_array k, to;

    *done = keys->n ? tl_gpu_find(d, keys->data, &k) && (!offsets || tl_gpu_find(d, offsets, &to))
                    : offsets && tl_gpu_find(d, offsets, &to);
    if (!*done) return TALLY_OK;
    if (offsets) TL_TRY(check_numbers(d, offsets, "offsets"));

    TL_TRY(keys->n ? runs_of(d, keys, &k, offsets ? &to : NULL, &found)
                   : tl_gpu_write(d, &to.memory, (size_t)to.byte, &found, sizeof found));
    c->positions->runs = found;
    return TALLY_OK;
}

/* ---- take ---- */

/* reported: the number of indices from the first wrong one on, and that index; 0: none is wrong. */
static tally_status take(tl_gpu_device *d, const tl_call *c, const tl_array from[3],
                         int64_t reported[2])
{
    const tl_array *const in = &from[0], *const order = &from[1], *const out = &from[2];
    assert(c->out->n > 0);
    job j;
    tally_status status = begin(&j, d, c->out->n, TAKE_LEAST);
    if (!status)
        status = TL_GO(&j.l, take_check, j.parts, .order = order->memory.handle,
                       .order_byte = order->byte, .count = c->out->n, .length = c->in->n,
                       .each = j.each, .parts = j.parts, .wrong = j.counts.handle);

    if (!status)
        status = TL_GO(&j.l, take, j.parts, .in = in->memory.handle, .in_byte = in->byte,
                       .in_stride = c->in->stride, .bytes = (int64_t)tally_dtype_size(c->in->dtype),
                       .order = order->memory.handle, .order_byte = order->byte, .count = c->out->n,
                       .wrong = j.counts.handle, .parts = j.parts, .out = out->memory.handle,
                       .out_byte = out->byte, .out_stride = c->out->stride,
                       .reported = j.reported.handle);

    return end(&j, status, reported, 2);
}

tally_status tl_gather(tl_gpu_device *d, const tl_call *c, int *done)
{
    const int64_t *const order = c->positions->order;
    tl_array from[3];
    int64_t reported[2] = {0, 0};
    tally_status status = TALLY_OK;

    *done = tl_gpu_find(d, c->in->data, &from[0]) && tl_gpu_find(d, order, &from[1]) &&
            tl_gpu_find(d, c->out->data, &from[2]);
    if (*done) status = check_numbers(d, order, "order");
    if (*done && !status) status = take(d, c, from, reported);
    c->positions->bad = c->out->n - reported[0];
    c->positions->position = reported[1];

    return status;
}

/* SPDX-License-Identifier: MIT
 * Views and results on a GPU. Host arrays are copied; device memory is used in place. All segments
 * shorter than a chunk take one launch. Longer segments are listed (ids), with the number of nodes
 * before each of them (first). */
#include "work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <stdlib.h>

tally_status tl_array_open(tl_gpu_device *d, const void *p, int64_t bytes, const char *refused,
                           tl_array *a)
{
    if (tl_gpu_find(d, p, a)) return TALLY_OK;
    if (bytes) TL_TRY(tl_no_capture(d, refused));
    a->owned = 1;
    return tl_gpu_upload(d, p, (size_t)bytes, &a->memory);
}

void tl_array_close(tl_gpu_device *d, tl_array *a)
{
    if (a->owned) tl_gpu_give(d, &a->memory);
}

int64_t tl_level_count(int64_t n, int level) { return level ? n >> LEVEL_LOG(level) : n; }

void tl_batch_close(tl_gpu_device *d, tl_batch *b)
{
    tl_array_close(d, &b->x);
    tl_gpu_give(d, &b->offsets);
    tl_gpu_give(d, &b->ids);
    tl_gpu_give(d, &b->first);
}

tally_status tl_gpu_upload(tl_gpu_device *d, const void *data, size_t bytes, tl_memory *to)
{
    const tl_gpu_calls *const c = d->gpu->calls;
    if (tl_is_captured(d)) { /* beside the graph, whose launches read the copy */
        const tl_copy copy = {TL_IN, TL_TO_DEVICE, to, 0, (void *)(uintptr_t)data, bytes, 1};
        TL_TRY(tl_gpu_take_fixed(d, bytes, to));
        if (!bytes) return TALLY_OK;
        return tl_gpu_wait_uncaptured(d, c->copy(d->gpu, d->ctx, &copy));
    }

    const tally_status status = tl_gpu_take(d, bytes, to);
    d->host = 1;
    return status ? status : tl_gpu_write(d, to, 0, data, bytes);
}

static void count_levels(tl_batch *b)
{
    while (b->levels + 1 < TL_GPU_LEVELS && tl_level_count(b->longest, b->levels + 1)) b->levels++;
}

/* Lists the long segments: their rows, and for each level the number of nodes before each of
 * them. */
static tally_status choose_long(tl_gpu_device *d, tl_batch *b)
{
    int64_t long_count = 0, rows = b->rows;
    for (int64_t r = 0; r < rows; r++) {
        int64_t n = b->host_offsets[r + 1] - b->host_offsets[r];
        if (n >= CHUNK) long_count++;
        b->longest = tl_max(b->longest, n);
    }

    b->long_count = long_count;
    b->has_short = long_count < rows;
    count_levels(b);
    assert(!long_count || b->levels > 0);
    if (!long_count) return TALLY_OK;

    size_t bytes = (size_t)long_count * sizeof(int64_t),
           total = (size_t)(b->levels + 2) * (size_t)(long_count + 1) * sizeof(int64_t);
    TL_FREED int64_t *const ids = malloc(bytes);
    TL_FREED int64_t *const first = malloc(total);
    int64_t at = 0;
    if (!ids || !first) return tl_no_memory(d->ctx, bytes + total, "the list of long segments");

    for (int64_t r = 0; r < rows; r++)
        if (b->host_offsets[r + 1] - b->host_offsets[r] >= CHUNK) ids[at++] = r;
    for (int l = 0; l <= b->levels + 1; l++) {
        int64_t sum = 0, *row = first + l * (long_count + 1);
        for (int64_t s = 0; s < long_count; s++) {
            int64_t n = b->host_offsets[ids[s] + 1] - b->host_offsets[ids[s]];
            row[s] = sum;
            sum += tl_level_count(n, l);
        }

        row[long_count] = b->counts[l] = sum;
    }

    TL_TRY(tl_gpu_upload(d, ids, bytes, &b->ids));
    return tl_gpu_upload(d, first, total, &b->first);
}

static int columns_log(const tally_view *in)
{
    const int columns = !in->offsets && in->rows > 1 && llabs(in->row_stride) < llabs(in->stride);
    int log = columns;
    while (columns && 1 << log < LANES && 1 << log < in->rows) log++;
    return log;
}

tl_batch tl_batch_of(const tl_plan *plan, const tally_view *in)
{
    return (tl_batch){.plan = plan,
                      .row_stride = in->row_stride,
                      .stride = in->stride,
                      .n = in->n,
                      .rows = in->rows,
                      .elements = in->offsets ? 0 : in->rows * in->n,
                      .state_bytes = tl_gpu_state_bytes(plan->op),
                      .columns_log = columns_log(in),
                      .listed = in->offsets != NULL,
                      .speculative = {.slot = -1}};
}

tally_status tl_batch_data(tl_gpu_device *d, const tally_view *in, int64_t bytes, tl_batch *b)
{
    int64_t low, high;

    assert(in->rows >= 0 && in->n >= 0 && bytes > 0);
    tl_view_extent(in, bytes, &low, &high);
    assert(high >= low);
    const tally_status status =
        tl_array_open(d, high > low ? (char *)in->data + low : NULL, high - low,
                      "the elements are in host memory: copy them to the device before", &b->x);
    b->x.byte -= low;
    return status;
}

tally_status tl_batch_open(tl_gpu_device *d, const tl_plan *plan, const tally_view *in, tl_batch *b)
{
    *b = tl_batch_of(plan, in);
    TL_TRY(tl_batch_data(d, in, plan->op->elem_bytes, b));

    if (in->offsets) {
        b->host_offsets = in->offsets;
        b->elements = in->offsets[in->rows] - in->offsets[0];
        TL_TRY(
            tl_gpu_upload(d, in->offsets, (size_t)(in->rows + 1) * sizeof(int64_t), &b->offsets));
        return choose_long(d, b);
    }

    b->has_short = in->n < CHUNK;
    b->long_count = in->n < CHUNK ? 0 : in->rows;
    b->longest = in->n;
    count_levels(b);
    for (int l = 1; l <= b->levels; l++) b->counts[l] = in->rows * tl_level_count(in->n, l);

    return TALLY_OK;
}

int tl_batch_across(const tl_batch *b)
{
    enum { LEAST = 16 }; /* min columns to give a lane to each */
    return b->columns_log && b->rows >= LEAST;
}

static tl_arguments_in_place in_place_arguments(const tl_batch *b)
{
    static const tl_in_place nothing;
    const tl_in_place *const p = b->in_place ? b->in_place : &nothing;
    const int two = b->in_place && b->plan->op->inputs == 2;
    return TL_ARGUMENTS(in_place, .y_data = two ? p->y.data.memory.handle : NULL,
                        .y_byte = two ? p->y.data.byte : 0,
                        .x_there = p->bits ? p->x.bits.memory.handle : NULL, .x_bit = p->x.bit,
                        .y_there = p->bits && two ? p->y.bits.memory.handle : NULL,
                        .y_bit = p->y.bit, .left_out = p->fill);
}

tl_arguments_batch tl_batch_arguments(const tl_batch *b, tl_which which)
{
    const int some = which == TL_LONG_SEQUENCES, chosen = some && b->listed;
    assert(!some || b->long_count <= b->rows);
    const int64_t flags = (b->listed ? OFFSETS : 0) | (chosen ? CHOSEN : 0) |
                          (b->piece.gives == TL_STATES ? STATES : 0);

    return TL_ARGUMENTS(batch, .in_data = b->x.memory.handle, .in_byte = b->x.byte,
                        .in_row_stride = b->row_stride, .in_stride = b->stride, .in_n = b->n,
                        .in_seqs = some ? b->long_count : b->rows, .in_flags = flags,
                        .in_offsets = b->listed ? b->offsets.handle : NULL,
                        .in_ids = chosen ? b->ids.handle : NULL, .in_first = b->first.handle,
                        .parameter = b->plan->par.value, .origin = b->piece.origin,
                        .in_place = in_place_arguments(b));
}

void tl_batch_store_arguments(tl_batch *b, tl_stored_arguments *stored)
{
    b->all = b->long_sequences = &stored->all;
    stored->all = tl_batch_arguments(b, TL_ALL_SEQUENCES);
    if (!b->listed) return; /* the long sequences are all, or none */
    b->long_sequences = &stored->long_sequences;
    stored->long_sequences = tl_batch_arguments(b, TL_LONG_SEQUENCES);
}

static tally_status place_results(tl_gpu_device *d, const tally_view *out, tl_results *r)
{
    int64_t low, high;
    size_t offset;

    tl_view_extent(out, r->bytes, &low, &high);
    r->owned = high <= low;
    if (r->owned) return tl_gpu_take(d, 1, &r->y);
    if (d->gpu->calls->owns(d->gpu, (char *)out->data + low, &r->y, &offset)) {
        r->byte = (int64_t)offset - low;
        return TALLY_OK;
    }

    TL_TRY(tl_no_capture(d, "the results are in host memory: give out device memory"));
    tally_view dense = *out;
    dense.stride = 1;
    dense.row_stride = out->n;
    tl_view_extent(&dense, r->bytes, &r->low, &r->high);
    r->row_stride = out->n;
    r->stride = 1;
    r->byte = -r->low;
    r->owned = 1;
    return tl_gpu_take(d, (size_t)(r->high - r->low), &r->y);
}

tally_status tl_results_open(tl_gpu_device *d, const tally_view *out, int64_t bytes, tl_results *r)
{
    assert(bytes > 0);
    *r = (tl_results){
        .view = out, .bytes = bytes, .row_stride = out->row_stride, .stride = out->stride};
    const tally_status status = place_results(d, out, r);
    r->arguments = tl_results_arguments(r);
    return status;
}

/* Copies the dense copy of results to the host. */
static tally_status bring(tl_gpu_device *d, const tl_results *r)
{
    const tally_view *const v = r->view;
    const int64_t bytes = r->bytes;
    const size_t total = (size_t)(r->high - r->low);
    if (v->stride == 1 && (v->offsets || v->row_stride == v->n || v->rows == 1))
        return tl_gpu_read(d, (char *)v->data + r->low, &r->y, 0, total);

    TL_FREED char *const copy = malloc(total);
    if (!copy) return tl_no_memory(d->ctx, total, "results");
    TL_TRY(tl_gpu_read(d, copy, &r->y, 0, total));
    for (int64_t i = 0; i < v->rows; i++) {
        int64_t n, at = v->offsets ? v->offsets[i] * bytes - r->low : i * v->n * bytes;
        char *to = tl_view_row(v, i, bytes, &n);
        tl_copy_strided(to, v->stride, copy + at, 1, n, bytes);
    }

    return TALLY_OK;
}

tally_status tl_results_close(tl_gpu_device *d, tl_results *r, int waits, tally_status status)
{
    assert(r->high >= r->low && (r->view || status));
    if (!status && r->owned && r->high > r->low) status = bring(d, r);
    if (waits && (!d->stream || d->host || status) && !tl_is_captured(d))
        status = tl_gpu_wait(d, status);

    d->host = 0;
    if (r->owned) tl_gpu_give(d, &r->y);
    return status;
}

tl_arguments_results tl_results_arguments(const tl_results *r)
{
    return TL_ARGUMENTS(results, .out_data = r->y.handle, .out_byte = r->byte,
                        .out_row_stride = r->row_stride, .out_stride = r->stride);
}

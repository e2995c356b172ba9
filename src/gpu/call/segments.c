/* SPDX-License-Identifier: MIT
 * A call on views that fit the device: they become a batch of sequences (batch.c); reduce.c, scan.c
 * or window/ launches kernels; the results go to the caller, and memory is given back.
 *
 * Segments whose offsets are in device memory. The kernel `measure` reads the offsets once and
 * tells the host what it needs: whether they ascend, where they begin and end, how many segments
 * are long. The host waits once per call, for 64 bytes. Most of that wait overlaps with a kernel
 * that is launched speculatively. (With offsets on the host, the host must check and copy them, and
 * list the long segments.) */
#include "gpu/work.h"
#include "gpu/kernel/constants.h"
#include <assert.h>
#include <string.h>

tally_status tl_gpu_batch(tl_gpu_device *d, const tl_call *c, tl_batch *b, tally_status status)
{
    static tally_status (*const verbs[])(tl_gpu_device *, const tl_batch *, const tl_results *,
                                         const tl_call *) = {
        [TL_REDUCE] = tl_reduce_batch, [TL_SCAN] = tl_scan_batch, [TL_WINDOW] = tl_window_batch};
    tl_results r = {0};
    tl_stored_arguments stored;
    assert(c->verb <= TL_WINDOW);
    if (!status) status = tl_results_open(d, c->out, b->plan->op->result_bytes, &r);
    if (!status) tl_batch_store_arguments(b, &stored);
    if (!status) status = verbs[c->verb](d, b, &r, c);

    return tl_results_close(d, &r, b->piece.end == TL_CALL_WAITS, status);
}

tally_status tl_gpu_whole(tl_gpu_device *d, const tl_call *c, const tl_piece *piece)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, c->plan, c->in, &b);
    if (piece) b.piece = *piece;
    status = tl_gpu_batch(d, c, &b, status);
    tl_batch_close(d, &b);
    return status;
}

/* The output of `measure`. */
typedef union {
    uint32_t count[MEASURED_WORDS]; /* at LONG_COUNT, BAD, DIFFERENT, BEYOND, and from NODES on */
    int64_t offset[MEASURED_LONG_WORDS]; /* at FIRST_OFFSET, LAST_OFFSET */
} measured;

enum { SLOT_BYTES = MEASURED_SLOT * sizeof(uint32_t) };

/* What is known of a view with offsets on the device. */
typedef struct {
    const tally_view *in;
    tally_view all; /* `in` as one segment, with its two offsets on the host */
    int64_t ends[2];
    measured m;
    tl_array data, offsets;
    tl_memory ids;
    tl_arguments_speculative speculative;
    /* the kernel that was launched speculatively; done: it has computed all results */
    enum { NO_KERNEL, SHORT_KERNEL, WARP_KERNEL } speculative_kernel;
    int done;
} segments;

/* ---- measure ---- */

/* Makes the slots, which must be zero at first, and page-locked memory if kernels can write to
 * it. */
static tally_status make_slots(tl_gpu_device *d)
{
    const tl_gpu_calls *c = d->gpu->calls;
    if (c->sees_locked && !d->reported.bytes)
        TL_TRY(c->lock(d->gpu, d->ctx, SLOT_BYTES, &d->reported));
    return tl_cleared_reserve(d, &d->slot->measured, MEASURED_SLOTS * SLOT_BYTES);
}

static tally_status begin_measure(tl_gpu_device *d, const tl_plan *plan, int64_t least, segments *s)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const int64_t rows = s->in->rows;

    assert(rows > 0 && least > 0);
    tl_launch l;
    tl_gpu_give(d, &s->ids);
    TL_TRY(tl_gpu_program(d, plan->op, "reduce", &l));
    TL_TRY(make_slots(d));
    TL_TRY(tl_gpu_take(d, (size_t)rows * sizeof(int64_t), &s->ids));

    d->slot->measured_slot ^= 1;
    const tally_status status = TL_GO(
        &l, measure, (rows + MEASURE_GROUP - 1) / MEASURE_GROUP,
        .offsets = s->offsets.memory.handle, .rows = rows, .least = least, .ids = s->ids.handle,
        .measured = d->slot->measured.memory.handle, .slot = d->slot->measured_slot,
        .reported = c->sees_locked ? d->reported.handle : NULL);

    return status || !c->sees_locked ? status : tl_mark(d, TL_RUN, TL_MEASURED);
}

/* Waits for `measure` and reads its output. If kernels write to host memory, this does not wait for
 * later kernels. */
static tally_status end_measure(tl_gpu_device *d, segments *s, tally_status status)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const size_t at = (size_t)d->slot->measured_slot * SLOT_BYTES;

    memset(&s->m, 0, sizeof s->m);
    if (!status && c->sees_locked) {
        status = tl_reached(d, TL_MEASURED);
        if (!status) memcpy(&s->m, (const void *)(uintptr_t)d->reported.address, sizeof s->m);
    } else if (!status) {
        status = tl_gpu_read(d, &s->m, &d->slot->measured.memory, at, sizeof s->m);
    }

    if (status) { /* the contents of the slots are not known */
        c->wait(d->gpu, d->ctx);
        tl_cleared_drop(d, &d->slot->measured);
    }

    return status;
}

/* ---- the speculative launch ---- */

/* The largest last offset for which results and elements certainly do not overlap, or are the same
 * memory. */
static int64_t offsets_most(const tl_call *c)
{
    const int64_t bytes = c->plan->op->elem_bytes, each = c->plan->op->result_bytes,
                  limit = INT64_MAX / 2 / tl_max(bytes, each);
    const uintptr_t x = (uintptr_t)c->in->data, y = (uintptr_t)c->out->data;
    if (c->verb == TL_SCAN && x == y) return bytes == each ? limit : 0;
    const uintptr_t apart = y > x ? (y - x) / (uintptr_t)bytes : (x - y) / (uintptr_t)each;
    if (y < x && c->verb == TL_REDUCE) return apart >= (uintptr_t)c->in->rows ? limit : 0;
    return apart < (uintptr_t)limit ? (int64_t)apart : limit;
}

/* Reductions, and scans without an initial value, of dense elements, whose results are memory of
 * this device. */
static int may_speculate(tl_gpu_device *d, const tl_call *c, tl_array *y)
{
    const int scan = c->verb == TL_SCAN;
    return c->verb != TL_WINDOW && !(scan && c->scan && c->scan->init) && c->in->stride == 1 &&
           !(scan && c->out->stride != 1) && !c->in->valid && !c->in->next &&
           tl_gpu_find(d, c->out->data, y);
}

/* Launches, between begin_measure and end_measure, the kernel that the segments need if they are
 * like those of the last call, so that the host's wait overlaps with it. If not, the kernel does
 * nothing. The output of `measure` cannot be kept, because the caller may change the offsets. */
static tally_status launch_speculatively(tl_gpu_device *d, const tl_call *c, segments *s)
{
    const tl_scalar *const op = c->plan->op;
    const tally_view *const in = c->in;
    const int scan = c->verb == TL_SCAN;
    tl_array y;
    if (!may_speculate(d, c, &y)) return TALLY_OK;

    const tl_results r = {
        .arguments = {
            .out_data = y.memory.handle, .out_byte = y.byte, .out_row_stride = 1, .out_stride = 1}};
    tl_batch b = tl_batch_of(c->plan, in);
    tl_stored_arguments stored;
    b.x = s->data;
    b.offsets = s->offsets.memory;
    s->speculative = (tl_arguments_speculative){
        .measured = d->slot->measured.memory.handle,
        .slot = d->slot->measured_slot,
        .most = offsets_most(c),
        .by_warp = tl_by_warp_pays(d, &b, in->rows * BY_WARP_MEAN, scan)};
    b.speculative = s->speculative;
    tl_batch_store_arguments(&b, &stored);
    const tl_before from = {.seeded = SEED_NONE, .exclusive = c->scan && c->scan->exclusive};
    tl_launch l;
    TL_TRY(tl_gpu_program(d, op, scan ? "scan" : "reduce", &l));

    s->speculative_kernel = s->speculative.by_warp && d->warp_each ? WARP_KERNEL : SHORT_KERNEL;
    if (s->speculative_kernel == WARP_KERNEL)
        return scan ? tl_by_warp_scan(&l, &b, &r, &from) : tl_by_warp_reduce(&l, &b, &r);

    return scan ? tl_segmented_scan(&l, &b, &r, &from) : tl_segmented_reduce(&l, &b, &r);
}

/* True if the speculative kernel has done its work. This is the condition of speculative_jobs
 * (gpu/kernel/short/jobs.cl). */
static int has_succeeded(const segments *s)
{
    const int walks = s->speculative.by_warp && s->m.count[LONG_COUNT] &&
                      s->ends[1] - s->ends[0] >= s->in->rows * BY_WARP_MEAN;
    return s->speculative_kernel && !s->m.count[BAD] && s->m.count[DIFFERENT] &&
           s->ends[1] <= s->speculative.most && walks == (s->speculative_kernel == WARP_KERNEL);
}

/* Computes the table b->first for the long segments that b->ids lists. */
static tally_status compute_firsts(tl_gpu_device *d, tl_batch *b)
{
    int64_t levels = b->levels + 2;
    tl_launch l;

    TL_TRY(tl_gpu_program(d, b->plan->op, "reduce", &l));
    TL_TRY(
        tl_gpu_take(d, (size_t)levels * (size_t)(b->long_count + 1) * sizeof(int64_t), &b->first));
    return TL_GO(&l, firsts, levels, .offsets = b->offsets.handle, .ids = b->ids.handle,
                 .long_count = b->long_count, .levels = levels, .first = b->first.handle);
}

/* True if all segments have the same length; then *rows is the same view as rows. bytes: of an
 * element. */
static int has_equal_lengths(const tally_view *in, const measured *m, int64_t bytes,
                             tally_view *rows)
{
    const int64_t first = m->offset[FIRST_OFFSET], last = m->offset[LAST_OFFSET];
    *rows = *in;
    rows->offsets = NULL;
    rows->n = (last - first) / in->rows;
    rows->data = tl_offset(in->data, first * in->stride * bytes);
    return !m->count[DIFFERENT] && !__builtin_mul_overflow(rows->n, in->stride, &rows->row_stride);
}

/* Lists only segments of BY_WARP_END elements or more as long. */
static tally_status list_longer_segments(tl_gpu_device *d, const tl_plan *plan, segments *s)
{
    if (!s->m.count[BEYOND]) {
        s->m.count[LONG_COUNT] = 0;
        return TALLY_OK;
    }
    return end_measure(d, s, begin_measure(d, plan, BY_WARP_END, s));
}

/* Opens the batch of the segments; it takes s->ids. */
static tally_status open_segments(tl_gpu_device *d, const tl_call *c, segments *s, tl_batch *b)
{
    const tl_plan *const plan = c->plan;
    const int by_warp = c->verb != TL_WINDOW;

    *b = tl_batch_of(plan, s->in);
    tally_status status = tl_batch_data(d, &s->all, plan->op->elem_bytes, b);
    b->offsets = s->offsets.memory;
    b->elements = s->ends[1] - s->ends[0];
    b->longest = s->m.count[LONG_COUNT] ? b->elements : CHUNK - 1; /* an upper bound */
    b->warp_each =
        by_warp && s->m.count[LONG_COUNT] && tl_by_warp_pays(d, b, b->elements, c->verb == TL_SCAN);
    if (by_warp) d->warp_each = b->warp_each;
    if (!status && b->warp_each) status = list_longer_segments(d, plan, s);
    b->ids = s->ids;
    s->ids = (tl_memory){0};
    b->long_count = s->m.count[LONG_COUNT];
    assert(b->long_count <= b->rows && b->elements >= 0);
    b->has_short = !s->done && !b->warp_each && b->long_count < s->in->rows;
    if (s->done) b->warp_each = 0;
    for (int l = 1; b->long_count && l <= TL_GPU_LEVELS && s->m.count[NODES + l - 1]; l++)
        b->counts[b->levels = l] = s->m.count[NODES + l - 1];

    return status || !b->long_count ? status : compute_firsts(d, b);
}

/* Measures `in`, and launches a kernel speculatively. *done is 0 if the host must do the call: its
 * data or offsets are not in device memory, or lie inside another memory object of OpenCL, or the
 * offsets are bad (the host's checks then say where). */
static tally_status examine(tl_gpu_device *d, const tl_call *c, segments *s, int *done)
{
    const tally_view *const in = c->in;
    int64_t low, high;

    *s = (segments){.in = in, .all = *in};
    *done = tl_gpu_find(d, in->offsets, &s->offsets) && !s->offsets.byte &&
            (uintptr_t)in->offsets % sizeof(int64_t) == 0 &&
            in->rows <= INT64_MAX / (int64_t)sizeof(int64_t) && tl_gpu_find(d, in->data, &s->data);
    if (!*done) return TALLY_OK;

    TL_TRY(tl_no_capture(
        d, "the offsets are in device memory: give them in host memory, or rows of one length"));
    tally_status status = begin_measure(d, c->plan, CHUNK, s);
    if (!status) status = launch_speculatively(d, c, s);
    status = end_measure(d, s, status);
    s->ends[0] = s->m.offset[FIRST_OFFSET], s->ends[1] = s->m.offset[LAST_OFFSET];
    s->all.rows = 1;
    s->all.offsets = s->ends;
    s->done = has_succeeded(s);
    *done = status ||
            (!s->m.count[BAD] && tl_view_extent(&s->all, c->plan->op->elem_bytes, &low, &high));

    return status;
}

/* Computes what the speculative kernel has not. */
static tally_status compute(tl_gpu_device *d, const tl_call *c, segments *s)
{
    const int64_t bytes = c->plan->op->elem_bytes, each = c->plan->op->result_bytes;
    const int reduces = c->verb == TL_REDUCE;
    tally_view to = *c->out, rows, out_rows = to;

    if (!reduces) { /* a result for each element */
        to = s->all;
        to.data = c->out->data, to.dtype = c->out->dtype, to.stride = c->out->stride,
        to.row_stride = c->out->row_stride;
    }

    TL_TRY(tl_view_check(d->ctx, &to, "out", each));
    if (!reduces) TL_TRY(tl_view_distinct(d->ctx, &to, "out"));
    TL_TRY(tl_check_overlap(d->ctx, &s->all, bytes, &to, each, c->verb == TL_SCAN));

    tl_call call = *c;
    call.in = &rows, call.out = &out_rows;
    if (has_equal_lengths(s->in, &s->m, bytes, &rows) &&
        (reduces || has_equal_lengths(c->out, &s->m, each, &out_rows)))
        return tl_gpu_whole(d, &call, NULL);
    tl_batch b;
    call.in = c->in, call.out = &to;
    const tally_status status = tl_gpu_batch(d, &call, &b, open_segments(d, c, s, &b));
    tl_batch_close(d, &b);

    return status;
}

tally_status tl_segments_run(tl_gpu_device *d, const tl_call *c, int *done)
{
    segments s;
    assert(c->in->offsets && c->in->rows > 0);
    if (c->verb != TL_REDUCE && (c->out->offsets != c->in->offsets || c->out->rows != c->in->rows ||
                                 c->out->dtype != c->plan->op->out))
        return TALLY_OK;
    tally_status status = examine(d, c, &s, done);
    if (*done && !status) status = compute(d, c, &s);
    tl_gpu_give(d, &s.ids);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Segments whose offsets are in device memory. The kernel `measure` reads the offsets once and
 * tells the host what it needs: whether they ascend, where they begin and end, how many segments
 * are long. The host waits once per call, for 64 bytes. Most of that wait overlaps with a kernel
 * that is launched speculatively. (With offsets on the host, the host must check and copy them, and
 * list the long segments: 10 times the time of the sums.) */
#include "pieces.h"
#include "gpu/kernel/constants.h"
#include <stdlib.h>
#include <string.h>

/* The output of `measure`. */
typedef union {
    uint32_t count[MEASURED_WORDS];      /* at LONGS, BAD, DIFFERENT, BEYOND, and from NODES on */
    int64_t offset[MEASURED_LONG_WORDS]; /* at FIRST_OFFSET, LAST_OFFSET */
} measured;
enum { SLOT_BYTES = MEASURED_SLOT * sizeof(uint32_t) };

/* What is known of a view with offsets on the device. */
typedef struct {
    const tally_view *in;
    tally_view all; /* `in` as one segment, with its two offsets on the host */
    int64_t ends[2];
    measured m;
    tl_memory data, offsets, ids;
    size_t data_at;
    tl_ahead ahead;
    enum {
        NO_KERNEL,
        SHORT_KERNEL,
        WARP_KERNEL
    } speculative_kernel; /* the kernel that was launched speculatively */
    int done;             /* it has computed all results */
} segments;

/* ---- measure ---- */

/* Makes the slots, which must be zero at first, and page-locked memory if kernels can write to
 * it. */
static tally_status make_slots(tl_gpu_device *d, tally *ctx)
{
    static const char zeros[MEASURED_SLOTS * SLOT_BYTES];
    const tl_gpu_calls *c = d->gpu->calls;
    tally_status status = TALLY_OK;
    if (c->sees_locked && !d->measured.said.bytes)
        status = c->lock(d->gpu, ctx, SLOT_BYTES, &d->measured.said);
    if (status || d->measured.slots.bytes) return status;
    status = tl_gpu_take(d, ctx, sizeof zeros, &d->measured.slots);
    return status ? status : c->write(d->gpu, ctx, &d->measured.slots, 0, zeros, sizeof zeros);
}

static tally_status begin_measure(tl_gpu_device *d, tally *ctx, const tl_plan *plan, int64_t least,
                                  segments *s)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const int64_t rows = s->in->rows;
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tl_gpu_give(d, &s->ids);
    tally_status status = tl_gpu_program(d, ctx, plan->op, "reduce", &program);
    if (!status) status = make_slots(d, ctx);
    if (!status) status = tl_gpu_take(d, ctx, (size_t)rows * sizeof(int64_t), &s->ids);
    if (status) return status;
    d->measured.slot ^= 1;
    status = TL_GO(&l, measure, (rows + MEASURE_GROUP - 1) / MEASURE_GROUP,
                   .offsets = tl_memory_of(&s->offsets), .rows = tl_i64(rows),
                   .least = tl_i64(least), .ids = tl_memory_of(&s->ids),
                   .measured = tl_memory_of(&d->measured.slots), .slot = tl_i64(d->measured.slot),
                   .said = tl_memory_of(c->sees_locked ? &d->measured.said : NULL));
    return status || !c->sees_locked ? status : c->mark(d->gpu, ctx, TL_RUN, TL_MEASURED);
}

/* Waits for `measure` and reads its output. If kernels write to host memory, this does not wait for
 * later kernels. */
static tally_status end_measure(tl_gpu_device *d, tally *ctx, segments *s, tally_status status)
{
    const tl_gpu_calls *c = d->gpu->calls;
    const size_t at = (size_t)d->measured.slot * SLOT_BYTES;
    memset(&s->m, 0, sizeof s->m);
    if (!status && c->sees_locked) {
        status = c->reached(d->gpu, ctx, TL_MEASURED);
        if (!status) memcpy(&s->m, (const void *)(uintptr_t)d->measured.said.address, sizeof s->m);
    } else if (!status) {
        tl_clock_begin(d, ctx, TL_RUN);
        status = c->read(d->gpu, ctx, &s->m, &d->measured.slots, at, sizeof s->m);
        tl_clock_end(d, ctx, TL_RUN, TL_TIME_FROM, sizeof s->m);
    }
    if (status) { /* the contents of the slots are not known */
        c->wait(d->gpu, ctx);
        tl_gpu_give(d, &d->measured.slots);
    }
    return status;
}

/* ---- the speculative launch ---- */

/* A verb and its results: of a reduce contiguous, of a scan one for each element. OTHER verbs are
 * not launched speculatively. */
typedef enum { REDUCE, SCAN, OTHER } segment_verb;
typedef struct {
    segment_verb verb;
    void *out;
    int64_t stride; /* of a scan's results */
    const tally_scan_options *scan;
} speculation;

/* Returns the largest last offset for which the results at `out` and the elements certainly do not
 * overlap, or are the same memory. */
static int64_t offsets_most(const tl_scalar *op, const tally_view *in, const speculation *a)
{
    const int64_t bytes = op->elem_bytes, each = op->result_bytes,
                  limit = INT64_MAX / 2 / (bytes > each ? bytes : each);
    const uintptr_t x = (uintptr_t)in->data, y = (uintptr_t)a->out;
    if (a->verb == SCAN && x == y) return bytes == each ? limit : 0;
    const uintptr_t apart = y > x ? (y - x) / (uintptr_t)bytes : (x - y) / (uintptr_t)each;
    if (y < x && a->verb == REDUCE) return apart >= (uintptr_t)in->rows ? limit : 0;
    return apart < (uintptr_t)limit ? (int64_t)apart : limit;
}

/* Launches, between begin_measure and end_measure, the kernel that the segments need if they are
 * like those of the last call. So the host's wait overlaps with this kernel. If the prediction is
 * wrong, the kernel does nothing. The output of `measure` cannot be kept for the next call, because
 * the caller may change the offsets. */
static tally_status launch_speculatively(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                         const speculation *a, segments *s)
{
    const tl_scalar *const op = plan->op;
    const tally_view *const in = s->in;
    const int scan = a->verb == SCAN, seeded = scan && a->scan && a->scan->init;
    size_t out_at;
    tl_results r = {.piece = &tl_no_piece, .row_stride = 1, .stride = 1};
    if (a->verb == OTHER || seeded || in->stride != 1 || (scan && a->stride != 1) || in->valid ||
        in->next || !d->gpu->calls->owns(d->gpu, a->out, &r.y, &out_at))
        return TALLY_OK;
    r.byte = (int64_t)out_at;
    s->ahead =
        (tl_ahead){.measured = d->measured.slots,
                   .slot = d->measured.slot,
                   .most = offsets_most(op, in, a),
                   .may_walk = tl_middle_pays(d, op, in->rows, in->rows * MIDDLE_MEAN, scan)};
    const tl_batch b = {.plan = plan,
                        .x = s->data,
                        .piece = &tl_no_piece,
                        .x_byte = (int64_t)s->data_at,
                        .stride = 1,
                        .rows = in->rows,
                        .listed = 1,
                        .offsets = s->offsets,
                        .ahead = &s->ahead};
    const tl_before from = {SEED_NONE, &s->data, a->scan && a->scan->exclusive};
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = tl_gpu_program(d, ctx, op, scan ? "scan" : "reduce", &program);
    if (status) return status;
    s->speculative_kernel = s->ahead.may_walk && d->measured.walked ? WARP_KERNEL : SHORT_KERNEL;
    if (s->speculative_kernel == WARP_KERNEL)
        return scan ? tl_middle_scan(&l, &b, &r, &from) : tl_middle_reduce(&l, &b, &r);
    return scan ? tl_forest_scan(&l, &b, &r, &from) : tl_forest_reduce(&l, &b, &r);
}

/* True if the speculative kernel has done its work. This is the condition of jobs_ahead
 * (gpu/kernel/short/ahead.cl). */
static int has_succeeded(const segments *s)
{
    const int walks = s->ahead.may_walk && s->m.count[LONGS] &&
                      s->ends[1] - s->ends[0] >= s->in->rows * MIDDLE_MEAN;
    return s->speculative_kernel && !s->m.count[BAD] && s->m.count[DIFFERENT] &&
           s->ends[1] <= s->ahead.most && walks == (s->speculative_kernel == WARP_KERNEL);
}

/* ---- the batch ---- */

/* Computes the table b->first for the long segments that b->ids lists. */
static tally_status compute_firsts(tl_gpu_device *d, tally *ctx, tl_batch *b)
{
    int64_t levels = b->levels + 2;
    tl_built program = {0};
    const tl_launch l = {d, ctx, &program};
    tally_status status = tl_gpu_program(d, ctx, b->plan->op, "reduce", &program);
    if (!status)
        status = tl_gpu_take(d, ctx, (size_t)levels * (size_t)(b->longs + 1) * sizeof(int64_t),
                             &b->first);
    if (status) return status;
    return TL_GO(&l, firsts, levels, .offsets = tl_memory_of(&b->offsets),
                 .ids = tl_memory_of(&b->ids), .longs = tl_i64(b->longs), .levels = tl_i64(levels),
                 .first = tl_memory_of(&b->first));
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

/* Lists only segments of MIDDLE_END elements or more as long. */
static tally_status list_longer_segments(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                         segments *s)
{
    if (!s->m.count[BEYOND]) {
        s->m.count[LONGS] = 0;
        return TALLY_OK;
    }
    return end_measure(d, ctx, s, begin_measure(d, ctx, plan, MIDDLE_END, s));
}

/* Opens the batch of the segments; it takes s->ids. */
static tally_status open_segments(tl_gpu_device *d, tally *ctx, const tl_plan *plan, segments *s,
                                  segment_verb verb, tl_batch *b)
{
    int64_t low, high;
    tl_view_extent(&s->all, plan->op->elem_bytes, &low, &high);
    tally_status status = tl_batch_data(d, ctx, plan, &tl_no_piece, s->in, low, high, b);
    b->offsets = s->offsets;
    b->elements = s->ends[1] - s->ends[0];
    b->longest = s->m.count[LONGS] ? b->elements : CHUNK - 1; /* an upper bound */
    b->walked = verb != OTHER && s->m.count[LONGS] &&
                tl_middle_pays(d, plan->op, s->in->rows, b->elements, verb == SCAN);
    if (verb != OTHER) d->measured.walked = b->walked;
    if (!status && b->walked) status = list_longer_segments(d, ctx, plan, s);
    b->ids = s->ids;
    s->ids = (tl_memory){0};
    b->longs = s->m.count[LONGS];
    b->shorts = !s->done && !b->walked && b->longs < s->in->rows;
    if (s->done) b->walked = 0;
    for (int l = 1; b->longs && l <= TL_GPU_LEVELS && s->m.count[NODES + l - 1]; l++)
        b->counts[b->levels = l] = s->m.count[NODES + l - 1];
    return status || !b->longs ? status : compute_firsts(d, ctx, b);
}

static tally_status reduce(tl_gpu_device *d, tally *ctx, const tl_plan *plan, segments *s,
                           void *out)
{
    int64_t bytes = plan->op->elem_bytes;
    tally_view to = tally_rows(out, plan->op->out, s->in->rows, 1), rows;
    tally_status status = tl_view_check(ctx, &to, "out", plan->op->result_bytes);
    if (!status) status = tl_view_overlap(ctx, &s->all, bytes, &to, plan->op->result_bytes, 0);
    if (status) return status;
    if (has_equal_lengths(s->in, &s->m, bytes, &rows))
        return tl_gpu_reduce_whole(d, ctx, plan, &tl_no_piece, &rows, &to);
    tl_batch b;
    status = open_segments(d, ctx, plan, s, REDUCE, &b);
    status = tl_gpu_reduce_batch(d, ctx, &b, s->in, &to, status);
    tl_batch_close(d, &b);
    return status;
}

/* A verb with a result for each element: a scan, or windows. */
typedef struct {
    const tally_scan_options *scan;
    const tally_window_options *window; /* NULL: a scan */
    const tl_plan *count;
} each_verb;

static tally_status scan_or_window(tl_gpu_device *d, tally *ctx, const tl_plan *plan, segments *s,
                                   const tally_view *out, const each_verb *v)
{
    int64_t bytes = plan->op->elem_bytes, each = plan->op->result_bytes;
    tally_view to = s->all, rows, out_rows;
    to.data = out->data, to.dtype = out->dtype, to.stride = out->stride,
    to.row_stride = out->row_stride;
    tally_status status = tl_view_check(ctx, &to, "out", each);
    if (!status) status = tl_view_distinct(ctx, &to, "out");
    if (!status) status = tl_view_overlap(ctx, &s->all, bytes, &to, each, !v->window);
    if (status) return status;
    if (has_equal_lengths(s->in, &s->m, bytes, &rows) &&
        has_equal_lengths(out, &s->m, each, &out_rows))
        return v->window ? tl_gpu_window_whole(d, ctx, plan, v->count, &tl_no_piece, &rows,
                                               &out_rows, v->window)
                         : tl_gpu_scan_whole(d, ctx, plan, &tl_no_piece, &rows, &out_rows, v->scan);
    tl_batch b;
    status = open_segments(d, ctx, plan, s, v->window ? OTHER : SCAN, &b);
    if (v->window)
        status = tl_gpu_window_batch(d, ctx, &b, v->count, &to, v->window, status);
    else
        status = tl_gpu_scan_batch(d, ctx, &b, &to, v->scan, status);
    tl_batch_close(d, &b);
    return status;
}

/* True if v's offsets are in memory of this device. */
static int has_offsets(tl_gpu_device *d, const tally_view *v, tl_memory *memory, size_t *at)
{
    return v->offsets && d->gpu->calls->owns(d->gpu, v->offsets, memory, at);
}

/* Measures `in`, and launches a kernel speculatively. Returns 0 if the host must do the call: its
 * data or offsets are not in device memory, or the offsets are bad (the host's checks then say
 * where), or the offsets lie inside another memory object of OpenCL. */
static int examine(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                   const speculation *a, segments *s, tally_status *status)
{
    const tl_gpu_calls *c = d->gpu->calls;
    size_t at;
    int64_t low, high;
    *s = (segments){.in = in, .all = *in};
    if (!has_offsets(d, in, &s->offsets, &at) || at || (uintptr_t)in->offsets % sizeof(int64_t) ||
        in->rows < 1 || in->rows > INT64_MAX / (int64_t)sizeof(int64_t) || !in->data ||
        !c->owns(d->gpu, in->data, &s->data, &s->data_at))
        return 0;
    *status = begin_measure(d, ctx, plan, CHUNK, s);
    if (!*status) *status = launch_speculatively(d, ctx, plan, a, s);
    *status = end_measure(d, ctx, s, *status);
    s->ends[0] = s->m.offset[FIRST_OFFSET], s->ends[1] = s->m.offset[LAST_OFFSET];
    s->all.rows = 1;
    s->all.offsets = s->ends;
    s->done = has_succeeded(s);
    return *status ||
           (!s->m.count[BAD] && tl_view_extent(&s->all, plan->op->elem_bytes, &low, &high));
}

tally_status tl_gpu_reduce_segments(tl_device *base, tally *ctx, const tl_plan *plan,
                                    const tally_view *in, void *out, int *done)
{
    tl_gpu_device *d = tl_gpu_of(base);
    segments s;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    *done = 0;
    if (status) return status;
    *done = examine(d, ctx, plan, in, &(speculation){.verb = REDUCE, .out = out}, &s, &status);
    if (*done && !status) status = reduce(d, ctx, plan, &s, out);
    tl_gpu_give(d, &s.ids);
    d->gpu->calls->leave(d->gpu);
    return status;
}

static tally_status each_on_device(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                   const tally_view *in, const tally_view *out, const each_verb *v,
                                   int *done)
{
    segments s;
    *done = 0;
    if (out->offsets != in->offsets || out->rows != in->rows || out->dtype != plan->op->out)
        return TALLY_OK;
    tally_status status = d->gpu->calls->enter(d->gpu, ctx);
    if (status) return status;
    const speculation a = {v->window ? OTHER : SCAN, out->data, out->stride, v->scan};
    *done = examine(d, ctx, plan, in, &a, &s, &status);
    if (*done && !status) status = scan_or_window(d, ctx, plan, &s, out, v);
    tl_gpu_give(d, &s.ids);
    d->gpu->calls->leave(d->gpu);
    return status;
}

tally_status tl_gpu_scan_segments(tl_device *base, tally *ctx, const tl_plan *plan,
                                  const tally_view *in, const tally_view *out,
                                  const tally_scan_options *o, int *done)
{
    *done = 0;
    if (o && o->reverse) return TALLY_OK;
    return each_on_device(tl_gpu_of(base), ctx, plan, in, out, &(each_verb){.scan = o}, done);
}

tally_status tl_gpu_window_segments(tl_device *base, tally *ctx, const tl_plan *plan,
                                    const tl_plan *count, const tally_view *in,
                                    const tally_view *out, const tally_window_options *o, int *done)
{
    return each_on_device(tl_gpu_of(base), ctx, plan, in, out,
                          &(each_verb){.window = o, .count = count}, done);
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
        status = *copy ? c->read(d->gpu, ctx, *copy, &offsets, at, bytes)
                       : tl_no_memory(ctx, bytes, "a copy of offsets");
        if (!status) status = c->wait(d->gpu, ctx);
    }
    c->leave(d->gpu);
    if (!status) return TALLY_OK;
    free(*copy);
    *copy = NULL;
    return status;
}

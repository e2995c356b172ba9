/* SPDX-License-Identifier: MIT
 * Short rows and segments: 16 or more of about equal length make a strip of lanes (lanes.h). Rows
 * of one length are taken in order. Segments are taken a batch at a time and sorted by length.
 *
 *   in --(gaps or strides: copy; widen)--> dense elements --transpose--> strip
 *   strip --transpose--> dense results --(narrow, copy, stream)--> out
 *
 * Where neither is needed, the caller's memory is read and written in place. */
#include "lanes.h"
#include "widen.h"
#include "context/view.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGED = 16 * 1024, /* most elements of a batch of rows that are copied or widened */
    /* A sequence that a transposition would read past the end of is copied; this many elements are
     * enough for the copies of one strip. */
    SPILL = 4 * TL_LANES_LONG
};

/* ---- where sequences lie ---- */

/* Are the sequences of a view adjacent, without gaps? */
static int is_dense(const tally_view *v)
{
    return v->stride == 1 && (v->offsets || v->row_stride == v->n);
}

/* The number of elements before sequence r of a view without gaps. */
static int64_t start_of(const tally_view *v, int64_t r)
{
    return v->offsets ? v->offsets[r] : r * v->n;
}

/* Folds in registers are faster than one at a time also for longer sequences of floats. */
static int folds_longer(const tl_plan *plan)
{
    return !plan->op->exact && plan->core->fold_short && plan->core->vector_lanes >= 8;
}

/* Up to this length lanes are faster than one at a time. For reductions of rows it depends on the
 * operator (bench/results). Segments one at a time also have mispredicted branches. */
static int64_t longest_of(const tl_lanes_job *job)
{
    const tl_plan *plan = job->plan;
    if (job->in->offsets) return job->verb == TL_REDUCE ? TL_LANES_LONG / 2 : TL_LANES_LONG;
    const int64_t pitch = llabs(job->in->row_stride) * plan->op->elem_bytes;

    /* All rows would map to the same cache set. */
    if (pitch && pitch % 4096 == 0) return TL_LANES_LONG / 2;

    /* The kernel gets widened tiles. */
    if (job->verb != TL_REDUCE || (plan->fold == plan->core && plan->in)) return TL_LANES_LONG;
    const int64_t state = plan->core->vector_bytes / plan->core->vector_lanes,
                  elem = plan->op->elem_bytes;
    if (plan->fold != plan->core && elem < 4)
        return plan->op->inverse ? 32 : elem == 1 && state == 4 ? 64 : 100;
    if (plan->op->exact && plan->op->indexed) return 256;
    if (folds_longer(plan) && is_dense(job->in)) return TL_LANES_LONG / 2;
    return state == 8 && plan->op->exact ? 48 : 100;
}

int tl_lanes_take_rows(const tl_lanes_job *job)
{
    const tally_view *in = job->in;
    if (in->rows < TL_LANES_LEAST_ROWS || job->plan->op->inputs == 2) return 0;
    if (!in->offsets) return in->n <= longest_of(job);
    return 1;
}

tl_lanes_batch *tl_lanes_batch_open(tally *ctx, int me, const tl_lanes_job *job)
{
    const tally_view *in = job->in, *out = job->out;
    const tl_plan *plan = job->plan;
    tl_lanes_batch *b = tl_scratch(ctx, me, TL_BATCH, sizeof *b);
    if (!b) return NULL;

    int64_t all = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    const int64_t total = all;
    if (all > TL_BATCH_ELEMENTS) all = TL_BATCH_ELEMENTS;
    all += TL_ABREAST * TL_LANES_OVER;
    memset(b, 0, offsetof(tl_lanes_batch, in_order));
    b->job = job;
    const tl_lanes_size size = {TL_LANES_STRIP, TL_LANES_LONG,
                                (TL_LANES_LONG + TL_LANES_OVER) * TL_ABREAST};
    if (!tl_lanes_open(&b->buffers, ctx, me, job, size)) return NULL;
    b->elem = b->buffers.elem;
    b->longest = longest_of(job);
    b->mean = job->verb != TL_REDUCE ? 256 : plan->op->exact && plan->op->inverse ? 64 : 128;
    b->mean_alike = job->verb == TL_REDUCE && folds_longer(plan) ? 256 : b->mean;
    b->result = b->buffers.result;

    /* Rows with gaps: elements past the end of a row may not exist, so the length must be a
     * multiple of TL_LANES_OVER. */
    b->direct_in = !plan->in && in->stride == 1 && (is_dense(in) || in->n % TL_LANES_OVER == 0);
    const int64_t results = !out ? in->rows : out->offsets ? total : out->rows * out->n;
    b->prefetch = in->stride == 1 ? tl_prefetches(total * plan->op->elem_bytes) : TL_CACHED;
    b->stream = (!out || is_dense(out)) && results * plan->op->result_bytes >= TL_STREAM_BYTES;
    b->direct_out = out && !plan->out && out->stride == 1 && !b->stream;
    if ((!b->direct_in || is_dense(in)) && (!b->direct_out || is_dense(out))) {
        if (job->verb == TL_REDUCE)
            b->as_given = plan->core->fold_short;
        else if (job->verb == TL_SCAN && plan->core == plan->lower && !job->exclusive &&
                 !job->reverse && !job->seeded && !(b->direct_out && in->data == out->data))
            b->as_given = plan->core->scan_short;
    }
    const size_t in_bytes = b->direct_in ? 0 : (size_t)(all * b->elem),
                 pack = plan->in && !is_dense(in) ? (size_t)(all * plan->op->elem_bytes) : 0,
                 buffers = (size_t)SPILL * (size_t)b->elem,
                 out_bytes = !out ? (size_t)(TL_BATCH_SEQUENCES + TL_ABREAST) *
                                        (size_t)plan->op->result_bytes
                             : b->direct_out ? 0
                                             : (size_t)(all * b->result) + 64;
    b->in = tl_scratch(ctx, me, TL_STAGE, in_bytes + pack + buffers + out_bytes + 4 * 64);
    if (!b->in) return NULL;

    b->pack = b->in + ((in_bytes + 63) & ~(size_t)63);
    b->spill = b->pack + ((pack + 63) & ~(size_t)63);
    b->out = b->spill + ((buffers + 63) & ~(size_t)63);

    return b;
}

/* ---- elements and results of a batch ---- */

void tl_batch_load(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *in = b->job->in;
    const int64_t bytes = plan->op->elem_bytes,
                  all = start_of(in, b->r0 + b->count) - start_of(in, b->r0);
    int64_t n, results;
    const char *x = tl_view_row(in, b->r0, bytes, &n);

    b->x = x;
    b->y = b->out;
    if (b->direct_out) b->y = tl_view_row(b->job->out, b->r0, plan->op->result_bytes, &results);
    if (b->direct_in) return;

    b->x = b->in;
    b->end = b->in + (all + TL_ABREAST * TL_LANES_OVER) * b->elem;
    char *to = plan->in ? b->pack : b->in;
    if (is_dense(in))
        to = (char *)x;
    else if (in->offsets)
        tl_copy_strided(to, 1, x, in->stride, all, bytes);
    else
        for (int64_t r = 0; r < b->count; r++)
            tl_copy_strided(to + r * n * bytes, 1, x + r * in->row_stride * bytes, in->stride, n,
                            bytes);

    if (plan->in) plan->in->apply(plan->in, b->in, to, all);
}

void tl_batch_store(tl_lanes_batch *b)
{
    const tl_plan *plan = b->job->plan;
    const tally_view *out = b->job->out;
    const int64_t bytes = plan->op->result_bytes,
                  all = start_of(out, b->r0 + b->count) - start_of(out, b->r0);
    int64_t n;
    char *y = tl_view_row(out, b->r0, bytes, &n), *from = b->y;

    if (b->direct_out) return;
    if (plan->out && is_dense(out)) {
        tl_narrow_results(plan, y, from, all, b->stream);
        return;
    }
    if (plan->out) { /* in place, because results get narrower */
        enum { PIECE = 1024 };
        char piece[PIECE];
        const int64_t bytes_out = plan->out->to_bytes, most = PIECE / bytes_out,
                      lanes = all * plan->op->lanes;

        for (int64_t at = 0, now; at < lanes; at += now) {
            now = tl_min(lanes - at, most);
            plan->out->apply(plan->out, piece, from + at * plan->out->from_bytes, now);
            memcpy(from + at * bytes_out, piece, (size_t)(now * bytes_out));
        }
    }

    if (b->stream)
        tl_stream_bytes(y, from, all * bytes);
    else if (out->offsets)
        tl_copy_strided(y, out->stride, from, 1, all, bytes);
    else
        for (int64_t r = 0; r < b->count; r++)
            tl_copy_strided(y + r * out->row_stride * bytes, out->stride, from + r * n * bytes, 1,
                            n, bytes);
}

int tl_batch_as_given(tl_lanes_batch *b, const int64_t *offset, int64_t longest)
{
    const tl_lanes_job *job = b->job;
    const int64_t elements = job->out ? offset[b->count] - offset[0] : (b->end - b->x) / b->elem,
                  most = offset[0] + elements - longest - TL_ABREAST;
    int64_t count = b->count & -(int64_t)job->plan->core->vector_lanes;
    while (count > 0 && offset[count] > most) count -= job->plan->core->vector_lanes;
    if (count <= 0) return 0;
    b->count = count;
    b->as_given(
        &(tl_dense_rows){.out = job->out ? tl_offset(b->y, -offset[0] * b->result) : b->buffers.soa,
                         .x = tl_offset((char *)(uintptr_t)b->x, -offset[0] * b->elem),
                         .rows = count,
                         .pitch = tl_min(longest, TL_LANES_OVER),
                         .offsets = offset,
                         .prefetch = b->direct_in ? b->prefetch : 0,
                         .stage = b->buffers.r},
        job->plan->par);
    return 1;
}

/* ---- strips ---- */

/* Lanes of a strip of n rows whose elements fit the first-level cache. */
int64_t tl_batch_lanes(int64_t n)
{
    const int64_t lanes =
        TL_TILE / (((n + TL_LANES_OVER - 1) & -(int64_t)TL_LANES_OVER) + 1) & -(int64_t)TL_ABREAST;
    return tl_clamp(lanes, TL_ABREAST, TL_LANES_STRIP);
}

/* Computes the results of a strip of `lanes` lanes, which is in t. ends: see tl_lanes. */
static void compute(tl_lanes_batch *b, int64_t s, int64_t lanes, int64_t n, const int32_t *ends,
                    const tl_lanes_to *to)
{
    const tl_lanes_from from = {b->buffers.t, lanes, lanes, TL_ALL_ROWS, 1, 0};
    if (b->job->verb == TL_REDUCE)
        tl_lanes_fold(&b->buffers, &from, n, ends, s);
    else if (b->job->verb == TL_SCAN)
        tl_lanes_scan(&b->buffers, &from, to, &(tl_lanes_span){0, 0, n, n});
    else
        tl_lanes_window(&b->buffers, &from, to, n, 0, n);
}

/* A strip of `count` rows of one length, from row s of the batch on. Requires: count is a multiple
 * of 16, and no read goes past the end. */
static void even_strip(tl_lanes_batch *b, int64_t s, int64_t count)
{
    const tally_view *in = b->job->in, *out = b->job->out;
    const int64_t pitch = (b->direct_in ? in->row_stride : in->n) * b->elem,
                  out_pitch = !out ? 0 : (b->direct_out ? out->row_stride : out->n) * b->result;
    const tl_lanes_to to = {.out = out ? b->y + s * out_pitch : NULL, .pitch = out_pitch};

    b->job->plan->transpose->to_lanes(
        &(tl_matrix){b->buffers.t, count, count, (int)b->elem},
        &(tl_origins){.first = b->x + s * pitch, .pitch = pitch}, in->n,
        (tl_prefetch){b->x + (s + count) * pitch, b->prefetch && b->direct_in ? count * pitch : 0});
    compute(b, s, count, in->n, NULL, &to);
}

/* Computes a strip. rows: a constant; whether its sequences are rows of one length. */
static inline __attribute__((always_inline)) void strip(tl_lanes_batch *b, tl_strip part,
                                                        tl_prefetch next, int rows)
{
    assert((b->elem & (b->elem - 1)) == 0 && (b->result & (b->result - 1)) == 0);
    const tl_segment *const s = part.s;
    const int64_t count = part.count, least = part.least, most = part.most;
    const tl_lanes_job *job = b->job;
    const tally_view *in = job->in, *out = job->out;
    const char *p[TL_LANES_STRIP];
    char *q[TL_LANES_STRIP], *spill = b->spill;
    int64_t n[TL_LANES_STRIP];
    int32_t ends[TL_LANES_STRIP];
    const int elem_log = tl_top_level(b->elem), result_log = tl_top_level(b->result);
    const int64_t lanes = (count + TL_ABREAST - 1) & -(int64_t)TL_ABREAST,
                  reads = ((most + TL_LANES_OVER - 1) & -(int64_t)TL_LANES_OVER) * b->elem,
                  step = (rows && b->direct_in ? in->row_stride - in->n : 0) * b->elem,
                  out_step = !out || !rows
                                 ? 0
                                 : ((b->direct_out ? out->row_stride : out->n) - in->n) * b->result;

    for (int64_t c = 0; c < count; c++) p[c] = b->x + (tl_segment_at(s[c]) << elem_log);
    for (int64_t c = 0; c < count && step; c++) p[c] += tl_segment_number(s[c]) * step;
    for (int64_t c = 0; c < count && b->near_end; c++)
        if (p[c] + reads > b->end) {
            memcpy(spill, p[c], (size_t)(tl_segment_length(s[c]) * b->elem));
            p[c] = spill;
            spill += reads;
        }

    /* padding lanes repeat the first lane; their results are not stored */
    for (int64_t c = count; c < lanes; c++) p[c] = p[0];

    if (out) {
        const int64_t fewer = job->verb == TL_WINDOW && job->valid ? job->w - 1 : 0;
        for (int64_t c = 0; c < count; c++) {
            q[c] = b->y + (tl_segment_at(s[c]) << result_log);
            n[c] = tl_segment_length(s[c]) - fewer;
        }
        for (int64_t c = 0; c < count && out_step; c++) q[c] += tl_segment_number(s[c]) * out_step;

        for (int64_t c = count; c < lanes; c++) q[c] = q[0], n[c] = 0;
    } else if (least != most) {
        const int mask = most <= TL_LANES_OVER ? -1 : TL_LANES_OVER - 1;
        for (int64_t c = 0; c < count; c++) ends[c] = tl_segment_length(s[c]) & mask;
        for (int64_t c = count; c < lanes; c++) ends[c] = 0;
    }

    const tl_lanes_to where = {.q = q, .n = n, .most = most};
    job->plan->transpose->to_lanes(&(tl_matrix){b->buffers.t, lanes, lanes, (int)b->elem},
                                   &(tl_origins){.list = p}, most, next);
    compute(b, part.to, lanes, most, least == most ? NULL : ends, &where);
}

void tl_batch_strip(tl_lanes_batch *b, tl_strip part, tl_prefetch next) { strip(b, part, next, 0); }

/* Rows of one length where even_strip cannot be used: too few, or near the end. */
static void gathered_strip(tl_lanes_batch *b, int64_t s, int64_t count)
{
    tl_segment rows[TL_LANES_STRIP];
    const int64_t n = b->job->in->n;
    for (int64_t c = 0; c < count; c++) rows[c] = tl_segment_of((s + c) * n, n, s + c);
    strip(b, (tl_strip){rows, count, n, n, s}, (tl_prefetch){NULL, 0}, 1);
}

void tl_batch_rows(tl_lanes_batch *b, int64_t r0, int64_t r1)
{
    const tl_lanes_job *job = b->job;
    const int64_t n = job->in->n, bytes = job->plan->op->result_bytes;
    const int wide = job->plan->core->vector_lanes,
              staged = !b->direct_in || (job->out && !b->direct_out),
              as_given = b->as_given &&
                         (job->out ? n > 4 && n <= TL_SCAN_SHORT : n >= 6 * wide && wide >= 8);
    int64_t most = (staged ? STAGED : TL_BATCH_ELEMENTS) / n & -(int64_t)TL_ABREAST;

    most = tl_clamp(most, TL_ABREAST, TL_BATCH_SEQUENCES);
    for (int64_t r = 0; r <= tl_min(most, r1 - r0) && as_given; r++) b->starts[r] = r * n;
    for (int64_t r = r0; r < r1; r += b->count) {
        b->r0 = r;
        b->count = tl_min(r1 - r, most);
        tl_batch_load(b);
        b->near_end = is_dense(job->in) || !b->direct_in;
        const int64_t lanes = tl_batch_lanes(n),
                      reads = ((n + TL_LANES_OVER - 1) & -(int64_t)TL_LANES_OVER) * b->elem,
                      pitch = (b->direct_in ? job->in->row_stride : n) * b->elem;

        int64_t s = 0;
        if (as_given && tl_batch_as_given(b, b->starts, n)) s = b->count;
        for (int64_t now; s < b->count; s += now) {
            now = tl_min(b->count - s, lanes);
            if (now > TL_ABREAST) now &= -(int64_t)TL_ABREAST;
            int past = reads > n * b->elem && b->x + (s + now - 1) * pitch + reads > b->end;
            if (past && now > TL_ABREAST) now -= TL_ABREAST, past = 0; /* the last rows come next */
            if (now % TL_ABREAST == 0 && !past)
                even_strip(b, s, now);
            else
                gathered_strip(b, s, now);
        }

        if (job->out)
            tl_batch_store(b);
        else
            tl_lower_row(job->plan, (tl_staging){b->buffers.soa, b->buffers.r},
                         job->results + r * bytes, &(tl_lower){.m = b->count, .n = n, .rows = 1});
    }
}

/* SPDX-License-Identifier: MIT
 * Rows of a strip of lanes, copied to where kernels read them, and results to where they belong
 * (lanes.h); and rows of narrow elements, which have kernels of their own. */
#include "lanes.h"
#include "narrow/narrow.h"
#include "widen.h"
#include "context/view.h"
#include "cpu/kernel/simd.h"
#include <string.h>

/* ---- elements ---- */

/* Copies a few elements without a call. */
static inline void copy_small(char *to, const char *from, int64_t n, int64_t bytes)
{
    if (bytes == 4)
        for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, from + 4 * i, 4);
    else if (bytes == 8)
        for (int64_t i = 0; i < n; i++) memcpy(to + 8 * i, from + 8 * i, 8);
    else
        memcpy(to, from, (size_t)(n * bytes));
}

const char *tl_lanes_bring(tl_lanes_buffers *buffers, const tl_lanes_from *f, int64_t a,
                           int64_t count, int64_t *stride)
{
    const tl_plan *plan = buffers->job->plan;
    const int64_t bytes = plan->op->elem_bytes, width = f->width;

    *stride = f->step;
    if (a + count <= f->direct) return f->x + a * f->step * buffers->elem;

    const char *x = f->x + a * f->step * bytes;
    if (f->col_step == 1 && f->step == width) { /* a whole matrix without gaps */
        if (plan->in)
            plan->in->apply(plan->in, buffers->t, x, count * width);
        else
            memcpy(buffers->t, x, (size_t)(count * width * bytes));
        return buffers->t;
    }

    *stride = tl_lanes_padded(buffers, width);
    for (int64_t j = 0; j < count; j++, x += f->step * bytes) {
        char *t = buffers->t + j * *stride * buffers->elem;
        if (f->col_step != 1) {
            char *to = plan->in ? buffers->narrow : t;
            tl_copy_strided(to, 1, x, f->col_step, width, bytes);
            if (plan->in) plan->in->apply(plan->in, t, to, width);
        } else if (plan->in) {
            plan->in->apply(plan->in, t, x, width);
        } else if (width < TL_ABREAST) {
            copy_small(t, x, width, bytes);
        } else {
            memcpy(t, x, (size_t)(width * bytes));
        }
    }

    return buffers->t;
}

/* ---- results ---- */

void tl_stream_bytes(char *to, const char *from, int64_t bytes)
{
    const int64_t at = tl_copy_lines(to, from, 0, bytes, 1);
    memcpy(to + at, from + at, (size_t)(bytes - at));
}

enum { COPIED = 32 }; /* bytes that pack_rows copies at once */

/* Copies rows of row_bytes bytes, which begin `pitch` bytes apart, side by side to `to`. Reads up
 * to COPIED bytes beyond a row, but none beyond the last row. */
static void pack_rows(char *to, const char *from, int64_t row_bytes, int64_t pitch, int64_t rows)
{
    /* A copy may write over the beginning of the rows after its own, which are copied later. */
    const int64_t exact = COPIED / row_bytes + 1;
    for (; rows > exact; rows--, to += row_bytes, from += pitch)
        for (int64_t at = 0; at < row_bytes; at += COPIED) memcpy(to + at, from + at, COPIED);
    for (; rows > 0; rows--, to += row_bytes, from += pitch) memcpy(to, from, (size_t)row_bytes);
}

void tl_lanes_store_dense(const tl_lanes_buffers *buffers, const tl_lanes_to *to, char *out,
                          const char *r, int64_t count)
{
    const tl_plan *plan = buffers->job->plan;

    if (plan->out)
        tl_narrow_results(plan, out, r, count, to->stream);
    else if (to->stream)
        tl_stream_bytes(out, r, count * plan->op->result_bytes);
    else
        memcpy(out, r, (size_t)(count * plan->op->result_bytes));
}

/* Stores the lines of a row of `width` results (tl_lanes_to). */
static void store_lines(const tl_lanes_to *to, char *out, const char *r, int64_t width,
                        int64_t bytes)
{
    const int64_t strip_bytes = to->lines * bytes,
                  begin = to->first ? 0 : (int64_t)(-(uintptr_t)out & 63),
                  end = strip_bytes +
                        (to->lines < width ? (int64_t)(-(uintptr_t)(out + strip_bytes) & 63) : 0),
                  at = tl_copy_lines(out, r, begin, end, to->stream);
    memcpy(out + at, r + at, (size_t)(end - at));
}

/* Lane c is a sequence of its own: stores n[c] results at q[c]. */
static void store_sequences(const tl_lanes_buffers *buffers, const tl_lanes_to *to,
                            const tl_matrix *results, int64_t i, int64_t rows)
{
    char *q[TL_LANES_STRIP];
    int64_t n[TL_LANES_STRIP];
    const int part = rows < to->most;
    for (int64_t c = 0; c < results->lanes && part; c++) {
        q[c] = to->q[c] + i * buffers->result;
        n[c] = tl_min(to->n[c] - i, rows);
    }

    const tl_targets targets = {.list = part ? q : to->q, .n = part ? n : to->n};
    buffers->job->plan->transpose->from_lanes(&targets, results, rows);
}

void tl_lanes_store(tl_lanes_buffers *buffers, const tl_lanes_to *to, const tl_matrix *results,
                    int64_t i, int64_t rows)
{
    const tl_plan *plan = buffers->job->plan;
    const int64_t width = results->lanes, pitch = results->stride, bytes = buffers->result,
                  final = plan->op->result_bytes;

    if (to->direct) return; /* `lower` wrote them there */
    if (to->q) {
        store_sequences(buffers, to, results, i, rows);
        return;
    }

    if (to->pitch) { /* so it is here, with sequences of equal length */
        plan->transpose->from_lanes(&(tl_targets){.first = to->out + i * bytes, .pitch = to->pitch},
                                    results, rows);
        return;
    }

    /* columns: the padding is removed, results are converted, then they go to their strides */
    char *r = results->t, *other = buffers->narrow, *out = to->out + i * to->step * final;
    if (to->lines) {
        for (int64_t j = 0; j < rows; j++)
            store_lines(to, out + j * to->step * final, r + j * pitch * final, width, final);
        return;
    }

    const int dense = to->col_step == 1 && to->step == width;
    if (width != pitch && dense && !plan->out && !to->stream) {
        pack_rows(out, r, width * bytes, pitch * bytes, rows);
        return;
    }

    if (width != pitch && (dense || plan->out)) {
        pack_rows(other, r, width * bytes, pitch * bytes, rows);
        r = buffers->narrow;
        other = buffers->r;
    }

    if (dense) {
        tl_lanes_store_dense(buffers, to, out, r, rows * width);
        return;
    }

    if (plan->out) {
        plan->out->apply(plan->out, other, r, rows * width * plan->op->lanes);
        r = other;
    }

    const int64_t row = (plan->out ? width : pitch) * final;
    for (int64_t j = 0; j < rows; j++, r += row)
        if (to->col_step == 1 && width < TL_ABREAST)
            copy_small(out + j * to->step * final, r, width, final);
        else
            tl_copy_strided(out + j * to->step * final, to->col_step, r, 1, width, final);
}

/* ---- narrow elements ---- */

static tl_narrow_strip strip_of(const tl_lanes_from *from, int64_t row, int64_t rows, int64_t bytes)
{
    return (tl_narrow_strip){.x = from->x + row * from->step * bytes,
                             .step = from->step,
                             .rows = rows,
                             .width = from->width};
}

void tl_narrow_rows(const tl_lanes_job *job, const tl_lanes_from *from, const tl_lanes_to *to,
                    int64_t at, int64_t m, void *acc)
{
    const int64_t bytes = job->plan->op->elem_bytes, sign = job->reverse ? -1 : 1,
                  row = job->reverse ? job->in->n - 1 - at : at;
    tl_narrow_strip s = strip_of(from, row, m, bytes);
    s.step *= sign;
    if (to) {
        s.out = to->out + row * to->step * bytes;
        s.out_step = sign * to->step;
    }
    job->plan->narrow->columns(&s, acc, job->exclusive, job->plan->keys);
}

void tl_narrow_windows(const tl_lanes_job *job, const tl_lanes_from *from, const tl_lanes_to *to,
                       int64_t at, int64_t windows)
{
    _Alignas(64) char rows[TL_NARROW_ROWS];
    const int64_t bytes = job->plan->op->elem_bytes;
    tl_narrow_strip s = strip_of(from, at, windows, bytes);
    s.out = to->out + (at + (job->valid ? 0 : job->before)) * to->step * bytes;
    s.out_step = to->step;
    job->plan->narrow->column_windows(&s, job->w, rows, job->plan->keys);
}

void tl_narrow_scan_rows(const tl_plan *plan, const tally_view *in, const tally_view *out,
                         const tally_scan_options *o, int64_t r, int64_t end)
{
    const int64_t bytes = plan->op->elem_bytes;
    int64_t n, m;

    if (r >= end) return;
    const char *x = tl_view_row(in, r, bytes, &n);
    char *y = tl_view_row(out, r, bytes, &m);
    tl_scan s;
    tl_scan_begin(&s, plan, o);
    if (in->offsets) x -= in->offsets[r] * bytes, y -= in->offsets[r] * bytes;
    const tl_dense_rows rows = {y,
                                x,
                                end - r,
                                in->n,
                                out->row_stride,
                                in->row_stride,
                                in->offsets ? in->offsets + r : NULL};
    plan->narrow->scan_rows(&rows, s.seeded ? tl_key_of(plan, &s.init) : 0, s.exclusive,
                            plan->keys);
}

/* SPDX-License-Identifier: MIT
 * The path of narrow.h: its plans, scans of rows, and rows of columns. */
#include "narrow/narrow.h"
#include "context/view.h"
#include "lanes.h"
#include "dtype/dtype_traits.h"

void tl_narrow_plan(tl_plan *plan, const tl_narrow *loops)
{
    const tl_scalar *op = plan->op;
    const int high = op->widen == TL_WIDEN_HIGH;

    if (!op->extreme || op->elem_bytes > 2 || op->state_bytes != op->elem_bytes ||
        op->out != op->dtype || op->lanes != 1 || plan->par.marked || plan->fold == plan->core ||
        !(high || op->widen == TL_WIDEN_LOW))
        return;

    const int floats = op->dtype == TALLY_F16 || op->dtype == TALLY_BF16,
              sign = floats || op->dtype == TALLY_I8 || op->dtype == TALLY_I16;
    const unsigned top = 1u << (8 * op->elem_bytes - 1), all = 2 * top - 1, up = sign ? top : 0;
    plan->keys = (tl_keying){.flip = (uint16_t)(op->extreme > 0 ? up : up ^ all)};

    if (floats) {
        const int half = op->dtype == TALLY_F16;
        plan->keys.inf = half ? 0x7c00 : 0x7f80;
        plan->keys.missing = half ? 0x7e00 : 0x7fc0;
        plan->keys.nan = (op->extreme > 0) == high ? 0xffff : 0;
    }

    plan->narrow = &loops[floats ? 2 : op->elem_bytes - 1];
}

/* ---- scans ---- */

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

/* ---- columns ---- */

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

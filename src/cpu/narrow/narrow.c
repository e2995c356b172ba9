/* SPDX-License-Identifier: MIT
 * The path of narrow.h: its plans, and scans of rows. */
#include "narrow.h"
#include "context/view.h"
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

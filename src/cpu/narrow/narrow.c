/* SPDX-License-Identifier: MIT
 * Decides which plans use the path of narrow.h, and sets their keys. */
#include "narrow.h"
#include "dtype/dtype.h"
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

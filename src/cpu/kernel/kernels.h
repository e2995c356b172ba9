/* SPDX-License-Identifier: MIT
 * The kernels of one instance for one instruction set, and their row. A type whose elements are
 * widened to another type (TL_FULL 0) has only the fast paths of exact operators. An operator that
 * only lowers the states of another one (OP_CORE) has only `lower`. */
#define TL_CLASS_X (!TL_SAME && (OP_EXTREME || OP_ADDS || OP_PICKS || OP_COMMUTES))
/* A reduction of its own for the moments of integers of one and two bytes. */
#define TL_MOMENTS \
    (OP_MOMENTS && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT && TL_REAL_SIZE == 8)
#if OP_EXTREME < 0
#define TL_BEST min
#else
#define TL_BEST max
#endif
#if TL_FULL || TL_CLASS_X || TL_MOMENTS
#include "vector.h"
#if TL_LOWERS
#include "lower_kernel.h"
#include "window_low_kernel.h"
#endif
#if !defined(OP_CORE) || TL_CLASS_X || TL_MOMENTS
#include "reduce_kernel.h"
#if TL_CLASS_X
#include "class_x_kernel.h"
#endif
#endif
#if !defined(OP_CORE) && TL_FULL
#define TL_RUNS (OP_EXACT && OP_NEUTRAL && TL_ONE_FIELD)
/* Scans write results without staging states only where that is fast enough to be worth the code:
 * sums, products, moments, averages. */
#define TL_SCAN_FULL (OP_LANES == 1 && (!TL_CLASS_X || TL_RUNS))
#include "scan_kernel.h"
#include "window_kernel.h"
#include "lanes_kernel.h"
#include "ranges_kernel.h"
#endif

static const tl_kernel W(row) = {
    .dtype = TL_DTYPE,
    .acc = TL_ACC_DTYPE,
    .wide = TL_TRAIT(2, TL_WIDE),
    .out = TL_OUT_DTYPE,
#if !defined(OP_CORE) || TL_CLASS_X || TL_MOMENTS
    .nodes = W(do_nodes),
    .fold = W(do_fold),
#if TL_SUMS_ROWS
    .fold_rows = W(do_fold_rows),
#endif
#endif
#if !defined(OP_CORE) && TL_FULL
    .direct = TL_SCAN_FULL,
#if TL_RUNS
    .scan_run = W(do_scan_run),
    .lead = TL_V - 1,
#else
    .scan_blocks = W(do_scan_blocks),
    .scan_part = W(do_scan_part),
    .scan_block = W(BLOCK),
    .shifts = W(SHIFTS),
#endif
    .stage = W(do_stage),
    .vector_lanes = TL_V,
    .vector_bytes = sizeof(VS),
    .window_vectors = W(VECTORS),
    .window_start = W(do_window_start),
    .window_feed = W(do_window_feed),
    .window_suffix = W(do_window_suffix),
    .lanes_fold = W(do_lanes_fold),
    .lanes_scan = W(do_lanes_scan),
    .lanes_window = W(do_lanes_window),
    .lanes_flat = W(do_lanes_flat),
    .lanes_put = W(do_lanes_put),
    .unstage = W(do_unstage),
    .ranges = W(do_ranges),
    .soa_bytes = sizeof(W(soa)),
#endif
#if TL_LOWERS
    .bare = TL_BARE,
    .flips = TL_FLIPS,
    .lower_rows = W(do_lower_rows),
    .window_lower = W(do_window_lower),
#endif
};
#else
#define W(name) TL_VE(k_##name)
static const tl_kernel W(row) = {.dtype = TL_DTYPE, .acc = TL_ACC_DTYPE};
#endif
#undef TL_CLASS_X
#undef TL_BEST
#undef TL_MOMENTS
#undef TL_RUNS
#undef TL_SCAN_FULL
#undef TL_ONE_FIELD
#undef TL_FLIPPED
#undef TL_RESULT
#undef TL_COUNT_FIELD
#undef TL_SUMS_ROWS
#undef SHUFFLER
#undef SS
#undef VS
#undef E
#undef W
#undef TL_LOG_G

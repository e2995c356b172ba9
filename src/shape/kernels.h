/* SPDX-License-Identifier: MIT
 * The kernels of one instance for one instruction set, and their row. An operator that only lowers another's states
 * (OP_CORE) compiles nothing but lower, one that does not know signs (OP_SIGNLESS) nothing for the signed types. */
#include "vector.h"
#if OP_SIGNLESS && TL_KIND == 1 && !TL_WITH_SCALAR
static const tl_kernel W(row) = {.dtype = TL_DTYPE, .acc = TL_ACC_DTYPE, .as_unsigned = 1};
#else
#include "lower_kernel.h"
#include "window_low_kernel.h"
#ifndef OP_CORE
#include "reduce_kernel.h"
#define TL_EXPRESS (OP_EXTREME || OP_ADDS || OP_PICKS || OP_COMMUTES)
#if TL_EXPRESS
#include "express_kernel.h"
#endif
/* Operators whose scans are worth code of their own: sums, products, moments, averages; the others are staged. */
#define TL_SCAN_FULL (OP_LANES == 1 && (!TL_EXPRESS || OP_ADDS))
#include "columns_kernel.h"
#include "scan_kernel.h"
#include "window_kernel.h"
#endif

static const tl_kernel W(row) = {
    .dtype = TL_DTYPE,
    .acc = TL_ACC_DTYPE,
#ifndef OP_CORE
#if TL_EXPRESS
    .nodes = W(do_express_nodes),
    .fold = W(do_express_fold),
#else
    .nodes = W(do_nodes),
    .fold = W(do_fold),
#endif
    .fold_columns = W(do_fold_columns),
    .scan_tile = W(do_scan_tile),
#if TL_SCAN_FULL
    .scan_full = W(do_scan_full),
#endif
    .stage = W(do_stage),
    .vector_lanes = TL_V,
    .vector_bytes = sizeof(VS),
    .window_vectors = W(VECTORS),
    .window_start = W(do_window_start),
    .window_feed = W(do_window_feed),
    .window_suffix = W(do_window_suffix),
#endif
    .lower_row = W(do_lower_row),
    .window_lower = W(do_window_lower),
};
#endif
#undef TL_EXPRESS
#undef TL_SCAN_FULL
#undef TL_WINDOW_WIDE
#undef TL_COUNT_FIELD
#undef SS
#undef VS
#undef E
#undef W
#undef TL_LOG_G

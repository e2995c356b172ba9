/* SPDX-License-Identifier: MIT
 * One instance: the operator text of TL_FILE for element type TL_DT and accumulator TL_ACC. The
 * text is compiled as scalar C. With TL_ISA set it is compiled again on vectors of TL_V lanes,
 * followed by the kernels of each shape. Names get the suffix _s_DT_ACC (scalar) or _v_DT_ACC
 * (vector), spelled TL_S(name) and TL_VE(name). There is no include guard: this file is included
 * once per instance. */
#define TL_INST       TL_CAT3(TL_CAT(d, TL_DT), TL_ACC, x)
#define TL_ELEM_T     TL_TRAIT(1, TL_DT)
#define TL_DTYPE      TL_TRAIT(2, TL_DT)
#define TL_SIZE       TL_TRAIT(3, TL_DT)
#define TL_KIND       TL_TRAIT(4, TL_DT)
#define TL_KIND_I     (TL_KIND == 1)
#define TL_KIND_F     (TL_KIND == 3)
#define TL_FORMAT     TL_TRAIT(5, TL_DT)
#define TL_ORD_T      TL_TRAIT(6, TL_DT)
#define TL_ORD_MAX    TL_TRAIT(7, TL_DT)
#define TL_ORD_MIN    TL_TRAIT(8, TL_DT)
#define TL_MISSING    TL_TRAIT(9, TL_DT)
#define TL_REAL_T     TL_ACC_TRAIT(1, TL_ACC)
#define TL_REAL_DTYPE TL_ACC_TRAIT(2, TL_ACC)
#define TL_REAL_SIZE  TL_ACC_TRAIT(3, TL_ACC)
#define TL_REAL_FLOAT TL_ACC_TRAIT(4, TL_ACC)

#if TL_OUT_SAME
#define TL_OUT_T     TL_ELEM_T
#define TL_OUT_DTYPE TL_DTYPE
#elif TL_OUT_IDX
#define TL_OUT_T     int64_t
#define TL_OUT_DTYPE TALLY_I64
#elif TL_OUT_BIT
#define TL_OUT_T     uint8_t
#define TL_OUT_DTYPE TALLY_U8
#elif TL_RULE_WIDE && TL_KIND == 1 && !TL_REAL_FLOAT
#define TL_OUT_T     int64_t
#define TL_OUT_DTYPE TALLY_I64
#else
#define TL_OUT_T     TL_REAL_T
#define TL_OUT_DTYPE TL_REAL_DTYPE
#endif

/* The wrapping accumulator has the name of the signed type. */
#if TL_RULE_WIDE && TL_KIND == 1 && !TL_REAL_FLOAT
#define TL_ACC_DTYPE TALLY_I64
#else
#define TL_ACC_DTYPE TL_REAL_DTYPE
#endif

/* Elements of 1 and 2 bytes get as many lanes as elements of 4. */
#define TL_NARROW    (TL_SIZE < 4 ? 4 : TL_SIZE)
#define TL_LANE_REAL TL_REAL_SIZE
#define TL_LANE_ORD  TL_NARROW
#define TL_LANE_ELEM TL_NARROW
#define TL_LANE_IDX  8
#define TL_LANE_WIDE 8
#define TL_LANE      (TL_COUNTED ? 8 : TL_PASTE(TL_LANE_, OP_LANE))

#define TL_S(name)    TL_CAT3(name, s, TL_INST)
#define TL_VE(name)   TL_CAT3(name, v, TL_INST)
#define REAL_IS_EXACT (!TL_REAL_FLOAT)

/* Scalar states are packed, because fragments write their bytes: no padding. */
#define FIELD(type, name) type name __attribute__((packed));
#define TL_VECTOR         0
#define TL_N(name)        TL_S(name)
#include "prelude_cpu.h"
#if TL_MASKED
#include "operator/masked.h"
#endif
#include TL_OP_TEXT
#if TL_MASKED
#include "operator/masked.h"
#endif
#include "prelude_cpu.h"
#include "operator/defaults.h"

#undef TL_VECTOR
#undef TL_N
/* Which kernels the instance has, from OP_WIDEN of its text: all kernels if other types are widened
 * to its elements (TL_FULL), else at most its own reduction. TL_WIDE: the element type
 * of its kernels. */
#define TL_WIDEN TL_PASTE(TL_WIDEN_, OP_WIDEN)
#if TL_WIDEN == TL_WIDEN_REAL || TL_WIDEN == TL_WIDEN_REAL_ONE
#define TL_WIDE TL_ACC
#elif TL_WIDEN == TL_WIDEN_WIDE
#define TL_WIDE TL_TRAIT(10, TL_DT)
#elif TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH
#define TL_WIDE TL_TRAIT(11, TL_DT)
#elif TL_WIDEN == TL_WIDEN_VALUE
#define TL_WIDE TL_TRAIT(12, TL_DT)
#elif TL_WIDEN == TL_WIDEN_BITS
#define TL_WIDE TL_TRAIT(13, TL_DT)
#elif TL_WIDEN == TL_WIDEN_NONZERO || TL_WIDEN == TL_WIDEN_NONZERO_LOW
#define TL_WIDE u32
#elif TL_WIDEN == TL_WIDEN_NUMBER
#define TL_WIDE f32
#elif TL_WIDEN == TL_WIDEN_DOUBLE
#define TL_WIDE f64
#else
#define TL_WIDE TL_DT
#endif

#if TL_WITH_SCALAR || (!TL_BORROWS && TL_TRAIT(14, TL_WIDE) == TL_TRAIT(14, TL_DT))
#define TL_FULL 1
#else
#define TL_FULL 0
#endif

/* 1: its elements have the same bytes as the wide type, so those kernels are used and nothing is
 * compiled. */
#if !TL_FULL && \
    (TL_WIDEN == TL_WIDEN_BITS ? TL_SIZE >= 4 \
                               : TL_WIDEN == TL_WIDEN_REAL && TL_SIZE == 8 && !TL_REAL_FLOAT)
#define TL_SAME 1
#else
#define TL_SAME 0
#endif

/* 1: the kernels also take unsigned integers, as keys with the sign bit flipped (tl_par). */
#if TL_FULL && TL_KIND == 1 && \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_VALUE)
#define TL_FLIPS 1
#else
#define TL_FLIPS 0
#endif

/* 1: an element, its state and its result have the same bytes. */
#if TL_FULL && OP_LANES == 1 && TL_OUT_SAME && \
    (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_BITS)
#define TL_BARE 1
#else
#define TL_BARE 0
#endif

/* 1: it has its own `lower`. Float keys that are their own states are converted to results in
 * registers. */
#if TL_FULL || \
    ((TL_OUT_SAME || defined(OP_ABSENT)) && \
     (TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH) && TL_KIND == 3 && TL_SIZE >= 4)
#define TL_LOWERS 1
#else
#define TL_LOWERS 0
#endif

/* 1: keys have another size or are biased, so a kernel's state has other bytes than the law's
 * (scalar.h). */
#if TL_WITH_SCALAR || TL_FULL
#define TL_CONVERTS_STATES 0
#elif TL_WIDEN == TL_WIDEN_LOW || TL_WIDEN == TL_WIDEN_HIGH || TL_WIDEN == TL_WIDEN_VALUE
#define TL_CONVERTS_STATES (TL_SIZE < 4 || TL_KIND == 2)
#elif TL_WIDEN == TL_WIDEN_BITS
#define TL_CONVERTS_STATES (TL_SIZE < 4)
#elif TL_WIDEN == TL_WIDEN_DOUBLE
#define TL_CONVERTS_STATES 1
#elif TL_WIDEN == TL_WIDEN_NONZERO || TL_WIDEN == TL_WIDEN_NONZERO_LOW
#define TL_CONVERTS_STATES (TL_SIZE != 4)
#else
#define TL_CONVERTS_STATES 0
#endif

#ifdef TL_ISA
/* ---- the kernels, and their row ----
 *
 * A type whose elements are widened to another type (TL_FULL 0) has only the fast paths of exact
 * operators. An operator that only lowers the states of another one (OP_CORE) has only `lower`. */
#define TL_CLASS_X (!TL_SAME && (OP_EXTREME || OP_ADDS || OP_PICKS || OP_COMMUTES))
/* A reduction of its own for the moments of integers of one and two bytes. */
#ifdef OP_CORE
#define TL_MOMENTS 0
#else
#define TL_MOMENTS \
    (OP_MOMENTS && !OP_MASKED && TL_KIND != 3 && TL_SIZE <= 2 && TL_REAL_FLOAT && TL_REAL_SIZE == 8)
#endif
#if OP_EXTREME < 0
#define TL_BEST min
#else
#define TL_BEST max
#endif
#if TL_FULL || TL_CLASS_X || TL_MOMENTS
#if TL_VECTOR_BYTES / TL_LANE == 2
#define TL_V     2
#define TL_LOG_V 1
#elif (TL_VECTOR_BYTES / TL_LANE) == 4
#define TL_V     4
#define TL_LOG_V 2
#elif (TL_VECTOR_BYTES / TL_LANE) == 8
#define TL_V     8
#define TL_LOG_V 3
#else
#define TL_V     16
#define TL_LOG_V 4
#endif
#if TL_LANE == 8
#define TL_G 2
#else
#define TL_G 4
#endif
#undef FIELD
#define FIELD(type, name) type name;
#define TL_VECTOR         1
#define TL_N(name)        TL_VE(name)
#include "prelude_cpu.h"
#if TL_MASKED
#include "operator/masked.h"
#endif
#include TL_OP_TEXT
#if TL_MASKED
#include "operator/masked.h"
#endif
#include "prelude_cpu.h"
#include "operator/defaults.h"

#undef TL_VECTOR
#undef TL_N

#include "vector.h"

/* Windows of float sums and their like are lowered as they are made. */
#define TL_SUMS_FLOATS (!TL_COMPACT && TL_FULL && !(OP_EXACT) && TL_ONE_FIELD && OP_LANES == 1)
#if TL_LOWERS
#include "lower_kernel.h"
#include "window_low_kernel.h"
#endif
#if TL_SUMS_FLOATS || (TL_FULL && !defined(OP_CORE))
#include "window_ladder_kernel.h"
#endif
#if !defined(OP_CORE) || TL_CLASS_X
#include "reduce_kernel.h"
#if TL_CLASS_X
#include "class_x_kernel.h"
#endif
#endif
#define TL_RUNS (OP_EXACT && OP_NEUTRAL && TL_ONE_FIELD)
/* Running scans of float keys have kernels of their own, which convert in registers. */
#define TL_KEY_RUNS (!TL_COMPACT && !TL_FULL && TL_LOWERS && OP_EXTREME && TL_RUNS)
/* Scans write results without staging states only where that is fast enough to be worth the code:
 * sums, products, moments, averages. */
#define TL_SCAN_FULL (!TL_COMPACT && OP_LANES == 1 && (!TL_CLASS_X || TL_RUNS))
#if (!defined(OP_CORE) && TL_FULL) || TL_KEY_RUNS
#include "scan_kernel.h"
#endif
#if !defined(OP_CORE) && TL_FULL
/* lanes_flat does not know the index of an element. */
#define TL_FLAT (!TL_COMPACT && !TL_IS_INDEX && OP_LANES == 1)
/* fold_short fills lanes with neutral states, and does not know indices and sizes. */
#define TL_IN_ORDER \
    (!TL_COMPACT && !TL_IS_INDEX && OP_NEUTRAL && !OP_SIZES && !OP_TWIN && TL_ONE_FIELD && \
     OP_INPUTS != 2)
#define TL_SCAN_SHORT (TL_SCAN_FULL && !TL_IS_INDEX && !OP_COUNTS && TL_ONE_FIELD && OP_INPUTS != 2)
#include "window_kernel.h"
#include "lanes_kernel.h"
#include "ranges_kernel.h"
#endif

static const tl_kernel W(row) = {
    .dtype = TL_DTYPE,
    .acc = TL_ACC_DTYPE,
    .wide = TL_TRAIT(2, TL_WIDE),
    .out = TL_OUT_DTYPE,
#if !defined(OP_CORE) || TL_CLASS_X
    .fold = W(do_fold),
#if TL_SUMS_ROWS
    .fold_rows = W(do_fold_rows),
#endif
#endif
#if (!defined(OP_CORE) && TL_FULL) || TL_KEY_RUNS
    .direct = TL_SCAN_FULL,
    .stage = W(do_stage),
#if TL_RUNS
    .scan_run = W(do_scan_run),
    .offset = TL_V - 1,
#endif
#endif
#if !defined(OP_CORE) && TL_FULL
#if !TL_RUNS
    .scan_blocks = W(do_scan_blocks),
    .scan_part = W(do_scan_part),
    .scan_block = W(BLOCK),
    .shifts = W(SHIFTS),
#endif
    .vector_lanes = TL_V,
    .vector_bytes = sizeof(VS),
    .window_vectors = W(VECTORS),
#if OP_INVERSE
    .window_start = W(do_window_start),
#endif
    .window_feed = W(do_window_feed),
    .window_suffix = W(do_window_suffix),
    .lanes_fold = W(do_lanes_fold),
    .lanes_scan = W(do_lanes_scan),
    .lanes_window = W(do_lanes_window),
#if TL_FLAT
    .lanes_flat = W(do_lanes_flat),
#endif
    .lanes_put = W(do_lanes_put),
#if TL_IN_ORDER
    .fold_short = W(do_fold_short),
#endif
#if TL_SCAN_SHORT
    .scan_short = W(do_scan_short),
#endif
    .unstage = W(do_unstage),
    .ranges = W(do_ranges),
    .soa_bytes = sizeof(W(soa)),
#endif
#if TL_LOWERS
    .bare = TL_BARE,
    .flips = TL_FLIPS,
    .lower_rows = W(do_lower_rows),
    .window_lower = W(do_window_lower),
#if TL_SUMS_FLOATS
    .window_run = W(do_window_run),
#endif
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
#undef TL_KEY_RUNS
#undef TL_SCAN_FULL
#undef TL_ONE_FIELD
#undef TL_SUMS_FLOATS
#undef TL_FLAT
#undef TL_IN_ORDER
#undef TL_SCAN_SHORT
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
#undef TL_V
#undef TL_LOG_V
#undef TL_G
#endif

/* A user's operator is one instance with both (cpu/instances.c). */
#if !defined(TL_ISA) || TL_WITH_SCALAR
#include "scalar.h"
#endif

/* The facts of the text, for the next instance. */
#undef OP_CORE
#undef OP_INPUTS
#undef OP_BLANK
#undef OP_LANE
#undef OP_EXACT
#undef OP_WIDEN
#undef OP_IDEMPOTENT
#undef OP_INVERSE
#undef OP_LANES
#undef OP_STATE
#undef OP_NEUTRAL
#undef OP_SEED
#undef OP_MASKED
#undef OP_TWIN
#undef OP_MOMENTS
#undef OP_SIZES
#undef OP_EXTREME
#undef OP_FLOATS
#undef OP_ADDS
#undef OP_PICKS
#undef OP_COMMUTES
#undef OP_FIELDS
#undef OP_COUNTS
#undef OP_ABSENT
#undef OP_NAN_CORE
#undef OP_NAN_WIDEN
#undef TL_COUNTED
#undef TL_BORROWS

/* What has another value there; all else is defined by the same words again. */
#undef TL_WIDEN
#undef TL_WIDE
#undef TL_FULL
#undef TL_SAME
#undef TL_LOWERS
#undef TL_BARE
#undef TL_FLIPS
#undef TL_CONVERTS_STATES
#undef TL_DT
#undef TL_OUT_T
#undef TL_OUT_DTYPE
#undef TL_ACC_DTYPE
#undef FIELD

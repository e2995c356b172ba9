/* SPDX-License-Identifier: MIT
 * One instance: the operator text of TL_FILE for element type TL_DT and accumulator TL_ACC. The
 * text is compiled as scalar C. With TL_ISA set it is compiled again on vectors of TL_V lanes,
 * followed by the kernels of each shape. Names get the suffix _s_DT_ACC (scalar) or _v_DT_ACC
 * (vector), spelled TL_S(name) and TL_VE(name). There is no include guard: this file is included
 * once per instance. */
#define TL_INST       TL_CAT3(TL_CAT(d, TL_DT), TL_ACC, x)
#define TL_ELEM_T     TL_COLUMN(1, TL_DT)
#define TL_DTYPE      TL_COLUMN(2, TL_DT)
#define TL_SIZE       TL_COLUMN(3, TL_DT)
#define TL_KIND       TL_COLUMN(4, TL_DT)
#define TL_KIND_I     (TL_KIND == 1)
#define TL_KIND_F     (TL_KIND == 3)
#define TL_FORMAT     TL_COLUMN(5, TL_DT)
#define TL_ORD_T      TL_COLUMN(6, TL_DT)
#define TL_ORD_MAX    TL_COLUMN(7, TL_DT)
#define TL_ORD_MIN    TL_COLUMN(8, TL_DT)
#define TL_MISSING    TL_COLUMN(9, TL_DT)
#define TL_REAL_T     TL_ACC_COLUMN(1, TL_ACC)
#define TL_REAL_DTYPE TL_ACC_COLUMN(2, TL_ACC)
#define TL_REAL_SIZE  TL_ACC_COLUMN(3, TL_ACC)
#define TL_REAL_FLOAT TL_ACC_COLUMN(4, TL_ACC)

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
#include "prelude_cpu_end.h"
#include "operator/defaults.h"

#undef TL_VECTOR
#undef TL_N
#include "wide.h"

#ifdef TL_ISA
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
#include "prelude_cpu_end.h"
#include "operator/defaults.h"

#undef TL_VECTOR
#undef TL_N
#include "kernels.h"

#undef TL_V
#undef TL_LOG_V
#undef TL_G
#endif

/* A user's operator is one instance with both (cpu/user/operator_user.c). */
#if !defined(TL_ISA) || TL_WITH_SCALAR
#include "scalar.h"
#endif

#include "undefine.h"

#undef TL_WIDEN
#undef TL_WIDE
#undef TL_FULL
#undef TL_SAME
#undef TL_LOWERS
#undef TL_BARE
#undef TL_FLIPS
#undef TL_CONVERTS_STATES
#undef TL_DT
#undef TL_INST
#undef TL_ELEM_T
#undef TL_DTYPE
#undef TL_SIZE
#undef TL_KIND
#undef TL_KIND_I
#undef TL_KIND_F
#undef TL_FORMAT
#undef TL_ORD_T
#undef TL_ORD_MAX
#undef TL_ORD_MIN
#undef TL_MISSING
#undef TL_REAL_T
#undef TL_REAL_DTYPE
#undef TL_REAL_SIZE
#undef TL_REAL_FLOAT
#undef TL_OUT_T
#undef TL_OUT_DTYPE
#undef TL_ACC_DTYPE
#undef TL_NARROW
#undef TL_LANE_REAL
#undef TL_LANE_ORD
#undef TL_LANE_ELEM
#undef TL_LANE_IDX
#undef TL_LANE_WIDE
#undef TL_LANE
#undef TL_S
#undef TL_VE
#undef REAL_IS_EXACT
#undef FIELD

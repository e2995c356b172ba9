/* SPDX-License-Identifier: MIT
 * Every (element type, accumulator) of the operator in TL_FILE, one cpu/kernel/instance.h for each.
 * The build passes, from the operator's row in op/ops.def: TL_KINDS_I, _U, _F (0 or 1),
 * TL_RULE_WIDE, _REAL, _F64 or _NONE (the accumulator), and TL_OUT_ACC, _SAME, _IDX or _BIT. */
#if TL_RULE_WIDE
#define TL_INT_ACC u64
#elif TL_RULE_NONE
#define TL_INT_ACC none
#else
#define TL_INT_ACC f64
#endif
#if TL_RULE_NONE
#define TL_FLOAT_ACC  none
#define TL_DOUBLE_ACC none
#elif TL_RULE_F64
#define TL_FLOAT_ACC  f64
#define TL_DOUBLE_ACC f64
#else
#define TL_FLOAT_ACC        f32
#define TL_DOUBLE_ACC       f64
#define TL_FLOAT_ON_REQUEST 1
#endif

#if TL_KINDS_I
#define TL_ACC TL_INT_ACC
#define TL_DT  i8
#include "instance.h"

#define TL_DT i16
#include "instance.h"

#define TL_DT i32
#include "instance.h"

#define TL_DT i64
#include "instance.h"

#undef TL_ACC
#endif
#if TL_KINDS_U
#define TL_ACC TL_INT_ACC
#define TL_DT  u8
#include "instance.h"

#define TL_DT u16
#include "instance.h"

#define TL_DT u32
#include "instance.h"

#define TL_DT u64
#include "instance.h"

#undef TL_ACC
#endif
#if TL_KINDS_F
#define TL_ACC TL_FLOAT_ACC
#define TL_DT  f16
#include "instance.h"

#define TL_DT bf16
#include "instance.h"

#define TL_DT f32
#include "instance.h"

#undef TL_ACC
#define TL_ACC TL_DOUBLE_ACC
#define TL_DT  f64
#include "instance.h"

#undef TL_ACC
#if TL_FLOAT_ON_REQUEST
#define TL_ACC f64
#define TL_DT  f16
#include "instance.h"

#define TL_DT bf16
#include "instance.h"

#define TL_DT f32
#include "instance.h"

#undef TL_ACC
#endif
#endif

/* TL_EACH(F): F(element type, accumulator) for every instance above. */
#if TL_KINDS_I
#define TL_EACH_I(F) F(i8, TL_INT_ACC) F(i16, TL_INT_ACC) F(i32, TL_INT_ACC) F(i64, TL_INT_ACC)
#else
#define TL_EACH_I(F)
#endif
#if TL_KINDS_U
#define TL_EACH_U(F) F(u8, TL_INT_ACC) F(u16, TL_INT_ACC) F(u32, TL_INT_ACC) F(u64, TL_INT_ACC)
#else
#define TL_EACH_U(F)
#endif
#if TL_KINDS_F
#define TL_EACH_F(F) \
    F(f16, TL_FLOAT_ACC) F(bf16, TL_FLOAT_ACC) F(f32, TL_FLOAT_ACC) F(f64, TL_DOUBLE_ACC)
#else
#define TL_EACH_F(F)
#endif
#if TL_KINDS_F && TL_FLOAT_ON_REQUEST
#define TL_EACH_W(F) F(f16, f64) F(bf16, f64) F(f32, f64)
#else
#define TL_EACH_W(F)
#endif
#define TL_EACH(F) TL_EACH_I(F) TL_EACH_U(F) TL_EACH_F(F) TL_EACH_W(F)

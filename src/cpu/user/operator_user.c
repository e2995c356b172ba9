/* SPDX-License-Identifier: MIT
 * Compiled at run time for each instance of a user's operator (user.c): the scalar row and the
 * kernels of one element type (TL_DT), accumulator (TL_ACC) and instruction set. user_text.h is the
 * user's text. */
#include "operator/kernel.h"
#include "law/order.h"
#include "dtype/dtype_traits.h"
#include "cpu/kernel/simd.h"
#ifdef __FAST_MATH__
#error "-ffast-math would change the bits of every result"
#endif
#define TL_OP_TEXT        "user_text.h"
#define TL_WITH_SCALAR    1
#define TL_IS_INDEX       1
#define TL_ROW(kind, row) TL_CAT3(row, kind, TL_CAT3(TL_CAT(d, TL_USER_DT), TL_USER_ACC, x))
#define TL_DT             TL_USER_DT
#define TL_ACC            TL_USER_ACC
#include "cpu/kernel/instance.h"

__attribute__((visibility("default"))) const tl_scalar *const tl_user_scalar = &TL_ROW(s, row);
__attribute__((visibility("default"))) const tl_kernel *const tl_user_kernel = &TL_ROW(v, k_row);

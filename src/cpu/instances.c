/* SPDX-License-Identifier: MIT
 * Compiled once per operator file: its scalar instances, as tl_scalars_<file>[]; once per operator
 * file and instruction set: its kernels, as tl_kernels_<file>_<isa>[] (both end with NULL); and
 * once per instruction set: the kernels of every operator file, as tl_kernels_<isa>[].
 *
 * Compiled at run time for each instance of a user's operator (user/user.c): the scalar row and the
 * kernels of one element type (TL_USER_DT), accumulator and instruction set. user_text.h is the
 * user's text. */
#include "operator/kernel.h"
#include "dtype/dtype_traits.h"
#ifdef TL_FILE
#ifdef TL_ISA
#include "law/order.h"
#include "cpu/kernel/simd.h"
#ifdef __FAST_MATH__
#error "-ffast-math would change the bits of every result"
#endif
#endif

#ifdef TL_USER_DT
#define TL_OP_TEXT        "user_text.h"
#define TL_WITH_SCALAR    1
#define TL_IS_INDEX       1
#define TL_ROW(kind, row) TL_CAT3(row, kind, TL_CAT3(TL_CAT(d, TL_USER_DT), TL_USER_ACC, x))
#define TL_DT             TL_USER_DT
#define TL_ACC            TL_USER_ACC
#include "cpu/kernel/instance.h"

__attribute__((visibility("default"))) const tl_scalar *const tl_user_scalar = &TL_ROW(s, row);
__attribute__((visibility("default"))) const tl_kernel *const tl_user_kernel = &TL_ROW(v, k_row);

#else
/* A path, which clang-format would take for a division: */
/* clang-format off */
#define TL_OP_TEXT TL_STRING(op/TL_TEXT.h)
/* clang-format on */

#if TL_OUT_IDX
#define TL_IS_INDEX 1
#else
#define TL_IS_INDEX 0
#endif
#ifdef TL_ISA
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(k_row, v, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_kernel *const TL_CAT3(tl_kernels, TL_FILE, TL_ISA)[] = {TL_EACH(ROW) NULL};

#else
#include <string.h>
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(row, s, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_scalar *const TL_CAT(tl_scalars_, TL_FILE)[] = {TL_EACH(ROW) NULL};
#endif
#endif

#else
#define FORM(name, file, ...) extern const tl_kernel *const TL_CAT3(tl_kernels, file, TL_ISA)[];
#include "op/forms.def"

#undef FORM

const tl_kernel_table TL_CAT(tl_kernels_, TL_ISA)[] = {
#define FORM(name, file, ...) {#file, TL_CAT3(tl_kernels, file, TL_ISA)},
#include "op/forms.def"
    {0, 0}};
#endif

/* SPDX-License-Identifier: MIT
 * Compiled once per operator file: its scalar instances, as tl_scalars_<file>[]; once per operator
 * file and instruction set: its kernels, as tl_kernels_<file>_<isa>[] (both end with NULL); and
 * once per instruction set: the kernels of every operator file, as tl_kernels_<isa>[]. */
#include "operator/kernel.h"
#include "dtype/dtype_traits.h"
#ifdef TL_FILE
/* A path, which clang-format would take for a division: */
/* clang-format off */
#define TL_OP_TEXT TL_STRING(op/TL_TEXT.h)
/* clang-format on */

#ifdef TL_ISA
#include "law/order.h"
#include "cpu/kernel/simd.h"
#ifdef __FAST_MATH__
#error "-ffast-math would change the bits of every result"
#endif
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(k_row, v, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_kernel *const TL_CAT3(tl_kernels, TL_FILE, TL_ISA)[] = {TL_EACH(ROW) NULL};

#else
#include <string.h>
#if TL_OUT_IDX
#define TL_IS_INDEX 1
#else
#define TL_IS_INDEX 0
#endif
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(row, s, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_scalar *const TL_CAT(tl_scalars_, TL_FILE)[] = {TL_EACH(ROW) NULL};
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

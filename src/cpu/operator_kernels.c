/* SPDX-License-Identifier: MIT
 * Compiled once per operator file and instruction set: its kernels, as
 * tl_kernels_<file>_<isa>[], ended by NULL. */
#include "operator/kernel.h"
#include "law/order.h"
#include "dtype/dtype_traits.h"
#include "cpu/kernel/simd.h"
#ifdef __FAST_MATH__
#error "-ffast-math would change the bits of every result"
#endif

/* A path, which clang-format would take for a division: */
/* clang-format off */
#define TL_OP_TEXT TL_STRING(op/TL_TEXT.h)
/* clang-format on */
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(k_row, v, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_kernel *const TL_CAT3(tl_kernels, TL_FILE, TL_ISA)[] = {TL_EACH(ROW) NULL};

/* SPDX-License-Identifier: MIT
 * Compiled once per operator file: its scalar instances, as tl_scalars_<file>[], ended by NULL. */
#include "operator/kernel.h"
#include "dtype/dtype_traits.h"
#include <string.h>
#if TL_OUT_IDX
#define TL_IS_INDEX 1
#else
#define TL_IS_INDEX 0
#endif

/* OP_ macros that a file leaves out count as 0. */
/* A path, not a division: */
/* clang-format off */
#define TL_OP_TEXT TL_STRING(op/TL_TEXT.h)
/* clang-format on */
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(row, s, TL_CAT3(TL_CAT(d, dt), acc, x)),
const tl_scalar *const TL_CAT(tl_scalars_, TL_FILE)[] = {TL_EACH(ROW) NULL};

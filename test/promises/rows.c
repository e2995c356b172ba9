/* SPDX-License-Identifier: MIT
 * Compiled once per operator file, as cpu/instances.c is: the promises of its instances,
 * as promises_<file>[], ended by NULL. TL_PROMISE_TEXT: where the text is, seen from here. */
#include "operator/kernel.h"
#include "dtype/dtype_traits.h"
#include "cpu/kernel/keys.h"
#include "cpu/kernel/simd.h"
#include "promise.h"
#define TL_IS_INDEX 1
#if TL_MASKED /* text.h puts operator/masked.h around the text, and its own lines behind both */
#undef TL_MASKED
#define TL_PROMISE_MASKED 1
#endif
#define TL_OP_TEXT "promises/text.h"
#include "cpu/kernel/instances.h"

#define ROW(dt, acc) &TL_CAT3(promise_row, s, TL_CAT3(TL_CAT(d, dt), acc, x)),
const promise *const TL_CAT(promises_, TL_FILE)[] = {TL_EACH(ROW) NULL};

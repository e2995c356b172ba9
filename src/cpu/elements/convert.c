/* SPDX-License-Identifier: MIT
 * Compiled once per instruction set: the conversions of convert.def as tl_converts_<isa>[]; the
 * last has apply NULL. Plain loops over elements of any alignment, which compilers vectorise. */
#include "dtype/dtype_traits.h"
#include "operator/kernel.h"
#include "cpu/kernel/keys.h"

#define ANY(dt) TL_COLUMN(1, dt) __attribute__((aligned(1), may_alias))
#define CONVERT(kind, from, to, value)                                                             \
    static void TL_CAT4(convert, kind, from, to)(const tl_convert *c, void *y, const void *data,   \
                                                 int64_t n)                                        \
    {                                                                                              \
        typedef ANY(from) source;                                                                  \
        typedef ANY(to) target;                                                                    \
        const source *restrict e = data;                                                           \
        target *restrict r = y;                                                                    \
        (void)c;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            TL_COLUMN(1, from) x = e[i];                                                           \
            r[i] = (TL_COLUMN(1, to))(value);                                                      \
        }                                                                                          \
    }
#include "convert.def"

#undef CONVERT

#define CONVERT(kind, from, to, value)                                                             \
    {TL_WIDEN_##kind,                                                                              \
     TL_COLUMN(2, from),                                                                           \
     TL_COLUMN(2, to),                                                                             \
     TL_COLUMN(3, from),                                                                           \
     TL_COLUMN(3, to),                                                                             \
     TL_CAT4(convert, kind, from, to),                                                             \
     NULL},

const tl_convert TL_CAT(tl_converts_, TL_ISA)[] = {
#include "convert.def"
    {0}};

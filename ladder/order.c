/* SPDX-License-Identifier: MIT
 * The documented orders of the reductions, as plain loops over plain C types: what the bits of a
 * float are compared with. Written from the heads of the rungs, not from their kernels.
 *
 *   LEFT         ((x0 . x1) . x2) ...
 *   HALVES       x[i] . x[i + n/2], again and again; tails apart
 *   EIGHTHS      eight strided elements from the left; tails
 *   NEIGHBOURS   a tile: (0 . 1) . (2 . 3) ..., then on the results
 *   DISTANT      a tile: 0 . half, 1 . half + 1, ...
 *   STRIDES      each thread strides, then DISTANT; then from the left
 *   WARPS        strides; DISTANT in warps; warps from the left
 *   QUADS        as WARPS, four neighbours at a time: (x . y) . (z . w)
 *   BLOCKS       tiles of 4 elements for each thread, tile after tile; what is left as STRIDES;
 *                then as STRIDES
 *   LAST         as QUADS, but DISTANT in the group, and once more over the groups
 *   LAW          doc/order.md: the binary counter */
#include "rung.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define T           int8_t
#define WORK        uint8_t
#define NAME(x)     JOIN(x, _i8)
#include "order_text.h"
#define T       uint8_t
#define WORK    uint8_t
#define NAME(x) JOIN(x, _u8)
#include "order_text.h"
#define T       int32_t
#define WORK    uint32_t
#define NAME(x) JOIN(x, _i32)
#include "order_text.h"
#define T       uint32_t
#define WORK    uint32_t
#define NAME(x) JOIN(x, _u32)
#include "order_text.h"
#define T       int64_t
#define WORK    uint64_t
#define NAME(x) JOIN(x, _i64)
#include "order_text.h"
#define T       uint64_t
#define WORK    uint64_t
#define NAME(x) JOIN(x, _u64)
#include "order_text.h"
#define T       float
#define WORK    float
#define NAME(x) JOIN(x, _f32)
#include "order_text.h"
#define T       double
#define WORK    double
#define NAME(x) JOIN(x, _f64)
#include "order_text.h"

element order_reduce(kind k, const order_setting *s, const void *x, int64_t n)
{
    element e = {0};
    double bound;
    const element none = known_result(k, 0, s->operation, 0, &bound);
    char neutral[8], result[8];
    data_put(neutral, k, 0, none);
    if (!n) return none;
    switch (k) {
#define CASE(K, t) \
    case K: \
        order_##t(s, x, n, neutral, result); \
        break;
        CASE(KIND_I8, i8)
        CASE(KIND_U8, u8)
        CASE(KIND_I32, i32)
        CASE(KIND_U32, u32)
        CASE(KIND_I64, i64)
        CASE(KIND_U64, u64)
        CASE(KIND_F32, f32)
        CASE(KIND_F64, f64)
    default:
        return e;
    }
    return data_get(result, k, 0);
}

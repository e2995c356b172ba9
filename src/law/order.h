/* SPDX-License-Identifier: MIT
 * Order E, v1: the one evaluation order of tally, as index arithmetic. The law in words:
 * doc/order.md.
 *
 *   n = 13 = 8 + 4 + 1                          S(13) = ((B8 . B4) . B1)
 *
 *   x0 x1 x2 x3 x4 x5 x6 x7 | x8 x9 xa xb | xc
 *    \ /   \ /   \ /   \ /     \ /   \ /     |    node(p,1)
 *      \   /       \   /         \   /       |    node(p,2)
 *         \         /              |         |    node(p,3)
 *             B8                   B4        B1
 *
 *   node(p,0) = lift(x[p])                node(p,k) = C(node(p,k-1), node(p+2^(k-1),k-1))
 *   S(0)      = init or ABSENT            S(m)      = C(S(parent(m)), node(parent(m), level(m)))
 *
 * Every shape takes the order from the functions below only.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#define TL_ORDER_VERSION 1

/* A length is a signed 64-bit count below 2^62, so a binary counter never holds more than this
 * many nodes (one per level), plus the init that S(0) may be. */
enum { TL_MAX_LEVELS = 64 };

/* m without its last block: the prefix that S(m) extends. m > 0. */
static inline int64_t tl_parent(int64_t m) { return m & (m - 1); }

/* The level of the last block of m: it holds 2^level elements. m > 0. */
static inline int tl_level(int64_t m) { return __builtin_ctzll((unsigned long long)m); }

/* The level of the first (largest) block of m. m > 0. */
static inline int tl_top_level(int64_t m)
{
    assert(m > 0);
    return 63 - __builtin_clzll((unsigned long long)m);
}

/* The level of the largest aligned node that starts at a and ends at or before b: the step by
 * which a slab [a, b) is cut into maximal aligned nodes. a < b. */
static inline int tl_slab_level(int64_t a, int64_t b)
{
    int fits = tl_top_level(b - a);
    return a == 0 || tl_level(a) > fits ? fits : tl_level(a);
}

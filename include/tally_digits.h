/* SPDX-License-Identifier: MIT
 *
 * tally_digits.h - exact sums of rows: of values that come one at a time and are taken back, in
 * groups of a database, frames that slide, events; and the statistics that are quotients of such
 * sums, rounded once. doc/exact.md has the rules, sql/ is built on it.
 */
#ifndef TALLY_DIGITS_H
#define TALLY_DIGITS_H

#include "tally.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An exact sum (tally_exact, section 12 of tally.h) one value at a time and in little memory. It
 * lies in the caller's memory with its digits behind it, as many as its values need: about 100
 * bytes where exponents are close, at most 1.2 KB. It is plain data without pointers: memcpy and
 * realloc move it. tally_digits_bytes(room) bytes of 0 with `room` set are the sum of nothing. */
typedef struct tally_digits {
    int64_t count, nan, plus, minus; /* values: all, NaN, +inf, -inf */
    /* int64_t digit[used] follow, of room; digit[k] is worth 2^(32 (first + k) - 2162) */
    int32_t first, used, room;
    uint32_t waiting; /* values since carries were made */
} tally_digits;
static inline size_t tally_digits_bytes(int32_t room)
{
    return sizeof(tally_digits) + (size_t)(uint32_t)room * 8;
}
/* One value, or one product (its real value), more (sign 1) or less (sign -1); or all of another
 * sum. They return 0; or the room that *d must have, and *d is as before: give it memory of
 * tally_digits_bytes(that), set d->room, and call again. Where d->room is 136 they return 0. */
TALLY_API int32_t tally_digits_add(tally_digits *d, double x, int sign);
TALLY_API int32_t tally_digits_add_product(tally_digits *d, double x, double y, int sign);
TALLY_API int32_t tally_digits_merge(tally_digits *d, const tally_digits *other, int sign);
TALLY_API int32_t tally_digits_merge_exact(tally_digits *d, const tally_exact *other, int sign);
/* *sum = *d, of values that were added alone. TALLY_INVALID: it has digits below 2^-1074, as sums
 * of products of f64 may. */
TALLY_API tally_status tally_digits_exact(const tally_digits *d, tally_exact *sum);
/* 1: the bytes, which came from elsewhere and may have any alignment, are a tally_digits and its
 * `used` digits, no more and no less; whoever takes them sets room. */
TALLY_API int tally_digits_sound(const void *data, size_t bytes);

/* NULL; or why these bytes, which came from elsewhere, are no tally_exact of values that were
 * added. Sums of states, word by word, are fine; counts below 0, as more is taken back than was
 * added, are not. */
static inline const char *tally_exact_problem(const void *data, size_t bytes)
{
    tally_exact e;
    const int64_t most = (int64_t)1 << 62;
    if (bytes != sizeof e) return "the state of an exact sum has 576 bytes";
    memcpy(&e, data, sizeof e);
    const int64_t n = e.word[71];
    if (n < 0) return "it says that it has fewer than 0 values: the state is damaged";
    for (int k = 68; k < 71; k++)
        if (e.word[k] < 0 || e.word[k] > n)
            return "it has more NaN or infinities than values: the state is damaged";
    const int finite =
        n > e.word[68] && n - e.word[68] > e.word[69] && n - e.word[68] - e.word[69] > e.word[70];
    for (int k = 0; k < 68; k++) {
        if (e.word[k] > most || e.word[k] < -most)
            return "a digit is beyond 2^62: the state is damaged";
        if (e.word[k] && !finite) return "it has digits without values: the state is damaged";
    }
    return NULL;
}

/* Statistics of such sums: the real value, rounded once. Of x: sum, mean, var, stddev. Of pairs:
 * dot is the sum of x y, weighted_mean the sum of x y over that of y, covar, corr, slope (of y on
 * x). _samp divides by n - 1, _pop by n. */
typedef enum tally_statistic {
    TALLY_SUM = 0,
    TALLY_MEAN,
    TALLY_DOT,
    TALLY_WEIGHTED_MEAN,
    TALLY_VAR_POP,
    TALLY_VAR_SAMP,
    TALLY_STDDEV_POP,
    TALLY_STDDEV_SAMP,
    TALLY_COVAR_POP,
    TALLY_COVAR_SAMP,
    TALLY_CORR,
    TALLY_SLOPE
} tally_statistic;
/* Sums over the same rows: of x, y, x x, y y and x y. NULL: not needed. */
typedef struct tally_sums {
    const tally_digits *x, *y, *xx, *yy, *xy;
} tally_sums;
enum {
    TALLY_NEEDS_X = 1,
    TALLY_NEEDS_Y = 2,
    TALLY_NEEDS_XX = 4,
    TALLY_NEEDS_YY = 8,
    TALLY_NEEDS_XY = 16
};
/* The sums that a statistic needs; 0: there is no such statistic. */
TALLY_API int tally_statistic_needs(tally_statistic which);
/* *value, of dtype TALLY_F32 or TALLY_F64. 0: there is no value (fewer rows than the statistic
 * takes, or its denominator is 0, or an argument is wrong), and *value is NaN if it was written;
 * else 1. With a NaN or an infinity among the values: sum, mean and dot as in doc/exact.md, the
 * weighted mean as f64 divides its two sums, all others NaN. */
TALLY_API int tally_statistic_value(tally_statistic which, const tally_sums *sums,
                                    tally_dtype dtype, void *value);

#ifdef __cplusplus
}
#endif
#endif

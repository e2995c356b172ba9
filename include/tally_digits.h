/* SPDX-License-Identifier: MIT
 *
 * tally_digits.h - exact sums from which single values can be subtracted again, in little memory:
 * for groups of a database, sliding frames, or events. Also statistics that are quotients of such
 * sums, rounded once. doc/exact.md has the rules; sql/ is built on this header. */
#ifndef TALLY_DIGITS_H
#define TALLY_DIGITS_H

#include "tally.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An exact sum (like tally_exact, chapter 17 of tally_stream.h) of values that come one at a time.
 * The struct is followed in memory by its digits, as many as the values need: about 100 bytes if
 * the exponents of the values are close, at most 1.2 KB. It is plain data without pointers, so
 * memcpy and realloc may move it. The sum of no values is tally_digits_bytes(room) bytes of 0 with
 * `room` set. */
typedef struct tally_digits {
    int64_t count, nan, plus, minus; /* the numbers of values: all, NaN, +inf, -inf */
    /* int64_t digit[used] follow, with space for digit[room]; the weight of digit[k] is
     * 2^(32 (first + k) - 2162) */
    int32_t first, used, room;
    uint32_t waiting; /* values added since carries were last propagated */
} tally_digits;
static inline size_t tally_digits_bytes(int32_t room)
{
    return sizeof(tally_digits) + (size_t)(uint32_t)room * 8;
}
/* Adds (sign 1) or subtracts (sign -1) one value, one product (its real value), or another sum.
 * On success the functions return 0. Else they return the `room` that *d needs, and *d is
 * unchanged: give it tally_digits_bytes(that) bytes of memory, set d->room, and call again. With
 * d->room 136 they always return 0. */
TALLY_API int32_t tally_digits_add(tally_digits *d, double x, int sign);
TALLY_API int32_t tally_digits_add_product(tally_digits *d, double x, double y, int sign);
TALLY_API int32_t tally_digits_merge(tally_digits *d, const tally_digits *other, int sign);
TALLY_API int32_t tally_digits_merge_exact(tally_digits *d, const tally_exact *other, int sign);
/* Sets *sum to *d. TALLY_INVALID: *d has digits below 2^-1074, which only sums of f64 products
 * have. */
TALLY_API tally_status tally_digits_exact(const tally_digits *d, tally_exact *sum);
/* Returns 1 if the bytes, which came from elsewhere and may have any alignment, are a valid
 * tally_digits with its `used` digits and nothing more, else 0. The caller then sets `room`. */
TALLY_API int tally_digits_sound(const void *data, size_t bytes);

/* Checks a tally_exact that came from elsewhere. Returns NULL, or a sentence that says why the
 * bytes are not a tally_exact of values that were added. Word-by-word sums of states are valid.
 * Counts below 0 are not: more was subtracted than added. */
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

/* Statistics of such sums: the real value, rounded once. Of one variable x: sum, mean, var,
 * stddev. Of pairs: dot is the sum of x y; weighted_mean is the sum of x y divided by the sum of
 * y; covar; corr; slope (of y on x). _samp divides by n - 1, _pop by n. */
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
/* The sums that a statistic needs, as TALLY_NEEDS_ bits; 0: there is no such statistic. */
TALLY_API int tally_statistic_needs(tally_statistic which);
/* Computes a statistic. *value has dtype TALLY_F32 or TALLY_F64. Returns 1, or 0 if there is no
 * value: there are fewer rows than the statistic needs, its denominator is 0, or an argument is
 * wrong. Then *value is NaN, or unchanged if it could not be written. If a value is NaN or
 * infinite, sum, mean and dot follow doc/exact.md, the weighted mean is the f64 quotient of its
 * two sums, and all other statistics are NaN. */
TALLY_API int tally_statistic_value(tally_statistic which, const tally_sums *sums,
                                    tally_dtype dtype, void *value);

#ifdef __cplusplus
}
#endif
#endif

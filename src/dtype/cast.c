/* SPDX-License-Identifier: MIT
 * Converts a number of one type to another type, and checks the range. */
#include "number.h"
#include <assert.h>

/* A number: the sign and the magnitude as an integer, or a real. */
typedef struct any {
    int is_real, negative;
    uint64_t whole;
    double real;
} any;

static any load(tally_dtype dtype, const void *value)
{
    any a = {.is_real = tl_is_float(dtype)};
    float single;
    int64_t least, greatest;
    uint64_t bits = 0;

    if (dtype == TALLY_F64) {
        memcpy(&a.real, value, sizeof a.real);
    } else if (dtype == TALLY_F32) {
        memcpy(&single, value, sizeof single);
        a.real = (double)single;
    } else {
        const size_t size = tally_dtype_size(dtype);
        memcpy((char *)&bits + (*(const char *)&(const int){1} ? 0 : 8 - size), value, size);
        tl_whole_range(dtype, &least, &greatest);
        const int unused = 64 - 8 * (int)size;
        if (least) bits = (uint64_t)((int64_t)(bits << unused) >> unused);
        a.negative = least && (int64_t)bits < 0;
        a.whole = a.negative ? 0 - bits : bits;
    }

    return a;
}

static int to_real(tally_dtype to, void *out, any a)
{
    double x = a.real;
    if (!a.is_real) x = a.negative ? -(double)a.whole : (double)a.whole;
    if (to == TALLY_F64) {
        memcpy(out, &x, sizeof x);
        return 1;
    }

    /* in one step, so that an integer is rounded once */
    const float y = a.is_real ? (float)x : a.negative ? -(float)a.whole : (float)a.whole;
    if (__builtin_isinf(y) && !__builtin_isinf(x)) return 0;
    memcpy(out, &y, sizeof y);

    return 1;
}

static int to_whole(tally_dtype to, void *out, any a)
{
    int64_t least, greatest;
    if (a.is_real) {
        const double size = a.real < 0 ? -a.real : a.real;
        if (!(size < 0x1p64) || (double)(uint64_t)size != size) return 0; /* also true for NaN */
        a.negative = a.real < 0;
        a.whole = (uint64_t)size;
    }

    tl_whole_range(to, &least, &greatest);
    const uint64_t most = a.negative        ? 0 - (uint64_t)least
                          : to == TALLY_U64 ? UINT64_MAX
                                            : (uint64_t)greatest;
    if (a.whole > most) return 0;

    tl_store(out, a.negative ? 0 - a.whole : a.whole, tally_dtype_size(to));
    return 1;
}

int tl_cast(tally_dtype to, void *out, tally_dtype from, const void *value)
{
    assert(from != TALLY_F16 && from != TALLY_BF16 && to != TALLY_F16 && to != TALLY_BF16);
    const any a = load(from, value);
    return tl_is_float(to) ? to_real(to, out, a) : to_whole(to, out, a);
}

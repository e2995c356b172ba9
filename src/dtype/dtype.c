/* SPDX-License-Identifier: MIT
 * The element types by number and by name; numbers of one type converted to another. */
#include "number.h"
#include <assert.h>
#include <string.h>

static const struct dtype_row {
    const char *name;
    int bytes;
    char kind;
} dtypes[] = {
#define DTYPE(name, ctype, bytes, kind, npy) {#name, bytes, #kind[0]},
#include "dtype.def"
#undef DTYPE
};

_Static_assert(sizeof dtypes / sizeof *dtypes == TL_DTYPES, "every type has one row");

static const struct dtype_row *dtype_row(tally_dtype d)
{
    return (unsigned)d - 1 < TL_DTYPES ? &dtypes[d - 1] : NULL;
}

const char *tally_dtype_name(tally_dtype d) { return dtype_row(d) ? dtype_row(d)->name : NULL; }
size_t tally_dtype_size(tally_dtype d) { return dtype_row(d) ? (size_t)dtype_row(d)->bytes : 0; }

tally_dtype tally_dtype_parse(const char *name)
{
    for (int i = 0; name && i < TL_DTYPES; i++)
        if (!strcmp(name, dtypes[i].name)) return (tally_dtype)(i + 1);
    return (tally_dtype)0;
}

char tl_dtype_kind(tally_dtype d) { return dtype_row(d) ? dtype_row(d)->kind : 0; }

/* ---- conversions of a number, which check the range ---- */

/* A number: the sign and the magnitude as an integer, or a real. */
typedef struct {
    int is_real, negative;
    uint64_t whole;
    double real;
} any;

static any load(tally_dtype dtype, const void *value)
{
    any a = {.is_real = tl_is_float(dtype)};
    float single;
    int64_t least, greatest;

    if (dtype == TALLY_F64) {
        memcpy(&a.real, value, sizeof a.real);
    } else if (dtype == TALLY_F32) {
        memcpy(&single, value, sizeof single);
        a.real = (double)single;
    } else {
        const int unused = 64 - 8 * (int)tally_dtype_size(dtype);
        uint64_t bits = tl_load(value, tally_dtype_size(dtype));
        tl_whole_range(dtype, &least, &greatest);
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

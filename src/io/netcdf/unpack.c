/* SPDX-License-Identifier: MIT
 * Converts stored values by the attributes _FillValue, missing_value, scale_factor, add_offset and
 * _Unsigned:
 *
 *    without scale and offset    the stored dtype; missing floats become NaN, missing integers
 *                                are errors
 *    with scale or offset        f64: stored * scale + offset, each operation rounded once;
 *                                missing values become NaN
 *    options.dtype f64           f64
 *
 * The stored values are at the end of the buffer, so that the converted values, which are as
 * large or larger, never overwrite values that are not yet converted. */
#include "netcdf.h"
#include "dtype/number.h"
#include "law/fp.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

tally_dtype tl_packed_dtype(int type)
{
    static const unsigned char dtypes[] = {
        [NC_BYTE] = TALLY_I8,    [NC_SHORT] = TALLY_I16,  [NC_INT] = TALLY_I32,
        [NC_FLOAT] = TALLY_F32,  [NC_DOUBLE] = TALLY_F64, [NC_UBYTE] = TALLY_U8,
        [NC_USHORT] = TALLY_U16, [NC_UINT] = TALLY_U32,   [NC_INT64] = TALLY_I64,
        [NC_UINT64] = TALLY_U64};
    return type > 0 && type <= NC_UINT64 ? (tally_dtype)dtypes[type] : 0;
}

tally_status tl_netcdf_text(const tl_source *of, const char *name, char **value)
{
    int type;
    size_t length;
    char *one = NULL;

    *value = NULL;
    if (tl_nc.nc_inq_att(of->group, of->variable, name, &type, &length)) return TALLY_OK;
    if (type == NC_STRING && length == 1 &&
        !tl_nc.nc_get_att(of->group, of->variable, name, &one)) {
        *value = strdup(one ? one : "");
        tl_nc.nc_free_string(1, &one);
        return *value ? TALLY_OK : tl_no_memory(of->ctx, 1, "an attribute");
    }

    if (type != NC_CHAR) return TALLY_OK;
    if (length == SIZE_MAX || !(*value = calloc(length + 1, 1)))
        return tl_no_memory(of->ctx, length, "an attribute");
    if (!tl_nc.nc_get_att(of->group, of->variable, name, *value)) return TALLY_OK;
    free(*value);
    *value = NULL;
    return TALLY_OK;
}

static tally_status attribute_failed(const tl_source *from, const char *name, const char *why)
{
    return tl_bad_data_on(from, "%s: the attribute %s %s", from->what, name, why);
}

static tally_status number(const tl_source *from, const char *name, int *there, double *value)
{
    int type;
    size_t length;

    *there = tl_nc.nc_inq_att(from->group, from->variable, name, &type, &length) == NC_NOERR;
    if (!*there) return TALLY_OK;
    if (!tl_packed_dtype(type) || length != 1)
        return attribute_failed(from, name, "is not one number");
    char stored[8];
    const int error = tl_nc.nc_get_att(from->group, from->variable, name, stored);
    if (error) return attribute_failed(from, name, tl_nc.nc_strerror(error));
    tl_cast(TALLY_F64, value, tl_packed_dtype(type), stored);
    return TALLY_OK;
}

/* The values of an attribute as stored values; one that is not a number of the stored type is
 * ignored. packed_dtype: the type in the file; an attribute of that type has the sign of the stored
 * type. */
static tally_status missing(const tl_source *from, const char *name, tally_dtype packed_dtype,
                            tl_packing *p)
{
    int type;
    size_t length;
    char values[TL_MISSING_MOST * 8];
    if (tl_nc.nc_inq_att(from->group, from->variable, name, &type, &length)) return TALLY_OK;
    const tally_dtype is = tl_packed_dtype(type);
    if (!is) return attribute_failed(from, name, "is not a number");
    if (length > (size_t)(TL_MISSING_MOST - p->missing))
        return attribute_failed(from, name,
                                "has too many values: at most 8 may stand for missing ones");
    const int error = tl_nc.nc_get_att(from->group, from->variable, name, values);
    if (error) return attribute_failed(from, name, tl_nc.nc_strerror(error));

    for (size_t i = 0; i < length; i++) {
        char *const value = p->value[p->missing];
        int more = tl_cast(is == packed_dtype ? packed_dtype : p->stored, value, is,
                           values + i * tally_dtype_size(is));
        /* nearly every file gives the same value by two attributes */
        for (int k = 0; k < p->missing; k++)
            more &= memcmp(p->value[k], value, sizeof *p->value) != 0;
        p->missing += more;
    }

    return TALLY_OK;
}

/* Reads _Unsigned = "true", by which classic files mark unsigned integers. */
static tally_status other_sign(const tl_source *from, tl_packing *p)
{
    const int is_unsigned = tl_dtype_kind(p->stored) == 'U';
    char *text;
    int type;
    size_t length;

    if (tl_is_float(p->stored) ||
        tl_nc.nc_inq_att(from->group, from->variable, "_Unsigned", &type, &length))
        return TALLY_OK;
    TL_TRY(tl_netcdf_text(from, "_Unsigned", &text));
    for (size_t n = text ? strlen(text) : 0; n && text[n - 1] == ' ';) text[--n] = 0;
    const int wanted = text && !strcasecmp(text, "true"),
              understood = wanted || (text && !strcasecmp(text, "false"));
    free(text);
    if (!understood) return attribute_failed(from, "_Unsigned", "is neither true nor false");

    /* in the enum, the signed type comes before the unsigned one of its size */
    if (wanted != is_unsigned) p->stored = (tally_dtype)(p->stored + (wanted ? 1 : -1));
    return TALLY_OK;
}

static tally_status no_numbers(const tl_source *from, int type)
{
    static const char *const kinds[] = {
        [NC_CHAR] = "characters",
        [NC_STRING] = "strings",
        [NC_VLEN] = "rows that differ in length",
        [NC_OPAQUE] = "opaque bytes",
        [NC_ENUM] = "values of an enumeration (h5py writes booleans so)",
        [NC_COMPOUND] = "values of a compound type, which has several fields"};
    char name[NC_MAX_NAME + 1];
    int base, kind = type;
    size_t bytes, fields;

    if (type > NC_STRING && /* a type that the file defines */
        tl_nc.nc_inq_user_type(from->group, type, name, &bytes, &base, &fields, &kind))
        kind = 0;
    const char *const has =
        kind > 0 && kind <= NC_COMPOUND && kinds[kind] ? kinds[kind] : "values of another type";
    return tl_unsupported_on(from, "%s has %s, not numbers", from->what, has);
}

tally_status tl_packing_read(const tl_source *from, int type, tally_dtype want, tl_packing *p)
{
    static const char *const names[] = {"_FillValue", "missing_value"};
    memset(p, 0, sizeof *p);
    const tally_dtype packed_dtype = p->stored = tl_packed_dtype(type);
    if (!packed_dtype) return no_numbers(from, type);
    TL_TRY(other_sign(from, p));
    TL_TRY(number(from, "scale_factor", &p->scaled, &p->scale));
    TL_TRY(number(from, "add_offset", &p->shifted, &p->offset));
    TL_LAW_FP;
    for (int i = 0; i < 2; i++) TL_TRY(missing(from, names[i], packed_dtype, p));
    p->given = p->scaled || p->shifted || want == TALLY_F64 ? TALLY_F64 : p->stored;
    if (want && want != p->given)
        return tl_invalid_on(from, "%s is %s: --dtype may be that or f64, and %s was asked for",
                             from->what, tally_dtype_name(p->given), tally_dtype_name(want));

    return TALLY_OK;
}

char *tl_unpack_place(const tl_packing *p, char *out, int64_t n)
{
    return out + n * (int64_t)(tally_dtype_size(p->given) - tally_dtype_size(p->stored));
}

enum { PIECE = 512 }; /* elements that are converted at a time */

/* Converts a copy of a piece, which the results cannot overwrite, so that compilers use vectors.
 * x * 1 and x + -0.0 are x. */
#define DTYPE(name, T, ...) \
    static void to_real_##name(const tl_packing *p, const char *at, char *out, int64_t n) \
    { \
        const double scale = p->scaled ? p->scale : 1, offset = p->shifted ? p->offset : -0.0; \
        const int packed = p->scaled || p->shifted; \
        T x[PIECE], none; \
        double y; \
        for (int64_t m; n > 0; n -= m, at += m * (int64_t)sizeof none, out += m * 8) { \
            m = n < PIECE ? n : PIECE; \
            memcpy(x, at, (size_t)m * sizeof none); \
            for (int64_t i = 0; i < m; i++) { \
                y = packed ? (double)x[i] * scale + offset : (double)x[i]; \
                y = packed && y != y ? __builtin_nan("") : y; /* of inf * 0 the sign differs */ \
                memcpy(out + i * 8, &y, sizeof y); \
            } \
            for (int k = 0; k < p->missing; k++) { \
                memcpy(&none, p->value[k], sizeof none); \
                for (int64_t i = 0; i < m; i++) { \
                    memcpy(&y, out + i * 8, sizeof y); \
                    y = x[i] == none ? __builtin_nan("") : y; \
                    memcpy(out + i * 8, &y, sizeof y); \
                } \
            } \
        } \
    }
#include "dtype/dtype.def"
#undef DTYPE

/* for each stored dtype; f16 and bf16 are never stored */
static void (*const to_real[])(const tl_packing *p, const char *at, char *out, int64_t n) = {
    NULL,
#define DTYPE(name, ...) to_real_##name,
#include "dtype/dtype.def"
#undef DTYPE
};

/* The first of n integers of `size` bytes that is missing, or n. Requires: size is a constant in
 * the caller. */
TL_FORCE_INLINE int64_t first_missing(const tl_packing *p, const char *at, int64_t n, size_t size)
{
    uint64_t none[TL_MISSING_MOST];
    for (int k = 0; k < p->missing; k++) none[k] = tl_load(p->value[k], size);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < p->missing; k++)
            if (tl_load(at + i * (int64_t)size, size) == none[k]) return i;
    return n;
}

/* Sets missing values to NaN. */
static void to_nan(const tl_packing *p, char *out, int64_t n)
{
    assert(n >= 0);
    for (int k = 0; k < p->missing; k++) {
        float none, x;
        memcpy(&none, p->value[k], sizeof none);
        for (int64_t i = 0; i < n; i++) {
            memcpy(&x, out + i * (int64_t)sizeof x, sizeof x);
            x = x == none ? __builtin_nanf("") : x;
            memcpy(out + i * (int64_t)sizeof x, &x, sizeof x);
        }
    }
}

static int unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad)
{
    assert(n >= 0);
    if (p->given == TALLY_F64) {
        if (p->stored == TALLY_F64 && !p->missing && !p->scaled && !p->shifted) return 1;
        to_real[p->stored](p, stored, out, n);
        return 1;
    }

    if (!p->missing) return 1;
    if (p->stored == TALLY_F32) {
        to_nan(p, out, n);
        return 1;
    }

    const size_t size = tally_dtype_size(p->stored);
    *bad = size == 1   ? first_missing(p, stored, n, 1)
           : size == 2 ? first_missing(p, stored, n, 2)
           : size == 4 ? first_missing(p, stored, n, 4)
                       : first_missing(p, stored, n, 8);
    return *bad == n;
}

int tl_unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad)
{
    assert(n >= 0);
    TL_LAW_FP;
    return unpack(p, stored, out, n, bad);
}

/* SPDX-License-Identifier: MIT
 * The header of a NetCDF file of one variable, as CDF-5 (64-bit data): everything big-endian, names padded to 4 bytes.
 * Every libnetcdf since 4.4 reads it; libnetcdf is not asked, so that files are replaced as all others are.
 *
 *     CDF 5 | records | dimensions: name, length | no attributes | variable: name, dimensions, type, bytes, place |
 *     data
 */
#include "netcdf.h"
#include <string.h>

enum { DIMENSIONS = 10, VARIABLES = 11 };

int tl_netcdf_type(tally_dtype dtype)
{
    for (int type = NC_BYTE; type <= NC_UINT64; type++)
        if (type != NC_CHAR && tl_packed_dtype(type) == dtype) return type;
    return 0;
}

static char *number(char *out, int64_t value, int bytes)
{
    for (int i = bytes; i-- > 0;) *out++ = (char)((uint64_t)value >> (8 * i));
    return out;
}

static char *text(char *out, const char *name, size_t n)
{
    out = number(out, (int64_t)n, 8);
    memset(out, 0, (n + 3) / 4 * 4);
    memcpy(out, name, n);
    return out + (n + 3) / 4 * 4;
}

/* The name of dimension d in "mean(lat, lon)". */
static size_t dimension(const char *names, int d, const char **name)
{
    const char *at = strchr(names, '(') + 1;
    for (; d; d--) at += strcspn(at, ",") + 1;
    at += strspn(at, " ");
    *name = at;
    return strcspn(at, ",)");
}

int tl_netcdf_names(const char *names, int ndim)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@+-";
    const char *at = names + strspn(names, allowed);
    if (at == names || *at != '(' || strlen(names) > TL_NETCDF_NAMES) return 0;
    for (int d = 0; d < ndim; d++, at += strspn(at, allowed)) {
        if (*at != (d ? ',' : '(')) return 0;
        at++;
        at += strspn(at, " ");
        if (!strspn(at, allowed)) return 0;
        for (int k = 0; k < d; k++) { /* two dimensions of one name are one */
            const char *other;
            const size_t n = dimension(names, k, &other);
            if (n == strspn(at, allowed) && !memcmp(other, at, n)) return 0;
        }
    }
    return strcmp(at, ndim ? ")" : "()") == 0;
}

size_t tl_netcdf_header(char *out, const char *names, tally_dtype dtype, int ndim, const int64_t *shape)
{
    char *p = out;
    int64_t bytes = (int64_t)tally_dtype_size(dtype);
    memcpy(p, "CDF\5", 4);
    p = number(p + 4, 0, 8);
    p = number(p, ndim ? DIMENSIONS : 0, 4);
    p = number(p, ndim, 8);
    for (int d = 0; d < ndim; d++) {
        const char *name;
        const size_t n = dimension(names, d, &name);
        p = number(text(p, name, n), shape[d] < 0 ? 0 : shape[d], 8);
        bytes *= shape[d] < 0 ? 0 : shape[d];
    }
    p = number(number(p, 0, 4), 0, 8);
    p = number(number(p, VARIABLES, 4), 1, 8);
    p = text(p, names, strcspn(names, "("));
    p = number(p, ndim, 8);
    for (int d = 0; d < ndim; d++) p = number(p, d, 8);
    p = number(number(p, 0, 4), 0, 8);
    p = number(p, tl_netcdf_type(dtype), 4);
    p = number(p, (bytes + 3) / 4 * 4, 8);
    p = number(p, p + 8 - out, 8);
    return (size_t)(p - out);
}

/* SPDX-License-Identifier: MIT
 * Finds the requested variable of a NetCDF file, or makes the error sentence. The callers hold the
 * lock. */
#include "netcdf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tl_netcdf_inquire(int group, int variable, tl_netcdf_variable *v)
{
    int attributes, error;
    error = tl_nc.nc_inq_var(group, variable, v->name, &v->type, &v->ndims, NULL, &attributes);
    if (error || v->ndims > TL_DIMS) return error;
    return tl_nc.nc_inq_var(group, variable, NULL, NULL, NULL, v->dims, NULL);
}

size_t tl_netcdf_describe(int group, int variable, char *out, size_t capacity)
{
    tl_netcdf_variable v;
    char name[NC_MAX_NAME + 1];
    size_t length, n;
    if (tl_netcdf_inquire(group, variable, &v)) return (size_t)(*out = 0);

    if (v.ndims > TL_DIMS)
        return (size_t)snprintf(out, capacity, "%.64s(%d dimensions: at most %d)", v.name, v.ndims,
                                TL_DIMS);
    n = (size_t)snprintf(out, capacity, "%.64s(", v.name);
    for (int d = 0; d < v.ndims && n + 60 < capacity; d++)
        if (!tl_nc.nc_inq_dim(group, v.dims[d], name, &length))
            n +=
                (size_t)snprintf(out + n, capacity - n, "%s%.30s %zu", d ? ", " : "", name, length);
    return n + (size_t)snprintf(out + n, capacity - n, ")");
}

/* Whether another variable names this one: as its bounds, or as a coordinate of it. */
static int is_named(int group, const char *name)
{
    static const char *const attributes[] = {"bounds", "climatology", "coordinates"};
    const size_t n = strlen(name);
    int count = 0, named = 0;
    tl_nc.nc_inq_nvars(group, &count);
    for (int i = 0; i < 3 * count && !named; i++) {
        char *text = NULL;
        const tl_source of = {NULL, "", "", group, i / 3};
        if (tl_netcdf_text(&of, attributes[i % 3], &text)) continue;
        for (const char *at = text; at && (at = strstr(at, name)); at++)
            named |= (at == text || at[-1] == ' ') && (!at[n] || at[n] == ' ');
        free(text);
    }

    return named;
}

/* Whether a variable has numbers and is not the coordinate of a dimension, bounds or another
 * coordinate (a field). */
static int is_field(int group, int variable)
{
    tl_netcdf_variable v;
    char dim[NC_MAX_NAME + 1];
    size_t length;
    if (tl_netcdf_inquire(group, variable, &v)) return 0;
    return tl_packed_dtype(v.type) && v.ndims > 0 &&
           !(v.ndims == 1 && !tl_nc.nc_inq_dim(group, v.dims[0], dim, &length) &&
             strcmp(dim, v.name) == 0) &&
           !is_named(group, v.name);
}

static size_t list_variables(int group, int fields, char *out, size_t capacity)
{
    int count = 0;
    size_t n = 0;

    *out = 0;
    tl_nc.nc_inq_nvars(group, &count);
    for (int v = 0; v < count; v++) {
        if (fields && !is_field(group, v)) continue;
        if (n + 120 > capacity) return n + (size_t)snprintf(out + n, capacity - n, ", ...");
        if (n) n += (size_t)snprintf(out + n, capacity - n, ", ");
        n += tl_netcdf_describe(group, v, out + n, capacity - n);
    }
    return n;
}

/* The error if there is no variable `name`, or without a name not exactly one field. libnetcdf
 * does not show HDF5 arrays without numbers, so tl_hdf5_kind searches for them. */
static tally_status not_found(const tl_source *in, const char *name, int group, int fields)
{
    char list[800], found[NC_MAX_NAME + 1];
    const char *const kind = fields ? NULL : tl_hdf5_kind(in->label, name, found);
    if (kind) return tl_unsupported_on(in, "%s has %s, not numbers", found, kind);
    list_variables(group, !name && fields, list, sizeof list);
    if (name)
        return tl_invalid_on(in, "no variable '%s'; the variables are %s", name,
                             *list ? list : "none");
    return tl_invalid_on(in, "%d variables are %s%s%s", fields,
                         fields ? "no coordinates: " : "fields of numbers; there are ",
                         *list ? list : "none", fields ? "; choose one with --variable" : "");
}

tally_status tl_netcdf_find(const tl_source *in, const char *name, int *group, int *variable)
{
    char group_name[NC_MAX_NAME + 1];
    const char *const slash = name ? strrchr(name, '/') : NULL;

    *group = in->group;
    if (slash && slash > name) {
        snprintf(group_name, sizeof group_name, "%.*s", (int)(slash - name), name);
        if (tl_nc.nc_inq_grp_full_ncid(in->group, group_name, group))
            return tl_invalid_on(in, "no group '%s'", group_name);
    }

    if (name)
        return tl_nc.nc_inq_varid(*group, slash ? slash + 1 : name, variable)
                   ? not_found(in, name, *group, 0)
                   : TALLY_OK;

    int count = 0, found = 0;
    tl_nc.nc_inq_nvars(in->group, &count);
    for (int v = 0; v < count; v++)
        if (is_field(in->group, v)) found++, *variable = v;
    return found == 1 ? TALLY_OK : not_found(in, NULL, in->group, found);
}

/* Finds the largest box that begins at element `at`. A read of several rows takes several boxes:
 *
 *    shape 4 x 3 x 5, elements 7..39:
 *    . . . . .   . . 3 3 3   3 3 3 3 3        1: the rest of a row     [0, 1, 2:5]
 *    . . 1 1 1   3 3 3 3 3   3 3 3 3 3        2: the rest of a layer   [0, 2:3, :]
 *    2 2 2 2 2   3 3 3 3 3   4 4 4 4 4        3: whole layers, and so on */
int64_t tl_netcdf_box(int ndim, const int64_t *shape, int64_t at, int64_t rest, int64_t *start,
                      int64_t *count)
{
    assert(ndim >= 0 && at >= 0 && rest > 0);
    int64_t inner = 1;
    int d = ndim - 1;
    if (d < 0) return 1;

    for (int k = d; k >= 0; k--) {
        start[k] = at % shape[k];
        at /= shape[k];
        count[k] = 1;
    }

    while (d > 0 && start[d] == 0 && rest / shape[d] >= inner) {
        count[d] = shape[d];
        inner *= shape[d--];
    }

    count[d] = shape[d] - start[d] < rest / inner ? shape[d] - start[d] : rest / inner;
    return count[d] * inner;
}

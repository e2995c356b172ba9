/* SPDX-License-Identifier: MIT
 * Which variable of a NetCDF file is meant, and what the error says where none is. All of it is
 * under the lock of its caller. */
#include "netcdf.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "temp(time 12, lat 3)" */
size_t tl_netcdf_describe(const tl_netcdf_api *api, int group, int variable, char *out, size_t room)
{
    char name[NC_MAX_NAME + 1];
    int type, ndims, dims[NC_MAX_VAR_DIMS], attributes;
    size_t length, n;
    if (api->nc_inq_var(group, variable, name, &type, &ndims, dims, &attributes)) return 0;
    n = (size_t)snprintf(out, room, "%.64s(", name);
    for (int d = 0; d < ndims && n + 60 < room; d++)
        if (!api->nc_inq_dim(group, dims[d], name, &length))
            n += (size_t)snprintf(out + n, room - n, "%s%.30s %zu", d ? ", " : "", name, length);
    return n + (size_t)snprintf(out + n, room - n, ")");
}

/* A variable that holds numbers and is not the coordinate of a dimension. */
static int is_field(const tl_netcdf_api *api, int group, int variable)
{
    char name[NC_MAX_NAME + 1], dim[NC_MAX_NAME + 1];
    int type, ndims, dims[NC_MAX_VAR_DIMS], attributes;
    size_t length;
    if (api->nc_inq_var(group, variable, name, &type, &ndims, dims, &attributes)) return 0;
    return tl_packed_dtype(type) && ndims > 0 &&
           !(ndims == 1 && !api->nc_inq_dim(group, dims[0], dim, &length) &&
             strcmp(dim, name) == 0);
}

static size_t listed(const tl_netcdf_api *api, int group, int fields, char *out, size_t room)
{
    int count = 0;
    size_t n = 0;
    *out = 0;
    api->nc_inq_nvars(group, &count);
    for (int v = 0; v < count; v++) {
        if (fields && !is_field(api, group, v)) continue;
        if (n + 120 > room) return n + (size_t)snprintf(out + n, room - n, ", ...");
        if (n) n += (size_t)snprintf(out + n, room - n, ", ");
        n += tl_netcdf_describe(api, group, v, out + n, room - n);
    }
    return n;
}

tally_status tl_netcdf_find(const tl_source *in, const char *name, int *group, int *variable)
{
    const tl_netcdf_api *const api = in->api;
    char list[800], own[NC_MAX_NAME + 1];
    const char *const slash = name ? strrchr(name, '/') : NULL;
    *group = in->group;
    if (slash && slash > name) {
        snprintf(own, sizeof own, "%.*s", (int)(slash - name), name);
        if (api->nc_inq_grp_full_ncid(in->group, own, group))
            return tl_fail(in->ctx, TALLY_INVALID, "%s: no group '%s'", in->path, own);
    }
    if (name) {
        if (!api->nc_inq_varid(*group, slash ? slash + 1 : name, variable)) return TALLY_OK;
        listed(api, *group, 0, list, sizeof list);
        return tl_fail(in->ctx, TALLY_INVALID, "%s: no variable '%s'; the variables are %s",
                       in->path, name, *list ? list : "none");
    }
    int count = 0, found = 0;
    api->nc_inq_nvars(in->group, &count);
    for (int v = 0; v < count; v++)
        if (is_field(api, in->group, v)) found++, *variable = v;
    if (found == 1) return TALLY_OK;
    listed(api, in->group, found > 0, list, sizeof list);
    return tl_fail(in->ctx, TALLY_INVALID,
                   found ? "%s: %d variables are no coordinates: %s; choose one with --variable"
                         : "%s: %d variables are fields of numbers; there are %s",
                   in->path, found, *list ? list : "none");
}

tally_status tl_netcdf_text(const tl_source *of, const char *name, char **value)
{
    const tl_netcdf_api *const api = of->api;
    int type;
    size_t length;
    char *one = NULL;
    *value = NULL;
    if (api->nc_inq_att(of->group, of->variable, name, &type, &length)) return TALLY_OK;
    if (type == NC_STRING && length == 1 &&
        !api->nc_get_att_string(of->group, of->variable, name, &one)) {
        *value = strdup(one ? one : "");
        api->nc_free_string(1, &one);
        return *value ? TALLY_OK : tl_no_memory(of->ctx, 1, "an attribute");
    }
    if (type != NC_CHAR) return TALLY_OK;
    if (length == SIZE_MAX || !(*value = calloc(length + 1, 1)))
        return tl_no_memory(of->ctx, length, "an attribute");
    if (!api->nc_get_att_text(of->group, of->variable, name, *value)) return TALLY_OK;
    free(*value);
    *value = NULL;
    return TALLY_OK;
}

/*     shape 4 x 3 x 5, elements 7..39:   . . . . .   . . 3 3 3   3 3 3 3 3   1: rest of a row   [0, 1, 2:5]
 *                                        . . 1 1 1   3 3 3 3 3   3 3 3 3 3   2: rest of a layer [0, 2:3, :]
 *                                        2 2 2 2 2   3 3 3 3 3   4 4 4 4 4   3: whole layers, and so on down */
int64_t tl_netcdf_box(int ndim, const int64_t *shape, int64_t at, int64_t rest, int64_t *start,
                      int64_t *count)
{
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

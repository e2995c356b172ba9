/* SPDX-License-Identifier: MIT
 * The coordinates of a new NetCDF file: variables of one dimension, given or copied from a file
 * that is read. */
#include "netcdf.h"
#include "context/threads.h"
#include <stdlib.h>
#include <string.h>

/* ---- under the lock of the functions at the end ---- */

/* A coordinate and room for its values. */
static tally_status add(const tally_file *f, tl_netcdf_new *n, const char *name, int dimension,
                        int type, size_t count, tl_netcdf_kept **added)
{
    tl_netcdf_kept *const k = malloc(sizeof *k + count * tally_dtype_size(tl_packed_dtype(type)));
    if (!k) return tl_no_memory(f->ctx, sizeof *k + count * 8, "a coordinate");
    const int error = n->api->nc_def_var(n->file, name, type, 1, &n->dims[dimension], &k->variable);
    if (error) {
        free(k);
        return tl_netcdf_failed(f, n, error, name);
    }
    n->api->nc_def_var_fill(n->file, k->variable, 1, NULL);
    k->count = count;
    k->next = n->coordinates;
    n->coordinates = *added = k;
    return TALLY_OK;
}

/* All but those that name variables which are not in this file. */
static void copy_attributes(const tl_netcdf_new *n, int group, int variable, int to)
{
    static const char *const others[] = {"bounds", "climatology", "formula_terms"};
    char name[NC_MAX_NAME + 1];
    for (int i = 0; !n->api->nc_inq_attname(group, variable, i, name); i++) {
        int other = 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other |= !strcmp(name, others[k]);
        if (!other) n->api->nc_copy_att(group, variable, name, n->file, to);
    }
}

/* Are the coordinates of the files that are joined one: of one type, in one unit? Their places,
   and how many. */
typedef struct piece {
    int group, variable;
    size_t count;
} piece;

static int is_one(const tl_netcdf_api *api, const tally_file *source, int dimension, piece *p,
                  int pieces, int *type)
{
    char name[NC_MAX_NAME + 1], *units[2] = {NULL, NULL};
    int same = 1;
    for (int i = 0; i < pieces && same; i++) {
        int own, ndims, dims[NC_MAX_VAR_DIMS], attributes;
        if (!tl_netcdf_coordinate_of(source, i, dimension, &p[i].group, &p[i].variable) ||
            api->nc_inq_var(p[i].group, p[i].variable, name, &own, &ndims, dims, &attributes) ||
            api->nc_inq_dim(p[i].group, dims[0], name, &p[i].count) || !tl_packed_dtype(own)) {
            same = 0;
            break;
        }
        if (!i) *type = own;
        const tl_source of = {source->ctx, api, source->label, name, p[i].group, p[i].variable};
        same = own == *type && !tl_netcdf_text(&of, "units", &units[i > 0]) &&
               (!i || (!units[0] == !units[1] && (!units[0] || !strcmp(units[0], units[1]))));
        if (i) free(units[1]), units[1] = NULL;
    }
    free(units[0]);
    return same;
}

static tally_status copy_coordinate(const tally_file *f, tl_netcdf_new *n, int to,
                                    const tally_file *source, int from, piece *p, int pieces)
{
    const tl_netcdf_api *const api = n->api;
    const char *const name = source->info.dimensions[from];
    int type, there;
    tl_netcdf_kept *k;
    if (!api->nc_inq_varid(n->file, name, &there) || !is_one(api, source, from, p, pieces, &type))
        return TALLY_OK;
    tally_status s = add(f, n, name, to, type, (size_t)f->info.shape[to], &k);
    if (s) return s;
    copy_attributes(n, p->group, p->variable, k->variable);
    char *at = k->values;
    for (int i = 0; i < pieces; i++) {
        const size_t start = 0;
        const int error =
            p[i].count ? api->nc_get_vara(p[i].group, p[i].variable, &start, &p[i].count, at) : 0;
        if (error) return tl_netcdf_failed(f, n, error, name);
        at += p[i].count * tally_dtype_size(tl_packed_dtype(type));
    }
    return TALLY_OK;
}

static tally_status copy_coordinates(const tally_file *f, tl_netcdf_new *n,
                                     const tally_file *source)
{
    char name[NC_MAX_NAME + 1];
    const int parts = tl_netcdf_parts(source);
    piece *const p = calloc((size_t)parts, sizeof *p);
    if (!p) return tl_no_memory(f->ctx, (size_t)parts * sizeof *p, "the coordinates");
    tally_status s = tl_netcdf_define(f, n);
    for (int d = 0; d < f->info.ndim; d++)
        for (int k = 0; k < source->info.ndim && !s; k++)
            if (source->info.dimensions[k] && source->info.shape[k] == f->info.shape[d] &&
                !strcmp(tl_netcdf_copy_name(n->names, d + 1, name), source->info.dimensions[k]))
                s = copy_coordinate(f, n, d, source, k, p, k ? 1 : parts);
    free(p);
    return s;
}

/* ---- what io/write.c calls ---- */

tally_status tl_netcdf_coordinate(tally_file *f, tl_netcdf_new *n, const char *name, int dimension,
                                  tally_dtype dtype, const void *values)
{
    tally_status s;
    tl_netcdf_kept *k;
    int there;
    if (dimension < 0 || dimension >= f->info.ndim)
        return tl_fail(f->ctx, TALLY_INVALID, "%s: dimension is %d: must be 0..%d", f->label,
                       dimension, f->info.ndim - 1);
    const int64_t count = f->info.shape[dimension];
    if (count < 0)
        return tl_fail(f->ctx, TALLY_INVALID, "%s: dimension is %d, whose length is not known yet",
                       f->label, dimension);
    if (!tl_netcdf_is_name(name, strlen(name)))
        return tl_fail(f->ctx, TALLY_INVALID,
                       "%s: name is '%.100s', which is no name of a variable", f->label, name);
    if (!tl_netcdf_type(dtype))
        return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: %s has no type %s", f->label, f->info.format,
                       tally_dtype_name(dtype) ? tally_dtype_name(dtype) : "of that number");
    tl_lock_take(TL_LOCK_NETCDF);
    s = tl_netcdf_define(f, n);
    if (!s && !n->api->nc_inq_varid(n->file, name, &there))
        s = tl_fail(f->ctx, TALLY_INVALID, "%s: name is '%s', and there is a variable of that name",
                    f->label, name);
    if (!s) s = add(f, n, name, dimension, tl_netcdf_type(dtype), (size_t)count, &k);
    if (!s) memcpy(k->values, values, k->count * tally_dtype_size(dtype));
    tl_lock_release(TL_LOCK_NETCDF);
    return s;
}

tally_status tl_netcdf_like(tally_file *f, tl_netcdf_new *n, const tally_file *source)
{
    tally_status s;
    tl_lock_take(TL_LOCK_NETCDF);
    s = copy_coordinates(f, n, source);
    tl_lock_release(TL_LOCK_NETCDF);
    return s;
}

/* SPDX-License-Identifier: MIT
 * The coordinate variables of a new NetCDF file, which are given or are copied from an open
 * file. */
#include "parts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the functions at the end hold the lock ---- */

/* Defines the coordinate variable of a dimension and allocates its values, as many as the
 * dimension is long. Requires: that length is known. */
static tally_status add(const tally_file *f, tl_netcdf_new *n, const char *name, int dimension,
                        int type, tl_netcdf_kept **added)
{
    const size_t count = (size_t)f->info.shape[dimension];
    assert(f->info.shape[dimension] >= 0);
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

/* Copies the attributes of a variable, except those that name other variables. */
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

/* A coordinate of joined files: one piece per file. */
typedef struct pieces {
    struct piece {
        const tl_part *of;
        int group, variable;
        size_t count;
    } * at;
    int n, type;
} pieces;

/* Finds the piece of each part (all->at[i], all->type). Returns 1 if the pieces form one
 * coordinate: they have one type and one unit, and together `count` numbers. */
static int is_one(const tally_file *source, int dimension, size_t count, pieces *all)
{
    const tl_netcdf_api *const api = source->netcdf->api;
    char name[NC_MAX_NAME + 1], *units[2] = {NULL, NULL};
    int same = 1;

    for (int i = 0; i < all->n && same; i++) {
        struct piece *const p = &all->at[i];
        tl_netcdf_variable v;
        p->of = &source->netcdf->parts[i];
        if (!tl_part_coordinate(source, p->of, dimension, &p->group, &p->variable) ||
            tl_netcdf_inquire(api, p->group, p->variable, &v) ||
            api->nc_inq_dim(p->group, v.dims[0], name, &p->count) || !tl_packed_dtype(v.type) ||
            p->count > count) {
            same = 0;
            break;
        }

        count -= p->count;
        if (!i) all->type = v.type;
        const tl_source of = {source->ctx, api, source->label, name, p->group, p->variable};
        same = v.type == all->type && !tl_netcdf_text(&of, "units", &units[i > 0]) &&
               (!i || (!units[0] == !units[1] && (!units[0] || !strcmp(units[0], units[1]))));
        if (i) free(units[1]), units[1] = NULL;
    }

    free(units[0]);
    return same && !count;
}

/* Copies the coordinate of dimension `from` of source to dimension `to` of the new file. Does
 * nothing if the new file has a variable of that name, or if the pieces do not form one coordinate.
 * copied: memory for one piece per part. */
static tally_status copy_coordinate(const tally_file *f, tl_netcdf_new *n, int to,
                                    const tally_file *source, int from, struct piece *copied)
{
    const tl_netcdf_api *const api = n->api;
    const char *const name = source->info.dimensions[from];
    const size_t count = (size_t)f->info.shape[to];
    pieces all = {copied, from == source->netcdf->join ? source->netcdf->count : 1, 0};
    int there;
    tl_netcdf_kept *k;

    if (!api->nc_inq_varid(n->file, name, &there) || !is_one(source, from, count, &all))
        return TALLY_OK;
    tally_status s = add(f, n, name, to, all.type, &k);
    if (s) return s;

    copy_attributes(n, copied->group, copied->variable, k->variable);
    char *at = k->values;

    for (int i = 0; i < all.n && !s; i++) {
        const struct piece *const p = &all.at[i];
        s = tl_part_whole(source, p->of, p->group, p->variable, name);
        const int error = !s && p->count
                              ? api->nc_get_vara(p->group, p->variable, &(size_t){0}, &p->count, at)
                              : 0;
        if (error) s = tl_netcdf_failed(f, n, error, name);
        at += p->count * tally_dtype_size(tl_packed_dtype(all.type));
    }

    return s;
}

/* Copies the coordinates of all dimensions of source that have the name and the length of a
 * dimension of the new file. */
static tally_status copy_coordinates(const tally_file *f, tl_netcdf_new *n,
                                     const tally_file *source)
{
    char name[NC_MAX_NAME + 1];
    const size_t parts = (size_t)source->netcdf->count;
    struct piece *const copied = calloc(parts, sizeof *copied);
    if (!copied) return tl_no_memory(f->ctx, parts * sizeof *copied, "the coordinates");

    tally_status s = tl_netcdf_define(f, n);
    for (int d = 0; d < f->info.ndim; d++)
        for (int k = 0; k < source->info.ndim && !s; k++)
            if (source->info.dimensions[k] && source->info.shape[k] == f->info.shape[d] &&
                !strcmp(tl_netcdf_copy_name(n->names, d + 1, name), source->info.dimensions[k]))
                s = copy_coordinate(f, n, d, source, k, copied);
    free(copied);

    return s;
}

/* ---- called by io/write.c ---- */

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
    tl_netcdf_lock();
    s = tl_netcdf_define(f, n);
    if (!s && !n->api->nc_inq_varid(n->file, name, &there))
        s = tl_fail(f->ctx, TALLY_INVALID, "%s: name is '%s', and there is a variable of that name",
                    f->label, name);
    if (!s) s = add(f, n, name, dimension, tl_netcdf_type(dtype), &k);
    if (!s) memcpy(k->values, values, k->count * tally_dtype_size(dtype));
    tl_netcdf_unlock();

    return s;
}

tally_status tl_netcdf_like(tally_file *f, tl_netcdf_new *n, const tally_file *source)
{
    tally_status s;
    tl_netcdf_lock();
    s = copy_coordinates(f, n, source);
    tl_netcdf_unlock();
    return s;
}

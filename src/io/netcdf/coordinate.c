/* SPDX-License-Identifier: MIT
 * What a new NetCDF file has besides its first variable: coordinates, which are given or copied
 * from an open file, other variables, attributes, and the value for "missing". */
#include "io/writer.h"
#include "netcdf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the functions of tally_file.h, below, hold the lock of libnetcdf ---- */

/* Defines a variable and allocates `bytes` bytes for its values. */
static tally_status add(const tally_file *f, tl_netcdf_new *n, const tl_netcdf_variable *of,
                        size_t bytes, tl_netcdf_kept **added)
{
    tl_netcdf_kept *const k = malloc(sizeof *k + bytes);
    if (!k) return tl_no_memory(f->ctx, sizeof *k + bytes, "a coordinate");
    const int error =
        tl_nc.nc_def_var(n->file, of->name, of->type, of->ndims, of->dims, &k->variable);
    if (error) {
        free(k);
        return tl_netcdf_status(f, error, of->name);
    }

    tl_nc.nc_def_var_fill(n->file, k->variable, 1, NULL);
    assert(of->ndims >= 0 && of->ndims <= TL_DIMS);
    k->bytes = bytes;
    k->is_result = 0;
    k->dtype = tl_packed_dtype(of->type);
    tl_netcdf_kept **at = &n->coordinates; /* in the order in which they are defined */
    while (*at) at = &(*at)->next;
    k->next = NULL;
    *at = *added = k;
    return TALLY_OK;
}

/* Copies the attributes of a variable, except those that name other variables. */
static void copy_attributes(const tl_netcdf_new *n, int group, int variable, int to)
{
    static const char *const others[] = {"bounds", "climatology", "formula_terms"};
    char name[NC_MAX_NAME + 1];
    for (int i = 0; !tl_nc.nc_inq_attname(group, variable, i, name); i++) {
        int other = 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other |= !strcmp(name, others[k]);
        if (!other) tl_nc.nc_copy_att(group, variable, name, n->file, to);
    }
}

/* A coordinate of joined files: one piece per file. */
typedef struct {
    struct piece {
        const tl_part *part;
        tl_source of;
        size_t count;
    } * at;
    int n, type;
} pieces;

/* Finds the piece of each part (all->at[i], all->type). Returns 1 if the pieces form one
 * coordinate: they have one type and one unit, and together `count` numbers. */
static int find_pieces(const tally_file *source, int dimension, size_t count, pieces *list)
{
    char *units[2] = {NULL, NULL};
    int same = 1;

    for (int i = 0; i < list->n && same; i++) {
        struct piece *const p = &list->at[i];
        tl_netcdf_variable v;
        p->part = &source->netcdf->parts[i];
        if (!tl_part_coordinate(source, p->part, dimension, &p->of, &v) ||
            tl_nc.nc_inq_dim(p->of.group, v.dims[0], NULL, &p->count) || p->count > count) {
            same = 0;
            break;
        }

        count -= p->count;
        if (!i) list->type = v.type;
        same = v.type == list->type && !tl_netcdf_text(&p->of, "units", &units[i > 0]) &&
               (!i || (!units[0] == !units[1] && (!units[0] || !strcmp(units[0], units[1]))));
        if (i) free(units[1]), units[1] = NULL;
    }

    free(units[0]);
    return same && !count;
}

/* Copies the coordinate of dimension `from` of source, for dimension `to` of the new file. Does
 * nothing if the new file has a variable of that name, or if the pieces do not form one coordinate.
 * copied: memory for one piece per part. */
static tally_status copy_coordinate(const tally_file *f, tl_netcdf_new *n, int to,
                                    const tally_file *source, int from, struct piece *copied)
{
    const char *const name = source->info.dimensions[from];
    const size_t count = (size_t)f->info.shape[to];
    pieces list = {copied, from == source->netcdf->join ? source->netcdf->count : 1, 0};
    int there;
    tl_netcdf_kept *k;

    if (!tl_nc.nc_inq_varid(n->file, name, &there) || !find_pieces(source, from, count, &list))
        return TALLY_OK;
    tl_netcdf_variable of = {.type = list.type, .ndims = 1, .dims = {n->dims[to]}};
    snprintf(of.name, sizeof of.name, "%s", name);
    tally_status s = add(f, n, &of, count * tally_dtype_size(tl_packed_dtype(list.type)), &k);
    if (s) return s;
    copy_attributes(n, copied->of.group, copied->of.variable, k->variable);
    char *at = k->values;

    for (int i = 0; i < list.n && !s; i++) {
        const struct piece *const p = &list.at[i];
        s = tl_part_whole(p->part, &p->of);
        if (!s && p->count)
            s = tl_netcdf_status(
                f, tl_nc.nc_get_vara(p->of.group, p->of.variable, &(size_t){0}, &p->count, at),
                name);
        at += p->count * tally_dtype_size(tl_packed_dtype(list.type));
    }
    if (s) k->bytes = 0; /* its values are not written */
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

/* Finds a dimension by its name, or defines one, as in "bnds=2". *count is multiplied by its
 * length. */
static tally_status dimension(const tally_file *f, const tl_netcdf_new *n, char *name, int *dim,
                              size_t *count)
{
    size_t stated = 0, length = 0;
    int error = tl_nc.nc_inq_dimid(n->file, name, dim);
    char *const equals = strchr(name, '=');
    if (error && equals && equals[1] && !equals[1 + strspn(equals + 1, "0123456789")]) {
        *equals = 0;
        stated = strtoull(equals + 1, NULL, 10);
        error = tl_nc.nc_inq_dimid(n->file, name, dim);
        if (error && stated) error = tl_nc.nc_def_dim(n->file, name, stated, dim);
    }
    if (!error) error = tl_nc.nc_inq_dim(n->file, *dim, NULL, &length);
    if (error) return tl_netcdf_status(f, error, name);

    for (int d = 0; d < f->info.ndim; d++)
        if (n->dims[d] == *dim && f->info.shape[d] < 0)
            return tl_invalid_on(f, "the length of %s is not known yet", name);
        else if (n->dims[d] == *dim)
            length = (size_t)f->info.shape[d];
    if (stated && stated != length)
        return tl_invalid_on(f, "the length of %s is %zu: the file has %zu", name, stated, length);
    if (__builtin_mul_overflow(*count, length, count))
        return tl_invalid_on(f, "%s is too long", name);

    return TALLY_OK;
}

/* Defines a variable: with values, or of the shape of the first. */
static tally_status define(const tally_file *f, tl_netcdf_new *n, const char *names,
                           tl_netcdf_variable *of, const void *values)
{
    char name[NC_MAX_NAME + 1], first[NC_MAX_NAME + 1];
    size_t bytes = tally_dtype_size(tl_packed_dtype(of->type));
    int there;
    tl_netcdf_kept *k;
    for (int d = 0; d < of->ndims && values; d++)
        TL_TRY(dimension(f, n, (char *)(size_t)tl_netcdf_copy_name(names, d + 1, name),
                         &of->dims[d], &bytes));
    tl_netcdf_copy_name(names, 0, of->name);
    if (!tl_nc.nc_inq_varid(n->file, of->name, &there))
        return tl_invalid_on(f, "name is '%s', and there is a variable of that name", of->name);
    if (!values) memcpy(of->dims, n->dims, sizeof of->dims);
    for (int d = 1; d <= of->ndims && !values; d++)
        if (strcmp(tl_netcdf_copy_name(names, d, name), tl_netcdf_copy_name(n->names, d, first)))
            return tl_invalid_on(f, "name is '%.100s': dimension %d must be %s", names, d - 1,
                                 first);
    TL_TRY(add(f, n, of, values ? bytes : 0, &k));
    if (values) memcpy(k->values, values, bytes);
    if (!values) n->results++, k->is_result = 1;

    return TALLY_OK;
}

/* Defines the variable of `names`, such as "bounds(lat, bnds=2)". */
static tally_status add_variable(tally_file *f, const char *names, tally_dtype dtype,
                                 const void *values)
{
    tl_netcdf_new *const n = f->writer->netcdf;
    TL_TRY(tl_check_host(f, values, "values"));
    tl_netcdf_variable of = {.type = tl_netcdf_type(dtype), .ndims = tl_netcdf_count_names(names)};
    if (of.ndims < 0 || (!values && of.ndims != f->info.ndim))
        return tl_invalid_on(
            f, "name is '%.100s', which is no name of a variable and its dimensions", names);
    if (!of.type)
        return tl_unsupported_on(f, "%s has no type %s", f->info.format,
                                 tally_dtype_name(dtype) ? tally_dtype_name(dtype)
                                                         : "of that number");
    tl_netcdf_lock();
    tally_status s = tl_netcdf_define(f, n);
    if (!s) s = define(f, n, names, &of, values);
    tl_netcdf_unlock();

    return s;
}

/* ---- the functions of tally_file.h ---- */

tally_status tally_file_coordinate(tally_file *f, const char *name, int dimension,
                                   tally_dtype dtype, const void *values)
{
    char names[2 * NC_MAX_NAME + 4], of[NC_MAX_NAME + 1];
    TL_TRY(tl_check_netcdf(f));
    if (!name) return tl_invalid(f->ctx, "name is NULL");
    if (!values) return tl_invalid(f->ctx, "values is NULL");
    if (dimension < 0 || dimension >= f->info.ndim)
        return tl_invalid_on(f, "dimension is %d: must be 0..%d", dimension, f->info.ndim - 1);
    snprintf(names, sizeof names, "%.*s(%s)", NC_MAX_NAME + 1, name,
             tl_netcdf_copy_name(f->writer->netcdf->names, dimension + 1, of));

    return add_variable(f, names, dtype, values);
}

tally_status tally_file_variable(tally_file *f, const char *names, tally_dtype dtype,
                                 const void *values)
{
    TL_TRY(tl_check_netcdf(f));
    if (!names) return tl_invalid(f->ctx, "names is NULL");
    return add_variable(f, names, dtype, values);
}

tally_status tally_file_attribute(tally_file *f, const char *variable, const char *name,
                                  const char *text)
{
    int id = NC_GLOBAL, error = 0;
    TL_TRY(tl_check_netcdf(f));
    if (!name || !text) return tl_invalid(f->ctx, "name or text is NULL");
    tl_netcdf_new *const n = f->writer->netcdf;
    tl_netcdf_lock();
    tally_status s = tl_netcdf_define(f, n);
    if (!s && variable) error = tl_nc.nc_inq_varid(n->file, variable, &id);
    if (!s && !error) error = tl_nc.nc_put_att_text(n->file, id, name, strlen(text), text);
    if (!s) s = tl_netcdf_status(f, error, name);
    tl_netcdf_unlock();

    return s;
}

tally_status tally_file_like(tally_file *f, const tally_file *source)
{
    TL_TRY(tl_check_netcdf(f));
    if (!source || !source->netcdf)
        return tl_invalid(f->ctx, "source is not a NetCDF file that is open for reading");
    tl_netcdf_lock();
    tally_status s = copy_coordinates(f, f->writer->netcdf, source);
    tl_netcdf_unlock();
    return s;
}

tally_status tally_file_fill(tally_file *f, const void *value)
{
    TL_TRY(tl_check_netcdf(f));
    if (!value) return tl_invalid(f->ctx, "value is NULL");
    TL_TRY(tl_check_host(f, value, "value"));
    tl_netcdf_new *const n = f->writer->netcdf;
    const tl_netcdf_kept *last = n->coordinates;
    while (last && last->next) last = last->next;
    if (last && last->is_result) {
        tl_netcdf_lock();
        const int error = tl_nc.nc_def_var_fill(n->file, last->variable, 0, value);
        tl_netcdf_unlock();
        return tl_netcdf_status(f, error, "_FillValue");
    }

    if (n->defined) return tl_invalid_on(f, "the value for none comes before coordinates");
    memcpy(n->fill, value, tally_dtype_size(f->info.dtype));
    n->fills = 1;
    return TALLY_OK;
}

/* SPDX-License-Identifier: MIT
 * Facts of HDF5 files that libnetcdf does not give: the types of the arrays that it does not show
 * (it shows arrays of numbers and text, and those whose type has a name in the file), and the
 * stored lengths of the arrays that it shows. */
#include "netcdf.h"
#include <stdio.h>

/* in the order of H5T_class_t; NULL: libnetcdf shows these */
static const char *const kinds[] = {
    [2] = "times",
    [4] = "bit fields",
    [5] = "opaque bytes",
    [6] = "values of a compound type, which has several fields (h5py writes complex numbers so)",
    [7] = "references",
    [8] = "values of an enumeration (h5py writes booleans so)",
    [9] = "rows that differ in length",
    [10] = "arrays"};

static const char *kind_of(const tl_hdf5_api *h, int64_t file, const char *name)
{
    const int64_t set = h->H5Dopen2(file, name, 0), type = set < 0 ? -1 : h->H5Dget_type(set);
    const int kind = type < 0 ? -1 : h->H5Tget_class(type);
    if (type >= 0) h->H5Tclose(type);
    if (set >= 0) h->H5Dclose(set);
    return kind >= 0 && kind < (int)(sizeof kinds / sizeof *kinds) ? kinds[kind] : NULL;
}

const char *tl_hdf5_kind(const char *path, const char *name, char *found, size_t capacity)
{
    const tl_hdf5_api *const h = tl_hdf5_library();
    const char *kind = NULL;
    const int64_t file = h ? h->H5Fopen(path, 0, 0) : -1;
    if (file < 0) return NULL;

    if (name) {
        kind = kind_of(h, file, name);
        snprintf(found, capacity, "%s", name);
    }

    for (uint64_t i = 0; !name && !kind; i++) {
        if (h->H5Lget_name_by_idx(file, ".", 0, 0, i, found, capacity, 0) <= 0) break;
        kind = kind_of(h, file, found);
    }

    h->H5Fclose(file);
    return kind;
}

int tl_hdf5_extents(const tl_netcdf_api *api, const char *path, int group, const char *name,
                    uint64_t *extents)
{
    const tl_hdf5_api *const h = tl_hdf5_library();
    char full[4 * NC_MAX_NAME];
    size_t n;
    int ndim = -1;

    if (!h || api->nc_inq_grpname_full(group, &n, NULL) || n + NC_MAX_NAME + 2 > sizeof full ||
        api->nc_inq_grpname_full(group, &n, full))
        return 0;
    snprintf(full + n, sizeof full - n, "/%s", name);
    const int64_t file = h->H5Fopen(path, 0, 0), set = file < 0 ? -1 : h->H5Dopen2(file, full, 0),
                  space = set < 0 ? -1 : h->H5Dget_space(set);
    if (space >= 0) ndim = h->H5Sget_simple_extent_ndims(space);
    if (ndim > TL_DIMS) ndim = 0;
    if (ndim > 0 && h->H5Sget_simple_extent_dims(space, extents, NULL) < 0) ndim = 0;
    if (space >= 0) h->H5Sclose(space);
    if (set >= 0) h->H5Dclose(set);
    if (file >= 0) h->H5Fclose(file);

    return ndim < 0 ? 0 : ndim;
}

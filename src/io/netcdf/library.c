/* SPDX-License-Identifier: MIT
 * Opens libnetcdf, once per process, and guards every call of it: one thread at a time, with HDF5's
 * error messages off. At the end: facts of HDF5 files that libnetcdf does not give. */
#include "netcdf.h"
#include "store/store.h"
#include "context/threads.h"
#include <dlfcn.h>
#include <stdio.h>

TL_OPENS("netcdf", "NetCDF and HDF5 files",
         "\"libnetcdf.so.22\",\"libnetcdf.so.19\",\"libnetcdf.so.18\",\"libnetcdf.so.15\"");

/* The functions of HDF5 (by which libnetcdf reads NetCDF-4) that libnetcdf does not offer itself.
 * An identifier (hid_t) is an int64_t since HDF5 1.10. */
typedef int tl_hdf5_reporter(int64_t stack, void *data);
#define HDF5_CALLS(CALL) \
    CALL(int, H5get_libversion, (unsigned *major, unsigned *minor, unsigned *release)) \
    CALL(int, H5Eget_auto2, (int64_t stack, tl_hdf5_reporter * *report, void **data)) \
    CALL(int, H5Eset_auto2, (int64_t stack, tl_hdf5_reporter * report, void *data)) \
    CALL(int64_t, H5Fopen, (const char *path, unsigned flags, int64_t access)) \
    CALL(int, H5Fclose, (int64_t file)) \
    CALL(ptrdiff_t, H5Lget_name_by_idx, \
         (int64_t file, const char *group, int index, int order, uint64_t number, char *name, \
          size_t capacity, int64_t access)) \
    CALL(int64_t, H5Dopen2, (int64_t file, const char *name, int64_t access)) \
    CALL(int64_t, H5Dget_type, (int64_t set)) \
    CALL(int64_t, H5Dget_space, (int64_t set)) \
    CALL(int, H5Dclose, (int64_t set)) \
    CALL(int, H5Sget_simple_extent_ndims, (int64_t space)) \
    CALL(int, H5Sget_simple_extent_dims, (int64_t space, uint64_t * extents, uint64_t * most)) \
    CALL(int, H5Sclose, (int64_t space)) \
    CALL(int, H5Tget_class, (int64_t type)) \
    CALL(int, H5Tclose, (int64_t type))

typedef struct {
#define DECLARE(result, name, parameters) result(*name) parameters;
    HDF5_CALLS(DECLARE)
#undef DECLARE
} tl_hdf5_api;

tl_netcdf_api tl_nc;
static tl_hdf5_api hdf5; /* a function that is missing is NULL */
static int has_hdf5;     /* 1: libnetcdf has HDF5, and it is not too old */
static char reason[200];

/* HDF5 prints every error unless its reporter is NULL. Each thread has its own, and libnetcdf
 * clears only that of the thread that called it first. Identifier 0 is the calling thread's stack
 * of errors. */
/* the reporter of the thread that holds the lock, as it was before */
static tl_hdf5_reporter *callers;
static void *callers_data;
static int has_handler;

void tl_netcdf_lock(void)
{
    tl_lock_take(TL_LOCK_NETCDF);
    if (!hdf5.H5Eget_auto2 || !hdf5.H5Eset_auto2) return;
    has_handler = hdf5.H5Eget_auto2(0, &callers, &callers_data) >= 0;
    hdf5.H5Eset_auto2(0, NULL, NULL);
}

void tl_netcdf_unlock(void)
{
    if (has_handler) hdf5.H5Eset_auto2(0, callers, callers_data);
    has_handler = 0;
    tl_lock_release(TL_LOCK_NETCDF);
}

static int find_hdf5(void *library)
{
    unsigned major, minor, release;
    int whole = 1;
#define FIND(result, name, parameters) \
    *(void **)&hdf5.name = dlsym(library, #name); \
    whole &= hdf5.name != NULL;
    HDF5_CALLS(FIND)
#undef FIND
    return whole && hdf5.H5get_libversion(&major, &minor, &release) >= 0 &&
           (major > 1 || minor >= 10);
}

static int open_library(void)
{
    static const char *const names[] = {"libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so.18",
                                        "libnetcdf.so.15", "libnetcdf.so"};
    void *library = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    int whole = library != NULL;
    snprintf(reason, sizeof reason, "libnetcdf is not here (Debian: libnetcdf19)");
#define FIND(result, name, parameters) \
    if (whole && !(*(void **)&tl_nc.name = dlsym(library, #name))) { \
        whole = 0; \
        snprintf(reason, sizeof reason, "libnetcdf has no function " #name ": it is too old"); \
    }
    NETCDF_CALLS(FIND)
#undef FIND
    if (whole) has_hdf5 = find_hdf5(library); /* finds the HDF5 that libnetcdf uses, if any */
    return whole;
}

const char *tl_netcdf_library(void)
{
    static int done, whole;
    tl_lock_take(TL_LOCK_NETCDF);
    if (!done) whole = open_library();
    done = 1;
    tl_lock_release(TL_LOCK_NETCDF);
    return whole ? NULL : reason;
}

/* ---- HDF5: the types of the arrays that libnetcdf does not show, and the stored lengths of those
 * that it shows (arrays of numbers and text, and those whose type has a name in the file) ---- */

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

static const char *kind_of(int64_t file, const char *name)
{
    const int64_t set = hdf5.H5Dopen2(file, name, 0), type = set < 0 ? -1 : hdf5.H5Dget_type(set);
    const int kind = type < 0 ? -1 : hdf5.H5Tget_class(type);
    if (type >= 0) hdf5.H5Tclose(type);
    if (set >= 0) hdf5.H5Dclose(set);
    return kind >= 0 && kind < (int)(sizeof kinds / sizeof *kinds) ? kinds[kind] : NULL;
}

const char *tl_hdf5_kind(const char *path, const char *name, char found[NC_MAX_NAME + 1])
{
    const char *kind = NULL;
    const int64_t file = has_hdf5 ? hdf5.H5Fopen(path, 0, 0) : -1;
    if (file < 0) return NULL;

    if (name) {
        kind = kind_of(file, name);
        snprintf(found, NC_MAX_NAME + 1, "%s", name);
    }

    for (uint64_t i = 0; !name && !kind; i++) {
        if (hdf5.H5Lget_name_by_idx(file, ".", 0, 0, i, found, NC_MAX_NAME + 1, 0) <= 0) break;
        kind = kind_of(file, found);
    }

    hdf5.H5Fclose(file);
    return kind;
}

int tl_hdf5_extents(const char *path, int group, const char *name, uint64_t *extents)
{
    char full[4 * NC_MAX_NAME];
    size_t n;
    int ndim = 0;

    if (!has_hdf5 || tl_nc.nc_inq_grpname_full(group, &n, NULL) ||
        n + NC_MAX_NAME + 20 > sizeof full || tl_nc.nc_inq_grpname_full(group, &n, full))
        return 0;
    const int64_t file = hdf5.H5Fopen(path, 0, 0);
    int64_t set = -1;

    /* the prefix: a dimension that is not the variable's own has its name */
    for (int i = 0; i < 2 && file >= 0 && set < 0; i++) {
        snprintf(full + n, sizeof full - n, "/%s%s", i ? "" : "_nc4_non_coord_", name);
        set = hdf5.H5Dopen2(file, full, 0);
    }
    const int64_t space = set < 0 ? -1 : hdf5.H5Dget_space(set);
    if (space >= 0) ndim = hdf5.H5Sget_simple_extent_ndims(space);
    if (ndim < 0 || ndim > TL_DIMS ||
        (ndim && hdf5.H5Sget_simple_extent_dims(space, extents, NULL) < 0))
        ndim = 0;
    if (space >= 0) hdf5.H5Sclose(space);
    if (set >= 0) hdf5.H5Dclose(set);
    if (file >= 0) hdf5.H5Fclose(file);
    return ndim;
}

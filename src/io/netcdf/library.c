/* SPDX-License-Identifier: MIT
 * Opens libnetcdf, once per process, and guards every call of it: one thread at a time, with HDF5's
 * error messages off. */
#include "netcdf.h"
#include "store/note.h"
#include "context/threads.h"
#include <dlfcn.h>
#include <stdio.h>

TL_OPENS("netcdf", "NetCDF and HDF5 files",
         "\"libnetcdf.so.22\",\"libnetcdf.so.19\",\"libnetcdf.so.18\",\"libnetcdf.so.15\"");

static tl_netcdf_api calls;
static tl_hdf5_api hdf5; /* a function that is missing is NULL */
static int has_hdf5;
static char reason[200];

/* HDF5 prints every error on standard error unless its reporter is NULL. Each thread has its own
 * reporter, and libnetcdf clears only that of the thread that called it first. The identifier 0
 * is the calling thread's stack of errors. */
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

const tl_hdf5_api *tl_hdf5_library(void) { return has_hdf5 ? &hdf5 : NULL; }

static int find_hdf5(void *library)
{
    unsigned major, minor, release;
    int whole = 1;
#define FIND(result, name, parameters)                                                             \
    *(void **)&hdf5.name = dlsym(library, #name);                                                  \
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
#define FIND(result, name, parameters)                                                             \
    if (whole && !(*(void **)&calls.name = dlsym(library, #name))) {                               \
        whole = 0;                                                                                 \
        snprintf(reason, sizeof reason, "libnetcdf has no function " #name ": it is too old");     \
    }
    NETCDF_CALLS(FIND)
#undef FIND
    if (whole) has_hdf5 = find_hdf5(library); /* finds the HDF5 that libnetcdf uses, if any */

    return whole;
}

const tl_netcdf_api *tl_netcdf_library(const char **why)
{
    static int done, whole;
    tl_lock_take(TL_LOCK_NETCDF);
    if (!done) whole = open_library();
    done = 1;
    tl_lock_release(TL_LOCK_NETCDF);
    *why = reason;
    return whole ? &calls : NULL;
}

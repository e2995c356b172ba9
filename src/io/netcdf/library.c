/* SPDX-License-Identifier: MIT
 * Opens libnetcdf, once for each process. */
#include "netcdf.h"
#include "store/note.h"
#include "context/threads.h"
#include <dlfcn.h>
#include <stdio.h>

TL_OPENS("netcdf", "NetCDF and HDF5 files",
         "\"libnetcdf.so.22\",\"libnetcdf.so.19\",\"libnetcdf.so.18\",\"libnetcdf.so.15\"");

static tl_netcdf_api calls;
static char reason[200];

const tl_netcdf_api *tl_netcdf_library(const char **why)
{
    static const char *const names[] = {"libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so.18",
                                        "libnetcdf.so.15", "libnetcdf.so"};
    static int done, whole;
    tl_lock_take(TL_LOCK_NETCDF);
    if (!done) {
        void *library = NULL;
        done = 1;
        for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
            library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        whole = library != NULL;
        snprintf(reason, sizeof reason, "libnetcdf is not here (Debian: libnetcdf19)");
#define FIND(result, name, parameters)                                                             \
    if (whole && !(*(void **)&calls.name = dlsym(library, #name))) {                               \
        whole = 0;                                                                                 \
        snprintf(reason, sizeof reason, "libnetcdf has no function " #name ": it is too old");     \
    }
        NETCDF_CALLS(FIND)
#undef FIND
    }
    tl_lock_release(TL_LOCK_NETCDF);
    *why = reason;
    return whole ? &calls : NULL;
}

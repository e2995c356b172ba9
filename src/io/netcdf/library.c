/* SPDX-License-Identifier: MIT
 * Opens libnetcdf, once for each process, and guards every call to it: one thread at a time, and
 * HDF5 prints nothing. */
#include "netcdf.h"
#include "store/note.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

TL_OPENS("netcdf", "NetCDF and HDF5 files",
         "\"libnetcdf.so.22\",\"libnetcdf.so.19\",\"libnetcdf.so.18\",\"libnetcdf.so.15\"");

static tl_netcdf_api calls;
static char reason[200];

/* HDF5 prints every error on standard error, unless its reporter is NULL. It has one for each
 * thread, and libnetcdf clears only that of the thread that called it first. The functions are
 * those of HDF5 1.8 and later; an identifier of 0 is the thread's own stack of errors. */
typedef int reporter(int64_t stack, void *data);
static int (*get_reporter)(int64_t stack, reporter **report, void **data);
static int (*set_reporter)(int64_t stack, reporter *report, void *data);

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static reporter *callers; /* the reporter of the thread whose turn it is, as it was before */
static void *callers_data;
static int known;

void tl_netcdf_lock(void)
{
    pthread_mutex_lock(&turn);
    known = get_reporter && set_reporter && get_reporter(0, &callers, &callers_data) >= 0;
    if (set_reporter) set_reporter(0, NULL, NULL);
}

void tl_netcdf_unlock(void)
{
    if (known) set_reporter(0, callers, callers_data);
    pthread_mutex_unlock(&turn);
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
    if (whole) { /* of the HDF5 that libnetcdf uses, if it uses one */
        *(void **)&get_reporter = dlsym(library, "H5Eget_auto2");
        *(void **)&set_reporter = dlsym(library, "H5Eset_auto2");
    }
    return whole;
}

const tl_netcdf_api *tl_netcdf_library(const char **why)
{
    static int done, whole;
    pthread_mutex_lock(&turn);
    if (!done) whole = open_library();
    done = 1;
    pthread_mutex_unlock(&turn);
    *why = reason;
    return whole ? &calls : NULL;
}

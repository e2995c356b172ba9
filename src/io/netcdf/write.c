/* SPDX-License-Identifier: MIT
 * Writes a new NetCDF file of one variable and the coordinates of its dimensions, by libnetcdf:
 * CDF-5 (64-bit data), which every libnetcdf since 4.4 reads, or NetCDF-4, which is HDF5.
 *
 *    name                           sets names; the first coordinate (coordinate.c), the first
 *                                   element or the end defines the variable
 *    put                            writes elements, in order
 *    finish                         closes the file
 *
 * libnetcdf opens the file by its name, so the file always has one (put.c). */
#define _GNU_SOURCE
#include "netcdf.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 1 << 20, /* bytes that are stored together if the first length is 0 or not known */
    /* more bytes than a file has besides its elements: headers, part of a chunk */
    AROUND = 4 * CHUNK
};

tally_status tl_netcdf_status(const tally_file *f, int error, const char *doing)
{
    if (!error) return TALLY_OK;
    const char *const why = error > 0 ? strerror(error) : tl_nc.nc_strerror(error);
    return tl_fail_on(f, TALLY_IO, "%s: %s", doing, why);
}

/* ---- names ---- */

/* Finds a name in "mean(lat, lon)": number 0 is the variable, the others are the dimensions. */
static size_t name_of(const char *names, int number, const char **name)
{
    assert(number >= 0);
    for (; number; number--) names += strcspn(names, "(,") + 1;
    *name = names + strspn(names, " ");
    return strcspn(*name, "(,)");
}

static int is_name(const char *name, size_t n)
{
    if (!n || n > NC_MAX_NAME || name[n - 1] == ' ' ||
        strchr("!\"#$%&'*+,-.:;<=>?@[\\]^`{|}~ ", *name))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (name[i] == '/' || name[i] == 127 || (name[i] > 0 && name[i] < 32)) return 0;
    return 1;
}

int tl_netcdf_count_names(const char *names)
{
    const char *at = names;
    for (int d = 0; d <= TL_DIMS; d++) {
        if (d && *at++ != (d == 1 ? '(' : ',')) return -1;
        at += d ? strspn(at, " ") : 0;
        const size_t n = strcspn(at, "(,)");
        if (!is_name(at, n)) return -1;
        for (int k = 1; k < d; k++) { /* two dimensions with one name are the same dimension */
            const char *other;
            if (name_of(names, k, &other) == n && !memcmp(other, at, n)) return -1;
        }

        at += n;
        if (!strcmp(at, d ? ")" : "()")) return d;
    }
    return -1;
}

tally_status tl_netcdf_set_names(tally_file *f, tl_netcdf_new *n, const char *names)
{
    if (n->defined) return tl_invalid_on(f, "the names come first");
    if (tl_netcdf_count_names(names) != f->info.ndim)
        return tl_invalid_on(f,
                             "line is '%.100s': must be the name of the variable and of %d "
                             "dimensions, like mean(lat, lon)",
                             names, f->info.ndim);
    char *const copy = strdup(names);
    if (!copy) return tl_no_memory(f->ctx, strlen(names), "the names of the dimensions");
    free(n->names);
    n->names = copy;

    return TALLY_OK;
}

/* ---- definitions: the caller holds the lock ---- */

int tl_netcdf_type(tally_dtype dtype)
{
    for (int type = NC_BYTE; type <= NC_UINT64; type++)
        if (type != NC_CHAR && tl_packed_dtype(type) == dtype) return type;
    return 0;
}

const char *tl_netcdf_copy_name(const char *names, int number, char *out)
{
    const char *name;
    const size_t n = name_of(names, number, &name);
    memcpy(out, name, n);
    out[n] = 0;
    return out;
}

tally_status tl_netcdf_define(const tally_file *f, tl_netcdf_new *n)
{
    const int ndim = f->info.ndim;
    char name[NC_MAX_NAME + 1];

    /* a chunk has about CHUNK bytes; bytes: of one step of the first dimension in it */
    size_t bytes = tally_dtype_size(f->info.dtype), chunk[TL_DIMS];
    int error = 0;

    if (n->defined) return TALLY_OK;

    for (int d = 0; d < ndim && !error; d++) {
        /* length of the dimension; the first one may be 0, or unknown (-1) */
        const int64_t length = f->info.shape[d];
        error = tl_nc.nc_def_dim(n->file, tl_netcdf_copy_name(n->names, d + 1, name),
                                 length > 0 ? (size_t)length : NC_UNLIMITED, &n->dims[d]);
        if (d) bytes *= chunk[d] = length < CHUNK ? (size_t)length : CHUNK;
        if (d && bytes > CHUNK) chunk[d] = 1 + (chunk[d] - 1) / (bytes / CHUNK), bytes = CHUNK;
    }

    chunk[0] = bytes < CHUNK ? CHUNK / bytes : 1;
    if (!error)
        error = tl_nc.nc_def_var(n->file, tl_netcdf_copy_name(n->names, 0, name),
                                 tl_netcdf_type(f->info.dtype), ndim, n->dims, &n->variable);

    /* chunks of a reasonable size instead of the library's 4 KiB; a classic file has no chunks */
    if (!error && ndim && f->info.shape[0] <= 0)
        tl_nc.nc_def_var_chunking(n->file, n->variable, 0, chunk);
    if (!error)
        error = tl_nc.nc_def_var_fill(n->file, n->variable, !n->fills, n->fills ? n->fill : NULL);
    n->defined = !error;
    return tl_netcdf_status(f, error, n->names);
}

/* Reserves disk space. Returns an error number if there is too little. Some file systems cannot
 * reserve (EOPNOTSUPP). */
static int allocate(int fd, int64_t bytes)
{
    struct rlimit most; /* fallocate ignores this limit if the file keeps its size */
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        (rlim_t)bytes > most.rlim_cur)
        return EFBIG;
    while (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0)
        if (errno != EINTR) return errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? errno : 0;
    return 0;
}

/* Reserves disk space up to element number `elements`: HDF5 1.10 crashes at the end of the process
 * after a failed write. */
static tally_status reserve(tally_file *f, tl_netcdf_new *n, int64_t elements)
{
    assert(elements >= 0);
    int64_t bytes = elements * (int64_t)tally_dtype_size(f->info.dtype) + AROUND;
    for (const tl_netcdf_kept *k = n->coordinates; k; k = k->next)
        bytes +=
            (int64_t)k->bytes + (k->is_result ? elements * (int64_t)tally_dtype_size(k->dtype) : 0);
    if (bytes <= n->reserved) return TALLY_OK;
    int64_t more = f->info.shape[0] < 0 ? bytes / 2 : 0; /* elements may follow */
    int error = allocate(f->fd, bytes + more);
    if (error && more) more = 0, error = allocate(f->fd, bytes);
    n->reserved = bytes + more;
    return tl_netcdf_status(f, error, "writing");
}

/* Releases the reserved space after the end of the file. */
static void release(const tally_file *f)
{
    struct stat st;

    /* a failure only leaves the space reserved */
    if (fstat(f->fd, &st) == 0 && ftruncate(f->fd, st.st_size) != 0) errno = 0;
}

/* Ends the definitions and writes the values of the coordinates. */
static tally_status begin_data(const tally_file *f, tl_netcdf_new *n)
{
    if (n->data) return TALLY_OK;
    TL_TRY(tl_netcdf_define(f, n));
    int error = tl_nc.nc_enddef(n->file);
    for (const tl_netcdf_kept *k = n->coordinates; k && !error; k = k->next)
        error = k->bytes ? tl_nc.nc_put_var(n->file, k->variable, k->values) : 0;
    n->data = !error;
    return tl_netcdf_status(f, error, "writing");
}

/* ---- called by io/write.c ---- */

tally_status tl_netcdf_create(tally_file *f, const char *path, int hdf5, tl_netcdf_new **created)
{
    const char *const why = tl_netcdf_library();
    int error, at;

    *created = NULL;
    if (why) return tl_unsupported_on(f, "NetCDF and HDF5 are written by libnetcdf: %s", why);
    if (!tl_netcdf_type(f->info.dtype))
        return tl_unsupported_on(f, "%s has no type %s", f->info.format,
                                 tally_dtype_name(f->info.dtype));

    for (int d = 1; d < f->info.ndim; d++)
        /* in the file, a length of 0 would mean the number of records */
        if (f->info.shape[d] == 0)
            return tl_unsupported_on(f, "shape[%d] is 0: in %s only the first may be", d,
                                     f->info.format);

    tl_netcdf_new *const n = *created = calloc(1, sizeof *n);
    char *const names = malloc(sizeof "data()" + TL_DIMS * sizeof "dim0, ");
    if (!n || !names) {
        free(names);
        return tl_no_memory(f->ctx, sizeof *n, "a NetCDF file");
    }

    n->names = names;
    n->results = 1;
    at = sprintf(names, "data(");
    for (int d = 0; d < f->info.ndim; d++) at += sprintf(names + at, "%sdim%d", d ? ", " : "", d);
    strcpy(names + at, ")");
    tl_netcdf_lock();
    error = tl_nc.nc_create(path, hdf5 ? NC_NETCDF4 : NC_64BIT_DATA, &n->file);
    tl_netcdf_unlock();
    n->open = !error;
    return tl_netcdf_status(f, error, "creating");
}

tally_status tl_netcdf_put_box(tally_file *f, tl_netcdf_new *n, const tl_netcdf_kept *variable,
                               const int64_t *start, const int64_t *count, const void *data)
{
    const int id = variable ? variable->variable : n->variable;
    size_t from[TL_DIMS] = {0}, box[TL_DIMS] = {0};
    int64_t last = 0, rest = 1; /* the elements up to the end of the box */
    for (int d = f->info.ndim - 1; d >= 0; d--) {
        from[d] = (size_t)start[d];
        box[d] = (size_t)count[d];
        last += (start[d] + count[d] - 1) * rest;
        rest *= f->info.shape[d];
    }

    tl_netcdf_lock();
    tally_status s = reserve(f, n, f->info.elements < 0 ? last + 1 : f->info.elements);
    if (!s) s = begin_data(f, n);
    if (!s) s = tl_netcdf_status(f, tl_nc.nc_put_vara(n->file, id, from, box, data), "writing");
    tl_netcdf_unlock();
    return s;
}

tally_status tl_netcdf_put(tally_file *f, tl_netcdf_new *n, const char *data, int64_t elements)
{
    assert(elements >= 0);
    int64_t shape[TL_DIMS], start[TL_DIMS], count[TL_DIMS];
    tally_status s = TALLY_OK;
    for (int d = 0; d < f->info.ndim; d++)
        shape[d] = f->info.shape[d] < 0 ? INT64_MAX : f->info.shape[d];
    for (int64_t now; elements && !s; elements -= now, n->next += now) {
        now = tl_netcdf_box(f->info.ndim, shape, n->next, elements, start, count);
        s = tl_netcdf_put_box(f, n, NULL, start, count, data);
        data += now * (int64_t)tally_dtype_size(f->info.dtype);
    }

    return s;
}

tally_status tl_netcdf_finish(tally_file *f, tl_netcdf_new *n)
{
    tl_netcdf_lock();
    tally_status s = reserve(f, n, 0);
    if (!s) s = begin_data(f, n);
    const int error = tl_nc.nc_close(n->file);
    n->open = 0;
    release(f);
    if (!s) s = tl_netcdf_status(f, error, "closing");
    tl_netcdf_unlock();
    return s;
}

void tl_netcdf_drop(tl_netcdf_new *n)
{
    if (!n) return;
    tl_netcdf_lock();
    if (n->open) tl_nc.nc_close(n->file);
    tl_netcdf_unlock();

    for (tl_netcdf_kept *k = n->coordinates, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(n->names);
    free(n);
}

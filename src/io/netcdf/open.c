/* SPDX-License-Identifier: MIT
 * Opens one variable of a NetCDF file, or of several files that are joined along a dimension, in
 * all formats that libnetcdf reads: classic, 64-bit, netCDF-4, and HDF5 files of plain arrays.
 * unpack.c converts packed values. */
#define _GNU_SOURCE
#include "netcdf.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most bytes of chunks that stay in memory, and the bytes that HDF5 needs to find each
 * chunk. */
enum { CACHE_MOST = 512 << 20, CACHE_EACH = 512 };

static void netcdf_end(tally_file *f)
{
    tl_netcdf *const n = f->netcdf;
    for (int i = 0; i < n->count; i++) {
        if (n->parts[i].open) {
            tl_netcdf_lock();
            tl_nc.nc_close(n->parts[i].file);
            tl_netcdf_unlock();
        }

        tl_classic_free(&n->parts[i].header);
        free((char *)(uintptr_t)n->parts[i].of.label);
    }

    for (int d = 0; d < TL_DIMS; d++) free(n->names[d]);
    free(n->variable);
    for (int i = 0; i < 5; i++) free(n->text[i]);
    free(n->parts);
    free(n);
}

/* ---- locked ---- */

/* Checks a file before libnetcdf reads it: it must not be classic, or must have a correct
 * header. */
static tally_status check_file(tl_part *p)
{
    const tl_source *const of = &p->of;
    char magic[3];
    struct stat st; /* libnetcdf would download a URL */
    if (stat(of->label, &st) != 0) return tl_fail_on(of, TALLY_IO, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return tl_fail_on(of, TALLY_IO, "must be a file");
    if (st.st_size == 0) return tl_bad_data_on(of, "is empty: it has 0 bytes");
    const int fd = open(of->label, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tl_fail_on(of, TALLY_IO, "%s", strerror(errno));
    const int classic = pread(fd, magic, 3, 0) == 3 && !memcmp(magic, "CDF", 3),
              good = !classic || tl_classic_read(fd, st.st_size, &p->header);
    close(fd);
    return good ? TALLY_OK : tl_bad_data_on(of, "is no NetCDF file: %s", p->header.why);
}

/* Reads the shape of a part. That of the first part becomes the array's; the shape of another part
 * may differ from it only along the join. */
static tally_status read_shape(tally_file *f, tl_part *p, const tl_netcdf_variable *v,
                               const tally_file_options *o)
{
    tl_netcdf *const n = f->netcdf;
    const tl_part *const first = n->parts;
    const char *const along = n->count > 1 ? o->along : NULL;
    char name[NC_MAX_NAME + 1], other[400];
    size_t lengths[TL_DIMS];

    if (p == first) {
        n->join = along ? -1 : 0;
        f->info.ndim = v->ndims;
    }
    int same = v->ndims == f->info.ndim;

    for (int d = 0; d < v->ndims && same; d++) {
        const int error = tl_nc.nc_inq_dim(p->of.group, v->dims[d], name, &lengths[d]);
        if (error || lengths[d] > INT64_MAX)
            return tl_bad_data_on(&p->of, "dimension %d: %s", d, tl_nc.nc_strerror(error));
        if (p == first) {
            f->info.shape[d] = (int64_t)lengths[d];
            if (!(n->names[d] = strdup(name)))
                return tl_no_memory(f->ctx, strlen(name) + 1, "a dimension's name");
            if (along && !strcmp(name, along)) n->join = d;
        }
        same = strcmp(name, n->names[d]) == 0 &&
               (d == n->join || f->info.shape[d] == (int64_t)lengths[d]);
    }

    if (!same) {
        tl_netcdf_describe(first->of.group, first->of.variable, other, sizeof other);
        return tl_invalid_on(&p->of,
                             "%s cannot be joined with %s of %s: only the length of %s may differ",
                             n->what, other, first->of.label, n->names[n->join]);
    }
    if (n->join < 0)
        return tl_invalid_on(&p->of, "%s has no dimension '%s', along which files could be joined",
                             n->what, along);

    memcpy(p->dims, v->dims, sizeof p->dims);
    p->length = v->ndims ? (int64_t)lengths[n->join] : 1;
    return TALLY_OK;
}

/* Finds the chunks of the variable, and the memory of a layer: all chunks with the same position
 * along dimension 0. Without chunks, or if a layer does not fit `memory` (0: the default),
 * layer_bytes stays 0. `bytes` and `count` saturate above CACHE_MOST. */
static void find_chunks(tally_file *f, tl_part *p, int64_t memory)
{
    const tl_netcdf *const n = f->netcdf;
    const size_t keep = memory > 0 && memory < CACHE_MOST ? (size_t)memory : CACHE_MOST;
    size_t bytes = tally_dtype_size(p->packing.stored), count = 1;

    int storage = 1;
    if (f->info.ndim < 1 ||
        tl_nc.nc_inq_var_chunking(p->of.group, p->of.variable, &storage, p->chunk) || storage) {
        memset(p->chunk, 0, sizeof p->chunk);
        return;
    }

    for (int d = 0; d < f->info.ndim; d++) {
        const size_t length = (size_t)(d == n->join ? p->length : f->info.shape[d]),
                     across = d && p->chunk[d] ? (length + p->chunk[d] - 1) / p->chunk[d] : 1;
        if (p == n->parts)
            f->info.chunk[d] = p->chunk[d] < INT64_MAX ? (int64_t)p->chunk[d] : INT64_MAX;
        if (__builtin_mul_overflow(bytes, across * p->chunk[d], &bytes) || bytes > CACHE_MOST)
            bytes = CACHE_MOST + 1;
        count = count > CACHE_MOST / (across + 1) ? CACHE_MOST : count * across;
    }

    if (f->info.ndim < 2 || bytes + count * CACHE_EACH > keep) return;
    p->layer_bytes = bytes;
    p->layer_chunks = count;
}

/* Opens the file of a part and finds the variable in it. *v: its description. */
static tally_status find(const tally_file *f, tl_part *p, const tally_file_options *o,
                         tl_netcdf_variable *v)
{
    tl_netcdf *const n = f->netcdf;
    tl_source *const of = &p->of;
    int error = tl_nc.nc_open(of->label, 0, &p->file);
    if (error) return tl_bad_data_on(of, "%s", tl_nc.nc_strerror(error));
    p->open = 1;
    of->group = p->file;
    TL_TRY(tl_netcdf_find(of, o->variable, &of->group, &of->variable));
    error = tl_netcdf_inquire(of->group, of->variable, v);
    if (error) return tl_bad_data_on(of, "%s", tl_nc.nc_strerror(error));
    if (p == n->parts && !(n->variable = strdup(v->name)))
        return tl_no_memory(f->ctx, strlen(v->name), "a variable's name");
    tl_netcdf_describe(of->group, of->variable, n->what, sizeof n->what);
    if (v->ndims > TL_DIMS)
        return tl_unsupported_on(of, "%s has %d dimensions: at most %d", n->variable, v->ndims,
                                 TL_DIMS);
    if (v->ndims == 0 && n->count > 1)
        return tl_invalid_on(of, "%s has no dimension along which files can be joined", n->what);

    return TALLY_OK;
}

/* Reads the attributes of the first part, and refuses a later one in another unit. */
static tally_status read_texts(const tally_file *f, const tl_part *p)
{
    static const char *const names[] = {"units", "calendar", "long_name", "standard_name",
                                        "bounds"};
    tl_netcdf *const n = f->netcdf;
    const int first = p == n->parts;
    const char *const units = n->text[0];
    char *text = NULL;

    tally_status s = TALLY_OK;
    for (int i = 0; i < 5 && !s && first; i++) s = tl_netcdf_text(&p->of, names[i], &n->text[i]);
    if (!s && !first) s = tl_netcdf_text(&p->of, "units", &text);
    if (!s && units && text && *units && *text && strcmp(units, text))
        s = tl_bad_data_on(&p->of,
                           "the units of %s are '%s', and in %s '%s': files that are joined must "
                           "have the same units",
                           n->variable, text, n->parts->of.label, units);
    free(text);
    return s;
}

/* Opens a part, and checks it against the first, which also sets dtype, units and calendar. */
static tally_status open_part(tally_file *f, tl_part *p, const tally_file_options *o)
{
    tl_netcdf *const n = f->netcdf;
    tl_netcdf_variable v;

    TL_TRY(check_file(p));
    TL_TRY(find(f, p, o, &v));
    TL_TRY(read_shape(f, p, &v, o));
    TL_TRY(tl_packing_read(&p->of, v.type, o->dtype, &p->packing));
    TL_TRY(tl_part_whole(p, &p->of));

    if (p == n->parts) f->info.dtype = p->packing.given;
    if (p->packing.given != f->info.dtype)
        return tl_invalid_on(&p->of,
                             "%s is %s, and in %s it is %s; --dtype f64 makes them the same",
                             n->what, tally_dtype_name(p->packing.given), n->parts->of.label,
                             tally_dtype_name(f->info.dtype));

    find_chunks(f, p, o->memory);
    p->of.what = n->variable;
    return read_texts(f, p);
}

/* ---- not locked ---- */

/* Adds up the lengths of all parts along the join. */
static tally_status total(tally_file *f)
{
    const tl_netcdf *const n = f->netcdf;
    int64_t bytes = (int64_t)tally_dtype_size(f->info.dtype), sum = 0;

    for (int i = 0; i < n->count; i++)
        if (__builtin_add_overflow(sum, n->parts[i].length, &sum)) sum = INT64_MAX;
    if (f->info.ndim) f->info.shape[n->join] = sum;
    f->info.elements = 1;

    for (int d = 0; d < f->info.ndim; d++)
        if (__builtin_mul_overflow(bytes, f->info.shape[d], &bytes))
            return tl_bad_data_on(f, "%s has more than 2^63 bytes", n->variable);
        else
            f->info.elements *= f->info.shape[d];

    if (f->info.ndim == 0) { /* a single value is an array with one element */
        f->info.ndim = 1;
        f->info.shape[0] = 1;
    }

    f->info.bytes_total = bytes;
    f->info.bytes_read = 0;
    f->info.dimensions = (const char *const *)n->names;
    f->info.variable = n->variable;
    f->info.units = n->text[0];
    f->info.calendar = n->text[1];
    f->info.long_name = n->text[2];
    f->info.standard_name = n->text[3];
    f->info.bounds = n->text[4];
    return TALLY_OK;
}

/* The error for standard input and for files without a name. */
static tally_status not_a_file(const tally_file *f)
{
    struct stat st;
    if (strcmp(f->name, "-") && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode))
        return tl_bad_data_on(f, "is empty: it has 0 bytes");
    return tl_unsupported_on(f, "NetCDF and HDF5 must be files with a name, not pipes");
}

tally_status tl_netcdf_start(tally_file *f, const tally_file_options *o)
{
    const char *const why = tl_netcdf_library();
    if (why) return tl_unsupported_on(f, "NetCDF and HDF5 are read by libnetcdf: %s", why);
    if (!f->regular || !strcmp(f->name, "-")) return not_a_file(f);
    if (o->memory < 0)
        return tl_invalid(f->ctx, "options.memory is %ld: must be at least 0", o->memory);
    tl_netcdf *const n = f->netcdf = calloc(1, sizeof *n);
    if (!n) return tl_no_memory(f->ctx, sizeof *n, "a NetCDF reader");
    f->end = netcdf_end;
    int count = 1;
    while (o->more && o->more[count - 1]) count++;
    n->parts = calloc((size_t)count, sizeof *n->parts);
    if (!n->parts) return tl_no_memory(f->ctx, (size_t)count * sizeof *n->parts, "the files");
    tally_status s = TALLY_OK;

    for (n->count = 0; n->count < count && !s; n->count++) {
        char *const path = strdup(n->count ? o->more[n->count - 1] : f->name);
        if (!path) s = tl_no_memory(f->ctx, 1, "a file's name");
        n->parts[n->count].of = (tl_source){.ctx = f->ctx, .label = path, .what = n->what};
    }

    for (int i = 0; i < n->count && !s; i++) {
        tl_netcdf_lock();
        s = open_part(f, &n->parts[i], o);
        if (!s && i > 0 && i + 1 == n->count) s = tl_parts_fit(f);
        tl_netcdf_unlock();
    }
    return s ? s : total(f);
}

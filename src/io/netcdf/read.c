/* SPDX-License-Identifier: MIT
 * NetCDF: one variable of a file, or of several files that are joined along its first dimension.
 * All formats that libnetcdf reads: classic, 64-bit, netCDF-4, and HDF5 files of plain arrays.
 * What packed values mean is unpack.c's. */
#include "netcdf.h"
#include "unpack.h"
#include "context/threads.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DIMS = TL_DIMS,
    CACHE_MOST = 512 << 20,
    CACHE_USUAL = 16 << 20,
    CACHE_SLOTS = 4133
}; /* USUAL: the library's own */

typedef struct {
    char *path; /* as given, owned */
    int file, open, group, variable;
    int64_t length; /* along the first dimension */
    tl_packing packing;
    size_t chunk[DIMS]; /* elements that are stored together; 0: not in chunks */
    /* of the chunks side by side along all dimensions but the first; bytes 0: none */
    size_t layer_bytes, layer_chunks;
    enum { BY_LIBRARY, DIRECT, LAYERS } cache;
} part;

struct tl_netcdf {
    const tl_netcdf_api *api;
    part *parts;
    int count;
    int64_t next; /* the element that is read next */
    char *variable, *names[DIMS], *units, *calendar;
};

static void netcdf_end(tally_file *f)
{
    tl_netcdf *const n = f->netcdf;
    for (int i = 0; i < n->count; i++) {
        tl_lock_take(TL_LOCK_NETCDF);
        if (n->parts[i].open) n->api->nc_close(n->parts[i].file);
        tl_lock_release(TL_LOCK_NETCDF);
        free(n->parts[i].path);
    }
    for (int d = 0; d < DIMS; d++) free(n->names[d]);
    free(n->variable);
    free(n->units);
    free(n->calendar);
    free(n->parts);
    free(n);
}

static tally_status failed(const tally_file *f, const part *p, int error, const char *doing)
{
    const char *why;
    tl_lock_take(TL_LOCK_NETCDF);
    why = f->netcdf->api->nc_strerror(error);
    tl_lock_release(TL_LOCK_NETCDF);
    return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: %s: %s", p->path, doing, why);
}

/* Calls that ask the library are under the lock of tl_netcdf_start. */

/* The dimensions of a part: of the first those of the file, of the others all but the first are
   the same. */
static tally_status shape(tally_file *f, part *p, const int *dims, int ndims)
{
    tl_netcdf *const n = f->netcdf;
    const tl_netcdf_api *const api = n->api;
    char name[NC_MAX_NAME + 1], one[400], other[400];
    int same = p == n->parts || ndims == f->info.ndim;
    for (int d = 0; d < ndims && same; d++) {
        size_t length;
        const int error = api->nc_inq_dim(p->group, dims[d], name, &length);
        if (error || length > INT64_MAX)
            return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: dimension %d: %s", p->path, d,
                           api->nc_strerror(error));
        if (d == 0) p->length = (int64_t)length;
        if (p == n->parts) {
            f->info.shape[d] = (int64_t)length;
            if (!(n->names[d] = strdup(name)))
                return tl_no_memory(f->ctx, strlen(name) + 1, "a dimension's name");
        } else {
            same =
                strcmp(name, n->names[d]) == 0 && (d == 0 || f->info.shape[d] == (int64_t)length);
        }
    }
    if (same) return TALLY_OK;
    tl_netcdf_describe(api, p->group, p->variable, one, sizeof one);
    tl_netcdf_describe(api, n->parts->group, n->parts->variable, other, sizeof other);
    return tl_fail(f->ctx, TALLY_INVALID,
                   "%s: %s cannot be joined with %s of %s: only the length of the first may differ",
                   p->path, one, other, n->parts->path);
}

/* How the variable is stored. */
static void look_at_chunks(tally_file *f, part *p)
{
    const tl_netcdf_api *const api = f->netcdf->api;
    size_t bytes = tally_dtype_size(p->packing.stored), count = 1;
    int storage = 1;
    if (f->info.ndim < 1 || api->nc_inq_var_chunking(p->group, p->variable, &storage, p->chunk) ||
        storage) {
        memset(p->chunk, 0, sizeof p->chunk);
        return;
    }
    for (int d = 0; d < f->info.ndim; d++) {
        const size_t across =
            d && p->chunk[d] ? ((size_t)f->info.shape[d] + p->chunk[d] - 1) / p->chunk[d] : 1;
        if (p == f->netcdf->parts)
            f->info.chunk[d] = p->chunk[d] < INT64_MAX ? (int64_t)p->chunk[d] : INT64_MAX;
        if (__builtin_mul_overflow(bytes, across * p->chunk[d], &bytes) || bytes > CACHE_MOST)
            bytes = CACHE_MOST + 1;
        count *= across;
    }
    if (f->info.ndim < 2 || bytes > CACHE_MOST) return;
    p->layer_bytes = bytes;
    p->layer_chunks = count;
}

/* Which chunks the library keeps. Of a box of whole chunks none: what is not compressed then
 * goes straight from the file to the caller (0.10 instead of 0.19 s per GB where a chunk has 4
 * MB). From the first box on that has parts of chunks a layer of them stays in memory, which
 * reads in order come back to. */
static void cache(const tally_file *f, part *p, const size_t *from, const size_t *n)
{
    const tl_netcdf_api *const api = f->netcdf->api;
    int whole = 1;
    if (!p->chunk[0] || p->cache == LAYERS) return;
    for (int d = 0; d < f->info.ndim; d++) {
        const size_t end = d ? (size_t)f->info.shape[d] : (size_t)p->length;
        whole &= p->chunk[d] && from[d] % p->chunk[d] == 0 &&
                 (n[d] % p->chunk[d] == 0 || from[d] + n[d] == end);
    }
    if (whole && p->cache == BY_LIBRARY)
        api->nc_set_var_chunk_cache(p->group, p->variable, 0, 0, 0.75f);
    if (!whole && p->layer_bytes)
        api->nc_set_var_chunk_cache(p->group, p->variable, p->layer_bytes, 10 * p->layer_chunks + 1,
                                    0.75f);
    else if (!whole && p->cache == DIRECT)
        api->nc_set_var_chunk_cache(p->group, p->variable, CACHE_USUAL, CACHE_SLOTS, 0.75f);
    p->cache = whole ? DIRECT : LAYERS;
}

static tally_status open_part(tally_file *f, part *p, const tally_file_options *o)
{
    tl_netcdf *const n = f->netcdf;
    const tl_netcdf_api *const api = n->api;
    char what[400];
    int type = 0, ndims = 0, dims[NC_MAX_VAR_DIMS], attributes;
    struct stat st; /* libnetcdf would fetch a URL */
    if (stat(p->path, &st) != 0)
        return tl_fail(f->ctx, TALLY_IO, "%s: %s", p->path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return tl_fail(f->ctx, TALLY_IO, "%s: must be a file", p->path);
    int error = api->nc_open(p->path, 0, &p->file);
    if (error) return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: %s", p->path, api->nc_strerror(error));
    p->open = 1;
    tally_status s = tl_netcdf_find(&(tl_source){f->ctx, api, p->path, NULL, p->file, 0},
                                    o->variable, &p->group, &p->variable);
    if (s) return s;
    error = api->nc_inq_varndims(p->group, p->variable, &ndims);
    if (!error && ndims <= NC_MAX_VAR_DIMS)
        error = api->nc_inq_var(p->group, p->variable, what, &type, &ndims, dims, &attributes);
    if (error) return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: %s", p->path, api->nc_strerror(error));
    if (p == n->parts && !(n->variable = strdup(what)))
        return tl_no_memory(f->ctx, strlen(what), "a variable's name");
    tl_netcdf_describe(api, p->group, p->variable, what, sizeof what);
    if (ndims > DIMS)
        return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: %s has %d dimensions: at most %d", p->path,
                       n->variable, ndims, DIMS);
    if (ndims == 0 && n->count > 1)
        return tl_fail(f->ctx, TALLY_INVALID,
                       "%s: %s has no dimension along which files can be joined", p->path, what);
    if ((s = shape(f, p, dims, ndims)) ||
        (s = tl_packing_read(&(tl_source){f->ctx, api, p->path, what, p->group, p->variable}, type,
                             o->dtype, &p->packing)))
        return s;
    f->info.ndim = ndims;
    if (p == n->parts)
        f->info.dtype = p->packing.given;
    else if (p->packing.given != f->info.dtype)
        return tl_fail(f->ctx, TALLY_INVALID,
                       "%s: %s is %s, and in %s it is %s; --dtype f64 makes them the same", p->path,
                       what, tally_dtype_name(p->packing.given), n->parts->path,
                       tally_dtype_name(f->info.dtype));
    look_at_chunks(f, p);
    if (p != n->parts) return TALLY_OK;
    const tl_source own = {f->ctx, api, p->path, what, p->group, p->variable};
    s = tl_netcdf_text(&own, "units", &n->units);
    return s ? s : tl_netcdf_text(&own, "calendar", &n->calendar);
}

/* The extents of all parts together. */
static tally_status total(tally_file *f)
{
    const tl_netcdf *const n = f->netcdf;
    int64_t bytes = (int64_t)tally_dtype_size(f->info.dtype), sum = 0;
    for (int i = 0; i < n->count; i++)
        if (__builtin_add_overflow(sum, n->parts[i].length, &sum)) sum = INT64_MAX;
    if (f->info.ndim) f->info.shape[0] = sum;
    f->info.elements = 1;
    for (int d = 0; d < f->info.ndim; d++)
        if (__builtin_mul_overflow(bytes, f->info.shape[d], &bytes))
            return tl_fail(f->ctx, TALLY_BAD_DATA, "%s: %s has more than 2^63 bytes", f->label,
                           n->variable);
        else
            f->info.elements *= f->info.shape[d];
    if (f->info.ndim == 0) { /* a single value is an array of one */
        f->info.ndim = 1;
        f->info.shape[0] = 1;
    }
    f->info.bytes_total = bytes;
    f->info.bytes_read = 0;
    f->info.dimensions = (const char *const *)n->names;
    f->info.units = n->units;
    f->info.calendar = n->calendar;
    return TALLY_OK;
}

tally_status tl_netcdf_start(tally_file *f, const tally_file_options *o)
{
    const char *why;
    const tl_netcdf_api *const api = tl_netcdf_library(&why);
    if (!api)
        return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: NetCDF and HDF5 are read by libnetcdf: %s",
                       f->label, why);
    if (!f->regular || !strcmp(f->name, "-"))
        return tl_fail(f->ctx, TALLY_UNSUPPORTED,
                       "%s: NetCDF and HDF5 must be files with a name, not pipes", f->label);
    tl_netcdf *const n = f->netcdf = calloc(1, sizeof *n);
    if (!n) return tl_no_memory(f->ctx, sizeof *n, "a NetCDF reader");
    f->end = netcdf_end;
    n->api = api;
    int count = 1;
    while (o->more && o->more[count - 1]) count++;
    n->parts = calloc((size_t)count, sizeof *n->parts);
    if (!n->parts) return tl_no_memory(f->ctx, (size_t)count * sizeof *n->parts, "the files");
    tally_status s = TALLY_OK;
    for (n->count = 0; n->count < count && !s; n->count++) {
        part *const p = &n->parts[n->count];
        p->path = strdup(n->count ? o->more[n->count - 1] : f->name);
        if (!p->path) s = tl_no_memory(f->ctx, 1, "a file's name");
    }
    for (int i = 0; i < n->count && !s; i++) {
        tl_lock_take(TL_LOCK_NETCDF);
        s = open_part(f, &n->parts[i], o);
        tl_lock_release(TL_LOCK_NETCDF);
    }
    return s ? s : total(f);
}

/* ---- reading ---- */

static tally_status read_part(tally_file *f, part *p, const int64_t *start, const int64_t *count,
                              char *out)
{
    size_t from[DIMS] = {0}, n[DIMS] = {0};
    int64_t elements = 1, bad;
    int error;
    for (int d = 0; d < f->info.ndim; d++) {
        from[d] = (size_t)start[d];
        n[d] = (size_t)count[d];
        elements *= count[d];
    }
    char *const stored = tl_unpack_place(&p->packing, out, elements);
    tl_lock_take(TL_LOCK_NETCDF);
    cache(f, p, from, n);
    error = f->netcdf->api->nc_get_vara(p->group, p->variable, from, n, stored);
    tl_lock_release(TL_LOCK_NETCDF);
    if (error) return failed(f, p, error, f->netcdf->variable);
    if (tl_unpack(&p->packing, stored, out, elements, &bad)) return TALLY_OK;
    char place[8 * 24] = "", value[48];
    int64_t rest = bad, at[DIMS];
    for (int d = f->info.ndim - 1; d >= 0; d--) {
        at[d] = start[d] + rest % count[d];
        rest /= count[d];
    }
    for (int d = 0, k = 0; d < f->info.ndim; d++)
        k += snprintf(place + k, sizeof place - (size_t)k, "%s%lld", d ? ", " : "",
                      (long long)at[d]);
    tally_format_value(p->packing.stored,
                       stored + bad * (int64_t)tally_dtype_size(p->packing.stored), 0, value,
                       sizeof value);
    return tl_fail(f->ctx, TALLY_BAD_DATA,
                   "%s: %s[%s] is %s, which stands for a missing value, and %s has none; "
                   "--dtype f64 makes it NaN",
                   p->path, f->netcdf->variable, place, value, tally_dtype_name(p->packing.given));
}

/* A box of all parts: along the first dimension they follow each other, in the file and in the
   buffer. */
static tally_status read_box(tally_file *f, const int64_t *start, const int64_t *count, char *out)
{
    const tl_netcdf *const n = f->netcdf;
    int64_t own[DIMS], counts[DIMS], begin = 0, layer = (int64_t)tally_dtype_size(f->info.dtype);
    const int64_t end = start[0] + count[0];
    memcpy(own, start, (size_t)f->info.ndim * sizeof *own);
    memcpy(counts, count, (size_t)f->info.ndim * sizeof *counts);
    for (int d = 1; d < f->info.ndim; d++) layer *= count[d];
    if (n->count == 1) return read_part(f, n->parts, start, count, out); /* a single value too */
    tally_status s = TALLY_OK;
    for (int i = 0; i < n->count && !s; begin += n->parts[i++].length) {
        const int64_t low = start[0] > begin ? start[0] : begin, stop = begin + n->parts[i].length,
                      high = end < stop ? end : stop;
        if (low >= high) continue;
        own[0] = low - begin;
        counts[0] = high - low;
        s = read_part(f, &n->parts[i], own, counts, out);
        out += counts[0] * layer;
    }
    return s;
}

tally_status tl_netcdf_read_box(tally_file *f, const int64_t *start, const int64_t *count,
                                void *buffer)
{
    for (int d = 0; d < f->info.ndim; d++)
        if (start[d] < 0 || count[d] < 0 || count[d] > f->info.shape[d] - start[d])
            return tl_fail(
                f->ctx, TALLY_INVALID,
                "start[%d] is %lld and count[%d] %lld: must be within 0..%lld, the length of %s", d,
                (long long)start[d], d, (long long)count[d], (long long)f->info.shape[d],
                f->info.dimensions[d] ? f->info.dimensions[d] : "the value");
    for (int d = 0; d < f->info.ndim; d++)
        if (count[d] == 0) return TALLY_OK;
    return read_box(f, start, count, buffer);
}

tally_status tl_netcdf_read(tally_file *f, void *buffer, int64_t max, int64_t *got)
{
    tl_netcdf *const n = f->netcdf;
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype),
                  left = f->info.elements - n->next;
    char *out = buffer;
    tally_status s = TALLY_OK;
    *got = 0;
    for (int64_t rest = max < left ? max : left; rest && !s;) {
        int64_t start[DIMS], count[DIMS];
        const int64_t elements =
            tl_netcdf_box(f->info.ndim, f->info.shape, n->next, rest, start, count);
        s = read_box(f, start, count, out);
        if (s) break;
        out += elements * size;
        rest -= elements;
        n->next += elements;
        *got += elements;
    }
    f->info.bytes_read = n->next * size;
    return s;
}

int tl_netcdf_parts(const tally_file *f) { return f->netcdf->count; }

int tl_netcdf_coordinate_of(const tally_file *f, int part_number, int dimension, int *group,
                            int *variable)
{
    const tl_netcdf *const n = f->netcdf;
    const part *const p = &n->parts[part_number];
    const int groups[] = {p->group, p->file};
    char name[NC_MAX_NAME + 1];
    int type, ndims, dims[NC_MAX_VAR_DIMS], attributes;
    if (part_number >= n->count) return 0;
    for (int i = 0; i < 2; i++)
        if (!n->api->nc_inq_varid(groups[i], n->names[dimension], variable) &&
            !n->api->nc_inq_var(groups[i], *variable, name, &type, &ndims, dims, &attributes) &&
            ndims == 1 && !n->api->nc_inq_dim(groups[i], dims[0], name, &(size_t){0}) &&
            !strcmp(name, n->names[dimension])) {
            *group = groups[i];
            return 1;
        }
    return 0;
}

/* SPDX-License-Identifier: MIT
 * File objects. Opens files for reading, chooses their format, and calls the reader of the format;
 * `end` of an object frees what the reader or writer needs. */
#define _GNU_SOURCE
#include "io/netcdf/netcdf.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* in the order of tl_file_format */
const char *const tl_format_names[TL_FORMATS] = {"npy", "raw",    "text",    "csv",
                                                 "tsv", "netcdf", "netcdf4", "hdf5"};

tl_file_format tl_format_of(const char *name, const char *end)
{
    static const struct {
        const char *end;
        tl_file_format format;
    } ends[] = {
        {".npy", TL_NPY},     {".raw", TL_RAW}, {".bin", TL_RAW},   {".txt", TL_TEXT},
        {".csv", TL_CSV},     {".tsv", TL_TSV}, {".nc", TL_NETCDF}, {".cdf", TL_NETCDF},
        {".nc4", TL_NETCDF4}, {".h5", TL_HDF5}, {".he5", TL_HDF5},  {".hdf5", TL_HDF5},
    };
    const char *at = end;
    while (at > name && *--at != '.') continue;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && at > name; i++)
        if (strlen(ends[i].end) == (size_t)(end - at) &&
            !strncasecmp(at, ends[i].end, (size_t)(end - at)))
            return ends[i].format;

    return TL_FORMATS;
}

/* The format as which a file is read. */
static tl_file_format as_read(tl_file_format format)
{
    return format == TL_TSV                            ? TL_CSV
           : format == TL_NETCDF4 || format == TL_HDF5 ? TL_NETCDF
                                                       : format;
}

/* The end of the name, without the ending of compressed files. */
static const char *name_end(const tally_file *f)
{
    const char *const end = f->name + strlen(f->name), *const dot = strrchr(f->name, '.');
    return f->compressed && dot && dot > f->name ? dot : end;
}

static tally_status open_input(tally_file *f)
{
    struct stat st;
    f->size = -1;
    if (strcmp(f->name, "-") == 0) {
        f->fd = STDIN_FILENO;
    } else {
        f->fd = open(f->name, O_RDONLY | O_CLOEXEC);
        if (f->fd < 0) return tl_fail_on(f, TALLY_IO, "%s", strerror(errno));
        f->owns_fd = 1;
    }

    if (fstat(f->fd, &st) != 0) return tl_fail_on(f, TALLY_IO, "%s", strerror(errno));
    if (S_ISDIR(st.st_mode)) return tl_fail_on(f, TALLY_IO, "is a directory");

    /* /proc has regular files of size 0, which must be read like pipes */
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        /* part of standard input may have been read already */
        const off_t at = lseek(f->fd, 0, SEEK_CUR);
        f->regular = at >= 0;
        f->pos = at > 0 ? at : 0;
        f->size = f->info.bytes_total = st.st_size > f->pos ? st.st_size : f->pos;
    }
    return TALLY_OK;
}

/* Chooses the format from the options, the name, and the first bytes. */
static tally_status choose(tally_file *f, const tally_file_options *o, tl_file_format *format)
{
    *format = TL_FORMATS;
    if (o->format && strcmp(o->format, "auto") != 0) {
        for (tl_file_format i = 0; i < TL_FORMATS; i++)
            if (as_read(i) == i && strcmp(o->format, tl_format_names[i]) == 0) *format = i;
        if (*format == TL_FORMATS)
            return tl_invalid(f->ctx, "format '%s' is not one of auto, npy, raw, text, csv, netcdf",
                              o->format);
        return TALLY_OK;
    }

    *format = as_read(tl_format_of(f->name, name_end(f)));
    if (*format != TL_FORMATS) return TALLY_OK;
    TL_TRY(tl_refuse_foreign(f, !o->dtype && !o->assume));
    size_t before;
    int kind;

    do { /* a pipe may deliver the first bytes one by one */
        before = f->peek_n;
        TL_TRY(tl_input_peek(f, 4096));
        if (f->peek_n >= 6 && memcmp(f->peek, "\x93NUMPY", 6) == 0) {
            *format = TL_NPY;
            return TALLY_OK;
        }

        if (f->peek_n >= 4 && (memcmp(f->peek, "\x89HDF", 4) == 0 ||
                               (memcmp(f->peek, "CDF", 3) == 0 && f->peek[3] < 6))) {
            *format = TL_NETCDF;
            return TALLY_OK;
        }

        kind = tl_sniff_kind(f, o->decimal);
    } while (kind == 2 && f->peek_n > before);

    *format = kind < 0 ? TL_RAW : kind == 1 ? TL_CSV : TL_TEXT;
    if (kind < 0 && !o->dtype && !o->assume)
        return tl_bad_data_on(
            f, "neither npy nor text; if it is raw elements, say which: --format raw --dtype f64");
    return TALLY_OK;
}

/* Refuses an option that is for files of other formats. */
static tally_status refuse_option(const tally_file *f, const char *option, const char *value,
                                  const char *what)
{
    return tl_invalid_on(f, "%s '%s': %s files have %s", option, value ? value : "", f->info.format,
                         what);
}

static tally_status start(tally_file *f, const tally_file_options *o)
{
    tl_file_format format;

    const tally_dtype dtype = o->dtype ? o->dtype : o->assume;
    if (dtype && !tally_dtype_size(dtype))
        return tl_invalid(f->ctx, "options.%s %d is no dtype", o->dtype ? "dtype" : "assume",
                          (int)dtype);

    if (o->by_time && !o->by)
        return tl_invalid(
            f->ctx, "options.by_time is set and options.by is NULL: which column has the times?");

    TL_TRY(open_input(f));
    const int raw = o->format && strcmp(o->format, "auto")
                        ? !strcmp(o->format, "raw")
                        : tl_format_of(f->name, name_end(f)) == TL_RAW;
    /* the first bytes of raw elements may be anything */
    const char *const dot = strrchr(f->name, '.');
    const int named = dot && (!strcmp(dot, ".gz") || !strcmp(dot, ".zst"));
    if (!raw || named) TL_TRY(tl_compressed_open(f));
    TL_TRY(choose(f, o, &format));
    if (format != TL_RAW) TL_TRY(tl_refuse_foreign(f, tl_is_text(format)));
    f->info.format = tl_format_names[format];
    const int netcdf = format == TL_NETCDF, text = tl_is_text(format);
    if (o->variable && !netcdf) return refuse_option(f, "variable", o->variable, "no variables");
    if (o->more && !netcdf)
        return refuse_option(f, "cannot be joined with", o->more[0], "no named axes");
    if (text) {
        f->info.dtype = dtype ? dtype : TALLY_F64;
        f->keeps = o->keep;
        return tl_text_start(f, o, format == TL_CSV);
    }

    if (o->column) return refuse_option(f, "column", o->column, "no columns");
    if (o->by)
        return refuse_option(f, "key column", o->by,
                             o->by_time && netcdf
                                 ? "no columns; --axis says along which dimension the times go"
                                 : "no columns");
    if (o->keep)
        return tl_invalid_on(f, "its lines cannot be kept: %s files have none", f->info.format);
    if (netcdf) return tl_netcdf_start(f, o);
    if (format == TL_RAW) {
        if (!dtype) return tl_invalid_on(f, "raw elements need a dtype: --dtype f64");
        f->info.dtype = dtype;
    } else {
        TL_TRY(tl_npy_header(f, o->dtype));
    }
    return tl_binary_start(f);
}

/* ---- file objects ---- */

tally_status tl_file_new(tally *ctx, const char *path, const char *standard, tally_file **file)
{
    assert(standard);
    if (!file) return tl_invalid(ctx, "file is NULL");

    *file = NULL;
    if (!path) return tl_invalid(ctx, "path is NULL");
    if (!*path) return tl_invalid(ctx, "path is '': must name a file");

    tally_file *const f = calloc(1, sizeof *f);
    if (!f) return tl_no_memory(ctx, sizeof *f, "a file");

    f->ctx = ctx;
    f->fd = -1;
    f->name = strdup(path);
    if (!f->name) {
        free(f);
        return tl_no_memory(ctx, strlen(path) + 1, "a file's name");
    }

    f->info.name = f->name;
    f->label = strcmp(path, "-") == 0 ? standard : f->name;
    f->info.bytes_total = -1;
    *file = f;
    return TALLY_OK;
}

void tally_file_close(tally_file *file)
{
    if (!file) return;
    if (file->end) file->end(file);
    if (file->map) munmap(file->map, file->map_bytes);
    if (file->owns_fd) close(file->fd);
    tl_compressed_close(file->compressed); /* its thread ends, as nothing reads the pipe */
    free(file->peek);
    free(file->name);
    free(file);
}

tally_status tl_file_opened(tally_file **file, tally_status s)
{
    if (s) {
        tally_file_close(*file);
        *file = NULL;
    }
    return s;
}

tally_status tally_file_open(tally *ctx, const char *path, const tally_file_options *options,
                             tally_file **file)
{
    static const tally_file_options none = {0};
    TL_TRY(tl_file_new(ctx, path, "standard input", file));
    return tl_file_opened(file, start(*file, options ? options : &none));
}

void tally_file_get_info(const tally_file *file, tally_file_info *info)
{
    struct stat st;
    if (!info) return;
    *info = file ? file->info : (tally_file_info){.bytes_total = -1};
    if (file && file->map)
        info->shrunk = fstat(file->fd, &st) != 0 || st.st_size < (off_t)file->map_bytes;
}

static tally_status read_elements(tally_file *file, void *buffer, int32_t *codes,
                                  tally_line_time *times, int64_t max, int64_t *got)
{
    if (!file || !got)
        return tl_invalid(file ? file->ctx : NULL, "%s is NULL", file ? "got" : "file");
    *got = 0;
    if (file->writer) return tl_invalid_on(file, "open for writing");
    if (max < 0) return tl_invalid(file->ctx, "max is %ld: must be at least 0", max);
    if (max == 0) return TALLY_OK;
    if (!buffer) return tl_invalid(file->ctx, "buffer is NULL");
    TL_TRY(tl_check_host(file, buffer, "buffer"));
    TL_TRY(tl_check_host(file, codes, "codes"));
    TL_TRY(tl_check_host(file, times, "times"));
    return file->text     ? tl_text_read(file, buffer, codes, times, max, got)
           : file->netcdf ? tl_netcdf_read(file, buffer, max, got)
                          : tl_binary_read(file, buffer, max, got);
}

tally_status tally_file_read(tally_file *file, void *buffer, int64_t max, int64_t *got)
{
    return read_elements(file, buffer, NULL, NULL, max, got);
}

/* Reads lines, as many as max has space for. */
static tally_status read_lines(tally_file *file, void *buffer, int32_t *codes,
                               tally_line_time *times, int64_t max, int64_t *got)
{
    const int64_t line = file && file->info.ndim == 2 ? file->info.shape[1] : 1;
    if (file && max < line)
        return tl_invalid(file->ctx, "max is %ld: must be at least %ld, the values of a line", max,
                          line);
    return read_elements(file, buffer, codes, times, max - max % line, got);
}

tally_status tally_file_read_by(tally_file *file, void *buffer, int32_t *codes, int64_t max,
                                int64_t *got)
{
    if (file && !file->info.key_columns)
        return tl_invalid_on(file, "there are no groups: keys were not asked for (options.by)");
    return read_lines(file, buffer, codes, NULL, max, got);
}

tally_status tally_file_read_times(tally_file *file, void *buffer, int32_t *codes,
                                   tally_line_time *times, tally_dtype *dtype, int64_t max,
                                   int64_t *got)
{
    if (file && (!tl_text_times(file)))
        return tl_invalid_on(file, "times were not asked for (options.by_time)");
    if (file && (!times || !dtype))
        return tl_invalid(file->ctx, "%s is NULL", times ? "dtype" : "times");
    if (file && codes && !file->info.key_columns)
        return tl_invalid_on(file,
                             "codes must be NULL: options.by has no key column beside the times");
    TL_TRY(read_lines(file, buffer, codes, times, max, got));
    *dtype = tl_text_times(file);

    return TALLY_OK;
}

tally_status tally_file_read_box(tally_file *file, const int64_t *start, const int64_t *count,
                                 void *buffer)
{
    if (!file || !start || !count || !buffer)
        return tl_invalid(file ? file->ctx : NULL, "%s is NULL",
                          !file    ? "file"
                          : !start ? "start"
                          : !count ? "count"
                                   : "buffer");
    if (!file->netcdf) return tl_unsupported_on(file, "only netcdf files are read in boxes");
    TL_TRY(tl_check_host(file, buffer, "buffer"));
    return tl_netcdf_read_box(file, start, count, buffer);
}

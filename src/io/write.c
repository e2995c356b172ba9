/* SPDX-License-Identifier: MIT
 * Files for writing. tally_file_commit replaces a regular target (put.c), so that its name
 * refers to the old file or to the complete new one at every moment. Standard output, FIFOs and
 * devices are written directly. */
#define _GNU_SOURCE
#include "writer.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the file that will replace the target, with the target's mode if it exists. */
static tally_status open_new(tally_file *f, const struct stat *old)
{
    const char *const wrong =
        tl_replace_open(&f->writer->place, old, f->writer->form == TL_NETCDF, &f->fd);
    f->owns_fd = f->fd >= 0;
    return wrong ? tl_write_failed(f, wrong) : TALLY_OK;
}

static tally_status not_a_file(const tally_file *f)
{
    return tl_unsupported_on(f, "%s is written to a file with a name: give another format",
                             f->info.format);
}

static tally_status open_output(tally_file *f)
{
    struct stat st;
    const int named = f->writer->form == TL_NETCDF; /* libnetcdf opens files by name */

    if (strcmp(f->name, "-") == 0) {
        if (named) return not_a_file(f);
        f->fd = STDOUT_FILENO;
        return TALLY_OK;
    }

    if (stat(f->name, &st) != 0) {
        if (errno != ENOENT) return tl_write_failed(f, "creating");
        f->writer->place.target = strdup(f->name);
        return f->writer->place.target ? open_new(f, NULL)
                                       : tl_no_memory(f->ctx, strlen(f->name), "a file's name");
    }

    if (S_ISDIR(st.st_mode)) return tl_fail_on(f, TALLY_IO, "is a directory");
    if (S_ISREG(st.st_mode)) {
        if (access(f->name, W_OK) != 0)
            /* a rename would replace a read-only file without an error */
            return tl_write_failed(f, "writing");
        f->writer->place.target =
            /* a symbolic link: replaces the file that it refers to, not the link */
            realpath(f->name, NULL);
        return f->writer->place.target ? open_new(f, &st) : tl_write_failed(f, "creating");
    }

    if (named) return not_a_file(f);
    f->fd = open(f->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (f->fd < 0) return tl_write_failed(f, "opening");
    f->owns_fd = 1;
    return TALLY_OK;
}

static tally_status choose(tally_file *f, const char *format)
{
    const int given = format && strcmp(format, "auto") != 0;
    tl_file_format chosen = 0;
    if (given)
        while (chosen < TL_FORMATS && strcmp(format, tl_format_names[chosen]) != 0) chosen++;
    else if (strcmp(f->name, "-") == 0)
        chosen = TL_TEXT;
    else
        chosen = tl_format_of(f->name, f->name + strlen(f->name));

    if (given && chosen == TL_FORMATS)
        return tl_invalid(
            f->ctx, "format '%s' is not one of npy, raw, text, csv, tsv, netcdf, netcdf4, hdf5",
            format);
    if (chosen == TL_FORMATS)
        return tl_invalid_on(f,
                             "its ending says no format: .npy, .raw, .txt, .csv, .tsv, .nc, .nc4, "
                             "or .h5; or name one");
    f->writer->hdf5 = chosen > TL_NETCDF;
    f->writer->form = chosen > TL_NETCDF ? TL_NETCDF : chosen;
    f->info.format = tl_format_names[chosen];
    return TALLY_OK;
}

static tally_status start(tally_file *f, const char *format, int ndim, const int64_t *shape)
{
    tl_writer *const w = f->writer;

    if (!tally_dtype_size(f->info.dtype))
        return tl_invalid(f->ctx, "dtype %d is no dtype", (int)f->info.dtype);
    if (ndim < 0 || ndim > 8) return tl_invalid(f->ctx, "ndim is %d: must be 0..8", ndim);
    if (ndim && !shape) return tl_invalid(f->ctx, "shape is NULL");
    int overflow = 0;
    w->step_elements = 1;
    f->info.ndim = ndim;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] < (i ? 0 : -1))
            return tl_invalid(f->ctx, "shape[%d] is %ld: must be at least %d", i, shape[i],
                              i ? 0 : -1);
        f->info.shape[i] = shape[i];
        overflow |= i && __builtin_mul_overflow(w->step_elements, shape[i], &w->step_elements);
    }

    w->limit = ndim == 0 ? 1 : -1;
    if (ndim && shape[0] >= 0)
        overflow |= __builtin_mul_overflow(w->step_elements, shape[0], &w->limit);
    if (overflow) return tl_invalid(f->ctx, "shape has more elements than 64-bit sizes can count");
    w->columns = ndim > 1 && shape[ndim - 1] > 0 ? shape[ndim - 1] : 1;
    f->info.elements = w->limit;
    TL_TRY(choose(f, format));
    TL_TRY(open_output(f));
    if (w->form == TL_NPY && !w->place.target && w->limit < 0)
        return tl_unsupported_on(f, "npy needs its shape first, and only a file can be completed "
                                    "later: write text, raw, or to a file");

    const int threads = tl_io_threads(f->ctx), text = tl_is_text(w->form);
    w->capacity = text ? (size_t)(threads > 0 ? threads : 1) * TL_WRITE_BATCH * TL_VALUE_CHARS
                       : TL_WRITE_BYTES;
    if (!(w->text = malloc(w->capacity))) return tl_no_memory(f->ctx, w->capacity, "writing");
    if (w->form == TL_NPY) w->used = tl_npy_write_header(w->text, f->info.dtype, ndim, shape);
    return w->form == TL_NETCDF ? tl_netcdf_create(f, w->place.temp, w->hdf5, &w->netcdf)
                                : TALLY_OK;
}

static void writer_end(tally_file *f)
{
    tl_writer *const w = f->writer;
    tl_netcdf_drop(w->netcdf);
    tl_replace_drop(&w->place); /* removed if it was not committed */
    free(w->text);
    free(w);
}

tally_status tally_file_create(tally *ctx, const char *path, const char *format, tally_dtype dtype,
                               int ndim, const int64_t *shape, int hex, tally_file **file)
{
    TL_TRY(tl_file_new(ctx, path, "standard output", file));
    tally_file *const f = *file;
    f->info.dtype = dtype;
    f->writer = calloc(1, sizeof *f->writer);
    if (!f->writer) return tl_file_opened(file, tl_no_memory(ctx, sizeof *f->writer, "a file"));
    f->end = writer_end;
    f->writer->hex = hex;
    return tl_file_opened(file, start(f, format, ndim, shape));
}

/* Collects bytes for a later write; many bytes are written at once. */
static tally_status collect(tally_file *f, const void *data, size_t bytes)
{
    tl_writer *const w = f->writer;
    const int many = bytes >= w->capacity / 4;
    if (many || bytes > w->capacity - w->used) {
        TL_TRY(tl_write_flush(f));
    }
    if (many) return tl_write_put(f, data, bytes);
    memcpy(w->text + w->used, data, bytes);
    w->used += bytes;

    return TALLY_OK;
}

tally_status tally_file_head(tally_file *file, const char *line)
{
    TL_TRY(tl_check_open(file));
    tl_writer *const w = file->writer;
    if (!line) return tl_invalid(file->ctx, "line is NULL");
    if (w->written) return tl_invalid_on(file, "the first line comes before elements");
    if (w->form == TL_NETCDF) return tl_netcdf_set_names(file, w->netcdf, line);
    if (!tl_is_text(w->form)) return tl_unsupported_on(file, "%s has no lines", file->info.format);
    TL_TRY(collect(file, line, strlen(line)));
    return collect(file, "\n", 1);
}

tally_status tally_file_write_box(tally_file *file, int variable, const int64_t *start,
                                  const int64_t *count, const void *data)
{
    TL_TRY(tl_check_open(file));
    tl_writer *const w = file->writer;
    if (!w->netcdf) return tl_unsupported_on(file, "only netcdf is written in boxes");
    if (variable < 0 || variable >= w->netcdf->results)
        return tl_invalid(file->ctx, "variable is %d: must be 0..%d", variable,
                          w->netcdf->results - 1);
    int64_t n = 1;

    for (int d = 0; d < file->info.ndim; d++) {
        const int64_t most = file->info.shape[d] < 0 ? INT64_MAX : file->info.shape[d];
        if (start[d] < 0 || count[d] < 0 || start[d] > most || count[d] > most - start[d])
            return tl_invalid_on(file, "the box has %ld elements from %ld on along dimension %d",
                                 count[d], start[d], d);
        n *= count[d];
    }
    if (!n) return TALLY_OK;
    if (!data) return tl_invalid(file->ctx, "data is NULL");
    TL_TRY(tl_check_host(file, data, "data"));
    TL_TRY(tl_write_flush(file));
    const tl_netcdf_kept *k = variable ? w->netcdf->coordinates : NULL;
    for (int i = 0; k; k = k->next)
        if (k->is_result && ++i == variable) break;
    tally_status s = tl_netcdf_put_box(file, w->netcdf, k, start, count, data);
    w->failed |= s != TALLY_OK;
    w->boxes += n;

    return s;
}

tally_status tally_file_write(tally_file *file, const void *data, int64_t n)
{
    TL_TRY(tl_check_open(file));
    tl_writer *const w = file->writer;
    if (n < 0) return tl_invalid(file->ctx, "n is %ld: must be at least 0", n);
    if (n == 0) return TALLY_OK;
    if (!data) return tl_invalid(file->ctx, "data is NULL");
    if (w->limit >= 0 && n > w->limit - w->written)
        return tl_invalid_on(file, "n is %ld, and the shape has %ld elements left", n,
                             w->limit - w->written);

    TL_TRY(tl_check_host(file, data, "data"));
    if (tl_is_text(w->form)) return tl_write_text(file, data, n);
    TL_TRY(collect(file, data, (size_t)n * tally_dtype_size(file->info.dtype)));
    w->written += n;
    return TALLY_OK;
}

/* Checks the number of written elements against the shape, and completes the shape. */
static tally_status complete(tally_file *f)
{
    assert(f->writer);
    tl_writer *const w = f->writer;
    const int64_t results = w->netcdf ? w->netcdf->results : 1;
    if (w->limit >= 0 && w->written + w->boxes != w->limit * results)
        return tl_invalid_on(f, "the shape has %ld elements and %ld were written",
                             w->limit * results, w->written + w->boxes);

    if (w->limit < 0) {
        if (w->step_elements ? w->written % w->step_elements != 0 : w->written != 0)
            return tl_invalid_on(f,
                                 "%ld elements were written, not a multiple of the %ld of one row",
                                 w->written, w->step_elements);
        f->info.shape[0] = w->step_elements ? w->written / w->step_elements : 0;
    }

    if (w->netcdf) return tl_netcdf_finish(f, w->netcdf);
    if (w->form != TL_NPY || w->limit >= 0) return TALLY_OK;
    char header[512];
    const size_t n = tl_npy_write_header(header, f->info.dtype, f->info.ndim, f->info.shape);
    if (pwrite(f->fd, header, n, 0) != (ssize_t)n) return tl_write_failed(f, "writing the header");
    return TALLY_OK;
}

tally_status tally_file_commit(tally_file *file)
{
    TL_TRY(tl_check_open(file));
    tl_writer *const w = file->writer;
    tally_status s = tl_write_flush(file);
    if (!s) s = complete(file);
    w->done = 1;
    const char *wrong = NULL;
    if (!s && w->place.target) wrong = tl_replace_finish(&w->place, file->fd);

    if (file->owns_fd) { /* close may be the call that reports a full disk (NFS) */
        const int r = close(file->fd);
        file->owns_fd = 0;
        file->fd = -1;
        if (r != 0 && !wrong) wrong = "closing";
    }

    if (!s && !wrong && w->place.target) wrong = tl_replace_commit(&w->place);
    if (!s && wrong) s = tl_write_failed(file, wrong);
    tl_replace_drop(&w->place);
    return s;
}

/* SPDX-License-Identifier: MIT
 * Files for writing. A regular target is replaced by tally_file_commit (replace.c), so that its name holds the old file
 * or the complete new one at every moment. Standard output, FIFOs and devices are written directly. */
#define _GNU_SOURCE
#include "context/threads.h"
#include "netcdf.h"
#include "replace.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROOM = 1 << 20,  /* bytes gathered before a write */
    EARLY = 8 << 20, /* bytes after which the disk may begin */
    BATCH = 1 << 14
}; /* values a thread formats at a time */
enum { NPY, RAW, TEXT, CSV, NETCDF, FORMATS };

struct tl_writer {
    int format, hex, failed, done;
    int64_t limit, written, columns; /* elements: in all (-1: any), so far; a line */
    int64_t rest;                    /* elements an extent of the first axis */
    tl_replacement place;            /* place.target: what commit replaces, NULL when writing directly */
    char *text;                      /* gathered bytes; for text, threads * BATCH values */
    char *names;                     /* netcdf: of the variable and the dimensions */
    size_t used, room;
    int64_t put, begun; /* bytes written, of a file to be renamed; and those that the disk was told to begin with */
};

static tally_status failed(tally_file *f, const char *what)
{
    f->writer->failed = 1;
    if (errno == ENOMEM) return tl_fail(f->ctx, TALLY_NO_MEMORY, "%s: %s: out of memory", f->label, what);
    return tl_fail(f->ctx, TALLY_IO, "%s: %s: %s", f->label, what, strerror(errno));
}

/* Tells the disk to begin while there is still work, so that fsync at the end waits less. */
static void begin_early(const tally_file *f, int64_t n)
{
    tl_writer *const w = f->writer;
    w->put += n;
    if (!w->place.target || w->put - w->begun < EARLY) return;
    sync_file_range(f->fd, w->begun, w->put - w->begun, SYNC_FILE_RANGE_WRITE);
    w->begun = w->put;
}

static tally_status put(tally_file *f, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        const ssize_t r = write(f->fd, p, n < 1 << 30 ? n : 1 << 30);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0 && errno == EAGAIN) { /* someone set O_NONBLOCK: wait, as tl_input_some does */
            struct pollfd room = {f->fd, POLLOUT, 0};
            poll(&room, 1, -1);
            continue;
        }
        if (r < 0) return failed(f, "writing");
        p += r;
        n -= (size_t)r;
        begin_early(f, r);
    }
    return TALLY_OK;
}

static tally_status flush(tally_file *f)
{
    const size_t n = f->writer->used;
    f->writer->used = 0;
    return n ? put(f, f->writer->text, n) : TALLY_OK;
}

/* Opens the file that is to take the target's place, with the target's mode if it exists. */
static tally_status open_new(tally_file *f, const struct stat *old)
{
    const char *const wrong = tl_replace_open(&f->writer->place, old, &f->fd);
    f->own_fd = f->fd >= 0;
    return wrong ? failed(f, wrong) : TALLY_OK;
}

static tally_status open_output(tally_file *f)
{
    struct stat st;
    if (strcmp(f->name, "-") == 0) {
        f->fd = STDOUT_FILENO;
        return TALLY_OK;
    }
    if (stat(f->name, &st) != 0) {
        if (errno != ENOENT) return failed(f, "creating");
        f->writer->place.target = strdup(f->name);
        return f->writer->place.target ? open_new(f, NULL) : tl_no_memory(f->ctx, strlen(f->name), "a file's name");
    }
    if (S_ISDIR(st.st_mode)) return tl_fail(f->ctx, TALLY_IO, "%s: is a directory", f->label);
    if (S_ISREG(st.st_mode)) {
        if (access(f->name, W_OK) != 0) return failed(f, "writing"); /* a rename would get round a read-only file */
        f->writer->place.target =
            realpath(f->name, NULL); /* through a symbolic link: replace what it names, not the link */
        return f->writer->place.target ? open_new(f, &st) : failed(f, "creating");
    }
    f->fd = open(f->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (f->fd < 0) return failed(f, "opening");
    f->own_fd = 1;
    return TALLY_OK;
}

static tally_status choose(tally_file *f, const char *format)
{
    static const char *const names[] = {"npy", "raw", "text", "csv", "netcdf"};
    static const char *const ends[] = {".npy", ".raw", ".txt", ".csv", ".nc"};
    const char *const end = strrchr(f->name, '.');
    f->writer->format = -1;
    if (format && strcmp(format, "auto") != 0) {
        for (int i = 0; i < FORMATS; i++)
            if (strcmp(format, names[i]) == 0) f->writer->format = i;
        if (f->writer->format < 0)
            return tl_fail(f->ctx, TALLY_INVALID, "format '%s' is not one of npy, raw, text, csv, netcdf", format);
    } else {
        f->writer->format = strcmp(f->name, "-") == 0 ? TEXT : RAW;
        for (int i = 0; i < FORMATS; i++)
            if (end && end > f->name && strcmp(end, ends[i]) == 0) f->writer->format = i;
    }
    f->info.format = names[f->writer->format];
    return TALLY_OK;
}

/* "data(dim0, dim1)", until tally_file_head says better. */
static tally_status start_netcdf(tally_file *f)
{
    tl_writer *const w = f->writer;
    int n = 0;
    if (!tl_netcdf_type(f->info.dtype))
        return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: netcdf has no type %s", f->label,
                       tally_dtype_name(f->info.dtype));
    for (int d = 1; d < f->info.ndim; d++)
        if (f->info.shape[d] == 0) /* in a file, a length of 0 means: as many as there are records */
            return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: shape[%d] is 0: in netcdf only the first may be", f->label,
                           d);
    if (!(w->names = malloc(160))) return tl_no_memory(f->ctx, 160, "the names of the dimensions");
    n = sprintf(w->names, "data(");
    for (int d = 0; d < f->info.ndim; d++) n += sprintf(w->names + n, "%sdim%d", d ? ", " : "", d);
    strcpy(w->names + n, ")");
    w->used = tl_netcdf_header(w->text, w->names, f->info.dtype, f->info.ndim, f->info.shape);
    return TALLY_OK;
}

static tally_status start(tally_file *f, const char *format, int ndim, const int64_t *shape)
{
    tl_writer *const w = f->writer;
    tally_status s;
    if (!tally_dtype_size(f->info.dtype))
        return tl_fail(f->ctx, TALLY_INVALID, "dtype %d is no dtype", (int)f->info.dtype);
    if (ndim < 0 || ndim > 8) return tl_fail(f->ctx, TALLY_INVALID, "ndim is %d: must be 0..8", ndim);
    if (ndim && !shape) return tl_fail(f->ctx, TALLY_INVALID, "shape is NULL");
    w->rest = 1;
    f->info.ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < (i ? 0 : -1))
            return tl_fail(f->ctx, TALLY_INVALID, "shape[%d] is %lld: must be at least %d", i, (long long)shape[i],
                           i ? 0 : -1);
        f->info.shape[i] = shape[i];
        if (i && __builtin_mul_overflow(w->rest, shape[i], &w->rest))
            return tl_fail(f->ctx, TALLY_INVALID, "shape has more elements than 64-bit sizes can count");
    }
    w->limit = ndim == 0 ? 1 : -1;
    if (ndim && shape[0] >= 0 && __builtin_mul_overflow(w->rest, shape[0], &w->limit))
        return tl_fail(f->ctx, TALLY_INVALID, "shape has more elements than 64-bit sizes can count");
    w->columns = ndim > 1 && shape[ndim - 1] > 0 ? shape[ndim - 1] : 1;
    f->info.elements = w->limit;
    if ((s = choose(f, format)) || (s = open_output(f))) return s;
    const int headed = w->format == NPY || w->format == NETCDF;
    if (headed && !w->place.target && w->limit < 0)
        return tl_fail(f->ctx, TALLY_UNSUPPORTED,
                       "%s: %s needs its shape first, and only a file can be completed later: write text, "
                       "raw, or to a file",
                       f->label, f->info.format);
    const int threads = tl_io_threads(f->ctx);
    w->room = headed || w->format == RAW ? ROOM : (size_t)(threads > 0 ? threads : 1) * BATCH * TL_VALUE_CHARS;
    if (!(w->text = malloc(w->room))) return tl_no_memory(f->ctx, w->room, "writing");
    if (w->format == NPY) w->used = tl_npy_write_header(w->text, f->info.dtype, ndim, shape);
    return w->format == NETCDF ? start_netcdf(f) : TALLY_OK;
}

static void writer_end(tally_file *f)
{
    tl_writer *const w = f->writer;
    tl_replace_drop(&w->place); /* never committed */
    free(w->text);
    free(w->names);
    free(w);
}

tally_status tally_file_create(tally *ctx, const char *path, const char *format, tally_dtype dtype, int ndim,
                               const int64_t *shape, int hex, tally_file **file)
{
    tally_status s = tl_file_new(ctx, path, "standard output", file);
    if (s) return s;
    tally_file *const f = *file;
    f->info.dtype = dtype;
    f->writer = calloc(1, sizeof *f->writer);
    if (!f->writer) return tl_file_opened(file, tl_no_memory(ctx, sizeof *f->writer, "a file"));
    f->end = writer_end;
    f->writer->hex = hex;
    return tl_file_opened(file, start(f, format, ndim, shape));
}

/* Formats n values that begin the file's element number `at`; where the text ends. */
static char *format_values(const tally_file *f, char *out, const unsigned char *p, int64_t n, int64_t at)
{
    const tl_writer *const w = f->writer;
    const size_t size = tally_dtype_size(f->info.dtype);
    const char comma = w->format == CSV ? ',' : '\t';
    int64_t column = at % w->columns;
    for (int64_t i = 0; i < n; i++, p += size) {
        out = tl_format(out, f->info.dtype, p, w->hex);
        if (++column == w->columns)
            *out++ = '\n', column = 0;
        else
            *out++ = comma;
    }
    return out;
}

static tally_status write_text(tally_file *f, const unsigned char *data, int64_t n)
{
    tl_writer *const w = f->writer;
    const size_t size = tally_dtype_size(f->info.dtype), part = (size_t)BATCH * TL_VALUE_CHARS;
    while (n) {
        const int64_t room = (int64_t)((w->room - w->used) / TL_VALUE_CHARS);
        tally_status s = TALLY_OK;
        if (room == 0 || (n >= BATCH && w->used)) {
            if ((s = flush(f))) return s;
            continue;
        }
        if (n < 2 * BATCH || w->room == part) {
            const int64_t now = n < room ? n : room;
            w->used = (size_t)(format_values(f, w->text + w->used, data, now, w->written) - w->text);
            data += (size_t)now * size, n -= now, w->written += now;
            continue;
        }
        const int parts = (int)(w->room / part); /* one per thread, each into its own part */
        const int64_t now = n < (int64_t)parts * BATCH ? n : (int64_t)parts * BATCH, each = (now + parts - 1) / parts;
        size_t ends[1024];
        if (parts > 1024) return tl_fail(f->ctx, TALLY_INVALID, "more than 1024 threads");
#pragma omp parallel for num_threads(tl_threads(parts)) schedule(static, 1)
        for (int i = 0; i < parts; i++) {
            const int64_t from = each * i < now ? each * i : now, to = from + each < now ? from + each : now;
            char *const out = w->text + (size_t)i * part;
            ends[i] = (size_t)(format_values(f, out, data + (size_t)from * size, to - from, w->written + from) - out);
        }
        for (int i = 0; i < parts && !s; i++) s = put(f, w->text + (size_t)i * part, ends[i]);
        if (s) return s;
        data += (size_t)now * size, n -= now, w->written += now;
    }
    return TALLY_OK;
}

/* The bytes of each value turned round, as netcdf has them. */
static tally_status write_turned(tally_file *f, const unsigned char *data, int64_t n)
{
    tl_writer *const w = f->writer;
    const size_t size = tally_dtype_size(f->info.dtype);
    for (tally_status s; n;) {
        const int64_t room = (int64_t)((w->room - w->used) / size), now = n < room ? n : room;
        if (now == 0) {
            if ((s = flush(f))) return s;
            continue;
        }
        memcpy(w->text + w->used, data, (size_t)now * size);
        if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) tl_swap_bytes((unsigned char *)w->text + w->used, now, size);
        w->used += (size_t)now * size;
        data += (size_t)now * size, n -= now, w->written += now;
    }
    return TALLY_OK;
}

/* Whether more may be written. */
static tally_status check_open(const tally_file *f)
{
    if (!f || !f->writer) return tl_fail(f ? f->ctx : NULL, TALLY_INVALID, "file is not open for writing");
    if (f->writer->done) return tl_fail(f->ctx, TALLY_INVALID, "%s: already committed", f->label);
    if (f->writer->failed) return tl_fail(f->ctx, TALLY_INVALID, "%s: an earlier write failed", f->label);
    return TALLY_OK;
}

static tally_status name_all(tally_file *f, const char *names)
{
    tl_writer *const w = f->writer;
    if (w->written) return tl_fail(f->ctx, TALLY_INVALID, "%s: the names come before elements", f->label);
    if (!tl_netcdf_names(names, f->info.ndim))
        return tl_fail(
            f->ctx, TALLY_INVALID,
            "%s: line is '%.100s': must be the name of the variable and of %d dimensions, like mean(lat, lon)",
            f->label, names, f->info.ndim);
    char *const own = strdup(names);
    if (!own) return tl_no_memory(f->ctx, strlen(names), "the names of the dimensions");
    free(w->names);
    w->names = own;
    w->used = tl_netcdf_header(w->text, names, f->info.dtype, f->info.ndim, f->info.shape);
    return TALLY_OK;
}

tally_status tally_file_head(tally_file *file, const char *line)
{
    tally_status s = check_open(file);
    if (s) return s;
    tl_writer *const w = file->writer;
    if (!line) return tl_fail(file->ctx, TALLY_INVALID, "line is NULL");
    if (w->format == NETCDF) return name_all(file, line);
    if (w->format != TEXT && w->format != CSV)
        return tl_fail(file->ctx, TALLY_UNSUPPORTED, "%s: %s has no lines", file->label, file->info.format);
    if (w->written) return tl_fail(file->ctx, TALLY_INVALID, "%s: the first line comes before elements", file->label);
    const size_t n = strlen(line);
    if (n + 1 > w->room - w->used) {
        if ((s = flush(file)) || (s = put(file, line, n))) return s;
        return put(file, "\n", 1);
    }
    memcpy(w->text + w->used, line, n);
    w->text[w->used + n] = '\n';
    w->used += n + 1;
    return TALLY_OK;
}

tally_status tally_file_write(tally_file *file, const void *data, int64_t n)
{
    tally_status s = check_open(file);
    if (s) return s;
    tl_writer *const w = file->writer;
    if (n < 0) return tl_fail(file->ctx, TALLY_INVALID, "n is %lld: must be at least 0", (long long)n);
    if (n == 0) return TALLY_OK;
    if (!data) return tl_fail(file->ctx, TALLY_INVALID, "data is NULL");
    if (w->limit >= 0 && n > w->limit - w->written)
        return tl_fail(file->ctx, TALLY_INVALID, "%s: n is %lld, and the shape leaves room for %lld elements",
                       file->label, (long long)n, (long long)(w->limit - w->written));
    if (w->format == TEXT || w->format == CSV) return write_text(file, data, n);
    if (w->format == NETCDF) return write_turned(file, data, n);
    const size_t bytes = (size_t)n * tally_dtype_size(file->info.dtype);
    if (bytes > w->room - w->used) s = flush(file);
    if (!s && bytes >= w->room / 4) {
        s = flush(file);
        if (!s) s = put(file, data, bytes);
    } else if (!s) {
        memcpy(w->text + w->used, data, bytes);
        w->used += bytes;
    }
    if (!s) w->written += n;
    return s;
}

/* Checks the count against the shape and completes it. */
static tally_status complete(tally_file *f)
{
    tl_writer *const w = f->writer;
    if (w->limit >= 0 && w->written != w->limit)
        return tl_fail(f->ctx, TALLY_INVALID, "%s: the shape has %lld elements and %lld were written", f->label,
                       (long long)w->limit, (long long)w->written);
    if (w->format == NETCDF) { /* ends with a multiple of 4 bytes */
        const size_t odd = (size_t)w->written * tally_dtype_size(f->info.dtype) % 4;
        const tally_status s = odd ? put(f, "\0\0\0", 4 - odd) : TALLY_OK;
        if (s) return s;
    }
    if (w->limit >= 0) return TALLY_OK;
    if (w->rest ? w->written % w->rest != 0 : w->written != 0)
        return tl_fail(f->ctx, TALLY_INVALID, "%s: %lld elements were written, not a multiple of the %lld of one row",
                       f->label, (long long)w->written, (long long)w->rest);
    f->info.shape[0] = w->rest ? w->written / w->rest : 0;
    if (w->format != NPY && w->format != NETCDF) return TALLY_OK;
    char header[TL_NETCDF_HEADER];
    const size_t n = w->format == NPY ? tl_npy_write_header(header, f->info.dtype, f->info.ndim, f->info.shape)
                                      : tl_netcdf_header(header, w->names, f->info.dtype, f->info.ndim, f->info.shape);
    if (pwrite(f->fd, header, n, 0) != (ssize_t)n) return failed(f, "writing the header");
    return TALLY_OK;
}

tally_status tally_file_commit(tally_file *file)
{
    tally_status s = check_open(file);
    if (s) return s;
    tl_writer *const w = file->writer;
    s = flush(file);
    if (!s) s = complete(file);
    w->done = 1;
    const char *wrong = NULL;
    if (!s && w->place.target) wrong = tl_replace_finish(&w->place, file->fd);
    if (file->own_fd) { /* close may be the one to report a full disk (NFS) */
        const int r = close(file->fd);
        file->own_fd = 0;
        file->fd = -1;
        if (r != 0 && !wrong) wrong = "closing";
    }
    if (!s && !wrong && w->place.target) wrong = tl_replace_commit(&w->place);
    if (!s && wrong) s = failed(file, wrong);
    tl_replace_drop(&w->place);
    return s;
}

void tl_writer_free(tally_file *f)
{
    tl_writer *const w = f->writer;
    if (!w) return;
    tl_replace_drop(&w->place); /* never committed */
    free(w->text);
    free(w->names);
    free(w);
    f->writer = NULL;
}

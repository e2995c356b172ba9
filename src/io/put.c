/* SPDX-License-Identifier: MIT
 * Writes bytes to a new file; and values as text and csv, which all threads format. */
#define _GNU_SOURCE
#include "context/threads.h"
#include "writer.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { EARLY = 8 << 20 }; /* bytes between two requests to start writing to disk */

tally_status tl_write_failed(tally_file *f, const char *what)
{
    f->writer->failed = 1;
    if (errno == ENOMEM) return tl_fail_on(f, TALLY_NO_MEMORY, "%s: out of memory", what);
    return tl_fail_on(f, TALLY_IO, "%s: %s", what, strerror(errno));
}

/* Starts writing to disk while there is still work, so that the fsync at the end waits less. */
static void begin_early(const tally_file *f, int64_t n)
{
    tl_writer *const w = f->writer;
    w->put += n;
    if (!w->place.target || w->put - w->begun < EARLY) return;
    sync_file_range(f->fd, w->begun, w->put - w->begun, SYNC_FILE_RANGE_WRITE);
    w->begun = w->put;
}

tally_status tl_write_put(tally_file *f, const void *data, size_t n)
{
    assert(f->writer);
    const char *p = data;
    if (f->writer->netcdf) {
        const tally_status s = tl_netcdf_put(f, f->writer->netcdf, data,
                                             (int64_t)(n / tally_dtype_size(f->info.dtype)));
        f->writer->failed |= s != TALLY_OK;
        return s;
    }

    while (n) {
        const ssize_t r = write(f->fd, p, n);
        if (r < 0 && errno == EINTR) continue;

        /* another process set O_NONBLOCK: wait, as tl_input_some does */
        if (r < 0 && errno == EAGAIN) {
            struct pollfd writable = {f->fd, POLLOUT, 0};
            poll(&writable, 1, -1);
            continue;
        }

        if (r < 0) return tl_write_failed(f, "writing");
        p += r;
        n -= (size_t)r;
        begin_early(f, r);
    }
    return TALLY_OK;
}

tally_status tl_write_flush(tally_file *f)
{
    assert(f->writer);
    const size_t n = f->writer->used;
    f->writer->used = 0;
    return n ? tl_write_put(f, f->writer->text, n) : TALLY_OK;
}

/* ---- text and csv ---- */

/* Formats n values, the first of which is element number `at` of the file. Returns the end of the
 * text. */
static char *format_values(const tally_file *f, char *out, const unsigned char *p, int64_t n,
                           int64_t at)
{
    assert(n >= 0 && at >= 0);
    const tl_writer *const w = f->writer;
    const size_t size = tally_dtype_size(f->info.dtype);
    const char comma = w->form == TL_CSV ? ',' : '\t';
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

typedef struct {
    const tally_file *f;
    const unsigned char *data;
    int64_t n, each; /* values; values of a part */
    size_t *ends;    /* length of the text of each part */
} format_work;

static void format_part(void *data, int64_t i)
{
    const format_work *a = data;
    const tl_writer *const w = a->f->writer;
    const int64_t from = a->each * i < a->n ? a->each * i : a->n,
                  to = from + a->each < a->n ? from + a->each : a->n;
    char *const out = w->text + (size_t)i * TL_WRITE_BATCH * TL_VALUE_CHARS;
    const unsigned char *const p = a->data + (size_t)from * tally_dtype_size(a->f->info.dtype);
    a->ends[i] = (size_t)(format_values(a->f, out, p, to - from, w->written + from) - out);
}

tally_status tl_write_text(tally_file *f, const unsigned char *data, int64_t n)
{
    assert(n >= 0);
    tl_writer *const w = f->writer;
    const size_t size = tally_dtype_size(f->info.dtype),
                 part = (size_t)TL_WRITE_BATCH * TL_VALUE_CHARS;

    while (n) {
        const int64_t capacity = (int64_t)((w->capacity - w->used) / TL_VALUE_CHARS);
        tally_status s = TALLY_OK;
        if (capacity == 0 || (n >= TL_WRITE_BATCH && w->used)) {
            if ((s = tl_write_flush(f))) return s;
            continue;
        }

        if (n < 2 * TL_WRITE_BATCH || w->capacity == part) {
            const int64_t now = n < capacity ? n : capacity;
            w->used =
                (size_t)(format_values(f, w->text + w->used, data, now, w->written) - w->text);
            data += (size_t)now * size, n -= now, w->written += now;
            continue;
        }

        const int parts =
            (int)(w->capacity / part); /* each thread has its own part of the buffer */
        const int64_t now =
                          n < (int64_t)parts * TL_WRITE_BATCH ? n : (int64_t)parts * TL_WRITE_BATCH,
                      each = (now + parts - 1) / parts;
        size_t ends[1024];
        if (parts > 1024) return tl_invalid(f->ctx, "more than 1024 threads");
        format_work all = {f, data, now, each, ends};
        tl_for(parts, parts, format_part, &all);
        for (int i = 0; i < parts && !s; i++)
            s = tl_write_put(f, w->text + (size_t)i * part, ends[i]);
        if (s) return s;
        data += (size_t)now * size, n -= now, w->written += now;
    }
    return TALLY_OK;
}

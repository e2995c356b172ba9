/* SPDX-License-Identifier: MIT
 * Writes bytes to a new file. */
#define _GNU_SOURCE
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
    if (errno == ENOMEM)
        return tl_fail(f->ctx, TALLY_NO_MEMORY, "%s: %s: out of memory", f->label, what);
    return tl_fail(f->ctx, TALLY_IO, "%s: %s: %s", f->label, what, strerror(errno));
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

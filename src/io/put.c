/* SPDX-License-Identifier: MIT
 * Writes bytes to a new file; and values as text and csv, which all threads format.
 *
 * A new file that replaces another is made in the same folder, synced to disk and renamed. So the
 * target's name always refers to the old file or to the complete new one, also after a power
 * failure.
 *
 *    O_TMPFILE       the new file has no name until it is complete: if the process dies, the
 *                    file is gone
 *    else            .tally-<random>.tmp, in the list of store/store.h until it is renamed
 *                    or removed */
#define _GNU_SOURCE
#include "context/threads.h"
#include "writer.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
    int64_t each; /* values of a part */
    size_t *ends; /* length of the text of each part */
} format_work;

static void format_part(void *data, int64_t from, int64_t to)
{
    const format_work *a = data;
    const tl_writer *const w = a->f->writer;
    const int64_t i = from / a->each;
    char *const out = w->text + (size_t)i * TL_WRITE_BATCH * TL_VALUE_CHARS;
    const unsigned char *const p = a->data + (size_t)from * tally_dtype_size(a->f->info.dtype);
    a->ends[i] = (size_t)(format_values(a->f, out, p, to - from, w->written + from) - out);
}

tally_status tl_write_text(tally_file *f, const unsigned char *data, int64_t n)
{
    assert(n >= 0);
    tl_writer *const w = f->writer;
    const size_t part = (size_t)TL_WRITE_BATCH * TL_VALUE_CHARS;
    size_t ends[TL_THREADS_MOST];
    tally_status s = TALLY_OK;

    while (n && !s) {
        /* many values: each thread has its own part of the buffer; few: they are collected */
        const int parts = n < 2 * TL_WRITE_BATCH ? 1 : (int)(w->capacity / part);
        const int64_t capacity = parts > 1 ? (int64_t)parts * TL_WRITE_BATCH
                                           : (int64_t)((w->capacity - w->used) / TL_VALUE_CHARS),
                      now = n < capacity ? n : capacity;
        assert(parts >= 1 && parts <= TL_THREADS_MOST);
        if (capacity == 0 || (n >= TL_WRITE_BATCH && w->used)) {
            s = tl_write_flush(f);
            continue;
        }

        if (parts == 1) {
            w->used =
                (size_t)(format_values(f, w->text + w->used, data, now, w->written) - w->text);
        } else {
            format_work work = {f, data, (now + parts - 1) / parts, ends};
            tl_for_parts(parts, now, work.each, format_part, &work);
            for (int i = 0; i < (now + work.each - 1) / work.each && !s; i++)
                s = tl_write_put(f, w->text + (size_t)i * part, ends[i]);
        }
        data += (size_t)now * tally_dtype_size(f->info.dtype);
        n -= now;
        w->written += now;
    }
    return s;
}

/* ---- a file that replaces another ---- */

enum { DESCRIPTOR = 32 };

static void remove_temp(const char *path) { unlink(path); }

/* The path of the descriptor in /proc, by which linkat can name a file without a name. */
static const char *descriptor(int fd, char *path)
{
    snprintf(path, DESCRIPTOR, "/proc/self/fd/%d", fd);
    return path;
}

/* Length of the target's folder in its path, with the last slash. */
static int folder_length(const char *target)
{
    const char *const slash = strrchr(target, '/');
    return slash ? (int)(slash - target) + 1 : 0;
}

/* Opens a file without a name. -1: not possible here. */
static int open_unnamed(const char *target)
{
    const int n = folder_length(target);
    char path[DESCRIPTOR], *const folder = strndup(n ? target : ".", n ? (size_t)n : 1);
    if (!folder) return -1;
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0 || access(descriptor(fd, path), F_OK) == 0) return fd;
    close(fd); /* without /proc it could not be named */
    return -1;
}

/* Gives the new file an unused name in the target's folder. If *fd < 0, also creates the file.
 * Returns 0 with errno on failure. */
static int name_it(tl_replacement *r, int *fd)
{
    const int n = folder_length(r->target);
    const size_t capacity = (size_t)n + 40;
    char from[DESCRIPTOR];
    sigset_t held;
    int done = 0;
    if (!(r->temp = malloc(capacity))) return 0;
    uint64_t seed = (uint64_t)getpid() << 40 ^ (uintptr_t)r;
    tl_cleanup_hold(&held);

    for (int i = 0; i < 100 && !done; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        snprintf(r->temp, capacity, "%.*s.tally-%012lx.tmp", n, r->target, seed >> 16);

        if (*fd >= 0) {
            done =
                linkat(AT_FDCWD, descriptor(*fd, from), AT_FDCWD, r->temp, AT_SYMLINK_FOLLOW) == 0;
        } else {
            *fd = open(r->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            done = *fd >= 0;
        }

        if (!done && errno != EEXIST) break;
    }

    if (done) tl_cleanup_path(&r->cleanup, remove_temp, r->temp);
    tl_cleanup_release(&held);

    if (!done) {
        free(r->temp);
        r->temp = NULL;
    }
    return done;
}

const char *tl_replace_open(tl_replacement *r, const struct stat *old, int named, int *fd)
{
    *fd = named ? -1 : open_unnamed(r->target);
    if (*fd < 0 && !name_it(r, fd)) return "creating a temporary file beside it";
    return old && fchmod(*fd, old->st_mode & 0777) != 0 ? "keeping its mode" : NULL;
}

const char *tl_replace_finish(tl_replacement *r, int fd)
{
    if (fsync(fd) != 0) return "bringing it to the disk";
    return r->temp || name_it(r, &fd) ? NULL : "giving it a name";
}

const char *tl_replace_commit(tl_replacement *r)
{
    if (rename(r->temp, r->target) != 0) return "renaming into place";
    tl_cleanup_drop(&r->cleanup);
    free(r->temp);
    r->temp = NULL;
    return NULL;
}

void tl_replace_drop(tl_replacement *r)
{
    if (r->temp) {
        unlink(r->temp);
        tl_cleanup_drop(&r->cleanup);
    }
    free(r->temp);
    free(r->target);
    r->temp = r->target = NULL;
}

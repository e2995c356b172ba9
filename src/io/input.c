/* SPDX-License-Identifier: MIT
 * Reads bytes from a regular file (by position) or from a pipe (in order), and reads ahead while
 * the format is guessed. */
#define _GNU_SOURCE
#include "context/threads.h"
#include "io.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((weak)) int tl_io_threads(tally *ctx) { return ctx ? tally_threads(ctx) : 1; }

/* pread until n bytes are read or the file ends. */
static int64_t pread_full(int fd, void *buffer, size_t n, int64_t at)
{
    assert(at >= 0);
    size_t done = 0;
    while (done < n) { /* Linux reads at most 2 GiB - 4 KiB at a time */
        const ssize_t r = pread(fd, (char *)buffer + done, n - done, at + (int64_t)done);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return -1;
        if (r == 0) break;
        done += (size_t)r;
    }

    return (int64_t)done;
}

typedef struct {
    int fd;
    char *buffer;
    int64_t at;
    int64_t got; /* bytes */
    int error;   /* an errno */
} read_work;

static void read_part(void *data, int64_t from, int64_t end)
{
    read_work *w = data;
    const int64_t r = pread_full(w->fd, w->buffer + from, (size_t)(end - from), w->at + from);
    if (r < 0)
        __atomic_store_n(&w->error, errno, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&w->got, r, __ATOMIC_RELAXED);
}

int64_t tl_pread_shared(const tally_file *f, void *buffer, int64_t n, int threads, int parts)
{
    assert(n >= 0 && parts >= 1);
    read_work work = {f->fd, buffer, f->pos, 0, 0};
    tl_for_parts(threads, n, (n + parts - 1) / parts + !n, read_part, &work);
    errno = work.error;
    return work.error ? -1 : work.got;
}

/* The result of a read that found the end: 0, or -1 if compressed bytes ended by a failure. */
static int64_t at_end(tally_file *f)
{
    f->peek_end = 1; /* a terminal reports its end only once */
    return f->compressed && f->failure(f->compressed) ? -1 : 0;
}

/* read that waits for data if another process set O_NONBLOCK. */
static ssize_t read_some(int fd, void *buffer, size_t n)
{
    for (;;) {
        const ssize_t r = read(fd, buffer, n);
        if (r >= 0 || (errno != EINTR && errno != EAGAIN)) return r;
        struct pollfd p = {fd, POLLIN, 0};
        if (errno == EAGAIN) poll(&p, 1, -1);
    }
}

int64_t tl_input_some(tally_file *f, void *buffer, size_t n)
{
    assert(f->peek_at <= f->peek_n);
    if (f->regular) {
        const int64_t r = pread_full(f->fd, buffer, n, f->pos);
        if (r > 0) f->pos += r;
        return r;
    }

    if (f->peek_at < f->peek_n) {
        const size_t available = f->peek_n - f->peek_at, take = available < n ? available : n;
        memcpy(buffer, f->peek + f->peek_at, take);
        f->peek_at += take;
        f->pos += (int64_t)take;
        return (int64_t)take;
    }

    if (f->peek_end) return at_end(f);
    const ssize_t r = read_some(f->fd, buffer, n);
    if (r > 0) f->pos += r;
    return r ? r : at_end(f);
}

int64_t tl_input_read(tally_file *f, void *buffer, size_t n)
{
    size_t done = 0;
    while (done < n) {
        const int64_t r = tl_input_some(f, (char *)buffer + done, n - done);
        if (r < 0) return -1;
        if (r == 0) break;
        done += (size_t)r;
    }
    return (int64_t)done;
}

int tl_input_would_wait(const tally_file *f)
{
    if (f->regular || f->peek_at < f->peek_n || f->peek_end) return 0;
    struct pollfd p = {f->fd, POLLIN, 0};
    return poll(&p, 1, 0) == 0;
}

tally_status tl_input_peek(tally_file *f, size_t want)
{
    assert(f->peek_at <= f->peek_n && f->peek_n <= f->peek_capacity);
    if (want > f->peek_capacity) {
        TL_TRY(tl_grow(f->ctx, &f->peek, want + TL_PAD, "the beginning of the file"));
        f->peek_capacity = want;
    }

    while (f->peek_n < want && !f->peek_end) {
        char *const to = f->peek + f->peek_n;
        const size_t n = want - f->peek_n;
        int64_t r = f->regular ? pread_full(f->fd, to, n, f->pos + (int64_t)f->peek_n)
                               : read_some(f->fd, to, n);
        if (r == 0) r = at_end(f);
        if (r < 0 && f->peek_n && f->peek_end) break; /* the failure comes after these bytes */
        if (r < 0) return tl_input_failed(f);
        f->peek_n += (size_t)r;
        struct pollfd more = {f->fd, POLLIN, 0};

        /* from a pipe: return, so that the caller can check whether this is enough */
        if (!f->regular && r > 0 && poll(&more, 1, 0) == 0) break;
    }

    memset(f->peek + f->peek_n, 0, TL_PAD);
    return TALLY_OK;
}

tally_status tl_input_begins(tally_file *f, const char *bytes, size_t n, int *yes)
{
    for (size_t before = SIZE_MAX;; before = f->peek_n) {
        const size_t k = f->peek_n < n ? f->peek_n : n;
        *yes = k == n && memcmp(f->peek, bytes, n) == 0;
        if (k == n || f->peek_end || k == before || (k && memcmp(f->peek, bytes, k) != 0))
            return TALLY_OK;
        TL_TRY(tl_input_peek(f, n)); /* a pipe may deliver the bytes one by one */
    }
}

tally_status tl_input_failed(tally_file *f)
{
    const char *const why = f->compressed ? f->failure(f->compressed) : NULL;
    if (why) return tl_bad_data_on(f, "%s", why);
    return tl_fail_on(f, TALLY_IO, "reading: %s",
                      errno ? strerror(errno) : "the file became shorter while it was read");
}

/* ---- elements as they are stored: npy and raw ---- */

enum {
    AHEAD = 16 << 20, /* bytes that the kernel is told to read ahead */
    SHARE = 4 << 20   /* fewest bytes for each thread */
};

static void map(tally_file *f, int64_t bytes)
{
    assert(f->regular && bytes >= 0);
    if (bytes == 0 || f->swap) return;
    const size_t length = (size_t)(f->pos + bytes);
    void *const at = mmap(NULL, length, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (at == MAP_FAILED) return; /* tally_file_read works without it */
    madvise(at, length, MADV_SEQUENTIAL);
#ifdef MADV_HUGEPAGE
    madvise(at, length, MADV_HUGEPAGE); /* only some file systems can; no effect on others */
#endif
    f->map = at;
    f->map_bytes = length;
    f->info.mapped = (const char *)at + f->pos;
}

static tally_status truncated(tally_file *f, int64_t available)
{
    assert(available >= 0);
    char shape[TL_LIST_CHARS];
    tl_list(f->info.ndim, f->info.shape, shape);
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype);
    return tl_bad_data_on(
        f, "the file is truncated: shape (%s) of %s needs %ld bytes of elements, and %ld are there",
        shape, tally_dtype_name(f->info.dtype), f->info.elements * size, available);
}

tally_status tl_binary_start(tally_file *f)
{
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype);
    const int npy = strcmp(f->info.format, "npy") == 0;

    if (f->regular) {
        const int64_t available = f->size - f->pos;
        if (npy) {
            if (available / size < f->info.elements) return truncated(f, available);
        } else {
            if (available % size)
                return tl_bad_data_on(f, "%ld bytes is not a multiple of %ld, the size of %s",
                                      available, size, tally_dtype_name(f->info.dtype));
            f->info.elements = available / size;
        }

        posix_fadvise(f->fd, f->pos, 0, POSIX_FADV_SEQUENTIAL);
        map(f, f->info.elements * size);
        f->info.bytes_total = f->pos + f->info.elements * size;
    } else if (!npy) {
        f->info.elements = -1;
    }

    if (!npy) {
        f->info.ndim = 1;
        f->info.shape[0] = f->info.elements;
    }

    f->left = f->info.elements;
    return TALLY_OK;
}

static void swap_bytes(unsigned char *p, int64_t n, size_t size)
{
    assert(n >= 0 && size >= 1 && size <= 8);
    const int unused = 64 - 8 * (int)size;
    for (int64_t i = 0; i < n && size > 1; i++, p += size)
        tl_store(p, __builtin_bswap64(tl_load(p, size)) >> unused, size);
}

/* pread of n bytes by several threads. Returns the bytes read, or -1; fewer than n only if the file
 * became shorter, which the caller reports as an error. */
static int64_t read_shared(const tally_file *f, void *buffer, int64_t n)
{
    assert(n >= 0);
    const int threads = tl_io_threads(f->ctx),
              parts = threads > n / SHARE ? (int)(n / SHARE) : threads;
    posix_fadvise(f->fd, f->pos + n, AHEAD, POSIX_FADV_WILLNEED);
    return tl_pread_shared(f, buffer, n, threads, parts < 1 ? 1 : parts);
}

tally_status tl_binary_read(tally_file *f, void *buffer, int64_t max, int64_t *got)
{
    assert(max >= 0);
    const int64_t size = (int64_t)tally_dtype_size(f->info.dtype);
    int64_t n = f->left >= 0 && f->left < max ? f->left : max, r;
    *got = 0;
    if (n > INT64_MAX / size) n = INT64_MAX / size;
    if (n == 0) return TALLY_OK;

    if (f->regular) {
        r = read_shared(f, buffer, n * size);
        if (r > 0) f->pos += r;
    } else {
        r = tl_input_read(f, buffer, (size_t)(n * size));
    }

    if (r < 0) return tl_input_failed(f);
    f->info.bytes_read = f->pos;
    if (r < n * size && f->left >= 0) return truncated(f, (f->info.elements - f->left) * size + r);

    if (r % size)
        return tl_bad_data_on(
            f,
            "the data ends inside an element: %ld bytes is not a multiple of %ld, "
            "the size of %s",
            f->pos, size, tally_dtype_name(f->info.dtype));

    *got = r / size;
    if (f->left >= 0) f->left -= *got;
    if (f->swap) swap_bytes(buffer, *got, (size_t)size);
    return TALLY_OK;
}

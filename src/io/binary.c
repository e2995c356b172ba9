/* SPDX-License-Identifier: MIT
 * Reads npy and raw elements. A regular file in native byte order is also mapped (info.mapped), for
 * use in memory. tally_file_read does not use the mapping: it copies with large preads from several
 * threads, and tells the kernel to read ahead, so a file of any size is read in bounded memory.
 * Pipes are read in order. */
#define _GNU_SOURCE
#include "io.h"
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
        f,
        "the file is truncated: shape (%s) of %s needs %lld bytes of elements, and %lld are there",
        shape, tally_dtype_name(f->info.dtype), (long long)(f->info.elements * size),
        (long long)available);
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
                return tl_bad_data_on(f, "%lld bytes is not a multiple of %lld, the size of %s",
                                      (long long)available, (long long)size,
                                      tally_dtype_name(f->info.dtype));
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
            "the data ends inside an element: %lld bytes is not a multiple of %lld, "
            "the size of %s",
            (long long)f->pos, (long long)size, tally_dtype_name(f->info.dtype));

    *got = r / size;
    if (f->left >= 0) f->left -= *got;
    if (f->swap) swap_bytes(buffer, *got, (size_t)size);
    return TALLY_OK;
}

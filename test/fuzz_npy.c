/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as an npy file, through a memory file and through a pipe: no crash, and
 * both give the same elements, with the format named and guessed. Then the file becomes shorter
 * while it is open: reading fails or gives the elements that are left.
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude test/fuzz_npy.c
 *   src/io/[a-z]*.c
 * src/context/error.c src/dtype.c */
#define _GNU_SOURCE
#include "tally.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, 1; }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t load(int fd, const char *format, tally_dtype dtype, unsigned char *out,
                    int64_t capacity, tally_file_info *info)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const tally_file_options o = {.format = format, .dtype = dtype};
    tally_file *f;
    int64_t n = 0, got = 1;
    if (tally_file_open(NULL, path, &o, &f)) return -1;
    tally_file_get_info(f, info);
    const int64_t width = (int64_t)tally_dtype_size(info->dtype);
    if (info->ndim < 0 || info->ndim > 8 || info->elements < 0) abort();
    if (info->mapped && info->elements) { /* every mapped byte is there */
        volatile unsigned char last =
            ((const unsigned char *)info->mapped)[info->elements * width - 1];
        (void)last;
    }
    while (got) {
        if (tally_file_read(f, out + n * width, capacity / width - n < 7 ? capacity / width - n : 7,
                            &got)) {
            n = -1;
            break;
        }
        n += got;
    }
    info->mapped = NULL;
    info->name = "";
    info->bytes_read = info->bytes_total = 0;
    tally_file_close(f);
    return n < 0 ? -1 : n * width;
}

static void shrink(int fd, tally_dtype dtype, const unsigned char *all, int64_t bytes, size_t to)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const tally_file_options o = {.format = "npy", .dtype = dtype};
    tally_file *f;
    tally_file_info info;
    unsigned char y[32768 + 64];
    int64_t got;
    if (tally_file_open(NULL, path, &o, &f)) return;
    if (ftruncate(fd, (off_t)to)) abort();
    tally_file_get_info(f, &info);
    const int64_t width = (int64_t)tally_dtype_size(info.dtype);
    if (info.mapped && info.shrunk != ((int64_t)to < info.bytes_total)) abort();
    if (tally_file_read(f, y, bytes / width, &got) == TALLY_OK &&
        (got * width != bytes || memcmp(all, y, (size_t)bytes) != 0))
        abort();
    tally_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 32768) return 0; /* fits a pipe */
    const tally_dtype dtype = data[0] & 1 ? TALLY_BF16 : (tally_dtype)0;
    data++, size--;
    const int fd = memfd_create("fuzz", 0);
    int p[2];
    if (fd < 0 || pipe(p) || write(fd, data, size) != (ssize_t)size ||
        write(p[1], data, size) != (ssize_t)size)
        abort();
    unsigned char x[32768 + 64], y[32768 + 64];
    tally_file_info a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    const int64_t n = load(fd, "npy", dtype, x, sizeof x, &a);
    const int magic = size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
    if (magic &&
        (load(fd, NULL, dtype, y, sizeof y, &b) != n || (n > 0 && memcmp(x, y, (size_t)n) != 0)))
        abort();
    close(p[1]);
    const int64_t m = load(p[0], "npy", dtype, y, sizeof y, &b);
    if (n != m || (n > 0 && memcmp(x, y, (size_t)n) != 0)) abort();
    if (n >= 0 && (a.dtype != b.dtype || a.ndim != b.ndim || a.fortran != b.fortran ||
                   memcmp(a.shape, b.shape, sizeof a.shape) != 0))
        abort();
    if (n > 0) shrink(fd, dtype, x, n, size - 1 - (size_t)n / 2);
    close(fd);
    close(p[0]);
    return 0;
}

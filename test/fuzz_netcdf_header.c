/* SPDX-License-Identifier: MIT
 * libFuzzer: any bytes as a classic NetCDF file. Our parser of the header never crashes and
 * promises nothing that the file does not have; and what it lets through neither crashes
 * libnetcdf nor gives elements that are not in the file. (Where libnetcdf is not, only the parser
 * runs.) */
#define _GNU_SOURCE
#include "io/netcdf/netcdf.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, 1; }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 }; /* elements that are read */

/* Reads a variable, all of it if it is small: its elements, or -1. */
static int64_t load(int fd, const char *variable, tally_dtype dtype)
{
    char path[32];
    tally_file *f;
    tally_file_info info;
    int64_t got = 1, n = 0;
    static unsigned char out[8 * MOST];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const tally_file_options o = {.format = "netcdf", .variable = variable, .dtype = dtype};
    if (tally_file_open(NULL, path, &o, &f)) {
        if (!strlen(tally_error(NULL))) abort();
        return -1;
    }
    tally_file_get_info(f, &info);
    if (info.ndim < 1 || info.ndim > 8 || info.elements < 0) abort();
    while (got && n < MOST)
        if (tally_file_read(f, out, MOST - n < 77 ? MOST - n : 77, &got))
            got = 0;
        else
            n += got;
    tally_file_close(f);
    return info.elements;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {NULL, "x", "v", "time"};
    tl_classic c;
    if (size > 1 << 16) return 0;
    const int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    const int good = tl_classic_read(fd, (int64_t)size, &c);
    if (good != !*c.why || (good && (!c.end || c.count > (int64_t)size / 12))) abort();
    int64_t whole = 0; /* bytes up to the end of the last variable that the file has all of */
    for (int64_t i = 0; good && i < c.count; i++) {
        if (c.end[i] < 0) abort();
        if (c.end[i] <= (int64_t)size && c.end[i] > whole) whole = c.end[i];
    }
    tl_classic_free(&c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const int64_t n = load(fd, names[i], i & 1 ? TALLY_F64 : 0);
        /* every element has a byte of the file */
        if (n >= 0 && size > 3 && !memcmp(data, "CDF", 3) && (!good || n > (int64_t)size)) abort();
    }
    /* one byte less: the variable that ended there is refused, whatever it is called */
    if (whole && (ftruncate(fd, whole - 1) || !tl_classic_read(fd, whole - 1, &c))) {
        if (good && !*c.why) abort();
    } else if (whole) {
        int refused = 0;
        for (int64_t i = 0; i < c.count; i++) refused |= c.end[i] > c.size;
        if (!refused) abort();
    }
    if (whole) tl_classic_free(&c);
    close(fd);
    return 0;
}

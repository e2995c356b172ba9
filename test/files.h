/* SPDX-License-Identifier: MIT
 * What the tests of files share: a folder that goes away at the end, a reader of whole files,
 * and the number of threads the library's readers and writers use. Programs define _GNU_SOURCE
 * first. */
#ifndef TALLY_TEST_FILES_H
#define TALLY_TEST_FILES_H
#include "check.h"
#include "io/io.h"
#include <unistd.h>

static int threads = 1;
int tl_io_threads(tally *ctx);
int tl_io_threads(tally *ctx) { return (void)ctx, threads; } /* instead of the context's */

/* One check; a failed one shows the last error too. */
static inline void expect(int ok, const char *what, const char *detail)
{
    check(ok, "%s: %s (last error: %s)", what, detail, tally_error(NULL));
}

/* ---- the folder ---- */

static char dir[] = "/tmp/tally-files-XXXXXX";

static inline void files_start(void)
{
    check_start();
    if (!mkdtemp(dir)) perror(dir), exit(1);
}

static inline int files_finish(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    check(system(command) == 0, "%s", command);
    return check_finish();
}

/* The path of a file in the folder; the last four stay valid. */
static inline const char *path(const char *name)
{
    static char out[4][128];
    static int k;
    k = (k + 1) % 4;
    snprintf(out[k], sizeof out[k], "%s/%s", dir, name);
    return out[k];
}

static inline void save(const char *name, const void *data, size_t n)
{
    FILE *const f = fopen(path(name), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) perror("save"), exit(1);
}

/* ---- reading ---- */

static double values[1 << 16];

/* Opens and reads all of a file, `max` elements at a time, into values, of any dtype: how many,
 * or -1 (see tally_error). */
static inline int64_t load(const char *p, const tally_file_options *o, int64_t max)
{
    tally_file *f;
    int64_t n = 0, got;
    tally_file_info info;
    if (tally_file_open(NULL, p, o, &f)) return -1;
    tally_file_get_info(f, &info);
    const size_t size = tally_dtype_size(info.dtype);
    const int64_t capacity = (int64_t)(sizeof values / size);
    do {
        if (tally_file_read(f, (char *)values + (size_t)n * size,
                            max < capacity - n ? max : capacity - n, &got))
            n = -1, got = 0;
        n += got;
    } while (got);
    tally_file_close(f);
    return n;
}
#endif

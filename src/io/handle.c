/* SPDX-License-Identifier: MIT
 * Creates and closes tally_file objects. `end` frees what the reader or writer needs. */
#define _GNU_SOURCE
#include "io.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((weak)) int tl_io_threads(tally *ctx) { return ctx ? tally_threads(ctx) : 1; }

tally_status tl_file_new(tally *ctx, const char *path, const char *standard, tally_file **file)
{
    assert(standard);
    if (!file) return tl_invalid(ctx, "file is NULL");

    *file = NULL;
    if (!path) return tl_invalid(ctx, "path is NULL");
    if (!*path) return tl_invalid(ctx, "path is '': must name a file");

    tally_file *const f = calloc(1, sizeof *f);
    if (!f) return tl_no_memory(ctx, sizeof *f, "a file");

    f->ctx = ctx;
    f->fd = -1;
    f->name = strdup(path);
    if (!f->name) {
        free(f);
        return tl_no_memory(ctx, strlen(path) + 1, "a file's name");
    }

    f->info.name = f->name;
    f->label = strcmp(path, "-") == 0 ? standard : f->name;
    f->info.bytes_total = -1;
    *file = f;
    return TALLY_OK;
}

void tally_file_close(tally_file *file)
{
    if (!file) return;
    if (file->end) file->end(file);
    if (file->map) munmap(file->map, file->map_bytes);
    if (file->own_fd) close(file->fd);
    tl_compressed_close(file->compressed); /* its thread ends, as nothing reads the pipe */
    free(file->peek);
    free(file->name);
    free(file);
}

tally_status tl_file_opened(tally_file **file, tally_status s)
{
    if (s) {
        tally_file_close(*file);
        *file = NULL;
    }
    return s;
}

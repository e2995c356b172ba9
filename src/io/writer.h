/* SPDX-License-Identifier: MIT
 * The common declarations of write.c, put.c and netcdf/coordinate.c. */
#pragma once

#include "io/netcdf/netcdf.h"
#include "store/store.h"
#include <sys/stat.h>

enum {
    TL_WRITE_BYTES = 1 << 20, /* bytes that are collected before a write */
    TL_WRITE_BATCH = 1 << 14  /* values that a thread formats at a time */
};

/* put.c: a new file that replaces another when it is complete. */
typedef struct {
    char *target;       /* the path to be replaced; the caller sets it, owned here */
    char *temp;         /* the new file's temporary name, or NULL if it has none */
    tl_cleanup cleanup; /* lists temp while it exists */
} tl_replacement;

/* Call these in this order. Each returns NULL, or the failed step as text, with errno. */
/* old: the file whose mode the new one gets, or NULL. named: the file gets a name at once. */
const char *tl_replace_open(tl_replacement *r, const struct stat *old, int named, int *fd);

/* after all is written: syncs the file to disk, and names it */
const char *tl_replace_finish(tl_replacement *r, int fd);
const char *tl_replace_commit(tl_replacement *r);

/* Removes the new file if it has a name and was not committed, and frees. Does nothing if *r is
 * all zero. */
void tl_replace_drop(tl_replacement *r);

struct tl_writer {
    tl_file_format form; /* TL_NETCDF also for those after it */
    int hdf5, hex, failed, done;
    /* elements: most in all (-1: no limit), written so far, per line */
    int64_t limit, written, columns;
    int64_t boxes;         /* elements written by tally_file_write_box */
    int64_t step_elements; /* elements per step of the first axis */

    /* place.target: the file that commit replaces; NULL if the file is written directly */
    tl_replacement place;
    char *text; /* collected bytes; for text, threads * TL_WRITE_BATCH values */
    size_t used, capacity;

    /* bytes written to a file that will be renamed; of these, bytes whose writing to disk was
     * started */
    int64_t put, begun;
    tl_netcdf_new *netcdf;
};

/* Checks that more may be written. */
static inline tally_status tl_check_open(const tally_file *f)
{
    if (!f || !f->writer) return tl_invalid(f ? f->ctx : NULL, "file is not open for writing");
    if (f->writer->done) return tl_invalid_on(f, "already committed");
    if (f->writer->failed) return tl_invalid_on(f, "an earlier write failed");
    return TALLY_OK;
}

/* Checks that the file is NetCDF, and that its names and attributes may still be set. */
static inline tally_status tl_check_netcdf(const tally_file *f)
{
    const tally_status s = tl_check_open(f);
    if (s) return s;

    if (!f->writer->netcdf)
        return tl_unsupported_on(f, "%s has no coordinates and no value for none: only netcdf has",
                                 f->info.format);
    return f->writer->written || f->writer->boxes
               ? tl_invalid_on(f, "coordinates come before elements")
               : TALLY_OK;
}

/* put.c: write bytes, or elements of NetCDF, or the collected bytes to the file. tl_write_failed
 * makes the error from errno. */
tally_status tl_write_failed(tally_file *f, const char *what);
tally_status tl_write_put(tally_file *f, const void *data, size_t n);
tally_status tl_write_flush(tally_file *f);

/* Writes n values as cells, w->columns per line. */
tally_status tl_write_text(tally_file *f, const unsigned char *data, int64_t n);

/* SPDX-License-Identifier: MIT
 * What the files that write share: write.c, write_text.c, put.c. */
#ifndef TALLY_IO_WRITER_H
#define TALLY_IO_WRITER_H
#include "io/netcdf/netcdf.h"
#include "replace.h"

enum {
    TL_WRITE_ROOM = 1 << 20, /* bytes gathered before a write */
    TL_WRITE_BATCH = 1 << 14 /* values that a thread formats at a time */
};

/* How elements are written. */
typedef enum tl_form { TL_NPY, TL_RAW, TL_TEXT, TL_CSV, TL_NETCDF } tl_form;

struct tl_writer {
    tl_form form;
    int hdf5, hex, failed, done;
    int64_t limit, written, columns; /* elements: in all (-1: any), so far; a line */
    int64_t rest;                    /* elements an extent of the first axis */
    /* place.target: what commit replaces, NULL when writing directly */
    tl_replacement place;
    char *text; /* gathered bytes; for text, threads * TL_WRITE_BATCH values */
    size_t used, room;
    /* bytes written, of a file to be renamed; and those that the disk was told to begin with */
    int64_t put, begun;
    tl_netcdf_new *netcdf;
};

/* put.c: bytes, or elements of NetCDF, to the file; the gathered ones. failed: with errno. */
tally_status tl_write_failed(tally_file *f, const char *what);
tally_status tl_write_put(tally_file *f, const void *data, size_t n);
tally_status tl_write_flush(tally_file *f);

/* write_text.c: n values as cells, the lines as long as w->columns. */
tally_status tl_write_text(tally_file *f, const unsigned char *data, int64_t n);
#endif

/* SPDX-License-Identifier: MIT
 * The header of a classic NetCDF file (CDF-1, CDF-2 and CDF-5), checked by a strict parser. */
#ifndef TALLY_IO_CLASSIC_H
#define TALLY_IO_CLASSIC_H
#include "netcdf.h"

typedef struct tl_classic {
    int64_t size;  /* the file's bytes */
    int64_t count; /* variables, numbered as libnetcdf numbers them */
    /* of each, the byte after its last one: the file is too short if it is beyond `size`.
     * NULL: this is no classic file */
    int64_t *end;
    char why[160]; /* what is wrong, as "its header ..." */
} tl_classic;

/* Reads the header of the file of `size` bytes behind fd: 1, or 0 and `why`. Every count in it is
 * checked against the file's size before memory is taken for it. Free it also after a failure. */
int tl_classic_read(int fd, int64_t size, tl_classic *c);
void tl_classic_free(tl_classic *c);
#endif

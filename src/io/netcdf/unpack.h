/* SPDX-License-Identifier: MIT
 * What the stored values of a NetCDF variable mean, by its attributes. */
#ifndef TALLY_IO_UNPACK_H
#define TALLY_IO_UNPACK_H
#include "netcdf.h"

enum { TL_MISSING_MOST = 8 };
typedef struct tl_packing {
    tally_dtype stored, given; /* in the file, to the caller */
    /* whether there is a scale, an offset; how many values stand for none */
    int scaled, shifted, missing;
    double scale, offset;
    char value[TL_MISSING_MOST][8]; /* those, as `stored` */
} tl_packing;

/* Reads the attributes of a variable, under the lock. want: options.dtype. */
tally_status tl_packing_read(const tl_source *from, int type, tally_dtype want, tl_packing *p);
/* Where in a buffer of n given values the stored ones are read to, so that they can be unpacked
 * in place; and that: 0 if value *bad is missing and there is none for it. */
char *tl_unpack_place(const tl_packing *p, char *out, int64_t n);
int tl_unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad);
#endif

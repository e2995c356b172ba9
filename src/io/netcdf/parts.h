/* SPDX-License-Identifier: MIT
 * A NetCDF variable that is open for reading: of one file, or of several parts that form one array
 * and follow each other along one dimension. */
#ifndef TALLY_IO_PARTS_H
#define TALLY_IO_PARTS_H

#include "netcdf.h"

/* unpack.c: how the stored values are converted, by the attributes of their variable. */
enum { TL_MISSING_MOST = 8 };

typedef struct tl_packing {
    tally_dtype stored, given; /* the dtype in the file, and the dtype for the caller */
    /* whether there is a scale, and an offset; the number of values that mean "missing" */
    int scaled, shifted, missing;
    double scale, offset;
    char value[TL_MISSING_MOST][8]; /* the values that mean "missing", of type `stored` */
} tl_packing;

/* Reads the attributes of a variable; locked. want: options.dtype. */
tally_status tl_packing_read(const tl_source *from, int type, tally_dtype want, tl_packing *p);

/* Where in a buffer of n converted values the stored values are read to, so that tl_unpack can
 * convert them in place. tl_unpack returns 0 if value *bad is missing and the dtype has no value
 * for that. */
char *tl_unpack_place(const tl_packing *p, char *out, int64_t n);
int tl_unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad);

typedef struct tl_part {
    char *path; /* as the caller gave it; owned */
    int file, open, group, variable, dims[TL_DIMS];
    int64_t length; /* along the dimension of the join */
    tl_classic header;
    tl_packing packing;
    size_t chunk[TL_DIMS]; /* elements that are stored together; 0: no chunks */

    /* a layer: the chunks side by side along all dimensions but the first. layer_bytes 0: none */
    size_t layer_bytes, layer_chunks;
    enum { BY_LIBRARY, DIRECT, LAYERS } cache;
} tl_part;

struct tl_netcdf {
    tl_part *parts;
    int count, join; /* parts; the dimension along which they follow each other */
    int64_t next;    /* the element that is read next */
    char *variable, *names[TL_DIMS];
    char *text[5]; /* attributes: units, calendar, long_name, standard_name, bounds; or NULL */
};

/* parts.c, locked. Checks that a part's file has all bytes of a variable. */
tally_status tl_part_whole(const tl_part *p, const tl_source *of);

/* Finds the variable of a part that has the name of a dimension, and only that dimension, and is of
 * numbers: sets *of and *v. Returns whether there is one. */
int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, tl_source *of,
                       tl_netcdf_variable *v);

/* Checks by their coordinates that each part continues after the part before it, and that all
 * parts have the same coordinates along the other dimensions. */
tally_status tl_parts_fit(const tally_file *f);

#endif

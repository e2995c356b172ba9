/* SPDX-License-Identifier: MIT
 * A NetCDF variable that is read: of one file, or of several parts that are one array, one after
 * the other along one dimension. */
#ifndef TALLY_IO_PARTS_H
#define TALLY_IO_PARTS_H
#include "netcdf.h"

/* What the stored values mean, by the attributes of their variable: unpack.c. */
enum { TL_MISSING_MOST = 8 };
typedef struct tl_packing {
    tally_dtype stored, given; /* in the file, to the caller */
    /* whether there is a scale, an offset; how many values stand for none */
    int scaled, shifted, missing;
    double scale, offset;
    char value[TL_MISSING_MOST][8]; /* those, as `stored` */
} tl_packing;

/* Reads the attributes of a variable; locked. want: options.dtype. */
tally_status tl_packing_read(const tl_source *from, int type, tally_dtype want, tl_packing *p);
/* Where in a buffer of n given values the stored ones are read to, so that they can be unpacked
 * in place; and that: 0 if value *bad is missing and there is none for it. */
char *tl_unpack_place(const tl_packing *p, char *out, int64_t n);
int tl_unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad);

typedef struct tl_part {
    char *path; /* as given, owned */
    int file, open, group, variable, dims[TL_DIMS];
    int64_t length; /* along the dimension of the join */
    tl_classic header;
    tl_packing packing;
    size_t chunk[TL_DIMS]; /* elements that are stored together; 0: not in chunks */
    /* of the chunks side by side along all dimensions but the first; bytes 0: none */
    size_t layer_bytes, layer_chunks;
    enum { BY_LIBRARY, DIRECT, LAYERS } cache;
} tl_part;

struct tl_netcdf {
    const tl_netcdf_api *api;
    tl_part *parts;
    int count, join; /* parts; the dimension along which they follow each other */
    int64_t next;    /* the element that is read next */
    char *variable, *names[TL_DIMS], *units, *calendar;
};

/* parts.c, locked. Whether all bytes of a variable are in a part's file. */
tally_status tl_part_whole(const tally_file *f, const tl_part *p, int group, int variable,
                           const char *name);
/* The variable of a dimension's name that has this dimension alone: whether there is one in that
 * part. */
int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, int *group,
                       int *variable);
/* Whether each part goes on where the one before ends, and along the other dimensions all are the
 * same, as their coordinates say. */
tally_status tl_parts_fit(const tally_file *f);
#endif

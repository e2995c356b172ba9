/* SPDX-License-Identifier: MIT
 * NetCDF through the system's libnetcdf, which is opened at run time. The declarations of libnetcdf
 * that are used here are those of its interface, stable since 4.0. ../README.md lists the files. */
#pragma once

#include "io/io.h"
#include <stddef.h>

enum {
    NC_BYTE = 1,
    NC_CHAR,
    NC_SHORT,
    NC_INT,
    NC_FLOAT,
    NC_DOUBLE,
    NC_UBYTE,
    NC_USHORT,
    NC_UINT,
    NC_INT64,
    NC_UINT64,
    NC_STRING,
    NC_VLEN, /* the classes of types that a file defines */
    NC_OPAQUE,
    NC_ENUM,
    NC_COMPOUND
};

enum { NC_64BIT_DATA = 0x20, NC_NETCDF4 = 0x1000, NC_UNLIMITED = 0, NC_GLOBAL = -1 };

enum { NC_NOERR = 0, NC_EBADDIM = -46, NC_MAX_NAME = 256, NC_MAX_VAR_DIMS = 1024 };

#define NETCDF_CALLS(CALL) \
    CALL(const char *, nc_strerror, (int error)) \
    CALL(int, nc_open, (const char *path, int mode, int *file)) \
    CALL(int, nc_close, (int file)) \
    CALL(int, nc_inq_grp_full_ncid, (int file, const char *name, int *group)) \
    CALL(int, nc_inq_grpname_full, (int group, size_t *length, char *name)) \
    CALL(int, nc_inq_grps, (int group, int *count, int *groups)) \
    CALL(int, nc_inq_nvars, (int file, int *count)) \
    CALL(int, nc_inq_varid, (int file, const char *name, int *variable)) \
    CALL(int, nc_inq_var, \
         (int file, int variable, char *name, int *type, int *ndims, int *dims, int *attributes)) \
    CALL(int, nc_inq_dim, (int file, int dim, char *name, size_t *length)) \
    CALL(int, nc_inq_att, (int file, int variable, const char *name, int *type, size_t *length)) \
    CALL(int, nc_get_att, (int file, int variable, const char *name, void *values)) \
    CALL(int, nc_free_string, (size_t count, char **values)) \
    CALL(int, nc_inq_var_chunking, (int file, int variable, int *storage, size_t *chunks)) \
    CALL(int, nc_set_var_chunk_cache, \
         (int file, int variable, size_t bytes, size_t chunks, float preemption)) \
    CALL(int, nc_get_vara, \
         (int file, int variable, const size_t *start, const size_t *count, void *values)) \
    CALL(int, nc_inq_user_type, \
         (int file, int type, char *name, size_t *bytes, int *base, size_t *fields, int *kind)) \
    CALL(int, nc_inq_attname, (int file, int variable, int number, char *name)) \
    CALL(int, nc_create, (const char *path, int mode, int *file)) \
    CALL(int, nc_def_dim, (int file, const char *name, size_t length, int *dim)) \
    CALL(int, nc_def_var, \
         (int file, const char *name, int type, int ndims, const int *dims, int *variable)) \
    CALL(int, nc_def_var_fill, (int file, int variable, int none, const void *value)) \
    CALL(int, nc_def_var_chunking, (int file, int variable, int storage, const size_t *chunks)) \
    CALL(int, nc_inq_dimid, (int file, const char *name, int *dim)) \
    CALL(int, nc_put_att_text, \
         (int file, int variable, const char *name, size_t length, const char *text)) \
    CALL(int, nc_put_var, (int file, int variable, const void *values)) \
    CALL(int, nc_copy_att, (int from, int variable, const char *name, int to, int other)) \
    CALL(int, nc_enddef, (int file)) \
    CALL(int, nc_put_vara, \
         (int file, int variable, const size_t *start, const size_t *count, const void *values))

typedef struct {
#define DECLARE(result, name, parameters) result(*name) parameters;
    NETCDF_CALLS(DECLARE)
#undef DECLARE
} tl_netcdf_api;

extern tl_netcdf_api tl_nc;

/* Opens the library, which sets tl_nc. NULL, or why it is not here. It is not thread-safe: every
 * call of it is between tl_netcdf_lock and tl_netcdf_unlock ("locked" below), which also turn off
 * HDF5's messages. */
const char *tl_netcdf_library(void);
void tl_netcdf_lock(void);
void tl_netcdf_unlock(void);

/* library.c, locked. Describes the content of an array that libnetcdf does not show, such as
 * "references", or returns NULL. name NULL: the first such array in the root group. found: its
 * name. */
const char *tl_hdf5_kind(const char *path, const char *name, char found[NC_MAX_NAME + 1]);

/* The extents of a variable as HDF5 stores them, which may differ from the lengths of its
 * dimensions. Returns their number, at most TL_DIMS, or 0 if they are not known. */
int tl_hdf5_extents(const char *path, int group, const char *name, uint64_t *extents);

enum { TL_DIMS = 8 };

/* open.c, read.c. start opens options->variable, and the files of options->more along
 * options->along. */
tally_status tl_netcdf_start(tally_file *f, const tally_file_options *o);
tally_status tl_netcdf_read(tally_file *f, void *buffer, int64_t max, int64_t *got);
tally_status tl_netcdf_read_box(tally_file *f, const int64_t *start, const int64_t *count,
                                void *buffer);

/* A variable of a group of a file. */
typedef struct tl_source {
    tally *ctx;
    const char *label, *what; /* the file and the variable in sentences (tl_fail_on) */
    int group, variable;
} tl_source;

/* The description of a variable by libnetcdf. dims is not set if there are more than TL_DIMS. */
typedef struct {
    char name[NC_MAX_NAME + 1];
    int type, ndims, dims[TL_DIMS];
} tl_netcdf_variable;

/* parts.c, locked. inquire: 0 or an error of the library. find: name is "temp", or "model/temp" in
 * a group of in->group; NULL: the only field. describe: writes "temp(time 12, lat 3)". */
int tl_netcdf_inquire(int group, int variable, tl_netcdf_variable *v);
tally_status tl_netcdf_find(const tl_source *in, const char *name, int *group, int *variable);
size_t tl_netcdf_describe(int group, int variable, char *out, size_t capacity);

/* unpack.c, locked. Sets *value to an attribute that is text, which the caller frees, or to
 * NULL. */
tally_status tl_netcdf_text(const tl_source *of, const char *name, char **value);

/* classic.c. The header of a classic file (CDF-1, CDF-2, CDF-5). */
typedef struct {
    int64_t size;  /* bytes of the file */
    int64_t count; /* number of variables, in libnetcdf's order */
    /* for each variable the end of its bytes; the file is too short if one is greater than
     * `size`. NULL: this is not a classic file */
    int64_t *end;
    char why[160]; /* what is wrong, as "its header ..." */
} tl_classic;

/* The header of the file fd of `size` bytes. 1, or 0 and c->why. Every count is checked against the
 * size before memory is allocated for it. The caller frees *c, also after a failure. */
int tl_classic_read(int fd, int64_t size, tl_classic *c);
void tl_classic_free(tl_classic *c);

tally_dtype tl_packed_dtype(int type); /* of a NetCDF type; 0: it is not a number */

/* The largest box of an array that begins at element `at`, follows the elements in order, and has
 * at most `rest` elements; returns their number. */
int64_t tl_netcdf_box(int ndim, const int64_t *shape, int64_t at, int64_t rest, int64_t *start,
                      int64_t *count);

/* ---- a variable that is open for reading: of one file, or of several parts that form one array
 * and follow each other along one dimension ---- */

/* unpack.c: how the stored values are converted, by the attributes of their variable. */
enum { TL_MISSING_MOST = 8 };

typedef struct {
    tally_dtype stored, given; /* the dtype in the file, and the dtype for the caller */
    /* whether there is a scale, and an offset; the number of values that mean "missing" */
    int scaled, shifted, missing;
    double scale, offset;
    char value[TL_MISSING_MOST][8]; /* the values that mean "missing", of type `stored` */
} tl_packing;

/* Reads the attributes of a variable; locked. want: options.dtype. */
tally_status tl_packing_read(const tl_source *from, int type, tally_dtype want, tl_packing *p);

/* tl_unpack_place: where the stored values are read to in a buffer of n converted ones, so that
 * tl_unpack can convert in place. tl_unpack returns 0 if value *bad is missing and the dtype has no
 * value for that. */
char *tl_unpack_place(const tl_packing *p, char *out, int64_t n);
int tl_unpack(const tl_packing *p, const char *stored, char *out, int64_t n, int64_t *bad);

typedef struct tl_part {
    tl_source of; /* label: the path as the caller gave it, owned */
    int file, open, dims[TL_DIMS];
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
    char what[400]; /* the variable and its dimensions of the part that is opened */
    char *text[5];  /* attributes: units, calendar, long_name, standard_name, bounds; or NULL */
};

/* parts.c, locked. Checks that a part's file has all bytes of a variable. */
tally_status tl_part_whole(const tl_part *p, const tl_source *of);

/* The variable of a part that has the name of a dimension, and only that dimension, and is of
 * numbers. */
int tl_part_coordinate(const tally_file *f, const tl_part *p, int dimension, tl_source *of,
                       tl_netcdf_variable *v);

/* By their coordinates: each part continues after the one before it, and all have the same
 * coordinates along the other dimensions. */
tally_status tl_parts_fit(const tally_file *f);

/* ---- a new file with the variable of f->info and its coordinates: write.c, coordinate.c ---- */

/* a variable besides the first: a result, which has the shape of the first and is written in
 * boxes, or one with values, which are written when all variables are defined */
typedef struct tl_netcdf_kept {
    struct tl_netcdf_kept *next;
    int variable, is_result;
    tally_dtype dtype;
    size_t bytes; /* of the values */
    char values[];
} tl_netcdf_kept;

typedef struct {
    int file, variable, dims[TL_DIMS];
    /* the file is open; its variable is defined; elements can be written */
    int open, defined, data;
    char *names, fill[8];
    int fills, results; /* results: variables of the shape of the first, and the first */
    tl_netcdf_kept *coordinates;
    int64_t next, reserved; /* the element that is written next; bytes that are reserved on disk */
} tl_netcdf_new;

/* create comes first, then name, then coordinates (coordinate.c), then elements. names: "mean(lat,
 * lon)". finish: completes the file. */
tally_status tl_netcdf_create(tally_file *f, const char *path, int hdf5, tl_netcdf_new **n);
tally_status tl_netcdf_set_names(tally_file *f, tl_netcdf_new *n, const char *names);
tally_status tl_netcdf_put_box(tally_file *f, tl_netcdf_new *n, const tl_netcdf_kept *variable,
                               const int64_t *start, const int64_t *count, const void *data);
tally_status tl_netcdf_put(tally_file *f, tl_netcdf_new *n, const char *data, int64_t elements);
tally_status tl_netcdf_finish(tally_file *f, tl_netcdf_new *n);
void tl_netcdf_drop(tl_netcdf_new *n);

/* The common part of write.c and coordinate.c. status: of an error of libnetcdf or of the system
 * while `doing`; 0: TALLY_OK. define: the dimensions and the variable, once; locked. copy_name: of
 * the variable (0) or of dimension number - 1, into NC_MAX_NAME + 1 characters. */
tally_status tl_netcdf_status(const tally_file *f, int error, const char *doing);
tally_status tl_netcdf_define(const tally_file *f, tl_netcdf_new *n);
/* the number of dimensions in "mean(lat, lon)", or -1: these are no names */
int tl_netcdf_count_names(const char *names);
int tl_netcdf_type(tally_dtype dtype); /* 0: no such type */
const char *tl_netcdf_copy_name(const char *names, int number, char *out);

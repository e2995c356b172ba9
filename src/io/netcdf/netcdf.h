/* SPDX-License-Identifier: MIT
 * NetCDF through the system's libnetcdf, which is opened at run time; its declarations that are
 * used here, as its interface (stable since 4.0) gives them. library.c opens it, read.c reads
 * files, write.c writes them. */
#ifndef TALLY_IO_NETCDF_H
#define TALLY_IO_NETCDF_H
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
    NC_STRING
};
enum { NC_64BIT_DATA = 0x20, NC_NETCDF4 = 0x1000, NC_UNLIMITED = 0 };
enum {
    NC_NOERR = 0,
    NC_ENOTATT = -43,
    NC_ENOTVAR = -49,
    NC_ERANGE = -60,
    NC_MAX_NAME = 256,
    NC_MAX_VAR_DIMS = 1024
};

#define NETCDF_CALLS(CALL)                                                                         \
    CALL(const char *, nc_strerror, (int error))                                                   \
    CALL(int, nc_open, (const char *path, int mode, int *file))                                    \
    CALL(int, nc_close, (int file))                                                                \
    CALL(int, nc_inq_grp_full_ncid, (int file, const char *name, int *group))                      \
    CALL(int, nc_inq_nvars, (int file, int *count))                                                \
    CALL(int, nc_inq_varid, (int file, const char *name, int *variable))                           \
    CALL(int, nc_inq_varndims, (int file, int variable, int *count))                               \
    CALL(int, nc_inq_var,                                                                          \
         (int file, int variable, char *name, int *type, int *ndims, int *dims, int *attributes))  \
    CALL(int, nc_inq_dim, (int file, int dim, char *name, size_t *length))                         \
    CALL(int, nc_inq_att, (int file, int variable, const char *name, int *type, size_t *length))   \
    CALL(int, nc_get_att_text, (int file, int variable, const char *name, char *value))            \
    CALL(int, nc_get_att_string, (int file, int variable, const char *name, char **values))        \
    CALL(int, nc_free_string, (size_t count, char **values))                                       \
    CALL(int, nc_get_att_double, (int file, int variable, const char *name, double *value))        \
    CALL(int, nc_get_att_longlong, (int file, int variable, const char *name, long long *value))   \
    CALL(int, nc_get_att_ulonglong,                                                                \
         (int file, int variable, const char *name, unsigned long long *value))                    \
    CALL(int, nc_inq_var_chunking, (int file, int variable, int *storage, size_t *chunks))         \
    CALL(int, nc_set_var_chunk_cache,                                                              \
         (int file, int variable, size_t bytes, size_t chunks, float preemption))                  \
    CALL(int, nc_get_vara,                                                                         \
         (int file, int variable, const size_t *start, const size_t *count, void *values))         \
    CALL(int, nc_inq_attname, (int file, int variable, int number, char *name))                    \
    CALL(int, nc_create, (const char *path, int mode, int *file))                                  \
    CALL(int, nc_def_dim, (int file, const char *name, size_t length, int *dim))                   \
    CALL(int, nc_def_var,                                                                          \
         (int file, const char *name, int type, int ndims, const int *dims, int *variable))        \
    CALL(int, nc_def_var_fill, (int file, int variable, int none, const void *value))              \
    CALL(int, nc_def_var_chunking, (int file, int variable, int storage, const size_t *chunks))    \
    CALL(int, nc_copy_att, (int from, int variable, const char *name, int to, int other))          \
    CALL(int, nc_enddef, (int file))                                                               \
    CALL(int, nc_put_vara,                                                                         \
         (int file, int variable, const size_t *start, const size_t *count, const void *values))

typedef struct tl_netcdf_api {
#define DECLARE(result, name, parameters) result(*name) parameters;
    NETCDF_CALLS(DECLARE)
#undef DECLARE
} tl_netcdf_api;

/* The library, or NULL and why there is none. It is not made for threads: every call to it is
 * made with TL_LOCK_NETCDF taken. */
const tl_netcdf_api *tl_netcdf_library(const char **why);

enum { TL_DIMS = 8 };

/* read.c. start: options->variable, and the files of options->more. */
tally_status tl_netcdf_start(tally_file *f, const tally_file_options *o);
tally_status tl_netcdf_read(tally_file *f, void *buffer, int64_t max, int64_t *got);
tally_status tl_netcdf_read_box(tally_file *f, const int64_t *start, const int64_t *count,
                                void *buffer);

/* How many files are joined; the variable of a dimension's name that has this dimension alone in
 * one of them: whether there is one. With TL_LOCK_NETCDF taken. */
int tl_netcdf_parts(const tally_file *f);
int tl_netcdf_coordinate_of(const tally_file *f, int part, int dimension, int *group,
                            int *variable);

/* A variable, in words too: of a file and a group of it. */
typedef struct tl_source {
    tally *ctx;
    const tl_netcdf_api *api;
    const char *path, *what; /* of the file and the variable, for sentences */
    int group, variable;
} tl_source;
/* find.c. name: "temp", or "model/temp" in a group of in->group; NULL: the only field there.
 * describe: "temp(time 12, lat 3)". */
tally_status tl_netcdf_find(const tl_source *in, const char *name, int *group, int *variable);
size_t tl_netcdf_describe(const tl_netcdf_api *api, int group, int variable, char *out,
                          size_t room);
/* An attribute that is text, or NULL: the caller frees it. */
tally_status tl_netcdf_text(const tl_source *of, const char *name, char **value);

tally_dtype tl_packed_dtype(int type); /* of a type of NetCDF; 0: it is no number */

/* The next elements of an array from element `at` on, at most `rest`, as the largest box that
 * they begin with; its elements. */
int64_t tl_netcdf_box(int ndim, const int64_t *shape, int64_t at, int64_t rest, int64_t *start,
                      int64_t *count);

/* ---- a new file of one variable, f->info says which, and of coordinates: write.c, coordinate.c ---- */

typedef struct tl_netcdf_kept { /* a coordinate: its values are written when all is defined */
    struct tl_netcdf_kept *next;
    int variable;
    size_t count;
    char values[];
} tl_netcdf_kept;

typedef struct tl_netcdf_new {
    const tl_netcdf_api *api;
    int file, variable, dims[TL_DIMS];
    int open, defined, data; /* the file is open, has its variable, takes values */
    char *names, fill[8];
    int fills;
    tl_netcdf_kept *coordinates;
    int64_t next, reserved; /* the element that is written next; bytes that the disk has room for */
} tl_netcdf_new;

/* create comes first, name and fill before coordinates, all before elements. names: "mean(lat,
 * lon)". fill: the value that stands for none. like: the coordinates that source, a NetCDF file,
 * has for dimensions of the same name and length. finish: all is in the file. */
tally_status tl_netcdf_create(tally_file *f, const char *path, int hdf5, tl_netcdf_new **n);
tally_status tl_netcdf_name(tally_file *f, tl_netcdf_new *n, const char *names);
tally_status tl_netcdf_fill(tally_file *f, tl_netcdf_new *n, const void *value);
tally_status tl_netcdf_coordinate(tally_file *f, tl_netcdf_new *n, const char *name, int dimension,
                                  tally_dtype dtype, const void *values);
tally_status tl_netcdf_like(tally_file *f, tl_netcdf_new *n, const tally_file *source);
tally_status tl_netcdf_put(tally_file *f, tl_netcdf_new *n, const void *data, int64_t elements);
tally_status tl_netcdf_finish(tally_file *f, tl_netcdf_new *n);
void tl_netcdf_drop(tl_netcdf_new *n);

/* What the two files share. define: the dimensions and the variable, once; under the lock.
 * copy_name: of the variable (0) or of dimension number - 1, into NC_MAX_NAME + 1
 * characters. */
tally_status tl_netcdf_failed(const tally_file *f, const tl_netcdf_new *n, int error,
                              const char *doing);
tally_status tl_netcdf_define(const tally_file *f, tl_netcdf_new *n);
int tl_netcdf_type(tally_dtype dtype); /* 0: there is none */
int tl_netcdf_is_name(const char *name, size_t n);
const char *tl_netcdf_copy_name(const char *names, int number, char *out);
#endif

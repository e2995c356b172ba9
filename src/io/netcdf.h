/* SPDX-License-Identifier: MIT
 * NetCDF through the system's libnetcdf, which is opened at run time; its declarations that are used here, as its
 * interface (stable since 4.0) gives them. netcdf_library.c opens it, netcdf.c reads files. */
#ifndef TALLY_IO_NETCDF_H
#define TALLY_IO_NETCDF_H
#include "io.h"
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
enum { NC_NOERR = 0, NC_ENOTATT = -43, NC_ENOTVAR = -49, NC_ERANGE = -60, NC_MAX_NAME = 256, NC_MAX_VAR_DIMS = 1024 };

#define NETCDF_CALLS(CALL)                                                                                             \
    CALL(const char *, nc_strerror, (int error))                                                                       \
    CALL(int, nc_open, (const char *path, int mode, int *file))                                                        \
    CALL(int, nc_close, (int file))                                                                                    \
    CALL(int, nc_inq_grp_full_ncid, (int file, const char *name, int *group))                                          \
    CALL(int, nc_inq_nvars, (int file, int *count))                                                                    \
    CALL(int, nc_inq_varid, (int file, const char *name, int *variable))                                               \
    CALL(int, nc_inq_varndims, (int file, int variable, int *count))                                                   \
    CALL(int, nc_inq_var, (int file, int variable, char *name, int *type, int *ndims, int *dims, int *attributes))     \
    CALL(int, nc_inq_dim, (int file, int dim, char *name, size_t *length))                                             \
    CALL(int, nc_inq_att, (int file, int variable, const char *name, int *type, size_t *length))                       \
    CALL(int, nc_get_att_text, (int file, int variable, const char *name, char *value))                                \
    CALL(int, nc_get_att_string, (int file, int variable, const char *name, char **values))                            \
    CALL(int, nc_free_string, (size_t count, char **values))                                                           \
    CALL(int, nc_get_att_double, (int file, int variable, const char *name, double *value))                            \
    CALL(int, nc_get_att_longlong, (int file, int variable, const char *name, long long *value))                       \
    CALL(int, nc_get_att_ulonglong, (int file, int variable, const char *name, unsigned long long *value))             \
    CALL(int, nc_inq_var_chunking, (int file, int variable, int *storage, size_t *chunks))                             \
    CALL(int, nc_set_var_chunk_cache, (int file, int variable, size_t bytes, size_t chunks, float preemption))         \
    CALL(int, nc_get_vara, (int file, int variable, const size_t *start, const size_t *count, void *values))

typedef struct tl_netcdf_api {
#define DECLARE(result, name, parameters) result(*name) parameters;
    NETCDF_CALLS(DECLARE)
#undef DECLARE
} tl_netcdf_api;

/* The library, or NULL and why there is none. It is not made for threads: every call to it is within
 * omp critical(tally_netcdf). */
const tl_netcdf_api *tl_netcdf_library(const char **why);

/* netcdf.c. start: options->variable, and the files of options->more. */
tally_status tl_netcdf_start(tally_file *f, const tally_file_options *o);
tally_status tl_netcdf_read(tally_file *f, void *buffer, int64_t max, int64_t *got);
tally_status tl_netcdf_read_box(tally_file *f, const int64_t *start, const int64_t *count, void *buffer);

tally_dtype tl_packed_dtype(int type); /* of a type of NetCDF; 0: it is no number */
/* netcdf_write.c: the header of a file of one variable, and what its numbers are. names: "mean(lat, lon)"; whether they
 * are names of ndim dimensions. An extent of -1 is not known yet. */
enum { TL_NETCDF_NAMES = 1024, TL_NETCDF_HEADER = 4096 };
int tl_netcdf_type(tally_dtype dtype); /* 0: there is none */
int tl_netcdf_names(const char *names, int ndim);
size_t tl_netcdf_header(char *out, const char *names, tally_dtype dtype, int ndim, const int64_t *shape);
#endif

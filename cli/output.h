/* SPDX-License-Identifier: MIT
 * output.h - what is written: answers of reduce, series of scan and window. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "input.h"

/* ---- calendar.c: dates of text and csv, written as the file writes its first one ---- */
enum { DATE_BYTES = 64 };
/* Whether an operator gives dates of dates; -1: it cannot be computed of dates. */
int date_result(const char *op);
int date_refuse(const char *label, const char *op); /* the error for such an operator */
/* The form of dates: the first date, with Z as its zone if all zones are read as UTC. */
void date_form(char form[DATE_BYTES], const char *first, int utc);
void date_text(const char *form, int64_t nanos, char out[DATE_BYTES]); /* since 1970 */

/* ---- answers: the results for a file: of reduce; for json_answer of all verbs ---- */
typedef struct result {
    const char *op; /* as the user wrote it; for --by with several columns OP.COLUMN */
    char *name;     /* the allocated memory of op, or NULL */
    tally_operator_info info;
    void *bits;       /* count results of info.lanes values */
    void *indexes;    /* NULL, or an index for each; below 0: it has no value (has_value) */
    char digest[65];  /* "", or their SHA-256 (digest_of) */
    const char *date; /* NULL, or the form of the dates that they are (date_text) */
} result;
typedef struct answer {
    const char *file;
    tally_dtype dtype;
    int64_t n, skipped;
    int ndim;
    int64_t shape[DIMS];
    where_ran ran;
    int64_t count;    /* results of each operator: 1, or one per sequence */
    int64_t width;    /* of groups of a table: results of each operator, one per column */
    int64_t columns;  /* 0, or the results that a typed file has per row (output.c) */
    int flat;         /* the whole file is one sequence */
    const char *per;  /* the name of a sequence: file, row, column, segment, sequence */
    int axis;         /* the (first) axis of --axis; else -1 */
    unsigned axes;    /* the dimensions of --axis, as in layout */
    char *dimensions; /* the names of the dimensions of the results, as in "lat, lon"; else NULL */
    char **names;     /* the names of the sequences, or of the columns; or NULL */
    int64_t named;    /* how many these are */
    /* --by: the cells of the groups' keys, key_columns for each group; else NULL */
    char **keys;
    char **key_names;
    /* the group of result i is i / key_inner % key_groups */
    int64_t key_columns, key_groups, key_inner;
    tally_dtype *key_dtypes; /* dtypes of keys that were numbers; else NULL */
    /* the NetCDF file whose coordinates are copied to the output; else NULL */
    tally_file *source;
    struct times_of *times; /* netcdf: the times of what was reduced; or NULL */
    char date[DATE_BYTES];  /* "", or the form of the dates that the elements are */
    result *results;
    int ops, all; /* results that are printed; all results */
} answer;
/* Makes space for `count` results of operator `op`, as it is computed. */
int result_open(result *r, tally *ctx, const char *op, tally_dtype dtype, int64_t count);
int print_answers(tally *ctx, const answer *answers, int files, const options *o); /* output.c */
/* Checks before anything is read that print_answers can print `ops` operators. */
int output_check(const options *o, int ops);
/* Writes value number `at` of a result as text, into RESULT_BYTES; hex: its bits. */
enum { RESULT_BYTES = 80 };
void result_text(const result *r, int64_t at, int hex, char *out);

/* ---- empty.c: results without a value (--empty, --out-valid) ---- */
/* Checks that the results go to a format for which the options were made. */
int empty_check(const options *o);
/* Adds the operators that show which results have a value. */
int empty_operators(operators *ops, const options *o);
int is_nan_form(const char *op); /* of a built-in operator */
/* Whether result i has a value. indexes: the results of the added operator (argmax), which are
 * below 0 where no element is; NULL: all have a value. */
int has_value(const void *indexes, int64_t i);
/* The file of --out-valid. If the option was not given it is NULL, which all calls accept. */
typedef struct bitmap bitmap;
/* call bitmap_close also after a failure */
int bitmap_open(bitmap **bitmap_, tally *ctx, const options *o);
int bitmap_write(bitmap *b, const void *indexes, int64_t count);
int bitmap_close(bitmap *b, int code); /* writes the last bits and commits if code is DONE */

/* ---- document.c: where results go, and writing text to a file of the library ---- */
enum format { TO_TEXT, TO_CSV, TO_TSV, TO_NPY, TO_RAW, TO_NETCDF, TO_NETCDF4, TO_HDF5, TO_JSON };
enum format output_format(const options *o); /* --to, else by the ending of --output */
int ending_check(const options *o);          /* checks that one of them says a format */
int overlap_check(const options *o); /* refuses standard output that is a file which is read */
int is_csv(enum format format);      /* with commas or tabs */
const char *format_name(enum format format);
int is_netcdf(enum format format);    /* or HDF5, which is written the same way */
int output_is_file(const options *o); /* whether --output is a file other than standard output */
/* A pipe, a device or the like: as --output it gets text unless --to is given. */
int is_device(const char *path);
int same_file(const char *a, const char *b); /* two names of one file, which may not exist yet */
typedef struct document {
    tally *ctx;
    FILE *f;
    tally_file *file;
    tally_status status;
} document;
int document_open(document *d, tally *ctx, const char *path); /* path NULL: standard output */
/* Commits if code is DONE. Does nothing if *d is all zero. */
int document_close(document *d, int code);

/* ---- sheet.c: results as a table of text ---- */
typedef struct sheet sheet;
typedef struct sheet_form {
    const char *path;
    int64_t width;        /* results of each operator per line */
    int64_t lines_before; /* lines of the input before the first line that has results */
    const char
        *head; /* NULL, or a line to write instead of the names of the columns; "": no line */
} sheet_form;
int sheet_open(sheet **sheet_, const options *o, input *in, const operators *ops,
               const sheet_form *form);
int sheet_write(sheet *r, const char *const *results, int64_t count);
int sheet_close(sheet *r, int code); /* commits if code is DONE */

/* ---- sink.c: where the results of scan and window go ---- */
typedef struct sink sink;
/* The results of one operator. If the input is a table, ndim 2 means its lines. */
typedef struct series_shape {
    int ndim;
    const int64_t *sizes;
    int64_t lines_before; /* lines of the input before the first line that has results */
} series_shape;
int sink_open(sink **sink_, const options *o, input *in, const operators *ops,
              const series_shape *shape);
/* netcdf: the coordinate of the axis where it is not copied (axis_write). */
int sink_axis(sink *s, const options *o, const layout *l, int64_t first, int64_t step);
/* Writes count results, with all lanes, of each operator. */
int sink_write(sink *s, const char *const *results, int64_t count);
/* Commits if code is DONE. s may be NULL. */
int sink_close(sink *s, int code);

/* ---- table.c ---- */
typedef struct look {
    enum format format; /* of a table: text, csv or tsv */
    /* named: a column of file names; people: aligned; hex: exact bits; digest: that of the results
     * instead of them */
    int named, people, hex, digest;
    const char *empty; /* NULL, or the word for results without a value */
} look;
int print_table(FILE *f, const answer *answers, int files, const look *o);
const char *lane_name(const char *op, int lanes, int lane, char *buffer, size_t bytes);

/* ---- json.c ---- */
void put_json(FILE *f, const char *before, const char *text); /* `before` as it is, then a string */
void json_begin(FILE *f, const char *file, tally_dtype dtype); /* of the object of a file */
/* The object of a file. values: whether it has the values and their bits. path: the file that has
 * them; or NULL. */
void json_answer(FILE *f, const tally *ctx, const answer *a, int values, const char *path);
void json_ran(FILE *f, const tally *ctx, const where_ran *r); /* devices.c */

/* ---- netcdf.c: results as NetCDF or HDF5 ---- */
/* The names of the dimensions as in "lat, lon". axes: bits of those that are left out, or of the
 * one that is replaced by `name`. NULL: there are no names, or there is no memory. */
char *dimension_names(const input *in, unsigned axes, const char *name);
typedef struct netcdf_of {
    const options *o;
    const char *dimensions; /* NULL: the dimensions of the results have no names */
    int ops;
    const result *results;        /* of each operator: op and info */
    const answer *groups;         /* NULL, or the results, whose groups have keys */
    const tally_file *source;     /* NULL, or the input that has the coordinates */
    const char *axis;             /* NULL, or the dimension along which was reduced */
    const struct times_of *times; /* NULL, or the times of what was reduced */
    char (*fill)[8];              /* receives the value of --empty, of each operator's type */
} netcdf_of;
/* Checks that --name has a name for each operator, and that the results go to NetCDF. */
int netcdf_check(const options *o, int ops);
/* The name of key c, without its group. */
const char *netcdf_key(const answer *a, int64_t c);
/* Describes the content of a new file, before its elements are written. */
int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of);
/* Replaces results without a value by the value of --empty. indexes: as for has_value. */
void netcdf_fill(void *results, const void *indexes, int64_t count, const tally_operator_info *info,
                 const void *value);

/* ---- attributes.c: what a NetCDF file says of its results ---- */
/* The times of the steps that were reduced, of each group, in the units of the file. */
typedef struct times_of {
    int64_t count;    /* 0: the axis has no times */
    int grouped;      /* there is one for each group */
    const char *pair; /* the name of the dimension of 2 numbers */
    int climate;      /* the steps of a group have steps of others between them */
    char *name, *units, *calendar;
    double *values, *bounds; /* bounds: the first and the last of each */
} times_of;
/* g: NULL, or the groups of l's steps. Call times_close also after a failure. */
int netcdf_has(tally *ctx, const char *path, const char *variable); /* a file: is it there? */
int times_open(times_of *t, const options *o, const input *in, const layout *l, const groups *g);
int times_write(const times_of *t, tally_file *file, tally *ctx, const char *dimension);
void times_close(times_of *t);
/* `count` steps of an axis: first, first + step, ... */
typedef struct axis_steps {
    int64_t first, step, count;
} axis_steps;
/* Writes the coordinate of dimension l->axis, of these steps, where it is not copied: there are
 * fewer results than steps, or joined files count from different dates. */
int axis_write(tally_file *file, const options *o, const input *in, const layout *l, axis_steps s);
/* Describes result i, whose variable is `name`; and the file. */
int attributes_result(tally_file *file, tally *ctx, const netcdf_of *of, int i, const char *name);
int attributes_file(tally_file *file, tally *ctx, const options *o);
#endif

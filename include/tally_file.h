/* SPDX-License-Identifier: MIT
 *
 * tally_file.h - files: .npy, raw, text, CSV, NetCDF and HDF5, and numbers as text. doc/formats.md
 * describes the formats. tally.h includes this header and has the conventions. */
#ifndef TALLY_FILE_H
#define TALLY_FILE_H

#include "tally.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_file tally_file;

/* ---- 18 reading files ---------------------------------------------------------------------------
 * A file is read from its beginning to its end, in chunks of any size. It may be larger than
 * memory.
 *
 * Example:
 *     tally_file *file;
 *     double column[4];
 *     int64_t got;
 *     tally_file_options options = {.format = "csv", .column = "price"};
 *     FILE *out = fopen("goods.csv", "w");
 *     fputs("city,price\nOslo,3\nRome,21\nOslo,5\n", out);
 *     fclose(out);
 *     tally_file_open(ctx, "goods.csv", &options, &file);
 *     tally_file_read(file, column, 4, &got);
 *     tally_file_close(file);
 *     printf("%d values, the last %g\n", (int)got, column[got - 1]); // 3 values, the last 5 */

/* How to read a file. All zero: guess everything from the name and the first bytes. Strings are
 * read only during tally_file_open. */
typedef struct tally_file_options {
    const char *format; /* NULL or "auto", "npy", "raw", "text", "csv", "netcdf" */
    /* raw: required. text, csv: the type of the values (default f64). npy: must be the file's
     * type if given; bf16 for V2 */
    tally_dtype dtype;
    /* csv, text: a column's name or its number from 1, or several: "price,qty", "2-5", "3-" (to
     * the last column). NULL: in csv the only column with numbers; in text every number is a
     * value, line by line */
    const char *column;
    char delimiter; /* 0: guess (csv: comma, semicolon or tab; text: white space) */
    /* csv, text: 1 the first line is a header, -1 it is not, 0: guess, and refuse the file if its
     * first lines do not tell */
    int header;
    /* bad cells are skipped and counted, and are no error; in a table the whole line is skipped */
    int skip_bad;
    /* raw, text, csv: the dtype if `dtype` is 0 (a file that states its own type keeps it) */
    tally_dtype assume;
    /* csv, text: the file is a table (ndim 2), with a row of values per line, also if it has one
     * column. Several columns are always a table. column NULL: all columns with numbers */
    int table;
    int keep; /* csv, text: a table whose lines can also be read by tally_file_line */
    /* csv, text: the key columns, named like those of `column`. Lines with equal key cells form a
     * group: see tally_file_read_by. With column NULL, the columns of values are chosen among the
     * others. "t.month" is the month of the times in column t; also year, season (DJF, MAM, JJA,
     * SON), day, hour and dayofyear */
    const char *by;
    /* netcdf: the name of a variable, or GROUP/NAME. NULL: the only variable that is not the
     * coordinate of a dimension. Missing values become NaN and packed values become f64, as
     * doc/formats.md says; with dtype f64 all values become f64 */
    const char *variable;
    /* netcdf: NULL, or a NULL-terminated list of further files with the same variable. All files
     * form one array: they are joined, in the given order, along the dimension `along`. Their
     * coordinates along it (the variable with its name) must continue from file to file without
     * repeating or going back. Files in which the variable has
     * different `units` are refused */
    const char *const *more;
    /* the last column of `by` is not a key: it has the times of the lines (see
     * tally_file_read_times) */
    int by_time;
    /* csv, text: lines that begin with this character are skipped. 0: '#' in text, none in csv;
     * -1: none */
    int comment;
    /* csv, text: a character between groups of three digits, as in "4,903,185"; 0: none */
    char thousands;
    const char *along; /* netcdf, with `more`: the name of a dimension; NULL: the first */
    /* netcdf: the most bytes of chunks that stay in memory because parts of them are read again;
     * 0: 512 MiB */
    int64_t memory;
    int utc;      /* csv, text: times may have several zones, and are read as times of UTC */
    char decimal; /* csv, text: the character before a fraction; 0: '.'. Or ',', as in 3,14 */
    /* text, csv: lines to skip at the beginning, before the header */
    int64_t skip_lines;
    /* csv, text, with `column`: if all these columns have dates, such as 2024-05-01 or the times of
     * tally_file_read_times, the elements are their nanoseconds since 1970, of dtype i64. Without
     * it, or with dtype, a date is a bad cell */
    int dates;
} tally_file_options;

typedef struct tally_file_info {
    const char *name;   /* as given; "-" is standard input */
    const char *format; /* "npy", "raw", "text", "csv" or "netcdf" */
    tally_dtype dtype;
    int ndim;         /* 1 for raw, text, csv; 2 for a table */
    int64_t shape[8]; /* -1: unknown until the end (text, csv, pipes); a table: {-1, columns} */
    int64_t elements; /* product of shape, or -1 */
    int fortran;      /* npy: column-major order */
    /* All elements in native byte order in memory, or NULL (then call tally_file_read). This is
     * the mapped file: if another process makes the file shorter, reading the memory gives zeros
     * or the signal SIGBUS, so check `shrunk` when the work is done. tally_file_read does
     * neither: it fails. */
    const void *mapped;
    int64_t skipped;                 /* bad cells skipped so far */
    int64_t bytes_read, bytes_total; /* progress; total is -1 if unknown */
    /* the file is shorter than when it was opened: what was read through `mapped` was not its
     * content */
    int shrunk;
    const char *header; /* csv, text: the header's line, or NULL */
    /* with a header: the names of the columns that are read; else NULL */
    const char *const *columns;
    char delimiter;          /* csv, text: 0 is white space */
    int64_t key_columns;     /* options.by: the number of key columns; else 0 */
    const char *const *keys; /* with a header: the names of the key columns; else NULL */
    /* netcdf: the names of the dimensions (NULL for a single value); else NULL */
    const char *const *dimensions;
    /* options.by_time and dates, the kind of the times read so far: 0 none read, 1 numbers, 2 times
     * without a zone, 3 times with a zone */
    int times;
    int64_t comments; /* a table: lines skipped so far because they are comments */
    /* netcdf: elements along each dimension that are stored together, and are best read together;
     * 0: unknown */
    int64_t chunk[8];
    /* netcdf: the variable's attributes units and calendar, such as "days since 1970-01-01"; else
     * NULL */
    const char *units, *calendar;
    /* netcdf: the variable's name, and its attributes of these names; else NULL */
    const char *variable, *long_name, *standard_name, *bounds;
    /* options.dates: the first date of the leftmost column, if the elements are dates; else NULL */
    const char *date;
} tally_file_info;

/* Opens a file for reading. path "-" is standard input. options NULL: all zero, guess everything.
 * On failure *file is NULL, and the error sentence names the file and the reason. ctx NULL: reads
 * with one thread, and tally_error(NULL) gives the sentence. */
TALLY_API tally_status tally_file_open(tally *ctx, const char *path,
                                       const tally_file_options *options, tally_file **file);
/* What is known now; counts grow while the file is read. The pointers in *info, also `mapped`,
 * belong to the file and are valid until tally_file_close. file NULL: all zero, bytes_total -1. */
TALLY_API void tally_file_get_info(const tally_file *file, tally_file_info *info);
/* Reads the next elements into buffer, at most max, in the order of the file. *got is their
 * number, 0 at the end. Nothing is transposed: column-major data comes with its first index
 * running fastest, here and in `mapped`. */
TALLY_API tally_status tally_file_read(tally_file *file, void *buffer, int64_t max, int64_t *got);
/* netcdf: reads the part of the array that begins at start[] and has count[] elements along each
 * dimension, in C order. tally_file_read then continues where it was. */
TALLY_API tally_status tally_file_read_box(tally_file *file, const int64_t *start,
                                           const int64_t *count, void *buffer);
/* Ends reading or writing, and frees the file; NULL is allowed. A created file must be closed
 * too, also after tally_file_commit. Without a commit the written data is discarded, and the old
 * file stays. Standard output, FIFOs and devices keep what was written. */
TALLY_API void tally_file_close(tally_file *file);

/* ---- 19 tables: groups, times, lines ------------------------------------------------------------
 * Text and CSV: lines with equal keys form a group; a line may have a time; its text can be kept.
 *
 * Example:
 *     tally_file *file;
 *     double price[4];
 *     int32_t city[4];
 *     int64_t got;
 *     tally_file_options options = {.format = "csv", .column = "price", .by = "city"};
 *     tally_file_open(ctx, "goods.csv", &options, &file); // of chapter 18
 *     tally_file_read_by(file, price, city, 4, &got);
 *     printf("%d %d %d\n", city[0], city[1], city[2]); // 0 1 0
 *     printf("%s\n", tally_file_key(file, 1, 0)); // Rome
 *     tally_file_close(file); */

/* options.by: reads elements as tally_file_read does, and for each line the number of its group.
 * Groups are numbered from 0 in the order in which their keys first appear. Keys are compared as
 * text, without surrounding blanks and quotes: 1 and 1.0 are different keys, and an empty cell is
 * a key. codes receives one number for each line of the *got elements; NULL: none. max must be at
 * least the elements of one line. */
TALLY_API tally_status tally_file_read_by(tally_file *file, void *buffer, int32_t *codes,
                                          int64_t max, int64_t *got);
/* The time of a line. For dates: `whole` is the nanoseconds since 1970 and `part` is 0. For
 * numbers: exactly whole + part / TALLY_KEY_PART. */
typedef struct tally_line_time {
    int64_t whole, part;
} tally_line_time;
/* options.by_time: reads elements as tally_file_read_by does, and the time of each line. Times
 * are ISO 8601 (2024-05-01T13:30:00.5+02:00, also 20240501T1330, and a blank for T), with at most
 * nine digits after the second's point; all have the same zone, or none has a zone. Or they are
 * numbers from -2^63 to 2^64 - 1 with at most 18 digits after the point. *dtype, the type of
 * `whole`, is i64; it becomes u64 with the first read that meets a number above 2^63 - 1. A
 * column with such a number and one below 0 is an error. Within a group times must not decrease.
 * codes must be NULL if there is no key column. */
TALLY_API tally_status tally_file_read_times(tally_file *file, void *buffer, int32_t *codes,
                                             tally_line_time *times, tally_dtype *dtype,
                                             int64_t max, int64_t *got);
/* The number of groups so far (0: none, or no options.by), and the text of cell `column` of a
 * group's key, both counted from 0. The text belongs to the file until it is closed. NULL: there
 * is no such cell. */
TALLY_API int64_t tally_file_groups(const tally_file *file);
TALLY_API const char *tally_file_key(const tally_file *file, int64_t group, int64_t column);
/* options.keep: the text, without its line end, of the next line whose values tally_file_read
 * gave. *line NULL: there are no more. The text is valid until the next tally_file_read, which
 * also skips the lines that were not asked for. */
TALLY_API tally_status tally_file_line(tally_file *file, const char **line, size_t *length);
/* ---- 20 writing files ---------------------------------------------------------------------------
 * A file appears under its name when it is complete, never half-written.
 *
 * Example:
 *     tally_file *file;
 *     const int64_t shape[] = {8};
 *     float back[8];
 *     int64_t got;
 *     tally_file_create(ctx, "x.npy", NULL, TALLY_F32, 1, shape, 0, &file);
 *     tally_file_write(file, x, 8);
 *     tally_file_commit(file);
 *     tally_file_close(file);
 *     tally_file_open(ctx, "x.npy", NULL, &file);
 *     tally_file_read(file, back, 8, &got);
 *     tally_file_close(file);
 *     printf("%d values, the last %g\n", (int)got, back[7]); // 8 values, the last 6 */

/* Creates a file for writing. All data goes to a new file in the same folder; tally_file_commit
 * syncs it to disk and renames it. If the file system supports O_TMPFILE, the new file has no
 * name until then, and nothing remains if the process dies. Else its name is .tally-*.tmp;
 * tally_file_close removes it if it was not committed, and so does tally_abandon (chapter 22). If
 * path is a symbolic link, the file that it points to is replaced, not the link. The mode of an
 * old file is kept. FIFOs and devices are written directly. path "-" is standard output (text,
 * csv, tsv, raw, and npy if the shape is known).
 *
 * format NULL: by the name's ending: .npy, .csv, .tsv (csv with tabs), .txt, .raw, .bin, .nc and
 * .cdf (NetCDF as CDF-5), .nc4 (NetCDF-4), .h5, .hdf5 and .he5 (the same as HDF5). NetCDF and HDF5
 * are written by libnetcdf, to regular files only. shape: ndim extents; the first may be -1: as
 * many as will be written. hex: text, csv and tsv print exact bits. */
TALLY_API tally_status tally_file_create(tally *ctx, const char *path, const char *format,
                                         tally_dtype dtype, int ndim, const int64_t *shape, int hex,
                                         tally_file **file);
/* Before the first element. text, csv: writes a line such as the names of the columns. netcdf:
 * sets the names of the variable and the dimensions, such as "mean(lat, lon)"; without them it is
 * data(dim0, dim1). */
TALLY_API tally_status tally_file_head(tally_file *file, const char *line);
/* netcdf: sets the value, of the file's dtype, that stands for a missing one: the attribute
 * _FillValue. Call it after tally_file_head; for a further result after tally_file_variable. */
TALLY_API tally_status tally_file_fill(tally_file *file, const void *value);
/* netcdf: writes the coordinate variable of a dimension (0 is the first of the shape), with as
 * many values as the dimension is long. Call it after tally_file_head and tally_file_fill, before
 * any element. */
TALLY_API tally_status tally_file_coordinate(tally_file *file, const char *name, int dimension,
                                             tally_dtype dtype, const void *values);
/* netcdf: adds a variable: "time_bnds(month, bnds=2)" with its values, in C order. A dimension is
 * one of the shape's, or a new one with its length. values NULL: another result, which has the
 * dimensions of the first and is written by tally_file_write_box. Call it before any element. */
TALLY_API tally_status tally_file_variable(tally_file *file, const char *names, tally_dtype dtype,
                                           const void *values);
/* netcdf: sets an attribute of a variable (NULL: of the file) to a text, before any element. */
TALLY_API tally_status tally_file_attribute(tally_file *file, const char *variable,
                                            const char *name, const char *text);
/* netcdf: copies coordinates, with their attributes, from `source`, a NetCDF file that is open
 * for reading: those of dimensions with the same name and length. */
TALLY_API tally_status tally_file_like(tally_file *file, const tally_file *source);
/* Writes n elements. In text and csv, a line has the values of the last axis, with tabs (csv:
 * commas) between them; if there is one axis only, a line has one value. */
TALLY_API tally_status tally_file_write(tally_file *file, const void *data, int64_t n);
/* netcdf: writes the elements [start[d], start[d] + count[d]) of result number `variable` (0: the
 * first), in C order. Every element is written once. */
TALLY_API tally_status tally_file_write_box(tally_file *file, int variable, const int64_t *start,
                                            const int64_t *count, const void *data);
/* Completes the header, flushes, waits until the data is on disk (fsync), and renames the file.
 * On any failure the temporary file is removed and the old file is untouched. */
TALLY_API tally_status tally_file_commit(tally_file *file);

/* ---- 21 values as text --------------------------------------------------------------------------
 * Numbers to text and back, without loss. These functions need no context and no file.
 *
 * Example:
 *     char text[48];
 *     double third;
 *     int64_t whole, part;
 *     tally_parse_value(TALLY_F64, "0.1", 3, &third);
 *     tally_format_value(TALLY_F64, &third, 0, text, sizeof text);
 *     tally_parse_decimal("2.5", 3, &whole, &part);
 *     printf("%s %d\n", text, (int)whole); // 0.1 2 */

/* Writes one value as text: the shortest decimal that reads back to the same bits (hex: 0x and
 * the bits), independent of the locale. 48 bytes suffice for buffer. Returns the length. */
TALLY_API int tally_format_value(tally_dtype dtype, const void *value, int hex, char *buffer,
                                 size_t bytes);
/* Reads `length` characters, one decimal (or inf, nan, 0x bits), as a value of dtype, correctly
 * rounded. Returns TALLY_BAD_DATA if it is not one. */
TALLY_API tally_status tally_parse_value(tally_dtype dtype, const char *text, size_t length,
                                         void *value);
/* Reads one decimal of `length` characters (2, 2.5, 25e-1) as whole + part / TALLY_KEY_PART,
 * exactly, with 0 <= part < TALLY_KEY_PART, as tally_key_window takes it. Returns TALLY_BAD_DATA
 * if it is not a decimal, TALLY_UNSUPPORTED if it is not in -2^63 .. 2^63 or has more than 18
 * digits after the point. */
TALLY_API tally_status tally_parse_decimal(const char *text, size_t length, int64_t *whole,
                                           int64_t *part);

/* ---- 22 the end of a process --------------------------------------------------------------------
 * Programs that end inside a call, by a signal or by exit, need not leave temporary files behind.
 *
 * Example:
 *     atexit(tally_abandon); */

/* Ends the compilers that this process runs for users' operators, removes their folders, and
 * removes the named temporary files of files that are not committed. tally installs no signal
 * handlers: a program that must leave nothing behind calls this from its own handlers, before it
 * ends, and with atexit. It may be called from a signal handler, in any thread. After it, files
 * that are open for writing cannot be committed. In a child of fork it removes only what the
 * child itself created, and the parent leaves the child's files alone. */
TALLY_API void tally_abandon(void);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT
 * cli.h - the common part of the verbs: exit codes, errors, the context, input files, output,
 * progress.
 *
 * Nothing here exits: a function that fails prints one sentence and returns an exit code. */
#ifndef CLI_H
#define CLI_H

#include "options.h"
#include "tally.h"

#include <stdio.h>

enum {
    DONE = 0,
    BAD_DATA = 1,
    USAGE = 2,
    NO_DEVICE = 3,
    VERIFY_FAILED = 4,
    CLOSED_PIPE = 141 /* the reader closed the pipe: no message, a shell's code for SIGPIPE */
};

/* ---- error.c: "tally: <sentence>" on standard error ------------------------------------------ */
#if defined(__GNUC__)
#define NOTE_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define NOTE_FORMAT
#endif
int fail(int code, const char *format, ...) NOTE_FORMAT;
/* prints the library's sentence; returns the exit code for status */
int fail_status(const tally *ctx, tally_status status);
int fail_memory(const char *what, int64_t bytes);
/* Prints "<what> '<given>': <problem>; choices: a, b, c (did you mean 'b'?)". */
int fail_choice(int code, const char *what, const char *given, const char *const *names);
/* Prints a remark in the same form, unless --quiet is given. */
void note(const options *o, const char *format, ...) NOTE_FORMAT;
/* Call it before the first write to standard output: makes writes wait if it is non-blocking. */
void stdout_begin(void);
int stdout_closed(void);
/* Flushes standard output. A failed write changes DONE to BAD_DATA or CLOSED_PIPE. */
int stdout_finish(int code);

/* ---- text.c: text that is safe to print ------------------------------------------------------ */
/* The bytes of the character at text, which is not empty; 0: it is not UTF-8. */
size_t utf8_length(const char *text, uint32_t *code);
int is_shown(uint32_t code);
void put_plain(FILE *f, const char *text);
char *plain(const char *text); /* put_plain into memory, which the caller frees; NULL: no memory */
int plain_width(const char *shown);

/* ---- signals.c ------------------------------------------------------------------------------- */
void signals_begin(void);

/* ---- session.c: the context and the names in it ---------------------------------------------- */
int session_open(tally **ctx, const options *o);
const char *const *device_names(void); /* "auto" and the names of tally_device; static memory */
const char *const *isa_names(void);
const char *const *dtype_names(void);
int dtype_option(const options *o, enum option id, tally_dtype *dtype); /* 0 if it was not given */
/* Reads an option's text as a value of dtype. Returns 0 if it is not one, or if a finite number
 * would become infinite. */
int parse_literal(tally_dtype dtype, const char *text, void *value);
/* Records every --op-file, for the calls below. */
int session_operators(const options *o);
/* checks that the part before the colon is a known name */
int operator_check(const char *op, size_t length);
/* whether the part before a colon or comma is a built-in operator */
int is_operator(const char *name);
int operator_info(tally *ctx, const char *op, tally_dtype dtype, tally_operator_info *info);
size_t result_bytes(const tally_operator_info *info); /* of one result, all lanes */
/* OP[,OP...], cut at the commas. */
typedef struct operators {
    char *list;
    const char **name;  /* as they are computed */
    const char **shown; /* as they were written */
    char *share;        /* 'v' or 'm': the share of elements that are valid or missing, of count */
    char *precise;      /* NULL, or the memory of names that --precision made */
    tally_operator_info *info; /* one per operator, set by operators_info */
    int count, all;            /* all: count, and the operators that empty_operators adds */
    /* NULL, or for each of `count` the number of the added operator that shows which results have
     * a value */
    int *place;
} operators;
int operators_split(operators *ops, const char *text);
int operators_info(operators *ops, tally *ctx, tally_dtype dtype);
/* --precision f64: computes operators that would be computed in f32 in f64. */
int operators_precision(operators *ops, tally *ctx, const options *o, tally_dtype dtype);
void operators_free(operators *ops);
double seconds(void);

/* ---- empty.c: results without a value (--empty, --out-valid) --------------------------------- */
/* Checks that the results go to a format for which the options were made. */
int empty_check(const options *o);
/* Adds the operators that show which results have a value. */
int empty_operators(operators *ops, const options *o);
int is_nan_form(const char *op); /* of a built-in operator */
/* Whether result i has a value. places: results of the added operator; NULL: all have one. */
int has_value(const void *places, int64_t i);
/* The file of --out-valid. If the option was not given it is NULL, which all calls accept. */
typedef struct bitmap bitmap;
/* call bitmap_close also after a failure */
int bitmap_open(bitmap **bitmap_, tally *ctx, const options *o);
int bitmap_write(bitmap *b, const void *places, int64_t count);
int bitmap_end(bitmap *b);
int bitmap_close(bitmap *b, int code); /* commits if code is DONE */

/* ---- same.c ---------------------------------------------------------------------------------- */
int same_file(const char *a,
              const char *b); /* whether two names refer to one file, which may not exist yet */

/* ---- lines.c: the lines that --keep passes through ------------------------------------------- */
typedef struct lines {
    char *text;
    size_t n, at, capacity;
} lines;
int lines_put(lines *l, const char *text, size_t length);
/* NULL: there is none. The line is valid until the next lines_put. */
const char *lines_take(lines *l, size_t *length);
void lines_free(lines *l);

/* ---- guard.c: mapped files that become shorter ----------------------------------------------- */
/* Returns a number for the other calls, or 0 if the mapping cannot be guarded. */
int guard_add(const void *from, int64_t bytes);
int guard_hit(int guard);
void guard_remove(int guard);

/* ---- input.c: a file as elements in C order -------------------------------------------------- */
enum { DIMS = 8 };
typedef struct input {
    tally *ctx;
    tally_file *file;
    tally_file_info info;
    const char *name, *label; /* as given; for sentences, in which - is "standard input" */
    tally_dtype dtype;
    int64_t n;    /* elements; -1: unknown until the end */
    int64_t most; /* if n is unknown, refuse more elements than this; 0: more than fit the memory */
    int ndim;
    int64_t shape[DIMS];
    const char *data; /* all elements in memory; NULL: read them with input_read */
    int column_major; /* data, or the file, is in Fortran order */
    int64_t next;     /* with data: the next element that input_read gives */
    void *own;        /* the allocated memory of data, or NULL */
    int guard;        /* the guard of the mapping that data points to, or 0 */
    int64_t columns;  /* columns of a table of text or csv; else 0 */
    int32_t *codes;   /* --by: the group of each line, if data is loaded */
    int timed;
    tally_line_time *times;  /* --by with --last or --next: the time of each line */
    tally_dtype times_dtype; /* the dtype of times[i].whole */
    int keep;
    lines kept; /* --keep: the lines whose elements were read, until they are written */
    int64_t skipped;
} input;
/* more: NULL, or a NULL-terminated list of files that --axis NAME joins with the first. */
int input_open(input *in, tally *ctx, const options *o, const char *path, char *const *more);
/* Opens a second file beside the input, with its own options. */
int input_open_beside(input *in, tally *ctx, const tally_file_options *f, const char *path);
/* Loads all elements into data; in C order unless any_order. */
int input_load(input *in, int any_order);
/* Reads the next elements, in C order. */
int input_read(input *in, void *buffer, int64_t max, int64_t *got);
/* Applies --shape; loads the input if its length is unknown. */
int input_reshape(input *in, const char *shape);
/* Checks that the file did not become shorter while its mapping was read. */
int input_sound(input *in);
void input_note(input *in, const options *o); /* reports skipped cells */
void input_close(input *in);
int64_t physical_memory(void);
enum { LARGE_PAGE = 2 << 20 };
/* Requests large pages if that is worthwhile; call it before the memory is used. */
void large_pages(void *memory, size_t bytes);

/* ---- layout.c: --axis and --segments as batches of sequences --------------------------------- */
typedef struct layout {
    /* an array outer x len x inner in C order; sequences run along len */
    int64_t outer, len, inner;
    int axis;                   /* the first of the axes */
    unsigned axes;              /* bit d: the sequences run along dimension d */
    int64_t *offsets, segments; /* or: segments, cut by offsets as in CSR */
} layout;
/* Loads the input if necessary. It is not necessary if its rows come in order or, with `boxes`,
 * if it can be read in boxes. */
int layout_open(layout *l, input *in, const options *o, int boxes);
/* Sets *columns to the columns of a table whose columns are the sequences, and which is read line
 * by line; 0: call layout_open. */
int layout_columns(const input *in, const options *o, int64_t *columns);
/* Gathers the elements c, c + columns, ... of `count` rows. */
void layout_gather(const char *data, int64_t count, int64_t columns, int64_t c, size_t size,
                   char *out);
void layout_close(layout *l);
/* A value of an integer dtype; the bits of a u64. */
int64_t whole_value(tally_dtype dtype, const void *value);
double real_value(tally_dtype dtype, const void *value); /* a value of dtype f32, else f64 */
int64_t layout_sequences(const layout *l);
/* The dimensions in --axis, as bits. */
int layout_axes(const input *in, const options *o, unsigned *axes);
int several_axes(const options *o);
int axis_named(const options *o); /* --axis names a dimension, so all files form one array */
const char *layout_per(const layout *l, const input *in); /* the name of a sequence */
/* Sets *view to batch number i of data, whose sequences have len elements (in: l->len; the output
 * of a window may be shorter). Returns 0 past the last batch. For reduced results: out_at is the
 * first result of the batch, out_step their distance. */
int layout_batch(const layout *l, int64_t i, const void *data, tally_dtype dtype, size_t bytes,
                 int64_t len, tally_view *view, int64_t *out_at, int64_t *out_step);

/* ---- where.c: which device was used, and for which parts ------------------------------------- */
typedef struct place {
    int64_t launches, on_processors; /* as in tally_times_info */
} place;
const char *device_of(const tally *ctx);         /* "cpu", or a GPU's name */
place ran_since(tally *ctx, const place *start); /* start NULL: since the context was opened */
void put_ran(FILE *f, const tally *ctx, const place *r);
/* Prints a remark if nothing ran on the device. */
void ran_note(const options *o, const tally *ctx, const char *label, const place *r);

/* ---- answers: the results of reduce for a file; json_end uses the first fields for all verbs
 * -- */
typedef struct result {
    const char *op; /* as the user wrote it; for --by with several columns OP.COLUMN */
    char *name;     /* the allocated memory of op, or NULL */
    tally_operator_info info;
    void *bits;         /* count results of info.lanes values */
    const void *places; /* NULL, or the results that show which of these have a value (has_value) */
} result;
typedef struct answer {
    const char *file;
    tally_dtype dtype;
    int64_t n, skipped;
    int ndim;
    int64_t shape[DIMS];
    place ran;
    int64_t count;    /* results of each operator: 1, or one per sequence */
    int64_t columns;  /* 0, or the results that a typed file has per row (output.c) */
    int flat;         /* the whole file is one sequence */
    const char *per;  /* the name of a sequence: file, row, column, segment, sequence */
    int axis;         /* the (first) axis of --axis; else -1 */
    unsigned axes;    /* the dimensions of --axis, as in layout */
    char *dimensions; /* the names of the dimensions of the results, as in "lat, lon"; else NULL */
    char **names;     /* the names of the sequences, or NULL */
    /* --by: the cells of the groups' keys, key_columns for each group; else NULL */
    char **keys;
    char **key_names;
    /* the group of result i is i / key_inner % key_groups */
    int64_t key_columns, key_groups, key_inner;
    tally_dtype *key_dtypes; /* dtypes of keys that were numbers; else NULL */
    /* the NetCDF file whose coordinates are copied to the output; else NULL */
    tally_file *source;
    struct times_of *times; /* netcdf: the times of what was reduced; or NULL */
    result *results;
    int ops, all; /* results that are printed; all results */
} answer;
int print_answers(tally *ctx, const answer *answers, int files, const options *o); /* output.c */
int output_check(const options *o,
                 /* Checks before anything is read that print_answers can print `ops` operators. */
                 int ops);

/* ---- groups.c: --by -------------------------------------------------------------------------- */
typedef struct groups {
    int64_t count, lines, width; /* groups, lines, values in a line */
    int64_t *order, *offsets;    /* as tally_groups makes them */
    int64_t *shown;              /* group number i of the output has number shown[i] in the file */
} groups;
int groups_check(const options *o); /* checks the options that go with --by */
/* Loads the input. Call groups_close also after a failure. */
int groups_open(groups *g, input *in, const options *o);
void groups_close(groups *g);
/* Gathers a column's values, group after group, into dense, and makes a view of its segments. */
int groups_take(const groups *g, const input *in, int64_t column, char *dense, tally_view *view);
/* Scatters results of that column, of `bytes` bytes each, to the places of their lines. */
void groups_back(const groups *g, const char *grouped, size_t bytes, int64_t column, char *out);
/* folded.c: reduces groups while the file is read. */
typedef struct folded {
    tally *ctx;
    const operators *ops;
    tally_dtype dtype;
    size_t size;
    int64_t width, lines;   /* values in a line; lines that were read */
    tally_stream **streams; /* per column, one per operator; NULL: use groups_open instead */
} folded;
/* Reads the whole file; or nothing, if this method does not apply. Call folded_close also after a
 * failure. */
int folded_read(folded *f, input *in, const operators *ops);
/* Writes the results of a column and operator, of `bytes` bytes each, in the order of g. Call it
 * once for each. */
int folded_results(folded *f, const groups *g, int64_t column, int op, size_t bytes, char *out);
void folded_close(folded *f);

int groups_names(const groups *g, const input *in, answer *a);
void groups_names_free(answer *a);
/* The name of the dimension of the groups; NULL: there are no groups. */
const char *groups_dimension(const answer *a);

/* ---- span.c: --last and --next --------------------------------------------------------------- */
typedef struct span_length {
    const char *option, *text; /* as in --last 2.5 */
    int given, number;         /* number: a plain number without a unit; else nanoseconds */
    /* exact: the length is whole + part / TALLY_KEY_PART; else only `real` is set */
    int exact;
    int64_t whole, part;
    double real; /* the f64 nearest to a plain number */
} span_length;
typedef struct span {
    int on; /* --last or --next was given */
    span_length last, next;
    int center, low_open, high_open;
    int ties; /* -1: not given; else a tally_ties */
} span;
int span_options(const options *o, span *s);
/* Computes the window of each line, among the values that groups_take gives, as
 * tally_window_ranges takes it. The caller frees both arrays, also after a failure. */
int span_bounds(const span *s, const groups *g, const input *in, int64_t **start, int64_t **end);
/* Checks that the lengths of s have a unit if and only if the keys are times. what: "the column
 * of --by". */
int span_unit(const span *s, const char *label, const char *what, int times);
/* Makes the window for keys of this dtype. falling: the keys descend. */
int span_window(const span *s, tally_dtype keys, int falling, tally_key_window *w);
/* Whether --by names the coordinate for windows along --axis, in a NetCDF file. */
int by_coordinate(const options *o);

/* ---- coordinate.c: the coordinate variable of dimension l->axis ------------------------------ */
typedef struct coordinate {
    const input *of; /* the variable with that dimension */
    const char *name;
    /* keep the stored type; else a type for keys of windows: i32, i64, u64 or f64 */
    int as_stored;
    int one_file;           /* of joined files the first one has all values */
    int any_units, differs; /* any_units: sets `differs` if files have other units, and goes on */
    int part; /* -1, or the values are this part of the dates of times (calendar_part), as i32 */
    char *units, *calendar; /* attributes of the first file, or NULL */
    tally_dtype dtype;      /* of the values */
    char *values;
    int64_t n;
} coordinate;
/* Reads the values of all joined files, and checks that they are finite. Call coordinate_free
 * also after a failure. */
int coordinate_read(coordinate *c, const options *o, const layout *l);
void coordinate_free(coordinate *c);
double coordinate_value(const coordinate *c, int64_t i);
/* Computes the window of each step along l->axis by that coordinate. The caller frees start and
 * end, as for span_bounds. */
int coordinate_bounds(const span *s, const options *o, const input *in, const layout *l,
                      int64_t **start, int64_t **end);

/* ---- calendar.c: the times of NetCDF files as dates in the calendars of CF ------------------- */
typedef struct calendar {
    int64_t unit; /* nanoseconds of "hours since ..."; 0: these are not units of time */
    int kind;
    const char *name;
    __int128 origin; /* the time after `since`, in nanoseconds of the calendar */
} calendar;
typedef struct date {
    int64_t year;
    int month, day, hour, dayofyear;
} date;
/* Reads the units and the calendar of c. */
int calendar_open(calendar *k, const coordinate *c);
/* The time of a number, in nanoseconds that can be compared within a calendar; and its date.
 * They return 0 if the calendar does not have it. */
int calendar_time(const calendar *k, tally_dtype dtype, const void *value, __int128 *nanos);
int calendar_date(const calendar *k, tally_dtype dtype, const void *value, date *d);
/* The part of dates that "time.month" names, or -1; *length: of "time". */
int calendar_part(const char *name, size_t *length);
const char *calendar_part_name(int part);
int32_t calendar_value(const date *d, int part);      /* a season is 1 (DJF) to 4 */
const char *calendar_season(int part, int64_t value); /* NULL: the part is no season */
int calendar_season_number(const char *name);         /* 0: it is none */

/* ---- join.c: puts the paths of files that are joined in the order of their times ------------- */
int join_order(tally *ctx, const options *o, char **paths);

/* ---- bands.c: --by with --axis: groups of the steps along an axis, by variables of a NetCDF
 * file */
int by_steps(const options *o);
/* Makes the groups of l's steps. a: NULL, or receives their keys. Call groups_close also after a
 * failure. */
int bands_open(groups *g, answer *a, const options *o, const input *in, const layout *l);
/* Makes the steps of each group adjacent, in an array with l's shape, in place; or moves them
 * back. */
int bands_move(const groups *g, const layout *l, char *data, size_t bytes, int back);
/* bands_part: the part of a batch's view that belongs to a group. bands_place: where the group's
 * results of reduce go. */
void bands_part(const groups *g, const layout *l, int64_t group, size_t bytes, tally_view *view);
void bands_place(const groups *g, const layout *l, int64_t group, int64_t *at, int64_t *step);

/* ---- second.c: a second input (--with, two columns), and validity (--valid) ------------------ */
typedef struct second {
    int on;            /* there is at least one of the two; the input is in memory, */
    int repeats;       /* unless every sequence has the same second input, of its length */
    size_t size;       /* bytes of an element of the input */
    tally_dtype dtype; /* the dtype for the operators: the common type of two inputs */
    input with;
    char *path;       /* the name of `with` */
    const char *data; /* the second input, in the order of the first; or NULL */
    tally_dtype type;
    unsigned char *bits; /* a bit for each element; or NULL */
    /* for two inputs and nan forms: the pairs that these do not leave out; or NULL */
    unsigned char *both;
    char *own;
} second;
/* Sets ops->info. If the second input is the second of two columns, splits `in`. Call
 * second_close also after a failure. */
int second_open(second *s, input *in, const options *o, operators *ops);
/* Adds validity and the second input to a view that points into `elements`. *next becomes the
 * view of the second input. */
void second_view(const second *s, const char *elements, tally_view *view, tally_view *next);
/* The view as operator i takes it: the operators that empty_operators added have one input. */
tally_view second_for(const second *s, const operators *ops, int i, const tally_view *view);
/* second_view for a column's values, group after group, as groups_take gives them. */
int second_group(const second *s, const groups *g, int64_t column, second *part);
/* Does bands_move for the second input and the bits of the n elements of an array with l's
 * shape. */
int second_bands(second *s, const groups *g, const layout *l, int64_t n);
/* Cuts FILE:VARIABLE at the colon, and returns the variable; NULL: path is the name of a file. */
const char *cut_variable(char *path);
/* weights.c: a second input of some of the dimensions, or cos(NAME). taken 0: it is neither. */
int weights_open(second *s, input *in, const options *o, int *taken);
int second_sound(second *s); /* see input_sound */
void second_close(second *s);

/* ---- state.c: fragments of exact sums, which are states -------------------------------------- */
int op_exact(const char *op);
/* whether the bytes are a state, and not a fragment */
int state_is(const void *data, int64_t bytes);
int state_load(const char *path, const void *data, int64_t bytes, tally_exact *sum);
int state_make(tally *ctx, const options *o, input *in, const second *beside, tally_exact *sum);
int state_result(tally *ctx, const options *o, const tally_exact *sum);
int state_show(const options *o, const tally_exact *sum);

/* ---- table.c --------------------------------------------------------------------------------- */
typedef struct look {
    char separator;
    /* named: a column of file names; people: aligned; hex: exact bits; digest: SHA-256 of the
     * values instead of them */
    int named, people, hex, digest;
    const char *empty; /* NULL, or the word for results without a value */
} look;
int print_table(FILE *f, const answer *answers, int files, const look *o);
void digest_of(const answer *a, const result *r, char *buffer); /* writes 65 characters */
const char *lane_name(const char *op, int lanes, int lane, char *buffer, size_t bytes);

/* ---- bench.c --------------------------------------------------------------------------------- */
typedef struct bench_figure {
    int64_t bytes;           /* that one call reads and writes */
    double seconds, ceiling; /* best times: of a call, and of the memory's best loop for them */
} bench_figure;
/* Measures a problem, as in sum:f32:reduce:2^24, `runs` times (1 to 1001). */
int bench_speed(tally *ctx, const char *word, int64_t runs, bench_figure *figure);

/* ---- json.c ---------------------------------------------------------------------------------- */
void print_json_string(FILE *f, const char *text);
void print_json_value(FILE *f, tally_dtype dtype, const void *value);
void print_json_bits(FILE *f, tally_dtype dtype, const void *value);
typedef void json_put(FILE *f, tally_dtype dtype, const void *value);
/* The object of one file, called in this order: json_begin; json_result for each result (number
 * from 0), then its fields and a }; json_end. */
void json_begin(FILE *f, const char *file, tally_dtype dtype);
void json_result(FILE *f, int number, const char *op, tally_dtype dtype, const char *per);
/* places: NULL, or the results that show which of these have a value; the others are written as
 * null. */
void json_list(FILE *f, const tally_operator_info *info, const void *results, const void *places,
               int64_t count, json_put *put);
/* path: the file with the values; NULL: they are in the document. */
void json_end(FILE *f, const tally *ctx, const answer *a, const char *path);
void json_ran(FILE *f, const tally *ctx, const place *r); /* where.c */

/* ---- document.c: where results go, and writing text to a file of the library ----------------- */
enum format { TO_TEXT, TO_CSV, TO_NPY, TO_RAW, TO_NETCDF, TO_NETCDF4, TO_HDF5, TO_JSON };
enum format output_format(const options *o); /* --to, else by the ending of --output */
const char *format_name(enum format format);
int is_netcdf(enum format format);  /* or HDF5, which is written the same way */
int output_filed(const options *o); /* whether --output is a file other than standard output */
typedef struct document {
    tally *ctx;
    FILE *f;
    tally_file *file;
    tally_status status;
} document;
int document_open(document *d, tally *ctx, const char *path); /* path NULL: standard output */
/* Commits if code is DONE. Does nothing if *d is all zero. */
int document_close(document *d, int code);

/* ---- sheet.c: results as a table of text ----------------------------------------------------- */
typedef struct sheet sheet;
/* width: results of each operator per line. passed: lines of the input before the first line that
 * has results. head: NULL, or a line to write instead of the names of the columns; "": no line. */
int sheet_open(sheet **sheet_, tally *ctx, const options *o, input *in, const operators *ops,
               const char *path, int64_t width, int64_t passed, const char *head);
int sheet_write(sheet *r, const char *const *results, int64_t count);
int sheet_close(sheet *r, int code); /* commits if code is DONE */

/* ---- sink.c: where the results of scan and window go ----------------------------------------- */
typedef struct sink sink;
/* shape: of the results of one operator; if the input is a table, ndim 2 means its lines. passed:
 * lines of the input before the first line that has results. */
int sink_open(sink **sink_, tally *ctx, const options *o, input *in, const operators *ops, int ndim,
              const int64_t *shape, int64_t passed);
/* Writes count results, with all lanes, of each operator. */
int sink_write(sink *s, const char *const *results, int64_t count);
/* Commits if code is DONE. s may be NULL. */
int sink_close(sink *s, int code);

/* ---- series.c: the common part of scan and window -------------------------------------------- */
typedef struct series {
    const tally_scan_options *scan; /* scan or window is set, the other is NULL */
    const tally_window_options *window;
    const span *span; /* NULL, or with window: windows by times, which replace it */
} series;
int series_run(const options *o, const series *how);
int series_begin(const options *o); /* checks the operands */

/* ---- slabs.c: scan and window of a NetCDF array along its first dimension, in the order of the
 * file */
typedef struct slabs {
    tally *ctx;
    const options *o;
    const operators *ops;
    const series *how;
    const uint64_t *init; /* NULL, or --init of each operator */
    int64_t passed;       /* as for sink_open */
    struct progress *p;
} slabs;
/* *taken 0: the array fits --memory, or this method does not apply; nothing was done. */
int slabs_run(const slabs *s, input *in, int *taken);

/* ---- steps.c: reduces an array in a file along a dimension, in the order of the file --------- */
/* *taken 0: this method does not apply, and nothing was done. g: NULL, or groups of the steps.
 * memory: the most bytes that it may use. */
struct progress;
int reduce_steps(tally *ctx, const operators *ops, const input *in, answer *a, const layout *l,
                 const groups *g, int64_t memory, struct progress *p, int *taken);

/* ---- the rest -------------------------------------------------------------------------------- */
typedef struct explanation {
    const char *verb, *op;
    const tally_operator_info *info;
    int64_t bytes;
    double start;
    place ran;
} explanation;
void explain(const options *o, tally *ctx, const input *in, const explanation *e);

typedef struct progress {
    double start, shown;
    int on, drawn;
    const char *name;
} progress;
void progress_begin(progress *p, const options *o, const char *name);
void progress_show(progress *p, int64_t done, int64_t total); /* bytes; total -1: unknown */
void progress_end(progress *p);

typedef struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64];
} sha256;
void sha256_begin(sha256 *s);
void sha256_add(sha256 *s, const void *data, size_t bytes);
/* Adds the values as little-endian bytes. */
void sha256_values(sha256 *s, const void *values, size_t size, int64_t count);
void sha256_end(sha256 *s, char hex[65]);

void help_all(FILE *f);
void help_verb(FILE *f, enum verb verb);
void help_man(FILE *f);
void help_completion(FILE *f, const char *shell);

#define VERB(id, ...) int run_##id(const options *o);
#include "options.def"
#undef VERB

/* ---- netcdf.c: results as NetCDF or HDF5 ----------------------------------------------------- */
/* The names of the dimensions as in "lat, lon". axes: bits of those that are left out, or of the
 * one that is replaced by `name`. NULL: there are no names, or there is no memory. */
char *dimensions_of(const input *in, unsigned axes, const char *name);
typedef struct netcdf_of {
    const options *o;
    const char *dimensions; /* NULL: the dimensions of the results have no names */
    int ops;
    const char *const *op;           /* the operators as they were written */
    const tally_operator_info *info; /* of each */
    const answer *groups;            /* NULL, or the results, whose groups have keys */
    const tally_file *source;        /* NULL, or the input that has the coordinates */
    const char *axis;                /* NULL, or the dimension along which was reduced */
    const struct times_of *times;    /* NULL, or the times of what was reduced */
    char (*fill)[8];                 /* receives the value of --empty, of each operator's type */
} netcdf_of;
/* Checks that --name has a name for each operator, and that the results go to NetCDF. */
int netcdf_check(const options *o, int ops);
/* Describes the content of a new file, before its elements are written. */
int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of);
/* Replaces results without a value by the value of --empty. places: NULL, or the results that
 * show which have one. */
void netcdf_fill(void *results, const void *places, int64_t count, const tally_operator_info *info,
                 const void *value);

/* ---- minus.c: subtracts the values of --minus, a file of some of the dimensions or of groups ---- */
int minus_apply(input *in, const options *o);

/* ---- attributes.c: what a NetCDF file says of its results ------------------------------------ */
/* The times of the steps that were reduced, of each group, in the units of the file. */
typedef struct times_of {
    int64_t count; /* 0: the axis has no times */
    int grouped;   /* there is one for each group */
    int climate;   /* the steps of a group have steps of others between them */
    char *name, *units, *calendar;
    double *values, *bounds; /* bounds: the first and the last of each */
} times_of;
/* g: NULL, or the groups of l's steps. Call times_close also after a failure. */
int times_open(times_of *t, const options *o, const input *in, const layout *l, const groups *g);
int times_write(const times_of *t, tally_file *file, tally *ctx, const char *dimension);
void times_close(times_of *t);
/* Describes result i, whose variable is `name`; and the file. */
int attributes_result(tally_file *file, tally *ctx, const netcdf_of *of, int i, const char *name);
int attributes_file(tally_file *file, tally *ctx, const options *o);
#endif

/* SPDX-License-Identifier: MIT
 * cli.h - what the verbs share: exit codes, errors, the context, input files, output, progress.
 *
 * Nothing here exits: every function that can fail returns an exit code, having printed one
 * sentence. */
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
    CLOSED_PIPE = 141 /* the reader went away: silent, and what a shell shows for SIGPIPE */
};

/* ---- error.c: "tally: <sentence>" on standard error -------------------------------------------------------------- */
#if defined(__GNUC__)
#define NOTE_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define NOTE_FORMAT
#endif
int fail(int code, const char *format, ...) NOTE_FORMAT;
int fail_status(const tally *ctx, tally_status status); /* the library's sentence; picks the code */
int fail_memory(const char *what, int64_t bytes);
/* "<what> '<given>': <problem>; choices: a, b, c (did you mean 'b'?)" */
int fail_choice(int code, const char *what, const char *given, const char *const *names);
/* the same as a remark, unless --quiet */
void note(const options *o, const char *format, ...) NOTE_FORMAT;
/* before the first write to it: makes writing wait */
void stdout_begin(void);
int stdout_closed(void);
/* flushes; a failed write turns success into BAD_DATA or CLOSED_PIPE */
int stdout_finish(int code);

/* ---- text.c: what may be shown ----------------------------------------------------------------------------------- */
/* of the character at text, which is not empty; 0: not UTF-8 */
size_t utf8_length(const char *text, uint32_t *code);
int is_shown(uint32_t code);
void put_plain(FILE *f, const char *text);
char *plain(const char *text); /* the same in memory; the caller frees; NULL: no memory */
int plain_width(const char *shown);

/* ---- signals.c --------------------------------------------------------------------------------------------------- */
void signals_begin(void);

/* ---- session.c: the context and the names in it ------------------------------------------------------------------ */
int session_open(tally **ctx, const options *o);
const char *const *device_names(void); /* auto and those of tally_device; static memory */
const char *const *isa_names(void);
const char *const *dtype_names(void);
int dtype_option(const options *o, enum option id, tally_dtype *dtype); /* 0 if not given */
/* An option's text as a value of dtype: 0 if it is none, or a number so large that it would become
 * infinite. */
int parse_literal(tally_dtype dtype, const char *text, void *value);
/* takes note of every --op-file, for the calls below */
int session_operators(const options *o);
int operator_check(const char *op, size_t length); /* a known name before the colon? */
int is_operator(const char *name);                 /* a built-in one, before a colon or comma */
int operator_info(tally *ctx, const char *op, tally_dtype dtype, tally_operator_info *info);
size_t result_bytes(const tally_operator_info *info); /* of one result, all lanes */
/* OP[,OP...], cut at the commas. */
typedef struct operators {
    char *list;
    const char **name;
    tally_operator_info *info; /* room for each, set by operators_info */
    int count, all;            /* all: with those that empty.c adds behind them */
    /* NULL, or for each of `count` the number of the one that says which results have a value */
    int *place;
} operators;
int operators_split(operators *ops, const char *text);
int operators_info(operators *ops, tally *ctx, tally_dtype dtype);
void operators_free(operators *ops);
double seconds(void);

/* ---- empty.c: results without a value (--empty, --out-valid) ----------------------------------------------------- */
/* whether the results go where these options can say it */
int empty_check(const options *o);
/* adds the operators that know which results have a value */
int empty_operators(operators *ops, const options *o);
int is_nan_form(const char *op); /* of an operator that is built in */
/* result i; places: of the added operator, NULL: all have */
int has_value(const void *places, int64_t i);
/* --out-valid; NULL for all calls: it was not given */
typedef struct bitmap bitmap;
int bitmap_open(bitmap **bitmap_, tally *ctx, const options *o); /* close also after a failure */
int bitmap_write(bitmap *b, const void *places, int64_t count);
int bitmap_end(bitmap *b);
int bitmap_close(bitmap *b, int code); /* commits if code is DONE */

/* ---- same.c ------------------------------------------------------------------------------------------------------ */
int same_file(const char *a,
              const char *b); /* are two names one file, also one that is not there yet? */

/* ---- lines.c: the lines that --keep passes through --------------------------------------------------------------- */
typedef struct lines {
    char *text;
    size_t n, at, room;
} lines;
int lines_put(lines *l, const char *text, size_t length);
/* NULL: there is none; valid until the next lines_put */
const char *lines_take(lines *l, size_t *length);
void lines_free(lines *l);

/* ---- guard.c: mappings of files that become shorter -------------------------------------------------------------- */
/* a number for the others, or 0: this cannot be guarded */
int guard_add(const void *from, int64_t bytes);
int guard_hit(int guard);
void guard_remove(int guard);

/* ---- input.c: a file as elements in C order ---------------------------------------------------------------------- */
enum { DIMS = 8 };
typedef struct input {
    tally *ctx;
    tally_file *file;
    tally_file_info info;
    const char *name, *label; /* as given; for sentences, where - is standard input */
    tally_dtype dtype;
    int64_t n;    /* elements, -1: unknown until the end */
    int64_t most; /* refuse more than these, if n is unknown; 0: more than the memory holds */
    int ndim;
    int64_t shape[DIMS];
    const char *data; /* all elements in memory, or NULL: input_read them */
    int column_major; /* data (or the file) is in Fortran order */
    int64_t next;     /* the element input_read gives next, when data is there */
    void *own;        /* what data points to, if it was allocated here */
    int guard;        /* of the mapping that data points to, or 0 */
    int64_t columns;  /* a table of text or csv: its columns; else 0 */
    int32_t *codes;   /* --by: the group of each line, when data is there */
    int timed;
    tally_line_time *times;  /* --by with --last or --next: the time of each line, */
    tally_dtype times_dtype; /* and the type of its whole number */
    int keep;
    lines kept; /* --keep: the lines whose elements were read, until they are taken */
    int64_t skipped;
} input;
/* more: NULL, or files that --axis NAME joins with it, and NULL. */
int input_open(input *in, tally *ctx, const options *o, const char *path, char *const *more);
/* A file beside another one, with options of its own. */
int input_open_beside(input *in, tally *ctx, const tally_file_options *f, const char *path);
int input_load(input *in, int any_order); /* data := everything; in C order unless any_order */
/* the next elements, in C order */
int input_read(input *in, void *buffer, int64_t max, int64_t *got);
/* --shape; loads if the length is unknown */
int input_reshape(input *in, const char *shape);
/* what was read is what the file had */
int input_sound(input *in);
void input_note(input *in, const options *o); /* reports skipped cells */
void input_close(input *in);
int64_t physical_memory(void);
enum { LARGE_PAGE = 2 << 20 };
/* asks for them where it is worth it, before the memory is touched */
void large_pages(void *memory, size_t bytes);

/* ---- layout.c: --axis and --segments as batches of sequences ----------------------------------------------------- */
typedef struct layout {
    /* an array outer x len x inner in C order; sequences run along len */
    int64_t outer, len, inner;
    int axis;
    int64_t *offsets, segments; /* or: CSR */
} layout;
/* Loads the input when it has to: not where its rows come in order, or (boxes) where it can be
   read in boxes. */
int layout_open(layout *l, input *in, const options *o, int boxes);
/* *columns: of a table whose columns are the sequences, which then pass through line by line; 0:
   use layout_open. */
int layout_columns(const input *in, const options *o, int64_t *columns);
/* Elements c, c + columns, ... of `rows` rows, side by side. */
void layout_gather(const char *data, int64_t count, int64_t columns, int64_t c, size_t size,
                   char *out);
void layout_close(layout *l);
/* of an integer type; the bits of an u64 */
int64_t whole_value(tally_dtype dtype, const void *value);
double real_value(tally_dtype dtype, const void *value); /* of f32, else f64 */
int64_t layout_sequences(const layout *l);
int axis_named(const options *o); /* is --axis the name of a dimension: are the files one array? */
const char *layout_per(const layout *l, const input *in); /* what a sequence is */
/* Batch number i as a view of data whose sequences have len elements (in: l->len; a window's
 * output may be shorter). Returns 0 past the last batch. A batch of the reduced results: out_at
 * is its first result, out_step their distance.
 */
int layout_batch(const layout *l, int64_t i, const void *data, tally_dtype dtype, size_t bytes,
                 int64_t len, tally_view *view, int64_t *out_at, int64_t *out_step);

/* ---- where.c: which device, and which parts ran there ------------------------------------------------------------ */
typedef struct place {
    int64_t launches, on_processors; /* as in tally_times_info */
} place;
const char *device_of(const tally *ctx);         /* "cpu", or a GPU's name */
place ran_since(tally *ctx, const place *start); /* start NULL: since the context was opened */
void put_ran(FILE *f, const tally *ctx, const place *r);
/* if nothing ran on the device */
void ran_note(const options *o, const tally *ctx, const char *label, const place *r);

/* ---- answers: what reduce has for a file; for json_end of every verb the first lines of it ----------------------- */
typedef struct result {
    const char *op; /* as the user wrote it; with --by of several columns OP.COLUMN */
    char *name;     /* what op points to, if it is this result's own */
    tally_operator_info info;
    void *bits;         /* count results of info.lanes values */
    const void *places; /* NULL, or which of them have a value (has_value) */
} result;
typedef struct answer {
    const char *file;
    tally_dtype dtype;
    int64_t n, skipped;
    int ndim;
    int64_t shape[DIMS];
    place ran;
    int64_t count;    /* results of each operator: 1, or one per sequence */
    int64_t columns;  /* 0, or a typed file has so many side by side for each of them (output.c) */
    int flat;         /* the whole file is one sequence */
    const char *per;  /* what a result is of: file, row, column, segment, sequence */
    int axis;         /* results of --axis: which; else -1. With names of the dimensions, */
    char *dimensions; /* those of the results, as in "lat, lon"; else NULL */
    char **names;     /* what the sequences are called, or NULL */
    /* --by: the cells of the groups' keys, key_columns for each group; else NULL */
    char **keys;
    char **key_names;
    /* the group of result i is i / key_inner % key_groups */
    int64_t key_columns, key_groups, key_inner;
    tally_dtype *key_dtypes; /* of keys that were numbers; else NULL */
    /* NetCDF whose coordinates go to the output; else NULL */
    tally_file *source;
    result *results;
    int ops, all; /* results to be shown, and all that there are */
} answer;
int print_answers(tally *ctx, const answer *answers, int files, const options *o); /* output.c */
int output_check(const options *o,
                 /* before anything is read: whether print_answers can take so many operators */
                 int ops);

/* ---- groups.c: --by ---------------------------------------------------------------------------------------------- */
typedef struct groups {
    int64_t count, lines, width; /* groups, lines, values in a line */
    int64_t *order, *offsets;    /* as tally_groups says */
    int64_t *shown;              /* the number in the file of the group that comes i-th */
} groups;
int groups_check(const options *o); /* the options that go with --by */
/* loads the input; close also after a failure */
int groups_open(groups *g, input *in, const options *o);
void groups_close(groups *g);
/* A column's values, group after group, into dense, and its segments. */
int groups_take(const groups *g, const input *in, int64_t column, char *dense, tally_view *view);
/* Results of that column, `bytes` each, to the places of their lines. */
void groups_back(const groups *g, const char *made, size_t bytes, int64_t column, char *out);
/* folded.c: the groups of reduce, while the file is read */
typedef struct folded {
    tally *ctx;
    const operators *ops;
    tally_dtype dtype;
    size_t size;
    int64_t width, lines;   /* values in a line; lines that were read */
    tally_stream **streams; /* of each column each operator; NULL: groups_open does it */
} folded;
/* Reads all of the file, or where this way does not go nothing. Close also after a failure. */
int folded_read(folded *f, input *in, const operators *ops);
/* The results of a column and operator, of `bytes` bytes each, in the order of g. Once each. */
int folded_results(folded *f, const groups *g, int64_t column, int op, size_t bytes, char *out);
void folded_close(folded *f);

int groups_names(const groups *g, const input *in, answer *a);
void groups_names_free(answer *a);
/* what a dimension of groups is called; NULL: there are none */
const char *groups_dimension(const answer *a);

/* ---- span.c: --last and --next ----------------------------------------------------------------------------------- */
typedef struct span_length {
    const char *option, *text; /* as in --last 2.5 */
    int given, number;         /* number: plain, without a unit; else nanoseconds */
    /* whole + part / TALLY_KEY_PART; exact 0: that does not hold it, and real alone is there */
    int exact;
    int64_t whole, part;
    double real; /* of a number: the nearest f64 */
} span_length;
typedef struct span {
    int on; /* there is --last or --next */
    span_length last, next;
    int center, low_open, high_open;
    int ties; /* -1: not given; else tally_ties */
} span;
int span_options(const options *o, span *s);
/* The window of each line among the values that groups_take gives, as tally_window_ranges takes
 * them; the caller frees both, also after a failure. */
int span_bounds(const span *s, const groups *g, const input *in, int64_t **start, int64_t **end);
/* Whether the lengths of s have a unit just where the keys are times. what: "the column of --by". */
int span_unit(const span *s, const char *label, const char *what, int times);
/* The window for keys of that dtype, which rise or fall. */
int span_window(const span *s, tally_dtype keys, int falling, tally_key_window *w);
/* --by names the coordinate of windows along --axis, in a NetCDF file */
int by_coordinate(const options *o);

/* ---- coordinate.c: a variable of the one dimension l->axis ------------------------------------------------------- */
typedef struct coordinate {
    const input *of; /* the variable whose coordinate it is */
    const char *name;
    int as_stored;          /* else as windows take keys: i32, i64, u64 or f64 */
    char *units, *calendar; /* of the first file; NULL: there are none */
    tally_dtype dtype;      /* of the values */
    char *values;
    int64_t n;
} coordinate;
/* The values, of all files that are joined, finite ones. Free also after a failure. */
int coordinate_read(coordinate *c, const options *o, const layout *l);
void coordinate_free(coordinate *c);
/* The window of each step along l->axis, by that coordinate; frees as span_bounds says. */
int coordinate_bounds(const span *s, const options *o, const input *in, const layout *l,
                      int64_t **start, int64_t **end);

/* ---- bands.c: --by with --axis: groups of the steps along it, by variables of NetCDF files ----------------------- */
int by_steps(const options *o);
/* The groups of l's steps. a: NULL, or gets their keys. Close also after a failure. */
int bands_open(groups *g, answer *a, const options *o, const input *in, const layout *l);
/* Puts the steps of each group side by side in an array such as l's, in place; or back. */
int bands_move(const groups *g, const layout *l, char *data, size_t bytes, int back);
/* The part of a batch's view that is of a group, and (reduce) where its results go. */
void bands_part(const groups *g, const layout *l, int64_t group, size_t bytes, tally_view *view);
void bands_place(const groups *g, const layout *l, int64_t group, int64_t *at, int64_t *step);

/* ---- second.c: a second input (--with, two columns), and validity (--valid) ------------------------------------- */
typedef struct second {
    int on;            /* there is one of the two, and the input is in memory */
    size_t size;       /* of the input's elements */
    tally_dtype dtype; /* of what the operators work on: of two inputs their common type */
    input with;
    const char *data; /* the second input, in the order of the first; or NULL */
    tally_dtype type;
    unsigned char *bits; /* one for each element; or NULL */
    unsigned char *both; /* of two inputs and nan forms: which pairs these leave in; or NULL */
    char *own;
} second;
/* Sets ops->info. With a second input, two columns of `in` become one. Close also after a
   failure. */
int second_open(second *s, input *in, const options *o, operators *ops);
/* What belongs to a view that points into `elements`; next: room for the view of the second
   input. */
void second_view(const second *s, const char *elements, tally_view *view, tally_view *next);
/* That view as operator i takes it: those that empty.c added have one input. */
tally_view second_for(const second *s, const operators *ops, int i, const tally_view *view);
/* The same for a column's values, group after group, as groups_take has them. */
int second_group(const second *s, const groups *g, int64_t column, second *part);
/* bands_move of what belongs to the n elements of an array such as l's. */
int second_bands(second *s, const groups *g, const layout *l, int64_t n);
int second_sound(second *s); /* as input_sound */
void second_close(second *s);

/* ---- state.c: fragments of exact sums, which are states --------------------------------------------------------- */
int op_exact(const char *op);
int state_is(const void *data, int64_t bytes); /* such a state, and no fragment? */
int state_load(const char *path, const void *data, int64_t bytes, tally_exact *sum);
int state_make(tally *ctx, const options *o, input *in, const second *beside, tally_exact *sum);
int state_result(tally *ctx, const options *o, const tally_exact *sum);
int state_show(const options *o, const tally_exact *sum);

/* ---- table.c ----------------------------------------------------------------------------------------------------- */
typedef struct look {
    char separator;
    /* a column of files; aligned; exact bits; SHA-256 in place of the values */
    int named, people, hex, digest;
    const char *empty; /* NULL, or for results without a value */
} look;
int print_table(FILE *f, const answer *answers, int files, const look *o);
void digest_of(const answer *a, const result *r, char *buffer); /* 65 characters */
const char *lane_name(const char *op, int lanes, int lane, char *buffer, size_t bytes);

/* ---- json.c ------------------------------------------------------------------------------------------------------ */
void print_json_string(FILE *f, const char *text);
void print_json_value(FILE *f, tally_dtype dtype, const void *value);
void print_json_bits(FILE *f, tally_dtype dtype, const void *value);
typedef void json_put(FILE *f, tally_dtype dtype, const void *value);
/* The object of one file, in this order: begin; each result (number from 0) with what belongs to
   it and its }; end. */
void json_begin(FILE *f, const char *file, tally_dtype dtype);
void json_result(FILE *f, int number, const char *op, tally_dtype dtype, const char *per);
/* places: NULL, or which results have a value: the others are null. */
void json_list(FILE *f, const tally_operator_info *info, const void *results, const void *places,
               int64_t count, json_put *put);
/* path NULL: the values are here */
void json_end(FILE *f, const tally *ctx, const answer *a, const char *path);
void json_ran(FILE *f, const tally *ctx, const place *r); /* where.c */

/* ---- document.c: where results go, and bytes of our own as a file that the library writes ------------------------ */
enum format { TO_TEXT, TO_CSV, TO_NPY, TO_RAW, TO_NETCDF, TO_NETCDF4, TO_HDF5, TO_JSON };
enum format output_format(const options *o); /* --to, else the ending of --output */
const char *format_name(enum format format);
int is_netcdf(enum format format);  /* or HDF5, which is written the same way */
int output_filed(const options *o); /* is there a FILE, which is not standard output? */
typedef struct document {
    tally *ctx;
    FILE *f;
    tally_file *file;
    tally_status status;
} document;
int document_open(document *d, tally *ctx, const char *path); /* NULL: standard output */
/* commits if code is DONE; all zero: nothing to do */
int document_close(document *d, int code);

/* ---- sheet.c: results as a table of text ------------------------------------------------------------------------- */
typedef struct sheet sheet;
/* width: results of each operator on a line; passed: lines of the input before the first that
   has results. */
/* head: NULL, or in place of the names of the columns; "": no line. */
int sheet_open(sheet **sheet_, tally *ctx, const options *o, input *in, const operators *ops,
               const char *path, int64_t width, int64_t passed, const char *head);
int sheet_write(sheet *r, const char *const *results, int64_t count);
int sheet_close(sheet *r, int code); /* commits if code is DONE */

/* ---- sink.c: where the results of scan and window go ------------------------------------------------------------- */
typedef struct sink sink;
/* shape: that of the results of one operator, in which ndim 2 means lines of a table if the
 * input is one. passed: lines of the input before the first that has results. */
int sink_open(sink **sink_, tally *ctx, const options *o, input *in, const operators *ops, int ndim,
              const int64_t *shape, int64_t passed);
/* count results of all lanes of each operator */
int sink_write(sink *s, const char *const *results, int64_t count);
/* commits if code is DONE; s may be NULL */
int sink_close(sink *s, int code);

/* ---- series.c: what scan and window have in common --------------------------------------------------------------- */
typedef struct series {
    const tally_scan_options *scan; /* one of the two is there */
    const tally_window_options *window;
    const span *span; /* with window: NULL, or in its place */
} series;
int series_run(const options *o, const series *how);
int series_begin(const options *o); /* checks the operands */

/* ---- steps.c: reduce of an array in a file, along a dimension and in the order of the file ----------------------- */
/* *taken 0: it does not go this way, and nothing was done. g: NULL, or groups of the steps.
 * memory: bytes that it may take. */
struct progress;
int reduce_steps(tally *ctx, const operators *ops, const input *in, answer *a, const layout *l,
                 const groups *g, int64_t memory, struct progress *p, int *taken);

/* ---- the rest ---------------------------------------------------------------------------------------------------- */
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
/* as little-endian bytes */
void sha256_values(sha256 *s, const void *values, size_t size, int64_t count);
void sha256_end(sha256 *s, char hex[65]);

void help_all(FILE *f);
void help_verb(FILE *f, enum verb verb);
void help_man(FILE *f);
void help_completion(FILE *f, const char *shell);

#define VERB(id, ...) int run_##id(const options *o);
#include "options.def"
#undef VERB

/* ---- netcdf.c: results as NetCDF or HDF5 ------------------------------------------------------------------------- */
/* The names of the dimensions as in "lat, lon", but for the axis (-1: all), or with another name
 * for it; NULL: they have no names, or no memory. */
char *dimensions_of(const input *in, int axis, const char *name);
typedef struct netcdf_of {
    const options *o;
    const char *op, *dimensions; /* NULL: the dimensions of the results have no names */
    int lanes;
    tally_dtype dtype;
    const answer *groups;     /* NULL, or the results, whose groups have keys */
    const tally_file *source; /* NULL, or the input that has the coordinates */
    void *fill;               /* room for 8 bytes: gets the value of --empty */
} netcdf_of;
/* Says what is in a new file, before its elements. */
int netcdf_describe(tally_file *file, tally *ctx, const netcdf_of *of);
/* Results that are none become the value of --empty. places: NULL, or which are. */
void netcdf_fill(void *results, const void *places, int64_t count, const tally_operator_info *info,
                 const void *value);
#endif

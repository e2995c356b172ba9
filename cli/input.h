/* SPDX-License-Identifier: MIT
 * input.h - what is read: files, and the sequences that --axis, --segments and --by make. */
#ifndef INPUT_H
#define INPUT_H

#include "session.h"

/* ---- input.c: a file as elements in C order ---- */
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
    void *owned;      /* the allocated memory of data, or NULL */
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
/* input_read where *at may point to the elements in memory instead of the buffer. */
int input_piece(input *in, char *buffer, int64_t max, const char **at, int64_t *got);
/* Applies --shape; loads the input if its length is unknown. */
int input_reshape(input *in, const char *shape);
/* Checks that the file did not become shorter while its mapping was read. */
int input_sound(input *in);
void input_note(input *in, const options *o); /* reports skipped cells */
void input_close(input *in);
int64_t physical_memory(void);
int memory_option(const options *o, int64_t *bytes); /* --memory, or a quarter of the memory */
/* An array of `ndim` dimensions, whose elements along dimension d are step[d] elements apart. */
typedef struct strided {
    const char *data;
    size_t size; /* bytes of an element */
    int ndim;
    int64_t shape[DIMS], step[DIMS];
} strided;
/* Copies elements first .. first + count - 1, in C order. */
void strided_copy(const strided *a, int64_t first, int64_t count, char *out);
enum { LARGE_PAGE = 2 << 20 };
/* Requests large pages if that is worthwhile; call it before the memory is used. */
void large_pages(void *memory, size_t bytes);

/* ---- layout.c: --axis and --segments as batches of sequences ---- */
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
int layout_is_one_run(unsigned axes); /* whether the axes are neighbours; else layout_open turns */
/* The elements `data` of an array of in's shape, with the dimensions of `axes` last, in memory. */
int layout_turned(const input *in, unsigned axes, const char *data, size_t size, char **turned);
/* A value of an integer dtype; the bits of a u64. */
int64_t whole_value(tally_dtype dtype, const void *value);
double real_value(tally_dtype dtype, const void *value); /* a value of dtype f32, else f64 */
int64_t layout_sequences(const layout *l);
/* The dimensions in --axis, as bits. */
int layout_axes(const input *in, const options *o, unsigned *axes);
int dimension_named(const input *in, const char *name); /* of a NetCDF file; -1: there is none */
int several_axes(const options *o);
int axis_named(const options *o); /* --axis names a dimension, so all files form one array */
const char *layout_per(const layout *l, const input *in); /* the name of a sequence */
/* The elements that are cut into batches, or their results: the sequences have `len` elements (in:
 * l->len; the output of a window may be shorter) of `bytes` bytes. */
typedef struct batched {
    const void *data;
    tally_dtype dtype;
    size_t bytes;
    int64_t len;
} batched;
batched layout_elements(const layout *l, const input *in); /* of the loaded input */
/* Sets *view to batch number i. Returns 0 past the last batch. For reduced results: out_at is the
 * first result of the batch, out_step their distance. */
int layout_batch(const layout *l, int64_t i, batched of, tally_view *view, int64_t *out_at,
                 int64_t *out_step);

/* groups.h: the groups of lines or of steps that --by makes. */
typedef struct groups {
    int64_t count, lines, width; /* groups, lines, values in a line */
    int64_t *order, *offsets;    /* as tally_groups makes them */
    int64_t *shown;              /* group number i of the output has number shown[i] in the file */
} groups;

/* ---- second.c: a second input (--with, two columns), and validity (--valid) ---- */
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
    char *owned;
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
/* Moves the second input and the bits as bands_move has moved the elements of `in`; g NULL: as
 * layout_open has turned them. */
int second_bands(second *s, const groups *g, const layout *l, const input *in);
/* Cuts FILE:VARIABLE at the colon, and returns the variable; NULL: path is the name of a file. */
const char *cut_variable(char *path);
/* ---- beside.c: weights with some of the dimensions of the data, or cos(NAME) ---- */
int is_cosine(const char *text); /* of the form cos(NAME) */
/* Opens such weights as the second input. *taken 0: nothing was done, because s->with is an
 * ordinary second input: its dimensions have no names, or all of them are those of other data. */
int weights_open(second *s, input *in, const options *o, int *taken);
int second_sound(second *s); /* see input_sound */
void second_close(second *s);

/* ---- beside.c: subtracts the values of --minus, a file of some dimensions or of groups ---- */
int minus_apply(input *in, const options *o);

/* ---- join.c: puts the paths of files that are joined in the order of their times ---- */
int join_order(tally *ctx, const options *o, char **paths);
#endif

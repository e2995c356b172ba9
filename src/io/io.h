/* SPDX-License-Identifier: MIT
 * What the files of io/ share.
 *
 *     file.c    open, read: which format, whose reader                  handle.c   made and closed
 *     input.c   bytes from a regular file or a pipe, and a peek at them  field.c    one cell of a line
 *     binary.c  npy and raw elements      npy.c   the npy header         write.c    create, write, commit
 *     sniff.c   the layout of a text: format, delimiter, first lines     columns.c  which columns, and the header
 *     header.c  is the first line a header?                              foreign.c  formats that tally does not read
 *     text.c    blocks of text over threads, in order                    cells.c    the loops over cells
 *     cell.c    one cell as a value
 *     cut.c     where a block may be cut                                 bad_cell.c the sentence about a cell
 *     replace.c a new file that takes another's place                    keys.c     groups of lines, by their keys
 *     time.c    times of lines, and whether they rise
 *     write_text.c   values as text       put.c   bytes to the file      netcdf/   NetCDF and HDF5, by libnetcdf
 *     (dtype/)  numbers from and to text
 */
#ifndef TALLY_IO_H
#define TALLY_IO_H
#include "context/context.h"
#include "dtype/number.h"
#include <sys/types.h>

enum { TL_PAD = 64 }; /* readable bytes after a block of text, for the fast path's loads */

typedef struct tl_text tl_text;
typedef struct tl_writer tl_writer;
typedef struct tl_netcdf tl_netcdf;

/* A file open for reading or (writer) for writing. */
struct tally_file {
    tally *ctx;
    char *name;        /* as given, owned */
    const char *label; /* for sentences: name, or "standard input" */
    tally_file_info info;
    int fd, own_fd, regular;
    /* regular: the next byte to read and the file's bytes; else bytes taken so far and -1 */
    int64_t pos, size;
    char *peek; /* bytes read ahead while guessing; for pipes they come first when reading */
    size_t peek_n, peek_at, peek_room;
    int peek_end; /* the input ends with the peek */
    int keeps;    /* text: tally_file_line may be called */
    int swap;     /* binary: the other byte order */
    int64_t left; /* binary: elements not yet read, -1 unknown */
    void *map;
    size_t map_bytes;
    tl_text *text;
    tl_writer *writer;
    tl_netcdf *netcdf;
    /* frees the one of these three that is there; NULL: there is none */
    void (*end)(tally_file *f);
};

/* file.c: how files begin, for reading and for writing. tl_file_new checks its arguments and
 * makes a file that has its name; standard: what sentences call "-". tl_file_opened comes last:
 * if s is a failure it closes the file and *file is NULL. */
tally_status tl_file_new(tally *ctx, const char *path, const char *standard, tally_file **file);
tally_status tl_file_opened(tally_file **file, tally_status s);

/* The threads to use for ctx (weak, so that a test may replace it). */
int tl_io_threads(tally *ctx);

/* input.c: n bytes or fewer at the end; -1 with errno set. tl_input_read waits for all n,
 * tl_input_some for at least one. */
int64_t tl_input_read(tally_file *f, void *buffer, size_t n);
int64_t tl_input_some(tally_file *f, void *buffer, size_t n);
/* Would a pipe make tl_input_some wait? */
int tl_input_would_wait(const tally_file *f);
/* pread until n bytes or the end. */
int64_t tl_pread_full(int fd, void *buffer, size_t n, int64_t at);
/* Reads ahead until the peek holds `want` bytes or the input ends: TALLY_OK, or the failure. */
tally_status tl_input_peek(tally_file *f, size_t want);
tally_status tl_input_failed(tally_file *f);

/* binary.c */
tally_status tl_binary_start(tally_file *f);
tally_status tl_binary_read(tally_file *f, void *buffer, int64_t max, int64_t *got);
void tl_swap_bytes(unsigned char *p, int64_t n, size_t size);
/* npy.c: reads the header; sets dtype, shape, order and swap. */
tally_status tl_npy_header(tally_file *f, tally_dtype want);
/* The header for a file to be written, padded so that any first extent fits: its length, at most
   512. */
size_t tl_npy_write_header(char *out, tally_dtype dtype, int ndim, const int64_t *shape);

/* How the cells of a text are laid out. */
typedef struct tl_want {
    int64_t column, place; /* in the file, among those that are read; both from 0 */
    int role;              /* what its cells are */
} tl_want;
enum { TL_VALUE, TL_KEY, TL_TIME };
typedef struct tl_layout {
    int64_t columns;  /* 0: every cell is a value; else how many columns are read */
    tl_want *want;    /* those, in the file's order; with keys: the key columns too */
    int64_t keys;     /* key columns */
    int times;        /* 1: there is a column of times too */
    char **key_names; /* with a header: what it calls them */
    int64_t fields;   /* a line with more cells than this is bad (0: it is not) */
    char delimiter;   /* 0: white space */
    int quotes;       /* "..." fields, RFC 4180 */
    int comment;      /* lines that begin with this character are skipped; -1: none are */
    char thousands;   /* between groups of three digits; 0: none */
    /* a row of `columns` values per line (ndim 2); else one column, or every cell (ndim 1) */
    int table;
    int64_t skip; /* bytes before the first data line: a byte order mark, a header */
    char *header; /* the header's line, or NULL */
    char **names; /* with a header: what it calls the columns that are read */
} tl_layout;
void tl_layout_free(tl_layout *l);

/* field.c: one field of a record: [*s, *e) without blanks around it and without quotes; returns
 * the end of the field (a delimiter, a newline or `end`). Quotes that are not closed: *e is
 * NULL. */
const char *tl_field(const char *p, const char *end, const tl_layout *l, const char **s,
                     const char **e);
/* The end of the line at p: its newline, or `end`. */
const char *tl_line_end(const char *p, const char *end);
/* Carriage returns without a newline behind them become newlines. last: nothing follows; else a
 * last carriage return stays as it is, and is looked at again with what follows. */
void tl_unify_lines(char *p, size_t n, int last);

/* sniff.c: whether the peek looks like csv (1), text (0), neither (-1) or is too short to tell
   (2); the layout. */
int tl_sniff_kind(const tally_file *f);
/* foreign.c: refuses a file whose first bytes say that it is compressed, UTF-16, or of a format
 * that tally does not read, and says what to do. text: it is read as text. */
tally_status tl_refuse_foreign(tally_file *f, int text);
tally_status tl_sniff_layout(tally_file *f, const tally_file_options *o, int csv,
                             tl_layout *layout);

/* columns.c: which columns are read, and whether the first of these records is a header. */
typedef struct tl_field_text {
    const char *s, *e;
} tl_field_text;
typedef struct tl_record {
    tl_field_text *f;
    int64_t n;
    const char *line, *next; /* next: after its newline */
} tl_record;
tally_status tl_choose_columns(tally_file *f, const tally_file_options *o, const tl_record *r,
                               int records, tl_layout *l, int *header);

/* header.c: what a cell is, and whether the first record is a header. */
enum { TL_WORD, TL_NUMBER, TL_NONE }; /* TL_NONE: empty, or a word for a missing value */
typedef struct tl_lines {
    const tl_record *r;
    int records;
    const tl_layout *l;
    tally_dtype dtype;
} tl_lines;
int tl_kind(const tl_lines *t, const tl_field_text *x);
/* What column i has, by the first of the records from..records - 1 that says it. */
int tl_column_kind(const tl_lines *t, int from, int64_t i);
int64_t tl_widest(const tl_lines *t);
/* Whether every column has a number or a word in the records after the first. */
int tl_columns_known(const tl_lines *t);
/* values: NULL, or for each column whether it is known to have values. */
enum { TL_HEADER_NO, TL_HEADER_YES, TL_HEADER_UNCERTAIN };
int tl_header_guess(const tl_lines *t, const char *values);

/* time.c: a time in nanoseconds, or a number instead of one, in units of 1 / TALLY_KEY_PART. */
typedef __int128 tl_tick;
typedef struct tl_time {
    tl_tick value;
    int frame;
} tl_time;
/* Why a cell is not a time that the others can be compared with; more of TL_CELL_. */
enum {
    TL_CELL_TIME = TL_CELL_MORE + 1,
    TL_CELL_ERA,
    TL_CELL_NANOS,  /* more than nine digits after the second */
    TL_CELL_LARGE,  /* a number beyond 64 bits */
    TL_CELL_DIGITS, /* a number with more digits after the point than a tick has */
    TL_CELL_FRAME,
    TL_CELL_FALLS,
    TL_CELL_SIGN /* one number below 0, one above 2^63 - 1 */
};
int tl_time_parse(const char *s, const char *e, tl_time *t);
/* as in tally_file_info */
int tl_time_kind(int frame);
void tl_time_show(int frame, tl_tick tick, char *out, size_t room); /* 48 characters */
/* "numbers", "no zone", "Z", "+01:00" */
void tl_time_frame(int frame, char *out, size_t room);
tally_line_time tl_time_give(int frame, tl_tick tick);

/* cells.c: what became of a chunk of text. */
typedef struct tl_span {
    uint32_t at, length;
} tl_span; /* of a line, from the chunk's start; or of a key's cell */
/* In the length of a key's cell: it was quoted, and there are quotes in it. */
#define TL_DOUBLED ((uint32_t)1 << 31)
typedef struct tl_chunk {
    const char *start, *end; /* whole lines (TL_PAD readable bytes after end) */
    /* start is behind cells of its line; inside a comment; in_comment is updated */
    int mid_line, in_comment;
    int has_quote, skip_bad;
    /* room for (end - start) / 2 + 1 values, of a table (end - start) + 1 */
    unsigned char *values;
    /* NULL, or room for (end - start) / 2 + 1: the lines of the rows */
    tl_span *lines;
    /* the same times the key columns: the cells of the rows' keys, and */
    tl_span *keys;
    int32_t *codes;                   /* the numbers of their groups */
    tl_tick *times;                   /* of the rows, */
    int frame;                        /* what they are (0: there is none yet), */
    const char *frame_at, *frame_end; /* and the first of them */
    int64_t count, given, skipped, comments;
    const char *bad, *bad_end; /* the first bad cell, or NULL */
    int why;                   /* TL_CELL_ */
    int64_t lacks;             /* TL_CELL_FIELDS: the column that the line has not */
} tl_chunk;
void tl_cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype);
/* cell.c: one cell as a value: tl_parse_cell, and the words for missing values (empty, NA, null in any
 * case), which are NaN or TL_CELL_EMPTY. thousands: as in tl_layout. */
int tl_cell(tally_dtype dtype, const char *s, const char *e, char thousands, void *value);
int tl_missing(const char *s, const char *e);
/* Of a word: a number in groups of three digits, and what is between them; else 0. */
char tl_grouped(const char *s, const char *e);

/* keys.c: the groups of the lines, by the text of their keys. find gives the rows of a chunk
 * their codes, TL_NEW where the key is new; it only reads, so threads may call it for several
 * chunks. settle numbers the new ones. */
typedef struct tl_keys tl_keys;
enum { TL_NEW = -1 };
tl_keys *tl_keys_open(int64_t columns); /* NULL: no memory */
void tl_keys_close(tl_keys *k);
void tl_keys_find(const tl_keys *k, tl_chunk *c, int64_t rows);
tally_status tl_keys_settle(tally_file *f, tl_keys *k, tl_chunk *c, int64_t rows);
int64_t tl_keys_count(const tl_keys *k);
const char *tl_keys_cell(const tl_keys *k, int64_t group, int64_t column);

/* time.c: the time [s, e) of row number `row` of a chunk: why it is none. */
int tl_time_take(tl_chunk *c, int64_t row, const char *s, const char *e);
/* Whether times rise in each group, and numbers fit one type of 64 bits. check looks at the next
 * rows: the first that does not go with those before it, *with, and why; or `rows`. */
typedef struct tl_order {
    tl_tick *last;
    int64_t known, room; /* groups that have a last, and for which there is room */
    int frame;
    tl_tick least, greatest; /* of numbers */
} tl_order;
tally_status tl_order_room(tally_file *f, tl_order *o, int64_t groups);
int64_t tl_order_check(tl_order *o, const tl_chunk *c, int64_t rows, tl_tick *with, int *why);
/* the type of the times so far */
tally_dtype tl_order_dtype(const tl_order *o);

/* cut.c: cuts the block [b, b + n) where records end, near the wanted places cuts[1..k-1] and,
 * if `last`, at the last record's end. cuts[k] is what was cut off in all (0: no record ends
 * here). */
void tl_text_cut(const char *b, size_t n, const tl_layout *l, size_t *cuts, int k, int last);

/* Why a text cannot be read on: a cell, its place, and the beginning of its text. */
typedef struct tl_bad {
    int why;   /* TL_CELL_, 0: nothing is wrong */
    int first; /* it is the first cell of the data */
    int64_t line, col, lacks;
    char text[48];
    char other[48]; /* TL_CELL_FRAME, _FALLS, _SIGN: what it does not go with */
} tl_bad;
tally_status tl_bad_cell(tally_file *f, const tl_bad *bad, const tl_layout *l);
/* bytes in a line (of a table) or a cell (where every cell is a value) */
enum { TL_LONGEST = 64 << 20 };

/* text.c */
tally_status tl_text_start(tally_file *f, const tally_file_options *o, int csv);
tally_status tl_text_read(tally_file *f, void *buffer, int32_t *codes, tally_line_time *times,
                          int64_t max, int64_t *got);
int tl_text_timed(const tally_file *f);         /* is there a column of times? */
tally_dtype tl_text_times(const tally_file *f); /* what the times of the last read are */
const tl_keys *tl_text_keys(const tally_file *f);
tally_status tl_text_line(tally_file *f, const char **line, size_t *length);
#endif

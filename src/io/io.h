/* SPDX-License-Identifier: MIT
 * The common declarations of io/; README.md lists its files. */
#pragma once

#include "context/context.h"
#include "dtype/number.h"

enum { TL_PAD = 64 }; /* readable bytes after a block of text, for the fast path's loads */

typedef struct tl_text tl_text;
typedef struct tl_keys tl_keys;
typedef struct tl_writer tl_writer;
typedef struct tl_netcdf tl_netcdf;
typedef struct tl_compressed tl_compressed;

/* A file that is open for reading, or for writing (writer is not NULL). */
struct tally_file {
    tally *ctx;
    char *name;        /* as the caller gave it; owned */
    const char *label; /* the name in sentences: name, or "standard input" */
    tally_file_info info;
    int fd, owns_fd, regular;

    /* regular file: position of the next byte, and size in bytes. Else: bytes read so far, and
     * -1 */
    int64_t pos, size;

    /* bytes that were read to guess the format; for a pipe they are the first bytes of the data */
    char *peek;
    size_t peek_n, peek_at, peek_capacity;
    size_t first; /* text: where it begins in the peek, after lines that are skipped; or 0 */
    int peek_end; /* the input has no bytes after the peek */
    int keeps;    /* text: tally_file_line may be called */
    int swap;     /* binary: the file has the other byte order */
    int64_t left; /* binary: elements not yet read; -1: unknown */
    void *map;
    size_t map_bytes;
    tl_text *text;
    tl_keys *keys; /* text: NULL, or the groups so far */
    tl_writer *writer;
    tl_netcdf *netcdf;
    tl_compressed *compressed; /* NULL, or what decompresses; fd is a pipe from it */
    /* Waits for the end of `compressed`. Returns why it failed, or NULL. */
    const char *(*failure)(tl_compressed *compressed);

    /* frees text, writer or netcdf, whichever is set; NULL if none is */
    void (*end)(tally_file *f);
};

/* Files take host memory: refuses memory of the context's device. */
static inline tally_status tl_check_host(const tally_file *f, const void *p, const char *name)
{
    return tl_host_only(f->ctx, p, name, "files");
}

/* file.c: the begin and the end of opening. tl_file_new checks the arguments and makes an object
 * with its name; standard: the name of "-" in sentences. tl_file_opened, called last, closes the
 * file and sets *file to NULL if s is a failure. */
tally_status tl_file_new(tally *ctx, const char *path, const char *standard, tally_file **file);
tally_status tl_file_opened(tally_file **file, tally_status s);

/* tl_fail with a sentence that begins with the file's name; format is a literal. */
#define tl_fail_on(file, status, format, ...) \
    tl_fail((file)->ctx, status, "%s: " format, (file)->label, ##__VA_ARGS__)
#define tl_invalid_on(f, ...)     tl_fail_on(f, TALLY_INVALID, __VA_ARGS__)
#define tl_unsupported_on(f, ...) tl_fail_on(f, TALLY_UNSUPPORTED, __VA_ARGS__)
#define tl_bad_data_on(f, ...)    tl_fail_on(f, TALLY_BAD_DATA, __VA_ARGS__)

/* The number of threads to use for ctx (weak, so that a test can replace it). */
int tl_io_threads(tally *ctx);

/* input.c: up to n bytes; fewer only at the end; -1 with errno. tl_input_read waits for all n
 * bytes, tl_input_some for at least one. */
int64_t tl_input_read(tally_file *f, void *buffer, size_t n);
int64_t tl_input_some(tally_file *f, void *buffer, size_t n);

/* Whether tl_input_some would wait for a pipe. */
int tl_input_would_wait(const tally_file *f);

/* pread of n bytes at f->pos, in `parts` parts by several threads; fewer only if the file ends. */
int64_t tl_pread_shared(const tally_file *f, void *buffer, int64_t n, int threads, int parts);

/* Reads ahead until the peek has `want` bytes or the input ends. */
tally_status tl_input_peek(tally_file *f, size_t want);

/* Whether the input begins with these n bytes; reads ahead no further than it needs to. */
tally_status tl_input_begins(tally_file *f, const char *bytes, size_t n, int *yes);
tally_status tl_input_failed(tally_file *f);

/* compressed.c: of gzip or zstd, f becomes a pipe of the decompressed bytes. why: at the end of the
 * pipe, why there are no more, or NULL. */
tally_status tl_compressed_open(tally_file *f);
void tl_compressed_close(tl_compressed *c);

/* input.c: elements as they are stored */
tally_status tl_binary_start(tally_file *f);
tally_status tl_binary_read(tally_file *f, void *buffer, int64_t max, int64_t *got);

/* npy.c: reads the header and sets dtype, shape, order and swap. */
tally_status tl_npy_header(tally_file *f, tally_dtype want);

/* Writes the header of a new file to out, at most 512 bytes, and returns its length. It is padded
 * so that any first extent fits. */
size_t tl_npy_write_header(char *out, tally_dtype dtype, int ndim, const int64_t *shape);

/* The layout of a text. */
typedef struct {
    /* number of the column in the file, and among the columns of its role; both from 0 */
    int64_t column, place;
    int role; /* what the cells of the column are */
    int part; /* a key: 0, or the part of the cells' dates that is the key (time.c) */
} tl_want;

enum { TL_VALUE, TL_KEY, TL_TIME };

typedef struct {
    int64_t columns;  /* 0: every cell is a value; else the number of columns of values */
    tl_want *want;    /* the columns that are read, in the file's order: values, keys and times */
    int64_t keys;     /* number of key columns */
    int times;        /* 1: there is a column of times */
    int parts;        /* number of keys that are parts of dates */
    int utc;          /* times with a zone are taken as times of UTC */
    char **key_names; /* with a header: the names of the key columns */
    int64_t fields;   /* cells of the first line; 0: not known */
    char delimiter;   /* 0: white space */
    int keep;         /* the lines are kept */
    int quotes;       /* fields may be in quotes "...", RFC 4180 */
    int comment;      /* lines that begin with this character are skipped; -1: none */
    char thousands;   /* between groups of three digits; 0: none */
    char decimal;     /* before a fraction; 0: a point, read faster */
    char date[48];    /* "", or the first date, if the values are dates */

    /* a row of `columns` values per line (ndim 2); else one column, or every cell (ndim 1) */
    int table;
    int64_t skip; /* bytes before the first line of data: a byte order mark, a header */
    char *header; /* the header's line, or NULL */
    char **names; /* with a header: the names of the columns of values */
} tl_layout;

void tl_layout_free(tl_layout *l);

/* field.c: one field of a record: [*s, *e) without surrounding blanks and quotes. Returns its end:
 * a delimiter, a newline or `end`. *e is NULL if a quote is not closed. */
const char *tl_field(const char *p, const char *end, const tl_layout *l, const char **s,
                     const char **e);

/* White space within a line. */
static inline int tl_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The end of the line at p: its newline, or `end`. */
const char *tl_line_end(const char *p, const char *end);

/* A carriage return that no newline follows becomes a newline. last: the text ends here; else one
 * at the end stays, for a check with what follows. */
void tl_unify_lines(char *p, size_t n, int last);

/* tl_unify_lines by threads, which take parts of the text. */
enum { TL_CHUNKS_MOST = 256 };
void tl_unify_text(char *p, size_t n, int threads, int parts, int last);

/* How many of n characters are c. */
int64_t tl_count(const char *p, size_t n, char c);

/* sniff.c: does the peek look like csv (1), text (0), neither (-1), or is it too short (2)? */
int tl_sniff_kind(const tally_file *f, char decimal);

/* refuse.c: refuses a file that is compressed, UTF-16, or of a format that tally does not read, and
 * suggests what to do. text: it is read as text. */
tally_status tl_refuse_foreign(tally_file *f, int text);
tally_status tl_sniff_layout(tally_file *f, const tally_file_options *o, int csv,
                             tl_layout *layout);

/* columns.c: chooses the columns that are read. *header: whether the first of the records is a
 * header. */
typedef struct {
    const char *s, *e;
} tl_field_text;

typedef struct {
    tl_field_text *f;
    int64_t n;
    const char *line, *next; /* next: after the newline of the record */
    const char *open;        /* NULL, or its last cell, whose quote is not closed */
    int whole;               /* there is a newline; else the record may go on after the peek */
} tl_record;

tally_status tl_choose_columns(tally_file *f, const tally_file_options *o, const tl_record *r,
                               int records, tl_layout *l, int *header);

/* field.c: the kind of a cell, and whether the first record is a header. */
enum { TL_WORD, TL_NUMBER, TL_NONE }; /* TL_NONE: empty, or a word for a missing value */

typedef struct {
    const tl_record *r;
    int records;
    const tl_layout *l;
    tally_dtype dtype;
} tl_lines;

int tl_kind(const tl_lines *t, const tl_field_text *x);

/* The first cell of column i in records from .. records - 1 that is not TL_NONE, or NULL; its kind
 * is the column's. */
const tl_field_text *tl_first_known_cell(const tl_lines *t, int from, int64_t i);
int tl_column_kind(const tl_lines *t, int from, int64_t i);
int64_t tl_widest(const tl_lines *t);

/* columns.c: is x a number, or one in another spelling, as 5% and 3,14? */
int tl_other_spelling(const tl_lines *t, const tl_field_text *x);

/* Whether every column has a number or a word in the records after the first. */
int tl_columns_known(const tl_lines *t);

/* values: NULL, or for each column in bit 0 whether it is a column of values. */
enum { TL_HEADER_NO, TL_HEADER_YES, TL_HEADER_UNCERTAIN };
int tl_header_guess(const tl_lines *t, const char *values);

/* time.c: a time in nanoseconds, or a number in units of 1 / TALLY_KEY_PART. */
typedef __int128 tl_tick;

typedef struct {
    tl_tick value;
    int frame;
} tl_time;

/* Why a cell is not a time, or not comparable with the others; continues TL_CELL_. */
enum {
    TL_CELL_TIME = TL_CELL_MORE + 1,
    TL_CELL_ERA,
    TL_CELL_NANOS,  /* more than nine digits after the second */
    TL_CELL_LARGE,  /* a number of more than 64 bits */
    TL_CELL_DIGITS, /* more digits after the point than a tick has */
    TL_CELL_FRAME,
    TL_CELL_FALLS,
    TL_CELL_SIGN, /* one number is below 0, another above 2^63 - 1 */
    TL_CELL_PART  /* a part of a date is wanted, and this is a number */
};

int tl_time_parse(const char *s, const char *e, tl_time *t);

/* the kind as in tally_file_info.times */
int tl_time_kind(int frame);
void tl_time_show(int frame, tl_tick tick, char *out, size_t capacity); /* at most 48 characters */

/* the frame as text: "is a number", "has no zone", "Z", "+01:00" */
void tl_time_frame(int frame, char *out, size_t capacity);
tally_line_time tl_time_give(int frame, tl_tick tick);

/* file.c: Text is TL_TEXT to TL_TSV, what libnetcdf writes TL_NETCDF and after. tl_format_of: the
 * format that a name's ending says; TL_FORMATS: none. */
typedef enum {
    TL_NPY,
    TL_RAW,
    TL_TEXT,
    TL_CSV,
    TL_TSV,
    TL_NETCDF,
    TL_NETCDF4,
    TL_HDF5,
    TL_FORMATS
} tl_file_format;
extern const char *const tl_format_names[TL_FORMATS];
tl_file_format tl_format_of(const char *name, const char *end);
static inline int tl_is_text(tl_file_format format)
{
    return TL_TEXT <= format && format <= TL_TSV;
}

/* cells.c: a chunk of text and the values in it. */
typedef struct {
    uint32_t at, length;
} tl_span; /* a line, from the chunk's start; or the cell of a key */

/* Bits in the length of a key's cell: it has quotes; they are doubled. */
#define TL_QUOTED  ((uint32_t)1 << 30)
#define TL_DOUBLED ((uint32_t)1 << 31)
typedef struct {
    const char *start, *end; /* whole lines; TL_PAD bytes after end are readable */
    /* start is in the middle of a line, after a cell; start is inside a comment (updated) */
    int mid_line, in_comment;
    int has_quote, skip_bad;

    /* space for (end - start) / 2 + 1 values, for a table (end - start) + 1 */
    unsigned char *values;
    /* NULL, or the lines of the rows; space for (end - start) / 2 + 1 */
    tl_span *lines;

    /* the cells of the rows' keys, one per key column; space for as many rows */
    tl_span *keys;
    int32_t *codes;                   /* the group of each row */
    tl_tick *times;                   /* the time of each row */
    int frame;                        /* the frame of the times; 0: none yet */
    const char *frame_at, *frame_end; /* the first time */
    const char *numbers;              /* keys that are parts of dates: tl_time_numbers */
    int utc;
    char decimal;
    int64_t count, given, skipped, comments;
    const char *bad, *bad_end; /* the first bad cell, or NULL */
    int why;                   /* why it is bad: TL_CELL_ */
    int64_t lacks;             /* TL_CELL_FIELDS: the column that is missing in the line */
} tl_chunk;

void tl_cells(tl_chunk *c, const tl_layout *l, tally_dtype dtype);

/* field.c: one cell as a value. Like tl_parse_cell, but words for missing values (empty, NA, null
 * in any case) are NaN or TL_CELL_EMPTY. l: has thousands and decimal. */
int tl_cell(tally_dtype dtype, const char *s, const char *e, const tl_layout *l, void *value);

/* Exchanges the point and `decimal`. Returns the length of `out`; 0 if no number is as long. */
enum { TL_NUMBER_MOST = 400 };
static inline int64_t tl_with_point(const char *s, const char *e, char decimal, char *out)
{
    if (e - s > TL_NUMBER_MOST) return 0;
    for (const char *p = s; p < e; p++) *out++ = *p == decimal ? '.' : *p == '.' ? decimal : *p;
    return e - s;
}

/* If a word is a number with digits in groups of three, the character between the groups; else
 * 0. */
char tl_grouped(const char *s, const char *e);

/* refuse.c: if a word is a number in another spelling, the options that read it, as --decimal ',';
 * else "". */
enum { TL_SPELLING = 48 };
const char *tl_spelling(const char *s, const char *e, char out[TL_SPELLING]);

/* keys.c: the groups of the lines, by the text of their keys. tl_keys_find sets the codes of a
 * chunk's rows, TL_NEW for a new key; it only reads the table, so threads may call it.
 * tl_keys_settle numbers the new keys. */
enum { TL_NEW = -1 };
tl_keys *tl_keys_open(int64_t columns); /* NULL: no memory */
void tl_keys_close(tl_keys *k);
void tl_keys_find(const tl_keys *k, tl_chunk *c, int64_t rows);
tally_status tl_keys_settle(tally_file *f, tl_keys *k, tl_chunk *c, int64_t rows);

/* time.c: reads the time [s, e) of row number `row` of a chunk. Returns TL_CELL_OK or why it is
 * not a time. */
int tl_time_take(tl_chunk *c, int64_t row, const char *s, const char *e);

/* time.c: a part of the date [s, e) as a key. Its text is among the numbers, which begin less than
 * 4 GiB after the chunk. tl_time_part_named: the part that ends a name such as t.month, or 0; *end:
 * the end of t. */
enum { TL_NUMBERS_BYTES = 4 * (10000 + 4) + 16 };
void tl_time_numbers(char *out);
int tl_time_part(tl_chunk *c, int part, const char *s, const char *e, tl_span *key);
int tl_time_value(tl_chunk *c, const char *s, const char *e, void *value); /* a date as i64 */
int tl_time_part_named(const char *s, const char *e, const char **end);
const char *tl_time_part_name(int part);

/* Two checks: times do not fall within a group, and numbers fit one type of 64 bits. tl_order_check
 * checks the next rows and returns `rows`, or the first that fails; then *with is the time that it
 * conflicts with, and *why the reason. */
typedef struct {
    tl_tick *last;
    int64_t group_count,
        capacity; /* groups that have a last time; groups that `last` has space for */
    int frame;
    int64_t line;            /* of the first time */
    tl_tick least, greatest; /* of all numbers */
} tl_order;

tally_status tl_order_reserve(tally_file *f, tl_order *o, int64_t groups);
int64_t tl_order_check(tl_order *o, const tl_chunk *c, int64_t rows, tl_tick *with, int *why);

/* The dtype of the times so far. */
tally_dtype tl_order_dtype(const tl_order *o);

/* field.c: cuts the block [b, b + n) after records, near the wanted places cuts[1..k-1] and, if
 * `last`, after the last record. cuts[k] becomes the length of all chunks; 0: no record ends in the
 * block. */
void tl_text_cut(const char *b, size_t n, const tl_layout *l, size_t *cuts, int k, int last);

/* Where a line that is longer than the block is cut: after any white space, in a comment anywhere.
 * mid_line, in_comment: what the block begins in. */
size_t tl_text_cut_line(const char *b, size_t n, const tl_layout *l, int mid_line, int in_comment);

/* Why a text cannot be read further: a cell, its place, and the beginning of its text. */
typedef struct {
    int why;   /* TL_CELL_; 0: no error */
    int first; /* it is the first cell of the data */
    int64_t line, col, lacks;
    char text[48];
    char other[48];     /* TL_CELL_FRAME, _FALLS, _SIGN: what it conflicts with */
    int64_t other_line; /* TL_CELL_FRAME: the line of that */
} tl_bad;

/* refuse.c */
tally_status tl_bad_cell(tally_file *f, const tl_bad *bad, const tl_layout *l);

/* Stores the beginning of the cell's text in *bad. */
void tl_bad_text(tl_bad *bad, const char *p, const char *end);

/* the most bytes in a line (of a table) or in a cell (if every cell is a value) */
enum { TL_LONGEST = 64 << 20 };

/* Tests make both small, so that small inputs have several chunks and blocks. */
#ifndef TL_TEXT_SHARE
#define TL_TEXT_SHARE (4 << 20)
#define TL_TEXT_SMALL (1 << 16)
#endif

/* text.c */
tally_status tl_text_start(tally_file *f, const tally_file_options *o, int csv);
tally_status tl_text_read(tally_file *f, void *buffer, int32_t *codes, tally_line_time *times,
                          int64_t max, int64_t *got);
/* the dtype of the times of the last read; 0: there is no column of times */
tally_dtype tl_text_times(const tally_file *f);

/* SPDX-License-Identifier: MIT
 * Many sequences at once, one per lane (kernel/lanes_kernel.h), for every verb:
 *
 *   columns                   read in place, in strips of neighbouring columns (lanes_columns.c,
 *                             lanes_strips.c)
 *   short rows and segments   sequences of about equal length are transposed into a strip, and its
 *                             results back (lanes_rows.c, lanes_segments.c)
 *
 * Each lane follows the law on its own, so it does not matter which sequences share a strip. */
#pragma once

#include "shape.h"
#include "context/device.h"
#include "context/threads.h"
#include "law/counter.h"

enum {
    TL_LANES_LONG = 1024,    /* longest row or segment; longer ones are processed one at a time */
    TL_LANES_STRIP = 448,    /* lanes of the widest strip */
    TL_LANES_LEAST_ROWS = 8, /* fewest rows */
    TL_LANES_WINDOW = 128,   /* longest window */
    TL_LANES_AFTER = 64      /* largest `after` of a window */
};

/* One call of a verb. out: scan and window. */
typedef struct tl_lanes_job {
    const tl_plan *plan;
    tl_plan window_plan; /* of a window: tl_plan_of_window */
    int verb;
    const tally_view *in, *out;
    char *results;                  /* reduce */
    int exclusive, reverse, seeded; /* scan */
    tl_state init;                  /* in the kernels' form */

    /* window; those with fewer than `least` elements have no value */
    int64_t before, after, w, least;
    int valid;
} tl_lanes_job;

/* Fills a job for a reduction, but for `results`. For a scan or windows one of the
 * next two functions follows. */
void tl_lanes_begin(tl_lanes_job *job, const tl_plan *plan, const tally_view *in);
void tl_lanes_of_scan(tl_lanes_job *job, const tally_view *out, const tally_scan_options *o);

/* 0: lanes do not support these windows. */
int tl_lanes_of_window(tl_lanes_job *job, const tally_view *out, const tally_window_options *o);

/* ---- strips: lanes.c, lanes_copy.c; used by the other files ---- */

/* Where the elements of a strip are. */
typedef struct tl_lanes_from {
    const char *x;
    int64_t step;  /* elements from one row to the next */
    int64_t width; /* lanes */
    /* Kernels read rows 0 .. direct - 1 in place, whole vectors, also beyond the last lane. Columns
     * of later rows are copied first; they are col_step elements apart. */
    int64_t direct;
    int64_t col_step;
    int64_t prefetch_distance; /* prefetch distance in rows; 0: no prefetch */
} tl_lanes_from;

/* Where the results of a strip go, one of:
 *   sequences   n[c] <= most results to q[c]
 *   sequences   all results of lane c to out + c * pitch bytes
 *   columns     to out; pitch is 0 */
typedef struct tl_lanes_to {
    char *const *q;
    const int64_t *n;
    int64_t most;
    char *out;
    int64_t pitch;          /* 0: columns */
    int64_t step, col_step; /* in results */
    /* direct: `lower` writes to out; width is a multiple of the kernels' lanes. stream: with
     * non-temporal stores; not direct: the rows are adjacent */
    int direct, stream;
    /* Of each row only the cache lines that begin in the first `lines` columns are stored; with
     * `first`, also the columns before them. 0: all columns */
    int64_t lines;
    int first;
} tl_lanes_to;

/* One thread's memory. */
typedef struct {
    const tl_lanes_job *job;
    tl_lanes k;
    int64_t elem, result; /* bytes of the kernels' elements and results */
    int lanes;            /* lanes of a vector */
    int vectors_seeded;   /* number of vectors whose S(0) is set */
    int64_t r_width;      /* results of a row of r; of the strip's lanes, or of its vectors */
    int64_t most;         /* lanes of the widest strip, with padding */
    char *soa, *t, *r, *narrow, *empty;
} tl_lanes_buffers;

#define TL_ALL_ROWS INT64_MAX /* direct: all rows */

/* The rows from `at` on. bytes: the size of an element of from->x. */
static inline tl_lanes_from tl_lanes_rows_from(const tl_lanes_from *from, int64_t at, int64_t bytes)
{
    tl_lanes_from f = *from;
    f.x += at * f.step * bytes;
    if (f.direct != TL_ALL_ROWS) f.direct = f.direct > at ? f.direct - at : 0;
    return f;
}

/* ---- lanes_copy.c ---- */

/* Lanes of a strip of `width` sequences, with padding. */
static inline int64_t tl_lanes_padded(const tl_lanes_buffers *buffers, int64_t width)
{
    return (width + buffers->lanes - 1) & -(int64_t)buffers->lanes;
}

/* Returns rows a .. a + count - 1 where a kernel can read them. *stride: elements from one to the
 * next. */
const char *tl_lanes_bring(tl_lanes_buffers *buffers, const tl_lanes_from *f, int64_t a,
                           int64_t count, int64_t *stride);

/* Copies results to their destinations, as rows i .. i + rows - 1 of the strip. They may lie in r,
 * in `narrow` or in staged states, which stay as they are. */
void tl_lanes_store(tl_lanes_buffers *buffers, const tl_lanes_to *to, const tl_matrix *results,
                    int64_t i, int64_t rows);

/* Stores `count` results from r, which are narrowed first, at `out`. */
void tl_lanes_store_dense(const tl_lanes_buffers *buffers, const tl_lanes_to *to, char *out,
                          const char *r, int64_t count);

/* Copies bytes with non-temporal stores of whole cache lines. */
void tl_stream_bytes(char *to, const char *from, int64_t bytes);

/* ---- lanes.c ---- */

typedef struct {
    int64_t width, longest, transposed;
} tl_lanes_size;

/* For strips of up to `width` lanes of sequences of up to `longest` elements. t gets space for at
 * least `transposed` elements. The memory is that of thread number `me` in the context. 0: out of
 * memory. */
int tl_lanes_open(tl_lanes_buffers *buffers, tally *ctx, int me, const tl_lanes_job *job,
                  tl_lanes_size size);

/* Rows that a strip of `padded` lanes processes at a time: they fit a staging buffer and r. */
int64_t tl_lanes_chunk(int64_t padded);

/* Stages S(n) of each lane as soa[to + lane]. ends: see tl_lanes. */
void tl_lanes_fold(tl_lanes_buffers *buffers, const tl_lanes_from *from, int64_t n,
                   const int32_t *ends, int64_t to);

/* The staged state of a lane, as a state of the law. */
void tl_lanes_staged(const tl_lanes_buffers *buffers, int64_t lane, tl_state *s);

/* Makes a lane continue a sequence whose nodes, of 8 elements or more, are in c. init: S(0), or
 * NULL. Both are states of the law. */
void tl_lanes_continue(const tl_lanes_job *job, const tl_lanes *k, int64_t lane, tl_counter *c,
                       const tl_state *init);

typedef struct {
    int64_t at, n;
    int last;
    int64_t to;
    const int32_t *ends;
} tl_lanes_part;

/* tl_lanes_fold in parts: appends rows at .. at + n - 1, of which from->x is the first, to k.carry.
 * Requires: at is a multiple of 8; so is n, except in the last part, which stages S(at + n) as
 * soa[to + lane]. */
void tl_lanes_feed(tl_lanes_buffers *buffers, const tl_lanes_from *from, const tl_lanes_part *part);

typedef struct {
    int64_t first, at, n, total;
} tl_lanes_span;

/* Rows at .. at + n - 1. If at > 0, carry holds the state of the rows before. total: rows of the
 * whole sequence. from and to begin with row `first`, 0 for reversed scans. */
void tl_lanes_scan(tl_lanes_buffers *buffers, const tl_lanes_from *from, const tl_lanes_to *to,
                   const tl_lanes_span *span);

/* Are the windows of so many columns computed as one array? Rows are in_step elements apart, and
 * rows of results out_step results. */
int tl_lanes_flat(const tl_lanes_job *job, int64_t columns, int64_t in_step, int64_t out_step);

/* Computes the windows with centres i0 .. i1 - 1. */
void tl_lanes_window(tl_lanes_buffers *buffers, const tl_lanes_from *from, const tl_lanes_to *to,
                     int64_t n, int64_t i0, int64_t i1);

/* ---- rows, segments and columns ---- */

/* Processes one sequence alone. */
typedef void tl_lanes_process(void *with, int64_t r);
typedef struct tl_lanes_batch tl_lanes_batch;

/* The batch of thread `me`, in the context's memory. Requires: tl_scratch_begin was called. NULL:
 * out of memory. */
tl_lanes_batch *tl_lanes_batch_open(tally *ctx, int me, const tl_lanes_job *job);

/* Processes sequences r0 .. r1 - 1 of a view of rows or segments; `process` gets those that are too
 * long for lanes. */
void tl_lanes_rows(tl_lanes_batch *batch, int64_t r0, int64_t r1, tl_lanes_process *process,
                   void *with);

/* ---- lanes_rows.c, lanes_segments.c: a batch of rows or segments, in strips ---- */

enum {
    TL_BATCH_SEQUENCES = 2048,         /* most sequences of a batch */
    TL_BATCH_ELEMENTS = 64 * 1024 - 1, /* most elements of a batch */
    TL_BATCH_WAYS = 4,                 /* counters of a class of segments */
    TL_SCAN_SHORT = 256,               /* longest sequence for scan_short */
    TL_LANES_OVER = 8                  /* a transposition reads multiples of this many elements */
};

/* A segment of a batch, in one word that is stored and loaded at once: the number of elements
 * before it in the batch, its length (16 bits), and its number (16 bits). */
typedef uint64_t tl_segment;
static inline tl_segment tl_segment_of(int64_t at, int64_t n, int64_t r)
{
    return (uint64_t)at << 32 | (uint64_t)n << 16 | (uint64_t)r;
}
static inline uint64_t tl_segment_at(tl_segment s) { return s >> 32; }
static inline uint16_t tl_segment_length(tl_segment s) { return (uint16_t)(s >> 16); }
static inline uint16_t tl_segment_number(tl_segment s) { return (uint16_t)s; }

struct tl_lanes_batch {
    const tl_lanes_job *job;
    tl_lanes_buffers buffers;
    int64_t elem, result; /* as in buffers */
    int direct_in, direct_out, stream, prefetch;

    /* Longer sequences are processed one at a time; so are batches with a longer mean. */
    int64_t longest, mean, mean_alike;
    char *in, *pack, *out, *spill;
    int64_t r0, count; /* the first sequence of the batch, and how many it has */
    const char *x;     /* the first element, in place or copied */
    const char *end;   /* nothing at or after this address may be read */
    int near_end;      /* a strip might read past the end */
    /* fold_short or scan_short, or NULL */
    void (*as_given)(const tl_dense_rows *rows, tl_par p);
    int alike; /* the segments of the batch are about as long, so that as_given is faster */
    char *y;   /* where the first result goes */
    tl_segment in_order[TL_BATCH_SEQUENCES],
        sorted[TL_BATCH_SEQUENCES];         /* segments; sorted by length */
    int64_t starts[TL_BATCH_SEQUENCES + 1]; /* offsets of rows */
    uint16_t alone[TL_BATCH_SEQUENCES];
    uint16_t place[TL_LANES_LONG + 1][TL_BATCH_WAYS]; /* where the next segment of a class goes */
};

/* A strip: `count` sequences from s on, of least to most elements; `to` is the staging place of the
 * first. */
typedef struct {
    const tl_segment *s;
    int64_t count, least, most, to;
} tl_strip;

/* Brings the elements of the batch to b->x and says where its results go, b->y; brings them to
 * their places. */
void tl_batch_load(tl_lanes_batch *b);
void tl_batch_store(tl_lanes_batch *b);

/* Stages the states of a batch in its order, or scans it, except for the last sequences, which are
 * left to the next batch: kernels read, and write, up to `longest` elements and a vector past the
 * end of a sequence. Returns 0 if that leaves none. */
int tl_batch_as_given(tl_lanes_batch *b, const int64_t *offset, int64_t longest);

/* Lanes of a strip of sequences of n elements: so many that it fits the first-level cache. */
int64_t tl_batch_lanes(int64_t n);

/* Computes a strip of segments. next: see tl_transpose. */
void tl_batch_strip(tl_lanes_batch *b, tl_strip strip, tl_prefetch next);

/* Processes rows r0 .. r1 - 1, which have one length. */
void tl_batch_rows(tl_lanes_batch *b, int64_t r0, int64_t r1);

/* ---- lanes_strips.c: strips of neighbouring columns ---- */

enum {
    TL_STRIP_KEYS = 4096,    /* most bytes of a strip of narrow elements */
    TL_BLOCK_LEVEL_LEAST = 8 /* a block of rows has at least 2^8 rows */
};

/* The columns of one call. */
typedef struct {
    const tl_lanes_job *job;
    int64_t strip, strips; /* columns of a strip, the last may have fewer; number of strips */
    int64_t group;         /* strips of a task, the last may have fewer */
    int64_t centres;       /* of a part of windows */
    int64_t tasks;         /* about so many in all; 0: one for each part */
    const struct tl_narrow *narrow; /* the kernels, if elements are not widened; else NULL */
    int stream, prefetch;
    int adjacent; /* columns of elements, and those of results */
    /* Kernels may read elements beyond the last column of a strip: they are of other columns or of
     * the next row, and no thread writes there. */
    int overread;
    /* 0, or strips store whole cache lines: then a strip also computes so many columns of the next
     * one. */
    int64_t lines;
} tl_columns;

/* The nodes of `count` blocks of `size` rows, for all columns: node j of all columns before node
 * j + 1. The nodes of the rows after the last block follow. */
typedef struct {
    int64_t size, count, pieces;
    const unsigned char *levels; /* of all pieces */
    unsigned char *nodes;
} tl_row_blocks;

/* Cuts the rows. The caller frees nodes; NULL: out of memory. */
tl_row_blocks tl_columns_cut(const tl_lanes_job *job, int threads);

/* Writes the results of all columns from the nodes of a reduction. */
void tl_columns_join(const tl_lanes_job *job, const tl_row_blocks *b, int threads);

/* Computes in each strip: all rows, or those of a block of a scan; the nodes of a block; windows;
 * those that are not full; full windows of narrow elements. */
typedef enum {
    TL_STRIP_ROWS,
    TL_STRIP_NODES,
    TL_STRIP_WINDOWS,
    TL_STRIP_ENDS,
    TL_STRIP_KEY_WINDOWS
} tl_strip_task;

/* Runs a task for each share of the parts of each group of strips. Returns 0: out of memory. */
int tl_columns_run(tally *ctx, const tl_columns *c, const tl_row_blocks *b, int threads,
                   tl_strip_task task, int64_t parts);

/* The number of full windows of a column. The first begins at row 0. */
static inline int64_t tl_lanes_full_windows(const tl_lanes_job *job)
{
    return job->in->n - job->after - job->before;
}

/* Are lanes faster for these rows or segments? */
int tl_lanes_take_rows(const tl_lanes_job *job);

/* Are the sequences neighbouring columns? */
int tl_are_columns(const tally_view *in);
tally_status tl_lanes_columns(tally *ctx, const tl_lanes_job *job, int threads);

/* Writes to states the nodes of every sequence of a reduction. Node k has level of->level[k]; the
 * first one begins at element 0. Node after node, the state of each sequence. Returns 0: out of
 * memory. Requires: sequences of one length, an operator that reads no index. */
int tl_lanes_nodes(tally *ctx, const tl_lanes_job *job, int threads, const tl_slab *of,
                   unsigned char *states);

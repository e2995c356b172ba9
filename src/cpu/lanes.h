/* SPDX-License-Identifier: MIT
 * Many sequences at once, lanes as sequences (kernel/lanes_kernel.h), for every verb:
 *
 *   columns                   where they lie, in strips of neighbouring columns (lanes_columns.c)
 *   short rows and segments   those of about the same length are transposed into a strip, and
 *                             its results back (lanes_rows.c)
 *
 * A lane follows the law by itself, so it does not matter which sequences are beside each other. */
#ifndef TALLY_LANES_H
#define TALLY_LANES_H
#include "shape.h"
#include "context/device.h"
#include "context/threads.h"

enum {
    TL_LANES_LONG = 1024,  /* longer rows and segments go one by one; so do */
    TL_LANES_STRIP = 448,  /* the widest strip */
    TL_LANES_FEW = 8,      /* fewer rows than this, and windows that */
    TL_LANES_WINDOW = 128, /* are longer, or reach further to the right than */
    TL_LANES_AFTER = 64
};

/* A call of a verb. out: of scan and window. */
typedef struct tl_lanes_job {
    const tl_plan *plan;
    int verb;
    const tally_view *in, *out;
    char *results;                   /* reduce */
    int exclusive, reverse, seeded;  /* scan */
    tl_state init;                   /* as the kernels have it */
    int64_t before, after, w, least; /* window; shorter ones than `least` are empty */
    int valid;
} tl_lanes_job;

void tl_lanes_begin(tl_lanes_job *job, const tl_plan *plan, const tally_view *in);
void tl_lanes_of_scan(tl_lanes_job *job, const tally_view *out, const tally_scan_options *o);
/* 0: these windows are not for lanes. */
int tl_lanes_of_window(tl_lanes_job *job, const tally_view *out, const tally_window_options *o);

/* ---- strips: what lanes.c does and the other two files use ---- */

/* Where the elements of a strip are. */
typedef struct tl_lanes_from {
    const char *x;
    int64_t step;  /* elements from a row to the next */
    int64_t width; /* lanes; direct: a multiple of the kernels' */
    /* the kernels may read them there; else they are the caller's columns, col_step apart */
    int direct;
    int64_t col_step;
    int64_t ahead; /* rows from those under way to those to prefetch; 0: none */
} tl_lanes_from;

/* Where its results go: into sequences (n[c] results to q[c]; where q is NULL all of them to out
 * + c * pitch bytes), or into columns. */
typedef struct tl_lanes_to {
    char *const *q;
    const int64_t *n;
    char *out;
    int64_t pitch;          /* 0: columns */
    int64_t step, col_step; /* results */
    int direct, stream;     /* lower may write there, past the caches */
} tl_lanes_to;

/* One thread's memory. */
typedef struct tl_lanes_room {
    const tl_lanes_job *job;
    tl_lanes k;
    int64_t elem, result; /* bytes of an element and of a result of the kernels */
    int lanes;            /* of a vector */
    int seeded;           /* the vectors that S(0) was put into */
    int64_t most;         /* lanes of a strip, with padding */
    char *soa, *t, *r, *narrow, *empty;
} tl_lanes_room;

/* For strips of up to `width` lanes, of sequences of up to `longest` elements. room->t then has
 * space for `transposed` elements, or more. The memory is the context's, for thread number `me`.
 * 0: out of memory. */
int tl_lanes_open(tl_lanes_room *room, tally *ctx, int me, const tl_lanes_job *job, int64_t width,
                  int64_t longest, int64_t transposed);

/* S(n) of each lane, as soa[to + lane]; ends as in tl_lanes. */
void tl_lanes_fold(tl_lanes_room *room, const tl_lanes_from *from, int64_t n, const int32_t *ends,
                   int64_t to);
/* The same in parts: rows at .. at + n - 1, of which from->x is the first, after those that room->k.carry has. at is a
 * multiple of 8, and n too but for the last part, which stages S(at + n). */
void tl_lanes_feed(tl_lanes_room *room, const tl_lanes_from *from, int64_t at, int64_t n,
                   const int32_t *ends, int64_t to, int last);
/* Rows at .. at + n - 1 of a scan; at > 0: carry has what is before them. total: the rows of the
 * whole sequence. from and to begin with row `first`, which is 0 in reverse. */
void tl_lanes_scan(tl_lanes_room *room, const tl_lanes_from *from, const tl_lanes_to *to,
                   int64_t first, int64_t at, int64_t n, int64_t total);
/* The windows with the centres i0 .. i1 - 1. */
void tl_lanes_window(tl_lanes_room *room, const tl_lanes_from *from, const tl_lanes_to *to,
                     int64_t n, int64_t i0, int64_t i1);

/* ---- rows, segments and columns ---- */

/* A sequence that goes alone. */
typedef void tl_lanes_one(void *with, int64_t r);
typedef struct tl_lanes_batch tl_lanes_batch;
/* Thread me's, in the context's memory (call tl_scratch_begin before); NULL: out of memory. */
tl_lanes_batch *tl_lanes_batch_open(tally *ctx, int me, const tl_lanes_job *job);
/* The sequences r0 .. r1 - 1 of a view of rows or segments. */
void tl_lanes_rows(tl_lanes_batch *batch, int64_t r0, int64_t r1, tl_lanes_one *one, void *with);
/* A member's shares of all sequences; the numbers that are dealt are those of shares. batch
   NULL: one by one. */
void tl_lanes_deal(tl_lanes_batch *batch, const tally_view *in, const tl_worker *worker,
                   tl_lanes_one *one, void *with);

/* Are these rows or segments worth it? */
int tl_lanes_take_rows(const tl_lanes_job *job);
/* Are these neighbouring columns? */
int tl_lanes_take_columns(const tally_view *in);
tally_status tl_lanes_columns(tally *ctx, const tl_lanes_job *job, int threads);
#endif

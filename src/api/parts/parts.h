/* SPDX-License-Identifier: MIT
 * Data in parts: fragments and streams. */
#pragma once

#include "api/calls.h"
#include "cpu/grid/grid.h"
#include "law/counter.h"

/* ---- fragments ----
 *
 * A fragment: partial reductions of one sequence or many (law/counter.h), and their operator. */

/* characters of an operator with its parameter, and the terminating 0 */
enum { TL_FRAGMENT_NAME = 40 };

struct tally_fragment {
    tally *ctx;
    tl_plan plan;
    char op[TL_FRAGMENT_NAME];
    tally_dtype dtype;
    int64_t start, rows; /* start: where a fragment without elements begins; rows: sequences */
    tl_slabs slabs;

    /* Exact operators and sum:checked: the sums of each row, of which one array is not NULL. Then
     * the slabs have the ranges, and nothing else. */
    tl_exact *exact;
    tl_total *totals;
    int64_t sums;     /* of all rows */
    size_t sum_bytes; /* of each in the byte string; 0: the slabs have states */
};

/* The operator of the nodes of f. */
const tl_scalar *tl_fragment_nodes(const tally_fragment *f);

/* Makes a fragment without elements. */
tally_status tl_fragment_new(tally *ctx, const char *op, tally_dtype dtype, int64_t start,
                             int64_t rows, tally_fragment **fragment);

/* Checks that f has all elements from 0 to its end. */
tally_status tl_fragment_whole(tally *ctx, const tally_fragment *f);

/* Writes the result of each row: of slabs without gaps from 0 on, or of exact sums. */
typedef struct {
    const tl_slabs *slabs;
    const tl_exact *exact; /* NULL: the slabs have the states */
    const tl_plan *plan;
    char *out;
} tl_lowering;

void tl_rows_lower(tl_lowering *job, int threads, int64_t rows);

/* For tl_slabs_join. */
tl_share_rows tl_share_slabs;

/* ---- streams ----
 *
 * A stream (stream_open.c, stream.c): of one sequence, of many or of groups. */

struct tally_stream {
    tally *ctx;
    tl_device *device;
    tl_verb verb;
    int finished, broken; /* broken: a push failed after it had changed the stream */
    tl_plan plan, count_plan;
    tl_scan scan;    /* also the counter of reduce */
    tl_exact *exact; /* used instead if plan.exact is set: the sums of each sequence */
    tally_window_options window;
    int64_t kept;           /* w - 1 */
    int64_t pushed;         /* elements of each sequence */
    struct tl_steps *steps; /* of windows (stream_window.c); else NULL */
    int64_t given;          /* results of each sequence so far */
    int started;            /* windows: a view was pushed; then results are given once known */
    int seeded;             /* init is the initial value of a scan */
    char init[16];
    int many;     /* 1: a stream of many sequences */
    int64_t rows; /* number of sequences */

    /* The state of many sequences is in the grid, or if that is NULL in `slabs`, at most one slab:
     * kernels cannot take the steps in place without the numbers of elements (cpu/inputs/inputs.h),
     * the steps do not end a block, or the operator has two inputs. */
    tl_grid *grid;
    tl_slabs slabs;

    /* on_device: the grid is in device memory; place: decided by the first push */
    int on_device;
    enum { TL_NOWHERE, TL_ON_HOST, TL_ON_DEVICE } place;

    /* the grid combines marked elements from the first step on, by the form in `mark`
     * (context/device.h) */
    int marked;
    tl_feed mark;
    int is_checked;   /* sum:checked */
    tl_total *totals; /* of each sequence or group, but for windows; nothing else is kept */
    struct tl_counters *groups; /* NULL, or the reductions of a stream of groups */
};

/* Checks that a fragment is of the stream's operator and dtype. */
tally_status tl_stream_same(const tally_stream *s, const tally_fragment *f, const char *name);

/* Pushes a checked and normal view of memory of any kind, which may be changed, in the device's
 * grid or by the processors. next: in->next. */
tally_status tl_stream_push_checked(tally_stream *s, tally_view *in, tally_view *next,
                                    tally_view *out);

/* Writes the results of a reduction of many sequences to memory of any kind. */
tally_status tl_stream_lower_rows(tally_stream *s, void *out);

/* Starts a stream of many sequences from the slabs of a fragment. */
tally_status tl_stream_start(tally_stream *s, const tl_slabs *slabs);

/* Windows. tl_steps_open opens s->steps. tl_steps_known: the number of results of each sequence
 * that are known after n more elements (n = -1: after the last) and were not given yet. A push has
 * an `out` with as many, or with none, which then come later. A push that fails breaks the
 * stream. */
tally_status tl_steps_open(tally_stream *s);
int64_t tl_steps_known(const tally_stream *s, int64_t n);
tally_status tl_steps_push(tally_stream *s, const tally_view *in, const tally_view *out);
tally_status tl_steps_finish(tally_stream *s, const tally_view *out);
void tl_steps_close(struct tl_steps *steps);

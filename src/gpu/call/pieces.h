/* SPDX-License-Identifier: MIT
 * Work in pieces: a view is cut into rectangles of sequences and elements, and each rectangle is
 * moved by three lanes.
 *
 *   host memory   TL_IN                TL_RUN              TL_OUT               host memory
 *   caller's ---> page-locked --copy-> device --kernels-> device --copy-> page-locked ---> caller's
 *        threads  4 blocks             3 buffers          3 buffers       4 blocks    threads
 *
 * While the threads fill blocks with piece j, kernels run on piece j - 1, and the results of piece
 * j - 2 go to the caller:
 *
 *   time  -->        |             |             |             |
 *   elements in      |      j      |    j + 1    |    j + 2    |
 *   kernels          |    j - 1    |      j      |    j + 1    |
 *   results out      |    j - 2    |    j - 1    |      j      | */
#pragma once

#include "gpu/work.h"
#include "law/counter.h"

enum { TL_RING = 3 }; /* buffers on the device, for each direction */

/* Numbers of events. [N]: N events from this number on. */
enum {
    /* [TL_STAGES] a page-locked block has been copied to the device */
    TL_STAGED_IN = 0,
    /* [TL_STAGES] results have been copied to a page-locked block */
    TL_STAGED_OUT = TL_STAGED_IN + TL_STAGES,
    TL_LOADED = TL_STAGED_OUT + TL_STAGES, /* [TL_RING] a buffer holds its piece */
    TL_DONE = TL_LOADED + TL_RING,         /* [TL_RING] the kernels of a piece are done */

    /* [TL_RING] the results of a piece have left the device */
    TL_STORED = TL_DONE + TL_RING,
    TL_NODES = TL_STORED + TL_RING, /* [TL_RING] the nodes of a piece are on the host */
    TL_START = TL_NODES + TL_RING   /* the work that the lane had before */
};

_Static_assert((int)TL_START < (int)TL_MEASURED, "events have numbers of their own");

/* Elements i0 to i1 - 1 of sequences r0 to r1 - 1 (with offsets: all their elements). */
typedef struct {
    int64_t r0, r1, i0, i1;
} tl_rect;

/* One piece. out: the results that are kept; produced: the results that the kernels compute, which
 * are more for windows at an edge. */
typedef struct {
    tl_rect in, out, produced;
} tl_pipe_piece;

/* The input or the output of a pipeline. */
typedef struct {
    tally_view view;
    int64_t bytes; /* of an element */
    int64_t most;  /* elements of the largest piece */
    int here;      /* device memory, used in place */
    int straight;  /* page-locked and dense: copied without blocks */
    int across;    /* sequences of a piece are interleaved on the device (columns) */
    tl_memory buffer[TL_RING];
} tl_side;

typedef struct tl_pipe tl_pipe;

struct tl_pipe {
    tl_gpu_device *d;
    tl_side in, out;

    /* Sets the next piece; returns 0 if there is none. */
    int (*next)(tl_pipe *, tl_pipe_piece *);
    /* Issues the kernels of a piece to TL_RUN. in, out: the piece on the device. slot: the piece's
     * number modulo TL_RING. */
    tally_status (*work)(tl_pipe *, const tl_pipe_piece *, const tally_view *in,
                         const tally_view *out, int slot);
    int wrote; /* results have been written to the caller's host memory */
};

/* ---- stage.c ---- */

/* The two sides of a pipeline, and where their memory is. in_bytes, out_bytes: of an element and of
 * a result. */
void tl_pipe_open(tl_pipe *p, tl_gpu_device *d, const tally_view *in, int64_t in_bytes,
                  const tally_view *out, int64_t out_bytes);

/* Runs all pieces and waits for all work, also after a failure. Then no work is in flight, and all
 * buffers are freed. */
tally_status tl_pipe_run(tl_pipe *p);

/* Bytes that a piece may take on the device. */
int64_t tl_pipe_budget(tl_gpu_device *d);

/* True if a call that failed with `status` can be tried again; then *budget is halved. */
int tl_pipe_again(tally_status status, const tl_pipe *p, int64_t *budget);

/* Ensures that *m is page-locked memory of at least `bytes` bytes; the contents are lost. */
tally_status tl_stage_reserve(tl_gpu_device *d, tl_memory *m, size_t bytes);

/* ---- along.c ---- */

/* The nodes of a piece. states: memory for them on the device, packed; for each node, the states of
 * all sequences. */
typedef struct {
    tl_memory states;
    int count;
    unsigned char level[TL_MAX_NODES];
} tl_nodes;

/* Pieces along sequences without offsets; several ones are neighbours. budget: bytes of a piece on
 * the device. */
typedef struct {
    tl_pipe pipe;
    const tl_plan *plan, *count;
    int64_t budget, width; /* width: number of sequences */

    /* step: elements (windows: centres) of a piece; at: start of the next piece; end: end of all
     * pieces; n: elements */
    int64_t step, at, end, n;

    /* of reduce and scan */
    int scan, exclusive, keep; /* keep: the counters must include the whole sequence at the end */
    int64_t base;              /* index of element 0 in the whole sequence */
    const tl_state *init;      /* NULL, or the initial state */
    tl_counter *counters;      /* one for each sequence */
    size_t nodes_bytes;        /* bytes for the nodes of a slot in d->small */
    int64_t pieces;            /* pieces issued so far */
    tl_nodes nodes[TL_RING];   /* nodes of a slot that are not pushed to the counters yet */
    int64_t end_of[TL_RING];   /* where the piece of a slot ends */
    char *ends;                /* results at the ends of pieces, in order (put_ends) */
    int64_t end_count, end_bytes;

    /* NULL, or the nodes of the one sequence, which is in device memory; the next one of them, and
     * the index of its first element */
    const tl_counter *nodes_known;
    int known_next;
    int64_t known_end;

    /* of windows */
    const tally_window_options *window;
    int shrunk;    /* memory is scarce: a piece may be shorter than the overlap */
    int64_t first; /* centre of result 0 */
} tl_sequences;

/* Pushes the nodes of in's elements to a->counters; with a->scan it also writes the scan to out. */
tally_status tl_sequences_fold(tl_sequences *a, tl_gpu_device *d, const tally_view *in,
                               const tally_view *out);

/* Computes the windows of in's sequences. */
tally_status tl_sequences_window(tl_sequences *a, tl_gpu_device *d, const tally_view *in,
                                 const tally_view *out);

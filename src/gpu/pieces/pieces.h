/* SPDX-License-Identifier: MIT
 * Work in pieces: a view is cut into rectangles of sequences and elements, and each rectangle
 * goes through three lanes.
 *
 *   host memory            TL_IN                  TL_RUN               TL_OUT                host memory
 *   caller's --threads--> page-locked --copy--> device --kernels--> device --copy--> page-locked --threads--> caller's
 *                         4 blocks              3 buffers           3 buffers        4 blocks
 *
 * While the threads fill blocks with piece j, kernels run on piece j - 1, and the results of
 * piece j - 2 go to the caller:
 *
 *   time  -->        |             |             |             |
 *   elements in      |      j      |    j + 1    |    j + 2    |
 *   kernels          |    j - 1    |      j      |    j + 1    |
 *   results out      |    j - 2    |    j - 1    |      j      |
 *
 * A file sees those below it:
 *
 *   inputs.c   verbs on views with validity, or of two inputs
 *   verbs.c    a verb: in one piece or in several  push.c     streams and fragments
 *   segments.c a verb on segments whose offsets are on the device
 *   pieces.c   views cut into rows that fit
 *   here.c     slabs in device memory
 *   along.c    sequences that do not fit, cut along
 *   stage.c    pieces moved through the lanes      budget.c   whether, and how large
 *   carry.c    what the threads copy for them      the shapes, on views that fit (work.h) */
#ifndef TALLY_GPU_PIECES_H
#define TALLY_GPU_PIECES_H
#include "gpu/work.h"
#include "law/counter.h"

/* A call of a verb. */
typedef struct tl_call {
    tl_verb verb;
    const tl_plan *plan, *count; /* count: of a window's elements that count (device.h) */
    const tally_view *in, *out;  /* out of a reduce: rows of one result */
    /* or NULL; forward: a reversed one comes as views that walk backwards */
    const tally_scan_options *scan;
    const tally_window_options *window; /* of TL_WINDOW */
} tl_call;

enum { TL_RING = 3 }; /* buffers on the device, for each direction */

/* Events, by number. */
enum {
    /* [TL_STAGES] a block of page-locked memory was read */
    TL_STAGED_IN = 0,
    TL_STAGED_OUT = TL_STAGED_IN + TL_STAGES, /* [TL_STAGES] one was written */
    TL_LOADED = TL_STAGED_OUT + TL_STAGES,    /* [TL_RING] a buffer holds its piece */
    TL_DONE = TL_LOADED + TL_RING,            /* [TL_RING] its kernels are done */
    TL_STORED = TL_DONE + TL_RING,            /* [TL_RING] its results have left */
    TL_NODES = TL_STORED + TL_RING,           /* [TL_RING] its nodes are on the host */
    TL_START = TL_NODES + TL_RING,            /* what the lane had before */
    TL_MEASURED                               /* offsets of segments */
};

/* Sequences r0 .. r1 - 1, elements i0 .. i1 - 1 of each (with offsets: all their elements). */
typedef struct tl_rect {
    int64_t r0, r1, i0, i1;
} tl_rect;

/* One piece. out: the results that are kept; made: those that the kernels compute (windows at an
   edge: more). */
typedef struct tl_part {
    tl_rect in, out, made;
} tl_part;

/* The input or the output. */
typedef struct tl_side {
    tally_view view;
    int64_t bytes; /* of an element */
    int64_t most;  /* elements of the largest piece */
    int here;      /* memory of the device: used in place */
    int straight;  /* page-locked and without gaps: copied directly */
    int across;    /* a piece's sequences lie side by side on the device (columns) */
    tl_memory buffer[TL_RING];
} tl_side;

typedef struct tl_pipe tl_pipe;
struct tl_pipe {
    tl_gpu_device *d;
    tally *ctx;
    tl_side in, out;
    /* The next piece; 0: there is none. */
    int (*next)(tl_pipe *, tl_part *);
    /* Issues a piece's kernels to TL_RUN. in, out: the piece on the device. slot: number of the
     * piece modulo TL_RING.
     */
    tally_status (*work)(tl_pipe *, const tl_part *, const tally_view *in, const tally_view *out,
                         int slot);
    int wrote; /* results have reached the caller's host memory */
};

/* ---- verbs.c ---- */

/* A call, in one piece or in several; between enter and leave. */
tally_status tl_call_run(tl_gpu_device *d, tally *ctx, const tl_call *call);
/* The sequences read from their ends: the same elements with the opposite stride. No offsets. */
tally_view tl_view_reversed(const tally_view *v, int64_t bytes);

/* ---- stage.c ---- */

/* Sets up a side: where the memory is. output: elements are results of `bytes` bytes. */
void tl_side_open(tl_gpu_device *d, tl_side *s, const tally_view *v, int64_t bytes);
/* Runs all pieces and waits for all work, also after a failure. Then no work is left, and all
   memory is given back. */
tally_status tl_pipe_run(tl_pipe *p);
/* Page-locked memory of at least `bytes` bytes, in place of *m. */
tally_status tl_stage_room(tl_gpu_device *d, tally *ctx, tl_memory *m, size_t bytes);

/* ---- carry.c: the threads' part ---- */

/* Elements of a rectangle; where its (r0, i0) lies in the caller's memory. */
int64_t tl_side_count(const tl_side *s, const tl_rect *r);
char *tl_side_corner(const tl_side *s, const tl_rect *r);
/* A part of a rectangle in the order of its copy on the device, elements e0 .. e1 - 1, and the
 * block it goes to or comes from; e0 = e1: nothing. */
typedef struct tl_haul {
    const tl_side *side;
    tl_rect rect;
    int64_t e0, e1;
    char *block;
    enum { TL_TO_BLOCK, TL_FROM_BLOCK } way;
} tl_haul;

/* Copies both, in and out, with all threads. */
void tl_carry(int threads, const tl_haul *in, const tl_haul *out);

/* ---- along.c ---- */

/* Pieces along sequences that are too long for the device: in's sequences (no offsets),
 * neighbours if there are several. budget: bytes of a piece on the device. */
typedef struct tl_along {
    tl_pipe pipe;
    const tl_plan *plan, *count;
    int64_t budget, width; /* width: sequences */
    /* elements (windows: centres) per piece; next; end of them; elements */
    int64_t step, at, end, n;
    /* reduce, scan */
    int scan, exclusive, keep; /* keep: the counters must hold the whole sequence at the end */
    int64_t base;              /* index of element 0 in the whole sequence, a multiple of step */
    const tl_state *init;      /* NULL, or the state that comes first */
    tl_counter *counters;      /* of each sequence */
    tl_memory states[TL_RING];
    size_t nodes_room;  /* bytes of a slot's nodes in d->small */
    int64_t pieces;     /* so far */
    int nodes[TL_RING]; /* of a slot, not yet pushed */
    unsigned char level[TL_RING][TL_MAX_LEVELS];
    int64_t end_of[TL_RING]; /* where a slot's piece ends */
    char *ends;              /* results at the ends of pieces, in order (put_ends) */
    int64_t end_count;
    /* window */
    const tally_window_options *window;
    int at_start, at_end;
    int shrunk;    /* memory is scarce: pieces may be smaller than their overlap */
    int64_t first; /* the centre of result 0 */
} tl_along;

/* How many elements a piece may have: the largest power of two whose piece fits the budget, at
   least 1. */
int64_t tl_along_step(const tl_plan *plan, int64_t budget, int64_t width);
/* Issues what makes the nodes of in's elements, the first of which has the index `at`: count of
 * them, of these levels, packed in `states`, those of all sequences one after the other. */
tally_status tl_along_nodes(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                            int64_t at, const tl_memory *states, unsigned char *level, int *count);
/* Pushes the nodes of in's elements to a->counters, and with a->scan writes the scan to out. */
tally_status tl_along_fold(tl_along *a, tl_gpu_device *d, tally *ctx, const tally_view *in,
                           const tally_view *out);
/* The windows of in's sequences. *made: results of each. */
tally_status tl_along_window(tl_along *a, tl_gpu_device *d, tally *ctx, const tally_view *in,
                             const tally_view *out, int64_t *made);

/* ---- here.c; between enter and leave ---- */

/* A slab that is in the device's memory. Nodes of its n elements, pushed to *c; and the scan of
 * them, which reads the elements twice if s->ahead is NULL. */
tally_status tl_here_fold(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const void *x,
                          int64_t n, tl_counter *c);
tally_status tl_here_scan(tl_gpu_device *d, tally *ctx, tl_scan *s, const void *x, int64_t n,
                          void *out);

/* ---- pieces.c; between enter and leave ---- */

/* A call on these views, in one piece: its own views, or some rows of them. */
tally_status tl_call_whole(tl_gpu_device *d, tally *ctx, const tl_call *call, const tl_piece *piece,
                           const tally_view *in, const tally_view *out);
/* The same in pieces. */
tally_status tl_pieces_run(tl_gpu_device *d, tally *ctx, const tl_call *call);

/* ---- budget.c ---- */

/* Should this call be done in pieces? */
int tl_pieces_wanted(tl_gpu_device *d, const tl_call *call);
/* Is any of its memory on the host? Then pieces may help where the device's memory did not
   suffice. */
int tl_pieces_possible(tl_gpu_device *d, const tl_call *call);
/* The processors join the pieces of one sequence. For a user's operator: can a compiler make its
   functions? */
int tl_pieces_can(tl_gpu_device *d, tally *ctx, const tl_call *call);
/* From this many bytes of host memory on, a call is done in pieces. */
int64_t tl_pieces_least(const tl_gpu_device *d);
/* Bytes that a piece may take on the device. */
int64_t tl_pieces_budget(tl_gpu_device *d);
/* Can a call that failed so be tried again with half the budget? */
int tl_pieces_again(tally_status status, const tl_pipe *p, int64_t *budget);
#endif

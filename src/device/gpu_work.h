/* SPDX-License-Identifier: MIT
 * What the files of the GPU devices share: the opened device, launches, views and results on the device.
 *
 *   gpu.c          open, the pool of device memory, programs, launches
 *   gpu_batch.c    views brought to the device, results brought back
 *   gpu_shapes.c   reduce, scan       gpu_window.c    windows
 *   gpu_segments.c segments whose offsets are on the device
 *   gpu_pieces.c   host arrays too large to be copied as a whole       gpu_push.c     streams and fragments
 *   gpu_clock.c    times */
#ifndef TALLY_GPU_WORK_H
#define TALLY_GPU_WORK_H
#include "gpu.h"
#include "../view.h"

enum {
    TL_GPU_CHUNK = 1024, /* elements of a level 1 node, as in shape/gpu/batch.cl */
    TL_GPU_LEVELS = 8,   /* 2^62 elements have 7 */
    TL_GPU_POOL = 32,    /* freed blocks kept */
    TL_GPU_PROGRAMS = 1024,
    TL_GPU_ARGUMENTS = 40
};

typedef struct {
    const tl_scalar *op;
    const char *shape, *kernel; /* kernel: NULL for all of the shape */
    tl_program *program;
} tl_built;

/* While gpu_pieces.c calls the shapes for a piece of a sequence: what lies before the piece. */
typedef struct {
    int on;              /* results and errors are waited for by the caller */
    int64_t origin;      /* index of the piece's first element in its sequence */
    int states;          /* reduce: results are states as the host has them (packed), not values */
    const void *before;  /* scan: NULL, or the state before the piece, packed, one for each sequence, page-locked */
} tl_piece_of;

/* What is measured (gpu_clock.c). */
typedef struct {
    int on, ready;    /* ready: a span has begun */
    int first, count; /* spans under way, in the ring of TL_CLOCKS */
    unsigned char kind[TL_CLOCKS];
    tally_times_info sum;
} tl_clock;
enum { TL_TIME_KERNELS, TL_TIME_TO, TL_TIME_FROM };

enum { TL_STAGES = 4 }; /* blocks of page-locked memory for each direction */

typedef struct {
    tl_device base;
    tl_gpu *gpu;
    tl_device *cpu; /* for what is not done on the GPU */
    char name[32];
    int host;   /* this call's host memory may still be read: wait before returning */
    int stream; /* the caller's stream: calls without host memory do not wait */
    tl_memory pool[TL_GPU_POOL], ticket;
    size_t limit, held; /* bytes of device memory: option memory=SIZE (0: none); allocated, the pool's included */
    tl_piece_of piece;
    tl_memory stage[2 * TL_STAGES], small; /* gpu_stage.c, gpu_along.c: page-locked, kept until close */
    tl_clock clock;
    int64_t launches, on_processors; /* since tally_time: kernels started; elements that the processors took */
    tl_built later; /* of the call under way: an operator whose kernels are built one by one */
    struct { /* what scan_once keeps from call to call: a counter and words (shape/gpu/scan_once.cl) */
        tl_memory memory;
        int64_t words, taken, epoch;
    } board;
    tl_built programs[TL_GPU_PROGRAMS];
    int program_count;
} tl_gpu_device;

static inline tl_gpu_device *tl_gpu_of(tl_device *d) { return (tl_gpu_device *)d; }

/* A block of at least `bytes` from the pool, or a new one; give puts it back (bytes 0: nothing to give). */
tally_status tl_gpu_take(tl_gpu_device *d, tally *ctx, size_t bytes, tl_memory *memory);
void tl_gpu_give(tl_gpu_device *d, tl_memory *memory);
/* Releases the pool. */
void tl_gpu_empty_pool(tl_gpu_device *d);
/* A block with a copy of host data. */
tally_status tl_gpu_upload(tl_gpu_device *d, tally *ctx, const void *data, size_t bytes, tl_memory *to);
/* The program of an operator's shape ("reduce", "scan", "window", "window_long": static text), built at first use. NULL: tl_go builds
 * each kernel at its first launch. */
tally_status tl_gpu_program(tl_gpu_device *d, tally *ctx, const tl_scalar *op, const char *shape, tl_program **program);

/* TALLY_UNSUPPORTED if p is memory of the device, where the processors do the work (p may be NULL). */
tally_status tl_gpu_host_only(tl_gpu_device *d, tally *ctx, const void *p, const char *name, const char *what);

/* A launch in the making: arguments are appended in the order of the kernel's parameters. */
typedef struct {
    tl_gpu_device *d;
    tally *ctx;
    tl_program *program;
    tl_argument args[TL_GPU_ARGUMENTS];
    int count;
} tl_launch;
void tl_put(tl_launch *l, int64_t v);
void tl_put_real(tl_launch *l, double v);
void tl_put_memory(tl_launch *l, const tl_memory *m);
void tl_put_room(tl_launch *l, int64_t bytes);
/* jobs: warps (threads 0) or groups of `threads`. */
tally_status tl_go(tl_launch *l, const char *kernel, int64_t jobs, int threads);
/* The same with the number of groups that the API's launch takes (gpu.h). */
tally_status tl_go_groups(tl_launch *l, const char *kernel, int64_t groups, int threads);

/* Full nodes of a level in a sequence of n elements (level_count of shape/gpu/batch.cl). */
static inline int64_t tl_level_count(int64_t n, int level) { return level ? n >> (2 + 8 * level) : n; }

/* A view on the device, as the kernels take it (shape/gpu/batch.cl). */
typedef struct {
    const tl_plan *plan;
    tl_memory x;
    int owned; /* x is ours to give back */
    int64_t origin; /* index of each sequence's first element here */
    int states;     /* reduce: results are states */
    int64_t x_byte, row_stride, stride, n, rows;
    const int64_t *host_offsets; /* NULL: none, or they are on the device (gpu_segments.c) */
    int listed;                  /* sequences have offsets */
    tl_memory offsets, ids, first;
    /* long sequences: all rows, or those that ids chooses */
    int64_t longs, longest, counts[TL_GPU_LEVELS + 1]; /* sequences; elements of the longest; nodes of each level */
    int shorts;                                        /* are there any? */
    int levels;
} tl_batch;
tally_status tl_batch_open(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in, tl_batch *b);
/* Its elements alone: those between `low` and `high` bytes from in->data. */
tally_status tl_batch_data(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in, int64_t low,
                           int64_t high, tl_batch *b);
void tl_batch_close(tl_gpu_device *d, tl_batch *b);
/* The parameters every kernel begins with. chosen: only the long sequences. */
void tl_begin(tl_launch *l, tl_gpu_device *d, tally *ctx, const tl_batch *b, tl_program *program, int chosen);

/* Where results go: device memory of the caller's, or a dense copy that comes to the host at the end. */
typedef struct {
    const tally_view *view;
    tl_memory y;
    int owned;
    int64_t byte, row_stride, stride; /* on the device */
    int64_t low, high;                /* owned: the bytes of the dense copy, relative to its element 0 */
} tl_results;
tally_status tl_results_open(tl_gpu_device *d, tally *ctx, const tally_view *out, int64_t bytes, tl_results *r);
/* Waits, and brings what is ours to the host. */
tally_status tl_results_close(tl_gpu_device *d, tally *ctx, tl_results *r, int64_t bytes, tally_status status);
void tl_put_results(tl_launch *l, const tl_results *r);

/* ---- gpu_clock.c: spans of a lane, measured if asked for ---- */

double tl_seconds(void);
void tl_clock_begin(tl_gpu_device *d, tally *ctx, int lane);
/* Ends the span. bytes: what it copied. */
void tl_clock_end(tl_gpu_device *d, tally *ctx, int lane, int kind, size_t bytes);
/* Forgets the spans under way. */
void tl_clock_drop(tl_gpu_device *d);

/* ---- pieces: host arrays that are copied while kernels run, of any size ---- */

/* Is this call one for pieces? in, out: views (out of a reduce: rows of one result). */
int tl_pieces_wanted(tl_gpu_device *d, const tally_view *in, int64_t in_bytes, const tally_view *out, int64_t out_bytes);
/* Is either of them host memory, so that pieces may help where the device's memory did not suffice? */
int tl_pieces_possible(tl_gpu_device *d, const tally_view *in, int64_t in_bytes, const tally_view *out, int64_t out_bytes);
/* Pieces of one sequence meet on the processors: for a user's operator, does a compiler make its functions? */
int tl_pieces_can(tl_gpu_device *d, tally *ctx, const tl_plan *plan);
/* The verbs by pieces. Scans: forward (reversed ones come as views that walk backwards). Between enter and leave. */
tally_status tl_pieces_reduce(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                              const tally_view *out);
tally_status tl_pieces_scan(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                            const tally_view *out, const tally_scan_options *o);
tally_status tl_pieces_window(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_plan *count,
                              const tally_view *in, const tally_view *out, const tally_window_options *o);

/* The shapes themselves, on views that fit the device. Between enter and leave. */
tally_status tl_gpu_reduce_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                                 const tally_view *out);
/* The rest of it, once the batch is open, or not (status): then what was begun is waited for. in: for its layout alone. */
tally_status tl_gpu_reduce_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b, const tally_view *in,
                                 const tally_view *out, tally_status status);
tally_status tl_gpu_scan_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tally_view *in,
                               const tally_view *out, const tally_scan_options *o);
tally_status tl_gpu_window_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_plan *count,
                                 const tally_view *in, const tally_view *out, const tally_window_options *o);
#endif

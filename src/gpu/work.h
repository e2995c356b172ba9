/* SPDX-License-Identifier: MIT
 * What the files of the GPU devices share: the opened device, launches, views and results on the
 * device.
 *
 * A file sees those below it, never one above:
 *
 *   pieces/      a call of a verb, in one piece or several, or on segments whose offsets are on
 *                the device; streams
 *   window/      windows                   law.c      the probe's kernels
 *   shapes.c     reduce, scan              grid.c     sequences that grow together
 *   exact.c      exact sums                keys.c     runs of equal keys, gathers
 *   prepare.c    elements out of views with validity, or of two inputs
 *   batch.c      views brought to the device, results brought back
 *   forest.c     short sequences           middle.c   sequences of some chunks
 *   gpu.c        open, the pool of device memory, programs, launches
 *   variants.c   operators as kernels have them
 *   kernels.c    the kernels' parameters      program.c   their texts      clock.c   times */
#ifndef TALLY_GPU_WORK_H
#define TALLY_GPU_WORK_H
#include "gpu.h"
#include "kernels.h"
#include "context/inputs.h"
#include "context/view.h"

enum {
    TL_GPU_LEVELS = 8, /* 2^62 elements have 7 */
    TL_GPU_POOL = 32,  /* freed blocks kept */
    TL_GPU_PROGRAMS = 1024
};

/* What is built for an operator's shape. program NULL: its kernels are built one by one, each
 * when it is first launched (users' operators, and what is not embedded). */
typedef struct tl_built {
    const tl_scalar *op;
    const char *shape, *kernel; /* kernel: NULL for all of the shape */
    tl_program *program;
} tl_built;

/* How a call of a shape belongs to a larger call in pieces; tl_no_piece: it does not. */
typedef struct tl_piece {
    enum { TL_CALL_WAITS, TL_PIPE_WAITS } end; /* who waits for results and errors */
    /* reduce: values, or states as the host has them (packed) */
    enum { TL_VALUES, TL_STATES } gives;
    /* index of the piece's first element in its sequence */
    int64_t origin;
    /* scan: NULL, or the state before the piece, packed, one for each sequence, page-locked */
    const void *before;
} tl_piece;
extern const tl_piece tl_no_piece;

typedef struct tl_variant tl_variant;

/* What is measured (clock.c). */
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
    tl_memory pool[TL_GPU_POOL];
    tl_code code; /* option code= */
    /* bytes of device memory: option memory=SIZE (0: none); allocated, the pool's included */
    size_t limit, held;
    tl_memory stage[2 * TL_STAGES], small; /* stage.c, along.c: page-locked, kept until close */
    tl_clock clock;
    /* since tally_time: kernels started; elements that the processors took */
    int64_t launches, on_processors;
    /* kept from call to call: a counter (scan_once.cl) and words (board.cl) */
    struct {
        tl_memory memory;
        int64_t words, taken, epoch;
    } board;
    struct { /* of `measure` (pieces/segments.c): slots, and what the host reads of them */
        tl_memory slots, said;
        int64_t slot;
        int walked; /* the last segments were: those to come most often are too */
    } measured;
    struct tl_variant *variants; /* variants.c */
    struct tl_lasting *lasting;
    tl_built programs[TL_GPU_PROGRAMS];
    int program_count;
} tl_gpu_device;

static inline tl_gpu_device *tl_gpu_of(tl_device *d) { return (tl_gpu_device *)d; }

/* A block of at least `bytes` from the pool, or a new one; give puts it back (bytes 0: nothing
   to give). */
tally_status tl_gpu_take(tl_gpu_device *d, tally *ctx, size_t bytes, tl_memory *memory);
void tl_gpu_give(tl_gpu_device *d, tl_memory *memory);
/* Releases the pool. */
void tl_gpu_empty_pool(tl_gpu_device *d);
/* A block that is kept from call to call. Its bytes go to the host when the device's memory must go
 * (tl_gpu_use_stream); each call then has it come back first. begin: it is empty, or a taken
 * block; end gives that. */
typedef struct tl_lasting {
    tl_memory memory;
    char *away; /* NULL, or its `bytes` bytes on the host */
    size_t bytes;
    struct tl_lasting *next;
} tl_lasting;
void tl_gpu_begin_lasting(tl_gpu_device *d, tl_lasting *block);
tally_status tl_gpu_come_back(tl_gpu_device *d, tally *ctx, tl_lasting *block);
void tl_gpu_end_lasting(tl_gpu_device *d, tl_lasting *block);
/* A block with a copy of host data. */
tally_status tl_gpu_upload(tl_gpu_device *d, tally *ctx, const void *data, size_t bytes,
                           tl_memory *to);
/* The program of an operator's shape ("reduce", "scan", "window", "window_long", "window_along":
 * static text), built at first use. */
tally_status tl_gpu_program(tl_gpu_device *d, tally *ctx, const tl_scalar *op, const char *shape,
                            tl_built *program);

/* TALLY_UNSUPPORTED if p is memory of the device, where the processors do the work (p may be
   NULL). */
tally_status tl_gpu_host_only(tl_gpu_device *d, tally *ctx, const void *p, const char *name,
                              const char *what);

/* variants.c: the one of op that the device keeps; op itself where nothing differs. */
tally_status tl_gpu_variant(tl_gpu_device *d, tally *ctx, const tl_scalar *op, int marked,
                            const tl_scalar **to);
void tl_gpu_drop_variants(tl_gpu_device *d);

/* Where a kernel is launched. */
typedef struct tl_launch {
    tl_gpu_device *d;
    tally *ctx;
    const tl_built *program;
} tl_launch;
/* jobs: of TL_GROUPS, warps where a kernel's threads are WARPS, else groups; no more groups than
 * keep the device busy, so a kernel loops over its jobs. None: nothing is launched. */
tally_status tl_go(const tl_launch *l, tl_gpu_kernel_id kernel, int64_t jobs, tl_spread spread,
                   const tl_argument *arguments, int count);
#define TL_GO_AS(l, kernel, jobs, spread, ...)                                                     \
    ({                                                                                             \
        const tl_arguments_##kernel a_ = TL_ARGUMENTS(kernel, __VA_ARGS__);                        \
        tl_go(l, TL_KERNEL_##kernel, jobs, spread, (const tl_argument *)(const void *)&a_,         \
              (int)(sizeof a_ / sizeof(tl_argument)));                                             \
    })
/* tl_go of a kernel and its arguments by name (kernels.h). */
#define TL_GO(l, kernel, jobs, ...) TL_GO_AS(l, kernel, jobs, TL_GROUPS, __VA_ARGS__)

/* A launch before the host knows what `measure` found of offsets (gpu/kernel/short/ahead.cl,
   pieces/segments.c). */
typedef struct tl_ahead {
    tl_memory measured;
    int64_t slot, most;
    int may_walk;
} tl_ahead;

/* A view on the device, as the kernels take it (gpu/kernel/batch.cl). */
typedef struct tl_batch {
    const tl_plan *plan;
    tl_memory x;
    int owned; /* x is ours to give back */
    const tl_piece *piece;
    int64_t x_byte, row_stride, stride, n, rows, elements; /* elements: of all sequences */
    const int64_t *host_offsets; /* NULL: none, or they are on the device (pieces/segments.c) */
    int listed;                  /* sequences have offsets */
    tl_memory offsets, ids, first;
    /* long sequences: all rows, or those that ids chooses */
    /* sequences; elements of the longest; nodes of each level */
    int64_t longs, longest, counts[TL_GPU_LEVELS + 1];
    /* segments of less than MIDDLE_END elements are a warp's each; longs are the others
       (middle.c) */
    int walked;
    int shorts; /* are there any? */
    int levels;
    const struct tl_in_place *in_place; /* NULL, or what else the kernels read */
    const tl_ahead *ahead;              /* NULL: the host knows of the offsets what it needs */
    /* windows: NULL, or the same sequences of bytes, 1 for an element that counts */
    const struct tl_batch *counts_of;
} tl_batch;
tally_status tl_batch_open(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_piece *piece,
                           const tally_view *in, tl_batch *b);
/* Its elements alone: those between `low` and `high` bytes from in->data. */
tally_status tl_batch_data(tl_gpu_device *d, tally *ctx, const tl_plan *plan, const tl_piece *piece,
                           const tally_view *in, int64_t low, int64_t high, tl_batch *b);
void tl_batch_close(tl_gpu_device *d, tl_batch *b);
/* Full nodes of a level in a sequence of n elements (level_count of gpu/kernel/batch.cl). */
int64_t tl_level_count(int64_t n, int level);
/* Do many sequences lie across (columns): further apart along one than from one to the next?
   Then a lane takes each. */
int tl_batch_across(const tl_batch *b);
/* The parameters nearly every kernel begins with, for all sequences or the long ones alone. */
typedef enum tl_which { TL_ALL_SEQUENCES, TL_LONG_SEQUENCES } tl_which;
tl_arguments_batch_part tl_batch_arguments(const tl_batch *b, tl_which which);
tl_arguments_ahead_part tl_ahead_arguments(const tl_batch *b);
/* The shape that reads what the batch has: only x; y too; bits. */
const char *tl_in_place_shape(const tl_batch *b, const char *plain, const char *two,
                              const char *bits);

/* Where results go: device memory of the caller's, or a dense copy that comes to the host at the
   end. */
typedef struct tl_results {
    const tally_view *view;
    const tl_piece *piece;
    tl_memory y;
    int owned;
    int64_t byte, row_stride, stride; /* on the device */
    /* owned: the bytes of the dense copy, relative to its element 0 */
    int64_t low, high;
} tl_results;
tally_status tl_results_open(tl_gpu_device *d, tally *ctx, const tl_piece *piece,
                             const tally_view *out, int64_t bytes, tl_results *r);
/* Waits (unless the caller works in pieces, and waits itself), and brings results in our memory
 * to the host. r: opened, or {.piece} where a failure came before that. */
tally_status tl_results_close(tl_gpu_device *d, tally *ctx, tl_results *r, int64_t bytes,
                              tally_status status);
tl_arguments_results_part tl_results_arguments(const tl_results *r);

/* ---- prepare.c: views with validity, and of two inputs; between enter and leave ---- */

/* A type as a number of the kernels (gpu/kernel/constants.h). */
int64_t tl_gpu_type(tally_dtype d);

/* An input on the device. byte, bit: of the element that is read first. */
typedef struct tl_gpu_input {
    tl_memory data, bits;
    int owned, bits_owned;
    int64_t byte, bit, inner, outer, type;
} tl_gpu_input;

/* The elements that the kernels take, dense, on the device. */
typedef struct tl_prepared {
    tl_plan plan, count_plan;
    /* counted: a byte for each element, 1 if it counts; count_plan adds them */
    tally_view view, count_view;
    tl_memory memory, counts;
    int counted;
} tl_prepared;
/* Of windows: are the elements of each counted one by one, for its minimum? */
int tl_is_counted(const tl_inputs_call *c);
/* The form is not of states. After a failure close it too. */
tally_status tl_prepare(tl_gpu_device *d, tally *ctx, const tl_inputs_call *c, int counted,
                        tl_prepared *p);
void tl_prepared_close(tl_gpu_device *d, tl_prepared *p);

/* A batch whose kernels read the caller's arrays (gpu/kernel/in_place.cl). */
typedef struct tl_in_place {
    tl_gpu_input x, y; /* y: x, if there is none */
    tl_plan plan;      /* of form->op as the kernels have it */
    int64_t fill;
    int bits; /* there are bitmaps */
} tl_in_place;
/* Can the call be made so? */
int tl_in_place_takes(const tl_gpu_device *d, const tl_inputs_call *c);
/* b, and *p for it; after a failure close both too. */
tally_status tl_in_place_open(tl_gpu_device *d, tally *ctx, const tl_form *form,
                              const tally_view *in, tl_in_place *p, tl_batch *b);
void tl_in_place_close(tl_gpu_device *d, tl_in_place *p);

/* ---- exact.c ---- */

/* The exact sums of a view's rows; between enter and leave. Of two inputs: with its next, or
 * pairs as tl_prepare makes them. marked: elements of -0
 * are left out. */
tally_status tl_gpu_exact_whole(tl_gpu_device *d, tally *ctx, const tl_scalar *op, int marked,
                                const tally_view *in, const tally_view *out);

/* ---- forest.c: the sequences that are shorter than a chunk ---- */

/* What comes before the sequences of a scan; memory: NULL where that is nothing. */
typedef struct tl_before {
    int64_t seeded; /* SEED_... */
    const tl_memory *memory;
    int exclusive;
} tl_before;
tally_status tl_forest_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r);
tally_status tl_forest_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                            const tl_before *from);

/* ---- middle.c: sequences of some chunks, a warp for each ---- */

/* Are `rows` sequences of `elements` in all worth it? scan: for a scan of op. */
int tl_middle_pays(const tl_gpu_device *d, const tl_scalar *op, int64_t rows, int64_t elements,
                   int scan);
/* Are b's sequences below MIDDLE_END done so? */
int tl_middle_takes(const tl_gpu_device *d, const tl_batch *b, int scan);
tally_status tl_middle_reduce(const tl_launch *l, const tl_batch *b, const tl_results *r);
tally_status tl_middle_scan(const tl_launch *l, const tl_batch *b, const tl_results *r,
                            const tl_before *from);

/* ---- clock.c: spans of a lane, measured if asked for ---- */

double tl_seconds(void);
void tl_clock_begin(tl_gpu_device *d, tally *ctx, int lane);
/* Ends the span. bytes: what it copied. */
void tl_clock_end(tl_gpu_device *d, tally *ctx, int lane, int kind, size_t bytes);
/* Forgets the spans under way. */
void tl_clock_drop(tl_gpu_device *d);

/* ---- the shapes, on views that fit the device; between enter and leave ---- */

tally_status tl_gpu_reduce_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                 const tl_piece *piece, const tally_view *in,
                                 const tally_view *out);
/* The rest of it, once the batch is open, or not (status): then what was begun is waited for.
 * in: for its layout alone. */
tally_status tl_gpu_reduce_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b,
                                 const tally_view *in, const tally_view *out, tally_status status);
/* The same of a scan; out: for its layout alone. */
tally_status tl_gpu_scan_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b,
                               const tally_view *out, const tally_scan_options *o,
                               tally_status status);
/* Scans forward: reversed ones come as views that walk backwards. */
tally_status tl_gpu_scan_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                               const tl_piece *piece, const tally_view *in, const tally_view *out,
                               const tally_scan_options *o);
tally_status tl_gpu_window_whole(tl_gpu_device *d, tally *ctx, const tl_plan *plan,
                                 const tl_plan *count, const tl_piece *piece, const tally_view *in,
                                 const tally_view *out, const tally_window_options *o);
/* The same of a batch that is open, or not (status); out: for its layout alone. */
tally_status tl_gpu_window_batch(tl_gpu_device *d, tally *ctx, const tl_batch *b,
                                 const tl_plan *count, const tally_view *out,
                                 const tally_window_options *o, tally_status status);
#endif

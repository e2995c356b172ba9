/* SPDX-License-Identifier: MIT
 * What the GPU devices share. gpu.c runs the shapes on any API that fills a tl_gpu_calls; cuda.c
 * and opencl.c hold calls of their API and nothing else. One context uses a tl_gpu at a time;
 * work is issued in order and tl_gpu_calls.wait ends it. */
#ifndef TALLY_GPU_H
#define TALLY_GPU_H
#include "store/cache.h"
#include "context/device.h"

typedef struct tl_gpu tl_gpu;         /* one opened device of an API: begins with its calls */
typedef struct tl_program tl_program; /* one compiled text */

/* Device memory: an address, and where that is only a name an object (OpenCL, whose memory has
 * none: opencl.c reserves addresses for it). Page-locked host memory: its address. bytes 0:
 * none. */
typedef struct tl_memory {
    uint64_t address;
    void *object;
    size_t bytes;
} tl_memory;

/* A lane is a queue of work that is done in order. Kernels, and the copies of small calls, go to
 * TL_RUN (the caller's stream if there is one); pieces.c copies beside it. Event n is a place in
 * a lane: see mark. */
enum { TL_RUN, TL_IN, TL_OUT, TL_LANES };
enum {
    TL_EVENTS = 32,  /* for the order of lanes */
    TL_CLOCKS = 128, /* spans that are measured at a time, two events each (clock.c) */
    TL_EVENTS_ALL = TL_EVENTS + 2 * TL_CLOCKS
};

/* One argument of a kernel. TL_ARG_NONE: it was left out. TL_ARG_UNUSED: null, for memory that the
 * kernel does not touch in this launch. TL_ARG_ROOM, if any the last: i64 bytes of local memory
 * (ROOM_PARAMETER in the preludes). */
typedef enum tl_argument_kind {
    TL_ARG_NONE,
    TL_ARG_MEMORY,
    TL_ARG_UNUSED,
    TL_ARG_I64,
    TL_ARG_F64,
    TL_ARG_ROOM
} tl_argument_kind;
typedef struct tl_argument {
    tl_argument_kind kind;
    union {
        tl_memory memory;
        int64_t i64;
        double f64;
    };
} tl_argument;

/* What the number of a launch counts: groups; or jobs, which are shared equally by as many
 * groups as run at the same time (one group more would need a second round). Jobs are for the
 * kernel `once` alone, and without ROOM. */
typedef enum tl_spread { TL_GROUPS, TL_SHARED_JOBS } tl_spread;

/* How a program gets its code. QUICK: by as little optimisation as a compiler offers, because
 * somebody waits. AUTO: as QUICK unless the best is at hand, and the best later
 * (tl_gpu_calls.refresh). EMBEDDED: from the library or not at all. The bits are the same. */
typedef enum tl_code { TL_CODE_AUTO, TL_CODE_QUICK, TL_CODE_BEST, TL_CODE_EMBEDDED } tl_code;

/* What a program keeps of its kernels. */
enum { TL_KERNEL_NAME = 64, TL_KERNELS_MOST = 16 };
/* The number of a kernel in a program's list of `count` such names, each `step` bytes after the
 * one before: count for a new name, which is put there. -1: it is too long, or there are too
 * many (an error). */
int tl_kernel_number(tally *ctx, char *names, size_t step, int count, const char *name);

typedef struct tl_gpu_calls {
    const char *name, *prelude; /* the device's name; its prelude among the embedded texts */
    /* the prelude has what one-launch reductions need (gpu/kernel/once.cl) */
    int once;
    /* NULL: no; are lanes' exchanges through local memory (BOX_PARAMETER)? */
    int (*has_box)(const tl_gpu *gpu);
    int sees_locked; /* kernels write page-locked memory at its address */
    /* what is not embedded: a program per kernel, made when it is first launched */
    int by_kernel;

    /* Device number index: name, usable or the reason why not. 0 past the end. Static memory. */
    int (*describe)(int index, tally_device_info *info);
    /* Caller owns *gpu. On failure it is NULL and ctx->error says why. */
    tally_status (*open)(tally *ctx, int index, tl_gpu **gpu);
    void (*close)(tl_gpu *gpu);

    /* Work between enter and leave: makes the device current for this thread, and the caller's
     * again. After a failure nothing has changed, and there is nothing to leave. */
    tally_status (*enter)(tl_gpu *gpu, tally *ctx);
    void (*leave)(tl_gpu *gpu);

    int (*processors)(const tl_gpu *gpu);
    int (*warps_in_group)(const tl_gpu *gpu);  /* as in the prelude */
    int (*shares_memory)(const tl_gpu *gpu);   /* with the processors; NULL: no */
    int64_t (*local_bytes)(const tl_gpu *gpu); /* the most that ROOM_PARAMETER can be */
    tally_status (*allocate)(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
    void (*release)(tl_gpu *gpu, tl_memory *memory);
    tally_status (*write)(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset,
                          const void *from, size_t bytes);
    tally_status (*read)(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from, size_t offset,
                         size_t bytes);
    /* Is p memory of this device (then *memory names it and *offset the place)? */
    int (*owns)(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset);

    /* Compiles text (cached by the caller). Caller owns *program; NULL: it is not embedded. how:
     * where by_kernel is 0, it is never EMBEDDED, and may mean nothing. TALLY_BAD_DATA: the
     * compiler refused the text, and ctx->error has the first line of its log with an error in
     * it. */
    tally_status (*build)(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code how,
                          tl_program **program);
    void (*unload)(tl_gpu *gpu, tl_program *program);
    /* Before a launch: takes better code of the program, if it is there. 1: it is wanted now;
     * then improve gets the text, and makes it beside the calls. Nothing can fail: the program
     * stays as it is. NULL: there is none. */
    int (*refresh)(tl_gpu *gpu, tl_program *program);
    void (*improve)(tl_gpu *gpu, tl_program *program, const char *text, size_t length);
    tally_status (*launch)(tl_gpu *gpu, tally *ctx, tl_program *program, const char *kernel,
                           int64_t number, tl_spread spread, int threads,
                           const tl_argument *arguments, int count);
    tally_status (*wait)(tl_gpu *gpu, tally *ctx);
    /* Work goes to the caller's stream from now on (NULL: to our own again); nothing is under
     * way. The caller keeps it. If stream_moves, programs and memory belong to the stream's
     * context: there are none when this is called. */
    tally_status (*use_stream)(tl_gpu *gpu, tally *ctx, void *stream);
    int stream_moves;

    /* Large arrays, in pieces. Bytes that can still be allocated, in total and at once. These
     * are guesses: allocate may still fail. */
    void (*room)(tl_gpu *gpu, size_t *all, size_t *once);
    /* Page-locked host memory, at memory->address; is the host memory [p, p + bytes) that
       already? */
    tally_status (*lock)(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
    void (*unlock)(tl_gpu *gpu, tl_memory *memory);
    int (*locked)(tl_gpu *gpu, const void *p, size_t bytes);
    /* Copies that do not wait; the host memory is page-locked, or read before the call returns. */
    tally_status (*copy_in)(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t offset,
                            const void *from, size_t bytes);
    tally_status (*copy_out)(tl_gpu *gpu, tally *ctx, int lane, void *to, const tl_memory *from,
                             size_t offset, size_t bytes);
    /* mark: `event` stands for all work that the lane has so far. follow: later work of the lane
     * waits for the event. reached: the host waits for it. An event that was never marked counts
     * as reached. elapsed: seconds between two reached events of numbers TL_EVENTS and up;
     * negative if not known. quiet: the host waits for every lane. */
    tally_status (*mark)(tl_gpu *gpu, tally *ctx, int lane, int event);
    tally_status (*follow)(tl_gpu *gpu, tally *ctx, int lane, int event);
    tally_status (*reached)(tl_gpu *gpu, tally *ctx, int event);
    double (*elapsed)(tl_gpu *gpu, int from, int to);
    tally_status (*quiet)(tl_gpu *gpu, tally *ctx);

    /* An address for the API's own kind of memory object, kept until forget (or close). NULL:
       memory is addresses. */
    tally_status (*adopt)(tl_gpu *gpu, tally *ctx, void *object, void **pointer);
    tally_status (*forget)(tl_gpu *gpu, tally *ctx, void *pointer);
} tl_gpu_calls;

struct tl_gpu {
    const tl_gpu_calls *calls;
};

/* The device functions that gpu.c makes of an API's calls. */
tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *device,
                         int number, const char *options, tl_device **out);
void tl_gpu_close(tl_device *device);
int tl_gpu_threads(const tl_device *device);
const char *tl_gpu_isa(const tl_device *device);
tally_status tl_gpu_use_stream(tl_device *, tally *, void *stream);
tally_status tl_gpu_adopt(tl_device *, tally *, void *object, void **pointer);
tally_status tl_gpu_forget(tl_device *, tally *, void *pointer);
tally_status tl_gpu_on_processors(tl_device *, tally *, const void *p, const char *name,
                                  const char *what, int64_t elements);
tally_status tl_gpu_owns(tl_device *, tally *, const void *p, int *ours);
tally_status tl_gpu_copy(tl_device *, tally *, void *to, const void *from, size_t bytes);
void tl_gpu_share(tl_device *, int parts);
int64_t tl_gpu_least(const tl_device *);
void tl_gpu_time(tl_device *, tally *, int on);
void tl_gpu_times(tl_device *, tally *, tally_times_info *times);
tally_status tl_gpu_plan(tl_device *, tally *, const tl_scalar *, tl_par, tl_plan *);
tally_status tl_gpu_plan_host(tl_device *, tally *, const tl_scalar *, tl_par, tl_plan *);
tally_status tl_gpu_reduce(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out);
tally_status tl_gpu_reduce_segments(tl_device *, tally *, const tl_plan *, const tally_view *in,
                                    void *out, int *done);
tally_status tl_gpu_scan_segments(tl_device *, tally *, const tl_plan *, const tally_view *in,
                                  const tally_view *out, const tally_scan_options *, int *done);
tally_status tl_gpu_window_segments(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                    const tally_view *in, const tally_view *out,
                                    const tally_window_options *, int *done);
tally_status tl_gpu_offsets(tl_device *, tally *, const tally_view *, int64_t **copy);
tally_status tl_gpu_scan(tl_device *, tally *, const tl_plan *, const tally_view *in,
                         const tally_view *out, const tally_scan_options *);
tally_status tl_gpu_window(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                           const tally_view *in, const tally_view *out,
                           const tally_window_options *);
tally_status tl_gpu_exact(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out,
                          int *done);
tally_status tl_gpu_inputs(tl_device *, tally *, const tl_inputs_call *, int *done);
tally_status tl_gpu_key_runs(tl_device *, tally *, const tally_view *keys, int64_t *offsets,
                             int64_t *runs, int *done);
tally_status tl_gpu_gather(tl_device *, tally *, const tally_view *in, const int64_t *order,
                           const tally_view *out, int64_t *at, int64_t *place, int *done);
tally_status tl_gpu_grid(tl_device *, tally *, const tl_plan *, int64_t rows, const void *step,
                         tl_grid **grid);
tally_status tl_gpu_slab(tl_device *, tally *, const tl_plan *, const void *x, int64_t n,
                         tl_counter *);
tally_status tl_gpu_scan_push(tl_device *, tally *, tl_scan *, const void *x, int64_t n, void *out);
tally_status tl_gpu_window_slice(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                 const tally_window_options *, const void *x, int64_t n,
                                 int at_start, int at_end, void *out, int64_t *produced);

tally_status tl_gpu_law(tl_device *, tally *, const tl_plan *, const void *x, int64_t n, void *out);
tally_status tl_gpu_text(tl_device *, tally *, const tl_plan *, const char *shape, char **text,
                         size_t *length);

/* The rest of a GPU device's tl_device_calls. */
#define TL_GPU_DEVICE_CALLS                                                                        \
    .close = tl_gpu_close, .threads = tl_gpu_threads, .isa = tl_gpu_isa, .plan = tl_gpu_plan,      \
    .plan_host = tl_gpu_plan_host, .reduce = tl_gpu_reduce, .scan = tl_gpu_scan,                   \
    .window = tl_gpu_window, .grid = tl_gpu_grid, .slab = tl_gpu_slab,                             \
    .scan_push = tl_gpu_scan_push, .window_slice = tl_gpu_window_slice,                            \
    .use_stream = tl_gpu_use_stream, .adopt = tl_gpu_adopt, .forget = tl_gpu_forget,               \
    .time = tl_gpu_time, .on_processors = tl_gpu_on_processors, .times = tl_gpu_times,             \
    .law = tl_gpu_law, .text = tl_gpu_text, .reduce_segments = tl_gpu_reduce_segments,             \
    .scan_segments = tl_gpu_scan_segments, .window_segments = tl_gpu_window_segments,              \
    .offsets = tl_gpu_offsets, .owns = tl_gpu_owns, .copy = tl_gpu_copy, .inputs = tl_gpu_inputs,  \
    .exact = tl_gpu_exact, .runs = tl_gpu_key_runs, .gather = tl_gpu_gather,                       \
    .share = tl_gpu_share, .least = tl_gpu_least

/* ---- program.c ---- */

/* The text of an operator's instance with the kernels of one shape ("reduce", "scan", "window",
 * "window_long", "window_along"; "law" for the probe), for the API with this prelude; kernel:
 * only that one (NULL: all; CUDA's prelude can do it). A built-in operator has one text per
 * shape, under which its code is embedded (archive.h). Caller frees *text. */
tally_status tl_program_text(tally *ctx, const tl_scalar *op, const char *shape,
                             const char *prelude, const char *kernel, char **text, size_t *length);

/* An operator as the kernels have it, where that differs: elements of two inputs are pairs, of
 * twice the size, and a nan form may leave out the mark alone (tl_par.marked). */
enum { TL_MASKED_MARK = 2 }; /* tl_scalar.masked of such a form */
tl_scalar tl_gpu_variant_of(const tl_scalar *op, int marked);

/* Bytes that a state takes on a device at most (fields are aligned there, packed here), and the
 * states of a tile of the kernels window and window_whole, as powers of 2. */
int tl_gpu_state_bytes(const tl_scalar *op);
int tl_gpu_room_log(const tl_scalar *op);
/* Tiles of whole windows, of the program "window" or "window_long": their elements as a power of
 * 2; do threads have 8 items side by side (RUNS, gpu/kernel/window/place.cl)? */
typedef enum tl_tiles { TL_TILES, TL_LONG_TILES } tl_tiles;
int tl_gpu_whole_log(const tl_scalar *op, const char *prelude, tl_tiles tiles);
int tl_gpu_runs(const tl_scalar *op, const char *prelude, tl_tiles tiles);
/* log2 of the radix of gpu/kernel/window/passes.cl, 0 if that is not for this operator; items of
   a thread. */
int tl_gpu_pass_log(const tl_scalar *op, const char *prelude);
int tl_gpu_pass_run(const tl_scalar *op, const char *prelude);
/* The log2 of the radix of window/along.cl, or 0. */
int tl_gpu_along_log(const tl_scalar *op, const char *prelude);
/* Does an operator have kernels of a shape? */
int tl_gpu_has_shape(const tl_scalar *op, const char *shape, const char *prelude);
/* Scans in one launch, by the kernel scan_once or (few) scan_few: groups that share a processor,
 * 0: it is not for this operator; elements of a tile, as a power of 2. */
int tl_gpu_once_blocks(const tl_scalar *op, int few);
int tl_gpu_scan_steps(const tl_scalar *op); /* long ones are faster otherwise */
/* Do its scans in one launch take lines of packs (scan_lines.cl)? */
int tl_gpu_once_lines(const tl_scalar *op);
int tl_gpu_once_log(const tl_scalar *op, int few);
/* Rows that a warp of scan_down takes; 0: it is not for op. */
int tl_gpu_down_rows(const tl_scalar *op);

/* The first line of a compiler's log with an error in it (the log itself if there is none). */
const char *tl_first_error(const char *log);
/* A line that begins with <kernel>:N: (NVIDIA's OpenCL passes over #line): to, of `room` bytes,
 * gets it with the file and the line that text's last #line before its line N means; any other
 * as it is. */
void tl_name_place(const char *line, const char *text, char *to, size_t room);
#endif

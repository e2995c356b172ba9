/* SPDX-License-Identifier: MIT
 * What the GPU devices share. gpu.c runs the shapes (reduce, scan, window) on any API that fills a
 * tl_gpu_calls; cuda.c and opencl.c contain calls of their API and nothing else. Only one context
 * uses a tl_gpu at a time. Work is issued in order, and tl_gpu_calls.wait returns when it is
 * done. */
#pragma once

#include "store/store.h"
#include "context/device.h"

typedef struct tl_gpu tl_gpu;         /* an opened device */
typedef struct tl_program tl_program; /* a compiled program */

/* What a kernel gets for a block of memory: its address in CUDA, its memory object in OpenCL. NULL:
 * a null pointer, for memory that the kernel does not access in this launch. Never pass other
 * memory instead: a kernel that reads it by mistake must fail in every test (test_emulated). */
typedef struct tl_device_block *tl_handle;

/* A block of memory of `bytes` bytes; bytes 0: no block. Device memory: `address` is the device
 * address. OpenCL memory has no address: opencl.c reserves a range of addresses for it.
 * Page-locked host memory: `address` is the host address. */
typedef struct {
    uint64_t address;
    tl_handle handle;
    size_t bytes;
} tl_memory;

/* A block of an API whose handles are addresses. */
static inline tl_memory tl_memory_at(uint64_t address, size_t bytes)
{
    return (tl_memory){address, (tl_handle)(uintptr_t)address, bytes};
}

static inline tl_handle tl_handle_of(const tl_memory *m) { return m ? m->handle : NULL; }

/* Here a lane is a queue whose work is done in order: a CUDA stream, not a lane of a warp. TL_RUN
 * takes kernels and the copies of small calls; it may be the caller's stream. TL_IN and TL_OUT are
 * for copies that overlap with kernels. mark records an event in a lane. */
enum { TL_RUN, TL_IN, TL_OUT, TL_LANES };

enum {
    TL_STREAM_EVENTS = 32,                   /* number of the first event of memory.c */
    TL_SLOTS = 32,                           /* streams of the caller whose memory is kept */
    TL_EVENTS = TL_STREAM_EVENTS + TL_SLOTS, /* events that order the lanes */
    TL_CLOCKS = 128, /* spans measured at a time, two events each (launch.c) */
    TL_EVENTS_ALL = TL_EVENTS + 2 * TL_CLOCKS
};

/* A launch's `number`. TL_GROUPS: thread blocks, at most some for each multiprocessor, which share
 * the jobs. TL_EACH_JOB: a thread block for each job; they begin in the order of the jobs.
 * TL_SHARED_JOBS: jobs, divided equally among as many blocks as can be resident (one more would
 * need a second wave); only for `reduce_single`. */
typedef enum { TL_GROUPS, TL_EACH_JOB, TL_SHARED_JOBS } tl_spread;

/* A kernel to be launched. number: as `spread` says; threads: of a block. arguments: `count` values
 * of 8 bytes each: an int64_t, a double or a tl_handle. After them the kernel may have
 * LOCAL_MEMORY_PARAMETER of local_bytes bytes, and BOX_PARAMETER of box_bytes bytes (both in the
 * preludes); 0: it has none. */
typedef struct {
    const char *kernel;
    int64_t number;
    tl_spread spread;
    int threads;
    const void *arguments;
    int count;
    int64_t local_bytes, box_bytes;
} tl_kernel_start;

enum { TL_ARGUMENT_BYTES = 8 };

/* A copy in a lane between host memory and device memory, from byte `offset` of `memory` on. A copy
 * to the device only reads `host`. waits: host memory has been read, or written, when the call
 * returns; else it is page-locked, and the copy may still go on. */
typedef struct {
    int lane;
    enum { TL_TO_DEVICE, TL_TO_HOST } way;
    const tl_memory *memory;
    size_t offset;
    void *host;
    size_t bytes;
    int waits;
} tl_copy;

/* QUICK: compiled with as little optimisation as possible, because the caller waits. BEST: with
 * all. AUTO: the best code if it is at hand; else QUICK first, and the best later
 * (tl_gpu_calls.refresh). EMBEDDED: only code that is in the library. The results have the same
 * bits. */
typedef enum { TL_CODE_AUTO, TL_CODE_QUICK, TL_CODE_BEST, TL_CODE_EMBEDDED } tl_code;

/* Limits of a program's list of kernels: characters of a name, kernels. */
enum { TL_KERNEL_NAME = 64, TL_KERNELS_MOST = 16 };

/* The index of `name` in a program's list of `count` kernel names, `step` bytes apart; a new one is
 * appended. -1, with an error, if it is too long or the list is full. */
int tl_kernel_number(tally *ctx, char *names, size_t step, int count, const char *name);

/* A device that an API has found. reason: why it is not usable, or "". */
typedef struct {
    char name[24], text[240];
    const char *reason;
} tl_gpu_found;

typedef struct {
    const char *name, *title, *prelude; /* of devices; in sentences; of its embedded prelude */

    /* Finds the devices, once per process. Returns device `index`, or NULL if there are only *count
     * devices. */
    const tl_gpu_found *(*find)(int index, int *count);

    int single_launch; /* the prelude has what single-launch reductions and scans need */
    int sees_locked;   /* kernels can write page-locked host memory at its address */

    /* A program that is not embedded is built kernel by kernel, each at its first launch. */
    int by_kernel;

    /* Opens device `index`. The caller owns *gpu. On failure *gpu is NULL and ctx->error has the
     * reason. */
    tally_status (*open)(tally *ctx, int index, tl_gpu **gpu);
    void (*close)(tl_gpu *gpu);

    /* All work happens between enter and leave. enter makes the device current for this thread;
     * leave restores what was current before. If enter fails, nothing has changed and leave must
     * not be called. */
    tally_status (*enter)(tl_gpu *gpu, tally *ctx);
    void (*leave)(tl_gpu *gpu);

    tally_status (*allocate)(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
    void (*release)(tl_gpu *gpu, tl_memory *memory);
    tally_status (*copy)(tl_gpu *gpu, tally *ctx, const tl_copy *copy);

    /* Issues the clearing of the first `bytes` bytes, a multiple of 4, in a lane. */
    tally_status (*clear)(tl_gpu *gpu, tally *ctx, int lane, const tl_memory *to, size_t bytes);

    /* True if p points into memory of this device; then *memory and *offset name the place. */
    int (*owns)(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset);

    /* Builds a program; the caller caches and owns it. NULL if TL_CODE_EMBEDDED was asked for and
     * there is none. Where by_kernel is 0, `kind` is never TL_CODE_EMBEDDED and may be ignored.
     * TALLY_BAD_DATA if the compiler refused the text; ctx->error then has the first line of the
     * log with an error. */
    tally_status (*build)(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_code kind,
                          tl_program **program);
    void (*unload)(tl_gpu *gpu, tl_program *program);

    /* Before a launch; NULL: never. refresh replaces the program's code by better code if there is
     * some. 1: better code is wanted now; improve then compiles the text in the background. Neither
     * can fail. */
    int (*refresh)(tl_gpu *gpu, tl_program *program);
    void (*improve)(tl_gpu *gpu, tl_program *program, const char *text, size_t length);
    tally_status (*launch)(tl_gpu *gpu, tally *ctx, tl_program *program,
                           const tl_kernel_start *start);
    tally_status (*wait)(tl_gpu *gpu, tally *ctx);

    /* All later work goes to the caller's stream; NULL: to the library's own. The caller keeps the
     * stream. check_stream: refuses a stream that the device cannot use, and sets *moves if
     * programs and memory belong to another context of the API: then no work may be in flight and
     * none of these may exist when use_stream is called. *shared: threads have a stream each under
     * this handle. */
    tally_status (*check_stream)(tl_gpu *gpu, tally *ctx, void *stream, int *moves, int *shared);
    tally_status (*use_stream)(tl_gpu *gpu, tally *ctx, void *stream);

    /* The stream of TL_RUN as the API knows it. NULL: memory has no addresses, so it cannot come
     * from tally_use_allocator. */
    void *(*run_stream)(const tl_gpu *gpu);

    /* NULL: the API has no graphs. capture: the number of the stream's capture, or 0. keep: calls
     * drop(what), in any thread, when the graph and its instances are gone, and after a failure of
     * keep; drop must not call the API. */
    tally_status (*capture)(tl_gpu *gpu, tally *ctx, uint64_t *number);
    tally_status (*keep)(tl_gpu *gpu, tally *ctx, void (*drop)(void *), void *what);

    /* Estimates of the bytes that can still be allocated: in total, and as one block. allocate may
     * still fail. */
    void (*free_memory)(tl_gpu *gpu, size_t *available, size_t *largest);

    /* lock allocates page-locked host memory at memory->address, and unlock frees it. locked
     * returns true if the host memory [p, p + bytes) is page-locked already; NULL: the API cannot
     * tell. */
    tally_status (*lock)(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
    void (*unlock)(tl_gpu *gpu, tl_memory *memory);
    int (*locked)(tl_gpu *gpu, const void *p, size_t bytes);

    /* mark: `event` stands for all work that the lane has so far. follow: later work of the lane
     * waits for it; reached: the host does. An event that was never marked counts as reached.
     * elapsed: seconds between two reached events from TL_EVENTS on; negative if not known. quiet:
     * the host waits for all lanes. */
    tally_status (*mark)(tl_gpu *gpu, tally *ctx, int lane, int event);
    tally_status (*follow)(tl_gpu *gpu, tally *ctx, int lane, int event);
    tally_status (*reached)(tl_gpu *gpu, tally *ctx, int event);
    double (*elapsed)(tl_gpu *gpu, int from, int to);
    tally_status (*quiet)(tl_gpu *gpu, tally *ctx);

    /* adopt makes an address for a memory object of the API, valid until forget or close. NULL: the
     * API's memory has addresses already. */
    tally_status (*adopt)(tl_gpu *gpu, tally *ctx, void *object, void **pointer);
    tally_status (*forget)(tl_gpu *gpu, tally *ctx, void *pointer);
} tl_gpu_calls;

/* An opened device: its calls, and what `open` has found out. */
struct tl_gpu {
    const tl_gpu_calls *calls;
    int processors;      /* multiprocessors */
    int64_t bandwidth;   /* of the memory, in MB/s; 0: not known */
    int warps_in_group;  /* warps of a thread block, as in the prelude */
    int has_box;         /* lanes exchange values through local memory (BOX_PARAMETER) */
    int shares_memory;   /* the device shares the host's memory */
    int64_t local_bytes; /* the largest value of LOCAL_MEMORY_PARAMETER */
};

/* Copies of any host memory, in the lane TL_RUN. */
static inline tally_status tl_write(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset,
                                    const void *from, size_t bytes)
{
    const tl_copy copy = {TL_RUN, TL_TO_DEVICE, to, offset, (void *)(uintptr_t)from, bytes, 1};
    return gpu->calls->copy(gpu, ctx, &copy);
}

static inline tally_status tl_read(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from,
                                   size_t offset, size_t bytes)
{
    const tl_copy copy = {TL_RUN, TL_TO_HOST, from, offset, to, bytes, 1};
    return gpu->calls->copy(gpu, ctx, &copy);
}

/* tl_device_calls.describe. */
int tl_gpu_describe(const tl_gpu_calls *calls, int index, tally_device_info *info);

/* Returns a device that is usable, or sets an error and returns NULL. */
const tl_gpu_found *tl_gpu_usable(tally *ctx, const tl_gpu_calls *calls, int index);

/* The functions of a GPU device (context/device.h), written over an API's calls. */
tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *device,
                         int number, const char *options, tl_device **out);
void tl_gpu_close(tl_device *device);
tally_status tl_gpu_plan(tl_device *, tally *, const tl_scalar *, tl_par, tl_plan_use, tl_plan *);
tally_status tl_gpu_run(tl_device *, tally *, const tl_call *, int *done);
tally_status tl_gpu_push(tl_device *, tally *, const tl_push *);
tally_status tl_gpu_grid(tl_device *, tally *, const tl_plan *, int64_t rows, const void *step,
                         tl_grid **grid);
tally_status tl_gpu_owner(tl_device *, tally *, const void *p, tl_device **owner);
tally_status tl_gpu_copy(tl_device *, tally *, void *to, const void *from, size_t bytes);
tally_status tl_gpu_adopt(tl_device *, tally *, void *object, void **pointer);
tally_status tl_gpu_use(tl_device *, tally *, tl_use, const void *);
void tl_gpu_time(tl_device *, tally *, tl_timing, tally_times_info *times);
tally_status tl_gpu_text(tl_device *, tally *, const tl_plan *, const char *shape, char **text,
                         size_t *length);

/* The initializers of a GPU device's tl_device_calls. */
#define TL_GPU_DEVICE_CALLS \
    .close = tl_gpu_close, .plan = tl_gpu_plan, .run = tl_gpu_run, .push = tl_gpu_push, \
    .grid = tl_gpu_grid, .owner = tl_gpu_owner, .copy = tl_gpu_copy, .adopt = tl_gpu_adopt, \
    .use = tl_gpu_use, .time = tl_gpu_time, .text = tl_gpu_text

/* ---- program.c ---- */

/* The inputs that kernels read: one without bitmaps, or in place (kernel/inputs/in_place.cl) two
 * without bitmaps, or one or two with bitmaps. */
typedef enum { TL_ONE_INPUT, TL_TWO_INPUTS, TL_BITMAPS } tl_inputs;

/* A program text: of an operator and a shape, for the API with this prelude. The shapes: "reduce",
 * "scan", both also with "_segments"; "scan_wave"; "window..." (window_program_of in program.c);
 * "grid", "prepare", "exact", "keys"; "law" for the probe. kernel: the text of this kernel alone
 * (CUDA only); NULL: of all kernels of the shape. */
typedef struct tl_text {
    const tl_scalar *op;
    const char *shape, *prelude, *kernel;
    tl_inputs inputs;
} tl_text;

/* Makes a program text, which the caller frees. A built-in operator has one text per shape, and its
 * embedded code is found by that text (cuda/cuda.h). */
tally_status tl_program_text(tally *ctx, const tl_text *of, char **text, size_t *length);

/* The operator as the kernels see it. It differs from *op in two cases: elements of two inputs are
 * pairs of twice the size, and a nan form may skip only marked elements (tl_par.marked). */
enum { TL_MASKED_MARK = 2 }; /* value of tl_scalar.masked for such a nan form */
tl_scalar tl_gpu_variant_of(const tl_scalar *op, int marked);

/* The most bytes that a state takes on a device, where its fields are aligned (on the host they are
 * packed). */
int tl_gpu_state_bytes(const tl_scalar *op);

/* The sizes of an operator's windows (operators.c). */
typedef struct {
    int cut_log, quads_log, wide_log, radix_log, run;
    int64_t passes_least;
    int walk_top, part_log, part_most, nodes_top;
} tl_window_tuning;

tl_window_tuning tl_gpu_window_tuning(const tl_scalar *op, const char *prelude);

/* A tile of the kernel scan_single: log2 of its elements; thread blocks that share a
 * multiprocessor, 0 if single-launch scans are not used for this operator. wave: the
 * smallest tile of the program "scan_wave". */
typedef struct {
    int log, blocks;
} tl_scan_tile;

tl_scan_tile tl_gpu_scan_tile(const tl_scalar *op, int wave);

/* True if long scans are faster in several launches (level.cl, scan.cl) than in one. */
int tl_gpu_scans_in_steps(const tl_scalar *op);

/* True if single-launch scans of this operator may work on lines of packs (scan_part.cl). */
int tl_gpu_scans_lines(const tl_scalar *op);

/* The rows of a lane in the kernel scan_down; 0: the operator has too large elements or states. */
int tl_gpu_down_rows(const tl_scalar *op, int64_t columns);

/* Returns the first line of a compiler's log that has an error, or the log itself if no line
 * has. */
const char *tl_first_error(const char *log);

/* Copies one line of a compiler's log to `to`, which has `free_memory` bytes. If it begins with
 * <kernel>:N: (NVIDIA's OpenCL ignores #line), that becomes the file and line of the last #line
 * before line N. */
void tl_name_place(const char *line, const char *text, char *to, size_t free_memory);

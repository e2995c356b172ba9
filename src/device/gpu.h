/* SPDX-License-Identifier: MIT
 * What the GPU devices share. gpu.c runs the shapes on any API that fills a tl_gpu_calls; cuda.c and opencl.c hold
 * calls of their API and nothing else. One context uses a tl_gpu at a time; work is issued in order and
 * tl_gpu_calls.wait ends it. */
#ifndef TALLY_GPU_H
#define TALLY_GPU_H
#include "cache.h"
#include "device.h"

typedef struct tl_gpu tl_gpu;         /* one opened device of an API: begins with its calls */
typedef struct tl_program tl_program; /* one compiled text */

/* Device memory: an address (CUDA) or an object (OpenCL). bytes 0: none. */
typedef struct tl_memory {
    uint64_t address;
    void *object;
    size_t bytes;
} tl_memory;

/* One argument of a kernel. TL_ARG_ROOM, if any the last: i64 bytes of local memory (ROOM_PARAMETER in the preludes). */
typedef struct tl_argument {
    enum { TL_ARG_MEMORY, TL_ARG_I64, TL_ARG_F64, TL_ARG_ROOM } kind;
    union {
        tl_memory memory;
        int64_t i64;
        double f64;
    };
} tl_argument;

typedef struct tl_gpu_calls {
    const char *name, *prelude; /* the device's name; its prelude among the embedded texts */
    int warps_in_group;         /* as in the prelude */
    int once;                   /* the prelude has what one-launch reductions need (shape/gpu/reduce.cl) */

    /* Device number index: name, usable or the reason why not. 0 past the end. Static memory. */
    int (*describe)(int index, tally_device_info *info);
    /* Caller owns *gpu. On failure it is NULL and ctx->error says why. */
    tally_status (*open)(tally *ctx, int index, tl_gpu **gpu);
    void (*close)(tl_gpu *gpu);

    /* Work between enter and leave: makes the device current for this thread, and the caller's again. */
    void (*enter)(tl_gpu *gpu);
    void (*leave)(tl_gpu *gpu);

    int (*processors)(const tl_gpu *gpu);
    int64_t (*local_bytes)(const tl_gpu *gpu); /* the most that ROOM_PARAMETER can be */
    tally_status (*allocate)(tl_gpu *gpu, tally *ctx, size_t bytes, tl_memory *memory);
    void (*release)(tl_gpu *gpu, tl_memory *memory);
    tally_status (*write)(tl_gpu *gpu, tally *ctx, const tl_memory *to, size_t offset, const void *from, size_t bytes);
    tally_status (*read)(tl_gpu *gpu, tally *ctx, void *to, const tl_memory *from, size_t offset, size_t bytes);
    /* Is p memory of this device (then *memory names it and *offset the place)? */
    int (*owns)(tl_gpu *gpu, const void *p, tl_memory *memory, size_t *offset);

    /* Compiles text (cached by the caller). Caller owns *program. */
    tally_status (*build)(tl_gpu *gpu, tally *ctx, const char *text, size_t length, tl_program **program);
    void (*unload)(tl_gpu *gpu, tl_program *program);
    tally_status (*launch)(tl_gpu *gpu, tally *ctx, tl_program *program, const char *kernel, int64_t groups,
                           int threads, const tl_argument *arguments, int count);
    tally_status (*wait)(tl_gpu *gpu, tally *ctx);
    /* Work goes to the caller's stream from now on (NULL: to our own again). NULL: the API has none. */
    void (*use_stream)(tl_gpu *gpu, void *stream);
} tl_gpu_calls;

struct tl_gpu {
    const tl_gpu_calls *calls;
};

/* The device functions that gpu.c makes of an API's calls. */
tally_status tl_gpu_open(tally *ctx, const tl_gpu_calls *calls, const tl_device_calls *device, int number,
                         const char *options, tl_device **out);
void tl_gpu_close(tl_device *device);
int tl_gpu_threads(const tl_device *device);
const char *tl_gpu_isa(const tl_device *device);
tally_status tl_gpu_use_stream(tl_device *, tally *, void *stream);
tally_status tl_gpu_plan(tl_device *, tally *, const tl_scalar *, tl_par, tl_plan *);
tally_status tl_gpu_reduce(tl_device *, tally *, const tl_plan *, const tally_view *in, void *out);
tally_status tl_gpu_scan(tl_device *, tally *, const tl_plan *, const tally_view *in, const tally_view *out,
                         const tally_scan_options *);
tally_status tl_gpu_window(tl_device *, tally *, const tl_plan *, const tl_plan *count, const tally_view *in,
                           const tally_view *out, const tally_window_options *);
tally_status tl_gpu_slab(tl_device *, tally *, const tl_plan *, const void *x, int64_t n, tl_counter *);
tally_status tl_gpu_scan_push(tl_device *, tally *, tl_scan *, const void *x, int64_t n, void *out);
tally_status tl_gpu_window_slice(tl_device *, tally *, const tl_plan *, const tl_plan *count,
                                 const tally_window_options *, const void *x, int64_t n, int at_start, int at_end,
                                 void *out, int64_t *produced);

tally_status tl_gpu_law(tl_device *, tally *, const tl_plan *, const void *x, int64_t n, void *out);
tally_status tl_gpu_text(tl_device *, tally *, const tl_plan *, const char *shape, char **text, size_t *length);

/* The rest of a GPU device's tl_device_calls. */
#define TL_GPU_DEVICE_CALLS                                                                                            \
    .close = tl_gpu_close, .threads = tl_gpu_threads, .isa = tl_gpu_isa, .plan = tl_gpu_plan, .reduce = tl_gpu_reduce, \
    .scan = tl_gpu_scan, .window = tl_gpu_window, .slab = tl_gpu_slab, .scan_push = tl_gpu_scan_push,                  \
    .window_slice = tl_gpu_window_slice, .use_stream = tl_gpu_use_stream, .law = tl_gpu_law, .text = tl_gpu_text

/* ---- program.c ---- */

enum { TL_GPU_LAW_THREADS = 64 }; /* of a group of shape/gpu/law.cl */

/* The text of an operator's instance with the kernels of one shape ("reduce", "scan", "window"; "law" for the probe), for
 * the API with this prelude. Caller frees *text. */
tally_status tl_program_text(tally *ctx, const tl_scalar *op, const char *shape, const char *prelude, char **text,
                             size_t *length);

/* Bytes that a state takes on a device at most (fields are aligned there, packed here), and the states of a tile of
 * the kernels window and window_whole, as powers of 2. */
int tl_gpu_state_bytes(const tl_scalar *op);
int tl_gpu_room_log(const tl_scalar *op);
int tl_gpu_whole_log(const tl_scalar *op);
/* Groups of the kernel scan_once that share a processor; 0: it is not for this operator. */
int tl_gpu_once_blocks(const tl_scalar *op);
int tl_gpu_once_log(const tl_scalar *op); /* elements of its tile, as a power of 2 */

/* The texts of src/op, src/shape/gpu and the preludes, embedded by the build; ended by name NULL. */
typedef struct tl_text {
    const char *name;
    const char *text;
} tl_text;
extern const tl_text tl_texts[];
#endif

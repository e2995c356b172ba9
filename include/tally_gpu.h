/* SPDX-License-Identifier: MIT
 *
 * tally_gpu.h - device memory, streams, allocators and the times of GPUs, and one sequence on
 * several GPUs. tally.h includes this header and has the conventions. */
#ifndef TALLY_GPU_H
#define TALLY_GPU_H

#include "tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 11 GPUs ------------------------------------------------------------------------------------
 * Each input and each output of the verbs may be in host memory or in device memory.
 *   Host memory     has any size; it may exceed the device's memory. A small array is copied to
 *                   the device and back at once. A larger one is copied through page-locked
 *                   memory in pieces, while kernels run (doc/gpu.md). If it is page-locked
 *                   already (cudaHostAlloc, cudaHostRegister), dense pieces are copied directly.
 *   Device memory   is used in place. On CUDA it is any address on this device, from cudaMalloc
 *                   or cuMemAlloc of any library in this process, since tally uses the primary
 *                   context. For OpenCL see tally_device_pointer.
 *   Offsets         may be in host memory or in device memory (aligned to 8 bytes). Reductions,
 *                   forward scans and windows of segments read device offsets on the device,
 *                   which saves their check and copy on the host; the call waits once, for 64
 *                   bytes. Other calls copy the offsets to the host first.
 *   Streams         and fragments take device memory too.
 *   Host memory     only: initial values, a tally_exact, saved fragments, elements of streams of
 *                   groups, and what files read and write. Device memory is refused there
 *                   (TALLY_UNSUPPORTED; tally_copy copies it). Views, options, handles and single
 *                   numbers that a call returns are host memory too, which is not checked.
 *   The processors  do some of the work of every GPU context: scans and windows of exact sums,
 *                   windows with a step, with negative offsets or by ranges, groups, reversed
 *                   scans of segments, small pushes of streams. doc/gpu.md has the list,
 *                   tally_times counts the elements. tally copies device memory to the host for
 *                   them, and the results back. The bits are the same.
 *
 * Every call restores the caller's current CUDA context.
 *
 * Example:
 *     int device;
 *     tally_times_info spent;
 *     tally_time(ctx, 1);
 *     tally_owner(ctx, x, &device);
 *     tally_times(ctx, &spent);
 *     printf("device %d, %g s in kernels\n", device, spent.kernels); // device -1, 0 s in kernels
 * Device -1 is host memory; the processors have no kernels to measure. */

/* Makes the context issue its work to `stream`, a stream of its device. Returns at once; nothing
 * waits and no memory is copied, so the function may be called before every call. A call whose data
 * and results are all on the device then returns without waiting, and a later call may report an
 * error of the device. NULL: the context's own stream, where every call waits for its results.
 *   CUDA      a CUstream or cudaStream_t of the device's primary context, cudaStreamLegacy or
 *             cudaStreamPerThread.
 *   OpenCL    an in-order cl_command_queue. If its cl_context is not that of the last queue, the
 *             call waits, programs are compiled again, and all pointers of tally_device_pointer
 *             must be forgotten before.
 *   Memory    A context keeps scratch memory for each of the last 32 streams. Calls in different
 *             streams may run at the same time; the caller orders them where one reads what the
 *             other writes.
 *   Lifetime  Until tally_close, or until the context uses another stream outside of a capture.
 *   Graphs    While a CUDA stream is captured into a graph, calls on device memory are captured:
 *             reductions, scans and windows of flat arrays, rows, columns, and segments whose
 *             offsets are on the host. Views, options, offsets and init are read during the
 *             capture, data at each replay. Make each call once before the capture, because
 *             kernels cannot be compiled or loaded in it. What cannot be captured is refused with
 *             TALLY_UNSUPPORTED, and the capture goes on. The scratch memory of a graph is its own.
 *             It lives until the graph and its instances are destroyed, and it belongs to the
 *             context: no graph may be launched after tally_close.
 * TALLY_INVALID: a stream of another device or context. TALLY_UNSUPPORTED: a device without
 * streams, an out-of-order queue. */
TALLY_API tally_status tally_use_stream(tally *ctx, void *stream);

/* Where the device memory of a context comes from, for example from the pool of a framework.
 * allocate: returns the address of `bytes` bytes (> 0) of memory of the context's device, aligned
 *     to 256 bytes, for work that is issued to `stream` from now on; NULL if there is none.
 * release: takes the memory back. All work that uses it was issued to `stream` before, or `stream`
 *     waits for it. `bytes` is the number that allocate was given.
 * stream: a CUstream, as tally_use_stream took it; the context's own stream if that was NULL.
 * Both are called by the thread that calls tally, with the device's primary context current. They
 * must not call tally with the same context. */
typedef struct tally_allocator {
    void *(*allocate)(size_t bytes, void *stream, void *user);
    void (*release)(void *memory, size_t bytes, void *stream, void *user);
    void *user;
} tally_allocator;

/* Takes the context's device memory from *allocator, which is copied, from now on; NULL: from CUDA
 * again. Waits for the work in progress and gives back all memory that the context holds. The
 * option memory=SIZE limits what is taken. A call that gets no memory returns TALLY_NO_MEMORY.
 * Page-locked host memory does not come from it. TALLY_INVALID: allocate or release is NULL, or
 * graphs or streams of many sequences (tally_stream_reduce_rows) use memory of the context: call
 * this before they are made. TALLY_UNSUPPORTED: a device without addresses (OpenCL), processors,
 * several devices (call it on each tally_member). */
TALLY_API tally_status tally_use_allocator(tally *ctx, const tally_allocator *allocator);

/* Gives an OpenCL buffer an address, because views need one and OpenCL memory has none. `object`
 * is a cl_mem buffer of the cl_context that tally_use_stream set. *pointer becomes an address
 * that stands for its first byte; pointer arithmetic reaches its other bytes. Views take such an
 * address as data, and reduce takes it as out; the host cannot read it. tally keeps a reference
 * to the object until tally_device_forget or tally_close; the caller owns its memory.
 * TALLY_INVALID: not a cl_mem, or one of another cl_context. TALLY_UNSUPPORTED: on any other
 * device (CUDA memory has addresses). */
TALLY_API tally_status tally_device_pointer(tally *ctx, void *object, void **pointer);
/* Releases an address that tally_device_pointer made. Work in progress that uses the object still
 * completes. */
TALLY_API tally_status tally_device_forget(tally *ctx, void *pointer);
/* Copies bytes. `from` and `to` may each be host memory or memory of a device of ctx, and must
 * not overlap. The call waits until the work that the context's stream was given before is done,
 * and returns when the bytes are copied. */
TALLY_API tally_status tally_copy(tally *ctx, void *to, const void *from, size_t bytes);
/* Sets *device to k if p is memory of device k of ctx (see tally_member; 0 for a context of one
 * device), or to -1 if p is host memory or NULL. */
TALLY_API tally_status tally_owner(tally *ctx, const void *p, int *device);

/* Where the time of a context's calls goes. The device measures the seconds, by events before and
 * after each kernel and each copy. Copies overlap kernels, so the sum may exceed the time of the
 * calls. */
typedef struct tally_times_info {
    double kernels;                /* seconds in kernels */
    double to_device, from_device; /* seconds of copies between host and device */
    /* seconds that calls waited while kernels were compiled or loaded */
    double compile;
    int64_t bytes_to_device, bytes_from_device;
    int64_t device_bytes; /* device memory that the context holds now, its pool included */
    int64_t locked_bytes; /* page-locked host memory that the context holds now */
    /* kernels started on the device since tally_time or tally_open, measured or not */
    int64_t launches;
    /* elements that the processors took instead of the GPU; counted over the same time */
    int64_t on_processors;
} tally_times_info;
/* on = 1 starts measuring from zero, on = 0 stops it. A new context does not measure. Calls that
 * are not measured cost nothing extra. */
TALLY_API tally_status tally_time(tally *ctx, int on);
/* What was measured since tally_time; while calls are measured it waits for the work in progress.
 * On the processors all values are zero. */
TALLY_API tally_status tally_times(tally *ctx, tally_times_info *times);

/* ---- 12 several GPUs ----------------------------------------------------------------------------
 * A context of several devices ("cuda:0+1", "cuda:all") runs every call of this header, with the
 * bits of one device.
 *
 *   Host memory     the devices divide large work: rows, columns and segments into parts of about
 *                   equal weight, a long dense sequence into slices (doc/gpu.md lists what is not
 *                   divided).
 *   Device memory   a view in the memory of one device is computed by that device. For a sequence
 *                   whose parts are on several devices there are the calls below.
 *   Options         hold for each device: memory=2G is 2 GiB on each. The devices share the
 *                   threads.
 *   Times           tally_times gives the sums over the devices.
 *   A failure       of a device is one sentence that begins with its name.
 *
 * tally_use_stream, tally_use_allocator and tally_device_pointer refuse such a context; call them
 * on its members.
 *
 * Example:
 *     float sum;
 *     tally_view part = tally_flat(x, TALLY_F32, 8); // one part, because ctx has one device
 *     tally_reduce_split(ctx, "sum", &part, 1, &sum);
 *     printf("%g %d\n", sum, tally_member(ctx, 0) == ctx); // 31 1 */

/* The context of device k alone, of a context of several devices; NULL past the last. For a
 * context of one device: the context itself for k = 0. tally_close(ctx) releases the members. One
 * thread at a time may use ctx and its members. Operators that were defined in ctx are known in
 * ctx only. */
TALLY_API tally *tally_member(tally *ctx, int k);

/* parts[0 .. count - 1] follow each other as ONE sequence. It may be cut anywhere: parts may be
 * empty and of different lengths. Part k is dense (tally_flat), in the memory of device k or of
 * the host. 1 <= count <= the number of devices of ctx. The results have the bits of the verb on
 * the whole sequence in one place. sum:exact and its like are refused. A part costs no more than
 * a call on one device if it begins at a multiple of a power of two that is at least its length;
 * else it takes up to one more launch for every binary digit of its length. */

/* tally_reduce: out has space for one result, in host memory or in that of any device of ctx. */
TALLY_API tally_status tally_reduce_split(tally *ctx, const char *op, const tally_view *parts,
                                          int count, void *out);
/* tally_scan: the results of part k go to outs[k], which has the length of parts[k] and may be
 * exactly parts[k]. With more than one part every element is read twice, because a part needs the
 * total of the parts before it. options->reverse is refused. */
TALLY_API tally_status tally_scan_split(tally *ctx, const char *op, const tally_view *parts,
                                        int count, const tally_view *outs,
                                        const tally_scan_options *options);
/* tally_window: outs[k] receives the windows of the elements of part k: parts[k].n results; with
 * TALLY_EDGES_VALID only the full windows, so fewer near the ends of the sequence. Windows may
 * extend into other parts. before and after are at least 0, and there is no step. No output may
 * overlap a part. */
TALLY_API tally_status tally_window_split(tally *ctx, const char *op, const tally_view *parts,
                                          int count, const tally_view *outs,
                                          const tally_window_options *options);

#ifdef __cplusplus
}
#endif
#endif

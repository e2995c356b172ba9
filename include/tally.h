/* SPDX-License-Identifier: MIT
 *
 * tally.h - reductions, scans and sliding windows whose results tally: the same bits on any
 * number of threads, at any vector width, at any alignment, on any device.
 *
 * This is the whole public interface and its manual. Simple things come first, advanced ones last.
 *
 *   1  conventions, status, dtypes            5  views: rows, columns, every k-th, segments
 *   2  one-liners                             6  streams: data that comes in chunks
 *   3  the context                            7  fragments: data that is cut and merged
 *   4  the three verbs                        8  operators of your own
 *   9  files: npy, raw, text and CSV         10  what is here: operators, dtypes, devices, conformance
 *  11  the end of a process in the middle of a call
 *  12  exact sums as data                    13  keys: runs, groups, gathers
 *  14  windows by ranges and by keys         15  one sequence on several GPUs
 *  (tally_arrow.h: arrays of Arrow as views; tally_digits.h: exact sums of rows of a database)
 *
 * Every result is defined by "order E, v1" (doc/order.md): write n in binary, fold the aligned
 * power-of-two blocks from the largest to the smallest, left to right; inside a block, a
 * balanced tree of neighbours. So
 *     scan(x)[i] == reduce(x[0..i])   and   window(x, w)[i] == reduce(x[i-w+1 .. i])   in bits,
 * and however the data is cut, streamed or threaded, the bits are the same.
 */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TALLY_BUILDING) && defined(__GNUC__)
#define TALLY_API __attribute__((visibility("default")))
#else
#define TALLY_API
#endif

#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 2
#define TALLY_VERSION_PATCH 0

/* ---- 1 conventions ------------------------------------------------------------------------------------------------
 *
 * Sizes, counts, strides and offsets are signed 64-bit and in ELEMENTS unless a name says bytes.
 * Pointers given to a call are borrowed for the call only; tally never keeps or frees them.
 * Opaque handles are released by their own close/free call, which accepts NULL. Element pointers
 * may have any alignment. Nothing prints, exits or aborts. Where some threads cannot be made
 * (limits of address space or processes), a call runs on those that can be made. A child of fork
 * of a process with threads runs on one thread. The bits are the same. A context of a GPU cannot
 * be used after a fork, since the GPU's driver cannot. tally_open reads TALLY_DEVICE,
 * TALLY_THREADS, TALLY_ISA and TALLY_CODE from the environment. What compiles at run time (GPU
 * devices, users' operators) reads TALLY_KERNELS, TALLY_DUMP, PATH, CC, TMPDIR, and
 * XDG_CACHE_HOME or HOME for the folder of compiled kernels, when it compiles. Nothing else is
 * read. A context, stream, fragment or file serves one thread at a time; different ones may be
 * used at the same time. Every call rounds to nearest and keeps subnormals, and restores the
 * caller's floating-point settings.
 */

/* What a call returns. tally_error(ctx) then holds one sentence naming the argument, its value
   and the limit. */
typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_INVALID,     /* an argument is wrong: the sentence names it */
    TALLY_UNSUPPORTED, /* well-formed, but this operator, dtype or device cannot do it */
    TALLY_NO_MEMORY,   /* an allocation failed; everything was released */
    TALLY_NO_DEVICE,   /* the device is not here, or failed its conformance probe */
    TALLY_IO,          /* the operating system refused: open, read, write, rename */
    /* the content of a file or of an operator's text is wrong; text errors name file:line:column */
    TALLY_BAD_DATA,
    TALLY_MISMATCH /* tally_verify: a result differs from the law */
} tally_status;

typedef enum tally_dtype {
    TALLY_I8 = 1,
    TALLY_U8,
    TALLY_I16,
    TALLY_U16,
    TALLY_I32,
    TALLY_U32,
    TALLY_I64,
    TALLY_U64,
    TALLY_F16,
    TALLY_BF16,
    TALLY_F32,
    TALLY_F64
} tally_dtype;

typedef struct tally tally; /* a context: a device, its threads, the last error */
typedef struct tally_stream tally_stream;
typedef struct tally_fragment tally_fragment;
typedef struct tally_file tally_file;

/* ---- 2 one-liners -------------------------------------------------------------------------------------------------
 * The common reductions of a flat array. They need no context and run on the calling thread
 * alone. n <= 0 gives the operator's empty value (sum 0, mean NaN, min and max NaN or the type's
 * extreme), and x may be NULL then. The bits are those of the verbs.
 */
TALLY_API float tally_sum_f32(const float *x, int64_t n);
TALLY_API double tally_sum_f64(const double *x, int64_t n);
TALLY_API int64_t tally_sum_i32(const int32_t *x, int64_t n);
TALLY_API int64_t tally_sum_i64(const int64_t *x, int64_t n);
TALLY_API float tally_mean_f32(const float *x, int64_t n);
TALLY_API double tally_mean_f64(const double *x, int64_t n);
TALLY_API float tally_min_f32(const float *x, int64_t n);
TALLY_API double tally_min_f64(const double *x, int64_t n);
TALLY_API int32_t tally_min_i32(const int32_t *x, int64_t n);
TALLY_API float tally_max_f32(const float *x, int64_t n);
TALLY_API double tally_max_f64(const double *x, int64_t n);
TALLY_API int32_t tally_max_i32(const int32_t *x, int64_t n);

/* ---- 3 the context ----------------------------------------------------------------------------------------------- */

/* Opens a context on a device and stores it in *ctx.
 * device: "auto" or NULL (TALLY_DEVICE if set, else the best for host data), "cpu" or "cpu:0",
 * which are the same, "cuda:N" and "opencl:N", as tally_device lists them (N may be left out:
 * 0). "cuda:0+2" is several of a kind as one context, "cuda:all" every one that is usable
 * (section 15). Options follow a comma: "cpu,threads=2,isa=avx2".
 *   threads     the most threads to use, 1..1024; default: the processors that affinity and the
 *               cgroup's CPU quota leave (or TALLY_THREADS). On a GPU it is for what the
 *               processors do there
 *   isa         one of the names that tally_device lists; default: the widest that runs here (or
 *               TALLY_ISA). On a GPU it is for what the processors do there
 *   memory      for GPUs: the most device memory that the context may hold (of several devices:
 *               on each), in bytes or as in "cuda:0,memory=2G" (K, M, G: 2^10, 2^20, 2^30; at
 *               least 64K); default: all there is
 *   code        on CUDA: how kernels are compiled at run time (or TALLY_CODE). "auto", the
 *               default: quickly, with little optimisation; from a kernel's third launch on a
 *               thread makes its best code, which later calls and later processes take. "quick":
 *               always so. "best": every first call waits for the best code. The bits are the
 *               same
 *   probe=off   opens a GPU device without the start-up probe; other devices ignore it
 * The probe compares 22 vectors with the law when a device (model, driver, version of tally,
 * kernel texts) is opened for the first time, and remembers in the folder of compiled kernels
 * that the device passed. A device that differs is TALLY_NO_DEVICE, and the sentence names the
 * operator, the dtype, n and both bit patterns. TALLY_DEVICE may have options too: when it is
 * "cpu,threads=4", "auto,isa=avx2" means "cpu,threads=4,isa=avx2". Options given here win over
 * those in TALLY_DEVICE, and those win over TALLY_THREADS, TALLY_ISA and TALLY_CODE. On failure
 * *ctx is NULL, and tally_error(NULL) has the sentence (one per thread). */
TALLY_API tally_status tally_open(tally **ctx, const char *device);

/* Releases the context, its threads' memory and its caches; a compiler that still makes better
 * code is stopped after the step that it is at, a second at most for most kernels. ctx may be
 * NULL. Streams and fragments opened from it must be closed first. */
TALLY_API void tally_close(tally *ctx);

/* The sentence of the last failed call on ctx ("" if none failed). Owned by ctx, valid until the
 * next call on it. ctx NULL: the last failure on this thread that had no context. */
TALLY_API const char *tally_error(const tally *ctx);

/* The number of threads of the context, and the name of its instruction set (on a GPU the
 * device's name, "cuda:0", of several "cuda:0+1"). */
TALLY_API int tally_threads(const tally *ctx);
TALLY_API const char *tally_isa(const tally *ctx);

/* GPUs. The verbs take host memory and device memory, and each input and output may be either.
 *   Host memory     has any size. A small array is copied to the device and back at once. A
 *                   larger one goes through page-locked memory in pieces, beside the kernels
 *                   (doc/gpu.md), so it need not fit the device. If it is page-locked already
 *                   (cudaHostAlloc, cudaHostRegister), dense pieces are copied directly.
 *   Device memory   is used in place. On CUDA it is any address of this device (from cudaMalloc
 *                   or cuMemAlloc of any library in this process: the primary context is used).
 *                   On OpenCL see tally_device_pointer.
 *   Offsets         are in host memory or in device memory (aligned to 8 bytes). Reductions,
 *                   forward scans and windows of segments read device offsets on the device,
 *                   which saves the check and the copy (the call waits once, for 64 bytes).
 *                   Other calls copy them to the host first.
 *   Streams         and fragments take device memory too.
 *   The processors  do some work in every context (doc/gpu.md has the list, tally_times counts
 *                   the elements): scans and windows of exact sums, windows of a step, of
 *                   negative offsets or by ranges, groups, reversed scans of segments, small
 *                   pushes of streams. What is device memory is copied for them, and results
 *                   back; the bits are the same.
 * The caller's current CUDA context is restored. */

/* Issues the context's work to `stream`: on CUDA a CUstream or cudaStream_t of the same device
 * (not NULL: cudaStreamPerThread and cudaStreamLegacy are allowed), on OpenCL a cl_command_queue
 * of the same device that keeps the order of commands. A call whose data and results are all on
 * the device then returns without waiting, and an error of the device may show at a later call.
 * NULL: back to the context's own stream, where every call waits for its results. A stream that
 * is captured into a CUDA graph is refused (TALLY_UNSUPPORTED). The stream must live until then
 * or until tally_close. On OpenCL the context moves to the queue's cl_context: programs are
 * compiled anew, and pointers of tally_device_pointer must be forgotten before. */
TALLY_API tally_status tally_use_stream(tally *ctx, void *stream);

/* OpenCL memory has no addresses, and views need one: *pointer becomes an address that stands
 * for the first byte of `object`, a cl_mem buffer of the cl_context that tally_use_stream
 * brought. Plain arithmetic on it names the rest; views take it as data, reduce as out. The
 * addresses are reserved for it and cannot be read by the host. tally keeps a reference to the
 * object until tally_device_forget or tally_close; its memory is the caller's. TALLY_INVALID: no
 * cl_mem, or of another cl_context. TALLY_UNSUPPORTED on the other devices (CUDA's memory has
 * addresses of its own). */
TALLY_API tally_status tally_device_pointer(tally *ctx, void *object, void **pointer);
/* Ends what tally_device_pointer began; work under way that uses the object is still done. */
TALLY_API tally_status tally_device_forget(tally *ctx, void *pointer);
/* Bytes from one place to another, where each is host memory or memory of a device of ctx. They
 * are there when it returns, and what the context's stream has been given before is done. The
 * two must not overlap. */
TALLY_API tally_status tally_copy(tally *ctx, void *to, const void *from, size_t bytes);
/* *device = k: p is memory of device k of ctx (tally_member; of one device: 0). -1: it is host
   memory, or NULL. */
TALLY_API tally_status tally_owner(tally *ctx, const void *p, int *device);

/* Where the time of a context's calls goes. The seconds are measured on the device (by events
 * before and after each kernel and each copy in its stream). Copies run beside kernels, so their
 * sum may exceed the time of the calls. */
typedef struct tally_times_info {
    double kernels;                /* seconds in kernels */
    double to_device, from_device; /* seconds of copies between host and device */
    /* seconds that calls waited for the compiling or loading of kernels */
    double compile;
    int64_t bytes_to_device, bytes_from_device;
    int64_t device_bytes; /* device memory that the context holds now, its pool included */
    int64_t locked_bytes; /* page-locked host memory that it holds now */
    int64_t launches;     /* kernels started on the device, and */
    /* elements that the processors took instead: since tally_time or tally_open, measured or not */
    int64_t on_processors;
} tally_times_info;
/* on 1: measuring begins, from zero. on 0: it ends; tally_open begins so. A call that is not
 * measured costs nothing more. */
TALLY_API tally_status tally_time(tally *ctx, int on);
/* What was measured since tally_time. Waits for the work under way. On the processors all of it
   is zero. */
TALLY_API tally_status tally_times(tally *ctx, tally_times_info *times);

/* ---- 4 the three verbs ------------------------------------------------------------------------------------------- */

typedef struct tally_view tally_view; /* what they run on: section 5 */

/* An operator is named by a string: NAME, NAME:f64 (an f64 accumulator for f16, bf16 and f32),
 * NAME:PARAM or NAME:param=VALUE ("var:1", "var:ddof=1", "ema:alpha=0.1"), in any combination
 * ("ema:f64:0.1"). tally_operators lists the names; tally_operator says what the result is.
 *
 * sum:exact, mean:exact, dot:exact and their nan forms of f16, bf16, f32 and f64 give the real
 * sum or mean of the elements, or the real sum of the real products, rounded once to nearest
 * even (to f32, of f64 to f64; with :f64 to f64). No order changes a bit of it. It overflows
 * only where that rounded value does, and it is never -0; a NaN, or inf and -inf, give NaN
 * (doc/exact.md). On GPUs the processors compute scans and windows of it. */

/* reduce: one result per sequence. out has in->rows results (times lanes, see
 * tally_operator_info), dense, of the operator's output dtype. An empty sequence gives the
 * operator's empty value. With rows == 0 nothing is written. out must not overlap in. */
TALLY_API tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out);

/* Which of these results are of elements: bit number valid_offset + r of valid, least
 * significant first, becomes 0 where none is left of sequence r (there are none, all are left
 * out, or, with a nan form, NaN), else 1. Scans and windows write such bits if their output view
 * has `valid` (section 5). The processors do it, of any memory. */
TALLY_API tally_status tally_reduce_valid(tally *ctx, const char *op, const tally_view *in,
                                          void *valid, int64_t valid_offset);

/* How a scan runs. NULL options, or all 0: inclusive, forward, no init. */
typedef struct tally_scan_options {
    int exclusive; /* out[i] leaves out element i; out[0] is init, or the empty value */
    /* scan the reversed sequence and write it reversed: out[i] folds x[n-1], ..., x[i], in that
       order */
    int reverse;
    /* NULL, or one value of the output dtype that starts every sequence (sum, prod, min, max,
     * nan*, bit operators, first, last, ema; refused for the others) */
    const void *init;
} tally_scan_options;

/* scan (prefix fold): out[i] = reduce(x[0..i]) in bits (exclusive: x[0..i-1]). out is a view of
 * the same rows and lengths as in (with offsets: the same offsets). Its dtype is the operator's
 * output dtype. Several lanes of a result are neighbours, and strides count results. out may be
 * exactly in (same data, strides and element size); any other overlap is refused. */
TALLY_API tally_status tally_scan(tally *ctx, const char *op, const tally_view *in,
                                  const tally_view *out, const tally_scan_options *options);

/* What becomes of a window that is not full: one that reaches beyond its sequence. */
typedef enum tally_edges {
    TALLY_EDGES_MISSING = 0, /* n results; a window that is not full gives the empty value */
    TALLY_EDGES_SHRINK,      /* n results; a window that is not full folds the elements it has */
    TALLY_EDGES_VALID        /* max(n - w + 1, 0) results: only the full windows */
} tally_edges;

/* Window i covers elements i - before .. i + after, w = before + 1 + after of them. Trailing
 * windows of w: before = w - 1, after = 0. Centred: before = w / 2, after = (w - 1) / 2. One of
 * the two may be negative, w is at least 0: before = -1, after = 3 are the three elements after
 * i. Such windows, and those of a step, are folded one by one: their time is that of all their
 * elements. On a GPU the processors do that, and streams refuse them. */
typedef struct tally_window_options {
    int64_t before, after; /* both 0: each element alone */
    tally_edges edges;
    int64_t
        min_count; /* 0, or: a window with fewer elements (not counting NaN for nan* operators) is empty. With
                          TALLY_EDGES_MISSING, min_count > 0 also gives windows a value that are not full, if they
                          have at least min_count elements */
    /* 0 or 1: all results; s: of these, numbers 0, s, 2 s, ... alone (with offsets refused) */
    int64_t step;
} tally_window_options;

/* window: out[i] = reduce of window i's elements alone, counted from the window's first element;
 * nothing outside a window touches its bits. out is a view with in's rows and
 * tally_window_length(n, options) elements in each sequence (with offsets, edges valid is
 * refused, since lengths would change). Overlap is as for scan, but in place is refused. */
TALLY_API tally_status tally_window(tally *ctx, const char *op, const tally_view *in,
                                    const tally_view *out, const tally_window_options *options);

/* Results in a sequence of n elements: n, or what edges valid leaves; with a step, every step-th
   of them. */
TALLY_API int64_t tally_window_length(int64_t n, const tally_window_options *options);

/* ---- 5 views: rows, columns, every k-th, segments ------------------------------------------------------------------
 *
 * A view is a batch of 1-D sequences; each is its own problem, counted from its own first
 * element. Strides may be anything that stays within memory. In inputs, stride 0 repeats an
 * element and row_stride 0 repeats a sequence: that many elements are read from one place. A
 * view of results must have a place of its own for each result. Strides that no element depends
 * on (of a sequence of one element, of a single sequence) are ignored. Of a view without
 * elements only rows, n and offsets count: 2^62 rows of 0 elements are nothing to scan. The
 * elements of a view, counted as they are read, take less than 2^63 bytes, and so does the
 * distance that its strides span. */
struct tally_view {
    /* element (0, 0); never written through an input view; NULL allowed when there is no element */
    void *data;
    tally_dtype dtype;
    /* how many sequences; 0: nothing to do. A view whose rows and row_stride are 0 but whose n is
     * not (or with data and stride 0) was not filled in: it is refused. One sequence: rows = 1 */
    int64_t rows;
    int64_t n;          /* elements in each (ignored with offsets) */
    int64_t row_stride; /* elements from one sequence to the next (ignored with offsets) */
    /* elements from one element to the next: 1 dense, k every k-th, negative walks backwards. A
       stride that is not filled in is 0: every element of the sequence is its first one */
    int64_t stride;
    /* NULL, or rows + 1 ascending offsets (CSR): sequence r is [offsets[r], offsets[r+1]) *
     * stride. On a GPU device they may be in host or in device memory (section 3) */
    const int64_t *offsets;
    /* NULL, or one bit for each element, least significant bit first, as in Arrow: 0 leaves the
     * element out. The bits follow the elements' places: that of element (r, i) is number
     * valid_offset + r * row_stride + i * stride (with offsets valid_offset + j * stride for the
     * element number j). In an output view they are written: 0 where a result is of no elements,
     * or a window of fewer than min_count or, by the rule for edges, not full; else 1. The
     * result beside a 0 is the operator's empty value. Streams and windows by ranges write no
     * such bits */
    const void *valid;
    int64_t valid_offset;
    /* NULL, or the operator's second input: the same rows and lengths (with offsets: the same
     * offsets), any strides, any dtype; its own next is NULL */
    const tally_view *next;
};

/* n neighbouring elements: one sequence. */
static inline tally_view tally_flat(const void *data, tally_dtype dtype, int64_t n)
{
    tally_view v = {(void *)(uintptr_t)data, dtype, 1, n, n, 1, NULL, NULL, 0, NULL};
    return v;
}
/* The rows of a row-major matrix of rows x columns elements. */
static inline tally_view tally_rows(const void *data, tally_dtype dtype, int64_t rows,
                                    int64_t columns)
{
    tally_view v = {(void *)(uintptr_t)data, dtype, rows, columns, columns, 1, NULL, NULL, 0, NULL};
    return v;
}
/* The columns of a row-major matrix of rows x columns elements: `columns` sequences of `rows`
   elements. */
static inline tally_view tally_columns(const void *data, tally_dtype dtype, int64_t rows,
                                       int64_t columns)
{
    tally_view v = {(void *)(uintptr_t)data, dtype, columns, rows, 1, columns, NULL, NULL, 0, NULL};
    return v;
}
/* `segments` sequences of neighbouring elements, cut by segments + 1 ascending offsets. */
static inline tally_view tally_segments(const void *data, tally_dtype dtype, const int64_t *offsets,
                                        int64_t segments)
{
    tally_view v = {(void *)(uintptr_t)data, dtype, segments, 0, 0, 1, offsets, NULL, 0, NULL};
    return v;
}

/* ---- 6 streams ----------------------------------------------------------------------------------------------------
 * The one-shot result, bit for bit, from data that comes in chunks of any size. State: a binary
 * counter of at most 64 nodes (reduce, scan), plus the last w - 1 elements (window). A stream is
 * one sequence, its data in the order of the pushes; or it is many (tally_stream_reduce_rows). */
TALLY_API tally_status tally_stream_reduce(tally *ctx, const char *op, tally_dtype dtype,
                                           tally_stream **stream);
/* Forward scans only: options->reverse is refused. */
TALLY_API tally_status tally_stream_scan(tally *ctx, const char *op, tally_dtype dtype,
                                         const tally_scan_options *options, tally_stream **stream);
TALLY_API tally_status tally_stream_window(tally *ctx, const char *op, tally_dtype dtype,
                                           const tally_window_options *options,
                                           tally_stream **stream);
/* Pushes n dense elements; *produced becomes the number of results written. reduce: none, and
 * out and produced may be NULL. scan: n results. window: the results that became known, at most
 * n + before + after; out must have space for tally_stream_room(stream, n) results. out must not
 * overlap x, except that a scan may be in place. */
TALLY_API tally_status tally_stream_push(tally_stream *stream, const void *x, int64_t n, void *out,
                                         int64_t *produced);
/* Ends the data. reduce: writes the one result. scan: writes nothing. window: writes the results
 * that are left. After that the stream can only be closed. */
TALLY_API tally_status tally_stream_finish(tally_stream *stream, void *out, int64_t *produced);
/* The most results a push of n elements can write (2^63 - 1 if they are more); with n = -1, the
   most a finish can. */
TALLY_API int64_t tally_stream_room(const tally_stream *stream, int64_t n);
TALLY_API void tally_stream_close(tally_stream *stream);
/* A stream of reduce or scan, of one sequence or of many, that was pushed nothing yet goes on
 * after what the fragment (section 7) has, which must be all from 0 on: the same operator, dtype
 * and number of sequences; the fragment stays as it is. */
TALLY_API tally_status tally_stream_resume(tally_stream *stream, const tally_fragment *before);
/* tally_stream_push of the elements at x that `folded` is a fragment of, which must have one
 * range, from the stream's next element on. What a scan gives is the same; of device memory it
 * reads x once less. x must not have changed since the fragment was made of it. */
TALLY_API tally_status tally_stream_push_folded(tally_stream *stream, const void *x,
                                                const tally_fragment *folded, void *out,
                                                int64_t *produced);

/* Many sequences that grow together, such as the cells of a field from step to step: the results
 * of tally_reduce, tally_scan, tally_window of `rows` sequences. Any memory; a GPU takes a
 * reduction whose first step is its memory, the processors all else. State: of reduce and scan
 * up to 7 steps as they came, a node of each sequence for each bit of the steps' number (of a
 * scan two): a step costs a copy, every eighth a fold of 8; of a window the steps it needs.
 *
 * A push takes a view of `rows` sequences, with n more elements of each (a step:
 * tally_columns(x, dtype, 1, rows)). Streams of one sequence take views of one. The view may
 * have validity and a second input, in any of the pushes; of an operator of two inputs dtype is
 * their common type (doc/inputs.md). out: of a reduction NULL (finish writes `rows` results);
 * else a view of the results, which must not overlap in, except that a scan of one sequence may
 * be in place: of a scan as many as in has elements, of a window at least
 * tally_stream_results(stream, in->n) of each sequence. tally_stream_room counts those of all
 * sequences; a window's finish writes those of each sequence as neighbours. */
TALLY_API tally_status tally_stream_reduce_rows(tally *ctx, const char *op, tally_dtype dtype,
                                                int64_t rows, tally_stream **stream);
TALLY_API tally_status tally_stream_scan_rows(tally *ctx, const char *op, tally_dtype dtype,
                                              int64_t rows, const tally_scan_options *options,
                                              tally_stream **stream);
TALLY_API tally_status tally_stream_window_rows(tally *ctx, const char *op, tally_dtype dtype,
                                                int64_t rows, const tally_window_options *options,
                                                tally_stream **stream);
TALLY_API tally_status tally_stream_push_view(tally_stream *stream, const tally_view *in,
                                              const tally_view *out);
/* The results of each sequence that a push of a view of n more elements gives; with n = -1,
   those of the finish. */
TALLY_API int64_t tally_stream_results(const tally_stream *stream, int64_t n);
/* As tally_stream_finish, into a view of as many results of each sequence. */
TALLY_API tally_status tally_stream_finish_view(tally_stream *stream, const tally_view *out);

/* Many sequences that grow in any order, such as groups of equal keys: the result of tally_reduce
 * for each group's elements alone, in the order of the pushes. Element i of a push belongs to
 * group codes[i], 0 <= codes[i] < groups; groups may grow from push to push, and a group may stay
 * without elements. finish writes a result for each of the `groups` of the last push. Dense
 * elements in host memory, of operators of one input; the processors do it. State: 16 bytes for
 * each group, and for g elements of a group at most floor(log2 g) + 1 nodes, twice as many while
 * it grows (an exact sum: up to 256 elements, with more of them 2.2 KB); 1 KB more for at most
 * 4096 groups with many elements. */
TALLY_API tally_status tally_stream_reduce_groups(tally *ctx, const char *op, tally_dtype dtype,
                                                  tally_stream **stream);
TALLY_API tally_status tally_stream_push_groups(tally_stream *stream, const void *x,
                                                const int32_t *codes, int64_t n, int64_t groups);

/* ---- 7 fragments --------------------------------------------------------------------------------------------------
 * The reduction of slabs [start, start + n) of a longer sequence, each as at most 2 log2 n
 * aligned nodes. Fragments merge exactly, in any order and with gaps until the last slab is
 * there: cut the data anywhere, on any machines, and the final bits are those of the one-shot
 * reduce. */
TALLY_API tally_status tally_fragment_make(tally *ctx, const char *op, tally_dtype dtype,
                                           const void *x, int64_t start, int64_t n,
                                           tally_fragment **fragment);
/* The same of many sequences at once: elements start .. start + x->n - 1 of each sequence of a
 * view (without offsets), which may have validity and a second input; of two inputs the
 * fragment's dtype is their common type (doc/inputs.md). All have the same slabs, so the
 * fragment has one list of ranges, and results of x->rows sequences. Fragments merge with those
 * of as many sequences, elements left out or not. Any memory; on a GPU the processors do it. */
TALLY_API tally_status tally_fragment_of_view(tally *ctx, const char *op, const tally_view *x,
                                              int64_t start, tally_fragment **fragment);
/* Adds what right has to left; right stays as it is. What both have is TALLY_INVALID, and
   nothing changes. */
TALLY_API tally_status tally_fragment_merge(tally_fragment *left, const tally_fragment *right);
/* The result of a fragment that has every element from 0 to its end. out: one result (x lanes)
   of each sequence. */
TALLY_API tally_status tally_fragment_result(const tally_fragment *fragment, void *out);
/* From its first element to its last. */
TALLY_API void tally_fragment_range(const tally_fragment *fragment, int64_t *start, int64_t *end);
/* How many ranges it has, with gaps between them; ranges first .. first + count - 1 go to starts
 * and ends (each may be NULL). */
TALLY_API int64_t tally_fragment_ranges(const tally_fragment *fragment, int64_t first,
                                        int64_t count, int64_t *starts, int64_t *ends);
typedef struct tally_fragment_info {
    const char *op; /* lives as long as the fragment */
    tally_dtype dtype;
    int64_t elements, ranges, nodes; /* of each sequence */
    int64_t rows;                    /* sequences */
} tally_fragment_info;
TALLY_API void tally_fragment_about(const tally_fragment *fragment, tally_fragment_info *info);
/* A portable byte string (little-endian, versioned, with a checksum). save: *bytes is the size
 * of buffer on entry and the length on return; buffer NULL asks for the length. load: anything
 * truncated, altered or foreign is TALLY_BAD_DATA. */
TALLY_API tally_status tally_fragment_save(const tally_fragment *fragment, void *buffer,
                                           size_t *bytes);
TALLY_API tally_status tally_fragment_load(tally *ctx, const void *buffer, size_t bytes,
                                           tally_fragment **fragment);
TALLY_API void tally_fragment_free(tally_fragment *fragment);

/* ---- 8 operators of your own ---------------------------------------------------------------------------------------
 * An operator is a short text in C (doc/user-operators.md teaches it in ten minutes): a state,
 * lift, combine, lower, empty. Once defined, its name goes wherever an operator's name goes in
 * this context, on every device and with the same bits; the order of operands is kept, so it
 * need not commute.
 *
 * The text's facts are read at once. The text is compiled at its first use for a dtype. For the
 * processors the system's C compiler does it ($CC, or cc, gcc or clang from PATH), on a GPU
 * NVRTC or the OpenCL driver. A GPU needs no C compiler, except for streams, fragments and
 * reversed scans of segments (without one they are TALLY_UNSUPPORTED). Compiled code is kept on
 * disk ($XDG_CACHE_HOME/tally or ~/.cache/tally). The text is code that runs with your rights:
 * do not define what strangers send.
 *
 * A wrong text is TALLY_BAD_DATA. The sentence names where:line and the first mistake, here, or
 * at first use if only the compiler sees it. Built-in names are refused. A name that was defined
 * before means the new text from the next call on; streams and fragments keep the text they were
 * made with. A fragment saves the name and a hash of the text; to load it, the same text must be
 * defined. tally_close releases all. */

/* name: letters, digits and _, at most 31. text: NUL-terminated, at most 64 KiB, copied. where:
 * what errors call the text, NULL: name. */
TALLY_API tally_status tally_define(tally *ctx, const char *name, const char *text,
                                    const char *where);
/* The same from a file. name NULL: the file's, without folder and ending. */
TALLY_API tally_status tally_define_file(tally *ctx, const char *name, const char *path);

/* ---- 9 files ----------------------------------------------------------------------------------------------------- */

/* How to read a file. All zero: guess everything from the name and the first bytes. Strings are
 * borrowed for the call. */
typedef struct tally_file_options {
    const char *format; /* NULL or "auto", "npy", "raw", "text", "csv", "netcdf" */
    /* raw: required. text, csv: what to parse into (default f64). npy: checked if given; bf16
       for V2 */
    tally_dtype dtype;
    /* csv, text: a column's name or its number from 1, or several: "price,qty", "2-5", "3-" (to
     * the last). NULL: in csv the only column with numbers; in text every number is a value,
     * line by line */
    const char *column;
    char delimiter; /* 0: guess (csv: comma, semicolon or tab; text: white space) */
    /* 0: guess, and refuse where the first lines do not say it; 1 the first line is a header, -1
     * it is not */
    int header;
    /* bad cells are skipped and counted instead of being an error; in a table each with its line */
    int skip_bad;
    /* raw, text, csv: the dtype if `dtype` is 0 (a file that says its own type keeps that) */
    tally_dtype assume;
    /* csv, text: a row of values per line (ndim 2), also of one column. Several columns always
       are * a table. column NULL then means all columns that have numbers */
    int table;
    int keep; /* csv, text: a table whose lines tally_file_line gives too */
    /* csv, text: the key columns, named like those of `column`. Lines with the same key cells
     * are a group: see tally_file_read_by. Where `column` is NULL, columns of values are chosen
     * among the others */
    const char *by;
    /* netcdf: the name of a variable, or GROUP/NAME; NULL: the only one that is no coordinate of
     * a dimension. Missing values become NaN and packed ones f64, as doc/formats.md says; dtype
     * f64 asks for f64 */
    const char *variable;
    /* netcdf: NULL, or files with the same variable, and NULL: they are one array, one after the
     * other along the dimension `along`. Their numbers along it (the variable of its name) must go
     * on from file to file, without one that repeats or goes back */
    const char *const *more;
    /* the last column of `by` is no key but has the times of the lines: see
       tally_file_read_times */
    int by_time;
    /* csv, text: lines that begin with this character are skipped. 0: '#' in text, none in csv;
     * -1: none */
    int comment;
    /* csv, text: a character between groups of three digits, as in "4,903,185"; 0: none */
    char thousands;
    const char *along; /* netcdf, with `more`: the name of a dimension; NULL: the first */
    /* netcdf: how many bytes of chunks may stay in memory because parts of them are read again; 0:
       512 MiB */
    int64_t memory;
} tally_file_options;

typedef struct tally_file_info {
    const char *name;   /* as given; "-" is standard input */
    const char *format; /* "npy", "raw", "text", "csv" or "netcdf" */
    tally_dtype dtype;
    int ndim;         /* 1 for raw, text, csv; 2 for a table */
    int64_t shape[8]; /* -1: unknown until the end (text, csv, pipes); a table: {-1, columns} */
    int64_t elements; /* product of shape, or -1 */
    int fortran;      /* npy: column-major order */
    /* All elements in native byte order in memory, or NULL (then call tally_file_read). This is
     * the file itself: where the file has become shorter since, reading gives zeros or the
     * signal SIGBUS, so look at `shrunk` when the work is done. tally_file_read gives neither:
     * it fails. */
    const void *mapped;
    int64_t skipped;                 /* bad cells skipped so far */
    int64_t bytes_read, bytes_total; /* progress; total -1 if unknown */
    /* the file is shorter than when it was opened: what was read through `mapped` is not its
       content */
    int shrunk;
    const char *header; /* csv, text: the header's line, or NULL */
    /* with a header: what it calls the columns that are read; else NULL */
    const char *const *columns;
    char delimiter;                /* csv, text: 0 is white space */
    int64_t key_columns;           /* options.by: how many; else 0 */
    const char *const *keys;       /* with a header: what it calls the key columns; else NULL */
    const char *const *dimensions; /* netcdf: their names (a single value: NULL); else NULL */
    /* options.by_time, what has been read: 0 nothing, 1 numbers, 2 times without a zone, 3 with
       one */
    int times;
    int64_t comments; /* of a table: lines skipped so far because they are comments */
    /* netcdf: elements along each dimension that are stored, and best read, together; 0: unknown */
    int64_t chunk[8];
    /* netcdf: these attributes of the variable ("days since 1970-01-01"); else NULL */
    const char *units, *calendar;
} tally_file_info;

/* Opens a file for reading. path "-" is standard input. options NULL: all zero, guess
 * everything. On failure *file is NULL, and the error sentence names the file and what is wrong
 * with it. ctx NULL: one thread, and the sentence is in tally_error(NULL). */
TALLY_API tally_status tally_file_open(tally *ctx, const char *path,
                                       const tally_file_options *options, tally_file **file);
/* What is known now (counts grow while it is read). Its pointers, `mapped` too, are the file's:
 * read them until tally_file_close. file NULL: all zero, bytes_total -1. */
TALLY_API void tally_file_get_info(const tally_file *file, tally_file_info *info);
/* Reads the next elements, at most max, in the order in which the file holds them, into buffer;
 * *got is 0 at the end. (Column-major data comes with its first index running fastest, here and
 * in `mapped`: nothing is transposed.) */
TALLY_API tally_status tally_file_read(tally_file *file, void *buffer, int64_t max, int64_t *got);
/* netcdf: the part of the array that begins at start and has count elements along each
 * dimension, in C order. Reads in order go on where they were. */
TALLY_API tally_status tally_file_read_box(tally_file *file, const int64_t *start,
                                           const int64_t *count, void *buffer);
/* options.by: the same, and for each line the number of its group. Groups are numbered from 0 in
 * the order in which their keys first appear. Keys are compared as text, without blanks and
 * quotes around it: 1 and 1.0 are two, an empty cell is a key too. *got elements come with a
 * code for each line of them; max is at least a line. codes NULL: none. */
TALLY_API tally_status tally_file_read_by(tally_file *file, void *buffer, int32_t *codes,
                                          int64_t max, int64_t *got);
/* The time of a line: whole nanoseconds since 1970, part 0; or the number
 * whole + part / TALLY_KEY_PART, exactly. */
typedef struct tally_line_time {
    int64_t whole, part;
} tally_line_time;
/* options.by_time: the same, and the time of each line. Times are ISO 8601
 * (2024-05-01T13:30:00.5+02:00, also 20240501T1330, and a blank for T), with at most nine digits
 * after the second; all have the same zone, or none has one. Or they are numbers from -2^63 to
 * 2^64 - 1 with at most 18 digits after the point. *dtype, of `whole`, is i64, or u64 from the
 * read on that meets a number above 2^63 - 1; a column that has a number below 0 too is an error.
 * Within a group times must not fall. codes must be NULL if there is no key column. */
TALLY_API tally_status tally_file_read_times(tally_file *file, void *buffer, int32_t *codes,
                                             tally_line_time *times, tally_dtype *dtype,
                                             int64_t max, int64_t *got);
/* How many groups there are so far (0: none, or no options.by), and cell `column` of a group's
 * key, both from 0. The text is the file's, until it is closed; NULL: there is no such cell. */
TALLY_API int64_t tally_file_groups(const tally_file *file);
TALLY_API const char *tally_file_key(const tally_file *file, int64_t group, int64_t column);
/* options.keep: the text of the next line among those whose values tally_file_read gave, without
 * its line end; *line NULL: that was the last. It is valid until the next tally_file_read, and
 * lines that were not asked for until then are passed over. */
TALLY_API tally_status tally_file_line(tally_file *file, const char **line, size_t *length);
/* Ends reading or writing, and frees the file; NULL is fine. A file that was created must be
 * closed too, also after its commit. Without a commit what was written is thrown away, and the
 * old file stays. (Standard output, FIFOs and devices keep what they were given.) */
TALLY_API void tally_file_close(tally_file *file);

/* Creates a file for writing. Everything goes to a new file beside it; tally_file_commit brings
 * that to the disk and renames it. Where the file system can do it (O_TMPFILE), the new file has
 * no name until then, and nothing is left if the process dies. Elsewhere its name is
 * .tally-*.tmp; tally_file_close removes it if it was not committed, and so does tally_abandon
 * (section 11). The file behind a symbolic link is replaced, not the link. The mode of an old
 * file is kept. FIFOs and devices are written directly. path "-" is standard output (text, csv,
 * raw, and npy when the shape is known). format NULL: by the name's ending (.npy, .csv, .txt,
 * .nc and .cdf: NetCDF as CDF-5, .nc4: NetCDF-4, .h5, .hdf5, .he5: the same as HDF5; else raw).
 * NetCDF and HDF5 are written by libnetcdf, to regular files. shape: ndim extents; the first may
 * be -1: as many as will be written. hex: text and csv print exact bits. */
TALLY_API tally_status tally_file_create(tally *ctx, const char *path, const char *format,
                                         tally_dtype dtype, int ndim, const int64_t *shape, int hex,
                                         tally_file **file);
/* text, csv: a line before the first element, such as the names of the columns. netcdf: the
 * names of the variable and the dimensions, such as "mean(lat, lon)"; without them it is
 * data(dim0, dim1). */
TALLY_API tally_status tally_file_head(tally_file *file, const char *line);
/* netcdf: the value, of the file's dtype, that stands for "none": its attribute _FillValue.
   After the names. */
TALLY_API tally_status tally_file_fill(tally_file *file, const void *value);
/* netcdf: a variable of one dimension, 0.. in the order of the shape, that says what its steps
 * are: as many values as the dimension is long. After the names and the value for "none", before
 * elements. */
TALLY_API tally_status tally_file_coordinate(tally_file *file, const char *name, int dimension,
                                             tally_dtype dtype, const void *values);
/* netcdf: the coordinates that source, a NetCDF file that is open for reading, has for
 * dimensions of the same name and length, with their attributes. */
TALLY_API tally_status tally_file_like(tally_file *file, const tally_file *source);
/* Writes n elements. A line of text or csv has the values of the last axis, with tabs (csv:
 * commas) between them; one if there is one axis only. */
TALLY_API tally_status tally_file_write(tally_file *file, const void *data, int64_t n);
/* Flushes, completes the header, waits until the disk has it (fsync), renames. On any failure
 * the temporary file is removed and the old file is untouched. */
TALLY_API tally_status tally_file_commit(tally_file *file);

/* One value as text: the shortest decimal that reads back to the same bits (hex: 0x and the
 * bits), never locale-dependent. buffer: 48 bytes suffice. Returns the length. */
TALLY_API int tally_format_value(tally_dtype dtype, const void *value, int hex, char *buffer,
                                 size_t bytes);
/* One decimal (or inf, nan, 0x bits) of `length` characters as a value of dtype, exactly
 * rounded. Returns TALLY_BAD_DATA if it is not one. */
TALLY_API tally_status tally_parse_value(tally_dtype dtype, const char *text, size_t length,
                                         void *value);
/* 10^18: the parts of a decimal that an integer has. */
#define TALLY_KEY_PART INT64_C(1000000000000000000)
/* One decimal of `length` characters (2, 2.5, 25e-1) as whole + part / TALLY_KEY_PART, exactly,
 * with 0 <= part < TALLY_KEY_PART: what tally_key_window takes. Returns TALLY_BAD_DATA if it is no
 * decimal, TALLY_UNSUPPORTED if it is not in -2^63 .. 2^63 or has more than 18 digits after the
 * point. */
TALLY_API tally_status tally_parse_decimal(const char *text, size_t length, int64_t *whole,
                                           int64_t *part);

/* ---- 10 what is here --------------------------------------------------------------------------------------------- */

/* The names, NULL-terminated; static memory. */
TALLY_API const char *const *tally_operators(void);
TALLY_API const char *tally_dtype_name(tally_dtype dtype); /* NULL if there is no such dtype */
TALLY_API tally_dtype tally_dtype_parse(const char *name); /* 0 if there is no such dtype */
TALLY_API size_t tally_dtype_size(tally_dtype dtype);      /* bytes; 0 if there is no such dtype */
/* The type that two inputs of types a and b are widened to (doc/inputs.md has the table); 0 if
 * there is no such dtype. */
TALLY_API tally_dtype tally_common_dtype(tally_dtype a, tally_dtype b);
TALLY_API const char *tally_version(void);
TALLY_API const char *tally_status_name(tally_status status);

typedef struct tally_operator_info {
    const char *name;
    const char *text;        /* one line */
    const char *empty;       /* what no elements give, in words */
    const char *param;       /* "" or the parameter's name */
    tally_dtype output;      /* for the dtype asked about */
    tally_dtype accumulator; /* the arithmetic's dtype; 0: none (moves and comparisons only) */
    int lanes;               /* values per result */
    /* 1: class X, any schedule gives the bits; 0: class R, the tree decides them */
    int exact;
    int seedable; /* takes an init */
    int inputs;   /* 1, or 2: of a view and its next (section 5) */
} tally_operator_info;
/* What `op` (with its suffixes) is for elements of dtype. The error names the choices. ctx may
   be NULL. */
TALLY_API tally_status tally_operator(tally *ctx, const char *op, tally_dtype dtype,
                                      tally_operator_info *info);

typedef struct tally_device_info {
    const char *name; /* what tally_open takes */
    const char *text; /* what it is */
    int usable;
    const char *reason; /* why not, or "" */
    int processors;     /* the most threads a context uses by default */
    /* the CPU instruction sets compiled in that run here, widest last, separated by spaces */
    const char *isas;
} tally_device_info;
/* Device number index (from 0); TALLY_INVALID past the end. */
TALLY_API tally_status tally_device(int index, tally_device_info *info);

/* Checks the context's device against the law executed in scalar C: `cases` random cases
 * (operator, dtype, shape, view, sizes, hostile values) from `seed`, each compared by memcmp.
 * *report is one sentence, owned by ctx. */
TALLY_API tally_status tally_verify(tally *ctx, uint64_t seed, int64_t cases, const char **report);

/* ---- 11 the end of a process in the middle of a call ------------------------------------------------------------- */

/* Ends the compilers that this process runs for users' operators. Removes their folders, and the
 * named temporary files of files that are not committed. tally installs no signal handlers: a
 * program that wants to leave nothing behind calls this from its own handlers, before it ends,
 * and with atexit. It may be called from a signal handler, in any thread. After that, files open
 * for writing cannot be committed. The files of a child of fork belong to the child: this call
 * leaves them alone. */
TALLY_API void tally_abandon(void);

/* ---- 12 exact sums as data ----------------------------------------------------------------------------------------
 * The state of sum:exact and mean:exact: plain data, to be copied, stored, sent and added up
 * anywhere. Elements and states may come in any order, from any thread or machine, and may be
 * taken back: the same elements give the same bytes. word[0..67] are an integer, sum of word[k]
 * 2^(32 k), in units of 2^-1074; 0..66 are below 2^32, and word[67] has the sign. word[68..71]
 * count NaN, +inf, -inf and all elements. Words of up to 2^30 states may be added one by one as
 * 64-bit integers (MPI_SUM, ncclSum, SQL's sum); every call takes such sums. doc/exact.md has
 * the details. */
typedef struct tally_exact {
    int64_t word[72];
} tally_exact;
/* The sum of nothing: all bytes 0. */
TALLY_API void tally_exact_init(tally_exact *sum);
/* Adds all elements of a view, or takes them back: of f16, bf16, f32 or f64; with a second input
 * products below f64, what is left out no element (doc/inputs.md). ctx NULL: of plain views,
 * here. On failure *sum is as before. */
TALLY_API tally_status tally_exact_add(tally *ctx, tally_exact *sum, const tally_view *x);
TALLY_API tally_status tally_exact_subtract(tally *ctx, tally_exact *sum, const tally_view *x);
/* *sum becomes *sum + *other; or *sum - *other, which had been merged into it. */
TALLY_API void tally_exact_merge(tally_exact *sum, const tally_exact *other);
TALLY_API void tally_exact_unmerge(tally_exact *sum, const tally_exact *other);
/* What `op` (sum:exact, mean:exact, a nan form, below f64 dot:exact, or with :f64) of elements
   of dtype gives. */
TALLY_API tally_status tally_exact_value(tally *ctx, const tally_exact *sum, const char *op,
                                         tally_dtype dtype, void *value);

/* ---- 13 keys: runs, groups, gathers ---------------------------------------------------------------------------------
 * By-key is the three verbs on segments. Keys whose equals are neighbours: tally_runs makes the
 * offsets. Other keys, as integers 0 .. groups - 1: tally_groups makes offsets and an order,
 * tally_take brings the values into that order. A group's elements keep their order, so its bits
 * do not depend on threads. On a GPU the device makes runs and gathers where all arrays are its
 * memory, so keys, offsets and values of a reduction by key need not leave it; the processors do
 * the rest. */

/* Cuts n = keys->n elements into runs of equal neighbours: offsets[0] = 0, the ends of the runs,
 * the last of them n. *runs is their number. offsets must have room for n + 1, also where there
 * are fewer runs (on a device that has the keys too, for *runs + 1: no more is written there);
 * NULL: count only. NaN equals NaN, and -0 equals +0. keys: one sequence (rows 1), of any dtype
 * and stride. *runs is on the host, so the call waits for it. */
TALLY_API tally_status tally_runs(tally *ctx, const tally_view *keys, int64_t *offsets,
                                  int64_t *runs);
/* A stable counting sort of integers: order[offsets[g] .. offsets[g + 1] - 1] are the places of
 * the elements equal to g, ascending. order has room for codes->n, offsets for groups + 1.
 * codes: one sequence of any integer dtype; one that is not in 0 .. groups - 1 is TALLY_INVALID,
 * the sentence names its place, and nothing is written. */
TALLY_API tally_status tally_groups(tally *ctx, const tally_view *codes, int64_t groups,
                                    int64_t *order, int64_t *offsets);
/* out[i] = in[order[i]], 0 <= i < n. in: one sequence; out: n elements of its dtype, with room
 * of its own. A place that is not in 0 .. in->n - 1 is TALLY_INVALID, and nothing is written. */
TALLY_API tally_status tally_take(tally *ctx, const tally_view *in, const int64_t *order, int64_t n,
                                  const tally_view *out);

/* ---- 14 windows by ranges and by keys -------------------------------------------------------------------------------
 * Windows of rows that are not a fixed number of neighbours: of times, of prices, of anything
 * sorted. On a GPU the processors do it. */

/* out[r] = reduce of elements start[r] .. end[r] - 1 of one sequence, counted from start[r]; an
 * empty range, or one with fewer than min_count elements (not counting NaN for nan* operators),
 * gives the empty value. Ranges may come in any order and overlap. One takes the time
 * of log2 of its length, or of its elements where that is less; of exact sums, of the elements
 * that differ from the range before it. Each thread keeps about two states for each element of
 * the longest range. 0 <= start[r] <=
 * end[r] <= in->n, else TALLY_INVALID, and nothing is written. out: one sequence of `results`
 * results, no overlap with in. */
TALLY_API tally_status tally_window_ranges(tally *ctx, const char *op, const tally_view *in,
                                           const int64_t *start, const int64_t *end,
                                           int64_t results, const tally_view *out,
                                           int64_t min_count);

/* What the window of row i has of rows with the same key: all of them (SQL's peers, Polars), or
 * none after row i (pandas). Rows with other keys are not touched. */
typedef enum tally_ties { TALLY_TIES_ALL = 0, TALLY_TIES_ROW } tally_ties;

/* The window of row i: the rows j whose distance key[j] - key[i] lies in low .. high. Distances
 * are exact: nothing is rounded, and no sum overflows. It is the value of a key that counts, not
 * its place: of descending keys, low = -t and high = 0 give the rows after row i. Trailing
 * windows of a time t: low = -t, high = 0; pandas' closed="right" is low_open = 1 and
 * TALLY_TIES_ROW. Infinite keys of f64 are 0 apart where they are equal, and infinitely far from
 * all others; an infinite low or high has these at its end. */
typedef struct tally_key_window {
    /* for keys of i32, i64 and u64. Both 0: the same key. Keys of f64 have the two below, and what
       is not for a key's type must be 0 */
    int64_t low, high;
    double low_real, high_real; /* for keys of f64, not NaN */
    int low_open, high_open;    /* 1: a key at this end is outside */
    tally_ties ties;
    /* NULL, or a low, a high for each row (calendar months): for keys that are integers */
    const int64_t *lows, *highs;
    /* Decimals: parts is NULL, or key i is the integer keys[i] + parts[i] / TALLY_KEY_PART. So are
     * low + low_part / TALLY_KEY_PART, high and high_part. All parts are in
     * 0 .. TALLY_KEY_PART - 1: -0.5 is -1 and TALLY_KEY_PART / 2. */
    const int64_t *parts;
    int64_t low_part, high_part;
} tally_key_window;
/* start and end of the window of each row, for tally_window_ranges. keys: one sequence of i32,
 * i64, u64 or f64, sorted, ascending or descending; one that is not, or NaN, is TALLY_INVALID:
 * the sentence names the row and both keys, and nothing is written. So is TALLY_TIES_ROW where a
 * window would go on behind a row that it leaves out. start and end have room for keys->n. */
TALLY_API tally_status tally_window_bounds(tally *ctx, const tally_view *keys,
                                           const tally_key_window *window, int64_t *start,
                                           int64_t *end);

/* ---- 15 one sequence on several GPUs ------------------------------------------------------------------------------
 * A context of several devices ("cuda:0+1", "cuda:all") runs every call of this header, with the
 * bits of one device.
 *
 *   Host memory     the devices share the work, if it is large: rows, columns and segments in
 *                   shares of about the same weight, a long dense sequence in slices (doc/gpu.md
 *                   says which are not cut).
 *   Device memory   a view in the memory of one device is that device's work. A sequence that
 *                   lies in parts on several is for the calls below.
 *   Options         hold for each device: memory=2G is 2 GiB on each. The devices share the
 *                   threads.
 *   Times           tally_times has the sums over the devices.
 *   A failure       of a device is one sentence that begins with its name.
 *
 * tally_use_stream and tally_device_pointer refuse such a context: its members take them. */

/* The context of device k alone, of a context of several; NULL past the last. It is released
 * with ctx. One thread at a time uses ctx and its members. Operators that were defined in ctx
 * are ctx's. Of any other context: itself for k = 0.
 */
TALLY_API tally *tally_member(tally *ctx, int k);

/* parts[0 .. count - 1] follow each other as ONE sequence, which is cut anywhere: parts may be
 * empty and of different lengths. Part k is dense (tally_flat), in the memory of device k or of
 * the host. 1 <= count <= the devices of ctx. The results are, bit for bit, those of the verb on
 * the whole sequence in one place. sum:exact and its like are refused. A part that begins at a
 * multiple of a power of two that is not below its length costs no more than a call on one
 * device; cut elsewhere, it takes up to a launch more for every bit of its length. */

/* tally_reduce: out has room for one result, in host memory or that of any device of ctx. */
TALLY_API tally_status tally_reduce_split(tally *ctx, const char *op, const tally_view *parts,
                                          int count, void *out);
/* tally_scan: the results of part k go to outs[k], which has its length and may be exactly
 * parts[k]. If there is more than one part, every element is read twice, since a part needs what
 * comes before it. options->reverse is refused. */
TALLY_API tally_status tally_scan_split(tally *ctx, const char *op, const tally_view *parts,
                                        int count, const tally_view *outs,
                                        const tally_scan_options *options);
/* tally_window: outs[k] gets the windows of part k's elements: parts[k].n of them; with
 * TALLY_EDGES_VALID those that are full, so fewer near the ends of the sequence. Windows reach
 * into other parts; before and after are at least 0, and there is no step. No output overlaps a
 * part. */
TALLY_API tally_status tally_window_split(tally *ctx, const char *op, const tally_view *parts,
                                          int count, const tally_view *outs,
                                          const tally_window_options *options);

#ifdef __cplusplus
}
#endif
#endif

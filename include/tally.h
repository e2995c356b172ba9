/* SPDX-License-Identifier: MIT
 *
 * tally.h - reductions, scans and sliding windows whose results tally: the same bits on any
 * number of threads, at any vector width, at any alignment, on any device.
 *
 * This header and the four that it includes at its end are the public interface and its manual.
 *
 *   tally.h                                 tally_keys.h
 *    1  conventions, status, dtypes          9  keys: runs, groups, gathers
 *    2  one-liners                          10  windows by ranges and by keys
 *    3  contexts
 *    4  views: rows, columns, segments      tally_gpu.h
 *    5  the verbs: reduce, scan, window     11  GPUs
 *    6  operators and dtypes                12  several GPUs
 *    7  operators of your own
 *    8  devices, conformance                tally_file.h
 *                                           18  reading files
 *   tally_stream.h                          19  tables: groups, times, lines
 *   13  streams: data that comes in chunks  20  writing files
 *   14  streams of many sequences           21  values as text
 *   15  streams of groups                   22  the end of a process
 *   16  fragments: data that is cut
 *   17  exact sums as data
 *
 * Other headers, to be included beside it: tally_arrow.h makes views of Arrow arrays;
 * tally_digits.h has exact sums for rows of a database; tally_mpi.h runs verbs over MPI's ranks.
 *
 * Every result is defined by "order E, v1" (doc/order.md). Write n as a sum of powers of two. Cut
 * the n elements into blocks of these lengths, the longest first. Inside a block, neighbours are
 * combined in a balanced binary tree. The blocks' results are combined from left to right. So
 *     scan(x)[i] == reduce(x[0..i])   and   window(x, w)[i] == reduce(x[i-w+1 .. i])   in bits,
 * and the bits do not depend on how the data is cut, streamed or threaded.
 *
 * Each chapter has an example. In the examples `ctx` is an open context of the processors, x is
 * float x[8] = {3, 1, 4, 1, 5, 9, 2, 6}, and the comment on a line with printf is its output
 * (test/test_readme.sh compiles and runs them). They check no status, to be short. */
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
#define TALLY_VERSION_MINOR 3
#define TALLY_VERSION_PATCH 0

/* ---- 1 conventions ------------------------------------------------------------------------------
 * Sizes, counts, strides and offsets are signed 64-bit integers. They count ELEMENTS unless a
 * name says bytes. Element pointers may have any alignment. tally uses a caller's pointer only
 * during the call, unless its description says otherwise, and never frees it. Each opaque handle
 * is released by its own close or free function, which accepts NULL.
 *
 * Nothing prints, exits or aborts. If the system refuses to start some threads (limits of address
 * space or of processes), a call runs on the threads that it gets. After fork, a child of a
 * process with threads runs on one thread. The bits are the same in both cases. A context of a
 * GPU cannot be used in the child, because the GPU's driver cannot be used there.
 *
 * tally_open reads TALLY_DEVICE, TALLY_THREADS, TALLY_ISA and TALLY_CODE from the environment.
 * Compilation at run time (kernels of GPU devices, users' operators) reads TALLY_KERNELS,
 * TALLY_DUMP, PATH, CC, TMPDIR, and XDG_CACHE_HOME or HOME for the folder of compiled kernels.
 * Nothing else is read from the environment.
 *
 * One thread at a time may use a context, stream, fragment or file. While a call of another thread
 * runs, a context of a GPU refuses a call, and a context of processors one that needs the memory
 * which that call uses. Different threads may use different ones at the same time. Every call
 * rounds to nearest, keeps subnormals, and restores the caller's floating-point settings.
 *
 * Structs that callers fill have a documented meaning if all their bytes are 0: "All zero: ...".
 * New members are added at the end and mean nothing if they are 0. Initialise with = {0} or with
 * designated members, as the examples do.
 *
 * Example:
 *     double sum;
 *     tally_view in = tally_flat(x, TALLY_F32, -1);
 *     if (tally_reduce(ctx, "sum", &in, &sum) != TALLY_OK)
 *         printf("%s\n", tally_error(ctx)); // in->n is -1: must be at least 0 */

/* What a call returns. After a failure tally_error(ctx) has a sentence with the argument, its value
 * and the limit. When memory ran out, only windows and tally_groups may have written results. */
typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_INVALID,     /* an argument is wrong: the sentence names it */
    TALLY_UNSUPPORTED, /* well-formed, but impossible for this operator, dtype or device */
    TALLY_NO_MEMORY,   /* an allocation failed; everything was released */
    TALLY_NO_DEVICE,   /* the device is missing, or failed its conformance probe */
    TALLY_IO,          /* the operating system refused: open, read, write, rename */
    /* the content of a file or of an operator's text is wrong; errors in text name
     * file:line:column */
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

/* ---- 2 one-liners -------------------------------------------------------------------------------
 * The common reductions of a flat array of n elements. They need no context and run on the
 * calling thread alone. With n <= 0 they return the operator's empty value (sum 0, mean NaN, min
 * and max NaN for floats, the type's largest or smallest value for integers), and x may be NULL.
 * The bits are those of the verbs.
 *
 * Example:
 *     printf("%g\n", tally_sum_f32(x, 8)); // 31 */
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

/* ---- 3 contexts ---------------------------------------------------------------------------------
 * A context is a device with its threads and caches. It can run any number of calls.
 *
 * Example:
 *     tally *two;
 *     if (tally_open(&two, "cpu,threads=2") != TALLY_OK) puts(tally_error(NULL));
 *     printf("%d threads\n", tally_threads(two)); // 2 threads
 *     tally_close(two); */

/* Opens a context on a device and stores it in *ctx. `device` names the device, as tally_device
 * lists it:
 *   "auto", NULL    the device in TALLY_DEVICE if it is set, else the best one for data in host
 *                   memory
 *   "cpu"           the processors; "cpu:0" is the same
 *   "cuda:N"        a GPU; also "opencl:N". Without :N it is number 0
 *   "cuda:0+2"      several devices of one kind as one context (chapter 12); "cuda:all" takes all
 *                   that are usable
 *
 * Options follow a comma: "cpu,threads=2,isa=avx2".
 *   threads         the most threads to use, 1..1024. Default: TALLY_THREADS, else the processors
 *                   that affinity and the cgroup's CPU quota allow. On a GPU: the threads for the
 *                   work that the processors do
 *   isa             an instruction set that tally_device lists. Default: TALLY_ISA, else the
 *                   widest that runs on this machine. On a GPU: for the work that the processors
 *                   do
 *   memory          GPUs: the most device memory that the context may hold, on each of several
 *                   devices. In bytes, or with K, M or G (2^10, 2^20, 2^30), as in
 *                   "cuda:0,memory=2G"; at least 64K. Default: no limit
 *   code            CUDA: how kernels are compiled at run time. Default: TALLY_CODE, else "auto".
 *                   "quick": with little optimisation. "best": with full optimisation, and the
 *                   first call waits for it. "auto": first quick; from a kernel's third launch
 *                   on, a thread compiles the best code in the background, and later calls and
 *                   later processes use it. The bits are the same
 *   probe=off       opens a GPU device without the start-up probe; other devices ignore it
 *
 * The probe compares 22 vectors with the law when a device (model, driver, version of tally,
 * kernel texts) is opened for the first time. The folder of compiled kernels records that the
 * device passed. For a device whose results differ, tally_open returns TALLY_NO_DEVICE, and the
 * sentence names the operator, the dtype, n and both bit patterns.
 *
 * TALLY_DEVICE may contain options: if it is "cpu,threads=4", then "auto,isa=avx2" means
 * "cpu,threads=4,isa=avx2". Options in `device` override those in TALLY_DEVICE, which override
 * TALLY_THREADS, TALLY_ISA and TALLY_CODE. On failure *ctx is NULL, and tally_error(NULL) gives
 * the sentence of this thread. */
TALLY_API tally_status tally_open(tally **ctx, const char *device);

/* Releases the context, its threads' memory and its caches. If a background compilation is
 * running, the call stops it after its current step, which takes at most a second for most
 * kernels. ctx may be NULL. Close the streams and fragments of the context first. */
TALLY_API void tally_close(tally *ctx);

/* The sentence of the last failed call on ctx, "" if none failed. ctx owns it; it is valid until
 * the next call on ctx. With ctx NULL: the last failure on this thread of a call without a
 * context. */
TALLY_API const char *tally_error(const tally *ctx);

/* The number of threads of the context, and the name of its instruction set. For a GPU the name
 * of the device, such as "cuda:0", or "cuda:0+1" for several. */
TALLY_API int tally_threads(const tally *ctx);
TALLY_API const char *tally_isa(const tally *ctx);

/* ---- 4 views ------------------------------------------------------------------------------------
 * A view is a batch of one-dimensional sequences. Each sequence is a separate problem, whose
 * elements are counted from its own first element. The element i of sequence r is at
 * data[r * row_stride + i * stride]. Strides may have any value that stays within memory. In
 * inputs, stride 0 repeats one element and row_stride 0 repeats one sequence: all these elements
 * are read from one place. In outputs every result needs a place of its own. Strides that no
 * element depends on are ignored: `stride` if n is 1, `row_stride` if rows is 1. If a view has no
 * elements, only rows, n and offsets matter, so a scan of 2^62 rows of 0 elements does nothing.
 * The elements of a view, each counted as often as it is read, take less than 2^63 bytes, and so
 * does the distance that its strides span.
 *
 * All zero, with a dtype: no sequences, nothing to do. Two mistakes are refused with
 * TALLY_INVALID, because their strides or rows were most likely not filled in:
 *   rows        0, while row_stride is 0 and there is something to work on: n is not 0, or data is
 *               set and stride is 0
 *   strides     both 0, with more than one element in a single sequence or in segments, where
 *               row_stride has no meaning. To repeat one element there, set stride to 0 and
 *               row_stride to 1
 *
 * Example:
 *     const int64_t offsets[] = {0, 3, 3, 4, 8}; // segments of 3, 0, 1 and 4 elements
 *     float sum[4], sums[2];
 *     tally_view segments = tally_segments(x, TALLY_F32, offsets, 4);
 *     tally_view even_odd = {.data = x, .dtype = TALLY_F32, .rows = 2, .n = 4,
 *                            .row_stride = 1, .stride = 2};
 *     tally_reduce(ctx, "sum", &segments, sum);
 *     tally_reduce(ctx, "sum", &even_odd, sums);
 *     printf("%g %g %g %g\n", sum[0], sum[1], sum[2], sum[3]); // 8 0 1 22
 *     printf("%g %g\n", sums[0], sums[1]); // 14 17 */
typedef struct tally_view {
    /* element (0, 0); an input view never writes it; may be NULL if there is no element */
    void *data;
    tally_dtype dtype;
    int64_t rows;       /* the number of sequences; 0: nothing to do; one sequence: 1 */
    int64_t n;          /* elements in each sequence (ignored with offsets) */
    int64_t row_stride; /* elements from one sequence to the next (ignored with offsets) */
    /* elements from one element to the next: 1 dense, k every k-th, negative backwards; 0: every
     * element of the sequence is its first one */
    int64_t stride;
    /* NULL, or rows + 1 ascending offsets (as in CSR): the elements of sequence r are
     * data[j * stride], offsets[r] <= j < offsets[r + 1]. For a GPU device they may be in host or
     * device memory (chapter 11) */
    const int64_t *offsets;
    /* NULL, or a validity bitmap as in Arrow: one bit per element, least significant bit first;
     * an element with bit 0 is left out. The bit of element (r, i) has number valid_offset +
     * r * row_stride + i * stride (with offsets: valid_offset + j * stride for element number j).
     * In an output view the bits are written: 0 if the result has no elements, or if its window
     * has fewer than min_count elements, or is not full and has no value by the rule for edges;
     * else 1. The result with bit 0 is the operator's empty value. Streams and windows by ranges
     * write no bits */
    const void *valid;
    int64_t valid_offset;
    /* NULL, or the operator's second input: a view with the same rows and lengths (with offsets:
     * the same offsets), any strides and any dtype, whose own next is NULL */
    const struct tally_view *next;
} tally_view;

/* n adjacent elements: one sequence. */
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
/* `segments` sequences of adjacent elements, cut by segments + 1 ascending offsets. */
static inline tally_view tally_segments(const void *data, tally_dtype dtype, const int64_t *offsets,
                                        int64_t segments)
{
    tally_view v = {(void *)(uintptr_t)data, dtype, segments, 0, 0, 1, offsets, NULL, 0, NULL};
    return v;
}

/* ---- 5 the verbs ----------------------------------------------------------------------------- */

/* An operator is named by a string: NAME, NAME:f64 (an f64 accumulator for f16, bf16 and f32),
 * NAME:PARAM or NAME:param=VALUE ("var:1", "var:ddof=1", "ema:alpha=0.1"), or a combination
 * ("ema:f64:0.1"). tally_operators lists the names; tally_operator describes an operator's
 * result (chapter 6).
 *
 * sum:exact, mean:exact, dot:exact and their nan forms give the real value of floats, rounded once
 * to nearest even, in any order: f32, or f64 of f64 elements and with :f64; never -0. A NaN, or inf
 * and -inf, gives NaN. wmean, var, std, cov, corr, slope, sumsq and norm take :exact too, of floats
 * and integers, and give f64: tally_reduce(ctx, "var:exact", ...), in every verb and view. On GPUs
 * the processors do scans and windows of these (doc/exact.md). sum:checked refuses a sum of
 * integers that 64 bits do not hold, with TALLY_BAD_DATA, and writes nothing.
 *
 * Example:
 *     float most, sums[8], mean[8];
 *     tally_view in = tally_flat(x, TALLY_F32, 8);
 *     tally_view out = tally_flat(sums, TALLY_F32, 8), means = tally_flat(mean, TALLY_F32, 8);
 *     tally_window_options three = {.before = 2, .edges = TALLY_EDGES_SHRINK};
 *     tally_reduce(ctx, "max", &in, &most);
 *     tally_scan(ctx, "sum", &in, &out, NULL);
 *     tally_window(ctx, "mean", &in, &means, &three);
 *     printf("%g %g %g\n", most, sums[3], mean[3]); // 9 9 2 */

/* reduce: one result per sequence. out, plain memory and not a view, receives in->rows results
 * (times lanes, see tally_operator_info), dense, of the operator's output dtype. An empty sequence
 * gives the operator's empty value. If rows is 0, nothing is written. out must not overlap in. */
TALLY_API tally_status tally_reduce(tally *ctx, const char *op, const tally_view *in, void *out);

/* A validity bitmap of the results of a reduction. For each sequence r, bit number
 * valid_offset + r of `valid`, least significant bit first, becomes 1 if the sequence contributes
 * at least one element to its result, else 0. It contributes none if it is empty, if all its
 * elements are left out or, with a nan form, if all are NaN. Scans and windows write such bits if
 * their output view has `valid` (chapter 4). On a GPU the processors do it, for memory of any
 * kind. */
TALLY_API tally_status tally_reduce_valid(tally *ctx, const char *op, const tally_view *in,
                                          void *valid, int64_t valid_offset);

/* Options of a scan. NULL or all zero: inclusive, forward, no initial value. */
typedef struct tally_scan_options {
    int exclusive; /* out[i] excludes element i; out[0] is init, or the empty value */
    /* scans the reversed sequence and writes its results reversed: out[i] combines x[n-1], ...,
     * x[i], in that order */
    int reverse;
    /* NULL, or one value of the output dtype that every sequence starts with (sum, prod, min,
     * max, nan*, bit operators, first, last, ema; the other operators refuse it) */
    const void *init; /* in host memory */
} tally_scan_options;

/* scan (all prefixes): out[i] = reduce(x[0..i]) in bits; exclusive: reduce(x[0..i-1]). out is a
 * view with the rows and lengths of in (with offsets: the same offsets) and the operator's output
 * dtype. The lanes of one result are neighbours in memory, and the strides of out count results.
 * out may be exactly in (same data, strides and element size); any other overlap is refused. */
TALLY_API tally_status tally_scan(tally *ctx, const char *op, const tally_view *in,
                                  const tally_view *out, const tally_scan_options *options);

/* What happens to a window that is not full, which means that it reaches beyond its sequence. */
typedef enum tally_edges {
    TALLY_EDGES_MISSING = 0, /* n results; a window that is not full gives the empty value */
    TALLY_EDGES_SHRINK,      /* n results; a window that is not full combines what it has */
    TALLY_EDGES_VALID        /* only the full windows: max(n - w + 1, 0) results, or fewer if
                              * before or after is negative */
} tally_edges;

/* Window i covers elements i - before .. i + after; its width is w = before + 1 + after. Trailing
 * windows of width w: before = w - 1, after = 0. Centred windows: before = w / 2, after =
 * (w - 1) / 2. One of the two may be negative, with w >= 0: before = -1, after = 3 covers the
 * three elements after i. Windows with a negative offset, and windows with a step, are computed
 * one at a time, in time proportional to their elements. On a GPU the processors compute them,
 * and streams refuse them. All zero: each element alone. NULL is refused. */
typedef struct tally_window_options {
    int64_t before, after; /* both 0: each element alone */
    tally_edges edges;
    /* 0, or: a window with fewer elements (not counting NaN for nan* operators) gives the empty
     * value. With TALLY_EDGES_MISSING and min_count > 0, a window that is not full gives a value
     * if it has at least min_count elements */
    int64_t min_count;
    /* 0 or 1: all results; s > 1: only results number 0, s, 2 s, ... (refused with offsets) */
    int64_t step;
} tally_window_options;

/* window: out[i] = reduce of the elements of window i alone, counted from the window's first
 * element. Elements outside the window do not affect its bits. out is a view with the rows of in,
 * and tally_window_length(n, options) elements in each sequence. With offsets, TALLY_EDGES_VALID
 * is refused, because lengths would change. out must not overlap in. */
TALLY_API tally_status tally_window(tally *ctx, const char *op, const tally_view *in,
                                    const tally_view *out, const tally_window_options *options);

/* The number of results for a sequence of n elements: n, or with TALLY_EDGES_VALID
 * max(n - max(before, 0) - max(after, 0), 0), which is max(n - w + 1, 0) if neither before nor
 * after is negative; with a step, every step-th of them. */
TALLY_API int64_t tally_window_length(int64_t n, const tally_window_options *options);

/* ---- 6 operators and dtypes ---------------------------------------------------------------------
 * doc/operators.md describes every operator. A program can ask for the same facts.
 *
 * Example:
 *     tally_operator_info info;
 *     tally_operator(ctx, "minmax", TALLY_F32, &info);
 *     printf("%d values of %s\n", info.lanes, tally_dtype_name(info.output)); // 2 values of f32 */

/* The names of all operators, NULL-terminated, in static memory. */
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
    const char *text;   /* a description of one line */
    const char *empty;  /* the result of no elements, in words */
    const char *param;  /* "" or the parameter's name */
    tally_dtype output; /* the type of results for the dtype asked about */
    /* the type of the arithmetic; 0: none (elements are only moved and compared) */
    tally_dtype accumulator;
    int lanes; /* values per result */
    /* 1: class X, any order of evaluation gives the same bits; 0: class R, the tree decides the
     * bits */
    int exact;
    int seedable; /* accepts tally_scan_options.init */
    int inputs;   /* 1, or 2: the view and its next (chapter 4) */
} tally_operator_info;
/* Describes `op` (with its suffixes) for elements of dtype. An error names the choices. ctx may
 * be NULL. */
TALLY_API tally_status tally_operator(tally *ctx, const char *op, tally_dtype dtype,
                                      tally_operator_info *info);

/* ---- 7 operators of your own --------------------------------------------------------------------
 * An operator is a short text in C (doc/user-operators.md teaches it in ten minutes) with a
 * state, lift, combine, lower and empty. After tally_define its name can be used in this context
 * like any other operator's name, on every device and with the same bits. Operands keep their
 * order, so the operator need not commute.
 *
 * tally_define reads the text's declarations. The text is compiled at its first use for a dtype:
 * for the processors by the system's C compiler ($CC, or cc, gcc or clang from PATH), for a GPU
 * by NVRTC or the OpenCL driver. A GPU context needs no C compiler, except for streams, fragments
 * and reversed scans of segments, which are TALLY_UNSUPPORTED without one. Compiled code is kept
 * on disk ($XDG_CACHE_HOME/tally or ~/.cache/tally). The text is code that runs with your rights:
 * do not define a text from an untrusted source.
 *
 * A wrong text is TALLY_BAD_DATA. The sentence names where:line and the first mistake.
 * tally_define returns it, or the first use if only the compiler finds the mistake. Built-in
 * names are refused. If a name is defined again, calls from then on use the new text; existing
 * streams and fragments keep the text that they were made with. A saved fragment contains the
 * name and a hash of the text; to load it, the same text must be defined. tally_close releases
 * all texts.
 *
 * Example:
 *     const char text[] = "#define OP_STATE(F) F(real, s)\n"
 *                         "typedef struct { OP_STATE(FIELD) } state;\n"
 *                         "fn state lift(elem x, idx i, par p)\n"
 *                         "{ state r; r.s = to_real(x) * to_real(x); return r; }\n"
 *                         "fn state combine(state a, state b)\n"
 *                         "{ state r; r.s = a.s + b.s; return r; }\n"
 *                         "fn result lower(state a, real n, idx first, par p)\n"
 *                         "{ return to_result(a.s); }\n"
 *                         "fn result empty(par p) { return to_result(num(0)); }\n";
 *     float squares = 0;
 *     tally_view in = tally_flat(x, TALLY_F32, 8);
 *     tally_define(ctx, "squares", text, NULL);
 *     tally_reduce(ctx, "squares", &in, &squares);
 *     printf("%g\n", squares); // 173 */

/* name: letters, digits and _, at most 31 characters. text: NUL-terminated, at most 64 KiB,
 * copied. where: the file name for error sentences; NULL: name. */
TALLY_API tally_status tally_define(tally *ctx, const char *name, const char *text,
                                    const char *where);
/* tally_define with the text from a file. name NULL: the file's name without folder and ending. */
TALLY_API tally_status tally_define_file(tally *ctx, const char *name, const char *path);

/* ---- 8 devices, conformance ---------------------------------------------------------------------
 * The devices of this machine, and a check of their bits.
 *
 * Example:
 *     const char *report;
 *     tally_device_info d;
 *     for (int i = 0; tally_device(i, &d) == TALLY_OK; i++)
 *         if (!strcmp(d.name, "cpu")) printf("usable: %d\n", d.usable); // usable: 1
 *     if (tally_verify(ctx, 1, 20, &report) != TALLY_OK) puts(tally_error(ctx)); */

typedef struct tally_device_info {
    const char *name; /* the name for tally_open */
    const char *text; /* the model, in words */
    int usable;
    const char *reason; /* why it is not usable, or "" */
    int processors;     /* the most threads a context uses by default */
    /* the CPU instruction sets of this build that run on this machine, widest last, separated by
     * spaces */
    const char *isas;
} tally_device_info;
/* Describes device number index (from 0). TALLY_INVALID past the end. */
TALLY_API tally_status tally_device(int index, tally_device_info *info);

/* Checks the context's device against the law executed in scalar C. Generates `cases` random
 * cases (operator, dtype, shape, view, sizes, extreme values) from `seed` and compares each
 * result by memcmp. *report becomes one sentence, owned by ctx. Returns TALLY_MISMATCH if a
 * result differs. */
TALLY_API tally_status tally_verify(tally *ctx, uint64_t seed, int64_t cases, const char **report);

#ifdef __cplusplus
}
#endif

#include "tally_file.h"
#include "tally_gpu.h"
#include "tally_keys.h"
#include "tally_stream.h"
#endif

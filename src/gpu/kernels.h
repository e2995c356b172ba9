/* SPDX-License-Identifier: MIT
 * The host's view of the kernels, generated from gpu/kernel/params.def: a number and a struct of
 * arguments for each kernel, and tables that describe its parameters. A launch names its arguments:
 *
 *   TL_GO(&l, up, jobs, .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
 *         .nodes = tl_memory_of(nodes), .level = tl_i64(k), .jobs = tl_i64(jobs))
 *
 * A launch with an argument too few or too many, with a wrong name or a wrong kind does not
 * compile. tl_gpu_kernel_check checks the rest where asserts are on: memory that is none, and
 * structs that were not made by TL_ARGUMENTS. */
#ifndef TALLY_GPU_KERNELS_H
#define TALLY_GPU_KERNELS_H

#include "gpu.h"
#include <string.h>

/* One type for each kind of argument. Each contains one tl_argument, so a struct of them has the
 * layout of an array of tl_argument. */
typedef struct tl_memory_argument {
    tl_argument is;
} tl_memory_argument;

typedef struct tl_i64_argument {
    tl_argument is;
} tl_i64_argument;

typedef struct tl_f64_argument {
    tl_argument is;
} tl_f64_argument;

typedef struct tl_local_bytes_argument {
    tl_argument is;
} tl_local_bytes_argument;

/* m NULL: the kernel does not access this argument. Never pass other memory as a placeholder: a
 * kernel that reads it by mistake must fail in every test (test_emulated). */
static inline tl_memory_argument tl_memory_of(const tl_memory *m)
{
    return m ? (tl_memory_argument){{TL_ARG_MEMORY,
                                     {.memory = m->object ? (uintptr_t)m->object : m->address}}}
             : (tl_memory_argument){{TL_ARG_UNUSED, {.i64 = 0}}};
}

static inline tl_i64_argument tl_i64(int64_t v)
{
    return (tl_i64_argument){{TL_ARG_I64, {.i64 = v}}};
}

static inline tl_f64_argument tl_f64(double v)
{
    return (tl_f64_argument){{TL_ARG_F64, {.f64 = v}}};
}

static inline tl_local_bytes_argument tl_local_bytes(int64_t bytes)
{
    return (tl_local_bytes_argument){{TL_ARG_LOCAL_BYTES, {.i64 = bytes}}};
}

/* tl_arguments_NAME: a struct with a member for each row of a kernel or a part. */
#define KERNEL(name, threads, blocks) typedef struct tl_arguments_##name {
#define PART(name, NAME)              typedef struct tl_arguments_##name##_part {
#define IN(type, name)                tl_memory_argument name;
#define OUT(type, name)               tl_memory_argument name;
#define I64(name)                     tl_i64_argument name;
#define F64(name)                     tl_f64_argument name;
#define TAKES(name, NAME)             tl_arguments_##name##_part name;
#define LOCAL_BYTES()                 tl_local_bytes_argument local_bytes;
#define END(name) \
    } \
    tl_arguments_##name;
#include "gpu/kernel/params.def"

/* TL_ROWS_NAME: the number of its members. */
#define KERNEL(name, threads, blocks) enum { TL_ROWS_##name = 0
#define PART(name, NAME)              enum { TL_ROWS_##name##_part = 0
#define IN(type, name)                +1
#define OUT(type, name)               +1
#define I64(name)                     +1
#define F64(name)                     +1
#define TAKES(name, NAME)             +1
#define LOCAL_BYTES()                 +1
#define END(name) \
    } \
    ;
#include "gpu/kernel/params.def"

typedef enum tl_gpu_kernel_id {
#define KERNEL(name, threads, blocks) TL_KERNEL_##name,
#include "gpu/kernel/params.def"
    TL_KERNELS
} tl_gpu_kernel_id;

/* A parameter: its kind, its type as in the text (all that comes before the name), and its name.
 * TL_ARG_NONE ends a list. part: NULL, or the parameters of the part that `name` names. */
typedef struct tl_parameter tl_parameter;

struct tl_parameter {
    tl_argument_kind kind;
    const char *type, *name;
    const tl_parameter *part;
};

typedef struct tl_gpu_kernel {
    const char *name, *threads_text, *blocks_text;
    int threads; /* threads of a block; 0: the device's number of warps per block */
    int count;   /* number of arguments */
    const tl_parameter *parameters;
} tl_gpu_kernel;

extern const tl_gpu_kernel tl_gpu_kernels[TL_KERNELS];

/* The parts of params.def, ended by name NULL. name: as in BATCH_PARAMETERS. */
typedef struct tl_gpu_kernel_part {
    const char *name;
    const tl_parameter *parameters;
} tl_gpu_kernel_part;

extern const tl_gpu_kernel_part tl_gpu_kernel_parts[];

/* Checks that the `count` arguments are those of the kernel. */
tally_status tl_gpu_kernel_check(tally *ctx, tl_gpu_kernel_id id, const tl_argument *arguments,
                                 int count);

/* The number of arguments of a macro, at most 16. */
#define TL_COUNT(...) \
    TL_COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#define TL_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count

/* Makes the struct of a kernel's arguments (of a part's: name_part). Each argument is given by its
 * name, and none may be left out. */
#define TL_ARGUMENTS(kernel, ...) \
    ({ \
        _Static_assert(TL_COUNT(__VA_ARGS__) == TL_ROWS_##kernel, \
                       #kernel ": not as many arguments as in params.def"); \
        (tl_arguments_##kernel){__VA_ARGS__}; \
    })

/* ---- the text of a program (text.c) ---- */

typedef struct tl_buffer {
    char *text;
    size_t length, capacity;
    int failed;       /* out of memory, or a file is missing: nothing more is added */
    char missing[64]; /* name of the file that was not found */
} tl_buffer;

void tl_add(tl_buffer *b, const char *text, size_t length);
void tl_addf(tl_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a file of src/, with the heads of its kernels. */
void tl_add_file(tl_buffer *b, const char *name);

/* True if `prelude` is CUDA's. */
static inline int tl_is_cuda(const char *prelude) { return strstr(prelude, "cuda") != NULL; }
#endif

/* SPDX-License-Identifier: MIT
 * The host's view of the kernels, generated from gpu/kernel/params.def: a number and a struct of
 * arguments for each kernel, and tables that describe its parameters. A launch names its arguments:
 *
 *   TL_GO(&l, nodes, jobs, .batch = tl_batch_arguments(b, TL_LONG_SEQUENCES),
 *         .nodes = nodes.handle, .level = k, .jobs = jobs)
 *
 * A launch with an argument too few or too many, with a wrong name, or with a number for memory
 * does not compile. */
#pragma once

#include "gpu.h"
#include <string.h>

/* tl_arguments_NAME: a struct with a member for each row of a kernel or a group, of 8 bytes each:
 * the layout of tl_kernel_start.arguments. */
#define KERNEL(name, threads, blocks) typedef struct tl_arguments_##name {
#define GROUP(name)                   typedef struct tl_arguments_##name {
#define IN(type, name)                tl_handle name;
#define OUT(type, name)               tl_handle name;
#define I64(name)                     int64_t name;
#define F64(name)                     double name;
#define TAKES(name)                   tl_arguments_##name name;
#define LOCAL_BYTES()                 int64_t local_bytes;
#define END(name) \
    } \
    tl_arguments_##name;
#include "gpu/kernel/params.def"

/* TL_ROWS_NAME: the number of its members. */
#define KERNEL(name, threads, blocks) enum { TL_ROWS_##name = 0
#define GROUP(name)                   enum { TL_ROWS_##name = 0
#define IN(type, name)                +1
#define OUT(type, name)               +1
#define I64(name)                     +1
#define F64(name)                     +1
#define TAKES(name)                   +1
#define LOCAL_BYTES()                 +1
#define END(name) \
    } \
    ;
#include "gpu/kernel/params.def"

typedef enum {
#define KERNEL(name, threads, blocks) TL_KERNEL_##name,
#include "gpu/kernel/params.def"
    TL_KERNELS
} tl_gpu_kernel_id;

typedef enum {
    TL_IS_GROUP,
    TL_IS_MEMORY,
    TL_IS_I64,
    TL_IS_F64,
    TL_IS_LOCAL_BYTES
} tl_parameter_kind;

/* A parameter: its kind, its type as in the text (all before the name), and its name; NULL ends a
 * list. group: those of a group, which has no name. */
typedef struct tl_parameter tl_parameter;

struct tl_parameter {
    tl_parameter_kind kind;
    const char *type, *name;
    const tl_parameter *group;
};

typedef struct {
    const char *name, *threads_text, *blocks_text;
    int threads;   /* threads of a block; 0: the device's number of warps per block */
    int count;     /* number of arguments, without local_bytes */
    int has_local; /* local_bytes comes after them */
    const tl_parameter *parameters;
} tl_gpu_kernel;

extern const tl_gpu_kernel tl_gpu_kernels[TL_KERNELS];

/* The number of arguments of a macro, at most 16. */
#define TL_COUNT(...) \
    TL_COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#define TL_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count

/* Makes the struct of a kernel's or a group's arguments. Each is given by its name, and none may be
 * left out. */
#define TL_ARGUMENTS(kernel, ...) \
    ({ \
        _Static_assert(TL_COUNT(__VA_ARGS__) == TL_ROWS_##kernel, \
                       #kernel ": not as many arguments as in params.def"); \
        (tl_arguments_##kernel){__VA_ARGS__}; \
    })

/* ---- the text of a program (text.c) ---- */

typedef struct {
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

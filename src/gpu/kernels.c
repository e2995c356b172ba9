/* SPDX-License-Identifier: MIT
 * The rows of gpu/kernel/params.def as data (kernels.h). */
#include "kernels.h"
#include "gpu/kernel/constants.h"
#include <string.h>

/* tl_parameter lists: parameters_NAME. */
#define KERNEL(name, threads, blocks) static const tl_parameter parameters_##name[] = {
#define PART(name, NAME)              static const tl_parameter parameters_##name##_part[] = {
#define IN(type, name)                {TL_IS_MEMORY, "GLOBAL const " #type " *", #name, NULL},
#define OUT(type, name)               {TL_IS_MEMORY, "GLOBAL " #type " *", #name, NULL},
#define I64(name)                     {TL_IS_I64, "i64 ", #name, NULL},
#define F64(name)                     {TL_IS_F64, "f64 ", #name, NULL},
#define TAKES(name, NAME)             {TL_IS_PART, "", #NAME, parameters_##name##_part},
#define LOCAL_BYTES()                 {TL_IS_LOCAL_BYTES, "", "local_bytes", NULL},
#define END(name) \
    { \
        TL_IS_PART, NULL, NULL, NULL \
    } \
    } \
    ;
#include "gpu/kernel/params.def"

const tl_gpu_kernel_part tl_gpu_kernel_parts[] = {
#define PART(name, NAME) {#NAME, parameters_##name##_part},
#include "gpu/kernel/params.def"
    {NULL, NULL}};

/* HAS_LOCAL_NAME: 1 if its last row is LOCAL_BYTES. */
#define KERNEL(name, threads, blocks) enum { HAS_LOCAL_##name = 0
#define PART(name, NAME)              enum { HAS_LOCAL_##name##_part = 0
#define LOCAL_BYTES()                 +1
#define END(name) \
    } \
    ;
#include "gpu/kernel/params.def"

enum { WARPS = 0 };
const tl_gpu_kernel tl_gpu_kernels[TL_KERNELS] = {
#define KERNEL(name, threads, blocks) \
    {#name, \
     #threads, \
     #blocks, \
     threads, \
     (int)sizeof(tl_arguments_##name) / TL_ARGUMENT_BYTES - HAS_LOCAL_##name, \
     HAS_LOCAL_##name, \
     parameters_##name},
#include "gpu/kernel/params.def"
};

int tl_kernel_number(tally *ctx, char *names, size_t step, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names + (size_t)i * step, name)) return i;
    if (strlen(name) >= TL_KERNEL_NAME || count == TL_KERNELS_MOST) {
        tl_fail(ctx, TALLY_UNSUPPORTED,
                "kernel %.100s: a program's kernels are at most %d, with names of at most %d "
                "characters",
                name, TL_KERNELS_MOST, TL_KERNEL_NAME - 1);
        return -1;
    }
    memcpy(names + (size_t)count * step, name, strlen(name) + 1);
    return count;
}

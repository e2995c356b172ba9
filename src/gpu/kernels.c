/* SPDX-License-Identifier: MIT
 * The rows of gpu/kernel/params.def as data, and the check of a launch against them (kernels.h). */
#include "kernels.h"
#include "gpu/kernel/constants.h"
#include <string.h>

/* tl_parameter lists: parameters_NAME. */
#define KERNEL(name, threads, blocks) static const tl_parameter parameters_##name[] = {
#define PART(name, NAME)              static const tl_parameter parameters_##name##_part[] = {
#define IN(type, name)                {TL_ARG_MEMORY, "GLOBAL const " #type " *", #name, NULL},
#define OUT(type, name)               {TL_ARG_MEMORY, "GLOBAL " #type " *", #name, NULL},
#define I64(name)                     {TL_ARG_I64, "i64 ", #name, NULL},
#define F64(name)                     {TL_ARG_F64, "f64 ", #name, NULL},
#define TAKES(name, NAME)             {TL_ARG_NONE, "", #NAME, parameters_##name##_part},
#define LOCAL_BYTES()                 {TL_ARG_LOCAL_BYTES, "", "local_bytes", NULL},
#define END(name) \
    { \
        TL_ARG_NONE, NULL, NULL, NULL \
    } \
    } \
    ;
#include "gpu/kernel/params.def"

const tl_gpu_kernel_part tl_gpu_kernel_parts[] = {
#define PART(name, NAME) {#NAME, parameters_##name##_part},
#include "gpu/kernel/params.def"
    {NULL, NULL}};

enum { WARPS = 0 };
const tl_gpu_kernel tl_gpu_kernels[TL_KERNELS] = {
#define KERNEL(name, threads, blocks) \
    {#name, \
     #threads, \
     #blocks, \
     threads, \
     (int)(sizeof(tl_arguments_##name) / sizeof(tl_argument)), \
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

static const char *kind_name(tl_argument_kind kind)
{
    static const char *const names[] = {
        [TL_ARG_NONE] = "nothing",         [TL_ARG_MEMORY] = "memory",
        [TL_ARG_UNUSED] = "unused memory", [TL_ARG_I64] = "an i64",
        [TL_ARG_F64] = "an f64",           [TL_ARG_LOCAL_BYTES] = "bytes of local memory"};
    return names[kind];
}

/* Compares arguments from number *at on with a list of parameters. */
static tally_status compare(tally *ctx, const char *kernel, const tl_parameter *p,
                            const tl_argument *arguments, int count, int *at)
{
    tally_status status = TALLY_OK;
    for (; !status && p->name; p++) {
        if (p->part) {
            status = compare(ctx, kernel, p->part, arguments, count, at);
            continue;
        }

        const tl_argument *const a = *at < count ? &arguments[*at] : NULL;
        const tl_argument_kind got = a ? a->kind : TL_ARG_NONE;
        if (got == TL_ARG_MEMORY && got == p->kind && !a->memory)
            return tl_fail(ctx, TALLY_INVALID, "kernel %s: argument %d, %s, is no memory", kernel,
                           *at + 1, p->name);
        if (got != p->kind && !(got == TL_ARG_UNUSED && p->kind == TL_ARG_MEMORY))
            return tl_fail(ctx, TALLY_INVALID, "kernel %s: argument %d, %s, is %s: must be %s",
                           kernel, *at + 1, p->name, kind_name(got), kind_name(p->kind));
        ++*at;
    }

    return status;
}

tally_status tl_gpu_kernel_check(tally *ctx, tl_gpu_kernel_id id, const tl_argument *arguments,
                                 int count)
{
    const tl_gpu_kernel *k = &tl_gpu_kernels[id];
    int at = 0;
    tally_status status = compare(ctx, k->name, k->parameters, arguments, count, &at);
    if (!status && count != at)
        status =
            tl_fail(ctx, TALLY_INVALID, "kernel %s: %d arguments: must be %d", k->name, count, at);
    return status;
}

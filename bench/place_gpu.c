/* SPDX-License-Identifier: MIT
 *
 * place_gpu.c - the loops that are a GPU's ceilings: one text for CUDA and OpenCL. A group takes
 * a tile of the input at a time, DEPTH quads a thread, all asked for before the first is used,
 * and writes its share of the output.
 */
#include "cliffs.h"
#include <string.h>

const char gpu_text[] =
    "#ifdef __OPENCL_VERSION__\n"
    "#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void\n"
    "#define GLOBAL __global\n"
    "#define THREAD get_local_id(0)\n"
    "#define GROUP get_group_id(0)\n"
    "#define GROUPS get_num_groups(0)\n"
    "#define QUAD(a) (uint4)(a)\n"
    "typedef ulong number;\n"
    "#else\n"
    "#define KERNEL extern \"C\" __global__ void __launch_bounds__(256)\n"
    "#define GLOBAL\n"
    "#define THREAD threadIdx.x\n"
    "#define GROUP blockIdx.x\n"
    "#define GROUPS gridDim.x\n"
    "#define QUAD(a) make_uint4(a, a, a, a)\n"
    "typedef unsigned long long number;\n"
    "#endif\n"
    "#define XOR(v) (v.x ^ v.y ^ v.z ^ v.w)\n"
    "#define MIX(NAME, DEPTH) \\\n"
    "KERNEL NAME(GLOBAL const uint4 *x, number in, GLOBAL uint4 *y, number out, number tile) \\\n"
    "{ \\\n"
    "    number tiles = in ? (in + tile - 1) / tile : (out + tile - 1) / tile; \\\n"
    "    unsigned int a = 0, one = THREAD; \\\n"
    "    for (number t = GROUP; t < tiles; t += GROUPS) { \\\n"
    "        number i = t * tile, end = i + tile < in ? i + tile : in; \\\n"
    "        number o = out * t / tiles, last = out * (t + 1) / tiles; \\\n"
    "        uint4 v[DEPTH]; \\\n"
    "        for (; i + DEPTH * 256 <= end; i += DEPTH * 256) { \\\n"
    "            _Pragma(\"unroll\") for (int k = 0; k < DEPTH; k++) v[k] = x[i + k * 256 + one]; "
    "\\\n"
    "            if (in == out) { \\\n"
    "                _Pragma(\"unroll\") for (int k = 0; k < DEPTH; k++) y[i + k * 256 + one] = "
    "v[k]; \\\n"
    "            } else { \\\n"
    "                _Pragma(\"unroll\") for (int k = 0; k < DEPTH; k++) a ^= XOR(v[k]); \\\n"
    "            } \\\n"
    "        } \\\n"
    "        for (i += one; i < end; i += 256) { \\\n"
    "            uint4 w = x[i]; \\\n"
    "            a ^= XOR(w); \\\n"
    "            if (in == out) y[i] = w; \\\n"
    "        } \\\n"
    "        if (in != out) \\\n"
    "            for (o += one; o < last; o += 256) y[o] = QUAD(a); \\\n"
    "    } \\\n"
    "    if (a == 0x12345678 && in > out) y[0] = QUAD(a); \\\n"
    "}\n"
    "MIX(mix_1, 1)\nMIX(mix_2, 2)\nMIX(mix_4, 4)\nMIX(mix_8, 8)\n"
    /* the whole grid steps through the input together, 8 steps in flight */
    "KERNEL read_all(GLOBAL const uint4 *x, number in, GLOBAL uint4 *y, number out, number tile)\n"
    "{\n"
    "    number step = (number)GROUPS * 256, i = (number)GROUP * 256 + THREAD;\n"
    "    unsigned int a = 0;\n"
    "    for (; i + 7 * step < in; i += 8 * step) {\n"
    "        uint4 v[8];\n"
    "        _Pragma(\"unroll\") for (int k = 0; k < 8; k++) v[k] = x[i + k * step];\n"
    "        _Pragma(\"unroll\") for (int k = 0; k < 8; k++) a ^= XOR(v[k]);\n"
    "    }\n"
    "    for (; i < in; i += step) { uint4 w = x[i]; a ^= XOR(w); }\n"
    "    if (a == 0x12345678) y[0] = QUAD(a);\n"
    "}\n";

const char *const gpu_kernels[] = {"mix_1", "mix_2", "mix_4", "mix_8", "read_all", NULL};

static void add(gpu_loops *list, const char *kernel, int64_t groups, int64_t tile, const char *how)
{
    gpu_loop *l = &list->loop[list->count];
    if (list->count == CLIFF_LOOPS) return;
    list->count++;
    *l = (gpu_loop){kernel, "", groups < 1 ? 1 : groups, tile < 1 ? 1 : tile};
    snprintf(l->name, sizeof l->name, "%s %s", kernel ? kernel : "driver's copy", how);
}

void gpu_list(gpu_loops *list, size_t in, size_t out, int processors)
{
    const int64_t most = (int64_t)1 << 24;
    char how[24];
    list->count = 0;
    if (in == out) add(list, NULL, 1, 1, "");
    for (int depth = 1, kernel = 0; depth <= 8; depth *= 2, kernel++) {
        int64_t tile = depth * GPU_GROUP;
        if (out > in && in) tile = (int64_t)((double)tile * (double)in / (double)out);
        if (tile < 1) tile = 1;
        const int64_t tiles = ((int64_t)((in ? in : out) / 16) + tile - 1) / tile;
        if (tiles <= most) add(list, gpu_kernels[kernel], tiles, tile, "a group a tile");
        for (int each = 2; each <= 8; each *= 2) {
            snprintf(how, sizeof how, "%d groups", each);
            if (tiles > (int64_t)each * processors)
                add(list, gpu_kernels[kernel], (int64_t)each * processors, tile, how);
        }
    }
    for (int each = 4; each <= 16 && out <= in / 256; each *= 2) {
        snprintf(how, sizeof how, "%d groups", each);
        add(list, "read_all", (int64_t)each * processors, 1, how);
    }
}

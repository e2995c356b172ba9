/* SPDX-License-Identifier: MIT
 * Writes what a kernel's text needs before it in CUDA, OpenCL C and C with OpenMP: types, and
 * definitions of the words of the dialect that the text uses. */
#include "export.h"
#include <string.h>

/* The definition of each word in each API. */
static const struct {
    const char *word, *in[APIS];
} helpers[] = {
    {"smaller",
     {"#define smaller(a, b) ((a) < (b) ? (a) : (b))\n",
      "#define smaller(a, b) ((a) < (b) ? (a) : (b))\n",
      "#define smaller(a, b) ((a) < (b) ? (a) : (b))\n"}},
    {"larger",
     {"#define larger(a, b) ((b) < (a) ? (a) : (b))\n",
      "#define larger(a, b) ((b) < (a) ? (a) : (b))\n",
      "#define larger(a, b) ((b) < (a) ? (a) : (b))\n"}},
    {"shuffle_down",
     {"#define shuffle_down(v, d) __shfl_down_sync(0xffffffffu, v, d)\n",
      "/* OpenCL 1.2 has no shuffles: all threads put their values down, meet, and take others'. "
      "*/\n"
      "static inline elem shuffle_by(__local elem *exchange, elem v, int d)\n{\n    int tid = "
      "(int)get_local_id(0), from = tid % WARP + d;\n"
      "    exchange[tid] = v;\n    barrier(CLK_LOCAL_MEM_FENCE);\n    elem got = from >= 0 && from "
      "< WARP ? exchange[tid + d] : v;\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n    return got;\n}\n#define shuffle_down(v, d) "
      "shuffle_by(exchange_, v, d)\n",
      "/* All threads put their values down, meet, and take others'. */\nstatic inline elem "
      "shuffle_by(elem *exchange, elem v, int d)\n{\n"
      "    int tid = omp_get_thread_num(), from = tid % WARP + d;\n    exchange[tid] = v;\n    "
      "BARRIER();\n"
      "    elem got = from >= 0 && from < WARP ? exchange[tid + d] : v;\n    BARRIER();\n    "
      "return got;\n}\n"
      "#define shuffle_down(v, d) shuffle_by(exchange_, v, d)\n"}},
    {"shuffle_up",
     {"#define shuffle_up(v, d) __shfl_up_sync(0xffffffffu, v, d)\n",
      "/* OpenCL 1.2 has no shuffles: all threads put their values down, meet, and take others'. "
      "*/\n"
      "static inline elem shuffle_back(__local elem *exchange, elem v, int d)\n{\n    int tid = "
      "(int)get_local_id(0), from = tid % WARP - d;\n    exchange[tid] = v;\n    "
      "barrier(CLK_LOCAL_MEM_FENCE);\n    elem got = from >= 0 ? exchange[tid - d] : v;\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n    return got;\n}\n#define shuffle_up(v, d) "
      "shuffle_back(exchange_, v, d)\n",
      "/* All threads put their values down, meet, and take others'. */\nstatic inline elem "
      "shuffle_back(elem *exchange, elem v, int d)\n{\n    int tid = omp_get_thread_num(), from = "
      "tid % WARP - d;\n    exchange[tid] = v;\n    BARRIER();\n    elem got = from >= 0 ? "
      "exchange[tid - d] : v;\n    BARRIER();\n    return got;\n}\n"
      "#define shuffle_up(v, d) shuffle_back(exchange_, v, d)\n"}},
    {"load4",
     {"struct __align__(16) elem4 { elem x, y, z, w; }; /* one access */\n#define load4(array, "
      "index) (*(const elem4 *)((array) + (index)))\n",
      "typedef struct __attribute__((aligned(16))) { elem x, y, z, w; } elem4; /* one access "
      "*/\n#define load4(array, index) (*(__global const elem4 *)((array) + (index)))\n",
      "typedef struct { elem x, y, z, w; } elem4;\nstatic inline elem4 load4(const elem *array, "
      "i64 i) { return (elem4){array[i], array[i + 1], array[i + 2], array[i + 3]}; }\n"}},
    {"FENCE",
     {"",
      "#ifdef __NV_CL_C_VERSION /* there mem_fence orders for the group alone; PTX has more */\n"
      "#define FENCE() __asm__ volatile(\"membar.gl;\" : : : \"memory\")\n#else\n"
      "#define FENCE() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n#endif\n",
      ""}},
    {"GRID_BARRIER",
     {"/* What grid.sync() of cooperative_groups does: all groups meet. */\n"
      "static __device__ void GRID_BARRIER(u32 *cell)\n{\n    __syncthreads();\n    if "
      "(threadIdx.x == 0) {\n"
      "        __threadfence();\n"
      "        const u32 goal = (atomicAdd(cell, 1u) / gridDim.x + 1) * gridDim.x;\n"
      "        while (*(volatile u32 *)cell < goal) {}\n        __threadfence();\n    }\n    "
      "__syncthreads();\n}\n",
      "/* There is one group. */\n"
      "#define GRID_BARRIER(cell) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n",
      "/* There is one group. */\n#define GRID_BARRIER(cell) \\\n    do { \\\n        "
      "(void)(cell); \\\n        BARRIER(); \\\n    } while (0)\n"}},
    {"atomic_next",
     {"#define atomic_next(array, index) atomicAdd((array) + (index), 1u)\n",
      "#define atomic_next(array, index) atomic_inc((array) + (index))\n",
      "#define atomic_next(array, index) __atomic_fetch_add((array) + (index), 1u, "
      "__ATOMIC_SEQ_CST)\n"}},
    {"atomic_more",
     {"#define atomic_more(array, index, value) atomicAdd((array) + (index), (u32)(value))\n",
      "#define atomic_more(array, index, value) atomic_add((array) + (index), (u32)(value))\n",
      "#define atomic_more(array, index, value) __atomic_fetch_add((array) + (index), "
      "(u32)(value), __ATOMIC_SEQ_CST)\n"}},
    {"atomic_read",
     {"#define atomic_read(array, index) atomicAdd((array) + (index), 0u)\n",
      "#define atomic_read(array, index) atomic_or((array) + (index), 0u)\n",
      "#define atomic_read(array, index) __atomic_load_n((array) + (index), __ATOMIC_SEQ_CST)\n"}},
    {"atomic_write",
     {"#define atomic_write(array, index, value) atomicExch((array) + (index), (u32)(value))\n",
      "#define atomic_write(array, index, value) atomic_xchg((array) + (index), (u32)(value))\n",
      "#define atomic_write(array, index, value) __atomic_store_n((array) + (index), (u32)(value), "
      "__ATOMIC_SEQ_CST)\n"}},
};

static void put_atomic_combine(FILE *f, api a, const model_setting *s)
{
    const int real = s->elem >= KIND_F32, wide = kind_bytes(s->elem) == 8, sum = s->operation == 0;
    static const char *const short_name[] = {"add", "min", "max"}, *const cuda_name[] = {
                                                                       "Add", "Min", "Max"};
    if (a == API_C) {
        fprintf(f, "static inline void atomic_combine(elem *array, i64 i, elem v)\n{\n#pragma omp "
                   "critical\n    array[i] = combine(array[i], v);\n}\n");
    } else if (a == API_CUDA && (!real || sum)) {
        const int cast = sum && s->elem == KIND_I64;
        fprintf(f, "#define atomic_combine(array, index, v) atomic%s(%s((array) + (index)), %sv)\n",
                cuda_name[s->operation], cast ? "(unsigned long long *)" : "",
                cast ? "(unsigned long long)" : "");
    } else if (a == API_OPENCL && !real && !wide) {
        fprintf(f, "#define atomic_combine(array, index, v) atomic_%s((array) + (index), v)\n",
                short_name[s->operation]);
    } else { /* compare and swap, on the bits */
        const char *const bits = a == API_CUDA ? (wide ? "unsigned long long" : "unsigned int")
                                 : wide        ? "ulong"
                                               : "uint";
        const char *const global = a == API_CUDA ? "" : "__global ";
        const char *const to = a == API_CUDA ? (wide ? "__double_as_longlong" : "__float_as_uint")
                               : !real       ? "(ulong)"
                               : wide        ? "as_ulong"
                                             : "as_uint";
        const char *const from = a == API_CUDA ? (wide ? "__longlong_as_double" : "__uint_as_float")
                                 : !real       ? "(elem)"
                                 : wide        ? "as_double"
                                               : "as_float";
        const char *const swap = a == API_CUDA ? "atomicCAS"
                                 : wide        ? "atom_cmpxchg"
                                               : "atomic_cmpxchg";
        if (a == API_OPENCL && wide)
            fprintf(f, "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n");
        fprintf(f,
                "%s void atomic_combine(%svolatile elem *array, i64 i, elem v)\n{\n    %svolatile "
                "%s *p = (%svolatile %s *)(array + i);\n"
                "    %s old = *p, seen = old + 1;\n    while (seen != old) {\n        seen = "
                "old;\n        old = %s((%s%s%s *)p, seen, %s(combine(%s(seen), v)));\n    }\n}\n",
                a == API_CUDA ? "static __device__" : "static inline", global, global, bits, global,
                bits, bits, swap, global, a == API_CUDA ? "" : "volatile ", bits, to, from);
    }
}

/* Folds the values of a warp. Since Ampere CUDA has an instruction for integers of 4 bytes. Others
 * use shuffles, and the other APIs use memory that all lanes can access. */
static void put_warp_combine(FILE *f, api a, const model_setting *s)
{
    static const char *const does[] = {"add", "min", "max"};
    if (a != API_CUDA) {
        fprintf(
            f,
            "static inline elem warp_fold(%selem *exchange, elem v)\n{\n    int tid = %s;\n"
            "    for (int s = WARP / 2; s > 0; s /= 2) {\n        exchange[tid] = v;\n        %s;\n"
            "        elem other = exchange[tid ^ s];\n        %s;\n        v = combine(v, "
            "other);\n    }\n    return v;\n}\n"
            "#define warp_combine(v) warp_fold(exchange_, v)\n",
            a == API_OPENCL ? "__local " : "",
            a == API_OPENCL ? "(int)get_local_id(0)" : "omp_get_thread_num()",
            a == API_OPENCL ? "barrier(CLK_LOCAL_MEM_FENCE)" : "BARRIER()",
            a == API_OPENCL ? "barrier(CLK_LOCAL_MEM_FENCE)" : "BARRIER()");
        return;
    }
    const int whole = s->elem < KIND_F32 && kind_bytes(s->elem) == 4;
    fprintf(f, "static __device__ elem warp_combine(elem v)\n{\n");
    if (whole)
        fprintf(f,
                "#if __CUDA_ARCH__ >= 800\n    return __reduce_%s_sync(0xffffffffu, v);\n#else\n",
                does[s->operation]);
    fprintf(f,
            "    for (int s = WARP / 2; s > 0; s /= 2) v = combine(v, __shfl_xor_sync(0xffffffffu, "
            "v, s));\n    return v;\n%s}\n",
            whole ? "#endif\n" : "");
}

/* Asynchronous copies to shared memory. CUDA has them since Ampere; elsewhere the thread copies at
 * once. */
static void put_copy_async(FILE *f, api a, const model_setting *s)
{
    if (a == API_CUDA)
        fprintf(
            f,
            "#if __CUDA_ARCH__ >= 800\n#define copy_async(to, i, from, j) \\\n"
            "    asm volatile(\"cp.async.ca.shared.global [%%0], [%%1], %%2;\" : : "
            "\"r\"((u32)__cvta_generic_to_shared((to) + (i))), \"l\"((from) + (j)), \"n\"(%d) : "
            "\"memory\")\n"
            "#define copy_wait() asm volatile(\"cp.async.wait_all;\" : : : \"memory\")\n#else\n",
            (int)kind_bytes(s->elem));
    fprintf(f,
            "#define copy_async(to, i, from, j) ((to)[i] = (from)[j])\n#define copy_wait() "
            "((void)0)\n%s",
            a == API_CUDA ? "#endif\n" : "");
}

static void put_words_of_8_bytes(FILE *f, api a)
{
    fprintf(f, "typedef %s u64;\n",
            a == API_CUDA     ? "unsigned long long"
            : a == API_OPENCL ? "ulong"
                              : "uint64_t");
}

/* Converts an element to its bits, and back. */
static void put_bits(FILE *f, api a, const model_setting *s)
{
    const int real = s->elem >= KIND_F32, size = (int)kind_bytes(s->elem), wide = size == 8;
    static const char *const to[2][2] = {{"__float_as_uint", "__double_as_longlong"},
                                         {"as_uint", "as_ulong"}};
    static const char *const from[2][2] = {{"__uint_as_float", "__longlong_as_double"},
                                           {"as_float", "as_double"}};
    put_words_of_8_bytes(f, a);
    fprintf(f, "#define ELEM_SIZE %d\n", size);
    if (a == API_C)
        fprintf(f, "static inline u64 bits_of(elem v)\n{\n    u64 w = 0;\n    memcpy(&w, &v, "
                   "sizeof v);\n    return w;\n}\nstatic inline elem value_of(u64 w)\n{\n    elem "
                   "v;\n    memcpy(&v, &w, sizeof v);\n    return v;\n}\n");
    else if (real)
        fprintf(f, "#define bits_of(v) ((u64)%s(v))\n#define value_of(w) %s((%s)(w))\n",
                to[a != API_CUDA][wide], from[a != API_CUDA][wide],
                wide ? (a == API_CUDA ? "long long" : "ulong") : "u32");
    else
        fprintf(f, "#define bits_of(v) ((u64)(%s)(v))\n#define value_of(w) ((elem)(w))\n",
                wide ? "u64" : "u32");
}

/* Bulk copies: CUDA has them since Hopper; elsewhere the thread copies in a loop, and the wait
   is a barrier. */
static void put_bulk_copy(FILE *f, api a, const model_setting *s)
{
    put_words_of_8_bytes(f, a);
    if (a != API_CUDA) {
        fprintf(f,
                "#define bulk_open(arrived, k) ((arrived)[k] = 0)\n"
                "#define bulk_copy(to, i, from, j, count, arrived, k) \\\n"
                "    do \\\n        for (i64 q = 0; q < (count); q++) (to)[(i) + q] = (from)[(j) + "
                "q]; \\\n"
                "    while (0)\n"
                "#define bulk_wait(arrived, k, phase) \\\n    do { \\\n        (void)(arrived)[k], "
                "(void)(phase); \\\n        %s; \\\n    } while (0)\n",
                a == API_OPENCL ? "barrier(CLK_LOCAL_MEM_FENCE)" : "BARRIER()");
        return;
    }
    fprintf(f,
            "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n#error \"bulk copies need nvcc "
            "-arch=sm_90 or later\"\n"
            "#endif\n"
            "#define shared_address(p) ((u32)__cvta_generic_to_shared(p))\n"
            "static __device__ void bulk_open(u64 *arrived, int k)\n{\n"
            "    asm volatile(\"mbarrier.init.shared::cta.b64 [%%0], 1;\" : : "
            "\"r\"(shared_address(arrived + k)) : \"memory\");\n"
            "    asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : \"memory\");\n"
            "    asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n}\n"
            "static __device__ void bulk_start(void *to, const void *from, u32 bytes, u64 "
            "*arrived)\n{\n"
            "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%0], %%1;\" : : "
            "\"r\"(shared_address(arrived)), \"r\"(bytes) : \"memory\");\n"
            "    asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%%0], [%%1], %%2, [%%3];\" : : \"r\"(shared_address(to)), "
            "\"l\"(__cvta_generic_to_global(from)), \"r\"(bytes), \"r\"(shared_address(arrived)) : "
            "\"memory\");\n}\n"
            "#define bulk_copy(to, i, from, j, count, arrived, k) \\\n"
            "    bulk_start((to) + (i), (from) + (j), (u32)((count) * %d), (arrived) + (k))\n"
            "static __device__ void bulk_wait(u64 *arrived, int k, int phase)\n{\n    u32 done = "
            "0;\n    while (!done)\n"
            "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, "
            "[%%1], %%2; selp.u32 %%0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(shared_address(arrived "
            "+ k)), \"r\"((u32)phase) : \"memory\");\n}\n",
            (int)kind_bytes(s->elem));
}

/* Defines NEUTRAL and combine in OpenCL C. */
static void put_operation(FILE *f, const model_setting *s)
{
    static const char *const does[] = {"a + b", "a < b ? a : b", "b < a ? a : b"};
    static const char *const low[] = {"(-128)",
                                      "0",
                                      "(-32768)",
                                      "0",
                                      "(-2147483647 - 1)",
                                      "0u",
                                      "(-9223372036854775807l - 1)",
                                      "0ul",
                                      "-INFINITY",
                                      "-INFINITY"};
    static const char *const high[] = {"127",
                                       "255",
                                       "32767",
                                       "65535",
                                       "2147483647",
                                       "0xffffffffu",
                                       "9223372036854775807l",
                                       "0xfffffffffffffffful",
                                       "INFINITY",
                                       "INFINITY"};
    fprintf(f,
            "#define NEUTRAL ((elem)%s)\nstatic inline elem combine(elem a, elem b) { return "
            "%s; }\n",
            !s->operation       ? "0"
            : s->operation == 1 ? high[s->elem]
                                : low[s->elem],
            does[s->operation]);
}

void words_before_kernel(FILE *f, api a, const model_setting *s, const rung *g, const char *text)
{
    static const char *const opencl_types[] = {"char", "uchar", "short", "ushort", "int",
                                               "uint", "long",  "ulong", "float",  "double"};
    const char *const body = after_head(text);
    if (a == API_OPENCL) {
        fprintf(f,
                "#pragma OPENCL FP_CONTRACT OFF\n%stypedef long i64;\ntypedef uint u32;\ntypedef "
                "%s elem;\n#define THREADS %d\n#define WARP 32\n",
                s->elem == KIND_F64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "",
                opencl_types[s->elem], g->threads);
    } else {
        fprintf(f, "typedef %s i64;\ntypedef unsigned int u32;\n",
                a == API_CUDA ? "long long" : "int64_t");
        if (a == API_C)
            fprintf(f, "static i64 group_index_, group_count_;\n#define BARRIER() _Pragma(\"omp "
                       "barrier\")\n"
                       "/* What follows is done by THREADS threads for each of these groups. */\n"
                       "#define EACH_THREAD_OF(groups) \\\n    for (group_count_ = (groups), "
                       "group_index_ = 0; group_index_ < group_count_; group_index_++) \\\n"
                       "    _Pragma(\"omp parallel num_threads(THREADS)\")\n");
    }
    if (a == API_OPENCL) put_operation(f, s);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (has_word(body, helpers[i].word)) fputs(helpers[i].in[a], f);
    if (has_word(body, "atomic_combine")) put_atomic_combine(f, a, s);
    if (has_word(body, "warp_combine")) put_warp_combine(f, a, s);
    if (has_word(body, "copy_async")) put_copy_async(f, a, s);
    if (has_word(body, "bits_of")) put_bits(f, a, s);
    if (has_word(body, "bulk_copy")) put_bulk_copy(f, a, s);
    fputc('\n', f);
}

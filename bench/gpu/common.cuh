/* SPDX-License-Identifier: MIT
 *
 * common.cuh - what the CUDA benchmarks share: a GPU and the processors, the loop that only reads, a clock, numbers by
 * chance.
 */
#ifndef BENCH_GPU_COMMON_CUH
#define BENCH_GPU_COMMON_CUH
#include "tally.h"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        if (e_ != cudaSuccess) {                                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int rounds = 9, processors;
static cudaStream_t stream;
static tally *gpu, *cpu;

static void ok(tally_status s, tally *ctx)
{
    if (s) {
        fprintf(stderr, "%s\n", tally_error(ctx));
        exit(1);
    }
}

/* cuda:0, its stream and its processors, and the CPU. */
static void open_both(void)
{
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    ok(tally_open(&gpu, "cuda:0"), nullptr);
    ok(tally_open(&cpu, "cpu"), nullptr);
    ok(tally_use_stream(gpu, stream), gpu);
}

/* ---- the read ceiling ---- */

__global__ void read_all(const uint4 *x, size_t n, unsigned *out)
{
    unsigned a = 0;
    size_t step = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 7 * step < n; i += 8 * step) {
        uint4 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = x[i + k * step];
#pragma unroll
        for (int k = 0; k < 8; k++) a ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    for (; i < n; i += step) a ^= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
    if (a == 0x12345678) *out = a;
}

/* The best loop that only reads; sink: four bytes of device memory. */
static void read_bytes(const void *from, size_t bytes, void *sink)
{
    read_all<<<processors * 8, 256, 0, stream>>>((const uint4 *)from, bytes / 16, (unsigned *)sink);
}

/* ---- the clock ---- */

/* Medians in microseconds, of all subjects in turns; a turn is `inner` calls. A subject gets a number that grows from
 * call to call, by which it may choose a copy of its input. */
static std::vector<double> measure(const std::vector<std::function<void(int)>> &subjects, int inner = 3)
{
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    std::vector<std::vector<double>> times(subjects.size());
    for (int r = -2; r < rounds; r++)
        for (size_t s = 0; s < subjects.size(); s++) {
            CHECK(cudaEventRecord(a, stream));
            for (int k = 0; k < inner; k++) subjects[s](r + 2 + k);
            CHECK(cudaEventRecord(b, stream));
            CHECK(cudaEventSynchronize(b));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, a, b));
            if (r >= 0) times[s].push_back(ms * 1000 / inner);
        }
    std::vector<double> medians;
    for (auto &t : times) {
        std::sort(t.begin(), t.end());
        medians.push_back(t[t.size() / 2]);
    }
    CHECK(cudaEventDestroy(a));
    CHECK(cudaEventDestroy(b));
    return medians;
}

/* ---- numbers by chance ---- */

static __device__ uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}

/* Floats of [-1, 1), or all bits of an integer. */
template <class T> __global__ void fill_uniform(T *x, size_t n, uint32_t seed)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const int32_t r = (int32_t)mixed((uint32_t)i * 2 + seed);
        x[i] = !std::is_floating_point<T>::value ? (T)r : (T)(r * (sizeof(T) > 4 ? 0x1p-31 : 0x1p-31f));
    }
}
#endif

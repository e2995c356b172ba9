/* SPDX-License-Identifier: MIT
 *
 * exact.cu - exact sums on CUDA, beside the read ceiling, CUB's sum and tally's own sum in the
 * same run.
 *
 *     nvcc -O3 -arch=native -std=c++17 -Iinclude bench/gpu/exact.cu -o exact build-gpu/libtally.a
 *          -Xcompiler -pthread -ldl -lm
 *     TALLY_CODE=best ./exact [LOG2 [ROUNDS]]         elements: 2^LOG2, 28 unless given; 9 rounds
 *
 * Everything is in device memory. Data: near, numbers of [-1, 1); far, all exponents of the type
 * that have no infinity. Every figure is the median of the rounds, timed by events on one
 * stream. of read: the time of the best loop that only reads the same bytes, by that of the
 * call. Before it is timed each call's bits are compared with the processors', on at most 2^22
 * elements and more. The table is printed last.
 */
#include "common.cuh"
#include <cub/cub.cuh>

/* bits: of the type; exponent, mantissa: of them. */
template <class T> __global__ void fill(T *x, size_t n, uint32_t seed, int far, int mantissa, int exponents)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const uint64_t r = (uint64_t)mixed((uint32_t)i * 2 + seed) << 32 | mixed((uint32_t)i * 2 + seed + 77777);
        const uint64_t top = exponents / 2,
                       e = far ? 1 + r % (exponents - 2) : top - 1 - __clz((int)(r >> 8 & 0xffff | 1)) + 16;
        x[i] = (T)((r >> 63) << (8 * sizeof(T) - 1) | e << mantissa | (r >> 7 & (((uint64_t)1 << mantissa) - 1)));
    }
}

/* shape: 0 one sequence; N rows of N; -N: N columns. log: a power of two more or less elements. */
struct problem {
    const char *op, *plain;
    tally_dtype dtype;
    int far;
    int64_t shape;
    int log;
};

static tally_view view_of(const problem &p, int64_t n, const void *x)
{
    if (p.shape > 0) return tally_rows((void *)x, p.dtype, n / p.shape, p.shape);
    if (p.shape < 0) return tally_columns((void *)x, p.dtype, n / -p.shape, -p.shape);
    return tally_flat((void *)x, p.dtype, n);
}

int main(int argc, char **argv)
{
    static const problem problems[] = {
        {"sum:exact", "sum", TALLY_F32, 0, 0, 0},      {"sum:exact", "sum", TALLY_F64, 0, 0, -1},
        {"sum:exact", "sum", TALLY_F32, 1, 0, 0},      {"sum:exact", "sum", TALLY_F64, 1, 0, -1},
        {"sum:exact", "sum", TALLY_F16, 0, 0, 1},      {"sum:exact", "sum", TALLY_BF16, 1, 0, 1},
        {"mean:exact", "mean", TALLY_F32, 0, 0, 0},    {"nansum:exact", "nansum", TALLY_F64, 0, 0, -1},
        {"dot:exact", "dot", TALLY_F32, 0, 0, -1},     {"dot:exact", "dot", TALLY_F64, 0, 0, -2},
        {"sum:exact", "sum", TALLY_F32, 0, 0, -4},     {"sum:exact", "sum", TALLY_F32, 0, 0, -8},
        {"sum:exact", "sum", TALLY_F32, 0, 0, -12},    {"sum:exact", "sum", TALLY_F32, 0, 8, -2},
        {"sum:exact", "sum", TALLY_F32, 0, 100, 0},    {"sum:exact", "sum", TALLY_F32, 0, 1000, 0},
        {"sum:exact", "sum", TALLY_F64, 0, 100000, -1}, {"sum:exact", "sum", TALLY_F32, 0, -1000, 0}};
    const int log = argc > 1 ? atoi(argv[1]) : 28;
    if (argc > 2) rounds = atoi(argv[2]);
    const size_t most = (size_t)1 << log;
    char *x, *y, *out, *scratch;
    size_t scratch_bytes = 64 << 20;
    int failed = 0;
    std::string table;
    open_both();
    CHECK(cudaMalloc(&x, most * 4 + 4096));
    CHECK(cudaMalloc(&y, most * 4 + 4096));
    CHECK(cudaMalloc(&out, most * 4 + 4096));
    CHECK(cudaMalloc(&scratch, scratch_bytes));
    for (const problem &p : problems) {
        const size_t n = (size_t)1 << (log + p.log), size = tally_dtype_size(p.dtype), bytes = n * size,
                     few = std::min(n, ((size_t)1 << 22) + 77 * 1000);
        const bool two = !strcmp(p.op, "dot:exact");
        for (int k = 0; k < 1 + two; k++) {
            char *to = k ? y : x;
            if (p.dtype == TALLY_F32) fill<<<1024, 256>>>((uint32_t *)to, n, k, p.far, 23, 256);
            if (p.dtype == TALLY_F64) fill<<<1024, 256>>>((uint64_t *)to, n, k, p.far, 52, 2048);
            if (p.dtype == TALLY_F16) fill<<<1024, 256>>>((uint16_t *)to, n, k, p.far, 10, 32);
            if (p.dtype == TALLY_BF16) fill<<<1024, 256>>>((uint16_t *)to, n, k, p.far, 7, 256);
        }
        CHECK(cudaDeviceSynchronize());
        { /* the bits */
            std::vector<char> hx(few * size), hy(few * size), want(few * 8, 0), got(few * 8, 0);
            CHECK(cudaMemcpy(hx.data(), x, few * size, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(hy.data(), y, few * size, cudaMemcpyDeviceToHost));
            tally_view in = view_of(p, (int64_t)few, hx.data()), next = in;
            next.data = hy.data();
            if (two) in.next = &next;
            ok(tally_reduce(cpu, p.op, &in, want.data()), cpu);
            in = view_of(p, (int64_t)few, x), next = in;
            next.data = y;
            if (two) in.next = &next;
            const size_t results = (size_t)in.rows * (p.dtype == TALLY_F64 ? 8 : 4);
            CHECK(cudaMemset(out, 0, results));
            ok(tally_reduce(gpu, p.op, &in, out), gpu);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(got.data(), out, results, cudaMemcpyDeviceToHost));
            if (memcmp(want.data(), got.data(), results)) {
                printf("%s %s: DIFFERS from the processors\n", p.op, tally_dtype_name(p.dtype));
                failed = 1;
            }
        }
        tally_view in = view_of(p, (int64_t)n, x), next = in;
        next.data = y;
        if (two) in.next = &next;
        const auto cub = [&](int) {
            if (p.dtype == TALLY_F32)
                CHECK(cub::DeviceReduce::Sum(scratch, scratch_bytes, (float *)x, (float *)out,
                                             (int64_t)n, stream));
            else if (p.dtype == TALLY_F64)
                CHECK(cub::DeviceReduce::Sum(scratch, scratch_bytes, (double *)x, (double *)out,
                                             (int64_t)n, stream));
        };
        const auto read = [&](int) {
            for (int k = 0; k < 1 + two; k++) read_bytes(k ? y : x, bytes, out);
        };
        const std::vector<double> us = measure({read, [&](int) { ok(tally_reduce(gpu, p.op, &in, out), gpu); },
                                                [&](int) { ok(tally_reduce(gpu, p.plain, &in, out), gpu); }, cub});
        char line[200], shape[40] = "flat";
        if (p.shape) snprintf(shape, sizeof shape, "%s %lld", p.shape > 0 ? "rows of" : "columns",
                              (long long)llabs(p.shape));
        snprintf(line, sizeof line,
                 "%-13s %-4s %-14s 2^%-2d %-4s %9.1f us %6.2f of read, plain %5.2f of read, CUB %9.1f us\n",
                 p.op, tally_dtype_name(p.dtype), shape, log + p.log, p.far ? "far" : "near", us[1], us[0] / us[1],
                 us[0] / us[2], p.shape || two || size < 4 ? 0.0 : us[3]);
        fputs(line, stdout);
        fflush(stdout);
        table += line;
    }
    printf("\n%s", table.c_str());
    tally_close(gpu);
    tally_close(cpu);
    return failed;
}

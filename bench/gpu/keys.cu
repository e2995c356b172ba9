/* SPDX-License-Identifier: MIT
 *
 * keys.cu - runs of equal keys, sums by key and gathers in device memory, beside CUB and the
 * read ceiling of the same run.
 *
 *     nvcc -O3 -arch=native -std=c++17 -Iinclude bench/gpu/keys.cu -o keys build-gpu/libtally.a
 *          -Xcompiler -pthread -ldl -lm
 *     TALLY_CODE=best ./keys [LOG2 [ROUNDS [MEAN]]]     keys: 2^LOG2, 28 unless given; 9 rounds; runs of 100 on average
 *
 * Every figure is the median of the rounds, timed by events on one stream. runs: tally_runs, beside
 * cub::DeviceRunLengthEncode::Encode. by key: tally_runs, then tally_reduce "sum" of the
 * segments that it made, beside cub::DeviceReduce::ReduceByKey. take: tally_take, beside a loop
 * y[i] = x[order[i]] that checks nothing. of read: the time of the best loop that only reads the
 * same keys and values (of a gather: the numbers and the elements), by that of the call. times
 * CUB: its time, by that of the call. Before it is timed each call's bits are compared with
 * those of the processors, on the first 2^22 + 77 keys, and the number of runs with CUB's. The
 * table is printed last.
 */
#include "common.cuh"
#include <cub/cub.cuh>

/* Keys of runs that begin by chance: the number of a run's first element, mixed. */
template <class T> __global__ void fill_keys(T *x, size_t n, uint32_t mean)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        size_t j = i;
        while (j && mixed((uint32_t)j) % mean) j--;
        x[i] = (T)(j * 0x9e3779b97f4a7c15u);
    }
}
/* Places: near ones, or any of n, a power of 2. */
__global__ void fill_order(int64_t *x, size_t n, int near)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        x[i] = near ? (int64_t)(i ^ 21) : (int64_t)((i * 0x9e3779b97f4a7c15u >> 7 ^ i) & (n - 1));
}
template <class T> __global__ void gather(const T *x, const int64_t *order, size_t n, T *y)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] = x[order[i]];
}
struct add {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

static size_t n, few;
static char *keys, *values, *out, *unique_keys, *scratch;
static int64_t *offsets, *number, runs;
static int failed;
static std::string table;
static uint32_t mean = 100;

static void read(const void *from, size_t bytes)
{
    read_bytes(from, bytes, number);
}

static void line(const char *what, tally_dtype k, const char *v, double bytes, double ceiling, double us, double other)
{
    char text[200];
    snprintf(text, sizeof text, "%-8s %-4s %-7s %9.1f %8.0f %8.2f %10.1f %10.2f\n", what, tally_dtype_name(k), v, us,
             bytes / us * 1e-3, ceiling / us, other, other / us);
    table += text;
    fputs(text, stderr);
}

/* Offsets and sums of the first keys, on both; v: 0, no values. */
static void check(tally_dtype k, tally_dtype v)
{
    const size_t ks = tally_dtype_size(k), vs = v ? tally_dtype_size(v) : 0;
    std::vector<char> hk(few * ks), hv(few * 8), want(few * 8), got(few * 8);
    std::vector<int64_t> places(few + 1), there(few + 1);
    int64_t a = 0, b = 0;
    CHECK(cudaMemcpy(hk.data(), keys, few * ks, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hv.data(), values, few * vs, cudaMemcpyDeviceToHost));
    const tally_view here = tally_flat(hk.data(), k, (int64_t)few), on = tally_flat(keys, k, (int64_t)few);
    ok(tally_runs(cpu, &here, places.data(), &a), cpu);
    ok(tally_runs(gpu, &on, offsets, &b), gpu);
    CHECK(cudaMemcpy(there.data(), offsets, (few + 1) * 8, cudaMemcpyDeviceToHost));
    int same = a == b && !memcmp(places.data(), there.data(), (size_t)(a + 1) * 8);
    if (same && v) {
        const tally_view x = tally_segments(hv.data(), v, places.data(), a), y = tally_segments(values, v, offsets, a);
        ok(tally_reduce(cpu, "sum", &x, want.data()), cpu);
        ok(tally_reduce(gpu, "sum", &y, out), gpu);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(got.data(), out, (size_t)a * vs, cudaMemcpyDeviceToHost));
        same = !memcmp(want.data(), got.data(), (size_t)a * vs);
    }
    if (same) return;
    printf("%s: DIFFERS from the processors\n", tally_dtype_name(k));
    failed = 1;
}

/* CUB's number of runs and tally's. */
static void compare_runs(void)
{
    int64_t cubs = 0;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&cubs, number, 4, cudaMemcpyDeviceToHost));
    if (cubs == runs) return;
    printf("%lld runs, CUB's are %lld\n", (long long)runs, (long long)cubs);
    failed = 1;
}

template <class K> static void time_runs(tally_dtype k)
{
    fill_keys<<<1024, 256>>>((K *)keys, n, mean);
    CHECK(cudaDeviceSynchronize());
    check(k, (tally_dtype)0);
    const tally_view all = tally_flat(keys, k, (int64_t)n);
    size_t bytes = 0;
    const auto encode = [&](void *at, size_t *b) {
        CHECK(cub::DeviceRunLengthEncode::Encode(at, *b, (const K *)keys, (K *)unique_keys, (int *)out, (int *)number,
                                                 (int)n, stream));
    };
    encode(nullptr, &bytes);
    CHECK(cudaMalloc(&scratch, bytes));
    const std::vector<double> us =
        measure({[&](int) { read(keys, n * sizeof(K)); }, [&](int) { ok(tally_runs(gpu, &all, offsets, &runs), gpu); },
                 [&](int) { ok(tally_runs(gpu, &all, nullptr, &runs), gpu); }, [&](int) { encode(scratch, &bytes); }});
    compare_runs();
    line("runs", k, "", (double)n * sizeof(K), us[0], us[1], us[3]);
    line("count", k, "", (double)n * sizeof(K), us[0], us[2], us[3]);
    CHECK(cudaFree(scratch));
}

template <class K, class V> static void time_sums(tally_dtype k, tally_dtype v)
{
    fill_keys<<<1024, 256>>>((K *)keys, n, mean);
    fill_uniform<<<1024, 256>>>((V *)values, n, 1);
    CHECK(cudaDeviceSynchronize());
    check(k, v);
    const tally_view all = tally_flat(keys, k, (int64_t)n);
    size_t bytes = 0;
    const auto by_key = [&](void *at, size_t *b) {
        CHECK(cub::DeviceReduce::ReduceByKey(at, *b, (const K *)keys, (K *)unique_keys, (const V *)values, (V *)out,
                                             (int *)number, add(), (int)n, stream));
    };
    by_key(nullptr, &bytes);
    CHECK(cudaMalloc(&scratch, bytes));
    const auto sums = [&](int) {
        const tally_view s = tally_segments(values, v, offsets, runs);
        ok(tally_reduce(gpu, "sum", &s, out), gpu);
    };
    const auto read_both = [&](int) {
        read(keys, n * sizeof(K));
        read(values, n * sizeof(V));
    };
    const auto runs_and_sums = [&](int i) {
        ok(tally_runs(gpu, &all, offsets, &runs), gpu);
        sums(i);
    };
    const std::vector<double> us = measure({read_both, runs_and_sums, [&](int) { by_key(scratch,
                                                                                        &bytes); },
                                            [&](int) { read(values, n * sizeof(V)); }, sums});
    compare_runs();
    line("by key", k, tally_dtype_name(v), (double)n * (sizeof(K) + sizeof(V)), us[0], us[1], us[2]);
    line(" sums", k, tally_dtype_name(v), (double)n * sizeof(V), us[3], us[4], us[2]);
    CHECK(cudaFree(scratch));
}

template <class V> static void time_take(tally_dtype v, int near)
{
    fill_uniform<<<1024, 256>>>((V *)values, n, 1);
    fill_order<<<1024, 256>>>((int64_t *)keys, n, near);
    CHECK(cudaDeviceSynchronize());
    const tally_view x = tally_flat(values, v, (int64_t)n), y = tally_flat(out, v, (int64_t)n);
    const int64_t *const order = (const int64_t *)keys;
    std::vector<char> want(few * sizeof(V)), got(few * sizeof(V));
    gather<<<1024, 256>>>((const V *)values, order, n, (V *)out);
    CHECK(cudaMemcpy(want.data(), out, few * sizeof(V), cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(out, 0, n * sizeof(V)));
    ok(tally_take(gpu, &x, order, (int64_t)n, &y), gpu);
    CHECK(cudaMemcpy(got.data(), out, few * sizeof(V), cudaMemcpyDeviceToHost));
    if (memcmp(want.data(), got.data(), few * sizeof(V))) printf("take: DIFFERS\n"), failed = 1;
    const auto read_both = [&](int) {
        read(order, n * 8);
        read(values, n * sizeof(V));
    };
    const std::vector<double> us =
        measure({read_both, [&](int) { ok(tally_take(gpu, &x, order, (int64_t)n, &y), gpu); },
                 [&](int) { gather<<<processors * 16, 256, 0, stream>>>((const V *)values, order, n, (V *)out); }});
    line(near ? "take" : "take any", TALLY_I64, tally_dtype_name(v), (double)n * (8 + 2 * sizeof(V)), us[0],
         us[1], us[2]);
}

int main(int argc, char **argv)
{
    const int log = argc > 1 ? atoi(argv[1]) : 28;
    if (argc > 2) rounds = atoi(argv[2]);
    if (argc > 3) mean = (uint32_t)atoi(argv[3]);
    n = (size_t)1 << log, few = std::min(n, ((size_t)1 << 22) + 77);
    open_both();
    CHECK(cudaMalloc(&keys, n * 8));
    CHECK(cudaMalloc(&values, n * 8));
    CHECK(cudaMalloc(&out, n * 8));
    CHECK(cudaMalloc(&unique_keys, n * 8));
    CHECK(cudaMalloc(&offsets, (n + 1) * 8));
    CHECK(cudaMalloc(&number, 16));
    CHECK(cudaMemset(number, 0, 16));
    time_runs<int64_t>(TALLY_I64);
    time_runs<int32_t>(TALLY_I32);
    time_runs<int8_t>(TALLY_I8);
    time_sums<int64_t, float>(TALLY_I64, TALLY_F32);
    time_sums<int64_t, double>(TALLY_I64, TALLY_F64);
    time_sums<int32_t, float>(TALLY_I32, TALLY_F32);
    time_take<float>(TALLY_F32, 1);
    time_take<double>(TALLY_F64, 1);
    time_take<float>(TALLY_F32, 0);
    printf("2^%d keys, runs of %u in the mean, device memory, %s\n", log, mean, tally_isa(gpu));
    printf("%-8s %-4s %-7s %9s %8s %8s %10s %10s\n%s", "call", "keys", "values", "us", "GB/s", "of read", "CUB, us",
           "times CUB", table.c_str());
    return failed;
}

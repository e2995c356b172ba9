/* SPDX-License-Identifier: MIT
 *
 * bench.cu - tally on CUDA beside CUB in one run, against the read and the copy ceiling of the
 * same GPU.
 *
 *     nvcc -O3 -arch=native -I../../include bench.cu -o bench ../../build/libtally.a -Xcompiler
 *     -pthread -ldl ./bench [rounds [words of a problem, as "scan f32"]]
 *
 * Every figure is the median of the rounds, timed by events on one stream; a round runs all
 * subjects of a problem one after the other. Inputs rotate through several copies when they are
 * small enough to stay in the cache. Data: uniform random bits for integers, uniform in [-1, 1)
 * for floats. tally's bits are compared with its CPU device's before it is timed.
 */
#include "common.cuh"
#include <cmath>
#include <cub/cub.cuh>
#include <random>

static const char *only = ""; /* problems whose name has this */
static bool wanted(const char *problem) { return strstr(problem, only) != nullptr; }

struct subject {
    const char *name;
    std::function<void(int)> run; /* with copy number i of the input */
};

/* Medians in microseconds, of all subjects side by side. */
static std::vector<double> measure(const std::vector<subject> &subjects, int copies)
{
    std::vector<std::function<void(int)>> runs;
    for (const subject &s : subjects) runs.push_back([&s, copies](int i) { s.run(i % copies); });
    return measure(runs, 5);
}

static void print(const char *problem, const std::vector<subject> &subjects, const std::vector<double> &us, double bytes)
{
    printf("%-28s", problem);
    for (size_t i = 0; i < subjects.size(); i++)
        printf("  %s %.1f us%s", subjects[i].name, us[i], "");
    printf("  | tally %.0f GB/s", bytes / us[1] * 1e-3);
    for (size_t i = 0; i < subjects.size(); i++)
        if (i != 1) printf(", %.2f of %s", us[i] / us[1], subjects[i].name);
    printf("\n");
    fflush(stdout);
}

template <class T> static void fill(std::vector<T> &x)
{
    std::mt19937_64 g(1);
    for (auto &v : x) v = std::is_floating_point<T>::value ? (T)((double)(int64_t)g() / 9.3e18) : (T)g();
}

template <class T> struct data {
    std::vector<T *> copies;
    size_t n;
    std::vector<T> host;
    data(size_t n) : n(n), host(n)
    {
        fill(host);
        size_t count = std::max<size_t>(1, std::min<size_t>(16, (256u << 20) / (n * sizeof(T))));
        for (size_t i = 0; i < count; i++) {
            T *p;
            CHECK(cudaMalloc(&p, n * sizeof(T)));
            CHECK(cudaMemcpy(p, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
            copies.push_back(p);
        }
    }
    ~data()
    {
        for (T *p : copies) cudaFree(p);
    }
};

static unsigned *sink;
static subject reading(const void *const *copies, size_t bytes)
{
    return {"read", [=](int i) { read_bytes(copies[i], bytes, sink); }};
}

template <class T, class Out> static void reduce(const char *name, tally_dtype dtype, int log)
{
    char problem[64];
    snprintf(problem, sizeof problem, "sum %s 2^%d", name, log);
    if (!wanted(problem)) return;
    data<T> x((size_t)1 << log);
    Out *out;
    void *temp = nullptr;
    size_t temp_bytes = 0;
    CHECK(cudaMalloc(&out, sizeof(Out)));
    cub::DeviceReduce::Reduce(temp, temp_bytes, x.copies[0], out, x.n, cuda::std::plus<>{}, Out(0), stream);
    CHECK(cudaMalloc(&temp, temp_bytes));
    auto run = [&](int i) {
        tally_view in = tally_flat(x.copies[i], dtype, (int64_t)x.n);
        ok(tally_reduce(gpu, "sum", &in, out), gpu);
    };
    Out got, want;
    run(0);
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    tally_view in = tally_flat(x.host.data(), dtype, (int64_t)x.n);
    ok(tally_reduce(cpu, "sum", &in, &want), cpu);
    if (memcmp(&got, &want, sizeof got)) printf("DIFFERENT BITS: ");
    std::vector<subject> s = {reading((const void *const *)x.copies.data(), x.n * sizeof(T)),
                              {"tally", run},
                              {"CUB", [&](int i) {
                                   cub::DeviceReduce::Reduce(temp, temp_bytes, x.copies[i], out, x.n, cuda::std::plus<>{},
                                                             Out(0), stream);
                               }}};
    print(problem, s, measure(s, (int)x.copies.size()), (double)x.n * sizeof(T));
    cudaFree(out);
    cudaFree(temp);
}

template <class T, class Out> static void scan(const char *name, tally_dtype dtype, tally_dtype out_dtype, int log)
{
    char problem[64];
    snprintf(problem, sizeof problem, "scan %s 2^%d", name, log);
    if (!wanted(problem)) return;
    data<T> x((size_t)1 << log);
    Out *out;
    void *temp = nullptr;
    size_t temp_bytes = 0;
    CHECK(cudaMalloc(&out, x.n * sizeof(Out)));
    cub::DeviceScan::InclusiveSum(temp, temp_bytes, x.copies[0], out, x.n, stream);
    CHECK(cudaMalloc(&temp, temp_bytes));
    auto run = [&](int i) {
        tally_view in = tally_flat(x.copies[i], dtype, (int64_t)x.n), to = tally_flat(out, out_dtype, (int64_t)x.n);
        ok(tally_scan(gpu, "sum", &in, &to, nullptr), gpu);
    };
    run(0);
    std::vector<Out> got(x.n), want(x.n);
    CHECK(cudaMemcpy(got.data(), out, x.n * sizeof(Out), cudaMemcpyDeviceToHost));
    tally_view in = tally_flat(x.host.data(), dtype, (int64_t)x.n), to = tally_flat(want.data(), out_dtype, (int64_t)x.n);
    ok(tally_scan(cpu, "sum", &in, &to, nullptr), cpu);
    if (memcmp(got.data(), want.data(), x.n * sizeof(Out))) printf("DIFFERENT BITS: ");
    std::vector<subject> s = {
        {"copy", [&](int i) { cudaMemcpyAsync(out, x.copies[i], x.n * sizeof(T), cudaMemcpyDeviceToDevice, stream); }},
        {"tally", run},
        {"CUB", [&](int i) { cub::DeviceScan::InclusiveSum(temp, temp_bytes, x.copies[i], out, x.n, stream); }}};
    print(problem, s, measure(s, (int)x.copies.size()), (double)x.n * (sizeof(T) + sizeof(Out)));
    cudaFree(out);
    cudaFree(temp);
}

static void window(const char *op, int64_t w, int log, tally_edges edges)
{
    char problem[64];
    snprintf(problem, sizeof problem, "window %s f32 %lld 2^%d%s", op, (long long)w, log,
             edges == TALLY_EDGES_SHRINK ? " shrink" : "");
    if (!wanted(problem)) return;
    data<float> x((size_t)1 << log);
    float *out;
    CHECK(cudaMalloc(&out, x.n * sizeof *out));
    tally_window_options o = {w - 1, 0, edges, 0};
    auto run = [&](int i) {
        tally_view in = tally_flat(x.copies[i], TALLY_F32, (int64_t)x.n), to = tally_flat(out, TALLY_F32, (int64_t)x.n);
        ok(tally_window(gpu, op, &in, &to, &o), gpu);
    };
    run(0);
    std::vector<float> got(x.n), want(x.n);
    CHECK(cudaMemcpy(got.data(), out, x.n * sizeof *out, cudaMemcpyDeviceToHost));
    tally_view in = tally_flat(x.host.data(), TALLY_F32, (int64_t)x.n), to = tally_flat(want.data(), TALLY_F32, (int64_t)x.n);
    ok(tally_window(cpu, op, &in, &to, &o), cpu);
    if (memcmp(got.data(), want.data(), x.n * sizeof *out)) printf("DIFFERENT BITS: ");
    std::vector<subject> s = {
        {"copy", [&](int i) { cudaMemcpyAsync(out, x.copies[i], x.n * sizeof *out, cudaMemcpyDeviceToDevice, stream); }},
        {"tally", run}};
    print(problem, s, measure(s, (int)x.copies.size()), 8.0 * (double)x.n);
    cudaFree(out);
}

/* rows, columns and segments of one array */
static void views(const char *problem, const tally_view &like, size_t n, bool segments)
{
    if (!wanted(problem)) return;
    static data<float> x(n); /* of the first call: all have as many elements */
    float *out;
    int64_t *offsets = nullptr;
    void *temp = nullptr;
    size_t temp_bytes = 0;
    CHECK(cudaMalloc(&out, (size_t)like.rows * sizeof *out));
    if (segments) {
        CHECK(cudaMalloc(&offsets, (size_t)(like.rows + 1) * sizeof *offsets));
        CHECK(cudaMemcpy(offsets, like.offsets, (size_t)(like.rows + 1) * sizeof *offsets, cudaMemcpyHostToDevice));
        cub::DeviceSegmentedReduce::Sum(temp, temp_bytes, x.copies[0], out, like.rows, offsets, offsets + 1, stream);
        CHECK(cudaMalloc(&temp, temp_bytes));
    }
    auto run = [&](int i) {
        tally_view in = like;
        in.data = x.copies[i];
        if (segments) in.offsets = offsets; /* CUB's are there too */
        ok(tally_reduce(gpu, "sum", &in, out), gpu);
    };
    run(0);
    std::vector<float> got((size_t)like.rows), want((size_t)like.rows);
    CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof *out, cudaMemcpyDeviceToHost));
    tally_view in = like;
    in.data = x.host.data();
    ok(tally_reduce(cpu, "sum", &in, want.data()), cpu);
    if (memcmp(got.data(), want.data(), got.size() * sizeof *out)) printf("DIFFERENT BITS: ");
    std::vector<subject> s = {reading((const void *const *)x.copies.data(), n * sizeof(float)), {"tally", run}};
    if (segments)
        s.push_back({"CUB", [&](int i) {
                         cub::DeviceSegmentedReduce::Sum(temp, temp_bytes, x.copies[i], out, like.rows, offsets, offsets + 1,
                                                         stream);
                     }});
    print(problem, s, measure(s, (int)x.copies.size()), (double)n * sizeof(float));
    cudaFree(out);
    cudaFree(offsets);
    cudaFree(temp);
}

/* scans of rows and segments */
static void scan_views(const char *problem, const tally_view &like, size_t n, bool segments)
{
    if (!wanted(problem)) return;
    static data<float> x(n);
    float *out;
    int64_t *offsets = nullptr;
    CHECK(cudaMalloc(&out, n * sizeof *out));
    if (segments) {
        CHECK(cudaMalloc(&offsets, (size_t)(like.rows + 1) * sizeof *offsets));
        CHECK(cudaMemcpy(offsets, like.offsets, (size_t)(like.rows + 1) * sizeof *offsets, cudaMemcpyHostToDevice));
    }
    auto run = [&](int i) {
        tally_view in = like, to = like;
        in.data = x.copies[i], to.data = out;
        if (segments) in.offsets = to.offsets = offsets;
        ok(tally_scan(gpu, "sum", &in, &to, nullptr), gpu);
    };
    run(0);
    std::vector<float> got(n), want(n);
    CHECK(cudaMemcpy(got.data(), out, n * sizeof *out, cudaMemcpyDeviceToHost));
    tally_view in = like, to = like;
    in.data = x.host.data(), to.data = want.data();
    ok(tally_scan(cpu, "sum", &in, &to, nullptr), cpu);
    size_t all = segments ? (size_t)like.offsets[like.rows] : (size_t)(like.rows * like.n);
    if (memcmp(got.data(), want.data(), all * sizeof *out)) printf("DIFFERENT BITS: ");
    std::vector<subject> s = {
        {"copy", [&](int i) { cudaMemcpyAsync(out, x.copies[i], n * sizeof *out, cudaMemcpyDeviceToDevice, stream); }},
        {"tally", run}};
    print(problem, s, measure(s, (int)x.copies.size()), 8.0 * (double)n);
    cudaFree(out);
    cudaFree(offsets);
}

int main(int argc, char **argv)
{
    setenv("TALLY_CODE", "best", 0); /* the figures are of one code */
    if (argc > 1) rounds = atoi(argv[1]);
    if (argc > 2) only = argv[2];
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int driver;
    CHECK(cudaDriverGetVersion(&driver));
    printf("%s, driver for CUDA %d, tally %s, CUB %d, %d rounds\n", p.name, driver, tally_version(), CUB_VERSION, rounds);
    open_both();
    CHECK(cudaMalloc(&sink, 4));
    for (int log : {16, 18, 20, 22, 24, 28}) reduce<float, float>("f32", TALLY_F32, log);
    for (int log : {16, 24, 27}) reduce<double, double>("f64", TALLY_F64, log);
    for (int log : {16, 24, 28}) reduce<int, int64_t>("i32", TALLY_I32, log);
    for (int log : {14, 16, 18, 20, 22, 24, 26, 28}) scan<float, float>("f32", TALLY_F32, TALLY_F32, log);
    for (int log : {16, 20, 22, 24, 27}) scan<double, double>("f64", TALLY_F64, TALLY_F64, log);
    for (int64_t w : {5, 50, 512, 1000, 4096, 10000, 100000, 1000000}) window("mean", w, 28, TALLY_EDGES_MISSING);
    for (int64_t w : {50, 1000}) window("mean", w, 28, TALLY_EDGES_SHRINK);
    window("max", 50, 28, TALLY_EDGES_MISSING);
    char problem[64];
    for (int64_t n : {2, 8, 32, 100, 256, 1000}) {
        snprintf(problem, sizeof problem, "sum f32, rows of %d", (int)n);
        views(problem, tally_rows(nullptr, TALLY_F32, (1 << 28) / n, n), (size_t)1 << 28, false);
    }
    views("sum f32, columns 32768x8192", tally_columns(nullptr, TALLY_F32, 32768, 8192), (size_t)1 << 28, false);
    std::vector<int64_t> offsets((1 << 20) + 1);
    for (size_t i = 0; i < offsets.size(); i++) offsets[i] = 256 * (int64_t)i;
    views("sum f32, 1M segments of 256", tally_segments(nullptr, TALLY_F32, offsets.data(), 1 << 20), (size_t)1 << 28, true);
    std::mt19937_64 g(2);
    for (size_t i = 1; i < offsets.size(); i++) offsets[i] = std::min<int64_t>(1 << 28, offsets[i - 1] + 128 + (int64_t)(g() % 257));
    offsets.back() = 1 << 28;
    views("sum f32, 1M segments of 128 to 384", tally_segments(nullptr, TALLY_F32, offsets.data(), 1 << 20), (size_t)1 << 28, true);
    for (int64_t mean : {4, 20, 100, 3000}) { /* uniform from 0 to twice as many */
        for (offsets.assign(1, 0); offsets.back() < 1 << 28;)
            offsets.push_back(std::min<int64_t>(1 << 28, offsets.back() + (int64_t)(g() % (uint64_t)(2 * mean + 1))));
        snprintf(problem, sizeof problem, "sum f32, segments, mean %d", (int)mean);
        views(problem, tally_segments(nullptr, TALLY_F32, offsets.data(), (int64_t)offsets.size() - 1), (size_t)1 << 28,
              true);
    }
    offsets.assign(1, 0);
    while (offsets.back() < 1 << 28) { /* Pareto, from 1 to 10^7 */
        double u = ((double)(g() >> 11) + 1) / 9007199254740993.0;
        offsets.push_back(std::min<int64_t>(1 << 28, offsets.back() + (int64_t)std::min(1e7, std::pow(u, -1.0 / 0.8))));
    }
    for (int64_t n : {2, 8, 100, 256, 1000, 1024, 5000}) {
        snprintf(problem, sizeof problem, "scan sum f32, rows of %d", (int)n);
        scan_views(problem, tally_rows(nullptr, TALLY_F32, (1 << 27) / n, n), (size_t)1 << 27, false);
    }
    for (int64_t mean : {4, 20, 100, 500}) {
        std::vector<int64_t> some(1, 0);
        while (some.back() < 1 << 27)
            some.push_back(std::min<int64_t>(1 << 27, some.back() + (int64_t)(g() % (uint64_t)(2 * mean + 1))));
        snprintf(problem, sizeof problem, "scan sum f32, segments, mean %d", (int)mean);
        scan_views(problem, tally_segments(nullptr, TALLY_F32, some.data(), (int64_t)some.size() - 1), (size_t)1 << 27,
                   true);
    }
    snprintf(problem, sizeof problem, "sum f32, %.1fM heavy tail", (double)offsets.size() * 1e-6);
    views(problem, tally_segments(nullptr, TALLY_F32, offsets.data(), (int64_t)offsets.size() - 1), (size_t)1 << 28, true);
    tally_close(gpu);
    tally_close(cpu);
    return 0;
}

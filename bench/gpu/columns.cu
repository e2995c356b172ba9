/* SPDX-License-Identifier: MIT
 *
 * columns.cu - tables of any number of columns down axis 0 on CUDA: GB/s of elements and results, and the share of what
 * a copy (reductions: a loop that only reads) has in the same run.
 *
 *     nvcc -O3 -arch=native -I../../include columns.cu -o columns ../../build/libtally.a -Xcompiler -pthread -ldl
 *     ./columns [rounds [words of a problem, as "sum f32" [columns ...]]]
 *
 * A table has 256 MiB. The bits of a short table are compared with the processors' before.
 */
#include "common.cuh"

static const size_t BYTES = 256u << 20;
static char *in_data, *out_data;
static double ceiling[2]; /* GB/s of reading, of copying */

struct problem {
    const char *op;
    tally_dtype dtype, out;
    int bytes, out_bytes;
};

/* Calls the verb: 0 reduce, 1 scan, 2 windows of 20. */
static void call(tally *ctx, const problem &p, int verb, void *from, void *to, int64_t rows,
                 int64_t columns)
{
    const tally_view in = tally_columns(from, p.dtype, rows, columns),
                     out = tally_columns(to, p.out, rows, columns);
    const tally_window_options o = {19, 0, TALLY_EDGES_MISSING, 0};
    ok(verb == 0   ? tally_reduce(ctx, p.op, &in, to)
       : verb == 1 ? tally_scan(ctx, p.op, &in, &out, nullptr)
                   : tally_window(ctx, p.op, &in, &out, &o),
       ctx);
}

static bool same_bits(const problem &p, int verb, int64_t columns)
{
    const int64_t rows = 70000 / columns + 3003;
    const size_t all = (size_t)(rows * columns * p.bytes),
                 results = (size_t)(columns * p.out_bytes * (verb ? rows : 1));
    std::vector<char> from(all), want(results), got(results);
    CHECK(cudaMemcpy(from.data(), in_data, all, cudaMemcpyDeviceToHost));
    call(cpu, p, verb, from.data(), want.data(), rows, columns);
    call(gpu, p, verb, in_data, out_data, rows, columns);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got.data(), out_data, results, cudaMemcpyDeviceToHost));
    return !memcmp(got.data(), want.data(), results);
}

static int differ;

static void measure_columns(const problem &p, int64_t columns)
{
    const int64_t rows = (int64_t)BYTES / p.bytes / columns;
    std::vector<std::function<void(int)>> calls;
    bool same = true;
    for (int verb = 0; verb < 3; verb++) {
        same &= same_bits(p, verb, columns);
        calls.push_back([=](int) { call(gpu, p, verb, in_data, out_data, rows, columns); });
    }

    const std::vector<double> us = measure(calls, 1);
    printf("%-5s %s %5lld", p.op, tally_dtype_name(p.dtype), (long long)columns);
    for (int verb = 0; verb < 3; verb++) {
        const double gbs =
            (double)(rows * columns * (p.bytes + (verb ? p.out_bytes : 0))) / us[verb] * 1e-3;
        printf("   %5.0f %.2f", gbs, gbs / ceiling[verb != 0]);
    }
    printf("%s\n", same ? "" : "   DIFFERENT BITS");
    fflush(stdout);
    differ += !same;
}

int main(int argc, char **argv)
{
    static const problem problems[] = {{"sum", TALLY_F32, TALLY_F32, 4, 4},
                                       {"mean", TALLY_F64, TALLY_F64, 8, 8},
                                       {"max", TALLY_I8, TALLY_I8, 1, 1},
                                       {"var", TALLY_F32, TALLY_F64, 4, 8}};
    std::vector<int64_t> counts = {2,  3,  4,  5,  7,  8,  12, 15,  16,  17,
                                   20, 31, 32, 33, 60, 63, 64, 100, 127, 1000};
    setenv("TALLY_CODE", "best", 0);
    if (argc > 1) rounds = atoi(argv[1]);
    if (argc > 3) counts.clear();
    for (int i = 3; i < argc; i++) counts.push_back(atoi(argv[i]));
    open_both();
    CHECK(cudaMalloc(&in_data, BYTES));
    CHECK(cudaMalloc(&out_data, 2 * BYTES));

    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    const std::vector<double> us = measure(
        {[](int) { read_bytes(in_data, BYTES, out_data); },
         [](int) {
             CHECK(cudaMemcpyAsync(out_data, in_data, BYTES, cudaMemcpyDeviceToDevice, stream));
         }});
    for (int k = 0; k < 2; k++) ceiling[k] = (double)BYTES * (k + 1) / us[k] * 1e-3;
    printf("%s, tally %s, read %.0f GB/s, copy %.0f GB/s\n", device.name, tally_version(),
           ceiling[0], ceiling[1]);
    printf("            columns   reduce       scan         window of 20: GB/s, of read or copy\n");
    for (const problem &p : problems) {
        char name[32];
        snprintf(name, sizeof name, "%s %s", p.op, tally_dtype_name(p.dtype));
        if (argc > 2 && !strstr(name, argv[2])) continue;
        if (p.dtype == TALLY_F64)
            fill_uniform<<<1024, 256, 0, stream>>>((double *)in_data, BYTES / 8, 1);
        else if (p.dtype == TALLY_F32)
            fill_uniform<<<1024, 256, 0, stream>>>((float *)in_data, BYTES / 4, 1);
        else
            fill_uniform<<<1024, 256, 0, stream>>>((int8_t *)in_data, BYTES, 1);
        for (int64_t columns : counts) measure_columns(p, columns);
    }
    tally_close(gpu);
    tally_close(cpu);
    return differ != 0;
}

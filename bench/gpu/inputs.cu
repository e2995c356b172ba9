/* SPDX-License-Identifier: MIT
 *
 * inputs.cu - second inputs and validity bitmaps on CUDA, against the read ceiling of the same run.
 *
 *     nvcc -O3 -arch=native -Iinclude bench/gpu/inputs.cu -o inputs build/libtally.a -Xcompiler
 *     -pthread -ldl -lm
 *     TALLY_CODE=best ./inputs [LOG2 [ROUNDS]]        elements: 2^LOG2, 28 unless given; 9 rounds
 *
 * Everything is in device memory; one element in 10 is left out. Every figure is the median of
 * the rounds, timed by events on one stream. of ceiling: the time of the best loop that only
 * reads the same bytes (both inputs, and the bits), and of a scan or window writes as many as
 * the results have, by that of the call. of plain: the time of the plain operator on x alone, by
 * that of the call. Before it is timed each call's bits are compared with those of the
 * processors, on the first 2^22 + 77 elements. The table is printed last.
 */
#include "common.cuh"

__global__ void fill_bits(uint8_t *x, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint8_t b = 0;
        for (int k = 0; k < 8; k++) b |= (uint8_t)((mixed((uint32_t)(8 * i + k) + 99) % 10 != 0) << k);
        x[i] = b;
    }
}

__global__ void copy_all(const uint4 *x, uint4 *y, size_t n)
{
    size_t step = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = x[i + k * step];
#pragma unroll
        for (int k = 0; k < 4; k++) y[i + k * step] = v[k];
    }
    for (; i < n; i += step) y[i] = x[i];
}

struct problem {
    const char *verb, *op, *plain;
    tally_dtype dtype;
    int two, bits;
    int64_t row; /* 0: one sequence */
};

static tally_status call(tally *ctx, const problem *p, const char *op, const tally_view *in, void *out)
{
    if (!strcmp(p->verb, "reduce")) return tally_reduce(ctx, op, in, out);
    tally_view to = *in;
    to.data = out, to.valid = nullptr, to.next = nullptr;
    tally_window_options w = {};
    w.before = 49;
    return !strcmp(p->verb, "scan") ? tally_scan(ctx, op, in, &to, nullptr) : tally_window(ctx, op, in, &to, &w);
}

/* Views of the first n elements. */
static void views(const problem *p, int64_t n, void *x, void *y, void *bits, tally_view *in, tally_view *next)
{
    *in = p->row ? tally_rows(x, p->dtype, n / p->row, p->row) : tally_flat(x, p->dtype, n);
    *next = *in;
    next->data = y;
    if (p->bits) in->valid = bits;
    if (p->two) in->next = next;
}

int main(int argc, char **argv)
{
    static const problem problems[] = {
        {"reduce", "dot", "sum", TALLY_F32, 1, 0, 0},    {"reduce", "dot", "sum", TALLY_F64, 1, 0, 0},
        {"reduce", "sum", "sum", TALLY_F32, 0, 1, 0},    {"reduce", "sum", "sum", TALLY_F64, 0, 1, 0},
        {"reduce", "sum", "sum", TALLY_I32, 0, 1, 0},    {"reduce", "sum", "sum", TALLY_I16, 0, 1, 0},
        {"reduce", "sum", "sum", TALLY_I8, 0, 1, 0},     {"reduce", "max", "max", TALLY_F32, 0, 1, 0},
        {"reduce", "mean", "mean", TALLY_F32, 0, 1, 0},  {"reduce", "var", "var", TALLY_F64, 0, 1, 0},
        {"reduce", "dot", "sum", TALLY_F32, 1, 1, 0},    {"reduce", "wmean", "mean", TALLY_F32, 1, 0, 0},
        {"reduce", "cov", "var", TALLY_F64, 1, 0, 0},    {"reduce", "corr", "var", TALLY_F64, 1, 0, 0},
        {"reduce", "dot", "sum", TALLY_F32, 1, 0, 100},  {"reduce", "sum", "sum", TALLY_F32, 0, 1, 100},
        {"reduce", "sum", "sum", TALLY_F32, 0, 1, 10},   {"reduce", "sum", "sum", TALLY_F32, 0, 1, 4096},
        {"reduce", "mean", "mean", TALLY_F32, 0, 1, 100}, {"reduce", "mean", "mean", TALLY_F64, 0, 1, 100},
        {"reduce", "max", "max", TALLY_F32, 0, 1, 100},  {"reduce", "sum", "sum", TALLY_I32, 0, 1, 100},
        {"scan", "sum", "sum", TALLY_F32, 0, 1, 0},      {"scan", "sum", "sum", TALLY_F64, 0, 1, 0},
        {"scan", "dot", "sum", TALLY_F32, 1, 0, 0},      {"scan", "max", "max", TALLY_F32, 0, 1, 0},
        {"scan", "mean", "mean", TALLY_F32, 0, 1, 0},    {"scan", "sum", "sum", TALLY_F32, 0, 1, 100},
        {"window", "sum", "sum", TALLY_F32, 0, 1, 0},    {"window", "mean", "mean", TALLY_F32, 0, 1, 0},
        {"window", "mean", "mean", TALLY_F64, 0, 1, 0},  {"window", "max", "max", TALLY_F32, 0, 1, 0},
        {"window", "dot", "sum", TALLY_F32, 1, 0, 0},    {"window", "sum", "sum", TALLY_F32, 0, 1, 1024}};
    const size_t n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 28), few = std::min(n, ((size_t)1 << 22) + 77);
    if (argc > 2) rounds = atoi(argv[2]);
    char *x, *y, *out;
    uint8_t *bits;
    int failed = 0;
    std::string table;
    open_both();
    CHECK(cudaMalloc(&x, n * 8));
    CHECK(cudaMalloc(&y, n * 8));
    CHECK(cudaMalloc(&out, n * 8));
    CHECK(cudaMalloc(&bits, n / 8 + 16));
    fill_bits<<<1024, 256>>>(bits, n / 8 + 16);
    for (const problem &p : problems) {
        const size_t size = tally_dtype_size(p.dtype), bytes = n * size;
        for (int k = 0; k < 2; k++) {
            void *to = k ? y : x;
            if (p.dtype == TALLY_F32) fill_uniform<<<1024, 256>>>((float *)to, n, (uint32_t)k);
            if (p.dtype == TALLY_F64) fill_uniform<<<1024, 256>>>((double *)to, n, (uint32_t)k);
            if (p.dtype < TALLY_F32) fill_uniform<<<1024, 256>>>((int32_t *)to, n * size / 4, (uint32_t)k);
        }
        CHECK(cudaDeviceSynchronize());
        tally_view in, next;
        { /* the bits */
            std::vector<char> hx(few * size), hy(few * size), hb(few / 8 + 16), want(few * 8, 0), got(few * 8, 0);
            CHECK(cudaMemcpy(hx.data(), x, few * size, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(hy.data(), y, few * size, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(hb.data(), bits, few / 8 + 16, cudaMemcpyDeviceToHost));
            views(&p, (int64_t)few, hx.data(), hy.data(), hb.data(), &in, &next);
            ok(call(cpu, &p, p.op, &in, want.data()), cpu);
            views(&p, (int64_t)few, x, y, bits, &in, &next);
            CHECK(cudaMemset(out, 0, few * 8));
            ok(call(gpu, &p, p.op, &in, out), gpu);
            CHECK(cudaDeviceSynchronize());
            CHECK(cudaMemcpy(got.data(), out, few * 8, cudaMemcpyDeviceToHost));
            if (memcmp(want.data(), got.data(), few * 8)) {
                printf("%s %s: DIFFERS from the processors\n", p.verb, p.op);
                failed = 1;
            }
        }
        views(&p, (int64_t)n, x, y, bits, &in, &next);
        tally_view plain = in;
        plain.valid = nullptr, plain.next = nullptr;
        const bool writes = strcmp(p.verb, "reduce") != 0;
        const auto ceiling = [&](int) {
            if (!writes) read_bytes(x, bytes, out);
            if (writes) copy_all<<<processors * 8, 256, 0, stream>>>((const uint4 *)x, (uint4 *)out, bytes / 16);
            if (p.two) read_bytes(y, bytes, out);
            if (p.bits) read_bytes(bits, n / 8, out);
        };
        const std::vector<double> us = measure({ceiling, [&](int) { ok(call(gpu, &p, p.op, &in, out), gpu); },
                                                [&](int) { ok(call(gpu, &p, p.plain, &plain, out), gpu); }});
        char line[200], rows[24] = "";
        if (p.row) snprintf(rows, sizeof rows, "rows %d", (int)p.row);
        const double all = (double)bytes * (1 + p.two + writes) + (p.bits ? (double)n / 8 : 0);
        snprintf(line, sizeof line, "%-7s %-6s %-4s %-10s %-9s %9.1f %8.0f %10.2f %9.2f\n", p.verb, p.op,
                 tally_dtype_name(p.dtype), p.two ? p.bits ? "two, bits" : "two" : "bits", rows, us[1],
                 all / us[1] * 1e-3, us[0] / us[1], us[2] / us[1]);
        table += line;
        fputs(line, stderr);
    }
    printf("2^%d elements, one in 10 left out, device memory, %s\n", argc > 1 ? atoi(argv[1]) : 28, tally_isa(gpu));
    printf("%-7s %-6s %-4s %-10s %-9s %9s %8s %10s %9s\n%s", "verb", "op", "type", "inputs", "", "us", "GB/s",
           "of ceiling", "of plain", table.c_str());
    return failed;
}

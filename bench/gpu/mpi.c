/* SPDX-License-Identifier: MIT
 *
 * mpi.c - tally_mpi.h with a GPU for each rank: times beside one GPU, and tally_mpi_allreduce
 * beside ncclAllReduce.
 *
 *     mpicc -O2 -pthread -Iinclude -I$CUDA/include -I$NCCL/include bench/gpu/mpi.c
 *     build/libtally.a \
 *         -L$CUDA/lib64 -lcudart -lnccl -ldl -lm -o mpi
 *     mpirun -n 2 ./mpi [log2 of the elements on each GPU [rounds]]                             default 28, 15
 *
 * one sequence    2^log f32 on each GPU: sum, scan, window of 50 over the ranks, beside tally's
 *                 call of the first rank on its part alone. "of one": ranks x the time of one /
 *                 the time of all, at most the ranks
 * allreduce       f32, element by element: over NCCL (tally_mpi_nccl.h) on streams of their own
 *                 and on one stream, through the host, ncclAllReduce; and what the first is made
 *                 of: moves by NCCL, the fold, MPI
 * bits            the sum of all by memcmp with the processors' on the whole, the last result of
 *                 the scan with it, and allreduce with the processors' fold of the ranks
 *
 * Times: medians, in milliseconds from a barrier to the last rank's return. Exit 1: bits differ,
 * or a call failed. */
#include "../clock.h"
#include <mpi.h>
#include <tally_mpi_nccl.h>

enum { ROUNDS_MOST = 99, WARM = 3 };
static int rank, ranks, rounds, bad;
static int64_t n;
static tally *ctx;
static tally_mpi_nccl nccl;
static float *dx, *dy; /* on the device */
static const tally_window_options fifty = {.before = 49, .edges = TALLY_EDGES_SHRINK};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "mpi: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
static void must(tally_status status, const char *what)
{
    if (status) stop(what, tally_error(ctx)[0] ? tally_error(ctx) : tally_mpi_error());
}
static void must_all(tally_status status, const char *what)
{
    if (status) stop(what, tally_mpi_error());
}
static void must_cuda(cudaError_t error)
{
    if (error) stop("CUDA", cudaGetErrorString(error));
}
static void must_nccl(ncclResult_t error)
{
    if (error) stop("NCCL", ncclGetErrorString(error));
}
static float value(int64_t i)
{
    uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return (float)(z >> 40) / (float)(1 << 24) - 0.25f;
}

/* ---- calls, each on all ranks ---- */

typedef void call(int64_t m);
static float result;

static void one_sum(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m);
    if (!rank) must(tally_reduce(ctx, "sum", &x, &result), "sum");
}
static void one_scan(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    if (!rank) must(tally_scan(ctx, "sum", &x, &y, NULL), "scan");
}
static void one_window(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    if (!rank) must(tally_window(ctx, "sum", &x, &y, &fifty), "window");
}
static void all_sum(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m);
    must_all(tally_mpi_reduce(ctx, "sum", &x, -1, &result, -1, MPI_COMM_WORLD), "sum");
}
static void all_scan(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    must_all(tally_mpi_scan(ctx, "sum", &x, -1, &y, NULL, MPI_COMM_WORLD), "scan");
}
static void all_window(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    must_all(tally_mpi_window(ctx, "sum", &x, -1, &y, &fifty, NULL, MPI_COMM_WORLD), "window");
}
static void over_nccl(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    must_all(tally_mpi_allreduce_by(ctx, "sum", &x, &y, &nccl.mover, MPI_COMM_WORLD), "allreduce");
}
static void over_host(int64_t m)
{
    const tally_view x = tally_flat(dx, TALLY_F32, m), y = tally_flat(dy, TALLY_F32, m);
    must_all(tally_mpi_allreduce(ctx, "sum", &x, &y, MPI_COMM_WORLD), "allreduce");
}
static void nccl_itself(int64_t m)
{
    must_nccl(ncclAllReduce(dx, dy, (size_t)m, ncclFloat, ncclSum, nccl.nccl, nccl.stream));
    must_cuda(cudaStreamSynchronize(nccl.stream));
}
static void exchange(int64_t m) /* what travels twice */
{
    const size_t each = (size_t)(m / ranks);
    must_nccl(ncclGroupStart());
    for (int k = 1; k < ranks; k++) {
        const int to = (rank + k) % ranks, of = (rank - k + ranks) % ranks;
        must_nccl(ncclSend(dx + each * (size_t)to, each, ncclFloat, to, nccl.nccl, nccl.stream));
        must_nccl(ncclRecv(dy + each * (size_t)of, each, ncclFloat, of, nccl.nccl, nccl.stream));
    }
    must_nccl(ncclGroupEnd());
    must_cuda(cudaStreamSynchronize(nccl.stream));
}
static void gather(int64_t m)
{
    const size_t each = (size_t)(m / ranks);
    must_nccl(ncclAllGather(dx + each * (size_t)rank, dy, each, ncclFloat, nccl.nccl, nccl.stream));
    must_cuda(cudaStreamSynchronize(nccl.stream));
}
static void fold(int64_t m)
{
    tally_view rows = tally_flat(dx, TALLY_F32, ranks);
    rows.rows = m / ranks, rows.stride = m / ranks, rows.row_stride = 1;
    must(tally_reduce(ctx, "sum", &rows, dy), "fold");
}
static void meetings(int64_t m)
{
    (void)m;
    for (int i = 0; i < 6; i++) must_all(tally_mpi_agree_(MPI_COMM_WORLD, TALLY_OK), "agree");
}

static double time_of(call *f, int64_t m)
{
    double elapsed[ROUNDS_MOST];
    for (int r = -WARM; r < rounds; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        f(m);
        double local = 1e3 * (MPI_Wtime() - begin), last;
        MPI_Allreduce(&local, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (r >= 0) elapsed[r] = last;
    }
    return median(elapsed, rounds);
}

/* ---- tables ---- */

static void same(int good, const char *what)
{
    int all;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) bad = 1;
    if (!all && !rank) printf("DIFFERENT: %s\n", what);
}

static void sequence(void)
{
    static const struct {
        const char *name;
        call *one, *all;
        double bytes;
    } verbs[] = {{"sum", one_sum, all_sum, 4},
                 {"scan sum", one_scan, all_scan, 8},
                 {"window sum of 50", one_window, all_window, 8}};
    float *const x = malloc((size_t)(rank ? n : n * ranks) * sizeof *x), last, want = 0;
    if (!x) stop("memory", "too little");
#pragma omp parallel for
    for (int64_t i = 0; i < (rank ? n : n * ranks); i++) x[i] = value(n * rank + i);
    must(tally_copy(ctx, dx, x, (size_t)n * sizeof *x), "input");
    if (!rank)
        printf("\n%-22s %10s %10s %10s %10s\n", "2^log f32 on each GPU", "one, ms", "all, ms",
               "GB/s, all", "of one");
    for (int v = 0; v < 3; v++) {
        const double one = time_of(verbs[v].one, n), all = time_of(verbs[v].all, n);
        if (!rank)
            printf("%-22s %10.3f %10.3f %10.0f %10.2f\n", verbs[v].name, one, all,
                   verbs[v].bytes * (double)n * ranks / all * 1e-6, ranks * one / all);
        if (v == 1) must(tally_copy(ctx, &last, dy + n - 1, sizeof last), "output");
    }
    if (!rank) {
        tally *cpu;
        const tally_view whole = tally_flat(x, TALLY_F32, n * ranks);
        if (tally_open(&cpu, "cpu") || tally_reduce(cpu, "sum", &whole, &want))
            stop("cpu", "failed");
        tally_close(cpu);
    }
    MPI_Bcast(&want, 1, MPI_FLOAT, 0, MPI_COMM_WORLD);
    same(!memcmp(&result, &want, sizeof want), "the sum");
    same(rank != ranks - 1 || !memcmp(&last, &want, sizeof want), "the last result of the scan");
    free(x);
}

static void elements(int64_t m)
{
    float *const x = malloc((size_t)(m * ranks) * sizeof *x),
                 *const want = malloc((size_t)m * sizeof *x),
                 *const got = malloc((size_t)m * sizeof *x);
    tally *cpu;
    if (!x || !want || !got || tally_open(&cpu, "cpu")) stop("memory", "too little");
#pragma omp parallel for
    for (int64_t i = 0; i < m * ranks; i++) x[i] = value(i);
    tally_view rows = tally_flat(x, TALLY_F32, ranks);
    rows.rows = m, rows.stride = m, rows.row_stride = 1;
    must(tally_reduce(cpu, "sum", &rows, want), "cpu");
    must(tally_copy(ctx, dx, x + m * rank, (size_t)m * sizeof *x), "input");
    static const struct {
        const char *name;
        call *f;
        int stream, checked;
    } ways[] = {{"ncclAllReduce", nccl_itself, 0, 0},         {"tally, NCCL", over_nccl, 0, 1},
                {"tally, NCCL, one stream", over_nccl, 1, 1}, {"tally, the host", over_host, 0, 1},
                {"  ncclSend, ncclRecv", exchange, 0, 0},     {"  ncclAllGather", gather, 0, 0},
                {"  fold of my share", fold, 0, 0},           {"  6 agreements", meetings, 0, 0}};
    double first = 0;
    if (!rank) printf("\n%-26s %10s %22s\n", "", "ms", "times ncclAllReduce");
    if (!rank) printf("allreduce, %.0f MB\n", 4e-6 * (double)m);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        if (ways[k].f == over_host && m > 1 << 25) continue;
        if (ways[k].stream) must(tally_use_stream(ctx, nccl.stream), "a stream");
        must_cuda(cudaMemset(dy, 0xa5, (size_t)m * sizeof *x));
        must_cuda(cudaDeviceSynchronize());
        const double elapsed = time_of(ways[k].f, m);
        if (!k) first = elapsed;
        if (!rank) printf("%-26s %10.4f %22.2f\n", ways[k].name, elapsed, elapsed / first);
        if (ways[k].checked) {
            must(tally_copy(ctx, got, dy, (size_t)m * sizeof *x), "output");
            same(!memcmp(got, want, (size_t)m * sizeof *x), ways[k].name);
        }
        if (ways[k].stream) must(tally_use_stream(ctx, NULL), "no stream");
    }
    tally_close(cpu);
    free(x);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = (int64_t)1 << (argc > 1 ? atoi(argv[1]) : 28);
    rounds = argc > 2 ? atoi(argv[2]) : 15;
    if (rounds < 1 || rounds > ROUNDS_MOST || n < 1 << 14) stop("usage", "[14 or more [1 to 99]]");
    must_all(tally_mpi_open(&ctx, "cuda,code=best", MPI_COMM_WORLD), "a GPU");
    must_cuda(cudaSetDevice(atoi(strchr(tally_isa(ctx), ':') + 1)));
    must_all(tally_mpi_nccl_open(&nccl, MPI_COMM_WORLD), "NCCL");
    must_cuda(cudaMalloc((void **)&dx, (size_t)n * sizeof *dx));
    must_cuda(cudaMalloc((void **)&dy, (size_t)n * sizeof *dy));
    int version = 0;
    ncclGetVersion(&version);
    if (!rank)
        printf("%d ranks, 2^%.0f f32 on each GPU, medians of %d calls, NCCL %d\n", ranks,
               __builtin_log2((double)n), rounds, version);
    sequence();
    for (int64_t m = 1 << 18; m <= n; m *= m < 1 << 24 ? 64 : 16) elements(m);
    if (!rank) printf("\n%s\n", bad ? "bits DIFFER" : "all bits are the same");
    tally_mpi_nccl_close(&nccl);
    tally_close(ctx);
    MPI_Finalize();
    return bad;
}

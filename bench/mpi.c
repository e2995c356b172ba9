/* SPDX-License-Identifier: MIT
 * tally_mpi.h beside what it replaces: reduce of 2^26 f32 over the ranks beside the call of one
 * process with as many threads, and beside MPI_Allreduce of the ranks' own sums (whose bits
 * depend on the ranks); allreduce of 64 MB beside MPI_Allreduce. In turns; the median of ROUNDS,
 * and the best, which a machine shared with others needs.
 *   mpicc -O2 -Iinclude bench/mpi.c build/libtally.a -pthread -ldl -lm -o mpi && mpirun -n 2
 *   ./mpi
 * ./mpi steps: what a tally_mpi_reduce of little data is made of, beside the whole: the model of
 * doc/scale.md for ranks that are here. Each line is the best of RUNS, in microseconds, of the
 * slowest rank. */
#include "clock.h"
#include <mpi.h>
#include <tally_mpi.h>
#include <unistd.h>

static int rank, ranks;

/* ---- much data, beside what it replaces ---- */

enum { ROUNDS = 31 };
static const int64_t LARGE = (int64_t)1 << 26, FIELD = (int64_t)1 << 24;

/* Ranks that have nothing to do must not spin. */
static void quiet_barrier(void)
{
    MPI_Request r;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    while (!done) {
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        if (!done) usleep(200);
    }
}

static void put_times(double t[5][ROUNDS])
{
    static const char *const names[] = {"tally_reduce, as many threads", "tally_mpi_reduce",
                                        "MPI_Allreduce of own sums", "tally_mpi_allreduce, 64 MB",
                                        "MPI_Allreduce, 64 MB"};
    if (!rank) {
        double m[5];
        for (int k = 0; k < 5; k++) m[k] = median(t[k], ROUNDS);
        for (int k = 0; k < 5; k++)
            printf("%-30s %8.3f ms   %.2f of the %s;  best %8.3f ms   %.2f\n", names[k], m[k] * 1e3,
                   m[k] / m[k < 3 ? 0 : 4], k < 3 ? "first" : "last", t[k][0] * 1e3,
                   t[k][0] / t[k < 3 ? 0 : 4][0]);
    }
}

static int much(void)
{
    tally *one_thread, *all_threads;
    char how[40];
    snprintf(how, sizeof how, "cpu,threads=%d", ranks);
    if (tally_open(&one_thread, "cpu,threads=1") || tally_open(&all_threads, how)) return 1;
    float *const all = malloc((size_t)LARGE * 4), *const out = malloc((size_t)FIELD * 4);
    for (int64_t i = 0; i < LARGE; i++) all[i] = (float)(i % 1000) * 0.01f;
    const int64_t a = LARGE * rank / ranks, b = LARGE * (rank + 1) / ranks;
    const tally_view whole = tally_flat(all, TALLY_F32, LARGE),
                     part = tally_flat(all + a, TALLY_F32, b - a);
    const tally_view field = tally_flat(all, TALLY_F32, FIELD),
                     result = tally_flat(out, TALLY_F32, FIELD);
    double t[5][ROUNDS];
    float sum = 0, want = 0, local;
    for (int r = 0; r < ROUNDS; r++) {
        quiet_barrier();
        double begin = MPI_Wtime();
        if (!rank) tally_reduce(all_threads, "sum", &whole, &want);
        t[0][r] = MPI_Wtime() - begin;
        quiet_barrier();
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (tally_mpi_reduce(one_thread, "sum", &part, -1, &sum, -1, MPI_COMM_WORLD))
            printf("%s\n", tally_mpi_error());
        t[1][r] = MPI_Wtime() - begin;
        if (!rank && memcmp(&sum, &want, 4)) printf("other bits\n");
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        tally_reduce(one_thread, "sum", &part, &local);
        MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        t[2][r] = MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (tally_mpi_allreduce(one_thread, "sum", &field, &result, MPI_COMM_WORLD))
            printf("%s\n", tally_mpi_error());
        t[3][r] = MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        MPI_Allreduce(all, out, (int)FIELD, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        t[4][r] = MPI_Wtime() - begin;
    }
    put_times(t);
    tally_close(one_thread);
    tally_close(all_threads);
    return 0;
}

/* ---- little data: the steps of one call ---- */

enum { RUNS = 200, CALLS = 20, N = 1000, AGREEMENTS = 5 };
static tally *ctx;
static double x[N];
static tally_fragment *part;
static char bytes[8192], message[8192];
static size_t length;

typedef void call(void);
static void reduce(void)
{
    const tally_view v = tally_flat(x, TALLY_F64, N);
    double sum;
    if (tally_mpi_reduce(ctx, "sum", &v, -1, &sum, 0, MPI_COMM_WORLD))
        printf("%s\n", tally_mpi_error());
}
static void agree(void) { tally_mpi_agree_(MPI_COMM_WORLD, TALLY_OK); }
static void gather(void)
{
    static tally_mpi_part_ all[1024];
    MPI_Allgather(message, (int)sizeof *all, MPI_BYTE, all, (int)sizeof *all, MPI_BYTE,
                  MPI_COMM_WORLD);
}
static void types(void)
{
    MPI_Datatype unit, type;
    MPI_Op op;
    MPI_Type_contiguous(TALLY_MPI_UNIT_, MPI_BYTE, &unit);
    MPI_Type_contiguous(16, unit, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(tally_mpi_merge_function_, 0, &op);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&unit);
}
static void send(void) /* the message of a fragment, up the tree */
{
    MPI_Reduce(message, bytes, (int)tally_mpi_capacity_of_one_("", N * ranks), MPI_BYTE, MPI_BOR, 0,
               MPI_COMM_WORLD);
}
static void make(void)
{
    tally_fragment *f;
    size_t capacity = sizeof bytes;
    if (!tally_fragment_make(ctx, "sum", TALLY_F64, x, (int64_t)rank * N, N, &f))
        tally_fragment_save(f, bytes, &capacity);
    tally_fragment_free(f);
}
static void merge(void) /* log2 of the ranks such, one after the other */
{
    for (int k = 1; k < ranks; k *= 2) {
        tally_fragment *f, *g;
        size_t capacity = sizeof bytes;
        double result;
        if (!tally_fragment_load(ctx, message, length, &f) &&
            !tally_fragment_make(ctx, "sum", TALLY_F64, x, N, 0, &g)) {
            tally_fragment_merge(f, g);
            tally_fragment_save(f, bytes, &capacity);
            tally_fragment_result(f, &result);
            tally_fragment_free(f), tally_fragment_free(g);
        }
    }
}

static double best(call *f)
{
    double least = 1e9;
    for (int r = 0; r < RUNS; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int i = 0; i < CALLS; i++) f();
        double elapsed = (MPI_Wtime() - begin) / CALLS, last;
        MPI_Allreduce(&elapsed, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (last < least) least = last;
    }
    return 1e6 * least;
}

static int steps(void)
{
    if (tally_open(&ctx, "cpu,threads=1") || ranks > 1024) return 1;
    for (int i = 0; i < N; i++) x[i] = i * 0.1;
    length = sizeof message;
    if (tally_fragment_make(ctx, "sum", TALLY_F64, x, 0, N, &part) ||
        tally_fragment_save(part, message, &length))
        return 1;
    static const struct {
        const char *name;
        call *f;
        int times;
    } parts[] = {{"agreement (MPI_Allreduce of 8 bytes)", agree, AGREEMENTS},
                 {"MPI_Allgather of 32 bytes", gather, 1},
                 {"types and operation of MPI", types, 1},
                 {"the message to the root", send, 1},
                 {"a fragment made and saved", make, 1},
                 {"merges through bytes, the result", merge, 1}};
    double sum = 0;
    if (!rank) printf("%d ranks, sum of %d f64 each, microseconds\n", ranks, N);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        const double t = best(parts[k].f);
        sum += t * parts[k].times;
        if (!rank) printf("%-40s %7.2f  x %d\n", parts[k].name, t, parts[k].times);
    }
    const double whole = best(reduce);
    if (!rank)
        printf("%-40s %7.2f\n%-40s %7.2f\n", "together", sum, "tally_mpi_reduce to one rank",
               whole);
    tally_fragment_free(part);
    tally_close(ctx);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1 && strcmp(argv[1], "steps")) {
        if (!rank) fprintf(stderr, "mpi: '%s' must be steps, or left out\n", argv[1]);
        MPI_Finalize();
        return 2;
    }
    const int failed = argc > 1 ? steps() : much();
    MPI_Finalize();
    return failed;
}

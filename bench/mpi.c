/* SPDX-License-Identifier: MIT
 * tally_mpi.h beside what it replaces: reduce of 2^26 f32 over the ranks beside the call of one
 * process with as many threads, and beside MPI_Allreduce of the ranks' own sums (whose bits
 * depend on the ranks); allreduce of 64 MB beside MPI_Allreduce. In turns; the median of ROUNDS,
 * and the best, which a machine shared with others needs.
 *   mpicc -O2 -Iinclude bench/mpi.c build/libtally.a -pthread -ldl -lm -o mpi && mpirun -n 2
 *   ./mpi */
#include "clock.h"
#include <mpi.h>
#include <tally_mpi.h>
#include <unistd.h>

enum { ROUNDS = 31 };
static const int64_t N = (int64_t)1 << 26, FIELD = (int64_t)1 << 24;
static int rank, ranks;

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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    tally *own, *team;
    char how[40];
    snprintf(how, sizeof how, "cpu,threads=%d", ranks);
    if (tally_open(&own, "cpu,threads=1") || tally_open(&team, how)) return 1;
    float *const all = malloc((size_t)N * 4), *const out = malloc((size_t)FIELD * 4);
    for (int64_t i = 0; i < N; i++) all[i] = (float)(i % 1000) * 0.01f;
    const int64_t a = N * rank / ranks, b = N * (rank + 1) / ranks;
    const tally_view whole = tally_flat(all, TALLY_F32, N),
                     mine = tally_flat(all + a, TALLY_F32, b - a);
    const tally_view field = tally_flat(all, TALLY_F32, FIELD),
                     result = tally_flat(out, TALLY_F32, FIELD);
    double t[5][ROUNDS];
    float sum = 0, want = 0, local;
    for (int r = 0; r < ROUNDS; r++) {
        quiet_barrier();
        double begin = MPI_Wtime();
        if (!rank) tally_reduce(team, "sum", &whole, &want);
        t[0][r] = MPI_Wtime() - begin;
        quiet_barrier();
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (tally_mpi_reduce(own, "sum", &mine, -1, &sum, -1, MPI_COMM_WORLD))
            printf("%s\n", tally_mpi_error());
        t[1][r] = MPI_Wtime() - begin;
        if (!rank && memcmp(&sum, &want, 4)) printf("other bits\n");
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        tally_reduce(own, "sum", &mine, &local);
        MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        t[2][r] = MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (tally_mpi_allreduce(own, "sum", &field, &result, MPI_COMM_WORLD))
            printf("%s\n", tally_mpi_error());
        t[3][r] = MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        MPI_Allreduce(all, out, (int)FIELD, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        t[4][r] = MPI_Wtime() - begin;
    }
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
    tally_close(own);
    tally_close(team);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: MIT
 * What a tally_mpi_reduce of little data is made of, beside the whole: the model of doc/scale.md
 * for ranks that are here. Each line is the best of RUNS, in microseconds, of the slowest rank.
 *   mpicc -O2 -Iinclude bench/rounds.c build/libtally.a -pthread -ldl -lm -o rounds && mpirun -n
 *   2 ./rounds */
#include <mpi.h>
#include <tally_mpi.h>

enum { RUNS = 200, CALLS = 20, N = 1000, AGREEMENTS = 5 };
static int rank, ranks;
static tally *ctx;
static double x[N];
static tally_fragment *mine;
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
        double took = (MPI_Wtime() - begin) / CALLS, last;
        MPI_Allreduce(&took, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (last < least) least = last;
    }
    return 1e6 * least;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (tally_open(&ctx, "cpu,threads=1") || ranks > 1024) return 1;
    for (int i = 0; i < N; i++) x[i] = i * 0.1;
    length = sizeof message;
    if (tally_fragment_make(ctx, "sum", TALLY_F64, x, 0, N, &mine) ||
        tally_fragment_save(mine, message, &length))
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
    tally_fragment_free(mine);
    tally_close(ctx);
    MPI_Finalize();
    return 0;
}

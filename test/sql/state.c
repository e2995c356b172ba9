/* SPDX-License-Identifier: MIT
 * state IN OUT DATA: adds the f64 of the raw file DATA to the state of an exact sum in IN. With
 * -DTEST_MPI each rank adds its share, and MPI_SUM of the words puts the shares together. */
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>
#ifdef TEST_MPI
#include <mpi.h>
#endif

static size_t read_all(const char *path, void *to, size_t most)
{
    FILE *f = fopen(path, "rb");
    const size_t got = f ? fread(to, 1, most, f) : 0;
    if (f) fclose(f);
    return got;
}

int main(int argc, char **argv)
{
    static double x[1 << 16];
    tally_exact sum, all, settled;
    int rank = 0, ranks = 1;
#ifdef TEST_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    if (argc != 4) return 2;
    const int64_t n = (int64_t)(read_all(argv[3], x, sizeof x) / sizeof *x),
                  from = n * rank / ranks, to = n * (rank + 1) / ranks;
    tally_exact_init(&sum);
    if (rank == 0 && read_all(argv[1], &sum, sizeof sum) != sizeof sum) return 3;
    const tally_view view = tally_flat(x + from, TALLY_F64, to - from);
    if (tally_exact_add(NULL, &sum, &view)) return 4;
    all = sum;
#ifdef TEST_MPI
    MPI_Allreduce(sum.word, all.word, 72, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
#endif
    tally_exact_init(&settled);
    tally_exact_merge(&settled, &all); /* sums of words become digits again */
    if (rank == 0) {
        FILE *f = fopen(argv[2], "wb");
        if (!f || fwrite(&settled, sizeof settled, 1, f) != 1 || fclose(f)) return 5;
    }
#ifdef TEST_MPI
    MPI_Finalize();
#endif
    return 0;
}

/* SPDX-License-Identifier: MIT
 * patient.h - the collective calls of MPI that tally_mpi.h makes, for more ranks than there are
 * processors: a rank that waits sleeps. MPICH's ranks spin, and the one that they wait for has
 * no processor meanwhile. Each is the library's own call that does not wait (MPI_Iallreduce,
 * ...), then MPI_Test until it is done.
 *   mpicc.mpich -include test/mpi/patient.h ... */
#ifndef TEST_PATIENT_H
#define TEST_PATIENT_H

#include <mpi.h>
#include <time.h>

static int patient_wait(int failed, MPI_Request *request)
{
    int done = failed != MPI_SUCCESS;
    for (long pause = 2000; !done; pause += pause < 200000 ? pause : 0) {
        const int bad = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (bad) return bad;
        if (!done) nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    }
    return failed;
}

/* PATIENT(call, its form that does not wait, parameters, arguments and the request) */
#define PATIENT(call, begin, parameters, ...) \
    int call parameters \
    { \
        MPI_Request request = MPI_REQUEST_NULL; \
        return patient_wait(begin(__VA_ARGS__, &request), &request); \
    }
PATIENT(MPI_Allreduce, MPI_Iallreduce,
        (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), a, b, n, t, o, c)
PATIENT(MPI_Reduce, MPI_Ireduce,
        (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), a, b, n, t,
        o, root, c)
PATIENT(MPI_Exscan, MPI_Iexscan,
        (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), a, b, n, t, o, c)
PATIENT(MPI_Bcast, MPI_Ibcast, (void *a, int n, MPI_Datatype t, int root, MPI_Comm c), a, n, t,
        root, c)
PATIENT(MPI_Allgather, MPI_Iallgather,
        (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), a, n, t,
        b, m, u, c)
PATIENT(MPI_Allgatherv, MPI_Iallgatherv,
        (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *at, MPI_Datatype u,
         MPI_Comm c),
        a, n, t, b, m, at, u, c)
PATIENT(MPI_Alltoallv, MPI_Ialltoallv,
        (const void *a, const int *n, const int *from, MPI_Datatype t, void *b, const int *m,
         const int *to, MPI_Datatype u, MPI_Comm c),
        a, n, from, t, b, m, to, u, c)
#undef PATIENT
#endif

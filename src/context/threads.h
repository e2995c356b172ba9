/* SPDX-License-Identifier: MIT
 * How many threads a parallel region gets. OpenMP's library ends the process when it cannot make
 * a thread, and waits for ever for threads that a fork left behind. So every region of src/ asks
 * here first:
 *
 *     #pragma omp parallel num_threads(tl_threads(threads))
 */
#ifndef TALLY_THREADS_H
#define TALLY_THREADS_H
#include <stdint.h>

/* As many as `wanted`, or as there can be: 1 in a process that was forked from one with threads,
 * fewer where threads cannot be made. The calling thread's team is then this large already; a
 * region of 1 thread leaves it as it is. Does not fail. (OpenMP allocates 1568 bytes for a team
 * of another size than the last, and ends the process if it cannot.) */
int tl_threads(int wanted);

/* A member of a team, and the numbers 0 .. end - 1, of which it asks for the next again and
   again. */
typedef struct {
    /* its number. omp_get_thread_num would be that of the caller's own region in a team of one */
    int me;
    int of; /* members */
    int64_t end, *next;
} tl_member;
void tl_meet(const tl_member *m); /* waits until all members are here */
static inline int64_t tl_deal(const tl_member *m)
{
    return __atomic_fetch_add(m->next, 1, __ATOMIC_RELAXED);
}

/* Runs work on each of up to `threads` threads, which share the numbers 0 .. end - 1. A team of
 * one is the caller alone, without OpenMP, whose region and loop cost it 0.5 microseconds and
 * two calls of the system (libgomp 12). */
void tl_team(int threads, int64_t end, void (*work)(void *with, const tl_member *m), void *with);
#endif

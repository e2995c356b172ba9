/* SPDX-License-Identifier: MIT
 * How many threads a parallel region gets. OpenMP's library ends the process when it cannot make a thread, and waits
 * for ever for threads that a fork left behind. So every region of src/ asks here first:
 *
 *     #pragma omp parallel num_threads(tl_threads(threads))
 */
#ifndef TALLY_THREADS_H
#define TALLY_THREADS_H

/* As many as `wanted`, or as there can be: 1 in a process that was forked from one with threads, fewer where threads
 * cannot be made. The calling thread's team is then this large already; a region of 1 thread leaves it as it is. Does
 * not fail. (OpenMP allocates 1568 bytes for a team of another size than the last, and ends the process if it
 * cannot.) */
int tl_threads(int wanted);
#endif

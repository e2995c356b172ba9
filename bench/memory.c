/* SPDX-License-Identifier: MIT
 *
 * memory.c - huge pages, pinned threads, the clock and the median.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HUGE = 2 << 20 };

/* Anonymous memory whose start is a multiple of 2 MiB; the pages are touched here, so no timing
   pays for them. */
void *memory_huge(size_t bytes)
{
    const size_t capacity = (bytes + 2 * (size_t)HUGE) / HUGE * HUGE;
    char *p =
        mmap(NULL, capacity + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)p + HUGE - 1) / HUGE * HUGE);
    if (start > p) munmap(p, (size_t)(start - p));
    const size_t tail = (size_t)HUGE - (size_t)(start - p);
    if (tail) munmap(start + capacity, tail);
    madvise(start, capacity, MADV_HUGEPAGE);
    memset(start, 0, capacity);
    return start;
}

void memory_free(void *p, size_t bytes)
{
    if (p) munmap(p, (bytes + 2 * (size_t)HUGE) / HUGE * HUGE);
}

/* The processors this process had when it started, before anything was pinned. */
static cpu_set_t *processors(void)
{
    static cpu_set_t set;
    static int known;
    if (!known) {
        CPU_ZERO(&set);
        sched_getaffinity(0, sizeof set, &set);
        known = 1;
    }
    return &set;
}

int team_most(void) { return CPU_COUNT(processors()); }

/* All threads of the process may run on any of its processors. OpenMP's sleep then: they spin for
 * some milliseconds after their work. tally's threads run where the one that makes them may, so
 * none must be made by a thread that is pinned. */
void team_free(void)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        if (e->d_name[0] != '.')
            sched_setaffinity((pid_t)atoi(e->d_name), sizeof(cpu_set_t), processors());
    if (tasks) closedir(tasks);
    usleep(30000);
}

/* Thread k of the OpenMP team stays on the k-th processor. */
void team_pin(int threads)
{
    cpu_set_t *all = processors();
#pragma omp parallel num_threads(threads)
    {
        int left = omp_get_thread_num() % CPU_COUNT(all);
        for (int c = 0; c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, all) && left-- == 0) {
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(c, &one);
                sched_setaffinity(0, sizeof one, &one);
            }
    }
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *v, int count)
{
    qsort(v, (size_t)count, sizeof *v, ascending);
    return count % 2 ? v[count / 2] : 0.5 * (v[count / 2 - 1] + v[count / 2]);
}

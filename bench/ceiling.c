/* SPDX-License-Identifier: MIT
 *
 * ceiling.c - runs the loops of ceiling_isa.c on a team and keeps the best. See ceiling.h. Before
 * that what every measurement needs: huge pages, pinned threads, the clock and the median.
 */
#define _GNU_SOURCE
#include "ceiling.h"
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
    static int is_listed;
    if (!is_listed) {
        CPU_ZERO(&set);
        sched_getaffinity(0, sizeof set, &set);
        is_listed = 1;
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

/* ---- ceilings ---- */

enum {
    ROUNDS = 32,
    TILE = 16384,
    PIECE = 1 << 20, /* threads take the next piece of so many bytes, or a SHARES-th of a share */
    PIECE_LEAST = 64 << 10,
    SHARES = 32,
    LINE = 64,
    FEW = 256 /* 1 byte written of so many read is next to nothing */
};

static volatile uint64_t sink;

static int can(const ceiling_loop *loop, size_t in, size_t out)
{
    switch (loop->kind) {
    case CEILING_READ:
        return out <= in / FEW || out <= LINE;
    case CEILING_COPY:
        return out == in;
    case CEILING_MIX:
        return out > in / FEW && out > LINE;
    }
    return 0;
}

int ceiling_loops(size_t in, size_t out, const ceiling_loop **list, int capacity)
{
    struct {
        const ceiling_loop *loops;
        int count, here;
    } isa[] = {
        {ceiling_sse2, ceiling_sse2_count, 1},
#if defined(__x86_64__)
        {ceiling_avx2, ceiling_avx2_count, __builtin_cpu_supports("avx2")},
        {ceiling_avx512, ceiling_avx512_count, __builtin_cpu_supports("avx512f")},
#endif
    };
    int found = 0;
    for (size_t s = 0; s < sizeof isa / sizeof *isa; s++)
        for (int i = 0; isa[s].here && i < isa[s].count; i++)
            if (can(&isa[s].loops[i], in, out) && found < capacity)
                list[found++] = &isa[s].loops[i];
    return found;
}

/* Where part k of `of` begins: at a tile where there are enough of them, at a line otherwise. */
static size_t cut(size_t bytes, size_t k, size_t of)
{
    const size_t step = bytes >= of * 4 * TILE ? TILE : LINE;
    return k == of ? bytes : bytes / step * k / of * step;
}

/* The pieces of a pass by several threads: a share for each where there is little; else many, which
 * threads take in order, because shares of one size wait for the slowest processor, and pieces side
 * by side share pages and caches. 16 Intel processors read 1.6 times as fast so. Of few large
 * pieces the last ones take long: with 4 for each thread, 1.2 times as long in all. */
static size_t pieces(size_t bytes, size_t threads)
{
    const size_t least = SHARES * threads;
    if (bytes < least * PIECE_LEAST) return threads;
    return bytes / PIECE > least ? bytes / PIECE : least;
}

double ceiling_time(const ceiling_loop *loop, int threads, char *dst, size_t out, const char *src,
                    size_t in, int repeat)
{
    uint64_t seen = 0;
    in = (in + LINE - 1) / LINE * LINE;
    out = (out + LINE - 1) / LINE * LINE;
    const double start = now();
    for (int r = 0; r < repeat; r++) {
        if (threads == 1) {
            seen ^= loop->run(dst, out, src, in);
            continue;
        }
        const size_t of = pieces(in > out ? in : out, (size_t)threads);
        size_t next = 0;
#pragma omp parallel num_threads(threads) reduction(^ : seen)
        for (size_t k; (k = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < of;) {
            const size_t at = cut(in, k, of), to = cut(out, k, of);
            seen ^= loop->run(dst ? dst + to : NULL, cut(out, k + 1, of) - to, src + at,
                              cut(in, k + 1, of) - at);
        }
    }
    const double seconds = now() - start;
    sink = seen;
    return seconds;
}

int ceiling_best(int count, double (*time)(void *with, int i), void *with, int rounds, int *best,
                 double *seconds, int capacity)
{
    double all[CEILING_LOOPS][ROUNDS], middle[CEILING_LOOPS];
    if (rounds > ROUNDS) rounds = ROUNDS;
    if (count > CEILING_LOOPS) count = CEILING_LOOPS;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < count; i++) all[i][r] = time(with, i);
    for (int i = 0; i < count; i++) middle[i] = median(all[i], rounds);
    int found = 0;
    for (; found < capacity && found < count; found++) {
        int least = 0;
        for (int i = 1; i < count; i++)
            if (middle[i] < middle[least]) least = i;
        best[found] = least;
        seconds[found] = middle[least];
        middle[least] = 1e300;
    }
    return found;
}

typedef struct picking {
    const ceiling_loop *list[CEILING_LOOPS];
    int threads, repeat;
    char *dst;
    const char *src;
    size_t in, out;
} picking;

static double picked(void *with, int i)
{
    const picking *p = with;
    return ceiling_time(p->list[i], p->threads, p->dst, p->out, p->src, p->in, p->repeat);
}

int ceiling_pick(int threads, char *dst, size_t out, const char *src, size_t in, int rounds,
                 const ceiling_loop **best, double *gbps, int capacity)
{
    picking p = {.threads = threads, .dst = dst, .src = src, .in = in, .out = out};
    int order[CEILING_LOOPS];
    double seconds[CEILING_LOOPS];
    const size_t moved = in + out;
    p.repeat = moved >= (64u << 20) ? 1 : (int)((64u << 20) / (moved + 1)) + 1;
    team_pin(threads);
    const int found =
        ceiling_best(ceiling_loops(in, out, p.list, CEILING_LOOPS), picked, &p, rounds, order,
                     seconds, capacity < CEILING_LOOPS ? capacity : CEILING_LOOPS);
    for (int i = 0; i < found; i++) {
        best[i] = p.list[order[i]];
        if (gbps) gbps[i] = 1e-9 * (double)moved * p.repeat / seconds[i];
    }
    team_free();
    return found;
}

/* SPDX-License-Identifier: MIT
 * The thread pool of the process, and its locks. A call divides its work into chunks. The calling
 * thread and the pool's workers take chunks until none is left:
 *
 *    static void work(void *data, const tl_worker *w)
 *    {
 *        (memory of thread number w->number)
 *        for (int64_t i; (i = tl_next_chunk(w)) < w->chunks;) (chunk i);
 *    }
 *    tl_parallel(threads, chunks, work, &data);
 *
 * What `work` may rely on:
 *
 *  - Chunks are taken in increasing order, each by one thread.
 *  - The number of threads is not guaranteed. If threads cannot be created, if other calls use
 *    them, or in a child of fork, the caller is alone. A worker may start late.
 *  - A thread may wait for the result of chunk i only while i is smaller than every chunk that
 *    the thread has taken and not yet published. So the thread with the smallest unpublished
 *    chunk never waits, and the call ends with any number of threads.
 *  - `work` may make parallel calls, and any number of threads may call at once: a caller waits
 *    only for workers that run its own work. */
#pragma once

#include <stdint.h>

enum { TL_THREADS_MOST = 1024 };

/* A thread that takes part in a call. */
typedef struct {
    int number;     /* the number of this thread, 0 .. threads - 1; the caller is 0 */
    int threads;    /* the most threads that take part */
    int64_t chunks; /* 0 .. chunks - 1 */
    int64_t *next;  /* the next chunk that no thread has taken */
} tl_worker;

/* Takes the next `count` chunks. A result of w->chunks or more means that none is left. */
static inline int64_t tl_next_chunks(const tl_worker *w, int64_t count)
{
    return __atomic_fetch_add(w->next, count, __ATOMIC_RELAXED);
}

static inline int64_t tl_next_chunk(const tl_worker *w) { return tl_next_chunks(w, 1); }

/* Runs `work` on this thread and on up to threads - 1 workers, 1 <= threads <= TL_THREADS_MOST.
 * Each thread has the law's floating-point environment; workers block all signals. A thread that
 * has no memory for its part returns before it takes a chunk, and the others do the work. Returns
 * whether all chunks were taken: 0 if no thread had memory. */
int tl_parallel(int threads, int64_t chunks, void (*work)(void *data, const tl_worker *w),
                void *data);

/* tl_parallel for chunks that need no memory of their thread. */
void tl_for(int threads, int64_t chunks, void (*chunk)(void *data, int64_t i), void *data);

/* tl_for for items 0 .. n - 1; a chunk is `each` items, a .. b - 1. */
void tl_for_parts(int threads, int64_t n, int64_t each,
                  void (*part)(void *data, int64_t a, int64_t b), void *data);

/* The first of items 0 .. n - 1 that `find` looks for, or n. find: the first of a .. b - 1, or a
 * number of at least n. Chunks behind a found one may be left out. */
int64_t tl_find(int threads, int64_t n, int64_t each,
                int64_t (*find)(const void *data, int64_t a, int64_t b), const void *data);

/* Workers are created when a call needs them, and end when the last context closes. */
void tl_pool_open(void);
void tl_pool_close(void);

/* Whether this function was called at most 100 microseconds ago. If not, workers sleep. */
int tl_calls_are_frequent(void);

/* Locks of the process. In a child of fork all of them are free: another thread of the parent may
 * have held one, and would never release it in the child. */
typedef enum {
    TL_LOCK_PROBE,
    TL_LOCK_ERROR, /* for the error of a context that several threads work for */
    TL_LOCK_EXACT,
    TL_LOCK_CUDA,
    TL_LOCK_NVRTC,
    TL_LOCK_OPENCL,
    TL_LOCK_NETCDF,
    TL_LOCKS
} tl_lock;

void tl_lock_take(tl_lock lock);
void tl_lock_release(tl_lock lock);

/* Sets *least to value if value is smaller. Several threads may call it at once. */
static inline void tl_atomic_least(int64_t *least, int64_t value)
{
    int64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(least, &old, value, 1, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

/* The default number of threads, at least 1: the processors of this process's affinity mask,
 * limited by the CPU quota of its cgroup. A container with a quota may run on every processor, but
 * is stopped for the rest of each period when its quota is used up. */
int tl_processors(void);

/* The processors that the CPU quotas of this process's cgroups (versions 1 and 2) and of their
 * parents allow, rounded up. 0: no limit. root: "", or in tests a folder that replaces /. */
int tl_quota(const char *root);

/* SPDX-License-Identifier: MIT
 * The thread pool of the process, and its locks. A call cuts its work into chunks. The calling
 * thread and the pool's workers take chunks until none is left:
 *
 *     static void work(void *data, const tl_worker *w)
 *     {
 *         (memory of thread number w->number)
 *         for (int64_t i; (i = tl_next_chunk(w)) < w->chunks;) (chunk i);
 *     }
 *     tl_parallel(threads, chunks, work, &data);
 *
 * What `work` may rely on:
 *
 *   - Chunks are taken in increasing order, each by one thread.
 *   - Nothing is promised about how many threads take part. Where threads cannot be made, where
 *     others use them, and in a child of fork it is the caller alone. A worker may begin late.
 *   - A thread may wait for the result of chunk i only while i is smaller than every chunk that
 *     the thread has taken and not yet published. So the thread that holds the smallest
 *     unpublished chunk never waits, and the call ends however few threads come.
 *   - Work may make parallel calls of its own, and any number of threads may call at once: a
 *     caller waits only for workers that run its own work. */
#ifndef TALLY_THREADS_H
#define TALLY_THREADS_H
#include <stdint.h>

enum { TL_THREADS_MOST = 1024 };

/* A thread that takes part in a call. */
typedef struct tl_worker {
    int number;     /* of this thread, 0 .. threads - 1; the caller is 0 */
    int threads;    /* at most so many take part */
    int64_t chunks; /* 0 .. chunks - 1 */
    int64_t *next;  /* the next chunk that no thread has taken */
} tl_worker;

/* Takes the next chunk; w->chunks or more: none is left. */
static inline int64_t tl_next_chunk(const tl_worker *w)
{
    return __atomic_fetch_add(w->next, 1, __ATOMIC_RELAXED);
}

/* Runs work on this thread and on up to threads - 1 workers, 1 <= threads <= TL_THREADS_MOST, and
 * returns when all of them are done. Each has the law's floating-point environment; workers have
 * all signals blocked. Returns whether all chunks were taken: a thread that has no memory for its
 * part returns before it takes one, and the others do the work; 0 if there was no other. */
int tl_parallel(int threads, int64_t chunks, void (*work)(void *data, const tl_worker *w),
                void *data);

/* The same for chunks that need nothing of their thread. */
void tl_for(int threads, int64_t chunks, void (*chunk)(void *data, int64_t i), void *data);

/* Workers are made when a call needs them, and end when the last context closes. */
void tl_pool_open(void);
void tl_pool_close(void);

/* Locks for what exists once in the process. A child of fork finds all of them free: another
 * thread of its parent may have held one, and would never give it back. */
typedef enum tl_lock {
    TL_LOCK_PROBE,
    TL_LOCK_ERROR, /* the error of a context that several threads work for */
    TL_LOCK_EXACT,
    TL_LOCK_CUDA,
    TL_LOCK_CUDA_CALLS,
    TL_LOCK_CUDA_LIBRARY,
    TL_LOCK_NVRTC,
    TL_LOCK_OPENCL,
    TL_LOCK_NETCDF,
    TL_LOCKS
} tl_lock;

void tl_lock_take(tl_lock lock);
void tl_lock_release(tl_lock lock);

/* Sets *least to value if that is smaller; for results of several threads. */
static inline void tl_atomic_least(int64_t *least, int64_t value)
{
    int64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(least, &old, value, 1, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}
#endif

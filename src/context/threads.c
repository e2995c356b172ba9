/* SPDX-License-Identifier: MIT
 * The thread pool (threads.h). A worker is idle, in a list, or lent to one call:
 *
 *    WAITING ---- the caller offers a call ----> OFFERED ---- the worker takes it ----> RUNNING
 *       ^  ^                                        |                                  |
 *       |  '---- the caller takes it back ----------'                                  |
 *       '-------------------------------- the worker is done -------------------------'
 *
 * When no chunk is left, the caller takes back the offers that workers have not accepted, and
 * waits for the workers that run. So a worker that the system does not schedule never delays the
 * caller. A waiting thread polls the state for SPIN_NS and then sleeps. */
#define _GNU_SOURCE
#include "context.h"
#include "threads.h"
#include "law/fp.h"
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_NS = 20000,
    FREQUENT_NS = 100000,
    RETRY_NS = 2000000000 /* after a failure, so that not every call meets the same limit again */
};

/* RUNNING_WATCHED: the caller sleeps until the worker is done. */
enum { WAITING, OFFERED, RUNNING, RUNNING_WATCHED, ENDING };

typedef struct call call;

typedef struct worker {
    _Alignas(64) atomic_int state; /* both the worker and its caller sleep on this futex */
    atomic_int asleep;             /* the worker sleeps, or is about to sleep */
    /* the call that is offered or runs, and the worker's number in it */
    call *call;
    int number;
    struct worker *next; /* in the list of idle workers */
    pthread_t thread;
} worker;

struct call {
    void (*work)(void *data, const tl_worker *w);
    void *data;
    int64_t chunks;
    int workers;
    worker *worker[TL_THREADS_MOST];
    _Alignas(64) int64_t next;
};

/* ---- the pool; `lock` guards it ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static worker *idle;          /* a stack: the last worker used comes first */
static atomic_int count;      /* all workers, idle and lent */
static int processors;        /* of the process; 0: not known yet */
static int contexts;          /* number of open contexts */
static int64_t refused_until; /* after a failure no thread is created before this time */

/* this process is a child of a process with workers; it creates no threads */
static atomic_int forked;

static int process_number = 1; /* a child of fork has the next one */

static pthread_mutex_t locks[TL_LOCKS] = {[0 ... TL_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

void tl_lock_take(tl_lock which) { pthread_mutex_lock(&locks[which]); }
void tl_lock_release(tl_lock which) { pthread_mutex_unlock(&locks[which]); }

/* After a fork the child has one thread. Another thread of the parent may have held any lock, so
 * all locks are reset. */
static void in_child(void)
{
    if (atomic_load(&count)) atomic_store(&forked, 1);
    atomic_store(&count, 0);
    process_number++;
    idle = NULL;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < TL_LOCKS; i++) locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static __attribute__((constructor)) void watch_forks(void)
{
    if (pthread_atfork(NULL, NULL, in_child))
        atomic_store(&forked, 1); /* forks could not be detected, so no thread is created */
}

tally_status tl_call_begin(tally *ctx, tl_in_call *c)
{
    const int process = process_number;
    return __atomic_exchange_n(c, process, __ATOMIC_ACQUIRE) != process
               ? TALLY_OK
               : tl_invalid(ctx, "ctx is in use by another thread: open a context for each thread");
}

void tl_call_end(tl_in_call *c) { __atomic_store_n(c, 0, __ATOMIC_RELEASE); }

static void sleep_while(atomic_int *state, int value)
{
    syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_sleeper(atomic_int *state)
{
    syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Polls until *state is not `value`, for at most SPIN_NS. Returns at once if there are more
 * threads than processors, because another thread needs this processor. */
static void spin_while(atomic_int *state, int value)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) >= processors) return;
    const int64_t end = nanoseconds() + SPIN_NS;
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(state, memory_order_acquire) != value) return;
            pause_a_little();
        }
        /* a worker that is not needed may be on its caller's processor */
        if (value == WAITING) sched_yield();
    } while (nanoseconds() < end);
}

/* ---- workers ---- */

/* Wakes a worker after its state was changed. Either this thread sees `asleep`, or the worker
 * sees the new state. */
static void wake(worker *w)
{
    if (atomic_load(&w->asleep)) wake_sleeper(&w->state);
}

static void run(call *c, int number)
{
    const tl_worker w = {number, c->workers + 1, c->chunks, &c->next};
    if (__atomic_load_n(&c->next, __ATOMIC_RELAXED) < c->chunks) c->work(c->data, &w);
}

/* Each thread that starts wakes `fan` more. All start soonest if the caller wakes them, which takes
 * longer than a few chunks: then it wakes two. */
static void wake_next(const call *c, int number)
{
    const int64_t chunks = c->chunks / (c->workers + 1), fan = chunks > 2 ? chunks : 2,
                  first = number * fan;
    for (int64_t i = first; i < first + fan && i < c->workers; i++) wake(c->worker[i]);
}

static void *worker_main(void *argument)
{
    worker *const w = argument;
    for (;;) {
        spin_while(&w->state, WAITING);
        if (atomic_load(&w->state) == WAITING) {
            atomic_store(&w->asleep, 1); /* before the state is read again: see wake() */
            while (atomic_load(&w->state) == WAITING) sleep_while(&w->state, WAITING);
            atomic_store(&w->asleep, 0);
        }

        int state = OFFERED;
        if (!atomic_compare_exchange_strong(&w->state, &state, RUNNING)) {
            if (state == ENDING) return NULL;
            continue; /* the caller took the offer back */
        }

        wake_next(w->call, w->number);
        tl_fp_enter();
        run(w->call, w->number);
        if (atomic_exchange(&w->state, WAITING) == RUNNING_WATCHED) wake_sleeper(&w->state);
    }
}

/* Creates a worker in state WAITING; NULL: failed. */
static worker *make_worker(void)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    worker *const w = aligned_alloc(_Alignof(worker), sizeof *w);
    sigset_t signals, old;
    if (!w) return NULL;

    *w = (worker){.state = WAITING};
    sigfillset(&signals);
    /* A fault of the worker itself goes to the caller's handler: if it were blocked, the kernel
     * would end the process. */
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&signals, faults[i]);
    pthread_sigmask(SIG_SETMASK, &signals, &old);
    const int failed = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!failed) return w;
    free(w);
    return NULL;
}

static void end_worker(worker *w)
{
    atomic_store(&w->state, ENDING);
    wake(w);
    pthread_join(w->thread, NULL);
    free(w);
}

/* Creates up to `wanted` workers for c; `count` includes them already. If one cannot be created,
 * new ones are ended until half of all are left, because the work needs memory besides stacks. */
static void make_workers(call *c, int wanted)
{
    const int before = c->workers, target = before + wanted;
    while (c->workers < target && (c->worker[c->workers] = make_worker())) c->workers++;
    if (c->workers == target) return;

    int there = atomic_fetch_sub(&count, target - c->workers) - (target - c->workers);
    const int half = there / 2;

    for (; c->workers > before && there > half; there--) {
        end_worker(c->worker[--c->workers]);
        atomic_fetch_sub(&count, 1);
    }

    pthread_mutex_lock(&lock);
    refused_until = nanoseconds() + RETRY_NS;
    pthread_mutex_unlock(&lock);
}

/* Lends up to `wanted` workers to c, first idle ones, then new ones. The process has at most as
 * many threads as processors, or as one call requests. */
static void lend_workers(call *c, int wanted)
{
    pthread_mutex_lock(&lock);
    if (!processors) processors = tl_processors();
    for (; c->workers < wanted && idle; idle = idle->next) c->worker[c->workers++] = idle;
    const int most = (wanted > processors - 1 ? wanted : processors - 1) - atomic_load(&count);
    int more = wanted - c->workers < most ? wanted - c->workers : most;
    if (more > 0 && nanoseconds() < refused_until) more = 0;
    if (more > 0) atomic_fetch_add(&count, more);
    pthread_mutex_unlock(&lock);
    if (more > 0) make_workers(c, more);
}

/* Returns the workers in reverse order, so that the next call gets them in the same order. */
static void return_workers(call *c)
{
    pthread_mutex_lock(&lock);
    for (int i = c->workers - 1; i >= 0; i--) {
        c->worker[i]->next = idle;
        idle = c->worker[i];
    }
    pthread_mutex_unlock(&lock);
}

/* Takes back the worker's offer, or waits until its work is done. */
static void finish(worker *w)
{
    int state = OFFERED;
    if (atomic_compare_exchange_strong(&w->state, &state, WAITING)) return;
    spin_while(&w->state, RUNNING);
    state = RUNNING;
    if (!atomic_compare_exchange_strong(&w->state, &state, RUNNING_WATCHED)) return;
    while (atomic_load(&w->state) == RUNNING_WATCHED) sleep_while(&w->state, RUNNING_WATCHED);
}

static void run_with_workers(call *c)
{
    /* from the last to the first: a worker that starts finds that those it must wake have their
     * offers */
    for (int i = c->workers - 1; i >= 0; i--) {
        worker *const w = c->worker[i];
        assert(atomic_load(&w->state) == WAITING);
        w->call = c;
        w->number = i + 1;
        atomic_store(&w->state, OFFERED);
    }

    wake_next(c, 0);
    run(c, 0);
    for (int i = 0; i < c->workers; i++) finish(c->worker[i]);
    return_workers(c);
}

/* A function of its own, because its frame has 8 KiB. */
static __attribute__((noinline)) int
run_shared(int threads, int64_t chunks, void (*work)(void *data, const tl_worker *w), void *data)
{
    call c;
    c.work = work;
    c.data = data;
    c.chunks = chunks;
    c.next = c.workers = 0;
    lend_workers(&c, threads - 1);
    run_with_workers(&c);
    return c.next >= chunks;
}

int tl_parallel(int threads, int64_t chunks, void (*work)(void *data, const tl_worker *w),
                void *data)
{
    assert(threads >= 1 && threads <= TL_THREADS_MOST);
    TL_LAW_FP;
    int complete;
    if (threads > chunks) threads = chunks > 1 ? (int)chunks : 1;
    if (threads == 1 || atomic_load_explicit(&forked, memory_order_relaxed)) {
        int64_t next = 0;
        work(data, &(tl_worker){0, 1, chunks, &next});
        complete = next >= chunks;
    } else {
        complete = run_shared(threads, chunks, work, data);
    }

    return complete;
}

typedef struct {
    void (*chunk)(void *data, int64_t i);
    void *data;
} loop;

static void run_loop(void *data, const tl_worker *w)
{
    const loop *const l = data;
    for (int64_t i; (i = tl_next_chunk(w)) < w->chunks;) l->chunk(l->data, i);
}

void tl_for(int threads, int64_t chunks, void (*chunk)(void *data, int64_t i), void *data)
{
    loop l = {chunk, data};
    tl_parallel(threads, chunks, run_loop, &l);
}

typedef struct {
    int64_t n, each, first;
    void (*part)(void *data, int64_t a, int64_t b);
    int64_t (*find)(const void *data, int64_t a, int64_t b);
    void *data;
} parts;

static void run_part(void *data, int64_t i)
{
    parts *const p = data;
    const int64_t a = i * p->each, b = p->n - a < p->each ? p->n : a + p->each;
    if (p->part)
        p->part(p->data, a, b);
    else if (a < __atomic_load_n(&p->first, __ATOMIC_RELAXED))
        tl_atomic_least(&p->first, p->find(p->data, a, b));
}

void tl_for_parts(int threads, int64_t n, int64_t each,
                  void (*part)(void *data, int64_t a, int64_t b), void *data)
{
    assert(each > 0);
    tl_for(threads, n / each + (n % each > 0), run_part,
           &(parts){.n = n, .each = each, .part = part, .data = data});
}

int64_t tl_find(int threads, int64_t n, int64_t each,
                int64_t (*find)(const void *data, int64_t a, int64_t b), const void *data)
{
    assert(each > 0);
    parts work = {n, each, n, NULL, find, (void *)(uintptr_t)data};
    tl_for(threads, n / each + (n % each > 0), run_part, &work);
    return work.first;
}

int tl_calls_are_frequent(void)
{
    static atomic_llong last;
    const int64_t now = nanoseconds();
    return now - atomic_exchange(&last, now) < FREQUENT_NS;
}

void tl_pool_open(void)
{
    pthread_mutex_lock(&lock);
    contexts++;
    pthread_mutex_unlock(&lock);
}

void tl_pool_close(void)
{
    worker *w = NULL;
    pthread_mutex_lock(&lock);
    assert(contexts > 0);

    if (--contexts == 0) {
        w = idle;
        idle = NULL;
        for (worker *each = w; each; each = each->next) atomic_fetch_sub(&count, 1);
    }

    pthread_mutex_unlock(&lock);

    for (worker *next; w; w = next) {
        next = w->next;
        end_worker(w);
    }
}

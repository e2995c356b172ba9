/* SPDX-License-Identifier: MIT
 * The calls of the thread pool (src/context/threads.h). Part of test_threads.c. */
#ifndef TALLY_TEST_THREADS_POOL_H
#define TALLY_TEST_THREADS_POOL_H
#include "threads_work.h"

enum { CHUNKS = 1000 };
typedef struct {
    atomic_int taken[CHUNKS];
    atomic_int running[8]; /* threads by number */
    atomic_int wrong;
    int idle; /* the number of a thread that takes no chunk; -1: none */
} calls;

/* The rounding of this thread's sums: FE_TONEAREST, FE_UPWARD or FE_DOWNWARD. */
static int rounding(void)
{
    volatile float unit = 1, little = 0x1p-26f;
    return unit + little > 1 ? FE_UPWARD : unit - little < 1 ? FE_DOWNWARD : FE_TONEAREST;
}

static void take_chunks(void *data, const tl_worker *w)
{
    calls *c = data;
    sigset_t blocked;
    int64_t last = -1;
    if (atomic_fetch_add(&c->running[w->number], 1)) atomic_fetch_or(&c->wrong, 1);
    if (w->number < 0 || w->number >= w->threads || w->threads > 8) atomic_fetch_or(&c->wrong, 2);
    if (rounding() != FE_TONEAREST) atomic_fetch_or(&c->wrong, 4);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (sigismember(&blocked, SIGTERM) != (w->number > 0)) atomic_fetch_or(&c->wrong, 8);
    for (int64_t i; w->number != c->idle && (i = tl_next_chunk(w)) < w->chunks; last = i) {
        if (i <= last) atomic_fetch_or(&c->wrong, 16);
        atomic_fetch_add(&c->taken[i], 1);
        fesetround(FE_DOWNWARD); /* work may spoil its thread's environment for the next call */
    }
}

static int some_calls(void)
{
    static calls c;
    int failures = 0;
    for (int round = 0; round < 500; round++) {
        const int chunks = round % 3 ? CHUNKS : round % 10, threads = 1 + round % 7;
        memset(&c, 0, sizeof c);
        c.idle = round % 5 - 1;
        fesetround(FE_UPWARD);
        const int complete = tl_parallel(threads, chunks, take_chunks, &c);
        int taken = 0, twice = 0;
        for (int i = 0; i < CHUNKS; i++) taken += c.taken[i] > 0, twice += c.taken[i] > 1;
        if (c.wrong || twice || taken > chunks || complete != (taken == chunks) ||
            rounding() != FE_UPWARD)
            failures++, printf("FAILED: round %d: %d of %d chunks, %d, wrong %d\n", round, taken,
                               chunks, complete, (int)c.wrong);
        if (!complete && c.idle && chunks)
            failures++, printf("FAILED: %d chunks are left\n", chunks);
    }
    fesetround(FE_TONEAREST);
    return failures;
}

/* The threads end with the last context, whichever thread closes it. */
static void *closes(void *ctx)
{
    tally_close(ctx);
    return NULL;
}

static int ends(void)
{
    int failures = 0;
    pthread_t thread; /* the thread sanitizer makes one of its own beside the first */
    if (pthread_create(&thread, NULL, closes, NULL) || pthread_join(thread, NULL)) return 1;
    const int before = tasks();
    for (int i = 0; i < 20; i++) {
        tally *first, *second;
        double y = 0;
        const tally_view in = tally_flat(x, TALLY_F64, N);
        if (tally_open(&first, "cpu,threads=4") || tally_open(&second, "cpu,threads=2")) return 1;
        failures += tally_reduce(first, "sum", &in, &y) || memcmp(&y, one.memory, sizeof y);
        tally_close(first);
        failures += threads_for(4, 5) != 4 || tasks() < before + 3;
        if (pthread_create(&thread, NULL, closes, second)) return 1;
        pthread_join(thread, NULL);
        for (int wait = 0; wait < 1000 && tasks() != before; wait++) usleep(1000);
        if (tasks() != before)
            failures++, printf("FAILED: %d threads are left\n", tasks() - before);
    }
    return failures;
}

/* A chunk may make calls of its own. */
static void nested_chunk(void *data, int64_t i)
{
    atomic_int *wrong = data;
    tally *ctx;
    double y = 0;
    const tally_view in = tally_flat(x, TALLY_F64, N);
    char device[40];
    snprintf(device, sizeof device, "cpu,threads=%d", (int)i % 4 + 1);
    if (tally_open(&ctx, device) || tally_reduce(ctx, "sum", &in, &y) ||
        memcmp(&y, one.memory, sizeof y))
        atomic_fetch_add(wrong, 1);
    if (ctx) tally_close(ctx);
}

static int nested(void)
{
    static atomic_int wrong;
    tl_for(4, 40, nested_chunk, &wrong);
    return atomic_load(&wrong);
}

/* Many threads call, and one forks meanwhile. */
enum { CALLERS = 6 };
static atomic_int calling;

static void *calls_on(void *argument)
{
    work w = {0};
    int failures = 0;
    for (int i = 0; i < (SANITIZED ? 2 : 5); i++) failures += all("cpu,threads=3", &w, &one);
    free(w.memory);
    atomic_fetch_sub(&calling, 1);
    *(int *)argument = failures;
    return NULL;
}

static int many_callers(void)
{
    pthread_t thread[CALLERS];
    int failed[CALLERS] = {0}, failures = 0, forks = 0;
    atomic_store(&calling, CALLERS);
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&thread[i], NULL, calls_on, &failed[i])) return 1;
    /* a child of the thread sanitizer's process has none of its threads */
    while (atomic_load(&calling) && !SANITIZED && forks < 40) {
        const pid_t child = fork();
        if (child == 0) {
            double y = 0;
            tally *ctx;
            const tally_view in = tally_flat(x, TALLY_F64, N);
            alarm(PATIENCE);
            _exit(tally_open(&ctx, "cpu,threads=3") || tally_reduce(ctx, "sum", &in, &y) ||
                  memcmp(&y, one.memory, sizeof y) || (tally_close(ctx), 0));
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        if (status) failures++, printf("FAILED: fork %d: status 0x%x\n", forks, (unsigned)status);
        forks++;
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        failures += failed[i];
    }
    return failures;
}

/* Forks while other threads hold locks: all that have names, and, as often as not, the pool's. */
static atomic_int stop, taken;

static void *holds_locks(void *nothing)
{
    for (int i = 0; i < TL_LOCKS; i++) tl_lock_take((tl_lock)i);
    atomic_store(&taken, 1);
    while (!atomic_load(&stop)) usleep(1000);
    for (int i = 0; i < TL_LOCKS; i++) tl_lock_release((tl_lock)i);
    return nothing;
}

static void no_chunk(void *data, int64_t i) { (void)data, (void)i; }

static void *calls_often(void *nothing)
{
    while (!atomic_load(&stop)) tl_for(3, 3, no_chunk, NULL);
    return nothing;
}

static int held_locks(void)
{
    enum { THREADS = 3, FORKS = 100 };
    pthread_t thread[THREADS];
    int failures = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, i ? calls_often : holds_locks, NULL)) return 1;
    while (!atomic_load(&taken)) usleep(1000);
    for (int k = 0; k < FORKS; k++) {
        const pid_t child = fork();
        if (child == 0) {
            tally *ctx;
            alarm(PATIENCE / 4);
            for (int i = 0; i < TL_LOCKS; i++) tl_lock_take((tl_lock)i);
            for (int i = 0; i < TL_LOCKS; i++) tl_lock_release((tl_lock)i);
            if (tally_open(&ctx, "cpu,threads=3,probe=off")) _exit(1);
            tl_for(3, 3, no_chunk, NULL);
            tally_close(ctx);
            _exit(0);
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        if (!status) continue;
        printf("FAILED: fork %d: status 0x%x\n", k, (unsigned)status);
        failures++;
        break;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return failures;
}
#endif

/* SPDX-License-Identifier: MIT
 * Teams that are there before OpenMP is asked for them. OpenMP keeps a team for each thread that
 * has used one; while that team has the wanted size, a region makes no thread, and this costs a
 * look at a variable of the thread. Otherwise, one caller at a time:
 *
 *   try    all threads that are missing are made by hand, with OpenMP's stack size, and live
 *          together beside some memory
 *   run    an empty region, so that OpenMP has its team before anybody else takes what there was
 *
 * Where not all could be made, the team is half of those that could: their stacks are not all
 * that the work needs. */
#define _GNU_SOURCE
#include "threads.h"
#include "law/fp.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded /* no thread was made in this process, or none is left */
#endif
#endif
#ifndef ALONE
#define ALONE 0
#endif

enum {
    /* bytes that must be there beside the stacks: OpenMP's own for a team of 1024 are a third of
       it */
    SLACK = 1 << 20,
    RETRY_SECONDS = 1 /* after a failure, so that a limit is not met at every call */
};

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* one caller at a time */
/* this process was forked from one with threads */
static atomic_int orphan;
static atomic_int had_threads;
static _Thread_local int team = 1;         /* threads of this thread's team */
static _Thread_local int refused;          /* a size that could not be had, */
static _Thread_local time_t refused_until; /* not to be tried again before */

/* ---- fork ---- */

static void before_fork(void) { atomic_store(&had_threads, !ALONE); }
static void in_child(void)
{
    if (atomic_load(&had_threads)) atomic_store(&orphan, 1);
}

static __attribute__((constructor)) void watch_forks(void)
{
    if (pthread_atfork(before_fork, NULL, in_child))
        atomic_store(&orphan, 1); /* cannot know: so no team is left behind */
}

/* ---- trial ---- */

/* The stack that OpenMP's threads get, as its environment variables say it: a number, of KiB
 * unless a letter follows.
 */
static size_t stack_bytes(const char *name)
{
    static const char units[] = "bkmg";
    const char *text = getenv(name);
    char *end;
    if (!text) return 0;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : units + 1;
    if (errno || !unit || n > (ULLONG_MAX >> 1) >> 10 * (unit - units)) return 0;
    return (size_t)(n << 10 * (unit - units));
}

static void *stand_by(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Makes up to n threads that live at the same time, beside SLACK bytes: how many there were. */
static int try_threads(int n)
{
    int made = 0;
    pthread_attr_t attributes;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = malloc((size_t)(n + 1) * sizeof *threads);
    void *volatile slack = malloc(SLACK);
    if (threads && slack && !pthread_attr_init(&attributes)) {
        size_t stack = stack_bytes("OMP_STACKSIZE");
        if (!stack) stack = stack_bytes("GOMP_STACKSIZE");
        if (stack)
            pthread_attr_setstacksize(&attributes,
                                      /* refused when it is too small: then the default is used,
                                         there too */
                                      stack);
        pthread_mutex_lock(&gate);
        while (made < n && !pthread_create(&threads[made], &attributes, stand_by, &gate)) made++;
        pthread_mutex_unlock(&gate);
        for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
        pthread_attr_destroy(&attributes);
    }
    free(threads);
    free(slack);
    return made;
}

static int other_team(int wanted)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (wanted >= refused && refused && now.tv_sec < refused_until) return team;
    pthread_mutex_lock(&one);
    int missing = wanted > team ? wanted - team : 0, made = try_threads(missing);
    refused = made < missing ? wanted : 0;
    refused_until = now.tv_sec + RETRY_SECONDS + 1;
    if (made >= missing)
        team = wanted;
    else
        team += made / 2;
    if (team > 1) {
#pragma omp parallel num_threads(team)
        __asm__ volatile("" ::: "memory"); /* not optimised away */
    }
    pthread_mutex_unlock(&one);
    return team;
}

int tl_threads(int wanted)
{
    if (wanted <= 1 || atomic_load_explicit(&orphan, memory_order_relaxed)) return 1;
    return wanted == team ? wanted : other_team(wanted);
}

/* ---- work ---- */

static void run(int me, int of, int64_t end, int64_t *next,
                void (*work)(void *with, const tl_member *m), void *with)
{
    const tl_fp fp = tl_fp_enter();
    const tl_member m = {me, of, end, next};
    work(with, &m);
    tl_fp_leave(fp);
}

void tl_meet(const tl_member *m)
{
    if (m->of == 1) return; /* the barrier would be that of the caller's region */
#pragma omp barrier
}

void tl_team(int threads, int64_t end, void (*work)(void *with, const tl_member *m), void *with)
{
    const int of = tl_threads(threads);
    int64_t next = 0;
    if (of == 1) {
        run(0, 1, end, &next, work, with);
        return;
    }
#pragma omp parallel num_threads(tl_threads(of))
    run(omp_get_thread_num(), omp_get_num_threads(), end, &next, work, with);
}

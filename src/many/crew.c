/* SPDX-License-Identifier: MIT
 * Threads that drive devices. Who waits looks at a number a while before it sleeps, since waking
 * takes as long as a reduction of 100 MB does. */
#include "crew.h"
#include "law/fp.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOKS = 100 }; /* before sleeping; a look gives the processor to others */

typedef struct {
    tl_crew *crew;
    pthread_t thread;
    int number, made;
    long seen; /* the last job that it knows */
} worker;

struct tl_crew {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    atomic_long job;         /* its number */
    atomic_int left;         /* workers that are at it */
    int room, parts, ending; /* parts: of the job */
    void (*part)(int, void *);
    void *data;
    pid_t process; /* a child of fork has no threads */
    worker workers[];
};

tl_crew *tl_crew_new(int count)
{
    tl_crew *c = calloc(1, sizeof *c + (size_t)count * sizeof *c->workers);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->done, NULL);
    c->room = count;
    c->process = getpid();
    return c;
}

static void *run(void *argument)
{
    worker *w = argument;
    tl_crew *c = w->crew;
    tl_fp_enter();
    for (;;) {
        for (int i = 0; i < LOOKS && atomic_load(&c->job) == w->seen; i++) sched_yield();
        pthread_mutex_lock(&c->lock);
        while (!c->ending && atomic_load(&c->job) == w->seen) pthread_cond_wait(&c->work, &c->lock);
        w->seen = atomic_load(&c->job);
        const int ending = c->ending, mine = w->number < c->parts;
        pthread_mutex_unlock(&c->lock);
        if (ending) return NULL;
        if (!mine) continue;
        c->part(w->number, c->data);
        if (atomic_fetch_sub(&c->left, 1) > 1) continue;
        pthread_mutex_lock(&c->lock);
        pthread_cond_signal(&c->done);
        pthread_mutex_unlock(&c->lock);
    }
}

static void make(tl_crew *c, int k)
{
    worker *w = &c->workers[k];
    sigset_t every, old;
    *w = (worker){.crew = c, .number = k, .seen = atomic_load(&c->job)};
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    w->made = !pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void tl_crew_free(tl_crew *c)
{
    if (!c) return;
    if (c->process == getpid()) {
        pthread_mutex_lock(&c->lock);
        c->ending = 1;
        pthread_cond_broadcast(&c->work);
        pthread_mutex_unlock(&c->lock);
        for (int k = 1; k < c->room; k++)
            if (c->workers[k].made) pthread_join(c->workers[k].thread, NULL);
        pthread_cond_destroy(&c->work);
        pthread_cond_destroy(&c->done);
        pthread_mutex_destroy(&c->lock);
    }
    free(c);
}

void tl_crew_run(tl_crew *c, int count, void (*part)(int k, void *data), void *data)
{
    const int threads = c->process == getpid();
    int made = 0;
    for (int k = 1; threads && k < count; k++) {
        if (!c->workers[k].made) make(c, k);
        made += c->workers[k].made;
    }
    if (made) {
        pthread_mutex_lock(&c->lock);
        c->part = part;
        c->data = data;
        c->parts = count;
        atomic_store(&c->left, made);
        atomic_fetch_add(&c->job, 1);
        pthread_cond_broadcast(&c->work);
        pthread_mutex_unlock(&c->lock);
    }
    for (int k = 0; k < count; k++)
        if (!k || !threads || !c->workers[k].made) part(k, data);
    for (int i = 0; i < LOOKS && atomic_load(&c->left); i++) sched_yield();
    pthread_mutex_lock(&c->lock);
    while (made && atomic_load(&c->left)) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* SPDX-License-Identifier: MIT
 * The machine code of a text (cuda.h): from the cache on disk, compiled now, or compiled in the
 * background.
 *
 *   caller   ask -------- a later call: take -> disk, cuModuleLoadData
 *             |              ^
 *   thread    +-> NVRTC -----+      one program after the other; ends with the last request
 *
 * The thread reads none of tally's environment variables, writes no file and sees no CUDA context;
 * the callers do that. No thread outlives tally_close. No thread is in the compiler while exit
 * handlers destroy the compiler's library: our handler was registered after that library was
 * opened, so it runs first. A forked child has no thread, and its locks may be held for ever: there
 * nothing is requested, and dropped requests are only freed. */
#define _GNU_SOURCE
#include "cuda.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- code on disk, and code that is compiled now ---- */

enum { ARCH_BYTES = 16 };

static const char *wish_of(tl_code kind) { return kind == TL_CODE_QUICK ? tl_nvrtc_quick : NULL; }

static void name_arch(char *to, const tl_cuda_text *t)
{
    snprintf(to, ARCH_BYTES, "sm_%d", t->capability);
}

/* The cache key: architecture, options and text. The caller frees it; NULL: out of memory. */
static char *key_of(const tl_cuda_text *t, tl_code kind, size_t *length)
{
    char arch[ARCH_BYTES], tag[160];
    const char *wish = wish_of(kind);

    name_arch(arch, t);
    const size_t tag_length =
        (size_t)snprintf(tag, sizeof tag, "cuda %s %s%s", arch, tl_nvrtc_options, wish ? wish : "");
    char *key = malloc(tag_length + t->length);
    if (!key) return NULL;
    memcpy(key, tag, tag_length);
    memcpy(key + tag_length, t->text, t->length);
    *length = tag_length + t->length;

    return key;
}

void *tl_cuda_code_load(const tl_cuda_text *t, tl_code kind, size_t *bytes)
{
    size_t length;
    char *key = key_of(t, kind, &length);
    void *code = key ? tl_cache_load(key, length, bytes) : NULL;
    free(key);
    return code;
}

tally_status tl_cuda_code_make(tally *ctx, const tl_cuda_text *t, tl_code kind,
                               const atomic_int *stop, void **code, size_t *bytes)
{
    char arch[ARCH_BYTES];
    name_arch(arch, t);
    const tl_nvrtc_job job = {.text = t->text, .arch = arch, .wish = wish_of(kind), .stop = stop};
    return tl_nvrtc_compile(ctx, &job, code, bytes);
}

void tl_cuda_code_store(const tl_cuda_text *t, tl_code kind, const void *code, size_t bytes)
{
    size_t length;
    char *key = key_of(t, kind, &length);
    if (key) tl_cache_store(key, length, code, bytes);
    free(key);
    key = kind == TL_CODE_BEST ? key_of(t, TL_CODE_QUICK, &length) : NULL;
    if (key) tl_cache_drop(key, length);
    free(key);
}

/* ---- requests for better code ---- */

enum {
    WAITING_MOST = 64,     /* max requests; a text has about 60 KB */
    STACK_BYTES = 16 << 20 /* the compiler recurses */
};

struct tl_better {
    tl_better *next;
    tl_queue *queue;
    tl_cuda_text text;         /* a copy */
    atomic_int stop, answered; /* stop: tells the compiler to give up */
    int unwanted;              /* cancelled: the thread frees it */
    void *code;
    size_t bytes;
};

struct tl_queue {
    pthread_mutex_t lock;
    pthread_t thread;
    int running;  /* the thread is in its loop */
    int joinable; /* there is a thread to join */
    int ending;
    pid_t owner;
    atomic_int waiting;
    tl_better *first, **last, *now; /* requests; the one that the thread compiles */
    tl_queue *next;                 /* list of all devices' requests */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static tl_queue *queues;
static pid_t exits; /* the process whose exit handler is registered */

static int is_here(const tl_queue *q) { return q->owner == getpid(); }

/* Stores the code on disk; called only by callers, not by the thread. */
static void keep(const tl_better *j)
{
    if (j->code) tl_cuda_code_store(&j->text, TL_CODE_BEST, j->code, j->bytes);
}

static void discard(tl_better *j)
{
    free((void *)(uintptr_t)j->text.text);
    free(j->code);
    free(j);
}

/* ---- the thread ---- */

static void *work(void *argument)
{
    tl_queue *q = argument;
    pthread_mutex_lock(&q->lock);
    while (q->first && !q->ending) {
        tl_better *j = q->now = q->first;
        q->first = j->next;
        if (!q->first) q->last = &q->first;
        pthread_mutex_unlock(&q->lock);
        if (tl_cuda_code_make(NULL, &j->text, TL_CODE_BEST, &j->stop, &j->code, &j->bytes))
            j->code = NULL;
        pthread_mutex_lock(&q->lock);
        q->now = NULL;
        atomic_fetch_sub(&q->waiting, 1);

        if (j->unwanted)
            discard(j);
        else
            atomic_store_explicit(&j->answered, 1, memory_order_release);
    }

    q->running = 0;
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Starts the thread with all signals blocked, so that the callers' threads handle them. It inherits
 * the floating-point environment of the call. */
static int start(tl_queue *q)
{
    pthread_attr_t attributes;
    sigset_t every, old;
    if (pthread_attr_init(&attributes)) return 0;

    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    const int failed = pthread_create(&q->thread, &attributes, work, q);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

static void stop(tl_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->ending = 1;
    if (q->now) atomic_store(&q->now->stop, 1);
    const int joinable = q->joinable;
    q->joinable = 0;
    pthread_mutex_unlock(&q->lock);
    if (joinable) pthread_join(q->thread, NULL);
}

static void at_exit(void)
{
    if (exits != getpid()) return;
    pthread_mutex_lock(&all_lock);
    for (tl_queue *q = queues; q; q = q->next)
        if (is_here(q)) stop(q);
    pthread_mutex_unlock(&all_lock);
}

void tl_queue_end(tl_queue **queue)
{
    tl_queue *q = *queue;
    *queue = NULL;
    if (!q) return;

    if (is_here(q)) {
        pthread_mutex_lock(&all_lock);
        tl_queue **at = &queues;
        while (*at && *at != q) at = &(*at)->next;
        if (*at) *at = q->next;
        pthread_mutex_unlock(&all_lock);
        stop(q);
        pthread_mutex_destroy(&q->lock);
    }

    free(q);
}

static tl_queue *new_queue(void)
{
    int good = 1;
    tl_queue *q = calloc(1, sizeof *q);
    if (!q) return NULL;

    *q = (tl_queue){.owner = getpid(), .last = &q->first};
    pthread_mutex_init(&q->lock, NULL);
    pthread_mutex_lock(&all_lock);
    if (exits != q->owner) good = !atexit(at_exit);
    if (good) {
        exits = q->owner;
        q->next = queues;
        queues = q;
    }

    pthread_mutex_unlock(&all_lock);
    if (good) return q;

    pthread_mutex_destroy(&q->lock);
    free(q);

    return NULL;
}

int tl_better_accepts(const tl_queue *q) { return !q || atomic_load(&q->waiting) < WAITING_MOST; }

tl_better *tl_better_ask(tl_queue **queue, const tl_cuda_text *text)
{
    if (!tl_nvrtc_open(NULL) || (!*queue && !(*queue = new_queue())) || !is_here(*queue))
        return NULL;
    tl_queue *q = *queue;
    tl_better *j = calloc(1, sizeof *j);
    char *copy = malloc(text->length + 1);
    if (!j || !copy) {
        free(j);
        free(copy);
        return NULL;
    }

    memcpy(copy, text->text, text->length + 1);
    *j = (tl_better){.queue = q, .text = {copy, text->length, text->capability}};
    pthread_mutex_lock(&q->lock);
    int good = !q->ending;
    if (good && !q->running) {
        if (q->joinable) pthread_join(q->thread, NULL); /* it has left its loop */
        q->joinable = q->running = good = start(q);     /* the new thread waits for the lock */
    }

    if (good) {
        *q->last = j;
        q->last = &j->next;
        atomic_fetch_add(&q->waiting, 1);
    }

    pthread_mutex_unlock(&q->lock);
    if (good) return j;

    discard(j);
    return NULL;
}

int tl_better_take(tl_better **better, void **code)
{
    tl_better *j = *better;
    if (!atomic_load_explicit(&j->answered, memory_order_acquire)) return 0;
    keep(j);
    *code = j->code;
    j->code = NULL;
    *better = NULL;
    discard(j);
    return 1;
}

void tl_better_drop(tl_better **better)
{
    tl_better *j = *better;
    tl_queue *q = j->queue;
    int ours = 1; /* the caller frees it */

    *better = NULL;
    if (is_here(q)) {
        pthread_mutex_lock(&q->lock);
        tl_better **at = &q->first;
        while (*at && *at != j) at = &(*at)->next;
        if (*at) {
            *at = j->next;
            if (!*at) q->last = at;
            atomic_fetch_sub(&q->waiting, 1);
        } else if (q->now == j) {
            atomic_store(&j->stop, 1);
            j->unwanted = 1;
            ours = 0;
        }

        pthread_mutex_unlock(&q->lock);
    }

    if (!ours) return;
    if (is_here(q) && atomic_load_explicit(&j->answered, memory_order_acquire)) keep(j);
    discard(j);
}

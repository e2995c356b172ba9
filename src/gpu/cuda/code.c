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
    tl_beside *beside;
    tl_cuda_text text;         /* a copy */
    atomic_int stop, answered; /* stop: tells the compiler to give up */
    int unwanted;              /* cancelled: the thread frees it */
    void *code;
    size_t bytes;
};

struct tl_beside {
    pthread_mutex_t lock;
    pthread_t thread;
    int running;  /* the thread is in its loop */
    int joinable; /* there is a thread to join */
    int ending;
    pid_t owner;
    atomic_int waiting;
    tl_better *first, **last, *now; /* requests; the one that the thread compiles */
    tl_beside *next;                /* list of all devices' requests */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static tl_beside *all;
static pid_t exits; /* the process whose exit handler is registered */

static int is_here(const tl_beside *b) { return b->owner == getpid(); }

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
    tl_beside *b = argument;
    pthread_mutex_lock(&b->lock);
    while (b->first && !b->ending) {
        tl_better *j = b->now = b->first;
        b->first = j->next;
        if (!b->first) b->last = &b->first;
        pthread_mutex_unlock(&b->lock);
        if (tl_cuda_code_make(NULL, &j->text, TL_CODE_BEST, &j->stop, &j->code, &j->bytes))
            j->code = NULL;
        pthread_mutex_lock(&b->lock);
        b->now = NULL;
        atomic_fetch_sub(&b->waiting, 1);

        if (j->unwanted)
            discard(j);
        else
            atomic_store_explicit(&j->answered, 1, memory_order_release);
    }

    b->running = 0;
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Starts the thread with all signals blocked, so that the callers' threads handle them. It inherits
 * the floating-point environment of the call. */
static int start(tl_beside *b)
{
    pthread_attr_t attributes;
    sigset_t every, old;
    if (pthread_attr_init(&attributes)) return 0;

    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    const int failed = pthread_create(&b->thread, &attributes, work, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

static void stop(tl_beside *b)
{
    pthread_mutex_lock(&b->lock);
    b->ending = 1;
    if (b->now) atomic_store(&b->now->stop, 1);
    const int joinable = b->joinable;
    b->joinable = 0;
    pthread_mutex_unlock(&b->lock);
    if (joinable) pthread_join(b->thread, NULL);
}

static void at_exit(void)
{
    if (exits != getpid()) return;
    pthread_mutex_lock(&all_lock);
    for (tl_beside *b = all; b; b = b->next)
        if (is_here(b)) stop(b);
    pthread_mutex_unlock(&all_lock);
}

void tl_beside_end(tl_beside **beside)
{
    tl_beside *b = *beside;
    *beside = NULL;
    if (!b) return;

    if (is_here(b)) {
        pthread_mutex_lock(&all_lock);
        tl_beside **at = &all;
        while (*at && *at != b) at = &(*at)->next;
        if (*at) *at = b->next;
        pthread_mutex_unlock(&all_lock);
        stop(b);
        pthread_mutex_destroy(&b->lock);
    }

    free(b);
}

static tl_beside *new_beside(void)
{
    int good = 1;
    tl_beside *b = calloc(1, sizeof *b);
    if (!b) return NULL;

    *b = (tl_beside){.owner = getpid(), .last = &b->first};
    pthread_mutex_init(&b->lock, NULL);
    pthread_mutex_lock(&all_lock);
    if (exits != b->owner) good = !atexit(at_exit);
    if (good) {
        exits = b->owner;
        b->next = all;
        all = b;
    }

    pthread_mutex_unlock(&all_lock);
    if (good) return b;

    pthread_mutex_destroy(&b->lock);
    free(b);

    return NULL;
}

int tl_better_accepts(const tl_beside *b) { return !b || atomic_load(&b->waiting) < WAITING_MOST; }

tl_better *tl_better_ask(tl_beside **beside, const tl_cuda_text *text)
{
    if (!tl_nvrtc_open(NULL) || (!*beside && !(*beside = new_beside())) || !is_here(*beside))
        return NULL;
    tl_beside *b = *beside;
    tl_better *j = calloc(1, sizeof *j);
    char *copy = malloc(text->length + 1);
    if (!j || !copy) {
        free(j);
        free(copy);
        return NULL;
    }

    memcpy(copy, text->text, text->length + 1);
    *j = (tl_better){.beside = b, .text = {copy, text->length, text->capability}};
    pthread_mutex_lock(&b->lock);
    int good = !b->ending;
    if (good && !b->running) {
        if (b->joinable) pthread_join(b->thread, NULL); /* it has left its loop */
        b->joinable = b->running = good = start(b);     /* the new thread waits for the lock */
    }

    if (good) {
        *b->last = j;
        b->last = &j->next;
        atomic_fetch_add(&b->waiting, 1);
    }

    pthread_mutex_unlock(&b->lock);
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
    tl_beside *b = j->beside;
    int ours = 1; /* the caller frees it */

    *better = NULL;
    if (is_here(b)) {
        pthread_mutex_lock(&b->lock);
        tl_better **at = &b->first;
        while (*at && *at != j) at = &(*at)->next;
        if (*at) {
            *at = j->next;
            if (!*at) b->last = at;
            atomic_fetch_sub(&b->waiting, 1);
        } else if (b->now == j) {
            atomic_store(&j->stop, 1);
            j->unwanted = 1;
            ours = 0;
        }

        pthread_mutex_unlock(&b->lock);
    }

    if (!ours) return;
    if (is_here(b) && atomic_load_explicit(&j->answered, memory_order_acquire)) keep(j);
    discard(j);
}

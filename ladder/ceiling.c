/* SPDX-License-Identifier: MIT
 * ceiling.c - what the memory gives here: a read and a copy on the same threads, prefetched and stored past the caches,
 * to hold the results against. */
#define _GNU_SOURCE
#include "ceiling.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct part {
    const char *from;
    char *to; /* NULL: read only */
    size_t bytes;
    uint64_t sum;
} part;

/* While row `row` (512 bytes) of four pages is moved, asks for two lines of each of the next four: the processor's own
 * prefetchers stop at the end of a page, and four pages at once keep more of them busy. */
static void ask(const char *next, int row)
{
    for (int page = 0; page < 4; page++) {
        __builtin_prefetch(next + page * 4096 + row * 128, 0, 2);
        __builtin_prefetch(next + page * 4096 + row * 128 + 64, 0, 2);
    }
}

/* 64 bytes past the caches where the processor can; `to` is aligned to 16 bytes. */
static void store_line(char *to, const char *from)
{
#if defined(__SSE2__)
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
#else
    memcpy(to, from, 64);
#endif
}

enum { TILE = 16384, ROW = 512 };
typedef uint64_t line __attribute__((vector_size(64)));

static void *read_part(void *at)
{
    part *const p = at;
    line a = {0}, b = {0}, c = {0}, d = {0}, x[4]; /* four chains, so that the adds never wait for each other */
    const char *from = p->from, *const end = from + p->bytes / TILE * TILE;
    for (; from < end; from += TILE)
        for (int row = 0; row < TILE / ROW; row++) {
            ask(from + TILE, row);
            for (int half = 0; half < ROW; half += ROW / 2) {
                memcpy(x, from + row * ROW + half, sizeof x);
                a += x[0], b += x[1], c += x[2], d += x[3];
            }
        }
    a += b + c + d;
    for (int i = 0; i < 8; i++) p->sum += a[i];
    return NULL;
}

static void *copy_part(void *at)
{
    part *const p = at;
    const size_t tiles = p->bytes / TILE * TILE;
    const char *from = p->from;
    char *to = p->to;
    for (size_t tile = 0; tile < tiles; tile += TILE)
        for (int row = 0; row < TILE / ROW; row++) {
            ask(from + tile + TILE, row);
            for (size_t o = tile + (size_t)row * ROW; o < tile + (size_t)(row + 1) * ROW; o += 64)
                store_line(to + o, from + o);
        }
    memcpy(to + tiles, from + tiles, p->bytes - tiles);
#if defined(__SSE2__)
    _mm_sfence();
#endif
    return NULL;
}

static void *work(void *at) { return ((part *)at)->to ? copy_part(at) : read_part(at); }

/* A thread on processor number `which` of those this process may use: two threads left to themselves can spend a whole
 * pass on one. Not pinned where there are fewer. */
static int start(pthread_t *thread, part *p, int which)
{
    pthread_attr_t attributes;
    cpu_set_t all, one;
    if (pthread_attr_init(&attributes)) return 1;
    if (!sched_getaffinity(0, sizeof all, &all)) {
        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
            if (CPU_ISSET(cpu, &all) && which-- == 0) CPU_SET(cpu, &one);
        if (CPU_COUNT(&one)) pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    }
    const int failed = pthread_create(thread, &attributes, work, p);
    pthread_attr_destroy(&attributes);
    return failed;
}

static double pass(ceiling *c, int copy)
{
    enum { MOST = 1024 };
    part *const parts = calloc((size_t)c->threads, sizeof *parts);
    pthread_t *const threads = calloc((size_t)c->threads, sizeof *threads);
    double taken = 0;
    if (parts && threads && c->threads <= MOST) {
        const size_t each = (size_t)c->bytes / (size_t)c->threads / 64 * 64;
        int started = 0;
        const double begin = clock_seconds();
        for (int i = 0; i < c->threads; i++) {
            const size_t at = each * (size_t)i, bytes = i == c->threads - 1 ? (size_t)c->bytes - at : each;
            parts[i] = (part){c->a + at, copy ? c->b + at : NULL, bytes, 0};
            if (c->threads == 1 || start(&threads[started], &parts[i], i))
                work(&parts[i]);
            else
                started++;
        }
        for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
        taken = clock_seconds() - begin;
        for (int i = 0; i < c->threads; i++) c->sum += parts[i].sum; /* or the compiler drops the reads */
    }
    free(parts);
    free(threads);
    return taken;
}

int ceiling_open(ceiling *c, int64_t bytes, int threads)
{
    c->bytes = bytes;
    c->threads = threads;
    c->sum = 0;
    c->a = bytes > 0 ? malloc((size_t)bytes) : NULL;
    c->b = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (c->a && c->b) {
        memset(c->a, 1, (size_t)bytes); /* every page is there before the clock runs */
        memset(c->b, 2, (size_t)bytes);
        return 0;
    }
    ceiling_close(c);
    return 1;
}

double ceiling_read(ceiling *c) { return pass(c, 0); }
double ceiling_copy(ceiling *c) { return pass(c, 1); }

void ceiling_close(ceiling *c)
{
    free(c->a);
    free(c->b);
    c->a = c->b = NULL;
}

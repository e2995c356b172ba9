/* SPDX-License-Identifier: MIT
 * ceiling.c - what the memory gives here: a plain read and a plain copy on the same threads, to hold the results
 * against. */
#include "cli.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct part {
    const char *from;
    char *to; /* NULL: read only */
    size_t bytes;
    uint64_t sum;
} part;

static void *work(void *at)
{
    part *const p = at;
    if (p->to) {
        memcpy(p->to, p->from, p->bytes);
        return NULL;
    }
    uint64_t s[8] = {0}; /* eight chains, so that the adds never wait for each other */
    const char *const end = p->from + p->bytes / 64 * 64;
    for (const char *from = p->from; from < end; from += 64) {
        uint64_t x[8];
        memcpy(x, from, sizeof x);
        for (int i = 0; i < 8; i++) s[i] += x[i];
    }
    for (int i = 0; i < 8; i++) p->sum += s[i];
    return NULL;
}

static double pass(ceiling *c, int copy)
{
    enum { MOST = 1024 };
    part *const parts = calloc((size_t)c->threads, sizeof *parts);
    pthread_t *const threads = calloc((size_t)c->threads, sizeof *threads);
    double taken = 0;
    if (parts && threads && c->threads <= MOST) {
        const size_t each = (size_t)c->bytes / (size_t)c->threads / 64 * 64;
        const double start = seconds();
        for (int i = c->threads - 1; i >= 0; i--) {
            const size_t at = each * (size_t)i, bytes = i == c->threads - 1 ? (size_t)c->bytes - at : each;
            parts[i] = (part){c->a + at, copy ? c->b + at : NULL, bytes, 0};
            if (i == 0 || pthread_create(&threads[i], NULL, work, &parts[i])) {
                work(&parts[i]);
                threads[i] = pthread_self();
            }
        }
        for (int i = 1; i < c->threads; i++)
            if (!pthread_equal(threads[i], pthread_self())) pthread_join(threads[i], NULL);
        taken = seconds() - start;
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
        return DONE;
    }
    ceiling_close(c);
    return fail_memory("measuring the ceilings", 2 * bytes);
}

double ceiling_read(ceiling *c) { return pass(c, 0); }
double ceiling_copy(ceiling *c) { return pass(c, 1); }

void ceiling_close(ceiling *c)
{
    free(c->a);
    free(c->b);
    c->a = c->b = NULL;
}

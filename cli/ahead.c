/* SPDX-License-Identifier: MIT
 * ahead.c - boxes of steps of a NetCDF array, read by a thread of its own while the last one is folded.
 *
 *     reading   box 0 | box 1 | box 2 | ...        two buffers: box 2 waits until box 0 is folded
 *     folding         | box 0 | box 1 | ...
 *
 * Threads of OpenMP that fold wait for the next box busily (libgomp: some milliseconds) and would take the processor
 * from the thread that reads. So the reader is one of the threads that were asked for, and folding has the others. Only
 * the reader uses the file and its context. */
#include "cli.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ahead {
    const input *in;
    const layout *l;
    int64_t now, boxes;   /* steps in a box, and boxes in all */
    int64_t done, wanted; /* boxes that were read, and that may be read now */
    int64_t next;         /* the box that ahead_next gives next */
    char *buffer[2];
    tally_status status; /* why `done` stays what it is */
    int threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* The box's steps. */
static int64_t box_of(const ahead *a, int64_t number, int64_t *start, int64_t *count)
{
    const input *const in = a->in;
    const int axis = a->l->axis;
    const int64_t each = a->boxes / a->l->outer, left = a->l->len - number % each * a->now;
    int64_t rest = number / each;
    for (int d = in->ndim - 1; d >= 0; d--) {
        start[d] = d < axis ? rest % in->shape[d] : 0;
        count[d] = d < axis ? 1 : in->shape[d];
        if (d < axis) rest /= in->shape[d];
    }
    start[axis] = number % each * a->now;
    return count[axis] = left < a->now ? left : a->now;
}

static tally_status read_box(const ahead *a, int64_t number)
{
    int64_t start[DIMS], count[DIMS];
    box_of(a, number, start, count);
    return tally_file_read_box(a->in->file, start, count, a->buffer[a->threaded ? number % 2 : 0]);
}

static void *reader(void *with)
{
    ahead *const a = with;
    pthread_mutex_lock(&a->lock);
    while (a->done < a->boxes && !a->status) {
        while (a->done == a->wanted) pthread_cond_wait(&a->changed, &a->lock);
        if (a->wanted < 0) break; /* closed */
        pthread_mutex_unlock(&a->lock);
        const tally_status status = read_box(a, a->done);
        pthread_mutex_lock(&a->lock);
        a->status = status;
        a->done += !status;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

int ahead_open(ahead **a_, const input *in, const layout *l, int64_t now, size_t bytes, int threaded)
{
    ahead *const a = *a_ = calloc(1, sizeof *a);
    if (!a) return fail_memory("--axis", sizeof *a);
    *a = (ahead){.in = in, .l = l, .now = now, .boxes = (l->len + now - 1) / now * l->outer};
    for (int i = 0; i <= threaded; i++) {
        a->buffer[i] = aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
        if (!a->buffer[i]) return fail_memory("--axis", (int64_t)bytes);
        large_pages(a->buffer[i], bytes);
    }
    if (!threaded) return DONE;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->wanted = a->boxes < 2 ? a->boxes : 2;
    a->threaded = 1;
    if (pthread_create(&a->thread, NULL, reader, a) == 0) return DONE;
    pthread_cond_destroy(&a->changed); /* no thread to be had: without it */
    pthread_mutex_destroy(&a->lock);
    a->threaded = 0;
    return DONE;
}

int ahead_next(ahead *a, const char **box, int64_t *steps)
{
    int64_t start[DIMS], count[DIMS];
    const int64_t number = a->next++;
    tally_status status;
    *steps = box_of(a, number, start, count);
    *box = a->buffer[a->threaded ? number % 2 : 0];
    if (!a->threaded) {
        status = read_box(a, number);
    } else {
        pthread_mutex_lock(&a->lock);
        if (number && a->wanted < a->boxes) a->wanted++; /* the last box is folded */
        pthread_cond_signal(&a->changed);
        while (a->done <= number && !a->status) pthread_cond_wait(&a->changed, &a->lock);
        status = a->done <= number ? a->status : TALLY_OK;
        pthread_mutex_unlock(&a->lock);
    }
    return status ? fail_status(a->in->ctx, status) : DONE;
}

void ahead_close(ahead *a)
{
    if (!a) return;
    if (a->threaded) {
        pthread_mutex_lock(&a->lock);
        a->wanted = -1;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
        pthread_cond_destroy(&a->changed);
        pthread_mutex_destroy(&a->lock);
    }
    free(a->buffer[0]);
    free(a->buffer[1]);
    free(a);
}

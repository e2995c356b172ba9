/* SPDX-License-Identifier: MIT
 * What a test of threads computes on any of them, with its bits; and how many threads there are.
 * Part of test_threads.c. */
#ifndef TALLY_TEST_THREADS_WORK_H
#define TALLY_TEST_THREADS_WORK_H
#include "check.h"
#include "context/threads.h"
#include "law/fp.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <ftw.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Is a sanitizer here, which has a pthread_create of its own? */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { N = 1 << 18, ROWS = 64, COLUMNS = 100, RESULTS = 6 << 20, PATIENCE = 60 };
static double x[N];
static int64_t offsets[ROWS + 1];
static int limited; /* memory may run out too */

typedef struct {
    char *at, *memory;
    tally *ctx;
    int failures;
} work;

static void *reserve(work *w, int64_t bytes)
{
    char *p = w->at;
    w->at += bytes;
    if (w->at > w->memory + RESULTS) _exit(9);
    return p;
}

/* In a limited process a call may be out of memory; then its results are not looked at. */
static void done(work *w, tally_status status, const char *what, char *from)
{
    if (!status) return;
    if (status != TALLY_NO_MEMORY || !limited) {
        printf("FAILED: %s: %s\n", what, tally_error(w->ctx));
        w->failures++;
    }
    w->at = from;
    memset(from, 0, RESULTS - (size_t)(from - w->memory));
}

/* Every parallel call of the library's shapes. */
static void shapes(work *w)
{
    const tally_view flat = tally_flat(x, TALLY_F64, N),
                     rows = tally_rows(x, TALLY_F64, ROWS, N / ROWS),
                     columns = tally_columns(x, TALLY_F64, N / ROWS, ROWS),
                     wide = tally_columns(x, TALLY_F64, 64, N / 64),
                     segments = tally_segments(x, TALLY_F64, offsets, ROWS),
                     spread = {x, TALLY_F64, ROWS, N / ROWS / 2, N / ROWS, 2, NULL};
    const tally_view *const views[] = {&flat, &rows, &columns, &wide, &segments, &spread};
    tally_window_options o = {5, 5, TALLY_EDGES_SHRINK, 3};
    char name[40];
    for (int v = 0; v < 6; v++)
        for (int verb = 0; verb < 4; verb++) {
            char *from = w->at;
            tally_view in = *views[v], out = in;
            out.data = reserve(w, (verb ? N : in.rows) * (int64_t)sizeof(double));
            const char *op = verb == 3 ? "nanmean" : v == 2 ? "var" : "sum";
            tally_status status = verb == 0   ? tally_reduce(w->ctx, op, &in, out.data)
                                  : verb == 1 ? tally_scan(w->ctx, op, &in, &out, NULL)
                                              : tally_window(w->ctx, op, &in, &out, &o);
            snprintf(name, sizeof name, "view %d verb %d", v, verb);
            done(w, status, name, from);
            w->at =
                /* the results' first bytes are compared; the rest gives way to the next */
                from + (in.rows + 7) * 64;
        }
    tally_stream *s;
    char *from = w->at;
    if (!tally_stream_scan(w->ctx, "sum", TALLY_F64, NULL, &s)) {
        int64_t produced;
        double *y = reserve(w, N * (int64_t)sizeof *y);
        tally_status status = tally_stream_push(s, x, N / 3, y, &produced);
        if (!status) status = tally_stream_push(s, x + N / 3, N - N / 3, y + N / 3, &produced);
        done(w, status, "stream", from);
        tally_stream_close(s);
    }
}

/* And of its files: text written and read, raw bytes read, by several threads where there are
   some. */
static void files(work *w)
{
    static const char *const formats[] = {"text", "raw"};
    char path[64];
    for (int k = 0; k < 2; k++) {
        int64_t shape = N, got = 0, n = 0;
        tally_file *f;
        tally_file_options o = {.format = formats[k], .dtype = TALLY_F64};
        char *from = w->at;
        double *y = reserve(w, N * (int64_t)sizeof *y);
        snprintf(path, sizeof path, "threads-%d.%s", (int)gettid(), formats[k]);
        tally_status status =
            tally_file_create(w->ctx, path, formats[k], TALLY_F64, 1, &shape, 0, &f);
        if (!status) {
            status = tally_file_write(f, x, N);
            if (!status) status = tally_file_commit(f);
            tally_file_close(f);
        }
        if (!status) status = tally_file_open(w->ctx, path, &o, &f);
        if (!status) {
            while (!(status = tally_file_read(f, y + n, N - n, &got)) && got) n += got;
            if (!status && (n != N || memcmp(x, y, sizeof x)))
                w->failures++, printf("FAILED: %s came back otherwise\n", formats[k]);
            tally_file_close(f);
        }
        done(w, status, formats[k], from);
        unlink(path);
        w->at = from;
    }
}

/* Elements that several threads read: holes of a file. */
static void large_file(work *w)
{
    enum { LARGE = 2 << 20 };
    tally_file_options o = {.format = "raw", .dtype = TALLY_F64};
    tally_file *f;
    int64_t got = 0;
    char path[64];
    double *y = malloc(LARGE * sizeof *y);
    snprintf(path, sizeof path, "threads-%d.hole", (int)gettid());
    FILE *hole = y ? fopen(path, "wb") : NULL;
    if (hole) {
        fclose(hole);
        memset(y, 1, LARGE * sizeof *y);
        if (truncate(path, LARGE * (off_t)sizeof *y)) w->failures++;
        tally_status status = tally_file_open(w->ctx, path, &o, &f);
        if (!status) {
            status = tally_file_read(f, y, LARGE, &got);
            for (int64_t i = 0; !status && i < LARGE; i++)
                status = y[i] != 0 || got != LARGE ? TALLY_MISMATCH : TALLY_OK;
            tally_file_close(f);
        }
        done(w, status, "a large file", w->at);
        unlink(path);
    }
    free(y);
}

/* All of it on `threads` threads; want: NULL, or the results to compare with. */
static int all(const char *device, work *w, const work *want)
{
    *w = (work){.memory = w->memory};
    w->at = w->memory;
    if (!w->memory) w->at = w->memory = calloc(1, RESULTS);
    if (!w->memory) return 0;
    memset(w->memory, 0, RESULTS);
    if (tally_open(&w->ctx, device)) {
        printf("FAILED: %s\n", tally_error(NULL));
        return 1;
    }
    shapes(w);
    if (want && !limited) {
        size_t bytes = (size_t)(w->at - w->memory);
        if (w->at - w->memory != want->at - want->memory || memcmp(w->memory, want->memory, bytes))
            w->failures++, printf("FAILED: other bits than on one thread\n");
    }
    files(w);
    large_file(w);
    tally_close(w->ctx);
    return w->failures;
}

static work one, here;

/* ---- how many threads there are ---- */

/* Threads of this process. */
static int tasks(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    atomic_int came, wanted;
    double until;
} meeting;

/* Not how work should be: a thread waits for threads that may not come, but not for ever. */
static void come(void *data, const tl_worker *w)
{
    meeting *m = data;
    if (tl_next_chunk(w) >= w->chunks) return;
    atomic_fetch_add(&m->came, 1);
    while (atomic_load(&m->came) < m->wanted && seconds() < m->until) usleep(100);
}

/* How many threads come to a call for `wanted`, within `patience` seconds. */
static int threads_for(int wanted, double patience)
{
    meeting m = {.wanted = wanted, .until = seconds() + patience};
    tl_parallel(wanted, wanted, come, &m);
    return atomic_load(&m.came);
}

/* From here on, pthread_create fails after as many threads as this. */
static atomic_int creations = 1 << 30;
#if !SANITIZED
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!create) *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (atomic_fetch_sub(&creations, 1) <= 0) return EAGAIN;
    return create(thread, attributes, start, argument);
}
#endif
#endif

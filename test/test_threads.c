/* SPDX-License-Identifier: MIT
 * The thread pool. Its calls: chunks, numbers, the environment of each thread, calls within calls
 * and many at once, the end of the threads. And fewer threads than were asked for: in a process
 * that was forked from one with threads, in the middle of other threads' calls too; where the
 * address space has no space for their stacks; and where only the first few can be made. Every
 * shape must then run on the threads that there are: no call ends the process, none waits for
 * ever, and the bits are those of one thread. Each case is a process of its own, so that this
 * process stays without threads. */
#define _GNU_SOURCE
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

enum { N = 1 << 18, ROWS = 64, RESULTS = 6 << 20, PATIENCE = 60 };
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
        int64_t made;
        double *y = reserve(w, N * (int64_t)sizeof *y);
        tally_status status = tally_stream_push(s, x, N / 3, y, &made);
        if (!status) status = tally_stream_push(s, x + N / 3, N - N / 3, y + N / 3, &made);
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

/* ---- cases: each runs in a process of its own and returns its failures ---- */

/* In a child: the calls are right, on one thread, and the last context, which the parent opened,
 * can be closed. */
static int child_works(tally *last)
{
    alarm(PATIENCE);
    const int got = threads_for(3, 0.05);
    if (got != 1) printf("FAILED: a child of a process with threads has %d\n", got);
    const int failures = (got != 1) + all("cpu,threads=3", &here, &one);
    tally_close(last);
    fflush(stdout);
    return failures;
}

static int forked(void)
{
    const int failures = all("cpu,threads=3", &here, &one);
    fflush(stdout);
    tally *open; /* a process without a context has no threads */
    if (tally_open(&open, "cpu,threads=3") || threads_for(3, 5) != 3) return 1;
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(child_works(open) != 0);
    int status = 0;
    waitpid(child, &status, 0);
    if (status) printf("FAILED: the forked process: status 0x%x\n", (unsigned)status);
    const int again = all("cpu,threads=3", &here, &one);
    tally_close(open);
    return failures + (status != 0) + again;
}

/* A process without threads may fork as it likes. */
static int alone(void) { return threads_for(3, 5) != 3 || all("cpu,threads=3", &here, &one); }

/* ---- the pool's calls ---- */

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

/* Only the first few threads can be made: all shapes with none, one, two. */
static int few_threads(void)
{
    int failures = 0;
    for (int can = 0; can < 6; can++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE);
            atomic_store(&creations, can);
            const int wrong = all("cpu,threads=16", &here, &one);
            if (wrong) printf("FAILED: with %d threads that can be made\n", can);
            fflush(stdout);
            _exit(wrong != 0);
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        failures += status != 0;
    }
    return failures;
}

/* Is there no limit after all (an emulator does not pass it on)? */
static int is_free(void)
{
    const size_t large = (size_t)4 << 30;
    void *p = mmap(NULL, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 0;
    munmap(p, large);
    printf("address space has no limit here\n");
    return 1;
}

/* Address space for `mib` MiB more than there is in use. */
static int set_limit(rlim_t mib, struct rlimit *before)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, before)) return 0;
    fclose(f);
    struct rlimit r = *before;
    r.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (mib << 20);
    return !setrlimit(RLIMIT_AS, &r);
}

static int little(void)
{
    struct rlimit before;
    int failures = 0;
    tally *open; /* keeps the threads from case to case */
    here.memory = calloc(1, RESULTS);
    if (!here.memory || tally_open(&open, "cpu,threads=64") || !set_limit(200, &before)) return 1;
    if (is_free()) return 0;
    /* half of what could be made leaves memory for the work */
    failures += all("cpu,threads=64", &here, &one);
    const int got = threads_for(64, 0.3), again = threads_for(64, 0.3);
    if (got < 2 || got > 40 || again < got)
        failures++, printf("FAILED: %d threads, then %d, in 200 MiB\n", got, again);
    for (rlim_t mib = 0; mib < 160; mib += mib / 2 + 1) {
        struct rlimit ignored;
        limited = 1;
        if (setrlimit(RLIMIT_AS, &before) || !set_limit(mib, &ignored)) return 1;
        work w = {.memory = here.memory};
        failures += all("cpu,threads=64", &w, &one);
    }
    limited = 0;
    if (setrlimit(RLIMIT_AS, &before)) return 1;
    usleep(3100000);
    if (threads_for(64, 10) != 64)
        failures++, printf("FAILED: the limit is gone, and the threads do not come\n");
    failures += all("cpu,threads=64", &here, &one);
    tally_close(open);
    return failures;
}

/* Several threads that ask for many at the same time, where not all can be made (under a
 * sanitizer all). */
static void *grows(void *arg)
{
    int *const got = arg;
    tally *ctx;
    double y = 0;
    const tally_view in = tally_flat(x, TALLY_F64, N);
    if (tally_open(&ctx, "cpu,threads=16")) return NULL;
    tally_status status = TALLY_OK;
    for (int i = 0; i < 20 && !status; i++) status = tally_reduce(ctx, "sum", &in, &y);
    *got = status == TALLY_OK && !memcmp(&y, one.memory, sizeof y);
    tally_close(ctx);
    return NULL;
}

static int together(void)
{
    struct rlimit before;
    pthread_t thread[CALLERS];
    pthread_attr_t small;
    int got[CALLERS] = {0}, failures = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
#ifdef M_ARENA_MAX
    /* else malloc reserves 64 MiB for a thread, between a trial of threads and their making */
    mallopt(M_ARENA_MAX, 1);
#endif
    if (!SANITIZED && !set_limit(120, &before)) return 1;
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&thread[i], &small, grows, &got[i])) return 1;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        failures += !got[i];
    }
    if (failures) printf("FAILED: %d of %d callers\n", failures, CALLERS);
    return failures;
}

static void run(const char *name, int (*body)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        const int failures = body();
        fflush(stdout);
        _exit(failures != 0);
    }
    int status = -1;
    if (child > 0) waitpid(child, &status, 0);
    check(status == 0, "%s: status 0x%x", name, (unsigned)status);
}

/* ---- quotas of cgroups, in a folder that stands for / ---- */

/* Writes a file with the folders above it. */
static void put(const char *path, const char *text)
{
    char folder[256];
    for (size_t i = 1; i < sizeof folder && path[i]; i++)
        if (path[i] == '/') {
            snprintf(folder, sizeof folder, "%.*s", (int)i, path);
            mkdir(folder, 0777);
        }
    FILE *f = fopen(path, "w");
    check(f && fputs(text, f) >= 0 && !fclose(f), "writing %s", path);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static void quotas(void)
{
    static const struct {
        const char *root, *group, *file, *text, *more, *text_2;
        int want;
    } cases[] = {
        {"q/none", NULL, NULL, NULL, NULL, NULL, 0}, /* no /proc/self/cgroup */
        {"q/max", "0::/\n", "cpu.max", "max 100000\n", NULL, NULL, 0},
        {"q/two", "0::/\n", "cpu.max", "200000 100000\n", NULL, NULL, 2},
        {"q/half", "0::/\n", "cpu.max", "50000 100000\n", NULL, NULL, 1},
        {"q/more", "0::/\n", "cpu.max", "250000 100000\n", NULL, NULL, 3}, /* rounded up */
        {"q/above", "0::/a/b\n", "a/b/cpu.max", "max 100000\n", "a/cpu.max", "300000 100000\n", 3},
        {"q/least", "0::/a/b\n", "a/b/cpu.max", "200000 100000\n", "a/cpu.max", "300000 100000\n",
         2},
        {"q/hidden", "0::/machine/container\n", "cpu.max", "400000 100000\n", NULL, NULL, 4},
        {"q/dots", "0::/../..\n", "cpu.max", "400000 100000\n", NULL, NULL, 4},
        {"q/old", "5:memory:/\n4:cpu:/x\n0::/\n", "cpu/x/cpu.cfs_quota_us", "150000\n",
         "cpu/x/cpu.cfs_period_us", "50000\n", 3},
        {"q/both", "4:cpu,cpuacct:/\n", "cpu,cpuacct/cpu.cfs_quota_us", "500000\n",
         "cpu,cpuacct/cpu.cfs_period_us", "100000\n", 5},
        {"q/minus", "4:cpu:/\n", "cpu/cpu.cfs_quota_us", "-1\n", "cpu/cpu.cfs_period_us",
         "100000\n", 0},
        {"q/sets", "4:cpuset:/\n", "cpu/cpu.cfs_quota_us", "100000\n", "cpu/cpu.cfs_period_us",
         "100000\n", 0},
        {"q/zero", "0::/\n", "cpu.max", "100000 0\n", NULL, NULL, 0},
        {"q/short", "0::/\n", "cpu.max", "100000\n", NULL, NULL, 0},
        {"q/wrong", "0::/\nnonsense\n:\n", "cpu.max", "many 100000\n", NULL, NULL, 0},
        {"q/large", "0::/\n", "cpu.max", "9223372036854775807 1\n", NULL, NULL, 0},
    };
    char path[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const files[] = {cases[i].file, cases[i].more}, *const texts[] = {
                                                                        cases[i].text,
                                                                        cases[i].text_2};
        snprintf(path, sizeof path, "%s/proc/self/cgroup", cases[i].root);
        if (cases[i].group) put(path, cases[i].group);
        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/sys/fs/cgroup/%s", cases[i].root,
                     files[k] ? files[k] : "");
            if (files[k]) put(path, texts[k]);
        }
        const int got = tl_quota(cases[i].root);
        check(got == cases[i].want, "%s: %d processors instead of %d", cases[i].root, got,
              cases[i].want);
    }
    check(!nftw("q", remove_one, 16, FTW_DEPTH | FTW_PHYS), "removing q: %s", strerror(errno));
    check(tl_processors() >= 1, "at least one processor");
}

/* Puts zeros where a page is no longer in its file. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    mmap((void *)((uintptr_t)info->si_addr / page * page), page, PROT_READ,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* A mapped file that became shorter: the caller's handler of SIGBUS runs on the pool's threads too.
 * (The kernel ends a process whose thread blocks the signal of its own fault.) */
static int faults(void)
{
    enum { BYTES = 16 << 20 };
    const struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    tally *ctx;
    double sum = 1;
    const int file = memfd_create("shorter", 0);
    if (file < 0 || ftruncate(file, BYTES)) return 1;
    void *const data = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED || ftruncate(file, 0) || sigaction(SIGBUS, &act, NULL)) return 1;
    if (tally_open(&ctx, "cpu,threads=4")) return 1;
    const tally_view in = tally_flat(data, TALLY_F64, BYTES / 8);
    const int failed = tally_reduce(ctx, "sum", &in, &sum) != TALLY_OK || sum != 0;
    tally_close(ctx);
    return failed;
}

int main(void)
{
    check_start();
    for (int64_t i = 0; i < N; i++) x[i] = (double)(int64_t)(check_random() >> 20) / 1024;
    /* the last is half of all */
    for (int r = 1; r <= ROWS; r++) offsets[r] = r == ROWS ? N : N / 2 / ROWS * r;
    if (!check(!all("cpu,threads=1", &one, NULL), "one thread")) return check_finish();
    quotas();
    run("the pool's calls", some_calls);
    run("a fork of a process without threads", alone);
    run("a fork of a process with threads", forked);
    run("many callers, and forks in the middle of their calls", many_callers);
    if (!SANITIZED) run("forks while locks are held", held_locks);
    run("calls within calls", nested);
    run("the end of the threads", ends);
    run("faults of the threads", faults);
    if (!SANITIZED) run("threads of which few can be made", few_threads);
    if (!SANITIZED) run("little address space", little);
    run("many threads at the same time", together);
    return check_finish();
}

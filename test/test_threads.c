/* SPDX-License-Identifier: MIT
 * Fewer threads than were asked for: in a process that was forked from one with threads, and
 * where the address space has no space for their stacks. Every kind of parallel region must run
 * on the threads that can be made: no call ends the process, none waits for ever, and the bits
 * are those of one thread. The same holds for threads with small stacks (OMP_STACKSIZE). Each
 * case is a process of its own, so that this process stays without threads. */
#include "check.h"
#include "context/processors.h"
#include "context/threads.h"
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 18, ROWS = 64, RESULTS = 6 << 20, PATIENCE = 60 };
static double x[N];
static int64_t offsets[ROWS + 1];
static int limited; /* memory may run out too */
static int plain;   /* no sanitizer: they keep more address space than any limit */
static int watched; /* by the thread sanitizer */

typedef struct {
    char *at, *memory;
    tally *ctx;
    int failures;
} work;

static void *room(work *w, int64_t bytes)
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

/* Every parallel region of the library's shapes. */
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
            out.data = room(w, (verb ? N : in.rows) * (int64_t)sizeof(double));
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
        double *y = room(w, N * (int64_t)sizeof *y);
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
        double *y = room(w, N * (int64_t)sizeof *y);
        snprintf(path, sizeof path, "threads-%d.%s", (int)getpid(), formats[k]);
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
    snprintf(path, sizeof path, "threads-%d.hole", (int)getpid());
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

/* ---- cases: each runs in a process of its own and returns its failures ---- */

static int forked(void)
{
    int failures = all("cpu,threads=3", &here, &one);
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        alarm(PATIENCE);
        failures = tl_threads(3) != 1;
        if (failures) printf("FAILED: a child of a process with threads has a team\n");
        failures += all("cpu,threads=3", &here, &one);
        fflush(stdout);
        _exit(failures != 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status) printf("FAILED: the forked process: status 0x%x\n", (unsigned)status);
    return failures + (status != 0) + all("cpu,threads=3", &here, &one);
}

/* A process without threads may fork as it likes, where the C library knows that it is one (the
 * thread sanitizer has a thread of its own). */
static int alone(void)
{
    int team = 3;
#if __has_include(<sys/single_threaded.h>)
    if (!watched) team = tl_threads(3);
#endif
    return team != 3 || all("cpu,threads=3", &here, &one);
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
    here.memory = calloc(1, RESULTS);
    if (!here.memory || !set_limit(200, &before)) return 1;
    if (is_free()) return 0;
    /* half of what could be made leaves memory for the work */
    failures += all("cpu,threads=64", &here, &one);
    const int got = tl_threads(64), again = tl_threads(64);
    if (got < 2 || got > 40 || again != got)
        failures++, printf("FAILED: %d threads, then %d, in 200 MiB\n", got, again);
    /* Nearly any limit: with 0 or 1 MiB left, the work may leave no 1568 bytes for OpenMP's
     * record of a team, and libgomp then ends the process (one run in ten; with more, one in
     * fifty). */
    for (rlim_t mib = 2; mib < 160; mib += mib / 2 + 1) {
        struct rlimit ignored;
        limited = 1;
        if (setrlimit(RLIMIT_AS, &before) || !set_limit(mib, &ignored)) return 1;
        tl_threads(2 + (int)mib % 3);
        work w = {.memory = here.memory};
        failures += all("cpu,threads=64", &w, &one);
    }
    limited = 0;
    if (setrlimit(RLIMIT_AS, &before)) return 1;
    usleep(2100000);
    if (tl_threads(64) != 64)
        failures++, printf("FAILED: the limit is gone, and the threads do not come\n");
    return failures + all("cpu,threads=64", &here, &one);
}

/* Several threads whose teams grow at the same time, where not all can (under a sanitizer all). */
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
    enum { CALLERS = 4 };
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
    if (plain && !set_limit(120, &before)) return 1;
    for (int i = 0; i < CALLERS; i++)
        if (pthread_create(&thread[i], &small, grows, &got[i])) return 1;
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        failures += !got[i];
    }
    if (failures) printf("FAILED: %d of %d callers\n", failures, CALLERS);
    return failures;
}

/* A member of the caller's own region: its number there is none of tally's. */
static int member(const work *want, double *y)
{
    enum { STEPS = 40, CELLS = 50 };
    static const unsigned char some[STEPS * CELLS / 8] = {0xb7, 0x5a};
    tally_view in = tally_columns(x, TALLY_F64, STEPS, CELLS), out = in;
    work mine = {.memory = calloc(1, RESULTS)};
    tally_stream *s = NULL;
    tally *ctx;
    if (!mine.memory || tally_open(&ctx, "cpu,threads=1")) return 1;
    mine.at = mine.memory;
    mine.ctx = ctx;
    shapes(&mine);
    if (memcmp(mine.memory, want->memory, (size_t)(mine.at - mine.memory)))
        mine.failures++, printf("FAILED: other bits in a region\n");
    free(mine.memory);
    tally_status status = tally_stream_scan_rows(ctx, "var", TALLY_F64, CELLS, NULL, &s);
    /* the second one finds the field in lanes, and goes by rows */
    for (int push = 0; push < 2 && !status; push++) {
        out.data = y + push * STEPS * CELLS;
        in.valid = push ? some : NULL;
        status = tally_stream_push_view(s, &in, &out);
    }
    if (status) printf("FAILED: a field in a region: %s\n", tally_error(ctx));
    tally_stream_close(s);
    tally_close(ctx);
    return mine.failures + (status != TALLY_OK);
}

static int in_a_region(void)
{
    enum { MEMBERS = 3 };
    static double y[MEMBERS][4000];
    int failures = 0;
#pragma omp parallel num_threads(MEMBERS) reduction(+ : failures)
    {
        const int me = omp_get_thread_num();
        failures += member(&one, y[me]);
#pragma omp barrier
        failures += memcmp(y[me], y[0], sizeof y[0]) != 0;
    }
    return failures;
}

/* Down long columns: the counter of a strip of them stands on a thread's stack, and has a level
 * for each bit of their length. */
static int columns(void)
{
    enum { LENGTH = 2000, WIDTH = 1024 };
    double *const data = calloc(LENGTH * WIDTH, sizeof *data);
    double *const got = calloc(WIDTH, sizeof *got), *const want = calloc(WIDTH, sizeof *want);
    tally *few, *many;
    if (!data || !got || !want || tally_open(&few, "cpu,threads=1") ||
        tally_open(&many, "cpu,threads=2"))
        return 1;
    for (int64_t i = 0; i < LENGTH * WIDTH; i++) data[i] = x[i % N];
    const tally_view in = {.data = data,
                           .dtype = TALLY_F64,
                           .rows = WIDTH,
                           .n = LENGTH,
                           .row_stride = 1,
                           .stride = WIDTH};
    const int wrong = tally_reduce(few, "var", &in, want) || tally_reduce(many, "var", &in, got) ||
                      memcmp(got, want, WIDTH * sizeof *got);
    tally_close(few), tally_close(many);
    free(data), free(got), free(want);
    return wrong;
}

/* Started anew, since OpenMP reads its environment at the start: with stacks of 100 KiB, of
 * which the largest kernel takes half. */
static const char *self;
static int small_stacks(void)
{
    setenv("OMP_STACKSIZE", "100k", 1);
    execl(self, self, "small", (char *)NULL);
    printf("%s cannot be started again here: %s\n", self, strerror(errno)); /* by an emulator */
    return errno != ENOEXEC;
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
    check(tl_processors() >= 1, "at least one processor");
}

int main(int count, char **arguments)
{
    self = arguments[0];
    check_start();
    for (int64_t i = 0; i < N; i++) x[i] = (double)(int64_t)(check_random() >> 20) / 1024;
    /* the last is half of all */
    for (int r = 1; r <= ROWS; r++) offsets[r] = r == ROWS ? N : N / 2 / ROWS * r;
    if (!check(!all("cpu,threads=1", &one, NULL), "one thread")) return check_finish();
    if (count > 1) return all("cpu,threads=3", &here, &one) != 0 || columns() != 0;
    const char *sanitizers = getenv("TALLY_SANITIZE");
    plain = !sanitizers || !*sanitizers;
    watched = sanitizers && strstr(sanitizers, "thread");
    quotas();
    run("a fork of a process without threads", alone);
    run("a fork of a process with threads", forked);
    if (plain) run("small stacks", small_stacks);
    if (plain) run("little address space", little);
    run("teams that grow together", together);
    run("the caller's own region", in_a_region);
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * The thread pool. Its calls: chunks, numbers, the environment of each thread, calls within calls
 * and many at once, the end of the threads. And fewer threads than were asked for: in a process
 * that was forked from one with threads, in the middle of other threads' calls too; where the
 * address space has no space for their stacks; and where only the first few can be made. Every
 * shape must then run on the threads that there are: no call ends the process, none waits for
 * ever, and the bits are those of one thread. Each case is a process of its own, so that this
 * process stays without threads. */
#define _GNU_SOURCE
#include "threads_pool.h"

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
    const int got = threads_for(64, 0.5), again = threads_for(got, 10);
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

/* ---- one context, several threads ---- */

static tally *shared;
static double wanted[3][COLUMNS];
static const char *const operators[3] = {"sum", "mean", "max"};

/* A call on the shared context, by thread k: 0 right, 1 refused, 2 wrong. */
static int call(int64_t k)
{
    double y[COLUMNS];
    tally_view in = tally_columns(x, TALLY_F64, N / COLUMNS, COLUMNS);
    const tally_status s = tally_reduce(shared, operators[k % 3], &in, y);
    return s ? 1 + (s != TALLY_INVALID) : 2 * (memcmp(y, wanted[k % 3], sizeof y) != 0);
}

static void *calls_shared(void *number)
{
    intptr_t wrong = 0;
    for (int i = 0; i < 300; i++) wrong += call((intptr_t)number + i / 10) == 2;
    return (void *)wrong;
}

/* What one thread asks while another is in a call is refused, and never wrong. In a child of fork
 * the other thread does not exist. */
static int one_at_a_time(void)
{
    pthread_t thread[4];
    int failures = 0, status = 0;
    if (tally_open(&shared, "cpu,threads=2")) return 1;
    for (int k = 0; k < 3; k++) {
        tally_view in = tally_columns(x, TALLY_F64, N / COLUMNS, COLUMNS);
        failures += tally_reduce(shared, operators[k], &in, wanted[k]) != TALLY_OK;
    }

    if (tl_call_begin(shared, &shared->in_call)) return 1;
    failures += call(0) != 1 || !strstr(tally_error(shared), "ctx is in use by another thread");
    const tally_view columns = tally_columns(x, TALLY_F64, N / COLUMNS, COLUMNS);
    tally_fragment *f = NULL;
    failures += tally_fragment_of_view(shared, "sum", &columns, 0, &f) != TALLY_INVALID;
    tally_fragment_free(f);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(call(0) != 0 || call(1) != 0);
    waitpid(child, &status, 0);
    tl_call_end(&shared->in_call);
    failures += (status != 0) + (call(0) != 0);

    for (intptr_t k = 0; k < 4 && !SANITIZED; k++)
        if (pthread_create(&thread[k], NULL, calls_shared, (void *)k)) return 1;
    for (int k = 0; k < 4 && !SANITIZED; k++) {
        void *wrong;
        pthread_join(thread[k], &wrong);
        failures += wrong != NULL;
    }
    tally_close(shared);
    return failures;
}

/* Calls in a row are frequent; one after a pause is not. */
static int frequent_calls(void)
{
    int failures = 0, seen = 0;
    for (int k = 0; k < 3; k++) {
        usleep(1000);
        failures += tl_calls_are_frequent();
    }
    for (int k = 0; k < 1000; k++) seen += tl_calls_are_frequent(); /* some, on a busy machine */
    return failures + !seen;
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
    run("calls in a row", frequent_calls);
    run("several threads that share a context", one_at_a_time);
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

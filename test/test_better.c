/* SPDX-License-Identifier: MIT
 * Quick code first, better code later (src/gpu/cuda/code.c), on a CUDA driver and an NVRTC
 * that are none (fake/cuda.c, fake/nvrtc.c), so no GPU is needed: which code is loaded when,
 * what is on disk, what option code= chooses, and that no thread, no memory and no compiler is
 * left when a context is closed, forked, or never closed. */
#include "gpu/gpu.h"
#include "check.h"
#include "fault.h"
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, N = 5000, WORTH = 3, LONG_MS = 60000, PATIENCE_MS = 20000 };
static const char definition[] =
    "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
    "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
    "fn state combine(state a, state b) { state r; r.s = a.s + b.s; return r; }\n"
    "fn result lower(state a, real n, idx first, par p) { return to_result(canon(a.s)); }\n"
    "fn result empty(par p) { return to_result(num(0.0)); }\n";
static float x[N], y[N];
static char cache[500];
static const char *(*loads)(void);
static atomic_int *quick, *best, *running;

/* ---- the fakes ---- */

static void *of(const char *library, const char *name)
{
    void *l = dlopen(library, RTLD_NOW);
    return l ? dlsym(l, name) : NULL;
}

/* Their numbers; 0: others are here. */
static int find_fakes(void)
{
    *(void **)&loads = of("libcuda.so.1", "fake_cuda_loads");
    quick = of("libnvrtc.so.13", "fake_nvrtc_quick");
    best = of("libnvrtc.so.13", "fake_nvrtc_best");
    running = of("libnvrtc.so.13", "fake_nvrtc_running");
    return loads && quick && best && running;
}

static void setting(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    if (value)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static const char *mark; /* what was loaded before is of no interest */
static void forget(void) { mark = loads() + strlen(loads()); }

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL);
}
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Entries of a folder; the files in it are removed if `empty`. */
static int entries(const char *folder, int empty)
{
    char file[800];
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        count++;
        snprintf(file, sizeof file, "%s/%s", folder, e->d_name);
        if (empty) unlink(file);
    }
    if (d) closedir(d);
    return count;
}
/* One that was joined may be listed a moment longer. Sanitizers have threads of their own:
   nothing is known then. */
static int threads_are(int wanted)
{
#ifdef SANITIZED
    return wanted > 0;
#else
    int count = 0;
    const double end = now_ms() + PATIENCE_MS;
    while ((count = entries("/proc/self/task", 0)) != wanted && now_ms() < end) pause_ms(1);
    return count == wanted;
#endif
}
static int files_here(void) { return entries(cache, 0); }
static void begin(void)
{
    entries(cache, 1);
    forget();
    atomic_store(quick, 0);
    atomic_store(best, 0);
    setting("FAKE_NVRTC_MS", 0);
    setting("FAKE_NVRTC_FAILS", 0);
    setting("FAKE_NVRTC_DEAF", 0);
}

/* ---- calls ---- */

static tally *open_fake(const char *options)
{
    char name[80];
    tally *ctx = NULL;
    snprintf(name, sizeof name, "cuda:0,probe=off,threads=1%s", options);
    if (check_ok(NULL, tally_open(&ctx, name), name))
        check_ok(ctx, tally_define(ctx, "mine", definition, NULL), "a user's operator");
    return ctx;
}

static tally_status reduce(tally *ctx, const char *op)
{
    const tally_view in = tally_flat(x, TALLY_F32, N);
    return tally_reduce(ctx, op, &in, y);
}

static double in_calls; /* milliseconds */

static void calls(tally *ctx, const char *op, int count)
{
    const double start = now_ms();
    while (count-- > 0) check_ok(ctx, reduce(ctx, op), op);
    in_calls += now_ms() - start;
}

/* Calls until `want` has been loaded since begin, or forget. */
static void until(tally *ctx, const char *op, const char *want, const char *what)
{
    const double end = now_ms() + PATIENCE_MS;
    while (strcmp(mark, want) && now_ms() < end) {
        calls(ctx, op, 1);
        pause_ms(1);
    }
    calls(ctx, op, WORTH);
    check(!strcmp(mark, want), "%s: loaded '%s', must be '%s'", what, mark, want);
}

static void until_compiling(const char *what)
{
    const double end = now_ms() + PATIENCE_MS;
    while (!atomic_load(running) && now_ms() < end) pause_ms(1);
    check(atomic_load(running) == 1, "%s: %d in the compiler", what, atomic_load(running));
}

static void close_soon(tally *ctx, const char *what)
{
    const double start = now_ms();
    tally_close(ctx);
    check(now_ms() - start < LONG_MS / 4.0, "%s: closing took %.0f ms", what, now_ms() - start);
    check(!atomic_load(running), "%s: the compiler runs after tally_close", what);
    check(threads_are(1), "%s: a thread is left after tally_close", what);
}

/* ---- what is loaded, and kept ---- */

static void try_auto(const char *op)
{
    begin();
    tally *ctx = open_fake("");
    calls(ctx, op, WORTH - 1);
    check(!strcmp(mark, " quick") && !atomic_load(best) && threads_are(1), "%s: two calls: '%s'",
          op, mark);
    until(ctx, op, " quick best", op);
    check(files_here() == 1 && atomic_load(best) == 1, "%s: %d files, %d compiled", op,
          files_here(), atomic_load(best));
    close_soon(ctx, op);
    forget();
    ctx = open_fake(""); /* as another process */
    until(ctx, op, " best", "the best on disk");
    check(atomic_load(quick) == 1 && atomic_load(best) == 1, "%s: compiled again", op);
    close_soon(ctx, op);
    forget();
    ctx = open_fake(",code=quick"); /* whatever is on disk */
    until(ctx, op, " quick", "code=quick");
    check(atomic_load(quick) == 2 && atomic_load(best) == 1, "%s: code=quick compiled others", op);
    close_soon(ctx, op);
}

static void try_best(void)
{
    begin();
    tally *ctx = open_fake(",code=best");
    until(ctx, "mine", " best", "code=best");
    check(!atomic_load(quick) && files_here() == 1, "code=best: quick code was made, or %d files",
          files_here());
    close_soon(ctx, "code=best");
    tally *none = NULL;
    check(tally_open(&none, "cuda:0,code=fast") == TALLY_INVALID && !none &&
              !strcmp(tally_error(NULL), "code is 'fast': must be auto, quick or best"),
          "code=fast: '%s'", tally_error(NULL));
    begin();
    setenv("TALLY_CODE", "best", 1);
    ctx = open_fake("");
    until(ctx, "sum", " best", "TALLY_CODE=best");
    tally_close(ctx);
    ctx = open_fake(",code=auto"); /* wins */
    until(ctx, "mine", " best quick best", "TALLY_CODE=best and code=auto");
    tally_close(ctx);
    setenv("TALLY_CODE", "slow", 1);
    check(tally_open(&none, "cuda:0") == TALLY_INVALID && !none &&
              !strcmp(tally_error(NULL), "TALLY_CODE is 'slow': must be auto, quick or best"),
          "TALLY_CODE=slow: '%s'", tally_error(NULL));
    unsetenv("TALLY_CODE");
}

/* Several programs wait for the thread, of two contexts; some are wanted no more when their
   context is closed. */
static void try_many(void)
{
    static const char *const ops[] = {"mine", "sum",  "max",     "mean",
                                      "min",  "prod", "ema:0.1", "last"};
    enum { OPS = sizeof ops / sizeof *ops };
    begin();
    setting("FAKE_NVRTC_MS", 5);
    tally *a = open_fake(""), *b = open_fake("");
    for (int i = 0; i < OPS; i++) calls(a, ops[i], WORTH), calls(b, ops[i], WORTH);
    tally_close(a);
    const double end = now_ms() + PATIENCE_MS;
    do {
        for (int i = 0; i < OPS; i++) calls(b, ops[i], 1);
        pause_ms(1);
    } while (files_here() > OPS && now_ms() < end);
    for (int i = 0; i < OPS; i++) calls(b, ops[i], 1);
    check(files_here() == OPS, "%d operators: %d files", (int)OPS, files_here());
    close_soon(b, "the other context");
}

static void try_failure(void)
{
    begin();
    setting("FAKE_NVRTC_FAILS", 1);
    tally *ctx = open_fake("");
    calls(ctx, "mine", WORTH);
    for (double end = now_ms() + PATIENCE_MS; !atomic_load(best) && now_ms() < end;) pause_ms(1);
    for (int i = 0; i < 20; i++) calls(ctx, "mine", 1), pause_ms(1);
    check(!strcmp(mark, " quick") && files_here() == 1 && atomic_load(best) == 1,
          "the best cannot be made: '%s', %d files, tried %d times", mark, files_here(),
          atomic_load(best));
    close_soon(ctx, "the best cannot be made");
}

/* The seconds of `compile` are those that calls wait. */
static void try_times(void)
{
    enum { MS = 3000 }; /* what the thread takes, and no call waits for */
    tally_times_info times = {0};
    begin();
    setting("FAKE_NVRTC_MS", MS);
    tally *ctx = open_fake("");
    check_ok(ctx, tally_time(ctx, 1), "measuring");
    in_calls = 0;
    until(ctx, "mine", " quick best", "measured");
    check_ok(ctx, tally_times(ctx, &times), "times");
    check(times.compile > 0 && times.compile <= 1e-3 * in_calls,
          "compiling: %.3f s in calls of %.3f s", times.compile, 1e-3 * in_calls);
    close_soon(ctx, "measured");
}

/* ---- ends ---- */

/* The other thread handles no signals of the caller's. */
static void check_blocked(void)
{
    char path[300], line[200];
    unsigned long long blocked = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) sscanf(line, "SigBlk: %llx", &blocked);
        if (f) fclose(f);
    }
    if (d) closedir(d);
    const unsigned long long both = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1);
    check((blocked & both) == both, "signals that the thread blocks: %llx", blocked);
}

static tally *compiling(const char *what)
{
    begin();
    setting("FAKE_NVRTC_MS", LONG_MS);
    tally *ctx = open_fake("");
    calls(ctx, "sum", WORTH);
    calls(ctx, "mine", WORTH); /* it waits */
    until_compiling(what);
    return ctx;
}

static void try_close(void)
{
    tally *ctx = compiling("close");
    check(threads_are(2), "compiling: not in one thread");
    check_blocked();
    close_soon(ctx, "compiling");
    check(files_here() == 2 && atomic_load(best) == 1, "closed: %d files, %d compiled",
          files_here(), atomic_load(best));
    begin();
    ctx = open_fake("");
    calls(ctx, "mine", WORTH);
    for (int i = 0; i < PATIENCE_MS && (!atomic_load(best) || atomic_load(running)); i++)
        pause_ms(1);
    check(threads_are(1), "made: the thread is left");
    pause_ms(20);
    close_soon(ctx, "made, and no call since");
    ctx = open_fake("");
    until(ctx, "mine", " quick best", "made in the context before");
    close_soon(ctx, "made in the context before");
    begin();
    setting("FAKE_NVRTC_MS", 300);
    setting("FAKE_NVRTC_DEAF", 1); /* as NVRTC before it could be stopped: closing waits */
    ctx = open_fake("");
    calls(ctx, "mine", WORTH);
    until_compiling("a deaf compiler");
    close_soon(ctx, "a deaf compiler");
}

/* How a child ended: its exit status, or -1: by a signal, or not in time. */
static int end_of(pid_t child)
{
    int status;
    for (double end = now_ms() + PATIENCE_MS; now_ms() < end; pause_ms(2))
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static void try_fork(void)
{
    tally *ctx = compiling("fork");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        atomic_store(running, 0); /* the thread is not here */
        for (int i = 0; i < 2 * WORTH; i++) reduce(ctx, "max");
        tally_close(ctx);
        exit(3);
    }
    check(end_of(child) == 3, "a forked child closes the context and ends");
    close_soon(ctx, "forked");
}

/* A process that ends without closing: its exit handlers find nobody in the compiler. */
static void try_exit(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        check_failed = 0;
        compiling("exit");
        exit(check_failed ? 4 : 3);
    }
    check(end_of(child) == 3, "a process ends while its thread compiles");
}

/* Every allocation fails once: an error or an answer, and nothing is left. */
static void try_memory(void)
{
#ifndef SANITIZED
    int k = 1;
    for (int met = 1; met; k++) {
        tally *ctx = NULL;
        begin();
        atomic_store(&seen, 0);
        atomic_store(&fail_at, k);
        const int before = live_count;
        atomic_store(&counting, 1);
        tally_status status = tally_open(&ctx, "cuda:0,probe=off,threads=1");
        for (int i = 0; !status && i < WORTH; i++) status = reduce(ctx, "sum");
        for (int i = 0; !status && i < 100 && (!i || atomic_load(running)); i++) pause_ms(1);
        if (!status) status = reduce(ctx, "sum");
        check(status == TALLY_OK || status == TALLY_NO_MEMORY, "allocation %d failed: %s", k,
              tally_error(ctx));
        tally_close(ctx);
        atomic_store(&counting, 0);
        met = atomic_load(&seen) >= k;
        atomic_store(&fail_at, 0);
        check(live_count == before, "allocation %d failed: %d blocks are left", k,
              live_count - before);
        check(threads_are(1), "allocation %d failed: a thread is left", k);
    }
    check(k > 10, "%d allocations", k);
#endif
}

int main(void)
{
    char folder[400];
    check_start();
    if (!getcwd(folder, sizeof folder)) return 1;
    strcat(folder, "/cache");
    mkdir(folder, 0700);
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(cache, sizeof cache, "%s/tally", folder);
    if (!find_fakes()) {
        printf("skipped: the driver and NVRTC that are none are not in LD_LIBRARY_PATH\n");
        return SKIPPED;
    }
    try_exit(); /* first: this process has used neither */
    try_auto("mine");
    try_auto("sum");
    try_best();
    try_many();
    try_failure();
    try_times();
    try_close();
    try_fork();
    try_memory();
    return check_finish();
}

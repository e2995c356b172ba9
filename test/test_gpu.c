/* SPDX-License-Identifier: MIT
 * Failures on a GPU device: for k = 1, 2, .. the k-th call of the API under it fails (allocate,
 * copy, build, launch, event, wait), and so does the k-th allocation of host memory. Each time
 * the verb gives an error with a sentence, or right bits if it did not need the call; nothing
 * stays allocated outside the pool, and the same context then gives right bits. There are also
 * kernels that do not compile, a damaged disk cache, and devices that do not exist. Skipped
 * without a device. The calls that fail are in fault_gpu.h. */
#include "fault_gpu.h"
#include "fault.h"
#include "gpus.h"
#include <dirent.h>
#include <sys/stat.h>

enum { N = 400000, SMALL = 3000 };

static float x[N], out[N], want[4][N]; /* of the verbs 0, 1, 2, 4 */
static float *want_small[3];

/* ---- scenarios ---- */

static const tally_window_options window_ = {6, 2, TALLY_EDGES_SHRINK, 0},
                                  long_window = {33000, 1500, TALLY_EDGES_SHRINK, 0};
static const char *op = "sum";

/* Verb 0 reduce, 1 scan, 2 window; on n elements; 3: a scan by a stream; 4: a window that no
 * tile holds. */
static tally_status run(tally *on, int verb, int64_t n, float *to)
{
    tally_view in = tally_flat(x, TALLY_F32, n), result = tally_flat(to, TALLY_F32, n);
    tally_stream *s;
    if (verb == 0) return tally_reduce(on, op, &in, to);
    if (verb == 1) return tally_scan(on, op, &in, &result, NULL);
    if (verb == 2) return tally_window(on, op, &in, &result, &window_);
    if (verb == 4) return tally_window(on, op, &in, &result, &long_window);
    tally_status status = tally_stream_scan(on, op, TALLY_F32, NULL, &s);
    int64_t produced;
    if (!status) status = tally_stream_push(s, x, 1001, to, &produced);
    if (!status) status = tally_stream_push(s, x + 1001, n - 1001, to + 1001, &produced);
    tally_stream_close(s);
    return status;
}

static int64_t results(int verb, int64_t n) { return verb ? n : 1; }
static const float *wanted(int verb, int64_t n)
{
    const int as = verb == 3 ? 1 : verb == 4 ? 3 : verb;
    return n == N ? want[as] : want_small[as];
}

static void check_works(const char *after)
{
    for (int verb = 0; verb < 3; verb++)
        if (check_ok(ctx, run(ctx, verb, SMALL, out), after))
            check_same(out, wanted(verb, SMALL), results(verb, SMALL), 4, "verb %d after %s", verb,
                       after);
}

static void check_outcome(tally_status status, int verb, int64_t n, const char *what, int64_t k)
{
    static char after[120];
    snprintf(after, sizeof after, "verb %d of %lld, %s %lld failed", verb, (long long)n, what,
             (long long)k);
    if (status) {
        check(status == TALLY_NO_MEMORY || status == TALLY_NO_DEVICE, "%s: %s", after,
              tally_status_name(status));
        check(strstr(tally_error(ctx), "memory") != NULL, "%s: the sentence: %s", after,
              tally_error(ctx));
    } else {
        check_same(out, wanted(verb, n), results(verb, n), 4, "%s, yet it succeeded", after);
    }
    check_pool(after);
    if (!check_quick || !check_below(3)) check_works(after);
}

/* Call number k of the API fails, for every k of the scenario (of long ones the first 60, then one
 * in 11; quick: the first 8, and up to 30 about two in three). */
static void check_calls(int verb, int64_t n)
{
    int64_t k = 1, failed = 0;
    for (;; k += k >= (check_quick ? 30 : 60) ? 11
                 : check_quick && k > 8       ? 1 + check_below(2)
                                              : 1) {
        memset(out, 0xa5, sizeof out);
        calls_seen = 0;
        call_fails = k;
        tally_status status = run(ctx, verb, n, out);
        int64_t produced = calls_seen;
        call_fails = 0;
        failed += status != TALLY_OK;
        if (produced >= k) check_outcome(status, verb, n, "call", k);
        if (produced < k || (check_quick && k > 200)) break;
    }
    check(failed > 3, "verb %d of %lld: only %lld calls failed", verb, (long long)n,
          (long long)failed);
    check_outcome(run(ctx, verb, n, out), verb, n, "no call", 0);
}

#ifndef SANITIZED
static void check_allocations(int verb, int64_t n)
{
    for (int k = 1;; k++) {
        memset(out, 0xa5, sizeof out);
        real->enter(device->gpu, NULL);
        tl_gpu_empty_pool(device);
        real->leave(device->gpu);
        atomic_store(&seen, 0);
        atomic_store(&fail_at, k);
        atomic_store(&counting, 1);
        tally_status status = run(ctx, verb, n, out);
        atomic_store(&counting, 0);
        atomic_store(&fail_at, 0);
        if (atomic_load(&seen) < k) break;
        check_outcome(status, verb, n, "host allocation", k);
    }
}
#endif

#ifndef SANITIZED
/* A call of two inputs, in which host allocation k fails: the processors do it, or it is an error.
 * The first such call makes the operator's variant for the kernels. */
static void check_two_inputs(void)
{
    const tally_view y = tally_flat(x + 1, TALLY_F32, SMALL);
    tally_view in = tally_flat(x, TALLY_F32, SMALL);
    tally *cpu = check_open(2, NULL);
    float right = 0, got;
    in.next = &y;
    check_ok(cpu, tally_reduce(cpu, "wmean", &in, &right), "cpu");
    tally_close(cpu);
    for (int k = 1;; k++) {
        atomic_store(&seen, 0);
        atomic_store(&fail_at, k);
        atomic_store(&counting, 1);
        const tally_status status = tally_reduce(ctx, "wmean", &in, &got);
        atomic_store(&counting, 0);
        atomic_store(&fail_at, 0);
        if (atomic_load(&seen) < k) break;
        check(!status || status == TALLY_NO_MEMORY, "two inputs, allocation %d: %s", k,
              tally_status_name(status));
        if (!status) check_same(&got, &right, 1, 4, "two inputs, allocation %d failed", k);
        check_pool("two inputs");
    }
}
#endif

/* A program that does not build: tried again at the next call. */
static void check_builds(const char *name)
{
    if (!open_faked(name)) return;
    for (int verb = 0; verb < 3; verb++) {
        only = "build";
        calls_seen = 0;
        call_fails = 1;
        tally_status status = run(ctx, verb, SMALL, out);
        call_fails = 0;
        only = NULL;
        check(status != TALLY_OK, "verb %d: no failure", verb);
        check_pool("a failed build");
    }
    check_works("failed builds");
    close_faked();
}

/* ---- texts, cache, devices ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f)) exit(2);
}

/* TALLY_KERNELS with a file that is no program: the sentence says where, and without it the same
   context works. */
static void check_texts(const char *name)
{
    char folder[500];
    if (!getcwd(folder, sizeof folder - 20)) exit(2);
    mkdir("kernels", 0700), mkdir("kernels/gpu", 0700), mkdir("kernels/gpu/kernel", 0700);
    write_text("kernels/gpu/kernel/batch.cl", "\n\nthis is no program;\n");
    strcat(folder, "/kernels");
    if (!open_faked(name)) return;
    const char *const before = getenv("TALLY_KERNELS");
    char *const kept = before ? strdup(before) : NULL;
    setenv("TALLY_KERNELS", folder, 1);
    tally_status status = run(ctx, 1, SMALL, out);
    unsetenv("TALLY_KERNELS");
    if (kept) setenv("TALLY_KERNELS", kept, 1);
    free(kept);
    check(status == TALLY_NO_DEVICE && strstr(tally_error(ctx), "batch.cl"),
          "a text that does not compile: %s: %s", tally_status_name(status), tally_error(ctx));
    check_pool("a text that does not compile");
    check_works("a text that does not compile");
    close_faked();
}

/* Every file of the disk cache cut short, then altered: a new context compiles anew. By the sum
 * as a user's operator, which goes through the cache even where the build embedded the library's
 * own. */
static void check_cache(const char *name)
{
    for (int way = 0; way < 3; way++) {
        if (!open_faked(name)) return;
        check_ok(ctx, tally_define_file(ctx, "total", TALLY_SOURCE_DIR "/src/op/sum.h"),
                 "the sum, defined");
        op = "total";
        check_works(way == 0   ? "an empty cache"
                    : way == 1 ? "cached programs cut short"
                               : "cached programs altered");
        op = "sum";
        close_faked();
        DIR *d = opendir("cache/tally");
        int files = 0;
        for (struct dirent *e; d && (e = readdir(d));) {
            char path[400];
            struct stat info;
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "cache/tally/%s", e->d_name);
            if (stat(path, &info)) continue;
            files++;
            if (way == 0 && truncate(path, info.st_size / 2)) exit(2);
            if (way != 1) continue;
            FILE *f = fopen(path, "r+b");
            if (!f || fseek(f, (long)info.st_size - 100, SEEK_SET) || fputs("foreign", f) < 0 ||
                fclose(f))
                exit(2);
        }
        if (d) closedir(d);
        check(files || strncmp(name, "cuda", 4), "%s: nothing in the cache", name);
    }
}

static void check_refused(void)
{
    static const char *const names[] = {"cuda:99", "opencl:99", "opencl:-1", "cuda:"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tally *c;
        tally_status status = tally_open(&c, names[i]);
        check(status == TALLY_NO_DEVICE && !c && strstr(tally_error(NULL), "must be one of"),
              "%s: %s: %s", names[i], tally_status_name(status), tally_error(NULL));
        tally_close(status ? NULL : c);
    }
    tally_device_info info;
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        if (info.usable) continue;
        tally *c;
        char name[64];
        snprintf(name, sizeof name, "%s", info.name);
        check(tally_open(&c, name) == TALLY_NO_DEVICE && strstr(tally_error(NULL), info.reason),
              "%s is refused: %s", name, tally_error(NULL));
    }
}

/* A compiler that knows no #line gives lines of the whole text. */
static void check_places(void)
{
    static const char text[] = "a\n#line 1 \"src/b.cl\"\nb1\nb2\n\n#line 7 \"c.h\"\nc7\nc8\n";
    static const struct {
        const char *line, *want;
    } cases[] = {{"<kernel>:3:1: error: x", "src/b.cl:1:1: error: x"},
                 {"<kernel>:4:5: error", "src/b.cl:2:5: error"},
                 {"<kernel>:8:2: error", "c.h:8:2: error"},
                 {"<kernel>:1:2: error", "<kernel>:1:2: error"},
                 {"src/b.cl:2:5: error", "src/b.cl:2:5: error"},
                 {"<kernel>: lost", "<kernel>: lost"}};
    char got[100];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_name_place(cases[i].line, text, got, sizeof got);
        check(!strcmp(got, cases[i].want), "'%s' is called '%s'", cases[i].line, got);
    }
}

/* While another thread is in a call of the context, every call on it is refused. */
static void check_one_thread(void)
{
    tl_in_call *const c = &tl_gpu_of(ctx->device)->in_call;
    if (!check_ok(ctx, tl_call_begin(ctx, c), "a call begins")) return;
    for (int verb = 0; verb < 4; verb++) {
        const tally_status status = run(ctx, verb, N, out);
        check(
            status == TALLY_INVALID && strstr(tally_error(ctx), "ctx is in use by another thread"),
            "verb %d beside a call of another thread: %d, %s", verb, (int)status, tally_error(ctx));
    }
    tl_call_end(c);
    check_works("a call of another thread");
}

static void prepare(void)
{
    tally *cpu = check_open(2, NULL);
    tl_random_fill(&check_state, x, TALLY_F32, N, TL_DATA_PLAIN);
    for (int verb = 0; verb < 3; verb++) {
        want_small[verb] = malloc(SMALL * sizeof(float));
        check_ok(cpu, run(cpu, verb, N, want[verb]), "cpu");
        check_ok(cpu, run(cpu, verb, SMALL, want_small[verb]), "cpu");
    }
    check_ok(cpu, run(cpu, 4, N, want[3]), "cpu");
    tally_close(cpu);
}

static void check_device(const char *name)
{
    check_builds(name);
    check_texts(name);
    check_cache(name);
    if (!open_faked(name)) return;
    check_works("opening");
    check_one_thread();
#ifndef SANITIZED
    check_two_inputs();
#endif
    for (int verb = 0; verb < 5; verb++) {
        if (verb < 3) check_calls(verb, SMALL);
        check_calls(verb, N);
#ifndef SANITIZED
        check_allocations(verb, N);
        if (verb < 3) check_allocations(verb, SMALL);
#endif
    }
    close_faked();
}

int main(void)
{
    char folder[500];
    check_start();
    if (!getcwd(folder, sizeof folder - 20)) return 1;
    strcat(folder, "/cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    check_refused();
    check_places();
    prepare();
    for_each_gpu(NULL, check_device);
    for (int verb = 0; verb < 3; verb++) free(want_small[verb]);
    return finish_gpus();
}

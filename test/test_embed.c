/* SPDX-License-Identifier: MIT
 * Where the code of a CUDA program comes from: the archive in the library, the disk cache,
 * NVRTC, in that order, and no NVRTC where it is not needed. No GPU is needed: the driver
 * computes nothing (fake/cuda.c), and the archive has three shapes of sum/f32 for 8.0 and 9.0
 * (cmake/tests.cmake). Each case is a process of its own. A user's operator is compiled one kernel
 * at a time, and NVRTC's message about a wrong one names its line. Last, the probe must refuse this
 * driver. */
#include "../cmake/embedded.h"
#include "gpu/cuda/cuda.h"
#include "context/context.h"
#include "check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIPPED = 77 };

/* ---- in the child: one reduce (with a file: three shapes of a user's operator), its code ---- */

static int child(const char *device, const char *op, tally_dtype dtype)
{
    enum { N = 100000 };
    static double x[N], y[N];
    tally *ctx;
    const int users = strchr(op, '/') != NULL;
    const tally_view in = tally_flat(x, dtype, users ? N : 3000), out = tally_flat(y, dtype, N);
    const tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    if (tally_open(&ctx, device)) {
        printf("%s\n", tally_error(NULL));
        return 0;
    }
    tally_status status = users ? tally_define_file(ctx, "users", op) : TALLY_OK;
    if (!status) status = tally_reduce(ctx, users ? "users" : op, &in, y);
    if (!status && users) status = tally_scan(ctx, "users", &in, &out, NULL);
    if (!status && users) status = tally_window(ctx, "users", &in, &out, &w);
    if (status) printf("%s ", tally_error(ctx));
    const char *(*loads)(void);
    *(void **)&loads = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "fake_cuda_loads");
    int nvrtc = 0;
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nvrtc |= dlopen(names[i], RTLD_NOW | RTLD_NOLOAD) != NULL;
    printf("%s, nvrtc %d,%s\n", tally_status_name(status), nvrtc,
           loads ? loads() : " no fake driver");
    tally_close(ctx);
    return 0;
}

/* A number of the driver's. */
static void *of_driver(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : NULL;
}

/* Calls of a context whose push of its CUDA context fails, one after the other: each says so,
 * and takes nothing from the contexts that the caller has pushed. Prints a line for the parent. */
static int child_push(void)
{
    enum { N = 3000, LARGE = 9 << 20 };
    float *x = calloc(LARGE, sizeof *x), *y = calloc(LARGE, sizeof *y);
    tally *ctx;
    if (!x || !y || tally_open(&ctx, "cuda:0,probe=off,threads=1"))
        return puts(tally_error(NULL)), 0;
    int *fails = of_driver("fake_cuda_push_fails"), (*depth)(void);
    *(void **)&depth = of_driver("fake_cuda_depth");
    const tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(y, TALLY_F32, N);
    const tally_window_options w = {49, 0, TALLY_EDGES_SHRINK, 0};
    const int64_t offsets[] = {0, 5, N};
    const tally_view cut = tally_segments(x, TALLY_F32, offsets, 2);
    tally_stream *stream;
    int good = 0, calls = 0, before = depth();
    if (tally_stream_reduce(ctx, "sum", TALLY_F32, &stream)) return puts(tally_error(ctx)), 0;
    for (int call = 0; call < 6; call++)
        for (int k = 1; k < 40; k++) {
            *fails = k;
            int64_t produced;
            tally_status status = call == 0   ? tally_reduce(ctx, "sum", &in, y)
                                  : call == 1 ? tally_scan(ctx, "sum", &in, &out, NULL)
                                  : call == 2 ? tally_window(ctx, "sum", &in, &out, &w)
                                  : call == 3 ? tally_reduce(ctx, "sum", &cut, y)
                                  : call == 4 ? tally_stream_push(stream, x, LARGE, NULL, &produced)
                                              : tally_use_stream(ctx, NULL);
            const int met = *fails == 0;
            *fails = 0;
            calls += met;
            good += met && status == TALLY_NO_DEVICE &&
                    strstr(tally_error(ctx), "cuCtxPushCurrent") && depth() == before;
            if (depth() != before)
                printf("call %d left %d contexts of %d; ", call, depth(), before);
            if (!met) break;
        }
    tally_times_info times;
    *fails = 1;
    tally_times(ctx, &times);
    good += depth() == before;
    *fails = 0;
    tally_stream_close(stream);
    *fails = 1;
    tally_close(ctx);
    good += depth() == before;
    printf("%s, %d of %d\n", good == calls + 2 && calls >= 6 ? "ok" : "wrong", good, calls + 2);
    free(x);
    free(y);
    return 0;
}

/* All memory that a context holds is in its account and below its limit, what scans in one
   launch keep included. */
static int child_budget(const char *device, int64_t rows)
{
    enum { N = 4096 };
    static float x[N], total;
    float *y = malloc((size_t)rows * N * sizeof *y);
    tally *ctx;
    if (!y || tally_open(&ctx, device)) return puts(tally_error(NULL)), 0;
    const tally_view in = {x, TALLY_F32, rows, N, 0, 1, NULL},
                     out = tally_rows(y, TALLY_F32, rows, N),
                     one = {x, TALLY_F32, 1, 1 << 20, 1, 0, NULL};
    tally_times_info times = {0};
    const size_t *held = of_driver("fake_cuda_held"), *peak = of_driver("fake_cuda_peak");
    tally_status status = tally_scan(ctx, "sum", &in, &out, NULL);
    if (!status) status = tally_reduce(ctx, "sum", &one, &total);
    if (!status) status = tally_times(ctx, &times);
    printf("%s, %s, peak %lld KiB\n", tally_status_name(status),
           times.device_bytes == (int64_t)*held ? "all counted" : "not all counted",
           (long long)(*peak >> 10));
    tally_close(ctx);
    free(y);
    return 0;
}

/* ---- in the parent ---- */

static char here[400], self[600];

/* The child's line under these settings (as for a shell). */
static const char *ask(const char *settings, const char *device, const char *op, const char *dtype)
{
    static char line[1024];
    char command[2400];
    line[0] = 0;
    snprintf(command, sizeof command,
             "LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH XDG_CACHE_HOME=%s/cache %s %s %s %s %s 2>&1",
             getenv("TALLY_FAKE_CUDA"), here, settings, self, device, op, dtype);
    FILE *f = popen(command, "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) pclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void expect(const char *want, const char *settings, const char *op, const char *dtype,
                   const char *what)
{
    const char *got = ask(settings, "cuda:0,probe=off", op, dtype);
    check(!strcmp(got, want), "%s: '%s', must be '%s'", what, got, want);
}

static void empty_cache(void)
{
    char at[500], file[800];
    snprintf(at, sizeof at, "%s/cache/tally", here);
    DIR *d = opendir(at);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(file, sizeof file, "%s/%s", at, e->d_name);
        unlink(file);
    }
    if (d) closedir(d);
}

/* A copy of sum.h with one more comment, where TALLY_KERNELS finds it. */
static void change_text(void)
{
    char path[600];
    size_t got = 0;
    static char text[20000];
    snprintf(path, sizeof path, "%s/kernels", here);
    mkdir(path, 0700);
    strcat(path, "/op");
    mkdir(path, 0700);
    strcat(path, "/sum.h");
    FILE *from = fopen(TALLY_SOURCE_DIR "/src/op/sum.h", "r"), *to = fopen(path, "w");
    if (check(from && to && (got = fread(text, 1, sizeof text, from)) > 0, "copying sum.h"))
        fprintf(to, "%.*s/* changed */\n", (int)got, text);
    if (from) fclose(from);
    if (to) fclose(to);
}

static const char wrong_text[] =
    "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
    "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n"
    "fn state combine(state a, state b) { state r; r.s = a.s + ; return r; }\n"
    "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
    "fn result empty(par p) { return to_result(num(0.0)); }\n";

static void check_users(void)
{
    static const char file[] = TALLY_SOURCE_DIR "/examples/operators/descent.h";
    expect("ok, nvrtc 1, cubin cubin cubin cubin cubin cubin", "", file, "f32",
           "a user's operator of 12 bytes: the kernels once, nodes, down, scan, and window_tile in "
           "two programs");
    expect("ok, nvrtc 0, cubin cubin cubin cubin cubin cubin", "", file, "f32",
           "the same, a second process");
    FILE *f = fopen("wrong.h", "w");
    if (check(f && fputs(wrong_text, f) >= 0, "writing wrong.h")) {
        fclose(f);
        expect("./wrong.h:4: expected an expression bad data, nvrtc 1,", "", "./wrong.h", "f32",
               "a wrong text");
    }
}

static void check_archive(void)
{
    const tl_scalar *op;
    tl_par par;
    size_t bytes = 0, length;
    char *text;
    tl_archive_head head;
    memcpy(&head, tl_embedded, sizeof head);
    check(head.count == 11,
          "%d programs in the archive: 3 and 8 of the probe that are not among them",
          (int)head.count);
    for (uint64_t i = 0; i < head.count; i++) {
        tl_archive_entry e;
        memcpy(&e, tl_embedded + sizeof head + i * sizeof e, sizeof e);
        check(tl_archive_find(tl_embedded, e.key, &bytes) == tl_embedded + e.at &&
                  bytes == e.bytes && e.at % 64 == 0,
              "entry %d is found", (int)i);
        for (int k = 0; k < 4; k++) {
            tl_key near = e.key;
            *(k < 2 ? &near.high : &near.low) += k % 2 ? 1 : (uint64_t)-1;
            check(!tl_archive_find(tl_embedded, near, &bytes), "a key beside entry %d is not there",
                  (int)i);
        }
    }
    check_ok(NULL, tl_resolve(NULL, "sum", TALLY_F32, &op, &par), "sum f32");
    for (int s = 0; s < EMBEDDED_SHAPES; s++) {
        const char *const shape = embedded_shapes[s];
        const tl_text of = {op, shape, CUDA_PRELUDE, NULL, TL_ONE_INPUT};
        if (!has_shape(op, shape)) continue; /* window_far: of class X */
        if (!check_ok(NULL, tl_program_text(NULL, &of, &text, &length), shape)) continue;
        const int found =
            tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes) != NULL;
        const int in_set = check_listed("reduce scan window_walk3", shape);
        check(found == in_set, "sum f32 %s is %s", shape, found ? "there" : "not there");
        text[length / 2] ^= 1;
        check(!tl_archive_find(tl_embedded, tl_archive_key(text, length), &bytes),
              "one bit changed: not there");
        free(text);
    }
    static const unsigned char none[sizeof(tl_archive_head)];
    check(!tl_archive_find(none, tl_key_start, &bytes), "an empty archive has nothing");
    tl_key foobar = tl_key_add(tl_key_start, "foobar", 6); /* from the definition of FNV-1a */
    check(foobar.high == 0x343e1662793c64bf && foobar.low == 0x6f0d3597ba446f18,
          "the hash of foobar is %016llx%016llx", (unsigned long long)foobar.high,
          (unsigned long long)foobar.low);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "push")) return child_push();
    if (argc == 4 && !strcmp(argv[1], "budget")) return child_budget(argv[2], atoi(argv[3]));
    if (argc == 4) return child(argv[1], argv[2], tally_dtype_parse(argv[3]));
    check_start();
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || !getcwd(here, sizeof here)) return 1;
    self[length] = 0;
    if (!getenv("TALLY_FAKE_CUDA") || !tl_embedded[0]) {
        printf("skipped: no CUDA toolkit here, so there is no archive\n");
        return SKIPPED;
    }
    char cache[500], changed[700];
    snprintf(cache, sizeof cache, "%s/cache", here);
    mkdir(cache, 0700);
    empty_cache();
    check_archive();

    static const char embedded[] = "ok, nvrtc 0, fatbin(elf 80, elf 90, ptx 90)";
    expect(embedded, "", "sum", "f32", "embedded");
    expect("ok, nvrtc 1, cubin", "", "sum", "i16", "not embedded");
    expect("ok, nvrtc 0, cubin", "", "sum", "i16",
           "not embedded, a second process: from the disk cache, without NVRTC");
    expect("ok, nvrtc 1, cubin", "FAKE_CUDA_REFUSES=1", "sum", "f32",
           "a driver that takes no fatbinary");
    expect("ok, nvrtc 0, cubin", "FAKE_CUDA_REFUSES=1", "sum", "f32", "the same, a second process");
    change_text();
    snprintf(changed, sizeof changed, "TALLY_KERNELS=%s/kernels", here);
    expect("ok, nvrtc 1, cubin", changed, "sum", "f32", "a text that is not the embedded one");
    expect("ok, nvrtc 0, cubin", changed, "sum", "f32", "the same, a second process");
    expect(embedded, "", "sum", "f32", "embedded again");
    check_users();

    const char *pushed = ask("", "push", "sum", "f32");
    check(!strncmp(pushed, "ok, ", 4), "pushes of contexts that fail: '%s'", pushed);
    long long peak = 0;
    const char *counted = ask("", "budget", "cuda:0,probe=off,threads=1", "2000");
    check(!strncmp(counted, "ok, all counted, ", 17), "a scan's memory: '%s'", counted);
    counted = ask("", "budget", "cuda:0,probe=off,threads=1,memory=2M", "2000");
    check(sscanf(counted, "ok, all counted, peak %lld KiB", &peak) == 1 && peak <= 2048,
          "a scan's memory within 2 MiB: '%s'", counted);

    for (int k = 0; k < 2; k++) { /* not remembered */
        const char *line = ask("", "cuda:0", "sum", "f32");
        check(
            strstr(line, "cuda:0 (fake") &&
                strstr(line, "fails the conformance probe: operator ema:0.3, dtype f32, n = 1 ") &&
                strstr(line, "expected 0x") && strstr(line, "probe=off"),
            "a device whose kernels do nothing: '%s'", line);
    }
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * The CUDA kernels compile, without a GPU: NVRTC (if it is here) makes machine code of every shape for each
 * architecture, and the assembler's report must show no spilled register.
 *
 *   test_nvrtc                  a few operators, those of examples/operators, and what is said of wrong ones; sm_90
 *   test_nvrtc all [ARCH...]    every operator and type, for sm_80, sm_90 and sm_100 or those named; prints registers
 */
#include "../src/device/gpu.h"
#include "../src/operators.h"
#include "../src/user.h"
#include "check.h"
#include <dlfcn.h>

enum { SKIPPED = 77, USERS_SPILL = 64 }; /* bytes: states of users may be larger than the kernels were tuned for */
static int (*create)(void **, const char *, const char *, int, const void *, const void *);
static int (*compile)(void *, int, const char *const *);
static int (*log_size)(void *, size_t *);
static int (*get_log)(void *, char *);
static int (*destroy)(void **);

static int open_compiler(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW);
    if (!library) return 0;
    *(void **)&create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&get_log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&destroy = dlsym(library, "nvrtcDestroyProgram");
    return create && compile && log_size && get_log && destroy;
}

/* The registers of each kernel in the assembler's report; a stack frame is allowed (columns has one), spills are not.
 */
static void read_report(const char *log, const char *what, int print, int allowed)
{
    static const char entry[] = "Compiling entry function '", spills[] = "bytes spill stores";
    for (const char *at = log; (at = strstr(at, entry)); at += sizeof entry) {
        char name[32] = "";
        int registers = 0, spilled = 0;
        const char *used = strstr(at, "Used "), *spill = strstr(at, spills);
        sscanf(at + sizeof entry - 1, "%31[^']", name);
        if (used) sscanf(used, "Used %d", &registers);
        if (spill) {
            const char *number = spill - 2;
            while (number > at && number[-1] != ' ') number--;
            spilled = atoi(number);
        }
        check(spill && used, "%s %s: no report", what, name);
        check(spilled <= allowed, "%s %s: %d bytes of registers spilled", what, name, spilled);
        if (print) printf("%-40s %-12s %4d registers, %d bytes spilled\n", what, name, registers, spilled);
    }
}

/* Compiles a text as the library does; *log is the caller's. Returns NVRTC's error. */
static int build(const char *text, const char *arch, char **log)
{
    char option[40];
    size_t bytes = 0;
    void *program;
    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    const char *options[] = {option, "--fmad=false", "--ftz=false", "--std=c++17", "--ptxas-options=-v"};
    create(&program, text, "tally.cu", 0, NULL, NULL);
    int error = compile(program, sizeof options / sizeof *options, options);
    log_size(program, &bytes);
    *log = calloc(bytes + 1, 1);
    get_log(program, *log);
    destroy(&program);
    return error;
}

static tally *ctx; /* knows the operators of examples/operators */

static void try_one(const char *op, tally_dtype dtype, const char *arch, int print)
{
    static const char *const shapes[] = {"reduce", "scan", "window"};
    const tl_scalar *scalar;
    tl_par par;
    if (tl_resolve(ctx, op, dtype, &scalar, &par)) return;
    for (int s = 0; s < 3; s++) {
        char *text, what[80], *log;
        size_t length;
        snprintf(what, sizeof what, "%s %s %s %s", arch, op, tally_dtype_name(dtype), shapes[s]);
        if (!check_ok(ctx, tl_program_text(ctx, scalar, shapes[s], "device/prelude_cuda.h", NULL, &text, &length), what))
            return;
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        int error = build(text, arch, &log);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (check(error == 0, "%s: NVRTC error %d: %.800s", what, error, log))
            read_report(log, what, print, scalar->user ? USERS_SPILL : 0);
        printf("%s: %.0f ms\n", what,
               1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec));
        free(log);
        free(text);
    }
}

/* One kernel of a user's operator, as a GPU builds it: it is there, and alone. */
static void try_kernel(const char *op, tally_dtype dtype, const char *shape, const char *kernel)
{
    const tl_scalar *scalar;
    tl_par par;
    char *text, *log, what[80], entry[60];
    size_t length;
    struct timespec begin, end;
    snprintf(what, sizeof what, "%s %s kernel %s", op, tally_dtype_name(dtype), kernel);
    check_ok(ctx, tl_resolve(ctx, op, dtype, &scalar, &par), op);
    check_ok(ctx, tl_program_text(ctx, scalar, shape, "device/prelude_cuda.h", kernel, &text, &length), what);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int error = build(text, "sm_90", &log);
    clock_gettime(CLOCK_MONOTONIC, &end);
    snprintf(entry, sizeof entry, "Compiling entry function '%s'", kernel);
    const char *first = strstr(log, "Compiling entry function");
    check(error == 0 && first && strstr(log, entry) == first && !strstr(first + 1, "Compiling entry function"), "%s: NVRTC error %d: %.800s",
          what, error, log);
    printf("%s: %.0f ms\n", what,
           1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec));
    free(log);
    free(text);
}

/* What is said of a wrong text: its own name and line. */
static void try_wrong(void)
{
    static const struct {
        const char *combine, *says;
    } wrong[] = {
        {"fn state combine(state a, state b) { state r; r.s = a.s + ; return r; }\n", "wrong.h:4: expected an expression"},
        {"fn state combine(state a, state b)\n{\n    state r; r.s = plus(a.s, b.s); return r; }\n",
         "wrong.h:6: identifier \"plus\" is undefined"},
        {"fn state combine(state a, state b) { state r; r.z = a.s; return r; }\n", "wrong.h:4: class \"state\" has no member \"z\""},
        {"fn result combine(state a, state b) { return to_result(a.s); }\n", "wrong.h: the text does not fit the kernels: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char definition[2000], *text, *log;
        const tl_scalar *scalar;
        tl_par par;
        size_t length;
        snprintf(definition, sizeof definition, "%s%s%s",
                 "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n",
                 wrong[i].combine,
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n");
        check_ok(ctx, tally_define(ctx, "wrong", definition, "wrong.h"), "wrong.h");
        check_ok(ctx, tl_resolve(ctx, "wrong", TALLY_F32, &scalar, &par), "wrong");
        check_ok(ctx, tl_program_text(ctx, scalar, "reduce", "device/prelude_cuda.h", NULL, &text, &length), "its program");
        check(build(text, "sm_90", &log) != 0, "a wrong text compiles: %s", definition);
        tl_user_error(ctx, scalar->user->user, tl_first_error(log));
        check(!strncmp(tally_error(ctx), wrong[i].says, strlen(wrong[i].says)), "said '%s' instead of '%s'", tally_error(ctx),
              wrong[i].says);
        free(log);
        free(text);
    }
}

int main(int argc, char **argv)
{
    static const char *const archs[] = {"sm_80", "sm_90", "sm_100"};
    static const struct {
        const char *op;
        tally_dtype dtype;
    } few[] = {
        {"sum", TALLY_F32}, {"var", TALLY_F64}, {"argmax", TALLY_U8}, {"nanmean", TALLY_F16}, {"minmax", TALLY_I64}};
    static const char *const users[][2] = {
        {"drawdown", "f32"}, {"brackets", "i8"}, {"slope", "f64"}, {"streak", "bf16"}, {"sumsq", "i64"}};
    check_start();
    if (!open_compiler()) {
        printf("skipped: libnvrtc is not here\n");
        return SKIPPED;
    }
    ctx = check_open(1, NULL);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/examples/operators/%s.h", TALLY_SOURCE_DIR, users[i][0]);
        check_ok(ctx, tally_define_file(ctx, NULL, path), path);
    }
    if (argc > 1) {
        int count = argc > 2 ? argc - 2 : 3;
        for (const char *const *op = tally_operators(); *op; op++)
            for (int d = TALLY_I8; d <= TALLY_F64; d++)
                for (int a = 0; a < count; a++)
                    try_one(!strcmp(*op, "ema") ? "ema:0.1" : *op, (tally_dtype)d, argc > 2 ? argv[a + 2] : archs[a],
                            1);
    } else {
        for (size_t i = 0; i < sizeof few / sizeof *few; i++) try_one(few[i].op, few[i].dtype, "sm_90", 0);
        for (size_t i = 0; i < sizeof users / sizeof *users; i++) try_one(users[i][0], tally_dtype_parse(users[i][1]), "sm_90", 0);
        try_kernel("drawdown", TALLY_F32, "reduce", "once");
        try_kernel("drawdown", TALLY_F32, "reduce", "finish");
        try_kernel("drawdown", TALLY_F32, "scan", "scan_once");
        try_kernel("drawdown", TALLY_F32, "window", "window_whole");
        try_wrong();
    }
    tally_close(ctx);
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * The CUDA kernels compile, without a GPU: NVRTC (if it is here) makes machine code of every shape for each
 * architecture, and the assembler's report must show no spilled register.
 *
 *   test_nvrtc                  a few operators, sm_90
 *   test_nvrtc all [ARCH...]    every operator and type, for sm_80, sm_90 and sm_100 or those named; prints registers
 */
#include "../src/device/gpu.h"
#include "../src/operators.h"
#include "check.h"
#include <dlfcn.h>

enum { SKIPPED = 77 };
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
static void read_report(const char *log, const char *what, int print)
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
        check(spilled == 0, "%s %s: %d bytes of registers spilled", what, name, spilled);
        if (print) printf("%-40s %-12s %4d registers, %d bytes spilled\n", what, name, registers, spilled);
    }
}

static void try_one(const char *op, tally_dtype dtype, const char *arch, int print)
{
    static const char *const shapes[] = {"reduce", "scan", "window"};
    const tl_scalar *scalar;
    tl_par par;
    if (tl_resolve(NULL, op, dtype, &scalar, &par)) return;
    for (int s = 0; s < 3; s++) {
        char *text, option[40], what[80], *log;
        size_t length, bytes = 0;
        void *program;
        snprintf(what, sizeof what, "%s %s %s %s", arch, op, tally_dtype_name(dtype), shapes[s]);
        if (!check_ok(NULL, tl_program_text(NULL, scalar, shapes[s], "device/prelude_cuda.h", &text, &length), what))
            return;
        snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
        const char *options[] = {option, "--fmad=false", "--ftz=false", "--std=c++17", "--ptxas-options=-v"};
        create(&program, text, "tally.cu", 0, NULL, NULL);
        int error = compile(program, sizeof options / sizeof *options, options);
        log_size(program, &bytes);
        log = calloc(bytes + 1, 1);
        get_log(program, log);
        if (check(error == 0, "%s: NVRTC error %d: %.800s", what, error, log)) read_report(log, what, print);
        free(log);
        free(text);
        destroy(&program);
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
    check_start();
    if (!open_compiler()) {
        printf("skipped: libnvrtc is not here\n");
        return SKIPPED;
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
    }
    return check_finish();
}

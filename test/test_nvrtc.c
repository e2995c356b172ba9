/* SPDX-License-Identifier: MIT
 * The CUDA kernels compile, without a GPU: NVRTC (if it is here) makes machine code of every shape for each
 * architecture, and the assembler's report must show no spilled register.
 *
 *   test_nvrtc                       a few operators, sm_90
 *   test_nvrtc common|all [ARCH...]  the set of src/common.def, or every operator and type, and the probe's programs,
 * for sm_80, sm_90 and sm_100 or those named; prints registers and spills of every kernel
 */
#include "../src/device/gpu.h"
#include "../src/device/nvrtc.h"
#include "../src/operators.h"
#include "check.h"

enum { SKIPPED = 77 };

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

static void try_shape(const tl_scalar *scalar, const char *op, const char *shape, const char *arch, int print)
{
    char *text, what[80], *log;
    void *code;
    size_t length, bytes;
    snprintf(what, sizeof what, "%s %s %s %s", arch, op, tally_dtype_name(scalar->dtype), shape);
    if (!check_ok(NULL, tl_program_text(NULL, scalar, shape, "device/prelude_cuda.h", &text, &length), what)) return;
    if (check_ok(NULL, tl_nvrtc_compile(NULL, text, arch, "--ptxas-options=-v", &code, &bytes, &log), what))
        read_report(log ? log : "", what, print);
    free(code);
    free(log);
    free(text);
}

static void try_one(const char *op, tally_dtype dtype, const char *shape, const char *arch, int print)
{
    static const char *const shapes[] = {"reduce", "scan", "window"};
    const tl_scalar *scalar;
    tl_par par;
    if (tl_resolve(NULL, !strcmp(op, "ema") ? "ema:0.1" : op, dtype, &scalar, &par)) return;
    for (int s = 0; s < 3; s++)
        if (!shape || !strcmp(shape, shapes[s])) try_shape(scalar, op, shapes[s], arch, print);
    if (shape && !strcmp(shape, "law")) try_shape(scalar, op, shape, arch, print);
}

static void try_set(int all, const char *arch)
{
#define COMMON_OPERATOR(name) name,
    static const char *const common[] = {
#include "../src/common.def"
        NULL};
    static const char *const is_common[TALLY_F64 + 1] = {
#define COMMON_DTYPE(dtype) [TALLY_##dtype] = "",
#include "../src/common.def"
    };
    for (const char *const *op = all ? tally_operators() : common; *op; op++)
        for (int d = TALLY_I8; d <= TALLY_F64; d++)
            if (all || is_common[d]) try_one(*op, (tally_dtype)d, NULL, arch, 1);
#define PROGRAM(op, dtype, shape)                                                                                      \
    if (!strcmp(shape, "law")) try_one(op, TALLY_##dtype, shape, arch, 1);
#include "../src/probe.def"
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
    if (!tl_nvrtc_open(NULL)) {
        printf("skipped: libnvrtc is not here\n");
        return SKIPPED;
    }
    if (argc > 1) {
        for (int a = 0; a < (argc > 2 ? argc - 2 : 3); a++)
            try_set(!strcmp(argv[1], "all"), argc > 2 ? argv[a + 2] : archs[a]);
    } else {
        for (size_t i = 0; i < sizeof few / sizeof *few; i++) try_one(few[i].op, few[i].dtype, NULL, "sm_90", 0);
    }
    return check_finish();
}

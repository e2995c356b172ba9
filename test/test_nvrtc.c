/* SPDX-License-Identifier: MIT
 * The CUDA kernels compile, without a GPU: NVRTC (if it is here) makes machine code of every
 * shape for each architecture, and the assembler's report must show no spilled register.
 *
 *   test_nvrtc                       one of a few operators, and the other programs, with every
 *                                    second shape, and one of examples/operators, by the seed
 *                                    (TALLY_TEST_LONG: all of them), what is said of wrong ones;
 *                                    sm_90
 *   test_nvrtc one OPERATOR TYPE [SHAPE]    prints as the next one; "marked nanmean": the form
 *                                           of marked elements
 *   test_nvrtc common|all [ARCH...]  the set of cmake/embedded.h, or every operator and
 *                                    type, and the probe's programs, for sm_80, sm_90 and sm_100
 *                                    or the named ones; prints the registers and the spills of
 *                                    every kernel */
#include "../cmake/embedded.h"
#include "gpu/cuda/cuda.h"
#include "context/context.h"
#include "context/user.h"
#include "check.h"
#include <dlfcn.h>

/* Bytes: the states of users, and of what the recorded sets hold, may be larger than the kernels
   were tuned for. */
enum {
    SKIPPED = 77,
    SPILL_MOST = 80,
    BYTES_SCAN_SPILL_MOST = 96,
    WORDS_SPILL_MOST = 4,
    SHORTS_SPILL_MOST = 48, /* short_columns, which is faster so than with more registers */
    PAIRS_SPILL_MOST = 320
};
/* Of large states: their scans in one launch are faster with two groups that spill than with one
 * (tl_gpu_once_blocks).
 */
enum { LARGE = 8, LARGE_SCAN_SPILL_MOST = 384 };

/* The number before `words`, in the report from `at` on; -1: there is none. */
static int number_before(const char *at, const char *words)
{
    const char *number = strstr(at, words);
    if (!number) return -1;
    while (number > at && number[-1] != ' ') number--;
    return atoi(number);
}

/* The registers of each kernel in the assembler's report; a stack frame is allowed (columns has
 * one), but for the kernels of fields, which have none: there it is an array in local memory.
 * Spills are not. */
static void read_report(const char *log, const char *what, int print, int allowed)
{
    static const char entry[] = "Compiling entry function '";
    for (const char *at = log; (at = strstr(at, entry)); at += sizeof entry) {
        char name[32] = "";
        int registers = 0;
        const char *const used = strstr(at, "Used ");
        const int spilled = number_before(at, " bytes spill stores"),
                  frame = number_before(at, " bytes stack frame");
        sscanf(at + sizeof entry - 1, "%31[^']", name);
        if (used) sscanf(used, "Used %d", &registers);
        check(spilled >= 0 && used, "%s %s: no report", what, name);
        check(spilled <= allowed, "%s %s: %d bytes of registers spilled", what, name, spilled);
        check(frame == 0 || strncmp(name, "grid_", 5) != 0, "%s %s: %d bytes of local memory", what,
              name, frame);
        if (print)
            printf("%-40s %-12s %4d registers, a frame of %d bytes, %d bytes spilled\n", what, name,
                   registers, frame, spilled);
    }
}

static tally *ctx; /* knows the operators of examples/operators */

/* Compiles a program as the library does and says how long it took; *log is the caller's. */
static tally_status build(const tl_scalar *op, const char *shape, const char *kernel,
                          const char *arch, const char *what, char **log)
{
    char *text;
    void *code;
    size_t length, bytes;
    struct timespec begin, end;
    *log = NULL;
    const char *const in_place =
        strstr(shape, "_two") ? strstr(shape, "_two") : strstr(shape, "_bits");
    char base[40];
    snprintf(base, sizeof base, "%.*s", (int)(in_place ? in_place - shape : 39), shape);
    const tl_text of = {op, base, CUDA_PRELUDE, kernel,
                        !in_place            ? TL_ONE_INPUT
                        : in_place[1] == 't' ? TL_TWO_INPUTS
                                             : TL_BITMAPS};
    tally_status status = tl_program_text(ctx, &of, &text, &length);
    if (status) return status;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    const tl_nvrtc_job job = {.text = text,
                              .arch = arch,
                              .wish = op->user ? tl_nvrtc_quick : NULL,
                              .more = "--ptxas-options=-v",
                              .log = log};
    status = tl_nvrtc_compile(ctx, &job, &code, &bytes);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("%s: %.0f ms of processor time\n", what,
           1e3 * (double)(end.tv_sec - begin.tv_sec) +
               1e-6 * (double)(end.tv_nsec - begin.tv_nsec));
    free(code);
    free(text);
    return status;
}

static void try_shape(const tl_scalar *scalar, const char *op, const char *shape, const char *arch,
                      int print)
{
    char what[80], *log;
    snprintf(what, sizeof what, "%s %s %s %s", arch, op, tally_dtype_name(scalar->dtype), shape);
    /* exact: the registers of far values, six of 8 bytes, which few lanes need. window_table, walks
     * and scans of bytes were timed with what they spill (bench/results/2026-11-26-h200.txt,
     * -windows.txt); so was scan_down of 4 bytes an element, whose 64 rows are faster than 32,
     * and short_columns of large states (bench/tried.md) */
    const int some = scalar->user || print || !strcmp(shape, "exact") ||
                     !strcmp(shape, "window_table") || !strncmp(shape, "window_walk", 11) ||
                     !strncmp(shape, "window_last", 11) || !strncmp(shape, "window_nodes", 12),
              large = tl_gpu_state_bytes(scalar) > LARGE, scan = !strcmp(shape, "scan"),
              most = scalar->inputs == 2               ? PAIRS_SPILL_MOST
                     : scan && scalar->elem_bytes == 1 ? BYTES_SCAN_SPILL_MOST
                                                       : SPILL_MOST;
    if (check_ok(ctx, build(scalar, shape, NULL, arch, what, &log), what))
        read_report(log ? log : "", what, print,
                    large && scan ? LARGE_SCAN_SPILL_MOST
                    : some        ? most
                    : scalar->elem_bytes == 4 && (scan || (large && !strcmp(shape, "reduce")))
                        ? WORDS_SPILL_MOST
                    : scalar->elem_bytes <= 2 && !strcmp(shape, "reduce") ? SHORTS_SPILL_MOST
                                                                          : 0);
    free(log);
}

/* Of every four shapes this one: the seed's. */
static int quarter;

static void try_one(const char *op, tally_dtype dtype, const char *shape, const char *arch,
                    int print)
{
    const tl_scalar *scalar;
    tl_par par;
    char name[64], parameter[TL_SAMPLE_BYTES];
    const int marked = !strncmp(op, "marked ", 7); /* a nan form that leaves out the mark */
    if (marked) op += 7;
    snprintf(name, sizeof name, "%s%s", op, tl_sample_parameter(op, parameter));
    if (tl_resolve(ctx, name, dtype, &scalar, &par)) return;
    const tl_scalar variant = tl_gpu_variant_of(scalar, marked);
    const tl_scalar *const of = scalar->inputs == 2 || marked ? &variant : scalar;
    if (shape) try_shape(of, op, shape, arch, print);
    for (int s = 0; !shape && s < EMBEDDED_SHAPES; s++)
        if ((check_long || print || s % 4 == quarter) && has_shape(scalar, embedded_shapes[s]))
            try_shape(of, op, embedded_shapes[s], arch, print);
}

/* One kernel of a user's operator, as a GPU builds it: it is there, and alone. */
static void try_kernel(const char *op, tally_dtype dtype, const char *shape, const char *kernel)
{
    const tl_scalar *scalar;
    tl_par par;
    char *log, what[80], entry[60];
    static const char entries[] = "Compiling entry function";
    snprintf(what, sizeof what, "%s %s kernel %s", op, tally_dtype_name(dtype), kernel);
    if (!check_ok(ctx, tl_resolve(ctx, op, dtype, &scalar, &par), op)) return;
    if (check_ok(ctx, build(scalar, shape, kernel, "sm_90", what, &log), what)) {
        snprintf(entry, sizeof entry, "%s '%s'", entries, kernel);
        const char *first = log ? strstr(log, entries) : NULL;
        check(first && !strncmp(first, entry, strlen(entry)) && !strstr(first + 1, entries),
              "%s: compiled: %.800s", what, log ? log : "");
    }
    free(log);
}

/* What is said of a wrong text: its own name and line. */
static void try_wrong(void)
{
    static const struct {
        const char *combine, *says;
    } wrong[] = {
        {"fn state combine(state a, state b) { state r; r.s = a.s + ; return r; }\n",
         "wrong.h:4: expected an expression"},
        {"fn state combine(state a, state b)\n{\n    state r; r.s = plus(a.s, b.s); return r; }\n",
         "wrong.h:6: identifier \"plus\" is undefined"},
        {"fn state combine(state a, state b) { state r; r.z = a.s; return r; }\n",
         "wrong.h:4: class \"state\" has no member \"z\""},
        {"fn result combine(state a, state b) { return to_result(a.s); }\n",
         "wrong.h: the text does not fit the kernels: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char definition[2000], message[600], *log;
        const tl_scalar *scalar;
        tl_par par;
        snprintf(definition, sizeof definition, "%s%s%s",
                 "#define OP_STATE(F) F(real, s)\ntypedef struct { OP_STATE(FIELD) } state;\n"
                 "fn state lift(elem x, idx i, par p) { state r; r.s = to_real(x); return r; }\n",
                 wrong[i].combine,
                 "fn result lower(state a, real n, idx first, par p) { return to_result(a.s); }\n"
                 "fn result empty(par p) { return to_result(num(0.0)); }\n");
        check_ok(ctx, tally_define(ctx, "wrong", definition, "wrong.h"), "wrong.h");
        check_ok(ctx, tl_resolve(ctx, "wrong", TALLY_F32, &scalar, &par), "wrong");
        check(build(scalar, "reduce", "reduce_single", "sm_90", "a wrong text", &log) ==
                  TALLY_BAD_DATA,
              "a wrong text compiles: %s", definition);
        snprintf(message, sizeof message, "%s", tally_error(ctx));
        tl_user_error(ctx, scalar->user->user, message);
        check(!strncmp(tally_error(ctx), wrong[i].says, strlen(wrong[i].says)),
              "said '%s' instead of '%s'", tally_error(ctx), wrong[i].says);
        free(log);
    }
}

/* An option that this NVRTC does not know: left out if it was a wish, refused if not. */
static void try_wish(void)
{
    static const char option[] = "--no-such-option=1",
                      text[] = "extern \"C\" __global__ void k() {}\n";
    void *code;
    size_t bytes = 0;
    tl_nvrtc_job job = {.text = text, .arch = "sm_90", .wish = option};
    check_ok(ctx, tl_nvrtc_compile(ctx, &job, &code, &bytes), "a wish not granted");
    check(code && bytes > 0, "%zu bytes of code", bytes);
    free(code);
    job = (tl_nvrtc_job){.text = text, .arch = "sm_90", .more = option};
    check(tl_nvrtc_compile(ctx, &job, &code, &bytes) == TALLY_NO_DEVICE && !code &&
              strstr(tally_error(ctx), "no-such-option"),
          "an unknown option: '%s'", tally_error(ctx));
    const atomic_int stop = 1; /* before it begins; an NVRTC that cannot be stopped goes on */
    job = (tl_nvrtc_job){.text = text, .arch = "sm_90", .stop = &stop};
    const tally_status status = tl_nvrtc_compile(ctx, &job, &code, &bytes);
    const int stops = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD) != NULL;
    check(stops ? status == TALLY_NO_DEVICE && !code : !status, "stopped: %d", (int)status);
    free(code);
}

static void try_set(int all, const char *arch)
{
    for (int i = 0; !all && i < COMMON_OPERATORS; i++)
        for (int d = 0; d < COMMON_DTYPES; d++)
            try_one(common_operators[i], common_dtypes[d], NULL, arch, 1);
    for (const char *const *op = tally_operators(); all && *op; op++)
        for (int d = TALLY_I8; d <= TALLY_F64; d++) {
            char marked[64];
            try_one(*op, (tally_dtype)d, NULL, arch, 1);
            if (d < TALLY_F16 || strncmp(*op, "nan", 3)) continue;
            snprintf(marked, sizeof marked, "marked %s", *op);
            try_one(marked, (tally_dtype)d, NULL, arch, 1);
        }
#define PROGRAM(op, dtype, shape) \
    if (!strcmp(shape, "law")) try_one(op, TALLY_##dtype, shape, arch, 1);
#include "api/probe.def"
}

int main(int argc, char **argv)
{
    static const char *const archs[] = {"sm_80", "sm_90", "sm_100"};
    static const struct {
        const char *op;
        tally_dtype dtype;
    } few[] = {{"sum", TALLY_F32}, {"argmax", TALLY_U8}, {"nanlast", TALLY_F32}};
    static const struct {
        const char *op;
        tally_dtype dtype;
        const char *shape;
    } others[] = {{"sum:exact", TALLY_F32, "exact"},
                  {"dot:exact", TALLY_F64, "exact"},
                  {"count", TALLY_F32, "prepare"},
                  {"dot", TALLY_F32, "reduce_two"},
                  {"marked nanmean", TALLY_F64, "reduce_bits"},
                  {"count", TALLY_U8, "keys"},
                  {"var", TALLY_F64, "grid"}};
    static const char *const users[][2] = {
        {"descent", "f32"}, {"brackets", "i8"}, {"trend", "f64"}, {"streak", "bf16"}};
    check_start();
    if (!tl_nvrtc_open(NULL)) {
        printf("skipped: libnvrtc is not here\n");
        return SKIPPED;
    }
    ctx = check_open(1, NULL);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/examples/operators/%s.h", TALLY_SOURCE_DIR, users[i][0]);
        check_ok(ctx, tally_define_file(ctx, NULL, path), path);
    }
    if (argc > 3 && !strcmp(argv[1], "one")) {
        try_one(argv[2], tally_dtype_parse(argv[3]), argc > 4 ? argv[4] : NULL, "sm_90", 1);
    } else if (argc > 1) {
        for (int a = 0; a < (argc > 2 ? argc - 2 : 3); a++)
            try_set(!strcmp(argv[1], "all"), argc > 2 ? argv[a + 2] : archs[a]);
    } else {
        static const char *const shapes[] = {"reduce", "scan", "window"};
        const size_t first = (size_t)check_below(3); /* of few, unless scripts/test long */
        quarter = (int)check_below(4);
        for (size_t i = 0; i < sizeof few / sizeof *few; i++)
            if (check_long || i == first) try_one(few[i].op, few[i].dtype, NULL, "sm_90", 0);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (check_long || (int)(i % 4) == quarter || !strcmp(others[i].shape, "grid"))
                try_one(others[i].op, others[i].dtype, others[i].shape, "sm_90", 0);
        /* the seed's; all in scripts/test long */
        const size_t one = (size_t)check_below(sizeof users / sizeof *users);
        for (size_t i = 0; i < sizeof users / sizeof *users; i++)
            if (check_long || i == one)
                try_one(users[i][0], tally_dtype_parse(users[i][1]),
                        check_long ? NULL : shapes[check_below(3)], "sm_90", 0);
        try_kernel("descent", TALLY_F32, "reduce", "reduce_single");
        try_kernel("descent", TALLY_F32, "reduce", "finish");
        try_kernel("descent", TALLY_F32, "scan", "scan_single");
        try_kernel("descent", TALLY_F32, "window", "window_tile");
        try_wrong();
        try_wish();
    }
    tally_close(ctx);
    return check_finish();
}

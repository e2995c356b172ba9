/* SPDX-License-Identifier: MIT
 * The ladder's kernels compile for CUDA, without a GPU: NVRTC (if it is here) takes every rung
 * for sm_90, each for some of the element types and operations: a few always, of the others half,
 * by the seed. Together they go through every branch of ladder/prelude.h. */
#include "check.h"
#include "kernels.h"
#include <dlfcn.h>

enum { SKIPPED_HERE = 77 };
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
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library) return 0;
    *(void **)&create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&get_log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&destroy = dlsym(library, "nvrtcDestroyProgram");
    return create && compile && log_size && get_log && destroy;
}

static void try_one(const char *path, const char *text, int threads, kind k, int operation)
{
    static const char *const options[] = {"--gpu-architecture=sm_90", "--fmad=false", "--ftz=false",
                                          "--std=c++17"};
    const model_setting setting = {k, operation, threads, 32, 32};
    size_t length, bytes = 0;
    void *unit;
    char *whole = program_text(&setting, "gpu/cuda/prelude_cuda.h", text, path, &length);
    if (!check(whole != NULL, "out of memory")) return;
    create(&unit, whole, "ladder.cu", 0, NULL, NULL);
    const int error = compile(unit, sizeof options / sizeof *options, options);
    log_size(unit, &bytes);
    char *log = calloc(bytes + 1, 1);
    get_log(unit, log);
    check(error == 0, "%s %s operation %d: NVRTC error %d: %.800s", path, kind_name(k), operation,
          error, log);
    free(log);
    free(whole);
    destroy(&unit);
}

static int has_turn(void) { return check_long || check_below(2); }

/* A reader's text in CUDA or OpenCL, as it was translated. */
static void translated(const char *name, char *text)
{
    const ladder_options plain = {.n = -1, .width = 50, .warp = 32, .banks = 32};
    student s;
    ladder_error error = {0};
    if (!check(!student_take(&plain, name, text, NULL, &s, &error), "%s", error.sentence)) return;
    const kind one = s.fixed ? s.kind : check_below(2) ? KIND_I64 : KIND_F32;
    try_one(s.name, s.text, s.rung.threads, one, 0);
    if (!s.fixed && check_long)
        try_one(s.name, s.text, s.rung.threads, one == KIND_F32 ? KIND_I64 : KIND_F32, 0);
    student_close(&s);
}

static int is_cuda(const char *name)
{
    const char *const ending = strrchr(name, '.');
    return ending && !strcmp(ending, ".cu");
}

/* The answers to the assignments that are CUDA texts: sections of examples/answers.txt. */
static void of_answers(int want)
{
    int seen = 0;
    ladder_error error = {0};
    char *const all = read_text(TALLY_SOURCE_DIR "/ladder/examples/answers.txt", &error);
    check(all != NULL, "%s", error.sentence);
    for (char *at = all, *next; at; at = next) {
        char name[100];
        next = strstr(at, "\n==== ");
        if (next) *next++ = 0;
        if (!check(sscanf(at, "==== %99s", name) == 1, "no section: %.40s", at)) break;
        if (!is_cuda(name)) continue;
        translated(name, strdup(strchr(at, '\n') + 1));
        seen++;
    }
    free(all);
    check(seen == want, "%d texts instead of %d", seen, want);
}

/* Wrong kernels compile too. idiom_...: those of right.txt with one mistake. */
static void of_packs(void)
{
    int right = 0, wrong = 0;
    for (size_t i = 0; i < sizeof kernel_files / sizeof *kernel_files; i++) {
        kernel_file f;
        kernel_text k;
        if (!kernels_open(&f, kernel_files[i])) return;
        while (kernels_next(&f, &k))
            if (i && (!strncmp(k.name, "idiom_", 6) ||
                      (!is_cuda(k.name) && !strstr(k.name, "opencl")))) {
                free(k.text);
            } else {
                *(i ? &wrong : &right) += 1;
                translated(k.name, k.text);
            }
        kernels_close(&f);
    }
    check(right >= 20 && wrong >= 5, "%d and %d texts", right, wrong);
}

int main(void)
{
    check_start();
    if (!open_compiler()) {
        printf("skipped: libnvrtc is not here\n");
        return SKIPPED_HERE;
    }
    int turn = 0;
    for (const rung *g = ladder_table; g->name; g++) {
        char path[80];
        const char *const text = rung_text(g, path, sizeof path);
        if (g->schedule <= LIBRARY) continue;
        const int all = g->schedule == ATOMIC; /* the most branches of the prelude */
        for (int k = 0; k < KINDS; k++)
            for (int operation = 0; operation < 3; operation++)
                if (!takes_kind(g->shape, (kind)k) &&
                    (g->shape == SHAPE_histogram || is_small((kind)k)))
                    continue;
                else if ((k == (g->shape == SHAPE_histogram ? KIND_I32 : KIND_F32) &&
                          operation == 0) ||
                         ((all || turn++ % 17 == 0 || (k == KIND_U8 && operation == 0)) &&
                          has_turn()))
                    try_one(path, text, g->threads, (kind)k, operation);
    }
    try_one("support.cl", ladder_text("support.cl"), 256, KIND_F32, 0);
    try_one("support.cl", ladder_text("support.cl"), 256, KIND_I64, 2);
    of_packs();
    of_answers(5);
    return check_finish();
}

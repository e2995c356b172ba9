/* SPDX-License-Identifier: MIT
 * tally ladder export RUNG: the rung as one file that compiles, runs and checks itself:
 *
 *   what is folded      the element type, the operation, sizes
 *   the accelerator     ladder/host/c_cuda.txt, opencl.txt: choosing it, arrays, copies in,
 *                       partial copies out
 *   the kernel          the rung's text in the API's words (words.c)
 *   how the host runs it   ladder/host/schedules.txt, its launches spelled out
 *   main                ladder/host/mains.txt: data with an exact result, the check */
#include "export.h"
#include <stdlib.h>
#include <string.h>

static const char *host_part(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "host/%s.txt", name);
    const char *const text = ladder_text(path);
    return text ? text : "";
}

static const char *schedule_name(const rung *g)
{
    static const char *const names[] = {[HALVES] = "halves",       [EIGHTHS] = "eighths",
                                        [TILES] = "tiles",         [LEVELS] = "tiles",
                                        [STRIDES] = "strides",     [ATOMIC] = "atomic",
                                        [ONCE] = "once",           [RECURSE] = "recurse",
                                        [LOOKBACK] = "lookback",   [POLL] = "poll",
                                        [WINDOW] = "window",       [DIFFERENCE] = "difference",
                                        [TRANSPOSE] = "transpose", [HISTOGRAM] = "histogram",
                                        [SEGMENTS] = "segments",   [COOPERATIVE] = "cooperative"};
    static const char *const library[SHAPES] = {"library_reduce", "library_scan", "library_window",
                                                "", ""};
    if (g->schedule == LIBRARY) return library[g->shape];
    return (size_t)g->schedule < sizeof names / sizeof *names ? names[g->schedule] : NULL;
}

/* The loop that a .txt file shows, as a function. */
static void put_loop(FILE *f, const char *text)
{
    const char *const loop = strstr(text, "\n\n");
    if (strstr(text, "#pragma omp"))
        fprintf(
            f, "#pragma omp declare reduction(combine : elem : omp_out = combine(omp_out, omp_in)) "
               "initializer(omp_priv = NEUTRAL)\n");
    fprintf(f, "static elem run(array x, int64_t n)\n{\n%s    return sum;\n}\n",
            loop ? loop + 2 : "");
}

void export_schedule(FILE *f, const rung *g, api a)
{
    char path[80];
    const char *const name = schedule_name(g);
    if (!name) {
        const char *const text = rung_text(g, path, sizeof path);
        put_loop(f, text ? text : "");
        return;
    }
    if (g->schedule == DIFFERENCE) {
        words_host(f, a, host_part("recurse"));
        fputc('\n', f);
    }
    words_host(f, a, host_part(name));
}

/* The largest N whose sums are exact, whatever the order. */
static long long most_of(kind k, int operation)
{
    if (operation) return 1 << 28;
    return k == KIND_F32 ? 1 << 17 : kind_bytes(k) <= 4 ? 1 << 24 : 1 << 28;
}

/* what the settings of a text say, by operation, by kind, by API */
static const char *const does[] = {"a + b", "a < b ? a : b", "b < a ? a : b"},
                         *const operations[] = {"sum", "min", "max"};
static const char *const low[] = {"(-128)",
                                  "0",
                                  "(-32768)",
                                  "0",
                                  "(-2147483647 - 1)",
                                  "0u",
                                  "(-9223372036854775807ll - 1)",
                                  "0ull",
                                  "-INFINITY",
                                  "-INFINITY"};
static const char *const high[] = {"127",
                                   "255",
                                   "32767",
                                   "65535",
                                   "2147483647",
                                   "0xffffffffu",
                                   "9223372036854775807ll",
                                   "0xffffffffffffffffull",
                                   "INFINITY",
                                   "INFINITY"};
static const char *const dtypes[] = {"TALLY_I8",  "TALLY_U8",  "TALLY_I16", "TALLY_U16",
                                     "TALLY_I32", "TALLY_U32", "TALLY_I64", "TALLY_U64",
                                     "TALLY_F32", "TALLY_F64"};
static const char *const includes[APIS] = {
    "#include <cuda_runtime.h>\n", "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n",
    "#include <omp.h>\n"};

static void put_settings(FILE *f, const rung *g, api a, const model_setting *s)
{
    const kind k = s->elem;
    const int operation = s->operation;
    fprintf(f,
            "%s#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include "
            "<stdlib.h>\n#include <string.h>\n#include <time.h>\n%s\n",
            is_host(g) && g->schedule != OPENMP ? "" : includes[a],
            g->schedule == LIBRARY ? "#include <tally.h>\n" : "");
    if (g->schedule < LIBRARY) fprintf(f, "typedef int64_t i64;\n");
    fprintf(f, "typedef %s elem;\n#define NAME \"%s/%s\"\n#define NEUTRAL ((elem)%s)\n",
            words_type(a, k), shape_name(g->shape), g->name,
            !operation       ? "0"
            : operation == 1 ? high[k]
                             : low[k]);
    if (!is_host(g))
        fprintf(f,
                "#define THREADS %d /* of a group */\n#define EACH %d /* elements of a group; 0: "
                "it strides over all */\n#define WARP 32\n",
                g->threads, g->each);
    if (g->schedule == TILES || g->schedule == LEVELS)
        fprintf(f, "#define ENOUGH %d /* results that need no further launch */\n",
                g->schedule == TILES ? g->threads : 1);
    if (g->schedule == TRANSPOSE) fprintf(f, "#define SIDE_OF_TILE 32\n");
    fprintf(f, "#define MOST %lld /* every sum of so many elements is exact */\n",
            most_of(k, operation));
    const int wide = operation == 0 && k < KIND_F32; /* the library's sums */
    if (g->schedule == LIBRARY)
        fprintf(f,
                "#define DTYPE %s\n#define SUM_DTYPE %s\n#define OPERATION_NAME \"%s\"\n#define "
                "WIDENS %d\n",
                dtypes[k], wide ? dtypes[has_sign(k) ? KIND_I64 : KIND_U64] : dtypes[k],
                operations[operation], wide);
    if (g->note == INEXACT)
        fprintf(f, "#define LARGE ((elem)1e16) /* one element of the data */\n");
    fprintf(f, "#define RUNS %d /* that are timed */\n", a == API_C && !is_host(g) ? 1 : 11);
    fprintf(f, "static%s inline elem combine(elem a, elem b) { return %s; }\n\n",
            a == API_CUDA ? " __host__ __device__" : "", does[operation]);
}

/* Lines as the pieces of one C string. */
static void put_quoted(FILE *f, const char *text)
{
    fprintf(f, "static const char *kernels =");
    while (*text) {
        fprintf(f, "\n    \"");
        for (; *text && *text != '\n'; text++) {
            if (*text == '"' || *text == '\\') fputc('\\', f);
            fputc(*text, f);
        }
        fprintf(f, "\\n\"");
        text += *text != 0;
    }
    fprintf(f, ";\n\n");
}

static int put_kernels(FILE *f, const rung *g, api a, const model_setting *s, const char *text,
                       ladder_error *error)
{
    char *quoted = NULL;
    size_t length;
    FILE *const to = a == API_OPENCL ? open_memstream(&quoted, &length) : f;
    if (!to) return fail_with(error, 1, "out of memory");
    words_before_kernel(to, a, s, g, text);
    words_kernel(to, a, text);
    if (a != API_OPENCL) return 0;
    fclose(to);
    if (!quoted) return fail_with(error, 1, "out of memory");
    put_quoted(f, quoted);
    free(quoted);
    return 0;
}

static void put_head(FILE *f, const rung *g, api a, const model_setting *s, const char *text)
{
    char line[300];
    static const char *const endings[APIS] = {"cu", "c", "c"}, *const names[APIS] = {"CUDA",
                                                                                     "OpenCL", "C"};
    static const char *const needs[APIS] = {
        "nvcc: Debian's and Ubuntu's package nvidia-cuda-toolkit, or NVIDIA's CUDA Toolkit",
        ("the packages ocl-icd-opencl-dev and opencl-headers, and a driver: that of the GPU, or "
         "pocl-opencl-icd for the processors"),
        "gcc with its libgomp"};
    const int bulk = a == API_CUDA && strstr(text, "bulk_copy(") != NULL;
    const int few = (a == API_C && !is_host(g)) || most_of(s->elem, s->operation) < 10000000;
    const int n = few ? 100000 : 10000000;
    static const char *const builds[APIS] = {"nvcc -O3", "gcc -O2 -ffp-contract=off",
                                             "gcc -O2 -ffp-contract=off -fopenmp"},
                             *const links[APIS] = {"", " -lOpenCL -lm", " -lm"};
    head_line(text, "teaches", line, sizeof line);
    fprintf(f,
            "/* %s/%s of the teaching ladder of tally, as a program in %s.\n * It teaches: %s\n "
            "*\n *   %s%s %s.%s -o %s%s%s && ./%s %d\n *\n * It needs %s.\n",
            shape_name(g->shape), g->name, names[a], line, builds[a], bulk ? " -arch=sm_90" : "",
            g->name, endings[a], g->name, g->schedule == LIBRARY ? " -ltally" : "", links[a],
            g->name, n, g->schedule == LIBRARY ? "libtally (cmake --install of tally)" : needs[a]);
    if (g->note == RACY)
        fprintf(f, " *\n * It has a race, on purpose: do not copy it. Its check may say WRONG.\n");
    if (g->note == INEXACT)
        fprintf(f, " *\n * It is wrong on purpose: one element is large, and the windows behind it "
                   "are off. It says WRONG.\n");
    fprintf(f, " */\n");
}

int export_program(FILE *f, const rung *g, api a, const model_setting *s, int host_only,
                   ladder_error *error)
{
    char path[80], name[40];
    const char *const text = rung_text(g, path, sizeof path);
    int code = 0;
    if (is_host(g) && a != API_C)
        return fail_with(
            error, 2, "'%s/%s' has no kernel, so there is no program of it in %s: --to c has one",
            shape_name(g->shape), g->name, api_name(a));
    if (g->schedule == COOPERATIVE && a == API_OPENCL)
        return fail_with(
            error, 2,
            "'%s/%s' has no program in OpenCL: its groups wait for each other, and OpenCL does not "
            "promise that all of them run at the same time. --to cuda has one",
            shape_name(g->shape), g->name);
    if (!takes_kind(g->shape, s->elem)) return refused_kind(g->shape, kind_name(s->elem), error);
    if (!host_only) {
        put_head(f, g, a, s, text);
        put_settings(f, g, a, s);
        if (a == API_OPENCL) code = put_kernels(f, g, a, s, text, error);
    }
    fprintf(f, "%s\n%s\n", host_part("clock"), host_part(api_name(a)));
    if (!host_only && a != API_OPENCL && !is_host(g)) {
        fprintf(f, "/* ---- the kernel ---- */\n\n");
        code = put_kernels(f, g, a, s, text, error);
    }
    fprintf(f, "\n/* ---- how the host runs it ---- */\n\n");
    export_schedule(f, g, a);
    snprintf(name, sizeof name, "main_%s",
             g->schedule == SEGMENTS ? "segments" : shape_name(g->shape));
    fprintf(f, "\n");
    words_host(f, a, host_part(name));
    return code;
}

int ladder_export(const ladder_options *o, const char *name, FILE *out, ladder_error *error)
{
    const rung *const g = find_rung(NULL, name);
    kind k = g && g->shape == SHAPE_window ? KIND_F32 : KIND_I32;
    api a = API_CUDA;
    int operation = 0;
    if (!g)
        return fail_with(error, 2,
                         "there is no rung '%s'; `tally ladder --runs 0 --device model` lists them",
                         name);
    if (o->to && !api_parse(o->to, &a))
        return fail_with(error, 2, "--to is '%s' and must be cuda, opencl or c", o->to);
    if (!o->to && is_host(g)) a = API_C;
    if (o->dtype && !kind_parse(o->dtype, &k))
        return fail_with(error, 2, "the ladder has no dtype '%s'; choices: " KIND_CHOICES,
                         o->dtype);
    for (int i = 0; i < 3; i++)
        if (o->operation && !strcmp(o->operation, operations[i])) operation = i;
    const model_setting s = {k, operation, g->threads, 32, 32};
    saving to;
    int code = save_begin(&to, o->output, out, error);
    if (!code) code = export_program(to.f, g, a, &s, o->host, error);
    return save_end(&to, code, out, error);
}

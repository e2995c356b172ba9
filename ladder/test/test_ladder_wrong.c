/* SPDX-License-Identifier: MIT
 * What `tally ladder try` must catch, and what it must not: every kernel of ladder/test/wrong
 * has one mistake, and its section says which complaint names it; every rung that is right
 * has none. Then the limits of the model's reader. With a kernel's name: prints its text. */
#include "check.h"
#include "ceiling.h"
#include "foreign.h"
#include "kernels.h"

static const ladder_options plain = {.n = -1, .width = 50, .warp = 32, .banks = 32, .columns = 80};
static const char *const kinds[] = {"values",  "race",    "bounds", "unset",
                                    "barrier", "endless", "align"};

static char *copy_of(const char *text)
{
    char *out = strdup(text);
    if (!out) exit(1);
    return out;
}

static int opened(const kernel_text *k, student *s)
{
    ladder_error error = {0};
    return check(!student_take(&plain, k->name, k->text, NULL, s, &error), "%s: %s", k->name,
                 error.sentence);
}

static int is_expected(const kernel_text *k, const complaint *c)
{
    return !strcmp(kinds[c->defect], k->kind) && c->line == k->line && strstr(c->text, k->words);
}

/* A wrong value has the line of the store that wrote it, and what it looks like. Where no element
   was written there is no line. */
static int names_line_and_cause(const complaint *c)
{
    if (c->defect != DEFECT_NONE) return c->line > 0;
    return strstr(c->text, " (") && (c->line || strstr(c->text, "never written"));
}

static void wrong_kernel(const kernel_text *k)
{
    student s;
    examination e;
    ladder_error error = {0};
    if (!opened(k, &s)) return;
    const double start = clock_seconds();
    const int code = examine(&plain, &s, &e, &error);
    int found = 0;
    for (int i = 0; i < e.count; i++) found |= is_expected(k, &e.complaints[i]);
    check(!code && e.wrong && found,
          "%s: %d of %d runs wrong, and none says '%s' in line %d: %s; %s line %d: %s", k->name,
          e.wrong, e.trials, k->words, k->line, error.sentence, kinds[e.complaints[0].defect],
          e.complaints[0].line, e.complaints[0].text);
    for (int i = 0; i < e.count; i++)
        check(names_line_and_cause(&e.complaints[i]), "%s: no line, or no cause: line %d: %s",
              k->name, e.complaints[i].line, e.complaints[i].text);
    check(clock_seconds() - start < 10, "%s: %.1f s", k->name, clock_seconds() - start);
    student_close(&s);
}

/* With TALLY_TEST_QUICK one kernel of eight, which the seed picks. */
static void wrong_kernels(void)
{
    enum { COUNT = 131 };
    int seen = 0;
    for (size_t i = 1; i < sizeof kernel_files / sizeof *kernel_files; i++) {
        kernel_file f;
        kernel_text k;
        if (!kernels_open(&f, kernel_files[i])) continue;
        while (kernels_next(&f, &k))
            if (check_quick && (seen++ + check_seed) % 8) {
                free(k.text);
            } else {
                seen += !check_quick;
                wrong_kernel(&k);
            }
        kernels_close(&f);
    }
    check(seen == COUNT, "%d wrong kernels, not %d", seen, COUNT);
}

static void right_kernel(const char *name, student *s)
{
    examination e;
    ladder_error error = {0};
    const int code = examine(&plain, s, &e, &error);
    check(!code && !e.wrong && !e.count && e.trials >= 15, "%s: %d of %d runs wrong: %s %s", name,
          e.wrong, e.trials, error.sentence, e.count ? e.complaints[0].text : "");
    student_close(s);
}

static void right_rungs(void)
{
    for (const rung *g = ladder_table; g->name; g++) {
        if (is_host(g) || g->note != PLAIN || (check_quick && (g - ladder_table) % 6)) continue;
        char path[80], name[80];
        student s;
        ladder_error error = {0};
        snprintf(name, sizeof name, "%s/%s", shape_name(g->shape), g->name);
        char *const text = copy_of(rung_text(g, path, sizeof path));
        if (check(!student_take(&plain, path, text, name, &s, &error), "%s: %s", name,
                  error.sentence))
            right_kernel(name, &s);
    }
}

/* Texts in CUDA and OpenCL as textbooks have them: the model takes them, and finds nothing. */
static void right_kernels(void)
{
    enum { COUNT = 20 };
    int seen = 0;
    kernel_file f;
    kernel_text k;
    student s;
    if (!kernels_open(&f, kernel_files[0])) return;
    while (kernels_next(&f, &k))
        if (seen++ % 4 && check_quick)
            free(k.text);
        else if (opened(&k, &s))
            right_kernel(k.name, &s);
    kernels_close(&f);
    check(seen == COUNT, "%d right kernels, not %d", seen, COUNT);
}

/* ---- limits: each ends at once, with its sentence ---- */

static void repeated(char *to, size_t capacity, const char *before, const char *what, int times,
                     const char *after)
{
    size_t n = (size_t)snprintf(to, capacity, "%s", before);
    for (int i = 0; i < times; i++) n += (size_t)snprintf(to + n, capacity - n, "%s", what);
    snprintf(to + n, capacity - n, "%s", after);
}

/* word NULL: the text is good, and gives `want`. */
static void reads(const char *what, const char *body, const char *word, int want)
{
    enum { CAPACITY = 1 << 20 };
    char *const text = malloc(CAPACITY), error[400] = "";
    int32_t in[4] = {1, 2, 3, 0}, out[4] = {0};
    const model_argument arguments[] = {
        {in, sizeof in, 0, 0}, {out, sizeof out, 0, 0}, {NULL, 0, 4, 0}};
    const model_setting setting = {KIND_I32, 0, 1, 32, 32};
    model_program *p = NULL;
    snprintf(text, CAPACITY, "%s%s",
             strstr(body, "KERNEL") ? ""
                                    : "KERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) ",
             body);
    const double start = clock_seconds();
    int code = model_compile(text, "t", &setting, &p, error, sizeof error);
    const model_start launch = {"k", 1, arguments, 3, 0};
    if (!code) code = model_launch(p, &launch, NULL, error, sizeof error);
    check(clock_seconds() - start < 2, "%s: %.1f s", what, clock_seconds() - start);
    check(word ? code && strstr(error, word) && !strncmp(error, "t:", 2) : !code && out[0] == want,
          "%s: %d '%s', not '%s'; %d", what, code, error, word ? word : "", out[0]);
    model_free(p);
    free(text);
}

static void depths(void)
{
    enum { CAPACITY = 1 << 20 };
    char *const part = malloc(CAPACITY), *const text = malloc(CAPACITY);
    repeated(part, CAPACITY, "{ out[0] = ", "(", 20000, "1");
    repeated(text, CAPACITY, part, ")", 20000, "; }");
    reads("20000 parentheses", text, "more than 100 levels", 0);
    repeated(part, CAPACITY, "{ out[0] = ", "(", 60, "7");
    repeated(text, CAPACITY, part, ")", 60, "; }");
    reads("60 parentheses", text, NULL, 7);
    repeated(part, CAPACITY, "{ out[0] = ", "in[", 60, "0");
    repeated(text, CAPACITY, part, "]", 60, "; }");
    reads("in[in[...]] 60 times", text, NULL, 0); /* 0, 1, 2, 3, 0, ... */
    repeated(part, CAPACITY, "{ out[0] = ", "in[", 5000, "0");
    repeated(text, CAPACITY, part, "]", 5000, "; }");
    reads("in[in[...]] 5000 times", text, "more than 100 levels", 0);
    repeated(part, CAPACITY, "{ ", "in[", 60, "0");
    repeated(text, CAPACITY, part, "]", 60, " = 5; }");
    reads("in[in[...]] = 5", text, NULL, 0);
    repeated(text, CAPACITY, "{ out[0] = ", "- ", 50000, "1; }");
    reads("50000 signs", text, "more than 100 levels", 0);
    repeated(text, CAPACITY, "{ out[0] = ", "1 ? 1 : ", 5000, "1; }");
    reads("5000 ?:", text, "more than", 0);
    repeated(text, CAPACITY, "{ out[0] = ", "in[0] = ", 5000, "1; }");
    reads("5000 assignments", text, "more than 100 levels", 0);
    repeated(text, CAPACITY, "{ ", "if (n) ", 50, "; }");
    reads("50 ifs", text, "more than 40 levels of if", 0);
    repeated(text, CAPACITY, "", "{", 5000, "");
    reads("5000 blocks", text, "more than 100 levels", 0);
    repeated(part, CAPACITY, "#define A0\n", "", 0, "");
    for (int i = 1; i < 23; i++)
        snprintf(part + strlen(part), CAPACITY - strlen(part), "#define A%d A%d A%d A%d A%d\n", i,
                 i - 1, i - 1, i - 1, i - 1);
    snprintf(text, CAPACITY,
             "%sKERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) { out[0] = 3 A22; }", part);
    reads("empty macros in each other", text, "more than 262144 tokens", 0);
    free(part);
    free(text);
}

static void constants(void)
{
    reads("a constant that overflows", "{ SHARED elem a[9223372036854775807 * 2]; }",
          "is divided by 0 or has more than 63 bits", 0);
    reads("a constant that overflows too",
          "{ SHARED elem a[9223372036854775807 + 9223372036854775807]; }", "more than 63 bits", 0);
    reads("a constant divided by 0", "{ SHARED elem a[4 / (1 - 1)]; }", "is divided by 0", 0);
    reads("a constant that is none", "{ SHARED elem a[1.5]; }",
          "a whole constant was expected before '1.5'", 0);
    reads("constants", "{ SHARED elem a[(1 << 4) / 2 % 5 + 3 - 2]; a[3] = 9; out[0] = a[3]; }",
          NULL, 9);
    reads("an array that is too small", "{ SHARED elem a[(1 << 4) / 2 % 5 + 3 - 3]; a[3] = 9; }",
          "it has 3 elements", 0);
    reads("a number of 65 bits", "{ out[0] = 36893488147419103232; }", "more than 64 bits", 0);
}

static void preprocessor(void)
{
    reads("#if",
          "#define ON\nKERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) {\n#if 0\n out[0] = "
          "1;\n"
          "#elif defined(ON)\n out[0] = 7;\n#else\n out[0] = 2;\n#endif\n}",
          NULL, 7);
    reads("#if of an expression", "KERNEL(k, 1)(GLOBAL elem *out, i64 n) {\n#if 3 > 2\n#endif\n}",
          "and not '#if 3 > 2'", 0);
    reads("#if without an end", "KERNEL(k, 1)(GLOBAL elem *out, i64 n) {\n#if 1\n}", "no #endif",
          0);
    reads("macros with operands",
          "#define ADD(a, b) ((a) + (b))\n#define TWICE(x) ADD(x, \\\n x)\n#define NAME(a) a##_1\n"
          "KERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) { int NAME(y) = 3; out[0] = "
          "TWICE(NAME(y)) * 2; }",
          NULL, 12);
    reads("a macro in itself",
          "#define x x + 1\nKERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) "
          "{ int x = 0; }",
          "before '+'", 0);
    reads("too few operands of a macro",
          "#define ADD(a, b) a + b\nKERNEL(k, 1)(GLOBAL elem *out, i64 n) "
          "{ out[0] = ADD(1); }",
          "'ADD' takes 2 operands, not 1", 0);
}

static void functions_and_arrays(void)
{
    reads("functions",
          "FUNCTION i32 half(i32 x) { if (x % 2) return -1; return x / 2; } FUNCTION void "
          "put(GLOBAL i32 *p, i32 v) "
          "{ p[0] = v; p++; *p = v + 1; } KERNEL(k, 1)(GLOBAL elem *in, GLOBAL elem *out, i64 n) { "
          "put(out + 1, "
          "half(8)); out[0] = out[2] * 10 + half(3); }",
          NULL, 49);
    reads("recursion",
          "FUNCTION i32 f(i32 x) { return f(x - 1); } KERNEL(k, 1)(GLOBAL elem *out, i64 n) { "
          "out[0] = "
          "f(1); }",
          "'f' calls itself", 0);
    reads("two dimensions",
          "{ SHARED i16 t[2][3]; t[1][2] = 70000; t[0][1] = 5; out[0] = t[1][2] - t[0][1]; }", NULL,
          4464 - 5);
    reads("one index of two", "{ SHARED i32 t[2][3]; out[0] = t[1]; }", "has 2 dimensions", 0);
    reads("an array of one thread",
          "{ i32 a[3] = {1, 2}; for (int i = 0; i < 3; i++) a[i] += i; out[0] = a[0] * 100 + "
          "a[1] * 10 + a[2]; }",
          NULL, 132);
    reads("a comma behind the last element",
          "{ i32 a[3] = {1, 2, 3, }; out[0] = a[1] * 10 + a[2]; }", NULL, 23);
    reads("a float of 2^63 and more",
          "{ f64 x = 1 << 30; u64 y = x * x * 8 + 4096; "
          "out[0] = y >> 60; }",
          NULL, 8);
    reads("beyond an array of one thread", "{ i32 a[3] = {0}; a[n - 1] = 1; }", "it has 3 elements",
          0);
    reads("a pointer that changes its array", "{ GLOBAL elem *p = in; p = out; }",
          "stays in the array", 0);
}

static void statements(void)
{
    reads("a condition that does not hold", "{ HOLDS(4 % 3 == 0 && 1 < 2); }", "does not hold", 0);
    reads("a loop without end", "{ for (;;) ; }", "a loop does not end", 0);
    reads("an endless loop behind another defect", "{ out[9] = 1; while (1) in[0]++; }",
          "a loop does not end", 0);
    reads("a remainder of floats", "{ f32 x = 1; out[0] = x % 2; }", "take whole numbers", 0);
    reads("continue",
          "{ int s = 0; for (int i = 0; i < 9; i++) { if (i % 2) continue; if (i > 6) break; s += "
          "i; } out[0] = s; }",
          NULL, 12);
    reads("do", "{ int i = 0; do { i += 3; if (i == 6) continue; } while (i < 10); out[0] = i; }",
          NULL, 12);
    reads("i++ as a value", "{ int i = 0; out[i++] = 5; out[0] += i++ * 10 + i; }", NULL,
          5 + 10 + 2);
    reads("*out", "{ *out = 4; *out += *in; }", NULL, 5);
}

static void limits(void)
{
    depths();
    constants();
    preprocessor();
    functions_and_arrays();
    statements();
}

/* The same of texts in CUDA: refused or turned, with a place and in no time. */
static void translates(const char *what, const char *before, const char *part, int times)
{
    enum { CAPACITY = 1 << 20 };
    char *const text = malloc(CAPACITY), *out = NULL;
    ladder_error error = {0};
    repeated(text, CAPACITY, before, part, times, "");
    const double start = clock_seconds();
    const int code = foreign_text("t", text, NULL, &out, &error);
    check(clock_seconds() - start < 2, "%s: %.1f s", what, clock_seconds() - start);
    check(code ? !strncmp(error.sentence, "t:", 2) : out != NULL, "%s: %d %s", what, code,
          error.sentence);
    free(out);
    free(text);
}

static void tangled(void)
{
    const char *const kernel = "__global__ void k(const int *in, int n) { ";
    translates("shared arrays in each other", kernel, "__shared__ int d < s) data[t ", 60);
    translates("shared arrays in each other, closed", kernel,
               "__shared__ int d[ __shared__ int e[2]] ", 5000);
    translates("calls in each other", kernel, "min(1, ", 5000);
    translates("constants", "__global__ ", "const ", 100000);
    translates("templates", "__global__ void k(int n) {} ", "template <typename T ", 20000);
    translates("parameters", "__global__ void k(", "const int *a, ", 5000);
    translates("addresses", kernel, "atomicAdd(&((", 5000);
}

static void timed(const char *name, void (*part)(void))
{
    const double start = clock_seconds();
    part();
    printf("%-10s %.1f s\n", name, clock_seconds() - start);
    fflush(stdout);
}

static int print(const char *name)
{
    char *const text = kernel_of(name);
    if (text) fputs(text, stdout);
    free(text);
    return text ? 0 : 1;
}

int main(int count, char **words)
{
    if (count > 1) return print(words[1]);
    check_start();
    timed("limits", limits);
    timed("tangled", tangled);
    timed("wrong", wrong_kernels);
    timed("right", right_rungs);
    timed("textbook", right_kernels);
    return check_finish();
}

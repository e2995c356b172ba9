/* SPDX-License-Identifier: MIT
 * tally ladder lesson reduce --html FILE: the page of the reductions, and exercises whose answers
 * the page grades itself. The grader is this program's own (grade.c, model/), compiled to
 * WebAssembly by the build (ladder.cmake) and written into the page, so that a class needs a
 * browser and nothing else. */
#include "html.h"
#include <string.h>

#ifdef LESSON_WASM
#include LESSON_SUM /* a comment with its checksum: compiler caches do not see what .incbin reads */
__asm__(".section .rodata\n"
        "lesson_begin:\n.incbin \"" LESSON_WASM "\"\nlesson_end:\n"
        ".previous\n");
extern const unsigned char lesson_begin[] __attribute__((visibility("hidden")));
extern const unsigned char lesson_end[] __attribute__((visibility("hidden")));
static size_t lesson_bytes(void) { return (size_t)(lesson_end - lesson_begin); }
#else
static const unsigned char lesson_begin[1];
static size_t lesson_bytes(void) { return 0; }
#endif

static const char *const exercises[] = {"1-tile-sum", "2-no-conflicts", "3-more-work"};
enum { EXERCISES = sizeof exercises / sizeof *exercises };

static void base64(FILE *f, const unsigned char *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes; i += 3) {
        const size_t left = bytes - i;
        const unsigned x = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                           (left > 2 ? data[i + 2] : 0);
        fputc(digits[x >> 18], f);
        fputc(digits[x >> 12 & 63], f);
        fputc(left > 1 ? digits[x >> 6 & 63] : '=', f);
        fputc(left > 2 ? digits[x & 63] : '=', f);
        if (i % 96 == 93) fputc('\n', f);
    }
}

/* The value of a key of the assignment that is a text in quotes. */
static void title_of(const char *toml, char *to, size_t capacity)
{
    const char *const at = strstr(toml, "title = \"");
    const size_t n = at ? strcspn(at + 9, "\"\n") : 0;
    snprintf(to, capacity, "%.*s", (int)n, at ? at + 9 : "");
}

/* What the first comment says behind its first line (`like: ...`). */
static void task_of(FILE *f, const char *text)
{
    const char *at = strchr(text, '\n'), *const end = strstr(text, "*/");
    while (at && end && at < end) {
        at += strspn(at, "\n *");
        size_t n = strcspn(at, "\n");
        if (at + n > end) n = at < end ? (size_t)(end - at) : 0;
        char line[200];
        snprintf(line, sizeof line, "%.*s ", (int)n, at);
        html_text(f, line);
        at += n;
    }
}

static void exercise(FILE *f, const char *name, int number)
{
    char path[80], title[100];
    snprintf(path, sizeof path, "examples/%s/assignment.toml", name);
    const char *const assignment = ladder_text(path);
    snprintf(path, sizeof path, "examples/%s/start.cl", name);
    const char *const start = ladder_text(path);
    if (!assignment || !start) return;
    title_of(assignment, title, sizeof title);
    fprintf(f, "<article class=\"exercise\" id=\"exercise-%d\"><h3>%d. ", number, number);
    html_text(f, title);
    fprintf(f, "</h3><p>");
    task_of(f, start);
    fprintf(f, "</p><details><summary>what is graded</summary><pre tabindex=\"0\" "
               "class=\"assignment\">");
    html_text(f, assignment);
    fprintf(f,
            "</pre></details>\n<label for=\"answer-%d\">Your kernel (in the ladder's words, CUDA "
            "or OpenCL)</label><textarea id=\"answer-%d\" rows=\"22\" spellcheck=\"false\" "
            "autocapitalize=\"off\" autocomplete=\"off\" wrap=\"off\">\n",
            number, number);
    html_text(f, start);
    fprintf(f,
            "</textarea>\n<p><button type=\"button\" data-do=\"check\">Check exercise %d</button> "
            "<button type=\"button\" data-do=\"again\">Start exercise %d again</button></p>\n"
            "<div class=\"grade\" role=\"status\" aria-live=\"polite\"></div></article>\n",
            number, number);
}

void html_lesson(FILE *f)
{
    const char *const script = ladder_text("lesson/lesson.js");
    fprintf(f, "<section id=\"exercises\"><h2>exercises</h2><p>Each answer is run "
               "by the model in this page, in many sizes and types; nothing leaves the page. "
               "<kbd>Ctrl</kbd> + <kbd>Enter</kbd> checks the exercise that you type in.</p>"
               "<noscript><p>The exercises need JavaScript, which this browser has switched "
               "off.</p></noscript>\n");
    for (int i = 0; i < EXERCISES; i++) exercise(f, exercises[i], i + 1);
    fprintf(f, "<script type=\"text/plain\" id=\"grader\">\n");
    base64(f, lesson_begin, lesson_bytes());
    fprintf(f, "</script>\n<script>\n%s</script></section>\n", script);
}

int ladder_lesson(const ladder_options *o, const char *which, FILE *out, ladder_error *error)
{
    enum { USUAL_N = 1 << 16 };
    ladder_options with = *o;
    if (strcmp(which, "reduce") != 0)
        return fail_with(error, 2, "there is no lesson '%s'; choices: reduce", which);
    if (!lesson_bytes())
        return fail_with(error, 3,
                         "this tally was built without the lesson: its grader needs clang, wasm-ld "
                         "(lld), wasi-libc and clang's runtime for wasm32 when tally is built");
    with.shape = which;
    with.lesson = 1;
    if (!with.device) with.device = "model";
    if (with.n < 0) with.n = USUAL_N;
    return ladder_run(&with, out, error);
}

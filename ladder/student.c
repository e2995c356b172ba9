/* SPDX-License-Identifier: MIT
 * Reads a kernel of the reader's: in the dialect, in CUDA C++ or in OpenCL C. Its head, the
 * first comment, may say `like: reduce/tiled_1`, `threads: 128`, `each: 512`, `op: min`. */
#include "student.h"
#include "foreign.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

char *read_text(const char *path, ladder_error *error)
{
    FILE *f = fopen(path, "r");
    char *text = f ? malloc(FILE_MOST + 1) : NULL;
    if (!f) {
        fail_with(error, 1, "%s: %s", path, strerror(errno));
        return NULL;
    }
    const size_t n = text ? fread(text, 1, FILE_MOST, f) : 0;
    const int bad = !text || ferror(f) || !feof(f);
    fclose(f);
    if (bad || memchr(text, 0, n)) {
        free(text);
        fail_with(error, 1, "%s: could not be read as a text of at most 1 MiB", path);
        return NULL;
    }
    text[n] = 0;
    return text;
}

static int number_in_head(const char *text, const char *word, int fallback)
{
    char line[40];
    head_line(text, word, line, sizeof line);
    return line[0] ? atoi(line) : fallback;
}

static int choose(const ladder_options *o, const char *file, const char *rung_name, student *s,
                  ladder_error *error)
{
    char like[80], op[40];
    rung *const g = &s->rung;
    head_line(s->original, "like", like, sizeof like);
    if (rung_name) snprintf(like, sizeof like, "%s", rung_name);
    like[strcspn(like, " \t\r")] = 0;
    if (!like[0])
        return fail_with(
            error, 2,
            "%s: which rung does it stand in for? Give --rung, or a line `like: reduce/tiled_1`",
            file);
    const rung *of = find_rung(NULL, like);
    if (!of || is_host(of))
        return fail_with(error, 2, "%s: there is no rung '%s' with a kernel", file, like);
    s->like = *of;
    *g = *of;
    g->threads = number_in_head(s->original, "threads", of->threads);
    g->each =
        number_in_head(s->original, "each", (int)((int64_t)of->each * g->threads / of->threads));
    g->order = NONE; /* its order is its own: floats are held to the bound of any order */
    g->note = PLAIN;
    g->after = of->name;
    g->name = s->name;
    g->text = s->original;
    if (g->threads < 1 || g->threads > MODEL_THREADS_MOST)
        return fail_with(error, 2, "%s: threads is %d and must be from 1 to %d", file, g->threads,
                         MODEL_THREADS_MOST);
    if (of->each && (g->each < 1 || g->each > 1 << 20))
        return fail_with(error, 2, "%s: each is %d and must be from 1 to %d", file, g->each,
                         1 << 20);
    static const char *const operations[] = {"sum", "min", "max"};
    head_line(s->original, "op", op, sizeof op);
    op[strcspn(op, " \t\r")] = 0;
    if (o->operation) snprintf(op, sizeof op, "%s", o->operation);
    s->operation = -1;
    for (int i = 0; i < 3; i++)
        if (!strcmp(op, operations[i])) s->operation = i;
    return op[0] && s->operation < 0
               ? fail_with(error, 2, "%s: op is '%s' and must be sum, min or max", file, op)
               : 0;
}

/* What the kernel is written for: one type, one operation? */
static int look(student *s, ladder_error *error)
{
    const model_setting setting = {s->rung.shape == SHAPE_window ? KIND_F32 : KIND_I32, 0,
                                   s->rung.threads, 32, 32};
    char sentence[400];
    model_program *p;
    if (model_compile(s->text, s->name, &setting, &p, sentence, sizeof sentence))
        return fail_with(error, 1, "%s", sentence);
    s->fixed = model_kernel_kind(p, 0, &s->kind);
    int combines = 0;
    for (int i = 0; model_kernel(p, i); i++) combines |= model_kernel_combines(p, i);
    if (!combines && s->operation < 0) s->operation = 0;
    model_free(p);
    return 0;
}

int student_open(const ladder_options *o, const char *file, const char *rung_name, student *s,
                 ladder_error *error)
{
    char *const text = read_text(file, error);
    return text ? student_take(o, file, text, rung_name, s, error) : error->code;
}

int student_take(const ladder_options *o, const char *file, char *text, const char *rung_name,
                 student *s, ladder_error *error)
{
    memset(s, 0, sizeof *s);
    const char *const slash = strrchr(file, '/');
    snprintf(s->name, sizeof s->name, "%.63s", slash ? slash + 1 : file);
    s->original = text;
    int code = choose(o, file, rung_name, s, error);
    if (!code) code = foreign_text(s->name, s->original, &s->text, error);
    if (!code && !s->text) {
        s->text = strdup(s->original);
        if (!s->text) code = fail_with(error, 1, "out of memory");
    } else if (!code && s->operation < 0) {
        s->operation = 0; /* written for one operation */
    }
    if (!code) code = look(s, error);
    if (code) student_close(s);
    return code;
}

void student_close(student *s)
{
    free(s->text);
    free(s->original);
    s->text = s->original = NULL;
}

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

/* The first comment of the text, as a text of its own. */
static void head_of(const char *text, char *head, size_t capacity)
{
    const char *at = text + strspn(text, " \t\r\n"), *end = at;
    if (!strncmp(at, "/*", 2)) {
        end = strstr(at, "*/");
        end = end ? end + 2 : at + strlen(at);
    }
    while (!strncmp(end + strspn(end, " \t\r\n"), "//", 2))
        end += strspn(end, " \t\r\n") + strcspn(end + strspn(end, " \t\r\n"), "\n");
    snprintf(head, capacity, "%.*s",
             (int)((size_t)(end - at) < capacity ? (size_t)(end - at) : capacity - 1), at);
}

/* block: 32 x 8, tile: 32 x 32, shared: 2 * THREADS, parameters: out, in, n */
static int setup_of(const char *file, student *s, foreign_setup *f, ladder_error *error)
{
    char line[80], head[4000];
    head_of(s->original, head, sizeof head);
    head_line(head, "block", line, sizeof line);
    f->block[1] = f->block[2] = 1;
    if (line[0] && sscanf(line, "%d x %d x %d", &f->block[0], &f->block[1], &f->block[2]) < 1)
        return fail_with(error, 2, "%s: block is '%s' and must be like 32 x 8", file, line);
    for (int i = 0; i < 3; i++)
        if (line[0] && (f->block[i] < 1 || f->block[i] > MODEL_THREADS_MOST))
            return fail_with(error, 2, "%s: a side of block is %d and must be from 1 to %d", file,
                             f->block[i], MODEL_THREADS_MOST);
    head_line(head, "tile", line, sizeof line);
    if (line[0] && (sscanf(line, "%d x %d", &f->tile[0], &f->tile[1]) < 2 || f->tile[0] < 1 ||
                    f->tile[1] < 1 || f->tile[0] > 1024 || f->tile[1] > 1024))
        return fail_with(error, 2, "%s: tile is '%s' and must be like 32 x 32", file, line);
    head_line(head, "shared", s->shared, sizeof s->shared);
    s->shared[strcspn(s->shared, "\r")] = 0;
    if (s->shared[strspn(s->shared, " 0123456789THREADSWARP+-*/()")])
        return fail_with(error, 2,
                         "%s: shared is '%s' and must be a number of elements, like 2 * THREADS",
                         file, s->shared);
    head_line(head, "parameters", s->parameters, sizeof s->parameters);
    char path[80];
    f->shared = s->shared[0] ? s->shared : NULL;
    f->parameters = s->parameters[0] ? s->parameters : NULL;
    f->rung = rung_text(&s->like, path, sizeof path);
    f->matrix = s->like.schedule == TRANSPOSE;
    return 0;
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

/* The sides of a group, where the head or the text's dim3 says them. */
static int take_block(const char *file, student *s, const foreign_setup *f, ladder_error *error)
{
    rung *const g = &s->rung;
    const int64_t threads = (int64_t)f->block[0] * f->block[1] * f->block[2];
    memcpy(g->tile, f->tile, sizeof g->tile);
    if (!threads || number_in_head(s->original, "threads", 0) > 0) return 0;
    if (threads > MODEL_THREADS_MOST)
        return fail_with(error, 2, "%s: block has %lld threads and must have at most %d", file,
                         (long long)threads, MODEL_THREADS_MOST);
    g->threads = (int)threads;
    g->each = number_in_head(s->original, "each",
                             (int)((int64_t)s->like.each * threads / s->like.threads));
    return 0;
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
    foreign_setup setup = {0};
    int code = choose(o, file, rung_name, s, error);
    if (!code) code = setup_of(file, s, &setup, error);
    if (!code) code = foreign_text(s->name, s->original, &setup, &s->text, error);
    if (!code) code = take_block(file, s, &setup, error);
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

int start_file(alone *a, const ladder_options *o, const char *file, int64_t usual_n, student *s,
               ladder_error *error)
{
    static const char *const operations[] = {"sum", "min", "max"};
    ladder_options with = *o;
    char like[80];
    memset(a, 0, sizeof *a);
    int code = student_open(o, file, o->rung, s, error);
    if (code) return code;
    if (s->fixed) with.dtype = kind_name(s->kind);
    if (s->operation >= 0) with.operation = operations[s->operation];
    snprintf(like, sizeof like, "%s/%s", shape_name(s->like.shape), s->like.name);
    code = start_alone(a, &with, like, usual_n, error);
    a->rung = &s->rung;
    a->text = s->text;
    snprintf(a->path, sizeof a->path, "%s", s->name);
    return code;
}

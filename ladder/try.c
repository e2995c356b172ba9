/* SPDX-License-Identifier: MIT
 * tally ladder try FILE: a kernel of the reader's in the place of a rung, with the same checks, counts and clock. The
 * rung is named by
 * --rung or by a line `like: reduce/tiled_1` in the file's head; `threads: 128` and `each: 512` there change the group.
 * The model reads the file itself, so no compiler is needed; a device compiles it with its own. */
#include "rung.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

static char *read_text(const char *path, ladder_error *error)
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
    if (bad) {
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

static int choose(const ladder_options *o, const char *file, const char *text, rung *g, ladder_error *error)
{
    char like[80];
    head_line(text, "like", like, sizeof like);
    if (o->rung) snprintf(like, sizeof like, "%s", o->rung);
    like[strcspn(like, " \t\r")] = 0;
    if (!like[0])
        return fail_with(error, 2, "%s: which rung does it stand in for? Give --rung, or a line `like: reduce/tiled_1`",
                         file);
    const rung *of = find_rung(NULL, like);
    if (!of || of->schedule <= LIBRARY)
        return fail_with(error, 2, "%s: there is no rung '%s' with a kernel", file, like);
    *g = *of;
    g->threads = number_in_head(text, "threads", of->threads);
    g->each = number_in_head(text, "each", of->each * g->threads / of->threads);
    g->order = NONE; /* its order is its own: floats are held to the bound of any order */
    g->note = PLAIN;
    g->after = of->name;
    g->name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (g->threads < 1 || g->threads > MODEL_THREADS_MOST)
        return fail_with(error, 2, "%s: threads is %d and must be from 1 to %d", file, g->threads, MODEL_THREADS_MOST);
    if (of->each && g->each < 1) return fail_with(error, 2, "%s: each is %d and must be at least 1", file, g->each);
    return 0;
}

int ladder_try(const ladder_options *o, const char *file, FILE *out, ladder_error *error)
{
    rung mine, like;
    report r;
    place *p = NULL;
    shape_report *s;
    char *text = read_text(file, error);
    if (!text) return error->code;
    int code = choose(o, file, text, &mine, error);
    memset(&r, 0, sizeof r);
    if (!code) {
        like = *find_rung(shape_name(mine.shape), mine.after);
        code = start_report(o, &r, &p, error);
    }
    if (!code) code = start_shape(&r, mine.shape, &s, error);
    const int timed = o->runs && p && !place_is_model(p);
    if (!code && s->n && timed) code = measure_ceilings(p, s->kind, s->n, o->runs, &s->device, &s->host, error);
    if (!code) code = run_rung(&r, s, &like, NULL, p, timed, &s->rows[s->count++], error);
    if (!code) {
        row *const x = &s->rows[s->count++];
        code = run_rung(&r, s, &mine, text, p, timed, x, error);
        if (x->verdict == WRONG) r.wrong++;
    }
    if (!code) {
        sentences(s);
        report_table(&r, out);
        if (r.wrong) code = error->code = 4;
    }
    report_free(&r);
    place_close(p);
    free(text);
    return code;
}

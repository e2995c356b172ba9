/* SPDX-License-Identifier: MIT
 * tally ladder try FILE: a kernel of the reader's in the place of a rung: first many small runs
 * on the model (examine.c), then the same checks, counts and clock as the rung's. The rung is
 * named by --rung or by a line `like: reduce/tiled_1` in the file's head; `threads: 128` and
 * `each: 512` there change the group. The model reads the file itself, so no compiler is needed;
 * a device compiles it with its own, once the model has found nothing. */
#include "student.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL_N = 1 << 16 };
static const double MODEL_OPERATIONS_MOST = 0x1p28; /* operations of the model: a few seconds */

/* Complaints in the row that the table, JSON and the page show. */
static void explain(row *x, const student *s, const examination *e)
{
    char *const to = x->reason;
    const size_t capacity = sizeof x->reason;
    if (!e->wrong) return;
    x->verdict = WRONG;
    size_t n = (size_t)snprintf(to, capacity, "%d of %d runs went wrong", e->wrong, e->trials);
    for (int i = 0; i < e->count && n + 20 < capacity; i++) {
        char at[100], line[24] = "";
        trial_text(s, &e->complaints[i].at, at, sizeof at);
        if (e->complaints[i].line) snprintf(line, sizeof line, "line %d, ", e->complaints[i].line);
        n += (size_t)snprintf(to + n, capacity - n, "%s%s%s: %s", i ? "; " : ": ", line, at,
                              e->complaints[i].text);
    }
}

static void about(const examination *e, const student *s, FILE *out)
{
    static const char *const operations[] = {"sum", "min", "max"};
    char line[300];
    snprintf(line, sizeof line, "Tried on the model in %d runs: n = %s;", e->trials, e->sizes);
    fputc('\n', out);
    wrapped(out, line, 0, 80);
    fprintf(out, "types %s; %s.\n%lld results checked, %lld off.\n", e->types,
            s->rung.shape == SHAPE_window   ? "several widths"
            : !has_operation(s->rung.shape) ? shape_name(s->rung.shape)
            : s->operation < 0              ? "sum, min and max"
                                            : operations[s->operation],
            (long long)e->checked, (long long)e->off);
    if (e->left_out)
        fprintf(out, "%d runs were left out: no time, or a type that the kernel does not take.\n",
                e->left_out);
}

int ladder_try(const ladder_options *o, const char *file, FILE *out, ladder_error *error)
{
    student s;
    report r = {0};
    place *p = NULL;
    shape_report *both = NULL;
    examination e = {0};
    int code = student_open(o, file, o->rung, &s, error);
    if (code) return code;
    ladder_options with = *o;
    static const char *const operations[] = {"sum", "min", "max"};
    code = examine(o, &s, &e, error);
    if (!code) {
        if (s.fixed) with.dtype = kind_name(s.kind);
        if (s.operation >= 0) with.operation = operations[s.operation];
        const int slow = e.work * (double)(o->n < 0 ? 1 << 20 : o->n) > MODEL_OPERATIONS_MOST;
        if (e.wrong) with.device = "model"; /* what is known to be wrong is not run on a device */
        if (o->n < 0 && (e.wrong || slow)) with.n = affordable(&e, SMALL_N);
        code = start_report(&with, &r, &p, error);
    }
    if (!code) code = start_shape(&r, s.rung.shape, &both, error);
    const int timed = o->runs && p && !place_is_model(p);
    if (!code && both->n && timed) code = measure_ceilings(p, both, o->runs, error);
    if (!code) {
        row *const like = &both->rows[both->count++];
        *like = (row){.rung = &s.like};
        code = run_rung(&r, both, p, timed, like, error);
    }
    if (!code) {
        row *const x = &both->rows[both->count++];
        int endless = 0;
        for (int i = 0; i < e.count; i++) endless |= e.complaints[i].defect == DEFECT_ENDLESS;
        *x = (row){.rung = &s.rung, .verdict = WRONG, .error_ulp = -1};
        if (!endless) { /* else not once more */
            x->text = s.text;
            code = run_rung(&r, both, p, timed, x, error);
        }
        explain(x, &s, &e);
        x->trials = e.trials;
        x->trials_wrong = e.wrong;
        if (x->verdict == WRONG) r.wrong++;
    }
    if (!code) {
        finish_shape(both);
        code = write_reports(&with, &r, out, error);
        if (!code && !(o->json && !strcmp(o->json, "-")) && !(o->html && !strcmp(o->html, "-")))
            about(&e, &s, out);
        if (!code && r.wrong) code = error->code = 4;
    }
    report_free(&r);
    place_close(p);
    student_close(&s);
    return code;
}

/* SPDX-License-Identifier: MIT
 * tally ladder grade ASSIGNMENT.toml FILE: is the kernel right for all the sizes, types,
 * operations and warps that the assignment names, and are its counts within the limits? The
 * model does the work, so a grade is the same everywhere; a limit on the rate needs a device.
 * ladder/doc/grade.md has the format. */
#include "assignment.h"
#include "student.h"
#include <stdlib.h>
#include <string.h>

typedef struct result {
    char name[TOML_WORD + 8], says[400];
    double points, of;
    int passed, skipped;
} result;

/* ---- the checks ---- */

static int check_right(const assignment *a, const student *s, examination *e, result *out,
                       ladder_error *error)
{
    int code = 0;
    for (int i = 0; i < a->size_count && !code; i++)
        for (int k = 0; k < a->type_count && !code; k++)
            for (int op = 0; op < a->operation_count && !code; op++)
                for (int w = 0; w < a->warp_count && !code; w++)
                    for (int v = 0;
                         v < (s->rung.shape == SHAPE_window ? a->width_count : 1) && !code; v++) {
                        trial t = {.n = a->sizes[i],
                                   .operation = a->operations[op],
                                   .warp = a->warps[w],
                                   .banks = 32,
                                   .width = a->widths[v]};
                        kind_parse(a->types[k], &t.kind);
                        if (s->fixed && t.kind != s->kind) {
                            char text[120];
                            snprintf(text, sizeof text,
                                     "the kernel is written for %s: elem, or the T of a template, "
                                     "stands for every type",
                                     kind_name(s->kind));
                            complain_about(e, &t, text);
                            continue;
                        }
                        code = examine_one(s, &t, e, error);
                    }
    if (code > 0) return code;
    snprintf(out->name, sizeof out->name, "right");
    out->of = a->right_points;
    out->passed = !e->wrong && !e->count;
    if (out->passed) {
        snprintf(out->says, sizeof out->says, "%d runs, %lld results, all right", e->trials,
                 (long long)e->checked);
    } else {
        char at[100];
        trial_text(s, &e->complaints[0].at, at, sizeof at);
        snprintf(out->says, sizeof out->says, "%d of %d runs went wrong; %s: %.200s", e->wrong,
                 e->trials, at, e->complaints[0].text);
        if (e->complaints[0].line)
            snprintf(out->says, sizeof out->says, "%d of %d runs went wrong; line %d, %s: %.200s",
                     e->wrong, e->trials, e->complaints[0].line, at, e->complaints[0].text);
    }
    return 0;
}

static double measured(const metric *m, const row *x, const row *like)
{
    const model_counts *c = &x->counts;
    const double n = (double)x->counted_n;
    switch (m->which) {
    case M_conflicts:
        return (double)c->conflicts;
    case M_degree:
        return c->worst_degree;
    case M_barriers:
        return c->groups ? (double)c->barriers / (double)c->groups : 0;
    case M_divergent:
        return c->branches ? 100.0 * (double)c->divergent / (double)c->branches : 0;
    case M_launches:
        return (double)x->launches;
    case M_sectors:
        return c->requests ? (double)c->sectors / (double)c->requests : 0;
    case M_bytes:
        return 32.0 * (double)c->sectors / n;
    case M_requests:
        return 1e3 * (double)c->requests / n;
    case M_shared:
        return 1e3 * (double)c->shared / n;
    case M_active:
        return c->operations ? 100.0 * (double)c->lanes / ((double)c->operations * c->warp) : 0;
    case M_races:
        return (double)c->races;
    case M_error:
        return x->error_ulp < 0 ? 0 : x->error_ulp;
    default:
        if (!x->timed || !like->timed) return -1;
        return uncertain(&x->timing) || uncertain(&like->timing)
                   ? -2
                   : like->timing.median / x->timing.median;
    }
}

static void check_limit(const limit *l, const row *x, const row *like, result *out)
{
    const double is = measured(l->of, x, like);
    snprintf(out->name, sizeof out->name, "%s", l->of->name);
    out->of = l->points;
    out->skipped = is < 0;
    out->passed = is >= 0 && (l->least ? is >= l->bound : is <= l->bound);
    if (out->skipped)
        snprintf(out->says, sizeof out->says,
                 is < -1 ? "not measured: the runs are more than 20 %% apart; try again, or with a "
                           "larger --n"
                         : "not measured: the model has no times; give --device");
    else
        snprintf(out->says, sizeof out->says, "%.6g %s; at %s %.6g", is, l->of->unit,
                 l->least ? "least" : "most", l->bound);
}

typedef struct grading {
    assignment a;
    student s;
    examination e;
    result list[CHECKS_MOST + 1];
    int checks, failed;
    double points, of;
} grading;

/* The counts, and on a device the times, of the rung and of the kernel. */
static int count(const ladder_options *o, const grading *g, int wrong, row *like, row *tested,
                 ladder_error *error)
{
    const assignment *const a = &g->a;
    const student *const s = &g->s;
    ladder_options with = *o;
    static const char *const operations[] = {"sum", "min", "max"};
    report r = {0};
    place *p = NULL;
    shape_report *both = NULL;
    int on_clock = 0;
    for (int i = 0; i < a->limit_count; i++) on_clock |= a->limits[i].of->which == M_rate;
    with.dtype = s->fixed ? kind_name(s->kind) : a->types[0];
    with.operation = operations[a->operations[0]];
    with.width = a->widths[0];
    with.warp = a->warps[0];
    if (!on_clock || wrong || !o->device) with.device = "model";
    const int on_model = !strcmp(with.device, "model");
    if (o->n < 0 && on_model)
        with.n = affordable(&g->e, wrong && a->counted > SMALL_N ? SMALL_N : a->counted);
    int code = start_report(&with, &r, &p, error);
    if (!code) code = start_shape(&r, s->rung.shape, &both, error);
    const int timed = !code && o->runs && !place_is_model(p);
    *like = (row){.rung = &s->like};
    *tested = (row){.rung = &s->rung, .text = s->text};
    if (!code && timed) code = run_rung(&r, both, p, timed, like, error);
    if (!code) code = run_rung(&r, both, p, timed, tested, error);
    report_free(&r);
    place_close(p);
    return code;
}

/* ---- what is said ---- */

static void say_text(FILE *out, const grading *g)
{
    const assignment *const a = &g->a;
    const student *const s = &g->s;
    const examination *const e = &g->e;
    const result *const list = g->list;
    fprintf(out, "%s%s%s in the place of %s\n\n", a->title, a->title[0] ? ": " : "", s->name,
            a->like);
    for (int i = 0; i < g->checks; i++) {
        fprintf(out, "%-8s %-10s %5g of %-5g ",
                list[i].skipped  ? "skipped"
                : list[i].passed ? "passed"
                                 : "FAILED",
                list[i].name, list[i].points, list[i].of);
        wrapped(out, list[i].says, 35, 80);
    }
    for (int i = 1; i < e->count; i++) { /* the first is said above */
        char at[100], where[20] = "", line[500];
        trial_text(s, &e->complaints[i].at, at, sizeof at);
        if (e->complaints[i].line)
            snprintf(where, sizeof where, "line %d, ", e->complaints[i].line);
        snprintf(line, sizeof line, "%s%s: %s", where, at, e->complaints[i].text);
        fputs("  also: ", out);
        wrapped(out, line, 8, 80);
    }
    if (e->no_launch)
        fprintf(out, "%d runs launched no kernel and are not counted.\n", e->no_launch);
    if (e->left_out)
        fprintf(out, "%d runs were left out: the kernel is wrong, and they would take minutes.\n",
                e->left_out);
    fprintf(out, "\n%g of %g points\n", g->points, g->of);
}

static void say_json(FILE *out, const grading *g)
{
    const examination *const e = &g->e;
    const result *const list = g->list;
    static const char *const kinds[] = {"values",  "race",    "bounds", "unset",
                                        "barrier", "endless", "align"};
    fprintf(out, "{\"grade\": 1, ");
    json_text(out, "title", g->a.title, ", ");
    json_text(out, "file", g->s.name, ", ");
    json_text(out, "like", g->a.like, ", ");
    fprintf(out,
            "\"points\": %g, \"of\": %g, \"runs\": %d, \"no_launch\": %d, \"left_out\": %d, "
            "\"wrong\": %d, \"results\": %lld, \"checks\": [",
            g->points, g->of, e->trials, e->no_launch, e->left_out, e->wrong,
            (long long)e->checked);
    for (int i = 0; i < g->checks; i++) {
        fprintf(out, "%s\n  {", i ? "," : "");
        json_text(out, "check", list[i].name, ", ");
        fprintf(out, "\"passed\": %s, \"skipped\": %s, \"points\": %g, \"of\": %g, ",
                list[i].passed ? "true" : "false", list[i].skipped ? "true" : "false",
                list[i].points, list[i].of);
        json_text(out, "says", list[i].says, "}");
    }
    fprintf(out, "],\n\"complaints\": [");
    for (int i = 0; i < e->count; i++) {
        const complaint *c = &e->complaints[i];
        fprintf(out,
                "%s\n  {\"n\": %lld, \"dtype\": \"%s\", \"operation\": %d, \"warp\": %d, \"line\": "
                "%d, ",
                i ? "," : "", (long long)c->at.n, kind_name(c->at.kind), c->at.operation,
                c->at.warp, c->line);
        json_text(out, "kind", kinds[c->defect], ", ");
        json_text(out, "text", c->text, "}");
    }
    fprintf(out, "]}\n");
}

/* ---- a grade ---- */

static int check_limits(const ladder_options *o, grading *g, ladder_error *error)
{
    const assignment *const a = &g->a;
    const int right = g->list[0].passed;
    const int endless = g->e.count && g->e.complaints[g->e.count - 1].defect == DEFECT_ENDLESS;
    row *const rows = calloc(2, sizeof *rows);
    int code = rows ? 0 : fail_with(error, 1, "out of memory");
    if (!code && a->limit_count && !endless) code = count(o, g, !right, &rows[0], &rows[1], error);
    for (int i = 0; i < a->limit_count && !code; i++) {
        result *const x = &g->list[g->checks++];
        if (!endless)
            check_limit(&a->limits[i], &rows[1], &rows[0], x);
        else
            *x = (result){.of = a->limits[i].points, .says = "not counted: a loop does not end"};
        if (endless) snprintf(x->name, sizeof x->name, "%s", a->limits[i].of->name);
        if (!right && x->passed) { /* fast and wrong is worth nothing */
            x->passed = 0;
            snprintf(x->says + strlen(x->says), sizeof x->says - strlen(x->says),
                     ", but the kernel is not right");
        }
    }
    free(rows);
    return code;
}

/* The kernel's text is the student's, also after a failure. */
static int grade(const ladder_options *o, grading *g, const char *name, char *kernel,
                 ladder_error *error)
{
    int code = student_take(o, name, kernel, g->a.like, &g->s, error);
    if (!code && g->a.threads && g->s.rung.threads != g->a.threads)
        code = fail_with(error, 2, "%s: threads is %d and must be %lld here", g->s.name,
                         g->s.rung.threads, (long long)g->a.threads);
    if (!code) code = check_right(&g->a, &g->s, &g->e, &g->list[g->checks++], error);
    if (!code) code = check_limits(o, g, error);
    for (int i = 0; i < g->checks && !code; i++) {
        result *const x = &g->list[i];
        if (x->skipped) continue;
        x->points = x->passed ? x->of : 0;
        g->points += x->points;
        g->of += x->of;
        g->failed += !x->passed;
    }
    return code;
}

int grade_texts(const char *assignment_text, const char *name, const char *kernel, FILE *json,
                ladder_error *error)
{
    const ladder_options plain = {.device = "model", .n = -1, .width = 50, .warp = 32, .banks = 32};
    grading *const g = calloc(1, sizeof *g);
    char *const kernel_text = g ? strdup(kernel) : NULL;
    int code = kernel_text ? read_assignment("assignment", assignment_text, &g->a, error)
                           : fail_with(error, 1, "out of memory");
    if (code)
        free(kernel_text);
    else
        code = grade(&plain, g, name, kernel_text, error);
    if (!code) say_json(json, g);
    if (g) student_close(&g->s);
    free(g);
    return code;
}

int ladder_grade(const ladder_options *o, const char *file, const char *kernel, FILE *out,
                 ladder_error *error)
{
    grading *const g = calloc(1, sizeof *g);
    char *const text = read_text(file, error);
    int code = !text ? error->code
               : !g  ? fail_with(error, 1, "out of memory")
                     : read_assignment(file, text, &g->a, error);
    char *const kernel_text = code ? NULL : read_text(kernel, error);
    if (!code) code = kernel_text ? grade(o, g, kernel, kernel_text, error) : error->code;
    if (!code) {
        const int instead = o->json && !strcmp(o->json, "-");
        if (!instead) say_text(out, g);
        saving to = {0};
        if (o->json) code = save_begin(&to, o->json, out, error);
        if (to.f) say_json(to.f, g);
        code = save_end(&to, code, out, error);
        if (!code && g->failed) {
            *error = (ladder_error){0};
            code = error->code = 4;
        }
    }
    if (g) student_close(&g->s);
    free(g);
    free(text);
    return code;
}

/* SPDX-License-Identifier: MIT
 * tally ladder show RUNG or FILE: its text with the model's counts beside the lines that cause them; with --plain
 * the text alone, to copy. */
#include "student.h"
#include <stdlib.h>
#include <string.h>

enum { SHOWN_N = 1 << 16 };

static void counts_of(FILE *out, const model_line *l, int warp)
{
    if (!l->runs) {
        fprintf(out, "%40s", "");
        return;
    }
    fprintf(out, "%4.0f%% ", 100.0 * (double)l->lanes / ((double)l->runs * warp));
    if (l->branches)
        fprintf(out, "%5.0f%% ", 100.0 * (double)l->divergent / (double)l->branches);
    else
        fprintf(out, "%6s ", "");
    if (l->shared)
        fprintf(out, "%4d ", l->degree);
    else
        fprintf(out, "%4s ", "");
    if (l->requests)
        fprintf(out, "%6.1f ", (double)l->sectors / (double)l->requests);
    else
        fprintf(out, "%6s ", "");
    if (l->races)
        fprintf(out, "%8lld ", (long long)l->races);
    else
        fprintf(out, "%8s ", "");
    fprintf(out, "%5s", "");
}

static void print_lines(const char *text, const model_counts *c, FILE *out)
{
    int line = 1;
    if (c) fprintf(out, "lanes diverge bank sectors    races       line\n");
    for (const char *at = text; *at; line++) {
        const size_t n = strcspn(at, "\n");
        if (c) {
            counts_of(out, line < MODEL_LINES ? &c->line[line] : &(model_line){0}, c->warp);
            fprintf(out, "%4d  ", line);
        }
        fprintf(out, "%.*s\n", (int)n, at);
        at += n + (at[n] != 0);
    }
}

static void show_counts(const char *path, const char *text, const shape_report *s, const report *r,
                        const row *x, FILE *out)
{
    fprintf(out, "%s on the model: n = %lld %s, warps of %d, %d banks\n", path, (long long)s->n,
            kind_name(s->kind), r->warp, r->banks);
    fprintf(out, "lanes: active when the line runs; diverge: branches on which a warp disagrees; "
                 "bank: worst conflict;\n"
                 "sectors: of 32 bytes, in each request\n\n");
    print_lines(text, x->modelled ? &x->counts : NULL, out);
    if (x->reason[0]) fprintf(out, "\n%s: %s\n", verdict_word(x), x->reason);
    fprintf(out, "\nThe host: choose a device (--device); copy the n elements there, where they "
                 "are not there already; then\n\n");
    for (const char *at = host_text(x->rung); *at; at += strcspn(at, "\n") + 1)
        fprintf(out, "    %.*s\n", (int)strcspn(at, "\n"), at);
}

static int show_file(const ladder_options *o, const char *file, FILE *out, ladder_error *error)
{
    student s;
    alone a = {0};
    int code;
    if (o->plain) {
        char *const text = read_text(file, error);
        if (text) fputs(text, out);
        code = text ? 0 : error->code;
        free(text);
        return code;
    }
    code = start_file(&a, o, file, SHOWN_N, &s, error);
    if (!code) {
        row *const x = &a.shape->rows[a.shape->count++];
        *x = (row){.rung = &s.rung, .text = s.text};
        code = run_rung(&a.report, a.shape, a.place, 0, x, error);
        if (!code) show_counts(file, s.original, a.shape, &a.report, x, out);
    }
    end_alone(&a);
    student_close(&s);
    return code;
}

int ladder_show(const ladder_options *o, const char *name, FILE *out, ladder_error *error)
{
    alone a;
    FILE *const file = find_rung(NULL, name) ? NULL : fopen(name, "r");
    if (file) {
        fclose(file);
        return show_file(o, name, out, error);
    }
    int code = start_alone(&a, o, name, SHOWN_N, error);
    if (!code && !is_host(a.rung) && !o->plain) {
        char path[100];
        row *const x = &a.shape->rows[a.shape->count++];
        snprintf(path, sizeof path, "ladder/%s", a.path);
        *x = (row){.rung = a.rung};
        code = run_rung(&a.report, a.shape, a.place, 0, x, error);
        if (!code) show_counts(path, a.text, a.shape, &a.report, x, out);
    } else if (!code) {
        print_lines(a.text, NULL, out);
    }
    end_alone(&a);
    return code;
}

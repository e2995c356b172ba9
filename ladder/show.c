/* SPDX-License-Identifier: MIT
 * tally ladder show RUNG: its text with the model's counts beside the lines that cause them. */
#include "rung.h"
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

int ladder_show(const ladder_options *o, const char *name, FILE *out, ladder_error *error)
{
    alone a;
    int code = start_alone(&a, o, name, SHOWN_N, error);
    if (!code && !is_host(a.rung)) {
        row *const x = &a.shape->rows[a.shape->count++];
        code = run_rung(&a.report, a.shape, a.rung, NULL, a.place, 0, x, error);
        if (!code) {
            fprintf(out, "ladder/%s on the model: n = %lld %s, warps of %d, %d banks\n", a.path, (long long)a.shape->n,
                    kind_name(a.shape->kind), a.report.warp, a.report.banks);
            fprintf(
                out,
                "lanes: active when the line runs; diverge: branches on which a warp disagrees; bank: worst conflict;\n"
                "sectors: of 32 bytes, a request\n\n");
            print_lines(a.text, &x->counts, out);
            if (x->reason[0]) fprintf(out, "\n%s: %s\n", verdict_word(x), x->reason);
        }
    } else if (!code) {
        print_lines(a.text, NULL, out);
    }
    end_alone(&a);
    return code;
}

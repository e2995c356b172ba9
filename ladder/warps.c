/* SPDX-License-Identifier: MIT
 * The analysis of resources, as a picture: how many warps each step of a group pays for, and how
 * many it would need if all of their lanes worked. 8-8-8-8 against 8-4-2-1. */
#include "html.h"

enum { SHOWN = 14, COLUMN = 20, HIGH = 80, BELOW = 34, WIDE = SHOWN * COLUMN };

static int has_steps(const row *x)
{
    return x->modelled && x->counts.steps > 1 && x->counts.threads > x->counts.warp;
}

/* The active lanes, as a share of all lanes of the active warps. */
static double efficiency(const model_counts *c)
{
    double warps = 0, threads = 0;
    for (int k = 0; k < c->steps; k++) warps += c->step[k].warps, threads += c->step[k].threads;
    return warps > 0 ? threads / (c->warp * warps) : 0;
}

static int same_steps(const row *x, const row *y)
{
    const model_counts *const a = &x->counts, *const b = &y->counts;
    if (!has_steps(x) || !has_steps(y) || a->steps != b->steps || a->threads != b->threads)
        return 0;
    for (int k = 0; k < a->steps; k++)
        if (a->step[k].warps != b->step[k].warps || a->step[k].threads != b->step[k].threads)
            return 0;
    return 1;
}

/* Draws one picture for all rungs that are like row `first`, with their names; none if an earlier
 * row is like it. */
static void one_picture(const shape_report *s, int first, FILE *f)
{
    const row *const x = &s->rows[first];
    const model_counts *const c = &x->counts;
    char names[RESULTS_MOST * 40] = "";
    size_t length = 0;
    for (int i = 0; i < s->count; i++) {
        if (!same_steps(x, &s->rows[i])) continue;
        if (i < first) return;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%.30s",
                                   length ? ", " : "", s->rows[i].rung->name);
    }
    const int steps = c->steps < SHOWN ? c->steps : SHOWN;
    const double all = (double)(c->threads + c->warp - 1) / c->warp;
    fprintf(f,
            "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s, warps at work:", WIDE,
            HIGH + BELOW, names);
    for (int k = 0; k < steps; k++) fprintf(f, " %d", c->step[k].warps);
    fprintf(f, "\">");
    for (int k = 0; k < steps; k++) {
        const model_step *const st = &c->step[k];
        const double paid = HIGH * st->warps / all, used = HIGH * st->threads / (c->warp * all);
        const int left = k * COLUMN + 2, width = COLUMN - 4;
        fprintf(f,
                "<rect class=\"paid\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/><rect "
                "class=\"cell\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/><text x=\"%d\" "
                "y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                left, HIGH - paid + 1, width, paid, left, HIGH - used + 1, width, used,
                k * COLUMN + COLUMN / 2, HIGH + 15, st->warps);
    }
    fprintf(f,
            "<text x=\"2\" y=\"%d\">warps at work%s</text></svg><figcaption><b>%s</b>: "
            "%.0f&nbsp;%% of their lanes work</figcaption></figure>\n",
            HIGH + 31, c->steps > SHOWN ? " (the first steps)" : "", names, 100 * efficiency(c));
}

static void one_row(const row *x, FILE *f)
{
    const model_counts *const c = &x->counts;
    fprintf(f, "<tr><th scope=\"row\">%s</th><td>%.0f&nbsp;%%</td><td class=\"left\">",
            x->rung->name, 100 * efficiency(c));
    for (int k = 0; k < c->steps && k < SHOWN; k++) {
        const model_step *const st = &c->step[k];
        fprintf(f, "%s%d&times;%d", k ? " " : "", st->warps,
                st->warps ? (st->threads + st->warps - 1) / st->warps : 0);
    }
    fprintf(f, "%s</td></tr>\n", c->steps > SHOWN ? " ..." : "");
}

void plot_warps(const shape_report *s, FILE *f)
{
    int any = 0;
    for (int i = 0; i < s->count; i++) any |= has_steps(&s->rows[i]);
    if (!any) return;
    fprintf(f, "<h3>Warps that each step pays for</h3><div class=\"maps warps\">\n");
    for (int i = 0; i < s->count; i++)
        if (has_steps(&s->rows[i])) one_picture(s, i, f);
    fprintf(f, "</div><p class=\"soft\">One group; a column is the time between two barriers. The "
               "outline is what the step pays for: the warps that work, each with all of its "
               "lanes. The filled part is what it uses: the lanes that work. Where the outlines "
               "stay high and are empty, lanes are spread over many warps (8 8 8 8). Where the "
               "outlines fall together with the filled part, whole warps rest (8 4 2 1).</p>\n"
               "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"warps at "
               "work\"><table><thead><tr><th scope=\"col\">rung</th><th scope=\"col\">lanes at "
               "work</th><th scope=\"col\" class=\"left\">warps &times; lanes in each of them, "
               "from barrier to barrier</th></tr></thead><tbody>\n");
    for (int i = 0; i < s->count; i++)
        if (has_steps(&s->rows[i])) one_row(&s->rows[i], f);
    fprintf(f, "</tbody></table></div>\n");
}

/* SPDX-License-Identifier: MIT
 * The figures of the page. Bars and strips are HTML boxes, which reflow; the bank maps and the
 * lines over n are SVG. Each has a caption that says how to read it, and a label with its
 * content where its content is in no table. */
#include "html.h"
#include <math.h>
#include <string.h>

static void bar_row(FILE *f, const char *name, double part, double mark, int host,
                    const char *value)
{
    fprintf(f,
            "<span>%s</span><span class=\"track\" aria-hidden=\"true\"><i%s "
            "style=\"width:%.2f%%\"></i>",
            name, host ? " class=\"host\"" : "", 100 * (part > 1 ? 1 : part));
    if (mark > 0) fprintf(f, "<b style=\"left:%.2f%%\"></b>", 100 * (mark > 1 ? 1 : mark));
    fprintf(f, "</span><span class=\"value\">%s</span>\n", value);
}

void plot_rates(const shape_report *s, FILE *f)
{
    double most = 0;
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        if (!x->timed) continue;
        const double rate = (double)x->timing.bytes / x->timing.median, ceiling = row_ceiling(s, x);
        most = fmax(most, fmax(rate, ceiling));
    }
    if (most <= 0) return;
    fprintf(f, "<h3>GB/s of each rung</h3><figure class=\"rates\"><div class=\"bars\">\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        char value[40];
        if (!x->timed) continue;
        const double rate = (double)x->timing.bytes / x->timing.median;
        snprintf(value, sizeof value, "%.1f", 1e-9 * rate);
        bar_row(f, x->rung->name, rate / most, row_ceiling(s, x) / most, x->on_host, value);
    }
    const int reads = reads_only(s->shape);
    fprintf(f,
            "</div><figcaption>Bytes that any algorithm must move, divided by the median time. ");
    if (s->host.read <= 0)
        fprintf(f, "No ceiling is known at this size, because such an input comes from a cache, in "
                   "part or whole. ");
    else
        fprintf(f, "The upright line is the measured ceiling, a %s of as many bytes: ",
                reads ? "read" : "copy");
    if (s->device.read > 0)
        fprintf(f, "%.1f GB/s on the device, ", 1e-9 * (reads ? s->device.read : s->device.copy));
    if (s->host.read > 0)
        fprintf(f, "%.1f GB/s on the processors. ", 1e-9 * (reads ? s->host.read : s->host.copy));
    fprintf(f, "The bars of the processors have another colour.</figcaption></figure>\n");
}

/* 360 units wide, so that its words can be read on a phone. */
enum {
    PLOT_W = 360,
    PLOT_H = 330,
    EDGE_LEFT = 46,
    EDGE_TOP = 10,
    EDGE_BOTTOM = 40,
    EDGE_RIGHT = 40
};

typedef struct axes {
    double n_low, n_high, rate_low, rate_high; /* logarithms */
} axes;

static double across(const axes *a, double n)
{
    return EDGE_LEFT +
           (log2(n) - a->n_low) / (a->n_high - a->n_low) * (PLOT_W - EDGE_LEFT - EDGE_RIGHT);
}
static double down(const axes *a, double rate)
{
    return PLOT_H - EDGE_BOTTOM -
           (log10(rate) - a->rate_low) / (a->rate_high - a->rate_low) *
               (PLOT_H - EDGE_BOTTOM - EDGE_TOP);
}

static void sweep_grid(const shape_report *s, const axes *a, FILE *f)
{
    for (int k = 0; k < s->sweep_count; k++) {
        const double x = across(a, (double)s->sweep[k].n), power = log2((double)s->sweep[k].n);
        fprintf(f,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text "
                "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">2^%.3g</text>\n",
                x, x, EDGE_TOP, PLOT_H - EDGE_BOTTOM, x, PLOT_H - EDGE_BOTTOM + 18, power);
    }
    for (double power = a->rate_low; power <= a->rate_high; power++) {
        const double y = down(a, pow(10, power));
        fprintf(f,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
                "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                EDGE_LEFT, PLOT_W - EDGE_RIGHT, y, y, EDGE_LEFT - 6, y + 4, pow(10, power - 9));
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\">elements</text><text x=\"2\" y=\"%d\">GB/s</text>\n",
            EDGE_LEFT, PLOT_H - 4, PLOT_H - 4);
}

static void sweep_table(const shape_report *s, FILE *f)
{
    fprintf(
        f,
        "<details><summary>figures of the plot</summary><div class=\"scroll\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"GB/s over n\"><table><thead><tr><th scope=\"col\">GB/s</th>");
    for (int k = 0; k < s->sweep_count; k++)
        fprintf(f, "<th scope=\"col\">n = %lld</th>", (long long)s->sweep[k].n);
    fprintf(f, "</tr></thead><tbody>\n");
    for (int i = 0; i < s->count; i++) {
        if (!s->rows[i].timed) continue;
        fprintf(f, "<tr><th scope=\"row\">%s</th>", s->rows[i].rung->name);
        for (int k = 0; k < s->sweep_count; k++)
            fprintf(f, "<td>%.3g</td>", 1e-9 * s->sweep[k].rate[i]);
        fprintf(f, "</tr>\n");
    }
    fprintf(f, "</tbody></table></div></details>\n");
}

void plot_sweep(const shape_report *s, FILE *f)
{
    double most = 0, least = INFINITY;
    for (int k = 0; k < s->sweep_count; k++)
        for (int i = 0; i < s->count; i++) {
            const double rate = s->sweep[k].rate[i];
            most = fmax(most, rate);
            if (rate > 0) least = fmin(least, rate);
        }
    if (s->sweep_count < 2 || most <= 0) return;
    const axes a = {log2((double)s->sweep[0].n), log2((double)s->sweep[s->sweep_count - 1].n),
                    floor(log10(least)), ceil(log10(most * 1.0001))};
    fprintf(f,
            "<h3>GB/s over n</h3><figure class=\"sweep\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"GB/s over n, a line for each rung; the table below has the figures\">\n",
            PLOT_W, PLOT_H);
    sweep_grid(s, &a, f);
    double below = -100; /* numbers at the ends of the lines, none over another */
    int done[RESULTS_MOST] = {0}, count = 0, number[RESULTS_MOST] = {0};
    for (int i = 0; i < s->count; i++)
        if (s->rows[i].timed) {
            number[i] = ++count;
            fprintf(f, "<polyline class=\"line\" style=\"--hue:%d\"%s points=\"", count * 47 % 360,
                    count % 2 ? "" : " stroke-dasharray=\"6 3\"");
            for (int k = 0; k < s->sweep_count; k++)
                if (s->sweep[k].rate[i] > 0)
                    fprintf(f, "%.1f,%.1f ", across(&a, (double)s->sweep[k].n),
                            down(&a, s->sweep[k].rate[i]));
            fprintf(f, "\"><title>%s</title></polyline>\n", s->rows[i].rung->name);
        }
    for (int k = 0; k < count; k++) { /* from the fastest down */
        int best = -1;
        const double *const end = s->sweep[s->sweep_count - 1].rate;
        for (int i = 0; i < s->count; i++)
            if (number[i] && !done[i] && (best < 0 || end[i] > end[best])) best = i;
        done[best] = 1;
        const double y = end[best] > 0 ? fmax(down(&a, end[best]), below + 12) : below + 12;
        below = y;
        fprintf(f, "<text x=\"%d\" y=\"%.1f\">%d</text>", PLOT_W - EDGE_RIGHT + 4 + 16 * (k % 2),
                y + 4, number[best]);
        if (k % 2 == 0) below -= 6;
    }
    fprintf(f, "</svg><figcaption>Both scales are logarithmic. Small n measures launches, large n "
               "measures memory.<ol>");
    for (int i = 0; i < s->count; i++)
        if (number[i]) fprintf(f, "<li>%s</li>", s->rows[i].rung->name);
    fprintf(f, "</ol></figcaption></figure>\n");
    sweep_table(s, f);
}

void plot_steps(const shape_report *s, FILE *f)
{
    enum { SHOWN = 20 };
    int any = 0;
    for (int i = 0; i < s->count; i++) any |= s->rows[i].modelled && s->rows[i].counts.steps > 0;
    if (!any) return;
    fprintf(f, "<h3>Threads and warps at work, from barrier to barrier</h3><figure "
               "class=\"steps\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"threads at work\"><div class=\"strips\">\n");
    for (int i = 0; i < s->count; i++) {
        const model_counts *c = &s->rows[i].counts;
        if (!s->rows[i].modelled || !c->steps) continue;
        fprintf(f, "<span>%s</span><div class=\"strip\" role=\"img\" aria-label=\"%s:",
                s->rows[i].rung->name, s->rows[i].rung->name);
        for (int k = 0; k < c->steps && k < SHOWN; k++)
            fprintf(f, "%s %d in %d warps%s", k ? "," : "", c->step[k].threads, c->step[k].warps,
                    c->step[k].divergent ? " with divergence" : "");
        fprintf(f, "\">");
        for (int k = 0; k < c->steps && k < SHOWN; k++) {
            const model_step *st = &c->step[k];
            fprintf(
                f,
                "<div class=\"step%s\" title=\"line %d: %d threads in %d warps, %d diverge, bank "
                "conflict %d-fold\"><u><i%s style=\"height:%.1f%%\"></i></u>%d<br>%d w</div>",
                st->warps > 1 && st->threads == st->warps ? " lone" : "", st->line, st->threads,
                st->warps, st->divergent, st->shared_degree,
                st->divergent ? " class=\"split\"" : "",
                c->threads ? 100.0 * st->threads / c->threads : 0, st->threads, st->warps);
        }
        fprintf(f, "</div>\n");
    }
    fprintf(f, "</div></div><figcaption>One group. A column is the time between two barriers; its "
               "height is the share of the group's threads that touch memory; below it their "
               "number, and the number of warps (w) that they are in. A warp takes the same time "
               "for one thread as for 32. Striped: some warp diverges. Framed: one productive "
               "thread per warp, in several warps.</figcaption></figure>\n");
}

static void bank_map(FILE *f, const row *x)
{
    enum { CELL = 6, EDGE = 14 };
    const model_counts *c = &x->counts;
    const int w = c->warp * CELL + EDGE + 2, h = c->banks * CELL + EDGE + 2;
    int load[MODEL_BANKS_MOST] = {0};
    for (int l = 0; l < c->warp; l++)
        if (c->worst_bank[l] >= 0) load[c->worst_bank[l]]++;
    fprintf(f,
            "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s, line %d: %d-fold "
            "conflict\"><rect class=\"frame\" x=\"%d\" y=\"1\" width=\"%d\" height=\"%d\"/>",
            w, h, x->rung->name, c->worst_line, c->worst_degree, EDGE, c->warp * CELL,
            c->banks * CELL);
    for (int l = 0; l < c->warp; l++)
        if (c->worst_bank[l] >= 0)
            fprintf(f, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                    load[c->worst_bank[l]] > 1 && c->worst_degree > 1 ? "bad" : "cell",
                    EDGE + l * CELL, 1 + c->worst_bank[l] * CELL, CELL - 1, CELL - 1);
    fprintf(
        f,
        "<text x=\"%d\" y=\"%d\">lane</text><text transform=\"translate(10 %d) "
        "rotate(-90)\">bank</text></svg><figcaption>%s, line %d: %d-fold</figcaption></figure>\n",
        EDGE, h - 2, h / 2, x->rung->name, c->worst_line, c->worst_degree);
}

void plot_banks(const shape_report *s, FILE *f)
{
    int any = 0;
    for (int i = 0; i < s->count; i++)
        any |= s->rows[i].modelled && s->rows[i].counts.worst_degree > 0;
    if (!any) return;
    fprintf(f, "<h3>Bank maps: the worst access of each rung</h3><div class=\"maps banks\">\n");
    for (int i = 0; i < s->count; i++)
        if (s->rows[i].modelled && s->rows[i].counts.worst_degree > 0) bank_map(f, &s->rows[i]);
    fprintf(f, "</div><p class=\"soft\">A mark is a lane (across) and the bank it asks (down). "
               "Marks side by side in one row wait for each other, unless they want the same word; "
               "a diagonal is free of conflicts.</p>\n");
}

void plot_bytes(const shape_report *s, FILE *f)
{
    double most = 0;
    for (int i = 0; i < s->count; i++)
        if (s->rows[i].modelled) most = fmax(most, (double)s->rows[i].counts.sectors);
    if (most <= 0) return;
    fprintf(f, "<h3>Bytes moved</h3><figure class=\"bytes\"><div class=\"bars\">\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        char value[40];
        if (!x->modelled) continue;
        snprintf(value, sizeof value, "%.2f MB", 32e-6 * (double)x->counts.sectors);
        bar_row(f, x->rung->name, (double)x->counts.sectors / most, 0, 0, value);
    }
    fprintf(f,
            "</div><figcaption>Sectors of 32 bytes that all warps ask of global memory, before any "
            "cache.</figcaption></figure>\n");
}

void plot_errors(const shape_report *s, FILE *f)
{
    double most = 0;
    if (s->kind < KIND_F32) return;
    for (int i = 0; i < s->count; i++)
        if (isfinite(s->rows[i].error_ulp)) most = fmax(most, s->rows[i].error_ulp);
    fprintf(f, "<h3>Error, in ulp of the exact result</h3><figure class=\"errors\"><div "
               "class=\"bars\">\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        char value[40];
        snprintf(value, sizeof value, "%.4g", x->error_ulp);
        bar_row(f, x->rung->name,
                log2(1 + (isfinite(x->error_ulp) ? x->error_ulp : most)) / log2(2 + most), 0, 0,
                value);
    }
    fprintf(f,
            "</div><figcaption>How far from the exact result, rounded once; bars on a logarithmic "
            "scale. Orders differ, so errors do; every one here is either the documented one to "
            "the bit or within what any order can give.</figcaption></figure>\n");
}

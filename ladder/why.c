/* SPDX-License-Identifier: MIT
 * Why one rung is faster than another: occupancy, coalescing, coarsening, Little's law, a
 * roofline, and the estimate beside the time. The figures are those of this device, if it was timed
 * and is in the table of estimate.c; else those of the recorded one. */
#include "estimate.h"
#include "html.h"
#include <math.h>
#include <string.h>

typedef struct setting {
    const machine *m;
    double bandwidth, n;
    int is_own_device; /* this report's times */
    const char *name;
} setting;

static setting setting_of(const report *r, const shape_report *s)
{
    const recorded_device *const d = recorded(s->shape);
    const machine *const here = find_machine(r->device_text);
    setting t = {here, reads_only(s->shape) ? s->device.read : s->device.copy, (double)s->n,
                 !r->timed_on_model && here, r->device_text};
    if (t.is_own_device) return t;
    if (!d->name) return (setting){0};
    return (setting){find_machine(d->name), reads_only(s->shape) ? d->read : d->copy, d->n, 0,
                     d->name};
}

static int work_of(const setting *t, const shape_report *s, const row *x, work *w)
{
    return t->is_own_device ? work_of_row(s, x, w) : recorded_work(x->rung, w);
}

/* The errors of the estimates of all recorded rungs, in per cent; a factor of 1.1 and of 1 / 1.1
 * are 10 per cent. */
static void errors_of_estimates(double *mean, double *worst)
{
    int n = 0;
    *mean = *worst = 0;
    for (const rung *g = ladder_table; g->name; g++) {
        const recorded_device *const d = recorded(g->shape);
        work w;
        estimate e;
        if (!recorded_work(g, &w)) continue;
        estimate_time(find_machine(d->name), &w, reads_only(g->shape) ? d->read : d->copy, &e);
        if (e.reason) continue;
        const double off = 100 * (exp(fabs(log(e.seconds / w.seconds))) - 1);
        *mean += off, n++;
        *worst = fmax(*worst, off);
    }
    if (n) *mean /= n;
}

void html_concepts(const report *r, FILE *f)
{
    const recorded_device *const d = recorded(SHAPE_reduce);
    const machine *const device = r->timed_on_model ? NULL : find_machine(r->device_text),
                         *const m = device ? device : find_machine(d->name);
    double mean, worst;
    errors_of_estimates(&mean, &worst);
    const double latency = CYCLES_GLOBAL / (1e9 * m->ghz), bytes = m->peak * latency,
                 each = bytes / m->units;
    fprintf(
        f,
        "<section id=\"why\"><h2>Why it is faster</h2><p>Six words explain every step. The figures "
        "are those of the %s: %d multiprocessors at %.2f GHz, %.0f GB/s.</p><dl "
        "class=\"concepts\">\n"
        "<dt>Latency</dt><dd>The time that one access takes. A word of global memory is there "
        "after about %d cycles (%.1f microseconds), one of shared memory after about %d. A barrier "
        "waits for the slowest warp.</dd>\n"
        "<dt>Little's law</dt><dd>Bytes in flight = speed &times; latency. To keep this memory "
        "busy, %.0f GB/s &times; %.2f microseconds = %.1f MB must be in flight at any moment, %.1f "
        "KB on each multiprocessor. If each of its %d threads has one word of 4 bytes in flight, "
        "that is %.1f KB: %s. Hence several loads for each thread, or 16 bytes in one load.</dd>\n"
        "<dt>Occupancy</dt><dd>Resident warps, divided by the %d that a multiprocessor can hold. "
        "Groups that are too large, or take too much shared memory or too many registers, lower "
        "it. While one warp waits, others work: occupancy hides latency.</dd>\n"
        "<dt>Coalesced</dt><dd>The lanes of a warp ask for neighbouring words, and the hardware "
        "makes few sectors of 32 bytes of them: 4 for 32 lanes with 4 bytes each. With a stride it "
        "is up to 32, and 7 of 8 bytes moved are not used.</dd>\n"
        "<dt>Coarsening</dt><dd>More elements for each thread: fewer groups, fewer barriers, fewer "
        "launches, and more loads in flight. A grid-stride loop is the extreme case.</dd>\n"
        "<dt>Roofline</dt><dd>A kernel is limited by memory speed or by instruction rate, "
        "whichever is lower. Which one it is depends on the instructions for each byte.</dd></dl>\n"
        "<p class=\"soft\">The cycles have the size of textbook figures, and were chosen to fit "
        "the recorded times: an operation %d, shared memory %d, a barrier %d, global memory %d, "
        "and %.1f microseconds for a launch. So fitted, the estimates are within %.0f %% of the "
        "recorded times of the H200 on average and %.0f %% at worst, which shows that the model "
        "can describe them, and not that it can predict another GPU; some rungs have no estimate, "
        "and the tables say why.</p></section>\n",
        m->name, m->units, m->ghz, 1e-9 * m->peak, CYCLES_GLOBAL, 1e6 * latency, CYCLES_SHARED,
        1e-9 * m->peak, 1e6 * latency, 1e-6 * bytes, each / 1024, 32 * m->warps,
        4 * 32.0 * m->warps / 1024, 4 * 32.0 * m->warps < each ? "not enough" : "just enough",
        m->warps, CYCLES_OPERATION, CYCLES_SHARED, CYCLES_BARRIER, CYCLES_GLOBAL,
        1e6 * SECONDS_LAUNCH, mean, worst);
}

static void why_table(const setting *t, const shape_report *s, FILE *f)
{
    fprintf(f,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"estimate and time "
            "of every rung\"><table><caption class=\"soft\">The model's estimate beside the "
            "measured time: %s, n = %.0f</caption><thead><tr><th scope=\"col\">rung</th><th "
            "scope=\"col\">estimate, ms</th><th scope=\"col\">measured, ms</th><th "
            "scope=\"col\">limited by</th><th scope=\"col\">elements for each thread</th><th "
            "scope=\"col\">coalesced</th><th scope=\"col\">occupancy, at most</th><th "
            "scope=\"col\">instructions for each element</th></tr></thead><tbody>\n",
            t->name, t->n);
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        work w;
        estimate e;
        if (!work_of(t, s, x, &w)) {
            if (is_host(x->rung)) continue;
            fprintf(f,
                    "<tr><th scope=\"row\">%s</th><td colspan=\"7\" class=\"left\">not "
                    "recorded</td></tr>\n",
                    x->rung->name);
            continue;
        }
        estimate_time(t->m, &w, t->bandwidth, &e);
        fprintf(f, "<tr><th scope=\"row\">%s</th>", x->rung->name);
        if (e.reason)
            fprintf(f, "<td>none</td>");
        else
            fprintf(f, "<td>%.3f</td>", 1e3 * e.seconds);
        if (w.seconds > 0)
            fprintf(f, "<td>%.3f</td>", 1e3 * w.seconds);
        else
            fprintf(f, "<td>not timed</td>");
        if (e.reason)
            fprintf(f, "<td class=\"left\" colspan=\"%d\">no estimate: %s</td>", w.groups ? 1 : 5,
                    e.reason);
        else
            fprintf(f, "<td class=\"left\">%s</td>", limit_name(e.limit));
        if (w.groups)
            fprintf(f, "<td>%.3g</td><td>%.0f %%</td><td>%.0f %%</td><td>%.1f</td>",
                    w.n / (w.groups * x->rung->threads),
                    w.sectors ? fmin(100, 100 * w.bytes / (32 * w.sectors)) : 0, 100 * e.occupancy,
                    32 * INSTRUCTIONS_OF * w.operations / w.n);
        fprintf(f, "</tr>\n");
    }
    fprintf(f, "</tbody></table></div><p class=\"soft\">Coalesced: the bytes that lanes asked for, "
               "as a share of the sectors that were moved. Occupancy: from the size of a group and "
               "its shared memory; registers are not modelled and can lower it. Instructions: of "
               "lanes, as the model counts them, less a quarter for the compiler.</p>\n");
}

/* ---- the roofline: 360 units wide, so that its words can be read on a phone ---- */

enum {
    ROOF_W = 360,
    ROOF_H = 320,
    ROOF_LEFT = 62,
    ROOF_RIGHT = 12,
    ROOF_TOP = 20,
    ROOF_BOTTOM = 42
};

typedef struct scales {
    double x_low, x_high, y_low, y_high; /* logarithms to base 10 */
} scales;
static double across(const scales *a, double v)
{
    return ROOF_LEFT +
           (log10(v) - a->x_low) / (a->x_high - a->x_low) * (ROOF_W - ROOF_LEFT - ROOF_RIGHT);
}
static double down(const scales *a, double v)
{
    return ROOF_H - ROOF_BOTTOM -
           (log10(v) - a->y_low) / (a->y_high - a->y_low) * (ROOF_H - ROOF_BOTTOM - ROOF_TOP);
}

static void roof_axes(const scales *a, FILE *f)
{
    static const int steps[] = {1, 2, 5};
    for (int k = 0; k < 60; k++) { /* 1, 2, 5, 10, ... */
        const double v = steps[k % 3] * pow(10, k / 3 - 3), x = across(a, v), y = down(a, 1e9 * v);
        if (log10(v) + 9 > a->y_low && log10(v) + 9 < a->y_high)
            fprintf(f,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                    "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                    ROOF_LEFT, ROOF_W - ROOF_RIGHT, y, y, ROOF_LEFT - 4, y + 4, v);
        if (log10(v) > a->x_low && log10(v) < a->x_high)
            fprintf(f,
                    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text "
                    "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                    x, x, ROOF_TOP, ROOF_H - ROOF_BOTTOM, x, ROOF_H - ROOF_BOTTOM + 16, v);
    }
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">instructions of lanes for each byte "
            "moved</text><text transform=\"translate(12 %d) rotate(-90)\" "
            "text-anchor=\"middle\">10^9 instructions per second</text>\n",
            (ROOF_LEFT + ROOF_W) / 2, ROOF_H - 6, (ROOF_H - ROOF_BOTTOM + ROOF_TOP) / 2);
}

typedef struct {
    double x, y;
    const char *name;
} roof_point;

/* Writes a number beside each point, where no point and no other number is. */
static void number_points(const scales *a, const roof_point *point, int n, FILE *f)
{
    double taken[2 * RESULTS_MOST][2];
    for (int k = 0; k < n; k++)
        taken[k][0] = across(a, point[k].x), taken[k][1] = down(a, point[k].y);
    for (int k = 0; k < n; k++) {
        double best = -1, x = 0, y = 0;
        for (int way = 0; way < 32; way++) {
            const double far = 12 + 8 * (way / 16), angle = 6.2831853 * (way % 16) / 16;
            const double at_x = taken[k][0] + far * cos(angle),
                         at_y = taken[k][1] + far * sin(angle);
            double space = 1000;
            for (int o = 0; o < n + k; o++)
                space = fmin(space, hypot((at_x - taken[o][0]) / 1.3, at_y - taken[o][1]));
            space = fmin(space, 11) - 0.05 * way / 16;
            if (at_x > ROOF_LEFT + 6 && at_x < ROOF_W - 8 && at_y > ROOF_TOP &&
                at_y < ROOF_H - ROOF_BOTTOM - 6 && space > best)
                best = space, x = at_x, y = at_y;
        }
        taken[n + k][0] = x, taken[n + k][1] = y;
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"halo\" text-anchor=\"middle\">%d</text>\n",
                x, y + 4, k + 1);
    }
}

static void roofline(const setting *t, const shape_report *s, FILE *f)
{
    roof_point point[RESULTS_MOST];
    int n = 0;
    const double roof = 32.0 * t->m->units * t->m->issue * 1e9 * t->m->ghz,
                 slope = t->bandwidth > 0 ? t->bandwidth : t->m->peak;
    scales a = {INFINITY, log10(4 * roof / slope), INFINITY, log10(2 * roof)};
    for (int i = 0; i < s->count; i++) {
        work w;
        if (!work_of(t, s, &s->rows[i], &w) || !w.groups || w.seconds <= 0 || w.sectors <= 0)
            continue;
        int twin = 0; /* reduce1 to reduce4 have the kernels of tiled_1 to tiled_4 */
        const double x = 32 * INSTRUCTIONS_OF * w.operations / (32 * w.sectors),
                     y = 32 * INSTRUCTIONS_OF * w.operations / w.seconds;
        for (int k = 0; k < n; k++)
            twin |= fabs(x / point[k].x - 1) < 0.01 && fabs(y / point[k].y - 1) < 0.06;
        if (twin) continue;
        point[n].x = x, point[n].y = y, point[n++].name = s->rows[i].rung->name;
        a.x_low = fmin(a.x_low, log10(x / 1.6)), a.x_high = fmax(a.x_high, log10(1.6 * x)),
        a.y_low = fmin(a.y_low, log10(y / 2));
    }
    if (n < 2) return;
    const double ridge = roof / slope, left = pow(10, a.x_low);
    a.y_low = fmin(a.y_low, log10(left * slope));
    fprintf(f,
            "<figure class=\"roofline\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"roofline; the list below names the points\">\n",
            ROOF_W, ROOF_H);
    roof_axes(&a, f);
    fprintf(
        f,
        "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/><text x=\"%.1f\" "
        "y=\"%.1f\" text-anchor=\"end\">instruction roof</text><text transform=\"translate(%.1f "
        "%.1f) rotate(%.1f)\">memory roof</text>\n",
        across(&a, left), down(&a, left * slope), across(&a, ridge), down(&a, roof),
        across(&a, pow(10, a.x_high)), down(&a, roof), across(&a, pow(10, a.x_high)),
        down(&a, roof) - 4, across(&a, left) + 6, down(&a, left * slope) - 12,
        -180 / 3.14159265 *
            atan2(down(&a, left * slope) - down(&a, roof), across(&a, ridge) - across(&a, left)));
    for (int k = 0; k < n; k++)
        fprintf(f, "<circle class=\"cell\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
                across(&a, point[k].x), down(&a, point[k].y));
    number_points(&a, point, n, f);
    fprintf(
        f,
        "</svg><figcaption>Roofline, %s, n = %.0f. Both scales are logarithmic. A point below both "
        "roofs is limited by neither: it waits (latency, barriers, bank conflicts, launches). A "
        "point above the memory roof is served by caches: bytes are counted before them. A point "
        "above the instruction roof has fewer instructions than the model's operations.<ol>",
        t->name, t->n);
    for (int k = 0; k < n; k++)
        fprintf(f, "<li>%s: %.2f for each byte, %.0f %% of the lower roof</li>", point[k].name,
                point[k].x, 100 * point[k].y / fmin(roof, point[k].x * slope));
    fprintf(f, "</ol></figcaption></figure>\n");
}

void plot_why(const report *r, const shape_report *s, FILE *f)
{
    const setting t = setting_of(r, s);
    int any = 0;
    for (int i = 0; i < s->count; i++) any |= !is_host(s->rows[i].rung);
    if (!any) return;
    fprintf(f, "<h3>Estimate and time</h3>\n");
    if (!t.m) {
        fprintf(f, "<p>There is no estimate: nothing of this kind was timed here or recorded on a "
                   "known GPU.</p>\n");
        return;
    }
    if (!r->timed_on_model && !t.is_own_device) {
        fprintf(f,
                "<p>There is no estimate for this device: its clock and units are not known to the "
                "ladder (ladder/estimate.c). The table is that of the recorded %s.</p>\n",
                t.name);
    }
    why_table(&t, s, f);
    roofline(&t, s, f);
}

/* SPDX-License-Identifier: MIT
 * The opening of the page: from the first rung to the last, what each step changed and what came
 * of it, on a recorded H200, on the card of the lecture of 2010, and on the reader's own device
 * where it was timed. All factors are computed from the times; the texts only say what was
 * changed. */
#include "estimate.h"
#include "html.h"
#include <string.h>

typedef struct chapter {
    const char *rung, *idea, *text;
} chapter;

static const chapter path[] = {
    {"sequential", "one loop",
     "One core reads one element after the other. It can have only a few reads in flight, so most "
     "of the memory's "
     "speed "
     "is out of its reach."},
    {"simple_1", "one thread for each pair",
     "Thousands of threads. Neighbouring lanes read neighbouring words: the accesses are "
     "coalesced, 4 sectors for 32 "
     "lanes. But each halving is a launch of its own, and in all 12 bytes are moved for an element "
     "of 4."},
    {"simple_2", "coarsening",
     "A thread folds eight elements before it writes one. A third of the launches, and 5.1 bytes "
     "for each element."},
    {"tiled_1", "shared memory",
     "A group folds its tile in shared memory, so global memory is read once. But a thread has one "
     "element only, waits "
     "at "
     "nine barriers for it, and half of the lanes, then three quarters, are idle in warps that "
     "diverge."},
    {"tiled_2", "working threads side by side",
     "The working threads are side by side, so whole warps rest. The price: their words are 2s "
     "apart, which means bank "
     "conflicts, up to 8-fold."},
    {"tiled_3", "sequential addressing",
     "Thread t works on words t and t + s. No bank conflict is left."},
    {"tiled_4", "first addition while loading",
     "Coarsening by two: half of the groups and half of the barriers for the same bytes."},
    {"cascade", "grid-stride loop",
     "8 groups of 256 threads for each multiprocessor, which are the 2048 threads that it holds. Each thread strides over the "
     "whole input with "
     "many loads "
     "in flight, and the tree with its barriers comes once. Now the memory is the limit."},
    {"shuffle", "warp shuffles",
     "Lanes read each other's registers: one barrier instead of nine. The memory is the limit "
     "already, so little is "
     "gained."},
    {"vector_load", "16 bytes for each lane",
     "A quarter of the load instructions for the same sectors, and more bytes in flight for each "
     "of them (Little's "
     "law)."},
};

static void factor(FILE *f, double by, const char *than)
{
    if (by >= 1.05)
        fprintf(f, "<b>%.*f times as fast</b> as %s", by < 10 ? 2 : 0, by, than);
    else if (by > 0.95)
        fprintf(f, "<b>a tie</b> with %s", than);
    else
        fprintf(f, "<b>slower: %.2f times as fast</b> as %s", by, than);
}

static const row *row_of(const report *r, const rung *g)
{
    for (int i = 0; i < r->shape_count; i++)
        for (int k = 0; k < r->shapes[i].count; k++)
            if (r->shapes[i].rows[k].rung == g) return &r->shapes[i].rows[k];
    return NULL;
}

/* On the reader's own device; first: of the first rung, 0 where it is not to be compared with. */
static void time_here(const timing *t, double first, FILE *f)
{
    fprintf(f, " Here: %.4g ms", 1e3 * t->median);
    if (uncertain(t))
        fprintf(f, ", but its runs are more than 20 %% apart.");
    else if (first > 0)
        fprintf(f, ", %.*f times as fast as the first rung.", first / t->median < 10 ? 2 : 0,
                first / t->median);
    else
        fprintf(f, ".");
}

static void one_chapter(const report *r, size_t k, double before, double first, double here_first,
                        FILE *f)
{
    const rung *const g = find_rung("reduce", path[k].rung);
    const recorded_device *const d = recorded(SHAPE_reduce);
    const machine *const m = find_machine(d->name);
    const row *const here = row_of(r, g);
    work w;
    estimate e;
    if (!recorded_work(g, &w)) return;
    fprintf(f, "<li><h3>%s: %s</h3><p>%s</p><div class=\"bars\">", g->name, path[k].idea,
            path[k].text);
    const double part = 100 * 4 * w.n / w.seconds / d->read;
    fprintf(f,
            "<span>%.*f ms</span><span class=\"track\" aria-hidden=\"true\"><i "
            "style=\"width:%.2f%%\"></i></span><span "
            "class=\"value\">%.0f&times;</span></div><p>",
            w.seconds < 1e-3 ? 4 : 2, 1e3 * w.seconds, part > 100 ? 100 : part, first / w.seconds);
    if (k) {
        factor(f, before / w.seconds, path[k - 1].rung);
        fprintf(f, "; <b>%.0f times</b> as fast as the first rung.", first / w.seconds);
    } else {
        fprintf(f, "On one core of a Xeon.");
    }
    estimate_time(m, &w, d->read, &e);
    if (e.none)
        fprintf(f, " No estimate: %s.", e.none);
    else
        fprintf(f, " The model's estimate: %.3f ms, limited by %s.", 1e3 * e.seconds,
                e.limit == BY_ISSUE ? "the rate of instructions" : limit_name(e.limit));
    if (here && here->timed && !r->timed_on_model) time_here(&here->timing, here_first, f);
    fprintf(f, "</p></li>\n");
}

/* The lecture's table: its own card, and the recorded one, sixteen years later. */
static void past_table(FILE *f)
{
    static const struct {
        const char *rung, *idea;
    } then[] = {{"reduce1", "shared memory, divergent"},
                {"reduce2", "consecutive threads, bank conflicts"},
                {"reduce3", "sequential addressing"},
                {"reduce4", "first addition while loading"},
                {"reduce5", "last warp without barriers"}};
    double first_past = 0, first_now = 0, before_past = 0, before_now = 0;
    work w;
    fprintf(f, "<h3>The same story on the card of 2010</h3><p>The lecture that this ladder follows "
               "printed these "
               "times: 16 million ints on a Tesla C2070. "
               "The order of its ideas still holds. Its factors are those of its machine: "
               "divergence costs less now, "
               "because compilers turn "
               "short branches into predicates; bank conflicts do not.</p>\n<div class=\"scroll\" "
               "tabindex=\"0\" "
               "role=\"region\" aria-label=\"2010 and now\"><table>"
               "<thead><tr><th scope=\"col\">version</th><th scope=\"col\">2010, ms</th><th "
               "scope=\"col\">over the one "
               "before</th><th scope=\"col\">over the first</th>"
               "<th scope=\"col\">H200, ms</th><th scope=\"col\">over the one before</th><th "
               "scope=\"col\">over the "
               "first</th><th scope=\"col\">idea</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        const rung *const g = find_rung("reduce", then[i].rung);
        const double past = past_milliseconds(g), now = recorded_work(g, &w) ? 1e3 * w.seconds : 0;
        if (!i) first_past = before_past = past, first_now = before_now = now;
        fprintf(f,
                "<tr><th "
                "scope=\"row\">%s</th><td>%.2f</td><td>%.2f&times;</td><td><b>%.1f&times;</b></"
                "td><td>%.4f</"
                "td><td>%.2f&times;</td><td><b>%.1f&times;</b></td><td>%s</td></tr>\n",
                then[i].rung, past, before_past / past, first_past / past, now,
                now > 0 ? before_now / now : 0, now > 0 ? first_now / now : 0, then[i].idea);
        before_past = past, before_now = now;
    }
    const rung *const omp = find_rung("reduce", "openmp");
    fprintf(f,
            "<tr><th "
            "scope=\"row\">openmp</th><td>%.2f</td><td></td><td></td><td>%.4f</td><td></td><td></"
            "td><td>two "
            "Xeon E5620 then, 16 cores of one Xeon now</td></tr>\n",
            past_milliseconds(omp), recorded_work(omp, &w) ? 1e3 * w.seconds : 0);
    fprintf(f, "</tbody></table></div>\n");
}

void html_story(const report *r, FILE *f)
{
    const recorded_device *const d = recorded(SHAPE_reduce);
    double first = 0, before = 0, here_first = 0, last = 0;
    work w;
    for (size_t k = 0; k < sizeof path / sizeof *path; k++) {
        const row *const here = row_of(r, find_rung("reduce", path[k].rung));
        if (k == 0 && here && here->timed && !uncertain(&here->timing))
            here_first = here->timing.median;
        if (!recorded_work(find_rung("reduce", path[k].rung), &w)) continue;
        if (first == 0) first = w.seconds;
        last = w.seconds;
    }
    fprintf(f,
            "<section id=\"story\"><h2>From the first rung to the last</h2><p>The sum of %.0f "
            "whole numbers of 4 "
            "bytes. From one loop to the last rung the time "
            "falls from %.4g ms to %.4g ms: <b>%.0f times as fast</b>. %s"
            "The times were recorded on an %s%s. A bar is the share of the measured read ceiling, "
            "%.0f GB/s; the "
            "figure beside it is the "
            "factor over the first rung.</p>\n<ol class=\"chapters\">\n",
            d->n, 1e3 * first, 1e3 * last, first / last,
            4 * d->n / last > 0.95 * d->read
                ? "The last rung is as fast as the ladder's plain read of the same bytes, "
                  "so there is nothing left to gain. "
                : "",
            d->name,
            r->timed_on_model ? ", because no kernel was timed here"
                              : "; where a rung was timed on this device too, its line says so",
            1e-9 * d->read);
    for (size_t k = 0; k < sizeof path / sizeof *path; k++) {
        one_chapter(r, k, before, first, here_first, f);
        if (recorded_work(find_rung("reduce", path[k].rung), &w)) before = w.seconds;
    }
    fprintf(f, "</ol>\n");
    past_table(f);
    fprintf(f, "</section>\n");
}

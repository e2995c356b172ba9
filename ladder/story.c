/* SPDX-License-Identifier: MIT
 * The first section of the page: from the first rung to the last, what each step changed and how
 * much faster it is, on a recorded H200, on the GPU of the lecture of 2010, and on the reader's own
 * device if it was timed there. All factors are computed from the times; the texts only say what
 * was changed. */
#include "estimate.h"
#include "html.h"
#include <string.h>

typedef struct chapter {
    const char *rung, *idea, *text;
} chapter;

static const chapter chapters[] = {
    {"sequential", "one loop",
     "One core reads one element after the other. It can have only a few reads in flight, so most "
     "of the memory's speed is out of its reach."},
    {"simple_1", "one thread for each pair",
     "Thousands of threads. Neighbouring lanes read neighbouring words: the accesses are "
     "coalesced, 4 sectors for 32 lanes. But each halving is a launch of its own, and in all 12 "
     "bytes are moved for an element of 4."},
    {"simple_2", "coarsening",
     "A thread folds eight elements before it writes one. A third of the launches, and 5.1 bytes "
     "for each element."},
    {"tiled_1", "shared memory",
     "A group folds its tile in shared memory, so global memory is read once. But a thread has one "
     "element only, waits at nine barriers for it, and half of the lanes, then three quarters, are "
     "idle in warps that diverge."},
    {"tiled_2", "working threads side by side",
     "The working threads are side by side, so whole warps rest. The price: their words are 2s "
     "apart, which means bank conflicts, up to 8-fold."},
    {"tiled_3", "sequential addressing",
     "Thread t works on words t and t + s. No bank conflict is left."},
    {"tiled_4", "first addition while loading",
     "Coarsening by two: half of the groups and half of the barriers for the same bytes."},
    {"cascade", "grid-stride loop",
     "8 groups of 256 threads for each multiprocessor, which are the 2048 threads that it holds. "
     "Each thread strides over the whole input with many loads in flight, and the tree with its "
     "barriers comes once. Now the memory is the limit."},
    {"shuffle", "warp shuffles",
     "Lanes read each other's registers: one barrier instead of nine. The memory is the limit "
     "already, so little is gained."},
    {"vector_load", "16 bytes for each lane",
     "A quarter of the load instructions for the same sectors, and more bytes in flight for each "
     "of them (Little's law)."},
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

/* The time of chapter k's rung on the reader's own device. NULL: it was not timed there, or its
 * runs differ too much. */
static const timing *time_here(const report *r, size_t k)
{
    const row *const here = row_of(r, find_rung("reduce", chapters[k].rung));
    if (r->timed_on_model || !here || !here->timed || uncertain(&here->timing)) return NULL;
    return here->verdict == RIGHT ? &here->timing : NULL;
}

/* Draws a time as a bar. part: the length, at most 1. first: 0, or the time of the first rung. */
static void draw_bar(double seconds, double first, double part, FILE *f)
{
    fprintf(f,
            "<div class=\"bars\"><span>%.*f ms</span><span class=\"track\" aria-hidden=\"true\"><i "
            "style=\"width:%.2f%%\"></i></span><span class=\"value\">",
            seconds < 1e-3 ? 4 : 2, 1e3 * seconds, part > 1 ? 100 : 100 * part);
    if (first > 0) fprintf(f, "%.*f&times;", first / seconds < 10 ? 1 : 0, first / seconds);
    fprintf(f, "</span></div><p>");
}

/* Writes the time on the reader's own device, and after it the recorded one. */
static void chapter_here(const report *r, size_t k, const work *w, double first, FILE *f)
{
    const timing *const t = time_here(r, k), *const before = k ? time_here(r, k - 1) : NULL,
                        *const one = time_here(r, 0);
    const shape_report *s = &r->shapes[0];
    for (int i = 0; i < r->shape_count; i++)
        if (r->shapes[i].shape == SHAPE_reduce) s = &r->shapes[i];
    const double ceiling = k ? s->device.read : s->host.read, rate = (double)t->bytes / t->median;
    draw_bar(t->median, one ? one->median : 0, ceiling > 0 ? rate / ceiling : 0, f);
    if (before) factor(f, before->median / t->median, chapters[k - 1].rung);
    if (before) fprintf(f, " on this device. ");
    fprintf(f, "Recorded on an %s: %.4g ms, %.0f&times; the first rung.",
            recorded(SHAPE_reduce)->name, 1e3 * w->seconds, first / w->seconds);
}

/* Writes the recorded time and its estimate. */
static void recorded_chapter(const report *r, size_t k, const work *w, double before, double first,
                             FILE *f)
{
    const recorded_device *const d = recorded(SHAPE_reduce);
    const machine *const m = find_machine(d->name);
    const row *const here = row_of(r, find_rung("reduce", chapters[k].rung));
    estimate e;
    draw_bar(w->seconds, first, 4 * w->n / w->seconds / d->read, f);
    if (k) {
        factor(f, before / w->seconds, chapters[k - 1].rung);
        fprintf(f, "; <b>%.0f times</b> as fast as the first rung.", first / w->seconds);
    } else {
        fprintf(f, "On one core of a Xeon.");
    }
    estimate_time(m, w, d->read, &e);
    if (e.reason)
        fprintf(f, " No estimate: %s.", e.reason);
    else
        fprintf(f, " The model's estimate: %.3f ms, limited by %s.", 1e3 * e.seconds,
                e.limit == BY_ISSUE ? "the rate of instructions" : limit_name(e.limit));
    if (here && here->timed && !r->timed_on_model)
        fprintf(f, " On this device: %.4g ms, but its runs are more than 20 %% apart.",
                1e3 * here->timing.median);
}

static void one_chapter(const report *r, size_t k, double before, double first, FILE *f)
{
    work w;
    if (!recorded_work(find_rung("reduce", chapters[k].rung), &w)) return;
    fprintf(f, "<li><h3>%s: %s</h3><p>%s</p>", chapters[k].rung, chapters[k].idea,
            chapters[k].text);
    if (time_here(r, k))
        chapter_here(r, k, &w, first, f);
    else
        recorded_chapter(r, k, &w, before, first, f);
    fprintf(f, "</p></li>\n");
}

/* The table of the lecture: times of its GPU, and of the recorded one sixteen years later. */
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
               "printed these times: 16 million ints on a Tesla C2070. The order of its ideas "
               "still holds; its factors are those of its machine.</p>\n<div class=\"scroll\" "
               "tabindex=\"0\" role=\"region\" aria-label=\"2010 and now\"><table><thead><tr><th "
               "scope=\"col\">version</th><th scope=\"col\">2010, ms</th><th scope=\"col\">over "
               "the one before</th><th scope=\"col\">over the first</th><th scope=\"col\">H200, "
               "ms</th><th scope=\"col\">over the one before</th><th scope=\"col\">over the "
               "first</th><th scope=\"col\">idea</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        const rung *const g = find_rung("reduce", then[i].rung);
        const double past = past_milliseconds(g), now = recorded_work(g, &w) ? 1e3 * w.seconds : 0;
        if (!i) first_past = before_past = past, first_now = before_now = now;
        fprintf(f,
                "<tr><th "
                "scope=\"row\">%s</th><td>%.2f</td><td>%.2f&times;</td><td><b>%.1f&times;</b></"
                "td><td>%.4f</td><td>%.2f&times;</td><td><b>%.1f&times;</b></td><td>%s</td></tr>\n",
                then[i].rung, past, before_past / past, first_past / past, now,
                now > 0 ? before_now / now : 0, now > 0 ? first_now / now : 0, then[i].idea);
        before_past = past, before_now = now;
    }
    const rung *const omp = find_rung("reduce", "openmp");
    fprintf(f,
            "<tr><th "
            "scope=\"row\">openmp</th><td>%.2f</td><td></td><td></td><td>%.4f</td><td></td><td></"
            "td><td>two Xeon E5620 then, 16 cores of one Xeon now</td></tr>\n",
            past_milliseconds(omp), recorded_work(omp, &w) ? 1e3 * w.seconds : 0);
    fprintf(f, "</tbody></table></div>\n");
}

void html_story(const report *r, FILE *f)
{
    enum { ENDING = sizeof chapters / sizeof *chapters - 1 };
    const recorded_device *const d = recorded(SHAPE_reduce);
    const timing *const one = time_here(r, 0), *const end = time_here(r, ENDING);
    double first = 0, before = 0, last = 0;
    int timed_here = 0;
    work w;
    for (size_t k = 0; k <= ENDING; k++) {
        timed_here += time_here(r, k) != NULL;
        if (!recorded_work(find_rung("reduce", chapters[k].rung), &w)) continue;
        if (first == 0) first = w.seconds;
        last = w.seconds;
    }
    fprintf(f, "<section id=\"story\"><h2>From the first rung to the last</h2><p>");
    if (one && end)
        fprintf(f,
                "On this device the time falls from %.4g ms to %.4g ms: <b>%.0f times as fast</b>. "
                "On a recorded %s, with %.0f whole numbers of 4 bytes, from %.4g ms to %.4g ms: "
                "%.0f times. ",
                1e3 * one->median, 1e3 * end->median, one->median / end->median, d->name, d->n,
                1e3 * first, 1e3 * last, first / last);
    else
        fprintf(f,
                "The sum of %.0f whole numbers of 4 bytes. From one loop to the last rung the time "
                "falls from %.4g ms to %.4g ms: <b>%.0f times as fast</b>. %s",
                d->n, 1e3 * first, 1e3 * last, first / last,
                4 * d->n / last > 0.95 * d->read
                    ? "The last rung is as fast as the ladder's plain read of the same "
                      "bytes, so there is nothing left to gain. "
                    : "");
    fprintf(f,
            timed_here ? "Where a rung was timed on this device, its bar and its factor are this "
                         "device's; else they are those of the %s. "
                       : "The times were recorded on an %s, because no kernel was timed here. ",
            d->name);
    fprintf(f,
            "A bar is the share of the measured read ceiling%s; the figure beside it is the factor "
            "over the first rung.</p>\n<ol class=\"chapters\">\n",
            timed_here ? " of its machine" : "");
    for (size_t k = 0; k <= ENDING; k++) {
        one_chapter(r, k, before, first, f);
        if (recorded_work(find_rung("reduce", chapters[k].rung), &w)) before = w.seconds;
    }
    fprintf(f, "</ol>\n");
    past_table(f);
    fprintf(f, "</section>\n");
}

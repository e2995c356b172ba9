/* SPDX-License-Identifier: MIT
 * The report as one page: no script, no network, nothing to build. Tables carry every figure
 * that a plot shows, so that a screen reader loses nothing; bars and strips are boxes that
 * reflow on a phone; colours follow the reader's light or dark setting. */
#include "html.h"
#include "export.h"
#include <stdlib.h>
#include <string.h>

void html_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        static const char plain[] = "<>&\"";
        static const char *const escaped[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
        const char *const at = strchr(plain, *text);
        if (at)
            fputs(escaped[at - plain], f);
        else
            fputc(*text, f);
    }
}

double row_ceiling(const shape_report *s, const row *x)
{
    const ceilings *c = x->on_host ? &s->host : &s->device;
    return reads_only(s->shape) ? c->read : c->copy;
}

static void scroll_start(FILE *f, const char *label)
{
    fprintf(f, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    html_text(f, label);
    fprintf(f, "\">\n");
}

static void times_table(const shape_report *s, FILE *f)
{
    double first = 0;
    scroll_start(f, "times of every rung");
    fprintf(f,
            "<table><caption class=\"soft\">Times and checks</caption><thead><tr><th "
            "scope=\"col\">rung</th><th scope=\"col\">ms</th><th scope=\"col\">over the one "
            "before</th><th scope=\"col\">over the first</th><th scope=\"col\">check</th><th "
            "scope=\"col\">GB/s</th><th scope=\"col\">of ceiling</th><th "
            "scope=\"col\">spread</th><th scope=\"col\">copy in, ms</th><th scope=\"col\">copy "
            "out, ms</th><th scope=\"col\">fold on the processor, ms</th>%s</tr></thead><tbody>\n",
            s->shape == SHAPE_reduce ? "<th scope=\"col\">ms in 2010</th>" : "");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i], *b = rung_before(s, i);
        const timing *t = &x->timing;
        const double ceiling = row_ceiling(s, x);
        fprintf(f, "<tr><th scope=\"row\"><a href=\"#%s-%s\">%s</a></th>", shape_name(s->shape),
                x->rung->name, x->rung->name);
        if (x->timed) {
            if (first == 0) first = t->median;
            fprintf(f, "<td>%.4f</td>", 1e3 * t->median);
            if (b && b->timed)
                fprintf(f, "<td>%.2f&times;</td>", b->timing.median / t->median);
            else
                fprintf(f, "<td></td>");
            fprintf(f, "<td>%.2f&times;</td><td class=\"%s\">%s</td><td>%.2f</td>",
                    first / t->median, verdict_word(x), verdict_word(x),
                    1e-9 * (double)t->bytes / t->median);
            if (ceiling > 0)
                fprintf(f, "<td>%.0f %%</td>", 100 * (double)t->bytes / t->median / ceiling);
            else
                fprintf(f, "<td></td>");
            fprintf(f, "<td%s>%.1f %%</td>", uncertain(t) ? " class=\"caught\"" : "",
                    100 * (t->high - t->low) / t->median);
            if (x->on_host)
                fprintf(f, "<td></td><td></td><td></td>");
            else
                fprintf(f, "<td>%.3f</td><td>%.3f</td><td>%.4f</td>", 1e3 * t->copy_in,
                        1e3 * t->copy_out, 1e3 * t->fold);
        } else {
            fprintf(f,
                    "<td>not timed</td><td></td><td></td><td "
                    "class=\"%s\">%s</td><td></td><td></td><td></td><td></td><td></td><td></td>",
                    verdict_word(x), verdict_word(x));
        }
        if (s->shape == SHAPE_reduce && past_milliseconds(x->rung) > 0)
            fprintf(f, "<td>%.2f</td>", past_milliseconds(x->rung));
        else if (s->shape == SHAPE_reduce)
            fprintf(f, "<td></td>");
        fprintf(f, "</tr>\n");
    }
    fprintf(f,
            "</tbody></table></div>\n<p class=\"soft\">Every time ends when the result is on the "
            "device (or in the processor's memory, for its own rows); copies and the processor's "
            "fold are apart. A spread above 20 %% is no time to compare with.</p>\n");
    if (s->shape == SHAPE_reduce)
        fprintf(f, "<p class=\"soft\">2010: 16 million ints on a Tesla C2070; OpenMP on two Xeon "
                   "E5620 (from the CUDA lecture).</p>\n");
}

static void counts_table(const shape_report *s, FILE *f)
{
    scroll_start(f, "counts of every rung");
    fprintf(
        f,
        "<table><caption class=\"soft\">Counted by the model from the rungs' own "
        "kernels</caption><thead><tr><th scope=\"col\">rung</th><th scope=\"col\">launches</th><th "
        "scope=\"col\">barriers</th><th scope=\"col\">branches that diverge</th><th "
        "scope=\"col\">active lanes</th><th scope=\"col\">shared accesses</th><th "
        "scope=\"col\">bank conflict passes</th><th scope=\"col\">requests</th><th "
        "scope=\"col\">sectors per request</th><th scope=\"col\">races</th></tr></thead><tbody>\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        const model_counts *c = &x->counts;
        char text[40];
        if (!x->modelled) continue;
        fprintf(f,
                "<tr><th scope=\"row\">%s</th><td>%s</td><td>%lld</td><td>%.1f %%</td><td>%.1f "
                "%%</td><td>%lld</td><td>%lld</td><td>%lld</td><td>%.2f</td><td>%lld</td></tr>\n",
                x->rung->name, launches_text(x, text, sizeof text), (long long)c->barriers,
                c->branches ? 100.0 * (double)c->divergent / (double)c->branches : 0,
                c->operations ? 100.0 * (double)c->lanes / ((double)c->operations * c->warp) : 0,
                (long long)c->shared, (long long)c->conflicts, (long long)c->requests,
                c->requests ? (double)c->sectors / (double)c->requests : 0, (long long)c->races);
    }
    fprintf(f, "</tbody></table></div>\n<p class=\"soft\">%s</p>\n", LAUNCHES_TEXT);
}

static void item(FILE *f, const char *term, const char *text, const char *class)
{
    if (!text[0]) return;
    fprintf(f, "<dt>%s</dt><dd%s%s%s>", term, class ? " class=\"" : "", class ? class : "",
            class ? "\"" : "");
    html_text(f, text);
    fprintf(f, "</dd>");
}

static void one_rung(const shape_report *s, const row *x, FILE *f)
{
    char path[80], line[300];
    const char *const text = rung_text(x->rung, path, sizeof path); /* a reader's: as it was read */
    if (x->text) snprintf(path, sizeof path, "%.79s", x->rung->name);
    fprintf(f, "<article id=\"%s-%s\"><h3>%s</h3><dl>", shape_name(s->shape), x->rung->name,
            x->rung->name);
    static const char *const heads[] = {"teaches", "source", "look at"};
    for (int i = 0; i < 3; i++) {
        head_line(text, heads[i], line, sizeof line);
        item(f, heads[i], line, NULL);
    }
    item(f, "here", x->sentence, NULL);
    item(f, "check", x->reason, verdict_word(x));
    fprintf(f, "</dl><details><summary>%s%s</summary><pre tabindex=\"0\"><code>",
            x->text ? "" : "ladder/", path);
    html_text(f, text ? text : "");
    fprintf(f, "</code></pre></details>");
    if (x->rung->schedule >= LIBRARY) {
        char *host = NULL;
        size_t length = 0;
        FILE *const whole = open_memstream(&host, &length);
        if (whole) export_schedule(whole, x->rung, is_host(x->rung) ? API_C : API_CUDA);
        if (whole) fclose(whole);
        fprintf(f,
                "<details><summary>how the host runs it, in words and in %s</summary><pre "
                "tabindex=\"0\"><code>",
                is_host(x->rung) ? "C" : "CUDA");
        html_text(f, host_text(x->rung));
        fprintf(f, "</code></pre><pre tabindex=\"0\"><code>");
        html_text(f, host ? host : "");
        fprintf(f,
                "</code></pre><p class=\"soft\">The whole program: <code>tally ladder export %s/%s "
                "--to %s</code>.</p></details>",
                shape_name(s->shape), x->rung->name,
                is_host(x->rung) ? "c" : "cuda</code>, <code>opencl</code> or <code>c");
        free(host);
    }
    fprintf(f, "</article>\n");
}

static void one_shape(const report *r, const shape_report *s, FILE *f)
{
    fprintf(f, "<section id=\"%s\"><h2>%s</h2><p>%s of %lld %s", shape_name(s->shape),
            shape_name(s->shape), task_name(r, s), (long long)s->n, kind_name(s->kind));
    if (s->shape == SHAPE_window) fprintf(f, ", windows of %lld", (long long)s->width);
    int64_t checked = 0, off = 0;
    for (int i = 0; i < s->count; i++) checked += s->rows[i].checked, off += s->rows[i].off;
    fprintf(f, ". %s Checked: %lld results, every one of every rung", r->device_note,
            (long long)checked);
    if (off) fprintf(f, "; %lld are off", (long long)off);
    fprintf(f, ".</p>\n");
    plot_rates(s, f);
    times_table(s, f);
    plot_sweep(s, f);
    plot_why(r, s, f);
    plot_stepper(s, f);
    plot_trees(s, f);
    plot_steps(s, f);
    plot_warps(s, f);
    plot_banks(s, f);
    plot_bytes(s, f);
    counts_table(s, f);
    plot_errors(s, f);
    fprintf(f, "<h3>The rungs</h3>\n<details><summary>around all of them: choosing the "
               "accelerator, arrays, copies (CUDA)</summary><pre tabindex=\"0\"><code>");
    html_text(f, ladder_text("host/cuda.txt"));
    fprintf(f, "</code></pre></details>\n");
    for (int i = 0; i < s->count; i++) one_rung(s, &s->rows[i], f);
    fprintf(f, "</section>\n");
}

/* A reader's file may have any name: for the page it is one without signs of HTML. Returns what
   was there. */
static const rung *with_plain_name(row *x, rung *renamed, char *name, size_t bytes)
{
    const rung *const was = x->rung;
    if (!x->text) return was;
    *renamed = *was;
    renamed->name = name;
    snprintf(name, bytes, "%s", was->name);
    for (char *at = name; *at; at++)
        if (strchr("<>&\"'\\", *at)) *at = '_';
    x->rung = renamed;
    return was;
}

static void one_shape_plainly(const report *r, const shape_report *s, FILE *f)
{
    rung renamed[RESULTS_MOST];
    const rung *was[RESULTS_MOST];
    char names[RESULTS_MOST][64];
    for (int i = 0; i < s->count; i++)
        was[i] = with_plain_name(&s->rows[i], &renamed[i], names[i], sizeof names[i]);
    one_shape(r, s, f);
    for (int i = 0; i < s->count; i++) s->rows[i].rung = was[i];
}

void report_html(const report *r, FILE *f)
{
    const char *const css = ladder_text("report.css");
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
            "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\"><title>tally ladder: "
            "%s</title>\n<style>\n%s</style></head>\n<body>\n<header><h1>tally ladder</h1><p>",
            r->device, css ? css : "");
    html_text(f, r->device);
    fprintf(f, ": ");
    html_text(f, r->device_text);
    fprintf(f, "<br>");
    html_text(f, r->machine);
    fprintf(f,
            "<br>model: warps of %d lanes, %d banks; tally %s</p></header>\n<nav "
            "class=\"contents\" aria-label=\"parts\"><ul><li><a href=\"#story\">the "
            "story</a></li><li><a href=\"#why\">why it is faster</a></li>",
            r->warp, r->banks, tally_version());
    for (int i = 0; i < r->shape_count; i++) {
        const char *const name = shape_name(r->shapes[i].shape);
        fprintf(f,
                "<li><a href=\"#%s\">%s</a> <a href=\"#%s-steps\" aria-label=\"%s, step by "
                "step\">(steps)</a></li>",
                name, name, name, name);
    }
    if (r->options.lesson) fprintf(f, "<li><a href=\"#exercises\">exercises</a></li>");
    fprintf(f, "</ul></nav>\n<main>\n");
    html_story(r, f);
    html_concepts(r, f);
    for (int i = 0; i < r->shape_count; i++) one_shape_plainly(r, &r->shapes[i], f);
    if (r->options.lesson) html_lesson(f);
    if (r->wrong)
        fprintf(f, "<p class=\"WRONG\" role=\"alert\">%d of the rungs gave a wrong answer.</p>\n",
                r->wrong);
    const char *const script = ladder_text("report.js");
    fprintf(f, "</main>\n<script>\n%s</script></body></html>\n", script ? script : "");
}

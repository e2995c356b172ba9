/* SPDX-License-Identifier: MIT
 * The report on a terminal, for 80 columns and up: times with bars, counts, steps, sentences. */
#include "rung.h"
#include <string.h>

/* A bar of `part` of `width` cells, in eighths of a cell. */
static void bar(FILE *out, double part, int width, int colour)
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    if (!(part > 0)) part = 0;
    if (part > 1) part = 1;
    const int units = (int)(part * width * 8 + 0.5), whole = units / 8;
    if (colour) fputs("\033[36m", out);
    for (int i = 0; i < whole; i++) fputs("\u2588", out);
    fputs(eighths[units % 8], out);
    if (colour) fputs("\033[0m", out);
    for (int i = whole + (units % 8 > 0); i < width; i++) fputc(' ', out);
}

static void rule(FILE *out, int width)
{
    for (int i = 0; i < width; i++) fputs("\u2500", out);
    fputc('\n', out);
}

void wrapped(FILE *out, const char *text, int indent, int width)
{
    int column = indent;
    for (int first = 1; *text; first = 0) {
        const int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", n, text);
        column += n;
        text += n + (text[n] != 0);
    }
    fputc('\n', out);
}

const char *launches_text(const row *x, char *text, size_t capacity)
{
    snprintf(text, capacity, x->clears ? "%lld + %lld" : "%lld", (long long)x->launches,
             (long long)x->clears);
    return text;
}

static double ceiling_of(const shape_report *s, const row *x)
{
    const ceilings *c = x->on_host ? &s->host : &s->device;
    return reads_only(s->shape) ? c->read : c->copy;
}

static void times(const report *r, const shape_report *s, FILE *out)
{
    const int width = r->options.columns < 80    ? 80
                      : r->options.columns > 160 ? 160
                                                 : r->options.columns;
    const int wide = width >= 110, bars = width - (wide ? 98 : 56);
    double most = 0, first = 0;
    int any_uncertain = 0;
    for (int i = 0; i < s->count; i++)
        if (s->rows[i].timed) {
            const double rate = (double)s->rows[i].timing.bytes / s->rows[i].timing.median;
            if (rate > most) most = rate;
        }
    fprintf(out, "%-17.17s %9s %7s ", "rung", "ms", "GB/s");
    fprintf(out, "%-*s %5s %6s", bars, "", "ceil.", "faster");
    if (wide) fprintf(out, " %7s %7s %7s %6s %8s", "overall", "copy in", "out", "fold", "spread");
    fprintf(out, " %s\n", "check");
    rule(out, width);
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        fprintf(out, "%-17.17s ", x->rung->name);
        if (!x->timed) {
            fprintf(out, "%9s %7s %*s %5s %6s", "-", "-", bars, "", "", "");
            if (wide) fprintf(out, " %7s %7s %7s %6s %8s", "", "", "", "", "");
            fprintf(out, " %s\n", verdict_word(x));
            continue;
        }
        const timing *t = &x->timing;
        const double rate = (double)t->bytes / t->median, limit = ceiling_of(s, x);
        if (first == 0) first = t->median;
        fprintf(out, "%9.4f%c%7.2f ", 1e3 * t->median, uncertain(t) ? '~' : ' ', 1e-9 * rate);
        any_uncertain |= uncertain(t);
        bar(out, rate / most, bars, r->options.colour);
        if (limit > 0)
            fprintf(out, " %4.0f%%", 100 * rate / limit);
        else
            fprintf(out, " %5s", "");
        const row *const b = rung_before(s, i);
        if (b && b->timed)
            fprintf(out, " %5.2fx", b->timing.median / t->median);
        else
            fprintf(out, " %6s", "");
        if (wide) {
            fprintf(out, " %6.2fx", first / t->median);
            if (x->on_host)
                fprintf(out, " %7s %7s %6s", "", "", "");
            else
                fprintf(out, " %7.3f %7.3f %6.3f", 1e3 * t->copy_in, 1e3 * t->copy_out,
                        1e3 * t->fold);
            fprintf(out, " %7.1f%%", 100 * (t->high - t->low) / t->median);
        }
        fprintf(out, " %s\n", verdict_word(x));
    }
    if (any_uncertain)
        fprintf(out, "~ the runs are more than 20 %% apart: not a time to compare with.\n");
    if (s->host.read <= 0) return;
    fprintf(out, "Ceilings: ");
    if (s->device.read > 0)
        fprintf(out, "device read %.1f, copy %.1f GB/s; ", 1e-9 * s->device.read,
                1e-9 * s->device.copy);
    fprintf(out, "processors read %.1f, copy %.1f GB/s.%s\n", 1e-9 * s->host.read,
            1e-9 * s->host.copy,
            wide ? " Copy in, copy out and the processor's fold: ms, not part of the time." : "");
}

/* Every result is looked at, and the page says how many there were. */
static void checked(const shape_report *s, FILE *out)
{
    int64_t all = 0, off = 0;
    for (int i = 0; i < s->count; i++) {
        all += s->rows[i].checked;
        off += s->rows[i].off;
    }
    if (!all) return;
    fprintf(out,
            off ? "Checked: %lld results, of which %lld are wrong.\n"
                : "Checked: %lld results, every one of every rung.\n",
            (long long)all, (long long)off);
}

/* What the seeds warn of: the way to the device can cost more than it saves. */
static void copies(const shape_report *s, FILE *out)
{
    const row *best = NULL;
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        if (x->timed && x->verdict == RIGHT && x->timing.copy_in > 0 &&
            (!best || x->timing.median < best->timing.median))
            best = x;
    }
    if (!best) return;
    const timing *t = &best->timing;
    fprintf(out,
            "Copies are not in these times: the input takes %.3f ms to the device, %.1f times\nas "
            "long as %s takes to work on it.\n",
            1e3 * t->copy_in, t->copy_in / t->median, best->rung->name);
}

static void counts(const shape_report *s, FILE *out)
{
    int any = 0, any_clears = 0;
    for (int i = 0; i < s->count; i++) any |= s->rows[i].modelled;
    if (!any) return;
    fprintf(out, "\n%-17.17s %6s %6s %6s %8s %6s %6s %7s %6s\n", "counted", "launch", "bytes",
            "sector", "bank", "diver-", "active", "barriers", "races");
    fprintf(out, "%-17.17s %6s %6s %6s %8s %6s %6s %8s\n", "", "-es", "/elem", "/req.", "conflict",
            "gent", "lanes", "/1000 el");
    rule(out, 80);
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        const model_counts *c = &x->counts;
        if (!x->modelled) continue;
        const double n = (double)x->counted_n;
        char text[40];
        any_clears |= x->clears > 0;
        fprintf(out, "%-17.17s %6s %6.2f %6.2f %8lld %5.1f%% %5.1f%% %8.2f %6lld\n", x->rung->name,
                launches_text(x, text, sizeof text), n > 0 ? 32.0 * (double)c->sectors / n : 0,
                c->requests ? (double)c->sectors / (double)c->requests : 0, (long long)c->conflicts,
                c->branches ? 100.0 * (double)c->divergent / (double)c->branches : 0,
                c->operations ? 100.0 * (double)c->lanes / ((double)c->operations * c->warp) : 0,
                n > 0 ? 1e3 * (double)c->barriers / n : 0, (long long)c->races);
    }
    if (any_clears) wrapped(out, LAUNCHES_TEXT, 0, 80);
}

/* Threads that touched memory between two barriers of the first group; * where a warp diverged. */
static void steps(const shape_report *s, FILE *out, int width)
{
    fprintf(out, "\nThreads at work from barrier to barrier in one group\n(* a warp diverges, kN "
                 "an N-fold bank conflict)\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        if (!x->modelled) continue;
        int column = fprintf(out, "%-17.17s", x->rung->name);
        for (int k = 0; k < x->counts.steps; k++) {
            char cell[40], conflict[16] = "";
            const model_step *st = &x->counts.step[k];
            if (st->shared_degree > 1)
                snprintf(conflict, sizeof conflict, "k%d", st->shared_degree);
            const int n = snprintf(cell, sizeof cell, " %d%s%s", st->threads,
                                   st->divergent ? "*" : "", conflict);
            if (column + n > width - 3 && k < x->counts.steps - 1) {
                fputs(" ..", out);
                break;
            }
            column += fprintf(out, "%s", cell);
        }
        fputc('\n', out);
    }
}

/* The analysis of resources is about warps: one that has a single lane at work costs as much as
   a full one. */
static void warps(const shape_report *s, FILE *out, int width)
{
    fprintf(out, "\nWarps at work x lanes at work in each of them, from barrier to barrier\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        if (!x->modelled) continue;
        int column = fprintf(out, "%-17.17s", x->rung->name);
        for (int k = 0; k < x->counts.steps; k++) {
            char cell[40];
            const model_step *st = &x->counts.step[k];
            const int each = st->warps ? (st->threads + st->warps - 1) / st->warps : 0;
            const int n = snprintf(cell, sizeof cell, " %dx%d", st->warps, each);
            if (column + n > width - 3 && k < x->counts.steps - 1) {
                fputs(" ..", out);
                break;
            }
            column += fprintf(out, "%s", cell);
        }
        fputc('\n', out);
    }
}

/* What is wrong comes first; what is caught as expected, and the sentences, at the end. */
static void words(const shape_report *s, FILE *out, int width, int wrong)
{
    if (!wrong) fprintf(out, "\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        char line[sizeof x->reason + sizeof x->sentence + 40];
        const char *const mark = x->verdict == WRONG      ? "WRONG: "
                                 : x->verdict == EXPECTED ? "caught, as it should be: "
                                                          : "";
        snprintf(line, sizeof line, "%s%s%s%s%s", mark, x->reason,
                 x->reason[0] && x->sentence[0] ? ". " : "", x->sentence,
                 x->reason[0] || x->sentence[0] ? "." : "");
        if (!line[0] || wrong != (x->verdict == WRONG)) continue;
        fprintf(out, "%-17.17s ", x->rung->name);
        wrapped(out, line, 18, width);
        if (wrong) fprintf(out, "\n");
    }
}

static void errors(const shape_report *s, FILE *out)
{
    if (s->kind < KIND_F32 || s->shape == SHAPE_transpose) return;
    fprintf(out, "\n%-17.17s %12s  %s\n", "error in ulp", "", "compared with");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        fprintf(out, "%-17.17s %12.4g  %s\n", x->rung->name, x->error_ulp,
                x->bits ? "its documented order, bit for bit" : "the bound of any order");
    }
}

static void past(const report *r, const shape_report *s, FILE *out)
{
    if (s->shape != SHAPE_reduce) return;
    int any = 0;
    for (int i = 0; i < s->count; i++) any |= past_milliseconds(s->rows[i].rung) > 0;
    if (!any) return;
    fprintf(out,
            "\nmilliseconds           2010       here   (2010: 16 million ints, Tesla C2070;\n");
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        if (past_milliseconds(x->rung) <= 0) continue;
        fprintf(out, "%-17.17s %9.2f ", x->rung->name, past_milliseconds(x->rung));
        if (x->timed)
            fprintf(out, "%10.4f", 1e3 * x->timing.median);
        else
            fprintf(out, "%10s", "-");
        fprintf(out, "%s\n", !strcmp(x->rung->name, "openmp") ? "   OpenMP: two Xeon E5620)" : "");
    }
    if (s->n != 1 << 24 || s->kind != KIND_I32 || r->operation)
        fprintf(out, "(to compare, take --n 2^24 --dtype i32)\n");
}

void report_table(const report *r, FILE *out)
{
    const int width = r->options.columns < 80    ? 80
                      : r->options.columns > 160 ? 160
                                                 : r->options.columns;
    fprintf(out, "%s: %s\n%s; warp %d, %d banks\n", r->device, r->device_text, r->machine, r->warp,
            r->banks);
    for (int i = 0; i < r->shape_count; i++) {
        const shape_report *s = &r->shapes[i];
        fprintf(out, "\n%s", shape_name(s->shape));
        if (strcmp(task_name(r, s), shape_name(s->shape)) != 0)
            fprintf(out, ", %s", task_name(r, s));
        fprintf(out, ", n = %lld %s", (long long)s->n, kind_name(s->kind));
        if (s->shape == SHAPE_window) fprintf(out, ", windows of %lld", (long long)s->width);
        fprintf(out, "\n\n");
        words(s, out, width, 1);
        times(r, s, out);
        checked(s, out);
        copies(s, out);
        if (r->device_note[0]) wrapped(out, r->device_note, 0, width);
        counts(s, out);
        steps(s, out, width);
        warps(s, out, width);
        errors(s, out);
        past(r, s, out);
        words(s, out, width, 0);
    }
    if (r->wrong) fprintf(out, "\n%d rung%s WRONG.\n", r->wrong, r->wrong == 1 ? " is" : "s are");
}

/* SPDX-License-Identifier: MIT
 * A sentence for each rung, from its counts and times and those of the rung before: what changed
 * most for the better, what for the worse, and what came of it on this machine. Nothing is said
 * that was not counted or measured here. */
#include "rung.h"
#include <string.h>

/* Milliseconds for 16 million ints: Tesla C2070, and OpenMP on two Xeon E5620 (the CUDA lecture,
   seed 004). */
double past_milliseconds(const rung *r)
{
    static const struct {
        const char *name;
        double ms;
    } then[] = {{"reduce1", 5.28}, {"reduce2", 2.52}, {"reduce3", 1.88},
                {"reduce4", 0.99}, {"reduce5", 0.65}, {"openmp", 2.34}};
    for (size_t i = 0; i < sizeof then / sizeof *then; i++)
        if (r->shape == SHAPE_reduce && !strcmp(then[i].name, r->name)) return then[i].ms;
    return 0;
}

const row *rung_before(const shape_report *s, int index)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->rows[i].rung->name, s->rows[index].rung->after)) return &s->rows[i];
    return NULL;
}

typedef struct fact {
    const char *more, *none; /* "bank conflicts", and how their absence is said */
    double was, is, least;   /* least: fewer than this many, before and now, are not worth a word */
    double was_of, is_of;    /* not 0: said as per cent of these */
} fact;

/* How much better (> 1) or worse (< 1); 0 to something counts as 8 times. */
static double gain(const fact *f)
{
    if (f->was == f->is || (f->was < f->least && f->is < f->least)) return 1;
    if (f->is == 0) return f->was > 0 ? 8 : 1;
    return f->was == 0 ? 1 / 8.0 : f->was / f->is;
}

static int say(char *to, size_t capacity, const fact *f, const char *before)
{
    const double g = gain(f);
    if (f->is_of > 0 && f->was_of > 0)
        return snprintf(to, capacity, "%.1f %% of the %s, %.1f %% in %s", 100 * f->is / f->is_of,
                        f->more, 100 * f->was / f->was_of, before);
    if (f->is == 0) return snprintf(to, capacity, "%s (%s had %.0f)", f->none, before, f->was);
    if (f->was == 0)
        return snprintf(to, capacity, "%.0f %s, where %s had none", f->is, f->more, before);
    if (f->was < 10 && f->is < 10)
        return snprintf(to, capacity, "%.0f %s, where %s had %.0f", f->is,
                        f->is == 1 && !strcmp(f->more, "launches") ? "launch" : f->more, before,
                        f->was);
    return g > 1 ? snprintf(to, capacity, "%s has %.1f times as many %s", before, g, f->more)
                 : snprintf(to, capacity, "%.1f times as many %s as %s", 1 / g, f->more, before);
}

enum { FACTS = 7 };

/* The fact that the rung's head tells to look at first ("look at: barriers: half of ..."), if it has
   changed; -1: none. */
static int looked_at(const row *x, const fact *facts)
{
    static const char *const words[FACTS] = {"conflict", "bytes moved", "barrier",        "diverge",
                                             "launch",   "request",     "shared accesses"};
    char path[80], line[400];
    int first = -1;
    const char *at = NULL;
    head_line(rung_text(x->rung, path, sizeof path), "look at", line, sizeof line);
    for (int i = 0; i < FACTS; i++) {
        const char *const found = strstr(line, words[i]);
        const double g = gain(&facts[i]);
        if (found && (g > 1.05 || g < 1 / 1.05) && (!at || found < at)) at = found, first = i;
    }
    return first;
}

static void compare(row *x, const row *b, double ceiling, int processors)
{
    const model_counts *is = &x->counts, *was = &b->counts;
    const fact facts[FACTS] = {
        {"passes for bank conflicts", "no bank conflicts", (double)was->conflicts,
         (double)is->conflicts, 0.05 * (double)is->shared, 0, 0},
        {"bytes moved", "no bytes moved", 32.0 * (double)was->sectors, 32.0 * (double)is->sectors,
         0, 0, 0},
        {"barriers", "no barriers", (double)was->barriers, (double)is->barriers,
         0.1 * (double)is->groups, 0, 0},
        {"branches diverge", "", (double)was->divergent, (double)is->divergent,
         0.03 * (double)is->branches, (double)was->branches, (double)is->branches},
        {"launches", "no launches", (double)b->launches, (double)x->launches, 0, 0, 0},
        {"global requests", "no global requests", (double)was->requests, (double)is->requests, 0, 0,
         0},
        {"shared accesses", "no shared accesses", (double)was->shared, (double)is->shared,
         0.2 * (double)is->requests, 0, 0}};
    char *to = x->sentence;
    const size_t capacity = sizeof x->sentence;
    int n = 0, best = -1, worst = -1;
    const int counted = x->modelled && b->modelled;
    for (int i = 0; counted && i < FACTS; i++) {
        const double g = gain(&facts[i]);
        if (g > 1.2 && (best < 0 || g > gain(&facts[best]))) best = i;
        if (g < 1 / 1.2 && (worst < 0 || g < gain(&facts[worst]))) worst = i;
    }
    const int first = counted ? looked_at(x, facts) : -1;
    if (first >= 0 && gain(&facts[first]) > 1) best = first;
    if (first >= 0 && gain(&facts[first]) < 1) worst = first;
    const int turn[] = {first >= 0 && first == worst ? worst : best,
                        first >= 0 && first == worst ? best : worst};
    for (int i = 0; i < 2; i++) {
        if (turn[i] < 0) continue;
        if (n) n += snprintf(to + n, capacity - (size_t)n, "; but ");
        n += say(to + n, capacity - (size_t)n, &facts[turn[i]], b->rung->name);
    }
    if (counted && best < 0 && worst < 0)
        n += snprintf(to + n, capacity - (size_t)n, "almost the same counts as %s", b->rung->name);
    if (!x->timed || !b->timed || uncertain(&x->timing) || uncertain(&b->timing) ||
        n >= (int)capacity)
        return;
    if (processors && n) /* what was counted is not why */
        n += snprintf(to + n, capacity - (size_t)n,
                      ", on a GPU. Here, on processors without banks and warps: ");
    if (n >= (int)capacity) return;
    const double faster = b->timing.median / x->timing.median,
                 part = ceiling > 0 ? (double)x->timing.bytes / x->timing.median / ceiling : 0;
    const int overlap = x->timing.low <= b->timing.high && b->timing.low <= x->timing.high;
    const char *const join = n && !processors ? ": " : "";
    if (faster > 0.95 && faster < 1.05)
        snprintf(to + n, capacity - (size_t)n,
                 part > 0.8    ? "%sa tie with %s here, both at the limit of the memory (%.0f %%)"
                 : ceiling > 0 ? "%sa tie with %s here (%.0f %% of the ceiling)"
                               : "%sa tie with %s here",
                 join, b->rung->name, 100 * part);
    else if (faster > 1)
        snprintf(to + n, capacity - (size_t)n, "%s%.2f times as fast as %s%s", join, faster,
                 b->rung->name, overlap ? ", though their runs overlap" : "");
    else
        snprintf(to + n, capacity - (size_t)n, "%sonly %.2f times as fast as %s on this machine",
                 best >= 0 && !processors ? ", and yet " : join, faster, b->rung->name);
}

void sentences(shape_report *s)
{
    for (int i = 0; i < s->count; i++) {
        row *x = &s->rows[i];
        const row *b = rung_before(s, i);
        const ceilings *c = x->on_host ? &s->host : &s->device;
        const double ceiling = reads_only(s->shape) ? c->read : c->copy;
        if (x->verdict != RIGHT && x->reason[0] && x->verdict != EXPECTED) continue;
        if (b) compare(x, b, ceiling, s->processors);
        if (!x->sentence[0] && x->timed && ceiling > 0 && !uncertain(&x->timing))
            snprintf(x->sentence, sizeof x->sentence, "%.0f %% of the ceiling of %s",
                     100 * (double)x->timing.bytes / x->timing.median / ceiling,
                     x->on_host ? "these processors" : "this device");
    }
}

const char *verdict_word(const row *x)
{
    static const char *const words[] = {"right", "WRONG", "caught", "skipped"};
    return words[x->verdict];
}

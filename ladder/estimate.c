/* SPDX-License-Identifier: MIT
 * An estimate from four limits. Each is a time that the machine needs at least; the estimate is the
 * largest of them:
 *
 *   memory    the sectors that all warps ask for, at the memory's speed
 *   issue     instructions, at the rate at which warps can start them
 *   shared    passes over shared memory, bank conflicts included, one per cycle on each
 *             multiprocessor
 *   latency   the waits of one group, one after the other, times the number of rounds in which the
 *             groups run: occupancy decides how many run at once
 *
 * and the launches, one after the other. test_ladder_trace holds the estimates to the recorded
 * times of an H200: each within a factor of 1.6, and within 20 % on average. Where the time
 * depends on what the model does not have (caches, groups that wait for each other), there is no
 * estimate. */
#include "estimate.h"
#include <string.h>

/* GPUs whose limits the estimate knows, from their makers' data sheets: a part of the device's name,
 * multiprocessors, GHz, warps, groups and KB of shared memory of a multiprocessor, warps that start
 * an instruction in a cycle, peak bytes per second. */
static const machine machines[] = {
    {"H200", 132, 1.98, 64, 32, 227, 4, 4800e9},    {"H100", 132, 1.98, 64, 32, 227, 4, 3350e9},
    {"A100", 108, 1.41, 64, 32, 163, 4, 2039e9},    {"V100", 80, 1.53, 64, 32, 96, 4, 900e9},
    {"RTX 4090", 128, 2.52, 48, 24, 99, 4, 1008e9}, {"C2070", 14, 1.15, 48, 8, 48, 1, 144e9},
};

const machine *find_machine(const char *text)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (strstr(text, machines[i].name)) return &machines[i];
    return NULL;
}

typedef struct recorded_row {
    shape shape;
    const char *rung;
    double ms, launches, counted_n, groups, operations, shared, conflicts, requests, sectors, bytes,
        intervals, global;
} recorded_row;
static const recorded_device devices[SHAPES] = {
#define DEVICE(shape, name, n, read, copy) [SHAPE_##shape] = {name, n, read, copy},
#define TIME(...)
#include "recorded.def"
#undef DEVICE
#undef TIME
};
static const recorded_row rows[] = {
#define DEVICE(...)
#define TIME(shape, rung, ...) {SHAPE_##shape, #rung, __VA_ARGS__},
#include "recorded.def"
#undef DEVICE
#undef TIME
};

const recorded_device *recorded(shape s) { return &devices[s]; }

/* Whether the groups stride over the whole input, so that their number does not depend on n. */
static int strides(const rung *g)
{
    return g->schedule == STRIDES || g->schedule == ATOMIC || g->schedule == ONCE ||
           g->schedule == COOPERATIVE;
}

/* Scales counts that were made with n_counted elements to w->n elements. */
static void scale(work *w, double n_counted)
{
    const double by = n_counted > 0 ? w->n / n_counted : 1;
    if (!strides(w->rung)) w->groups *= by;
    w->operations *= by, w->shared *= by, w->conflicts *= by, w->requests *= by, w->sectors *= by,
        w->bytes *= by;
}

/* Compiles the rung's text for the model, and returns the bytes of shared memory that a group of
 * its first kernel has. */
static int64_t shared_bytes_of(const rung *g, kind k)
{
    char path[80], sentence[200];
    const model_setting setting = {k, 0, g->threads, 32, 32};
    model_program *p = NULL;
    const char *const text = rung_text(g, path, sizeof path);
    if (is_host(g) || !text || model_compile(text, path, &setting, &p, sentence, sizeof sentence))
        return 0;
    const int64_t bytes = model_kernel_shared(p, 0);
    model_free(p);
    return bytes;
}

int work_of_row(const shape_report *s, const row *x, work *w)
{
    const model_counts *c = &x->counts;
    memset(w, 0, sizeof *w);
    w->rung = x->rung;
    w->n = (double)s->n;
    w->seconds = x->timed ? x->timing.median : 0;
    if (!x->modelled || !c->groups) return 0;
    w->launches = (double)(x->timed ? x->timing.launches : x->launches + x->clears);
    w->groups = (double)c->groups, w->operations = (double)c->operations,
    w->shared = (double)c->shared;
    w->conflicts = (double)c->conflicts, w->requests = (double)c->requests,
    w->sectors = (double)c->sectors;
    w->bytes = (double)(c->bytes_read + c->bytes_written);
    w->intervals = c->steps;
    for (int i = 0; i < c->steps; i++) w->global_intervals += c->step[i].requests > 0;
    w->shared_bytes = shared_bytes_of(x->rung, s->kind);
    scale(w, (double)x->counted_n);
    return 1;
}

int recorded_work(const rung *g, work *w)
{
    memset(w, 0, sizeof *w);
    w->rung = g;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const recorded_row *x = &rows[i];
        if (x->shape != g->shape || strcmp(x->rung, g->name) != 0) continue;
        w->n = devices[g->shape].n;
        w->seconds = 1e-3 * x->ms;
        w->launches = x->launches, w->groups = x->groups, w->operations = x->operations,
        w->shared = x->shared;
        w->conflicts = x->conflicts, w->requests = x->requests, w->sectors = x->sectors,
        w->bytes = x->bytes;
        w->intervals = x->intervals, w->global_intervals = x->global;
        w->shared_bytes = shared_bytes_of(g, g->shape == SHAPE_window ? KIND_F32 : KIND_I32);
        scale(w, x->counted_n);
        return 1;
    }
    return 0;
}

const char *limit_name(limit l)
{
    static const char *const names[LIMITS] = {"memory", "instructions", "shared memory", "latency"};
    return names[l];
}

void estimate_time(const machine *m, const work *w, double bandwidth, estimate *e)
{
    const rung *const g = w->rung;
    const double hz = 1e9 * m->ghz, warps = (g->threads + 31) / 32, size = 4;
    memset(e, 0, sizeof *e);
    e->reason =
        g->schedule == LIBRARY
            ? "the library's kernels are not the ladder's, and the model does not run them"
        : is_host(g) ? "it runs on the processors, and the model is one of GPUs"
        : !w->groups ? "its counts are not there"
        : g->schedule == LOOKBACK || g->schedule == POLL || g->schedule == COOPERATIVE
            ? "its groups wait for each other; the model has no time, so it cannot say how long"
        : g->schedule == HISTOGRAM
            ? "its atomics wait for each other; the model has no time, so it cannot say how long"
            : NULL;
    if (!w->groups || is_host(g)) return;
    e->resident = m->groups;
    if (m->warps / warps < e->resident) e->resident = (int)(m->warps / warps);
    if (w->shared_bytes && m->shared_kb * 1024 / w->shared_bytes < e->resident)
        e->resident = (int)(m->shared_kb * 1024 / w->shared_bytes);
    e->occupancy = e->resident * warps / m->warps;
    if (!e->reason && 32 * w->sectors > 8 * size * w->n)
        e->reason = "its warps ask for the same words again and again; caches serve them, and the "
                    "model has no caches";
    const double at_once = m->units * (double)(e->resident ? e->resident : 1),
                 each = w->groups * warps;
    const double rounds = w->groups > at_once ? w->groups / at_once : 1;
    const double chain =
        CYCLES_GLOBAL * w->global_intervals + CYCLES_BARRIER * w->intervals +
        (strides(g)
             ? 0 /* its loads do not wait for each other */
             : (CYCLES_OPERATION * w->operations + CYCLES_SHARED * (w->shared + w->conflicts)) /
                   each);
    e->part[BY_MEMORY] = 32 * w->sectors / (bandwidth > 0 ? bandwidth : m->peak);
    e->part[BY_ISSUE] = INSTRUCTIONS_OF * w->operations / (m->units * m->issue * hz);
    e->part[BY_SHARED] = (w->shared + w->conflicts) / (m->units * hz);
    e->part[BY_LATENCY] = rounds * chain / hz;
    for (int l = 0; l < LIMITS; l++)
        if (e->part[l] > e->part[e->limit]) e->limit = (limit)l;
    e->seconds = e->part[e->limit] + SECONDS_LAUNCH * w->launches;
}

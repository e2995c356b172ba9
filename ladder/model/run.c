/* SPDX-License-Identifier: MIT
 * Runs compiled kernels: groups over the processors' threads, the warps of a group in turn, each
 * up to its next barrier.
 *
 * Masks: IF keeps the lanes that are on, goes on with those that say yes, ELSE with the others,
 * END with all again. A loop goes round until no lane is left in it. BREAK and RETURN take lanes
 * out of what is kept. */
#include "code.h"
#include <string.h>

#ifndef MODEL_WORK_LEAST /* the fuzz target takes less */
#define MODEL_WORK_LEAST ((int64_t)1 << 18)
#endif
/* operations of one group: more is a loop without end */
static const int64_t WORK_MOST = (int64_t)1 << 27;

static uint64_t lanes_that(const group_state *g, const warp_state *w, const instruction *i)
{
    const lane *v = w->registers + (ptrdiff_t)i->a * g->lanes;
    uint64_t yes = 0;
    for (int l = 0; l < g->warp; l++)
        yes |= (uint64_t)(i->kind >= KIND_F32 ? v[l].d != 0 : v[l].i != 0) << l;
    return yes & w->mask;
}

static void count_branch(group_state *g, warp_state *w, const instruction *i, uint64_t yes)
{
    model_counts *c = g->counts;
    model_line *const at = &c->line[counted_line(i->line)];
    c->branches++;
    at->branches++;
    if (!yes || yes == w->mask) return;
    c->divergent++;
    at->divergent++;
    w->divergent = 1;
    if (g->trace) trace_split(g->trace, g, w, i->line, yes);
}

/* The compiler has seen to it that there is space (emit). */
static void push_frame(warp_state *w, uint64_t taken, int is_loop)
{
    w->frames[w->depth++] = (frame){w->mask, taken, is_loop};
}

/* Lanes leave: out of everything (RETURN, `from` LOOP_NONE), or out of what is inside the
 * nearest loop (BREAK), body (CONTINUE) or function (RETURN in one). */
static void leave(warp_state *w, int from)
{
    const int all = from == LOOP_NONE;
    for (int d = w->depth - 1; d >= 0; d--) {
        if (!all && w->frames[d].loop == from) break;
        w->frames[d].saved &= ~w->mask;
        w->frames[d].taken |= w->mask;
    }
    if (all) w->live &= ~w->mask;
    w->mask = 0;
}

static void count_operation(group_state *g, const warp_state *w, const instruction *i)
{
    model_counts *c = g->counts;
    const int lanes = __builtin_popcountll(w->mask);
    c->operations++;
    c->lanes += lanes;
    g->step->operations++;
    g->step->lanes += lanes;
    c->line[counted_line(i->line)].runs++;
    c->line[counted_line(i->line)].lanes += lanes;
}

/* A lane may go over all of the memory 16 times: more is a loop without end. */
static int64_t work_of(const group_state *g)
{
    int64_t most = 0;
    for (int p = 0; p < g->kernel->parameters; p++)
        if ((int64_t)g->arguments[p].bytes > most) most = (int64_t)g->arguments[p].bytes;
    const int64_t work = MODEL_WORK_LEAST + 4 * most * g->warps;
    return work < WORK_MOST ? work : WORK_MOST;
}

/* What changes which lanes are on, and where the warp goes on. */
static void change_mask(group_state *g, warp_state *w, const instruction *i)
{
    uint64_t yes;
    switch (i->op) {
    case DO_IF:
        yes = lanes_that(g, w, i);
        if (g->counts && w->mask) count_branch(g, w, i, yes);
        push_frame(w, yes, 0);
        w->mask = yes;
        if (!yes) w->at = i->d;
        break;
    case DO_ELSE: {
        const frame *f = &w->frames[w->depth - 1];
        w->mask = f->saved & ~f->taken;
        if (!w->mask) w->at = i->d;
        break;
    }
    case DO_LOOP:
        push_frame(w, 0, i->a);
        break;
    case DO_TEST:
        yes = lanes_that(g, w, i);
        if (g->counts && w->mask) count_branch(g, w, i, yes);
        w->mask = yes;
        if (!yes) w->at = i->d;
        break;
    case DO_JUMP:
        if (w->mask) w->at = i->d;
        break;
    case DO_END:
    case DO_LOOP_END:
    case DO_POP:
        w->mask = w->frames[--w->depth].saved;
        break;
    case DO_PUSH:
        yes = lanes_that(g, w, i);
        push_frame(w, yes, 0);
        w->mask = yes;
        break;
    case DO_FLIP: {
        const frame *f = &w->frames[w->depth - 1];
        w->mask = f->saved & ~f->taken;
        break;
    }
    case DO_BREAK:
    case DO_CONTINUE:
    case DO_RETURN:
        if (i->op == DO_RETURN && w->mask && i->a == LOOP_NONE) w->returned = i->line;
        leave(w, i->op == DO_RETURN ? i->a : i->op == DO_BREAK ? LOOP_BREAK : LOOP_CONTINUE);
        break;
    default:
        break;
    }
}

/* Runs a barrier of the group or of the grid. Returns its line if the warp waits there, else 0. */
static int meet(group_state *g, warp_state *w, const instruction *i)
{
    if (w->live != w->all && w->mask)
        defect(g, DEFECT_BARRIER, i->line,
               "the barrier is not reached by %d threads, which returned in line %d",
               __builtin_popcountll(w->all & ~w->live), w->returned);
    if (w->mask == w->live && w->mask) {
        g->meeting = i->op == DO_GRID_BARRIER;
        return i->line;
    }
    if (w->mask)
        defect(g, DEFECT_BARRIER, i->line, "the barrier is reached by %d of %d lanes of a warp",
               __builtin_popcountll(w->mask), __builtin_popcountll(w->live));
    return 0;
}

/* Lanes exchange values: all that are live must come. */
static void exchange(group_state *g, warp_state *w, const instruction *i)
{
    if (w->mask && w->mask != w->live)
        defect(g, DEFECT_BARRIER, i->line, "the shuffle is reached by %d of %d lanes of a warp",
               __builtin_popcountll(w->mask), __builtin_popcountll(w->live));
    if (w->mask) w->shuffles++, w->shuffled = i->line;
    if (g->trace && w->mask) trace_shuffle(g->trace, g, w, i);
    compute(g, w, i);
}

static int stop_endless(group_state *g, warp_state *w, int line)
{
    defect(g, DEFECT_ENDLESS, line, "a loop does not end: %lld operations of one group",
           (long long)work_of(g));
    w->done = 1;
    return 0;
}

/* Runs a warp up to the next barrier or the end. Returns the line of the barrier, or 0. */
static int run_warp(group_state *g, warp_state *w)
{
    const instruction *const code = g->program->code;
    while (g->work-- > 0) {
        const instruction *i = &code[w->at++];
        int waits;
        if (g->counts && w->mask && i->op < DO_PUSH) count_operation(g, w, i);
        switch (i->op) {
        case DO_IF:
        case DO_ELSE:
        case DO_LOOP:
        case DO_TEST:
        case DO_JUMP:
        case DO_END:
        case DO_LOOP_END:
        case DO_POP:
        case DO_PUSH:
        case DO_FLIP:
        case DO_BREAK:
        case DO_CONTINUE:
        case DO_RETURN:
            change_mask(g, w, i);
            break;
        case DO_BARRIER:
        case DO_GRID_BARRIER:
            if ((waits = meet(g, w, i))) return waits;
            break;
        case DO_WARP_BARRIER:
            if (w->epoch < INT16_MAX) w->epoch++;
            if (g->trace && w->mask) trace_meeting(g->trace, w, w->first / g->warp, i->line, 0);
            break;
        case DO_SHUFFLE:
        case DO_WARP_COMBINE:
            exchange(g, w, i);
            break;
        case DO_BULK_COPY:
            if (w->mask) bulk_copy(g, w, i);
            break;
        case DO_BULK_WAIT:
            if (w->mask) bulk_wait(g, w, i);
            break;
        case DO_COPY_WAIT:
            if (g->counts && w->mask) copies_arrive(g, w);
            break;
        case DO_STOP:
            w->done = 1;
            return 0;
        case DO_LOAD:
        case DO_STORE:
        case DO_ATOMIC_COMBINE:
        case DO_ATOMIC_NEXT:
        case DO_ATOMIC_MORE:
        case DO_ATOMIC_GET:
        case DO_ATOMIC_PUT:
            if (w->mask) access_memory(g, w, i);
            break;
        default:
            compute(g, w, i);
        }
    }
    return stop_endless(g, w, code[w->at].line);
}

static void end_step(group_state *g)
{
    model_step *s = g->step;
    if (!s) return;
    for (int v = 0; v < g->warps; v++)
        if (g->warp_states[v].shuffles != g->warp_states[0].shuffles && !g->counts->uneven)
            g->counts->uneven = g->warp_states[v].shuffles ? g->warp_states[v].shuffled
                                                           : g->warp_states[0].shuffled;
    for (int v = 0; v < g->warps; v++) g->warp_states[v].shuffles = 0;
    for (int v = 0; v < g->warps; v++) {
        int any = 0;
        for (int l = 0; l < g->warp && v * g->warp + l < g->kernel->threads; l++)
            any += g->touched[v * g->warp + l];
        s->threads += any;
        s->warps += any > 0;
        s->divergent += g->warp_states[v].divergent;
        g->warp_states[v].divergent = 0;
    }
    memset(g->touched, 0, sizeof g->touched);
}

void start_group(group_state *g, int64_t index)
{
    const kernel_code *kernel = g->kernel;
    g->index = index;
    g->work = work_of(g);
    g->step_number = 0;
    g->bulk_count = 0;
    for (int v = 0; v < g->warps; v++) {
        warp_state *w = &g->warp_states[v];
        lane *const registers = w->registers;
        const int first = v * g->warp,
                  lanes = kernel->threads - first < g->warp ? kernel->threads - first : g->warp;
        memset(w, 0, sizeof *w);
        w->registers = registers;
        w->first = first;
        w->at = kernel->start;
        w->all = w->live = w->mask = lanes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << lanes) - 1;
        for (int p = 0; p < kernel->parameters; p++) {
            if (kernel->parameter_register[p] < 0) continue;
            lane *r = registers + (ptrdiff_t)kernel->parameter_register[p] * g->lanes;
            for (int l = 0; l < g->lanes; l++)
                if (kernel->parameter_kind[p] == KIND_F64)
                    r[l].d = g->arguments[p].f64;
                else
                    r[l].i = g->arguments[p].i64;
        }
    }
    if (g->counts)
        for (int64_t s = 0; s < kernel->shared_bytes / kernel->unit + 4; s++)
            g->shared_shadow[s] = (shadow){.write_step = -1, .read_step = -1};
    if (!g->counts) return;
    g->step = &g->counts->step[0];
    g->counts->groups++;
}

int run_group(group_state *g)
{
    model_counts *const c = g->counts;
    if (g->trace) trace_group_starts(g->trace, g->index);
    for (;;) {
        int waiting = 0, ended = 0, line = 0, lines_differ = 0;
        g->meeting = 0;
        for (int v = 0; v < g->warps; v++) {
            warp_state *w = &g->warp_states[v];
            const int at = w->done ? 0 : run_warp(g, w);
            if (!at) {
                ended++;
                continue;
            }
            waiting++;
            lines_differ |= line && line != at;
            line = at;
        }
        if (c) end_step(g);
        if (g->found[DEFECT_ENDLESS].line || !waiting) break;
        if (ended || lines_differ)
            defect(g, DEFECT_BARRIER, line, "not all threads of the group come to this barrier");
        if (!c && g->meeting) return 1;
        if (!c) continue;
        c->barriers++;
        if (g->trace) trace_meeting(g->trace, NULL, 0, line, g->meeting);
        g->step_number++;
        const int keep = g->step_number < MODEL_STEPS ? g->step_number : MODEL_STEPS - 1;
        g->step = &c->step[keep];
        if (g->meeting) return 1;
    }
    if (c) c->steps = g->step_number + 1 < MODEL_STEPS ? g->step_number + 1 : MODEL_STEPS;
    return 0;
}

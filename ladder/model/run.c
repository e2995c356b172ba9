/* SPDX-License-Identifier: MIT
 * Runs compiled kernels: groups over the processors' threads, the warps of a group in turn, each up to its next barrier.
 *
 * Masks: IF keeps the lanes that are on, goes on with those that say yes, ELSE with the others, END with all again. A loop
 * goes round until no lane is left in it. BREAK and RETURN take lanes out of what is kept. */
#include "code.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHADOWED_MOST = 1 << 22 }; /* words of global memory watched for races: 80 MiB of shadows */
enum { WATCHED = 12, WATCH_ALL = 32 }; /* groups of a launch that are looked at, where there are more than 32 */
static const int64_t WORK_MOST = (int64_t)1 << 28; /* operations of one group: more is a loop without end */

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
    c->branches++;
    c->line[i->line].branches++;
    if (!yes || yes == w->mask) return;
    c->divergent++;
    c->line[i->line].divergent++;
    w->divergent = 1;
}

static int push_frame(group_state *g, warp_state *w, const instruction *i, uint64_t taken, int is_loop)
{
    if (w->depth == DEPTH_MOST) {
        defect(g, DEFECT_ENDLESS, i->line, "more than %d levels of if, for and while", DEPTH_MOST);
        return 0;
    }
    w->frames[w->depth++] = (frame){w->mask, taken, is_loop};
    return 1;
}

/* Lanes leave: out of everything (RETURN), or out of what is inside the nearest loop (BREAK). */
static void leave(warp_state *w, int all)
{
    for (int d = w->depth - 1; d >= 0; d--) {
        if (!all && w->frames[d].loop) break;
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
    c->line[i->line].runs++;
    c->line[i->line].lanes += lanes;
}

/* Up to the next barrier or the end. Returns the line of the barrier, or 0. */
static int run_warp(group_state *g, warp_state *w)
{
    const instruction *const code = g->program->code;
    while (g->work-- > 0) {
        const instruction *i = &code[w->at++];
        uint64_t yes;
        if (g->counts && w->mask && i->op < DO_PUSH) count_operation(g, w, i);
        switch (i->op) {
        case DO_IF:
            yes = lanes_that(g, w, i);
            if (g->counts && w->mask) count_branch(g, w, i, yes);
            if (!push_frame(g, w, i, yes, 0)) return 0;
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
            if (!push_frame(g, w, i, 0, 1)) return 0;
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
        case DO_PUSH: {
            instruction test = *i;
            test.a = i->a;
            yes = lanes_that(g, w, &test);
            if (!push_frame(g, w, i, yes, 0)) return 0;
            w->mask = yes;
            break;
        }
        case DO_FLIP: {
            const frame *f = &w->frames[w->depth - 1];
            w->mask = f->saved & ~f->taken;
            break;
        }
        case DO_BREAK:
        case DO_RETURN:
            leave(w, i->op == DO_RETURN);
            break;
        case DO_BARRIER:
            if (w->mask == w->live && w->mask) return i->line;
            if (w->mask)
                defect(g, DEFECT_BARRIER, i->line, "the barrier is reached by %d of %d lanes of a warp",
                       __builtin_popcountll(w->mask), __builtin_popcountll(w->live));
            break;
        case DO_WARP_BARRIER:
            w->epoch++;
            break;
        case DO_STOP:
            w->done = 1;
            return 0;
        case DO_LOAD:
        case DO_STORE:
        case DO_ATOMIC_COMBINE:
        case DO_ATOMIC_NEXT:
        case DO_ATOMIC_GET:
        case DO_ATOMIC_PUT:
            if (w->mask) access_memory(g, w, i);
            break;
        default:
            compute(g, w, i);
        }
    }
    defect(g, DEFECT_ENDLESS, code[w->at].line, "a loop does not end");
    w->done = 1;
    return 0;
}

void end_step(group_state *g)
{
    model_step *s = g->step;
    if (!s) return;
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

/* A lane may go over all of the memory 16 times: more is a loop without end. */
static int64_t work_of(const group_state *g)
{
    int64_t most = 0;
    for (int p = 0; p < g->kernel->parameters; p++)
        if ((int64_t)g->arguments[p].bytes > most) most = (int64_t)g->arguments[p].bytes;
    const int64_t work = ((int64_t)1 << 18) + 4 * most * g->warps;
    return work < WORK_MOST ? work : WORK_MOST;
}

static void start_group(group_state *g, int64_t index)
{
    const kernel_code *kernel = g->kernel;
    g->index = index;
    g->work = work_of(g);
    g->step_number = 0;
    for (int v = 0; v < g->warps; v++) {
        warp_state *w = &g->warp_states[v];
        lane *const registers = w->registers;
        const int first = v * g->warp, lanes = kernel->threads - first < g->warp ? kernel->threads - first : g->warp;
        memset(w, 0, sizeof *w);
        w->registers = registers;
        w->first = first;
        w->at = kernel->start;
        w->live = w->mask = lanes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << lanes) - 1;
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
        for (int64_t s = 0; s < kernel->shared_bytes / 4 + 4; s++) g->shared_shadow[s] = (shadow){-1, -1, 0, 0, 0, 0};
}

static void run_group(group_state *g, int64_t index)
{
    model_counts *const c = g->counts;
    start_group(g, index);
    if (c) {
        g->step = &c->step[0];
        c->groups++;
    }
    for (;;) {
        int waiting = 0, ended = 0, line = 0, lines_differ = 0;
        for (int v = 0; v < g->warps; v++) {
            warp_state *w = &g->warp_states[v];
            if (w->done) {
                ended += w->live != 0;
                continue;
            }
            const int at = run_warp(g, w);
            if (!at) {
                ended += w->live != 0;
                continue;
            }
            waiting++;
            lines_differ |= line && line != at;
            line = at;
        }
        if (c) end_step(g);
        if (g->defect == DEFECT_ENDLESS || !waiting) break;
        if (ended || lines_differ)
            defect(g, DEFECT_BARRIER, line, "not all threads of the group come to this barrier");
        if (!c) continue;
        c->barriers++;
        g->step_number++;
        const int keep = g->step_number < MODEL_STEPS ? g->step_number : MODEL_STEPS - 1;
        g->step = &c->step[keep];
    }
    if (c) c->steps = g->step_number + 1 < MODEL_STEPS ? g->step_number + 1 : MODEL_STEPS;
}

/* ---- groups to threads ---- */

static void close_group(group_state *g)
{
    if (g->warp_states) free(g->warp_states[0].registers);
    free(g->warp_states);
    free(g->shared);
    free(g->scratch);
    free(g->shared_shadow);
}

static int open_group(group_state *g, const model_program *p, const kernel_code *kernel)
{
    g->program = p;
    g->kernel = kernel;
    g->warp = p->setting.warp;
    g->lanes = (g->warp + 7) / 8 * 8;
    g->warps = (kernel->threads + g->warp - 1) / g->warp;
    g->shared = calloc(1, (size_t)kernel->shared_bytes + 16);
    g->scratch = calloc((size_t)g->lanes + 8, sizeof(lane));
    g->shared_shadow = malloc(((size_t)kernel->shared_bytes / 4 + 4) * sizeof(shadow));
    g->warp_states = calloc((size_t)g->warps, sizeof *g->warp_states);
    const size_t each = (size_t)(kernel->registers + 1) * (size_t)g->lanes;
    lane *registers = g->warp_states ? calloc(each * (size_t)g->warps, sizeof(lane)) : NULL;
    for (int v = 0; v < g->warps && registers; v++) g->warp_states[v].registers = registers + each * (size_t)v;
    if (registers && g->shared && g->scratch && g->shared_shadow) return 0;
    close_group(g);
    return -1;
}

/* Adds the counts of watched groups, times by / of. */
static void add_counts(model_counts *to, const model_counts *from, int64_t by, int64_t of, int first)
{
#define ADD(field) to->field += from->field * by / of
    ADD(barriers), ADD(branches), ADD(divergent), ADD(operations), ADD(lanes), ADD(shared), ADD(conflicts);
    ADD(requests), ADD(sectors), ADD(bytes_read), ADD(bytes_written), ADD(races);
    for (int l = 0; l < MODEL_LINES; l++) {
        ADD(line[l].runs), ADD(line[l].lanes), ADD(line[l].branches), ADD(line[l].divergent), ADD(line[l].shared);
        ADD(line[l].conflicts), ADD(line[l].requests), ADD(line[l].sectors), ADD(line[l].bytes), ADD(line[l].races);
        if (from->line[l].degree > to->line[l].degree) to->line[l].degree = from->line[l].degree;
    }
#undef ADD
    to->watched += from->groups;
    if (from->worst_degree > to->worst_degree || (from->worst_degree == to->worst_degree && from->worst_lanes > to->worst_lanes)) {
        to->worst_degree = from->worst_degree;
        to->worst_lanes = from->worst_lanes;
        to->worst_line = from->worst_line;
        memcpy(to->worst_bank, from->worst_bank, sizeof to->worst_bank);
    }
    if (first) {
        to->steps = from->steps;
        memcpy(to->step, from->step, sizeof to->step);
    }
}

typedef struct launch {
    const model_program *program;
    const kernel_code *kernel;
    const model_argument *arguments;
    int64_t groups, watched;
    model_counts *first, *middle, *last; /* group 0; those between; the last */
    int defect, defect_line, failed, stop; /* stop: a loop has no end; read and written atomically */
    int64_t defect_group;
    global_shadow *shadows[ARRAYS_MOST]; /* one a memory */
    char sentence[200];
} launch;

/* Which counts a group adds to: NULL for most. */
static model_counts *watching(const launch *l, int64_t index)
{
    if (!l->first) return NULL;
    if (index == 0) return l->first;
    if (index == l->groups - 1) return l->last;
    if (l->groups <= WATCH_ALL) return l->middle;
    const int64_t apart = (l->groups - 1) / (WATCHED - 1);
    return index % apart == 0 && index / apart < WATCHED - 1 ? l->middle : NULL;
}

static void run_share(launch *l, int64_t from, int64_t to)
{
    group_state g = {.arguments = l->arguments, .groups = l->groups};
    if (open_group(&g, l->program, l->kernel)) {
        __atomic_store_n(&l->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = from; i < to && !__atomic_load_n(&l->stop, __ATOMIC_RELAXED); i++) {
        g.counts = watching(l, i);
        g.global_shadows = g.counts ? l->shadows : NULL;
        if (g.counts) {
#pragma omp critical(ladder_watched)
            run_group(&g, i);
        } else {
            run_group(&g, i);
        }
        if (g.defect) {
#pragma omp critical(ladder_defect)
            if (!l->defect || i < l->defect_group) {
                l->defect = g.defect;
                l->defect_line = g.defect_line;
                l->defect_group = i;
                memcpy(l->sentence, g.sentence, sizeof l->sentence);
            }
            if (g.defect == DEFECT_ENDLESS) __atomic_store_n(&l->stop, 1, __ATOMIC_RELAXED);
            g.defect = 0;
        }
    }
    close_group(&g);
}

static void run_groups(launch *l)
{
    enum { PIECE = 64 };
    const int64_t pieces = (l->groups + PIECE - 1) / PIECE;
    if (l->kernel->atomics || pieces < 2) {
        run_share(l, 0, l->groups);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (int64_t p = 0; p < pieces; p++)
        run_share(l, p * PIECE, (p + 1) * PIECE < l->groups ? (p + 1) * PIECE : l->groups);
}

/* A shadow for each memory that the kernel gets, if all of them together are not too large. */
static int open_shadows(launch *l)
{
    size_t words = 0;
    for (int p = 0; p < l->kernel->parameters; p++) words += l->arguments[p].bytes / 4;
    if (words > SHADOWED_MOST) return 0;
    for (int p = 0; p < l->kernel->parameters; p++) {
        if (!l->arguments[p].data) continue;
        for (int q = 0; q < p && !l->shadows[p]; q++)
            if (l->arguments[q].data == l->arguments[p].data) l->shadows[p] = l->shadows[q];
        if (!l->shadows[p]) l->shadows[p] = calloc(l->arguments[p].bytes / 4 + 1, sizeof(global_shadow));
        if (!l->shadows[p]) return -1;
    }
    return 0;
}

static void close_shadows(launch *l)
{
    for (int p = 0; p < l->kernel->parameters; p++) {
        int first = 1;
        for (int q = 0; q < p; q++) first &= l->shadows[q] != l->shadows[p];
        if (first) free(l->shadows[p]);
    }
}

static const kernel_code *find_kernel(const model_program *p, const char *name)
{
    for (int k = 0; k < p->kernel_count; k++)
        if (!strcmp(p->kernels[k].name, name)) return &p->kernels[k];
    return NULL;
}

int model_launch(model_program *p, const char *name, int64_t groups, const model_argument *arguments, int count,
                 model_counts *counts, char *error, size_t room)
{
    launch l = {.program = p, .kernel = find_kernel(p, name), .arguments = arguments, .groups = groups};
    if (!l.kernel || l.kernel->parameters != count) {
        snprintf(error, room, "%s: there is no kernel '%s' of %d parameters", p->name, name, count);
        return -1;
    }
    model_counts *three = counts ? calloc(3, sizeof *three) : NULL;
    if (counts && !three) {
        snprintf(error, room, "%s: out of memory", p->name);
        return -1;
    }
    if (three) l.first = three, l.middle = three + 1, l.last = three + 2;
    if (counts && open_shadows(&l)) l.failed = 1;
    if (!l.failed) run_groups(&l);
    close_shadows(&l);
    if (counts) {
        const int fresh = counts->launches++ == 0;
        counts->groups += groups;
        counts->threads = fresh ? l.kernel->threads : counts->threads;
        counts->warp = p->setting.warp;
        counts->banks = p->setting.banks;
        add_counts(counts, l.first, 1, 1, fresh);
        if (l.middle->groups) add_counts(counts, l.middle, groups - 2, l.middle->groups, 0);
        add_counts(counts, l.last, 1, 1, 0);
        if (l.defect && !counts->defect) {
            counts->defect = l.defect;
            counts->defect_line = l.defect_line;
            memcpy(counts->sentence, l.sentence, sizeof counts->sentence);
        }
    }
    free(three);
    if (l.failed) snprintf(error, room, "%s: out of memory", p->name);
    if (l.defect == DEFECT_ENDLESS || (l.defect && !counts))
        snprintf(error, room, "%s:%d: %s", p->name, l.defect_line, l.sentence);
    return l.failed || l.defect == DEFECT_ENDLESS || (l.defect && !counts) ? -1 : 0;
}

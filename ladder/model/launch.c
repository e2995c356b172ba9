/* SPDX-License-Identifier: MIT
 * A launch: groups over the processors' threads, counts of those that are looked at, defects. */
#include "code.h"
#include "context/threads.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* words (or bytes) of global memory watched for races: 80 MiB of shadows */
enum { SHADOWED_MOST = 1 << 22 };
/* groups of a launch that are looked at, where there are more than 32 */
enum { WATCHED = 12, WATCH_ALL = 32 };

static void close_group(group_state *g)
{
    if (g->warp_states) free(g->warp_states[0].registers);
    free(g->warp_states);
    free(g->shared);
    free(g->scratch);
    free(g->shared_shadow);
    free(g->bulks);
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
    g->shared_shadow =
        malloc(((size_t)kernel->shared_bytes / (size_t)kernel->unit + 4) * sizeof(shadow));
    g->warp_states = calloc((size_t)g->warps, sizeof *g->warp_states);
    const size_t each = (size_t)(kernel->registers + 1) * (size_t)g->lanes;
    lane *registers = g->warp_states ? calloc(each * (size_t)g->warps, sizeof(lane)) : NULL;
    for (int v = 0; v < g->warps && registers; v++)
        g->warp_states[v].registers = registers + each * (size_t)v;
    if (kernel->needs & NEEDS_BULK) g->bulks = calloc(BULKS_MOST, sizeof *g->bulks);
    const int whole = g->bulks || !(kernel->needs & NEEDS_BULK);
    if (registers && g->shared && g->scratch && g->shared_shadow && whole) return 0;
    close_group(g);
    return -1;
}

/* Adds the counts of watched groups, times by / of. */
static void add_counts(model_counts *to, const model_counts *from, int64_t by, int64_t of,
                       int first, int lines)
{
#define ADD(field) to->field += from->field * by / of
    ADD(barriers), ADD(branches), ADD(divergent), ADD(operations), ADD(lanes), ADD(shared),
        ADD(conflicts);
    ADD(requests), ADD(sectors), ADD(bytes_read), ADD(bytes_written), ADD(races);
    for (int l = 0; l < lines; l++) {
        ADD(line[l].runs), ADD(line[l].lanes), ADD(line[l].branches), ADD(line[l].divergent),
            ADD(line[l].shared);
        ADD(line[l].conflicts), ADD(line[l].requests), ADD(line[l].sectors), ADD(line[l].bytes),
            ADD(line[l].races);
        if (from->line[l].degree > to->line[l].degree) to->line[l].degree = from->line[l].degree;
    }
#undef ADD
    to->watched += from->groups;
    if (!to->uneven) to->uneven = from->uneven;
    if (from->worst_degree > to->worst_degree ||
        (from->worst_degree == to->worst_degree && from->worst_lanes > to->worst_lanes)) {
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
    int64_t groups;
    int watched_only;
    model_counts *first, *middle, *last; /* group 0; those between; the last */
    int defect, failed, stop;            /* stop: a loop has no end; read and written atomically */
    pthread_mutex_t lock;                /* of defect and found */
    model_finding found[DEFECTS];
    global_shadow *shadows[ARRAYS_MOST]; /* one a memory */
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

/* Keeps the finding of the first group of each kind, in whatever order the groups ran. */
static void keep_findings(launch *l, group_state *g)
{
    if (!g->defect) return;
    if (!l->defect || g->found[g->defect].group < l->found[l->defect].group) l->defect = g->defect;
    for (int k = 0; k < DEFECTS; k++)
        if (g->found[k].line && (!l->found[k].line || g->found[k].group < l->found[k].group))
            l->found[k] = g->found[k];
    if (g->found[DEFECT_ENDLESS].line) __atomic_store_n(&l->stop, 1, __ATOMIC_RELAXED);
    memset(g->found, 0, sizeof g->found);
    g->defect = 0;
}

typedef enum { WHICH_ALL, WHICH_WATCHED, WHICH_OTHERS } which_groups;

static void run_share(launch *l, int64_t from, int64_t to, which_groups which)
{
    group_state g = {.arguments = l->arguments, .groups = l->groups};
    if (open_group(&g, l->program, l->kernel)) {
        __atomic_store_n(&l->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = from; i < to && !__atomic_load_n(&l->stop, __ATOMIC_RELAXED); i++) {
        g.counts = watching(l, i);
        if ((which == WHICH_WATCHED && !g.counts) || (which == WHICH_OTHERS && g.counts)) continue;
        g.global_shadows = g.counts ? l->shadows : NULL;
        g.trace = g.counts ? l->program->trace : NULL;
        start_group(&g, i);
        run_group(&g);
        if (!g.defect) continue;
        pthread_mutex_lock(&l->lock);
        keep_findings(l, &g);
        pthread_mutex_unlock(&l->lock);
    }
    close_group(&g);
}

/* Groups that meet: all of them are there at once, and each goes on when all have come. What was
 * before is then ordered before what comes after, in all of the memory. */
static void run_resident(launch *l)
{
    group_state *const all = calloc((size_t)l->groups, sizeof *all);
    int64_t opened = 0, waiting = l->groups;
    for (; all && opened < l->groups; opened++) {
        group_state *const g = &all[opened];
        *g = (group_state){
            .arguments = l->arguments, .groups = l->groups, .counts = watching(l, opened)};
        g->global_shadows = g->counts ? l->shadows : NULL;
        g->trace = g->counts ? l->program->trace : NULL;
        if (open_group(g, l->program, l->kernel)) break;
        start_group(g, opened);
    }
    l->failed = opened < l->groups;
    while (!l->failed && waiting == l->groups) {
        waiting = 0;
        for (int64_t i = 0; i < l->groups; i++) waiting += run_group(&all[i]);
        for (int p = 0; p < l->kernel->parameters; p++)
            if (l->shadows[p])
                memset(l->shadows[p], 0,
                       (l->arguments[p].bytes / (size_t)l->kernel->unit + 1) *
                           sizeof(global_shadow));
    }
    for (int64_t i = 0; i < opened; i++) {
        if (!l->failed && waiting && i == 0)
            defect(&all[0], DEFECT_BARRIER, l->program->code[l->kernel->start].line,
                   "%lld of %lld groups come to a GRID_BARRIER, and the others have ended",
                   (long long)waiting, (long long)l->groups);
        keep_findings(l, &all[i]);
        close_group(&all[i]);
    }
    free(all);
}

enum { PIECE = 64 }; /* groups that a thread takes at a time */

static void run_piece(void *data, int64_t p)
{
    launch *l = data;
    run_share(l, p * PIECE, (p + 1) * PIECE < l->groups ? (p + 1) * PIECE : l->groups,
              WHICH_OTHERS);
}

/* Runs the observed groups one after the other, so that each run finds the same; the others run on
 * all processors. */
static void run_groups(launch *l)
{
    const int64_t pieces = (l->groups + PIECE - 1) / PIECE;
    if (l->kernel->needs & NEEDS_GRID) {
        run_resident(l);
        return;
    }
    if (l->kernel->atomics || pieces < 2) {
        run_share(l, 0, l->groups, WHICH_ALL);
        return;
    }
    if (l->first) run_share(l, 0, l->groups, WHICH_WATCHED);
    if (l->watched_only) return;
    const int threads = tl_processors();
    tl_for(threads < TL_THREADS_MOST ? threads : TL_THREADS_MOST, pieces, run_piece, l);
}

/* A shadow for each memory that the kernel gets, if all of them together are not too large. */
static int open_shadows(launch *l)
{
    const size_t unit = (size_t)l->kernel->unit;
    size_t words = 0;
    for (int p = 0; p < l->kernel->parameters; p++) words += l->arguments[p].bytes / unit;
    if (words > SHADOWED_MOST) return 0;
    for (int p = 0; p < l->kernel->parameters; p++) {
        if (!l->arguments[p].data) continue;
        for (int q = 0; q < p && !l->shadows[p]; q++)
            if (l->arguments[q].data == l->arguments[p].data) l->shadows[p] = l->shadows[q];
        if (!l->shadows[p])
            l->shadows[p] = calloc(l->arguments[p].bytes / unit + 1, sizeof(global_shadow));
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

int model_launch(model_program *p, const model_start *start, model_counts *counts, char *error,
                 size_t capacity)
{
    const model_argument *const arguments = start->arguments;
    const int64_t groups = start->groups;
    launch l = {.program = p,
                .kernel = find_kernel(p, start->kernel),
                .arguments = arguments,
                .groups = groups,
                .watched_only = start->watched_only && counts,
                .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!l.kernel || l.kernel->parameters != start->count) {
        snprintf(error, capacity, "%s: there is no kernel '%s' of %d parameters", p->name,
                 start->kernel, start->count);
        return -1;
    }
    for (int i = 0; i < start->count; i++) {
        const int memory = l.kernel->parameter_array[i] >= 0;
        if (memory == (arguments[i].data != NULL)) continue;
        snprintf(error, capacity, "%s: parameter %d of the kernel '%s' must be %s", p->name, i + 1,
                 start->kernel, memory ? "a whole number (i64)" : "memory (GLOBAL)");
        return -1;
    }
    model_counts *three = counts ? calloc(3, sizeof *three) : NULL;
    if (counts && !three) {
        snprintf(error, capacity, "%s: out of memory", p->name);
        return -1;
    }
    if (three) l.first = three, l.middle = three + 1, l.last = three + 2;
    if (counts && open_shadows(&l)) l.failed = 1;
    if (counts && p->trace) trace_launch_starts(p->trace, p, l.kernel, arguments, groups);
    if (!l.failed) run_groups(&l);
    close_shadows(&l);
    if (counts) {
        const int fresh = counts->groups == 0; /* launches: of others too (clear, zero) */
        counts->launches++;
        counts->groups += groups;
        counts->threads = fresh ? l.kernel->threads : counts->threads;
        counts->warp = p->setting.warp;
        counts->banks = p->setting.banks;
        add_counts(counts, l.first, 1, 1, fresh, p->lines);
        if (l.middle->groups)
            add_counts(counts, l.middle, groups - 2, l.middle->groups, 0, p->lines);
        add_counts(counts, l.last, 1, 1, 0, p->lines);
        if (!counts->defect) counts->defect = l.defect;
        for (int k = 0; k < DEFECTS; k++)
            if (!counts->found[k].line) counts->found[k] = l.found[k];
    }
    free(three);
    if (l.failed) snprintf(error, capacity, "%s: out of memory", p->name);
    const int fatal = l.found[DEFECT_ENDLESS].line ? DEFECT_ENDLESS : counts ? 0 : l.defect;
    if (fatal)
        snprintf(error, capacity, "%s:%d: %s", p->name, l.found[fatal].line,
                 l.found[fatal].sentence);
    return l.failed || fatal ? -1 : 0;
}

/* SPDX-License-Identifier: MIT
 * Pictures of which elements are added. A reduction's tree comes from its documented order
 * (order_text.h, executed on nodes instead of numbers); the steps of a tile come from the
 * model's trace: a line leads from a word that a lane read to the word that it wrote before the
 * next barrier. */
#include "html.h"
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 16, NODES = 4 * LEAVES };

typedef struct tree {
    order_setting setting; /* first: COMBINE gets a pointer to it */
    int count, left[NODES], right[NODES], height[NODES];
    double x[NODES];
} tree;

/* Node 0 is NEUTRAL, which changes nothing; 1 to LEAVES are the elements. */
static int32_t join_nodes(const order_setting *h, int32_t a, int32_t b)
{
    tree *t = (tree *)(uintptr_t)h;
    if (!a || !b || t->count == NODES) return a ? a : b;
    const int k = t->count++;
    t->left[k] = a;
    t->right[k] = b;
    t->height[k] = 1 + (t->height[a] > t->height[b] ? t->height[a] : t->height[b]);
    t->x[k] = (t->x[a] + t->x[b]) / 2;
    return k;
}

#define COMBINE(h, a, b) join_nodes(h, a, b)
#define T                int32_t
#define WORK             uint32_t
#define NAME(x)          x##_nodes
#include "order_text.h"
#undef COMBINE

/* The settings of the drawn orders, small enough to see. LAST gives COMBINE a changed copy of the
 * setting, so it is drawn as its parts, QUADS and then DISTANT. */
static const struct {
    order order;
    int threads, warp;
    int64_t groups;
    const char *name, *says;
} drawn[] = {
    {LEFT, 1, 1, 1, "from the left", "one after the other: as deep as there are elements"},
    {ORDER_HALVES, 4, 4, 1, "halves", "the most distant pairs of the whole array first"},
    {ORDER_EIGHTHS, 4, 4, 1, "eighths",
     "eight strided elements from the left, then what is left of them"},
    {NEIGHBOURS, 16, 16, 1, "neighbours", "a tile: neighbours first"},
    {DISTANT, 16, 16, 1, "distant pairs", "a tile: the most distant pairs first"},
    {ORDER_STRIDES, 4, 4, 2, "strides",
     "each of 4 threads of 2 groups strides over the array; then distant pairs; then the groups "
     "from the left"},
    {WARPS, 4, 2, 2, "warps",
     "as strides, but distant pairs in warps (of 2 lanes here), then the warps from the left"},
    {QUADS, 4, 2, 1, "quads", "four neighbours at a time in each thread, then as warps"},
    {LAW, 1, 1, 1, "the library",
     "two neighbours of equal size as soon as there are two: the same on every device"},
};

static void grow(tree *t, size_t which)
{
    int32_t leaves[LEAVES], result;
    const int32_t none = 0;
    memset(t, 0, sizeof *t);
    t->setting = (order_setting){.order = drawn[which].order,
                                 .schedule = LEVELS,
                                 .threads = drawn[which].threads,
                                 .each = drawn[which].threads,
                                 .warp = drawn[which].warp,
                                 .groups = drawn[which].groups};
    t->count = LEAVES + 1;
    for (int i = 0; i < LEAVES; i++) {
        leaves[i] = i + 1;
        t->x[i + 1] = i;
    }
    order_nodes(&t->setting, leaves, LEAVES, &none, &result);
}

enum { APART = 19, DOWN = 26, MARGIN = 12 };

static void draw_tree(FILE *f, const tree *t, size_t which, const char *rungs)
{
    int most = 0;
    for (int k = 0; k < t->count; k++) most = t->height[k] > most ? t->height[k] : most;
    const double down = most > 8 ? 8.0 * DOWN / most : DOWN;
    const int w = (LEAVES - 1) * APART + 2 * MARGIN, h = (int)(most * down) + 2 * MARGIN + 12;
    fprintf(f,
            "<figure><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
            "aria-label=\"tree of %d additions, %d deep: %s\">",
            w, h, w, h, t->count - LEAVES - 1, most, drawn[which].says);
    for (int k = LEAVES + 1; k < t->count; k++)
        for (int side = 0; side < 2; side++) {
            const int child = side ? t->right[k] : t->left[k];
            fprintf(f, "<path class=\"twig\" d=\"M%.1f %.1fL%.1f %.1f\"/>",
                    MARGIN + APART * t->x[k], MARGIN + down * t->height[k],
                    MARGIN + APART * t->x[child], MARGIN + down * t->height[child]);
        }
    for (int k = 1; k < t->count; k++)
        fprintf(f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>",
                k > LEAVES ? "cell" : "leaf", MARGIN + APART * t->x[k],
                MARGIN + down * t->height[k], k > LEAVES ? "3.5" : "6");
    fprintf(f, "</svg><figcaption><b>%s</b>: %s; %d steps deep.<br>%s</figcaption></figure>\n",
            drawn[which].name, drawn[which].says, most, rungs);
}

static void order_trees(const shape_report *s, FILE *f)
{
    tree *const t = malloc(sizeof *t);
    fprintf(f, "<h3>The orders of addition, as trees</h3><div class=\"maps trees\">\n");
    for (size_t d = 0; t && d < sizeof drawn / sizeof *drawn; d++) {
        char rungs[300] = "";
        size_t n = 0;
        for (int i = 0; i < s->count; i++) {
            const rung *g = s->rows[i].rung;
            if (g->order == drawn[d].order || (drawn[d].order == QUADS && g->order == LAST))
                n += (size_t)snprintf(rungs + n, n < sizeof rungs ? sizeof rungs - n : 0, "%s%s",
                                      n ? ", " : "", g->name);
        }
        if (!n) continue;
        grow(t, d);
        draw_tree(f, t, d, rungs);
    }
    free(t);
    fprintf(f,
            "</div><p class=\"soft\">%d elements at the top, the result at the bottom. Floats are "
            "rounded at every node, so trees of different shape give different bits. The depth is "
            "the number of additions that must wait for each other.</p>\n",
            LEAVES);
}

/* ---- the steps of one tile ---- */

static int of_shared(const small_run *s, const trace_event *e)
{
    return (e->kind == TRACE_READ || e->kind == TRACE_WRITE) &&
           s->trace.launch[0].array[e->place].shared &&
           s->trace.launch[0].array[e->place].length >= s->small.threads;
}

/* Rows are moments between barriers; row 0 is what was loaded. */
static void draw_steps(FILE *f, const small_run *s, const char *says)
{
    const model_trace *t = &s->trace;
    int words = 0, moment = -1, any = 0;
    char *const body = malloc(1 << 17);
    size_t n = 0;
    int read[SMALL_THREADS][8], reads[SMALL_THREADS] = {0}, wrote[SMALL_THREADS] = {0}, lowest = 0;
    if (!body) return;
    body[0] = 0;
    for (int i = 2;
         i < t->count && t->event[i].kind != TRACE_GROUP && t->event[i].kind != TRACE_LAUNCH; i++) {
        const trace_event *e = &t->event[i];
        if (e->kind == TRACE_BARRIER) {
            if (any) moment++;
            any = 0;
            continue;
        }
        if (!of_shared(s, e)) continue;
        if (moment < 0 && e->kind == TRACE_WRITE) moment = 0;
        words = (int)t->launch[0].array[e->place].length;
        for (int l = 0; l < t->warp; l++) {
            const int thread = e->warp * t->warp + l;
            if (!(e->lanes >> l & 1) || thread >= SMALL_THREADS || n > (1 << 17) - 4000) continue;
            const double x = MARGIN + APART * e->index[l], y = MARGIN + DOWN * moment;
            if (e->kind == TRACE_READ) {
                /* what it read belongs to what it wrote since */
                if (wrote[thread]) wrote[thread] = reads[thread] = 0;
                if (reads[thread] < 8) read[thread][reads[thread]++] = e->index[l];
                continue;
            }
            wrote[thread] = any = 1;
            lowest = moment;
            for (int k = 0; k < reads[thread]; k++)
                n +=
                    (size_t)sprintf(body + n, "<path class=\"twig%s\" d=\"M%.0f %.0fL%.0f %.0f\"/>",
                                    read[thread][k] == e->index[l] ? " own" : "",
                                    MARGIN + (double)APART * read[thread][k], y - DOWN, x, y);
            n +=
                (size_t)sprintf(body + n, "<circle class=\"%s\" cx=\"%.0f\" cy=\"%.0f\" r=\"%s\"/>",
                                reads[thread] ? "cell" : "leaf", x, y, reads[thread] ? "3.5" : "6");
        }
    }
    const int w = (words - 1) * APART + 2 * MARGIN, h = DOWN * lowest + 2 * MARGIN;
    fprintf(f,
            "<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"steps of "
            "%s\"><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
            "aria-label=\"%s: words across, steps down\">%s</svg></div><figcaption><b>%s</b>, a "
            "group of %d threads, %d words%s</figcaption></figure>\n",
            s->small.name, w, h, w, h, s->small.name, body, s->small.name, s->small.threads, words,
            says);
    free(body);
}

static void tile_steps(const shape_report *s, FILE *f)
{
    static const struct {
        const char *rung;
        int threads;
        const char *says;
    } shown[] = {
        {"reduce/naive", 4, ": results stay where they are, so working threads move apart"},
        {"reduce/better", 4, ": results come to the front, so working threads stay side by side"},
        {"scan/tiled_scan", 16, ""},
        {"scan/hillis_steele", 8, ": two halves in turn, so one barrier per step is enough"},
        {"scan/blelloch", 8, ": up the tree, and down again"}};
    int any = 0;
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
        const rung *const g = find_rung(shape_name(s->shape), shown[k].rung);
        small_run run;
        ladder_error error;
        int here = 0;
        for (int i = 0; i < s->count; i++) here |= s->rows[i].rung == g;
        if (!g || !here || watch_rung(g, NULL, shown[k].threads, &run, &error)) continue;
        if (!any++)
            fprintf(f, "<h3>What one group does, from the trace</h3><div class=\"maps "
                       "steps-of-a-tile\">\n");
        draw_steps(f, &run, shown[k].says);
        end_small_run(&run);
    }
    if (any)
        fprintf(f, "</div><p class=\"soft\">A column is a word of shared memory, a row the time "
                   "between two barriers. Lines come from the words that a thread read and end at "
                   "the word that it wrote.</p>\n");
}

void plot_trees(const shape_report *s, FILE *f)
{
    if (s->shape == SHAPE_reduce) order_trees(s, f);
    tile_steps(s, f);
}

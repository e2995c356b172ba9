/* SPDX-License-Identifier: MIT
 *
 * cells.c - from the words of cells.def and of the command line to cells.
 */
#define _GNU_SOURCE
#include "cliffs.h"
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATORS_MOST = 128, SEEN_LEAST = 1024 };

static const struct {
    const char *word;
    cliff_verb verb;
    int64_t w;
} verbs[] = {
#define CLIFF_VERB(word, verb, w) {word, verb, w},
#define CLIFF_VIEW(...)
#define CLIFF_SHEET(...)
#include "cells.def"
#undef CLIFF_VERB
#undef CLIFF_VIEW
};
typedef struct view {
    char word[CLIFF_WORD];
    cliff_cut cut;
    int64_t length;
} view;
static const view named_views[] = {
#define CLIFF_VERB(...)
#define CLIFF_VIEW(word, cut, length) {word, cut, length},
#include "cells.def"
#undef CLIFF_VIEW
#undef CLIFF_SHEET
};
static const struct sheet {
    const char *set, *places, *sizes, *ops, *types, *shapes, *views;
} sheets[] = {
#define CLIFF_VIEW(...)
#define CLIFF_SHEET(set, places, sizes, ops, types, shapes, views) \
    {set, places, sizes, ops, types, shapes, views},
#include "cells.def"
};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Every number up to SWEEP_ALL, those around powers of two up to SWEEP_MOST, and about one in
   SWEEP_SOME of the others. */
enum { SWEEP_ALL = 130, SWEEP_MOST = 5000, SWEEP_SOME = 300 };
static view swept[2 * SWEEP_MOST];
static const view *views = named_views;
static int view_count = COUNT(named_views);

static int is_swept(uint32_t n)
{
    return n <= SWEEP_ALL || !(n & (n - 1)) || !(n & (n + 1)) || !((n - 1) & (n - 2)) ||
           (n * UINT32_C(2654435761) >> 8) % SWEEP_SOME == 0;
}

void cells_sweep(void)
{
    view_count = 0;
    for (int columns = 0; columns < 2; columns++)
        for (uint32_t n = 1; n <= SWEEP_MOST; n++)
            if (is_swept(n)) {
                view *const v = &swept[view_count++];
                *v = (view){.cut = columns ? CUT_COLUMNS : CUT_ROWS, .length = n};
                snprintf(v->word, sizeof v->word, "%s=%u", columns ? "columns" : "rows", n);
            }
    views = swept;
}

static char operators[OPERATORS_MOST][CLIFF_WORD], files[OPERATORS_MOST][PATH_MAX];
static int operator_count, file_count;

/* Is `word` in the list? An empty list has every word. */
static int listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, " ,"), at += strspn(at, " ,"))
        if (strcspn(at, " ,") == length && !memcmp(at, word, length)) return 1;
    return !list || !*list;
}

static int ends(const char *name, const char *end)
{
    const size_t length = strlen(name), more = strlen(end);
    return length > more && !strcmp(name + length - more, end);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

int cells_operators(tally *ctx, const char *folder)
{
    DIR *d = folder ? opendir(folder) : NULL;
    for (const char *const *name = tally_operators(); *name && operator_count < OPERATORS_MOST;
         name++) {
        tally_operator_info info;
        /* bench/inputs.c */
        if (!tally_operator(NULL, *name, TALLY_F64, &info) && info.inputs == 2) continue;
        const char *const needs = tally_operator(NULL, *name, TALLY_F64, &info) &&
                                          tally_operator(NULL, *name, TALLY_I64, &info)
                                      ? ":0.1" /* a parameter that must be given */
                                      : "";
        snprintf(operators[operator_count++], CLIFF_WORD, "%s%s", *name, needs);
    }
    for (struct dirent *e; d && (e = readdir(d)) && file_count < OPERATORS_MOST;)
        if (ends(e->d_name, ".h"))
            snprintf(files[file_count++], PATH_MAX, "%s/%s", folder, e->d_name);
    if (d) closedir(d);
    qsort(files, (size_t)file_count, sizeof *files, by_name);
    for (int i = 0; i < file_count && operator_count < OPERATORS_MOST; i++) {
        const char *const name = strrchr(files[i], '/') + 1;
        const size_t length = strlen(name) - 2;
        if (length >= CLIFF_WORD) continue;
        memcpy(operators[operator_count], name, length);
        operators[operator_count++][length] = 0;
    }
    return cells_define(ctx);
}

int cells_define(tally *ctx)
{
    for (int i = 0; i < file_count; i++)
        if (tally_define_file(ctx, NULL, files[i])) return 0;
    return 1;
}

void cell_key(const cell *c, const char *device, char *key, size_t capacity)
{
    snprintf(key, capacity, "%s,%d,%s,%s,%s,%s,%s", device, c->threads, c->op,
             tally_dtype_name(c->dtype), c->shape, c->view, c->size);
}

/* ---- what was given out already: a table of hashes ---- */

static uint64_t *seen;
static size_t seen_capacity, seen_count;

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

/* 1: new. No memory: everything is new. */
static int first_time(const char *key)
{
    if (2 * seen_count >= seen_capacity) {
        const size_t capacity = seen_capacity ? 2 * seen_capacity : SEEN_LEAST;
        uint64_t *more = calloc(capacity, sizeof *more);
        if (!more) return 1;
        for (size_t i = 0; i < seen_capacity; i++) {
            size_t at = seen[i] % capacity;
            while (seen[i] && more[at]) at = (at + 1) % capacity;
            if (seen[i]) more[at] = seen[i];
        }
        free(seen);
        seen = more;
        seen_capacity = capacity;
    }
    const uint64_t h = hash(key);
    size_t at = h % seen_capacity;
    for (; seen[at]; at = (at + 1) % seen_capacity)
        if (seen[at] == h) return 0;
    seen[at] = h;
    seen_count++;
    return 1;
}

/* ---- the cross product ---- */

typedef struct walk {
    const place *p;
    const struct sheet *sheet;
    const selection *chosen;
    int (*use)(const cell *c, void *with);
    void *with;
} walk;

/* A window that no sequence holds has nothing to say. */
static int fits(const cell *c)
{
    return c->verb != CLIFF_WINDOW || c->cut < CUT_ROWS || c->cut == CUT_COLUMNS ||
           c->cut > CUT_SEGMENTS || c->w <= c->length;
}

static int of_size(const walk *k, cell *c)
{
    const struct sheet *s = k->sheet;
    for (int o = 0; o < operator_count; o++) {
        memcpy(c->op, operators[o], sizeof c->op);
        if (!listed(s->ops, c->op) || !listed(k->chosen->ops, c->op)) continue;
        for (int d = 1; tally_dtype_name((tally_dtype)d); d++) {
            c->dtype = (tally_dtype)d;
            if (!listed(s->types, tally_dtype_name(c->dtype)) ||
                !listed(k->chosen->types, tally_dtype_name(c->dtype)) ||
                tally_operator(k->p->ctx, c->op, c->dtype, &c->info))
                continue;
            for (int v = 0; v < COUNT(verbs); v++)
                for (int w = 0; w < view_count; w++) {
                    if (!listed(s->shapes, verbs[v].word) ||
                        !listed(k->chosen->shapes, verbs[v].word) ||
                        !listed(s->views, views[w].word) ||
                        !listed(k->chosen->views, views[w].word))
                        continue;
                    char key[CLIFF_KEY];
                    snprintf(c->shape, sizeof c->shape, "%s", verbs[v].word);
                    snprintf(c->view, sizeof c->view, "%s", views[w].word);
                    c->verb = verbs[v].verb;
                    c->w = verbs[v].w;
                    c->cut = views[w].cut;
                    c->length = views[w].length;
                    cell_key(c, k->p->device, key, sizeof key);
                    if (fits(c) && first_time(key) && !k->use(c, k->with)) return 0;
                }
        }
    }
    return 1;
}

/* The next word of a list; 0: there is none. */
static int next_word(const char **at, char *word)
{
    const size_t length = strcspn(*at, " ,"), kept = length < CLIFF_WORD ? length : CLIFF_WORD - 1;
    memcpy(word, *at, kept);
    word[kept] = 0;
    *at += length;
    *at += strspn(*at, " ,");
    return length > 0;
}

static int is_list(const char *what, const char *list, int (*is)(const char *word))
{
    char word[CLIFF_WORD];
    for (const char *at = list; at && *at && next_word(&at, word);)
        if (!is(word)) {
            fprintf(stderr, "cliffs: %s has the word '%s', which is none (--list shows them)\n",
                    what, word);
            return 0;
        }
    return 1;
}

static int is_operator(const char *word)
{
    for (int o = 0; o < operator_count; o++)
        if (!strcmp(word, operators[o])) return 1;
    return 0;
}
static int is_type(const char *word) { return tally_dtype_parse(word) != 0; }
static int is_shape(const char *word)
{
    for (int v = 0; v < COUNT(verbs); v++)
        if (!strcmp(word, verbs[v].word)) return 1;
    return 0;
}
static int is_view(const char *word)
{
    for (int v = 0; v < view_count; v++)
        if (!strcmp(word, views[v].word)) return 1;
    return 0;
}
static int is_size(const char *word)
{
    char *end;
    if (!strcmp(word, "l2") || !strcmp(word, "dram")) return 1;
    const long k = strncmp(word, "2^", 2) ? -1 : strtol(word + 2, &end, 10);
    return k >= 0 && k <= 40 && !*end;
}

static int each_of(walk *k, const int *teams, int team_count)
{
    for (int t = 0; t < team_count; t++) {
        cell c = {.threads = teams[t]};
        const char *sizes = *k->sheet->sizes ? k->sheet->sizes : "dram l2";
        while (next_word(&sizes, c.size))
            if (listed(k->chosen->sizes, c.size) && !of_size(k, &c)) return 0;
    }
    return 1;
}

int cells_each(const place *p, const char *set, const selection *chosen, const int *teams,
               int team_count, int (*use)(const cell *c, void *with), void *with)
{
    const char *const here = p->threads ? "cpu" : "gpu";
    if (!is_list("--ops", chosen->ops, is_operator) ||
        !is_list("--types", chosen->types, is_type) ||
        !is_list("--shapes", chosen->shapes, is_shape) ||
        !is_list("--views", chosen->views, is_view) || !is_list("--sizes", chosen->sizes, is_size))
        return 0;
    free(seen);
    seen = NULL;
    seen_capacity = seen_count = 0;
    if (!strcmp(set, "all")) {
        const struct sheet all = {"all", "any", chosen->sizes ? chosen->sizes : "", "", "", "", ""};
        each_of(&(walk){p, &all, chosen, use, with}, teams, team_count);
        return 1;
    }
    for (int s = 0; s < COUNT(sheets); s++)
        if ((!strcmp(sheets[s].set, set) || !strcmp(set, "full")) &&
            (!strcmp(sheets[s].places, "any") || !strcmp(sheets[s].places, here)) &&
            !each_of(&(walk){p, &sheets[s], chosen, use, with}, teams, team_count))
            break;
    return 1;
}

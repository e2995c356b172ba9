/* SPDX-License-Identifier: MIT
 * The table of rungs, and the texts that the build embedded (ladder/ladder.cmake). */
#include "rung.h"
#include <string.h>

const rung ladder_table[] = {
#define ORDER_OF_LEFT       LEFT
#define ORDER_OF_NONE       NONE
#define ORDER_OF_HALVES     ORDER_HALVES
#define ORDER_OF_EIGHTHS    ORDER_EIGHTHS
#define ORDER_OF_NEIGHBOURS NEIGHBOURS
#define ORDER_OF_DISTANT    DISTANT
#define ORDER_OF_STRIDES    ORDER_STRIDES
#define ORDER_OF_WARPS      WARPS
#define ORDER_OF_QUADS      QUADS
#define ORDER_OF_BLOCKS     BLOCKS
#define ORDER_OF_LAST       LAST
#define ORDER_OF_LAW        LAW
#define ORDER_OF_MODEL      MODEL
#define RUNG(shape, name, schedule, threads, each, order, note, after) \
    {SHAPE_##shape, #name, schedule, threads, each, ORDER_OF_##order, note, after, NULL, {0, 0}},
#include "rungs.def"
#undef RUNG
    {SHAPES, NULL, LOOP, 0, 0, NONE, PLAIN, "", NULL, {0, 0}}};

typedef struct embedded {
    const char *path, *text;
} embedded;
extern const embedded ladder_texts[]; /* ended by path NULL */

const char *shape_name(shape s)
{
    static const char *const names[] = {"reduce", "scan", "window", "transpose", "histogram"};
    return names[s];
}

const char *const *ladder_rungs(void)
{
    static const char *names[64];
    for (int i = 0, n = 0; !names[0] || (i && ladder_table[i].name); i++) {
        int listed = 0;
        for (int k = 0; k < n; k++) listed |= !strcmp(names[k], ladder_table[i].name);
        if (!listed && n < 63) names[n++] = ladder_table[i].name;
    }
    return names;
}

const rung *find_rung(const char *shape_or_null, const char *name)
{
    const char *const slash = strchr(name, '/');
    for (const rung *r = ladder_table; r->name; r++) {
        const char *const s = shape_name(r->shape);
        if (shape_or_null && strcmp(shape_or_null, s) != 0) continue;
        if (slash && (strlen(s) != (size_t)(slash - name) || strncmp(s, name, strlen(s)) != 0))
            continue;
        if (!strcmp(r->name, slash ? slash + 1 : name)) return r;
    }
    return NULL;
}

const char *ladder_text(const char *path)
{
    for (const embedded *e = ladder_texts; e->path; e++)
        if (!strcmp(e->path, path)) return e->text;
    return NULL;
}

const char *rung_text(const rung *r, char *path, size_t capacity)
{
    static const char *const endings[] = {"cl", "txt"};
    const char *text = r->text;
    if (text) snprintf(path, capacity, "%s", r->name);
    for (int i = 0; i < 2 && !text; i++) {
        snprintf(path, capacity, "%s/%s.%s", shape_name(r->shape), r->name, endings[i]);
        text = ladder_text(path);
    }
    return text;
}

void head_line(const char *text, const char *word, char *line, size_t capacity)
{
    char start[40];
    line[0] = 0;
    snprintf(start, sizeof start, "%s: ", word);
    const char *at = text ? strstr(text, start) : NULL;
    /* the first word of its line, behind the signs of a comment */
    for (; at; at = strstr(at + 1, start)) {
        const char *before = at;
        while (before > text && strchr(" \t/*", before[-1])) before--;
        if (before == text || before[-1] == '\n') break;
    }
    if (!at) return;
    const char *from = at + strlen(start);
    size_t n = strcspn(from, "\n");
    if (n > 3 && !strncmp(from + n - 3, " */", 3)) n -= 3;
    if (n >= capacity) n = capacity - 1;
    memcpy(line, from, n);
    line[n] = 0;
}

/* SPDX-License-Identifier: MIT
 * bands.c - --by with --axis: groups the steps along a dimension of NetCDF files by the values of
 * other variables.
 *
 *    season(time) = 4, 1, 1, 4     order  0 3 | 1 2     group 0 is 4, group 1 is 1
 *    temp(time, x)                 the steps of a group are made adjacent, so that each group is
 *                                  a part of the axis; results of scan and window are moved back */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

int by_steps(const options *o)
{
    return has(o, OPT_by) && has(o, OPT_axis) && !has(o, OPT_last) && !has(o, OPT_next);
}

typedef struct keys {
    char *list; /* the text of --by, cut at the commas */
    coordinate *of;
    int64_t count;
} keys;

typedef struct moved_step { /* a step, as qsort moves it */
    int64_t at;
    const keys *keys;
} moved_step;

static int less(const coordinate *c, int64_t a, int64_t b)
{
    const size_t size = tally_dtype_size(c->dtype);
    const char *const x = c->values + (size_t)a * size, *const y = c->values + (size_t)b * size;
    if (c->dtype >= TALLY_F16) return real_value(c->dtype, x) < real_value(c->dtype, y);
    const int64_t v = whole_value(c->dtype, x), w = whole_value(c->dtype, y);
    return c->dtype == TALLY_U64 ? (uint64_t)v < (uint64_t)w : v < w;
}

/* Compares two steps by their keys; steps with equal keys form a group. */
static int compare(const moved_step *x, const moved_step *y)
{
    for (int64_t k = 0; k < x->keys->count; k++) {
        const coordinate *const c = &x->keys->of[k];
        if (less(c, x->at, y->at)) return -1;
        if (less(c, y->at, x->at)) return 1;
    }
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const moved_step *const x = a, *const y = b;
    const int order = compare(x, y);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* The error of a name such as time.week, if there is a variable time and none of that name; and of
 * a part of dates alone, such as month. */
static int check_part(const input *in, const char *axis, const char *name)
{
    char variable[300];
    size_t length;
    const char *const dot = strrchr(name, '.');
    if (strlen(name) >= sizeof variable / 2 || netcdf_has(in->ctx, in->name, name)) return DONE;
    snprintf(variable, sizeof variable, "%.140s.%s", axis ? axis : "time", name);
    if (!dot && calendar_part(variable, &length) >= 0)
        return usage("%s has no variable '%s'; that part of its dates is --by %s", in->label, name,
                     variable);
    if (!dot) return DONE;
    snprintf(variable, sizeof variable, "%.*s", (int)(dot - name), name);
    return netcdf_has(in->ctx, in->name, variable) ? calendar_no_part(dot + 1) : DONE;
}

static int read_keys(keys *k, const options *o, const input *in, const layout *l)
{
    int64_t most = 1;
    int code = DONE;
    k->list = text_for(&code, "--by", o->value[OPT_by]);
    for (const char *at = k->list; at && *at; at++) most += *at == ',';
    k->of = memory_for(&code, "--by", most, sizeof *k->of);
    for (char *at = k->list; at && !code;) {
        char *const comma = strchr(at, ',');
        if (comma) *comma = 0;
        coordinate *const c = &k->of[k->count++];
        size_t length;
        *c = (coordinate){.of = in, .name = at, .as_stored = 1, .part = calendar_part(at, &length)};
        if (c->part >= 0) at[length] = 0; /* the name of the variable of times */
        if (c->part < 0 && (code = check_part(in, o->value[OPT_axis], at))) break;
        code = *at ? coordinate_read(c, o, l)
                   : usage("--by has an empty name among '%s'", o->value[OPT_by]);
        at = comma ? comma + 1 : NULL;
    }
    return code;
}

/* Sets codes to the group of each step, and g->shown to the first step of each group. Groups are
 * sorted by key, or in the order of their first steps. */
static int number(groups *g, const keys *k, int sorted, int32_t *codes)
{
    int code = DONE;
    moved_step *const s = memory_for(&code, "--by", g->lines, sizeof *s);
    int32_t *const rank = memory_for(&code, "--by", g->lines, sizeof *rank);
    for (int64_t i = 0; i < g->lines && !code; i++) s[i] = (moved_step){i, k};
    if (!code) qsort(s, (size_t)g->lines, sizeof *s, ascending);
    for (int64_t i = 0; i < g->lines && !code; i++) {
        if (!i || compare(&s[i - 1], &s[i])) g->shown[g->count++] = s[i].at;
        codes[s[i].at] = (int32_t)(g->count - 1);
    }
    for (int64_t i = 0, seen = 0; i < g->lines && !code && !sorted; i++) {
        if (g->shown[codes[i]] == i) rank[codes[i]] = (int32_t)seen++;
        codes[i] = rank[codes[i]];
    }
    for (int64_t i = g->lines; i-- > 0 && !code;) g->shown[codes[i]] = i;
    free(s);
    free(rank);
    return code;
}

static int name_groups(const groups *g, const keys *k, answer *a, int64_t inner)
{
    char text[64];
    int code = groups_reserve_keys(a, g, k->count, inner);
    a->key_dtypes = memory_for(&code, "the keys", k->count, sizeof *a->key_dtypes);
    for (int64_t c = 0; c < k->count && !code; c++) {
        const coordinate *const of = &k->of[c];
        a->key_dtypes[c] = of->dtype;
        const char *const name = of->part >= 0 ? calendar_part_name(of->part) : of->name;
        a->key_names[c] = text_for(&code, "the keys", name);
        for (int64_t i = 0; i < g->count && !code; i++) {
            const char *const value =
                of->values + (size_t)g->shown[i] * tally_dtype_size(of->dtype);
            tally_format_value(of->dtype, value, 0, text, sizeof text);
            const char *const season =
                of->part >= 0 ? calendar_season(of->part, whole_value(of->dtype, value)) : NULL;
            a->keys[i * k->count + c] = text_for(&code, "the keys", season ? season : text);
        }
    }
    return code;
}

int bands_open(groups *g, answer *a, const options *o, const input *in, const layout *l)
{
    keys k = {.count = 0};
    *g = (groups){.lines = l->len, .width = 1};
    if (!in->info.dimensions) return usage("--by and --axis exclude each other");
    if (l->len > INT32_MAX)
        return usage("%s: --axis has %lld steps, and --by takes at most %d", in->label,
                     (long long)l->len, INT32_MAX);
    int code = DONE;
    int32_t *const codes = memory_for(&code, "--by", g->lines, sizeof *codes);
    g->order = memory_for(&code, "--by", g->lines, sizeof *g->order);
    g->shown = memory_for(&code, "--by", g->lines, sizeof *g->shown);
    if (!code) code = read_keys(&k, o, in, l);
    if (!code) code = number(g, &k, has(o, OPT_sort), codes);
    if (!code && a) code = name_groups(g, &k, a, l->inner);
    g->offsets = memory_for(&code, "--by", g->count + 1, sizeof *g->offsets);
    const tally_view view = tally_flat(codes, TALLY_I32, g->lines);
    if (!code)
        code = code_of(in->ctx, tally_groups(in->ctx, &view, g->count, g->order, g->offsets));
    for (int64_t i = 0; i < k.count; i++) coordinate_free(&k.of[i]);
    free(k.of);
    free(k.list);
    free(codes);
    return code;
}

int bands_move(const groups *g, const layout *l, char *data, size_t bytes, int back)
{
    const size_t step = (size_t)l->inner * bytes, slab = (size_t)l->len * step;
    char *const moved = malloc(slab + 1);
    if (!moved)
        return fail_memory("--by, which puts the steps of a group side by side,", (int64_t)slab);
    large_pages(moved, slab);
    for (int64_t o = 0; o < l->outer; o++, data += slab) {
        for (int64_t i = 0; i < l->len; i++) {
            const size_t there = (size_t)g->order[i] * step, here = (size_t)i * step;
            memcpy(moved + (back ? there : here), data + (back ? here : there), step);
        }
        memcpy(data, moved, slab);
    }
    free(moved);
    return DONE;
}

void bands_part(const groups *g, const layout *l, int64_t group, size_t bytes, tally_view *view)
{
    view->n = g->offsets[group + 1] - g->offsets[group];
    view->data = (char *)view->data + (size_t)(g->offsets[group] * l->inner) * bytes;
}

/* The results are an array of outer x groups x inner. */
void bands_destination(const groups *g, const layout *l, int64_t group, int64_t *at, int64_t *step)
{
    if (l->inner >= l->outer)
        *at = *at * g->count + group * l->inner;
    else
        *at += group * l->inner, *step *= g->count;
}

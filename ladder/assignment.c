/* SPDX-License-Identifier: MIT
 * Reads an assignment of `tally ladder grade`: what is tried, what is limited, and the points. */
#include "assignment.h"
#include <stdlib.h>
#include <string.h>

static const metric metrics[] = {{"conflicts", "passes for bank conflicts", M_conflicts},
                                 {"degree", "lanes at most that wait for one bank", M_degree},
                                 {"barriers", "barriers in each group", M_barriers},
                                 {"divergent", "per cent of the branches diverge", M_divergent},
                                 {"launches", "launches", M_launches},
                                 {"sectors", "sectors in each request", M_sectors},
                                 {"bytes", "bytes moved for each element", M_bytes},
                                 {"requests", "requests of warps for 1000 elements", M_requests},
                                 {"shared", "shared accesses of warps for 1000 elements", M_shared},
                                 {"active", "per cent of the lanes are active", M_active},
                                 {"races", "races", M_races},
                                 {"error", "ulp away from the exact result", M_error},
                                 {"rate", "times the rate of the rung", M_rate}};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* The entry that is read, and where its error goes. */
typedef struct reading {
    const char *file;
    const toml_entry *e;
    ladder_error *error;
} reading;

static int refuse(const reading *r, const char *what)
{
    const toml_entry *const e = r->e;
    return fail_with(r->error, 1, "%s:%d:%d: %s%s%s: %s", r->file, e->line, e->column, e->table,
                     e->table[0] ? "." : "", e->key, what);
}

static int text_of(const reading *r, char *to)
{
    if (r->e->is_list || !r->e->item[0].is_text) return refuse(r, "a \"string\" is needed");
    snprintf(to, TOML_TEXT, "%s", r->e->item[0].text);
    return 0;
}

static int numbers_of(const reading *r, double least, double most, int64_t *to, int *count)
{
    const toml_entry *const e = r->e;
    char what[100];
    snprintf(what, sizeof what, "whole numbers from %.0f to %.0f are needed", least, most);
    *count = e->count;
    if (!e->count) return refuse(r, "the list is empty");
    for (int i = 0; i < e->count; i++) {
        const double x = e->item[i].number;
        if (e->item[i].is_text || x < least || x > most || x != (double)(int64_t)x)
            return refuse(r, what);
        to[i] = (int64_t)x;
    }
    return 0;
}

/* Reads one number from 1 to `most`. */
static int number_of(const reading *r, int64_t most, int64_t *to)
{
    int count;
    if (r->e->is_list) return refuse(r, "one number is needed, not a list");
    return numbers_of(r, 1, most, to, &count);
}

/* Reads a list of known words as their indexes. */
static int words_of(const reading *r, const char *const *choices, int *to, int *count)
{
    const toml_entry *const e = r->e;
    *count = e->count;
    if (!e->count) return refuse(r, "the list is empty");
    for (int i = 0; i < e->count; i++) {
        int k = 0;
        while (choices[k] && (!e->item[i].is_text || strcmp(choices[k], e->item[i].text) != 0)) k++;
        if (!choices[k]) {
            char what[100] = "choices:";
            for (int x = 0; choices[x]; x++)
                snprintf(what + strlen(what), sizeof what - strlen(what), " \"%s\"", choices[x]);
            return refuse(r, what);
        }
        to[i] = k;
    }
    return 0;
}

static int limit_of(const reading *r, assignment *a)
{
    const toml_entry *const e = r->e;
    for (int m = 0; m < METRICS; m++) {
        if (strcmp(metrics[m].name, e->key) != 0) continue;
        if (e->is_list || e->item[0].is_text || e->item[0].number < 0)
            return refuse(r, "a number from 0 is needed");
        if (a->limit_count == CHECKS_MOST) return refuse(r, "more than 32 limits");
        a->limits[a->limit_count++] =
            (limit){&metrics[m], !strcmp(e->table, "least"), e->item[0].number, 1};
        return 0;
    }
    char what[200] = "there is no such count; choices:";
    for (int m = 0; m < METRICS; m++)
        snprintf(what + strlen(what), sizeof what - strlen(what), " %s", metrics[m].name);
    return refuse(r, what);
}

static int points_of(const reading *r, assignment *a)
{
    const toml_entry *const e = r->e;
    int found = 0;
    if (e->is_list || e->item[0].is_text || e->item[0].number < 0)
        return refuse(r, "a number from 0 is needed");
    if (!strcmp(e->key, "right")) a->right_points = e->item[0].number, found = 1;
    for (int i = 0; i < a->limit_count; i++)
        if (!strcmp(a->limits[i].of->name, e->key))
            a->limits[i].points = e->item[0].number, found = 1;
    return found ? 0 : refuse(r, "points are for `right` and for what [most] and [least] limit");
}

static int entry_of(const reading *r, assignment *a)
{
    const toml_entry *const e = r->e;
    static const char *const operations[] = {"sum", "min", "max", NULL};
    static const char *const types[] = {"i8", "u8", "i32", "u32", "i64", "u64", "f32", "f64", NULL};
    int64_t list[LIST_MOST];
    int index[LIST_MOST], code;
    if (!strcmp(e->table, "most") || !strcmp(e->table, "least")) return limit_of(r, a);
    if (!strcmp(e->table, "points")) return 0; /* when all limits are known */
    if (e->table[0]) return refuse(r, "there is no such table; choices: most, least, points");
    if (!strcmp(e->key, "title")) return text_of(r, a->title);
    if (!strcmp(e->key, "like")) return text_of(r, a->like);
    if (!strcmp(e->key, "sizes")) return numbers_of(r, 0, 1 << 24, a->sizes, &a->size_count);
    if (!strcmp(e->key, "widths")) return numbers_of(r, 1, 1 << 20, a->widths, &a->width_count);
    if (!strcmp(e->key, "counted")) return number_of(r, 1 << 24, &a->counted);
    if (!strcmp(e->key, "threads")) return number_of(r, MODEL_THREADS_MOST, &a->threads);
    if (!strcmp(e->key, "warps")) {
        code = numbers_of(r, 1, MODEL_WARP_MOST, list, &a->warp_count);
        for (int i = 0; i < a->warp_count && !code; i++) {
            a->warps[i] = (int)list[i];
            if (list[i] & (list[i] - 1)) code = refuse(r, "a warp has a power of two of lanes");
        }
        return code;
    }
    if (!strcmp(e->key, "operations"))
        return words_of(r, operations, a->operations, &a->operation_count);
    if (!strcmp(e->key, "types")) {
        code = words_of(r, types, index, &a->type_count);
        for (int i = 0; i < a->type_count && !code; i++)
            snprintf(a->types[i], sizeof a->types[i], "%s", types[index[i]]);
        return code;
    }
    return refuse(r,
                  "there is no such key; choices: title, like, threads, sizes, types, operations, "
                  "warps, widths, counted");
}

int read_assignment(const char *file, const char *text, assignment *a, ladder_error *error)
{
    toml *t = malloc(sizeof *t);
    int code = t ? toml_read(file, text, t, error) : fail_with(error, 1, "out of memory");
    memset(a, 0, sizeof *a);
    a->right_points = 1;
    for (int i = 0; !code && i < t->count; i++)
        code = entry_of(&(reading){file, &t->entry[i], error}, a);
    for (int i = 0; !code && i < t->count; i++)
        if (!strcmp(t->entry[i].table, "points"))
            code = points_of(&(reading){file, &t->entry[i], error}, a);
    if (!code && !a->like[0])
        code = fail_with(error, 1, "%s: like = \"shape/rung\" is missing", file);
    const rung *of = code ? NULL : find_rung(NULL, a->like);
    if (!code && (!of || is_host(of)))
        code = fail_with(error, 1, "%s: like: there is no rung '%s' with a kernel", file, a->like);
    if (!code && !a->size_count) code = fail_with(error, 1, "%s: sizes = [...] is missing", file);
    if (!code) {
        const int is_window = of->shape == SHAPE_window;
        if (!a->type_count)
            snprintf(a->types[a->type_count++], sizeof a->types[0], is_window ? "f32" : "i32");
        if (!a->operation_count) a->operations[a->operation_count++] = 0;
        if (!a->warp_count) a->warps[a->warp_count++] = 32;
        if (!a->width_count) a->widths[a->width_count++] = 50;
        if (!a->counted) a->counted = 1 << 16;
        for (int i = 0; i < a->type_count; i++) {
            kind k;
            if (kind_parse(a->types[i], &k) && !takes_kind(of->shape, k))
                code =
                    fail_with(error, 1, "%s: types: %s takes no '%s'", file, a->like, a->types[i]);
        }
    }
    free(t);
    return code;
}

/* SPDX-License-Identifier: MIT
 * tally ladder diff A B: two --json files side by side, rung by rung: rates, and the counts that differ. Reads JSON
 * as json.c writes it. */
#include "rung.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 24 };

/* The value behind "key": in the object that begins at `from`, or NULL. Objects and lists inside
   are passed over. */
static const char *value_of(const char *from, const char *key)
{
    int depth = 0;
    const size_t n = strlen(key);
    for (const char *at = from; at && *at; at++) {
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && --depth == 0) return NULL;
        if (*at != '"') continue;
        const char *end = at + 1;
        while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
        if (!*end) return NULL;
        if (depth == 1 && (size_t)(end - at - 1) == n && !strncmp(at + 1, key, n) &&
            end[1] == ':') {
            for (end += 2; *end == ' ' || *end == '\n'; end++) {
            }
            return end;
        }
        at = end;
    }
    return NULL;
}

/* Element number `index` of the list at `list`, or NULL. */
static const char *element_of(const char *list, int index)
{
    int depth = 0, seen = 0;
    if (!list || *list != '[') return NULL;
    for (const char *at = list; *at; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++) at += *at == '\\' && at[1];
            if (!*at) return NULL;
        } else if (*at == '{' || *at == '[') {
            if (depth++ == 1 && seen++ == index) return at;
        } else if (*at == '}' || *at == ']') {
            if (--depth == 0) return NULL;
        }
    }
    return NULL;
}

static double number_at(const char *object, const char *key)
{
    const char *const at = object ? value_of(object, key) : NULL;
    return at ? strtod(at, NULL) : 0;
}

static void text_at(const char *object, const char *key, char *to, size_t capacity)
{
    const char *at = object ? value_of(object, key) : NULL;
    size_t n = 0;
    if (at && *at == '"')
        for (at++; *at && *at != '"' && n + 1 < capacity; at++) {
            if (*at == '\\' && at[1]) at++;
            to[n++] = *at;
        }
    to[n] = 0;
}

static char *load(const char *path, ladder_error *error)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        fail_with(error, 1, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = malloc(FILE_MOST + 1);
    const size_t n = text ? fread(text, 1, FILE_MOST, f) : 0;
    fclose(f);
    if (text) text[n] = 0;
    if (!text || text[0] != '{' || number_at(text, "ladder") != 1) {
        free(text);
        fail_with(error, 1, "%s: not a file that `tally ladder --json` wrote", path);
        return NULL;
    }
    return text;
}

static const char *named(const char *list, const char *key, const char *name)
{
    char is[64];
    const char *at;
    for (int i = 0; (at = element_of(list, i)); i++) {
        text_at(at, key, is, sizeof is);
        if (!strcmp(is, name)) return at;
    }
    return NULL;
}

static void cell(FILE *out, double rate)
{
    if (rate > 0)
        fprintf(out, " %10.2f", 1e-9 * rate);
    else
        fprintf(out, " %10s", "-");
}

/* Counts that are not the same. */
static void compare_counts(const char *x, const char *y, FILE *out)
{
    static const char *const keys[] = {"launches", "barriers",    "branches", "divergent",
                                       "shared",   "conflicts",   "requests", "sectors",
                                       "races",    "worst_degree"};
    const char *const one = value_of(x, "model"), *const two = value_of(y, "model");
    if (!one || !two) return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const double a = number_at(one, keys[i]), b = number_at(two, keys[i]);
        if (a != b) fprintf(out, "  %-16s %10.0f %10.0f\n", keys[i], a, b);
    }
}

static void compare_shape(const char *a, const char *b, FILE *out)
{
    char name[64], left[16], right[16];
    char kinds[2][16];
    text_at(a, "shape", name, sizeof name);
    text_at(a, "dtype", kinds[0], sizeof kinds[0]);
    text_at(b, "dtype", kinds[1], sizeof kinds[1]);
    const int alike = number_at(a, "n") == number_at(b, "n") &&
                      number_at(a, "width") == number_at(b, "width") && !strcmp(kinds[0], kinds[1]);
    fprintf(out, "\n%s: n = %.0f %s and %.0f %s\n", name, number_at(a, "n"), kinds[0],
            number_at(b, "n"), kinds[1]);
    if (!alike) fprintf(out, "Not the same problem: rates and counts are not compared.\n");
    fprintf(out, "%-18s %10s %10s %8s  %s\n", "GB/s", "A", "B", "B / A", "check");
    const char *const list = value_of(a, "rungs"), *const other = value_of(b, "rungs"), *x;
    for (int i = 0; (x = element_of(list, i)); i++) {
        text_at(x, "rung", name, sizeof name);
        const char *const y = named(other, "rung", name);
        const double one = number_at(value_of(x, "time"), "bytes_a_second"),
                     two = y ? number_at(value_of(y, "time"), "bytes_a_second") : 0;
        text_at(x, "verdict", left, sizeof left);
        text_at(y, "verdict", right, sizeof right);
        fprintf(out, "%-18s", name);
        cell(out, one);
        cell(out, two);
        if (one > 0 && two > 0 && alike)
            fprintf(out, " %7.2fx", two / one);
        else
            fprintf(out, " %8s", "");
        fprintf(out, "  %s%s%s\n", left, y && strcmp(left, right) ? " / " : "",
                !y                    ? " / not run"
                : strcmp(left, right) ? right
                                      : "");
        if (y && alike) compare_counts(x, y, out);
    }
    static const char *const keys[] = {"device_read", "device_copy", "host_read", "host_copy"};
    for (int i = 0; i < 4; i++) {
        const double one = number_at(value_of(a, "ceilings"), keys[i]),
                     two = number_at(value_of(b, "ceilings"), keys[i]);
        if (one <= 0 && two <= 0) continue;
        fprintf(out, "%-18s", keys[i]);
        cell(out, one);
        cell(out, two);
        fprintf(out, "%s\n", "   ceiling");
    }
}

/* Rates of a sum and of a minimum are not rates of one problem. */
static int same_operation(const char *const files[2], const char *const texts[2],
                          ladder_error *error)
{
    char operation[2][8];
    for (int i = 0; i < 2; i++) text_at(texts[i], "operation", operation[i], sizeof operation[i]);
    if (!strcmp(operation[0], operation[1])) return 1;
    fail_with(error, 2, "%s is of --op %s, and %s of --op %s", files[0], operation[0], files[1],
              operation[1]);
    return 0;
}

int ladder_diff(const char *one, const char *other, FILE *out, ladder_error *error)
{
    char *a = load(one, error), *b = a ? load(other, error) : NULL;
    const char *const files[] = {one, other}, *const texts[] = {a, b};
    const int alike = a && b && same_operation(files, texts, error);
    if (alike) {
        char device[80], machine[200];
        for (int i = 0; i < 2; i++) {
            text_at(texts[i], "device_text", device, sizeof device);
            text_at(texts[i], "machine", machine, sizeof machine);
            fprintf(out, "%c: %s: %s; %s\n", 'A' + i, files[i], device, machine);
        }
        const char *x;
        for (int i = 0; (x = element_of(value_of(a, "shapes"), i)); i++) {
            char name[64];
            text_at(x, "shape", name, sizeof name);
            const char *const y = named(value_of(b, "shapes"), "shape", name);
            if (y) compare_shape(x, y, out);
        }
    }
    free(a);
    free(b);
    return alike ? 0 : error->code;
}

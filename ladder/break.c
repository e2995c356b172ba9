/* SPDX-License-Identifier: MIT
 * tally ladder break RUNG or FILE: damages the text in one place after the other, runs each on
 * the model, and says which check notices. An exercise: guess first. */
#include "student.h"
#include <stdlib.h>
#include <string.h>

/* the last tile is not full: its first part, then its second */
enum { BROKEN_N = 4999, OTHER_N = 3700 };

typedef struct damage {
    const char *what; /* in words */
    const char *find, *put;
    int wrap; /* find is the '[' of an index: put goes in before its ']' */
} damage;
static const damage damages[] = {{"barrier removed", "BARRIER();", ";", 0},
                                 {"warp barrier removed", "WARP_BARRIER();", ";", 0},
                                 {"wait removed", "copy_wait();", ";", 0},
                                 {"wait removed", "bulk_wait(arrived, now, phase);", ";", 0},
                                 {"meeting removed", "GRID_BARRIER(met);", ";", 0},
                                 {"fence removed", "FENCE();", ";", 0},
                                 {"1 for the neutral", "NEUTRAL", "((elem)1)", 0},
                                 {"index shifted", "[", " + 1", 1},
                                 {"last element dropped", "< n", " - 1", 0},
                                 {"comparison loosened", "< s)", "", 0}};

static int inside_comment(const char *text, const char *at)
{
    int inside = 0;
    for (const char *c = text; c < at; c++) {
        if (!inside && c[0] == '/' && c[1] == '*') inside = 1;
        if (inside && c[0] == '*' && c[1] == '/') inside = 0;
    }
    return inside;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++) {
        line += *text == '\n';
        if (!strncmp(text, "\n#line ", 7)) line = atoi(text + 7) - 1; /* of a translated text */
    }
    return line;
}

/* A copy with `length` characters at `at` replaced; caller frees. */
static char *spliced(const char *text, const char *at, size_t length, const char *with)
{
    const size_t before = (size_t)(at - text), capacity = strlen(text) + strlen(with) + 1;
    char *copy = malloc(capacity);
    if (!copy) return NULL;
    memcpy(copy, text, before);
    snprintf(copy + before, capacity - before, "%s%s", with, at + length);
    return copy;
}

static char *apply(const char *text, const damage *d, const char *at)
{
    if (d->wrap) {
        const char *end = at + 1;
        for (int depth = 0; *end && !(*end == ']' && !depth); end++)
            depth += *end == '[' ? 1 : *end == ']' ? -1 : 0;
        return spliced(text, end, 0, d->put);
    }
    if (!strcmp(d->find, "< n")) return spliced(text, at + 3, 0, d->put);
    if (!strcmp(d->find, "< s)")) return spliced(text, at, 3, "<= s");
    return spliced(text, at, strlen(d->find), d->put);
}

static int fits(const char *text, const damage *d, const char *at)
{
    if (inside_comment(text, at)) return 0;
    /* WARP_BARRIER has a row of its own */
    if (d->find[0] == 'B' && at > text && at[-1] == '_') return 0;
    if (!strcmp(d->find, "< n") && !strchr(";)", at[3]) && strncmp(at + 3, " ?", 2) &&
        strncmp(at + 3, " &", 2))
        return 0;
    if (d->wrap) { /* a declaration is not an access */
        const char *start = at;
        while (start > text && start[-1] != '\n') start--;
        const char *const shared = strstr(start, "SHARED");
        if (shared && shared < at) return 0;
    }
    return 1;
}

static const char *noticed_by(const row *x)
{
    static const char *const by[] = {"",
                                     "the race check",
                                     "the bounds check",
                                     "the check for values never written",
                                     "the barrier check",
                                     "the step limit",
                                     "the alignment check"};
    if (x->counts.defect) return by[x->counts.defect];
    if (x->verdict == RIGHT) return "nothing";
    return strncmp(x->reason, "a loop", 6) ? "the answer" : by[5];
}

/* The whole line around a place, without its indent: a part would hide what was damaged. */
static void print_line(FILE *out, const char *mark, const char *text, size_t from)
{
    while (from && text[from - 1] != '\n') from--;
    text += from;
    text += strspn(text, " ");
    fprintf(out, "%s %.*s\n", mark, (int)strcspn(text, "\n"), text);
}

/* Damages the text at one place. *seen: whether a check noticed it. */
static int try_one(const alone *a, const damage *d, const char *at, int *seen, FILE *out,
                   ladder_error *error)
{
    char *broken = apply(a->text, d, at);
    rung plain = *a->rung;
    plain.note = PLAIN;
    row x = {.rung = &plain, .text = broken};
    if (!broken) return fail_with(error, 1, "out of memory");
    ladder_error failure = {0};
    const int groups = place_groups(a->place);
    int code = run_rung(&a->report, a->shape, a->place, 0, &x, &failure);
    if (!code && a->shape->n == BROKEN_N && noticed_by(&x)[0] == 'n') {
        a->shape->n = OTHER_N;
        place_set_groups(a->place, 1);
        code = run_rung(&a->report, a->shape, a->place, 0, &x, &failure);
        a->shape->n = BROKEN_N;
        place_set_groups(a->place, groups);
    }
    const int line = line_of(a->text, at);
    fprintf(out, "%4d  %-22s %s\n", line, d->what, code ? "the compiler" : noticed_by(&x));
    print_line(out, "      was ", a->text, (size_t)(at - a->text));
    print_line(out, "      now ", broken, (size_t)(at - a->text));
    free(broken);
    if (code) fprintf(out, "      %s\n", failure.sentence);
    if (!code && x.reason[0]) {
        fputs("      ", out);
        wrapped(out, x.reason, 6, 80);
    }
    *seen = code || noticed_by(&x)[0] != 'n';
    return 0;
}

int ladder_break(const ladder_options *o, const char *name, FILE *out, ladder_error *error)
{
    alone a = {0};
    student s = {0};
    int total = 0, noticed = 0;
    FILE *const file = find_rung(NULL, name) ? NULL : fopen(name, "r");
    if (file) fclose(file);
    int code = file ? start_file(&a, o, name, BROKEN_N, &s, error)
                    : start_alone(&a, o, name, BROKEN_N, error);
    if (!code && is_host(a.rung))
        code = fail_with(error, 2, "the rung '%s' has no kernel to break", name);
    if (!code) {
        fprintf(out, "%s%s, damaged in one place at a time, n = %lld%s\n\nline  %-22s %s\n",
                file ? "" : "ladder/", a.path, (long long)a.shape->n,
                a.shape->n == BROKEN_N ? ",\nand 3700 in few groups where nothing is noticed" : "",
                "damage", "noticed by");
        for (size_t k = 0; k < sizeof damages / sizeof *damages && !code; k++)
            for (const char *at = a.text; (at = strstr(at, damages[k].find)) && !code; at++) {
                int seen = 0;
                if (!fits(a.text, &damages[k], at)) continue;
                code = try_one(&a, &damages[k], at, &seen, out, error);
                noticed += seen;
                total++;
            }
    }
    if (!code)
        fprintf(out,
                noticed == total
                    ? "\n%d of %d noticed.\n"
                    : "\n%d of %d noticed. A damage that is not noticed is harmless, or\n"
                      "a check is missing.\n",
                noticed, total);
    end_alone(&a);
    student_close(&s);
    return code;
}

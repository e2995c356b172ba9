/* SPDX-License-Identifier: MIT
 * Runs a reader's kernel on the model in many ways: lengths of one element, around a group's
 * share and around powers of two, a prime, several levels; every type and operation that it is
 * written for. Small lengths come first, so that a loop without end is found in no time, and
 * nothing is run after it. */
#include "student.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double SECONDS_MOST = 8; /* of this process: another's load must not leave runs out */
static const double OPERATIONS_MOST = 0x1p26; /* of a wrong kernel: some seconds */
static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static const char *operation_name(int operation)
{
    return operation == 0 ? "sum" : operation == 1 ? "min" : "max";
}

void trial_text(const student *s, const trial *t, char *text, size_t capacity)
{
    int n = snprintf(text, capacity, "n = %lld, %s", (long long)t->n, kind_name(t->kind));
    if (s->rung.shape == SHAPE_window)
        n += snprintf(text + n, capacity - (size_t)n, ", windows of %lld", (long long)t->width);
    else if (has_operation(s->rung.shape))
        n += snprintf(text + n, capacity - (size_t)n, ", %s", operation_name(t->operation));
    if (t->warp != 32 && (size_t)n < capacity)
        snprintf(text + n, capacity - (size_t)n, ", warps of %d", t->warp);
}

static void complain(examination *e, const trial *t, int what, int line, const char *text,
                     size_t length)
{
    for (int i = 0; i < e->count; i++)
        if (e->complaints[i].defect == what && e->complaints[i].line == line) return;
    if (e->count == COMPLAINTS_MOST) return;
    complaint *c = &e->complaints[e->count++];
    *c = (complaint){.at = *t, .defect = what, .line = line};
    snprintf(c->text, sizeof c->text, "%.*s", (int)length, text);
}

void complain_about(examination *e, const trial *t, const char *text)
{
    e->trials++;
    e->wrong++;
    complain(e, t, DEFECT_NONE, 0, text, strlen(text));
}

/* Reports wrong values; and why a launch ended, unless a finding of the model says it. */
static void complain_of_values(examination *e, const trial *t, const row *x)
{
    const char *text = x->reason;
    int line = x->values_line, found = 0, length = 0;
    for (int k = 1; k < DEFECTS; k++) found |= x->counts.found[k].line;
    if (!x->values_end || (x->failed && found)) return;
    if (x->failed && sscanf(text, "%*[^:]:%d: %n", &line, &length) == 1) text += length;
    complain(e, t, DEFECT_NONE, line, text, (size_t)x->values_end - (size_t)length);
}

int64_t affordable(const examination *e, int64_t n)
{
    const double work = e->most ? e->work * (double)n * (double)n / (double)e->most : 0;
    return e->wrong && n > e->most && work > OPERATIONS_MOST ? e->most : n;
}

int examine_one(const student *s, const trial *t, examination *e, ladder_error *error)
{
    report r = {.operation = t->operation, .warp = t->warp, .banks = t->banks};
    shape_report at = {.shape = s->rung.shape, .kind = t->kind, .n = t->n, .width = t->width};
    if (affordable(e, t->n) < t->n) {
        e->left_out++;
        return 0;
    }
    row *x = calloc(1, sizeof *x);
    place *p = NULL;
    int code = x ? place_open(&p, "model", error) : fail_with(error, 1, "out of memory");
    if (!code) {
        r.threads = tally_threads(place_context(p));
        /* with few groups, a group that strides goes round several times */
        place_set_groups(p, t->n % 2 ? 64 : 3);
        *x = (row){.rung = &s->rung, .text = s->text};
        code = run_rung(&r, &at, p, 0, x, error);
    }
    place_close(p);
    const int launched =
        x && x->counts.groups > 0; /* small tiles need no kernel: it proves nothing */
    if (!code && (launched || x->verdict == WRONG || !t->n)) {
        e->trials++;
        e->wrong += x->verdict == WRONG;
        e->checked += x->checked;
        e->off += x->off;
        if (t->n >= e->most && t->n) {
            e->work = (double)x->counts.operations / (double)t->n;
            e->most = t->n;
        }
        complain_of_values(e, t, x);
        for (int k = 1; k < DEFECTS; k++) {
            const model_finding *f = &x->counts.found[k];
            if (f->line) complain(e, t, k, f->line, f->sentence, strlen(f->sentence));
        }
        if (x->counts.found[DEFECT_ENDLESS].line) code = -1; /* enough */
    }
    e->no_launch += !code && !launched && x->verdict != WRONG && t->n;
    free(x);
    return code;
}

static int has(const int64_t *list, int count, int64_t n)
{
    for (int i = 0; i < count; i++)
        if (list[i] == n) return 1;
    return 0;
}

static int sizes_of(const student *s, int64_t *sizes)
{
    const int64_t each = s->rung.each ? s->rung.each : s->rung.threads;
    const int64_t wanted[] = {
        1,   2,    3,    each - 1, each, each + 1, 2 * each - 1, 255,     256,
        257, 1024, 4095, 4096,     4097, 4999,     3 * each + 1, 1 << 16, (1 << 16) + 1,
        513, 2047, 8191, 10007,    30011};
    int count = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i] > 0 && wanted[i] < 1 << 18 && !has(sizes, count, wanted[i]))
            sizes[count++] = wanted[i];
    return count;
}

/* Runs one trial more. *done: an error or a loop without end: no trial follows. */
static int try_next(const student *s, const trial *t, examination *e, double start, int *done,
                    ladder_error *error)
{
    if (*done) return 0;
    if (seconds() - start > SECONDS_MOST) {
        e->left_out++;
        return 0;
    }
    const int code = examine_one(s, t, e, error);
    *done = code != 0;
    return code < 0 ? 0 : code;
}

/* The type that comes first: what the command asks for, what the kernel is written for, the
   ladder's. */
static int first_kind(const ladder_options *o, const student *s, kind *k, ladder_error *error)
{
    *k = s->fixed ? s->kind : s->rung.shape == SHAPE_window ? KIND_F32 : KIND_I32;
    if (!o->dtype) return 0;
    kind asked;
    if (!kind_parse(o->dtype, &asked))
        return fail_with(error, 2, "the ladder has no dtype '%s'; choices: " KIND_CHOICES,
                         o->dtype);
    if (s->fixed && asked != s->kind)
        return fail_with(error, 2, "%s: the kernel is written for %s, and --dtype says %s", s->name,
                         kind_name(s->kind), o->dtype);
    *k = asked;
    return 0;
}

int examine(const ladder_options *o, const student *s, examination *e, ladder_error *error)
{
    const double start = seconds();
    int64_t sizes[24];
    int done = 0, used = 0;
    kind first;
    memset(e, 0, sizeof *e);
    int code = first_kind(o, s, &first, error);
    if (code) return code;
    if (!takes_kind(s->rung.shape, first))
        return refused_kind(s->rung.shape, kind_name(first), error);
    const int count = sizes_of(s, sizes), operation = s->operation < 0 ? 0 : s->operation;
    const int is_window = s->rung.shape == SHAPE_window;
    trial t = {.kind = first,
               .operation = operation,
               .warp = o->warp,
               .banks = o->banks,
               .width = o->width};
    for (int i = 0; i < count && !code; i++) {
        const int before = e->trials;
        t.n = sizes[i];
        code = try_next(s, &t, e, start, &done, error);
        if (e->trials > before && used < (int)sizeof e->sizes)
            used += snprintf(e->sizes + used, sizeof e->sizes - (size_t)used, "%s%lld",
                             used ? ", " : "", (long long)t.n);
    }
    static const int64_t few[] = {1, 257, 4096, 4999};
    for (int k = 0; k < KINDS && !code; k++)
        for (int op = 0; op < 3 && !code; op++) {
            if (s->fixed || o->dtype ? (kind)k != first : !takes_kind(s->rung.shape, (kind)k))
                continue;
            if (s->operation >= 0 || !has_operation(s->rung.shape) ? op != operation : 0) continue;
            if ((kind)k == first && op == operation) continue;
            for (size_t i = 0; i < sizeof few / sizeof *few && !code; i++) {
                t.n = few[i], t.kind = (kind)k, t.operation = op;
                ladder_error refused = {0}; /* a type that the kernel is not written for */
                if (try_next(s, &t, e, start, &done, &refused)) e->left_out++, done = 0;
            }
        }
    /* other windows: the smallest, larger than a group */
    t = (trial){4999, first, operation, o->warp, o->banks, 1};
    for (int i = 0; i < 3 && is_window && !code; i++, t.width = i == 1 ? s->rung.threads + 3 : 2)
        code = try_next(s, &t, e, start, &done, error);
    used = 0;
    for (int k = 0; k < KINDS; k++)
        if (s->fixed || o->dtype ? (kind)k == first : takes_kind(s->rung.shape, (kind)k))
            used += snprintf(e->types + used, sizeof e->types - (size_t)used, "%s%s",
                             used ? ", " : "", kind_name((kind)k));
    return code;
}

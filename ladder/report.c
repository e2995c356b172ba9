/* SPDX-License-Identifier: MIT
 * A whole report: the device, the shapes, every rung in turn, the sweep over n. And one rung
 * alone, to look closer. */
#include "rung.h"
#include <stdlib.h>
#include <string.h>

double least_bytes(const rung *g, kind k, int64_t n)
{
    const double in = (double)n * (double)kind_bytes(k);
    if (reads_only(g->shape)) return in;
    const int widened = g->schedule == LIBRARY && g->shape == SHAPE_scan && k < KIND_F32;
    return in + (double)n * (widened ? 8 : (double)kind_bytes(k)) +
           (g->schedule == SEGMENTS ? 4 * (double)n : 0);
}

/* auto: the first GPU; an OpenCL for processors says little about GPUs, so the model comes
 * before it. cpu: the model, and the processors' own rows. why: why the model, where it is not
 * what was asked for. */
static int open_places(const ladder_options *o, place **p, char *why, size_t capacity,
                       ladder_error *error)
{
    const char *const device = o->device ? o->device : "auto";
    tally_device_info info;
    char passed[40] = "";
    why[0] = 0;
    if (!strcmp(device, "cpu")) {
        snprintf(why, capacity,
                 "On the device 'cpu' the rows of the processors have times; kernels are counted "
                 "by the model.");
        return place_open(p, "model", error);
    }
    if (strcmp(device, "auto") != 0) {
        if (!strcmp(device, "model"))
            snprintf(why, capacity,
                     "The model counts kernels and has no times; rows with times ran on the "
                     "processors.");
        return place_open(p, device, error);
    }
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        if (!info.usable || !strcmp(info.name, "cpu")) continue;
        if (is_processors(info.text))
            snprintf(passed, sizeof passed, "%.39s", info.name);
        else if (!place_open(p, info.name, error))
            return 0;
    }
    *error = (ladder_error){0};
    if (passed[0])
        snprintf(why, capacity,
                 "There is no GPU here, so the model counts the kernels; --device %s times them on "
                 "the processors.",
                 passed);
    else
        snprintf(why, capacity,
                 "There is no device for kernels here, so the model counts them; rows with times "
                 "ran on the processors.");
    return place_open(p, "model", error);
}

static void about_machine(report *r, const place *p)
{
    char line[256], model[120] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !model[0] && fgets(line, sizeof line, f)) {
        const char *const colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10))
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f) fclose(f);
    snprintf(r->machine, sizeof r->machine, "%s, %d threads", model[0] ? model : "processor",
             r->threads);
    snprintf(r->device, sizeof r->device, "%s", place_name(p));
    snprintf(r->device_text, sizeof r->device_text, "%s", place_text(p));
}

static int sweep(report *r, shape_report *s, place *p, ladder_error *error)
{
    const int64_t full = s->n;
    int code = 0;
    for (int64_t n = 1 << 10; n <= full && s->sweep_count < SWEEP_POINTS && !code;
         n = n < full && n * 8 > full ? full : n * 8) {
        sweep_row *const at = &s->sweep[s->sweep_count++];
        at->n = n;
        for (int i = 0; i < s->count && !code; i++) {
            row out;
            if (!s->rows[i].timed) continue;
            s->n = n;
            code = time_rung(r, s, s->rows[i].rung, p, &out, error);
            if (out.timed && out.timing.median > 0)
                at->rate[i] = (double)out.timing.bytes / out.timing.median;
            s->n = full;
        }
    }
    return code;
}

/* Sets the type of a shape's elements: `dtype`, or the usual one. */
static int choose_kind(shape which, const char *dtype, kind *k, ladder_error *error)
{
    *k = which == SHAPE_window ? KIND_F32 : KIND_I32;
    if (dtype && !kind_parse(dtype, k))
        return fail_with(error, 2, "the ladder has no dtype '%s'; choices: " KIND_CHOICES, dtype);
    return takes_kind(which, *k) ? 0 : refused_kind(which, dtype, error);
}

int start_shape(report *r, shape which, shape_report **out, ladder_error *error)
{
    shape_report *s = *out = &r->shapes[r->shape_count++];
    const ladder_options *o = &r->options;
    *s = (shape_report){
        .shape = which, .n = r->options.n, .width = o->width, .processors = r->processors};
    const int code = choose_kind(which, o->dtype, &s->kind, error);
    if (code) return code;
    s->rows = calloc(RESULTS_MOST, sizeof *s->rows);
    return s->rows ? 0 : fail_with(error, 1, "out of memory");
}

static int is_chosen(const char *list, const rung *g)
{
    char full[80];
    snprintf(full, sizeof full, "%s/%s", shape_name(g->shape), g->name);
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ",");
        if ((strlen(g->name) == n && !strncmp(at, g->name, n)) ||
            (strlen(full) == n && !strncmp(at, full, n)))
            return 1;
        at += n + (at[n] == ',');
    }
    return !list;
}

/* A ceiling that a rung goes beyond was none: the best that was seen is. */
void finish_shape(shape_report *s)
{
    for (int i = 0; i < s->count; i++) {
        const row *x = &s->rows[i];
        ceilings *const c = x->on_host ? &s->host : &s->device;
        double *const most = reads_only(s->shape) ? &c->read : &c->copy;
        const double rate = x->timed ? (double)x->timing.bytes / x->timing.median : 0;
        if (*most > 0 && rate > *most) *most = rate;
    }
    sentences(s);
}

static int run_shape(report *r, shape which, place *p, ladder_error *error)
{
    shape_report *s;
    const ladder_options *o = &r->options;
    int code = start_shape(r, which, &s, error);
    if (!code && s->n && o->runs) code = measure_ceilings(p, s, o->runs, error);
    for (const rung *g = ladder_table; g->name && !code; g++) {
        if (g->shape != which || !is_chosen(o->rung, g)) continue;
        const int timed = o->runs && (is_host(g) || !place_is_model(p));
        row *const out = &s->rows[s->count++];
        *out = (row){.rung = g};
        code = run_rung(r, s, p, timed, out, error);
        if (out->verdict == WRONG) r->wrong++;
    }
    if (!code && o->sweep) code = sweep(r, s, p, error);
    if (!code) finish_shape(s);
    return code;
}

static int64_t usual_n(const place *p)
{
    return place_is_model(p) || place_is_processors(p) ? 1 << 20 : 1 << 24;
}

int start_report(const ladder_options *o, report *r, place **p, ladder_error *error)
{
    static const char *const operations[] = {"sum", "min", "max"};
    memset(r, 0, sizeof *r);
    r->options = *o;
    r->operation = -1;
    *p = NULL;
    for (int i = 0; i < 3; i++)
        if (!strcmp(o->operation ? o->operation : "sum", operations[i])) r->operation = i;
    if (r->operation < 0)
        return fail_with(error, 2, "the ladder has no operation '%s'; choices: sum, min, max",
                         o->operation);
    r->warp = o->warp;
    r->banks = o->banks;
    const int code = open_places(o, p, r->device_note, sizeof r->device_note, error);
    if (code) return code;
    r->processors = place_is_processors(*p);
    r->threads = tally_threads(place_context(*p));
    r->timed_on_model = place_is_model(*p);
    if (o->n < 0) r->options.n = usual_n(*p);
    about_machine(r, *p);
    return 0;
}

/* --dtype i32,f32,u8: the same rungs for each of these types, one after the other. All types are
 * checked before the first one runs. */
static int run_types(const ladder_options *o, report *r, place *p, ladder_error *error)
{
    int which = 0, code = 0, count = 0;
    kind k;
    while (o->shape && which < SHAPES && strcmp(o->shape, shape_name((shape)which)) != 0) which++;
    if (!o->shape || which == SHAPES || o->html)
        return fail_with(
            error, 2,
            "--dtype is '%s': a list of types needs one job (as in `tally ladder scan`), and "
            "makes no page (--html)",
            o->dtype);
    for (int run = 0; run < 2; run++)
        for (const char *at = o->dtype; *at && !code;) {
            const size_t n = strcspn(at, ",");
            if (!run && count++ == SHAPES)
                return fail_with(error, 2, "--dtype is '%s': at most %d types", o->dtype, SHAPES);
            snprintf(r->dtype, sizeof r->dtype, "%.*s", (int)(n < 7 ? n : 7), at);
            r->options.dtype = r->dtype;
            code = run ? run_shape(r, (shape)which, p, error)
                       : choose_kind((shape)which, r->dtype, &k, error);
            at += n + (at[n] != 0);
        }
    r->options.dtype = o->dtype;
    return code;
}

int run_report(const ladder_options *o, report *r, ladder_error *error)
{
    place *p;
    int code = start_report(o, r, &p, error);
    if (!code && o->dtype && strchr(o->dtype, ',')) {
        code = run_types(o, r, p, error);
        if (code) report_free(r);
        place_close(p);
        return code;
    }
    for (int s = 0; s < SHAPES && !code; s++) {
        int any = 0;
        for (const rung *g = ladder_table; g->name; g++)
            any |= (int)g->shape == s && is_chosen(o->rung, g);
        if (!any || (o->shape && strcmp(o->shape, shape_name((shape)s)) != 0)) continue;
        kind asked;
        if (o->dtype && !o->shape && kind_parse(o->dtype, &asked) && !takes_kind((shape)s, asked))
            continue;
        code = run_shape(r, (shape)s, p, error);
    }
    if (code) report_free(r);
    place_close(p);
    return code;
}

const char *task_name(const report *r, const shape_report *s)
{
    static const char *const operations[] = {"sum", "min", "max"};
    return s->shape == SHAPE_window  ? "mean"
           : has_operation(s->shape) ? operations[r->operation]
                                     : shape_name(s->shape);
}

void report_free(report *r)
{
    for (int s = 0; s < r->shape_count; s++) free(r->shapes[s].rows);
    r->shape_count = 0;
}

int start_alone(alone *a, const ladder_options *o, const char *name, int64_t usual,
                ladder_error *error)
{
    ladder_options with = *o;
    memset(a, 0, sizeof *a);
    a->rung = find_rung(NULL, name);
    if (!a->rung)
        return fail_with(error, 2,
                         "there is no rung and no file '%s'; `tally ladder --runs 0 --device "
                         "model` lists the rungs",
                         name);
    a->text = rung_text(a->rung, a->path, sizeof a->path);
    with.device = "model";
    if (with.n < 0) with.n = usual;
    const int code = start_report(&with, &a->report, &a->place, error);
    return code ? code : start_shape(&a->report, a->rung->shape, &a->shape, error);
}

void end_alone(alone *a)
{
    report_free(&a->report);
    place_close(a->place);
}

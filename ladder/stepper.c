/* SPDX-License-Identifier: MIT
 * A rung run small enough to be watched: groups of 16 threads, warps of 8 lanes, 8 banks, some
 * tens of elements. The events come from the model's trace of the rung's own text; where the
 * text itself has the size of its group in it, that number is made smaller, and the page says
 * so. report.js shows the events one by one. */
#include "html.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_WARP = 8, SMALL_BANKS = 8, SMALL_GROUPS = 2, EVENTS = 700 };

/* Numbers that stand in a text: in small. */
static const struct {
    const char *rung, *from, *to;
} in_small[] = {
    {"naive", "1024", "THREADS"},
    {"naive", "2048", "(2 * THREADS)"},
    {"better", "1024", "THREADS"},
    {"better", "2048", "(2 * THREADS)"},
    {"bulk_copy", "ITEMS 4", "ITEMS 1"},
    {"sma_tiled", "512", "THREADS"},
    {"transpose_tile", "SIDE 32", "SIDE 8"},
    {"transpose_padded", "SIDE 32", "SIDE 8"},
    {"count_shared", "BINS 128", "BINS 16"},
    {"count_private", "BINS 128", "BINS 16"},
    {"count_private", "/ 32", "/ 8"},
    {"reduce5", "s > 32", "s > 8"},
    {"reduce5", "tid < 32", "tid < 8"},
    {"reduce5", "        smem[tid] = combine(smem[tid], smem[tid + 32]);\n", "\n"},
    {"reduce5", "        smem[tid] = combine(smem[tid], smem[tid + 16]);\n", "\n"},
};

/* Caller frees; NULL: no memory. */
static char *small_text(const rung *g, const char *text, int *changed)
{
    char *now = malloc(2 * strlen(text) + 1);
    *changed = 0;
    if (!now) return NULL;
    strcpy(now, text);
    for (size_t i = 0; i < sizeof in_small / sizeof *in_small; i++) {
        if (strcmp(in_small[i].rung, g->name) != 0) continue;
        const size_t from = strlen(in_small[i].from), to = strlen(in_small[i].to);
        char *const body = strstr(now, "KERNEL(");
        char *start = strstr(now, "#define");
        if (!start || start > body) start = body;
        for (char *at = start; at && (at = strstr(at, in_small[i].from));) {
            memmove(at + to, at + from, strlen(at + from) + 1);
            memcpy(at, in_small[i].to, to);
            at += to;
            *changed = 1;
        }
    }
    return now;
}

static int64_t small_n(const rung *g)
{
    switch (g->schedule) {
    case HALVES:
        return 15; /* a tail at every halving */
    case EIGHTHS:
        return 66; /* a tail of two */
    case LEVELS:
        return g->each; /* one group, full */
    case STRIDES:
        /* tiles, one element for each thread; and a rest */
        return g->order == BLOCKS ? 5 * g->threads + 6 : 62;
    case ATOMIC:
    case ONCE:
    case COOPERATIVE:
        return 62;
    case HISTOGRAM:
        return 62;
    case TRANSPOSE:
        return g->each > g->threads ? g->each : 30; /* one tile; 5 x 6 */
    case RECURSE:
        return 2 * g->each - 2;
    default:
        return 30;
    }
}

static int watch_job(job *j, const char *text, const char *path, model_trace *t,
                     ladder_error *error)
{
    const int64_t bytes = j->n * (int64_t)kind_bytes(j->setting.elem);
    int64_t partials;
    int code = place_alloc(j->place, bytes, &j->input[0], error);
    for (int64_t i = 0; i < j->n; i++) { /* 1, 2, 3, ...: a reader can follow the sums */
        /* a few values come often */
        element e = {.i = j->rung->schedule == HISTOGRAM ? i * i % 16 : i + 1};
        if (j->setting.elem >= KIND_F32) e.f = (double)(i + 1);
        data_put(j->host[0], j->setting.elem, i, e);
    }
    if (!code) code = place_write(j->place, j->input[0], j->host[0], bytes, error);
    if (!code) code = place_build(j->place, text, path, &j->setting, &j->program, error);
    if (!code)
        code = place_build(j->place, ladder_text("support.cl"), "support.cl", &j->setting,
                           &j->support, error);
    for (int i = 0; !code && program_kernel(j->program, i); i++)
        if (program_threads(j->program, i) != j->rung->threads)
            code = fail_with(error, 2, "the kernel '%s' has the size of its group in its text",
                             program_kernel(j->program, i));
    if (!code) code = job_open(j, error);
    if (code) return code;
    if (j->rung->schedule == SEGMENTS) { /* short ones, to be seen */
        uint32_t heads[TRACE_WORDS];
        for (int64_t i = 0; i < j->n; i++) heads[i] = i % 11 == 0;
        code = place_write(j->place, j->work[HEADS], heads, j->n * 4, error);
        if (code) return code;
    }
    program_follow(j->program, t);
    code = job_launch(j, 0, &partials, error);
    return t->count ? 0 : code; /* a wrong kernel is watched up to where it fails */
}

int watch_rung(const rung *g, const char *reader_text, int threads, small_run *out,
               ladder_error *error)
{
    char path[80];
    const char *const text = reader_text ? reader_text : rung_text(g, path, sizeof path);
    char cells[TRACE_WORDS * 8];
    if (reader_text) snprintf(path, sizeof path, "%.79s", g->name);
    void *host[1] = {cells};
    memory *input[1] = {NULL};
    model_counts *const counts = calloc(1, sizeof *counts);
    memset(out, 0, sizeof *out);
    out->small = *g;
    out->small.each = g->threads ? g->each * threads / g->threads : 0;
    out->small.threads = threads;
    out->n = small_n(&out->small);
    out->trace.capacity = EVENTS;
    out->trace.event = calloc(EVENTS, sizeof *out->trace.event);
    out->text = text ? small_text(g, text, &out->changed) : NULL;
    job j = {.rung = &out->small,
             .n = out->n,
             .width = 5,
             .copies = 1,
             .host = host,
             .input = input,
             .counts = counts,
             .threads = 1};
    j.setting = (model_setting){g->shape == SHAPE_window ? KIND_F32 : KIND_I32, 0, threads,
                                SMALL_WARP, SMALL_BANKS};
    int code = counts && out->trace.event && out->text ? 0 : fail_with(error, 1, "out of memory");
    if (!code && (out->n > TRACE_WORDS || (g->each && !out->small.each)))
        code = fail_with(error, 2, "%lld elements are too many to be watched", (long long)out->n);
    if (!code) code = place_open(&j.place, "model", error);
    if (!code) {
        /* 8 to a processor */
        place_set_groups(j.place, g->schedule == COOPERATIVE ? 8 * SMALL_GROUPS : SMALL_GROUPS);
        code = watch_job(&j, out->text, path, &out->trace, error);
        job_close(&j);
        place_free(j.place, input[0]);
        place_unload(j.place, j.program);
        place_unload(j.place, j.support);
        place_close(j.place);
    }
    free(counts);
    if (code) end_small_run(out);
    return code;
}

void end_small_run(small_run *s)
{
    free(s->trace.event);
    free(s->text);
    s->trace.event = NULL;
    s->text = NULL;
}

/* ---- as JSON, for report.js ---- */

static void put_value(FILE *f, kind k, trace_value v)
{
    if (k < KIND_F32)
        fprintf(f, "%lld", (long long)v.i);
    else if (isfinite(v.d))
        fprintf(f, "%.7g", v.d);
    else
        fprintf(f, "null");
}

static void put_launch(FILE *f, const trace_launch *l, int64_t n)
{
    fprintf(f, "{\"kernel\":\"%s\",\"groups\":%lld,\"threads\":%d,\"arrays\":[", l->kernel,
            (long long)l->groups, l->threads);
    for (int a = 0; a < l->arrays; a++) {
        const trace_array *x = &l->array[a];
        int64_t length = x->shared ? x->length : x->used;
        if (!x->shared && length < n && x->used && !strcmp(x->name, "in"))
            length = x->length < n ? x->length : n;
        if (length > TRACE_WORDS) length = TRACE_WORDS;
        fprintf(f, "%s{\"name\":\"%s\",\"shared\":%d,\"same\":%d,\"length\":%lld,\"start\":[",
                a ? "," : "", x->name, x->shared, x->same, (long long)length);
        for (int i = 0; i < length && !x->shared; i++) {
            if (i) fputc(',', f);
            put_value(f, x->kind, x->start[i]);
        }
        fprintf(f, "]}");
    }
    fprintf(f, "]}");
}

static void put_lanes(FILE *f, const char *name, uint64_t lanes, const trace_event *e,
                      const trace_launch *l)
{
    const char *comma = "";
    fprintf(f, ",\"%s\":[", name);
    for (int lane = 0; lane < MODEL_WARP_MOST; lane++) {
        if (!(lanes >> lane & 1)) continue;
        if (!strcmp(name, "at")) {
            fprintf(f, "%s%d", comma, e->index[lane]);
        } else if (!strcmp(name, "put")) {
            for (int q = 0; q < e->width; q++, comma = ",") {
                fputs(comma, f);
                put_value(f, l->array[e->place].kind, e->value[lane * e->width + q]);
            }
        } else {
            fprintf(f, "%s%d", comma, lane);
        }
        comma = ",";
    }
    fprintf(f, "]");
}

static void put_event(FILE *f, const model_trace *t, const trace_event *e, const trace_launch *l)
{
    static const char *const words[TRACE_KINDS] = {
        "launch", "group",   "read",         "write",        "atomic", "shuffle",
        "split",  "barrier", "warp barrier", "grid barrier", "wait"};
    fprintf(f, "{\"do\":\"%s\"", words[e->kind]);
    if (e->kind == TRACE_GROUP) fprintf(f, ",\"group\":%lld", (long long)e->value[0].i);
    if (e->line) fprintf(f, ",\"line\":%d,\"warp\":%d", e->line, e->warp);
    if ((e->kind >= TRACE_READ && e->kind <= TRACE_SPLIT) || e->kind == TRACE_WAIT) {
        put_lanes(f, "lanes", e->lanes, e, l);
        put_lanes(f, "on", e->active, e, l);
    }
    if (e->kind >= TRACE_READ && e->kind <= TRACE_SHUFFLE) put_lanes(f, "at", e->lanes, e, l);
    if (e->kind >= TRACE_READ && e->kind <= TRACE_ATOMIC) {
        fprintf(f, ",\"array\":%d", e->place);
        if (e->kind != TRACE_READ) put_lanes(f, "put", e->lanes, e, l);
        if (e->width > 1) fprintf(f, ",\"width\":%d", e->width);
        if (l->array[e->place].shared)
            fprintf(f, ",\"degree\":%d", e->degree);
        else
            fprintf(f, ",\"sectors\":%d", e->sectors);
        if (e->races) fprintf(f, ",\"race\":[%d,%d,%d]", e->race_one, e->race_other, e->race_index);
    }
    fprintf(f, "}");
    (void)t;
}

static void put_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", f);
        else if (*text == '<') /* nothing in it can end the script element */
            fputs("\\u003c", f);
        else if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(f, "\\u%04x", *text);
        else
            fputc(*text, f);
    }
}

static void put_run(FILE *f, const small_run *s)
{
    const model_trace *t = &s->trace;
    const trace_launch *l = NULL;
    fprintf(f, "{\"rung\":\"");
    put_text(f, s->small.name);
    fprintf(f, "\",\"n\":%lld,\"warp\":%d,\"banks\":%d,\"cut\":%d,\"changed\":%d,\"text\":\"",
            (long long)s->n, SMALL_WARP, SMALL_BANKS, t->cut, s->changed);
    put_text(f, s->text);
    fprintf(f, "\",\"launches\":[");
    for (int i = 0; i < t->launches; i++) {
        if (i) fputc(',', f);
        put_launch(f, &t->launch[i], s->n);
    }
    fprintf(f, "],\"events\":[");
    for (int i = 0; i < t->count; i++) {
        if (t->event[i].kind == TRACE_LAUNCH) l = &t->launch[t->event[i].place];
        fputs(i ? ",\n" : "\n", f);
        put_event(f, t, &t->event[i], l);
    }
    fprintf(f, "]}");
}

void plot_stepper(const shape_report *s, FILE *f)
{
    const char *const name = shape_name(s->shape);
    int any = 0;
    for (int i = 0; i < s->count; i++) any |= !is_host(s->rows[i].rung);
    if (!any) return;
    fprintf(f,
            "<section class=\"stepper\" id=\"%s-steps\" data-shape=\"%s\"><h3>Step by "
            "step</h3><p>One small run of a rung, from the model's own trace: %d threads per "
            "group, warps of %d lanes, %d banks. Between two barriers nothing orders the warps; "
            "they are shown side by side. A line leads from a lane to the word that it touches. "
            "Lanes have the numbers of their threads; hatched ones are idle. Words with a thick "
            "border are in a bank conflict, a double border is a race.</p>\n"
            "<noscript><p>The steps need JavaScript, which this browser has switched off. The "
            "plots and tables need none.</p></noscript>\n<script type=\"application/json\">[",
            name, name, SMALL_THREADS, SMALL_WARP, SMALL_BANKS);
    any = 0;
    for (int i = 0; i < s->count; i++) {
        small_run run;
        ladder_error error = {0};
        if (is_host(s->rows[i].rung) ||
            watch_rung(s->rows[i].rung, s->rows[i].text, SMALL_THREADS, &run, &error))
            continue;
        fputs(any++ ? ",\n" : "\n", f);
        put_run(f, &run);
        end_small_run(&run);
    }
    fprintf(f, "]</script>");
    for (int i = 0; i < s->count; i++) {
        small_run run;
        ladder_error error = {0};
        if (!s->rows[i].text) continue;
        if (watch_rung(s->rows[i].rung, s->rows[i].text, SMALL_THREADS, &run, &error)) {
            fprintf(f, "<p class=\"soft\">There are no steps of %s: ", s->rows[i].rung->name);
            html_text(f, error.sentence);
            fprintf(f, ".</p>");
        } else {
            end_small_run(&run);
        }
    }
    fprintf(f, "</section>\n");
}

/* SPDX-License-Identifier: MIT
 * Runs the ladder: every rung on the model (values and counts), on the device (values), and on
 * the clock. */
#include "rung.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* elements whose values the model computes, where a device does the rest */
enum { MODEL_MOST = 1 << 20 };
/* bytes of an input whose launches are only counted */
static const int64_t SPARSE_MOST = (int64_t)1 << 31;

typedef struct stage {
    report *r;
    shape_report *s;
    place *device, *model;
    ladder_error *error;
} stage;

/* ---- one rung at one place ---- */

static void close_inputs(job *j)
{
    for (int i = 0; i < j->copies; i++) {
        if (j->input) place_free(j->place, j->input[i]);
        if (j->host) free(j->host[i]);
    }
    free(j->input);
    free(j->host);
    place_unload(j->place, j->program);
    place_unload(j->place, j->support);
}

static int open_inputs(job *j, int copies, int host_copies, int on_device, ladder_error *error)
{
    const int64_t bytes = j->n * (int64_t)kind_bytes(j->setting.elem);
    int code = 0;
    j->copies = copies;
    j->host = calloc((size_t)copies, sizeof *j->host);
    j->input = calloc((size_t)copies, sizeof *j->input);
    if (!j->host || !j->input) return fail_with(error, 1, "out of memory");
    for (int i = 0; i < copies && !code; i++) {
        if (i < host_copies) {
            j->host[i] = malloc((size_t)bytes + 64);
            if (!j->host[i])
                return fail_with(error, 1, "%lld bytes of memory could not be had",
                                 (long long)bytes);
            data_fill_shape(j->host[i], j->rung->shape, j->setting.elem, j->n,
                            j->setting.operation);
        }
        if (!on_device) continue;
        code = place_alloc(j->place, bytes, &j->input[i], error);
        if (!code) code = place_write(j->place, j->input[i], j->host[0], bytes, error);
    }
    return code;
}

static int build(job *j, const char *text, ladder_error *error)
{
    char path[80];
    const char *const embedded = rung_text(j->rung, path, sizeof path);
    int code = place_build(j->place, text ? text : embedded, path, &j->setting, &j->program, error);
    for (int i = 0; !code && program_kernel(j->program, i); i++)
        if (program_threads(j->program, i) != j->rung->threads)
            code = fail_with(error, 2,
                             "%s: the kernel '%s' has groups of %d threads and is launched with %d "
                             "(`threads: N` in the head)",
                             path, program_kernel(j->program, i), program_threads(j->program, i),
                             j->rung->threads);
    const model_setting support = {j->setting.elem, j->setting.operation, SUPPORT_THREADS,
                                   j->setting.warp, j->setting.banks};
    if (!code)
        code = place_build(j->place, ladder_text("support.cl"), "support.cl", &support, &j->support,
                           error);
    return code;
}

/* Fills the memory for results, so that an old result cannot pass as a new one. */
static int poison(job *j, ladder_error *error)
{
    int code = 0;
    for (int i = 0; i < WORK_MOST && !code; i++)
        if (j->work[i] && !(j->rung->schedule == SEGMENTS && i == HEADS))
            code = place_poison(j->place, j->work[i], error);
    memset(j->output, POISON, (size_t)j->output_bytes);
    return code;
}

static int check(job *j, row *out, ladder_error *error)
{
    int64_t partials = 0;
    element got = {0};
    int code = poison(j, error);
    if (!code) code = job_launch(j, 0, &partials, error);
    if (!code) code = job_finish(j, partials, &got, error);
    out->launches = j->launches - j->clears + needs_fold(j, partials);
    out->clears = j->clears;
    if (code) return code;
    switch (j->rung->shape) {
    case SHAPE_reduce:
        verify_reduce(j, got, out);
        break;
    case SHAPE_scan:
        verify_scan(j, out);
        break;
    case SHAPE_window:
        verify_window(j, 0, out);
        break;
    case SHAPE_transpose:
        verify_transpose(j, out);
        break;
    default:
        verify_histogram(j, out);
    }
    return 0;
}

/* The series with 1e16 and an inf in it. */
static int check_hostile(job *j, row *out, ladder_error *error)
{
    row other = *out;
    const kind k = j->setting.elem;
    int64_t partials = 0;
    element got;
    if (j->rung->shape != SHAPE_window || j->n < 8 * j->width) return 0;
    hostile_series(j->host[0], k, j->n);
    int code = j->input[0] ? place_write(j->place, j->input[0], j->host[0],
                                         j->n * (int64_t)kind_bytes(k), error)
                           : 0;
    if (!code) code = poison(j, error);
    if (!code) code = job_launch(j, 0, &partials, error);
    if (!code) code = job_finish(j, partials, &got, error);
    if (code) return code;
    verify_window(j, 1, &other);
    data_fill(j->host[0], k, j->n, j->setting.operation, 1);
    if (j->input[0])
        code = place_write(j->place, j->input[0], j->host[0], j->n * (int64_t)kind_bytes(k), error);
    if (other.verdict != RIGHT) { /* a kernel of the reader's: the plain series comes first */
        char plain[sizeof out->reason];
        memcpy(plain, out->reason, sizeof plain);
        const int both = plain[0] && j->rung->note == PLAIN;
        snprintf(out->reason, sizeof out->reason, "%.400s%s%.400s", both ? plain : "",
                 both ? "; " : "", other.reason);
        out->verdict = other.verdict;
        if (!out->values_line) out->values_line = other.values_line;
        out->off += other.off;
    }
    out->checked += other.checked;
    return code;
}

/* Records a failure of the rung itself, or that the device lacks what it needs. Other errors, those
 * of the ladder, are returned. */
static int rung_failed(row *out, ladder_error *error)
{
    if (error->code != 4 && error->code != LACKS) return error->code;
    out->verdict = error->code == LACKS ? SKIPPED : WRONG;
    out->failed = 1;
    snprintf(out->reason, sizeof out->reason, "%.250s", error->sentence);
    *error = (ladder_error){0};
    return 0;
}

/* OpenCL 1.2 has no shuffles: the ladder makes them of barriers, to which all threads must come. */
static void skip_uneven(row *out)
{
    out->verdict = SKIPPED;
    snprintf(out->reason, sizeof out->reason,
             "right on the model, and not for this device: not all warps of a group come to the "
             "shuffle in line %d, and OpenCL 1.2 has no shuffles; the ladder makes them of "
             "barriers of the group",
             out->counts.uneven);
}

/* Adds the defects that the model found to the reason, after what is wrong with the values. */
static void take_defects(row *out)
{
    out->values_end = (int)strlen(out->reason);
    for (int k = 1; k < DEFECTS; k++) {
        const model_finding *f = &out->counts.found[k];
        const size_t used = strlen(out->reason);
        if (!f->line || (k == DEFECT_ENDLESS && used)) continue;
        if (k != DEFECT_RACE || out->rung->note != RACY)
            out->verdict = WRONG;
        else if (out->verdict == RIGHT)
            out->verdict = EXPECTED;
        snprintf(out->reason + used, sizeof out->reason - used, "%sline %d: %s", used ? "; " : "",
                 f->line, f->sentence);
    }
}

static model_setting setting_of(const stage *t, const rung *g)
{
    const int operation = has_operation(g->shape) ? t->r->operation : 0; /* the mean is a sum */
    return (model_setting){t->s->kind, operation, g->threads, t->r->warp, t->r->banks};
}

/* Values and counts on the model; *output: the results of a scan, for the device to be compared
   with (caller frees). */
static int on_model(const stage *t, const rung *g, const char *text, row *out, int64_t n,
                    void **output)
{
    const report *r = t->r;
    job j = {.rung = g,
             .place = t->model,
             .n = n,
             .width = t->s->width,
             .counts = &out->counts,
             .threads = r->threads};
    j.setting = setting_of(t, g);
    out->counted_n = n;
    int code = open_inputs(&j, 1, 1, 1, t->error);
    if (!code) code = build(&j, text, t->error);
    if (!code) code = job_open(&j, t->error);
    if (!code) {
        code = check(&j, out, t->error);
        j.counts = NULL;
        if (!code) code = check_hostile(&j, out, t->error);
        if (code) code = rung_failed(out, t->error);
    }
    if (!code) {
        out->modelled = 1;
        take_defects(out);
        if (output && g->shape != SHAPE_reduce) *output = j.output, j.output = NULL;
    }
    job_close(&j);
    close_inputs(&j);
    return code;
}

/* The counts of n elements, where the device computes their values: launches are run in part. */
static int count_sparsely(const stage *t, const rung *g, const char *text, row *out, int64_t n)
{
    model_counts *counts = calloc(1, sizeof *counts);
    job j = {.rung = g,
             .place = t->model,
             .n = n,
             .width = t->s->width,
             .counts = counts,
             .threads = t->r->threads};
    int64_t partials;
    j.setting = setting_of(t, g);
    if (!counts) return fail_with(t->error, 1, "out of memory");
    place_set_watched_only(t->model, 1);
    int code = open_inputs(&j, 1, 1, 1, t->error);
    if (!code) code = build(&j, text, t->error);
    if (!code) code = job_open(&j, t->error);
    if (!code) code = job_launch(&j, 0, &partials, t->error);
    place_set_watched_only(t->model, 0);
    if (!code) {
        out->counts = *counts;
        out->counted_n = n;
        out->launches = j.launches - j.clears + needs_fold(&j, partials);
        out->clears = j.clears;
    }
    free(counts);
    job_close(&j);
    close_inputs(&j);
    return code;
}

/* Scans whose order is that of their kernels: the device's bits are the model's. */
static int same_as_model(const stage *t, const rung *g, const char *text, int64_t n,
                         const void *want, row *out)
{
    job j = {.rung = g, .place = t->device, .n = n, .width = t->s->width, .threads = t->r->threads};
    j.setting = setting_of(t, g);
    int64_t partials;
    element e;
    int code = open_inputs(&j, 1, 1, 1, t->error);
    if (!code) code = build(&j, text, t->error);
    if (!code) code = job_open(&j, t->error);
    if (!code) code = poison(&j, t->error);
    if (!code) code = job_launch(&j, 0, &partials, t->error);
    if (!code) code = job_finish(&j, partials, &e, t->error);
    if (!code && memcmp(j.output, want, (size_t)n * kind_bytes(t->s->kind)) != 0) {
        out->verdict = WRONG;
        snprintf(out->reason, sizeof out->reason,
                 "the bits are not those of the model, which runs the same kernel in its order");
    }
    job_close(&j);
    close_inputs(&j);
    return code;
}

/* The result that the rung is timed to: on the device, folded to one element. Its bits may be
 * those of another order. */
static int check_complete(job *j, row *out, ladder_error *error)
{
    const kind k = j->setting.elem;
    int64_t partials = 0;
    char bytes[8];
    double bound;
    if (j->rung->shape != SHAPE_reduce || is_host(j->rung) || !j->n) return 0;
    int code = job_launch(j, 0, &partials, error);
    if (!code) code = job_complete(j, partials, error);
    if (!code) code = place_read(j->place, bytes, j->result, (int64_t)kind_bytes(k), error);
    if (code) return code;
    const element got = data_get(bytes, k, 0),
                  want = known_result(k, j->n, j->setting.operation, 1, &bound);
    if (k < KIND_F32 || j->setting.operation ? same_bits(k, got, want)
                                             : ulp_error(k, j->n, 0, 1, got) <= bound)
        return 0;
    char text[2][40];
    element_text(k, got, text[0], sizeof text[0]);
    element_text(k, want, text[1], sizeof text[1]);
    out->verdict = WRONG;
    snprintf(out->reason, sizeof out->reason, "folded to its end on the device: %s instead of %s",
             text[0], text[1]);
    return 0;
}

static int on_device(const stage *t, const rung *g, const char *text, int timed, row *out)
{
    const report *r = t->r;
    const int64_t bytes = t->s->n * (int64_t)kind_bytes(t->s->kind);
    const int host = is_host(g);
    const int shared = !host || (g->schedule == LIBRARY && !place_is_model(t->device));
    const int copies = timed ? input_copies(bytes) : 1;
    job j = {
        .rung = g, .place = t->device, .n = t->s->n, .width = t->s->width, .threads = r->threads};
    j.setting = setting_of(t, g);
    int code = open_inputs(&j, copies, shared ? 1 : copies, shared, t->error);
    if (!code && !host) code = build(&j, text, t->error);
    if (code == LACKS) {
        close_inputs(&j);
        return rung_failed(out, t->error);
    }
    if (!code) code = job_open(&j, t->error);
    if (!code) {
        code = check(&j, out, t->error);
        if (!code) code = check_hostile(&j, out, t->error);
        if (code) code = rung_failed(out, t->error);
        if (!code && timed && out->verdict == RIGHT) code = check_complete(&j, out, t->error);
        if (!code && timed && out->verdict != WRONG && t->s->n) {
            code = measure(&j, r->options.runs, &out->timing, t->error);
            out->timing.bytes = (int64_t)least_bytes(g, t->s->kind, t->s->n);
            out->timed = !code;
        }
    }
    job_close(&j);
    close_inputs(&j);
    return code;
}

int run_rung(const report *r, shape_report *s, place *p, int timed, row *out, ladder_error *error)
{
    const rung *const g = out->rung;
    const char *const text = out->text;
    stage t = {(report *)(uintptr_t)r, s, p, NULL, error};
    const int host = is_host(g);
    int code = 0;
    void *want = NULL;
    memset(out, 0, sizeof *out);
    out->rung = g;
    out->text = text;
    out->error_ulp = -1;
    out->on_host = g->schedule == LOOP || g->schedule == OPENMP ||
                   (g->schedule == LIBRARY && place_is_model(p));
    if (!host) {
        const int64_t n = place_is_model(p) || s->n < MODEL_MOST ? s->n : MODEL_MOST;
        if (place_is_model(p))
            t.model = p;
        else
            code = place_open(&t.model, "model", error);
        if (!code && t.model != p) place_set_groups(t.model, place_groups(p));
        if (!code) code = on_model(&t, g, text, out, n, &want);
        if (!code && n < s->n && s->n * (int64_t)kind_bytes(s->kind) <= SPARSE_MOST &&
            out->verdict != WRONG)
            code = count_sparsely(&t, g, text, out, s->n);
        const int64_t launches = out->launches, clears = out->clears;
        if (!code && out->counts.uneven && out->verdict != WRONG && !place_has_warps(p))
            skip_uneven(out);
        else if (!code && !place_is_model(p) && out->verdict != WRONG) {
            if (g->order == MODEL && want) code = same_as_model(&t, g, text, n, want, out);
            if (!code && out->verdict != WRONG) code = on_device(&t, g, text, timed, out);
        }
        out->launches = launches;
        out->clears = clears;
    } else {
        code = on_device(&t, g, text, timed, out);
    }
    free(want);
    if (t.model != p) place_close(t.model);
    return code;
}

int time_rung(const report *r, shape_report *s, const rung *g, place *p, row *out,
              ladder_error *error)
{
    const stage t = {(report *)(uintptr_t)r, s, p, NULL, error};
    memset(out, 0, sizeof *out);
    out->rung = g;
    return on_device(&t, g, NULL, 1, out);
}

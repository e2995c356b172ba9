/* SPDX-License-Identifier: MIT
 * Jobs and their timing. A time is the median of `runs` batches after one to warm up; a batch is
 * as many runs of the rung, one after the other, as take 2 ms, divided by their number, so that
 * the wait at its end counts little. A run ends when the result is on the device: what the
 * processor would fold is folded there by one launch more. The input is one of several copies in
 * turn, 256 MiB in all, so that it comes from memory and not from a cache; ceilings are measured
 * in the same way, at the same size. */
#define _GNU_SOURCE
#include "ceiling.h"
#include "rung.h"
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_MOST = 200,
    RUNS_MOST = 101,
    COPIES_MOST = 64,
    HOST_LEAST = 1 << 27 /* bytes: more than most caches hold */
};
static const int64_t ROTATED = (int64_t)1 << 28; /* bytes of the copies of the input */

int input_copies(int64_t bytes)
{
    const int64_t copies = bytes > 0 ? ROTATED / bytes : 1;
    return copies < 2 ? 2 : copies > COPIES_MOST ? COPIES_MOST : (int)copies;
}

int host_finish(job *j, int64_t partials, element *out, ladder_error *error);

int launch_kernel(job *j, const char *kernel, int64_t groups, const argument *arguments, int count,
                  ladder_error *error)
{
    const int takes = program_parameters(j->program, kernel);
    j->launches++;
    if (takes >= 2 && takes < count) count = takes; /* as slides have them: without n */
    const kernel_launch l = {kernel, groups, j->rung->threads, arguments, count};
    return place_launch(j->place, j->program, &l, j->counts, error);
}

int launch_support(job *j, const char *kernel, int64_t groups, const argument *arguments, int count,
                   ladder_error *error)
{
    j->launches++;
    j->clears += strcmp(kernel, "finish") != 0;
    if (j->counts) j->counts->launches++;
    const kernel_launch l = {kernel, groups, SUPPORT_THREADS, arguments, count};
    return place_launch(j->place, j->support, &l, NULL, error);
}

/* The arrays of a scan by levels, from bytes[first] on: a level of `count` elements, the one above
 * it with one for each tile of `each` of them, and so on to a single element. A level has an array
 * whose elements have width[0] bytes, and if width[1] is not 0, a second one. */
static void add_levels(int64_t *bytes, int first, int64_t count, int64_t each,
                       const int64_t width[2])
{
    const int arrays = width[1] ? 2 : 1;
    for (int i = first; i + arrays <= WORK_MOST; i += arrays, count = (count + each - 1) / each) {
        for (int k = 0; k < arrays; k++) bytes[i + k] = count * width[k];
        if (count <= 1) break;
    }
}

void job_needs(const job *j, int64_t bytes[WORK_MOST])
{
    const int64_t size = (int64_t)kind_bytes(j->setting.elem), n = j->n,
                  each = j->rung->each ? j->rung->each : 1;
    const int64_t tiles = (n + each - 1) / each;
    memset(bytes, 0, WORK_MOST * sizeof *bytes);
    switch (j->rung->schedule) {
    case LOOP:
    case OPENMP:
        break;
    case LIBRARY:
        bytes[0] = (j->rung->shape == SHAPE_reduce ? 1 : n) * 8;
        break;
    case HALVES:
        bytes[0] = n / 2 * size, bytes[1] = size;
        break;
    case EIGHTHS:
        bytes[0] = n / 8 * size, bytes[1] = size;
        break;
    case TILES:
    case LEVELS:
        bytes[0] = tiles * size, bytes[1] = (tiles + each - 1) / each * size;
        break;
    case STRIDES:
        bytes[0] = job_groups(j) * size;
        break;
    case ATOMIC:
        bytes[0] = size;
        break;
    case ONCE:
    case COOPERATIVE:
        bytes[0] = size, bytes[1] = job_groups(j) * size, bytes[2] = 4;
        break;
    case RECURSE:
        bytes[0] = n * size;
        add_levels(bytes, 1, tiles, each, (int64_t[]){size, 0});
        break;
    case DIFFERENCE:
        bytes[0] = bytes[1] = n * size;
        add_levels(bytes, 2, tiles, each, (int64_t[]){size, 0});
        break;
    case SEGMENTS:
        bytes[0] = n * size, bytes[1] = bytes[2] = n * 4;
        add_levels(bytes, 3, tiles, each, (int64_t[]){size, 4});
        break;
    case LOOKBACK:
        bytes[0] = n * size, bytes[1] = bytes[2] = tiles * size, bytes[3] = tiles * 4, bytes[4] = 4;
        break;
    case POLL: /* two words of 8 bytes a tile */
        bytes[0] = n * size, bytes[1] = tiles * 16, bytes[2] = 4;
        break;
    case WINDOW:
    case TRANSPOSE:
        bytes[0] = n * size;
        break;
    case HISTOGRAM:
        bytes[0] = BINS * 4;
        break;
    }
}

static int write_heads(job *j, ladder_error *error)
{
    uint32_t *const heads = malloc((size_t)j->n * sizeof *heads + 1);
    if (!heads)
        return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)j->n * 4);
    for (int64_t i = 0; i < j->n; i++) heads[i] = (uint32_t)segment_starts(i);
    const int code = place_write(j->place, j->work[HEADS], heads, j->n * 4, error);
    free(heads);
    return code;
}

int job_open(job *j, ladder_error *error)
{
    int64_t bytes[WORK_MOST];
    int code = 0;
    job_needs(j, bytes);
    int64_t capacity =
        j->rung->shape == SHAPE_reduce ? (bytes[0] > bytes[1] ? bytes[0] : bytes[1]) : j->n * 8;
    if (capacity < MODEL_THREADS_MOST * 8)
        capacity = MODEL_THREADS_MOST * 8; /* TILES leaves up to a group's worth of the input */
    j->output = malloc((size_t)capacity);
    j->output_bytes = capacity;
    if (!j->output)
        return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)capacity);
    for (int i = 0; i < WORK_MOST && !code; i++)
        if (bytes[i] || (i == 0 && !is_host(j->rung)) || (i == 0 && j->rung->schedule == LIBRARY))
            code = place_alloc(j->place, bytes[i], &j->work[i], error);
    if (!code && !is_host(j->rung) && j->rung->shape == SHAPE_reduce)
        code = place_alloc(j->place, 8, &j->cell, error);
    return code || j->rung->schedule != SEGMENTS || !j->n ? code : write_heads(j, error);
}

void job_close(job *j)
{
    for (int i = 0; i < WORK_MOST; i++) place_free(j->place, j->work[i]), j->work[i] = NULL;
    place_free(j->place, j->cell);
    j->cell = NULL;
    free(j->output);
    j->output = NULL;
}

int job_launch(job *j, int at, int64_t *partials, ladder_error *error)
{
    j->launches = j->clears = 0;
    *partials = 1;
    if (is_host(j->rung)) return host_launch(j, at, error);
    return j->rung->shape == SHAPE_reduce ? reduce_launch(j, at, partials, error)
                                          : series_launch(j, at, error);
}

int job_finish(job *j, int64_t partials, element *out, ladder_error *error)
{
    if (is_host(j->rung)) return host_finish(j, partials, out, error);
    return j->rung->shape == SHAPE_reduce ? reduce_finish(j, partials, out, error)
                                          : series_finish(j, error);
}

/* ---- timing ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int batch(job *j, int count, int *at, double *seconds, int64_t *partials,
                 ladder_error *error)
{
    int code = 0;
    const double start = clock_seconds();
    for (int i = 0; i < count && !code; i++) {
        code = job_launch(j, (*at)++, partials, error);
        if (!code) code = job_complete(j, *partials, error);
    }
    if (!code && !(is_host(j->rung) && j->rung->schedule != LIBRARY))
        code = place_wait(j->place, error);
    *seconds = (clock_seconds() - start) / count;
    return code;
}

int measure(job *j, int runs, timing *t, ladder_error *error)
{
    double times[RUNS_MOST], once = 0;
    int64_t partials = 0;
    int at = 0, count = 1;
    element e;
    if (runs > RUNS_MOST) runs = RUNS_MOST;
    int code = batch(j, 1, &at, &once, &partials, error);
    if (!code) code = batch(j, 2, &at, &once, &partials, error);
    if (once < 0.002)
        count = once > 0 && 0.002 / once < BATCH_MOST ? 1 + (int)(0.002 / once) : BATCH_MOST;
    for (int r = 0; r < runs && !code; r++)
        code = batch(j, count, &at, &times[r], &partials, error);
    if (code) return code;
    qsort(times, (size_t)runs, sizeof *times, by_value);
    t->runs = runs;
    t->median = runs % 2 ? times[runs / 2] : (times[runs / 2 - 1] + times[runs / 2]) / 2;
    t->low = times[0];
    t->high = times[runs - 1];
    t->launches = j->launches;
    if (is_host(j->rung)) return 0;
    double start = clock_seconds();
    j->copying = -1;
    code = job_finish(j, partials, &e, error);
    t->copy_out = clock_seconds() - start;
    if (j->copying >= 0) { /* a reduction: some of that was the processor's fold */
        t->fold = t->copy_out - j->copying;
        t->copy_out = j->copying;
    }
    start = clock_seconds();
    if (!code)
        code = place_write(j->place, j->input[0], j->host[0],
                           j->n * (int64_t)kind_bytes(j->setting.elem), error);
    if (!code) code = place_wait(j->place, error);
    t->copy_in = clock_seconds() - start;
    return code;
}

/* ---- ceilings ---- */

/* The seconds of a launch whose first argument is each of the inputs in turn. */
static double best_of(job *j, const kernel_launch *l, const argument *inputs, int copies, int runs,
                      ladder_error *error)
{
    double best = 0;
    int at = 0, repeat = 1;
    for (int r = -2; r < runs; r++) {
        const double start = clock_seconds();
        for (int i = 0; i < repeat; i++) {
            argument arguments[4];
            kernel_launch now = *l;
            memcpy(arguments, l->arguments, (size_t)l->count * sizeof *arguments);
            arguments[0] = inputs[at++ % copies];
            now.arguments = arguments;
            if (place_launch(j->place, j->program, &now, NULL, error)) return 0;
        }
        if (place_wait(j->place, error)) return 0;
        const double each = (clock_seconds() - start) / repeat;
        if (r == -1) repeat = each < 0.002 ? (int)(0.002 / (each > 1e-7 ? each : 1e-7)) + 1 : 1;
        if (repeat > BATCH_MOST) repeat = BATCH_MOST;
        if (r >= 0 && (best == 0 || each < best)) best = each;
    }
    return best;
}

static int device_ceilings(place *p, kind k, int64_t n, int runs, ceilings *c, ladder_error *error)
{
    if (is_byte(k)) k = KIND_U32, n /= 4; /* the memory does not care what its bytes are */
    const int copies = input_copies(n * (int64_t)kind_bytes(k));
    static const rung none = {SHAPE_reduce, "ceiling", STRIDES, 256, 0, NONE, PLAIN, "", NULL};
    job j = {.rung = &none, .place = p, .setting = {k, 0, 256, 32, 32}, .n = n};
    memory *in[COPIES_MOST] = {NULL}, *out = NULL;
    argument inputs[COPIES_MOST];
    const int64_t bytes = n * (int64_t)kind_bytes(k), groups = job_groups(&j);
    int code =
        place_build(p, ladder_text("support.cl"), "support.cl", &j.setting, &j.program, error);
    char *zeros = calloc(1, (size_t)bytes + 64);
    if (!zeros && !code)
        code = fail_with(error, 1, "%lld bytes of memory could not be had", (long long)bytes);
    for (int i = 0; i < copies && !code; i++) {
        code = place_alloc(p, bytes, &in[i], error);
        if (!code) code = place_write(p, in[i], zeros, bytes, error);
        inputs[i] = (argument){PUT_MEMORY, in[i], 0};
    }
    const int64_t least = groups * 256 * 8;
    if (!code) code = place_alloc(p, bytes > least ? bytes : least, &out, error);
    if (!code) {
        const argument arguments[] = {inputs[0], MEMORY(out), COUNT(n)};
        const kernel_launch reading = {"read_all", groups, 256, arguments, 3},
                            copying = {"copy_all", (n / 4 + 255) / 256, 256, arguments, 3};
        error->code = 0;
        const double read = best_of(&j, &reading, inputs, copies, runs, error);
        const double copy = error->code ? 0 : best_of(&j, &copying, inputs, copies, runs, error);
        code = error->code;
        if (read > 0) c->read = (double)bytes / read;
        if (copy > 0) c->copy = 2 * (double)bytes / copy;
    }
    free(zeros);
    for (int i = 0; i < copies; i++) place_free(p, in[i]);
    place_free(p, out);
    place_unload(p, j.program);
    return code;
}

/* The processors' ceilings: the best of several reads and copies, by all threads and by one (all
 * of them lose where others use the machine too). */
static int host_ceilings(place *p, int64_t bytes, int runs, ceilings *c, ladder_error *error)
{
    const int64_t each = bytes < HOST_LEAST ? HOST_LEAST : bytes;
    const int all = tally_threads(place_context(p));
    ceiling m;
    double read = 0, copy = 0;
    if (ceiling_open(&m, each, all))
        return fail_with(error, 1, "%lld bytes of memory could not be had", (long long)(2 * each));
    const int most = m.threads < all ? 1 : all; /* threads that could be made */
    for (int r = -2; r < 2 * runs; r++) {
        m.threads = r % 2 ? most : 1;
        for (int walk = 0; walk < CEILING_WALKS; walk++) {
            const double reading = ceiling_pass(&m, 0, walk, 1),
                         copying = ceiling_pass(&m, 1, walk, 1);
            if (r >= 0 && (read == 0 || reading < read)) read = reading;
            if (r >= 0 && (copy == 0 || copying < copy)) copy = copying;
        }
    }
    ceiling_close(&m);
    c->read = read > 0 ? (double)each / read : 0;
    c->copy = copy > 0 ? 2 * (double)each / copy : 0;
    return 0;
}

int measure_ceilings(place *p, shape_report *s, int runs, ladder_error *error)
{
    const int64_t bytes = s->n * (int64_t)kind_bytes(s->kind);
    ceilings *const device = &s->device, *const host = &s->host;
    /* such an input comes from a cache, in part or whole */
    if (bytes * input_copies(bytes) < HOST_LEAST) return 0;
    const int code = host_ceilings(p, bytes, runs, host, error);
    if (code || place_is_model(p)) return code;
    const int there = device_ceilings(p, s->kind, s->n, runs, device, error);
    if (place_shares_memory(p)) { /* PoCL's own loops can be slower than the memory is */
        if (host->read > device->read) device->read = host->read;
        if (host->copy > device->copy) device->copy = host->copy;
    }
    return there;
}

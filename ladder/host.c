/* SPDX-License-Identifier: MIT
 * The rungs without a kernel of the ladder's: the loop, the loop shared out among threads (of the
 * library's pool; the exported program uses OpenMP), and the library. */
#include "rung.h"
#include "context/threads.h"
#include <string.h>

/* A loop that is shared out: a part of x for each thread, and its result. */
typedef struct {
    const void *x, *start;
    void *results;
    int64_t n, parts;
    int operation;
} shared;

/* KIND(kind, its type in C, the type in which its sums wrap) */
#define KINDS(KIND) \
    KIND(KIND_I8, int8_t, uint8_t) \
    KIND(KIND_U8, uint8_t, uint8_t) \
    KIND(KIND_I16, int16_t, uint16_t) \
    KIND(KIND_U16, uint16_t, uint16_t) \
    KIND(KIND_I32, int32_t, uint32_t) \
    KIND(KIND_U32, uint32_t, uint32_t) \
    KIND(KIND_I64, int64_t, uint64_t) \
    KIND(KIND_U64, uint64_t, uint64_t) \
    KIND(KIND_F32, float, float) \
    KIND(KIND_F64, double, double)

/* Loops over one type each: sums wrap, so whole numbers are added without their sign. */
#define LOOPS(K, T, WORK) \
    static T loop_##K(const T *x, int64_t n, int operation, T start) \
    { \
        WORK sum = (WORK)start; \
        T best = start; \
        if (operation == 0) \
            for (int64_t i = 0; i < n; i++) sum += (WORK)x[i]; \
        else if (operation == 1) \
            for (int64_t i = 0; i < n; i++) best = best < x[i] ? best : x[i]; \
        else \
            for (int64_t i = 0; i < n; i++) best = x[i] < best ? best : x[i]; \
        return operation ? best : (T)sum; \
    } \
    static void part_##K(void *data, int64_t i) \
    { \
        const shared *s = data; \
        const int64_t each = s->n / s->parts, from = each * i; \
        ((T *)s->results)[i] = \
            loop_##K((const T *)s->x + from, i + 1 < s->parts ? each : s->n - from, s->operation, \
                     *(const T *)s->start); \
    } \
    static T shared_##K(const T *x, int64_t n, int operation, T start, int threads) \
    { \
        T results[TL_THREADS_MOST]; \
        shared all = {x, &start, results, n, threads, operation}; \
        tl_for(threads, threads, part_##K, &all); \
        return loop_##K(results, threads, operation, start); \
    }
KINDS(LOOPS)

static void loop(job *j, const void *x)
{
    const kind k = j->setting.elem;
    double bound;
    char start[8];
    data_put(start, k, 0, known_result(k, 0, j->setting.operation, 0, &bound));
    switch (k) {
#define RUN(K, T, WORK) \
    case K: { \
        T from, to; \
        memcpy(&from, start, sizeof from); \
        to = j->rung->schedule == LOOP \
                 ? loop_##K(x, j->n, j->setting.operation, from) \
                 : shared_##K(x, j->n, j->setting.operation, from, j->threads); \
        memcpy(j->output, &to, sizeof to); \
        break; \
    }
        KINDS(RUN)
#undef RUN
    default:
        break;
    }
}

/* The library, on memory of the device if there is one. */
static int library(job *j, int at, ladder_error *error)
{
    static const char *const names[] = {"sum", "min", "max"};
    tally *ctx = place_context(j->place);
    const char *const name = j->rung->shape == SHAPE_window ? "mean" : names[j->setting.operation];
    const int on_device = !place_is_model(j->place);
    tally_operator_info info;
    tally_status status = tally_operator(ctx, name, kind_dtype(j->setting.elem), &info);
    void *const from =
        on_device ? memory_address(j->input[at % j->copies]) : j->host[at % j->copies];
    void *const to = on_device ? memory_address(j->work[0]) : j->output;
    const tally_view in = tally_flat(from, kind_dtype(j->setting.elem), j->n),
                     out = tally_flat(to, info.output, j->n);
    const tally_window_options window = {.before = j->width - 1};
    if (!status && j->rung->shape == SHAPE_reduce) status = tally_reduce(ctx, name, &in, to);
    if (!status && j->rung->shape == SHAPE_scan) status = tally_scan(ctx, name, &in, &out, NULL);
    if (!status && j->rung->shape == SHAPE_window)
        status = tally_window(ctx, name, &in, &out, &window);
    return status ? fail_with(error, 1, "%s", tally_error(ctx)) : 0;
}

int host_launch(job *j, int at, ladder_error *error)
{
    if (j->rung->schedule == LIBRARY) return library(j, at, error);
    loop(j, j->host[at % j->copies]);
    return 0;
}

/* The library widens sums of whole numbers to 64 bits; here they are cut back to the kind, as
 * the other rungs have them. */
int host_finish(job *j, int64_t partials, element *out, ladder_error *error);
int host_finish(job *j, int64_t partials, element *out, ladder_error *error)
{
    const kind k = j->setting.elem;
    const int wide = j->rung->schedule == LIBRARY && !j->setting.operation && k < KIND_F32;
    const kind from = wide ? KIND_I64 : k;
    const int64_t count = j->rung->shape == SHAPE_reduce ? 1 : j->n;
    if (j->rung->schedule == LIBRARY && !place_is_model(j->place)) {
        const int code =
            place_read(j->place, j->output, j->work[0], count * (int64_t)kind_bytes(from), error);
        if (code) return code;
    }
    if (from != k)
        for (int64_t i = 0; i < count; i++) data_put(j->output, k, i, data_get(j->output, from, i));
    *out = data_get(j->output, k, 0);
    (void)partials;
    return 0;
}

/* SPDX-License-Identifier: MIT
 * What the host does. The rungs without a kernel of the ladder's: the loop, the loop shared out
 * among threads (of the library's pool; the exported program uses OpenMP), and the library. And, in
 * words, what it does around the kernels of the others. */
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

/* The other half of the program, in words. One text for each schedule, as schedules.c runs them. */
static const char *const texts[] = {
    [LOOP] = "a loop on the host; no device\n",
    [OPENMP] = "a loop on the host, shared out among its processors; no device\n",
    [LIBRARY] = "view = tally_flat(memory, dtype, n)        no copy where the data are on the "
                "device already\n"
                "tally_reduce, tally_scan or tally_window\n",
    [HALVES] = "tail = one element, cleared by a launch\n"
               "while n >= 2: launch for n / 2 elements: from, to, tail, n\n"
               "              from = to (in place from the second launch on); n = n / 2\n"
               "copy out: element 0 and the tail, and nothing else; result = element 0 . tail\n",
    [EIGHTHS] = "tail = one element, cleared by a launch\n"
                "while n >= 8: launch for n / 8 elements: from, to, tail, n;  n = n / 8\n"
                "copy out: the fewer than 8 elements that are left, and the tail; fold them here\n",
    [TILES] = "two arrays on the device, source and destination, and views of them\n"
              "while n > one tile: launch a group for each tile: source, destination, n\n"
              "                    swap the views (nothing is copied); n = number of tiles\n"
              "copy out: the view of the first n results; fold them here\n",
    [LEVELS] = "while n > 1: launch a group for each tile: source, destination, n;  swap; n = "
               "number of tiles\n"
               "copy out: one element\n",
    [STRIDES] = "groups = as many as the device runs at once, however large n is\n"
                "launch once: in, out, n\n"
                "copy out: one result for each group; fold them here\n",
    [ATOMIC] = "one cell, cleared by a launch\n"
               "launch once: in, cell, n\n"
               "copy out: the cell\n",
    [ONCE] = "a ticket, set to 0 by a launch\n"
             "launch once: in, partial results, ticket, out, n\n"
             "copy out: one element\n",
    [COOPERATIVE] = "groups = at most one per processor of the device, so that all of them run at "
                    "the same time\n"
                    "a cell, set to 0 by a launch\n"
                    "launch once: in, partial results, cell, out, n\n"
                    "copy out: one element\n",
    [RECURSE] = "scan(in, out, n):\n"
                "    launch tile_scan, a group for each tile: in, out, sums, n\n"
                "    where there is more than one tile: scan(sums, sums, tiles)      the same, "
                "one level up\n"
                "                                       launch propagate: out, sums, n\n"
                "copy out: n elements\n",
    [SEGMENTS] = "heads: a flag for each element, 1 where a segment begins; copied to the "
                 "device with the elements\n"
                 "as a scan of any length, with the flags going along:\n"
                 "    launch tile_scan: in, heads, out, seen, sums, heads of the sums, n\n"
                 "    where there is more than one tile: the same on the sums; launch "
                 "propagate: out, seen, sums, n\n"
                 "copy out: n elements\n",
    [LOOKBACK] =
        "flags of the tiles and a ticket, set to 0 by two launches\n"
        "launch once, a group for each tile: in, out, own sums, whole sums, flags, ticket, n\n"
        "copy out: n elements\n",
    [POLL] = "states of the tiles and a ticket, set to 0 by two launches\n"
             "launch once, a group for each tile: in, out, states, ticket, n\n"
             "copy out: n elements\n",
    [WINDOW] = "launch once, a thread for each element, rounded up to whole groups: in, out, n, w\n"
               "copy out: n elements, of which the first w - 1 were not written\n",
    [DIFFERENCE] = "scan the series (as hillis_steele): in, running sums\n"
                   "launch difference: running sums, out, n, w\n"
                   "copy out: n elements\n",
    [TRANSPOSE] = "launch once, a thread for each element or a group for each tile: in, out, "
                  "rows, columns\n"
                  "copy out: rows * columns elements\n",
    [HISTOGRAM] = "128 counts, set to 0 by a launch\n"
                  "launch once, as many groups as the device runs at once: in, counts, n\n"
                  "copy out: 128 counts\n",
};

const char *host_text(const rung *g) { return texts[g->schedule]; }

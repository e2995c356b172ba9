/* SPDX-License-Identifier: MIT
 * tally_verify: random cases on the context's device, each compared by memcmp with the law executed
 * in scalar C (spec.c). Case k of a run from seed s equals a run of one case from seed s + k, so a
 * mismatch can be repeated alone. */
#include "law/fp.h"
#include "context/view.h"
#include "law/random.h"
#include "law/spec.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG = 1 << 18, /* elements of a long flat case: enough for several threads and tiles */
    SHORT = 4096,   /* elements of a view's memory in all other cases */
    /* bytes around every buffer, for odd alignments, and for guard bytes after an output */
    SLACK = 64,
    SAMPLES = 8,      /* results of a long case that are compared */
    RESULT_MOST = 16, /* bytes of a result, all lanes */
    ROWS_MOST = 40
};

typedef enum { REDUCE, SCAN, WINDOW, VERBS } verb;
static const char *const verb_names[] = {"reduce", "scan", "window"};

typedef enum { FLAT, ROWS, COLUMNS, EVERY_KTH, BACKWARDS, SEGMENTS, LAYOUTS } layout;
static const char *const layout_names[] = {"flat",       "rows",      "columns",
                                           "every k-th", "backwards", "segments"};

typedef struct {
    tally *ctx;
    uint64_t seed, random;
    /* input; result; the law's result, as a view and as one dense sequence */
    char *x, *out, *want, *dense;
    char op[48];
    const tl_scalar *scalar;
    tl_par par;
    verb verb;
    layout layout;
    tally_view in, to;
    int64_t offsets[ROWS_MOST + 1];
    tally_scan_options scan;
    tally_window_options window;
    char init[RESULT_MOST];
} one_case;

static int64_t below(one_case *c, int64_t n)
{
    return (int64_t)(tl_random(&c->random) % (uint64_t)n);
}

/* Fills n elements of dtype d with data of a random kind. */
static void fill(one_case *c, void *to, tally_dtype d, int64_t n)
{
    tl_random_fill(&c->random, to, d, n, (tl_data)below(c, TL_DATA_KINDS));
}

static void pick_operator(one_case *c)
{
    const char *const *names = tally_operators();
    char parameter[TL_SAMPLE_BYTES];
    int count = 0;

    while (names[count]) count++;
    do {
        const char *name = names[below(c, count)];
        c->in.dtype = (tally_dtype)(1 + below(c, TALLY_F64));
        const char *suffix = below(c, 4) ? "" : ":f64";
        snprintf(c->op, sizeof c->op, "%s%s%s", name, suffix, tl_sample_parameter(name, parameter));
    } while (tl_resolve(c->ctx, c->op, c->in.dtype, &c->scalar, &c->par) || c->scalar->inputs != 1);
}

/* A layout of at most SHORT elements (LONG if flat), filled, and an output with the same layout but
 * dense. */
static void pick_view(one_case *c)
{
    int64_t bytes = c->scalar->elem_bytes, n = below(c, 100), rows = below(c, ROWS_MOST + 1),
            step = 1, row_step = n;
    tally_dtype dtype = c->in.dtype;
    char *base = c->x + below(c, SLACK), *x = base;
    const int64_t *offsets = NULL;

    c->layout = (layout)below(c, LAYOUTS);
    switch (c->layout) {
    case FLAT:
        rows = 1;
        n = below(c, 8) ? below(c, below(c, 2) ? 700 : 70) : below(c, LONG);
        row_step = n;
        break;
    case ROWS:
        row_step = n + below(c, 3);
        break;
    case COLUMNS:
        row_step = 1;
        step = (rows ? rows : 1) + below(c, 3);
        break;
    case EVERY_KTH:
        rows = below(c, 9);
        step = 2 + below(c, 3);
        row_step = n * step;
        break;
    case BACKWARDS:
        step = -1;
        row_step = -n;
        x += rows * n * bytes;
        break;
    default:
        c->offsets[0] = below(c, 5);
        for (int64_t r = 0; r < rows; r++)
            c->offsets[r + 1] = c->offsets[r] + (below(c, 3) ? below(c, 20) : below(c, 150));
        n = row_step = 0;
        offsets = c->offsets;
        break;
    }

    c->in = (tally_view){x, dtype, rows, n, row_step, step, offsets};
    fill(c, base, dtype, c->layout == FLAT && n > SHORT ? LONG : 3 * SHORT);
}

static void pick_options(one_case *c)
{
    c->verb = (verb)below(c, VERBS);
    c->scan = (tally_scan_options){.exclusive = (int)below(c, 2), .reverse = (int)below(c, 2)};
    if (c->scalar->seedable && below(c, 3) == 0) {
        fill(c, c->init, c->scalar->out, c->scalar->lanes);
        c->scan.init = c->init;
    }

    int64_t most = below(c, 2) ? 12 : c->in.n > SHORT ? 5000 : 120;
    c->window = (tally_window_options){below(c, most), below(c, 3) ? 0 : below(c, most),
                                       TALLY_EDGES_MISSING, 0, 0};

    /* both ends of the window move, one beyond the centre; or a step */
    if (c->in.n <= 700 && below(c, 6) == 0) {
        const int64_t far = below(c, most) - below(c, most);
        c->window.before += far;
        c->window.after -= far;
        if (c->layout != SEGMENTS) c->window.step = below(c, 5);
    }

    c->window.edges = (tally_edges)below(c, c->layout == SEGMENTS ? 2 : 3);
    if (below(c, 3) == 0 && c->window.before + c->window.after >= 0)
        c->window.min_count = 1 + below(c, c->window.before + 1 + c->window.after);
    int64_t length = c->verb == WINDOW ? tally_window_length(c->in.n, &c->window) : c->in.n;
    c->to = (tally_view){
        c->out + below(c, SLACK), c->scalar->out, c->in.rows, length, length, 1, c->in.offsets};
    if (c->layout == COLUMNS) {
        c->to.row_stride = 1;
        c->to.stride = c->in.rows ? c->in.rows : 1;
    }
}

static tally_status run(one_case *c)
{
    if (c->verb == REDUCE) return tally_reduce(c->ctx, c->op, &c->in, c->to.data);
    if (c->verb == SCAN) return tally_scan(c->ctx, c->op, &c->in, &c->to, &c->scan);
    return tally_window(c->ctx, c->op, &c->in, &c->to, &c->window);
}

/* Computes the law's results of sequence r, dense in c->dense. Returns their number. */
static int64_t law(one_case *c, int64_t r)
{
    assert(r >= 0 && r < c->in.rows);
    const tally_view *in = &c->in;
    int64_t n;
    const char *const x = tl_view_row(in, r, c->scalar->elem_bytes, &n);

    if (c->verb == REDUCE) {
        tl_spec_reduce((tl_spec_sequence){c->scalar, c->par, x, in->stride, n}, NULL, c->dense);
        return 1;
    }

    if (c->verb == SCAN) {
        tl_spec_scan((tl_spec_sequence){c->scalar, c->par, x, in->stride, n}, &c->scan, c->dense);
        return n;
    }

    tl_spec_window((tl_spec_sequence){c->scalar, c->par, x, in->stride, n}, &c->window, c->dense);
    return tally_window_length(n, &c->window);
}

/* For a short case: compares every byte of the output's memory, also gaps and the bytes after
 * it. */
static int equal(one_case *c, size_t memory)
{
    int64_t size = c->scalar->result_bytes;
    char *want = c->want + ((char *)c->to.data - c->out);

    for (int64_t r = 0; r < c->in.rows; r++) {
        int64_t m = law(c, r), first = c->verb == REDUCE ? r : tl_view_first(&c->to, r);
        for (int64_t i = 0; i < m; i++)
            memcpy(want + (first + i * c->to.stride) * size, c->dense + i * size, (size_t)size);
    }
    return !memcmp(c->out, c->want, memory);
}

/* For a long case: compares some results, each with the reduction of its own elements. */
static int equal_samples(one_case *c)
{
    const tl_scalar *op = c->scalar;
    const char *x = c->in.data, *out = c->to.data;
    int64_t n = c->in.n, size = op->result_bytes;

    for (int k = 0; k < SAMPLES; k++) {
        int64_t at = 0;
        if (c->verb == REDUCE) {
            tl_spec_reduce((tl_spec_sequence){op, c->par, x, 1, n}, NULL, c->dense);
        } else if (c->verb == SCAN) {
            int64_t i = below(c, n), m = i + !c->scan.exclusive;
            at = c->scan.reverse ? n - 1 - i : i;
            tl_spec_reduce((tl_spec_sequence){op, c->par,
                                              c->scan.reverse ? x + (n - 1) * op->elem_bytes : x,
                                              c->scan.reverse ? -1 : 1, m},
                           c->scan.init, c->dense);
        } else {
            const tally_window_options *o = &c->window;
            int64_t w = o->before + 1 + o->after;
            if (w > n || o->min_count) return 1;
            int64_t p = below(c, n - w + 1);
            at = o->edges == TALLY_EDGES_VALID ? p : p + o->before;
            tl_spec_reduce((tl_spec_sequence){op, c->par, x + p * op->elem_bytes, 1, w}, NULL,
                           c->dense);
        }

        if (memcmp(out + at * size, c->dense, (size_t)size)) return 0;
        if (c->verb == REDUCE) break;
    }
    return 1;
}

static tally_status check_case(one_case *c)
{
    c->random = c->seed;
    pick_operator(c);
    pick_view(c);
    pick_options(c);
    int is_long = c->in.n > 700;
    size_t memory = (size_t)(is_long ? LONG : 2 * SHORT) * RESULT_MOST + SLACK;

    if (!is_long) {
        memset(c->out, 0xa5, memory);
        memset(c->want, 0xa5, memory);
    }

    TL_TRY(run(c));

    TL_LAW_FP;
    int ok = is_long ? equal_samples(c) : equal(c, memory);
    if (ok) return TALLY_OK;

    return tl_fail(c->ctx, TALLY_MISMATCH,
                   "%s %s of %s, %s, %ld x %ld elements, differs from the law: seed %lu, 1 case",
                   verb_names[c->verb], c->op, tally_dtype_name(c->in.dtype),
                   layout_names[c->layout], c->in.rows, c->in.n, c->seed);
}

tally_status tally_verify(tally *ctx, uint64_t seed, int64_t cases, const char **report)
{
    if (report) *report = "";
    if (!ctx) return tl_no_context();

    if (cases < 0) return tl_invalid(ctx, "cases is %ld: must be at least 0", cases);
    size_t in = LONG * sizeof(double) + 2 * SLACK, out = (size_t)LONG * RESULT_MOST + 2 * SLACK;
    one_case *c = malloc(sizeof *c);
    char *memory = malloc(in + 3 * out);
    tally_status status =
        c && memory ? TALLY_OK : tl_no_memory(ctx, sizeof *c + in + 3 * out, "verifying");
    int64_t done = 0;
    char error[sizeof ctx->error];

    /* picking an operator tries some that do not exist, which sets the error */
    memcpy(error, ctx->error, sizeof error);

    for (; !status && done < cases; done++) {
        *c = (one_case){.ctx = ctx, .seed = seed + (uint64_t)done, .x = memory, .out = memory + in};
        c->want = c->out + out;
        c->dense = c->want + out;
        status = check_case(c);
    }

    free(c);
    free(memory);
    if (!status) memcpy(ctx->error, error, sizeof error);

    if (status)
        snprintf(ctx->report, sizeof ctx->report, "case %ld of %ld: %.200s", done, cases,
                 ctx->error);
    else
        snprintf(ctx->report, sizeof ctx->report,
                 "%ld cases from seed %lu equal the law bit for bit (%s, threads=%d)", cases, seed,
                 tally_isa(ctx), tally_threads(ctx));

    if (report) *report = ctx->report;
    return status;
}

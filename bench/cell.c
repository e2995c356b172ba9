/* SPDX-License-Identifier: MIT
 *
 * cell.c - one cell: its view, its bits beside the truth, then its time and that of its
 * ceilings, in turns.
 */
#include "bench.h"
#include "ceiling.h"
#include "cliffs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 64, TOP = 3, PICK_ROUNDS = 3, CLASSES = 512, MARGIN = 64, TRIES = 3 };
static const double LONG = 0.2; /* seconds of a call that is not tried once more */

/* Arrays are kept from one cell to the next; `at` is a place's memory, `host` its twin (the same
   on a processor). */
typedef struct array {
    char *at, *host;
    size_t bytes;
} array;
static array in_array, out_array, offset_array;
static char *want;
static size_t want_bytes;
static tally_dtype filled; /* what in_array holds */
static struct {
    int in, out, loops, threads, count, best[TOP];
} classes[CLASSES]; /* ceilings are picked once for nearly the same bytes */
static int class_count;

static void drop(place *p, array *a)
{
    if (a->host && a->host != a->at) memory_free(a->host, a->bytes);
    if (a->at) p->free(p, a->at, a->bytes);
    *a = (array){0};
}

static int reserve(place *p, array *a, size_t bytes)
{
    if (bytes <= a->bytes) return 1;
    drop(p, a);
    a->bytes = bytes;
    a->at = p->alloc(p, bytes);
    a->host = p->threads ? a->at : memory_huge(bytes);
    return a->at && a->host;
}

void cell_free(place *p)
{
    drop(p, &in_array);
    drop(p, &out_array);
    drop(p, &offset_array);
    if (want) memory_free(want, want_bytes);
    want = NULL;
    want_bytes = 0;
    filled = (tally_dtype)0;
    class_count = 0;
}

/* ---- the view ---- */

typedef struct work {
    tally_view in, out;  /* in host memory */
    int64_t span, shift; /* elements of the array that the view covers; where it begins */
    tally_window_options window;
    figures *f;
} work;

static int is_first(const char *op)
{
    return !strncmp(op, "first", 5) || !strncmp(op, "nanfirst", 8);
}
static int is_last(const char *op) { return !strncmp(op, "last", 4) || !strncmp(op, "nanlast", 7); }

/* Does the job need the elements? Counts of what cannot be NaN do not, nor does the first of a
   sequence. */
static int reads(const cell *c)
{
    const int floats = c->dtype >= TALLY_F16;
    if (!strcmp(c->op, "count")) return floats;
    if (is_first(c->op)) return c->verb == CLIFF_WINDOW;
    return !is_last(c->op) || c->verb != CLIFF_REDUCE;
}

/* Elements of the view: of results or elements, what takes more memory fills the array. A power of
   two, of whole rows. */
static int64_t elements(const place *p, const cell *c, size_t elem, size_t result)
{
    if (!strncmp(c->size, "2^", 2)) return (int64_t)1 << atoi(c->size + 2);
    double each = (double)(c->cut == CUT_STRIDED ? elem * (size_t)c->length : elem),
           produced = (double)result;
    if (c->verb == CLIFF_REDUCE) {
        const int64_t length = c->cut == CUT_HEAVY                            ? 4
                               : c->cut == CUT_ROWS || c->cut == CUT_SEGMENTS ? c->length
                                                                              : 0;
        produced = length ? produced / (double)length : 0;
    }
    const int slow = !strcmp(c->size, "dram");
    const double bytes = slow ? (double)p->slow : (double)p->fast,
                 unit = slow ? (each > produced ? each : produced) : each + produced;
    int64_t n = 1;
    while ((double)(2 * n) * unit <= bytes) n *= 2;
    return n;
}

static int64_t matrix(const cell *c, int64_t n, int64_t *wide)
{
    *wide = c->length ? c->length : 1;
    while (c->cut == CUT_COLUMNS && *wide > 16 && *wide * 16 > n) *wide /= 2; /* at least 16 rows */
    return n / *wide;
}

static int shape_views(place *p, const cell *c, work *k)
{
    const size_t elem = tally_dtype_size(c->dtype),
                 result = tally_dtype_size(c->info.output) * (size_t)c->info.lanes;
    const tally_dtype d = c->dtype, o = c->info.output;
    int64_t n = elements(p, c, elem, result), wide, rows;
    figures *f = k->f;
    k->shift = c->cut == CUT_MISALIGNED;
    rows = matrix(c, n, &wide);
    switch (c->cut) {
    case CUT_FLAT:
    case CUT_MISALIGNED:
        k->in = tally_flat(NULL, d, n);
        k->out = tally_flat(NULL, o, n);
        break;
    case CUT_STRIDED:
        k->in = (tally_view){NULL, d, 1, n, n * c->length, c->length, NULL};
        k->out = tally_flat(NULL, o, n);
        break;
    case CUT_ROWS:
        k->in = tally_rows(NULL, d, rows, wide);
        k->out = tally_rows(NULL, o, rows, wide);
        n = rows * wide;
        break;
    case CUT_COLUMNS:
        k->in = tally_columns(NULL, d, rows, wide);
        k->out = tally_columns(NULL, o, rows, wide);
        n = rows * wide;
        break;
    case CUT_SEGMENTS:
    case CUT_HEAVY: {
        int64_t count, *offsets = data_offsets(n, c->length, &count);
        const size_t bytes = (size_t)(count + 1) * sizeof *offsets;
        if (!offsets || !reserve(p, &offset_array, bytes)) return free(offsets), 0;
        memcpy(offset_array.host, offsets, bytes);
        free(offsets);
        if (!p->put(p, offset_array.at, offset_array.host, bytes)) return 0;
        k->in = tally_segments(NULL, d, (int64_t *)(void *)offset_array.host, count);
        k->out = tally_segments(NULL, o, (int64_t *)(void *)offset_array.host, count);
        break;
    }
    }
    k->span = c->cut == CUT_STRIDED ? n * c->length : n;
    f->n = n;
    f->results = c->verb == CLIFF_REDUCE ? k->in.rows : n;
    f->in_bytes = reads(c) ? (size_t)k->span * elem : 0;
    f->out_bytes = (size_t)f->results * result;
    k->window = (tally_window_options){c->w - 1, 0, TALLY_EDGES_MISSING, 0};
    const int64_t longest = k->in.offsets ? n : k->in.n;
    return c->verb != CLIFF_WINDOW || c->w <= longest ? 1 : -1;
}

/* The call, on memory that begins at `in` and `out`. */
static tally_status call(tally *ctx, const cell *c, const work *k, char *in, char *out,
                         const void *offsets)
{
    tally_view from = k->in, to = k->out;
    from.data = in + (size_t)k->shift * tally_dtype_size(c->dtype);
    to.data = out;
    if (from.offsets) from.offsets = to.offsets = offsets;
    if (c->verb == CLIFF_REDUCE) return tally_reduce(ctx, c->op, &from, out);
    if (c->verb == CLIFF_SCAN) return tally_scan(ctx, c->op, &from, &to, NULL);
    return tally_window(ctx, c->op, &from, &to, &k->window);
}

/* ---- bits ---- */

static outcome refused(const cell *c, const tally *ctx, tally_status status, figures *f)
{
    snprintf(f->law, sizeof f->law, "%s", tally_status_name(status));
    if (status == TALLY_UNSUPPORTED) return CELL_UNSUPPORTED;
    fprintf(stderr, "cliffs: %s %s %s: %s\n", c->op, c->shape, c->view, tally_error(ctx));
    return CELL_FAILED;
}

static outcome check_bits(place *p, tally *cpu, const cell *c, work *k, double *first)
{
    figures *f = k->f;
    memset(out_array.host, 0x5a, f->out_bytes);
    if (!p->threads && !p->put(p, out_array.at, out_array.host, f->out_bytes)) return CELL_FAILED;
    const double start = now();
    tally_status status = call(p->ctx, c, k, in_array.at, out_array.at, offset_array.at);
    if (status) return refused(c, p->ctx, status, f);
    p->finish(p);
    *first = now() - start;
    if (p->threads) {
        tally_view view = k->in;
        view.data = in_array.host + (size_t)k->shift * tally_dtype_size(c->dtype);
        if (law_check(p->ctx, c, &view, &k->window, out_array.host, f->law, sizeof f->law))
            return CELL_DONE;
        fprintf(stderr, "cliffs: %s %s %s: %s\n", c->op, c->shape, c->view, f->law);
        return CELL_FAILED;
    }
    if (f->out_bytes > want_bytes) {
        if (want) memory_free(want, want_bytes);
        want = memory_huge(want_bytes = f->out_bytes);
    }
    if (!want || !p->get(p, out_array.host, out_array.at, f->out_bytes)) return CELL_FAILED;
    status = call(cpu, c, k, in_array.host, want, offset_array.host);
    if (status) return refused(c, cpu, status, f);
    snprintf(f->law, sizeof f->law, "cpu");
    if (!memcmp(want, out_array.host, f->out_bytes)) return CELL_DONE;
    snprintf(f->law, sizeof f->law, "other bits than the cpu");
    fprintf(stderr, "cliffs: %s %s %s: other bits than the processors'\n", c->op, c->shape,
            c->view);
    return CELL_FAILED;
}

/* ---- time ---- */

typedef struct contest {
    place *p;
    const cell *c;
    const work *k;
    int loop, repeat, failed; /* loop -1: tally */
} contest;

static double run(contest *x)
{
    const figures *f = x->k->f;
    const double start = now();
    if (x->loop >= 0)
        x->p->run(x->p, x->loop, out_array.at, f->out_bytes, in_array.at, f->in_bytes, x->repeat);
    for (int r = 0; r < x->repeat && x->loop < 0; r++)
        if (call(x->p->ctx, x->c, x->k, in_array.at, out_array.at, offset_array.at)) x->failed = 1;
    x->p->finish(x->p);
    return (now() - start) / x->repeat;
}

static double run_loop(void *with, int loop)
{
    contest *x = with;
    x->loop = loop;
    return run(x);
}

/* So many that a batch takes a millisecond. measured: seconds of one, or 0. */
static int repeats(contest *x, double measured)
{
    x->repeat = 1;
    double once = measured >= 1e-3 ? measured : run(x);
    if (once >= 1e-3) return 1;
    x->repeat = 1 + (int)(1e-4 / (once + 1e-9));
    once = run(x);
    return 1 + (int)(1e-3 / (once + 1e-9));
}

/* Bytes to the nearest power of the square root of 2: loops that are best for about as many are
   best. */
static int nearly(size_t bytes) { return bytes ? (int)lrint(2 * log2((double)bytes)) : -1; }

/* The best loops; again: those of these bytes anew, with more rounds. */
static int pick(place *p, const cell *c, const work *k, int again, int *best)
{
    const figures *f = k->f;
    const int in = nearly(f->in_bytes), out = nearly(f->out_bytes),
              count = p->loops(p, f->in_bytes, f->out_bytes);
    int at = 0;
    while (at < class_count && (classes[at].in != in || classes[at].out != out ||
                                classes[at].loops != count || classes[at].threads != c->threads))
        at++;
    if (at == CLASSES) at = class_count = 0;
    if (at == class_count || again) {
        contest x = {p, c, k, 0, 1, 0};
        double seconds[TOP];
        class_count += at == class_count;
        classes[at].in = in;
        classes[at].out = out;
        classes[at].loops = count;
        classes[at].threads = c->threads;
        x.repeat = repeats(&x, 0);
        classes[at].count = ceiling_best(count, run_loop, &x, (1 + again) * PICK_ROUNDS,
                                         classes[at].best, seconds, TOP);
    }
    memcpy(best, classes[at].best, sizeof classes[at].best);
    return classes[at].count;
}

/* The median of v, and how wide its middle half is, as a part of it. v becomes sorted. */
static double middle(double *v, int count, double *spread)
{
    const double m = median(v, count);
    *spread = (v[3 * (count - 1) / 4 + (3 * (count - 1) % 4 != 0)] - v[(count - 1) / 4]) / m;
    return m;
}

/* first: seconds of the first call, which touched what later ones find (and on a GPU compiled:
 * it says nothing of those; one call at a time, with its wait, has cost 20 us more there). */
static int compete(place *p, const cell *c, work *k, int rounds, int again, double first)
{
    static double times[TOP + 1][ROUNDS_MOST];
    contest x[TOP + 1] = {{p, c, k, -1, 1, 0}};
    int best[TOP];
    figures *f = k->f;
    const int loops = pick(p, c, k, again, best);
    for (int i = 0; i < loops; i++) x[i + 1] = (contest){p, c, k, best[i], 1, 0};
    for (int i = 0; i <= loops; i++)
        x[i].repeat = repeats(&x[i], i || first < LONG || !p->threads ? 0 : first);
    if (x[0].repeat > 1) rounds *= 2; /* short: a time slice is longer than a batch */
    if (rounds > ROUNDS_MOST) rounds = ROUNDS_MOST;
    const double begin = now();
    int done = 0;
    while (done < rounds && (done < 3 || now() - begin < 1.5)) {
        for (int i = 0; i <= loops; i++) times[i][done] = run(&x[i]);
        done++;
    }
    f->seconds = middle(times[0], done, &f->spread);
    f->ceiling = 1e300;
    for (int i = 1; i <= loops; i++) {
        double spread;
        const double m = middle(times[i], done, &spread);
        if (m >= f->ceiling) continue;
        f->ceiling = m;
        f->ceiling_spread = spread;
        snprintf(f->loop, sizeof f->loop, "%s", p->name(p, best[i - 1]));
    }
    return !x[0].failed && loops > 0;
}

outcome cell_measure(place *p, tally *cpu, const cell *c, int rounds, figures *f)
{
    work k = {.f = f};
    *f = (figures){0};
    if (c->verb == CLIFF_REDUCE && !reads(c)) return CELL_NOTHING;
    const int views = shape_views(p, c, &k);
    if (views < 0) return CELL_NOTHING;
    const size_t need = (size_t)(k.span + k.shift) * tally_dtype_size(c->dtype) + MARGIN;
    const size_t before = in_array.bytes;
    if (!views || !reserve(p, &in_array, need) || !reserve(p, &out_array, f->out_bytes + MARGIN)) {
        fprintf(stderr, "cliffs: no memory for %lld elements of %s\n", (long long)f->n,
                tally_dtype_name(c->dtype));
        return CELL_FAILED;
    }
    if (filled != c->dtype || in_array.bytes != before) {
        data_fill(in_array.host, in_array.bytes, c->dtype);
        if (!p->threads && !p->put(p, in_array.at, in_array.host, in_array.bytes))
            return CELL_FAILED;
        filled = c->dtype;
    }
    double first = 0;
    const outcome bits = check_bits(p, cpu, c, &k, &first);
    if (bits != CELL_DONE) return bits;
    /* faster than its ceiling: either it is none, or a noisy moment chose it */
    for (int again = 0; again < TRIES; again++)
        if (!compete(p, c, &k, rounds, again, first))
            return CELL_FAILED;
        else if (f->ceiling / f->seconds <= CLIFF_ABOVE)
            break;
    return CELL_DONE;
}

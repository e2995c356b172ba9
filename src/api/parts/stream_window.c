/* SPDX-License-Identifier: MIT
 * Windows of streams. The steps that windows still need are stored, followed by pushed steps, and
 * the windows are computed on that:
 *
 *    steps stored    first ............ n - 1        one element of each sequence per step
 *    results         given ... n - 1 - after         their windows are complete
 *
 * From result number `before` on, windows are full under every rule for edges. Earlier results
 * need the beginning of the sequences, and the results of the finish need their end. Of a long push
 * only the first and the last w - 1 steps are stored; the windows that lie in it read it in place:
 *
 *    stored steps ++ first w - 1 of the push     the windows that begin in the stored steps
 *    the push itself                             the windows that begin in it */
#include "context/view.h"
#include "cpu/shape.h"
#include "law/fp.h"
#include "parts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tl_steps {
    char *x[2];           /* the elements of each input, in the operator's type */
    unsigned char *valid; /* a byte per element, 1 if it is valid; NULL: all are valid */
    int64_t first, held_count, capacity;
};

static int64_t elem(const tally_stream *s) { return s->plan.op->elem_bytes; }

void tl_steps_close(struct tl_steps *k)
{
    if (!k) return;
    free(k->x[0]);
    free(k->x[1]);
    free(k->valid);
    free(k);
}

/* Makes space for n more steps. */
static tally_status reserve(tally_stream *s, int64_t n)
{
    assert(n >= 0);
    struct tl_steps *k = s->steps;
    const int64_t capacity = k->held_count + n;
    int64_t bytes;
    if (capacity <= k->capacity) return TALLY_OK;

    int failed = __builtin_mul_overflow(capacity, s->rows * elem(s), &bytes);
    for (int i = 0; i < s->plan.op->inputs && !failed; i++)
        failed = tl_grow(s->ctx, &k->x[i], (size_t)bytes + 1, "steps") != TALLY_OK;
    if (!failed && k->valid)
        failed = tl_grow(s->ctx, &k->valid, (size_t)(capacity * s->rows) + 1, "steps") != TALLY_OK;

    if (failed)
        return tl_fail(s->ctx, TALLY_NO_MEMORY, "out of memory: %ld steps cannot be kept",
                       capacity);
    k->capacity = capacity;
    return TALLY_OK;
}

/* Adds a validity byte to all stored elements, because a push has validity. */
static tally_status add_valid(tally_stream *s)
{
    struct tl_steps *k = s->steps;
    if (k->valid) return TALLY_OK;
    k->valid = malloc((size_t)(k->capacity * s->rows) + 1);
    if (!k->valid)
        return tl_no_memory(s->ctx, (size_t)(k->capacity * s->rows), "validity of steps");
    memset(k->valid, 1, (size_t)(k->held_count * s->rows));
    return TALLY_OK;
}

/* Stores steps at .. at + n - 1 of a checked view after the stored steps. */
static tally_status store_steps(tally_stream *s, const tally_view *in, int64_t at, int64_t n)
{
    assert(at >= 0 && n >= 0 && at + n <= in->n);
    struct tl_steps *k = s->steps;
    const tl_form form = {TL_FORM_STATES, s->plan.op, s->plan.op, s->plan.par, 0};
    const int64_t cells = n * s->rows;
    tally_view part = *in, next = in->next ? *in->next : *in;
    TL_GATHERED(dense);
    TL_GATHERED(counts);
    if (tl_has_absent(in)) TL_TRY(add_valid(s));
    TL_TRY(reserve(s, n));

    if (s->rows == 1 && !tl_has_inputs(in) && !k->valid) {
        tl_copy_strided(k->x[0] + k->held_count * elem(s), 1,
                        (const char *)in->data + at * in->stride * elem(s), in->stride, n, elem(s));
        k->held_count += n;
        return TALLY_OK;
    }

    for (int i = 0; i < 2; i++) {
        tally_view *const v = i ? &next : &part;
        *v = tl_view_part(v, at, n, tl_element_bytes(v));
        if (s->rows > 1) *v = tl_view_transposed(v);
    }

    part.next = in->next ? &next : NULL;
    TL_TRY(tl_gather_dense(s->ctx, &form, &part, &s->plan, 0, &dense));
    if (k->valid) TL_TRY(tl_gather_numbers(s->ctx, &form, &part, &s->plan, 0, &counts));
    for (int i = 0; i < s->plan.op->inputs; i++)
        memcpy(k->x[i] + k->held_count * s->rows * elem(s), (i ? dense.second : dense.view).data,
               (size_t)(cells * elem(s)));

    if (k->valid) {
        const float *const there = counts.view.data; /* NaN: absent */
        for (int64_t i = 0; i < cells; i++)
            k->valid[k->held_count * s->rows + i] = there[i] == there[i];
    }

    k->held_count += n;
    return TALLY_OK;
}

/* Removes the steps before the window of result number `centre`. */
static void drop_steps(tally_stream *s, int64_t centre)
{
    struct tl_steps *k = s->steps;
    const int64_t first = centre - s->window.before, gone = first - k->first;
    if (gone <= 0) return;

    k->held_count -= gone;
    k->first = first;
    for (int i = 0; i < s->plan.op->inputs; i++)
        memmove(k->x[i], k->x[i] + gone * s->rows * elem(s),
                (size_t)(k->held_count * s->rows * elem(s)));
    if (k->valid) memmove(k->valid, k->valid + gone * s->rows, (size_t)(k->held_count * s->rows));
}

/* Computes windows of a view of host memory, which may be changed. The caller uses the results in
 * `used`. */
static tally_status run_windows(tally_stream *s, tally_view *in, const tl_ranges *used,
                                const tally_view *out)
{
    tally_view to = *out;
    const tl_call call = {.verb = TL_WINDOW,
                          .plan = &s->plan,
                          .count = &s->count_plan,
                          .in = in,
                          .out = &to,
                          .window = used->o};
    int done = 0;
    if (s->is_checked) TL_TRY(tl_check_sums(s->ctx, "sum:checked", &call, used));

    if (tl_has_inputs(in)) {
        s->device->on_processors += s->rows * used->results;
        return tl_inputs_run(s->ctx, s->plan.op->file, &call, NULL);
    }
    tl_view_normal(in);
    tl_view_normal(&to);

    /* few elements are not worth a copy to a device */
    if (s->rows == 1 && in->n * elem(s) >= s->device->least_bytes)
        TL_TRY(s->device->calls->run(s->device, s->ctx, &call, &done));
    if (done) return TALLY_OK;
    s->device->on_processors += s->rows * used->results;
    return tl_run(s->ctx, tally_threads(s->ctx), &call);
}

/* Computes windows of the first used->n stored steps. */
static tally_status run_stored(tally_stream *s, const tl_ranges *used, const tally_view *out)
{
    const struct tl_steps *k = s->steps;
    const int64_t n = used->n, cells = n * s->rows;
    tally_view in = {k->x[0], s->plan.op->dtype, s->rows, n, 1, s->rows}, next = in;
    TL_FREED unsigned char *bits = NULL;

    if (s->plan.op->inputs == 2) {
        next.data = k->x[1];
        in.next = &next;
    }

    if (k->valid && memchr(k->valid, 0, (size_t)cells)) {
        bits = calloc((size_t)cells / 8 + 1, 1);
        if (!bits) return tl_no_memory(s->ctx, (size_t)cells / 8 + 1, "validity of steps");
        for (int64_t i = 0; i < cells; i++) tl_set_bit(bits, i, k->valid[i]);
        in.valid = bits;
    }

    return run_windows(s, &in, used, out);
}

/* The next results of n steps; the window of the first one has its centre at step `first`. */
static tl_ranges ranges_of(const tally_stream *s, const tally_window_options *o, int64_t n,
                           int64_t first, int64_t results)
{
    return (tl_ranges){.o = o,
                       .n = n,
                       .results = results,
                       .first = first,
                       .step = 1,
                       .min_count = o->min_count,
                       .number = s->given};
}

/* Computes results a .. b - 1, some of whose windows are not full, from all steps up to `end`. */
static tally_status run_edge(tally_stream *s, int64_t a, int64_t b, int64_t end,
                             const tally_view *out)
{
    const int64_t bytes = s->plan.op->result_bytes, first = s->steps->first, n = end - first;
    if (a >= b) return TALLY_OK;
    TL_FREED char *const results = malloc((size_t)(n * s->rows * bytes) + 1);
    if (!results) return tl_no_memory(s->ctx, (size_t)(n * s->rows * bytes), "windows at an edge");
    const tally_view whole_view = {results, s->plan.op->out, s->rows, n, 1, s->rows};
    const tl_ranges used = ranges_of(s, &s->window, n, a - first, b - a);
    TL_TRY(run_stored(s, &used, &whole_view));
    for (int64_t i = a; i < b; i++)
        tl_copy_strided((char *)out->data + (i - a) * out->stride * bytes, out->row_stride,
                        results + (i - first) * s->rows * bytes, 1, s->rows, bytes);
    return TALLY_OK;
}

static int64_t next_centre(const tally_stream *s)
{
    return s->given + (s->window.edges == TALLY_EDGES_VALID ? s->window.before : 0);
}

int64_t tl_steps_known(const tally_stream *s, int64_t n)
{
    const int64_t length =
        n < 0 ? tally_window_length(s->pushed, &s->window)
              : s->pushed + n - (s->window.edges == TALLY_EDGES_VALID ? s->kept : s->window.after);
    return tl_max(length - s->given, 0);
}

/* Computes the results that are complete with the steps up to `end`. */
static tally_status compute_known(tally_stream *s, int64_t end, const tally_view *out)
{
    const int64_t bytes = s->plan.op->result_bytes, a = next_centre(s),
                  b = tl_max(a, end - s->window.after),
                  middle = tl_min(tl_max(a, s->window.before), b);
    tally_window_options full = s->window;

    full.edges = TALLY_EDGES_VALID;
    TL_TRY(run_edge(s, a, middle, tl_min(middle + s->window.after, end), out));
    if (middle < b) {
        const tally_view to = tl_view_part(out, middle - a, b - middle, bytes);
        tl_ranges used = ranges_of(s, &full, b - middle + s->kept, full.before, b - middle);
        used.number += middle - a;
        assert(s->steps->first == middle - s->window.before);
        TL_TRY(run_stored(s, &used, &to));
    }

    s->given += b - a;
    drop_steps(s, b);
    return TALLY_OK;
}

tally_status tl_steps_open(tally_stream *s)
{
    s->steps = calloc(1, sizeof *s->steps);
    return s->steps ? TALLY_OK : tl_no_memory(s->ctx, sizeof *s->steps, "a stream");
}

/* Does a push of more than 2 (w - 1) steps. */
static tally_status push_in_place(tally_stream *s, const tally_view *in, const tally_view *out)
{
    const int64_t bytes = s->plan.op->result_bytes, given = s->given, n = in->n, kept = s->kept;
    tally_window_options full = s->window;
    tally_view whole_view = *in, next;
    if (kept) TL_TRY(store_steps(s, in, 0, kept));
    TL_TRY(compute_known(s, s->pushed + kept, out));

    full.edges = TALLY_EDGES_VALID;
    if (in->next) next = *in->next, whole_view.next = &next;
    const tl_ranges used = ranges_of(s, &full, n, full.before, n - kept);
    const tally_view to = tl_view_part(out, s->given - given, n - kept, bytes);
    TL_TRY(run_windows(s, &whole_view, &used, &to));

    s->given += n - kept;
    s->steps->held_count = 0;
    s->steps->first = s->pushed + n - kept;
    return kept ? store_steps(s, in, n - kept, kept) : TALLY_OK;
}

tally_status tl_steps_push(tally_stream *s, const tally_view *in, const tally_view *out)
{
    assert(s->verb == TL_WINDOW);
    assert(in->rows == s->rows);
    tally_status status = TALLY_OK;
    TL_LAW_FP;
    if (out->n && in->n > 2 * s->kept) {
        status = push_in_place(s, in, out);
    } else {
        if (in->n) status = store_steps(s, in, 0, in->n);
        if (!status && out->n) status = compute_known(s, s->pushed + in->n, out);
    }

    s->broken = status != TALLY_OK;
    return status;
}

tally_status tl_steps_finish(tally_stream *s, const tally_view *out)
{
    assert(s->verb == TL_WINDOW);
    const int64_t a = next_centre(s), n = tl_steps_known(s, -1);
    if (!n || !s->rows) return TALLY_OK;
    TL_LAW_FP;
    return run_edge(s, a, a + n, s->pushed, out);
}

/* SPDX-License-Identifier: MIT
 * Windows with the rules of pandas: a NaN is not an observation, and a window with fewer than
 * `minimum` observations gives NaN, also if the operator's own empty value is a number (0 for a
 * sum). Results are float64 (float32 on request).
 *
 * If the data has no NaN, which one pass finds out, the plain operator runs, and a window's
 * position gives its number of observations. Else the nan form runs. If its own empty value is NaN,
 * the library applies `minimum`; else windows of `count` give these numbers. Of two arrays an
 * observation is a pair without a NaN. The rows of a window are a fixed number around its row, or
 * those from start to end.
 *
 * Arrays of PyTorch and CuPy on a device are reduced there: their libraries set results to NaN
 * (run_there). Those of other libraries are reduced there if the window itself shows
 * which results are NaN (run_on_device). Else, and for two arrays and windows of times, the data is
 * copied to host memory, and the results back. */
#include "pt.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    pt_verb verb, plain, count; /* the nan form; the operator itself; count of observations */
    /* pairs: a byte for each pair of two arrays, 1 if it is an observation */
    pt_operand a, b, pairs;
    const pt_operand *next;     /* NULL, or &b */
    const int64_t *start, *end; /* NULL, or the rows of each window */
    int axis;
    int64_t before, after, minimum, step; /* after may be -1: the window ends before its own row */
    /* elements that a window needs to have a value: minimum, or 1 if the empty value is NaN */
    int64_t least;
    double missing; /* the value of other windows */
    /* every row is an observation: there is no NaN, or the operator is count() with the rule of
     * pandas */
    int all_observed;
    int is_window; /* the verb window gives the results; verb and count are not set */
    tally_dtype wanted;
} rolling;

/* Whether the operator's empty value for this type is NaN. *value: that value, or 0 if it is not
 * a float. */
static int empty_is_nan(tally *ctx, const char *op, tally_dtype dtype, double *value)
{
    char bits[64];
    tally_operator_info info;
    tally_view none = {.dtype = dtype, .rows = 1, .stride = 1}, second = none;
    *value = 0;
    if (tally_operator(ctx, op, dtype, &info)) return 0;
    if (info.inputs == 2) none.next = &second;
    if (tally_reduce(ctx, op, &none, bits)) return 0;
    *value = pt_real(info.output, bits, 0);
    return isnan(*value);
}

static void set_window(pt_verb *verb, const rolling *r)
{
    verb->what = r->start ? PT_RANGES : PT_WINDOW;
    verb->start = r->start;
    verb->end = r->end;
    if (r->start) return;
    verb->shift = r->after < 0;
    verb->window = (tally_window_options){r->before - verb->shift, r->after + verb->shift,
                                          TALLY_EDGES_SHRINK, 0};
}

/* Makes an operand of dense memory with a's shape. */
static void dense_like(const pt_operand *a, tally_dtype dtype, char *data, pt_operand *dense)
{
    int64_t reach = (int64_t)tally_dtype_size(dtype);
    *dense =
        (pt_operand){.data = data, .dtype = dtype, .ndim = a->ndim, .size = a->size, .device = -1};
    for (int i = a->ndim - 1; i >= 0; i--) {
        dense->shape[i] = a->shape[i];
        dense->strides[i] = reach;
        reach *= a->shape[i];
    }
}

static tally_status windows(tally *ctx, const rolling *r, const pt_verb *verb, const pt_operand *a,
                            char **data)
{
    pt_operand dense;
    *data = malloc((size_t)(r->a.size * verb->out_bytes + 1));
    if (!*data) return TALLY_NO_MEMORY;
    dense_like(&r->a, verb->info.output, *data, &dense);
    return pt_walk_series(ctx, verb, a, r->axis, &dense);
}

/* The number of rows in the window of row i. */
static int64_t rows_at(const rolling *r, int64_t i)
{
    if (r->start) return r->end[i] - r->start[i];
    int64_t n = r->a.shape[r->axis], low = i - r->before, high = i + r->after;
    return (high < n ? high : n - 1) - (low > 0 ? low : 0) + 1;
}

/* Sets the rows of a block whose windows have too few rows to NaN, from `first` in steps of
 * `step` until a window has enough; of windows from start to end, which may be anywhere, all. */
static void blank_rows(const rolling *r, char *block, int64_t first, int64_t step, int64_t inner)
{
    for (int64_t i = first; i >= 0 && i < r->a.shape[r->axis]; i += step) {
        const int enough = rows_at(r, i) >= r->least;
        if (enough && !r->start) return;
        for (int64_t k = i * inner; k < (i + 1) * inner && !enough; k++)
            if (r->wanted == TALLY_F32)
                ((float *)(void *)block)[k] = (float)r->missing;
            else
                ((double *)(void *)block)[k] = r->missing;
    }
}

/* Sets results in `out` with too few observations to NaN. Without counts these have too few rows. */
static void blank(const rolling *r, const int64_t *counts, char *out)
{
    int64_t inner = 1, n = r->a.shape[r->axis], bytes = (int64_t)tally_dtype_size(r->wanted);
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    if (!counts) {
        for (int64_t at = 0; at < r->a.size; at += n * inner) {
            blank_rows(r, out + at * bytes, 0, 1, inner);
            if (!r->start) blank_rows(r, out + at * bytes, n - 1, -1, inner);
        }
    } else if (r->wanted == TALLY_F32) {
        float *to = (void *)out, missing = (float)r->missing;
        for (int64_t i = 0; i < r->a.size; i++) to[i] = counts[i] < r->least ? missing : to[i];
    } else {
        double *to = (void *)out;
        for (int64_t i = 0; i < r->a.size; i++) to[i] = counts[i] < r->least ? r->missing : to[i];
    }
}

/* Is element i of one sequence of float64 or float32 a number? */
static inline int is_number(const pt_operand *a, int64_t i, int single)
{
    const char *const at = a->data + i * a->strides[0];
    float f;
    double d;
    if (single) return memcpy(&f, at, sizeof f), f == f;
    return memcpy(&d, at, sizeof d), d == d;
}

/* Sets results of one sequence with too few observations to NaN. Observations are counted as the
 * window slides, which reads no second array. */
static inline void blank_sliding(const rolling *r, char *out, int single)
{
    const int64_t n = r->a.shape[0];
    int64_t count = 0;
    for (int64_t i = 0; i < r->after && i < n; i++) count += is_number(&r->a, i, single);
    for (int64_t i = 0; i < n; i++) {
        const int64_t enters = i + r->after, leaves = i - r->before - 1;
        if (enters >= 0 && enters < n) count += is_number(&r->a, enters, single);
        if (leaves >= 0) count -= is_number(&r->a, leaves, single);
        if (count >= r->least) continue;
        if (r->wanted == TALLY_F32)
            ((float *)(void *)out)[i] = (float)r->missing;
        else
            ((double *)(void *)out)[i] = r->missing;
    }
}

/* Writes the requested results from values (NULL: all missing) and counts (NULL: numbers of
 * rows). */
static void write_results(const rolling *r, const pt_verb *verb, const char *values,
                          const int64_t *counts, char *out)
{
    int64_t inner = 1, n = r->a.shape[r->axis], to = 0;
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    for (int64_t block = 0; block < r->a.size; block += n * inner)
        for (int64_t i = 0; i < n; i += r->step)
            for (int64_t k = 0; k < inner; k++, to++) {
                int64_t from = block + i * inner + k;
                int missing = !values || (counts ? counts[from] : rows_at(r, i)) < r->least;
                double value = missing ? r->missing : pt_real(verb->info.output, values, from);
                if (r->wanted == TALLY_F32)
                    ((float *)(void *)out)[to] = (float)value;
                else
                    ((double *)(void *)out)[to] = value;
            }
}

/* Clears the byte of each element that is not an observation, in C order. `to` points to bytes of
 * 1. */
static void mark_pairs(const pt_operand *a, int axis, const char *at, uint8_t **to)
{
    if (axis < a->ndim) {
        for (int64_t i = 0; i < a->shape[axis]; i++)
            mark_pairs(a, axis + 1, at + i * a->strides[axis], to);
        return;
    }
    **to &= (uint8_t)(!pt_is_nan(a->dtype, at) &&
                      pt_is_valid(a, (at - a->data) / (int64_t)tally_dtype_size(a->dtype)));
    ++*to;
}

static tally_status find_pairs(rolling *r)
{
    uint8_t *bytes = malloc((size_t)r->a.size + 1), *at = bytes;
    if (!bytes) return TALLY_NO_MEMORY;
    dense_like(&r->a, TALLY_U8, (char *)bytes, &r->pairs);
    r->pairs.copy = bytes;
    memset(bytes, 1, (size_t)r->a.size);
    mark_pairs(&r->a, 0, r->a.data, &at);
    at = bytes;
    mark_pairs(r->next, 0, r->next->data, &at);
    r->all_observed = !memchr(bytes, 0, (size_t)r->a.size);
    return pt_went_on(r->a.size);
}

/* Checks whether every element is an observation. */
static tally_status find_nan(tally *ctx, rolling *r)
{
    int64_t numbers = 0;
    if (!r->all_observed && r->next && r->a.size) return find_pairs(r);
    if (r->all_observed || (r->a.dtype < TALLY_F16 && !r->a.valid)) {
        r->all_observed = 1;
        return pt_went_on(r->a.size);
    }
    tally_status status = pt_walk_reduce(ctx, &r->count, &r->a, ~(uint64_t)0, (char *)&numbers);
    r->all_observed = numbers == r->a.size;
    return status;
}

/* ---- finding a NaN in the results ----
 * With an operator whose result is NaN if an element is NaN, results that are still in a cache
 * show whether there is a NaN, faster than the elements do. A few results suffice, whose adjacent
 * windows contain all elements:
 *
 *  elements  . . . . . . . . . . .        results  . . r . . r . . r . r       (windows of 3)
 *
 * If one of these is NaN, it may also come from inf - inf: then the elements are read after all.
 * If there are many NaNs, or early ones, checking the first elements avoids computing windows in
 * vain. */

enum { CACHED = 1 << 22 }; /* bytes */

/* Whether the operator itself gives NaN for floats of which one is NaN. */
static int keeps_nan(const rolling *r)
{
    static const char *const names[] = {"sum", "mean", "min", "max", "prod", "var", "std"};
    const char *op = r->plain.op;
    const size_t length = strcspn(op, ":");
    if (r->a.dtype < TALLY_F16 || strstr(op, ":exact")) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !strncmp(op, names[i], length)) return 1;
    return 0;
}

/* Whether it gives results of the wanted type, on rows. */
static int shows_nan(const rolling *r)
{
    /* the library bypasses the caches for larger results */
    if (r->a.size * (int64_t)tally_dtype_size(r->wanted) >= CACHED) return 0;
    return !(r->all_observed || r->next || r->start || r->step != 1 || r->a.valid || r->after < 0 ||
             r->before < 0 || r->minimum < 1 || r->minimum > r->before + r->after + 1 ||
             r->plain.info.output != r->wanted) &&
           keeps_nan(r);
}

/* Whether there is a NaN in the results whose windows contain all elements. */
static int results_have_nan(const rolling *r, const char *out)
{
    const int64_t n = r->a.shape[r->axis], w = r->before + r->after + 1;
    int64_t inner = 1;
    int nan = 0;
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    for (int64_t block = 0; block < r->a.size && !nan; block += n * inner)
        for (int64_t first = 0; first < n; first += w) {
            const int64_t row = (first + r->before < n ? first + r->before : n - 1) * inner + block;
            for (int64_t i = row; i < row + inner; i++)
                nan |= r->wanted == TALLY_F32 ? isnan(((const float *)(const void *)out)[i])
                                              : isnan(((const double *)(const void *)out)[i]);
        }
    return nan;
}

/* Computes the windows with the operator itself. *good: 1 if there is no NaN, so that these are
 * the results; 0 if there may be one. */
static tally_status try_plain(tally *ctx, rolling *r, const pt_operand *out, int *good)
{
    enum { FIRST = 1024, WORTH = 8192 };
    int64_t numbers;
    *good = 0;
    if (r->a.ndim == 1 && r->a.size >= WORTH && pt_even(&r->a, pt_bytes(&r->a))) {
        const tally_view first = pt_view(&r->a, r->a.data, 1, FIRST, 0, r->a.strides[0]);
        const tally_status status = tally_reduce(ctx, r->count.op, &first, &numbers);
        if (status || numbers < FIRST) return status;
    }
    set_window(&r->plain, r);
    const tally_status status = pt_walk_series(ctx, &r->plain, &r->a, r->axis, out);
    *good = !status && !results_have_nan(r, out->data);
    return status;
}

/* Computes all results, without the GIL. out is dense. */
static tally_status run(tally *ctx, rolling *r, pt_operand *out)
{
    char *values = NULL, *counts = NULL;
    int folded = 0;
    tally_status status = r->a.size && shows_nan(r) ? try_plain(ctx, r, out, &folded) : TALLY_OK;
    if (!status && folded) {
        r->all_observed = 1;
        status = pt_went_on(r->a.size);
    } else if (!status) {
        status = find_nan(ctx, r);
    }
    pt_verb *verb = r->all_observed ? &r->plain : &r->verb;
    int64_t length = r->start ? INT64_MAX : r->before + r->after + 1;
    /* the empty value of floats, also for integers, which have no NaN */
    double nothing = 0;
    const int empty =
        (r->minimum == 0 || length <= 0) &&
        empty_is_nan(ctx, verb->op, r->a.dtype < TALLY_F16 ? TALLY_F64 : r->a.dtype, &nothing);
    int direct = verb->info.output == r->wanted && r->step == 1;
    r->least = empty && r->minimum == 0 ? 1 : r->minimum;
    r->missing = length <= 0 && r->least == 0 ? nothing : NAN;
    if (status || !r->a.size) return status;
    /* the library applies the least number of observations */
    const int counts_there = (r->start || !r->all_observed) && !r->next && r->least > 0 &&
                             empty_is_nan(ctx, verb->op, r->a.dtype, &nothing);
    const int slides = direct && !r->all_observed && !r->next && r->least > 0 && !counts_there &&
                       r->a.ndim == 1 && !r->a.valid && !r->start &&
                       (r->a.dtype == TALLY_F32 || r->a.dtype == TALLY_F64);
    if (length > 0 && r->least <= length) {
        set_window(verb, r);
        if (counts_there) verb->window.min_count = verb->least = r->least;
        set_window(&r->count, r);
        if (!folded)
            status = direct ? pt_walk_series(ctx, verb, &r->a, r->axis, out)
                            : windows(ctx, r, verb, &r->a, &values);
        if (!status && slides) {
            pt_more(r->a.size);
            status = pt_went_on(r->a.size);
        } else if (!status && !r->all_observed && r->least > 0 && !counts_there) {
            pt_more(r->a.size);
            status = windows(ctx, r, &r->count, r->next ? &r->pairs : &r->a, &counts);
        }
    } else {
        direct = 0;
    }
    const int64_t *observed = (const void *)counts;
    if (!status && slides && direct && r->a.dtype == TALLY_F32)
        blank_sliding(r, out->data, 1);
    else if (!status && slides && direct)
        blank_sliding(r, out->data, 0);
    else if (!status && direct && r->least > 0 && !(counts_there && r->start))
        blank(r, observed, out->data);
    else if (!status && !direct)
        write_results(r, verb, values, observed, out->data);
    free(values);
    free(counts);
    return status;
}

/* ---- on a device, with the help of the array's library ---- */

/* An array of the device, made for one call. */
typedef struct {
    pt_operand a;
    PyObject *object; /* NULL: none */
} temporary;

static int make_temporary(const rolling *r, tally_dtype dtype, temporary *t)
{
    return pt_make(&r->a, dtype, 0, r->a.ndim, r->a.shape, &t->a, &t->object);
}

static void close_temporary(temporary *t)
{
    if (t->object) pt_close(&t->a);
    Py_CLEAR(t->object);
}

/* The results at the ends whose windows have too few rows. */
static int blank_ends(const rolling *r, PyObject *out)
{
    const int64_t rows = (r->a.shape[r->axis] + r->step - 1) / r->step;
    int64_t first = 0, last = 0;
    while (first < rows && rows_at(r, first * r->step) < r->least) first++;
    while (last < rows - first && rows_at(r, (rows - 1 - last) * r->step) < r->least) last++;
    PyObject *const value = PyFloat_FromDouble(NAN);
    const int failed = pt_fill_ends(out, r->axis, first, last, value);
    Py_XDECREF(value);
    return failed;
}

/* Finishes the results: takes every step-th value, and sets those with too few observations to
 * NaN. */
static int finish_there(const rolling *r, const temporary *values, const temporary *counts,
                        PyObject *out)
{
    PyObject *const none = Py_None;
    PyObject *done = values->object || counts->object
                         ? PyObject_CallFunction(pt_finish_helper, "OOOiLL", out,
                                                 values->object ? values->object : none,
                                                 counts->object ? counts->object : none, r->axis,
                                                 (long long)r->step, (long long)r->least)
                         : Py_NewRef(none);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* least: the fewest observations of a window, where the operator's empty value is NaN; else 0. */
static tally_status walk_there(pt_slot *slot, rolling *r, int64_t least, const pt_operand *values,
                               const pt_operand *counts)
{
    pt_verb *const verb = r->all_observed ? &r->plain : &r->verb;
    tally_status status = pt_stream_begin(slot);
    set_window(verb, r);
    set_window(&r->count, r);
    if (r->all_observed && least == r->before + r->after + 1)
        verb->window.edges = TALLY_EDGES_MISSING;
    else if (least > 1)
        verb->window.min_count = least;
    if (!status) status = pt_walk_series(slot->ctx, verb, &r->a, r->axis, values);
    if (!status && counts) status = pt_walk_series(slot->ctx, &r->count, &r->a, r->axis, counts);
    return pt_stream_end(slot, status);
}

/* Whether one stride visits all elements. */
static int has_one_stride(const pt_operand *a)
{
    pt_dim dim[PT_DIMS];
    for (int i = 0; i < a->ndim; i++) dim[i] = (pt_dim){.n = a->shape[i], .in = a->strides[i]};
    return pt_even(a, pt_bytes(a)) && pt_join(dim, a->ndim) <= 1;
}

/* Whether the operator itself gives the results: every row is an observation, or NaN is the result
 * of a window with one. In a large array a pass looks for NaN, and the call waits for what it
 * finds: the windows of nan forms take longer. */
static int find_rows(pt_slot *slot, rolling *r)
{
    enum { LARGE = 1 << 20 };
    r->all_observed |= r->is_window || (r->a.dtype < TALLY_F16 && !r->a.valid);
    r->all_observed = r->all_observed || (r->minimum == r->before + r->after + 1 && keeps_nan(r));
    if (r->all_observed || r->a.size < LARGE || !has_one_stride(&r->a)) return 0;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
    if (!status) status = find_nan(slot->ctx, r);
    status = pt_stream_end(slot, status);
    Py_END_ALLOW_THREADS return status ? pt_raise(slot->ctx, status) : 0;
}

/* Computes on the device. other: a context that knows operators' empty values; using it does not
 * disturb the stream. */
static int run_there(pt_slot *slot, tally *other, rolling *r, pt_operand *out, PyObject *object)
{
    double nothing;
    temporary values, counts;
    values.object = counts.object = NULL;
    int failed = find_rows(slot, r);
    if (failed) return failed;
    const pt_verb *const verb = r->all_observed ? &r->plain : &r->verb;
    const int empty = r->is_window || empty_is_nan(other, verb->op, r->a.dtype, &nothing);
    r->least = empty && r->minimum == 0 ? 1 : r->minimum;
    if (verb->info.output != r->wanted || r->step != 1)
        failed = make_temporary(r, verb->info.output, &values);
    if (!failed && !r->all_observed && !empty && r->least > 0)
        failed = make_temporary(r, TALLY_I64, &counts);
    if (!failed) {
        const pt_operand *const to = values.object ? &values.a : out;
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status =
            walk_there(slot, r, empty ? r->least : 0, to, counts.object ? &counts.a : NULL);
        Py_END_ALLOW_THREADS failed = status ? pt_raise(slot->ctx, status) : 0;
    }
    if (!failed) failed = finish_there(r, &values, &counts, object);
    if (!failed && r->all_observed && !empty && r->least > 0) failed = blank_ends(r, object);
    close_temporary(&values);
    close_temporary(&counts);
    return failed;
}

/* ---- on a device, of any library ---- */

/* Sets results on a device to NaN if their windows, at the ends, have too few rows. There are
 * `blocks` of n rows of `inner` elements. */
static tally_status blank_on_device(tally *ctx, const rolling *r, char *out, int64_t blocks,
                                    int64_t inner)
{
    const int64_t n = r->a.shape[r->axis], bytes = (int64_t)tally_dtype_size(r->wanted);
    int64_t first = 0, last = 0;
    while (first < n && rows_at(r, first) < r->least) first++;
    while (last < n - first && rows_at(r, n - 1 - last) < r->least) last++;
    const int64_t most = first > last ? first : last;
    char *const none = malloc((size_t)(most * inner * bytes + 1));
    tally_status status = none ? TALLY_OK : TALLY_NO_MEMORY;
    for (int64_t i = 0; !status && i < most * inner; i++)
        if (r->wanted == TALLY_F32)
            ((float *)(void *)none)[i] = NAN;
        else
            ((double *)(void *)none)[i] = NAN;
    for (int64_t b = 0; !status && b < blocks; b++, out += n * inner * bytes) {
        if (first) status = tally_copy(ctx, out, none, (size_t)(first * inner * bytes));
        if (!status && last)
            status = tally_copy(ctx, out + (n - last) * inner * bytes, none,
                                (size_t)(last * inner * bytes));
    }
    free(none);
    return status;
}

/* Computes on the device, if possible (*done). Windows with too few observations get the
 * operator's empty value. If that is not NaN, there must be no such windows, or the numbers of
 * rows alone must show which they are. */
static tally_status run_on_device(pt_slot *slot, rolling *r, const pt_operand *out, int *done)
{
    enum { FEW = 64 }; /* the most blocks, each of which takes two copies */
    double nothing;
    int64_t inner = 1;
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    const int64_t blocks = r->a.size / (r->a.shape[r->axis] * inner);
    tally_status status = pt_stream_begin(slot);
    if (!status) status = find_nan(slot->ctx, r);
    pt_verb *const verb = r->all_observed ? &r->plain : &r->verb;
    const int empty = !status && empty_is_nan(slot->ctx, verb->op, r->a.dtype, &nothing);
    r->least = empty && r->minimum == 0 ? 1 : r->minimum;
    *done = verb->info.output == r->wanted &&
            (empty || r->least == 0 || (r->all_observed && blocks <= FEW));
    if (!status && *done) {
        set_window(verb, r);
        verb->window.min_count = r->least;
        status = pt_walk_series(slot->ctx, verb, &r->a, r->axis, out);
        if (!status && !empty && r->least)
            status = blank_on_device(slot->ctx, r, out->data, blocks, inner);
    } else if (!status) {
        pt_more(r->a.size);
    }
    return pt_stream_end(slot, status);
}

/* Computes in host memory, for results in host memory or on a device. */
static int run_on_host(pt_slot *slot, rolling *r, pt_operand *out)
{
    pt_operand host = *out;
    char *const packed = out->device < 0 ? NULL : malloc((size_t)(out->size * pt_bytes(out) + 1));
    if (out->device >= 0) {
        if (!packed) {
            PyErr_NoMemory();
            return -1;
        }
        host.data = packed;
        host.device = -1;
    }
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = run(slot->ctx, r, &host);
    Py_END_ALLOW_THREADS int failed = status ? pt_raise(slot->ctx, status) : 0;
    if (!failed && out->device >= 0) failed = pt_from_host(out, packed);
    free(packed);
    return failed;
}

static int read_integer(PyObject *object, int64_t *value)
{
    *value = PyLong_AsLongLong(object);
    return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Finds the operator with the wanted results: with an accumulator of float64, if it has one. */
static int one_verb(pt_slot *slot, PyObject *op, rolling *r, pt_verb *verb)
{
    if (pt_verb_of(slot, op, Py_None, &r->a, r->next, verb)) return -1;
    if (r->wanted != TALLY_F64 || r->a.dtype < TALLY_F16 || verb->info.accumulator != TALLY_F32)
        return 0;
    PyObject *wide = PyUnicode_FromString("float64");
    int bad = !wide || pt_verb_of(slot, op, wide, &r->a, r->next, verb);
    Py_XDECREF(wide);
    return bad ? -1 : 0;
}

/* Whether the results are those of the verb window, computed on the device: windows that have all
 * their rows, or NaN, which is also the result of a window with a NaN. */
static int is_window(const rolling *r)
{
    return r->a.device >= 0 && r->a.kind >= PT_TORCH && r->a.size && !r->next && !r->start &&
           r->step == 1 && r->before >= 0 && r->after >= 0 &&
           r->minimum == r->before + r->after + 1 && r->plain.info.output == r->wanted &&
           keeps_nan(r) && !strncmp(r->plain.info.empty, "NaN", 3);
}

static int read_verb(pt_slot *slot, PyObject *op, PyObject *plain, PyObject *dtype, rolling *r)
{
    int is_bool = 0;
    r->wanted = TALLY_F64;
    if (dtype != Py_None && pt_dtype_of(dtype, &r->wanted, &is_bool)) return -1;
    if (one_verb(slot, plain, r, &r->plain)) return -1;
    if ((r->is_window = is_window(r))) return 0;
    const pt_operand bytes = {.dtype = TALLY_U8}; /* the bytes of pairs, which are summed */
    PyObject *count = PyUnicode_FromString(r->next ? "sum" : "count");
    int bad = !count ||
              pt_verb_of(slot, count, Py_None, r->next ? &bytes : &r->a, NULL, &r->count) ||
              one_verb(slot, op, r, &r->verb);
    Py_XDECREF(count);
    if (bad) return -1;
    tally_dtype gives = r->verb.info.output;
    const int is_half = gives == TALLY_F16 || gives == TALLY_BF16;
    if (r->verb.info.lanes > 1 || (is_half && r->a.device >= 0)) {
        PyErr_Format(PyExc_ValueError, "rolling has no '%s' of %s: use window", r->verb.op,
                     pt_dtype_name(r->a.dtype, 0));
        return -1;
    }
    if (is_bool || (r->wanted != TALLY_F64 && !(r->wanted == TALLY_F32 && gives == TALLY_F32))) {
        PyErr_Format(PyExc_ValueError, "dtype is %R: rolling gives float64, or float32 of float32",
                     dtype);
        return -1;
    }
    return 0;
}

/* Reads the axis, the first one unless it is given. */
static int read_axis(PyObject *object, rolling *r)
{
    if (object != Py_None || r->a.ndim < 1) return pt_axis(object, &r->a, &r->axis);
    r->axis = 0;
    return 0;
}

/* Reads start and end: one for each row, or None for both. */
static int read_rows(PyObject *const *args, pt_operand *bound, rolling *r)
{
    const int64_t **const to[2] = {&r->start, &r->end};
    for (int i = 0; i < 2 && args[0] != Py_None; i++) {
        if (pt_open_places(args[i], i ? "end" : "start", &bound[i]) || pt_to_host(&bound[i]))
            return -1;
        if (bound[i].size != r->a.shape[r->axis]) {
            PyErr_Format(PyExc_ValueError,
                         "on has %lld elements: must have %lld, one for each row of x",
                         (long long)bound[i].size, (long long)r->a.shape[r->axis]);
            return -1;
        }
        *to[i] = (const int64_t *)(const void *)bound[i].data;
    }
    return 0;
}

/* Computes on the device that has the array: *done, or 0 if that is not possible. */
static int try_on_device(rolling *r, pt_operand *out, PyObject *object, tally *other, int *done)
{
    const int64_t length = r->before + r->after + 1;
    const int there = out->device >= 0 && out->kind >= PT_TORCH && r->after >= 0;
    if (r->a.device < 0 || r->next || r->start || r->before < 0 || r->minimum > length ||
        !r->a.size)
        return 0;
    if (!there && (r->step != 1 || r->all_observed || r->after < 0 || !has_one_stride(&r->a)))
        return 0;
    pt_slot *slot = pt_take(&r->a, out);
    if (!slot) return -1;
    if (there) {
        const int failed = run_there(slot, other, r, out, object);
        pt_give_back(slot);
        *done = 1;
        return failed;
    }
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = run_on_device(slot, r, out, done);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
    pt_give_back(slot);
    r->all_observed = 0;
    return status ? -1 : 0;
}

/* rolling(nan form, x, axis, dtype, before, after, minimum, step, operator, whether a NaN is an
 * observation, next, start, end) */
PyObject *pt_rolling(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rolling r; /* its operands are large: nothing clears them whole */
    pt_operand out, bound[2];
    PyObject *object = NULL;
    int64_t shape[PT_DIMS];
    int made = 0, failed = 1, done = 0;
    r.next = NULL;
    r.start = r.end = NULL;
    r.pairs.copy = NULL;
    for (int i = 0; i < 2; i++) pt_open_begin(Py_None, "on", &bound[i]);
    if (pt_count("rolling", count, 13) || read_integer(args[4], &r.before) ||
        read_integer(args[5], &r.after) || read_integer(args[6], &r.minimum) ||
        read_integer(args[7], &r.step) || pt_open(args[1], "x", &r.a))
        return NULL;
    pt_operand like = r.a;
    pt_slot *slot = NULL;
    r.all_observed = args[9] == Py_True;
    if (pt_flatten(&r.a) || pt_open_next(args[10], &r.a, &r.b, &r.next) || read_axis(args[2], &r) ||
        read_rows(args + 11, bound, &r) || !(slot = pt_take(NULL, NULL)) ||
        read_verb(slot, args[0], args[8], args[3], &r))
        goto done;
    memcpy(shape, r.a.shape, sizeof shape);
    shape[r.axis] = (shape[r.axis] + r.step - 1) / r.step;
    if (pt_make(&like, r.wanted, 0, r.a.ndim, shape, &out, &object)) goto done;
    made = 1;
    pt_begin(2 * r.a.size);
    failed = try_on_device(&r, &out, object, slot->ctx, &done);
    if (!failed && !done)
        failed = pt_to_host(&r.a) || (r.next && pt_to_host(&r.b)) || run_on_host(slot, &r, &out);
    failed = pt_end(failed);
done:
    pt_give_back(slot);
    if (made) pt_close(&out);
    if (failed) Py_CLEAR(object);
    object = pt_give(&like, object, r.a.ndim);
    for (int i = 0; i < 2; i++) pt_close(&bound[i]);
    free(r.pairs.copy);
    pt_close_next(r.next);
    pt_close(&r.a);
    return object;
}

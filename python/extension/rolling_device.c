/* SPDX-License-Identifier: MIT
 * Windows of `rolling` on the device that has the array (rolling.h). The libraries of PyTorch's and
 * CuPy's arrays set results to NaN (run_there). Arrays of other libraries are reduced there if the
 * window itself shows which results are NaN (run_on_device). */
#include "rolling.h"
#include <math.h>
#include <stdlib.h>

/* ---- with the help of the array's library ---- */

/* An array of the device, made for one call. */
typedef struct {
    pt_operand a;
    PyObject *object; /* NULL: none */
} temporary;

static int make_temporary(const rolling *r, tally_dtype dtype, temporary *t)
{
    return pt_make(&r->a, (pt_form){dtype, 0, r->a.ndim, r->a.shape}, &t->a, &t->object);
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
    while (first < rows && pt_rolling_rows_at(r, first * r->step) < r->least) first++;
    while (last < rows - first && pt_rolling_rows_at(r, (rows - 1 - last) * r->step) < r->least)
        last++;
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
    pt_rolling_set_window(verb, r);
    pt_rolling_set_window(&r->count, r);
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
    r->all_observed = r->all_observed || pt_rolling_needs_all(r);
    if (r->all_observed || r->a.size < LARGE || !has_one_stride(&r->a)) return 0;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
    if (!status) status = pt_rolling_find_nan(slot->ctx, r);
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
    const int empty =
        r->is_window || pt_rolling_empty_is_nan(other, verb->op, r->a.dtype, &nothing);
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

/* ---- of any library ---- */

/* Sets results on a device to NaN if their windows, at the ends, have too few rows. There are
 * `blocks` of n rows of `inner` elements. */
static tally_status blank_on_device(tally *ctx, const rolling *r, char *out, int64_t blocks,
                                    int64_t inner)
{
    const int64_t n = r->a.shape[r->axis], bytes = (int64_t)tally_dtype_size(r->wanted);
    int64_t first = 0, last = 0;
    while (first < n && pt_rolling_rows_at(r, first) < r->least) first++;
    while (last < n - first && pt_rolling_rows_at(r, n - 1 - last) < r->least) last++;
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
    if (!status) status = pt_rolling_find_nan(slot->ctx, r);
    pt_verb *const verb = r->all_observed ? &r->plain : &r->verb;
    const int empty = !status && pt_rolling_empty_is_nan(slot->ctx, verb->op, r->a.dtype, &nothing);
    r->least = empty && r->minimum == 0 ? 1 : r->minimum;
    *done = verb->info.output == r->wanted &&
            (empty || r->least == 0 || (r->all_observed && blocks <= FEW));
    if (!status && *done) {
        pt_rolling_set_window(verb, r);
        verb->window.min_count = r->least;
        status = pt_walk_series(slot->ctx, verb, &r->a, r->axis, out);
        if (!status && !empty && r->least)
            status = blank_on_device(slot->ctx, r, out->data, blocks, inner);
    } else if (!status) {
        pt_more(r->a.size);
    }
    return pt_stream_end(slot, status);
}

int pt_rolling_on_device(rolling *r, pt_operand *out, PyObject *object, tally *other, int *done)
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

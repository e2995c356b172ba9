/* SPDX-License-Identifier: MIT
 * Scan and window, which give one result per element along one axis; and windows by ranges, which
 * give one result per range. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Checks the strides of results, which count whole results: the lanes of one result are
 * adjacent. */
static int check_out(const pt_verb *verb, const pt_operand *out)
{
    int lanes = verb->info.lanes > 1, last = out->ndim - 1;
    int64_t bytes = verb->out_bytes / verb->info.lanes;
    pt_operand whole = *out;
    if (lanes) whole.ndim--;
    if (out->size &&
        ((lanes && out->strides[last] != bytes) || !pt_even(&whole, verb->out_bytes))) {
        PyErr_SetString(PyExc_ValueError, "out: its strides must be multiples of its elements (and "
                                          "several values of one result neighbours)");
        return -1;
    }
    return 0;
}

/* Whether a scan is in place: the same memory, strides and element size. */
static int in_place(const pt_verb *verb, const pt_operand *a, const pt_operand *out)
{
    if (verb->what != PT_SCAN || verb->initial || a->chunks || a->data != out->data ||
        a->ndim != out->ndim || verb->in_bytes != verb->out_bytes)
        return 0;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] > 1 && a->strides[i] != out->strides[i]) return 0;
    return pt_even(a, verb->in_bytes);
}

static int check_device(const pt_verb *verb, const pt_operand *a, const pt_operand *out)
{
    if (out->device >= 0 && (verb->initial || verb->shift) &&
        (verb->info.lanes > 1 || out->kind < PT_TORCH)) {
        PyErr_SetString(
            PyExc_ValueError,
            "results on a device: include_initial and closed windows that leave out their "
            "own row are for arrays of PyTorch and CuPy, one value each, and for host memory");
        return -1;
    }
    if (a->device >= 0 && !pt_even(a, (int64_t)tally_dtype_size(a->dtype))) {
        PyErr_Format(PyExc_ValueError,
                     "%s is on a device: its strides must be multiples of its elements", a->name);
        return -1;
    }
    return 0;
}

/* Copies chunks to dense memory for calls that a stream over chunks cannot do. */
static int flatten(const pt_verb *verb, pt_operand *a, const pt_operand *out)
{
    const int streams = out->strides[0] == verb->out_bytes && !verb->initial && !verb->shift &&
                        !verb->scan.reverse && verb->what != PT_RANGES;
    return streams && !pt_has_nulls(a) ? 0 : pt_flatten(a);
}

static tally_status run(pt_slot *slot, const pt_verb *verb, const pt_operand *a, int axis,
                        const pt_operand *out)
{
    tally_status status = pt_stream_begin(slot);
    if (!status)
        status = a->chunks ? pt_walk_chunks(slot->ctx, verb, a, out->data)
                           : pt_walk_series(slot->ctx, verb, a, axis, out);
    return pt_stream_end(slot, status);
}

static int series_into(pt_slot *slot, const pt_verb *verb, const pt_operand *a, int axis,
                       const pt_operand *out, PyObject *object)
{
    tally_status status;
    if (check_out(verb, out) || check_device(verb, a, out) ||
        (verb->next && check_device(verb, verb->next, out)))
        return -1;
    if (verb->next && pt_overlap(verb->next, out, (int64_t)tally_dtype_size(verb->next->dtype),
                                 verb->out_bytes / verb->info.lanes)) {
        PyErr_SetString(PyExc_ValueError,
                        "out overlaps the second array: give it memory of its own");
        return -1;
    }
    if (pt_overlap(a, out, verb->in_bytes, verb->out_bytes / verb->info.lanes) &&
        !in_place(verb, a, out)) {
        PyErr_Format(
            PyExc_ValueError, "out overlaps %s: give it memory of its own%s", a->name,
            verb->what == PT_SCAN ? ", or exactly its (same data, strides and element size)" : "");
        return -1;
    }
    pt_begin(a->size);
    if (pt_long(slot, a->size * verb->in_bytes)) {
        Py_BEGIN_ALLOW_THREADS status = run(slot, verb, a, axis, out);
        Py_END_ALLOW_THREADS
    } else {
        status = run(slot, verb, a, axis, out);
    }
    int failed = status ? pt_raise(slot->ctx, status) : 0;
    if (!failed && out->device >= 0 && out->shape[axis] && (verb->initial || verb->shift))
        failed = pt_fill_first(verb, a, object, axis);
    return pt_end(failed);
}

/* Checks ranges with Python's names. The library checks them too, and alone if they are on a
 * device. */
static int check_ranges(const pt_verb *given, int64_t n)
{
    if (given->bound[0].device >= 0 || given->bound[1].device >= 0) return 0;
    for (int64_t i = 0; i < given->shift; i++) {
        if (given->start[i] >= 0 && given->start[i] <= given->end[i] && given->end[i] <= n)
            continue;
        PyErr_Format(
            PyExc_ValueError,
            "range %lld is %lld..%lld: must be 0 <= start <= end <= %lld, the elements of x",
            (long long)i, (long long)given->start[i], (long long)given->end[i], (long long)n);
        return -1;
    }
    return 0;
}

/* Runs the call. *given has everything except the operator's facts. */
static PyObject *series(PyObject *const *args, pt_verb *given, PyObject *init)
{
    pt_operand a, b;
    const pt_operand *next = NULL;
    pt_result result;
    pt_verb verb;
    int axis, failed = 1;
    char start[16];
    PyObject *out = args[4];
    if (pt_open(args[1], "x", &a)) return NULL;
    pt_slot *slot = NULL;
    result.opened = 0;
    result.object = NULL;
    result.ndim = a.ndim;
    if (pt_axis(args[2], &a, &axis) || pt_leave_out(&a, args[10], "where", 0) ||
        pt_open_next(args[9], &a, &b, &next))
        goto done;
    if (out != Py_None) {
        if (pt_open_out(out, &result.a)) goto done;
        result.opened = 1;
    }
    const pt_operand *const all[] = {&a, next, given->bound, given->bound ? given->bound + 1 : NULL,
                                     result.opened ? &result.a : NULL};
    if (!(slot = pt_take_all(all, 5)) || pt_verb_of(slot, args[0], args[3], &a, next, &verb))
        goto done;
    verb.what = given->what;
    verb.scan = given->scan;
    verb.window = given->window;
    verb.initial = given->initial;
    verb.shift = given->what == PT_RANGES ? 0 : given->shift;
    if (init != Py_None) {
        if (pt_value_from(init, "init", verb.info.output, start)) goto done;
        verb.scan.init = start;
    }
    verb.start = given->start;
    verb.end = given->end;
    verb.least = given->least;
    int64_t *const shape = result.shape;
    memcpy(shape, a.shape, (size_t)a.ndim * sizeof *shape);
    if (verb.what == PT_RANGES && check_ranges(given, a.shape[axis])) goto done;
    if (verb.what == PT_RANGES) shape[axis] = given->shift;
    if (verb.what == PT_WINDOW) shape[axis] = tally_window_length(a.shape[axis], &verb.window);
    shape[axis] += verb.initial;
    if (pt_open_result(&a, &verb, out, &result)) goto done;
    failed = flatten(&verb, &a, &result.a) ||
             series_into(slot, &verb, &a, axis, &result.a, result.object);
done:
    pt_give_back(slot);
    if (result.opened) failed ? pt_close(&result.a) : pt_close_result(&verb, &result.a);
    if (failed) Py_CLEAR(result.object);
    if (out == Py_None) result.object = pt_give(&a, result.object, result.ndim);
    pt_close_next(next);
    pt_close(&a);
    return result.object;
}

/* scan(op, x, axis, dtype, out, exclusive, reverse, include_initial, init, next, where) */
PyObject *pt_scan(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_verb given = {.what = PT_SCAN};
    if (pt_count("scan", count, 11)) return NULL;
    given.scan.exclusive = PyObject_IsTrue(args[5]);
    given.scan.reverse = PyObject_IsTrue(args[6]);
    given.initial = PyObject_IsTrue(args[7]);
    if (PyErr_Occurred()) return NULL;
    return series(args, &given, args[8]);
}

/* window(op, x, axis, dtype, out, before, after, edges, min_count, next, where) */
PyObject *pt_window(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_verb given = {.what = PT_WINDOW};
    int64_t *to[4] = {&given.window.before, &given.window.after, NULL, &given.window.min_count};
    static const char *const names[] = {"before", "after", "edges", "min_count"};
    if (pt_count("window", count, 11)) return NULL;
    for (int i = 0; i < 4; i++) {
        int64_t value;
        if (pt_integer(args[5 + i], names[i], &value)) return NULL;
        if (to[i])
            *to[i] = value;
        else
            given.window.edges = (tally_edges)(value < 0 || value > 100 ? 100 : value);
    }
    if (given.window.before < 0 || given.window.after < 0 || given.window.before >> 61 ||
        given.window.after >> 61) {
        PyErr_Format(PyExc_ValueError,
                     "the window reaches %lld elements back and %lld ahead: must be 0..2^61 - 1",
                     (long long)given.window.before, (long long)given.window.after);
        return NULL;
    }
    return series(args, &given, Py_None);
}

/* ranges(op, x, axis, dtype, out, start, end, min_count, None, next, where) */
PyObject *pt_ranges(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_verb given = {.what = PT_RANGES};
    pt_operand bound[2];
    PyObject *object = NULL;
    int open_ = 0;
    if (pt_count("ranges", count, 11)) return NULL;
    if (pt_integer(args[7], "min_count", &given.least)) return NULL;
    for (; open_ < 2; open_++)
        if (pt_open_places(args[5 + open_], open_ ? "end" : "start", &bound[open_])) break;
    if (open_ == 2 && bound[0].size != bound[1].size) {
        PyErr_Format(PyExc_ValueError, "start has %lld elements, end %lld: must be as many",
                     (long long)bound[0].size, (long long)bound[1].size);
    } else if (open_ == 2) {
        given.start = (const int64_t *)(const void *)bound[0].data;
        given.end = (const int64_t *)(const void *)bound[1].data;
        given.shift = bound[0].size;
        given.bound = bound;
        object = series(args, &given, Py_None);
    }
    while (open_-- > 0) pt_close(&bound[open_]);
    return object;
}

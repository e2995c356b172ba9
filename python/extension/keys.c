/* SPDX-License-Identifier: MIT
 * Keys: runs of equal neighbours, groups of integers, gathers. Of one axis of host memory, in one piece. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Opens an array of one axis, and the view of it. bare: what is left out is there like the rest, for the caller to see
 * to. */
static int open_flat(PyObject *object, const char *name, int bare, pt_operand *a, tally_view *v)
{
    if (bare ? pt_open(object, name, a) || pt_flatten(a) : pt_open_plain(object, name, "this function", a)) return -1;
    const int64_t bytes = (int64_t)tally_dtype_size(a->dtype);
    if (a->ndim != 1 || a->chunks || a->device >= 0 || !pt_even(a, bytes)) {
        PyErr_Format(PyExc_ValueError, "%s must have one axis, in one piece of host memory", name);
        pt_close(a);
        return -1;
    }
    *v = (tally_view){.data = a->data, .dtype = a->dtype, .rows = 1, .n = a->size, .row_stride = a->size, .stride = 1};
    if (a->size > 1) v->stride = a->strides[0] / bytes;
    return 0;
}

int pt_open_places(PyObject *object, const char *name, pt_operand *a)
{
    tally_view v;
    if (open_flat(object, name, 0, a, &v)) return -1;
    if (a->dtype == TALLY_I64 && (a->size <= 1 || v.stride == 1) && (uintptr_t)a->data % sizeof(int64_t) == 0) return 0;
    PyErr_Format(PyExc_ValueError, "%s must be int64, dense and aligned", name);
    pt_close(a);
    return -1;
}

/* Places are NumPy's where the input is of a library that has it, else of our own: they have no index or name. */
static int make_places(const pt_operand *a, int64_t n, pt_operand *places, PyObject **object)
{
    const pt_operand like = {.kind = a->kind == PT_OWN || !pt_numpy_empty ? PT_OWN : PT_NUMPY, .device = -1};
    return pt_make(&like, TALLY_I64, 0, 1, &n, places, object);
}

/* n places, of the kind that make_places gives. */
static PyObject *give_places(const pt_operand *a, const int64_t *from, int64_t n)
{
    pt_operand places;
    PyObject *object = NULL;
    if (make_places(a, n, &places, &object)) return NULL;
    if (n) memcpy(places.data, from, (size_t)n * sizeof *from);
    pt_close(&places);
    return object;
}

/* The runs of keys with nulls, out of those of what lies there: two nulls are equal, and nothing else equals one. */
static int64_t part_nulls(const pt_operand *a, int64_t stride, const int64_t *found, int64_t *made)
{
    int64_t runs = 0;
    int before = -1;
    for (int64_t i = 0; i < a->size; i++) {
        const int valid = pt_is_valid(a, i * stride), begins = *found == i;
        found += begins;
        if (valid != before || (valid && begins)) made[runs++] = i;
        before = valid;
    }
    made[runs] = a->size;
    return runs;
}

/* runs(keys) -> offsets */
PyObject *pt_runs(PyObject *module, PyObject *object)
{
    pt_operand a;
    tally_view v;
    PyObject *given = NULL;
    int64_t runs = 0;
    if (open_flat(object, "keys", 1, &a, &v)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    int64_t *offsets = NULL, *parted = NULL;
    if (slot) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = tally_runs(slot->ctx, &v, NULL, &runs);
        const int64_t most = a.valid ? a.size : runs;
        offsets = malloc((size_t)(runs + 1) * sizeof *offsets);
        parted = a.valid ? malloc((size_t)(most + 1) * sizeof *parted) : NULL;
        if (!status && (!offsets || (a.valid && !parted))) status = TALLY_NO_MEMORY;
        if (!status) status = tally_runs(slot->ctx, &v, offsets, &runs);
        if (!status && a.valid) runs = part_nulls(&a, v.stride, offsets, parted);
        Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
        else given = give_places(&a, a.valid ? parted : offsets, runs + 1);
    }
    free(offsets);
    free(parted);
    pt_give_back(slot);
    pt_close(&a);
    return given;
}

/* Codes with nulls, which belong to no group: as if they were 0, and then taken out of the order. */
static tally_status groups_of_nulls(tally *ctx, const pt_operand *a, int64_t groups, int64_t *order, int64_t *offsets)
{
    const int64_t bytes = pt_bytes(a);
    pt_operand dense;
    int64_t kept = 0, at = 0;
    tally_status status = pt_pack_axes(a, NULL, &dense);
    if (status) return status;
    for (int64_t i = 0; i < a->size; i++) {
        kept += pt_is_valid(&dense, i);
        if (!pt_is_valid(&dense, i)) memset(dense.data + i * bytes, 0, (size_t)bytes);
    }
    const tally_view filled = tally_flat(dense.data, a->dtype, kept || groups ? a->size : 0);
    status = tally_groups(ctx, &filled, groups, order, offsets);
    kept = 0;
    for (int64_t g = 0; !status && g < groups; g++) {
        const int64_t end = offsets[g + 1];
        for (; at < end; at++)
            if (pt_is_valid(&dense, order[at])) order[kept++] = order[at];
        offsets[g + 1] = kept;
    }
    pt_unpack_axes(&dense);
    return status;
}

/* groups(codes, groups) -> (order, offsets) */
PyObject *pt_groups(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const int64_t most = (int64_t)1 << 59; /* whose offsets have less than 2^63 bytes */
    pt_operand a;
    tally_view v;
    PyObject *given = NULL;
    if (pt_count("groups", count, 2)) return NULL;
    PyObject *whole = PyNumber_Index(args[1]);
    const int64_t groups = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (groups == -1 && PyErr_Occurred()) return NULL;
    if (groups < 0 || groups > most)
        return PyErr_Format(PyExc_ValueError, "groups is %lld: must be 0..%lld", (long long)groups, (long long)most);
    if (open_flat(args[0], "codes", 1, &a, &v)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    int64_t *order = malloc((size_t)(a.size + 1) * sizeof *order);
    int64_t *offsets = malloc((size_t)(groups + 1) * sizeof *offsets);
    if (slot && order && offsets) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = a.valid ? groups_of_nulls(slot->ctx, &a, groups, order, offsets)
                                                : tally_groups(slot->ctx, &v, groups, order, offsets);
        Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
        else
        {
            PyObject *first = give_places(&a, order, offsets[groups]);
            PyObject *second = first ? give_places(&a, offsets, groups + 1) : NULL;
            if (second) given = PyTuple_Pack(2, first, second);
            Py_XDECREF(first);
            Py_XDECREF(second);
        }
    } else if (slot) {
        PyErr_NoMemory();
    }
    free(order);
    free(offsets);
    pt_give_back(slot);
    pt_close(&a);
    return given;
}

/* take(x, order, bare) -> the elements at these places */
PyObject *pt_gather(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, order, result;
    tally_view v, out;
    PyObject *object = NULL;
    if (pt_count("take", count, 3)) return NULL;
    if (open_flat(args[0], "x", args[2] == Py_True, &a, &v)) return NULL;
    if (pt_open_places(args[1], "order", &order)) {
        pt_close(&a);
        return NULL;
    }
    pt_slot *slot = NULL;
    if ((slot = pt_take(NULL, NULL)) && !pt_make(&a, a.dtype, a.is_bool, 1, &order.size, &result, &object)) {
        tally_status status;
        out = (tally_view){.data = result.data, .dtype = a.dtype, .rows = 1, .n = order.size, .stride = 1};
        Py_BEGIN_ALLOW_THREADS status =
            tally_take(slot->ctx, &v, (const int64_t *)(const void *)order.data, order.size, &out);
        Py_END_ALLOW_THREADS if (status)
        {
            pt_raise(slot->ctx, status);
            Py_CLEAR(object);
        }
        pt_close(&result);
    }
    pt_give_back(slot);
    object = pt_give(&a, object, 1);
    pt_close(&order);
    pt_close(&a);
    return object;
}

/* bounds(keys, low, high, low_open, high_open, ties) -> (start, end); low and high as the keys are */
PyObject *pt_bounds(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, bound[2];
    tally_view v;
    PyObject *places[2] = {NULL, NULL}, *given = NULL;
    tally_key_window w = {0};
    if (pt_count("bounds", count, 6) || open_flat(args[0], "keys", 0, &a, &v)) return NULL;
    w.low_open = PyObject_IsTrue(args[3]);
    w.high_open = PyObject_IsTrue(args[4]);
    w.ties = PyObject_IsTrue(args[5]) ? TALLY_TIES_ROW : TALLY_TIES_ALL;
    pt_slot *slot = NULL;
    int made = 0;
    if (a.dtype == TALLY_F64) {
        w.low_real = PyFloat_AsDouble(args[1]);
        w.high_real = PyFloat_AsDouble(args[2]);
    } else {
        w.low = PyLong_AsLongLong(args[1]);
        w.high = PyErr_Occurred() ? 0 : PyLong_AsLongLong(args[2]);
    }
    if (PyErr_Occurred() || !(slot = pt_take(NULL, NULL))) goto done;
    for (; made < 2; made++)
        if (make_places(&a, a.size, &bound[made], &places[made])) goto done;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status =
        tally_window_bounds(slot->ctx, &v, &w, (int64_t *)(void *)bound[0].data, (int64_t *)(void *)bound[1].data);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
    else given = PyTuple_Pack(2, places[0], places[1]);
done:
    while (made-- > 0) pt_close(&bound[made]);
    pt_give_back(slot);
    Py_XDECREF(places[0]);
    Py_XDECREF(places[1]);
    pt_close(&a);
    return given;
}

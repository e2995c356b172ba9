/* SPDX-License-Identifier: MIT
 * Keys: runs of equal neighbours, groups of integers, gathers. Arrays have one axis and one piece.
 * Keys on a device stay there, and the positions are made there too. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Opens an array of one axis, and its view. bare: elements that are left out are included; the
 * caller handles them. */
static int open_flat(PyObject *object, const char *name, int bare, pt_operand *a, tally_view *v)
{
    if (bare ? pt_open(object, name, a) : pt_open_plain(object, name, "this function", a))
        return -1;
    const int64_t bytes = (int64_t)tally_dtype_size(a->dtype);
    if (pt_flatten(a) || pt_make_even(a) || a->ndim != 1 || !pt_even(a, bytes)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s must have one axis, with strides of whole elements",
                         name);
        pt_close(a);
        return -1;
    }
    *v = (tally_view){.data = a->data,
                      .dtype = a->dtype,
                      .rows = 1,
                      .n = a->size,
                      .row_stride = a->size,
                      .stride = 1};
    if (a->size > 1) v->stride = a->strides[0] / bytes;
    return 0;
}

/* An integer of any type; one above 2^63 - 1 as 2^63 - 1, which is no place either. */
static int64_t place_at(const char *at, tally_dtype dtype)
{
    const int unused = 64 - 8 * (int)tally_dtype_size(dtype);
    uint64_t bits = 0;
    memcpy(&bits, at, tally_dtype_size(dtype));
    if ((dtype - TALLY_I8) % 2 == 0) return (int64_t)(bits << unused) >> unused;
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

/* Copies integers of host memory to dense int64. */
static int copy_places(pt_operand *a, int64_t stride)
{
    int64_t *const copy = malloc((size_t)a->size * sizeof *copy + 1);
    if (!copy) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < a->size; i++)
        copy[i] = place_at(a->data + i * stride * pt_bytes(a), a->dtype);
    free(a->copy);
    a->copy = copy;
    a->data = (char *)copy;
    a->dtype = TALLY_I64;
    a->strides[0] = sizeof *copy;
    return 0;
}

int pt_open_places(PyObject *object, const char *name, pt_operand *a)
{
    tally_view v;
    if (open_flat(object, name, 0, a, &v)) return -1;
    if (a->dtype == TALLY_I64 && (a->size <= 1 || v.stride == 1) &&
        (!a->size || (uintptr_t)a->data % sizeof(int64_t) == 0))
        return 0;
    if (a->device >= 0)
        PyErr_Format(PyExc_ValueError, "%s must be int64, dense and aligned: it is on a device",
                     name);
    else if (a->dtype >= TALLY_F16 || a->is_bool)
        PyErr_Format(PyExc_ValueError, "%s has dtype %s: must be integers", name,
                     pt_dtype_name(a->dtype, a->is_bool));
    else if (!copy_places(a, v.stride))
        return 0;
    pt_close(a);
    return -1;
}

/* Makes an array of positions. It is on the input's device, made by the input's library. In host
 * memory it is a NumPy array if the input's library uses NumPy, else a tally.Array. It has no
 * index and no name. */
static int make_places(const pt_operand *a, int64_t n, pt_operand *places, PyObject **object)
{
    const pt_form form = {TALLY_I64, 0, 1, &n};
    if (a->device >= 0) return pt_make(a, form, places, object);
    const pt_operand like = {.kind = a->kind == PT_OWN || !pt_numpy_empty ? PT_OWN : PT_NUMPY,
                             .device = -1};
    return pt_make(&like, form, places, object);
}

/* Copies n positions in host memory to an array of the kind that make_places makes. */
static PyObject *give_places(const pt_operand *a, const int64_t *from, int64_t n)
{
    pt_operand places;
    PyObject *object = NULL;
    if (make_places(a, n, &places, &object)) return NULL;
    if (n) memcpy(places.data, from, (size_t)n * sizeof *from);
    pt_close(&places);
    return object;
}

/* Makes the runs of keys with nulls from the runs of the values in memory: two nulls are equal,
 * and a null equals nothing else. */
static int64_t split_nulls(const pt_operand *a, int64_t stride, const int64_t *found,
                           int64_t *runs_found)
{
    int64_t runs = 0;
    int before = -1;
    for (int64_t i = 0; i < a->size; i++) {
        const int valid = pt_is_valid(a, i * stride), begins = *found == i;
        found += begins;
        if (valid != before || (valid && begins)) runs_found[runs++] = i;
        before = valid;
    }
    runs_found[runs] = a->size;
    return runs;
}

static tally_status find_runs(pt_slot *slot, const pt_operand *a, const tally_view *v,
                              int64_t *offsets, int64_t *runs)
{
    tally_status status = pt_stream_begin(slot);
    if (!status) status = tally_runs(slot->ctx, v, offsets, runs);
    return pt_stream_end(slot, status);
}

/* The offsets of keys in host memory, with or without nulls. The library needs space for as many
 * runs as there are keys. */
static PyObject *runs_on_host(pt_slot *slot, const pt_operand *a, const tally_view *v)
{
    const int64_t most = INT64_MAX / (int64_t)sizeof(int64_t) - 1;
    const size_t bytes = a->size < most ? (size_t)(a->size + 1) * sizeof(int64_t) : SIZE_MAX;
    int64_t *found = malloc(bytes), *parted = a->valid ? malloc(bytes) : NULL, runs;
    PyObject *given = NULL;
    if (found && (parted || !a->valid)) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = find_runs(slot, a, v, found, &runs);
        if (!status && a->valid) runs = split_nulls(a, v->stride, found, parted);
        Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
        else given = give_places(a, a->valid ? parted : found, runs + 1);
    } else {
        PyErr_NoMemory();
    }
    free(found);
    free(parted);
    return given;
}

/* The runs on a device, where the library writes exactly the offsets. */
static PyObject *runs_on_device(pt_slot *slot, const pt_operand *a, const tally_view *v)
{
    pt_operand places;
    PyObject *given = NULL;
    int64_t runs;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = find_runs(slot, a, v, NULL, &runs);
    Py_END_ALLOW_THREADS if (!status && make_places(a, runs + 1, &places, &given)) return NULL;
    if (!status) {
        Py_BEGIN_ALLOW_THREADS status =
            find_runs(slot, a, v, (int64_t *)(void *)places.data, &runs);
        Py_END_ALLOW_THREADS pt_close(&places);
    }
    if (status) {
        pt_raise(slot->ctx, status);
        Py_CLEAR(given);
    }
    return given;
}

/* runs(keys) -> offsets */
PyObject *pt_runs(PyObject *module, PyObject *object)
{
    pt_operand a;
    tally_view v;
    if (open_flat(object, "keys", 1, &a, &v)) return NULL;
    pt_slot *slot = pt_take(&a, NULL);
    PyObject *given = !slot          ? NULL
                      : a.device < 0 ? runs_on_host(slot, &a, &v)
                                     : runs_on_device(slot, &a, &v);
    pt_give_back(slot);
    pt_close(&a);
    return given;
}

/* The order and the offsets. The rows of nulls, which belong to no group, come last in the order,
 * and are left out of it. */
static PyObject *order_of(pt_slot *slot, const pt_operand *a, const tally_view *codes,
                          int64_t groups)
{
    pt_operand places[2];
    PyObject *object[2] = {NULL, NULL}, *pair = NULL;
    const int64_t length[2] = {a->size, groups + 1};
    int opened = 0;
    for (; opened < 2; opened++)
        if (make_places(a, length[opened], &places[opened], &object[opened])) break;
    if (opened == 2) {
        int64_t *const order = (int64_t *)(void *)places[0].data, *const offsets =
                                                                      (int64_t *)(void *)places[1]
                                                                          .data;
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
        if (!status) status = tally_groups(slot->ctx, codes, groups, order, offsets);
        status = pt_stream_end(slot, status);
        Py_END_ALLOW_THREADS if (!status && a->valid)
        {
            PyObject *const whole = object[0];
            object[0] = give_places(a, order, offsets[groups]);
            Py_DECREF(whole);
        }
        if (status)
            pt_raise(slot->ctx, status);
        else if (object[0])
            pair = PyTuple_Pack(2, object[0], object[1]);
    }
    while (opened-- > 0) pt_close(&places[opened]);
    Py_XDECREF(object[0]);
    Py_XDECREF(object[1]);
    return pair;
}

/* groups(codes, groups) -> (order, offsets) */
PyObject *pt_groups(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    /* offsets of this many groups have less than 2^63 bytes */
    static const int64_t most = (int64_t)1 << 59;
    pt_operand a;
    tally_view v;
    PyObject *given = NULL;
    int64_t groups;
    if (pt_count("groups", count, 2) || pt_integer(args[1], "groups", &groups)) return NULL;
    if (groups < 0 || groups > most)
        return PyErr_Format(PyExc_ValueError, "groups is %lld: must be 0..%lld", (long long)groups,
                            (long long)most);
    if (open_flat(args[0], "codes", 1, &a, &v)) return NULL;
    pt_slot *slot = pt_take(&a, NULL);
    v.valid = a.valid;
    v.valid_offset = a.valid_offset;
    if (slot) given = order_of(slot, &a, &v, groups);
    pt_give_back(slot);
    pt_close(&a);
    return given;
}

/* take(x, order, bare) -> the elements at these positions */
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
    pt_slot *slot = pt_take(&a, &order);
    const pt_form form = {a.dtype, a.is_bool, 1, &order.size};
    if (slot && !pt_make(&a, form, &result, &object)) {
        tally_status status;
        out = (tally_view){
            .data = result.data, .dtype = a.dtype, .rows = 1, .n = order.size, .stride = 1};
        Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
        if (!status)
            status = tally_take(slot->ctx, &v, (const int64_t *)(const void *)order.data,
                                order.size, &out);
        status = pt_stream_end(slot, status);
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

/* Reads low or high, in the type of the keys: nothing is rounded. */
static int open_limit(PyObject *object, const char *name, tally_dtype keys, int64_t *whole,
                      double *real)
{
    int beyond = 0;
    if (keys == TALLY_F64) {
        *real = PyFloat_AsDouble(object);
        if (*real == -1 && PyErr_Occurred()) return -1;
        if (!PyLong_Check(object)) return 0;
        PyObject *const back = PyLong_FromDouble(*real);
        const int same = back ? PyObject_RichCompareBool(back, object, Py_EQ) : -1;
        Py_XDECREF(back);
        if (same == 0)
            PyErr_Format(PyExc_ValueError, "%s is %S: must be a number that float64 holds", name,
                         object);
        return same == 1 ? 0 : -1;
    }
    PyObject *const number = PyNumber_Index(object);
    *whole = number ? PyLong_AsLongLongAndOverflow(number, &beyond) : -1;
    Py_XDECREF(number);
    if (!beyond) return *whole == -1 && PyErr_Occurred() ? -1 : 0;
    PyErr_Format(PyExc_OverflowError, "%s is %S: must be in -2^63..2^63 - 1", name, object);
    return -1;
}

/* bounds(keys, low, high, low_open, high_open, ties) -> (start, end); low and high have the type
 * of the keys */
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
    int opened = 0;
    if (open_limit(args[1], "low", a.dtype, &w.low, &w.low_real) ||
        open_limit(args[2], "high", a.dtype, &w.high, &w.high_real) || !(slot = pt_take(&a, NULL)))
        goto done;
    for (; opened < 2; opened++)
        if (make_places(&a, a.size, &bound[opened], &places[opened])) goto done;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
    if (!status)
        status = tally_window_bounds(slot->ctx, &v, &w, (int64_t *)(void *)bound[0].data,
                                     (int64_t *)(void *)bound[1].data);
    status = pt_stream_end(slot, status);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
    else given = PyTuple_Pack(2, places[0], places[1]);
done:
    while (opened-- > 0) pt_close(&bound[opened]);
    pt_give_back(slot);
    Py_XDECREF(places[0]);
    Py_XDECREF(places[1]);
    pt_close(&a);
    return given;
}

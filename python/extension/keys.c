/* SPDX-License-Identifier: MIT
 * Keys: runs of equal neighbours, groups of integers, gathers. Of one axis of host memory, in one piece. */
#include "pt.h"

/* Opens an array of one axis, and the view of it. */
static int open_flat(PyObject *object, const char *name, pt_operand *a, tally_view *v)
{
    if (pt_open(object, name, a)) return -1;
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

/* Places are NumPy's where the input is of a library that has it, else of our own: they have no index or name. */
static int make_places(const pt_operand *a, int64_t n, pt_operand *places, PyObject **object)
{
    const pt_operand like = {.kind = a->kind == PT_OWN || !pt_numpy_empty ? PT_OWN : PT_NUMPY, .device = -1};
    return pt_make(&like, TALLY_I64, 0, 1, &n, places, object);
}

/* runs(keys) -> offsets */
PyObject *pt_runs(PyObject *module, PyObject *object)
{
    pt_operand a, offsets;
    tally_view v;
    PyObject *given = NULL;
    int64_t runs = 0;
    if (open_flat(object, "keys", &a, &v)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    if (slot) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = tally_runs(slot->ctx, &v, NULL, &runs);
        Py_END_ALLOW_THREADS if (!status && !make_places(&a, runs + 1, &offsets, &given))
        {
            Py_BEGIN_ALLOW_THREADS status = tally_runs(slot->ctx, &v, (int64_t *)(void *)offsets.data, &runs);
            Py_END_ALLOW_THREADS pt_close(&offsets);
        }
        if (status) {
            pt_raise(slot->ctx, status);
            Py_CLEAR(given);
        }
    }
    pt_give_back(slot);
    pt_close(&a);
    return given;
}

/* groups(codes, groups) -> (order, offsets) */
PyObject *pt_groups(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const int64_t most = (int64_t)1 << 59; /* whose offsets have less than 2^63 bytes */
    pt_operand a, order, offsets;
    tally_view v;
    PyObject *first = NULL, *second = NULL, *given = NULL;
    if (pt_count("groups", count, 2)) return NULL;
    PyObject *whole = PyNumber_Index(args[1]);
    const int64_t groups = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (groups == -1 && PyErr_Occurred()) return NULL;
    if (groups < 0 || groups > most)
        return PyErr_Format(PyExc_ValueError, "groups is %lld: must be 0..%lld", (long long)groups, (long long)most);
    if (open_flat(args[0], "codes", &a, &v)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    if (slot && !make_places(&a, a.size, &order, &first)) {
        if (!make_places(&a, groups + 1, &offsets, &second)) {
            tally_status status;
            Py_BEGIN_ALLOW_THREADS status =
                tally_groups(slot->ctx, &v, groups, (int64_t *)(void *)order.data, (int64_t *)(void *)offsets.data);
            Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
            else given = PyTuple_Pack(2, first, second);
            pt_close(&offsets);
        }
        pt_close(&order);
    }
    pt_give_back(slot);
    Py_XDECREF(first);
    Py_XDECREF(second);
    pt_close(&a);
    return given;
}

/* take(x, order) -> the elements at these places */
PyObject *pt_gather(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, order, result;
    tally_view v, places, out;
    PyObject *object = NULL;
    if (pt_count("take", count, 2)) return NULL;
    if (open_flat(args[0], "x", &a, &v)) return NULL;
    if (open_flat(args[1], "order", &order, &places)) {
        pt_close(&a);
        return NULL;
    }
    pt_slot *slot = NULL;
    if (order.dtype != TALLY_I64 || order.is_bool || (order.size > 1 && places.stride != 1) ||
        (uintptr_t)order.data % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "order must be int64, dense and aligned");
    } else if ((slot = pt_take(NULL, NULL)) && !pt_make(&a, a.dtype, a.is_bool, 1, &order.size, &result, &object)) {
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

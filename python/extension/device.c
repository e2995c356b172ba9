/* SPDX-License-Identifier: MIT
 * Copies arrays on a device to the host, for work that needs host memory, and results back; and
 * what an array's own library does on the device. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Copies between host memory and an array on a device, after the work on the array's stream is
 * done. */
static int copy(const pt_operand *a, void *to, const void *from, int64_t bytes)
{
    pt_slot *slot = pt_take(a, NULL);
    if (!slot) return -1;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
    if (!status) status = tally_copy(slot->ctx, to, from, (size_t)bytes);
    status = pt_stream_end(slot, status);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
    pt_give_back(slot);
    return status ? -1 : 0;
}

int pt_to_host(pt_operand *a)
{
    int64_t low = 0, high = pt_bytes(a);
    if (a->device < 0) return 0;
    for (int i = 0; i < a->ndim && a->size; i++)
        *(a->strides[i] < 0 ? &low : &high) += (a->shape[i] - 1) * a->strides[i];
    char *packed = malloc((size_t)(high - low));
    if (!packed) {
        PyErr_NoMemory();
        return -1;
    }
    if (a->size && copy(a, packed, a->data + low, high - low)) {
        free(packed);
        return -1;
    }
    a->copy = packed;
    a->data = packed - low;
    a->device = -1;
    a->stream = NULL;
    return 0;
}

int pt_from_host(const pt_operand *a, const void *from)
{
    return a->size ? copy(a, a->data, from, a->size * pt_bytes(a)) : 0;
}

/* ---- by the array's own library ---- */

/* The array that is read: x itself, or what it was rearranged to. */
static PyObject *array_of(const pt_operand *a)
{
    return a->converted ? PyTuple_GetItem(a->converted, 0) : a->object;
}

/* Reads the elements of the first of these arrays instead, and owns all of them, and what it owned
 * before. */
static int become(pt_operand *a, PyObject *all)
{
    pt_operand b;
    PyObject *const first = PyTuple_GetItem(all, 0), *const before = a->converted;
    if (pt_open(first, a->name, &b)) return -1;
    a->data = b.data;
    a->ndim = b.ndim;
    memcpy(a->shape, b.shape, sizeof a->shape);
    memcpy(a->strides, b.strides, sizeof a->strides);
    pt_close(&b);
    a->converted = PyTuple_Pack(3, first, all, before ? before : Py_None);
    Py_XDECREF(before);
    return a->converted ? 0 : -1;
}

/* Whether one stride visits the elements of the axes that are reduced. */
static int is_walkable(const pt_operand *a, uint64_t mask)
{
    pt_dim dim[PT_DIMS];
    int folded = 0;
    for (int i = 0; i < a->ndim; i++)
        if (mask >> i & 1) dim[folded++] = (pt_dim){.n = a->shape[i], .in = a->strides[i]};
    return pt_join(dim, folded) <= 1;
}

int pt_rearrange(pt_operand *a, uint64_t *mask, PyObject **next, PyObject **where)
{
    if (a->device < 0 || !a->size || is_walkable(a, *mask)) return 0;
    PyObject *axes = PyList_New(0), *all = NULL;
    for (int i = 0; axes && i < a->ndim; i++) {
        PyObject *axis = *mask >> i & 1 ? PyLong_FromLong(i) : NULL;
        if (axis && PyList_Append(axes, axis)) Py_CLEAR(axes);
        Py_XDECREF(axis);
    }
    if (axes)
        all =
            PyObject_CallFunctionObjArgs(pt_rearrange_helper, a->object, axes, *next, *where, NULL);
    Py_XDECREF(axes);
    int failed = !all;
    if (all && all != Py_None && !(failed = become(a, all))) {
        *next = PyTuple_GetItem(all, 1); /* owned by a */
        *where = PyTuple_GetItem(all, 2);
        *mask = (uint64_t)1 << (a->ndim - 1);
    }
    Py_XDECREF(all);
    return failed ? -1 : 0;
}

int pt_leave_out_there(pt_operand *a, PyObject *where, const char *name)
{
    pt_operand bits;
    PyObject *text = PyUnicode_FromString(name), *all = NULL;
    if (text) all = PyObject_CallFunctionObjArgs(pt_bits_helper, array_of(a), where, text, NULL);
    Py_XDECREF(text);
    int failed = !all ? -1 : all == Py_None;
    if (!failed) failed = become(a, all);
    if (!failed && !(failed = pt_open(PyTuple_GetItem(all, 1), name, &bits))) {
        a->valid = bits.data;
        a->valid_offset = 0;
        pt_close(&bits);
    }
    Py_XDECREF(all);
    return failed;
}

/* The result of no elements, as a Python number. The processors know it too. */
static PyObject *of_nothing(const pt_verb *verb, const pt_operand *a)
{
    char value[64];
    tally_view none = {.dtype = a->dtype, .rows = 1, .stride = 1}, second = none;
    pt_slot *slot = pt_take(NULL, NULL);
    if (!slot) return NULL;
    if (verb->next) {
        second.dtype = verb->next->dtype;
        none.next = &second;
    }
    const tally_status status = tally_reduce(slot->ctx, verb->op, &none, value);
    PyObject *number = status ? NULL : pt_value(verb->info.output, verb->out_bool, value);
    if (status) pt_raise(slot->ctx, status);
    pt_give_back(slot);
    return number;
}

int pt_fill_ends(PyObject *out, int axis, int64_t first, int64_t last, PyObject *value)
{
    PyObject *const done = value ? PyObject_CallFunction(pt_fill_helper, "OiLLO", out, axis,
                                                         (long long)first, (long long)last, value)
                                 : NULL;
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int pt_fill_first(const pt_verb *verb, const pt_operand *a, PyObject *out, int axis)
{
    PyObject *const value = of_nothing(verb, a);
    const int failed = pt_fill_ends(out, axis, 1, 0, value);
    Py_XDECREF(value);
    return failed;
}

/* SPDX-License-Identifier: MIT
 * Exact sums as values: a state is the 576 bytes of a tally_exact (doc/exact.md). The class is in
 * _exact.py. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Reads a state from bytes. */
static int read_state(PyObject *object, tally_exact *sum)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(object, &bytes, &length)) return -1;
    if (length == (Py_ssize_t)sizeof *sum) {
        memcpy(sum, bytes, sizeof *sum);
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "data has %zd bytes: the state of an exact sum has %zu", length,
                 sizeof *sum);
    return -1;
}

static PyObject *state_of(const tally_exact *sum)
{
    return PyBytes_FromStringAndSize((const char *)sum, (Py_ssize_t)sizeof *sum);
}

/* Adds the elements of x; copies them piece by piece if no stride visits them. No GIL. */
static tally_status add(tally *ctx, tally_exact *sum, const pt_operand *a, int sign)
{
    enum { PIECE = 1 << 22 };
    pt_dim dim[PT_DIMS];
    tally_status (*const call)(tally *, tally_exact *, const tally_view *) =
        sign < 0 ? tally_exact_subtract : tally_exact_add;
    const int64_t bytes = (int64_t)tally_dtype_size(a->dtype);
    for (int i = 0; i < a->ndim; i++) dim[i] = (pt_dim){a->shape[i], a->strides[i], 0};
    const int dims = a->size && !a->chunks ? pt_join(dim, a->ndim) : 0;
    if (a->valid) {
        pt_sequence s;
        const tally_status status = pt_sequence_open(a, NULL, &s);
        if (status) return status;
        const tally_status added = call(ctx, sum, &s.view);
        pt_sequence_close(&s);
        return added;
    }
    tally_view v = {.data = a->data, .dtype = a->dtype, .rows = 1, .n = a->size, .stride = 1};
    if (!a->chunks && (!a->size || dims == 0 || (dims == 1 && dim[0].in % bytes == 0))) {
        if (a->size && dims) v.stride = dim[0].in / bytes;
        return call(ctx, sum, &v);
    }
    tally_status status = TALLY_OK;
    for (int64_t i = 0; i < a->chunk_count && !status; i++) {
        v.data = (void *)(uintptr_t)a->chunks[i].data;
        v.n = a->chunks[i].n;
        status = call(ctx, sum, &v);
    }
    if (a->chunks) return status;
    if (!(v.data = malloc(PIECE))) return TALLY_NO_MEMORY;
    const pt_elements all = {a->data, dim, dims, bytes};
    for (int64_t at = 0; at < a->size && !status; at += v.n) {
        v.n = a->size - at < PIECE / bytes ? a->size - at : PIECE / bytes;
        pt_pack(v.data, &all, at, v.n);
        status = call(ctx, sum, &v);
    }
    free(v.data);
    return status;
}

/* exact_add(state, x, sign, where) -> state */
PyObject *pt_exact_add(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_inputs in;
    tally_exact sum;
    if (pt_count("exact_add", count, 4) || read_state(args[0], &sum)) return NULL;
    const long sign = PyLong_AsLong(args[2]);
    if (sign == -1 && PyErr_Occurred()) return NULL;
    if (pt_open_inputs(args[1], Py_None, args[3], NULL, &in)) return NULL;
    pt_slot *slot = pt_to_host(&in.a) ? NULL : pt_take(NULL, NULL);
    PyObject *object = NULL;
    if (slot) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = add(slot->ctx, &sum, &in.a, (int)sign);
        Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
        else object = state_of(&sum);
    }
    pt_give_back(slot);
    pt_close_inputs(&in);
    return object;
}

/* exact_join(state, state, sign) -> state */
PyObject *pt_exact_join(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tally_exact a, b;
    if (pt_count("exact_join", count, 3) || read_state(args[0], &a) || read_state(args[1], &b))
        return NULL;
    const long sign = PyLong_AsLong(args[2]);
    if (sign == -1 && PyErr_Occurred()) return NULL;
    if (sign < 0)
        tally_exact_unmerge(&a, &b);
    else
        tally_exact_merge(&a, &b);
    return state_of(&a);
}

/* exact_value(state, op, dtype) -> number */
PyObject *pt_exact_value(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tally_exact sum;
    tally_dtype dtype;
    int is_bool;
    double value; /* space for any result */
    if (pt_count("exact_value", count, 3) || read_state(args[0], &sum)) return NULL;
    PyObject *text = PyUnicode_AsUTF8String(args[1]), *object = NULL;
    if (text && !pt_dtype_of(args[2], &dtype, &is_bool)) {
        if (dtype != TALLY_F32 && dtype != TALLY_F64)
            PyErr_Format(PyExc_ValueError, "dtype is %s: must be float32 or float64",
                         pt_dtype_name(dtype, is_bool));
        else if (tally_exact_value(NULL, &sum, PyBytes_AsString(text), dtype, &value))
            pt_raise(NULL, TALLY_INVALID);
        else
            object = pt_value(dtype, 0, &value);
    }
    Py_XDECREF(text);
    return object;
}

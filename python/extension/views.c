/* SPDX-License-Identifier: MIT
 * Arrays as views of the library: in place, or in dense copies if no stride visits their elements
 * (nothing of this needs the GIL). Copies of arrays on a device on the host, for work that needs
 * host memory, and of results back; and what an array's own library does on the device. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

tally_view pt_view(const pt_operand *a, const char *at, int64_t rows, int64_t n, int64_t row_stride,
                   int64_t stride)
{
    const int64_t bytes = pt_bytes(a);
    tally_view v = {(char *)(uintptr_t)at, a->dtype, rows, n, row_stride / bytes,
                    stride / bytes,        NULL,     NULL, 0, NULL};
    if (rows == 1 && v.stride == 0) v.row_stride = 1; /* the element is meant to be repeated */
    v.valid = a->valid;
    if (a->valid) v.valid_offset = a->valid_offset + (at - a->data) / bytes;
    return v;
}

/* Packs the bits of elements in C order of these dimensions. `at` is the place of the first
 * element, *to the number of its bit in `bits`. */
static void pack_bits(uint8_t *bits, int64_t *to, const pt_operand *a, const pt_dim *dim, int dims,
                      int64_t at)
{
    const int64_t step = dims ? dim->in / pt_bytes(a) : 0, n = dims ? dim->n : 1;
    for (int64_t i = 0; i < n; i++, at += step) {
        if (dims > 1)
            pack_bits(bits, to, a, dim + 1, dims - 1, at);
        else if (pt_is_valid(a, at))
            bits[*to >> 3] |= (uint8_t)(1 << (*to & 7));
        *to += dims <= 1;
    }
}

tally_status pt_pack_axes(const pt_operand *a, const int *axes, pt_operand *dense)
{
    pt_dim dim[PT_DIMS];
    const int64_t bytes = pt_bytes(a);
    *dense = *a;
    dense->valid_offset = 0;
    dense->bits = NULL;
    int64_t reach = bytes, to = 0;
    for (int i = a->ndim - 1; i >= 0; i--) {
        const int axis = axes ? axes[i] : i;
        dim[i] = (pt_dim){.n = a->shape[axis], .in = a->strides[axis]};
        dense->strides[axis] = reach;
        reach *= a->shape[axis];
    }
    const int dims = pt_join(dim, a->ndim);
    dense->copy = dense->data = malloc((size_t)reach);
    if (a->valid) dense->valid = dense->bits = calloc((size_t)(a->size / 8 + 1), 1);
    if (!dense->copy || (a->valid && !dense->bits)) {
        pt_unpack_axes(dense);
        return TALLY_NO_MEMORY;
    }
    const pt_elements all = {a->data, dim, dims, bytes};
    pt_pack(dense->data, &all, 0, a->size);
    if (a->valid) pack_bits(dense->bits, &to, a, dim, dims, 0);
    return TALLY_OK;
}

void pt_unpack_axes(pt_operand *dense)
{
    free(dense->copy);
    free(dense->bits);
}

tally_status pt_sequence_open(const pt_operand *a, const pt_operand *next, pt_sequence *s)
{
    const pt_operand *from[2] = {a, next};
    pt_dim dim[PT_DIMS] = {{.n = 0}};
    s->copies = 0;
    for (int i = 0; i < a->ndim; i++)
        dim[i] =
            (pt_dim){.n = a->shape[i], .in = a->strides[i], .next = next ? next->strides[i] : 0};
    const int dims = a->size ? pt_join(dim, a->ndim) : 0;
    if (a->size &&
        (dims > 1 || !pt_even(a, pt_bytes(a)) || (next && !pt_even(next, pt_bytes(next))))) {
        for (int k = 0; k < 2 && from[k]; k++) {
            if (pt_pack_axes(from[k], NULL, &s->copy[k])) {
                pt_sequence_close(s);
                return TALLY_NO_MEMORY;
            }
            from[s->copies++] = &s->copy[k];
        }
    }
    const int there = dims == 1 && !s->copies;
    s->view = pt_view(from[0], from[0]->data, 1, a->size, 0, there ? dim[0].in : pt_bytes(a));
    if (!next) return TALLY_OK;
    s->second =
        pt_view(from[1], from[1]->data, 1, a->size, 0, there ? dim[0].next : pt_bytes(next));
    s->view.next = &s->second;
    return TALLY_OK;
}

void pt_sequence_close(pt_sequence *s)
{
    while (s->copies > 0) pt_unpack_axes(&s->copy[--s->copies]);
}

/* ---- devices ---- */

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

/* Makes `a` an operand of all[0], and keeps `all` alive, and what it kept before. */
static int take_first(pt_operand *a, PyObject *all)
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
    if (all && all != Py_None && !(failed = take_first(a, all))) {
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
    if (!failed) failed = take_first(a, all);
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

/* SPDX-License-Identifier: MIT
 * Axes, and the fewest strides that visit their elements. A view of tally.h has two strides, of
 * rows and of elements. The axes of an array are joined to as few dimensions as its strides allow:
 *
 *  shape (2, 3, 4, 5), C order, axis 2  ->  kept (2, 3), (5): joined 6 rows of stride 20,
 *                                           and 5 of stride 1
 *
 * The last kept dimension becomes the rows of one call; a loop runs over the dimensions before
 * it. If several axes are reduced and no single stride visits their elements, they are copied to
 * dense memory piece by piece (walk.c). */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

int pt_count(const char *function, Py_ssize_t given, Py_ssize_t expected)
{
    if (given == expected) return 0;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, expected, given);
    return -1;
}

int pt_integer(PyObject *object, const char *name, int64_t *value)
{
    PyObject *const whole = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    *value = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (!PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s is %R: must be an integer", name, object);
    } else if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s is %R: must fit 64 bits", name, object);
    }
    return PyErr_Occurred() ? -1 : 0;
}

const char *pt_string(PyObject *object, const char *name)
{
    Py_ssize_t length;
    const char *const text =
        PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &length) : NULL;
    if (!PyUnicode_Check(object))
        PyErr_Format(PyExc_TypeError, "%s is %R: must be a string", name, object);
    if (!text || (Py_ssize_t)strlen(text) == length) return text;
    PyErr_Format(PyExc_ValueError, "%s is %R: must have no zero bytes", name, object);
    return NULL;
}

static int one_axis(PyObject *item, const pt_operand *a)
{
    if (!PyIndex_Check(item) || PyBool_Check(item)) {
        PyErr_Format(PyExc_TypeError, "axis is %R: must be None, an integer or a tuple of integers",
                     item);
        return -1;
    }
    PyObject *whole = PyNumber_Index(item);
    long at = whole ? PyLong_AsLong(whole) : -1;
    Py_XDECREF(whole);
    if (at == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
        PyErr_Clear();
        at = PT_DIMS;
    }
    if (at >= -a->ndim && at < a->ndim) return (int)(at < 0 ? at + a->ndim : at);
    PyErr_Format(PyExc_ValueError, "axis is %R: %s has %d axes", item, a->name, a->ndim);
    return -1;
}

int pt_axes(PyObject *axis, const pt_operand *a, uint64_t *mask)
{
    *mask = a->ndim >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << a->ndim) - 1;
    if (axis == Py_None) return 0;
    *mask = 0;
    Py_ssize_t n = PyTuple_Check(axis) ? PyTuple_Size(axis) : 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int at = one_axis(PyTuple_Check(axis) ? PyTuple_GetItem(axis, i) : axis, a);
        if (at < 0) return -1;
        if (*mask >> at & 1) {
            PyErr_Format(PyExc_ValueError, "axis is %R: an axis comes twice", axis);
            return -1;
        }
        *mask |= (uint64_t)1 << at;
    }
    return 0;
}

int pt_axis(PyObject *axis, const pt_operand *a, int *at)
{
    if (axis == Py_None && a->ndim == 1) {
        *at = 0;
        return 0;
    }
    if (axis == Py_None) {
        if (a->ndim)
            PyErr_Format(PyExc_ValueError, "axis: %s has %d axes, so one must be named", a->name,
                         a->ndim);
        else
            PyErr_Format(PyExc_ValueError, "%s is one number: must have at least one axis",
                         a->name);
        return -1;
    }
    *at = one_axis(axis, a);
    return *at < 0 ? -1 : 0;
}

int pt_join(pt_dim *dim, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        pt_dim d = dim[i];
        if (d.n == 1) continue;
        pt_dim *last = left ? &dim[left - 1] : NULL;
        int64_t in, out, next;
        if (last && !__builtin_mul_overflow(d.in, d.n, &in) &&
            !__builtin_mul_overflow(d.out, d.n, &out) &&
            !__builtin_mul_overflow(d.next, d.n, &next) && in == last->in && out == last->out &&
            next == last->next)
            *last = (pt_dim){last->n * d.n, d.in, d.out, d.next};
        else
            dim[left++] = d;
    }
    return left;
}

/* ---- copies ---- */

static void copy_line(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                      int64_t bytes)
{
#define LINE(size) \
    for (; n > 0; n--, to += to_step, from += from_step) memcpy(to, from, size)
    if (to_step == bytes && from_step == bytes)
        memcpy(to, from, (size_t)(n * bytes));
    else if (bytes == 8)
        LINE(8);
    else if (bytes == 4)
        LINE(4);
    else if (bytes == 2)
        LINE(2);
    else if (bytes == 1)
        LINE(1);
    else
        LINE((size_t)bytes);
#undef LINE
}

void pt_pack(char *to, const pt_elements *e, int64_t first, int64_t count)
{
    const pt_dim *const dim = e->dim;
    const int dims = e->dims;
    const int64_t bytes = e->bytes;
    const char *from = e->data;
    int64_t at[PT_DIMS];
    if (dims == 0) {
        if (count) memcpy(to, from, (size_t)bytes);
        return;
    }
    for (int i = dims - 1; i >= 0; i--) {
        at[i] = first % dim[i].n;
        first /= dim[i].n;
        from += at[i] * dim[i].in;
    }
    const pt_dim *line = &dim[dims - 1];
    while (count > 0) {
        int64_t now = line->n - at[dims - 1] < count ? line->n - at[dims - 1] : count;
        copy_line(to, bytes, from, line->in, now, bytes);
        to += now * bytes;
        if ((count -= now) == 0) return;
        from -= at[dims - 1] * line->in; /* moves to the next line */
        at[dims - 1] = 0;
        for (int i = dims - 2; i >= 0; i--) {
            from += dim[i].in;
            if (++at[i] < dim[i].n) break;
            from -= dim[i].n * dim[i].in;
            at[i] = 0;
        }
    }
}

void pt_unpack(char *to, const char *from, const pt_dim *dim, int dims, int64_t count,
               int64_t bytes)
{
    int64_t at[PT_DIMS] = {0};
    if (dims == 0) {
        if (count) memcpy(to, from, (size_t)bytes);
        return;
    }
    const pt_dim *line = &dim[dims - 1];
    for (; count > 0; count -= line->n, from += line->n * bytes) {
        copy_line(to, line->out, from, bytes, line->n, bytes);
        for (int i = dims - 2; i >= 0; i--) {
            to += dim[i].out;
            if (++at[i] < dim[i].n) break;
            to -= dim[i].n * dim[i].out;
            at[i] = 0;
        }
    }
}

/* ---- overlapping memory ---- */

static void extent(const pt_operand *a, int64_t bytes, uintptr_t *low, uintptr_t *high)
{
    *low = (uintptr_t)a->data;
    *high = *low + (uintptr_t)bytes;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] < 0)
            *low += (uintptr_t)((a->shape[i] - 1) * a->strides[i]);
        else
            *high += (uintptr_t)((a->shape[i] - 1) * a->strides[i]);
}

int pt_overlap(const pt_operand *a, const pt_operand *b, int64_t bytes_a, int64_t bytes_b)
{
    uintptr_t p, q, r, s;
    if (!a->size || !b->size) return 0;
    for (int64_t i = 0; i < a->chunk_count; i++) {
        pt_operand chunk = {
            .data = (char *)(uintptr_t)a->chunks[i].data, .ndim = 1, .size = a->chunks[i].n};
        chunk.shape[0] = chunk.size;
        chunk.strides[0] = bytes_a;
        if (pt_overlap(&chunk, b, bytes_a, bytes_b)) return 1;
    }
    if (a->chunks) return 0;
    extent(a, bytes_a, &p, &q);
    extent(b, bytes_b, &r, &s);
    return q > r && s > p;
}

static int by_stride(const void *a, const void *b)
{
    int64_t x = llabs(((const pt_dim *)a)->in), y = llabs(((const pt_dim *)b)->in);
    return (x > y) - (x < y);
}

/* Checks that each stride is larger than the extent of all smaller ones. This is true of all
 * arrays except those with manipulated strides. */
int pt_distinct(const pt_operand *a, int64_t bytes)
{
    pt_dim dim[PT_DIMS];
    int count = 0;
    int64_t reach = bytes;
    if (!a->size) return 1;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] > 1) dim[count++] = (pt_dim){a->shape[i], a->strides[i], 0};
    qsort(dim, (size_t)count, sizeof *dim, by_stride);
    for (int i = 0; i < count; i++) {
        if (llabs(dim[i].in) < reach) return 0;
        reach += (dim[i].n - 1) * llabs(dim[i].in);
    }
    return 1;
}

int pt_even(const pt_operand *a, int64_t bytes)
{
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] > 1 && a->strides[i] % bytes) return 0;
    return 1;
}

/* SPDX-License-Identifier: MIT
 * Reads the buffer protocol, and the array interfaces of NumPy and CUDA, which give the same facts
 * in a dictionary:
 *
 *  {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (address, read-only),
 *   "strides": None or (12, 4), "stream": None, 1, 2 or a pointer (CUDA)} */
#include "pt.h"
#include <string.h>

/* Replaces big-endian elements in host memory by a copy in C order and in native byte order. */
static int swap(pt_operand *a)
{
    pt_operand dense;
    if (a->device >= 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s has big-endian elements on a device: must be little-endian", a->name);
        return -1;
    }
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_pack_axes(a, NULL, &dense);
    Py_END_ALLOW_THREADS if (status)
    {
        PyErr_NoMemory();
        return -1;
    }
    const int64_t bytes = pt_bytes(a);
    for (char *at = dense.data; at < dense.data + a->size * bytes; at += bytes)
        for (int64_t i = 0; i < bytes / 2; i++) {
            const char byte = at[i];
            at[i] = at[bytes - 1 - i];
            at[bytes - 1 - i] = byte;
        }
    memcpy(a->strides, dense.strides, sizeof a->strides);
    a->copy = a->data = dense.data;
    a->readonly = 1;
    return 1;
}

/* ---- buffers ---- */

static void release_buffer(pt_operand *a) { PyBuffer_Release(&a->buffer); }

/* Reads a buffer's format. *swapped: the elements have the other byte order. */
static int read_format(pt_operand *a, const char *format, int64_t bytes, int *swapped)
{
    enum { ORDER = 'o' };
    static const char kinds[256] = {
        ['@'] = ORDER, ['='] = ORDER, ['<'] = ORDER, ['>'] = ORDER, ['!'] = ORDER, ['?'] = 'b',
        ['b'] = 'i',   ['h'] = 'i',   ['i'] = 'i',   ['l'] = 'i',   ['q'] = 'i',   ['n'] = 'i',
        ['B'] = 'u',   ['H'] = 'u',   ['I'] = 'u',   ['L'] = 'u',   ['Q'] = 'u',   ['N'] = 'u',
        ['e'] = 'f',   ['f'] = 'f',   ['d'] = 'f'};
    const unsigned char *at = (const unsigned char *)(format ? format : "B");
    *swapped = (*at == '>' || *at == '!') && bytes > 1;
    if (kinds[*at] == ORDER) at++;
    const char kind = *at && !at[1] && kinds[*at] != ORDER ? kinds[*at] : 0;
    a->dtype = kind ? pt_dtype_find(kind, bytes, &a->is_bool) : 0;
    return a->dtype ? 0 : pt_refuse_format(a, format ? format : "B", bytes);
}

int pt_from_new(PyObject *object, pt_operand *a)
{
    if (PyObject_GetBuffer(object, &a->buffer, PyBUF_WRITABLE)) return -1;
    a->release = release_buffer;
    a->data = a->buffer.buf;
    return pt_settle(a, 0);
}

int pt_from_buffer(PyObject *object, pt_operand *a, int writable)
{
    Py_buffer *b = &a->buffer;
    if (PyObject_GetBuffer(object, b, PyBUF_RECORDS_RO)) {
        /* not such a buffer: try other protocols. Other exceptions (KeyboardInterrupt) are kept */
        if (!PyErr_ExceptionMatches(PyExc_BufferError) &&
            !PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    a->release = release_buffer;
    a->readonly = b->readonly;
    int swapped;
    if (writable && a->readonly) return 1;
    if (read_format(a, b->format, b->itemsize, &swapped)) return -1;
    if (writable && swapped) {
        PyErr_Format(PyExc_TypeError,
                     "%s has big-endian elements: must be little-endian, as this machine is",
                     a->name);
        return -1;
    }
    a->data = b->buf;
    a->ndim = b->ndim;
    if (a->ndim < 0 || a->ndim > PT_DIMS || (a->ndim && !b->shape) || b->suboffsets) {
        PyErr_Format(PyExc_ValueError,
                     "%s: its buffer has %d dimensions%s: must be 0 to %d, without suboffsets",
                     a->name, a->ndim, b->suboffsets ? " and suboffsets" : "", (int)PT_DIMS);
        return -1;
    }
    for (int i = 0; i < a->ndim; i++) {
        a->shape[i] = b->shape[i];
        a->strides[i] = b->strides ? b->strides[i] : 0;
    }
    if (pt_settle(a, b->strides != NULL)) return -1;
    return swapped && a->size ? swap(a) : 1;
}

/* ---- array interfaces ---- */

/* bfloat16 has no letter in array interfaces: it is two opaque bytes, and the object has a dtype
 * with that name. */
static int is_bfloat16(PyObject *object)
{
    PyObject *dtype = pt_attribute(object, "dtype"),
             *name = dtype ? pt_attribute(dtype, "name") : NULL;
    int is = name && PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "bfloat16");
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

static int read_typestr(PyObject *object, pt_operand *a, PyObject *typestr, int *swapped)
{
    Py_ssize_t length = 0;
    const char *text =
        typestr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &length) : NULL;
    if (!text || length < 3) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: its typestr must be a string such as '<f4'",
                         a->name);
        return -1;
    }
    int64_t bytes = 0;
    for (const char *p = text + 2; *p; p++)
        bytes = *p >= '0' && *p <= '9' && bytes < 1000 ? bytes * 10 + *p - '0' : 1000;
    int other = text[1] == 'V' && !is_bfloat16(object);
    a->dtype = other || !strchr("iufbV", text[1]) ? 0 : pt_dtype_find(text[1], bytes, &a->is_bool);
    if (!a->dtype || !strchr("<>|=", text[0])) return pt_refuse_typestr(a, object, text);
    *swapped = text[0] == '>' && bytes > 1;
    return 0;
}

static int read_data(pt_operand *a, PyObject *data)
{
    int readonly = -1;
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
        PyObject *address = PyTuple_GetItem(data, 0);
        readonly = PyObject_IsTrue(PyTuple_GetItem(data, 1));
        if (readonly < 0) return -1;
        if (PyLong_Check(address))
            a->data = PyLong_AsVoidPtr(address);
        else if (address != Py_None)
            readonly = -1;
        if (PyErr_Occurred()) return -1;
    }
    if (readonly < 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s: the interface's data must be a pair (address, read-only)", a->name);
        return -1;
    }
    a->readonly = readonly;
    return 0;
}

static void release_interface(pt_operand *a) { Py_CLEAR(a->held); }

static int read_interface(PyObject *object, pt_operand *a, PyObject *dict)
{
    PyObject *shape = PyDict_GetItemString(dict, "shape"),
             *strides = PyDict_GetItemString(dict, "strides");
    PyObject *mask = PyDict_GetItemString(dict, "mask");
    if (mask && mask != Py_None) {
        PyErr_Format(PyExc_TypeError,
                     "%s has a mask: this version of tally has none; fill it with NaN", a->name);
        return -1;
    }
    int swapped = 0;
    if (read_typestr(object, a, PyDict_GetItemString(dict, "typestr"), &swapped)) return -1;
    if (read_data(a, PyDict_GetItemString(dict, "data"))) return -1;
    if (pt_sizes(shape ? shape : Py_None, "shape", a, a->shape, &a->ndim)) return -1;
    int given = strides && strides != Py_None, count;
    if (given && pt_sizes(strides, "strides", a, a->strides, &count)) return -1;
    if (given && count != a->ndim) {
        PyErr_Format(PyExc_ValueError, "%s: %d strides for %d dimensions", a->name, count, a->ndim);
        return -1;
    }
    if (pt_settle(a, given)) return -1;
    if (a->device < 0 && a->kind != PT_NUMPY && pt_believe(a)) return -1;
    return swapped && a->size ? swap(a) : 1;
}

/* Keeps the dictionary as long as the operand, because its producer may free the memory with it. */
static int hold_interface(PyObject *object, pt_operand *a, const char *name)
{
    PyObject *dict = pt_attribute(object, name);
    if (!dict) return PyErr_Occurred() ? -1 : 0;
    /* a class attribute of another kind, such as a property */
    if (!PyDict_Check(dict)) {
        Py_DECREF(dict);
        if (PyType_Check(object)) return 0;
        PyErr_Format(PyExc_ValueError, "%s: its %s must be a dictionary", a->name, name);
        return -1;
    }
    a->held = PyDict_Copy(dict);
    Py_DECREF(dict);
    if (!a->held) return -1;
    a->release = release_interface;
    return 1;
}

int pt_from_interface(PyObject *object, pt_operand *a)
{
    int held = hold_interface(object, a, "__array_interface__");
    return held > 0 ? read_interface(object, a, a->held) : held;
}

int pt_from_cuda(PyObject *object, pt_operand *a)
{
    int held = hold_interface(object, a, "__cuda_array_interface__");
    if (held <= 0) return held;
    PyObject *stream = PyDict_GetItemString(a->held, "stream");
    if (stream && stream != Py_None) {
        a->stream = PyLong_Check(stream) ? PyLong_AsVoidPtr(stream) : NULL;
        if (PyErr_Occurred()) return -1;
        if (!a->stream) {
            PyErr_Format(PyExc_ValueError,
                         "%s: the interface's stream must be None or an integer that is not 0",
                         a->name);
            return -1;
        }
        a->passing = (uintptr_t)a->stream > 2; /* not one of CUDA's two default streams */
    }
    /* the interface does not give the device: the object may, else it is device 0 */
    PyObject *device = pt_attribute(object, "device"),
             *id = device ? pt_attribute(device, "id") : NULL;
    PyErr_Clear();
    a->device = id && PyLong_Check(id) ? (int)PyLong_AsLong(id) : 0;
    Py_XDECREF(device);
    Py_XDECREF(id);
    if (PyErr_Occurred() || a->device < 0) {
        PyErr_Clear();
        a->device = 0;
    }
    return read_interface(object, a, a->held);
}

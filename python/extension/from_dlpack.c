/* SPDX-License-Identifier: MIT
 * Reads DLPack, 1.x and before: a capsule with a tensor. The consumer renames the capsule to mark
 * it as used, and calls the tensor's deleter when it is done (dmlc.github.io/dlpack). */
#include "pt.h"
#include "capsules.h"
#include <string.h>

static void release_new(pt_operand *a)
{
    pt_dl_versioned *m = a->held;
    if (m->deleter) m->deleter(m);
}
static void release_old(pt_operand *a)
{
    pt_dl_managed *m = a->held;
    if (m->deleter) m->deleter(m);
}

int pt_read_tensor(const pt_dl_tensor *t, pt_operand *a)
{
    static const char kinds[] = {'i', 'u', 'f', 0, 'V', 0, 'b'};
    char kind = t->dtype.code < sizeof kinds ? kinds[t->dtype.code] : 0;
    a->dtype = kind && t->dtype.lanes == 1 && t->dtype.bits % 8 == 0
                   ? pt_dtype_find(kind, t->dtype.bits / 8, &a->is_bool)
                   : 0;
    if (!a->dtype) return pt_refuse_dlpack(a, t->dtype.code, t->dtype.bits, t->dtype.lanes);
    int host = t->device.type == PT_DL_CPU || t->device.type == PT_DL_CUDA_HOST;
    if (!host && t->device.type != PT_DL_CUDA && t->device.type != PT_DL_CUDA_MANAGED)
        return pt_refuse_device(a, t->device.type);
    a->device = host ? -1 : t->device.id;
    a->ndim = t->ndim;
    if (t->ndim < 0 || t->ndim > PT_DIMS || (t->ndim && !t->shape) || (!host && t->device.id < 0)) {
        PyErr_Format(PyExc_ValueError,
                     "%s: its tensor has %d dimensions%s: must be 0 to %d with a shape", a->name,
                     t->ndim, t->ndim && !t->shape ? " and no shape" : "", (int)PT_DIMS);
        return -1;
    }
    int64_t bytes = (int64_t)tally_dtype_size(a->dtype);
    a->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    for (int i = 0; i < a->ndim; i++) {
        a->shape[i] = t->shape[i];
        if (t->strides && __builtin_mul_overflow(t->strides[i], bytes, &a->strides[i])) {
            PyErr_Format(PyExc_ValueError, "%s: stride %d is %lld elements: more bytes than 2^63",
                         a->name, i, (long long)t->strides[i]);
            return -1;
        }
    }
    return pt_settle(a, t->strides != NULL) ? -1 : 1;
}

static int read_tensor(const pt_dl_tensor *t, pt_operand *a)
{
    const int read = pt_read_tensor(t, a);
    return read > 0 && a->device < 0 && pt_believe(a) ? -1 : read;
}

static int read_new(PyObject *capsule, pt_operand *a)
{
    pt_dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (!m || PyCapsule_SetName(capsule, "used_dltensor_versioned")) return -1;
    a->held = m;
    a->release = release_new;
    if (m->major != 1) {
        PyErr_Format(PyExc_ValueError, "%s: its tensor is of DLPack %u: must be 1", a->name,
                     (unsigned)m->major);
        return -1;
    }
    a->readonly = (m->flags & (PT_DL_READ_ONLY | PT_DL_IS_COPY)) != 0;
    return read_tensor(&m->tensor, a);
}

static int read_old(PyObject *capsule, pt_operand *a)
{
    pt_dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (!m || PyCapsule_SetName(capsule, "used_dltensor")) return -1;
    a->held = m;
    a->release = release_old;
    return read_tensor(&m->tensor, a);
}

/* Whether the data is on a GPU. Then its producer must be told the stream that will read it. */
static int on_gpu(PyObject *object)
{
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    if (!pair) return -1;
    long type = -1;
    if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
        PyObject *number = PyNumber_Index(PyTuple_GetItem(pair, 0)); /* an int, or an IntEnum */
        type = number ? PyLong_AsLong(number) : -1;
        Py_XDECREF(number);
    }
    Py_DECREF(pair);
    if (PyErr_Occurred()) return -1;
    return type == PT_DL_CUDA || type == PT_DL_CUDA_MANAGED;
}

static PyObject *ask(PyObject *object, int gpu, int version)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *none = PyTuple_New(0),
             *names = PyDict_New();
    PyObject *legacy = PyLong_FromLong(1), *newest = Py_BuildValue("(ii)", 1, 1), *capsule = NULL;
    int bad = !method || !none || !names || !legacy || !newest;
    if (!bad && gpu) bad = PyDict_SetItemString(names, "stream", legacy);
    if (!bad && version) bad = PyDict_SetItemString(names, "max_version", newest);
    if (!bad) capsule = PyObject_Call(method, none, names);
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(names);
    Py_XDECREF(legacy);
    Py_XDECREF(newest);
    return capsule;
}

int pt_from_dlpack(PyObject *object, pt_operand *a)
{
    int gpu = on_gpu(object), read = -1;
    PyObject *capsule = gpu < 0 ? NULL : ask(object, gpu, 1);
    if (!capsule && gpu >= 0 && PyErr_ExceptionMatches(PyExc_TypeError)) { /* before DLPack 1.0 */
        PyErr_Clear();
        capsule = ask(object, gpu, 0);
    }
    if (!capsule) {
        if (PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_Clear();
            PyErr_Format(
                PyExc_ValueError,
                "%s: its __dlpack__ gives no tensor (one that needs a gradient, or another "
                "memory layout?)",
                a->name);
        }
        return -1;
    }
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        read = read_new(capsule, a);
    else if (PyCapsule_IsValid(capsule, "dltensor"))
        read = read_old(capsule, a);
    else
        PyErr_Format(PyExc_ValueError,
                     "%s: its __dlpack__ must give a capsule with a tensor that nobody has used",
                     a->name);
    Py_DECREF(capsule);
    /* cudaStreamLegacy, as requested; the producer may use the memory again after the call */
    if (read > 0 && gpu && a->device >= 0) {
        a->stream = (void *)1;
        a->passing = 1;
    }
    return read;
}

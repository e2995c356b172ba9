/* SPDX-License-Identifier: MIT
 * Chooses the protocol by which an object is read, in this order:
 *
 *  numpy.ndarray       its buffer, or __array_interface__ if NumPy has no format (bfloat16)
 *  tally.Array
 *  buffer protocol     bytes, array.array, memoryview, mmap
 *  PyTorch, CuPy       by their attributes (libraries.c)
 *  pandas              by tally._kinds.take
 *  Arrow               __arrow_c_array__, __arrow_c_stream__
 *  DLPack              __dlpack__: JAX, kinds of tensors that libraries.c does not read
 *  CUDA                __cuda_array_interface__: Numba
 *  __array_interface__
 *  anything else       numbers, lists: by tally._kinds.take */
#define _GNU_SOURCE
#include "pt.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

PyObject *pt_take_helper, *pt_give_helper, *pt_labels_helper, *pt_rearrange_helper, *pt_bits_helper,
    *pt_fill_helper, *pt_finish_helper;

PyObject *pt_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return value;
}

/* ---- NumPy, if it is imported ---- */

static PyObject *ndarray; /* kept for the life of the process once they are found */
PyObject *pt_numpy_empty, *pt_no_index;

static int find_numpy(void)
{
    PyObject *modules = PySys_GetObject("modules"); /* borrowed */
    PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
    if (!numpy) return 0;
    PyObject *type = pt_attribute(numpy, "ndarray"),
             *make = type ? pt_attribute(numpy, "empty") : NULL;
    if (!type || !make || !PyType_Check(type)) { /* NumPy is being imported: try again later */
        PyErr_Clear();
        Py_XDECREF(type);
        Py_XDECREF(make);
        return 0;
    }
    pt_no_index = PyTuple_New(0);
    pt_numpy_empty = make;
    ndarray = type;
    return 1;
}

static int is_ndarray(PyObject *object)
{
    if (!ndarray && !find_numpy()) return 0;
    return PyObject_TypeCheck(object, (PyTypeObject *)ndarray);
}

/* The mask of a masked array, whose data does not contain it: a new reference, or NULL. */
static int mask_of(PyObject *object, PyObject **mask)
{
    *mask = NULL;
    if (Py_TYPE(object) == (PyTypeObject *)ndarray) return 0;
    *mask = pt_attribute(object, "_mask");
    return !*mask && PyErr_Occurred() ? -1 : 0;
}

/* ---- the end of every protocol ---- */

int pt_settle(pt_operand *a, int strides_given)
{
    int64_t bytes = (int64_t)tally_dtype_size(a->dtype), low = 0, high = bytes, step, all;
    if (a->ndim < 0 || a->ndim > PT_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions: must be 0 to %d", a->name, a->ndim,
                     (int)PT_DIMS);
        return -1;
    }
    a->size = 1;
    int empty_ = 0, wrong = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "%s has %lld elements along axis %d: must be at least 0",
                         a->name, (long long)a->shape[i], i);
            return -1;
        }
        empty_ |= a->shape[i] == 0;
    }
    for (int i = a->ndim - 1; i >= 0; i--) {
        if (!strides_given && (__builtin_mul_overflow(a->size, bytes, &a->strides[i]))) wrong = 1;
        if (!empty_ && __builtin_mul_overflow(a->size, a->shape[i], &a->size)) wrong = 1;
        if (empty_ || wrong) continue;
        if (__builtin_mul_overflow(a->shape[i] - 1, a->strides[i], &step) ||
            __builtin_add_overflow(step < 0 ? low : high, step, step < 0 ? &low : &high))
            wrong = 1;
    }
    if (empty_) a->size = 0;
    if (wrong || __builtin_mul_overflow(a->size, bytes, &all) ||
        __builtin_sub_overflow(high, low, &step)) {
        PyErr_Format(PyExc_ValueError, "%s: its shape and strides are more bytes than 2^63",
                     a->name);
        return -1;
    }
    if (a->size && !a->data && !a->chunks) {
        PyErr_Format(PyExc_ValueError, "%s has %lld elements and no memory (a null pointer)",
                     a->name, (long long)a->size);
        return -1;
    }
    return 0;
}

/* Checks that the first and last byte of an address that an object claims are memory of this
 * process. The system is asked, which answers without a signal. If it does not allow the
 * question, the claim is accepted. */
static int readable(const char *at)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)at, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

int pt_believe(const pt_operand *a)
{
    if (!a->size) return 0;
    const char *low = a->data, *high = a->data + tally_dtype_size(a->dtype) - 1;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] < 0)
            low += (a->shape[i] - 1) * a->strides[i];
        else
            high += (a->shape[i] - 1) * a->strides[i];
    if (readable(low) && readable(high)) return 0;
    PyErr_Format(PyExc_ValueError, "%s: its address, %p, is no memory of this process", a->name,
                 (void *)a->data);
    return -1;
}

int pt_sizes(PyObject *tuple, const char *what, const pt_operand *a, int64_t *sizes, int *count)
{
    Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > PT_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s: %s must be a tuple of 0 to %d integers", a->name, what,
                     (int)PT_DIMS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i);
        PyObject *whole = item ? PyNumber_Index(item) : NULL;
        if (!whole) return -1;
        sizes[i] = PyLong_AsLongLong(whole);
        Py_DECREF(whole);
        if (sizes[i] == -1 && PyErr_Occurred()) return -1;
    }
    *count = (int)n;
    return 0;
}

void pt_open_begin(PyObject *object, const char *name, pt_operand *a)
{
    a->data = NULL;
    a->is_bool = a->ndim = a->readonly = 0;
    a->device = -1;
    a->stream = NULL;
    a->owner = NULL;
    a->passing = 0;
    a->kind = PT_OWN;
    a->object = object;
    a->converted = NULL;
    a->name = name;
    a->chunks = NULL;
    a->chunk_count = 0;
    a->valid = a->copy = a->bits = NULL;
    a->valid_offset = 0;
    a->release = NULL;
}

void pt_close(pt_operand *a)
{
    /* freeing memory may run Python code, which must not see the exception */
    PyObject *type, *value, *trace;
    int failed = PyErr_Occurred() != NULL;
    if (failed) PyErr_Fetch(&type, &value, &trace);
    if (a->release) a->release(a);
    a->release = NULL;
    Py_CLEAR(a->converted);
    Py_CLEAR(a->owner);
    free(a->copy);
    free(a->bits);
    a->copy = a->bits = NULL;
    if (failed) PyErr_Restore(type, value, trace);
}

/* ---- opening ---- */

/* Whether the object's class has the attribute. Attributes of the instance do not count: a
 * protocol is a property of the type. */
static int class_has(PyObject *object, const char *name)
{
    PyObject *found = pt_attribute((PyObject *)Py_TYPE(object), name);
    if (!found) PyErr_Clear();
    Py_XDECREF(found);
    return found != NULL;
}

/* The packages whose objects have labels, or are columns. */
static const char *const packages[] = {"pandas", "polars", "pyarrow", "xarray"};
enum { PANDAS, POLARS, PYARROW, XARRAY, PACKAGES };

/* The number of the package of a class: the first of its base classes that is in one counts, as a
 * user's subclass of Series is a Series. PACKAGES: none. */
static int package_of(PyObject *object)
{
    PyObject *bases = pt_attribute((PyObject *)Py_TYPE(object), "__mro__");
    const Py_ssize_t count = bases && PyTuple_Check(bases) ? PyTuple_Size(bases) : 0;
    int found = PACKAGES;
    for (Py_ssize_t i = 0; i < count && found == PACKAGES; i++) {
        PyObject *module = pt_attribute(PyTuple_GetItem(bases, i), "__module__");
        const char *name =
            module && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
        for (int k = 0; k < PACKAGES && name && found == PACKAGES; k++) {
            const size_t length = strlen(packages[k]);
            if (!strncmp(name, packages[k], length) && (!name[length] || name[length] == '.'))
                found = k;
        }
        Py_XDECREF(module);
    }
    Py_XDECREF(bases);
    PyErr_Clear();
    return found;
}

static int is_labelled(PyObject *object)
{
    if (is_ndarray(object)) return 0;
    const int package = package_of(object);
    return package == PANDAS || package == XARRAY;
}

int pt_is_labelled(PyObject *object)
{
    static PyObject *other; /* the last type of none of them, such as PyTorch's tensors */
    PyObject *const type = (PyObject *)Py_TYPE(object), *const before = other;
    if (type == other) return 0;
    /* none of these packages' objects is a buffer: a quick answer for most others */
    if (PyObject_CheckBuffer(object) || PyList_Check(object) || PyFloat_Check(object)) return 0;
    if (package_of(object) != PACKAGES) return 1;
    other = Py_NewRef(type);
    Py_XDECREF(before);
    return 0;
}

int pt_is_column(PyObject *object)
{
    const int package = package_of(object);
    return package == POLARS || package == PYARROW;
}

int pt_same_labels(const pt_operand *a, PyObject *object, const char *name)
{
    if (!a->object || !pt_labels_helper || !is_labelled(object) || !is_labelled(a->object))
        return 0;
    PyObject *text = PyUnicode_FromString(name);
    PyObject *done =
        text ? PyObject_CallFunctionObjArgs(pt_labels_helper, a->object, object, text, NULL) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int open_ndarray(PyObject *object, pt_operand *a, int writable)
{
    PyObject *mask;
    a->kind = PT_NUMPY;
    if (mask_of(object, &mask)) return -1;
    int read = mask && writable ? -1 : pt_from_buffer(object, a, writable);
    if (!read) read = pt_from_interface(object, a);
    if (mask && writable)
        PyErr_SetString(PyExc_TypeError,
                        "out is a masked array: must be an array without a mask; give its data");
    else if (mask && read > 0 && (is_ndarray(mask) || PyObject_IsTrue(mask)) &&
             pt_leave_out(a, mask, "mask", 1))
        read = -1; /* a masked array without a mask has numpy.False_ */
    Py_XDECREF(mask);
    return read;
}

/* Opens what take(object) returns: (the array to read, the kind of its results). */
static int open_converted(PyObject *object, pt_operand *a)
{
    if (!pt_take_helper) {
        PyErr_Format(PyExc_TypeError, "%s is of type %R: must be an array", a->name,
                     Py_TYPE(object));
        return -1;
    }
    PyObject *name = PyUnicode_FromString(a->name);
    PyObject *pair = name ? PyObject_CallFunctionObjArgs(pt_take_helper, object, name, NULL) : NULL;
    Py_XDECREF(name);
    if (!pair) return -1;
    int read = -1;
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_SystemError, "tally._kinds.take must give a pair");
    } else {
        a->converted = Py_NewRef(PyTuple_GetItem(pair, 0));
        long kind = PyLong_AsLong(PyTuple_GetItem(pair, 1)); /* a pt_kind */
        if (kind >= 0) read = is_ndarray(a->converted) ? open_ndarray(a->converted, a, 0) : 0;
        if (!read) read = pt_from_buffer(a->converted, a, 0);
        if (!read) read = pt_from_arrow(a->converted, a);
        a->kind = (pt_kind)kind;
        if (!read)
            PyErr_Format(PyExc_TypeError, "%s is of type %R: must be an array", a->name,
                         Py_TYPE(object));
    }
    Py_DECREF(pair);
    return read > 0 ? 1 : -1;
}

/* Opens a tally.Array, also of bfloat16, for which buffers have no format. */
static int open_own(const pt_array *array, pt_operand *a)
{
    a->data = array->data;
    a->dtype = array->dtype;
    a->is_bool = array->is_bool;
    a->ndim = array->ndim;
    for (int i = 0; i < a->ndim; i++) {
        a->shape[i] = array->shape[i];
        a->strides[i] = array->strides[i];
    }
    return pt_settle(a, 1) ? -1 : 1;
}

static int open_protocol(PyObject *object, pt_operand *a, int writable)
{
    int read = 0;
    if (Py_TYPE(object) == pt_array_type) return open_own((pt_array *)object, a);
    if (is_ndarray(object)) return open_ndarray(object, a, writable);
    if ((read = pt_from_library(object, a))) return read;
    /* a write to NumPy's scalars would reach a temporary copy */
    if (writable && class_has(object, "__array_wrap__") && !class_has(object, "__setitem__"))
        return 0;
    if (PyObject_CheckBuffer(object) && (!PyBytes_Check(object) || !writable)) {
        if (class_has(object, "__array_namespace__")) a->kind = PT_OTHER; /* such as jax.Array */
        /* NumPy's scalars have buffers too, but NumPy converts them */
        if (!class_has(object, "__array_wrap__") && (read = pt_from_buffer(object, a, writable)))
            return read;
    }
    if (!writable && package_of(object) == PANDAS) return open_converted(object, a);
    a->kind = PT_OTHER;
    if (!writable && (read = pt_from_arrow(object, a))) return read;
    if (class_has(object, "__dlpack__") && (!writable || class_has(object, "__setitem__")) &&
        (read = pt_from_dlpack(object, a)))
        return read;
    if ((read = pt_from_cuda(object, a)) || (read = pt_from_interface(object, a))) return read;
    a->kind = PT_OWN;
    return writable ? 0 : open_converted(object, a);
}

int pt_open(PyObject *object, const char *name, pt_operand *a)
{
    pt_open_begin(object, name, a);
    if (open_protocol(object, a, 0) > 0) {
        if (a->device >= 0 && pt_wants_host()) a->kind = pt_numpy_empty ? PT_NUMPY : PT_OWN;
        return 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s is of type %R: must be an array", name, Py_TYPE(object));
    pt_close(a);
    return -1;
}

int pt_open_plain(PyObject *object, const char *name, const char *what, pt_operand *a)
{
    if (pt_open(object, name, a)) return -1;
    if (!pt_has_nulls(a)) return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s has elements that are left out (nulls, a mask): %s takes arrays without", name,
                 what);
    pt_close(a);
    return -1;
}

int pt_open_out(PyObject *object, pt_operand *a)
{
    pt_open_begin(object, "out", a);
    int read = open_protocol(object, a, 1);
    if (read > 0 && !a->readonly && !a->chunks) return 0;
    if (read > 0)
        PyErr_SetString(PyExc_ValueError, "out is read-only: must be writable");
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "out is of type %R: must be a writable array",
                     Py_TYPE(object));
    pt_close(a);
    return -1;
}

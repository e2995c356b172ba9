/* SPDX-License-Identifier: MIT
 * tally.Array: an array for results without NumPy. It is dense memory with a dtype and a shape, and
 * offers the buffer protocol, __array_interface__, DLPack and Arrow (array_export.c), so that other
 * libraries can use it without a copy. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

PyTypeObject *pt_array_type;

static pt_array *bare(tally_dtype dtype, int is_bool, int ndim)
{
    pt_array *array = (pt_array *)PyType_GenericAlloc(pt_array_type, 0);
    if (!array) return NULL;
    array->dtype = dtype;
    array->is_bool = is_bool;
    array->ndim = ndim;
    array->shape = calloc((size_t)ndim * 2 + 1, sizeof *array->shape);
    array->strides = array->shape + ndim;
    if (array->shape) return array;
    Py_DECREF(array);
    return (pt_array *)PyErr_NoMemory();
}

PyObject *pt_array_new(tally_dtype dtype, int is_bool, int ndim, const int64_t *shape)
{
    enum { ALIGN = 64 };
    pt_array *array = bare(dtype, is_bool, ndim);
    if (!array) return NULL;
    int64_t bytes = (int64_t)tally_dtype_size(dtype), capacity;
    int none = 0;
    for (int i = 0; i < ndim; i++) none |= shape[i] == 0;
    for (int i = ndim - 1; i >= 0; i--) {
        array->shape[i] = shape[i];
        array->strides[i] = bytes;
        if (!none && __builtin_mul_overflow(bytes, shape[i], &bytes)) bytes = -1;
        if (bytes < 0) break;
    }
    void *memory = NULL;
    if (none) bytes = 0;
    if (bytes >= PT_LARGE) {
        memory = pt_block_take((size_t)bytes);
        array->block = (size_t)bytes;
    }
    if (bytes < 0 || __builtin_add_overflow(bytes, (int64_t)ALIGN, &capacity) ||
        (array->block ? !memory
                      : posix_memalign(&memory, ALIGN, (size_t)(bytes ? bytes : 1)) != 0)) {
        Py_DECREF(array);
        return PyErr_NoMemory();
    }
    array->data = memory;
    return (PyObject *)array;
}

void *pt_array_data(PyObject *array) { return ((pt_array *)array)->data; }

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((pt_array *)self)->base);
    return 0;
}

static void dealloc(PyObject *self)
{
    pt_array *array = (pt_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (array->base)
        Py_DECREF(array->base);
    else if (array->block)
        pt_block_give(array->data, array->block);
    else
        free(array->data);
    free(array->shape);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* ---- buffer ---- */

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    pt_array *array = (pt_array *)self;
    view->obj = NULL;
    const char *format = pt_dtype_format(array->dtype, array->is_bool);
    if (!format && flags & PyBUF_FORMAT) {
        PyErr_SetString(PyExc_BufferError, "buffers have no format for bfloat16: use __dlpack__");
        return -1;
    }
    view->buf = array->data;
    view->itemsize = (Py_ssize_t)tally_dtype_size(array->dtype);
    view->len = view->itemsize;
    for (int i = 0; i < array->ndim; i++) view->len *= array->shape[i];
    view->readonly = 0;
    view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL;
    view->ndim = flags & PyBUF_ND ? array->ndim : 1;
    view->shape = flags & PyBUF_ND ? array->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? array->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = Py_NewRef(self);
    return 0;
}

/* ---- attributes ---- */

static PyObject *sizes_of(const Py_ssize_t *sizes, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *size = PyLong_FromSsize_t(sizes[i]);
        if (!size || PyTuple_SetItem(tuple, i, size)) Py_CLEAR(tuple);
    }
    return tuple;
}
static Py_ssize_t elements(const pt_array *array)
{
    Py_ssize_t n = 1;
    for (int i = 0; i < array->ndim; i++) n *= array->shape[i];
    return n;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    return sizes_of(((pt_array *)self)->shape, ((pt_array *)self)->ndim);
}
static PyObject *get_ndim(PyObject *self, void *unused)
{
    return PyLong_FromLong(((pt_array *)self)->ndim);
}
static PyObject *get_size(PyObject *self, void *unused)
{
    return PyLong_FromSsize_t(elements((pt_array *)self));
}
static PyObject *get_dtype(PyObject *self, void *unused)
{
    return PyUnicode_FromString(
        pt_dtype_name(((pt_array *)self)->dtype, ((pt_array *)self)->is_bool));
}
static PyObject *get_interface(PyObject *self, void *unused)
{
    pt_array *array = (pt_array *)self;
    return Py_BuildValue("{s:i,s:N,s:s,s:(NO),s:O}", "version", 3, "shape", get_shape(self, NULL),
                         "typestr", pt_dtype_typestr(array->dtype, array->is_bool), "data",
                         PyLong_FromVoidPtr(array->data), Py_False, "strides", Py_None);
}

/* ---- elements ---- */

static PyObject *element(PyObject *self, Py_ssize_t at)
{
    pt_array *array = (pt_array *)self;
    if (array->ndim == 0 || at < 0 || at >= array->shape[0]) {
        PyErr_Format(PyExc_IndexError,
                     array->ndim ? "index is out of range: %zd elements" : "the array has no axes",
                     array->ndim ? array->shape[0] : 0);
        return NULL;
    }
    char *place = array->data + at * array->strides[0];
    if (array->ndim == 1) return pt_value(array->dtype, array->is_bool, place);
    pt_array *part = bare(array->dtype, array->is_bool, array->ndim - 1);
    if (!part) return NULL;
    memcpy(part->shape, array->shape + 1, (size_t)part->ndim * sizeof *part->shape);
    memcpy(part->strides, array->strides + 1, (size_t)part->ndim * sizeof *part->strides);
    part->data = place;
    part->base = Py_NewRef(self);
    return (PyObject *)part;
}

static Py_ssize_t length(PyObject *self)
{
    pt_array *array = (pt_array *)self;
    if (array->ndim) return array->shape[0];
    PyErr_SetString(PyExc_TypeError, "an array without axes has no length");
    return -1;
}

static PyObject *subscript(PyObject *self, PyObject *key)
{
    PyObject *keys = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_New(1), *at = Py_NewRef(self);
    if (keys && !PyTuple_Check(key)) PyTuple_SetItem(keys, 0, Py_NewRef(key));
    Py_ssize_t n = keys ? PyTuple_Size(keys) : 0;
    if (keys && n == 0 && ((pt_array *)self)->ndim == 0) {
        Py_DECREF(at);
        at = pt_value(((pt_array *)self)->dtype, ((pt_array *)self)->is_bool,
                      ((pt_array *)self)->data);
    }
    for (Py_ssize_t i = 0; at && i < n; i++) {
        PyObject *item = PyTuple_GetItem(keys, i), *next = NULL;
        Py_ssize_t index = PyIndex_Check(item) ? PyNumber_AsSsize_t(item, PyExc_IndexError) : -1;
        if (!PyIndex_Check(item))
            PyErr_SetString(
                PyExc_TypeError,
                "an index of tally.Array is an integer: for slices use memoryview or NumPy");
        else if (Py_TYPE(at) != pt_array_type)
            PyErr_SetString(PyExc_IndexError, "more indices than axes");
        else if (!PyErr_Occurred())
            next =
                element(at, index < 0 && ((pt_array *)at)->ndim ? index + ((pt_array *)at)->shape[0]
                                                                : index);
        Py_DECREF(at);
        at = next;
    }
    Py_XDECREF(keys);
    return at;
}

static PyObject *tolist(PyObject *self, PyObject *unused)
{
    pt_array *array = (pt_array *)self;
    if (array->ndim == 0) return pt_value(array->dtype, array->is_bool, array->data);
    PyObject *list = PyList_New(array->shape[0]);
    for (Py_ssize_t i = 0; list && i < array->shape[0]; i++) {
        PyObject *one = element(self, i), *item = one;
        if (one && array->ndim > 1) {
            item = tolist(one, NULL);
            Py_DECREF(one);
        }
        if (!item || PyList_SetItem(list, i, item)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *repr(PyObject *self)
{
    enum { SHOWN = 1000 };
    pt_array *array = (pt_array *)self;
    PyObject *shape = get_shape(self, NULL),
             *content = elements(array) <= SHOWN ? tolist(self, NULL) : NULL, *text = NULL;
    const char *dtype = pt_dtype_name(array->dtype, array->is_bool);
    if (shape && content)
        text = PyUnicode_FromFormat("tally.Array(%R, dtype='%s')", content, dtype);
    else if (shape && !PyErr_Occurred())
        text = PyUnicode_FromFormat("tally.Array(shape=%R, dtype='%s')", shape, dtype);
    Py_XDECREF(shape);
    Py_XDECREF(content);
    return text;
}

/* empty(shape, dtype) -> Array. For the package's own use. */
static PyObject *make_empty(PyObject *module, PyObject *args)
{
    PyObject *shape, *dtype, *bytes = NULL;
    pt_operand a;
    int is_bool;
    tally_dtype type;
    a.name = "empty";
    if (!PyArg_ParseTuple(args, "OO|S", &shape, &dtype, &bytes) ||
        pt_dtype_of(dtype, &type, &is_bool) || pt_sizes(shape, "shape", &a, a.shape, &a.ndim))
        return NULL;
    for (int i = 0; i < a.ndim; i++)
        if (a.shape[i] < 0) return PyErr_Format(PyExc_ValueError, "empty: a size is negative");
    PyObject *const result = pt_array_new(type, is_bool, a.ndim, a.shape);
    if (!result || !bytes) return result;
    size_t wanted = tally_dtype_size(type);
    for (int i = 0; i < a.ndim; i++) wanted *= (size_t)a.shape[i];
    if ((size_t)PyBytes_Size(bytes) == wanted) {
        if (wanted) memcpy(pt_array_data(result), PyBytes_AsString(bytes), wanted);
        return result;
    }
    Py_DECREF(result);
    return PyErr_Format(PyExc_ValueError, "empty: %zd bytes are not its %zu", PyBytes_Size(bytes),
                        wanted);
}

static PyMethodDef methods[] = {
    {"tolist", tolist, METH_NOARGS,
     "The elements as numbers, in lists as deep as the array has axes."},
    {"__dlpack__", (PyCFunction)(void (*)(void))pt_array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule."},
    {"__dlpack_device__", pt_array_dlpack_device, METH_NOARGS, "(1, 0): the host."},
    {"__arrow_c_array__", (PyCFunction)(void (*)(void))pt_array_arrow, METH_VARARGS | METH_KEYWORDS,
     "Arrow's two capsules, of an array with one axis."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "The sizes, a tuple.", NULL},
    {"ndim", get_ndim, NULL, "The number of axes.", NULL},
    {"size", get_size, NULL, "The number of elements.", NULL},
    {"dtype", get_dtype, NULL, "The element type's name, such as 'float32'.", NULL},
    {"__array_interface__", get_interface, NULL, "NumPy's array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},
                              {Py_tp_traverse, traverse},
                              {Py_tp_repr, repr},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_bf_getbuffer, get_buffer},
                              {Py_mp_length, length},
                              {Py_mp_subscript, subscript},
                              {Py_sq_length, length},
                              {Py_sq_item, element},
                              {Py_tp_iter, PySeqIter_New},
                              {Py_tp_doc,
                               "Results in dense memory: what tally gives for inputs that are no "
                               "arrays of another library.\n\n"
                               "It has the buffer protocol, ``__array_interface__``, "
                               "``__dlpack__`` and ``__arrow_c_array__``, so that\n"
                               "``memoryview(a)``, ``numpy.asarray(a)``, ``torch.from_dlpack(a)`` "
                               "and ``pyarrow.array(a)`` copy nothing."},
                              {0, NULL}};
static PyType_Spec spec = {"tally.Array", sizeof(pt_array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           slots};

int pt_array_init(PyObject *module)
{
    static PyMethodDef empty = {"empty", make_empty, METH_VARARGS,
                                "empty(shape, dtype, bytes of the elements)"};
    pt_array_type = (PyTypeObject *)PyType_FromSpec(&spec);
    PyObject *function = pt_array_type ? PyCFunction_NewEx(&empty, NULL, NULL) : NULL;
    if (!function || PyModule_AddObjectRef(module, "Array", (PyObject *)pt_array_type) ||
        PyModule_AddObjectRef(module, "empty", function))
        return -1;
    Py_DECREF(function);
    return 0;
}

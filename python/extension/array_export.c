/* SPDX-License-Identifier: MIT
 * Exports tally.Array to other libraries: DLPack (new and old capsules) and Arrow's C data
 * interface. An exported structure holds a reference to the array. Its deleter may be called from a
 * thread without the GIL. */
#include "pt.h"
#include "capsules.h"
#include <stdlib.h>
#include <string.h>

static void drop_reference(void *array)
{
    if (!Py_IsInitialized()) return; /* the interpreter ended before the other library */
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(state);
}

/* ---- DLPack ---- */

static void delete_new(pt_dl_versioned *m)
{
    drop_reference(m->manager);
    free(m);
}
static void delete_old(pt_dl_managed *m)
{
    drop_reference(m->manager);
    free(m);
}

/* Deletes the tensor of a capsule that was never consumed. */
static void drop_new(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;
    pt_dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    delete_new(m);
}
static void drop_old(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    pt_dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    delete_old(m);
}

/* shape and strides have space for ndim numbers each. */
static pt_dl_tensor tensor_of(const pt_array *array, int64_t *shape)
{
    int64_t bytes = (int64_t)tally_dtype_size(array->dtype);
    uint8_t code = array->is_bool                  ? 6
                   : array->dtype == TALLY_BF16    ? 4
                   : array->dtype >= TALLY_F16     ? 2
                   : (array->dtype - TALLY_I8) % 2 ? 1
                                                   : 0;
    pt_dl_tensor t = {.data = array->data,
                      .device = {PT_DL_CPU, 0},
                      .ndim = array->ndim,
                      .shape = shape,
                      .strides = shape + array->ndim};
    t.dtype.code = code;
    t.dtype.bits = (uint8_t)(bytes * 8);
    t.dtype.lanes = 1;
    for (int i = 0; i < array->ndim; i++) {
        shape[i] = array->shape[i];
        t.strides[i] = array->strides[i] / bytes;
    }
    return t;
}

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
PyObject *pt_array_dlpack(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|$OOOO", keywords, &stream, &version, &device,
                                     &copy))
        return NULL;
    long major = 0, type = PT_DL_CPU;
    if (version != Py_None && PyTuple_Check(version) && PyTuple_Size(version) == 2)
        major = PyLong_AsLong(PyTuple_GetItem(version, 0));
    if (device != Py_None && PyTuple_Check(device) && PyTuple_Size(device) == 2)
        type = PyLong_AsLong(PyTuple_GetItem(device, 0));
    if (PyErr_Occurred()) return NULL;
    if (stream != Py_None || type != PT_DL_CPU || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError,
                        "a tally.Array is in host memory, has no stream, and makes no copies");
        return NULL;
    }
    pt_array *array = (pt_array *)self;
    size_t sizes = (size_t)array->ndim * 2 * sizeof(int64_t),
           head = major ? sizeof(pt_dl_versioned) : sizeof(pt_dl_managed);
    char *block = calloc(1, head + sizes);
    if (!block) return PyErr_NoMemory();
    pt_dl_tensor tensor = tensor_of(array, (int64_t *)(void *)(block + head));
    PyObject *capsule;
    if (major) {
        pt_dl_versioned *m = (void *)block;
        *m = (pt_dl_versioned){1, 0, self, delete_new, 0, tensor};
        capsule = PyCapsule_New(m, "dltensor_versioned", drop_new);
    } else {
        pt_dl_managed *m = (void *)block;
        *m = (pt_dl_managed){tensor, self, delete_old};
        capsule = PyCapsule_New(m, "dltensor", drop_old);
    }
    if (capsule)
        Py_INCREF(self);
    else
        free(block);
    return capsule;
}

PyObject *pt_array_dlpack_device(PyObject *self, PyObject *unused)
{
    return Py_BuildValue("(ii)", PT_DL_CPU, 0);
}

/* ---- Arrow ---- */

static void release_schema(pt_arrow_schema *schema) { schema->release = NULL; }
static void release_array(pt_arrow_array *array)
{
    drop_reference(array->private_data);
    free(array->buffers);
    array->release = NULL;
}
static void drop_schema(PyObject *capsule)
{
    pt_arrow_schema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema && schema->release) schema->release(schema);
    free(schema);
}
static void drop_array(PyObject *capsule)
{
    pt_arrow_array *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array && array->release) array->release(array);
    free(array);
}

/* __arrow_c_array__(requested_schema=None) */
PyObject *pt_array_arrow(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"requested_schema", NULL};
    static const char *const formats[] = {"c", "C", "s", "S",  "i", "I",
                                          "l", "L", "e", NULL, "f", "g"};
    PyObject *wanted = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &wanted)) return NULL;
    pt_array *array = (pt_array *)self;
    const char *format = formats[array->dtype - TALLY_I8];
    if (array->ndim != 1 || array->is_bool || !format) {
        PyErr_Format(PyExc_TypeError,
                     "Arrow has no arrays of %s with %d axes: must be integers or floats with one",
                     pt_dtype_name(array->dtype, array->is_bool), array->ndim);
        return NULL;
    }
    pt_arrow_schema *schema = calloc(1, sizeof *schema);
    pt_arrow_array *out = calloc(1, sizeof *out);
    const void **buffers = calloc(2, sizeof *buffers);
    PyObject *first = NULL, *second = NULL;
    if (!schema || !out || !buffers) goto failed;
    *schema = (pt_arrow_schema){.format = format, .name = "", .release = release_schema};
    buffers[1] = array->data;
    *out = (pt_arrow_array){.length = array->shape[0],
                            .n_buffers = 2,
                            .buffers = buffers,
                            .release = release_array,
                            .private_data = self};
    if (!(first = PyCapsule_New(schema, "arrow_schema", drop_schema))) goto failed;
    schema = NULL;
    if (!(second = PyCapsule_New(out, "arrow_array", drop_array))) goto failed;
    Py_INCREF(self);
    return Py_BuildValue("(NN)", first, second);
failed:
    free(schema);
    free(out);
    free(buffers);
    Py_XDECREF(first);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* SPDX-License-Identifier: MIT
 * Makes new arrays of the input's kind for results, and converts them to what the caller gets. */
#include "pt.h"
#include <string.h>

PyObject *pt_shape(int ndim, const int64_t *shape)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple && i < ndim; i++) {
        PyObject *n = PyLong_FromLongLong(shape[i]);
        if (!n || PyTuple_SetItem(tuple, i, n)) Py_CLEAR(tuple);
    }
    return tuple;
}

/* numpy.empty(shape, dtype) */
static PyObject *make_numpy(const pt_operand *like, pt_form form)
{
    /* a cache of dtypes; without the GIL two threads may fill an entry, with equal strings */
    static PyObject *names[16];
    PyObject *type = NULL, *object = NULL, *sizes = pt_shape(form.ndim, form.shape);
    if (form.dtype == TALLY_BF16) {
        type = PyObject_GetAttrString(like->converted ? like->converted : like->object, "dtype");
    } else {
        int at = form.is_bool ? 0 : (int)form.dtype;
        if (!names[at]) {
            PyObject *module = PyImport_ImportModule("numpy");
            names[at] = module ? PyObject_CallMethod(module, "dtype", "s",
                                                     pt_dtype_typestr(form.dtype, form.is_bool))
                               : NULL;
            Py_XDECREF(module);
        }
        type = Py_XNewRef(names[at]);
    }
    if (sizes && type) object = PyObject_CallFunctionObjArgs(pt_numpy_empty, sizes, type, NULL);
    Py_XDECREF(sizes);
    Py_XDECREF(type);
    return object;
}

/* A large array in a block that is kept: numpy.asarray of an array of the extension. */
static PyObject *make_large_numpy(pt_form form)
{
    PyObject *const array = pt_array_new(form.dtype, form.is_bool, form.ndim, form.shape);
    PyObject *const module = array ? PyImport_ImportModule("numpy") : NULL;
    PyObject *const object = module ? PyObject_CallMethod(module, "asarray", "O", array) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(array);
    return object;
}

static int is_large(pt_form form)
{
    double bytes = (double)tally_dtype_size(form.dtype);
    for (int i = 0; i < form.ndim; i++) bytes *= (double)form.shape[i];
    return bytes >= PT_LARGE && form.dtype != TALLY_BF16;
}

/* PyTorch's, and all on a device, are made by the input's own library: give(object, dtype,
 * shape). */
static PyObject *make_device(const pt_operand *like, pt_form form)
{
    PyObject *sizes = pt_shape(form.ndim, form.shape), *object = NULL;
    PyObject *type = PyUnicode_FromString(pt_dtype_name(form.dtype, form.is_bool));
    if (sizes && type)
        object = PyObject_CallFunctionObjArgs(pt_give_helper, like->object, type, sizes, NULL);
    Py_XDECREF(sizes);
    Py_XDECREF(type);
    return object;
}

int pt_make(const pt_operand *like, pt_form form, pt_operand *a, PyObject **object)
{
    *object = NULL;
    pt_open_begin(NULL, "out", a);
    a->dtype = form.dtype;
    a->is_bool = form.is_bool;
    a->ndim = form.ndim;
    memcpy(a->shape, form.shape, (size_t)form.ndim * sizeof *form.shape);
    if (like->kind >= PT_TORCH) {
        *object = pt_library_empty(like, a);
        if (*object || PyErr_Occurred()) return *object ? 0 : -1;
    }
    const int on_device = (pt_stays(like) || like->kind == PT_TORCH) && pt_give_helper,
              numpy = like->kind == PT_NUMPY && (like->device < 0 || form.dtype != TALLY_BF16);
    *object = on_device                 ? make_device(like, form)
              : numpy && is_large(form) ? make_large_numpy(form)
              : numpy                   ? make_numpy(like, form)
                      : pt_array_new(form.dtype, form.is_bool, form.ndim, form.shape);
    if (!*object) return -1;
    a->kind = PT_NUMPY;
    const int plain = numpy && !on_device && form.dtype != TALLY_BF16;
    if (!(plain ? pt_from_new(*object, a) : pt_open_out(*object, a))) return 0;
    pt_close(a);
    Py_CLEAR(*object);
    return -1;
}

int pt_open_result(const pt_operand *like, const pt_verb *verb, PyObject *out, pt_result *r)
{
    if (verb->info.lanes > 1) {
        if (r->ndim == PT_DIMS) {
            PyErr_Format(PyExc_ValueError, "x has too many axes: '%s' adds one", verb->op);
            return -1;
        }
        r->shape[r->ndim++] = verb->info.lanes;
    }
    if (r->opened) {
        if (pt_fits(&r->a, verb, r->ndim, r->shape)) return -1;
        r->object = Py_NewRef(out);
        return 0;
    }
    const pt_form form = {verb->out, verb->out_bool, r->ndim, r->shape};
    if (pt_make(like, form, &r->a, &r->object)) return -1;
    r->opened = 1;
    return 0;
}

/* Sets the bytes of bools on axes `axis` .. to 0 or 1. */
static void settle_bools(const pt_operand *a, char *at, int axis)
{
    const int64_t n = axis < a->ndim ? a->shape[axis] : 1,
                  step = axis < a->ndim ? a->strides[axis] : 0;
    for (int64_t i = 0; i < n; i++)
        if (axis + 1 < a->ndim)
            settle_bools(a, at + i * step, axis + 1);
        else
            at[i * step] = at[i * step] != 0;
}

void pt_close_result(const pt_verb *verb, pt_operand *result)
{
    if (result->is_bool && result->device < 0 && verb->info.output == TALLY_U8)
        settle_bools(result, result->data, 0);
    pt_close(result);
}

PyObject *pt_give(const pt_operand *like, PyObject *object, int ndim)
{
    PyObject *given = object;
    if (!object || pt_stays(like) || like->kind >= PT_TORCH) return object;
    if (like->kind == PT_NUMPY && ndim == 0 && Py_TYPE(object) != pt_array_type) {
        given = PyObject_GetItem(object, pt_no_index);
    } else if (like->kind <= PT_NUMPY && ndim == 0) {
        const pt_array *array = (pt_array *)object;
        given = pt_value(array->dtype, array->is_bool, array->data);
    } else if (like->kind == PT_OTHER && pt_give_helper) {
        given = PyObject_CallFunctionObjArgs(pt_give_helper, like->object, object, NULL);
    } else {
        return object;
    }
    Py_DECREF(object);
    return given;
}

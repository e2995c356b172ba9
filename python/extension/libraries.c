/* SPDX-License-Identifier: MIT
 * PyTorch's tensors and CuPy's arrays, read without a capsule, which takes a tenth of the time, and
 * made by their own libraries. Both libraries have a current stream. Work is given to it, so it is
 * ordered with what the library itself gives to it, and nothing waits.
 *
 *            read by                                stream                   made by
 *  PyTorch   DLPack's exchange functions (2.10)     the same                 _empty_strided_cuda
 *  CuPy      data.ptr, dtype, shape, strides        get_current_stream()     ndarray
 *
 * Only the libraries' own types are read here. Subclasses, tensors of an unusual kind (sparse,
 * quantized) and older PyTorch go the way of DLPack's capsules. */
#include "pt.h"
#include "capsules.h"
#include <stdatomic.h>

enum { DTYPES = TALLY_F64 + 1 }; /* 0 is bool */
/* The legacy default stream, which both libraries call 0. */
#define LEGACY ((void *)1)

typedef struct {
    PyObject *types[2];       /* torch.Tensor, torch.nn.Parameter; cupy.ndarray */
    PyObject *dtypes[DTYPES]; /* those that the library does not have are NULL */
    /* make an array on the host and on the current device. PyTorch: what its compiled programs
     * call, which takes a third of the time of torch.empty. NULL: not there */
    PyObject *make[2];
    /* PyTorch */
    const pt_dl_exchange *exchange;
    PyObject *grad;     /* torch.is_grad_enabled */
    PyObject *is_neg;   /* torch.Tensor.is_neg */
    PyObject *captures; /* whether the current stream is captured; NULL: no CUDA */
    /* CuPy */
    PyObject *stream; /* cupy.cuda.get_current_stream */
} library;
static library torch, cupy;
static atomic_int torch_found, cupy_found; /* 2: the library's objects are there to be used */

/* ---- finding the libraries ---- */

/* The attribute of a path such as "nn.Parameter"; NULL without an exception if there is none. */
static PyObject *find(PyObject *object, const char *path)
{
    PyObject *at = Py_NewRef(object);
    char name[64];
    while (at && *path) {
        size_t length = 0;
        while (path[length] && path[length] != '.') length++;
        if (length >= sizeof name) break;
        for (size_t i = 0; i < length; i++) name[i] = path[i];
        name[length] = 0;
        PyObject *next = PyObject_GetAttrString(at, name);
        Py_DECREF(at);
        at = next;
        path += length + (path[length] == '.');
    }
    if (!at) PyErr_Clear();
    return at;
}

static void find_dtypes(library *l, PyObject *module, PyObject *numpy)
{
    for (int i = 0; i < DTYPES; i++) {
        const tally_dtype dtype = i ? (tally_dtype)i : TALLY_U8;
        if (!numpy)
            l->dtypes[i] = find(module, pt_dtype_name(dtype, !i));
        else if (dtype != TALLY_BF16)
            l->dtypes[i] = PyObject_CallMethod(numpy, "dtype", "s", pt_dtype_typestr(dtype, !i));
        PyErr_Clear();
    }
}

static int find_torch(library *l, PyObject *module)
{
    l->types[0] = find(module, "Tensor");
    l->types[1] = find(module, "nn.Parameter");
    l->make[0] = find(module, "_C._dynamo.guards._empty_strided_cpu");
    l->make[1] = find(module, "_C._dynamo.guards._empty_strided_cuda");
    l->grad = find(module, "is_grad_enabled");
    l->is_neg = find(module, "Tensor.is_neg");
    l->captures = find(module, "_C._cuda_isCurrentStreamCapturing");
    find_dtypes(l, module, NULL);
    PyObject *const capsule = l->types[0] ? find(l->types[0], "__dlpack_c_exchange_api__") : NULL;
    if (capsule) l->exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    return l->types[1] && l->grad && l->is_neg && l->exchange && l->exchange->major == 1;
}

static int find_cupy(library *l, PyObject *module)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) PyErr_Clear();
    l->types[0] = find(module, "ndarray");
    l->make[1] = find(module, "ndarray");
    l->stream = find(module, "cuda.get_current_stream");
    if (numpy) find_dtypes(l, module, numpy);
    Py_XDECREF(numpy);
    return numpy && l->types[0] && l->stream;
}

/* Whether the library is imported and usable. It is looked for once for each type of object, so
 * its objects are kept for the life of the process. */
static int is_found(library *l, atomic_int *found, const char *name,
                    int (*fill)(library *, PyObject *))
{
    int before = 0;
    if (atomic_load(found) == 2) return 1;
    PyObject *modules = PySys_GetObject("modules"); /* borrowed */
    PyObject *module = modules ? PyDict_GetItemString(modules, name) : NULL;
    if (!module || !atomic_compare_exchange_strong(found, &before, 1)) return 0;
    library all = {{NULL}};
    const int good = fill(&all, module);
    if (good) *l = all; /* a library that is being imported is looked for again */
    atomic_store(found, good ? 2 : 0);
    return good;
}

/* Whether the type is of this package, by its name: cheap, for the types of other packages. */
static int is_named(PyTypeObject *type, const char *package)
{
    PyObject *module = pt_attribute((PyObject *)type, "__module__");
    int is = 0;
    if (module && PyUnicode_Check(module)) {
        const Py_ssize_t dot = PyUnicode_FindChar(module, '.', 0, PY_SSIZE_T_MAX, 1);
        PyObject *first = dot < 0 ? Py_NewRef(module) : PyUnicode_Substring(module, 0, dot);
        is = first && !PyUnicode_CompareWithASCIIString(first, package);
        Py_XDECREF(first);
    }
    Py_XDECREF(module);
    PyErr_Clear();
    return is;
}

/* The library of this type; NULL: none of the two. */
static library *library_of(PyTypeObject *type)
{
    PyObject *const object = (PyObject *)type;
    if (atomic_load(&torch_found) == 2 && (object == torch.types[0] || object == torch.types[1]))
        return &torch;
    if (atomic_load(&cupy_found) == 2 && object == cupy.types[0]) return &cupy;
    if (atomic_load(&torch_found) != 2 && is_named(type, "torch") &&
        is_found(&torch, &torch_found, "torch", find_torch))
        return library_of(type);
    if (atomic_load(&cupy_found) != 2 && is_named(type, "cupy") &&
        is_found(&cupy, &cupy_found, "cupy", find_cupy))
        return library_of(type);
    return NULL;
}

/* ---- reading ---- */

static PyObject *text[7]; /* names of attributes, interned */
enum { DTYPE, DATA, PTR, DEVICE_ID, SHAPE, STRIDES, REQUIRES_GRAD };
static PyObject *device_0;

int pt_libraries_init(void)
{
    static const char *const names[] = {"dtype", "data",    "ptr",          "device_id",
                                        "shape", "strides", "requires_grad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(text[i] = PyUnicode_InternFromString(names[i]))) return -1;
    device_0 = PyLong_FromLong(0);
    return device_0 ? 0 : -1;
}

/* Whether value is True. Takes the reference; NULL, with its exception, is not. */
static int is_true(PyObject *value)
{
    Py_XDECREF(value);
    return value == Py_True;
}

/* The integer of a value, whose reference is taken; -1 with an exception. */
static int64_t integer(PyObject *value)
{
    const int64_t n = value ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    return n;
}

/* The default stream is 0 in both libraries. */
static void *stream_of(int64_t raw) { return raw ? (void *)(uintptr_t)raw : LEGACY; }

int pt_is_captured(const pt_operand *a)
{
    PyObject *captured = NULL;
    if (a->owner)
        captured = PyObject_CallMethod(a->owner, "is_capturing", NULL);
    else if (a->kind == PT_TORCH && torch.captures)
        captured = PyObject_CallNoArgs(torch.captures);
    if (is_true(captured))
        PyErr_Format(PyExc_ValueError,
                     "%s is on cuda:%d, whose stream is captured into a graph: make each call of "
                     "tally once before the capture",
                     a->name, a->device);
    return PyErr_Occurred() != NULL;
}

static int refuse_gradient(const pt_operand *a)
{
    PyErr_Format(PyExc_ValueError,
                 "%s needs a gradient, which is lost here: use the functions of tally.torch, or "
                 "%s.detach()",
                 a->name, a->name);
    return -1;
}

static int from_torch(PyObject *object, pt_operand *a)
{
    pt_dl_tensor tensor;
    void *stream = NULL;
    if (torch.exchange->view(object, &tensor)) { /* of an unusual kind: DLPack says what it is */
        PyErr_Clear();
        return 0;
    }
    if (is_true(PyObject_GetAttr(object, text[REQUIRES_GRAD])) &&
        is_true(PyObject_CallNoArgs(torch.grad)))
        return refuse_gradient(a);
    if (is_true(PyObject_CallFunctionObjArgs(torch.is_neg, object, NULL))) {
        PyErr_Format(PyExc_ValueError,
                     "%s has its sign changed by a bit of PyTorch (as x.conj().imag has): use "
                     "%s.resolve_neg()",
                     a->name, a->name);
        return -1;
    }
    if (PyErr_Occurred() || pt_read_tensor(&tensor, a) < 0) return -1;
    a->kind = PT_TORCH;
    if (a->device < 0) return 1;
    if (torch.exchange->stream(tensor.device.type, a->device, &stream)) return -1;
    a->stream = stream_of((int64_t)(intptr_t)stream);
    return 1;
}

/* CuPy destroys a stream with its object, so the object is kept as long as a context works in the
 * stream. */
static int read_stream(pt_operand *a)
{
    PyObject *number = a->device ? PyLong_FromLong(a->device) : Py_NewRef(device_0);
    a->owner = number ? PyObject_CallFunctionObjArgs(cupy.stream, number, NULL) : NULL;
    Py_XDECREF(number);
    if (!a->owner) return -1;
    a->stream = stream_of(integer(PyObject_GetAttr(a->owner, text[PTR])));
    return PyErr_Occurred() ? -1 : 0;
}

/* Reads the address of the elements, and the device. */
static int read_data(PyObject *object, pt_operand *a)
{
    PyObject *const data = PyObject_GetAttr(object, text[DATA]);
    PyObject *const address = data ? PyObject_GetAttr(data, text[PTR]) : NULL;
    a->data = address ? PyLong_AsVoidPtr(address) : NULL;
    if (address) a->device = (int)integer(PyObject_GetAttr(data, text[DEVICE_ID]));
    Py_XDECREF(address);
    Py_XDECREF(data);
    return PyErr_Occurred() ? -1 : 0;
}

static int from_cupy(PyObject *object, pt_operand *a)
{
    PyObject *const dtype = PyObject_GetAttr(object, text[DTYPE]);
    int at = 0, count;
    while (at < DTYPES && (!dtype || dtype != cupy.dtypes[at])) at++;
    Py_XDECREF(dtype);
    if (at == DTYPES) return dtype ? 0 : -1;
    a->is_bool = at == 0;
    a->dtype = at ? (tally_dtype)at : TALLY_U8;
    a->kind = PT_CUPY;
    if (read_data(object, a) || read_stream(a)) return -1;
    PyObject *const shape = PyObject_GetAttr(object, text[SHAPE]);
    PyObject *const strides = PyObject_GetAttr(object, text[STRIDES]);
    const int bad = !shape || !strides || pt_sizes(shape, "shape", a, a->shape, &a->ndim) ||
                    pt_sizes(strides, "strides", a, a->strides, &count) || count != a->ndim;
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return bad || pt_settle(a, 1) ? -1 : 1;
}

int pt_from_library(PyObject *object, pt_operand *a)
{
    const library *const l = library_of(Py_TYPE(object));
    return !l ? 0 : l == &torch ? from_torch(object, a) : from_cupy(object, a);
}

/* ---- making ---- */

/* Reads the address of a new array, whose type and shape *a has already. */
static int open_new(PyObject *object, const pt_operand *like, pt_operand *a)
{
    pt_dl_tensor tensor;
    a->kind = like->kind;
    a->stream = like->stream;
    a->device = like->device;
    if (a->kind == PT_CUPY) {
        if (read_data(object, a)) return -1;
    } else {
        if (torch.exchange->view(object, &tensor)) return -1;
        a->data = pt_offset(tensor.data, (int64_t)tensor.byte_offset);
        if (like->device >= 0) a->device = tensor.device.id;
    }
    return pt_settle(a, 0);
}

/* The strides of a dense array, as PyTorch counts them. */
static PyObject *dense_strides(const pt_operand *a)
{
    int64_t strides[PT_DIMS], reach = 1;
    for (int i = a->ndim - 1; i >= 0; i--) {
        strides[i] = reach;
        if (a->shape[i] > 1) reach *= a->shape[i];
    }
    return pt_shape(a->ndim, strides);
}

PyObject *pt_library_empty(const pt_operand *like, pt_operand *a)
{
    const library *const l = like->kind == PT_TORCH ? &torch : &cupy;
    PyObject *const make = l->make[like->device >= 0],
                    *const dtype = l->dtypes[a->is_bool ? 0 : (int)a->dtype];
    if (!make || !dtype) return NULL;
    PyObject *const sizes = pt_shape(a->ndim, a->shape), *const strides = sizes && l == &torch
                                                                              ? dense_strides(a)
                                                                              : NULL;
    PyObject *object = NULL;
    if (strides)
        object = PyObject_CallFunctionObjArgs(make, sizes, strides, dtype, NULL);
    else if (sizes && l == &cupy)
        object = PyObject_CallFunctionObjArgs(make, sizes, dtype, NULL);
    Py_XDECREF(strides);
    Py_XDECREF(sizes);
    /* both libraries make it on their current device */
    if (object && (open_new(object, like, a) || a->device != like->device)) Py_CLEAR(object);
    return object;
}

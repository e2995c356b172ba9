/* SPDX-License-Identifier: MIT
 * The module `tally._core`. Its functions take all arguments by position; the package's Python code
 * has names, defaults and documentation. */
#include "pt.h"
#include <stdatomic.h>
#include <string.h>

/* helpers(kinds): the functions of tally._kinds. See there for those that devices need.
 *  take(object, name) -> (array, kind of results)
 *  give(object, array) -> a result of the object's kind
 *  give(object, dtype, shape) -> an empty one on its device
 *  same_labels(x, other, name) raises an exception if the labels differ
 *  call(verb, arguments) -> the verb's result for x with labels or times, or NotImplemented */
static PyObject *call_helper;
static PyObject *helpers(PyObject *module, PyObject *kinds)
{
    static const struct {
        const char *name;
        PyObject **place;
    } all[] = {{"take", &pt_take_helper},          {"give", &pt_give_helper},
               {"same_labels", &pt_labels_helper}, {"rearrange", &pt_rearrange_helper},
               {"bits", &pt_bits_helper},          {"fill", &pt_fill_helper},
               {"finish", &pt_finish_helper},      {"call", &call_helper}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        PyObject *function = PyObject_GetAttrString(kinds, all[i].name), *old = *all[i].place;
        if (!function) return NULL;
        *all[i].place = function;
        Py_XDECREF(old);
    }
    Py_RETURN_NONE;
}

/* like(x, "x") -> (dtype, shape, strides in bytes, address, device, "own", "numpy" or "other"),
   for tests */
static PyObject *like(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const kinds[] = {"own", "numpy", "other", "torch", "cupy"};
    pt_operand a;
    const char *name = count == 2 ? PyUnicode_AsUTF8AndSize(args[1], NULL) : "x";
    if (count != 2 && pt_count("like", count, 1)) return NULL;
    if (!name || pt_open(args[0], name, &a)) return NULL;
    PyObject *shape = PyTuple_New(a.ndim), *strides = PyTuple_New(a.ndim), *facts = NULL;
    for (int i = 0; shape && strides && i < a.ndim; i++)
        if (PyTuple_SetItem(shape, i, PyLong_FromLongLong(a.shape[i])) ||
            PyTuple_SetItem(strides, i, PyLong_FromLongLong(a.strides[i])))
            Py_CLEAR(shape);
    if (shape && strides)
        facts = Py_BuildValue("(sOONis)", pt_dtype_name(a.dtype, a.is_bool), shape, strides,
                              PyLong_FromVoidPtr(a.data), a.device, kinds[a.kind]);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    pt_close(&a);
    return facts;
}

/* packed(x) -> the elements' bytes in C order, as a tally.Array of uint8 */
static PyObject *packed(PyObject *module, PyObject *object)
{
    pt_operand a;
    pt_dim dim[PT_DIMS];
    if (pt_open_plain(object, "x", "a digest", &a)) return NULL;
    int64_t each = (int64_t)tally_dtype_size(a.dtype), bytes = a.size * each;
    PyObject *copy = NULL;
    for (int i = 0; i < a.ndim; i++) dim[i] = (pt_dim){a.shape[i], a.strides[i], 0};
    if (a.device >= 0)
        PyErr_Format(PyExc_ValueError, "x is on a device: bring it to the host first");
    else if ((copy = pt_array_new(TALLY_U8, 0, 1, &bytes)) && a.size) {
        char *to = pt_array_data(copy);
        const pt_elements all = {a.data, dim, pt_join(dim, a.ndim), each};
        if (!a.chunks) pt_pack(to, &all, 0, a.size);
        for (int64_t i = 0; i < a.chunk_count; to += a.chunks[i++].n * each)
            memcpy(to, a.chunks[i].data, (size_t)(a.chunks[i].n * each));
    }
    pt_close(&a);
    return copy;
}

static _Thread_local int on_host;

int pt_wants_host(void) { return on_host; }

/* results(on the host, or None) -> what was set before on this thread; None changes nothing */
static PyObject *results(PyObject *module, PyObject *wanted)
{
    const int before = on_host, now = wanted == Py_None ? before : PyObject_IsTrue(wanted);
    if (now < 0) return NULL;
    on_host = now;
    return PyBool_FromLong(before);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    return PyUnicode_FromString(tally_version());
}

/* ---- verbs of objects with labels or times ---- */

typedef PyObject *verb_function(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Calls the helper. NULL without an exception: it leaves the call to the extension. */
static PyObject *call_labelled(const char *verb, PyObject *const *args, Py_ssize_t count)
{
    PyObject *name = PyUnicode_FromString(verb), *all = PyTuple_New(count), *result = NULL;
    for (Py_ssize_t i = 0; all && i < count; i++)
        if (PyTuple_SetItem(all, i, Py_NewRef(args[i]))) Py_CLEAR(all);
    if (name && all) result = PyObject_CallFunctionObjArgs(call_helper, name, all, NULL);
    Py_XDECREF(name);
    Py_XDECREF(all);
    if (result == Py_NotImplemented) Py_CLEAR(result);
    return result;
}

/* Runs a verb whose argument number `at` is x. Objects of pandas, Polars, pyarrow and xarray go to
 * the helper first; what the extension cannot read, such as arrays of times, goes there next. */
static PyObject *run_verb(verb_function *run, const char *verb, int at, PyObject *const *args,
                          Py_ssize_t count)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL, *result = NULL;
    const int labelled = count > at && call_helper && pt_is_labelled(args[at]);
    if (labelled) {
        result = call_labelled(verb, args, count);
        return result || PyErr_Occurred() ? result : run(NULL, args, count);
    }
    result = run(NULL, args, count);
    if (result || count <= at || !call_helper || !PyErr_ExceptionMatches(PyExc_TypeError))
        return result;
    PyErr_Fetch(&type, &value, &trace);
    result = call_labelled(verb, args, count);
    if (!result && !PyErr_Occurred()) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

/* The function of a verb for Python; x: the number of the argument that has the elements. */
#define VERB(verb, x) \
    static PyObject *verb(PyObject *module, PyObject *const *args, Py_ssize_t count) \
    { \
        return run_verb(pt_##verb, #verb, x, args, count); \
    }
VERB(reduce, 1)
VERB(scan, 1)
VERB(window, 1)
VERB(ranges, 1)
VERB(rolling, 1)
VERB(segments, 2)
VERB(by, 2)
#undef VERB

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL
static PyMethodDef methods[] = {{"reduce", FAST(reduce)},
                                {"scan", FAST(scan)},
                                {"window", FAST(window)},
                                {"rolling", FAST(rolling)},
                                {"segments", FAST(segments)},
                                {"fragment_make", FAST(pt_fragment_make)},
                                {"fragment_none", FAST(pt_fragment_none)},
                                {"fragment_rows", FAST(pt_fragment_rows)},
                                {"scan_rows", FAST(pt_scan_rows)},
                                {"fragment_join", FAST(pt_fragment_join)},
                                {"fragment_read", FAST(pt_fragment_read)},
                                {"present", FAST(pt_present)},
                                {"bounds", FAST(pt_bounds)},
                                {"ranges", FAST(ranges)},
                                {"runs", pt_runs, METH_O, NULL},
                                {"groups", FAST(pt_groups)},
                                {"take", FAST(pt_gather)},
                                {"by", FAST(by)},
                                {"group_bounds", FAST(pt_group_bounds)},
                                {"encode", FAST(pt_encode)},
                                {"pair", FAST(pt_pair)},
                                {"renumber", FAST(pt_renumber)},
                                {"exact_add", FAST(pt_exact_add)},
                                {"exact_join", FAST(pt_exact_join)},
                                {"exact_value", FAST(pt_exact_value)},
                                {"define", FAST(pt_define)},
                                {"use_allocator", FAST(pt_use_allocator)},
                                {"verify", FAST(pt_verify)},
                                {"operator", FAST(pt_operator)},
                                {"helpers", helpers, METH_O, NULL},
                                {"use", pt_use, METH_O, NULL},
                                {"progress", pt_progress, METH_O, NULL},
                                {"results", results, METH_O, NULL},
                                {"like", FAST(like)},
                                {"packed", packed, METH_O, NULL},
                                {"about", pt_about, METH_NOARGS, NULL},
                                {"operators", pt_operators, METH_NOARGS, NULL},
                                {"devices", pt_devices, METH_NOARGS, NULL},
                                {"version", version, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

/* The pool of contexts and the types belong to the process, so a second interpreter is refused:
 * it would share them. */
static int fill(PyObject *module)
{
    static atomic_int filled;
    tally_device_info processors;

    if (tally_device(0, &processors) == TALLY_OK && !processors.usable) {
        PyErr_SetString(PyExc_ImportError, processors.reason);
        return -1;
    }
    if (atomic_exchange(&filled, 1)) {
        PyErr_SetString(PyExc_ImportError,
                        "tally._core can be loaded once in a process, by one interpreter");
        return -1;
    }
    return pt_contexts_init() || pt_libraries_init() || pt_array_init(module) ||
                   pt_stream_init(module)
               ? -1
               : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill},
#ifdef Py_mod_gil
#if !defined(Py_LIMITED_API)
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
#endif
                                   {0, NULL}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tally._core", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }

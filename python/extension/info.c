/* SPDX-License-Identifier: MIT
 * Lists operators and devices; verify. */
#include "pt.h"
#include <string.h>

/* operators() -> list of names */
PyObject *pt_operators(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    for (const char *const *name = tally_operators(); list && *name; name++) {
        PyObject *text = PyUnicode_FromString(*name);
        if (!text || PyList_Append(list, text)) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* operator(name, dtype) -> facts, or None if the operator does not take the dtype */
PyObject *pt_operator(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tally_dtype dtype;
    tally_operator_info info;
    int is_bool;
    if (pt_count("operator", count, 2) || pt_dtype_of(args[1], &dtype, &is_bool)) return NULL;
    const char *op = pt_string(args[0], "op");
    pt_slot *slot = op ? pt_take(NULL, NULL) : NULL;
    if (!slot) return NULL;
    tally_status status = tally_operator(slot->ctx, op, dtype, &info);
    PyObject *facts = NULL;
    if (!status)
        facts = Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:O,s:O}", "name", info.name, "text",
                              info.text, "empty", info.empty, "param", info.param, "dtype",
                              pt_dtype_name(info.output, 0), "lanes", info.lanes, "inputs",
                              info.inputs, "exact", info.exact ? Py_True : Py_False, "seedable",
                              info.seedable ? Py_True : Py_False);
    else if (status == TALLY_UNSUPPORTED)
        facts = Py_NewRef(Py_None);
    else
        pt_raise(slot->ctx, status);
    pt_give_back(slot);
    return facts;
}

/* devices() -> list of dictionaries */
PyObject *pt_devices(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    tally_device_info info;
    for (int i = 0; list; i++) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status = tally_device(i, &info);
        Py_END_ALLOW_THREADS if (status) break;
        PyObject *one =
            Py_BuildValue("{s:s,s:s,s:O,s:s,s:i,s:s}", "name", info.name, "text", info.text,
                          "usable", info.usable ? Py_True : Py_False, "reason", info.reason,
                          "threads", info.processors, "isas", info.isas ? info.isas : "");
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* verify(cases, seed) -> the sentence */
PyObject *pt_verify(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t cases;
    if (pt_count("verify", count, 2) || pt_integer(args[0], "cases", &cases)) return NULL;
    unsigned long long seed = PyLong_AsUnsignedLongLong(args[1]);
    if (seed == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    if (!slot) return NULL;
    const char *report = NULL;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = tally_verify(slot->ctx, seed, cases, &report);
    Py_END_ALLOW_THREADS PyObject *sentence = NULL;
    if (!status)
        sentence = PyUnicode_FromString(report ? report : "");
    else if (status == TALLY_MISMATCH && report)
        PyErr_SetString(PyExc_RuntimeError, report);
    else
        pt_raise(slot->ctx, status);
    pt_give_back(slot);
    return sentence;
}

/* SPDX-License-Identifier: MIT
 * Device memory from functions of Python, which are called from the library, with the GIL. */
#include "pt.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Pairs of functions are never freed: contexts may hold memory of an earlier one until they are
 * used again. */
struct pt_allocator {
    PyObject *allocate, *release;
};
static _Atomic(const pt_allocator *) wanted; /* NULL: the library's own */

/* allocate(bytes, stream) -> address */
static void *allocate(size_t bytes, void *stream, void *user)
{
    const pt_allocator *const a = user;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const address = PyObject_CallFunction(a->allocate, "nK", (Py_ssize_t)bytes,
                                                    (unsigned long long)(uintptr_t)stream);
    void *const memory = address && PyLong_Check(address) ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    PyErr_Clear(); /* the library says that there is no memory, after it tried without its caches */
    PyGILState_Release(state);
    return memory;
}

/* release(address, bytes, stream) */
static void release(void *memory, size_t bytes, void *stream, void *user)
{
    const pt_allocator *const a = user;
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const done =
        PyObject_CallFunction(a->release, "KnK", (unsigned long long)(uintptr_t)memory,
                              (Py_ssize_t)bytes, (unsigned long long)(uintptr_t)stream);
    if (!done) PyErr_WriteUnraisable(a->release);
    Py_XDECREF(done);
    PyGILState_Release(state);
}

int pt_catch_up_allocator(pt_slot *slot)
{
    const pt_allocator *const a = atomic_load(&wanted);
    const tally_allocator functions = {allocate, release, (void *)(uintptr_t)a};
    if (!slot->is_gpu || slot->allocator == a) return 0;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = tally_use_allocator(slot->ctx, a ? &functions : NULL);
    Py_END_ALLOW_THREADS if (status) return pt_raise(slot->ctx, status);
    slot->allocator = a;
    return 0;
}

/* use_allocator(allocate, release), or two times None */
PyObject *pt_use_allocator(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (pt_count("use_allocator", count, 2)) return NULL;
    pt_allocator *const a = args[0] == Py_None ? NULL : malloc(sizeof *a);
    if (args[0] != Py_None) {
        if (!a) return PyErr_NoMemory();
        *a = (pt_allocator){Py_NewRef(args[0]), Py_NewRef(args[1])};
    }
    atomic_store(&wanted, a);
    Py_RETURN_NONE;
}

/* SPDX-License-Identifier: MIT
 * Signals such as Ctrl-C, and a callback for progress, during a long call. A call of the library
 * cannot be stopped, so long work is divided into many calls (walk.c). Ten times per second,
 * between two of them, this thread takes the GIL. */
#include "pt.h"
#include <time.h>

static _Thread_local PyObject *callback; /* of this thread; NULL: none */
static _Thread_local int64_t done, total;
static _Thread_local int called; /* the callback was called during this call */
static _Thread_local double next;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int call_callback(void)
{
    PyObject *answer = PyObject_CallFunction(
        callback, "LL", (long long)(done < total ? done : total), (long long)total);
    Py_XDECREF(answer);
    called = 1;
    return answer ? 0 : -1;
}

int64_t pt_piece(int64_t usual) { return callback && usual > 1 << 22 ? 1 << 22 : usual; }

void pt_begin(int64_t elements)
{
    done = 0;
    total = elements;
    called = 0;
    if (callback) next = now() + 0.1;
}

void pt_more(int64_t elements) { total += elements; }

tally_status pt_advance(int64_t elements)
{
    done += elements;
    /* at the end Python itself looks for signals */
    if ((done >= total && !callback) || now() < next) return TALLY_OK;
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    if (!raised && callback) raised = call_callback();
    PyGILState_Release(state);
    next = now() + 0.1;
    return raised ? PT_INTERRUPTED : TALLY_OK;
}

int pt_end(int failed)
{
    if (!failed && callback && called) {
        done = total;
        failed = call_callback();
    }
    return failed;
}

/* progress(callback or None) -> the previous one */
PyObject *pt_progress(PyObject *module, PyObject *object)
{
    if (object != Py_None && !PyCallable_Check(object)) {
        PyErr_Format(PyExc_TypeError, "callback is %R: must be callable, or None", object);
        return NULL;
    }
    /* the caller gets the reference */
    PyObject *before = callback ? callback : Py_NewRef(Py_None);
    callback = object == Py_None ? NULL : Py_NewRef(object);
    return before;
}

/* SPDX-License-Identifier: MIT
 * _core.Stream: a scan or a window of data that comes in chunks, with its own context. (A reduction
 * is a fragment that grows: _fragment.py.) */
#include "pt.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD pt_slot *slot;
    tally_stream *stream;
    pt_verb verb;
    tally_dtype dtype;
    int is_bool;
    pt_kind kind; /* of the last chunk, used by finish */
    atomic_int busy;
} stream;

static void dealloc(PyObject *self)
{
    stream *s = (stream *)self;
    PyTypeObject *type = Py_TYPE(self);
    tally_stream_close(s->stream);
    pt_give_back(s->slot);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* Continues a scan after a fragment, given as bytes. */
static int resume(const stream *s, PyObject *bytes)
{
    tally_fragment *fragment = pt_fragment_load(s->slot, bytes);
    const tally_status status = fragment ? tally_stream_resume(s->stream, fragment) : TALLY_OK;
    tally_fragment_free(fragment);
    if (status) return pt_raise(s->slot->ctx, status);
    return fragment ? 0 : -1;
}

/* Stream(what, op, dtype, exclusive, init, before, after, edges, min_count, fragment) */
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *names)
{
    int what, exclusive, edges;
    long long before, after, min_count;
    PyObject *op, *dtype, *init, *fragment;
    char start[16];
    if (!PyArg_ParseTuple(args, "iOOpOLLiLO", &what, &op, &dtype, &exclusive, &init, &before,
                          &after, &edges, &min_count, &fragment))
        return NULL;
    stream *s = (stream *)PyType_GenericAlloc(type, 0);
    if (!s) return NULL;
    if (pt_dtype_of(dtype, &s->dtype, &s->is_bool) || !(s->slot = pt_take(NULL, NULL)) ||
        pt_verb_of_type(s->slot, op, s->dtype, s->is_bool, &s->verb))
        goto failed;
    tally_scan_options scan = {exclusive, 0, NULL};
    tally_window_options window = {before, after, (tally_edges)edges, min_count};
    s->verb.what = what == PT_SCAN ? PT_SCAN : PT_WINDOW;
    if (init != Py_None) {
        if (pt_value_from(init, "init", s->verb.info.output, start)) goto failed;
        scan.init = start;
    }
    tally_status status =
        what == PT_SCAN
            ? tally_stream_scan(s->slot->ctx, s->verb.op, s->dtype, &scan, &s->stream)
            : tally_stream_window(s->slot->ctx, s->verb.op, s->dtype, &window, &s->stream);
    if (!status && (fragment == Py_None || !resume(s, fragment))) return (PyObject *)s;
    if (status) pt_raise(s->slot->ctx, status);
failed:
    Py_DECREF(s);
    return NULL;
}

/* Makes an array of the `count` results in `from`. They may be those of rows of earlier chunks, so
 * chunks of pandas get no index: NumPy's arrays. */
static PyObject *results(const stream *s, const pt_operand *like, const char *from, int64_t count)
{
    const int labelled = like->kind == PT_OTHER && PyObject_HasAttrString(like->object, "iloc");
    const pt_operand plain = {.kind = PT_NUMPY, .device = -1};
    pt_operand out;
    PyObject *object;
    const int64_t shape[2] = {count, s->verb.info.lanes};
    const pt_form form = {s->verb.out, s->verb.out_bool, s->verb.info.lanes > 1 ? 2 : 1, shape};
    if (labelled && pt_numpy_empty) like = &plain;
    if (pt_make(like, form, &out, &object)) return NULL;
    if (count) memcpy(out.data, from, (size_t)(count * s->verb.out_bytes));
    pt_close_result(&s->verb, &out);
    return pt_give(like, object, 1);
}

/* Pushes x's elements, without the GIL. *count results are written to scratch. */
static tally_status push_run(stream *s, const pt_operand *a, const pt_operand *next, char *scratch,
                             int64_t *count)
{
    pt_sequence x;
    tally_status status = pt_sequence_open(a, next, &x);
    if (status) return status;
    if (a->valid || next) {
        *count = tally_stream_results(s->stream, a->size);
        const tally_view out = tally_flat(scratch, s->verb.info.output, *count);
        status = tally_stream_push_view(s->stream, &x.view, &out);
    } else if (a->size > 1 && x.view.stride != 1) {
        pt_operand dense;
        if (!(status = pt_pack_axes(a, NULL, &dense))) {
            status = tally_stream_push(s->stream, dense.data, a->size, scratch, count);
            pt_unpack_axes(&dense);
        }
    } else {
        status = tally_stream_push(s->stream, x.view.data, a->size, scratch, count);
    }
    pt_sequence_close(&x);
    return status;
}

static int enter(stream *s)
{
    int no = 0;
    if (atomic_compare_exchange_strong(&s->busy, &no, 1)) return 0;
    PyErr_SetString(PyExc_ValueError,
                    "the stream is in use by another thread: a stream serves one at a time");
    return -1;
}

/* Checks that the stream takes these arrays. */
static int fits(const stream *s, const pt_operand *a, const pt_operand *next)
{
    const tally_dtype dtype = next ? pt_common(a->dtype, next->dtype) : a->dtype;
    if (pt_check_inputs(&s->verb, next)) return -1;
    if (a->ndim > 1 || dtype != s->dtype || (!next && a->is_bool != s->is_bool)) {
        PyErr_Format(PyExc_ValueError, "%s %s with %d axes: this stream takes %s with one",
                     next ? "x and next are" : "x is", pt_dtype_name(dtype, a->is_bool && !next),
                     a->ndim, pt_dtype_name(s->dtype, s->is_bool));
        return -1;
    }
    if (!a->valid || !strstr(s->verb.op, ":exact")) return 0;
    PyErr_Format(PyExc_ValueError,
                 "x has elements that are left out (nulls, a mask, where): a stream of '%s' takes "
                 "arrays without",
                 s->verb.op);
    return -1;
}

/* push(x, *, next=None, where=None) */
static PyObject *push(PyObject *self, PyObject *args, PyObject *names)
{
    static const char *const words[] = {"", "next", "where", NULL};
    stream *s = (stream *)self;
    pt_inputs in;
    pt_operand *const a = &in.a;
    PyObject *x, *second = Py_None, *where = Py_None, *given = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O|$OO:push", (char **)(uintptr_t)words, &x,
                                     &second, &where))
        return NULL;
    if (pt_open_inputs(x, second, where, "a stream", &in)) return NULL;
    if (!pt_flatten(a) && !fits(s, a, in.next) && !enter(s)) {
        const int64_t most = tally_stream_room(s->stream, a->size),
                      results_now = tally_stream_results(s->stream, a->size);
        int64_t count = 0, bytes;
        char *out = NULL;
        if (__builtin_mul_overflow(most > results_now ? most : results_now, s->verb.out_bytes,
                                   &bytes) ||
            !(out = malloc((size_t)bytes + 1))) {
            PyErr_NoMemory();
        } else {
            tally_status status;
            Py_BEGIN_ALLOW_THREADS status = push_run(s, a, in.next, out, &count);
            Py_END_ALLOW_THREADS s->kind = a->kind == PT_NUMPY ? PT_NUMPY : PT_OWN;
            if (status)
                pt_raise(s->slot->ctx, status);
            else
                given = results(s, a, out, count);
        }
        free(out);
        atomic_store(&s->busy, 0);
    }
    pt_close_inputs(&in);
    return given;
}

static PyObject *finish(PyObject *self, PyObject *unused)
{
    stream *s = (stream *)self;
    /* NumPy has bfloat16 only if an array brings its dtype */
    pt_operand like = {.kind = s->verb.out == TALLY_BF16 ? PT_OWN : s->kind, .device = -1};
    PyObject *given = NULL;
    if (enter(s)) return NULL;
    int64_t count = 0, capacity = tally_stream_room(s->stream, -1);
    char *out = malloc((size_t)(capacity * s->verb.out_bytes + 1));
    tally_status status = out ? tally_stream_finish(s->stream, out, &count) : TALLY_NO_MEMORY;
    if (status)
        pt_raise(s->slot->ctx, status);
    else
        given = results(s, &like, out, count);
    free(out);
    atomic_store(&s->busy, 0);
    return given;
}

static PyMethodDef methods[] = {
    {"push", (PyCFunction)(void (*)(void))push, METH_VARARGS | METH_KEYWORDS,
     "push(x, *, next=None, where=None) -> the results that became known"},
    {"finish", finish, METH_NOARGS, "finish() -> the results that were left"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_new, create}, {Py_tp_methods, methods}, {0, NULL}};
static PyType_Spec spec = {"tally._core.Stream", sizeof(stream), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

int pt_stream_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    return type ? PyModule_AddObjectRef(module, "Stream", type) : -1;
}

/* SPDX-License-Identifier: MIT
 * Fragments as values: a fragment is the bytes that tally_fragment_save writes (doc/formats.md). So
 * it can be pickled and compared, and belongs to no context and no thread. The class is in
 * _fragment.py. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

static PyObject *saved(tally *ctx, tally_fragment *fragment)
{
    size_t bytes = 0;
    tally_status status = tally_fragment_save(fragment, NULL, &bytes);
    PyObject *object = status ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (object && (status = tally_fragment_save(fragment, PyBytes_AsString(object), &bytes)))
        Py_CLEAR(object);
    if (status) pt_raise(ctx, status);
    return object;
}

/* Makes a fragment if elements are left out, or of two arrays, or of device memory. */
static tally_status make_of_inputs(tally *ctx, const pt_verb *verb, const pt_operand *a,
                                   int64_t start, tally_fragment **whole)
{
    pt_sequence s;
    tally_status status = pt_sequence_open(a, verb->next, &s);
    if (status) return status;
    status = tally_fragment_of_view(ctx, verb->op, &s.view, start, whole);
    pt_sequence_close(&s);
    return status;
}

/* Makes the fragment of x's elements, in C order from `start` on, piece by piece. No GIL. */
static tally_status make(tally *ctx, const pt_verb *verb, const pt_operand *a, int64_t start,
                         tally_fragment **whole)
{
    enum { PIECE = 1 << 22 };
    pt_dim dim[PT_DIMS];
    if (a->valid || verb->next || a->device >= 0) return make_of_inputs(ctx, verb, a, start, whole);
    for (int i = 0; i < a->ndim; i++) dim[i] = (pt_dim){a->shape[i], a->strides[i], 0};
    int dims = a->size ? pt_join(dim, a->ndim) : 0;
    if (!a->chunks && (!a->size || dims == 0 || (dims == 1 && dim[0].in == verb->in_bytes)))
        return tally_fragment_make(ctx, verb->op, a->dtype, a->data, start, a->size, whole);
    const pt_elements all = {a->data, dim, dims, verb->in_bytes};
    char *packed = a->chunks ? NULL : malloc(PIECE);
    tally_status status = tally_fragment_make(ctx, verb->op, a->dtype, NULL, start, 0, whole);
    if (!packed && !a->chunks) status = TALLY_NO_MEMORY;
    for (int64_t at = 0, chunk = 0, now; !status && at < a->size; at += now) {
        tally_fragment *part;
        const void *x = packed;
        if (a->chunks) {
            now = a->chunks[chunk].n;
            x = a->chunks[chunk++].data;
        } else {
            now = a->size - at < PIECE / verb->in_bytes ? a->size - at : PIECE / verb->in_bytes;
            pt_pack(packed, &all, at, now);
        }
        status = tally_fragment_make(ctx, verb->op, a->dtype, x, start + at, now, &part);
        if (status) break;
        status = tally_fragment_merge(*whole, part);
        tally_fragment_free(part);
        if (!status) status = pt_advance(now);
    }
    free(packed);
    if (status) {
        tally_fragment_free(*whole);
        *whole = NULL;
    }
    return status;
}

/* fragment_make(op, x, start, next, where) -> bytes */
PyObject *pt_fragment_make(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_inputs in;
    pt_verb verb;
    int64_t start;
    PyObject *object = NULL;
    if (pt_count("fragment_make", count, 5) || pt_integer(args[2], "start", &start)) return NULL;
    if (pt_open_inputs(args[1], args[3], args[4], NULL, &in)) return NULL;
    const int good = !pt_check_device(&in.a, ~(uint64_t)0, NULL) &&
                     !(in.next && pt_check_device(in.next, ~(uint64_t)0, NULL));
    pt_slot *slot = good ? pt_take(&in.a, in.next) : NULL;
    if (slot && !pt_verb_of(slot, args[0], Py_None, &in.a, in.next, &verb)) {
        tally_fragment *fragment = NULL;
        tally_status status;
        pt_begin(in.a.size);
        Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
        if (!status) status = make(slot->ctx, &verb, &in.a, start, &fragment);
        status = pt_stream_end(slot, status);
        Py_END_ALLOW_THREADS if (!pt_end(status ? pt_raise(slot->ctx, status) : 0)) object =
            saved(slot->ctx, fragment);
        tally_fragment_free(fragment);
    }
    pt_give_back(slot);
    pt_close_inputs(&in);
    return object;
}

/* fragment_none(op, dtype, start) -> bytes: a fragment without elements */
PyObject *pt_fragment_none(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tally_dtype dtype;
    int is_bool;
    pt_verb verb;
    tally_fragment *fragment = NULL;
    int64_t start;
    if (pt_count("fragment_none", count, 3) || pt_dtype_of(args[1], &dtype, &is_bool) ||
        pt_integer(args[2], "start", &start))
        return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    PyObject *object = NULL;
    if (slot && !pt_verb_of_type(slot, args[0], dtype, is_bool, &verb)) {
        tally_status status =
            tally_fragment_make(slot->ctx, verb.op, dtype, NULL, start, 0, &fragment);
        if (status)
            pt_raise(slot->ctx, status);
        else
            object = saved(slot->ctx, fragment);
        tally_fragment_free(fragment);
    }
    pt_give_back(slot);
    return object;
}

/* A view of the rows of x, which has two axes. */
static int rows_of(const pt_operand *a, tally_view *v)
{
    const int64_t bytes = pt_bytes(a);
    if (a->chunks || a->ndim != 2)
        PyErr_SetString(PyExc_ValueError, "x must have two axes, in one piece of host memory");
    else if (a->size && (a->strides[0] % bytes || a->strides[1] % bytes))
        PyErr_SetString(PyExc_ValueError,
                        "x has elements that are not whole elements apart: copy it");
    else {
        *v = pt_view(a, a->data, a->shape[0], a->shape[1], a->strides[0], a->strides[1]);
        return 0;
    }
    return -1;
}

/* fragment_rows(op, x, start) -> bytes: the rows of x, which has two axes, are sequences */
PyObject *pt_fragment_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_inputs in;
    pt_verb verb;
    tally_view x;
    int64_t start;
    if (pt_count("fragment_rows", count, 3) || pt_integer(args[2], "start", &start)) return NULL;
    if (pt_open_inputs(args[1], Py_None, Py_None, "a fragment of rows", &in)) return NULL;
    PyObject *object = NULL;
    pt_slot *slot = NULL;
    if (!rows_of(&in.a, &x) && (slot = pt_take(NULL, NULL)) &&
        !pt_verb_of(slot, args[0], Py_None, &in.a, NULL, &verb)) {
        tally_fragment *fragment = NULL;
        tally_status status;
        Py_BEGIN_ALLOW_THREADS status =
            tally_fragment_of_view(slot->ctx, verb.op, &x, start, &fragment);
        Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
        else object = saved(slot->ctx, fragment);
        tally_fragment_free(fragment);
    }
    pt_give_back(slot);
    pt_close_inputs(&in);
    return object;
}

tally_fragment *pt_fragment_load(pt_slot *slot, PyObject *object)
{
    char *bytes;
    Py_ssize_t length;
    tally_fragment *fragment = NULL;
    if (PyBytes_AsStringAndSize(object, &bytes, &length)) return NULL;
    tally_status status = tally_fragment_load(slot->ctx, bytes, (size_t)length, &fragment);
    if (status) pt_raise(slot->ctx, status);
    return fragment;
}

/* fragment_join(left, right) -> bytes */
PyObject *pt_fragment_join(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (pt_count("fragment_join", count, 2)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    if (!slot) return NULL;
    PyObject *object = NULL;
    tally_fragment *left = pt_fragment_load(slot, args[0]),
                   *right = left ? pt_fragment_load(slot, args[1]) : NULL;
    tally_status status = right ? tally_fragment_merge(left, right) : TALLY_OK;
    if (status)
        pt_raise(slot->ctx, status);
    else if (right)
        object = saved(slot->ctx, left);
    tally_fragment_free(left);
    tally_fragment_free(right);
    pt_give_back(slot);
    return object;
}

/* The results of a fragment: a number, or an array with one result per sequence. */
static PyObject *results(tally *ctx, const tally_fragment *fragment,
                         const tally_fragment_info *about)
{
    tally_operator_info info;
    PyObject *value = NULL;
    tally_status status = tally_operator(ctx, about->op, about->dtype, &info);
    const int64_t shape[2] = {about->rows, info.lanes};
    if (!status && about->rows == 1 && info.lanes == 1) {
        char out[16];
        status = tally_fragment_result(fragment, out);
        if (!status) value = pt_value(info.output, 0, out);
    } else if (!status) {
        value = pt_array_new(info.output, 0, about->rows == 1 ? 1 : 1 + (info.lanes > 1),
                             about->rows == 1 ? shape + 1 : shape);
        if (value && about->rows &&
            (status = tally_fragment_result(fragment, pt_array_data(value))))
            Py_CLEAR(value);
    }
    if (status) pt_raise(ctx, status);
    return value;
}

/* fragment_read(bytes, result) -> (op, dtype, start, end, None or the result) */
PyObject *pt_fragment_read(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (pt_count("fragment_read", count, 2)) return NULL;
    pt_slot *slot = pt_take(NULL, NULL);
    tally_fragment *fragment = slot ? pt_fragment_load(slot, args[0]) : NULL;
    PyObject *object = NULL;
    if (fragment) {
        tally_fragment_info about;
        int64_t from, to;
        tally_fragment_about(fragment, &about);
        tally_fragment_range(fragment, &from, &to);
        PyObject *value = PyObject_IsTrue(args[1]) > 0 ? results(slot->ctx, fragment, &about)
                                                       : Py_NewRef(Py_None);
        if (value)
            object = Py_BuildValue("(ssLLN)", about.op, pt_dtype_name(about.dtype, 0),
                                   (long long)from, (long long)to, value);
    }
    tally_fragment_free(fragment);
    pt_give_back(slot);
    return object;
}

/* scan_rows(op, x, before, exclusive, init) -> the results: the rows of x, which has two axes,
 * continue after `before` */
PyObject *pt_scan_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_inputs in;
    pt_verb verb;
    tally_view x;
    char start[16];
    if (pt_count("scan_rows", count, 5)) return NULL;
    if (pt_open_inputs(args[1], Py_None, Py_None, "a scan of rows", &in)) return NULL;
    PyObject *object = NULL;
    pt_slot *slot = NULL;
    tally_fragment *before = NULL;
    tally_stream *s = NULL;
    tally_scan_options o = {.exclusive = PyObject_IsTrue(args[3]) > 0};
    if (!rows_of(&in.a, &x) && (slot = pt_take(NULL, NULL)) &&
        !pt_verb_of(slot, args[0], Py_None, &in.a, NULL, &verb) &&
        (args[4] == Py_None || !pt_value_from(args[4], "init", verb.info.output, start)) &&
        (before = pt_fragment_load(slot, args[2]))) {
        const int64_t shape[3] = {x.rows, x.n, verb.info.lanes};
        if (args[4] != Py_None) o.init = start;
        object = pt_array_new(verb.info.output, 0, 2 + (verb.info.lanes > 1), shape);
        if (object) {
            const tally_view out = tally_rows(pt_array_data(object), verb.info.output, x.rows, x.n);
            tally_status status;
            Py_BEGIN_ALLOW_THREADS status =
                tally_stream_scan_rows(slot->ctx, verb.op, x.dtype, x.rows, &o, &s);
            if (!status) status = tally_stream_resume(s, before);
            if (!status && x.n && x.rows) status = tally_stream_push_view(s, &x, &out);
            Py_END_ALLOW_THREADS if (status)
            {
                pt_raise(slot->ctx, status);
                Py_CLEAR(object);
            }
        }
    }
    tally_stream_close(s);
    tally_fragment_free(before);
    pt_give_back(slot);
    pt_close_inputs(&in);
    return object;
}

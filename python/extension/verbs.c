/* SPDX-License-Identifier: MIT
 * The common part of reduce, scan and window: the operator's facts, and the check of `out`; and
 * reduce. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* ---- the operator ---- */

/* Changes "var:1" to "var:f64:1". */
static int with_f64(char *op)
{
    size_t name = strcspn(op, ":"), length = strlen(op);
    if (length + 5 > PT_OP) return 0;
    memmove(op + name + 4, op + name, length - name + 1);
    memcpy(op + name, ":f64", 4);
    return 1;
}

/* Whether all results are 0 or 1: u8 from elements that are not u8. */
static int is_truth(pt_slot *slot, const pt_verb *verb, tally_dtype in)
{
    tally_operator_info info;
    if (verb->info.output != TALLY_U8) return 0;
    return in != TALLY_U8 ||
           (!tally_operator(slot->ctx, verb->op, TALLY_I8, &info) && info.output == TALLY_U8);
}

int pt_check_inputs(const pt_verb *verb, const pt_operand *next)
{
    if ((verb->info.inputs == 2) == (next != NULL)) return 0;
    PyErr_Format(PyExc_ValueError, "next: '%s' takes %s", verb->op,
                 next ? "one array, and a second one was given" : "two arrays, x and next");
    return -1;
}

int pt_verb_of(pt_slot *slot, PyObject *op, PyObject *dtype, const pt_operand *a,
               const pt_operand *next, pt_verb *verb)
{
    Py_ssize_t length;
    const tally_dtype in = next ? pt_common(a->dtype, next->dtype) : a->dtype;
    const char *text = PyUnicode_Check(op) ? PyUnicode_AsUTF8AndSize(op, &length) : NULL;
    if (!text || length >= PT_OP || (Py_ssize_t)strlen(text) != length) {
        if (!PyErr_Occurred())
            PyErr_Format(
                PyUnicode_Check(op) ? PyExc_ValueError : PyExc_TypeError,
                "op is %.200R: must be the name of an operator, such as 'sum' or 'var:ddof=1'", op);
        return -1;
    }
    memcpy(verb->op, text, (size_t)length + 1);
    memcpy(slot->op, text, (size_t)length + 1);
    verb->what = PT_REDUCE;
    verb->initial = 0;
    verb->shift = 0;
    verb->next = next;
    verb->start = verb->end = NULL;
    verb->bound = NULL;
    verb->least = 0;
    verb->scan = (tally_scan_options){0};
    tally_status status = tally_operator(slot->ctx, verb->op, in, &verb->info);
    if (status) return pt_raise(slot->ctx, status);
    if (pt_check_inputs(verb, next)) return -1;
    verb->out_bool = is_truth(slot, verb, in) || (a->is_bool && verb->info.output == TALLY_U8);
    verb->out = verb->info.output; /* of bools alone the largest results fit int64 */
    if (a->is_bool && (!next || next->is_bool) && verb->out == TALLY_U64) verb->out = TALLY_I64;
    if (dtype != Py_None) {
        tally_dtype wanted;
        int is_bool;
        if (pt_dtype_of(dtype, &wanted, &is_bool)) return -1;
        int same = wanted == verb->out && is_bool == verb->out_bool;
        if (!same && wanted == TALLY_F64 && with_f64(verb->op) &&
            !tally_operator(slot->ctx, verb->op, in, &verb->info) &&
            verb->info.output == TALLY_F64) {
            verb->out = TALLY_F64;
            same = 1;
        }
        if (!same) {
            PyErr_Format(PyExc_ValueError, "dtype is %s: '%s' of %s gives %s%s",
                         pt_dtype_name(wanted, is_bool), text,
                         pt_dtype_name(in, a->is_bool && in == TALLY_U8),
                         pt_dtype_name(verb->out, verb->out_bool),
                         in >= TALLY_F16 && verb->out == TALLY_F32 ? ", or float64 on request"
                                                                   : "");
            return -1;
        }
    }
    verb->in_bytes = (int64_t)tally_dtype_size(a->dtype);
    verb->out_bytes = (int64_t)tally_dtype_size(verb->info.output) * verb->info.lanes;
    return 0;
}

int pt_verb_of_type(pt_slot *slot, PyObject *op, tally_dtype dtype, int is_bool, pt_verb *verb)
{
    tally_operator_info info;
    const pt_operand a = {.dtype = dtype, .is_bool = is_bool, .device = -1};
    const char *text = PyUnicode_Check(op) ? PyUnicode_AsUTF8AndSize(op, NULL) : NULL;
    const int two = text && !tally_operator(slot->ctx, text, dtype, &info) && info.inputs == 2;
    if (PyErr_Occurred() || pt_verb_of(slot, op, Py_None, &a, two ? &a : NULL, verb)) return -1;
    verb->next = NULL;
    return 0;
}

/* ---- out ---- */

int pt_fits(const pt_operand *out, const pt_verb *verb, int ndim, const int64_t *shape)
{
    /* u8 accepts bools, but bool accepts nothing else */
    int one = out->dtype == verb->info.output && (out->is_bool == verb->out_bool || verb->out_bool);
    if (!one && !(out->dtype == verb->out && !out->is_bool)) {
        PyErr_Format(PyExc_ValueError, "out has dtype %s: must be %s",
                     pt_dtype_name(out->dtype, out->is_bool),
                     pt_dtype_name(verb->out, verb->out_bool));
        return -1;
    }
    if (out->ndim != ndim || memcmp(out->shape, shape, (size_t)ndim * sizeof *shape)) {
        PyObject *is = pt_shape(out->ndim, out->shape), *must = pt_shape(ndim, shape);
        if (is && must) PyErr_Format(PyExc_ValueError, "out has shape %R: must be %R", is, must);
        Py_XDECREF(is);
        Py_XDECREF(must);
        return -1;
    }
    if (!pt_distinct(out, (int64_t)tally_dtype_size(out->dtype))) {
        PyErr_SetString(
            PyExc_ValueError,
            "out: several of its elements are one place, so results would overwrite each other");
        return -1;
    }
    return 0;
}

/* ---- reduce ---- */

/* Whether results are dense in C order. Another `out` is filled from dense memory. */
static int is_dense(const pt_operand *a)
{
    int64_t reach = (int64_t)tally_dtype_size(a->dtype);
    for (int i = a->ndim - 1; i >= 0; i--) {
        if (a->shape[i] > 1 && a->strides[i] != reach) return 0;
        reach *= a->shape[i];
    }
    return 1;
}

static tally_status run(pt_slot *slot, const pt_verb *verb, const pt_operand *a, uint64_t mask,
                        const pt_operand *out)
{
    char *to = out->data;
    int dense = is_dense(out);
    if (!dense && !(to = malloc((size_t)(out->size * (int64_t)tally_dtype_size(out->dtype)))))
        return TALLY_NO_MEMORY;
    tally_status status = pt_stream_begin(slot);
    if (!status)
        status = a->chunks ? pt_walk_chunks(slot->ctx, verb, a, to)
                           : pt_walk_reduce(slot->ctx, verb, a, mask, to);
    status = pt_stream_end(slot, status);
    if (!dense) {
        pt_dim dim[PT_DIMS];
        for (int i = 0; i < out->ndim; i++)
            dim[i] = (pt_dim){.n = out->shape[i], .out = out->strides[i]};
        if (!status)
            pt_unpack(out->data, to, dim, out->ndim, out->size,
                      (int64_t)tally_dtype_size(out->dtype));
        free(to);
    }
    return status;
}

int pt_check_device(const pt_operand *a, uint64_t mask, const pt_operand *out)
{
    pt_dim dim[PT_DIMS];
    int folded = 0;
    for (int i = 0; i < a->ndim; i++)
        if (mask >> i & 1) dim[folded++] = (pt_dim){.n = a->shape[i], .in = a->strides[i]};
    if (a->device >= 0 && a->size &&
        (pt_join(dim, folded) > 1 || !pt_even(a, (int64_t)tally_dtype_size(a->dtype)))) {
        PyErr_Format(
            PyExc_ValueError,
            "%s is on a device, and no single stride walks what is folded: make it contiguous",
            a->name);
        return -1;
    }
    if (out && out->device >= 0 && !is_dense(out)) {
        PyErr_SetString(PyExc_ValueError, "out is on a device: it must be contiguous");
        return -1;
    }
    return 0;
}

static int reduce_into(pt_slot *slot, const pt_verb *verb, const pt_operand *a, uint64_t mask,
                       const pt_operand *out)
{
    tally_status status;
    if (pt_check_device(a, mask, out) || (verb->next && pt_check_device(verb->next, mask, out)))
        return -1;
    for (const pt_operand *in = a; in; in = in == a ? verb->next : NULL) {
        if (!pt_overlap(in, out, (int64_t)tally_dtype_size(in->dtype),
                        verb->out_bytes / verb->info.lanes))
            continue;
        PyErr_Format(PyExc_ValueError, "out overlaps %s: give it memory of its own", in->name);
        return -1;
    }
    pt_begin(a->size);
    if (pt_long(slot, a->size * verb->in_bytes)) {
        Py_BEGIN_ALLOW_THREADS status = run(slot, verb, a, mask, out);
        Py_END_ALLOW_THREADS
    } else {
        status = run(slot, verb, a, mask, out);
    }
    return pt_end(status ? pt_raise(slot->ctx, status) : 0);
}

/* reduce(op, x, axis, keepdims, dtype, out, next, where) */
PyObject *pt_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, b;
    const pt_operand *next = NULL;
    pt_result result;
    pt_verb verb;
    uint64_t mask;
    PyObject *out = count == 8 ? args[5] : Py_None;
    if (pt_count("reduce", count, 8) || pt_open(args[1], "x", &a)) return NULL;
    PyObject *second = args[6], *where = args[7];
    pt_slot *slot = NULL;
    int keepdims = args[3] == Py_False ? 0 : PyObject_IsTrue(args[3]), failed = 1;
    result.opened = result.ndim = 0;
    result.object = NULL;
    if (keepdims < 0 || pt_axes(args[2], &a, &mask)) goto done;
    for (int i = 0; i < a.ndim; i++) {
        int fold = (int)(mask >> i & 1);
        if (!fold || keepdims) result.shape[result.ndim++] = fold ? 1 : a.shape[i];
    }
    if (pt_rearrange(&a, &mask, &second, &where) || pt_leave_out(&a, where, "where", 0) ||
        pt_open_next(second, &a, &b, &next))
        goto done;
    /* a stream of chunks cannot do these */
    if ((pt_has_nulls(&a) || !mask) && pt_flatten(&a)) goto done;
    if (out != Py_None) {
        if (pt_open_out(out, &result.a)) goto done;
        result.opened = 1;
    }
    const pt_operand *const all[] = {&a, next, result.opened ? &result.a : NULL};
    if (!(slot = pt_take_all(all, 3)) || pt_verb_of(slot, args[0], args[4], &a, next, &verb))
        goto done;
    if (pt_open_result(&a, &verb, out, &result)) goto done;
    failed = reduce_into(slot, &verb, &a, mask, &result.a);
done:
    pt_give_back(slot);
    if (result.opened) failed ? pt_close(&result.a) : pt_close_result(&verb, &result.a);
    if (failed) Py_CLEAR(result.object);
    if (out == Py_None) result.object = pt_give(&a, result.object, result.ndim);
    pt_close_next(next);
    pt_close(&a);
    return result.object;
}

/* SPDX-License-Identifier: MIT
 * The arguments of `rolling`, and where it runs (rolling.h): on the device that has the array if
 * that is possible. Otherwise, and for two arrays and windows of times, the data is copied to host
 * memory, and the results are copied back. */
#include "rolling.h"
#include <stdlib.h>
#include <string.h>

/* Computes in host memory, for results in host memory or on a device. */
static int run_on_host(pt_slot *slot, rolling *r, pt_operand *out)
{
    pt_operand host = *out;
    char *const packed = out->device < 0 ? NULL : malloc((size_t)(out->size * pt_bytes(out) + 1));
    if (out->device >= 0) {
        if (!packed) {
            PyErr_NoMemory();
            return -1;
        }
        host.data = packed;
        host.device = -1;
    }
    tally_status status;
    if (pt_long(slot, r->a.size * pt_bytes(&r->a))) {
        Py_BEGIN_ALLOW_THREADS status = pt_rolling_on_host(slot->ctx, r, &host);
        Py_END_ALLOW_THREADS
    } else {
        status = pt_rolling_on_host(slot->ctx, r, &host);
    }
    int failed = status ? pt_raise(slot->ctx, status) : 0;
    if (!failed && out->device >= 0) failed = pt_from_host(out, packed);
    free(packed);
    return failed;
}

static int read_integer(PyObject *object, int64_t *value)
{
    *value = PyLong_AsLongLong(object);
    return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Finds the operator with the wanted results: with an accumulator of float64, if it has one. */
static int one_verb(pt_slot *slot, PyObject *op, rolling *r, pt_verb *verb)
{
    if (pt_verb_of(slot, op, Py_None, &r->a, r->next, verb)) return -1;
    if (r->wanted != TALLY_F64 || r->a.dtype < TALLY_F16 || verb->info.accumulator != TALLY_F32)
        return 0;
    PyObject *wide = PyUnicode_FromString("float64");
    int bad = !wide || pt_verb_of(slot, op, wide, &r->a, r->next, verb);
    Py_XDECREF(wide);
    return bad ? -1 : 0;
}

/* Whether the results are those of the verb window, computed on the device: windows that have all
 * their rows, or NaN, which is also the result of a window with a NaN. */
static int is_window(const rolling *r)
{
    return r->a.device >= 0 && r->a.kind >= PT_TORCH && r->a.size && !r->next && !r->start &&
           r->step == 1 && r->before >= 0 && r->after >= 0 &&
           r->minimum == r->before + r->after + 1 && r->plain.info.output == r->wanted &&
           pt_rolling_keeps_nan(r) && !strncmp(r->plain.info.empty, "NaN", 3);
}

/* Finds the operator that leaves out what is missing, and the one that counts the others. */
static int find_counting(pt_slot *slot, PyObject *op, rolling *r)
{
    const pt_operand bytes = {.dtype = TALLY_U8}; /* the bytes of pairs, which are summed */
    PyObject *count = PyUnicode_FromString(r->next ? "sum" : "count");
    int bad = !count ||
              pt_verb_of(slot, count, Py_None, r->next ? &bytes : &r->a, NULL, &r->count) ||
              one_verb(slot, op, r, &r->verb);
    Py_XDECREF(count);
    return bad ? -1 : 0;
}

static int read_verb(pt_slot *slot, PyObject *op, PyObject *plain, PyObject *dtype, rolling *r)
{
    int is_bool = 0;
    r->wanted = TALLY_F64;
    if (dtype != Py_None && pt_dtype_of(dtype, &r->wanted, &is_bool)) return -1;
    if (one_verb(slot, plain, r, &r->plain)) return -1;
    if ((r->is_window = is_window(r))) return 0;
    /* without missing values only the plain operator runs */
    const int alone = r->a.device < 0 && pt_rolling_needs_all(r);
    if (!alone && find_counting(slot, op, r)) return -1;
    const tally_operator_info *const info = alone ? &r->plain.info : &r->verb.info;
    tally_dtype gives = info->output;
    const int is_half = gives == TALLY_F16 || gives == TALLY_BF16;
    if (info->lanes > 1 || (is_half && r->a.device >= 0)) {
        PyErr_Format(PyExc_ValueError, "rolling has no '%s' of %s: use window", r->plain.op,
                     pt_dtype_name(r->a.dtype, 0));
        return -1;
    }
    if (is_bool || (r->wanted != TALLY_F64 && !(r->wanted == TALLY_F32 && gives == TALLY_F32))) {
        PyErr_Format(PyExc_ValueError, "dtype is %R: rolling gives float64, or float32 of float32",
                     dtype);
        return -1;
    }
    return 0;
}

/* Replaces integers by the nearest numbers of float64, in host memory. */
static int widen(pt_operand *a)
{
    pt_operand dense;
    if (!a->size) {
        a->dtype = TALLY_F64;
        return 0;
    }
    if (pt_to_host(a)) return -1;
    double *const wide = malloc((size_t)a->size * sizeof *wide);
    if (!wide || pt_pack_axes(a, NULL, &dense)) {
        free(wide);
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < a->size; i++) wide[i] = pt_real(a->dtype, dense.data, i);
    for (int i = 0; i < a->ndim; i++)
        a->strides[i] = dense.strides[i] / pt_bytes(a) * (int64_t)sizeof *wide;
    free(dense.copy);
    free(a->copy);
    if (dense.bits) {
        free(a->bits);
        a->valid = a->bits = dense.bits;
        a->valid_offset = 0;
    }
    a->copy = a->data = (char *)wide;
    a->dtype = TALLY_F64;
    return 0;
}

/* Computes in float64 what may leave 64 bits: products, and sums of 64-bit integers. Sums of
 * narrower integers are exact. op: the name of an operator, or another object. */
static int widen_what_wraps(PyObject *op, rolling *r)
{
    Py_ssize_t length;
    const char *name = PyUnicode_Check(op) ? PyUnicode_AsUTF8AndSize(op, &length) : NULL;
    if (!name || r->a.dtype >= TALLY_F16) return PyErr_Occurred() ? -1 : 0;
    name += strncmp(name, "nan", 3) ? 0 : 3;
    return !strcmp(name, "prod") || !strcmp(name, "dot") ||
                   (!strcmp(name, "sum") && pt_bytes(&r->a) == 8)
               ? widen(&r->a)
               : 0;
}

/* Reads the axis, the first one unless it is given. */
static int read_axis(PyObject *object, rolling *r)
{
    if (object != Py_None || r->a.ndim < 1) return pt_axis(object, &r->a, &r->axis);
    r->axis = 0;
    return 0;
}

/* Reads start and end: one for each row, or None for both. */
static int read_rows(PyObject *const *args, pt_operand *bound, rolling *r)
{
    const int64_t **const to[2] = {&r->start, &r->end};
    for (int i = 0; i < 2 && args[0] != Py_None; i++) {
        if (pt_open_places(args[i], i ? "end" : "start", &bound[i]) || pt_to_host(&bound[i]))
            return -1;
        if (bound[i].size != r->a.shape[r->axis]) {
            PyErr_Format(PyExc_ValueError,
                         "on has %lld elements: must have %lld, one for each row of x",
                         (long long)bound[i].size, (long long)r->a.shape[r->axis]);
            return -1;
        }
        *to[i] = (const int64_t *)(const void *)bound[i].data;
    }
    return 0;
}

/* rolling(nan form, x, axis, dtype, before, after, minimum, step, operator, whether a NaN is an
 * observation, next, start, end) */
PyObject *pt_rolling(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rolling r; /* its operands are large: nothing clears them whole */
    pt_operand out, bound[2];
    PyObject *object = NULL;
    int64_t shape[PT_DIMS];
    int out_open = 0, failed = 1, done = 0;
    r.next = NULL;
    r.start = r.end = NULL;
    r.pairs.copy = NULL;
    for (int i = 0; i < 2; i++) pt_open_begin(Py_None, "on", &bound[i]);
    if (pt_count("rolling", count, 13) || read_integer(args[4], &r.before) ||
        read_integer(args[5], &r.after) || read_integer(args[6], &r.minimum) ||
        read_integer(args[7], &r.step) || pt_open(args[1], "x", &r.a))
        return NULL;
    pt_operand like = r.a;
    pt_slot *slot = NULL;
    r.all_observed = args[9] == Py_True;
    if (pt_flatten(&r.a) || pt_open_next(args[10], &r.a, &r.b, &r.next) || read_axis(args[2], &r) ||
        read_rows(args + 11, bound, &r) || !(slot = pt_take(NULL, NULL)) ||
        widen_what_wraps(args[8], &r) || read_verb(slot, args[0], args[8], args[3], &r))
        goto done;
    memcpy(shape, r.a.shape, (size_t)r.a.ndim * sizeof *shape);
    shape[r.axis] = (shape[r.axis] + r.step - 1) / r.step;
    if (pt_make(&like, (pt_form){r.wanted, 0, r.a.ndim, shape}, &out, &object)) goto done;
    out_open = 1;
    pt_begin(2 * r.a.size);
    failed = pt_rolling_on_device(&r, &out, object, slot->ctx, &done);
    if (!failed && !done)
        failed = pt_to_host(&r.a) || (r.next && pt_to_host(&r.b)) || run_on_host(slot, &r, &out);
    failed = pt_end(failed);
done:
    pt_give_back(slot);
    if (out_open) pt_close(&out);
    if (failed) Py_CLEAR(object);
    object = pt_give(&like, object, r.a.ndim);
    for (int i = 0; i < 2; i++) pt_close(&bound[i]);
    free(r.pairs.copy);
    pt_close_next(r.next);
    pt_close(&r.a);
    return object;
}

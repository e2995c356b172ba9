/* SPDX-License-Identifier: MIT
 * Reduce, scan and window by key: the library's verbs by codes; and the ranges of rows of windows
 * over rows that are sorted by group. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* Opens codes of one axis. negative: -1 stands for no group. */
static int open_codes(PyObject *object, int negative, pt_operand *codes, tally_view *v)
{
    if (pt_open(object, "codes", codes)) return -1;
    if (pt_flatten(codes) || pt_make_even(codes) || codes->ndim != 1 ||
        !pt_even(codes, pt_bytes(codes))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError,
                            "codes must have one axis, with strides of whole elements");
        pt_close(codes);
        return -1;
    }
    *v = pt_view(codes, codes->data, 1, codes->size, 0,
                 codes->size > 1 ? codes->strides[0] : pt_bytes(codes));
    if (!negative || codes->dtype != TALLY_I32) return 0;
    const int32_t *const code = (const void *)codes->data;
    uint8_t *const bits = calloc((size_t)codes->size / 8 + 1, 1);
    if (!bits) {
        PyErr_NoMemory();
        pt_close(codes);
        return -1;
    }
    for (int64_t i = 0; i < codes->size; i++) bits[i >> 3] |= (uint8_t)((code[i] >= 0) << (i & 7));
    codes->bits = bits;
    v->valid = bits;
    v->valid_offset = 0;
    return 0;
}

/* The view of one axis of an operand. */
static tally_view flat(const pt_operand *a)
{
    return pt_view(a, a->data, 1, a->size, 0, a->size > 1 ? a->strides[0] : pt_bytes(a));
}

static int check(const pt_operand *a, const pt_operand *next, const tally_view *codes)
{
    if (a->ndim != 1 || !pt_even(a, pt_bytes(a)) || (next && !pt_even(next, pt_bytes(next)))) {
        PyErr_Format(PyExc_ValueError,
                     "x has %d axes: by takes one axis, with strides of whole elements", a->ndim);
        return -1;
    }
    if (codes->n == a->size) return 0;
    PyErr_Format(PyExc_ValueError,
                 "by has %lld elements: must have %lld, one for each element of x",
                 (long long)codes->n, (long long)a->size);
    return -1;
}

/* Runs a verb by key: element i belongs to the group codes[i]. */
static tally_status run_by_key(pt_slot *slot, const pt_verb *verb, const pt_operand *a,
                               const tally_view *codes, int64_t groups, const pt_operand *out)
{
    tally_view v = flat(a), second, w = {out->data, verb->info.output, 1, a->size, 0, 1, NULL};
    if (verb->next) {
        second = flat(verb->next);
        v.next = &second;
    }
    tally_status status = pt_stream_begin(slot);
    if (!status)
        status = verb->what == PT_REDUCE
                     ? tally_reduce_by(slot->ctx, verb->op, &v, codes, groups, out->data)
                 : verb->what == PT_SCAN
                     ? tally_scan_by(slot->ctx, verb->op, &v, codes, groups, &w, &verb->scan)
                     : tally_window_by(slot->ctx, verb->op, &v, codes, groups, &w, &verb->window);
    return pt_stream_end(slot, status);
}

/* by(what, op, x, codes, groups, negative, dtype, exclusive, reverse, before, after, edges,
 * min_count, next, where) */
PyObject *pt_by(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const int places[] = {0, 4, 7, 8, 9, 10, 11, 12};
    static const char *const names[] = {"what",   "groups", "exclusive", "reverse",
                                        "before", "after",  "edges",     "min_count"};
    pt_operand codes;
    pt_inputs in;
    pt_result result = {.opened = 0};
    pt_verb verb;
    tally_view v;
    int64_t number[8];
    if (pt_count("by", count, 15)) return NULL;
    for (int i = 0; i < 8; i++)
        if (pt_integer(args[places[i]], names[i], &number[i])) return NULL;
    const int64_t groups = number[1];
    if (open_codes(args[3], args[5] == Py_True, &codes, &v)) return NULL;
    pt_slot *slot = NULL;
    int opened = 0;
    tally_status status = TALLY_OK;
    if (groups < 0 || groups >> 58) {
        PyErr_Format(PyExc_ValueError, "groups is %lld: must be 0..2^58 - 1", (long long)groups);
        goto done;
    }
    if (pt_open_inputs(args[2], args[13], args[14], NULL, &in)) goto done;
    opened = 1;
    if (pt_flatten(&in.a) || pt_make_even(&in.a) || (in.next && pt_make_even(&in.b)) ||
        check(&in.a, in.next, &v))
        goto done;
    const pt_operand *const all[] = {&in.a, in.next, &codes};
    if (!(slot = pt_take_all(all, 3)) || pt_verb_of(slot, args[1], args[6], &in.a, in.next, &verb))
        goto done;
    verb.what = (int)number[0];
    verb.scan = (tally_scan_options){(int)number[2], (int)number[3], NULL};
    verb.window = (tally_window_options){number[4], number[5], (tally_edges)number[6], number[7]};
    result.ndim = 1;
    result.shape[0] = verb.what == PT_REDUCE ? groups : in.a.size;
    if (pt_open_result(&in.a, &verb, NULL, &result)) goto done;
    Py_BEGIN_ALLOW_THREADS status = run_by_key(slot, &verb, &in.a, &v, groups, &result.a);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
done:
    pt_give_back(slot);
    if (result.opened) pt_close_result(&verb, &result.a);
    if (status) Py_CLEAR(result.object);
    if (opened) {
        result.object = pt_give(&in.a, result.object, result.ndim);
        pt_close_inputs(&in);
    }
    pt_close(&codes);
    return result.object;
}

/* ---- windows over rows that are sorted by group ---- */

/* Whether key `first` is larger than key `last`. */
static int falls(const pt_operand *keys, int64_t first, int64_t last)
{
#define LARGER(d, type) \
    case d: \
        return ((const type *)(const void *)keys->data)[first] > \
               ((const type *)(const void *)keys->data)[last];
    switch (keys->dtype) {
        LARGER(TALLY_I32, int32_t)
        LARGER(TALLY_I64, int64_t)
        LARGER(TALLY_U64, uint64_t)
        LARGER(TALLY_F64, double)
    default:
        return 0; /* the library refuses the type */
    }
#undef LARGER
}

/* The same window for keys that fall: distances have the other sign. */
static tally_key_window turned(tally_key_window w)
{
    return (tally_key_window){.low = -w.high,
                              .high = -w.low,
                              .low_real = -w.high_real,
                              .high_real = -w.low_real,
                              .low_open = w.high_open,
                              .high_open = w.low_open,
                              .ties = w.ties};
}

/* Windows of times of each group. Returns the group of an error, or -1. */
static int64_t group_times(tally *ctx, const pt_operand *keys, const pt_operand *offsets,
                           const tally_key_window *w, int64_t *start, int64_t *end)
{
    const int64_t *const at = (const void *)offsets->data;
    for (int64_t g = 0; g + 1 < offsets->size; g++) {
        const int64_t a = at[g], n = at[g + 1] - a;
        if (!n) continue;
        const tally_view v = tally_flat(keys->data + a * pt_bytes(keys), keys->dtype, n);
        const tally_key_window window = falls(keys, a, a + n - 1) ? turned(*w) : *w;
        if (tally_window_bounds(ctx, &v, &window, start + a, end + a)) return g;
        for (int64_t i = a; i < a + n; i++) start[i] += a, end[i] += a;
    }
    return -1;
}

/* Raises an exception for the times of the group of rows first .. end - 1, which are not sorted.
 * order: the row in x of each sorted row. */
static void raise_times(tally *ctx, const pt_operand *keys, const int64_t *order, int64_t first,
                        int64_t end)
{
    int64_t at = first + 1;
    const int falling = end > first && falls(keys, first, end - 1);
    while (at < end && !falls(keys, falling ? at : at - 1, falling ? at - 1 : at)) at++;
    PyObject *const a =
        at < end ? pt_value(keys->dtype, 0, keys->data + at * pt_bytes(keys)) : NULL;
    PyObject *const b = a ? pt_value(keys->dtype, 0, keys->data + (at - 1) * pt_bytes(keys)) : NULL;
    if (b)
        PyErr_Format(PyExc_ValueError,
                     "on: row %lld is %R, after %R in row %lld of the same group: the times of a "
                     "group must be sorted",
                     (long long)order[at], a, b, (long long)order[at - 1]);
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "on, in the group of row %lld: %s", (long long)order[first],
                     tally_error(ctx));
    Py_XDECREF(a);
    Py_XDECREF(b);
}

/* Windows of rows before .. after of each row, in its group. */
static void group_rows(const pt_operand *offsets, int64_t before, int64_t after, int64_t *start,
                       int64_t *end)
{
    const int64_t *const at = (const void *)offsets->data;
    for (int64_t g = 0; g + 1 < offsets->size; g++)
        for (int64_t i = at[g]; i < at[g + 1]; i++) {
            const int64_t left = i - at[g], right = at[g + 1] - 1 - i;
            start[i] = i - (left < before ? left : before);
            end[i] = i + (right < after ? right : after) + 1;
            if (end[i] < start[i]) end[i] = start[i]; /* before or after is -1 */
        }
}

/* group_bounds(order, offsets, keys or None, low or before, high or after, low_open, high_open,
 * ties) -> (start, end) of each sorted row. Those after the last offset have no window. */
PyObject *pt_group_bounds(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand offsets, keys, order;
    PyObject *bound[2] = {NULL, NULL}, *pair = NULL;
    if (pt_count("group_bounds", count, 8)) return NULL;
    const int timed = args[2] != Py_None, real = timed && PyFloat_Check(args[3]);
    const int64_t low = real ? 0 : PyLong_AsLongLong(args[3]),
                  high = real ? 0 : PyLong_AsLongLong(args[4]);
    if (PyErr_Occurred() || pt_open_places(args[0], "order", &order)) return NULL;
    const int64_t rows = order.size;
    if (pt_open_places(args[1], "offsets", &offsets)) {
        pt_close(&order);
        return NULL;
    }
    if (timed && pt_open_plain(args[2], "on", "this function", &keys)) {
        pt_close(&order);
        pt_close(&offsets);
        return NULL;
    }
    const tally_key_window w = {.low = low,
                                .high = high,
                                .low_real = real ? PyFloat_AsDouble(args[3]) : 0,
                                .high_real = real ? PyFloat_AsDouble(args[4]) : 0,
                                .low_open = PyObject_IsTrue(args[5]),
                                .high_open = PyObject_IsTrue(args[6]),
                                .ties = PyObject_IsTrue(args[7]) ? TALLY_TIES_ROW : TALLY_TIES_ALL};
    pt_slot *const slot = pt_take(NULL, NULL);
    for (int i = 0; i < 2 && slot; i++) {
        bound[i] = pt_array_new(TALLY_I64, 0, 1, &rows);
        if (bound[i]) memset(pt_array_data(bound[i]), 0, (size_t)rows * 8);
    }
    if (slot && bound[0] && bound[1]) {
        int64_t *const start = pt_array_data(bound[0]), *const end = pt_array_data(bound[1]);
        int64_t wrong = -1;
        Py_BEGIN_ALLOW_THREADS if (timed) wrong =
            group_times(slot->ctx, &keys, &offsets, &w, start, end);
        else group_rows(&offsets, low, high, start, end);
        Py_END_ALLOW_THREADS if (wrong < 0) pair = PyTuple_Pack(2, bound[0], bound[1]);
        else raise_times(slot->ctx, &keys, (const int64_t *)(const void *)order.data,
                         ((const int64_t *)(const void *)offsets.data)[wrong],
                         ((const int64_t *)(const void *)offsets.data)[wrong + 1]);
    }
    pt_give_back(slot);
    Py_XDECREF(bound[0]);
    Py_XDECREF(bound[1]);
    if (timed) pt_close(&keys);
    pt_close(&offsets);
    pt_close(&order);
    return pair;
}

/* SPDX-License-Identifier: MIT
 * Reduce, scan and window of segments: adjacent sequences of any lengths, cut by ascending
 * offsets. */
#include "pt.h"
#include <string.h>

static int open_offsets(PyObject *object, pt_operand *offsets, const pt_operand *a)
{
    if (pt_open_places(object, "offsets", offsets)) return -1;
    if (offsets->size < 1) {
        PyErr_SetString(PyExc_ValueError, "offsets must have at least 1 element");
        pt_close(offsets);
        return -1;
    }
    if (offsets->device >= 0 || offsets->size < 2) return 0;
    const int64_t *at = (const int64_t *)(const void *)offsets->data;
    for (int64_t i = 0; i < offsets->size; i++) {
        int64_t low = i ? at[i - 1] : 0;
        if (at[i] >= low && at[i] <= a->size) continue;
        PyErr_Format(
            PyExc_ValueError,
            "offsets[%lld] is %lld: must be %lld..%lld (ascending, at most the elements of x)",
            (long long)i, (long long)at[i], (long long)low, (long long)a->size);
        pt_close(offsets);
        return -1;
    }
    return 0;
}

static int check(const pt_verb *verb, const pt_operand *a, const pt_operand *offsets)
{
    const int64_t *at = (const int64_t *)(const void *)offsets->data;
    const pt_operand *b = verb->next;
    if (a->ndim != 1 || !pt_even(a, pt_bytes(a)) || (b && !pt_even(b, pt_bytes(b)))) {
        PyErr_Format(PyExc_ValueError,
                     "x has %d axes: segments take one axis, with strides of whole elements",
                     a->ndim);
        return -1;
    }
    if (verb->what == PT_REDUCE ||
        (offsets->device < 0 && at[0] == 0 && at[offsets->size - 1] == a->size))
        return 0;
    PyErr_Format(
        PyExc_ValueError,
        "offsets must begin at 0 and end at %lld, so that every result belongs to a segment",
        (long long)a->size);
    return -1;
}

static tally_status run(pt_slot *slot, const pt_verb *verb, const pt_operand *a,
                        const pt_operand *offsets, const pt_operand *out)
{
    const int64_t *at = (const int64_t *)(const void *)offsets->data;
    const int64_t rows = offsets->size - 1;
    tally_view v = {a->data, a->dtype, rows, 0, 0, 1, at, a->valid, a->valid_offset, NULL}, second;
    tally_view w = {out->data, verb->info.output, rows, 0, 0, 1, at, NULL, 0, NULL};
    if (a->size > 1) v.stride = a->strides[0] / verb->in_bytes;
    if (verb->next) {
        const pt_operand *b = verb->next;
        second =
            (tally_view){b->data, b->dtype, rows, 0, 0, 1, at, b->valid, b->valid_offset, NULL};
        if (b->size > 1) second.stride = b->strides[0] / (int64_t)tally_dtype_size(b->dtype);
        v.next = &second;
    }
    if (out->ndim && out->size > 1 && verb->what != PT_REDUCE)
        w.stride = out->strides[0] / verb->out_bytes;
    tally_status status = pt_stream_begin(slot);
    if (!status)
        status = verb->what == PT_REDUCE ? tally_reduce(slot->ctx, verb->op, &v, out->data)
                 : verb->what == PT_SCAN ? tally_scan(slot->ctx, verb->op, &v, &w, &verb->scan)
                                         : tally_window(slot->ctx, verb->op, &v, &w, &verb->window);
    return pt_stream_end(slot, status);
}

/* segments(what, op, x, offsets, dtype, exclusive, reverse, before, after, edges, min_count,
   next, where) */
PyObject *pt_segments(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const names[] = {"what",  "exclusive", "reverse",  "before",
                                        "after", "edges",     "min_count"};
    pt_operand a, b, offsets;
    const pt_operand *next = NULL;
    pt_result result = {.ndim = 1};
    pt_verb verb;
    int64_t number[7];
    if (pt_count("segments", count, 13)) return NULL;
    for (int i = 0; i < 7; i++)
        if (pt_integer(args[i ? i + 4 : 0], names[i], &number[i])) return NULL;
    if (pt_open(args[2], "x", &a)) return NULL;
    pt_slot *slot = NULL;
    int opened = open_offsets(args[3], &offsets, &a);
    tally_status status = TALLY_OK;
    if (opened || pt_flatten(&a) || pt_make_even(&a) || pt_leave_out(&a, args[12], "where", 0) ||
        pt_open_next(args[11], &a, &b, &next) || (next && pt_make_even(&b)))
        goto done;
    const pt_operand *const all[] = {&a, next, &offsets};
    if (!(slot = pt_take_all(all, 3)) || pt_verb_of(slot, args[1], args[4], &a, next, &verb))
        goto done;
    verb.what = (int)number[0];
    verb.scan = (tally_scan_options){(int)number[1], (int)number[2], NULL};
    verb.window = (tally_window_options){number[3], number[4], (tally_edges)number[5], number[6]};
    if (check(&verb, &a, &offsets)) goto done;
    result.shape[0] = verb.what == PT_REDUCE ? offsets.size - 1 : a.size;
    if (pt_open_result(&a, &verb, NULL, &result)) goto done;
    Py_BEGIN_ALLOW_THREADS status = run(slot, &verb, &a, &offsets, &result.a);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
done:
    pt_give_back(slot);
    if (result.opened) pt_close_result(&verb, &result.a);
    if (!opened) pt_close(&offsets);
    if (status) Py_CLEAR(result.object);
    result.object = pt_give(&a, result.object, result.ndim);
    pt_close_next(next);
    pt_close(&a);
    return result.object;
}

/* SPDX-License-Identifier: MIT
 * Elements that are left out, and second arrays. The library has a validity bit for each element,
 * indexed by its place in memory (tally_view). `where=` and the masks of masked arrays have a byte
 * for each element, with the array's indices:
 *
 *  x[::-1]      place  2 1 0      where  1 0 1      bits of places 0 1 2:  1 0 1
 *
 * An array in which elements share places (a broadcast one), or whose places are far apart, is
 * copied first. */
#include "pt.h"
#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

/* Broadcasts b to a's shape, as NumPy does: axes that are missing or of length 1 repeat. */
static int broadcast(pt_operand *b, const pt_operand *a)
{
    const int more = a->ndim - b->ndim;
    int wrong = more < 0;
    for (int i = 0; i < b->ndim && !wrong; i++)
        wrong = b->shape[i] != 1 && b->shape[i] != a->shape[more + i];
    if (wrong) {
        PyObject *from = pt_shape(b->ndim, b->shape), *to = pt_shape(a->ndim, a->shape);
        if (from && to)
            PyErr_Format(PyExc_ValueError, "%s has shape %R: must broadcast to that of %s, %R",
                         b->name, from, a->name, to);
        Py_XDECREF(from);
        Py_XDECREF(to);
        return -1;
    }
    for (int i = a->ndim - 1; i >= 0; i--) {
        const int same = i >= more && b->shape[i - more] == a->shape[i];
        b->strides[i] = same ? b->strides[i - more] : 0;
        b->shape[i] = a->shape[i];
    }
    b->ndim = a->ndim;
    b->size = a->size;
    return 0;
}

/* ---- bits ---- */

static void set_bit(uint8_t *bits, int64_t at) { bits[at >> 3] |= (uint8_t)(1 << (at & 7)); }

/* Sets n adjacent bits, the first of which is number `at`. `from` has a byte for each. */
static void set_line(uint8_t *bits, int64_t at, const uint8_t *from, int64_t n, int inverted)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f;
    for (; n > 0 && at & 7; n--, at++, from++)
        if ((*from == 0) == inverted) set_bit(bits, at);
    /* sets the lowest bit of each byte that is not 0, then packs these 8 bits into a byte */
    for (; n >= 8; n -= 8, at += 8, from += 8) {
        uint64_t byte;
        memcpy(&byte, from, sizeof byte);
        byte = ((((byte & low) + low) | byte) >> 7) & 0x0101010101010101;
        if (inverted) byte ^= 0x0101010101010101;
        bits[at >> 3] = (uint8_t)(byte * 0x0102040810204080 >> 56);
    }
    for (; n > 0; n--, at++, from++)
        if ((*from == 0) == inverted) set_bit(bits, at);
}

/* dim: extents, byte strides of `where` (in), and strides of the elements' places (out). */
static void set_bits(uint8_t *bits, int64_t at, const uint8_t *where, const pt_dim *dim, int dims,
                     int inverted)
{
    if (dims == 0) {
        if ((*where == 0) == inverted) set_bit(bits, at);
    } else if (dims == 1 && dim->in == 1 && dim->out == 1) {
        set_line(bits, at, where, dim->n, inverted);
    } else {
        for (int64_t i = 0; i < dim->n; i++)
            set_bits(bits, at + i * dim->out, where + i * dim->in, dim + 1, dims - 1, inverted);
    }
}

/* Finds the range of places of the elements: low (0 or less) to high. Returns 0 if elements share
 * places, or if the range is too large for one bit per place. */
static int has_places(const pt_operand *a, int64_t *low, int64_t *high)
{
    const int64_t bytes = pt_bytes(a);
    *low = *high = 0;
    if (!pt_even(a, bytes) || !pt_distinct(a, bytes)) return 0;
    for (int i = 0; i < a->ndim; i++) {
        const int64_t reach = (a->shape[i] - 1) * (a->strides[i] / bytes);
        *(reach < 0 ? low : high) += reach;
    }
    return *high - *low < 4 * a->size + 64;
}

/* Copies a's elements in C order to memory of its own. */
static int copy_elements(pt_operand *a)
{
    const int64_t bytes = pt_bytes(a);
    pt_dim dim[PT_DIMS];
    int64_t reach = bytes;
    char *copy = malloc((size_t)(a->size * bytes));
    if (!copy) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < a->ndim; i++) dim[i] = (pt_dim){.n = a->shape[i], .in = a->strides[i]};
    const pt_elements all = {a->data, dim, pt_join(dim, a->ndim), bytes};
    Py_BEGIN_ALLOW_THREADS pt_pack(copy, &all, 0, a->size);
    Py_END_ALLOW_THREADS for (int i = a->ndim - 1; i >= 0; i--)
    {
        a->strides[i] = reach;
        reach *= a->shape[i];
    }
    free(a->copy);
    a->copy = a->data = copy;
    return 0;
}

int pt_make_even(pt_operand *a)
{
    return a->device >= 0 || pt_even(a, pt_bytes(a)) ? 0 : copy_elements(a);
}

/* Clears the bits of the places low .. high that a's own bitmap leaves out. */
static void clear_nulls(uint8_t *bits, int64_t low, int64_t high, const pt_operand *a)
{
    for (int64_t place = low; place <= high; place++)
        if (!pt_is_valid(a, place))
            bits[(place - low) >> 3] &= (uint8_t) ~(1 << ((place - low) & 7));
}

int pt_leave_out(pt_operand *a, PyObject *where, const char *name, int inverted)
{
    pt_operand w;
    int64_t low, high;
    int failed = -1;
    if (where == Py_None) return 0;
    if (a->device >= 0) {
        failed = pt_leave_out_there(a, where, name);
        if (failed > 0)
            PyErr_Format(PyExc_ValueError,
                         "%s: %s is on a device: elements can be left out of arrays of PyTorch and "
                         "CuPy, and of host memory",
                         name, a->name);
        return failed ? -1 : 0;
    }
    if (pt_same_labels(a, where, name) || pt_flatten(a) ||
        pt_open_plain(where, name, "what leaves elements out", &w))
        return -1;
    if (w.dtype != TALLY_U8) {
        PyErr_Format(PyExc_TypeError, "%s has dtype %s: must be bool (or uint8)", name,
                     pt_dtype_name(w.dtype, 0));
    } else if (w.device >= 0) {
        PyErr_Format(PyExc_ValueError, "%s is on a device: must be in host memory", name);
    } else if (!pt_flatten(&w) && !broadcast(&w, a)) {
        failed = 0;
        if (a->size && !has_places(a, &low, &high) && !a->valid)
            failed = copy_elements(a) || !has_places(a, &low, &high);
    }
    if (!failed && a->size) {
        pt_dim dim[PT_DIMS];
        const int64_t bytes = pt_bytes(a);
        uint8_t *bits = calloc((size_t)((high - low) / 8 + 1), 1);
        for (int i = 0; i < a->ndim; i++)
            dim[i] = (pt_dim){.n = a->shape[i], .in = w.strides[i], .out = a->strides[i] / bytes};
        const int dims = pt_join(dim, a->ndim);
        if (bits) {
            Py_BEGIN_ALLOW_THREADS set_bits(bits, -low, (const uint8_t *)w.data, dim, dims,
                                            inverted);
            if (a->valid) clear_nulls(bits, low, high, a);
            Py_END_ALLOW_THREADS free(a->bits);
            a->valid = a->bits = bits;
            a->valid_offset = -low;
        } else {
            PyErr_NoMemory();
            failed = -1;
        }
    }
    pt_close(&w);
    return failed ? -1 : 0;
}

int pt_has_nulls(const pt_operand *a)
{
    int nulls = a->valid != NULL;
    for (int64_t i = 0; i < a->chunk_count; i++) nulls |= a->chunks[i].valid != NULL;
    return nulls;
}

int pt_flatten(pt_operand *a)
{
    const int64_t bytes = pt_bytes(a);
    const int nulls = pt_has_nulls(a);
    int64_t at = 0;
    if (!a->chunks) return 0;
    char *copy = malloc((size_t)(a->size * bytes));
    uint8_t *bits = nulls ? calloc((size_t)(a->size / 8 + 1), 1) : NULL;
    if (!copy || (nulls && !bits)) {
        free(copy);
        free(bits);
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < a->chunk_count; i++) {
        const pt_chunk *c = &a->chunks[i];
        const pt_operand part = {.valid = c->valid, .valid_offset = c->valid_offset};
        memcpy(copy + at * bytes, c->data, (size_t)(c->n * bytes));
        for (int64_t k = 0; nulls && k < c->n; k++)
            if (pt_is_valid(&part, k)) set_bit(bits, at + k);
        at += c->n;
    }
    a->copy = a->data = copy;
    a->bits = bits;
    a->valid = bits;
    a->valid_offset = 0;
    a->chunks = NULL; /* the owner of the chunks is released with the operand */
    a->chunk_count = 0;
    return 0;
}

/* present(x, where, next) -> for each element of x, which has one axis, whether it is not left
 * out; None if all are not */
PyObject *pt_present(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    pt_operand a, b;
    const pt_operand *next = NULL;
    PyObject *there = NULL;
    if (pt_count("present", count, 3) || pt_open(args[0], "x", &a)) return NULL;
    if (!pt_leave_out(&a, args[1], "where", 0) && !pt_flatten(&a) &&
        !pt_open_next(args[2], &a, &b, &next)) {
        if (a.ndim != 1)
            PyErr_SetString(PyExc_ValueError, "x must have one axis");
        else if (!a.valid && !(next && next->valid)) {
            there = Py_NewRef(Py_None);
        } else if ((there = pt_array_new(TALLY_U8, 1, 1, &a.size))) {
            uint8_t *to = pt_array_data(there);
            for (int64_t i = 0; i < a.size; i++)
                to[i] = (uint8_t)(pt_is_valid(&a, i * (a.strides[0] / pt_bytes(&a))) &&
                                  (!next ||
                                   pt_is_valid(next, i * (next->strides[0] / pt_bytes(next)))));
        }
        pt_close_next(next);
    }
    pt_close(&a);
    return there;
}

/* ---- second arrays ---- */

int pt_open_next(PyObject *object, pt_operand *a, pt_operand *next, const pt_operand **given)
{
    *given = NULL;
    if (object == Py_None) return 0;
    if (pt_same_labels(a, object, "next") || pt_flatten(a) ||
        pt_open(object, "the second array", next))
        return -1;
    if (pt_flatten(next) || broadcast(next, a)) {
        pt_close(next);
        return -1;
    }
    *given = next;
    return 0;
}

void pt_close_next(const pt_operand *given)
{
    if (given) pt_close((pt_operand *)(uintptr_t)given);
}

int pt_open_inputs(PyObject *x, PyObject *next, PyObject *where, const char *what, pt_inputs *in)
{
    pt_operand *const a = &in->a;
    in->next = NULL;
    if (pt_open(x, "x", a)) return -1;
    if (a->device >= 0 && what) {
        PyErr_Format(PyExc_ValueError, "x is on a device: %s takes host memory in this version",
                     what);
    } else if (!pt_leave_out(a, where, "where", 0) && !(pt_has_nulls(a) && pt_flatten(a)) &&
               !pt_open_next(next, a, &in->b, &in->next)) {
        if (!in->next || in->b.device < 0 || !what) return 0;
        PyErr_Format(PyExc_ValueError, "next is on a device: %s takes host memory in this version",
                     what);
    }
    pt_close_inputs(in);
    return -1;
}

void pt_close_inputs(pt_inputs *in)
{
    pt_close_next(in->next);
    pt_close(&in->a);
}

tally_dtype pt_common(tally_dtype a, tally_dtype b)
{
    const int real_a = a >= TALLY_F16, real_b = b >= TALLY_F16;
    const int signed_a = (a - TALLY_I8) % 2 == 0, signed_b = (b - TALLY_I8) % 2 == 0;
    if (a == b) return a;
    if (real_a && real_b) return a == TALLY_F64 || b == TALLY_F64 ? TALLY_F64 : TALLY_F32;
    if (real_a || real_b) return TALLY_F64;
    if (signed_a == signed_b) return signed_a ? TALLY_I64 : TALLY_U64;
    return a == TALLY_U64 || b == TALLY_U64 ? TALLY_F64 : TALLY_I64;
}

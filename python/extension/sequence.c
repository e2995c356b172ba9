/* SPDX-License-Identifier: MIT
 * Arrays as views of the library: in place, or in dense copies if no stride visits their elements.
 * Nothing here needs the GIL. */
#include "pt.h"
#include <stdlib.h>

tally_view pt_view(const pt_operand *a, const char *at, int64_t rows, int64_t n, int64_t row_stride,
                   int64_t stride)
{
    const int64_t bytes = pt_bytes(a);
    tally_view v = {(char *)(uintptr_t)at, a->dtype, rows, n, row_stride / bytes,
                    stride / bytes,        NULL,     NULL, 0, NULL};
    if (rows == 1 && v.stride == 0) v.row_stride = 1; /* the element is meant to be repeated */
    v.valid = a->valid;
    if (a->valid) v.valid_offset = a->valid_offset + (at - a->data) / bytes;
    return v;
}

/* Packs the bits of elements in C order of these dimensions. `at` is the place of the first
 * element, *to the number of its bit in `bits`. */
static void pack_bits(uint8_t *bits, int64_t *to, const pt_operand *a, const pt_dim *dim, int dims,
                      int64_t at)
{
    const int64_t step = dims ? dim->in / pt_bytes(a) : 0, n = dims ? dim->n : 1;
    for (int64_t i = 0; i < n; i++, at += step) {
        if (dims > 1)
            pack_bits(bits, to, a, dim + 1, dims - 1, at);
        else if (pt_is_valid(a, at))
            bits[*to >> 3] |= (uint8_t)(1 << (*to & 7));
        *to += dims <= 1;
    }
}

tally_status pt_pack_axes(const pt_operand *a, const int *axes, pt_operand *dense)
{
    pt_dim dim[PT_DIMS];
    const int64_t bytes = pt_bytes(a);
    *dense = *a;
    dense->valid_offset = 0;
    dense->bits = NULL;
    int64_t reach = bytes, to = 0;
    for (int i = a->ndim - 1; i >= 0; i--) {
        const int axis = axes ? axes[i] : i;
        dim[i] = (pt_dim){.n = a->shape[axis], .in = a->strides[axis]};
        dense->strides[axis] = reach;
        reach *= a->shape[axis];
    }
    const int dims = pt_join(dim, a->ndim);
    dense->copy = dense->data = malloc((size_t)reach);
    if (a->valid) dense->valid = dense->bits = calloc((size_t)(a->size / 8 + 1), 1);
    if (!dense->copy || (a->valid && !dense->bits)) {
        pt_unpack_axes(dense);
        return TALLY_NO_MEMORY;
    }
    pt_pack(dense->data, a->data, dim, dims, 0, a->size, bytes);
    if (a->valid) pack_bits(dense->bits, &to, a, dim, dims, 0);
    return TALLY_OK;
}

void pt_unpack_axes(pt_operand *dense)
{
    free(dense->copy);
    free(dense->bits);
}

tally_status pt_sequence_open(const pt_operand *a, const pt_operand *next, pt_sequence *s)
{
    const pt_operand *from[2] = {a, next};
    pt_dim dim[PT_DIMS] = {{.n = 0}};
    s->copies = 0;
    for (int i = 0; i < a->ndim; i++)
        dim[i] =
            (pt_dim){.n = a->shape[i], .in = a->strides[i], .next = next ? next->strides[i] : 0};
    const int dims = a->size ? pt_join(dim, a->ndim) : 0;
    if (a->size &&
        (dims > 1 || !pt_even(a, pt_bytes(a)) || (next && !pt_even(next, pt_bytes(next))))) {
        for (int k = 0; k < 2 && from[k]; k++) {
            if (pt_pack_axes(from[k], NULL, &s->copy[k])) {
                pt_sequence_close(s);
                return TALLY_NO_MEMORY;
            }
            from[s->copies++] = &s->copy[k];
        }
    }
    const int there = dims == 1 && !s->copies;
    s->view = pt_view(from[0], from[0]->data, 1, a->size, 0, there ? dim[0].in : pt_bytes(a));
    if (!next) return TALLY_OK;
    s->second =
        pt_view(from[1], from[1]->data, 1, a->size, 0, there ? dim[0].next : pt_bytes(next));
    s->view.next = &s->second;
    return TALLY_OK;
}

void pt_sequence_close(pt_sequence *s)
{
    while (s->copies > 0) pt_unpack_axes(&s->copy[--s->copies]);
}

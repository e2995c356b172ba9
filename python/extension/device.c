/* SPDX-License-Identifier: MIT
 * Copies arrays on a device to the host, for work that needs host memory, and results back. */
#include "pt.h"
#include <stdlib.h>

/* Copies between host memory and an array on a device, after the work on the array's stream is
 * done. */
static int copy(const pt_operand *a, void *to, const void *from, int64_t bytes)
{
    pt_slot *slot = pt_take(a, NULL);
    if (!slot) return -1;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS status = pt_stream_begin(slot);
    if (!status) status = tally_copy(slot->ctx, to, from, (size_t)bytes);
    status = pt_stream_end(slot, status);
    Py_END_ALLOW_THREADS if (status) pt_raise(slot->ctx, status);
    pt_give_back(slot);
    return status ? -1 : 0;
}

int pt_to_host(pt_operand *a)
{
    int64_t low = 0, high = pt_bytes(a);
    if (a->device < 0) return 0;
    for (int i = 0; i < a->ndim && a->size; i++)
        *(a->strides[i] < 0 ? &low : &high) += (a->shape[i] - 1) * a->strides[i];
    char *packed = malloc((size_t)(high - low));
    if (!packed) {
        PyErr_NoMemory();
        return -1;
    }
    if (a->size && copy(a, packed, a->data + low, high - low)) {
        free(packed);
        return -1;
    }
    a->copy = packed;
    a->data = packed - low;
    a->device = -1;
    a->stream = NULL;
    return 0;
}

int pt_from_host(const pt_operand *a, const void *from)
{
    return a->size ? copy(a, a->data, from, a->size * pt_bytes(a)) : 0;
}

/* SPDX-License-Identifier: MIT
 * reduce_batches.c - tally reduce along --axis or --segments: batches of sequences, of data in
 * memory or of a file that is read in boxes. */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

/* If a batch's results are not adjacent, they are computed in a buffer. */
int reduce_batches(const reduction *r, const void *data, const layout *l, int64_t row)
{
    const job *const j = r->j;
    const groups *const g = r->banded ? &r->steps : NULL;
    const tally_dtype dtype = r->in.dtype;
    const size_t size = tally_dtype_size(dtype);
    const int64_t parts = g ? g->count : 1;
    tally_view view, next;
    int64_t at, step;
    for (int64_t b = 0;
         parts && layout_batch(l, b / parts, data, dtype, size, l->len, &view, &at, &step); b++) {
        if (g) bands_part(g, l, b % parts, size, &view);
        if (g) bands_place(g, l, b % parts, &at, &step);
        for (int i = 0; i < j->ops.all; i++) {
            const result *const of = &r->a->results[i];
            const size_t each = result_bytes(&of->info);
            char *const out = (char *)of->bits + (size_t)(row + at) * each;
            int code = DONE;
            char *const near = step == 1 ? out : memory_for(&code, "--axis", view.rows, each);
            if (code) return code;
            second_view(&j->beside, data, &view, &next);
            const tally_view own = second_for(&j->beside, &j->ops, i, &view);
            code = code_of(j->ctx, tally_reduce(j->ctx, j->ops.name[i], &own, near));
            if (step != 1 && !code)
                for (int64_t k = 0; k < view.rows; k++)
                    memcpy(out + (size_t)(k * step) * each, near + (size_t)k * each, each);
            if (step != 1) free(near);
            if (code) return code;
        }
    }
    return DONE;
}

/* Reduces an array that is read in boxes and need not fit into memory. Each box has all of the
 * axis, all of the dimensions after the dimension that is cut, and one step of the dimensions
 * before it, so that its results are adjacent.
 *
 *    time x lat x lon, axis 0:   all times, some lat, all lon; if one lat is too large: all
 *                                times, one lat, some lon */
int reduce_boxes(reduction *r)
{
    const job *const j = r->j;
    input *const in = &r->in;
    const layout *const l = &r->l;
    const int64_t size = (int64_t)tally_dtype_size(in->dtype);
    int64_t start[DIMS] = {0}, most[DIMS], bytes, elements = in->n, row = 0;
    int code = memory_option(j->o, &bytes), cut = -1, taken = 0;
    steps s = {.j = j, .in = in, .a = r->a, .l = l, .p = &r->p, .memory = bytes};
    if (!code) code = reduce_steps(&s, &taken);
    if (code || taken) return code;
    memcpy(most, in->shape, sizeof most);
    for (int d = 0; d < in->ndim && elements > bytes / size; d++) {
        if (d == l->axis) continue;
        elements /= most[d];
        most[d] = 1;
        cut = d;
    }
    if (cut >= 0 && elements <= bytes / size) {
        most[cut] =
            bytes / size / elements < in->shape[cut] ? bytes / size / elements : in->shape[cut];
        const int64_t chunk = in->info.chunk[cut];
        if (chunk > 0 && most[cut] > chunk && most[cut] < in->shape[cut])
            most[cut] -= most[cut] % chunk;
        elements *= most[cut];
    }
    char *const box = aligned_alloc(LARGE_PAGE, ((size_t)(elements * size) + LARGE_PAGE - 1) /
                                                    LARGE_PAGE * LARGE_PAGE);
    if (!box) return fail_memory("--axis, which reads all of it at a time,", elements * size);
    /* with pages of 4 KiB, page faults took half of the time */
    large_pages(box, (size_t)(elements * size));
    for (int more = 1; more && !code;) {
        int64_t count[DIMS];
        layout part = *l;
        part.outer = part.inner = 1;
        for (int d = 0; d < in->ndim; d++) {
            count[d] = most[d] < in->shape[d] - start[d] ? most[d] : in->shape[d] - start[d];
            if (d != l->axis) *(d < l->axis ? &part.outer : &part.inner) *= count[d];
        }
        code = code_of(j->ctx, tally_file_read_box(in->file, start, count, box));
        if (!code) code = reduce_batches(r, box, &part, row);
        row += part.outer * part.inner;
        progress_show(&r->p, in, row * l->len);
        more = 0;
        /* the next box; after the last one all are 0 again */
        for (int d = cut; d >= 0 && !more; d--) {
            if (d == l->axis) continue;
            start[d] += count[d];
            more = start[d] < in->shape[d];
            if (!more) start[d] = 0;
        }
    }
    free(box);
    return code;
}

/* Reduces --by with --axis, while the file is read or in memory. */
int reduce_bands(reduction *r)
{
    job *const j = r->j;
    input *const in = &r->in;
    const layout *const l = &r->l;
    const groups *const g = &r->steps;
    int64_t bytes;
    int code = memory_option(j->o, &bytes), taken = 0;
    steps s = {.j = j, .in = in, .a = r->a, .l = l, .g = g, .p = &r->p, .memory = bytes};
    if (!code && !j->beside.on && !in->data) code = reduce_steps(&s, &taken);
    if (code || taken) return code;
    code = input_load(in, 0);
    if (!code) code = bands_move(g, l, in->own, tally_dtype_size(in->dtype), 0);
    if (!code) code = second_bands(&j->beside, g, l, in->n);
    return code ? code : reduce_batches(r, in->data, l, 0);
}

/* SPDX-License-Identifier: MIT
 * A call on views that fit the device. A view becomes a batch of sequences (batch.c); reduce.c,
 * scan.c or window/ decides once which kernels take it, and launches them; then the results go to
 * the caller, and memory is given back. */
#include "gpu/work.h"
#include <assert.h>

tally_status tl_gpu_batch(tl_gpu_device *d, const tl_call *c, const tl_batch *b,
                          tally_status status)
{
    static tally_status (*const verbs[])(tl_gpu_device *, const tl_batch *, const tl_results *,
                                         const tl_call *) = {
        [TL_REDUCE] = tl_reduce_batch, [TL_SCAN] = tl_scan_batch, [TL_WINDOW] = tl_window_batch};
    const int64_t bytes = status ? 0 : b->plan->op->result_bytes;
    tl_results r = {.piece = b->piece ? b->piece : &tl_no_piece};
    assert(c->verb <= TL_WINDOW);
    if (!status) status = tl_results_open(d, b->piece, c->out, bytes, &r);
    if (!status) status = verbs[c->verb](d, b, &r, c);
    return tl_results_close(d, &r, bytes, status);
}

tally_status tl_gpu_whole(tl_gpu_device *d, const tl_call *c, const tl_piece *piece)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, c->plan, piece, c->in, &b);
    status = tl_gpu_batch(d, c, &b, status);
    tl_batch_close(d, &b);
    return status;
}

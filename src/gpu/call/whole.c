/* SPDX-License-Identifier: MIT
 * A call on views that fit the device. A view becomes a batch of sequences (batch.c); reduce.c,
 * scan.c or window/ decides once which kernels take it, and launches them; then the results go to
 * the caller, and memory is given back. */
#include "gpu/work.h"
#include <assert.h>

tally_status tl_gpu_batch(tl_gpu_device *d, const tl_call *c, tl_batch *b, tally_status status)
{
    static tally_status (*const verbs[])(tl_gpu_device *, const tl_batch *, const tl_results *,
                                         const tl_call *) = {
        [TL_REDUCE] = tl_reduce_batch, [TL_SCAN] = tl_scan_batch, [TL_WINDOW] = tl_window_batch};
    tl_results r = {0};
    tl_stored_arguments made;
    assert(c->verb <= TL_WINDOW);
    if (!status) status = tl_results_open(d, c->out, b->plan->op->result_bytes, &r);
    if (!status) tl_batch_store_arguments(b, &made);
    if (!status) status = verbs[c->verb](d, b, &r, c);

    return tl_results_close(d, &r, b->piece.end == TL_CALL_WAITS, status);
}

tally_status tl_gpu_whole(tl_gpu_device *d, const tl_call *c, const tl_piece *piece)
{
    tl_batch b;
    tally_status status = tl_batch_open(d, c->plan, c->in, &b);
    if (piece) b.piece = *piece;
    status = tl_gpu_batch(d, c, &b, status);
    tl_batch_close(d, &b);
    return status;
}

/* SPDX-License-Identifier: MIT
 * Validity of results: one bit per result, 0 if the result has no elements, or fewer than
 * min_count. The bits depend on which elements are valid, not on their values. They are the results
 * of the same verb with the operator count, which are computed before the verb runs, because it may
 * overwrite its input:
 *
 *    elements that count   1 1 0 0 1     (valid; for a nan form, and not NaN)
 *    scan                  1 2 2 2 3     reduce 3          window of 2: 0 2 1 0 1 */
#include "calls.h"
#include "context/view.h"
#include <assert.h>
#include <stdlib.h>

typedef struct tl_validity {
    tl_job call; /* its view `out` has the bits */
    tl_verb verb;
    const tally_scan_options *scan;
    const tally_window_options *window;
    int64_t *counts; /* the results of count, sequence after sequence */
} job;

static void close_job(job *j)
{
    free(j->counts);
    tl_job_close(&j->call);
}

static int64_t results_of(const job *j, int64_t n)
{
    return j->verb == TL_REDUCE ? 1 : j->verb == TL_SCAN ? n : tally_window_length(n, j->window);
}

/* Computes j->counts from numbers; NaN are elements that do not count. */
static tally_status run_count(job *j, const tally_view *in)
{
    const int64_t *const offsets = j->verb == TL_REDUCE ? NULL : in->offsets;
    const int64_t n = results_of(j, in->n), zero = offsets ? offsets[0] : 0;
    tally_view out = {NULL, TALLY_I64, in->rows, n, n, 1, offsets};
    tally_scan_options scan = j->scan ? *j->scan : (tally_scan_options){0};
    int64_t bytes;
    scan.init = NULL;

    if (__builtin_mul_overflow(tl_view_elements(&out), (int64_t)sizeof *j->counts, &bytes) ||
        !(j->counts = malloc((size_t)bytes + 1)))
        return tl_no_memory(j->call.ctx, (size_t)bytes, "the validity of the results");
    if (!bytes) return TALLY_OK;
    out.data = tl_offset(j->counts, -zero * (int64_t)sizeof *j->counts);
    const tl_plan *const count = &j->call.ready.count;
    return tl_run(j->call.ctx, tally_threads(j->call.ctx),
                  &(tl_call){j->verb, count, count, in, &out, &scan, j->window});
}

static tally_status count_elements(job *j, tally *ctx, const char *op, const tally_view *in)
{
    tl_job *const c = &j->call;
    if (!ctx) return tl_no_context();
    if (!in) return tl_invalid(ctx, "in is NULL: must be a view");

    TL_TRY(tl_job_open(c, ctx, op, &(tl_call){.in = in}, 0));
    if (j->verb == TL_WINDOW) TL_TRY(tl_check_window(ctx, j->window));
    if (j->verb == TL_WINDOW) TL_TRY(tl_check_step(ctx, &c->in, j->window));

    tl_view_normal(&c->in);
    if (c->in.next) tl_view_normal(&c->next);

    tally_view here = c->in, here_next = c->next;
    if (c->in.next) here.next = &here_next;
    TL_TRY(tl_inputs_bring(&c->copies, &here, &here_next));
    TL_GATHERED(numbers);
    TL_TRY(tl_gather_numbers(ctx, &c->form, &here, &c->ready.plan, 0, &numbers));
    return run_count(j, &numbers.view);
}

/* The bits of `out`, a view of the results, overlap neither elements nor results. */
static tally_status check_bits(job *j, const tally_view *out, int64_t result_bytes)
{
    assert(out->valid);
    assert(result_bytes >= 0);
    tl_job *const c = &j->call;
    c->out = *out;
    TL_TRY(tl_host_offsets(&c->copies, "out", &c->out));
    tally_view plain = c->out;
    plain.valid = NULL;
    TL_TRY(tl_view_check(c->ctx, &plain, "out", result_bytes));
    TL_TRY(tl_bits_check(c->ctx, &c->out, "out"));

    const tally_view bits = tl_bits_bytes(&c->out);
    int overlap = result_bytes && tl_check_overlap(c->ctx, &plain, result_bytes, &bits, 1, 0);
    for (const tally_view *v = &c->in; v; v = v->next)
        overlap |= tl_check_overlap(c->ctx, v, tl_element_bytes(v), &bits, 1, 0) != TALLY_OK;
    if (!overlap) return TALLY_OK;
    return tl_invalid(c->ctx, "out->valid overlaps elements or results: give it memory of its own");
}

/* The fewest elements of a result with a value. (`count` itself would compare min_count with all
 * places of a window.) */
static int64_t least_count(const job *j)
{
    if (j->scan && j->scan->init) return 0;
    return j->window && j->window->min_count > 0 ? j->window->min_count : 1;
}

/* Writes a bit for each result: 1 if enough elements were counted for it. The bitmap may be device
 * memory. */
static tally_status write_bits(job *j)
{
    assert(j->counts && j->call.out.valid);
    tally_view out = j->call.out;
    TL_HOST_COPIES(copies, j->call.ctx);
    const int64_t *count = j->counts, least = least_count(j);
    out.data = NULL; /* so that only the bitmap is copied */
    TL_TRY(tl_host_view(&copies, &out, 0, 1));
    unsigned char *const bits = (unsigned char *)(uintptr_t)out.valid;

    for (int64_t r = 0; r < j->call.in.rows; r++) {
        const int64_t results = results_of(j, tl_view_length(&j->call.in, r)),
                      first = out.valid_offset + tl_view_first(&out, r);
        for (int64_t i = 0; i < results; i++)
            tl_set_bit(bits, first + i * out.stride, *count++ >= least);
    }
    return tl_host_back(&copies);
}

tally_status tl_validity_begin(tally *ctx, const char *op, const tl_call *call, tl_validity **v)
{
    *v = NULL;
    job *j = calloc(1, sizeof *j);
    if (!j) return tl_no_memory(ctx, sizeof *j, "the validity of the results");

    *j = (job){.verb = call->verb, .scan = call->scan, .window = call->window};
    tally_status status = count_elements(j, ctx, op, call->in);
    if (!status) status = check_bits(j, call->out, j->call.form.named->result_bytes);
    *v = j;
    return status;
}

tally_status tl_validity_end(tl_validity *v, tally_status status)
{
    if (!v) return status;
    if (!status) status = write_bits(v);
    close_job(v);
    free(v);
    return status;
}

tally_status tally_reduce_valid(tally *ctx, const char *op, const tally_view *in, void *valid,
                                int64_t valid_offset)
{
    __attribute__((cleanup(close_job))) job j = {.verb = TL_REDUCE};
    if (ctx && in && in->rows > 0 && !valid)
        return tl_invalid(ctx, "valid is NULL: must have space for %ld bits", in->rows);
    TL_TRY(count_elements(&j, ctx, op, in));
    if (in->rows <= 0) return TALLY_OK;

    /* a view without results; only its bits matter */
    char any;
    tally_view bits = tally_rows(&any, TALLY_U8, in->rows, 1);
    bits.valid = valid;
    bits.valid_offset = valid_offset;
    TL_TRY(check_bits(&j, &bits, 0));
    return write_bits(&j);
}

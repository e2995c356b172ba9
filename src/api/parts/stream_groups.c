/* SPDX-License-Identifier: MIT
 * Streams of groups: many sequences that grow in any order (cpu/grid/grid.h). */
#include "parts.h"
#include "api/checks.h"
#include "cpu/grid/grid.h"

tally_status tally_stream_reduce_groups(tally *ctx, const char *op, tally_dtype dtype,
                                        tally_stream **stream)
{
    tally_status status = tl_stream_open(ctx, TL_STREAM_REDUCE, op, dtype, stream);
    if (status) return status;

    tally_stream *const s = *stream;
    if (s->plan.op->inputs == 2)
        status = tl_fail(ctx, TALLY_UNSUPPORTED,
                         "op is '%.60s', of two inputs: a stream of groups takes one", op);
    else if (s->is_checked)
        status = tl_refuse_checked(ctx, op, "streams of groups");
    else if (!(s->groups = tl_counters_open(&s->plan, tally_threads(ctx))))
        status = tl_no_memory(ctx, sizeof *s, "a stream of groups");

    s->rows = 0;
    if (status) {
        tally_stream_close(s);
        *stream = NULL;
    }

    return status;
}

tally_status tally_stream_push_groups(tally_stream *s, const void *x, const int32_t *codes,
                                      int64_t n, int64_t groups)
{
    static const char what[] = "streams of groups";
    if (!s) return tl_fail(NULL, TALLY_INVALID, "stream is NULL");

    if (!s->groups)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "stream is not of groups: open it with tally_stream_reduce_groups");
    tally_status status = tl_stream_check(s, n);
    if (status) return status;

    if (groups < s->rows || groups > INT32_MAX)
        return tl_fail(s->ctx, TALLY_INVALID,
                       "groups is %lld: must be at least %lld, as in the last push, and at most %d",
                       (long long)groups, (long long)s->rows, INT32_MAX);

    if (n && (!x || !codes))
        return tl_fail(s->ctx, TALLY_INVALID, "%s is NULL: must point to %lld elements",
                       x ? "codes" : "x", (long long)n);
    status = tl_on_processors(s->ctx, x, "x", what, n);
    if (!status) status = tl_on_processors(s->ctx, codes, "codes", what, 0);
    if (status) return status;

    int64_t bad;
    if (!tl_counters_push(s->groups, x, codes, n, groups, &bad)) {
        s->broken = 1;
        return tl_no_memory(s->ctx, (size_t)groups * s->plan.op->state_bytes, "the groups");
    }

    if (bad >= 0)
        return tl_fail(s->ctx, TALLY_INVALID, "codes[%lld] is %d: must be in 0..%lld, the groups",
                       (long long)bad, codes[bad], (long long)groups - 1);
    s->rows = tl_counters_groups(s->groups);
    s->pushed += n;

    return TALLY_OK;
}

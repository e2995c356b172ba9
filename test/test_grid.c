/* SPDX-License-Identifier: MIT
 * Streams and fragments of many sequences: any view, pushed in any steps or cut and merged in
 * any order, through bytes or not, gives the results of tally_reduce and tally_scan of the
 * whole, bit for bit; what makes no sense is refused and changes nothing. */
#include "grid_fragments.h"
#include "grid_streams.h"

static void says(tally_status status, tally_status expected, const char *part_of)
{
    check(status == expected && strstr(tally_error(contexts[0]), part_of),
          "%s: '%s' does not say '%s'", tally_status_name(status), tally_error(contexts[0]),
          part_of);
}

/* ---- misuse: of 3 elements of each of 10 columns, and their offsets as segments ---- */

static float x[200];
static const int64_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* so many exact sums have more than 2^64 bytes, a few bytes more */
enum { EXACT_BYTES = 2240 };
static const int64_t OVERFLOWS = (int64_t)(UINT64_MAX / EXACT_BYTES) + 1;

static void refused_streams(void)
{
    tally *ctx = contexts[0];
    tally_stream *s = (tally_stream *)x;
    says(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, -1, &s), TALLY_INVALID,
         "rows is -1: must be 0..2^54 - 1");
    check(!s, "a stream of a failure");
    says(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, (int64_t)1 << 54, &s), TALLY_INVALID,
         "rows is");
    says(tally_stream_reduce_rows(ctx, "sum:exact", TALLY_F64, OVERFLOWS, &s), TALLY_NO_MEMORY,
         "out of memory");
    says(tally_stream_reduce_rows(ctx, "summ", TALLY_F32, 3, &s), TALLY_INVALID, "'summ'");
    check(tally_stream_reduce_rows(NULL, "sum", TALLY_F32, 3, &s) == TALLY_INVALID, "ctx NULL");
    check(tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 3, NULL) == TALLY_INVALID, "stream NULL");
    const tally_scan_options reverse = {.reverse = 1}, seeded = {.init = x};
    says(tally_stream_scan_rows(ctx, "sum", TALLY_F32, 10, &reverse, &s), TALLY_UNSUPPORTED,
         "reverse");
    says(tally_stream_scan_rows(ctx, "mean", TALLY_F32, 10, &seeded, &s), TALLY_UNSUPPORTED,
         "init");
}

static void refused_pushes(void)
{
    tally *ctx = contexts[0];
    float out[20];
    tally_stream *s, *flat;
    tally_fragment *a;
    check_ok(ctx, tally_stream_reduce_rows(ctx, "sum", TALLY_F32, 10, &s), "stream");
    check_ok(ctx, tally_stream_reduce(ctx, "sum", TALLY_F32, &flat), "stream");
    tally_view v = tally_columns(x, TALLY_F32, 3, 10), w = v;
    says(tally_stream_push_view(flat, &v, NULL), TALLY_INVALID,
         "in->rows is 10: the stream has 1 sequence");
    says(tally_stream_push(s, x, 10, NULL, NULL), TALLY_INVALID, "stream is of 10 sequences");
    says(tally_stream_push_view(s, NULL, NULL), TALLY_INVALID, "in is NULL");
    check(tally_stream_push_view(NULL, &v, NULL) == TALLY_INVALID, "stream NULL");
    w.rows = 9;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID,
         "in->rows is 9: the stream has 10 sequences");
    w = tally_columns(x, TALLY_F64, 3, 10);
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID,
         "in->dtype is f64: the stream's is f32");
    w = tally_segments(x, TALLY_F32, offsets, 10);
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->offsets is given");
    w = v;
    w.valid = offsets;
    w.valid_offset = -1;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->valid_offset is -1");
    w = v;
    w.next = &v;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID,
         "in->next is given: operator 'sum' takes one input");
    w = v;
    w.n = -1;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->n is -1");
    w.n = (int64_t)1 << 61;
    w.stride = 0;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "");
    w = v;
    w.data = NULL;
    says(tally_stream_push_view(s, &w, NULL), TALLY_INVALID, "in->data is NULL");
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 0, &a), "fragment");
    says(tally_stream_resume(flat, a), TALLY_INVALID, "before is of 10 sequences");
    check_ok(ctx, tally_stream_push_view(s, &v, NULL), "push");
    w.n = 0;
    check_ok(ctx, tally_stream_push_view(s, &w, NULL), "push of nothing");
    says(tally_stream_push_view(s, &v, &v), TALLY_INVALID, "out is given");
    says(tally_stream_finish(s, NULL, NULL), TALLY_INVALID,
         "out is NULL: must have space for 10 results");
    check_ok(ctx, tally_stream_finish(s, out, NULL), "finish");
    check(out[0] == 30 && out[9] == 57, "after refusals %g, %g", (double)out[0], (double)out[9]);
    tally_fragment_free(a);
    tally_stream_close(s);
    tally_stream_close(flat);
}

static void refused_results_of_scans(void)
{
    tally *ctx = contexts[0];
    tally_stream *s;
    tally_view v = tally_columns(x, TALLY_F32, 3, 10), w;
    static float results[40];
    tally_view to = tally_columns(results, TALLY_F32, 3, 10);
    check_ok(ctx, tally_stream_scan_rows(ctx, "sum", TALLY_F32, 10, NULL, &s), "stream");
    says(tally_stream_push_view(s, &v, NULL), TALLY_INVALID, "out is NULL");
    says(tally_stream_push_view(s, &v, &v), TALLY_INVALID, "out overlaps in");
    w = to;
    w.n = 2;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "out->n is 2: must be 3");
    w = to;
    w.dtype = TALLY_F64;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "out->dtype is f64");
    w = to;
    w.row_stride = 0;
    says(tally_stream_push_view(s, &v, &w), TALLY_INVALID, "overwrite");
    check_ok(ctx, tally_stream_push_view(s, &v, &to), "push");
    check(results[9] == 9 && results[29] == 57, "after refusals %g, %g", (double)results[9],
          (double)results[29]);
    tally_stream_close(s);
}

static void refused_merges(void)
{
    tally *ctx = contexts[0];
    float out[20];
    tally_fragment *a, *b;
    tally_view v = tally_columns(x, TALLY_F32, 3, 10);
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 0, &a), "fragment");
    v.rows = 9;
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 3, &b), "fragment");
    says(tally_fragment_merge(a, b), TALLY_INVALID,
         "left has 10 sequences and right has 9: must be as many");
    tally_fragment_free(b);
    v.rows = 10;
    check_ok(ctx, tally_fragment_of_view(ctx, "sum", &v, 2, &b), "fragment");
    says(tally_fragment_merge(a, b), TALLY_INVALID,
         "left has [0, 3) and right has [2, 5): must not overlap");
    says(tally_fragment_result(b, out), TALLY_INVALID, "lacks [0, 2)");
    says(tally_fragment_result(a, NULL), TALLY_INVALID, "out is NULL");
    check(!tally_fragment_result(a, out) && out[9] == 57, "after refusals %g", (double)out[9]);
    tally_fragment_free(a);
    tally_fragment_free(b);
}

static void refused_fragments(void)
{
    tally *ctx = contexts[0];
    tally_fragment *b = (tally_fragment *)x;
    tally_view v = tally_columns(x, TALLY_F32, 3, 10), w = v;
    says(tally_fragment_of_view(ctx, "sum", NULL, 0, &b), TALLY_INVALID, "x is NULL");
    check(!b, "a fragment of a failure");
    w.valid = offsets;
    w.valid_offset = -1;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->valid_offset is -1");
    w = v;
    w.next = &v;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID,
         "x->next is given: operator 'sum' takes one input");
    says(tally_fragment_of_view(ctx, "dot", &v, 0, &b), TALLY_INVALID, "x->next is NULL");
    says(tally_fragment_of_view(ctx, "sum", &v, -1, &b), TALLY_INVALID, "start is -1");
    says(tally_fragment_of_view(ctx, "sum", &v, (int64_t)1 << 61, &b), TALLY_INVALID, "start");
    w = tally_segments(x, TALLY_F32, offsets, 10);
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->offsets is given");
    w = v;
    w.data = NULL;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->data is NULL");
    w = v;
    w.rows = (int64_t)1 << 54;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "must be 0..2^54 - 1");
    w.rows = -1;
    says(tally_fragment_of_view(ctx, "sum", &w, 0, &b), TALLY_INVALID, "x->rows is -1");
    says(tally_fragment_of_view(ctx, "sum:exact", &w, 0, &b), TALLY_INVALID, "x->rows is -1");
    w = (tally_view){.dtype = TALLY_F64, .rows = OVERFLOWS - 1};
    says(tally_fragment_of_view(ctx, "sum:exact", &w, 0, &b), TALLY_NO_MEMORY, "out of memory");
    check(tally_fragment_of_view(NULL, "sum", &v, 0, &b) == TALLY_INVALID, "ctx NULL");
    check(tally_fragment_of_view(ctx, "sum", &v, 0, NULL) == TALLY_INVALID, "fragment NULL");
}

int main(void)
{
    check_start();
    open_contexts(3);
    x_memory = malloc((size_t)(MOST + 8) * 8 + 64);
    want = malloc((size_t)MOST * 16 + GUARD);
    got = malloc((size_t)MOST * 16 + GUARD);
    for (int i = 0; i < 200; i++) x[i] = (float)i;
    refused_streams();
    refused_pushes();
    refused_results_of_scans();
    refused_merges();
    refused_fragments();
    bad_bytes();
    for (int k = 0; k < (check_quick ? 100 : 1200); k++) {
        reduced();
        scanned();
        if (check_below(3) == 0) windowed();
        merged();
        same_bytes();
    }
    close_contexts();
    free(x_memory);
    free(want);
    free(got);
    return check_finish();
}

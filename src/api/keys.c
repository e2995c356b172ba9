/* SPDX-License-Identifier: MIT
 * Runs, groups and gathers: their checks; and the verbs by key. */
#include "calls.h"
#include "context/view.h"
#include "dtype/number.h"
#include <stdlib.h>
#include <string.h>

/* A view of one sequence, as a normal view in *v. bits: it may have validity bits, and a next,
 * which the copy does not have. */
static tally_status one_sequence(tally *ctx, const tally_view *given, const char *name, int bits,
                                 tally_view *v)
{
    if (!ctx) return tl_no_context();
    if (!given) return tl_invalid(ctx, "%s is NULL: must be a view", name);
    if (!tl_dtype_kind(given->dtype))
        return tl_invalid(ctx, "%s->dtype is %d: must be 1..%d", name, (int)given->dtype,
                          TL_DTYPES);
    return tl_check_sequence(ctx, given, name, tl_element_bytes(given), bits, v);
}

/* Copies a view from device memory to the host; back: its results go back at the end. */
static tally_status bring(tl_host_copies *c, tally_view *v, int back)
{
    if (!back) c->ctx->device->on_processors += v->n;
    return tl_host_view(c, v, tl_element_bytes(v), back);
}

tally_status tally_runs(tally *ctx, const tally_view *keys, int64_t *offsets, int64_t *runs)
{
    tally_view v;
    TL_TRY(one_sequence(ctx, keys, "keys", 0, &v));

    if (!runs) return tl_invalid(ctx, "runs is NULL: must point to where the number of runs goes");
    tl_positions positions = {.offsets = offsets};
    int done;
    TL_TRY(ctx->device->calls->run(
        ctx->device, ctx, &(tl_call){.verb = TL_RUNS, .in = &v, .positions = &positions}, &done));
    if (done) *runs = positions.runs;
    if (done) return TALLY_OK;

    TL_HOST_COPIES(c, ctx);
    TL_TRY(bring(&c, &v, 0));
    if (offsets && v.n == INT64_MAX) return tl_no_memory(ctx, SIZE_MAX, "offsets");
    if (offsets) TL_TRY(tl_host_numbers(&c, &offsets, v.n + 1, 1, "offsets"));
    if (tl_view_overlaps_numbers(&v, tl_element_bytes(&v), offsets, v.n + 1))
        return tl_invalid(ctx, "offsets overlap keys: give them memory of their own");
    const int64_t found = tl_runs(tally_threads(ctx), &v, offsets);
    TL_TRY(tl_host_back(&c));
    *runs = found;
    return TALLY_OK;
}

/* offsets of this many groups have less than 2^62 bytes */
static const int64_t GROUPS_MOST = ((int64_t)1 << 59) - 1;

static tally_status check_codes(tally *ctx, const tally_view *codes, int64_t groups, tally_view *v)
{
    TL_TRY(one_sequence(ctx, codes, "codes", 1, v));
    if (tl_dtype_kind(v->dtype) == 'F')
        return tl_unsupported(ctx, "codes->dtype is %s: must be an integer type",
                              tally_dtype_name(v->dtype));
    if (groups < 0 || groups > GROUPS_MOST)
        return tl_invalid(ctx, "groups is %ld: must be in 0..%ld", groups, GROUPS_MOST);
    return TALLY_OK;
}

/* tl_groups_open, which fails if a code is no group. */
static tally_status open_groups(tally *ctx, const tally_view *codes, int64_t groups,
                                int64_t *offsets, tl_groups *g)
{
    int64_t bad;
    char text[48];
    const tally_status status = tl_groups_open(g, ctx, codes, groups, offsets, &bad);
    if (status || bad < 0) return status;
    tally_format_value(codes->dtype,
                       (const char *)codes->data + bad * codes->stride * tl_element_bytes(codes), 0,
                       text, sizeof text);
    return tl_invalid(ctx, "codes: element %ld is %s: must be in 0..%ld, the groups", bad, text,
                      groups - 1);
}

tally_status tally_groups(tally *ctx, const tally_view *codes, int64_t groups, int64_t *order,
                          int64_t *offsets)
{
    tally_view v;
    __attribute__((cleanup(tl_groups_close))) tl_groups g = {0};
    TL_TRY(check_codes(ctx, codes, groups, &v));

    if (!offsets || (v.n && !order))
        return tl_invalid(ctx, "%s is NULL: must have space for %ld numbers",
                          offsets ? "order" : "offsets", offsets ? v.n : groups + 1);

    const tally_view others[] = {v, tl_bits_bytes(&v), tally_flat(order, TALLY_I64, v.n)};

    for (int i = 0; i < 3; i++) {
        const int64_t bytes = tl_element_bytes(&others[i]);
        if (tl_view_overlaps_numbers(&others[i], bytes, offsets, groups + 1) ||
            (i < 2 && tl_view_overlaps_numbers(&others[i], bytes, order, v.n)))
            return tl_invalid(ctx, "order, offsets and codes overlap: give each memory of its own");
    }

    TL_HOST_COPIES(c, ctx);
    TL_TRY(bring(&c, &v, 0));
    TL_TRY(tl_host_numbers(&c, &order, v.n, 1, "order"));
    TL_TRY(tl_host_numbers(&c, &offsets, groups + 1, 1, "offsets"));
    TL_TRY(open_groups(ctx, &v, groups, offsets, &g));
    TL_TRY(tl_groups_sort(&g, NULL, 1, sizeof *order, order));
    return tl_host_back(&c);
}

static tally_status no_place(tally *ctx, int64_t at, int64_t place, int64_t length)
{
    return tl_invalid(ctx, "order[%ld] is %ld: must be in 0..%ld, the places of elements", at,
                      place, length - 1);
}

tally_status tally_take(tally *ctx, const tally_view *in, const int64_t *order, int64_t n,
                        const tally_view *out)
{
    tally_view x, y;
    TL_TRY(one_sequence(ctx, in, "in", 0, &x));
    TL_TRY(one_sequence(ctx, out, "out", 0, &y));

    const int64_t bytes = tl_element_bytes(&x);
    if (n < 0) return tl_invalid(ctx, "n is %ld: must be at least 0", n);

    if (y.dtype != x.dtype)
        return tl_invalid(ctx, "out->dtype is %s: must be in->dtype, %s", tally_dtype_name(y.dtype),
                          tally_dtype_name(x.dtype));
    if (y.n != n) return tl_invalid(ctx, "out->n is %ld: must be n = %ld", y.n, n);
    if (n && !order) return tl_invalid(ctx, "order is NULL: must be %ld places", n);
    TL_TRY(tl_view_distinct(ctx, &y, "out"));
    TL_TRY(tl_check_overlap(ctx, &x, bytes, &y, bytes, 0));
    if (!n) return TALLY_OK;
    if (tl_view_overlaps_numbers(&y, bytes, order, n))
        return tl_invalid(ctx, "out overlaps order: give it memory of its own");

    tl_positions positions = {.order = order};
    int64_t bad;
    int done;
    TL_TRY(ctx->device->calls->run(
        ctx->device, ctx, &(tl_call){.verb = TL_TAKE, .in = &x, .out = &y, .positions = &positions},
        &done));
    if (done && positions.bad < n) return no_place(ctx, positions.bad, positions.position, x.n);
    if (done) return TALLY_OK;

    TL_HOST_COPIES(c, ctx);
    TL_TRY(bring(&c, &x, 0));
    int64_t *places = (int64_t *)(uintptr_t)order;
    TL_TRY(tl_host_numbers(&c, &places, n, 0, "order"));
    if ((bad = tl_take_check(tally_threads(ctx), places, n, x.n)) < n)
        return no_place(ctx, bad, places[bad], x.n);
    TL_TRY(bring(&c, &y, 1));
    tl_take(tally_threads(ctx), &x, places, n, &y);
    return tl_host_back(&c);
}

/* ---- the verbs by key ----
 * The elements are sorted into the order of the groups, whose verbs are those of segments. The
 * results of scans and windows go back to the order of the rows. */

typedef struct {
    tally *ctx;
    const char *op;
    tl_call call; /* the verb, and its options */
    tl_plan plan; /* only op and par */
    tl_groups g;
    tally_view codes, x[2], out;      /* of rows; x[1]: the second input */
    tally_view sorted[2], sorted_out; /* of groups */
    int in_place;                     /* sorted_out has the memory of sorted[0] */
} keyed;

/* Copies bits, the first of which is number `at`, to bytes of 0 and 1, or back. */
static void copy_bits(const tally_view *v, uint8_t *bytes, int back)
{
    uint8_t *const bits = (uint8_t *)(uintptr_t)v->valid;
    for (int64_t i = 0, at = v->valid_offset; i < v->n; i++, at += v->stride)
        if (back)
            tl_set_bit(bits, at, bytes[i]);
        else
            bytes[i] = (uint8_t)tl_bit(bits, at);
}

/* Moves the elements of a column, of `bytes` bytes, and their bits from rows to groups, or back.
 * The rows are written last, when nothing can fail. */
static tally_status move_column(const tl_groups *g, const tally_view *rows, int64_t bytes,
                                const tally_view *sorted, int back)
{
    const int64_t n = rows->n;
    const tally_view flat = {.valid = sorted->valid, .n = n, .stride = 1};
    TL_FREED uint8_t *const from = rows->valid ? tl_key_memory(n, 1) : NULL;
    TL_FREED uint8_t *const to = from ? tl_key_memory(n, 1) : NULL;

    if (rows->valid && !to) return tl_no_memory(g->ctx, (size_t)n, "bytes for validity");
    if (to) {
        copy_bits(back ? &flat : rows, from, 0);
        TL_TRY(back ? tl_groups_back(g, from, 1, to, 1) : tl_groups_sort(g, from, 1, 1, to));
    }
    TL_TRY(back ? tl_groups_back(g, sorted->data, bytes, rows->data, rows->stride)
                : tl_groups_sort(g, rows->data, rows->stride, bytes, sorted->data));
    if (to) copy_bits(back ? rows : &flat, to, 1);
    return TALLY_OK;
}

/* Memory in the order of the groups for a column. */
static tally_status make_sorted(const tl_groups *g, const tally_view *rows, int64_t bytes,
                                tally_view *sorted)
{
    *sorted = tally_segments(tl_key_memory(rows->n, bytes), rows->dtype, g->offsets, g->groups);
    if (rows->valid) sorted->valid = calloc((size_t)rows->n / 8 + 1, 1);
    return sorted->data && (sorted->valid || !rows->valid)
               ? TALLY_OK
               : tl_no_memory(g->ctx, (size_t)(rows->n * bytes), "the elements of groups");
}

/* Checks the view of the results, and stores it as a normal view. */
static tally_status check_keyed_out(keyed *k)
{
    static const int64_t none = 0;
    const tally_view *const given = k->call.out, segments = {.offsets = &none};
    const int scan = k->call.verb == TL_SCAN;
    tally_view in = k->x[0], plain = {0};
    if (given) plain = *given, plain.valid = NULL;
    if (!scan && k->call.window) TL_TRY(tl_check_step(k->ctx, &segments, k->call.window));
    TL_TRY(tl_check_call(k->ctx, &k->plan, k->plan.op, &k->call, &in, given ? &plain : NULL));
    k->out = plain;
    tl_view_normal(&k->out);
    k->out.valid = given->valid;
    TL_TRY(tl_bits_check(k->ctx, &k->out, "out"));
    const int64_t bytes = k->plan.op->result_bytes;
    const tally_view codes = {.next = &k->codes}, bits = tl_bits_bytes(&k->out);
    if (k->x[1].dtype) in.next = &k->x[1];
    TL_TRY(tl_inputs_apart(k->ctx, &in, &plain, bytes));
    if (tl_inputs_apart(k->ctx, &codes, &plain, bytes))
        return tl_invalid(k->ctx, "out overlaps codes: give it memory of its own");
    if (tl_views_overlap(&bits, 1, &plain, bytes))
        return tl_invalid(k->ctx, "out->valid overlaps out: give it memory of its own");
    return TALLY_OK;
}

static tally_status check_keyed(keyed *k, const tally_view *codes, int64_t groups)
{
    const tally_view *const in = k->call.in;
    TL_TRY(one_sequence(k->ctx, in, "in", 1, &k->x[0]));
    if (in->next) TL_TRY(one_sequence(k->ctx, in->next, "in->next", 1, &k->x[1]));
    TL_TRY(check_codes(k->ctx, codes, groups, &k->codes));
    TL_TRY(tl_resolve(k->ctx, k->op, tl_inputs_dtype(in), &k->plan.op, &k->plan.par));

    const int64_t others[2] = {in->next ? k->x[1].n : in->n, codes->n};
    for (int i = 0; i < 2; i++)
        if (others[i] != in->n)
            return tl_invalid(k->ctx, "%s->n is %ld: must be in->n = %ld", i ? "codes" : "in->next",
                              others[i], in->n);
    return k->call.verb == TL_REDUCE ? TALLY_OK : check_keyed_out(k);
}

/* Gives the rows that belong to no group the operator's empty value. */
static tally_status fill_rest(const keyed *k)
{
    const int64_t first = k->g.offsets[k->g.groups], bytes = k->plan.op->result_bytes;
    const tally_view next = {.dtype = k->x[1].dtype, .rows = 1, .stride = 1},
                     none = {.dtype = k->x[0].dtype,
                             .rows = 1,
                             .stride = 1,
                             .next = next.dtype ? &next : NULL};
    char *const to = (char *)k->sorted_out.data;
    if (first == k->x[0].n) return TALLY_OK;
    TL_TRY(tally_reduce(k->ctx, k->op, &none, to + first * bytes));
    for (int64_t i = first + 1; i < k->x[0].n; i++)
        memcpy(to + i * bytes, to + first * bytes, (size_t)bytes);

    return TALLY_OK;
}

static tally_status run_keyed(keyed *k, void *out)
{
    const int64_t bytes = k->plan.op->result_bytes;
    for (int i = 0; i < 2 && k->x[i].dtype; i++) {
        const int64_t element = tl_element_bytes(&k->x[i]);
        TL_TRY(make_sorted(&k->g, &k->x[i], element, &k->sorted[i]));
        TL_TRY(move_column(&k->g, &k->x[i], element, &k->sorted[i], 0));
    }

    const tally_view *const in = &k->sorted[0];
    if (k->x[1].dtype) k->sorted[0].next = &k->sorted[1];
    if (k->call.verb == TL_REDUCE) return tally_reduce(k->ctx, k->op, in, out);

    const int in_place =
        k->call.verb == TL_SCAN && !k->out.valid && bytes == tl_element_bytes(&k->x[0]);
    if (in_place) {
        k->sorted_out = tally_segments(in->data, k->out.dtype, in->offsets, in->rows);
        k->in_place = 1;
    } else {
        TL_TRY(make_sorted(&k->g, &k->out, bytes, &k->sorted_out));
    }
    TL_TRY(k->call.verb == TL_SCAN
               ? tally_scan(k->ctx, k->op, in, &k->sorted_out, k->call.scan)
               : tally_window(k->ctx, k->op, in, &k->sorted_out, k->call.window));
    TL_TRY(fill_rest(k));
    return move_column(&k->g, &k->out, bytes, &k->sorted_out, 1);
}

static void close_keyed(keyed *k)
{
    tally_view *const sorted[] = {&k->sorted[0], &k->sorted[1], &k->sorted_out};

    for (int i = 0; i < 3 - k->in_place; i++) {
        free(sorted[i]->data);
        free((void *)(uintptr_t)sorted[i]->valid);
    }
    tl_groups_close(&k->g);
}

static tally_status by_key(tally *ctx, const char *op, tl_call call, const tally_view *codes,
                           int64_t groups, void *out)
{
    __attribute__((cleanup(close_keyed))) keyed k = {.ctx = ctx, .op = op, .call = call};
    TL_TRY(check_keyed(&k, codes, groups));

    TL_HOST_COPIES(c, ctx);
    TL_TRY(bring(&c, &k.x[0], 0));
    if (k.x[1].dtype) TL_TRY(bring(&c, &k.x[1], 0));
    TL_TRY(bring(&c, &k.codes, 0));
    if (k.out.dtype) TL_TRY(tl_host_view(&c, &k.out, k.plan.op->result_bytes, 1));
    TL_FREED int64_t *const offsets = tl_key_memory(groups + 1, sizeof *offsets);
    if (!offsets) return tl_no_memory(ctx, (size_t)(groups + 1) * sizeof *offsets, "offsets");
    TL_TRY(open_groups(ctx, &k.codes, groups, offsets, &k.g));
    TL_TRY(run_keyed(&k, out));
    return tl_host_back(&c);
}

tally_status tally_reduce_by(tally *ctx, const char *op, const tally_view *in,
                             const tally_view *codes, int64_t groups, void *out)
{
    return by_key(ctx, op, (tl_call){TL_REDUCE, .in = in}, codes, groups, out);
}

tally_status tally_scan_by(tally *ctx, const char *op, const tally_view *in,
                           const tally_view *codes, int64_t groups, const tally_view *out,
                           const tally_scan_options *options)
{
    return by_key(ctx, op, (tl_call){TL_SCAN, .in = in, .out = out, .scan = options}, codes, groups,
                  NULL);
}

tally_status tally_window_by(tally *ctx, const char *op, const tally_view *in,
                             const tally_view *codes, int64_t groups, const tally_view *out,
                             const tally_window_options *options)
{
    return by_key(ctx, op, (tl_call){TL_WINDOW, .in = in, .out = out, .window = options}, codes,
                  groups, NULL);
}

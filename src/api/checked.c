/* SPDX-License-Identifier: MIT
 * sum:checked (calls.h). Most data is passed by a bound: so many elements of so many bits fit.
 * Else every result is computed. */
#include "calls.h"
#include "context/view.h"
#include "dtype/number.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tl_is_checked(const char *op)
{
    const char *at = op ? op : "";
    while (*at && *at != ':') at++; /* every call asks: strstr is slower */
    at = *at ? strstr(at, ":checked") : NULL;
    return at && (!at[8] || at[8] == ':');
}

typedef struct {
    const char *at;
    int64_t stride, n;          /* in bytes */
    const unsigned char *valid; /* NULL: all are there */
    int64_t bit, bit_stride;
    tally_dtype dtype;
} line;

static line row_of(const tally_view *v, int64_t r)
{
    int64_t n;
    const char *const at = tl_view_row(v, r, tl_element_bytes(v), &n);
    return (line){at,       v->stride * tl_element_bytes(v),       n,
                  v->valid, v->valid_offset + tl_view_first(v, r), v->stride,
                  v->dtype};
}

static int is_there(const line *l, int64_t i)
{
    return !l->valid || tl_bit(l->valid, l->bit + i * l->bit_stride);
}

static tl_total number(const line *l, int64_t i)
{
    int64_t bits = 0;
    const int bytes = (int)tally_dtype_size(l->dtype), shift = 64 - 8 * bytes;
    if (!is_there(l, i)) return 0;
    memcpy(&bits, l->at + i * l->stride, (size_t)bytes);
    return tl_dtype_kind(l->dtype) == 'U' ? (tl_total)(uint64_t)bits
                                          : (tl_total)((int64_t)((uint64_t)bits << shift) >> shift);
}

/* The bits that the magnitude of every element has at most. */
static int bits_of(const line *l)
{
    uint64_t used_bits = 0;
    if (tally_dtype_size(l->dtype) < 8) return 8 * (int)tally_dtype_size(l->dtype);
    const int64_t sign = tl_dtype_kind(l->dtype) == 'I' ? -1 : 0;

    for (int64_t i = 0; i < l->n; i++) {
        int64_t v;
        memcpy(&v, l->at + i * l->stride, sizeof v);
        used_bits |= (uint64_t)(v ^ (v >> 63 & sign));
    }
    return used_bits ? 64 - __builtin_clzll(used_bits) : 0;
}

/* Do all sums of some of its elements fit? */
static int is_small(const line *l)
{
    const int bits = bits_of(l), most = tl_dtype_kind(l->dtype) == 'I' ? 63 : 64;
    return l->n <= 1 || bits + 64 - __builtin_clzll((uint64_t)l->n) <= most;
}

static int fits(tl_total v, tally_dtype dtype)
{
    return tl_dtype_kind(dtype) == 'U' ? v >= 0 && v <= UINT64_MAX
                                       : v >= INT64_MIN && v <= INT64_MAX;
}

/* The place of a result: "the sum", "running sum number 5 of sequence 2". of: "sequence" or
 * "group". i, r below 0: not named. */
typedef struct {
    const char *name, *of;
    int64_t i, r;
} place;

static tally_status refuse(tally *ctx, place p, tl_total v, tally_dtype dtype)
{
    char digits[44], *at = digits + sizeof digits - 1, number[32] = "", of[40] = "";
    unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    *at = 0;
    do *--at = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    if (v < 0) *--at = '-';
    if (p.i >= 0) snprintf(number, sizeof number, " number %ld", p.i);
    if (p.r >= 0) snprintf(of, sizeof of, " of %s %ld", p.of, p.r);
    return tl_bad_data(ctx, "sum:checked: %s%s%s is %s, and 64 bits hold %s", p.name, number, of,
                       at,
                       tl_dtype_kind(dtype) == 'U' ? "0..18446744073709551615"
                                                   : "-9223372036854775808..9223372036854775807");
}

static tally_status check_reduce(tally *ctx, const line *l, int64_t r)
{
    tl_total sum = 0;
    for (int64_t i = 0; i < l->n; i++) sum += number(l, i);
    return fits(sum, l->dtype) ? TALLY_OK
                               : refuse(ctx, (place){"the sum", "sequence", -1, r}, sum, l->dtype);
}

static tally_status check_scan(tally *ctx, const line *l, int64_t r, const tally_scan_options *o)
{
    int64_t init = 0;
    if (o && o->init) memcpy(&init, o->init, sizeof init);
    tl_total sum = tl_dtype_kind(l->dtype) == 'U' ? (tl_total)(uint64_t)init : (tl_total)init;

    for (int64_t k = 0; k < l->n - (o && o->exclusive); k++) {
        const int64_t i = o && o->reverse ? l->n - 1 - k : k;
        sum += number(l, i);
        const int64_t result = o && o->exclusive ? o->reverse ? i - 1 : i + 1 : i;
        if (!fits(sum, l->dtype))
            return refuse(ctx, (place){"running sum", "sequence", result, r}, sum, l->dtype);
    }
    return TALLY_OK;
}

/* Windows, from the sums of all first elements. */
static tally_status check_ranges(tally *ctx, const line *l, int64_t r, const tl_ranges *ranges)
{
    typedef struct {
        tl_total sum;
        int64_t count;
    } prefix;
    TL_FREED prefix *const p = malloc((size_t)(l->n + 1) * sizeof *p);
    if (!p) return tl_no_memory(ctx, (size_t)(l->n + 1) * sizeof *p, "checks of sums");
    p[0] = (prefix){0, 0};
    for (int64_t i = 0; i < l->n; i++)
        p[i + 1] = (prefix){p[i].sum + number(l, i), p[i].count + is_there(l, i)};

    for (int64_t k = 0; k < ranges->results; k++) {
        int64_t from, end;
        const int full = tl_range_at(ranges, k, &from, &end);
        const tl_total sum = p[end].sum - p[from].sum;
        if (full && p[end].count - p[from].count >= ranges->min_count && !fits(sum, l->dtype))
            return refuse(ctx, (place){"window", "sequence", ranges->number + k, r}, sum, l->dtype);
    }

    return TALLY_OK;
}

static tally_status check_row(tally *ctx, const tl_call *call, const tl_ranges *given,
                              const tally_view *in, int64_t r)
{
    const line l = row_of(in, r);
    const int64_t name = in->rows > 1 || in->offsets ? r : -1;
    if (is_small(&l) && !(call->scan && call->scan->init)) return TALLY_OK;
    if (call->verb == TL_REDUCE) return check_reduce(ctx, &l, name);
    if (call->verb == TL_SCAN) return check_scan(ctx, &l, name, call->scan);
    const tl_ranges ranges = given ? *given : tl_ranges_of(call->window, l.n);
    return check_ranges(ctx, &l, name, &ranges);
}

tally_status tl_check_sums(tally *ctx, const char *op, const tl_call *call, const tl_ranges *ranges)
{
    if (!tl_is_checked(op) || !ctx || !call->in) return TALLY_OK;
    const tl_scalar *scalar;
    tl_par par;
    tally_view in = *call->in, next;
    TL_HOST_COPIES(copies, ctx);

    if (tl_resolve(ctx, op, in.dtype, &scalar, &par) ||
        (call->verb == TL_WINDOW && !ranges && tl_check_window(ctx, call->window)) ||
        (call->verb == TL_SCAN && tl_check_scan(ctx, &(tl_plan){.op = scalar}, call->scan)) ||
        tl_host_offsets(&copies, "in", &in))
        return TALLY_OK; /* the call fails, and says why */

    tally_view checked = in;
    if (in.next || tl_inputs_check(ctx, &in, "in", &checked, &next)) return TALLY_OK;
    tl_inputs_normal(&checked);
    TL_TRY(tl_inputs_bring(&copies, &checked, &next));
    for (int64_t r = 0; r < checked.rows; r++) TL_TRY(check_row(ctx, call, ranges, &checked, r));
    return TALLY_OK;
}

/* Adds the elements of row r to its total. With `to` the running totals are written there; without
 * it they are only checked: the first that does not fit is refused, and the total does not
 * change. */
static tally_status add_row(tally *ctx, tl_total *total, const tally_view *in, int64_t r,
                            const tl_running *running, char *to)
{
    const line l = row_of(in, r);
    const int64_t stride = running ? running->out->stride : 0;
    tl_total sum = *total;

    for (int64_t i = 0; i < l.n; i++) {
        const tl_total next = sum + number(&l, i),
                       result = running && running->exclusive ? sum : next;
        sum = next;
        if (!running) continue;
        if (to)
            memcpy(to + i * stride * 8, &result, 8); /* the low 64 bits */
        else if (!fits(result, l.dtype))
            return refuse(
                ctx, (place){"running sum", "sequence", running->first + i, in->rows > 1 ? r : -1},
                result, l.dtype);
    }
    if (to || !running) *total = sum;

    return TALLY_OK;
}

tally_status tl_totals_add(tally *ctx, tl_total *totals, const tally_view *in,
                           const tl_running *running)
{
    assert(!in->offsets);
    TL_HOST_COPIES(copies, ctx);
    tally_view here = *in, none = {0}, out = running ? *running->out : none;
    ctx->device->on_processors += in->rows * in->n;
    TL_TRY(tl_inputs_bring(&copies, &here, &none));
    if (running) TL_TRY(tl_host_view(&copies, &out, 8, 1));

    for (int writes = !running; writes < 2; writes++)
        for (int64_t r = 0; r < in->rows; r++)
            TL_TRY(add_row(ctx, &totals[r], &here, r, running,
                           writes && running ? (char *)out.data + r * out.row_stride * 8 : NULL));
    return tl_host_back(&copies);
}

void tl_totals_of_groups(tl_total *totals, tally_dtype dtype, const void *x, const int32_t *codes,
                         int64_t n)
{
    const tally_view in = tally_flat(x, dtype, n);
    const line l = row_of(&in, 0);
    for (int64_t i = 0; i < n; i++) totals[codes[i]] += number(&l, i);
}

tally_status tl_totals_result(tally *ctx, const tl_total *totals, int64_t count, tally_dtype dtype,
                              const char *of, void *out)
{
    for (int64_t r = 0; r < count; r++)
        if (!fits(totals[r], dtype))
            return refuse(ctx, (place){"the sum", of, -1, count > 1 || *of == 'g' ? r : -1},
                          totals[r], dtype);
    for (int64_t r = 0; r < count; r++) memcpy((int64_t *)out + r, &totals[r], sizeof(int64_t));
    return TALLY_OK;
}

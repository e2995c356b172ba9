/* SPDX-License-Identifier: MIT
 * Windows of `rolling` in host memory (rolling.h). */
#include "rolling.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int pt_rolling_empty_is_nan(tally *ctx, const char *op, tally_dtype dtype, double *value)
{
    char bits[64];
    tally_operator_info info;
    tally_view none = {.dtype = dtype, .rows = 1, .stride = 1}, second = none;
    *value = 0;
    if (tally_operator(ctx, op, dtype, &info)) return 0;
    if (info.inputs == 2) none.next = &second;
    if (tally_reduce(ctx, op, &none, bits)) return 0;
    *value = pt_real(info.output, bits, 0);
    return isnan(*value);
}

void pt_rolling_set_window(pt_verb *verb, const rolling *r)
{
    verb->what = r->start ? PT_RANGES : PT_WINDOW;
    verb->start = r->start;
    verb->end = r->end;
    if (r->start) return;
    verb->shift = r->after < 0;
    verb->window = (tally_window_options){r->before - verb->shift, r->after + verb->shift,
                                          TALLY_EDGES_SHRINK, 0};
}

/* Makes an operand of dense memory with a's shape. */
static void dense_like(const pt_operand *a, tally_dtype dtype, char *data, pt_operand *dense)
{
    int64_t reach = (int64_t)tally_dtype_size(dtype);
    *dense =
        (pt_operand){.data = data, .dtype = dtype, .ndim = a->ndim, .size = a->size, .device = -1};
    for (int i = a->ndim - 1; i >= 0; i--) {
        dense->shape[i] = a->shape[i];
        dense->strides[i] = reach;
        reach *= a->shape[i];
    }
}

static tally_status windows(tally *ctx, const rolling *r, const pt_verb *verb, const pt_operand *a,
                            char **data)
{
    pt_operand dense;
    *data = malloc((size_t)(r->a.size * verb->out_bytes + 1));
    if (!*data) return TALLY_NO_MEMORY;
    dense_like(&r->a, verb->info.output, *data, &dense);
    return pt_walk_series(ctx, verb, a, r->axis, &dense);
}

int64_t pt_rolling_rows_at(const rolling *r, int64_t i)
{
    if (r->start) return r->end[i] - r->start[i];
    int64_t n = r->a.shape[r->axis], low = i - r->before, high = i + r->after;
    return (high < n ? high : n - 1) - (low > 0 ? low : 0) + 1;
}

static inline void put_result(const rolling *r, char *out, int64_t i, double value)
{
    if (r->wanted == TALLY_F32)
        ((float *)(void *)out)[i] = (float)value;
    else
        ((double *)(void *)out)[i] = value;
}

/* Sets the rows of a block whose windows have too few rows to NaN, from `first` in steps of
 * `step` until a window has enough; of windows from start to end, which may be anywhere, all. */
static void blank_rows(const rolling *r, char *block, int64_t first, int64_t step, int64_t inner)
{
    for (int64_t i = first; i >= 0 && i < r->a.shape[r->axis]; i += step) {
        const int enough = pt_rolling_rows_at(r, i) >= r->least;
        if (enough && !r->start) return;
        for (int64_t k = i * inner; k < (i + 1) * inner && !enough; k++)
            put_result(r, block, k, r->missing);
    }
}

/* Sets results in `out` with too few observations to NaN. Without counts these have too few rows.
 */
static void blank(const rolling *r, const int64_t *counts, char *out)
{
    int64_t inner = 1, n = r->a.shape[r->axis], bytes = (int64_t)tally_dtype_size(r->wanted);
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    if (!counts) {
        for (int64_t at = 0; at < r->a.size; at += n * inner) {
            blank_rows(r, out + at * bytes, 0, 1, inner);
            if (!r->start) blank_rows(r, out + at * bytes, n - 1, -1, inner);
        }
    } else if (r->wanted == TALLY_F32) {
        float *to = (void *)out, missing = (float)r->missing;
        for (int64_t i = 0; i < r->a.size; i++) to[i] = counts[i] < r->least ? missing : to[i];
    } else {
        double *to = (void *)out;
        for (int64_t i = 0; i < r->a.size; i++) to[i] = counts[i] < r->least ? r->missing : to[i];
    }
}

/* Is element i of one sequence of float64 or float32 a number? */
static inline int is_number(const pt_operand *a, int64_t i, int single)
{
    const char *const at = a->data + i * a->strides[0];
    float f;
    double d;
    if (single) return memcpy(&f, at, sizeof f), f == f;
    return memcpy(&d, at, sizeof d), d == d;
}

/* Sets results of one sequence with too few observations to NaN. Observations are counted as the
 * window slides, which reads no second array. */
static inline void blank_sliding(const rolling *r, char *out, int single)
{
    const int64_t n = r->a.shape[0];
    int64_t count = 0;
    for (int64_t i = 0; i < r->after && i < n; i++) count += is_number(&r->a, i, single);
    for (int64_t i = 0; i < n; i++) {
        const int64_t enters = i + r->after, leaves = i - r->before - 1;
        if (enters >= 0 && enters < n) count += is_number(&r->a, enters, single);
        if (leaves >= 0) count -= is_number(&r->a, leaves, single);
        if (count >= r->least) continue;
        put_result(r, out, i, r->missing);
    }
}

/* Writes the requested results from values (NULL: all missing) and counts (NULL: numbers of
 * rows). */
static void write_results(const rolling *r, const pt_verb *verb, const char *values,
                          const int64_t *counts, char *out)
{
    const size_t bytes = tally_dtype_size(r->wanted);
    int64_t inner = 1, n = r->a.shape[r->axis], to = 0;
    for (int i = r->axis + 1; i < r->a.ndim; i++) inner *= r->a.shape[i];
    for (int64_t block = 0; block < r->a.size; block += n * inner)
        for (int64_t i = 0; i < n; i += r->step)
            for (int64_t k = 0; k < inner; k++, to++) {
                int64_t from = block + i * inner + k;
                int missing =
                    !values || (counts ? counts[from] : pt_rolling_rows_at(r, i)) < r->least;
                if (missing)
                    put_result(r, out, to, r->missing);
                else if (verb->info.output == r->wanted)
                    memcpy(out + to * bytes, values + from * bytes, bytes);
                else /* to f64 */
                    put_result(r, out, to, pt_real(verb->info.output, values, from));
            }
}

/* Clears the byte of each element that is not an observation, in C order. `to` points to bytes of
 * 1. */
static void mark_pairs(const pt_operand *a, int axis, const char *at, uint8_t **to)
{
    if (axis < a->ndim) {
        for (int64_t i = 0; i < a->shape[axis]; i++)
            mark_pairs(a, axis + 1, at + i * a->strides[axis], to);
        return;
    }
    **to &= (uint8_t)(!pt_is_nan(a->dtype, at) &&
                      pt_is_valid(a, (at - a->data) / (int64_t)tally_dtype_size(a->dtype)));
    ++*to;
}

static tally_status find_pairs(rolling *r)
{
    uint8_t *bytes = malloc((size_t)r->a.size + 1), *at = bytes;
    if (!bytes) return TALLY_NO_MEMORY;
    dense_like(&r->a, TALLY_U8, (char *)bytes, &r->pairs);
    r->pairs.copy = bytes;
    memset(bytes, 1, (size_t)r->a.size);
    mark_pairs(&r->a, 0, r->a.data, &at);
    at = bytes;
    mark_pairs(r->next, 0, r->next->data, &at);
    r->all_observed = !memchr(bytes, 0, (size_t)r->a.size);
    return pt_advance(r->a.size);
}

int pt_rolling_keeps_nan(const rolling *r)
{
    static const char *const names[] = {"sum", "mean", "min", "max", "prod", "var", "std"};
    const char *op = r->plain.op;
    const size_t length = strcspn(op, ":");
    if (r->a.dtype < TALLY_F16 || strstr(op, ":exact")) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !strncmp(op, names[i], length)) return 1;
    return 0;
}

int pt_rolling_needs_all(const rolling *r)
{
    return !r->next && !r->start && !r->a.valid && r->minimum == r->before + r->after + 1 &&
           pt_rolling_keeps_nan(r);
}

tally_status pt_rolling_find_nan(tally *ctx, rolling *r)
{
    int64_t numbers = 0;
    if (!r->all_observed && r->next && r->a.size) return find_pairs(r);
    if (r->all_observed || (r->a.dtype < TALLY_F16 && !r->a.valid) || pt_rolling_needs_all(r)) {
        r->all_observed = 1;
        return pt_advance(r->a.size);
    }
    tally_status status = pt_walk_reduce(ctx, &r->count, &r->a, ~(uint64_t)0, (char *)&numbers);
    r->all_observed = numbers == r->a.size;
    return status;
}

tally_status pt_rolling_on_host(tally *ctx, rolling *r, pt_operand *out)
{
    char *values = NULL, *counts = NULL;
    tally_status status = pt_rolling_find_nan(ctx, r);
    pt_verb *verb = r->all_observed ? &r->plain : &r->verb;
    int64_t length = r->start ? INT64_MAX : r->before + r->after + 1;
    /* the empty value of floats, also for integers, which have no NaN */
    double nothing = 0;
    const int empty = (r->minimum == 0 || length <= 0) &&
                      pt_rolling_empty_is_nan(
                          ctx, verb->op, r->a.dtype < TALLY_F16 ? TALLY_F64 : r->a.dtype, &nothing);
    int direct = verb->info.output == r->wanted && r->step == 1;
    r->least = empty && r->minimum == 0 ? 1 : r->minimum;
    r->missing = length <= 0 && r->least == 0 ? nothing : NAN;
    if (status || !r->a.size) return status;
    /* the library applies the least number of observations */
    const int counts_there = (r->start || !r->all_observed) && !r->next && r->least > 0 &&
                             pt_rolling_empty_is_nan(ctx, verb->op, r->a.dtype, &nothing);
    const int slides = direct && !r->all_observed && !r->next && r->least > 0 && !counts_there &&
                       r->a.ndim == 1 && !r->a.valid && !r->start &&
                       (r->a.dtype == TALLY_F32 || r->a.dtype == TALLY_F64);
    if (length > 0 && r->least <= length) {
        pt_rolling_set_window(verb, r);
        if (counts_there) verb->window.min_count = verb->least = r->least;
        pt_rolling_set_window(&r->count, r);
        status = direct ? pt_walk_series(ctx, verb, &r->a, r->axis, out)
                        : windows(ctx, r, verb, &r->a, &values);
        if (!status && slides) {
            pt_more(r->a.size);
            status = pt_advance(r->a.size);
        } else if (!status && !r->all_observed && r->least > 0 && !counts_there) {
            pt_more(r->a.size);
            status = windows(ctx, r, &r->count, r->next ? &r->pairs : &r->a, &counts);
        }
    } else {
        direct = 0;
    }
    const int64_t *observed = (const void *)counts;
    if (!status && slides && direct && r->a.dtype == TALLY_F32)
        blank_sliding(r, out->data, 1);
    else if (!status && slides && direct)
        blank_sliding(r, out->data, 0);
    else if (!status && direct && r->least > 0 && !(counts_there && r->start))
        blank(r, observed, out->data);
    else if (!status && !direct)
        write_results(r, verb, values, observed, out->data);
    free(values);
    free(counts);
    return status;
}

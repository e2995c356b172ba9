/* SPDX-License-Identifier: MIT
 * Exact sums on a GPU (gpu/kernel/exact/): reductions. A long row is cut into parts, one block for
 * each, whose bins are added to the row's bins. Short rows take a few lanes each. Host arrays are
 * copied whole; without memory for them, the processors do the call. */
#include "exact/exact.h"
#include "gpu/kernel/constants.h"
#include "work.h"
#include <assert.h>
#include <stdlib.h>

enum {
    BLOCKS_PER_PROCESSOR = EXACT_BLOCKS, /* resident blocks of a multiprocessor */
    PART_LEAST = 1 << 14,                /* min items of a part */
    LONG_ROW = 1 << 16,                  /* items of a row from which it is always cut into parts */
    LONG_ROW_OF_FEW = 4096,              /* the same if there are few rows */
    LANE_ITEMS = 16,                     /* items of a short row per lane */

    /* rows that lie across: resident blocks of a multiprocessor */
    DOWN_BLOCKS_PER_PROCESSOR = 32,
    DOWN_LEAST = 1 << 11, /* min items of a part of such rows */
    BINNED_ROWS = 4096    /* rows that have bins at a time */
};

typedef struct {
    tl_launch l;
    /* its operator is the common one: one program for all operators of an element type */
    tl_plan plan;
    int pairs;
    int64_t flags, item, words; /* item: bytes of an element; words: of a row's bins */
    int64_t rows, longest, elements;
} job;

/* Ensures that the device's bins are enough for `rows` rows. They are zero before each call:
 * exact_finish clears what it has read. */
static tally_status reserve_bins(const job *j, int64_t rows)
{
    assert(rows > 0);
    return tl_cleared_reserve(j->l.d, &j->l.d->slot->exact_bins,
                              (size_t)(rows * j->words) * sizeof(uint32_t));
}

/* Returns `status`. After a failure the contents of the bins are not known. */
static tally_status end_bins(const job *j, tally_status status)
{
    if (status) tl_cleared_drop(j->l.d, &j->l.d->slot->exact_bins);
    return status;
}

/* Rows that have bins at a time: bins are kept from call to call, so they take at most a 16th of a
 * limited memory. */
static int64_t binned_rows(const job *j)
{
    const int64_t fit = (int64_t)(j->l.d->limit / 16) / (j->words * (int64_t)sizeof(uint32_t)),
                  most = j->l.d->limit ? tl_min(fit, BINNED_ROWS) : BINNED_ROWS;
    return most < 1 ? 1 : tl_min(most, j->rows);
}

/* The arrays that the kernels read. y: the second input, if there is one. */
typedef struct {
    tl_batch x, y;
} arrays;

static tl_arguments_second second(const job *j, const arrays *a)
{
    return TL_ARGUMENTS(second, .second_data = j->pairs ? a->y.x.memory.handle : NULL,
                        .second_byte = a->y.x.byte, .second_row_stride = a->y.row_stride,
                        .second_stride = a->y.stride);
}

static void close_arrays(const job *j, arrays *a)
{
    tl_batch_close(j->l.d, &a->x);
    tl_batch_close(j->l.d, &a->y);
}

static tally_status open_one(const job *j, const tally_view *v, tl_batch *b)
{
    *b = tl_batch_of(&j->plan, v);
    return tl_batch_data(j->l.d, v, j->item, b);
}

/* The inputs of a view. Without in->next, pairs lie in one array, one after the other. */
static void split(const tally_view *in, int pairs, int64_t item, tally_view *x, tally_view *y)
{
    *x = *y = *in;
    if (in->next) *y = *in->next;
    if (pairs && !in->next) {
        x->stride *= 2, x->row_stride *= 2;
        *y = *x;
        y->data = tl_offset(x->data, item);
    }
}

/* Opens the arrays of one input or two; *a is empty or closed. */
static tally_status open_two(const job *j, const tally_view *x, const tally_view *y, arrays *a)
{
    *a = (arrays){0};
    TL_TRY(open_one(j, x, &a->x));
    if (j->pairs) TL_TRY(open_one(j, y, &a->y));
    if (x->offsets)
        TL_TRY(tl_gpu_upload(j->l.d, x->offsets, (size_t)(x->rows + 1) * sizeof(int64_t),
                             &a->x.offsets));
    return TALLY_OK;
}

/* Local memory of a block of `rows` short rows: kernel/exact/rows.cl. */
static int64_t row_local_bytes(const job *j, int64_t rows)
{
    return 8 * EXACT_LEVELS_MOST * LANES + 4 * (EXACT_LOCAL_OF(j->pairs) + rows * NARROW_LOCAL + 1);
}

/* Launches exact_rows for rows first to first + count - 1, in `parts` parts of `each` items;
 * `lanes` lanes share a row. parts 0: whole rows; r: their results. */
typedef struct {
    int64_t first, count, parts, each, lanes;
} row_parts;

static tally_status rows_by_lanes(const job *j, const arrays *a, const row_parts *p,
                                  const tl_results *r)
{
    assert(LANES % p->lanes == 0 && p->count > 0 && p->each > 0 && !p->parts == (r != NULL));
    const int64_t rows_each = LANES / p->lanes, groups = (p->count - 1) / rows_each + 1;
    return TL_GO(&j->l, exact_rows, groups * (p->parts ? p->parts : 1),
                 .batch = tl_batch_arguments(&a->x, TL_ALL_SEQUENCES), .second = second(j, a),
                 .results = r ? r->arguments : (tl_arguments_results){0},
                 .bins = p->parts ? j->l.d->slot->exact_bins.memory.handle : NULL,
                 .first_row = p->first, .rows = p->count, .parts = p->parts, .each = p->each,
                 .lanes = p->lanes, .flags = j->flags,
                 .local_bytes = row_local_bytes(j, rows_each));
}

/* Adds `rows` rows from `first` on, of at most `longest` items each, to their bins. */
static tally_status sum_parts(const job *j, const arrays *a, int64_t first, int64_t rows,
                              int64_t longest)
{
    /* for longer rows, exact_parts is faster */
    const int across = tl_batch_across(&a->x) && longest <= LONG_ROW;
    const int64_t groups = across ? (rows + LANES - 1) / LANES : rows,
                  floor = across ? DOWN_LEAST : PART_LEAST, least = (longest + floor - 1) / floor,
                  processors = j->l.d->gpu->processors,
                  wave = (across ? DOWN_BLOCKS_PER_PROCESSOR : BLOCKS_PER_PROCESSOR) * processors;

    int64_t count = tl_max(tl_min(wave / groups, least), 1);

    /* so that parts have the alignment of their row */
    const int64_t each = tl_min((longest / count / CHUNK + 1) * CHUNK, EXACT_MOST);
    count = longest > each ? (longest - 1) / each + 1 : 1;
    assert(each % CHUNK == 0 && each <= EXACT_MOST && count * each >= longest);
    if (across) return rows_by_lanes(j, a, &(row_parts){first, rows, count, each, 1}, NULL);

    return TL_GO(&j->l, exact_parts, rows * count,
                 .batch = tl_batch_arguments(&a->x, TL_ALL_SEQUENCES), .second = second(j, a),
                 .bins = j->l.d->slot->exact_bins.memory.handle, .first_row = first, .rows = rows,
                 .parts = count, .each = each, .flags = j->flags,
                 .local_bytes = EXACT_LOCAL_OF(j->pairs) * 4);
}

/* Computes the results of `rows` rows from `first` on from their bins. */
static tally_status finish(const job *j, const tl_batch *b, int64_t first, int64_t rows,
                           const tl_results *r)
{
    return TL_GO(&j->l, exact_finish, (rows + LANES - 1) / LANES,
                 .batch = tl_batch_arguments(b, TL_ALL_SEQUENCES), .results = r->arguments,
                 .bins = j->l.d->slot->exact_bins.memory.handle, .first_row = first, .rows = rows,
                 .flags = j->flags, .local_bytes = LANES * EXACT_LOCAL_OF(j->pairs) * 4);
}

static tally_status long_rows(const job *j, const arrays *a, const tl_results *r)
{
    const int64_t most = binned_rows(j);
    tally_status status = reserve_bins(j, most);
    for (int64_t first = 0; !status && first < j->rows; first += most) {
        const int64_t rows = tl_min(j->rows - first, most);
        status = sum_parts(j, a, first, rows, j->longest);
        if (!status) status = finish(j, &a->x, first, rows, r);
    }
    return end_bins(j, status);
}

static tally_status short_rows(const job *j, const arrays *a, const tl_results *r)
{
    const int across = tl_batch_across(&a->x);
    int64_t lanes = 1, mean = j->elements / j->rows;
    while (!across && lanes < LANES && lanes * LANE_ITEMS <= mean) lanes *= 2;
    return rows_by_lanes(j, a, &(row_parts){0, j->rows, 0, INT64_MAX, lanes}, r);
}

/* True if rows are cut into parts: long rows, and rows that are too few to keep the device busy. */
static int is_cut(const job *j, const tl_batch *b)
{
    const int across = tl_batch_across(b);
    const int64_t processors = j->l.d->gpu->processors,
                  wave = (across ? DOWN_BLOCKS_PER_PROCESSOR * LANES : 4 * BLOCKS_PER_PROCESSOR) *
                         processors;
    return j->longest > LONG_ROW || (j->longest > LONG_ROW_OF_FEW && j->rows < wave);
}

/* Sums all rows of a view that is on the device or is copied there as a whole. */
static tally_status whole(const job *j, const tally_view *in, const tl_results *r)
{
    arrays a;
    tally_view x, y;
    split(in, j->pairs, j->item, &x, &y);
    tally_status status = open_two(j, &x, &y, &a);
    if (!status) status = is_cut(j, &a.x) ? long_rows(j, &a, r) : short_rows(j, &a, r);
    close_arrays(j, &a);
    return status;
}

static void measure(job *j, const tally_view *in)
{
    j->rows = in->rows;
    j->longest = in->offsets ? 0 : in->n;
    j->elements = in->offsets ? in->offsets[in->rows] - in->offsets[0] : in->rows * in->n;
    for (int64_t r = 0; in->offsets && r < in->rows; r++) {
        const int64_t n = in->offsets[r + 1] - in->offsets[r];
        j->longest = tl_max(j->longest, n);
    }
}

/* ---- statistics of several sums: the host computes the formula ---- */

static void from_bins(tl_exact *e, const uint32_t *bins, int pairs)
{
    const int digits = EXACT_DIGITS_OF(pairs),
              low = TL_EXACT_LOW - (pairs ? EXACT_LOW_PAIRS : EXACT_LOW_SUMS);
    int64_t counts[4]; /* NaN, inf, -inf, left out */
    tl_exact_begin(e, 1);
    for (int k = 0; k < digits; k++) {
        const int64_t v = bins[2 * k] + (int64_t)((uint64_t)bins[2 * k + 1] << 32);
        if (!v) continue;
        e->bin[low + k] = v;
        if (e->high < 0) e->low = low + k;
        e->high = low + k;
    }

    memcpy(counts, bins + 2 * digits, sizeof counts);
    e->nan = counts[0], e->plus = counts[1], e->minus = counts[2], e->count = -counts[3];
}

/* Reads the bins of `rows` rows and clears them; e: the sum of each row, `sums` apart. */
static tally_status take_bins(const job *j, int64_t rows, tl_exact *e, int sums)
{
    tl_gpu_device *const d = j->l.d;
    const size_t bytes = (size_t)(rows * j->words) * sizeof(uint32_t);
    TL_FREED uint32_t *const bins = malloc(bytes);
    if (!bins) return tl_no_memory(d->ctx, bytes, "the bins of exact sums");

    tl_memory *const memory = &d->slot->exact_bins.memory;
    TL_TRY(tl_gpu_read(d, bins, memory, 0, bytes));
    for (int64_t r = 0; r < rows; r++) from_bins(e + r * sums, bins + r * j->words, j->pairs);
    return d->gpu->calls->clear(d->gpu, d->ctx, TL_RUN, memory, bytes);
}

/* One of the sums of all rows. */
static tally_status one_sum(job j, int bit, const tally_view *x, const tally_view *y, tl_exact *e,
                            int sums)
{
    const tally_view *const a = bit & (TL_Y | TL_YY) ? y : x, *const b = bit & TL_XY ? y : a;
    arrays in = {0};

    j.pairs = !(bit & (TL_X | TL_Y));
    j.words = EXACT_WORDS_OF(j.pairs);
    j.plan.op = tl_exact_common(a->dtype, 1 + j.pairs);
    tally_status status = tl_gpu_program(j.l.d, j.plan.op, "exact", &j.l);
    if (!status) status = reserve_bins(&j, j.rows);
    if (!status) status = open_two(&j, a, b, &in);
    if (!status) status = sum_parts(&j, &in, 0, j.rows, j.longest);
    if (!status) status = take_bins(&j, j.rows, e, sums);
    close_arrays(&j, &in);

    return end_bins(&j, status);
}

static tally_status statistic(const job *j, const tl_exact_form *form, double ddof,
                              const tally_view *in, const tally_view *out)
{
    const int sums = form->sums;
    const int64_t result = form->scalar.result_bytes;
    TL_TRY(tl_no_capture(j->l.d, "statistics of exact sums wait: call them before the capture"));
    TL_FREED tl_exact *const e = malloc((size_t)(j->rows * sums) * sizeof *e);
    TL_FREED char *const values = malloc((size_t)(j->rows * result));
    if (!e || !values)
        return tl_no_memory(j->l.d->ctx, (size_t)(j->rows * sums) * sizeof *e, "exact sums");
    tally_status status = TALLY_OK;
    tally_view x, y;
    split(in, form->scalar.inputs == 2, j->item, &x, &y);

    for (int bit = 1, k = 0; bit <= TL_XY && !status; bit <<= 1)
        if (form->what.needs & bit) status = one_sum(*j, bit, &x, &y, e + k++, sums);

    for (int64_t r = 0; r < j->rows && !status; r++) {
        tl_exact *const row = e + r * sums;
        for (int k = 1; k < sums; k++) /* a NaN may be in x or in y alone */
            if (row[k].nan > row->nan) row->nan = row[k].nan;
        row->count += in->offsets ? in->offsets[r + 1] - in->offsets[r] : in->n;
        tl_exact_lower(row, form, ddof, values + r * result);
    }

    /* contiguous results are one copy */
    const int64_t run = out->row_stride == 1 ? j->rows : 1;
    for (int64_t r = 0; r < j->rows && !status; r += run)
        status = tl_gpu_put(j->l.d, tl_offset(out->data, r * out->row_stride * result),
                            values + r * result, (size_t)(run * result));
    return tl_gpu_wait(j->l.d, status);
}

static int is_one_sum(const tl_exact_form *form)
{
    return form->what.needs == TL_X || form->what.needs == TL_XY;
}

int tl_gpu_exact_takes(const tl_gpu_device *d, const tl_scalar *op, int marked,
                       const tally_view *in)
{
    const tl_exact_form *const form = tl_exact_form_of(op);
    if (op->dtype < TALLY_F16) return 0;
    const int64_t row = EXACT_WORDS_OF(1) * (int64_t)sizeof(uint32_t);
    return is_one_sum(form) ||
           (in->rows <= BINNED_ROWS && (!d->limit || in->rows * row <= (int64_t)(d->limit / 16)) &&
            !(op->inputs == 2 && (marked || op->masked)));
}

tally_status tl_gpu_exact_whole(tl_gpu_device *d, const tl_exact_plan *plan, const tally_view *in,
                                const tally_view *out)
{
    const tl_scalar *const op = plan->op;
    const int marked = plan->marked;
    const tl_exact_form *const form = tl_exact_form_of(op);
    tl_results r = {0};
    job j = {.pairs = op->inputs == 2, .plan = {.op = tl_exact_common(op->dtype, op->inputs)}};

    j.l.d = d;
    j.flags = (marked ? EXACT_MARKED : 0) | (op->masked ? EXACT_MASKED : 0) |
              (form->what.quotient == TL_OVER_COUNT ? EXACT_MEAN : 0) |
              (op->out == TALLY_F64 ? EXACT_F64 : 0);
    j.item = op->elem_bytes;
    j.words = EXACT_WORDS_OF(j.pairs);
    measure(&j, in);
    if (!is_one_sum(form)) return statistic(&j, form, plan->ddof, in, out);
    tally_status status = tl_gpu_program(d, j.plan.op, "exact", &j.l);
    if (!status) status = tl_results_open(d, out, op->result_bytes, &r);
    if (!status) status = whole(&j, in, &r);

    return tl_results_close(d, &r, 1, status);
}

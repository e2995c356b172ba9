/* SPDX-License-Identifier: MIT
 * The likely cause of a wrong value, for readers' kernels: the value is compared with those that
 * common mistakes give on the ladder's data (data.c). Only what fits exactly is said, and always as
 * what it looks like. */
#include "rung.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char not_written[] =
    "looks as if it was never written: memory holds this pattern before the launch";

/* The memory that the results are read from; *count: of its elements. */
static const memory *results_of(const job *j, int64_t *count)
{
    const int reduces = j->rung->shape == SHAPE_reduce;
    *count = reduces ? j->partials : j->rung->schedule == HISTOGRAM ? BINS : j->n;
    return !reduces ? j->work[0] : j->where < 0 ? NULL : j->work[j->where];
}

/* The line of the store that wrote element `first`. *missing: no store wrote it, and the line is
 * that of the nearest element before it, or behind it, that was written. */
static int writer_of(const job *j, int64_t first, int *missing)
{
    int64_t count;
    const memory *const m = results_of(j, &count);
    const int64_t size =
        j->rung->shape == SHAPE_histogram ? 4 : (int64_t)kind_bytes(j->setting.elem);
    *missing = 0;
    if (!m || !place_is_model(j->place)) return 0;
    int line = memory_writer(m, first * size);
    *missing = !line;
    for (int64_t i = first - 1; i >= 0 && !line; i--) line = memory_writer(m, i * size);
    for (int64_t i = first + 1; i < count && !line; i++) line = memory_writer(m, i * size);
    if (!line) *missing = 0;
    return line;
}

/* A reduction's result is folded of partial ones: the first that no store wrote, or 0. */
static int64_t first_partial(const job *j)
{
    int64_t count, first = 0;
    const memory *const m = results_of(j, &count);
    const int64_t size = (int64_t)kind_bytes(j->setting.elem);
    if (j->rung->shape != SHAPE_reduce || !m) return 0;
    while (first < count && memory_writer(m, first * size)) first++;
    return first < count ? first : 0;
}

static const char left_out[] = "the stores of this line leave it out";

static int is_poison(kind k, element e)
{
    char bytes[8];
    data_put(bytes, k, 0, e);
    for (size_t i = 0; i < kind_bytes(k); i++)
        if ((unsigned char)bytes[i] != POISON) return 0;
    return 1;
}

static int power_of_two(int x) { return x > 0 && !(x & (x - 1)); }

static double value(kind k, element e)
{
    return k >= KIND_F32 ? e.f : k == KIND_U64 ? (double)(uint64_t)e.i : (double)e.i;
}

/* Is got the sum of the elements from `from` on, `count` of them? */
static int is_sum(const job *j, element got, int64_t from, int64_t count)
{
    const kind k = j->setting.elem;
    char cell[8];
    element sum = {0};
    double real = 0;
    for (int64_t i = from; i < from + count; i++) {
        const element x = data_get(j->host[0], k, i);
        sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)(k < KIND_F32 ? x.i : 0));
        real += k >= KIND_F32 ? x.f : 0;
    }
    if (k >= KIND_F32) return fabs(got.f - real) <= 1e-6 * fabs(real);
    data_put(cell, k, 0, sum);
    return data_get(cell, k, 0).i == got.i;
}

static const char *precision(kind k, element got, element want)
{
    const double is = value(k, got), right = value(k, want), away = fabs(is - right);
    if (k == KIND_F32 || !(away < 1e-5 * fabs(right)) || away == 0) return NULL;
    return "looks like single precision: a float holds whole numbers exactly up to 2^24 alone, and "
           "24 bits of others";
}

static const char *narrow(kind k, element got, element want)
{
    if (k != KIND_I64 && k != KIND_U64) return NULL;
    if (got.i != want.i &&
        (got.i == (int32_t)(uint32_t)want.i || got.i == (int64_t)(uint32_t)want.i))
        return "looks like a sum that was kept in 32 bits";
    return NULL;
}

static const char *of_minimum(const job *j, element got, element want)
{
    const kind k = j->setting.elem;
    if (value(k, got) == 0 && j->setting.operation == 2 && value(k, want) < 0)
        return "looks as if the maximum began at 0, and all elements are negative: begin with "
               "NEUTRAL, or with the first element";
    if (value(k, got) == 0 && value(k, want) > 0)
        return "looks as if the minimum began at 0, or met a 0 beyond the end, and all elements "
               "are positive: begin with NEUTRAL, or with the first element";
    if ((j->setting.operation == 1) == (value(k, got) > value(k, want)))
        return "looks as if the last element was not looked at: it is beyond all others";
    return "no element is so far out: looks as if elements were added, changed their type, or were "
           "read beyond the end";
}

static const char *of_sum(const job *j, element got, element want, char *text, size_t capacity)
{
    const kind k = j->setting.elem;
    const int64_t n = j->n, each = j->rung->each ? j->rung->each : j->rung->threads;
    const double part = value(k, got) / value(k, want);
    if (is_sum(j, got, 0, 0))
        return "nothing was added: looks as if the elements at the end are left out";
    if (n > 1 && is_sum(j, got, 0, n - 1)) return "looks as if the last element is missing";
    if (n > 1 && is_sum(j, got, 1, n - 1)) return "looks as if the first element is missing";
    if (n % each && is_sum(j, got, 0, n - n % each))
        return "looks as if the elements behind the last whole tile are missing: n is no multiple "
               "of a group's share";
    const char *const cause =
        precision(k, got, want) ? precision(k, got, want) : narrow(k, got, want);
    if (cause) return cause;
    if (n > each && is_sum(j, got, 0, each)) return "looks like the sum of the first group alone";
    if (!power_of_two(j->rung->threads) && part < 1) {
        snprintf(text, capacity,
                 "a group has %d threads: halves of it are odd at some step, and an element is "
                 "then lost",
                 j->rung->threads);
        return text;
    }
    if (k >= KIND_F32 || llabs(want.i) < INT32_MAX) {
        for (int times = 2; times < 5; times++)
            if (fabs(part - times) < 1e-9 * times) {
                snprintf(text, capacity,
                         "it is %d times the sum: looks as if each element was added %d times",
                         times, times);
                return text;
            }
        if (part > 0 && part < 0.999) {
            snprintf(text, capacity, "it is %.3g of the sum: elements or partial sums are missing",
                     part);
            return text;
        }
    }
    if (k == KIND_I32 && ((uint32_t)got.i - (uint32_t)want.i) % 2 == 0 && n < 4)
        return "looks as if a variable without a value was added, or an element beyond the end";
    return part > 1
               ? "looks as if elements or partial sums were added twice, or elements beyond the end"
               : "looks as if elements or partial sums are missing";
}

static const char *of_scan(const job *j, element got, element want, int64_t first, char *text,
                           size_t capacity)
{
    const kind k = j->setting.elem;
    const int64_t each = j->rung->each ? j->rung->each : j->rung->threads;
    if (precision(k, got, want)) return precision(k, got, want);
    if (narrow(k, got, want)) return narrow(k, got, want);
    if (!j->setting.operation && is_sum(j, got, 0, first))
        return "looks exclusive: an inclusive scan has the element itself in its sum";
    if (first && first % each == 0)
        return "the second tile is the first that is wrong: looks as if what is before a tile is "
               "not added, or not what is before it";
    if (first && first % j->setting.warp == 0) {
        snprintf(
            text, capacity,
            "element %lld is the first of a warp: looks as if what is before the warp is not added",
            (long long)first);
        return text;
    }
    return "the first wrong element shows the step: which lane wrote it, and from which others?";
}

static const char *of_segments(const job *j, element got, int64_t first, char *text,
                               size_t capacity)
{
    const int64_t each = j->rung->each ? j->rung->each : j->rung->threads;
    int64_t start = first;
    while (start && !segment_starts(start)) start--;
    if (j->setting.operation) return "looks as if an element of another segment was taken in";
    for (int64_t from = start - 1; from >= 0 && first - from < DATA_PERIOD * 8; from--)
        if (is_sum(j, got, from, first - from + 1)) {
            snprintf(text, capacity,
                     "looks as if elements before the segment were added: it begins at element "
                     "%lld, and the sum at %lld",
                     (long long)start, (long long)from);
            return text;
        }
    const int64_t tile = first - first % each;
    if (tile > start && is_sum(j, got, tile, first - tile + 1))
        return "looks as if what is before the tile is not added, and the segment begins there";
    return "looks as if elements of another segment were added, or some of its own left out";
}

static double part_of_window(const job *j, int64_t from, int64_t count)
{
    double sum = 0;
    for (int64_t i = from; i < from + count; i++)
        sum += i >= 0 && i < j->n ? data_get(j->host[0], j->setting.elem, i).f : 0;
    return sum;
}

static const char *of_window(const job *j, element got, element want, int64_t first)
{
    if (precision(j->setting.elem, got, want)) return precision(j->setting.elem, got, want);
    const int64_t w = j->width, start = first - w + 1;
    const struct {
        double is;
        const char *says;
    } guesses[] = {
        {part_of_window(j, start, w), "looks like a sum that was not divided by w"},
        {part_of_window(j, start + 1, w - 1) / (double)w,
         "looks as if the oldest element of the window is missing"},
        {part_of_window(j, start, w - 1) / (double)w,
         "looks as if the newest element of the window is missing"},
        {part_of_window(j, start - 1, w + 1) / (double)w,
         "looks as if the window has one element too many, at its start"},
        {part_of_window(j, start, w + 1) / (double)w,
         "looks as if the window has one element too many, at its end"},
        {part_of_window(j, start + 1, w) / (double)w,
         "looks as if the window ends one element too late"},
        {part_of_window(j, start - 1, w) / (double)w,
         "looks as if the window ends one element too early"},
    };
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++)
        if (fabs(got.f - guesses[i].is) <= 1e-5 * fabs(guesses[i].is)) return guesses[i].says;
    return "looks as if elements of the window are missing, or counted twice";
}

static const char *of_matrix(const job *j, element got, element want, int64_t first)
{
    const kind k = j->setting.elem;
    int64_t rows, cols;
    matrix_of(j->n, &rows, &cols);
    if (k < KIND_F32 && (got.i == (uint8_t)want.i || got.i == (uint16_t)want.i))
        return "looks as if the element went through a type of 8 or 16 bits";
    if (same_bits(k, got, data_get(j->host[0], k, first)))
        return "looks as if nothing was transposed: the element stands where it stood";
    return "looks as if a row or a column of the index is another's: result (column, row) is "
           "element (row, column)";
}

void likely_cause(const job *j, element got, element want, int64_t first, row *out)
{
    char text[160];
    const char *says = NULL;
    const size_t used = strlen(out->reason);
    int missing;
    if (!first) first = first_partial(j);
    out->values_line = writer_of(j, first, &missing);
    const shape s = j->rung->shape;
    const kind k = s == SHAPE_histogram ? KIND_U32 : j->setting.elem;
    if (!j->rung->text || used + 4 >= sizeof out->reason) return;
    if (missing && s == SHAPE_reduce) {
        snprintf(text, sizeof text, "partial result %lld of %lld was never written: %s",
                 (long long)first, (long long)j->partials, left_out);
        says = text;
    } else if (missing) {
        snprintf(text, sizeof text, "it was never written: %s", left_out);
        says = text;
    } else if (is_poison(k, got))
        says = not_written;
    else if (s == SHAPE_reduce)
        says = j->setting.operation ? of_minimum(j, got, want)
                                    : of_sum(j, got, want, text, sizeof text);
    else if (s == SHAPE_scan)
        says = j->rung->schedule == SEGMENTS ? of_segments(j, got, first, text, sizeof text)
                                             : of_scan(j, got, want, first, text, sizeof text);
    else if (s == SHAPE_window)
        says = of_window(j, got, want, first);
    else if (s == SHAPE_transpose)
        says = of_matrix(j, got, want, first);
    else if (s == SHAPE_histogram)
        says = got.i < want.i
                   ? "looks as if counts were lost: two threads added at the same time, or "
                     "elements were left out"
                   : "looks as if elements were counted twice, or the counts did not begin at 0";
    if (says) snprintf(out->reason + used, sizeof out->reason - used, " (%s)", says);
}

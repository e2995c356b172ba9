/* SPDX-License-Identifier: MIT
 * Keys on CPUs. Threads take neighbouring parts, so the results are in order:
 *
 *   runs     a part that begins at element a writes the ends that it finds from offsets[a + 1] on.
 *            No other part writes there, because there are at most as many ends as elements. Then
 *            the ends are moved together
 *   groups   each part counts its codes. The prefix sums over groups, and over parts within a
 *            group, give the positions of each part's elements of each group */
#include "keys.h"
#include "context/device.h"
#include "context/threads.h"
#include "context/view.h"
#include "dtype/dtype.h"
#include "cpu/shape.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { BLOCK = 32, CHUNK = 2048, PART_LEAST = 1 << 16 };

static int64_t parts_of(int threads, int64_t n)
{
    return n / PART_LEAST + 1 < threads ? n / PART_LEAST + 1 : threads;
}

static int64_t part_begin(int64_t n, int64_t parts, int64_t p)
{
    return p == parts ? n : n / parts * p;
}

/* ---- runs ---- */

/* When keys with different bits are equal: NaN equals NaN, -0 equals +0. magnitude: mask without
 * the sign; infinity: NaN are above it. For integers infinity is the largest magnitude. */
typedef struct {
    uint64_t magnitude, infinity;
} equality;

static equality equality_of(tally_dtype d)
{
    switch (d) {
    case TALLY_F16:
        return (equality){0x7fff, 0x7c00};
    case TALLY_BF16:
        return (equality){0x7fff, 0x7f80};
    case TALLY_F32:
        return (equality){0x7fffffff, 0x7f800000};
    case TALLY_F64:
        return (equality){INT64_MAX, 0x7ff0000000000000};
    default:
        return (equality){UINT64_MAX, UINT64_MAX};
    }
}

static int differ(uint64_t a, uint64_t b, equality q)
{
    a &= q.magnitude;
    b &= q.magnitude;
    return !((a == 0 && b == 0) || (a > q.infinity && b > q.infinity));
}

/* Which of the BLOCK keys from x on differ from the next key: bit j for x[j]. */
#define OTHERS(bits)                                                                               \
    static inline __attribute__((always_inline)) uint32_t others_##bits(const key_##bits *x)       \
    {                                                                                              \
        uint##bits##_t other = 0;                                                                  \
        uint32_t mask = 0;                                                                         \
        for (int j = 0; j < BLOCK; j++) other |= (uint##bits##_t)(x[j] ^ x[j + 1]);                \
        for (int j = 0; other && j < BLOCK; j++) mask |= (uint32_t)(x[j] != x[j + 1]) << j;        \
        return mask;                                                                               \
    }

typedef uint8_t key_8;
typedef uint16_t key_16 __attribute__((aligned(1), may_alias));
typedef uint32_t key_32 __attribute__((aligned(1), may_alias));
typedef uint64_t key_64 __attribute__((aligned(1), may_alias));
OTHERS(8)
OTHERS(16)
OTHERS(32)
OTHERS(64)

/* Writes `at` plus the indices i, 1 <= i <= n, where x[i] differs from x[i - 1]; to NULL: only
 * counts them. Most blocks have none. */
#define ENDS(name, target, bits, others)                                                           \
    static target int64_t name(const void *data, int64_t n, int64_t at, equality q, int64_t *to)   \
    {                                                                                              \
        const key_##bits *x = data;                                                                \
        int64_t count = 0, i = 0;                                                                  \
        for (; i + BLOCK <= n; i += BLOCK)                                                         \
            for (uint32_t mask = others(x + i); mask; mask &= mask - 1) {                          \
                const int64_t j = i + __builtin_ctz(mask);                                         \
                if (q.infinity != UINT64_MAX && !differ(x[j], x[j + 1], q)) continue;              \
                if (to) to[count] = at + j + 1;                                                    \
                count++;                                                                           \
            }                                                                                      \
        for (; i < n; i++) {                                                                       \
            if (x[i] == x[i + 1] || (q.infinity != UINT64_MAX && !differ(x[i], x[i + 1], q)))      \
                continue;                                                                          \
            if (to) to[count] = at + i + 1;                                                        \
            count++;                                                                               \
        }                                                                                          \
        return count;                                                                              \
    }
ENDS(ends_8, , 8, others_8)
ENDS(ends_16, , 16, others_16)
ENDS(ends_32, , 32, others_32)
ENDS(ends_64, , 64, others_64)

#if defined(__x86_64__)
/* The same with comparisons that give masks. */
#define AVX2 __attribute__((target("avx2,bmi")))
static inline AVX2 uint32_t others_avx2_64(const key_64 *x)
{
    uint32_t same = 0;
    for (int j = 0; j < BLOCK; j += 4)
        same |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(
                    _mm256_cmpeq_epi64(_mm256_loadu_si256((const void *)(x + j)),
                                       _mm256_loadu_si256((const void *)(x + j + 1)))))
                << j;
    return ~same;
}

static inline AVX2 uint32_t others_avx2_32(const key_32 *x)
{
    uint32_t same = 0;
    for (int j = 0; j < BLOCK; j += 8)
        same |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(
                    _mm256_cmpeq_epi32(_mm256_loadu_si256((const void *)(x + j)),
                                       _mm256_loadu_si256((const void *)(x + j + 1)))))
                << j;
    return ~same;
}

ENDS(ends_avx2_32, AVX2, 32, others_avx2_32)
ENDS(ends_avx2_64, AVX2, 64, others_avx2_64)
#endif

static int64_t ends_of(int64_t bytes, const void *x, int64_t n, int64_t at, equality q, int64_t *to)
{
#if defined(__x86_64__)
    if (bytes >= 4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        return (bytes == 8 ? ends_avx2_64 : ends_avx2_32)(x, n, at, q, to);
#endif
    return (bytes == 8   ? ends_64
            : bytes == 4 ? ends_32
            : bytes == 2 ? ends_16
                         : ends_8)(x, n, at, q, to);
}

/* The ends among elements a + 1 .. b of the keys. */
static int64_t ends(const tally_view *keys, int64_t a, int64_t b, int64_t *to)
{
    const int64_t bytes = (int64_t)tally_dtype_size(keys->dtype);
    const equality q = equality_of(keys->dtype);
    const char *x = (const char *)keys->data;
    char pack[(CHUNK + 1) * 8];
    int64_t count = 0;
    if (keys->stride == 1) return ends_of(bytes, x + a * bytes, b - a, a, q, to);

    for (int64_t m; a < b; a += m) {
        m = b - a < CHUNK ? b - a : CHUNK;
        tl_copy_strided(pack, 1, x + a * keys->stride * bytes, keys->stride, m + 1, bytes);
        count += ends_of(bytes, pack, m, a, q, to ? to + count : NULL);
    }

    return count;
}

typedef struct {
    const tally_view *keys;
    int64_t *offsets, *found, parts;
} ends_work;

static void ends_part(void *data, int64_t p)
{
    const ends_work *w = data;
    const int64_t last = w->keys->n - 1, a = part_begin(last, w->parts, p);
    w->found[p] =
        ends(w->keys, a, part_begin(last, w->parts, p + 1), w->offsets ? w->offsets + 1 + a : NULL);
}

int64_t tl_runs(int threads, const tally_view *keys, int64_t *offsets)
{
    const int64_t last = keys->n - 1; /* the number of comparisons */
    int64_t total = 0, found[1024] = {0};

    assert(keys->rows == 1);
    if (offsets) offsets[0] = 0;
    if (keys->n == 0) return 0;

    const int64_t parts = parts_of(threads < 1024 ? threads : 1024, last);
    ends_work all = {keys, offsets, found, parts};
    tl_for(threads, parts, ends_part, &all);
    for (int64_t p = 0; p < parts; p++) {
        if (offsets && p > 0)
            memmove(offsets + 1 + total, offsets + 1 + part_begin(last, parts, p),
                    (size_t)found[p] * sizeof *offsets);
        total += found[p];
    }

    if (offsets) offsets[total + 1] = keys->n;
    return total + 1;
}

/* ---- groups ---- */

/* Loads m codes from index i on. A u64 code of 2^63 or more becomes negative, which is no group
 * either. */
static void load(const tally_view *codes, int64_t i, int64_t m, int64_t *to)
{
    const int64_t bytes = (int64_t)tally_dtype_size(codes->dtype);
    char pack[CHUNK * 8];

    tl_copy_strided(pack, 1, (const char *)codes->data + i * codes->stride * bytes, codes->stride,
                    m, bytes);
#define LOAD(dtype, type)                                                                          \
    case dtype:                                                                                    \
        for (int64_t j = 0; j < m; j++) {                                                          \
            type v;                                                                                \
            memcpy(&v, pack + j * (int64_t)sizeof v, sizeof v);                                    \
            to[j] = (int64_t)v;                                                                    \
        }                                                                                          \
        break;

    switch (codes->dtype) {
        LOAD(TALLY_I8, int8_t)
        LOAD(TALLY_U8, uint8_t)
        LOAD(TALLY_I16, int16_t)
        LOAD(TALLY_U16, uint16_t)
        LOAD(TALLY_I32, int32_t)
        LOAD(TALLY_U32, uint32_t)
    default:
        memcpy(to, pack, (size_t)m * sizeof *to);
    }
#undef LOAD
}

/* Counts the codes of elements a .. b - 1. Returns the index of the first code that is no group, or
 * b. */
static int64_t count(const tally_view *codes, int64_t a, int64_t b, int64_t groups, int64_t *counts)
{
    int64_t code[CHUNK];
    for (int64_t m; a < b; a += m) {
        m = b - a < CHUNK ? b - a : CHUNK;
        load(codes, a, m, code);
        for (int64_t j = 0; j < m; j++) {
            if ((uint64_t)code[j] >= (uint64_t)groups) return a + j;
            counts[code[j]]++;
        }
    }
    return b;
}

/* next[g]: where the next element of group g goes. */
static void scatter(const tally_view *codes, int64_t a, int64_t b, int64_t *next, int64_t *order)
{
    int64_t code[CHUNK];
    for (int64_t m; a < b; a += m) {
        m = b - a < CHUNK ? b - a : CHUNK;
        load(codes, a, m, code);
        for (int64_t j = 0; j < m; j++) order[next[code[j]]++] = a + j;
    }
}

typedef struct {
    const tally_view *codes;
    int64_t groups, *counts, parts; /* counts: of each group, for each part */
    int64_t *order;
    int64_t first; /* index of the first code found so far that is no group */
} groups_work;

static void count_part(void *data, int64_t p)
{
    groups_work *w = data;
    const int64_t n = w->codes->n, end = part_begin(n, w->parts, p + 1);
    const int64_t at =
        count(w->codes, part_begin(n, w->parts, p), end, w->groups, w->counts + p * w->groups);
    if (at < end) tl_atomic_least(&w->first, at);
}

static void scatter_part(void *data, int64_t p)
{
    const groups_work *w = data;
    const int64_t n = w->codes->n;
    scatter(w->codes, part_begin(n, w->parts, p), part_begin(n, w->parts, p + 1),
            w->counts + p * w->groups, w->order);
}

static int threads_of(const tally *ctx) { return ctx->device->threads; }

tally_status tl_groups(tally *ctx, const tally_view *codes, int64_t groups, int64_t *order,
                       int64_t *offsets, int64_t *bad)
{
    const int threads = threads_of(ctx);
    const int64_t n = codes->n;

    assert(codes->rows == 1 && groups >= 0);
    int64_t parts = parts_of(threads, n), table_bytes;
    if (groups > n / 4) parts = 1; /* otherwise there would be more counts than codes */
    *bad = -1;
    if (__builtin_mul_overflow(groups, parts * (int64_t)sizeof(int64_t), &table_bytes))
        table_bytes = INT64_MAX;
    int64_t *const counts = table_bytes < INT64_MAX ? calloc((size_t)table_bytes + 1, 1) : NULL;
    if (!counts) return tl_no_memory(ctx, (size_t)table_bytes, "the counts of the groups");

    groups_work all = {codes, groups, counts, parts, order, n};
    tl_for(threads, parts, count_part, &all);

    if (all.first < n) {
        *bad = all.first;
    } else {
        int64_t sum = 0;
        for (int64_t g = 0; g < groups; g++) {
            offsets[g] = sum;
            for (int64_t p = 0; p < parts; p++) {
                const int64_t here = counts[p * groups + g];
                counts[p * groups + g] = sum;
                sum += here;
            }
        }

        offsets[groups] = sum;
        tl_for(threads, parts, scatter_part, &all);
    }

    free(counts);
    return TALLY_OK;
}

/* ---- take ---- */

typedef struct {
    const int64_t *order;
    /* first: index of the first order[i] found so far that is not in 0 .. length - 1 */
    int64_t n, length, parts, first;
} check_work;

static void check_part(void *data, int64_t p)
{
    check_work *w = data;
    const int64_t end = part_begin(w->n, w->parts, p + 1);
    for (int64_t i = part_begin(w->n, w->parts, p); i < end; i++)
        if ((uint64_t)w->order[i] >= (uint64_t)w->length) {
            tl_atomic_least(&w->first, i);
            return;
        }
}

int64_t tl_take_check(int threads, const int64_t *order, int64_t n, int64_t length)
{
    check_work all = {order, n, length, parts_of(threads, n), n};
    tl_for(threads, all.parts, check_part, &all);
    return all.first;
}

#define TAKE(bits)                                                                                 \
    static void take_##bits(const char *x, int64_t step, const int64_t *order, int64_t n, char *y, \
                            int64_t to)                                                            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) memcpy(y + i * to, x + order[i] * step, bits / 8);         \
    }
TAKE(8)
TAKE(16)
TAKE(32)
TAKE(64)

typedef struct {
    const tally_view *in, *out;
    const int64_t *order;
    int64_t n, parts;
} take_work;

static void take_part(void *data, int64_t p)
{
    const take_work *w = data;
    const int64_t bytes = (int64_t)tally_dtype_size(w->in->dtype), step = w->in->stride * bytes,
                  to = w->out->stride * bytes, a = part_begin(w->n, w->parts, p),
                  m = part_begin(w->n, w->parts, p + 1) - a;
    char *y = (char *)w->out->data + a * to;

    (bytes == 8   ? take_64
     : bytes == 4 ? take_32
     : bytes == 2 ? take_16
                  : take_8)(w->in->data, step, w->order + a, m, y, to);
}

void tl_take(int threads, const tally_view *in, const int64_t *order, int64_t n,
             const tally_view *out)
{
    take_work all = {in, out, order, n, parts_of(threads, n)};
    tl_for(threads, all.parts, take_part, &all);
}

/* SPDX-License-Identifier: MIT
 * Keys on CPUs: runs and gathers. Threads take neighbouring parts, so the results are in order. A
 * part that begins at element a writes the ends of runs that it finds from offsets[a + 1] on. No
 * other part writes there, because there are at most as many ends as elements. Then the ends are
 * moved together. */
#include "keys.h"
#include "context/threads.h"
#include "context/view.h"
#include "dtype/number.h"
#include "cpu/shape.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = 32, CHUNK = 2048, PART = 1 << 16 };

/* ---- runs ---- */

/* When keys with different bits are equal: NaN equals NaN, -0 equals +0. magnitude: mask without
 * the sign; infinity: NaN are above it. For integers infinity is the largest magnitude. */
typedef struct {
    uint64_t magnitude, infinity;
} equality;

static equality equality_of(tally_dtype d)
{
    static const equality of_floats[] = {{0x7fff, 0x7c00},
                                         {0x7fff, 0x7f80},
                                         {0x7fffffff, 0x7f800000},
                                         {INT64_MAX, 0x7ff0000000000000}};
    return d < TALLY_F16 ? (equality){UINT64_MAX, UINT64_MAX} : of_floats[d - TALLY_F16];
}

static int differ(uint64_t a, uint64_t b, equality q)
{
    a &= q.magnitude;
    b &= q.magnitude;
    return !((a == 0 && b == 0) || (a > q.infinity && b > q.infinity));
}

typedef uint8_t key_8;
typedef uint16_t key_16 __attribute__((aligned(1), may_alias));
typedef uint32_t key_32 __attribute__((aligned(1), may_alias));
typedef uint64_t key_64 __attribute__((aligned(1), may_alias));

/* ends_N writes `at` plus the indices i, 1 <= i <= n, where x[i] differs from x[i - 1]; to NULL:
 * only counts them. others_N: which of the BLOCK keys from x on differ from the next, bit j for
 * x[j]; compilers make vectors of its loops. Short keys make bytes of 0 and 1, which a product
 * moves, eight at a time, into one byte. */
#define ENDS(bits) \
    TL_FORCE_INLINE uint32_t others_##bits(const key_##bits *x) \
    { \
        uint##bits##_t others = 0; \
        for (int j = 0; bits >= 32 && j < BLOCK; j++) \
            others |= (uint##bits##_t)(x[j] != x[j + 1] ? 1u << j : 0); \
        if (bits >= 32) return (uint32_t)others; \
        uint8_t differs[BLOCK]; \
        uint32_t mask = 0; \
        for (int j = 0; j < BLOCK; j++) differs[j] = x[j] != x[j + 1]; \
        for (int j = 0; j < BLOCK; j += 8) \
            mask |= (uint32_t)(tl_load(differs + j, 8) * 0x0102040810204080u >> 56) << j; \
        return mask; \
    } \
\
    TL_FORCE_INLINE int64_t ends_##bits(const key_##bits *x, int64_t n, int64_t at, equality q, \
                                        int64_t *to) \
    { \
        int64_t count = 0; \
        for (int64_t i = 0; i < n; i += BLOCK) { \
            key_##bits rest[BLOCK + 1]; \
            for (int64_t j = 0; i + BLOCK > n && j <= BLOCK; j++) rest[j] = x[tl_min(i + j, n)]; \
            const key_##bits *const block = i + BLOCK > n ? rest : x + i; \
            for (uint32_t mask = others_##bits(block); mask; mask &= mask - 1) { \
                const int j = __builtin_ctz(mask); \
                if (q.infinity != UINT64_MAX && !differ(block[j], block[j + 1], q)) continue; \
                if (to) to[count] = at + i + j + 1; \
                count++; \
            } \
        } \
        return count; \
    }
ENDS(8)
ENDS(16)
ENDS(32)
ENDS(64)

TL_FORCE_INLINE int64_t ends_by_size(int64_t bytes, const void *x, int64_t n, int64_t at,
                                     equality q, int64_t *to)
{
    return bytes == 8   ? ends_64(x, n, at, q, to)
           : bytes == 4 ? ends_32(x, n, at, q, to)
           : bytes == 2 ? ends_16(x, n, at, q, to)
                        : ends_8(x, n, at, q, to);
}

#if defined(__x86_64__)
static __attribute__((target("avx2,bmi"))) int64_t
ends_avx2(int64_t bytes, const void *x, int64_t n, int64_t at, equality q, int64_t *to)
{
    return ends_by_size(bytes, x, n, at, q, to);
}
#endif

static int64_t ends_of(int64_t bytes, const void *x, int64_t n, int64_t at, equality q, int64_t *to)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        return ends_avx2(bytes, x, n, at, q, to);
#endif
    return ends_by_size(bytes, x, n, at, q, to);
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
    const int64_t last = w->keys->n - 1, a = tl_key_part(last, w->parts, p);
    w->found[p] = ends(w->keys, a, tl_key_part(last, w->parts, p + 1),
                       w->offsets ? w->offsets + 1 + a : NULL);
}

int64_t tl_runs(int threads, const tally_view *keys, int64_t *offsets)
{
    const int64_t last = keys->n - 1; /* the number of comparisons */
    int64_t total = 0, found[1024] = {0};

    assert(keys->rows == 1);
    if (offsets) offsets[0] = 0;
    if (keys->n == 0) return 0;

    const int64_t parts = tl_key_parts(threads < 1024 ? threads : 1024, last);
    ends_work work = {keys, offsets, found, parts};
    tl_for(threads, parts, ends_part, &work);

    for (int64_t p = 0; p < parts; p++) {
        if (offsets && p > 0)
            memmove(offsets + 1 + total, offsets + 1 + tl_key_part(last, parts, p),
                    (size_t)found[p] * sizeof *offsets);
        total += found[p];
    }

    if (offsets) offsets[total + 1] = keys->n;
    return total + 1;
}

/* ---- take ---- */

typedef struct {
    const int64_t *order;
    int64_t length;
} check_work;

static int64_t find_bad(const void *data, int64_t a, int64_t b)
{
    const check_work *w = data;
    for (; a < b; a++)
        if ((uint64_t)w->order[a] >= (uint64_t)w->length) return a;
    return INT64_MAX;
}

int64_t tl_take_check(int threads, const int64_t *order, int64_t n, int64_t length)
{
    return tl_find(threads, n, PART, find_bad, &(check_work){order, length});
}

#define TAKE(bits) \
    static void take_##bits(const char *x, int64_t step, const int64_t *order, int64_t n, char *y, \
                            int64_t to) \
    { \
        for (int64_t i = 0; i < n; i++) memcpy(y + i * to, x + order[i] * step, bits / 8); \
    }
TAKE(8)
TAKE(16)
TAKE(32)
TAKE(64)

typedef struct {
    const tally_view *in, *out;
    const int64_t *order;
} take_work;

static void take_part(void *data, int64_t a, int64_t b)
{
    const take_work *w = data;
    const int64_t bytes = (int64_t)tally_dtype_size(w->in->dtype), step = w->in->stride * bytes,
                  to = w->out->stride * bytes;
    char *y = (char *)w->out->data + a * to;

    (bytes == 8   ? take_64
     : bytes == 4 ? take_32
     : bytes == 2 ? take_16
                  : take_8)(w->in->data, step, w->order + a, b - a, y, to);
}

void tl_take(int threads, const tally_view *in, const int64_t *order, int64_t n,
             const tally_view *out)
{
    tl_for_parts(threads, n, PART, take_part, &(take_work){in, out, order});
}

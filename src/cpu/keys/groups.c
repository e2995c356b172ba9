/* SPDX-License-Identifier: MIT
 * A stable sort of rows by the codes of their groups. Few groups take one pass over the rows: each
 * thread knows the position of its next element of each group. Many groups take two, because so
 * many positions would be far apart in memory:
 *
 *   codes            6 1 7 3 6 0     4 buckets, of the codes 0 1 | 2 3 | 4 5 | 6 7
 *   bucket by bucket 1 0 | 3 | | 6 7 6          which pass over the rows writes
 *   sorted           0 1 | 3 | | 6 6 7          a bucket at a time, inside a cache
 *
 * To go back, the same passes run in reverse order, with copies in the other direction. Nothing but
 * the low bits of the codes is kept between columns. */
#include "keys.h"
#include "context/threads.h"
#include "context/view.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 2048, BUCKETS = 1024, LOW_BITS = 32 };

void *tl_key_memory(int64_t n, int64_t bytes)
{
    int64_t total;
    if (__builtin_mul_overflow(n, bytes, &total) || total == INT64_MAX) return NULL;
    void *const memory = malloc((size_t)total + 1);
    tl_large_pages(memory, (size_t)total);
    return memory;
}

/* Loads m codes, from row i on; an absent one becomes g->groups. Returns how many come before the
 * first that is no group; a u64 code of 2^63 or more becomes negative. */
static int64_t load(const tl_groups *g, int64_t i, int64_t m, int64_t *to)
{
    const tally_view *const v = g->codes;
    const int64_t bytes = (int64_t)tally_dtype_size(v->dtype);
    char pack[CHUNK * 8];
    int wrong = 0;

    assert(m <= CHUNK && i + m <= v->n);
    tl_copy_strided(pack, 1, (const char *)v->data + i * v->stride * bytes, v->stride, m, bytes);
#define LOAD(dtype, type) \
    case dtype: \
        for (int64_t j = 0; j < m; j++) { \
            type code; \
            memcpy(&code, pack + j * (int64_t)sizeof code, sizeof code); \
            to[j] = (int64_t)code; \
        } \
        break;

    switch (v->dtype) {
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

    for (int64_t j = 0; j < m; j++) wrong |= (uint64_t)to[j] >= (uint64_t)g->groups;

    for (int64_t j = 0; (wrong || v->valid) && j < m; j++) {
        const int64_t bit = v->valid_offset + (i + j) * v->stride;
        if (v->valid && !(((const uint8_t *)v->valid)[bit >> 3] >> (bit & 7) & 1))
            to[j] = g->groups;
        else if ((uint64_t)to[j] >= (uint64_t)g->groups)
            return j;
    }
    return m;
}

typedef struct {
    tl_groups *g;
    int64_t first; /* index of the first code found so far that is no group */
} count_work;

static void count_part(void *data, int64_t p)
{
    count_work *const w = data;
    const tl_groups *const g = w->g;
    int64_t code[CHUNK], *const counts = g->next + p * g->buckets;
    const int64_t end = tl_key_part(g->codes->n, g->parts, p + 1);

    for (int64_t m, i = tl_key_part(g->codes->n, g->parts, p); i < end; i += m) {
        m = end - i < CHUNK ? end - i : CHUNK;
        const int64_t good = load(g, i, m, code);
        if (good < m) {
            tl_atomic_least(&w->first, i + good);
            return;
        }
        for (int64_t j = 0; j < m; j++) counts[code[j] >> g->shift]++;
    }
}

/* Writes the offsets of the groups of bucket b, from the low bits of its codes. */
static void count_bucket(void *data, int64_t b)
{
    const tl_groups *const g = data;
    const int64_t first = b << g->shift, size = (int64_t)1 << g->shift,
                  end = g->groups - first < size ? g->groups + 1 : first + size;
    int64_t at = g->begin[b];

    for (int64_t k = first; k < end; k++) g->offsets[k] = 0;
    for (int64_t i = at; i < g->begin[b + 1]; i++) g->offsets[first + g->low[i]]++;

    for (int64_t k = first; k < end; k++) {
        const int64_t here = g->offsets[k];
        g->offsets[k] = at;
        at += here;
    }
    assert(at == g->begin[b + 1]);
}

/* ---- moves ---- */

/* m elements: rows[j] is the next element of bucket code[j], whose position in `sorted` is
 * next[bucket]. */
typedef struct {
    const int64_t *code;
    int64_t m, *next;
    int shift;
    char *rows, *sorted;
} step;

#define MOVE(bytes) \
    static void move_##bytes(int back, const step *s) \
    { \
        char *const rows = s->rows, *const sorted = s->sorted; \
        for (int64_t j = 0; back && j < s->m; j++) \
            memcpy(rows + j * bytes, sorted + s->next[s->code[j] >> s->shift]++ * bytes, bytes); \
        for (int64_t j = 0; !back && j < s->m; j++) \
            memcpy(sorted + s->next[s->code[j] >> s->shift]++ * bytes, rows + j * bytes, bytes); \
    }
MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)
MOVE(16)

/* What is moved: a column, the rows' numbers (8 bytes each), or the low bits of their codes (4). */
enum { COLUMN, NUMBERS, LOW };

typedef struct {
    const tl_groups *g;
    int of, back;
    char *rows, *sorted; /* rows: of a column */
    int64_t stride, bytes;
    void (*move)(int back, const step *s);
} move_work;

/* Moves the rows of part p between their places and their buckets. */
static void move_part(void *data, int64_t p)
{
    enum { PACK = 4096 };
    const move_work *const w = data;
    const tl_groups *const g = w->g;
    const int64_t end = tl_key_part(g->codes->n, g->parts, p + 1), most = PACK / w->bytes,
                  low = (INT64_C(1) << g->shift) - 1;
    int64_t code[CHUNK], next[BUCKETS];
    _Alignas(8) char pack[PACK];

    assert(w->bytes <= PACK && g->buckets <= BUCKETS);
    memcpy(next, g->next + p * g->buckets, (size_t)g->buckets * sizeof *next);

    for (int64_t m, i = tl_key_part(g->codes->n, g->parts, p); i < end; i += m) {
        m = end - i < CHUNK ? end - i : CHUNK;
        m = m < most ? m : most;
        char *const at = tl_offset(w->rows, i * w->stride * w->bytes);
        char *const rows = w->of == COLUMN && w->stride == 1 ? at : pack;
        load(g, i, m, code);
        for (int64_t j = 0; w->of != COLUMN && j < m; j++) {
            const int64_t number = i + j;
            const uint32_t bits = (uint32_t)(code[j] & low);
            memcpy(pack + j * w->bytes, w->of == LOW ? (const void *)&bits : &number,
                   (size_t)w->bytes);
        }
        if (w->of == COLUMN && rows != at && !w->back)
            tl_copy_strided(rows, 1, at, w->stride, m, w->bytes);
        w->move(w->back, &(step){code, m, next, g->shift, rows, w->sorted});
        if (rows != at && w->back) tl_copy_strided(at, w->stride, rows, 1, m, w->bytes);
    }
}

/* Moves the elements of buckets between the order of rows and that of groups, in place. */
static void move_buckets(void *data, const tl_worker *worker)
{
    const move_work *const w = data;
    const tl_groups *const g = w->g;
    int64_t code[CHUNK], most = 0;
    for (int64_t b = 0; b < g->buckets; b++)
        if (g->begin[b + 1] - g->begin[b] > most) most = g->begin[b + 1] - g->begin[b];
    const int64_t size = (int64_t)1 << g->shift;
    int64_t *const next = malloc((size_t)size * sizeof *next);
    char *const copy = tl_key_memory(most, w->bytes);

    for (int64_t b; next && copy && (b = tl_next_chunk(worker)) < worker->chunks;) {
        const int64_t begin = g->begin[b], n = g->begin[b + 1] - begin, first = b << g->shift;
        char *const here = w->sorted + begin * w->bytes;
        memcpy(copy, here, (size_t)(n * w->bytes));
        for (int64_t k = 0; k < size && k <= g->groups - first; k++)
            next[k] = g->offsets[first + k] - begin;
        for (int64_t m, i = 0; i < n; i += m) {
            m = n - i < CHUNK ? n - i : CHUNK;
            for (int64_t j = 0; j < m; j++) code[j] = g->low[begin + i + j];
            char *const rows = (w->back ? here : copy) + i * w->bytes;
            w->move(w->back, &(step){code, m, next, 0, rows, w->back ? copy : here});
        }
    }
    free(next);
    free(copy);
}

static tally_status move(move_work *w)
{
    const tl_groups *const g = w->g;
    const int threads = g->ctx->device->threads;
    assert(w->bytes > 0 && (w->of == COLUMN || w->bytes == 8 || !g->codes->n));
    w->move = w->bytes == 1   ? move_1
              : w->bytes == 2 ? move_2
              : w->bytes == 4 ? move_4
              : w->bytes == 8 ? move_8
                              : move_16;
    assert(w->bytes <= 8 || w->bytes == 16); /* the largest result is two of 8 bytes */

    if (!w->back) tl_for(threads, g->parts, move_part, w);
    if (g->low &&
        !tl_parallel(g->parts < threads ? (int)g->parts : threads, g->buckets, move_buckets, w))
        return tl_no_memory(g->ctx, (size_t)w->bytes << g->shift, "the elements of groups");
    if (w->back) tl_for(threads, g->parts, move_part, w);
    return TALLY_OK;
}

tally_status tl_groups_sort(const tl_groups *g, const void *rows, int64_t stride, int64_t bytes,
                            void *sorted)
{
    return move(&(move_work){g, rows ? COLUMN : NUMBERS, 0, (char *)(uintptr_t)rows, sorted, stride,
                             bytes, NULL});
}

tally_status tl_groups_back(const tl_groups *g, void *sorted, int64_t bytes, void *rows,
                            int64_t stride)
{
    return move(&(move_work){g, COLUMN, 1, rows, sorted, stride, bytes, NULL});
}

/* Changes the counts of parts and buckets to positions. */
static void place(const tl_groups *g)
{
    int64_t sum = 0;
    for (int64_t b = 0; b < g->buckets; b++) {
        g->begin[b] = sum;
        for (int64_t p = 0; p < g->parts; p++) {
            const int64_t here = g->next[p * g->buckets + b];
            g->next[p * g->buckets + b] = sum;
            sum += here;
        }
    }
    g->begin[g->buckets] = sum;
}

tally_status tl_groups_open(tl_groups *g, tally *ctx, const tally_view *codes, int64_t groups,
                            int64_t *offsets, int64_t *bad)
{
    const int threads = ctx->device->threads;
    assert(codes->rows == 1 && groups >= 0);
    *bad = -1;
    *g = (tl_groups){.ctx = ctx, .codes = codes, .groups = groups, .offsets = offsets};
    while (groups >> g->shift >= BUCKETS) g->shift++;
    g->buckets = (groups >> g->shift) + 1;
    g->parts = tl_key_parts(threads, codes->n);
    g->next = calloc((size_t)(g->parts * g->buckets), sizeof *g->next);
    g->begin = malloc((size_t)(g->buckets + 1) * sizeof *g->begin);
    if (!g->next || !g->begin || g->shift > LOW_BITS)
        return tl_no_memory(ctx, (size_t)(g->parts * g->buckets) * sizeof *g->next,
                            "the counts of the groups");

    count_work work = {g, codes->n};
    tl_for(threads, g->parts, count_part, &work);
    if (work.first < codes->n) {
        *bad = work.first;
        return TALLY_OK;
    }
    if (g->shift && !(g->low = tl_key_memory(codes->n, sizeof *g->low)))
        return tl_no_memory(ctx, (size_t)codes->n * sizeof *g->low, "the codes of the groups");

    place(g);
    if (g->low) { /* bucket after bucket; they give the offsets */
        move_work bits = {g, LOW, 0, NULL, (char *)g->low, 1, sizeof *g->low, move_4};
        tl_for(threads, g->parts, move_part, &bits);
        tl_for(g->parts < threads ? (int)g->parts : threads, g->buckets, count_bucket, g);
    } else {
        memcpy(offsets, g->begin, (size_t)g->buckets * sizeof *offsets);
    }
    return TALLY_OK;
}

void tl_groups_close(tl_groups *g)
{
    free(g->next);
    free(g->begin);
    free(g->low);
}

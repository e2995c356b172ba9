/* SPDX-License-Identifier: MIT
 * Groups lines by the text of their keys. A hash table (open addressing, at most half full) gives
 * the number of a group, which gives its text. Threads look up the keys of a block, each in its
 * chunk, while the table does not change. Then one thread numbers the new keys in the order of the
 * lines. After the first block there are few new keys. */
#define _GNU_SOURCE
#include "hash.h"
#include "io.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { SLOTS = 1 << 10, BLOCK = 1 << 16, GROUPS_MOST = INT32_MAX };

typedef struct {
    uint64_t hash;
    int32_t code; /* TL_NEW: the slot is free */
} slot;

typedef struct {
    const char *raw;   /* as in the file */
    const char *shown; /* with doubled quotes as one, and a terminating 0 */
    uint32_t length;   /* of raw, with the bit TL_DOUBLED */
} cell;

struct tl_keys {
    int64_t columns, count;
    uint64_t secret[2];
    slot *slots;
    uint64_t mask;
    cell *cells; /* of all groups */
    int64_t capacity;
    char **blocks; /* memory for the texts */
    int64_t block_count;
    size_t used, block_capacity; /* of the last block */
};

static slot *new_slots(uint64_t n)
{
    assert(n > 0 && (n & (n - 1)) == 0);
    slot *const s = malloc(n * sizeof *s);
    for (uint64_t i = 0; s && i < n; i++) s[i].code = TL_NEW;
    return s;
}

/* Chooses the secret of this table's hash. Results do not depend on it, because groups are
 * numbered in the order of the lines. */
static void choose_secret(uint64_t secret[2])
{
    if (getrandom(secret, 16, GRND_NONBLOCK) == 16) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    secret[0] = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)secret << 20;
    secret[1] = (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&choose_secret << 16;
}

tl_keys *tl_keys_open(int64_t columns)
{
    assert(columns >= 0);
    tl_keys *const k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->columns = columns;
    choose_secret(k->secret);
    k->slots = new_slots(SLOTS);
    k->mask = SLOTS - 1;
    if (k->slots) return k;
    free(k);
    return NULL;
}

void tl_keys_close(tl_keys *k)
{
    if (!k) return;
    for (int64_t i = 0; i < k->block_count; i++) free(k->blocks[i]);
    free(k->blocks);
    free(k->cells);
    free(k->slots);
    free(k);
}

int64_t tl_keys_count(const tl_keys *k) { return k->count; }
const char *tl_keys_cell(const tl_keys *k, int64_t group, int64_t column)
{
    return k->cells[group * k->columns + column].shown;
}

/* TL_PAD bytes after the text are readable. */
static inline uint64_t hash_of(const tl_keys *k, const char *text, const tl_span *key)
{
    tl_hash h = tl_hash_begin(k->secret);
    for (int64_t c = 0; c < k->columns; c++)
        tl_hash_text(&h, text + key[c].at, key[c].length & ~TL_DOUBLED);
    return tl_hash_end(&h);
}

/* Compares 8 bytes at a time: keys are short, and a call of memcmp alone takes as long. */
static inline int same(const cell *g, const char *text, const tl_span *key, int64_t columns)
{
    assert(columns >= 1);
    for (int64_t c = 0; c < columns; c++) {
        const char *a = g[c].raw, *b = text + key[c].at;
        uint32_t n = key[c].length & ~TL_DOUBLED;
        if (g[c].length != key[c].length) return 0;
        for (uint64_t v, w; n; a += 8, b += 8, n -= n < 8 ? n : 8) {
            memcpy(&v, a, 8);
            memcpy(&w, b, 8);
            if ((v ^ w) << (n < 8 ? 64 - 8 * n : 0)) return 0;
        }
    }

    return 1;
}

/* The slot of a key, or the free slot where it belongs. */
static inline slot *look_up(const tl_keys *k, uint64_t hash, const char *text, const tl_span *key)
{
    for (uint64_t i = hash & k->mask;; i = (i + 1) & k->mask) {
        slot *const s = &k->slots[i];
        if (s->code == TL_NEW) return s;
        if (s->hash == hash && same(&k->cells[s->code * k->columns], text, key, k->columns))
            return s;
    }
}

enum { ROWS = 128, RECENT = 256, TRIAL = 1024 };

/* Finds the codes of n rows. Slots, then cells, then texts are prefetched for all rows, so that
 * their cache misses overlap. */
static void find_rows(const tl_keys *k, tl_chunk *c, const int64_t *row, int64_t n)
{
    uint64_t hash[ROWS];
    for (int64_t i = 0; i < n; i++) {
        hash[i] = hash_of(k, c->start, c->keys + row[i] * k->columns);
        __builtin_prefetch(&k->slots[hash[i] & k->mask]);
    }

    for (int64_t i = 0; i < n; i++) {
        const slot *const s = &k->slots[hash[i] & k->mask];
        if (s->code != TL_NEW) __builtin_prefetch(&k->cells[s->code * k->columns]);
    }

    for (int64_t i = 0; i < n; i++) {
        const slot *const s = &k->slots[hash[i] & k->mask];
        if (s->code != TL_NEW) __builtin_prefetch(k->cells[s->code * k->columns].raw);
    }

    for (int64_t i = 0; i < n; i++)
        c->codes[row[i]] = look_up(k, hash[i], c->start, c->keys + row[i] * k->columns)->code;
}

/* An entry of a small cache of keys of at most 16 bytes: the text as two words, and the group. */
typedef struct {
    uint64_t w[2];
    uint32_t length;
    int32_t code;
} recent;

/* The cache entry for a key, or NULL if the key is too long. *now becomes the key, without its
 * code. Keys that share an entry cost only a look-up in the table. */
static inline recent *recent_of(recent *all, const char *text, const tl_span *key, recent *now)
{
    const uint32_t n = key->length;
    if (n > 16) return NULL;
    memcpy(now->w, text + key->at, 16);
    now->w[0] &= n < 8 ? ~(~(uint64_t)0 << 8 * n) : ~(uint64_t)0;
    now->w[1] &= n <= 8 ? 0 : n < 16 ? ~(~(uint64_t)0 << 8 * (n - 8)) : ~(uint64_t)0;
    now->length = n;
    return &all[((now->w[0] ^ now->w[1] * 31) * 0x9e3779b97f4a7c15u) >> 56];
}

static void keep_recent(const tl_keys *k, tl_chunk *c, recent *all, const int64_t *row, int64_t n)
{
    recent now;
    for (int64_t i = 0; i < n; i++) {
        recent *const e = recent_of(all, c->start, c->keys + row[i] * k->columns, &now);
        now.code = c->codes[row[i]];
        if (e && now.code != TL_NEW) *e = now;
    }
}

void tl_keys_find(const tl_keys *k, tl_chunk *c, int64_t rows)
{
    assert(rows >= 0);
    recent all[RECENT], now;
    int64_t row[ROWS], n = 0, hits = 0;
    int useful = k->columns == 1 && k->count > 0;
    for (int i = 0; i < RECENT; i++) all[i].length = UINT32_MAX;
    for (int64_t r = 0; r < rows; r++) {
        const recent *const e = useful ? recent_of(all, c->start, c->keys + r, &now) : NULL;
        if (e && e->w[0] == now.w[0] && e->w[1] == now.w[1] && e->length == now.length) {
            c->codes[r] = e->code;
            hits++;
        } else {
            row[n++] = r;
        }

        if (n == ROWS || (r + 1 == rows && n)) {
            find_rows(k, c, row, n);
            if (useful) keep_recent(k, c, all, row, n);
            n = 0;
        }

        if (r + 1 == TRIAL) useful &= hits > TRIAL / 4;
    }
}

/* ---- new keys ---- */

static char *text_capacity(tl_keys *k, size_t n)
{
    if (n > k->block_capacity - k->used) {
        const size_t capacity = n > BLOCK ? n : BLOCK;
        char **const more = realloc(k->blocks, (size_t)(k->block_count + 1) * sizeof *more);
        if (!more) return NULL;
        k->blocks = more;
        if (!(k->blocks[k->block_count] = malloc(capacity))) return NULL;
        k->block_count++;
        k->block_capacity = capacity;
        k->used = 0;
    }

    char *const at = k->blocks[k->block_count - 1] + k->used;
    k->used += n;
    return at;
}

static int grow(tl_keys *k)
{
    if (k->count == k->capacity) {
        const int64_t capacity = k->capacity ? 2 * k->capacity : 64;
        cell *const more = realloc(k->cells, (size_t)(capacity * k->columns) * sizeof *more);
        if (!more) return 0;
        k->cells = more;
        k->capacity = capacity;
    }

    if ((uint64_t)k->count * 2 < k->mask) return 1;
    const uint64_t n = 2 * (k->mask + 1);
    slot *const wide = new_slots(n);
    if (!wide) return 0;

    for (uint64_t i = 0; i <= k->mask; i++) {
        if (k->slots[i].code == TL_NEW) continue;
        uint64_t j = k->slots[i].hash & (n - 1);
        while (wide[j].code != TL_NEW) j = (j + 1) & (n - 1);
        wide[j] = k->slots[i];
    }

    free(k->slots);
    k->slots = wide;
    k->mask = n - 1;

    return 1;
}

/* Adds a key that is not in the table as a new group. Returns 0 if there is no memory. */
static int add(tl_keys *k, uint64_t hash, const char *text, const tl_span *key)
{
    if (!grow(k)) return 0;
    cell *const cells = &k->cells[k->count * k->columns];
    for (int64_t c = 0; c < k->columns; c++) {
        const int doubled = (key[c].length & TL_DOUBLED) != 0;
        const size_t n = key[c].length & ~TL_DOUBLED;
        char *const raw = text_capacity(k, (doubled ? 2 * n : n) + 2 + 8), *shown = raw;
        if (!raw) return 0; /* 8 bytes more, because `same` reads beyond raw */
        memcpy(raw, text + key[c].at, n);
        raw[n] = 0;
        if (doubled) shown += n + 1;
        cells[c] = (cell){raw, shown, key[c].length};

        for (size_t i = 0; doubled && i < n; i++) {
            *shown++ = raw[i];
            if (raw[i] == '"' && i + 1 < n && raw[i + 1] == '"') i++;
            *shown = 0;
        }
    }

    slot *const s = look_up(k, hash, text, key);
    s->hash = hash;
    s->code = (int32_t)k->count++;

    return 1;
}

tally_status tl_keys_settle(tally_file *f, tl_keys *k, tl_chunk *c, int64_t rows)
{
    assert(rows >= 0);
    for (int64_t r = 0; r < rows; r++) {
        const tl_span *const key = &c->keys[r * k->columns];
        if (c->codes[r] != TL_NEW) continue;
        const uint64_t hash = hash_of(k, c->start, key);
        const slot *const s = look_up(k, hash, c->start, key);
        c->codes[r] = s->code;
        if (s->code != TL_NEW) continue;
        if (k->count == GROUPS_MOST)
            return tl_fail(f->ctx, TALLY_UNSUPPORTED, "%s: there are more than %d groups", f->label,
                           GROUPS_MOST);
        if (!add(k, hash, c->start, key))
            return tl_no_memory(f->ctx, (size_t)k->count * sizeof(cell) * (size_t)k->columns,
                                "the groups");
        c->codes[r] = (int32_t)k->count - 1;
    }

    return TALLY_OK;
}

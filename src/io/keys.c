/* SPDX-License-Identifier: MIT
 * Groups lines by the text of their keys. A hash table (open addressing, at most half full) gives
 * the number of a group, which gives its text. Threads look up the keys of a block, each in its
 * chunk, while the table does not change. Then one thread numbers the new keys in the order of the
 * lines. After the first block there are few new keys. */
#define _GNU_SOURCE
#include "context/context.h"
#include "hash.h"
#include "io.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SLOTS = 1 << 10, BLOCK = 1 << 16, GROUPS_MOST = INT32_MAX, SHORT = 16 };

/* A key, and a slot of the table. One column of at most SHORT bytes: the text and zeros. Else: the
 * hash and 0, with the length LONG; then the texts are compared too. */
static const uint32_t LONG = UINT32_MAX;
typedef struct {
    uint64_t word[2];
    uint32_t length;
    int32_t code; /* TL_NEW: the slot is free */
} slot;

typedef struct {
    const char *text; /* with doubled quotes as one, and a terminating 0 */
    uint32_t length;
} cell;

typedef struct block {
    struct block *next;
    size_t used, capacity;
    char text[];
} block;

struct tl_keys {
    int64_t columns, count;
    uint64_t secret[2];
    slot *slots;
    uint64_t mask;
    cell *cells; /* of all groups */
    int64_t capacity;
    struct block *blocks; /* memory for the texts, the newest first */
};

static slot *new_slots(uint64_t n)
{
    assert(n > 0 && (n & (n - 1)) == 0);
    slot *const s = malloc(n * sizeof *s);
    tl_large_pages(s, n * sizeof *s);
    for (uint64_t i = 0; s && i < n; i++) s[i].code = TL_NEW;
    return s;
}

tl_keys *tl_keys_open(int64_t columns)
{
    assert(columns >= 0);
    tl_keys *const k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->columns = columns;
    /* If there is no random number, the secret is 0. Results do not depend on it. */
    (void)!getrandom(k->secret, sizeof k->secret, GRND_NONBLOCK);
    k->slots = new_slots(SLOTS);
    k->mask = SLOTS - 1;
    if (k->slots) return k;
    free(k);

    return NULL;
}

void tl_keys_close(tl_keys *k)
{
    if (!k) return;
    for (block *b = k->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(k->cells);
    free(k->slots);
    free(k);
}

int64_t tally_file_groups(const tally_file *file)
{
    return file && file->keys ? file->keys->count : 0;
}

const char *tally_file_key(const tally_file *file, int64_t group, int64_t column)
{
    if (column < 0 || group < 0 || group >= tally_file_groups(file) ||
        column >= file->keys->columns)
        return NULL;
    return file->keys->cells[group * file->keys->columns + column].text;
}

static inline uint32_t length_of(const tl_span *key) { return key->length & (TL_QUOTED - 1); }

/* The character of a key at *p, which moves to the next one. */
static inline const char *next_of(const tl_span *key, const char **p)
{
    const char *const at = *p;
    *p += 1 + (*at == '"' && key->length & TL_DOUBLED);
    return at;
}

/* TL_PAD bytes after the text are readable. */
static inline slot key_of(const tl_keys *k, const char *text, const tl_span *key)
{
    const uint32_t n = key->length; /* with TL_QUOTED it is not short */
    slot result = {.length = LONG};
    if (k->columns == 1 && n <= SHORT) {
        memcpy(result.word, text + key->at, SHORT);
        result.word[0] &= n < 8 ? ~(~(uint64_t)0 << 8 * n) : ~(uint64_t)0;
        result.word[1] &= n <= 8 ? 0 : n < 16 ? ~(~(uint64_t)0 << 8 * (n - 8)) : ~(uint64_t)0;
        result.length = n;
        return result;
    }
    tl_hash h = tl_hash_begin(k->secret);
    for (int64_t c = 0; c < k->columns; c++) {
        const char *p = text + key[c].at, *const end = p + length_of(&key[c]);
        /* `"a""b"` and `a"b` are one key */
        while (key[c].length & TL_QUOTED && p < end)
            tl_hash_word(&h, (unsigned char)*next_of(&key[c], &p));
        tl_hash_text(&h, p, (size_t)(end - p));
    }
    result.word[0] = tl_hash_end(&h);

    return result;
}

static inline int equal(const slot *a, const slot *b)
{
    return a->word[0] == b->word[0] && a->word[1] == b->word[1] && a->length == b->length;
}

static inline uint64_t hash_of(const tl_keys *k, const slot *key)
{
    if (key->length == LONG) return key->word[0];
    tl_hash h = tl_hash_begin(k->secret);
    tl_hash_word(&h, key->word[0]);
    if (key->word[1]) tl_hash_word(&h, key->word[1]);
    return tl_hash_end(&h);
}

static int same_doubled(const cell *g, const char *text, const tl_span *key)
{
    const char *p = text + key->at, *const end = p + length_of(key);
    uint32_t n = 0;
    while (p < end && n < g->length && g->text[n] == *next_of(key, &p)) n++;
    return p >= end && n == g->length;
}

static inline int same(const cell *g, const char *text, const tl_span *key, int64_t columns)
{
    assert(columns >= 1);
    for (int64_t c = 0; c < columns; c++)
        if (key[c].length & TL_DOUBLED ? !same_doubled(&g[c], text, &key[c])
                                       : g[c].length != length_of(&key[c]) ||
                                             memcmp(g[c].text, text + key[c].at, g[c].length) != 0)
            return 0;
    return 1;
}

enum { ROWS = 128 };

/* Rows of a chunk that are looked up together, so that their cache misses overlap. */
typedef struct {
    int64_t n, row[ROWS];
    slot key[ROWS];
    uint64_t hash[ROWS];
} batch;

/* Adds row r to the batch, and prefetches the first slot where its key may be. */
static inline void take(const tl_keys *k, const tl_chunk *c, int64_t r, batch *b)
{
    assert(b->n < ROWS);
    const int64_t i = b->n++;
    b->row[i] = r;
    b->key[i] = key_of(k, c->start, c->keys + r * k->columns);
    b->hash[i] = hash_of(k, &b->key[i]);
    const slot *const s = &k->slots[b->hash[i] & k->mask];
    __builtin_prefetch(s);
    __builtin_prefetch(&s->code); /* a slot may be in two cache lines */
}

/* The slot of a key of the batch, or the free slot where it belongs. */
static inline slot *look_up(const tl_keys *k, const tl_chunk *c, const batch *b, int64_t i)
{
    const slot *const key = &b->key[i];
    for (uint64_t at = b->hash[i] & k->mask;; at = (at + 1) & k->mask) {
        slot *const s = &k->slots[at];
        if (s->code == TL_NEW) return s;
        if (!equal(s, key)) continue;
        if (s->length != LONG || same(&k->cells[s->code * k->columns], c->start,
                                      c->keys + b->row[i] * k->columns, k->columns))
            return s;
    }
}

void tl_keys_find(const tl_keys *k, tl_chunk *c, int64_t rows)
{
    assert(rows >= 0);
    batch b;
    for (int64_t r = 0; r < rows;) {
        for (b.n = 0; r < rows && b.n < ROWS; r++) take(k, c, r, &b);
        for (int64_t i = 0; i < b.n; i++) c->codes[b.row[i]] = look_up(k, c, &b, i)->code;
    }
}

/* Memory for a text of n bytes. NULL: no memory. */
static char *new_text(tl_keys *k, size_t n)
{
    block *b = k->blocks;
    if (!b || n > b->capacity - b->used) {
        const size_t capacity = n > BLOCK ? n : BLOCK;
        b = malloc(sizeof *b + capacity);
        if (!b) return NULL;
        *b = (block){.next = k->blocks, .capacity = capacity};
        k->blocks = b;
    }

    b->used += n;
    return b->text + b->used - n;
}

/* Makes space for one more group. 0: no memory. */
static int grow(tl_keys *k)
{
    if (k->count == k->capacity) {
        const int64_t capacity = k->capacity ? 2 * k->capacity : 64;
        cell *const more = realloc(k->cells, (size_t)(capacity * k->columns) * sizeof *more);
        if (!more) return 0;
        tl_large_pages(more, (size_t)(capacity * k->columns) * sizeof *more);
        k->cells = more;
        k->capacity = capacity;
    }

    if ((uint64_t)k->count * 2 < k->mask) return 1;
    const uint64_t n = 2 * (k->mask + 1);
    slot *const wide = new_slots(n);
    if (!wide) return 0;

    for (uint64_t i = 0; i <= k->mask; i++) {
        if (k->slots[i].code == TL_NEW) continue;
        uint64_t j = hash_of(k, &k->slots[i]) & (n - 1);
        while (wide[j].code != TL_NEW) j = (j + 1) & (n - 1);
        wide[j] = k->slots[i];
    }

    free(k->slots);
    k->slots = wide;
    k->mask = n - 1;
    return 1;
}

/* Adds key i of the batch as a new group, at its free slot. 0: no memory; -1: a byte 0. */
static int add(tl_keys *k, slot *at, const tl_chunk *chunk, const batch *b, int64_t i)
{
    const tl_span *const key = &chunk->keys[b->row[i] * k->columns];
    cell *const cells = &k->cells[k->count * k->columns];
    for (int64_t c = 0; c < k->columns; c++) {
        const char *p = chunk->start + key[c].at, *const end = p + length_of(&key[c]);
        char *const text = new_text(k, length_of(&key[c]) + 1), *to = text;
        if (!text) return 0;
        while (p < end) *to++ = *next_of(&key[c], &p);
        *to = 0;
        if (memchr(text, 0, (size_t)(to - text))) return -1;
        cells[c] = (cell){text, (uint32_t)(to - text)};
    }

    *at = b->key[i];
    at->code = (int32_t)k->count++;
    return 1;
}

tally_status tl_keys_settle(tally_file *f, tl_keys *k, tl_chunk *c, int64_t rows)
{
    assert(rows >= 0);
    batch b;
    for (int64_t r = 0; r < rows;) {
        for (b.n = 0; r < rows && b.n < ROWS; r++)
            if (c->codes[r] == TL_NEW) take(k, c, r, &b);
        for (int64_t i = 0; i < b.n; i++) {
            const int space = grow(k);
            slot *const s = look_up(k, c, &b, i);
            if (s->code == TL_NEW && k->count == GROUPS_MOST)
                return tl_unsupported_on(f, "there are more than %d groups", GROUPS_MOST);
            const int added = space && s->code == TL_NEW ? add(k, s, c, &b, i) : space;
            if (added < 0) return tl_bad_data_on(f, "a key has a byte 0, which is no text");
            if (!added)
                return tl_no_memory(f->ctx, (size_t)k->count * sizeof(cell) * (size_t)k->columns,
                                    "the groups");
            c->codes[b.row[i]] = s->code;
        }
    }

    return TALLY_OK;
}

/* SPDX-License-Identifier: MIT
 * Groups of lines, by the text of their keys. A table of hashes (open addressing, at most half
 * full) leads to the number of a group, and that to its text. Threads look the keys of a block
 * up, each in its chunk, while the table stands still; then one thread numbers the keys that are
 * new, in the order of the lines. After the first block there are few. */
#include "io.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 10, BLOCK = 1 << 16, GROUPS_MOST = INT32_MAX };

typedef struct {
    uint64_t hash;
    int32_t code; /* TL_NEW: the slot is free */
} slot;

typedef struct {
    const char *raw;   /* as in the file */
    const char *shown; /* doubled quotes as one; it ends with a 0 */
    uint32_t length;   /* of raw, with TL_DOUBLED */
} cell;

struct tl_keys {
    int64_t columns, count;
    slot *slots;
    uint64_t mask;
    cell *cells; /* of all groups */
    int64_t room;
    char **blocks; /* where the texts are */
    int64_t block_count;
    size_t used, block_room; /* of the last block */
};

static slot *new_slots(uint64_t n)
{
    slot *const s = malloc(n * sizeof *s);
    for (uint64_t i = 0; s && i < n; i++) s[i].code = TL_NEW;
    return s;
}

tl_keys *tl_keys_open(int64_t columns)
{
    tl_keys *const k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->columns = columns;
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

/* Reads 8 bytes at a time: TL_PAD bytes behind a text may be read. */
static inline uint64_t hash_of(const char *text, const tl_span *key, int64_t columns)
{
    uint64_t h = 0x243f6a8885a308d3u;
    for (int64_t c = 0; c < columns; c++) {
        const char *p = text + key[c].at;
        uint32_t n = key[c].length & ~TL_DOUBLED;
        uint64_t w = key[c].length;
        for (;; p += 8, n -= 8) {
            const unsigned __int128 m = (unsigned __int128)(h ^ w) * 0x9e3779b97f4a7c15u;
            h = (uint64_t)m ^ (uint64_t)(m >> 64);
            if (!n) break;
            memcpy(&w, p, 8);
            if (n < 8) {
                w &= ~(uint64_t)0 >> (64 - 8 * n);
                n = 8;
            }
            w += 0x452821e638d01377u; /* not 0, which h may be */
        }
    }
    return h;
}

/* 8 bytes at a time, here too: keys are short, and a call of memcmp takes as long as all of
   this. */
static inline int same(const cell *g, const char *text, const tl_span *key, int64_t columns)
{
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

/* The slot of a key, or the free one where it belongs. */
static inline slot *look_up(const tl_keys *k, uint64_t hash, const char *text, const tl_span *key)
{
    for (uint64_t i = hash & k->mask;; i = (i + 1) & k->mask) {
        slot *const s = &k->slots[i];
        if (s->code == TL_NEW) return s;
        if (s->hash == hash && same(&k->cells[s->code * k->columns], text, key, k->columns))
            return s;
    }
}

void tl_keys_find(const tl_keys *k, tl_chunk *c, int64_t rows)
{
    const tl_span *key = c->keys;
    for (int64_t r = 0; r < rows; r++, key += k->columns)
        c->codes[r] = look_up(k, hash_of(c->start, key, k->columns), c->start, key)->code;
}

/* ---- new keys ---- */

static char *text_room(tl_keys *k, size_t n)
{
    if (n > k->block_room - k->used) {
        const size_t room = n > BLOCK ? n : BLOCK;
        char **const more = realloc(k->blocks, (size_t)(k->block_count + 1) * sizeof *more);
        if (!more) return NULL;
        k->blocks = more;
        if (!(k->blocks[k->block_count] = malloc(room))) return NULL;
        k->block_count++;
        k->block_room = room;
        k->used = 0;
    }
    char *const at = k->blocks[k->block_count - 1] + k->used;
    k->used += n;
    return at;
}

static int grow(tl_keys *k)
{
    if (k->count == k->room) {
        const int64_t room = k->room ? 2 * k->room : 64;
        cell *const more = realloc(k->cells, (size_t)(room * k->columns) * sizeof *more);
        if (!more) return 0;
        k->cells = more;
        k->room = room;
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

/* The group of a key that is new to the table. 0: no memory. */
static int add(tl_keys *k, uint64_t hash, const char *text, const tl_span *key)
{
    if (!grow(k)) return 0;
    cell *const cells = &k->cells[k->count * k->columns];
    for (int64_t c = 0; c < k->columns; c++) {
        const size_t n = key[c].length & ~TL_DOUBLED;
        char *const raw = text_room(k, 2 * n + 1 + 8), *shown = raw ? raw + n : NULL;
        if (!raw) return 0; /* 8: what `same` may read behind raw */
        memcpy(raw, text + key[c].at, n);
        cells[c] = (cell){raw, shown, key[c].length};
        for (size_t i = 0; i < n; i++) {
            *shown++ = raw[i];
            if (key[c].length & TL_DOUBLED && raw[i] == '"' && i + 1 < n && raw[i + 1] == '"') i++;
        }
        *shown = 0;
    }
    slot *const s = look_up(k, hash, text, key);
    s->hash = hash;
    s->code = (int32_t)k->count++;
    return 1;
}

tally_status tl_keys_settle(tally_file *f, tl_keys *k, tl_chunk *c, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        const tl_span *const key = &c->keys[r * k->columns];
        if (c->codes[r] != TL_NEW) continue;
        const uint64_t hash = hash_of(c->start, key, k->columns);
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

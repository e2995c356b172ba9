/* SPDX-License-Identifier: MIT
 * SipHash-1-3 (Aumasson and Bernstein, 2012), a hash with a secret key. Without the key nobody can
 * choose texts that have equal hashes. */
#pragma once

#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t v[4];
} tl_hash;

static inline tl_hash tl_hash_begin(const uint64_t key[2])
{
    return (tl_hash){{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                      key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u}};
}

static inline uint64_t tl_rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline void tl_hash_round(tl_hash *h)
{
    uint64_t a = h->v[0], b = h->v[1], c = h->v[2], d = h->v[3];
    a += b, b = tl_rotate(b, 13) ^ a, a = tl_rotate(a, 32);
    c += d, d = tl_rotate(d, 16) ^ c;
    a += d, d = tl_rotate(d, 21) ^ a;
    c += b, b = tl_rotate(b, 17) ^ c, c = tl_rotate(c, 32);
    *h = (tl_hash){{a, b, c, d}};
}

static inline void tl_hash_word(tl_hash *h, uint64_t w)
{
    h->v[3] ^= w;
    tl_hash_round(h);
    h->v[0] ^= w;
}

/* Adds a text of n bytes. 8 bytes after it must be readable. Several texts may be added. */
static inline void tl_hash_text(tl_hash *h, const char *p, size_t n)
{
    uint64_t w;
    const uint64_t length = (uint64_t)n << 56;

    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        tl_hash_word(h, w);
    }
    memcpy(&w, p, 8);
    tl_hash_word(h, (w & ~(~(uint64_t)0 << (8 * n))) | length);
    h->v[2] ^= 0xff; /* separates this text from the next */
}

static inline uint64_t tl_hash_end(tl_hash *h)
{
    for (int i = 0; i < 3; i++) tl_hash_round(h);
    return h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}

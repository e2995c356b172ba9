/* SPDX-License-Identifier: MIT
 * digest.c - SHA-256 (FIPS 180-4) of result bytes. --digest equals sha256sum of the same results
 * written as raw. */
#include "cli.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t right(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void compress(uint32_t *state, const unsigned char *p)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
#pragma GCC unroll 8 /* unrolled, so that the eight moves of a round become renamed registers */
    for (int i = 0; i < 64; i++) {
        const uint32_t t1 =
            h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
        const uint32_t t2 =
            (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_begin(sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof start);
    s->bytes = 0;
}

void sha256_add(sha256 *s, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    while (bytes) {
        const size_t used = s->bytes % 64, now = bytes < 64 - used ? bytes : 64 - used;
        if (now == 64) {
            compress(s->h, p);
        } else {
            memcpy(s->block + used, p, now);
            if (used + now == 64) compress(s->h, s->block);
        }
        s->bytes += now;
        p += now;
        bytes -= now;
    }
}

void sha256_values(sha256 *s, const void *values, size_t size, int64_t count)
{
    /* little-endian: the bytes in memory are the bytes to hash */
    if (*(const char *)&(const int){1}) {
        if (count) sha256_add(s, values, size * (size_t)count);
        return;
    }
    const char *p = values;
    for (int64_t i = 0; i < count; i++, p += size)
        for (size_t b = size; b-- > 0;) sha256_add(s, p + b, 1);
}

void sha256_end(sha256 *s, char hex[65])
{
    const uint64_t bits = s->bytes * 8;
    const unsigned char one = 0x80, zero = 0;
    sha256_add(s, &one, 1);
    while (s->bytes % 64 != 56) sha256_add(s, &zero, 1);
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, length, 8);
    for (int i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

/* SPDX-License-Identifier: MIT
 * The disk cache: compiled programs, and the devices that passed the probe, for later processes;
 * the keys under which programs are found; and the texts that they are made from. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Loads the entry with this key (any bytes). NULL if there is none. The caller frees it. */
void *tl_cache_load(const void *key, size_t key_bytes, size_t *bytes);

/* Stores an entry. If that fails, a later call compiles the program again. */
void tl_cache_store(const void *key, size_t key_bytes, const void *data, size_t bytes);

/* Removes an entry, if there is one. */
void tl_cache_drop(const void *key, size_t key_bytes);

/* A hash of what a stored entry was made from: FNV-1a of 128 bits; two texts have the same key with
 * a chance of 2^-128. */
typedef struct tl_key {
    uint64_t high, low;
} tl_key;

static const tl_key tl_key_start = {0x6c62272e07bb0142u, 0x62b821756295c58du};

/* key * (2^88 + 0x13b) mod 2^128 in halves; 40 kB take 0.1 ms. */
static inline tl_key tl_key_add(tl_key key, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t low = key.low ^ p[i], part = (low & 0xffffffff) * 0x13b,
                 rest = (low >> 32) * 0x13b + (part >> 32);
        key.high = key.high * 0x13b + (rest >> 32) + (low << 24);
        key.low = low * 0x13b;
    }
    return key;
}

/* The texts of src that compilers get at run time, which the build embeds (cmake/texts.cmake). */
typedef struct tl_source {
    const char *name; /* a path in src */
    const char *text;
} tl_source;

extern const tl_source tl_sources[]; /* ends with name NULL */

/* SPDX-License-Identifier: MIT
 * A hash of what a stored entry was made from. */
#ifndef TALLY_KEY_H
#define TALLY_KEY_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a of 128 bits: two different texts have the same key with a chance of 2^-128. */
typedef struct tl_key {
    uint64_t high, low;
} tl_key;

extern const tl_key tl_key_start;
tl_key tl_key_add(tl_key key, const void *data, size_t bytes);

#endif

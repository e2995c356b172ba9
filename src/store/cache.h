/* SPDX-License-Identifier: MIT
 * What is kept on disk from one process to the next: compiled programs, and which devices passed
 * the probe. */
#ifndef TALLY_CACHE_H
#define TALLY_CACHE_H
#include <stddef.h>

/* Loads what was stored under the same key (any bytes); NULL if there is nothing. Caller frees. */
void *tl_cache_load(const void *key, size_t key_bytes, size_t *bytes);
/* Stores it. A failure only costs the time to make it again. */
void tl_cache_store(const void *key, size_t key_bytes, const void *data, size_t bytes);
/* Removes it, if it is there. */
void tl_cache_drop(const void *key, size_t key_bytes);
#endif

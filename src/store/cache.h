/* SPDX-License-Identifier: MIT
 * The disk cache: compiled programs, and the devices that passed the probe, for later processes. */
#ifndef TALLY_CACHE_H
#define TALLY_CACHE_H

#include <stddef.h>

/* Loads the entry with this key (any bytes). NULL if there is none. The caller frees it. */
void *tl_cache_load(const void *key, size_t key_bytes, size_t *bytes);

/* Stores an entry. If that fails, a later call compiles the program again. */
void tl_cache_store(const void *key, size_t key_bytes, const void *data, size_t bytes);

/* Removes an entry, if there is one. */
void tl_cache_drop(const void *key, size_t key_bytes);

#endif

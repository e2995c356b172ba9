/* SPDX-License-Identifier: MIT
 * Compiled CUDA programs in the library (TALLY_CUDA_KERNELS), found by their text:
 *
 *   head     "tally-k1", number of entries (u64)
 *   entries  key (2 x u64), offset and bytes of the code (2 x u64); ascending keys
 *   code     a fatbinary each, with code for every requested architecture and PTX for later ones
 *
 * cmake/kernels.c writes the archive, embedded.c includes it. A key is a hash of the assembled text
 * and the compiler's options. So a text that has changed since (an old archive, TALLY_KERNELS) is
 * not found, and is compiled. */
#ifndef TALLY_ARCHIVE_H
#define TALLY_ARCHIVE_H

#include "store/key.h"

/* The key of a CUDA program. */
tl_key tl_archive_key(const char *text, size_t length);

typedef struct tl_archive_entry {
    tl_key key;
    uint64_t at, bytes; /* offset from the archive's first byte */
} tl_archive_entry;

typedef struct tl_archive_head {
    char magic[8];
    uint64_t count;
} tl_archive_head;

extern const char tl_archive_magic[8];

/* Returns the code of a key, or NULL. */
const void *tl_archive_find(const void *archive, tl_key key, size_t *bytes);

/* The archive in this library; it may be empty. */
extern const unsigned char tl_embedded[];

#endif

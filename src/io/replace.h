/* SPDX-License-Identifier: MIT
 * A new file that replaces another when it is complete. */
#ifndef TALLY_IO_REPLACE_H
#define TALLY_IO_REPLACE_H

#include "store/cleanup.h"
#include <sys/stat.h>

typedef struct tl_replacement {
    char *target;       /* the path to be replaced; the caller sets it, owned here */
    char *temp;         /* the new file's temporary name, or NULL if it has none */
    tl_cleanup cleanup; /* lists temp while it exists */
} tl_replacement;

/* Call these in this order. Each returns NULL, or the failed step as text, with errno. */
/* old: the file whose mode the new one gets, or NULL. named: the file gets a name at once. */
const char *tl_replace_open(tl_replacement *r, const struct stat *old, int named, int *fd);

/* after all is written: syncs the file to disk, and names it */
const char *tl_replace_finish(tl_replacement *r, int fd);
const char *tl_replace_commit(tl_replacement *r);

/* Removes the new file if it has a name and was not committed, and frees. Does nothing if *r is
 * all zero. */
void tl_replace_drop(tl_replacement *r);

#endif

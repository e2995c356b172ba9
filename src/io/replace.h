/* SPDX-License-Identifier: MIT
 * A new file that takes another's place when it is complete. */
#ifndef TALLY_IO_REPLACE_H
#define TALLY_IO_REPLACE_H
#include "store/leftover.h"
#include <sys/stat.h>

typedef struct tl_replacement {
    char *target;         /* the name to be taken: owned, set by the caller */
    char *temp;           /* the new file's name beside it, or NULL: it has none */
    tl_leftover leftover; /* temp, as long as there is such a file */
} tl_replacement;

/* In this order. Each returns NULL, or what it was doing when errno was set. */
/* old: whose mode it gets, or NULL. named: it has a name at once. */
const char *tl_replace_open(tl_replacement *r, const struct stat *old, int named, int *fd);
/* all is written: waits for the disk, and names it */
const char *tl_replace_finish(tl_replacement *r, int fd);
const char *tl_replace_commit(tl_replacement *r);
/* Removes the new file if it has a name and was not committed, and frees. All zero: nothing to
   do. */
void tl_replace_drop(tl_replacement *r);
#endif

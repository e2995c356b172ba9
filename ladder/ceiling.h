/* SPDX-License-Identifier: MIT
 * What the memory gives the processors: a read and a copy by `threads` threads, to hold the
 * results of `tally bench` and of the ladder against. */
#ifndef LADDER_CEILING_H
#define LADDER_CEILING_H
#include <stddef.h>
#include <stdint.h>

typedef struct ceiling {
    int64_t bytes;
    int threads;
    uint64_t sum;
    char *a, *b;
} ceiling;
int ceiling_open(ceiling *c, int64_t bytes, int threads); /* 1: there is no memory for two arrays */
/* Seconds of a pass, the mean of `passes`: c->bytes read, or with copy read and as many written.
   Which walk (0 to CEILING_WALKS - 1) is the best depends on the machine, the size and what others
   do meanwhile, so callers measure all of them in turns. */
enum { CEILING_WALKS = 3 };
double ceiling_pass(ceiling *c, int copy, int walk, int64_t passes);
void ceiling_close(ceiling *c);
double clock_seconds(void);
/* Memory on large pages where the system has them; free() frees it, NULL: there is none. On pages
   of 4 KiB the same loop over as many bytes has been 0.8 to 1.3 times as fast in another array. */
void *ceiling_memory(size_t bytes);
#endif

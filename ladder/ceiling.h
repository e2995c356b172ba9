/* SPDX-License-Identifier: MIT
 * What the memory gives the processors: a read and a copy by `threads` threads, to hold the
 * results of `tally bench` and of the ladder against. */
#ifndef LADDER_CEILING_H
#define LADDER_CEILING_H
#include <stdint.h>

typedef struct ceiling {
    int64_t bytes;
    int threads;
    uint64_t sum;
    /* of reads and copies, of one thread and of all: 0, or the one that was chosen and 1 */
    int walk[2][2];
    char *a, *b;
} ceiling;
int ceiling_open(ceiling *c, int64_t bytes, int threads); /* 1: there is no memory for two arrays */
double ceiling_read(ceiling *c);                          /* one pass: seconds for c->bytes read */
/* one pass: seconds for c->bytes read and as many written */
double ceiling_copy(ceiling *c);
void ceiling_close(ceiling *c);
double clock_seconds(void);
#endif

/* SPDX-License-Identifier: MIT
 *
 * ceiling.h - how fast this machine reads and copies, measured in the process and the minute in which tally is.
 *
 * Many loops are tried (ceiling_isa.c, once for each instruction set); the best of them for a size and a number of
 * threads is the ceiling. A copy counts the bytes it reads and the bytes it writes.
 */
#ifndef CEILING_H
#define CEILING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ceiling_kind { CEILING_READ, CEILING_COPY } ceiling_kind;

/* A loop. `bytes` is a multiple of 16 KiB; src and dst are aligned to 4 KiB. Reads return something of all they read.
 */
typedef struct ceiling_loop {
    const char *name;
    ceiling_kind kind;
    uint64_t (*run)(char *dst, const char *src, size_t bytes);
} ceiling_loop;

extern const ceiling_loop ceiling_sse2[], ceiling_avx2[], ceiling_avx512[];
extern const int ceiling_sse2_count, ceiling_avx2_count, ceiling_avx512_count;

/* The loops that run here. */
int ceiling_loops(ceiling_kind kind, const ceiling_loop **list, int room);
/* One pass over src (and dst) by a pinned team; returns the seconds. repeat: passes, one after another. */
double ceiling_time(const ceiling_loop *loop, int threads, char *dst, const char *src, size_t bytes, int repeat);
/* The best loops for this size and team, best first, by the median of `rounds`; gbps may be NULL. Returns how many. */
int ceiling_pick(ceiling_kind kind, int threads, char *dst, const char *src, size_t bytes, int rounds,
                 const ceiling_loop **best, double *gbps, int room);

#ifdef __cplusplus
}
#endif
#endif

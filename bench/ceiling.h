/* SPDX-License-Identifier: MIT
 *
 * ceiling.h - how fast this machine reads and writes, measured in the process and the minute in
 * which tally is.
 *
 * Many loops are tried (ceiling_isa.c, once for each instruction set); the best of them for the
 * bytes and a number of threads is the ceiling. Its bytes are those that the job reads and those
 * that it writes.
 */
#ifndef CEILING_H
#define CEILING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a loop can do: write nothing (or next to nothing), write what it reads, or both in any
   proportion. */
typedef enum ceiling_kind { CEILING_READ, CEILING_COPY, CEILING_MIX } ceiling_kind;

/* A loop: reads `in` bytes and writes `out`, multiples of 64. src and dst are aligned to 64
 * bytes (to 4 KiB for what comes from memory). Reads return something of all they read. */
typedef struct ceiling_loop {
    const char *name;
    ceiling_kind kind;
    uint64_t (*run)(char *dst, size_t out, const char *src, size_t in);
} ceiling_loop;

enum { CEILING_LOOPS = 96 }; /* no more than that run anywhere */

extern const ceiling_loop ceiling_sse2[], ceiling_avx2[], ceiling_avx512[];
extern const int ceiling_sse2_count, ceiling_avx2_count, ceiling_avx512_count;

/* The loops that run here and can read `in` bytes and write `out`. */
int ceiling_loops(size_t in, size_t out, const ceiling_loop **list, int capacity);
/* `repeat` passes by a pinned team, whose threads take pieces in turn, one after another, each a
 * parallel region of its own as a call is; returns the seconds. Bytes are rounded up to 64. */
double ceiling_time(const ceiling_loop *loop, int threads, char *dst, size_t out, const char *src,
                    size_t in, int repeat);
/* The best loops for these bytes and this team, best first, by the median of `rounds`; gbps may
 * be NULL. Returns how many. */
int ceiling_pick(int threads, char *dst, size_t out, const char *src, size_t in, int rounds,
                 const ceiling_loop **best, double *gbps, int capacity);

/* The order of `count` contenders by the median of `rounds` rounds, in turns, best first:
 * best[0] is the number of the best, seconds[0] its median. time(with, i): seconds of one run.
 * Returns how many, at most capacity. */
int ceiling_best(int count, double (*time)(void *with, int i), void *with, int rounds, int *best,
                 double *seconds, int capacity);

#ifdef __cplusplus
}
#endif
#endif

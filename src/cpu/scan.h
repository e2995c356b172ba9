/* SPDX-License-Identifier: MIT
 * The scan of dense elements: scan_tiles.c on one thread, scan.c on several. */
#pragma once

#include "driver.h"

enum {
    /* Threads take blocks; three of them fit in a 512 KiB L2. Many large ones are faster than many
     * small ones. */
    TL_SCAN_BLOCK_BYTES = 64 * 1024,
    TL_SCAN_LARGE_BYTES = 128 * 1024,
    TL_SCAN_LARGE_BLOCKS = 16, /* for each thread */
    TL_SCAN_BLOCKS = 4,        /* for each thread, at least, of */
    TL_SCAN_SMALL_BYTES = 16 * 1024
};

/* Elements, and where their results go. */
typedef struct tl_scan_work {
    const char *x;
    int64_t n;
    char *out;
    int stream;                 /* use non-temporal stores */
    int64_t prefetch;           /* distance in bytes; 0: none */
    tl_staging staging;         /* of the calling thread */
    int64_t x_stride, y_stride; /* of elements and results; 1 on one thread */
} tl_scan_work;

/* How often a thread polls for the node of a block before it folds that block itself. Tests set it
 * to 0, or to -1: then threads fold published blocks too, and take turns as on a busy machine. */
extern int tl_scan_polls;

/* Prefetch distance of one thread. */
int64_t tl_scan_prefetch(const tl_plan *plan, int stream);

/* Blocks of 2^level elements for a scan of n elements on several threads. */
int tl_scan_block_level(const tl_plan *plan, int64_t n, int threads);

/* Scans elements on this thread. c: the counter to continue: s->done, or a thread's own. */
void tl_scan_serial(const tl_scan *s, tl_counter *c, const tl_scan_work *work);

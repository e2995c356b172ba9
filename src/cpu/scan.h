/* SPDX-License-Identifier: MIT
 * What scan.c, of one dense sequence, and scan_view.c, of views, share. */
#ifndef TL_CPU_SCAN_H
#define TL_CPU_SCAN_H
#include "shape.h"
#include "widen.h"

enum {
    TL_SCAN_STREAM_BYTES = 4 * 1024 * 1024, /* outputs from here on are stored past the caches */
    TL_SCAN_AHEAD_BYTES = 64 * 1024         /* one thread prefetches this far on, in a down-sweep: beside the stores */
};
/* `stream`: how results are stored, through the caches or past them. */
enum { TL_SCAN_CACHED = 0, TL_SCAN_STREAM = 1 };

/* The next n elements, on this thread alone; ahead: how many bytes further on to prefetch, 0: no prefetch. */
void tl_scan_serial(tl_scan *s, const char *x, int64_t n, char *out, int stream, int64_t ahead, tl_staging at);
#endif

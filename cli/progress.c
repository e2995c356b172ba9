/* SPDX-License-Identifier: MIT
 * progress.c - a line on standard error for work that takes more than a second, on a terminal
 * only. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void progress_begin(progress *p, const options *o, const char *name)
{
    p->on = !has(o, OPT_quiet) && isatty(2);
    p->drawn = 0;
    p->name = strcmp(name, "-") ? name : "standard input";
    p->start = p->shown = seconds();
    p->shown += 0.8; /* the first line appears after one second */
}

void progress_show(progress *p, int64_t done, int64_t total)
{
    if (!p->on) return;
    const double now = seconds();
    if (now - p->shown < 0.2) return;
    p->shown = now;
    p->drawn = 1;
    const double rate = (double)done / (now - p->start);
    fputs("\r\033[K", stderr);
    put_plain(stderr, p->name);
    fprintf(stderr, "  %.2f", (double)done * 1e-9);
    if (total > 0)
        fprintf(stderr, " of %.2f GB  %.0f%%  %.2f GB/s  %.0f s left", (double)total * 1e-9,
                100.0 * (double)done / (double)total, rate * 1e-9, (double)(total - done) / rate);
    else
        fprintf(stderr, " GB  %.2f GB/s", rate * 1e-9);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = 0;
}

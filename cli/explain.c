/* SPDX-License-Identifier: MIT
 * explain.c - what standard error tells: --explain (what was computed, where, and how fast), and on
 * a terminal a line of progress for work that takes more than a second. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The requested device. "auto" is replaced by TALLY_DEVICE; where only one device is usable, by its
 * name. */
static void device_text(const options *o, char *text, size_t bytes)
{
    const char *const env = getenv("TALLY_DEVICE");
    const char *asked = has(o, OPT_device) ? o->value[OPT_device] : "auto";
    tally_device_info d;
    const char *only = NULL;
    int usable = 0;
    for (int i = 0; tally_device(i, &d) == TALLY_OK; i++)
        if (d.usable && !usable++) only = d.name;
    if (!strncmp(asked, "auto", 4) && env && *env) asked = env;
    if (!strncmp(asked, "auto", 4) && usable == 1) asked = only;
    snprintf(text, bytes, "%.*s", (int)strcspn(asked, ","), asked);
}

/* Prints the times of a GPU. */
static void explain_device(tally *ctx)
{
    tally_times_info t;
    if (tally_times(ctx, &t) != TALLY_OK || t.launches == 0) return;
    fprintf(stderr, "  kernels      %.6f s on the device, %.3f s to compile or load them\n",
            t.kernels, t.compile);
    fprintf(stderr,
            "  copies       to the device %lld bytes in %.6f s, from it %lld bytes in %.6f s, "
            "beside the kernels if large\n",
            (long long)t.bytes_to_device, t.to_device, (long long)t.bytes_from_device,
            t.from_device);
    fprintf(stderr, "  memory       %lld bytes on the device, %lld page-locked\n",
            (long long)t.device_bytes, (long long)t.locked_bytes);
}

void explain(const options *o, tally *ctx, const input *in, const explanation *e)
{
    if (!has(o, OPT_explain)) return;
    const double taken = seconds() - e->start;
    char device[64];
    device_text(o, device, sizeof device);
    fprintf(stderr, "tally: %s %s of ", e->verb, e->op);
    put_plain(stderr, in->label);
    const int gpu = strcmp(device_of(ctx), "cpu") != 0;
    fprintf(stderr, "\n  device       %s%s%s, %d thread%s%s\n", device, gpu ? "" : ", isa ",
            gpu ? "" : tally_isa(ctx), tally_threads(ctx), tally_threads(ctx) == 1 ? "" : "s",
            gpu ? " for what the processors do" : "");
    fputs("  computed     ", stderr);
    put_ran(stderr, ctx, &e->ran);
    fputs("; read and written by the processors\n", stderr);
    fprintf(stderr, "  elements     %lld of %s, format %s, %s\n", (long long)in->n,
            tally_dtype_name(in->dtype), in->info.format,
            in->data && !in->owned ? "mapped"
            : in->owned            ? "loaded"
                                   : "streamed");
    fprintf(stderr, "  accumulator  %s\n",
            e->info->accumulator ? tally_dtype_name(e->info->accumulator)
                                 : "none (moves and comparisons)");
    fprintf(stderr, "  output       %s%s\n", tally_dtype_name(e->info->output),
            e->info->lanes > 1 ? ", several values per result" : "");
    fprintf(stderr, "  order        E v1, class %s\n",
            e->info->exact ? "X (exact: every schedule gives these bits)"
                           : "R (rounding: the tree decides the bits)");
    fprintf(stderr,
            "  time         %lld bytes in %.4f s, %.2f GB/s, reading and writing included\n",
            (long long)e->bytes, taken, taken > 0 ? (double)e->bytes / taken * 1e-9 : 0.0);
    explain_device(ctx);
}

/* ---- progress ---- */

int terminal_columns(int fd)
{
    struct winsize size;
    const char *const columns = getenv("COLUMNS");
    if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col) return size.ws_col;
    return columns ? atoi(columns) : 80;
}

int terminal_draws(int fd)
{
    const char *const term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

void progress_begin(progress *p, const options *o, const char *name)
{
    p->on = !has(o, OPT_quiet) && terminal_draws(2);
    p->drawn = 0;
    p->name = strcmp(name, "-") ? name : "standard input";
    p->start = p->shown = seconds();
    p->shown += 0.8; /* the first line appears after one second */
}

void progress_show(progress *p, input *in, int64_t elements)
{
    if (!p->on) return;
    const double now = seconds();
    if (now - p->shown < 0.2) return;
    p->shown = now;
    p->drawn = 1;
    const int64_t size = (int64_t)tally_dtype_size(in->dtype);
    if (in->n < 0) tally_file_get_info(in->file, &in->info);
    const double done = (double)(in->n < 0 ? in->info.bytes_read : elements * size),
                 total =
                     (double)(in->n < 0 ? in->info.bytes_total : in->n * size), /* -1: unknown */
        rate = done / (now - p->start);
    char text[128];
    int n = snprintf(text, sizeof text, "  %.2f", done * 1e-9);
    if (total > 0)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      " of %.2f GB  %.0f%%  %.2f GB/s  %.0f s left", total * 1e-9,
                      100 * done / total, rate * 1e-9, (total - done) / rate);
    else
        n += snprintf(text + n, sizeof text - (size_t)n, " GB  %.2f GB/s", rate * 1e-9);
    /* a line that is wider than the terminal could not be taken back */
    const int most = terminal_columns(2) - 1;
    fputs("\r\033[K", stderr);
    if (n + (int)strlen(p->name) <= most) put_plain(stderr, p->name);
    fprintf(stderr, "%.*s", most, text);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = 0;
}

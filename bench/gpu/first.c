/* SPDX-License-Identifier: MIT
 *
 * first.c - what the first call of a process costs on a GPU, by where its code comes from.
 *
 *     cc -O2 -I include bench/gpu/first.c -o first build/libtally.a -pthread -ldl -lm
 *     ./first [DEVICE [SRC]]          DEVICE: default cuda:0; SRC: the tree's src/, default src
 *
 * Every figure is the median of ROUNDS fresh processes, in ms: tally_open, then reduce, scan and
 * window of sum f32 on 4096 elements of host memory, the first and the second call of each.
 * Rows:
 *
 *   as built       an empty disk cache: embedded code if the build has it, else NVRTC
 *   compiled       a text that no build has embedded (op/sum.h with one more comment), an empty
 *                  cache
 *   disk cache     the same text again
 *   probe          tally_open with the start-up probe, on an empty cache
 *   probe passed   the same again
 */
#define _GNU_SOURCE
#include "../clock.h"
#include "tally.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 4096, ROUNDS = 5, FIGURES = 7 };
static const char *const figures[FIGURES] = {"open",   "reduce first", "second", "scan first",
                                             "second", "window first", "second"};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "first: %s: %s\n", what, why);
    exit(1);
}

/* In a process of its own: the figures on one line. */
static int child(const char *device)
{
    static float x[N], y[N];
    tally *ctx;
    double elapsed[FIGURES], begin = now_ms();
    for (int i = 0; i < N; i++) x[i] = (float)i;
    if (tally_open(&ctx, device)) stop(device, tally_error(NULL));
    elapsed[0] = now_ms() - begin;
    tally_view in = tally_flat(x, TALLY_F32, N), out = tally_flat(y, TALLY_F32, N);
    tally_window_options w = {99, 0, TALLY_EDGES_SHRINK, 0};
    for (int f = 1; f < FIGURES; f++) {
        begin = now_ms();
        tally_status s = f < 3   ? tally_reduce(ctx, "sum", &in, y)
                         : f < 5 ? tally_scan(ctx, "sum", &in, &out, NULL)
                                 : tally_window(ctx, "sum", &in, &out, &w);
        elapsed[f] = now_ms() - begin;
        if (s) stop(figures[f], tally_error(ctx));
    }
    tally_close(ctx);
    for (int f = 0; f < FIGURES; f++) printf("%.3f ", elapsed[f]);
    printf("\n");
    return 0;
}

static char self[500], folder[] = "/tmp/tally-first-XXXXXX";

static void shell(const char *command)
{
    if (system(command)) stop(command, "failed");
}

/* empty: the disk cache is emptied before each process. kernels: TALLY_KERNELS is the folder
   with the changed text. */
static void row(const char *name, const char *device, const char *probe, int empty, int kernels,
                int only_open)
{
    double elapsed[FIGURES][ROUNDS];
    char command[1200], clean[100];
    snprintf(clean, sizeof clean, "rm -rf %s/cache && mkdir %s/cache", folder, folder);
    snprintf(command, sizeof command, "XDG_CACHE_HOME=%s/cache %s%s%s %s child %s,probe=%s", folder,
             kernels ? "TALLY_KERNELS=" : "", kernels ? folder : "", kernels ? "/kernels" : "",
             self, device, probe);
    for (int r = 0; r < ROUNDS; r++) {
        if (empty) shell(clean);
        FILE *f = popen(command, "r");
        for (int k = 0; k < FIGURES; k++)
            if (!f || fscanf(f, "%lf", &elapsed[k][r]) != 1) stop(name, "no figures");
        pclose(f);
    }
    printf("%-14s", name);
    for (int k = 0; k < (only_open ? 1 : FIGURES); k++)
        printf(" %12.2f", median(elapsed[k], ROUNDS));
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "child")) return child(argv[2]);
    const char *device = argc > 1 ? argv[1] : "cuda:0", *source = argc > 2 ? argv[2] : "src";
    char command[1600];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || !mkdtemp(folder)) stop("starting", "no /proc, or no space in /tmp");
    self[length] = 0;
    snprintf(
        command, sizeof command,
        "mkdir -p %s/kernels/op && (cat '%s/op/sum.h'; echo '/* changed */') >%s/kernels/op/sum.h",
        folder, source, folder);
    shell(command);
    printf("tally %s, %s, ms (median of %d processes)\n%-14s", tally_version(), device, ROUNDS, "");
    for (int k = 0; k < FIGURES; k++) printf(" %12s", figures[k]);
    printf("\n");
    row("as built", device, "off", 1, 0, 0);
    row("compiled", device, "off", 1, 1, 0);
    row("disk cache", device, "off", 0, 1, 0);
    row("probe", device, "on", 1, 0, 1);
    row("probe passed", device, "on", 0, 0, 1);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    shell(command);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * place_cpu.c - the processors as a place, and the choice of a place.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "ceiling.h"
#include "cliffs.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAST_DEFAULT = 1 << 18, SLOW = 128 << 20 };

static const ceiling_loop *list[CEILING_LOOPS];

static void *alloc(place *p, size_t bytes) { return (void)p, memory_huge(bytes); }
static void release(place *p, void *memory, size_t bytes) { (void)p, memory_free(memory, bytes); }
static int same(place *p, void *to, const void *from, size_t bytes)
{
    return (void)p, to == from || memcpy(to, from, bytes);
}
static void finish(place *p) { (void)p; }
/* A job that is too short for a team has one thread's loops beside it, so each loop stands here
   twice. */
static int half;
static int loops(place *p, size_t in, size_t out)
{
    half = ceiling_loops(in, out, list, CEILING_LOOPS / 2);
    return p->threads > 1 && in + out <= 2 * p->fast ? 2 * half : half;
}
static const char *name(place *p, int loop)
{
    static char text[CLIFF_WORD];
    snprintf(text, sizeof text, "%s%s", list[loop % half]->name,
             p->threads > 1 && loop >= half ? " (one thread)" : "");
    return text;
}
static void run(place *p, int loop, void *dst, size_t out, const void *src, size_t in, int repeat)
{
    ceiling_time(list[loop % half], loop >= half ? 1 : p->threads, dst, out, src, in, repeat);
}
static void shut(place *p) { tally_close(p->ctx); }

static void describe(char *to, size_t capacity)
{
    char line[256], model[256] = "a processor";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %255[^\n]", model) == 1) break;
    if (f) fclose(f);
    snprintf(to, capacity, "%s, %d processors", model, team_most());
}

int place_cpu(place *p, const char *device, int threads)
{
    char words[64];
    snprintf(words, sizeof words, "%s,threads=%d", device, threads);
    *p = (place){.threads = threads,
                 .alloc = alloc,
                 .free = release,
                 .put = same,
                 .get = same,
                 .finish = finish,
                 .loops = loops,
                 .name = name,
                 .run = run,
                 .close = shut};
    if (tally_open(&p->ctx, words)) return fprintf(stderr, "cliffs: %s\n", tally_error(NULL)), 0;
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    char model[200];
    describe(model, sizeof model);
    snprintf(p->text, sizeof p->text, "%s, %s kernels", model, tally_isa(p->ctx));
    snprintf(p->device, sizeof p->device, "%.3s", device);
    p->fast = (cache > 0 ? (size_t)cache / 4 : FAST_DEFAULT) * (size_t)threads;
    p->slow = SLOW;
    cpu_set_t all;
    const int known = !sched_getaffinity(0, sizeof all, &all);
    team_pin(threads);
    /* tally's threads are made later and run where the thread that makes them may run */
    if (threads > 1 && known) sched_setaffinity(0, sizeof all, &all);
    return 1;
}

int place_open(place *p, const char *device, int threads)
{
    const char *const colon = strchr(device, ':');
    const int number = colon ? atoi(colon + 1) : 0;
    if (!strncmp(device, "cpu", 3)) return place_cpu(p, device, threads);
    if (!strncmp(device, "cuda", 4)) return place_cuda(p, number);
    if (!strncmp(device, "opencl", 6)) return place_opencl(p, number);
    fprintf(stderr, "cliffs: the device '%s' is none of cpu, cuda:N, opencl:N\n", device);
    return 0;
}

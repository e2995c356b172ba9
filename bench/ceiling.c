/* SPDX-License-Identifier: MIT
 *
 * ceiling.c - runs the loops of ceiling_isa.c on a team and keeps the best. See ceiling.h.
 */
#include "ceiling.h"
#include "bench.h"
#include <omp.h>

enum { LOOPS = 96, ROUNDS = 32, TILE = 16384 };

static volatile uint64_t sink;

int ceiling_loops(ceiling_kind kind, const ceiling_loop **list, int room)
{
    struct {
        const ceiling_loop *loops;
        int count, here;
    } isa[] = {
        {ceiling_sse2, ceiling_sse2_count, 1},
#if defined(__x86_64__)
        {ceiling_avx2, ceiling_avx2_count, __builtin_cpu_supports("avx2")},
        {ceiling_avx512, ceiling_avx512_count, __builtin_cpu_supports("avx512f")},
#endif
    };
    int found = 0;
    for (size_t s = 0; s < sizeof isa / sizeof *isa; s++)
        for (int i = 0; isa[s].here && i < isa[s].count; i++)
            if (isa[s].loops[i].kind == kind && found < room) list[found++] = &isa[s].loops[i];
    return found;
}

double ceiling_time(const ceiling_loop *loop, int threads, char *dst, const char *src, size_t bytes, int repeat)
{
    const size_t tiles = bytes / TILE;
    uint64_t all = 0;
    const double start = now();
#pragma omp parallel num_threads(threads) reduction(^ : all)
    {
        const size_t k = (size_t)omp_get_thread_num(), of = (size_t)omp_get_num_threads();
        const size_t from = tiles * k / of * TILE, to = tiles * (k + 1) / of * TILE;
        for (int r = 0; r < repeat; r++) all ^= loop->run(dst ? dst + from : NULL, src + from, to - from);
    }
    const double seconds = now() - start;
    sink = all;
    return seconds;
}

int ceiling_pick(ceiling_kind kind, int threads, char *dst, const char *src, size_t bytes, int rounds,
                 const ceiling_loop **best, double *gbps, int room)
{
    const ceiling_loop *list[LOOPS];
    double seconds[LOOPS][ROUNDS], middle[LOOPS];
    const int count = ceiling_loops(kind, list, LOOPS);
    const size_t moved = bytes / TILE * TILE * (kind == CEILING_COPY ? 2 : 1);
    const int repeat = moved >= (64u << 20) ? 1 : (int)((64u << 20) / (moved + 1)) + 1;
    if (rounds > ROUNDS) rounds = ROUNDS;
    team_pin(threads);
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < count; i++) seconds[i][r] = ceiling_time(list[i], threads, dst, src, bytes, repeat);
    for (int i = 0; i < count; i++) middle[i] = median(seconds[i], rounds);
    int found = 0;
    for (; found < room && found < count; found++) {
        int least = 0;
        for (int i = 1; i < count; i++)
            if (middle[i] < middle[least]) least = i;
        best[found] = list[least];
        if (gbps) gbps[found] = 1e-9 * (double)moved * repeat / middle[least];
        middle[least] = 1e300;
    }
    return found;
}

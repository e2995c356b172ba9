/* SPDX-License-Identifier: MIT
 * ceiling.c - what the memory gives here: a read and a copy on the same threads, prefetched and
 * stored past the caches, to hold the results against. The threads are those of tally's calls:
 * no pass pays for making them. */
#include "ceiling.h"
#include "context/threads.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* While row `row` (512 bytes) of four pages is moved, asks for two lines of each of the next
 * four: the processor's own prefetchers stop at the end of a page, and four pages at once keep
 * more of them busy. */
static void ask(const char *next, int row)
{
    for (int page = 0; page < 4; page++) {
        __builtin_prefetch(next + page * 4096 + row * 128, 0, 2);
        __builtin_prefetch(next + page * 4096 + row * 128 + 64, 0, 2);
    }
}

/* 64 bytes past the caches where the processor can; `to` is aligned to 16 bytes. */
static void store_line(char *to, const char *from)
{
#if defined(__SSE2__)
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
#else
    memcpy(to, from, 64);
#endif
}

enum { TILE = 16384, ROW = 512, PIECE = 1 << 20, SHARES = 32, LARGE_PAGE = 2 << 20 };
typedef uint64_t line __attribute__((vector_size(64)));

/* How to walk: with or without asking for the next tile; a copy also with plain stores, which stay
   in the caches; a read also by quarters side by side. Which one is quickest depends on the machine
   and on the size. */
enum { PLAIN, ASKING, CACHED, QUARTERS = CACHED };

static inline __attribute__((always_inline)) uint64_t read_part(const char *from, size_t bytes,
                                                                int walk)
{
    /* four chains, so that the adds never wait for each other */
    line a = {0}, b = {0}, c = {0}, d = {0}, x[4];
    uint64_t sum = 0;
    const char *const all = from + bytes / 64 * 64;
    if (walk == QUARTERS) {
        const size_t quarter = bytes / 4 / 64 * 64;
        for (const char *const end = from + quarter; from < end; from += 64) {
            for (int i = 0; i < 4; i++) memcpy(&x[i], from + (size_t)i * quarter, 64);
            a += x[0], b += x[1], c += x[2], d += x[3];
        }
        from += 3 * quarter;
    }
    for (const char *const end = from + (size_t)(all - from) / TILE * TILE; from < end;
         from += TILE)
        for (int row = 0; row < TILE / ROW; row++) {
            if (walk == ASKING) ask(from + TILE, row);
            for (int half = 0; half < ROW; half += ROW / 2) {
                memcpy(x, from + row * ROW + half, sizeof x);
                a += x[0], b += x[1], c += x[2], d += x[3];
            }
        }
    for (; from < all; from += 64) {
        memcpy(x, from, 64);
        a += x[0];
    }
    a += b + c + d;
    for (int i = 0; i < 8; i++) sum += a[i];
    return sum;
}

static inline __attribute__((always_inline)) uint64_t copy_part(char *to, const char *from,
                                                                size_t bytes, int walk)
{
    const size_t tiles = walk == CACHED ? 0 : bytes / TILE * TILE;
    for (size_t tile = 0; tile < tiles; tile += TILE)
        for (int row = 0; row < TILE / ROW; row++) {
            if (walk == ASKING) ask(from + tile + TILE, row);
            for (size_t o = tile + (size_t)row * ROW; o < tile + (size_t)(row + 1) * ROW; o += 64)
                store_line(to + o, from + o);
        }
    memcpy(to + tiles, from + tiles, bytes - tiles);
#if defined(__SSE2__)
    _mm_sfence();
#endif
    return 0;
}

typedef struct {
    const ceiling *c;
    int copy, walk;
    int64_t pieces;
    uint64_t sum;
} pass_work;

static void one_piece(void *data, int64_t k)
{
    pass_work *w = data;
    const ceiling *c = w->c;
    const size_t each = (size_t)c->bytes / (size_t)w->pieces / 64 * 64, at = each * (size_t)k,
                 bytes = k == w->pieces - 1 ? (size_t)c->bytes - at : each;
    uint64_t sum = 0;
    if (!w->copy)
        sum = w->walk == ASKING     ? read_part(c->a + at, bytes, ASKING)
              : w->walk == QUARTERS ? read_part(c->a + at, bytes, QUARTERS)
                                    : read_part(c->a + at, bytes, PLAIN);
    else if (w->walk == ASKING)
        copy_part(c->b + at, c->a + at, bytes, ASKING);
    else
        copy_part(c->b + at, c->a + at, bytes, w->walk);
    __atomic_fetch_add(&w->sum, sum, __ATOMIC_RELAXED);
}

/* Threads take pieces in turn: shares of one size wait for the slowest processor. Each takes many:
   with 4 of 1 MiB for each of 16 threads the last ones took a fifth of the time. */
static int64_t pieces_of(const ceiling *c)
{
    const int64_t many = c->bytes / PIECE, least = SHARES * (int64_t)c->threads;
    if (c->threads == 1 || c->bytes < least * 4 * TILE) return c->threads;
    return many > least ? many : least;
}

double ceiling_pass(ceiling *c, int copy, int walk, int64_t passes)
{
    const double begin = clock_seconds();
    pass_work all = {c, copy, walk, pieces_of(c), 0};
    for (int64_t i = 0; i < passes; i++) tl_for(c->threads, all.pieces, one_piece, &all);
    const double taken = clock_seconds() - begin;
    c->sum += all.sum; /* or the compiler drops the reads */
    return taken / (double)passes;
}

void *ceiling_memory(size_t bytes)
{
    const size_t all = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (bytes < LARGE_PAGE) return malloc(bytes);
    void *const memory = aligned_alloc(LARGE_PAGE, all);
#ifdef MADV_HUGEPAGE
    if (memory) madvise(memory, all, MADV_HUGEPAGE);
#endif
    return memory;
}

int ceiling_open(ceiling *c, int64_t bytes, int threads)
{
    *c = (ceiling){.bytes = bytes, .threads = threads};
    c->a = bytes > 0 ? ceiling_memory((size_t)bytes) : NULL;
    c->b = bytes > 0 ? ceiling_memory((size_t)bytes) : NULL;
    if (c->a && c->b) {
        memset(c->a, 1, (size_t)bytes); /* every page is there before the clock runs */
        memset(c->b, 2, (size_t)bytes);
        return 0;
    }
    ceiling_close(c);
    return 1;
}

void ceiling_close(ceiling *c)
{
    free(c->a);
    free(c->b);
    c->a = c->b = NULL;
}

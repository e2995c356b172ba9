/* SPDX-License-Identifier: MIT
 *
 * ceiling_isa.c - the read and copy loops, compiled once for each instruction set: cc -DISA=avx2 -mavx2.
 *
 * Four ways to walk memory, none of which a program needs to prefer beforehand:
 *
 *     in order         one line after another, with or without a prefetch so many bytes ahead
 *     rows             a 4 KiB page as 8 rows of 512 bytes: 128 bytes of each row, then the next 128
 *     pages            four pages side by side: 128 bytes of each, then the next 128
 *     streams          a quarter of the whole each, side by side
 *
 * and for copies plain and non-temporal stores. In a tile (16 KiB, four pages, written in order), while row r of 512
 * bytes is moved, two lines of each of the four pages of the next tile are asked for.
 */
#include "ceiling.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define TEXT_(a)     #a
#define TEXT(a)      TEXT_(a)
#define always       static inline __attribute__((always_inline))
#define UNROLL       _Pragma("GCC unroll 16")

#if defined(__AVX512F__)
enum { W = 64 };
typedef long long V __attribute__((vector_size(64), may_alias));
always void stream(char *p, V v) { _mm512_stream_si512((void *)p, (__m512i)v); }
#elif defined(__AVX2__)
enum { W = 32 };
typedef long long V __attribute__((vector_size(32), may_alias));
always void stream(char *p, V v) { _mm256_stream_si256((__m256i *)p, (__m256i)v); }
#else
enum { W = 16 };
typedef long long V __attribute__((vector_size(16), may_alias));
#if defined(__x86_64__)
always void stream(char *p, V v) { _mm_stream_si128((__m128i *)p, (__m128i)v); }
#else
always void stream(char *p, V v) { *(V *)p = v; }
#endif
#endif
always V load(const char *p) { return *(const V *)p; }
always void store(char *p, V v) { *(V *)p = v; }
always void fence(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

enum { LINE = 64, PAGE = 4096, TILE = 4 * PAGE };
typedef struct {
    V a[8];
} sum;

/* `bytes` bytes from p into eight accumulators; `bytes` is a constant of at most 512. */
always void take(sum *s, const char *p, int bytes)
{
    UNROLL for (int i = 0; i < bytes / W; i++) s->a[i % 8] ^= load(p + i * W);
}
always uint64_t all(const sum *s)
{
    V t = s->a[0] ^ s->a[1] ^ s->a[2] ^ s->a[3] ^ s->a[4] ^ s->a[5] ^ s->a[6] ^ s->a[7];
    uint64_t r = 0;
    for (int i = 0; i < W / 8; i++) r ^= (uint64_t)t[i];
    return r;
}

always uint64_t read_ahead(const char *p, size_t bytes, size_t ahead)
{
    sum s = {0};
    for (size_t i = 0; i < bytes; i += 512) {
        if (ahead) UNROLL for (int l = 0; l < 512; l += LINE) __builtin_prefetch(p + i + ahead + l, 0, 3);
        take(&s, p + i, 512);
    }
    return all(&s);
}
static uint64_t read_0(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 0);
}
static uint64_t read_512(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 512);
}
static uint64_t read_1k(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 1024);
}
static uint64_t read_2k(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 2048);
}
static uint64_t read_4k(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 4096);
}
static uint64_t read_8k(char *d, const char *p, size_t b)
{
    (void)d;
    return read_ahead(p, b, 8192);
}

static uint64_t read_rows(char *d, const char *p, size_t bytes)
{
    (void)d;
    sum s = {0};
    for (size_t i = 0; i < bytes; i += PAGE)
        for (int c = 0; c < 512; c += 128) UNROLL for (int r = 0; r < 8; r++) take(&s, p + i + r * 512 + c, 128);
    return all(&s);
}

/* Four pages side by side; `step` bytes of each; ahead: the same bytes of the next four pages are asked for. */
always uint64_t read_tiles(const char *p, size_t bytes, int step, int ahead)
{
    sum s = {0};
    for (size_t i = 0; i < bytes; i += TILE)
        for (int c = 0; c < PAGE; c += step) UNROLL for (int r = 0; r < 4; r++)
            {
                const char *q = p + i + r * PAGE + c;
                if (ahead)
                    for (int l = 0; l < step; l += LINE) __builtin_prefetch(q + TILE + l, 0, 3);
                take(&s, q, step);
            }
    return all(&s);
}
static uint64_t read_pages(char *d, const char *p, size_t b)
{
    (void)d;
    return read_tiles(p, b, 128, 0);
}
static uint64_t read_pages_ahead(char *d, const char *p, size_t b)
{
    (void)d;
    return read_tiles(p, b, 128, 1);
}
static uint64_t read_pages_wide(char *d, const char *p, size_t b)
{
    (void)d;
    return read_tiles(p, b, 256, 0);
}

/* In order, while two lines of each page of the next tile are asked for in every row of 512 bytes. */
always void ask(const char *next, int row)
{
    UNROLL for (int q = 0; q < 4; q++)
    {
        __builtin_prefetch(next + q * PAGE + row * 2 * LINE, 0, 2);
        __builtin_prefetch(next + q * PAGE + row * 2 * LINE + LINE, 0, 2);
    }
}
static uint64_t read_tile(char *d, const char *p, size_t bytes)
{
    (void)d;
    sum s = {0};
    for (size_t i = 0; i < bytes; i += TILE)
        for (int r = 0; r < 32; r++) {
            ask(p + i + TILE, r);
            take(&s, p + i + r * 512, 512);
        }
    return all(&s);
}

static uint64_t read_streams(char *d, const char *p, size_t bytes)
{
    (void)d;
    sum s = {0};
    const size_t quarter = bytes / 4;
    for (size_t i = 0; i < quarter; i += 128) UNROLL for (int r = 0; r < 4; r++) take(&s, p + r * quarter + i, 128);
    return all(&s);
}

static uint64_t copy_memcpy(char *d, const char *p, size_t bytes)
{
    memcpy(d, p, bytes);
    return 0;
}

/* nt: non-temporal stores. tile: ask for the next tile. rows: move a page in the order of read_rows. */
always uint64_t copy_any(char *d, const char *p, size_t bytes, int nt, int tile, int rows)
{
    for (size_t i = 0; i < bytes; i += TILE)
        for (int r = 0; r < 32; r++) {
            if (tile) ask(p + i + TILE, r);
            UNROLL for (int c = 0; c < 512; c += W)
            {
                const size_t at = rows ? i + r / 8 * PAGE + (size_t)(c / LINE * 512 + r % 8 * LINE + c % LINE)
                                       : i + (size_t)(r * 512 + c);
                if (nt)
                    stream(d + at, load(p + at));
                else
                    store(d + at, load(p + at));
            }
        }
    if (nt) fence();
    return 0;
}
static uint64_t copy_plain(char *d, const char *p, size_t b) { return copy_any(d, p, b, 0, 0, 0); }
static uint64_t copy_plain_tile(char *d, const char *p, size_t b) { return copy_any(d, p, b, 0, 1, 0); }
static uint64_t copy_nt(char *d, const char *p, size_t b) { return copy_any(d, p, b, 1, 0, 0); }
static uint64_t copy_nt_tile(char *d, const char *p, size_t b) { return copy_any(d, p, b, 1, 1, 0); }
static uint64_t copy_nt_rows(char *d, const char *p, size_t b) { return copy_any(d, p, b, 1, 0, 1); }

#define ISA_NAME TEXT(ISA) " "
const ceiling_loop PASTE(ceiling, ISA)[] = {
    {ISA_NAME "read", CEILING_READ, read_0},
    {ISA_NAME "read +512", CEILING_READ, read_512},
    {ISA_NAME "read +1K", CEILING_READ, read_1k},
    {ISA_NAME "read +2K", CEILING_READ, read_2k},
    {ISA_NAME "read +4K", CEILING_READ, read_4k},
    {ISA_NAME "read +8K", CEILING_READ, read_8k},
    {ISA_NAME "read rows", CEILING_READ, read_rows},
    {ISA_NAME "read pages", CEILING_READ, read_pages},
    {ISA_NAME "read pages +tile", CEILING_READ, read_pages_ahead},
    {ISA_NAME "read pages 256", CEILING_READ, read_pages_wide},
    {ISA_NAME "read +tile", CEILING_READ, read_tile},
    {ISA_NAME "read 4 streams", CEILING_READ, read_streams},
    {ISA_NAME "memcpy", CEILING_COPY, copy_memcpy},
    {ISA_NAME "copy", CEILING_COPY, copy_plain},
    {ISA_NAME "copy +tile", CEILING_COPY, copy_plain_tile},
    {ISA_NAME "copy nt", CEILING_COPY, copy_nt},
    {ISA_NAME "copy nt +tile", CEILING_COPY, copy_nt_tile},
    {ISA_NAME "copy nt rows", CEILING_COPY, copy_nt_rows},
};
const int PASTE(PASTE(ceiling, ISA), count) = sizeof PASTE(ceiling, ISA) / sizeof *PASTE(ceiling, ISA);

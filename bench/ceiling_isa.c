/* SPDX-License-Identifier: MIT
 *
 * ceiling_isa.c - the read and copy loops, compiled once for each instruction set: cc -DISA=avx2
 * -mavx2.
 *
 * Four ways to walk memory, none of which a program needs to prefer beforehand:
 *
 *     in order         one line after another, with or without a prefetch so many bytes ahead
 *     rows             a 4 KiB page as 8 rows of 512 bytes: 128 bytes of each row, then the next
 *                      128
 *     pages            four pages side by side: 128 bytes of each, then the next 128
 *     streams          a quarter of the whole each, side by side
 *
 * and for writing plain and non-temporal stores. In a tile (16 KiB, four pages, written in
 * order), while row r of 512 bytes is moved, two lines of each of the four pages of the next
 * tile are asked for. A mix writes more or less than it reads, evenly: what it writes is made of
 * all that it has read.
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

enum { LINE = 64, ROW = 512, PAGE = 4096, TILE = 4 * PAGE };
typedef struct {
    V a[8];
} sum;

/* `bytes` bytes from p into eight accumulators; `bytes` is a constant of at most 512. */
always void take(sum *s, const char *p, int bytes)
{
    UNROLL for (int i = 0; i < bytes / W; i++) s->a[i % 8] ^= load(p + i * W);
}
/* What is left after whole tiles: rows, then lines. */
always void take_rest(sum *s, const char *p, size_t from, size_t to)
{
    for (; from + ROW <= to; from += ROW) take(s, p + from, ROW);
    for (; from < to; from += LINE) take(s, p + from, LINE);
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
    const size_t whole = bytes / ROW * ROW;
    for (size_t i = 0; i < whole; i += ROW) {
        if (ahead)
            UNROLL for (int l = 0; l < ROW; l += LINE) __builtin_prefetch(p + i + ahead + l, 0, 3);
        take(&s, p + i, ROW);
    }
    take_rest(&s, p, whole, bytes);
    return all(&s);
}

always uint64_t read_rows(const char *p, size_t bytes)
{
    sum s = {0};
    const size_t whole = bytes / PAGE * PAGE;
    for (size_t i = 0; i < whole; i += PAGE)
        for (int c = 0; c < ROW; c += 128)
            UNROLL for (int r = 0; r < 8; r++) take(&s, p + i + r * ROW + c, 128);
    take_rest(&s, p, whole, bytes);
    return all(&s);
}

/* Four pages side by side; `step` bytes of each; ahead: the same bytes of the next four pages
   are asked for. */
always uint64_t read_tiles(const char *p, size_t bytes, int step, int ahead)
{
    sum s = {0};
    const size_t whole = bytes / TILE * TILE;
    for (size_t i = 0; i < whole; i += TILE)
        for (int c = 0; c < PAGE; c += step) UNROLL for (int r = 0; r < 4; r++)
            {
                const char *q = p + i + r * PAGE + c;
                if (ahead)
                    for (int l = 0; l < step; l += LINE) __builtin_prefetch(q + TILE + l, 0, 3);
                take(&s, q, step);
            }
    take_rest(&s, p, whole, bytes);
    return all(&s);
}

/* In order, while two lines of each page of the next tile are asked for in every row of 512
   bytes. */
always void ask(const char *next, int row)
{
    UNROLL for (int q = 0; q < 4; q++)
    {
        __builtin_prefetch(next + q * PAGE + row * 2 * LINE, 0, 2);
        __builtin_prefetch(next + q * PAGE + row * 2 * LINE + LINE, 0, 2);
    }
}
always uint64_t read_tile(const char *p, size_t bytes)
{
    sum s = {0};
    const size_t whole = bytes / TILE * TILE;
    for (size_t i = 0; i < whole; i += TILE)
        for (int r = 0; r < TILE / ROW; r++) {
            ask(p + i + TILE, r);
            take(&s, p + i + r * ROW, ROW);
        }
    take_rest(&s, p, whole, bytes);
    return all(&s);
}

always uint64_t read_streams(const char *p, size_t bytes)
{
    sum s = {0};
    const size_t quarter = bytes / ROW * 128;
    for (size_t i = 0; i < quarter; i += 128)
        UNROLL for (int r = 0; r < 4; r++) take(&s, p + r * quarter + i, 128);
    take_rest(&s, p, 4 * quarter, bytes);
    return all(&s);
}

always void put(char *p, V v, int nt)
{
    if (nt)
        stream(p, v);
    else
        store(p, v);
}

/* nt: non-temporal stores. tile: ask for the next tile. rows: move a page in the order of
   read_rows. */
always uint64_t copy_any(char *d, const char *p, size_t bytes, int nt, int tile, int rows)
{
    const size_t whole = bytes / TILE * TILE;
    for (size_t i = 0; i < whole; i += TILE)
        for (int r = 0; r < TILE / ROW; r++) {
            if (tile) ask(p + i + TILE, r);
            UNROLL for (int c = 0; c < ROW; c += W)
            {
                const size_t at =
                    rows ? i + r / 8 * PAGE + (size_t)(c / LINE * ROW + r % 8 * LINE + c % LINE)
                         : i + (size_t)(r * ROW + c);
                put(d + at, load(p + at), nt);
            }
        }
    for (size_t at = whole; at < bytes; at += W) put(d + at, load(p + at), nt);
    if (nt) fence();
    return 0;
}

/* `in` bytes read and `out` written: after each row as many lines as are due. */
always uint64_t mix_any(char *d, size_t out, const char *p, size_t in, int nt, int tile)
{
    sum s = {0};
    /* bytes a row, times 2^12 */
    const size_t rows = in / ROW, each = rows ? (out << 12) / rows : 0;
    size_t due = 0, done = 0;
    for (size_t r = 0; r < rows; r++) {
        if (tile) ask(p + r / 32 * TILE + TILE, (int)(r % 32));
        take(&s, p + r * ROW, ROW);
        due += each;
        for (const size_t until = due >> 12; done + ROW <= until; done += ROW)
            UNROLL for (int c = 0; c < ROW; c += W) put(d + done + c, s.a[c / W % 8], nt);
        for (const size_t until = due >> 12; done + LINE <= until; done += LINE)
            UNROLL for (int c = 0; c < LINE; c += W) put(d + done + c, s.a[c / W], nt);
    }
    take_rest(&s, p, rows * ROW, in);
    for (; done + LINE <= out; done += LINE)
        UNROLL for (int c = 0; c < LINE; c += W) put(d + done + c, s.a[c / W], nt);
    if (nt) fence();
    return all(&s);
}

#define LOOPS(READ, COPY, MIX) \
    READ(read_0, "read", read_ahead(p, in, 0)) \
    READ(read_512, "read +512", read_ahead(p, in, 512)) \
    READ(read_1k, "read +1K", read_ahead(p, in, 1024)) \
    READ(read_2k, "read +2K", read_ahead(p, in, 2048)) \
    READ(read_4k, "read +4K", read_ahead(p, in, 4096)) \
    READ(read_8k, "read +8K", read_ahead(p, in, 8192)) \
    READ(read_page_rows, "read rows", read_rows(p, in)) \
    READ(read_pages, "read pages", read_tiles(p, in, 128, 0)) \
    READ(read_pages_ahead, "read pages +tile", read_tiles(p, in, 128, 1)) \
    READ(read_pages_wide, "read pages 256", read_tiles(p, in, 256, 0)) \
    READ(read_next_tile, "read +tile", read_tile(p, in)) \
    READ(read_4_streams, "read 4 streams", read_streams(p, in)) \
    COPY(copy_memcpy, "memcpy", (memcpy(d, p, in), 0)) \
    COPY(copy_plain, "copy", copy_any(d, p, in, 0, 0, 0)) \
    COPY(copy_plain_tile, "copy +tile", copy_any(d, p, in, 0, 1, 0)) \
    COPY(copy_nt, "copy nt", copy_any(d, p, in, 1, 0, 0)) \
    COPY(copy_nt_tile, "copy nt +tile", copy_any(d, p, in, 1, 1, 0)) \
    COPY(copy_nt_rows, "copy nt rows", copy_any(d, p, in, 1, 0, 1)) \
    MIX(mix_plain, "mix", mix_any(d, out, p, in, 0, 0)) \
    MIX(mix_plain_tile, "mix +tile", mix_any(d, out, p, in, 0, 1)) \
    MIX(mix_nt, "mix nt", mix_any(d, out, p, in, 1, 0)) \
    MIX(mix_nt_tile, "mix nt +tile", mix_any(d, out, p, in, 1, 1))

#define DEFINE(name, text, call) \
    static uint64_t name(char *d, size_t out, const char *p, size_t in) \
    { \
        (void)d, (void)out; \
        return call; \
    }
LOOPS(DEFINE, DEFINE, DEFINE)

#define ROW_READ(name, text, call) {TEXT(ISA) " " text, CEILING_READ, name},
#define ROW_COPY(name, text, call) {TEXT(ISA) " " text, CEILING_COPY, name},
#define ROW_MIX(name, text, call)  {TEXT(ISA) " " text, CEILING_MIX, name},
const ceiling_loop PASTE(ceiling, ISA)[] = {LOOPS(ROW_READ, ROW_COPY, ROW_MIX)};
const int PASTE(PASTE(ceiling, ISA), count) = sizeof PASTE(ceiling, ISA) /
                                              sizeof *PASTE(ceiling, ISA);

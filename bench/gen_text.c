/* SPDX-License-Identifier: MIT
 *
 * gen_text.c - writes decimals, one a line, always the same ones: gen_text 50000000 >
 * decimals.txt (about 570 MB).
 *
 * Values in [-1000, 1000) with six digits after the point: like "-123.456789".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t hash(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

int main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? strtoll(argv[1], NULL, 10) : 50000000;
    static char buffer[1 << 16];
    size_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t h = hash((uint64_t)i);
        char digits[16], *p = digits + sizeof digits;
        uint64_t v = (h >> 1) % 1000000000u; /* 10^6 times the value */
        *--p = '\n';
        for (int d = 0; v || d < 7; d++) {
            if (d == 6) *--p = '.';
            *--p = (char)('0' + v % 10);
            v /= 10;
        }
        if (h & 1) *--p = '-';
        while (p < digits + sizeof digits) buffer[used++] = *p++;
        if (used > sizeof buffer - 32 || i + 1 == count) {
            if (fwrite(buffer, 1, used, stdout) != used) {
                perror("gen_text");
                return 1;
            }
            used = 0;
        }
    }
    return fflush(stdout) != 0;
}

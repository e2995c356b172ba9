/* SPDX-License-Identifier: MIT
 * Writes a .npy file of N made-up f32 numbers whose sum depends on the order: random signs, six decades of magnitude,
 * the same numbers on every machine.
 * Run: generate 5 - | od -An -v -tx4 -j128 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

enum { CHUNK = 1 << 16 };

int main(int argc, char **argv)
{
    static float x[CHUNK];
    const int64_t n = argc == 3 ? strtoll(argv[1], NULL, 10) : 0;
    uint64_t state = 1;
    tally *t;
    tally_file *f;
    if (n < 1) return fprintf(stderr, "usage: generate N FILE.npy\n"), 2;
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    if (tally_file_create(t, argv[2], "npy", TALLY_F32, 1, &n, 0, &f))
        return fprintf(stderr, "%s\n", tally_error(t)), 1;
    for (int64_t done = 0; done < n;) {
        const int64_t now = n - done < CHUNK ? n - done : CHUNK;
        for (int64_t i = 0; i < now; i++) {
            state =
                state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
            const uint32_t r = (uint32_t)(state >> 32);
            /* sign and mantissa at random, exponent 107..126: |x| in [2^-20, 1) */
            const uint32_t bits = (r & 0x807fffffu) | (107 + (r >> 23 & 255) * 20 / 256) << 23;
            memcpy(&x[i], &bits, sizeof bits);
        }
        if (tally_file_write(f, x, now)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
        done += now;
    }
    if (tally_file_commit(f)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
    tally_close(t);
    return 0;
}

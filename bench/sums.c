/* SPDX-License-Identifier: MIT
 * sums.c - the loop that everybody writes, over the f32 numbers of a .npy file. Compiled with -Ofast the compiler keeps
 * as many running totals as its vectors have lanes; with -fopenmp each thread adds its own part.
 * Run by sums.py: sums FILE.npy. Prints the bits of the sum in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads the numbers that follow the header; a file of version 1.0, as tally and NumPy write it. */
static float *load(const char *path, long *n)
{
    unsigned char head[10];
    float *x = NULL;
    FILE *const f = fopen(path, "rb");
    if (!f) return NULL;
    if (fread(head, 1, sizeof head, f) == sizeof head && !memcmp(head, "\x93NUMPY\x01", 7) &&
        !fseek(f, 0, SEEK_END)) {
        const long start = 10 + head[8] + 256L * head[9], bytes = ftell(f) - start;
        *n = bytes / 4;
        x = malloc((size_t)bytes);
        if (x && (fseek(f, start, SEEK_SET) || fread(x, 4, (size_t)*n, f) != (size_t)*n)) *n = -1;
    }
    fclose(f);
    return x;
}

int main(int argc, char **argv)
{
    long n = 0;
    float *const x = argc == 2 ? load(argv[1], &n) : NULL;
    float sum = 0;
    unsigned bits;

    if (!x || n < 1) return fprintf(stderr, "usage: sums FILE.npy\n"), 2;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < n; i++) sum += x[i];
    memcpy(&bits, &sum, sizeof bits);
    printf("0x%08x\n", bits);
    free(x);
    return 0;
}

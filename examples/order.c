/* SPDX-License-Identifier: MIT
 * Why an order is needed: the same f32 numbers added with 1, 4, 8 and 16 running totals, which is what a compiler makes
 * of a loop for different vector widths, and by tally with different threads.
 * Run: order */
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>

/* FILE is a .npy file of f32; without one, 1000003 numbers are made up. */
int main(int argc, char **argv)
{
    int64_t n = 1000003;
    float *made = NULL;
    const float *x;
    tally_file *f = NULL;
    tally_file_info info;
    if (argc > 1) {
        const tally_file_options o = {.dtype = TALLY_F32};
        if (tally_file_open(NULL, argv[1], &o, &f))
            return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
        tally_file_get_info(f, &info);
        x = info.mapped, n = info.elements;
        if (!x) return fprintf(stderr, "%s cannot be mapped into memory\n", argv[1]), 1;
    } else {
        if (!(made = malloc((size_t)n * sizeof *made))) return 1;
        for (int64_t i = 0; i < n; i++)
            made[i] = (float)((uint32_t)(i * 2654435761u) >> 8) / 16777216.0f - 0.49f;
        x = made;
    }
    for (int lanes = 1; lanes <= 16; lanes *= lanes == 1 ? 4 : 2) {
        float total[16] = {0};
        int64_t i = 0;
        for (; i + lanes <= n; i += lanes)
            for (int j = 0; j < lanes; j++) total[j] += x[i + j];
        for (; i < n; i++) total[0] += x[i];
        for (int j = 1; j < lanes; j++) total[0] += total[j];
        printf("plain loop, %2d running totals: %.9g\n", lanes, total[0]);
    }
    for (int threads = 1; threads <= 3; threads++) {
        char device[32];
        float sum;
        tally *t;
        const tally_view in = tally_flat(x, TALLY_F32, n);
        snprintf(device, sizeof device, "cpu,threads=%d", threads);
        if (tally_open(&t, device)) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
        if (tally_reduce(t, "sum", &in, &sum)) return fprintf(stderr, "%s\n", tally_error(t)), 1;
        printf("tally, %d thread%s:              %.9g\n", threads, threads > 1 ? "s" : " ", sum);
        tally_close(t);
    }
    tally_file_close(f);
    free(made);
    return 0;
}

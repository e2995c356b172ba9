/* SPDX-License-Identifier: MIT
 *
 * data.c - elements and segments of the cliff finder. They depend on the index and the type alone.
 */
#include "cliffs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Of random bits `keep` stay, and `set` are set. Of a float these are the exponents of 0.5 to 1
 * and of 1 to 2: products leave the range of subnormals, which are slow, at once. */
static void masks(tally_dtype d, uint64_t *keep, uint64_t *set)
{
    *keep = ~UINT64_C(0);
    *set = 0;
    if (d == TALLY_F16) *keep = UINT64_C(0x87FF87FF87FF87FF), *set = UINT64_C(0x3800380038003800);
    if (d == TALLY_BF16) *keep = UINT64_C(0x80FF80FF80FF80FF), *set = UINT64_C(0x3F003F003F003F00);
    if (d == TALLY_F32) *keep = UINT64_C(0x80FFFFFF80FFFFFF), *set = UINT64_C(0x3F0000003F000000);
    if (d == TALLY_F64) *keep = UINT64_C(0x801FFFFFFFFFFFFF), *set = UINT64_C(0x3FE0000000000000);
}

void data_fill(void *to, size_t bytes, tally_dtype dtype)
{
    uint64_t keep, set, *x = to;
    masks(dtype, &keep, &set);
    const int64_t words = (int64_t)(bytes / sizeof *x);
#pragma omp parallel for
    for (int64_t i = 0; i < words; i++) x[i] = (hash((uint64_t)i) & keep) | set;
}

/* A length of a Pareto distribution with alpha 0.8, at most 10^6: over half of them are one or
   two. */
static int64_t heavy(uint64_t random)
{
    const double u = ((double)(random >> 11) + 0.5) * 0x1p-53, length = floor(pow(u, -1 / 0.8));
    return length > 1e6 ? 1000000 : (int64_t)length;
}

int64_t *data_offsets(int64_t n, int64_t mean, int64_t *count)
{
    int64_t capacity = 1024, at = 0, *offsets = malloc((size_t)capacity * sizeof *offsets);
    *count = 0;
    if (offsets) offsets[0] = 0;
    while (offsets && at < n) {
        const uint64_t random = hash((uint64_t)*count ^ UINT64_C(0x5E6));
        const int64_t length = mean ? (int64_t)(random % (uint64_t)(2 * mean + 1)) : heavy(random);
        at = length < n - at ? at + length : n;
        if (*count + 2 > capacity) {
            int64_t *more = realloc(offsets, (size_t)(capacity *= 2) * sizeof *offsets);
            if (!more) free(offsets);
            offsets = more;
            if (!more) break;
        }
        offsets[++*count] = at;
    }
    return offsets;
}

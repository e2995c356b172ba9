/* SPDX-License-Identifier: MIT
 * Two "ranks" fold their own part of a long array; rank 1 sends bytes to rank 0, which merges. Wherever the array is
 * cut, the result has the bits of a single call.
 * Run: ranks */
#include <stdio.h>
#include <string.h>
#include <tally.h>

enum { N = 100003 };
static float x[N];

/* What rank 1 does: its part, as bytes. Returns how many. */
static size_t send(tally *t, int64_t start, unsigned char *bytes, size_t capacity)
{
    tally_fragment *mine;
    if (tally_fragment_make(t, "sum", TALLY_F32, x + start, start, N - start, &mine)) return 0;
    if (tally_fragment_save(mine, bytes, &capacity)) capacity = 0;
    tally_fragment_free(mine);
    return capacity;
}

int main(void)
{
    static const int64_t cuts[] = {0, 1, 4096, 50000, 99999, N};
    tally *t;
    unsigned char bytes[4096];
    for (int i = 0; i < N; i++) x[i] = 1.0f / (float)(i + 1);
    if (tally_open(&t, "cpu")) return fprintf(stderr, "%s\n", tally_error(NULL)), 1;
    const float whole = tally_sum_f32(x, N);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        const size_t sent = send(t, cuts[c], bytes, sizeof bytes);
        tally_fragment *left, *right;
        float sum;
        if (!sent || tally_fragment_make(t, "sum", TALLY_F32, x, 0, cuts[c], &left) ||
            tally_fragment_load(t, bytes, sent, &right) || tally_fragment_merge(left, right) ||
            tally_fragment_result(left, &sum))
            return fprintf(stderr, "%s\n", tally_error(t)), 1;
        printf("cut at %6lld: %zu bytes sent, %.9g, %s\n", (long long)cuts[c], sent, sum,
               memcmp(&sum, &whole, sizeof sum) ? "OTHER BITS" : "the same bits");
        tally_fragment_free(left);
        tally_fragment_free(right);
    }
    tally_close(t);
    return 0;
}

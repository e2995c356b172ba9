#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <tally.h>
enum { N = 1 << 18, MEMBERS = 3 };
static float x[N], out[MEMBERS + 1][N];

static int all(const char *device, float *y)
{
    tally *ctx;
    const tally_view in = tally_flat(x, TALLY_F32, N), to = tally_flat(y, TALLY_F32, N);
    if (tally_open(&ctx, device)) return 1;
    const int failed = tally_scan(ctx, "sum", &in, &to, NULL) || tally_reduce(ctx, "var", &in, y);
    tally_close(ctx);
    return failed;
}

int main(void)
{
    int failed = 0, members = 0;
    for (int i = 0; i < N; i++) x[i] = (float)(i * 7919 % 1009) / 64;
    failed |= all("cpu,threads=1", out[MEMBERS]);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(MEMBERS) reduction(| : failed) reduction(+ : members)
        {
            const int me = omp_get_thread_num();
            members++;
            failed |= all(round % 2 ? "cpu,threads=1" : "cpu,threads=3", out[me]);
#pragma omp barrier
            failed |= memcmp(out[me], out[MEMBERS], sizeof out[me]) != 0;
        }
        failed |= all("cpu,threads=4", out[0]);
    }
    if (failed || members != 20 * MEMBERS) return printf("failed %d, %d members\n", failed, members), 1;
    return 0;
}

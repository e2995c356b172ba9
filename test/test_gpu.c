/* SPDX-License-Identifier: MIT
 * Failures on a GPU device: an error with a sentence, and a context that still works. Skipped without a device. (The
 * bits are in test_bits with TALLY_TEST_DEVICES.) */
#include "check.h"

enum { SKIPPED = 77 };

static void check_works(tally *ctx, const char *after)
{
    float x[3000], got = 0;
    for (int i = 0; i < 3000; i++) x[i] = (float)check_random() * 1e-19f;
    tally_view in = tally_flat(x, TALLY_F32, 3000);
    if (!check_ok(ctx, tally_reduce(ctx, "sum", &in, &got), after)) return;
    float want = tally_sum_f32(x, 3000);
    check_same(&got, &want, 1, sizeof got, "sum after %s", after);
}

/* Two elements 2^41 bytes apart: no device has the room, and nothing is read before that is known. */
static void check_no_memory(tally *ctx)
{
    float both[4] = {0, 0, 1, 2}, *y = both, *x = both + 2; /* the results lie before the view, or they would overlap */
    tally_view in = {x, TALLY_F32, 1, 2, 2, (int64_t)1 << 39, NULL}, out = tally_flat(y, TALLY_F32, 2);
    tally_window_options w = {1, 0, TALLY_EDGES_SHRINK, 0};
    check(tally_reduce(ctx, "sum", &in, y) == TALLY_NO_MEMORY, "reduce of 2^41 bytes: %s", tally_error(ctx));
    check(strstr(tally_error(ctx), "memory") != NULL, "the sentence: %s", tally_error(ctx));
    check_works(ctx, "a reduce without memory");
    check(tally_scan(ctx, "sum", &in, &out, NULL) == TALLY_NO_MEMORY, "scan of 2^41 bytes: %s", tally_error(ctx));
    check_works(ctx, "a scan without memory");
    check(tally_window(ctx, "sum", &in, &out, &w) == TALLY_NO_MEMORY, "window of 2^41 bytes: %s", tally_error(ctx));
    check_works(ctx, "a window without memory");
}

int main(void)
{
    tally_device_info info;
    int tested = 0;
    check_start();
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        if (!info.usable || !strncmp(info.name, "cpu", 3)) continue;
        tally *ctx;
        char name[64];
        snprintf(name, sizeof name, "%s", info.name);
        if (!check_ok(NULL, tally_open(&ctx, name), name)) continue;
        check_no_memory(ctx);
        if (!strncmp(name, "opencl", 6))
            check(tally_use_stream(ctx, ctx) == TALLY_UNSUPPORTED, "a stream on %s: %s", name, tally_error(ctx));
        tally_close(ctx);
        tested++;
    }
    if (!tested) {
        printf("skipped: no GPU device here\n");
        return SKIPPED;
    }
    return check_finish();
}

/* SPDX-License-Identifier: MIT
 * What the parts of test_user.c share: the matrix and the counts of test_bits.c, checks,
 * contexts, the examples. */
#ifndef TALLY_TEST_USER_CHECK_H
#define TALLY_TEST_USER_CHECK_H
#define TALLY_BITS_ONLY
#include "test_bits.c"
#include <unistd.h>

static int check_said(int good, const char *what, const char *detail)
{
    return check(good, "%s: %s", what, detail ? detail : "");
}

static tally *open_on(const char *device)
{
    tally *ctx = NULL;
    if (tally_open(&ctx, device)) {
        fprintf(stderr, "%s: %s\n", device, tally_error(NULL));
        exit(1);
    }
    return ctx;
}

static int define_example(tally *ctx, const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/examples/operators/%s.h", TALLY_SOURCE_DIR, name);
    if (access(path, R_OK))
        snprintf(path, sizeof path, "%s/test/operators/%s.h", TALLY_SOURCE_DIR, name);
    return check_ok(ctx, tally_define_file(ctx, NULL, path), path);
}
#endif

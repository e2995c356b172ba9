/* SPDX-License-Identifier: MIT
 * The GPU devices of a test: every one that is here and usable, or those of
 * TALLY_TEST_DEVICES="cuda:0 opencl:1" alone. */
#ifndef TALLY_TEST_GPUS_H
#define TALLY_TEST_GPUS_H
#include "check.h"

enum { SKIPPED = 77 };
static int gpus_tested;

/* Calls `each` for every such device; alone: for this device only, if it is not NULL. */
static inline void for_each_gpu(const char *alone, void (*each)(const char *name))
{
    const char *listed = alone ? alone : getenv("TALLY_TEST_DEVICES");
    tally_device_info info;
    for (int i = 0; tally_device(i, &info) == TALLY_OK; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", info.name);
        if (!info.usable || !strncmp(name, "cpu", 3) || !check_listed(listed, name)) continue;
        each(name);
        gpus_tested++;
    }
}

/* check_finish; a test that met no device was skipped, unless it failed before. */
static inline int finish_gpus(void)
{
    if (gpus_tested || check_failed) return check_finish();
    printf("skipped: no GPU device here\n");
    return SKIPPED;
}
#endif
